//! BBR, version 3: the model also limits what is in flight to the level at which losses began.
//!
//! Source: N. Cardwell, I. Swett and J. Beshay (editors), draft-ietf-ccwg-bbr-04, 2025, sections 2 and 5, checked
//! against public implementations. As in version 1 the model has the largest delivery rate (here of two probing cycles)
//! and the minimum RTT; in addition
//!
//! ```text
//! long-term bound:  largest flight that lost no more than 2 % of a round, raised while probing upward
//! short-term bound: after losses outside of probing, rate and flight fall by 0.7, not below what was delivered
//! ProbeBW: Down (gain 0.9) until the queue is gone, Cruise (1) with 15 % room, Refill (1) for a round, Up (5/4)
//!          until losses or no more growth; a cycle each 2 to 3 s, or each min(flight, 63) rounds, as Reno would
//! ProbeRTT: each 5 s half a bandwidth-delay product for 200 ms
//! ```
//!
//! Startup (gain 4 ln 2) also ends when a round has lost more than 2 % of its flight, in six segments or more. Losses
//! and flight are counted per round, where the draft records them per segment. The allowance for segmentation offload
//! and the undoing of bounds are left out (a spurious loss only lifts the short-term bounds).
//!
//! The draft leaves ECN to a later version. With `ecn`, marks count as in version 3 of Google's Linux module
//! (`tcp_bbr.c`, branch `v3`), which needs a marking threshold as that of L4S:
//!
//! ```text
//! each round: alpha += (M - alpha) / 16,   M = marked / delivered segments, alpha = 1 at first
//! marked outside of probing: the short-term bound of the flight falls by alpha / 3
//! M of 1/2 or more: too much, as a loss of 2 %; in two rounds in a row it ends Startup
//! ```
//!
//! Packets are then ECT(1). The module heeds marks only where the minimum RTT is at most 5 ms; here it always does.

use wifair_config::table;
use wifair_units::{Duration, Time};

use crate::cc::bbr_model::{LEAST, MOST, Plateau, Rounds, approach, by_model, first_pacing, splitmix};
use crate::cc::{Ack, CongestionControl, Start};

table! {
    /// BBR version 3 (draft-ietf-ccwg-bbr-04).
    pub struct Params {
        /// Fraction of a round's flight whose loss is excessive.
        pub loss_threshold: f64 = 0.02, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Fraction that the bounds keep after excessive loss.
        pub beta: f64 = 0.7, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Fraction of the long-term bound left to other flows while cruising.
        pub headroom: f64 = 0.15, "between 0 and 1" => |v| (0.0..1.0).contains(v);
        /// Age of the minimum RTT at which it is measured again.
        pub probe_rtt_interval: Duration = Duration::from_secs(5), "longer than 0 s" => |v| *v > Duration::ZERO;
        /// Whether it responds to congestion marks as L4S asks, and sends ECT(1).
        pub ecn: bool = false;
    }
}

