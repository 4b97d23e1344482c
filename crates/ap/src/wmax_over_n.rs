//! Wmax/n: every flow gets an equal share of the packets that the access point's buffer and the path hold together.
//!
//! Source: E. Lee, H. Lim, S. Seok and C. Kang, "A Scheme for Enhancing TCP Fairness and Throughput in IEEE 802.11
//! WLANs", 2007, section 5, after T. V. Lakshman and U. Madhow, 1997. The scheme sets in every ACK that passes, in
//! either direction,
//!
//! ```text
//! Wmax = B + mu * RTT                                                          (3) [packets]
//! window = min(window, floor(Wmax / n))                                            [packets]
//! ```
//!
//! where B is the buffer in packets, mu the service rate, RTT the flow's own round-trip time and n the number of active
//! flows. For 100 packets, mu = 1 / 3868 us and 100 ms: Wmax = 125.85 packets.
//!
//! Readings:
//!
//! - Equation 8 adds packets and bits; here everything is in packets.
//! - RTT covers propagation and service only (equation 2), so the smallest measured value is used. Before one is known,
//!   Wmax is B. Flows with different RTTs have different Wmax.
//! - mu is the published 1 / 3868 us; or the result of the paper's equations taken literally, 1 / 4189.5 us (see
//!   [`service_rate`]); or given; or measured, as the data packets per second of all flows that passed the access point
//!   during the last full second.
//! - The window is never below one segment. Windows in SYN and SYN-ACK are changed too.

use wifair_config::{Limit, choice, table};
use wifair_packet::{Kind, Packet};
use wifair_units::{Duration, Time};

use super::rtt::{Keep, RttMeter, RttSource};
use super::window::WindowControl;
use super::{Facts, PacketVerdict, Passage, Request, Scheme, service_rate};

choice! {
    /// How the service rate of the access point is determined.
    pub enum Mu {
        /// One packet in 3868 us, as printed.
        Paper = "paper" from "E. Lee et al., 2007, section 5.2",
        /// One packet in 4189.5 us, as given by equations 4 to 7 with table 1.
        Literal = "literal" from "E. Lee et al., 2007, equations 4 to 7",
        /// One packet in `service_time`.
        Given = "given",
        /// Data packets that passed in the last full second.
        Measured = "measured",
    }
}

table! {
    /// Wmax/n.
    pub struct Params {
        /// The buffer B; if absent, the limit of the access point's queue.
        pub buffer: Option<Limit> = None;
        /// How the round-trip time of a flow is determined.
        pub rtt: RttSource = RttSource::Handshake;
        /// The round-trip time, if given.
        pub given_rtt: Option<Duration> = None;
        /// Which of several measured round-trip times is used.
        pub keep: Keep = Keep::Minimum;
        /// Interval between pings; if absent, a flow is pinged only until the first answer.
        pub ping_every: Option<Duration> = None;
        /// How the service rate is determined.
        pub mu: Mu = Mu::Paper;
        /// Time that the access point takes for one data packet and its ACK, if given.
        pub service_time: Option<Duration> = None, "above 0 s" => |time| *time != Some(Duration::ZERO);
        /// A flow counts as inactive after this time without packets.
        pub period: Duration = Duration::from_secs(5), "above 0 s" => |period| *period > Duration::ZERO;
    }
    check(params, at) {
        if params.rtt == RttSource::Given && params.given_rtt.is_none() {
            at.problem("rtt", "`rtt` is \"given\" but no `given_rtt` is", "write given_rtt = \"100 ms\"");
        }
        if params.mu == Mu::Given && params.service_time.is_none() {
            at.problem("mu", "`mu` is \"given\" but no `service_time` is", "write service_time = \"3868 us\"");
        }
        at.only_for("given_rtt", &mut params.given_rtt, "rtt", (params.rtt, RttSource::Given));
        at.only_for("ping_every", &mut params.ping_every, "rtt", (params.rtt, RttSource::Ping));
        at.only_for("service_time", &mut params.service_time, "mu", (params.mu, Mu::Given));
    }
}

/// The interval over which the service rate is measured.
const MEASURED_OVER: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
enum Rate {
    Fixed(f64),
    Measured { since: Time, packets: u32, rate: f64 },
}

impl Rate {
    fn per_second(&self) -> f64 {
        match self {
            Self::Fixed(rate) | Self::Measured { rate, .. } => *rate,
        }
    }

