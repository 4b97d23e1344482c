//! The packet: one cache line, kept in an arena and referred to by its number.
//!
//! A packet is a TCP segment, a UDP datagram or a control message inside IP. Stations, queues and links move
//! [`PacketId`]s; only TCP, the queue disciplines that look inside and the record writers read the fields.

use wifair_units::{Bytes, Time};

/// The next station of a packet addressed to all: its frame gets no ACK and no retry (IEEE Std 802.11-2016, 10.3.6).
pub const BROADCAST: u32 = u32::MAX;

/// The entry `index` of a list by small numbers, such as those of flows or stations; the list is lengthened up to it.
#[inline]
pub fn entry<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

/// What a packet carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// TCP segment with payload (or SYN, FIN) from the data sender.
    #[default]
    Data,
    /// TCP segment from the data receiver: a pure ACK (or SYN-ACK, FIN-ACK).
    Ack,
    /// UDP datagram.
    Udp,
    /// Routing message.
    Routing,
    /// ICMP echo or reply.
    Icmp,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::Data, Self::Ack, Self::Udp, Self::Routing, Self::Icmp];

    /// Its name in tables and for users.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Ack => "ack",
            Self::Udp => "udp",
            Self::Routing => "routing",
            Self::Icmp => "icmp",
        }
    }
}

/// Flag bits of [`Packet::flags`].
pub mod flag {
    /// TCP SYN.
    pub const SYN: u8 = 1;
    /// TCP FIN.
    pub const FIN: u8 = 2;
    /// TCP ACK.
    pub const ACK: u8 = 4;
    /// ECN echo (RFC 3168, section 6.1).
    pub const ECE: u8 = 8;
    /// Congestion window reduced (RFC 3168, section 6.1).
    pub const CWR: u8 = 16;
    /// IP: ECN-capable transport.
    pub const ECT: u8 = 32;
    /// IP: congestion experienced.
    pub const CE: u8 = 64;
    /// TCP PSH (RFC 9293, section 3.9.1.2), in data.
    pub const PSH: u8 = 128;
    /// TCP AE (RFC 9768), in SYNs and ACKs, which have no PSH.
    pub const AE: u8 = PSH;
    /// The flags of the ACE field (RFC 9768, section 3.2.2).
    pub const ACE: u8 = AE | CWR | ECE;
}

/// SACK blocks that fit beside a timestamp option (RFC 2018, section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// A packet, 64 bytes.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Packet {
    /// Offset of the first payload byte in the sender's stream; 64 bits, so it never wraps. SYN and FIN use no offset.
    pub seq: u64,
    /// Next offset expected from the data sender, in an ACK.
    pub ack: u64,
    /// SACK blocks as `(start, end)` offsets above [`Packet::ack`], unused ones `(0, 0)`; the first is the newest.
    pub sack: [(u32, u32); MAX_SACK_BLOCKS],
    /// Timestamp value (RFC 7323), in the sender's clock ticks.
    pub ts_val: u32,
    /// Timestamp echo (RFC 7323).
    pub ts_ecr: u32,
    /// Index of the flow.
    pub flow: u32,
    /// Index in the table of hops: the packet's next hop.
    pub hop: u32,
    /// Receive window as in the header field, before the connection's scale is applied (RFC 7323, section 2).
    pub window: u16,
    /// Payload, in bytes.
    pub payload: u16,
    /// Size of the whole IP packet, in bytes.
    pub size: u16,
    /// Bits of [`flag`].
    pub flags: u8,
    /// What it carries.
    pub kind: Kind,
}

const _: () = assert!(size_of::<Packet>() == 64);

/// The receiving station of each hop over the air, indexed by [`Packet::hop`].
#[derive(Clone, Copy, Debug)]
pub struct NextHops<'a>(pub &'a [u32]);

impl NextHops<'_> {
    /// The next station of a packet. Routing may change the answer while the packet waits.
    #[inline]
    pub fn of(self, packet: &Packet) -> u32 {
        self.0[packet.hop as usize]
    }
}

impl Packet {
    /// Whether all bits of `mask` are set.
    pub const fn has(&self, mask: u8) -> bool {
        self.flags & mask == mask
    }

