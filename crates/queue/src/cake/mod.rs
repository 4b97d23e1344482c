//! CAKE: common applications kept enhanced.
//!
//! Source: T. Høiland-Jørgensen, D. Täht and J. Morton, "Piece of CAKE: A Comprehensive Queue Management Solution for
//! Home Gateways", LANMAN 2018, as in Linux 6.12, `net/sched/sch_cake.c`.
//!
//! - A shaper without bursts lets the next packet go when the previous one, with `overhead`, has been sent at
//!   `bandwidth`.
//! - Code points choose one of several [`tins`]. With a bandwidth, the one of highest priority that keeps to its rate
//!   goes first, otherwise the one that is due first; without, tins share by weight.
//! - In a tin, flows have queues by an 8-way set-associative hash over 1024 and share by deficit round robin, sparse
//!   ones first. With host isolation the quantum of a flow is divided by the number of busy flows of its source or
//!   destination, whichever has more.
//! - Each queue has [`cobalt`]. Queues that ran empty stay listed until their state has decayed.
//! - A full buffer, counted in memory, drops from the head of the queue with most bytes.
//!
//! Departures: the hash covers the number of the flow and its direction; hosts have counters of their own instead of
//! hashed ones; ATM and PTM framing, NAT, marks of firewalls, `autorate-ingress` and `wash` are left out.

mod ack_filter;
mod cobalt;
mod tins;

use std::collections::VecDeque;

pub use ack_filter::AckFilter;
use cobalt::Cobalt;
pub use cobalt::Roots;
pub use tins::Diffserv;
use tins::Shaper;
use wifair_config::{choice, table};
use wifair_packet::{Kind, Packet, PacketId, Packets, entry, flag};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::linux::{HEADER, MTU, SplitMix64, length, memory};
use super::room::Room;
use super::{Cause, Discipline, Dropped, Site, flow_key};

choice! {
    /// What has queues of its own and gets equal shares.
    pub enum Isolation {
        /// Flows; those of a busy source or destination share its part.
        TripleIsolate = "triple-isolate",
        /// Nothing: a single queue.
        FlowBlind = "flowblind",
        /// Source hosts.
        SrcHost = "srchost",
        /// Destination hosts.
        DstHost = "dsthost",
        /// Pairs of hosts.
        Hosts = "hosts",
        /// Flows.
        Flows = "flows",
        /// Flows; those of a source share its part.
        DualSrcHost = "dual-srchost",
        /// Flows; those to a destination share its part.
        DualDstHost = "dual-dsthost",
    }
}

impl Isolation {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::TripleIsolate,
        Self::FlowBlind,
        Self::SrcHost,
        Self::DstHost,
        Self::Hosts,
        Self::Flows,
        Self::DualSrcHost,
        Self::DualDstHost,
    ];

    const fn by_source(self) -> bool {
        matches!(self, Self::TripleIsolate | Self::DualSrcHost)
    }

    const fn by_destination(self) -> bool {
        matches!(self, Self::TripleIsolate | Self::DualDstHost)
    }
}

table! {
    /// Common applications kept enhanced.
    pub struct Params {
        /// Rate of the shaper; if absent, CAKE does not shape.
        pub bandwidth: Option<BitRate> = None, "at least 512 bit/s" => |rate| rate.is_none_or(|r| r.as_bps() >= 512);
        /// How code points choose a tin.
        pub diffserv: Diffserv = Diffserv::Diffserv3;
        /// What gets equal shares.
        pub isolation: Isolation = Isolation::TripleIsolate;
        /// Whether superfluous ACKs are dropped.
        pub ack_filter: AckFilter = AckFilter::Off;
        /// Round-trip time for which CoDel is tuned; its target is a twentieth.
        pub rtt: Duration = Duration::from_millis(100), "at least 20 us" => |rtt| *rtt >= Duration::from_micros(20);
        /// Bytes of framing that the shaper adds to each IP packet; if absent, the Ethernet header of 14 bytes.
        pub overhead: Option<Bytes> = None, "at most 256 B" => |bytes| bytes.is_none_or(|bytes| bytes.0 <= 256);
        /// The shaper counts packets as at least this long, framing included.
        pub min_packet: Bytes = Bytes(0), "at most 256 B" => |bytes| bytes.0 <= 256;
        /// Whether the shaper counts dropped packets, too, and CoDel allows for many busy flows: for a shaper behind
        /// the bottleneck.
        pub ingress: bool = false;
        /// Memory for waiting packets, as Linux counts it (2304 B for a full one); if absent, four times what arrives
        /// in `rtt` at `bandwidth`, but at least 4 MiB, and without bandwidth 15.5 MB.
        pub memory: Option<Bytes> = None, "at least 10 kB" => |memory| memory.is_none_or(|m| m.0 >= 10_000);
        /// How the square roots of CoDel's small counts are found.
        pub roots: Roots = Roots::Table;
    }
}

