//! TCP Westwood: after a loss the window falls to the bandwidth-delay product, not to a half.
//!
//! Source: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi and R. Wang, "TCP Westwood: Bandwidth Estimation for
//! Enhanced Transport over Wireless Links", 2001. ACK k, which reports the arrival of `d` bytes, gives the sample `b`,
//! and a filter with the time constant `tau` smooths it:
//!
//! ```text
//! b(k)   = d / delta,                      delta = t(k) - t(k-1)
//! BWE(k) = a BWE(k-1) + (1 - a) (b(k) + b(k-1)) / 2,    a = (2 tau - delta) / (2 tau + delta)
//! loss:    ssthresh = BWE * RTTmin / mss
//! ```
//!
//! If no ACK arrives for `tau / m`, samples of zero are added. A duplicate ACK counts as one arrived segment; the next
//! cumulative ACK does not count that segment again. ACKs of the same instant form one sample. The threshold is at
//! least two segments. Recovery is Reno's; `westwood-nr`, called WestwoodNR in ns-2's contributed module, has the same
//! window with NewReno's recovery.

use wifair_config::table;
use wifair_units::{Duration, Time};

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Start, Window};

table! {
    /// TCP Westwood (S. Mascolo et al., 2001).
    pub struct Params {
        /// Time constant of the bandwidth filter.
        pub tau: Duration = Duration::from_millis(500), "longer than 0 s" => |v| *v > Duration::ZERO;
        /// After `tau` divided by this without an ACK, a sample of zero is added.
        pub virtual_samples: f64 = 2.0, "2 or more" => |v| *v >= 2.0;
    }
}

/// Counts the bytes that an ACK reports as arrived: duplicate ACKs count, and later ACKs do not count the same bytes
/// again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    accounted_for: f64,
}

impl Counter {
    /// Number of newly arrived bytes.
    pub(super) fn arrived(&mut self, ack: &Ack) -> f64 {
        if ack.duplicate {
            self.accounted_for += ack.mss;
            return ack.mss;
        }
        let bytes = ack.bytes as f64;
        if bytes <= ack.mss {
            return bytes;
        }
        if self.accounted_for >= bytes {
            self.accounted_for -= bytes;
            ack.mss
        } else {
            bytes - std::mem::take(&mut self.accounted_for)
        }
    }
}

/// The bandwidth filter.
#[derive(Clone, Debug, Default)]
pub(super) struct BandwidthEstimate {
    tau: f64,
    gap: f64,
    /// Estimate in bytes per second.
    pub(super) bandwidth: f64,
    sample: f64,
    last: Option<Time>,
    counter: Counter,
    pending: f64,
}

impl BandwidthEstimate {
    fn new(params: &Params) -> Self {
        let tau = params.tau.as_secs();
        Self { tau, gap: tau / params.virtual_samples, ..Self::default() }
    }

    fn ack(&mut self, ack: &Ack) {
        self.pending += self.counter.arrived(ack);
        let Some(last) = self.last else {
            // The first ACK only starts the clock.
            self.last = Some(ack.now);
            self.pending = 0.0;
            return;
        };
        let mut delta = ack.now.saturating_since(last).as_secs();
        if delta <= 0.0 {
            return;
        }
        self.last = Some(ack.now);
        let mut silent = 0;
        while delta > self.gap && silent < 64 {
            self.filter(0.0, self.gap);
            delta -= self.gap;
            silent += 1;
        }
        let delta = delta.min(self.gap);
        let sample = std::mem::take(&mut self.pending) / delta;
        self.filter(sample, delta);
    }

    fn filter(&mut self, sample: f64, delta: f64) {
        let a = (2.0 * self.tau - delta) / (2.0 * self.tau + delta);
        self.bandwidth = a * self.bandwidth + (1.0 - a) * (sample + self.sample) / 2.0;
        self.sample = sample;
    }
}

/// State of Westwood.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: Window,
    estimate: BandwidthEstimate,
    pipe: f64,
}

/// Westwood at the start of a connection.
pub fn new(params: &Params, start: Start) -> Westwood {
    Westwood { window: Window::new(start), estimate: BandwidthEstimate::new(params), pipe: 2.0 }
}