    /// Whether it is a segment of a TCP data sender, or a datagram that is not an echo reply.
    pub const fn is_data(&self) -> bool {
        match self.kind {
            Kind::Data => true,
            Kind::Udp => !self.has(flag::ACK),
            Kind::Ack | Kind::Routing | Kind::Icmp => false,
        }
    }

    /// The offset just after the last payload byte.
    pub const fn end(&self) -> u64 {
        self.seq + self.payload as u64
    }

    /// Notes when it was sent. This is not on the wire: it is for records only, and is stored in place of the SACK
    /// blocks, which data does not have.
    #[inline]
    pub const fn set_sent_at(&mut self, time: Time) {
        let nanos = time.as_nanos();
        self.sack[0] = (nanos as u32, (nanos >> 32) as u32);
    }

    /// When it was sent, for a data segment or datagram whose sending time was noted.
    #[inline]
    pub const fn sent_at(&self) -> Time {
        Time::from_nanos((self.sack[0].1 as u64) << 32 | self.sack[0].0 as u64)
    }

    /// The ACE field of a SYN or an ACK (RFC 9768, section 3.2.2): AE, CWR and ECE as a number.
    #[inline]
    pub const fn ace(&self) -> u8 {
        (self.has(flag::AE) as u8) << 2 | (self.has(flag::CWR) as u8) << 1 | self.has(flag::ECE) as u8
    }

    /// The flags that stand for an ACE field.
    #[inline]
    pub const fn ace_flags(ace: u8) -> u8 {
        ((ace >> 2 & 1) * flag::AE) | ((ace >> 1 & 1) * flag::CWR) | ((ace & 1) * flag::ECE)
    }

    /// Stores an AccECN option with two counters of 24 bits in an ACK (RFC 9768, section 3.2.3), in place of its
    /// `seq`, which ACKs do not need: whether the first is that of ECT(1) and not ECT(0), its value, and that of CE.
    #[inline]
    pub const fn set_counters(&mut self, ect1_first: bool, ect: u32, ce: u32) {
        self.seq = 1 << 63 | (ect1_first as u64) << 62 | (ce as u64) << 24 | ect as u64;
    }

    /// The option that [`Packet::set_counters`] stored, if the ACK has one.
    #[inline]
    pub const fn counters(&self) -> Option<(bool, u32, u32)> {
        const MASK: u64 = (1 << 24) - 1;
        if !matches!(self.kind, Kind::Ack) || self.seq >> 63 == 0 {
            return None;
        }
        Some((self.seq >> 62 & 1 == 1, (self.seq & MASK) as u32, (self.seq >> 24 & MASK) as u32))
    }

    /// Whether flow, hop, receive window, lengths, flags and kind are those of `other`: two comparisons.
    #[inline]
    pub const fn is_like(&self, other: &Self) -> bool {
        self.way() == other.way() && self.form() == other.form()
    }

    const fn way(&self) -> u64 {
        (self.hop as u64) << 32 | self.flow as u64
    }

    const fn form(&self) -> u64 {
        let Self { window, payload, size, flags, kind, .. } = *self;
        (kind as u64) << 56 | (flags as u64) << 48 | (size as u64) << 32 | (payload as u64) << 16 | window as u64
    }

    /// The size of the IP packet.
    pub const fn bytes(&self) -> Bytes {
        Bytes(self.size as u64)
    }
}

/// The number of a packet in its [`Packets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketId(u32);

impl PacketId {
    /// The number itself. Numbers are reused, so they stay close to the largest number of packets alive at once.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// This and the following numbers, `count` in all.
    #[inline]
    pub fn and_following(self, count: usize) -> impl Iterator<Item = Self> {
        (self.0..self.0 + count as u32).map(PacketId)
    }
}

/// What the headers of a flow's packets say that does not change from packet to packet, and its socket's pacing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowLabel {
    /// The host that sends its data, and the one that receives it, by number.
    pub hosts: (u32, u32),
    /// The differentiated services code point.
    pub dscp: u8,
    /// Whether its ECN-capable packets are ECT(1): the flow reacts to marks as RFC 9331 asks (L4S).
    pub l4s: bool,
    /// The rate at which its socket asks the queue to pace it, in byte/s; 0 for none.
    pub pacing: u64,
}

/// Slots per word of [`Packets::free`].
const WORD: usize = u64::BITS as usize;

