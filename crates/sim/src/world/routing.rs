//! Dynamic routing: the next hops of stations change during the run.
//!
//! The table of hops has a row for each destination, with one hop for each station; a station that learns a better
//! route rewrites its own hops. So a forwarded packet moves within the row, and the channel looks up the next station
//! in the same way as for static paths. Announcements are broadcast frames that wait in the stations' queues.

use std::collections::{BTreeMap, VecDeque};

use wifair_engine::Timers;
use wifair_mac::BROADCAST;
use wifair_packet::{Kind, Packet, PacketId};
use wifair_routing::dsdv::{Dsdv, Params, UpdateEntry};
use wifair_units::{Time, counters};

use super::measure::Loss;
use super::plan::{Hop, RoutingPlan};
use super::{CONTROL, World};

/// The routing state of the stations of one channel.
#[derive(Debug)]
pub(super) struct RoutingState {
    channel: usize,
    params: Params,
    stations: Vec<Dsdv>,
    /// One timer per station.
    timers: Timers,
    /// The start of the rows in the table of hops, and (below) the destination of each row.
    first_row: usize,
    destinations: Vec<u32>,
    /// The hop that announcements use.
    announced: u32,
    /// The contents of announcements in transit, by the number that the packet carries.
    texts: Vec<Vec<UpdateEntry>>,
    free: Vec<usize>,
    /// Packets without a route, by their hop.
    held: BTreeMap<u32, VecDeque<PacketId>>,
    pub(super) sent: RoutingCounters,
}

counters! {
    /// Announcements passed down to the stations' queues.
    pub struct RoutingCounters {
        /// Number of announcements.
        pub packets: u64,
        /// Bytes of their IP packets.
        pub bytes: u64,
    }
}

#[allow(clippy::cast_possible_truncation)]
impl RoutingState {
    /// Appends the rows of all `destinations` to `hops`.
    pub(super) fn new(plan: RoutingPlan, mut destinations: Vec<u32>, hops: &mut Vec<Hop>) -> Self {
        destinations.sort_unstable();
        destinations.dedup();
        let count = plan.draws.len();
        let first_row = hops.len();
        let channel = plan.channel;
        for destination in &destinations {
            let hop = |from| if from == *destination { Hop::End } else { Hop::NoPath { channel, from, to: BROADCAST } };
            hops.extend((0..count as u32).map(hop));
        }
        let announced = hops.len() as u32;
        hops.push(Hop::Air { channel, from: BROADCAST, to: BROADCAST });
        let mut timers = Timers::new(count);
        let draws = (0..).zip(plan.draws);
        let stations: Vec<Dsdv> = draws.map(|(me, draws)| Dsdv::new(plan.params.clone(), me, count, draws)).collect();
        for (index, station) in stations.iter().enumerate() {
            timers.set(index, station.next());
        }
        Self {
            channel: usize::from(channel),
            params: plan.params,
            stations,
            timers,
            first_row,
            destinations,
            announced,
            texts: vec![],
            free: vec![],
            held: BTreeMap::new(),
            sent: RoutingCounters::default(),
        }
    }

    /// The first hop of packets from one station to another, if both are on the channel that has routing.
    pub(super) fn start(&self, path: &[Hop]) -> Option<u32> {
        let [Hop::Air { channel, from, to }, Hop::End] = path else { return None };
        let row = self.destinations.binary_search(to).ok()?;
        let start = self.first_row + row * self.stations.len() + *from as usize;
        (usize::from(*channel) == self.channel).then_some(start as u32)
    }

    /// The hops that belong to rows: their total number, and the number per row.
    pub(super) fn grid(&self) -> (usize, usize) {
        (self.announced as usize + 1, self.stations.len())
    }

    /// When the next timer is due.
    pub(super) fn next(&self) -> Time {
        self.timers.next()
    }

    /// Packets waiting for a route.
    pub(super) fn packets_held(&self) -> usize {
        self.held.values().map(VecDeque::len).sum()
    }

    fn keep(&mut self, text: &[UpdateEntry]) -> usize {
        if let Some(number) = self.free.pop() {
            self.texts[number].clear();
            self.texts[number].extend_from_slice(text);
            return number;
        }
        self.texts.push(text.to_vec());
        self.texts.len() - 1
    }

    /// Frees the contents of an announcement that is gone.
    pub(super) fn forget(&mut self, packet: &Packet) {
        self.free.push(packet.seq as usize);
    }

