//! Minstrel-HT: picks the mode with the best throughput, from statistics of MPDUs in aggregates.
//!
//! Source: Linux, mac80211, `rc80211_minstrel_ht` by F. Fietkau, its comments and commit messages. Twenty times a
//! second the success rate of each mode is averaged with the previous value (the new one has a weight of a quarter).
//! The throughput of a mode is
//!
//! ```text
//! min(p, 0.9) / (overhead / mean MPDUs of an aggregate + air time of an MPDU of 1200 bytes),   0 where p < 0.1
//! ```
//!
//! A PPDU is sent at the mode with the best throughput; if unanswered, at the second best, then at the most reliable
//! mode. That is the mode with the highest success rate or, if several exceed 0.95, the one among them with the best
//! throughput. Every 20 ms one PPDU is a sample: a single MPDU, because drivers do not aggregate a frame that probes a
//! rate (ath9k, mt76; in mac80211 the flag `IEEE80211_TX_CTL_RATE_CTRL_PROBE`). Samples try, in turn: a mode one step
//! faster, any faster mode, one step faster, any faster mode, one step faster, and any slower mode that could still
//! beat the most reliable one. A mode that failed as a sample is sampled again only after the next evaluation.
//!
//! Left out: groups of modes and their sampling order (here a step is one in the order of air times), rates before HT,
//! the filter that replaces the average in later kernels, RTS for modes that fail, the four-entry list of best
//! throughputs.

use wifair_config::table;
use wifair_engine::Stream;
use wifair_units::{Bytes, Duration, Time};

use super::success::{SuccessRate, highest};
use crate::{Band, PpduTiming, TxMode};

table! {
    /// Minstrel-HT.
    pub struct Params {
        /// Time between two evaluations.
        pub interval: Duration = Duration::from_millis(50), "above 0" => |t| *t > Duration::ZERO;
        /// Weight of the previous value in the average.
        pub keep: f64 = 0.75, "from 0 to 1" => |keep| (0.0..=1.0).contains(keep);
        /// Time between two samples.
        pub sample_interval: Duration = Duration::from_millis(20), "above 0" => |t| *t > Duration::ZERO;
    }
}

/// The MPDU length used to compare modes.
const REFERENCE: Bytes = Bytes(1200);

#[derive(Clone, Debug)]
struct Statistics {
    /// Index of the mode in the sender's list.
    place: usize,
    /// Air time of [`REFERENCE`] without preamble, in s.
    time: f64,
    /// Preamble and extension, in s.
    fixed: f64,
    success: SuccessRate,
    /// Whether it was sampled since the last evaluation.
    sampled: bool,
}

#[derive(Clone, Copy, Debug)]
enum Sample {
    NextFaster,
    AnyFaster,
    AnySlower,
}

const SAMPLES: [Sample; 6] = [
    Sample::NextFaster,
    Sample::AnyFaster,
    Sample::NextFaster,
    Sample::AnyFaster,
    Sample::NextFaster,
    Sample::AnySlower,
];

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct MinstrelHt {
    params: Params,
    /// Slowest first.
    modes: Vec<Statistics>,
    /// Indices into `modes`, by position in the sender's list.
    by_place: Vec<usize>,
    /// Contention, SIFS and response, in s.
    overhead: f64,
    mean_mpdus: f64,
    best: usize,
    second: usize,
    surest: usize,
    evaluate_at: Time,
    sample_at: Time,
    samples: usize,
    /// Modes of the current PPDU and its retries.
    chain: [usize; 3],
    is_sample: bool,
}

