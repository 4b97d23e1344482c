//! Who hears whom.

use std::collections::VecDeque;
use std::ops::Range;

use wifair_units::{Db, Dbm, Time};

use wifair_phy::Radio;

/// How well one station hears another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hearing {
    /// Not at all: its frames neither cause deferral nor interfere.
    #[default]
    Nothing,
    /// Senses its frames: defers, and cannot read another frame meanwhile.
    Senses,
    /// Reads its frames.
    Reads,
}

/// A link in one direction between two stations.
#[derive(Clone, Copy, Debug)]
pub(super) struct RadioLink {
    /// The receiving station.
    pub to: u32,
    /// Whether a frame makes the channel busy.
    pub senses: bool,
    /// Whether a frame that does not collide can be read.
    pub reads: bool,
}

/// A change of a link, as a station moves.
#[derive(Clone, Copy, Debug)]
struct LinkChange {
    since: Time,
    /// Power at the receiver from then on, in mW.
    power: f64,
    /// Index of the link.
    place: u32,
    senses: bool,
    reads: bool,
}

/// Power levels of a receiver, in mW.
#[derive(Clone, Copy, Debug)]
pub(super) struct RadioLevels {
    pub noise: f64,
    pub sensitivity: f64,
    pub carrier_sense: f64,
}

/// The links from each station to those that hear it, in the order of their numbers.
#[derive(Clone, Debug)]
pub struct RadioLinks {
    /// Index of the first link of each station, followed by the total number of links.
    first: Vec<u32>,
    links: Vec<RadioLink>,
    /// Power of each link at its receiver in mW, if known.
    powers: Vec<f64>,
    /// Power levels of each station, if powers are known.
    levels: Vec<RadioLevels>,
    /// Probability that a frame is not noticed, for each link; empty if all are zero.
    misses: Vec<f64>,
    /// Changes of the links from each station that are still to come, in order; empty if nobody moves.
    changes: Vec<VecDeque<LinkChange>>,
}

impl RadioLinks {
    /// Number of links, each from one station to another that hears it.
    #[must_use]
    pub fn count(&self) -> usize {
        self.links.len()
    }

    fn empty() -> Self {
        Self { first: vec![0], links: vec![], powers: vec![], levels: vec![], misses: vec![], changes: vec![] }
    }

    fn close_station(&mut self) {
        self.first.push(u32::try_from(self.links.len()).expect("fewer than 2^32 links"));
    }

    /// Links between `stations` stations; `hearing(from, to)` tells how well `to` hears `from`.
    ///
    /// # Panics
    /// If there are more than 2^32 links.
    #[must_use]
    pub fn from_hearing(stations: u32, hearing: impl Fn(u32, u32) -> Hearing) -> Self {
        let mut links = Self::empty();
        for from in 0..stations {
            for to in (0..stations).filter(|to| *to != from) {
                match hearing(from, to) {
                    Hearing::Nothing => {}
                    heard => links.links.push(RadioLink { to, senses: true, reads: heard == Hearing::Reads }),
                }
            }
            links.close_station();
        }
        links
    }

    /// Links on which all stations read each other.
    #[must_use]
    pub fn full(stations: u32) -> Self {
        Self::from_hearing(stations, |_, _| Hearing::Reads)
    }

    /// Links from radios and the path gain between each pair, antennas not included. A signal below `ignored` at its
    /// receiver is omitted: it is too weak to be sensed or to interfere.
    ///
    /// # Panics
    /// If there are more than 2^32 links.
    #[must_use]
    pub fn from_radios(radios: &[Radio], gain: impl Fn(u32, u32) -> Db, ignored: Dbm) -> Self {
        Self::from_moving_radios(radios, gain, |_, _| vec![], ignored)
    }

    /// Like [`RadioLinks::from_radios`], if stations move: `changes(from, to)` are the gains of a path after the start,
    /// in order, each with the time from which it applies. A link is omitted if its signal is always below `ignored`.
    ///
    /// # Panics
    /// If there are more than 2^32 links.
    #[must_use]
    pub fn from_moving_radios(
        radios: &[Radio],
        gain: impl Fn(u32, u32) -> Db,
        changes: impl Fn(u32, u32) -> Vec<(Time, Db)>,
        ignored: Dbm,
    ) -> Self {
        let mut links = Self::empty();
        for (from, sender) in (0..).zip(radios) {
            let mut of_sender = vec![];
            for (to, receiver) in (0..).zip(radios).filter(|(to, _)| *to != from) {
                let power = |gain: Db| sender.tx_power + sender.antenna_gain + gain + receiver.antenna_gain;
                let (first, changes) = (power(gain(from, to)), changes(from, to));
                if first < ignored && changes.iter().all(|(_, gain)| power(*gain) < ignored) {
                    continue;
                }
                let link = |power: Dbm| {
                    let reads = power >= receiver.sensitivity;
                    RadioLink { to, senses: reads || power >= receiver.carrier_sense, reads }
                };
                let place = u32::try_from(links.links.len()).expect("fewer than 2^32 links");
                of_sender.extend(changes.into_iter().map(|(since, gain)| {
                    let RadioLink { senses, reads, .. } = link(power(gain));
                    LinkChange { since, power: milliwatts(power(gain)), place, senses, reads }
                }));
                links.links.push(link(first));
                links.powers.push(milliwatts(first));
            }
            links.close_station();
            of_sender.sort_by_key(|change| change.since);
            links.changes.push(of_sender.into());
        }
        if links.changes.iter().all(VecDeque::is_empty) {
            links.changes.clear();
        }
        links.levels.extend(radios.iter().map(|radio| RadioLevels {
            noise: milliwatts(radio.noise),
            sensitivity: milliwatts(radio.sensitivity),
            carrier_sense: milliwatts(radio.carrier_sense),
        }));
        links
    }

