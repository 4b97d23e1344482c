//! CTCP-TUBE: Compound that adapts gamma to the queue that a Reno flow would have found at the last losses.
//!
//! Source: K. Tan, J. Song, M. Sridharan and C.-Y. Ho, "CTCP-TUBE: Improving TCP-Friendliness Over Low-Buffered Network
//! Links", 2008, and M. Sridharan, K. Tan, D. Bansal and D. Thaler, draft-sridharan-tcpm-ctcp-02, 2008, on the
//! automatic selection of gamma. The constants are those of a public ns-3 implementation of the draft:
//!
//! ```text
//! round: diff_reno = (cwnd / base - cwnd / rtt) * base,   cwnd without dwnd
//! loss:  gamma = (1 - lambda) gamma + lambda * 3/4 * diff_reno,   between gamma_low and gamma_high
//! ```
//!
//! A timeout resets gamma and the minimum RTT. Of two losses without a round between them only the first adapts gamma.

use wifair_config::table;

use crate::cc::compound::{self, Compound};
use crate::cc::window::by_inner;
use crate::cc::{Ack, CongestionControl, RttSamples, Start};

table! {
    /// CTCP-TUBE (K. Tan et al., 2008).
    pub struct Params {
        /// Weight of the latest sample of gamma.
        pub lambda: f64 = 0.8, "between 0 and 1" => |v| (0.0..=1.0).contains(v);
        /// Minimum gamma, in segments.
        pub gamma_low: f64 = 5.0, "0 or more" => |v| *v >= 0.0;
        /// Maximum gamma, in segments.
        pub gamma_high: f64 = 30.0, "at least gamma_low" => |v| *v >= gamma_low;
        /// Parameters shared with Compound TCP; gamma is the initial value.
        pub compound => compound::Params;
    }
}

/// State of CTCP-TUBE.
#[derive(Clone, Debug)]
pub struct CtcpTube {
    compound: Compound,
    params: Params,
    /// `diff` of the last round, until a loss has used it.
    diff_reno: Option<f64>,
}

/// CTCP-TUBE at the start of a connection.
pub fn new(params: &Params, start: Start) -> CtcpTube {
    CtcpTube { compound: compound::new(&params.compound, start), params: params.clone(), diff_reno: None }
}

impl CongestionControl for CtcpTube {
    by_inner!(compound:);

    fn delay_window(&self) -> f64 {
        self.compound.dwnd
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if self.compound.ack(ack) {
            let cwnd = self.compound.window.cwnd;
            self.diff_reno = Some(cwnd * (1.0 - 1.0 / self.compound.stretch));
        }
    }

    fn on_loss(&mut self, in_flight: f64) {
        if let Some(diff) = self.diff_reno.take() {
            let Params { lambda, gamma_low, gamma_high, .. } = self.params;
            let gamma = &mut self.compound.params.gamma;
            *gamma = ((1.0 - lambda) * *gamma + lambda * 0.75 * diff).clamp(gamma_low, gamma_high);
        }
        self.compound.on_loss(in_flight);
    }

    fn on_rto(&mut self, in_flight: f64) {
        self.compound.on_rto(in_flight);
        self.compound.params.gamma = self.params.compound.gamma;
        self.compound.delays = RttSamples::default();
        self.diff_reno = None;
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::round;

    /// By hand: 20 segments of Reno's window at twice the minimum RTT are 10 in the queue, so gamma goes from 30 to 12,
    /// which is 0.2 * 30 + 0.8 * 7.5, then to 0.2 * 12 + 0.8 * 7.5 = 8.4, and not below 5. The ACK that ends a round
    /// first adds 1/20 of a segment, 1/400 of the window.
    #[test]
    fn gamma_follows_the_queue_at_losses() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(20.0) });
        cc.compound.delays.base = 0.1;
        let mut una = 0;
        for expected in [12.0, 8.4] {
            for _ in 0..3 {
                cc.compound.window.cwnd = 20.0;
                una = round(&mut cc, 0.0, 0.2, una);
            }
            cc.on_loss(20.0);
            assert_relative_eq!(cc.compound.params.gamma, expected, max_relative = 1.0 / 400.0);
        }
        let tuned = cc.compound.params.gamma;
        cc.on_loss(20.0);
        assert_eq!(cc.compound.params.gamma, tuned); // no round in between
        cc.diff_reno = Some(0.0);
        cc.on_loss(20.0);
        assert_eq!(cc.compound.params.gamma, 5.0);
        cc.on_rto(20.0);
        assert_eq!(cc.compound.params.gamma, 30.0);
    }
}
