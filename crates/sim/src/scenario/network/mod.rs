//! The network of a scenario: single nodes, wired links and flows, expanded from the groups of the file.

mod access_parameters;
mod checks;
mod flows;
mod paths;

use std::collections::BTreeMap;

use wifair_config::{Place, PlacedValue, Reader, hint};
use wifair_queue::QueueSettings;
use wifair_units::{BitRate, Bytes, Duration};

use self::paths::{neighbours, path, wired_path};
use super::file::ScenarioFile;
use crate::traffic::Direction;

/// The most stations, servers or flows in total; a larger number is probably a mistake.
const MOST: usize = 1_000_000;

/// A node of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// An access point, by its index in [`Network::aps`].
    Ap(usize),
    /// A station, by its index in [`Network::stations`].
    Station(usize),
    /// A server, by its index in [`Network::servers`].
    Server(usize),
    /// A router, by its index in the file.
    Router(usize),
}

/// A station, server or access point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// The index of its group in the file; zero for access points.
    pub group: usize,
}

/// A wired link, the same in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplexLink {
    /// Both ends.
    pub ends: [Node; 2],
    /// Rate.
    pub rate: BitRate,
    /// Size of the token bucket, if the link has one.
    pub burst: Option<Bytes>,
    /// Delay, one way.
    pub delay: Duration,
    /// The queue at either end.
    pub queue: QueueSettings,
}

/// One hop of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStep {
    /// Over the air.
    Air {
        /// The sender.
        from: Node,
        /// The receiver.
        to: Node,
    },
    /// Over a wired link.
    Wired {
        /// Its index in [`Network::links`].
        link: usize,
        /// Whether it leads from the second end to the first.
        reverse: bool,
    },
}

/// A flow of data between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkFlow {
    /// Its name, which also names its random streams.
    pub name: String,
    /// The index of its group in the file.
    pub group: usize,
    /// Its index among the flows of the group, and the number of these flows.
    pub place: (usize, usize),
    /// The source of the data.
    pub from: Node,
    /// The destination of the data.
    pub to: Node,
    /// Whether data goes up to or down from an access point.
    pub direction: Direction,
    /// The path of the data; ACKs take the reverse path. If stations choose among access points, this is the path
    /// through the first one: see [`Network::path`].
    pub path: Vec<PathStep>,
}

/// All nodes, wired links and flows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Access points.
    pub aps: Vec<Member>,
    /// Stations, group by group.
    pub stations: Vec<Member>,
    /// Servers, group by group.
    pub servers: Vec<Member>,
    /// Wired links: those of the servers first.
    pub links: Vec<DuplexLink>,
    /// Flows, group by group.
    pub flows: Vec<NetworkFlow>,
}

impl Network {
    /// The name of a node.
    pub fn name_of<'a>(&'a self, file: &'a ScenarioFile, node: Node) -> &'a str {
        match node {
            Node::Ap(index) => &self.aps[index].name,
            Node::Station(index) => &self.stations[index].name,
            Node::Server(index) => &self.servers[index].name,
            Node::Router(index) => &file.routers[index].name,
        }
    }

    /// The access point that the group of a station names.
    pub(super) fn named_ap(&self, file: &ScenarioFile, station: &Member) -> Option<usize> {
        let name = file.stations[station.group].ap.as_ref()?;
        self.aps.iter().position(|ap| ap.name == *name)
    }
}

/// The name of the `index`-th of `count` members of a group, from 0.
pub(super) fn member_name(group: &str, index: usize, count: usize) -> String {
    let number = index + 1;
    match group.ends_with(|c: char| c.is_ascii_digit()) {
        _ if count == 1 => group.to_owned(),
        true => format!("{group}-{number}"),
        false => format!("{group}{number}"),
    }
}

/// The nodes that a name stands for, and the place of its declaration.
#[derive(Clone, Debug)]
struct Named {
    nodes: Vec<Node>,
    place: Place,
}

/// Builds a network and reports inconsistencies.
pub(super) struct Builder<'a> {
    pub(super) file: &'a ScenarioFile,
    root: &'a PlacedValue,
    reader: &'a mut Reader,
    network: Network,
    names: BTreeMap<String, Named>,
    needs_flows: bool,
    good: bool,
}

