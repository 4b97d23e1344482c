//! The time at which each station acts next: the end of its frame, an answer that is due, or the end of its backoff.

use wifair_units::Time;

use super::bitset::{each, place};

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
/// Stations that hear a frame put off their backoff and take it up again, some dozens at a time, and hardly one of
/// those times is ever reached. So the times lie in plain blocks, about as many as a block has times, and a change
/// costs one comparison; only a block that lost its earliest time is searched again when the first of all is asked for.
#[derive(Clone, Debug)]
pub struct BackoffTimers {
    /// Ends of frames and answers: twice the time, plus one for [`Act::Begin`], and the station; the first comes last.
    certain: Vec<(u64, u32)>,
    /// Ends of backoffs.
    backoffs: Vec<u64>,
    /// Logarithm of the times in a block.
    bits: u32,
    blocks: Vec<Block>,
    /// Not above any of them; the least, unless that has changed.
    first: u64,
    changed: bool,
}

/// Up to 64 backoffs.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Not above any time of the block; equal to the earliest if the block is not stale.
    least: u64,
    /// Which of them end at all: bits of the word that the block is a part of.
    pending: u64,
    /// It must be searched.
    stale: bool,
}

const NEVER: u64 = Time::NEVER.as_nanos();

#[inline]
fn key(time: Time, act: Act) -> u64 {
    2 * time.as_nanos() + u64::from(act == Act::Begin)
}

/// The word that a block is a part of.
#[inline]
const fn word_of(block: usize, bits: u32) -> usize {
    (block << bits) / 64
}

impl BackoffTimers {
    /// For so many stations, none of which is going to act.
    #[must_use]
    pub fn new(stations: usize) -> Self {
        let bits = if stations <= 64 { 3 } else { stations.ilog2().div_ceil(2).min(6) };
        Self {
            certain: vec![],
            backoffs: vec![NEVER; stations],
            bits,
            blocks: vec![Block { least: NEVER, pending: 0, stale: false }; stations.div_ceil(1 << bits)],
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
        // It is chance which is the least, so nothing is jumped over.
        let ((_, bit), time) = (place(station), time.as_nanos());
        let old = std::mem::replace(&mut self.backoffs[station as usize], time);
        let block = &mut self.blocks[station as usize >> self.bits];
        block.pending |= bit;
        let was_least = (old == block.least) & (old < time);
        block.stale |= was_least;
        self.changed |= was_least;
        block.least = block.least.min(time);
        self.first = self.first.min(time);
    }

    /// `station` has no backoff that ends.
    #[inline]
    pub fn clear(&mut self, station: u32) {
        let old = std::mem::replace(&mut self.backoffs[station as usize], NEVER);
        if old < NEVER {
            let (_, bit) = place(station);
            let block = &mut self.blocks[station as usize >> self.bits];
            block.pending &= !bit;
            if old == block.least {
                block.stale = true;
                self.changed = true;
            }
        }
    }

    /// The backoff of `station` does not end until `end`. If it was going to later that may stay: it is set anew
    /// before.
    #[inline]
    pub fn postpone(&mut self, station: u32, end: Time) {
        let (_, bit) = place(station);
        let due = &mut self.backoffs[station as usize];
        let block = &mut self.blocks[station as usize >> self.bits];
        let was_due = *due <= end.as_nanos();
        let was_least = was_due & (*due == block.least);
        *due = if was_due { NEVER } else { *due };
        block.pending &= if was_due { !bit } else { !0 };
        block.stale |= was_least;
        self.changed |= was_least;
    }

    /// The first time at which somebody acts.
    #[inline]
    pub fn next(&mut self) -> Time {
        let certain = self.certain.last().map_or(NEVER, |(key, _)| key / 2);
        Time::from_nanos(if certain <= self.first { certain } else { certain.min(self.least()) })
    }

    /// Whether nobody is certain to act.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.certain.is_empty()
    }

    /// Whether the backoff of a station ends by `time` that is not among the `spared` of its word, and at an instant in
    /// which it `meets` something.
    #[inline]
    pub fn interrupts(&self, time: Time, spared: impl Fn(usize) -> u64, meets: impl Fn(u32, Time) -> bool) -> bool {
        for (number, block) in (0..).zip(&self.blocks) {
            if block.least > time.as_nanos() {
                continue;
            }
            let word = word_of(number, self.bits);
            for station in each(word, block.pending & !spared(word)) {
                let end = self.backoffs[station as usize];
                if end <= time.as_nanos() && meets(station, Time::from_nanos(end)) {
                    return true;
                }
            }
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
        self.first = NEVER;
        for (number, block) in (0..).zip(&mut self.blocks) {
            if std::mem::take(&mut block.stale) {
                block.least = NEVER;
                for station in each(word_of(number, self.bits), block.pending) {
                    block.least = block.least.min(self.backoffs[station as usize]);
                }
            }
            self.first = self.first.min(block.least);
        }
    }

    /// Takes out all stations that begin to send at `now`, lowest number first. Nothing is due before.
    #[inline(always)]
    pub fn take(&mut self, now: Time, into: &mut Vec<u32>) {
        let begin = key(now, Act::Begin);
        while let Some((_, station)) = self.certain.pop_if(|(key, _)| *key == begin) {
            into.push(station);
        }
        let due = now.as_nanos();
        if self.first > due || self.least() > due {
            return;
        }
        let answers = into.len();
        self.changed = true;
        for (number, block) in (0..).zip(&mut self.blocks) {
            if block.least != due {
                continue;
            }
            block.stale = true;
            for station in each(word_of(number, self.bits), block.pending) {
                let end = &mut self.backoffs[station as usize];
                if *end == due {
                    *end = NEVER;
                    block.pending &= !place(station).1;
                    into.push(station);
                }
            }
        }
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
            let mut backoff_timers = BackoffTimers::new(150);
            // Time, act, and whether it is certain.
            let mut plain: Vec<Option<(Time, Act, bool)>> = vec![None; 150];
            let rank = |(time, act, _): (Time, Act, bool)| (time, act == Act::Begin);
            for (station, time, kind) in changes {
                let index = station as usize;
                if plain[index].is_none_or(|(.., certain)| !certain) {
                    let act = if kind == 0 { Act::End } else { Act::Begin };
                    match time.map(Time::from_nanos) {
                        Some(t) if kind < 2 => backoff_timers.plan(station, t, act),
                        Some(t) => backoff_timers.set(station, t),
                        None => backoff_timers.clear(station),
                    }
                    plain[index] = time.map(|t| (Time::from_nanos(t), act, kind < 2));
                }
                let first = plain.iter().flatten().min_by_key(|entry| rank(**entry)).copied();
                prop_assert_eq!(backoff_timers.next(), first.map_or(Time::NEVER, |(t, ..)| t));
                let Some(first) = first.filter(|_| station % 3 == 0) else { continue };
                let same = |s: &u32| plain[*s as usize].is_some_and(|entry| rank(entry) == rank(first));
                let due: Vec<u32> = (0..150).filter(same).collect();
                if first.1 == Act::End {
                    prop_assert_eq!(backoff_timers.take_end(first.0), Some(due[0]));
                    plain[due[0] as usize] = None;
                } else {
                    prop_assert_eq!(backoff_timers.take_end(first.0), None);
                    let mut taken = vec![];
                    backoff_timers.take(first.0, &mut taken);
                    prop_assert_eq!(&taken, &due);
                    due.iter().for_each(|s| plain[*s as usize] = None);
                }
            }
        }
    }
}
