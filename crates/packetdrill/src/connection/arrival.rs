//! Handles segments that arrive at a connection (RFC 9293, section 3.10.7).

use wifair_packet::{MAX_SACK_BLOCKS, Packet, flag};
use wifair_tcp::Sender;
use wifair_tcp::accecn::EcnFeedback;
use wifair_units::{Duration, Time};

use super::{ConnectionStage, MAX_BURST, Moment, ScriptConnection, TimedSegment};
use crate::script::{Ecn, Flags, ScriptSegment};

impl ScriptConnection {
    /// Handles a segment. Returns false if the segment does not belong to this connection; the answer is then RST.
    pub fn on_segment(&mut self, at: &mut Moment<'_>, segment: &ScriptSegment) -> bool {
        // RFC 9293, sections 3.10.7.3 and 3.10.7.4: in the handshake, an ACK of something else is answered with RST.
        let foreign = segment.flags.ack && !segment.flags.rst && segment.ack != 1;
        match self.stage {
            ConnectionStage::Gone => false,
            ConnectionStage::SynSent | ConnectionStage::SynReceived if foreign => false,
            ConnectionStage::SynSent => {
                self.on_segment_syn_sent(at, segment);
                true
            }
            ConnectionStage::SynReceived => {
                if segment.flags.rst {
                    self.stage = ConnectionStage::Gone;
                } else if segment.flags.syn {
                    self.marks.take_syn_again(segment);
                    self.send_syn(at);
                } else if segment.flags.ack {
                    self.establish(at, segment);
                    self.on_segment_established(at, segment);
                }
                true
            }
            ConnectionStage::Established => {
                self.on_segment_established(at, segment);
                true
            }
        }
    }

    fn on_segment_syn_sent(&mut self, at: &mut Moment<'_>, segment: &ScriptSegment) {
        let acceptable = segment.flags.ack && segment.ack == 1;
        if segment.flags.rst {
            if acceptable {
                self.fail("ECONNREFUSED");
            }
        } else if segment.flags.syn && acceptable {
            let asked = self.agreed;
            self.agree(asked, segment);
            self.agreed.ecn = asked.ecn.after_syn_ack(segment.flags.ace());
            self.marks.take_syn_ack(segment, at.system.ecn_fallback);
            self.establish(at, segment);
            self.marks.reflects = true;
            self.push(at, ScriptSegment::empty(Flags::ACK, 1), None);
            self.hand_down(at.now);
            self.flush(at);
        }
    }

    fn on_segment_established(&mut self, at: &mut Moment<'_>, segment: &ScriptSegment) {
        let stamp = segment.timestamp();
        let expected = self.expected();
        let Some((sender, receiver)) = &mut self.ends else { return };
        // As in Linux, nothing answers a segment without ACK, SYN and RST, wherever it lies.
        if !(segment.flags.ack || segment.flags.syn || segment.flags.rst) {
            return;
        }
        let start = segment.seq.wrapping_sub(expected).cast_signed();
        let window = receiver.window() as i64;
        // RFC 9293, section 3.10.7.4, first step, and RFC 7323, section 5.3.
        let length = i64::from(segment.payload) + i64::from(segment.flags.fin);
        let end = i64::from(start) + length;
        let stale = self.agreed.timestamps
            && stamp.is_some_and(|(value, _)| value.wrapping_sub(receiver.ts_recent()).cast_signed() < 0);
        let newer_stamp = self.agreed.timestamps
            && stamp.is_some_and(|(value, _)| value.wrapping_sub(receiver.ts_recent()).cast_signed() > 0);
        let outside = end < 0 || i64::from(start) > window || (length > 0 && end <= 0 && !segment.flags.fin);
        if segment.flags.rst {
            if !outside {
                self.fail(if self.write_closed { "EPIPE" } else { "ECONNRESET" });
            }
            return;
        }
        if stale || segment.flags.syn || (outside && segment.payload == 0) {
            if segment.flags.syn && segment.flags.ack {
                self.marks.take_syn_ack_again(segment);
            }
            self.answer(at);
            return;
        }
        // Fifth step: a segment that acknowledges data never sent is dropped; as in Linux, no ACK answers it.
        let fin_sent = sender.has_sent_fin();
        let una = sender.una();
        let ack = segment.ack.wrapping_sub(1).wrapping_sub(una as u32).cast_signed();
        let most = (sender.sent() - una) as i64 + i64::from(fin_sent);
        if i64::from(ack) > most || (i64::from(ack) < -(1 << 30)) {
            return;
        }
        if segment.payload > 0 {
            self.last_data = at.now;
        }
        let number = una.wrapping_add_signed(i64::from(ack));
        let fin_acked = fin_sent && number > sender.sent();
        let mut packet =
            Packet { ack: if fin_acked { sender.sent() } else { number }, flags: flag::ACK, ..Packet::default() };
        if fin_acked {
            packet.flags |= flag::FIN;
        }
        if segment.flags.ece && self.agreed.ecn == EcnFeedback::Classic {
            packet.flags |= flag::ECE;
        }
        if let Some((value, echo)) = stamp {
            (packet.ts_val, packet.ts_ecr) = (value, self.stamps.get(&echo).copied().unwrap_or(echo));
        }
        if self.agreed.sack {
            self.bursts.split(packet.ack);
            for (slot, &(start, end)) in packet.sack.iter_mut().zip(segment.sack_blocks()).take(MAX_SACK_BLOCKS) {
                let offset = |seq: u32| seq.wrapping_sub(1);
                *slot = (offset(start).wrapping_sub(packet.ack as u32), offset(end).wrapping_sub(packet.ack as u32));
                for seq in [start, end] {
                    let at = una.wrapping_add_signed(i64::from(offset(seq).wrapping_sub(una as u32).cast_signed()));
                    self.bursts.split(at);
                }
            }
        }
        if let Some(window) = segment.window {
            packet.window = u16::try_from(window).unwrap_or(u16::MAX);
        }
        if self.agreed.ecn == EcnFeedback::Accurate {
            self.marks.take(at.system, sender, segment, newer_stamp);
        }
        sender.on_segment(at.now, &packet, segment.payload > 0);
        if number > una || fin_acked {
            self.probes = 0;
        }
        self.fin_acked |= fin_acked;
        if length > 0 {
            self.take_data(at, segment, stamp.map_or(0, |(value, _)| value), i64::from(start));
        } else if let Some((value, _)) = stamp
            && let Some((_, receiver)) = &mut self.ends
        {
            receiver.note_timestamp(value, i64::from(start) <= 0);
        }
        if self.closed && segment.payload > 0 && end > 0 && self.write_closed {
            // RFC 9293, section 3.6.1: data arrived after the application closed the socket.
            at.out.push(reset_for(at.now, segment));
            self.stage = ConnectionStage::Gone;
            return;
        }
        self.unblock();
        self.hand_down(at.now);
        self.flush(at);
        // The side that closed second has no TIME-WAIT state.
        if self.fin_acked && self.peer_closed_first {
            self.stage = ConnectionStage::Gone;
        }
    }

