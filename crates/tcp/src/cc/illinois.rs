//! TCP-Illinois: loss determines when the window shrinks, delay by how much and how fast it grows.
//!
//! Source: S. Liu, T. Basar and R. Srikant, "TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm for
//! High-Speed Networks", 2008. With `da` the mean queueing delay of the last round and `dm` the largest ever:
//!
//! ```text
//! alpha = alpha_max for da <= dm / 100, else k1 / (k2 + da): alpha_min = 0.3 at da = dm, alpha_max = 10
//! beta  = 1/8 for da <= dm / 10, 1/2 for da >= 0.8 dm, linear in between
//! ACK: cwnd += alpha / cwnd,   loss: cwnd -= beta cwnd
//! ```
//!
//! Reno below `window_threshold` segments. Once `da` was above dm / 100, `theta` rounds below it must pass before alpha
//! returns to its maximum. After a timeout alpha and beta are Reno's until the next round.

use wifair_config::table;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, RttSamples, Start, Window};

table! {
    /// TCP-Illinois (S. Liu, T. Basar and R. Srikant, 2008).
    pub struct Params {
        /// Minimum growth per round trip, in segments.
        pub alpha_min: f64 = 0.3, "more than 0" => |v| *v > 0.0;
        /// Maximum growth per round trip, in segments.
        pub alpha_max: f64 = 10.0, "more than alpha_min" => |v| *v > alpha_min;
        /// Minimum fraction of the window taken off on loss.
        pub beta_min: f64 = 0.125, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Maximum fraction of the window taken off on loss.
        pub beta_max: f64 = 0.5, "at least beta_min, less than 1" => |v| *v >= beta_min && *v < 1.0;
        /// Window in segments below which it behaves like Reno.
        pub window_threshold: f64 = 15.0, "0 or more" => |v| *v >= 0.0;
        /// Rounds with little delay before growth returns to its maximum.
        pub theta: u32 = 5;
    }
}

/// State of Illinois.
#[derive(Clone, Debug, Default)]
pub struct Illinois {
    params: Params,
    window: Window,
    delays: RttSamples,
    round: Round,
    /// Largest RTT, in seconds.
    max_rtt: f64,
    alpha: f64,
    beta: f64,
    /// Whether the delay was above the low threshold, and rounds below it since.
    above: bool,
    low_rounds: u32,
}

/// Illinois at the start of a connection.
pub fn new(params: &Params, start: Start) -> Illinois {
    Illinois {
        params: params.clone(),
        window: Window::new(start),
        alpha: params.alpha_max,
        beta: params.beta_max,
        ..Illinois::default()
    }
}

impl Illinois {
    /// Growth for a mean queueing delay of `da`, if the largest is `dm`, both in seconds.
    fn alpha(&mut self, da: f64, dm: f64) -> f64 {
        let Params { alpha_min, alpha_max, theta, .. } = self.params;
        let low = dm / 100.0;
        if da <= low {
            if self.above {
                self.low_rounds += 1;
                if self.low_rounds < theta {
                    return self.alpha;
                }
                self.above = false;
                self.low_rounds = 0;
            }
            return alpha_max;
        }
        self.above = true;
        let k1 = (dm - low) * alpha_min * alpha_max / (alpha_max - alpha_min);
        let k2 = (dm - low) * alpha_min / (alpha_max - alpha_min) - low;
        k1 / (k2 + da)
    }

    /// Fraction of the window taken off on loss.
    fn beta(&self, da: f64, dm: f64) -> f64 {
        let Params { beta_min, beta_max, .. } = self.params;
        let (from, to) = (0.1 * dm, 0.8 * dm);
        if da <= from {
            beta_min
        } else if da >= to {
            beta_max
        } else {
            beta_min + (beta_max - beta_min) * (da - from) / (to - from)
        }
    }

    fn decide(&mut self) {
        if self.window.cwnd < self.params.window_threshold {
            (self.alpha, self.beta) = (1.0, 0.5);
        } else if let Some(mean) = self.delays.mean() {
            let (da, dm) = (mean - self.delays.base, self.max_rtt - self.delays.base);
            self.alpha = self.alpha(da, dm);
            self.beta = self.beta(da, dm);
        }
    }
}

