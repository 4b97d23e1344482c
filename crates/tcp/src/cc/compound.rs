//! Compound TCP: the sum of a loss-based window, as in Reno, and a delay-based window.
//!
//! Source: K. Tan, J. Song, Q. Zhang and M. Sridharan, "A Compound TCP Approach for High-speed and Long Distance
//! Networks", 2006, as given by H. Oda, H. Hisamatsu and H. Noborio, "Compound TCP+", 2012, section 3.1, equations 1 to
//! 6:
//!
//! ```text
//! (1) swnd = cwnd + dwnd
//! (2) ACK, slow start: cwnd += 1;   congestion avoidance: cwnd += 1 / swnd
//! (3) loss: cwnd = cwnd / 2,  dwnd = max(swnd (1 - beta) - cwnd / 2, 0);   timeout: cwnd = 1, dwnd = 0
//! (4) diff = (swnd / base - swnd / rtt) * base
//! (5) round with diff <  gamma: dwnd += max(alpha swnd^k - 1, 0)
//! (6) round with diff >= gamma: dwnd = max(dwnd - zeta diff, 0)
//! ```
//!
//! At loss rate p the continuous approximation has a peak of 0.331 p^-0.833 and a mean of 0.241 p^-0.833 segments.
//!
//! Where the papers leave a choice: both right-hand sides of (3) use the windows before the loss; rounds are delimited
//! by sequence numbers; `swnd` in (4) to (6) is the amount in flight when the round began; `rtt` is the mean of the
//! round's samples (a setting); a round in which a loss was repaired leads to no decision; the threshold after a loss
//! is swnd / 2. The rule of Tan et al. that `dwnd` acts only from 41 segments up is off (a setting).
//!
//! `arithmetic = "ns2"` is that of ns-2's tcp_compound, a Linux module, with the rounds described above: whole
//! segments, k = 3/4 by two square roots, `diff` in half segments from the smallest sample of a round with at least
//! three, with its 32-bit overflow (at 220 ms above 9761 segments); a loss halves `swnd` by reducing `cwnd` before
//! `dwnd`.

use wifair_config::{choice, table};

use crate::cc::{Ack, CongestionControl, Round, RttSamples, Start, Window, backlog};

choice! {
    /// Arithmetic of Compound.
    pub enum Arithmetic {
        /// The equations, in real numbers.
        Real = "real" from "H. Oda, H. Hisamatsu and H. Noborio, 2012, equations 1 to 6",
        /// Whole segments and k = 3/4, as in ns-2.
        Ns2 = "ns2" from "ns-2.35, tcp_compound",
    }
}

choice! {
    /// Which RTT of a round is compared with the minimum RTT.
    pub enum RoundTrip {
        /// Mean of the samples of the round.
        Mean = "mean",
        /// Last sample of the round.
        Last = "last",
        /// Smallest sample of the round.
        Min = "min",
        /// SRTT of RFC 6298.
        Smoothed = "smoothed",
    }
}

table! {
    /// Compound TCP (K. Tan et al., 2006).
    pub struct Params {
        /// Factor of the growth of the delay window.
        pub alpha: f64 = 0.125, "more than 0" => |v| *v > 0.0;
        /// Fraction of the window taken off on loss.
        pub beta: f64 = 0.5, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Factor of the decrease of the delay window.
        pub zeta: f64 = 1.0, "0 or more" => |v| *v >= 0.0;
        /// Exponent of the growth of the delay window.
        pub k: f64 = 0.8, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Segments in the queue at which the delay window shrinks.
        pub gamma: f64 = 30.0, "0 or more" => |v| *v >= 0.0;
        /// Window in segments below which the delay window does not grow; 41 with Tan et al.
        pub low_window: f64 = 0.0, "0 or more" => |v| *v >= 0.0;
        /// Which RTT of a round is compared with the minimum RTT.
        pub round_trip: RoundTrip = RoundTrip::Mean;
        /// Whether a timeout resets the minimum RTT.
        pub reset_base: bool = false;
        /// Arithmetic of Compound.
        pub arithmetic: Arithmetic = Arithmetic::Real;
    }
}

