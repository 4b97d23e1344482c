//! The world: stations, access points, wired links and flows, and the loop that processes one event after the other.
//!
//! The sources of events, in the order in which they are served at one instant: the applications' event queue, the
//! timers of the transports, the timers of access-point schemes and of routing, the channels, the wired links. See
//! [`wifair_engine`] for the total order.
//!
//! Packets are identified by their number in the arena. A table of hops gives the next hop of each packet; it is built
//! once, with a row for each flow and direction, so that forwarding is an increment. DSDV rewrites the table instead:
//! see [`routing`].

mod ap_schemes;
#[cfg_attr(not(feature = "fast"), path = "plain.rs")]
mod fast;
mod flow;
mod from_air;
mod measure;
mod overlap;
mod plan;
mod real;
mod report;
mod routing;
mod series;
mod sessions;
mod setup;
mod small_queues;
mod station_counts;
mod users;
mod watch;
mod wired_link;

use std::collections::VecDeque;

use wifair_engine::{EventQueue, NextEventTree, Timers};
use wifair_mac::{AccessCategory, AirTime, Call, Channel, ChannelVariant, GeneralChannel, MacEvent, SpatialChannel};
use wifair_metrics::Jitter;
use wifair_packet::{Kind, NextHops, PacketId, Packets};
use wifair_queue::{Cause, Dropped};
use wifair_units::{Count, Duration, Time};

use ap_schemes::ApWithSchemes;
use fast::Train;
use flow::{Connection, Ends, Flow};
use overlap::FlowOverlap;
use real::RealTraffic;
use routing::{RoutingCounters, RoutingState};
use watch::Watch;
use wired_link::{Departure, WiredLink};

use crate::record::{QueueCounts, Series, StationCounts};
pub use flow::{CONNECTION_BYTES, CONNECTION_KEPT};
pub use measure::{FlowCounters, Loss, Session, TimeMean};
pub use plan::{
    ChannelPlan, Direction, FlowPlan, Hop, RoutingPlan, StationsPlan, TransportPlan, WiredLinkPlan, WorkloadPlan,
    WorldPlan,
};
pub use real::{Carried, RealPacket};
pub use report::Labels;
pub use sessions::MOST_SESSION_ROWS;
pub use watch::{Sighting, Stamp, WatchPlan};

/// A scheduled task of an application.
#[derive(Clone, Copy, Debug)]
enum AppTask {
    /// The warm-up ends and the measurement begins.
    EndWarmUp,
    /// A flow begins.
    Start(u32),
    /// The next session of a flow is due.
    Session(u32),
    /// The application of a flow stops.
    Stop(u32),
    /// A user of a web flow arrives.
    UserComes(u32),
    /// A user of a web flow requests a page.
    Page(u32, u32),
    /// A user of a web flow requests the next object of a page.
    Object(u32, u32),
    /// A bursty source starts or ends a burst.
    Turn(u32),
    /// State is sampled.
    Sample,
}

const EVENT_QUEUE: usize = 0;
const TIMERS: usize = 1;
/// Event source number of schemes of access points and of routing.
const CONTROL: usize = 2;
const FIRST_CHANNEL: usize = 3;

