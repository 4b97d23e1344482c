//! Shared by both versions of BBR: rounds, the end of Startup, the initial pacing rate, growth towards a target.

use wifair_units::Time;

use crate::cc::{Ack, RateSample};

/// Minimum window, in segments.
pub const LEAST: f64 = 4.0;
/// Maximum window, in segments; keeps arithmetic finite.
pub const MOST: f64 = 1e9;

/// SplitMix64, a random number from a seed (G. L. Steele, D. Lea and C. H. Flood, "Fast Splittable Pseudorandom Number
/// Generators", 2014).
pub const fn splitmix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Round trips, by delivered data: a round ends with the ACK of a segment sent after it began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    next: u64,
    delivered: u64,
}

impl Rounds {
    /// Processes an ACK; returns the number of segments newly delivered.
    pub fn deliver(&mut self, ack: &Ack) -> f64 {
        let newly = ack.delivered.saturating_sub(self.delivered) as f64 / ack.mss;
        self.delivered = self.delivered.max(ack.delivered);
        newly
    }

    /// Whether a sample ends the round.
    pub const fn ends(&self, sample: &RateSample) -> bool {
        sample.prior_delivered >= self.next
    }

    /// Starts a round, which ends when data sent from now on is delivered.
    pub const fn begin(&mut self) {
        self.next = self.delivered;
    }
}

/// ACK aggregation: how much more than the delivery rate predicts is acknowledged at once, because the receiver or the
/// link layer aggregates. The largest excess of the last five to ten rounds counts.
///
/// Source: draft-ietf-ccwg-bbr, "BBRUpdateACKAggregation".
#[derive(Clone, Copy, Debug, Default)]
pub struct AckAggregation {
    /// Start of the interval in which more was delivered than expected, and the segments delivered in it.
    since: Time,
    delivered: f64,
    /// Largest excess of the current rounds and of the previous ones, in segments.
    latest: f64,
    earlier: f64,
    rounds: u32,
}

impl AckAggregation {
    /// Number of rounds after which the maximum is renewed.
    const ROUNDS: u32 = 5;

    /// Starts a round.
    pub const fn begin_round(&mut self) {
        self.rounds += 1;
        if self.rounds >= Self::ROUNDS {
            (self.earlier, self.latest, self.rounds) = (self.latest, 0.0, 0);
        }
    }

    /// Processes the delivery of `acked` segments, where `rate` segments a second are expected.
    pub fn deliver(&mut self, now: Time, acked: f64, rate: f64, cwnd: f64) {
        if acked <= 0.0 {
            return;
        }
        let mut expected = rate * now.saturating_since(self.since).as_secs();
        if self.delivered <= expected {
            (self.since, self.delivered, expected) = (now, 0.0, 0.0);
        }
        self.delivered += acked;
        self.latest = self.latest.max((self.delivered - expected).min(cwnd));
    }

    /// Largest excess, in segments.
    pub const fn most(&self) -> f64 {
        self.latest.max(self.earlier)
    }
}

/// Detects the end of Startup: three rounds in which the rate grows by less than a quarter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plateau {
    rate: f64,
    rounds: u32,
}

impl Plateau {
    /// Starts to look for a plateau at `rate`.
    pub const fn from(rate: f64) -> Self {
        Self { rate, rounds: 0 }
    }

    /// Whether the rate of another round completes the plateau.
    pub fn reached(&mut self, rate: f64) -> bool {
        if rate >= 1.25 * self.rate {
            *self = Self::from(rate);
        } else {
            self.rounds += 1;
        }
        self.rounds >= 3
    }
}

/// Pacing rate before there is a delivery rate, in bytes per second: `gain` windows per RTT of `rtt` seconds.
pub fn first_pacing(gain: f64, window: f64, mss: f64, rtt: f64) -> f64 {
    gain * window * mss / rtt
}

/// The window after `acked` segments. Once the pipe is `full`, `target` limits it. Before that, it grows while it is
/// below `target`, or `early`: still within the initial window.
pub fn approach(cwnd: f64, acked: f64, target: f64, full: bool, early: bool) -> f64 {
    if full {
        (cwnd + acked).min(target)
    } else if cwnd < target || early {
        cwnd + acked
    } else {
        cwnd
    }
}

/// The methods of [`CongestionControl`](crate::cc::CongestionControl) that both versions share.
macro_rules! by_model {
    () => {
        /// Marks enter the model with ACKs, if at all.
        fn on_ecn(&mut self, _: f64) {}

        fn takes_marks_for_losses(&self) -> bool {
            false
        }

        fn cwnd(&self) -> f64 {
            self.cwnd
        }

        /// BBR has no threshold.
        fn ssthresh(&self) -> f64 {
            f64::INFINITY
        }

        fn pacing_rate(&self) -> Option<f64> {
            Some(self.pacing)
        }

        fn wants_rate_samples(&self) -> bool {
            true
        }

        fn rules_recovery(&self) -> bool {
            true
        }
    };
}
pub(crate) use by_model;

#[cfg(test)]
mod tests {
    use super::*;

    /// At 1000 segments a second, ACKs for 40 segments arrive together every 40 ms: an excess of 40 each time. Ten
    /// rounds after a single burst of 100, no excess is left.
    #[test]
    fn bursts_of_acks_are_an_excess_for_a_while() {
        let at = |millis: u64| Time::from_nanos(millis * 1_000_000);
        let mut aggregation = AckAggregation::default();
        for burst in 1..10 {
            aggregation.deliver(at(40 * burst), 40.0, 1000.0, 1e9);
        }
        assert_eq!(aggregation.most(), 40.0);
        aggregation.deliver(at(400), 100.0, 1000.0, 1e9);
        assert_eq!(aggregation.most(), 100.0);
        for round in 1..=10 {
            aggregation.begin_round();
            aggregation.deliver(at(1000 + 40 * round), 40.0, 1000.0, 1e9);
        }
        assert_eq!(aggregation.most(), 40.0);
        aggregation.deliver(at(9000), 100.0, 1000.0, 60.0);
        assert_eq!(aggregation.most(), 60.0, "no more than the window");
    }

    /// Section 4.3.2.2 of the draft of version 1: growth by a quarter restarts the count; three rounds without it end
    /// Startup.
    #[test]
    fn three_flat_rounds_are_a_plateau() {
        let mut plateau = Plateau::default();
        let seen = [100.0, 124.9, 125.0, 130.0, 140.0].map(|rate| plateau.reached(rate));
        assert_eq!(seen, [false; 5]);
        assert_eq!([156.25, 160.0, 170.0, 180.0].map(|rate| plateau.reached(rate)), [false, false, false, true]);
    }

    /// The first three outputs of Vigna's splitmix64.c from state 0, each state being the one before plus the constant.
    #[test]
    fn the_generator_is_splitmix64() {
        let gamma = 0x9e37_79b9_7f4a_7c15_u64;
        let outputs = [0, gamma, gamma.wrapping_mul(2)].map(splitmix);
        assert_eq!(outputs, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }
}
