//! Air time of the exchanges in which others send to a station.

use wifair_units::Duration;

use super::{BROADCAST, Counters};

/// Air time by receiver. What a station spends on its exchanges is in its counters; when it turns to another receiver,
/// the growth of these counters since it last turned is added to the former one.
#[derive(Clone, Debug)]
pub(super) struct AirToStations {
    /// For each sender, its receiver, and the air time of its exchanges before it turned to that one.
    senders: Vec<(u32, Duration)>,
    /// For each receiver, the air time of exchanges with it that ended before their sender turned to another.
    to: Vec<Duration>,
}

impl AirToStations {
    /// Nothing has been sent among `stations` stations.
    pub fn new(stations: usize) -> Self {
        Self { senders: vec![(BROADCAST, Duration::ZERO); stations], to: vec![Duration::ZERO; stations] }
    }

    /// The next exchange of `sender` is with `receiver`; `air` is the air time of all of its exchanges before.
    #[inline(always)]
    pub fn turn(&mut self, sender: usize, receiver: u32, air: impl FnOnce() -> Duration) {
        let own = &mut self.senders[sender];
        if own.0 != receiver {
            let (last, before) = std::mem::replace(own, (receiver, air()));
            // No station has the number of a broadcast.
            if let Some(to) = self.to.get_mut(last as usize) {
                *to += own.1 - before;
            }
        }
    }

    /// Air time of exchanges to each station so far, from the counters of all senders.
    pub fn so_far<'a>(&self, counters: impl Iterator<Item = &'a Counters>) -> Vec<Duration> {
        let mut to = self.to.clone();
        for ((receiver, before), counters) in self.senders.iter().zip(counters) {
            if let Some(to) = to.get_mut(*receiver as usize) {
                *to += counters.air() - *before;
            }
        }
        to
    }
}
