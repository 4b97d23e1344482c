//! The window arithmetic that most algorithms share.

use crate::cc::Start;

/// A congestion window and its threshold, in segments, with what they were before the last reduction.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow-start threshold.
    pub ssthresh: f64,
    before: (f64, f64),
}

impl Window {
    /// The window at the start of a connection.
    #[must_use]
    pub fn new(start: Start) -> Self {
        let cwnd = start.window.max(1.0);
        Self { cwnd, ssthresh: start.ssthresh, before: (cwnd, start.ssthresh) }
    }

    /// Whether the window is below the threshold.
    #[inline]
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start by `segments` acknowledged ones up to the threshold (RFC 5681, section 3.1); returns those
    /// that are left for congestion avoidance.
    #[inline]
    pub fn slow_start(&mut self, segments: f64) -> f64 {
        let grown = (self.cwnd + segments).min(self.ssthresh.max(self.cwnd));
        let left = segments - (grown - self.cwnd);
        self.cwnd = grown;
        left
    }

    /// Slow start, or Reno's congestion avoidance: a segment each round trip (RFC 5681, section 3.1, equation 3).
    #[inline]
    pub fn grow(&mut self, segments: f64) {
        if self.in_slow_start() {
            self.cwnd += segments;
        } else {
            self.cwnd += segments / self.cwnd;
        }
    }

    /// The threshold becomes `ssthresh` segments but at least two (RFC 5681, equation 4), and the window falls to it.
    pub fn reduce(&mut self, ssthresh: f64) {
        self.before = (self.cwnd, self.ssthresh);
        self.ssthresh = ssthresh.max(2.0);
        self.cwnd = self.ssthresh;
    }

    /// As [`Window::reduce`], but the window falls to one segment (RFC 5681, section 3.1, after a timeout).
    pub fn collapse(&mut self, ssthresh: f64) {
        self.reduce(ssthresh);
        self.cwnd = 1.0;
    }

    /// Bounds the window by `at_most` segments.
    pub fn limit(&mut self, at_most: f64) {
        self.cwnd = self.cwnd.min(at_most.max(1.0));
    }

    /// Takes the last reduction back (RFC 4015, section 3.4, without its damping of bursts).
    pub fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.before.0);
        self.ssthresh = self.ssthresh.max(self.before.1);
    }
}
