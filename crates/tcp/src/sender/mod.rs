//! The sending end: what may leave, and what to send again.
//!
//! Sources: RFC 9293 (windows, probes), RFC 5681 (congestion control, fast retransmit and fast recovery), RFC 6582
//! (NewReno, which RFC 2582 calls the careful variant: an ACK has to cover more than `recover`), RFC 6298 (timer),
//! RFC 3042 (limited transmit), RFC 7323 (timestamps), RFC 3168 (ECN).
//!
//! Departures: the timer restarts at fast retransmit, as in BSD, Linux and ns-2; after a timeout the sender goes
//! back to the first unacknowledged byte and sends on from there; `SYN` and `FIN` take no offset.

mod info;
mod prr;
mod rate;
mod scoreboard;
mod selective;
mod times;

use wifair_packet::{Kind, Packet, flag};
use wifair_units::{Duration, Time};

use crate::cc::{Ack, Algorithm, CongestionControl, RateSample, Start};
use crate::config::{
    Growth, Handshake, IdleRestart, LimitedTransmit, Recovery, ReduceFrom, SenderConfig, StackOptions,
};
use crate::rtt::Rtt;
use crate::{TIMESTAMP_OPTION, clock};

pub use info::{Info, RecoveryState};
use selective::Selective;
use times::Times;

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
    /// Nothing was acknowledged for the user timeout: nothing is sent any more.
    Aborted,
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
    /// A tail loss probe.
    pub const TAIL: u8 = 16;
}

/// What an ACK tells the congestion control beyond the packet and the sender's own state.
#[derive(Clone, Copy, Debug, Default)]
struct AckSummary {
    acked: u64,
    /// Bytes newly known to have arrived; with selective ACKs some of `acked` were known before.
    delivered: u64,
    in_flight: u64,
    /// Bytes that arrived ahead of a gap.
    sacked: u64,
    /// Segments newly lost.
    lost: u32,
    /// By how many segments the network is known to reorder.
    reordering: u64,
    rate: Option<RateSample>,
    in_recovery: bool,
}

/// How much of the window was in use in the last round trip (Linux).
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// The window was full.
    full: bool,
    /// Bytes outstanding at most.
    most: u64,
    /// Both are forgotten when this is acknowledged.
    until: u64,
    /// The highest byte sent when this was last looked at.
    seen: u64,
}

/// Segments at the start that are not paced, unless the congestion control asks for it (Linux).
const UNPACED: u64 = 10;

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
    /// The largest it ever was.
    most_rwnd: u64,
    /// The header field that told it last; none does before the first ACK.
    window_field: u32,
    /// Where recovery ends.
    recover: u64,
    /// What may be in flight as far as the congestion control is concerned, in bytes; kept by [`Sender::refresh`].
    window: u64,
    /// The congestion window, in segments; kept by [`Sender::tell`] and [`Sender::steer`].
    cwnd: f64,
    /// The offset at which the window ends, and the one up to which full segments may leave without further checks (0:
    /// none); kept by [`Sender::refresh`].
    reach: u64,
    run: u64,
    /// What fast recovery adds to the window, in bytes; below zero after many partial ACKs.
    inflation: i64,
    mss: u64,
    /// `mss` again, and the bound of the window in bytes.
    mss_f64: f64,
    max_window: u64,
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
    /// The FIN left in a segment of its own.
    fin_alone: bool,
    /// It was sent once at least, though a timeout may have forgotten that.
    fin_ever: bool,
    /// The receive window is closed: the timer is that of a probe, whose byte counts only when it is acknowledged.
    probing: bool,
    /// A SYN was sent again.
    syn_again: bool,
    /// The window was what limited the last [`Sender::poll`].
    window_limited: bool,
    /// A window grows that is not used.
    grows_unused: bool,
    /// How much of the window was in use, where that is tracked.
    used: Use,
    /// The last short segment ends here; Nagle's algorithm waits for its ACK.
    short_end: u64,
    /// Since when what is outstanding has gone without an ACK, where there is a user timeout.
    unanswered: Time,
    /// Cut for a congestion mark up to here, and whether proportional rate reduction is still at it.
    ecn_recover: u64,
    reducing: bool,
    /// The next new segment says that the window was reduced.
    cwr: bool,
    /// Retransmission timer, or persist timer while the receive window is closed.
    rto_at: Time,
    /// Tail loss probe and reordering timer (RFC 8985).
    early_at: Time,
    /// When the next segment may leave, by pacing, whether one waits for that, and whether segments are paced at all.
    pace_at: Time,
    pace_waits: bool,
    paces: bool,
    /// Segments that may leave with the last one, whatever pacing says of them.
    burst_left: u32,
    /// Neither pacing nor timers of segments: what new data leaves is a matter of the windows alone.
    plain: bool,
    last_send: Time,
    /// The segment that is being timed ends here and left then; 0 for none.
    timed: u64,
    timed_at: Time,
    rtt: Rtt,
    sample: Option<Duration>,
    /// Head of the last timeout.
    timed_out: Option<u64>,
    /// The first segment, if it was sent again, and the clock of its first retransmission (RFC 3522).
    again: Option<(u64, u32)>,
    selective: Option<Box<Selective>>,
    times: Option<Box<Times>>,
    cc: Algorithm,
    /// What all its full segments have in common.
    full: Packet,
    /// There is more to say in segments, or to remember of them.
    annotates: bool,
    /// Each new ACK measures the round-trip time.
    measures_each: bool,
    options: StackOptions,
    counts: Counts,
}

impl Sender {
    /// The sender of flow number `flow`.
    #[must_use]
    pub fn new(config: &SenderConfig, flow: u32) -> Self {
        let start = Self::start(&config.options, flow);
        let cc = match &config.foreign {
            Some(foreign) => foreign.start(start),
            None => Algorithm::new(&config.cc, start),
        };
        Self::with_algorithm(&config.options, cc, flow)
    }

