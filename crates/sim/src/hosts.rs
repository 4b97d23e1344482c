//! Hosts at which real programs can run: stations and servers, with their addresses and the paths between them.

use std::net::Ipv4Addr;

use crate::scenario::{Node, Scenario};
use crate::world::{WorkloadPlan, WorldPlan};

/// A station or server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name in the scenario.
    pub name: String,
    /// Its address, which also appears in captures (RFC 1918).
    pub address: Ipv4Addr,
    /// Whether it is a station.
    pub is_station: bool,
}

/// All hosts, stations first, and the flows of the world that carry packets between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    list: Vec<Host>,
    /// The flow of each pair of hosts, indexed by pair, the host with the lower number first.
    paths: Vec<Option<usize>>,
}

impl Hosts {
    pub(crate) fn new(scenario: &Scenario, plan: &WorldPlan) -> Self {
        let list = nodes(scenario).into_iter().map(|node| Host {
            name: scenario.name_of(node),
            address: address_of(node),
            is_station: matches!(node, Node::Station(_)),
        });
        let list: Vec<Host> = list.collect();
        let mut laid =
            (0..).zip(&plan.flows).filter(|(_, flow)| flow.workload == WorkloadPlan::Outside).map(|(path, _)| path);
        let joined = pairs(scenario).into_iter().map(|(from, to)| is_joined(scenario, from, to));
        let paths = joined.map(|joined| if joined { laid.next() } else { None }).collect();
        Self { list, paths }
    }

    /// All hosts.
    pub fn list(&self) -> &[Host] {
        &self.list
    }

    /// The flow of the world that joins two hosts, and whether packets from the first one use its reverse path; `None`
    /// if there is no path between them.
    pub fn path(&self, from: usize, to: usize) -> Option<(usize, bool)> {
        let (first, second) = (from.min(to), from.max(to));
        if first == second {
            return None;
        }
        // Pairs are numbered row by row: (0, 1), (0, 2), ..., (1, 2), ...
        let before = first * (2 * self.list.len() - first - 1) / 2;
        self.paths[before + second - first - 1].map(|path| (path, from > to))
    }
}

/// The address of a node as a number.
pub(crate) fn ip_bits(node: Node) -> u32 {
    let (first, index) = match node {
        Node::Ap(index) => (0x0a00_0000, index),
        Node::Station(index) => (0x0a10_0000, index),
        Node::Server(index) => (0x0a20_0000, index),
        Node::Router(index) => (0x0a30_0000, index),
    };
    first + 1 + u32::try_from(index).expect("nodes can be numbered")
}

/// The address of a node.
pub(crate) fn address_of(node: Node) -> Ipv4Addr {
    Ipv4Addr::from_bits(ip_bits(node))
}

fn nodes(scenario: &Scenario) -> Vec<Node> {
    let stations = (0..scenario.network.stations.len()).map(Node::Station);
    stations.chain((0..scenario.network.servers.len()).map(Node::Server)).collect()
}

/// All pairs of hosts, whether or not a path joins them.
pub(crate) fn pairs(scenario: &Scenario) -> Vec<(Node, Node)> {
    let nodes = nodes(scenario);
    let rest = |index: usize| nodes[index + 1..].iter().map(move |other| (index, *other));
    (0..nodes.len()).flat_map(rest).map(|(index, other)| (nodes[index], other)).collect()
}

/// Whether a path leads from one host to another.
pub(crate) fn is_joined(scenario: &Scenario, from: Node, to: Node) -> bool {
    match (from, to) {
        (Node::Station(_), Node::Station(_)) if scenario.is_ad_hoc() => true,
        (Node::Station(_), _) | (_, Node::Station(_)) if scenario.is_ad_hoc() => false,
        _ => scenario.network.path(from, to, &|_| 0).is_some(),
    }
}
