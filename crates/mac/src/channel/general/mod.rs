//! A channel on which all hear all: up to four access categories a station, single frames or aggregates.
//!
//! Enhanced distributed channel access (IEEE Std 802.11-2016, 10.22.2): each category of each station is a contender with its
//! own queue, contention window, AIFS and TXOP limit. DCF is one category of it with AIFS = DIFS, one frame at a time. What
//! is sent follows the table of [exchange sequences](crate::exchange): a single MPDU with ACK, an A-MPDU with block ACK, a
//! request for a block ACK, each with or without RTS/CTS, and broadcasts. Contenders count slots on shared counts
//! ([`backoffs`]), so an exchange costs the same however many stations there are.
//!
//! Departures from the standard:
//!
//! - Propagation takes no time, and a station senses a frame from its first instant.
//! - Short and long retry counts belong to the frame, and a CTS clears the short one, as in ns-2 and ns-3. With block ACK each
//!   MPDU counts its own attempts and the contention window has a retry count of its own.
//! - Of two categories of a station that may send in the same instant the first one does; the other widens its window and draws
//!   again (10.22.2.2), but no attempt is counted against its frame.
//! - A TXOP ends with a frame that gets no answer. A frame that would not fit is sent after a new contention.
//! - A sender that gave up a frame takes the next one out of its queue when the collision ends, not at the timeout.
//! - Block ACK agreements are there from the start.

mod backoffs;
mod exchanges;
mod ppdu;
mod record;
mod settings;
mod waiting;
mod window;

use wifair_packet::{Packet, PacketId, Packets};
use wifair_phy::{PpduTiming, TxMode};
use wifair_units::{Bytes, Duration, Time};

use self::backoffs::Backoffs;
pub use self::backoffs::SlotRules;
use self::ppdu::Ppdu;
pub use self::settings::{
    Aggregation, CategoryCounters, CategorySettings, Classifier, GeneralSettings, GeneralStation,
};
use self::waiting::Waiting;
use self::window::{Chain, Mpdu, Released, Window};
use crate::category::Category;
use crate::exchange::{Protection, Purpose, Step, sequence};
use crate::queue_hooks::{AirUseMeter, PausedQueues};
use crate::station::{Contention, Errors, frame_length};
use crate::tap::Tap;
use crate::{Access, AirTime, BROADCAST, Counters, IdleAccess, MacEvent};
use wifair_queue::{AirUse, Dropped, Gauge, Queue};

/// A transmit mode in its band.
#[derive(Clone, Copy, Debug)]
struct Mode {
    tx: TxMode,
    timing: PpduTiming,
}

/// What does not depend on the category.
#[derive(Clone, Debug)]
struct Station {
    rate: wifair_units::BitRate,
    mode: Option<Mode>,
    /// The longest PSDU in this mode that lasts no longer than a PPDU may.
    longest_psdu: Bytes,
    routing_overhead: Bytes,
    errors: Errors,
}

/// What a contender is to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Pending MPDUs of this window.
    Data(usize),
    /// A BlockAckReq to the receiver of this window.
    Request(usize),
}

impl Task {
    const fn window(self) -> usize {
        match self {
            Self::Data(window) | Self::Request(window) => window,
        }
    }
}

/// One category of one station.
#[derive(Clone, Debug)]
struct Contender {
    waiting: Waiting,
    contention: Contention,
    aifs: Duration,
    txop: Duration,
    burst: u32,
    /// What is sent next, if there is anything.
    task: Option<Task>,
    windows: Vec<Window>,
    /// Windows with MPDUs to send again, the one that has waited longest first.
    backlog: Vec<usize>,
    /// Windows whose receiver is to be asked or told.
    requests: Vec<usize>,
    /// The window towards each receiver, by its number.
    window_of: Vec<Option<usize>>,
    ppdu: Ppdu,
    counters: CategoryCounters,
}

impl Contender {
    /// The window towards a receiver.
    fn window_to(&mut self, to: u32, rules: Option<&Aggregation>) -> usize {
        let place = if to == BROADCAST { 0 } else { to as usize + 1 };
        if place >= self.window_of.len() {
            self.window_of.resize(place + 1, None);
        }
        *self.window_of[place].get_or_insert_with(|| {
            let window = match rules {
                Some(rules) if to != BROADCAST => Window::new(to, rules.window, rules.max_ampdu.0 > 0),
                _ => Window::new(to, 1, false),
            };
            self.windows.push(window);
            self.windows.len() - 1
        })
    }

