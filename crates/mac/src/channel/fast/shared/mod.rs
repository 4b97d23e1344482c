//! A DCF channel on which all stations hear each other: the [general channel](GeneralChannel) for the common case.
//!
//! One access point and its stations, all in range of each other. All see the same idle slots. A frame that starts
//! alone in its slot is received unless an error probability says otherwise, and frames that start in the same slot are
//! lost. An exchange (RTS, CTS, data, ACK) takes three events, whatever the number of stations.
//!
//! Modelled: DIFS, EIFS, SIFS, slots, backoff that freezes and resumes, post-backoff, doubling of the contention
//! window, retry limits, ACK and CTS timeout, NAV (no station interrupts an exchange, or the gap of a missing ACK), RTS
//! and CTS by threshold, broadcast. Departures from the standard:
//!
//! - Propagation takes no time, and a station senses a frame from its first instant. A station whose slots are not
//!   aligned with the others' (after an ACK timeout) defers to a frame that began during its last slot.
//! - Short and long retry counts belong to the frame, and a CTS resets the short one, as in ns-2 and ns-3 (10.3.4.4 has
//!   station counts that a CTS resets, and frame counts that it does not).
//! - A sender that gives up a frame dequeues the next one when the collision ends, not at the timeout.
//! - A frame lost to an error probability sets the NAV of all but its receiver, as if they had read it.

use wifair_packet::{Kind, PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};

mod contention;
mod saturated_queues;
mod shared_exchange;

use super::super::general::GeneralChannel;
use super::super::slots::Slots;
use crate::air_to::AirToStations;
use crate::category::Category;
use crate::edcaf::EdcaSettings;
use crate::fast::SaturatedSource;
use crate::queue_hooks::{AirUseMeter, PausedQueues};
use crate::station::{AirTimes, Contention, Errors, Frame, frame_length};
use crate::tap::Tap;
use crate::{Access, AirTime, BROADCAST, Call, Counters, Eifs, IdleAccess, MacEvent, StationSettings};
use wifair_queue::{AirUse, Discipline, Gauge, Queue};

#[derive(Debug)]
struct SharedStation {
    frame: Option<Frame>,
    /// Whether the exchange cannot fail: unicast, without RTS, and without errors.
    is_simple: bool,
    /// How long it waits for the ACK to its frame.
    timeout: Duration,
    /// Slot of the common grid in which the pending backoff ends; in the past if it has ended.
    backoff_end: u64,
    contention: Contention,
    rate: BitRate,
    /// Air time of the ACK to a frame at the station's rate.
    ack: Duration,
    /// How long the sender of such a frame waits for it.
    ack_timeout: Duration,
    /// Bytes that a frame of the station adds to its packet, except for routing messages.
    overhead: Bytes,
    counters: Counters,
    queue: Queue,
    /// The only source that feeds the queue, if attached.
    source: Option<Box<SaturatedSource>>,
    errors: Errors,
}

impl SharedStation {
    /// Enqueues the datagrams that the source sends before `end`.
    #[inline(never)]
    fn enqueue_arrivals(&mut self, end: Time, packets: &mut Packets) {
        if let (Some(source), Queue::Fifo(queue)) = (&mut self.source, &mut self.queue) {
            source.enqueue_arrivals(end, queue, packets, |_, _| {});
        }
    }

    #[inline]
    fn sent(&self) -> &Frame {
        self.frame.as_ref().expect("a sender has a frame")
    }

    /// Draws a backoff that starts at `resumes`, on a channel whose slots are counted from `origin`. `number` is the
    /// number of this station.
    #[inline(always)]
    fn back_off(
        &mut self,
        number: u32,
        resumes: Time,
        origin: Time,
        slots: &mut Slots,
        off_grid: &mut OffGridContenders,
    ) {
        let backoff = u64::from(self.contention.draw());
        let has_frame = self.frame.is_some();
        if resumes == origin {
            self.backoff_end = slots.count() + backoff;
            if has_frame {
                slots.insert(number, backoff);
            }
        } else {
            self.backoff_end = slots.count();
            off_grid.push(OffGridContender { station: number, from: resumes, slots: backoff, drew: true, has_frame });
        }
    }
}

