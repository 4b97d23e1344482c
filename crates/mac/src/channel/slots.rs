//! Backoff counters as slots of one shared count.
//!
//! Stations that hear each other count the same idle slots. One shared count numbers these slots and stops while the
//! channel is busy. Instead of decrementing a counter of its own, a station stores the number of the slot in which it
//! will send. So freezing and resuming cost nothing, and the station with the lowest slot sends next.

/// Number of buckets, one per slot ahead; covers the usual contention windows.
const RING: usize = 1024;
const WORD: usize = u64::BITS as usize;

/// Stations by the slot in which they send: a ring of buckets, and a bitmap of the buckets in use.
#[derive(Clone, Debug)]
pub struct Slots {
    /// Number of idle slots counted so far. No station sends in an earlier slot.
    count: u64,
    /// First station in each bucket; [`NOBODY`] if there is none.
    first: [u32; RING],
    /// One bit per bucket.
    used: [u64; RING / WORD],
    /// The next station in the same bucket.
    next: Vec<u32>,
    /// Stations beyond the ring, with their slots.
    far: Vec<(u64, u32)>,
}

const NOBODY: u32 = u32::MAX;

/// Bucket of a slot.
#[allow(clippy::cast_possible_truncation)]
const fn bucket_of(slot: u64) -> usize {
    slot as usize % RING
}

impl Slots {
    /// An empty set for `stations` stations.
    #[must_use]
    pub fn new(stations: usize) -> Self {
        let (first, used) = ([NOBODY; RING], [0; RING / WORD]);
        Self { count: 0, first, used, next: vec![NOBODY; stations], far: vec![] }
    }

    /// Number of idle slots counted so far.
    #[inline]
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Advances the count to `slot`; no station may send in an earlier slot.
    #[inline]
    pub fn count_to(&mut self, slot: u64) {
        self.count = slot;
        if !self.far.is_empty() {
            self.move_into_ring();
        }
    }

    /// Lets `station` send after `backoff` more slots; returns the number of that slot.
    #[inline]
    pub fn insert(&mut self, station: u32, backoff: u64) -> u64 {
        let slot = self.count + backoff;
        if backoff < RING as u64 {
            self.enter(station, slot);
        } else {
            self.far.push((slot, station));
        }
        slot
    }

    #[inline]
    fn enter(&mut self, station: u32, slot: u64) {
        let bucket = bucket_of(slot);
        self.next[station as usize] = self.first[bucket];
        self.first[bucket] = station;
        self.used[bucket / WORD] |= 1 << (bucket % WORD);
    }

    /// Moves stations whose slot is now in range into the ring.
    #[cold]
    fn move_into_ring(&mut self) {
        let end = self.count + RING as u64;
        let mut far = std::mem::take(&mut self.far);
        far.retain(|&(slot, station)| {
            if slot < end {
                self.enter(station, slot);
            }
            slot >= end
        });
        self.far = far;
    }

    /// Removes `station`, which was to send in `slot`.
    ///
    /// # Panics
    /// If it is not in that slot.
    pub fn remove(&mut self, station: u32, slot: u64) {
        if let Some(place) = self.far.iter().position(|far| *far == (slot, station)) {
            self.far.swap_remove(place);
            return;
        }
        let bucket = bucket_of(slot);
        if self.first[bucket] == station {
            self.first[bucket] = self.next[station as usize];
            if self.first[bucket] == NOBODY {
                self.used[bucket / WORD] &= !(1 << (bucket % WORD));
            }
        } else {
            let mut before = self.first[bucket] as usize;
            while self.next[before] != station {
                before = self.next[before] as usize;
            }
            self.next[before] = self.next[station as usize];
        }
    }

    /// Number of idle slots before the next station sends; `None` if there is none.
    #[inline(always)]
    #[must_use]
    pub fn until_next(&self) -> Option<u64> {
        let start = bucket_of(self.count);
        let here = self.used[start / WORD] >> (start % WORD);
        if here != 0 { Some(u64::from(here.trailing_zeros())) } else { self.until_next_far(start) }
    }

