//! The world: stations, access point, wires and flows, and the loop that takes one event after the other.
//!
//! Sources of events, in the order in which they take turns at one instant: the agenda of the applications, the
//! timers of the transports, the media, the links. See [`wifair_engine`] for the total order.
//!
//! A packet is moved by its number in the arena; where it goes next says a table of hops that is laid out once,
//! a row for each flow and direction, so forwarding is an increment.

mod link;
mod measure;
mod plan;
mod report;

use std::collections::VecDeque;

use wifair_engine::{Agenda, Heads, Stream, Timers, stream};
use wifair_packet::{Kind, Packet, PacketId, Packets};
use wifair_tcp::{Receiver, Sender};
use wifair_units::{Duration, Time};
use wifair_wlan::dcf::{AirTime, Cell, Counters, Heard};
use wifair_wlan::queue::{Cause, Discipline, Dropped};

use link::Link;
pub use measure::{FlowCounters, FlowMeasure, Loss, Session, TimeMean};
pub use plan::{Direction, FlowPlan, Hop, LinkPlan, MediumPlan, Plan, Transport, Workload};
pub use report::Labels;

/// What the applications will do.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// The measurement begins.
    EndWarmUp,
    /// A flow begins.
    Start(u32),
    /// The next session of a flow is due.
    Session(u32),
    /// A flow falls silent.
    Stop(u32),
    /// State is sampled.
    Sample,
}

const AGENDA: usize = 0;
const TIMERS: usize = 1;
const FIRST_MEDIUM: usize = 2;

/// One end-to-end flow.
#[derive(Debug)]
struct Flow {
    forward: u32,
    reverse: u32,
    transport: Endpoints,
    counters: FlowCounters,
    at_warm_up: FlowCounters,
    measure: FlowMeasure,
    sessions: Option<Box<Sessions>>,
    workload: Workload,
    stopped: bool,
}

/// The two ends of a flow.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
enum Endpoints {
    Tcp { sender: Sender, receiver: Receiver },
    Udp { payload: u16, size: u16, interval: Duration, jitter: f64, draws: Stream, sent: u64 },
}

/// Sessions of one flow, as far as they have come.
#[derive(Debug, Default)]
struct Sessions {
    /// Not yet due.
    waiting: VecDeque<(Time, u64)>,
    /// Due, in order.
    due: Vec<Session>,
    /// Sessions whose last byte has been sent, and acknowledged.
    sent: usize,
    acknowledged: usize,
    /// Bytes supplied so far.
    supplied: u64,
}

/// State sampled at regular times, one row a sample and flow.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Time of the sample, in seconds.
    pub time_s: Vec<f64>,
    /// Index of the flow.
    pub flow: Vec<u32>,
    /// Congestion window, in segments.
    pub cwnd: Vec<f64>,
    /// Slow-start threshold, in segments; infinite before the first loss.
    pub ssthresh: Vec<f64>,
    /// Smoothed round-trip time, in seconds.
    pub srtt_s: Vec<f64>,
    /// New bytes handed to the application since the sample before.
    pub received_bytes: Vec<u64>,
    /// Time of each sample of the queues, in seconds.
    pub queue_time_s: Vec<f64>,
    /// Index of the medium whose access point has the queue.
    pub queue_medium: Vec<u32>,
    /// Packets in the access point's queue.
    pub queue_packets: Vec<u64>,
    last: Vec<u64>,
}

/// A running world.
#[derive(Debug)]
pub struct World {
    now: Time,
    warm_up: Time,
    heads: Heads,
    packets: Packets,
    hops: Vec<Hop>,
    agenda: Agenda<Task>,
    timers: Timers,
    media: Vec<Cell>,
    links: Vec<Link>,
    flows: Vec<Flow>,
    hubs: Vec<u32>,
    air_at_warm_up: Vec<AirTime>,
    counters_at_warm_up: Vec<Vec<Counters>>,
    dropped: Dropped,
    given_up: Vec<(u32, PacketId)>,
    sample_every: Option<Duration>,
    series: Series,
    events: u64,
}

