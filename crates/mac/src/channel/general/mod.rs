//! A channel on which all stations hear each other, with up to four access categories per station, and aggregation.
//!
//! [`edcaf`](crate::edcaf) determines what stations send. Contenders count slots on common grids ([`backoffs`]), so the
//! cost of an exchange does not depend on the number of stations.
//!
//! Departures from the standard:
//!
//! - Propagation takes no time, and a station senses a frame from its first instant.
//! - Short and long retry counts belong to the frame, and a CTS resets the short one, as in ns-2 and ns-3. With block
//!   ACK each MPDU has its own count of attempts, and the contention window has a retry count of its own.
//! - If two categories of a station may send at the same instant, the one of higher priority does. For the other this
//!   is a failed attempt: it doubles its window and draws again (10.22.2.2). Under block ACK no MPDU counts it.
//! - A TXOP ends when a frame gets no response; no CF-End is sent then. So with `cf_end`, the NAV of stations that have
//!   read a frame for others lasts until the TXOP would have ended. A frame that does not fit into the TXOP is sent
//!   after a new contention. A CF-End is read by all.
//! - A sender that gives up a frame dequeues the next one when the collision ends, not at the timeout.

mod backoffs;
mod exchange_records;
mod exchanges;
#[cfg_attr(not(feature = "fast"), path = "plain.rs")]
mod fast;
mod navs;
mod older;

use wifair_packet::{PacketId, Packets};
use wifair_phy::ModulationClass;
use wifair_units::{Duration, Time};

use self::backoffs::Backoffs;
use self::navs::Navs;
use crate::category::Category;
use crate::edcaf::{EdcaSettings, Edcaf, Edcafs, SlotRules, number};
use crate::exchange::{ExchangeFrame, Protection, Purpose};
use crate::interpreter::Exchange;
use crate::tap::Tap;
use crate::{Access, AirTime, Call, Counters, IdleAccess, MacEvent};
use wifair_queue::{Gauge, Queue};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GeneralPhase {
    /// No station is sending.
    Idle,
    /// SIFS before a further frame of a TXOP.
    Gap,
    /// A frame of the sender's exchange is on the air, alone, or follows after SIFS; whether its receiver reads it.
    Frame { is_read: bool },
    /// SIFS and CF-End of a TXOP holder that has finished.
    CfEnd,
    /// SIFS and the CF-End with which the access point repeats it.
    RepeatedCfEnd,
    /// Several frames are on the air.
    Collision,
}

/// See the [module](self).
#[derive(Debug)]
pub struct GeneralChannel {
    /// Whether shortcuts are used.
    fast_paths: bool,
    edcafs: Edcafs,
    backoffs: Backoffs,
    phase: GeneralPhase,
    /// The exchange of the only sender.
    exchange: Exchange,
    /// Start of the frame on the air, or of the first frame of a collision.
    began: Time,
    /// Whether data are on the air whose CTS-to-self collided before [`GeneralChannel::began`].
    is_reserved: bool,
    /// Whether no frame is on the air but those of an exchange that cannot fail: see [`fast`].
    cannot_fail: bool,
    /// Contenders that are sending.
    senders: Vec<usize>,
    /// Contenders that start sending at this instant; empty between calls.
    due: Vec<u32>,
    receivers: Vec<u32>,
    next: Time,
    navs: Navs,
    /// Stations that count slots from another time than most after the last exchange.
    late: Vec<(usize, SlotStart)>,
    /// The access point that repeats the CF-End of other stations, if it does.
    repeats_cf_end: Option<u32>,
    /// Stations that do not read newer PPDUs, and the newest class that they read.
    older: Vec<(u32, ModulationClass)>,
    /// Those that do not read a frame, and a time, while they are handled.
    unread: Vec<(u32, Time)>,
    tap: Option<Box<Tap>>,
    air: AirTime,
    accounted: Time,
}

/// From when a station counts slots, if not like most.
#[derive(Clone, Copy, Debug)]
enum SlotStart {
    /// Like others on a channel that is idle from this time.
    Idle(Time),
    /// After a response that it waited for and did not get.
    Timeout {
        /// When the timeout expires.
        expired: Time,
        /// From when the channel is idle for it.
        idle: Time,
        /// Whether it received a frame in error instead.
        in_error: bool,
    },
}

