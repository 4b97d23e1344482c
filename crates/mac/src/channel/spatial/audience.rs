//! The stations that hear each sender, if links do not vary.

use std::ops::Range;

use super::bitset::place;
use super::rx_power::RxPowers;

/// The stations of a word that sense a frame that no other overlaps.
#[derive(Clone, Copy, Debug)]
pub struct Audience {
    pub word: u32,
    pub senses: u64,
    /// The stations among `senses` that can read it.
    pub reads: u64,
}

/// The audience of each station, word by word.
#[derive(Clone, Debug, Default)]
pub struct Audiences {
    first: Vec<u32>,
    audiences: Vec<Audience>,
}

impl Audiences {
    /// Computes the audiences from the received powers; with `clear`, a frame can be read only if it stands out from
    /// noise.
    #[allow(clippy::cast_possible_truncation)] // rows are counted in 32 bits as well
    pub fn new(stations: u32, rx_powers: &RxPowers, clear: bool) -> Self {
        let mut audiences = Self { first: vec![0], audiences: vec![] };
        for station in 0..stations {
            audiences.audiences.extend(rx_powers.rx_row(station).iter().map(|rx| {
                let reads = rx.reads & if clear { rx.clear } else { !0 };
                Audience { word: rx.word, senses: rx.senses, reads: reads & rx.senses }
            }));
            audiences.first.push(audiences.audiences.len() as u32);
        }
        audiences
    }

    /// Indices of the words of `station`.
    #[inline]
    pub fn of(&self, station: u32) -> Range<usize> {
        self.first[station as usize] as usize..self.first[station as usize + 1] as usize
    }

    /// The audience of `station` in a word.
    #[inline]
    pub fn at(&self, station: u32, word: usize) -> Audience {
        let audiences = &self.audiences[self.of(station)];
        let found = audiences.iter().find(|audience| audience.word as usize == word);
        #[allow(clippy::cast_possible_truncation)]
        found.copied().unwrap_or(Audience { word: word as u32, senses: 0, reads: 0 })
    }

    /// Whether `to` can read the frames of `from`.
    pub fn is_read(&self, from: u32, to: u32) -> bool {
        let (word, bit) = place(to);
        self.at(from, word).reads & bit != 0
    }

    /// Removes the next word from both rows, and returns both audiences in that word.
    #[inline]
    pub fn next_of(&self, one: &mut Range<usize>, other: &mut Range<usize>) -> Option<(Audience, Audience)> {
        let word_at =
            |rx_row: &Range<usize>| if rx_row.is_empty() { u32::MAX } else { self.audiences[rx_row.start].word };
        let word = word_at(one).min(word_at(other));
        let take = |rx_row: &mut Range<usize>| {
            let place = rx_row.start;
            if word_at(rx_row) != word {
                return Audience { word, senses: 0, reads: 0 };
            }
            rx_row.start += 1;
            self.audiences[place]
        };
        (word < u32::MAX).then(|| (take(one), take(other)))
    }
}
