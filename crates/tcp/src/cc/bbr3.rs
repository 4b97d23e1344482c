//! BBR, version 3: BBR whose model also bounds what is in flight by where losses began.
//!
//! Source: N. Cardwell, I. Swett and J. Beshay (editors), draft-ietf-ccwg-bbr-04, 2025, sections 2 and 5, checked
//! against public implementations that follow it. As in version 1 the path is modelled by its largest delivery rate
//! (here of two probing cycles) and its smallest round-trip time; beside that
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
//! and flights are counted by the round here, where the draft keeps both for each segment; ECN, the allowance for
//! offload of segmentation, and the undoing of bounds are left out (a spurious loss only lifts the short-term ones).

use wifair_config::table;
use wifair_units::{Duration, Time};

use crate::cc::bbr_model::{LEAST, MOST, Plateau, Rounds, approach, by_model, first_pacing, splitmix};
use crate::cc::{Ack, CongestionControl, Start};

table! {
    /// BBR version 3 (draft-ietf-ccwg-bbr-04).
    pub struct Params {
        /// Part of a round's flight whose loss is too much.
        pub loss_threshold: f64 = 0.02, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// What the bounds keep after too much loss.
        pub beta: f64 = 0.7, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Part of the long-term bound that is left to others while cruising.
        pub headroom: f64 = 0.15, "between 0 and 1" => |v| (0.0..1.0).contains(v);
        /// Age of the smallest round-trip time at which it is measured anew.
        pub probe_rtt_interval: Duration = Duration::from_secs(5), "longer than 0 s" => |v| *v > Duration::ZERO;
    }
}

/// 4 ln 2.
const STARTUP_GAIN: f64 = 2.77;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
/// Paced this much below the estimate.
const PACING_MARGIN: f64 = 0.99;
/// Age at which the smallest round-trip time is forgotten.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// Lost segments of a round that end startup.
const STARTUP_LOSSES: f64 = 6.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// State of BBR version 3. Rates are in bytes per second, amounts in segments, times in seconds.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Params,
    seed: u64,
    mss: f64,
    initial_window: f64,
    state: State,
    cwnd: f64,
    prior_cwnd: f64,
    pacing: f64,
    /// Largest rates of this probing cycle and the last.
    rates: [f64; 2],
    short_rate: f64,
    short_flight: f64,
    long_flight: f64,
    /// Largest rate and amount delivered in this round.
    latest: (f64, f64),
    rounds: Rounds,
    /// Lost in this round, and the largest flight of the last two.
    lost: f64,
    flight: f64,
    last_flight: f64,
    full: bool,
    plateau: Plateau,
    /// Losses of this probe count against the long-term bound.
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
    /// What came in beyond the rate since an instant, and the largest such surplus of ten rounds, fading.
    aggregate: (Time, f64),
    surplus: f64,
}

/// BBR version 3 at the start of a connection.
#[must_use]
pub fn new(params: &Params, start: Start) -> Bbr3 {
    let cwnd = start.window.clamp(1.0, MOST);
    let mss = start.mss.max(1.0);
    Bbr3 {
        params: params.clone(),
        seed: start.seed,
        mss,
        initial_window: cwnd,
        state: State::Startup,
        cwnd,
        prior_cwnd: cwnd,
        // As if the round-trip time were 1 ms, until it is measured.
        pacing: first_pacing(STARTUP_GAIN, cwnd, mss, 1e-3),
        rates: [0.0; 2],
        short_rate: f64::INFINITY,
        short_flight: f64::INFINITY,
        long_flight: f64::INFINITY,
        latest: (0.0, 0.0),
        rounds: Rounds::default(),
        lost: 0.0,
        flight: 0.0,
        last_flight: 0.0,
        full: false,
        plateau: Plateau::default(),
        probing: false,
        up_rounds: 0,
        up_acked: 0.0,
        rounds_since_probe: 0.0,
        wait: Duration::ZERO,
        cycle_stamp: Time::ZERO,
        min_rtt: f64::INFINITY,
        min_rtt_stamp: Time::ZERO,
        probe_rtt_stamp: Time::ZERO,
        probe_rtt_min: f64::INFINITY,
        probe_rtt_done: None,
        idle_restart: false,
        aggregate: (Time::ZERO, 0.0),
        surplus: 0.0,
    }
}