/// All packets of a world. Slots are reused, so nothing is allocated once the world has reached its largest number of
/// packets.
///
/// Slots are given out cyclically in memory order: packets that leave one after the other lie side by side, and are
/// still side by side when they reach the other end of a long wire. An arena that reuses the most recently freed slot
/// would be shuffled by slow start, which inserts a new packet behind each old one.
#[derive(Clone, Debug, Default)]
pub struct Packets {
    slots: Vec<Packet>,
    /// One bit per slot, set if the slot is free.
    free: Vec<u64>,
    /// The free slots of the current word, removed from `free`, which are given out next; `base` is the word's first
    /// slot, `word` its index.
    offered: u64,
    base: u32,
    word: usize,
    alive: usize,
    /// Labels of flows by number; those missing have the default.
    labels: Vec<FlowLabel>,
}

impl Packets {
    /// What the headers of a flow's packets say besides the fields of [`Packet`].
    #[inline]
    pub fn label(&self, flow: u32) -> FlowLabel {
        self.labels.get(flow as usize).copied().unwrap_or_default()
    }

    /// Sets the label of a flow.
    pub fn set_label(&mut self, flow: u32, label: FlowLabel) {
        *entry(&mut self.labels, flow as usize) = label;
    }

    /// Inserts a packet.
    ///
    /// # Panics
    /// If more than 2^32 packets are alive.
    #[inline]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        let (id, slot) = self.add();
        *slot = packet;
        id
    }

    /// Allocates a packet for the caller to fill in; until then it holds the contents of a released one.
    ///
    /// # Panics
    /// If more than 2^32 packets are alive.
    #[inline(always)]
    pub fn add(&mut self) -> (PacketId, &mut Packet) {
        if self.offered == 0 {
            self.next_word();
        }
        let slot = self.base + self.offered.trailing_zeros();
        self.offered &= self.offered - 1;
        self.alive += 1;
        (PacketId(slot), &mut self.slots[slot as usize])
    }

    /// Allocates packets whose slots follow each other in memory, for the caller to fill in as with [`Packets::add`]:
    /// at most `most`, but at least one. Returns the first.
    ///
    /// # Panics
    /// If more than 2^32 packets are alive, or `most` is zero.
    #[inline(always)]
    pub fn add_side_by_side(&mut self, most: usize) -> (PacketId, &mut [Packet]) {
        assert!(most > 0, "at least one packet is added");
        if self.offered == 0 {
            self.next_word();
        }
        let begin = self.offered.trailing_zeros();
        let free = (self.offered >> begin).trailing_ones() as usize;
        let count = free.min(most);
        self.offered &= !((u64::MAX >> (WORD - count)) << begin);
        self.alive += count;
        let first = self.base + begin;
        (PacketId(first), &mut self.slots[first as usize..][..count])
    }

    /// Moves on to the next word with a free slot. The arena keeps more slots than there are live packets, so the
    /// search is short on average.
    #[inline(never)]
    fn next_word(&mut self) {
        if self.alive * 8 >= self.slots.len() * 7 {
            self.word = self.free.len();
            let words = self.word + (self.word / 8).max(1);
            assert!(u32::try_from(words * WORD).is_ok(), "fewer than 2^32 packets are alive");
            self.free.resize(words, u64::MAX);
            self.slots.resize(words * WORD, Packet::default());
        }
        while self.free.get(self.word).is_none_or(|free| *free == 0) {
            self.word = if self.word < self.free.len() { self.word + 1 } else { 0 };
        }
        self.offered = std::mem::take(&mut self.free[self.word]);
        self.base = u32::try_from(self.word * WORD).expect("fewer than 2^32 packets are alive");
    }

    /// Removes a packet and returns it; its number may be reused.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> Packet {
        self.release(id);
        self.slots[id.0 as usize]
    }

    /// Removes a packet whose contents are no longer needed.
    #[inline]
    pub fn release(&mut self, id: PacketId) {
        self.free[id.0 as usize / WORD] |= 1 << (id.0 as usize % WORD);
        self.alive -= 1;
    }

    /// Removes packets whose contents are no longer needed; those in a row cost less than one by one.
    #[inline]
    pub fn release_together(&mut self, ids: impl Iterator<Item = PacketId>) {
        let (mut word, mut free, mut count) = (0, 0, 0);
        for id in ids {
            let own = id.0 as usize / WORD;
            if own != word {
                self.free[word] |= free;
                (word, free) = (own, 0);
            }
            free |= 1 << (id.0 as usize % WORD);
            count += 1;
        }
        if count > 0 {
            self.free[word] |= free;
            self.alive -= count;
        }
    }

    /// Packets alive.
    pub fn len(&self) -> usize {
        self.alive
    }

    /// Memory of all slots, in bytes.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Packet>()
    }

    /// Whether no packet is alive.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::ops::Index<PacketId> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        &self.slots[id.0 as usize]
    }
}

