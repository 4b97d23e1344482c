//! Sets of stations as bit sets, so that one operation handles 64 of them.

use wifair_units::Time;

/// A set of stations, by number, 64 per word.
#[derive(Clone, Debug)]
pub struct StationSet(Vec<u64>);

/// The word of a station, and its bit in it.
#[inline]
pub const fn place(station: u32) -> (usize, u64) {
    (station as usize / 64, 1 << (station % 64))
}

/// The bit of a station in a word; 0 if it is in another word.
#[inline]
pub const fn bit_in(word: usize, station: u32) -> u64 {
    let (own, bit) = place(station);
    if own == word { bit } else { 0 }
}

impl StationSet {
    /// The empty set, for this number of stations.
    pub fn none(stations: usize) -> Self {
        Self(vec![0; stations.div_ceil(64)])
    }

    #[inline]
    pub fn has(&self, station: u32) -> bool {
        let (word, bit) = place(station);
        self.0[word] & bit != 0
    }

    #[inline]
    pub fn put(&mut self, station: u32, is_in: bool) {
        let (word, bit) = place(station);
        self.0[word] = self.0[word] & !bit | if is_in { bit } else { 0 };
    }

    /// The stations of a word.
    #[inline]
    pub fn of(&self, word: usize) -> u64 {
        self.0[word]
    }

    #[inline]
    pub fn of_mut(&mut self, word: usize) -> &mut u64 {
        &mut self.0[word]
    }
}

/// Stations to which something happens at the same instant.
#[derive(Clone, Debug)]
pub struct InstantSet(Vec<(Time, u64)>);

impl InstantSet {
    /// The empty set, for this number of stations.
    pub fn none(stations: usize) -> Self {
        Self(vec![(Time::NEVER, 0); stations.div_ceil(64)])
    }

    /// The stations of a word to which it happens at `now`.
    #[inline]
    pub fn of(&self, word: usize, now: Time) -> u64 {
        let (time, bits) = self.0[word];
        if time == now { bits } else { 0 }
    }

    /// Adds stations to which it happens at `now`.
    #[inline]
    pub fn add(&mut self, word: usize, now: Time, bits: u64) {
        self.0[word] = (now, self.of(word, now) | bits);
    }

    /// Whether it happens to `station` at `now`.
    #[inline]
    pub fn has(&self, station: u32, now: Time) -> bool {
        let (word, bit) = place(station);
        self.of(word, now) & bit != 0
    }
}

/// The stations of a word in `bits`, in the order of their numbers.
#[inline]
pub fn each(word: usize, bits: u64) -> impl Iterator<Item = u32> {
    #[allow(clippy::cast_possible_truncation)] // there are fewer than 2^32 stations
    each_from(word as u32 * 64, bits)
}

/// The bits of stations of one word.
#[inline]
pub fn bits_of(stations: impl Iterator<Item = u32>) -> u64 {
    stations.fold(0, |bits, station| bits | place(station).1)
}

/// The stations in `bits`, whose lowest bit stands for `first`.
#[inline]
pub fn each_from(first: u32, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let station = (bits != 0).then(|| first + bits.trailing_zeros());
        bits &= bits.wrapping_sub(1);
        station
    })
}

/// Number of binary digits of a count: no station is reached by 65536 frames at once.
const DIGITS: usize = 16;

/// Digits that are always processed, which is cheaper than checking whether they are needed.
const COMMON: usize = 3;

/// Small counts of 64 stations, stored digit by digit, so that all of them change in a few operations.
#[derive(Clone, Debug, Default)]
struct BitSlicedCounts {
    /// Stations whose count is not zero.
    any: u64,
    /// Number of digits ever needed, if more than [`COMMON`].
    used: usize,
    digits: [u64; DIGITS],
}

/// A small count for each station.
#[derive(Clone, Debug)]
pub struct CountSet(Vec<BitSlicedCounts>);

impl CountSet {
    /// Zero for each station.
    pub fn new(stations: usize) -> Self {
        Self(vec![BitSlicedCounts::default(); stations.div_ceil(64)])
    }

    /// Increments the counts of these stations.
    #[inline(always)]
    pub fn add(&mut self, word: usize, bits: u64) {
        let BitSlicedCounts { any, used, digits } = &mut self.0[word];
        *any |= bits;
        let mut carry = bits;
        for digit in &mut digits[..COMMON] {
            (*digit, carry) = (*digit ^ carry, *digit & carry);
        }
        let mut place = COMMON;
        while carry != 0 {
            (digits[place], carry) = (digits[place] ^ carry, digits[place] & carry);
            place += 1;
            *used = place.max(*used);
        }
    }

    /// Decrements the counts of these stations, none of which may be zero.
    #[inline]
    pub fn remove(&mut self, word: usize, bits: u64) {
        let BitSlicedCounts { any, used, digits } = &mut self.0[word];
        let mut borrow = bits;
        *any = 0;
        for digit in &mut digits[..COMMON] {
            (*digit, borrow) = (*digit ^ borrow, !*digit & borrow);
            *any |= *digit;
        }
        for digit in &mut digits[COMMON..(*used).max(COMMON)] {
            (*digit, borrow) = (*digit ^ borrow, !*digit & borrow);
            *any |= *digit;
        }
    }

    /// Stations of a word whose count is not zero.
    #[inline]
    pub fn any(&self, word: usize) -> u64 {
        self.0[word].any
    }

    /// Stations of a word whose count is two or more.
    #[inline]
    pub fn several(&self, word: usize) -> u64 {
        self.0[word].digits[1..].iter().fold(0, |any, digit| any | digit)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compared with plain numbers.
        #[test]
        fn a_tally_counts(changes in prop::collection::vec(any::<u64>(), 1..40)) {
            let mut tally = CountSet::new(200);
            let mut plain = [0_i32; 64];
            for (sign, bits) in changes.iter().map(|bits| (1, bits)).chain(changes.iter().map(|bits| (-1, bits))) {
                if sign > 0 { tally.add(2, *bits) } else { tally.remove(2, *bits) }
                for station in each(0, *bits) {
                    plain[station as usize] += sign;
                }
                let which = |wanted: fn(i32) -> bool| {
                    (0..64).filter(|bit| wanted(plain[*bit])).fold(0_u64, |bits, bit| bits | 1 << bit)
                };
                prop_assert_eq!(tally.any(2), which(|count| count > 0));
                prop_assert_eq!(tally.several(2), which(|count| count > 1));
            }
            prop_assert_eq!(tally.any(1), 0);
        }
    }
}
