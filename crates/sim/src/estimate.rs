//! The cost of a run, estimated from its scenario before it starts: packets, events, sessions, samples, memory.
//!
//! Loads above the capacity of the air or a link are limited to that capacity, so the figures are bounds rather than
//! means. Memory, which decides whether a run may start, uses the measured sizes of the program (docs/reliability.md),
//! rounded up.

use std::collections::BTreeMap;

use wifair_config::Limit;
use wifair_units::{Bytes, Duration};

use crate::scenario::{
    ConnectionUse, Flows, NetworkFlow, Node, PathStep, Scenario, SizeLaw, Sizes, Transport, Wlan, Workload,
};
use crate::world::{CONNECTION_BYTES, CONNECTION_KEPT};

/// Optional data that a run keeps besides its outcome.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras {
    /// The sampling interval of the series.
    pub sample_every: Option<Duration>,
    /// The length of the interval in which every frame is recorded.
    pub frames: Duration,
}

/// A use of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is, in the plural.
    pub what: &'static str,
    /// How many exist at once.
    pub number: f64,
    /// Memory of all of them [B].
    pub bytes: f64,
    /// The key, or the option, that has the greatest influence on it.
    pub key: String,
    /// The value of that key, as in a scenario file.
    pub value: String,
}

/// The estimated cost of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Packets sent, ACKs included.
    pub packets: f64,
    /// Steps of the program.
    pub events: f64,
    /// Transmission sessions started.
    pub sessions: f64,
    /// Samples of all flows.
    pub samples: f64,
    /// Uses of memory, the largest first.
    pub parts: Vec<Part>,
}

/// Memory of the program itself with NumPy. All these constants are in bytes, and measured with the results held in
/// Python.
const PROGRAM: f64 = 40e6;
/// Memory of a station with its queue, its random streams and its row of results.
const STATION: f64 = 3e3;
/// Memory of a link of a `[space]` from one station to another that hears it.
const RADIO_LINK: f64 = 50.0;
/// Memory of a flow without its connections.
const FLOW: f64 = 12e3;
/// Memory of a recorded session with its row.
const SESSION: f64 = 250.0;
/// Memory of a session that is not yet due.
const SESSION_AHEAD: f64 = 40.0;
/// Memory of a sample of one flow with its row.
const SAMPLE: f64 = 260.0;
/// Memory of a recorded frame.
const FRAME: f64 = 700.0;
/// Memory of a queued packet.
const PACKET: f64 = 100.0;
/// A growing list of connections allocates on average this many times the memory that it needs.
const GROWTH: f64 = 1.5;
/// Steps of the program per packet and end-to-end path.
const EVENTS: f64 = 4.0;

