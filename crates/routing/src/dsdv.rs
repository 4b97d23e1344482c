//! DSDV: destination-sequenced distance vectors.
//!
//! Source: C. Perkins and P. Bhagwat, "Highly Dynamic Destination-Sequenced Distance-Vector Routing (DSDV) for Mobile
//! Computers", SIGCOMM 1994. Each destination numbers its own announcements with even sequence numbers. A newer number
//! wins; between equal numbers, fewer hops win. A station that loses its next hop announces the destination as
//! unreachable (infinitely many hops) with the next odd number, which only a newer announcement by the destination
//! itself can override. So sequence numbers never fall along a route, and where they are equal the hop count does fall:
//! there is never a loop.
//!
//! A whole table is announced periodically. A route found or lost is announced at once, subject to a minimum interval
//! (`pause`). A route whose hop count changed is announced after twice the average settling time of routes to this
//! destination.
//!
//! Readings of what the paper leaves open: a route counts as lost only if the next hop says so; a new sequence number
//! alone is not announced at once; a packet uses a route as soon as it is known, settled or not, and the newest one
//! when it reaches the air; announcements triggered by the same event are spread over a short time; a table larger than
//! a packet is split. Addresses are the numbers of stations.
//!
//! Departures from ns-2 2.35 (dsdv/dsdv.cc), whose constants are the defaults: ns-2 also lets a newly found route
//! settle, for 12 s per hop; believes any neighbour that a route is lost; never counts settling within one sequence
//! number; and draws its intervals from 0.75 to 1 of the nominal one.

use wifair_config::table;
use wifair_engine::Stream;
use wifair_units::{Bytes, Duration, Time};

/// Hop count of an unreachable destination.
pub const UNREACHABLE: u32 = u32::MAX;

table! {
    /// DSDV.
    pub struct Params {
        /// Each station sends its first announcement within this time.
        pub start: Duration = Duration::from_secs(2);
        /// Time between announcements of the whole table.
        pub interval: Duration = Duration::from_secs(15), "above 0" => |t| *t > Duration::ZERO;
        /// Fraction of the interval by which each interval varies at random.
        pub jitter: f64 = 0.1, "from 0 to 1" => |j| (0.0..=1.0).contains(j);
        /// Number of intervals without an announcement after which a neighbour counts as lost.
        pub missed: u32 = 3, "1 or more" => |n| *n >= 1;
        /// Minimum time between announcements of changes.
        pub pause: Duration = Duration::from_secs(1);
        /// Announcements of what was just received are spread over this time, so that neighbours do not send all at
        /// once.
        pub spread: Duration = Duration::from_millis(10);
        /// Initial settling time.
        pub settling: Duration = Duration::from_secs(6);
        /// Weight of the previous value in the average settling time.
        pub keep: f64 = 0.875, "from 0 to 1" => |keep| (0.0..=1.0).contains(keep);
        /// Bytes of an announcement without its entries.
        pub header: Bytes = Bytes(20);
        /// Bytes per entry: address, hops, sequence number.
        pub entry: Bytes = Bytes(12);
        /// Largest announcement; a longer one is split into several.
        pub limit: Bytes = Bytes(1500), "from 100 B to 2296 B" => |limit| (100..=2296).contains(&limit.0);
        /// Whether announcements go before all other packets in the stations' queues (ns-2: PriQueue).
        pub priority: bool = true;
        /// Packets that a station holds for a destination without a route; a further one pushes out the oldest.
        pub hold: u32 = 5;
        /// Whether a frame given up at its retry limit means that the neighbour is lost; otherwise only silence does.
        pub link_feedback: bool = false;
    }
}

/// An announcement's entry for one destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateEntry {
    /// The destination.
    pub to: u32,
    /// Hops to the destination, or [`UNREACHABLE`].
    pub hops: u32,
    /// The destination's sequence number; plus one if it is unreachable.
    pub sequence: u32,
}

#[derive(Clone, Copy, Debug)]
struct Route {
    next: u32,
    hops: u32,
    sequence: u32,
    /// When this sequence number was first heard.
    since: Time,
    /// Average settling time, in s.
    settling: f64,
    /// When the change is to be announced; [`Time::NEVER`] if there is none.
    announce_at: Time,
}

