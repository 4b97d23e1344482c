//! BBR, version 1: paces at the bottleneck bandwidth, with about one bandwidth-delay product in flight.
//!
//! Source: N. Cardwell, Y. Cheng, S. H. Yeganeh and V. Jacobson, draft-cardwell-iccrg-bbr-congestion-control-00, 2017,
//! sections 3.4 and 4; N. Cardwell et al., "BBR: Congestion-Based Congestion Control", 2016. The path is modelled by
//!
//! ```text
//! BtlBw  = largest delivery rate of the last 10 rounds,   RTprop = smallest round-trip time of the last 10 s
//! pacing = pacing_gain * BtlBw,   window = cwnd_gain * BtlBw * RTprop + 3 quanta, at least 4 segments
//! ```
//!
//! Startup (gain 2/ln 2) ends when the bandwidth has grown by less than a quarter for three rounds; Drain empties the
//! queue; ProbeBW cycles through the gains 5/4, 3/4 and six times 1, one RTprop each; when RTprop is 10 s old, ProbeRTT
//! keeps 4 segments in flight for 200 ms.
//!
//! Losses do not enter the model. In its first round, recovery sends only as much as is delivered; when recovery ends,
//! the window is restored (section 4.2.3.4). The policer detection of Linux's module is left out. The first phase of
//! ProbeBW is drawn from the seed of the connection. The window is kept across idle periods, because segments are
//! paced.
//!
//! The variant `linux` follows Linux's later changes (net/ipv4/tcp_bbr, 5.1 to 6.18): pacing 1 % below the model; a
//! window of an even number of segments, with two more in the phase of gain 5/4; and an allowance for ACK aggregation
//! ([`AckAggregation`], also in N. Cardwell et al., draft-ietf-ccwg-bbr). Left out: the time that segments wait in the
//! pacing queue, and the rule that a possibly delayed ACK does not renew RTprop.

use wifair_config::{choice, table};
use wifair_units::{Duration, Time};

use crate::cc::bbr_model::{AckAggregation, LEAST, MOST, Plateau, Rounds, approach, by_model, first_pacing, splitmix};
use crate::cc::{Ack, CongestionControl, Start};

choice! {
    /// Which implementation of BBR version 1.
    pub enum BbrVariant {
        /// The draft of 2017.
        Draft = "draft" from "draft-cardwell-iccrg-bbr-congestion-control-00",
        /// Linux, from 5.1 on.
        Linux = "linux",
    }
}

table! {
    /// BBR version 1 (N. Cardwell et al., 2017).
    pub struct Params {
        /// Which implementation of BBR version 1.
        pub variant: BbrVariant = BbrVariant::Draft;
        /// Window gain outside of Startup and ProbeRTT.
        pub cwnd_gain: f64 = 2.0, "1 or more" => |v| *v >= 1.0;
        /// Age of RTprop at which it is measured again.
        pub rtprop_window: Duration = Duration::from_secs(10), "longer than 0 s" => |v| *v > Duration::ZERO;
        /// Minimum duration of ProbeRTT.
        pub probe_rtt_duration: Duration = Duration::from_millis(200);
    }
}

