//! Backoff counters as slots of one shared count.
//!
//! All stations that hear each other count the same idle slots. So instead of a counter that every station
//! decrements, a station has the number of the slot in which it will send, on a count that stands still
//! while the medium is busy: freezing and resuming cost nothing, and the next sender is the first slot taken.

/// Stations by the number of the slot in which they send: a ring of buckets and a bitmap of those in use.
#[derive(Clone, Debug)]
pub struct Slots {
    /// First station in each bucket, [`NOBODY`] if none.
    first: Vec<u32>,
    /// The next station in the same bucket.
    next: Vec<u32>,
    /// One bit a bucket.
    used: Vec<u64>,
    mask: u64,
    stations: usize,
}

const NOBODY: u32 = u32::MAX;

impl Slots {
    /// For `stations` stations that look at most `horizon` slots ahead.
    #[must_use]
    pub fn new(stations: usize, horizon: u64) -> Self {
        let size = (horizon + 1).next_power_of_two().max(64);
        let buckets = usize::try_from(size).expect("a contention window fits memory");
        Self {
            first: vec![NOBODY; buckets],
            next: vec![NOBODY; stations],
            used: vec![0; buckets / 64],
            mask: size - 1,
            stations: 0,
        }
    }

    /// `station` will send in `slot`.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub fn insert(&mut self, station: u32, slot: u64) {
        let bucket = (slot & self.mask) as usize;
        self.next[station as usize] = self.first[bucket];
        self.first[bucket] = station;
        self.used[bucket / 64] |= 1 << (bucket % 64);
        self.stations += 1;
    }

    /// Takes `station`, which is to send in `slot`, out again.
    ///
    /// # Panics
    /// If it is not there.
    pub fn remove(&mut self, station: u32, slot: u64) {
        let bucket = (slot & self.mask) as usize;
        if self.first[bucket] == station {
            self.first[bucket] = self.next[station as usize];
            if self.first[bucket] == NOBODY {
                self.used[bucket / 64] &= !(1 << (bucket % 64));
            }
        } else {
            let mut before = self.first[bucket] as usize;
            while self.next[before] != station {
                before = self.next[before] as usize;
            }
            self.next[before] = self.next[station as usize];
        }
        self.stations -= 1;
    }

    /// The first slot at or after `from` in which somebody sends. Every station lies within the horizon of `from`.
    #[inline]
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn first_from(&self, from: u64) -> Option<u64> {
        if self.stations == 0 {
            return None;
        }
        let start = (from & self.mask) as usize;
        let (mut word, bit) = (start / 64, start % 64);
        let mut bits = self.used[word] & (u64::MAX << bit);
        let mut passed = 0; // words looked at
        while bits == 0 {
            word = if word + 1 == self.used.len() { 0 } else { word + 1 };
            passed += 1;
            debug_assert!(passed <= self.used.len(), "a station is in a bucket");
            bits = self.used[word];
        }
        let bucket = word as u64 * 64 + u64::from(bits.trailing_zeros());
        Some(from + (bucket.wrapping_sub(from) & self.mask))
    }

    /// Takes out the station that sends in `slot`, if it is the only one.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub fn take_only(&mut self, slot: u64) -> Option<u32> {
        let bucket = (slot & self.mask) as usize;
        let station = self.first[bucket];
        if station == NOBODY || self.next[station as usize] != NOBODY {
            return None;
        }
        self.first[bucket] = NOBODY;
        self.used[bucket / 64] &= !(1 << (bucket % 64));
        self.stations -= 1;
        Some(station)
    }

    /// Takes out all stations that send in `slot`, lowest number first.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub fn take(&mut self, slot: u64, into: &mut Vec<u32>) {
        let bucket = (slot & self.mask) as usize;
        let mut station = std::mem::replace(&mut self.first[bucket], NOBODY);
        self.used[bucket / 64] &= !(1 << (bucket % 64));
        let already = into.len();
        while station != NOBODY {
            into.push(station);
            self.stations -= 1;
            station = self.next[station as usize];
        }
        match &mut into[already..] {
            [] | [_] => {}
            [first, second] => {
                if first > second {
                    std::mem::swap(first, second);
                }
            }
            more => more.sort_unstable(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a plain list of `(slot, station)`.
        #[test]
        fn the_first_slot_taken_is_found(
            rounds in prop::collection::vec(prop::collection::vec(0_u64..1024, 0..4), 1..50),
        ) {
            let mut slots = Slots::new(20, 1023);
            let (mut plain, mut free): (Vec<(u64, u32)>, Vec<u32>) = (vec![], (0..20).collect());
            let mut count = 3;
            for draws in rounds {
                for draw in draws {
                    if let Some(station) = free.pop() {
                        slots.insert(station, count + draw);
                        plain.push((count + draw, station));
                    }
                }
                let expected = plain.iter().map(|(slot, _)| *slot).min();
                prop_assert_eq!(slots.first_from(count), expected);
                if let Some(slot) = expected {
                    count = slot;
                    let mut senders: Vec<u32> = slots.take_only(slot).into_iter().collect();
                    if senders.is_empty() {
                        slots.take(slot, &mut senders);
                        prop_assert!(senders.len() > 1);
                    }
                    let mut due: Vec<u32> = plain.iter().filter(|(s, _)| *s == slot).map(|(_, station)| *station).collect();
                    due.sort_unstable();
                    prop_assert_eq!(&senders, &due);
                    plain.retain(|(s, _)| *s != slot);
                    free.extend(senders);
                }
            }
        }
    }
}
