//! One end of a TCP connection, made of a sender, a receiver, and what RFC 9293 requires around them.
//!
//! [`Sender`] and [`Receiver`] are the two directions of a connection, and count in stream offsets. This module adds
//! sequence numbers, both sides of the handshake, FIN, RST, and the connection states.

use std::collections::{BTreeMap, BTreeSet};

use wifair_packet::{Packet, flag};
use wifair_tcp::accecn::EcnFeedback;
use wifair_tcp::{Receiver, Sender, SenderState};
use wifair_units::{Duration, Time};

use crate::offload::{BurstLimits, Bursts};
use crate::script::{Ecn, Flags, ScriptSegment, TcpOption};
use crate::system::System;
use accurate_ecn::ScriptMarks;

mod accurate_ecn;
mod arrival;
mod handshake;

pub use arrival::reset_for;

/// A moment at the host: its settings, the time, and the segments that are sent now.
#[derive(Debug)]
pub struct Moment<'a> {
    pub system: &'a System,
    pub now: Time,
    pub out: Vec<TimedSegment>,
}

/// A segment sent, and its time.
#[derive(Clone, Debug)]
pub struct TimedSegment {
    pub at: Time,
    pub segment: ScriptSegment,
}

/// The state of a connection: those states of RFC 9293, section 3.3.2, that make a difference to what is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConnectionStage {
    #[default]
    SynSent,
    SynReceived,
    Established,
    /// The connection no longer exists; segments that arrive are answered with RST.
    Gone,
}

/// The options that both ends agreed on.
#[derive(Clone, Copy, Debug, Default)]
struct Agreed {
    peer_mss: u16,
    timestamps: bool,
    sack: bool,
    /// The peer's window scale; `None` without window scaling.
    peer_scale: Option<u8>,
    ecn: EcnFeedback,
}

impl Agreed {
    /// What a host with these settings offers.
    fn offered(system: &System, ecn: EcnFeedback) -> Self {
        let peer_scale = system.window_scaling.then_some(0);
        Self { peer_mss: 0, timestamps: system.timestamps, sack: system.sack, peer_scale, ecn }
    }
}

/// The socket options that an application has set.
#[derive(Clone, Debug, Default)]
pub struct SocketOptions {
    pub nodelay: bool,
    pub cork: bool,
    pub max_segment: Option<u16>,
    /// Twice the value of `SO_SNDBUF`.
    pub send_buffer: Option<u64>,
    /// The value of `SO_RCVBUF`. Linux doubles it and offers half of the result as the window.
    pub receive_buffer: Option<u64>,
    pub user_timeout: Option<Duration>,
    pub nonblocking: bool,
    pub congestion_control: Option<String>,
}

/// The largest block, in bytes, in which Linux fills a send buffer.
const MAX_BURST: u64 = 65_536;

/// How long data waited, by cause (Linux's `tcpi_busy_time`, `tcpi_rwnd_limited` and `tcpi_sndbuf_limited`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    since: Time,
    now: Option<Wait>,
    pub busy: Duration,
    pub receive_window: Duration,
    pub send_buffer: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Busy,
    ReceiveWindow,
    SendBuffer,
}

impl Waits {
    fn set(&mut self, now: Time, wait: Option<Wait>) {
        let elapsed = now.saturating_since(self.since);
        if let Some(before) = self.now {
            self.busy += elapsed;
            match before {
                Wait::Busy => {}
                Wait::ReceiveWindow => self.receive_window += elapsed,
                Wait::SendBuffer => self.send_buffer += elapsed,
            }
        }
        (self.since, self.now) = (now, wait);
    }
}

