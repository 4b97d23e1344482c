//! When each station acts next.

use wifair_units::Time;

/// What a station does at its time. At one instant frames end before others begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Its frame ends.
    End,
    /// It begins to send.
    Begin,
}

/// What is certain, in its order, and for each station the end of its backoff, and the first of all.
///
/// Stations that hear a frame put off their backoff and take it up again, some dozens at a time, and hardly one of those
/// times is ever reached. So the times lie in plain blocks, about as many as a block has times, and a change costs one comparison; only a block
/// that lost its earliest time is searched again when the first of all is asked for.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// Ends of frames and answers: twice the time, plus one for [`Act::Begin`], and the station; the first comes last.
    certain: Vec<(u64, u32)>,
    /// Ends of backoffs; padded to whole blocks.
    backoffs: Vec<u64>,
    /// Logarithm of the times in a block.
    bits: u32,
    /// Not above any time of the block; equal to the earliest if the block is not stale.
    least: Vec<u64>,
    /// One bit a block: whether it must be searched.
    stale: Vec<u64>,
    /// The least of all, unless something has changed.
    first: u64,
    changed: bool,
}

const NEVER: u64 = u64::MAX;

#[inline]
fn key(time: Time, act: Act) -> u64 {
    2 * time.as_nanos() + u64::from(act == Act::Begin)
}

impl Calendar {
    /// For so many stations, none of which is going to act.
    #[must_use]
    pub fn new(stations: usize) -> Self {
        let bits = if stations <= 64 { 3 } else { stations.ilog2().div_ceil(2) };
        let blocks = stations.div_ceil(1 << bits).max(1);
        Self {
            certain: vec![],
            backoffs: vec![NEVER; blocks << bits],
            bits,
            least: vec![NEVER; blocks],
            stale: vec![0; blocks.div_ceil(64)],
            first: NEVER,
            changed: false,
        }
    }

    /// `station` acts at `time` whatever happens, and not when its backoff would have ended.
    #[inline]
    pub fn plan(&mut self, station: u32, time: Time, act: Act) {
        self.clear(station);
        let entry = (key(time, act), station);
        let after = self.certain.iter().rev().take_while(|other| **other < entry).count();
        self.certain.insert(self.certain.len() - after, entry);
    }

    /// The backoff of `station` ends at `time`, and not when it was going to before.
    #[inline]
    pub fn set(&mut self, station: u32, time: Time) {
        self.put(station, time.as_nanos());
    }

    /// `station` has no backoff that ends.
    #[inline]
    pub fn clear(&mut self, station: u32) {
        self.put(station, NEVER);
    }

    /// The backoff of `station` does not end until `end`. If it was going to later that may stay: it is set anew before.
    #[inline]
    pub fn postpone(&mut self, station: u32, end: Time) {
        if self.backoffs[station as usize] <= end.as_nanos() {
            self.clear(station);
        }
    }

    /// The times of a block.
    #[inline]
    fn backoffs_of(&self, block: usize) -> &[u64] {
        &self.backoffs[block << self.bits..(block + 1) << self.bits]
    }

    #[inline]
    fn put(&mut self, station: u32, time: u64) {
        let index = station as usize;
        let block = index >> self.bits;
        let old = std::mem::replace(&mut self.backoffs[index], time);
        if old == time {
            return;
        }
        if time <= self.least[block] {
            self.least[block] = time;
            self.changed = true;
        } else if old == self.least[block] {
            self.stale[block / 64] |= 1 << (block % 64);
            self.changed = true;
        }
    }

    /// The first time at which somebody acts.
    #[inline]
    pub fn next(&mut self) -> Time {
        let certain = self.certain.last().map_or(NEVER, |(key, _)| key / 2);
        let next = certain.min(self.least());
        if next == NEVER { Time::NEVER } else { Time::from_nanos(next) }
    }

