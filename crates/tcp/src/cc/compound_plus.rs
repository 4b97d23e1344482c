//! Compound TCP+: Compound whose loss window stops growing, or shrinks, while the delay window is zero.
//!
//! Source: H. Oda, H. Hisamatsu and H. Noborio, "Compound TCP+: A Solution for Compound TCP Unfairness in Wireless
//! LAN", 2012, sections 4.1 and 4.2, equations 7 to 9. As [`compound`], but in congestion avoidance:
//!
//! ```text
//! dwnd > 0: ACK: cwnd += 1 / swnd
//! dwnd = 0: ACK: nothing;   round: cwnd = f(cwnd)
//! (7) f = ceil(2 cwnd / 3)     (8) f = ceil(cwnd - 1/2)     (9) f = cwnd
//! ```
//!
//! A round first decides on `dwnd`, and then checks whether `dwnd` is zero. `cwnd` stays at least one.
//!
//! Equation 8 as printed leaves integer windows as they are and rounds 12.7 up to 13, although the paper calls it a
//! linear decrease and requires f(x) <= x. So `rounding = "real"` subtracts half a segment each round, which also makes
//! equation 8 fairer than equation 9 as published; `rounding = "literal"` is the printed form.
//!
//! Up to 13.45 segments alpha * swnd^k is below one: `dwnd` stays zero even without a queue, and the rule shrinks or
//! freezes a flow that meets no congestion, until a timeout. `guard` additionally requires `diff >= gamma`; the paper
//! has no guard.

use wifair_config::{choice, table};

use crate::cc::compound::{self, Compound};
use crate::cc::window::by_inner;
use crate::cc::{Ack, CongestionControl, Start};

choice! {
    /// What happens to the loss window in a round without delay window.
    pub enum Function {
        /// It falls to two thirds.
        Multiplicative = "multiplicative" from "H. Oda et al., 2012, equation 7",
        /// It falls by half a segment.
        Linear = "linear" from "H. Oda et al., 2012, equation 8",
        /// It stays as it is.
        Hold = "hold" from "H. Oda et al., 2012, equation 9",
    }
}

choice! {
    /// Rounding of these functions.
    pub enum Rounding {
        /// Equation 8 subtracts half a segment; no function returns more than its argument.
        Real = "real",
        /// To whole segments, as printed.
        Literal = "literal",
    }
}

table! {
    /// Compound TCP+ (H. Oda, H. Hisamatsu and H. Noborio, 2012).
    pub struct Params {
        /// What happens to the loss window in a round without delay window.
        pub function: Function = Function::Linear;
        /// Rounding of these functions.
        pub rounding: Rounding = Rounding::Real;
        /// Whether the loss window is held or decreased only while gamma segments wait in the queue.
        pub guard: bool = false;
        /// Parameters shared with Compound TCP.
        pub compound => compound::Params;
    }
}

/// Below this the delay window counts as zero.
const ZERO: f64 = 1e-9;

/// State of Compound TCP+.
#[derive(Clone, Debug)]
pub struct CompoundPlus {
    compound: Compound,
    function: Function,
    rounding: Rounding,
    guard: bool,
}

/// Compound TCP+ at the start of a connection.
pub fn new(params: &Params, start: Start) -> CompoundPlus {
    let mut compound = compound::new(&params.compound, start);
    compound.grows_alone = false;
    CompoundPlus { compound, function: params.function, rounding: params.rounding, guard: params.guard }
}

impl CompoundPlus {
    /// Equations 7 to 9.
    fn decreased(&self, cwnd: f64) -> f64 {
        let f = match (self.function, self.rounding) {
            (Function::Multiplicative, _) => libm::ceil(2.0 * cwnd / 3.0),
            (Function::Linear, Rounding::Real) => cwnd - 0.5,
            (Function::Linear, Rounding::Literal) => libm::ceil(cwnd - 0.5),
            (Function::Hold, _) => cwnd,
        };
        match self.rounding {
            Rounding::Real => f.min(cwnd),
            Rounding::Literal => f,
        }
    }
}

impl CongestionControl for CompoundPlus {
    by_inner!(compound: on_loss, on_rto);

