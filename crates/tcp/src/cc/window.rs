//! Window arithmetic shared by most algorithms.

use crate::cc::{Ack, Start};

/// Upper bound of any window, in segments: far above any path, and keeps arithmetic finite.
const LARGEST: f64 = 1e9;

/// A congestion window and its slow-start threshold, in segments, with their values before the last reduction.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow-start threshold.
    pub ssthresh: f64,
    before: (f64, f64),
}

impl Default for Window {
    fn default() -> Self {
        Self::new(Start::with_window(1.0))
    }
}

impl Window {
    /// The window at the start of a connection.
    pub fn new(start: Start) -> Self {
        let cwnd = start.window.clamp(1.0, LARGEST);
        Self { cwnd, ssthresh: start.ssthresh, before: (cwnd, start.ssthresh) }
    }

    /// Whether the window is below the threshold (slow start).
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Sets the window to `cwnd` segments, but at least one.
    #[inline]
    pub fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(1.0, LARGEST);
    }

    /// Adds `segments`, which may be negative; the window stays at least one.
    #[inline]
    pub fn add(&mut self, segments: f64) {
        self.set(self.cwnd + segments);
    }

    /// Grows by slow start below the threshold, else by `increase` segments per round trip.
    #[inline]
    pub fn grow(&mut self, segments: f64, increase: f64) {
        if self.in_slow_start() {
            self.add(segments);
        } else {
            self.add(increase * segments / self.cwnd);
        }
    }

    /// Grows as in [`Window::grow`] if the ACK allows growth.
    #[inline]
    pub fn grow_on(&mut self, ack: &Ack, increase: f64) {
        if ack.may_grow() {
            self.grow(ack.segments, increase);
        }
    }

    /// Grows by a segment: for each ACK up to the threshold, above it once `acked` segments make up a window.
    #[inline]
    pub fn grow_in_whole_segments(&mut self, acked: &mut f64) {
        if self.cwnd <= self.ssthresh {
            *acked = 0.0;
            self.add(1.0);
        } else if *acked >= self.cwnd {
            *acked -= self.cwnd;
            self.add(1.0);
        }
    }

    /// Sets the threshold to `ssthresh` segments, at least two (RFC 5681, equation 4), and lowers the window to it.
    pub fn reduce(&mut self, ssthresh: f64) {
        self.before = (self.cwnd, self.ssthresh);
        self.ssthresh = ssthresh.clamp(2.0, LARGEST);
        self.cwnd = self.ssthresh;
    }

    /// Like [`Window::reduce`], with a window of one segment (after a timeout; RFC 5681, section 3.1).
    pub fn collapse(&mut self, ssthresh: f64) {
        self.reduce(ssthresh);
        self.cwnd = 1.0;
    }

    /// Limits the window to `at_most` segments.
    pub fn limit(&mut self, at_most: f64) {
        self.cwnd = self.cwnd.min(at_most.max(1.0));
    }

    /// Undoes the last reduction (RFC 4015, section 3.4, without damping of bursts).
    pub fn restore(&mut self) {
        self.cwnd = self.cwnd.max(self.before.0);
        self.ssthresh = self.ssthresh.max(self.before.1);
    }
}

/// Methods of [`CongestionControl`](crate::cc::CongestionControl) that only use `self.window`: `only` the methods
/// named, or the usual ones `and` the methods named. With `on_loss` and `on_rto` the window falls to `self.kept`; with
/// `half_of_flight` or `half_of_window` both halve it. `few_rtts`: one timed segment at a time is enough.
macro_rules! by_window {
    () => {
        by_window!(and);
    };
    (and $($method:ident),*) => {
        by_window!(only on_recovery_exit, on_idle_restart, on_spurious $(, $method)*);
    };
    (only $($method:ident),*) => {
        $(by_window!(@ $method);)*

        #[inline]
        fn cwnd(&self) -> f64 {
            self.window.cwnd
        }

        #[inline]
        fn ssthresh(&self) -> f64 {
            self.window.ssthresh
        }
    };
    (@ on_recovery_exit) => {
        fn on_recovery_exit(&mut self, at_most: f64) {
            self.window.limit(at_most);
        }
    };
    (@ on_idle_restart) => {
        fn on_idle_restart(&mut self, at_most: f64) {
            self.window.limit(at_most);
        }
    };
    (@ on_spurious) => {
        fn on_spurious(&mut self) {
            self.window.restore();
        }
    };
    (@ on_loss) => {
        fn on_loss(&mut self, _: f64) {
            let kept = self.kept();
            self.window.reduce(kept);
        }
    };
    (@ on_rto) => {
        fn on_rto(&mut self, _: f64) {
            let kept = self.kept();
            self.window.collapse(kept);
        }
    };
    (@ half_of_flight) => {
        fn on_loss(&mut self, in_flight: f64) {
            self.window.reduce(in_flight / 2.0);
        }

        fn on_rto(&mut self, in_flight: f64) {
            self.window.collapse(in_flight / 2.0);
        }
    };
    (@ half_of_window) => {
        fn on_loss(&mut self, _: f64) {
            self.window.reduce(self.window.cwnd / 2.0);
        }

        fn on_rto(&mut self, _: f64) {
            self.window.collapse(self.window.cwnd / 2.0);
        }
    };
    (@ few_rtts) => {
        fn wants_every_rtt(&self) -> bool {
            false
        }
    };
}

/// Methods that an algorithm delegates to the algorithm in its field `self.$inner`.
macro_rules! by_inner {
    ($inner:ident: $($method:ident),*) => {
        $(by_inner!(@ $inner $method);)*

        #[inline]
        fn cwnd(&self) -> f64 {
            self.$inner.cwnd()
        }

        #[inline]
        fn ssthresh(&self) -> f64 {
            self.$inner.ssthresh()
        }

        fn on_recovery_exit(&mut self, at_most: f64) {
            self.$inner.on_recovery_exit(at_most);
        }

        fn on_idle_restart(&mut self, at_most: f64) {
            self.$inner.on_idle_restart(at_most);
        }

        fn on_spurious(&mut self) {
            self.$inner.on_spurious();
        }
    };
    (@ $inner:ident on_ack) => {
        #[inline]
        fn on_ack(&mut self, ack: &Ack) {
            self.$inner.on_ack(ack);
        }
    };
    (@ $inner:ident on_loss) => {
        fn on_loss(&mut self, in_flight: f64) {
            self.$inner.on_loss(in_flight);
        }
    };
    (@ $inner:ident on_rto) => {
        fn on_rto(&mut self, in_flight: f64) {
            self.$inner.on_rto(in_flight);
        }
    };
}

pub(crate) use {by_inner, by_window};
