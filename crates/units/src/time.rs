//! Instants and durations, in whole nanoseconds.

use std::fmt;
use std::ops::AddAssign;

/// An instant of simulated time, counted from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event: the deadline of a timer that is not set.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` ns after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Seconds since the start, as tables show them: [`Duration::nearest_secs`].
    pub fn nearest_secs(self) -> f64 {
        Duration(self.0).nearest_secs()
    }

    /// The time since `earlier`, or zero if `earlier` lies in the future.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The instant `after` later; [`Time::NEVER`] if that exceeds the range.
    #[must_use]
    pub const fn saturating_add(self, after: Duration) -> Self {
        Self(self.0.saturating_add(after.0))
    }
}

impl Duration {
    /// A length of zero.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// `nanos` ns.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `micros` us.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// `millis` ms.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// `secs` s.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// `secs` s, rounded to the nearest nanosecond; negative values and NaN give zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9).round() as u64)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds; the last bit may be wrong, as 1e-9 is rounded, too.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Seconds, as tables show them: rounded once, to the nearest number. Slower than [`Self::as_secs`].
    ///
    /// ```
    /// # use wifair_units::Duration;
    /// assert_eq!(Duration::from_millis(300).nearest_secs(), 0.3);
    /// assert_eq!(Duration::from_millis(300).as_secs(), 0.30000000000000004);
    /// ```
    pub fn nearest_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This minus `other`, or zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// How many whole `unit`s fit.
    pub const fn div_floor(self, unit: Self) -> u64 {
        self.0 / unit.0
    }

    /// The smallest multiple of `unit` that is not shorter; a `unit` of zero leaves the duration unchanged.
    #[must_use]
    pub const fn round_up_to(self, unit: Self) -> Self {
        if unit.0 == 0 { self } else { Self(self.0.div_ceil(unit.0) * unit.0) }
    }
}

operators! {
    Add::add(Time, Duration) -> Time = |time, after| Time(time.0 + after.0);
    Sub::sub(Time, Duration) -> Time =
        |time, before| Time(time.0.checked_sub(before.0).expect("an instant before the start of the run"));
    Sub::sub(Time, Time) -> Duration = |time, earlier| {
        Duration(time.0.checked_sub(earlier.0).expect("the earlier instant is subtracted from the later"))
    };
    Add::add(Duration, Duration) -> Duration = |one, other| Duration(one.0 + other.0);
    Sub::sub(Duration, Duration) -> Duration = |one, other| {
        Duration(one.0.checked_sub(other.0).expect("the shorter duration is subtracted from the longer"))
    };
    Mul::mul(Duration, u64) -> Duration = |one, times| Duration(one.0 * times);
    Div::div(Duration, u64) -> Duration = |whole, parts| Duration(whole.0 / parts);
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, after: Duration) {
        self.0 += after.0;
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.nearest_secs())
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        let (whole, unit) = if n == 0 || n.is_multiple_of(1_000_000_000) {
            (n / 1_000_000_000, "s")
        } else if n.is_multiple_of(1_000_000) {
            (n / 1_000_000, "ms")
        } else if n.is_multiple_of(1_000) {
            (n / 1_000, "us")
        } else {
            (n, "ns")
        };
        write!(f, "{whole} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_of_instants_is_a_duration() {
        let start = Time::from_nanos(7);
        assert_eq!(start + Duration::from_micros(2) - start, Duration::from_nanos(2_000));
    }

    #[test]
    #[should_panic(expected = "earlier instant")]
    fn time_does_not_run_backwards() {
        let _ = Time::ZERO - Time::from_nanos(1);
    }

    #[test]
    fn durations_print_in_the_largest_unit_that_keeps_them_whole() {
        for (d, text) in [
            (Duration::from_secs(3), "3 s"),
            (Duration::from_millis(1_500), "1500 ms"),
            (Duration::from_micros(20), "20 us"),
            (Duration::from_nanos(1), "1 ns"),
            (Duration::ZERO, "0 s"),
        ] {
            assert_eq!(d.to_string(), text);
        }
    }
}