/// A station whose slots are not aligned with the common grid: after its own timeout, or when it sends at once.
#[derive(Clone, Copy, Debug)]
struct OffGridContender {
    station: u32,
    /// Start of its slot count.
    from: Time,
    slots: u64,
    /// Whether its backoff was drawn. If not, one is drawn when another station sends first.
    drew: bool,
    /// Whether it has a frame to send; otherwise it only counts its slots.
    has_frame: bool,
}

impl OffGridContender {
    /// End of its backoff.
    #[inline]
    fn due(&self, slot: Duration) -> Time {
        self.from + slot * self.slots
    }
}

/// The stations off the grid. Whenever a station starts sending, each of them either sends too or returns to the grid.
#[derive(Clone, Debug)]
struct OffGridContenders {
    contenders: Vec<OffGridContender>,
    /// When the first of them with a frame sends.
    due: Time,
    slot: Duration,
}

impl OffGridContenders {
    #[inline]
    fn push(&mut self, contender: OffGridContender) {
        let due = if contender.has_frame { contender.due(self.slot) } else { Time::NEVER };
        self.due = self.due.min(due);
        self.contenders.push(contender);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SharedPhase {
    /// No station is sending.
    Idle,
    /// A data frame that will be received, or a frame before it, is on the air.
    Data,
    /// The frame was received; the ACK is due or on the air.
    Ack,
    /// A data frame that will be lost to an error is on the air.
    LostData,
    /// The frame was received, but its ACK will be lost.
    LostAck,
    /// A broadcast frame is on the air.
    Broadcast,
    /// Several frames are on the air.
    Collision { began: Time },
}

/// See the [module](self).
#[derive(Debug)]
pub struct SharedChannel {
    access: Access,
    /// The access point: its frames are sent at the rate of their receiver.
    ap: u32,
    stations: Vec<SharedStation>,
    /// Whether frames may be lost with a given probability.
    lossy: bool,
    /// Whether every exchange needs more than a backoff at its end: the rounded NAV outlasts its ACK, or a queue needs
    /// the air time used.
    needs_general_end: bool,
    /// Whether this holds for every exchange, or for exchanges with RTS, whose rounded NAV may outlast them.
    may_need_general_end: bool,
    slots: Slots,
    /// Start of the next idle slot, unless a station sends first.
    origin: Time,
    /// Until when a rounded NAV outlasts its exchange.
    nav: Time,
    off_grid: OffGridContenders,
    phase: SharedPhase,
    /// The station that is sending, or the first of those whose frames collide, which `senders` lists.
    sender: u32,
    senders: Vec<u32>,
    /// Stations that received the last broadcast.
    receivers: Vec<u32>,
    next: Time,
    /// The slot that begins at `next`, if it is on the common grid.
    next_slot: Option<u64>,
    airs: AirTimes,
    ap_queue: Gauge,
    paused_queues: PausedQueues,
    /// Stations whose queue became empty while arrivals were deferred.
    exhausted: Vec<u32>,
    air_use: AirUseMeter,
    air_to: AirToStations,
    /// Air time that is not in the stations' counters: RTS and CTS, collisions, and data frames lost to errors.
    rts_cts: Duration,
    collision: Duration,
    lost: Duration,
    /// Duration of RTS and CTS, with the gaps after them.
    protection: Duration,
    /// Time from the end of a collision to the first idle slot.
    after_collision: Duration,
}

impl SharedChannel {
    /// A channel of these stations; `ap` is the number of the access point.
    #[must_use]
    pub fn new(access: Access, ap: u32, stations: Vec<StationSettings>) -> Self {
        let timing = &access.timing;
        let air_use = AirUseMeter::new(stations.iter().map(|station| &station.queue), stations.len());
        let outlasts = stations.iter().any(|s| access.nav_excess(timing.ack_to(s.rate), None) > Duration::ZERO);
        let mut cell = Self {
            ap,
            slots: Slots::new(stations.len()),
            stations: vec![],
            lossy: false,
            needs_general_end: air_use.is_wanted() || outlasts,
            may_need_general_end: air_use.is_wanted() || access.nav_unit > Duration::ZERO,
            origin: Time::ZERO + timing.difs,
            nav: Time::ZERO,
            off_grid: OffGridContenders { contenders: vec![], due: Time::NEVER, slot: timing.slot },
            phase: SharedPhase::Idle,
            sender: 0,
            senders: vec![],
            receivers: vec![],
            next: Time::NEVER,
            next_slot: None,
            airs: AirTimes::default(),
            ap_queue: Gauge::default(),
            paused_queues: PausedQueues::new(),
            exhausted: vec![],
            air_use,
            air_to: AirToStations::new(stations.len()),
            rts_cts: Duration::ZERO,
            collision: Duration::ZERO,
            lost: Duration::ZERO,
            protection: timing.rts() + timing.sifs + timing.cts() + timing.sifs,
            after_collision: match access.eifs {
                Eifs::AfterCollision => timing.eifs(),
                Eifs::Nav => access.eifs() + timing.difs,
                Eifs::AfterError | Eifs::Off => timing.difs,
            },
            access,
        };
        for station in stations {
            let errors = Errors::new(&station);
            cell.lossy |= errors.are_possible();
            cell.stations.push(SharedStation {
                frame: None,
                is_simple: false,
                backoff_end: 0,
                contention: Contention::new(&station),
                rate: station.rate,
                ack: cell.access.timing.ack_to(station.rate),
                ack_timeout: cell.access.timeout_of(cell.access.timing.answer_rate(station.rate)),
                timeout: Duration::ZERO,
                overhead: cell.access.timing.frame_length(station.routing_overhead),
                counters: Counters::default(),
                queue: station.queue,
                source: None,
                errors,
            });
        }
        cell
    }

    /// Whether it gives the results of the [general channel](SharedChannel::general). It has one NAV, that of all but
    /// sender and receiver until the next exchange ends. That is not enough if an RTS or CTS may be lost to an error,
    /// if another frame could end before the NAV of lost data, or if EIFS, which follows errors, is off or is a NAV.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        let Access { timing, nav_unit, .. } = &self.access;
        let loses_control = self.stations.iter().any(|station| station.errors.control_to > 0.0);
        let outlasts_rts = self
            .stations
            .iter()
            .any(|station| timing.sifs + station.ack + *nav_unit > station.ack_timeout + timing.rts());
        // An ACK by DSSS, if it is missing, lasts longer than EIFS and a short frame of OFDM.
        let is_mixed = timing.dsss.is_some() && self.stations.iter().any(|station| timing.is_dsss(station.rate));
        let may_silence = self.access.rts_threshold < Bytes(u64::MAX) && (loses_control || self.lossy && outlasts_rts);
        let is_hard = is_mixed || matches!(self.access.eifs, Eifs::Nav | Eifs::Off);
        !(may_silence || self.lossy && is_hard)
    }

    /// When to call [`SharedChannel::advance`] next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next.min(self.paused_queues.next())
    }