impl CongestionControl for Westwood {
    by_window!();

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.estimate.ack(ack);
        if ack.min_rtt != Duration::MAX {
            self.pipe = self.estimate.bandwidth * ack.min_rtt.as_secs() / ack.mss;
        }
        self.window.grow_on(ack, 1.0);
    }

    fn on_loss(&mut self, _: f64) {
        let cwnd = self.window.cwnd;
        self.window.reduce(self.pipe);
        self.window.limit(cwnd);
    }

    fn on_rto(&mut self, _: f64) {
        self.window.collapse(self.pipe);
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, MSS, ack};

    /// A full pipe delivers at the bottleneck's rate, so the estimate is 1000 segments of 1000 bytes a second; a loss
    /// then leaves the 100 segments that fill 100 ms. The error of the filter after 10 s is e^-20.
    #[test]
    fn the_estimate_converges_to_the_rate_of_the_bottleneck() {
        let mut cc = new(&Params::default(), Start::with_window(110.0));
        cc.window.ssthresh = 110.0;
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.run(&mut cc, 10.0, |_, _| ());
        assert_relative_eq!(cc.estimate.bandwidth, 1000.0 * MSS as f64, max_relative = 1e-3);
        cc.on_loss(cc.cwnd());
        // The minimum RTT includes the segment's own 1 ms of service.
        assert_relative_eq!(cc.cwnd(), 101.0, max_relative = 1e-3);
    }

    /// By hand, tau = 500 ms: a sample of 10 kB in 100 ms is 100 kB/s; a = (1 - 0.1)/(1 + 0.1) = 9/11, so the estimate
    /// goes to 2/11 * 100/2 kB/s, then to 9/11 of that and 2/11 of 100 kB/s.
    #[test]
    fn two_samples_by_hand() {
        let mut cc = new(&Params::default(), Start::with_window(10.0));
        cc.on_ack(&ack(0.0, 0.1, 1, 20));
        cc.on_ack(&Ack { bytes: 10_000, ..ack(0.1, 0.1, 11, 30) });
        assert_relative_eq!(cc.estimate.bandwidth, 1e5 / 11.0, max_relative = 1e-9);
        cc.on_ack(&Ack { bytes: 10_000, ..ack(0.2, 0.1, 21, 40) });
        assert_relative_eq!(cc.estimate.bandwidth, 1e5 * (9.0 / 121.0 + 2.0 / 11.0), max_relative = 1e-9);
    }

    /// A second without ACKs counts as four samples of zero; each keeps (1 - 0.25)/(1 + 0.25) = 0.6 of the estimate.
    #[test]
    fn silence_counts_as_samples_of_zero() {
        let mut cc = new(&Params::default(), Start::with_window(10.0));
        cc.estimate.bandwidth = 1e6;
        cc.on_ack(&ack(0.0, 0.1, 1, 20));
        cc.on_ack(&Ack { bytes: 0, segments: 0.0, ..ack(1.0, 0.1, 1, 20) });
        assert_relative_eq!(cc.estimate.bandwidth, 1e6 * 0.6_f64.powi(4), max_relative = 1e-9);
    }

    #[test]
    fn duplicates_count_once() {
        let mut counter = Counter::default();
        let duplicate = Ack { duplicate: true, bytes: 0, ..ack(0.0, 0.1, 1, 9) };
        assert_eq!(counter.arrived(&duplicate) + counter.arrived(&duplicate), 2000.0);
        // The ACK that fills the hole covers three segments; two of them were counted before.
        assert_eq!(counter.arrived(&Ack { bytes: 3000, ..ack(0.0, 0.1, 4, 9) }), 1000.0);
    }

    /// Casetti et al., 2002, AckedCount: a duplicate ACK stands for an arrived segment. A later ACK for several
    /// segments does not count those again; an ACK for fewer segments than were counted is a delayed ACK of one
    /// segment.
    #[test]
    fn segments_reported_by_duplicates_count_once() {
        let mut counter = Counter::default();
        let segments = |n: u64| Ack { bytes: n * MSS, ..ack(0.0, 0.1, 1, 20) };
        let dup = Ack { duplicate: true, bytes: 0, ..ack(0.0, 0.1, 1, 20) };
        let mut arrived = |ack: &Ack| counter.arrived(ack) / MSS as f64;
        assert_eq!([arrived(&dup), arrived(&dup), arrived(&dup)], [1.0; 3]);
        assert_eq!([arrived(&segments(2)), arrived(&segments(1)), arrived(&segments(4))], [1.0, 1.0, 3.0]);
        assert_eq!([arrived(&segments(4)), arrived(&Ack { bytes: MSS / 2, ..dup })], [4.0, 1.0]);
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("westwood", |start| new(&Params::default(), start));
    }
}
