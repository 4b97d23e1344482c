//! B/n: every flow gets an equal share of the access point's buffer as its receive window.
//!
//! Source: S. Pilosof, R. Ramjee, D. Raz, Y. Shavitt and P. Sinha, "Understanding TCP Fairness over Wireless LAN",
//! INFOCOM 2003, as described by E. Lee et al., 2007, section 3. The scheme sets in every ACK that passes, in either
//! direction,
//!
//! ```text
//! window = min(window, floor(B / n))                                           [packets]
//! ```
//!
//! where B is the buffer in packets and n the number of active flows. Then the buffer never overflows, and no flow can
//! gain by losing less. The window does not depend on the length of the path: beyond a round-trip time of B / mu the
//! flows cannot fill it.
//!
//! Readings: the window is never below one segment, also when B < n. Windows in SYN and SYN-ACK are changed too. A
//! window may shrink below what is in flight: the sender then waits.

use wifair_config::{Limit, table};
use wifair_packet::Packet;
use wifair_units::Duration;

use super::window::WindowControl;
use super::{Facts, PacketVerdict, Passage, Request, Scheme};

table! {
    /// B/n.
    pub struct Params {
        /// The buffer B; if absent, the limit of the access point's queue.
        pub buffer: Option<Limit> = None;
        /// A flow counts as inactive after this time without packets.
        pub period: Duration = Duration::from_secs(5), "above 0 s" => |period| *period > Duration::ZERO;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct BOverN {
    control: WindowControl,
}

impl BOverN {
    /// The scheme of one access point.
    pub fn new(params: &Params, facts: &Facts<'_>) -> Self {
        Self { control: WindowControl::new(params.buffer.unwrap_or(facts.limit), params.period) }
    }
}

impl Scheme for BOverN {
    fn pass(&mut self, at: &Passage, packet: &mut Packet, _requests: &mut Vec<Request>) -> PacketVerdict {
        if let Some(buffer) = self.control.see(at.now, packet) {
            self.control.clamp(packet, buffer / self.control.n());
        }
        PacketVerdict::Forward
    }

    fn introduce(&mut self, flow: u32, mss: u16, window_scale: u8) {
        self.control.introduce(flow, mss, window_scale);
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.control.show(see);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::SchemeBench;
    use super::*;

    /// Arithmetic of lee2007: B = 100 gives 12 packets each for 8 flows, 7 for 14.
    #[test]
    fn hundred_packets_among_8_and_14_flows() {
        for (flows, window) in [(8, 12_000), (14, 7_000)] {
            let mut bench = SchemeBench::new(|facts| BOverN::new(&Params::default(), facts));
            for flow in 0..flows {
                bench.data(flow, 0);
            }
            assert_eq!(bench.ack(0, 1000).window, window);
        }
    }

    #[test]
    fn more_flows_than_packets_get_one_each() {
        let params = Params { buffer: Some(Limit::Packets(3)), ..Params::default() };
        let mut bench = SchemeBench::new(|facts| BOverN::new(&params, facts));
        (0..5).for_each(|flow| bench.data(flow, 0));
        assert_eq!(bench.ack(0, 1000).window, 1000);
    }

    #[test]
    fn windows_grow_again_when_flows_fall_silent() {
        let mut bench = SchemeBench::new(|facts| BOverN::new(&Params::default(), facts));
        (0..4).for_each(|flow| bench.data(flow, 0));
        assert_eq!(bench.ack(0, 1000).window, 25_000);
        bench.wait(Duration::from_secs(4));
        bench.data(1, 1000);
        bench.wait(Duration::from_secs(1));
        assert_eq!(bench.ack(0, 1000).window, 50_000, "flows 2 and 3 are silent for 5 s");
    }
}
