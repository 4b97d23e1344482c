//! H-TCP: the window grows faster the longer ago the last loss was.
//!
//! Source: D. Leith and R. Shorten, "H-TCP: TCP for High-Speed and Long-Distance Networks", 2004, and
//! draft-leith-tcp-htcp-06, 2008. With D seconds since the last loss and D_L = 1 s:
//!
//! ```text
//! a = 1 for D <= D_L, else 1 + 10 (D - D_L) + (D - D_L)^2 / 4
//! ACK: cwnd += 2 (1 - beta) a / cwnd
//! loss: beta = RTT_min / RTT_max, between 0.5 and 0.8; 0.5 where the throughput changed by more than a fifth
//! ```
//!
//! RTT_max is the largest RTT since the second-to-last loss, so old values expire. `rtt_scaling` multiplies a by RTT /
//! 100 ms, between 0.1 and 2, as Linux does by default.

use wifair_config::table;
use wifair_units::{Duration, Time};

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, RttSamples, Start, Window};

table! {
    /// H-TCP (D. Leith and R. Shorten, 2004).
    pub struct Params {
        /// Time after a loss during which growth is Reno's.
        pub delta_l: Duration = Duration::from_secs(1);
        /// Whether the reduction on loss depends on the queue; otherwise the window halves.
        pub adaptive_backoff: bool = true;
        /// Whether growth is proportional to the RTT.
        pub rtt_scaling: bool = false;
    }
}

/// State of H-TCP.
#[derive(Clone, Debug, Default)]
pub struct Htcp {
    params: Params,
    window: Window,
    delays: RttSamples,
    round: Round,
    beta: f64,
    /// Growth per round trip in segments; updated each round.
    increase: f64,
    last_loss: Option<Time>,
    now: Time,
    /// Largest RTT since the last loss, and before it, in seconds.
    max_rtt: (f64, f64),
    round_began: Time,
    round_bytes: u64,
    /// Throughput of the last round, and before the last loss, in bytes per second.
    throughput: (f64, f64),
}

/// H-TCP at the start of a connection.
pub fn new(params: &Params, start: Start) -> Htcp {
    Htcp { params: params.clone(), window: Window::new(start), beta: 0.5, increase: 1.0, ..Htcp::default() }
}

impl Htcp {
    /// Growth per round trip in segments, `elapsed` seconds after the last loss.
    fn increase(&self, elapsed: f64) -> f64 {
        let late = (elapsed - self.params.delta_l.as_secs()).max(0.0);
        let mut a = 1.0 + 10.0 * late + 0.25 * late * late;
        if self.params.rtt_scaling && self.delays.base.is_finite() {
            a = (a * (self.delays.base / 0.1).clamp(0.1, 2.0)).max(1.0);
        }
        2.0 * (1.0 - self.beta) * a
    }

    /// Updates beta and the growth; returns the window that is kept.
    fn kept(&mut self) -> f64 {
        let (now, before) = self.throughput;
        let steady = before > 0.0 && (now - before).abs() <= 0.2 * before;
        let longest = self.max_rtt.0.max(self.max_rtt.1);
        self.beta = if self.params.adaptive_backoff && steady && longest > 0.0 {
            (self.delays.base / longest).clamp(0.5, 0.8)
        } else {
            0.5
        };
        self.throughput.1 = now;
        self.max_rtt = (0.0, self.max_rtt.0);
        self.last_loss = Some(self.now);
        self.increase = 2.0 * (1.0 - self.beta);
        self.beta * self.window.cwnd
    }
}

