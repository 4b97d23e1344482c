//! Airtime fairness: stations take turns according to the air time that they use, with FQ-CoDel for each station's
//! flows.
//!
//! Source: T. Høiland-Jørgensen, M. Kazior, D. Täht, P. Hurtig and A. Brunstrom, "Ending the Anomaly: Achieving Low
//! Latency and Airtime Fairness in WiFi", USENIX ATC 2017, sections 3.1 and 3.2, as in Linux (mac80211,
//! net/mac80211/tx.c; the deficit scheduler, not the short-lived scheduler by virtual time). Each station has a
//! deficit, counted in air time. The scheduler looks at the first station that has just received a packet (new) or, if
//! there is none, at the first of the others (old). A station whose deficit is used up gets a quantum and goes to the
//! end of the old stations; otherwise it sends. Every frame to or from a station, retries included, is charged to its
//! deficit. A station without packets is removed; a new one moves to the old stations first. Air time that a station
//! uses after it has had no packets here for 100 ms is not charged: otherwise a station that mostly sends would wait
//! long for its first packet.
//!
//! Linux adds 256 us at a time (its default weight), the paper 300 us. The flows of a station share by deficit round
//! robin with a quantum of 300 B, each with CoDel: target 20 ms and interval 100 ms, as in mac80211.
//!
//! A full buffer drops the first packet of the flow that holds the most bytes. CoDel drops nothing while its flow holds
//! nothing else.
//!
//! Departures: each flow has a line of its own, not a hashed one; the air time queued in hardware is not limited (AQL),
//! because the MAC here takes one frame at a time; CoDel's parameters do not depend on a station's rate.

use wifair_config::table;
use wifair_packet::{Packet, PacketId, Packets, entry};
use wifair_units::{Bytes, Duration, Time};

use super::fq::{Fq, FqPlace, NewAndOldLists};
use super::{AirUse, Discipline, Dropped, Site, codel, flow_key, station_key};

table! {
    /// Airtime fairness.
    pub struct Params {
        /// Air time granted to a station at each visit.
        pub quantum: Duration = Duration::from_micros(256), "at least 1 us" => |q| *q >= Duration::from_micros(1);
        /// Bytes granted to a flow of a station at each visit.
        pub flow_quantum: Bytes = Bytes(300), "at least 256 B and at most 1 MB" => |q| (256..=1_000_000).contains(&q.0);
        /// Memory for waiting packets, as Linux counts it (2304 B for a full one): 16 MiB from 802.11ac on, else 4 MiB,
        /// in Linux; if absent, no limit besides `limit`.
        pub memory: Option<Bytes> = None, "at least 10 kB" => |memory| memory.is_none_or(|m| m.0 >= 10_000);
        /// Whether frames from a station count too.
        pub count_received: bool = true;
        /// Acceptable time in the queue.
        pub target: Duration = Duration::from_millis(20), "above 0 s" => |time| *time > Duration::ZERO;
        /// How long the target must be exceeded before packets are dropped.
        pub interval: Duration = Duration::from_millis(100), "above 0 s" => |time| *time > Duration::ZERO;
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = true;
        /// Packets that have waited longer are marked, each of them (L4S); 0 s is off, as in Linux.
        pub ce_threshold: Duration = Duration::ZERO;
        /// Which ECN-capable packets that concerns.
        pub ce_threshold_on: codel::CeThresholdOn = codel::CeThresholdOn::Ect1;
    }
}

/// How long a station counts as active after it last had packets here.
const ACTIVE: Duration = Duration::from_millis(100);

#[derive(Clone, Debug, Default)]
struct AirtimeStation {
    group: NewAndOldLists,
    /// In nanoseconds.
    deficit: i64,
    listed: bool,
    /// When it last had a packet here.
    busy: Time,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Airtime {
    fq: Fq,
    quantum: i64,
    count_received: bool,
    stations: Vec<AirtimeStation>,
    turns: NewAndOldLists,
}

impl Airtime {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        let Params { target, interval, ecn, ce_threshold, ce_threshold_on, .. } = *params;
        let codel = codel::Params {
            target,
            interval,
            ecn,
            ce_threshold,
            ce_threshold_on,
            full_packet: Bytes(0),
            ..codel::Params::default()
        };
        Self {
            fq: Fq::new(site.limit, params.flow_quantum.0 as i64, &codel, FqPlace::WifiStack)
                .with_memory(params.memory),
            quantum: params.quantum.as_nanos() as i64,
            count_received: params.count_received,
            stations: vec![],
            turns: NewAndOldLists::default(),
        }
    }