/// One end of a connection.
#[derive(Debug, Default)]
pub struct ScriptConnection {
    pub stage: ConnectionStage,
    pub options: SocketOptions,
    /// The pending error, which the application's next call returns.
    pub error: Option<&'static str>,
    agreed: Agreed,
    own_scale: u8,
    passive: bool,
    /// Times of the SYNs sent; the time of the next one; its timeout.
    syns: Vec<Time>,
    syn_at: Time,
    syn_rto: Duration,
    /// Sequence number of the peer's SYN in the script.
    peer_isn: u32,
    peer_ts: u32,
    ends: Option<(Sender, Receiver)>,
    bursts: Bursts,
    /// Bytes that the application wrote, and how many of them were passed to the sender.
    written: u64,
    supplied: u64,
    /// Bytes of a blocking call that are not in the send buffer yet.
    blocked: u64,
    /// Whether a write with `MSG_MORE` is in progress; its last short segment waits for the next ACK or for a timer.
    more: bool,
    probe_at: Time,
    /// Since when the device has refused packets, and when sending is tried again.
    stuck: Option<(Time, Time)>,
    /// Offsets at which a segment that ends there has PSH, and offsets that no segment may cross.
    pushes: BTreeSet<u64>,
    records: BTreeSet<u64>,
    pub read: u64,
    pub write_closed: bool,
    pub read_closed: bool,
    pub closed: bool,
    fin_acked: bool,
    peer_fin: bool,
    peer_closed_first: bool,
    /// Whether the peer's FIN has just arrived and is not acknowledged yet; and when its delayed ACK is due.
    fin_to_acknowledge: bool,
    fin_ack_at: Time,
    /// Payload of the peer's largest segment, at most the MSS that this side advertises.
    largest_payload: u32,
    last_data: Time,
    pub probes: u64,
    pub waits: Waits,
    /// Our timestamp, in microseconds, for each timestamp in the script.
    pub stamps: BTreeMap<u32, u32>,
    pub first_stamp: Option<(u32, u32)>,
    /// Accurate ECN, as far as it was agreed on.
    pub marks: ScriptMarks,
}

fn micros(now: Time) -> u32 {
    (now.as_nanos() / 1000) as u32
}

/// The smallest window scale with which a receive buffer of `bytes` fits the header field, rounded as in Linux.
fn scale_of(bytes: u64) -> u8 {
    (bytes.max(1 << 15).ilog2() - 15).min(14) as u8
}

impl ScriptConnection {
    fn new(at: &Moment<'_>, options: SocketOptions, passive: bool) -> Self {
        Self {
            stage: if passive { ConnectionStage::SynReceived } else { ConnectionStage::SynSent },
            own_scale: scale_of(options.receive_buffer.unwrap_or(at.system.receive_buffer.0)),
            options,
            passive,
            syn_at: Time::NEVER,
            syn_rto: Duration::from_secs(1),
            probe_at: Time::NEVER,
            fin_ack_at: Time::NEVER,
            last_data: at.now,
            ..Self::default()
        }
    }

    /// Opens a connection actively: sends a SYN.
    pub fn connect(at: &mut Moment<'_>, options: SocketOptions) -> Self {
        let mut connection = Self::new(at, options, false);
        connection.agreed = Agreed::offered(at.system, at.system.asks());
        connection.send_syn(at);
        connection
    }

    /// Accepts a SYN at a listening socket: sends a SYN-ACK.
    pub fn accept(at: &mut Moment<'_>, options: SocketOptions, syn: &ScriptSegment) -> Self {
        let mut connection = Self::new(at, options, true);
        let ecn = at.system.accepts().after_syn(syn.flags.ace());
        connection.agree(Agreed::offered(at.system, ecn), syn);
        connection.marks = ScriptMarks::after_syn(syn);
        connection.send_syn(at);
        connection
    }

    /// The sender; `None` before the handshake is complete.
    pub fn sender(&self) -> Option<&Sender> {
        self.ends.as_ref().map(|(sender, _)| sender)
    }

    /// The payload of a full segment, as `TCP_MAXSEG` returns it.
    pub fn max_segment(&self, system: &System) -> u16 {
        if self.ends.is_some() { self.segment_size(system) } else { self.advertised_mss(system) }
    }

