//! TCP Tahoe: slow start, a segment more each round trip, back to one segment on any loss.
//!
//! Source: V. Jacobson, "Congestion Avoidance and Control", 1988, sections 1 and 3; K. Fall and S. Floyd,
//! "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", 1996, section 2.

use crate::cc::{About, Ack, CongestionControl, Recovery, Start, Window};

/// For `wifair list`.
pub const ABOUT: About = About {
    name: "tahoe",
    summary: "a segment more each round trip, slow start from one segment after any loss",
    source: "V. Jacobson, Congestion Avoidance and Control, 1988",
    one_line_only: false,
    recovery: Recovery::Tahoe,
};

/// Tahoe has no settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params;

/// State of Tahoe.
#[derive(Clone, Debug)]
pub struct Tahoe {
    window: Window,
}

/// Tahoe at the start of a connection.
#[must_use]
pub fn new(_: &Params, start: Start) -> Tahoe {
    Tahoe { window: Window::new(start) }
}

impl CongestionControl for Tahoe {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.in_recovery && ack.window_limited {
            self.window.grow(ack.segments);
        }
    }

    fn on_loss(&mut self, in_flight: f64) {
        self.window.collapse(in_flight / 2.0);
    }

    fn on_rto(&mut self, in_flight: f64) {
        self.window.collapse(in_flight / 2.0);
    }

    /// RFC 3168, section 6.1.2: a mark is no sign that the pipe has run empty, so the window is only halved.
    fn on_ecn(&mut self, in_flight: f64) {
        self.window.reduce(in_flight / 2.0);
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
