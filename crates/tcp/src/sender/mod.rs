//! The sender of a connection: what to send, and what to retransmit.
//!
//! Sources: RFC 9293 (windows, probes), RFC 5681 (congestion control, fast retransmit and fast recovery), RFC 6582
//! (NewReno; only the careful variant of RFC 2582, in which an ACK has to cover more than `recover`), RFC 6298 (RTO),
//! RFC 3042 (limited transmit), RFC 7323 (timestamps), RFC 3168 (ECN).
//!
//! Departures: the retransmission timer restarts at fast retransmit, as in BSD, Linux and ns-2; with SACK, a timeout in
//! recovery sets `ssthresh` to at most half of the window, as FlightSize may be much more; without SACK the sender goes
//! back to the first unacknowledged byte after a timeout and continues from there; SYN and FIN occupy no sequence
//! number.

mod accurate_ecn;
mod acks;
mod bursts;
mod delivery;
#[cfg_attr(not(feature = "fast"), path = "plain.rs")]
mod fast;
mod info;
mod output;
mod prr;
mod rate;
mod reduction;
mod sack1;
mod scoreboard;
mod segment;
mod selective;
mod tcp_linux;
mod times;

use wifair_packet::{Kind, Packet, flag};
use wifair_units::{Duration, Time};

use crate::TIMESTAMP_OPTION;
use crate::cc::{Algorithm, CongestionControl, RateSample, Start};
use crate::config::{Handshake, IdleRestart, Recovery, SenderConfig, StackOptions};
use crate::rtt::Rtt;

pub use accurate_ecn::{AckReport, EcnState};
use bursts::Burst;
pub use bursts::burst_size;
#[cfg(feature = "fast")]
pub use fast::AckTrain;
pub use info::{Info, RecoveryState};
use sack1::Sack1;
use selective::Selective;
use tcp_linux::TcpLinux;
use times::Times;

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderState {
    /// [`Sender::open`] was not called yet.
    Closed,
    /// The SYN is in flight.
    SynSent,
    /// Data may flow.
    Established,
    /// All data and the FIN are acknowledged.
    Finished,
    /// Nothing was acknowledged for the user timeout: the sender has given up.
    Aborted,
}

/// Phase of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecoveryPhase {
    Open,
    /// Fast recovery.
    Recovery,
    /// After a timeout or Tahoe's fast retransmit: slow start from the first unacknowledged byte.
    Loss,
}

/// Segments that have to be sent before all others, as bits.
mod due {
    pub const SYN: u8 = 1;
    /// An ACK without data, in response to a SYN-ACK or FIN-ACK.
    pub const ACK: u8 = 2;
    /// The segment at `una`.
    pub const HEAD: u8 = 4;
    /// A window probe: one byte beyond the receive window.
    pub const PROBE: u8 = 8;
    /// A tail loss probe.
    pub const TAIL: u8 = 16;
}

/// What one ACK means for the congestion control, beyond the packet and the sender's state.
#[derive(Clone, Copy, Debug, Default)]
struct AckSummary {
    acked: u64,
    /// Bytes newly known to have arrived; with selective ACKs, some of `acked` was known before.
    delivered: u64,
    in_flight: u64,
    /// Bytes selectively acknowledged.
    sacked: u64,
    /// Segments newly considered lost.
    lost: u32,
    /// Degree of reordering seen on the path, in segments.
    reordering: u64,
    rate: Option<RateSample>,
    in_recovery: bool,
}

/// Use of the congestion window in the last round trip (Linux, tcp_cwnd_validate).
#[derive(Clone, Copy, Debug, Default)]
struct WindowUse {
    /// Whether the window was full.
    full: bool,
    /// Most bytes outstanding.
    most: u64,
    /// The round trip ends when this offset is acknowledged.
    until: u64,
    /// Highest offset sent at the last update.
    seen: u64,
}

/// Segments at the start of a connection that are not paced unless the congestion control asks for it (Linux).
const UNPACED: u64 = 10;

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments sent again.
    pub retransmissions: u64,
    /// Expirations of the retransmission timer with data outstanding.
    pub timeouts: u64,
    /// Number of fast retransmits.
    pub fast_retransmits: u64,
    /// Retransmissions or timeouts that turned out to be spurious.
    pub spurious: u64,
}