/// Estimates the cost of one run of `scenario`.
pub fn estimate(scenario: &Scenario, extras: Extras) -> Estimate {
    let file = &scenario.file;
    let mut found = Estimate::default();
    let mut parts = vec![];
    let mut part = |what, number: f64, each: f64, key: &str, value: String| {
        if number > 0.0 {
            parts.push(Part { what, number, bytes: number * each, key: key.to_owned(), value });
        }
    };
    // Loads by the resource that they share: a channel, or the slowest link of a path without air.
    let mut loads: BTreeMap<(bool, usize), (f64, f64)> = BTreeMap::new();
    let flows = &scenario.network.flows;
    let mut queued = 0.0;
    for flow in flows {
        let group = scenario.flows_of(flow);
        let span = span(scenario, group);
        let (sessions, bytes) = sessions(&group.workload, span);
        let carried = capacity(scenario, flow) * span;
        let packet = payload(group).0 as f64;
        let offered = match &group.transport {
            Transport::Udp(udp) => udp.rate.as_bps() as f64 / 8.0 / packet * span,
            Transport::Tcp(_) if sessions.is_infinite() => f64::INFINITY,
            Transport::Tcp(_) => sessions * ((bytes / packet).ceil() + 4.0),
        };
        let key = resource(scenario, flow);
        let (sum, limit) = loads.entry(key).or_default();
        *sum += if let Workload::Ping(ping) = &group.workload { 2.0 * span / ping.interval.as_secs() } else { offered };
        *limit = limit.max(carried);
        if sessions.is_finite() {
            found.sessions += sessions;
            let (key, value) = rate_key(group);
            let mut flow_part =
                |what, number, each| part(what, number, each, &format!("flows.{}.{key}", group.name), value.clone());
            if group.workload.connection() == ConnectionUse::New && sessions > 1.0 {
                // A closed connection is kept while old packets may arrive; then its number is reused.
                let ends = offered <= carried;
                let at_once = if ends { sessions * (CONNECTION_KEPT.as_secs() / span).min(1.0) } else { sessions };
                flow_part("connections", at_once, GROWTH * CONNECTION_BYTES as f64);
            }
            let is_listed = matches!(group.workload, Workload::Sessions(_) | Workload::Trace(_));
            let rows = if is_listed { sessions } else { sessions.min(crate::world::MOST_SESSION_ROWS as f64) };
            flow_part("sessions in the results", rows, SESSION);
            if is_listed {
                flow_part("sessions ahead", sessions, SESSION_AHEAD);
            }
        }
        let window = match &group.transport {
            Transport::Tcp(tcp) => match tcp.receive_window {
                Limit::Packets(packets) => packets as f64,
                Limit::Bytes(bytes) => bytes.0 as f64 / packet,
            },
            Transport::Udp(_) => f64::INFINITY,
        };
        queued += offered.min(window);
    }
    let mut packets = 0.0;
    for (offered, carried) in loads.into_values() {
        packets += offered.min(carried);
        // UDP packets that are rejected also cost an event.
        found.events += if offered.is_finite() { (offered - carried).max(0.0) } else { 0.0 };
    }
    found.packets = 1.5 * packets; // one ACK per two segments
    found.events += EVENTS * found.packets;
    let stations = scenario.network.stations.len() as f64;
    let largest = file.stations.iter().max_by_key(|group| group.count);
    let (name, count) = largest.map_or(("", 0), |group| (group.name.as_str(), group.count));
    part("stations", stations, STATION, &format!("stations.{name}.count"), count.to_string());
    part("radio links", radio_links(scenario), RADIO_LINK, &format!("stations.{name}.count"), count.to_string());
    part("flows", flows.len() as f64, FLOW, "flows", format!("{} groups", file.flows.len()));
    let (limit, key) = largest_queue(scenario, queued);
    part("packets in queues", limit, PACKET, &key, format!("{limit:.0} packets"));
    if let Some(step) = extras.sample_every {
        found.samples = flows.len() as f64 * file.duration.as_secs() / step.as_secs();
        part("samples", found.samples, SAMPLE, "--series-step", step.to_string());
    }
    if extras.frames > Duration::ZERO {
        let frames = 3.0 * found.packets * (extras.frames.as_secs() / file.duration.as_secs()).min(1.0);
        part("frames", frames, FRAME, "--to", extras.frames.to_string());
    }
    part("program", 1.0, PROGRAM, "", String::new());
    parts.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    found.parts = parts;
    found
}

/// The number of nodes sampled to count links.
const SAMPLED_NODES: usize = 300;

/// Number of links of a `[space]`, extrapolated from a sample of its nodes.
fn radio_links(scenario: &Scenario) -> f64 {
    let Some(space) = &scenario.file.space else { return 0.0 };
    let nodes = scenario.nodes_on_air();
    // Sample nodes that are far apart in the list, so that a grid is not sampled along its rows; the step is prime.
    let some: Vec<Node> = if nodes.len() <= SAMPLED_NODES {
        nodes.clone()
    } else {
        (0..SAMPLED_NODES).map(|index| nodes[index * 7919 % nodes.len()]).collect()
    };
    let ratio = nodes.len() as f64 / some.len() as f64;
    scenario.hearing(space, 1, &some).count() as f64 * ratio * ratio
}

/// The time for which the flows of a group send [s].
fn span(scenario: &Scenario, group: &Flows) -> f64 {
    let end = group.stop.map_or(scenario.file.duration, |stop| stop.min(scenario.file.duration));
    end.as_nanos().saturating_sub(group.start.as_nanos()) as f64 * 1e-9
}

/// Number of sessions in `span` seconds (infinite for endless data), and the mean number of bytes of one.
fn sessions(workload: &Workload, span: f64) -> (f64, f64) {
    let every = |interval: Duration| span / interval.as_secs().max(1e-9);
    match workload {
        Workload::Persistent | Workload::OnOff(_) | Workload::Ping(_) => (f64::INFINITY, f64::INFINITY),
        Workload::Transfer(transfer) => (1.0, transfer.size.0 as f64),
        Workload::Sessions(sessions) => {
            let bytes: u64 = sessions.list.iter().map(|session| session.length.0).sum();
            (sessions.list.len() as f64, bytes as f64 / sessions.list.len().max(1) as f64)
        }
        Workload::Trace(trace) => {
            let bytes: f64 = trace.list.iter().map(|row| row[1]).sum();
            (trace.list.len() as f64, bytes / trace.list.len().max(1) as f64)
        }
        Workload::Periodic(periodic) => (every(periodic.period).ceil(), periodic.length.0 as f64),
        Workload::Poisson(poisson) => {
            let most = poisson.most.map_or(f64::INFINITY, f64::from);
            (every(poisson.interval).min(most), mean(&poisson.sizes))
        }
        Workload::Web(web) => {
            let page = web.think_time.as_secs() + f64::from(web.objects - 1) * web.object_interval.as_secs();
            let pages = match web.session_interval {
                Some(interval) => every(interval) * web.pages,
                None => span / page.max(1e-3), // an object takes at least one round trip
            };
            (pages * f64::from(web.objects), mean(&web.sizes))
        }
    }
}

