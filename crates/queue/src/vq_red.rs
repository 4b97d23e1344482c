//! VQ-RED: one queue, with random early detection on a virtual queue for each station.
//!
//! Source, an outline only: X. Lin, X. Chang and J. Muppala, "VQ-RED: An Efficient Virtual Queue Management Approach to
//! Improve Fairness in Infrastructure WLAN", LCN 2005. Paper lee2007 describes it as early dropping at the access
//! point, with a virtual queue for each station.
//!
//! Our reading: packets wait in one FIFO. The virtual queue of a station is the number of its packets there. RED marks
//! or drops an arrival by the mean of its station's virtual queue, between `min_share` and `max_share` of an equal part
//! of the limit (limit / n, where n stations have packets inside). Above `max_share` every arrival is dropped.

use wifair_config::{Limit, table};
use wifair_engine::Stream;
use wifair_packet::{PacketId, Packets};
use wifair_units::{BitRate, Bytes, Time};

use super::bounded::BoundedLine;
use super::red::{self, Detector, put_or_mark};
use super::room::Room;
use super::{Discipline, Dropped, Site, station_key};

table! {
    /// RED on virtual queues.
    pub struct Params {
        /// Where dropping begins, as a fraction of an equal share of the limit.
        pub min_share: f64 = 0.25, "between 0 and 1" => |share| (0.0..=1.0).contains(share);
        /// Where everything is dropped, as a fraction of an equal share of the limit.
        pub max_share: f64 = 1.0, "above min_share" => |share| *share > min_share && share.is_finite();
        /// Weight of the current virtual queue in the mean.
        pub weight: f64 = 0.02, "above 0 and at most 1" => |weight| *weight > 0.0 && *weight <= 1.0;
        /// Drop probability where the mean reaches `max_share`.
        pub max_p: f64 = 0.1, "above 0 and at most 1" => |p| *p > 0.0 && *p <= 1.0;
        /// Whether ECN-capable packets are marked instead of dropped.
        pub ecn: bool = true;
    }
}

#[derive(Clone, Debug)]
struct Virtual {
    detector: Detector,
    packets: u64,
    bytes: u64,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct VqRed {
    /// Waiting packets with the stations to which they go.
    line: BoundedLine<usize>,
    limit: Limit,
    params: Params,
    rate: Option<BitRate>,
    draws: Stream,
    stations: Vec<Virtual>,
    /// Stations that have packets inside.
    busy: u32,
}

impl VqRed {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        Self {
            line: BoundedLine::new(Room::new(site.limit, None)),
            limit: site.limit,
            params: params.clone(),
            rate: site.rate,
            draws: site.stream(),
            stations: vec![],
            busy: 0,
        }
    }

    fn detector(&self) -> Detector {
        // The thresholds are set at each arrival; only their unit matters here.
        let unit = |n: u64| match self.limit {
            Limit::Packets(_) => Limit::Packets(n),
            Limit::Bytes(_) => Limit::Bytes(Bytes(n)),
        };
        let params = red::Params {
            min_threshold: unit(1),
            max_threshold: unit(2),
            weight: self.params.weight,
            max_p: self.params.max_p,
            ..red::Params::default()
        };
        Detector::new(&params, self.rate)
    }
}

impl Discipline for VqRed {
    fn enqueue(&mut self, now: Time, id: PacketId, to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        let to = station_key(to);
        while self.stations.len() <= to {
            let detector = self.detector();
            self.stations.push(Virtual { detector, packets: 0, bytes: 0 });
        }
        let size = packets[id].bytes().0;
        let station = &mut self.stations[to];
        let sharers = self.busy + u32::from(station.packets == 0);
        let share = match self.limit {
            Limit::Packets(limit) => limit as f64,
            Limit::Bytes(limit) => limit.0 as f64,
        } / f64::from(sharers);
        station.detector.set_thresholds(self.params.min_share * share, self.params.max_share * share);
        let chosen = station.detector.on_arrival(now, station.packets, station.bytes, size, &mut self.draws);
        if put_or_mark(&mut self.line, (id, to), chosen, self.params.ecn, packets, dropped) {
            self.busy = sharers;
            station.packets += 1;
            station.bytes += size;
        } else if station.packets == 0 {
            station.detector.empty(now);
        }
    }

    fn dequeue(&mut self, now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        let (id, to) = self.line.take(packets)?;
        let station = &mut self.stations[to];
        station.packets -= 1;
        station.bytes -= packets[id].bytes().0;
        if station.packets == 0 {
            station.detector.empty(now);
            self.busy -= 1;
        }
        Some(id)
    }

    counted_by!(line);

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("stations", f64::from(self.busy));
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::Packet;

    use super::super::testing::QueueBench;
    use super::*;

    /// Mean = present queue (w = 1), room for 20. Station 1 alone may use all 20 (max_share 1), and up to 18 of them
    /// nothing is dropped (min_share 0.9). With station 2 inside, a share is 10: station 1, which holds 12, gets no
    /// further packet in, but station 2 does.
    #[test]
    fn a_station_above_its_share_is_dropped() {
        let params = Params { weight: 1.0, min_share: 0.9, max_p: 1.0, ..Params::default() };
        let mut bench =
            QueueBench::new(VqRed::new(&params, &Site { limit: Limit::Packets(20), ..QueueBench::<VqRed>::SITE }));
        let packet = Packet { size: 1000, ..Packet::default() };
        for _ in 0..12 {
            bench.put_to(packet, 1);
        }
        assert!(bench.lost.is_empty());
        bench.put_to(packet, 2);
        bench.put_to(packet, 1);
        bench.put_to(packet, 2);
        assert_eq!((bench.lost.len(), bench.queue.stations[2].packets, bench.queue.stations[3].packets), (1, 12, 2));
    }

    /// The virtual queues count what is inside, and empty ones do not share: two packets of 1000 B and one of 400 B for
    /// station 1, one for station 2.
    #[test]
    fn departures_leave_the_virtual_queues() {
        let params = Params { min_share: 0.9, ..Params::default() };
        let mut bench = QueueBench::new(VqRed::new(&params, &QueueBench::<VqRed>::SITE));
        for (to, size) in [(1, 1000), (2, 400), (1, 1000), (1, 400)] {
            bench.put_to(Packet { size, ..Packet::default() }, to);
        }
        let mut seen = vec![];
        for _ in 0..4 {
            bench.get();
            let [one, two] = [2, 3].map(|station| &bench.queue.stations[station]);
            seen.push((bench.queue.busy, one.packets, one.bytes, two.packets, two.bytes));
        }
        assert_eq!(seen, [(2, 2, 1400, 1, 400), (1, 2, 1400, 0, 0), (1, 1, 400, 0, 0), (0, 0, 0, 0, 0)]);
    }
}