    /// Whether links change, as stations move.
    pub(super) const fn change(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Brings the links from `station` up to date; returns whether they have changed.
    pub(super) fn follow(&mut self, now: Time, station: u32) -> bool {
        let Some(changes) = self.changes.get_mut(station as usize) else { return false };
        let mut has_changed = false;
        while changes.front().is_some_and(|change| change.since <= now)
            && let Some(change) = changes.pop_front()
        {
            let LinkChange { power, place, senses, reads, .. } = change;
            let link = &mut self.links[place as usize];
            (link.senses, link.reads) = (senses, reads);
            self.powers[place as usize] = power;
            has_changed = true;
        }
        has_changed
    }

    /// Makes carrier sense fail at random: `miss(from, to)` is the probability that `to` does not notice a frame of
    /// `from`. The frame still interferes at `to`.
    #[must_use]
    pub fn with_misses(mut self, miss: impl Fn(u32, u32) -> f64) -> Self {
        self.misses.clear();
        for (from, range) in (0..).zip(self.first.windows(2)) {
            let links = &self.links[range[0] as usize..range[1] as usize];
            self.misses.extend(links.iter().map(|link| miss(from, link.to)));
        }
        self
    }

    /// Number of stations.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.first.len() - 1
    }

    /// How well `to` hears `from`.
    #[must_use]
    pub fn hearing(&self, from: u32, to: u32) -> Hearing {
        let links = self.of(from);
        match links.binary_search_by_key(&to, |link| link.to) {
            Ok(place) if links[place].reads => Hearing::Reads,
            Ok(place) if links[place].senses => Hearing::Senses,
            _ => Hearing::Nothing,
        }
    }

    /// Stations that can read the frames of `station`, in the order of their numbers.
    pub fn readers(&self, station: u32) -> impl Iterator<Item = u32> {
        self.of(station).iter().filter(|link| link.reads).map(|link| link.to)
    }

    /// For each station, its neighbours: stations that read its frames and whose frames it reads.
    ///
    /// # Panics
    /// If there are more than 2^32 stations.
    #[must_use]
    pub fn neighbours(&self) -> Vec<Vec<u32>> {
        let stations = u32::try_from(self.stations()).expect("stations are numbered in 32 bits");
        let both = |station| self.readers(station).filter(move |other| self.hearing(*other, station) == Hearing::Reads);
        (0..stations).map(|station| both(station).collect()).collect()
    }

    /// Power of frames of `from` at `to`, in mW: 1 mW if powers are not known, zero if there is no link.
    #[must_use]
    pub fn received_power(&self, from: u32, to: u32) -> f64 {
        let range = self.range(from);
        match self.of(from).binary_search_by_key(&to, |link| link.to) {
            Ok(place) => self.power(range.start + place),
            Err(_) => 0.0,
        }
    }

    /// Indices of the links from `station`.
    #[inline]
    pub(super) fn range(&self, station: u32) -> Range<usize> {
        self.first[station as usize] as usize..self.first[station as usize + 1] as usize
    }

    /// The links from `station`.
    #[inline]
    pub(super) fn of(&self, station: u32) -> &[RadioLink] {
        &self.links[self.range(station)]
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> RadioLink {
        self.links[place]
    }

    /// Power of the link with index `place` in mW; 1 mW if powers are not known.
    #[inline]
    pub(super) fn power(&self, place: usize) -> f64 {
        self.powers.get(place).copied().unwrap_or(1.0)
    }

    pub(super) fn has_powers(&self) -> bool {
        !self.levels.is_empty()
    }

    pub(super) fn levels(&self) -> &[RadioLevels] {
        &self.levels
    }

    pub(super) fn misses(&self) -> &[f64] {
        &self.misses
    }
}

/// A level in mW, computed identically on every platform.
pub(super) fn milliwatts(level: Dbm) -> f64 {
    libm::pow(10.0, level.0 / 10.0)
}
