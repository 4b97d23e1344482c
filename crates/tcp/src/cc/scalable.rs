//! Scalable TCP: the window grows by a fixed fraction per round trip, so recovery takes the same time at any size.
//!
//! Source: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", 2003:
//!
//! ```text
//! ACK: cwnd += a,   loss: cwnd -= b cwnd,   a = 0.01, b = 1/8;   Reno while cwnd is below the legacy window (16)
//! W ~ a / (b p)                                                                [segments]
//! ```
//!
//! The response function holds for small p, with many rounds between losses.

use wifair_config::table;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Start, Window};

table! {
    /// Scalable TCP (T. Kelly, 2003).
    pub struct Params {
        /// Segments added for each acknowledged one.
        pub increase: f64 = 0.01, "more than 0" => |v| *v > 0.0;
        /// Fraction of the window taken off on loss.
        pub decrease: f64 = 0.125, "between 0 and 1" => |v| (0.0..1.0).contains(v);
        /// Window in segments up to which it behaves like Reno.
        pub legacy_window: f64 = 16.0, "0 or more" => |v| *v >= 0.0;
    }
}

/// State of Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable {
    params: Params,
    window: Window,
}

/// Scalable TCP at the start of a connection.
pub fn new(params: &Params, start: Start) -> Scalable {
    Scalable { params: params.clone(), window: Window::new(start) }
}

impl Scalable {
    fn kept(&self) -> f64 {
        let cwnd = self.window.cwnd;
        if cwnd <= self.params.legacy_window { cwnd / 2.0 } else { (1.0 - self.params.decrease) * cwnd }
    }
}

impl CongestionControl for Scalable {
    by_window!(and on_loss, on_rto, few_rtts);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.may_grow() {
            return;
        }
        if self.window.in_slow_start() || self.window.cwnd <= self.params.legacy_window {
            self.window.grow_on(ack, 1.0);
        } else {
            self.window.add(self.params.increase * ack.segments);
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, published};

    /// Periodic loss of one segment in 1/p. The fluid model has a peak of a/(b p) and, over time, a mean of peak * b /
    /// ln(1/(1 - b)). In the pipe, one window of segments is acknowledged in recovery, without growth: then b W = a
    /// (1/p - W), and one round at 7/8 of the peak is added to the 13.4 rounds of growth. The remaining difference is
    /// the rounding of the window to whole segments.
    #[test]
    fn mean_window_under_periodic_loss_matches_the_response_function() {
        let (a, b, segments) = (0.01, 0.125, 10_000.0);
        let mut cc = new(&Params::default(), Start { ssthresh: 700.0, ..Start::with_window(100.0) });
        let mut pipe = BottleneckPath::new(1e9, 0.1, 1e9).losing_every(10_000);
        pipe.run(&mut cc, 100.0, |_, _| ());
        let mean = pipe.mean_cwnd(&mut cc, 400.0);
        let peak = a * segments / (a + b);
        let (growing, rounds) = (peak * b / -libm::log(1.0 - b), -libm::log(1.0 - b) / a);
        let expected = (growing * rounds + (1.0 - b) * peak) / (rounds + 1.0);
        assert_relative_eq!(mean, expected, max_relative = 2.0 / peak);
    }

    #[test]
    fn small_windows_are_renos() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(16.0) });
        cc.on_loss(16.0);
        assert_eq!(cc.cwnd(), 8.0);
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("scalable") {
            let mut cc = new(&Params::default(), row.start);
            if row.is_ack {
                cc.on_ack(&row.ack(0.0));
            } else {
                cc.on_loss(row.start.window);
            }
            row.hold(&cc);
        }
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("scalable", |start| new(&Params::default(), start));
    }
}
