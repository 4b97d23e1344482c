//! Packets waiting in one category of a station: in a single queue, or in one queue per receiver.
//!
//! Most hardware has a single queue for all receivers: the packet chosen by the discipline determines the receiver. A
//! FIFO and the airtime scheduler can then look for further packets to that receiver. Any other discipline keeps
//! choosing the next packet, and the aggregate grows as long as that packet goes to the same receiver. The first packet
//! to another receiver has then already left the queue, so it is sent next in any case (like Linux's
//! `qdisc_peek_dequeued`). With one queue per receiver, receivers take turns, as in the Linux stack (one queue per
//! station and traffic identifier).

use std::collections::VecDeque;

use wifair_packet::{NextHops, Packet, PacketId, Packets};
use wifair_units::Time;

use wifair_queue::{AirUse, Discipline, Dropped, Fifo, Queue};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct CategoryQueues {
    queues: Vec<Queue>,
    /// Receivers with waiting packets, in turn, and whether each is listed.
    turns: VecDeque<usize>,
    has_turn: Vec<bool>,
    /// Number of packets in all queues, and number of full queues; with a single queue, whether it is full even when
    /// empty.
    len: usize,
    full: usize,
    /// In a single FIFO for all receivers: a receiver, and a position before which no packet goes to that receiver.
    looked: (u32, usize),
    /// Length of the longest packet so far, in bytes; maintained unless there is a single FIFO.
    longest: u64,
    /// The packet to send next: taken from the single queue for an aggregate, but addressed to another receiver.
    next: Option<PacketId>,
}

impl CategoryQueues {
    /// One queue, or one for each receiver by its number.
    pub fn new(queues: Vec<Queue>) -> Self {
        let full = queues.iter().filter(|queue| queue.is_full()).count();
        Self {
            has_turn: vec![false; queues.len()],
            queues,
            turns: VecDeque::new(),
            len: 0,
            full,
            looked: (0, 0),
            longest: 0,
            next: None,
        }
    }

    /// The first queue, or the only one.
    pub fn first(&self) -> &Queue {
        &self.queues[0]
    }

    /// The queue, if it is a single FIFO.
    #[inline]
    pub fn one_fifo(&self) -> Option<&Fifo> {
        if let [Queue::Fifo(fifo)] = &self.queues[..] { Some(fifo) } else { None }
    }

    /// Modifies the queue, which must be a single FIFO.
    pub fn change_fifo(&mut self, change: impl FnOnce(&mut Fifo)) {
        if let [Queue::Fifo(fifo)] = &mut self.queues[..] {
            change(fifo);
            self.len = fifo.len();
        }
    }

    /// Number of packets marked by the queues so far.
    pub fn marks(&self) -> u64 {
        self.queues.iter().map(Discipline::marks).sum()
    }

    pub fn wants_air_use(&self) -> bool {
        self.queues.iter().any(Discipline::wants_air_use)
    }

    pub fn on_air(&mut self, now: Time, used: &AirUse) {
        let index = if self.is_one() { 0 } else { used.peer as usize };
        if let Some(queue) = self.queues.get_mut(index) {
            queue.on_air(now, used);
        }
    }

    /// Number of packets in the queue for a receiver.
    pub fn len_towards(&self, to: u32) -> usize {
        if self.is_one() { self.len } else { self.queues[self.place(to)].len() }
    }

    /// Index of the queue for a receiver, if each has its own; broadcasts wait in the last.
    fn place(&self, to: u32) -> usize {
        (to as usize).min(self.queues.len() - 1)
    }

    pub const fn is_one(&self) -> bool {
        self.queues.len() == 1
    }

    /// Number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether a queue is full.
    #[inline]
    pub fn is_full(&self) -> bool {
        match &self.queues[..] {
            [Queue::Fifo(fifo)] if self.len > 0 => fifo.is_full(),
            [Queue::Fifo(_)] => self.full > 0,
            [queue] => queue.is_full(),
            _ => self.full > 0,
        }
    }