/// 2 / ln 2.
const HIGH_GAIN: f64 = 2.885;
/// Length of the bandwidth filter, in rounds (`BtlBwFilterLen`).
const BANDWIDTH_ROUNDS: usize = 10;
/// Linux paces at this fraction of the model's rate.
const MARGIN: f64 = 0.99;
/// Pacing gains of ProbeBW.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BbrState {
    #[default]
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// State of BBR.
#[derive(Clone, Debug, Default)]
pub struct Bbr {
    params: Params,
    seed: u64,
    mss: f64,
    initial_window: f64,
    state: BbrState,
    pacing_gain: f64,
    cwnd_gain: f64,
    cwnd: f64,
    prior_cwnd: f64,
    /// Pacing rate, in bytes per second.
    pacing: f64,
    /// Whether an RTT sample has replaced the RTT assumed for the initial pacing rate.
    has_seen_rtt: bool,
    /// Largest delivery rate of each of the last rounds (ring buffer), and the largest of all, in bytes per second.
    rates: [f64; BANDWIDTH_ROUNDS],
    bandwidth: f64,
    /// Whether a round has begun since the last sample that counted.
    aged: bool,
    /// RTprop in seconds; infinite before the first sample.
    rtprop: f64,
    rtprop_stamp: Time,
    round: usize,
    rounds: Rounds,
    aggregation: AckAggregation,
    plateau: Plateau,
    filled_pipe: bool,
    cycle: usize,
    cycle_stamp: Time,
    /// Earliest end of ProbeRTT, once the pipe is drained.
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    /// Whether recovery is in its first round, with packet conservation.
    conservation: bool,
    in_recovery: bool,
}

/// BBR at the start of a connection.
pub fn new(params: &Params, start: Start) -> Bbr {
    let cwnd = start.window.clamp(1.0, MOST);
    Bbr {
        params: params.clone(),
        seed: start.seed,
        mss: start.mss.max(1.0),
        initial_window: cwnd,
        pacing_gain: HIGH_GAIN,
        cwnd_gain: HIGH_GAIN,
        cwnd,
        prior_cwnd: cwnd,
        // An RTT of 1 ms is assumed until one is measured (section 4.2.1).
        pacing: first_pacing(HIGH_GAIN, cwnd, start.mss.max(1.0), 1e-3),
        rtprop: f64::INFINITY,
        ..Bbr::default()
    }
}

impl Bbr {
    const fn is_linux(&self) -> bool {
        matches!(self.params.variant, BbrVariant::Linux)
    }

    /// Segments in flight for `gain` times the bandwidth-delay product, plus three quanta (section 4.2.3.2) and `more`.
    fn inflight(&self, gain: f64, more: f64) -> f64 {
        if !self.rtprop.is_finite() {
            return self.initial_window;
        }
        let product = gain * self.bandwidth * self.rtprop / self.mss;
        if !self.is_linux() {
            return (product + 3.0 * self.quantum()).min(MOST);
        }
        let wanted = libm::ceil(product) + libm::floor(more) + 3.0 * libm::floor(self.quantum());
        let probes = self.state == BbrState::ProbeBw && self.cycle == 0;
        (2.0 * libm::ceil(wanted / 2.0) + if probes { 2.0 } else { 0.0 }).min(MOST)
    }

    /// Allowance for ACK aggregation, once the pipe is full: the recent maximum, limited to 100 ms at the bottleneck
    /// bandwidth.
    fn room(&self) -> f64 {
        match self.is_linux() && self.filled_pipe {
            true => self.aggregation.most().min(self.bandwidth * 0.1 / self.mss),
            false => 0.0,
        }
    }

    /// Send quantum in segments (section 4.2.2).
    fn quantum(&self) -> f64 {
        if self.pacing < 1.2e6 / 8.0 {
            1.0
        } else if self.pacing < 24e6 / 8.0 {
            2.0
        } else {
            (self.pacing * 1e-3).min(65_536.0) / self.mss
        }
    }

    /// Updates the bandwidth; returns whether the ACK starts a round. Old rates expire only when a sample counts, so
    /// the bandwidth is kept while all samples are application-limited (the draft's BBRUpdateBtlBw).
    fn update_bandwidth(&mut self, ack: &Ack) -> bool {
        let Some(sample) = ack.rate else { return false };
        let starts = self.rounds.ends(&sample);
        if starts {
            self.rounds.begin();
            self.round = (self.round + 1) % BANDWIDTH_ROUNDS;
            self.rates[self.round] = 0.0;
            self.aged = true;
            self.conservation = false;
            self.aggregation.begin_round();
        }
        if sample.rate >= self.bandwidth || !sample.app_limited {
            let rate = &mut self.rates[self.round];
            *rate = rate.max(sample.rate);
            self.bandwidth = match std::mem::take(&mut self.aged) {
                true => self.rates.iter().copied().fold(0.0, f64::max),
                false => self.bandwidth.max(sample.rate),
            };
        }
        starts
    }

