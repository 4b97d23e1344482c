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

/// One time for each station, and the first of them.
///
/// Stations that hear a frame put off their backoff and take it up again, some dozens at a time, and hardly one of those
/// times is ever reached. So the times lie in plain blocks, about as many as a block has times, and a change costs one comparison; only a block
/// that lost its earliest time is searched again when the first of all is asked for.
#[derive(Clone, Debug)]
pub struct Calendar {
    /// Twice the time, plus one for [`Act::Begin`]; padded to whole blocks.
    keys: Vec<u64>,
    /// Logarithm of the times in a block.
    bits: u32,
    /// Not above any key of the block; equal to the smallest if the block is not stale.
    least: Vec<u64>,
    /// One bit a block: whether it must be searched.
    stale: Vec<u64>,
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
            keys: vec![NEVER; blocks << bits],
            bits,
            least: vec![NEVER; blocks],
            stale: vec![0; blocks.div_ceil(64)],
        }
    }

    /// `station` acts at `time`, and not when it was going to before.
    #[inline]
    pub fn set(&mut self, station: u32, time: Time, act: Act) {
        self.put(station, key(time, act));
    }

    /// `station` is not going to act.
    #[inline]
    pub fn clear(&mut self, station: u32) {
        self.put(station, NEVER);
    }

    /// `station` does not act until `end`. What it was going to do later may stay: it is set anew before.
    #[inline]
    pub fn postpone(&mut self, station: u32, end: Time) {
        if self.keys[station as usize] <= key(end, Act::Begin) {
            self.clear(station);
        }
    }

    /// The times of a block.
    #[inline]
    fn keys_of(&self, block: usize) -> &[u64] {
        &self.keys[block << self.bits..(block + 1) << self.bits]
    }

    #[inline]
    fn put(&mut self, station: u32, key: u64) {
        let index = station as usize;
        let block = index >> self.bits;
        let old = std::mem::replace(&mut self.keys[index], key);
        if old == key {
            return;
        }
        if key <= self.least[block] {
            self.least[block] = key;
        } else if old == self.least[block] {
            self.stale[block / 64] |= 1 << (block % 64);
        }
    }

    /// The first time at which somebody acts.
    #[inline]
    pub fn next(&mut self) -> Time {
        let least = self.least();
        if least == NEVER { Time::NEVER } else { Time::from_nanos(least / 2) }
    }

    #[inline]
    fn least(&mut self) -> u64 {
        for word in 0..self.stale.len() {
            let mut bits = std::mem::take(&mut self.stale[word]);
            while bits != 0 {
                let block = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.least[block] = self.keys_of(block).iter().fold(NEVER, |least, key| least.min(*key));
            }
        }
        self.least.iter().fold(NEVER, |least, key| least.min(*key))
    }

    /// Takes out all stations that act so at `now`, which is not later than [`Calendar::next`], lowest number first.
    pub fn take(&mut self, now: Time, act: Act, into: &mut Vec<u32>) {
        let due = key(now, act);
        if self.least() != due {
            return;
        }
        for block in 0..self.least.len() {
            if self.least[block] != due {
                continue;
            }
            for index in block << self.bits..(block + 1) << self.bits {
                if self.keys[index] == due {
                    self.keys[index] = NEVER;
                    into.push(u32::try_from(index).expect("stations are numbered in 32 bits"));
                }
            }
            self.stale[block / 64] |= 1 << (block % 64);
        }
    }

    /// Takes out the lowest station whose frame ends at `now`, which is not later than [`Calendar::next`].
    #[inline]
    pub fn take_end(&mut self, now: Time) -> Option<u32> {
        let due = key(now, Act::End);
        if self.least() != due {
            return None;
        }
        let block = self.least.iter().position(|key| *key == due).expect("the least of all is the least of a block");
        let place = self.keys_of(block).iter().position(|key| *key == due).expect("a block holds its least");
        let index = (block << self.bits) + place;
        let station = u32::try_from(index).expect("stations are numbered in 32 bits");
        self.clear(station);
        Some(station)
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
            changes in prop::collection::vec((0_u32..150, prop::option::of(0_u64..40), any::<bool>()), 1..200),
        ) {
            let mut calendar = Calendar::new(150);
            let mut plain: Vec<Option<(Time, Act)>> = vec![None; 150];
            let rank = |(time, act): (Time, Act)| (time, act == Act::Begin);
            for (station, time, ends) in changes {
                let act = if ends { Act::End } else { Act::Begin };
                plain[station as usize] = time.map(|t| (Time::from_nanos(t), act));
                match time {
                    Some(t) => calendar.set(station, Time::from_nanos(t), act),
                    None => calendar.clear(station),
                }
                let first = plain.iter().flatten().min_by_key(|entry| rank(**entry)).copied();
                prop_assert_eq!(calendar.next(), first.map_or(Time::NEVER, |(t, _)| t));
                let Some((now, act)) = first.filter(|_| station % 3 == 0) else { continue };
                let due: Vec<u32> = (0..150).filter(|s| plain[*s as usize] == Some((now, act))).collect();
                if act == Act::End {
                    prop_assert_eq!(calendar.take_end(now), Some(due[0]));
                    plain[due[0] as usize] = None;
                } else {
                    prop_assert_eq!(calendar.take_end(now), None);
                    let mut taken = vec![];
                    calendar.take(now, Act::Begin, &mut taken);
                    prop_assert_eq!(&taken, &due);
                    due.iter().for_each(|s| plain[*s as usize] = None);
                }
            }
        }
    }
}
