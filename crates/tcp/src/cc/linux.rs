//! Reno of Linux 2.6, in whole segments: ns-2's Agent/TCP/Linux with `reno`.
//!
//! Source: the behaviour of Linux 2.6.22's Reno, as ported to ns-2.35 (D. X. Wei and P. Cao, "NS-2 TCP-Linux: An NS-2
//! TCP Implementation with Congestion Control Algorithms from Linux", 2006). Departures from [`reno`](super::reno): the
//! window counts whole segments; a window equal to the threshold is in slow start; in congestion avoidance a segment is
//! added when a window of bytes is acknowledged (RFC 3465, section 2.1), counted from the end of slow start and in
//! recovery too; a loss halves the window instead of the flight.

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Start, Window};

/// State of Linux's Reno.
#[derive(Clone, Debug)]
pub struct Linux {
    window: Window,
    /// Segments acknowledged since the last growth.
    acked: f64,
}

/// Linux's Reno at the start of a connection.
pub fn new(start: Start) -> Linux {
    let mut window = Window::new(start);
    window.set(libm::floor(window.cwnd));
    Linux { window, acked: 0.0 }
}

impl Linux {
    fn kept(&mut self) -> f64 {
        self.acked = 0.0;
        libm::floor(self.window.cwnd / 2.0)
    }
}

impl CongestionControl for Linux {
    by_window!(and on_loss, on_rto, few_rtts);

    fn on_repaired(&mut self, at_most: f64) {
        self.window.set(self.window.ssthresh.min(at_most));
    }

    fn least_in_recovery(&self) -> f64 {
        libm::floor(self.window.ssthresh / 2.0)
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.acked += ack.bytes as f64 / ack.mss;
        if ack.may_grow() && ack.segments > 0.0 {
            self.window.grow_in_whole_segments(&mut self.acked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{ack, published};

    /// From 4 segments with a threshold of 4: one ACK of slow start, then a segment is added for each window of ACKs,
    /// as in a trace of ns-2.
    #[test]
    fn the_window_by_hand() {
        let mut cc = new(Start { ssthresh: 4.0, ..Start::with_window(4.0) });
        let windows: Vec<_> = (0..14)
            .map(|i| {
                cc.on_ack(&ack(0.0, 0.1, i, i + 4));
                cc.cwnd()
            })
            .collect();
        assert_eq!(windows, [5.0, 5.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 7.0, 7.0, 7.0]);
        cc.on_loss(99.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (3.0, 3.0));
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("linux") {
            let mut cc = new(row.start);
            for i in 0..row.acked as u64 {
                cc.on_ack(&ack(0.0, 0.1, i + 1, i + 2));
            }
            row.hold(&cc);
        }
    }
}
