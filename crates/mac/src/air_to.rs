//! Air time of the exchanges in which others send to a station.

use wifair_units::Duration;

use super::{BROADCAST, Counters};

/// Air time by receiver and access category. What a station spends on its exchanges is in its counters; when it turns
/// to another receiver or category, the growth of these counters since it last turned is added to the former ones.
#[derive(Clone, Debug)]
pub(super) struct AirToStations {
    /// For each sender, its receiver and category, and the air time of its exchanges before it turned to these.
    senders: Vec<(u32, u32, Duration)>,
    /// For each receiver, by category, the air time of exchanges that ended before their sender turned to others.
    to: Vec<[Duration; 4]>,
}

impl AirToStations {
    /// Nothing has been sent among `stations` stations.
    pub fn new(stations: usize) -> Self {
        Self { senders: vec![(BROADCAST, 0, Duration::ZERO); stations], to: vec![[Duration::ZERO; 4]; stations] }
    }

    /// The next exchange of `sender` is with `receiver`, in `category`; `air` is the air time of all of its exchanges
    /// before. Without categories `category` is 0.
    #[inline(always)]
    pub fn turn(&mut self, sender: usize, receiver: u32, category: u32, air: impl FnOnce() -> Duration) {
        let own = &mut self.senders[sender];
        if (own.0, own.1) != (receiver, category) {
            let (last, of_category, before) = std::mem::replace(own, (receiver, category, air()));
            // No station has the number of a broadcast.
            if let Some(to) = self.to.get_mut(last as usize) {
                to[of_category as usize] += own.2 - before;
            }
        }
    }

    /// Air time of exchanges to each station so far, by category, from the counters of all senders.
    pub fn so_far<'a>(&self, counters: impl Iterator<Item = &'a Counters>) -> Vec<[Duration; 4]> {
        let mut to = self.to.clone();
        for ((receiver, category, before), counters) in self.senders.iter().zip(counters) {
            if let Some(to) = to.get_mut(*receiver as usize) {
                to[*category as usize] += counters.air() - *before;
            }
        }
        to
    }
}
