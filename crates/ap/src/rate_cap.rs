//! Rate cap: a token bucket for each client.
//!
//! Source: V. Kemerlis, E. Stefanis, G. Xylomenos and G. Polyzos, "Throughput Unfairness in TCP over WiFi", WONS
//! 2006. Its section on policies suggests, but does not test, that the access point limit each client to the downlink
//! rate that it would have if all clients had equally good reception, for instance with Linux traffic control.
//!
//! Our readings: packets beyond the rate are dropped, not delayed. The default rate is half of what a single client
//! near the access point got in that paper, 647,822 B/s.

use wifair_config::{choice, table};
use wifair_packet::{Packet, entry};
use wifair_units::{BitRate, Bytes};

use super::bucket::TokenBucket;
use super::{Facts, PacketVerdict, Passage, Request, Scheme, Toward};

choice! {
    /// Which packets of a client count.
    pub enum CappedDirection {
        /// Packets to it.
        Down = "down",
        /// Packets from it.
        Up = "up",
        /// Both, in one token bucket.
        Both = "both",
    }
}

table! {
    /// Rate cap for each client.
    pub struct Params {
        /// Rate allowed to each client.
        pub rate: BitRate = BitRate::from_bps(647_822 / 2 * 8), "above 0 b/s" => |rate| rate.as_bps() > 0;
        /// Depth of the token bucket: how many bytes may pass at once.
        pub depth: Bytes = Bytes(15_000), "at least 1500 B" => |depth| depth.0 >= 1500;
        /// Which packets of a client count.
        pub path: CappedDirection = CappedDirection::Down;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct RateCap {
    params: Params,
    clients: Vec<Option<TokenBucket>>,
    dropped: u64,
}

impl RateCap {
    /// The scheme of one access point.
    pub fn new(params: &Params, _facts: &Facts<'_>) -> Self {
        Self { params: params.clone(), clients: vec![], dropped: 0 }
    }
}

impl Scheme for RateCap {
    fn pass(&mut self, at: &Passage, packet: &mut Packet, _requests: &mut Vec<Request>) -> PacketVerdict {
        let counts = match self.params.path {
            CappedDirection::Down => at.toward == Toward::Air,
            CappedDirection::Up => at.toward == Toward::Wired,
            CappedDirection::Both => true,
        };
        if !counts {
            return PacketVerdict::Forward;
        }
        let depth = self.params.depth.0;
        let bucket =
            entry(&mut self.clients, at.station as usize).get_or_insert_with(|| TokenBucket::full(at.now, depth));
        if bucket.take(at.now, packet.bytes().0, self.params.rate, depth) {
            PacketVerdict::Forward
        } else {
            self.dropped += 1;
            PacketVerdict::Drop
        }
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("dropped_packets", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests {
    use wifair_units::Duration;

    use super::super::testing::SchemeBench;
    use super::*;

    /// 1.2 Mb/s is one packet of 1500 B every 10 ms. Client 1 is offered twice that load, client 2 half of it, for 10
    /// s.
    #[test]
    fn each_client_has_its_own_bucket() {
        let params = Params { rate: BitRate::from_kbps(1_200), depth: Bytes(1500), ..Params::default() };
        let mut bench = SchemeBench::new(|facts| RateCap::new(&params, facts));
        let packet = Packet { size: 1500, ..Packet::default() };
        let mut passed = [0; 3];
        for n in 0..2000 {
            for (client, due) in [(1, true), (2, n % 4 == 0)] {
                if due && bench.pass(Toward::Air, client, packet).0 == PacketVerdict::Forward {
                    passed[client as usize] += 1;
                }
            }
            assert_eq!(bench.pass(Toward::Wired, 1, packet).0, PacketVerdict::Forward, "uplink is not capped");
            bench.wait(Duration::from_millis(5));
        }
        assert_eq!(passed, [0, 1000, 500]);
    }
}
