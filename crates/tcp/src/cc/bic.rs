//! BIC: a binary search for the window of the last loss, then probing beyond it.
//!
//! Source: L. Xu, K. Harfoush and I. Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks",
//! 2004, with the constants and the smoothing of the authors' Linux module (tcp_bic), which most comparisons have
//! measured. Per round trip the window grows, with d = (W_max - cwnd) / 4, by
//!
//! ```text
//! below W_max:  16 where d > 16;  d;  4 / 20 where d <= 1
//! above W_max:  4 / 20 up to W_max + 4;  (cwnd - W_max) / 3 up to W_max + 48;  16 beyond
//! before the first loss at least 5 %
//! ```
//!
//! On loss 819/1024 of the window is kept, a half up to 14 segments; W_max is reduced by another tenth if the previous
//! W_max was higher (fast convergence). Linux's correction for delayed ACKs is left to the sender's byte counting; an
//! initial slow-start threshold, 100 segments in older kernels, is a setting of the flow.

use wifair_config::table;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Start, Window};

table! {
    /// BIC (L. Xu, K. Harfoush and I. Rhee, 2004).
    pub struct Params {
        /// Maximum growth per round trip, in segments.
        pub max_increment: f64 = 16.0, "more than 0" => |v| *v > 0.0;
        /// Window in segments up to which it behaves like Reno.
        pub low_window: f64 = 14.0, "0 or more" => |v| *v >= 0.0;
        /// Fraction of the window kept on loss.
        pub beta: f64 = 819.0 / 1024.0, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Round trips in which the window grows through the last four segments below W_max.
        pub smooth_part: f64 = 20.0, "more than 0" => |v| *v > 0.0;
        /// Whether a flow whose window was higher at the previous loss makes room for newer flows.
        pub fast_convergence: bool = true;
    }
}

/// Fraction of the distance to the target covered per round trip (1/B), and distance in segments at which the search
/// ends.
const B: f64 = 4.0;

/// State of BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    params: Params,
    window: Window,
    w_max: f64,
    lost: bool,
}

/// BIC at the start of a connection.
pub fn new(params: &Params, start: Start) -> Bic {
    Bic { params: params.clone(), window: Window::new(start), w_max: 0.0, lost: false }
}

impl Bic {
    /// Growth of a window of `cwnd` per round trip, in segments.
    fn increment(&self, cwnd: f64) -> f64 {
        let Params { max_increment, low_window, smooth_part, .. } = self.params;
        if cwnd <= low_window {
            return 1.0;
        }
        let increment = if cwnd < self.w_max {
            let d = (self.w_max - cwnd) / B;
            if d > max_increment {
                max_increment
            } else if d <= 1.0 {
                B / smooth_part
            } else {
                d
            }
        } else if cwnd < self.w_max + B {
            B / smooth_part
        } else if cwnd < self.w_max + max_increment * (B - 1.0) {
            (cwnd - self.w_max) / (B - 1.0)
        } else {
            max_increment
        };
        if self.lost { increment } else { increment.max(0.05 * cwnd) }
    }

    /// Records the window at a loss; returns the window that is kept.
    fn kept(&mut self) -> f64 {
        let Params { low_window, beta, fast_convergence, .. } = self.params;
        let cwnd = self.window.cwnd;
        let released = fast_convergence && cwnd < self.w_max;
        self.w_max = if released { cwnd * (1.0 + beta) / 2.0 } else { cwnd };
        self.lost = true;
        if cwnd <= low_window { cwnd / 2.0 } else { beta * cwnd }
    }
}

