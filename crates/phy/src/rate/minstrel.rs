//! Minstrel: picks the rate with the best throughput, from statistics of all rates.
//!
//! Sources: D. Smithies, "Minstrel rate control" (documentation of MadWifi, 2005); documentation of mac80211's Minstrel
//! by F. Fietkau (wireless.wiki.kernel.org). Ten times a second the success rate of each rate is averaged with its
//! previous value (the new one has a weight of a quarter), and the rates with the best throughput, with the second best
//! throughput and with the highest success rate are determined. The attempts of a frame go through a chain of four
//! rates, with as many attempts at each as fit into 6 ms:
//!
//! | | first | second | third | last |
//! |---|---|---|---|---|
//! | usual frame | best throughput | second best | highest success | lowest rate |
//! | sample of a slower rate | best throughput | sample | highest success | lowest rate |
//! | sample of a faster rate | sample | best throughput | highest success | lowest rate |
//!
//! A frame is given up at the end of the chain, unless the sender has a retry limit of its own: as in MadWifi and
//! mac80211, where the chain goes to the hardware and no other limit applies. One frame in ten is a sample. Left out:
//! sampling columns (a sample is drawn uniformly), and the finer rules of later kernels for samples that hardly ever
//! succeed.

use wifair_config::table;
use wifair_engine::Stream;
use wifair_units::{Duration, Time};

use super::RateControl;
use super::success::{SuccessRate, highest};

table! {
    /// Minstrel.
    pub struct Params {
        /// Time between two evaluations.
        pub interval: Duration = Duration::from_millis(100), "above 0" => |t| *t > Duration::ZERO;
        /// Weight of the previous value in the average.
        pub keep: f64 = 0.75, "from 0 to 1" => |keep| (0.0..=1.0).contains(keep);
        /// Fraction of frames that sample other rates.
        pub samples: f64 = 0.1, "from 0 to 1" => |share| (0.0..=1.0).contains(share);
        /// Longest total time of all attempts at one rate of the chain.
        pub segment: Duration = Duration::from_millis(6);
        /// Most attempts at one rate of the chain.
        pub most_attempts: u32 = 7, "1 or more" => |n| *n >= 1;
    }
}

#[derive(Clone, Debug)]
struct RateStatistics {
    /// Time of one exchange without errors, in s.
    time: f64,
    /// Attempts at this rate when it is in the chain.
    most_attempts: u32,
    success: SuccessRate,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Minstrel {
    params: Params,
    rates: Vec<RateStatistics>,
    best: usize,
    second: usize,
    surest: usize,
    evaluate_at: Time,
    /// Rates of the current frame.
    chain: [usize; 4],
}

impl Minstrel {
    /// `times` are the durations of an exchange at each rate, lowest rate first. `start` is used until statistics
    /// exist.
    pub fn new(params: &Params, start: usize, times: &[Duration], slot: Duration, cw_min: u32) -> Self {
        let rate = |time: &Duration| {
            // The attempts, with the mean backoffs between them, that fit into a segment.
            let mut attempts = 1;
            let (mut cw, mut spent) = (cw_min, *time);
            while attempts < params.most_attempts {
                spent += *time + slot * u64::from(cw) / 2;
                cw = (2 * cw + 1).min(1023);
                if spent > params.segment {
                    break;
                }
                attempts += 1;
            }
            RateStatistics { time: time.as_secs(), most_attempts: attempts, success: SuccessRate::default() }
        };
        Self {
            params: params.clone(),
            rates: times.iter().map(rate).collect(),
            best: start,
            second: start,
            surest: 0,
            evaluate_at: Time::ZERO + params.interval,
            chain: [start; 4],
        }
    }

    fn evaluate(&mut self) {
        for rate in &mut self.rates {
            rate.success.evaluate(self.params.keep);
        }
        let count = self.rates.len();
        let success = |index: usize| self.rates[index].success.average();
        let throughput = |index: usize| success(index) / self.rates[index].time;
        let best = highest(count, None, throughput).unwrap_or(0);
        let second = highest(count, Some(best), throughput).unwrap_or(best);
        let surest = highest(count, None, success).unwrap_or(0);
        (self.best, self.second, self.surest) = (best, second, surest);
    }

    /// The length of the chain of the current frame, in attempts.
    pub fn planned_attempts(&self) -> u8 {
        let attempts = self.chain.iter().map(|rate| self.rates[*rate].most_attempts).sum::<u32>();
        u8::try_from(attempts).unwrap_or(u8::MAX)
    }

