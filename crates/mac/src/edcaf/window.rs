//! MPDUs between one sender and one receiver in one category: outstanding, acknowledged, and passed up in order.
//!
//! The originator's window of sequence numbers and the recipient's reordering buffer (IEEE Std 802.11-2016, 10.24.7)
//! share one list, because the simulation knows both ends: an MPDU is removed when the originator has finished with it
//! and the recipient has passed it up or skipped it. Sequence numbers are not reduced modulo 4096.

use wifair_packet::{PacketId, entry};
use wifair_units::{Duration, Time};

use super::agreement::Agreement;
use super::released::Released;

/// Header of a subframe of an A-MSDU: addresses and length, in bytes (IEEE Std 802.11-2016, 9.3.2.2.2).
const SUBFRAME_HEADER: u64 = 14;

/// The recipient has received it.
const RECEIVED: u8 = 1;
/// The originator knows that it was received.
const ACKNOWLEDGED: u8 = 2;
/// The originator has given it up.
const DISCARDED: u8 = 4;
/// The recipient had already skipped it when it arrived.
const LATE: u8 = 8;

/// Linked lists of the packets in A-MSDUs, by packet number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain(Vec<Option<PacketId>>);

impl Chain {
    /// Makes `next` follow `id`.
    pub fn link(&mut self, id: PacketId, next: PacketId) {
        *entry(&mut self.0, id.index()) = Some(next);
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
    /// Its packet, or the first packet of its A-MSDU.
    pub first: PacketId,
    /// The last packet.
    pub last: PacketId,
    /// Number of packets.
    pub packets: u8,
    /// Number of attempts.
    pub attempts: u8,
    /// Number of times it was not sent because the RTS got no CTS.
    pub rts_failures: u8,
    state: u8,
    /// Length from the MAC header to the FCS, in bytes.
    pub length: u32,
    /// When the originator gives it up.
    pub expires: Time,
    /// When the recipient received it.
    received_at: Time,
}

impl Mpdu {
    /// An MPDU that has not been sent.
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

    /// Passes up its packets to the station `to`.
    #[inline]
    fn pass_up(&self, to: u32, chain: &Chain, released: &mut Released) {
        if self.packets == 1 {
            released.up.push(to, self.first);
        } else {
            chain.of(self).for_each(|id| released.up.push(to, id));
        }
    }

    const fn has(&self, state: u8) -> bool {
        self.state & state != 0
    }

    /// Whether the originator still has to send it, for the first time or again.
    pub const fn is_pending(&self) -> bool {
        !self.has(ACKNOWLEDGED | DISCARDED)
    }