/// Queues of a tin.
const QUEUES: usize = 1024;
/// Places in which the hash may find a queue.
const WAYS: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    Idle,
    Sparse,
    /// Empty and counted as sparse, but listed with the bulk flows.
    SparseWait,
    Bulk,
    Decaying,
}

#[derive(Clone, Copy, Debug)]
struct CakePacket {
    id: PacketId,
    since: Time,
    /// With the Ethernet header, and as the shaper counts it.
    bytes: u64,
    adjusted: u64,
    memory: u64,
}

#[derive(Clone, Debug, Default)]
struct CakeFlow {
    tag: u64,
    line: VecDeque<CakePacket>,
    backlog: u64,
    deficit: i64,
    cobalt: Cobalt,
    hosts: (usize, usize),
    set: Set,
}

#[derive(Clone, Debug)]
struct Tin {
    shaper: Shaper,
    flows: Vec<CakeFlow>,
    /// Busy (bulk) flows of each source and destination.
    sources: Vec<u64>,
    destinations: Vec<u64>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    decaying: VecDeque<usize>,
    sparse_flows: u64,
    bulk_flows: u64,
    packets: usize,
    deficit: i64,
    next: i64,
}

impl Tin {
    fn new(shaper: Shaper) -> Self {
        Self {
            shaper,
            flows: vec![],
            sources: vec![],
            destinations: vec![],
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            sparse_flows: 0,
            bulk_flows: 0,
            packets: 0,
            deficit: 0,
            next: 0,
        }
    }

    const fn is_active(&self) -> bool {
        self.sparse_flows + self.bulk_flows > 0
    }

    /// The queue of a flow with this hash: its own, else an idle one of its set, else that of another flow.
    fn queue_of(&mut self, hash: u64) -> usize {
        let first = (hash % QUEUES as u64) as usize;
        let places = |way| first - first % WAYS + (first + way) % WAYS;
        entry(&mut self.flows, first - first % WAYS + WAYS - 1);
        let own = (0..WAYS).map(places).find(|place| self.flows[*place].tag == hash);
        let idle = || (0..WAYS).map(places).find(|place| self.flows[*place].set == Set::Idle);
        let place = own.or_else(idle).unwrap_or(first);
        self.flows[place].tag = hash;
        place
    }

    /// Counts or no longer counts a flow as bulk at its hosts.
    fn count_bulk(&mut self, flow: usize, isolation: Isolation, joins: bool) {
        let (source, destination) = self.flows[flow].hosts;
        self.bulk_flows = if joins { self.bulk_flows + 1 } else { self.bulk_flows - 1 };
        let counted = [
            (isolation.by_source(), &mut self.sources, source),
            (isolation.by_destination(), &mut self.destinations, destination),
        ];
        for (_, counts, host) in counted.into_iter().filter(|(is_counted, ..)| *is_counted) {
            let count = entry(counts, host);
            *count = if joins { *count + 1 } else { *count - 1 };
        }
    }

