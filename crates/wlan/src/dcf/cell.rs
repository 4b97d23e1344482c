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
//! - Short and long retry counts belong to the frame (10.3.4.4 counts per station too, which makes a difference only
//!   between frames given up in sequence).
//! - A sender that gave up a frame takes the next one out of its queue when the collision ends, not at the timeout.
//! - A frame spoilt by an error probability sets the NAV of all but its receiver, as if they had read it.

use wifair_engine::Stream;
use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::slots::Slots;
use super::{Access, BROADCAST, Eifs, IdleAccess};
use crate::queue::{Discipline, Dropped, Gauge, Queue};

/// What distinguishes one station (or the access point) from another.
#[derive(Clone, Debug)]
pub struct StationSettings {
    /// aCWmin.
    pub cw_min: u32,
    /// aCWmax.
    pub cw_max: u32,
    /// Whether the backoff is drawn from `0..CW` without `CW` itself, as ns-2 does.
    pub exclude_cw: bool,
    /// Rate of data frames to and from this station.
    pub rate: BitRate,
    /// Bytes that the station's own routing adds to each packet it sends: 20 with ns-2's DSDV, none otherwise.
    pub routing_overhead: Bytes,
    /// Probability that a data frame to this station is not received.
    pub data_error_to: f64,
    /// Probability that a data frame from this station is not received.
    pub data_error_from: f64,
    /// Probability that an RTS, CTS or ACK to this station is not received.
    pub control_error_to: f64,
    /// Packets that wait for the MAC.
    pub queue: Queue,
    /// Backoff draws.
    pub backoff: Stream,
    /// Draws of frame errors at this receiver.
    pub errors: Stream,
}

/// What one station did, since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Attempts: data frames sent, or RTS that got no answer.
    pub attempts: u64,
    /// Data frames acknowledged (or broadcast).
    pub delivered: u64,
    /// Attempts that met another frame.
    pub collisions: u64,
    /// Attempts without an answer because of an error.
    pub errors: u64,
    /// Frames given up at a retry limit.
    pub given_up: u64,
    /// Air time of its data frames that met no other.
    pub data: Duration,
    /// Air time of RTS, CTS and ACK frames of its exchanges.
    pub control: Duration,
    /// Air time of its frames that met another.
    pub collided: Duration,
}

/// What the air was used for, since the start of the run. The sum of the fields is the time passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirTime {
    /// Data frames received.
    pub data: Duration,
    /// ACK frames.
    pub ack: Duration,
    /// RTS and CTS frames.
    pub rts_cts: Duration,
    /// Frames that met another frame, from the first start to the last end.
    pub collision: Duration,
    /// Data frames spoilt by an error.
    pub error: Duration,
    /// No frame at all: SIFS, DIFS, backoff, and nothing to send.
    pub idle: Duration,
}

impl AirTime {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.data + self.ack + self.rts_cts + self.collision + self.error + self.idle
    }
}

/// What has been received when a medium was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Nothing.
    Nothing,
    /// `to` received a packet.
    Packet {
        /// The receiver.
        to: u32,
        /// The packet, which now is the receiver's.
        id: PacketId,
    },
    /// Everybody but `from` received a packet.
    Broadcast {
        /// The sender.
        from: u32,
        /// The packet, which now is the caller's.
        id: PacketId,
    },
}

/// The frame that a station is trying to send.
#[derive(Clone, Copy, Debug)]
struct Frame {
    id: PacketId,
    to: u32,
    length: Bytes,
    air: Duration,
    /// The receiver has it already; only its ACK was lost. The packet is not the station's any more.
    received: bool,
}

#[derive(Clone, Debug)]
struct Station {
    frame: Option<Frame>,
    /// The slot in which the pending backoff ends, on the shared count; in the past if it has ended.
    backoff_end: u64,
    cw: u32,
    short_retries: u8,
    long_retries: u8,
    cw_min: u32,
    cw_max: u32,
    exclude_cw: bool,
    rate: BitRate,
    routing_overhead: Bytes,
    backoff: Stream,
}