impl MinstrelHt {
    /// Chooses among `modes`, starting with the slowest. `overhead` is the duration of an exchange without its data
    /// PPDU.
    ///
    /// # Panics
    /// If there is no mode.
    pub fn new(params: &Params, modes: &[TxMode], band: Band, overhead: Duration) -> Self {
        assert!(!modes.is_empty(), "there is a mode to choose");
        let statistics = |(place, mode): (usize, &TxMode)| {
            let rate = mode.data_rate().as_bps() as f64;
            let fixed = PpduTiming::new(*mode, band).preamble() + band.signal_extension();
            Statistics {
                place,
                time: 8.0 * REFERENCE.0 as f64 / rate,
                fixed: fixed.as_secs(),
                success: SuccessRate::default(),
                sampled: false,
            }
        };
        let mut ordered: Vec<Statistics> = modes.iter().enumerate().map(statistics).collect();
        ordered.sort_by(|a, b| b.time.total_cmp(&a.time));
        let mut by_place = vec![0; ordered.len()];
        for (index, mode) in ordered.iter().enumerate() {
            by_place[mode.place] = index;
        }
        Self {
            params: params.clone(),
            modes: ordered,
            by_place,
            overhead: overhead.as_secs(),
            mean_mpdus: 1.0,
            best: 0,
            second: 0,
            surest: 0,
            evaluate_at: Time::ZERO + params.interval,
            sample_at: Time::ZERO + params.sample_interval,
            samples: 0,
            chain: [0; 3],
            is_sample: false,
        }
    }

    /// Whether the PPDU for which a mode was chosen last is a sample, which has one MPDU.
    pub const fn is_sample(&self) -> bool {
        self.is_sample
    }

    /// The index of the mode for a PPDU; `attempt` counts consecutive unanswered attempts.
    pub fn mode(&mut self, now: Time, attempt: u32, draws: &mut Stream) -> usize {
        if now >= self.evaluate_at {
            self.evaluate();
            self.evaluate_at = now + self.params.interval;
        }
        self.is_sample = false;
        if attempt == 0 {
            self.chain = [self.best, self.second, self.surest];
            if now >= self.sample_at {
                self.sample_at = now + self.params.sample_interval;
                if let Some(sample) = self.sample(draws) {
                    self.modes[sample].sampled = true;
                    self.is_sample = true;
                    self.chain = [sample, self.best, self.surest];
                }
            }
        }
        self.modes[self.chain[(attempt as usize).min(2)]].place
    }

    /// Reports that `acknowledged` of `sent` MPDUs in a PPDU at mode `place` were acknowledged.
    pub fn on_result(&mut self, place: usize, sent: u32, acknowledged: u32) {
        let mode = &mut self.modes[self.by_place[place]];
        mode.success.note(sent, acknowledged);
        // An average over some tens of aggregates.
        self.mean_mpdus += (f64::from(sent) - self.mean_mpdus) / 16.0;
    }

    /// Throughput in MPDUs of the reference length per second.
    fn throughput(&self, mode: &Statistics, probability: f64) -> f64 {
        if probability < 0.1 {
            return 0.0;
        }
        probability.min(0.9) / ((self.overhead + mode.fixed) / self.mean_mpdus.max(1.0) + mode.time)
    }

    fn evaluate(&mut self) {
        for mode in &mut self.modes {
            mode.sampled = false;
            mode.success.evaluate(self.params.keep);
        }
        let known = |index: usize| self.modes[index].success.average();
        let throughput = |index: usize| self.throughput(&self.modes[index], known(index));
        let count = self.modes.len();
        let best = highest(count, None, throughput).unwrap_or(0);
        let second = highest(count, Some(best), throughput).unwrap_or(0);
        let sure = |index: usize| if known(index) > 0.95 { throughput(index) } else { 0.0 };
        let surest = highest(count, None, sure).or_else(|| highest(count, None, known)).unwrap_or(0);
        (self.best, self.second, self.surest) = (best, second, surest);
    }

    fn sample(&mut self, draws: &mut Stream) -> Option<usize> {
        let kind = SAMPLES[self.samples % SAMPLES.len()];
        self.samples += 1;
        let surest = &self.modes[self.surest];
        let to_beat = self.throughput(surest, surest.success.average());
        let (from, to) = match kind {
            Sample::NextFaster => (self.best + 1, (self.best + 2).min(self.modes.len())),
            Sample::AnyFaster => (self.best + 1, self.modes.len()),
            Sample::AnySlower => (0, self.best),
        };
        let is_worth_it = |index: &usize| {
            let mode = &self.modes[*index];
            !mode.sampled && (*index > self.best || self.throughput(mode, 1.0) > to_beat)
        };
        let count = (from..to).filter(is_worth_it).count();
        if count == 0 {
            return None;
        }
        let drawn = draws.below(count as u32) as usize;
        (from..to).filter(is_worth_it).nth(drawn)
    }
}

