//! The sending end: what may leave, and what to send again.
//!
//! Sources: RFC 9293 (windows, probes), RFC 5681 (congestion control, fast retransmit and fast recovery), RFC 6582
//! (NewReno, the careful variant: an ACK has to cover more than `recover`), RFC 6298 (timer), RFC 3042 (limited
//! transmit), RFC 7323 (timestamps), RFC 3168 (ECN).
//!
//! Departures: the timer restarts at fast retransmit, as in BSD, Linux and ns-2; after a timeout the sender goes
//! back to the first unacknowledged byte and sends on from there; `SYN` and `FIN` take no offset.

use wifair_packet::{Kind, Packet, flag};
use wifair_units::{Duration, Time};

use crate::cc::{Ack, Algorithm, CongestionControl, Start};
use crate::config::{Growth, Habits, Handshake, IdleRestart, LimitedTransmit, Recovery, ReduceFrom, SenderConfig};
use crate::rtt::Rtt;
use crate::{TIMESTAMP_OPTION, clock};

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// [`Sender::open`] was not called yet.
    Closed,
    /// The SYN is on its way.
    SynSent,
    /// Data may flow.
    Established,
    /// All data and the FIN are acknowledged.
    Finished,
}

/// What kind of loss is being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout, or Tahoe's fast retransmit: slow start from the first unacknowledged byte.
    Loss,
}

/// Bits of what shall leave before anything else.
mod due {
    pub const SYN: u8 = 1;
    /// An ACK without data, for a SYN-ACK or FIN-ACK.
    pub const ACK: u8 = 2;
    /// The segment at `una`.
    pub const HEAD: u8 = 4;
    /// A byte beyond the receive window.
    pub const PROBE: u8 = 8;
}

/// What a sender counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer with data outstanding.
    pub timeouts: u64,
    /// Times that fast retransmit began.
    pub fast_retransmits: u64,
    /// Retransmissions or timeouts that turned out to be needless.
    pub spurious: u64,
    /// Segments with data, retransmissions included.
    pub segments: u64,
    /// ACKs that came in.
    pub acks: u64,
}

/// The sender of a connection.
#[derive(Debug)]
pub struct Sender {
    /// First byte not acknowledged, next one to send, the one behind the highest ever sent.
    una: u64,
    nxt: u64,
    max: u64,
    /// The byte behind the last one that the application handed down.
    supplied: u64,
    /// Receive window in bytes, from `una` on.
    rwnd: u64,
    /// Where recovery ends.
    recover: u64,
    /// What fast recovery adds to the window, in bytes; below zero after many partial ACKs.
    inflation: i64,
    mss: u64,
    dup_acks: u32,
    /// Bytes that limited transmit sent since the last new ACK.
    limited_sent: u32,
    phase: Phase,
    state: State,
    due: u8,
    /// Partial ACK seen in this recovery.
    partial: bool,
    closing: bool,
    fin_sent: bool,
    /// A SYN was sent again.
    syn_again: bool,
    /// The window was what limited the last [`Sender::poll`].
    window_limited: bool,
    /// Cut for a congestion mark up to here.
    ecn_recover: u64,
    /// The next new segment says that the window was reduced.
    cwr: bool,
    /// Retransmission timer, or persist timer while the receive window is closed.
    rto_at: Time,
    last_send: Time,
    /// The segment that is being timed ends here and left then; 0 for none.
    timed: u64,
    timed_at: Time,
    rtt: Rtt,
    sample: Option<Duration>,
    /// Head of the last timeout.
    timed_out: Option<u64>,
    cc: Algorithm,
    flow: u32,
    habits: Habits,
    counts: Counts,
    last_new_sent: Time,
    last_acked: Time,
}

impl Sender {
    /// The sender of flow number `flow`.
    #[must_use]
    pub fn new(config: &SenderConfig, flow: u32) -> Self {
        let start = Self::start(&config.habits, flow);
        Self::with_algorithm(&config.habits, Algorithm::new(&config.cc, start), flow)
    }

