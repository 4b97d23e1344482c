//! The time of each station's next action: the end of its frame, a response that is due, or the end of its backoff.

use wifair_units::Time;

use super::bitset::{each, place};

/// Action of a station. At one instant, frames end before other frames begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerAction {
    /// Its frame ends.
    End,
    /// It starts sending.
    Begin,
}

/// Planned actions in order, the end of each station's backoff, and the earliest of all.
///
/// Dozens of stations at a time freeze their backoffs when they sense a frame, and resume later, so few of the times
/// set are ever reached. Therefore the times are stored unsorted in blocks, roughly as many blocks as times per block,
/// and a change costs one comparison. A block is searched only if its earliest time was removed, and only when the
/// earliest time of all is needed.
#[derive(Clone, Debug)]
pub struct BackoffTimers {
    /// Ends of frames and planned responses: twice the time, plus one for [`TimerAction::Begin`], and the station; the
    /// earliest is last.
    planned: Vec<(u64, u32)>,
    /// Ends of backoffs, by station.
    backoffs: Vec<u64>,
    /// Binary logarithm of the size of a block.
    bits: u32,
    blocks: Vec<Block>,
    /// Lower bound of all ends of backoffs; exact unless they have changed.
    first: u64,
    changed: bool,
}

/// A block of up to 64 backoffs.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// Lower bound of the times in the block; exact unless it is stale.
    earliest: u64,
    /// Stations with a running backoff, as bits of the word that contains the block.
    pending: u64,
    /// Whether the block must be searched.
    stale: bool,
}

const NEVER: u64 = Time::NEVER.as_nanos();

#[inline]
fn key(time: Time, act: TimerAction) -> u64 {
    2 * time.as_nanos() + u64::from(act == TimerAction::Begin)
}

/// The word that contains a block.
#[inline]
const fn word_of(block: usize, bits: u32) -> usize {
    (block << bits) / 64
}

impl BackoffTimers {
    /// Timers for this number of stations, none set.
    #[must_use]
    pub fn new(stations: usize) -> Self {
        let bits = if stations <= 64 { 3 } else { stations.ilog2().div_ceil(2).min(6) };
        Self {
            planned: vec![],
            backoffs: vec![NEVER; stations],
            bits,
            blocks: vec![Block { earliest: NEVER, pending: 0, stale: false }; stations.div_ceil(1 << bits)],
            first: NEVER,
            changed: false,
        }
    }

    /// Plans an action of `station` at `time`, and clears its backoff.
    #[inline]
    pub fn plan(&mut self, station: u32, time: Time, act: TimerAction) {
        self.clear(station);
        let entry = (key(time, act), station);
        let after = self.planned.iter().rev().take_while(|other| **other < entry).count();
        self.planned.insert(self.planned.len() - after, entry);
    }

    /// Sets the end of the backoff of `station`.
    #[inline]
    pub fn set(&mut self, station: u32, time: Time) {
        // Which time is earliest is unpredictable, so there are no branches.
        let ((_, bit), time) = (place(station), time.as_nanos());
        let old = std::mem::replace(&mut self.backoffs[station as usize], time);
        let block = &mut self.blocks[station as usize >> self.bits];
        block.pending |= bit;
        let was_earliest = (old == block.earliest) & (old < time);
        block.stale |= was_earliest;
        self.changed |= was_earliest;
        block.earliest = block.earliest.min(time);
        self.first = self.first.min(time);
    }

    /// Clears the backoff of `station`.
    #[inline]
    pub fn clear(&mut self, station: u32) {
        let old = std::mem::replace(&mut self.backoffs[station as usize], NEVER);
        if old < NEVER {
            let (_, bit) = place(station);
            let block = &mut self.blocks[station as usize >> self.bits];
            block.pending &= !bit;
            if old == block.earliest {
                block.stale = true;
                self.changed = true;
            }
        }
    }

    /// Clears the backoff of `station` if it ends by `end`. A later end may stay, since it is set again before then.
    #[inline]
    pub fn postpone(&mut self, station: u32, end: Time) {
        let (_, bit) = place(station);
        let due = &mut self.backoffs[station as usize];
        let block = &mut self.blocks[station as usize >> self.bits];
        let was_due = *due <= end.as_nanos();
        let was_earliest = was_due & (*due == block.earliest);
        *due = if was_due { NEVER } else { *due };
        block.pending &= if was_due { !bit } else { !0 };
        block.stale |= was_earliest;
        self.changed |= was_earliest;
    }

    /// The time of the next action.
    #[inline]
    pub fn next(&mut self) -> Time {
        let planned = self.planned.last().map_or(NEVER, |(key, _)| key / 2);
        Time::from_nanos(if planned <= self.first { planned } else { planned.min(self.earliest()) })
    }

    /// Whether no action is planned, backoffs aside.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.planned.is_empty()
    }

    /// Whether the backoff of any station ends by `time`, at an instant that `meets` accepts. Stations in `spared`, a
    /// set per word, do not count.
    #[inline]
    pub fn interrupts(&self, time: Time, spared: impl Fn(usize) -> u64, meets: impl Fn(u32, Time) -> bool) -> bool {
        for (number, block) in (0..).zip(&self.blocks) {
            if block.earliest > time.as_nanos() {
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

    /// The earliest end of a backoff.
    #[inline]
    fn earliest(&mut self) -> u64 {
        if self.changed {
            self.search();
        }
        self.first
    }

    /// Searches the blocks that have changed.
    #[inline(never)]
    fn search(&mut self) {
        self.changed = false;
        self.first = NEVER;
        for (number, block) in (0..).zip(&mut self.blocks) {
            if std::mem::take(&mut block.stale) {
                block.earliest = NEVER;
                for station in each(word_of(number, self.bits), block.pending) {
                    block.earliest = block.earliest.min(self.backoffs[station as usize]);
                }
            }
            self.first = self.first.min(block.earliest);
        }
    }

    /// Removes all stations that start sending at `now`, lowest number first. No earlier action may be due.
    #[inline(always)]
    pub fn take(&mut self, now: Time, into: &mut Vec<u32>) {
        let begin = key(now, TimerAction::Begin);
        while let Some((_, station)) = self.planned.pop_if(|(key, _)| *key == begin) {
            into.push(station);
        }
        let due = now.as_nanos();
        if self.first > due || self.earliest() > due {
            return;
        }
        let answers = into.len();
        self.changed = true;
        for (number, block) in (0..).zip(&mut self.blocks) {
            if block.earliest != due {
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

    /// Removes the lowest-numbered station whose frame ends at `now`. No earlier action may be due.
    #[inline]
    pub fn take_end(&mut self, now: Time) -> Option<u32> {
        let end = key(now, TimerAction::End);
        self.planned.pop_if(|(key, _)| *key == end).map(|(_, station)| station)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compared with a plain list that is searched from end to end.
        #[test]
        fn the_first_to_act_is_found(
            changes in prop::collection::vec((0_u32..150, prop::option::of(0_u64..40), 0..3), 1..200),
        ) {
            let mut backoff_timers = BackoffTimers::new(150);
            // Time, action, and whether it is planned.
            let mut plain: Vec<Option<(Time, TimerAction, bool)>> = vec![None; 150];
            let rank = |(time, act, _): (Time, TimerAction, bool)| (time, act == TimerAction::Begin);
            for (station, time, kind) in changes {
                let index = station as usize;
                if plain[index].is_none_or(|(.., planned)| !planned) {
                    let act = if kind == 0 { TimerAction::End } else { TimerAction::Begin };
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
                if first.1 == TimerAction::End {
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
