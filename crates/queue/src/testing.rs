//! A bench for unit tests, and the properties that every discipline must have.

use proptest::prelude::*;
use wifair_packet::{Kind, Packet, PacketId, Packets, flag};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::{Cause, Chosen, Discipline, Dropped, Limit, Queue, QueueSettings, Site};

/// A discipline with an arena, a clock, and a list of what it dropped.
pub struct QueueBench<Q> {
    pub queue: Q,
    pub packets: Packets,
    pub now: Time,
    pub lost: Vec<Packet>,
    pub causes: Vec<Cause>,
    dropped: Dropped,
}

impl<Q: Discipline> QueueBench<Q> {
    /// Fifty packets, 11 Mb/s.
    pub const SITE: Site<'static> =
        Site { limit: Limit::Packets(50), mark_above: None, rate: Some(BitRate::from_mbps(11)), seed: 1, name: "test" };

    pub fn new(queue: Q) -> Self {
        Self { queue, packets: Packets::default(), now: Time::ZERO, lost: vec![], causes: vec![], dropped: vec![] }
    }

    fn take_dropped(&mut self) {
        for (id, cause) in self.dropped.drain(..) {
            self.lost.push(self.packets.remove(id));
            self.causes.push(cause);
        }
    }

    pub fn put(&mut self, packet: Packet) -> PacketId {
        self.put_to(packet, 0)
    }

    pub fn put_to(&mut self, packet: Packet, to: u32) -> PacketId {
        let id = self.packets.insert(packet);
        self.queue.enqueue(self.now, id, to, &mut self.packets, &mut self.dropped);
        self.take_dropped();
        id
    }

    pub fn put_all(&mut self, packets: impl IntoIterator<Item = Packet>) {
        for packet in packets {
            self.put(packet);
        }
    }

    pub fn get(&mut self) -> Option<Packet> {
        let id = self.queue.dequeue(self.now, &mut self.packets, &mut self.dropped);
        self.take_dropped();
        id.map(|id| self.packets.remove(id))
    }

    pub fn get_for(&mut self, to: u32) -> Option<Packet> {
        let is_to = |packet: &Packet| packet.hop == to;
        let Self { queue, packets, now, dropped, .. } = self;
        let id = queue.dequeue_for(*now, to, u64::MAX, &is_to, packets, dropped);
        self.take_dropped();
        id.map(|id| self.packets.remove(id))
    }

    pub fn drain(&mut self) -> Vec<Packet> {
        std::iter::from_fn(|| self.get()).collect()
    }

    pub fn wait(&mut self, time: Duration) {
        self.now += time;
    }
}

/// The largest difference in bytes between the service of any two flows, over any interval in which all flows have
/// packets waiting. Flows 0 and 1 have packets of the first and the second size, flows 2 and 3 of all sizes in turn.
pub fn unfairness<Q: Discipline>(mut bench: QueueBench<Q>, sizes: &[u16]) -> u64 {
    for n in 0..2000 {
        let (up, down) = (sizes[n % sizes.len()], sizes[sizes.len() - 1 - n % sizes.len()]);
        for (flow, size) in [(0, sizes[0]), (1, sizes[1]), (2, up), (3, down)] {
            bench.put(Packet { flow, size, ..Packet::default() });
        }
    }
    let (mut left, mut sent) = ([2000; 4], [0_i64; 4]);
    let (mut least, mut most) = ([[0_i64; 4]; 4], [[0_i64; 4]; 4]);
    while left.iter().all(|left| *left > 1) {
        let packet = bench.get().expect("all have packets waiting");
        left[packet.flow as usize] -= 1;
        sent[packet.flow as usize] += i64::from(packet.size);
        for (i, j) in (0..4).flat_map(|i| (0..4).map(move |j| (i, j))) {
            let ahead = sent[i] - sent[j];
            least[i][j] = ahead.min(least[i][j]);
            most[i][j] = ahead.max(most[i][j]);
        }
    }
    let widest = (0..4).flat_map(|i| (0..4).map(move |j| (i, j))).map(|(i, j)| most[i][j] - least[i][j]).max();
    u64::try_from(widest.expect("there are pairs")).expect("most is not below least")
}

