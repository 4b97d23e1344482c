//! TCP Westwood+: Westwood with one bandwidth sample per round trip, which is robust against ACK compression.
//!
//! Source: L. A. Grieco and S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP
//! Congestion Control", 2004:
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
//! | `linux` | Linux's tcp_westwood: a round is the last round-trip time by the clock, at least 50 ms; two filters with a = 7/8 follow each other; the first sample is taken as it is; a loss leaves half the window, and the end of recovery `BWE * RTTmin`; a timeout measures RTTmin anew; round-trip times are rounded up to whole ticks of the clock (`tick`): with HZ = 100 a path of 20.3 ms counts as 30 ms |
//! | `ns2` | tcp_westwood of Linux 2.6.22 as ns-2's Agent/TCP/Linux runs it: as `linux`, but in whole milliseconds and bytes per millisecond, rounded down; RTTmin is the smallest *smoothed* round-trip time, so that a connection which meets a full queue never learns the base; the threshold is half the window, and the window returns to it when recovery ends above `BWE * RTTmin`; slow start still holds when the window equals the threshold, and acknowledged bytes let it grow by whole segments |

use wifair_config::{choice, table};
use wifair_units::{Duration, Time};

use crate::cc::westwood::Counter;
use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, Start, Window};

choice! {
    /// Which implementation of the filter.
    pub enum EstimateFilter {
        /// The paper of 2004.
        Paper = "paper",
        /// Linux's tcp_westwood.
        Linux = "linux",
        /// ns-2's Agent/TCP/Linux.
        Ns2 = "ns2",
    }
}

table! {
    /// TCP Westwood+ (L. A. Grieco and S. Mascolo, 2004).
    pub struct Params {
        /// Which implementation of the filter.
        pub filter: EstimateFilter = EstimateFilter::Paper;
        /// Weight of the previous estimate in the paper's filter.
        pub keep: f64 = 0.9, "between 0 and 1" => |v| (0.0..1.0).contains(v);
        /// Clock tick with which `linux` measures (the kernel's 1 / HZ); exact if not set.
        pub tick: Option<Duration> = None;
    }
    check(params, at) {
        at.only_for("tick", &mut params.tick, "filter", (params.filter, EstimateFilter::Linux));
        if params.tick.is_some_and(|tick| tick == Duration::ZERO || tick > Duration::from_millis(100)) {
            at.problem("tick", "a tick is above 0 and at most 100 ms", "write tick = \"4 ms\" for HZ = 250");
        }
    }
}

/// Minimum interval of a sample in Linux.
const SHORTEST: Duration = Duration::from_millis(50);

fn whole_ms(time: Duration) -> f64 {
    libm::floor(time.as_secs() * 1e3 + 1e-6)
}

/// Bandwidth estimate with one sample per round; also used by TCP-Fusion and Adaptive Reno.
#[derive(Clone, Debug)]
pub(super) struct RoundEstimate {
    filter: EstimateFilter,
    keep: f64,
    tick: Duration,
    /// Estimate in bytes per second.
    pub(super) bandwidth: f64,
    inner: f64,
    bytes: f64,
    since: Option<Time>,
    round: Round,
    counter: Counter,
}

impl Default for RoundEstimate {
    fn default() -> Self {
        Self::new(&Params::default())
    }
}

