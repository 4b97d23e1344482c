//! The times of all sources' next events, and which comes first.

use wifair_units::Time;

/// Times that are compared in one step.
const FAN: usize = 8;
/// A time and its place among eight in one word: whichever is least is first, and says where it stands.
const PLACE_BITS: u32 = FAN.trailing_zeros();
const PLACE: u64 = FAN as u64 - 1;
/// The largest time that leaves room for the place, some 73 years.
const LATEST: u64 = u64::MAX >> PLACE_BITS;

/// A tournament of the sources' next times in rounds of eight: of few sources the first is found by a handful of
/// comparisons without a jump, of many in `O(log sources)`.
///
/// Of equal times the source with the lower number wins.
#[derive(Clone, Debug)]
pub struct Heads {
    /// The first level has the next time of each source, every level above the earliest of each eight below;
    /// the last level is one group of eight.
    levels: Vec<Vec<[u64; FAN]>>,
}

impl Heads {
    /// A tournament of `sources` sources, none of which has an event.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let idle = std::array::from_fn(|place| key(LATEST, place));
        let mut levels = vec![];
        let mut groups = sources.div_ceil(FAN).max(1);
        loop {
            levels.push(vec![idle; groups]);
            if groups == 1 {
                return Self { levels };
            }
            groups = groups.div_ceil(FAN);
        }
    }

    /// Says when `source` has its next event ([`Time::NEVER`]: it has none).
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        let (mut position, mut time) = (source, time.as_nanos().min(LATEST));
        let (last, below) = self.levels.split_last_mut().expect("there is a last level");
        for level in below {
            let group = &mut level[position / FAN];
            group[position % FAN] = key(time, position % FAN);
            time = earliest(group) >> PLACE_BITS;
            position /= FAN;
        }
        last[0][position % FAN] = key(time, position % FAN);
    }

    /// The time of the next event of all, and its source.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn first(&self) -> (Time, usize) {
        let (mut time, mut position) = (LATEST, 0);
        for level in self.levels.iter().rev() {
            let key = earliest(&level[position]);
            time = key >> PLACE_BITS;
            position = position * FAN + (key & PLACE) as usize;
        }
        (if time == LATEST { Time::NEVER } else { Time::from_nanos(time) }, position)
    }
}

const fn key(time: u64, place: usize) -> u64 {
    time << PLACE_BITS | place as u64
}

#[inline]
fn earliest(group: &[u64; FAN]) -> u64 {
    group.iter().fold(u64::MAX, |least, key| least.min(*key))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the obvious: the first of the smallest times.
        #[test]
        fn first_is_the_lowest_numbered_of_the_earliest(
            sources in 1_usize..100,
            changes in prop::collection::vec((0_usize..100, 0_u64..50), 1..60),
        ) {
            let mut heads = Heads::new(sources);
            let mut times = vec![Time::NEVER; sources];
            for (source, time) in changes {
                let (source, time) = (source % sources, Time::from_nanos(time));
                heads.set(source, time);
                times[source] = time;
                let earliest = *times.iter().min().unwrap();
                let first = times.iter().position(|t| *t == earliest).unwrap();
                prop_assert_eq!(heads.first(), (earliest, first));
            }
        }
    }
}
