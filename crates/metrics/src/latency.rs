//! Variation of delay, and the latency that load adds.

use wifair_units::Duration;

/// Interarrival jitter by RFC 3550, section 6.4.1: the difference of the transit times of successive packets, smoothed
/// by `J += (|D| - J) / 16`. Transit times may contain a constant offset, such as that between two clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Jitter {
    /// Transit time of the last packet, in ns.
    last: i64,
    smoothed: f64,
    /// Packets counted, up to 2.
    packets: u32,
}

impl Jitter {
    /// Adds the transit time of the next packet that arrived, in ns.
    #[inline]
    pub fn add(&mut self, transit_ns: i64) {
        let difference = self.differs(transit_ns);
        if self.packets > 1 {
            self.smoothed += (difference - self.smoothed) * 0.0625;
        } else {
            self.begin(difference);
        }
    }

    /// Adds `count` transit times, each shorter than the one before by `step_ns`.
    #[inline]
    #[allow(clippy::cast_precision_loss)]
    pub fn add_falling(&mut self, most_ns: i64, step_ns: i64, count: u64) {
        let (mut next_ns, mut left) = (most_ns, count);
        while left > 0 && (self.packets < 2 || left == count) {
            self.add(next_ns);
            next_ns -= step_ns;
            left -= 1;
        }
        let (difference, mut smoothed) = ((step_ns as f64).abs(), self.smoothed);
        for _ in 0..left {
            smoothed += (difference - smoothed) * 0.0625;
        }
        self.smoothed = smoothed;
        self.last -= step_ns * left.cast_signed();
    }

    /// Adds the transit times of packets that arrived one after the other.
    #[inline]
    pub fn add_all(&mut self, transits: impl Iterator<Item = Duration>) {
        if self.packets < 2 {
            return transits.for_each(|transit| self.add(transit.as_nanos().cast_signed()));
        }
        let mut jitter = *self; // in registers
        for transit in transits {
            let difference = jitter.differs(transit.as_nanos().cast_signed());
            jitter.smoothed += (difference - jitter.smoothed) * 0.0625;
        }
        *self = jitter;
    }

    /// Difference of a transit time from the last one, in ns; it becomes the last one.
    #[inline]
    fn differs(&mut self, transit_ns: i64) -> f64 {
        let last = std::mem::replace(&mut self.last, transit_ns);
        (transit_ns.wrapping_sub(last) as f64).abs()
    }

    /// Handles the first two packets: the first gives no difference, the second the first one.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, difference: f64) {
        if self.packets == 1 {
            self.smoothed = difference * 0.0625;
        }
        self.packets += 1;
    }

    /// The jitter now, in seconds; NaN before the second packet.
    pub fn seconds(&self) -> f64 {
        if self.packets > 1 { self.smoothed / 1e9 } else { f64::NAN }
    }
}

/// The grade that common tests of "bufferbloat" (DSLReports, Waveform) give to a connection, by the increase of its
/// latency under load: A+ below 5 ms, A below 30 ms, B below 60 ms, C below 200 ms, D below 400 ms, else F. `None`
/// without a measurement.
///
/// ```
/// assert_eq!(wifair_metrics::bufferbloat_grade(0.045), Some("B"));
/// ```
pub fn bufferbloat_grade(increase_s: f64) -> Option<&'static str> {
    const GRADES: [(f64, &str); 5] = [(5e-3, "A+"), (30e-3, "A"), (60e-3, "B"), (200e-3, "C"), (400e-3, "D")];
    if increase_s.is_nan() {
        return None;
    }
    Some(GRADES.iter().find(|(below, _)| increase_s < *below).map_or("F", |(_, grade)| grade))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: transit times of 10, 26, 10 ms differ by 16 ms twice: 16/16 = 1 ms, then 1 + 15/16 ms.
    #[test]
    fn jitter_is_smoothed_as_in_the_rfc() {
        let mut jitter = Jitter::default();
        jitter.add(10_000_000);
        assert!(jitter.seconds().is_nan());
        jitter.add(26_000_000);
        assert!((jitter.seconds() - 1e-3).abs() < 1e-12);
        jitter.add(10_000_000);
        assert!((jitter.seconds() - 1.9375e-3).abs() < 1e-12);
    }

    #[test]
    fn transits_added_together_equal_single_ones() {
        let transits = [9, 4, 30, 2, 17, 17, 80].map(Duration::from_millis);
        let mut alone = Jitter::default();
        transits.iter().for_each(|transit| alone.add(transit.as_nanos().cast_signed()));
        for first in 0..transits.len() {
            let mut together = Jitter::default();
            together.add_all(transits[..first].iter().copied());
            together.add_all(transits[first..].iter().copied());
            assert_eq!(together.seconds().to_bits(), alone.seconds().to_bits());
        }
    }

    #[test]
    fn falling_transits_count_one_by_one() {
        for (before, step) in [(0, 3), (1, 3), (2, 3), (5, 0), (5, -7)] {
            let (mut together, mut alone) = (Jitter::default(), Jitter::default());
            for transit in (0..before).map(|place| 100 * place) {
                together.add(transit);
                alone.add(transit);
            }
            for count in [0, 1, 4] {
                together.add_falling(1000, step, count);
                (0..count.cast_signed()).for_each(|place| alone.add(1000 - step * place));
                assert_eq!(together.seconds().to_bits(), alone.seconds().to_bits(), "{before} {step} {count}");
            }
        }
    }

    #[test]
    fn grades_have_the_published_bounds() {
        let grades =
            [(0.0, "A+"), (0.0049, "A+"), (0.005, "A"), (0.03, "B"), (0.06, "C"), (0.2, "D"), (0.4, "F"), (9.0, "F")];
        for (increase, grade) in grades {
            assert_eq!(bufferbloat_grade(increase), Some(grade), "{increase}");
        }
        assert_eq!(bufferbloat_grade(f64::NAN), None);
    }
}
