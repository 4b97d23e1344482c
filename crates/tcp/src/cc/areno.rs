//! TCP Adaptive Reno: Reno's window plus a probing window that grows faster the less congested the path looks.
//!
//! Source: H. Shimonishi, T. Hama and T. Murase, "TCP-Adaptive Reno for Improving Efficiency-Friendliness Tradeoffs of
//! TCP Congestion Control Algorithm", 2006, as implemented consistently in public ns-3 models:
//!
//! ```text
//! RTT_cong = a RTT_cong + (1 - a) RTT at the loss,   a = 0.85
//! c        = min((RTT - RTT_min) / (RTT_cong - RTT_min), 1)
//! W_max    = bandwidth / M,   M = 10 Mb/s
//! W_inc(c) = W_max e^(-A c) + B c + G,    A = 10,
//!            B = 2 W_max (1/A - (1/A + 1) e^-A),   G = 1 - 2 W_max (1/A - (1/A + 1/2) e^-A)
//! ACK:  W_base += 1 / W,   W_probe = max(W_probe + W_inc / W, 0),   W = W_base + W_probe
//! loss: W_base = W / (1 + c),   W_probe = 0
//! ```
//!
//! B and G are such that W_inc is one segment at c = 1 and on average over c. Before the first loss c is zero. The
//! bandwidth is the estimate of [`westwood_plus`](super::westwood_plus).

use wifair_config::table;
use wifair_units::BitRate;

use crate::cc::westwood_plus::RoundEstimate;
use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, RttSamples, Start, Window};

table! {
    /// TCP Adaptive Reno (H. Shimonishi, T. Hama and T. Murase, 2006).
    pub struct Params {
        /// Bandwidth per segment of the fastest growth in a round trip (M).
        pub scale: BitRate = BitRate::from_mbps(10), "more than 0 b/s" => |v| v.as_bps() > 0;
        /// How steeply growth falls with congestion (A).
        pub alpha: f64 = 10.0, "more than 0" => |v| *v > 0.0;
        /// Weight of the old value in the average RTT at losses (a).
        pub keep: f64 = 0.85, "between 0 and 1" => |v| (0.0..1.0).contains(v);
    }
}

/// State of Adaptive Reno.
#[derive(Clone, Debug, Default)]
pub struct Areno {
    params: Params,
    /// `cwnd` is W.
    window: Window,
    probe: f64,
    estimate: RoundEstimate,
    delays: RttSamples,
    /// Average RTT at losses, in seconds.
    congested_rtt: Option<f64>,
    /// e^-A.
    floor: f64,
}

/// Adaptive Reno at the start of a connection.
pub fn new(params: &Params, start: Start) -> Areno {
    Areno { params: params.clone(), window: Window::new(start), floor: libm::exp(-params.alpha), ..Areno::default() }
}

impl Areno {
    /// c, between 0 and 1.
    fn congestion(&self) -> f64 {
        let range = self.congested_rtt.map_or(0.0, |rtt| rtt - self.delays.base);
        let now = self.delays.last - self.delays.base;
        if range > 0.0 && now > 0.0 { (now / range).min(1.0) } else { 0.0 }
    }

    /// W_inc, with W_max = `most` segments.
    fn increase(&self, c: f64, most: f64) -> f64 {
        let (inverse, floor) = (1.0 / self.params.alpha, self.floor);
        let b = 2.0 * most * (inverse - (inverse + 1.0) * floor);
        let g = 1.0 - 2.0 * most * (inverse - (inverse + 0.5) * floor);
        most * libm::exp(-self.params.alpha * c) + b * c + g
    }

    /// The window after a loss.
    fn kept(&mut self) -> f64 {
        let Self { delays, congested_rtt, params, .. } = self;
        if delays.last > 0.0 {
            let old = congested_rtt.unwrap_or(delays.last);
            *congested_rtt = Some(params.keep * old + (1.0 - params.keep) * delays.last);
        }
        self.probe = 0.0;
        self.window.cwnd / (1.0 + self.congestion())
    }
}

impl CongestionControl for Areno {
    by_window!(and on_loss, on_rto);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.estimate.ack(ack);
        self.delays.sample(ack);
        if !ack.may_grow() {
            return;
        }
        if self.window.in_slow_start() {
            self.window.add(ack.segments);
            return;
        }
        let cwnd = self.window.cwnd;
        let most = self.estimate.bandwidth * 8.0 / self.params.scale.as_bps() as f64;
        let part = ack.segments / cwnd;
        let before = self.probe.min(cwnd);
        let probe = (before + self.increase(self.congestion(), most) * part).max(0.0);
        self.window.add(part + probe - before);
        self.probe = probe;
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::ack;

