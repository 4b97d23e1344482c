//! MPDUs between one sender and one receiver of one category: what is on its way, acknowledged, and handed up in order.
//!
//! The originator's window of sequence numbers and the recipient's reordering buffer (IEEE Std 802.11-2016, 10.24.7)
//! are one list here, for both ends are known: an MPDU leaves it when the originator is done with it and the recipient
//! has handed it up or passed over it. Sequence numbers are not reduced modulo 4096.

use wifair_packet::PacketId;
use wifair_units::{Duration, Time};

use super::agreement::Agreement;

/// Header of a subframe of an A-MSDU: addresses and length, in bytes (IEEE Std 802.11-2016, 9.3.2.2.2).
const SUBFRAME_HEADER: u64 = 14;

/// The recipient has it.
const RECEIVED: u8 = 1;
/// The originator knows.
const ACKNOWLEDGED: u8 = 2;
/// The originator has given it up.
const DISCARDED: u8 = 4;
/// The recipient had passed over it when it came.
const LATE: u8 = 8;

/// Packets of an A-MSDU, each with the next, by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain(Vec<Option<PacketId>>);

impl Chain {
    /// `next` follows `id`.
    pub fn link(&mut self, id: PacketId, next: PacketId) {
        if self.0.len() <= id.index() {
            self.0.resize(id.index() + 1, None);
        }
        self.0[id.index()] = Some(next);
    }

    /// The packets of an MPDU.
    pub fn of(&self, mpdu: &Mpdu) -> impl Iterator<Item = PacketId> + '_ {
        std::iter::successors(Some(mpdu.first), |id| self.0.get(id.index()).copied().flatten())
            .take(usize::from(mpdu.packets))
    }
}

/// One MPDU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mpdu {
    /// Its packet, or the first one of its A-MSDU.
    pub first: PacketId,
    /// The last one.
    pub last: PacketId,
    /// Packets inside.
    pub packets: u8,
    /// How often it was sent.
    pub attempts: u8,
    /// How often it was not sent because its RTS got no answer.
    pub rts_failures: u8,
    state: u8,
    /// From the MAC header to the FCS, in bytes.
    pub length: u32,
    /// When the originator gives it up.
    pub expires: Time,
    /// When the recipient got it.
    received_at: Time,
}

impl Mpdu {
    /// An MPDU that was never sent.
    ///
    /// # Panics
    /// If it is longer than 4 GB.
    pub fn new(first: PacketId, length: u64, expires: Time) -> Self {
        let length = u32::try_from(length).expect("MPDUs are short");
        Self {
            first,
            last: first,
            packets: 1,
            attempts: 0,
            rts_failures: 0,
            state: 0,
            length,
            expires,
            received_at: Time::ZERO,
        }
    }

    /// Hands up its packets to the station `to`.
    #[inline]
    fn hand_up(&self, to: u32, chain: &Chain, released: &mut Released) {
        if self.packets == 1 {
            released.up.push(to, self.first);
        } else {
            chain.of(self).for_each(|id| released.up.push(to, id));
        }
    }

    const fn has(&self, state: u8) -> bool {
        self.state & state != 0
    }

    /// Whether the originator, which has come to it, has yet to send it, for the first time or again.
    pub const fn is_pending(&self) -> bool {
        !self.has(ACKNOWLEDGED | DISCARDED)
    }