    /// Like [`Slots::until_next`], if the slot is not in the first word.
    #[inline(never)]
    fn until_next_far(&self, start: usize) -> Option<u64> {
        let in_ring = (1..=RING / WORD).find_map(|words| {
            let bits = self.used[(start / WORD + words) % (RING / WORD)];
            let ahead = words * WORD - start % WORD;
            (bits != 0).then(|| ahead as u64 + u64::from(bits.trailing_zeros()))
        });
        in_ring.or_else(|| self.far.iter().map(|(slot, _)| slot - self.count).min())
    }

    /// Removes and returns the station that sends in `slot`, if it is the only one. At least one station must send in
    /// `slot`, which must be [near](Slots::is_near); none may send earlier.
    #[inline]
    pub fn take_only(&mut self, slot: u64) -> Option<u32> {
        let bucket = bucket_of(slot);
        let station = self.first[bucket];
        if self.next[station as usize] != NOBODY {
            return None;
        }
        self.first[bucket] = NOBODY;
        self.used[bucket / WORD] &= !(1 << (bucket % WORD));
        Some(station)
    }

    /// Whether a slot is in the ring.
    #[inline]
    pub fn is_near(&self, slot: u64) -> bool {
        slot - self.count < RING as u64
    }

    /// Removes all stations that send in `slot`, lowest number first; the count may still be below `slot`.
    #[inline]
    pub fn take(&mut self, slot: u64, into: &mut Vec<u32>) {
        if slot - self.count >= RING as u64 {
            self.take_far(slot, into);
            return;
        }
        let bucket = bucket_of(slot);
        let mut station = std::mem::replace(&mut self.first[bucket], NOBODY);
        self.used[bucket / WORD] &= !(1 << (bucket % WORD));
        let already = into.len();
        while station != NOBODY {
            into.push(station);
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

    /// Like [`Slots::take`], for a slot beyond the ring.
    #[cold]
    fn take_far(&mut self, slot: u64, into: &mut Vec<u32>) {
        let already = into.len();
        into.extend(self.far.iter().filter(|far| far.0 == slot).map(|far| far.1));
        into[already..].sort_unstable();
        self.far.retain(|far| far.0 != slot);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compared with a plain list of `(slot, station)`, within the ring and beyond it.
        #[test]
        fn the_first_slot_taken_is_found(
            horizon in prop::sample::select(vec![16_u64, 1024, 5000]),
            rounds in prop::collection::vec((prop::collection::vec(0_u64..5000, 0..4), any::<bool>()), 1..50),
            // The general channel takes the senders of a slot first, and then counts the slots before it.
            counts_first in any::<bool>(),
        ) {
            let mut slots = Slots::new(20);
            let (mut plain, mut free): (Vec<(u64, u32)>, Vec<u32>) = (vec![], (0..20).collect());
            slots.count_to(3);
            for (draws, leave) in rounds {
                for draw in draws {
                    if let Some(station) = free.pop() {
                        let backoff = draw % horizon;
                        plain.push((slots.insert(station, backoff), station));
                    }
                }
                if leave && let Some((slot, station)) = plain.pop() {
                    slots.remove(station, slot);
                    free.push(station);
                }
                let expected = plain.iter().map(|(slot, _)| *slot).min();
                prop_assert_eq!(slots.until_next().map(|ahead| slots.count() + ahead), expected);
                if let Some(slot) = expected {
                    let mut senders: Vec<u32> = vec![];
                    if counts_first {
                        slots.count_to(slot);
                        senders.extend(slots.take_only(slot));
                    }
                    if senders.is_empty() {
                        slots.take(slot, &mut senders);
                        prop_assert!(!counts_first || senders.len() > 1);
                    }
                    slots.count_to(slot);
                    let of_slot = plain.iter().filter(|(s, _)| *s == slot);
                    let mut due: Vec<u32> = of_slot.map(|(_, station)| *station).collect();
                    due.sort_unstable();
                    prop_assert_eq!(&senders, &due);
                    plain.retain(|(s, _)| *s != slot);
                    free.extend(senders);
                }
            }
        }
    }
}
