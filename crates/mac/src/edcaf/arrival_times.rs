//! When packets arrived in the queues of their senders.

use wifair_packet::PacketId;
use wifair_units::{Duration, Time};

/// The time at which each packet arrived in its queue, by packet number.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArrivalTimes(Vec<Time>);

impl ArrivalTimes {
    /// When a packet arrived.
    #[inline]
    pub fn of(&self, id: PacketId) -> Time {
        self.0[id.index()]
    }

    /// Records that a packet arrives.
    #[inline]
    pub fn note(&mut self, id: PacketId, now: Time) {
        match self.0.get_mut(id.index()) {
            Some(arrival) => *arrival = now,
            None => self.note_run(id, 1, now, Duration::ZERO),
        }
    }

    /// Records that `count` packets with consecutive numbers arrive, the first at `time`, the others at this interval.
    #[inline]
    pub fn note_run(&mut self, first: PacketId, count: usize, mut time: Time, interval: Duration) {
        let end = first.index() + count;
        if self.0.len() < end {
            self.lengthen(end);
        }
        for arrival in &mut self.0[first.index()..end] {
            *arrival = time;
            time += interval;
        }
    }

    #[cold]
    #[inline(never)]
    fn lengthen(&mut self, len: usize) {
        self.0.resize(len, Time::ZERO);
    }
}