    /// What is to be sent before anything new: a request, or MPDUs again.
    fn unfinished(&self) -> Option<Task> {
        let request = self.requests.first().map(|window| Task::Request(*window));
        request.or_else(|| self.backlog.first().map(|window| Task::Data(*window)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nobody sends.
    Idle,
    /// SIFS before a further frame of a TXOP.
    Gap,
    /// A data frame (with what precedes it) or a BlockAckReq is on the air.
    Data,
    /// A broadcast frame is on the air.
    Broadcast,
    /// The answer is on its way, or due; `lost`: the sender does not get it.
    Response { lost: bool },
    /// Several frames are on the air, or an RTS that gets no answer.
    Collision,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct GeneralChannel {
    access: Access,
    ap: u32,
    classifier: Classifier,
    slot_rules: SlotRules,
    aggregation: Option<Aggregation>,
    stations: Vec<Station>,
    counters: Vec<Counters>,
    /// Categories of each station.
    categories: usize,
    /// The categories of the first station, those of the second, and so on; what goes first comes first.
    contenders: Vec<Contender>,
    backoffs: Backoffs,
    chain: Chain,
    phase: Phase,
    /// When the present phase, or the first frame of a collision, began.
    began: Time,
    /// Who is on the air.
    senders: Vec<usize>,
    /// Who begins to send; empty between calls.
    due: Vec<u32>,
    /// When the present TXOP began, and frames sent in it.
    won_at: Time,
    in_a_row: u32,
    receivers: Vec<u32>,
    next: Time,
    /// Until when a rounded NAV outlasts its exchange.
    nav: Time,
    /// Packets that have been received and not yet been told of, and since when.
    released: Released,
    released_at: Time,
    /// When the first recipient stops waiting for what it lacks.
    reorder_timeout: Time,
    ap_queue: Gauge,
    tap: Option<Box<Tap>>,
    paused_queues: PausedQueues,
    air_use: AirUseMeter,
    air: AirTime,
    accounted: Time,
}

impl GeneralChannel {
    /// A channel of these stations.
    ///
    /// # Panics
    /// If stations differ in the number of their categories, or have none.
    #[must_use]
    pub fn new(settings: GeneralSettings) -> Self {
        let GeneralSettings { access, ap, classifier, slot_rules, aggregation, stations: plans } = settings;
        let categories = plans.first().map_or(0, |station| station.categories.len());
        assert!(categories > 0, "every station has a category");
        let (mut stations, mut contenders, mut all_aifs) = (vec![], vec![], vec![]);
        for plan in plans {
            assert_eq!(plan.categories.len(), categories, "all stations have as many categories");
            let GeneralStation { common: mut station, mode, categories } = plan;
            let mode = mode.map(|(tx, band)| Mode { tx, timing: PpduTiming::new(tx, band) });
            stations.push(Station {
                rate: station.rate,
                mode,
                longest_psdu: match (&mode, &aggregation) {
                    (Some(mode), Some(rules)) => mode.timing.longest(rules.max_duration).unwrap_or(Bytes(0)),
                    _ => Bytes(0),
                },
                routing_overhead: station.routing_overhead,
                errors: Errors::new(&station),
            });
            for CategorySettings { parameters, queues, backoff } in categories {
                station.cw_min = parameters.cw_min;
                station.cw_max = parameters.cw_max;
                station.backoff = backoff;
                let aifs = aifs(&access, &parameters);
                all_aifs.push(aifs);
                contenders.push(Contender {
                    waiting: Waiting::new(queues),
                    contention: Contention::new(&station),
                    aifs,
                    txop: parameters.txop,
                    burst: parameters.burst,
                    task: None,
                    windows: vec![],
                    backlog: vec![],
                    requests: vec![],
                    window_of: vec![],
                    ppdu: Ppdu::default(),
                    counters: CategoryCounters::default(),
                });
            }
        }
        Self {
            ap,
            classifier,
            slot_rules,
            aggregation,
            counters: vec![Counters::default(); stations.len()],
            categories,
            backoffs: Backoffs::new(access.timing.slot, slot_rules, &all_aifs),
            chain: Chain::default(),
            phase: Phase::Idle,
            began: Time::ZERO,
            senders: vec![],
            due: vec![],
            won_at: Time::ZERO,
            in_a_row: 0,
            receivers: vec![],
            next: Time::NEVER,
            nav: Time::ZERO,
            released: Released::default(),
            released_at: Time::NEVER,
            reorder_timeout: Time::NEVER,
            ap_queue: Gauge::default(),
            tap: None,
            paused_queues: PausedQueues::new(),
            air_use: AirUseMeter::wanted_by(
                contenders.iter().any(|contender| contender.waiting.wants_air()),
                stations.len(),
            ),
            air: AirTime::default(),
            accounted: Time::ZERO,
            access,
            stations,
            contenders,
        }
    }

    /// The access point contends by other parameters from its next frame on, in its last category.
    pub fn set_ap_category(&mut self, parameters: &Category) {
        let aifs = aifs(&self.access, parameters);
        let index = self.index(self.ap, self.categories - 1);
        let contender = &mut self.contenders[index];
        contender.contention.set_windows(parameters.cw_min, parameters.cw_max);
        contender.txop = parameters.txop;
        contender.burst = parameters.burst;
        if contender.aifs != aifs {
            contender.aifs = aifs;
            self.backoffs.change_aifs(number(index), aifs);
        }
    }

    const fn index(&self, station: u32, category: usize) -> usize {
        station as usize * self.categories + category
    }

    const fn station_of(&self, contender: usize) -> usize {
        contender / self.categories
    }

    fn own(&self, station: u32) -> std::ops::Range<usize> {
        let first = self.index(station, 0);
        first..first + self.categories
    }

    /// When [`GeneralChannel::advance`] is to be called next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next.min(self.paused_queues.next()).min(self.released_at).min(self.reorder_timeout)
    }

    /// Who received the broadcast that [`GeneralChannel::advance`] reported last, in the order of their numbers.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// The queue of a station's last category, best effort where there are several.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        self.contenders[self.index(station, self.categories - 1)].waiting.first()
    }

    /// Packets that wait in a station, in whichever queue.
    #[must_use]
    pub fn waiting(&self, station: u32) -> usize {
        self.contenders[self.own(station)].iter().map(|contender| contender.waiting.len()).sum()
    }

    /// Packets that the queues of a station have marked.
    #[must_use]
    pub fn marks(&self, station: u32) -> u64 {
        self.contenders[self.own(station)].iter().map(|contender| contender.waiting.marks()).sum()
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

    /// What the categories of a station did, in their order.
    pub fn category_counters(&self, station: u32) -> impl Iterator<Item = &CategoryCounters> {
        self.contenders[self.own(station)].iter().map(|contender| &contender.counters)
    }

    /// What the air was used for until `now`.
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
            Phase::Idle | Phase::Gap => air.idle += spend(Duration::MAX),
            Phase::Collision => air.collision += spend(Duration::MAX),
            Phase::Data | Phase::Broadcast => {
                let sifs = self.access.timing.sifs;
                let ppdu = &self.contenders[self.senders[0]].ppdu;
                for step in ppdu.before_data() {
                    air.rts_cts += spend(self.control_air(*step));
                    air.idle += spend(sifs);
                }
                if ppdu.is_request() {
                    air.ack += spend(ppdu.air);
                } else {
                    air.data += spend(ppdu.air - ppdu.spoilt_air());
                    air.error += spend(ppdu.spoilt_air());
                }
            }
            Phase::Response { .. } => {
                air.idle += spend(self.access.timing.sifs);
                air.ack += spend(Duration::MAX);
            }
        }
        air
    }

    /// A packet of a station that is in no queue and that nobody else has: the first of those that it is trying to send.
    #[must_use]
    pub fn in_hand(&self, station: u32) -> Option<PacketId> {
        self.contenders[self.own(station)].iter().find_map(|contender| {
            let Some(Task::Data(window)) = contender.task else { return None };
            let window = &contender.windows[window];
            let first = window.mpdu(window.first_pending()?);
            (!first.is_received()).then_some(first.first)
        })
    }

    /// Packets in the queues, in the hands of senders, and held by receivers until they are in order.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        let held = |contender: &Contender| {
            contender.waiting.len() + contender.windows.iter().map(Window::packets_held).sum::<usize>()
        };
        self.contenders.iter().map(held).sum::<usize>() + self.released.up.len()
    }

    /// The length of the access point's queues over time.
    #[must_use]
    pub fn ap_queue(&self) -> &Gauge {
        &self.ap_queue
    }

    /// The length of the access point's queues over time.
    pub fn ap_queue_mut(&mut self) -> &mut Gauge {
        &mut self.ap_queue
    }

    fn read_gauge(&mut self, now: Time) {
        let own = &self.contenders[self.own(self.ap)];
        let (mut waiting, mut is_full) = (0, false);
        for contender in own {
            waiting += contender.waiting.len();
            is_full |= contender.waiting.is_full();
        }
        self.ap_queue.set(now, waiting, is_full);
    }

    /// `station` gets a packet to send, of the category that its kind has. `receiver` tells the station to which a packet goes
    /// next.
    pub fn offer(
        &mut self,
        now: Time,
        station: u32,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: impl Fn(&Packet) -> u32,
    ) {
        self.offer_in(now, station, 0, id, packets, dropped, receiver);
    }

    /// The same; `category` is the place of the packet's category where its kind does not decide.
    #[allow(clippy::too_many_arguments)]
    pub fn offer_in(
        &mut self,
        now: Time,
        station: u32,
        category: usize,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: impl Fn(&Packet) -> u32,
    ) {
        let packet = &packets[id];
        let to = receiver(packet);
        let index = self.index(station, self.classifier.place(packet, category));
        self.contenders[index].waiting.enqueue(now, id, to, packets, dropped);
        if self.contenders[index].task.is_none() && self.load(now, index, packets, dropped, &receiver) {
            self.request_access(now, index);
        }
        if station == self.ap {
            self.read_gauge(now);
        }
    }

    /// Finds what a contender sends next: a request that is due, MPDUs to be sent again, or the next packet of its queue.
    fn load(
        &mut self,
        now: Time,
        index: usize,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: &impl Fn(&Packet) -> u32,
    ) -> bool {
        let station = self.station_of(index);
        let contender = &mut self.contenders[index];
        contender.task = contender.unfinished();
        if contender.task.is_none()
            && let Some(id) = contender.waiting.dequeue(now, packets, dropped)
        {
            let packet = &packets[id];
            let rules = self.aggregation.as_ref();
            let window = contender.window_to(receiver(packet), rules);
            let length = frame_length(&self.access.timing, packet, self.stations[station].routing_overhead).0;
            let expires = rules.map_or(Time::NEVER, |rules| rules.expiry(now));
            contender.windows[window].push(Mpdu::new(id, length, expires));
            contender.task = Some(Task::Data(window));
        }
        let is_loaded = contender.task.is_some();
        if !is_loaded {
            if let Some(until) = contender.waiting.asked_again(now) {
                self.paused_queues.sleep(number(index), until);
            }
            self.backoffs.rest(number(index));
        }
        if station == self.ap as usize {
            self.read_gauge(now);
        }
        is_loaded
    }

    /// Tells the queues at both ends what the frame cost with which a contender is done. What other categories of the station
    /// used in between is booked with it.
    fn tell_air(&mut self, now: Time, index: usize, to: u32, delivered: bool) {
        let station = self.station_of(index);
        let used = self.air_use.close_to(number(station), &self.counters[station], to, delivered);
        self.contenders[index].waiting.on_air(now, &used);
        if to != BROADCAST {
            for receiver in self.own(to) {
                let back = AirUse { peer: number(station), sent: false, ..used };
                self.contenders[receiver].waiting.on_air(now, &back);
            }
        }
    }

    /// Asks the queues again that held packets back until now.
    fn wake(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped, receiver: &impl Fn(&Packet) -> u32) {
        while let Some(index) = self.paused_queues.wake(now) {
            let index = index as usize;
            if self.contenders[index].task.is_none() && self.load(now, index, packets, dropped, receiver) {
                self.request_access(now, index);
            }
        }
    }

    /// A contender that had nothing to send contends for the channel.
    fn request_access(&mut self, now: Time, index: usize) {
        let contender = number(index);
        let Contender { contention, aifs, .. } = &mut self.contenders[index];
        if self.phase != Phase::Idle {
            // 10.3.4.2: the channel is busy, so a backoff is due, unless one is pending already.
            if self.backoffs.left(contender) == 0 {
                self.backoffs.start(contender, u64::from(contention.draw()), true);
            } else {
                self.backoffs.wait(contender);
            }
            return;
        }
        let slot = self.access.timing.slot;
        let (from, slots) = self.backoffs.position(contender);
        let has_no_nav = self.nav > now && from < self.nav + *aifs;
        if slots > 0 && from + slot * slots > now {
            self.backoffs.wait(contender);
        } else if now < self.nav && !has_no_nav {
            self.backoffs.restart_at(contender, from, u64::from(contention.draw()));
        } else {
            match self.access.idle_access {
                IdleAccess::Immediate => self.backoffs.send_at_once(contender, now.max(from)),
                IdleAccess::Backoff => {
                    let from = (now + *aifs).max(from);
                    self.backoffs.restart_at(contender, from, u64::from(contention.draw()));
                }
            }
        }
        self.next = self.backoffs.next();
    }

    /// Goes on at the time of [`GeneralChannel::next`], and says what was received.
    pub fn advance(
        &mut self,
        now: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        retry_limit_drops: &mut Vec<(u32, PacketId)>,
        receiver: impl Fn(&Packet) -> u32,
    ) -> MacEvent {
        if self.released_at <= now {
            return self.tell_next();
        }
        if self.reorder_timeout <= now {
            self.time_out_reordering(now, retry_limit_drops);
            return self.tell_next();
        }
        if now < self.next {
            self.wake(now, packets, dropped, &receiver);
            return MacEvent::Nothing;
        }
        if self.tap.is_some() {
            self.record(now, packets);
        }
        match self.phase {
            Phase::Idle => self.start(now, packets, dropped, &receiver),
            Phase::Gap => self.send(now, packets, dropped, &receiver),
            Phase::Data => {
                let is_answered = self.receive(now, retry_limit_drops);
                if !is_answered {
                    self.miss(now, packets, dropped, retry_limit_drops, &receiver);
                }
                return self.tell_next();
            }
            Phase::Response { lost: false } => {
                self.account_response(now);
                self.succeed(now, packets, dropped, retry_limit_drops, &receiver);
            }
            Phase::Broadcast => {
                let sender = self.senders[0];
                let from = number(self.station_of(sender));
                let id = self.contenders[sender].ppdu.first;
                self.account_exchange(now);
                self.succeed(now, packets, dropped, retry_limit_drops, &receiver);
                self.receivers.clear();
                self.receivers.extend((0..number(self.stations.len())).filter(|station| *station != from));
                return MacEvent::Broadcast { from, id };
            }
            Phase::Response { lost: true } => self.miss(now, packets, dropped, retry_limit_drops, &receiver),
            Phase::Collision => self.resolve(now, packets, dropped, retry_limit_drops, &receiver),
        }
        MacEvent::Nothing
    }

    /// The next of the packets that have been handed up.
    #[inline]
    fn tell_next(&mut self) -> MacEvent {
        let Some((to, id)) = self.released.up.pop_front() else {
            self.released_at = Time::NEVER;
            return MacEvent::Nothing;
        };
        if self.released.up.is_empty() {
            self.released_at = Time::NEVER;
        }
        MacEvent::Packet { to, id }
    }

    /// Takes note of what came out of a window of this station.
    fn note_released(&mut self, now: Time, station: usize, retry_limit_drops: &mut Vec<(u32, PacketId)>) {
        retry_limit_drops.extend(self.released.lost.drain(..).map(|id| (number(station), id)));
        if !self.released.up.is_empty() {
            self.released_at = now;
        }
    }

    /// Recipients pass over MPDUs that they have waited for long enough.
    #[cold]
    fn time_out_reordering(&mut self, now: Time, retry_limit_drops: &mut Vec<(u32, PacketId)>) {
        let patience = self.aggregation.as_ref().expect("only aggregates are reordered").reorder_timeout;
        for index in 0..self.contenders.len() {
            for window in &mut self.contenders[index].windows {
                if window.blocked_since().is_some_and(|since| since + patience <= now) {
                    window.time_out(now, &self.chain, &mut self.released);
                }
            }
            self.note_released(now, index / self.categories, retry_limit_drops);
        }
        self.find_reorder_timeout();
    }

    /// Finds out when the first recipient stops waiting.
    fn find_reorder_timeout(&mut self) {
        let Some(rules) = &self.aggregation else { return };
        let windows = self.contenders.iter().flat_map(|contender| &contender.windows);
        let first = windows.filter_map(Window::blocked_since).min();
        self.reorder_timeout = first.map_or(Time::NEVER, |since| since + rules.reorder_timeout);
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
}

/// Time on the air of a control frame that precedes data.
fn control_air(access: &Access, step: Step) -> Duration {
    match step {
        Step::Rts => access.timing.rts(),
        Step::Cts => access.timing.cts(),
        Step::CtsToSelf => {
            let rate = access.protection.unwrap_or(access.timing.basic_rate);
            access.timing.frame(access.timing.sizes.cts, rate)
        }
        Step::Data | Step::Ack | Step::BlockAckReq | Step::BlockAck => unreachable!("{step:?} does not precede data"),
    }
}

/// AIFS of a category: SIFS and AIFSN slots, or what a channel has for DIFS where AIFSN is 2.
fn aifs(access: &Access, category: &Category) -> Duration {
    let timing = &access.timing;
    if category.aifsn >= 2 {
        timing.difs + timing.slot * u64::from(category.aifsn - 2)
    } else {
        timing.difs.saturating_sub(timing.slot)
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("stations and their categories can be numbered")
}