    /// The quantum of a flow, with a random 16-bit number that rounds it.
    fn quantum(&self, flow: usize, isolation: Isolation, random: u64) -> i64 {
        let (source, destination) = self.flows[flow].hosts;
        let of = |is_counted: bool, counts: &[u64], host| {
            if is_counted { counts.get(host).copied().unwrap_or(0) } else { 0 }
        };
        let load = of(isolation.by_source(), &self.sources, source)
            .max(of(isolation.by_destination(), &self.destinations, destination))
            .clamp(1, QUEUES as u64);
        ((self.shaper.flow_quantum * (65_535 / load) + random) >> 16) as i64
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Cake {
    params: Params,
    tins: Vec<Tin>,
    room: Room,
    memory: u64,
    most_memory: u64,
    current: usize,
    next: i64,
    failsafe: i64,
    key: u64,
    draws: SplitMix64,
    marks: u64,
}

const fn nanos(time: Time) -> i64 {
    time.as_nanos() as i64
}

impl Cake {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        let rate = params.bandwidth.map_or(0, |rate| rate.as_bps() / 8);
        let interval = params.rtt.as_nanos();
        let mut stream = site.stream();
        let usual = if rate > 0 { (rate * (interval / 1000) / 250_000).max(4 << 20) } else { u64::MAX };
        Self {
            tins: params
                .diffserv
                .shapers(rate, interval / 20, interval, params.roots)
                .into_iter()
                .map(Tin::new)
                .collect(),
            room: Room::new(site.limit, None),
            memory: 0,
            most_memory: params.memory.map_or(usual.min(10_240 * MTU), |memory| memory.0),
            current: 0,
            next: 0,
            failsafe: 0,
            key: stream.bits(),
            draws: SplitMix64(stream.bits()),
            marks: 0,
            params: params.clone(),
        }
    }

    const fn is_shaped(&self) -> bool {
        self.params.bandwidth.is_some()
    }

    /// The hash of a packet's flow, and its hosts.
    fn classify(&self, packet: &Packet, packets: &Packets) -> (u64, (usize, usize)) {
        let (from, to) = packets.label(packet.flow).hosts;
        let is_reply = packet.kind == Kind::Ack || packet.kind != Kind::Data && packet.has(flag::ACK);
        let (source, destination) = if is_reply { (to, from) } else { (from, to) };
        let mixed = |number: u64| SplitMix64::mix(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.key) | 1;
        let hosts = |source: u32, destination: u32| mixed(u64::from(source) << 32 | u64::from(destination));
        let hash = match self.params.isolation {
            Isolation::FlowBlind => 0,
            Isolation::SrcHost => hosts(source, 0),
            Isolation::DstHost => hosts(0, destination),
            Isolation::Hosts => hosts(source, destination),
            _ => mixed(flow_key(packet) as u64),
        };
        (hash, (source as usize, destination as usize))
    }

    /// Charges a packet to its tin and to the whole.
    fn charge(&mut self, tin: usize, bytes: u64, now: i64, is_dropped: bool) {
        if !self.is_shaped() {
            return;
        }
        let whole = self.tins[0].shaper.time_for(bytes);
        let tin = &mut self.tins[tin];
        let own = tin.shaper.time_for(bytes);
        if tin.next < now {
            tin.next += own;
        } else if tin.next < now + own {
            tin.next = now + own;
        }
        self.next += whole;
        if !is_dropped {
            self.failsafe += whole + (whole >> 1);
        }
    }

    /// Takes the first packet of a queue.
    fn take(&mut self, tin: usize, flow: usize) -> Option<CakePacket> {
        let owner = &mut self.tins[tin];
        let first = owner.flows[flow].line.pop_front()?;
        owner.flows[flow].backlog -= first.bytes;
        owner.packets -= 1;
        self.forget(&first);
        Some(first)
    }

    /// Removes a packet from the counts of the whole.
    fn forget(&mut self, gone: &CakePacket) {
        self.memory -= gone.memory;
        self.room.leave(gone.bytes - HEADER);
    }

    /// Drops the first packet of the queue with most bytes.
    fn relieve(&mut self, now: i64, dropped: &mut Dropped) {
        let (mut fattest, mut most) = (None, 0);
        for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.packets > 0) {
            for (flow, queue) in tin.flows.iter().enumerate() {
                if queue.backlog > most {
                    (fattest, most) = (Some((number, flow)), queue.backlog);
                }
            }
        }
        let (tin, flow) = fattest.expect("a full buffer holds a packet");
        let victim = self.take(tin, flow).expect("the fattest queue is not empty");
        let params = self.tins[tin].shaper.cobalt;
        self.tins[tin].flows[flow].cobalt.on_overflow(now, &params);
        if self.params.ingress {
            self.charge(tin, victim.adjusted, now, true);
        }
        dropped.push((victim.id, Cause::Overflow));
    }