impl Station {
    fn draw_backoff(&mut self) -> u64 {
        let values = if self.exclude_cw { self.cw.max(1) } else { self.cw + 1 };
        u64::from(self.backoff.below(values))
    }

    fn reset(&mut self) {
        self.cw = self.cw_min;
        self.short_retries = 0;
        self.long_retries = 0;
    }
}

#[derive(Clone, Debug)]
struct Errors {
    data_to: f64,
    data_from: f64,
    control_to: f64,
    stream: Stream,
}

/// A station whose slots do not lie on the grid of the others: after its own timeout, or one that sends at once.
#[derive(Clone, Copy, Debug)]
struct Loner {
    station: u32,
    /// Its slots are counted from here.
    from: Time,
    slots: u64,
    /// It drew a backoff. If not, it must draw one when somebody is faster.
    drew: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nobody sends.
    Idle,
    /// A data frame (with what precedes it) is on the air, to be received or spoilt at the end.
    Data { spoilt: bool },
    /// A broadcast frame is on the air.
    Broadcast,
    /// The frame was received and the ACK is on its way, or due; `lost`: the sender does not get it.
    Ack { lost: bool },
    /// Several frames are on the air.
    Collision { began: Time },
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Cell {
    access: Access,
    /// The station through which others send: a frame from it goes at the rate of its receiver.
    hub: u32,
    stations: Vec<Station>,
    queues: Vec<Queue>,
    errors: Vec<Errors>,
    counters: Vec<Counters>,
    slots: Slots,
    /// Idle slots counted so far, up to `origin`.
    count: u64,
    /// The next idle slot begins here, unless somebody sends before.
    origin: Time,
    loners: Vec<Loner>,
    phase: Phase,
    /// Who is on the air.
    senders: Vec<u32>,
    next: Time,
    hub_queue: Gauge,
    air: AirTime,
    /// [`AirTime`] is accounted up to here.
    accounted: Time,
    ack: Duration,
    protection: Duration,
}

impl Cell {
    /// A cell of these stations, of which `hub` is the access point.
    #[must_use]
    pub fn new(access: Access, hub: u32, stations: Vec<StationSettings>) -> Self {
        let timing = &access.timing;
        let widest = stations.iter().map(|s| u64::from(s.cw_max)).max().unwrap_or(0);
        let mut cell = Self {
            access,
            hub,
            slots: Slots::new(stations.len(), 2 * widest),
            counters: vec![Counters::default(); stations.len()],
            stations: vec![],
            queues: vec![],
            errors: vec![],
            count: 0,
            origin: Time::ZERO + timing.difs,
            loners: vec![],
            phase: Phase::Idle,
            senders: vec![],
            next: Time::NEVER,
            hub_queue: Gauge::default(),
            air: AirTime::default(),
            accounted: Time::ZERO,
            ack: timing.ack(),
            protection: timing.rts() + timing.sifs + timing.cts() + timing.sifs,
        };
        for station in stations {
            cell.queues.push(station.queue);
            cell.errors.push(Errors {
                data_to: station.data_error_to,
                data_from: station.data_error_from,
                control_to: station.control_error_to,
                stream: station.errors,
            });
            cell.stations.push(Station {
                frame: None,
                backoff_end: 0,
                cw: station.cw_min,
                short_retries: 0,
                long_retries: 0,
                cw_min: station.cw_min,
                cw_max: station.cw_max,
                exclude_cw: station.exclude_cw,
                rate: station.rate,
                routing_overhead: station.routing_overhead,
                backoff: station.backoff,
            });
        }
        cell
    }

    /// When [`Cell::advance`] is to be called next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// The queue of a station.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        &self.queues[station as usize]
    }

    /// What a station did.
    #[must_use]
    pub fn counters(&self, station: u32) -> &Counters {
        &self.counters[station as usize]
    }

    /// What every station did, in their order.
    #[must_use]
    pub fn all_counters(&self) -> &[Counters] {
        &self.counters
    }

