//! Flows: the pairs of nodes between which they run, and the path of each.

use std::collections::BTreeMap;

use wifair_config::{Limit, hint};
use wifair_phy::PPDU_MAX_TIME;
use wifair_units::{Bytes, Duration};

use super::paths::{neighbours, path, wired_path};
use super::{Builder, MOST, NetworkFlow, Node, PathStep, member_name};
use crate::scenario::file::{Flows, ServerDirection, Transport};
use crate::traffic::{Direction, Workload};

/// The largest IP packet that fits into a frame: an MSDU of 2304 bytes (IEEE Std 802.11-2016, table 9-19) minus LLC.
const LARGEST_PACKET: u64 = 2304 - 8;

impl Builder<'_> {
    /// Expands the groups of flows, and finds the path of each flow.
    pub(super) fn flows(&mut self) {
        let file = self.file;
        let neighbours = neighbours(&self.network.links);
        let (mut paths, mut wired) = (BTreeMap::new(), BTreeMap::new());
        let mut wired_path =
            |start, end| wired.entry((start, end)).or_insert_with(|| wired_path(start, end, &neighbours)).clone();
        let chosen: Vec<Option<usize>> =
            self.network.stations.iter().map(|member| self.network.named_ap(file, member)).collect();
        let aps = self.network.aps.len().max(1);
        let candidates = |node: Node| match node {
            Node::Station(station) => chosen[station].map_or(0..aps, |ap| ap..ap + 1),
            _ => 0..1,
        };
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for (group, flows) in file.flows.iter().enumerate() {
            self.check_name(&flows.name, &format!("flows[{group}].name"));
            let Some(pairs) = self.pairs(flows, group) else { continue };
            let each = flows.count as usize;
            let of = pairs.len().saturating_mul(each);
            if self.network.flows.len() + of > MOST {
                self.problem(&format!("flows[{group}]"), &format!("more than {MOST} flows in all"), "");
                return;
            }
            let several = pairs.len();
            for (index, (from, to)) in pairs.into_iter().enumerate() {
                let path = paths.entry((from, to)).or_insert_with(|| match (from, to) {
                    // Positions, and so the route, depend on the seed of the run.
                    (Node::Station(_), Node::Station(_)) if file.is_ad_hoc() => Some(vec![PathStep::Air { from, to }]),
                    // There must be a path whichever access points the stations choose.
                    _ => candidates(from)
                        .flat_map(|a| candidates(to).map(move |b| (a, b)))
                        .map(|(a, b)| {
                            let ap_of = |station| if from == Node::Station(station) { a } else { b };
                            path(from, to, &ap_of, &mut wired_path)
                        })
                        .reduce(|first, other| first.filter(|_| other.is_some()))
                        .flatten(),
                });
                let Some(path) = path.clone() else {
                    let [from, to] = [from, to].map(|node| self.network.name_of(self.file, node));
                    let message = format!("no path from `{from}` to `{to}`");
                    self.problem(&format!("flows[{group}]"), &message, "join them by [[links]]");
                    break;
                };
                let asked = path.iter().filter_map(|step| self.asks_for_too_much(flows, *step));
                if let Some((key, message, note)) = asked.min() {
                    self.problem(&format!("flows[{group}].{key}"), &message, &note);
                    break;
                }
                if !self.fits_the_queues(flows, &path) {
                    break;
                }
                for copy in 0..each {
                    let name = match (several, each) {
                        (_, 1) => member_name(&flows.name, index, several),
                        (1, _) => member_name(&flows.name, copy, each),
                        _ => format!("{}-{}", member_name(&flows.name, index, several), copy + 1),
                    };
                    if let Some(other) = names.insert(name.clone(), group) {
                        let [again, first] = [group, other].map(|group| format!("flows[{group}].name"));
                        let message = format!("two flows are called `{name}`");
                        self.clash(&message, [(&again, "again here"), (&first, "first here")]);
                        return;
                    }
                    let direction = match (from, to) {
                        (Node::Station(_), Node::Station(_)) => Direction::Peer,
                        (Node::Station(_), _) => Direction::Up,
                        (_, Node::Station(_)) => Direction::Down,
                        _ => Direction::Wired,
                    };
                    let place = (index * each + copy, of);
                    self.network.flows.push(NetworkFlow {
                        name,
                        group,
                        place,
                        from,
                        to,
                        direction,
                        path: path.clone(),
                    });
                }
            }
            if flows.start >= file.duration {
                let start = format!("flows[{group}].start");
                let message = format!("flow `{}` starts after the end", flows.name);
                self.clash(&message, [(&start, "not within the run"), ("duration", "the whole run")]);
            }
        }
        if file.flows.is_empty() && self.needs_flows {
            self.problem(
                "",
                "a scenario without flows",
                "write [[flows]] with name, station and server; only `emulate` needs none",
            );
        }
    }

    /// The ends of the flows of a group, source first.
    fn pairs(&mut self, flows: &Flows, group: usize) -> Option<Vec<(Node, Node)>> {
        let path = |key: &str| format!("flows[{group}].{key}");
        let end = |builder: &mut Self, key: &str, name: &str, what: &str| {
            let nodes = builder.find(name, &path(key), what)?;
            let Some(first) = nodes.first() else { return Some(nodes) }; // an empty group
            let found = match first {
                Node::Station(_) => "station",
                Node::Server(_) => "server",
                Node::Ap(_) => "access point",
                Node::Router(_) => "router",
            };
            if what == found || (what == "node" && matches!(found, "station" | "server")) {
                return Some(nodes);
            }
            let note = if what == "node" { "write a station or server".to_owned() } else { format!("write a {what}") };
            builder.problem(&path(key), &format!("`{name}` is the name of a {found}"), &note);
            None
        };
        let (from, to, keys) = if let (Some(from), Some(to)) = (&flows.from, &flows.to) {
            (end(self, "from", from, "node"), end(self, "to", to, "node"), ["from", "to"])
        } else {
            let station = flows.station.as_ref().and_then(|name| end(self, "station", name, "station"));
            let server = match &flows.server {
                Some(name) => end(self, "server", name, "server"),
                None if self.network.servers.len() == 1 => Some(vec![Node::Server(0)]),
                None if self.network.servers.is_empty() => {
                    let note = "write [[servers]] with name = \"server\"";
                    self.problem(&path("station"), "no server for the other end of the flow", note);
                    None
                }
                None => {
                    let names: Vec<&str> = self.file.servers.iter().map(|group| group.name.as_str()).collect();
                    let note = format!("write server = \"...\", {}", hint("", &names));
                    self.problem(&path("name"), "which server is the other end?", &note);
                    None
                }
            };
            match flows.direction.unwrap_or(ServerDirection::Up) {
                ServerDirection::Up => (station, server, ["station", "server"]),
                ServerDirection::Down => (server, station, ["server", "station"]),
            }
        };
        let (from, to) = (from?, to?);
        if from.is_empty() || to.is_empty() {
            return Some(vec![]);
        }
        let pairs: Vec<(Node, Node)> = match (from.len(), to.len()) {
            (_, 1) => from.into_iter().map(|from| (from, to[0])).collect(),
            (1, _) => to.into_iter().map(|to| (from[0], to)).collect(),
            (a, b) if a == b => from.into_iter().zip(to).collect(),
            (a, b) => {
                let spots = [(&*path(keys[0]), &*a.to_string()), (&*path(keys[1]), &*b.to_string())];
                self.clash("groups of different size do not pair up", spots);
                return None;
            }
        };
        if pairs.iter().any(|(from, to)| from == to) {
            self.problem(&path(keys[1]), "a flow from a node to itself", "choose another end");
            return None;
        }
        Some(pairs)
    }

    /// What a flow asks for that a step of its path over the air cannot do: key, message and note.
    fn asks_for_too_much(&self, flows: &Flows, step: PathStep) -> Option<(&'static str, String, String)> {
        let (PathStep::Air { from, to }, Some(wlan)) = (step, &self.file.wlan) else { return None };
        let (key, size) = full_packet(flows);
        if size.0 > LARGEST_PACKET {
            let message = format!("packets of {size} do not fit into a frame");
            return Some((key, message, format!("at most {LARGEST_PACKET} B with headers")));
        }
        let member = |node: Node| if let Node::Station(station) = node { Some(station) } else { None };
        let group = &self.file.stations[self.network.stations[member(from).or(member(to))?].group];
        let standard = group.standard.unwrap_or(wlan.standard);
        if !wlan.standard.has_mcs() {
            return None;
        }
        if !standard.has_mcs() {
            let is_asked = flows.category.is_some() && matches!(from, Node::Station(_));
            let message = format!("the {standard} stations `{}` have no access categories", group.name);
            return is_asked.then(|| ("category", message, "leave it out: they send by DCF".to_owned()));
        }
        let time = wlan.longest_time(group, size)?;
        (time > PPDU_MAX_TIME).then(|| {
            let ms = |time: Duration| time.as_nanos() as f64 / 1e6;
            let message = format!(
                "packets of {size} take up to {:.3} ms from and to `{}`, longer than {:.3} ms, the longest PPDU",
                ms(time),
                group.name,
                ms(PPDU_MAX_TIME)
            );
            (key, message, "write a smaller size or a faster mode: fragments are not modelled".to_owned())
        })
    }

    /// Reports a queue on the path of the data that cannot hold a single packet, so that nothing would arrive.
    fn fits_the_queues(&mut self, flows: &Flows, path: &[PathStep]) -> bool {
        let (_, size) = full_packet(flows);
        for step in path {
            let (owner, limit) = match *step {
                PathStep::Air { from: Node::Station(station), .. } => {
                    let group = self.network.stations[station].group;
                    (format!("stations[{group}]"), self.file.stations[group].queue.limit)
                }
                PathStep::Air { .. } => match &self.file.ap {
                    Some(ap) => ("ap".to_owned(), ap.queue.limit),
                    None => continue,
                },
                PathStep::Wired { link, .. } => {
                    let limit = self.network.links[link].queue.limit;
                    let group = self.file.servers.iter().position(|servers| servers.queue.limit == limit);
                    let link = self.file.links.iter().position(|link| link.queue.limit == limit);
                    let link = link.map_or(String::new(), |index| format!("links[{index}]"));
                    (group.map_or(link, |index| format!("servers[{index}]")), limit)
                }
            };
            let Limit::Bytes(limit) = limit else { continue };
            if limit < size {
                let message = format!("`limit` is {limit}, but a packet of `{}` has {size}", flows.name);
                self.problem(&format!("{owner}.queue.limit"), &message, "must be at least one packet");
                return false;
            }
        }
        true
    }
}

/// The size of a full packet of `flows`, with headers, and the key that sets it.
fn full_packet(flows: &Flows) -> (&'static str, Bytes) {
    match (&flows.workload, &flows.transport) {
        (Workload::Ping(ping), _) => ("ping.size", ping.size + Bytes(28)),
        (_, Transport::Tcp(tcp)) => ("tcp.mss", tcp.mss + tcp.header),
        (_, Transport::Udp(udp)) => ("udp.payload", udp.payload + udp.header),
    }
}
