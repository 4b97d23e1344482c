//! HyStart++: leaves slow start when the round-trip time rises, by way of a few slower rounds.
//!
//! Source: P. Balasubramanian, Y. Huang and M. Olson, RFC 9406, 2023, section 4.2, with its recommended constants. The
//! bound L on the segments that an ACK adds is the sender's rule for byte counting.

use crate::cc::{Ack, Delays, Round, Window};

/// Bounds of the rise that ends slow start, in seconds.
const THRESHOLD: (f64, f64) = (0.004, 0.016);
/// Divisor of the last round's smallest round-trip time, for that rise.
const DIVISOR: f64 = 8.0;
/// Samples a round must have.
const SAMPLES: u32 = 8;
/// In conservative slow start an acknowledged segment adds one in so many.
const GROWTH_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start.
const ROUNDS: u32 = 5;

/// State of HyStart++.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    round: Round,
    delays: Delays,
    /// Smallest of the last round, in seconds.
    last_min: Option<f64>,
    /// Conservative slow start: what its smallest round-trip time began with, and the rounds that are left.
    conservative: Option<(f64, u32)>,
}

impl HyStart {
    /// Slow start for an ACK; sets the threshold of `window` when slow start is over.
    pub fn grow(&mut self, window: &mut Window, ack: &Ack) {
        if self.round.ends(ack) {
            self.last_min = self.delays.min.is_finite().then_some(self.delays.min);
            self.delays.clear();
            if let Some((_, left)) = &mut self.conservative {
                *left -= 1;
                if *left == 0 {
                    self.conservative = None;
                    window.ssthresh = window.cwnd;
                    return;
                }
            }
        }
        self.delays.sample(ack);
        let enough = self.delays.count() >= SAMPLES;
        match (self.conservative, self.last_min) {
            (None, Some(last)) if enough => {
                let rise = (last / DIVISOR).clamp(THRESHOLD.0, THRESHOLD.1);
                if self.delays.min >= last + rise {
                    self.conservative = Some((self.delays.min, ROUNDS));
                }
            }
            (Some((baseline, _)), _) if enough && self.delays.min < baseline => self.conservative = None,
            _ => {}
        }
        let divisor = if self.conservative.is_some() { GROWTH_DIVISOR } else { 1.0 };
        window.add(ack.segments / divisor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Start;
    use crate::cc::testing::ack;

    /// RFC 9406, section 4.2, by hand with rounds of 16 ACKs: 40 ms give a threshold of 5 ms, so 45 ms lead to
    /// conservative slow start at the eighth sample of the round, and five rounds later slow start is over.
    #[test]
    fn a_rise_of_an_eighth_leads_through_five_slower_rounds_out_of_slow_start() {
        let mut hystart = HyStart::default();
        let mut window = Window::new(Start::with_window(16.0));
        let mut una = 0;
        let mut round = |hystart: &mut HyStart, window: &mut Window, rtt: f64| {
            let before = window.cwnd;
            for i in 1..=16 {
                // All segments of the next round are sent when this one begins.
                hystart.grow(window, &ack(0.0, rtt, una + i, una + 16));
            }
            una += 16;
            window.cwnd - before
        };
        assert_eq!(round(&mut hystart, &mut window, 0.040), 16.0);
        assert_eq!(round(&mut hystart, &mut window, 0.0449), 16.0); // below 45 ms
        assert_eq!(round(&mut hystart, &mut window, 0.0501), 16.0); // 5.6 ms more are needed now
        let first = round(&mut hystart, &mut window, 0.0565);
        assert_eq!(first, 7.0 + 9.0 / 4.0);
        for _ in 0..4 {
            assert_eq!(round(&mut hystart, &mut window, 0.0565), 4.0);
        }
        assert!(window.in_slow_start());
        round(&mut hystart, &mut window, 0.0565);
        assert!(window.ssthresh.is_finite());
    }

    #[test]
    fn slow_start_resumes_when_the_round_trip_time_falls_again() {
        let mut hystart = HyStart { conservative: Some((0.05, 5)), last_min: Some(0.05), ..HyStart::default() };
        let mut window = Window::new(Start::with_window(16.0));
        for i in 1..=8 {
            hystart.grow(&mut window, &ack(0.0, 0.049, i, 100));
        }
        assert!(hystart.conservative.is_none());
    }
}
