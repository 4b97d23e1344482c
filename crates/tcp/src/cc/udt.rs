//! UDT: the sending rate grows every 10 ms by a step that depends on the unused capacity, and falls by a ninth on loss.
//!
//! Source: Y. Gu and R. L. Grossman, "UDT: UDP-based Data Transfer for High-Speed Wide Area Networks", 2007, and Y. Gu,
//! draft-gg-udt-03, 2010, section 7.2:
//!
//! ```text
//! each SYN = 10 ms, in packets: inc = max(10^ceil(log10(B)) * 1.5e-6 / mss, 1 / mss),   B = unused capacity in bit/s
//!                               period = period * SYN / (period * inc + SYN)
//! loss:    period *= 1.125;   window = receiving rate * (RTT + SYN) + 16
//! start:   the window grows by what is acknowledged until the first loss; then period = 1 / receiving rate
//! ```
//!
//! Modelled: the rate and window control of UDT on top of this crate's reliable transport, so segments are acknowledged
//! as in TCP instead of every 10 ms, retransmission is TCP's, and a loss event is a fast recovery. The random further
//! decreases within a congestion period are left out. The draft ends slow start at the first ACK; here it lasts until a
//! loss, as in UDT's own program, which also ends it at a maximum window. UDT measures the link capacity by packet
//! pairs, which require a cooperating receiver; here it is a setting, by default the largest rate at which segments
//! were acknowledged.

use wifair_config::table;
use wifair_units::{BitRate, Time};

use crate::cc::{Ack, CongestionControl, Start};

table! {
    /// UDT's rate control (Y. Gu and R. L. Grossman, 2007).
    pub struct Params {
        /// Capacity of the bottleneck, as packet pairs would measure it.
        pub capacity: Option<BitRate> = None;
    }
}

/// Interval of the rate control, in seconds.
const SYN: f64 = 0.01;
/// Factor of the period on loss.
const DECREASE: f64 = 1.125;
/// Segments added to the window beyond what the rate fills.
const SPARE: f64 = 16.0;
/// Maximum window in segments; keeps arithmetic finite.
const MOST: f64 = 1e9;

/// State of UDT.
#[derive(Clone, Debug, Default)]
pub struct Udt {
    /// Configured capacity, in bytes per second.
    capacity: Option<f64>,
    mss: f64,
    slow_start: bool,
    cwnd: f64,
    /// Seconds between segments; zero while only the window limits.
    period: f64,
    /// Period before the last decrease.
    period_before: f64,
    /// Bytes acknowledged since the last SYN interval, and its time.
    bytes: u64,
    since: Option<Time>,
    /// Receiving rate and its maximum, in bytes per second.
    rate: f64,
    peak: f64,
    rtt: f64,
    lost: bool,
}

/// UDT at the start of a connection.
pub fn new(params: &Params, start: Start) -> Udt {
    Udt {
        capacity: params.capacity.map(|rate| rate.as_bps() as f64 / 8.0),
        mss: start.mss.max(1.0),
        slow_start: true,
        cwnd: start.window.clamp(1.0, MOST).max(SPARE),
        ..Udt::default()
    }
}

/// Packets added to the number sent per SYN interval, with `spare` bit/s of unused capacity.
fn increment(spare: f64, mss: f64) -> f64 {
    let least = 1.0 / mss;
    if spare <= 0.0 {
        return least;
    }
    (libm::pow(10.0, libm::ceil(libm::log10(spare))) * 1.5e-6 / mss).max(least)
}

