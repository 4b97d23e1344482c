//! Air time of the exchanges in which others send to a station.

use wifair_units::Duration;

use super::{BROADCAST, Counters};

/// Air time by receiver and access category. What a station spends on its exchanges is in its counters; when it turns
/// to another receiver or category, the growth of these counters since it last turned is added to the former ones.
#[derive(Clone, Debug)]
pub(super) struct AirToStations {
    senders: Vec<Turned>,
    /// For each receiver, by category, the air time of exchanges that ended before their sender turned to others.
    to: Vec<[Duration; 4]>,
}

/// To which receiver and category a sender has turned, and the air time of its exchanges before.
#[derive(Clone, Copy, Debug)]
struct Turned {
    receiver: u32,
    category: u32,
    before: Duration,
}

impl AirToStations {
    /// Nothing has been sent among `stations` stations.
    pub fn new(stations: usize) -> Self {
        let nowhere = Turned { receiver: BROADCAST, category: 0, before: Duration::ZERO };
        Self { senders: vec![nowhere; stations], to: vec![[Duration::ZERO; 4]; stations] }
    }

    /// The next exchange of `sender` is with `receiver`, in `category`; `air` is the air time of all of its exchanges
    /// before. Without categories `category` is 0.
    #[inline(always)]
    pub fn turn(&mut self, sender: usize, receiver: u32, category: u32, air: impl FnOnce() -> Duration) {
        let own = &mut self.senders[sender];
        if (own.receiver, own.category) != (receiver, category) {
            let last = std::mem::replace(own, Turned { receiver, category, before: air() });
            // No station has the number of a broadcast.
            if let Some(to) = self.to.get_mut(last.receiver as usize) {
                to[last.category as usize] += own.before - last.before;
            }
        }
    }

    /// Air time of exchanges to each station so far, by category, from the counters of all senders.
    pub fn so_far<'a>(&self, counters: impl Iterator<Item = &'a Counters>) -> Vec<[Duration; 4]> {
        let mut to = self.to.clone();
        for (last, counters) in self.senders.iter().zip(counters) {
            if let Some(to) = to.get_mut(last.receiver as usize) {
                to[last.category as usize] += counters.air() - last.before;
            }
        }
        to
    }
}
