//! Whole radios: traces by hand, and properties.

use proptest::prelude::*;
use wifair_packet::{Packet, Packets, flag};
use wifair_units::{Bytes, Duration};

use super::super::cake::AckFilter;
use super::super::testing::QueueBench;
use super::super::{Cause, Chosen, Limit};
use super::*;

/// A radio with categories, its packets and its clock.
struct RadioBench {
    queues: Vec<Queue>,
    packets: Packets,
    now: Time,
    lost: Vec<(u32, u64, Cause)>,
    dropped: Dropped,
}

fn kbps(kbps: u64) -> BitRate {
    BitRate::from_bps(kbps * 1000)
}

fn peer(rate: u64) -> WifiPeer {
    WifiPeer { rate: Some(kbps(rate)), weight: 256, group: None }
}

impl RadioBench {
    fn new(params: Params, limit: u64, peers: &[WifiPeer]) -> Self {
        let discipline = Chosen::LinuxWifi(params);
        let settings =
            QueueSettings { discipline, limit: Limit::Packets(limit), mark_above: None, routing_first: false };
        let queues = LinuxWifi::categories(&settings, None, 1, "ap", 4, peers).expect("a radio");
        Self { queues, packets: Packets::default(), now: Time::ZERO, lost: vec![], dropped: vec![] }
    }

    fn put(&mut self, category: usize, to: u32, flow: u32, seq: u64) {
        self.put_sized(category, to, Packet { flow, seq, size: 1500, ..Packet::default() });
    }

    fn put_sized(&mut self, category: usize, to: u32, packet: Packet) {
        let id = self.packets.insert(packet);
        self.queues[category].enqueue(self.now, id, to, &mut self.packets, &mut self.dropped);
        self.settle();
    }

    fn settle(&mut self) {
        for (id, cause) in self.dropped.drain(..) {
            let packet = self.packets.remove(id);
            self.lost.push((packet.flow, packet.seq, cause));
        }
    }

    fn get(&mut self, category: usize) -> Option<Packet> {
        let id = self.queues[category].dequeue(self.now, &mut self.packets, &mut self.dropped);
        self.settle();
        id.map(|id| self.packets.remove(id))
    }

    fn get_for(&mut self, category: usize, to: u32) -> Option<Packet> {
        let Self { queues, packets, dropped, .. } = self;
        let id = queues[category].dequeue_for(self.now, to, u64::MAX, &|_| true, packets, dropped);
        id.map(|id| self.packets.remove(id))
    }

    fn pending_us(&self) -> f64 {
        let mut pending = 0.0;
        self.queues[0].show(&mut |what, value| {
            if what == "pending_s" {
                pending = (value * 1e6).round();
            }
        });
        pending
    }

    fn charge(&mut self, category: usize, station: u32, sent: bool, air: Duration) {
        let used = AirUse { peer: station, sent, air, attempts: 1, delivered: true, rate: None };
        self.queues[category].on_air(self.now, &used);
    }
}

/// Stations at 7.2 Mb/s, where a packet counts 1728 us; each comes alone. By hand: rounds begin below 12 ms with one
/// station in the list, so the driver takes 7 packets for station 0, 12,096 us. With two they begin below 14.5 ms: 2
/// more, 15,552 us. With three below 17 ms: one more begins, in which station 2 gets its one packet in, and station 1
/// four, until the radio has its threshold of 24 ms: 24,192 us. In another category station 2 may always have 5 ms,
/// which takes three packets.
#[test]
fn airtime_queue_limits_by_hand() {
    let mut bench = RadioBench::new(Params::default(), 8192, &[peer(7200); 3]);
    for (category, station, expected) in [(2, 0, 7), (2, 1, 9), (2, 2, 14), (1, 2, 17)] {
        for seq in 0..10 {
            bench.put(category, station, 4 * station + category as u32, seq);
        }
        assert_eq!(bench.pending_us(), f64::from(expected) * 1728.0, "station {station} in category {category}");
    }
}