#[derive(Clone, Copy, Debug)]
enum QueueStep {
    Put {
        flow: u32,
        kind: Kind,
        payload: u16,
        flags: u8,
        ack: u64,
        to: u32,
    },
    Get,
    /// Dequeues for an aggregate to this station.
    GetFor(u32),
    Wait(u64),
    Air {
        peer: u32,
        sent: bool,
        micros: u64,
        attempts: u32,
    },
}

fn step() -> impl Strategy<Value = QueueStep> {
    let kind = prop_oneof![
        4 => Just(Kind::Data),
        2 => Just(Kind::Ack),
        1 => prop::sample::select(vec![Kind::Udp, Kind::Routing, Kind::Icmp]),
    ];
    let flags = prop_oneof![Just(0), Just(flag::ECT), Just(flag::SYN), Just(flag::CWR)];
    prop_oneof![
        6 => (0_u32..6, kind, prop_oneof![Just(0_u16), 1_u16..1461], flags, 0_u64..100_000, 0_u32..4)
            .prop_map(|(flow, kind, payload, flags, ack, to)| QueueStep::Put { flow, kind, payload, flags, ack, to }),
        5 => Just(QueueStep::Get),
        2 => (0_u32..4).prop_map(QueueStep::GetFor),
        2 => (0_u64..300_000_000).prop_map(QueueStep::Wait),
        1 => (0_u32..4, any::<bool>(), 0_u64..5_000, 1_u32..8)
            .prop_map(|(peer, sent, micros, attempts)| QueueStep::Air { peer, sent, micros, attempts }),
    ]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![(1_u64..40).prop_map(Limit::Packets), (1_500_u64..20_000).prop_map(|bytes| Limit::Bytes(Bytes(bytes))),]
}

proptest! {
    /// Whatever the calls: every packet is exactly once inside, sent or dropped; `len` counts those inside; the limit
    /// holds, and where it is reached the queue says that it is full; a discipline that claims to be work conserving
    /// hands out a packet whenever it has one; and as many packets are marked as it says.
    #[test]
    fn every_discipline_accounts_for_all_packets(
        name in prop::sample::select(Chosen::NAMES.to_vec()),
        limit in limit(),
        mark_above in prop::option::of(limit()),
        routing_first in any::<bool>(),
        steps in prop::collection::vec(step(), 1..400),
    ) {
        let discipline = Chosen::named(name).expect("a name of the list");
        let settings = QueueSettings { discipline, limit, mark_above, routing_first };
        let mut bench = QueueBench::new(Queue::new(&settings, Some(BitRate::from_mbps(11)), 1, "test"));
        let (mut inside, mut bytes, mut routing) = (0_usize, 0_u64, 0_usize);
        let (mut marked, mut marked_and_lost) = (0_u64, 0_u64);
        let mut steps = steps;
        // Drain the queue at the end.
        steps.extend([QueueStep::Wait(10_000_000_000), QueueStep::Get].repeat(200));
        for step in steps {
            let lost_before = bench.lost.len();
            match step {
                QueueStep::Put { flow, kind, payload, flags, ack, to } => {
                    let size = payload + 40;
                    bench.put_to(Packet { flow, kind, payload, size, flags, ack, hop: to, ..Packet::default() }, to);
                    inside += 1;
                    bytes += u64::from(size);
                    routing += usize::from(kind == Kind::Routing);
                }
                QueueStep::Get => {
                    let holds_back = bench.queue.ready() > bench.now;
                    let got = bench.get();
                    let dropped_all = inside == bench.lost.len() - lost_before;
                    prop_assert!(got.is_some() || dropped_all || holds_back, "{} keeps {} packets", name, inside);
                    if let Some(packet) = got {
                        marked += u64::from(packet.has(flag::CE));
                        inside -= 1;
                        bytes -= packet.bytes().0;
                        routing -= usize::from(packet.kind == Kind::Routing);
                    }
                }
                QueueStep::GetFor(to) => {
                    if let Some(packet) = bench.get_for(to) {
                        marked += u64::from(packet.has(flag::CE));
                        inside -= 1;
                        bytes -= packet.bytes().0;
                        routing -= usize::from(packet.kind == Kind::Routing);
                    }
                }
                QueueStep::Wait(nanos) => bench.wait(Duration::from_nanos(nanos)),
                QueueStep::Air { peer, sent, micros, attempts } => {
                    let air = Duration::from_micros(micros);
                    let used = super::AirUse { peer, sent, air, attempts, delivered: attempts < 7, rate: None };
                    bench.queue.on_air(bench.now, &used);
                }
            }
            for packet in &bench.lost[lost_before..] {
                marked_and_lost += u64::from(packet.has(flag::CE));
                inside -= 1;
                bytes -= packet.bytes().0;
                routing -= usize::from(packet.kind == Kind::Routing);
            }
            prop_assert_eq!(bench.queue.len(), inside, "{}", name);
            prop_assert_eq!(bench.queue.is_empty(), inside == 0);
            prop_assert_eq!(bench.packets.len(), inside, "{}: packets are neither lost nor made", name);
            let waiting = if routing_first { inside - routing } else { inside };
            match limit {
                // Two lines of one packet each.
                Limit::Packets(1) if name == "dual" => prop_assert!(waiting <= 2),
                // What is in the driver does not count.
                _ if name == "linux-wifi" => {}
                Limit::Packets(limit) => prop_assert!(waiting as u64 <= limit, "{} holds {}", name, inside),
                Limit::Bytes(limit) if !routing_first => prop_assert!(bytes <= limit.0, "{} holds {} B", name, bytes),
                Limit::Bytes(_) => {}
            }
            if let (Limit::Packets(limit), false) = (limit, routing_first || ["dual", "linux-wifi"].contains(&name)) {
                prop_assert_eq!(bench.queue.is_full(), inside as u64 == limit, "{} with {} packets", name, inside);
            }
            bench.queue.show(&mut |what, value| assert!(value.is_finite(), "{what} of {name} is {value}"));
        }
        prop_assert_eq!(inside, 0, "{} keeps packets", name);
        let marks = marked..=marked + marked_and_lost;
        let told = bench.queue.marks();
        prop_assert!(marks.contains(&told), "{} marks {}, and says {}", name, marked, told);
    }
}

