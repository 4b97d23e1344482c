//! SJF: the shortest packet first.
//!
//! Source, an outline only: paper `las`, section 2, mentions a scheme for WLANs that serves short packets before long
//! ones, to favour multimedia. Packets of equal size go in order of arrival. An overflow drops the packet that would be
//! served last: the longest, and the latest of several (our choice; the source is silent). A long packet waits as long
//! as shorter ones keep arriving, so a flow with packets of several sizes is reordered.

use std::cmp::Reverse;

use wifair_config::table;
use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

use super::heap::IndexHeap;
use super::room::Room;
use super::{Cause, Discipline, Dropped, Site};

table! {
    /// Shortest packet first. It has no parameters.
    pub struct Params {}
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Sjf {
    room: Room,
    slots: Vec<PacketId>,
    free: Vec<u32>,
    /// Ordered by size, then arrival.
    first: IndexHeap<(u16, u64)>,
    worst: IndexHeap<Reverse<(u16, u64)>>,
    arrivals: u64,
}

impl Sjf {
    /// An empty queue.
    pub fn new(_params: &Params, site: &Site<'_>) -> Self {
        Self {
            room: site.room(),
            slots: vec![],
            free: vec![],
            first: IndexHeap::default(),
            worst: IndexHeap::default(),
            arrivals: 0,
        }
    }

    fn take(&mut self, index: u32, size: u16) -> PacketId {
        self.free.push(index);
        self.room.leave(u64::from(size));
        self.slots[index as usize]
    }
}

impl Discipline for Sjf {
    fn enqueue(&mut self, _now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let size = packets[id].size;
        if !self.room.could_fit(u64::from(size)) {
            dropped.push((id, Cause::Overflow));
            return;
        }
        self.room.enter(&mut packets[id]);
        self.arrivals += 1;
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(id);
            (self.slots.len() - 1) as u32
        });
        self.slots[index as usize] = id;
        self.first.set(index, (size, self.arrivals));
        self.worst.set(index, Reverse((size, self.arrivals)));
        while self.room.overflows() {
            let (Reverse((size, _)), index) = self.worst.pop().expect("a queue that overflows is not empty");
            self.first.remove(index);
            let id = self.take(index, size);
            dropped.push((id, Cause::Overflow));
        }
    }

    fn dequeue(&mut self, _now: Time, _packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let ((size, _), index) = self.first.pop()?;
        self.worst.remove(index);
        Some(self.take(index, size))
    }

    counted_by!(room);
}

#[cfg(test)]
mod tests {
    use wifair_packet::Packet;

    use super::super::Limit;
    use super::super::testing::QueueBench;
    use super::*;

    #[test]
    fn short_packets_overtake_and_the_longest_is_dropped() {
        let mut bench =
            QueueBench::new(Sjf::new(&Params {}, &Site { limit: Limit::Packets(4), ..QueueBench::<Sjf>::SITE }));
        let sizes = [(0, 1500), (1, 40), (2, 576), (3, 40), (4, 1500), (5, 576)];
        bench.put_all(sizes.map(|(seq, size)| Packet { seq, size, ..Packet::default() }));
        assert_eq!(bench.lost.iter().map(|p| p.seq).collect::<Vec<_>>(), [4, 0]);
        assert_eq!(bench.drain().iter().map(|p| p.seq).collect::<Vec<_>>(), [1, 3, 2, 5]);
    }
}
