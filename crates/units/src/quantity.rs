//! Sizes, rates, levels and distances.

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;

use crate::Duration;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

operators! {
    Add::add(Bytes, Bytes) -> Bytes = |one, other| Bytes(one.0 + other.0);
    Sub::sub(Bytes, Bytes) -> Bytes = |one, other| Bytes(one.0.checked_sub(other.0).expect("a size is not negative"));
    Mul::mul(Bytes, u64) -> Bytes = |one, times| Bytes(one.0 * times);
    Add::add(Dbm, Db) -> Dbm = |level, gain| Dbm(level.0 + gain.0);
    Sub::sub(Dbm, Dbm) -> Db = |level, reference| Db(level.0 - reference.0);
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self(0), std::ops::Add::add)
    }
}

/// Shows the number with its unit.
macro_rules! shown_with {
    ($($quantity:ident $unit:literal),*) => {$(
        impl fmt::Display for $quantity {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $unit), self.0)
            }
        }
    )*};
}

shown_with!(Bytes "B", Dbm "dBm", Db "dB", Metres "m");

/// A bit rate, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// `bits` bit/s.
    pub const fn from_bps(bits: u64) -> Self {
        Self(bits)
    }

    /// `kilobits` kb/s.
    pub const fn from_kbps(kilobits: u64) -> Self {
        Self(kilobits * 1_000)
    }

    /// `megabits` Mb/s.
    pub const fn from_mbps(megabits: u64) -> Self {
        Self(megabits * 1_000_000)
    }

    /// In bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Time to send `size` at this rate, rounded up to the next nanosecond.
    ///
    /// ```
    /// # use wifair_units::*;
    /// assert_eq!(BitRate::from_mbps(12).time_for(Bytes(1500)), Duration::from_micros(1000));
    /// ```
    pub const fn time_for(self, size: Bytes) -> Duration {
        Duration::from_nanos((size.0 * 8 * 1_000_000_000).div_ceil(self.0))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let r = self.0;
        let (divisor, unit) = match r {
            r if r >= 1_000_000_000 && r.is_multiple_of(1_000_000_000) => (1e9, "Gb/s"),
            r if r >= 100_000 => (1e6, "Mb/s"),
            r if r >= 1_000 => (1e3, "kb/s"),
            _ => (1.0, "b/s"),
        };
        let value = r as f64 / divisor;
        write!(f, "{value} {unit}")
    }
}

/// A power level, in dBm.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Dbm(pub f64);

impl Dbm {
    /// The level of `milliwatts` mW.
    pub fn from_milliwatts(milliwatts: f64) -> Self {
        Self(10.0 * milliwatts.log10())
    }

    /// In mW.
    pub fn as_milliwatts(self) -> f64 {
        10f64.powf(self.0 / 10.0)
    }
}

/// A ratio of powers, in dB.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Db(pub f64);

/// A distance or coordinate, in metres.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Metres(pub f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_for_rounds_up() {
        assert_eq!(BitRate::from_mbps(11).time_for(Bytes(1)), Duration::from_nanos(728));
    }

    #[test]
    fn milliwatts_and_dbm_agree() {
        assert!((Dbm::from_milliwatts(100.0).0 - 20.0).abs() < 1e-12);
        assert!((Dbm(-30.0).as_milliwatts() - 1e-3).abs() < 1e-15);
    }

    #[test]
    fn rates_print_as_users_write_them() {
        for (rate, text) in [
            (BitRate::from_mbps(11), "11 Mb/s"),
            (BitRate::from_kbps(5_500), "5.5 Mb/s"),
            (BitRate::from_mbps(10_000), "10 Gb/s"),
            (BitRate::from_bps(64_000), "64 kb/s"),
        ] {
            assert_eq!(rate.to_string(), text);
        }
    }
}
