//! TCP Hybla: compensates for long round-trip times.
//!
//! Source: C. Caini and R. Firrincieli, "TCP Hybla: A TCP Enhancement for Heterogeneous Networks", 2004:
//!
//! ```text
//! rho = max(RTT / RTT_0, 1),   RTT_0 = 25 ms
//! slow start: cwnd += 2^rho - 1,   congestion avoidance: cwnd += rho^2 / cwnd
//! ```
//!
//! The rate cwnd / RTT then grows as fast as with RTT_0. As in Linux, rho is computed from the minimum RTT, and is at
//! most 16 in the exponent of slow start. The paper's SACK recovery, timestamps and pacing are settings of the sender.

use wifair_config::table;
use wifair_units::Duration;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, RttSamples, Start, Window};

table! {
    /// TCP Hybla (C. Caini and R. Firrincieli, 2004).
    pub struct Params {
        /// RTT whose growth is the reference.
        pub reference_rtt: Duration = Duration::from_millis(25), "longer than 0 s" => |v| *v > Duration::ZERO;
    }
}

/// Upper bound of rho in slow start, so that 2^rho is a usable increment.
const LARGEST: f64 = 16.0;

/// State of Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    window: Window,
    delays: RttSamples,
    reference: f64,
    rho: f64,
    /// 2^rho - 1.
    burst: f64,
}

/// Hybla at the start of a connection.
pub fn new(params: &Params, start: Start) -> Hybla {
    Hybla {
        window: Window::new(start),
        delays: RttSamples::default(),
        reference: params.reference_rtt.as_secs(),
        rho: 1.0,
        burst: 1.0,
    }
}

impl CongestionControl for Hybla {
    by_window!(and half_of_flight);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let base = self.delays.base;
        self.delays.sample(ack);
        if self.delays.base < base {
            self.rho = (self.delays.base / self.reference).max(1.0);
            self.burst = libm::exp2(self.rho.min(LARGEST)) - 1.0;
        }
        if !ack.may_grow() {
            return;
        }
        if self.window.in_slow_start() {
            let goal = self.window.ssthresh;
            self.window.add(self.burst * ack.segments);
            self.window.set(self.window.cwnd.min(goal.max(1.0)));
        } else {
            self.window.grow_on(ack, self.rho * self.rho);
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{BottleneckPath, ack, published};

    /// By hand: at 100 ms rho = 4, so 15 segments an ACK in slow start and 16 / cwnd after it.
    #[test]
    fn increments_by_hand() {
        let mut cc = new(&Params::default(), Start { ssthresh: 30.0, ..Start::with_window(10.0) });
        cc.on_ack(&ack(0.0, 0.1, 1, 10));
        assert_relative_eq!(cc.cwnd(), 25.0);
        cc.on_ack(&ack(0.0, 0.1, 2, 10));
        assert_relative_eq!(cc.cwnd(), 30.0); // not beyond the threshold
        cc.on_ack(&ack(0.0, 0.1, 3, 10));
        assert_relative_eq!(cc.cwnd(), 30.0 + 16.0 / 30.0);
    }

    /// A satellite's 600 ms, by hand: rho = 24, so 24^2 / cwnd per ACK in congestion avoidance, without a bound; in
    /// slow start Linux limits the increment to 2^16 - 1.
    #[test]
    fn only_slow_start_is_bounded() {
        let mut cc = new(&Params::default(), Start { ssthresh: 50.0, ..Start::with_window(100.0) });
        cc.on_ack(&ack(0.0, 0.6, 1, 10));
        assert_relative_eq!(cc.cwnd(), 100.0 + 576.0 / 100.0);
        let mut cc = new(&Params::default(), Start::with_window(1.0));
        cc.on_ack(&ack(0.0, 0.6, 1, 10));
        assert_relative_eq!(cc.cwnd(), 65_536.0);
    }

    /// Aim of the equations: the rate cwnd / RTT grows equally at 25 ms and at 100 ms, here from 400 segments a second
    /// by 1 / (25 ms)^2 = 1600 per second each second, slightly less by the growth of 1/cwnd per ACK.
    #[test]
    fn the_rate_grows_alike_at_any_round_trip_time() {
        for rtt in [0.025, 0.1] {
            let window = 400.0 * rtt;
            let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(window) });
            let mut pipe = BottleneckPath::new(1e9, rtt, 1e9);
            pipe.run(&mut cc, 10.0, |_, _| ());
            assert_relative_eq!(cc.cwnd() / rtt, 400.0 + 16_000.0, max_relative = 0.03);
        }
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("hybla") {
            let mut cc = new(&Params { reference_rtt: Duration::from_millis(50) }, row.start);
            cc.on_ack(&row.ack(0.0));
            row.hold(&cc);
        }
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("hybla", |start| new(&Params::default(), start));
    }
}
