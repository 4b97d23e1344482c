//! The capture points of a scenario, and which packets pass them.

use std::collections::BTreeSet;

use crate::scenario::{Node, Scenario};
use crate::world::Hop;

use super::headers::Headers;

/// The most capture points, each of which is an open file.
pub const MOST_POINTS: usize = 500;

/// The place of a capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PointPlace {
    /// At a station, server or router.
    At(Node),
    /// At the wired interface of an access point.
    Wires(Node),
    /// At the radio of an access point.
    Radio(Node),
    /// On the air of a channel.
    Air(usize),
}

/// Capture points and their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapturePoints(Vec<(String, PointPlace)>);

impl CapturePoints {
    /// The capture points selected by these words: `air`, `ap`, `hosts`, `stations`, `servers`, `routers`, the name of
    /// a node or of a group. Without words: `air` and `hosts`.
    ///
    /// # Errors
    /// If a word selects nothing (the message lists the valid words), or if there are too many capture points, or none.
    pub fn choose(scenario: &Scenario, words: &[String]) -> Result<Self, String> {
        let has_air = scenario.file.wlan.is_some();
        let network = &scenario.network;
        let hosts: BTreeSet<Node> = network.flows.iter().flat_map(|flow| [flow.from, flow.to]).collect();
        let ap_name = scenario.file.ap.as_ref().filter(|_| !network.aps.is_empty()).map(|ap| ap.name.as_str());
        let numbers: BTreeSet<u32> = (0..network.aps.len()).map(|ap| scenario.air(ap)).collect();
        let channels = numbers.len().max(1);
        let both = |aps: Vec<usize>| -> Vec<PointPlace> {
            aps.into_iter().flat_map(|ap| [PointPlace::Radio(Node::Ap(ap)), PointPlace::Wires(Node::Ap(ap))]).collect()
        };
        let ap_called = |name: &str| network.aps.iter().position(|ap| ap.name == name);
        let at = |nodes: Vec<Node>| nodes.into_iter().map(PointPlace::At).collect::<Vec<_>>();
        let usual = ["air".to_owned(), "hosts".to_owned()];
        let words = match words {
            [] if has_air => &usual[..],
            [] => &usual[1..],
            words => words,
        };
        let mut places: Vec<PointPlace> = vec![];
        for word in words {
            let named = match word.as_str() {
                "air" if has_air => (0..channels).map(PointPlace::Air).collect(),
                name if ap_name.is_some() && (name == "ap" || Some(name) == ap_name) => {
                    both((0..network.aps.len()).collect())
                }
                name if ap_called(name).is_some() => both(ap_called(name).into_iter().collect()),
                "hosts" => at(hosts.iter().copied().collect()),
                "stations" => at((0..network.stations.len()).map(Node::Station).collect()),
                "servers" => at((0..network.servers.len()).map(Node::Server).collect()),
                "routers" => at((0..scenario.file.routers.len()).map(Node::Router).collect()),
                name => at(called(scenario, name)),
            };
            if named.is_empty() {
                return Err(unknown(scenario, word, has_air, ap_name));
            }
            places.extend(named.into_iter().filter(|place| !places.contains(place)).collect::<Vec<_>>());
        }
        if places.len() > MOST_POINTS {
            return Err(format!("{} capture points: at most {MOST_POINTS}, each is an open file", places.len()));
        }
        let named: Vec<(String, PointPlace)> = places
            .into_iter()
            .map(|place| match place {
                PointPlace::Air(_) if channels == 1 => ("air".to_owned(), place),
                PointPlace::Air(channel) => {
                    let number = numbers.iter().nth(channel).copied().unwrap_or_default();
                    (format!("air-channel-{number}"), place)
                }
                PointPlace::Radio(ap) => (format!("{}-air", scenario.name_of(ap)), place),
                PointPlace::Wires(ap) => (format!("{}-wire", scenario.name_of(ap)), place),
                PointPlace::At(node) => (scenario.name_of(node), place),
            })
            .collect();
        let mut names = BTreeSet::new();
        match named.iter().find(|(name, _)| !names.insert(name.as_str())) {
            Some((name, _)) => Err(format!("two capture points are called `{name}`: rename the node")),
            None => Ok(Self(named)),
        }
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    pub(super) fn list(&self) -> &[(String, PointPlace)] {
        &self.0
    }

    pub(super) fn is_wires(&self, index: usize) -> bool {
        matches!(self.0[index].1, PointPlace::Wires(_))
    }

    /// The capture point that sees packets before each hop: as they leave if `departing`, else as they arrive.
    pub(super) fn at_hops(&self, headers: &Headers, hops: &[Hop], departing: bool) -> Vec<Option<u16>> {
        let find =
            |wanted: PointPlace| (0..).zip(&self.0).find(|(_, (_, place))| *place == wanted).map(|(index, _)| index);
        let see = |index: usize| {
            let node = headers.node(index);
            match (node, hops[index]) {
                (Node::Ap(_), Hop::Wired(_)) if departing => find(PointPlace::Wires(node)),
                (Node::Ap(_), Hop::Air { .. }) if !departing && headers.arrived_by_wire(index) => {
                    find(PointPlace::Wires(node))
                }
                (Node::Ap(_), _) => None,
                (_, Hop::End) => find(PointPlace::At(node)).filter(|_| !departing),
                _ => find(PointPlace::At(node)).filter(|_| departing),
            }
        };
        (0..hops.len()).map(see).collect()
    }
}

/// The nodes with this name, or in the group with this name.
fn called(scenario: &Scenario, name: &str) -> Vec<Node> {
    let (file, network) = (&scenario.file, &scenario.network);
    let stations =
        (0..).zip(&network.stations).filter(|(_, one)| one.name == name || file.stations[one.group].name == name);
    let servers =
        (0..).zip(&network.servers).filter(|(_, one)| one.name == name || file.servers[one.group].name == name);
    let routers = (0..).zip(&file.routers).filter(|(_, router)| router.name == name);
    let stations = stations.map(|(index, _)| Node::Station(index));
    let servers = servers.map(|(index, _)| Node::Server(index));
    stations.chain(servers).chain(routers.map(|(index, _)| Node::Router(index))).collect()
}

fn unknown(scenario: &Scenario, word: &str, has_air: bool, ap_name: Option<&str>) -> String {
    let file = &scenario.file;
    let mut known: Vec<&str> = vec![];
    known.extend(has_air.then_some("air"));
    known.extend(ap_name.map(|_| "ap"));
    known.extend(["hosts", "stations", "servers", "routers"]);
    known.extend(file.stations.iter().map(|group| group.name.as_str()));
    known.extend(file.servers.iter().map(|group| group.name.as_str()));
    known.extend(file.routers.iter().map(|router| router.name.as_str()));
    let near = match wifair_config::nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write one of {}", known.join(", ")),
    };
    format!("no capture point `{}`: {near}", word.escape_debug())
}
