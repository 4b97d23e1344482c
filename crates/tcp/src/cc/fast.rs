//! FAST TCP: keeps `alpha` segments in the queue.
//!
//! Source: D. X. Wei, C. Jin, S. H. Low and S. Hegde, "FAST TCP: Motivation, Architecture, Algorithms, Performance",
//! 2006:
//!
//! ```text
//! w = min(2 w, (1 - gamma) w + gamma (base / rtt * w + alpha))
//! ```
//!
//! `rtt` is a moving average in which a sample has the weight min(3 / w, 1/4). The window is set once a round trip; the
//! paper spreads the change over it. The rule at most doubles the window, so it also serves as slow start, and the
//! slow-start threshold is only reported. A loss halves the window (the paper leaves recovery to Reno). The paper gives
//! no default for `alpha`: 20 suits a WLAN; paths with a large bandwidth-delay product need 100 and more.

use wifair_config::table;

use crate::cc::window::by_window;
use crate::cc::{Ack, CongestionControl, Round, RttSamples, Start, Window};

table! {
    /// FAST TCP (D. X. Wei et al., 2006).
    pub struct Params {
        /// Target number of segments in the queue.
        pub alpha: f64 = 20.0, "more than 0" => |v| *v > 0.0;
        /// Fraction of the distance to the target window covered per round trip.
        pub gamma: f64 = 0.5, "more than 0, at most 1" => |v| *v > 0.0 && *v <= 1.0;
    }
}

/// State of FAST TCP.
#[derive(Clone, Debug, Default)]
pub struct Fast {
    params: Params,
    window: Window,
    delays: RttSamples,
    round: Round,
    average: f64,
}

/// FAST TCP at the start of a connection.
pub fn new(params: &Params, start: Start) -> Fast {
    Fast { params: params.clone(), window: Window::new(start), ..Fast::default() }
}

/// The window for the next round trip.
pub(super) fn next_window(w: f64, base: f64, rtt: f64, alpha: f64, gamma: f64) -> f64 {
    ((1.0 - gamma) * w + gamma * (base / rtt * w + alpha)).min(2.0 * w)
}

impl CongestionControl for Fast {
    by_window!(and half_of_window);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        self.delays.sample(ack);
        if let Some(rtt) = ack.rtt.map(|rtt| rtt.as_secs()).filter(|rtt| *rtt > 0.0) {
            let weight = (3.0 / self.window.cwnd).min(0.25);
            self.average = if self.average == 0.0 { rtt } else { (1.0 - weight) * self.average + weight * rtt };
        }
        if self.round.ends(ack) && ack.may_grow() && self.average > 0.0 {
            let Params { alpha, gamma } = self.params;
            let rtt = self.average.max(self.delays.base);
            self.window.set(next_window(self.window.cwnd, self.delays.base, rtt, alpha, gamma));
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::BottleneckPath;

    /// The equilibrium is w (1 - base / rtt) = alpha. The empty pipe holds 101 segments, one of them in service, so the
    /// window converges to 121; it is counted in whole segments.
    #[test]
    fn the_queue_settles_at_alpha() {
        let mut cc = new(&Params::default(), Start::with_window(2.0));
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.run(&mut cc, 20.0, |_, _| ());
        pipe.run(&mut cc, 30.0, |_, cc| assert!((cc.cwnd() - 121.0).abs() <= 1.5, "{}", cc.cwnd()));
    }

    /// By hand: 100 segments at twice the base: 50 + (50 + 20) / 2 = 85; without queue 110; from 4 segments 8.
    #[test]
    fn next_window_by_hand() {
        assert_relative_eq!(next_window(100.0, 0.1, 0.2, 20.0, 0.5), 85.0);
        assert_relative_eq!(next_window(100.0, 0.1, 0.1, 20.0, 0.5), 110.0);
        assert_relative_eq!(next_window(4.0, 0.1, 0.1, 20.0, 0.5), 8.0);
    }

    #[test]
    fn windows_follow_the_published_rules() {
        crate::cc::testing::follow("fast", |start| new(&Params::default(), start));
    }
}