impl World {
    /// Builds a world; nothing has happened yet.
    ///
    /// # Panics
    /// If a hop of the plan names a medium, station or link that is not in it.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn new(plan: Plan) -> Self {
        let mut hops = vec![];
        let mut lay = |way: &[Hop]| {
            let start = hops.len() as u32;
            hops.extend_from_slice(way);
            assert_eq!(hops.last(), Some(&Hop::End), "a way ends somewhere");
            start
        };
        let mut agenda = Agenda::default();
        agenda.enter(plan.warm_up, Task::EndWarmUp);
        if let Some(every) = plan.sample_every {
            agenda.enter(Time::ZERO + every, Task::Sample);
        }
        let mut flows = vec![];
        for (index, flow) in plan.flows.into_iter().enumerate() {
            let number = index as u32;
            agenda.enter(flow.start, Task::Start(number));
            agenda.enter(flow.stop, Task::Stop(number));
            let transport = match &flow.transport {
                Transport::Tcp { sender, receiver } => {
                    Endpoints::Tcp { sender: Sender::new(sender, number), receiver: Receiver::new(receiver, number) }
                }
                Transport::Udp { payload, size, interval, jitter } => Endpoints::Udp {
                    payload: *payload,
                    size: *size,
                    interval: *interval,
                    jitter: *jitter,
                    draws: stream(plan.seed, "udp", &flow.name),
                    sent: 0,
                },
            };
            let sessions = match &flow.workload {
                Workload::Endless => None,
                Workload::Transfer(bytes) => Some([(flow.start, bytes.0)].into()),
                Workload::Sessions(list) => Some(list.iter().map(|(start, length)| (*start, length.0)).collect()),
            };
            flows.push(Flow {
                forward: lay(&flow.forward),
                reverse: lay(&flow.reverse),
                transport,
                counters: FlowCounters::default(),
                at_warm_up: FlowCounters::default(),
                measure: FlowMeasure::default(),
                sessions: sessions.map(|waiting| Box::new(Sessions { waiting, ..Sessions::default() })),
                workload: flow.workload,
                stopped: false,
            });
        }
        let hubs = plan.media.iter().map(|medium| medium.hub).collect();
        let media: Vec<Cell> =
            plan.media.into_iter().map(|medium| Cell::new(medium.access, medium.hub, medium.stations)).collect();
        let links: Vec<Link> = plan.links.into_iter().map(Link::new).collect();
        let mut world = Self {
            now: Time::ZERO,
            warm_up: plan.warm_up,
            heads: Heads::new(FIRST_MEDIUM + media.len() + links.len()),
            packets: Packets::default(),
            hops,
            agenda,
            timers: Timers::new(2 * flows.len()),
            air_at_warm_up: vec![AirTime::default(); media.len()],
            counters_at_warm_up: vec![vec![]; media.len()],
            media,
            links,
            series: Series { last: vec![0; flows.len()], ..Series::default() },
            flows,
            hubs,
            dropped: vec![],
            given_up: vec![],
            sample_every: plan.sample_every,
            events: 0,
        };
        world.heads.set(AGENDA, world.agenda.next());
        world
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The time of the next event.
    #[must_use]
    pub fn next(&self) -> Time {
        self.heads.first().0
    }

    /// Events taken so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Counters of a flow since the start of the run.
    pub fn counters(&mut self, flow: usize) -> FlowCounters {
        refresh(&mut self.flows[flow]);
        self.flows[flow].counters
    }

    /// Packets that have been sent, and have neither arrived nor been lost.
    #[must_use]
    pub fn packets_under_way(&self) -> usize {
        self.packets.len()
    }