/// The sender of a connection.
#[derive(Debug)]
pub struct Sender {
    /// SND.UNA, SND.NXT, and the end of the data ever sent.
    una: u64,
    nxt: u64,
    max: u64,
    /// End of the data supplied by the application.
    supplied: u64,
    /// Receive window, from `una` on, in bytes.
    rwnd: u64,
    /// Largest receive window so far, in bytes.
    most_rwnd: u64,
    /// Last window field received; before the first ACK, a value that no field can have.
    window_field: u32,
    /// End of what was outstanding when recovery began.
    recover: u64,
    /// Congestion window with inflation, in bytes; updated by [`Sender::refresh`].
    window: u64,
    /// Congestion window, in segments; updated by [`Sender::update_cc`] and [`Sender::pass_ack`].
    cwnd: f64,
    /// Offset at which the window ends, and the offset up to which full segments may be sent without further checks (0:
    /// none); updated by [`Sender::refresh`].
    reach: u64,
    run: u64,
    /// What fast recovery adds to the window, in bytes; negative after many partial ACKs.
    inflation: i64,
    mss: u64,
    /// MSS as a float, and the upper bound of the window in bytes.
    mss_f64: f64,
    max_window: u64,
    dup_acks: u32,
    /// Bytes sent by limited transmit since the last new ACK.
    limited_sent: u32,
    phase: RecoveryPhase,
    state: SenderState,
    due: u8,
    /// Whether a partial ACK has arrived in this recovery.
    partial: bool,
    closing: bool,
    fin_sent: bool,
    /// The FIN was sent in a segment of its own.
    fin_alone: bool,
    /// The FIN was sent at least once, even if a timeout requires it to be sent again.
    fin_ever: bool,
    /// The receive window is closed: `rto_at` is the persist timer, and the byte of a window probe counts as sent only
    /// when it is acknowledged.
    probing: bool,
    /// Whether the window limited the last [`Sender::poll`].
    window_limited: bool,
    /// The window also grows while it does not limit what is sent.
    grows_unused: bool,
    /// Use of the window, if `track_use` is set.
    used: WindowUse,
    /// End of the last short segment; Nagle's algorithm waits for its ACK.
    short_end: u64,
    /// Since when outstanding data has not been acknowledged; used by the user timeout.
    unanswered: Time,
    /// End of what was outstanding when the window was last reduced, whether a congestion mark did that, whether
    /// proportional rate reduction is still reducing it, and whether the reduction can be undone.
    reduced: u64,
    marked: bool,
    reducing: bool,
    undoes: bool,
    /// Retransmission timer, or persist timer while the receive window is closed.
    rto_at: Time,
    /// Timer of RFC 8985: tail loss probe or reordering, whichever is first.
    early_at: Time,
    /// When pacing lets the next segment leave, whether a segment waits for that, and whether segments are paced at
    /// all.
    pace_at: Time,
    pace_waits: bool,
    paces: bool,
    burst: Burst,
    /// Bytes in the queue of the sender's own station if `small_queue` is set, and whether data waits for departures.
    queued: u64,
    queue_waits: bool,
    /// No pacing, bursts, small queue or `tcp-linux`: the windows alone limit new full segments.
    plain: bool,
    last_send: Time,
    /// End of the segment being timed and when it was sent; 0 for none.
    timed: u64,
    timed_at: Time,
    rtt: Rtt,
    sample: Option<Duration>,
    /// `una` at the last timeout.
    timed_out: Option<u64>,
    /// The first segment if it was retransmitted, with the timestamp of its first retransmission (RFC 3522).
    retransmitted: Option<(u64, u32)>,
    selective: Option<Box<Selective>>,
    sack1: Option<Box<Sack1>>,
    tcp_linux: Option<Box<TcpLinux>>,
    times: Option<Box<Times>>,
    /// What is agreed on and reported about congestion marks.
    pub ecn: EcnState,
    cc: Algorithm,
    /// Template of a full segment.
    full: Packet,
    /// Segments need more than the template: ECN bits, transmission times or a call to the congestion control.
    annotates: bool,
    /// Every new ACK yields an RTT sample.
    measures_each: bool,
    options: StackOptions,
    counts: SenderCounters,
}

