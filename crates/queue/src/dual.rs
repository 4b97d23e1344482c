//! Dual queue: data and ACKs wait in two lines, and each departure picks one of the two at random.
//!
//! Source: J. Ha and C.-H. Choi, "TCP Fairness for Uplink and Downlink Flows in WLANs", GLOBECOM 2006, and J. Ha,
//! E.-C. Park, K.-J. Park and C.-H. Choi, "A Cross-layer Dual Queue Approach for Improving TCP Fairness in
//! Infrastructure WLANs", 2009, known here from their abstracts: the data of downloads and the ACKs of uploads have a
//! line each, and lines are chosen with probabilities that make flows equal. jung2016 cites a later version (S. Priya
//! and K. Murugan, 2015).
//!
//! Our reading: let n_d downloads and n_u uploads be among the flows seen within `period`, with b data packets per ACK.
//! Then all flows carry the same if data is served with probability
//!
//! ```text
//! p = n_d / (n_d + n_u / b)
//! ```
//!
//! or with a given `data_share`. If the chosen line is empty, the other one is served. Each line gets half of the
//! limit, but at least one packet, so a limit of one packet holds two. Packets that are not TCP ACKs wait with the
//! data.

use wifair_config::{Limit, table};
use wifair_engine::Stream;
use wifair_packet::{Kind, PacketId, Packets, entry};
use wifair_units::{Bytes, Duration, Time};

use super::bounded::BoundedLine;
use super::room::Room;
use super::{Discipline, Dropped, Site};

table! {
    /// Dual queue.
    pub struct Params {
        /// Probability of serving data; if absent, it follows from the number of flows.
        pub data_share: Option<f64> = None, "between 0 and 1" => |share| share.is_none_or(|p| (0.0..=1.0).contains(&p));
        /// Data packets per ACK: 2 with delayed ACKs.
        pub data_per_ack: f64 = 1.0, "above 0" => |ratio| *ratio > 0.0 && ratio.is_finite();
        /// A flow counts as inactive after this time without packets.
        pub period: Duration = Duration::from_secs(5), "above 0 s" => |period| *period > Duration::ZERO;
    }
}

#[derive(Clone, Debug)]
struct DualLine {
    packets: BoundedLine<()>,
    /// When a packet of each flow last arrived, by flow number.
    seen: Vec<Option<Time>>,
    flows: u32,
}

impl DualLine {
    const fn new(limit: Limit, mark_above: Option<Limit>) -> Self {
        Self { packets: BoundedLine::new(Room::new(limit, mark_above)), seen: vec![], flows: 0 }
    }

    fn see(&mut self, now: Time, flow: u32) {
        self.flows += u32::from(entry(&mut self.seen, flow as usize).replace(now).is_none());
    }