#[cfg(test)]
mod tests {
    use wifair_engine::stream;

    use super::*;
    use crate::{Amendment, ModeRequest};

    fn modes() -> Vec<TxMode> {
        // Not sorted by rate: HT MCS 0 to 15 has 13 Mb/s both as MCS 1 and as MCS 8.
        let mode = |mcs| Amendment::N.mode(&ModeRequest { mcs: Some(mcs), ..ModeRequest::default() }).unwrap().1;
        (0..16).map(mode).collect()
    }

    /// Sends a PPDU of 20 MPDUs, or of one as a sample, every millisecond for `seconds`; returns how often each mode
    /// was used in the second half, and in how many PPDUs.
    fn run(success: impl Fn(usize) -> f64, seconds: u64) -> (Vec<u32>, u32) {
        let modes = modes();
        let mut control = MinstrelHt::new(&Params::default(), &modes, Band::Ghz5, Duration::from_micros(160));
        let (mut draws, mut chance) = (stream(1, "rate", "test"), stream(1, "loss", "test"));
        let (mut used, mut ppdus) = (vec![0; modes.len()], 0);
        let mut attempt = 0;
        for ms in 0..1000 * seconds {
            let mode = control.mode(Time::from_nanos(ms * 1_000_000), attempt, &mut draws);
            let sent = if control.is_sample() { 1 } else { 20 };
            let acknowledged = (0..sent).filter(|_| chance.chance(success(mode))).count();
            control.on_result(mode, sent, u32::try_from(acknowledged).unwrap());
            attempt = if acknowledged == 0 { attempt + 1 } else { 0 };
            if ms >= 500 * seconds {
                used[mode] += 1;
                ppdus += 1;
            }
        }
        (used, ppdus)
    }

    /// MCS 12 (78 Mb/s) succeeds nine times in ten, faster modes (13 to 15) once in five: 78 * 0.9 is above 130 * 0.2.
    /// At most one PPDU in twenty is a sample.
    #[test]
    fn it_finds_the_mode_of_the_best_throughput() {
        let (used, ppdus) = run(|mode| if mode >= 13 { 0.2 } else { 0.9 }, 20);
        let best = used[12];
        assert!(f64::from(best) > 0.94 * f64::from(ppdus), "{used:?}");
        assert!(used[13..].iter().sum::<u32>() > 0, "it goes on to try faster modes: {used:?}");
    }

    /// Two streams never get through: the best mode has one, MCS 7.
    #[test]
    fn it_leaves_modes_that_never_succeed() {
        let (used, ppdus) = run(|mode| if mode >= 8 { 0.0 } else { 1.0 }, 10);
        assert!(f64::from(used[7]) > 0.9 * f64::from(ppdus), "{used:?}");
    }

    /// Everything succeeds: samples of faster modes lead from the slowest to the fastest within a second or two.
    #[test]
    fn it_climbs() {
        let (used, ppdus) = run(|_| 1.0, 4);
        assert!(f64::from(used[15]) > 0.9 * f64::from(ppdus), "{used:?}");
    }

    /// An unanswered PPDU is repeated at the second best mode, then at the most reliable.
    #[test]
    fn unanswered_ppdus_go_down_the_chain() {
        let modes = modes();
        let mut control = MinstrelHt::new(&Params::default(), &modes, Band::Ghz5, Duration::from_micros(160));
        let mut draws = stream(1, "rate", "test");
        for (mode, acknowledged) in [(15, 50), (14, 90), (7, 96), (0, 100)] {
            control.on_result(mode, 100, acknowledged);
        }
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        control.sample_at = Time::NEVER;
        // 130 * 0.5 = 65, 117 * 0.9 = 105, 65 * 0.9 = 58 (0.96 counts as 0.9), and MCS 7 is the faster of the two modes
        // above 0.95.
        let chain: Vec<usize> = (0..4).map(|attempt| control.mode(at(50), attempt, &mut draws)).collect();
        assert_eq!(chain, [14, 15, 7, 7]);
    }
}