/// State of Compound TCP.
#[derive(Clone, Debug, Default)]
pub struct Compound {
    /// CTCP-TUBE adapts `gamma`.
    pub(super) params: Params,
    /// `cwnd` of the equations; the threshold applies to `swnd`.
    pub(super) window: Window,
    pub(super) dwnd: f64,
    dwnd_before: f64,
    pub(super) delays: RttSamples,
    round: Round,
    /// In flight when the round began, in segments.
    sent: f64,
    /// A round begins with the next ACK outside of recovery.
    fresh: bool,
    /// `diff` of the last round, in segments.
    pub(super) diff: f64,
    /// RTT divided by the minimum RTT, in the last round.
    pub(super) stretch: f64,
    /// ACKs since the last increment, with whole segments.
    acks: f64,
    /// Whether `cwnd` grows while `dwnd` is zero; not so in Compound+.
    pub(super) grows_alone: bool,
}

/// Compound TCP at the start of a connection.
pub fn new(params: &Params, start: Start) -> Compound {
    let mut window = Window::new(start);
    if params.arithmetic == Arithmetic::Ns2 {
        window.set(libm::floor(window.cwnd));
    }
    let params = params.clone();
    Compound { params, window, fresh: true, stretch: 1.0, grows_alone: true, ..Compound::default() }
}

impl Compound {
    /// The sending window (equation 1).
    pub(super) fn swnd(&self) -> f64 {
        self.window.cwnd + self.dwnd
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.swnd() < self.window.ssthresh
    }

    /// Processes an ACK; returns whether it ended a round with a decision on `dwnd`.
    #[inline]
    pub(super) fn ack(&mut self, ack: &Ack) -> bool {
        self.delays.sample(ack);
        if ack.duplicate || ack.in_recovery {
            return false;
        }
        let mut decided = false;
        if self.fresh {
            self.fresh = false;
            self.round.restart(ack);
            self.begin_round(ack);
        } else if self.round.ends(ack) {
            if !self.in_slow_start() && ack.window_limited {
                decided = self.decide(ack);
            }
            self.begin_round(ack);
        }
        if ack.window_limited && ack.segments > 0.0 {
            self.grow(ack);
        }
        decided
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.delays.clear();
        // Segments acknowledged by this ACK belong to the round as well: the segments that they release are not sent
        // yet.
        self.sent = ((ack.nxt - ack.una) as f64 + ack.bytes as f64) / ack.mss;
    }

    /// Window growth (equation 2).
    fn grow(&mut self, ack: &Ack) {
        if self.params.arithmetic == Arithmetic::Ns2 {
            self.grow_in_whole_segments();
        } else if self.in_slow_start() {
            self.window.add(ack.segments);
        } else if self.dwnd > 0.0 || self.grows_alone {
            self.window.add(ack.segments / self.swnd());
        }
    }

    fn grow_in_whole_segments(&mut self) {
        let swnd = self.swnd();
        if self.window.cwnd <= self.window.ssthresh {
            self.window.add(1.0);
            return;
        }
        self.acks = (self.acks + 1.0).min(swnd);
        if self.acks >= swnd {
            self.acks = 0.0;
            if self.dwnd > 0.0 || self.grows_alone {
                self.window.add(1.0);
            }
        }
    }

