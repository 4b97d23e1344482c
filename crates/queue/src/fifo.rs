//! FIFO: first in, first out. On overflow either the arrival is dropped or the oldest packets are.
//!
//! Source of drop-head: T. V. Lakshman, A. Neidhardt and T. Ott, "The Drop from Front Strategy in TCP and in TCP over
//! ATM", INFOCOM 1996. Dropping at the head lets the sender learn of the loss earlier.
//!
//! The packet that the MAC is sending is not in the queue. ns-2's drop-tail holds one packet fewer than its limit,
//! because it refuses the arrival that would make the queue `limit` long: for a limit of 50 in ns-2, write 49.

use wifair_config::{choice, table};
use wifair_engine::ContiguousQueue;
use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::Time;

use super::room::Room;
use super::{Cause, Discipline, Dropped, Site};

choice! {
    /// Which packets an overflow drops.
    pub enum Victim {
        /// The arrival.
        Tail = "tail",
        /// The oldest packets, until the arrival fits.
        Head = "head",
    }
}

table! {
    /// First in, first out.
    pub struct Params {
        /// Which packets an overflow drops.
        pub drop: Victim = Victim::Tail;
    }
}

/// Drop-tail or drop-head FIFO.
#[derive(Clone, Debug)]
pub struct Fifo {
    room: Room,
    drop: Victim,
    line: ContiguousQueue<PacketId>,
}

impl Fifo {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self { room: site.room(), drop: params.drop, line: ContiguousQueue::default() }
    }
}

impl Fifo {
    /// Whether an overflow drops the arrival and no other packet.
    pub fn refuses(&self) -> bool {
        self.drop == Victim::Tail
    }

    /// Whether a packet of `size` bytes fits.
    #[inline]
    pub const fn has_room(&self, size: u16) -> bool {
        self.room.fits(size as u64)
    }

    /// Adds a packet that fits.
    #[inline]
    pub fn append(&mut self, id: PacketId, packet: &mut Packet) {
        self.room.enter(packet);
        self.line.push(id);
    }

    /// How many packets of `size` bytes fit; `None` if some might have to be marked.
    #[inline]
    pub const fn room_for(&self, size: u16) -> Option<u64> {
        if self.room.may_mark() { None } else { Some(self.room.fits_together(size)) }
    }

    /// How many packets of `size` bytes certainly fit, if none but the last may make the queue full.
    #[inline]
    pub fn room_until_full(&self, size: u16) -> u64 {
        self.room.fits_until_full(size)
    }

    /// Whether arriving packets may be marked.
    #[inline]
    pub const fn may_mark(&self) -> bool {
        self.room.may_mark()
    }

    /// Reserves places for `count` packets of `size` bytes at the end of the queue; there must be
    /// [room](Fifo::room_for) for them.
    ///
    /// # Panics
    /// If they are 2^32 or more.
    #[inline]
    pub fn reserve(&mut self, count: u64, size: u16) {
        self.room.enter_together(number(count), size);
    }

    /// Gives up the first `count` reserved places.
    ///
    /// # Panics
    /// If they are 2^32 or more.
    #[inline]
    pub fn give_up_reserved(&mut self, count: u64, size: u16) {
        self.room.leave_together(number(count), size);
    }

    /// Puts packets into the first reserved places.
    #[inline]
    pub fn fill_reserved(&mut self, ids: impl Iterator<Item = PacketId>) {
        self.line.extend(ids);
    }

    /// Number of packets, without reserved places.
    #[inline]
    pub fn written(&self) -> usize {
        self.line.items().len()
    }

    /// The packets from place `from` on.
    #[inline]
    pub fn behind(&self, from: usize) -> &[PacketId] {
        &self.line.items()[from..]
    }

    /// Removes `count` packets of `size` bytes each from place `from` on.
    ///
    /// # Panics
    /// If there are fewer packets, or if `count` is 2^32 or more.
    #[inline]
    pub fn remove_together(&mut self, from: usize, count: usize, size: u16) {
        self.line.remove(from..from + count);
        self.room.leave_together(number(count as u64), size);
    }

    /// Removes the packet to send next, and returns it with its contents.
    #[inline(always)]
    pub fn take<'a>(&mut self, packets: &'a Packets) -> Option<(PacketId, &'a Packet)> {
        let id = self.line.pop()?;
        let packet = &packets[id];
        self.room.leave(packet.bytes().0);
        Some((id, packet))
    }

    /// Removes the first packet from place `from` on that `is_to` accepts, if it is at most `room` bytes long. Returns
    /// the packet, if removed, with the place at which the next search may start: its own place, or the end of the
    /// queue if `is_to` accepts none.
    #[inline(always)]
    pub fn take_for<'a>(
        &mut self,
        from: usize,
        room: u64,
        is_to: impl Fn(&Packet) -> bool,
        packets: &'a Packets,
    ) -> (usize, Option<(PacketId, &'a Packet)>) {
        let mut place = from;
        while let Some(&id) = self.line.items().get(place) {
            let packet = &packets[id];
            if is_to(packet) {
                let size = packet.bytes().0;
                if size > room {
                    break;
                }
                self.line.remove(place..place + 1);
                self.room.leave(size);
                return (place, Some((id, packet)));
            }
            place += 1;
        }
        (place.min(self.line.items().len()), None)
    }

    /// The room of a drop-tail queue, in which every accepted packet stays and is sent in order; `None` for drop-head.
    pub fn tail_room(&self) -> Option<Room> {
        self.refuses().then_some(self.room)
    }

    /// Drops this packet or older ones; returns whether it now fits.
    #[inline(never)]
    fn make_room(&mut self, id: PacketId, size: u64, packets: &Packets, dropped: &mut Dropped) -> bool {
        while !self.room.fits(size) {
            if self.drop == Victim::Tail || !self.room.could_fit(size) {
                dropped.push((id, Cause::Overflow));
                return false;
            }
            let oldest = self.line.pop().expect("what would fit into an empty queue finds a packet in its way");
            self.room.leave(packets[oldest].bytes().0);
            dropped.push((oldest, Cause::Overflow));
        }
        true
    }
}

