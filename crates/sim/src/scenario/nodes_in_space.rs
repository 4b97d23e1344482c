//! Nodes of a scenario: names and groups, positions, who hears whom, and paths through a network without access point.

use std::collections::BTreeMap;

use wifair_engine::stream;
use wifair_mac::RadioLinks;
use wifair_phy::Radio;
use wifair_phy::placement::Placement;
use wifair_phy::propagation::Position;
use wifair_routing::ShortestPaths;
use wifair_units::{Db, Metres};

use super::movement::{Track, gain_changes};
use super::network::{Member, Node};
use super::space::{Path, Space};
use super::{Scenario, Stations};

/// A position from its two keys.
fn at([x, y]: [Metres; 2]) -> Position {
    Position::new(x.0, y.0)
}

impl Scenario {
    /// Whether stations forward packets for each other.
    pub fn is_ad_hoc(&self) -> bool {
        self.file.is_ad_hoc()
    }

    /// The nodes with a radio: the access points, if there are any, and the stations.
    pub fn nodes_on_air(&self) -> Vec<Node> {
        let stations = (0..self.network.stations.len()).map(Node::Station);
        (0..self.network.aps.len()).map(Node::Ap).chain(stations).collect()
    }

    /// The channel of an access point.
    pub fn channel(&self, ap: usize) -> u32 {
        self.file.ap.as_ref().map_or(1, |group| group.channels[ap % group.channels.len()])
    }

    /// The access point of each station in the run with this seed: the one named by its group, else the one that it
    /// receives best; without `[space]` the members of a group take the access points in turn.
    pub fn access_points(&self, seed: u64) -> Vec<usize> {
        let aps = self.network.aps.len();
        if aps <= 1 {
            return vec![0; self.network.stations.len()];
        }
        let best = |links: &RadioLinks, station: usize| {
            let power = |ap: &usize| links.received_power(number(*ap), number(aps + station));
            (0..aps).reduce(|best, ap| if power(&ap) > power(&best) { ap } else { best }).unwrap_or(0)
        };
        let links = self.file.space.as_ref().map(|space| self.hearing(space, seed, &self.nodes_on_air()));
        let mut places = vec![0; self.file.stations.len()];
        let choose = |(station, member): (usize, &Member)| {
            let turn = places[member.group];
            places[member.group] += 1;
            let named = self.network.named_ap(&self.file, member);
            named.unwrap_or_else(|| links.as_ref().map_or(turn % aps, |links| best(links, station)))
        };
        self.network.stations.iter().enumerate().map(choose).collect()
    }

    /// The position of each node with a radio in the run with this seed; only random placements depend on the seed.
    pub fn positions(&self, seed: u64) -> Vec<Position> {
        let mut positions = vec![];
        let mut place = |members: &[Member], origin: Position, layout: &Option<Placement>| match layout {
            Some(layout) => {
                let draws = |index: u32| stream(seed, "place", &members[index as usize].name);
                positions.extend(layout.positions(number(members.len()), origin, draws));
            }
            None => positions.extend(members.iter().map(|_| origin)),
        };
        if let Some(ap) = self.file.ap.as_ref().filter(|_| !self.is_ad_hoc()) {
            place(&self.network.aps, at(ap.position), &ap.layout);
        }
        let mut members = &self.network.stations[..];
        for group in &self.file.stations {
            let (these, others) = members.split_at(group.count as usize);
            place(these, at(group.position), &group.layout);
            members = others;
        }
        positions
    }

    /// The radios of the given nodes.
    pub fn radios(&self, space: &Space, nodes: &[Node]) -> Vec<Radio> {
        let radio = |node: &Node| match self.group_of(*node) {
            Some(group) => group.radio.as_ref(),
            None => self.file.ap.as_ref().and_then(|ap| ap.radio.as_ref()),
        };
        nodes.iter().map(|node| radio(node).unwrap_or(&space.radio).clone()).collect()
    }