impl RoundEstimate {
    fn new(params: &Params) -> Self {
        Self {
            filter: params.filter,
            keep: params.keep,
            tick: params.tick.unwrap_or(Duration::ZERO),
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
        match self.filter {
            EstimateFilter::Paper => {}
            EstimateFilter::Linux => return self.ack_as_linux(ack),
            EstimateFilter::Ns2 => return self.ack_as_ns2(ack),
        }
        self.bytes += self.counter.arrived(ack);
        let ends = self.round.ends(ack);
        let Some(since) = self.since else {
            // The first round began before the first ACK.
            self.bytes = 0.0;
            self.since = Some(ack.now);
            return;
        };
        let elapsed = ack.now.saturating_since(since);
        if ends && elapsed > Duration::ZERO {
            let sample = self.bytes / elapsed.as_secs();
            self.bandwidth = self.keep * self.bandwidth + (1.0 - self.keep) * sample;
            self.bytes = 0.0;
            self.since = Some(ack.now);
        }
    }

    /// An RTT by Linux's clock, in seconds: rounded up to whole ticks.
    fn by_clock(&self, rtt: Duration) -> f64 {
        let tick = self.tick.as_nanos().max(1);
        rtt.as_nanos().div_ceil(tick) as f64 * tick as f64 * 1e-9
    }

    /// Linux's clock; the ACK that ends a round belongs to the next one.
    fn ack_as_linux(&mut self, ack: &Ack) {
        let since = *self.since.get_or_insert(ack.now);
        let tick = self.tick.as_nanos().max(1);
        let elapsed = (ack.now.as_nanos() / tick - since.as_nanos() / tick) as f64 * tick as f64 * 1e-9;
        if elapsed > self.by_clock(ack.rtt.unwrap_or(ack.srtt)).max(SHORTEST.as_secs()) {
            let sample = self.bytes / elapsed;
            if self.inner == 0.0 && self.bandwidth == 0.0 {
                (self.inner, self.bandwidth) = (sample, sample);
            } else {
                self.inner = (7.0 * self.inner + sample) / 8.0;
                self.bandwidth = (7.0 * self.bandwidth + self.inner) / 8.0;
            }
            self.bytes = 0.0;
            self.since = Some(ack.now);
        }
        self.bytes += self.counter.arrived(ack);
    }

    /// Whole milliseconds; the ACK that ends a round belongs to the next one.
    fn ack_as_ns2(&mut self, ack: &Ack) {
        let Some(since) = self.since else {
            // The first ACK starts the clock, and does not count.
            self.since = Some(ack.now);
            return;
        };
        let elapsed = whole_ms(ack.now.saturating_since(Time::ZERO)) - whole_ms(since.saturating_since(Time::ZERO));
        if elapsed > whole_ms(ack.srtt).max(SHORTEST.as_secs() * 1e3) {
            let sample = libm::floor(self.bytes / elapsed);
            let (inner, outer) = (self.inner, self.bandwidth / 1e3);
            if inner == 0.0 && outer == 0.0 {
                (self.inner, self.bandwidth) = (sample, sample * 1e3);
            } else {
                self.inner = libm::floor((7.0 * inner + sample) / 8.0);
                self.bandwidth = libm::floor((7.0 * outer + self.inner) / 8.0) * 1e3;
            }
            self.bytes = 0.0;
            self.since = Some(ack.now);
        }
        self.bytes += self.counter.arrived(ack);
    }
}

/// State of Westwood+.
#[derive(Clone, Debug)]
pub struct WestwoodPlus {
    window: Window,
    estimate: RoundEstimate,
    pipe: f64,
    /// With [`EstimateFilter::Ns2`] the smallest SRTT in whole milliseconds; with [`EstimateFilter::Linux`] the minimum
    /// RTT by its clock since the last timeout, in seconds.
    least: f64,
    /// With [`EstimateFilter::Ns2`], segments acknowledged since the window last grew.
    acks: f64,
}

/// Westwood+ at the start of a connection.
pub fn new(params: &Params, start: Start) -> WestwoodPlus {
    WestwoodPlus {
        window: Window::new(start),
        estimate: RoundEstimate::new(params),
        pipe: 2.0,
        least: f64::INFINITY,
        acks: 0.0,
    }
}

impl WestwoodPlus {
    fn ack_as_ns2(&mut self, ack: &Ack) {
        if ack.srtt > Duration::ZERO {
            self.least = self.least.min(whole_ms(ack.srtt));
            self.pipe = libm::floor(self.estimate.bandwidth * 1e-3 * self.least / ack.mss).max(2.0);
        }
        self.acks += ack.bytes as f64 / ack.mss;
        if ack.may_grow() && ack.segments > 0.0 {
            self.window.grow_in_whole_segments(&mut self.acks);
        }
    }

