//! The times of all sources' next events, and which comes first.

use wifair_units::Time;

/// A tournament of the sources' next times: the winner is known at once, a change costs `O(log sources)`.
///
/// Of equal times the source with the lower number wins.
#[derive(Clone, Debug)]
pub struct Heads {
    /// Next time of each source; padded with [`Time::NEVER`] to a power of two.
    times: Vec<Time>,
    /// Inner nodes of the tournament: `winners[1]` is the overall winner, node `k` has children `2k` and `2k + 1`.
    winners: Vec<u32>,
}

impl Heads {
    /// A tournament of `sources` sources, none of which has an event.
    #[must_use]
    pub fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two().max(2);
        let mut heads = Self { times: vec![Time::NEVER; leaves], winners: vec![0; leaves] };
        for node in (1..leaves).rev() {
            heads.play(node);
        }
        heads
    }

    /// Says when `source` has its next event ([`Time::NEVER`]: it has none).
    #[inline]
    pub fn set(&mut self, source: usize, time: Time) {
        if self.times[source] == time {
            return;
        }
        self.times[source] = time;
        let mut node = (self.times.len() + source) / 2;
        while node > 0 {
            self.play(node);
            node /= 2;
        }
    }

    /// The time of the next event of all, and its source.
    #[inline]
    #[must_use]
    pub fn first(&self) -> (Time, usize) {
        let source = self.winners[1] as usize;
        (self.times[source], source)
    }

    /// The next time of one source.
    #[must_use]
    pub fn time_of(&self, source: usize) -> Time {
        self.times[source]
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    fn play(&mut self, node: usize) {
        let leaves = self.times.len();
        let contender = |child: usize, winners: &[u32]| {
            if child >= leaves { (child - leaves) as u32 } else { winners[child] }
        };
        let left = contender(2 * node, &self.winners);
        let right = contender(2 * node + 1, &self.winners);
        let right_wins = self.times[right as usize] < self.times[left as usize];
        self.winners[node] = if right_wins { right } else { left };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against the obvious: the first of the smallest times.
        #[test]
        fn first_is_the_lowest_numbered_of_the_earliest(
            sources in 1_usize..20,
            changes in prop::collection::vec((0_usize..20, 0_u64..50), 1..60),
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