impl CongestionControl for Bic {
    by_window!(and on_loss, few_rtts);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let increment = if self.window.in_slow_start() { 1.0 } else { self.increment(self.window.cwnd) };
        self.window.grow_on(ack, increment);
    }

    /// Linux resets the search after a timeout.
    fn on_rto(&mut self, _: f64) {
        let kept = self.kept();
        self.window.collapse(kept);
        self.w_max = 0.0;
        self.lost = false;
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{ack, published};

    /// By hand with W_max = 200: linear increase far below, binary search, 0.2 segments nearby, and probing above.
    #[test]
    fn the_increment_by_hand() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(200.0) });
        cc.on_loss(200.0);
        assert_relative_eq!(cc.cwnd(), 200.0 * 819.0 / 1024.0);
        for (cwnd, increment) in [
            (10.0, 1.0),   // Reno
            (120.0, 16.0), // d = 20
            (160.0, 10.0), // d = 10
            (192.0, 2.0),  // d = 2
            (197.0, 0.2),  // d < 1
            (202.0, 0.2),  // near above
            (230.0, 10.0), // 30 / 3
            (300.0, 16.0), // far above
        ] {
            assert_relative_eq!(cc.increment(cwnd), increment);
        }
    }

    /// 819/1024: a second loss at 180 sets W_max to 180 * 1843/2048.
    #[test]
    fn fast_convergence_lowers_the_goal() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(200.0) });
        cc.on_loss(200.0);
        cc.window.cwnd = 180.0;
        cc.on_loss(180.0);
        assert_relative_eq!(cc.w_max, 180.0 * 1843.0 / 2048.0);
    }

    #[test]
    fn small_windows_are_halved() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(14.0) });
        cc.on_loss(14.0);
        assert_eq!(cc.cwnd(), 7.0);
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("bic") {
            let mut cc = new(&Params::default(), row.start);
            (cc.w_max, cc.lost) = (row.state, true);
            if row.is_ack {
                cc.on_ack(&row.ack(0.0));
            } else {
                cc.on_loss(row.start.window);
            }
            row.hold(&cc);
        }
    }

    /// Linux's module: a d of one segment still counts as the end of the search, probing begins four segments above
    /// W_max, and up to 14 segments BIC is Reno. Before the first loss a window of 400 grows by 5 %, which is more than
    /// 16.
    #[test]
    fn the_borders_of_the_search_by_hand() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(200.0) });
        assert_eq!([14.0, 20.0, 400.0].map(|cwnd| cc.increment(cwnd)), [1.0, 20.0 / 3.0, 20.0]);
        cc.on_loss(200.0);
        assert_relative_eq!(cc.w_max, 200.0);
        for (cwnd, increment) in
            [(14.0, 1.0), (15.0, 16.0), (196.0, 0.2), (200.0, 0.2), (204.0, 4.0 / 3.0), (400.0, 16.0)]
        {
            assert_relative_eq!(cc.increment(cwnd), increment);
        }
    }

    /// Linux resets the search after a timeout; the window before it determines the threshold.
    #[test]
    fn a_timeout_forgets_the_search() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(200.0) });
        cc.on_loss(200.0);
        cc.window.cwnd = 400.0;
        cc.on_rto(400.0);
        assert_eq!((cc.cwnd(), cc.ssthresh(), cc.w_max), (1.0, 400.0 * 819.0 / 1024.0, 0.0));
        assert_eq!(cc.increment(400.0), 20.0);
    }

    /// An ACK adds its share of the increment, or a segment in slow start, and nothing in recovery or while the window
    /// is not used. Without fast convergence W_max is the window at the last loss.
    #[test]
    fn an_ack_adds_its_part_of_the_increment() {
        let params = Params { fast_convergence: false, ..Params::default() };
        let mut cc = new(&params, Start { ssthresh: 40.0, ..Start::with_window(39.0) });
        let usual = ack(0.0, 0.1, 1, 40);
        for other in [Ack { in_recovery: true, ..usual }, Ack { window_limited: false, ..usual }] {
            cc.on_ack(&other);
            assert_eq!(cc.cwnd(), 39.0);
        }
        cc.on_ack(&usual);
        assert_eq!(cc.cwnd(), 40.0);
        cc.on_ack(&usual); // 40 is between 4 and 48 segments above W_max = 0
        assert_relative_eq!(cc.cwnd(), 40.0 + 40.0 / 3.0 / 40.0);
        cc.w_max = 500.0;
        cc.on_loss(40.0);
        assert_relative_eq!(cc.w_max, 40.0 + 1.0 / 3.0);
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("bic", |start| new(&Params::default(), start));
    }
}