/// Mean size of a transfer [B].
fn mean(sizes: &Sizes) -> f64 {
    match &sizes.law {
        SizeLaw::Empirical(sample) => {
            sample.list.iter().map(|size| size.0 as f64).sum::<f64>() / sample.list.len().max(1) as f64
        }
        _ => sizes.size.map_or(1.0, |size| size.0 as f64),
    }
}

/// The key that determines how often sessions begin, and its value.
fn rate_key(group: &Flows) -> (&'static str, String) {
    match &group.workload {
        Workload::Poisson(poisson) => ("poisson.interval", poisson.interval.to_string()),
        Workload::Periodic(periodic) => ("periodic.period", periodic.period.to_string()),
        Workload::Web(web) => match web.session_interval {
            Some(interval) => ("web.session_interval", interval.to_string()),
            None => ("web.think_time", web.think_time.to_string()),
        },
        Workload::Sessions(sessions) => ("sessions.list", format!("{} sessions", sessions.list.len())),
        Workload::Trace(trace) => ("trace.list", format!("{} sessions", trace.list.len())),
        _ => ("count", group.count.to_string()),
    }
}

/// Payload of a full-size packet.
fn payload(group: &Flows) -> Bytes {
    match &group.transport {
        Transport::Tcp(tcp) => tcp.mss,
        Transport::Udp(udp) => udp.payload,
    }
}

/// The resource that limits a flow: the air or, without air, the slowest link on its path.
fn resource(scenario: &Scenario, flow: &NetworkFlow) -> (bool, usize) {
    let on_air = flow.path.iter().any(|step| matches!(step, PathStep::Air { .. }));
    if on_air || flow.path.is_empty() {
        return (true, 0);
    }
    let links = flow.path.iter().filter_map(|step| match step {
        PathStep::Wired { link, .. } => Some(*link),
        PathStep::Air { .. } => None,
    });
    (false, links.min_by_key(|link| scenario.network.links[*link].rate).unwrap_or_default())
}

/// Packets per second that a flow could send if it had its limiting resource to itself.
fn capacity(scenario: &Scenario, flow: &NetworkFlow) -> f64 {
    let bits = 8.0 * (payload(scenario.flows_of(flow)).0 as f64 + 40.0);
    match (resource(scenario, flow), &scenario.file.wlan) {
        ((true, _), Some(wlan)) => scenario.network.aps.len().max(1) as f64 / air_time(wlan, bits),
        ((_, link), _) => {
            scenario.network.links.get(link).map_or(f64::INFINITY, |link| link.rate.as_bps() as f64 / bits)
        }
    }
}

/// Minimum air time of a packet of `bits`, overhead included [s].
fn air_time(wlan: &Wlan, bits: f64) -> f64 {
    if wlan.standard.has_mcs() {
        let rate =
            wlan.mode(crate::scenario::OwnMode::default()).map_or(1e9, |(_, mode)| mode.data_rate().as_bps() as f64);
        return bits / rate; // in aggregates the overhead is shared
    }
    let timing = wlan.timing();
    let fixed = timing.difs + timing.preamble + timing.sifs + timing.ack();
    bits / wlan.data_rate.as_bps() as f64 + fixed.as_secs()
}

/// The most packets, out of `queued`, that wait in the largest queue, and the key of that queue.
fn largest_queue(scenario: &Scenario, queued: f64) -> (f64, String) {
    let size = |limit: Limit| match limit {
        Limit::Packets(packets) => packets as f64,
        Limit::Bytes(bytes) => bytes.0 as f64 / 40.0,
    };
    let file = &scenario.file;
    let ap = file.ap.iter().map(|ap| (size(ap.queue.limit) * f64::from(ap.count), "ap.queue.limit".to_owned()));
    let stations = file.stations.iter().map(|group| {
        (size(group.queue.limit) * f64::from(group.count), format!("stations.{}.queue.limit", group.name))
    });
    let servers = file.servers.iter().map(|group| {
        (2.0 * size(group.queue.limit) * f64::from(group.count), format!("servers.{}.queue.limit", group.name))
    });
    let links = file.links.iter().enumerate();
    let links = links.map(|(index, link)| (2.0 * size(link.queue.limit), format!("links[{index}].queue.limit")));
    let all: Vec<(f64, String)> = ap.chain(stations).chain(servers).chain(links).collect();
    let sum: f64 = all.iter().map(|(packets, _)| packets).sum();
    let largest = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    (sum.min(queued), largest.map(|(_, key)| key).unwrap_or_default())
}