    fn check_full_pipe(&mut self, ack: &Ack, round_start: bool) {
        let app_limited = ack.rate.is_some_and(|sample| sample.app_limited);
        if self.filled_pipe || !round_start || app_limited {
            return;
        }
        self.filled_pipe = self.plateau.reached(self.bandwidth);
    }

    fn check_drain(&mut self, ack: &Ack) {
        if self.state == BbrState::Startup && self.filled_pipe {
            self.state = BbrState::Drain;
            self.pacing_gain = 1.0 / HIGH_GAIN;
            self.cwnd_gain = HIGH_GAIN;
        }
        if self.state == BbrState::Drain && ack.in_flight <= self.inflight(1.0, 0.0) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// Any phase except that of gain 3/4 may be the first.
    fn enter_probe_bw(&mut self, now: Time) {
        self.state = BbrState::ProbeBw;
        self.cwnd_gain = self.params.cwnd_gain;
        let phases = CYCLE.len();
        let skipped = usize::try_from(splitmix(self.seed) % 7).expect("below seven");
        self.cycle = phases - 1 - skipped;
        self.advance_cycle(now);
    }

    fn advance_cycle(&mut self, now: Time) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_stamp = now;
        self.pacing_gain = CYCLE[self.cycle];
    }

    fn check_cycle(&mut self, ack: &Ack, acked: f64) {
        if self.state != BbrState::ProbeBw {
            return;
        }
        let full_length = ack.now.saturating_since(self.cycle_stamp).as_secs() > self.rtprop;
        let before = ack.in_flight + acked;
        let next = if self.pacing_gain > 1.0 {
            full_length && (ack.lost > 0.0 || before >= self.inflight(self.pacing_gain, 0.0))
        } else if self.pacing_gain < 1.0 {
            full_length || before <= self.inflight(1.0, 0.0)
        } else {
            full_length
        };
        if next {
            self.advance_cycle(ack.now);
        }
    }