    /// What the congestion control of such a sender starts from.
    #[must_use]
    pub fn start(habits: &Habits, flow: u32) -> Start {
        let mss = f64::from(habits.mss);
        Start {
            window: (habits.initial_window as f64 / mss).max(1.0),
            ssthresh: habits.initial_ssthresh,
            mss,
            seed: u64::from(flow),
        }
    }

    /// A sender with a congestion control of the caller's, made from [`Sender::start`].
    #[must_use]
    pub fn with_algorithm(habits: &Habits, cc: Algorithm, flow: u32) -> Self {
        // The ticks of the connections are spread evenly, by multiples of the golden ratio.
        let phase = (u64::from(flow.wrapping_mul(0x9e37_79b9)) * habits.rtt.tick.as_nanos()) >> 32;
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            supplied: 0,
            rwnd: habits.fixed_window.unwrap_or(0),
            recover: 0,
            inflation: 0,
            mss: u64::from(habits.mss),
            dup_acks: 0,
            limited_sent: 0,
            phase: Phase::Open,
            state: State::Closed,
            due: 0,
            partial: false,
            closing: false,
            fin_sent: false,
            syn_again: false,
            window_limited: false,
            ecn_recover: 0,
            cwr: false,
            rto_at: Time::NEVER,
            last_send: Time::ZERO,
            timed: 0,
            timed_at: Time::ZERO,
            rtt: Rtt::new(habits.rtt, Duration::from_nanos(phase)),
            sample: None,
            timed_out: None,
            cc,
            flow,
            habits: *habits,
            counts: Counts::default(),
            last_new_sent: Time::ZERO,
            last_acked: Time::ZERO,
        }
    }

    /// Opens the connection: a SYN becomes due, or data may leave at once where there is no handshake; then the
    /// receive window counts as `receive_window` bytes until an ACK tells.
    ///
    /// # Panics
    /// If it was opened before.
    pub fn open(&mut self, now: Time) {
        assert!(self.state == State::Closed, "a connection is opened once");
        self.last_send = now;
        match self.habits.handshake {
            Handshake::None => {
                self.state = State::Established;
                if self.habits.fixed_window.is_none() {
                    self.rwnd = u64::from(u16::MAX) << self.habits.window_scale;
                }
            }
            Handshake::OneWay | Handshake::ThreeWay => {
                self.state = State::SynSent;
                self.due = due::SYN;
            }
        }
    }

    /// The application hands down `bytes` more; `u64::MAX` never ends.
    pub fn supply(&mut self, bytes: u64) {
        debug_assert!(!self.closing, "no data follows the end");
        self.supplied = self.supplied.saturating_add(bytes);
    }

    /// The application is done: a FIN follows the last byte, where the configuration has one.
    pub fn close(&mut self) {
        self.closing = true;
        self.finish_without_fin();
    }

    fn finish_without_fin(&mut self) {
        if self.closing && !self.habits.fin && self.una == self.supplied && self.state == State::Established {
            self.state = State::Finished;
            if self.habits.idle_restart != IdleRestart::TimerRunsOn {
                self.rto_at = Time::NEVER;
            }
        }
    }

    /// The window in bytes: what may be in flight as far as the congestion control is concerned.
    #[inline]
    fn window(&self) -> u64 {
        let mss = self.mss as f64;
        let cwnd = (self.cc.cwnd() * mss) as u64;
        let inflated = cwnd.saturating_add_signed(self.inflation).max(self.mss);
        if self.habits.max_cwnd.is_finite() { inflated.min((self.habits.max_cwnd * mss) as u64) } else { inflated }
    }

    /// `bytes` in segments.
    #[inline]
    fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 / self.mss as f64
    }

    const fn fin_outstanding(&self) -> bool {
        self.fin_sent && !matches!(self.state, State::Finished)
    }

    const fn outstanding(&self) -> bool {
        self.max > self.una || self.fin_outstanding() || matches!(self.state, State::SynSent)
    }

    /// A segment came in from the data receiver.
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        self.sample = None;
        self.counts.acks += 1;
        if self.state != State::Established {
            if self.state == State::SynSent && packet.has(flag::SYN) {
                self.on_syn_ack(now, packet);
            } else if self.state == State::Finished && packet.has(flag::FIN) {
                self.due |= due::ACK;
            }
            return;
        }
        if packet.has(flag::SYN) {
            // The third segment of the handshake was lost, or the SYN was sent twice.
            self.due |= if self.habits.handshake == Handshake::ThreeWay { due::ACK } else { 0 };
            return;
        }
        if packet.ack < self.una || packet.ack > self.max {
            return;
        }
        let rwnd = self.offered(packet.window);
        let window_changed = rwnd != self.rwnd;
        self.rwnd = rwnd;
        if packet.ack > self.una {
            self.on_new_ack(now, packet);
        } else if self.max > self.una && !window_changed {
            self.on_dup_ack(now, packet);
        }
        if window_changed && self.max == self.una && !self.fin_sent {
            // The window opened: the persist timer has done its work.
            self.rto_at = Time::NEVER;
        }
        if packet.has(flag::FIN) && self.fin_sent && self.una == self.max {
            self.state = State::Finished;
            self.rto_at = Time::NEVER;
            self.due = due::ACK;
            self.last_acked = now;
        }
    }

    /// The receive window that a header field means, in bytes. A receiver whose window is known from the start
    /// leaves the field at its largest; what is less was written by somebody on the way, who is obeyed.
    #[inline]
    fn offered(&self, field: u16) -> u64 {
        let offered = u64::from(field) << self.habits.window_scale;
        match self.habits.fixed_window {
            None => offered,
            Some(window) if field == u16::MAX => window,
            Some(window) => window.min(offered),
        }
    }

    fn on_syn_ack(&mut self, now: Time, packet: &Packet) {
        self.state = State::Established;
        self.due = if self.habits.handshake == Handshake::ThreeWay { due::ACK } else { 0 };
        self.rto_at = Time::NEVER;
        // The scale holds for all segments but the SYNs (RFC 7323, section 2.2); it is used here as well, so that the
        // initial window is not cut by a field of 16 bits.
        self.rwnd = self.offered(packet.window);
        if self.syn_again {
            // RFC 5681, section 3.1: one segment after a lost SYN. RFC 6298, rule 5.7: three seconds.
            self.cc.on_idle_restart(1.0);
            self.rtt.restart_from(Duration::from_secs(3));
        } else {
            self.take_sample(now, self.timed_at);
        }
        if self.habits.idle_restart == IdleRestart::TimerRunsOn {
            self.rto_at = now + self.rtt.rto();
        }
        self.finish_without_fin();
    }

    #[inline]
    fn take_sample(&mut self, now: Time, sent: Time) {
        self.rtt.sample(sent, now);
        self.sample = Some(now.saturating_since(sent));
    }

    /// RTT by timestamps (RFC 7323, section 4.1) or by the one segment that is timed (Karn's algorithm).
    #[inline]
    fn measure(&mut self, now: Time, packet: &Packet) {
        if self.habits.timestamps {
            let micros = clock(now).wrapping_sub(packet.ts_ecr);
            let exact = Duration::from_micros(u64::from(micros));
            self.rtt.sample_timestamp(exact);
            self.sample = Some(exact);
        } else if self.timed != 0 && packet.ack >= self.timed {
            self.timed = 0;
            self.take_sample(now, self.timed_at);
        }
    }

    #[inline]
    fn on_new_ack(&mut self, now: Time, packet: &Packet) {
        self.measure(now, packet);
        let acked = packet.ack - self.una;
        self.una = packet.ack;
        self.nxt = self.nxt.max(packet.ack);
        self.last_acked = now;
        let mut restart_timer = true;
        let in_recovery = self.phase != Phase::Open && {
            restart_timer = self.on_new_ack_in_recovery(acked);
            self.phase == Phase::Recovery || !self.habits.ns2_recovery
        };
        if self.due & due::HEAD != 0 && self.phase == Phase::Open {
            self.due &= !due::HEAD;
        }
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.tell(now, packet, acked, in_recovery);
        if packet.has(flag::ECE) {
            self.on_echo();
        }
        self.restart_timer(now, restart_timer);
        self.finish_without_fin();
    }

    #[inline]
    fn restart_timer(&mut self, now: Time, restart: bool) {
        if self.max > self.una || self.fin_outstanding() {
            if restart || self.rto_at == Time::NEVER {
                self.rto_at = now.saturating_add(self.rtt.rto());
            }
        } else if self.habits.idle_restart == IdleRestart::TimerRunsOn {
            self.rto_at = now.saturating_add(self.rtt.rto());
        } else {
            self.rto_at = Time::NEVER;
        }
    }

    /// Leaves recovery, or answers a partial ACK; returns whether the timer restarts.
    fn on_new_ack_in_recovery(&mut self, acked: u64) -> bool {
        if self.phase == Phase::Loss {
            if self.una >= self.recover {
                self.phase = Phase::Open;
            }
            return true;
        }
        let ends = self.una >= self.recover || self.habits.recovery != Recovery::NewReno;
        if ends {
            // RFC 6582, section 3.2, step 3, first way: no burst when little is in flight. ns-2: what the
            // partial ACKs took off the window stays off.
            let at_most = if self.habits.ns2_recovery {
                if self.inflation < 0 {
                    self.cc.cwnd() - self.segments(self.inflation.unsigned_abs())
                } else {
                    f64::INFINITY
                }
            } else {
                self.segments((self.nxt - self.una).max(self.mss) + self.mss)
            };
            self.phase = Phase::Open;
            self.inflation = 0;
            self.due &= !due::HEAD;
            self.cc.on_recovery_exit(at_most);
            return true;
        }
        // RFC 6582, section 3.2, step 3, partial acknowledgement.
        self.inflation -= acked.cast_signed();
        if acked >= self.mss {
            self.inflation += self.mss.cast_signed();
        }
        self.due |= due::HEAD;
        let first = !self.partial;
        self.partial = true;
        first || !self.habits.impatient
    }

    /// Tells the congestion control of an ACK.
    #[inline]
    fn tell(&mut self, now: Time, packet: &Packet, acked: u64, in_recovery: bool) {
        let segments = match self.habits.growth {
            _ if acked == 0 => 0.0,
            Growth::PerAck => 1.0,
            Growth::OneSegment => self.segments(acked).min(1.0),
            Growth::TwoSegments => self.segments(acked).min(2.0),
            Growth::Bytes => self.segments(acked),
        };
        self.cc.on_ack(&Ack {
            now,
            segments,
            bytes: acked,
            rtt: self.sample,
            one_way_delay: None,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            una: self.una,
            nxt: self.max,
            in_flight: self.segments(self.nxt - self.una),
            delivered: self.una,
            lost: 0.0,
            rate: None,
            window_limited: self.window_limited || !self.habits.validate_window,
            ecn_echo: packet.has(flag::ECE),
            in_recovery,
            duplicate: acked == 0,
            mss: f64::from(self.habits.mss),
        });
    }

    fn on_dup_ack(&mut self, now: Time, packet: &Packet) {
        self.dup_acks += 1;
        self.tell(now, packet, 0, self.phase == Phase::Recovery);
        if self.phase == Phase::Recovery {
            self.inflation += self.mss.cast_signed();
        } else if self.dup_acks == self.habits.dup_threshold && (self.una > self.recover || self.recover == 0) {
            self.enter_recovery(now);
        }
        if packet.has(flag::ECE) {
            self.on_echo();
        }
    }

    /// RFC 5681, section 3.2, steps 2 and 3.
    fn enter_recovery(&mut self, now: Time) {
        self.counts.fast_retransmits += 1;
        self.cc.on_loss(self.reduction_base(self.habits.recovery == Recovery::Tahoe));
        self.recover = self.max;
        self.partial = false;
        self.timed = 0;
        self.limited_sent = 0;
        self.due |= due::HEAD;
        if self.habits.recovery == Recovery::Tahoe {
            self.phase = Phase::Loss;
            self.nxt = self.una;
            self.due &= !due::HEAD;
        } else {
            self.phase = Phase::Recovery;
            self.inflation = (self.mss * u64::from(self.habits.dup_threshold)).cast_signed();
        }
        self.rto_at = now.saturating_add(self.rtt.rto());
    }

    /// What `ssthresh` is computed from, in segments. `slow_start` follows: ns-2 keeps `ssthresh` whole, which
    /// tells only there.
    fn reduction_base(&self, slow_start: bool) -> f64 {
        if self.habits.reduce_from == ReduceFrom::Window {
            let window = self.cc.cwnd().min(self.habits.max_cwnd).min(self.segments(self.rwnd));
            if slow_start && self.habits.ns2_recovery { 2.0 * (window / 2.0).floor() } else { window }
        } else {
            // RFC 5681, section 3.2, step 2: without what limited transmit sent.
            self.segments((self.nxt - self.una).saturating_sub(u64::from(self.limited_sent)))
        }
    }

    /// The receiver echoes a congestion mark (RFC 3168, section 6.1.2).
    fn on_echo(&mut self) {
        if self.habits.ecn && self.una > self.ecn_recover && self.phase == Phase::Open {
            self.cc.on_ecn(self.reduction_base(false));
            self.ecn_recover = self.max;
            self.cwr = true;
        }
    }

    /// When [`Sender::on_timer`] wants to be called, [`Time::NEVER`] for not at all.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.rto_at
    }

    /// The time of [`Sender::deadline`] may have come.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.rto_at {
            self.on_timeout(now);
        }
    }

    fn on_timeout(&mut self, now: Time) {
        if !self.outstanding() {
            if self.habits.idle_restart == IdleRestart::TimerRunsOn {
                self.cc.on_idle_restart(1.0);
                self.rto_at = now.saturating_add(self.rtt.rto());
            } else {
                // RFC 9293, section 3.8.6.1: the window is closed.
                self.due |= due::PROBE;
                self.rtt.back_off();
                self.rto_at = Time::NEVER;
            }
            return;
        }
        self.counts.timeouts += 1;
        if self.state == State::SynSent {
            self.due |= due::SYN;
            self.syn_again = true;
        } else if self.max > self.una {
            // RFC 5681, section 3.1: only the first timeout of a segment reduces `ssthresh`.
            if self.timed_out != Some(self.una) || self.habits.ns2_recovery {
                self.cc.on_rto(self.reduction_base(true));
            }
            self.timed_out = Some(self.una);
            self.phase = Phase::Loss;
            self.recover = self.max;
            self.nxt = self.una;
            self.due &= !due::HEAD;
            self.fin_sent = false;
        } else {
            self.fin_sent = false;
        }
        self.inflation = 0;
        if !(self.habits.ns2_recovery && self.habits.recovery == Recovery::Tahoe) {
            // ns-2's Tahoe goes on counting.
            self.dup_acks = 0;
        }
        self.limited_sent = 0;
        self.timed = 0;
        self.rtt.back_off();
        self.rto_at = now.saturating_add(self.rtt.rto());
    }

    /// The next segment that may leave.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Packet> {
        if self.due != 0
            && let Some(packet) = self.poll_due(now)
        {
            return Some(packet);
        }
        if self.state != State::Established {
            return None;
        }
        let in_flight = self.nxt - self.una;
        let len = self.mss.min(self.supplied - self.nxt);
        if len == 0 {
            self.window_limited = false;
            return self.poll_fin(now);
        }
        if in_flight == 0 && self.max == self.una {
            self.restart_after_idle(now);
        }
        let extra = if self.dup_acks > 0 { self.limited_transmit() } else { 0 };
        let window = self.window() + extra;
        let allowed = window.min(self.rwnd);
        let mut len = len;
        if in_flight + len > allowed {
            // The sender avoids silly windows: a short segment leaves only when nothing is in flight.
            if in_flight > 0 || allowed == 0 {
                self.window_limited = in_flight + len > window;
                if self.rwnd == 0 && !self.outstanding() && self.rto_at == Time::NEVER {
                    self.rto_at = now.saturating_add(self.rtt.rto());
                }
                return None;
            }
            len = allowed;
        }
        if extra > 0 && in_flight + len + extra > window {
            self.limited_sent += len as u32;
        }
        let seq = self.nxt;
        self.nxt += len;
        Some(self.segment(now, seq, len))
    }

    /// Bytes beyond the window by the first duplicate ACKs.
    fn limited_transmit(&self) -> u64 {
        let on = match self.habits.limited_transmit {
            LimitedTransmit::Off => false,
            LimitedTransmit::Rfc3042 => self.phase == Phase::Open && self.nxt == self.max,
            LimitedTransmit::Ns2 => self.phase != Phase::Recovery,
        };
        if on && self.dup_acks < self.habits.dup_threshold { u64::from(self.dup_acks) * self.mss } else { 0 }
    }

    /// RFC 5681, section 4.1.
    fn restart_after_idle(&mut self, now: Time) {
        if self.habits.idle_restart == IdleRestart::Rfc5681 && now.saturating_since(self.last_send) > self.rtt.rto() {
            self.cc.on_idle_restart(self.segments(self.habits.initial_window));
            self.last_send = now;
        }
    }

    #[cold]
    fn poll_due(&mut self, now: Time) -> Option<Packet> {
        if self.due & due::SYN != 0 {
            self.due &= !due::SYN;
            self.timed_at = now;
            self.rto_at = now.saturating_add(self.rtt.rto());
            return Some(self.header(now, flag::SYN));
        }
        if self.due & due::ACK != 0 {
            self.due &= !due::ACK;
            return Some(self.header(now, flag::ACK));
        }
        if self.due & due::HEAD != 0 {
            self.due &= !due::HEAD;
            if self.max > self.una {
                let len = self.mss.min(self.max - self.una);
                return Some(self.segment(now, self.una, len));
            }
        }
        if self.due & due::PROBE != 0 {
            self.due &= !due::PROBE;
            if self.rwnd == 0 && self.supplied > self.nxt && self.max == self.una {
                let mut probe = self.header(now, flag::ACK);
                probe.seq = self.nxt;
                probe.payload = 1;
                probe.size += 1;
                self.max = self.nxt + 1;
                self.nxt = self.max;
                self.rto_at = now.saturating_add(self.rtt.rto());
                return Some(probe);
            }
        }
        None
    }

    fn poll_fin(&mut self, now: Time) -> Option<Packet> {
        if self.closing && self.habits.fin && !self.fin_sent && self.nxt == self.supplied {
            self.fin_sent = true;
            if self.rto_at == Time::NEVER {
                self.rto_at = now.saturating_add(self.rtt.rto());
            }
            let mut fin = self.header(now, flag::FIN | flag::ACK);
            fin.seq = self.supplied;
            return Some(fin);
        }
        None
    }

    /// A segment without payload.
    fn header(&self, now: Time, flags: u8) -> Packet {
        let mut packet = Packet {
            seq: self.nxt,
            flow: self.flow,
            size: self.habits.header,
            flags,
            kind: Kind::Data,
            ..Packet::default()
        };
        if self.habits.timestamps {
            packet.ts_val = clock(now);
            if self.habits.count_options {
                packet.size += TIMESTAMP_OPTION;
            }
        }
        packet
    }

    /// The data segment `seq .. seq + len`, with all that sending it entails.
    #[inline]
    fn segment(&mut self, now: Time, seq: u64, len: u64) -> Packet {
        let end = seq + len;
        let mut packet = self.header(now, flag::ACK);
        packet.seq = seq;
        packet.payload = len as u16;
        packet.size += len as u16;
        if seq < self.max {
            packet.flags |= flag::RETRANSMISSION;
            self.counts.retransmissions += 1;
        } else {
            if self.habits.ecn {
                packet.flags |= if self.cwr { flag::ECT | flag::CWR } else { flag::ECT };
                self.cwr = false;
            }
            if self.timed == 0 && !self.habits.timestamps {
                self.timed = end;
                self.timed_at = now;
            }
            self.last_new_sent = now;
        }
        if end == self.supplied && self.closing && self.habits.fin {
            packet.flags |= flag::FIN;
            self.fin_sent = true;
        }
        self.max = self.max.max(end);
        self.counts.segments += 1;
        self.last_send = now;
        if self.rto_at == Time::NEVER {
            self.rto_at = now.saturating_add(self.rtt.rto());
        }
        self.cc.on_send(now, len, end);
        packet
    }

    /// The congestion window, in segments, without what recovery adds.
    #[inline]
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.cc.cwnd().min(self.habits.max_cwnd)
    }

    /// The slow-start threshold, in segments; infinite before the first loss.
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        self.cc.ssthresh()
    }

    /// Round-trip time and timeout.
    #[must_use]
    pub const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// The round-trip time that the last packet measured, where it did.
    #[inline]
    #[must_use]
    pub const fn rtt_sample(&self) -> Option<Duration> {
        self.sample
    }

    /// First byte not acknowledged: all before it has arrived.
    #[inline]
    #[must_use]
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// Next byte to send; it goes back after a timeout.
    #[must_use]
    pub const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// The byte behind the highest that was ever sent.
    #[inline]
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.max
    }

    /// The byte behind the last that the application handed down.
    #[must_use]
    pub const fn supplied(&self) -> u64 {
        self.supplied
    }

    /// Bytes in flight.
    #[must_use]
    pub const fn in_flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// Receive window, in bytes.
    #[must_use]
    pub const fn receive_window(&self) -> u64 {
        self.rwnd
    }

    /// How far the connection has come.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// When the last byte that was new was sent first.
    #[must_use]
    pub const fn last_new_sent(&self) -> Time {
        self.last_new_sent
    }

    /// When [`Sender::una`] moved last.
    #[must_use]
    pub const fn last_acked(&self) -> Time {
        self.last_acked
    }

    /// The congestion control.
    #[must_use]
    pub const fn algorithm(&self) -> &Algorithm {
        &self.cc
    }
}

