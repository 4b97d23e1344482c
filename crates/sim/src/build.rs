//! Builds the plan of a world from a scenario and a seed: names become numbers, keys become settings.

use std::collections::BTreeMap;

use wifair_ap::{Facts, Schemes};
use wifair_engine::{Stream, stream};
use wifair_mac::edcaf::{CategorySettings, Classifier, EdcaSettings, EdcaStation, LinkSettings, SlotRules};
use wifair_mac::{AccessCategory, AccessPlan, Outages, RadioLinks, RateSettings, SignalSettings, StationSettings};
use wifair_packet::FlowLabel;
use wifair_phy::propagation::Fading;
use wifair_phy::rate::Adaptation;
use wifair_phy::{
    Amendment, CaptureEffect, ModulationClass, OperatingChannel, Outage, OutageProcess, Reception, TxMode,
};
use wifair_queue::{Limit, LinuxWifi, Queue, QueueSettings, Site, WifiPeer};
use wifair_routing::ShortestPaths;
use wifair_tcp::cc;
use wifair_units::{BitRate, Bytes, Duration, Time};

use crate::scenario::{
    self, Ap, ConnectionUse, EdcaParameterSet, ErrorsAt, NetworkFlow, Node, OwnMode, PathStep, Protocol, Scenario,
    Stations, Wlan,
};
use crate::world::{
    ChannelPlan, FlowPlan, Hop, Labels, RoutingPlan, StationsPlan, TransportPlan, WiredLinkPlan, WorkloadPlan,
    WorldPlan,
};
use crate::{RunOptions, hosts};

/// The nodes of one channel.
struct ChannelNodes {
    /// Nodes: access points first, then stations.
    nodes: Vec<Node>,
    /// The number of each node's access point on this channel.
    aps: Vec<Option<u32>>,
    hearing: Option<RadioLinks>,
    /// The channel of each node, if channels overlap.
    operating: Option<Vec<OperatingChannel>>,
}

/// The assignment of nodes to channels, and of stations to access points.
struct ChannelAssignment {
    channels: Vec<ChannelNodes>,
    /// Channel of each node, and its number there.
    places: BTreeMap<Node, (u16, u32)>,
    /// Access point of each station.
    access_points: Vec<usize>,
}

impl ChannelAssignment {
    fn new(scenario: &Scenario, seed: u64) -> Self {
        let access_points = scenario.access_points(seed);
        let airs: Vec<u32> = (0..scenario.network.aps.len()).map(|ap| scenario.air(ap)).collect();
        let channel_of = |node: &Node| match node {
            _ if scenario.is_ad_hoc() => 1,
            Node::Station(station) => airs[access_points[*station]],
            Node::Ap(ap) => airs[*ap],
            Node::Server(_) | Node::Router(_) => unreachable!("servers and routers are not on the air"),
        };
        let mut by_channel: BTreeMap<u32, Vec<Node>> = BTreeMap::new();
        for node in scenario.nodes_on_air() {
            by_channel.entry(channel_of(&node)).or_default().push(node);
        }
        let number_of_ap = |node: &Node, nodes: &[Node]| {
            let ap = match node {
                Node::Station(station) => Node::Ap(access_points[*station]),
                node => *node,
            };
            (0..).zip(nodes).find(|(_, other)| **other == ap).map(|(number, _)| number)
        };
        let space = scenario.file.space.as_ref();
        let channels: Vec<ChannelNodes> = by_channel
            .into_values()
            .map(|nodes| ChannelNodes {
                aps: nodes.iter().map(|node| number_of_ap(node, &nodes)).collect(),
                hearing: space.map(|space| scenario.hearing(space, seed, &nodes)),
                operating: nodes
                    .iter()
                    .map(|node| match node {
                        Node::Station(station) => scenario.operating_channel(access_points[*station]),
                        Node::Ap(ap) => scenario.operating_channel(*ap),
                        Node::Server(_) | Node::Router(_) => None,
                    })
                    .collect(),
                nodes,
            })
            .collect();
        let mut places = BTreeMap::new();
        for (channel, on_channel) in (0..).zip(&channels) {
            places.extend((0..).zip(&on_channel.nodes).map(|(number, node)| (*node, (channel, number))));
        }
        Self { channels, places, access_points }
    }

