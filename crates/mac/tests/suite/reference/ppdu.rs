//! What a contender sends: the MPDUs of its PPDU, their air time, and that of the response.

use wifair_mac::edcaf::AggregationRules;
use wifair_mac::{BROADCAST, Call, frame_length};
use wifair_packet::Packet;
use wifair_phy::{ChannelWidth, HeMode, HeOptions, HeRange, PpduTiming, TxMode};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::block_ack::Outcome;
use super::{ReferenceChannel, Task};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// One MPDU, acknowledged by an ACK.
    Single,
    /// An A-MPDU, acknowledged by a block ACK.
    Aggregate,
    /// A BlockAckReq.
    Request,
}

/// A PPDU and its exchange.
#[derive(Clone, Debug)]
pub struct ReferencePpdu {
    pub to: u32,
    pub content: Content,
    /// Sequence numbers of its MPDUs, and whether each is lost.
    pub mpdus: Vec<(u64, bool)>,
    /// Whether a request is lost.
    pub request_lost: bool,
    pub rts: bool,
    pub cts_to_self: bool,
    pub air: Duration,
    pub response: Duration,
}

impl ReferencePpdu {
    pub fn is_request(&self) -> bool {
        self.content == Content::Request
    }

    /// Whether its receiver responds.
    pub fn is_read(&self) -> bool {
        if self.is_request() { !self.request_lost } else { self.mpdus.iter().any(|(_, is_lost)| !is_lost) }
    }

    /// The part of its air time that lost MPDUs take.
    pub fn lost_air(&self) -> Duration {
        let lost = self.mpdus.iter().filter(|(_, is_lost)| *is_lost).count();
        if lost == self.mpdus.len() { self.air } else { self.air * lost as u64 / self.mpdus.len() as u64 }
    }
}

/// Header of a subframe of an A-MSDU (9.3.2.2.2).
const SUBFRAME_HEADER: u64 = 14;

/// QoS Control field (9.2.4.5).
const QOS_CONTROL: u64 = 2;

/// Length of an A-MSDU of `body` bytes with a further packet of `msdu` bytes, LLC header included; without MAC header
/// and FCS. `is_single` if it consists of one packet so far, which has no subframe header.
fn amsdu_with(body: u64, is_single: bool, msdu: u64) -> u64 {
    let body = if is_single { body + SUBFRAME_HEADER } else { body };
    body.next_multiple_of(4) + SUBFRAME_HEADER + msdu
}

