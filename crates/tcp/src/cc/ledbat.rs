//! LEDBAT: a scavenger transport that uses spare capacity and keeps its own queueing delay at a target.
//!
//! Source: S. Shalunov, G. Hazel, J. Iyengar and M. Kuehlewind, RFC 6817, 2012, section 2.4.2, with the values of
//! section 2.5:
//!
//! ```text
//! queueing delay = current delay - base delay,   off_target = (target - queueing delay) / target
//! ACK:  cwnd += gain * off_target * acknowledged / cwnd,   between 2 and flight + 1 segments
//! loss: cwnd halves, at least 2 segments;   timeout: 1 segment
//! ```
//!
//! The current delay is the smallest of the last four samples, the base delay the smallest of the last ten minutes.
//! Delays are one-way with timestamps, else round-trip. There is no slow start; the threshold is only reported.

use wifair_config::table;
use wifair_units::{Duration, Time};

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Start, Window};

table! {
    /// LEDBAT (RFC 6817).
    pub struct Params {
        /// Target queueing delay.
        pub target: Duration = Duration::from_millis(100), "more than 0 s" => |v| *v > Duration::ZERO;
        /// Growth per round trip without a queue, in segments.
        pub gain: f64 = 1.0, "more than 0" => |v| *v > 0.0;
    }
}

/// The current delay is the minimum of this many samples (`CURRENT_FILTER`).
const CURRENT: usize = 4;
/// The base delay is the minimum of this many minutes (`BASE_HISTORY`).
const MINUTES: usize = 10;
/// Minimum window in segments (`MIN_CWND`).
const LEAST: f64 = 2.0;

/// State of LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    target: f64,
    gain: f64,
    window: Window,
    /// Last delays in seconds (ring buffer).
    current: [f64; CURRENT],
    next: usize,
    minutes: [f64; MINUTES],
    minute: u64,
    /// Minimum of `minutes`; infinite before the first sample.
    base: f64,
}

/// LEDBAT at the start of a connection.
pub fn new(params: &Params, start: Start) -> Ledbat {
    Ledbat {
        target: params.target.as_secs(),
        gain: params.gain,
        window: Window::new(start),
        current: [f64::INFINITY; CURRENT],
        next: 0,
        minutes: [f64::INFINITY; MINUTES],
        minute: 0,
        base: f64::INFINITY,
    }
}

fn slot(minute: u64) -> usize {
    (minute % MINUTES as u64) as usize
}

fn smallest(delays: &[f64]) -> f64 {
    delays.iter().copied().fold(f64::INFINITY, f64::min)
}

impl Ledbat {
    fn sample(&mut self, now: Time, delay: f64) {
        let minute = now.as_nanos() / 60_000_000_000;
        if minute > self.minute {
            for passed in (self.minute..minute).take(MINUTES) {
                self.minutes[slot(passed + 1)] = f64::INFINITY;
            }
            self.minute = minute;
            self.base = smallest(&self.minutes);
        }
        let least = &mut self.minutes[slot(minute)];
        *least = least.min(delay);
        self.base = self.base.min(delay);
        self.current[self.next] = delay;
        self.next = (self.next + 1) % CURRENT;
    }

    /// Queueing delay in seconds; `None` before the first sample.
    fn queueing(&self) -> Option<f64> {
        let current = smallest(&self.current);
        (current.is_finite() && self.base.is_finite()).then(|| (current - self.base).max(0.0))
    }
}

impl CongestionControl for Ledbat {
    by_window!(and half_of_window);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(delay) = ack.one_way_delay.or(ack.rtt) {
            self.sample(ack.now, delay.as_secs());
        }
        if ack.in_recovery || ack.segments <= 0.0 {
            return;
        }
        if let Some(queueing) = self.queueing() {
            let off_target = (self.target - queueing) / self.target;
            let cwnd = self.window.cwnd;
            let grown = cwnd + self.gain * off_target * ack.segments / cwnd;
            // The window does not grow far beyond what is in use.
            let used = ack.in_flight + ack.segments + 1.0;
            self.window.set(grown.min(used.max(cwnd)).max(LEAST.min(cwnd)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::{BottleneckPath, ack, published, time};

    /// The equilibrium is at the target delay: 100 ms at 1000 segments a second are 100 queued segments, in addition to
    /// the 101 that the path holds. It is approached from below, at the end with e^(-t/(W target/gain)).
    #[test]
    fn the_queue_settles_at_the_target() {
        let mut cc = new(&Params::default(), Start::with_window(100.0));
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.run(&mut cc, 400.0, |_, _| ());
        pipe.run(&mut cc, 420.0, |_, cc| assert!((cc.cwnd() - 201.0).abs() <= 2.0, "{}", cc.cwnd()));
    }

    /// A minimum from eleven minutes ago has expired.
    #[test]
    fn the_base_delay_is_forgotten_after_ten_minutes() {
        let mut cc = new(&Params::default(), Start::with_window(2.0));
        cc.sample(time(0.0), 0.05);
        for minute in 1..=11_u32 {
            assert_eq!(cc.minutes.contains(&0.05), minute <= 10, "minute {minute}");
            cc.sample(time(60.0 * f64::from(minute)), 0.08);
        }
    }

    #[test]
    fn a_window_that_is_not_used_does_not_run_ahead() {
        let mut cc = new(&Params::default(), Start::with_window(10.0));
        for i in 1..100 {
            cc.on_ack(&Ack { in_flight: 4.0, ..ack(0.0, 0.1, i, i + 4) });
        }
        assert_eq!(cc.cwnd(), 10.0);
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("ledbat") {
            let mut cc = new(&Params::default(), row.start);
            cc.on_ack(&row.sample(row.base));
            for _ in 0..3 {
                cc.on_ack(&row.sample(row.rtt));
            }
            cc.on_ack(&row.ack(0.0));
            row.hold(&cc);
        }
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("ledbat", |start| new(&Params::default(), start));
    }
}
