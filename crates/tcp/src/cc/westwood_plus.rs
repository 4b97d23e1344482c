//! TCP Westwood+: Westwood with one bandwidth sample each round trip, which ACK compression does not spoil.
//!
//! Source: L. A. Grieco and S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP
//! Congestion Control", 2004, section 2:
//!
//! ```text
//! b(k)   = bytes acknowledged in the round / its length
//! BWE(k) = a BWE(k-1) + (1 - a) b(k),   a = 0.9
//! loss:    cwnd = ssthresh = max(2, BWE * RTTmin / mss)
//! ```
//!
//! | filter | departs from the paper |
//! |---|---|
//! | `paper` | - |
//! | `linux` | Linux's tcp_westwood, which ns-2's Agent/TCP/Linux holds too: a round is the last round-trip time by the clock, at least 50 ms; two filters with a = 7/8 follow each other; the first sample is taken as it is |

use wifair_config::{choice, table};
use wifair_units::{Duration, Time};

use crate::cc::westwood::Counter;
use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, Start, Window};

choice! {
    /// Whose filter it is.
    pub enum Filter {
        /// The paper of 2004.
        Paper = "paper",
        /// Linux's tcp_westwood.
        Linux = "linux",
    }
}

table! {
    /// TCP Westwood+ (L. A. Grieco and S. Mascolo, 2004).
    pub struct Params {
        /// Whose filter it is.
        pub filter: Filter = Filter::Paper;
        /// Weight of the old estimate in the paper's filter.
        pub keep: f64 = 0.9, "between 0 and 1" => |v| (0.0..1.0).contains(v);
    }
}

/// Linux takes no sample over less than this.
const SHORTEST: Duration = Duration::from_millis(50);

/// A bandwidth estimate that takes a sample each round; TCP-Fusion and Adaptive Reno use it too.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    filter: Filter,
    keep: f64,
    /// In bytes per second.
    pub(super) bandwidth: f64,
    inner: f64,
    bytes: f64,
    since: Option<Time>,
    round: Round,
    counter: Counter,
}

impl Estimate {
    pub(super) fn new(params: &Params) -> Self {
        Self {
            filter: params.filter,
            keep: params.keep,
            bandwidth: 0.0,
            inner: 0.0,
            bytes: 0.0,
            since: None,
            round: Round::default(),
            counter: Counter::default(),
        }
    }

    #[inline]
    pub(super) fn ack(&mut self, ack: &Ack) {
        self.bytes += self.counter.arrived(ack);
        let ends = self.round.ends(ack);
        let Some(since) = self.since else {
            // The first round began before the first ACK.
            self.bytes = 0.0;
            self.since = Some(ack.now);
            return;
        };
        let elapsed = ack.now.saturating_since(since);
        let over = match self.filter {
            Filter::Paper => ends,
            Filter::Linux => elapsed > ack.rtt.unwrap_or(ack.srtt).max(SHORTEST),
        };
        if over && elapsed > Duration::ZERO {
            self.sample(self.bytes / elapsed.as_secs());
            self.bytes = 0.0;
            self.since = Some(ack.now);
        }
    }

    fn sample(&mut self, sample: f64) {
        match self.filter {
            Filter::Paper => self.bandwidth = self.keep * self.bandwidth + (1.0 - self.keep) * sample,
            Filter::Linux if self.inner == 0.0 && self.bandwidth == 0.0 => {
                self.inner = sample;
                self.bandwidth = sample;
            }
            Filter::Linux => {
                self.inner = (7.0 * self.inner + sample) / 8.0;
                self.bandwidth = (7.0 * self.bandwidth + self.inner) / 8.0;
            }
        }
    }
}

/// State of Westwood+.
#[derive(Clone, Debug)]
pub struct WestwoodPlus {
    window: Window,
    estimate: Estimate,
    pipe: f64,
}

/// Westwood+ at the start of a connection.
#[must_use]
pub fn new(params: &Params, start: Start) -> WestwoodPlus {
    WestwoodPlus { window: Window::new(start), estimate: Estimate::new(params), pipe: 2.0 }
}

impl CongestionControl for WestwoodPlus {
    by_window!();

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.estimate.ack(ack);
        if ack.min_rtt != Duration::MAX {
            self.pipe = self.estimate.bandwidth * ack.min_rtt.as_secs() / ack.mss;
        }
        if !ack.in_recovery && ack.window_limited {
            self.window.grow(ack.segments, 1.0);
        }
    }

    fn on_loss(&mut self, _: f64) {
        self.window.reduce(self.pipe);
    }

    fn on_rto(&mut self, _: f64) {
        self.window.collapse(self.pipe);
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{MSS, Pipe, ack};

    /// A full pipe delivers at the bottleneck's rate; a hundred rounds leave 0.9^100 = 3e-5 of the error.
    #[test]
    fn the_estimate_converges_to_the_rate_of_the_bottleneck() {
        for filter in [Filter::Paper, Filter::Linux] {
            let mut cc = new(&Params { filter, ..Params::default() }, Start::with_window(110.0));
            cc.window.ssthresh = 110.0;
            let mut pipe = Pipe::new(1000.0, 0.1, 1e9);
            pipe.run(&mut cc, 20.0, |_, _| ());
            assert_relative_eq!(cc.estimate.bandwidth, 1000.0 * MSS as f64, max_relative = 1e-2);
        }
    }

    /// By hand: rounds of 10 segments in 100 ms, 100 kB/s; after two rounds 10 and 19 percent of it.
    #[test]
    fn two_rounds_by_hand() {
        let mut cc = new(&Params::default(), Start::with_window(10.0));
        cc.on_ack(&ack(0.0, 0.1, 1, 10));
        for (i, expected) in [(1_u64, 1e4), (2, 1.9e4)] {
            // All but the first segment of the round at once, then the one that ends it.
            let at = 0.1 * i as f64;
            cc.on_ack(&Ack { bytes: 9000, ..ack(at - 0.01, 0.1, 10 * i, 10 * i) });
            cc.on_ack(&ack(at, 0.1, 10 * i + 1, 10 * i + 10));
            assert_relative_eq!(cc.estimate.bandwidth, expected, max_relative = 1e-9);
        }
    }
}