    /// Whether the recipient has it.
    pub const fn is_received(&self) -> bool {
        self.has(RECEIVED)
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Window {
    /// The receiver.
    pub to: u32,
    /// Sequence numbers that may be outstanding.
    size: u64,
    /// There is a block ACK agreement; if not, MPDUs are sent and acknowledged one by one.
    block_ack: bool,
    /// How the ends stand with each other; without agreement MPDUs go one by one.
    pub agreement: Agreement,
    /// When the recipient got data or a request last.
    pub used_at: Time,
    /// The MPDUs from `start` to `next`, each in the place that the last bits of its sequence number give; a power of
    /// two of places.
    ring: Vec<Mpdu>,
    /// The first sequence number with which one of the ends is not done.
    start: u64,
    /// The sequence number that is used next.
    next: u64,
    /// The originator's `WinStartO`: all before are acknowledged or given up.
    origin: u64,
    /// The recipient's `WinStartB`: all before were handed up or passed over.
    released: u64,
    /// MPDUs that are neither acknowledged nor given up, and packets in them.
    pending: usize,
    pending_packets: usize,
    /// An MPDU was given up since the window moved last.
    gave_up: bool,
    /// A BlockAckReq is due: the recipient waits for an MPDU that was given up, or the originator wants to know.
    pub request_due: bool,
    /// MPDUs that the recipient holds behind a gap, and since when the first of them.
    buffered: usize,
    blocked_since: Option<Time>,
    /// Time that packets handed up have waited for others, and that was not yet taken note of.
    reorder_delay: Duration,
}

/// What comes out of a window: packets handed up, with their receiver, and packets lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    /// Packets that the recipient hands up, in order.
    pub up: HandedUp,
    /// Packets that nobody will get.
    pub lost: Vec<PacketId>,
    /// The same because their lifetime has ended.
    pub expired: Vec<PacketId>,
}

/// Packets with their receivers, in order, those in front of which were told of.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandedUp {
    all: Vec<(u32, PacketId)>,
    told: usize,
}

impl HandedUp {
    #[inline]
    fn push(&mut self, to: u32, id: PacketId) {
        self.all.push((to, id));
    }

    /// The first that was not told of, which then was.
    #[inline]
    pub fn take(&mut self) -> Option<(u32, PacketId)> {
        let next = *self.all.get(self.told)?;
        self.skip(1);
        Some(next)
    }

    /// The next `count` are told of.
    #[inline]
    pub fn skip(&mut self, count: usize) {
        self.told += count;
        if self.told == self.all.len() {
            self.all.clear();
            self.told = 0;
        }
    }

    /// Those that were not told of.
    #[inline]
    pub fn rest(&self) -> &[(u32, PacketId)] {
        &self.all[self.told..]
    }

    /// A mark for [`HandedUp::since`].
    #[inline]
    pub fn mark(&self) -> usize {
        self.all.len()
    }

    /// Those that came after a mark, if none was taken since.
    #[inline]
    pub fn since(&self, mark: usize) -> &[(u32, PacketId)] {
        &self.all[mark..]
    }
}

impl Window {
    /// Towards `to`, for `size` outstanding MPDUs.
    pub fn new(to: u32, size: u16, block_ack: bool) -> Self {
        Self {
            to,
            size: u64::from(size),
            block_ack,
            agreement: Agreement::There,
            used_at: Time::ZERO,
            ring: vec![],
            start: 0,
            next: 0,
            origin: 0,
            released: 0,
            pending: 0,
            pending_packets: 0,
            gave_up: false,
            request_due: false,
            buffered: 0,
            blocked_since: None,
            reorder_delay: Duration::ZERO,
        }
    }

    /// Until when the originator waits for the agreement that it has asked for.
    #[inline]
    pub fn agreement_asked(&self, now: Time) -> Option<Time> {
        match self.agreement {
            Agreement::Asked(until) if until > now => Some(until),
            _ => None,
        }
    }

    /// The sequence number that is used next.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The first sequence number that the originator still cares for.
    #[inline]
    pub const fn origin(&self) -> u64 {
        self.origin
    }

    /// Whether a new MPDU fits into the window.
    #[inline]
    pub const fn has_room(&self) -> bool {
        self.next < self.origin + self.size
    }

    /// MPDUs to send, for the first time or again.
    pub const fn pending(&self) -> usize {
        self.pending
    }

    /// Takes in a new MPDU.
    #[inline]
    pub fn push(&mut self, mpdu: Mpdu) {
        debug_assert!(self.has_room(), "a sequence number beyond the window");
        if self.next - self.start == self.ring.len() as u64 {
            self.grow(mpdu);
        }
        let place = self.place(self.next);
        self.ring[place] = mpdu;
        self.next += 1;
        self.pending += 1;
        self.pending_packets += usize::from(mpdu.packets);
    }

    /// How many new MPDUs fit into the window.
    #[inline]
    pub const fn room(&self) -> u64 {
        (self.origin + self.size).saturating_sub(self.next)
    }

