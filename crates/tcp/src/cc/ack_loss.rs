//! NewReno that treats lost ACKs as congestion.
//!
//! Source: M. Hashimoto, G. Hasegawa and M. Murata, "A Transport-Layer Solution for Alleviating TCP Unfairness in a
//! Wireless LAN Environment", 2011, and "Performance Evaluation and Improvement of Hybrid TCP Congestion Control
//! Mechanisms in Wireless LAN Environment", 2008. Only the abstracts were available: senders on the stations activate
//! congestion control when they detect lost ACKs. This file is an interpretation of that. A receiver acknowledges every
//! `segments_per_ack` segments, so a new ACK for more segments reveals lost ACKs. Once `threshold` ACKs of a round are
//! lost, the window is reduced as after a loss, once. ACKs in recovery and the first ACK after recovery do not count:
//! they cover more segments for other reasons.

use wifair_config::table;

use crate::cc::reno::{self, Reno};
use crate::cc::window::by_inner;
use crate::cc::{Ack, CongestionControl, Round, Start};

table! {
    /// NewReno that treats lost ACKs as congestion (after M. Hashimoto, G. Hasegawa and M. Murata, 2011).
    pub struct Params {
        /// Segments covered by an ACK when none is lost: 2 with delayed ACKs.
        pub segments_per_ack: f64 = 1.0, "1 or more" => |v| *v >= 1.0;
        /// Lost ACKs in a round at which the window is reduced.
        pub threshold: f64 = 1.0, "more than 0" => |v| *v > 0.0;
    }
}

/// State of the control.
#[derive(Clone, Debug, Default)]
pub struct AckLoss {
    reno: Reno,
    params: Params,
    round: Round,
    lost: f64,
    /// The next new ACK may cover more segments without any lost ACK.
    unclear: bool,
    reduced: bool,
}

/// State at the start of a connection.
pub fn new(params: &Params, start: Start) -> AckLoss {
    AckLoss { reno: reno::new(&reno::Params::default(), start), params: params.clone(), ..AckLoss::default() }
}

impl CongestionControl for AckLoss {
    by_inner!(reno: on_loss);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if self.round.ends(ack) {
            self.lost = 0.0;
            self.reduced = false;
        }
        if ack.duplicate || ack.in_recovery {
            self.unclear = true;
        } else if ack.bytes > 0 && !std::mem::take(&mut self.unclear) {
            let acks = ack.bytes as f64 / ack.mss / self.params.segments_per_ack;
            self.lost += libm::ceil(acks - 1.0 - 1e-9).max(0.0);
        }
        if self.lost >= self.params.threshold && !self.reduced {
            self.reduced = true;
            self.reno.on_loss(ack.in_flight + ack.bytes as f64 / ack.mss);
        } else {
            self.reno.on_ack(ack);
        }
    }

    fn on_rto(&mut self, in_flight: f64) {
        self.reno.on_rto(in_flight);
        self.unclear = true;
    }

    fn wants_every_rtt(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::ack;

    fn cc() -> AckLoss {
        new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(16.0) })
    }

    /// By hand: an ACK for three segments reveals two lost ACKs; the window of 16 halves once in the round.
    #[test]
    fn a_lost_ack_halves_the_window_once_a_round() {
        let mut cc = cc();
        cc.on_ack(&ack(0.0, 0.1, 1, 17));
        let jump = |una| Ack { bytes: 3000, segments: 3.0, in_flight: 13.0, ..ack(0.0, 0.1, una, una + 13) };
        cc.on_ack(&jump(4));
        assert_eq!(cc.cwnd(), 8.0);
        cc.on_ack(&jump(7));
        assert!((8.0..9.0).contains(&cc.cwnd()));
    }

    #[test]
    fn an_ack_that_fills_a_hole_reveals_no_loss() {
        let mut cc = cc();
        cc.on_ack(&ack(0.0, 0.1, 1, 17));
        cc.on_ack(&Ack { duplicate: true, bytes: 0, segments: 0.0, ..ack(0.0, 0.1, 1, 17) });
        cc.on_ack(&Ack { bytes: 3000, segments: 3.0, ..ack(0.0, 0.1, 4, 17) });
        assert!(cc.cwnd() >= 16.0);
    }

    #[test]
    fn delayed_acks_cover_two() {
        let mut cc = new(&Params { segments_per_ack: 2.0, ..Params::default() }, Start::with_window(16.0));
        cc.on_ack(&Ack { bytes: 2000, segments: 2.0, ..ack(0.0, 0.1, 2, 17) });
        assert_eq!((cc.lost, cc.cwnd()), (0.0, 18.0));
    }

    /// A timeout is handled as in Reno, and the ACK after it reveals nothing: it may cover segments that had arrived
    /// before.
    #[test]
    fn an_ack_after_a_timeout_reveals_no_loss() {
        let mut cc = cc();
        cc.on_ack(&ack(0.0, 0.1, 1, 17));
        cc.on_rto(16.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 8.0));
        cc.on_ack(&Ack { bytes: 3000, segments: 1.0, ..ack(0.0, 0.1, 4, 17) });
        assert_eq!(cc.cwnd(), 2.0);
    }

    /// The window falls to half of what was in flight before the ACK: the 13 segments that remain, and the three that
    /// it covers.
    #[test]
    fn what_the_ack_covers_was_in_flight() {
        let mut cc = cc();
        cc.on_ack(&ack(0.0, 0.1, 1, 17));
        cc.on_ack(&Ack { bytes: 3000, segments: 3.0, in_flight: 17.0, ..ack(0.0, 0.1, 4, 21) });
        assert_eq!(cc.ssthresh(), 10.0);
    }
}
