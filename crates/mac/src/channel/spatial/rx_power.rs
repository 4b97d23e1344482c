//! Received powers: the stations that a sender's signal reaches, in words of 64 stations, and the power at each.

use std::ops::Range;

use super::bitset::place;
use super::radio_links::RadioLinks;

/// Number of stations whose powers are computed together.
const BLOCK: usize = 4;

/// The stations of a word that a signal reaches, as bits.
#[derive(Clone, Copy, Debug)]
pub struct RxWord {
    pub word: u32,
    /// Index of the first power.
    powers: u32,
    /// First station of the word with a power, and number of powers, in whole blocks; zero if nothing arrives.
    first: u8,
    lanes: u8,
    pub reached: u64,
    pub senses: u64,
    pub reads: u64,
    /// Stations at which it stands out from noise.
    pub clear: u64,
}

impl RxWord {
    /// Stations with a power, by number.
    #[inline]
    pub fn stations(&self) -> Range<usize> {
        let first = self.word as usize * 64 + usize::from(self.first);
        first..first + usize::from(self.lanes)
    }

    /// The first of [`RxWord::stations`], relative to the word.
    #[inline]
    pub fn first(&self) -> u32 {
        u32::from(self.first)
    }

    /// Bits of [`RxWord::stations`].
    #[inline]
    pub fn bits(&self) -> &'static [u64] {
        const BITS: [u64; 64] = {
            let mut bits = [1; 64];
            let mut place = 1;
            while place < 64 {
                bits[place] = 2 * bits[place - 1];
                place += 1;
            }
            bits
        };
        &BITS[usize::from(self.first)..][..usize::from(self.lanes)]
    }

    /// Indices of the powers.
    #[inline]
    fn range(&self) -> Range<usize> {
        self.powers as usize..self.powers as usize + usize::from(self.lanes)
    }

    /// Index of the power at `to`, which the signal must reach.
    #[inline]
    pub fn at(&self, to: u32) -> usize {
        self.powers as usize + to as usize % 64 - usize::from(self.first)
    }
}

/// For each sender the stations that its signal reaches, in order.
#[derive(Clone, Debug)]
pub struct RxPowers {
    first: Vec<u32>,
    rx_words: Vec<RxWord>,
    /// Powers in mW; zero if nothing arrives.
    powers: Vec<f64>,
    /// For each power, the maximum total power of all frames among which this frame stands out, in mW.
    bounds: Vec<f64>,
}

/// Number of stations rounded up to whole blocks.
pub fn whole_blocks(stations: usize) -> usize {
    stations.next_multiple_of(BLOCK)
}

impl RxPowers {
    /// Powers of all links. `bound` computes, for a station and a power, the maximum total power of all frames among
    /// which a frame of that power stands out.
    pub fn new(links: &RadioLinks, bound: impl Fn(u32, f64) -> f64) -> Self {
        let mut rx_powers = Self { first: vec![0], rx_words: vec![], powers: vec![], bounds: vec![] };
        for from in 0..u32::try_from(links.stations()).expect("stations are numbered in 32 bits") {
            let start = rx_powers.rx_words.len();
            for word in links.of(from).chunk_by(|one, next| one.to / 64 == next.to / 64) {
                let (low, high) = (word[0].to as usize % 64, word[word.len() - 1].to as usize % 64);
                let first = low - low % BLOCK;
                let lanes = whole_blocks(high + 1) - first;
                let byte = |number: usize| u8::try_from(number).expect("a word has 64 stations");
                rx_powers.rx_words.push(RxWord {
                    word: word[0].to / 64,
                    powers: u32::try_from(rx_powers.powers.len()).expect("fewer than 2^32 powers"),
                    first: byte(first),
                    lanes: byte(lanes),
                    reached: word.iter().fold(0, |reached, link| reached | place(link.to).1),
                    senses: 0,
                    reads: 0,
                    clear: 0,
                });
                rx_powers.powers.resize(rx_powers.powers.len() + lanes, 0.0);
                rx_powers.bounds.resize(rx_powers.powers.len(), f64::NEG_INFINITY);
            }
            let mut at = start;
            for place in links.range(from) {
                let link = links.at(place);
                while rx_powers.rx_words[at].word != link.to / 64 {
                    at += 1;
                }
                let power = links.power(place);
                rx_powers.set(at, link.to, power, link.senses, link.reads);
                let rx = &mut rx_powers.rx_words[at];
                let bound = bound(link.to, power);
                rx.clear |= if power <= bound { self::place(link.to).1 } else { 0 };
                rx_powers.bounds[rx.at(link.to)] = bound;
            }
            rx_powers.first.push(u32::try_from(rx_powers.rx_words.len()).expect("fewer words than links"));
        }
        rx_powers
    }

    /// Sets the power at `to`, one of the stations of the word with index `place`.
    #[inline]
    pub fn set(&mut self, place: usize, to: u32, power: f64, senses: bool, reads: bool) {
        let rx = &mut self.rx_words[place];
        let (_, bit) = self::place(to);
        rx.senses = rx.senses & !bit | if senses { bit } else { 0 };
        rx.reads = rx.reads & !bit | if reads { bit } else { 0 };
        let at = rx.at(to);
        self.powers[at] = power;
    }

    /// Sets whether the signal reaches `to`, one of the stations of the word with index `place`; returns the index of
    /// its power.
    pub fn reach(&mut self, place: usize, to: u32, reaches: bool) -> usize {
        let rx = &mut self.rx_words[place];
        let (_, bit) = self::place(to);
        rx.reached = rx.reached & !bit | if reaches { bit } else { 0 };
        rx.at(to)
    }

    /// Total number of powers, over all senders.
    pub fn powers_in_all(&self) -> usize {
        self.powers.len()
    }

    /// Indices of the words of `sender`.
    #[inline]
    pub fn of(&self, sender: u32) -> Range<usize> {
        self.first[sender as usize] as usize..self.first[sender as usize + 1] as usize
    }

    /// Total number of words, over all senders.
    pub fn words(&self) -> usize {
        self.rx_words.len()
    }

    /// The words of `sender`.
    #[inline]
    pub fn rx_row(&self, sender: u32) -> &[RxWord] {
        &self.rx_words[self.of(sender)]
    }

    /// Index of a word of `sender`, which must exist.
    #[inline]
    pub fn place(&self, sender: u32, word: usize) -> usize {
        let places = self.of(sender);
        let near = places.start + word.saturating_sub(self.rx_words[places.start].word as usize);
        if near < places.end && self.rx_words[near].word as usize == word {
            return near; // all words in between exist
        }
        let found = self.rx_row(sender).binary_search_by_key(&word, |rx| rx.word as usize);
        places.start + found.expect("the sender reaches a station of the word")
    }

    #[inline]
    pub fn at(&self, place: usize) -> RxWord {
        self.rx_words[place]
    }

    /// The powers at [`RxWord::stations`].
    #[inline]
    pub fn powers(&self, rx: &RxWord) -> &[f64] {
        &self.powers[rx.range()]
    }

    /// For each of these powers, the maximum total power of all frames among which a frame of that power stands out.
    #[inline]
    pub fn bounds(&self, rx: &RxWord) -> &[f64] {
        &self.bounds[rx.range()]
    }

    /// Power at `to`, which the signal must reach.
    #[inline]
    pub fn power(&self, rx: &RxWord, to: u32) -> f64 {
        self.powers[rx.at(to)]
    }
}