#[cfg(test)]
mod tests {
    use wifair_config::{Document, Source};
    use wifair_units::BitRate;

    use super::*;
    use crate::pipe::Pipe;
    use crate::{Receiver, Settings};

    fn ends(text: &str) -> (Sender, Receiver) {
        let (sender, receiver) = Document::parse(Source::file("tcp.toml", text))
            .read::<Settings>()
            .unwrap_or_else(|problems| panic!("{problems}"))
            .resolve();
        (Sender::new(&sender, 0), Receiver::new(&receiver, 0))
    }

    /// Receive window 20 packets of 1000 B, known from the start: the receiver's field says nothing (65535), until an
    /// access point writes 5000 B into an ACK.
    #[test]
    fn a_window_that_is_known_from_the_start_can_still_be_cut_on_the_way() {
        let (mut sender, mut receiver) = ends("stack = 'ns2'\nreceive_window = '20 packets'");
        sender.open(Time::ZERO);
        sender.supply(100_000);
        let syn = sender.poll(Time::ZERO).expect("a SYN");
        receiver.on_packet(Time::ZERO, &syn);
        let syn_ack = receiver.poll(Time::ZERO).expect("its ACK");
        assert_eq!(syn_ack.window, u16::MAX);
        sender.on_packet(Time::ZERO, &syn_ack);
        assert_eq!(sender.receive_window(), 20_000);
        sender.on_packet(Time::ZERO, &Packet { window: 5000, ..syn_ack });
        let data = sender.poll(Time::ZERO).expect("data");
        receiver.on_packet(Time::ZERO, &data);
        let ack = receiver.poll(Time::ZERO).expect("an ACK");
        sender.on_packet(Time::ZERO, &Packet { window: 5000, ..ack });
        assert_eq!(sender.receive_window(), 5000);
        sender.on_packet(Time::ZERO, &ack);
        assert_eq!(sender.receive_window(), 20_000);
    }