/// A running world.
#[derive(Debug)]
pub struct World {
    now: Time,
    warm_up: Time,
    overlap: FlowOverlap,
    next_events: NextEventTree,
    /// The channel that is being advanced; its next event is determined afterwards.
    on_turn: Option<usize>,
    packets: Packets,
    hops: Vec<Hop>,
    /// [`Hop::receiver`] of each hop, as a plain table for the channels.
    next_hops: Vec<u32>,
    event_queue: EventQueue<AppTask>,
    timers: Timers,
    channels: Vec<Channel>,
    links: Vec<WiredLink>,
    scheme_aps: Vec<ApWithSchemes>,
    routing: Option<Box<RoutingState>>,
    routing_at_warm_up: RoutingCounters,
    watch: Option<Box<Watch>>,
    /// Whether packets are observed on their path, by schemes or by a watch.
    observed: bool,
    /// Whether senders limit their data in the queue of their own station, and so must be told when packets leave it.
    small_queues: bool,
    /// Whether packets are not observed and paths are fixed.
    fast_path: bool,
    /// Whether senders take their short code path.
    short_paths: bool,
    /// Whether receivers pass MPDUs up one by one.
    passes_up_singly: bool,
    /// How long before now the packet being handled was received.
    lead: Duration,
    flows: Vec<Flow>,
    connections: Vec<Connection>,
    /// Connections that have ended, each with the time.
    ended: VecDeque<(Time, u32)>,
    seed: u64,
    /// The access points of each channel.
    aps: Vec<Vec<u32>>,
    air_at_warm_up: Vec<AirTime>,
    stations_at_warm_up: Vec<Vec<StationCounts>>,
    /// Drops of the queues of each station of each channel; marks are counted by the queues themselves.
    drops: Vec<Vec<QueueCounts>>,
    dropped: Dropped,
    /// Delays of datagrams that arrive together; scratch space.
    delays: Vec<Duration>,
    retry_limit_drops: Vec<(u32, PacketId)>,
    sample_every: Option<Duration>,
    series: Series,
    /// Packets of real programs, if there are any.
    real: Option<Box<RealTraffic>>,
    /// Packets that have yet to join a queue.
    kept: Train,
    /// The argument of the current [`World::run_until`].
    until: Time,
    /// No application task is due before this time, and results are not read before it.
    horizon: Time,
    events: u64,
}

impl World {
    /// The current time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The time of the next event.
    #[must_use]
    pub fn next(&self) -> Time {
        self.next_events.earliest()
    }

