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
use wifair_metrics::Histogram;
use wifair_packet::{Kind, Packet, PacketId, Packets};
use wifair_tcp::{Receiver, Sender};
use wifair_units::{Duration, Time};
use wifair_wlan::dcf::{AirTime, Cell, Counters, Heard};
use wifair_wlan::queue::{Cause, Discipline, Dropped};

use link::Link;
pub use measure::{FlowCounters, Loss, Session, TimeMean};
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

/// One flow of the scenario: the connections that carry its data one after the other, or side by side.
#[derive(Debug)]
struct Flow {
    name: String,
    forward: u32,
    reverse: u32,
    transport: Transport,
    workload: Workload,
    /// Its connections, those that have ended too as long as their packets may be about. The first is the flow's own.
    connections: Vec<u32>,
    /// Counters of connections whose number has been given to another.
    retired: FlowCounters,
    at_warm_up: FlowCounters,
    rtt: Histogram,
    /// Sessions not yet due.
    waiting: VecDeque<(Time, u64)>,
    /// Sessions of connections whose number has been given to another.
    log: Vec<Session>,
    stopped: bool,
}

/// A sender, a receiver, and the sessions that they carry.
#[derive(Debug)]
struct Connection {
    flow: u32,
    forward: u32,
    reverse: u32,
    ends: Ends,
    counters: FlowCounters,
    cwnd: TimeMean,
    sessions: Option<Box<Sessions>>,
    /// It is to be given up when its transfer is done.
    single: bool,
    ended: bool,
}

/// The two ends of a connection.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
enum Ends {
    Tcp { sender: Sender, receiver: Receiver },
    Udp { draws: Stream, sent: u64 },
}

/// Sessions that one connection carries in order, and how far it has come with them.
#[derive(Debug, Default)]
struct Sessions {
    due: Vec<Session>,
    sent: usize,
    received: usize,
    acknowledged: usize,
    /// Bytes supplied so far.
    supplied: u64,
}

