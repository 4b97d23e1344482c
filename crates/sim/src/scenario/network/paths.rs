//! Paths through the network: breadth-first search over wired links, with the air at either end.

use std::collections::{BTreeMap, VecDeque};

use super::{DuplexLink, Node, PathStep};

/// For each node its neighbours over wired links, and the step to each.
pub(super) type Neighbours = BTreeMap<Node, Vec<(Node, PathStep)>>;

/// Collects the neighbours of each node, in the order in which links were declared.
pub(super) fn neighbours(links: &[DuplexLink]) -> Neighbours {
    let mut neighbours = Neighbours::new();
    for (link, duplex) in links.iter().enumerate() {
        for reverse in [false, true] {
            let (from, to) = if reverse { (duplex.ends[1], duplex.ends[0]) } else { (duplex.ends[0], duplex.ends[1]) };
            neighbours.entry(from).or_default().push((to, PathStep::Wired { link, reverse }));
        }
    }
    neighbours
}

/// The path between two nodes; `wired` finds the part over wired links, between the access points of stations.
pub(super) fn path(
    from: Node,
    to: Node,
    ap_of: &dyn Fn(usize) -> usize,
    mut wired: impl FnMut(Node, Node) -> Option<Vec<PathStep>>,
) -> Option<Vec<PathStep>> {
    let wired_end = |node: Node| match node {
        Node::Station(station) => Node::Ap(ap_of(station)),
        other => other,
    };
    let (start, end) = (wired_end(from), wired_end(to));
    let mut steps = wired(start, end)?;
    if start != from {
        steps.insert(0, PathStep::Air { from, to: start });
    }
    if end != to {
        steps.push(PathStep::Air { from: end, to });
    }
    Some(steps)
}

/// The path with the fewest wired links; among several, the one whose links were declared first.
pub(super) fn wired_path(start: Node, end: Node, neighbours: &Neighbours) -> Option<Vec<PathStep>> {
    let mut reached: BTreeMap<Node, Option<(Node, PathStep)>> = BTreeMap::from([(start, None)]);
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
