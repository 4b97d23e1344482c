//! YeAH-TCP: Scalable while the queue is short, Reno while it is long; in between the queue is drained.
//!
//! Source: A. Baiocchi, A. P. Castellani and F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", 2007; details that the
//! paper leaves open follow the authors' Linux module (tcp_yeah). Once per round trip, with the minimum of at least
//! three samples:
//!
//! ```text
//! Q = cwnd (rtt - base) / rtt,   L = (rtt - base) / base
//! Q < Q_max and L < 1 / phi: fast mode: a hundredth of a segment for each acknowledged one
//! else slow mode: a segment a round trip; Q > Q_max: cwnd -= min(Q / gamma, cwnd / 2), not below Reno's estimate
//! loss: cwnd -= max(min(Q, cwnd / 2), cwnd / 8);   a half after rho rounds of slow mode
//! ```

use wifair_config::table;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, RttSamples, Start, Window, backlog};

table! {
    /// YeAH-TCP (A. Baiocchi, A. P. Castellani and F. Vacirca, 2007).
    pub struct Params {
        /// Maximum number of segments in the queue.
        pub q_max: f64 = 80.0, "more than 0" => |v| *v > 0.0;
        /// Divisor of the queue: the part drained per round trip.
        pub gamma: f64 = 1.0, "more than 0" => |v| *v > 0.0;
        /// The queue counts as long when it adds more than the minimum RTT divided by this.
        pub phi: f64 = 8.0, "more than 0" => |v| *v > 0.0;
        /// Rounds in slow mode after which a loss is attributed to competition with Reno.
        pub rho: f64 = 16.0, "0 or more" => |v| *v >= 0.0;
        /// Rounds in fast mode after which the estimate of Reno's window is reset.
        pub zeta: f64 = 50.0, "0 or more" => |v| *v >= 0.0;
    }
}

/// State of YeAH.
#[derive(Clone, Debug, Default)]
pub struct Yeah {
    params: Params,
    window: Window,
    delays: RttSamples,
    round: Round,
    queue: f64,
    /// Estimate of the window of a competing Reno flow.
    reno: f64,
    slow_rounds: f64,
    fast_rounds: f64,
}

/// YeAH at the start of a connection.
pub fn new(params: &Params, start: Start) -> Yeah {
    Yeah { params: params.clone(), window: Window::new(start), reno: 2.0, ..Yeah::default() }
}

impl Yeah {
    fn decide(&mut self) {
        if self.delays.count() <= 2 {
            return;
        }
        let Params { q_max, gamma, phi, zeta, .. } = self.params;
        let (rtt, base) = (self.delays.min, self.delays.base);
        let cwnd = self.window.cwnd;
        self.queue = backlog(cwnd, base, rtt);
        if self.queue > q_max || (rtt - base) > base / phi {
            if self.queue > q_max && cwnd > self.reno {
                self.window.set((cwnd - (self.queue / gamma).min(cwnd / 2.0)).max(self.reno));
                self.window.ssthresh = self.window.cwnd;
            }
            self.reno = if self.reno <= 2.0 { (self.window.cwnd / 2.0).max(2.0) } else { self.reno + 1.0 };
            self.slow_rounds += 1.0;
        } else {
            self.fast_rounds += 1.0;
            if self.fast_rounds > zeta {
                self.reno = 2.0;
                self.fast_rounds = 0.0;
            }
            self.slow_rounds = 0.0;
        }
    }

    /// What remains of the window after a loss.
    fn kept(&mut self) -> f64 {
        let cwnd = self.window.cwnd;
        let half = (cwnd / 2.0).max(2.0);
        let taken = if self.slow_rounds < self.params.rho { self.queue.min(half).max(cwnd / 8.0) } else { half };
        self.fast_rounds = 0.0;
        self.reno = (self.reno / 2.0).max(2.0);
        cwnd - taken
    }
}

impl CongestionControl for Yeah {
    by_window!(and on_loss, on_rto);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.delays.sample(ack);
        if !ack.may_grow() {
            return;
        }
        let cwnd = self.window.cwnd;
        let slow = self.window.in_slow_start() || self.slow_rounds > 0.0;
        self.window.grow_on(ack, if slow { 1.0 } else { cwnd / cwnd.min(100.0) });
        if self.round.ends(ack) {
            self.decide();
            self.delays.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, published, round};

    /// On a pipe of 1000 segments an eighth of the RTT is 125 segments, so Q_max = 80 determines the mode: the queue
    /// never exceeds it by more than a round of growth, a hundredth of 1080 segments, and the pipe stays full after the
    /// start.
    #[test]
    fn the_queue_is_drained_when_it_exceeds_its_bound() {
        let mut cc = new(&Params::default(), Start { ssthresh: 900.0, ..Start::with_window(10.0) });
        let mut pipe = BottleneckPath::new(10_000.0, 0.1, 1e9);
        pipe.run(&mut cc, 10.0, |_, _| ());
        pipe.run(&mut cc, 40.0, |pipe, cc| {
            assert!(pipe.queue() <= 80.0 + 3.0 * 10.8, "{} queued", pipe.queue());
            assert!(cc.cwnd() >= 1000.0 - 3.0 * 10.8, "cwnd {}", cc.cwnd());
        });
    }

    /// By hand: 200 segments at 150 ms over 100 ms are 66.7 in the queue. A loss removes 66.7 segments, not half of the
    /// window.
    #[test]
    fn a_loss_takes_the_queue_off_the_window() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(200.0) });
        cc.delays.base = 0.1;
        let una = round(&mut cc, 0.0, 0.15, 0);
        cc.window.cwnd = 200.0;
        round(&mut cc, 0.0, 0.15, una);
        let cwnd = cc.cwnd();
        cc.on_loss(200.0);
        assert_relative_eq!(cc.cwnd(), cwnd - 200.0 / 3.0, max_relative = 0.01);
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("yeah") {
            let rho = if row.is_ack { Params::default().rho } else { row.state };
            let mut cc = new(&Params { rho, ..Params::default() }, row.start);
            cc.delays.base = row.base;
            for _ in 0..2 {
                cc.on_ack(&row.sample(row.rtt));
            }
            cc.on_ack(&row.ack(0.0));
            if !row.is_ack {
                cc.on_loss(row.start.window);
            }
            row.hold(&cc);
        }
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("yeah", |start| new(&Params::default(), start));
    }
}
