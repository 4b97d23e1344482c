//! Rate adaptation: the rate at which the next attempt is sent.
//!
//! An algorithm serves one sender and one receiver. It identifies rates by their index in a ladder, lowest first, and
//! learns for each attempt of a data frame whether the ACK arrived. Only [`MinstrelHt`] learns of an RTS without CTS.

mod aarf;
mod arf;
mod ideal;
mod minstrel;
mod minstrel_ht;
mod success;

use wifair_config::choice;
use wifair_engine::Stream;
use wifair_units::{BitRate, Bytes, Duration, Time};

pub use aarf::Aarf;
pub use arf::Arf;
pub use ideal::{Ideal, best_mode};
pub use minstrel::Minstrel;
pub use minstrel_ht::MinstrelHt;

use super::Timing;

/// Parameters of [`Aarf`].
pub use aarf::Params as AarfParams;
/// Parameters of [`Arf`].
pub use arf::Params as ArfParams;
/// Parameters of [`Minstrel`].
pub use minstrel::Params as MinstrelParams;
/// Parameters of [`MinstrelHt`].
pub use minstrel_ht::Params as MinstrelHtParams;

choice! {
    /// How a sender chooses the rate of data frames.
    pub enum Adaptation {
        /// Each station has a fixed rate.
        Fixed = "fixed",
        /// Up after ten ACKs in a row, down after two failures, or at once if the new rate fails.
        Arf(arf::Params) = "arf" from "A. Kamerman and L. Monteban, WaveLAN-II, 1997",
        /// As ARF, but a rate that failed is retried after longer and longer intervals.
        Aarf(aarf::Params) = "aarf" from "M. Lacage, M. Manshaei and T. Turletti, 2004",
        /// The rate with the best throughput, from statistics of all rates; a tenth of the frames sample other rates.
        Minstrel(minstrel::Params) = "minstrel" from "D. Smithies, MadWifi, 2005; F. Fietkau, mac80211, 2008",
        /// The mode with the best throughput (802.11n and later), from statistics of MPDUs in aggregates.
        MinstrelHt(minstrel_ht::Params) = "minstrel-ht" from "F. Fietkau, mac80211, 2010",
        /// The mode with the best expected throughput at a known SNR (802.11n and later): an upper bound for the
        /// others.
        Ideal = "ideal",
    }
}

/// The interface of every algorithm.
pub trait RateControl {
    /// The rate for an attempt; `attempt` counts the attempts of one frame from 0.
    fn rate(&mut self, now: Time, attempt: u32, draws: &mut Stream) -> usize;

    /// Reports the outcome of an attempt at this rate.
    fn on_result(&mut self, now: Time, rate: usize, acknowledged: bool);
}

/// One of the algorithms.
#[derive(Clone, Debug)]
pub enum RateController {
    /// See [`Arf`].
    Arf(Arf),
    /// See [`Aarf`].
    Aarf(Aarf),
    /// See [`Minstrel`].
    Minstrel(Minstrel),
}

impl RateController {
    /// The algorithm for a ladder of rates, starting at index `start`; `cw_min` is the sender's. `None` if rates are
    /// fixed, or if the algorithm chooses among modes (HT and later).
    ///
    /// # Panics
    /// If the ladder is empty or does not contain `start`.
    pub fn new(chosen: &Adaptation, ladder: &[BitRate], start: usize, timing: &Timing, cw_min: u32) -> Option<Self> {
        assert!(start < ladder.len(), "the ladder has the rate to start with");
        let top = ladder.len() - 1;
        match chosen {
            Adaptation::Fixed | Adaptation::MinstrelHt(_) | Adaptation::Ideal => None,
            Adaptation::Arf(params) => Some(Self::Arf(Arf::new(params, start, top))),
            Adaptation::Aarf(params) => Some(Self::Aarf(Aarf::new(params, start, top))),
            Adaptation::Minstrel(params) => {
                let air = |rate: &BitRate| timing.frame(Bytes(1200), *rate) + timing.sifs + timing.ack();
                let times: Vec<Duration> = ladder.iter().map(air).collect();
                Some(Self::Minstrel(Minstrel::new(params, start, &times, timing.slot, cw_min)))
            }
        }
    }
}

impl RateController {
    /// How many attempts are planned for the current frame; `None` if the algorithm does not plan them.
    pub fn planned_attempts(&self) -> Option<u8> {
        match self {
            Self::Arf(_) | Self::Aarf(_) => None,
            Self::Minstrel(control) => Some(control.planned_attempts()),
        }
    }
}

impl RateControl for RateController {
    fn rate(&mut self, now: Time, attempt: u32, draws: &mut Stream) -> usize {
        match self {
            Self::Arf(control) => control.rate(now, attempt, draws),
            Self::Aarf(control) => control.rate(now, attempt, draws),
            Self::Minstrel(control) => control.rate(now, attempt, draws),
        }
    }

    fn on_result(&mut self, now: Time, rate: usize, acknowledged: bool) {
        match self {
            Self::Arf(control) => control.on_result(now, rate, acknowledged),
            Self::Aarf(control) => control.on_result(now, rate, acknowledged),
            Self::Minstrel(control) => control.on_result(now, rate, acknowledged),
        }
    }
}