    /// A transfer over 1 Mb/s as the tables in `golden_ns2` have it; `losses` count from 0 as in ns-2.
    fn ns2(settings: &str, segments: u64, delay_ms: u64, losses: &[u64]) -> Pipe {
        let (sender, receiver) = ends(&format!("stack = 'ns2'\n{settings}"));
        let losses: Vec<u64> = losses.iter().map(|l| l + 1).collect();
        let mut pipe = Pipe::new(sender, receiver, BitRate::from_mbps(1), Duration::from_millis(delay_ms), &losses);
        pipe.sender.open(Time::ZERO);
        pipe.sender.supply(segments * 1000);
        pipe.run(Time::ZERO + Duration::from_secs(30));
        assert_eq!(pipe.receiver.delivered(), segments * 1000);
        pipe
    }

    fn golden(text: &str) -> Vec<(u64, u64)> {
        let number = |t: &str| t.parse().expect("a table of numbers");
        text.lines()
            .filter(|l| !l.starts_with('#'))
            .map(|l| l.split_once(' ').map(|(t, s)| (number(t), number(s))).expect("two columns"))
            .collect()
    }

    /// Each segment leaves when it does in ns-2 2.35, to the microsecond.
    #[test]
    fn every_segment_leaves_as_in_ns2() {
        const BURSTS: &[u64] = &[40, 42, 45, 140, 141, 142, 150];
        const TAIL: &[u64] = &[30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41];
        const LONG: &[u64] = &[45, 100, 101, 180, 300, 330, 331, 332, 450];
        const NEWRENO: &str = "";
        const WINDOW_40: &str = "receive_window = '40 packets'";
        const RENO: &str = "receive_window = '40 packets'\ncc = 'reno'";
        const TAHOE: &str = "receive_window = '40 packets'\ncc = 'tahoe'";
        const WINDOW_15: &str = "receive_window = '15 packets'";
        for (what, text, pipe) in [
            ("clean", include_str!("golden_ns2/newreno_clean.txt"), ns2(NEWRENO, 60, 50, &[])),
            ("one loss", include_str!("golden_ns2/newreno_one_loss.txt"), ns2(NEWRENO, 60, 50, &[20])),
            ("newreno", include_str!("golden_ns2/newreno_bursts.txt"), ns2(WINDOW_40, 300, 50, BURSTS)),
            ("reno", include_str!("golden_ns2/reno_bursts.txt"), ns2(RENO, 300, 50, BURSTS)),
            ("tahoe", include_str!("golden_ns2/tahoe_bursts.txt"), ns2(TAHOE, 300, 50, BURSTS)),
            (
                "delayed",
                include_str!("golden_ns2/newreno_delayed.txt"),
                ns2("delayed_ack = true", 120, 50, &[30, 60, 62]),
            ),
            ("timeouts", include_str!("golden_ns2/newreno_timeouts.txt"), ns2(NEWRENO, 60, 50, TAIL)),
            ("long", include_str!("golden_ns2/newreno_long.txt"), ns2(WINDOW_15, 600, 20, LONG)),
        ] {
            let (expected, sent) = (golden(text), pipe.sent());
            let differs = expected.iter().zip(&sent).position(|(a, b)| a != b);
            if let Some(i) = differs {
                panic!(
                    "{what}: line {i}: ns-2 {:?}, here {:?}",
                    &expected[i..(i + 8).min(expected.len())],
                    &sent[i..(i + 8).min(sent.len())]
                );
            }
            assert_eq!(expected.len(), sent.len(), "{what}");
        }
    }

