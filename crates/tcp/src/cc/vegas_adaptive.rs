//! Vegas with adaptive alpha and beta, which keep the queue of the bottleneck at a target.
//!
//! Source: E. Abolfazli and V. Shah-Mansouri, "Dynamic Adjustment of Queue Levels in TCP Vegas-based Networks", 2016.
//! Only the abstract was available: the source adapts the parameters of Vegas by an integral backstepping controller,
//! designed on the linearised model, to reach a certain queue level. This file is an interpretation: a plain integral
//! controller. The sender cannot observe the queue in packets, only its delay, so the target is a delay:
//!
//! ```text
//! round: error = (target - (rtt - base)) / rtt * cwnd                          [own segments]
//!        alpha = alpha + gain * error, between bounds;   beta = alpha + beta_gap
//! ```

use wifair_config::table;
use wifair_units::Duration;

use crate::cc::vegas::{self, Vegas, VegasVariant};
use crate::cc::window::by_inner;
use crate::cc::{Ack, CongestionControl, Start};

table! {
    /// Vegas with adaptive alpha and beta (after E. Abolfazli and V. Shah-Mansouri, 2016).
    pub struct Params {
        /// Target queueing delay.
        pub target: Duration = Duration::from_millis(10), "longer than 0 s" => |v| *v > Duration::ZERO;
        /// Fraction of the error corrected per round.
        pub gain: f64 = 0.1, "more than 0, at most 1" => |v| *v > 0.0 && *v <= 1.0;
        /// Minimum alpha, in segments.
        pub alpha_min: f64 = 0.5, "0 or more" => |v| *v >= 0.0;
        /// Maximum alpha, in segments.
        pub alpha_max: f64 = 1000.0, "at least alpha_min" => |v| *v >= alpha_min;
        /// Difference of beta and alpha, in segments.
        pub beta_gap: f64 = 2.0, "0 or more" => |v| *v >= 0.0;
        /// As in Vegas.
        pub gamma: f64 = 1.0, "0 or more" => |v| *v >= 0.0;
    }
}

/// State of adaptive Vegas.
#[derive(Clone, Debug)]
pub struct VegasAdaptive {
    vegas: Vegas,
    params: Params,
}

/// Adaptive Vegas at the start of a connection.
pub fn new(params: &Params, start: Start) -> VegasAdaptive {
    let alpha = 1f64.clamp(params.alpha_min, params.alpha_max);
    let beta = alpha + params.beta_gap;
    let vegas = vegas::new(&vegas::Params { variant: VegasVariant::Paper, alpha, beta, gamma: params.gamma }, start);
    VegasAdaptive { vegas, params: params.clone() }
}

impl CongestionControl for VegasAdaptive {
    by_inner!(vegas: on_loss, on_rto);

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        let over = self.vegas.ack(ack);
        let (rtt, base) = (self.vegas.delays.last, self.vegas.delays.base);
        if over && rtt > 0.0 && !self.vegas.window.in_slow_start() {
            let Params { target, gain, alpha_min, alpha_max, beta_gap, .. } = self.params;
            let error = (target.as_secs() - (rtt - base)) / rtt * self.vegas.window.cwnd;
            self.vegas.alpha = (self.vegas.alpha + gain * error).clamp(alpha_min, alpha_max);
            self.vegas.beta = self.vegas.alpha + beta_gap;
        }
    }

    fn wants_fine_timer(&self) -> bool {
        self.vegas.wants_fine_timer()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::testing::BottleneckPath;

    /// Aim of the controller: 20 ms at 1000 segments a second are 20 in the queue, in addition to the 101 that the path
    /// holds, with a margin for the gap between alpha and beta.
    #[test]
    fn the_queue_settles_at_the_target() {
        let params = Params { target: Duration::from_millis(20), ..Params::default() };
        let mut cc = new(&params, Start::with_window(2.0));
        let mut pipe = BottleneckPath::new(1000.0, 0.1, 1e9);
        pipe.run(&mut cc, 60.0, |_, _| ());
        pipe.run(&mut cc, 120.0, |_, cc| assert!((cc.cwnd() - 121.0).abs() <= 3.0, "{}", cc.cwnd()));
    }
}