    fn forget(&mut self, now: Time, period: Duration) {
        for seen in &mut self.seen {
            if seen.is_some_and(|time| now.saturating_since(time) >= period) {
                *seen = None;
                self.flows -= 1;
            }
        }
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Dual {
    data: DualLine,
    acks: DualLine,
    params: Params,
    draws: Stream,
    /// The next time at which silent flows are removed.
    forget_at: Time,
}

impl Dual {
    /// An empty queue.
    pub fn new(params: &Params, site: &Site<'_>) -> Self {
        let (data, acks) = match site.limit {
            Limit::Packets(limit) => (Limit::Packets(limit.div_ceil(2)), Limit::Packets((limit / 2).max(1))),
            Limit::Bytes(limit) => (Limit::Bytes(Bytes(limit.0.div_ceil(2))), Limit::Bytes(Bytes(limit.0 / 2))),
        };
        Self {
            data: DualLine::new(data, site.mark_above),
            acks: DualLine::new(acks, site.mark_above),
            params: params.clone(),
            draws: site.stream(),
            forget_at: Time::ZERO + params.period,
        }
    }

    fn data_share(&self) -> f64 {
        self.params.data_share.unwrap_or_else(|| {
            let down = f64::from(self.data.flows);
            let up = f64::from(self.acks.flows) / self.params.data_per_ack;
            if down + up > 0.0 { down / (down + up) } else { 0.5 }
        })
    }
}

impl Discipline for Dual {
    fn enqueue(&mut self, now: Time, id: PacketId, _to: u32, packets: &mut Packets, dropped: &mut Dropped) {
        if now >= self.forget_at {
            self.data.forget(now, self.params.period);
            self.acks.forget(now, self.params.period);
            self.forget_at = now + self.params.period / 8;
        }
        let packet = &packets[id];
        let line = if packet.kind == Kind::Ack { &mut self.acks } else { &mut self.data };
        if packet.kind != Kind::Routing {
            line.see(now, packet.flow);
        }
        line.packets.put(id, (), false, packets, dropped);
    }

    fn dequeue(&mut self, _now: Time, packets: &mut Packets, _dropped: &mut Dropped) -> Option<PacketId> {
        // Draw only if there is a choice.
        let serves_acks =
            !self.acks.packets.is_empty() && (self.data.packets.is_empty() || !self.draws.chance(self.data_share()));
        let line = if serves_acks { &mut self.acks } else { &mut self.data };
        line.packets.take(packets).map(|(id, ())| id)
    }

    fn len(&self) -> usize {
        self.data.packets.len() + self.acks.packets.len()
    }

    fn is_full(&self) -> bool {
        self.data.packets.is_full() || self.acks.packets.is_full()
    }

    fn marks(&self) -> u64 {
        self.data.packets.marks() + self.acks.packets.marks()
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("data_share", self.data_share());
        see("data_packets", self.data.packets.len() as f64);
        see("ack_packets", self.acks.packets.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use wifair_packet::Packet;

    use super::super::testing::QueueBench;
    use super::*;

    fn packet(flow: u32, kind: Kind) -> Packet {
        Packet { flow, kind, size: 40, ..Packet::default() }
    }

    /// Three downloads and one upload, neither line ever empty: data is served with probability 3/4; with two data
    /// packets per ACK it is 3 / (3 + 1/2) = 6/7.
    #[test]
    fn the_share_of_data_follows_the_number_of_flows() {
        for (data_per_ack, expected) in [(1.0, 0.75), (2.0, 6.0 / 7.0)] {
            let params = Params { data_per_ack, ..Params::default() };
            let mut bench = QueueBench::new(Dual::new(&params, &QueueBench::<Dual>::SITE));
            bench.put_all([0, 1, 2].map(|flow| packet(flow, Kind::Data)));
            bench.put_all([packet(3, Kind::Ack); 3]);
            let (n, mut data) = (100_000, 0);
            for _ in 0..n {
                let sent = bench.get().expect("both lines are full");
                data += u32::from(sent.kind == Kind::Data);
                bench.put(sent);
            }
            let (share, n) = (f64::from(data) / f64::from(n), f64::from(n));
            assert!((share - expected).abs() < 4.0 * (expected * (1.0 - expected) / n).sqrt(), "{share}");
        }
    }

    #[test]
    fn each_line_has_its_own_half() {
        let mut bench = QueueBench::new(Dual::new(
            &Params::default(),
            &Site { limit: Limit::Packets(5), ..QueueBench::<Dual>::SITE },
        ));
        bench.put_all([packet(0, Kind::Data); 4]);
        bench.put_all([packet(1, Kind::Ack); 4]);
        assert_eq!(bench.lost.iter().map(|p| p.kind).collect::<Vec<_>>(), [Kind::Data, Kind::Ack, Kind::Ack]);
    }

    /// Download seen at 0 s, upload at 0 and 4 s: at 5 s only the upload counts.
    #[test]
    fn silent_flows_do_not_count() {
        let mut bench = QueueBench::new(Dual::new(&Params::default(), &QueueBench::<Dual>::SITE));
        bench.put_all([packet(0, Kind::Data), packet(1, Kind::Ack)]);
        assert!((bench.queue.data_share() - 0.5).abs() < 1e-12);
        bench.wait(Duration::from_secs(4));
        bench.put(packet(1, Kind::Ack));
        bench.wait(Duration::from_secs(1));
        bench.put(packet(1, Kind::Ack));
        assert!(bench.queue.data_share().abs() < 1e-12);
    }

    /// Half of 3000 B is a packet of 1500 B for each line; of 3001 B the odd byte is the data's.
    #[test]
    fn bytes_are_halved_too() {
        for (limit, data, acks) in [(3000, 1500, 1500), (3001, 1501, 1500)] {
            for (kind, fits) in [(Kind::Data, data), (Kind::Ack, acks)] {
                for (size, lost) in [(fits, 0), (fits + 1, 1)] {
                    let site = Site { limit: Limit::Bytes(Bytes(limit)), ..QueueBench::<Dual>::SITE };
                    let mut bench = QueueBench::new(Dual::new(&Params::default(), &site));
                    bench.put(Packet { kind, size, ..Packet::default() });
                    assert_eq!(bench.lost.len(), lost, "{kind:?} of {size} B in {limit} B");
                }
            }
        }
    }

    /// After the first `period` of 5 s the queue looks for silent flows every eighth of it, 625 ms: after 9.9 s next
    /// from 10.525 s on, and then a download last seen at 5 s is forgotten.
    #[test]
    fn silent_flows_are_looked_for_again_and_again() {
        let mut bench = QueueBench::new(Dual::new(&Params::default(), &QueueBench::<Dual>::SITE));
        bench.wait(Duration::from_secs(5));
        bench.put_all([packet(0, Kind::Data), packet(1, Kind::Ack)]);
        for (step, share) in [(4900, 0.5), (100, 0.5), (524, 0.5), (1, 0.0)] {
            bench.wait(Duration::from_millis(step));
            bench.put(packet(1, Kind::Ack));
            assert_eq!(bench.queue.data_share(), share, "{:?}", bench.now);
        }
    }

    /// Room for two packets in each line: either line makes the queue full.
    #[test]
    fn a_queue_is_full_where_one_line_is() {
        for kind in [Kind::Data, Kind::Ack] {
            let site = Site { limit: Limit::Packets(4), ..QueueBench::<Dual>::SITE };
            let mut bench = QueueBench::new(Dual::new(&Params::default(), &site));
            let mut seen = vec![bench.queue.is_full()];
            for _ in 0..2 {
                bench.put(packet(0, kind));
                seen.push(bench.queue.is_full());
            }
            assert_eq!(seen, [false, false, true], "{kind:?}");
        }
    }
}
