//! Equal buffer shares: a FIFO in which every flow may hold as many packets as the others.
//!
//! Source, an outline only: Q. Wu, M. Gong and C. Williamson, "TCP fairness issues in IEEE 802.11 wireless LANs", 2008.
//! Paper oda2012 says about it that the access point keeps the numbers of packets of all flows about equal. Two rules
//! are offered:
//!
//! - `push-out`: an arrival that finds the buffer full replaces the last packet of the flow that holds the most
//!   packets, possibly its own flow.
//! - `share`: an arrival is dropped if the buffer is full, or if its flow already holds limit / n, where n is the
//!   number of flows with packets inside, its own included.
//!
//! Shares are counted in the unit of the limit.

use wifair_config::{Limit, choice, table};
use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

use super::heap::IndexHeap;
use super::shared::{Class, SharedBuffer};
use super::{Cause, Discipline, Dropped, Site};

choice! {
    /// How shares are kept equal.
    pub enum DropRule {
        /// The flow that holds most gives way when the buffer is full.
        PushOut = "push-out",
        /// No flow gets more than an equal share of the limit.
        Share = "share",
    }
}

table! {
    /// Equal buffer shares.
    pub struct Params {
        /// How shares are kept equal.
        pub rule: DropRule = DropRule::PushOut;
        /// What gets equal shares.
        pub by: Class = Class::Flow;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct PerFlow {
    buffer: SharedBuffer,
    rule: DropRule,
    limit: Limit,
    /// Lines that are not empty, ordered by the arrival of their first packet.
    first: IndexHeap<u64>,
    arrivals: u64,
}

impl PerFlow {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            buffer: SharedBuffer::new(params.by, site),
            rule: params.rule,
            limit: site.limit,
            first: IndexHeap::default(),
            arrivals: 0,
        }
    }

    /// Whether a packet of `size` bytes would give its line more than an equal share.
    fn exceeds_share(&self, class: usize, size: u64) -> bool {
        let held = self.buffer.lines.packets(class);
        let sharers = self.first.len() as u64 + u64::from(held == 0);
        match self.limit {
            Limit::Packets(limit) => (u64::from(held) + 1) * sharers > limit.max(sharers),
            Limit::Bytes(limit) => {
                let bytes = self.buffer.lines.bytes(class);
                bytes > 0 && (bytes + size) * sharers > limit.0
            }
        }
    }
}

impl Discipline for PerFlow {
    fn enqueue(&mut self, _now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let Some(class) = self.buffer.admit(id, to, packets, dropped) else { return };
        let size = packets[id].bytes().0;
        if self.rule == DropRule::Share && (self.exceeds_share(class, size) || !self.buffer.room.fits(size)) {
            dropped.push((id, Cause::Overflow));
            return;
        }
        let was_empty = self.buffer.lines.packets(class) == 0;
        self.arrivals += 1;
        let first = &mut self.first;
        self.buffer.push(class, id, self.arrivals, packets, dropped, |left, class, _| {
            if left.packets(class) == 0 {
                first.remove(class as u32);
            }
        });
        if was_empty && self.buffer.lines.packets(class) > 0 {
            self.first.set(class as u32, self.arrivals);
        }
    }

    fn dequeue(&mut self, _now: Time, _packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let (_, class) = self.first.pop()?;
        let sent = self.buffer.pop(class as usize).expect("a line in turn has a packet");
        if let Some(next) = self.buffer.lines.first(class as usize) {
            self.first.set(class, next.note);
        }
        Some(sent.id)
    }

    counted_by!(buffer.room);

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("lines", self.first.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::Packet;
    use wifair_units::Bytes;

    use super::super::testing::QueueBench;
    use super::*;

    fn per_flow(rule: DropRule, limit: Limit) -> QueueBench<PerFlow> {
        let params = Params { rule, by: Class::Flow };
        QueueBench::new(PerFlow::new(&params, &Site { limit, ..QueueBench::<PerFlow>::SITE }))
    }

    /// Enqueues packets of these flows, numbered in order; returns which are dropped and which are sent.
    fn run(bench: &mut QueueBench<PerFlow>, flows: &[u32]) -> (Vec<u64>, Vec<u64>) {
        for (seq, flow) in (0..).zip(flows) {
            bench.put(Packet { seq, flow: *flow, size: 100, ..Packet::default() });
        }
        let sent = bench.drain();
        (bench.lost.iter().map(|p| p.seq).collect(), sent.iter().map(|p| p.seq).collect())
    }

    /// Room for four. Flow 0 fills it; flow 1 takes the places of its last two packets; then flow 2 arrives: flows 0
    /// and 1 hold two each, the one with the larger number gives way, and packet 5 is dropped.
    #[test]
    fn the_flow_that_holds_most_gives_way() {
        let mut bench = per_flow(DropRule::PushOut, Limit::Packets(4));
        let (lost, sent) = run(&mut bench, &[0, 0, 0, 0, 1, 1, 2]);
        assert_eq!((lost, sent), (vec![3, 2, 5], vec![0, 1, 4, 6]));
    }

    /// What exceeds a share is dropped although there is room for it.
    #[test]
    fn a_share_is_a_bound_where_there_is_room() {
        let mut bench = per_flow(DropRule::Share, Limit::Packets(4));
        assert_eq!(run(&mut bench, &[0, 0, 1, 0]), (vec![3], vec![0, 1, 2]));
    }

    /// Room for four packets, or 400 B. As soon as flow 1 has a packet inside, no flow gets a third one.
    #[test]
    fn no_flow_gets_more_than_a_share() {
        let mut bench = per_flow(DropRule::Share, Limit::Packets(4));
        assert_eq!(run(&mut bench, &[0, 0, 1, 0, 1, 1]), (vec![3, 5], vec![0, 1, 2, 4]));
        let mut bench = per_flow(DropRule::Share, Limit::Bytes(Bytes(400)));
        assert_eq!(run(&mut bench, &[0, 0, 1, 0, 1, 1]), (vec![3, 5], vec![0, 1, 2, 4]));
    }
}
