//! A plain channel on which all stations hear each other: a second model of channel access and aggregation,
//! written for clarity from the standard's rules, without shortcuts. The channels of the crate are compared with it.
//!
//! Each contender has its own slot count, and the next sender is found by looking at all of them, so the cost of an
//! exchange grows with the number of stations. Originator and recipient of a block ACK agreement are two ends that
//! share nothing, and MPDUs are never forgotten. Modelled are DCF and up to four access categories (IEEE Std
//! 802.11-2016, 10.3 and 10.22.2), TXOPs, RTS and CTS, errors of each MPDU and of control frames, EIFS, the NAV rounded
//! as in ns-2, CF-End, A-MSDU, A-MPDU, block ACK with requests and reordering (10.24.7), and stations of standards
//! older than that of the access point (10.26). Not modelled are rate adaptation, agreements made on the air,
//! lifetimes, waiting for more packets, and outages.
//!
//! Where the standard leaves a choice, it is the one of [`wifair_mac::GeneralChannel`], whose documentation lists them.

mod block_ack;
mod function;
mod hearing;
mod outcome;
mod ppdu;
mod records;

use std::collections::VecDeque;

use wifair_mac::edcaf::{AggregationRules, Classifier, EdcaSettings, SlotRules};
use wifair_mac::{
    Access, AccessCategory, AirTime, BROADCAST, BackoffRecord, Call, Counters, IdleAccess, MacEvent, StationSettings,
};
use wifair_packet::PacketId;
use wifair_phy::{Band, ModulationClass, TxMode};
use wifair_queue::{Cause, Discipline, Queue};
use wifair_units::{BitRate, Bytes, Duration, Time};

use self::block_ack::Originator;
use self::function::{ReferenceFunction, Task};
use self::ppdu::ReferencePpdu;
use crate::equality::ComparedFrame;

#[derive(Debug)]
struct ReferenceNode {
    settings: StationSettings,
    rate: BitRate,
    routing_overhead: Bytes,
    mode: Option<(TxMode, Band)>,
    rules: Option<AggregationRules>,
    counters: Counters,
    /// Air time of the exchanges in which others sent to it, by category.
    air_to: [Duration; 4],
    /// Its counters when its air time was last reported to a queue.
    reported: Counters,
    nav: ReferenceNav,
    /// The newest modulation class that it reads.
    newest: ModulationClass,
    /// Whether it is from before HT: its data have no QoS field, and are all best effort.
    is_legacy: bool,
    /// End of the last frame that it heard since the channel was last idle, if it did not read it.
    in_error: Option<Time>,
}

impl ReferenceNode {
    fn loses_control(&mut self) -> bool {
        self.settings.errors.chance(self.settings.control_error_to)
    }

    fn loses_data(&mut self, from: f64) -> bool {
        let by_receiver = self.settings.errors.chance(self.settings.data_error_to);
        self.settings.errors.chance(from) || by_receiver
    }
}

/// Until when other stations have reserved the channel.
#[derive(Clone, Copy, Debug)]
struct ReferenceNav {
    until: Time,
    /// When the station resets it, if an RTS set it and no frame begins.
    reset: Option<Time>,
    /// The station that has reserved it; also itself, if it waits for the end of its own TXOP.
    by: usize,
}