    fn hop(&self, step: PathStep) -> Hop {
        match step {
            PathStep::Air { from, to } => {
                let (channel, from) = self.places[&from];
                Hop::Air { channel, from, to: self.places[&to].1 }
            }
            PathStep::Wired { link, reverse } => {
                Hop::Wired(u32::try_from(2 * link + usize::from(reverse)).expect("links can be numbered"))
            }
        }
    }
}

/// The nodes of each channel, in the order of their numbers in the channel.
pub(crate) fn nodes_by_channel(scenario: &Scenario, seed: u64) -> Vec<Vec<Node>> {
    ChannelAssignment::new(scenario, seed).channels.into_iter().map(|on_channel| on_channel.nodes).collect()
}

/// The number of the primary channel of each of these nodes: as in `ap.channels`, 1 in an ad-hoc network.
pub(crate) fn channel_numbers(scenario: &Scenario, seed: u64) -> Vec<Vec<u32>> {
    let air = ChannelAssignment::new(scenario, seed);
    let number = |node: &Node| match node {
        _ if scenario.is_ad_hoc() => 1,
        Node::Station(station) => scenario.channel(air.access_points[*station]),
        Node::Ap(ap) => scenario.channel(*ap),
        Node::Server(_) | Node::Router(_) => unreachable!("servers and routers are not on the air"),
    };
    air.channels.iter().map(|on_channel| on_channel.nodes.iter().map(number).collect()).collect()
}

/// Builds the plan of the run with this seed, and the names for its report.
pub(crate) fn plan(scenario: &Scenario, seed: u64, options: &RunOptions) -> (WorldPlan, Labels) {
    let file = &scenario.file;
    let air = ChannelAssignment::new(scenario, seed);
    let flows = scenario.network.flows.iter();
    let dsdv = match &file.routing.protocol {
        Protocol::Dsdv(params) if scenario.is_ad_hoc() => Some(params),
        _ => None,
    };
    let hearing = air.channels.first().and_then(|on_channel| on_channel.hearing.as_ref());
    let paths = hearing.filter(|_| scenario.is_ad_hoc() && dsdv.is_none()).map(scenario::shortest_paths);
    let flows = flows.map(|flow| flow_plan(scenario, flow, seed, &air, paths.as_ref(), options));
    let mut flows: Vec<FlowPlan> = if options.flows { flows.collect() } else { vec![] };
    if options.real_programs {
        let joined = hosts::pairs(scenario).into_iter().filter(|(from, to)| hosts::is_joined(scenario, *from, *to));
        flows.extend(joined.filter_map(|(from, to)| {
            let (forward, reverse) = hops(scenario, from, to, None, &air, paths.as_ref())?;
            Some(between_hosts(forward, reverse))
        }));
    }
    let queues = Queues { seed, options };
    let builders = file.wlan.iter().map(|wlan| AirBuilder { scenario, wlan, queues });
    let channels =
        builders.flat_map(|builder| air.channels.iter().map(move |on_channel| builder.channel_plan(on_channel)));
    let channels = channels.collect();
    let names = |nodes: &[Node]| nodes.iter().map(|node| scenario.name_of(*node)).collect::<Vec<String>>();
    let names_of_flows = scenario.network.flows.iter().filter(|_| options.flows);
    let names_of_flows = names_of_flows.map(|flow| (flow.name.clone(), flow.direction));
    let labels = Labels {
        flows: names_of_flows.collect(),
        stations: air.channels.iter().map(|on_channel| names(&on_channel.nodes)).collect(),
        seed,
        fair_share_base: file.fair_share_base.map(|rate| rate.as_bps() as f64 / 8.0),
    };
    let plan = WorldPlan {
        seed,
        warm_up: Time::ZERO + file.warm_up,
        channels,
        links: links(scenario, queues),
        routing: dsdv.map(|params| RoutingPlan {
            channel: 0,
            params: params.clone(),
            draws: names(&scenario.nodes_on_air()).iter().map(|name| stream(seed, "routing", name)).collect(),
        }),
        flows,
        sample_every: options.sample_every,
        fast_paths: options.fast_paths && !options.real_programs,
    };
    (plan, labels)
}

/// The provider of the user-defined classes named in the scenario.
fn custom_classes(options: &RunOptions) -> &dyn crate::CustomClasses {
    options.custom_classes.as_deref().expect("a scenario that names classes in Python is run where these can be found")
}