    /// Bytes that the application may read, and whether the stream ends after them.
    pub fn readable(&self) -> (u64, bool) {
        (self.received() - self.read, self.peer_fin || self.read_closed)
    }

    /// The waiting times up to `now`.
    pub fn waits_until(&self, now: Time) -> Waits {
        let mut waits = self.waits;
        waits.set(now, None);
        waits
    }

    /// The options agreed on, as bits of Linux's `tcpi_options`.
    pub fn option_bits(&self) -> i64 {
        let agreed = &self.agreed;
        i64::from(agreed.timestamps)
            | i64::from(agreed.sack) << 1
            | i64::from(agreed.peer_scale.is_some()) << 2
            | i64::from(agreed.ecn != EcnFeedback::Off) << 3
    }

    /// Bytes received in order.
    pub fn received(&self) -> u64 {
        self.ends.as_ref().map_or(0, |(_, receiver)| receiver.delivered())
    }

    /// Bytes that the application wrote and that are not acknowledged yet.
    pub fn unacknowledged(&self) -> u64 {
        self.written - self.sender().map_or(0, Sender::una)
    }

    /// Bytes that the application wrote and that are not sent yet.
    pub fn unsent(&self) -> u64 {
        self.written - self.sender().map_or(0, Sender::sent)
    }

    /// Sets the user timeout: data unacknowledged for this long ends the connection (RFC 5482).
    pub fn set_user_timeout(&mut self, timeout: Duration) {
        if let Some((sender, _)) = &mut self.ends {
            sender.set_user_timeout(timeout);
        }
    }

    /// When data last arrived.
    pub fn last_data(&self) -> Time {
        self.last_data
    }

    /// Writes data of the application. Returns the number of bytes accepted; a blocking call delivers the rest later.
    pub fn write(&mut self, at: &mut Moment<'_>, bytes: u64, more: bool, record: bool) -> u64 {
        let taken = match self.options.send_buffer {
            Some(buffer) => {
                let una = self.sender().map_or(0, Sender::una);
                // Linux checks the buffer before each block of 64 KB, not before each byte.
                if self.written - una >= buffer {
                    0
                } else {
                    bytes.min((buffer + MAX_BURST).saturating_sub(self.written - una))
                }
            }
            None => bytes,
        };
        if !self.options.nonblocking {
            self.blocked += bytes - taken;
        }
        self.written += taken;
        if record {
            self.records.insert(self.written);
        }
        self.more = more;
        if !more {
            self.pushes.insert(self.written);
        }
        self.hand_down(at.now);
        self.flush(at);
        self.more = false;
        if self.options.nonblocking { taken } else { bytes }
    }

    /// Passes to the sender the data that it may send: up to the end of the current record, and a last short segment
    /// only if neither `TCP_CORK` nor `MSG_MORE` holds it back.
    fn hand_down(&mut self, now: Time) {
        let Some((sender, _)) = &mut self.ends else { return };
        let mss = u64::from(self.agreed.peer_mss);
        let held = (self.options.cork || self.more) && !self.write_closed;
        let mut limit = self.written;
        if let Some(&record) = self.records.range(sender.sent() + 1..).next() {
            limit = limit.min(record);
        } else if held {
            let whole = (self.written - sender.sent()) / mss * mss;
            limit = limit.min(sender.sent() + whole);
        }
        // Nagle's algorithm may delay only the last short segment.
        sender.set_nagle(!self.options.nodelay && limit == self.written);
        if limit > self.supplied {
            sender.supply(limit - self.supplied);
            self.supplied = limit;
        }
        if self.supplied < self.written && sender.una() == sender.sent() {
            if self.probe_at == Time::NEVER {
                self.probe_at = now.saturating_add(sender.rtt().rto().max(Duration::from_millis(200)));
            }
        } else {
            self.probe_at = Time::NEVER;
        }
        if self.write_closed && self.supplied == self.written && self.blocked == 0 && !sender.is_closing() {
            sender.close();
        }
    }