/// State variables, by name.
type StateVariables = &'static [(&'static str, f64)];

/// The state variables that disciplines report, by hand. Two downloads to stations 1 and 2 and the ACKs of an upload of
/// station 1: three packets of 1000 B, one of 500 B, an ACK of 40 B that acknowledges 10 kB, all within the first 15 kB
/// of their flows. After 20 ms one leaves: by SCFQ the ACK, whose tag is the smallest, by the others a packet of 1000
/// B.
#[test]
fn state_variables_by_hand() {
    let expected: &[(&str, StateVariables, StateVariables)] = &[
        ("drr", &[("lines", 3.0)], &[("lines", 3.0)]),
        ("fq-codel", &[("lines", 3.0)], &[("lines", 3.0)]),
        ("per-flow", &[("lines", 3.0)], &[("lines", 3.0)]),
        ("airtime", &[("stations", 2.0)], &[("stations", 2.0)]),
        ("vq-red", &[("stations", 2.0)], &[("stations", 2.0)]),
        ("scfq", &[("clock_bytes", 0.0)], &[("clock_bytes", 40.0)]),
        ("spm", &[("selected_packets", 5.0)], &[("selected_packets", 4.0)]),
        ("paced", &[("output_bps", 0.0)], &[("output_bps", 8000.0)]),
        ("codel", &[("delay_s", 0.0), ("count", 0.0)], &[("delay_s", 0.02), ("count", 0.0)]),
        (
            "contention-red",
            &[("mean_retries", 0.0), ("probability", 0.0)],
            &[("mean_retries", 0.0), ("probability", 0.0)],
        ),
        // Two downloads and one upload: 2/3 of the departures are data, and both lines have some.
        (
            "dual",
            &[("data_share", 2.0 / 3.0), ("data_packets", 4.0), ("ack_packets", 1.0)],
            &[("data_share", 2.0 / 3.0)],
        ),
        // The tags of flow 0 are 0, 1000 and 2000, of flow 1 0, and that of the ACK is 10,000.
        (
            "las",
            &[("flows", 3.0), ("first_tag_bytes", 0.0), ("worst_tag_bytes", 10_000.0)],
            &[("flows", 3.0), ("first_tag_bytes", 0.0), ("worst_tag_bytes", 10_000.0)],
        ),
        // The mean length is far below the lower threshold.
        ("red", &[("probability", 0.0)], &[("probability", 0.0)]),
    ];
    for (name, before, after) in expected {
        let discipline = Chosen::named(name).expect("a name of the list");
        let settings = QueueSettings { discipline, limit: Limit::Packets(50), mark_above: None, routing_first: false };
        let mut bench = QueueBench::new(Queue::new(&settings, Some(BitRate::from_mbps(11)), 1, "test"));
        for (flow, kind, to, payload, ack) in [
            (0, Kind::Data, 1, 960, 0),
            (0, Kind::Data, 1, 960, 0),
            (1, Kind::Data, 2, 460, 0),
            (2, Kind::Ack, 1, 0, 10_000),
            (0, Kind::Data, 1, 960, 0),
        ] {
            bench.put_to(Packet { flow, kind, payload, size: payload + 40, ack, ..Packet::default() }, to);
        }
        for expected in [before, after] {
            let mut seen = vec![];
            bench.queue.show(&mut |what, value| seen.push((what, value)));
            for pair in *expected {
                assert!(seen.contains(pair), "{name} says {seen:?}, not {pair:?}");
            }
            bench.wait(Duration::from_millis(20));
            bench.get();
        }
    }
}