    /// Writes what `station` knows now into its hops; hops that have become usable are added to `found`.
    fn write(&mut self, station: u32, hops: &mut [Hop], next_hops: &mut [u32], found: &mut Vec<u32>) {
        let channel = self.channel as u16;
        for (row, destination) in self.destinations.iter().enumerate() {
            let place = self.first_row + row * self.stations.len() + station as usize;
            match (self.stations[station as usize].next_hop(*destination), hops[place]) {
                (_, Hop::End) => {}
                (Some(to), before) => {
                    hops[place] = Hop::Air { channel, from: station, to };
                    next_hops[place] = to;
                    if matches!(before, Hop::NoPath { .. }) {
                        found.push(place as u32);
                    }
                }
                // Packets already in the queue are still sent to the neighbour that was lost.
                (None, Hop::Air { channel, from, to }) => hops[place] = Hop::NoPath { channel, from, to },
                (None, _) => {}
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation)]
impl World {
    /// Runs the timers of routing that are due.
    pub(super) fn advance_routing(&mut self) {
        let now = self.now;
        while let Some(routing) = self.routing.as_mut().filter(|routing| routing.timers.next() <= now) {
            if let Some(station) = routing.timers.pop(now) {
                let most = routing.params.entries_at_most();
                let texts: Vec<Vec<UpdateEntry>> = routing.stations[station]
                    .on_timer(now)
                    .map(|entries| entries.chunks(most).map(<[UpdateEntry]>::to_vec).collect())
                    .unwrap_or_default();
                self.follow(station as u32);
                for text in texts {
                    self.announce(station as u32, &text);
                }
            }
        }
    }

    fn announce(&mut self, station: u32, text: &[UpdateEntry]) {
        let Some(routing) = &mut self.routing else { return };
        let size = routing.params.size(text.len());
        routing.sent.packets += 1;
        routing.sent.bytes += size.0;
        let packet = Packet {
            seq: routing.keep(text) as u64,
            flow: u32::MAX,
            hop: routing.announced,
            size: u16::try_from(size.0).expect("an announcement fits into a frame"),
            kind: Kind::Routing,
            ..Packet::default()
        };
        let channel = routing.channel;
        let id = self.packets.insert(packet);
        self.offer(channel, station, id);
    }

    /// Handles a broadcast of `from` that stations have received.
    pub(super) fn hear_announcement(&mut self, channel: usize, from: u32, id: PacketId) {
        let packet = self.packets.remove(id);
        let receivers = self.channels[channel].receivers().to_vec();
        let Some(routing) = self.routing.as_mut().filter(|_| packet.kind == Kind::Routing) else { return };
        let text = std::mem::take(&mut routing.texts[packet.seq as usize]);
        for station in receivers {
            if let Some(routing) = &mut self.routing {
                routing.stations[station as usize].on_announcement(self.now, from, &text);
            }
            self.follow(station);
        }
        if let Some(routing) = &mut self.routing {
            routing.texts[packet.seq as usize] = text;
            routing.forget(&packet);
        }
    }

    /// Handles a frame of `from` that was given up: its neighbour may be gone.
    pub(super) fn note_retry_limit_drop(&mut self, from: u32, id: PacketId) {
        let hop = self.hops[self.packets[id].hop as usize];
        let Some(routing) = self.routing.as_mut().filter(|routing| routing.params.link_feedback) else { return };
        if let Hop::Air { to, .. } = hop
            && to != BROADCAST
        {
            routing.stations[from as usize].on_link_lost(self.now, to);
            self.follow(from);
        }
    }

    /// Applies the routes that `station` has learnt, and sends packets that were waiting for them.
    fn follow(&mut self, station: u32) {
        let Some(routing) = &mut self.routing else { return };
        let mut found = vec![];
        routing.write(station, &mut self.hops, &mut self.next_hops, &mut found);
        routing.timers.set(station as usize, routing.stations[station as usize].next());
        let mut released = vec![];
        for hop in found {
            released.extend(routing.held.remove(&hop).into_iter().flatten());
        }
        let next = routing.next();
        self.next_events.set(CONTROL, next.min(self.next_scheme()));
        for id in released {
            self.dispatch(id);
        }
    }

    /// The hop of a packet that has moved within its row to station `to`.
    pub(super) fn hop_to(&self, id: PacketId, to: u32) -> u32 {
        let hop = self.packets[id].hop;
        match self.hops[hop as usize] {
            Hop::Air { from, .. } | Hop::NoPath { from, .. } => hop - from + to,
            Hop::Wired(_) | Hop::End => unreachable!("a packet that came over the air was on a hop over the air"),
        }
    }

    /// Holds a packet at a station that has no route for it.
    #[cold]
    pub(super) fn hold(&mut self, id: PacketId) {
        let hop = self.packets[id].hop;
        let Some(routing) = &mut self.routing else { unreachable!("without routing every path is known") };
        let line = routing.held.entry(hop).or_default();
        line.push_back(id);
        if line.len() > routing.params.hold as usize {
            let oldest = line.pop_front().expect("there is a packet");
            self.lose(oldest, Loss::NoRoute);
        }
    }
}
