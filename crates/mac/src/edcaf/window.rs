//! MPDUs between one sender and one receiver of one category: what is on its way, acknowledged, and handed up in order.
//!
//! The originator's window of sequence numbers and the recipient's reordering buffer (IEEE Std 802.11-2016, 10.24.7)
//! are one list here, for both ends are known: an MPDU leaves it when the originator is done with it and the recipient
//! has handed it up or passed over it. Sequence numbers are not reduced modulo 4096.

use std::collections::VecDeque;

use wifair_packet::PacketId;
use wifair_units::{Duration, Time};

use super::settings::Aggregation;

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
    fn of(&self, mpdu: &Mpdu) -> impl Iterator<Item = PacketId> + '_ {
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
    pub packets: u16,
    /// How often it was sent.
    pub attempts: u8,
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
        Self { first, last: first, packets: 1, attempts: 0, state: 0, length, expires, received_at: Time::ZERO }
    }

    const fn has(&self, state: u8) -> bool {
        self.state & state != 0
    }

    /// Whether the originator has yet to send it, for the first time or again.
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
    mpdus: VecDeque<Mpdu>,
    /// Sequence number of the first of `mpdus`.
    start: u64,
    /// The originator's `WinStartO`: all before are acknowledged or given up.
    origin: u64,
    /// The recipient's `WinStartB`: all before were handed up or passed over.
    released: u64,
    /// MPDUs that are neither acknowledged nor given up.
    pending: usize,
    /// An MPDU was given up since the window moved last.
    gave_up: bool,
    /// A BlockAckReq is due: the recipient waits for an MPDU that was given up, or the originator wants to know.
    pub request_due: bool,
    /// MPDUs that the recipient holds behind a gap, and since when.
    buffered: usize,
    blocked_since: Option<Time>,
    /// Time that packets handed up have waited for others, and that was not yet taken note of.
    reorder_delay: Duration,
}

/// What comes out of a window: packets handed up, with their receiver, and packets lost.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released {
    /// Packets that the recipient hands up, in order.
    pub up: VecDeque<(u32, PacketId)>,
    /// Packets that nobody will get.
    pub lost: Vec<PacketId>,
}

impl Window {
    /// Towards `to`, for `size` outstanding MPDUs.
    pub fn new(to: u32, size: u16, block_ack: bool) -> Self {
        Self {
            to,
            size: u64::from(size),
            block_ack,
            mpdus: VecDeque::new(),
            start: 0,
            origin: 0,
            released: 0,
            pending: 0,
            gave_up: false,
            request_due: false,
            buffered: 0,
            blocked_since: None,
            reorder_delay: Duration::ZERO,
        }
    }

    /// The sequence number that is used next.
    pub fn next(&self) -> u64 {
        self.start + self.mpdus.len() as u64
    }

    /// The first sequence number that the originator still cares for.
    pub const fn origin(&self) -> u64 {
        self.origin
    }

    /// Whether a new MPDU fits into the window.
    pub fn has_room(&self) -> bool {
        self.next() < self.origin + self.size
    }

    /// MPDUs to send, for the first time or again.
    pub const fn pending(&self) -> usize {
        self.pending
    }

    /// Takes in a new MPDU.
    pub fn push(&mut self, mpdu: Mpdu) -> u64 {
        debug_assert!(self.has_room(), "a sequence number beyond the window");
        self.pending += 1;
        self.mpdus.push_back(mpdu);
        self.next() - 1
    }

    /// How long a packet with its LLC header may be that the last MPDU can take in: see [`Window::append`].
    pub fn room_in_last(&self, overhead: u64, rules: &Aggregation) -> u64 {
        let Some(last) = self.mpdus.back().filter(|last| last.attempts == 0 && last.is_pending()) else { return 0 };
        let alone = u64::from(last.packets == 1) * SUBFRAME_HEADER;
        let body = (u64::from(last.length) - overhead + alone).next_multiple_of(4) + SUBFRAME_HEADER;
        rules.max_amsdu.0.min(rules.max_mpdu.0.saturating_sub(overhead)).saturating_sub(body)
    }

    /// Appends a packet that is `msdu` bytes long with its LLC header to the last MPDU, which becomes an A-MSDU;
    /// whether it could, for that MPDU was never sent and is short enough. `overhead`: MAC header and FCS.
    pub fn append(&mut self, id: PacketId, msdu: u64, overhead: u64, rules: &Aggregation, chain: &mut Chain) -> bool {
        let Some(last) = self.mpdus.back_mut().filter(|last| last.attempts == 0 && last.is_pending()) else {
            return false;
        };
        let alone = u64::from(last.packets == 1) * SUBFRAME_HEADER;
        let body = u64::from(last.length) - overhead + alone;
        let longer = body.next_multiple_of(4) + SUBFRAME_HEADER + msdu;
        if longer > rules.max_amsdu.0 || longer + overhead > rules.max_mpdu.0 {
            return false;
        }
        chain.link(last.last, id);
        last.last = id;
        last.packets += 1;
        last.length = u32::try_from(longer + overhead).expect("MPDUs are short");
        true
    }

