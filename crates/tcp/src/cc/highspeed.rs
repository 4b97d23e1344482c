//! HighSpeed TCP: the larger the window, the faster it grows and the smaller the reduction on loss.
//!
//! Source: S. Floyd, RFC 3649, 2003, sections 5 and 7. Above `low_window` (38) up to `high_window` (83000):
//!
//! ```text
//! b(w) = (high_decrease - 1/2) (log w - log low_window) / (log high_window - log low_window) + 1/2
//! a(w) = w^2 * p(w) * 2 * b(w) / (2 - b(w)),      p(w) = 0.078 / w^1.2
//! round: cwnd += a(cwnd),   loss: cwnd = (1 - b(cwnd)) cwnd
//! W = 0.12 / p^0.835                                                           [segments]
//! ```
//!
//! Below that it is Reno. The RFC's 0.078 and 1.2 are rounded; like the RFC's table in appendix B, this file uses the
//! exact line through (1/1000, 38) and (1e-7, 83000). a(w) is at least one, and is recomputed when the window has
//! changed by 1 %.

use wifair_config::table;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Start, Window};

table! {
    /// HighSpeed TCP (RFC 3649).
    pub struct Params {
        /// Window in segments up to which it behaves like Reno.
        pub low_window: f64 = 38.0, "2 or more" => |v| *v >= 2.0;
        /// Window in segments at the upper end of the response function.
        pub high_window: f64 = 83_000.0, "at least twice low_window" => |v| *v >= 2.0 * low_window;
        /// Loss rate at `low_window`.
        pub low_p: f64 = 1e-3, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Loss rate at `high_window`.
        pub high_p: f64 = 1e-7, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Fraction of the window taken off on loss at `high_window`.
        pub high_decrease: f64 = 0.1, "between 0 and 1/2" => |v| (0.0..=0.5).contains(v);
    }
}

/// State of HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    window: Window,
    low_window: f64,
    low_p: f64,
    /// Slope of b over log w.
    decrease_slope: f64,
    /// Slope of log p over log w, negative.
    loss_slope: f64,
    increase: f64,
    computed_at: f64,
}

/// HighSpeed TCP at the start of a connection.
pub fn new(params: &Params, start: Start) -> HighSpeed {
    let span = libm::log(params.high_window / params.low_window);
    HighSpeed {
        window: Window::new(start),
        low_window: params.low_window,
        low_p: params.low_p,
        decrease_slope: (params.high_decrease - 0.5) / span,
        loss_slope: libm::log(params.high_p / params.low_p) / span,
        increase: 1.0,
        computed_at: 0.0,
    }
}

impl HighSpeed {
    /// Fraction taken off a window of `w` segments on loss.
    fn decrease(&self, w: f64) -> f64 {
        if w <= self.low_window { 0.5 } else { (0.5 + self.decrease_slope * libm::log(w / self.low_window)).max(0.01) }
    }

    fn kept(&self) -> f64 {
        (1.0 - self.decrease(self.window.cwnd)) * self.window.cwnd
    }

    /// Growth of a window of `w` per round trip, in segments.
    fn increase(&self, w: f64) -> f64 {
        if w <= self.low_window {
            return 1.0;
        }
        let p = self.low_p * libm::pow(w / self.low_window, self.loss_slope);
        let b = self.decrease(w);
        (w * w * p * 2.0 * b / (2.0 - b)).max(1.0)
    }
}

impl CongestionControl for HighSpeed {
    by_window!(and on_loss, on_rto, few_rtts);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.may_grow() {
            return;
        }
        let cwnd = self.window.cwnd;
        if (cwnd - self.computed_at).abs() > 0.01 * self.computed_at {
            self.increase = self.increase(cwnd);
            self.computed_at = cwnd;
        }
        self.window.grow_on(ack, self.increase);
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::BottleneckPath;

    /// RFC 3649, appendix B: the smallest window with each integer a(w), and its b(w), to the printed digits. The table
    /// uses the rounded p(w) = 0.078 / w^1.2, to which a(w) is proportional; 0.078 is accurate to 0.64 %.
    #[test]
    fn increase_and_decrease_match_the_table_of_the_rfc() {
        let cc = new(&Params::default(), Start::with_window(1.0));
        let by_rounded_p = |w: f64| {
            let exact = 1e-3 * (w / 38.0).powf(1e-4_f64.ln() / (83_000.0_f64 / 38.0).ln());
            (cc.increase(w) * 0.078 / w.powf(1.2) / exact).max(1.0)
        };
        for (w, a, b) in [
            (38.0, 1.0, 0.50),
            (118.0, 2.0, 0.44),
            (221.0, 3.0, 0.41),
            (347.0, 4.0, 0.38),
            (495.0, 5.0, 0.37),
            (663.0, 6.0, 0.35),
            (851.0, 7.0, 0.34),
            (1058.0, 8.0, 0.33),
            (2076.0, 12.0, 0.29),
            (5036.0, 20.0, 0.25),
            (10_661.0, 30.0, 0.21),
            (21_013.0, 42.0, 0.17),
            (53_677.0, 62.0, 0.12),
            (84_035.0, 71.0, 0.10),
        ] {
            assert_relative_eq!(by_rounded_p(w), a, max_relative = 0.0005 / 0.078);
            assert!((cc.decrease(w) - b).abs() <= 0.005, "b({w}) = {}", cc.decrease(w));
        }
    }

    /// RFC 3649, table 3: 263 segments at p = 1e-4. The table is for the steady state of a fluid, whose cycle lasts 38
    /// rounds. In the pipe a cycle lasts two rounds longer, so the mean window is smaller by at most 2/38.
    #[test]
    fn mean_window_under_periodic_loss_matches_the_response_function() {
        let mut cc = new(&Params::default(), Start { ssthresh: 200.0, ..Start::with_window(100.0) });
        let mut pipe = BottleneckPath::new(1e9, 0.1, 1e9).losing_every(10_000);
        pipe.run(&mut cc, 50.0, |_, _| ());
        let mean = pipe.mean_cwnd(&mut cc, 400.0);
        assert_relative_eq!(mean, 263.0, max_relative = 2.0 / 38.0);
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("highspeed", |start| new(&Params::default(), start));
    }
}