impl Sender {
    /// Creates the sender of flow number `flow`.
    #[must_use]
    pub fn new(config: &SenderConfig, flow: u32) -> Self {
        let start = Self::start(&config.options, flow);
        let cc = match &config.custom_cc {
            Some(custom_cc) => custom_cc.start(start),
            None => Algorithm::new(&config.cc, start),
        };
        Self::with_algorithm(&config.options, cc, flow)
    }

    /// Initial state for the congestion control of a sender with these options.
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

    /// Creates a sender with the caller's congestion control, made from [`Sender::start`].
    #[must_use]
    pub fn with_algorithm(options: &StackOptions, cc: Algorithm, flow: u32) -> Self {
        // Multiples of the golden ratio spread the ticks of the connections evenly.
        let phase = (u64::from(flow.wrapping_mul(0x9e37_79b9)) * options.rtt.tick.as_nanos()) >> 32;
        let by_sack = matches!(options.recovery, Recovery::Sack | Recovery::Rack);
        let paces =
            options.pacing || cc.pacing_rate().is_some() || cc.rules_recovery() || matches!(cc, Algorithm::Custom(_));
        let keeps_times = !by_sack && (cc.wants_fine_timer() || cc.wants_every_rtt() || cc.wants_rate_samples());
        let wants_sends = cc.wants_sends();
        let forms_bursts = options.tso_autosize && by_sack;
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
            phase: RecoveryPhase::Open,
            state: SenderState::Closed,
            due: 0,
            partial: false,
            closing: false,
            fin_sent: false,
            fin_alone: false,
            fin_ever: false,
            probing: false,
            window_limited: false,
            grows_unused: !options.validate_window && options.recovery != Recovery::TcpLinux,
            used: WindowUse::default(),
            short_end: 0,
            unanswered: Time::NEVER,
            reduced: 0,
            marked: false,
            reducing: false,
            undoes: true,
            rto_at: Time::NEVER,
            early_at: Time::NEVER,
            pace_at: Time::ZERO,
            pace_waits: false,
            burst: Burst::default(),
            queued: 0,
            queue_waits: false,
            paces,
            plain: !paces
                && !forms_bursts
                && options.small_queue == Duration::ZERO
                && options.recovery != Recovery::TcpLinux,
            last_send: Time::ZERO,
            timed: 0,
            timed_at: Time::ZERO,
            rtt: Rtt::new(options.rtt, Duration::from_nanos(phase)),
            sample: None,
            timed_out: None,
            retransmitted: None,
            selective: by_sack.then(|| Box::new(Selective::new(options, cc.wants_rate_samples()))),
            sack1: (options.recovery == Recovery::Sack1).then(Box::default),
            tcp_linux: (options.recovery == Recovery::TcpLinux).then(Box::default),
            times: keeps_times
                .then(|| Box::new(Times::new(options.rtt, cc.wants_fine_timer(), cc.wants_rate_samples()))),
            ecn: EcnState::new(options),
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
            counts: SenderCounters::default(),
        }
    }

    /// Opens the connection: a SYN becomes due or, without a handshake, data may leave at once and the receive window
    /// is `receive_window` until an ACK arrives. ns-2 sends its SYN with the first data.
    ///
    /// # Panics
    /// If the connection was opened before.
    pub fn open(&mut self, now: Time) {
        assert!(self.state == SenderState::Closed, "a connection is opened once");
        self.last_send = now;
        match self.options.handshake {
            Handshake::None => {
                self.state = SenderState::Established;
                self.options.ecn = self.ecn.agree(None);
                self.rwnd = self.options.receive_window;
            }
            Handshake::OneWay | Handshake::ThreeWay => {
                self.state = SenderState::SynSent;
                if self.options.handshake == Handshake::ThreeWay || self.supplied > 0 {
                    self.due = due::SYN;
                }
            }
        }
        self.refresh();
    }

    /// Adds `bytes` of data to send; `u64::MAX` never ends.
    pub fn supply(&mut self, bytes: u64) {
        debug_assert!(!self.closing, "no data follows the end");
        self.supplied = self.supplied.saturating_add(bytes);
        if self.state == SenderState::SynSent && self.rto_at == Time::NEVER {
            self.due = due::SYN;
        }
    }

    /// Withdraws all data not yet sent; the connection stays open.
    pub fn discard_unsent(&mut self) {
        self.supplied = self.max;
        self.run = 0;
    }

    /// Ends the data: a FIN follows the last byte if `fin` is set.
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
        if !self.options.fin && self.una == self.supplied && self.state == SenderState::Established {
            self.finish();
        }
    }

    /// Updates `window`, `reach` and `run`. The window is at least one segment, so that an empty path always accepts
    /// one.
    #[inline(always)]
    fn refresh(&mut self) {
        self.window = self.open_window();
        if self.inflation != 0 {
            let inflated = ((self.cwnd * self.mss_f64) as i64).saturating_add(self.inflation).max(0);
            self.window = inflated.cast_unsigned().min(self.max_window).max(self.mss);
        }
        self.reach = match &self.selective {
            None => self.una + self.window,
            Some(s) => self.nxt.saturating_add(self.allowance(s)),
        };
        self.run = if self.only_windows_limit() { self.end_of_run() } else { 0 };
    }

    /// The congestion window in bytes, without inflation.
    #[inline(always)]
    fn open_window(&self) -> u64 {
        ((self.cwnd * self.mss_f64) as i64).cast_unsigned().min(self.max_window).max(self.mss)
    }

    /// Where `run` ends if the windows alone limit it: at the windows' end, if that much data is there, else at 0.
    #[inline(always)]
    fn end_of_run(&self) -> u64 {
        let end = self.reach.min(self.una.saturating_add(self.rwnd));
        // After a reduction the window may end before what was already sent.
        if end.max(self.nxt).saturating_add(self.mss) <= self.supplied { end } else { 0 }
    }

    /// Calls the congestion control with an event that may change its window.
    fn update_cc(&mut self, event: impl FnOnce(&mut Algorithm)) {
        event(&mut self.cc);
        self.cwnd = self.cc.cwnd();
    }

    /// Converts bytes to segments.
    #[inline]
    fn segments(&self, bytes: u64) -> f64 {
        bytes.cast_signed() as f64 / self.mss_f64
    }

    const fn fin_outstanding(&self) -> bool {
        self.fin_sent && !matches!(self.state, SenderState::Finished)
    }

    const fn outstanding(&self) -> bool {
        self.max > self.una || self.fin_outstanding() || matches!(self.state, SenderState::SynSent)
    }

    /// Ends the connection; only the receiver's segments are still answered.
    fn finish(&mut self) {
        self.state = SenderState::Finished;
        self.early_at = Time::NEVER;
        self.pace_waits = false;
        if self.options.idle_restart != IdleRestart::TimerRunsOn {
            self.rto_at = Time::NEVER;
        }
    }

    /// When to call [`Sender::on_timer`]; [`Time::NEVER`] for not at all.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        let timers = self.rto_at.min(self.early_at);
        if self.pace_waits { timers.min(self.pace_at) } else { timers }
    }

    /// Runs the timers that have expired; [`Sender::deadline`] need not have passed.
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
            // Window probe (RFC 9293, section 3.8.6.1).
            self.due |= due::PROBE;
            self.rtt.back_off();
            self.rto_at = now.saturating_add(self.rtt.rto());
            return;
        }
        if !self.outstanding() {
            let window = if self.tcp_linux.is_some() { self.segments(self.options.initial_window) } else { 1.0 };
            self.update_cc(|cc| cc.on_idle_restart(window));
            if self.cc.wants_fine_timer() {
                self.rtt.back_off(); // ns-2's Vegas
            }
            self.rto_at = now.saturating_add(self.rtt.rto());
            return;
        }
        if now.saturating_since(self.unanswered) >= self.options.user_timeout && self.unanswered != Time::NEVER {
            self.finish();
            self.state = SenderState::Aborted;
            self.rto_at = Time::NEVER;
            return;
        }
        self.counts.timeouts += 1;
        if self.state == SenderState::SynSent {
            self.due |= due::SYN;
            self.ecn.syns_again = self.ecn.syns_again.saturating_add(1);
            if self.options.ns2_recovery {
                // ns-2 treats the SYN as a data segment; the window was one.
                self.update_cc(|cc| cc.on_rto(0.0));
            }
        } else if self.max > self.una {
            // RFC 5681, section 3.1: only the first timeout of a segment reduces `ssthresh`.
            if self.timed_out != Some(self.una) || self.options.ns2_recovery {
                self.reduce_for_timeout();
            }
            let fresh = self.phase == RecoveryPhase::Open || self.timed_out == Some(self.una);
            self.timed_out = Some(self.una);
            self.reducing = false;
            self.phase = RecoveryPhase::Loss;
            self.recover = self.max;
            self.due &= !due::HEAD;
            if self.selective.is_some() {
                self.on_timeout_selective(now, fresh);
            } else if let Some(tcp_linux) = &mut self.tcp_linux {
                tcp_linux.on_timeout();
            } else {
                self.nxt = self.una;
                self.fin_sent = false;
            }
        } else {
            self.fin_sent = false;
        }
        self.inflation = 0;
        if !(self.options.ns2_recovery && self.options.recovery == Recovery::Tahoe) {
            // ns-2's Tahoe keeps counting duplicate ACKs.
            self.dup_acks = 0;
        }
        self.limited_sent = 0;
        self.timed = 0;
        self.rtt.back_off();
        self.rto_at = now.saturating_add(self.rtt.rto());
        if self.unanswered != Time::NEVER {
            // The last RTO ends no later than the user timeout (Linux).
            self.rto_at = self.rto_at.min(self.unanswered.saturating_add(self.options.user_timeout));
        }
    }

    /// Congestion window in segments, without the inflation of fast recovery.
    #[inline]
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        if self.cwnd < self.options.max_cwnd { self.cwnd } else { self.options.max_cwnd }
    }

    /// The delay-based part of the congestion window in segments; zero if there is none.
    #[must_use]
    pub fn delay_window(&self) -> f64 {
        self.cc.delay_window()
    }

    /// Slow-start threshold in segments; infinite before the first loss.
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        self.cc.ssthresh()
    }

    /// RTT estimate and RTO.
    #[must_use]
    pub const fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// The RTT sample of the last packet, if it gave one.
    #[inline]
    #[must_use]
    pub const fn rtt_sample(&self) -> Option<Duration> {
        self.sample
    }

    /// SND.UNA: all data before this offset has been acknowledged.
    #[inline]
    #[must_use]
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// SND.NXT: the next byte to send; goes back after a timeout.
    #[must_use]
    pub const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// End of the data ever sent.
    #[inline]
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.max
    }

    /// End of the data supplied by the application.
    #[must_use]
    pub const fn supplied(&self) -> u64 {
        self.supplied
    }

    /// Bytes in flight, as estimated by the sender.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        if let Some(tcp_linux) = &self.tcp_linux {
            return (tcp_linux.in_flight() * self.mss).min(self.max - self.una);
        }
        match (&self.selective, &self.sack1) {
            (Some(selective), _) => selective.in_flight(),
            (None, Some(sack1)) if self.phase == RecoveryPhase::Recovery => sack1.in_flight() * self.mss,
            (None, _) => self.nxt - self.una,
        }
    }

    /// State of the connection.
    #[must_use]
    pub const fn state(&self) -> SenderState {
        self.state
    }

    /// Whether [`Sender::close`] was called.
    #[must_use]
    pub const fn is_closing(&self) -> bool {
        self.closing
    }

    /// Whether the FIN was sent; after a timeout it may be due again.
    #[must_use]
    pub const fn has_sent_fin(&self) -> bool {
        self.fin_ever
    }

    /// Whether the receive window is closed and being probed.
    #[must_use]
    pub const fn is_probing(&self) -> bool {
        self.probing
    }

    /// Switches Nagle's algorithm on or off. The short code path takes full segments only, which it never holds back.
    pub const fn set_nagle(&mut self, on: bool) {
        self.options.nagle = on;
    }

    /// Aborts the connection when data stays unacknowledged for this long; zero for never.
    pub fn set_user_timeout(&mut self, timeout: Duration) {
        self.options.user_timeout = timeout;
        self.unanswered = if timeout > Duration::ZERO && self.outstanding() { self.last_send } else { Time::NEVER };
    }

    /// Whether the window is being reduced gradually for a congestion mark.
    const fn is_reducing(&self) -> bool {
        self.reducing
    }

    /// Whether the congestion control alone decides what is sent in recovery.
    fn cc_rules_recovery(&self) -> bool {
        self.cc.rules_recovery()
    }

    /// The counters.
    #[must_use]
    pub const fn counts(&self) -> &SenderCounters {
        &self.counts
    }
}

#[cfg(test)]
mod tests;