    fn station(&mut self, number: usize) -> &mut AirtimeStation {
        entry(&mut self.stations, number)
    }

    /// Credits every listed station with several quanta at once: as many full rounds as pass before one of them is
    /// ready.
    fn catch_up(&mut self) {
        let rounds = self.turns.all().map(|station| -self.stations[station].deficit / self.quantum).min().unwrap_or(0);
        for station in self.turns.all() {
            self.stations[station].deficit += rounds * self.quantum;
        }
    }
}

impl Discipline for Airtime {
    fn enqueue(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let (number, quantum) = (station_key(to), self.quantum);
        let line = flow_key(&packets[id]);
        let station = self.station(number);
        let mut group = std::mem::take(&mut station.group);
        self.fq.enqueue(now, id, line, &mut group, packets, dropped);
        let station = self.station(number);
        station.group = group;
        if !station.listed {
            station.listed = true;
            station.deficit = station.deficit.min(0) + quantum;
            self.turns.push(number);
        }
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, dropped: &mut Dropped) -> Option<PacketId> {
        let mut visits = 0;
        loop {
            let station = &mut self.stations[self.turns.first()?];
            if station.deficit <= 0 {
                station.deficit += self.quantum;
                self.turns.defer();
                visits += 1;
                if visits > self.turns.len() {
                    self.catch_up();
                    visits = 0;
                }
                continue;
            }
            if let Some(id) = self.fq.dequeue(now, &mut station.group, packets, dropped) {
                station.busy = now;
                return Some(id);
            }
            station.listed = !self.turns.remove_empty();
        }
    }