impl Params {
    /// Size of the IP packet that carries `entries` entries.
    pub fn size(&self, entries: usize) -> Bytes {
        self.header + self.entry * entries as u64
    }

    /// Entries that fit into one announcement; at least one.
    pub fn entries_at_most(&self) -> usize {
        let room = self.limit.0.saturating_sub(self.header.0) / self.entry.0.max(1);
        usize::try_from(room).unwrap_or(usize::MAX).max(1)
    }
}

/// The routing state machine of one station, without clock and channel.
#[derive(Clone, Debug)]
pub struct Dsdv {
    params: Params,
    me: u32,
    sequence: u32,
    /// Routes by destination.
    routes: Vec<Option<Route>>,
    /// When each neighbour was last heard.
    heard: Vec<Option<Time>>,
    whole_table_at: Time,
    /// The earliest time for the next announcement of changes.
    changes_from: Time,
    draws: Stream,
    next: Time,
    announcement: Vec<UpdateEntry>,
}

impl Dsdv {
    /// For station `me` of `stations`.
    pub fn new(params: Params, me: u32, stations: usize, mut draws: Stream) -> Self {
        let first = Time::ZERO + Duration::from_secs_f64(params.start.as_secs() * draws.uniform());
        Self {
            me,
            sequence: 0,
            routes: vec![None; stations],
            heard: vec![None; stations],
            whole_table_at: first,
            changes_from: Time::ZERO,
            draws,
            next: first,
            announcement: vec![],
            params,
        }
    }

    /// When [`Dsdv::on_timer`] must be called next.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The next hop for packets to `to`, if there is a route.
    pub fn next_hop(&self, to: u32) -> Option<u32> {
        self.routes[to as usize].filter(|route| route.hops != UNREACHABLE).map(|route| route.next)
    }

    /// Hops to a destination, if there is a route.
    pub fn hops(&self, to: u32) -> Option<u32> {
        self.routes[to as usize].map(|route| route.hops).filter(|hops| *hops != UNREACHABLE)
    }

    /// Handles the passing of time; returns what to broadcast now, if anything.
    pub fn on_timer(&mut self, now: Time) -> Option<&[UpdateEntry]> {
        self.drop_silent_neighbours(now);
        let whole = now >= self.whole_table_at;
        let due = |route: &Route| route.announce_at <= now;
        let changed = now >= self.changes_from && self.routes.iter().flatten().any(due);
        if !whole && !changed {
            self.plan();
            return None;
        }
        self.announcement.clear();
        if whole {
            self.sequence += 2;
            let jitter = self.params.jitter * (2.0 * self.draws.uniform() - 1.0);
            self.whole_table_at = now + Duration::from_secs_f64(self.params.interval.as_secs() * (1.0 + jitter));
        }
        self.announcement.push(UpdateEntry { to: self.me, hops: 0, sequence: self.sequence });
        for (to, route) in (0..).zip(&mut self.routes) {
            let Some(route) = route.as_mut().filter(|route| whole || due(route)) else { continue };
            route.announce_at = Time::NEVER;
            self.announcement.push(UpdateEntry { to, hops: route.hops, sequence: route.sequence });
        }
        self.changes_from = now + self.params.pause;
        self.plan();
        Some(&self.announcement)
    }

    /// Handles an announcement received from a neighbour.
    pub fn on_announcement(&mut self, now: Time, from: u32, announcement: &[UpdateEntry]) {
        self.heard[from as usize] = Some(now);
        for entry in announcement {
            if entry.to == self.me {
                // Another station lost its route to this one; only this station can override that.
                if entry.sequence > self.sequence {
                    self.sequence = entry.sequence.next_multiple_of(2);
                    self.whole_table_at = now;
                }
            } else {
                self.on_entry(now, from, entry);
            }
        }
        if self.routes.iter().flatten().any(|route| route.announce_at == now) {
            let later = Duration::from_secs_f64(self.params.spread.as_secs() * self.draws.uniform());
            self.changes_from = self.changes_from.max(now + later);
        }
        self.plan();
    }

