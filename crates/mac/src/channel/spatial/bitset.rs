//! Sets of stations, a bit each, so that what many stations do alike takes one step for 64 of them.

use wifair_units::Time;

/// Stations by their numbers, 64 in a word.
#[derive(Clone, Debug)]
pub struct StationSet(Vec<u64>);

/// The word of a station, and its bit there.
#[inline]
pub const fn place(station: u32) -> (usize, u64) {
    (station as usize / 64, 1 << (station % 64))
}

/// The bit of a station in a word; none if it is in another.
#[inline]
pub const fn bit_in(word: usize, station: u32) -> u64 {
    let (own, bit) = place(station);
    if own == word { bit } else { 0 }
}

impl StationSet {
    /// None of so many.
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

    /// Those of a word.
    #[inline]
    pub fn of(&self, word: usize) -> u64 {
        self.0[word]
    }

    #[inline]
    pub fn of_mut(&mut self, word: usize) -> &mut u64 {
        &mut self.0[word]
    }
}

/// Stations to whom something happens at the same instant.
#[derive(Clone, Debug)]
pub struct InstantSet(Vec<(Time, u64)>);

impl InstantSet {
    /// None of so many.
    pub fn none(stations: usize) -> Self {
        Self(vec![(Time::NEVER, 0); stations.div_ceil(64)])
    }

    /// Those of a word to whom it happens `now`.
    #[inline]
    pub fn of(&self, word: usize, now: Time) -> u64 {
        let (time, bits) = self.0[word];
        if time == now { bits } else { 0 }
    }

    /// Now it happens to these, too.
    #[inline]
    pub fn add(&mut self, word: usize, now: Time, bits: u64) {
        self.0[word] = (now, self.of(word, now) | bits);
    }

    /// Whether it happens to `station` now.
    #[inline]
    pub fn has(&self, station: u32, now: Time) -> bool {
        let (word, bit) = place(station);
        self.of(word, now) & bit != 0
    }
}

/// The stations of a word that `bits` has, in the order of their numbers.
#[inline]
pub fn each(word: usize, bits: u64) -> impl Iterator<Item = u32> {
    #[allow(clippy::cast_possible_truncation)] // there are fewer than 2^32 stations
    each_from(word as u32 * 64, bits)
}

/// The bits of some stations of a word.
#[inline]
pub fn bits_of(stations: impl Iterator<Item = u32>) -> u64 {
    stations.fold(0, |bits, station| bits | place(station).1)
}

/// The stations that `bits` has, whose lowest bit is `first`.
#[inline]
pub fn each_from(first: u32, mut bits: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let station = (bits != 0).then(|| first + bits.trailing_zeros());
        bits &= bits.wrapping_sub(1);
        station
    })
}

/// Binary digits of a count: no station is reached by 65536 frames at once.
const DIGITS: usize = 16;

/// Digits that are gone through whether they are needed or not, which costs less than to ask.
const COMMON: usize = 3;

/// Small numbers of 64 stations, digit by digit, so that all of them change in a few steps.
#[derive(Clone, Debug, Default)]
struct Count {
    /// Stations whose number is not zero.
    any: u64,
    /// Digits that were ever needed, if those of [`COMMON`] are not enough.
    used: usize,
    digits: [u64; DIGITS],
}

/// A small number for each station.
#[derive(Clone, Debug)]
pub struct CountSet(Vec<Count>);

impl CountSet {
    /// Zero for so many stations.
    pub fn new(stations: usize) -> Self {
        Self(vec![Count::default(); stations.div_ceil(64)])
    }

    /// One more for these.
    #[inline(always)]
    pub fn add(&mut self, word: usize, bits: u64) {
        let Count { any, used, digits } = &mut self.0[word];
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

    /// One less for these, none of whom has zero.
    #[inline]
    pub fn remove(&mut self, word: usize, bits: u64) {
        let Count { any, used, digits } = &mut self.0[word];
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

    /// Those of a word whose number is not zero.
    #[inline]
    pub fn any(&self, word: usize) -> u64 {
        self.0[word].any
    }

    /// Those of a word whose number is two or more.
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
        /// Against plain numbers.
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