    const fn is_linux(&self) -> bool {
        matches!(self.estimate.filter, EstimateFilter::Linux)
    }

    const fn is_ns2(&self) -> bool {
        matches!(self.estimate.filter, EstimateFilter::Ns2)
    }
}

impl CongestionControl for WestwoodPlus {
    by_window!(only on_idle_restart, on_spurious);

    fn on_recovery_exit(&mut self, at_most: f64) {
        if self.is_ns2() {
            self.window.set(self.window.cwnd.max(self.window.ssthresh));
        } else if self.is_linux() {
            self.window.ssthresh = self.pipe;
            self.window.set(self.pipe);
        }
        self.window.limit(at_most);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.estimate.ack(ack);
        if self.is_ns2() {
            self.ack_as_ns2(ack);
            return;
        }
        if self.is_linux() {
            self.least = self.least.min(ack.rtt.map_or(f64::INFINITY, |rtt| self.estimate.by_clock(rtt)));
            if self.least.is_finite() {
                self.pipe = libm::floor(self.estimate.bandwidth * self.least / ack.mss).max(2.0);
            }
        } else if ack.min_rtt != Duration::MAX {
            self.pipe = self.estimate.bandwidth * ack.min_rtt.as_secs() / ack.mss;
        }
        self.window.grow_on(ack, 1.0);
    }

    fn on_loss(&mut self, _: f64) {
        if self.is_ns2() {
            self.window.reduce(libm::floor(self.window.cwnd / 2.0));
            self.window.set(self.pipe);
            self.acks = 0.0;
        } else if self.is_linux() {
            self.window.reduce(libm::floor(self.window.cwnd / 2.0));
        } else {
            self.window.reduce(self.pipe);
        }
    }

    fn on_rto(&mut self, _: f64) {
        if self.is_ns2() {
            self.window.collapse(libm::floor(self.window.cwnd / 2.0));
            self.acks = 0.0;
        } else {
            self.window.collapse(self.pipe);
            self.least = f64::INFINITY;
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, MSS, ack};

    /// A full pipe delivers at the bottleneck's rate; a hundred rounds leave 0.9^100 = 3e-5 of the error.
    #[test]
    fn the_estimate_converges_to_the_rate_of_the_bottleneck() {
        for filter in [EstimateFilter::Paper, EstimateFilter::Linux] {
            let mut cc = new(&Params { filter, ..Params::default() }, Start::with_window(110.0));
            cc.window.ssthresh = 110.0;
            let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
            pipe.run(&mut cc, 20.0, |_, _| ());
            assert_relative_eq!(cc.estimate.bandwidth, 1000.0 * MSS as f64, max_relative = 1e-2);
        }
    }

    /// By hand: rounds of 10 segments in 100 ms, 100 kB/s; after two rounds the estimate is 10 and 19 percent of it.
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

    /// By hand, HZ = 100: an RTT of 20.3 ms counts as three ticks. 60 segments of 1000 B in 60 ms are 1 MB/s, which
    /// fill 30 of 30 ms. A loss at 50 segments leaves 25, the end of recovery the bandwidth-delay product.
    #[test]
    fn linux_rounds_up_to_ticks_and_decides_at_the_end_of_recovery() {
        let params =
            Params { filter: EstimateFilter::Linux, tick: Some(Duration::from_millis(10)), ..Params::default() };
        let mut cc = new(&params, Start { ssthresh: 2.0, ..Start::with_window(50.0) });
        for i in 0..=60_u64 {
            cc.on_ack(&ack(0.105 + 0.001 * i as f64, 0.0203, i, i + 50));
        }
        assert_relative_eq!(cc.estimate.bandwidth, 1e6, max_relative = 0.1);
        let pipe = libm::floor(cc.estimate.bandwidth * 0.03 / 1000.0);
        cc.window.cwnd = 50.0;
        cc.on_loss(50.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (25.0, 25.0));
        cc.on_recovery_exit(f64::INFINITY);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (pipe, pipe));
        assert!((27.0..=30.0).contains(&pipe), "{pipe}");
    }

