//! Routing by announcements: who passes packets on to whom changes while the world runs.
//!
//! The table of hops has a row for each destination, with one hop for each station, and a station that hears of a
//! better way rewrites its own. So a packet that is passed on moves within the row, and the air looks up the next
//! station where it does for static ways. Announcements are broadcast frames that wait in the queues of the stations.

use std::collections::{BTreeMap, VecDeque};

use wifair_engine::Timers;
use wifair_mac::BROADCAST;
use wifair_packet::{Kind, Packet, PacketId};
use wifair_routing::dsdv::{Dsdv, Entry, Params};
use wifair_units::Time;

use super::measure::Loss;
use super::plan::{Hop, RoutingPlan};
use super::{CONTROL, World};

/// The routing of the stations of one medium.
#[derive(Debug)]
pub(super) struct Routing {
    channel: usize,
    params: Params,
    stations: Vec<Dsdv>,
    /// One for each station.
    timers: Timers,
    /// Where the rows begin in the table of hops, and the destination of each.
    first_row: usize,
    destinations: Vec<u32>,
    /// The hop of announcements.
    announced: u32,
    /// What announcements on their way say, by the number that the packet carries.
    texts: Vec<Vec<Entry>>,
    free: Vec<usize>,
    /// Packets without a way, by their hop.
    held: BTreeMap<u32, VecDeque<PacketId>>,
    pub(super) sent: Sent,
}

/// Announcements handed down to the stations' queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// How many.
    pub packets: u64,
    /// Bytes of their IP packets.
    pub bytes: u64,
}

#[allow(clippy::cast_possible_truncation)]
impl Routing {
    /// Lays the rows of all `destinations` behind `hops`.
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
            sent: Sent::default(),
        }
    }

    /// Where packets from one station to another begin, if this is the routing of their medium.
    pub(super) fn start(&self, path: &[Hop]) -> Option<u32> {
        let [Hop::Air { channel, from, to }, Hop::End] = path else { return None };
        let row = self.destinations.binary_search(to).ok()?;
        let start = self.first_row + row * self.stations.len() + *from as usize;
        (usize::from(*channel) == self.channel).then_some(start as u32)
    }

    /// The hops that are rows: how many there are, and how many each row has.
    pub(super) fn grid(&self) -> (usize, usize) {
        (self.announced as usize + 1, self.stations.len())
    }

    /// When somebody has something to announce, or to forget.
    pub(super) fn next(&self) -> Time {
        self.timers.next()
    }

    /// Packets that wait for a way.
    pub(super) fn packets_held(&self) -> usize {
        self.held.values().map(VecDeque::len).sum()
    }

    fn keep(&mut self, text: &[Entry]) -> usize {
        if let Some(number) = self.free.pop() {
            self.texts[number].clear();
            self.texts[number].extend_from_slice(text);
            return number;
        }
        self.texts.push(text.to_vec());
        self.texts.len() - 1
    }

    /// An announcement is gone.
    pub(super) fn forget(&mut self, packet: &Packet) {
        self.free.push(packet.seq as usize);
    }

    /// Writes what `station` knows now into its hops; those that lead somewhere again are added to `found`.
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
                // What waits in the queue already goes on to the neighbour that is gone.
                (None, Hop::Air { channel, from, to }) => hops[place] = Hop::NoPath { channel, from, to },
                (None, _) => {}
            }
        }
    }
}

#[allow(clippy::cast_possible_truncation)]
impl World {
    /// The timers of routing.
    pub(super) fn advance_routing(&mut self) {
        let now = self.now;
        while let Some(routing) = self.routing.as_mut().filter(|routing| routing.timers.next() <= now) {
            if let Some(station) = routing.timers.pop(now) {
                let most = routing.params.entries_at_most();
                let texts: Vec<Vec<Entry>> = routing.stations[station]
                    .on_timer(now)
                    .map(|entries| entries.chunks(most).map(<[Entry]>::to_vec).collect())
                    .unwrap_or_default();
                self.follow(station as u32);
                for text in texts {
                    self.announce(station as u32, &text);
                }
            }
        }
    }

    fn announce(&mut self, station: u32, text: &[Entry]) {
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

    /// Stations have received a broadcast of `from`.
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

    /// A frame of `from` was given up: perhaps its neighbour is gone.
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

    /// Takes over what `station` has learnt, and sends packets that waited for that.
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

    /// A packet that has made a hop over a medium with routing: its place in its row.
    pub(super) fn moved(&self, id: PacketId, to: u32) -> u32 {
        let hop = self.packets[id].hop;
        match self.hops[hop as usize] {
            Hop::Air { from, .. } | Hop::NoPath { from, .. } => hop - from + to,
            Hop::Wired(_) | Hop::End => unreachable!("a packet that came over the air was on a hop over the air"),
        }
    }

    /// A packet is where nobody knows a way from.
    #[cold]
    pub(super) fn hold(&mut self, id: PacketId) {
        let hop = self.packets[id].hop;
        let Some(routing) = &mut self.routing else { unreachable!("without routing every way is known") };
        let line = routing.held.entry(hop).or_default();
        line.push_back(id);
        if line.len() > routing.params.hold as usize {
            let oldest = line.pop_front().expect("there is a packet");
            self.lose(oldest, Loss::NoRoute);
        }
    }
}