    /// Packets in queues, on lines and in the hands of stations: as many as are under way, unless one went astray.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        self.links.iter().map(Link::packets_held).sum::<usize>()
            + self.media.iter().map(Cell::packets_held).sum::<usize>()
    }

    /// What the air of each medium was used for since the start of the run.
    pub fn air_times(&self) -> impl Iterator<Item = AirTime> + '_ {
        self.media.iter().map(|medium| medium.air_time(self.now))
    }

    /// Takes all events up to `until`, that instant included. A run may be cut into any number of calls.
    pub fn run_until(&mut self, until: Time) {
        loop {
            let (time, source) = self.heads.first();
            if time > until {
                break;
            }
            debug_assert!(time >= self.now, "time does not run backwards");
            self.now = time;
            self.events += 1;
            match source {
                AGENDA => self.next_task(),
                TIMERS => self.next_timer(),
                _ if source < FIRST_MEDIUM + self.media.len() => self.advance_medium(source - FIRST_MEDIUM),
                _ => self.advance_link(source - FIRST_MEDIUM - self.media.len()),
            }
        }
        self.now = self.now.max(until);
    }

    fn has_window(&self, index: usize) -> bool {
        matches!(self.flows[index].transport, Endpoints::Tcp { .. })
    }

    fn next_task(&mut self) {
        let task = self.agenda.pop().expect("the agenda has the task that it announced");
        match task {
            Task::EndWarmUp => self.end_warm_up(),
            Task::Start(flow) => self.start(flow as usize),
            Task::Session(flow) => self.session(flow as usize),
            Task::Stop(flow) => self.flows[flow as usize].stopped = true,
            Task::Sample => self.sample(),
        }
        self.heads.set(AGENDA, self.agenda.next());
    }

    fn next_timer(&mut self) {
        if let Some(owner) = self.timers.pop(self.now) {
            let index = owner / 2;
            let now = self.now;
            match &mut self.flows[index].transport {
                Endpoints::Tcp { sender, .. } if owner.is_multiple_of(2) => {
                    sender.on_timer(now);
                    self.pump(index);
                }
                Endpoints::Tcp { receiver, .. } => {
                    receiver.on_timer(now);
                    self.acknowledge(index);
                }
                Endpoints::Udp { .. } => self.send_datagram(index),
            }
        }
        self.heads.set(TIMERS, self.timers.next());
    }

    #[inline]
    fn set_timer(&mut self, owner: usize, deadline: Time) {
        if self.timers.set(owner, deadline) {
            self.heads.set(TIMERS, self.timers.next());
        }
    }

    fn advance_medium(&mut self, index: usize) {
        let hops = &self.hops;
        let medium = &mut self.media[index];
        let receiver = |packet: &Packet| next_station(hops, packet);
        let heard = medium.advance(self.now, &mut self.packets, &mut self.dropped, &mut self.given_up, receiver);
        self.heads.set(FIRST_MEDIUM + index, medium.next());
        if !self.dropped.is_empty() {
            self.lose_dropped(Loss::ApQueue);
        }
        if !self.given_up.is_empty() {
            for position in 0..self.given_up.len() {
                let (_, id) = self.given_up[position];
                self.lose(id, Loss::RetryLimit);
            }
            self.given_up.clear();
        }
        match heard {
            Heard::Nothing => {}
            Heard::Packet { id, .. } => self.forward(id),
            Heard::Broadcast { id, .. } => {
                self.packets.remove(id);
            }
        }
    }

    fn advance_link(&mut self, index: usize) {
        let link = &mut self.links[index];
        let arrived = link.advance(self.now, &mut self.packets, &mut self.dropped);
        self.heads.set(FIRST_MEDIUM + self.media.len() + index, link.next());
        if !self.dropped.is_empty() {
            self.lose_dropped(Loss::LinkQueue);
        }
        if let Some(id) = arrived {
            self.forward(id);
        }
    }

    /// A packet has made a hop.
    #[inline]
    fn forward(&mut self, id: PacketId) {
        self.packets[id].hop += 1;
        self.dispatch(id);
    }

    /// A packet goes where its table of hops says.
    #[inline]
    fn dispatch(&mut self, id: PacketId) {
        match self.hops[self.packets[id].hop as usize] {
            Hop::Air { medium, from, .. } => self.offer(usize::from(medium), from, id),
            Hop::Wire(link) => {
                let index = link as usize;
                let link = &mut self.links[index];
                link.send(self.now, id, &mut self.packets, &mut self.dropped);
                self.heads.set(FIRST_MEDIUM + self.media.len() + index, link.next());
                if !self.dropped.is_empty() {
                    self.lose_dropped(Loss::LinkQueue);
                }
            }
            Hop::End => self.arrive(id),
        }
    }

    #[inline]
    fn offer(&mut self, index: usize, from: u32, id: PacketId) {
        let hops = &self.hops;
        let medium = &mut self.media[index];
        let receiver = |packet: &Packet| next_station(hops, packet);
        medium.offer(self.now, from, id, &mut self.packets, &mut self.dropped, receiver);
        self.heads.set(FIRST_MEDIUM + index, medium.next());
        if !self.dropped.is_empty() {
            let at_hub = from == self.hubs[index];
            self.lose_dropped(if at_hub { Loss::ApQueue } else { Loss::StationQueue });
        }
    }

    #[cold]
    fn lose_dropped(&mut self, loss: Loss) {
        for position in 0..self.dropped.len() {
            let (id, cause) = self.dropped[position];
            debug_assert!(matches!(cause, Cause::Overflow | Cause::Early));
            self.lose(id, loss);
        }
        self.dropped.clear();
    }

    fn lose(&mut self, id: PacketId, loss: Loss) {
        let packet = self.packets.remove(id);
        self.flows[packet.flow as usize].counters.lose(packet.kind, loss);
    }

    /// A packet has reached the other end of its flow.
    #[inline]
    fn arrive(&mut self, id: PacketId) {
        let packet = self.packets.remove(id);
        let index = packet.flow as usize;
        let flow = &mut self.flows[index];
        match (&mut flow.transport, packet.kind) {
            (Endpoints::Tcp { receiver, .. }, Kind::Data) => {
                flow.counters.data_arrived += 1;
                flow.counters.payload_arrived += u64::from(packet.payload);
                receiver.on_packet(self.now, &packet);
                flow.counters.received = receiver.delivered();
                self.acknowledge(index);
            }
            (Endpoints::Tcp { sender, .. }, Kind::Ack) => {
                flow.counters.acks_arrived += 1;
                sender.on_packet(self.now, &packet);
                if let Some(rtt) = sender.rtt_sample() {
                    flow.measure.rtt.add(rtt);
                }
                self.pump(index);
            }
            (Endpoints::Udp { payload, .. }, _) => {
                flow.counters.data_arrived += 1;
                flow.counters.payload_arrived += u64::from(*payload);
                flow.counters.received += u64::from(*payload);
            }
            (Endpoints::Tcp { .. }, _) => {}
        }
    }

    /// Sends what the sender of a flow may send now, and notes how far it has come.
    #[inline]
    fn pump(&mut self, index: usize) {
        loop {
            let flow = &mut self.flows[index];
            let Endpoints::Tcp { sender, .. } = &mut flow.transport else { return };
            let Some(mut packet) = sender.poll(self.now) else { break };
            packet.hop = flow.forward;
            flow.counters.data_sent += 1;
            let id = self.packets.insert(packet);
            self.dispatch(id);
        }
        let now = self.now;
        let flow = &mut self.flows[index];
        let Endpoints::Tcp { sender, .. } = &mut flow.transport else { return };
        flow.measure.cwnd.set(now, sender.cwnd());
        let deadline = sender.deadline();
        if let Some(sessions) = &mut flow.sessions {
            sessions.follow(now, sender.sent(), sender.una());
        }
        self.set_timer(2 * index, deadline);
    }

    /// Sends the ACKs that the receiver of a flow has to send now.
    #[inline]
    fn acknowledge(&mut self, index: usize) {
        loop {
            let flow = &mut self.flows[index];
            let Endpoints::Tcp { receiver, .. } = &mut flow.transport else { return };
            let Some(mut packet) = receiver.poll(self.now) else {
                let deadline = receiver.deadline();
                self.set_timer(2 * index + 1, deadline);
                return;
            };
            packet.hop = flow.reverse;
            flow.counters.acks_sent += 1;
            let id = self.packets.insert(packet);
            self.dispatch(id);
        }
    }

    fn send_datagram(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let Endpoints::Udp { payload, size, interval, jitter, draws, sent } = &mut flow.transport else { return };
        if flow.stopped {
            return;
        }
        #[allow(clippy::cast_possible_truncation)]
        let packet = Packet {
            seq: *sent,
            flow: index as u32,
            hop: flow.forward,
            payload: *payload,
            size: *size,
            kind: Kind::Udp,
            ..Packet::default()
        };
        *sent += u64::from(*payload);
        flow.counters.data_sent += 1;
        let wait = if *jitter > 0.0 {
            Duration::from_secs_f64(interval.as_secs() * (1.0 + *jitter * (draws.uniform() - 0.5)))
        } else {
            *interval
        };
        let id = self.packets.insert(packet);
        self.dispatch(id);
        self.set_timer(2 * index, now + wait);
    }

    fn start(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let Endpoints::Tcp { sender, .. } = &mut flow.transport else {
            self.send_datagram(index);
            return;
        };
        sender.open(now);
        if flow.workload == Workload::Endless {
            sender.supply(u64::MAX);
        }
        self.enter_session(index);
        self.pump(index);
    }

    /// Puts the next session of a flow on the agenda.
    #[allow(clippy::cast_possible_truncation)]
    fn enter_session(&mut self, index: usize) {
        let next = self.flows[index].sessions.as_ref().and_then(|sessions| sessions.waiting.front());
        if let Some((start, _)) = next {
            self.agenda.enter((*start).max(self.now), Task::Session(index as u32));
        }
    }

    /// A session is due: its bytes queue behind those of the sessions before.
    fn session(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let Endpoints::Tcp { sender, .. } = &mut flow.transport else { return };
        if let Some(sessions) = &mut flow.sessions
            && let Some((start, length)) = sessions.waiting.pop_front()
        {
            sessions.supplied += length;
            let end = sessions.supplied;
            sessions.due.push(Session { start, length, end, sent: Time::NEVER, acknowledged: Time::NEVER });
            sender.supply(length);
            if sessions.waiting.is_empty() && matches!(flow.workload, Workload::Transfer(_)) {
                sender.close();
            }
        }
        self.enter_session(index);
        self.pump(index);
    }

    fn end_warm_up(&mut self) {
        let now = self.now;
        for flow in &mut self.flows {
            refresh(flow);
            flow.at_warm_up = flow.counters;
            flow.measure.rtt.clear();
            flow.measure.cwnd.restart(now);
        }
        for (index, medium) in self.media.iter_mut().enumerate() {
            self.air_at_warm_up[index] = medium.air_time(now);
            self.counters_at_warm_up[index] = medium.all_counters().to_vec();
            medium.hub_queue_mut().restart(now);
        }
    }

    #[allow(clippy::cast_possible_truncation)]
    fn sample(&mut self) {
        let Some(every) = self.sample_every else { return };
        let time = self.now.as_secs();
        for (index, flow) in self.flows.iter().enumerate() {
            self.series.time_s.push(time);
            self.series.flow.push(index as u32);
            let (cwnd, ssthresh, srtt) = match &flow.transport {
                Endpoints::Tcp { sender, .. } => (sender.cwnd(), sender.ssthresh(), sender.rtt().srtt().as_secs()),
                Endpoints::Udp { .. } => (f64::NAN, f64::NAN, f64::NAN),
            };
            self.series.cwnd.push(cwnd);
            self.series.ssthresh.push(ssthresh);
            self.series.srtt_s.push(srtt);
            self.series.received_bytes.push(flow.counters.received - self.series.last[index]);
            self.series.last[index] = flow.counters.received;
        }
        for (index, medium) in self.media.iter().enumerate() {
            self.series.queue_time_s.push(time);
            self.series.queue_medium.push(index as u32);
            self.series.queue_packets.push(medium.queue(self.hubs[index]).len() as u64);
        }
        self.agenda.enter(self.now + every, Task::Sample);
    }
}

impl Sessions {
    /// The sender has sent and got acknowledged so much of the stream.
    fn follow(&mut self, now: Time, sent: u64, acknowledged: u64) {
        while let Some(session) = self.due.get_mut(self.sent)
            && session.end <= sent
        {
            session.sent = now;
            self.sent += 1;
        }
        while let Some(session) = self.due.get_mut(self.acknowledged)
            && session.end <= acknowledged
        {
            session.acknowledged = now;
            self.acknowledged += 1;
        }
    }
}

/// Brings the counters of a flow up to date that its sender keeps.
fn refresh(flow: &mut Flow) {
    if let Endpoints::Tcp { sender, .. } = &flow.transport {
        flow.counters.retransmissions = sender.counts().retransmissions;
        flow.counters.timeouts = sender.counts().timeouts;
    }
}

#[inline]
fn next_station(hops: &[Hop], packet: &Packet) -> u32 {
    match hops[packet.hop as usize] {
        Hop::Air { to, .. } => to,
        Hop::Wire(_) | Hop::End => unreachable!("only packets on their way over the air wait for it"),
    }
}