    /// Takes in new MPDUs with a packet each, that are as long as the last one and sent with it for the first time.
    #[inline]
    pub fn push_together(&mut self, ids: impl ExactSizeIterator<Item = PacketId>) {
        let mut mpdu = *self.mpdu(self.next - 1);
        while self.next + ids.len() as u64 - self.start > self.ring.len() as u64 {
            self.grow(mpdu);
        }
        let first = self.place(self.next);
        let mask = self.ring.len() - 1;
        let mut pushed = 0;
        ids.for_each(|id| {
            (mpdu.first, mpdu.last) = (id, id);
            self.ring[(first + pushed) & mask] = mpdu;
            pushed += 1;
        });
        self.next += pushed as u64;
        self.pending += pushed;
        self.pending_packets += pushed;
    }

    /// Makes twice as many places, which `filler` fills.
    #[cold]
    fn grow(&mut self, filler: Mpdu) {
        let places = (2 * self.ring.len()).max(4);
        let mut ring = vec![filler; places];
        for number in self.start..self.next {
            #[allow(clippy::cast_possible_truncation)]
            let place = number as usize & (places - 1);
            ring[place] = *self.mpdu(number);
        }
        self.ring = ring;
    }

    /// The last MPDU, if it was never part of a PPDU and can take in a packet.
    fn last_unsent(&self) -> Option<u64> {
        let last = (self.next > self.start).then(|| self.next - 1)?;
        let mpdu = self.mpdu(last);
        let is_new = mpdu.attempts == 0 && mpdu.rts_failures == 0;
        (is_new && mpdu.packets < u8::MAX && mpdu.is_pending()).then_some(last)
    }

    /// How long a packet with its LLC header may be that the last MPDU can take in: see [`Window::append`].
    pub fn room_in_last(&self, overhead: u64, longest: u64) -> u64 {
        let Some(last) = self.last_unsent().map(|last| self.mpdu(last)) else { return 0 };
        let alone = u64::from(last.packets == 1) * SUBFRAME_HEADER;
        let body = (u64::from(last.length) - overhead + alone).next_multiple_of(4) + SUBFRAME_HEADER;
        longest.saturating_sub(body)
    }

    /// Appends a packet that is `msdu` bytes long with its LLC header to the last MPDU, which becomes an A-MSDU;
    /// whether it could, for that MPDU was never sent and the A-MSDU is not longer than `longest`. `overhead`: MAC
    /// header and FCS.
    pub fn append(&mut self, id: PacketId, msdu: u64, overhead: u64, longest: u64, chain: &mut Chain) -> bool {
        let Some(last) = self.last_unsent().map(|last| self.mpdu_mut(last)) else { return false };
        let alone = u64::from(last.packets == 1) * SUBFRAME_HEADER;
        let body = u64::from(last.length) - overhead + alone;
        let longer = body.next_multiple_of(4) + SUBFRAME_HEADER + msdu;
        if longer > longest {
            return false;
        }
        chain.link(last.last, id);
        last.last = id;
        last.packets += 1;
        last.length = u32::try_from(longer + overhead).expect("MPDUs are short");
        self.pending_packets += 1;
        true
    }

    /// The originator learns what the recipient has. How many MPDUs that were.
    pub fn acknowledge_received(&mut self) -> u64 {
        let numbers = self.origin..self.next;
        let received = numbers.filter(|number| self.mpdu(*number).is_pending() && self.mpdu(*number).is_received());
        let received: Vec<u64> = received.collect();
        for number in &received {
            self.acknowledge(*number);
        }
        received.len() as u64
    }

    /// The MPDU with this sequence number.
    #[inline]
    pub fn mpdu(&self, number: u64) -> &Mpdu {
        debug_assert!(self.start <= number && number < self.next, "an MPDU that the window holds");
        &self.ring[self.place(number)]
    }