    /// Lists a flow that has got a packet.
    fn list(&mut self, tin: usize, flow: usize) {
        let isolation = self.params.isolation;
        let tin = &mut self.tins[tin];
        match tin.flows[flow].set {
            Set::Idle | Set::Decaying => {
                if tin.flows[flow].set == Set::Decaying {
                    tin.decaying.retain(|other| *other != flow);
                }
                tin.new.push_back(flow);
                tin.flows[flow].set = Set::Sparse;
                tin.sparse_flows += 1;
                tin.flows[flow].deficit = {
                    let random = self.draws.bits() >> 48;
                    tin.quantum(flow, isolation, random)
                };
            }
            Set::SparseWait => {
                tin.flows[flow].set = Set::Bulk;
                tin.sparse_flows -= 1;
                tin.count_bulk(flow, isolation, true);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// Chooses the tin to serve; false if none has packets.
    fn choose_tin(&mut self, now: i64) -> bool {
        if self.is_shaped() {
            let (mut best, mut best_time) = (0, i64::MAX);
            for (number, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
                let due_in = tin.next - now;
                if due_in <= 0 || due_in <= best_time {
                    (best, best_time) = (number, due_in);
                }
            }
            self.current = best;
            return self.tins[best].is_active();
        }
        if !self.tins.iter().any(Tin::is_active) {
            return false;
        }
        loop {
            let tin = &mut self.tins[self.current];
            if tin.deficit >= 0 && tin.is_active() {
                return true;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.shaper.weight;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    /// The flow to serve, with a list's name: decaying ones may be looked at once per departure.
    fn choose_flow(&self, first: bool) -> Option<(usize, Set)> {
        let tin = &self.tins[self.current];
        let decaying = || tin.decaying.front().map(|flow| (*flow, Set::Decaying));
        if first && let Some(chosen) = decaying() {
            return Some(chosen);
        }
        let new = tin.new.front().map(|flow| (*flow, Set::Sparse));
        new.or_else(|| tin.old.front().map(|flow| (*flow, Set::Bulk))).or_else(decaying)
    }

    /// Removes the first flow of a list.
    fn unlist(&mut self, list: Set) {
        let tin = &mut self.tins[self.current];
        match list {
            Set::Decaying => tin.decaying.pop_front(),
            Set::Sparse => tin.new.pop_front(),
            _ => tin.old.pop_front(),
        };
    }

    /// A flow without credit gets its quantum and goes to the end of the old ones.
    fn defer(&mut self, flow: usize, list: Set) {
        self.unlist(list);
        let (isolation, random) = (self.params.isolation, self.draws.bits() >> 48);
        let tin = &mut self.tins[self.current];
        if tin.flows[flow].set == Set::Sparse {
            if tin.flows[flow].line.is_empty() {
                tin.flows[flow].set = Set::SparseWait;
            } else {
                tin.flows[flow].set = Set::Bulk;
                tin.sparse_flows -= 1;
                tin.count_bulk(flow, isolation, true);
            }
        }
        tin.flows[flow].deficit += tin.quantum(flow, isolation, random);
        tin.old.push_back(flow);
    }

    /// A flow was found empty: it decays, or becomes idle.
    fn retire(&mut self, now: i64, flow: usize, list: Set) {
        self.unlist(list);
        let isolation = self.params.isolation;
        let tin = &mut self.tins[self.current];
        let params = tin.shaper.cobalt;
        tin.flows[flow].cobalt.on_empty(now, &params);
        match tin.flows[flow].set {
            Set::Bulk => tin.count_bulk(flow, isolation, false),
            Set::Sparse | Set::SparseWait => tin.sparse_flows -= 1,
            Set::Decaying | Set::Idle => {}
        }
        if tin.flows[flow].cobalt.is_active(now) {
            tin.flows[flow].set = Set::Decaying;
            tin.decaying.push_back(flow);
        } else {
            tin.flows[flow].set = Set::Idle;
        }
    }

    /// The next packet of the current tin, and whether to choose a tin again.
    fn serve(&mut self, now: Time, first: &mut bool, packets: &mut Packets, dropped: &mut Dropped) -> Served {
        let at = nanos(now);
        'retry: loop {
            let Some((flow, list)) = self.choose_flow(*first) else { return Served::Nothing };
            *first = false;
            let current = self.current;
            if self.tins[current].flows[flow].deficit <= 0 {
                self.defer(flow, list);
                continue;
            }
            loop {
                let Some(taken) = self.take(current, flow) else {
                    self.retire(at, flow, list);
                    return Served::Nothing;
                };
                let tin = &mut self.tins[current];
                let bulk_flows = if self.params.ingress { tin.bulk_flows } else { 0 };
                let (params, owner) = (tin.shaper.cobalt, &mut tin.flows[flow]);
                let waited = (now - taken.since).as_nanos();
                let packet = &mut packets[taken.id];
                let verdict = owner.cobalt.must_drop(at, waited, bulk_flows, &params, packet, &mut self.draws);
                let is_last = owner.line.is_empty();
                self.marks += u64::from(verdict.marked);
                if !verdict.drop || is_last {
                    return Served::Packet(flow, taken);
                }
                dropped.push((taken.id, Cause::Early));
                if self.params.ingress {
                    self.charge(current, taken.adjusted, at, true);
                    let tin = &mut self.tins[current];
                    tin.flows[flow].deficit -= taken.adjusted as i64;
                    tin.deficit -= taken.adjusted as i64;
                    continue 'retry;
                }
            }
        }
    }
}

/// What a tin gave.
enum Served {
    Packet(usize, CakePacket),
    /// No packet: a tin is to be chosen again.
    Nothing,
}

impl Discipline for Cake {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let size = packets[id].bytes().0;
        if !self.room.could_fit(size) {
            dropped.push((id, Cause::Overflow));
            return;
        }
        let at = nanos(now);
        let (hash, hosts) = self.classify(&packets[id], packets);
        let tin = self.params.diffserv.tin(packets.label(packets[id].flow).dscp);
        let is_idle = self.room.is_empty();
        let owner = &mut self.tins[tin];
        let flow = owner.queue_of(hash);
        if owner.packets == 0 {
            owner.next = owner.next.max(at);
            if is_idle && self.next < at {
                (self.next, self.failsafe) = (at, at);
            }
        }
        if owner.flows[flow].set != Set::Bulk {
            owner.flows[flow].hosts = hosts;
        }
        let packet = &mut packets[id];
        let adjusted = self.params.overhead.map_or(length(packet), |overhead| size + overhead.0);
        let waiting = CakePacket {
            id,
            since: now,
            bytes: length(packet),
            adjusted: adjusted.max(self.params.min_packet.0),
            memory: memory(packet.size),
        };
        self.room.enter(packet);
        self.memory += waiting.memory;
        owner.packets += 1;
        owner.flows[flow].backlog += waiting.bytes;
        owner.flows[flow].line.push_back(waiting);
        let line = owner.flows[flow].line.iter().map(|waiting| &packets[waiting.id]);
        if let Some(place) = self.params.ack_filter.superfluous(line) {
            let gone = owner.flows[flow].line.remove(place).expect("a place in the line");
            owner.packets -= 1;
            owner.flows[flow].backlog -= gone.bytes;
            self.forget(&gone);
            dropped.push((gone.id, Cause::Early));
            if self.params.ingress {
                self.charge(tin, gone.adjusted, at, true);
            }
        }
        self.list(tin, flow);
        while self.memory > self.most_memory || self.room.overflows() {
            self.relieve(at, dropped);
        }
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        let at = nanos(now);
        let mut first = true;
        loop {
            if self.room.is_empty() || self.is_shaped() && self.next > at && self.failsafe > at {
                return None;
            }
            if !self.choose_tin(at) {
                return None;
            }
            let Served::Packet(flow, sent) = self.serve(now, &mut first, packets, dropped) else { continue };
            self.charge(self.current, sent.adjusted, at, false);
            let tin = &mut self.tins[self.current];
            tin.flows[flow].deficit -= sent.adjusted as i64;
            tin.deficit -= sent.adjusted as i64;
            return Some(sent.id);
        }
    }

    fn len(&self) -> usize {
        self.room.len()
    }

    fn is_full(&self) -> bool {
        self.room.is_full() || self.memory + 2304 > self.most_memory
    }

    fn marks(&self) -> u64 {
        self.marks
    }

    fn ready(&self) -> Time {
        if self.is_shaped() && !self.room.is_empty() {
            Time::from_nanos(self.next.min(self.failsafe).max(0) as u64)
        } else {
            Time::ZERO
        }
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("bulk_flows", self.tins.iter().map(|tin| tin.bulk_flows).sum::<u64>() as f64);
        see("memory_bytes", self.memory as f64);
    }
}