    /// What the air was used for until `now`.
    #[must_use]
    pub fn air_time(&self, now: Time) -> AirTime {
        let mut air = self.air;
        let since = now.saturating_since(self.accounted);
        // Of an exchange under way, what has passed of it.
        match self.phase {
            Phase::Idle => air.idle += since,
            Phase::Collision { .. } => air.collision += since,
            Phase::Data { .. } | Phase::Broadcast => {
                let timing = &self.access.timing;
                let frame = self.stations[self.senders[0] as usize].frame.expect("a sender has a frame");
                let mut left = since;
                let mut spend = |part: Duration| {
                    let spent = part.min(left);
                    left = left.saturating_sub(spent);
                    spent
                };
                if self.is_protected(&frame) {
                    air.rts_cts += spend(timing.rts());
                    air.idle += spend(timing.sifs);
                    air.rts_cts += spend(timing.cts());
                    air.idle += spend(timing.sifs);
                }
                if matches!(self.phase, Phase::Data { spoilt: true }) {
                    air.error += spend(frame.air);
                } else {
                    air.data += spend(frame.air);
                }
            }
            Phase::Ack { .. } => {
                let gap = self.access.timing.sifs.min(since);
                air.idle += gap;
                air.ack += since - gap;
            }
        }
        air
    }

    /// Packets of a station that are neither in its queue nor anyone else's: the frame it is trying to send.
    #[must_use]
    pub fn in_hand(&self, station: u32) -> Option<PacketId> {
        self.stations[station as usize].frame.filter(|frame| !frame.received).map(|frame| frame.id)
    }