impl CongestionControl for Illinois {
    by_window!();

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.delays.sample(ack);
        self.max_rtt = self.max_rtt.max(self.delays.last);
        if self.round.ends(ack) {
            self.decide();
            self.delays.clear();
        }
        self.window.grow_on(ack, self.alpha);
    }

    fn on_loss(&mut self, _: f64) {
        self.window.reduce((1.0 - self.beta) * self.window.cwnd);
    }

    fn on_rto(&mut self, _: f64) {
        self.window.collapse((1.0 - self.beta) * self.window.cwnd);
        (self.alpha, self.beta, self.above, self.low_rounds) = (1.0, 0.5, false, 0);
        self.delays.clear();
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{ack, published};

    /// The curves by hand for dm = 100 ms: alpha is 10 up to 1 ms, 0.3 at 100 ms, and between them k1 / (k2 + da) with
    /// k1 = 99 * 3 / 9.7 ms and k2 = 99 * 0.3 / 9.7 - 1 ms, so 0.585 at 50.3 ms; beta is 1/8 at 10 ms, 5/16 halfway to
    /// 80 ms.
    #[test]
    fn the_curves_by_hand() {
        let mut cc = new(&Params::default(), Start::with_window(100.0));
        assert_eq!(cc.alpha(0.001, 0.1), 10.0);
        assert_relative_eq!(cc.alpha(0.1, 0.1), 0.3, max_relative = 1e-9);
        let by_hand = (99.0 * 3.0 / 9.7) / (99.0 * 0.3 / 9.7 - 1.0 + 50.0);
        assert_relative_eq!(cc.alpha(0.05, 0.1), by_hand, max_relative = 1e-9);
        for (da, beta) in [(0.01, 0.125), (0.045, 0.3125), (0.08, 0.5), (0.1, 0.5)] {
            assert_relative_eq!(cc.beta(da, 0.1), beta, max_relative = 1e-9);
        }
    }

    #[test]
    fn five_calm_rounds_bring_the_largest_growth_back() {
        let mut cc = new(&Params::default(), Start::with_window(100.0));
        cc.alpha = cc.alpha(0.1, 0.1);
        for _ in 0..4 {
            assert_eq!(cc.alpha(0.0, 0.1), cc.alpha);
        }
        assert_eq!(cc.alpha(0.0, 0.1), 10.0);
    }

    #[test]
    fn small_windows_are_renos() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(10.0) });
        cc.decide();
        assert_eq!((cc.alpha, cc.beta), (1.0, 0.5));
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("illinois") {
            let mut cc = new(&Params::default(), row.start);
            cc.on_ack(&row.sample(row.base));
            for _ in 1..row.state as u32 {
                cc.on_ack(&row.sample(row.rtt));
            }
            cc.on_ack(&Ack { rtt: None, ..row.ack(0.0) });
            if !row.is_ack {
                cc.on_loss(row.start.window);
            }
            row.hold(&cc);
        }
    }

    /// Linux: after a timeout the threshold is the window that a loss would leave, and growth and reduction are Reno's
    /// until the next round. An ACK adds its share of alpha, and nothing in recovery or while the window is not used.
    #[test]
    fn a_timeout_makes_it_reno_for_a_round() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(100.0) });
        (cc.alpha, cc.beta, cc.above, cc.low_rounds) = (5.0, 0.25, true, 3);
        cc.delays.sample(&ack(0.0, 0.1, 1, 100));
        for other in
            [Ack { in_recovery: true, ..ack(0.0, 0.1, 1, 100) }, Ack { window_limited: false, ..ack(0.0, 0.1, 1, 100) }]
        {
            cc.on_ack(&other);
            assert_eq!(cc.cwnd(), 100.0);
        }
        cc.alpha = 5.0;
        cc.on_ack(&ack(0.0, 0.1, 2, 100));
        assert_relative_eq!(cc.cwnd(), 100.05);
        (cc.window.cwnd, cc.beta) = (100.0, 0.25);
        cc.on_rto(100.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 75.0));
        assert_eq!((cc.alpha, cc.beta, cc.above, cc.low_rounds), (1.0, 0.5, false, 0));
        assert!(cc.delays.mean().is_none());
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("illinois", |start| new(&Params::default(), start));
    }
}
