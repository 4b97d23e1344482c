//! A token bucket with a rate and a depth in bytes. A packet conforms if the bucket holds tokens for its whole size.

use wifair_units::{BitRate, Time};

/// See the [module](self). Tokens are counted in units of 10^-9 bit, so that nothing is lost to rounding.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    tokens: u128,
    filled: Time,
}

const GIGA: u128 = 1_000_000_000;

impl TokenBucket {
    /// A full bucket of `depth` bytes.
    pub const fn full(now: Time, depth: u64) -> Self {
        Self { tokens: depth as u128 * 8 * GIGA, filled: now }
    }

    /// Takes `size` bytes out of the bucket if it holds them; returns whether it did.
    pub fn take(&mut self, now: Time, size: u64, rate: BitRate, depth: u64) -> bool {
        let passed = now.saturating_since(self.filled).as_nanos();
        let grown = self.tokens + u128::from(passed) * u128::from(rate.as_bps());
        self.tokens = grown.min(u128::from(depth) * 8 * GIGA);
        self.filled = now;
        let cost = u128::from(size) * 8 * GIGA;
        let enough = cost <= self.tokens;
        if enough {
            self.tokens -= cost;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_units::Duration;

    use super::*;

    /// 3000 B at 1 Mb/s: two packets of 1500 B at once, then one every 12 ms.
    #[test]
    fn a_full_bucket_lets_a_burst_through_and_then_the_rate() {
        let (rate, depth) = (BitRate::from_mbps(1), 3000);
        let mut bucket = TokenBucket::full(Time::ZERO, depth);
        let mut take = |ms: u64| bucket.take(Time::ZERO + Duration::from_millis(ms), 1500, rate, depth);
        assert_eq!([0, 0, 0, 11, 12, 13, 24].map(&mut take), [true, true, false, false, true, false, true]);
    }

    proptest! {
        /// Over any interval no more passes than the depth plus what the rate supplies.
        #[test]
        fn the_rate_is_never_exceeded(steps in prop::collection::vec((0_u64..5_000_000, 40_u64..1501), 1..300)) {
            let (rate, depth) = (BitRate::from_kbps(1_500), 10_000);
            let mut bucket = TokenBucket::full(Time::ZERO, depth);
            let (mut now, mut passed) = (Time::ZERO, vec![]);
            for (wait, size) in steps {
                now += Duration::from_nanos(wait);
                if bucket.take(now, size, rate, depth) {
                    passed.push((now, size));
                }
            }
            for (first, (start, _)) in passed.iter().enumerate() {
                let mut bytes = 0;
                for (time, size) in &passed[first..] {
                    bytes += size;
                    let allowed = depth as f64 + (*time - *start).as_secs() * rate.as_bps() as f64 / 8.0;
                    prop_assert!(bytes as f64 <= allowed + 1e-6);
                }
            }
        }
    }
}