    fn plan(&mut self, draws: &mut Stream) {
        let sample = draws.chance(self.params.samples).then(|| {
            let drawn = draws.below(self.rates.len() as u32);
            drawn as usize
        });
        self.chain = match sample {
            Some(sample) if self.rates[sample].time < self.rates[self.best].time => [sample, self.best, self.surest, 0],
            Some(sample) if sample != self.best => [self.best, sample, self.surest, 0],
            _ => [self.best, self.second, self.surest, 0],
        };
    }
}

impl RateControl for Minstrel {
    fn rate(&mut self, now: Time, attempt: u32, draws: &mut Stream) -> usize {
        if now >= self.evaluate_at {
            self.evaluate();
            self.evaluate_at = now + self.params.interval;
        }
        if attempt == 0 {
            self.plan(draws);
        }
        let mut before = 0;
        for rate in &self.chain[..3] {
            before += self.rates[*rate].most_attempts;
            if attempt < before {
                return *rate;
            }
        }
        self.chain[3]
    }

    fn on_result(&mut self, _now: Time, rate: usize, acknowledged: bool) {
        self.rates[rate].success.note(1, u32::from(acknowledged));
    }
}

#[cfg(test)]
mod tests {
    use wifair_engine::stream;
    use wifair_units::{BitRate, Bytes};

    use super::*;
    use crate::Timing;

    fn minstrel(mbps: &[u64]) -> Minstrel {
        let timing = Timing::erp_ofdm(BitRate::from_mbps(24));
        let times: Vec<Duration> = mbps.iter().map(|r| timing.frame(Bytes(1200), BitRate::from_mbps(*r))).collect();
        Minstrel::new(&Params::default(), 0, &times, timing.slot, 15)
    }

    /// Success rates 1, 0.9, 0.1 at 6, 24, 54 Mb/s: frames of 1630, 430 and 206 us give 0.6, 2.1 and 0.5 frames per
    /// millisecond.
    #[test]
    fn it_finds_the_rate_of_the_best_throughput() {
        let mut control = minstrel(&[6, 24, 54]);
        let (mut draws, mut chance) = (stream(1, "rate", "test"), stream(1, "loss", "test"));
        let mut used = [0_u32; 3];
        for frame in 0..20_000_u64 {
            let now = Time::from_nanos(frame * 1_000_000);
            let mut attempt = 0;
            loop {
                let rate = control.rate(now, attempt, &mut draws);
                used[rate] += u32::from(frame > 10_000 && attempt == 0);
                let acknowledged = chance.chance([1.0, 0.9, 0.1][rate]);
                control.on_result(now, rate, acknowledged);
                attempt += 1;
                if acknowledged {
                    break;
                }
            }
        }
        assert_eq!((control.best, control.surest), (1, 0));
        // A tenth of the frames are samples, and a third of these are faster: only those begin at another rate.
        let expected = 10_000.0 * 0.1 / 3.0;
        assert!((f64::from(used[2]) - expected).abs() < 4.0 * expected.sqrt(), "{used:?}");
        assert_eq!(used[0], 0, "a slower sample is only tried second");
    }

    /// All attempts of a frame at the starting rate fail. At the first evaluation nothing has succeeded, and as in
    /// mac80211 the lowest rate then counts as the best.
    #[test]
    fn it_leaves_a_rate_that_never_succeeds() {
        let mut control = Minstrel { best: 2, second: 2, ..minstrel(&[6, 24, 54]) };
        let mut draws = stream(1, "rate", "test");
        let first_of_frames = |control: &mut Minstrel, draws: &mut Stream, ms: u64| {
            let mut attempt = 0;
            while attempt < 7 {
                let rate = control.rate(Time::from_nanos(ms * 1_000_000), attempt, draws);
                control.on_result(Time::ZERO, rate, rate == 0);
                if rate == 0 {
                    return attempt;
                }
                attempt += 1;
            }
            attempt
        };
        let lost = (0..100).filter(|ms| first_of_frames(&mut control, &mut draws, *ms) == 7).count();
        assert!(lost > 80, "{lost}");
        // Samples are a tenth of the frames, and two thirds of them begin at a faster rate: 4 standard errors.
        let lost = (100..200).filter(|ms| first_of_frames(&mut control, &mut draws, *ms) == 7).count();
        assert!(control.best == 0 && lost < 17, "{lost}");
    }

    /// A single attempt of 9.8 ms already exceeds a segment. Six attempts of 300 us with backoffs of (15 + 31 + 63 +
    /// 127 + 255) / 2 slots of 9 us take 4.0 ms; a seventh with 511 / 2 slots makes it 6.6 ms.
    #[test]
    fn attempts_fit_into_a_segment() {
        let slow = Duration::from_micros(9_800);
        let fast = Duration::from_micros(300);
        let control = Minstrel::new(&Params::default(), 0, &[slow, fast], Duration::from_micros(9), 15);
        assert_eq!((control.rates[0].most_attempts, control.rates[1].most_attempts), (1, 6));
    }
}