impl ReferenceNav {
    /// When it ends if no frame begins.
    fn end(&self) -> Time {
        self.reset.map_or(self.until, |reset| reset.min(self.until))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReferencePhase {
    /// No station is sending.
    Idle,
    /// SIFS before a further exchange of a TXOP.
    Gap,
    /// Data or a request, or the frames before it, are on the air.
    Data,
    /// A broadcast frame is on the air.
    Broadcast,
    /// The response is due or on the air; `lost` if the sender will not receive it.
    Response { lost: bool },
    /// SIFS and CF-End of a TXOP holder that has finished.
    CfEnd,
    /// SIFS, and the access point repeats the CF-End.
    SecondCfEnd,
    /// Several frames are on the air.
    Collision,
    /// An RTS is on the air that its receiver does not read, or to which it does not answer because of its NAV.
    Unanswered { lost: bool },
    /// An RTS is on the air, and a CTS that its sender will not read.
    LostCts,
}

/// See the [module](self).
#[derive(Debug)]
pub struct ReferenceChannel {
    access: Access,
    aps: Vec<u32>,
    classifier: Classifier,
    /// Whether MPDUs have limits of their own. Block ACK acknowledges them, except to and from stations from before HT.
    has_block_ack: bool,
    /// Whether data have sequence numbers, and MPDUs counts of their own attempts.
    has_rules: bool,
    reorder_timeout: Duration,
    /// Whether a missing block ACK is asked for, instead of sending the data again.
    request_after_miss: bool,
    wants_air_use: bool,
    categories: usize,
    nodes: Vec<ReferenceNode>,
    /// The categories of the first station, those of the second, and so on.
    functions: Vec<ReferenceFunction>,
    phase: ReferencePhase,
    /// Start of the current phase, or of the first frame of a collision.
    began: Time,
    /// Whether what is on the air are data whose CTS-to-self collided.
    is_after_cts: bool,
    /// Contenders that are sending.
    senders: Vec<usize>,
    receivers: Vec<u32>,
    next: Time,
    /// Time of the last step.
    now: Time,
    /// Contenders whose queues hold packets back, and when to ask them again.
    paused: Vec<(Time, usize)>,
    /// Packets passed up and not yet reported, and since when.
    up: VecDeque<(u32, PacketId)>,
    up_at: Time,
    /// Records of frames, if they are on.
    frames: Option<Vec<ComparedFrame>>,
    backoffs: Vec<BackoffRecord>,
    air: AirTime,
    accounted: Time,
}

impl ReferenceChannel {
    /// A channel of these stations.
    pub fn new(settings: EdcaSettings) -> Self {
        let EdcaSettings { access, aps, classifier, slot_rules, aggregation, stations } = settings;
        let categories = stations[0].categories.len();
        let (mut nodes, mut functions) = (vec![], vec![]);
        for (number, plan) in stations.into_iter().enumerate() {
            let rules = if plan.is_legacy { SlotRules::Dcf } else { slot_rules };
            for category in plan.categories {
                functions.push(ReferenceFunction::new(&access, &plan.common, number, rules, category));
            }
            nodes.push(ReferenceNode {
                rate: plan.common.rate,
                routing_overhead: plan.common.routing_overhead,
                mode: plan.mode,
                rules: plan.aggregation,
                counters: Counters::default(),
                air_to: [Duration::ZERO; 4],
                reported: Counters::default(),
                nav: ReferenceNav { until: Time::ZERO, reset: None, by: number },
                newest: plan.newest,
                is_legacy: plan.is_legacy,
                in_error: None,
                settings: plan.common,
            });
        }
        let queues = || functions.iter().flat_map(|function| &function.queues);
        Self {
            aps,
            classifier,
            has_block_ack: aggregation.as_ref().is_some_and(|rules| rules.max_ampdu.0 > 0),
            has_rules: aggregation.is_some(),
            reorder_timeout: aggregation.as_ref().map_or(Duration::ZERO, |rules| rules.reorder_timeout),
            request_after_miss: aggregation.as_ref().is_some_and(|rules| rules.request_after_miss),
            wants_air_use: queues().any(Discipline::wants_air_use),
            categories,
            phase: ReferencePhase::Idle,
            began: Time::ZERO,
            is_after_cts: false,
            senders: vec![],
            receivers: vec![],
            next: Time::NEVER,
            now: Time::ZERO,
            paused: vec![],
            up: VecDeque::new(),
            up_at: Time::NEVER,
            frames: None,
            backoffs: vec![],
            air: AirTime::default(),
            accounted: Time::ZERO,
            access,
            nodes,
            functions,
        }
    }

    /// When to call [`ReferenceChannel::advance`] next.
    pub fn next(&self) -> Time {
        let paused = self.paused.iter().map(|(until, _)| *until).min().unwrap_or(Time::NEVER);
        self.next.min(paused).min(self.up_at).min(self.first_timeout())
    }

    /// Receivers of the broadcast last reported by [`ReferenceChannel::advance`], in the order of their numbers.
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// The queue of a station's last category.
    pub fn queue(&self, station: u32) -> &Queue {
        &self.functions[self.own(station as usize).end - 1].queues[0]
    }

    pub fn counters(&self, station: u32) -> &Counters {
        &self.nodes[station as usize].counters
    }

    pub fn air_to(&self) -> Vec<[Duration; 4]> {
        self.nodes.iter().map(|node| node.air_to).collect()
    }

    /// The first of the packets that a station is trying to send and that their receivers do not have.
    pub fn current_frame(&self, station: u32) -> Option<PacketId> {
        self.functions[self.own(station as usize)].iter().find_map(|function| {
            let Some(Task::Data(peer)) = function.task else { return None };
            let originator = &function.peers[peer];
            let number = originator.start();
            let mpdu = originator.mpdus.get(usize::try_from(number).expect("few MPDUs"))?;
            (!originator.recipient.has_got(number)).then(|| mpdu.packets[0])
        })
    }

    /// The categories of a station.
    fn own(&self, station: usize) -> std::ops::Range<usize> {
        station * self.categories..(station + 1) * self.categories
    }

    /// Offers a packet to `station`, in the given category unless its kind decides.
    pub fn offer_in(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>) {
        let packet = &call.packets[id];
        let to = call.next_hops.of(packet);
        let category = match self.classifier {
            Classifier::Kind(first) => usize::from(!first.takes(packet)),
            Classifier::Caller if self.nodes[station as usize].is_legacy => AccessCategory::Be.index(),
            Classifier::Caller => category,
            Classifier::One => 0,
        };
        let index = self.own(station as usize).start + category;
        self.functions[index].enqueue(to, id, call);
        if self.functions[index].task.is_none() && self.load(index, call) {
            self.request(call.now, index);
        }
    }

    /// Determines what a contender sends next; returns whether there is anything.
    fn load(&mut self, index: usize, call: &mut Call<'_>) -> bool {
        let function = &mut self.functions[index];
        let request = function.requests.first().map(|peer| Task::Request(*peer));
        function.task = request.or_else(|| function.backlog.first().map(|peer| Task::Data(*peer)));
        if function.task.is_none()
            && let Some(id) = function.dequeue(call)
        {
            let station = function.station;
            let packet = &call.packets[id];
            let to = call.next_hops.of(packet);
            let length = self.mpdu_length(station, to, packet);
            let peer = self.peer(index, to);
            self.functions[index].peers[peer].push(id, length);
            self.functions[index].task = Some(Task::Data(peer));
        }
        let function = &self.functions[index];
        if function.task.is_none() && function.waiting() > 0 {
            let waiting = function.queues.iter().filter(|queue| !queue.is_empty());
            let until = waiting.map(|queue| queue.retry_at(call.now)).min().expect("packets wait");
            self.paused.retain(|(_, other)| *other != index);
            self.paused.push((until, index));
        }
        self.functions[index].task.is_some()
    }

    /// The index of a receiver among the peers of a contender.
    fn peer(&mut self, index: usize, to: u32) -> usize {
        let rules = self.rules(self.functions[index].station, to);
        let (size, block_ack) = rules.map_or((1, false), |rules| (u64::from(rules.window), rules.max_ampdu.0 > 0));
        let peers = &mut self.functions[index].peers;
        peers.iter().position(|peer| peer.to == to).unwrap_or_else(|| {
            peers.push(Originator::new(to, size, block_ack));
            peers.len() - 1
        })
    }

    /// Asks queues again that held packets back until now.
    fn wake(&mut self, call: &mut Call<'_>) {
        while let Some(place) = self.paused.iter().position(|(until, _)| *until <= call.now) {
            let (_, index) = self.paused.remove(place);
            if self.functions[index].task.is_none() && self.load(index, call) {
                self.request(call.now, index);
            }
        }
    }

    /// Starts contention for a contender that had nothing to send.
    fn request(&mut self, now: Time, index: usize) {
        let slot = self.access.timing.slot;
        if self.phase == ReferencePhase::CfEnd && self.senders[0] == index {
            return; // its backoff follows the CF-End
        }
        let function = &mut self.functions[index];
        if self.phase != ReferencePhase::Idle {
            // 10.3.4.2: the channel is busy, so a backoff is required, unless one is pending.
            if function.slots == 0 {
                function.draw();
            }
            return;
        }
        let nav = self.nodes[function.station].nav.end();
        if function.slots == 0 || function.due(slot) <= now {
            if now < nav {
                function.draw();
            } else if self.access.idle_access == IdleAccess::Backoff {
                function.from = (now + function.aifs).max(function.from);
                function.draw();
            } else {
                // At once, or under EDCA on the next slot boundary (10.22.2.4).
                let mut from = function.from;
                while function.slot_rules == SlotRules::Edca && from < now {
                    from += slot;
                }
                function.from = from.max(now);
                function.slots = 0;
                function.drew = false;
            }
        }
        self.reschedule();
    }

    /// Advances at the time of [`ReferenceChannel::next`]; returns what was received.
    pub fn advance(&mut self, call: &mut Call<'_>) -> MacEvent {
        let now = call.now;
        self.now = now;
        if self.up_at <= now {
            return self.report();
        }
        if self.first_timeout() <= now {
            self.time_out(call);
            return self.report();
        }
        if now < self.next {
            self.wake(call);
            return MacEvent::Nothing;
        }
        if self.frames.is_some() {
            self.record(now, call.packets);
        }
        match self.phase {
            ReferencePhase::Idle => self.start(call),
            ReferencePhase::Gap => self.send(call),
            ReferencePhase::Data => {
                if !self.receive(call) {
                    self.miss_response(call);
                }
                return self.report();
            }
            ReferencePhase::Broadcast => {
                let sender = self.senders[0];
                let (station, peer) = (self.functions[sender].station, self.task_peer(sender));
                let number = self.functions[sender].ppdu().mpdus[0].0;
                let id = self.functions[sender].peers[peer].mpdu(number).packets[0];
                self.account_exchange(now);
                self.succeed(call);
                self.receivers = (0..self.nodes.len() as u32).filter(|node| *node as usize != station).collect();
                return MacEvent::Broadcast { from: station as u32, id };
            }
            ReferencePhase::Response { lost: false } => {
                self.account_response(now);
                self.succeed(call);
            }
            ReferencePhase::Response { lost: true } => self.miss_response(call),
            ReferencePhase::CfEnd => self.end_cf_end(now),
            ReferencePhase::SecondCfEnd => {
                self.account_cf_end(now);
                self.idle_from(now);
                self.reschedule();
            }
            ReferencePhase::Collision => self.end_collision(call),
            ReferencePhase::Unanswered { .. } | ReferencePhase::LostCts => self.end_rts(call),
        }
        MacEvent::Nothing
    }

    /// Reports the next packet passed up.
    fn report(&mut self) -> MacEvent {
        let next = self.up.pop_front();
        if self.up.is_empty() {
            self.up_at = Time::NEVER;
        }
        next.map_or(MacEvent::Nothing, |(to, id)| MacEvent::Packet { to, id })
    }

    /// The peer to which a sender's exchange goes.
    fn task_peer(&self, sender: usize) -> usize {
        match self.functions[sender].task.expect("a sender has something to send") {
            Task::Data(peer) | Task::Request(peer) => peer,
        }
    }

    /// Contenders that are due start sending; the others stop counting.
    fn start(&mut self, call: &mut Call<'_>) {
        let (now, slot) = (call.now, self.access.timing.slot);
        for node in &mut self.nodes {
            node.in_error = None;
            // 10.3.2.4: a NAV is not reset if the start of a frame has been reported by then. A frame that begins
            // before may also end before.
            let reported = now + self.access.timing.preamble;
            if let Some(reset) = node.nav.reset.take()
                && reset < reported
            {
                node.nav.until = node.nav.until.min(reset);
            }
        }
        let mut due = vec![];
        for (index, function) in self.functions.iter_mut().enumerate() {
            if function.task.is_some() && function.due(slot) == now {
                due.push(index);
            } else if !function.drew {
                function.draw();
            } else if now >= function.from {
                // Under EDCA the boundary at which another station starts sending counts too.
                let passed = (now - function.from).div_floor(slot) + u64::from(function.slot_rules == SlotRules::Edca);
                function.slots = function.slots.saturating_sub(passed);
            }
        }
        // The category of higher priority of the same station comes first (internal collision).
        self.senders.clear();
        for index in due {
            let station = self.functions[index].station;
            if self.senders.last().is_some_and(|last| self.functions[*last].station == station) {
                self.collide_internally(index, call);
            } else {
                self.functions[index].won_at = now;
                self.functions[index].in_a_row = 0;
                self.functions[index].reserved_for.clear();
                self.senders.push(index);
            }
        }
        self.send(call);
    }

    /// The winners of the contention send.
    fn send(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        self.air.idle += now - self.accounted;
        self.accounted = now;
        self.began = now;
        self.is_after_cts = false;
        for index in self.senders.clone() {
            self.nodes[self.functions[index].station].counters.attempts += 1;
            self.form(index, call);
        }
        if self.senders.len() > 1 {
            self.phase = ReferencePhase::Collision;
            self.next = self.collision_end();
            return;
        }
        let sender = self.senders[0];
        let (station, ReferencePpdu { to, rts, cts_to_self, .. }) =
            (self.functions[sender].station, self.functions[sender].ppdu().clone());
        let (sifs, mut begins) = (self.access.timing.sifs, now);
        if rts {
            self.next = now + self.rts();
            let lost = self.nodes[to as usize].loses_control();
            if lost || self.is_silenced(self.next, station, to as usize) {
                self.phase = ReferencePhase::Unanswered { lost };
                return;
            }
            if self.nodes[station].loses_control() {
                self.next += sifs + self.cts();
                self.phase = ReferencePhase::LostCts;
                return;
            }
            self.functions[sender].short_retries = 0;
            begins += self.rts() + sifs;
        }
        if rts || cts_to_self {
            begins += self.cts() + sifs;
        }
        self.send_data(sender, begins);
    }

    /// Whether `to` does not answer an RTS of `station` that ends at `end`, because of its NAV. If that is the NAV of a
    /// TXOP, it answers the holder (10.22.2.4), and despite its own.
    fn is_silenced(&self, end: Time, station: usize, to: usize) -> bool {
        let nav = self.nodes[to].nav;
        // Plain DCF knows no TXOPs.
        let has_txop = self.functions.iter().any(|function| function.txop > Duration::ZERO);
        let has_txops = self.has_rules || self.categories > 1 || has_txop;
        end < nav.end() && !(has_txops && [station, to].contains(&nav.by))
    }

    /// The data of a sender, or its request, begin alone on the air.
    pub(super) fn send_data(&mut self, sender: usize, begins: Time) {
        let station = self.functions[sender].station;
        let ReferencePpdu { to, air, .. } = self.functions[sender].ppdu().clone();
        self.next = begins + air;
        if to == BROADCAST {
            self.phase = ReferencePhase::Broadcast;
            return;
        }
        let from = self.nodes[station].settings.data_error_from;
        let receiver = &mut self.nodes[to as usize];
        let ppdu = self.functions[sender].ppdu_mut();
        if ppdu.is_request() {
            ppdu.request_lost = receiver.loses_control();
        }
        ppdu.mpdus.iter_mut().for_each(|(_, is_lost)| *is_lost = receiver.loses_data(from));
        self.phase = ReferencePhase::Data;
    }

    /// Start and end of each frame of a sender in a collision: an RTS; a CTS-to-self and the data after it, since
    /// nobody answers a CTS-to-self; or data alone.
    pub(super) fn sends(&self, sender: usize) -> Vec<(Time, Time)> {
        let (ppdu, began) = (self.functions[sender].ppdu(), self.began);
        if self.is_after_cts || !(ppdu.rts || ppdu.cts_to_self) {
            return vec![(began, began + ppdu.air)];
        }
        if ppdu.rts {
            return vec![(began, began + self.rts())];
        }
        let cts = (began, began + self.cts());
        let data = cts.1 + self.access.timing.sifs;
        vec![cts, (data, data + ppdu.air)]
    }

    /// When all that has begun in a collision has ended, and nothing else begins before.
    fn collision_end(&self) -> Time {
        let mut end = self.began;
        let mut frames: Vec<(Time, Time)> = self.senders.iter().flat_map(|sender| self.sends(*sender)).collect();
        frames.sort_unstable();
        for (from, until) in frames {
            if from >= end && end > self.began {
                break;
            }
            end = end.max(until);
        }
        end
    }

    /// Ends data or a request; returns whether the receiver responds.
    fn receive(&mut self, call: &mut Call<'_>) -> bool {
        let (now, sender) = (call.now, self.senders[0]);
        self.account_exchange(now);
        let ppdu = self.functions[sender].ppdu().clone();
        if !ppdu.is_read() {
            return false;
        }
        let (peer, station) = (self.task_peer(sender), self.functions[sender].station);
        let originator = &mut self.functions[sender].peers[peer];
        let mut numbers = vec![];
        if ppdu.is_request() {
            // 10.24.7.6.3: nothing before the originator's window will come any more.
            originator.request_due = false;
            originator.recipient.pass_over(originator.start(), &mut numbers);
        }
        for (number, _) in ppdu.mpdus.iter().filter(|(_, is_lost)| !is_lost) {
            if !originator.recipient.receive(now, *number, &mut numbers) {
                let lost = originator.mpdu(*number).packets.clone();
                call.dropped.extend(lost.into_iter().map(|id| (id, Cause::Late)));
            }
        }
        originator.recipient.pass_up_in_order(&mut numbers);
        self.pass_up(now, sender, peer, &numbers);
        let lost = self.nodes[station].loses_control();
        self.phase = ReferencePhase::Response { lost };
        self.next = now + self.access.timing.sifs + ppdu.response;
        true
    }

    /// Lets the packets of these MPDUs be reported.
    fn pass_up(&mut self, now: Time, index: usize, peer: usize, numbers: &[u64]) {
        let originator = &mut self.functions[index].peers[peer];
        let to = originator.to;
        for number in numbers {
            self.up.extend(originator.mpdu(*number).packets.iter().map(|id| (to, *id)));
        }
        if !self.up.is_empty() {
            self.up_at = now;
        }
    }

    /// When the first recipient stops waiting for what is missing: now, if an MPDU behind a gap has been held for
    /// longer than the one behind the gap before it, which has just been filled.
    fn first_timeout(&self) -> Time {
        let peers = self.functions.iter().flat_map(|function| &function.peers);
        let blocked = peers.filter_map(|peer| peer.recipient.blocked_since());
        blocked.min().map_or(Time::NEVER, |since| (since + self.reorder_timeout).max(self.now))
    }

    /// Recipients that have waited long enough pass over what is missing.
    fn time_out(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        for index in 0..self.functions.len() {
            for peer in 0..self.functions[index].peers.len() {
                let (timeout, mut numbers) = (self.reorder_timeout, vec![]);
                let recipient = &mut self.functions[index].peers[peer].recipient;
                while recipient.blocked_since().is_some_and(|since| since + timeout <= now) {
                    recipient.time_out(&mut numbers);
                }
                self.pass_up(now, index, peer, &numbers);
            }
        }
    }

    /// Determines who sends next, and when.
    fn reschedule(&mut self) {
        let slot = self.access.timing.slot;
        let waiting = self.functions.iter().filter(|function| function.task.is_some());
        self.next = waiting.map(|function| function.due(slot)).min().unwrap_or(Time::NEVER);
    }

    /// The records of frames, if they are on, and of backoffs.
    pub fn observed(&self) -> Option<(Vec<ComparedFrame>, Vec<BackoffRecord>)> {
        Some((self.frames.clone()?, self.backoffs.clone()))
    }
}
