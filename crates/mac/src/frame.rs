//! PPDUs and their users.
//!
//! A PPDU has at least one user: a receiver with its own MPDUs, resource unit, mode, and way to be acknowledged. If it
//! has one, that user has the whole channel; the user of a broadcast stands for all stations.

use wifair_packet::{Packet, PacketId, Packets};
use wifair_phy::{ChannelWidth, ResourceUnit};
use wifair_units::{BitRate, Bytes, Duration, Time};

use crate::exchange::{AckPolicy, ExchangeFrame, Protection, Purpose, sequence};
use crate::interpreter::Exchange;
use crate::psdu_builder::BuildState;
use crate::{Access, BROADCAST};

/// An MPDU in a PPDU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PpduMpdu {
    /// Its sequence number.
    pub number: u64,
    /// End of the MPDU in the PSDU, in bytes.
    pub end: u64,
    /// Whether it is lost to an error or a collision.
    pub is_lost: bool,
}

/// What a PPDU carries to one receiver.
#[derive(Clone, Debug)]
pub(crate) struct PpduUser {
    /// The receiver, or [`BROADCAST`].
    pub station: u32,
    /// Its part of the channel; `None` for all of it.
    pub unit: Option<ResourceUnit>,
    /// Rate of its data, if different from that between the two stations.
    pub rate: Option<BitRate>,
    /// The first packet.
    pub first: PacketId,
    pub mpdus: Vec<PpduMpdu>,
    /// Highest number of attempts among its MPDUs, and the earliest expiry.
    pub most_attempts: u8,
    pub expires: Time,
    /// Length of the PSDU.
    pub psdu: Bytes,
    pub lost: usize,
    /// How it is acknowledged.
    pub ack_policy: AckPolicy,
    /// Air time of its response.
    pub response: Duration,
}

impl Default for PpduUser {
    fn default() -> Self {
        Self {
            station: BROADCAST,
            unit: None,
            rate: None,
            first: Packets::default().insert(Packet::default()),
            mpdus: vec![],
            most_attempts: 0,
            expires: Time::NEVER,
            psdu: Bytes(0),
            lost: 0,
            ack_policy: AckPolicy::None,
            response: Duration::ZERO,
        }
    }
}

impl PpduUser {
    /// Begins its part anew, without MPDUs.
    fn begin(&mut self, station: u32, ack_policy: AckPolicy) {
        self.station = station;
        self.ack_policy = ack_policy;
        self.unit = None;
        self.mpdus.clear();
        self.most_attempts = 0;
        self.expires = Time::NEVER;
        self.psdu = Bytes(0);
        self.rate = None;
        self.lost = 0;
    }

    /// Whether it stands for all stations.
    #[inline]
    pub const fn is_broadcast(&self) -> bool {
        self.station == BROADCAST
    }

    /// Sequence numbers of the MPDUs that are received.
    pub fn read(&self) -> impl Iterator<Item = u64> {
        self.mpdus.iter().filter(|mpdu| !mpdu.is_lost).map(|mpdu| mpdu.number)
    }

    /// Number of MPDUs, if all are received and their sequence numbers are consecutive from `first`.
    pub fn run_from(&self, first: u64) -> Option<u64> {
        let (count, last) = (self.mpdus.len() as u64, self.mpdus.last()?.number);
        (self.lost == 0 && self.mpdus[0].number == first && last + 1 == first + count).then_some(count)
    }

    /// Whether any MPDU is received.
    pub fn is_read(&self) -> bool {
        self.lost < self.mpdus.len().max(1)
    }

    /// Sets which MPDUs are lost to errors; a part without MPDUs of a window counts as one MPDU.
    pub fn set_lost(&mut self, mut is_lost: impl FnMut() -> bool) {
        self.lost = 0;
        if self.mpdus.is_empty() {
            self.lost = usize::from(is_lost());
        }
        for mpdu in &mut self.mpdus {
            mpdu.is_lost = is_lost();
            self.lost += usize::from(mpdu.is_lost);
        }
    }