    /// Moves the data of a blocking call into the send buffer, as far as there is room.
    fn unblock(&mut self) {
        let Some(buffer) = self.options.send_buffer else { return };
        let una = self.sender().map_or(0, Sender::una);
        let queued = self.written - una;
        if self.blocked > 0 && queued < buffer {
            let taken = self.blocked.min(buffer + MAX_BURST - queued);
            self.blocked -= taken;
            self.written += taken;
            self.pushes.insert(self.written);
        }
    }

    /// Sends an ACK without data at once, as for a segment that is not acceptable.
    pub(super) fn answer(&mut self, at: &mut Moment<'_>) {
        self.fin_ack_at = Time::NEVER;
        self.push(at, ScriptSegment::empty(Flags::ACK, self.next_seq()), None);
    }

    fn take_data(&mut self, at: &Moment<'_>, segment: &ScriptSegment, stamp: u32, start: i64) {
        let largest = self.largest_payload.max(segment.payload).min(self.advertised_mss(at.system).into());
        self.largest_payload = largest;
        let Some((_, receiver)) = &mut self.ends else { return };
        let (known, waits) = (receiver.delivered(), receiver.deadline() != Time::NEVER);
        let offset = receiver.delivered().wrapping_add_signed(start + i64::from(self.peer_fin));
        let mut flags = flag::ACK;
        if segment.flags.fin {
            flags |= flag::FIN;
        }
        match segment.ecn {
            Some(Ecn::Ce) => flags |= flag::ECT | flag::CE,
            Some(Ecn::Ect0 | Ecn::Ect1 | Ecn::AnyEct) => flags |= flag::ECT,
            _ => {}
        }
        if segment.flags.cwr {
            flags |= flag::CWR;
        }
        let mut left = u64::from(segment.payload);
        let mut seq = offset;
        loop {
            let part = left.min(u64::from(u16::MAX));
            left -= part;
            let last = left == 0;
            let flags = if last { flags } else { flags & !flag::FIN };
            receiver
                .on_packet(at.now, &Packet { seq, payload: part as u16, flags, ts_val: stamp, ..Packet::default() });
            seq += part;
            if last {
                break;
            }
        }
        if receiver.is_finished() && !self.peer_fin {
            // Linux delays the ACK of a FIN like that of data, if data has been received, no other ACK is being
            // delayed, the new data and FIN are no more than one segment, and the window is open. If this side has
            // closed, the ACK is sent at once.
            let new = receiver.delivered() - known + 1;
            let open = receiver.delivered() - self.read < receiver.window();
            let delayed = !self.write_closed && receiver.delivered() > 0 && !waits && new <= largest.into() && open;
            self.fin_ack_at = if delayed { at.now.saturating_add(Duration::from_millis(40)) } else { Time::NEVER };
            self.fin_to_acknowledge = true;
        }
        self.peer_fin = receiver.is_finished();
        self.peer_closed_first |= self.peer_fin && !self.write_closed;
    }
}

/// The reset that answers a segment without a connection (RFC 9293, section 3.10.7.1).
pub fn reset_for(now: Time, segment: &ScriptSegment) -> TimedSegment {
    let mut reset = ScriptSegment {
        flags: Flags { rst: true, ..Flags::default() },
        ecn: Some(Ecn::NotEct),
        options: Some(Vec::new()),
        window: Some(0),
        ..ScriptSegment::default()
    };
    if segment.flags.ack {
        reset.seq = segment.ack;
    } else {
        reset.flags.ack = true;
        let length = segment.payload + u32::from(segment.flags.syn) + u32::from(segment.flags.fin);
        reset.ack = segment.seq.wrapping_add(length);
    }
    TimedSegment { at: now, segment: reset }
}