    /// Whether the recipient has received it.
    pub const fn is_received(&self) -> bool {
        self.has(RECEIVED)
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct SendWindow {
    /// The receiver.
    pub to: u32,
    /// Maximum number of outstanding MPDUs.
    size: u64,
    /// Whether block ACK is used; otherwise MPDUs are sent and acknowledged one by one.
    block_ack: bool,
    /// State of the block ACK agreement; without an agreement MPDUs are sent one by one.
    pub agreement: Agreement,
    /// When the recipient last received data or a request.
    pub used_at: Time,
    /// The MPDUs from `start` to `next`, indexed by the low bits of the sequence number; its length is a power of two.
    ring: Vec<Mpdu>,
    /// The first sequence number that either end still needs.
    start: u64,
    /// The next sequence number to be assigned.
    next: u64,
    /// The originator's `WinStartO`: all earlier MPDUs are acknowledged or given up.
    origin: u64,
    /// The recipient's `WinStartB`: all earlier MPDUs were passed up or skipped.
    released: u64,
    /// Number of MPDUs neither acknowledged nor given up, and of packets in them.
    pending: usize,
    pending_packets: usize,
    /// Whether any MPDU so far was an A-MSDU.
    has_msdus: bool,
    /// Whether an MPDU was given up since the window last moved.
    gave_up: bool,
    /// Whether a BlockAckReq is due: the recipient waits for an MPDU that was given up, or a block ACK is missing.
    pub request_due: bool,
    /// When a block ACK for MPDUs sent for the first time was last missed, unless a response has come since.
    pub missed_since: Option<Time>,
    /// Number of MPDUs that the recipient holds behind a gap, and since when it has held the first of them.
    buffered: usize,
    blocked_since: Option<Time>,
    /// Time that packets passed up have waited for others, not yet collected by [`SendWindow::take_reorder_delay`].
    reorder_delay: Duration,
}

impl SendWindow {
    /// A window towards `to` for `size` outstanding MPDUs.
    pub fn new(to: u32, size: u16, block_ack: bool) -> Self {
        Self {
            to,
            size: u64::from(size),
            block_ack,
            agreement: Agreement::Established,
            used_at: Time::ZERO,
            ring: vec![],
            start: 0,
            next: 0,
            origin: 0,
            released: 0,
            pending: 0,
            pending_packets: 0,
            has_msdus: false,
            gave_up: false,
            request_due: false,
            missed_since: None,
            buffered: 0,
            blocked_since: None,
            reorder_delay: Duration::ZERO,
        }
    }

    /// Whether MPDUs are acknowledged by block ACK, and put in order by the recipient.
    const fn has_block_ack(&self) -> bool {
        self.block_ack && matches!(self.agreement, Agreement::Established)
    }

    /// Ends the agreement. The recipient passes up all that it holds, and no longer waits for earlier MPDUs (10.24.5).
    pub fn end_agreement(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        self.agreement = Agreement::Needed(now);
        self.request_due = false;
        self.missed_since = None;
        let held_until = (self.released..self.next).rfind(|number| self.mpdu(*number).is_received());
        self.pass_over(now, held_until.map_or(self.origin, |last| self.origin.max(last + 1)), chain, released);
        self.pass_up(now, chain, released);
        self.trim();
    }

    /// Until when the originator waits for the agreement that it has requested.
    #[inline]
    pub fn agreement_wait(&self, now: Time) -> Option<Time> {
        match self.agreement {
            Agreement::Requested(until) if until > now => Some(until),
            _ => None,
        }
    }

    /// The next sequence number to be assigned.
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The first sequence number that the originator still needs.
    #[inline]
    pub const fn origin(&self) -> u64 {
        self.origin
    }

    /// Whether there is room for another MPDU.
    #[inline]
    pub const fn has_room(&self) -> bool {
        self.next < self.origin + self.size
    }

    /// Number of MPDUs to send, for the first time or again.
    pub const fn pending(&self) -> usize {
        self.pending
    }

    /// Adds a new MPDU.
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

    /// Number of further MPDUs for which there is room.
    #[inline]
    pub const fn room(&self) -> u64 {
        (self.origin + self.size).saturating_sub(self.next)
    }

    /// Adds new MPDUs of one packet each, with the length of the last MPDU, first sent together with it.
    #[inline]
    pub fn push_together(&mut self, ids: &[PacketId]) {
        let mut mpdu = *self.mpdu(self.next - 1);
        while self.next + ids.len() as u64 - self.start > self.ring.len() as u64 {
            self.grow(mpdu);
        }
        let [places, around] = self.places(self.next, ids.len());
        let (before, behind) = ids.split_at(places.len());
        for (places, ids) in [(places, before), (around, behind)] {
            for (place, id) in self.ring[places].iter_mut().zip(ids) {
                (mpdu.first, mpdu.last) = (*id, *id);
                *place = mpdu;
            }
        }
        self.next += ids.len() as u64;
        self.pending += ids.len();
        self.pending_packets += ids.len();
    }

    /// Doubles the size of the ring; `filler` fills new entries.
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

    /// Sequence number of the last MPDU, if it was never part of a PPDU and can be extended.
    fn last_unsent(&self) -> Option<u64> {
        let last = (self.next > self.start).then(|| self.next - 1)?;
        let mpdu = self.mpdu(last);
        let is_new = mpdu.attempts == 0 && mpdu.rts_failures == 0;
        (is_new && mpdu.packets < u8::MAX && mpdu.is_pending()).then_some(last)
    }

    /// Maximum length, LLC header included, of a packet that [`SendWindow::append`] can add to the last MPDU.
    pub fn room_in_last(&self, overhead: u64, longest: u64) -> u64 {
        let Some(last) = self.last_unsent().map(|last| self.mpdu(last)) else { return 0 };
        let alone = u64::from(last.packets == 1) * SUBFRAME_HEADER;
        let body = (u64::from(last.length) - overhead + alone).next_multiple_of(4) + SUBFRAME_HEADER;
        longest.saturating_sub(body)
    }

    /// Appends a packet of `msdu` bytes, LLC header included, to the last MPDU, which becomes an A-MSDU. Returns false
    /// if that MPDU was already sent, or if the A-MSDU would exceed `longest`. `overhead` is the length of MAC header
    /// and FCS.
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
        self.has_msdus = true;
        true
    }

    /// Whether any MPDU so far was an A-MSDU.
    pub const fn has_msdus(&self) -> bool {
        self.has_msdus
    }

    /// Tells the originator which MPDUs the recipient has received; returns the number of MPDUs newly acknowledged.
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

    /// The MPDU with this sequence number, mutable.
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

    /// Positions in the ring of `count` MPDUs from this sequence number on, as two ranges.
    #[inline]
    fn places(&self, number: u64, count: usize) -> [std::ops::Range<usize>; 2] {
        let first = self.place(number);
        let around = (first + count).saturating_sub(self.ring.len());
        [first..first + count - around, 0..around]
    }

    /// Counts another attempt at `count` MPDUs from this sequence number on; returns how many were sent before.
    #[inline]
    pub fn attempt_again(&mut self, number: u64, count: usize) -> u64 {
        let mut sent_before = 0;
        for places in self.places(number, count) {
            for mpdu in &mut self.ring[places] {
                sent_before += u64::from(mpdu.attempts > 0);
                mpdu.attempts = mpdu.attempts.saturating_add(1);
            }
        }
        sent_before
    }

    /// Whether it holds no MPDU, and neither end waits for anything.
    #[inline]
    pub fn is_unused(&self) -> bool {
        let is_quiet = !self.request_due && self.missed_since.is_none() && self.blocked_since.is_none();
        self.start == self.next && is_quiet && self.agreement == Agreement::Established
    }

    /// Advances an unused window by `count` sequence numbers whose MPDUs were received and acknowledged.
    #[inline]
    pub fn pass(&mut self, count: u64) {
        self.next += count;
        (self.start, self.origin, self.released) = (self.next, self.next, self.next);
    }

    /// Sequence number of the first pending MPDU.
    pub fn first_pending(&self) -> Option<u64> {
        (self.origin..self.next).find(|number| self.mpdu(*number).is_pending())
    }

    /// The recipient receives an MPDU; [`SendWindow::pass_up`] must follow after all MPDUs of the PPDU.
    #[inline]
    pub fn receive(&mut self, now: Time, number: u64, chain: &Chain, released: &mut Released) {
        let (is_next, is_alone, to) = (number == self.released, self.buffered == 0, self.to);
        let mpdu = self.mpdu_mut(number);
        if mpdu.is_received() {
            return;
        }
        mpdu.state |= RECEIVED;
        if is_next && is_alone {
            mpdu.pass_up(to, chain, released);
            self.released += 1;
        } else {
            mpdu.received_at = now;
            self.hold(now, number, chain, released);
        }
    }

    /// The sequence number that the recipient waits for, if it holds nothing and has not skipped that MPDU.
    pub fn expected(&self) -> Option<u64> {
        (self.buffered == 0).then_some(self.released)
    }

    /// The recipient receives `count` consecutive MPDUs, starting with the [expected](SendWindow::expected) one.
    #[inline]
    pub fn receive_run(&mut self, count: u64, chain: &Chain, released: &mut Released) {
        let to = self.to;
        #[allow(clippy::cast_possible_truncation)]
        for places in self.places(self.released, count as usize) {
            let mpdus = &mut self.ring[places];
            if self.has_msdus {
                for mpdu in mpdus {
                    mpdu.state |= RECEIVED;
                    mpdu.pass_up(to, chain, released);
                }
            } else {
                released.up.push_all(mpdus.iter_mut().map(|mpdu| {
                    mpdu.state |= RECEIVED;
                    (to, mpdu.first)
                }));
            }
        }
        self.released += count;
        self.blocked_since = None;
    }

    /// The recipient receives an MPDU out of order, or one behind which others are held.
    fn hold(&mut self, now: Time, number: u64, chain: &Chain, released: &mut Released) {
        if number < self.released {
            let (has_block_ack, to) = (self.has_block_ack(), self.to);
            let mpdu = self.mpdu_mut(number);
            if has_block_ack {
                mpdu.state |= LATE;
                released.late.extend(chain.of(mpdu));
            } else {
                mpdu.pass_up(to, chain, released); // an agreement has ended without it
            }
            return;
        }
        self.buffered += 1;
        if number >= self.released + self.size {
            self.pass_over(now, number - self.size + 1, chain, released); // 10.24.7.6.2
        }
    }

    /// Passes up a broadcast at its receivers.
    pub fn receive_broadcast(&mut self, number: u64) {
        self.mpdu_mut(number).state |= RECEIVED;
        self.released = number + 1;
    }

    /// Passes up the MPDUs that are in order.
    #[inline]
    pub fn pass_up(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        if self.buffered == 0 {
            self.blocked_since = None;
            return;
        }
        self.pass_up_held(now, chain, released);
    }

    fn pass_up_held(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        while self.buffered > 0 && self.released < self.next {
            let mpdu = self.mpdu(self.released);
            if !mpdu.is_received() {
                break;
            }
            let held = (now - mpdu.received_at) * u64::from(mpdu.packets);
            mpdu.pass_up(self.to, chain, released);
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

    /// Lets the recipient skip missing MPDUs before `number`.
    fn pass_over(&mut self, now: Time, number: u64, chain: &Chain, released: &mut Released) {
        for earlier in self.released..number.min(self.next) {
            let mpdu = self.mpdu(earlier);
            if mpdu.is_received() {
                let held = (now - mpdu.received_at) * u64::from(mpdu.packets);
                mpdu.pass_up(self.to, chain, released);
                self.reorder_delay += held;
                self.buffered -= 1;
            }
        }
        self.released = self.released.max(number);
    }

    /// The recipient receives a BlockAckReq: no MPDU before the originator's window will come any more (10.24.7.6.3).
    pub fn request(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        self.request_due = false;
        self.pass_over(now, self.origin, chain, released);
        self.pass_up(now, chain, released);
        self.trim();
    }

    /// Since when the recipient has held the first MPDU behind a gap, if it holds any.
    pub const fn blocked_since(&self) -> Option<Time> {
        self.blocked_since
    }

    /// Lets the recipient skip the first gap after its timeout.
    pub fn time_out(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        self.pass_over(now, self.first_held().unwrap_or(self.released), chain, released);
        self.pass_up(now, chain, released);
        self.trim();
    }

    /// Acknowledges an MPDU at the originator.
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

    /// Acknowledges all pending MPDUs; returns their number.
    #[inline]
    pub fn acknowledge_all(&mut self) -> u64 {
        self.origin = self.next;
        self.pending_packets = 0;
        std::mem::take(&mut self.pending) as u64
    }

    /// Gives up an MPDU at the originator; returns whether it was still pending. Its packets are appended to `lost`
    /// unless the recipient has received them.
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

    /// Advances the originator's window. If the recipient waits for an MPDU that was given up, a BlockAckReq becomes
    /// due; without block ACK no recipient waits.
    pub fn advance(&mut self) {
        while self.origin < self.next && !self.mpdu(self.origin).is_pending() {
            self.origin += 1;
        }
        if !self.has_block_ack() && self.buffered == 0 {
            self.released = self.released.max(self.origin);
            self.gave_up = false;
        } else if std::mem::take(&mut self.gave_up) {
            self.request_due |= self.released < self.origin;
        }
        self.trim();
    }

    /// Removes MPDUs that neither end needs.
    fn trim(&mut self) {
        self.start = self.start.max(self.origin.min(self.released));
    }

    /// Returns and resets the time that packets passed up have waited for earlier ones.
    pub fn take_reorder_delay(&mut self) -> Duration {
        std::mem::take(&mut self.reorder_delay)
    }

    /// Number of packets in MPDUs that are neither acknowledged nor given up.
    pub const fn packets_pending(&self) -> usize {
        self.pending_packets
    }

    /// Number of packets held by the originator or the recipient.
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

    /// The recipient receives MPDU 1 at 0 ms, 4 at 20 ms, 6 at 30 ms, 0 at 60 ms, 3 at 70 ms, and never 2 and 5. As in
    /// mac80211, the timeout of 100 ms counts from the arrival of the first MPDU held behind a gap: for the gap at 2
    /// that is MPDU 3, so the recipient waits until 170 ms. For the gap at 5 it is MPDU 6, whose timeout has then
    /// passed.
    #[test]
    fn the_timeout_counts_from_the_first_mpdu_held_behind_a_gap() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let (chain, mut released, mut packets) = (Chain::default(), Released::default(), Packets::default());
        let mut window = SendWindow::new(0, 64, true);
        for _ in 0..7 {
            window.push(Mpdu::new(packets.insert(Packet::default()), 1538, Time::NEVER));
        }
        let mut blocked = vec![];
        for (ms, number) in [(0, 1), (20, 4), (30, 6), (60, 0), (70, 3)] {
            window.receive(at(ms), number, &chain, &mut released);
            window.pass_up(at(ms), &chain, &mut released);
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

    /// A-MSDU subframes have a header of 14 bytes, and all but the last are padded to multiples of 4 (9.3.2.2.2).
    /// Packets of 108 and x bytes make an A-MSDU of 14 + 108 + 2 + 14 + x bytes, so x is at most 3701 in 3839. MAC
    /// header and FCS, 30 bytes here, do not count.
    #[test]
    fn an_a_msdu_has_room_for_what_can_be_appended() {
        for (second, fits) in [(3701, true), (3702, false)] {
            let (mut chain, mut packets) = (Chain::default(), Packets::default());
            let mut window = SendWindow::new(0, 64, true);
            assert_eq!(window.room_in_last(30, 3839), 0, "no MPDU");
            window.push(Mpdu::new(packets.insert(Packet::default()), 30 + 108, Time::NEVER));
            assert_eq!(window.room_in_last(30, 3839), 3701);
            let id = packets.insert(Packet::default());
            assert_eq!(window.append(id, second, 30, 3839, &mut chain), fits);
        }
        let (mut chain, mut packets) = (Chain::default(), Packets::default());
        let mut window = SendWindow::new(0, 64, true);
        window.push(Mpdu::new(packets.insert(Packet::default()), 30 + 108, Time::NEVER));
        assert!(window.append(packets.insert(Packet::default()), 1001, 30, 3839, &mut chain));
        // 124 + 14 + 1001 + 1 of padding + 14 + 2685
        assert_eq!(window.room_in_last(30, 3839), 2685);
    }

    /// A broadcast has no ACK: its receivers pass it up when they get it, and nobody holds it any longer.
    #[test]
    fn nobody_holds_a_broadcast_that_was_received() {
        let mut packets = Packets::default();
        let mut window = SendWindow::new(wifair_packet::BROADCAST, 64, false);
        for number in 0..2 {
            window.push(Mpdu::new(packets.insert(Packet::default()), 138, Time::NEVER));
            assert_eq!(window.packets_held(), 1);
            window.receive_broadcast(number);
            assert_eq!(window.packets_held(), 0);
        }
    }
}