/// Builds queues.
#[derive(Clone, Copy)]
struct Queues<'a> {
    seed: u64,
    options: &'a RunOptions,
}

impl Queues<'_> {
    /// An empty queue of the owner `name`, which feeds a link or air interface of this `rate`.
    fn build(self, settings: &QueueSettings, rate: BitRate, name: &str) -> Queue {
        let (rate, seed) = (Some(rate), self.seed);
        if let wifair_queue::Chosen::Python(params) = &settings.discipline {
            let site = Site { limit: settings.limit, mark_above: settings.mark_above, rate, seed, name };
            return Queue::custom(settings, custom_classes(self.options).queue(params, &site));
        }
        Queue::new(settings, rate, seed, name)
    }
}

/// Builds the plans of channels and of the nodes on them.
#[derive(Clone, Copy)]
struct AirBuilder<'a> {
    scenario: &'a Scenario,
    wlan: &'a Wlan,
    queues: Queues<'a>,
}

/// What a station or the access point has of its own.
struct OwnSettings<'a> {
    queue: &'a QueueSettings,
    cw_min: Option<u32>,
    cw_max: Option<u32>,
    edca: Option<&'a EdcaParameterSet>,
}

impl<'a> AirBuilder<'a> {
    /// A random stream of this kind for each node.
    fn streams(self, kind: &str, nodes: &[Node]) -> Vec<Stream> {
        nodes.iter().map(|node| self.stream(kind, &self.scenario.name_of(*node))).collect()
    }

    fn stream(self, kind: &str, name: &str) -> Stream {
        stream(self.queues.seed, kind, name)
    }