    /// Sets which MPDUs are lost: `is_lost` is called with the index of each and whether it is lost so far.
    pub fn mark_lost(&mut self, mut is_lost: impl FnMut(usize, bool) -> bool) {
        self.lost = 0;
        for (place, mpdu) in self.mpdus.iter_mut().enumerate() {
            mpdu.is_lost = is_lost(place, mpdu.is_lost);
            self.lost += usize::from(mpdu.is_lost);
        }
    }

    /// Adds further losses, by sequence number.
    pub fn add_losses(&mut self, mut is_lost: impl FnMut(u64) -> bool) {
        for mpdu in &mut self.mpdus {
            if is_lost(mpdu.number) && !mpdu.is_lost {
                mpdu.is_lost = true;
                self.lost += 1;
            }
        }
    }

    /// Adds an MPDU that ends at `end` in the PSDU, and has been sent `attempts` times including this one.
    #[inline]
    pub fn add_mpdu(&mut self, number: u64, end: u64, attempts: u8, expires: Time) {
        self.most_attempts = self.most_attempts.max(attempts);
        self.expires = self.expires.min(expires);
        self.mpdus.push(PpduMpdu { number, end, is_lost: false });
    }

    /// Adds `count` new MPDUs. The first ends at `end`; the others follow at intervals of `stride` bytes.
    #[inline]
    pub fn add_mpdus(&mut self, number: u64, end: u64, stride: u64, count: u64) {
        let inside = |place| PpduMpdu { number: number + place, end: end + stride * place, is_lost: false };
        self.mpdus.extend((0..count).map(inside));
    }

    /// Share of `air` that carried lost MPDUs.
    fn lost_part(&self, air: Duration) -> Duration {
        match (self.lost, self.mpdus.len()) {
            (0, _) => Duration::ZERO,
            (lost, all) if lost >= all => air,
            (lost, all) => air * lost as u64 / all as u64,
        }
    }
}

/// A data PPDU or a request, with the frames before it and its responses.
#[derive(Clone, Debug)]
pub(crate) struct Ppdu {
    /// The first user; the others are behind it.
    first_user: PpduUser,
    other_users: Vec<PpduUser>,
    pub purpose: Purpose,
    pub protection: Protection,
    /// State from which construction can continue, if all of its MPDUs are to be retransmitted.
    pub build_state: Option<BuildState>,
    /// Air time of the data or the request.
    pub air: Duration,
    /// Width of the data.
    pub width: ChannelWidth,
    /// Receiver, purpose and PSDU length for which the air times were computed, if they follow from the station's mode.
    pub timed: Option<(u32, Purpose, Bytes)>,
    /// Number of its MPDUs that were sent before.
    pub retries: u64,
    /// Whether it was counted as sent; with RTS/CTS it is counted when the CTS is received.
    pub is_counted: bool,
}

impl Default for Ppdu {
    fn default() -> Self {
        Self {
            first_user: PpduUser::default(),
            other_users: vec![],
            purpose: Purpose::Broadcast,
            protection: Protection::None,
            build_state: None,
            air: Duration::ZERO,
            width: ChannelWidth::Mhz20,
            timed: None,
            retries: 0,
            is_counted: false,
        }
    }
}

impl Ppdu {
    /// Its users.
    pub fn users(&self) -> impl Iterator<Item = &PpduUser> {
        std::iter::once(&self.first_user).chain(&self.other_users)
    }

    /// The user with this index.
    #[inline]
    pub fn user(&self, place: usize) -> &PpduUser {
        if place == 0 { &self.first_user } else { &self.other_users[place - 1] }
    }

    /// The user of a PPDU that has one.
    #[inline]
    pub fn sole(&self) -> &PpduUser {
        debug_assert!(self.other_users.is_empty(), "the PPDU has one user");
        &self.first_user
    }

