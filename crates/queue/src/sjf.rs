//! SJF: the shortest packet first.
//!
//! Source, an outline only: paper `las`, section 2, mentions a scheme for WLANs that serves short packets before long
//! ones, to favour multimedia. Packets of equal size go in order of arrival. An overflow drops the packet that would be
//! served last: the longest, and among equals the latest (our choice; the source is silent). A long packet waits as
//! long as shorter ones keep arriving, so a flow with packets of several sizes is reordered.

use wifair_config::table;
use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

use super::ranked::Ranked;
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
    /// Packets with their sizes, ordered by size, then arrival.
    waiting: Ranked<(PacketId, u16), (u16, u64), (u16, u64)>,
    arrivals: u64,
}

impl Sjf {
    /// An empty queue.
    pub fn new(_params: &Params, site: &Site<'_>) -> Self {
        Self { room: site.room(), waiting: Ranked::default(), arrivals: 0 }
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
        let rank = (size, self.arrivals);
        self.waiting.add((id, size), rank, rank);
        while self.room.overflows() {
            let (id, size) = self.waiting.pop_worst().expect("a queue that overflows is not empty");
            self.room.leave(u64::from(size));
            dropped.push((id, Cause::Overflow));
        }
    }

    fn dequeue(&mut self, _now: Time, _packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let (id, size) = self.waiting.pop_first()?;
        self.room.leave(u64::from(size));
        Some(id)
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