/// The largest number in `from..=to` for which a condition holds that never holds again once it fails.
fn largest(from: u64, to: u64, mut holds: impl FnMut(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (from, to + 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { low = middle + 1 } else { high = middle }
    }
    (low > from).then(|| low - 1)
}

impl ReferenceChannel {
    /// The station whose rate, mode and rules apply.
    fn governing(&self, station: usize, to: u32) -> usize {
        if self.aps.contains(&(station as u32)) && to != BROADCAST { to as usize } else { station }
    }

    pub(super) fn rules(&self, station: usize, to: u32) -> Option<&AggregationRules> {
        let rules = self.nodes[self.governing(station, to)].rules.as_ref();
        rules.filter(|rules| to != BROADCAST && rules.window > 0)
    }

    /// Mode of data, for HT and later.
    pub(super) fn mode(&self, station: usize, to: u32) -> Option<(TxMode, PpduTiming)> {
        let (mode, band) = self.nodes[self.governing(station, to)].mode.filter(|_| to != BROADCAST)?;
        Some((mode, PpduTiming::new(mode, band)))
    }

    /// Rate of data.
    pub(super) fn data_rate(&self, station: usize, to: u32) -> BitRate {
        match self.mode(station, to) {
            Some((mode, _)) => mode.data_rate(),
            None if to == BROADCAST => self.access.broadcast_rate,
            None => self.nodes[self.governing(station, to)].rate,
        }
    }

    /// Rate of requests, and of responses in non-HT format.
    pub(super) fn control_rate(&self, station: usize, to: u32) -> BitRate {
        let reference = match self.mode(station, to) {
            Some((mode, _)) => BitRate::from_kbps(u64::from(mode.reference_rate_kbps())),
            None => self.nodes[self.governing(station, to)].rate,
        };
        self.access.timing.answer_rate(reference)
    }

    pub(super) fn data_air(&self, station: usize, to: u32, psdu: Bytes) -> Duration {
        match self.mode(station, to) {
            Some((_, timing)) => timing.duration(psdu),
            None => self.access.timing.frame(psdu, self.data_rate(station, to)),
        }
    }

    pub(super) fn response_length(&self, station: usize, to: u32, content: Content) -> Bytes {
        match (content, self.rules(station, to)) {
            (Content::Aggregate | Content::Request, Some(rules)) => frame_length::block_ack(rules.window.into()),
            _ => self.access.timing.sizes.ack,
        }
    }

    pub(super) fn response_air(&self, station: usize, to: u32, content: Content) -> Duration {
        if to == BROADCAST {
            return Duration::ZERO;
        }
        let length = self.response_length(station, to, content);
        match self.extended_response(station, to, content) {
            Some((_, timing)) => timing.duration(length + frame_length::DELIMITER),
            None => self.access.timing.frame(length, self.control_rate(station, to)),
        }
    }

    /// Data in HE extended range are answered in extended range, at MCS 0.
    pub(super) fn extended_response(&self, station: usize, to: u32, content: Content) -> Option<(TxMode, PpduTiming)> {
        let (TxMode::He(data), band) = self.nodes[self.governing(station, to)].mode? else { return None };
        if data.range() == HeRange::Normal || content == Content::Request {
            return None;
        }
        let vector = TxMode::He(data).vector()?;
        let options = HeOptions { dcm: vector.dcm, ltf: Some(vector.ltf), range: data.range(), coding: vector.coding };
        let width = ChannelWidth::Mhz20;
        let mode = HeMode::new(0, 1, width, vector.guard_interval, options).expect("the mode exists");
        Some((TxMode::He(mode), PpduTiming::new(TxMode::He(mode), band)))
    }

    /// Rate of responses to data or a request.
    pub(super) fn response_rate(&self, station: usize, to: u32, content: Content) -> BitRate {
        let extended = self.extended_response(station, to, content);
        extended.map_or_else(|| self.control_rate(station, to), |(mode, _)| mode.data_rate())
    }

    /// Whether a PSDU is preceded by RTS and CTS, and whether by a CTS-to-self.
    fn guard(&self, index: usize, to: u32, psdu: Bytes) -> (bool, bool) {
        let station = self.functions[index].station;
        if self.functions[index].has_reserved(to) {
            return (false, false);
        }
        let is_dsss = self.mode(station, to).is_none() && self.access.timing.is_dsss(self.data_rate(station, to));
        let is_guarded = self.access.protection.is_some() && !is_dsss;
        let by_rts = psdu > self.access.rts_threshold || is_guarded && self.access.protects_by_rts;
        let rts = to != BROADCAST && by_rts;
        (rts, is_guarded && !rts)
    }

    /// Duration of the frames before a PSDU with the gaps after them.
    fn before(&self, index: usize, to: u32, psdu: Bytes) -> Duration {
        let sifs = self.access.timing.sifs;
        match self.guard(index, to, psdu) {
            (true, _) => self.rts() + sifs + self.cts() + sifs,
            (false, true) => self.cts() + sifs,
            (false, false) => Duration::ZERO,
        }
    }

    pub(super) fn guard_rate(&self) -> BitRate {
        self.access.protection.unwrap_or(self.access.timing.basic_rate)
    }

    pub(super) fn rts(&self) -> Duration {
        self.access.timing.frame(self.access.timing.sizes.rts, self.guard_rate())
    }

    pub(super) fn cts(&self) -> Duration {
        self.access.timing.frame(self.access.timing.sizes.cts, self.guard_rate())
    }

    /// Length of the PSDU of a single MPDU.
    fn single_psdu(&self, station: usize, to: u32, length: u64) -> Bytes {
        let is_ampdu = self.rules(station, to).is_some_and(|rules| rules.single_in_ampdu);
        Bytes(if is_ampdu { length + frame_length::DELIMITER.0 } else { length })
    }

    /// The longest PSDU up to `most` bytes that fits into the longest PPDU and, with `content`, its protection and its
    /// response, into what is left of the TXOP at `now`.
    fn longest_psdu(&self, now: Time, index: usize, to: u32, content: Content, most: u64) -> u64 {
        let function = &self.functions[index];
        let station = function.station;
        let rules = self.rules(station, to).expect("aggregates have rules");
        let left = function.txop.saturating_sub(now - function.won_at);
        let fits = |psdu: u64| {
            let (air, psdu) = (self.data_air(station, to, Bytes(psdu)), Bytes(psdu));
            let exchange =
                self.before(index, to, psdu) + air + self.access.timing.sifs + self.response_air(station, to, content);
            air <= rules.max_duration && (function.txop == Duration::ZERO || exchange <= left)
        };
        let threshold = self.access.rts_threshold.0;
        let unprotected = largest(1, most.min(threshold), fits);
        let protected = if most > threshold { largest(threshold + 1, most, fits) } else { None };
        protected.or(unprotected).unwrap_or(0)
    }

    /// Length up to which an A-MPDU may grow; `None` if single MPDUs are sent.
    fn psdu_limit(&self, now: Time, index: usize, to: u32) -> Option<u64> {
        let station = self.functions[index].station;
        let rules = self.rules(station, to).filter(|rules| rules.max_ampdu.0 > 0)?;
        self.mode(station, to)?;
        Some(self.longest_psdu(now, index, to, Content::Aggregate, rules.max_ampdu.0).max(1))
    }

    /// Maximum length of an A-MSDU; zero if there are none.
    fn longest_amsdu(&self, now: Time, index: usize, to: u32) -> u64 {
        let station = self.functions[index].station;
        let Some(rules) = self.rules(station, to).filter(|rules| rules.max_amsdu.0 > 0) else { return 0 };
        let delimiter = self.single_psdu(station, to, 0).0;
        let most = rules.max_mpdu.0 + delimiter;
        let psdu = self.longest_psdu(now, index, to, Content::Single, most);
        rules.max_amsdu.0.min(psdu.saturating_sub(delimiter).saturating_sub(self.access.timing.sizes.mac_overhead.0))
    }

    /// Length of the MPDU of a packet.
    pub(super) fn mpdu_length(&self, station: usize, to: u32, packet: &Packet) -> u64 {
        let length = self.access.timing.frame_length(packet.bytes() + self.nodes[station].routing_overhead).0;
        if self.nodes[self.governing(station, to)].is_legacy { length - QOS_CONTROL } else { length }
    }

    /// Takes the next packet for the receiver from the queue, if it is at most `room` bytes long, as part of the last
    /// MPDU, if that is then at most `longest_amsdu` bytes, or else as a new MPDU; returns whether there was one.
    fn take_next(&mut self, index: usize, peer: usize, room: u64, longest_amsdu: u64, call: &mut Call<'_>) -> bool {
        let to = self.functions[index].peers[peer].to;
        let Some(id) = self.functions[index].dequeue_for(to, room, call) else { return false };
        let length = self.mpdu_length(self.functions[index].station, to, &call.packets[id]);
        let overhead = self.access.timing.sizes.mac_overhead.0;
        let originator = &mut self.functions[index].peers[peer];
        if longest_amsdu > 0
            && let Some(last) = originator.extensible()
        {
            let body = amsdu_with(last.length - overhead, last.packets.len() == 1, length - overhead);
            if body <= longest_amsdu {
                last.packets.push(id);
                last.length = body + overhead;
                return true;
            }
        }
        originator.push(id, length);
        true
    }

    /// Forms what a contender sends.
    pub(super) fn form(&mut self, index: usize, call: &mut Call<'_>) {
        let now = call.now;
        let station = self.functions[index].station;
        match self.functions[index].task.expect("a sender has something to send") {
            Task::Request(peer) => {
                let to = self.functions[index].peers[peer].to;
                let psdu = frame_length::BLOCK_ACK_REQUEST;
                self.functions[index].ppdu = Some(ReferencePpdu {
                    to,
                    content: Content::Request,
                    mpdus: vec![],
                    request_lost: false,

                    rts: false,
                    cts_to_self: false,
                    air: self.access.timing.frame(psdu, self.control_rate(station, to)),
                    response: self.response_air(station, to, Content::Request),
                });
            }
            Task::Data(peer) => self.form_data(now, index, peer, call),
        }
    }

    /// Fills a PPDU: first what is pending in the window, then what waits for the same receiver.
    fn form_data(&mut self, now: Time, index: usize, peer: usize, call: &mut Call<'_>) {
        let station = self.functions[index].station;
        self.functions[index].backlog.retain(|waiting| *waiting != peer);
        let to = self.functions[index].peers[peer].to;
        let limit = self.psdu_limit(now, index, to);
        let longest_amsdu = self.longest_amsdu(now, index, to);
        let sizes = self.access.timing.sizes;
        // Where the next subframe begins: at a multiple of four bytes, and not before the minimum start spacing.
        let (mut begins, mut psdu, mut mpdus) = (0_u64, 0, vec![]);
        let spacing = self.rules(station, to).map_or(0, |rules| rules.min_start_spacing.as_nanos());
        let min_subframe = (spacing * self.data_rate(station, to).as_bps()).div_ceil(8_000_000_000);
        let end = |begins: u64, length: u64| begins + frame_length::DELIMITER.0 + length;
        let after = |begins: u64, length: u64| end(begins, length).max(begins + min_subframe).next_multiple_of(4);
        let mut number = self.functions[index].peers[peer].start();
        loop {
            // The last MPDU may still become an A-MSDU, so it is filled and the next begun before it is sent.
            let ahead = number + u64::from(longest_amsdu > 0);
            while self.rules(station, to).is_some() && self.functions[index].peers[peer].next() <= ahead {
                let originator = &mut self.functions[index].peers[peer];
                // Longest body of an MPDU that begins here.
                let body_at = |begins: u64| {
                    limit.and_then(|limit| limit.checked_sub(end(begins, sizes.mac_overhead.0))).unwrap_or(0)
                };
                let longest = if limit.is_some() { longest_amsdu.min(body_at(begins)) } else { longest_amsdu };
                let room_in_last = originator.extensible().map_or(0, |last| {
                    let body = last.length - sizes.mac_overhead.0;
                    longest.saturating_sub(amsdu_with(body, last.packets.len() == 1, 0))
                });
                let room_behind = match originator.has_room() {
                    true if number < originator.next() => body_at(after(begins, originator.mpdu(number).length)),
                    true => body_at(begins),
                    false => 0,
                };
                let room = room_in_last.max(room_behind).checked_sub(sizes.llc_overhead.0);
                let Some(room) = room else { break };
                if !self.take_next(index, peer, room, longest, call) {
                    break;
                }
            }
            let originator = &mut self.functions[index].peers[peer];
            if number == originator.next() {
                break;
            }
            let mpdu = originator.mpdu(number);
            if mpdu.outcome == Outcome::Pending {
                let length = mpdu.length;
                if !mpdus.is_empty() && limit.is_some_and(|limit| end(begins, length) > limit) {
                    break;
                }
                mpdu.attempts += 1;
                psdu = end(begins, length);
                begins = after(begins, length);
                mpdus.push((number, false));
                if limit.is_none() {
                    break;
                }
            }
            number += 1;
        }
        let content = if mpdus.len() > 1 { Content::Aggregate } else { Content::Single };
        let psdu = if content == Content::Aggregate {
            Bytes(psdu)
        } else {
            let length = self.functions[index].peers[peer].mpdu(mpdus[0].0).length;
            self.single_psdu(station, to, length)
        };
        let (rts, cts_to_self) = self.guard(index, to, psdu);
        self.functions[index].ppdu = Some(ReferencePpdu {
            to,
            content,
            mpdus,
            request_lost: false,

            rts,
            cts_to_self,
            air: self.data_air(station, to, psdu),
            response: self.response_air(station, to, content),
        });
    }

    /// Whether a contender's next exchange fits into its TXOP: that of its first MPDU alone, or of its request.
    pub(super) fn fits_txop(&self, now: Time, index: usize) -> bool {
        let function = &self.functions[index];
        if function.in_a_row < function.burst {
            return true;
        }
        let (station, sifs) = (function.station, self.access.timing.sifs);
        let exchange = match function.task.expect("there is more to send") {
            Task::Request(peer) => {
                let to = function.peers[peer].to;
                let air = self.access.timing.frame(frame_length::BLOCK_ACK_REQUEST, self.control_rate(station, to));
                sifs + air + sifs + self.response_air(station, to, Content::Request)
            }
            Task::Data(peer) => {
                let originator = &function.peers[peer];
                let to = originator.to;
                let first = usize::try_from(originator.start()).expect("few MPDUs");
                let psdu = self.single_psdu(station, to, originator.mpdus[first].length);
                let answer = if to == BROADCAST { Duration::ZERO } else { sifs };
                let air = self.data_air(station, to, psdu);
                sifs + self.before(index, to, psdu) + air + answer + self.response_air(station, to, Content::Single)
            }
        };
        function.txop > Duration::ZERO && now + exchange - function.won_at <= function.txop
    }
}