impl Bbr3 {
    /// The rate of the model.
    fn rate(&self) -> f64 {
        self.rates[0].max(self.rates[1]).min(self.short_rate)
    }

    /// Bandwidth-delay product.
    fn bdp(&self) -> f64 {
        if self.min_rtt.is_finite() { self.rate() * self.min_rtt / self.mss } else { self.initial_window }
    }

    fn inflight(&self, gain: f64) -> f64 {
        let spare = if self.state == State::Up { 2.0 } else { 0.0 };
        (gain * self.bdp()).max(LEAST) + spare
    }

    const fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => 0.5,
            State::Down => 0.9,
            State::Up => 1.25,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    fn probes_bandwidth(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    /// The long-term bound with room for others.
    fn bound_with_headroom(&self) -> f64 {
        if self.long_flight.is_finite() {
            (self.long_flight - (self.params.headroom * self.long_flight).max(1.0)).max(LEAST)
        } else {
            f64::INFINITY
        }
    }

    /// Whether more of the flight was lost in this round than may be.
    fn loses_too_much(&self) -> bool {
        self.lost > self.params.loss_threshold * self.flight.max(self.last_flight).max(1.0)
    }

    /// Takes in the delivery rate, the losses and the flight; returns whether a round starts.
    fn update_model(&mut self, ack: &Ack, acked: f64) -> bool {
        self.flight = self.flight.max(ack.in_flight + acked + ack.lost);
        self.lost += ack.lost;
        let Some(sample) = ack.rate else { return false };
        let rate = self.rates[0].max(self.rates[1]);
        if sample.rate >= rate || !sample.app_limited {
            self.rates[1] = self.rates[1].max(sample.rate);
        }
        let arrived = ack.delivered.saturating_sub(sample.prior_delivered) as f64 / ack.mss;
        self.latest = (self.latest.0.max(sample.rate), self.latest.1.max(arrived));
        self.rounds.ends(&sample)
    }

    /// At the end of a round: what its losses mean outside of probing.
    fn bound_after_losses(&mut self) {
        if self.lost > 0.0 && !self.probes_bandwidth() {
            if self.short_rate.is_infinite() {
                self.short_rate = self.rates[0].max(self.rates[1]);
                self.short_flight = self.cwnd;
            }
            self.short_rate = self.latest.0.max(self.params.beta * self.short_rate);
            self.short_flight = self.latest.1.max(self.params.beta * self.short_flight);
        }
    }

    fn begin_next_round(&mut self) {
        self.rounds.begin();
        self.rounds_since_probe += 1.0;
        self.latest = (0.0, 0.0);
        self.lost = 0.0;
        self.last_flight = std::mem::take(&mut self.flight);
        self.surplus *= 0.9;
    }

    /// Startup and Drain.
    fn check_full_pipe(&mut self, ack: &Ack, round_start: bool) {
        let app_limited = ack.rate.is_some_and(|sample| sample.app_limited);
        if self.state == State::Startup {
            if round_start && !app_limited && self.plateau.reached(self.rates[1]) {
                self.full = true;
            }
            if self.lost >= STARTUP_LOSSES && self.loses_too_much() {
                self.full = true;
                self.long_flight = self.bdp().max(self.latest.1).max(LEAST);
            }
            if self.full {
                self.state = State::Drain;
            }
        }
        if self.state == State::Drain && ack.in_flight <= self.inflight(1.0) {
            self.start_down(ack);
        }
    }

    fn start_down(&mut self, ack: &Ack) {
        self.state = State::Down;
        self.latest = (0.0, 0.0);
        // A probing cycle is over: the rates of the one before the last are forgotten.
        self.rates = [self.rates[1], 0.0];
        self.seed = splitmix(self.seed);
        self.rounds_since_probe = (self.seed & 1) as f64;
        self.wait = Duration::from_millis(2000 + self.seed / 2 % 1000);
        self.cycle_stamp = ack.now;
        self.rounds.begin();
    }

    /// Sections 5.3.3.5 and 5.3.3.6.
    fn advance_cycle(&mut self, ack: &Ack, round_start: bool, acked: f64) {
        self.adapt_long_term_bound(ack, round_start, acked);
        let time_to_probe = ack.now.saturating_since(self.cycle_stamp) > self.wait
            || self.rounds_since_probe >= self.bdp().min(self.cwnd).min(63.0);
        match self.state {
            State::Down | State::Cruise if time_to_probe => {
                self.state = State::Refill;
                self.short_rate = f64::INFINITY;
                self.short_flight = f64::INFINITY;
                self.up_rounds = 0;
                self.up_acked = 0.0;
                self.rounds.begin();
            }
            State::Down if ack.in_flight <= self.bound_with_headroom().min(self.inflight(1.0)) => {
                self.state = State::Cruise;
            }
            State::Refill if round_start => {
                self.state = State::Up;
                self.probing = true;
                self.plateau = Plateau::from(self.rates[1]);
                self.rounds.begin();
            }
            State::Up if round_start => {
                let bound = ack.window_limited && self.cwnd >= self.long_flight;
                if bound {
                    // Without room to grow the rate cannot show whether the pipe is full.
                    self.plateau = Plateau::from(self.rates[1]);
                } else if self.plateau.reached(self.rates[1]) {
                    self.start_down(ack);
                }
            }
            _ => {}
        }
    }

    fn adapt_long_term_bound(&mut self, ack: &Ack, round_start: bool, acked: f64) {
        if self.probing && self.loses_too_much() {
            self.probing = false;
            let flight = self.flight.max(self.last_flight);
            self.long_flight = (flight - self.lost).max(self.params.beta * self.bdp().min(self.cwnd)).max(LEAST);
            if self.state == State::Up {
                self.start_down(ack);
            }
            return;
        }
        if !self.long_flight.is_finite() || self.lost > 0.0 {
            return;
        }
        self.long_flight = self.long_flight.max(self.last_flight);
        if self.state == State::Up && ack.window_limited && self.cwnd >= self.long_flight {
            // A segment more in the first round, two in the second, four in the third.
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
        // The draft's BBROnInit: what the handshake measured counts, before data filled a queue.
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
        if self.state != State::ProbeRtt && expired && !self.idle_restart && self.min_rtt.is_finite() {
            self.prior_cwnd = self.cwnd;
            self.state = State::ProbeRtt;
            self.probe_rtt_done = None;
        }
        if self.state == State::ProbeRtt {
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
                    self.state = State::Cruise;
                } else {
                    self.state = State::Startup;
                }
            }
            _ => {}
        }
    }