    /// A trace of ns-2's Agent/TCP/Linux: threshold 2, so one ACK of slow start and then three for the next segment. A
    /// loss at 4 segments leaves a threshold of 2, to which the window returns if the measured bandwidth is low.
    #[test]
    fn the_window_of_ns2_by_hand() {
        let params = Params { filter: EstimateFilter::Ns2, ..Params::default() };
        let mut cc = new(&params, Start { ssthresh: 2.0, ..Start::with_window(2.0) });
        let windows: Vec<_> = (0..4)
            .map(|i| {
                cc.on_ack(&ack(0.03 * i as f64, 0.03, i, i + 3));
                cc.cwnd()
            })
            .collect();
        assert_eq!(windows, [3.0, 3.0, 3.0, 4.0]);
        cc.on_loss(4.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 2.0));
        cc.window.cwnd = 12.0;
        cc.on_loss(12.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (2.0, 6.0));
        cc.on_recovery_exit(f64::INFINITY);
        assert_eq!(cc.cwnd(), 6.0);
    }

    /// A connection that starts with a full queue mistakes the queueing delay for path delay: ns-2 keeps the smallest
    /// SRTT.
    #[test]
    fn ns2_looks_at_the_smallest_smoothed_round_trip_time() {
        let mut cc = new(&Params { filter: EstimateFilter::Ns2, ..Params::default() }, Start::with_window(20.0));
        for i in 0..400_u64 {
            cc.on_ack(&Ack { srtt: Duration::from_millis(90), ..ack(0.005 * i as f64, 0.02, i, i + 20) });
        }
        // 200 segments of 1000 B each second over 90 ms: 18 segments, less what rounding down takes.
        assert!((16.0..=18.0).contains(&cc.pipe), "{}", cc.pipe);
    }

    #[test]
    fn windows_follow_the_published_rules() {
        for (name, filter) in [("westwood-plus", EstimateFilter::Paper), ("westwood-plus-linux", EstimateFilter::Linux)]
        {
            crate::cc::testing::follow(name, |start| new(&Params { filter, ..Params::default() }, start));
        }
    }

    /// Linux, tcp_westwood: a sample takes more than the RTT and more than 50 ms. 51 segments of 1000 B that came in 51
    /// ms, without the one that ends the round, are 1 MB/s. The next sample is half of that, and passes two filters
    /// with a weight of an eighth each. In ns-2 the first ACK starts the clock and does not count.
    #[test]
    fn linux_samples_after_more_than_fifty_milliseconds() {
        for (filter, uncounted) in [(EstimateFilter::Linux, 0), (EstimateFilter::Ns2, 1)] {
            for (rtt, samples_at) in [(0.02, 51), (0.0601, 61)] {
                let mut cc = new(&Params { filter, ..Params::default() }, Start::with_window(200.0));
                let mut una = 0;
                for ms in 0..=samples_at {
                    assert_eq!(cc.estimate.bandwidth, 0.0, "{filter:?}, {ms} ms");
                    una += 1;
                    cc.on_ack(&ack(0.001 * f64::from(1000 + ms), rtt, una, una + 200));
                }
                // ns-2 counts whole bytes a millisecond.
                let bytes_per_ms = 1000 * (samples_at - uncounted) / samples_at;
                let first = f64::from(bytes_per_ms) / 1000.0;
                assert_relative_eq!(cc.estimate.bandwidth, 1e6 * first, max_relative = 1e-9);
                for ms in (samples_at + 2..=2 * samples_at + 2).step_by(2) {
                    una += 1;
                    cc.on_ack(&ack(0.001 * f64::from(1000 + ms), rtt, una, una + 200));
                }
                let sample = 0.5 * (1.0 + 1.0 / f64::from(samples_at + 1));
                let inner = (7.0 * first + sample) / 8.0;
                let expected = 1e6 * (7.0 * first + inner) / 8.0;
                assert_relative_eq!(cc.estimate.bandwidth, expected, max_relative = 2e-3);
            }
        }
    }
}
