//! Multihop paths: static shortest paths, and DSDV.

pub mod dsdv;

/// The next hop of each station for each destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShortestPaths {
    stations: usize,
    /// By sender and destination; [`NO_NEXT_HOP`] if there is no path.
    next: Vec<u32>,
}

const NO_NEXT_HOP: u32 = u32::MAX;

impl ShortestPaths {
    /// Paths with the fewest hops. `neighbours` lists, for each station, the stations with which it can exchange
    /// frames; `power(from, to)` is the power at which `to` receives `from`. Among several shortest paths the first hop
    /// decides: the one received strongest at the sender, then the one with the lowest number.
    ///
    /// # Panics
    /// If there are more than 2^32 stations.
    pub fn new(neighbours: &[Vec<u32>], power: impl Fn(u32, u32) -> f64) -> Self {
        let stations = neighbours.len();
        let count = u32::try_from(stations).expect("stations are numbered in 32 bits");
        let mut next = vec![NO_NEXT_HOP; stations * stations];
        let mut distances = vec![u32::MAX; stations];
        let mut queue = Vec::with_capacity(stations);
        for to in 0..count {
            distances.fill(u32::MAX);
            distances[to as usize] = 0;
            queue.clear();
            queue.push(to);
            let mut head = 0;
            while head < queue.len() {
                let station = queue[head];
                head += 1;
                for &other in &neighbours[station as usize] {
                    if distances[other as usize] == u32::MAX {
                        distances[other as usize] = distances[station as usize] + 1;
                        queue.push(other);
                    }
                }
            }
            for from in (0..count).filter(|from| *from != to && distances[*from as usize] < u32::MAX) {
                let mut best: Option<(f64, u32)> = None;
                for &over in &neighbours[from as usize] {
                    if distances[over as usize] >= distances[from as usize] {
                        continue;
                    }
                    let received = power(over, from);
                    if best.is_none_or(|(most, _)| received > most) {
                        best = Some((received, over));
                    }
                }
                let (_, over) = best.expect("a station that can be reached has a neighbour nearer by");
                next[from as usize * stations + to as usize] = over;
            }
        }
        Self { stations, next }
    }

    /// The next hop from `from` to `to`; `None` if there is no path, or `from` is `to`.
    pub fn next(&self, from: u32, to: u32) -> Option<u32> {
        let next = self.next[from as usize * self.stations + to as usize];
        (next != NO_NEXT_HOP).then_some(next)
    }

    /// The stations on the path from `from` to `to`, the latter included; empty if there is no path.
    pub fn path(&self, from: u32, to: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.next(from, to), move |over| self.next(*over, to))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_engine::stream;
    use wifair_mac::{Hearing, RadioLinks};
    use wifair_phy::Radio;
    use wifair_phy::propagation::{Position, Propagation, TwoRay};
    use wifair_units::{Db, Dbm};

    use super::*;

    fn shortest(links: &RadioLinks) -> ShortestPaths {
        ShortestPaths::new(&links.neighbours(), |from, to| links.received_power(from, to))
    }

    /// ns-2's grid: 4 x 4 at 128 m, where the eight neighbours are within 250 m. Corner to corner takes three
    /// diagonals.
    #[test]
    fn paths_use_the_diagonals_of_a_grid() {
        let model = Propagation::TwoRay(TwoRay::default());
        let at = |station: u32| Position::new(128.0 * f64::from(station % 4), 128.0 * f64::from(station / 4));
        let radios = vec![Radio::ns2(); 16];
        let links = RadioLinks::from_radios(&radios, |a, b| model.gain(at(a).distance(at(b))), Dbm(-100.0));
        let hops = shortest(&links);
        assert_eq!(hops.path(0, 15).collect::<Vec<_>>(), [5, 10, 15]);
        // Of the two paths with two hops, the one through the nearer neighbour is chosen.
        assert_eq!(hops.path(0, 2).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(hops.path(0, 3).count(), 3);
        assert_eq!(hops.next(3, 3), None);
    }

    #[test]
    fn a_one_way_link_is_not_a_route() {
        let links = RadioLinks::from_hearing(3, |from, to| match (from, to) {
            (0, 1) | (1, 0) | (1, 2) => Hearing::Reads,
            (2, 1) => Hearing::Senses,
            _ => Hearing::Nothing,
        });
        let hops = shortest(&links);
        assert_eq!((hops.next(0, 1), hops.next(0, 2), hops.next(2, 0)), (Some(1), None, None));
    }

    proptest! {
        /// Path lengths compared with the Floyd-Warshall algorithm.
        #[test]
        fn routes_are_shortest_paths(seed in any::<u64>(), n in 2_u32..14, density in 1_u32..8) {
            let joined = |a: u32, b: u32| {
                stream(seed, "link", &format!("{}/{}", a.min(b), a.max(b))).below(8) < density
            };
            let loss = |a: u32, b: u32| if joined(a, b) { Db(-70.0) } else { Db(-150.0) };
            let links = RadioLinks::from_radios(&vec![Radio::default(); n as usize], loss, Dbm(-100.0));
            let size = n as usize;
            let mut hops = vec![vec![usize::MAX / 2; size]; size];
            for (a, row) in (0..).zip(&mut hops) {
                for (b, hops) in (0..).zip(row) {
                    *hops = if a == b { 0 } else if joined(a, b) { 1 } else { *hops };
                }
            }
            for over in 0..size {
                for a in 0..size {
                    for b in 0..size {
                        hops[a][b] = hops[a][b].min(hops[a][over] + hops[over][b]);
                    }
                }
            }
            let paths = shortest(&links);
            for a in 0..n {
                for b in 0..n {
                    let expected = hops[a as usize][b as usize];
                    let expected = if expected < size { expected } else { 0 };
                    prop_assert_eq!(paths.path(a, b).count(), expected);
                }
            }
        }
    }
}
