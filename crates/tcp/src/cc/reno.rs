//! TCP Reno: slow start, one more segment each round trip, half the flight on loss.
//!
//! Source: M. Allman, V. Paxson and E. Blanton, RFC 5681, 2009, section 3.1, equations 2 to 4. Under periodic loss, one
//! segment in 1/p, the mean window is (M. Mathis, J. Semke, J. Mahdavi and T. Ott, "The Macroscopic Behavior of the TCP
//! Congestion Avoidance Algorithm", 1997, for an ACK to every segment)
//!
//! ```text
//! W = sqrt(3 / (2 p)) = 1.22 / sqrt(p)                                         [segments]
//! ```
//!
//! NewReno (RFC 6582) and TCP with SACK have the same window and differ in the sender's recovery.

use wifair_config::table;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Start, Window};

table! {
    /// Reno's and NewReno's window (RFC 5681).
    pub struct Params {
        /// Fraction of the flight kept on a congestion mark; 0.8 with alternative backoff with ECN (RFC 8511, section
        /// 3).
        pub keep_on_mark: f64 = 0.5, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
    }
}

/// State of Reno.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    window: Window,
    keep_on_mark: f64,
}

/// Reno at the start of a connection.
pub fn new(params: &Params, start: Start) -> Reno {
    Reno { window: Window::new(start), keep_on_mark: params.keep_on_mark }
}

impl CongestionControl for Reno {
    by_window!(and half_of_flight, few_rtts);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.window.grow_on(ack, 1.0);
    }

    fn on_ecn(&mut self, in_flight: f64) {
        self.window.reduce(self.keep_on_mark * in_flight);
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, ack, round};

    fn reno(window: f64, ssthresh: f64) -> Reno {
        new(&Params::default(), Start { ssthresh, ..Start::with_window(window) })
    }

    /// RFC 5681: slow start doubles the window each round, congestion avoidance adds a segment.
    #[test]
    fn slow_start_doubles_and_congestion_avoidance_adds_one() {
        let mut cc = reno(2.0, 16.0);
        let mut una = 0;
        for expected in [4.0, 8.0, 16.0] {
            una = round(&mut cc, 0.0, 0.1, una);
            assert_relative_eq!(cc.cwnd(), expected);
        }
        // Adding 1/cwnd an ACK gives slightly less than one: sum of 16 terms between 1/17 and 1/16.
        round(&mut cc, 0.0, 0.1, una);
        assert!(cc.cwnd() > 16.0 + 16.0 / 17.0 && cc.cwnd() < 17.0, "{}", cc.cwnd());
    }

    #[test]
    fn loss_halves_the_flight_and_a_timeout_leaves_one_segment() {
        let mut cc = reno(20.0, 10.0);
        cc.on_loss(20.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, 10.0));
        cc.on_rto(10.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 5.0));
        cc.on_spurious();
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, 10.0));
        cc.on_rto(3.0);
        assert_eq!(cc.ssthresh(), 2.0); // never below two segments
    }

    /// RFC 8511, section 3: four fifths instead of a half.
    #[test]
    fn alternative_backoff_keeps_four_fifths_on_a_mark() {
        let mut cc = new(&Params { keep_on_mark: 0.8 }, Start::with_window(20.0));
        cc.on_ecn(20.0);
        assert_eq!(cc.cwnd(), 16.0);
        cc.on_loss(16.0);
        assert_eq!(cc.cwnd(), 8.0);
    }

    #[test]
    fn a_window_that_is_not_used_or_in_recovery_does_not_grow() {
        let mut cc = reno(10.0, 10.0);
        cc.on_ack(&Ack { window_limited: false, ..ack(0.0, 0.1, 1, 2) });
        cc.on_ack(&Ack { in_recovery: true, ..ack(0.0, 0.1, 1, 2) });
        assert_eq!(cc.cwnd(), 10.0);
    }

    /// Mathis et al. 1997, periodic loss: W = 1.22/sqrt(p), for a sawtooth between half the peak and the peak, peak/2
    /// rounds long, with one loss in 1/p segments. The pipe's cycle is two rounds longer: the loss is noticed a round
    /// late and recovery takes a round without growth. That is a fraction 4/peak of the cycle.
    #[test]
    fn mean_window_under_periodic_loss_matches_the_square_root_law() {
        let p = 1e-4_f64;
        let mut cc = reno(10.0, 80.0);
        let mut pipe = BottleneckPath::new(1e9, 0.1, 1e9).losing_every(10_000);
        pipe.run(&mut cc, 50.0, |_, _| ());
        let mean = pipe.mean_cwnd(&mut cc, 950.0);
        let expected = (1.5 / p).sqrt();
        let peak = (8.0 / (3.0 * p)).sqrt();
        assert_relative_eq!(mean, expected, max_relative = 4.0 / peak);
    }

    /// Mathis et al. 1997, random loss: W = 1.31/sqrt(p) with independent losses of probability p. The error of the
    /// mean comes from twenty batches of several hundred losses each; the rounds of recovery count as above, 4/peak of
    /// the mean, with a peak of 4/3 of the mean.
    #[test]
    fn mean_window_under_independent_loss_matches_the_square_root_law() {
        let p = 2e-4_f64;
        let mut cc = reno(10.0, 80.0);
        let mut pipe = BottleneckPath::new(1e9, 0.1, 1e9).losing(p, 1);
        pipe.run(&mut cc, 100.0, |_, _| ());
        let batches: Vec<f64> = (1..=20).map(|i| pipe.mean_cwnd(&mut cc, 100.0 + 500.0 * f64::from(i))).collect();
        let mean = batches.iter().sum::<f64>() / 20.0;
        let variance = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / 19.0;
        let expected = 1.31 / p.sqrt();
        let tolerance = 4.0 * (variance / 20.0).sqrt() + 4.0 / (4.0 / 3.0);
        assert!((mean - expected).abs() <= tolerance, "{mean} instead of {expected} +- {tolerance}");
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("newreno", |start| new(&Params::default(), start));
    }
}