impl std::ops::IndexMut<PacketId> for Packets {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.slots[id.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_alike_differ_in_numbers_and_times_only() {
        let packet = Packet { flow: 1, hop: 2, window: 3, payload: 4, size: 5, flags: 6, ..Packet::default() };
        assert!(packet.is_like(&Packet { seq: 7, ack: 8, ts_val: 9, ts_ecr: 10, ..packet }));
        let others = [
            Packet { flow: 0, ..packet },
            Packet { hop: 0, ..packet },
            Packet { window: 0, ..packet },
            Packet { payload: 0, ..packet },
            Packet { size: 0, ..packet },
            Packet { flags: 0, ..packet },
            Packet { kind: Kind::Udp, ..packet },
        ];
        assert!(others.iter().all(|other| !packet.is_like(other)));
    }

    #[test]
    fn slots_are_used_again() {
        let mut packets = Packets::default();
        let lasting = packets.insert(Packet { seq: 1, ..Packet::default() });
        for seq in 2..1000 {
            let id = packets.insert(Packet { seq, ..Packet::default() });
            assert!(id != lasting && id.index() < WORD);
            assert_eq!((packets.len(), packets.remove(id).seq), (2, seq));
        }
        assert_eq!((packets[lasting].seq, packets.len()), (1, 1));
    }

    /// Packets added and released together get the slots that they would get one by one.
    #[test]
    fn packets_side_by_side_get_the_next_free_slots() {
        let (mut together, mut alone) = (Packets::default(), Packets::default());
        for most in (1..70).cycle().take(500) {
            let (first, slots) = together.add_side_by_side(most);
            let ids: Vec<_> = first.and_following(slots.len()).collect();
            assert!((1..=most).contains(&ids.len()));
            slots.iter_mut().zip(most as u64..).for_each(|(slot, seq)| slot.seq = seq);
            assert!(ids.iter().zip(most as u64..).all(|(id, seq)| together[*id].seq == seq));
            assert_eq!(ids, ids.iter().map(|_| alone.insert(Packet::default())).collect::<Vec<_>>());
            let released = ids.into_iter().filter(|id| id.index() % 3 > 0);
            released.clone().for_each(|id| alone.release(id));
            together.release_together(released);
        }
        assert_eq!(together.len(), alone.len());
    }

    /// A wire on which slow start sends two packets for each one that arrives, up to 10,000. Packets sent one after the
    /// other lie side by side, and the arena has no more slots than 8/7 of the live packets plus an eighth.
    #[test]
    fn packets_that_leave_in_turn_lie_side_by_side() {
        let mut packets = Packets::default();
        let mut line = std::collections::VecDeque::from([packets.insert(Packet::default())]);
        for seq in 0..100_000 {
            let out = line.pop_front().expect("the line is not empty");
            packets.release(out);
            for _ in 0..if line.len() < 10_000 { 2 } else { 1 } {
                line.push_back(packets.insert(Packet { seq, ..Packet::default() }));
            }
        }
        assert_eq!(packets.len(), line.len());
        let ids: Vec<_> = line.iter().map(|id| id.index()).collect();
        let apart = ids.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
        assert!(apart <= ids.len() / WORD, "{apart} of {} do not follow one another", ids.len());
        assert!(packets.slots.len() <= ids.len() * 8 / 7 * 9 / 8 + WORD);
        let seqs: Vec<_> = line.iter().map(|id| packets[*id].seq).collect();
        assert!(seqs.is_sorted() && seqs[ids.len() - 1] == 99_999, "packets stay what they are");
    }
}
