//! A plain channel on which all stations hear each other, written for clarity, without shortcuts. Tests compare the
//! other channels with it.
//!
//! Each contender has its own slot count, and the next sender is found by looking at all of them, so the cost of an
//! exchange is proportional to the number of stations. It has DCF and two access categories per station (IEEE Std
//! 802.11-2016, 10.3 and 10.22.2), TXOPs, RTS and CTS, frame errors, EIFS, and NAV rounding as in ns-2; single frames
//! only, no aggregates.
//!
//! Departures from the standard:
//!
//! - As in [`super::SharedChannel`], slots are counted as DCF does: see [`crate::edcaf::SlotRules`].
//! - If two categories of a station may send at the same instant, the one of higher priority does; the other doubles
//!   its window and draws again (10.22.2.2), but no attempt is counted against its frame.
//! - A TXOP ends with a frame that gets no response. A frame that would not fit is sent after a new contention.

mod bookkeeping;

use wifair_packet::PacketId;
use wifair_units::{BitRate, Bytes, Duration, Time};

use crate::category::{Category, First};
use crate::edcaf::{aifs, number};
use crate::queue_hooks::{AirUseMeter, PausedQueues};
use crate::station::{Contention, Errors, Frame, frame_length};
use crate::tap::Tap;
use crate::{Access, AirTime, BROADCAST, Call, Counters, Eifs, IdleAccess, MacEvent, StationSettings};
use wifair_queue::{AirUse, Discipline, Queue};

/// A station with two access categories.
#[derive(Clone, Debug)]
pub struct ReferenceStation {
    /// Settings that do not depend on the category, and windows and queue of the low-priority category.
    pub station: StationSettings,
    /// Parameters of the low-priority category. Its windows apply, not those in `station`.
    pub ordinary: Category,
    /// Parameters of the high-priority category.
    pub first: Category,
    /// Queue of the high-priority category.
    pub first_queue: Queue,
    /// Random stream of backoffs of the high-priority category.
    pub first_backoff: wifair_engine::Stream,
}

#[derive(Clone, Debug)]
struct ReferenceNode {
    rate: BitRate,
    routing_overhead: Bytes,
    errors: Errors,
}

/// One category of one station.
#[derive(Clone, Debug)]
struct Contender {
    queue: Queue,
    frame: Option<Frame>,
    contention: Contention,
    aifs: Duration,
    txop: Duration,
    burst: u32,
    /// Start of its slot count, if the channel stays idle.
    from: Time,
    /// Slots left.
    slots: u64,
    /// Whether the slots were drawn. If not, it is about to send at once, and draws when another station sends first.
    drew: bool,
}

impl Contender {
    fn due(&self, slot: Duration) -> Time {
        self.from + slot * self.slots
    }