    /// Decision on `dwnd` at the end of a round (equations 4 to 6); none without a sample.
    fn decide(&mut self, ack: &Ack) -> bool {
        let Params { alpha, zeta, k, gamma, low_window, round_trip, arithmetic, .. } = self.params;
        if arithmetic == Arithmetic::Ns2 {
            return self.decide_in_whole_segments();
        }
        let rtt = match (round_trip, self.delays.mean()) {
            (_, None) => return false,
            (RoundTrip::Mean, Some(mean)) => mean,
            (RoundTrip::Last, _) => self.delays.last,
            (RoundTrip::Min, _) => self.delays.min,
            (RoundTrip::Smoothed, _) => ack.srtt.as_secs(),
        };
        let base = self.delays.base;
        self.stretch = (rtt / base).max(1.0);
        self.diff = backlog(self.sent, base, rtt);
        if self.diff < gamma {
            if self.swnd() >= low_window {
                self.dwnd += (alpha * libm::pow(self.sent, k) - 1.0).max(0.0);
            }
        } else {
            self.dwnd = (self.dwnd - zeta * self.diff).max(0.0);
        }
        true
    }

    fn decide_in_whole_segments(&mut self) -> bool {
        if self.delays.count() <= 2 {
            return false;
        }
        let micros = |seconds: f64| (seconds * 1e6) as u32 + 1;
        let sent = self.sent as u32;
        let (rtt, base) = (micros(self.delays.min), micros(self.delays.base));
        self.stretch = f64::from(rtt) / f64::from(base);
        let target = sent.wrapping_mul(base).wrapping_shl(1) / rtt;
        let halves = (sent << 1).wrapping_sub(target);
        self.diff = f64::from(halves) / 2.0;
        if self.diff < libm::floor(self.params.gamma) {
            let cube = f64::from(sent) * f64::from(sent) * f64::from(sent);
            let growth = libm::floor(cube.sqrt().sqrt() / 8.0);
            self.dwnd += (growth - 1.0).max(0.0);
        } else {
            self.dwnd = libm::floor((2.0 * self.dwnd - f64::from(halves)).max(0.0) / 2.0);
        }
        true
    }
}

impl CongestionControl for Compound {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.ack(ack);
    }

    /// Reduces `cwnd` and `dwnd` (equation 3).
    fn on_loss(&mut self, _: f64) {
        let (cwnd, swnd) = (self.window.cwnd, self.swnd());
        self.dwnd_before = self.dwnd;
        self.fresh = true;
        self.acks = 0.0;
        if self.params.arithmetic == Arithmetic::Ns2 {
            let half = libm::floor(swnd / 2.0).max(2.0);
            self.window.reduce(half);
            if self.dwnd >= half {
                self.dwnd = 0.0;
            }
            self.window.set(half - self.dwnd);
        } else {
            let kept = swnd * (1.0 - self.params.beta);
            self.window.reduce(kept);
            self.window.set(cwnd / 2.0);
            self.dwnd = (kept - cwnd / 2.0).max(0.0);
        }
    }

    fn on_rto(&mut self, _: f64) {
        self.dwnd_before = self.dwnd;
        self.window.collapse(self.swnd() / 2.0);
        self.dwnd = 0.0;
        self.fresh = true;
        self.acks = 0.0;
        if self.params.reset_base {
            self.delays = RttSamples::default();
        }
    }

    fn on_recovery_exit(&mut self, at_most: f64) {
        self.limit(at_most);
    }

    fn on_repaired(&mut self, at_most: f64) {
        if self.params.arithmetic == Arithmetic::Ns2 {
            self.window.add((self.window.ssthresh - self.swnd()).max(0.0));
        }
        self.limit(at_most);
    }

    fn least_in_recovery(&self) -> f64 {
        match self.params.arithmetic {
            Arithmetic::Real => self.swnd(),
            Arithmetic::Ns2 => libm::floor(self.window.ssthresh / 2.0),
        }
    }

    fn on_idle_restart(&mut self, at_most: f64) {
        self.limit(at_most);
        self.fresh = true;
    }

    fn on_spurious(&mut self) {
        self.window.restore();
        self.dwnd = self.dwnd.max(self.dwnd_before);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.swnd()
    }

    fn delay_window(&self) -> f64 {
        self.dwnd
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }
}

