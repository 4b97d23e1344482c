//! Histograms of durations, for percentiles in bounded memory.

use wifair_units::Duration;

/// Buckets per power of two: a percentile is at most 1/64 above the true value.
const STEPS: u64 = 64;
const STEP_BITS: u32 = STEPS.trailing_zeros();
/// Durations are counted in units of 1024 ns.
const UNIT_BITS: u32 = 10;

/// A histogram of durations with exact mean, minimum and maximum. Buckets are logarithmic, 64 to an octave, above 64
/// us.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u32>,
    sum: u64,
    maximum: Duration,
    /// [`Duration::MAX`] without samples.
    minimum: Duration,
    /// From the minimum to the maximum, in ns.
    span: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![], sum: 0, maximum: Duration::ZERO, minimum: Duration::MAX, span: 0 }
    }
}

impl Histogram {
    /// Counts one sample.
    #[inline]
    pub fn add(&mut self, sample: Duration) {
        let above = sample.as_nanos().wrapping_sub(self.minimum.as_nanos());
        if above > self.span {
            return self.extend(sample); // it is below the minimum or above the maximum
        }
        let Some(count) = self.counts.get_mut(bucket_of(sample)) else { return };
        *count += 1;
        self.sum = self.sum.wrapping_add(sample.as_nanos()); // 584 years
    }

    /// Counts one sample `times` times, at least once.
    #[inline]
    pub fn add_repeated(&mut self, sample: Duration, times: u32) {
        self.add(sample);
        if times > 1 {
            self.counts[bucket_of(sample)] += times - 1;
            self.sum = self.sum.wrapping_add(sample.as_nanos() * u64::from(times - 1));
        }
    }

    /// Counts samples, faster than one by one if most are in the octave of the one before.
    #[inline(always)]
    pub fn add_all(&mut self, mut samples: impl Iterator<Item = Duration>) {
        let mut next = samples.next();
        while let Some(sample) = next {
            self.add(sample);
            let octave = octave_of(sample);
            let shift = UNIT_BITS + octave;
            let begin = if octave == 0 { 0 } else { STEPS << shift };
            let least = begin.max(self.minimum.as_nanos());
            let span = ((STEPS << (shift + 1)) - 1).min(self.maximum.as_nanos()) - least;
            let counts = &mut self.counts[(octave as usize) << STEP_BITS..];
            loop {
                next = samples.next();
                let Some(nanos) = next.map(Duration::as_nanos).filter(|nanos| nanos.wrapping_sub(least) <= span) else {
                    break;
                };
                let Some(count) = counts.get_mut((nanos >> shift) as usize) else { break };
                *count += 1;
                self.sum = self.sum.wrapping_add(nanos);
            }
        }
    }

    /// Widens the range to include a sample outside it.
    #[cold]
    #[inline(never)]
    fn extend(&mut self, sample: Duration) {
        self.make_room(sample, sample);
        self.counts[bucket_of(sample)] += 1;
        self.sum += sample.as_nanos();
    }

    /// Widens the range to include these samples.
    #[inline(never)]
    fn make_room(&mut self, least: Duration, most: Duration) {
        let bucket = bucket_of(most);
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.widen(least, most);
    }

    fn widen(&mut self, least: Duration, most: Duration) {
        self.minimum = self.minimum.min(least);
        self.maximum = self.maximum.max(most);
        self.span = self.maximum.saturating_sub(self.minimum).as_nanos();
    }

    /// Samples counted.
    pub fn samples(&self) -> u64 {
        total(&self.counts[self.first_bucket()..])
    }

    /// Whether no sample was counted.
    pub fn is_empty(&self) -> bool {
        self.minimum > self.maximum
    }

    /// The lowest bucket that may have samples.
    fn first_bucket(&self) -> usize {
        bucket_of(self.minimum).min(self.counts.len())
    }

    /// Mean in seconds; NaN without samples.
    pub fn mean(&self) -> f64 {
        self.sum as f64 / 1e9 / self.samples() as f64
    }

    /// The shortest; zero without samples.
    pub fn minimum(&self) -> Duration {
        if self.minimum == Duration::MAX { Duration::ZERO } else { self.minimum }
    }

    /// The longest; zero without samples.
    pub fn maximum(&self) -> Duration {
        self.maximum
    }

    /// The smallest duration that at least the fraction `p` of the samples does not exceed, rounded up to the end of
    /// its bucket (at most 1/64 too long); `None` without samples.
    pub fn percentile(&self, p: f64) -> Option<Duration> {
        let samples = self.samples();
        if samples == 0 {
            return None;
        }
        let rank = ((p * samples as f64).ceil() as u64).clamp(1, samples);
        let (mut passed, mut bucket) = (0, self.first_bucket());
        for counts in self.counts[bucket..].chunks(STEPS as usize) {
            let all = total(counts);
            if passed + all >= rank {
                for count in counts {
                    passed += u64::from(*count);
                    if passed >= rank {
                        return Some(end_of(bucket).min(self.maximum).max(self.minimum()));
                    }
                    bucket += 1;
                }
            }
            passed += all;
            bucket += counts.len();
        }
        Some(self.maximum)
    }

    /// The fraction of the samples in buckets above that of `bound`; NaN without samples.
    pub fn fraction_above(&self, bound: Duration) -> f64 {
        let above: u64 = self.counts.iter().skip(bucket_of(bound) + 1).map(|count| u64::from(*count)).sum();
        above as f64 / self.samples() as f64
    }

    /// Adds all samples of another histogram.
    pub fn absorb(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum += other.sum;
        self.widen(other.minimum, other.maximum);
    }