    fn delay_window(&self) -> f64 {
        self.compound.dwnd
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if self.compound.ack(ack) {
            let congested = !self.guard || self.compound.diff >= self.compound.params.gamma;
            self.compound.grows_alone = !congested;
            if self.compound.dwnd < ZERO && congested {
                let cwnd = self.decreased(self.compound.window.cwnd);
                self.compound.window.set(cwnd);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;
    use crate::cc::testing::ack;

    /// `cwnd` after each of the first 20 ACKs of a connection in congestion avoidance, one segment each, 100 ms; the
    /// sender sends what the window allows.
    fn first_twenty(params: &Params, cwnd: f64, dwnd: f64) -> Vec<f64> {
        let mut cc = new(params, Start { ssthresh: 2.0, ..Start::with_window(cwnd) });
        cc.compound.dwnd = dwnd;
        let mut nxt = cc.cwnd().floor() as u64;
        (1..=20)
            .map(|una| {
                cc.on_ack(&ack(0.0, 0.1, una, nxt));
                nxt = nxt.max(una + cc.cwnd().floor() as u64);
                cc.compound.window.cwnd
            })
            .collect()
    }

    fn flat(runs: &[(f64, usize)]) -> Vec<f64> {
        runs.iter().flat_map(|&(cwnd, acks)| std::iter::repeat_n(cwnd, acks)).collect()
    }

    /// By hand, from 6 segments with dwnd = 0; without queue 0.125 * 6^0.8 < 1, so dwnd stays zero. The first ACK opens
    /// a round, which ends with the ACK of the first segment sent after it.
    ///
    /// - Equation 7: 6 -> 4 -> 3 -> 2. The first round opens at ACK 1 with offset 6 sent, the second at ACK 7 with 12,
    ///   the third at ACK 13: after ACK 7 four are in flight only when ACK 9 is in, so 13 to 16 are sent by ACK 12;
    ///   the fourth at ACK 17.
    /// - Equation 8: half a segment less at ACKs 7, 13 and, with five segments a round (floor of 5.5 and 5), 18.
    /// - Equation 9 and the literal 8: 6 throughout.
    #[test]
    fn the_first_twenty_acks_of_the_three_functions_match_hand_traces() {
        let with = |function, rounding| Params { function, rounding, ..Params::default() };
        let six = flat(&[(6.0, 20)]);
        assert_eq!(
            first_twenty(&with(Function::Multiplicative, Rounding::Real), 6.0, 0.0),
            flat(&[(6.0, 6), (4.0, 6), (3.0, 4), (2.0, 4)]),
        );
        assert_eq!(
            first_twenty(&with(Function::Linear, Rounding::Real), 6.0, 0.0),
            flat(&[(6.0, 6), (5.5, 6), (5.0, 5), (4.5, 3)]),
        );
        assert_eq!(first_twenty(&with(Function::Hold, Rounding::Real), 6.0, 0.0), six);
        assert_eq!(first_twenty(&with(Function::Linear, Rounding::Literal), 6.0, 0.0), six);
    }

    /// By hand: with dwnd > 0 all three are Compound, equation 2: 1/swnd per ACK, twenty times, from swnd = 40.
    #[test]
    fn with_a_delay_window_all_functions_grow_like_compound() {
        for function in [Function::Multiplicative, Function::Linear, Function::Hold] {
            let cwnd = first_twenty(&Params { function, ..Params::default() }, 30.0, 10.0);
            let mut expected = 30.0;
            for after in cwnd {
                expected += 1.0 / (expected + 10.0);
                assert_relative_eq!(after, expected, max_relative = 1e-12);
            }
        }
    }

    /// Printed: ceil(12.7 - 1/2) = 13 > 12.7, ceil(12.3 - 1/2) = 12; ceil(2 * 2 / 3) = 2 is a fixed point.
    #[test]
    fn literal_rounding_is_as_printed() {
        let cc = |function, rounding| new(&Params { function, rounding, ..Params::default() }, Start::with_window(1.0));
        let literal = cc(Function::Linear, Rounding::Literal);
        assert_eq!([12.7, 12.5, 12.3, 12.0].map(|x| literal.decreased(x)), [13.0, 12.0, 12.0, 12.0]);
        assert_eq!(cc(Function::Multiplicative, Rounding::Literal).decreased(2.0), 2.0);
        assert_eq!(cc(Function::Linear, Rounding::Real).decreased(12.7), 12.2);
    }

    /// Without a queue the guard lets a small window grow like Reno's; the paper's rule freezes it.
    #[test]
    fn the_guard_frees_small_windows_that_nothing_congests() {
        let last = |guard| {
            let params = Params { function: Function::Hold, guard, ..Params::default() };
            *first_twenty(&params, 6.0, 0.0).last().expect("twenty")
        };
        assert_eq!(last(false), 6.0);
        // Two rounds of growth begin at ACK 7: 14 ACKs of about 1/7.
        assert!((7.5..8.5).contains(&last(true)), "{}", last(true));
    }
}