    fn probe_rtt_window(&self) -> f64 {
        (0.5 * self.bdp()).max(LEAST)
    }

    /// Section 5.5.9: what ACKs bring beyond the rate, because they come in lumps.
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
        if self.rate() <= 0.0 {
            let rtt = ack.srtt.as_secs();
            if rtt > 0.0 {
                self.pacing = first_pacing(STARTUP_GAIN, self.initial_window, self.mss, rtt);
            }
            return;
        }
        let rate = self.pacing_gain() * self.rate() * PACING_MARGIN;
        if self.full || rate > self.pacing {
            self.pacing = rate.max(self.mss);
        }
    }

    fn set_cwnd(&mut self, ack: &Ack, acked: f64) {
        let gain = match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => 0.5,
            _ => CWND_GAIN,
        };
        let most = self.inflight(gain) + self.surplus;
        let early = (ack.delivered as f64) < self.initial_window * self.mss;
        self.cwnd = approach(self.cwnd, acked, most, self.full, early);
        let bound = match self.state {
            State::Startup | State::Drain => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.long_flight,
            State::Cruise | State::ProbeRtt => self.bound_with_headroom(),
        };
        let probe = if self.state == State::ProbeRtt { self.probe_rtt_window() } else { f64::INFINITY };
        self.cwnd = self.cwnd.min(bound.min(self.short_flight).min(probe)).clamp(LEAST, MOST);
    }
}

impl CongestionControl for Bbr3 {
    by_model!();

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