    fn areno() -> Areno {
        let mut cc = new(&Params::default(), Start { ssthresh: 2.0, ..Start::with_window(100.0) });
        cc.delays.base = 0.1;
        cc
    }

    /// Definition of B and G: the mean over c and the value at c = 1 are one segment, whatever the bandwidth. The sum
    /// over 1000 midpoints of a function with slope up to A W_max is accurate to (A W_max) / (24 * 1000^2).
    #[test]
    fn the_increase_is_one_segment_on_average_and_at_full_congestion() {
        let cc = areno();
        for most in [1.0, 10.0, 100.0] {
            assert_relative_eq!(cc.increase(1.0, most), 1.0, epsilon = 1e-9);
            let mean = (0..1000).map(|i| cc.increase((f64::from(i) + 0.5) / 1000.0, most)).sum::<f64>() / 1000.0;
            assert_relative_eq!(mean, 1.0, epsilon = 10.0 * most / 24e6 * 10.0);
        }
    }

    /// By hand: at the RTT of the loss c = 1 and the window halves; at half the queue it falls to 1/1.5.
    #[test]
    fn a_loss_divides_by_one_plus_the_congestion() {
        for (last, kept) in [(0.2, 100.0 / 2.0), (0.15, 100.0 / 1.5)] {
            let mut cc = areno();
            cc.congested_rtt = Some(0.2);
            cc.delays.last = last;
            cc.params.keep = 1.0 - 1e-12; // so that this loss leaves the average as it is
            cc.on_loss(100.0);
            assert_relative_eq!(cc.cwnd(), kept, max_relative = 1e-6);
        }
    }

    /// By hand at c = 1, where W_inc is a segment: an ACK adds 1/100 to W_base and to W_probe. At c = 1/2 and W_max =
    /// 100, W_inc is 100 e^-5 + B / 2 + G < 0, so W_probe stays zero. In slow start an ACK adds a segment.
    #[test]
    fn an_ack_adds_to_both_parts_of_the_window() {
        let mut cc = areno();
        (cc.congested_rtt, cc.estimate.bandwidth) = (Some(0.2), 100.0 * 10e6 / 8.0);
        let usual = ack(0.0, 0.2, 1, 100);
        for other in [Ack { in_recovery: true, ..usual }, Ack { window_limited: false, ..usual }] {
            cc.on_ack(&other);
            assert_eq!((cc.cwnd(), cc.probe), (100.0, 0.0));
        }
        cc.on_ack(&usual);
        assert_relative_eq!(cc.probe, 0.01, max_relative = 1e-9);
        assert_relative_eq!(cc.cwnd(), 100.02, max_relative = 1e-9);
        let before = cc.cwnd();
        cc.on_ack(&ack(0.0, 0.15, 2, 100));
        assert_eq!(cc.probe, 0.0);
        assert_relative_eq!(cc.cwnd(), before + 1.0 / before - 0.01, max_relative = 1e-9);
        // No congestion: W_max + G, with G = 1 - 200 (0.1 - 0.6 e^-10).
        let before = cc.cwnd();
        cc.on_ack(&ack(0.0, 0.1, 3, 100));
        let fastest = 101.0 - 200.0 * (0.1 - 0.6 * (-10f64).exp());
        assert_relative_eq!(cc.probe, fastest / before, max_relative = 1e-9);
        cc.window.ssthresh = 1000.0;
        let before = cc.cwnd();
        cc.on_ack(&usual);
        assert_relative_eq!(cc.cwnd(), before + 1.0);
    }

    /// The RTT at losses is averaged with 0.85. Before the first loss there is no congestion; a delay above that of
    /// losses counts as c = 1. Loss and timeout reset W_probe.
    #[test]
    fn the_round_trip_time_at_losses_is_smoothed() {
        let mut cc = areno();
        cc.delays.last = 0.3;
        assert_eq!(cc.congestion(), 0.0);
        (cc.congested_rtt, cc.probe) = (Some(0.2), 5.0);
        assert_eq!(cc.congestion(), 1.0);
        cc.delays.last = 0.12;
        cc.on_loss(100.0);
        assert_relative_eq!(cc.congested_rtt.expect("a loss"), 0.85 * 0.2 + 0.15 * 0.12);
        assert_relative_eq!(cc.cwnd(), 100.0 / (1.0 + 0.02 / 0.088), max_relative = 1e-9);
        assert_eq!(cc.probe, 0.0);
        (cc.congested_rtt, cc.probe, cc.window.cwnd, cc.delays.last) = (None, 5.0, 100.0, 0.2);
        cc.on_rto(100.0);
        assert_eq!((cc.cwnd(), cc.ssthresh(), cc.probe, cc.congested_rtt), (1.0, 50.0, 0.0, Some(0.2)));
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("areno", |start| new(&Params::default(), start));
    }
}