impl SlotStart {
    /// From when a category of the station counts slots.
    #[inline]
    fn of(self, contender: &Edcaf, access: &Access) -> Time {
        match self {
            Self::Idle(idle) => idle + contender.aifs,
            Self::Timeout { expired, idle, .. } if contender.slot_rules == SlotRules::Edca => {
                expired.max(idle) + contender.aifs
            }
            Self::Timeout { expired, idle, in_error } => {
                // After its timeout the station waits longer by the difference of AIFS and DIFS.
                let without_aifs = access.timeout_without_difs && !in_error;
                let earliest = if without_aifs { idle } else { idle + contender.aifs };
                (expired + contender.aifs.saturating_sub(access.timing.difs)).max(earliest)
            }
        }
    }
}

impl GeneralChannel {
    /// A channel of these stations.
    ///
    /// # Panics
    /// If stations differ in the number of their categories, or have none.
    #[must_use]
    pub fn new(settings: EdcaSettings) -> Self {
        let repeats_cf_end = settings.stations.first().and_then(|station| station.ap);
        let repeats_cf_end = repeats_cf_end.filter(|_| settings.access.repeats_cf_end);
        let mut edcafs = Edcafs::new(settings);
        edcafs.set_single_frames(true);
        let newest = (0..).zip(edcafs.stations.iter().map(|station| station.newest));
        let of_all = newest.clone().map(|(_, newest)| newest).max().unwrap_or(ModulationClass::Dsss);
        let older = newest.filter(|(_, newest)| *newest < of_all).collect();
        let own = |contender: &Edcaf| (contender.aifs, contender.slot_rules);
        let contenders: Vec<_> = edcafs.contenders.iter().map(own).collect();
        Self {
            fast_paths: true,
            backoffs: Backoffs::new(edcafs.access.timing.slot, &contenders),
            edcafs,
            phase: GeneralPhase::Idle,
            exchange: Exchange::new(Purpose::Broadcast, Protection::None, 1),
            began: Time::ZERO,
            is_reserved: false,
            cannot_fail: false,
            senders: vec![],
            due: vec![],
            receivers: vec![],
            next: Time::NEVER,
            navs: Navs::IDLE,
            late: vec![],
            repeats_cf_end,
            older,
            unread: vec![],
            tap: None,
            air: AirTime::default(),
            accounted: Time::ZERO,
        }
    }

    /// Sets the access parameters of an access point's last category, from its next frame on.
    pub fn set_category(&mut self, station: u32, parameters: &Category) {
        let index = self.edcafs.index(station, self.edcafs.categories - 1);
        if let Some(from) = self.late_start(index) {
            self.backoffs.resume_at(number(index), from); // until its next frame its AIFS is the old one
        }
        if let Some(aifs) = self.edcafs.set_category(station, parameters) {
            self.backoffs.change_aifs(number(index), aifs);
        }
    }

    /// The stations, with their queues and counters.
    #[must_use]
    pub const fn edcafs(&self) -> &Edcafs {
        &self.edcafs
    }

    /// The stations, mutable.
    pub const fn edcafs_mut(&mut self) -> &mut Edcafs {
        &mut self.edcafs
    }