    /// 1 Mb/s, 50 ms: the SYN of 40 bytes takes 50.32 ms each way, then the third segment and the data leave; the
    /// FIN rides on the last segment and is acknowledged.
    #[test]
    fn a_connection_opens_and_closes_as_in_rfc_9293() {
        let (sender, receiver) = ends("mss = '1000 B'");
        let mut pipe = Pipe::new(sender, receiver, BitRate::from_mbps(1), Duration::from_millis(50), &[]);
        pipe.sender.open(Time::ZERO);
        pipe.sender.supply(1500);
        pipe.sender.close();
        pipe.run(Time::ZERO + Duration::from_secs(10));
        let log: Vec<_> = pipe.log.iter().map(|(t, p)| (t.as_nanos() / 1000, p.flags, p.seq, p.size)).collect();
        assert_eq!(
            log,
            [
                (0, flag::SYN, 0, 40),
                (100_640, flag::ACK, 0, 40),
                (100_640, flag::ACK, 0, 1040),
                (100_640, flag::ACK | flag::FIN, 1000, 540),
                // Two segments arrived: one ACK, which is also the receiver's FIN, and the last ACK answers it.
                (100_640 + 320 + 8_320 + 4_320 + 50_000 + 50_320, flag::ACK, 1500, 40),
            ]
        );
        assert_eq!((pipe.sender.state(), pipe.receiver.is_finished()), (State::Finished, true));
        assert_eq!(pipe.sender.deadline(), Time::NEVER);
    }
}
