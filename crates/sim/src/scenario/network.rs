//! From groups to single stations and flows, and the ways between their ends.

use std::collections::{BTreeMap, VecDeque};

use wifair_ap::Access;
use wifair_config::{Limit, Node as Tree, Place, Reader, hint};
use wifair_phy::Spoils;
use wifair_phy::rate::Adaptation;
use wifair_queue as queue;
use wifair_units::{BitRate, Bytes, Duration};

use crate::traffic::Workload;

use super::contention_windows;
use super::file::{Direction as Dir, File, Flows, Transport};
use super::routing::Protocol;
use super::space::is_ad_hoc;
use super::wlan::{Standard, Wlan, windows};
use crate::traffic::Direction;

/// Stations, servers or flows in all; more are a slip.
const MOST: usize = 1_000_000;

/// The largest IP packet that fits into a frame: an MSDU of 2304 bytes (IEEE Std 802.11-2016, table 9-19) less LLC.
const LARGEST_PACKET: u64 = 2304 - 8;

/// A node of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// An access point, by its place in [`Network::aps`].
    Ap(usize),
    /// A station, by its place in [`Network::stations`].
    Station(usize),
    /// A server, by its place in [`Network::servers`].
    Server(usize),
    /// A router, by its place in the file.
    Router(usize),
}

/// A station, server or access point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The place of its group in the file; zero for access points.
    pub group: usize,
}

/// A wired link, the same in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// Both ends.
    pub ends: [Node; 2],
    /// Rate.
    pub rate: BitRate,
    /// Size of the token bucket, where the link is one.
    pub burst: Option<Bytes>,
    /// Delay, one way.
    pub delay: Duration,
    /// Packets that wait for it, at either end.
    pub queue: queue::Settings,
}

/// A step of the way of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Over the air.
    Air {
        /// Who sends.
        from: Node,
        /// Who receives.
        to: Node,
    },
    /// Over a wire.
    Wired {
        /// Its place in [`Network::wires`].
        wire: usize,
        /// Whether from its second end to its first.
        reverse: bool,
    },
}

/// A flow of data between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Its name, which also names its random streams.
    pub name: String,
    /// The place of its group in the file.
    pub group: usize,
    /// Its place among the flows of the group, and how many these are.
    pub place: (usize, usize),
    /// Where data comes from.
    pub from: Node,
    /// Where data goes to.
    pub to: Node,
    /// Which way data goes, seen from the stations.
    pub direction: Direction,
    /// The way of the data; that of the ACKs is the same backwards. Where stations choose among access points, it is
    /// that over the first: see [`Network::path`].
    pub path: Vec<Step>,
}

/// All nodes, wires and flows by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Access points.
    pub aps: Vec<Member>,
    /// Stations, group by group.
    pub stations: Vec<Member>,
    /// Servers, group by group.
    pub servers: Vec<Member>,
    /// Wires: those of the servers first.
    pub wires: Vec<Wire>,
    /// Flows, group by group.
    pub flows: Vec<Flow>,
}

/// The name of the `index`-th of `count` members of a group, from 0.
fn member_name(group: &str, index: usize, count: usize) -> String {
    let number = index + 1;
    match group.ends_with(|c: char| c.is_ascii_digit()) {
        _ if count == 1 => group.to_owned(),
        true => format!("{group}-{number}"),
        false => format!("{group}{number}"),
    }
}

/// What a name stands for.
#[derive(Clone, Debug)]
struct Named {
    nodes: Vec<Node>,
    place: Place,
}

/// Builds a network, and reports what does not fit together.
struct Builder<'a> {
    file: &'a File,
    root: &'a Tree,
    reader: &'a mut Reader,
    network: Network,
    names: BTreeMap<String, Named>,
    good: bool,
}

impl Network {
    /// Expands the groups of `file`, which was read from `root`.
    pub(super) fn build(file: &File, root: &Tree, reader: &mut Reader) -> Option<Self> {
        let network = Self::default();
        let mut builder = Builder { file, root, reader, network, names: BTreeMap::new(), good: true };
        builder.air();
        builder.nodes();
        builder.paths();
        if builder.good {
            builder.wires();
        }
        if builder.good {
            builder.flows();
        }
        builder.good.then_some(builder.network)
    }