    fn draw(&mut self) {
        self.slots = u64::from(self.contention.draw());
        self.drew = true;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReferencePhase {
    /// No station is sending.
    Idle,
    /// SIFS before a further frame of a TXOP.
    Gap,
    /// A data frame, or the frames before it, is on the air; `lost` if it will be lost.
    Data { lost: bool },
    /// A broadcast frame is on the air.
    Broadcast,
    /// The frame was received and the ACK is due or on the air; `lost` if the sender will not receive it.
    Ack { lost: bool },
    /// Several frames are on the air, or an RTS that gets no response.
    Collision,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct ReferenceChannel {
    access: Access,
    ap: u32,
    goes_first: First,
    nodes: Vec<ReferenceNode>,
    counters: Vec<Counters>,
    /// Two per station: high priority, then low priority.
    contenders: Vec<Contender>,
    phase: ReferencePhase,
    /// Start of the current phase, or of the first frame of a collision.
    began: Time,
    /// Contenders that are sending.
    senders: Vec<usize>,
    /// Start of the current TXOP, and number of frames sent in it.
    won_at: Time,
    in_a_row: u32,
    receivers: Vec<u32>,
    next: Time,
    /// Until when a rounded NAV outlasts its exchange.
    nav: Time,
    tap: Option<Box<Tap>>,
    paused_queues: PausedQueues,
    air_use: AirUseMeter,
    air: AirTime,
    accounted: Time,
}

impl ReferenceChannel {
    /// A channel of these stations, of which `ap` is the access point.
    #[must_use]
    pub fn new(access: Access, ap: u32, goes_first: First, stations: Vec<ReferenceStation>) -> Self {
        let (mut nodes, mut contenders) = (vec![], vec![]);
        for ReferenceStation { mut station, ordinary, first, first_queue, first_backoff } in stations {
            nodes.push(ReferenceNode {
                rate: station.rate,
                routing_overhead: station.routing_overhead,
                errors: Errors::new(&station),
            });
            let ordinary_queue = std::mem::replace(&mut station.queue, Queue::fifo(wifair_queue::Limit::Packets(1)));
            let ordinary_backoff = station.backoff.clone();
            for (category, queue, backoff) in
                [(first, first_queue, first_backoff), (ordinary, ordinary_queue, ordinary_backoff)]
            {
                station.cw_min = category.cw_min;
                station.cw_max = category.cw_max;
                station.backoff = backoff;
                let aifs = aifs(&access, &category);
                contenders.push(Contender {
                    queue,
                    frame: None,
                    contention: Contention::new(&station),
                    aifs,
                    txop: category.txop,
                    burst: category.burst,
                    from: Time::ZERO + aifs,
                    slots: 0,
                    drew: true,
                });
            }
        }
        Self {
            ap,
            goes_first,
            counters: vec![Counters::default(); nodes.len()],
            phase: ReferencePhase::Idle,
            began: Time::ZERO,
            senders: vec![],
            won_at: Time::ZERO,
            in_a_row: 0,
            receivers: vec![],
            next: Time::NEVER,
            nav: Time::ZERO,
            tap: None,
            paused_queues: PausedQueues::new(),
            air_use: AirUseMeter::new(contenders.iter().map(|contender| &contender.queue), nodes.len()),
            air: AirTime::default(),
            accounted: Time::ZERO,
            access,
            nodes,
            contenders,
        }
    }

    /// When to call [`ReferenceChannel::advance`] next.
    #[must_use]
    pub fn next(&self) -> Time {
        self.next.min(self.paused_queues.next())
    }

    /// Receivers of the broadcast last reported by [`ReferenceChannel::advance`], in the order of their numbers.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// The low-priority queue of a station.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        &self.contenders[2 * station as usize + 1].queue
    }

    /// Counters of a station.
    #[must_use]
    pub fn counters(&self, station: u32) -> &Counters {
        &self.counters[station as usize]
    }

    /// The packets of the frames that a station is trying to send, unless their receivers already have them; high
    /// priority first.
    #[must_use]
    pub fn current_frame(&self, station: u32) -> Option<PacketId> {
        let own = &self.contenders[2 * station as usize..][..2];
        own.iter().filter_map(|c| c.frame).find(|frame| !frame.received).map(|frame| frame.id)
    }

    fn frame(&self, contender: usize) -> Frame {
        self.contenders[contender].frame.expect("a sender has a frame")
    }

    fn is_protected(&self, frame: &Frame) -> bool {
        frame.to != BROADCAST && self.access.protects(frame.length)
    }

    /// Duration of RTS and CTS, with the gaps after them.
    fn protection(&self) -> Duration {
        let timing = &self.access.timing;
        timing.rts() + timing.sifs + timing.cts() + timing.sifs
    }

    /// Offers a packet to `station`.
    pub fn offer(&mut self, station: u32, id: PacketId, call: &mut Call<'_>) {
        let now = call.now;
        let packet = &call.packets[id];
        let (to, ordinary) = (call.next_hops.of(packet), !self.goes_first.takes(packet));
        let index = 2 * station as usize + usize::from(ordinary);
        self.contenders[index].queue.enqueue(now, id, to, call.packets, call.dropped);
        if self.contenders[index].frame.is_none() && self.load(index, call) {
            self.request(now, index);
        }
    }

    /// Dequeues the next packet of a contender, if there is one.
    fn load(&mut self, index: usize, call: &mut Call<'_>) -> bool {
        let now = call.now;
        let station = index / 2;
        if self.air_use.is_wanted() {
            self.report_air_use(now, index);
        }
        let frame = self.contenders[index].queue.dequeue(now, call.packets, call.dropped).map(|id| {
            let packet = &call.packets[id];
            let to = call.next_hops.of(packet);
            let length = frame_length(&self.access.timing, packet, self.nodes[station].routing_overhead);
            let rate_of = if station == self.ap as usize && to != BROADCAST { to as usize } else { station };
            let rate = if to == BROADCAST { self.access.broadcast_rate } else { self.nodes[rate_of].rate };
            let (air, ack) = (self.access.timing.frame(length, rate), self.access.timing.ack_to(rate));
            Frame { id, to, length, rate, air, ack, received: false }
        });
        let contender = &mut self.contenders[index];
        contender.frame = frame;
        if frame.is_none() {
            self.paused_queues.note(now, number(index), &contender.queue);
        }
        frame.is_some()
    }

    /// Reports the air time of a contender's finished frame to the queues at both ends, including what the other
    /// category of the station used in the meantime.
    fn report_air_use(&mut self, now: Time, index: usize) {
        let Some(done) = self.contenders[index].frame else { return };
        let used = self.air_use.close(number(index / 2), &self.counters[index / 2], &done);
        self.contenders[index].queue.on_air(now, &used);
        if done.to != BROADCAST {
            for contender in &mut self.contenders[2 * done.to as usize..][..2] {
                contender.queue.on_air(now, &AirUse { peer: number(index / 2), sent: false, ..used });
            }
        }
    }

    /// Asks queues again that held packets back until now.
    fn wake(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        while let Some(index) = self.paused_queues.wake(now) {
            let index = index as usize;
            if self.contenders[index].frame.is_none() && self.load(index, call) {
                self.request(now, index);
            }
        }
    }

    /// Starts contention for a contender that had nothing to send.
    fn request(&mut self, now: Time, index: usize) {
        let slot = self.access.timing.slot;
        let is_loner = self.nav > now && self.contenders[index].from < self.nav + self.contenders[index].aifs;
        let contender = &mut self.contenders[index];
        if self.phase != ReferencePhase::Idle {
            // 10.3.4.2: the channel is busy, so a backoff is required, unless one is pending.
            if contender.slots == 0 {
                contender.draw();
            }
            return;
        }
        if contender.slots == 0 || contender.due(slot) <= now {
            if now < self.nav && !is_loner {
                contender.draw();
            } else {
                contender.slots = 0;
                match self.access.idle_access {
                    IdleAccess::Immediate => {
                        contender.from = now.max(contender.from);
                        contender.drew = false;
                    }
                    IdleAccess::Backoff => {
                        contender.from = (now + contender.aifs).max(contender.from);
                        contender.draw();
                    }
                }
            }
        }
        self.next = self.next.min(contender.due(slot));
    }

    /// Advances at the time of [`ReferenceChannel::next`]; returns what was received.
    pub fn advance(&mut self, call: &mut Call<'_>) -> MacEvent {
        let now = call.now;
        if now < self.next {
            self.wake(call);
            return MacEvent::Nothing;
        }
        if self.tap.is_some() {
            self.record(now, call.packets);
        }
        match self.phase {
            ReferencePhase::Idle => self.start(now),
            ReferencePhase::Gap => self.send(now),
            ReferencePhase::Data { lost: false } => return self.receive(now),
            ReferencePhase::Ack { lost: false } => {
                self.account_ack(now);
                self.succeed(call);
            }
            ReferencePhase::Broadcast => {
                let (from, frame) = (self.senders[0] / 2, self.frame(self.senders[0]));
                self.account_exchange(now, Duration::ZERO);
                self.succeed(call);
                self.receivers.clear();
                self.receivers.extend((0..self.nodes.len()).filter(|node| *node != from).map(number));
                return MacEvent::Broadcast { from: number(from), id: frame.id };
            }
            ReferencePhase::Data { lost: true } | ReferencePhase::Ack { lost: true } => {
                self.ack_timeout(call);
            }
            ReferencePhase::Collision => self.end_collision(call),
        }
        MacEvent::Nothing
    }

    /// Turns records of frames and backoffs on or off.
    pub fn set_tap(&mut self, on: bool) {
        self.tap = on.then(Box::default);
    }

    /// The records, if they are on.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        self.tap.as_deref_mut()
    }

    /// Contenders that are due start sending; the others stop counting.
    fn start(&mut self, now: Time) {
        let slot = self.access.timing.slot;
        self.senders.clear();
        for (index, contender) in self.contenders.iter_mut().enumerate() {
            if contender.frame.is_some() && contender.due(slot) == now {
                self.senders.push(index);
            } else if contender.drew {
                let passed = now.saturating_since(contender.from).div_floor(slot);
                contender.slots = contender.slots.saturating_sub(passed);
            } else {
                contender.draw();
            }
        }
        // The category of higher priority of the same station comes first (internal collision).
        let senders = std::mem::take(&mut self.senders);
        for (position, index) in senders.iter().enumerate() {
            if position > 0 && senders[position - 1] / 2 == index / 2 {
                let contender = &mut self.contenders[*index];
                contender.contention.widen();
                contender.draw();
            } else {
                self.senders.push(*index);
            }
        }
        self.won_at = now;
        self.in_a_row = 0;
        self.send(now);
    }

    /// The winners of the contention send.
    fn send(&mut self, now: Time) {
        self.air.idle += now - self.accounted;
        self.accounted = now;
        self.began = now;
        for &sender in &self.senders {
            self.counters[sender / 2].attempts += 1;
        }
        if self.senders.len() > 1 {
            let longest = self.senders.iter().map(|sender| self.opening(*sender)).max();
            self.phase = ReferencePhase::Collision;
            self.next = now + longest.expect("there are several");
            return;
        }
        let sender = self.senders[0];
        let frame = self.frame(sender);
        if frame.to == BROADCAST {
            self.phase = ReferencePhase::Broadcast;
            self.next = now + frame.air;
            return;
        }
        let mut begins = now;
        if self.is_protected(&frame) {
            let receiver = &mut self.nodes[frame.to as usize].errors;
            if receiver.loses_control() || self.nodes[sender / 2].errors.loses_control() {
                // Counted as a collision of the RTS with noise, with which the exchange ends.
                self.phase = ReferencePhase::Collision;
                self.next = now + self.access.timing.rts();
                return;
            }
            self.contenders[sender].contention.clear();
            begins += self.protection();
        }
        let data_from = self.nodes[sender / 2].errors.data_from;
        let lost = self.nodes[frame.to as usize].errors.loses_data(data_from);
        self.phase = ReferencePhase::Data { lost };
        self.next = begins + frame.air;
    }

    /// Air time of a sender's first frame: the RTS or the data frame.
    fn opening(&self, sender: usize) -> Duration {
        let frame = self.frame(sender);
        if self.is_protected(&frame) { self.access.timing.rts() } else { frame.air }
    }

    /// Ends the data frame, which is received.
    fn receive(&mut self, now: Time) -> MacEvent {
        let sender = self.senders[0];
        let frame = self.contenders[sender].frame.as_mut().expect("a sender has a frame");
        let event = if frame.received { MacEvent::Nothing } else { MacEvent::Packet { to: frame.to, id: frame.id } };
        frame.received = true;
        let ack = frame.ack;
        self.account_exchange(now, Duration::ZERO);
        let lost = self.nodes[sender / 2].errors.loses_control();
        self.phase = ReferencePhase::Ack { lost };
        self.next = now + self.access.timing.sifs + ack;
        event
    }

    /// The channel is idle from `end`; all contenders count slots after their AIFS.
    fn idle_from(&mut self, end: Time) {
        self.phase = ReferencePhase::Idle;
        for contender in &mut self.contenders {
            contender.from = end + contender.aifs;
        }
    }

    /// Completes a frame: contention window and retry counts are reset. Another follows at once if the TXOP allows it,
    /// otherwise a backoff, whether or not there is another frame (10.3.4.3).
    fn succeed(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        let sender = self.senders[0];
        let done = self.frame(sender);
        self.counters[sender / 2].delivered += 1;
        self.in_a_row += 1;
        self.contenders[sender].contention.reset();
        let more = self.load(sender, call);
        if more && self.fits_txop(now, sender) {
            self.phase = ReferencePhase::Gap;
            self.next = now + self.access.timing.sifs;
            return;
        }
        let excess = self.nav_excess(&done);
        self.idle_from(now + excess);
        if excess > Duration::ZERO {
            // Sender and receiver have no NAV, and resume before the others.
            self.nav = now + excess;
            for node in [sender / 2, done.to as usize] {
                for contender in &mut self.contenders[2 * node..][..2] {
                    contender.from = now + contender.aifs;
                }
            }
        }
        self.contenders[sender].draw();
        self.reschedule();
    }

    fn nav_excess(&self, done: &Frame) -> Duration {
        if self.access.nav_unit == Duration::ZERO || done.to == BROADCAST {
            return Duration::ZERO;
        }
        let timing = &self.access.timing;
        let after_rts = self.is_protected(done).then(|| timing.sifs * 3 + timing.cts() + done.air + done.ack);
        self.access.nav_excess(done.ack, after_rts)
    }

    /// Whether a sender's next frame fits into the TXOP.
    fn fits_txop(&self, now: Time, sender: usize) -> bool {
        let contender = &self.contenders[sender];
        let frame = self.frame(sender);
        let timing = &self.access.timing;
        let mut exchange = timing.sifs + frame.air;
        if frame.to != BROADCAST {
            exchange += timing.sifs + frame.ack;
        }
        if self.is_protected(&frame) {
            exchange += self.protection();
        }
        self.in_a_row < contender.burst || now + exchange - self.won_at <= contender.txop
    }

    /// No ACK is received: the data frame or its ACK was lost.
    fn ack_timeout(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        let (sender, timing) = (self.senders[0], self.access.timing);
        let frame = self.frame(sender);
        self.counters[sender / 2].errors += 1;
        let ended = if self.phase == (ReferencePhase::Ack { lost: true }) {
            self.account_ack(now);
            self.idle_from(now);
            now - frame.ack - timing.sifs
        } else {
            self.account_exchange(now, frame.air);
            // The NAV of bystanders covers the missing ACK.
            self.idle_from(now + timing.sifs + frame.ack);
            now
        };
        self.fail(sender, false, ended, call);
        self.reschedule();
    }

    /// Ends a collision, or an RTS without response.
    fn end_collision(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        self.air.collision += now - self.accounted;
        self.accounted = now;
        let timing = self.access.timing;
        let senders = std::mem::take(&mut self.senders);
        let is_collision = senders.len() > 1;
        // EIFS - DIFS + AIFS (10.3.2.3.7).
        self.idle_from(match self.access.eifs {
            Eifs::AfterCollision if is_collision => now + (timing.eifs() - timing.difs),
            Eifs::Nav if is_collision => now + self.access.eifs(),
            _ => now,
        });
        let last = senders.iter().filter(|sender| self.began + self.opening(**sender) == now).count();
        for &sender in &senders {
            let (frame, air) = (self.frame(sender), self.opening(sender));
            let nav = self.access.nav_after_own(last > 1 || self.began + air < now);
            let counters = &mut self.counters[sender / 2];
            *(if is_collision { &mut counters.collisions } else { &mut counters.errors }) += 1;
            counters.collided += air;
            if frame.to == BROADCAST {
                // A broadcast is not acknowledged, so its sender does not notice.
                call.retry_limit_drops.push((number(sender / 2), frame.id));
                counters.delivered += 1;
                let contender = &mut self.contenders[sender];
                contender.contention.reset();
                contender.from = now + nav + contender.aifs;
                self.load(sender, call);
                self.contenders[sender].draw();
            } else {
                let by_rts = self.is_protected(&frame);
                self.fail(sender, by_rts, self.began + air, call);
                let contender = &mut self.contenders[sender];
                let expired = self.began + air + self.access.answer_timeout;
                if self.access.eifs == Eifs::Nav {
                    contender.from = expired.max(now + nav) + contender.aifs;
                }
            }
        }
        self.senders = senders;
        self.reschedule();
    }

    /// `sender`, whose frame ended at `ended`, got no response; it contends again after its timeout, with the same
    /// frame or the next.
    #[allow(clippy::too_many_arguments)]
    fn fail(&mut self, sender: usize, by_rts: bool, ended: Time, call: &mut Call<'_>) {
        let now = call.now;
        let frame = self.frame(sender);
        let expired = ended + self.access.answer_timeout;
        let contender = &mut self.contenders[sender];
        // After its timeout the sender waits longer by the difference of AIFS and DIFS.
        let late = contender.aifs.saturating_sub(self.access.timing.difs);
        let earliest = if self.access.timeout_without_difs { now } else { now + contender.aifs };
        contender.from = (expired + late).max(earliest);
        if contender.contention.fail(&self.access, by_rts || !self.access.protects(frame.length)) {
            self.counters[sender / 2].retry_limit_drops += 1;
            if !frame.received {
                call.retry_limit_drops.push((number(sender / 2), frame.id));
            }
            self.load(sender, call);
        }
        self.contenders[sender].draw();
    }

    /// Determines who sends next, and when.
    fn reschedule(&mut self) {
        let slot = self.access.timing.slot;
        let waiting = self.contenders.iter().filter(|contender| contender.frame.is_some());
        self.next = waiting.map(|contender| contender.due(slot)).min().unwrap_or(Time::NEVER);
    }
}
