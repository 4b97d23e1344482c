//! DCTCP: the window shrinks in proportion to the fraction of marked segments.
//!
//! Source: S. Bensley et al., RFC 8257, 2017, section 3.3:
//!
//! ```text
//! window of data: M = marked bytes / acknowledged bytes,   alpha = (1 - g) alpha + g M
//! marked: cwnd *= 1 - alpha / 2, once a window
//! ```
//!
//! Growth and the response to loss are Reno's. The receiver must echo the mark of each segment (section 3.2);
//! [`CongestionControl::wants_mark_per_packet`] requests that. Without ECN, DCTCP behaves like Reno.

use wifair_config::table;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, Start, Window};

table! {
    /// DCTCP (RFC 8257).
    pub struct Params {
        /// Weight of the latest window of data in the estimate of marked bytes.
        pub g: f64 = 0.0625, "more than 0, at most 1" => |v| *v > 0.0 && *v <= 1.0;
        /// Initial estimate of the fraction of marked bytes.
        pub initial_alpha: f64 = 1.0, "between 0 and 1" => |v| (0.0..=1.0).contains(v);
    }
}

/// State of DCTCP.
#[derive(Clone, Debug, Default)]
pub struct Dctcp {
    g: f64,
    alpha: f64,
    window: Window,
    round: Round,
    bytes: u64,
    marked: u64,
}

/// DCTCP at the start of a connection.
pub fn new(params: &Params, start: Start) -> Dctcp {
    Dctcp { g: params.g, alpha: params.initial_alpha, window: Window::new(start), ..Dctcp::default() }
}

impl CongestionControl for Dctcp {
    by_window!(and half_of_flight, few_rtts);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.bytes += ack.bytes;
        self.marked += ack.marked_bytes;
        if self.round.ends(ack) && self.bytes > 0 {
            let marked = (self.marked as f64 / self.bytes as f64).min(1.0);
            self.alpha = (1.0 - self.g) * self.alpha + self.g * marked;
            (self.bytes, self.marked) = (0, 0);
        }
        if !ack.ecn_echo {
            self.window.grow_on(ack, 1.0);
        }
    }

    fn on_ecn(&mut self, _: f64) {
        self.window.reduce((1.0 - self.alpha / 2.0) * self.window.cwnd);
    }

    fn wants_mark_per_packet(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, ack};

    /// Section 3.3 by hand: half of a window marked, from alpha = 1 and g = 1/16: 15/16 + 1/32 = 0.96875.
    #[test]
    fn the_estimate_by_hand() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(4.0) });
        cc.round.restart(&ack(0.0, 0.1, 0, 3));
        for (una, ecn_echo) in [(1, true), (2, false), (3, true), (4, false)] {
            cc.on_ack(&Ack { ecn_echo, marked_bytes: if ecn_echo { 1000 } else { 0 }, ..ack(0.0, 0.1, una, 8) });
        }
        assert_relative_eq!(cc.alpha, 0.96875);
        let cwnd = cc.cwnd();
        cc.on_ecn(4.0);
        assert_relative_eq!(cc.cwnd(), cwnd * (1.0 - 0.96875 / 2.0), max_relative = 1e-9);
    }

    /// M. Alizadeh et al., "Data Center TCP (DCTCP)", 2010, section 3.3, equations 4 to 10, for one flow: the queue
    /// oscillates below K + 1 with an amplitude of sqrt(2 (C RTT + K)) / 2. With C RTT = 100 and K = 20 that is 7.7
    /// segments, from 13 to 21. The pipe adds a segment in service, the window is counted in whole ones, and the cut
    /// comes a round trip late, after a segment of growth: three segments in all.
    #[test]
    fn the_queue_swings_as_the_fluid_model_says() {
        let mut cc = new(&Params::default(), Start { ssthresh: 100.0, ..Start::with_window(10.0) });
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.mark_at = 20.0;
        pipe.run(&mut cc, 60.0, |_, _| ());
        let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
        pipe.run(&mut cc, 120.0, |pipe, _| {
            low = low.min(pipe.queue());
            high = high.max(pipe.queue());
        });
        let swing = (2.0 * 120.0_f64).sqrt() / 2.0;
        assert!((high - 21.0).abs() <= 3.0, "{high}");
        assert!((high - low - swing).abs() <= 3.0, "from {low} to {high}, expected a swing of {swing}");
    }

    /// RFC 8257, section 3.5: a loss halves the window as in RFC 5681, whatever the marks.
    #[test]
    fn a_loss_halves() {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(40.0) });
        cc.on_loss(40.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (20.0, 20.0));
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("dctcp", |start| new(&Params::default(), start));
    }
}
