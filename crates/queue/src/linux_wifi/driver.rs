//! What the driver of a Wi-Fi card holds: packets handed down and not yet on the air.
//!
//! Two kinds of driver. One with AQL (ath10k, mt76) takes what mac80211 lets it have, and the card chooses among its
//! stations, each time as many packets as fit into an aggregate. ath9k builds aggregates itself and keeps two of them,
//! counting the one on the air (`ATH_AGGR_MIN_QDEPTH`; at most 32 packets, `ATH_AMPDU_SUBFRAME_DEFAULT`, and 4 ms).
//!
//! Our reading: how a card chooses is up to its firmware. Here it keeps rounds like those of mac80211, with the same
//! quanta, or stations take turns if these are not fair.
//!
//! Departure: retransmissions go before all else; in ath9k they join the station's next aggregate.

use std::collections::VecDeque;

use wifair_packet::PacketId;

/// A packet handed to the driver, with its expected air time in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Handed {
    pub id: PacketId,
    pub air: u64,
}

/// Packets for a station that may leave in one aggregate.
#[derive(Clone, Debug)]
pub struct DriverBatch {
    pub station: usize,
    pub packets: VecDeque<Handed>,
}

/// The packets of a category in the driver.
#[derive(Clone, Debug, Default)]
pub struct DriverQueue {
    batches: VecDeque<DriverBatch>,
    /// Whether batches are sent as they are and in their order; otherwise each station has one, which grows.
    in_order: bool,
    /// Whether a part of the first batch is on the air and a part is still to be sent with it.
    is_open: bool,
    /// What has been sent since a packet was last chosen: by station, in microseconds and packets.
    in_flight: Vec<(usize, u64, usize)>,
}

impl DriverQueue {
    /// An empty queue.
    pub fn new(in_order: bool) -> Self {
        Self { in_order, ..Self::default() }
    }

    /// Batches, counting that on the air.
    pub fn batches(&self) -> usize {
        let sent_whole = !self.is_open && !self.in_flight.is_empty();
        self.batches.len() + usize::from(sent_whole)
    }

    /// Whether it holds packets for a station.
    pub fn has(&self, station: usize) -> bool {
        self.batches.iter().any(|batch| batch.station == station)
    }

    /// Adds a packet for a station to its batch.
    pub fn push(&mut self, station: usize, packet: Handed) {
        match self.batches.iter_mut().find(|batch| batch.station == station) {
            Some(batch) => batch.packets.push_back(packet),
            None => self.batches.push_back(DriverBatch { station, packets: VecDeque::from([packet]) }),
        }
    }

    /// Adds a batch.
    pub fn push_batch(&mut self, batch: DriverBatch) {
        if !batch.packets.is_empty() {
            self.batches.push_back(batch);
        }
    }

    /// What was sent is done: reports it by station, in microseconds and packets.
    pub fn complete(&mut self, mut done: impl FnMut(usize, u64, usize)) {
        self.is_open = false;
        for (station, air, packets) in self.in_flight.drain(..) {
            done(station, air, packets);
        }
    }

    /// Takes the first packet of the first batch.
    pub fn first(&mut self) -> Option<Handed> {
        self.take(0)
    }

    /// Takes the next packet for a station; of batches in order, only from that on the air.
    pub fn next_for(&mut self, station: usize) -> Option<Handed> {
        let place = self.batches.iter().position(|batch| batch.station == station)?;
        if self.in_order && !(self.is_open && place == 0) { None } else { self.take(place) }
    }

    fn take(&mut self, place: usize) -> Option<Handed> {
        let batch = self.batches.get_mut(place)?;
        let packet = batch.packets.pop_front().expect("a batch has packets");
        let station = batch.station;
        let is_empty = batch.packets.is_empty();
        self.is_open = self.in_order && !is_empty;
        if is_empty {
            self.batches.remove(place);
        }
        match self.in_flight.iter_mut().find(|(other, ..)| *other == station) {
            Some((_, air, packets)) => {
                *air += packet.air;
                *packets += 1;
            }
            None => self.in_flight.push((station, packet.air, 1)),
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::{Packet, Packets};

    use super::*;

    fn handed(packets: &mut Packets, air: u64) -> Handed {
        Handed { id: packets.insert(Packet::default()), air }
    }

    /// A station's batch grows where batches are not in order, and a station may be chosen; what is done is reported.
    #[test]
    fn a_card_with_aql_has_a_batch_for_each_station() {
        let (mut packets, mut queue) = (Packets::default(), DriverQueue::new(false));
        for station in [1, 2, 1] {
            queue.push(station, handed(&mut packets, 100));
        }
        assert_eq!(queue.batches(), 2);
        assert!(queue.next_for(1).is_some() && queue.next_for(1).is_some() && queue.next_for(1).is_none());
        let mut done = vec![];
        queue.complete(|station, air, packets| done.push((station, air, packets)));
        assert_eq!(done, [(1, 200, 2)]);
        assert_eq!([1, 2].map(|station| queue.has(station)), [false, true]);
    }

    /// Two aggregates at most: the one on the air counts until its end is reported, and does not take from the next.
    #[test]
    fn what_is_on_the_air_counts() {
        let (mut packets, mut queue) = (Packets::default(), DriverQueue::new(true));
        let batch =
            |packets: &mut Packets| DriverBatch { station: 1, packets: VecDeque::from([handed(packets, 1); 2]) };
        queue.push_batch(batch(&mut packets));
        assert_eq!(queue.batches(), 1);
        assert!(queue.first().is_some());
        assert_eq!(queue.batches(), 1);
        assert!(queue.next_for(1).is_some());
        assert_eq!(queue.batches(), 1);
        queue.push_batch(batch(&mut packets));
        assert_eq!(queue.batches(), 2);
        assert!(queue.next_for(1).is_none());
        queue.complete(|_, _, _| ());
        assert_eq!(queue.batches(), 1);
    }
}