    /// What the congestion control of such a sender starts from.
    #[must_use]
    pub fn start(options: &StackOptions, flow: u32) -> Start {
        let mss = f64::from(options.mss);
        Start {
            window: (options.initial_window as f64 / mss).max(1.0),
            ssthresh: options.initial_ssthresh,
            mss,
            seed: u64::from(flow),
        }
    }

    /// A sender with a congestion control of the caller's, made from [`Sender::start`].
    #[must_use]
    pub fn with_algorithm(options: &StackOptions, cc: Algorithm, flow: u32) -> Self {
        // The ticks of the connections are spread evenly, by multiples of the golden ratio.
        let phase = (u64::from(flow.wrapping_mul(0x9e37_79b9)) * options.rtt.tick.as_nanos()) >> 32;
        let by_sack = matches!(options.recovery, Recovery::Sack | Recovery::Rack);
        let paces =
            options.pacing || cc.pacing_rate().is_some() || cc.rules_recovery() || matches!(cc, Algorithm::Custom(_));
        let keeps_times = !by_sack && (cc.wants_fine_timer() || cc.wants_every_rtt() || cc.wants_rate_samples());
        let wants_sends = cc.wants_sends();
        let option_bytes = if options.timestamps && options.count_options { TIMESTAMP_OPTION } else { 0 };
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            supplied: 0,
            rwnd: 0,
            most_rwnd: 0,
            window_field: u32::MAX,
            recover: 0,
            window: 0,
            cwnd: cc.cwnd(),
            reach: 0,
            run: 0,
            inflation: 0,
            mss: u64::from(options.mss),
            mss_f64: f64::from(options.mss),
            max_window: ((options.max_cwnd * f64::from(options.mss)) as u64).max(u64::from(options.mss)),
            dup_acks: 0,
            limited_sent: 0,
            phase: Phase::Open,
            state: State::Closed,
            due: 0,
            partial: false,
            closing: false,
            fin_sent: false,
            fin_alone: false,
            fin_ever: false,
            probing: false,
            syn_again: false,
            window_limited: false,
            grows_unused: !options.validate_window,
            used: Use::default(),
            short_end: 0,
            unanswered: Time::NEVER,
            ecn_recover: 0,
            reducing: false,
            cwr: false,
            rto_at: Time::NEVER,
            early_at: Time::NEVER,
            pace_at: Time::ZERO,
            pace_waits: false,
            burst_left: 0,
            paces,
            plain: !paces && options.recovery != Recovery::Rack && !options.track_use && !options.nagle,
            last_send: Time::ZERO,
            timed: 0,
            timed_at: Time::ZERO,
            rtt: Rtt::new(options.rtt, Duration::from_nanos(phase)),
            sample: None,
            timed_out: None,
            again: None,
            selective: by_sack.then(|| Box::new(Selective::new(options, cc.wants_rate_samples()))),
            times: keeps_times
                .then(|| Box::new(Times::new(options.rtt, cc.wants_fine_timer(), cc.wants_rate_samples()))),
            cc,
            full: Packet {
                flow,
                payload: options.mss,
                size: options.header + option_bytes + options.mss,
                flags: flag::ACK,
                kind: Kind::Data,
                ..Packet::default()
            },
            measures_each: options.timestamps || keeps_times,
            annotates: options.timestamps || options.ecn || keeps_times || wants_sends,
            options: *options,
            counts: Counts::default(),
        }
    }

    /// Opens the connection: a SYN becomes due, or data may leave at once where there is no handshake; then the
    /// receive window counts as `receive_window` bytes until an ACK tells. ns-2's SYN waits for the first data.
    ///
    /// # Panics
    /// If it was opened before.
    pub fn open(&mut self, now: Time) {
        assert!(self.state == State::Closed, "a connection is opened once");
        self.last_send = now;
        match self.options.handshake {
            Handshake::None => {
                self.state = State::Established;
                self.rwnd = self.options.receive_window;
            }
            Handshake::OneWay | Handshake::ThreeWay => {
                self.state = State::SynSent;
                if self.options.handshake == Handshake::ThreeWay || self.supplied > 0 {
                    self.due = due::SYN;
                }
            }
        }
        self.refresh();
    }

    /// The application hands down `bytes` more; `u64::MAX` never ends.
    pub fn supply(&mut self, bytes: u64) {
        debug_assert!(!self.closing, "no data follows the end");
        self.supplied = self.supplied.saturating_add(bytes);
        if self.state == State::SynSent && self.rto_at == Time::NEVER {
            self.due = due::SYN;
        }
    }

    /// The application hands down nothing more, and takes back what was never sent; the connection stays.
    pub fn fall_silent(&mut self) {
        self.supplied = self.max;
        self.run = 0;
    }

    /// The application is done: a FIN follows the last byte, where the configuration has one.
    pub fn close(&mut self) {
        self.closing = true;
        self.finish_without_fin();
    }

    #[inline(always)]
    fn finish_without_fin(&mut self) {
        if self.closing {
            self.finish_if_done();
        }
    }

    #[cold]
    fn finish_if_done(&mut self) {
        if !self.options.fin && self.una == self.supplied && self.state == State::Established {
            self.finish();
        }
    }

    /// Computes the window in bytes, and how far it lets segments run. It is at least a segment, so that an empty path
    /// always takes one.
    #[inline(always)]
    fn refresh(&mut self) {
        let cwnd = (self.cwnd * self.mss_f64) as i64;
        let window = if self.inflation == 0 { cwnd } else { cwnd.saturating_add(self.inflation).max(0) };
        self.window = window.cast_unsigned().min(self.max_window).max(self.mss);
        self.reach = match &self.selective {
            None => self.una + self.window,
            Some(s) => (self.nxt + self.window).saturating_sub(s.in_flight()),
        };
        self.run = if self.only_windows_limit() {
            let end = self.reach.min(self.una.saturating_add(self.rwnd));
            if end.saturating_add(self.mss) <= self.supplied { end } else { 0 }
        } else {
            0
        };
    }

    /// Whether nothing but the windows decides on the next segment.
    #[inline(always)]
    fn only_windows_limit(&self) -> bool {
        if !self.plain || self.due != 0 || self.state != State::Established {
            return false;
        }
        match &self.selective {
            None => self.nxt > self.una && self.dup_acks == 0,
            Some(s) => s.in_flight() > 0 && !s.has_lost() && self.phase == Phase::Open && self.nxt == self.max,
        }
    }

    /// Tells the congestion control what may change its window.
    fn steer(&mut self, event: impl FnOnce(&mut Algorithm)) {
        event(&mut self.cc);
        self.cwnd = self.cc.cwnd();
    }

    /// `bytes` in segments.
    #[inline]
    fn segments(&self, bytes: u64) -> f64 {
        bytes.cast_signed() as f64 / self.mss_f64
    }

    const fn fin_outstanding(&self) -> bool {
        self.fin_sent && !matches!(self.state, State::Finished)
    }

    const fn outstanding(&self) -> bool {
        self.max > self.una || self.fin_outstanding() || matches!(self.state, State::SynSent)
    }

    /// Nothing is left to do but to answer the receiver.
    fn finish(&mut self) {
        self.state = State::Finished;
        self.early_at = Time::NEVER;
        self.pace_waits = false;
        if self.options.idle_restart != IdleRestart::TimerRunsOn {
            self.rto_at = Time::NEVER;
        }
    }

    /// A segment came in from the data receiver.
    pub fn on_packet(&mut self, now: Time, packet: &Packet) {
        self.sample = None;
        self.process(now, packet);
        self.refresh();
    }

    /// As [`Sender::on_packet`] for a segment that `brings` data of the other direction too: it is no duplicate ACK
    /// (RFC 5681, section 2).
    pub fn on_segment(&mut self, now: Time, packet: &Packet, brings: bool) {
        if !brings || packet.ack > self.una || packet.sack[0] != (0, 0) {
            self.on_packet(now, packet);
        } else {
            self.take_window(packet.window);
            self.refresh();
        }
    }

    /// A segment that is none of an established connection: of its start or its end, or one that came twice.
    #[cold]
    fn process_other(&mut self, now: Time, packet: &Packet) {
        if self.state == State::SynSent && packet.has(flag::SYN) {
            self.on_syn_ack(now, packet);
        } else if self.state == State::Finished && packet.has(flag::FIN) {
            self.due |= due::ACK;
        } else if self.state == State::Established && self.options.handshake == Handshake::ThreeWay {
            // The third segment of the handshake was lost, or the SYN was sent twice.
            self.due |= due::ACK;
        }
    }

    #[inline(always)]
    fn process(&mut self, now: Time, packet: &Packet) {
        let new = self.una < packet.ack && packet.ack <= self.max;
        let usual = self.run > 0 && new && packet.flags == flag::ACK;
        if !usual && !self.accepts(now, packet) {
            return;
        }
        let window_changed = u32::from(packet.window) != self.window_field && self.take_window(packet.window);
        let in_order = match &mut self.selective {
            None => true,
            Some(s) => usual && s.acknowledge_in_order(now, packet),
        };
        if !in_order {
            self.on_ack_selective(now, packet, window_changed);
        } else if packet.ack > self.una {
            self.on_new_ack(now, packet);
        } else if self.max > self.una && !window_changed {
            self.on_dup_ack(now, packet);
        }
        if !usual {
            self.look_at_ends(now, packet);
        }
    }

    /// Whether an ACK is to be looked at, one that may be unusual: those of the start are dealt with here, and what is old
    /// or for what was never sent is nothing.
    #[inline(never)]
    fn accepts(&mut self, now: Time, packet: &Packet) -> bool {
        if self.state != State::Established || packet.has(flag::SYN) {
            self.process_other(now, packet);
            return false;
        }
        if self.probing && packet.ack == self.max + 1 {
            // The receiver took the byte of a probe.
            self.max += 1;
            self.nxt = self.max;
        }
        if packet.ack < self.una && self.options.recovery == Recovery::Rack && packet.sack[0] != (0, 0) {
            self.on_old_ack(now, packet);
        }
        (self.una..=self.max).contains(&packet.ack)
    }

    /// An ACK that was overtaken still tells what arrived ahead of a gap.
    #[cold]
    fn on_old_ack(&mut self, now: Time, packet: &Packet) {
        let mut news = Packet { ack: self.una, sack: Default::default(), ..*packet };
        let mut blocks = 0;
        for &(start, end) in packet.sack.iter().filter(|(start, end)| start != end) {
            let offset = |relative: u32| packet.ack.wrapping_add_signed(i64::from(relative.cast_signed()));
            if offset(start) >= self.una && offset(start) < offset(end) {
                news.sack[blocks] =
                    (offset(start).wrapping_sub(self.una) as u32, offset(end).wrapping_sub(self.una) as u32);
                blocks += 1;
            }
        }
        if blocks > 0 && self.una < self.max {
            self.on_ack_selective(now, &news, true);
        }
    }

    /// What an ACK that may be unusual says of a closed window, and of the end.
    #[inline(never)]
    fn look_at_ends(&mut self, now: Time, packet: &Packet) {
        if self.probing && self.rwnd > 0 {
            self.probing = false;
            self.rtt.end_backoff();
            self.rto_at = Time::NEVER;
            self.restart_timer(now, true);
        }
        // The receiver has seen the FIN, so it was sent, though perhaps forgotten by a timeout.
        if packet.has(flag::FIN) && self.closing && self.una == self.supplied {
            self.finish();
            self.due = due::ACK;
        }
    }

    /// Takes in a window from a header field; returns whether it is another one.
    #[inline(never)]
    fn take_window(&mut self, field: u16) -> bool {
        let rwnd = self.offered(field);
        let changed = rwnd != self.rwnd;
        self.window_field = field.into();
        self.rwnd = rwnd;
        self.most_rwnd = self.most_rwnd.max(rwnd);
        changed
    }

    /// The receive window that a header field means, in bytes. A receiver whose window is known from the start
    /// leaves the field at its largest; what is less was written by somebody on the way, who is obeyed.
    fn offered(&self, field: u16) -> u64 {
        let offered = u64::from(field) << self.options.window_scale;
        match (self.options.window_known, field) {
            (false, _) => offered,
            (true, u16::MAX) => self.options.receive_window,
            (true, _) => self.options.receive_window.min(offered),
        }
    }

    fn on_syn_ack(&mut self, now: Time, packet: &Packet) {
        self.state = State::Established;
        self.due = if self.options.handshake == Handshake::ThreeWay { due::ACK } else { 0 };
        self.rto_at = Time::NEVER;
        // The scale holds for all segments but the SYNs (RFC 7323, section 2.2); it is used here as well, so that the
        // initial window is not cut by a field of 16 bits.
        self.take_window(packet.window);
        if self.syn_again {
            // RFC 5681, section 3.1: one segment after a lost SYN. RFC 6298, rule 5.7: three seconds.
            self.steer(|cc| cc.on_idle_restart(1.0));
            if !self.options.ns2_recovery {
                self.rtt.restart_from(Duration::from_secs(3));
            }
        } else {
            self.take_sample(now, self.timed_at);
        }
        if self.options.idle_restart == IdleRestart::TimerRunsOn {
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
    #[inline(never)]
    fn measure(&mut self, now: Time, packet: &Packet) {
        if self.options.timestamps {
            let micros = clock(now).wrapping_sub(packet.ts_ecr);
            let exact = Duration::from_micros(u64::from(micros));
            self.rtt.sample_timestamp(exact);
            self.sample = Some(exact);
        } else if self.timed != 0 && packet.ack >= self.timed {
            self.timed = 0;
            self.take_sample(now, self.timed_at);
        }
        if let Some(times) = &mut self.times
            && let Some(sent) = times.acknowledge(now, packet.ack)
        {
            let exact = now.saturating_since(sent);
            self.rtt.note(exact);
            self.sample = Some(exact);
        }
    }

    #[inline(always)]
    fn on_new_ack(&mut self, now: Time, packet: &Packet) {
        if self.measures_each || (self.timed != 0 && packet.ack >= self.timed) {
            self.measure(now, packet);
        }
        let acked = packet.ack - self.una;
        self.una = packet.ack;
        self.nxt = self.nxt.max(packet.ack);
        let mut in_recovery = false;
        if self.phase == Phase::Open {
            self.restart_timer(now, true);
        } else {
            if self.is_spurious(packet.ack - acked, packet) {
                self.undo();
            }
            in_recovery = self.phase == Phase::Recovery;
            let restart = self.on_new_ack_in_recovery(acked);
            self.restart_timer(now, restart);
            // In ns-2 the ACK that ends recovery lets the window grow.
            in_recovery &= self.phase == Phase::Recovery || !self.options.ns2_recovery;
        }
        // What duplicate ACKs told of has arrived before (Linux); at least the hole is filled.
        let before = u64::from(self.dup_acks) * self.mss;
        let delivered = acked.saturating_sub(before).max(acked.min(self.mss));
        self.dup_acks = 0;
        self.limited_sent = 0;
        let mut rate = None;
        if let Some(times) = &mut self.times {
            rate = times.rate_sample(now, acked, self.rtt.min());
            if times.is_late_at_ack(now) {
                self.due |= due::HEAD;
            }
        }
        let in_flight = self.in_flight();
        let told = AckSummary { acked, delivered, in_flight, in_recovery, rate, ..AckSummary::default() };
        self.tell(now, packet, &told);
        if packet.has(flag::ECE) {
            self.on_echo();
        }
        self.finish_without_fin();
    }

    #[inline(always)]
    fn restart_timer(&mut self, now: Time, restart: bool) {
        if self.unanswered != Time::NEVER {
            self.unanswered = if self.max > self.una || self.fin_outstanding() { now } else { Time::NEVER };
        }
        if self.max > self.una || self.fin_outstanding() {
            if restart || self.rto_at == Time::NEVER {
                self.rto_at = now.saturating_add(self.rtt.rto());
            }
        } else if self.options.idle_restart == IdleRestart::TimerRunsOn {
            self.rto_at = now.saturating_add(self.rtt.rto());
        } else {
            self.rto_at = Time::NEVER;
        }
    }

    /// RFC 3522, section 3.2: the ACK for the segment at `first`, which was sent again, echoes a time before that, so
    /// the retransmission was needless.
    #[inline(never)]
    fn is_spurious(&mut self, first: u64, packet: &Packet) -> bool {
        let Some((again, stamp)) = self.again else { return false };
        again == first && packet.ts_ecr.wrapping_sub(stamp).cast_signed() < 0
    }

    /// The loss or timeout was none (RFC 4015).
    fn undo(&mut self) {
        self.counts.spurious += 1;
        self.steer(Algorithm::on_spurious);
        self.phase = Phase::Open;
        self.inflation = 0;
        self.due &= !due::HEAD;
        self.nxt = self.max;
        self.rtt.end_backoff();
    }

    /// Leaves recovery, or answers a partial ACK; returns whether the timer restarts.
    #[inline(never)]
    fn on_new_ack_in_recovery(&mut self, acked: u64) -> bool {
        match self.phase {
            Phase::Open => return true,
            Phase::Loss => {
                if self.una >= self.recover {
                    self.phase = Phase::Open;
                }
                return true;
            }
            Phase::Recovery => {}
        }
        let ends = self.una >= self.recover || self.options.recovery != Recovery::NewReno;
        if ends {
            // RFC 6582, section 3.2, step 3, first way: no burst when little is in flight. ns-2: what the
            // partial ACKs took off the window stays off.
            let at_most = if self.options.ns2_recovery {
                if self.inflation < 0 {
                    self.cwnd - self.segments(self.inflation.unsigned_abs())
                } else {
                    f64::INFINITY
                }
            } else {
                self.segments((self.nxt - self.una).max(self.mss) + self.mss)
            };
            self.phase = Phase::Open;
            self.inflation = 0;
            self.due &= !due::HEAD;
            self.steer(|cc| cc.on_recovery_exit(at_most));
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
        first || !self.options.impatient
    }

    /// Tells the congestion control of an ACK.
    #[inline(always)]
    fn tell(&mut self, now: Time, packet: &Packet, told: &AckSummary) {
        let segments = match self.options.growth {
            _ if told.acked == 0 => self.growth_ahead_of_a_gap(told),
            Growth::PerAck => 1.0,
            Growth::OneSegment => self.segments(told.acked).min(1.0),
            Growth::TwoSegments => self.segments(told.acked).min(2.0),
            Growth::Bytes => self.segments(told.delivered),
        };
        let one_way_delay = self
            .options
            .timestamps
            .then(|| Duration::from_micros(u64::from(packet.ts_val.wrapping_sub(packet.ts_ecr))));
        let Self { sample: rtt, una, max: nxt, grows_unused, mss_f64: mss, .. } = *self;
        let window_limited = if self.options.track_use { self.uses_window() } else { self.window_limited };
        let estimate = &self.rtt;
        self.cwnd = self.cc.hear(|| Ack {
            now,
            segments,
            bytes: told.acked,
            rtt,
            one_way_delay,
            srtt: estimate.srtt(),
            min_rtt: estimate.min(),
            una,
            nxt,
            in_flight: told.in_flight.cast_signed() as f64 / mss,
            delivered: una + told.sacked,
            lost: f64::from(told.lost),
            rate: told.rate,
            window_limited: window_limited | grows_unused,
            ecn_echo: packet.has(flag::ECE),
            in_recovery: told.in_recovery,
            duplicate: told.acked == 0,
            mss,
        });
    }

    /// By how much an ACK for nothing new lets the window grow: where segments are known to be reordered, what it tells to
    /// have arrived counts as if it were acknowledged (Linux).
    #[inline(never)]
    fn growth_ahead_of_a_gap(&self, told: &AckSummary) -> f64 {
        let known = self.options.growth == Growth::Bytes && told.reordering > u64::from(self.options.dup_threshold);
        if known && self.phase == Phase::Open { self.segments(told.delivered) } else { 0.0 }
    }

    #[inline(never)]
    fn on_dup_ack(&mut self, now: Time, packet: &Packet) {
        self.dup_acks += 1;
        let in_recovery = self.phase == Phase::Recovery;
        self.tell(now, packet, &AckSummary { in_flight: self.nxt - self.una, in_recovery, ..AckSummary::default() });
        if self.phase == Phase::Recovery {
            self.inflation += self.mss.cast_signed();
        } else if self.dup_acks == self.options.dup_threshold && (self.una > self.recover || self.recover == 0)
            || self.phase == Phase::Open && self.times.as_ref().is_some_and(|times| times.is_late_at_duplicate(now))
        {
            self.enter_recovery(now);
        }
        if packet.has(flag::ECE) {
            self.on_echo();
        }
    }

    /// RFC 5681, section 3.2, steps 2 and 3.
    fn enter_recovery(&mut self, now: Time) {
        self.counts.fast_retransmits += 1;
        if self.times.as_mut().is_none_or(|times| times.reduces(now)) {
            let base = self.reduction_base(self.options.recovery == Recovery::Tahoe);
            self.steer(|cc| cc.on_loss(base));
        }
        self.recover = self.max;
        self.partial = false;
        self.timed = 0;
        self.limited_sent = 0;
        self.due |= due::HEAD;
        if self.options.recovery == Recovery::Tahoe {
            self.phase = Phase::Loss;
            self.nxt = self.una;
            self.due &= !due::HEAD;
        } else {
            self.phase = Phase::Recovery;
            self.inflation = (self.mss * u64::from(self.options.dup_threshold)).cast_signed();
        }
        self.rto_at = now.saturating_add(self.rtt.rto());
    }

    /// What `ssthresh` is computed from, in segments. `slow_start` follows: ns-2 keeps `ssthresh` whole, which
    /// tells only there.
    fn reduction_base(&self, slow_start: bool) -> f64 {
        if self.options.reduce_from == ReduceFrom::Window {
            let window = self.cwnd().min(self.segments(self.rwnd));
            if slow_start && self.options.ns2_recovery { 2.0 * (window / 2.0).floor() } else { window }
        } else {
            // RFC 5681, section 3.2, step 2: without what limited transmit sent.
            self.segments((self.nxt - self.una).saturating_sub(u64::from(self.limited_sent)))
        }
    }

    /// The receiver echoes a congestion mark (RFC 3168, section 6.1.2).
    #[inline(never)]
    fn on_echo(&mut self) -> bool {
        let cuts = self.options.ecn && self.una > self.ecn_recover && self.phase == Phase::Open;
        if cuts {
            let base = self.reduction_base(false);
            self.steer(|cc| cc.on_ecn(base));
            self.ecn_recover = self.max;
            self.cwr = true;
        }
        cuts
    }

    /// When [`Sender::on_timer`] wants to be called, [`Time::NEVER`] for not at all.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        let timers = self.rto_at.min(self.early_at);
        if self.pace_waits { timers.min(self.pace_at) } else { timers }
    }

    /// The time of [`Sender::deadline`] may have come.
    pub fn on_timer(&mut self, now: Time) {
        self.pace_waits = self.pace_waits && now < self.pace_at;
        if now >= self.early_at {
            self.on_early_timer(now);
        }
        if now >= self.rto_at {
            self.on_timeout(now);
        }
        self.refresh();
    }

    fn on_timeout(&mut self, now: Time) {
        if self.probing {
            // RFC 9293, section 3.8.6.1.
            self.due |= due::PROBE;
            self.rtt.back_off();
            self.rto_at = now.saturating_add(self.rtt.rto());
            return;
        }
        if !self.outstanding() {
            self.steer(|cc| cc.on_idle_restart(1.0));
            self.rto_at = now.saturating_add(self.rtt.rto());
            return;
        }
        if now.saturating_since(self.unanswered) >= self.options.user_timeout && self.unanswered != Time::NEVER {
            self.finish();
            self.state = State::Aborted;
            self.rto_at = Time::NEVER;
            return;
        }
        self.counts.timeouts += 1;
        if self.state == State::SynSent {
            self.due |= due::SYN;
            self.syn_again = true;
            if self.options.ns2_recovery {
                // To ns-2 the SYN is a segment like others; the window was one.
                self.steer(|cc| cc.on_rto(0.0));
            }
        } else if self.max > self.una {
            // RFC 5681, section 3.1: only the first timeout of a segment reduces `ssthresh`.
            if self.timed_out != Some(self.una) || self.options.ns2_recovery {
                let base = self.reduction_base(true);
                self.steer(|cc| cc.on_rto(base));
            }
            let fresh = self.phase == Phase::Open || self.timed_out == Some(self.una);
            self.timed_out = Some(self.una);
            self.reducing = false;
            self.phase = Phase::Loss;
            self.recover = self.max;
            self.due &= !due::HEAD;
            if self.selective.is_some() {
                self.on_timeout_selective(now, fresh);
            } else {
                self.nxt = self.una;
                self.fin_sent = false;
            }
        } else {
            self.fin_sent = false;
        }
        self.inflation = 0;
        if !(self.options.ns2_recovery && self.options.recovery == Recovery::Tahoe) {
            // ns-2's Tahoe goes on counting.
            self.dup_acks = 0;
        }
        self.limited_sent = 0;
        self.timed = 0;
        self.rtt.back_off();
        self.rto_at = now.saturating_add(self.rtt.rto());
        if self.unanswered != Time::NEVER {
            // The last timeout is no later than the user's (Linux).
            self.rto_at = self.rto_at.min(self.unanswered.saturating_add(self.options.user_timeout));
        }
    }

    /// The next segment that may leave.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Packet> {
        if self.is_running() {
            let mut packet = Packet::default();
            self.write(now, &mut packet);
            return Some(packet);
        }
        if self.is_held() { None } else { self.poll_more(now) }
    }

    /// Whether the next segment is a full one that only the windows hold back, to be written by [`Sender::write`].
    #[inline]
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.nxt + self.mss <= self.run
    }

    /// Whether data waits for a full window, so that nothing leaves next. False also where [`Sender::poll`] has to find out.
    #[inline]
    pub const fn is_held(&mut self) -> bool {
        let held = self.run > 0 && !self.is_running();
        if held {
            self.window_limited = self.nxt + self.mss > self.reach;
        }
        held
    }

    /// As [`Sender::poll`], when the sender [is running](Sender::is_running): writes the segment into `packet`.
    #[inline(always)]
    pub fn write(&mut self, now: Time, packet: &mut Packet) {
        let end = self.nxt + self.mss;
        *packet = self.full;
        packet.seq = self.nxt;
        self.nxt = end;
        if let Some(s) = &mut self.selective {
            s.push(now, end, self.mss);
        }
        self.note_segment(now, end, packet);
    }

    #[inline(never)]
    fn poll_more(&mut self, now: Time) -> Option<Packet> {
        let next = self.poll_next(now);
        if next.is_none() && self.options.track_use {
            self.note_use();
        }
        next
    }

    /// Notes how much of the window is in use, when all has left that may (Linux, tcp_cwnd_validate).
    fn note_use(&mut self) {
        let outstanding = self.max - self.una;
        let full = self.in_flight() + self.mss > self.window;
        if self.max == self.used.seen && !full {
            return;
        }
        self.used.seen = self.max;
        if self.una >= self.used.until || full || (!self.used.full && outstanding > self.used.most) {
            self.used = Use { full, most: outstanding, until: self.max, seen: self.max };
        }
    }

    /// Whether the window was in use, so that it may grow.
    fn uses_window(&self) -> bool {
        if self.cwnd < self.cc.ssthresh() { self.cwnd < 2.0 * self.segments(self.used.most) } else { self.used.full }
    }

    /// Whether Nagle's algorithm holds back a segment of `len` bytes: it is short, and another short one is in flight.
    const fn is_held_by_nagle(&self, len: u64) -> bool {
        self.options.nagle && len < self.mss && self.short_end > self.una && !self.closing
    }

    fn poll_next(&mut self, now: Time) -> Option<Packet> {
        if self.due != 0
            && let Some(packet) = self.poll_due(now)
        {
            return Some(packet);
        }
        if self.state != State::Established || self.waits_for_pace(now) {
            return None;
        }
        if self.selective.is_some() {
            return self.poll_selective(now);
        }
        let in_flight = self.nxt - self.una;
        let len = self.mss.min(self.supplied - self.nxt);
        if len == 0 {
            self.window_limited = false;
            if let Some(times) = &mut self.times
                && in_flight < self.window
            {
                times.on_app_limited(in_flight);
            }
            return self.poll_fin(now);
        }
        if self.is_held_by_nagle(len) {
            self.window_limited = false;
            return None;
        }
        if in_flight == 0 && self.max == self.una {
            self.restart_after_idle(now);
        }
        let extra = if self.dup_acks > 0 { self.limited_transmit() } else { 0 };
        let window = self.window + extra;
        let allowed = window.min(self.rwnd);
        let mut len = len;
        if in_flight + len > allowed {
            // The sender avoids silly windows: a short segment leaves only when nothing is in flight.
            if in_flight > 0 || allowed == 0 {
                self.window_limited = in_flight + len > window;
                self.probe_closed_window(now, false);
                return None;
            }
            if self.options.track_use && allowed < len.min(self.most_rwnd / 2) {
                self.window_limited = false;
                self.probe_closed_window(now, true);
                return None;
            }
            len = allowed;
        }
        if in_flight + len > self.window {
            self.limited_sent += len as u32;
        }
        let seq = self.nxt;
        self.nxt += len;
        Some(self.segment_of(now, seq, len))
    }

    /// Starts to probe, where the receive window is closed, or so far open only that a segment would be `silly`, and nothing is
    /// on its way that would be answered.
    fn probe_closed_window(&mut self, now: Time, silly: bool) {
        if (self.rwnd == 0 || silly) && !self.probing && !self.outstanding() {
            self.probing = true;
            self.rto_at = now.saturating_add(self.rtt.rto());
        }
    }

    /// Whether pacing holds the next segment back.
    #[inline]
    fn waits_for_pace(&mut self, now: Time) -> bool {
        let in_burst = self.burst_left > 0 && self.last_send == now;
        self.pace_waits = self.paces && now < self.pace_at && !in_burst;
        self.pace_waits
    }

    /// The rate at which segments leave, in bytes per second.
    fn pacing_rate(&self) -> Option<f64> {
        let own = self.cc.pacing_rate();
        if own.is_some() || !self.options.pacing || self.rtt.srtt() == Duration::ZERO {
            return own;
        }
        // Linux: twice the window each round trip in the first half of slow start, then 1.2 times.
        let cwnd = self.cwnd();
        let factor = if cwnd < self.cc.ssthresh() / 2.0 { 2.0 } else { 1.2 };
        Some(factor * cwnd * self.mss as f64 / self.rtt.srtt().as_secs())
    }

    /// Bytes beyond the window by the first duplicate ACKs.
    #[inline(never)]
    fn limited_transmit(&self) -> u64 {
        let on = match self.options.limited_transmit {
            LimitedTransmit::Off => false,
            LimitedTransmit::Rfc3042 => self.phase == Phase::Open && self.nxt == self.max,
            LimitedTransmit::Ns2 => self.phase != Phase::Recovery,
        };
        if on && self.dup_acks < self.options.dup_threshold { u64::from(self.dup_acks) * self.mss } else { 0 }
    }

    /// RFC 5681, section 4.1, or RFC 2861, section 3.1.
    #[inline(never)]
    fn restart_after_idle(&mut self, now: Time) {
        let (idle, rto) = (now.saturating_since(self.last_send), self.rtt.rto());
        if idle <= rto {
            return;
        }
        let initial = self.segments(self.options.initial_window);
        let at_most = match self.options.idle_restart {
            IdleRestart::Rfc5681 => initial,
            IdleRestart::Rfc2861 => {
                let halvings = i32::try_from(idle.div_floor(rto)).unwrap_or(i32::MAX);
                (self.cwnd() * libm::ldexp(1.0, -halvings)).max(initial)
            }
            IdleRestart::Never | IdleRestart::TimerRunsOn => return,
        };
        self.steer(|cc| cc.on_idle_restart(at_most));
        self.last_send = now;
        self.refresh();
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
        if self.due & due::TAIL != 0 {
            self.due &= !due::TAIL;
            return self.poll_probe(now);
        }
        if self.due & due::HEAD != 0 && self.selective.is_none() {
            self.due &= !due::HEAD;
            if self.max > self.una {
                let len = self.mss.min(self.max - self.una);
                return Some(self.segment_of(now, self.una, len));
            }
        }
        if self.due & due::PROBE != 0 {
            self.due &= !due::PROBE;
            if self.probing && self.rwnd > 0 && self.max == self.una {
                // RFC 9293, section 3.8.6.2.1: the time of silly window avoidance is over.
                let len = self.mss.min(self.supplied - self.nxt).min(self.rwnd);
                self.probing = false;
                let seq = self.nxt;
                self.nxt += len;
                return Some(if self.selective.is_some() {
                    self.segment_selective(now, seq, len)
                } else {
                    self.segment_of(now, seq, len)
                });
            }
            if self.probing {
                let mut probe = self.header(now, flag::ACK);
                probe.seq = self.nxt;
                probe.payload = 1;
                probe.size += 1;
                return Some(probe);
            }
        }
        None
    }

    #[inline(never)]
    fn poll_fin(&mut self, now: Time) -> Option<Packet> {
        if self.closing && self.options.fin && !self.fin_sent && self.nxt == self.supplied {
            (self.fin_sent, self.fin_alone, self.fin_ever) = (true, true, true);
            self.note_unanswered(now);
            if self.rto_at == Time::NEVER {
                self.rto_at = now.saturating_add(self.rtt.rto());
            }
            if let Some(mut s) = self.selective.take() {
                self.arm_probe(now, &mut s, true);
                self.selective = Some(s);
            }
            return Some(self.fin(now));
        }
        None
    }

    /// A FIN without data.
    fn fin(&self, now: Time) -> Packet {
        Packet { seq: self.supplied, ..self.header(now, flag::FIN | flag::ACK) }
    }

    /// What is outstanding waits for its ACK from now on, if nothing did before.
    fn note_unanswered(&mut self, now: Time) {
        if self.options.user_timeout > Duration::ZERO {
            self.unanswered = self.unanswered.min(now);
        }
    }

    /// A segment without payload.
    #[inline]
    fn header(&self, now: Time, flags: u8) -> Packet {
        let ts_val = if self.options.timestamps { clock(now) } else { 0 };
        Packet { seq: self.nxt, ts_val, flags, payload: 0, size: self.full.size - self.full.payload, ..self.full }
    }

    /// The data segment `seq .. seq + len`, with all that sending it entails.
    #[inline(never)]
    fn segment_of(&mut self, now: Time, seq: u64, len: u64) -> Packet {
        let (end, payload) = (seq + len, len as u16);
        let mut packet = Packet { seq, payload, size: self.full.size - self.full.payload + payload, ..self.full };
        if end == self.supplied && self.closing && self.options.fin {
            packet.flags |= flag::FIN;
            (self.fin_sent, self.fin_alone, self.fin_ever) = (true, false, true);
        }
        if len < self.mss {
            self.short_end = self.short_end.max(end);
        }
        self.note_unanswered(now);
        // ns-2's timer, which runs on through a pause, starts anew with the first segment after it, except in its Vegas.
        if self.rto_at == Time::NEVER || (self.max == self.una && !self.cc.wants_fine_timer()) {
            self.rto_at = now.saturating_add(self.rtt.rto());
        }
        self.note_segment(now, end, &mut packet);
        if self.paces {
            self.pace(now, len);
        }
        packet
    }

    /// What the sender remembers of any data segment that leaves; it ends at `end`.
    #[inline(always)]
    fn note_segment(&mut self, now: Time, end: u64, packet: &mut Packet) {
        let again = packet.seq < self.max;
        if again {
            packet.flags |= flag::RETRANSMISSION;
            self.counts.retransmissions += 1;
            self.timed = 0;
        } else if self.timed == 0 {
            (self.timed, self.timed_at) = (end, now);
        }
        if self.annotates {
            self.annotate(now, end, again, packet);
        }
        self.max = self.max.max(end);
        self.last_send = now;
    }

    /// Writes timestamp and ECN's bits into a data segment that ends at `end`, enters it in the list of times, and tells the
    /// congestion control.
    #[inline(never)]
    fn annotate(&mut self, now: Time, end: u64, again: bool, packet: &mut Packet) {
        let seq = packet.seq;
        if self.options.timestamps {
            packet.ts_val = clock(now);
            if again && seq == self.una && self.again.is_none_or(|(first, _)| first != seq) {
                self.again = Some((seq, packet.ts_val));
            }
        }
        if self.options.ecn && !again {
            packet.flags |= if self.cwr { flag::ECT | flag::CWR } else { flag::ECT };
            self.cwr = false;
        }
        match &mut self.times {
            Some(times) if again => times.send_again(now, seq, end, self.nxt - self.una),
            Some(times) => times.push(now, end, seq - self.una),
            None => {}
        }
        self.cc.on_send(now, packet.payload.into(), end);
    }

    /// A segment of `len` bytes has left: when the next one may.
    fn pace(&mut self, now: Time, len: u64) {
        self.cwnd = self.cc.cwnd(); // what is defined outside may have changed it
        let Some(rate) = self.pacing_rate() else { return };
        let mut gap = Duration::from_secs_f64(len as f64 / rate.max(1.0));
        if self.options.pacing {
            if self.max <= UNPACED * self.mss {
                return;
            }
            // A segment that leaves late shortens the gap behind it, by half at most (Linux).
            gap = gap.saturating_sub((gap / 2).min(now.saturating_since(self.pace_at)));
        }
        let begins = now >= self.pace_at;
        self.burst_left = if begins { self.options.pacing_burst - 1 } else { self.burst_left.saturating_sub(1) };
        self.pace_at = self.pace_at.max(now).saturating_add(gap);
    }

    /// The congestion window, in segments, without what recovery adds.
    #[inline]
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        if self.cwnd < self.options.max_cwnd { self.cwnd } else { self.options.max_cwnd }
    }

    /// The part of the congestion window that delay drives, in segments; zero where none does.
    #[must_use]
    pub fn delay_window(&self) -> f64 {
        self.cc.delay_window()
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

    /// Bytes in flight, as far as the sender knows.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.selective.as_ref().map_or(self.nxt - self.una, |selective| selective.in_flight())
    }

    /// How far the connection has come.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether [`Sender::close`] was called.
    #[must_use]
    pub const fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether the FIN has left; after a timeout it may be due again.
    #[must_use]
    pub const fn has_sent_fin(&self) -> bool {
        self.fin_ever
    }

    /// Whether the receive window is closed and probed.
    #[must_use]
    pub const fn is_probing(&self) -> bool {
        self.probing
    }

    /// Switches Nagle's algorithm on or off.
    pub fn set_nagle(&mut self, on: bool) {
        self.options.nagle = on;
        self.plain &= !on;
        self.refresh();
    }

    /// What is not acknowledged for so long ends the connection; zero for never.
    pub fn set_user_timeout(&mut self, timeout: Duration) {
        self.options.user_timeout = timeout;
        self.unanswered = if timeout > Duration::ZERO && self.outstanding() { self.last_send } else { Time::NEVER };
    }

    /// Whether the window is being reduced for a congestion mark, in steps.
    const fn is_reducing(&self) -> bool {
        self.reducing
    }

    /// Whether the congestion control alone says what leaves in recovery.
    fn cc_rules_recovery(&self) -> bool {
        self.cc.rules_recovery()
    }

    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }
}

#[cfg(test)]
mod tests;