    /// The way with the fewest wires when each station is at the access point `ap_of` it.
    #[must_use]
    pub fn path(&self, from: Node, to: Node, ap_of: &dyn Fn(usize) -> usize) -> Option<Vec<Step>> {
        let neighbours = neighbours(&self.wires);
        path(from, to, ap_of, |start, end| wired_path(start, end, &neighbours))
    }
}

/// Where wires lead from each node.
type Neighbours = BTreeMap<Node, Vec<(Node, Step)>>;

fn neighbours(wires: &[Wire]) -> Neighbours {
    let mut neighbours = Neighbours::new();
    for (wire, link) in wires.iter().enumerate() {
        for reverse in [false, true] {
            let (from, to) = if reverse { (link.ends[1], link.ends[0]) } else { (link.ends[0], link.ends[1]) };
            neighbours.entry(from).or_default().push((to, Step::Wired { wire, reverse }));
        }
    }
    neighbours
}

impl Builder<'_> {
    fn place(&self, path: &str) -> Option<Place> {
        self.root.at(path).map(|node| node.place.clone())
    }

    fn problem(&mut self, path: &str, message: &str, note: &str) {
        self.good = false;
        let place = self.place(path).unwrap_or_default();
        let key = path.rsplit('.').next();
        self.reader.problem(&place, key, message, note);
    }

    fn air(&mut self) {
        let ad_hoc = is_ad_hoc(self.file);
        if ad_hoc && self.root.get("ap").is_some() {
            self.problem("ap", "an [ap] in an ad-hoc network", "leave it out, or write mode = \"infrastructure\"");
        }
        if !ad_hoc && self.file.routing.protocol != Protocol::Static {
            let message = format!("routing by \"{}\" without an ad-hoc network", self.file.routing.protocol);
            let note = "write mode = \"ad-hoc\" in [space]; where there are access points the ways are static";
            self.problem("routing.protocol", &message, note);
        }
        let Some(wlan) = &self.file.wlan else {
            if self.file.space.is_some() {
                self.problem("space", "a [space] without a [wlan]", "write [wlan] with standard = \"802.11b\"");
            }
            if !self.file.stations.is_empty() {
                self.problem("stations[0]", "stations without a [wlan]", "write [wlan] with standard = \"802.11b\"");
            }
            if self.root.get("ap").is_some() {
                self.problem("ap", "an [ap] without a [wlan]", "write [wlan] with standard = \"802.11b\"");
            }
            return;
        };
        if self.file.space.is_none() {
            self.without_space(wlan);
        }
        self.high_throughput(wlan);
        self.categories_in_space(wlan);
        for (path, window) in contention_windows::odd(self.file, wlan) {
            let key = path.rsplit('.').next().unwrap_or_default();
            let message = format!("`{key}` is {window}, which is not one less than a power of two");
            let note = format!(
                "{} or {}; any other needs nonstandard_windows = true in [wlan]",
                (window + 1).next_power_of_two() / 2 - 1,
                (window + 1).next_power_of_two() - 1
            );
            self.problem(&path, &message, &note);
        }
        if let Some(ap) = self.file.ap.as_ref().filter(|ap| self.file.space.is_none() && ap.count > 1) {
            let mut channels = ap.channels.clone();
            channels.truncate(ap.count as usize);
            channels.sort_unstable();
            channels.dedup();
            if channels.len() < ap.count as usize {
                let message = format!("{} access points on {} channels", ap.count, channels.len());
                let note = "write [space], with positions, or as many `channels` in [ap]";
                self.problem("ap.count", &message, note);
            }
        }
        if self.file.stations.is_empty() {
            self.problem("wlan", "a [wlan] without stations", "write [[stations]] with name = \"sta\", count = 8");
        }
        if let Some(ap) = &self.file.ap {
            self.windows("ap", ap.cw_min, ap.cw_max, wlan);
        }
        for (index, group) in self.file.stations.iter().enumerate() {
            let path = format!("stations[{index}]");
            self.windows(&path, group.cw_min, group.cw_max, wlan);
            if let (Some(rate), Some(node)) = (group.data_rate, self.root.at(&path)) {
                self.good &= self.reader.check(node, |at| wlan.check_rate(at, "data_rate", rate, group.dsss_only));
            }
            if group.dsss_only && wlan.standard == Standard::A {
                let note = "802.11b is in 2.4 GHz, and `wlan.standard` is \"802.11a\"";
                self.problem(&format!("{path}.dsss_only"), "`dsss_only` does not apply", note);
            }
        }
    }

    /// Reports what is asked of a medium in which everybody hears everybody and that only one with links and powers
    /// does.
    fn without_space(&mut self, wlan: &Wlan) {
        let mut asked = vec![];
        let has_mcs = wlan.standard.has_mcs();
        if !has_mcs && wlan.rate_adaptation != Adaptation::Fixed {
            asked.push("wlan.rate_adaptation".to_owned());
        }
        if wlan.protection.is_some() && !has_mcs {
            asked.push("wlan.protection".to_owned());
        }
        for (index, group) in self.file.stations.iter().enumerate() {
            if !has_mcs && group.rate_adaptation.as_ref().is_some_and(|chosen| *chosen != Adaptation::Fixed) {
                asked.push(format!("stations[{index}].rate_adaptation"));
            }
            if group.dsss_only {
                asked.push(format!("stations[{index}].dsss_only"));
            }
            for (key, outage) in [("outage_up", &group.outage_up), ("outage_down", &group.outage_down)] {
                if outage.is_some() {
                    asked.push(format!("stations[{index}].{key}"));
                }
            }
        }
        for path in asked {
            let key = path.rsplit('.').next().unwrap_or_default();
            self.problem(&path, &format!("`{key}` needs [space]"), "write [space], with radios and positions");
        }
    }

    /// Reports what stations with access categories cannot do in space.
    fn categories_in_space(&mut self, wlan: &Wlan) {
        let Some(space) = &self.file.space else { return };
        let who = match self.file.ap.as_ref().map(|ap| &ap.scheme.access) {
            _ if wlan.standard.has_mcs() => wlan.standard.to_string(),
            None | Some(Access::None) => return,
            Some(access) => format!("access = \"{access}\""),
        };
        if wlan.standard.has_mcs() && space.reception.spoils == Spoils::Bits {
            let message = format!("`spoils` is \"bits\" with {who}");
            let note =
                "bit errors are known for 802.11b, a and g; write spoils = \"threshold\" and a capture_threshold";
            self.problem("space.reception.spoils", &message, note);
        }
        let has_mcs = wlan.standard.has_mcs();
        let adapts = |chosen: &Adaptation| *chosen != Adaptation::Fixed;
        let mut refused = vec![];
        if adapts(&wlan.rate_adaptation) {
            refused.push("wlan.rate_adaptation".to_owned());
        }
        if wlan.cf_end && has_mcs {
            refused.push("wlan.cf_end".to_owned());
        }
        for (index, group) in self.file.stations.iter().enumerate() {
            for (key, is_set) in [
                ("rate_adaptation", group.rate_adaptation.as_ref().is_some_and(adapts)),
                ("snr", has_mcs && group.snr.is_some()),
                ("outage_up", group.outage_up.is_some()),
                ("outage_down", group.outage_down.is_some()),
                ("standard", has_mcs && group.standard.is_some_and(|standard| standard != wlan.standard)),
            ] {
                if is_set {
                    refused.push(format!("stations[{index}].{key}"));
                }
            }
        }
        for path in refused {
            let key = path.rsplit('.').next().unwrap_or_default();
            let note = match key {
                "snr" => "in [space] powers and `reception` decide what is read; leave it out",
                "outage_up" | "outage_down" => {
                    "outages are modelled without access categories; leave out one of the two"
                }
                "standard" => "in [space] all stations are of one standard from 802.11n on; leave out one of the two",
                "cf_end" => "in [space] a frame announces its own exchange, not the rest of its TXOP; leave it out",
                _ => "stations with access categories send at fixed rates in [space]; leave out one of the two",
            };
            self.problem(&path, &format!("`{key}` with {who} in [space]"), note);
        }
    }

    /// Reports what 802.11n and later do not have here, or older standards do not have.
    fn high_throughput(&mut self, wlan: &Wlan) {
        let mut problems = vec![];
        let has_mcs = wlan.standard.has_mcs();
        let foreign = |key: &str| {
            if has_mcs {
                (format!("`{key}` does not apply to {}", wlan.standard), "write `edca` or `mcs`".to_owned())
            } else {
                let note = "802.11n, ac, ax and be have it: write standard = \"802.11n\" in [wlan]";
                (format!("`{key}` does not apply to {}", wlan.standard), note.to_owned())
            }
        };
        let mut refuse = |path: String, is_set: bool| {
            if is_set {
                let (message, note) = foreign(path.rsplit('.').next().unwrap_or_default());
                problems.push((path, message, note));
            }
        };
        if let Some(ap) = &self.file.ap {
            let access = ap.scheme.access != Access::None;
            for (key, is_old, is_set) in [
                ("scheme.access", true, access),
                ("cw_min", true, ap.cw_min.is_some()),
                ("cw_max", true, ap.cw_max.is_some()),
                ("edca", false, ap.edca.is_some()),
                ("queue_per_station", false, ap.queue_per_station.is_some()),
            ] {
                refuse(format!("ap.{key}"), is_set && is_old == has_mcs);
            }
        }
        for (index, group) in self.file.stations.iter().enumerate() {
            let is_legacy = group.standard.is_some_and(|standard| !standard.has_mcs());
            for (key, is_old, is_set) in [
                ("data_rate", !is_legacy, group.data_rate.is_some()),
                ("cw_min", true, group.cw_min.is_some()),
                ("cw_max", true, group.cw_max.is_some()),
                ("standard", false, group.standard.is_some()),
                ("mcs", is_legacy, group.mcs.is_some()),
                ("streams", is_legacy, group.streams.is_some()),
                ("width", is_legacy, group.width.is_some()),
                ("snr", false, group.snr.is_some()),
                ("edca", false, group.edca.is_some()),
            ] {
                refuse(format!("stations[{index}].{key}"), is_set && is_old == has_mcs);
            }
        }
        for (index, flow) in self.file.flows.iter().enumerate() {
            refuse(format!("flows[{index}].category"), flow.category.is_some() && !has_mcs);
            refuse(format!("flows[{index}].dscp"), flow.dscp.is_some() && !has_mcs);
        }
        if has_mcs {
            for (index, group) in self.file.stations.iter().enumerate() {
                let own = group.own_mode();
                let is_own = own.mcs.is_some() || own.streams.is_some() || own.width.is_some();
                if let Some(error) = is_own.then(|| wlan.mode(own).err()).flatten() {
                    problems.push((format!("stations[{index}].{}", error.key), error.message, String::new()));
                }
            }
        }
        problems.extend(wlan.adaptation_problems(self.file));
        problems.extend(wlan.older_problems(self.file));
        for (path, message, note) in problems {
            let note = if note.is_empty() { format!("`wlan.standard` is \"{}\"", wlan.standard) } else { note };
            self.problem(&path, &message, &note);
        }
    }

    /// Contention windows of which one comes from the station and the other from `[wlan]`.
    fn windows(&mut self, path: &str, cw_min: Option<u32>, cw_max: Option<u32>, wlan: &Wlan) {
        let Some(node) = self.root.at(path) else { return };
        if cw_min.is_some() != cw_max.is_some() {
            let (cw_min, cw_max) = (cw_min.unwrap_or(wlan.cw_min), cw_max.unwrap_or(wlan.cw_max));
            self.good &= self.reader.check(node, |at| windows(at, cw_min, cw_max));
        }
    }

    /// Takes in a name of a node or group, declared at `path`.
    fn name(&mut self, name: &str, path: &str, nodes: Vec<Node>) {
        let place = self.place(path).unwrap_or_default();
        if let Some(before) = self.names.get(name) {
            self.good = false;
            let before = before.place.clone();
            let message = format!("two nodes are called `{name}`");
            self.reader.clash(Some("name"), &message, &[(Some(&place), "again here"), (Some(&before), "first here")]);
            return;
        }
        self.names.insert(name.to_owned(), Named { nodes, place });
    }

    /// Reports a name that is not fit for paths as in `stations.near.count`.
    fn check_name(&mut self, name: &str, path: &str) {
        let fit = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(fit) {
            let message = format!("`{}` is not fit for a name", name.escape_debug());
            self.problem(path, &message, "write letters, digits, - and _");
        } else if super::has_key(path, name) {
            let message = format!("`{name}` is a key, too: a path could mean either");
            self.problem(path, &message, "choose another name");
        }
    }

    fn nodes(&mut self) {
        let file = self.file;
        let total = |counts: &mut dyn Iterator<Item = u32>| counts.map(|count| count as usize).sum::<usize>();
        for (what, count) in [
            ("stations", total(&mut file.stations.iter().map(|group| group.count))),
            ("servers", total(&mut file.servers.iter().map(|group| group.count))),
        ] {
            if count > MOST {
                self.problem(&format!("{what}[0]"), &format!("{count} {what} in all"), &format!("at most {MOST}"));
                return;
            }
        }
        for (index, group) in file.stations.iter().enumerate() {
            let path = format!("stations[{index}].name");
            self.check_name(&group.name, &path);
            self.group(&group.name, group.count as usize, index, &path, Node::Station);
        }
        for (index, group) in file.servers.iter().enumerate() {
            let path = format!("servers[{index}].name");
            self.check_name(&group.name, &path);
            self.group(&group.name, group.count as usize, index, &path, Node::Server);
        }
        for (index, router) in file.routers.iter().enumerate() {
            let path = format!("routers[{index}].name");
            self.check_name(&router.name, &path);
            self.name(&router.name, &path, vec![Node::Router(index)]);
        }
        if let Some(ap) = &file.ap {
            if ap.count > 1 {
                self.check_name(&ap.name, "ap.name");
            }
            self.group(&ap.name, ap.count as usize, 0, "ap.name", Node::Ap);
        }
        for (index, group) in file.stations.iter().enumerate() {
            let path = format!("stations[{index}].ap");
            let Some(name) = &group.ap else { continue };
            if self.find(name, &path, "access point").is_some_and(|nodes| !matches!(nodes[0], Node::Ap(_))) {
                self.problem(&path, &format!("`{name}` is not an access point"), "");
            }
        }
    }

    fn group(&mut self, name: &str, count: usize, group: usize, path: &str, node: fn(usize) -> Node) {
        let members = match node(0) {
            Node::Station(_) => &mut self.network.stations,
            Node::Ap(_) => &mut self.network.aps,
            _ => &mut self.network.servers,
        };
        let first = members.len();
        members.extend((0..count).map(|index| Member { name: member_name(name, index, count), group }));
        let nodes: Vec<Node> = (first..first + count).map(node).collect();
        if count > 1 {
            for (index, single) in nodes.iter().enumerate() {
                self.name(&member_name(name, index, count), path, vec![*single]);
            }
        }
        self.name(name, path, nodes);
    }

    /// Checks the names in `space.paths`, and the size of `space.gains`.
    fn paths(&mut self) {
        let Some(space) = &self.file.space else { return };
        let nodes = self.network.aps.len() + self.network.stations.len();
        let wrong = space.gains.iter().map(Vec::len).find(|columns| *columns != nodes);
        if !space.gains.is_empty() && (space.gains.len() != nodes || wrong.is_some()) {
            let (rows, columns) = (space.gains.len(), wrong.unwrap_or(nodes));
            let message = format!("a matrix of {rows} rows and {columns} columns for {nodes} nodes");
            self.problem("space.gains", &message, "one row and one column for each: access points, then stations");
        }
        for (index, path) in space.paths.iter().enumerate() {
            for (key, name) in [("from", &path.from), ("to", &path.to)] {
                let place = format!("space.paths[{index}].{key}");
                let nodes = self.find(name, &place, "node");
                if nodes.is_some_and(|nodes| !matches!(nodes.first(), Some(Node::Station(_) | Node::Ap(_)) | None)) {
                    self.problem(&place, &format!("`{name}` is not on the air"), "write a station or the access point");
                }
            }
        }
    }

    /// The nodes that are called `name`, which stands at `path`; reports a name that nobody has.
    fn find(&mut self, name: &str, path: &str, what: &str) -> Option<Vec<Node>> {
        if let Some(named) = self.names.get(name) {
            return Some(named.nodes.clone());
        }
        let is_wanted = |nodes: &[Node]| match what {
            "station" => matches!(nodes, [Node::Station(_), ..]),
            "server" => matches!(nodes, [Node::Server(_), ..]),
            "access point" => matches!(nodes, [Node::Ap(_), ..]),
            _ => true,
        };
        // Groups first, their members where the name is near one of them.
        let names: Vec<&str> =
            self.names.iter().filter(|(_, named)| is_wanted(&named.nodes)).map(|(name, _)| name.as_str()).collect();
        let groups: Vec<&str> = names.iter().filter(|name| self.is_declared(name)).copied().collect();
        let near = wifair_config::nearest(name, groups.iter().copied())
            .or_else(|| wifair_config::nearest(name, names.iter().copied()));
        let note = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if groups.is_empty() => format!("there is no {what}"),
            None => hint("", &groups),
        };
        self.problem(path, &format!("unknown {what} `{}`", name.escape_debug()), &note);
        None
    }

    /// Whether `name` stands in the file, and does not only follow from a group.
    fn is_declared(&self, name: &str) -> bool {
        let file = self.file;
        file.stations.iter().any(|group| group.name == name)
            || file.servers.iter().any(|group| group.name == name)
            || file.routers.iter().any(|router| router.name == name)
            || file.ap.as_ref().is_some_and(|ap| ap.name == name)
    }

    fn wires(&mut self) {
        let file = self.file;
        let mut linked = vec![false; self.network.servers.len()];
        let mut links = Vec::new();
        for (index, link) in file.links.iter().enumerate() {
            let mut end = |key: &str, name: &str| {
                let path = format!("links[{index}].{key}");
                let nodes = self.find(name, &path, "node")?;
                match nodes.as_slice() {
                    [Node::Station(_), ..] => {
                        self.problem(&path, &format!("`{name}` is a station"), "stations have no wires");
                        None
                    }
                    [_] | [Node::Ap(_), ..] => Some(nodes),
                    _ => {
                        let note = format!("choose one, as in {name}1");
                        self.problem(&path, &format!("`{name}` is a group of {}", nodes.len()), &note);
                        None
                    }
                }
            };
            let (Some(from), Some(to)) = (end("from", &link.from), end("to", &link.to)) else { continue };
            if from.iter().any(|node| to.contains(node)) {
                self.problem(&format!("links[{index}].to"), "the link leads back to where it begins", "");
                continue;
            }
            // A group of access points has a link each.
            for ends in from.iter().flat_map(|from| to.iter().map(|to| [*from, *to])) {
                for node in ends {
                    if let Node::Server(server) = node {
                        linked[server] = true;
                    }
                }
                links.push(Wire {
                    ends,
                    rate: link.rate,
                    burst: link.burst,
                    delay: link.delay,
                    queue: link.queue.clone(),
                });
            }
        }
        for (index, linked) in linked.into_iter().enumerate() {
            let group = self.network.servers[index].group;
            let servers = &file.servers[group];
            let path = format!("servers[{group}].at");
            let at = match &servers.at {
                Some(name) => match self.find(name, &path, "node").as_deref() {
                    Some([node @ (Node::Ap(_) | Node::Router(_) | Node::Server(_))])
                        if *node != Node::Server(index) =>
                    {
                        *node
                    }
                    Some(_) => {
                        self.problem(
                            &path,
                            &format!("`{name}` cannot have a server"),
                            "write a router or the access point",
                        );
                        return;
                    }
                    None => return,
                },
                None if linked => continue,
                None if self.network.aps.len() > 1 => {
                    let message = format!("server `{}` is joined to none of several access points", servers.name);
                    let note = "write at = \"...\", a router that [[links]] join to all of them";
                    self.problem(&format!("servers[{group}].name"), &message, note);
                    return;
                }
                None if file.wlan.is_some() && !is_ad_hoc(file) => Node::Ap(0),
                None => {
                    let message = format!("server `{}` is joined to nothing", servers.name);
                    self.problem(&format!("servers[{group}].name"), &message, "write at = \"...\", or a link to it");
                    return;
                }
            };
            self.network.wires.push(Wire {
                ends: [Node::Server(index), at],
                rate: servers.rate,
                burst: None,
                delay: servers.delay,
                queue: servers.queue.clone(),
            });
        }
        self.network.wires.append(&mut links);
    }

    fn flows(&mut self) {
        let file = self.file;
        let neighbours = neighbours(&self.network.wires);
        let (mut paths, mut wired) = (BTreeMap::new(), BTreeMap::new());
        let mut wired_path =
            |start, end| wired.entry((start, end)).or_insert_with(|| wired_path(start, end, &neighbours)).clone();
        let chosen: Vec<Option<usize>> = self
            .network
            .stations
            .iter()
            .map(|member| {
                let name = file.stations[member.group].ap.as_ref()?;
                self.network.aps.iter().position(|ap| ap.name == *name)
            })
            .collect();
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
                    // The hops between are a matter of the run's seed.
                    (Node::Station(_), Node::Station(_)) if is_ad_hoc(file) => Some(vec![Step::Air { from, to }]),
                    // Whichever access points they choose.
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
                    let message = format!("no way from `{}` to `{}`", self.node_name(from), self.node_name(to));
                    self.problem(&format!("flows[{group}]"), &message, "join them by [[links]]");
                    break;
                };
                if path.iter().any(|step| matches!(step, Step::Air { .. })) && !self.fits_the_air(flows, group) {
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
                        self.good = false;
                        let places = [group, other].map(|group| self.place(&format!("flows[{group}].name")));
                        let message = format!("two flows are called `{name}`");
                        let [again, first] = &places;
                        let spots = [(again.as_ref(), "again here"), (first.as_ref(), "first here")];
                        self.reader.clash(Some("name"), &message, &spots);
                        return;
                    }
                    let direction = match (from, to) {
                        (Node::Station(_), Node::Station(_)) => Direction::Peer,
                        (Node::Station(_), _) => Direction::Up,
                        (_, Node::Station(_)) => Direction::Down,
                        _ => Direction::Wired,
                    };
                    let place = (index * each + copy, of);
                    self.network.flows.push(Flow { name, group, place, from, to, direction, path: path.clone() });
                }
            }
            if flows.start >= file.duration {
                self.good = false;
                let start = self.place(&format!("flows[{group}].start"));
                let duration = self.place("duration");
                let spots = [(start.as_ref(), "not within the run"), (duration.as_ref(), "the whole run")];
                let message = format!("flow `{}` starts after the end", flows.name);
                self.reader.clash(Some("start"), &message, &spots);
            }
        }
        if file.flows.is_empty() {
            self.problem("", "a scenario without flows", "write [[flows]] with name, station and server");
        }
    }

    /// The ends of the flows of a group, source first.
    fn pairs(&mut self, flows: &Flows, group: usize) -> Option<Vec<(Node, Node)>> {
        let path = |key: &str| format!("flows[{group}].{key}");
        let end = |builder: &mut Self, key: &str, name: &str, what: &str| {
            let nodes = builder.find(name, &path(key), what)?;
            let Some(first) = nodes.first() else { return Some(nodes) }; // a group of none
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
            match flows.direction.unwrap_or(Dir::Up) {
                Dir::Up => (station, server, ["station", "server"]),
                Dir::Down => (server, station, ["server", "station"]),
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
                let places = keys.map(|key| self.place(&path(key)));
                let notes = [a.to_string(), b.to_string()];
                self.good = false;
                let spots = [(places[0].as_ref(), notes[0].as_str()), (places[1].as_ref(), notes[1].as_str())];
                self.reader.clash(Some(keys[0]), "groups of different size do not pair up", &spots);
                return None;
            }
        };
        if pairs.iter().any(|(from, to)| from == to) {
            self.problem(&path(keys[1]), "a flow from a node to itself", "choose another end");
            return None;
        }
        Some(pairs)
    }

    fn fits_the_air(&mut self, flows: &Flows, group: usize) -> bool {
        let (key, size) = full_packet(flows);
        if size.0 > LARGEST_PACKET {
            let message = format!("packets of {size} do not fit into a frame");
            self.problem(
                &format!("flows[{group}].{key}"),
                &message,
                &format!("at most {LARGEST_PACKET} B with headers"),
            );
            return false;
        }
        true
    }

    /// Reports a queue on the way of the data that is too small for one packet: nothing would arrive.
    fn fits_the_queues(&mut self, flows: &Flows, path: &[Step]) -> bool {
        let (_, size) = full_packet(flows);
        for step in path {
            let (owner, limit) = match *step {
                Step::Air { from: Node::Station(station), .. } => {
                    let group = self.network.stations[station].group;
                    (format!("stations[{group}]"), self.file.stations[group].queue.limit)
                }
                Step::Air { .. } => match &self.file.ap {
                    Some(ap) => ("ap".to_owned(), ap.queue.limit),
                    None => continue,
                },
                Step::Wired { wire, .. } => {
                    let limit = self.network.wires[wire].queue.limit;
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

    fn node_name(&self, node: Node) -> String {
        match node {
            Node::Ap(index) => self.network.aps[index].name.clone(),
            Node::Station(index) => self.network.stations[index].name.clone(),
            Node::Server(index) => self.network.servers[index].name.clone(),
            Node::Router(index) => self.file.routers[index].name.clone(),
        }
    }
}

/// A full packet of `flows`, with headers, and the key that says how large it is.
fn full_packet(flows: &Flows) -> (&'static str, Bytes) {
    match (&flows.workload, &flows.transport) {
        (Workload::Ping(ping), _) => ("ping.size", ping.size + Bytes(28)),
        (_, Transport::Tcp(tcp)) => ("tcp.mss", tcp.mss + tcp.header),
        (_, Transport::Udp(udp)) => ("udp.payload", udp.payload + udp.header),
    }
}

/// A way whose part over wires is found by `wired`.
fn path(
    from: Node,
    to: Node,
    ap_of: &dyn Fn(usize) -> usize,
    mut wired: impl FnMut(Node, Node) -> Option<Vec<Step>>,
) -> Option<Vec<Step>> {
    let hub = |node: Node| match node {
        Node::Station(station) => Node::Ap(ap_of(station)),
        other => other,
    };
    let (start, end) = (hub(from), hub(to));
    let mut steps = wired(start, end)?;
    if start != from {
        steps.insert(0, Step::Air { from, to: start });
    }
    if end != to {
        steps.push(Step::Air { from: end, to });
    }
    Some(steps)
}

/// The way with the fewest wires; of several the one whose links were declared first.
fn wired_path(start: Node, end: Node, neighbours: &Neighbours) -> Option<Vec<Step>> {
    let mut reached: BTreeMap<Node, Option<(Node, Step)>> = BTreeMap::from([(start, None)]);
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        // Servers do not forward.
        if node == end || (matches!(node, Node::Server(_)) && node != start) {
            continue;
        }
        for (next, step) in neighbours.get(&node).into_iter().flatten() {
            if !reached.contains_key(next) {
                reached.insert(*next, Some((node, *step)));
                queue.push_back(*next);
            }
        }
    }
    let mut steps = Vec::new();
    let mut node = end;
    while let Some((before, step)) = reached.get(&node)? {
        steps.push(*step);
        node = *before;
    }
    steps.reverse();
    Some(steps)
}