    /// Modifies one of the queues and updates the counts.
    #[inline]
    fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut Queue) -> T) -> T {
        let queue = &mut self.queues[index];
        let (len, full) = (queue.len(), queue.is_full());
        let result = change(queue);
        self.len = self.len + queue.len() - len;
        if self.queues.len() > 1 {
            self.full = self.full + usize::from(self.queues[index].is_full()) - usize::from(full);
        }
        result
    }

    /// When a category whose queues returned no packet must ask again, if at all.
    pub fn retry_at(&self, now: Time) -> Option<Time> {
        if self.len() == 0 {
            return None;
        }
        self.queues.iter().filter(|queue| !queue.is_empty()).map(|queue| queue.retry_at(now)).min()
    }

    /// Appends a packet if there is a single FIFO with room; returns whether it did.
    #[inline]
    pub fn append(&mut self, id: PacketId, packet: &mut Packet) -> bool {
        let [Queue::Fifo(fifo)] = &mut self.queues[..] else { return false };
        let fits = fifo.has_room(packet.size);
        if fits {
            fifo.append(id, packet);
            self.len = fifo.len();
        }
        fits
    }

    /// Enqueues a packet; `next_hops` gives its receiver.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
        next_hops: NextHops<'_>,
    ) {
        if !self.append(id, &mut packets[id]) {
            let to = next_hops.of(&packets[id]);
            self.enqueue_to(now, id, to, packets, dropped);
        }
    }

    /// Enqueues a packet to `to`, if the receiver matters or packets may be dropped.
    fn enqueue_to(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        self.longest = self.longest.max(packets[id].bytes().0);
        if self.is_one() {
            self.change(0, |queue| queue.enqueue(now, id, to, packets, dropped));
            self.looked = (to, 0);
            return;
        }
        let index = self.place(to);
        self.change(index, |queue| queue.enqueue(now, id, to, packets, dropped));
        if !self.has_turn[index] && !self.queues[index].is_empty() {
            self.has_turn[index] = true;
            self.turns.push_back(index);
        }
    }

    #[inline]
    pub fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        let [Queue::Fifo(fifo)] = &mut self.queues[..] else { return self.dequeue_in_turn(now, packets, dropped) };
        self.looked = (0, 0);
        let taken = fifo.dequeue(now, packets, dropped);
        self.len = fifo.len();
        taken
    }

    /// Like [`CategoryQueues::dequeue`], for any queues but a single FIFO.
    #[inline(never)]
    fn dequeue_in_turn(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        if self.is_one() {
            if let Some(next) = self.next.take() {
                self.len -= 1;
                return Some(next);
            }
            return self.change(0, |queue| queue.dequeue(now, packets, dropped));
        }
        for _ in 0..self.turns.len() {
            let index = self.turns.pop_front()?;
            let id = self.change(index, |queue| queue.dequeue(now, packets, dropped));
            self.has_turn[index] = !self.queues[index].is_empty();
            if self.has_turn[index] {
                self.turns.push_back(index);
            }
            if id.is_some() {
                return id;
            }
        }
        None
    }

    /// Dequeues the next packet for the receiver `to`, as far as the discipline allows, if it is certain to be at most
    /// `room` bytes long. `next_hops` gives the receiver of a packet. [`CategoryQueues::count`] must be called after
    /// the last of these calls.
    #[inline(always)]
    pub fn dequeue_for<'a>(
        &mut self,
        now: Time,
        to: u32,
        room: u64,
        packets: &'a mut Packets,
        dropped: &mut Dropped,
        next_hops: NextHops<'_>,
    ) -> Option<(PacketId, &'a Packet)> {
        let [Queue::Fifo(fifo)] = &mut self.queues[..] else {
            let id = self.dequeue_from_others(now, to, room, packets, dropped, next_hops)?;
            return Some((id, &packets[id]));
        };
        let from = if self.looked.0 == to { self.looked.1 } else { 0 };
        let (place, taken) = fifo.take_for(from, room, |packet| next_hops.of(packet) == to, packets);
        self.looked = (to, place);
        taken
    }

    /// Dequeues up to `most` packets that follow the one last returned by [`CategoryQueues::dequeue_for`] and are like
    /// it, and passes them to `take`; all are `size` bytes long. Only with a single FIFO for all receivers. Returns
    /// their number; [`CategoryQueues::count`] must be called afterwards.
    #[inline]
    pub fn take_matching(
        &mut self,
        most: u64,
        size: u16,
        is_alike: impl Fn(PacketId) -> bool,
        take: impl FnOnce(&[PacketId]),
    ) -> u64 {
        let [Queue::Fifo(fifo)] = &mut self.queues[..] else { return 0 };
        let place = self.looked.1;
        let line = fifo.behind(place);
        let line = &line[..line.len().min(usize::try_from(most).unwrap_or(usize::MAX))];
        let count = line.iter().position(|id| !is_alike(*id)).unwrap_or(line.len());
        if count > 0 {
            take(&line[..count]);
            fifo.remove_together(place, count, size);
        }
        count as u64
    }

    /// Updates the number of packets after calls that do not keep it up to date.
    pub fn count(&mut self) {
        match &self.queues[..] {
            [Queue::Fifo(fifo)] => self.len = fifo.len(),
            [queue @ Queue::LinuxWifi(_)] => self.len = queue.len() + usize::from(self.next.is_some()),
            _ => {}
        }
    }

    /// Like [`CategoryQueues::dequeue_for`], for any queues but a single FIFO.
    #[inline(never)]
    fn dequeue_from_others(
        &mut self,
        now: Time,
        to: u32,
        room: u64,
        packets: &mut Packets,
        dropped: &mut Dropped,
        next_hops: NextHops<'_>,
    ) -> Option<PacketId> {
        let index = if self.is_one() { 0 } else { to as usize };
        if self.next.is_some() || !matches!(self.queues.get(index)?, Queue::Fifo(_)) && room < self.longest {
            return None; // the length of a packet is not known before it is dequeued
        }
        if self.is_one() {
            let is_to = |packet: &Packet| next_hops.of(packet) == to;
            let id = self.change(0, |queue| queue.dequeue_for(now, to, room, &is_to, packets, dropped))?;
            if is_to(&packets[id]) {
                return Some(id);
            }
            self.next = Some(id);
            self.len += 1;
            return None;
        }
        self.change(index, |queue| match queue {
            Queue::Fifo(fifo) => fifo.dequeue_for(now, to, room, &|_| true, packets, dropped),
            queue => queue.dequeue(now, packets, dropped),
        })
    }
}

