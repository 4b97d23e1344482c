//! SCFQ: self-clocked fair queueing.
//!
//! Source: S. J. Golestani, "A Self-Clocked Fair Queueing Scheme for Broadband Applications", INFOCOM 1994. Packet k of
//! line i gets a tag on arrival, and the packet with the smallest tag is sent first:
//!
//! ```text
//! F_i(k) = max(F_i(k - 1), v) + L / r_i           v: the tag of the packet in service
//! ```
//!
//! All lines have the same weight, so tags are in bytes. Between two lines that are never empty, the bytes sent over
//! any interval differ by at most the sum of their largest packets. The packet in service is the last one dequeued. A
//! full buffer drops the last packet of the longest line and takes its tag back.

use wifair_config::table;
use wifair_packet::{PacketId, Packets, entry};
use wifair_units::Time;

use super::heap::IndexHeap;
use super::shared::{Class, SharedBuffer};
use super::{Discipline, Dropped, Site};

table! {
    /// Self-clocked fair queueing.
    pub struct Params {
        /// What gets equal shares.
        pub by: Class = Class::Flow;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Scfq {
    buffer: SharedBuffer,
    /// Tag of the last packet of each line.
    last: Vec<u64>,
    /// Lines ordered by the tag of their first packet, then by its arrival.
    first: IndexHeap<(u64, u64)>,
    /// v, the tag of the packet in service.
    clock: u64,
    turns: u64,
}

impl Scfq {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            buffer: SharedBuffer::new(params.by, site),
            last: vec![],
            first: IndexHeap::default(),
            clock: 0,
            turns: 0,
        }
    }

    fn line_up(&mut self, class: usize) {
        if let Some(first) = self.buffer.lines.first(class) {
            self.turns += 1;
            self.first.set(class as u32, (first.note, self.turns));
        }
    }
}

impl Discipline for Scfq {
    fn enqueue(&mut self, _now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let Some(class) = self.buffer.admit(id, to, packets, dropped) else { return };
        let last = entry(&mut self.last, class);
        let tag = (*last).max(self.clock) + packets[id].bytes().0;
        *last = tag;
        let was_empty = self.buffer.lines.packets(class) == 0;
        let (last, first) = (&mut self.last, &mut self.first);
        self.buffer.push(class, id, tag, packets, dropped, |lines, class, gone| {
            last[class] = gone.note - u64::from(gone.size);
            if lines.packets(class) == 0 {
                first.remove(class as u32);
            }
        });
        if was_empty {
            self.line_up(class);
        }
    }

    fn dequeue(&mut self, _now: Time, _packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let ((tag, _), class) = self.first.pop()?;
        self.clock = tag;
        let sent = self.buffer.pop(class as usize).expect("a line that has a tag has a packet");
        self.line_up(class as usize);
        Some(sent.id)
    }

    counted_by!(buffer.room);

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("clock_bytes", self.clock as f64);
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::Packet;

    use super::super::Limit;
    use super::super::testing::{QueueBench, unfairness};
    use super::*;

    fn scfq(limit: u64) -> QueueBench<Scfq> {
        QueueBench::new(Scfq::new(
            &Params { by: Class::Flow },
            &Site { limit: Limit::Packets(limit), ..QueueBench::<Scfq>::SITE },
        ))
    }

    fn put(bench: &mut QueueBench<Scfq>, flow: u32, size: u16) {
        bench.put(Packet { flow, size, ..Packet::default() });
    }

    /// Flow 0: tags 1000, 2000, 3000. Flow 1: 400, 800. After the packets with tags 400, 800 and 1000, v is 1000. Flow
    /// 2 then arrives with 300 B, gets 1300 and goes before 2000; flow 1 arrives with 500 B and gets 1500.
    #[test]
    fn tags_by_hand() {
        let mut bench = scfq(50);
        for (flow, size) in [(0, 1000), (0, 1000), (0, 1000), (1, 400), (1, 400)] {
            put(&mut bench, flow, size);
        }
        let first: Vec<_> = (0..3).filter_map(|_| bench.get()).map(|p| (p.flow, p.size)).collect();
        assert_eq!(first, [(1, 400), (1, 400), (0, 1000)]);
        put(&mut bench, 1, 500);
        put(&mut bench, 2, 300);
        assert_eq!(
            bench.drain().iter().map(|p| (p.flow, p.size)).collect::<Vec<_>>(),
            [(2, 300), (1, 500), (0, 1000), (0, 1000)]
        );
    }

    /// The bound is the sum of the largest packets of both lines, here at most 1500 B each.
    #[test]
    fn the_bound_of_the_paper_holds() {
        assert!(unfairness(scfq(100_000), &[1500, 40, 1000, 576]) <= 1500 + 1500);
    }

    /// Room for three. Flow 0 has tags 1000, 2000, 3000. Flow 1 (tag 500) pushes out 3000, which is taken back: the
    /// next packet of flow 0 gets 3000 again, is the last of the longest line and is dropped.
    #[test]
    fn the_tag_of_a_dropped_packet_is_taken_back() {
        let mut bench = scfq(3);
        for (flow, size) in [(0, 1000), (0, 1000), (0, 1000), (1, 500), (0, 1000)] {
            put(&mut bench, flow, size);
        }
        assert_eq!(bench.lost.iter().map(|p| p.flow).collect::<Vec<_>>(), [0, 0]);
        assert_eq!(bench.queue.last[crate::flow_key(&Packet::default())], 2000);
        assert_eq!(bench.drain().iter().map(|p| p.flow).collect::<Vec<_>>(), [1, 0, 0]);
    }
}