    /// See [`Edcafs::queue`].
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        self.edcafs.queue(station)
    }

    /// See [`Edcafs::counters`].
    #[must_use]
    pub fn counters(&self, station: u32) -> &Counters {
        self.edcafs.counters(station)
    }

    /// Counters of all stations.
    #[must_use]
    pub fn all_counters(&self) -> &[Counters] {
        self.edcafs.all_counters()
    }

    /// See [`Edcafs::ap_queues`].
    #[must_use]
    pub fn ap_queues(&self) -> &[Gauge] {
        self.edcafs.ap_queues()
    }

    /// See [`Edcafs::ap_queues_mut`].
    pub fn ap_queues_mut(&mut self) -> &mut [Gauge] {
        self.edcafs.ap_queues_mut()
    }

    /// See [`Edcafs::air_to`].
    #[must_use]
    pub fn air_to(&self) -> Vec<[Duration; 4]> {
        self.edcafs.air_to()
    }

    /// See [`Edcafs::current_frame`].
    #[must_use]
    pub fn current_frame(&self, station: u32) -> Option<PacketId> {
        self.edcafs.current_frame(station)
    }

    /// When to call [`GeneralChannel::advance`] next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next.min(self.edcafs.next())
    }

    /// Receivers of the broadcast last reported by [`GeneralChannel::advance`], in the order of their numbers.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// Use of the air time until `now`.
    #[must_use]
    pub fn air_time(&self, now: Time) -> AirTime {
        let mut air = self.air;
        let mut left = now.saturating_since(self.accounted);
        let mut spend = |part: Duration| {
            let spent = part.min(left);
            left = left.saturating_sub(spent);
            spent
        };
        match self.phase {
            GeneralPhase::Idle | GeneralPhase::Gap => air.idle += spend(Duration::MAX),
            GeneralPhase::Collision => {
                air.idle += spend(self.began.saturating_since(self.accounted));
                air.collision += spend(Duration::MAX);
            }
            GeneralPhase::Frame { .. } => {
                air.idle += spend(self.began.saturating_since(self.accounted));
                let sender = self.senders[0];
                match self.exchange.step().frame {
                    ExchangeFrame::Rts | ExchangeFrame::Cts | ExchangeFrame::CtsToSelf => {
                        air.rts_cts += spend(Duration::MAX);
                    }
                    ExchangeFrame::Data if self.cannot_fail => air.data += spend(Duration::MAX),
                    ExchangeFrame::Data => {
                        let ppdu = &self.edcafs.contenders[sender].ppdu;
                        air.data += spend(ppdu.air - ppdu.lost_air());
                        air.error += spend(ppdu.lost_air());
                    }
                    _ => air.ack += spend(Duration::MAX),
                }
            }
            GeneralPhase::CfEnd | GeneralPhase::RepeatedCfEnd => {
                air.idle += spend(self.edcafs.access.timing.sifs);
                air.ack += spend(Duration::MAX);
            }
        }
        air
    }

    /// Offers a packet to `station`, in the category given by the packet's kind. Returns whether
    /// [`GeneralChannel::next`] may have changed.
    pub fn offer(&mut self, station: u32, id: PacketId, call: &mut Call<'_>) -> bool {
        self.offer_in(station, 0, id, call)
    }

    /// Offers a packet to `station`, in the category with index `category` unless the packet's kind decides. Returns
    /// whether [`GeneralChannel::next`] may have changed.
    pub fn offer_in(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>) -> bool {
        let now = call.now;
        let (index, has_looked, is_loaded) = self.edcafs.enqueue(station, category, id, call);
        if is_loaded {
            self.request_access(now, index);
        }
        self.edcafs.after_offer(now, station);
        has_looked
    }

    /// Like [`GeneralChannel::offer_in`] if the packet only joins a queue. Otherwise, and without shortcuts, it does
    /// nothing and returns false.
    #[inline]
    pub fn append(&mut self, now: Time, station: u32, category: usize, id: PacketId, packets: &mut Packets) -> bool {
        self.fast_paths && self.edcafs.append(now, station, category, id, packets)
    }

    /// Determines what a contender sends next; returns whether there is anything.
    fn load(&mut self, index: usize, call: &mut Call<'_>) -> bool {
        let is_loaded = self.edcafs.load(index, call);
        if !is_loaded {
            self.backoffs.rest(number(index));
        }
        is_loaded
    }

    /// Asks queues again that held packets back until now.
    #[inline(never)]
    fn wake(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        while let Some(index) = self.edcafs.paused_queues.wake(now) {
            let index = index as usize;
            if self.edcafs.contenders[index].task.is_none() && self.load(index, call) {
                self.request_access(now, index);
            }
        }
    }

    /// From when a contender without slots left counts on an idle channel, if its station counts from another time than
    /// most.
    #[inline]
    fn late_start(&self, index: usize) -> Option<Time> {
        let station = self.edcafs.station_of(index);
        let (_, start) = self.late.iter().find(|(late, _)| *late == station)?;
        let (contender, backoffs) = (number(index), &self.backoffs);
        let is_idle = !backoffs.waits(contender) && backoffs.left(contender) == 0 && !backoffs.is_apart(contender);
        is_idle.then(|| start.of(&self.edcafs.contenders[index], &self.edcafs.access))
    }

    /// Categories of stations whose NAV differs from that of most count slots from the end of theirs.
    #[inline(never)]
    fn resume_by_navs(&mut self, end: Time, senders: &[usize]) {
        let most = end.max(self.navs.end());
        for (station, nav) in self.navs.apart().filter(|(_, nav)| end.max(*nav) != most) {
            for index in self.edcafs.own(station).filter(|index| !senders.contains(index)) {
                self.backoffs.resume_apart(number(index), nav.max(end) + self.edcafs.contenders[index].aifs);
            }
        }
    }

    /// Starts contention for a contender that had nothing to send.
    fn request_access(&mut self, now: Time, index: usize) {
        let contender = number(index);
        if self.phase == GeneralPhase::CfEnd && self.senders[0] == index {
            return; // its backoff follows the CF-End
        }
        let late_start = self.late_start(index);
        let Edcaf { contention, aifs, slot_rules, .. } = &mut self.edcafs.contenders[index];
        if self.phase != GeneralPhase::Idle {
            // 10.3.4.2: the channel is busy, so a backoff is required, unless one is pending.
            if self.backoffs.left(contender) == 0 {
                self.backoffs.start(contender, u64::from(contention.draw()), true);
            } else {
                self.backoffs.wait(contender);
            }
            return;
        }
        let access = &self.edcafs.access;
        let slot = access.timing.slot;
        let (from, slots) = self.backoffs.position(contender);
        let from = late_start.unwrap_or(from);
        if slots > 0 && from + slot * slots > now {
            self.backoffs.wait(contender);
        } else if now < self.navs.of(contender / number(self.edcafs.categories)).end() {
            self.backoffs.restart_at(contender, from, u64::from(contention.draw()));
        } else {
            match access.idle_access {
                IdleAccess::Immediate => {
                    let start = slot_rules.without_backoff(from, now, slot);
                    self.backoffs.send_without_backoff(contender, start);
                }
                IdleAccess::Backoff => {
                    let from = (now + *aifs).max(from);
                    self.backoffs.restart_at(contender, from, u64::from(contention.draw()));
                }
            }
        }
        self.next = self.backoffs.next();
    }

    /// Advances at the time of [`GeneralChannel::next`]; returns what was received.
    pub fn advance(&mut self, call: &mut Call<'_>) -> MacEvent {
        self.advance_until(Time::ZERO, call).0
    }

    /// Advances by one step, in any exchange.
    #[inline(never)]
    fn advance_any(&mut self, call: &mut Call<'_>) -> MacEvent {
        let now = call.now;
        if let Some(event) = self.edcafs.due(call) {
            return event;
        }
        if now < self.next {
            self.wake(call);
            if let Some((station, category, id)) = self.edcafs.take_due(now, call.packets, call.dropped) {
                self.offer_in(station, category, id, call);
            }
            return MacEvent::Nothing;
        }
        if self.tap.is_some() {
            self.record(now, call.packets);
        }
        match self.phase {
            GeneralPhase::Idle => self.start(call),
            GeneralPhase::Gap => self.send(call),
            GeneralPhase::Frame { is_read } => return self.end_frame(is_read, call),
            GeneralPhase::CfEnd => {
                self.account_cf_end(now);
                self.end_cf_end(now);
            }
            GeneralPhase::RepeatedCfEnd => {
                self.account_cf_end(now);
                self.idle_from(now, &[]);
                self.next = self.backoffs.next();
            }
            GeneralPhase::Collision => self.end_collision(call),
        }
        MacEvent::Nothing
    }

    /// Advances at the time of [`GeneralChannel::next`], which must be `call.now`, and further before `bound`, until a
    /// packet is received or lost. Updates `call.now`; also returns the number of steps.
    #[inline(always)]
    pub fn advance_until(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64) {
        let mut steps = 1;
        loop {
            let event = if self.cannot_fail && call.now >= self.next {
                self.advance_reliably(bound, call, &mut steps)
            } else {
                self.advance_any(call)
            };
            if event != MacEvent::Nothing || call.has_losses() || self.edcafs.has_exhausted() {
                return (event, steps);
            }
            let next = self.next();
            if next >= bound {
                return (MacEvent::Nothing, steps);
            }
            call.now = next;
            steps += 1;
        }
    }

    /// Turns shortcuts on (the default) or off; results are the same. Must be called before any packet is offered.
    pub fn set_fast_paths(&mut self, on: bool) {
        self.fast_paths = on;
        self.edcafs.set_single_frames(on);
    }

    /// Turns records of frames and backoffs on or off. Must be called before any packet is offered.
    pub fn set_tap(&mut self, on: bool) {
        self.tap = on.then(Box::default);
        self.edcafs.set_single_frames(self.fast_paths && !on);
    }

    /// The records, if they are on.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        self.tap.as_deref_mut()
    }

    /// The records, if they are on; read-only.
    #[must_use]
    pub fn records(&self) -> Option<&Tap> {
        self.tap.as_deref()
    }
}
