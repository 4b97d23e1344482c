//! TCP-Fusion: grows with the measured bandwidth while the queue is short, and at least as fast as Reno.
//!
//! Source: K. Kaneko, T. Fujikawa, Z. Su and J. Katto, "TCP-Fusion: A Hybrid Congestion Control Algorithm for
//! High-speed Networks", 2007, as implemented in a public ns-3 model. For each acknowledged segment, in congestion
//! avoidance:
//!
//! ```text
//! diff = cwnd (rtt - base) / rtt,   alpha = cwnd D_min / rtt,   W_inc = bandwidth D_inc / mss
//! diff < alpha:     cwnd += W_inc / cwnd
//! diff > 3 alpha:   cwnd -= (diff - alpha) / cwnd
//! Reno's window, W_reno += 1 / cwnd, is a lower bound
//! loss: cwnd = max(base / rtt * cwnd, cwnd / 2)
//! ```
//!
//! `rtt` is the smallest sample of the last round; the bandwidth is the estimate of
//! [`westwood_plus`](super::westwood_plus). alpha and W_inc are at least one segment.

use wifair_config::table;
use wifair_units::Duration;

use crate::cc::westwood_plus::RoundEstimate;
use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, RttSamples, Start, Window, backlog};

table! {
    /// TCP-Fusion (K. Kaneko et al., 2007).
    pub struct Params {
        /// Queueing delay up to which the path counts as uncongested.
        pub min_delay: Duration = Duration::from_millis(4), "longer than 0 s" => |v| *v > Duration::ZERO;
        /// Per round trip the window grows by what the bandwidth carries in this time.
        pub increase_delay: Duration = Duration::from_millis(1), "longer than 0 s" => |v| *v > Duration::ZERO;
    }
}

/// State of TCP-Fusion.
#[derive(Clone, Debug, Default)]
pub struct Fusion {
    params: Params,
    window: Window,
    reno: f64,
    estimate: RoundEstimate,
    delays: RttSamples,
    round: Round,
    /// Smallest sample of the last round, in seconds; zero before the first.
    rtt: f64,
}

/// TCP-Fusion at the start of a connection.
pub fn new(params: &Params, start: Start) -> Fusion {
    Fusion { params: params.clone(), window: Window::new(start), ..Fusion::default() }
}

impl Fusion {
    fn avoid_congestion(&mut self, ack: &Ack) {
        let cwnd = self.window.cwnd;
        let part = ack.segments / cwnd;
        self.reno += part;
        if self.rtt > 0.0 {
            let diff = backlog(cwnd, self.delays.base, self.rtt);
            let alpha = (cwnd * self.params.min_delay.as_secs() / self.rtt).max(1.0);
            if diff < alpha {
                let increase = self.estimate.bandwidth * self.params.increase_delay.as_secs() / ack.mss;
                self.window.add(increase.max(1.0) * part);
            } else if diff > 3.0 * alpha {
                self.window.add((alpha - diff) * part);
            }
        }
        self.window.set(self.window.cwnd.max(self.reno));
    }

    fn kept(&self) -> f64 {
        let cwnd = self.window.cwnd;
        let last = self.delays.last;
        let share = if last > 0.0 { self.delays.base / last } else { 0.5 };
        share.max(0.5) * cwnd
    }
}

impl CongestionControl for Fusion {
    by_window!();

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.estimate.ack(ack);
        self.delays.sample(ack);
        if self.round.ends(ack) {
            if self.delays.count() > 0 {
                self.rtt = self.delays.min;
            }
            self.delays.clear();
        }
        if !ack.may_grow() {
            return;
        }
        if self.window.in_slow_start() {
            self.window.add(ack.segments);
            self.reno = self.window.cwnd;
        } else {
            self.avoid_congestion(ack);
        }
    }

    fn on_loss(&mut self, _: f64) {
        self.window.reduce(self.kept());
        self.reno = self.window.cwnd;
    }

    fn on_rto(&mut self, _: f64) {
        self.window.collapse(self.kept());
        self.reno = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::ack;

    fn fusion(base: f64, rtt: f64, bandwidth: f64) -> Fusion {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(100.0) });
        (cc.delays.base, cc.rtt, cc.estimate.bandwidth) = (base, rtt, bandwidth);
        cc
    }

    /// By hand at 100 segments of 1000 bytes, base 100 ms, D_min = 4 ms: alpha is about 4 segments. Without a queue 1
    /// MB/s in 1 ms is one segment per round trip, 10 MB/s ten; at 106 ms 5.7 are queued: only Reno's growth; at 150 ms
    /// 33.3 are queued and alpha is 2.67: minus 30.7 per round trip, but not below Reno's window.
    #[test]
    fn the_three_phases_by_hand() {
        for (rtt, bandwidth, reno, change) in [
            (0.1, 1e6, 0.0, 1.0 / 100.0),
            (0.1, 1e7, 0.0, 10.0 / 100.0),
            (0.106, 1e7, 0.0, 0.0),
            (0.150, 1e7, 0.0, -(100.0 / 3.0 - 8.0 / 3.0) / 100.0),
            (0.150, 1e7, 100.0, 1.0 / 100.0),
        ] {
            let mut cc = fusion(0.1, rtt, bandwidth);
            cc.reno = reno;
            cc.avoid_congestion(&ack(0.0, rtt, 1, 101));
            assert_relative_eq!(cc.cwnd() - 100.0, change, max_relative = 1e-9, epsilon = 1e-9);
        }
    }

    /// At 125 ms over 100 ms four fifths are kept, at 300 ms a half.
    #[test]
    fn a_loss_keeps_what_the_path_holds_but_at_least_a_half() {
        for (last, kept) in [(0.125, 80.0), (0.3, 50.0)] {
            let mut cc = fusion(0.1, last, 1e6);
            cc.delays.last = last;
            cc.on_loss(100.0);
            assert_relative_eq!(cc.cwnd(), kept);
        }
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("fusion", |start| new(&Params::default(), start));
    }
}