/// With limits that let the driver have one packet a station and category, and room for four packets: the fifth in the
/// lines costs the flow that holds most its first, in whichever category that is.
#[test]
fn overload_costs_the_fattest_flow_of_the_radio() {
    let us = Duration::from_micros;
    let params = Params { aql_low: us(1), aql_high: us(1), aql_threshold: us(1), ..Params::default() };
    let mut bench = RadioBench::new(params, 4, &[peer(7200); 2]);
    for seq in 0..4 {
        bench.put(2, 0, 0, seq); // the first goes to the driver
    }
    bench.put(0, 1, 1, 0); // to the driver, too
    bench.put(0, 1, 1, 1);
    assert!(bench.lost.is_empty());
    bench.put(0, 1, 1, 2);
    assert_eq!(bench.lost, [(0, 1, Cause::Overflow)]);
    assert_eq!([0, 2].map(|category| bench.queues[category].len()), [3, 3]);
    // Memory: three full packets have room, so four are too many.
    let params = Params { memory: Some(Bytes(11_520 - 2304)), aql_low: us(1), aql_high: us(1), ..Params::default() };
    let mut bench = RadioBench::new(Params { aql_threshold: us(1), ..params }, 8192, &[peer(7200); 2]);
    for seq in 0..6 {
        bench.put(2, 0, 0, seq);
    }
    assert_eq!(bench.lost, [(0, 1, Cause::Overflow)]);
}

/// ath9k. While nothing is on the air, each of the first two packets becomes an aggregate when it comes; all later ones
/// wait. When the first is done there is room for one more aggregate. The list holds station 2, which joined last, then
/// 1, then 0, whose other 48 packets leave in aggregates of 32 and 16.
#[test]
fn ath9k_keeps_two_aggregates() {
    let params = Params { driver: WifiDriver::Aggregates, ..Params::default() };
    let mut bench = RadioBench::new(params, 8192, &[peer(144_400); 3]);
    for seq in 0..3 {
        bench.put(2, 0, 0, seq);
    }
    assert_eq!(bench.get(2).map(|packet| packet.seq), Some(0));
    assert!(bench.get_for(2, 0).is_none());
    bench.put(2, 1, 1, 0);
    for seq in 3..50 {
        bench.put(2, 0, 0, seq);
    }
    bench.put(2, 2, 2, 0);
    let mut order = vec![];
    while let Some(first) = bench.get(2) {
        let mut count = 1;
        while bench.get_for(2, first.flow).is_some() {
            count += 1;
        }
        order.push((first.flow, count));
    }
    assert_eq!(order, [(0, 1), (2, 1), (1, 1), (0, 32), (0, 16)]);
}

/// A driver of before 2016 with room for three packets below a FIFO for two: the sixth arrival finds both full. The
/// first packet is an aggregate when it comes; when it is done the fourth joins station 0's queue in the driver, and
/// both its packets make an aggregate before station 1 has its turn.
#[test]
fn a_fifo_above_the_driver_by_hand() {
    let params = Params {
        upper: UpperQueue::Pfifo,
        driver: WifiDriver::Aggregates,
        driver_aggregates: 1,
        driver_frames: 3,
        ..Params::default()
    };
    let mut bench = RadioBench::new(params, 2, &[peer(144_400); 2]);
    for (seq, to) in (0..).zip([0, 0, 1, 0, 0, 1]) {
        bench.put(2, to, to, seq);
    }
    assert_eq!(bench.lost, [(1, 5, Cause::Overflow)]);
    let order: Vec<u64> = std::iter::from_fn(|| bench.get(2)).map(|packet| packet.seq).collect();
    assert_eq!(order, [0, 1, 3, 2, 4]);
    assert_eq!(bench.queues[2].len(), 0);
}

/// A phone: of three ACKs that wait in a line, those that the last makes superfluous are dropped.
#[test]
fn a_phone_thins_acks() {
    let us = Duration::from_micros;
    let params = Params {
        ack_filter: AckFilter::Aggressive,
        aql_low: us(1),
        aql_high: us(1),
        aql_threshold: us(1),
        ..Params::default()
    };
    let mut bench = RadioBench::new(params, 100, &[peer(144_400)]);
    for seq in 0..4 {
        let ack =
            Packet { kind: wifair_packet::Kind::Ack, flags: flag::ACK, ack: seq, seq, size: 52, ..Packet::default() };
        bench.put_sized(2, 0, ack);
    }
    // The first is in the driver; 1 and 2 went when 2 and 3 came.
    assert_eq!(bench.lost, [(0, 1, Cause::Early), (0, 2, Cause::Early)]);
}

/// Weights 512 and 256: air time 2 to 1; of a group with 256 between two stations each has half as much as a station
/// with 256 of its own.
#[test]
fn weights_share_the_air() {
    let weighted = |weight, group| WifiPeer { weight, group, ..peer(144_400) };
    for (peers, expected) in [
        (vec![weighted(512, None), weighted(256, None), weighted(256, None)], [0.5, 0.25, 0.25]),
        (vec![weighted(256, None), weighted(256, Some(0)), weighted(256, Some(0))], [0.5, 0.25, 0.25]),
    ] {
        let shares = shares(&Params { driver: WifiDriver::Aggregates, ..Params::default() }, &peers, &[0.0; 3]);
        for (share, expected) in shares.iter().zip(expected) {
            assert!((share - expected).abs() < 0.02 * expected, "{peers:?}: {shares:?}");
        }
    }
}

