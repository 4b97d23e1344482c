//! Windows by round-trip time: each flow's window is proportional to its RTT, so that all flows get the same rate.
//!
//! Source: S. Pilosof et al., 2003, known here only in outline. Paper `las`, section 2, says that their access point
//! sets the advertised windows from its buffer and from passively estimated round-trip times of the connections. If
//! windows are proportional to round-trip times, window / RTT is the same for all flows:
//!
//! ```text
//! window = min(window, floor(B * RTT_i / sum of RTT_j over the n active flows))           [packets]
//! ```
//!
//! With equal times every flow gets B/n. A flow whose time is not known yet counts with the mean of the others; while
//! no time is known, all flows count the same. The proportional rule is our reading.

use wifair_config::{Limit, table};
use wifair_packet::Packet;
use wifair_units::Duration;

use super::rtt::{Keep, RttMeter, RttSource};
use super::window::WindowControl;
use super::{Facts, PacketVerdict, Passage, Request, Scheme};

table! {
    /// Windows by round-trip time.
    pub struct Params {
        /// The buffer B; if absent, the limit of the access point's queue.
        pub buffer: Option<Limit> = None;
        /// Which of several measured round-trip times is used.
        pub keep: Keep = Keep::Minimum;
        /// A flow counts as inactive after this time without packets.
        pub period: Duration = Duration::from_secs(5), "above 0 s" => |period| *period > Duration::ZERO;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct ByRtt {
    control: WindowControl,
    rtt: RttMeter,
}

impl ByRtt {
    /// The scheme of one access point.
    pub fn new(params: &Params, facts: &Facts<'_>) -> Self {
        Self {
            control: WindowControl::new(params.buffer.unwrap_or(facts.limit), params.period),
            rtt: RttMeter::new(RttSource::Handshake, params.keep, None, None),
        }
    }

    /// The fraction that `flow` has in the sum of all round-trip times.
    fn share(&self, flow: u32) -> f64 {
        let (mut sum, mut known) = (0.0, 0_u32);
        for active in self.control.counter.active() {
            if let Some(rtt) = self.rtt.rtt(active) {
                sum += rtt.as_secs();
                known += 1;
            }
        }
        let n = self.control.n();
        match self.rtt.rtt(flow) {
            // (sum / known) * n is the sum in which unknown times are replaced by the mean.
            Some(rtt) if sum > 0.0 => rtt.as_secs() * f64::from(known) / (sum * n),
            _ => 1.0 / n,
        }
    }
}

impl Scheme for ByRtt {
    fn pass(&mut self, at: &Passage, packet: &mut Packet, requests: &mut Vec<Request>) -> PacketVerdict {
        let buffer = self.control.see(at.now, packet);
        self.rtt.watch(at, packet, requests);
        if let Some(buffer) = buffer {
            self.control.clamp(packet, buffer * self.share(packet.flow));
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

    /// Flow 0 has 20 ms, flow 1 has 80 ms, flow 2 is not known and counts as 50 ms: of 90 packets they get 12, 48
    /// and 30.
    #[test]
    fn windows_are_in_proportion_to_round_trip_times() {
        let params = Params { buffer: Some(Limit::Packets(90)), ..Params::default() };
        let mut bench = SchemeBench::new(|facts| ByRtt::new(&params, facts));
        for (flow, half_ms) in [(0, 10), (1, 40)] {
            bench.data(flow, 0);
            bench.wait(Duration::from_millis(half_ms));
            bench.ack(flow, 1000);
            bench.wait(Duration::from_millis(half_ms));
            bench.data(flow, 1000);
        }
        bench.data(2, 0);
        assert_eq!([0, 1, 2].map(|flow| bench.ack(flow, 0).window), [12_000, 48_000, 30_000]);
    }
}