    /// The same, to be changed.
    #[inline]
    pub fn mpdu_mut(&mut self, number: u64) -> &mut Mpdu {
        debug_assert!(self.start <= number && number < self.next, "an MPDU that the window holds");
        let place = self.place(number);
        &mut self.ring[place]
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    const fn place(&self, number: u64) -> usize {
        number as usize & self.ring.len().wrapping_sub(1)
    }

    /// The first pending MPDU.
    pub fn first_pending(&self) -> Option<u64> {
        (self.origin..self.next).find(|number| self.mpdu(*number).is_pending())
    }

    /// An MPDU arrives at the recipient without error; [`Window::hand_up`] follows when all of its PPDU have.
    #[inline]
    pub fn receive(&mut self, now: Time, number: u64, chain: &Chain, released: &mut Released) {
        let (is_next, is_alone, to) = (number == self.released, self.buffered == 0, self.to);
        let mpdu = self.mpdu_mut(number);
        if mpdu.is_received() {
            return;
        }
        mpdu.state |= RECEIVED;
        if is_next && is_alone {
            mpdu.hand_up(to, chain, released);
            self.released += 1;
        } else {
            mpdu.received_at = now;
            self.hold(now, number, chain, released);
        }
    }

    /// Whether the recipient holds nothing and waits for an MPDU that it has not passed over: its sequence number.
    pub fn expected(&self) -> Option<u64> {
        (self.buffered == 0).then_some(self.released)
    }

    /// So many MPDUs arrive without error, the first of which is [expected](Window::expected).
    #[inline]
    pub fn receive_run(&mut self, count: u64, chain: &Chain, released: &mut Released) {
        let to = self.to;
        let first = self.place(self.released);
        #[allow(clippy::cast_possible_truncation)]
        let count = count as usize;
        let around = (first + count).saturating_sub(self.ring.len());
        for places in [first..first + count - around, 0..around] {
            for mpdu in &mut self.ring[places] {
                mpdu.state |= RECEIVED;
                mpdu.hand_up(to, chain, released);
            }
        }
        self.released += count as u64;
        self.blocked_since = None;
    }

    /// An MPDU has arrived that is not the next, or behind which others wait.
    fn hold(&mut self, now: Time, number: u64, chain: &Chain, released: &mut Released) {
        if number < self.released {
            let mpdu = self.mpdu_mut(number);
            mpdu.state |= LATE;
            released.lost.extend(chain.of(mpdu));
            return;
        }
        self.buffered += 1;
        if number >= self.released + self.size {
            self.pass_over(now, number - self.size + 1, chain, released); // 10.24.7.6.2
        }
    }

    /// A broadcast has been handed up by those who received it.
    pub fn receive_broadcast(&mut self, number: u64) {
        self.mpdu_mut(number).state |= RECEIVED;
        self.released = number + 1;
    }

    /// The recipient hands up what is in order.
    #[inline]
    pub fn hand_up(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        if self.buffered == 0 {
            self.blocked_since = None;
            return;
        }
        self.hand_up_held(now, chain, released);
    }

    fn hand_up_held(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        while self.buffered > 0 && self.released < self.next {
            let mpdu = self.mpdu(self.released);
            if !mpdu.is_received() {
                break;
            }
            let held = (now - mpdu.received_at) * u64::from(mpdu.packets);
            mpdu.hand_up(self.to, chain, released);
            self.reorder_delay += held;
            self.released += 1;
            self.buffered -= 1;
        }
        self.blocked_since = self.first_held().map(|number| self.mpdu(number).received_at);
    }

    /// The first MPDU that the recipient holds behind a gap.
    fn first_held(&self) -> Option<u64> {
        let is_held = |number: &u64| self.mpdu(*number).is_received();
        if self.buffered > 0 { (self.released..self.next).find(is_held) } else { None }
    }

    /// The recipient passes over whatever it lacks before `number`.
    fn pass_over(&mut self, now: Time, number: u64, chain: &Chain, released: &mut Released) {
        for earlier in self.released..number.min(self.next) {
            let mpdu = self.mpdu(earlier);
            if mpdu.is_received() {
                let held = (now - mpdu.received_at) * u64::from(mpdu.packets);
                mpdu.hand_up(self.to, chain, released);
                self.reorder_delay += held;
                self.buffered -= 1;
            }
        }
        self.released = self.released.max(number);
    }

    /// A BlockAckReq arrives: nothing before the originator's window will come any more (10.24.7.6.3).
    pub fn request(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        self.request_due = false;
        self.pass_over(now, self.origin, chain, released);
        self.hand_up(now, chain, released);
        self.trim();
    }

    /// Since when the recipient holds the first MPDU behind a gap, if it holds any.
    pub const fn blocked_since(&self) -> Option<Time> {
        self.blocked_since
    }

    /// The recipient has waited long enough for what it lacks.
    pub fn time_out(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        self.pass_over(now, self.first_held().unwrap_or(self.released), chain, released);
        self.hand_up(now, chain, released);
        self.trim();
    }

    /// The originator learns that an MPDU has arrived.
    #[inline]
    pub fn acknowledge(&mut self, number: u64) {
        let mpdu = self.mpdu_mut(number);
        if mpdu.is_pending() {
            mpdu.state |= ACKNOWLEDGED;
            let packets = usize::from(mpdu.packets);
            self.pending -= 1;
            self.pending_packets -= packets;
        }
    }

    /// The originator learns that all it has to send have arrived. How many MPDUs that were.
    #[inline]
    pub fn acknowledge_all(&mut self) -> u64 {
        self.origin = self.next;
        self.pending_packets = 0;
        std::mem::take(&mut self.pending) as u64
    }

    /// The originator gives up an MPDU; whether it had it still to send. Its packets are `lost` if the recipient has
    /// not got them.
    pub fn discard(&mut self, number: u64, chain: &Chain, lost: &mut Vec<PacketId>) -> bool {
        let mpdu = self.mpdu_mut(number);
        if !mpdu.is_pending() {
            return false;
        }
        mpdu.state |= DISCARDED;
        self.gave_up = true;
        let mpdu = self.mpdu(number);
        if !mpdu.is_received() {
            lost.extend(chain.of(mpdu));
        }
        self.pending_packets -= usize::from(mpdu.packets);
        self.pending -= 1;
        true
    }

    /// Moves the originator's window past what it is done with. A recipient that waits for an MPDU that was given up
    /// must be told.
    pub fn advance(&mut self) {
        while self.origin < self.next && !self.mpdu(self.origin).is_pending() {
            self.origin += 1;
        }
        if !self.block_ack {
            self.released = self.released.max(self.origin);
        } else if std::mem::take(&mut self.gave_up) {
            self.request_due |= self.released < self.origin;
        }
        self.trim();
    }

    /// Forgets what both ends are done with.
    fn trim(&mut self) {
        self.start = self.start.max(self.origin.min(self.released));
    }

    /// Time that packets handed up since the last call have waited for others before them.
    pub fn take_reorder_delay(&mut self) -> Duration {
        std::mem::take(&mut self.reorder_delay)
    }

    /// Packets in MPDUs that are neither acknowledged nor given up.
    pub const fn packets_pending(&self) -> usize {
        self.pending_packets
    }

    /// Packets that the originator or the recipient holds.
    pub fn packets_held(&self) -> usize {
        let held = |number| {
            let mpdu = self.mpdu(number);
            let is_up = mpdu.has(RECEIVED) && number < self.released;
            let is_lost = mpdu.has(DISCARDED) && !mpdu.has(RECEIVED);
            if is_up || is_lost { 0 } else { usize::from(mpdu.packets) }
        };
        (self.start..self.next).map(held).sum()
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::{Packet, Packets};

    use super::*;

    /// Of MPDUs 0 to 6 the recipient gets 1 at 0 ms, 4 at 20 ms, 6 at 30 ms, 0 at 60 ms, 3 at 70 ms, and never 2 and 5.
    /// It waits 100 ms by the first MPDU that it holds behind a gap, as mac80211 does: for 2 by 3, until 170 ms, and
    /// then no longer for 5, by 6.
    #[test]
    fn the_first_mpdu_held_behind_a_gap_has_the_clock() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let (chain, mut released, mut packets) = (Chain::default(), Released::default(), Packets::default());
        let mut window = Window::new(0, 64, true);
        for _ in 0..7 {
            window.push(Mpdu::new(packets.insert(Packet::default()), 1538, Time::NEVER));
        }
        let mut blocked = vec![];
        for (ms, number) in [(0, 1), (20, 4), (30, 6), (60, 0), (70, 3)] {
            window.receive(at(ms), number, &chain, &mut released);
            window.hand_up(at(ms), &chain, &mut released);
            blocked.push(window.blocked_since());
        }
        assert_eq!(blocked, [at(0), at(0), at(0), at(20), at(70)].map(Some));
        assert_eq!(released.up.rest().len(), 2);
        window.time_out(at(170), &chain, &mut released);
        assert_eq!(released.up.rest().len(), 4);
        assert_eq!(window.blocked_since(), Some(at(30)));
        window.time_out(at(170), &chain, &mut released);
        assert_eq!((released.up.rest().len(), window.blocked_since()), (5, None));
    }
}
