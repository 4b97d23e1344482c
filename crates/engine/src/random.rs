//! Named streams of random numbers.
//!
//! Every random choice draws from a stream named for its purpose and its entity, as in `stream(seed, "backoff",
//! "sta3")`. So adding a station leaves the draws of all others as they were, and two schemes under comparison see the
//! same random numbers (common random numbers).
//!
//! A stream is xoshiro256++ (D. Blackman and S. Vigna, "Scrambled Linear Pseudorandom Number Generators", 2021). Its
//! 256-bit state is taken from `ChaCha8` with the run's seed as key and the hash of the name as stream number: those
//! blocks are independent by design, whatever the seeds and names.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use wifair_units::Duration;

/// The stream of one purpose and entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

/// The stream named `purpose/entity` of the run with this seed.
pub fn stream(seed: u64, purpose: &str, entity: &str) -> Stream {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut expander = ChaCha8Rng::from_seed(key);
    expander.set_stream(fnv1a([purpose.as_bytes(), b"/", entity.as_bytes()]));
    let mut state = [0; 32];
    expander.fill_bytes(&mut state);
    Stream(Xoshiro256PlusPlus::from_seed(state))
}

/// FNV-1a, 64 bit (draft-eastlake-fnv).
fn fnv1a<const N: usize>(parts: [&[u8]; N]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.into_iter().flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

impl Stream {
    /// Uniform on `0..n`; zero for `n = 0`. The bias of the multiplication is below `n / 2^32`.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        let draw = self.0.next_u64() >> 32;
        ((draw * u64::from(n)) >> 32) as u32
    }

    /// Uniform on `[0, 1)`, in steps of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// True with probability `p`. Draws nothing where `p` is 0 or less, or 1 or more.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && (p >= 1.0 || self.uniform() < p)
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a time that is uniformly distributed around `mean`, within plus or minus the fraction `jitter` of it (0 to
    /// 1); without jitter nothing is drawn.
    #[inline]
    pub fn jittered(&mut self, mean: Duration, jitter: f64) -> Duration {
        if jitter > 0.0 { self.around(mean, jitter) } else { mean }
    }

    #[inline(never)]
    fn around(&mut self, mean: Duration, jitter: f64) -> Duration {
        Duration::from_secs_f64(mean.as_secs() * (1.0 + jitter * (2.0 * self.uniform() - 1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv1a_of_the_published_examples() {
        // draft-eastlake-fnv, appendix C: FNV-1a 64 of "" and "foobar".
        assert_eq!(fnv1a([b""]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a([b"foo", b"bar"]), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn each_name_has_its_own_stream() {
        let draw = |seed, purpose, entity| stream(seed, purpose, entity).bits();
        assert_eq!(draw(1, "backoff", "sta1"), draw(1, "backoff", "sta1"));
        assert_ne!(draw(1, "backoff", "sta1"), draw(1, "backoff", "sta2"));
        assert_ne!(draw(1, "backoff", "sta1"), draw(1, "error", "sta1"));
        assert_ne!(draw(1, "backoff", "sta1"), draw(2, "backoff", "sta1"));
    }

    /// Mean and variance of a uniform choice of n values: (n - 1) / 2 and (n^2 - 1) / 12.
    #[test]
    fn below_is_uniform() {
        let (n, draws) = (32_u32, 200_000_u32);
        let mut stream = stream(7, "test", "below");
        let (mut sum, mut squares) = (0_u64, 0_u64);
        for _ in 0..draws {
            let x = u64::from(stream.below(n));
            assert!(x < u64::from(n));
            sum += x;
            squares += x * x;
        }
        let (mean, square) = (sum as f64 / f64::from(draws), squares as f64 / f64::from(draws));
        let variance = (f64::from(n).powi(2) - 1.0) / 12.0;
        let four_errors = 4.0 * (variance / f64::from(draws)).sqrt();
        assert!((mean - 15.5).abs() < four_errors, "mean {mean}");
        assert!((square - mean * mean - variance).abs() < 0.02 * variance);
    }
}