/// Disciplines with a marking rule mark what they would otherwise drop, and count it: 40 ECN-capable packets of one
/// flow in a queue of 400, then one leaves and two arrive every 10 ms; every frame needs seven attempts.
#[test]
fn disciplines_with_a_rule_of_their_own_count_their_marks() {
    let red = crate::red::Params { weight: 1.0, ..crate::red::Params::default() };
    let vq_red = crate::vq_red::Params { weight: 1.0, ..crate::vq_red::Params::default() };
    let named = |name| Chosen::named(name).expect("a name of the list");
    for discipline in [
        Chosen::Red(red),
        Chosen::VqRed(vq_red),
        named("codel"),
        named("fq-codel"),
        named("airtime"),
        named("linux-wifi"),
        named("contention-red"),
    ] {
        let what = format!("{discipline:?}");
        let settings = QueueSettings { discipline, limit: Limit::Packets(400), mark_above: None, routing_first: false };
        let mut bench = QueueBench::new(Queue::new(&settings, Some(BitRate::from_mbps(11)), 1, "test"));
        let packet = Packet { size: 1000, flags: flag::ECT, ..Packet::default() };
        bench.put_all([packet; 40]);
        let mut marked = 0;
        for _ in 0..300 {
            let air = Duration::from_millis(7);
            bench.queue.on_air(
                bench.now,
                &super::AirUse { peer: 0, sent: true, air, attempts: 7, delivered: true, rate: None },
            );
            bench.wait(Duration::from_millis(10));
            bench.put_all([packet; 2]);
            marked += bench.get().map_or(0, |packet| u64::from(packet.has(flag::CE)));
        }
        bench.wait(Duration::from_secs(100));
        while !bench.queue.is_empty() {
            marked += bench.get().map_or(0, |packet| u64::from(packet.has(flag::CE)));
        }
        marked += bench.lost.iter().map(|packet| u64::from(packet.has(flag::CE))).sum::<u64>();
        assert!(marked > 3, "{what}");
        assert_eq!(bench.queue.marks(), marked, "{what}");
    }
}

/// Only disciplines that count air time or retries need reports of air use.
#[test]
fn three_disciplines_need_reports_of_air_use() {
    let wants = |name: &&str| {
        let discipline = Chosen::named(name).expect("a name of the list");
        let settings = QueueSettings { discipline, limit: Limit::Packets(50), mark_above: None, routing_first: false };
        Queue::new(&settings, None, 1, "test").wants_air_use()
    };
    assert_eq!(
        Chosen::NAMES.into_iter().filter(wants).collect::<Vec<_>>(),
        ["contention-red", "airtime", "linux-wifi"]
    );
}

/// A discipline that holds nothing back is asked again a millisecond later.
#[test]
fn a_queue_that_holds_nothing_back_is_asked_after_a_millisecond() {
    let now = Time::ZERO + Duration::from_secs(1);
    assert_eq!(Queue::fifo(Limit::Packets(1)).retry_at(now), now + Duration::from_millis(1));
}
