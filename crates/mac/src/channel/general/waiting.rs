//! Packets that wait in one category of a station: in one queue, or in one for each receiver.
//!
//! One queue for all receivers is what most hardware has: the packet that the discipline chooses decides the receiver, and an
//! aggregate takes in what else waits for that receiver. With a queue for each receiver any discipline can be asked for more
//! packets to the same receiver, and receivers take turns, as in the Linux stack (one queue a station and traffic identifier).

use std::collections::VecDeque;

use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::Time;

use wifair_queue::{AirUse, Discipline, Dropped, Queue};

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    queues: Vec<Queue>,
    /// Receivers for which something waits, in turn.
    turns: VecDeque<u32>,
    /// The longest packet that ever came, in bytes.
    longest: u64,
}

impl Waiting {
    /// One queue, or one for each receiver by its number.
    pub const fn new(queues: Vec<Queue>) -> Self {
        Self { queues, turns: VecDeque::new(), longest: 0 }
    }

    /// The queue, or the first.
    pub fn first(&self) -> &Queue {
        &self.queues[0]
    }

    pub fn wants_air(&self) -> bool {
        self.queues.iter().any(Discipline::wants_air)
    }

    pub fn on_air(&mut self, now: Time, used: &AirUse) {
        let index = if self.is_one() { 0 } else { used.peer as usize };
        self.queues[index].on_air(now, used);
    }

    const fn is_one(&self) -> bool {
        self.queues.len() == 1
    }

    /// Packets inside.
    pub fn len(&self) -> usize {
        if self.is_one() { self.queues[0].len() } else { self.queues.iter().map(Discipline::len).sum() }
    }

    /// Packets marked so far.
    pub fn marks(&self) -> u64 {
        self.queues.iter().map(Discipline::marks).sum()
    }

    /// Whether a queue is full.
    pub fn is_full(&self) -> bool {
        self.queues.iter().any(Discipline::is_full)
    }

    /// When a category that was given nothing is to ask again, if it is.
    pub fn asked_again(&self, now: Time) -> Option<Time> {
        self.queues.iter().filter(|queue| !queue.is_empty()).map(|queue| queue.asked_again(now)).min()
    }

    pub fn enqueue(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        self.longest = self.longest.max(packets[id].bytes().0);
        if self.is_one() {
            self.queues[0].enqueue(now, id, to, packets, dropped);
            return;
        }
        let index = (to as usize).min(self.queues.len() - 1); // broadcasts wait in the last
        let queue = &mut self.queues[index];
        queue.enqueue(now, id, to, packets, dropped);
        #[allow(clippy::cast_possible_truncation)]
        let turn = index as u32;
        if !queue.is_empty() && !self.turns.contains(&turn) {
            self.turns.push_back(turn);
        }
    }

    pub fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        if self.is_one() {
            return self.queues[0].dequeue(now, packets, dropped);
        }
        for _ in 0..self.turns.len() {
            let turn = self.turns.pop_front()?;
            let queue = &mut self.queues[turn as usize];
            let id = queue.dequeue(now, packets, dropped);
            if !queue.is_empty() {
                self.turns.push_back(turn);
            }
            if id.is_some() {
                return id;
            }
        }
        None
    }

    /// The next packet for the receiver `to`, as far as the discipline can tell, if it is surely not longer than `room` bytes;
    /// `receiver` tells to whom a packet goes.
    pub fn dequeue_for(
        &mut self,
        now: Time,
        to: u32,
        room: u64,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: &impl Fn(&Packet) -> u32,
    ) -> Option<PacketId> {
        if !matches!(self.queues[0], Queue::Fifo(_)) && room < self.longest {
            return None; // it cannot be looked at before it is taken
        }
        if self.is_one() {
            return self.queues[0].dequeue_for(now, to, room, &|packet| receiver(packet) == to, packets, dropped);
        }
        let queue = self.queues.get_mut(to as usize)?;
        let id = if let Queue::Fifo(fifo) = queue {
            fifo.dequeue_for(now, to, room, &|_| true, packets, dropped)
        } else {
            queue.dequeue(now, packets, dropped)
        };
        if queue.is_empty() {
            self.turns.retain(|turn| *turn != to);
        }
        id
    }
}
