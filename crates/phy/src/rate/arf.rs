//! ARF: auto rate fallback.
//!
//! Source: A. Kamerman and L. Monteban, "WaveLAN-II: A High-Performance Wireless LAN for the Unlicensed Band", Bell
//! Labs Technical Journal, 1997. The paper's timer, which also raises the rate, counts attempts here, as in ns-3.

use wifair_config::table;
use wifair_engine::Stream;
use wifair_units::Time;

use super::RateControl;

table! {
    /// Auto rate fallback.
    pub struct Params {
        /// Consecutive ACKs after which the next higher rate is tried.
        pub successes: u32 = 10, "1 or more" => |n| *n >= 1;
        /// Consecutive failures after which the rate falls.
        pub failures: u32 = 2, "1 or more" => |n| *n >= 1;
        /// Attempts at one rate after which the next higher one is tried in any case.
        pub patience: u32 = 15, "1 or more" => |n| *n >= 1;
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Arf {
    params: Params,
    rate: usize,
    top: usize,
    successes: u32,
    failures: u32,
    attempts: u32,
    /// Whether the rate was just raised and nothing was sent at it yet.
    probes: bool,
}

impl Arf {
    /// Starts with rate `start` out of `top + 1`.
    pub fn new(params: &Params, start: usize, top: usize) -> Self {
        Self { params: params.clone(), rate: start, top, successes: 0, failures: 0, attempts: 0, probes: false }
    }

    /// Counts an attempt, with `need` and `patience` in place of the parameters `successes` and `patience`. If the rate
    /// fell, returns why.
    pub(super) fn count(&mut self, acknowledged: bool, need: u32, patience: u32) -> Option<Fall> {
        self.attempts += 1;
        let probed = std::mem::replace(&mut self.probes, false);
        if acknowledged {
            self.successes += 1;
            self.failures = 0;
            if self.rate < self.top && (self.successes >= need || self.attempts >= patience) {
                self.go_to(self.rate + 1);
                self.probes = true;
            }
            return None;
        }
        self.successes = 0;
        self.failures += 1;
        if probed || self.failures >= self.params.failures {
            self.go_to(self.rate.saturating_sub(1));
            return Some(if probed { Fall::AtOnce } else { Fall::Later });
        }
        None
    }

    fn go_to(&mut self, rate: usize) {
        self.rate = rate;
        (self.successes, self.failures, self.attempts) = (0, 0, 0);
    }

    pub(super) const fn current(&self) -> usize {
        self.rate
    }
}

/// Why the rate fell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fall {
    /// The first frame at a rate just raised was lost.
    AtOnce,
    /// Frames were lost in a row.
    Later,
}

impl RateControl for Arf {
    fn rate(&mut self, _now: Time, _attempt: u32, _draws: &mut Stream) -> usize {
        self.rate
    }

    fn on_result(&mut self, _now: Time, _rate: usize, acknowledged: bool) {
        self.count(acknowledged, self.params.successes, self.params.patience);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates after each attempt; `+` is acknowledged, `-` is not.
    fn trace(arf: &mut Arf, attempts: &str) -> String {
        let step = |sign| {
            arf.on_result(Time::ZERO, arf.rate, sign == '+');
            char::from_digit(u32::try_from(arf.rate).unwrap(), 10).unwrap()
        };
        attempts.chars().map(step).collect()
    }

    /// By hand, from the paper's rules.
    #[test]
    fn up_after_ten_down_after_two() {
        let mut arf = Arf::new(&Params::default(), 1, 3);
        assert_eq!(trace(&mut arf, "+++++++++"), "111111111");
        assert_eq!(trace(&mut arf, "+"), "2", "ten in a row");
        assert_eq!(trace(&mut arf, "-"), "1", "the first frame at the new rate fails");
        assert_eq!(trace(&mut arf, "++++++++++"), "1111111112");
        assert_eq!(trace(&mut arf, "+-"), "22", "one failure after a success is forgiven");
        assert_eq!(trace(&mut arf, "-"), "1", "two in a row are not");
        assert_eq!(trace(&mut arf, "----"), "1000", "there is nothing below the lowest rate");
        let mut top = Arf::new(&Params::default(), 3, 3);
        assert_eq!(trace(&mut top, &"+".repeat(30)), "3".repeat(30));
    }

    #[test]
    fn patience_ends_after_fifteen_attempts() {
        let mut arf = Arf::new(&Params::default(), 0, 1);
        assert_eq!(trace(&mut arf, "+-+-+-+-+-+-+-"), "0".repeat(14));
        assert_eq!(trace(&mut arf, "+"), "1");
    }
}