#[cfg(test)]
mod tests {
    use wifair_queue::{Chosen, Limit, QueueSettings};

    use super::*;

    /// CoDel cannot look for packets out of turn and sends in the order of arrival: packets to the stations 1, 1, 2, 1,
    /// 2 and 2 make aggregates of 2, 1, 1 and 2. Those that were dequeued too early still count as waiting.
    #[test]
    fn an_aggregate_takes_what_the_discipline_gives_next_to_the_same_receiver() {
        let codel = Chosen::named("codel").expect("a discipline");
        let settings =
            QueueSettings { discipline: codel, limit: Limit::Packets(50), mark_above: None, routing_first: false };
        let mut waiting = CategoryQueues::new(vec![Queue::new(&settings, None, 1, "ap")]);
        let (mut packets, mut dropped) = (Packets::default(), vec![]);
        let next_hops = NextHops(&[0, 1, 2]);
        let now = Time::ZERO;
        for (seq, station) in (0..).zip([1, 1, 2, 1, 2, 2]) {
            let id = packets.insert(Packet { seq, hop: station, size: 1000, ..Packet::default() });
            waiting.enqueue(now, id, &mut packets, &mut dropped, next_hops);
        }
        let mut sent = vec![];
        while let Some(first) = waiting.dequeue(now, &mut packets, &mut dropped) {
            let to = next_hops.of(&packets[first]);
            let mut aggregate = vec![packets[first].seq];
            while let Some((_, packet)) = waiting.dequeue_for(now, to, u64::MAX, &mut packets, &mut dropped, next_hops)
            {
                aggregate.push(packet.seq);
            }
            waiting.count();
            sent.push((to, aggregate));
            assert_eq!(waiting.len(), 6 - sent.iter().map(|(_, packets)| packets.len()).sum::<usize>());
        }
        assert_eq!(sent, [(1, vec![0, 1]), (2, vec![2]), (1, vec![3]), (2, vec![4, 5])]);
        assert!(dropped.is_empty());
    }

    /// With a queue per receiver, three packets to station 1 and one to station 2 leave in turns: 1, 2, 1, 1.
    #[test]
    fn receivers_with_queues_of_their_own_take_turns() {
        let mut waiting = CategoryQueues::new((0..4).map(|_| Queue::fifo(Limit::Packets(3))).collect());
        let (mut packets, mut dropped) = (Packets::default(), vec![]);
        let (next_hops, now) = (NextHops(&[0, 1, 2]), Time::ZERO);
        for station in [1, 1, 1, 2] {
            let id = packets.insert(Packet { hop: station, size: 1000, ..Packet::default() });
            waiting.enqueue(now, id, &mut packets, &mut dropped, next_hops);
        }
        assert!(waiting.is_full(), "the queue of station 1");
        let mut left = vec![];
        while let Some(id) = waiting.dequeue(now, &mut packets, &mut dropped) {
            left.push((packets[id].hop, waiting.len(), waiting.is_full()));
        }
        assert_eq!(left, [(1, 3, false), (2, 2, false), (1, 1, false), (1, 0, false)]);
        assert!(dropped.is_empty());
    }
}
