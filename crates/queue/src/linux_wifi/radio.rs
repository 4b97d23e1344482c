//! The queues of a radio in all categories.

use std::collections::VecDeque;

use wifair_packet::{PacketId, Packets, entry};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::aql::{AqlLimits, expected_air, micros};
use super::driver::{DriverBatch, DriverQueue, Handed};
use super::params::{Params, SparseStations, UpperQueue, WifiDriver, WifiPeer};
use super::rounds::{AirtimeRounds, Joins, RoundState};

use crate::cake::AckFilter;
use crate::fq::{Fq, FqPlace, NewAndOldLists};
use crate::fq_codel::hashed;
use crate::{AirUse, Cause, Chosen, Discipline, Dropped, Queue, Site, codel, flow_key, station_key};

/// Below this rate, times the number of stations, a station was slow: `STA_SLOW_THRESHOLD`.
const SLOW_BPS: u64 = 6_000_000;

/// How often the weights of groups are divided among their active stations: hostapd's update interval.
const DIVIDED_EVERY: Duration = Duration::from_millis(200);

/// The least quantum: hostapd's `AIRTIME_QUANTUM_MIN`, in microseconds.
const LEAST_QUANTUM: u64 = 8;

/// A station and a category.
#[derive(Clone, Debug, Default)]
struct Txq {
    lines: NewAndOldLists,
    /// Packets in its lines, or in its queue in the driver.
    waiting: usize,
    /// Its queue in the driver, with a discipline above.
    in_driver: VecDeque<Handed>,
}

/// A category of the radio.
#[derive(Debug)]
struct RadioCategory {
    txqs: Vec<Txq>,
    rounds: AirtimeRounds,
    /// The rounds of a card with AQL.
    card: AirtimeRounds,
    driver: DriverQueue,
    /// The discipline above the driver, if mac80211 has no queues.
    upper: Option<Queue>,
    /// Expected air time in the driver, in microseconds.
    pending: u64,
    /// Packets of this category in the driver, with a discipline above.
    frames: usize,
    len: usize,
    is_aggregated: bool,
}