    /// Sets `TCP_NODELAY` or `TCP_CORK`.
    pub fn set_small_segments(&mut self, at: &mut Moment<'_>, nodelay: Option<bool>, cork: Option<bool>) {
        if let Some(nodelay) = nodelay {
            self.options.nodelay = nodelay;
        }
        if let Some(cork) = cork {
            self.options.cork = cork;
        }
        self.more = false;
        if let Some((sender, _)) = &mut self.ends {
            sender.set_nagle(!self.options.nodelay);
        }
        // Linux: TCP_NODELAY sends the data that waits, even if TCP_CORK holds it back.
        if nodelay == Some(true) || cork == Some(false) {
            let corked = std::mem::take(&mut self.options.cork);
            self.hand_down(at.now);
            self.flush(at);
            self.options.cork = corked && cork != Some(false);
        }
    }

    /// Closes the sending direction: a FIN follows the data.
    pub fn close_write(&mut self, at: &mut Moment<'_>) {
        self.write_closed = true;
        self.hand_down(at.now);
        self.flush(at);
    }

    /// Closes the socket.
    pub fn close(&mut self, at: &mut Moment<'_>, linger_zero: bool) {
        self.closed = true;
        if self.stage == ConnectionStage::SynSent {
            self.stage = ConnectionStage::Gone;
        } else if self.stage != ConnectionStage::Gone && (self.readable().0 > 0 || linger_zero) {
            // RFC 2525, section 2.17: a reset tells the peer that its data will not be read.
            let seq = self.next_seq();
            let flags = Flags { rst: true, ..Flags::ACK };
            self.push(at, ScriptSegment::empty(flags, seq), None);
            self.stage = ConnectionStage::Gone;
        } else if self.stage != ConnectionStage::Gone && !self.write_closed {
            self.close_write(at);
        }
    }

    /// The next sequence number to send.
    fn next_seq(&self) -> u32 {
        let Some(sender) = self.sender() else { return 1 };
        (sender.sent() as u32).wrapping_add(1 + u32::from(sender.has_sent_fin()))
    }

    /// The next sequence number expected from the peer.
    fn expected(&self) -> u32 {
        self.peer_isn.wrapping_add(1).wrapping_add(self.received() as u32).wrapping_add(u32::from(self.peer_fin))
    }