    fn on_entry(&mut self, now: Time, from: u32, entry: &UpdateEntry) {
        let hops = if entry.hops == UNREACHABLE { UNREACHABLE } else { entry.hops + 1 };
        let known = &mut self.routes[entry.to as usize];
        let Some(route) = known else {
            if hops != UNREACHABLE {
                *known = Some(Route {
                    next: from,
                    hops,
                    sequence: entry.sequence,
                    since: now,
                    settling: self.params.settling.as_secs(),
                    announce_at: now,
                });
            }
            return;
        };
        let newer = entry.sequence > route.sequence;
        if hops == UNREACHABLE {
            if newer && route.next == from && route.hops != UNREACHABLE {
                *route = Route { hops, sequence: entry.sequence, since: now, announce_at: now, ..*route };
            } else if route.hops != UNREACHABLE && route.sequence >= entry.sequence {
                route.announce_at = now; // the neighbour does not know this route
            }
            return;
        }
        if newer {
            let found = route.hops == UNREACHABLE;
            let changed = route.hops != hops;
            *route = Route { next: from, hops, sequence: entry.sequence, since: now, ..*route };
            if found {
                route.announce_at = now;
            } else if changed {
                route.announce_at = now + Duration::from_secs_f64(2.0 * route.settling);
            }
        } else if entry.sequence == route.sequence && hops < route.hops {
            let keep = self.params.keep;
            let took = (now - route.since).as_secs();
            route.settling = keep * route.settling + (1.0 - keep) * took;
            *route = Route { next: from, hops, ..*route };
            route.announce_at = route.announce_at.min(now + Duration::from_secs_f64(2.0 * route.settling));
        }
    }

    /// Handles the loss of the link to `neighbour`, to which a frame was given up.
    pub fn on_link_lost(&mut self, now: Time, neighbour: u32) {
        self.lose(now, neighbour);
        self.plan();
    }

    fn lose(&mut self, now: Time, neighbour: u32) {
        self.heard[neighbour as usize] = None;
        for route in self.routes.iter_mut().flatten() {
            if route.next == neighbour && route.hops != UNREACHABLE {
                // An odd number: it does not originate from the destination.
                *route =
                    Route { hops: UNREACHABLE, sequence: route.sequence + 1, since: now, announce_at: now, ..*route };
            }
        }
    }

    fn silence_timeout(&self) -> Duration {
        self.params.interval * u64::from(self.params.missed)
    }

    fn drop_silent_neighbours(&mut self, now: Time) {
        for neighbour in 0..u32::try_from(self.heard.len()).expect("stations are numbered in 32 bits") {
            if self.heard[neighbour as usize].is_some_and(|at| at + self.silence_timeout() <= now) {
                self.lose(now, neighbour);
            }
        }
    }