    /// Whether nobody is certain to act.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.certain.is_empty()
    }

    /// Whether the backoff of a station ends by `time` that is not `spared`.
    #[inline]
    pub fn interrupts(&self, time: Time, spared: impl Fn(u32) -> bool) -> bool {
        let time = time.as_nanos();
        let mut first = 0;
        for (least, backoffs) in self.least.iter().zip(self.backoffs.chunks_exact(1 << self.bits)) {
            if *least <= time {
                for (end, station) in backoffs.iter().zip(first..) {
                    if *end <= time && !spared(station) {
                        return true;
                    }
                }
            }
            first += 1 << self.bits;
        }
        false
    }

    /// The first time at which a backoff ends.
    #[inline]
    fn least(&mut self) -> u64 {
        if self.changed {
            self.search();
        }
        self.first
    }

    /// Searches what has changed.
    #[inline(never)]
    fn search(&mut self) {
        self.changed = false;
        for word in 0..self.stale.len() {
            let mut bits = std::mem::take(&mut self.stale[word]);
            while bits != 0 {
                let block = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.least[block] = self.backoffs_of(block).iter().fold(NEVER, |least, time| least.min(*time));
            }
        }
        self.first = self.least.iter().fold(NEVER, |least, time| least.min(*time));
    }

    /// Takes out all stations that begin to send at `now`, lowest number first. Nothing is due before.
    pub fn take(&mut self, now: Time, into: &mut Vec<u32>) {
        let begin = key(now, Act::Begin);
        while let Some((_, station)) = self.certain.pop_if(|(key, _)| *key == begin) {
            into.push(station);
        }
        let due = now.as_nanos();
        if self.least() != due {
            return;
        }
        let answers = into.len();
        let blocks = self.least.iter_mut().zip(self.backoffs.chunks_exact_mut(1 << self.bits));
        for ((least, backoffs), first) in blocks.zip((0..).step_by(1 << self.bits)) {
            if *least != due {
                continue;
            }
            *least = NEVER;
            for (end, station) in backoffs.iter_mut().zip(first..) {
                if *end == due {
                    *end = NEVER;
                    into.push(station);
                }
                *least = (*least).min(*end);
            }
        }
        self.changed = true;
        if answers > 0 {
            into.sort_unstable();
        }
    }

    /// Takes out the lowest station whose frame ends at `now`, before which nothing is due.
    #[inline]
    pub fn take_end(&mut self, now: Time) -> Option<u32> {
        let end = key(now, Act::End);
        self.certain.pop_if(|(key, _)| *key == end).map(|(_, station)| station)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain list, searched from end to end.
        #[test]
        fn the_first_to_act_is_found(
            changes in prop::collection::vec((0_u32..150, prop::option::of(0_u64..40), 0..3), 1..200),
        ) {
            let mut calendar = Calendar::new(150);
            // Time, act, and whether it is certain.
            let mut plain: Vec<Option<(Time, Act, bool)>> = vec![None; 150];
            let rank = |(time, act, _): (Time, Act, bool)| (time, act == Act::Begin);
            for (station, time, kind) in changes {
                let index = station as usize;
                if plain[index].is_none_or(|(.., certain)| !certain) {
                    let act = if kind == 0 { Act::End } else { Act::Begin };
                    match time.map(Time::from_nanos) {
                        Some(t) if kind < 2 => calendar.plan(station, t, act),
                        Some(t) => calendar.set(station, t),
                        None => calendar.clear(station),
                    }
                    plain[index] = time.map(|t| (Time::from_nanos(t), act, kind < 2));
                }
                let first = plain.iter().flatten().min_by_key(|entry| rank(**entry)).copied();
                prop_assert_eq!(calendar.next(), first.map_or(Time::NEVER, |(t, ..)| t));
                let Some(first) = first.filter(|_| station % 3 == 0) else { continue };
                let same = |s: &u32| plain[*s as usize].is_some_and(|entry| rank(entry) == rank(first));
                let due: Vec<u32> = (0..150).filter(same).collect();
                if first.1 == Act::End {
                    prop_assert_eq!(calendar.take_end(first.0), Some(due[0]));
                    plain[due[0] as usize] = None;
                } else {
                    prop_assert_eq!(calendar.take_end(first.0), None);
                    let mut taken = vec![];
                    calendar.take(first.0, &mut taken);
                    prop_assert_eq!(&taken, &due);
                    due.iter().for_each(|s| plain[*s as usize] = None);
                }
            }
        }
    }
}