/// The number of a connection is given to another no sooner than this after its end, when all its packets are gone:
/// twice the maximum segment lifetime as stacks have it (RFC 9293, section 3.6.1, has 4 minutes).
const TIME_WAIT: Duration = Duration::from_secs(60);

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
    connections: Vec<Connection>,
    /// Connections that have ended, and when.
    ended: VecDeque<(Time, u32)>,
    seed: u64,
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
            let waiting = match &flow.workload {
                Workload::Endless => VecDeque::new(),
                Workload::Transfer(bytes) => [(flow.start, bytes.0)].into(),
                Workload::Sessions { list, .. } => list.iter().map(|(start, length)| (*start, length.0)).collect(),
            };
            flows.push(Flow {
                forward: lay(&flow.forward),
                reverse: lay(&flow.reverse),
                name: flow.name,
                transport: flow.transport,
                workload: flow.workload,
                connections: vec![],
                retired: FlowCounters::default(),
                at_warm_up: FlowCounters::default(),
                rtt: Histogram::default(),
                waiting,
                log: vec![],
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
            timers: Timers::new(0),
            air_at_warm_up: vec![AirTime::default(); media.len()],
            counters_at_warm_up: vec![vec![]; media.len()],
            media,
            links,
            series: Series { last: vec![0; flows.len()], ..Series::default() },
            flows,
            connections: vec![],
            ended: VecDeque::new(),
            seed: plan.seed,
            hubs,
            dropped: vec![],
            given_up: vec![],
            sample_every: plan.sample_every,
            events: 0,
        };
        for flow in 0..world.flows.len() {
            if !world.opens_fresh_connections(flow) {
                world.add_connection(flow);
            }
        }
        world.heads.set(AGENDA, world.agenda.next());
        world
    }

    /// Whether each session of a flow has a connection of its own.
    fn opens_fresh_connections(&self, flow: usize) -> bool {
        matches!(self.flows[flow].workload, Workload::Sessions { fresh: true, .. })
    }

    /// A further connection of a flow, under a number that is free.
    #[allow(clippy::cast_possible_truncation)]
    fn add_connection(&mut self, flow: usize) -> usize {
        let free = self.ended.front().is_some_and(|(ended, _)| self.now - *ended >= TIME_WAIT);
        let number = if free {
            let (_, number) = self.ended.pop_front().expect("there is a free number");
            self.retire(number as usize);
            number
        } else {
            self.timers.add();
            self.timers.add();
            self.connections.len() as u32
        };
        let owner = &mut self.flows[flow];
        owner.connections.push(number);
        let connection = Connection {
            flow: flow as u32,
            forward: owner.forward,
            reverse: owner.reverse,
            ends: match &owner.transport {
                Transport::Tcp { sender, receiver } => {
                    Ends::Tcp { sender: Sender::new(sender, number), receiver: Receiver::new(receiver, number) }
                }
                Transport::Udp { .. } => Ends::Udp { draws: stream(self.seed, "udp", &owner.name), sent: 0 },
            },
            counters: FlowCounters::default(),
            cwnd: TimeMean::starting(self.now),
            sessions: None,
            single: false,
            ended: false,
        };
        let index = number as usize;
        if free {
            self.connections[index] = connection;
        } else {
            self.connections.push(connection);
        }
        index
    }

    /// What a connection counted goes to its flow; its number is free.
    fn retire(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        refresh(connection);
        let flow = &mut self.flows[connection.flow as usize];
        flow.retired.add(&connection.counters);
        flow.connections.retain(|number| *number as usize != index);
        if let Some(sessions) = connection.sessions.take() {
            flow.log.extend(sessions.due);
        }
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
        let flow = &self.flows[flow];
        let mut sum = flow.retired;
        for number in &flow.connections {
            let connection = &mut self.connections[*number as usize];
            refresh(connection);
            sum.add(&connection.counters);
        }
        sum
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
            match &mut self.connections[index].ends {
                Ends::Tcp { sender, .. } if owner.is_multiple_of(2) => {
                    sender.on_timer(now);
                    self.pump(index);
                }
                Ends::Tcp { receiver, .. } => {
                    receiver.on_timer(now);
                    self.acknowledge(index);
                }
                Ends::Udp { .. } => self.send_datagram(index),
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
        self.connections[packet.flow as usize].counters.lose(packet.kind, loss);
    }

    /// A packet has reached the other end of its connection.
    #[inline]
    fn arrive(&mut self, id: PacketId) {
        let packet = self.packets.remove(id);
        let index = packet.flow as usize;
        let connection = &mut self.connections[index];
        let counters = &mut connection.counters;
        match (&mut connection.ends, packet.kind) {
            (Ends::Tcp { receiver, .. }, Kind::Data) => {
                counters.data_arrived += 1;
                counters.payload_arrived += u64::from(packet.payload);
                receiver.on_packet(self.now, &packet);
                counters.received = receiver.delivered();
                if let Some(sessions) = &mut connection.sessions {
                    sessions.follow_receiver(self.now, receiver.delivered());
                }
                self.acknowledge(index);
            }
            (Ends::Tcp { sender, .. }, Kind::Ack) => {
                counters.acks_arrived += 1;
                sender.on_packet(self.now, &packet);
                if let Some(rtt) = sender.rtt_sample() {
                    self.flows[connection.flow as usize].rtt.add(rtt);
                }
                self.pump(index);
            }
            (Ends::Udp { .. }, _) => {
                counters.data_arrived += 1;
                counters.payload_arrived += u64::from(packet.payload);
                counters.received += u64::from(packet.payload);
            }
            (Ends::Tcp { .. }, _) => {}
        }
    }

    /// Sends what a sender may send now, and notes how far it has come.
    #[inline]
    fn pump(&mut self, index: usize) {
        loop {
            let connection = &mut self.connections[index];
            let Ends::Tcp { sender, .. } = &mut connection.ends else { return };
            let Some(mut packet) = sender.poll(self.now) else { break };
            packet.hop = connection.forward;
            connection.counters.data_sent += 1;
            let id = self.packets.insert(packet);
            self.dispatch(id);
        }
        let now = self.now;
        let connection = &mut self.connections[index];
        let Ends::Tcp { sender, .. } = &mut connection.ends else { return };
        connection.cwnd.set(now, sender.cwnd());
        let deadline = sender.deadline();
        if let Some(sessions) = &mut connection.sessions {
            sessions.follow_sender(now, sender.sent(), sender.una());
            if connection.single && !connection.ended && sender.una() == sender.supplied() && deadline == Time::NEVER {
                self.end_connection(index);
                return;
            }
        }
        self.set_timer(2 * index, deadline);
    }

    /// A connection has carried what it was opened for.
    #[allow(clippy::cast_possible_truncation)]
    fn end_connection(&mut self, index: usize) {
        self.connections[index].ended = true;
        self.set_timer(2 * index, Time::NEVER);
        self.ended.push_back((self.now, index as u32));
    }

    /// Sends the ACKs that a receiver has to send now.
    #[inline]
    fn acknowledge(&mut self, index: usize) {
        loop {
            let connection = &mut self.connections[index];
            let Ends::Tcp { receiver, .. } = &mut connection.ends else { return };
            let Some(mut packet) = receiver.poll(self.now) else {
                let deadline = receiver.deadline();
                self.set_timer(2 * index + 1, deadline);
                return;
            };
            packet.hop = connection.reverse;
            connection.counters.acks_sent += 1;
            let id = self.packets.insert(packet);
            self.dispatch(id);
        }
    }

    #[allow(clippy::cast_possible_truncation)]
    fn send_datagram(&mut self, index: usize) {
        let now = self.now;
        let connection = &mut self.connections[index];
        let flow = &self.flows[connection.flow as usize];
        let (Ends::Udp { draws, sent }, Transport::Udp { payload, size, interval, jitter }) =
            (&mut connection.ends, &flow.transport)
        else {
            return;
        };
        if flow.stopped {
            return;
        }
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
        connection.counters.data_sent += 1;
        let wait = if *jitter > 0.0 {
            Duration::from_secs_f64(interval.as_secs() * (1.0 + *jitter * (2.0 * draws.uniform() - 1.0)))
        } else {
            *interval
        };
        let id = self.packets.insert(packet);
        self.dispatch(id);
        self.set_timer(2 * index, now + wait);
    }

    fn start(&mut self, flow: usize) {
        if let Some(&own) = self.flows[flow].connections.first() {
            let index = own as usize;
            match &mut self.connections[index].ends {
                Ends::Udp { .. } => self.send_datagram(index),
                Ends::Tcp { sender, .. } => {
                    sender.open(self.now);
                    if self.flows[flow].workload == Workload::Endless {
                        sender.supply(u64::MAX);
                    }
                    self.pump(index);
                }
            }
        }
        self.enter_session(flow);
    }

    /// Puts the next session of a flow on the agenda.
    #[allow(clippy::cast_possible_truncation)]
    fn enter_session(&mut self, flow: usize) {
        if let Some((start, _)) = self.flows[flow].waiting.front() {
            self.agenda.enter((*start).max(self.now), Task::Session(flow as u32));
        }
    }

    /// A session is due: on the flow's connection its bytes queue behind those of the sessions before.
    fn session(&mut self, flow: usize) {
        let Some((start, length)) = self.flows[flow].waiting.pop_front() else { return };
        self.enter_session(flow);
        if self.flows[flow].stopped {
            return;
        }
        let fresh = self.opens_fresh_connections(flow);
        let index = if fresh {
            let index = self.add_connection(flow);
            self.connections[index].single = true;
            index
        } else {
            self.flows[flow].connections[0] as usize
        };
        let last = fresh || matches!(self.flows[flow].workload, Workload::Transfer(_));
        let connection = &mut self.connections[index];
        let Ends::Tcp { sender, .. } = &mut connection.ends else { return };
        if fresh {
            sender.open(self.now);
        }
        connection.sessions.get_or_insert_default().begin(start, length);
        sender.supply(length);
        if last {
            sender.close();
        }
        self.pump(index);
    }

    fn end_warm_up(&mut self) {
        let now = self.now;
        for flow in 0..self.flows.len() {
            self.flows[flow].at_warm_up = self.counters(flow);
            self.flows[flow].rtt.clear();
        }
        for connection in &mut self.connections {
            connection.cwnd.restart(now);
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
        for index in 0..self.flows.len() {
            let received = self.counters(index).received;
            let own = self.flows[index].connections.first().map(|own| &self.connections[*own as usize].ends);
            let (cwnd, ssthresh, srtt) = match own {
                Some(Ends::Tcp { sender, .. }) => (sender.cwnd(), sender.ssthresh(), sender.rtt().srtt().as_secs()),
                Some(Ends::Udp { .. }) | None => (f64::NAN, f64::NAN, f64::NAN),
            };
            self.series.time_s.push(time);
            self.series.flow.push(index as u32);
            self.series.cwnd.push(cwnd);
            self.series.ssthresh.push(ssthresh);
            self.series.srtt_s.push(srtt);
            self.series.received_bytes.push(received - self.series.last[index]);
            self.series.last[index] = received;
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
    /// A session of `length` bytes that was scheduled for `start` begins.
    fn begin(&mut self, start: Time, length: u64) {
        self.supplied += length;
        self.due.push(Session {
            start,
            length,
            end: self.supplied,
            sent: Time::NEVER,
            received: Time::NEVER,
            acknowledged: Time::NEVER,
        });
    }

    /// The sender has sent and got acknowledged so much of the stream.
    fn follow_sender(&mut self, now: Time, sent: u64, acknowledged: u64) {
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

    /// The receiver has handed so much of the stream to the application.
    fn follow_receiver(&mut self, now: Time, received: u64) {
        while let Some(session) = self.due.get_mut(self.received)
            && session.end <= received
        {
            session.received = now;
            self.received += 1;
        }
    }
}

/// Brings the counters of a connection up to date that its sender keeps.
fn refresh(connection: &mut Connection) {
    if let Ends::Tcp { sender, .. } = &connection.ends {
        connection.counters.retransmissions = sender.counts().retransmissions;
        connection.counters.timeouts = sender.counts().timeouts;
    }
}

#[inline]
fn next_station(hops: &[Hop], packet: &Packet) -> u32 {
    match hops[packet.hop as usize] {
        Hop::Air { to, .. } => to,
        Hop::Wire(_) | Hop::End => unreachable!("only packets on their way over the air wait for it"),
    }
}
