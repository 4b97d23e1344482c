//! The sending end: what may leave, and what to send again.
//!
//! Sources: RFC 9293 (windows, probes), RFC 5681 (congestion control, fast retransmit and fast recovery), RFC 6582
//! (NewReno, which RFC 2582 calls the careful variant: an ACK has to cover more than `recover`), RFC 6298 (timer),
//! RFC 3042 (limited transmit), RFC 7323 (timestamps), RFC 3168 (ECN).
//!
//! Departures: the timer restarts at fast retransmit, as in BSD, Linux and ns-2; after a timeout the sender goes
//! back to the first unacknowledged byte and sends on from there; `SYN` and `FIN` take no offset.

mod acks;
mod delivery;
mod info;
mod output;
mod prr;
mod rate;
mod scoreboard;
mod segment;
mod selective;
mod times;

use wifair_packet::{Kind, Packet, flag};
use wifair_units::{Duration, Time};

use crate::TIMESTAMP_OPTION;
use crate::cc::{Algorithm, CongestionControl, RateSample, Start};
use crate::config::{Handshake, IdleRestart, Recovery, SenderConfig, StackOptions};
use crate::rtt::Rtt;

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
    /// Bytes in the queue of the sender's own station, where they are bounded, and whether data waits for that.
    queued: u64,
    queue_waits: bool,
    /// Neither pacing nor Nagle's algorithm nor a small queue: what new data leaves is a matter of the windows alone.
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
            queued: 0,
            queue_waits: false,
            paces,
            plain: !paces && !options.nagle && options.small_queue == Duration::ZERO,
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
            annotates: options.ecn || keeps_times || wants_sends,
            options: *options,
            counts: Counts::default(),
        }
    }

    /// From now on nothing takes the short code path, which changes no result: for comparisons.
    pub fn take_no_short_path(&mut self) {
        self.plain = false;
        self.refresh();
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
            // A window that has fallen may end before what has left.
            if end.max(self.nxt).saturating_add(self.mss) <= self.supplied { end } else { 0 }
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
            Some(s) => {
                let is_calm = self.phase == Phase::Open && !self.reducing && !s.has_lost();
                is_calm && s.in_flight() > 0 && self.nxt == self.max
            }
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
