//! Tsunami UDP: sends at a target rate, slower while the receiver reports many errors.
//!
//! Source: M. R. Meiss, "Tsunami: A High-Speed Rate-Controlled Protocol for File Transfer", 2004, and the defaults and
//! formula of the public tsunami-udp program (threshold 7.5 %, factors 25/24 and 5/6, a report each 350 ms). With `e`
//! the error rate of a report in thousandths of a percent and E the threshold, the delay between segments becomes
//!
//! ```text
//! e > E: ipd * (1 + (25/24 - 1) * (1 + e - E) / (100000 - E)),   else ipd * 5/6
//! limited to between the delay at the target rate and 10 ms;   e has a quarter of the previous e
//! ```
//!
//! Modelled: the rate control on top of this crate's reliable transport, with ACKs instead of the control channel; an
//! error is a segment that the sender considers lost. There is no window; the reported one is the amount sent in four
//! round trips plus 64 segments, so that it never limits.
//!
//! As with the program, the user should set the target near the rate of the path: from 650 Mb/s it takes many reports
//! to slow down. Lost retransmissions require `stack = "modern"` (RACK); other stacks wait for timeouts.

use wifair_config::table;
use wifair_units::{BitRate, Duration, Time};

use crate::cc::{Ack, CongestionControl, Start};

table! {
    /// Tsunami's rate control (M. R. Meiss, 2004).
    pub struct Params {
        /// Sending rate while the error rate is below the threshold.
        pub target_rate: BitRate = BitRate::from_mbps(650), "more than 0 b/s" => |v| v.as_bps() > 0;
        /// Error rate above which the sender slows down, as a fraction.
        pub error_rate: f64 = 0.075, "between 0 and 1" => |v| (0.0..1.0).contains(v);
        /// Factor of the delay between segments when every segment is lost.
        pub slower: f64 = 25.0 / 24.0, "more than 1" => |v| *v > 1.0;
        /// Factor of the delay between segments below the threshold.
        pub faster: f64 = 5.0 / 6.0, "between 0 and 1" => |v| *v > 0.0 && *v < 1.0;
        /// Weight of the previous error rate in the average.
        pub history: f64 = 0.25, "between 0 and 1" => |v| (0.0..1.0).contains(v);
        /// Interval of the receiver's reports.
        pub update_period: Duration = Duration::from_millis(350), "longer than 0 s" => |v| *v > Duration::ZERO;
    }
}

/// Maximum delay between segments, in seconds.
const LONGEST: f64 = 0.01;

/// State of Tsunami.
#[derive(Clone, Debug)]
pub struct Tsunami {
    params: Params,
    mss: f64,
    /// Delay between segments, in seconds.
    delay: f64,
    rtt: f64,
    error: f64,
    lost: f64,
    arrived: f64,
    reported: Option<Time>,
}

/// Tsunami at the start of a connection.
pub fn new(params: &Params, start: Start) -> Tsunami {
    let mut tsunami = Tsunami {
        params: params.clone(),
        mss: start.mss.max(1.0),
        delay: 0.0,
        rtt: 0.1,
        error: 0.0,
        lost: 0.0,
        arrived: 0.0,
        reported: None,
    };
    // The program starts with three times the delay of the target rate.
    tsunami.delay = 3.0 * tsunami.shortest();
    tsunami
}

impl Tsunami {
    /// Delay between segments at the target rate, in seconds.
    fn shortest(&self) -> f64 {
        self.mss * 8.0 / self.params.target_rate.as_bps() as f64
    }

    fn report(&mut self) {
        let Params { error_rate, slower, faster, history, .. } = self.params;
        let total = self.lost + self.arrived;
        let fresh = if total > 0.0 { self.lost / total } else { 0.0 };
        self.error = history * self.error + (1.0 - history) * fresh;
        // The program counts in thousandths of a percent, hence 1e-5.
        let factor = if self.error > error_rate {
            1.0 + (slower - 1.0) * (1e-5 + self.error - error_rate) / (1.0 - error_rate)
        } else {
            faster
        };
        let shortest = self.shortest();
        self.delay = (self.delay * factor).clamp(shortest, LONGEST.max(shortest));
        (self.lost, self.arrived) = (0.0, 0.0);
    }
}