    /// The radio links between the given nodes in the run with this seed.
    pub fn hearing(&self, space: &Space, seed: u64, nodes: &[Node]) -> RadioLinks {
        let everywhere = self.positions(seed);
        let positions: Vec<Position> = nodes
            .iter()
            .map(|node| match node {
                Node::Station(index) => everywhere[self.network.aps.len() + index],
                Node::Ap(index) => everywhere[*index],
                Node::Server(_) | Node::Router(_) => unreachable!("servers and routers are not on the air"),
            })
            .collect();
        let names: Vec<String> = nodes.iter().map(|node| self.name_of(*node)).collect();
        let mut known: BTreeMap<(u32, u32), &Path> = BTreeMap::new();
        for path in &space.paths {
            let members = |name: &str| -> Vec<u32> {
                (0..).zip(nodes).filter(|(_, node)| self.is_called(**node, name)).map(|(index, _)| index).collect()
            };
            for &from in &members(&path.from) {
                for &to in members(&path.to).iter().filter(|to| **to != from) {
                    known.insert((from, to), path);
                    if !path.one_way {
                        known.insert((to, from), path);
                    }
                }
            }
        }
        let place = |node: u32| match nodes[node as usize] {
            Node::Station(index) => self.network.aps.len() + index,
            Node::Ap(index) | Node::Server(index) | Node::Router(index) => index,
        };
        let given = |from: u32, to: u32| {
            let path = known.get(&(from, to));
            if path.is_some_and(|path| path.deaf) {
                return Some(Db(f64::NEG_INFINITY));
            }
            let of_matrix = || (!space.gains.is_empty()).then(|| space.gains[place(from)][place(to)]);
            path.and_then(|path| path.gain).or_else(of_matrix)
        };
        let shadow = |low: usize, high: usize| {
            if !space.propagation.has_shadows() {
                return 0.0; // drawing for a pair costs ten times as much as the rest, and there may be 10^8 pairs
            }
            let pair = format!("{}-{}", names[low], names[high]);
            space.propagation.shadow(&mut stream(seed, "shadow", &pair)).0
        };
        let tracks: Vec<Track> = nodes.iter().zip(&positions).map(|(node, start)| self.track(*node, *start)).collect();
        let gain = |from: u32, to: u32| {
            given(from, to).unwrap_or_else(|| {
                let (low, high) = (from.min(to) as usize, from.max(to) as usize);
                let distance = positions[low].distance(positions[high]);
                Db(space.propagation.gain(distance).0 + shadow(low, high))
            })
        };
        let changes = |from: u32, to: u32| {
            let (low, high) = (from.min(to) as usize, from.max(to) as usize);
            if !(tracks[low].moves() || tracks[high].moves()) || given(from, to).is_some() {
                return vec![];
            }
            let shadow = shadow(low, high);
            gain_changes(&tracks[low], &tracks[high], |distance| Db(space.propagation.gain(distance).0 + shadow))
        };
        let links = RadioLinks::from_moving_radios(&self.radios(space, nodes), gain, changes, space.ignored);
        if space.paths.iter().all(|path| path.miss == 0.0) {
            return links;
        }
        links.with_misses(|from, to| known.get(&(from, to)).map_or(0.0, |path| path.miss))
    }

    /// Where a node that starts here is over time.
    fn track(&self, node: Node, start: Position) -> Track {
        match self.group_of(node) {
            Some(group) => Track::new(start, at(group.position), &group.moves),
            None => Track::new(start, start, &[]),
        }
    }

    fn is_called(&self, node: Node, name: &str) -> bool {
        let group = self.group_of(node).map(|group| &group.name).or(self.file.ap.as_ref().map(|group| &group.name));
        self.name_of(node) == name || group.is_some_and(|group| group == name)
    }

    /// The name of a node.
    pub fn name_of(&self, node: Node) -> String {
        self.network.name_of(&self.file, node).to_owned()
    }