    fn own(self, node: Node) -> OwnSettings<'a> {
        if let Some(Stations { queue, cw_min, cw_max, edca, .. }) = self.scenario.group_of(node) {
            return OwnSettings { queue, cw_min: *cw_min, cw_max: *cw_max, edca: edca.as_ref() };
        }
        let Ap { queue, cw_min, cw_max, edca, .. } = self.scenario.ap();
        OwnSettings { queue, cw_min: *cw_min, cw_max: *cw_max, edca: edca.as_ref() }
    }

    fn channel_plan(self, on_channel: &ChannelNodes) -> ChannelPlan {
        let Self { scenario, wlan, .. } = self;
        let file = &scenario.file;
        let ap = scenario.ap();
        let nodes = &on_channel.nodes;
        let (cw_min, cw_max) = (wlan.cw_min, wlan.cw_max);
        let is_ap = |node: &&Node| matches!(node, Node::Ap(_));
        let schemes = nodes.iter().filter(is_ap).map(|node| {
            let name = scenario.name_of(*node);
            let facts = Facts { limit: ap.queue.limit, cw_min, cw_max, seed: self.queues.seed, name: &name };
            Schemes::new(&ap.scheme, &facts)
        });
        let schemes: Vec<Schemes> = schemes.collect();
        let signals = file.space.as_ref().map(|space| SignalSettings {
            reception: space.reception.clone(),
            fading: space.fading.clone(),
            newest: self.newest_classes(nodes),
            chances: self.streams("signal", nodes),
        });
        let adaptation = |node: &Node| {
            let own = scenario.group_of(*node).and_then(|group| group.rate_adaptation.as_ref());
            own.unwrap_or(&wlan.rate_adaptation)
        };
        let rates = nodes.iter().map(|node| {
            let draws = self.stream("rate", &scenario.name_of(*node));
            let ladder = wlan.ladder(self.is_dsss_only(*node));
            RateSettings { adaptation: adaptation(node).clone(), ladder, draws }
        });
        let adapted = nodes.iter().any(|node| *adaptation(node) != Adaptation::Fixed);
        let outages = nodes.iter().map(|node| {
            let Some(group) = scenario.group_of(*node) else { return Outages::default() };
            let process = |outage: &Option<Outage>, direction: &str| {
                let draws = || self.stream("outage", &format!("{}/{direction}", scenario.name_of(*node)));
                outage.clone().map(|outage| OutageProcess::new(outage, draws()))
            };
            Outages { from: process(&group.outage_up, "up"), to: process(&group.outage_down, "down") }
        });
        let mut present = file.stations.iter().filter(|group| group.count > 0);
        let has_outages = present.clone().any(|group| group.outage_up.is_some() || group.outage_down.is_some());
        let stations: Vec<StationSettings> = nodes.iter().map(|node| self.station(*node)).collect();
        let is_lossy = |s: &StationSettings| s.data_error_to + s.data_error_from + s.control_error_to > 0.0;
        let errors_for_all = wlan.errors_at == ErrorsAt::EveryStation && stations.iter().any(is_lossy);
        let is_dsss = |group: &Stations| group.dsss_only || group.standard == Some(Amendment::B);
        let access = wlan.access(present.any(is_dsss));
        let aps: Vec<u32> = (0..).zip(nodes).filter(|(_, node)| is_ap(node)).map(|(number, _)| number).collect();
        let stations = if wlan.standard.has_mcs() {
            let stations = stations.into_iter().enumerate();
            StationsPlan::Edca(EdcaSettings {
                access,
                aps: aps.clone(),
                classifier: Classifier::Caller,
                slot_rules: SlotRules::Edca,
                aggregation: Some(wlan.aggregation_rules(wlan.standard)),
                stations: stations.map(|(place, common)| self.edca_station(on_channel, place, common)).collect(),
            })
        } else if let Some(plan) = schemes.first().and_then(Schemes::access) {
            let stations = nodes.iter().zip(stations);
            StationsPlan::Edca(EdcaSettings {
                access,
                aps: aps.clone(),
                classifier: Classifier::Kind(plan.prioritized),
                slot_rules: SlotRules::Dcf,
                aggregation: None,
                stations: stations.map(|(node, common)| self.prioritizing_station(&plan, *node, common)).collect(),
            })
        } else {
            StationsPlan::Dcf(access, stations)
        };
        let mut space = on_channel.hearing.clone().zip(signals);
        if errors_for_all && space.is_none() {
            // What bystanders receive of a frame requires the spatial channel.
            space = Some(self.everybody(nodes));
        }
        ChannelPlan {
            errors_for_all,
            rates: if adapted && !wlan.standard.has_mcs() { rates.collect() } else { vec![] },
            outages: if has_outages { outages.collect() } else { vec![] },
            overlapping: on_channel.operating.clone().map(|channels| scenario.channel_settings(wlan, channels)),
            aps,
            space,
            stations,
            schemes,
        }
    }

    fn is_dsss_only(self, node: Node) -> bool {
        self.scenario.group_of(node).is_some_and(|group| group.dsss_only)
    }

    /// The newest modulation class that each node reads; empty if all are of the network's standard.
    fn newest_classes(self, nodes: &[Node]) -> Vec<ModulationClass> {
        if nodes.iter().all(|node| self.standard_of(*node) == self.wlan.standard) {
            return vec![];
        }
        nodes.iter().map(|node| self.standard_of(*node).class()).collect()
    }

    /// The standard of a node.
    fn standard_of(self, node: Node) -> Amendment {
        let own = self.scenario.group_of(node).and_then(|group| group.standard);
        if self.is_dsss_only(node) { Amendment::B } else { own.unwrap_or(self.wlan.standard) }
    }

    /// Links on which all nodes can read each other, and all frames that overlap are lost.
    fn everybody(self, nodes: &[Node]) -> (RadioLinks, SignalSettings) {
        let reception = Reception { capture: CaptureEffect::None, ..Reception::default() };
        let chances = self.streams("signal", nodes);
        let count = u32::try_from(nodes.len()).expect("nodes can be numbered");
        (RadioLinks::full(count), SignalSettings { reception, fading: Fading::None, newest: vec![], chances })
    }

    /// The access point or a station with the two access categories of a scheme, and its own windows if it has any.
    fn prioritizing_station(self, plan: &AccessPlan, node: Node, mut common: StationSettings) -> EdcaStation {
        let (wlan, name) = (self.wlan, self.scenario.name_of(node));
        let OwnSettings { queue, cw_min, cw_max, .. } = self.own(node);
        let categories = if matches!(node, Node::Station(_)) { &plan.stations } else { &plan.ap };
        let first_queue = self.queues.build(queue, wlan.data_rate, &format!("{name}-first"));
        let first_backoff = self.stream("first-backoff", &name);
        let priority = CategorySettings::with_queue(categories.priority.clone(), first_queue, first_backoff);
        let parameters = categories.best_effort.with_windows(cw_min, cw_max, (wlan.cw_min, wlan.cw_max));
        let best_effort = CategorySettings::of(&mut common, parameters);
        EdcaStation::without_mcs(common, vec![priority, best_effort])
    }

    /// The access point or a station with its transmit mode and the four access categories, for 802.11n and later.
    fn edca_station(self, on_channel: &ChannelNodes, place: usize, common: StationSettings) -> EdcaStation {
        let (wlan, node, nodes) = (self.wlan, on_channel.nodes[place], on_channel.nodes.len());
        let name = self.scenario.name_of(node);
        let OwnSettings { queue, edca, .. } = self.own(node);
        let mut own = self.scenario.group_of(node).map(Stations::own_mode).unwrap_or_default();
        let per_station = matches!(node, Node::Ap(_)) && self.scenario.has_queue_per_station();
        let stations = on_channel.nodes.iter().filter(|node| matches!(node, Node::Station(_))).count();
        let queue = &if per_station { self.scenario.ap_queue_each_of(stations) } else { queue.clone() };
        let standard = own.standard.unwrap_or(wlan.standard);
        if let Some(operating) = &on_channel.operating {
            let widest = operating[place].width().mhz();
            let usual = if standard == wlan.standard { widest } else { 20 };
            own.width = Some(own.width.unwrap_or(usual).min(widest));
        }
        let is_legacy = !standard.has_mcs();
        let mode = (!is_legacy).then(|| wlan.mode(own).expect("transmit modes were checked"));
        let legacy = EdcaParameterSet::legacy(standard);
        let edca = if is_legacy { &legacy } else { edca.unwrap_or(&wlan.edca) };
        let rate = mode.map_or(wlan.data_rate, |(_, mode)| mode.data_rate());
        let peers: Vec<WifiPeer> = on_channel.nodes.iter().map(|other| self.peer(node, *other, rate)).collect();
        let all = AccessCategory::ALL.len();
        let radio = LinuxWifi::categories(queue, Some(rate), self.queues.seed, &name, all, &peers);
        let mut radio = radio.unwrap_or_default().into_iter();
        let categories = edca.categories().into_iter().zip(AccessCategory::ALL);
        let categories = categories.map(|(parameters, category)| {
            let is_usual = category == AccessCategory::Be;
            let name = if is_usual { name.clone() } else { format!("{name}-{}", category.abbreviation()) };
            let build = |name: &str| self.queues.build(queue, rate, name);
            CategorySettings {
                parameters: parameters.clone(),
                queues: if per_station {
                    (0..nodes).map(|to| build(&format!("{name}-to-{to}"))).collect()
                } else {
                    vec![radio.next().unwrap_or_else(|| build(&name))]
                },
                limit: match queue.limit {
                    Limit::Packets(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
                    Limit::Bytes(_) => usize::MAX,
                },
                backoff: self.stream("backoff", &name),
            }
        });
        EdcaStation {
            common,
            mode: mode.map(|(band, mode)| (mode, band)),
            link: self.link(node, own, mode.map(|(_, mode)| mode)),
            aggregation: (!is_legacy).then(|| wlan.aggregation_rules(standard)),
            is_legacy,
            newest: self.standard_of(node).class(),
            ap: on_channel.aps[place],
            categories: categories.collect(),
        }
    }

    /// What the radio of a node knows of another one; `rate` is that of its own mode.
    fn peer(self, node: Node, other: Node, rate: BitRate) -> WifiPeer {
        let group = self.scenario.group_of(other).filter(|_| matches!(node, Node::Ap(_)));
        let mode = group.and_then(|group| self.wlan.mode(group.own_mode()).ok());
        let place = group.and_then(|group| self.scenario.file.stations.iter().position(|one| std::ptr::eq(one, group)));
        WifiPeer {
            rate: Some(mode.map_or(rate, |(_, mode)| mode.data_rate())),
            weight: group.and_then(|group| group.airtime_weight).unwrap_or(256),
            group: place
                .filter(|_| group.is_some_and(|group| group.airtime_shared == Some(true)))
                .map(|place| place as u32),
        }
    }

    /// Rate adaptation of the access point or a station (802.11n and later), and the noise on its link.
    fn link(self, node: Node, own: OwnMode, mode: Option<TxMode>) -> LinkSettings {
        let Self { scenario, wlan, .. } = self;
        let (group, name) = (scenario.group_of(node), scenario.name_of(node));
        let adaptation = group.and_then(|group| group.rate_adaptation.as_ref()).unwrap_or(&wlan.rate_adaptation);
        // Either the access point adapts its rate to this station, or the station adapts its own.
        let is_adapted = [adaptation, &wlan.rate_adaptation].iter().any(|chosen| **chosen != Adaptation::Fixed);
        let ladder = mode.filter(|_| is_adapted).map_or(vec![], |mode| wlan.modes_up_to(own, mode));
        let may_narrow = scenario.operating_channel(0).is_some();
        let modes: Vec<TxMode> = mode.into_iter().chain(ladder.iter().copied()).filter(|_| may_narrow).collect();
        LinkSettings {
            narrower: wlan.narrower(&modes, own),
            options: wlan.ppdu_options(),
            ladder,
            adaptation: adaptation.clone(),
            draws: self.stream("rate", &name),
            snr: group.map_or(vec![], Stations::signal_to_noise_ratios),
            noise: self.stream("noise", &name),
        }
    }

    /// The access point or a station. The error rates of data frames are set per station at the end of the link.
    fn station(self, node: Node) -> StationSettings {
        let Self { scenario, wlan, queues } = self;
        let (group, name) = (scenario.group_of(node), scenario.name_of(node));
        let own = self.own(node);
        let mut queue = own.queue.clone();
        if let (Some(_), Protocol::Dsdv(params)) = (group, &scenario.file.routing.protocol) {
            queue.routing_first |= params.priority;
        }
        let mut settings = StationSettings {
            cw_min: own.cw_min.unwrap_or(wlan.cw_min),
            cw_max: own.cw_max.unwrap_or(wlan.cw_max),
            exclude_cw: wlan.exclude_cw,
            rate: wlan.data_rate,
            routing_overhead: Bytes(0),
            data_error_to: 0.0,
            data_error_from: 0.0,
            control_error_to: wlan.control_error,
            queue: queues.build(&queue, wlan.data_rate, &name),
            backoff: self.stream("backoff", &name),
            errors: self.stream("error", &name),
        };
        if let Some(group) = group {
            let dsss = wlan.standard == Amendment::G && group.dsss_only || group.standard == Some(Amendment::B);
            if let Some(rate) = group.data_rate.or(dsss.then_some(BitRate::from_mbps(11))) {
                settings.rate = rate;
            }
            settings.data_error_from = group.data_error_up.unwrap_or(wlan.data_error);
            settings.data_error_to = group.data_error_down.unwrap_or(wlan.data_error);
            settings.routing_overhead = wlan.routing_overhead;
        }
        settings
    }
}