    fn update_rtprop(&mut self, ack: &Ack, round_start: bool) {
        // The draft's BBRInit: RTprop starts with the RTT of the handshake, before data filled a queue.
        if !self.rtprop.is_finite() && ack.min_rtt != Duration::MAX {
            (self.rtprop, self.rtprop_stamp) = (ack.min_rtt.as_secs(), ack.now);
        }
        let expired = ack.now.saturating_since(self.rtprop_stamp) > self.params.rtprop_window;
        if let Some(rtt) = ack.rtt.map(|rtt| rtt.as_secs())
            && rtt > 0.0
            && (rtt <= self.rtprop || expired)
        {
            self.rtprop = rtt;
            self.rtprop_stamp = ack.now;
        }
        if self.state != BbrState::ProbeRtt && expired && !self.idle_restart {
            self.state = BbrState::ProbeRtt;
            self.pacing_gain = 1.0;
            self.cwnd_gain = 1.0;
            self.save_cwnd();
            self.probe_rtt_done = None;
        }
        if self.state == BbrState::ProbeRtt {
            self.probe_rtt(ack, round_start);
        }
        if ack.in_flight > 0.0 {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, ack: &Ack, round_start: bool) {
        match self.probe_rtt_done {
            None if ack.in_flight <= LEAST => {
                self.probe_rtt_done = Some(ack.now + self.params.probe_rtt_duration);
                self.probe_rtt_round_done = false;
                self.rounds.begin();
            }
            None => {}
            Some(done) => {
                self.probe_rtt_round_done |= round_start;
                if self.probe_rtt_round_done && ack.now > done {
                    self.rtprop_stamp = ack.now;
                    self.restore_cwnd();
                    if self.filled_pipe {
                        self.enter_probe_bw(ack.now);
                    } else {
                        self.state = BbrState::Startup;
                        (self.pacing_gain, self.cwnd_gain) = (HIGH_GAIN, HIGH_GAIN);
                    }
                }
            }
        }
    }

    fn save_cwnd(&mut self) {
        let bound = self.in_recovery || self.state == BbrState::ProbeRtt;
        self.prior_cwnd = if bound { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn set_pacing(&mut self, ack: &Ack) {
        let rtt = ack.srtt.as_secs();
        if !self.has_seen_rtt && rtt > 0.0 {
            self.has_seen_rtt = true;
            self.pacing = first_pacing(HIGH_GAIN, self.initial_window, self.mss, rtt);
        }
        if self.bandwidth <= 0.0 {
            return;
        }
        let margin = if self.is_linux() { MARGIN } else { 1.0 };
        let rate = self.pacing_gain * self.bandwidth * margin;
        if self.filled_pipe || rate > self.pacing {
            self.pacing = rate.max(self.mss);
        }
    }

    fn set_cwnd(&mut self, ack: &Ack, acked: f64) {
        let target = self.inflight(self.cwnd_gain, self.room());
        if ack.lost > 0.0 {
            self.cwnd = (self.cwnd - ack.lost).max(1.0);
        }
        if self.conservation {
            self.cwnd = self.cwnd.max(ack.in_flight + acked);
        } else {
            let early = (ack.delivered as f64) < self.initial_window * self.mss;
            self.cwnd = approach(self.cwnd, acked, target, self.filled_pipe, early);
        }
        self.cwnd = self.cwnd.clamp(LEAST, MOST);
        if self.state == BbrState::ProbeRtt {
            self.cwnd = LEAST;
        }
    }
}

impl CongestionControl for Bbr {
    by_model!();

    fn on_ack(&mut self, ack: &Ack) {
        self.mss = ack.mss;
        let acked = self.rounds.deliver(ack);
        let round_start = self.update_bandwidth(ack);
        if self.is_linux() && ack.rate.is_some() {
            self.aggregation.deliver(ack.now, acked, self.bandwidth / self.mss, self.cwnd);
        }
        self.check_cycle(ack, acked);
        self.check_full_pipe(ack, round_start);
        self.check_drain(ack);
        self.update_rtprop(ack, round_start);
        self.set_pacing(ack);
        self.set_cwnd(ack, acked);
    }

    fn on_loss(&mut self, in_flight: f64) {
        self.save_cwnd();
        self.in_recovery = true;
        self.cwnd = in_flight.clamp(LEAST, MOST);
        self.conservation = true;
        self.rounds.begin();
    }

    fn on_rto(&mut self, _: f64) {
        self.save_cwnd();
        self.cwnd = 1.0;
    }

    fn on_recovery_exit(&mut self, _: f64) {
        self.in_recovery = false;
        self.conservation = false;
        self.restore_cwnd();
    }

    fn on_rto_again(&mut self) {
        self.on_rto(0.0);
    }

    fn on_idle_restart(&mut self, _: f64) {
        self.idle_restart = true;
        if self.state == BbrState::ProbeBw && self.bandwidth > 0.0 {
            self.pacing = self.bandwidth.max(self.mss);
        }
    }

    fn on_spurious(&mut self) {
        self.in_recovery = false;
        self.conservation = false;
        self.restore_cwnd();
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::RateSample;
    use crate::cc::testing::{BottleneckPath, MSS, ack, time};

    fn start() -> Start {
        Start::with_window(10.0)
    }

    /// The model's parameters are those of the pipe: 1000 segments of 1000 bytes a second, and 100 ms plus a segment's
    /// own 1 ms. A rate sample counts whole segments over a round trip of at least 100, hence 1 %.
    #[test]
    fn the_model_finds_the_rate_and_the_smallest_round_trip_time() {
        let mut cc = new(&Params::default(), start());
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.run(&mut cc, 60.0, |_, _| ());
        assert_relative_eq!(cc.bandwidth, 1000.0 * MSS as f64, max_relative = 0.01);
        assert_relative_eq!(cc.rtprop, 0.101, max_relative = 0.01);
        assert_eq!(cc.state, BbrState::ProbeBw);
    }

    /// Section 4.2.1: ten segments of 1000 bytes in an RTT of 100 ms, times 2 / ln 2, even if the first ACK has a rate
    /// sample. (An RTT of 1 ms instead would make the window of Startup 3 * 65 kB too large.)
    #[test]
    fn the_first_pacing_rate_follows_from_the_first_round_trip_time() {
        let mut cc = new(&Params::default(), start());
        let sample = RateSample { rate: 10_000.0, prior_delivered: 0, app_limited: false };
        cc.on_ack(&Ack { rate: Some(sample), ..ack(0.1, 0.1, 1, 10) });
        assert_relative_eq!(cc.pacing, 2.885 * 10.0 * 1000.0 / 0.1);
    }

    /// The handshake took 20 ms; the first data waited 30 ms longer, behind the data of other flows.
    #[test]
    fn the_round_trip_time_of_the_handshake_counts() {
        let mut cc = new(&Params::default(), start());
        cc.on_ack(&Ack { min_rtt: Duration::from_millis(20), ..ack(0.07, 0.05, 1, 10) });
        assert_relative_eq!(cc.rtprop, 0.02);
    }

    /// After Drain the queue holds what a phase of gain 5/4 adds in one RTprop, a quarter of 100 segments, and three
    /// quanta; the phase of 3/4 removes it. ProbeRTT comes every 10 s and empties the queue.
    #[test]
    fn the_queue_stays_at_a_quarter_of_the_pipe() {
        let mut cc = new(&Params::default(), start());
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.run(&mut cc, 5.0, |_, _| ());
        let (mut most, mut probes, mut last) = (0.0_f64, 0, BbrState::ProbeBw);
        pipe.run(&mut cc, 45.0, |pipe, cc| {
            most = most.max(pipe.queue());
            probes += u32::from(cc.state == BbrState::ProbeRtt && last != BbrState::ProbeRtt);
            last = cc.state;
        });
        assert!(most <= 25.0 + 3.0 * 2.0 + 2.0, "{most} queued");
        assert!((3..=4).contains(&probes), "{probes} probes of the round-trip time in 40 s");
    }

    /// Section 4.3.2.1: Startup doubles the rate each round, so 10 segments a round reach 100 in the fourth.
    #[test]
    fn startup_doubles_each_round() {
        let mut cc = new(&Params::default(), start());
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        let mut filled = f64::INFINITY;
        pipe.run(&mut cc, 3.0, |pipe, cc| {
            if cc.bandwidth > 0.95e6 {
                filled = filled.min(pipe.now);
            }
        });
        assert!((0.4..=0.7).contains(&filled), "{filled} s");
        assert!(cc.filled_pipe);
    }

    /// A pipe of 1000 segments a second and 100 ms whose Startup is over: a bandwidth-delay product of 100 segments,
    /// quanta of 2.
    fn full() -> Bbr {
        let mut cc = new(&Params::default(), start());
        (cc.state, cc.filled_pipe, cc.pacing_gain, cc.cwnd_gain) = (BbrState::ProbeBw, true, 1.0, 2.0);
        (cc.rates, cc.bandwidth, cc.rtprop, cc.pacing, cc.cwnd) = ([1e6; BANDWIDTH_ROUNDS], 1e6, 0.1, 1e6, 200.0);
        cc
    }

    /// Sections 4.1.1.3 and 4.1.1.5: the largest sample of ten rounds. An application-limited sample counts only if it
    /// is not smaller. A round, and packet conservation, end with the ACK of a segment sent after it began.
    #[test]
    fn the_bandwidth_is_the_largest_of_ten_rounds() {
        let mut cc = new(&Params::default(), start());
        let mut sample = |prior: u64, delivered: u64, rate: f64, app_limited: bool| {
            let rate = Some(RateSample { rate: rate * MSS as f64, prior_delivered: prior * MSS, app_limited });
            let ack = Ack { rate, ..ack(1.0, 0.1, delivered, delivered + 10) };
            cc.conservation = true;
            cc.rounds.deliver(&ack);
            let starts = cc.update_bandwidth(&ack);
            assert_eq!(starts, !cc.conservation);
            (starts, cc.bandwidth / MSS as f64)
        };
        assert_eq!(sample(0, 10, 200.0, false), (true, 200.0));
        assert_eq!(sample(9, 11, 150.0, false), (false, 200.0));
        for round in 1..10 {
            assert_eq!(sample(10 * round + 1, 10 * round + 11, 100.0, false), (true, 200.0), "{round}");
        }
        assert_eq!(sample(101, 111, 100.0, false), (true, 100.0));
        assert_eq!(sample(111, 121, 50.0, true), (true, 100.0));
        assert_eq!(sample(120, 122, 150.0, true), (false, 150.0));
    }

    /// Section 4.1.1.3, and Linux: the filter advances only with samples that count. 30 application-limited rounds
    /// change nothing; the first sample after them is then the only one of ten rounds.
    #[test]
    fn the_bandwidth_does_not_age_while_the_application_limits_it() {
        let mut cc = new(&Params::default(), start());
        let mut sample = |round: u64, rate: f64, app_limited: bool| {
            let rate = Some(RateSample { rate: rate * MSS as f64, prior_delivered: 10 * round * MSS, app_limited });
            let ack = Ack { rate, ..ack(1.0, 0.1, 10 * round + 9, 10 * round + 19) };
            cc.rounds.deliver(&ack);
            assert!(cc.update_bandwidth(&ack));
            cc.bandwidth / MSS as f64
        };
        assert_eq!(sample(0, 200.0, false), 200.0);
        for round in 1..=30 {
            assert_eq!(sample(round, 20.0, true), 200.0, "{round}");
        }
        assert_eq!(sample(31, 100.0, false), 100.0);
        assert_eq!(sample(32, 20.0, true), 100.0);
        assert_eq!(sample(33, 80.0, false), 100.0);
        assert_eq!(sample(34, 120.0, true), 120.0);
    }

    /// Section 4.3.4: the phase of gain 5/4 lasts one RTprop, and until that much is in flight or something is lost;
    /// that of 3/4 lasts one RTprop or until the queue is empty; the others one RTprop. Three quanta are 6 segments.
    #[test]
    fn phases_end_as_the_draft_says() {
        let mut cc = full();
        (cc.cycle, cc.pacing_gain, cc.cycle_stamp) = (0, 1.25, time(1.0));
        let phase = |cc: &mut Bbr, now: f64, in_flight: f64, acked: f64, lost: f64| {
            cc.check_cycle(&Ack { in_flight, lost, ..ack(now, 0.1, 1, 2) }, acked);
            (cc.cycle, cc.pacing_gain)
        };
        assert_eq!(phase(&mut cc, 1.05, 200.0, 1.0, 1.0), (0, 1.25));
        assert_eq!(phase(&mut cc, 1.2, 130.0, 0.5, 0.0), (0, 1.25));
        assert_eq!(phase(&mut cc, 1.2, 130.0, 1.0, 0.0), (1, 0.75));
        assert_eq!(cc.cycle_stamp, time(1.2));
        assert_eq!(phase(&mut cc, 1.25, 105.0, 1.5, 0.0), (1, 0.75));
        assert_eq!(phase(&mut cc, 1.25, 105.0, 1.0, 0.0), (2, 1.0));
        assert_eq!(phase(&mut cc, 1.3, 1.0, 1.0, 1.0), (2, 1.0));
        for n in 3..9 {
            let now = 1.26 + 0.11 * f64::from(n - 2);
            assert_eq!(phase(&mut cc, now, 200.0, 1.0, 0.0).0, n as usize % 8, "phase {n}");
        }
        assert_eq!(cc.pacing_gain, 1.25);
        assert_eq!(phase(&mut cc, 2.1, 50.0, 1.0, 1.0), (1, 0.75));
        assert_eq!(phase(&mut cc, 2.25, 300.0, 1.0, 0.0), (2, 1.0));
        cc.state = BbrState::Drain;
        assert_eq!(phase(&mut cc, 9.0, 50.0, 1.0, 0.0), (2, 1.0));
    }

    /// Section 4.3.4: any phase except that of gain 3/4 may be the first.
    #[test]
    fn the_first_phase_is_drawn() {
        let mut seen = [0; 8];
        for seed in 0..200 {
            let mut cc = Bbr { seed, ..full() };
            cc.cwnd_gain = 1.0;
            cc.enter_probe_bw(time(3.0));
            seen[cc.cycle] += 1;
            assert_eq!((cc.pacing_gain, cc.cycle_stamp, cc.cwnd_gain), (CYCLE[cc.cycle], time(3.0), 2.0));
        }
        assert!(seen[1] == 0 && seen.iter().filter(|n| **n > 10).count() == 7, "{seen:?}");
    }

    /// Section 4.3.5: if RTprop was not reached for 10 s, it is measured with four segments in flight, for at least 200
    /// ms and a round; then the window is restored.
    #[test]
    fn the_round_trip_time_is_probed_with_four_segments() {
        let mut cc = full();
        cc.rtprop_stamp = time(1.0);
        cc.update_rtprop(&ack(10.9, 0.11, 1, 101), true);
        assert_eq!((cc.state, cc.rtprop), (BbrState::ProbeBw, 0.1));
        cc.update_rtprop(&ack(11.1, 0.11, 2, 102), true);
        assert_eq!((cc.state, cc.rtprop, cc.prior_cwnd), (BbrState::ProbeRtt, 0.11, 200.0));
        assert_eq!((cc.pacing_gain, cc.cwnd_gain, cc.probe_rtt_done), (1.0, 1.0, None));
        cc.set_cwnd(&ack(11.1, 0.11, 3, 103), 1.0);
        assert_eq!(cc.cwnd, 4.0);
        cc.update_rtprop(&ack(11.2, 0.12, 10, 15), true);
        assert_eq!(cc.probe_rtt_done, None);
        cc.update_rtprop(&ack(11.2, 0.12, 11, 15), true);
        assert_eq!(cc.probe_rtt_done, Some(time(11.4)));
        cc.update_rtprop(&ack(11.5, 0.12, 12, 16), false);
        assert_eq!(cc.state, BbrState::ProbeRtt, "no round yet");
        cc.update_rtprop(&ack(11.4, 0.12, 13, 17), true);
        assert_eq!(cc.state, BbrState::ProbeRtt, "not longer than 200 ms");
        let mut unfilled = Bbr { filled_pipe: false, ..cc.clone() };
        cc.update_rtprop(&ack(11.41, 0.12, 14, 18), false);
        assert_eq!((cc.state, cc.cwnd, cc.rtprop_stamp), (BbrState::ProbeBw, 200.0, time(11.41)));
        unfilled.update_rtprop(&ack(11.41, 0.12, 14, 18), false);
        assert_eq!(
            (unfilled.state, unfilled.pacing_gain, unfilled.cwnd_gain),
            (BbrState::Startup, HIGH_GAIN, HIGH_GAIN)
        );
        // Not after an idle period, in which nothing was in flight anyway.
        let mut idle = full();
        idle.idle_restart = true;
        idle.update_rtprop(&ack(20.0, 0.11, 1, 1), true);
        assert_eq!((idle.state, idle.rtprop, idle.idle_restart), (BbrState::ProbeBw, 0.11, true));
        idle.update_rtprop(&ack(20.0, 0.11, 1, 2), true);
        assert!(!idle.idle_restart);
    }

    /// Section 4.2.2: a quantum is one segment below 1.2 Mb/s, two below 24 Mb/s, else what leaves in a millisecond, at
    /// most 64 KiB. Section 4.2.3.2: the window includes three quanta; Linux's is even, with two segments more in the
    /// phase of gain 5/4.
    #[test]
    fn the_window_has_room_for_three_quanta() {
        let mut cc = full();
        for (pacing, quantum) in [(149e3, 1.0), (150e3, 2.0), (2.9e6, 2.0), (3e6, 3.0), (9e6, 9.0), (1e9, 65.536)] {
            cc.pacing = pacing;
            assert_relative_eq!(cc.quantum(), quantum);
        }
        cc.pacing = 1e6;
        assert_eq!((cc.inflight(1.25, 0.0), cc.inflight(2.0, 7.0)), (131.0, 206.0));
        cc.params.variant = BbrVariant::Linux;
        cc.cycle = 3;
        assert_eq!((cc.inflight(1.25, 0.0), cc.inflight(2.0, 7.9)), (132.0, 214.0));
        cc.cycle = 0;
        assert_eq!(cc.inflight(1.25, 0.0), 134.0);
        cc.state = BbrState::Drain;
        assert_eq!(cc.inflight(1.25, 0.0), 132.0);
        cc.rtprop = f64::INFINITY;
        assert_eq!(cc.inflight(2.0, 0.0), 10.0);
    }

    /// Section 4.2.3: lost segments are subtracted from the window, and delivered segments let it grow up to the target
    /// of 2 * 100 + 6; the first round of recovery sends only as much as is delivered. Until the pipe is full the
    /// target does not limit the initial window, and the window is never below four segments.
    #[test]
    fn the_window_follows_its_target() {
        let mut cc = full();
        let usual = ack(1.0, 0.1, 100, 160);
        cc.set_cwnd(&Ack { lost: 3.0, ..usual }, 1.0);
        assert_eq!(cc.cwnd, 198.0);
        cc.set_cwnd(&usual, 20.0);
        assert_eq!(cc.cwnd, 206.0);
        (cc.conservation, cc.cwnd) = (true, 50.0);
        cc.set_cwnd(&usual, 2.0);
        assert_eq!(cc.cwnd, 62.0);
        (cc.conservation, cc.filled_pipe, cc.cwnd) = (false, false, 300.0);
        cc.set_cwnd(&usual, 5.0);
        assert_eq!(cc.cwnd, 300.0);
        cc.set_cwnd(&ack(1.0, 0.1, 9, 19), 5.0);
        assert_eq!(cc.cwnd, 305.0);
        cc.set_cwnd(&Ack { lost: 400.0, ..usual }, 1.0);
        assert_eq!(cc.cwnd, 4.0);
    }

    /// Linux adds the ACK aggregation once the pipe is full, limited to 100 ms at the bottleneck bandwidth: 100
    /// segments.
    #[test]
    fn linux_makes_room_for_aggregated_acks() {
        let mut cc = full();
        cc.aggregation.deliver(time(1.0), 40.0, 1000.0, 1e9);
        assert_eq!(cc.room(), 0.0);
        cc.params.variant = BbrVariant::Linux;
        assert_eq!(cc.room(), 40.0);
        cc.aggregation.deliver(time(1.0), 200.0, 1000.0, 1e9);
        assert_eq!(cc.room(), 100.0);
        cc.filled_pipe = false;
        assert_eq!(cc.room(), 0.0);
    }

    /// Random losses do not slow BBR down: at 1 % Reno would have 12 segments, but BBR fills the pipe of 100.
    #[test]
    fn random_losses_leave_the_rate_as_it_is() {
        let mut cc = new(&Params::default(), start());
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9).losing_every(100);
        pipe.run(&mut cc, 30.0, |_, _| ());
        assert!(pipe.acked as f64 > 0.9 * 1000.0 * 30.0, "{} segments", pipe.acked);
    }
}