impl Udt {
    fn interval(&mut self, elapsed: f64) {
        let rate = self.bytes as f64 / elapsed;
        // The receiver's reports are smoothed with 7/8 (draft-gg-udt-03, section 6.2).
        self.rate = if self.rate == 0.0 { rate } else { 0.875 * self.rate + 0.125 * rate };
        self.peak = self.peak.max(self.rate);
        let acked = self.bytes as f64 / self.mss;
        if self.slow_start {
            self.cwnd = (self.cwnd + acked).min(MOST);
            return;
        }
        self.cwnd = (self.rate / self.mss * (self.rtt + SYN) + SPARE).min(MOST);
        if std::mem::take(&mut self.lost) {
            return;
        }
        let capacity = self.capacity.unwrap_or(self.peak);
        let mut spare = capacity - self.mss / self.period;
        if self.period > self.period_before {
            spare = spare.min(capacity / 9.0);
        }
        let inc = increment(8.0 * spare, self.mss);
        self.period = self.period * SYN / (self.period * inc + SYN);
    }

    fn end_slow_start(&mut self) {
        self.slow_start = false;
        let by_rate = if self.rate > 0.0 { self.mss / self.rate } else { (self.rtt + SYN) / self.cwnd };
        self.set_period(by_rate);
        self.period_before = self.period;
    }

    /// Sets the period, limited to a minute so that sending resumes.
    fn set_period(&mut self, period: f64) {
        self.period = period.clamp(1e-9, 60.0);
    }
}

impl CongestionControl for Udt {
    fn on_ack(&mut self, ack: &Ack) {
        self.mss = ack.mss;
        if ack.srtt.as_secs() > 0.0 {
            self.rtt = ack.srtt.as_secs();
        }
        self.bytes += ack.bytes;
        let since = *self.since.get_or_insert(ack.now);
        let elapsed = ack.now.saturating_since(since).as_secs();
        if elapsed >= SYN {
            self.interval(elapsed);
            self.bytes = 0;
            self.since = Some(ack.now);
        }
    }

    fn on_loss(&mut self, _: f64) {
        if self.slow_start {
            self.end_slow_start();
        } else {
            self.period_before = self.period;
            self.set_period(self.period * DECREASE);
            self.lost = true;
        }
    }

    /// A timeout ends slow start and leaves the rate unchanged.
    fn on_rto(&mut self, _: f64) {
        if self.slow_start {
            self.end_slow_start();
        }
    }

    fn on_rto_again(&mut self) {
        self.on_rto(0.0);
    }

    /// The rate is kept.
    fn on_idle_restart(&mut self, _: f64) {
        self.since = None;
        self.bytes = 0;
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// There is no threshold: infinite until the first loss, then the window.
    fn ssthresh(&self) -> f64 {
        if self.slow_start { f64::INFINITY } else { self.cwnd }
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.period > 0.0).then(|| self.mss / self.period)
    }

    fn rules_recovery(&self) -> bool {
        true
    }

    fn wants_every_rtt(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, ack};

    /// Y. Gu and R. L. Grossman, 2007, table of increments: packets of 1500 bytes per SYN interval for unused
    /// capacities in Mb/s.
    #[test]
    fn the_increase_matches_the_table_of_the_paper() {
        for (mbps, inc) in
            [(10_000.0, 10.0), (1000.0, 1.0), (100.0, 0.1), (10.0, 0.01), (1.0, 0.001), (0.1, 0.00067), (0.0, 0.00067)]
        {
            assert_relative_eq!(increment(mbps * 1e6, 1500.0), inc, max_relative = 0.01);
        }
    }

    #[test]
    fn a_loss_takes_a_ninth_off_the_rate() {
        let mut cc = new(&Params::default(), Start::with_window(16.0));
        cc.on_loss(16.0);
        cc.set_period(0.001);
        let before = cc.pacing_rate().expect("it paces after the start");
        cc.on_loss(16.0);
        assert_relative_eq!(cc.pacing_rate().expect("it paces"), before * 8.0 / 9.0);
    }