/// Both directions of each wired link, one after the other.
fn links(scenario: &Scenario, queues: Queues<'_>) -> Vec<WiredLinkPlan> {
    let links = &scenario.network.links;
    let direction = |index: usize, path: &str| {
        let link = &links[index];
        let name = format!("link{index}-{path}");
        WiredLinkPlan {
            rate: Some(link.rate),
            burst: link.burst,
            delay: link.delay,
            queue: queues.build(&link.queue, link.rate, &name),
        }
    };
    (0..links.len()).flat_map(|index| [direction(index, "forth"), direction(index, "back")]).collect()
}

fn flow_plan(
    scenario: &Scenario,
    flow: &NetworkFlow,
    seed: u64,
    air: &ChannelAssignment,
    paths: Option<&ShortestPaths>,
    options: &RunOptions,
) -> FlowPlan {
    let group = scenario.flows_of(flow);
    let transport = match &group.transport {
        _ if let scenario::Workload::Ping(ping) = &group.workload => TransportPlan::Ping {
            payload: u16::try_from(ping.size.0).expect("the size of an echo was checked"),
            interval: ping.interval,
        },
        scenario::Transport::Tcp(tcp) => {
            let (mut sender, mut receiver) = match flow.from {
                Node::Station(_) | Node::Ap(_) => tcp.resolve_at_station(),
                Node::Server(_) | Node::Router(_) => tcp.resolve(),
            };
            if let cc::AlgorithmChoice::Python(params) = &tcp.cc {
                let control = custom_classes(options).congestion_control(params, &flow.name);
                receiver.echo_each_mark = control.wants_mark_per_packet;
                sender.custom_cc = Some(control);
            }
            TransportPlan::Tcp { sender: Box::new(sender), receiver }
        }
        scenario::Transport::Udp(udp) => TransportPlan::Udp {
            payload: u16::try_from(udp.payload.0).expect("the payload of a datagram was checked"),
            size: u16::try_from(udp.payload.0 + udp.header.0).expect("the size of a datagram was checked"),
            interval: udp.rate.time_for(udp.payload),
            jitter: udp.jitter,
        },
    };
    let workload = match (&group.workload, scenario.sessions(flow, seed)) {
        (scenario::Workload::Transfer(transfer), _) => WorkloadPlan::Transfer(transfer.size),
        (scenario::Workload::Web(web), _) => WorkloadPlan::Web(web.clone()),
        (scenario::Workload::OnOff(bursts), _) => WorkloadPlan::Bursts(bursts.clone()),
        (chosen, Some(list)) => WorkloadPlan::Sessions { list, fresh: chosen.connection() == ConnectionUse::New },
        (_, None) => WorkloadPlan::Endless,
    };
    let (forward, reverse) =
        hops(scenario, flow.from, flow.to, Some(&flow.path), air, paths).expect("the ends of a flow were checked");
    FlowPlan {
        name: flow.name.clone(),
        forward,
        reverse,
        transport,
        workload,
        label: FlowLabel {
            hosts: (host_number(flow.from), host_number(flow.to)),
            dscp: group.dscp.map_or(0, |dscp| dscp.number()),
            l4s: matches!(&group.transport, scenario::Transport::Tcp(tcp) if tcp.ecn && tcp.cc.is_l4s()),
            ..FlowLabel::default()
        },
        category: category(scenario, group).index(),
        start: scenario.start(flow, seed),
        stop: scenario.stop(flow),
    }
}