    /// Receivers of the broadcast last reported by [`SharedChannel::advance`], in the order of their numbers.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// The queue of a station.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        &self.stations[station as usize].queue
    }

    /// Counters of a station.
    #[must_use]
    pub fn counters(&self, station: u32) -> &Counters {
        &self.stations[station as usize].counters
    }

    /// Counters of all stations.
    #[must_use]
    pub fn all_counters(&self) -> Vec<Counters> {
        self.stations.iter().map(|station| station.counters).collect()
    }

    /// Air time of the exchanges in which others sent to each station, by category; without categories the first has
    /// all.
    #[must_use]
    pub fn air_to(&self) -> Vec<[Duration; 4]> {
        self.air_to.so_far(self.stations.iter().map(|station| &station.counters))
    }

    /// Use of the air time until `now`.
    #[must_use]
    pub fn air_time(&self, now: Time) -> AirTime {
        let sum = |part: fn(&Counters) -> Duration| {
            self.stations.iter().fold(Duration::ZERO, |sum, station| sum + part(&station.counters))
        };
        let mut air = AirTime {
            data: sum(|counters| counters.data) - self.lost,
            ack: sum(|counters| counters.control) - self.rts_cts,
            rts_cts: self.rts_cts,
            collision: self.collision,
            error: self.lost,
            ..AirTime::default()
        };
        // The elapsed part of an exchange in progress.
        let timing = &self.access.timing;
        match self.phase {
            SharedPhase::Idle => {}
            SharedPhase::Collision { began } => air.collision += now - began,
            SharedPhase::Data | SharedPhase::LostData | SharedPhase::Broadcast => {
                let frame = self.stations[self.sender as usize].sent();
                let is_protected = self.is_protected(frame);
                let opening = if is_protected { self.protection } else { Duration::ZERO };
                let mut left = now - (self.next - frame.air - opening);
                let mut spend = |part: Duration| {
                    let spent = part.min(left);
                    left = left - spent;
                    spent
                };
                if is_protected {
                    air.rts_cts += spend(timing.rts());
                    spend(timing.sifs);
                    air.rts_cts += spend(timing.cts());
                    spend(timing.sifs);
                }
                if self.phase == SharedPhase::LostData {
                    air.error += spend(frame.air);
                } else {
                    air.data += spend(frame.air);
                }
            }
            SharedPhase::Ack | SharedPhase::LostAck => {
                air.ack += now.saturating_since(self.next - self.stations[self.sender as usize].sent().ack)
            }
        }
        air.idle = now - Time::ZERO - air.total();
        air
    }

    /// The packet of the frame that a station is trying to send, unless its receiver already has it.
    #[must_use]
    pub fn current_frame(&self, station: u32) -> Option<PacketId> {
        self.stations[station as usize].frame.filter(|frame| !frame.received).map(|frame| frame.id)
    }

    /// Offers a packet to `station`. Returns whether [`SharedChannel::next`] may have changed.
    #[inline]
    pub fn offer(&mut self, station: u32, id: PacketId, call: &mut Call<'_>) -> bool {
        let now = call.now;
        let state = &mut self.stations[station as usize];
        match &mut state.queue {
            Queue::Fifo(fifo) => fifo.enqueue(now, id, 0, call.packets, call.dropped), // needs no receiver
            other => other.enqueue(now, id, call.next_hops.of(&call.packets[id]), call.packets, call.dropped),
        }
        if state.frame.is_none() {
            self.wake_up(station, call);
            return true;
        }
        if station == self.ap {
            self.ap_queue.sample(now, &state.queue);
        }
        false
    }

    /// Length of the access point's queue over time.
    #[must_use]
    pub fn ap_queues(&self) -> &[Gauge] {
        std::slice::from_ref(&self.ap_queue)
    }

    /// Length of the access point's queue over time.
    pub fn ap_queues_mut(&mut self) -> &mut [Gauge] {
        std::slice::from_mut(&mut self.ap_queue)
    }

    pub(in crate::channel) fn offer_in(&mut self, _: u32, category: usize, _: PacketId, _: &mut Call<'_>) -> bool {
        panic!("there is no category {category} on a channel for DCF")
    }

    pub(in crate::channel) fn set_category(&mut self, _: u32, category: &Category) {
        panic!("access parameters such as {category:?} change only where there are categories")
    }

    pub(in crate::channel) const fn set_fast_paths(&mut self, _: bool) {}

    pub(in crate::channel) const fn set_tap(&mut self, _: bool) {}

    pub(in crate::channel) const fn tap(&mut self) -> Option<&mut Tap> {
        None
    }

    pub(in crate::channel) const fn records(&self) -> Option<&Tap> {
        None
    }

    /// Dequeues the next packet of `station`, if there is one.
    #[inline(never)]
    fn load(&mut self, station: u32, call: &mut Call<'_>) -> bool {
        let now = call.now;
        if self.air_use.is_wanted() {
            self.report_air_use(now, station);
        }
        self.fast_load(station, call)
    }

    /// Like [`Self::load`] if no queue needs air times; the hot path.
    #[inline(always)]
    fn fast_load(&mut self, station: u32, call: &mut Call<'_>) -> bool {
        let now = call.now;
        let state = &mut self.stations[station as usize];
        if let Some(source) = &state.source
            && source.next <= now
        {
            state.enqueue_arrivals(now + Duration::from_nanos(1), call.packets);
        }
        let taken = match &mut state.queue {
            Queue::Fifo(fifo) => fifo.take(call.packets),
            other => other.dequeue(now, call.packets, call.dropped).map(|id| (id, &call.packets[id])),
        };
        let Some((id, packet)) = taken else {
            self.fall_silent(now, station);
            return false;
        };
        let to = call.next_hops.of(packet);
        let length = if packet.kind == Kind::Routing {
            frame_length(&self.access.timing, packet, Bytes(0))
        } else {
            packet.bytes() + state.overhead
        };
        match &mut state.frame {
            // Same receiver and length as the previous frame, hence the same air times.
            Some(frame) if (frame.to, frame.length) == (to, length) => {
                frame.id = id;
                frame.received = false;
            }
            _ => self.set_current_frame(station, id, to, length),
        }
        if station == self.ap {
            self.ap_queue.sample(now, &self.stations[station as usize].queue);
        }
        true
    }

    /// Sets the next frame of `station`; the access point uses the rate of its receiver.
    #[inline(always)]
    fn set_current_frame(&mut self, station: u32, id: PacketId, to: u32, length: Bytes) {
        self.air_to.turn(station as usize, to, 0, || self.stations[station as usize].counters.air());
        let whose = if station == self.ap && to != BROADCAST { to } else { station };
        let SharedStation { rate, ack, ack_timeout, .. } = self.stations[whose as usize];
        let rate = if to == BROADCAST { self.access.broadcast_rate } else { rate };
        let air = self.airs.of(&self.access.timing, length, rate);
        let state = &mut self.stations[station as usize];
        state.is_simple = !self.lossy && to != BROADCAST && !self.access.protects(length);
        state.timeout = ack_timeout;
        state.frame = Some(Frame { id, to, length, rate, air, ack, received: false });
    }

    /// Handles a station that has nothing more to send.
    #[inline(never)]
    fn fall_silent(&mut self, now: Time, station: u32) {
        let state = &mut self.stations[station as usize];
        state.frame = None;
        if station == self.ap {
            self.ap_queue.sample(now, &state.queue);
        }
        if state.source.is_some() {
            self.exhausted.push(station);
        }
        self.paused_queues.note(now, station, &state.queue);
    }

    /// Reports the air time of the finished frame of `station` to the queues at both ends.
    #[cold]
    fn report_air_use(&mut self, now: Time, station: u32) {
        let state = &mut self.stations[station as usize];
        let Some(done) = state.frame else { return };
        let used = self.air_use.close(station, &state.counters, &done);
        state.queue.on_air(now, &used);
        if done.to != BROADCAST {
            self.stations[done.to as usize].queue.on_air(now, &AirUse { peer: station, sent: false, ..used });
        }
    }

    /// Asks queues again that held packets back until now.
    #[cold]
    fn wake(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        while let Some(station) = self.paused_queues.wake(now) {
            if self.stations[station as usize].frame.is_none() && self.load(station, call) {
                self.request(now, station);
            }
        }
    }

    /// Advances at the time of [`SharedChannel::next`]; returns what was received.
    pub fn advance(&mut self, call: &mut Call<'_>) -> MacEvent {
        self.advance_until(Time::ZERO, call).0
    }

    /// Advances at the time of [`SharedChannel::next`], which must be `call.now`, and further before `bound`, until a
    /// packet is received or lost. Updates `call.now`; also returns the number of steps.
    #[inline(always)]
    pub fn advance_until(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64) {
        if call.now < self.next {
            self.wake(call);
            return (MacEvent::Nothing, 1);
        }
        let mut steps = 1;
        let mut bound = bound.min(self.paused_queues.next());
        // The common phases, in the order in which they follow each other.
        let event = loop {
            if matches!(self.phase, SharedPhase::Ack) {
                let goes_on = self.finish(call);
                if !goes_on {
                    bound = bound.min(self.paused_queues.next());
                }
                if self.next >= bound || !call.dropped.is_empty() || (!goes_on && !self.exhausted.is_empty()) {
                    break MacEvent::Nothing;
                }
                call.now = self.next;
                steps += 1;
            }
            if matches!(self.phase, SharedPhase::Idle) {
                self.start(call.now);
                if self.next >= bound {
                    break MacEvent::Nothing;
                }
                call.now = self.next;
                steps += 1;
            }
            if matches!(self.phase, SharedPhase::Data) {
                break self.receive(call.now);
            }
            let broadcast = self.general_advance(call);
            bound = bound.min(self.paused_queues.next());
            if let Some(id) = broadcast {
                break MacEvent::Broadcast { from: self.sender, id };
            }
            let is_news = !call.dropped.is_empty() || !call.retry_limit_drops.is_empty() || !self.exhausted.is_empty();
            if is_news || self.next >= bound {
                break MacEvent::Nothing;
            }
            call.now = self.next;
            steps += 1;
        };
        (event, steps)
    }

    /// Handles all phases but those of a successful unicast exchange. Returns the broadcast that was received, if any.
    #[inline(never)]
    fn general_advance(&mut self, call: &mut Call<'_>) -> Option<PacketId> {
        match self.phase {
            SharedPhase::Collision { began } => self.end_collision(began, call),
            SharedPhase::LostData | SharedPhase::LostAck => self.ack_timeout(call),
            SharedPhase::Broadcast => {
                let from = self.sender;
                let id = self.stations[from as usize].sent().id;
                self.account_exchange(from, false);
                self.succeed(call);
                self.receivers.clear();
                self.receivers.extend((0..).take(self.stations.len()).filter(|station| *station != from));
                return Some(id);
            }
            SharedPhase::Idle | SharedPhase::Data | SharedPhase::Ack => unreachable!("the usual phases are dealt with"),
        }
        None
    }

    /// The equivalent general channel, in its initial state. It gets the stations, with their queues, of this one.
    ///
    /// # Panics
    /// If a packet was already offered.
    #[must_use]
    pub fn general(&mut self) -> GeneralChannel {
        let is_new = |station: &SharedStation| station.frame.is_none() && station.counters == Counters::default();
        assert!(self.stations.iter().all(is_new), "nothing has happened");
        let header = self.access.timing.frame_length(Bytes(0));
        let stations = std::mem::take(&mut self.stations).into_iter().map(|station| {
            let SharedStation { contention, rate, overhead, queue, errors, .. } = station;
            contention.write_to(errors.write_to(StationSettings {
                rate,
                routing_overhead: overhead - header,
                queue,
                ..StationSettings::plain()
            }))
        });
        GeneralChannel::new(EdcaSettings::dcf(self.access, &[self.ap], stations.collect()))
    }
}
