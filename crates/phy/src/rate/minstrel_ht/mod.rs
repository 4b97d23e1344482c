//! Minstrel-HT: picks the mode with the best throughput, from the success rates of MPDUs in aggregates.
//!
//! Source: Linux 6.18, mac80211, `rc80211_minstrel_ht` by F. Fietkau, its comments and commit messages.
//!
//! - Twenty times a second the success rates of all modes are averaged ([`modes`]). Four modes are chosen: those with
//!   the three best throughputs, and the most reliable one.
//! - The attempts of a PPDU go through these four modes in this order. Each mode has two to seven attempts, as many as
//!   fit into 6 ms, and two if its success rate is below a fifth. Attempts in all modes but the first begin with RTS
//!   and CTS.
//! - If fewer than a quarter of the MPDUs get through in the best or the second best mode, a mode of the next lower
//!   group that has no more streams takes its place at once.
//! - Every 20 ms the first attempt is a sample of another mode ([`samples`]). A PPDU that begins with a sample has a
//!   single MPDU, because drivers do not aggregate a frame that probes a rate (ath9k, mt76; in mac80211 the flag
//!   `IEEE80211_TX_CTL_RATE_CTRL_PROBE`).
//! - Lossy and slow modes limit the length of A-MSDUs.
//!
//! Linux has this for HT and VHT. Here HE and EHT have it too, with the same groups of modes: by width, guard interval
//! and streams. Left out: rates before HT. Departure: a PPDU is formed anew for each attempt, so MPDUs may join it.

mod modes;
mod samples;

use wifair_config::table;
use wifair_engine::Stream;
use wifair_units::{Bytes, Duration, Time};

use self::modes::{Modes, frac};
use self::samples::SampleLists;
use crate::TxMode;

table! {
    /// Minstrel-HT.
    pub struct Params {
        /// Time between two evaluations.
        pub interval: Duration = Duration::from_millis(50), "above 0" => |t| *t > Duration::ZERO;
        /// Period of the filter that averages success rates, in evaluations; changes faster than that are smoothed.
        pub filter_period: u32 = 16, "from 4 to 1000" => |n| (4..=1000).contains(n);
        /// Time between two samples, at most `interval`: one follows each evaluation.
        pub sample_interval: Duration = Duration::from_millis(20), "above 0" => |t| *t > Duration::ZERO;
        /// Longest total time of all attempts in one mode.
        pub segment: Duration = Duration::from_millis(6);
        /// Most attempts in one mode.
        pub most_attempts: u32 = 7, "2 or more" => |n| *n >= 2;
    }
}

/// A mode, by its index in [`Modes`], and how many attempts are left in it.
#[derive(Clone, Copy, Debug, Default)]
struct Stage {
    mode: usize,
    attempts: u32,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct MinstrelHt {
    params: Params,
    modes: Modes,
    samples: SampleLists,
    evaluate_at: Time,
    sample_at: Time,
    /// The stages of a PPDU that is no sample.
    table: [Stage; 4],
    /// The stages of the current PPDU, and which of them is the current one; none if it was acknowledged.
    chain: [Stage; 4],
    stage: Option<usize>,
    is_sample: bool,
}

impl MinstrelHt {
    /// Chooses among `modes` from `now` on, starting with the slowest.
    ///
    /// # Panics
    /// If there is no mode.
    pub fn new(params: &Params, modes: &[TxMode], now: Time, draws: &mut Stream) -> Self {
        assert!(!modes.is_empty(), "there is a mode to choose");
        let mut control = Self {
            params: params.clone(),
            modes: Modes::new(modes, params.filter_period),
            samples: SampleLists::default(),
            evaluate_at: now,
            sample_at: now,
            table: [Stage::default(); 4],
            chain: [Stage::default(); 4],
            stage: None,
            is_sample: false,
        };
        control.evaluate(now, draws);
        control
    }

    /// The index of the mode for the next attempt, in the list given at the start; the same one until its outcome is
    /// [reported](Self::on_result).
    pub fn mode(&mut self, now: Time, draws: &mut Stream) -> usize {
        if self.stage.is_none() {
            self.begin_chain(now, draws);
        }
        self.modes.place(self.current())
    }

    /// Reports that `acknowledged` of `sent` MPDUs in the mode last chosen were acknowledged.
    pub fn on_result(&mut self, sent: u32, acknowledged: u32) {
        self.modes.note(self.current(), sent, acknowledged);
        self.end_attempt(acknowledged > 0);
        if self.stage.is_none() {
            self.modes.note_ppdu(sent);
        }
    }

    /// Reports an RTS without CTS. It says nothing about the mode, but uses up one of the attempts that begin with RTS.
    pub fn on_lost_rts(&mut self) {
        if self.uses_rts() {
            self.end_attempt(false);
        }
    }

    fn end_attempt(&mut self, is_answered: bool) {
        let Some(stage) = self.stage else { return };
        let Stage { attempts, .. } = &mut self.chain[stage];
        *attempts -= 1;
        self.stage = match (is_answered, *attempts) {
            (true, _) => None,
            (false, 0) => Some(stage + 1).filter(|next| *next < self.chain.len()),
            _ => Some(stage),
        };
    }

    /// Whether the PPDU has a single MPDU, because its first attempt is or was a sample.
    pub fn is_single(&self) -> bool {
        self.is_sample && self.stage.is_some()
    }

    /// Whether RTS and CTS precede the PPDU in the mode chosen last, however short it is.
    pub fn uses_rts(&self) -> bool {
        self.stage.is_some_and(|stage| stage > 0)
    }

    /// Limit for the length of an A-MSDU, if any.
    pub fn longest_amsdu(&self) -> Option<Bytes> {
        self.modes.longest_amsdu()
    }

    fn current(&self) -> usize {
        self.chain[self.stage.unwrap_or(0)].mode
    }

    /// Chooses the modes of a PPDU.
    fn begin_chain(&mut self, now: Time, draws: &mut Stream) {
        if now >= self.evaluate_at {
            self.evaluate(now, draws);
        } else if self.modes.replace_failing() {
            self.fill_table();
        }
        (self.chain, self.stage, self.is_sample) = (self.table, Some(0), false);
        if now >= self.sample_at {
            self.sample_at = now + self.params.sample_interval;
            if let Some(mode) = self.samples.take() {
                self.is_sample = true;
                self.chain[0] = Stage { mode, attempts: 1 };
            }
        }
    }

    fn evaluate(&mut self, now: Time, draws: &mut Stream) {
        self.modes.evaluate();
        self.samples.refill(&self.modes, draws);
        (self.evaluate_at, self.sample_at) = (now + self.params.interval, now);
        self.fill_table();
    }

    fn fill_table(&mut self) {
        let [first, second, third, _] = self.modes.best;
        let stage = |(place, mode)| {
            let (with_rts, is_poor) = (place > 0, self.modes.probability(mode) < frac(20, 100));
            let attempts = if is_poor { 2 } else { self.modes.attempts(mode, with_rts, &self.params) };
            Stage { mode, attempts }
        };
        let table = [(0, first), (1, second), (2, third), (3, self.modes.surest)];
        self.table = table.map(stage);
    }
}

#[cfg(test)]
mod tests;
