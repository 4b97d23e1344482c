//! Whom a sender's signal reaches, in words of 64 stations and powers of eight.

use std::ops::Range;

use super::links::Links;
use super::sets::{each, place};

/// Stations in a block of powers.
pub const BLOCK: usize = 8;

/// Powers at the stations of a block, in mW; zero where nothing arrives.
pub type Powers = [f64; BLOCK];

/// Some of the 64 stations of a word that a signal reaches, a bit each.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    pub word: u32,
    /// Where the powers begin.
    powers: u32,
    /// For each eight stations of the word the place of their powers after that; those that nothing reaches have none.
    offsets: [u8; 64 / BLOCK],
    /// One bit for each eight stations: whether the signal reaches any of them.
    parts: u8,
    pub reached: u64,
    pub senses: u64,
    pub reads: u64,
    /// Where it stands out from noise.
    pub clear: u64,
}

impl Reach {
    /// Blocks that the signal reaches: where they are among all stations, where their powers are, and the bits of their stations.
    #[inline]
    pub fn blocks(&self) -> impl Iterator<Item = (usize, usize, u64)> + use<> {
        let Self { word, powers, offsets, mut parts, .. } = *self;
        std::iter::from_fn(move || {
            let part = (parts != 0).then(|| parts.trailing_zeros() as usize)?;
            parts &= parts - 1;
            let powers = powers as usize + usize::from(offsets[part]);
            Some((word as usize * (64 / BLOCK) + part, powers, 0xff << (part * BLOCK)))
        })
    }
}

/// For each sender what it reaches, in the order of the stations.
#[derive(Clone, Debug)]
pub struct Rows {
    first: Vec<u32>,
    reaches: Vec<Reach>,
    powers: Vec<Powers>,
}

impl Rows {
    pub fn new(links: &Links) -> Self {
        let mut rows = Self { first: vec![0], reaches: vec![], powers: vec![] };
        for from in 0..u32::try_from(links.stations()).expect("stations are numbered in 32 bits") {
            let start = rows.reaches.len();
            for place in links.range(from) {
                let link = links.at(place);
                rows.enter(start, link.to);
                rows.set(rows.reaches.len() - 1, link.to, links.power(place), link.senses, link.reads);
            }
            rows.first.push(u32::try_from(rows.reaches.len()).expect("fewer words than links"));
        }
        rows
    }

    /// Makes room for `to`, which comes after all others of its row, which begins at `start`.
    fn enter(&mut self, start: usize, to: u32) {
        let (word, bit) = (to / 64, to as usize % 64);
        let powers = u32::try_from(self.powers.len()).expect("fewer powers than links");
        if self.reaches.len() == start || self.reaches.last().is_some_and(|reach| reach.word != word) {
            self.reaches.push(Reach {
                word,
                powers,
                offsets: [0; 64 / BLOCK],
                parts: 0,
                reached: 0,
                senses: 0,
                reads: 0,
                clear: !0,
            });
        }
        let reach = self.reaches.last_mut().expect("one was there or was made");
        let part = bit / BLOCK;
        if reach.reached >> (part * BLOCK) & 0xff == 0 {
            reach.offsets[part] = u8::try_from(powers - reach.powers).expect("a word has eight blocks");
            reach.parts |= 1 << part;
            self.powers.push([0.0; BLOCK]);
        }
        reach.reached |= 1 << bit;
    }

    /// What arrives at `to`, which is one of those at `place`.
    #[inline]
    pub fn set(&mut self, place: usize, to: u32, power: f64, senses: bool, reads: bool) {
        let reach = &mut self.reaches[place];
        let (_, bit) = self::place(to);
        reach.senses = reach.senses & !bit | if senses { bit } else { 0 };
        reach.reads = reach.reads & !bit | if reads { bit } else { 0 };
        let block = reach.powers as usize + usize::from(reach.offsets[to as usize % 64 / BLOCK]);
        self.powers[block][to as usize % BLOCK] = power;
    }

    /// Notes whom signals reach that do not stand out from noise, as `clear` tells of a station and a power.
    pub fn find_clear(&mut self, clear: impl Fn(u32, f64) -> bool) {
        for index in 0..self.reaches.len() {
            let reach = self.reaches[index];
            let noisy = each(reach.word as usize, reach.reached).filter(|to| !clear(*to, self.power(&reach, *to)));
            self.reaches[index].clear = noisy.fold(!0, |bits, to| bits & !place(to).1);
        }
    }

    /// Where the words of `sender` are.
    #[inline]
    pub fn of(&self, sender: u32) -> Range<usize> {
        self.first[sender as usize] as usize..self.first[sender as usize + 1] as usize
    }

    /// The words of `sender`.
    #[inline]
    pub fn row(&self, sender: u32) -> &[Reach] {
        &self.reaches[self.of(sender)]
    }

    #[inline]
    pub fn at(&self, place: usize) -> Reach {
        self.reaches[place]
    }

    /// The powers of a block.
    #[inline]
    pub fn powers(&self, block: usize) -> &Powers {
        &self.powers[block]
    }

    /// Power at `to`, which is reached.
    #[inline]
    pub fn power(&self, reach: &Reach, to: u32) -> f64 {
        let bit = to as usize % 64;
        self.powers[reach.powers as usize + usize::from(reach.offsets[bit / BLOCK])][bit % BLOCK]
    }
}