    /// Sends a segment: fills in its acknowledgement, window and options.
    fn push(&mut self, at: &mut Moment<'_>, mut segment: ScriptSegment, from: Option<&Packet>) {
        segment.ack = if segment.flags.ack { self.expected() } else { 0 };
        let mut options = Vec::new();
        if self.agreed.timestamps {
            let echo = match from {
                Some(packet) if packet.ts_ecr != 0 => packet.ts_ecr,
                _ => self.ends.as_ref().map_or(self.peer_ts, |(_, receiver)| receiver.ts_recent()),
            };
            options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::Timestamp(micros(at.now), echo)]);
        }
        let mut blocks = Vec::new();
        if let Some(packet) = from {
            let number =
                |relative: u32| (packet.ack as u32).wrapping_add(relative).wrapping_add(self.peer_isn).wrapping_add(1);
            let present = packet.sack.iter().filter(|(start, end)| start != end);
            blocks.extend(present.map(|&(s, e)| (number(s), number(e))));
        }
        self.report_marks(at, &mut segment, &mut options, &mut blocks);
        if !blocks.is_empty() {
            options.extend([TcpOption::Nop, TcpOption::Nop, TcpOption::Sack(blocks)]);
        }
        segment.options = Some(options);
        if let Some((_, receiver)) = &self.ends {
            let scale = if self.agreed.peer_scale.is_some() { self.own_scale } else { 0 };
            let unread = receiver.delivered() - self.read;
            segment.window =
                Some(u32::try_from((receiver.window().saturating_sub(unread) >> scale).min(65_535)).unwrap_or(65_535));
        }
        if segment.ecn.is_none() {
            segment.ecn = Some(Ecn::NotEct);
        }
        at.out.push(TimedSegment { at: at.now, segment });
    }

    /// Sends all segments that may be sent now.
    pub fn flush(&mut self, at: &mut Moment<'_>) {
        if self.stage != ConnectionStage::Established || self.is_stuck(at) {
            return;
        }
        let mut segments = Vec::new();
        loop {
            let Some((sender, _)) = &mut self.ends else { return };
            let before = sender.sent();
            let mut any = false;
            while let Some(packet) = sender.poll(at.now) {
                any = true;
                segments.push((packet, packet.seq >= before && packet.payload > 0));
                if segments.len() > 100_000 {
                    break;
                }
            }
            if !any {
                break;
            }
            self.hand_down(at.now);
        }
        self.emit(at, &segments);
        let Some((_, receiver)) = &mut self.ends else { return };
        if segments.iter().any(|(packet, _)| packet.payload > 0 || packet.has(flag::FIN)) {
            receiver.piggyback();
            self.fin_ack_at = Time::NEVER;
        }
        let mut acks = Vec::new();
        while let Some(packet) = receiver.poll(at.now) {
            acks.push(packet);
        }
        for mut packet in acks {
            if std::mem::take(&mut self.fin_to_acknowledge) {
                // After a FIN received in order nothing is missing, and Linux discards its SACK blocks.
                packet.sack = Default::default();
                if self.fin_ack_at != Time::NEVER {
                    continue;
                }
            }
            let flags = Flags { ece: packet.has(flag::ECE), ..Flags::ACK };
            let seq = self.next_seq();
            self.push(at, ScriptSegment::empty(flags, seq), Some(&packet));
        }
        self.note_waits(at.now);
    }

    /// Whether the device refuses packets. Linux then counts the data as not sent, and tries again after a
    /// retransmission timeout and every half second from then on, up to the user timeout.
    fn is_stuck(&mut self, at: &Moment<'_>) -> bool {
        if !at.system.device_full {
            self.stuck = None;
            return false;
        }
        let Some((sender, _)) = &self.ends else { return false };
        if sender.supplied() > sender.sent() && sender.una() == sender.sent() && self.stuck.is_none() {
            self.stuck = Some((at.now, at.now.saturating_add(sender.rtt().rto())));
        }
        true
    }

    /// Sends segments of the sender, with PSH where Linux sets it.
    fn emit(&mut self, at: &mut Moment<'_>, segments: &[(Packet, bool)]) {
        let Some((sender, _)) = &self.ends else { return };
        let system = at.system;
        let mss = u64::from(self.segment_size(system));
        let info = sender.info();
        let (ss, ca) = system.pacing_ratios;
        let ratio = if info.cwnd < info.ssthresh / 2.0 { ss } else { ca } as f64 / 100.0;
        let srtt = info.rtt.0.as_secs().max(1e-6);
        let limits = BurstLimits {
            cwnd: sender.cwnd(),
            mss,
            least: system.min_tso_segments,
            rate: info.cwnd * mss as f64 * ratio / srtt,
            min_rtt: info.rtt.2,
        };
        let data: Vec<_> = segments
            .iter()
            .filter(|(packet, _)| packet.payload > 0)
            .map(|(packet, new)| (packet.seq, packet.end(), *new))
            .collect();
        let marks = self.bursts.mark(&data, &limits, &|offset| self.records.contains(&offset));
        let mut marks = marks.into_iter();
        let (is_probing, sent) = (sender.is_probing(), sender.sent());
        let mut probes = 0;
        for (packet, _) in segments {
            let fin = packet.has(flag::FIN);
            let burst = packet.payload > 0 && marks.next().unwrap_or(false);
            if packet.payload == 0 && !fin {
                // The sender's ACK of the peer's SYN-ACK or FIN is not sent: the receiver sends the ACK.
                continue;
            }
            let probe = is_probing && packet.payload == 1 && packet.seq == sent;
            probes += u64::from(probe);
            let psh = packet.payload > 0 && !probe && (burst || self.pushes.contains(&packet.end()));
            let flags = Flags { fin, psh, cwr: packet.has(flag::CWR), ..Flags::ACK };
            let mut segment = ScriptSegment {
                flags,
                seq: (packet.seq as u32).wrapping_add(1),
                payload: packet.payload.into(),
                ecn: Some(if packet.has(flag::ECT) { Ecn::Ect0 } else { Ecn::NotEct }),
                ..ScriptSegment::default()
            };
            if probe {
                // Linux probes a closed window with an old sequence number and no data.
                segment.seq = segment.seq.wrapping_sub(1);
                segment.payload = 0;
            }
            self.push(at, segment, None);
        }
        self.probes += probes;
    }

    fn note_waits(&mut self, now: Time) {
        let Some((sender, _)) = &self.ends else { return };
        let unsent = sender.supplied() > sender.sent();
        let outstanding = sender.sent() > sender.una();
        let room = (sender.cwnd() * u64::from(self.agreed.peer_mss) as f64) as u64 > sender.in_flight();
        let wait = if unsent && room {
            Some(Wait::ReceiveWindow)
        } else if unsent || outstanding {
            let starved = !unsent && self.blocked > 0 && room;
            Some(if starved { Wait::SendBuffer } else { Wait::Busy })
        } else {
            None
        };
        self.waits.set(now, wait);
    }

    /// When [`ScriptConnection::on_timer`] must be called next.
    pub fn deadline(&self) -> Time {
        if self.stage == ConnectionStage::Gone {
            return Time::NEVER;
        }
        let ends =
            self.ends.as_ref().map_or(Time::NEVER, |(sender, receiver)| sender.deadline().min(receiver.deadline()));
        ends.min(self.syn_at)
            .min(self.probe_at)
            .min(self.fin_ack_at)
            .min(self.stuck.map_or(Time::NEVER, |(_, retry)| retry))
    }

    /// Handles the timers that are due; called at [`ScriptConnection::deadline`].
    pub fn on_timer(&mut self, at: &mut Moment<'_>) {
        if at.now >= self.syn_at {
            if self.syns.len() > at.system.syn_retries as usize {
                self.fail("ETIMEDOUT");
            } else {
                self.send_syn(at);
            }
        }
        if at.now >= self.probe_at {
            self.probe_at = Time::NEVER;
            self.more = false;
            let corked = std::mem::take(&mut self.options.cork);
            self.pushes.insert(self.written);
            self.hand_down(at.now);
            self.options.cork = corked;
        }
        if at.now >= self.fin_ack_at {
            self.answer(at);
        }
        if let Some((since, retry)) = self.stuck.filter(|(_, retry)| at.now >= *retry) {
            let limit = self.options.user_timeout.unwrap_or(Duration::MAX);
            if at.now.saturating_since(since) >= limit {
                self.fail("ETIMEDOUT");
                return;
            }
            self.probes += 1;
            self.stuck = Some((since, retry + Duration::from_millis(500)));
        }
        let Some((sender, receiver)) = &mut self.ends else { return };
        if at.now >= receiver.deadline() {
            receiver.on_timer(at.now);
        }
        if at.now >= sender.deadline() {
            sender.on_timer(at.now);
        }
        if sender.state() == SenderState::Aborted {
            self.fail("ETIMEDOUT");
            return;
        }
        self.flush(at);
    }

    /// Ends the connection with an error for the application.
    fn fail(&mut self, error: &'static str) {
        self.stage = ConnectionStage::Gone;
        self.error = Some(error);
        self.syn_at = Time::NEVER;
    }
}