    /// The user of a PPDU that has one, mutable.
    #[inline]
    pub fn sole_mut(&mut self) -> &mut PpduUser {
        debug_assert!(self.other_users.is_empty(), "the PPDU has one user");
        &mut self.first_user
    }

    /// Begins anew, with one user and without MPDUs.
    pub fn begin(&mut self, station: u32, purpose: Purpose) {
        self.first_user.begin(station, purpose.ack_policy(0));
        self.other_users.clear();
        self.purpose = purpose;
        self.build_state = None;
        self.retries = 0;
        self.is_counted = false;
    }

    /// Its exchange, at the first frame.
    #[inline]
    pub const fn exchange(&self) -> Exchange {
        Exchange::new(self.purpose, self.protection, 1 + self.other_users.len())
    }

    /// Whether the exchange includes this frame.
    pub fn has(&self, frame: ExchangeFrame) -> bool {
        sequence(self.purpose, self.protection).steps.iter().any(|step| step.frame == frame)
    }

    /// Whether the exchange begins with this frame.
    #[inline]
    pub fn begins_with(&self, frame: ExchangeFrame) -> bool {
        self.before_data().first() == Some(&frame)
    }

    /// The frames before the data.
    #[inline]
    pub fn before_data(&self) -> &'static [ExchangeFrame] {
        self.protection.frames()
    }

    /// Whether its only user stands for all stations.
    #[inline]
    pub fn is_broadcast(&self) -> bool {
        self.first_user.is_broadcast()
    }

    pub fn is_request(&self) -> bool {
        self.purpose == Purpose::BlockAckRequest
    }

    /// Whether it is an ADDBA or DELBA frame.
    pub fn is_action(&self) -> bool {
        self.purpose == Purpose::Agreement
    }

    /// Whether it is a single frame without MPDUs of a window.
    pub fn is_dataless(&self) -> bool {
        self.is_request() || self.is_action()
    }

    /// Whether it is answered by a block ACK.
    pub fn is_aggregate(&self) -> bool {
        self.purpose == Purpose::Aggregate
    }

    /// Whether any user receives any MPDU.
    pub fn is_read(&self) -> bool {
        self.users().any(PpduUser::is_read)
    }

    /// Number of MPDUs of all users.
    pub fn mpdus(&self) -> u64 {
        self.users().map(|user| user.mpdus.len() as u64).sum()
    }

    /// Share of its air time that carried lost MPDUs.
    pub fn lost_air(&self) -> Duration {
        self.lost_part(self.air)
    }

    /// Share of `air` that carried lost MPDUs, on average over the users.
    pub fn lost_part(&self, air: Duration) -> Duration {
        let lost = self.users().fold(Duration::ZERO, |sum, user| sum + user.lost_part(air));
        lost / (1 + self.other_users.len() as u64)
    }

    /// Air time of a frame in its exchange, in the turn of the user with this index.
    #[inline]
    pub fn air_of(&self, frame: ExchangeFrame, turn: usize, access: &Access) -> Duration {
        match frame {
            ExchangeFrame::Ack | ExchangeFrame::BlockAck => self.user(turn).response,
            frame if frame.is_protected() => self.air,
            frame => access.control_air(frame),
        }
    }

    /// Time from its end to the end of its responses; with SIFS before each.
    pub fn after_data(&self, sifs: Duration) -> Duration {
        if self.is_broadcast() { Duration::ZERO } else { sifs + self.sole().response }
    }

    /// Removes MPDUs from the end, but not the first, until the PSDU is at most `longest`. Returns those removed.
    pub fn shorten(&mut self, longest: Bytes) -> Vec<PpduMpdu> {
        let user = self.sole_mut();
        let kept = user.mpdus.iter().take_while(|mpdu| mpdu.end <= longest.0).count().max(1);
        let left_out = user.mpdus.split_off(kept.min(user.mpdus.len()));
        if !left_out.is_empty() {
            user.psdu = Bytes(user.mpdus[kept - 1].end);
            self.build_state = None;
        }
        left_out
    }
}
