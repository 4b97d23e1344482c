//! DRR: deficit round robin.
//!
//! Source: M. Shreedhar and G. Varghese, "Efficient Fair Queueing using Deficit Round Robin", SIGCOMM 1995, section 3.
//! Lines that are not empty are visited in turn; a visit adds a quantum of bytes to the line's deficit, and the line
//! sends packets while they fit its deficit. The remainder is kept for the next visit, unless the line has become
//! empty. Between any two lines that were never empty, the bytes sent over any interval differ by less than
//!
//! ```text
//! quantum + 2 largest packets
//! ```
//!
//! A visit costs constant time if the quantum is at least the largest packet. A full buffer drops the last packet of
//! the longest line. Departure: there is exactly one line per flow or station, where the paper hashes.

use std::collections::VecDeque;

use wifair_config::table;
use wifair_packet::{PacketId, Packets, entry};
use wifair_units::{Bytes, Time};

use super::shared::{Class, SharedBuffer};
use super::{Discipline, Dropped, Site};

table! {
    /// Deficit round robin.
    pub struct Params {
        /// Bytes granted to a line at each visit.
        pub quantum: Bytes = Bytes(1500), "at least 40 B" => |quantum| quantum.0 >= 40;
        /// What gets equal shares.
        pub by: Class = Class::Flow;
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct DrrLine {
    deficit: u64,
    /// Whether it is in the round of visits.
    active: bool,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Drr {
    buffer: SharedBuffer,
    quantum: u64,
    lines: Vec<DrrLine>,
    active: VecDeque<usize>,
    /// Whether the line that is being visited has received its quantum.
    visiting: bool,
}

impl Drr {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            buffer: SharedBuffer::new(params.by, site),
            quantum: params.quantum.0,
            lines: vec![],
            active: VecDeque::new(),
            visiting: false,
        }
    }
}

impl Discipline for Drr {
    fn enqueue(&mut self, _now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let Some(class) = self.buffer.admit(id, to, packets, dropped) else { return };
        self.buffer.push(class, id, 0, packets, dropped, |_, _, _| {});
        let line = entry(&mut self.lines, class);
        if !line.active && self.buffer.lines.packets(class) > 0 {
            *line = DrrLine { deficit: 0, active: true };
            self.active.push_back(class);
        }
    }

    fn dequeue(&mut self, _now: Time, _packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        loop {
            let class = *self.active.front()?;
            let line = &mut self.lines[class];
            let Some(first) = self.buffer.lines.first(class) else {
                // Emptied by an overflow or by the previous packet.
                line.active = false;
                self.active.pop_front();
                self.visiting = false;
                continue;
            };
            if !self.visiting {
                line.deficit += self.quantum;
                self.visiting = true;
            }
            let size = u64::from(first.size);
            if size <= line.deficit {
                line.deficit -= size;
                return self.buffer.pop(class).map(|waiting| waiting.id);
            }
            self.active.rotate_left(1);
            self.visiting = false;
        }
    }

    counted_by!(buffer.room);

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("lines", self.active.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::Packet;

    use super::super::Limit;
    use super::super::testing::{QueueBench, unfairness};
    use super::*;

    fn drr(quantum: u64, limit: u64, by: Class) -> QueueBench<Drr> {
        let params = Params { quantum: Bytes(quantum), by };
        QueueBench::new(Drr::new(&params, &Site { limit: Limit::Packets(limit), ..QueueBench::<Drr>::SITE }))
    }

    /// Quantum 500. Flow 0 has 200, 750, 20; flow 1 has 500, 500; flow 2 has 600. Round 1: 0 sends 200, keeps 300; 1
    /// sends 500; 2 keeps 500. Round 2: 0 has 800, sends 750, then 20; 1 sends 500; 2 has 1000, sends 600.
    #[test]
    fn two_rounds_by_hand() {
        let mut bench = drr(500, 50, Class::Flow);
        for (flow, size) in [(0, 200), (0, 750), (0, 20), (1, 500), (1, 500), (2, 600)] {
            bench.put(Packet { flow, size, ..Packet::default() });
        }
        let sent: Vec<_> = bench.drain().iter().map(|p| (p.flow, p.size)).collect();
        assert_eq!(sent, [(0, 200), (1, 500), (0, 750), (0, 20), (1, 500), (2, 600)]);
    }

    /// With equal quanta the bound is quantum + 2 largest packets.
    #[test]
    fn the_bound_of_the_paper_holds() {
        for quantum in [100, 1000, 1500, 4000] {
            let bench = drr(quantum, 100_000, Class::Flow);
            assert!(unfairness(bench, &[1500, 40, 1000, 576]) < quantum + 2 * 1500);
        }
    }

    /// Two stations, one of them with three flows: packets alternate.
    #[test]
    fn stations_may_be_served_instead_of_flows() {
        let mut bench = drr(1500, 50, Class::Station);
        for (flow, to) in [(0, 1), (1, 1), (2, 1), (3, 2), (3, 2)] {
            bench.put_to(Packet { flow, size: 1500, ..Packet::default() }, to);
        }
        assert_eq!(bench.drain().iter().map(|p| p.flow).collect::<Vec<_>>(), [0, 3, 1, 3, 2]);
    }

    /// Room for four: flow 0 fills it; each packet of flow 1 then pushes out the last one of flow 0 until they are
    /// equal.
    #[test]
    fn the_longest_line_gives_way() {
        let mut bench = drr(1500, 4, Class::Flow);
        for (seq, flow) in [0, 0, 0, 0, 1, 1, 1].into_iter().enumerate() {
            bench.put(Packet { seq: seq as u64, flow, size: 100, ..Packet::default() });
        }
        assert_eq!(bench.lost.iter().map(|p| p.seq).collect::<Vec<_>>(), [3, 2, 6]);
    }
}
