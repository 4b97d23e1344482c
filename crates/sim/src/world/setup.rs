//! Builds a world from its plan.

use std::collections::VecDeque;

use wifair_engine::{EventQueue, NextEventTree, Timers, stream};
use wifair_mac::edcaf::Edcafs;
use wifair_mac::{AirTime, Channel, ChannelSettings, GeneralChannel, SpatialChannel};
use wifair_metrics::Jitter;
use wifair_packet::Packets;
use wifair_units::{Duration, Time};

use super::ap_schemes::ApWithSchemes;
use super::fast::{self, Train};
use super::flow::Flow;
use super::measure::Delays;
use super::overlap::FlowOverlap;
use super::routing::{RoutingCounters, RoutingState};
use super::sessions::{self, SessionLog};
use super::users::Users;
use super::wired_link::WiredLink;
use super::{
    AppTask, CONTROL, EVENT_QUEUE, FIRST_CHANNEL, FlowCounters, FlowPlan, Hop, StationsPlan, TransportPlan,
    WorkloadPlan, World, WorldPlan,
};
use crate::record::{QueueCounts, Series, StationCounts};
use crate::traffic::Schedule;

impl World {
    /// Builds a world at time zero.
    ///
    /// # Panics
    /// If a hop of the plan names a channel, station or link that does not exist.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn new(plan: WorldPlan) -> Self {
        let mut hops = vec![];
        let routing = plan.routing.map(|routing| {
            let ends =
                plan.flows.iter().flat_map(|flow| [&flow.forward, &flow.reverse]).filter_map(|path| match path[..] {
                    [Hop::Air { channel, to, .. }, Hop::End] if channel == routing.channel => Some(to),
                    _ => None,
                });
            let ends = ends.collect();
            Box::new(RoutingState::new(routing, ends, &mut hops))
        });
        let mut lay = |path: &[Hop]| {
            if let Some(start) = routing.as_ref().and_then(|routing| routing.start(path)) {
                return start;
            }
            let start = hops.len() as u32;
            hops.extend_from_slice(path);
            assert_eq!(hops.last(), Some(&Hop::End), "a path ends with its last hop");
            start
        };
        let mut event_queue = EventQueue::default();
        event_queue.enter(plan.warm_up, AppTask::EndWarmUp);
        if let Some(every) = plan.sample_every {
            event_queue.enter(Time::ZERO + every, AppTask::Sample);
        }
        let small_queues = plan.flows.iter().any(|flow| match &flow.transport {
            TransportPlan::Tcp { sender, .. } => sender.options.small_queue > Duration::ZERO,
            _ => false,
        });
        let overlap = FlowOverlap::new(plan.warm_up, &plan.flows);
        let mut flows = vec![];
        let with_sessions = |flow: &&FlowPlan| !matches!(flow.workload, WorkloadPlan::Endless | WorkloadPlan::Outside);
        let rows_of_flow = sessions::rows_of_flow(plan.flows.iter().filter(with_sessions).count());
        for (index, mut flow) in plan.flows.into_iter().enumerate() {
            let number = index as u32;
            if flow.workload != WorkloadPlan::Outside {
                event_queue.enter(flow.start, AppTask::Start(number));
                event_queue.enter(flow.stop, AppTask::Stop(number));
            }
            let waiting = match &mut flow.workload {
                WorkloadPlan::Outside | WorkloadPlan::Endless | WorkloadPlan::Web(_) | WorkloadPlan::Bursts(_) => {
                    Schedule::default()
                }
                WorkloadPlan::Transfer(bytes) => Schedule::from(vec![(flow.start, *bytes)]),
                WorkloadPlan::Sessions { list, .. } => std::mem::take(list),
            };
            let most_rows = if waiting.is_listed() { usize::MAX } else { rows_of_flow };
            let log = SessionLog::new(most_rows, stream(plan.seed, "session rows", &flow.name));
            let users = matches!(flow.workload, WorkloadPlan::Web(_) | WorkloadPlan::Bursts(_))
                .then(|| Box::new(Users::new(plan.seed, &flow.name)));
            flows.push(Flow {
                forward: lay(&flow.forward),
                reverse: lay(&flow.reverse),
                name: flow.name,
                transport: flow.transport,
                workload: flow.workload,
                label: flow.label,
                category: flow.category,
                connections: VecDeque::new(),
                retired: FlowCounters::default(),
                at_warm_up: FlowCounters::default(),
                rtt: Delays::default(),
                one_way: Delays::default(),
                jitter: Jitter::default(),
                waiting,
                log,
                users,
                saturates: None,
                silent: true,
                stopped: false,
                start: flow.start,
                stop: flow.stop,
            });
        }
        let with_shortcuts = fast::AVAILABLE && plan.fast_paths;
        let aps: Vec<Vec<u32>> = plan.channels.iter().map(|channel| channel.aps.clone()).collect();
        let (mut channels, mut scheme_aps) = (vec![], vec![]);
        for (index, channel) in plan.channels.into_iter().enumerate() {
            for (ap, schemes) in channel.aps.iter().zip(channel.schemes) {
                if !schemes.is_empty() {
                    scheme_aps.push(ApWithSchemes { channel: index, ap: *ap, schemes });
                }
            }
            let Some((links, signals)) = channel.space else {
                channels.push(match channel.stations {
                    StationsPlan::Dcf(access, stations) => Channel::dcf(access, channel.aps[0], stations),
                    StationsPlan::Edca(settings) => Channel::General(Box::new(GeneralChannel::new(settings))),
                });
                continue;
            };
            let space = match channel.stations {
                StationsPlan::Dcf(access, stations) => SpatialChannel::new(access, &channel.aps, links, stations),
                StationsPlan::Edca(settings) => SpatialChannel::with_categories(settings, links),
            };
            let mut space = on_channels(space.with_signals(signals), channel.overlapping);
            space.set_errors_for_all(channel.errors_for_all);
            if !channel.outages.is_empty() {
                space.set_outages(channel.outages);
            }
            channels.push(Channel::Spatial(match channel.rates {
                rates if rates.is_empty() => space,
                rates => space.with_rates(rates),
            }));
        }
        let links: Vec<WiredLink> = plan.links.into_iter().map(WiredLink::new).collect();
        let stations = channels.iter().map(|channel| channel.all_counters().len());
        let drops: Vec<_> = stations.map(|count| vec![QueueCounts::default(); count]).collect();
        let mut world = Self {
            now: Time::ZERO,
            warm_up: plan.warm_up,
            overlap,
            next_events: NextEventTree::new(FIRST_CHANNEL, channels.len() + links.len()),
            on_turn: None,
            packets: Packets::default(),
            next_hops: hops.iter().map(|hop| hop.receiver()).collect(),
            hops,
            event_queue,
            timers: Timers::new(0),
            air_at_warm_up: vec![AirTime::default(); channels.len()],
            stations_at_warm_up: drops.iter().map(|drops| vec![StationCounts::default(); drops.len()]).collect(),
            drops,
            lead: Duration::ZERO,
            passes_up_singly: channels.iter().filter_map(Channel::edcafs).any(Edcafs::passes_up_singly),
            channels,
            links,
            observed: !scheme_aps.is_empty() || small_queues,
            small_queues,
            fast_path: with_shortcuts && scheme_aps.is_empty() && routing.is_none() && !small_queues,
            short_paths: with_shortcuts,
            scheme_aps,
            routing,
            routing_at_warm_up: RoutingCounters::default(),
            watch: None,
            real: None,
            kept: Train::default(),
            until: Time::ZERO,
            horizon: Time::ZERO,
            series: Series { last: vec![[0; 3]; flows.len()], ..Series::default() },
            flows,
            connections: vec![],
            ended: VecDeque::new(),
            seed: plan.seed,
            aps,
            dropped: vec![],
            delays: vec![],
            retry_limit_drops: vec![],
            sample_every: plan.sample_every,
            events: 0,
        };
        for flow in 0..world.flows.len() {
            if !world.flows[flow].workload.opens_fresh_connections() {
                world.add_connection(flow);
            }
        }
        world.next_events.set(EVENT_QUEUE, world.event_queue.next());
        world.next_events.set(CONTROL, world.next_control());
        if with_shortcuts {
            world.find_fast_paths();
        } else {
            world.channels.iter_mut().for_each(Channel::disable_fast_paths);
        }
        world
    }
}

/// A channel in space whose stations are on these channels, if they overlap.
fn on_channels(space: SpatialChannel, overlapping: Option<ChannelSettings>) -> SpatialChannel {
    match overlapping {
        Some(settings) => space.with_channels(settings),
        None => space,
    }
}