impl CongestionControl for Htcp {
    by_window!(and on_loss);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.now = ack.now;
        self.delays.sample(ack);
        self.round_bytes += ack.bytes;
        if !ack.in_recovery {
            self.max_rtt.0 = self.max_rtt.0.max(self.delays.last);
        }
        let last_loss = *self.last_loss.get_or_insert(ack.now);
        if self.round.ends(ack) {
            let length = ack.now.saturating_since(self.round_began).as_secs();
            if length > 0.0 {
                self.throughput.0 = self.round_bytes as f64 / length;
            }
            self.round_began = ack.now;
            self.round_bytes = 0;
            self.increase = self.increase(ack.now.saturating_since(last_loss).as_secs());
        }
        self.window.grow_on(ack, self.increase);
    }

    /// The time since the last loss starts with the next ACK.
    fn on_rto(&mut self, _: f64) {
        let kept = self.kept();
        self.window.collapse(kept);
        self.last_loss = None;
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::{ack, published, time};

    fn htcp(params: &Params) -> Htcp {
        new(params, Start { ssthresh: 2.0, ..Start::with_window(100.0) })
    }

    /// The draft's function by hand: Reno for a second, then 1 + 10 + 0.25 at two seconds and 1 + 40 + 4 at five; beta
    /// = 0.8 takes 0.4 of it.
    #[test]
    fn the_increase_by_hand() {
        let mut cc = htcp(&Params::default());
        for (elapsed, increase) in [(0.0, 1.0), (1.0, 1.0), (2.0, 11.25), (5.0, 45.0)] {
            assert_relative_eq!(cc.increase(elapsed), increase);
        }
        cc.beta = 0.8;
        assert_relative_eq!(cc.increase(2.0), 4.5);
        let mut scaled = htcp(&Params { rtt_scaling: true, ..Params::default() });
        scaled.delays.base = 0.05;
        assert_relative_eq!(scaled.increase(2.0), 5.625);
    }

    /// By hand: 100 ms over 140 ms keep 0.714, a longer queue a half, a short queue 0.8; a jump in throughput keeps a
    /// half. So does the first loss (in Linux, tcp_htcp.c, `modeswitch` is 0 at first), even if no throughput is known
    /// yet.
    #[test]
    fn the_backoff_by_hand() {
        for (longest, throughput, kept) in [
            (0.14, (1e6, 1e6), 500.0 / 7.0),
            (0.3, (1e6, 1e6), 50.0),
            (0.11, (1e6, 1e6), 80.0),
            (0.11, (1e6, 7e5), 50.0),
            (0.11, (1e6, 0.0), 50.0),
            (0.11, (0.0, 0.0), 50.0),
        ] {
            let mut cc = htcp(&Params::default());
            cc.delays.base = 0.1;
            cc.max_rtt.0 = longest;
            cc.throughput = throughput;
            cc.on_loss(100.0);
            assert_relative_eq!(cc.cwnd(), kept);
        }
    }

    /// By hand: 100 ms over 125 keep 0.8, so the threshold is 80 and a round adds 0.4. One segment is left after the
    /// timeout, and the one second of Reno's growth begins with the next ACK.
    #[test]
    fn a_timeout_by_hand() {
        let mut cc = htcp(&Params::default());
        cc.last_loss = Some(Time::ZERO);
        cc.delays.base = 0.1;
        (cc.max_rtt.0, cc.throughput, cc.increase) = (0.125, (1e6, 1e6), 45.0);
        cc.on_rto(50.0);
        assert_relative_eq!(cc.ssthresh(), 80.0);
        assert_relative_eq!(cc.increase, 0.4);
        assert_eq!((cc.cwnd(), cc.last_loss), (1.0, None));
        cc.on_ack(&ack(7.0, 0.1, 1, 100));
        assert_eq!(cc.last_loss, Some(time(7.0)));
    }

    #[test]
    fn windows_are_those_of_the_published_formula() {
        for row in published("htcp") {
            let mut cc = new(&Params::default(), row.start);
            cc.last_loss = Some(Time::ZERO);
            cc.on_ack(&row.ack(1.0 + row.state / 1e3));
            row.hold(&cc);
        }
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("htcp", |start| new(&Params::default(), start));
    }
}
