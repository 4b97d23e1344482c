//! A medium on which everybody hears everybody.
//!
//! One cell with its access point, all stations in range of each other. Then all see the same idle slots, a
//! frame that nobody else starts in the same slot is received unless an error probability says otherwise, and
//! frames that start in the same slot are lost. A whole exchange (RTS, CTS, data, ACK) is three events, whatever the
//! number of stations.
//!
//! Modelled: DIFS, EIFS, SIFS, slots, backoff that freezes and resumes, post-backoff, doubling of the contention
//! window, retry limits, ACK and CTS timeout, NAV (nobody interrupts an exchange, nor the gap of an ACK that does not come),
//! RTS and CTS by threshold, broadcast. Departures from the standard:
//!
//! - Propagation takes no time, and a station senses a frame from its first instant. A station whose slots do not
//!   lie on the others' grid (after an ACK timeout) defers to a frame that began during its last slot.
//! - Short and long retry counts belong to the frame, and a CTS clears the short one, as in ns-2 and ns-3 (10.3.4.4 has
//!   counts of the station that a CTS clears, and counts of the frame that it does not).
//! - A sender that gave up a frame takes the next one out of its queue when the collision ends, not at the timeout.
//! - A frame spoilt by an error probability sets the NAV of all but its receiver, as if they had read it.