/// A number for a host: queues that share by host tell hosts apart by it.
fn host_number(node: Node) -> u32 {
    let (kind, index) = match node {
        Node::Station(index) => (0, index),
        Node::Ap(index) => (1, index),
        Node::Server(index) => (2, index),
        Node::Router(index) => (3, index),
    };
    u32::try_from(4 * index + kind).expect("hosts can be numbered")
}

/// The hops from one node to another, and back; `given` is the path of a flow through the first access point.
fn hops(
    scenario: &Scenario,
    from: Node,
    to: Node,
    given: Option<&[PathStep]>,
    air: &ChannelAssignment,
    paths: Option<&ShortestPaths>,
) -> Option<(Vec<Hop>, Vec<Hop>)> {
    let chosen = if scenario.is_ad_hoc() {
        given.is_none().then(|| vec![PathStep::Air { from, to }])
    } else if given.is_none() || scenario.network.aps.len() > 1 {
        scenario.network.path(from, to, &|station| air.access_points[station])
    } else {
        None
    };
    let mut forward: Vec<Hop> = chosen.as_deref().or(given)?.iter().map(|step| air.hop(*step)).collect();
    // Without a path a single hop is used: its frames reach no station and are given up.
    if let (Some(paths), [Hop::Air { from, to, .. }]) = (paths, &forward[..])
        && paths.next(*from, *to).is_some()
    {
        let nodes: Vec<u32> = std::iter::once(*from).chain(paths.path(*from, *to)).collect();
        forward = nodes.windows(2).map(|pair| Hop::Air { channel: 0, from: pair[0], to: pair[1] }).collect();
    }
    let mut reverse: Vec<Hop> = forward.iter().rev().map(|hop| hop.reversed()).collect();
    forward.push(Hop::End);
    reverse.push(Hop::End);
    Some((forward, reverse))
}

/// The path of packets of real programs between two hosts.
fn between_hosts(forward: Vec<Hop>, reverse: Vec<Hop>) -> FlowPlan {
    FlowPlan {
        name: String::new(), // no random stream is named after it
        forward,
        reverse,
        transport: TransportPlan::Udp { payload: 0, size: 0, interval: Duration::ZERO, jitter: 0.0 },
        workload: WorkloadPlan::Outside,
        label: FlowLabel::default(),
        category: AccessCategory::Be.index(),
        start: Time::ZERO,
        stop: Time::NEVER,
    }
}

/// Access category of the packets of a group of flows.
fn category(scenario: &Scenario, group: &scenario::Flows) -> AccessCategory {
    let mapping = scenario.file.wlan.as_ref().map(|wlan| wlan.dscp_mapping);
    let by_dscp = group.dscp.zip(mapping).map(|(dscp, mapping)| mapping.category(dscp.number()));
    group.category.or(by_dscp).unwrap_or(AccessCategory::Be)
}