    /// The group of a station; `None` for other nodes.
    pub fn group_of(&self, node: Node) -> Option<&Stations> {
        let Node::Station(index) = node else { return None };
        Some(&self.file.stations[self.network.stations[index].group])
    }
}

/// The number of nodes in the type that channels use.
fn number(count: usize) -> u32 {
    u32::try_from(count).expect("nodes can be numbered")
}

/// Static paths with the fewest hops, over links on which both ends can read each other.
pub(crate) fn shortest_paths(links: &RadioLinks) -> ShortestPaths {
    ShortestPaths::new(&links.neighbours(), |from, to| links.received_power(from, to))
}

#[cfg(test)]
mod tests {
    use wifair_mac::Hearing;

    use super::*;

    fn path(links: &RadioLinks, from: u32, to: u32) -> Vec<u32> {
        shortest_paths(links).path(from, to).collect()
    }

    fn scenario(keys: &str) -> Scenario {
        let text = format!(
            "duration = '1 s'\nwlan.standard = '802.11b'\nspace.profile = 'ns2'\nspace.mode = 'ad-hoc'\n{keys}"
        );
        Scenario::parse(&text, "test.toml", &[]).unwrap()
    }

    /// las: nodes 150 m apart can read their neighbours (250 m) and sense the third node (450 m), but not the fourth
    /// (600 m).
    #[test]
    fn a_chain_of_five_hides_its_last_node_from_its_first() {
        let chain = scenario(
            "[[stations]]\nname = 'n'\ncount = 5\nlayout = 'chain'\nchain.spacing = '150 m'\n\
             [[flows]]\nname = 'f'\nfrom = 'n1'\nto = 'n5'",
        );
        let links = chain.hearing(chain.file.space.as_ref().unwrap(), 1, &chain.nodes_on_air());
        assert_eq!(links.hearing(0, 1), Hearing::Reads);
        assert_eq!(links.hearing(0, 2), Hearing::Senses);
        assert_eq!(links.hearing(0, 3), Hearing::Senses);
        assert_eq!(links.hearing(0, 4), Hearing::Nothing);
        assert_eq!(path(&links, 0, 4), [1, 2, 3, 4]);
    }

    /// las: at 128 m the neighbours in a row and on the diagonal (181 m) are one hop away; nodes two steps away (256 m)
    /// are not.
    #[test]
    fn a_grid_of_sixteen_reaches_neighbours_and_diagonals() {
        let grid = scenario(
            "[[stations]]\nname = 'n'\ncount = 16\nlayout = 'grid'\n[[flows]]\nname = 'f'\nfrom = 'n1'\nto = 'n16'",
        );
        let links = grid.hearing(grid.file.space.as_ref().unwrap(), 1, &grid.nodes_on_air());
        assert_eq!(links.hearing(0, 5), Hearing::Reads);
        assert_eq!(links.hearing(0, 2), Hearing::Senses);
        assert_eq!(links.hearing(0, 15), Hearing::Senses);
        assert_eq!(path(&links, 0, 15), [5, 10, 15]);
    }

    #[test]
    fn deaf_pairs_and_given_gains_go_before_distance() {
        let three = scenario(
            "[[space.paths]]\nfrom = 'n1'\nto = 'n3'\ndeaf = true\n[[space.paths]]\nfrom = 'n1'\nto = 'n2'\ngain = '-200 dB'\n\
             one_way = true\n[[stations]]\nname = 'n'\ncount = 3\n[[flows]]\nname = 'f'\nfrom = 'n2'\nto = 'n3'",
        );
        let links = three.hearing(three.file.space.as_ref().unwrap(), 1, &three.nodes_on_air());
        assert_eq!(links.hearing(0, 2), Hearing::Nothing);
        assert_eq!(links.hearing(2, 0), Hearing::Nothing);
        assert_eq!(links.hearing(0, 1), Hearing::Nothing);
        assert_eq!(links.hearing(1, 0), Hearing::Reads);
        assert!(path(&links, 0, 1).is_empty());
    }
}