impl Network {
    /// Expands the groups of `file`, which was read from `root`.
    pub(super) fn build(
        file: &ScenarioFile,
        root: &PlacedValue,
        reader: &mut Reader,
        needs_flows: bool,
    ) -> Option<Self> {
        let network = Self::default();
        let mut builder = Builder { file, root, reader, network, names: BTreeMap::new(), needs_flows, good: true };
        builder.air();
        builder.nodes();
        builder.paths();
        if builder.good {
            builder.links();
        }
        if builder.good {
            builder.flows();
        }
        builder.good.then_some(builder.network)
    }

    /// The path with the fewest wired links, if each station uses the access point given by `ap_of`.
    pub fn path(&self, from: Node, to: Node, ap_of: &dyn Fn(usize) -> usize) -> Option<Vec<PathStep>> {
        let neighbours = neighbours(&self.links);
        path(from, to, ap_of, |start, end| wired_path(start, end, &neighbours))
    }
}

impl Builder<'_> {
    fn place(&self, path: &str) -> Option<Place> {
        self.root.at(path).map(|node| node.place.clone())
    }

    pub(super) fn problem(&mut self, path: &str, message: &str, note: &str) {
        self.good = false;
        let place = self.place(path).unwrap_or_default();
        let key = path.rsplit('.').next();
        self.reader.problem(&place, key, message, note);
    }

    /// Reports two values that contradict each other: the path of each, and a note.
    pub(super) fn clash(&mut self, message: &str, spots: [(&str, &str); 2]) {
        self.good = false;
        let [(path, note), (other, its_note)] = spots;
        let (place, its_place) = (self.place(path), self.place(other));
        let spots = [(place.as_ref(), note), (its_place.as_ref(), its_note)];
        self.reader.clash(path.rsplit('.').next(), message, &spots);
    }

    /// Registers the name of a node or group declared at `path`; reports a duplicate name.
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

    /// Reports a name that cannot be part of a path such as `stations.near.count`.
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
            self.check_name(&ap.name, "ap.name");
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

    /// Checks the names in `space.paths` and the size of `space.gains`.
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

    /// The nodes called `name`, as written at `path`; reports an unknown name.
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
        // Suggest groups first, and their members if the name resembles one of them.
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

    /// Whether `name` is declared in the file, rather than derived from that of a group.
    fn is_declared(&self, name: &str) -> bool {
        let file = self.file;
        file.stations.iter().any(|group| group.name == name)
            || file.servers.iter().any(|group| group.name == name)
            || file.routers.iter().any(|router| router.name == name)
            || file.ap.as_ref().is_some_and(|ap| ap.name == name)
    }

    fn links(&mut self) {
        let file = self.file;
        let mut linked = vec![false; self.network.servers.len()];
        let mut links = Vec::new();
        for (index, link) in file.links.iter().enumerate() {
            let mut end = |key: &str, name: &str| {
                let path = format!("links[{index}].{key}");
                let nodes = self.find(name, &path, "node")?;
                match nodes.as_slice() {
                    [Node::Station(_), ..] => {
                        self.problem(&path, &format!("`{name}` is a station"), "stations have no wired links");
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
            // Each access point of a group has a link.
            for ends in from.iter().flat_map(|from| to.iter().map(|to| [*from, *to])) {
                for node in ends {
                    if let Node::Server(server) = node {
                        linked[server] = true;
                    }
                }
                links.push(DuplexLink {
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
                None if file.wlan.is_some() && !file.is_ad_hoc() => Node::Ap(0),
                None => {
                    let message = format!("server `{}` is joined to nothing", servers.name);
                    self.problem(&format!("servers[{group}].name"), &message, "write at = \"...\", or a link to it");
                    return;
                }
            };
            self.network.links.push(DuplexLink {
                ends: [Node::Server(index), at],
                rate: servers.rate,
                burst: None,
                delay: servers.delay,
                queue: servers.queue.clone(),
            });
        }
        self.network.links.append(&mut links);
    }
}