/// Shares of the air of stations that always have packets to get, and that send for a part of what they get, in 20 s.
fn shares(params: &Params, peers: &[WifiPeer], up: &[f64]) -> Vec<f64> {
    let mut bench = RadioBench::new(params.clone(), 8192, peers);
    let count = peers.len() as u32;
    for station in 0..count {
        for seq in 0..1000 {
            bench.put(2, station, station, seq);
        }
    }
    let (mut next, mut got) = (vec![1000; peers.len()], vec![0; peers.len()]);
    let mut used = vec![0.0; peers.len()];
    while bench.now < Time::ZERO + Duration::from_secs(20) {
        let first = bench.get(2).expect("a backlogged radio has a packet");
        let station = first.flow;
        let (mut count, mut seq) = (1, first.seq);
        let rate = peers[station as usize].rate.expect("a rate");
        let longest = (Duration::from_millis(4).as_nanos() * rate.as_bps() / 1_000_000_000 / 12_000).clamp(1, 32);
        assert!(got[station as usize] <= seq, "flow {station} is in order");
        while count < longest
            && let Some(more) = bench.get_for(2, station)
        {
            assert!(more.seq > seq, "flow {station} is in order");
            (seq, count) = (more.seq, count + 1);
        }
        got[station as usize] = seq + 1;
        let air = Duration::from_micros(100) + rate.time_for(Bytes(1538 * count));
        let back = Duration::from_nanos((air.as_nanos() as f64 * up[station as usize]) as u64);
        bench.now += air + back;
        bench.charge(2, station, true, air);
        bench.charge(2, station, false, back);
        if bench.now > Time::ZERO + Duration::from_secs(1) {
            used[station as usize] += (air + back).as_secs();
        }
        let held = next[station as usize] - got[station as usize];
        for _ in held..1000 {
            bench.put(2, station, station, next[station as usize]);
            next[station as usize] += 1;
        }
    }
    let total: f64 = used.iter().sum();
    used.iter().map(|used| used / total).collect()
}

/// Rates of 802.11n and ac, in kb/s.
const RATES: [u64; 6] = [7_200, 28_900, 65_000, 144_400, 300_000, 866_700];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Stations that always have packets get equal air time within 2 %, whatever their rates are and however much they
    /// send themselves, and no flow's packets are reordered. With AQL it is 5 %: slow stations may hold so much in the
    /// card that no round begins when a fast one has nothing left there. The control is below.
    #[test]
    fn backlogged_stations_get_equal_air_time(
        rates in prop::collection::vec(prop::sample::select(RATES.to_vec()), 2..6),
        up in prop::collection::vec(prop::sample::select(vec![0.0, 0.1, 0.5]), 6),
        driver in prop::sample::select(vec![WifiDriver::Aql, WifiDriver::Aggregates]),
        has_long_quanta in any::<bool>(),
    ) {
        let peers: Vec<WifiPeer> = rates.iter().map(|rate| peer(*rate)).collect();
        let quantum = Duration::from_micros(if has_long_quanta { 2048 } else { 256 });
        let params = Params { driver, airtime_quantum: quantum, target: Duration::from_secs(100), ..Params::default() };
        let shares = shares(&params, &peers, &up);
        let fair = 1.0 / peers.len() as f64;
        let allowed = if driver == WifiDriver::Aql { 0.05 } else { 0.02 };
        for share in &shares {
            prop_assert!((share - fair).abs() <= allowed * fair, "{:?} up {:?} by {:?}: {:?}", rates, up, driver, shares);
        }
    }
}

/// The control of the property: one station at 7.2 and one at 144.4 Mb/s in turns. A turn of the slow one takes 2.05 to
/// 4.1 ms more air time than its packets' share.
#[test]
fn without_airtime_fairness_slow_stations_get_more() {
    let params = Params { airtime_fairness: false, driver: WifiDriver::Aggregates, ..Params::default() };
    let shares =
        shares(&Params { target: Duration::from_secs(100), ..params }, &[peer(7200), peer(144_400)], &[0.0; 2]);
    assert!(shares[0] > 0.55, "{shares:?}");
}

/// One category alone, as up to 802.11g.
#[test]
fn a_radio_may_have_one_category() {
    let mut bench = QueueBench::new(LinuxWifi::new(&Params::default(), &QueueBench::<LinuxWifi>::SITE));
    bench.put_all((0..5).map(|seq| Packet { seq, size: 1000, ..Packet::default() }));
    assert_eq!(bench.drain().iter().map(|packet| packet.seq).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}