    /// A bottleneck of 12.5 Mb/s (segments of 1000 bytes at 1562.5 a second) is used to more than 8/9 between losses,
    /// since a loss takes only a ninth off the rate.
    #[test]
    fn the_pipe_is_kept_full() {
        let params = Params { capacity: Some(BitRate::from_kbps(12_500)) };
        let mut cc = new(&params, Start::with_window(16.0));
        let mut pipe = BottleneckPath::new(1562.5, 0.1, 100.0);
        pipe.run(&mut cc, 20.0, |_, _| ());
        let before = pipe.acked;
        pipe.run(&mut cc, 60.0, |_, _| ());
        let used = (pipe.acked - before) as f64 / (1562.5 * 40.0);
        assert!(used > 8.0 / 9.0, "{used} of the capacity");
    }

    /// draft-gg-udt-03, section 6.2, by hand, with packets of 1000 bytes: in slow start the window grows by what each
    /// SYN interval of 10 ms acknowledges, and the receiving rate is smoothed with 7/8.
    #[test]
    fn slow_start_counts_what_each_syn_acknowledges() {
        let mut cc = new(&Params::default(), Start::with_window(16.0));
        cc.on_ack(&Ack { bytes: 0, ..ack(1.0, 0.1, 0, 16) });
        cc.on_ack(&Ack { bytes: 1000, ..ack(1.009, 0.1, 1, 16) });
        assert_eq!((cc.cwnd(), cc.rate), (16.0, 0.0));
        cc.on_ack(&Ack { bytes: 1000, ..ack(1.02, 0.1, 2, 16) });
        assert_relative_eq!(cc.rate, 100_000.0, max_relative = 1e-9);
        assert_eq!((cc.cwnd(), cc.pacing_rate(), cc.ssthresh()), (18.0, None, f64::INFINITY));
        cc.on_ack(&Ack { bytes: 4000, ..ack(1.04, 0.1, 6, 16) });
        assert_relative_eq!(cc.rate, 0.875 * 100_000.0 + 0.125 * 200_000.0, max_relative = 1e-9);
        assert_eq!((cc.cwnd(), cc.bytes), (22.0, 0));
        // A pause starts a new SYN interval.
        cc.on_ack(&Ack { bytes: 4000, ..ack(1.045, 0.1, 6, 16) });
        cc.on_idle_restart(1.0);
        cc.on_ack(&Ack { bytes: 1000, ..ack(9.0, 0.1, 6, 16) });
        assert_eq!((cc.cwnd(), cc.bytes), (22.0, 1000));
    }

    /// draft-gg-udt-03, section 6.2: slow start ends with the period of the receiving rate or, before that is known,
    /// with the window spread over an RTT and a SYN interval. A timeout ends it too, and has no effect later.
    #[test]
    fn slow_start_ends_with_the_receiving_rate() {
        let mut cc = new(&Params::default(), Start::with_window(16.0));
        cc.rtt = 0.07;
        let mut known = Udt { rate: 200_000.0, ..cc.clone() };
        cc.on_rto(16.0);
        assert_relative_eq!(cc.period, 0.08 / 16.0);
        assert_eq!((cc.period_before, cc.ssthresh()), (cc.period, 16.0));
        cc.on_rto(16.0);
        assert_relative_eq!(cc.period, 0.08 / 16.0);
        known.on_loss(16.0);
        assert_relative_eq!(known.period, 0.005);
        assert!(!known.lost, "the loss that ends slow start is no decrease");
    }

