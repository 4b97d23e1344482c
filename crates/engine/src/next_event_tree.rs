//! A tournament tree over the next event times of all sources, so that the earliest is known at once.

use wifair_units::Time;

/// Number of times that one step of the tournament compares.
const FAN: usize = 4;
/// A key packs a time and its place (0 to 3) in a group into one word, so the least key gives both.
const PLACE_BITS: u32 = FAN.trailing_zeros();
const PLACE: u64 = FAN as u64 - 1;
/// The largest time that leaves room for the place: some 146 years.
const LATEST: u64 = u64::MAX >> PLACE_BITS;

/// A tournament over the sources' next times, in groups of four. With few sources the earliest is found by a handful of
/// comparisons without a branch; with many, in `O(log sources)`.
///
/// When times are equal, the source with the lower number wins. Sources with the lowest numbers may be declared rare:
/// they compete in a group of their own, so that up to three other sources need one round.
#[derive(Clone, Debug)]
pub struct NextEventTree {
    /// The last round. Place 0 belongs to the earliest of the rare sources.
    top: [u64; FAN],
    /// The least key of `top`.
    first: u64,
    rare: Vec<u64>,
    /// The earlier rounds, used when there are more than three frequent sources. The first round holds the next time of
    /// each source; each later round holds the earliest time of each group of the round before.
    rounds: Vec<Vec<[u64; FAN]>>,
}

impl NextEventTree {
    /// A tournament of `rare` sources, numbered first, and `frequent` ones, numbered after them; no source has an
    /// event.
    pub fn new(rare: usize, frequent: usize) -> Self {
        let idle = std::array::from_fn(|place| key(LATEST, place));
        let mut rounds = vec![];
        let mut groups = frequent;
        while groups >= FAN {
            groups = groups.div_ceil(FAN);
            rounds.push(vec![idle; groups]);
        }
        Self { top: idle, first: earliest(&idle), rare: vec![LATEST; rare], rounds }
    }

    /// Sets the time of the next event of `source`; [`Time::NEVER`] means none.
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        let time = time.as_nanos().min(LATEST);
        if source < self.rare.len() {
            self.set_rare(source, time);
            return;
        }
        let mut position = source - self.rare.len();
        let mut time = time;
        for round in &mut self.rounds {
            let group = &mut round[position / FAN];
            group[position % FAN] = key(time, position % FAN);
            time = earliest(group) >> PLACE_BITS;
            position /= FAN;
        }
        self.top[(position + 1) % FAN] = key(time, position + 1);
        self.first = earliest(&self.top);
    }

    #[inline(never)]
    fn set_rare(&mut self, source: usize, time: u64) {
        self.rare[source] = time;
        let least = self.rare.iter().fold(LATEST, |least, time| least.min(*time));
        self.top[0] = key(least, 0);
        self.first = earliest(&self.top);
    }

    /// The time of the next event, and its source.
    #[inline]
    pub fn first(&self) -> (Time, usize) {
        let (time, place) = (self.first >> PLACE_BITS, (self.first & PLACE) as usize);
        (time_of(time), if place == 0 { self.first_rare(time) } else { self.first_frequent(place - 1) })
    }

    /// Clears the time of `source`, a frequent one, and returns the time of the next event of all others.
    #[inline]
    pub fn first_without(&mut self, source: usize) -> Time {
        self.set(source, Time::NEVER);
        self.earliest()
    }

    /// The time of the next event.
    #[inline]
    pub fn earliest(&self) -> Time {
        time_of(self.first >> PLACE_BITS)
    }

    /// The time of the next event, or of `until` if that is earlier.
    #[inline]
    pub fn earliest_until(&self, until: Time) -> Time {
        until.min(Time::from_nanos(self.first >> PLACE_BITS))
    }

    #[inline(never)]
    fn first_rare(&self, time: u64) -> usize {
        self.rare.iter().position(|other| *other == time).unwrap_or(0)
    }

    #[inline]
    fn first_frequent(&self, mut position: usize) -> usize {
        for round in self.rounds.iter().rev() {
            position = position * FAN + (earliest(&round[position]) & PLACE) as usize;
        }
        position + self.rare.len()
    }
}

const fn key(time: u64, place: usize) -> u64 {
    time << PLACE_BITS | place as u64
}

#[inline]
const fn time_of(nanos: u64) -> Time {
    if nanos == LATEST { Time::NEVER } else { Time::from_nanos(nanos) }
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
        /// Compared with a plain search: the lowest-numbered source among those with the smallest time.
        #[test]
        fn ties_go_to_the_lowest_number(
            sources in 1_usize..100,
            rare in 0_usize..5,
            changes in prop::collection::vec((0_usize..100, 0_u64..50), 1..60),
        ) {
            let sources = sources + rare;
            let mut tree = NextEventTree::new(rare, sources - rare);
            let mut times = vec![Time::NEVER; sources];
            for (source, time) in changes {
                let (source, time) = (source % sources, Time::from_nanos(time));
                tree.set(source, time);
                times[source] = time;
                let earliest = *times.iter().min().unwrap();
                let first = times.iter().position(|t| *t == earliest).unwrap();
                prop_assert_eq!(tree.first().0, earliest);
                if earliest < Time::NEVER {
                    prop_assert_eq!(tree.first().1, first);
                }
                if source >= rare {
                    let others = (0..sources).filter(|other| *other != source);
                    let next = others.map(|other| times[other]).min().unwrap_or(Time::NEVER);
                    prop_assert_eq!(tree.first_without(source), next);
                    tree.set(source, time);
                }
            }
        }
    }
}