use wifair_packet::{Kind, Packet, PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::slots::Slots;
use crate::fast::SaturatedSource;
use crate::queue_hooks::{AirUseMeter, PausedQueues};
use crate::station::{AirTimes, Contention, Errors, Frame, frame_length};
use crate::tap::{Attempt, Fate, Tap};
use crate::{Access, AirTime, BROADCAST, Counters, Eifs, IdleAccess, MacEvent, StationSettings};
use wifair_queue::{AirUse, Discipline, Dropped, Gauge, Queue};

#[derive(Clone, Debug)]
struct Station {
    frame: Option<Frame>,
    /// Nothing can come between its frame and the ACK: no RTS, no error, and it is for one station.
    is_simple: bool,
    /// The slot in which the pending backoff ends, on the shared count; in the past if it has ended.
    backoff_end: u64,
    contention: Contention,
    rate: BitRate,
    /// Air time of the ACK to a frame at this rate.
    ack: Duration,
    /// What its frames are longer by than the packets inside, if these are no routing messages.
    overhead: Bytes,
    counters: Counters,
    queue: Queue,
    /// What alone fills the queue.
    source: Option<Box<SaturatedSource>>,
    errors: Errors,
}

impl Station {
    /// Takes in what comes before `end`.
    #[inline(never)]
    fn pour_arrivals(&mut self, end: Time, packets: &mut Packets) {
        if let (Some(source), Queue::Fifo(queue)) = (&mut self.source, &mut self.queue) {
            source.pour_arrivals(end, queue, packets);
        }
    }

    #[inline]
    fn sent(&self) -> &Frame {
        self.frame.as_ref().expect("a sender has a frame")
    }

    /// Draws a backoff that begins at `resumes`, on a medium whose slots are counted from `origin` on. This is station
    /// `number`.
    #[inline(always)]
    fn back_off(
        &mut self,
        number: u32,
        resumes: Time,
        origin: Time,
        slots: &mut Slots,
        off_grid: &mut Vec<OffGridContender>,
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

/// A station whose slots do not lie on the grid of the others: after its own timeout, or one that sends at once.
#[derive(Clone, Copy, Debug)]
struct OffGridContender {
    station: u32,
    /// Its slots are counted from here.
    from: Time,
    slots: u64,
    /// It drew a backoff. If not, it must draw one when somebody is faster.
    drew: bool,
    /// It has a frame to send. If not, it only counts its slots.
    has_frame: bool,
}

impl OffGridContender {
    /// When its backoff ends.
    fn due(&self, slot: Duration) -> Time {
        self.from + slot * self.slots
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nobody sends.
    Idle,
    /// A data frame (with what precedes it) is on the air, and will be received.
    Data,
    /// The frame was received and the ACK is on its way, or due.
    Ack,
    /// A data frame is on the air that an error will spoil.
    Spoilt,
    /// The frame was received, but the sender does not get the ACK.
    LostAck,
    /// A broadcast frame is on the air.
    Broadcast,
    /// Several frames are on the air.
    Collision { began: Time },
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct SharedChannel {
    access: Access,
    /// The station through which others send: a frame from it goes at the rate of its receiver.
    ap: u32,
    stations: Vec<Station>,
    /// Frames may be spoilt by a given probability.
    lossy: bool,
    /// Every exchange has consequences beside a backoff: the NAV outlasts an ACK by rounding, or a queue wants to know what
    /// was used of the air.
    has_sequel: bool,
    /// The NAV of an RTS may outlast its exchange by rounding.
    rounds_nav: bool,
    slots: Slots,
    /// The next idle slot begins here, unless somebody sends before.
    origin: Time,
    /// Until when a rounded NAV outlasts its exchange.
    nav: Time,
    off_grid: Vec<OffGridContender>,
    /// When the first of them is to send that has a frame.
    off_grid_due: Time,
    phase: Phase,
    /// Who is on the air: the only one, or the first of those that met, who are listed then.
    sender: u32,
    senders: Vec<u32>,
    /// Who received the broadcast that was heard last.
    receivers: Vec<u32>,
    next: Time,
    /// The slot that begins at `next`, if it lies on the common grid.
    next_slot: Option<u64>,
    airs: AirTimes,
    ap_queue: Gauge,
    tap: Option<Box<Tap>>,
    paused_queues: PausedQueues,
    /// Stations whose feed did not keep up with the air.
    exhausted: Vec<u32>,
    /// What has come to the access point before then is in its queue.
    arrivals_until: Time,
    air_use: AirUseMeter,
    /// Air time beside that which the counters of the stations tell: RTS and CTS, of collisions, and of data frames that an
    /// error spoilt.
    rts_cts: Duration,
    collision: Duration,
    spoilt: Duration,
    /// RTS, CTS and the gaps behind them.
    protection: Duration,
    /// From the end of a collision until idle slots are counted.
    after_collision: Duration,
}

impl SharedChannel {
    /// A cell of these stations, of which `ap` is the access point.
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
            has_sequel: air_use.is_wanted() || outlasts,
            rounds_nav: access.nav_unit > Duration::ZERO,
            origin: Time::ZERO + timing.difs,
            nav: Time::ZERO,
            off_grid: vec![],
            off_grid_due: Time::NEVER,
            phase: Phase::Idle,
            sender: 0,
            senders: vec![],
            receivers: vec![],
            next: Time::NEVER,
            next_slot: None,
            airs: AirTimes::default(),
            ap_queue: Gauge::default(),
            tap: None,
            paused_queues: PausedQueues::new(),
            exhausted: vec![],
            arrivals_until: Time::NEVER,
            air_use,
            rts_cts: Duration::ZERO,
            collision: Duration::ZERO,
            spoilt: Duration::ZERO,
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
            cell.stations.push(Station {
                frame: None,
                is_simple: false,
                backoff_end: 0,
                contention: Contention::new(&station),
                rate: station.rate,
                ack: cell.access.timing.ack_to(station.rate),
                overhead: cell.access.timing.frame_length(station.routing_overhead),
                counters: Counters::default(),
                queue: station.queue,
                source: None,
                errors,
            });
        }
        cell
    }

    /// When [`SharedChannel::advance`] is to be called next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next.min(self.paused_queues.next())
    }

    /// Who received the broadcast that [`SharedChannel::advance`] reported last, in the order of their numbers.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// The queue of a station.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        &self.stations[station as usize].queue
    }

    /// What a station did.
    #[must_use]
    pub fn counters(&self, station: u32) -> &Counters {
        &self.stations[station as usize].counters
    }

    /// What every station did, in their order.
    #[must_use]
    pub fn all_counters(&self) -> Vec<Counters> {
        self.stations.iter().map(|station| station.counters).collect()
    }

    /// What the air was used for until `now`.
    #[must_use]
    pub fn air_time(&self, now: Time) -> AirTime {
        let sum = |part: fn(&Counters) -> Duration| {
            self.stations.iter().fold(Duration::ZERO, |sum, station| sum + part(&station.counters))
        };
        let mut air = AirTime {
            data: sum(|counters| counters.data) - self.spoilt,
            ack: sum(|counters| counters.control) - self.rts_cts,
            rts_cts: self.rts_cts,
            collision: self.collision,
            error: self.spoilt,
            ..AirTime::default()
        };
        // Of an exchange under way, what has passed of it.
        let timing = &self.access.timing;
        match self.phase {
            Phase::Idle => {}
            Phase::Collision { began } => air.collision += now - began,
            Phase::Data | Phase::Spoilt | Phase::Broadcast => {
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
                if self.phase == Phase::Spoilt {
                    air.error += spend(frame.air);
                } else {
                    air.data += spend(frame.air);
                }
            }
            Phase::Ack | Phase::LostAck => {
                air.ack += now.saturating_since(self.next - self.stations[self.sender as usize].sent().ack)
            }
        }
        air.idle = now - Time::ZERO - air.total();
        air
    }

    /// Packets of a station that are neither in its queue nor anyone else's: the frame it is trying to send.
    #[must_use]
    pub fn in_hand(&self, station: u32) -> Option<PacketId> {
        self.stations[station as usize].frame.filter(|frame| !frame.received).map(|frame| frame.id)
    }

    /// `station` gets a packet to send. `receiver` tells the station to which a packet goes next. Returns whether
    /// [`SharedChannel::next`] may have changed.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        station: u32,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: impl Fn(&Packet) -> u32,
    ) -> bool {
        let state = &mut self.stations[station as usize];
        match &mut state.queue {
            Queue::Fifo(fifo) => fifo.enqueue(now, id, 0, packets, dropped), // looks at nobody
            other => other.enqueue(now, id, receiver(&packets[id]), packets, dropped),
        }
        if state.frame.is_none() {
            self.wake_up(now, station, packets, dropped, &receiver);
            return true;
        }
        if station == self.ap {
            self.ap_queue.look(now, &state.queue);
        }
        false
    }

    /// A station other than the access point gets a packet to send, if that only makes its queue longer; else returns `false`,
    /// and the packet is to be [offered](SharedChannel::offer).
    #[inline(always)]
    pub fn fast_offer(&mut self, station: u32, id: PacketId, packets: &mut Packets) -> bool {
        let state = &mut self.stations[station as usize];
        let Queue::Fifo(fifo) = &mut state.queue else { return false };
        let packet = &mut packets[id];
        let fits = state.frame.is_some() && station != self.ap && fifo.has_room(packet.size);
        if fits {
            fifo.append(id, packet);
        }
        fits
    }

    /// From now on `source` alone fills the queue of a station that has a frame in hand.
    ///
    /// # Panics
    /// If [`SharedChannel::can_attach_source`] does not hold.
    pub fn attach_source(&mut self, station: u32, source: SaturatedSource) {
        assert!(self.can_attach_source(station), "a feed needs a queue that refuses what does not fit");
        self.stations[station as usize].source = Some(Box::new(source));
    }

    /// Whether a station may have a feed: while it has a frame in hand, if its queue is FIFO and drops arrivals only. The
    /// access point may not, for somebody measures how long its queue is.
    #[must_use]
    pub fn can_attach_source(&self, station: u32) -> bool {
        let state = &self.stations[station as usize];
        station != self.ap && state.frame.is_some() && matches!(&state.queue, Queue::Fifo(fifo) if fifo.refuses())
    }

    /// Takes in what the feeds bring before `end`.
    pub fn pour_arrivals(&mut self, end: Time, packets: &mut Packets) {
        for station in &mut self.stations {
            station.pour_arrivals(end, packets);
        }
    }

    /// All feeds.
    pub fn attached_sources(&mut self) -> impl Iterator<Item = &mut SaturatedSource> {
        self.stations.iter_mut().filter_map(|station| station.source.as_deref_mut())
    }

    /// Takes its feed from a station, if it has one.
    pub fn detach_source(&mut self, station: u32) -> Option<SaturatedSource> {
        self.stations[station as usize].source.take().map(|source| *source)
    }

    /// A station that has nothing more to send, for its feed did not keep up, or nothing came late to it. The caller takes
    /// the feed, or tells of everything from now on.
    #[inline]
    pub fn take_exhausted(&mut self) -> Option<u32> {
        self.exhausted.pop()
    }

    /// Whether packets may come to the access point late, in the sense of [`SharedChannel::arrive_lazily`], while it has a frame in hand:
    /// its queue is FIFO and drops arrivals only.
    #[must_use]
    pub fn allows_lazy_links(&self) -> bool {
        matches!(&self.stations[self.ap as usize].queue, Queue::Fifo(fifo) if fifo.refuses())
    }

    /// Whether the access point has a frame in hand, and so many packets wait for it that it will be busy for a while.
    #[inline]
    #[must_use]
    pub fn ap_is_backlogged(&self) -> bool {
        let state = &self.stations[self.ap as usize];
        let waiting = if let Queue::Fifo(fifo) = &state.queue { fifo.len() } else { state.queue.len() };
        state.frame.is_some() && waiting >= 2
    }

    /// The access point has been told of what came to it before `time`. When it goes on to take a packet out later than that,
    /// it asks for the rest by [`MacEvent::NeedsArrivals`]; with [`Time::NEVER`] it does not.
    #[inline]
    pub fn set_arrivals_until(&mut self, time: Time) {
        self.arrivals_until = time;
    }

    /// Whether the access point will want to be told, if it is advanced at `time`, before anything else happens.
    #[inline]
    #[must_use]
    pub fn needs_arrivals(&self, time: Time) -> bool {
        self.sender == self.ap && self.arrivals_until < time && self.phase == Phase::Ack
    }

    /// Packets came to the access point while it had a frame in hand: `next` gives them and their times, in order, and
    /// `refuse` takes those for which there was no room.
    #[inline]
    pub fn arrive_lazily(
        &mut self,
        packets: &mut Packets,
        mut next: impl for<'a> FnMut(&'a mut Packets) -> Option<(Time, PacketId, &'a mut Packet)>,
        mut refuse: impl FnMut(&mut Packets, PacketId),
    ) {
        let Queue::Fifo(fifo) = &mut self.stations[self.ap as usize].queue else { return };
        while let Some((then, id, packet)) = next(packets) {
            if fifo.has_room(packet.size) {
                fifo.append(id, packet);
                self.ap_queue.set(then, fifo.len(), fifo.is_full());
            } else {
                refuse(packets, id);
            }
        }
    }

    /// A station that had nothing to send has got a packet.
    #[inline(never)]
    fn wake_up(
        &mut self,
        now: Time,
        station: u32,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        if self.load(now, station, packets, dropped, receiver) {
            self.request(now, station);
        }
    }

    /// The length of the access point's queue over time.
    #[must_use]
    pub fn ap_queue(&self) -> &Gauge {
        &self.ap_queue
    }

    /// The length of the access point's queue over time.
    pub fn ap_queue_mut(&mut self) -> &mut Gauge {
        &mut self.ap_queue
    }

    /// Takes the next packet of `station` out of its queue, if there is one.
    #[inline(never)]
    fn load(
        &mut self,
        now: Time,
        station: u32,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: &impl Fn(&Packet) -> u32,
    ) -> bool {
        if self.air_use.is_wanted() {
            self.tell_air(now, station);
        }
        self.fast_load(now, station, packets, dropped, receiver)
    }

    /// The same where nobody wants to know about the air, for the one place where it is needed most.
    #[inline(always)]
    fn fast_load(
        &mut self,
        now: Time,
        station: u32,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: &impl Fn(&Packet) -> u32,
    ) -> bool {
        let state = &mut self.stations[station as usize];
        if let Some(source) = &state.source
            && source.next <= now
        {
            state.pour_arrivals(now + Duration::from_nanos(1), packets);
        }
        let taken = match &mut state.queue {
            Queue::Fifo(fifo) => fifo.take(packets),
            other => other.dequeue(now, packets, dropped).map(|id| (id, &packets[id])),
        };
        let Some((id, packet)) = taken else {
            self.fall_silent(now, station);
            return false;
        };
        let to = receiver(packet);
        let length = if packet.kind == Kind::Routing {
            frame_length(&self.access.timing, packet, Bytes(0))
        } else {
            packet.bytes() + state.overhead
        };
        match &mut state.frame {
            // As the one before: so are its times.
            Some(frame) if (frame.to, frame.length) == (to, length) => {
                frame.id = id;
                frame.received = false;
            }
            _ => self.put_in_hand(station, id, to, length),
        }
        if station == self.ap {
            self.ap_queue.look(now, &self.stations[station as usize].queue);
        }
        true
    }

    /// The next frame of `station`, which goes at the rate of its receiver if it is the access point.
    #[inline(always)]
    fn put_in_hand(&mut self, station: u32, id: PacketId, to: u32, length: Bytes) {
        let whose = if station == self.ap && to != BROADCAST { to } else { station };
        let Station { rate, ack, .. } = self.stations[whose as usize];
        let rate = if to == BROADCAST { self.access.broadcast_rate } else { rate };
        let air = self.airs.of(&self.access.timing, length, rate);
        let state = &mut self.stations[station as usize];
        state.is_simple = !self.lossy && to != BROADCAST && !self.access.protects(length);
        state.frame = Some(Frame { id, to, length, rate, air, ack, received: false });
    }

    /// `station` has nothing more to send.
    #[inline(never)]
    fn fall_silent(&mut self, now: Time, station: u32) {
        let state = &mut self.stations[station as usize];
        state.frame = None;
        if station == self.ap {
            self.ap_queue.look(now, &state.queue);
        }
        if state.source.is_some() || (station == self.ap && self.arrivals_until < Time::NEVER) {
            self.exhausted.push(station);
        }
        self.paused_queues.note(now, station, &state.queue);
    }

    /// Tells the queues at both ends what the frame of `station` cost that is done with.
    #[cold]
    fn tell_air(&mut self, now: Time, station: u32) {
        let state = &mut self.stations[station as usize];
        let Some(done) = state.frame else { return };
        let used = self.air_use.close(station, &state.counters, &done);
        state.queue.on_air(now, &used);
        if done.to != BROADCAST {
            self.stations[done.to as usize].queue.on_air(now, &AirUse { peer: station, sent: false, ..used });
        }
    }

    /// Asks the queues again that held packets back until now.
    #[cold]
    fn wake(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped, receiver: &impl Fn(&Packet) -> u32) {
        while let Some(station) = self.paused_queues.wake(now) {
            if self.stations[station as usize].frame.is_none() && self.load(now, station, packets, dropped, receiver) {
                self.request(now, station);
            }
        }
    }

    /// A station that had nothing to send contends for the medium.
    fn request(&mut self, now: Time, station: u32) {
        let slot = self.access.timing.slot;
        let state = &mut self.stations[station as usize];
        if self.phase != Phase::Idle {
            // 10.3.4.2: the medium is busy, so a backoff is due, unless one is pending already.
            let pending = state.backoff_end.checked_sub(self.slots.count()).filter(|slots| *slots > 0);
            let slots = pending.unwrap_or_else(|| u64::from(state.contention.draw()));
            state.backoff_end = self.slots.insert(station, slots);
            return;
        }
        let passed = now.saturating_since(self.origin).div_floor(slot);
        if state.backoff_end > self.slots.count() + passed {
            let target = state.backoff_end;
            self.wait_for_slot(station, target);
            return;
        }
        let mut origin = self.origin;
        if let Some(index) = self.off_grid.iter().position(|contender| contender.station == station) {
            let contender = &mut self.off_grid[index];
            if contender.slots > 0 && contender.due(slot) > now {
                contender.has_frame = true;
                let due = contender.due(slot);
                self.wait_off_grid(due);
                return;
            }
            origin = self.off_grid.swap_remove(index).from;
        } else if now < self.nav {
            // Busy to all but sender and receiver, which are loners.
            let state = &mut self.stations[station as usize];
            state.backoff_end = self.slots.count() + u64::from(state.contention.draw());
            let target = state.backoff_end;
            self.wait_for_slot(station, target);
            return;
        }
        let state = &mut self.stations[station as usize];
        let contender = match self.access.idle_access {
            IdleAccess::Immediate => {
                OffGridContender { station, from: now.max(origin), slots: 0, drew: false, has_frame: true }
            }
            IdleAccess::Backoff => {
                let from = (now + self.access.timing.difs).max(origin);
                OffGridContender {
                    station,
                    from,
                    slots: u64::from(state.contention.draw()),
                    drew: true,
                    has_frame: true,
                }
            }
        };
        self.wait_off_grid(contender.due(slot));
        self.off_grid.push(contender);
    }

    /// `station` will send in slot `target` of the idle medium, unless somebody is before it.
    fn wait_for_slot(&mut self, station: u32, target: u64) {
        let ahead = target - self.slots.count();
        self.slots.insert(station, ahead);
        let time = self.origin + self.access.timing.slot * ahead;
        if time <= self.next {
            self.next = time;
            self.next_slot = Some(target);
        }
    }

    /// A loner will send at `time`, unless somebody else is before it.
    fn wait_off_grid(&mut self, time: Time) {
        self.off_grid_due = self.off_grid_due.min(time);
        if time < self.next {
            self.next = time;
            self.next_slot = None;
        }
    }

    /// Goes on at the time of [`SharedChannel::next`], and says what was received.
    pub fn advance(
        &mut self,
        mut now: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        retry_limit_drops: &mut Vec<(u32, PacketId)>,
        receiver: impl Fn(&Packet) -> u32,
    ) -> MacEvent {
        self.go_on(&mut now, Time::ZERO, packets, dropped, retry_limit_drops, receiver).0
    }

    /// Goes on at the time of [`SharedChannel::next`], which is `now`, and then on and on before `bound`, until something was
    /// received or lost, or the access point wants to know what came to it. Moves `now`, and returns how many steps were taken.
    #[inline(always)]
    pub fn go_on(
        &mut self,
        now: &mut Time,
        bound: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        retry_limit_drops: &mut Vec<(u32, PacketId)>,
        receiver: impl Fn(&Packet) -> u32,
    ) -> (MacEvent, u64) {
        if *now < self.next {
            self.wake(*now, packets, dropped, &receiver);
            return (MacEvent::Nothing, 1);
        }
        let mut at = *now;
        let mut steps = 1;
        let mut bound = bound.min(self.paused_queues.next());
        if self.tap.is_some() {
            self.record(at, packets);
            bound = Time::ZERO; // one phase at a time
        }
        // The usual phases stand in the order in which they follow each other.
        let heard = loop {
            if self.phase == Phase::Ack {
                if self.arrivals_until < at && self.sender == self.ap {
                    steps -= 1;
                    break MacEvent::NeedsArrivals;
                }
                let goes_on = self.finish(at, packets, dropped, &receiver);
                if !goes_on {
                    bound = bound.min(self.paused_queues.next());
                }
                if self.next >= bound || !dropped.is_empty() || (!goes_on && !self.exhausted.is_empty()) {
                    break MacEvent::Nothing;
                }
                at = self.next;
                steps += 1;
            }
            if self.phase == Phase::Idle {
                self.start(at);
                if self.next >= bound {
                    break MacEvent::Nothing;
                }
                at = self.next;
                steps += 1;
            }
            if self.phase == Phase::Data {
                break self.receive(at);
            }
            if self.arrivals_until < at && self.is_ap_on_air() {
                steps -= 1;
                break MacEvent::NeedsArrivals;
            }
            let broadcast = self.general_advance(at, packets, dropped, retry_limit_drops, &receiver);
            bound = bound.min(self.paused_queues.next());
            if let Some(id) = broadcast {
                break MacEvent::Broadcast { from: self.sender, id };
            }
            let is_news = !dropped.is_empty() || !retry_limit_drops.is_empty() || !self.exhausted.is_empty();
            if is_news || self.next >= bound {
                break MacEvent::Nothing;
            }
            at = self.next;
            steps += 1;
        };
        *now = at;
        (heard, steps)
    }

    /// What is not a part of a frame that is received and acknowledged. Returns the broadcast that was received, if one was.
    #[inline(never)]
    fn general_advance(
        &mut self,
        now: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        retry_limit_drops: &mut Vec<(u32, PacketId)>,
        receiver: &impl Fn(&Packet) -> u32,
    ) -> Option<PacketId> {
        match self.phase {
            Phase::Collision { began } => self.resolve(now, began, packets, dropped, retry_limit_drops, receiver),
            Phase::Spoilt | Phase::LostAck => self.miss(now, packets, dropped, retry_limit_drops, receiver),
            Phase::Broadcast => {
                let from = self.sender;
                let id = self.stations[from as usize].sent().id;
                self.account_exchange(from, false);
                self.succeed(now, packets, dropped, receiver);
                self.receivers.clear();
                self.receivers.extend((0..).take(self.stations.len()).filter(|station| *station != from));
                return Some(id);
            }
            Phase::Idle | Phase::Data | Phase::Ack => unreachable!("the usual phases are dealt with"),
        }
        None
    }

    /// Keeps records of frames and backoffs, or not.
    pub fn set_tap(&mut self, on: bool) {
        self.tap = on.then(Box::default);
    }

    /// What was recorded, if records are kept.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        self.tap.as_deref_mut()
    }

    /// The same, to be read only.
    #[must_use]
    pub fn records(&self) -> Option<&Tap> {
        self.tap.as_deref()
    }

    /// Records what ends at `now`.
    #[cold]
    fn record(&mut self, now: Time, packets: &Packets) {
        let Some(mut tap) = self.tap.take() else { return };
        match self.phase {
            Phase::Idle => {
                for (station, state) in (0..).zip(&self.stations).filter(|(_, state)| state.frame.is_some()) {
                    match self.off_grid.iter().find(|contender| contender.station == station) {
                        Some(contender) if contender.slots > 0 => tap.backoff(station, contender.from, now),
                        None if state.backoff_end > self.slots.count() => tap.backoff(station, self.origin, now),
                        _ => {}
                    }
                }
            }
            Phase::Data | Phase::Broadcast => tap.exchange(now, &self.attempt(self.sender, packets), Fate::Read),
            Phase::Spoilt => tap.exchange(now, &self.attempt(self.sender, packets), Fate::Error),
            Phase::Ack => tap.ack(now, &self.attempt(self.sender, packets), Fate::Read),
            Phase::LostAck => tap.ack(now, &self.attempt(self.sender, packets), Fate::Error),
            Phase::Collision { began } => {
                let fate = if self.met() { Fate::Collision } else { Fate::Error };
                for &sender in self.on_air() {
                    tap.opening(began, &self.attempt(sender, packets), fate);
                }
            }
        }
        self.tap = Some(tap);
    }

    fn attempt<'a>(&'a self, sender: u32, packets: &'a Packets) -> Attempt<'a> {
        let station = &self.stations[sender as usize];
        Attempt {
            access: &self.access,
            from: sender,
            frame: station.frame.expect("a sender has a frame"),
            retry: station.contention.is_retry(),
            packets,
        }
    }

    fn is_protected(&self, frame: &Frame) -> bool {
        frame.to != BROADCAST && self.access.protects(frame.length)
    }

    /// One or more stations begin to send.
    #[inline(always)]
    fn start(&mut self, now: Time) {
        if let Some(slot) = self.next_slot
            && now < self.off_grid_due
        {
            self.slots.count_to(slot);
            if let Some(sender) = self.slots.take_only(slot) {
                if !self.off_grid.is_empty() {
                    self.rejoin(now);
                }
                self.sender = sender;
                self.start_alone(now);
                return;
            }
        }
        self.start_together(now);
    }

    /// Several stations begin to send; or loners, one or more, and perhaps others in the same instant.
    #[inline(never)]
    fn start_together(&mut self, now: Time) {
        if let Some(slot) = self.next_slot {
            self.slots.count_to(slot);
            self.slots.take(slot, &mut self.senders);
        } else {
            let passed = now.saturating_since(self.origin).div_floor(self.access.timing.slot);
            self.slots.count_to(self.slots.count() + passed);
        }
        if !self.off_grid.is_empty() {
            self.send_off_grid(now);
        }
        self.sender = self.senders[0];
        if self.met() {
            self.collide(now);
        } else {
            self.senders.clear();
            self.start_alone(now);
        }
    }

    /// Whether frames of several stations are on the air.
    #[inline]
    fn met(&self) -> bool {
        self.senders.len() > 1
    }

    /// Whether a frame of the access point is among them.
    #[inline]
    fn is_ap_on_air(&self) -> bool {
        self.sender == self.ap || (self.met() && self.senders.contains(&self.ap))
    }

    /// Who sends.
    fn on_air(&self) -> &[u32] {
        if self.met() { &self.senders } else { std::slice::from_ref(&self.sender) }
    }

    /// The only sender begins.
    #[inline(always)]
    fn start_alone(&mut self, now: Time) {
        let sender = self.sender;
        let state = &mut self.stations[sender as usize];
        state.counters.attempts += 1;
        if state.is_simple {
            self.phase = Phase::Data;
            self.next = now + state.sent().air;
        } else {
            self.general_start(now);
        }
    }

    /// The only sender begins with an RTS, or with a frame that may be lost or is for everyone.
    #[inline(never)]
    fn general_start(&mut self, now: Time) {
        let sender = self.sender;
        let Frame { to, air, length, .. } = *self.stations[sender as usize].sent();
        if to == BROADCAST {
            self.phase = Phase::Broadcast;
            self.next = now + air;
            return;
        }
        let mut begins = now;
        if self.access.protects(length) {
            if self.lossy && (self.is_control_lost(to) || self.is_control_lost(sender)) {
                self.miss_answer_to_rts(now);
                return;
            }
            self.stations[sender as usize].contention.clear();
            begins += self.protection;
        }
        let spoilt = self.lossy && self.is_data_lost(sender, to);
        self.phase = if spoilt { Phase::Spoilt } else { Phase::Data };
        self.next = begins + air;
    }

    /// Loners that are due send, the others go back to the common count.
    #[inline(never)]
    fn send_off_grid(&mut self, now: Time) {
        let slot = self.access.timing.slot;
        let before = self.senders.len();
        let senders = &mut self.senders;
        self.off_grid.retain(|contender| {
            let sends = contender.has_frame && contender.due(slot) == now;
            if sends {
                senders.push(contender.station);
            }
            !sends
        });
        if self.senders.len() > before {
            self.senders.sort_unstable();
        }
        self.rejoin(now);
    }

    /// Loners go back to the common count.
    #[inline(never)]
    fn rejoin(&mut self, now: Time) {
        let slot = self.access.timing.slot;
        for contender in &self.off_grid {
            let state = &mut self.stations[contender.station as usize];
            let left = if contender.drew {
                let passed = if now > contender.from { (now - contender.from).div_floor(slot) } else { 0 };
                contender.slots.saturating_sub(passed)
            } else {
                u64::from(state.contention.draw())
            };
            state.backoff_end = self.slots.count() + left;
            if contender.has_frame {
                self.slots.insert(contender.station, left);
            }
        }
        self.off_grid.clear();
        self.off_grid_due = Time::NEVER;
    }

    fn is_data_lost(&mut self, from: u32, to: u32) -> bool {
        let p = self.stations[from as usize].errors.data_from;
        self.stations[to as usize].errors.loses_data(p)
    }

    #[inline(never)]
    fn is_control_lost(&mut self, to: u32) -> bool {
        self.stations[to as usize].errors.loses_control()
    }

    /// Time on the air of what `sender` begins with: the RTS, or the data frame.
    fn opening(&self, sender: u32) -> Duration {
        let frame = self.stations[sender as usize].sent();
        if self.is_protected(frame) { self.access.timing.rts() } else { frame.air }
    }

    fn collide(&mut self, now: Time) {
        let mut longest = Duration::ZERO;
        for place in 0..self.senders.len() {
            let sender = self.senders[place];
            let state = &mut self.stations[sender as usize];
            state.counters.attempts += 1;
            longest = longest.max(if state.is_simple { state.sent().air } else { self.opening(sender) });
        }
        self.phase = Phase::Collision { began: now };
        self.next = now + longest;
    }

    /// The frames of a collision have ended.
    fn resolve(
        &mut self,
        now: Time,
        began: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        retry_limit_drops: &mut Vec<(u32, PacketId)>,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        self.collision += now - began;
        let met = self.met();
        self.idle_from(now + if met { self.after_collision } else { self.access.timing.difs });
        let last = match self.access.eifs {
            Eifs::Nav => self.count_last(now, began),
            _ => 0, // nobody asks
        };
        if !met {
            self.resolve_one(now, began, last, self.sender, packets, dropped, retry_limit_drops, receiver); // an RTS without answer
        }
        for place in 0..self.senders.len() {
            let sender = self.senders[place];
            let state = &mut self.stations[sender as usize];
            if !state.is_simple || self.access.eifs == Eifs::Nav {
                self.resolve_one(now, began, last, sender, packets, dropped, retry_limit_drops, receiver);
                continue;
            }
            let air = state.sent().air;
            state.counters.collisions += 1;
            state.counters.collided += air;
            let resumes = self.access.after_timeout(began + air, now);
            if state.contention.fail(&self.access, true) {
                self.drop_at_retry_limit(now, sender, resumes, packets, dropped, retry_limit_drops, receiver);
            } else {
                state.back_off(sender, resumes, self.origin, &mut self.slots, &mut self.off_grid);
            }
        }
        self.senders.clear();
        self.reschedule();
    }

    /// Frames that end at `now`, of those that began at `began`.
    #[inline(never)]
    fn count_last(&self, now: Time, began: Time) -> usize {
        self.on_air().iter().filter(|sender| began + self.opening(**sender) == now).count()
    }

    /// The same for one of the senders, who may have sent an RTS or to all, under whatever rules of EIFS.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    fn resolve_one(
        &mut self,
        now: Time,
        began: Time,
        last: usize,
        sender: u32,
        packets: &mut Packets,
        dropped: &mut Dropped,
        retry_limit_drops: &mut Vec<(u32, PacketId)>,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        let difs = self.access.timing.difs;
        let ended = began + self.opening(sender);
        let nav = self.access.nav_after_own(last > 1 || ended < now);
        let met = self.met();
        let state = &mut self.stations[sender as usize];
        let Frame { id, to, .. } = *state.sent();
        let unanswered = if met { &mut state.counters.collisions } else { &mut state.counters.errors };
        *unanswered += 1;
        state.counters.collided += ended - began;
        if to == BROADCAST {
            // Nobody answers a broadcast, so its sender does not know.
            retry_limit_drops.push((sender, id));
            state.counters.delivered += 1;
            state.contention.reset();
            self.load(now, sender, packets, dropped, receiver);
            self.back_off(sender, now + nav + difs);
            return;
        }
        let resumes = match self.access.eifs {
            Eifs::Nav => (ended + self.access.answer_timeout).max(now + nav) + difs,
            _ => self.access.after_timeout(ended, now),
        };
        // An RTS, or a frame too short for one: the short count.
        self.fail(now, sender, true, resumes, packets, dropped, retry_limit_drops, receiver);
    }

    /// The data frame ends and is received.
    #[inline(always)]
    fn receive(&mut self, now: Time) -> MacEvent {
        let state = &mut self.stations[self.sender as usize];
        let frame = state.frame.as_mut().expect("a sender has a frame");
        let heard = MacEvent::Packet { to: frame.to, id: frame.id };
        if !state.is_simple {
            return if self.general_receive(now) { heard } else { MacEvent::Nothing };
        }
        frame.received = true;
        state.counters.data += frame.air;
        self.phase = Phase::Ack;
        self.next = now + self.access.timing.sifs + frame.ack;
        heard
    }

    /// The same where the frame followed a CTS, or frames may be lost. Returns whether the receiver did not have it before.
    #[inline(never)]
    fn general_receive(&mut self, now: Time) -> bool {
        let sender = self.sender;
        self.account_exchange(sender, false);
        let lost = self.lossy && self.is_control_lost(sender);
        let frame = self.stations[sender as usize].frame.as_mut().expect("a sender has a frame");
        self.phase = if lost { Phase::LostAck } else { Phase::Ack };
        self.next = now + self.access.timing.sifs + frame.ack;
        !std::mem::replace(&mut frame.received, true)
    }

    /// Books a data frame that ends, with what preceded it.
    fn account_exchange(&mut self, sender: u32, spoilt: bool) {
        let Station { frame, counters, .. } = &mut self.stations[sender as usize];
        let frame = frame.as_ref().expect("a sender has a frame");
        if frame.to != BROADCAST && self.access.protects(frame.length) {
            let rts_cts = self.protection - self.access.timing.sifs * 2;
            self.rts_cts += rts_cts;
            counters.control += rts_cts;
        }
        if spoilt {
            self.spoilt += frame.air;
        }
        counters.data += frame.air;
    }

    /// The ACK ends and is received. Returns whether the sender has another frame and nothing else can have happened.
    #[inline(always)]
    fn finish(
        &mut self,
        now: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: &impl Fn(&Packet) -> u32,
    ) -> bool {
        let sender = self.sender;
        let state = &mut self.stations[sender as usize];
        state.counters.control += state.sent().ack;
        if self.has_sequel || self.rounds_nav && !state.is_simple {
            self.succeed(now, packets, dropped, receiver);
            return false;
        }
        state.counters.delivered += 1;
        state.contention.reset();
        let slots = u64::from(state.contention.draw());
        state.backoff_end = self.slots.count() + slots;
        self.phase = Phase::Idle;
        self.origin = now + self.access.timing.difs;
        let goes_on = self.fast_load(now, sender, packets, dropped, receiver);
        if goes_on {
            self.slots.insert(sender, slots);
        }
        self.reschedule();
        goes_on
    }

    /// The medium falls idle; slots are counted from `origin` on.
    fn idle_from(&mut self, origin: Time) {
        self.phase = Phase::Idle;
        self.origin = origin;
    }

    /// A frame is done: contention window and retries return to their start, a backoff follows whether there is
    /// another frame or not (10.3.4.3). Where the NAV of bystanders is rounded, sender and receiver, who have none, may resume
    /// before them.
    #[inline(never)]
    fn succeed(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped, receiver: &impl Fn(&Packet) -> u32) {
        let sender = self.sender;
        let resumes = now + self.access.timing.difs;
        let state = &mut self.stations[sender as usize];
        let frame = *state.sent();
        state.counters.delivered += 1;
        state.contention.reset();
        let after_rts = self.is_protected(&frame).then(|| {
            let timing = &self.access.timing;
            timing.sifs * 3 + timing.cts() + frame.air + frame.ack
        });
        let unicast = frame.to != BROADCAST;
        let excess = if unicast { self.access.nav_excess(frame.ack, after_rts) } else { Duration::ZERO };
        self.idle_from(resumes + excess);
        self.load(now, sender, packets, dropped, receiver);
        self.back_off(sender, resumes);
        if excess > Duration::ZERO {
            self.nav = now + excess;
            let state = &mut self.stations[frame.to as usize];
            let has_frame = state.frame.is_some();
            if has_frame {
                self.slots.remove(frame.to, state.backoff_end);
            }
            let slots = state.backoff_end.saturating_sub(self.slots.count());
            state.backoff_end = self.slots.count();
            self.off_grid.push(OffGridContender { station: frame.to, from: resumes, slots, drew: true, has_frame });
        }
        self.reschedule();
    }

    /// `sender` draws a backoff that begins at `resumes`.
    fn back_off(&mut self, sender: u32, resumes: Time) {
        let state = &mut self.stations[sender as usize];
        state.back_off(sender, resumes, self.origin, &mut self.slots, &mut self.off_grid);
    }

    /// No CTS comes. The others heard the RTS, and forget their NAV when no data frame follows (10.3.2.4).
    fn miss_answer_to_rts(&mut self, now: Time) {
        // Booked as a collision of the RTS with noise: the exchange ends with it.
        self.phase = Phase::Collision { began: now };
        self.next = now + self.access.timing.rts();
    }

    /// No ACK comes: the data frame or its ACK was spoilt.
    fn miss(
        &mut self,
        now: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        retry_limit_drops: &mut Vec<(u32, PacketId)>,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        let sender = self.sender;
        let frame = self.stations[sender as usize].frame.expect("a sender has a frame");
        let (sifs, difs) = (self.access.timing.sifs, self.access.timing.difs);
        self.stations[sender as usize].counters.errors += 1;
        let ended = if self.phase == Phase::LostAck {
            self.stations[sender as usize].counters.control += frame.ack;
            self.idle_from(now + difs);
            now - frame.ack - sifs
        } else {
            self.account_exchange(sender, true);
            // The NAV of the others covers the ACK that does not come.
            self.idle_from(now + sifs + frame.ack + difs);
            now
        };
        let resumes = self.access.after_timeout(ended, now);
        self.fail(
            now,
            sender,
            !self.access.protects(frame.length),
            resumes,
            packets,
            dropped,
            retry_limit_drops,
            receiver,
        );
        self.reschedule();
    }

    /// `sender` got no answer; it contends again from `resumes` on, with the same frame or the next. `is_short`: its short
    /// count has one more.
    #[allow(clippy::too_many_arguments)]
    fn fail(
        &mut self,
        now: Time,
        sender: u32,
        is_short: bool,
        resumes: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        retry_limit_drops: &mut Vec<(u32, PacketId)>,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        if self.stations[sender as usize].contention.fail(&self.access, is_short) {
            self.drop_at_retry_limit(now, sender, resumes, packets, dropped, retry_limit_drops, receiver);
        } else {
            self.back_off(sender, resumes);
        }
    }

    /// That was the last attempt; `sender` contends from `resumes` on with its next frame, if it has one.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn drop_at_retry_limit(
        &mut self,
        now: Time,
        sender: u32,
        resumes: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        retry_limit_drops: &mut Vec<(u32, PacketId)>,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        let state = &mut self.stations[sender as usize];
        state.counters.retry_limit_drops += 1;
        if let Some(Frame { id, received: false, .. }) = state.frame {
            retry_limit_drops.push((sender, id));
        }
        self.load(now, sender, packets, dropped, receiver);
        self.back_off(sender, resumes);
    }

    /// Finds out who is next.
    #[inline(always)]
    fn reschedule(&mut self) {
        let slot = self.access.timing.slot;
        if let Some(ahead) = self.slots.ahead() {
            self.next_slot = Some(self.slots.count() + ahead);
            self.next = self.origin + slot * ahead;
        } else {
            self.next_slot = None;
            self.next = Time::NEVER;
        }
        if !self.off_grid.is_empty() {
            self.look_at_off_grid();
        }
    }

    /// Finds out whether a loner is next.
    #[inline(never)]
    fn look_at_off_grid(&mut self) {
        let slot = self.access.timing.slot;
        let waiting = self.off_grid.iter().filter(|contender| contender.has_frame);
        self.off_grid_due = waiting.map(|contender| contender.due(slot)).min().unwrap_or(Time::NEVER);
        if self.off_grid_due < self.next {
            self.next = self.off_grid_due;
            self.next_slot = None;
        }
    }
}
