//! TCP Veno: Reno that treats a loss without a queue as a bit error.
//!
//! Source: C. P. Fu and S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", 2003:
//!
//! ```text
//! N = cwnd (rtt - base) / rtt
//! ACK:  N < beta: cwnd += 1 / cwnd;   else every other ACK
//! loss: N < beta: ssthresh = 4/5 cwnd;   else 1/2
//! ```
//!
//! `rtt` is the minimum RTT of the last round, as in Linux; the paper does not say which RTT it is.

use wifair_config::table;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, RttSamples, Start, Window, backlog};

table! {
    /// TCP Veno (C. P. Fu and S. C. Liew, 2003).
    pub struct Params {
        /// Segments in the queue from which on the path counts as congested.
        pub beta: f64 = 3.0, "0 or more" => |v| *v >= 0.0;
        /// Fraction of the window kept on a loss without congestion.
        pub keep: f64 = 0.8, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
    }
}

/// State of Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    params: Params,
    window: Window,
    delays: RttSamples,
    round: Round,
    congested: bool,
}

/// Veno at the start of a connection.
pub fn new(params: &Params, start: Start) -> Veno {
    Veno {
        params: params.clone(),
        window: Window::new(start),
        delays: RttSamples::default(),
        round: Round::default(),
        congested: true,
    }
}

impl CongestionControl for Veno {
    by_window!();

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.delays.sample(ack);
        if self.round.ends(ack) {
            if self.delays.count() > 0 {
                let queue = backlog(self.window.cwnd, self.delays.base, self.delays.min);
                self.congested = queue >= self.params.beta;
            }
            self.delays.clear();
        }
        self.window.grow_on(ack, if self.congested { 0.5 } else { 1.0 });
    }

    fn on_loss(&mut self, in_flight: f64) {
        let keep = if self.congested { 0.5 } else { self.params.keep };
        self.window.reduce(keep * in_flight.min(self.window.cwnd));
    }

    fn on_rto(&mut self, in_flight: f64) {
        self.window.collapse(in_flight / 2.0);
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{published, round};

    /// By hand at 40 segments: 105 ms over 100 ms are 1.9 in the queue, below 3; 112 ms are 4.3, above.
    #[test]
    fn growth_and_loss_depend_on_the_queue() {
        for (rtt, growth, kept) in [(0.105, 1.0, 32.0), (0.112, 0.5, 20.0)] {
            let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(40.0) });
            cc.delays.base = 0.1;
            let una = round(&mut cc, 0.0, rtt, 0);
            let before = cc.cwnd();
            round(&mut cc, 0.0, rtt, una);
            // Forty ACKs of 1/cwnd each, with a window below 42.
            assert_relative_eq!(cc.cwnd() - before, growth, max_relative = 2.0 / 42.0);
            cc.window.cwnd = 40.0;
            cc.on_loss(40.0);
            assert_relative_eq!(cc.cwnd(), kept);
        }
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("veno") {
            let mut cc = new(&Params::default(), row.start);
            cc.delays.base = row.base;
            cc.on_ack(&row.ack(0.0));
            if !row.is_ack {
                cc.on_loss(row.start.window);
            }
            row.hold(&cc);
        }
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("veno", |start| new(&Params::default(), start));
    }
}
