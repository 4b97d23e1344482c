//! Rate limit on uplink data: a token bucket at the access point drops upload data that exceeds it.
//!
//! Source: N. Blefari-Melazzi, A. Detti, A. Ordine and S. Salsano, "Controlling TCP Fairness in WLAN access networks
//! using a Rate Limiter approach", 2005, and with I. Habib, "TCP Fairness Issues in IEEE 802.11 Networks: Problem
//! Analysis and Solutions Based on Rate Control", 2007, known here from their abstracts: the access point limits all
//! uplink data, statically or adaptively, so that downloads get their share. lee2007 objects that a dropped packet has
//! already used air time.
//!
//! Our readings. `static`: `rate` and `depth` are given. `adaptive`: every `period` the rate is set to the uploads'
//! share of what all flows together carried in the period before,
//!
//! ```text
//! rate = headroom * n_u / (n_u + n_d) * (bytes up + bytes down) / period
//! ```
//!
//! where n_u uploads and n_d downloads had data in that period; without downloads there is no limit. Only TCP data is
//! limited, not ACKs.

use wifair_config::{choice, table};
use wifair_packet::{Kind, Packet};
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::bucket::TokenBucket;
use super::counter::FlowCounter;
use super::{Facts, PacketVerdict, Passage, Request, Scheme, Toward};

choice! {
    /// Where the rate comes from.
    pub enum LimitMode {
        /// Given.
        Static = "static",
        /// Derived from what all flows carry.
        Adaptive = "adaptive",
    }
}

table! {
    /// Rate limit on uplink data.
    pub struct Params {
        /// Where the rate comes from.
        pub mode: LimitMode = LimitMode::Adaptive;
        /// The rate of all uplink data together, in mode `static`.
        pub rate: Option<BitRate> = None;
        /// Depth of the token bucket: how many bytes may pass at once.
        pub depth: Bytes = Bytes(15_000), "at least 1500 B" => |depth| depth.0 >= 1500;
        /// Interval over which the adaptive rate is measured.
        pub period: Duration = Duration::from_secs(1), "at least 1 ms" => |p| *p >= Duration::from_millis(1);
        /// Factor by which the adaptive rate exceeds the uploads' share.
        pub headroom: f64 = 1.0, "above 0" => |headroom| *headroom > 0.0 && headroom.is_finite();
    }
    check(params, at) {
        if params.mode == LimitMode::Static && params.rate.is_none() {
            at.problem("mode", "`mode` is \"static\" but no `rate` is given", "write rate = \"2 Mb/s\"");
        }
        at.only_for("rate", &mut params.rate, "mode", (params.mode, LimitMode::Static));
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct RateLimit {
    params: Params,
    bucket: TokenBucket,
    rate: Option<BitRate>,
    up: FlowCounter,
    down: FlowCounter,
    bytes: u64,
    period_ends: Time,
    dropped: u64,
}

impl RateLimit {
    /// The scheme of one access point.
    pub fn new(params: &Params, _facts: &Facts<'_>) -> Self {
        Self {
            bucket: TokenBucket::full(Time::ZERO, params.depth.0),
            rate: if params.mode == LimitMode::Static { params.rate } else { None },
            up: FlowCounter::new(params.period),
            down: FlowCounter::new(params.period),
            bytes: 0,
            period_ends: Time::ZERO + params.period,
            dropped: 0,
            params: params.clone(),
        }
    }

    fn adapt(&mut self, now: Time) {
        if self.params.mode == LimitMode::Static || now < self.period_ends {
            return;
        }
        let (up, down) = (f64::from(self.up.count()), f64::from(self.down.count()));
        let bps = self.bytes as f64 * 8.0 / self.params.period.as_secs();
        let late = now.saturating_since(self.period_ends);
        self.rate = if down > 0.0 && up > 0.0 && late < self.params.period {
            Some(BitRate::from_bps((self.params.headroom * up / (up + down) * bps) as u64))
        } else {
            None
        };
        self.bytes = 0;
        self.period_ends = now + self.params.period;
    }
}

impl Scheme for RateLimit {
    fn pass(&mut self, at: &Passage, packet: &mut Packet, _requests: &mut Vec<Request>) -> PacketVerdict {
        self.adapt(at.now);
        if packet.kind != Kind::Data || packet.payload == 0 {
            return PacketVerdict::Forward;
        }
        let size = packet.bytes().0;
        if at.toward == Toward::Air {
            self.down.see(at.now, packet.flow);
            self.bytes += size;
            return PacketVerdict::Forward;
        }
        self.up.see(at.now, packet.flow);
        self.bytes += size;
        match self.rate {
            Some(rate) if !self.bucket.take(at.now, size, rate, self.params.depth.0) => {
                self.dropped += 1;
                PacketVerdict::Drop
            }
            _ => PacketVerdict::Forward,
        }
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        if let Some(rate) = self.rate {
            see("limit_bps", rate.as_bps() as f64);
        }
        see("dropped_packets", self.dropped as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::SchemeBench;
    use super::*;

    fn data(flow: u32) -> Packet {
        Packet { flow, payload: 1460, size: 1500, ..Packet::default() }
    }

    /// 1.2 Mb/s is one packet of 1500 B every 10 ms; three times that load is offered for 10 s. Downlink data passes.
    #[test]
    fn uploads_are_limited_to_the_rate() {
        let params = Params {
            mode: LimitMode::Static,
            rate: Some(BitRate::from_kbps(1_200)),
            depth: Bytes(1500),
            ..Params::default()
        };
        let mut bench = SchemeBench::new(|facts| RateLimit::new(&params, facts));
        let mut passed = [0, 0];
        for _ in 0..3000 {
            for (path, toward) in [Toward::Wired, Toward::Air].into_iter().enumerate() {
                passed[path] += u32::from(bench.pass(toward, 1, data(path as u32)).0 == PacketVerdict::Forward);
            }
            bench.wait(Duration::from_nanos(10_000_000 / 3 + 1));
        }
        assert_eq!(passed, [1000, 3000]);
    }

    /// In the first second two uploads send 300 packets each of 12,000 bit and one download 300: 7.2 Mb/s, of which the
    /// uploads' share is two thirds.
    #[test]
    fn the_adaptive_rate_is_the_share_of_the_uploads() {
        let mut bench = SchemeBench::new(|facts| RateLimit::new(&Params::default(), facts));
        for n in 0..300 {
            bench.pass(Toward::Wired, 1, data(n % 2));
            bench.pass(Toward::Air, 2, data(2));
            bench.wait(Duration::from_micros(3_333));
        }
        assert!(bench.scheme.rate.is_none(), "nothing is known in the first second");
        bench.wait(Duration::from_millis(1));
        bench.pass(Toward::Air, 2, data(2));
        assert!((bench.shown("limit_bps") - 4.8e6).abs() < 1.0);
    }
}