impl CongestionControl for Tsunami {
    fn on_ack(&mut self, ack: &Ack) {
        self.mss = ack.mss;
        if ack.srtt.as_secs() > 0.0 {
            self.rtt = ack.srtt.as_secs();
        }
        self.lost += ack.lost;
        self.arrived += ack.bytes as f64 / ack.mss;
        let since = *self.reported.get_or_insert(ack.now);
        if ack.now.saturating_since(since) >= self.params.update_period {
            self.report();
            self.reported = Some(ack.now);
        }
    }

    /// Only reports change the rate.
    fn on_loss(&mut self, _: f64) {}

    fn on_rto(&mut self, _: f64) {}

    fn on_ecn(&mut self, _: f64) {}

    fn takes_marks_for_losses(&self) -> bool {
        false
    }

    fn on_rto_again(&mut self) {
        self.on_rto(0.0);
    }

    fn on_idle_restart(&mut self, _: f64) {
        self.reported = None;
    }

    fn cwnd(&self) -> f64 {
        (4.0 * self.rtt / self.delay + 64.0).min(1e9)
    }

    /// There is no threshold.
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.mss / self.delay)
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

    /// By hand: 650 Mb/s with 1000-byte segments are 12.3 us. Reports of 9 % are 6.75 and 8.4375 % after
    /// smoothing; the second, above 7.5 %, gives 1 + 1/24 * (1 + 8437.5 - 7500) / 92500.
    #[test]
    fn the_delay_by_hand() {
        let mut cc = new(&Params::default(), Start::with_window(1.0));
        let shortest = 8000.0 / 650e6;
        cc.delay = 1e-3;
        let report = |cc: &mut Tsunami| {
            (cc.lost, cc.arrived) = (9.0, 91.0);
            cc.report();
        };
        report(&mut cc);
        assert_relative_eq!(cc.delay, 1e-3 * 5.0 / 6.0, max_relative = 1e-9);
        let before = cc.delay;
        report(&mut cc);
        assert_relative_eq!(cc.delay, before * (1.0 + (1.0 + 8437.5 - 7500.0) / 92_500.0 / 24.0), max_relative = 1e-9);
        for _ in 0..100 {
            cc.report();
        }
        assert_relative_eq!(cc.delay, shortest, max_relative = 1e-9);
    }

    /// Below the bottleneck's rate nothing is lost and the target rate is kept: 5 of 8 Mb/s.
    #[test]
    fn the_target_rate_is_kept_where_the_path_carries_it() {
        let params = Params { target_rate: BitRate::from_mbps(5), ..Params::default() };
        let mut cc = new(&params, Start::with_window(10.0));
        let mut pipe = BottleneckPath::new(1000.0, 0.05, 100.0);
        pipe.run(&mut cc, 5.0, |_, _| ());
        let before = pipe.acked;
        pipe.run(&mut cc, 15.0, |_, _| ());
        assert_relative_eq!((pipe.acked - before) as f64, 625.0 * 10.0, max_relative = 0.01);
    }

    #[test]
    fn a_report_comes_each_350_ms() {
        let mut cc = new(&Params::default(), Start::with_window(1.0));
        let before = cc.delay;
        cc.on_ack(&ack(0.0, 0.1, 1, 2));
        cc.on_ack(&ack(0.349, 0.1, 2, 3));
        assert_eq!(cc.delay, before);
        cc.on_ack(&ack(0.35, 0.1, 3, 4));
        assert_relative_eq!(cc.delay, before * 5.0 / 6.0);
    }
}