    fn dequeue_for(
        &mut self,
        now: Time,
        to: u32,
        _room: u64,
        _is_to: &dyn Fn(&Packet) -> bool,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Option<PacketId> {
        let station = self.stations.get_mut(station_key(to))?;
        let id = self.fq.dequeue(now, &mut station.group, packets, dropped)?;
        station.busy = now;
        Some(id)
    }

    counted_by!(fq);

    fn wants_air_use(&self) -> bool {
        true
    }

    fn on_air(&mut self, now: Time, used: &AirUse) {
        let count_received = self.count_received;
        let station = self.station(station_key(used.peer));
        let is_active = station.listed || now.saturating_since(station.busy) < ACTIVE;
        if is_active && (used.sent || count_received) {
            station.deficit -= used.air.as_nanos() as i64;
        }
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("stations", self.turns.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::QueueBench;
    use super::*;

    /// Frames of station 1 take 8 ms, of station 2 1 ms, of station 3 0.5 ms, each with 1000 B; all stations always
    /// have packets. Returns how often each is served in 4000 frames.
    fn serve(params: &Params) -> [u32; 4] {
        let mut bench = QueueBench::new(Airtime::new(params, &QueueBench::<Airtime>::SITE));
        let packet = |to| Packet { flow: to, size: 1000, ..Packet::default() };
        for to in [1, 2, 3, 1, 2, 3] {
            bench.put_to(packet(to), to);
        }
        let mut served = [0; 4];
        for _ in 0..4000 {
            let to = bench.get().expect("all stations have packets").flow;
            served[to as usize] += 1;
            let air = Duration::from_micros([0, 8000, 1000, 500][to as usize]);
            bench.wait(air);
            bench
                .queue
                .on_air(bench.now, &AirUse { peer: to, sent: true, air, attempts: 1, delivered: true, rate: None });
            bench.put_to(packet(to), to);
        }
        served
    }

    /// Equal air time: packets in the proportion 1 : 8 : 16, to within a frame of 8 ms and a quantum or two.
    #[test]
    fn stations_get_equal_air_time() {
        let [_, slow, middle, fast] = serve(&Params { target: Duration::from_secs(100), ..Params::default() });
        let (slow, middle, fast) = (f64::from(slow) * 8.0, f64::from(middle), f64::from(fast) * 0.5);
        assert!((slow - middle).abs() <= 9.0 && (middle - fast).abs() <= 2.0, "{slow} {middle} {fast} ms");
    }

    /// Station 1 has itself sent for 100 ms. Packets for both stations then wait, but only station 2 is served until it
    /// has had as much air time.
    #[test]
    fn what_a_station_sends_counts_too() {
        for (count_received, expected) in [(true, 100.0), (false, 0.0)] {
            let mut bench = QueueBench::new(Airtime::new(
                &Params { count_received, ..Params::default() },
                &QueueBench::<Airtime>::SITE,
            ));
            let air = Duration::from_millis(1);
            let used = |peer, sent, air| AirUse { peer, sent, air, attempts: 1, delivered: true, rate: None };
            let mut served = [0.0; 3];
            bench.wait(Duration::from_secs(1));
            bench.queue.on_air(bench.now, &used(2, false, Duration::from_secs(1))); // inactive, so not charged
            for to in [1, 2, 1, 2] {
                bench.put_to(Packet { flow: to, size: 1000, ..Packet::default() }, to);
            }
            bench.queue.on_air(bench.now, &used(1, false, Duration::from_millis(100)));
            for _ in 0..300 {
                let to = bench.get().expect("both have packets").flow;
                served[to as usize] += 1.0;
                bench.queue.on_air(bench.now, &used(to, true, air));
                bench.put_to(Packet { flow: to, size: 1000, ..Packet::default() }, to);
            }
            let ahead: f64 = served[2] - served[1];
            assert!((ahead - expected).abs() <= 3.0, "station 2 is {ahead} ms ahead");
        }
    }

    /// Room for 5 packets of 1500 B in memory (2304 B each), of which one station holds four and another one when the
    /// sixth comes, to the second: the first of the station that holds most is dropped, and no other.
    #[test]
    fn memory_is_kept_by_dropping_from_the_fattest_flow() {
        let memory = Some(Bytes(5 * 2304));
        let params = Params { memory, ..Params::default() };
        let mut bench = QueueBench::new(Airtime::new(&params, &QueueBench::<Airtime>::SITE));
        for (to, seq) in [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0)] {
            bench.put_to(Packet { flow: to, seq, size: 1500, ..Packet::default() }, to);
        }
        assert!(bench.queue.is_full() && bench.lost.is_empty());
        bench.put_to(Packet { flow: 2, seq: 1, size: 1500, ..Packet::default() }, 2);
        assert_eq!(bench.lost.iter().map(|packet| (packet.flow, packet.seq)).collect::<Vec<_>>(), [(1, 0)]);
        assert_eq!(bench.queue.len(), 5);
    }

    /// As in FQ-CoDel, a station gains nothing by running empty: a new station whose queue is empty goes behind the old
    /// ones, so its next packet waits for its turn there. Quantum 256 us: station 1 uses 256 us, gets another quantum
    /// and becomes old; station 2 sends its only packet.
    #[test]
    fn a_station_that_runs_empty_waits_for_its_turn() {
        let mut bench = QueueBench::new(Airtime::new(&Params::default(), &QueueBench::<Airtime>::SITE));
        let packet = |to| Packet { flow: to, size: 1000, ..Packet::default() };
        for to in [1, 1, 1, 1, 2] {
            bench.put_to(packet(to), to);
        }
        let mut order = vec![bench.get().expect("five wait").flow];
        let air = Duration::from_micros(256);
        bench.queue.on_air(bench.now, &AirUse { peer: 1, sent: true, air, attempts: 1, delivered: true, rate: None });
        order.extend((0..2).map(|_| bench.get().expect("some wait").flow));
        bench.put_to(packet(2), 2);
        order.extend(bench.drain().iter().map(|packet| packet.flow));
        assert_eq!(order, [1, 2, 1, 1, 1, 2]);
    }

    /// By hand in halves of a quantum: stations 1 and 2 begin with 2 and use 201 and 199, which leaves -199 and -197.
    /// After 99 rounds they have -1 and 1: station 1, which is asked first, gets its quantum and goes behind 2, which
    /// sends. Both have 1 then. 2 uses two halves, and 1 sends next.
    #[test]
    fn many_rounds_without_a_packet_take_one_step() {
        let mut bench = QueueBench::new(Airtime::new(&Params::default(), &QueueBench::<Airtime>::SITE));
        for to in [1, 1, 2, 2] {
            bench.put_to(Packet { flow: to, size: 1000, ..Packet::default() }, to);
        }
        let used = |peer, halves: u64| AirUse {
            peer,
            sent: true,
            air: Duration::from_micros(128 * halves),
            attempts: 1,
            delivered: true,
            rate: None,
        };
        bench.queue.on_air(bench.now, &used(1, 201));
        bench.queue.on_air(bench.now, &used(2, 199));
        assert_eq!(bench.get().expect("four wait").flow, 2);
        assert_eq!([2, 3].map(|station| bench.queue.stations[station].deficit), [128_000; 2]);
        bench.queue.on_air(bench.now, &used(2, 2));
        assert_eq!(bench.get().expect("three wait").flow, 1);
    }
}
