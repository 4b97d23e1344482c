//! The signal-to-noise ratio of a station that moves, leaves or comes back.

use wifair_config::table;
use wifair_units::{Db, Duration, Time};

use super::Stations;
use super::movement::LONGEST;

/// Largest change of the ratio at once, in dB, where it changes gradually.
const STEP_DB: f64 = 1.0;

table! {
    /// A change of the signal-to-noise ratio.
    pub struct SnrChange {
        /// When it begins.
        pub at: Duration;
        /// The ratio afterwards. At -20 dB the station is out of reach.
        pub to: Db, "from -20 dB to 100 dB" => |snr| (-20.0..=100.0).contains(&snr.0);
        /// How long it takes: the ratio changes linearly in dB, in steps of 1 dB at most. At once if zero.
        pub over: Duration = Duration::ZERO, "at most 100 h" => |over| *over <= LONGEST;
    }
}

impl Stations {
    /// The signal-to-noise ratios of the stations (not in dB), each with the time from which it applies; none without
    /// noise.
    pub fn signal_to_noise_ratios(&self) -> Vec<(Time, f64)> {
        let levels = self.snr.map_or(vec![], |first| levels(first, &self.snr_changes));
        levels.into_iter().map(|(since, snr)| (since, libm::pow(10.0, snr / 10.0))).collect()
    }
}

/// The ratios in dB with their times: `first`, and those of the changes after it. The ratio of each step is that of its
/// middle.
fn levels(Db(first): Db, changes: &[SnrChange]) -> Vec<(Time, f64)> {
    let (mut levels, mut before) = (vec![(Time::ZERO, first)], first);
    for &SnrChange { at, to: Db(to), over } in changes {
        let start = Time::ZERO + at;
        if over > Duration::ZERO {
            let steps = ((to - before).abs() / STEP_DB).ceil().max(1.0) as u64;
            levels.extend((0..steps).map(|step| {
                let middle = (step as f64 + 0.5) / steps as f64;
                (start + over * step / steps, before + (to - before) * middle)
            }));
        }
        levels.push((start + over, to));
        before = to;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at_s: u64, to: f64, over_s: u64) -> SnrChange {
        SnrChange { at: Duration::from_secs(at_s), to: Db(to), over: Duration::from_secs(over_s) }
    }

    fn from_30_db(changes: &[SnrChange]) -> Vec<(f64, f64)> {
        levels(Db(30.0), changes).into_iter().map(|(since, snr)| (since.as_secs(), snr)).collect()
    }

    #[test]
    fn a_change_at_once_is_one_step() {
        assert_eq!(from_30_db(&[change(2, 10.0, 0)]), [(0.0, 30.0), (2.0, 10.0)]);
    }

    /// From 30 to 27 dB in 3 s: 29.5, 28.5 and 27.5 dB for a second each; then up by half a decibel in one step.
    #[test]
    fn a_gradual_change_goes_by_steps_of_a_decibel() {
        let found = from_30_db(&[change(1, 27.0, 3), change(5, 27.5, 1)]);
        let expected = [(0.0, 30.0), (1.0, 29.5), (2.0, 28.5), (3.0, 27.5), (4.0, 27.0), (5.0, 27.25), (6.0, 27.5)];
        assert_eq!(found, expected);
    }
}
