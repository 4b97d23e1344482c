//! FIFO: first in, first out; an arrival that does not fit is dropped, or the oldest packets are.
//!
//! The packet that the MAC is sending is not in the queue. ns-2's drop-tail holds one packet less than its limit
//! says (it refuses the arrival that would make it `limit` long): write 49 for its 50.

use std::collections::VecDeque;

use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

use super::{Cause, Discipline, Dropped, Limit};

/// What counts as a full-size packet, in bytes.
const FULL_SIZE: u64 = 1500;

/// Drop-tail or drop-head FIFO.
#[derive(Clone, Debug)]
pub struct Fifo {
    limit: Limit,
    drop_head: bool,
    line: VecDeque<PacketId>,
    bytes: u64,
}

impl Fifo {
    /// An empty queue. `drop_head`: an overflow drops the oldest packets instead of the arrival.
    #[must_use]
    pub fn new(limit: Limit, drop_head: bool) -> Self {
        Self { limit, drop_head, line: VecDeque::new(), bytes: 0 }
    }

    fn fits(&self, size: u64) -> bool {
        match self.limit {
            Limit::Packets(limit) => (self.line.len() as u64) < limit,
            Limit::Bytes(limit) => self.bytes + size <= limit,
        }
    }
}

impl Discipline for Fifo {
    #[inline]
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut Packets, dropped: &mut Dropped) {
        let size = packets[id].bytes().0;
        while !self.fits(size) {
            if !self.drop_head || self.line.is_empty() {
                dropped.push((id, Cause::Overflow));
                return;
            }
            let oldest = self.line.pop_front().expect("a queue that is not empty has an oldest packet");
            self.bytes -= packets[oldest].bytes().0;
            dropped.push((oldest, Cause::Overflow));
        }
        self.bytes += size;
        self.line.push_back(id);
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let id = self.line.pop_front()?;
        self.bytes -= packets[id].bytes().0;
        Some(id)
    }

    fn len(&self) -> usize {
        self.line.len()
    }

    fn is_full(&self) -> bool {
        !self.fits(FULL_SIZE)
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::Packet;

    use super::*;

    fn run(limit: Limit, drop_head: bool, sizes: &[u16]) -> (Vec<u64>, Vec<u64>) {
        let (mut packets, mut dropped) = (Packets::default(), vec![]);
        let mut queue = Fifo::new(limit, drop_head);
        for (seq, size) in (0..).zip(sizes) {
            let id = packets.insert(Packet { seq, size: *size, ..Packet::default() });
            queue.enqueue(Time::ZERO, id, &mut packets, &mut dropped);
        }
        let lost = dropped.iter().map(|(id, _)| packets[*id].seq).collect();
        let mut sent = vec![];
        while let Some(id) = queue.dequeue(Time::ZERO, &mut packets, &mut dropped) {
            sent.push(packets[id].seq);
        }
        (sent, lost)
    }

    #[test]
    fn a_full_queue_drops_the_arrival() {
        assert_eq!(run(Limit::Packets(2), false, &[9, 9, 9]), (vec![0, 1], vec![2]));
    }

    #[test]
    fn drop_head_makes_room_for_the_arrival() {
        assert_eq!(run(Limit::Packets(2), true, &[9, 9, 9]), (vec![1, 2], vec![0]));
    }

    #[test]
    fn a_limit_in_bytes_takes_small_packets_where_a_large_one_does_not_fit() {
        assert_eq!(run(Limit::Bytes(100), false, &[60, 60, 40, 1]), (vec![0, 2], vec![1, 3]));
        assert_eq!(run(Limit::Bytes(100), true, &[60, 30, 60, 200]), (vec![], vec![0, 1, 2, 3]));
    }
}
