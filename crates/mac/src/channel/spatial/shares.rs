//! Who hears the frames of each station, where that is always the same.

use std::ops::Range;

use super::rows::Rows;
use super::sets::place;

/// Those of a word who hear a frame that meets no other.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub word: u32,
    pub senses: u64,
    /// These are among those who sense it.
    pub reads: u64,
}

/// For each station its hearers, in the order of the words.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    first: Vec<u32>,
    shares: Vec<Share>,
}

impl Shares {
    /// From what arrives where; `clear`: it is read only where it stands out from noise.
    #[allow(clippy::cast_possible_truncation)] // rows are counted in 32 bits as well
    pub fn new(stations: u32, rows: &Rows, clear: bool) -> Self {
        let mut shares = Self { first: vec![0], shares: vec![] };
        for station in 0..stations {
            shares.shares.extend(rows.row(station).iter().map(|reach| {
                let reads = reach.reads & if clear { reach.clear } else { !0 };
                Share { word: reach.word, senses: reach.senses, reads: reads & reach.senses }
            }));
            shares.first.push(shares.shares.len() as u32);
        }
        shares
    }

    /// Where the words of `station` are.
    #[inline]
    pub fn of(&self, station: u32) -> Range<usize> {
        self.first[station as usize] as usize..self.first[station as usize + 1] as usize
    }

    /// Those of a word who hear `station`.
    #[inline]
    pub fn at(&self, station: u32, word: usize) -> Share {
        let shares = &self.shares[self.of(station)];
        let found = shares.iter().find(|share| share.word as usize == word);
        #[allow(clippy::cast_possible_truncation)]
        found.copied().unwrap_or(Share { word: word as u32, senses: 0, reads: 0 })
    }

    /// Whether `to` reads `from`.
    pub fn is_read(&self, from: u32, to: u32) -> bool {
        let (word, bit) = place(to);
        self.at(from, word).reads & bit != 0
    }

    /// Takes the next word out of either row, and what both have in it.
    #[inline]
    pub fn next_of(&self, one: &mut Range<usize>, other: &mut Range<usize>) -> Option<(Share, Share)> {
        let word_at = |row: &Range<usize>| if row.is_empty() { u32::MAX } else { self.shares[row.start].word };
        let word = word_at(one).min(word_at(other));
        let take = |row: &mut Range<usize>| {
            let place = row.start;
            if word_at(row) != word {
                return Share { word, senses: 0, reads: 0 };
            }
            row.start += 1;
            self.shares[place]
        };
        (word < u32::MAX).then(|| (take(one), take(other)))
    }
}