    /// The originator learns what the recipient has. How many MPDUs that were.
    pub fn acknowledge_received(&mut self) -> u64 {
        let numbers = self.origin..self.next();
        let received = numbers.filter(|number| self.mpdu(*number).is_pending() && self.mpdu(*number).is_received());
        let received: Vec<u64> = received.collect();
        for number in &received {
            self.acknowledge(*number);
        }
        received.len() as u64
    }

    /// The MPDU with this sequence number.
    pub fn mpdu(&self, number: u64) -> &Mpdu {
        &self.mpdus[self.place(number)]
    }

    /// The same, to be changed.
    pub fn mpdu_mut(&mut self, number: u64) -> &mut Mpdu {
        let place = self.place(number);
        &mut self.mpdus[place]
    }

    #[allow(clippy::cast_possible_truncation)]
    const fn place(&self, number: u64) -> usize {
        (number - self.start) as usize
    }

    /// The first pending MPDU.
    pub fn first_pending(&self) -> Option<u64> {
        (self.origin..self.next()).find(|number| self.mpdu(*number).is_pending())
    }

    /// An MPDU arrives at the recipient without error; [`Window::hand_up`] follows when all of its PPDU have.
    pub fn receive(&mut self, now: Time, number: u64, chain: &Chain, released: &mut Released) {
        if self.mpdu(number).is_received() {
            return;
        }
        let is_late = number < self.released;
        let mpdu = self.mpdu_mut(number);
        mpdu.state |= RECEIVED;
        mpdu.received_at = now;
        if is_late {
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
    pub fn hand_up(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        let end = self.next();
        while self.buffered > 0 && self.released < end {
            let mpdu = &self.mpdus[self.place(self.released)];
            if !mpdu.has(RECEIVED) {
                break;
            }
            if mpdu.received_at < now {
                self.reorder_delay += (now - mpdu.received_at) * u64::from(mpdu.packets);
            }
            if mpdu.packets == 1 {
                released.up.push_back((self.to, mpdu.first));
            } else {
                released.up.extend(chain.of(mpdu).map(|id| (self.to, id)));
            }
            self.released += 1;
            self.buffered -= 1;
        }
        self.blocked_since = (self.buffered > 0).then(|| self.blocked_since.unwrap_or(now));
    }

    /// The recipient passes over whatever it lacks before `number`.
    fn pass_over(&mut self, now: Time, number: u64, chain: &Chain, released: &mut Released) {
        for earlier in self.released..number.min(self.next()) {
            let mpdu = &self.mpdus[self.place(earlier)];
            if mpdu.has(RECEIVED) {
                self.reorder_delay += (now - mpdu.received_at) * u64::from(mpdu.packets);
                released.up.extend(chain.of(mpdu).map(|id| (self.to, id)));
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

    /// Since when the recipient holds MPDUs behind a gap, if it does.
    pub const fn blocked_since(&self) -> Option<Time> {
        self.blocked_since
    }

    /// The recipient has waited long enough for what it lacks.
    pub fn time_out(&mut self, now: Time, chain: &Chain, released: &mut Released) {
        let found = (self.released..self.next()).find(|number| self.mpdu(*number).is_received());
        self.blocked_since = None;
        self.pass_over(now, found.unwrap_or(self.released), chain, released);
        self.hand_up(now, chain, released);
        self.trim();
    }

    /// The originator learns that an MPDU has arrived.
    pub fn acknowledge(&mut self, number: u64) {
        let mpdu = self.mpdu_mut(number);
        if mpdu.is_pending() {
            mpdu.state |= ACKNOWLEDGED;
            self.pending -= 1;
        }
    }

    /// The originator gives up an MPDU.
    pub fn discard(&mut self, number: u64, chain: &Chain, released: &mut Released) {
        let mpdu = self.mpdu_mut(number);
        if !mpdu.is_pending() {
            return;
        }
        mpdu.state |= DISCARDED;
        self.gave_up = true;
        let mpdu = &self.mpdus[self.place(number)];
        if !mpdu.is_received() {
            released.lost.extend(chain.of(mpdu));
        }
        self.pending -= 1;
    }

    /// Moves the originator's window past what it is done with. A recipient that waits for an MPDU that was given up
    /// must be told.
    pub fn advance(&mut self) {
        while self.origin < self.next() && !self.mpdu(self.origin).is_pending() {
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
        let done = self.origin.min(self.released);
        while self.start < done {
            self.mpdus.pop_front();
            self.start += 1;
        }
    }

    /// Time that packets handed up since the last call have waited for others before them.
    pub fn take_reorder_delay(&mut self) -> Duration {
        std::mem::take(&mut self.reorder_delay)
    }

    /// Packets in MPDUs that are neither acknowledged nor given up.
    pub fn packets_pending(&self) -> usize {
        self.mpdus.iter().filter(|mpdu| mpdu.is_pending()).map(|mpdu| usize::from(mpdu.packets)).sum()
    }

    /// Packets that the originator or the recipient holds.
    pub fn packets_held(&self) -> usize {
        let held = |(number, mpdu): (u64, &Mpdu)| {
            let is_up = mpdu.has(RECEIVED) && number < self.released;
            let is_lost = mpdu.has(DISCARDED) && !mpdu.has(RECEIVED);
            if is_up || is_lost { 0 } else { usize::from(mpdu.packets) }
        };
        (self.start..).zip(&self.mpdus).map(held).sum()
    }
}