impl Compound {
    /// Limits the sending window; the delay window is reduced first.
    fn limit(&mut self, at_most: f64) {
        let over = (self.swnd() - at_most.max(1.0)).max(0.0);
        if over > 0.0 {
            let from_delay = over.min(self.dwnd);
            self.dwnd -= from_delay;
            self.window.add(from_delay - over);
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, ack, round};

    fn compound(params: &Params, cwnd: f64, dwnd: f64) -> Compound {
        let mut cc = new(params, Start { ssthresh: 2.0, ..Start::with_window(cwnd) });
        cc.dwnd = dwnd;
        cc
    }

    /// In ns-2 a loss clears the count of ACKs: after two ACKs and a loss at four segments the window is the threshold,
    /// one ACK of slow start makes it three, and three more the next segment.
    #[test]
    fn whole_segments_are_counted_anew_after_a_loss() {
        let mut cc = compound(&Params { arithmetic: Arithmetic::Ns2, ..Params::default() }, 4.0, 0.0);
        let windows = |cc: &mut Compound, first: u64, acks: u64| -> Vec<_> {
            (first..first + acks)
                .map(|i| {
                    cc.on_ack(&ack(0.0, 0.1, i, i + 4));
                    cc.cwnd()
                })
                .collect()
        };
        assert_eq!(windows(&mut cc, 0, 2), [4.0, 4.0]);
        cc.on_loss(4.0);
        assert_eq!(windows(&mut cc, 2, 4), [3.0, 3.0, 3.0, 4.0]);
    }

    /// By hand, equations 2 and 5: 100 segments in flight at the minimum RTT add 0.125 * 100^0.8 - 1 = 3.976 to dwnd,
    /// and a segment to cwnd (slightly less: 1/swnd per ACK).
    #[test]
    fn a_round_without_queue_adds_alpha_times_the_window_to_the_k() {
        let mut cc = compound(&Params::default(), 60.0, 40.0);
        let una = round(&mut cc, 0.0, 0.1, 0);
        round(&mut cc, 0.1, 0.1, una);
        assert_relative_eq!(cc.dwnd, 40.0 + 0.125 * 100f64.powf(0.8) - 1.0, max_relative = 1e-9);
        assert!((61.0..62.1).contains(&cc.window.cwnd), "{}", cc.window.cwnd);
    }

    /// By hand, equations 4 and 6: 100 segments at twice the minimum RTT leave 50 in the queue.
    #[test]
    fn a_round_with_a_queue_takes_it_off_the_delay_window() {
        let mut cc = compound(&Params::default(), 40.0, 60.0);
        cc.delays.base = 0.1;
        let una = round(&mut cc, 0.0, 0.2, 0);
        round(&mut cc, 0.2, 0.2, una);
        assert_relative_eq!(cc.diff, 50.0, max_relative = 1e-9);
        assert_relative_eq!(cc.dwnd, 10.0, max_relative = 1e-9);
    }

    /// Equation 2: a segment per ACK in slow start, without a decision on dwnd; 1 / swnd per ACK afterwards. The window
    /// does not grow on duplicates, in recovery, or while it is not used.
    #[test]
    fn an_ack_adds_a_part_of_the_sending_window() {
        let mut cc = compound(&Params::default(), 60.0, 40.0);
        let usual = ack(0.0, 0.1, 1, 100);
        cc.on_ack(&usual);
        assert_relative_eq!(cc.window.cwnd, 60.01);
        assert_eq!(cc.sent, 100.0);
        for other in [
            Ack { duplicate: true, ..usual },
            Ack { in_recovery: true, ..usual },
            Ack { window_limited: false, ..usual },
            Ack { segments: 0.0, ..usual },
        ] {
            cc.on_ack(&other);
            assert_relative_eq!(cc.cwnd(), 100.01);
        }
        // The end of a round in which the window was not used leads to no decision.
        cc.on_ack(&Ack { window_limited: false, ..ack(0.1, 0.1, 101, 201) });
        assert_relative_eq!(cc.cwnd(), 100.01);
        let mut young = new(&Params::default(), Start::with_window(50.0));
        let una = round(&mut young, 0.0, 0.1, 0);
        round(&mut young, 0.1, 0.1, una);
        assert_eq!((young.cwnd(), young.dwnd), (200.0, 0.0));
    }

    /// Equation 3 with the windows from before the loss: both halve, and so does their sum.
    #[test]
    fn a_loss_halves_both_windows() {
        let mut cc = compound(&Params::default(), 60.0, 40.0);
        cc.on_loss(100.0);
        assert_eq!((cc.window.cwnd, cc.dwnd, cc.cwnd(), cc.ssthresh()), (30.0, 20.0, 50.0, 50.0));
        cc.on_rto(50.0);
        assert_eq!((cc.window.cwnd, cc.dwnd, cc.ssthresh()), (1.0, 0.0, 25.0));
        cc.on_spurious();
        assert_eq!((cc.cwnd(), cc.ssthresh()), (50.0, 50.0));
    }

    /// The sawtooth of dw/dt = alpha w^k a round trip from half the peak to the peak, one loss in 1/p segments: peak
    /// 0.3313 p^-0.8333, mean 0.2409 p^-0.8333, 5.178 W^0.2 rounds between losses. The pipe's cycle is two rounds
    /// longer (the loss is noticed a round late, recovery takes a round without growth).
    #[test]
    fn peak_and_mean_under_periodic_loss_match_the_continuous_approximation() {
        let p = 1e-5_f64;
        let mut cc = compound(&Params::default(), 3000.0, 0.0);
        let mut pipe = BottleneckPath::new(1e12, 0.1, 1e12).losing_every(100_000);
        pipe.run(&mut cc, 20.0, |_, _| ());
        let mut peak = 0.0_f64;
        let (mut sum, begin, mut from) = (0.0, pipe.now, pipe.now);
        pipe.run(&mut cc, 100.0, |pipe, cc| {
            peak = peak.max(cc.cwnd());
            sum += cc.cwnd() * (pipe.now - from);
            from = pipe.now;
        });
        let (peak_expected, mean_expected) = (0.3313 * p.powf(-0.8333), 0.2409 * p.powf(-0.8333));
        let rounds = 5.178 * peak_expected.powf(0.2);
        assert_relative_eq!(peak, peak_expected, max_relative = 2.0 / rounds);
        assert_relative_eq!(sum / (from - begin), mean_expected, max_relative = 2.0 / rounds);
    }

    /// In whole segments floor(w^0.75 / 8) is 1 up to 40 segments and 2 from 41 on; 2^32 overflows at 220 ms above
    /// 9761 segments, which looks like a queue.
    #[test]
    fn ns2s_integers_need_41_segments_and_overflow_above_9761() {
        let params = Params { arithmetic: Arithmetic::Ns2, ..Params::default() };
        for (sent, rtt, grows) in [(40.0, 0.1, 0.0), (41.0, 0.1, 1.0), (9761.0, 0.22, 121.0), (9763.0, 0.22, 0.0)] {
            let mut cc = compound(&params, sent, 0.0);
            cc.delays.base = rtt;
            cc.delays.min = rtt;
            for _ in 0..3 {
                cc.delays.sample(&ack(0.0, rtt, 1, 2));
            }
            cc.sent = sent;
            assert!(cc.decide_in_whole_segments());
            assert_eq!(cc.dwnd, grows, "{sent} segments");
        }
    }

    /// The amount that recovery leaves in flight limits the sending window: the delay window is reduced first, then the
    /// loss window.
    #[test]
    fn the_end_of_recovery_takes_the_delay_window_first() {
        for (at_most, left) in
            [(f64::INFINITY, (60.0, 40.0)), (70.0, (60.0, 10.0)), (15.0, (15.0, 0.0)), (0.0, (1.0, 0.0))]
        {
            let mut cc = compound(&Params::default(), 60.0, 40.0);
            cc.on_recovery_exit(at_most);
            assert_eq!((cc.window.cwnd, cc.dwnd), left, "{at_most}");
            let mut idle = compound(&Params::default(), 60.0, 40.0);
            idle.fresh = false;
            idle.on_idle_restart(at_most);
            assert_eq!((idle.window.cwnd, idle.dwnd, idle.fresh), (left.0, left.1, true), "{at_most}");
        }
    }

    /// ns-2.35's tcp_compound in whole segments: a loss halves the sending window, rounded down; the delay window stays
    /// within that half, and is dropped if it exceeds it.
    #[test]
    fn a_loss_in_whole_segments_halves_the_sending_window() {
        let params = Params { arithmetic: Arithmetic::Ns2, ..Params::default() };
        for (cwnd, dwnd, after) in [(61.0, 40.0, (10.0, 40.0)), (41.0, 60.0, (50.0, 0.0)), (50.0, 50.0, (50.0, 0.0))] {
            let mut cc = compound(&params, cwnd, dwnd);
            cc.on_loss(100.0);
            assert_eq!((cc.window.cwnd, cc.dwnd, cc.ssthresh()), (after.0, after.1, 50.0));
        }
    }

    /// In whole segments an ACK adds a segment in slow start, which includes a window equal to the threshold; then a
    /// segment is added per sending window of ACKs, only while there is a delay window if the variant requires one.
    #[test]
    fn whole_segments_are_counted_by_acks() {
        let params = Params { arithmetic: Arithmetic::Ns2, ..Params::default() };
        let mut cc = compound(&params, 2.7, 2.0);
        assert_eq!(cc.window.cwnd, 2.0);
        let windows: Vec<_> = (0..10)
            .map(|_| {
                cc.grow_in_whole_segments();
                cc.window.cwnd
            })
            .collect();
        assert_eq!(windows, [3.0, 3.0, 3.0, 3.0, 3.0, 4.0, 4.0, 4.0, 4.0, 4.0]);
        for (alone, dwnd, after) in [(true, 0.0, 5.0), (false, 0.0, 4.0), (false, 1.0, 5.0)] {
            let mut cc = compound(&params, 4.0, dwnd);
            (cc.grows_alone, cc.acks) = (alone, 4.0);
            cc.grow_in_whole_segments();
            assert_eq!((cc.window.cwnd, cc.acks), (after, 0.0));
        }
    }

    /// Half segments, by hand: 100 in flight, 100 ms and 200 ms. With a microsecond more each, the target is 200 *
    /// 100001 / 200001 = 100 half segments, so 50 segments wait, and 50 leave the delay window. Two samples decide
    /// nothing.
    #[test]
    fn a_queue_in_half_segments_comes_off_the_delay_window() {
        let params = Params { arithmetic: Arithmetic::Ns2, ..Params::default() };
        let mut cc = compound(&params, 40.0, 60.0);
        cc.delays.sample(&ack(0.0, 0.1, 1, 2));
        cc.delays.clear();
        cc.sent = 100.0;
        for decides in [false, false, true] {
            cc.delays.sample(&ack(0.0, 0.2, 1, 2));
            assert_eq!(cc.decide_in_whole_segments(), decides);
        }
        assert_eq!((cc.diff, cc.dwnd), (50.0, 10.0));
        assert_relative_eq!(cc.stretch, 200_001.0 / 100_001.0);
        // gamma counts whole segments, and as many are a queue: 50, not 51.
        cc.params.gamma = 50.9;
        cc.decide_in_whole_segments();
        assert_eq!(cc.dwnd, 0.0);
        cc.params.gamma = 51.0;
        cc.decide_in_whole_segments();
        assert_eq!(cc.dwnd, 2.0); // floor(100^0.75 / 8) - 1 = 3 - 1
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("compound", |start| new(&Params::default(), start));
    }
}