    /// Removes all samples.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

fn total(counts: &[u32]) -> u64 {
    counts.iter().map(|count| u64::from(*count)).sum()
}

/// Buckets are one unit wide below `STEPS` units and in the octave above; the width doubles with each further octave.
/// So from `STEPS` units on, a bucket is the exponent of a float with the first bits of its fraction.
#[inline]
fn bucket_of(sample: Duration) -> usize {
    const ABOVE_BITS: u32 = f64::MANTISSA_DIGITS - 1 - STEP_BITS;
    const BEFORE: u64 = (((STEPS << UNIT_BITS) as f64).to_bits() >> ABOVE_BITS) - STEPS;
    let nanos = sample.as_nanos();
    if nanos < STEPS << UNIT_BITS {
        return (nanos >> UNIT_BITS) as usize;
    }
    let float = nanos.cast_signed() as f64; // signed conversion is one instruction, not six
    ((float.to_bits() >> ABOVE_BITS) - BEFORE) as usize
}

/// How often the width of buckets has doubled at this duration.
#[inline]
fn octave_of(sample: Duration) -> u32 {
    (sample.as_nanos() >> UNIT_BITS | STEPS).ilog2() - STEP_BITS
}

/// The longest duration that falls into `bucket`.
fn end_of(bucket: usize) -> Duration {
    let bucket = bucket as u64;
    let units = if bucket < STEPS {
        bucket + 1
    } else {
        let octave = bucket / STEPS - 1;
        (STEPS + bucket % STEPS + 1) << octave
    };
    Duration::from_nanos((units << UNIT_BITS) - 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn mean_and_extremes_are_exact() {
        let mut histogram = Histogram::default();
        for ms in [1, 2, 6] {
            histogram.add(Duration::from_millis(ms));
        }
        assert!((histogram.mean() - 3e-3).abs() < 1e-15);
        assert_eq!(histogram.minimum(), Duration::from_millis(1));
        assert_eq!(histogram.maximum(), Duration::from_millis(6));
        assert_eq!(histogram.percentile(1.0), Some(Duration::from_millis(6)));
        assert_eq!(Histogram::default().percentile(0.5), None);
    }

    /// By hand: units of 1024 ns, one to a bucket up to 128 of them, then two.
    #[test]
    fn buckets_widen_with_each_octave() {
        let bucket = |nanos| bucket_of(Duration::from_nanos(nanos));
        assert_eq!([0, 1023, 1024, 65_535, 65_536].map(bucket), [0, 0, 1, 63, 64]);
        assert_eq!([131_071, 131_072, 133_119, 133_120, 262_144].map(bucket), [127, 128, 128, 129, 192]);
        let end = |bucket| end_of(bucket).as_nanos();
        assert_eq!([0, 63, 64, 127, 128, 129].map(end), [1023, 65_535, 66_559, 131_071, 133_119, 135_167]);
    }

    #[test]
    fn a_merged_histogram_equals_one_of_all_samples() {
        let of = |millis: &[u64]| {
            let mut histogram = Histogram::default();
            millis.iter().for_each(|ms| histogram.add(Duration::from_millis(*ms)));
            histogram
        };
        for (mut one, other) in [(of(&[1, 2]), of(&[6, 8])), (of(&[6, 8]), of(&[1, 2]))] {
            one.absorb(&other);
            assert_eq!(
                (one.samples(), one.minimum(), one.maximum()),
                (4, Duration::from_millis(1), Duration::from_millis(8))
            );
            assert!((one.mean() - 4.25e-3).abs() < 1e-15);
            assert_eq!(one.percentile(1.0), Some(Duration::from_millis(8)));
            assert!((one.fraction_above(Duration::from_millis(3)) - 0.5).abs() < 1e-15);
        }
    }

    proptest! {
        /// Samples are counted together as they are one by one.
        #[test]
        fn samples_count_together_as_one_by_one(
            before in prop::collection::vec(0_u64..20_000_000_000, 0..4),
            bits in prop::collection::vec(0_u32..35, 0..9),
            repeated in 1_u32..70,
            draws in prop::collection::vec(any::<u64>(), 9),
        ) {
            let (mut together, mut alone) = (Histogram::default(), Histogram::default());
            for nanos in before {
                together.add(Duration::from_nanos(nanos));
                alone.add(Duration::from_nanos(nanos));
            }
            let first = Duration::from_nanos(draws[0] >> 30);
            together.add_repeated(first, repeated);
            (0..repeated).for_each(|_| alone.add(first));
            // Up to four samples to an octave, some at its ends.
            let octaves = bits.iter().zip(&draws).flat_map(|(bits, draw)| {
                let inside = |draw: u64| (1 << bits) + (draw & ((1 << bits) - 1));
                [1 << bits, inside(*draw), inside(draw >> 20), (2 << bits) - 1]
            });
            let samples: Vec<_> = octaves.map(Duration::from_nanos).collect();
            together.add_all(samples.iter().copied());
            samples.iter().for_each(|sample| alone.add(*sample));
            prop_assert_eq!(format!("{together:?}"), format!("{alone:?}"));
        }

        /// Compared with sorting: never below the true percentile, and at most 1/64 (or 1024 ns) above it.
        #[test]
        fn percentiles_are_close_to_those_of_the_sorted_samples(
            mut samples in prop::collection::vec(0_u64..20_000_000_000, 1..200),
            p in 0.0_f64..=1.0,
        ) {
            let mut histogram = Histogram::default();
            for sample in &samples {
                histogram.add(Duration::from_nanos(*sample));
            }
            samples.sort_unstable();
            let rank = ((p * samples.len() as f64).ceil() as usize).clamp(1, samples.len());
            let exact = samples[rank - 1];
            let found = histogram.percentile(p).unwrap().as_nanos();
            prop_assert!(found >= exact && found <= exact + exact / 64 + 1024, "{found} for {exact}");
        }
    }
}
