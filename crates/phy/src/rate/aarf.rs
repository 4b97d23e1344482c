//! AARF: adaptive auto rate fallback.
//!
//! Source: M. Lacage, M. H. Manshaei and T. Turletti, "IEEE 802.11 Rate Adaptation: A Practical Approach", MSWiM 2004.
//! When the first frame at a raised rate is lost, the number of ACKs required for the next raise doubles, up to 50;
//! when frames are lost in a row, it returns to 10. The timer of [`Arf`] doubles with it.

use wifair_config::table;
use wifair_engine::Stream;
use wifair_units::Time;

use super::RateControl;
use super::arf::{self, Arf, Fall};

table! {
    /// Adaptive auto rate fallback.
    pub struct Params {
        /// Least number of consecutive ACKs after which the next higher rate is tried.
        pub successes: u32 = 10, "1 or more" => |n| *n >= 1;
        /// Greatest number of consecutive ACKs after which the next higher rate is tried.
        pub most_successes: u32 = 50, "at least successes" => |n| *n >= successes;
        /// Consecutive failures after which the rate falls.
        pub failures: u32 = 2, "1 or more" => |n| *n >= 1;
        /// Least number of attempts at one rate after which the next higher one is tried in any case.
        pub patience: u32 = 15, "1 or more" => |n| *n >= 1;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Aarf {
    params: Params,
    arf: Arf,
    need: u32,
    patience: u32,
}

impl Aarf {
    /// Starts with rate `start` out of `top + 1`.
    pub fn new(params: &Params, start: usize, top: usize) -> Self {
        let Params { successes, failures, patience, .. } = *params;
        let arf = Arf::new(&arf::Params { successes, failures, patience }, start, top);
        Self { params: params.clone(), arf, need: successes, patience }
    }
}

impl RateControl for Aarf {
    fn rate(&mut self, _now: Time, _attempt: u32, _draws: &mut Stream) -> usize {
        self.arf.current()
    }

    fn on_result(&mut self, _now: Time, _rate: usize, acknowledged: bool) {
        match self.arf.count(acknowledged, self.need, self.patience) {
            Some(Fall::AtOnce) => {
                self.need = (2 * self.need).min(self.params.most_successes);
                self.patience = self.patience.saturating_mul(2);
            }
            Some(Fall::Later) => {
                self.need = self.params.successes;
                self.patience = self.params.patience;
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raise_takes(aarf: &mut Aarf) -> u32 {
        let from = aarf.arf.current();
        let mut attempts = 0;
        while aarf.arf.current() == from {
            aarf.on_result(Time::ZERO, from, true);
            attempts += 1;
        }
        attempts
    }

    /// The paper's rules by hand: 10, 20, 40, then 50.
    #[test]
    fn a_rate_that_fails_is_tried_later_and_later() {
        let mut aarf = Aarf::new(&Params::default(), 0, 1);
        for expected in [10, 20, 40, 50, 50] {
            assert_eq!(raise_takes(&mut aarf), expected);
            aarf.on_result(Time::ZERO, 1, false);
            assert_eq!(aarf.arf.current(), 0);
        }
        for _ in 0..2 {
            aarf.on_result(Time::ZERO, 0, false);
        }
        assert_eq!(raise_takes(&mut aarf), 10, "two losses in a row start anew");
    }
}