    /// Events processed since the start.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Approximate memory of the parts that grow during a run [B].
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let logs: usize = self.flows.iter().map(|flow| flow.log.bytes()).sum();
        self.connections.capacity() * size_of::<Connection>()
            + self.connections.len() * (CONNECTION_BYTES - size_of::<Connection>())
            + self.packets.bytes()
            + self.series.bytes()
            + logs
    }

    /// Counters of a flow since the start of the run.
    pub fn counters(&mut self, flow: usize) -> FlowCounters {
        let flow = &self.flows[flow];
        let mut sum = flow.retired;
        for number in &flow.connections {
            let connection = &mut self.connections[*number as usize];
            flow::refresh(connection);
            sum = sum.plus(&connection.counters);
        }
        sum
    }

    /// Unacknowledged bytes of the sender of a flow's first connection; 0 without TCP.
    #[must_use]
    pub fn outstanding(&self, flow: usize) -> u64 {
        let first = self.flows[flow].connections.front().map(|number| &self.connections[*number as usize].ends);
        match first {
            Some(Ends::Tcp { sender, .. }) => sender.sent() - sender.una(),
            Some(Ends::Udp { .. } | Ends::Ping { .. } | Ends::Real) | None => 0,
        }
    }

    /// Packets sent that have neither arrived nor been lost.
    #[must_use]
    pub fn packets_under_way(&self) -> usize {
        self.packets.len() + self.channels.iter().map(Channel::packets_unwritten).sum::<usize>()
    }

    /// Packets in queues, on links and in stations: equal to the number in transit, unless a packet was leaked.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        self.links.iter().map(WiredLink::packets_held).sum::<usize>()
            + self.channels.iter().map(Channel::packets_held).sum::<usize>()
            + self.routing.as_ref().map_or(0, |routing| routing.packets_held())
    }

    /// The use of each channel's air time since the start of the run.
    pub fn air_times(&self) -> impl Iterator<Item = AirTime> + '_ {
        self.channels.iter().map(|channel| channel.air_time(self.now))
    }

    /// Processes all events up to and including `until`. A run may be divided into any number of calls.
    pub fn run_until(&mut self, until: Time) {
        self.until = until;
        self.look_ahead();
        loop {
            let (time, source) = self.next_events.first();
            if time > until {
                break;
            }
            debug_assert!(time >= self.now, "time does not run backwards");
            self.now = time;
            self.events += u64::from(source != TIMERS);
            match source {
                EVENT_QUEUE => self.next_task(),
                TIMERS => self.next_timer(),
                CONTROL => self.advance_control(),
                _ if source < FIRST_CHANNEL + self.channels.len() => {
                    self.advance_channel(source - FIRST_CHANNEL, until)
                }
                _ => self.advance_link(source - FIRST_CHANNEL - self.channels.len()),
            }
        }
        self.now = self.now.max(until);
        self.catch_up(self.now + Duration::from_nanos(1));
    }

    /// Determines the time up to which no application task is due and results are not read.
    fn look_ahead(&mut self) {
        self.horizon = self.event_queue.next().min(self.until.saturating_add(Duration::from_nanos(1)));
    }

    /// Schedules a task.
    fn enter(&mut self, time: Time, task: AppTask) {
        self.event_queue.enter(time, task);
        self.next_events.set(EVENT_QUEUE, self.event_queue.next());
        self.horizon = self.horizon.min(time);
    }

    fn next_task(&mut self) {
        let task = self.event_queue.pop().expect("the queue has the task that it announced");
        let is_overlap_due = self.overlap.is_due(self.now);
        if is_overlap_due || matches!(task, AppTask::EndWarmUp | AppTask::Sample) {
            self.catch_up(self.now);
        }
        if is_overlap_due {
            self.note_overlap();
        }
        match task {
            AppTask::EndWarmUp => self.end_warm_up(),
            AppTask::Start(flow) => self.start(flow as usize),
            AppTask::Session(flow) => self.session(flow as usize),
            AppTask::Stop(flow) => self.stop(flow as usize),
            AppTask::UserComes(flow) => self.on_user_arrival(flow as usize),
            AppTask::Page(flow, user) => self.request_page(flow as usize, user),
            AppTask::Object(flow, user) => self.request_object(flow as usize, user),
            AppTask::Turn(flow) => self.turn(flow as usize),
            AppTask::Sample => self.sample(),
        }
        self.next_events.set(EVENT_QUEUE, self.event_queue.next());
        self.look_ahead();
    }

    /// Runs the next timer. One that was stopped or moved is no event, so that it makes no difference for how many
    /// packets together a timer is set.
    fn next_timer(&mut self) {
        if let Some(owner) = self.timers.pop(self.now) {
            self.events += 1;
            let index = owner / 2;
            let now = self.now;
            match &mut self.connections[index].ends {
                Ends::Tcp { sender, .. } if owner.is_multiple_of(2) => {
                    sender.on_timer(now);
                    self.pump(index);
                }
                Ends::Tcp { receiver, .. } => {
                    receiver.on_timer(now);
                    self.end_segment(None, index);
                }
                Ends::Udp { .. } => self.send_datagram(index),
                Ends::Ping { .. } => self.send_ping(index),
                Ends::Real => {}
            }
        }
        self.update_next_timer();
    }

    #[inline(never)]
    fn update_next_timer(&mut self) {
        self.next_events.set(TIMERS, self.timers.next());
    }

    #[inline(always)]
    fn set_timer(&mut self, owner: usize, deadline: Time) {
        if self.timers.set(owner, deadline) {
            self.update_next_timer();
        }
    }

    /// Runs the timers of schemes and of routing.
    fn advance_control(&mut self) {
        self.advance_schemes();
        self.advance_routing();
        self.next_events.set(CONTROL, self.next_control());
    }

    fn next_control(&self) -> Time {
        self.next_scheme().min(self.routing.as_ref().map_or(Time::NEVER, |routing| routing.next()))
    }

    /// Advances a channel until `until`, or until the next event of another source.
    fn advance_channel(&mut self, index: usize, until: Time) {
        if matches!(self.channels[index], Channel::Spatial(_)) {
            self.advance_variant::<SpatialChannel>(index, until);
        } else if matches!(self.channels[index], Channel::General(_)) {
            self.advance_variant::<GeneralChannel>(index, until);
        } else {
            self.advance_shortcut(index, until);
        }
    }

    #[inline(never)]
    fn advance_variant<C: ChannelVariant>(&mut self, index: usize, until: Time) {
        self.on_turn = Some(index);
        let mut bound = self.next_events.first_without(FIRST_CHANNEL + index).min(until);
        loop {
            self.step_channel::<C>(index, bound);
            let channel = &mut self.channels[index];
            let next = C::of(channel).next();
            bound = self.next_events.earliest_until(until); // the MAC event may have changed other sources
            if next >= bound {
                self.next_events.set(FIRST_CHANNEL + index, next);
                self.on_turn = None;
                return;
            }
            self.now = next;
            self.events += 1;
        }
    }

    /// A channel, and the arguments of a call to it.
    #[inline(always)]
    fn call_of(&mut self, index: usize) -> (&mut Channel, Call<'_>) {
        let call = Call {
            now: self.now,
            packets: &mut self.packets,
            dropped: &mut self.dropped,
            retry_limit_drops: &mut self.retry_limit_drops,
            next_hops: NextHops(&self.next_hops),
        };
        (&mut self.channels[index], call)
    }

    /// The access category of a packet: that of its flow, or best effort for routing messages.
    fn category_of(&self, id: PacketId) -> usize {
        let packet = &self.packets[id];
        match packet.kind {
            Kind::Routing => AccessCategory::Be.index(),
            _ => self.connections.get(packet.flow as usize).map_or(0, |connection| connection.category),
        }
    }

    /// Advances a channel until it has an event to report, or until `bound`.
    #[inline(always)]
    fn step_channel<C: ChannelVariant>(&mut self, index: usize, bound: Time) {
        let (channel, mut call) = self.call_of(index);
        let (event, steps) = C::of(channel).advance_until(bound, &mut call);
        self.now = call.now;
        self.events = self.events + steps - 1;
        match event {
            MacEvent::Packet { id, .. } if self.fast_path => {
                let hands_up_more = !self.channels[index].passed_up().is_empty();
                self.forward_from_air(index, id); // no other event can be due
                if hands_up_more {
                    self.forward_passed_up(index);
                }
            }
            #[cfg(feature = "fast")]
            MacEvent::Datagrams { sender } => self.runs_arrive(index, sender),
            MacEvent::Nothing if self.fast_path && self.dropped.is_empty() && self.retry_limit_drops.is_empty() => {
                self.resume_exhausted(index);
            }
            _ => self.handle_mac_event(index, event),
        }
    }

    /// Handles an event of a channel.
    #[inline(never)]
    fn handle_mac_event(&mut self, index: usize, event: MacEvent) {
        if self.watch.is_some() {
            self.watch_air(index);
        }
        if !self.dropped.is_empty() {
            self.lose_dropped();
        }
        if !self.retry_limit_drops.is_empty() {
            self.lose_retry_limit_drops();
        }
        match event {
            MacEvent::Nothing => self.resume_exhausted(index),
            #[cfg(feature = "fast")]
            MacEvent::Datagrams { .. } => unreachable!("they were counted"),
            MacEvent::Packet { to, id } if self.routing.is_some() => {
                if self.small_queues && self.is_on_first_hop(id) {
                    self.note_departure(id);
                }
                let hop = self.hop_to(id, to);
                let packet = &self.packets[id];
                if packet.is_data() {
                    self.connections[packet.flow as usize].counters.air_hops += 1;
                }
                if self.watch.is_some() {
                    self.watch_move(id, hop);
                }
                self.packets[id].hop = hop;
                if !self.observed || self.pass(id) {
                    self.dispatch_from_air(index, id);
                }
            }
            MacEvent::Packet { id, .. } => self.forward_from_air(index, id),
            MacEvent::Broadcast { from, id } => {
                self.resume_exhausted(index);
                self.hear_announcement(index, from, id);
            }
        }
    }

    #[inline(never)]
    fn lose_retry_limit_drops(&mut self) {
        for position in 0..self.retry_limit_drops.len() {
            let (from, id) = self.retry_limit_drops[position];
            if self.routing.is_some() {
                self.note_retry_limit_drop(from, id);
            }
            self.lose(id, Loss::RetryLimit);
        }
        self.retry_limit_drops.clear();
    }

    /// Advances a link, and further as long as nothing else is due before its next event.
    #[inline(never)]
    fn advance_link(&mut self, index: usize) {
        let source = FIRST_CHANNEL + self.channels.len() + index;
        self.next_events.set(source, Time::NEVER);
        loop {
            let link = &mut self.links[index];
            if let Some(id) = link.advance(self.now, &mut self.packets, &mut self.dropped) {
                self.forward(id);
                self.arrive_behind(index);
                self.join_behind(index);
            } else if !self.dropped.is_empty() {
                self.lose_dropped();
            }
            let next = self.links[index].next();
            if next >= self.next_events.earliest_until(self.until) {
                return self.schedule_link(index);
            }
            self.now = next;
            self.events += 1;
        }
    }

    /// Handles a departure that needs attention after a packet was put on a link.
    #[inline(never)]
    fn update_link(&mut self, index: usize) {
        self.arrive_all_eagerly(index);
        self.schedule_link(index);
        if !self.dropped.is_empty() {
            self.lose_dropped();
        }
    }

    /// Schedules the next event of a link.
    fn schedule_link(&mut self, index: usize) {
        let next = self.links[index].next();
        self.next_events.set(FIRST_CHANNEL + self.channels.len() + index, next);
    }

    /// Sends a packet on its first hop.
    #[inline(always)]
    fn launch(&mut self, id: PacketId, hop: u32) {
        if self.watch.is_some() {
            self.watch_launch(id);
        }
        self.send_on_hop(id, hop);
    }

    /// Forwards a packet that has made a hop.
    #[inline(always)]
    fn forward(&mut self, id: PacketId) {
        let packet = &mut self.packets[id];
        packet.hop += 1;
        let hop = packet.hop;
        if self.fast_path || !self.observed {
            self.send_on_hop(id, hop);
        } else if self.pass(id) {
            self.dispatch(id);
        }
    }

    /// Passes a packet that has made a hop to its observers. Returns whether it is forwarded.
    fn pass(&mut self, id: PacketId) -> bool {
        if self.small_queues && self.routing.is_none() && self.has_made_one_hop(id) {
            self.note_departure(id);
        }
        self.watch_arrival(id);
        if !self.scheme_aps.is_empty() && !self.pass_schemes(id) {
            return false;
        }
        self.watch_departure(id);
        true
    }

    /// Sends a packet on the hop given by the table of hops.
    #[inline]
    fn dispatch(&mut self, id: PacketId) {
        self.send_on_hop(id, self.packets[id].hop);
    }

    #[inline(always)]
    fn send_on_hop(&mut self, id: PacketId, hop: u32) {
        match self.hops[hop as usize] {
            Hop::Air { channel, from, .. } => {
                let index = usize::from(channel);
                if !self.only_joins_queue(index, from, id) {
                    self.offer(index, from, id);
                }
            }
            Hop::Wired(link) => self.send_on_wire(link, id, self.now, Time::ZERO),
            Hop::NoPath { .. } => self.hold(id),
            Hop::End => self.arrive(id),
        }
    }

    /// Puts a packet on a wired link, as if at the earlier time `since`.
    #[inline(always)]
    fn send_on_wire(&mut self, link: u32, id: PacketId, since: Time, earliest: Time) {
        let index = link as usize;
        let link = &mut self.links[index];
        let horizon = link.eager_arrival().horizon(self.horizon, &self.timers);
        match link.send(since, earliest, horizon, id, &mut self.packets, &mut self.dropped) {
            Departure::OnItsWay => {}
            Departure::Noteworthy => self.update_link(index),
            Departure::Expected(time) => self.expect_at_ap(id, time),
            Departure::Arrives(time) => self.arrive_eagerly(id, time),
        }
    }

    #[inline(never)]
    fn offer(&mut self, index: usize, from: u32, id: PacketId) {
        let category = self.channels[index].edcafs().is_some().then(|| self.category_of(id));
        let (channel, mut call) = self.call_of(index);
        let offered = match category {
            Some(category) => channel.offer_in(from, category, id, &mut call),
            None => channel.offer(from, id, &mut call),
        };
        if offered && self.on_turn != Some(index) {
            self.next_events.set(FIRST_CHANNEL + index, self.channels[index].next());
        }
        if !self.dropped.is_empty() {
            self.lose_dropped();
        }
    }

    #[inline(never)]
    fn lose_dropped(&mut self) {
        for position in 0..self.dropped.len() {
            let (id, cause) = self.dropped[position];
            let hop = self.hops[self.packets[id].hop as usize];
            self.count_drop(hop, cause);
            let loss = match cause {
                Cause::Overflow | Cause::Early => self.queue_of(hop),
                Cause::Expired => Loss::Lifetime,
                Cause::Late => Loss::Late,
            };
            self.lose(id, loss);
        }
        self.dropped.clear();
    }

    fn lose(&mut self, id: PacketId, loss: Loss) {
        self.packets.release(id);
        if self.real.is_some() {
            self.note_loss(id, loss);
        }
        if self.small_queues && self.is_on_first_hop(id) {
            self.note_departure(id);
        }
        self.count_hops_until_loss(id);
        let packet = &self.packets[id];
        match (packet.kind, &mut self.routing) {
            (Kind::Icmp, _) => {}
            (Kind::Routing, Some(routing)) => routing.forget(packet),
            _ => self.connections[packet.flow as usize].counters.lose(packet, loss),
        }
    }

    /// Counts the air hops of a data packet that is lost on the fixed path of its flow.
    fn count_hops_until_loss(&mut self, id: PacketId) {
        let packet = &self.packets[id];
        if self.routing.is_none() && packet.is_data() {
            let connection = &mut self.connections[packet.flow as usize];
            let path = self.hops.get(connection.forward as usize..packet.hop as usize);
            connection.counters.air_hops += path.map_or(0, air_hops);
        }
    }

    fn end_warm_up(&mut self) {
        let now = self.now;
        for flow in 0..self.flows.len() {
            self.flows[flow].at_warm_up = self.counters(flow);
            self.flows[flow].rtt.restart();
            self.flows[flow].one_way.restart();
            self.flows[flow].jitter = Jitter::default();
        }
        for connection in &mut self.connections {
            if let Ends::Tcp { receiver, .. } = &mut connection.ends {
                receiver.restart_count();
            }
            connection.cwnd.restart(now);
        }
        self.stations_at_warm_up = self.station_counts();
        self.routing_at_warm_up = self.routing.as_ref().map(|routing| routing.sent).unwrap_or_default();
        for (index, channel) in self.channels.iter_mut().enumerate() {
            self.air_at_warm_up[index] = channel.air_time(now);
            channel.restart_delays();
            for gauge in channel.ap_queues_mut() {
                gauge.restart(now);
            }
        }
    }
}

/// The number of these hops that are over the air.
fn air_hops(hops: &[Hop]) -> u64 {
    hops.iter().map(|hop| u64::from(matches!(hop, Hop::Air { .. }))).sum()
}
