//! SFQ: stochastic fairness queueing.
//!
//! Source: P. McKenney, INFOCOM 1990, as in Linux 6.12, `net/sched/sch_sfq.c`. Flows are hashed to slots. Slots with
//! packets take turns: a slot that has used its quantum gets another one and goes to the end. A new slot joins at the
//! end, with one quantum. A full queue drops a packet of the longest slot, counted in packets, and of the slots that
//! are equally long from the one that was the last to reach that length: its last packet, or its first (`head_drop`).
//! Where all slots hold one packet, the slot whose turn is next loses it. A slot holds at most `depth` packets.
//!
//! Departures: the hash covers the number of the flow and its direction, and its key does not change (`perturb` is 0 by
//! default in Linux too). RED within slots is left out.

use std::collections::VecDeque;

use wifair_config::table;
use wifair_packet::{PacketId, Packets, entry};
use wifair_units::{Bytes, Time};

use super::fq_codel::hashed;
use super::lines::Lines;
use super::linux::{MTU, length};
use super::room::Room;
use super::{Cause, Discipline, Dropped, Site, flow_key};

table! {
    /// Stochastic fairness queueing.
    pub struct Params {
        /// Number of slots to which flows are hashed.
        pub divisor: u32 = 1024, "at least 1 and at most 65536" => |slots| (1..=65_536).contains(slots);
        /// Most packets of a slot.
        pub depth: u32 = 127, "at least 1" => |depth| *depth >= 1;
        /// Most slots that hold packets at the same time.
        pub flows: u32 = 128, "at least 1" => |flows| *flows >= 1;
        /// Bytes granted to a slot at each visit.
        pub quantum: Bytes = Bytes(MTU), "at least 256 B and at most 1 MB" => |q| (256..=1_000_000).contains(&q.0);
        /// Whether the first packet of a slot is dropped instead of its last one.
        pub head_drop: bool = false;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Sfq {
    params: Params,
    room: Room,
    lines: Lines,
    /// Bytes that each slot may still send.
    allotments: Vec<i64>,
    turns: VecDeque<usize>,
    /// The slots of each length in packets, the last one to reach it at the end.
    by_length: Vec<Vec<usize>>,
    key: u64,
}

impl Sfq {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            params: params.clone(),
            room: Room::new(site.limit, None),
            lines: Lines::default(),
            allotments: vec![],
            turns: VecDeque::new(),
            by_length: vec![],
            key: site.stream().bits(),
        }
    }

    /// Notes that a slot that held `before` packets holds another number.
    fn measure(&mut self, slot: usize, before: u32) {
        if before > 0 {
            self.by_length[before as usize].retain(|other| *other != slot);
        }
        let now = self.lines.packets(slot) as usize;
        if now > 0 {
            entry(&mut self.by_length, now).push(slot);
        }
        while self.by_length.last().is_some_and(Vec::is_empty) {
            self.by_length.pop();
        }
    }

    fn relieve(&mut self, dropped: &mut Dropped) {
        let longest = self.by_length.len() - 1;
        let slot = if longest == 1 { self.turns[0] } else { *self.by_length[longest].last().expect("a longest slot") };
        let victim = if self.params.head_drop { self.lines.pop_first(slot) } else { self.lines.pop_last(slot) };
        let victim = victim.expect("the longest slot is not empty");
        self.measure(slot, longest as u32);
        if longest == 1 {
            self.turns.pop_front();
        }
        self.room.leave(u64::from(victim.size));
        dropped.push((victim.id, Cause::Overflow));
    }
}

impl Discipline for Sfq {
    fn enqueue(&mut self, _now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let packet = &mut packets[id];
        let slot = hashed(flow_key(packet), self.key, u64::from(self.params.divisor));
        let held = self.lines.packets(slot);
        let no_slot = held == 0 && self.turns.len() >= self.params.flows as usize;
        if no_slot || !self.room.could_fit(packet.bytes().0) {
            dropped.push((id, Cause::Overflow));
            return;
        }
        if held >= self.params.depth {
            if !self.params.head_drop {
                dropped.push((id, Cause::Overflow));
                return;
            }
            let first = self.lines.pop_first(slot).expect("a slot of that depth");
            self.room.leave(u64::from(first.size));
            dropped.push((first.id, Cause::Overflow));
        }
        self.room.enter(packet);
        self.lines.push(slot, id, packet.size, 0);
        if held < self.params.depth {
            self.measure(slot, held);
        }
        if held == 0 {
            *entry(&mut self.allotments, slot) = self.params.quantum.0 as i64;
            self.turns.push_back(slot);
        }
        while self.room.overflows() {
            self.relieve(dropped);
        }
    }

    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        loop {
            let slot = *self.turns.front()?;
            if self.allotments[slot] <= 0 {
                self.allotments[slot] += self.params.quantum.0 as i64;
                self.turns.rotate_left(1);
                continue;
            }
            let held = self.lines.packets(slot);
            let first = self.lines.pop_first(slot).expect("a slot that has a turn holds packets");
            self.measure(slot, held);
            self.room.leave(u64::from(first.size));
            self.allotments[slot] -= length(&packets[first.id]) as i64;
            if held == 1 {
                self.turns.pop_front();
            }
            return Some(first.id);
        }
    }

    fn len(&self) -> usize {
        self.room.len()
    }

    fn is_full(&self) -> bool {
        self.room.is_full()
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("lines", self.turns.len() as f64);
    }
}