    fn plan(&mut self) {
        let change = self.routes.iter().flatten().map(|route| route.announce_at).min().unwrap_or(Time::NEVER);
        let change = if change < Time::NEVER { change.max(self.changes_from) } else { Time::NEVER };
        let silence = self.heard.iter().flatten().map(|at| *at + self.silence_timeout()).min().unwrap_or(Time::NEVER);
        self.next = self.whole_table_at.min(change).min(silence);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_engine::stream;

    use super::*;

    /// Stations, the links between them, and announcements in transit.
    struct TestNetwork {
        stations: Vec<Dsdv>,
        linked: Vec<Vec<bool>>,
        /// Time of arrival, sender, receiver, contents.
        under_way: Vec<(Time, u32, u32, Vec<UpdateEntry>)>,
        draws: Stream,
        loss: f64,
        now: Time,
        announced: usize,
    }

    impl TestNetwork {
        fn new(seed: u64, n: usize, loss: f64) -> Self {
            let station = |me: u32| Dsdv::new(Params::default(), me, n, stream(seed, "dsdv", &me.to_string()));
            Self {
                stations: (0..u32::try_from(n).unwrap()).map(station).collect(),
                linked: vec![vec![false; n]; n],
                under_way: vec![],
                draws: stream(seed, "network", "all"),
                loss,
                now: Time::ZERO,
                announced: 0,
            }
        }

        fn link(&mut self, a: usize, b: usize, up: bool) {
            self.linked[a][b] = up;
            self.linked[b][a] = up;
        }

        fn run(&mut self, until: Time) {
            loop {
                let (timer, station) = self.stations.iter().zip(0..).map(|(s, i)| (s.next(), i)).min().unwrap();
                let arrival = self.under_way.iter().map(|(at, ..)| *at).min().unwrap_or(Time::NEVER);
                if timer.min(arrival) > until {
                    break;
                }
                self.now = timer.min(arrival);
                if arrival <= timer {
                    let index = self.under_way.iter().position(|(at, ..)| *at == arrival).unwrap();
                    let (_, from, to, entries) = self.under_way.swap_remove(index);
                    self.stations[to as usize].on_announcement(self.now, from, &entries);
                } else if let Some(entries) = self.stations[station].on_timer(self.now) {
                    self.announced += 1;
                    let entries = entries.to_vec();
                    for to in 0..self.stations.len() {
                        if self.linked[station][to] && !self.draws.chance(self.loss) {
                            let delay = Duration::from_millis(u64::from(1 + self.draws.below(500)));
                            self.under_way.push((self.now + delay, station as u32, to as u32, entries.clone()));
                        }
                    }
                }
                self.assert_no_loop();
            }
            self.now = until;
        }

        fn assert_no_loop(&self) {
            for to in 0..self.stations.len() as u32 {
                for from in 0..self.stations.len() as u32 {
                    let mut at = from;
                    for _ in 0..=self.stations.len() {
                        let Some(next) = self.stations[at as usize].next_hop(to) else { break };
                        at = next;
                        if at == to {
                            break;
                        }
                    }
                    assert!(at == to || self.stations[at as usize].next_hop(to).is_none(), "a loop on the way to {to}");
                }
            }
        }

        /// Shortest distances, by Floyd and Warshall.
        fn distances(&self) -> Vec<Vec<Option<u32>>> {
            let n = self.stations.len();
            let far = u32::MAX / 2;
            let mut hops = vec![vec![far; n]; n];
            for (a, row) in hops.iter_mut().enumerate() {
                for (b, hops) in row.iter_mut().enumerate() {
                    *hops = if a == b {
                        0
                    } else if self.linked[a][b] {
                        1
                    } else {
                        far
                    };
                }
            }
            for over in 0..n {
                for a in 0..n {
                    for b in 0..n {
                        hops[a][b] = hops[a][b].min(hops[a][over] + hops[over][b]);
                    }
                }
            }
            hops.into_iter().map(|row| row.into_iter().map(|h| (h < far).then_some(h)).collect()).collect()
        }

        fn assert_shortest(&self) {
            for (a, row) in self.distances().iter().enumerate() {
                for (b, expected) in row.iter().enumerate().filter(|(b, _)| *b != a) {
                    assert_eq!(self.stations[a].hops(b as u32), *expected, "from {a} to {b} at {}", self.now);
                }
            }
        }
    }

    fn after(seconds: u64) -> Time {
        Time::ZERO + Duration::from_secs(seconds)
    }

    /// The paper's rules, checked by hand on one table.
    #[test]
    fn newer_sequence_numbers_win_then_fewer_hops() {
        let mut me = Dsdv::new(Params::default(), 0, 5, stream(1, "dsdv", "0"));
        let tell = |me: &mut Dsdv, seconds, from, hops, sequence| {
            me.on_announcement(after(seconds), from, &[UpdateEntry { to: 4, hops, sequence }]);
            (me.next_hop(4), me.hops(4))
        };
        assert_eq!(tell(&mut me, 1, 1, 3, 10), (Some(1), Some(4)));
        assert_eq!(tell(&mut me, 2, 2, 2, 10), (Some(2), Some(3)), "fewer hops");
        assert_eq!(tell(&mut me, 3, 1, 1, 8), (Some(2), Some(3)), "an old number");
        assert_eq!(tell(&mut me, 4, 1, 5, 12), (Some(1), Some(6)), "a new number, however far");
        assert_eq!(tell(&mut me, 5, 2, UNREACHABLE, 13), (Some(1), Some(6)), "not from the next hop");
        assert_eq!(tell(&mut me, 6, 1, UNREACHABLE, 13), (None, None));
        assert_eq!(tell(&mut me, 7, 2, 1, 12), (None, None), "older than the loss");
        assert_eq!(tell(&mut me, 8, 2, 1, 14), (Some(2), Some(2)));
        me.on_link_lost(after(9), 2);
        assert_eq!(me.next_hop(4), None);
        let lost = me.routes[4].unwrap();
        assert_eq!((lost.sequence, lost.announce_at), (15, after(9)), "announced at once with an odd number");
    }

    #[test]
    fn a_station_overrules_its_own_loss() {
        let mut me = Dsdv::new(Params::default(), 0, 2, stream(1, "dsdv", "0"));
        me.on_announcement(after(1), 1, &[UpdateEntry { to: 0, hops: UNREACHABLE, sequence: 7 }]);
        assert_eq!(me.next(), after(1));
        let told = me.on_timer(after(1)).unwrap()[0];
        assert_eq!((told.to, told.hops, told.sequence % 2), (0, 0, 0));
        assert!(told.sequence > 7);
    }

    /// A chain of n needs at most n intervals at first; fewer in practice, because new routes are announced at once.
    #[test]
    fn a_chain_has_all_routes_after_the_first_round() {
        let mut network = TestNetwork::new(3, 6, 0.0);
        (0..5).for_each(|a| network.link(a, a + 1, true));
        network.run(after(15 + 6));
        network.assert_shortest();
        assert_eq!(network.stations[0].next_hop(5), Some(1));
        // 4 entries of 12 bytes and a header of 20.
        assert_eq!(Params::default().size(4), Bytes(68));
        assert_eq!(Params::default().entries_at_most(), 123); // 20 + 123 * 12 = 1496
    }

    #[test]
    fn a_silent_neighbour_is_lost_after_three_intervals() {
        let mut network = TestNetwork::new(3, 3, 0.0);
        network.link(0, 1, true);
        network.link(1, 2, true);
        network.run(after(60));
        assert_eq!(network.stations[0].hops(2), Some(2));
        network.link(1, 2, false);
        network.run(after(60 + 45 + 17 + 2));
        assert_eq!((network.stations[0].hops(2), network.stations[0].hops(1)), (None, Some(1)));
        network.link(1, 2, true);
        network.run(after(60 + 62 + 40));
        network.assert_shortest();
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
        /// Links come and go; announcements are delayed, reordered and lost: there is no loop at any time. Once the
        /// links are stable and nothing is lost, there are routes to all reachable stations and to no others. They need
        /// not be the shortest: a new sequence number may arrive over a longer route first, every time.
        #[test]
        fn routes_have_no_loops_and_finally_reach_all(
            seed in any::<u64>(),
            n in 2_usize..9,
            changes in prop::collection::vec((0_usize..9, 0_usize..9, any::<bool>(), 0_u64..30, any::<bool>()), 1..40),
        ) {
            let mut network = TestNetwork::new(seed, n, 0.2);
            let mut time = 0;
            for (a, b, up, pause, noticed) in changes {
                let (a, b) = (a % n, b % n);
                if a != b {
                    network.link(a, b, up);
                    if !up && noticed {
                        let now = network.now;
                        network.stations[a].on_link_lost(now, b as u32);
                        network.assert_no_loop();
                    }
                }
                time += pause;
                network.run(after(time));
            }
            network.loss = 0.0;
            network.run(after(time + 240));
            let expected = network.distances();
            for step in 0..60 {
                network.run(after(time + 240 + step));
                for (from, row) in expected.iter().enumerate() {
                    for (to, shortest) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                        let hops = network.stations[from].hops(to as u32);
                        prop_assert_eq!(hops.is_some(), shortest.is_some(), "{} to {}", from, to);
                        prop_assert!(hops >= *shortest);
                    }
                }
            }
        }
    }
}
