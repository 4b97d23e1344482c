//! Uplink drop by the downlink buffer: the fuller the access point's queue, the more uplink data it drops.
//!
//! Source: Y. Hirano and T. Murase, "Uplink TCP traffic control with monitoring downlink buffer for throughput fairness
//! over wireless LANs", PIMRC 2009, known here from its abstract: the access point drops uplink packets with a
//! probability that depends on the occupancy of its downlink buffer, so that the ACKs of uploads do not fill it. The
//! scheme needs neither packet inspection nor changes to stations.
//!
//! Our readings: the probability rises linearly from 0 at `low` times the limit to `max_p` at `high` times the limit
//! and stays there. Only TCP data is dropped, as the paper speaks of uplink data; a limit in bytes counts as one packet
//! per 1500 B.

use wifair_config::{Limit, table};
use wifair_engine::Stream;
use wifair_packet::{Kind, Packet};

use super::{Facts, PacketVerdict, Passage, Request, Scheme, Toward};

table! {
    /// Uplink drop by the downlink buffer.
    pub struct Params {
        /// Where dropping begins, as a fraction of the limit.
        pub low: f64 = 0.5, "between 0 and 1" => |low| (0.0..=1.0).contains(low);
        /// Where the probability is greatest, as a fraction of the limit.
        pub high: f64 = 1.0, "above low" => |high| *high > low && high.is_finite();
        /// The greatest probability.
        pub max_p: f64 = 0.1, "between 0 and 1" => |p| (0.0..=1.0).contains(p);
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct BufferDrop {
    params: Params,
    limit: f64,
    draws: Stream,
    probability: f64,
    dropped: u64,
}

impl BufferDrop {
    /// The scheme of one access point.
    pub fn new(params: &Params, facts: &Facts<'_>) -> Self {
        let limit = match facts.limit {
            Limit::Packets(packets) => packets as f64,
            Limit::Bytes(bytes) => bytes.0 as f64 / 1500.0,
        };
        let draws = wifair_engine::stream(facts.seed, "uplink-drop", facts.name);
        Self { params: params.clone(), limit, draws, probability: 0.0, dropped: 0 }
    }
}

impl Scheme for BufferDrop {
    fn pass(&mut self, at: &Passage, packet: &mut Packet, _requests: &mut Vec<Request>) -> PacketVerdict {
        if at.toward == Toward::Air || packet.kind != Kind::Data || packet.payload == 0 {
            return PacketVerdict::Forward;
        }
        let Params { low, high, max_p } = self.params;
        let occupancy = at.queued as f64 / self.limit;
        self.probability = (max_p * (occupancy - low) / (high - low)).clamp(0.0, max_p);
        if self.draws.chance(self.probability) {
            self.dropped += 1;
            return PacketVerdict::Drop;
        }
        PacketVerdict::Forward
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("probability", self.probability);
        see("dropped_packets", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::SchemeBench;
    use super::*;

    /// With a limit of 100 packets: probability 0 at 50, 0.02 at 60, 0.1 from 100 on.
    #[test]
    fn the_probability_follows_the_occupancy() {
        let mut bench = SchemeBench::new(|facts| BufferDrop::new(&Params::default(), facts));
        for (queued, expected) in [(0, 0.0), (50, 0.0), (60, 0.02), (100, 0.1), (150, 0.1)] {
            bench.queued = queued;
            let n = 50_000;
            let packet = Packet { payload: 1000, size: 1040, ..Packet::default() };
            let drops = (0..n).filter(|_| bench.pass(Toward::Wired, 1, packet).0 == PacketVerdict::Drop).count();
            assert!((bench.shown("probability") - expected).abs() < 1e-12, "{queued}");
            let (share, n) = (drops as f64 / f64::from(n), f64::from(n));
            assert!((share - expected).abs() <= 4.0 * (expected * (1.0 - expected) / n).sqrt(), "{queued}: {share}");
        }
    }

    #[test]
    fn only_uplink_data_is_dropped() {
        let params = Params { low: 0.0, max_p: 1.0, ..Params::default() };
        let mut bench = SchemeBench::new(|facts| BufferDrop::new(&params, facts));
        bench.queued = 100;
        let data = Packet { payload: 1000, size: 1040, ..Packet::default() };
        assert_eq!(bench.pass(Toward::Wired, 1, data).0, PacketVerdict::Drop);
        assert_eq!(bench.pass(Toward::Air, 1, data).0, PacketVerdict::Forward);
        assert_eq!(bench.pass(Toward::Wired, 1, Packet { payload: 0, ..data }).0, PacketVerdict::Forward);
        assert_eq!(bench.pass(Toward::Wired, 1, Packet { kind: Kind::Ack, ..data }).0, PacketVerdict::Forward);
    }
}