    fn on_idle_restart(&mut self, _: f64) {
        self.idle_restart = true;
        if matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up) && self.rate() > 0.0 {
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
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{MSS, Pipe, ack, time};
    use crate::cc::{RateSample, bbr};

    fn start() -> Start {
        Start::with_window(10.0)
    }

    /// An ACK at `now` seconds with a sample of `rate` segments a second; `delivered` of them in all, the sample's
    /// `prior`.
    fn sampled(now: f64, rate: f64, delivered: u64, prior: u64, app_limited: bool) -> Ack {
        let sample = RateSample { rate: rate * MSS as f64, prior_delivered: prior * MSS, app_limited };
        Ack { rate: Some(sample), ..ack(now, 0.1, delivered, delivered + 10) }
    }

    /// A pipe of 1000 segments a second and 100 ms, found full: 100 segments of bandwidth-delay product.
    fn cruising() -> Bbr3 {
        let mut cc = new(&Params::default(), start());
        (cc.state, cc.full) = (State::Cruise, true);
        cc.rates = [1e6, 1e6];
        (cc.min_rtt, cc.probe_rtt_min) = (0.1, 0.1);
        cc.cwnd = 200.0;
        cc
    }

    /// Section 5.5.5: a sample that the application limited counts only if it is no less than the rate of the model.
    /// Section 5.5.1: a round ends with a segment that was sent after it began.
    #[test]
    fn samples_of_a_limited_application_only_raise_the_rate() {
        let mut cc = new(&Params::default(), start());
        assert!(cc.update_model(&sampled(1.0, 100.0, 10, 0, false), 1.0));
        assert_eq!(cc.rate(), 1e5);
        cc.rates[1] = 0.0;
        cc.rates[0] = 1e5;
        cc.update_model(&sampled(1.0, 90.0, 11, 1, true), 1.0);
        assert_eq!(cc.rates[1], 0.0);
        cc.update_model(&sampled(1.0, 110.0, 12, 2, true), 1.0);
        assert_eq!(cc.rates[1], 1.1e5);
        cc.rounds.deliver(&sampled(1.0, 1.0, 12, 2, true));
        cc.rounds.begin();
        assert!(!cc.update_model(&sampled(1.1, 1.0, 13, 11, true), 1.0));
        assert!(cc.update_model(&sampled(1.1, 1.0, 22, 12, true), 1.0));
        assert_eq!(cc.latest, (1.1e5, 10.0));
    }

    /// Section 5.3.3.6: more than 2 % lost while probing sets the bound to what was not lost, here 300 - 10, and ends
    /// the probe.
    #[test]
    fn losses_of_a_probe_set_the_long_term_bound() {
        let mut cc = cruising();
        (cc.state, cc.probing, cc.flight, cc.lost) = (State::Up, true, 300.0, 10.0);
        cc.adapt_long_term_bound(&ack(1.0, 0.1, 1, 200), false, 1.0);
        assert_eq!((cc.long_flight, cc.state, cc.probing), (290.0, State::Down, false));
        // Not below 0.7 of the window, or of the bandwidth-delay product: 0.7 * 100.
        let mut cc = cruising();
        (cc.state, cc.probing, cc.flight, cc.lost) = (State::Refill, true, 300.0, 250.0);
        cc.adapt_long_term_bound(&ack(1.0, 0.1, 1, 200), false, 1.0);
        assert_eq!((cc.long_flight, cc.state), (70.0, State::Refill));
    }

    /// Section 5.3.3.6, raising the bound: a segment in the first round, two in the second, four in the third.
    #[test]
    fn the_long_term_bound_is_raised_faster_each_round() {
        let mut cc = cruising();
        (cc.state, cc.long_flight) = (State::Up, 200.0);
        let mut bounds = Vec::new();
        for _ in 0..3 {
            // A few ACKs more than a window, which grows meanwhile.
            for i in 1..=210 {
                cc.adapt_long_term_bound(&ack(1.0, 0.1, 1, 200), i == 210, 1.0);
                cc.cwnd = cc.long_flight;
            }
            bounds.push(cc.long_flight);
        }
        assert_eq!(bounds, [201.0, 203.0, 207.0]);
        // Not where the window is not what limits.
        let idle = Ack { window_limited: false, ..ack(1.0, 0.1, 1, 200) };
        cc.adapt_long_term_bound(&idle, true, 200.0);
        assert_eq!(cc.long_flight, 207.0);
    }

    /// Sections 5.3.3.1 to 5.3.3.4: down until no more is in flight than the path holds, with room below the long-term
    /// bound; cruise until it is time, by the clock or after 63 rounds; a round to refill; up until three rounds bring
    /// no more, where the window leaves room to see that.
    #[test]
    fn the_cycle_of_probing_by_hand() {
        let flight = |now: f64, n: u64, window_limited: bool| Ack { window_limited, ..ack(now, 0.1, 1, 1 + n) };
        let mut cc = cruising();
        (cc.state, cc.wait, cc.cycle_stamp) = (State::Down, Duration::from_secs(2), time(1.0));
        cc.advance_cycle(&flight(1.1, 101, true), true, 1.0);
        assert_eq!(cc.state, State::Down);
        cc.advance_cycle(&flight(1.1, 100, true), true, 1.0);
        assert_eq!(cc.state, State::Cruise);
        // 85 % of 80.
        (cc.state, cc.long_flight) = (State::Down, 80.0);
        cc.advance_cycle(&flight(1.1, 69, true), true, 1.0);
        assert_eq!(cc.state, State::Down);
        cc.advance_cycle(&flight(1.1, 68, true), true, 1.0);
        assert_eq!(cc.state, State::Cruise);
        (cc.short_rate, cc.short_flight, cc.up_rounds, cc.up_acked) = (9e5, 150.0, 3, 9.0);
        cc.advance_cycle(&flight(3.0, 100, true), true, 1.0);
        assert_eq!(cc.state, State::Cruise);
        cc.advance_cycle(&flight(3.001, 100, true), true, 1.0);
        assert_eq!((cc.state, cc.up_rounds, cc.up_acked), (State::Refill, 0, 0.0));
        assert!(cc.short_rate.is_infinite() && cc.short_flight.is_infinite());
        cc.advance_cycle(&flight(3.1, 100, true), false, 1.0);
        assert_eq!(cc.state, State::Refill);
        cc.advance_cycle(&flight(3.1, 100, true), true, 1.0);
        assert_eq!((cc.state, cc.probing), (State::Up, true));
        // The bound holds the window back, so the flat rate says nothing.
        cc.long_flight = 200.0;
        for _ in 0..5 {
            cc.cwnd = cc.long_flight;
            cc.advance_cycle(&flight(3.2, 150, true), true, 1.0);
        }
        assert_eq!(cc.state, State::Up);
        for (round, state) in [(1, State::Up), (2, State::Up), (3, State::Down)] {
            cc.advance_cycle(&flight(3.3, 150, false), false, 1.0);
            cc.advance_cycle(&flight(3.3, 150, false), true, 1.0);
            assert_eq!(cc.state, state, "round {round}");
        }
        assert_eq!(cc.cycle_stamp, time(3.3));
        assert!((2000..3000).contains(&(cc.wait.as_nanos() / 1_000_000)), "{:?}", cc.wait);
    }

    /// Section 5.3.4: half a bandwidth-delay product until it has been there for 200 ms and a round, then the window
    /// before.
    #[test]
    fn the_round_trip_time_is_probed_with_half_the_pipe() {
        let mut cc = cruising();
        (cc.probe_rtt_stamp, cc.state) = (time(1.0), State::Cruise);
        cc.update_min_rtt(&ack(5.9, 0.11, 1, 101), true);
        assert_eq!(cc.state, State::Cruise);
        cc.update_min_rtt(&ack(6.1, 0.11, 2, 102), true);
        assert_eq!((cc.state, cc.probe_rtt_done), (State::ProbeRtt, None));
        cc.set_cwnd(&ack(6.1, 0.11, 3, 103), 1.0);
        assert_eq!(cc.cwnd, 50.0);
        cc.update_min_rtt(&ack(6.2, 0.1, 10, 60), true);
        assert_eq!(cc.probe_rtt_done, Some(time(6.4)));
        cc.update_min_rtt(&ack(6.3, 0.1, 11, 60), true);
        cc.update_min_rtt(&ack(6.5, 0.1, 12, 60), false);
        assert_eq!(cc.state, State::ProbeRtt);
        cc.update_min_rtt(&ack(6.5, 0.1, 12, 60), true);
        assert_eq!((cc.state, cc.cwnd), (State::Cruise, 200.0));
    }

    /// Section 5.4.1: after a pause while it probes bandwidth it paces at the rate of the model, less its margin; the
    /// next ACK with something in flight ends the pause.
    #[test]
    fn after_a_pause_it_paces_at_the_rate_of_the_model() {
        let mut cc = cruising();
        cc.pacing = 1.0;
        cc.on_idle_restart(1.0);
        assert_eq!((cc.pacing, cc.idle_restart), (0.99e6, true));
        cc.update_min_rtt(&ack(60.0, 0.1, 1, 11), true);
        assert_eq!((cc.state, cc.idle_restart), (State::Cruise, false));
        (cc.state, cc.pacing) = (State::Startup, 1.0);
        cc.on_idle_restart(1.0);
        assert_eq!(cc.pacing, 1.0);
    }

    /// The model's two parameters are those of the pipe: 1000 segments of 1000 bytes a second, 100 ms and a segment's
    /// own 1 ms. A rate sample counts whole segments over a round trip of at least 100, hence 1 %.
    #[test]
    fn the_model_finds_the_rate_and_the_smallest_round_trip_time() {
        let mut cc = new(&Params::default(), start());
        let mut pipe = Pipe::new(1000.0, 0.1, 1e9);
        pipe.run(&mut cc, 60.0, |pipe, cc| {
            if pipe.now > 2.0 {
                assert_relative_eq!(cc.rate(), 1000.0 * MSS as f64, max_relative = 0.01);
            }
        });
        assert_relative_eq!(cc.min_rtt, 0.101, max_relative = 0.01);
    }

    /// A probe of the round-trip time each 5 s, which takes 0.2 s and a few rounds and starts the wait of 2 to 3 s for
    /// the next probe of the bandwidth anew; so one or two of these come in between.
    #[test]
    fn it_probes_as_often_as_the_draft_says() {
        let mut cc = new(&Params::default(), start());
        let mut pipe = Pipe::new(1000.0, 0.1, 1e9);
        let (mut last, mut ups, mut probes) = (State::Startup, 0, 0);
        pipe.run(&mut cc, 60.0, |_, cc| {
            ups += u32::from(cc.state == State::Up && last != State::Up);
            probes += u32::from(cc.state == State::ProbeRtt && last != State::ProbeRtt);
            last = cc.state;
        });
        assert!((probes..=2 * probes + 2).contains(&ups), "{ups} probes of the bandwidth");
        assert!((10..=12).contains(&probes), "{probes} probes of the round-trip time");
    }

    /// Losses below 2 % are tolerated: one in 200 leaves the pipe of 1000 segments a second nearly full. One in 20 sets
    /// a long-term bound, and less is delivered.
    #[test]
    fn losses_up_to_the_threshold_are_tolerated() {
        let run = |one_in| {
            let mut cc = new(&Params::default(), start());
            let mut pipe = Pipe::new(1000.0, 0.1, 1e9).losing_every(one_in);
            pipe.run(&mut cc, 40.0, |_, _| ());
            (pipe.acked as f64 / 40_000.0, cc.long_flight)
        };
        let ((few, bound), (many, tight)) = (run(200), run(20));
        assert!(few > 0.85 && bound.is_infinite(), "{few} of the rate, bound {bound}");
        assert!(many < few && tight.is_finite(), "{many} of the rate, bound {tight}");
    }

    /// What version 3 is for: with a queue of a tenth of the bandwidth-delay product it has fewer losses than version
    /// 1, which probes and overflows without regard to them.
    #[test]
    fn a_short_queue_overflows_less_than_under_version_1() {
        let mut old = bbr::new(&bbr::Params::default(), start());
        let mut pipe = Pipe::new(1000.0, 0.1, 10.0);
        pipe.run(&mut old, 60.0, |_, _| ());
        let before = pipe.losses;
        let mut new = new(&Params::default(), start());
        let mut pipe = Pipe::new(1000.0, 0.1, 10.0);
        pipe.run(&mut new, 60.0, |_, _| ());
        assert!(pipe.losses < before, "{} losses, {before} under version 1", pipe.losses);
        assert!(pipe.acked as f64 > 0.8 * 60_000.0, "{} segments", pipe.acked);
    }
}
