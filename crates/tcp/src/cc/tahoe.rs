//! TCP Tahoe: slow start, one more segment each round trip, back to one segment on any loss.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", 1988, sections 1 and 3; K. Fall and S. Floyd,
//! "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", 1996.

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Start, Window};

/// State of Tahoe.
#[derive(Clone, Debug)]
pub struct Tahoe {
    window: Window,
}

/// Tahoe at the start of a connection.
pub fn new(start: Start) -> Tahoe {
    Tahoe { window: Window::new(start) }
}

impl CongestionControl for Tahoe {
    by_window!(and few_rtts);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.window.grow_on(ack, 1.0);
    }

    fn on_loss(&mut self, in_flight: f64) {
        self.window.collapse(in_flight / 2.0);
    }

    fn on_rto(&mut self, in_flight: f64) {
        self.window.collapse(in_flight / 2.0);
    }

    /// RFC 3168, section 6.1.2: a mark halves the window; it is no sign of an empty pipe.
    fn on_ecn(&mut self, in_flight: f64) {
        self.window.reduce(in_flight / 2.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fall and Floyd 1996: Tahoe slow-starts after every loss.
    #[test]
    fn a_loss_leads_back_to_slow_start() {
        let mut cc = new(Start::with_window(16.0));
        cc.on_loss(16.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, 8.0));
    }

    #[test]
    fn a_congestion_mark_only_halves() {
        let mut cc = new(Start::with_window(16.0));
        cc.on_ecn(16.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (8.0, 8.0));
    }
}