    /// draft-gg-udt-03, section 6.2, by hand: at 1000 packets a second of 1000 bytes and a capacity of 80 Mb/s, 72 Mb/s
    /// are unused, so a SYN interval adds 10^8 * 1.5e-6 / 1000 = 0.15 packets. After a decrease the unused capacity is
    /// at most a ninth of the total, 8.9 Mb/s, and adds 0.015. An interval with a loss adds nothing. The window is the
    /// rate over an RTT and a SYN interval, plus 16.
    #[test]
    fn the_period_follows_from_the_spare_capacity() {
        let params = Params { capacity: Some(BitRate::from_mbps(80)) };
        let mut cc = new(&params, Start::with_window(16.0));
        (cc.slow_start, cc.period, cc.period_before, cc.rtt) = (false, 1e-3, 2e-3, 0.1);
        cc.bytes = 20_000;
        cc.interval(0.02);
        assert_relative_eq!(cc.period, 1e-3 * 0.01 / (1e-3 * 0.15 + 0.01));
        assert_relative_eq!(cc.cwnd(), 1000.0 * 0.11 + 16.0);
        (cc.period, cc.period_before) = (1e-3, 0.9e-3);
        cc.interval(0.02);
        assert_relative_eq!(cc.period, 1e-3 * 0.01 / (1e-3 * 0.015 + 0.01));
        cc.period = 1e-3;
        cc.on_loss(16.0);
        assert_relative_eq!(cc.period, 1.125e-3);
        cc.interval(0.02);
        assert_relative_eq!(cc.period, 1.125e-3);
        cc.interval(0.02);
        assert!(cc.period < 1.125e-3);
        // Without the setting the capacity is the largest rate so far, here the sending rate: nothing is unused.
        let mut own = Udt { capacity: None, rate: 1e6, period: 1e-3, period_before: 2e-3, lost: false, ..cc.clone() };
        own.peak = 0.0;
        own.interval(0.02);
        assert_relative_eq!(own.period, 1e-3 * 0.01 / (1e-3 * 0.001 + 0.01));
    }

    /// draft-gg-udt-03, section 6.1, by hand: 10 packets of 1000 B in an interval of 10 ms on a path of 72 Mb/s. After
    /// slow start 64 Mb/s are unused, which adds 0.15 packets; after a decrease the unused capacity counts for a ninth
    /// of the whole at most, 8 Mb/s, which adds 0.015. The interval in which a loss is reported adds nothing.
    #[test]
    fn after_a_decrease_a_ninth_of_the_capacity_counts() {
        let params = Params { capacity: Some(BitRate::from_mbps(72)) };
        let mut cc = new(&params, Start::with_window(16.0));
        (cc.rate, cc.rtt) = (1e6, 0.1);
        cc.on_loss(16.0);
        assert_relative_eq!(cc.period, 1e-3);
        cc.bytes = 10_000;
        cc.interval(SYN);
        assert_relative_eq!(cc.period, 1e-3 * 10.0 / 10.15, max_relative = 1e-9);
        assert_relative_eq!(cc.cwnd, 1000.0 * 0.11 + SPARE, max_relative = 1e-9);
        cc.set_period(1e-3);
        cc.on_loss(16.0);
        assert_relative_eq!(cc.period, 1.125e-3);
        cc.interval(SYN);
        assert_relative_eq!(cc.period, 1.125e-3);
        cc.interval(SYN);
        let packets = 10.0 / 1.125;
        assert_relative_eq!(cc.period, 1.125e-3 * packets / (packets + 0.015), max_relative = 1e-9);
        // A timeout after slow start leaves the rate.
        let before = cc.period;
        cc.on_rto(16.0);
        assert_eq!(cc.period, before);
    }

    /// In slow start the window grows by what arrives; without a measured rate it ends with the window per RTT and
    /// interval.
    #[test]
    fn slow_start_counts_what_arrives() {
        let mut cc = new(&Params::default(), Start::with_window(16.0));
        for i in 0..=10 {
            cc.on_ack(&ack(0.001 * i as f64, 0.1, i, 100));
        }
        assert_relative_eq!(cc.cwnd(), 16.0_f64.max(SPARE) + 11.0);
        assert_relative_eq!(cc.rate, 1.1e6);
        let mut blind = new(&Params::default(), Start::with_window(50.0));
        blind.rtt = 0.04;
        blind.on_rto(50.0);
        assert_relative_eq!(blind.period, 0.05 / 50.0);
        assert!(!blind.slow_start && blind.ssthresh() == 50.0);
    }
}