/// 4 ln 2.
const STARTUP_GAIN: f64 = 2.77;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
/// Pacing rate as a fraction of the estimated bandwidth.
const PACING_MARGIN: f64 = 0.99;
/// Age at which the minimum RTT expires.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// Weight of a round in the estimate of marks, its share in the cut, the part of marks that is too much, and the rounds
/// of them that end Startup.
const ECN_GAIN: f64 = 1.0 / 16.0;
const ECN_FACTOR: f64 = 1.0 / 3.0;
const ECN_THRESHOLD: f64 = 0.5;
const ECN_ROUNDS: u32 = 2;
/// Number of segments lost in a round that ends Startup.
const STARTUP_LOSSES: f64 = 6.0;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Bbr3State {
    #[default]
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// Congestion marks as version 3 counts them.
#[derive(Clone, Copy, Debug, Default)]
struct Bbr3Marks {
    marked: f64,
    delivered: f64,
    alpha: f64,
    rounds: u32,
}

impl Bbr3Marks {
    fn are_too_many(&self) -> bool {
        self.marked > 0.0 && self.marked >= ECN_THRESHOLD * self.delivered
    }

    /// Ends a round.
    fn begin_next_round(&mut self) {
        if self.delivered > 0.0 {
            self.alpha += ECN_GAIN * ((self.marked / self.delivered).min(1.0) - self.alpha);
            self.rounds = if self.are_too_many() { self.rounds + 1 } else { 0 };
        }
        (self.marked, self.delivered) = (0.0, 0.0);
    }
}

/// State of BBR version 3. Rates are in bytes per second, amounts in segments, times in seconds.
#[derive(Clone, Debug, Default)]
pub struct Bbr3 {
    params: Params,
    seed: u64,
    mss: f64,
    initial_window: f64,
    state: Bbr3State,
    cwnd: f64,
    prior_cwnd: f64,
    pacing: f64,
    /// Whether an RTT sample has replaced the RTT assumed for the initial pacing rate.
    has_seen_rtt: bool,
    /// Largest rates of the last probing cycle and of this one.
    rates: [f64; 2],
    /// Whether a probe has ended and its last segments are being acknowledged, for one round.
    ending: bool,
    short_rate: f64,
    short_flight: f64,
    long_flight: f64,
    /// Largest delivery rate and amount delivered in this round.
    latest: (f64, f64),
    rounds: Rounds,
    /// Lost in this round, and the largest flight of the last two rounds.
    lost: f64,
    flight: f64,
    last_flight: f64,
    /// Marked and delivered in this round, the estimate of marks, and the rounds in a row with too many.
    marks: Bbr3Marks,
    full: bool,
    plateau: Plateau,
    /// Whether losses count against the long-term bound, as they do while probing.
    probing: bool,
    up_rounds: i32,
    up_acked: f64,
    rounds_since_probe: f64,
    wait: Duration,
    cycle_stamp: Time,
    min_rtt: f64,
    min_rtt_stamp: Time,
    probe_rtt_stamp: Time,
    probe_rtt_min: f64,
    probe_rtt_done: Option<Time>,
    idle_restart: bool,
    /// ACK aggregation: start of the measured interval and what was delivered since, and the largest excess over the
    /// rate in ten rounds.
    aggregate: (Time, f64),
    surplus: f64,
}

/// BBR version 3 at the start of a connection.
pub fn new(params: &Params, start: Start) -> Bbr3 {
    let cwnd = start.window.clamp(1.0, MOST);
    let mss = start.mss.max(1.0);
    Bbr3 {
        params: params.clone(),
        seed: start.seed,
        mss,
        initial_window: cwnd,
        cwnd,
        prior_cwnd: cwnd,
        // An RTT of 1 ms is assumed until one is measured.
        pacing: first_pacing(STARTUP_GAIN, cwnd, mss, 1e-3),
        short_rate: f64::INFINITY,
        short_flight: f64::INFINITY,
        long_flight: f64::INFINITY,
        marks: Bbr3Marks { alpha: 1.0, ..Bbr3Marks::default() },
        min_rtt: f64::INFINITY,
        probe_rtt_min: f64::INFINITY,
        ..Bbr3::default()
    }
}

impl Bbr3 {
    /// Bandwidth of the model.
    fn rate(&self) -> f64 {
        self.rates[0].max(self.rates[1]).min(self.short_rate)
    }

    /// Bandwidth-delay product.
    fn bdp(&self) -> f64 {
        if self.min_rtt.is_finite() { self.rate() * self.min_rtt / self.mss } else { self.initial_window }
    }

    fn inflight(&self, gain: f64) -> f64 {
        let spare = if self.state == Bbr3State::Up { 2.0 } else { 0.0 };
        (gain * self.bdp()).max(LEAST) + spare
    }

    const fn pacing_gain(&self) -> f64 {
        match self.state {
            Bbr3State::Startup => STARTUP_GAIN,
            Bbr3State::Drain => 0.5,
            Bbr3State::Down => 0.9,
            Bbr3State::Up => 1.25,
            Bbr3State::Cruise | Bbr3State::Refill | Bbr3State::ProbeRtt => 1.0,
        }
    }

    fn probes_bandwidth(&self) -> bool {
        matches!(self.state, Bbr3State::Startup | Bbr3State::Refill | Bbr3State::Up)
    }

    /// Long-term bound less the headroom for other flows.
    fn bound_with_headroom(&self) -> f64 {
        if self.long_flight.is_finite() {
            (self.long_flight - (self.params.headroom * self.long_flight).max(1.0)).max(LEAST)
        } else {
            f64::INFINITY
        }
    }

    /// Whether this round has lost too much of its flight.
    fn loses_too_much(&self) -> bool {
        self.lost > self.params.loss_threshold * self.flight.max(self.last_flight).max(1.0) || self.marks.are_too_many()
    }

    /// Updates delivery rate, losses and flight; returns whether a round starts.
    fn update_model(&mut self, ack: &Ack, acked: f64) -> bool {
        self.flight = self.flight.max(ack.in_flight + acked + ack.lost);
        self.lost += ack.lost;
        if self.params.ecn {
            self.marks.marked += ack.marked_bytes as f64 / ack.mss;
            self.marks.delivered += acked;
        }
        let Some(sample) = ack.rate else { return false };
        let rate = self.rates[0].max(self.rates[1]);
        if sample.rate >= rate || !sample.app_limited {
            self.rates[1] = self.rates[1].max(sample.rate);
        }
        let arrived = ack.delivered.saturating_sub(sample.prior_delivered) as f64 / ack.mss;
        self.latest = (self.latest.0.max(sample.rate), self.latest.1.max(arrived));
        self.rounds.ends(&sample)
    }

    /// Updates the bounds at the end of a round, for losses outside of probing.
    fn bound_after_losses(&mut self) {
        let mut by_marks = f64::INFINITY;
        if self.marks.marked > 0.0 && !self.probes_bandwidth() {
            let bound = if self.short_flight.is_finite() { self.short_flight } else { self.cwnd };
            by_marks = bound * (1.0 - self.marks.alpha * ECN_FACTOR);
        }
        if self.lost > 0.0 && !self.probes_bandwidth() {
            if self.short_rate.is_infinite() {
                self.short_rate = self.rates[0].max(self.rates[1]);
                self.short_flight = self.cwnd;
            }
            self.short_rate = self.latest.0.max(self.params.beta * self.short_rate);
            self.short_flight = self.latest.1.max(self.params.beta * self.short_flight);
        }
        self.short_flight = self.short_flight.min(by_marks.max(LEAST));
    }

    fn begin_next_round(&mut self) {
        self.rounds.begin();
        self.rounds_since_probe += 1.0;
        self.latest = (0.0, 0.0);
        self.lost = 0.0;
        self.marks.begin_next_round();
        self.last_flight = std::mem::take(&mut self.flight);
        self.surplus *= 0.9;
    }

    /// Ends Startup and Drain.
    fn check_full_pipe(&mut self, ack: &Ack, round_start: bool) {
        let app_limited = ack.rate.is_some_and(|sample| sample.app_limited);
        if self.state == Bbr3State::Startup {
            if round_start && !app_limited && self.plateau.reached(self.rates[1]) {
                self.full = true;
            }
            let marked = round_start && self.marks.are_too_many() && self.marks.rounds + 1 >= ECN_ROUNDS;
            if self.lost >= STARTUP_LOSSES && self.loses_too_much() || marked {
                self.full = true;
                self.long_flight = self.bdp().max(self.latest.1).max(LEAST);
            }
            if self.full {
                self.state = Bbr3State::Drain;
            }
        }
        if self.state == Bbr3State::Drain && ack.in_flight <= self.inflight(1.0) {
            self.start_down(ack);
        }
    }

    fn start_down(&mut self, ack: &Ack) {
        self.state = Bbr3State::Down;
        self.latest = (0.0, 0.0);
        self.ending = true;
        self.seed = splitmix(self.seed);
        self.rounds_since_probe = (self.seed & 1) as f64;
        self.wait = Duration::from_millis(2000 + self.seed / 2 % 1000);
        self.cycle_stamp = ack.now;
        self.rounds.begin();
    }

    /// Advances ProbeBW (sections 5.3.3.5 and 5.3.3.6).
    fn advance_cycle(&mut self, ack: &Ack, round_start: bool, acked: f64) {
        self.adapt_long_term_bound(ack, round_start, acked);
        let time_to_probe = ack.now.saturating_since(self.cycle_stamp) > self.wait
            || self.rounds_since_probe >= self.bdp().min(self.cwnd).min(63.0);
        match self.state {
            Bbr3State::Down | Bbr3State::Cruise if time_to_probe => {
                self.state = Bbr3State::Refill;
                self.short_rate = f64::INFINITY;
                self.short_flight = f64::INFINITY;
                self.up_rounds = 0;
                self.up_acked = 0.0;
                self.rounds.begin();
            }
            Bbr3State::Down if ack.in_flight <= self.bound_with_headroom().min(self.inflight(1.0)) => {
                self.state = Bbr3State::Cruise;
            }
            Bbr3State::Refill if round_start => {
                self.state = Bbr3State::Up;
                self.probing = true;
                self.plateau = Plateau::from(self.rates[1]);
                self.rounds.begin();
            }
            Bbr3State::Up if round_start => {
                let bound = ack.window_limited && self.cwnd >= self.long_flight;
                if bound {
                    // Without room to grow, the rate cannot show whether the pipe is full.
                    self.plateau = Plateau::from(self.rates[1]);
                } else if self.plateau.reached(self.rates[1]) {
                    self.start_down(ack);
                }
            }
            _ => {}
        }
    }

    /// From a round after a probe on, ACKs are for data sent after the probe: losses no longer count against the bound
    /// (section 5.5.10.2), and the rates of the previous probing cycle expire (section 5.5.6), unless there were no
    /// samples since, or only application-limited ones (Linux).
    fn end_probe(&mut self, ack: &Ack) {
        (self.ending, self.probing) = (false, false);
        let app_limited = ack.rate.is_some_and(|sample| sample.app_limited);
        if !app_limited && self.rates[1] > 0.0 && self.state != Bbr3State::ProbeRtt {
            self.rates = [self.rates[1], 0.0];
        }
    }

    fn adapt_long_term_bound(&mut self, ack: &Ack, round_start: bool, acked: f64) {
        if self.ending && round_start {
            self.end_probe(ack);
        }
        if self.probing && self.loses_too_much() {
            self.probing = false;
            let flight = self.flight.max(self.last_flight);
            self.long_flight = (flight - self.lost).max(self.params.beta * self.bdp().min(self.cwnd)).max(LEAST);
            if self.state == Bbr3State::Up {
                self.start_down(ack);
            }
            return;
        }
        if !self.long_flight.is_finite() || self.lost > 0.0 || self.marks.are_too_many() {
            return;
        }
        self.long_flight = self.long_flight.max(self.last_flight);
        if self.state == Bbr3State::Up && ack.window_limited && self.cwnd >= self.long_flight {
            // One more segment in the first round, two in the second, four in the third.
            self.up_acked += acked;
            let each = (self.cwnd / libm::exp2(f64::from(self.up_rounds))).max(1.0);
            let steps = libm::floor(self.up_acked / each);
            self.up_acked -= steps * each;
            self.long_flight = (self.long_flight + steps).min(MOST);
            if round_start {
                self.up_rounds = (self.up_rounds + 1).min(30);
            }
        }
    }

    fn update_min_rtt(&mut self, ack: &Ack, round_start: bool) {
        // The draft's BBROnInit: the minimum RTT starts with that of the handshake, before data filled a queue.
        if !self.min_rtt.is_finite() && ack.min_rtt != Duration::MAX {
            (self.min_rtt, self.min_rtt_stamp) = (ack.min_rtt.as_secs(), ack.now);
            (self.probe_rtt_min, self.probe_rtt_stamp) = (self.min_rtt, ack.now);
        }
        let expired = ack.now.saturating_since(self.probe_rtt_stamp) > self.params.probe_rtt_interval;
        if let Some(rtt) = ack.rtt.map(|rtt| rtt.as_secs())
            && rtt > 0.0
            && (rtt < self.probe_rtt_min || expired)
        {
            self.probe_rtt_min = rtt;
            self.probe_rtt_stamp = ack.now;
        }
        let old = ack.now.saturating_since(self.min_rtt_stamp) > MIN_RTT_WINDOW;
        if self.probe_rtt_min < self.min_rtt || old {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_stamp = self.probe_rtt_stamp;
        }
        if self.state != Bbr3State::ProbeRtt && expired && !self.idle_restart && self.min_rtt.is_finite() {
            self.prior_cwnd = self.cwnd;
            self.state = Bbr3State::ProbeRtt;
            self.probe_rtt_done = None;
        }
        if self.state == Bbr3State::ProbeRtt {
            self.probe_rtt(ack, round_start);
        }
        if ack.in_flight > 0.0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, ack: &Ack, round_start: bool) {
        match self.probe_rtt_done {
            None if ack.in_flight <= self.probe_rtt_window() => {
                self.probe_rtt_done = Some(ack.now + PROBE_RTT_DURATION);
                self.rounds.begin();
            }
            Some(done) if round_start && ack.now > done => {
                self.probe_rtt_stamp = ack.now;
                self.cwnd = self.cwnd.max(self.prior_cwnd);
                self.short_rate = f64::INFINITY;
                self.short_flight = f64::INFINITY;
                if self.full {
                    self.start_down(ack);
                    self.state = Bbr3State::Cruise;
                } else {
                    self.state = Bbr3State::Startup;
                }
            }
            _ => {}
        }
    }

    fn probe_rtt_window(&self) -> f64 {
        (0.5 * self.bdp()).max(LEAST)
    }

    /// Updates the ACK aggregation: data acknowledged in excess of the rate (section 5.5.9).
    fn update_surplus(&mut self, ack: &Ack, acked: f64) {
        let (since, sum) = &mut self.aggregate;
        let expected = self.rates[0].max(self.rates[1]) * ack.now.saturating_since(*since).as_secs() / ack.mss;
        if *sum <= expected {
            (*since, *sum) = (ack.now, acked);
        } else {
            *sum += acked;
            self.surplus = self.surplus.max((*sum - expected).min(self.cwnd));
        }
    }

    fn set_pacing(&mut self, ack: &Ack) {
        let rtt = ack.srtt.as_secs();
        if !self.has_seen_rtt && rtt > 0.0 {
            self.has_seen_rtt = true;
            self.pacing = first_pacing(STARTUP_GAIN, self.initial_window, self.mss, rtt);
        }
        if self.rate() <= 0.0 {
            return;
        }
        let rate = self.pacing_gain() * self.rate() * PACING_MARGIN;
        if self.full || rate > self.pacing {
            self.pacing = rate.max(self.mss);
        }
    }

    fn set_cwnd(&mut self, ack: &Ack, acked: f64) {
        let gain = match self.state {
            Bbr3State::Up => UP_CWND_GAIN,
            Bbr3State::ProbeRtt => 0.5,
            _ => CWND_GAIN,
        };
        let most = self.inflight(gain) + self.surplus;
        let early = (ack.delivered as f64) < self.initial_window * self.mss;
        self.cwnd = approach(self.cwnd, acked, most, self.full, early);
        let bound = match self.state {
            Bbr3State::Startup | Bbr3State::Drain => f64::INFINITY,
            Bbr3State::Down | Bbr3State::Refill | Bbr3State::Up => self.long_flight,
            Bbr3State::Cruise | Bbr3State::ProbeRtt => self.bound_with_headroom(),
        };
        let probe = if self.state == Bbr3State::ProbeRtt { self.probe_rtt_window() } else { f64::INFINITY };
        self.cwnd = self.cwnd.min(bound.min(self.short_flight).min(probe)).clamp(LEAST, MOST);
    }
}

impl CongestionControl for Bbr3 {
    by_model!();

    fn wants_mark_per_packet(&self) -> bool {
        self.params.ecn
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.mss = ack.mss;
        let acked = self.rounds.deliver(ack);
        let round_start = self.update_model(ack, acked);
        if round_start {
            self.bound_after_losses();
        }
        self.update_surplus(ack, acked);
        self.check_full_pipe(ack, round_start);
        if self.full {
            self.advance_cycle(ack, round_start, acked);
        }
        self.update_min_rtt(ack, round_start);
        if round_start {
            self.begin_next_round();
        }
        self.set_pacing(ack);
        self.set_cwnd(ack, acked);
    }

    fn on_loss(&mut self, _: f64) {
        self.prior_cwnd = self.cwnd;
    }

    fn on_rto(&mut self, _: f64) {
        self.prior_cwnd = self.prior_cwnd.max(self.cwnd);
        self.cwnd = 1.0;
    }

    fn on_recovery_exit(&mut self, _: f64) {
        self.cwnd = self.cwnd.max(self.prior_cwnd.min(self.long_flight).min(self.short_flight)).max(1.0);
    }

    fn on_rto_again(&mut self) {
        self.on_rto(0.0);
    }

    fn on_idle_restart(&mut self, _: f64) {
        self.idle_restart = true;
        if matches!(self.state, Bbr3State::Down | Bbr3State::Cruise | Bbr3State::Refill | Bbr3State::Up)
            && self.rate() > 0.0
        {
            self.pacing = (self.rate() * PACING_MARGIN).max(self.mss);
        }
    }

    fn on_spurious(&mut self) {
        self.short_rate = f64::INFINITY;
        self.short_flight = f64::INFINITY;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

#[cfg(test)]
mod tests;
