//! The times of all sources' next events, and which comes first.

use wifair_units::Time;

/// Times that are compared in one step.
const FAN: usize = 8;

/// A tournament of the sources' next times in rounds of eight: of few sources the first is found by a handful of
/// comparisons without a jump, of many in `O(log sources)`.
///
/// Of equal times the source with the lower number wins.
#[derive(Clone, Debug)]
pub struct Heads {
    /// The first level has the next time of each source, every level above the earliest of each eight below;
    /// the last level is one group of eight. Padded with [`Time::NEVER`].
    levels: Vec<Vec<[Time; FAN]>>,
}

impl Heads {
    /// A tournament of `sources` sources, none of which has an event.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let mut levels = vec![];
        let mut groups = sources.div_ceil(FAN).max(1);
        loop {
            levels.push(vec![[Time::NEVER; FAN]; groups]);
            if groups == 1 {
                return Self { levels };
            }
            groups = groups.div_ceil(FAN);
        }
    }

    /// Says when `source` has its next event ([`Time::NEVER`]: it has none).
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        let (mut position, mut time) = (source, time);
        for level in &mut self.levels {
            let group = &mut level[position / FAN];
            group[position % FAN] = time;
            time = earliest(group).0;
            position /= FAN;
        }
    }

    /// The time of the next event of all, and its source.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Time, usize) {
        let (mut time, mut position) = (Time::NEVER, 0);
        for level in self.levels.iter().rev() {
            let (earliest, place) = earliest(&level[position]);
            time = earliest;
            position = position * FAN + place;
        }
        (time, position)
    }
}

/// The earliest of eight times, and the first place where it stands.
#[inline]
fn earliest(group: &[Time; FAN]) -> (Time, usize) {
    let pick = |a: (Time, usize), b: (Time, usize)| if b.0 < a.0 { b } else { a };
    let at = |place: usize| (group[place], place);
    pick(pick(pick(at(0), at(1)), pick(at(2), at(3))), pick(pick(at(4), at(5)), pick(at(6), at(7))))
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
