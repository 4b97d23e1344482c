//! The strongest interference above which a frame still stands out.
//!
//! Every frame is compared with this limit at every station, so the limit is computed once, exact to the last bit. As
//! each step of the formula is monotonic in the interfering power, comparing with the limit gives the same result as
//! the formula.

use wifair_phy::{CaptureEffect, Interference, Reception};

/// How much stronger than the interference a frame must be.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    /// Power ratio (not in dB); zero if every frame stands out.
    ratio: f64,
    /// The interference that counts.
    pub by: Interference,
}

impl Threshold {
    pub fn new(reception: &Reception) -> Self {
        let ratio = match reception.capture {
            CaptureEffect::None => 0.0,
            _ => libm::pow(10.0, reception.capture_threshold.0 / 10.0),
        };
        Self { ratio, by: reception.interference }
    }

    /// Whether a frame with `power`, which is part of the total `all`, stands out; `other` is the power of another
    /// single frame.
    #[inline]
    pub fn is_met(&self, power: f64, noise: f64, all: f64, other: f64) -> bool {
        match self.by {
            Interference::Sum => power >= self.ratio * (noise + (all - power).max(0.0)),
            Interference::Strongest => power >= self.ratio * other,
        }
    }

    /// Maximum total power of all frames among which a frame of this power stands out.
    pub fn bound(&self, power: f64, noise: f64) -> f64 {
        let room = power / self.ratio;
        let near = power + if self.by == Interference::Sum { room - noise } else { room };
        largest(power, near, |all| self.is_met(power, noise, all, all - power))
    }

    /// Maximum power of another single frame above which a frame of this power stands out.
    pub fn rival(&self, power: f64) -> f64 {
        largest(0.0, power / self.ratio, |other| power >= self.ratio * other)
    }
}

/// The largest number for which `is_right` holds, given that it holds for `least` and is monotonic. `near` is a guess.
fn largest(least: f64, near: f64, is_right: impl Fn(f64) -> bool) -> f64 {
    if !is_right(least) {
        return f64::NEG_INFINITY;
    }
    // Positive floating-point numbers are ordered like their bits.
    let is_right = |bits| is_right(f64::from_bits(bits));
    let (mut low, mut high) = (least.to_bits(), f64::INFINITY.to_bits());
    let near = near.max(least).to_bits();
    let mut step = 1;
    if is_right(near) {
        low = near;
        while step < high - low && is_right(low + step) {
            low += step;
            step *= 2;
        }
        high = high.min(low + step);
    } else {
        high = near;
        while step < high - low && !is_right(high - step) {
            high -= step;
            step *= 2;
        }
        low = low.max(high - step);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if is_right(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::from_bits(low)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use wifair_phy::Reception;
    use wifair_units::Db;

    proptest! {
        /// The formula holds up to the bound, and to the rival, but not above.
        #[test]
        fn bounds_are_exact(
            power in -120.0..30.0_f64,
            noise in -110.0..-60.0_f64,
            threshold in -10.0..30.0_f64,
            sum: bool,
        ) {
            let [power, noise, ratio] = [power, noise, threshold].map(|level| libm::pow(10.0, level / 10.0));
            let interference = if sum { Interference::Sum } else { Interference::Strongest };
            let reception = Reception { interference, capture_threshold: Db(threshold), ..Reception::default() };
            let threshold = Threshold::new(&reception);
            let holds = |all: f64| threshold.is_met(power, noise, all, all - power);
            let bound = threshold.bound(power, noise);
            prop_assert!(!holds(bound.next_up().max(power)));
            prop_assert_eq!(bound >= power, holds(power));
            if bound >= power {
                prop_assert!(holds(bound));
            }
            let rival = threshold.rival(power);
            prop_assert!(power >= ratio * rival && power < ratio * rival.next_up());
        }
    }
}