    /// `station` gets a packet to send. `receiver` tells the station to which a packet goes next.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        station: u32,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: impl Fn(&Packet) -> u32,
    ) {
        let to = receiver(&packets[id]);
        self.queues[station as usize].enqueue(now, id, to, packets, dropped);
        if self.stations[station as usize].frame.is_none() && self.load(now, station, packets, dropped, &receiver) {
            self.request(now, station);
        } else if station == self.hub {
            self.read_gauge(now);
        }
    }

    #[inline]
    fn read_gauge(&mut self, now: Time) {
        let queue = &self.queues[self.hub as usize];
        self.hub_queue.set(now, queue.len(), queue.is_full());
    }

    /// The length of the access point's queue over time.
    #[must_use]
    pub fn hub_queue(&self) -> &Gauge {
        &self.hub_queue
    }

    /// The length of the access point's queue over time.
    pub fn hub_queue_mut(&mut self) -> &mut Gauge {
        &mut self.hub_queue
    }

    /// Takes the next packet of `station` out of its queue, if there is one.
    #[inline]
    fn load(
        &mut self,
        now: Time,
        station: u32,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: &impl Fn(&Packet) -> u32,
    ) -> bool {
        let index = station as usize;
        let frame = self.queues[index].dequeue(now, packets, dropped).map(|id| {
            let packet = &packets[id];
            let to = receiver(packet);
            let length = self.access.timing.frame_length(packet.bytes() + self.stations[index].routing_overhead);
            let rate_of = if station == self.hub && to != BROADCAST { to } else { station };
            let air = self.access.timing.frame(length, self.stations[rate_of as usize].rate);
            Frame { id, to, length, air, received: false }
        });
        self.stations[index].frame = frame;
        if station == self.hub {
            self.read_gauge(now);
        }
        frame.is_some()
    }

    /// A station that had nothing to send contends for the medium.
    fn request(&mut self, now: Time, station: u32) {
        let slot = self.access.timing.slot;
        let state = &mut self.stations[station as usize];
        if self.phase != Phase::Idle {
            // 10.3.4.2: the medium is busy, so a backoff is due, unless one is pending already.
            if state.backoff_end <= self.count {
                state.backoff_end = self.count + state.draw_backoff();
            }
            self.slots.insert(station, state.backoff_end);
            return;
        }
        let passed = now.saturating_since(self.origin).div_floor(slot);
        if state.backoff_end > self.count + passed {
            let target = state.backoff_end;
            self.slots.insert(station, target);
            self.next = self.next.min(self.origin + slot * (target - self.count));
            return;
        }
        let loner = match self.access.idle_access {
            IdleAccess::Immediate => Loner { station, from: now.max(self.origin), slots: 0, drew: false },
            IdleAccess::Backoff => {
                let from = (now + self.access.timing.difs).max(self.origin);
                Loner { station, from, slots: state.draw_backoff(), drew: true }
            }
        };
        self.next = self.next.min(loner.from + slot * loner.slots);
        self.loners.push(loner);
    }

    /// Goes on at the time of [`Cell::next`], and says what was received.
    #[inline]
    pub fn advance(
        &mut self,
        now: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        given_up: &mut Vec<(u32, PacketId)>,
        receiver: impl Fn(&Packet) -> u32,
    ) -> Heard {
        match self.phase {
            Phase::Idle => {
                self.start(now);
                Heard::Nothing
            }
            Phase::Data { spoilt: false } => self.receive(now),
            Phase::Ack { lost: false } => {
                self.finish(now, packets, dropped, &receiver);
                Heard::Nothing
            }
            Phase::Broadcast => {
                let from = self.senders[0];
                let frame = self.stations[from as usize].frame.expect("a sender has a frame");
                self.account_exchange(now, from, &frame, Duration::ZERO);
                self.succeed(now, from, packets, dropped, &receiver);
                Heard::Broadcast { from, id: frame.id }
            }
            Phase::Data { spoilt: true } | Phase::Ack { lost: true } => {
                self.miss(now, packets, dropped, given_up, &receiver);
                Heard::Nothing
            }
            Phase::Collision { began } => {
                self.resolve(now, began, packets, dropped, given_up, &receiver);
                Heard::Nothing
            }
        }
    }

    fn is_protected(&self, frame: &Frame) -> bool {
        frame.to != BROADCAST && self.access.protects(frame.length)
    }

    /// One or more stations begin to send.
    fn start(&mut self, now: Time) {
        let slot = self.access.timing.slot;
        let since = now.saturating_since(self.origin);
        let passed = since.div_floor(slot);
        self.count += passed;
        self.senders.clear();
        if now >= self.origin && since == slot * passed && self.slots.first_from(self.count) == Some(self.count) {
            self.slots.take(self.count, &mut self.senders);
        }
        if !self.loners.is_empty() {
            self.settle_loners(now);
        }
        self.air.idle += now - self.accounted;
        self.accounted = now;
        if self.senders.len() > 1 {
            self.collide(now);
            return;
        }
        let sender = self.senders[0];
        let state = &self.stations[sender as usize];
        let frame = state.frame.expect("a sender has a frame");
        let counters = &mut self.counters[sender as usize];
        counters.attempts += 1;
        if frame.to == BROADCAST {
            self.phase = Phase::Broadcast;
            self.next = now + frame.air;
            return;
        }
        let mut begins = now;
        if self.access.protects(frame.length) {
            if self.is_control_lost(frame.to) || self.is_control_lost(sender) {
                self.miss_answer_to_rts(now, sender);
                return;
            }
            begins += self.protection;
        }
        let spoilt = self.is_data_lost(sender, frame.to);
        self.phase = Phase::Data { spoilt };
        self.next = begins + frame.air;
    }

    /// Loners that are due send, the others go back to the common count.
    fn settle_loners(&mut self, now: Time) {
        let slot = self.access.timing.slot;
        let mut loners = std::mem::take(&mut self.loners);
        for loner in loners.drain(..) {
            if loner.from + slot * loner.slots == now {
                self.senders.push(loner.station);
                continue;
            }
            let state = &mut self.stations[loner.station as usize];
            let left = if loner.drew {
                loner.slots - now.saturating_since(loner.from).div_floor(slot)
            } else {
                state.draw_backoff()
            };
            state.backoff_end = self.count + left;
            self.slots.insert(loner.station, state.backoff_end);
        }
        self.loners = loners;
        self.senders.sort_unstable();
    }

    fn is_data_lost(&mut self, from: u32, to: u32) -> bool {
        let p = self.errors[from as usize].data_from;
        let errors = &mut self.errors[to as usize];
        // Two lotteries, so that one of them alone does not shift the draws of the other.
        let spoilt = errors.stream.chance(errors.data_to);
        errors.stream.chance(p) || spoilt
    }

    fn is_control_lost(&mut self, to: u32) -> bool {
        let errors = &mut self.errors[to as usize];
        errors.stream.chance(errors.control_to)
    }

    /// Time on the air of what `sender` begins with: the RTS, or the data frame.
    fn opening(&self, sender: u32) -> Duration {
        let frame = self.stations[sender as usize].frame.expect("a sender has a frame");
        if self.is_protected(&frame) { self.access.timing.rts() } else { frame.air }
    }

    fn collide(&mut self, now: Time) {
        let mut longest = Duration::ZERO;
        for sender in self.senders.clone() {
            let air = self.opening(sender);
            longest = longest.max(air);
            let counters = &mut self.counters[sender as usize];
            counters.attempts += 1;
            counters.collisions += 1;
            counters.collided += air;
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
        given_up: &mut Vec<(u32, PacketId)>,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        self.air.collision += now - self.accounted;
        self.accounted = now;
        let timing = self.access.timing;
        let wait = if self.access.eifs == Eifs::AfterCollision { timing.eifs() } else { timing.difs };
        self.idle_from(now + wait);
        let senders = std::mem::take(&mut self.senders);
        for &sender in &senders {
            let frame = self.stations[sender as usize].frame.expect("a sender has a frame");
            if frame.to == BROADCAST {
                // Nobody answers a broadcast, so its sender does not know.
                given_up.push((sender, frame.id));
                self.succeed_quietly(now, sender, packets, dropped, receiver);
                continue;
            }
            let ended = began + self.opening(sender);
            let resumes = (ended + self.access.answer_timeout).max(now + timing.difs);
            let by_rts = self.is_protected(&frame);
            self.fail(now, sender, by_rts, resumes, packets, dropped, given_up, receiver);
        }
        self.senders = senders;
        self.reschedule();
    }

    /// The data frame ends and is received.
    fn receive(&mut self, now: Time) -> Heard {
        let sender = self.senders[0];
        let frame = self.stations[sender as usize].frame.as_mut().expect("a sender has a frame");
        let heard = if frame.received { Heard::Nothing } else { Heard::Packet { to: frame.to, id: frame.id } };
        frame.received = true;
        let frame = *frame;
        self.account_exchange(now, sender, &frame, Duration::ZERO);
        let lost = self.is_control_lost(sender);
        self.phase = Phase::Ack { lost };
        self.next = now + self.access.timing.sifs + self.ack;
        heard
    }

    /// Books a data frame that ends at `now`, with what preceded it; `error`: how much of it was spoilt.
    fn account_exchange(&mut self, now: Time, sender: u32, frame: &Frame, error: Duration) {
        let counters = &mut self.counters[sender as usize];
        if frame.to != BROADCAST && self.access.protects(frame.length) {
            let gaps = self.access.timing.sifs * 2;
            self.air.idle += gaps;
            self.air.rts_cts += self.protection - gaps;
            counters.control += self.protection - gaps;
        }
        self.air.data += frame.air - error;
        self.air.error += error;
        counters.data += frame.air;
        self.accounted = now;
    }

    /// The ACK ends and is received.
    fn finish(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped, receiver: &impl Fn(&Packet) -> u32) {
        let sender = self.senders[0];
        self.account_ack(now, sender);
        self.succeed(now, sender, packets, dropped, receiver);
    }

    fn account_ack(&mut self, now: Time, sender: u32) {
        self.air.idle += self.access.timing.sifs;
        self.air.ack += self.ack;
        self.counters[sender as usize].control += self.ack;
        self.accounted = now;
    }

    /// The medium falls idle; slots are counted from `origin` on.
    fn idle_from(&mut self, origin: Time) {
        self.phase = Phase::Idle;
        self.origin = origin;
    }

    fn succeed(
        &mut self,
        now: Time,
        sender: u32,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        self.idle_from(now + self.access.timing.difs);
        self.succeed_quietly(now, sender, packets, dropped, receiver);
        self.reschedule();
    }

    /// A frame is done: contention window and retries return to their start, a backoff follows whether there is
    /// another frame or not (10.3.4.3).
    fn succeed_quietly(
        &mut self,
        now: Time,
        sender: u32,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        self.counters[sender as usize].delivered += 1;
        let state = &mut self.stations[sender as usize];
        state.reset();
        state.backoff_end = self.count + state.draw_backoff();
        let target = state.backoff_end;
        if self.load(now, sender, packets, dropped, receiver) {
            self.slots.insert(sender, target);
        }
    }

    /// No CTS comes. The others heard the RTS, and forget their NAV when no data frame follows (10.3.2.4).
    fn miss_answer_to_rts(&mut self, now: Time, sender: u32) {
        // Booked as a collision of the RTS with noise: the exchange ends with it.
        self.phase = Phase::Collision { began: now };
        self.next = now + self.access.timing.rts();
        let counters = &mut self.counters[sender as usize];
        counters.errors += 1;
        counters.collided += self.access.timing.rts();
    }

    /// No ACK comes: the data frame or its ACK was spoilt.
    fn miss(
        &mut self,
        now: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        given_up: &mut Vec<(u32, PacketId)>,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        let sender = self.senders[0];
        let frame = self.stations[sender as usize].frame.expect("a sender has a frame");
        let timing = self.access.timing;
        self.counters[sender as usize].errors += 1;
        let ended = if self.phase == (Phase::Ack { lost: true }) {
            self.account_ack(now, sender);
            self.idle_from(now + timing.difs);
            now - self.ack - timing.sifs
        } else {
            self.account_exchange(now, sender, &frame, frame.air);
            // The NAV of the others covers the ACK that does not come.
            self.idle_from(now + timing.sifs + self.ack + timing.difs);
            now
        };
        let resumes = (ended + self.access.answer_timeout).max(now + timing.difs);
        self.fail(now, sender, false, resumes, packets, dropped, given_up, receiver);
        self.reschedule();
    }

    /// `sender` got no answer; it contends again from `resumes` on, with the same frame or the next.
    #[allow(clippy::too_many_arguments)]
    fn fail(
        &mut self,
        now: Time,
        sender: u32,
        by_rts: bool,
        resumes: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        given_up: &mut Vec<(u32, PacketId)>,
        receiver: &impl Fn(&Packet) -> u32,
    ) {
        let access = &self.access;
        let state = &mut self.stations[sender as usize];
        let frame = state.frame.expect("a sender has a frame");
        let exhausted = if by_rts || !access.protects(frame.length) {
            state.short_retries += 1;
            state.short_retries >= access.short_retry_limit
        } else {
            state.long_retries += 1;
            state.long_retries >= access.long_retry_limit
        };
        state.cw = (2 * state.cw + 1).min(state.cw_max);
        if exhausted {
            let cw = state.cw;
            state.reset();
            if !access.reset_cw_on_drop {
                state.cw = cw;
            }
            self.counters[sender as usize].given_up += 1;
            if !frame.received {
                given_up.push((sender, frame.id));
            }
            self.load(now, sender, packets, dropped, receiver);
        }
        let slot = self.access.timing.slot;
        let state = &mut self.stations[sender as usize];
        let backoff = state.draw_backoff();
        // On the common grid, if its slots lie there.
        let ahead = resumes.saturating_since(self.origin);
        let aligned = resumes >= self.origin && ahead == slot * ahead.div_floor(slot);
        let shift = if aligned { ahead.div_floor(slot) } else { 0 };
        state.backoff_end = self.count + shift + backoff;
        if state.frame.is_none() {
            return;
        }
        if aligned && shift + backoff <= self.slots.horizon() {
            self.slots.insert(sender, state.backoff_end);
        } else {
            self.loners.push(Loner { station: sender, from: resumes, slots: backoff, drew: true });
        }
    }

    /// Finds out who is next.
    #[inline]
    fn reschedule(&mut self) {
        let slot = self.access.timing.slot;
        let grid = self.slots.first_from(self.count).map_or(Time::NEVER, |s| self.origin + slot * (s - self.count));
        self.next = self.loners.iter().fold(grid, |next, loner| next.min(loner.from + slot * loner.slots));
    }
}