    fn watch(&mut self, now: Time, packet: &Packet) {
        let Self::Measured { since, packets, rate } = self else { return };
        let passed = now.saturating_since(*since).div_floor(MEASURED_OVER);
        if passed > 0 {
            *rate = if passed == 1 { f64::from(*packets) / MEASURED_OVER.as_secs() } else { 0.0 };
            *since += MEASURED_OVER * passed;
            *packets = 0;
        }
        if packet.kind == Kind::Data && packet.payload > 0 {
            *packets += 1;
        }
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct WmaxOverN {
    control: WindowControl,
    rtt: RttMeter,
    mu: Rate,
    wmax: f64,
    latest_rtt: Option<Duration>,
}

impl WmaxOverN {
    /// The scheme of one access point.
    ///
    /// # Panics
    /// If the service time is to be given but is absent, which the table of parameters rules out.
    pub fn new(params: &Params, facts: &Facts<'_>) -> Self {
        let fixed = |time: Duration| Rate::Fixed(1.0 / time.as_secs());
        Self {
            control: WindowControl::new(params.buffer.unwrap_or(facts.limit), params.period),
            rtt: RttMeter::new(params.rtt, params.keep, params.given_rtt, params.ping_every),
            mu: match params.mu {
                Mu::Paper => fixed(service_rate::PUBLISHED),
                Mu::Literal => fixed(service_rate::ServiceTimes::LITERAL.pair()),
                Mu::Given => fixed(params.service_time.expect("a service time that is to be given is checked to be")),
                Mu::Measured => Rate::Measured { since: Time::ZERO, packets: 0, rate: 0.0 },
            },
            wmax: 0.0,
            latest_rtt: None,
        }
    }
}

impl Scheme for WmaxOverN {
    fn pass(&mut self, at: &Passage, packet: &mut Packet, requests: &mut Vec<Request>) -> PacketVerdict {
        let buffer = self.control.see(at.now, packet);
        self.mu.watch(at.now, packet);
        if self.rtt.watch(at, packet, requests) {
            return PacketVerdict::Absorb;
        }
        if let Some(buffer) = buffer {
            let rtt = self.rtt.rtt(packet.flow);
            self.wmax = buffer + self.mu.per_second() * rtt.map_or(0.0, Duration::as_secs);
            self.latest_rtt = rtt;
            self.control.clamp(packet, self.wmax / self.control.n());
        }
        PacketVerdict::Forward
    }

    fn introduce(&mut self, flow: u32, mss: u16, window_scale: u8) {
        self.control.introduce(flow, mss, window_scale);
    }

    fn next(&self) -> Time {
        self.rtt.next()
    }

    fn on_timer(&mut self, now: Time, requests: &mut Vec<Request>) {
        let counter = &self.control.counter;
        self.rtt.on_timer(now, |flow| counter.is_active(flow), requests);
    }

    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.control.show(see);
        see("mu_packets_per_s", self.mu.per_second());
        see("wmax_packets", self.wmax);
        if let Some(rtt) = self.latest_rtt {
            see("rtt_s", rtt.as_secs());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::SchemeBench;
    use super::*;

    fn given(rtt_ms: u64) -> Params {
        Params { rtt: RttSource::Given, given_rtt: Some(Duration::from_millis(rtt_ms)), ..Params::default() }
    }

    fn wmax(bench: &SchemeBench<WmaxOverN>) -> f64 {
        bench.shown("wmax_packets")
    }

    /// Arithmetic of lee2007, Wmax: B = 100, mu = 258.53/s, for 8 and 14 flows.
    #[test]
    fn wmax_and_windows_by_the_arithmetic_of_the_paper() {
        for (rtt_ms, expected, of_8, of_14) in [
            (100, 125.85, 15, 8),
            (200, 151.7, 18, 10),
            (300, 177.6, 22, 12),
            (400, 203.4, 25, 14),
            (500, 229.3, 28, 16),
            (1000, 358.5, 44, 25),
        ] {
            for (flows, packets) in [(8, of_8), (14, of_14)] {
                let mut bench = SchemeBench::new(|facts| WmaxOverN::new(&given(rtt_ms), facts));
                (0..flows).for_each(|flow| bench.data(flow, 0));
                assert_eq!(bench.ack(0, 1000).window, packets * 1000, "{rtt_ms} ms, {flows} flows");
                assert!((wmax(&bench) - expected).abs() < 0.05, "{} at {rtt_ms} ms", wmax(&bench));
            }
        }
    }

    /// 1 / 4189.45 us = 238.7/s.
    #[test]
    fn the_literal_service_rate() {
        let bench = SchemeBench::new(|facts| WmaxOverN::new(&Params { mu: Mu::Literal, ..given(100) }, facts));
        assert!((bench.shown("mu_packets_per_s") - 238.69).abs() < 0.01);
    }

    /// 200 data packets pass in each of two seconds; the ACK at 2 s sees 200/s: Wmax = 100 + 200 * 0.5.
    #[test]
    fn a_measured_service_rate() {
        let mut bench = SchemeBench::new(|facts| WmaxOverN::new(&Params { mu: Mu::Measured, ..given(500) }, facts));
        for n in 0..400 {
            bench.data(n % 2, u64::from(n / 2) * 1000);
            bench.wait(Duration::from_millis(5));
        }
        bench.ack(0, 1000);
        assert!((wmax(&bench) - 200.0).abs() < 1e-9, "{}", wmax(&bench));
    }

    /// Without a round-trip time the window is B/n; 40 ms to the receiver and 60 ms to the sender give Wmax = 125.85
    /// packets.
    #[test]
    fn the_round_trip_time_comes_from_the_first_exchange() {
        let mut bench = SchemeBench::new(|facts| WmaxOverN::new(&Params::default(), facts));
        bench.data(0, 0);
        bench.wait(Duration::from_millis(40));
        bench.ack(0, 1000);
        assert!((wmax(&bench) - 100.0).abs() < 1e-9);
        bench.wait(Duration::from_millis(60));
        bench.data(0, 1000);
        bench.wait(Duration::from_millis(50));
        bench.ack(0, 2000);
        assert!((wmax(&bench) - 125.85).abs() < 0.005, "{}", wmax(&bench));
    }

    #[test]
    fn a_missing_number_is_reported() {
        use wifair_config::{Document, Source, Table as _};
        let problems = |text| {
            let document = Document::parse(Source::file("a.toml", text));
            document.read::<Params>().map(|params| params.to_toml()).unwrap_err().to_string()
        };
        assert!(problems("rtt = 'given'").contains("no `given_rtt` is"));
        assert!(problems("mu = 'given'").contains("no `service_time` is"));
    }
}
