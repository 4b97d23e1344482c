//! TCP Reno: slow start, a segment more each round trip, half the flight on loss.
//!
//! Source: M. Allman, V. Paxson and E. Blanton, RFC 5681, 2009, section 3.1, equations 2 to 4. Under periodic
//! loss, one segment in 1/p, the mean window is (M. Mathis, J. Semke, J. Mahdavi and T. Ott, "The Macroscopic
//! Behavior of the TCP Congestion Avoidance Algorithm", 1997, equation 2, without delayed ACKs)
//!
//! ```text
//! W = sqrt(3 / (2 p)) = 1.22 / sqrt(p)                                         [segments]
//! ```
//!
//! Reno, NewReno and SACK TCP share this window and differ in the sender's recovery.

use crate::cc::{About, Ack, CongestionControl, Recovery, Start, Window};

/// For `wifair list`.
pub const ABOUT: About = About {
    name: "reno",
    summary: "a segment more each round trip, half the window on loss; fast recovery ends at the first new ACK",
    source: "M. Allman, V. Paxson and E. Blanton, RFC 5681, 2009; K. Fall and S. Floyd, 1996",
    one_line_only: false,
    recovery: Recovery::Reno,
};

/// Reno has no settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params;

/// State of Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    window: Window,
}

/// Reno at the start of a connection.
#[must_use]
pub fn new(_: &Params, start: Start) -> Reno {
    Reno { window: Window::new(start) }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.in_recovery && ack.window_limited {
            self.window.grow(ack.segments);
        }
    }

    fn on_loss(&mut self, in_flight: f64) {
        self.window.reduce(in_flight / 2.0);
    }

    fn on_rto(&mut self, in_flight: f64) {
        self.window.collapse(in_flight / 2.0);
    }

    fn on_recovery_exit(&mut self, at_most: f64) {
        self.window.limit(at_most);
    }

    fn on_idle_restart(&mut self, at_most: f64) {
        self.window.limit(at_most);
    }

    fn on_spurious(&mut self) {
        self.window.restore();
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    #[inline]
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }
}
