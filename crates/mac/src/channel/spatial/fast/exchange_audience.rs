//! The stations that hear data and ACK of each pair of stations, if links do not vary.

use std::ops::Range;

use crate::channel::spatial::audience::{Audience, Audiences};
use crate::channel::spatial::bitset::{bit_in, each, place};

/// Which parts of an exchange a station hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hears {
    pub data: bool,
    /// Whether the data frame is read, which implies that it is sensed.
    pub reads_data: bool,
    pub ack: bool,
    pub reads_ack: bool,
}

/// The stations of a word that hear an exchange.
#[derive(Clone, Copy, Debug)]
pub struct Hearers {
    pub word: u32,
    pub all: u64,
    /// Those that did not read the last frame they heard.
    pub missed: u64,
}

/// The audience of an exchange between two stations that read each other.
#[derive(Clone, Debug)]
pub struct ExchangeAudience {
    pub words: Range<usize>,
    pub hearers: Range<usize>,
}

/// Audiences of pairs of stations that have exchanged frames.
#[derive(Clone, Debug, Default)]
pub struct ExchangeAudiences {
    /// For each sender, its receivers in order, each with the index of the pair; `None` if either cannot read the
    /// other.
    peers: Vec<Vec<(u32, Option<u32>)>>,
    exchange_audiences: Vec<ExchangeAudience>,
    words: Vec<Hearers>,
    hearers: Vec<(u32, Hears)>,
}

/// Maximum number of hearers stored for all pairs together; beyond that, exchanges are simulated frame by frame.
const MOST: usize = 1 << 20;

impl ExchangeAudiences {
    /// No pairs yet, for this number of stations.
    pub fn new(stations: usize) -> Self {
        Self { peers: vec![vec![]; stations], ..Self::default() }
    }

    /// Index of the pair of a sender and a receiver, if they read each other.
    #[inline]
    pub fn find(&mut self, sender: u32, receiver: u32, audiences: &Audiences) -> Option<u32> {
        let peers = &self.peers[sender as usize];
        match peers.binary_search_by_key(&receiver, |(peer, _)| *peer) {
            Ok(place) => peers[place].1,
            Err(place) => self.enter(place, sender, receiver, audiences),
        }
    }

    #[cold]
    #[allow(clippy::cast_possible_truncation)] // there are no more pairs than hearers
    fn enter(&mut self, place: usize, sender: u32, receiver: u32, audiences: &Audiences) -> Option<u32> {
        let mutual = audiences.is_read(sender, receiver) && audiences.is_read(receiver, sender);
        let pair = (mutual && self.hearers.len() < MOST).then(|| {
            let (words, hearers) = (self.words.len(), self.hearers.len());
            let (mut of_data, mut of_ack) = (audiences.of(sender), audiences.of(receiver));
            while let Some((data, ack)) = audiences.next_of(&mut of_data, &mut of_ack) {
                self.learn(data, ack, [sender, receiver]);
            }
            self.exchange_audiences
                .push(ExchangeAudience { words: words..self.words.len(), hearers: hearers..self.hearers.len() });
            self.exchange_audiences.len() as u32 - 1
        });
        self.peers[sender as usize].insert(place, (receiver, pair));
        pair
    }

    /// Stores who hears the exchange of these two stations in a word.
    fn learn(&mut self, data: Audience, ack: Audience, ends: [u32; 2]) {
        let word = data.word as usize;
        let all = ends.iter().fold(data.senses | ack.senses, |all, end| all & !bit_in(word, *end));
        let missed = ack.senses & !ack.reads | data.senses & !data.reads & !ack.senses;
        self.words.push(Hearers { word: data.word, all, missed: missed & all });
        for station in each(word, all) {
            let has = |set| set & place(station).1 != 0;
            let hears = Hears {
                data: has(data.senses),
                reads_data: has(data.reads),
                ack: has(ack.senses),
                reads_ack: has(ack.reads),
            };
            self.hearers.push((station, hears));
        }
    }

    /// The pair with this index.
    #[inline]
    pub fn pair(&self, number: u32) -> &ExchangeAudience {
        &self.exchange_audiences[number as usize]
    }

    /// The hearers of the word with this index.
    #[inline]
    pub fn word(&self, place: usize) -> Hearers {
        self.words[place]
    }

    /// All hearers of a pair, in order.
    #[inline]
    pub fn hearers(&self, pair: &ExchangeAudience) -> &[(u32, Hears)] {
        &self.hearers[pair.hearers.clone()]
    }
}
