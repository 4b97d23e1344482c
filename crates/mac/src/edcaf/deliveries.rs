//! Packets that recipients pass up, until they are reported, and how long they took.

use wifair_metrics::Histogram;
use wifair_packet::PacketId;
use wifair_units::{Duration, Time};

use super::arrival_times::ArrivalTimes;
use super::released::Released;

/// Packets that have left windows, and the delays of those that were received.
///
/// Invariant: between calls `since` is [`Time::NEVER`] exactly if no packet waits to be reported.
#[derive(Debug)]
pub(crate) struct Deliveries {
    pub(super) released: Released,
    /// Since when packets wait to be reported.
    since: Time,
    /// Arrival time of each packet in its queue.
    pub(super) arrived: ArrivalTimes,
    /// Time from a packet's arrival in its queue until the receiver passes it up, by category, if there are four.
    delays: [Histogram; 4],
    categories: usize,
}

impl Deliveries {
    /// Nothing has been received among stations with this number of categories.
    pub fn new(categories: usize) -> Self {
        Self {
            released: Released::default(),
            since: Time::NEVER,
            arrived: ArrivalTimes::default(),
            delays: Default::default(),
            categories,
        }
    }

    /// Since when packets wait to be reported.
    #[inline]
    pub const fn since(&self) -> Time {
        self.since
    }

    /// Packets that a recipient has passed up are reported at once.
    #[inline]
    pub fn report_from(&mut self, now: Time) {
        if !self.rest().is_empty() {
            self.since = now;
        }
    }

    /// Removes the next packet passed up, if there is one.
    #[inline]
    pub fn take(&mut self) -> Option<(u32, PacketId)> {
        let next = self.released.up.take();
        self.note_removal();
        next
    }

    /// Removes the next `count` packets passed up.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.released.up.skip(count);
        self.note_removal();
    }

    #[inline]
    fn note_removal(&mut self) {
        if self.rest().is_empty() {
            self.since = Time::NEVER;
        }
    }

    /// The packets not yet reported, with their receivers.
    #[inline]
    pub fn rest(&self) -> &[(u32, PacketId)] {
        self.released.up.rest()
    }

    /// How long before the end of its PPDU each of them was received; empty if recipients pass MPDUs up together.
    #[inline]
    pub fn rest_leads(&self) -> &[Duration] {
        self.released.up.rest_leads()
    }

    /// How long before the end of its PPDU the packet last taken was received.
    #[inline]
    pub const fn lead(&self) -> Duration {
        self.released.up.lead()
    }

    /// The delays of packets from the EDCAF with this index, if delays are measured.
    #[inline]
    pub fn delays_of(&mut self, sender: usize) -> Option<&mut Histogram> {
        (self.categories == self.delays.len()).then(|| &mut self.delays[sender % self.categories])
    }

    /// Notes the delay of a packet passed up.
    #[inline]
    pub fn note_delay(&mut self, now: Time, sender: usize, id: PacketId) {
        let arrived = self.arrived.of(id);
        if let Some(delays) = self.delays_of(sender) {
            delays.add(now - arrived);
        }
    }

    /// Notes the delays of the packets from a sender passed up since the mark `before`; returns their number.
    pub fn note_delays(&mut self, now: Time, sender: usize, before: usize) -> u64 {
        let (up, leads) = self.released.up.since(before);
        if self.categories == self.delays.len() {
            let (delays, arrived) = (&mut self.delays[sender % self.categories], &self.arrived);
            let (apart, together) = up.split_at(leads.len());
            let age = |id: PacketId| now - arrived.of(id);
            delays.add_all(apart.iter().zip(leads).map(|((_, id), lead)| age(*id) - *lead));
            delays.add_all(together.iter().map(|(_, id)| age(*id)));
        }
        up.len() as u64
    }

    /// The delays, by category.
    pub const fn delays(&self) -> &[Histogram; 4] {
        &self.delays
    }

    /// Restarts the measurement of delays.
    pub fn restart_delays(&mut self) {
        self.delays.iter_mut().for_each(Histogram::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wifair_packet::{Packet, Packets};

    /// Two packets arrive at 1 and 2 ms and are passed up at 5 ms, the first 1 ms before the end of its PPDU: their
    /// delays are 5 - 1 - 1 = 3 and 5 - 2 = 3 ms, and both wait from then on until the second is taken.
    #[test]
    fn packets_wait_from_when_they_are_passed_up_until_they_are_taken() {
        let (mut packets, at) = (Packets::default(), |ms| Time::ZERO + Duration::from_millis(ms));
        let ids = [1, 2].map(|_| packets.insert(Packet::default()));
        let mut deliveries = Deliveries::new(4);
        ids.into_iter().zip([1, 2]).for_each(|(id, ms)| deliveries.arrived.note(id, at(ms)));
        assert_eq!(deliveries.since(), Time::NEVER);
        ids.into_iter().for_each(|id| deliveries.released.up.push(7, id));
        deliveries.released.up.set_leads(0, [Duration::from_millis(1)].into_iter());
        deliveries.report_from(at(5));
        assert_eq!((deliveries.note_delays(at(5), 6, 0), deliveries.since()), (2, at(5)));
        assert_eq!(deliveries.delays()[2].samples(), 2);
        assert!([0, 1, 3].iter().all(|category| deliveries.delays()[*category].samples() == 0));
        assert_eq!((deliveries.take(), deliveries.lead()), (Some((7, ids[0])), Duration::from_millis(1)));
        assert_eq!((deliveries.since(), deliveries.rest().len()), (at(5), 1));
        deliveries.skip(1);
        assert_eq!((deliveries.since(), deliveries.take()), (Time::NEVER, None));
    }
}