/// A number of packets in a queue.
#[inline]
fn number(count: u64) -> u32 {
    u32::try_from(count).expect("a queue holds fewer than 2^32 packets")
}

impl Discipline for Fifo {
    #[inline(always)]
    fn enqueue(&mut self, _now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let size = packets[id].bytes().0;
        if !self.room.fits(size) && !self.make_room(id, size, packets, dropped) {
            return;
        }
        self.append(id, &mut packets[id]);
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        self.take(packets).map(|(id, _)| id)
    }

    #[inline]
    fn dequeue_for(
        &mut self,
        _now: Time,
        _to: u32,
        room: u64,
        is_to: &dyn Fn(&Packet) -> bool,
        packets: &mut Packets,
        _dropped: &mut Dropped,
    ) -> Option<PacketId> {
        self.take_for(0, room, is_to, packets).1.map(|(id, _)| id)
    }

    #[inline]
    fn len(&self) -> usize {
        self.room.len()
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.room.is_full()
    }

    fn marks(&self) -> u64 {
        self.room.marks()
    }
}

#[cfg(test)]
mod tests {
    use wifair_units::Bytes;

    use super::super::testing::QueueBench;
    use super::super::{Limit, Site};
    use super::*;

    fn queue(limit: u64, packets: u64) -> (Fifo, Packets) {
        let site = Site { limit: Limit::Packets(limit), ..QueueBench::<Fifo>::SITE };
        let mut queue = Fifo::new(&Params { drop: Victim::Tail }, &site);
        let mut arena = Packets::default();
        let ids: Vec<_> =
            (0..packets).map(|seq| arena.insert(Packet { seq, size: 1000, ..Packet::default() })).collect();
        queue.reserve(packets, 1000);
        queue.fill_reserved(ids.into_iter());
        (queue, arena)
    }

    /// Packets that come and go together count one by one.
    #[test]
    fn packets_that_are_added_together_take_their_room() {
        let (mut queue, mut arena) = queue(10, 3);
        assert_eq!((queue.room_for(1000), queue.room.bytes()), (Some(7), 3000));
        let more: Vec<_> = (3..7).map(|seq| arena.insert(Packet { seq, size: 1000, ..Packet::default() })).collect();
        queue.reserve(4, 1000);
        assert_eq!((queue.room_for(1000), queue.len(), queue.behind(0).len()), (Some(3), 7, 3));
        queue.fill_reserved(more.into_iter());
        assert_eq!((queue.room_for(1000), queue.len(), queue.room.bytes()), (Some(3), 7, 7000));
        queue.remove_together(2, 3, 1000);
        assert_eq!((queue.room_for(1000), queue.len(), queue.room.bytes()), (Some(6), 4, 4000));
        let left: Vec<_> = queue.behind(0).iter().map(|id| arena[*id].seq).collect();
        assert_eq!(left, [0, 1, 5, 6]);
    }

    /// The first packet for a receiver leaves out of turn, if it fits; what is before it stays.
    #[test]
    fn a_packet_for_a_receiver_is_taken_out_of_turn() {
        let (mut queue, arena) = queue(10, 5);
        let mut take = |from: usize, room: u64, seqs: &[u64]| {
            let (place, taken) = queue.take_for(from, room, |packet| seqs.contains(&packet.seq), &arena);
            (place, taken.map(|(_, packet)| packet.seq), queue.len(), queue.room.bytes())
        };
        assert_eq!(take(0, 2000, &[2, 3]), (2, Some(2), 4, 4000));
        assert_eq!(take(2, 2000, &[0, 3]), (2, Some(3), 3, 3000));
        assert_eq!(take(0, 999, &[0]), (0, None, 3, 3000));
        assert_eq!(take(0, 1000, &[0]), (0, Some(0), 2, 2000));
        assert_eq!(take(0, 2000, &[9]), (2, None, 2, 2000));
        assert_eq!(take(7, 2000, &[1]), (2, None, 2, 2000));
    }

    fn run(limit: Limit, drop: Victim, sizes: &[u16]) -> (Vec<u64>, Vec<u64>) {
        let mut bench = QueueBench::new(Fifo::new(&Params { drop }, &Site { limit, ..QueueBench::<Fifo>::SITE }));
        for (seq, size) in (0..).zip(sizes) {
            bench.put(Packet { seq, size: *size, ..Default::default() });
        }
        let sent = bench.drain();
        (sent.iter().map(|p| p.seq).collect(), bench.lost.iter().map(|p| p.seq).collect())
    }

    #[test]
    fn a_full_queue_drops_the_arrival() {
        assert_eq!(run(Limit::Packets(2), Victim::Tail, &[9, 9, 9]), (vec![0, 1], vec![2]));
    }

    #[test]
    fn drop_head_makes_room_for_the_arrival() {
        assert_eq!(run(Limit::Packets(2), Victim::Head, &[9, 9, 9]), (vec![1, 2], vec![0]));
    }

    #[test]
    fn a_limit_in_bytes_takes_small_packets_where_a_large_one_does_not_fit() {
        let limit = Limit::Bytes(Bytes(100));
        assert_eq!(run(limit, Victim::Tail, &[60, 60, 40, 1]), (vec![0, 2], vec![1, 3]));
        assert_eq!(run(limit, Victim::Head, &[60, 30, 60, 200]), (vec![1, 2], vec![0, 3]));
    }
}