impl RadioCategory {
    /// The first packet of the station that the card chooses.
    fn choose(&mut self) -> Option<Handed> {
        self.card.begin();
        while let Some(station) = self.card.next(|_, _| true) {
            if let Some(first) = self.driver.next_for(station) {
                return Some(first);
            }
        }
        None
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct WifiRadio {
    params: Params,
    fq: Fq,
    slow_codel: codel::Params,
    key: u64,
    /// Whose packets a line holds, while it is listed: category and station.
    owners: Vec<(usize, usize)>,
    categories: Vec<RadioCategory>,
    /// Expected air time in the driver, in microseconds.
    pending: u64,
    limits: AqlLimits,
    rates: Vec<BitRate>,
    rate: BitRate,
    peers: Vec<WifiPeer>,
    /// When the weights of groups are divided next.
    divide_at: Time,
    /// Where packets go that wait in a discipline above the driver, by number.
    receivers: Vec<u32>,
}

impl WifiRadio {
    pub fn new(params: &Params, site: &Site<'_>, count: usize, peers: &[WifiPeer]) -> Self {
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
        let slow_codel = codel::Params {
            target: Duration::from_millis(50),
            interval: Duration::from_millis(300),
            ecn: false,
            ..codel.clone()
        };
        let rate = site.rate.unwrap_or(BitRate::from_mbps(1));
        let joins = if params.sparse_stations == SparseStations::First { Joins::Head } else { Joins::Tail };
        let quantum = micros(params.airtime_quantum) as i64;
        let is_fair = params.airtime_fairness && params.upper == UpperQueue::Mac80211;
        let category = |number| RadioCategory {
            txqs: vec![],
            rounds: AirtimeRounds::new(quantum, joins, is_fair),
            card: AirtimeRounds::new(quantum, joins, is_fair),
            driver: DriverQueue::new(params.driver == WifiDriver::Aggregates),
            upper: upper(params, site, number),
            pending: 0,
            frames: 0,
            len: 0,
            is_aggregated: number > 0 || count == 1,
        };
        let mut radio = Self {
            fq: Fq::new(site.limit, params.flow_quantum.0 as i64, &codel, FqPlace::WifiStack)
                .with_memory(params.memory),
            slow_codel,
            key: site.stream().bits(),
            owners: vec![],
            categories: (0..count).map(category).collect(),
            pending: 0,
            limits: AqlLimits::new(params.aql_low, params.aql_high, params.aql_threshold),
            rates: vec![],
            rate,
            peers: vec![],
            divide_at: Time::NEVER,
            receivers: vec![],
            params: params.clone(),
        };
        radio.meet(peers);
        radio
    }

    /// Sets rates and weights of stations by number.
    fn meet(&mut self, peers: &[WifiPeer]) {
        let rates = peers.iter().map(|peer| peer.rate.unwrap_or(self.rate));
        self.rates = std::iter::once(self.rate).chain(rates).collect();
        self.peers = peers.to_vec();
        if peers.iter().any(|peer| peer.group.is_some()) {
            self.divide_at = Time::ZERO;
        }
        for (peer, number) in peers.iter().zip(1..) {
            let quantum = micros(self.params.airtime_quantum) * u64::from(peer.weight) / 256;
            for category in &mut self.categories {
                for rounds in [&mut category.rounds, &mut category.card] {
                    rounds.station(number).start(quantum.max(LEAST_QUANTUM) as i64);
                }
            }
        }
    }

    /// Divides the weights of groups among their stations that are active in a category, as hostapd does among those of
    /// a BSS (`airtime_mode=2`).
    fn divide(&mut self, now: Time) {
        self.divide_at = now + DIVIDED_EVERY;
        let quantum = micros(self.params.airtime_quantum);
        for category in &mut self.categories {
            let rounds = &mut category.rounds;
            let active: Vec<bool> = (1..=self.peers.len()).map(|number| rounds.station(number).counts(now)).collect();
            for (peer, number) in self.peers.iter().zip(1..).filter(|(peer, _)| peer.group.is_some()) {
                let same =
                    self.peers.iter().zip(&active).filter(|(other, active)| **active && other.group == peer.group);
                let share = quantum * u64::from(peer.weight) / 256 / (same.count() as u64).max(1);
                rounds.station(number).set_quantum(share.max(LEAST_QUANTUM) as i64);
                category.card.station(number).set_quantum(share.max(LEAST_QUANTUM) as i64);
            }
        }
    }

    pub fn enqueue(
        &mut self,
        now: Time,
        category: usize,
        id: PacketId,
        to: u32,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) {
        if now >= self.divide_at {
            self.divide(now);
        }
        let station = station_key(to);
        if self.categories[category].upper.is_some() {
            *entry(&mut self.receivers, id.index()) = to;
            self.enqueue_above(now, category, id, packets, dropped);
        } else {
            self.enqueue_flow(now, category, id, station, packets, dropped);
            self.join(now, category, station);
        }
        self.schedule(now, category, packets, dropped);
    }

    /// Adds a packet to the line of its flow.
    fn enqueue_flow(
        &mut self,
        now: Time,
        category: usize,
        id: PacketId,
        station: usize,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) {
        let lines = u64::from(self.params.lines);
        let mut line = hashed(flow_key(&packets[id]), self.key, lines);
        if self.fq.is_listed(line) && self.owners[line] != (category, station) {
            line = lines as usize + station * self.categories.len() + category;
        }
        *entry(&mut self.owners, line) = (category, station);
        let own = &mut self.categories[category];
        let txq = entry(&mut own.txqs, station);
        if !self.fq.add(now, id, line, &mut txq.lines, packets, dropped) {
            return;
        }
        txq.waiting += 1;
        own.len += 1;
        if self.params.ack_filter != AckFilter::Off {
            let ids = self.fq.line(line);
            if let Some(place) = self.params.ack_filter.superfluous(ids.map(|id| &packets[id]))
                && let Some(gone) = self.fq.remove(line, place)
            {
                dropped.push((gone, Cause::Early));
                txq.waiting -= 1;
                own.len -= 1;
            }
        }
        while self.fq.overflows() {
            let (category, station) = self.owners[self.fq.relieve(dropped)];
            self.categories[category].txqs[station].waiting -= 1;
            self.categories[category].len -= 1;
        }
    }

    /// Adds a packet to the discipline above the driver, and gives the driver what it has room for.
    fn enqueue_above(
        &mut self,
        now: Time,
        category: usize,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) {
        let own = &mut self.categories[category];
        let upper = own.upper.as_mut().expect("a discipline is above the driver");
        let before = upper.len();
        upper.enqueue(now, id, self.receivers[id.index()], packets, dropped);
        own.len = own.len + upper.len() - before;
        self.fill(now, category, packets, dropped);
    }

    /// Moves packets from the discipline above into the driver's queues.
    fn fill(&mut self, now: Time, category: usize, packets: &mut Packets, dropped: &mut Dropped) {
        while self.categories[category].frames < self.params.driver_frames as usize {
            let own = &mut self.categories[category];
            let Some(upper) = &mut own.upper else { return };
            let before = upper.len();
            let next = upper.dequeue(now, packets, dropped);
            own.len = own.len + upper.len() + usize::from(next.is_some()) - before;
            let Some(id) = next else { return };
            let station = station_key(self.receivers[id.index()]);
            let handed = self.handed(category, station, id, packets[id].size);
            let own = &mut self.categories[category];
            own.frames += 1;
            let txq = entry(&mut own.txqs, station);
            txq.in_driver.push_back(handed);
            txq.waiting += 1;
            self.join(now, category, station);
        }
    }

    fn handed(&self, category: usize, station: usize, id: PacketId, size: u16) -> Handed {
        let rate = self.rates.get(station).copied().unwrap_or(self.rate);
        Handed { id, air: expected_air(rate, size, self.categories[category].is_aggregated) }
    }

    fn join(&mut self, now: Time, category: usize, station: usize) {
        let own = &mut self.categories[category];
        let has_packets = own.txqs.get(station).is_some_and(|txq| txq.waiting > 0);
        own.rounds.join(now, station, has_packets);
    }

    /// Lets the driver take what it may.
    fn schedule(&mut self, now: Time, category: usize, packets: &mut Packets, dropped: &mut Dropped) {
        match self.params.driver {
            WifiDriver::Aql => while self.pull_by_aql(now, category, packets, dropped) > 0 {},
            WifiDriver::Aggregates => {
                let most = self.params.driver_aggregates as usize;
                while self.categories[category].driver.batches() < most
                    && self.pull_aggregate(now, category, packets, dropped)
                {}
            }
        }
    }

    /// One round in which each station is served until it has what it may have in the driver.
    fn pull_by_aql(&mut self, now: Time, category: usize, packets: &mut Packets, dropped: &mut Dropped) -> usize {
        let mut pulled = 0;
        let own = &mut self.categories[category];
        if !self.limits.allow_round(own.rounds.len(), own.pending) {
            return 0;
        }
        own.rounds.begin();
        loop {
            let (limits, all) = (self.limits, self.pending);
            let allows = |_, station: &RoundState| limits.allow(station.pending as u64, all);
            let Some(station) = self.categories[category].rounds.next(allows) else { return pulled };
            while station == 0 || self.limits.allow(self.pending_of(category, station), self.pending) {
                let Some(handed) = self.pull(now, category, station, packets, dropped) else { break };
                let own = &mut self.categories[category];
                own.driver.push(station, handed);
                own.card.join(now, station, true);
                self.add_pending(category, station, handed.air as i64);
                pulled += 1;
            }
            self.join(now, category, station);
        }
    }

    /// Has the next station fill an aggregate; returns whether there is one more now.
    fn pull_aggregate(&mut self, now: Time, category: usize, packets: &mut Packets, dropped: &mut Dropped) -> bool {
        self.categories[category].rounds.begin();
        while let Some(station) = self.categories[category].rounds.next(|_, _| true) {
            let (mut batch, mut air) = (VecDeque::new(), 0);
            let mut last = 0; // the next packet is taken to be as long
            while batch.len() < self.params.aggregate_packets as usize
                && air + last <= micros(self.params.aggregate_time)
                && (station > 0 || batch.is_empty())
            {
                let Some(handed) = self.pull(now, category, station, packets, dropped) else { break };
                last = handed.air;
                air += last;
                batch.push_back(handed);
            }
            let is_empty = batch.is_empty();
            self.categories[category].driver.push_batch(DriverBatch { station, packets: batch });
            self.join(now, category, station);
            if !is_empty {
                return true;
            }
        }
        false
    }

    fn pending_of(&self, category: usize, station: usize) -> u64 {
        self.categories[category].rounds.stations[station].pending as u64
    }

    fn add_pending(&mut self, category: usize, station: usize, air: i64) {
        if station > 0 {
            let own = &mut self.categories[category];
            own.rounds.station(station).pending += air;
            own.pending = own.pending.checked_add_signed(air).expect("no more leaves than has come");
            self.pending = self.pending.checked_add_signed(air).expect("no more leaves than has come");
        }
    }

    /// Takes the next packet of a station from its lines, or from its queue in the driver.
    fn pull(
        &mut self,
        now: Time,
        category: usize,
        station: usize,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Option<Handed> {
        let is_slow = self.params.slow_stations
            && self.rates.get(station).is_some_and(|rate| rate.as_bps() < SLOW_BPS * self.peers.len() as u64);
        let own = &mut self.categories[category];
        let txq = own.txqs.get_mut(station)?;
        if own.upper.is_some() {
            let next = txq.in_driver.pop_front()?;
            txq.waiting -= 1;
            return Some(next);
        }
        let before = dropped.len();
        let codel = is_slow.then_some(&self.slow_codel);
        let id = self.fq.dequeue_by(now, codel, &mut txq.lines, packets, dropped);
        let gone = dropped.len() - before;
        txq.waiting -= gone + usize::from(id.is_some());
        own.len -= gone;
        id.map(|id| self.handed(category, station, id, packets[id].size))
    }

    pub fn dequeue(
        &mut self,
        now: Time,
        category: usize,
        packets: &mut Packets,
        dropped: &mut Dropped,
    ) -> Option<PacketId> {
        let own = &mut self.categories[category];
        let (mut done, has_upper) = (vec![], own.upper.is_some());
        own.driver.complete(|station, air, packets| done.push((station, air, packets)));
        let has_aql = self.params.driver == WifiDriver::Aql;
        for (station, air, packets) in done {
            if has_aql {
                let own = &mut self.categories[category];
                own.card.join(now, station, own.driver.has(station));
                self.add_pending(category, station, -(air as i64));
            }
            self.categories[category].frames -= if has_upper { packets } else { 0 };
        }
        if has_upper {
            self.fill(now, category, packets, dropped);
        }
        self.schedule(now, category, packets, dropped);
        let own = &mut self.categories[category];
        let first = if has_aql { own.choose()? } else { own.driver.first()? };
        own.len -= 1;
        self.schedule(now, category, packets, dropped);
        Some(first.id)
    }

    pub fn dequeue_for(&mut self, category: usize, to: u32) -> Option<PacketId> {
        let own = &mut self.categories[category];
        let next = own.driver.next_for(station_key(to))?;
        own.len -= 1;
        Some(next.id)
    }

    pub fn on_air(&mut self, now: Time, category: usize, used: &AirUse) {
        let number = station_key(used.peer);
        if let (true, Some(rate)) = (used.sent, used.rate) {
            let usual = self.rate;
            if self.rates.len() <= number {
                self.rates.resize(number + 1, usual);
            }
            self.rates[number] = rate;
        }
        if number > 0 && (used.sent || self.params.count_received) {
            let own = &mut self.categories[category];
            for rounds in [&mut own.rounds, &mut own.card] {
                rounds.station(number).charge(now, micros(used.air) as i64);
            }
        }
    }

    pub fn len(&self, category: usize) -> usize {
        self.categories[category].len
    }

    pub fn is_full(&self, category: usize) -> bool {
        let own = &self.categories[category];
        own.upper.as_ref().map_or_else(|| self.fq.is_full(), Discipline::is_full)
    }

    /// Packets marked; those of mac80211's lines count for the first category.
    pub fn marks(&self, category: usize) -> u64 {
        let of_lines = if category == 0 { self.fq.marks() } else { 0 };
        of_lines + self.categories[category].upper.as_ref().map_or(0, Discipline::marks)
    }

    pub fn stations_in_turn(&self, category: usize) -> usize {
        self.categories[category].rounds.len()
    }

    /// Expected air time in the driver.
    pub const fn pending_s(&self) -> f64 {
        self.pending as f64 / 1e6
    }
}

/// The discipline above the driver.
fn upper(params: &Params, site: &Site<'_>, category: usize) -> Option<Queue> {
    let name = format!("{}-above-{category}", site.name);
    let chosen = match params.upper {
        UpperQueue::Mac80211 => return None,
        UpperQueue::Pfifo => Chosen::named("fifo"),
        UpperQueue::FqCodel => Chosen::named("fq-codel"),
    };
    Some(Queue::build(&chosen.expect("a discipline of the list"), &Site { name: &name, ..*site }))
}
