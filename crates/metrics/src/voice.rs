//! How a telephone call sounds over a path: the E-model of ITU-T G.107.
//!
//! The rating is `R = 93.2 - Idd - Ie,eff`: 93.2 is the basic rating with all other parameters of the model at their
//! default values (G.107, clause 7.7 and table 2), so that noise, loudness and the talker's echo are not varied.
//!
//! * `Idd`, the impairment by absolute delay (clause 7.4), is zero up to 100 ms.
//! * `Ie,eff = Ie + (95 - Ie) * Ppl / (Ppl / BurstR + Bpl)` (clause 7.5), with `BurstR = 1`: losses count as
//!   independent.
//!
//! The codec is G.711 with packet loss concealment: `Ie = 0`, `Bpl = 25.1` (ITU-T G.113, appendix I). The delay is that
//! of the network and of a playout buffer that waits for the 99th percentile; a packet that arrives later counts as
//! lost. Delays in the terminals are left out.

use crate::Histogram;

const BASIC: f64 = 93.2;
const IE: f64 = 0.0;
const BPL: f64 = 25.1;
/// The percentile of the delay up to which the playout buffer waits.
const PLAYOUT: f64 = 0.99;

/// The rating R of a call with this mouth-to-ear delay in seconds and this fraction of packets lost, G.711 with packet
/// loss concealment; NaN if either is. 93.2 is the best; below 50 the model advises against.
///
/// ```
/// assert_eq!(wifair_metrics::r_factor(0.05, 0.0), 93.2);
/// ```
pub fn r_factor(delay_s: f64, loss: f64) -> f64 {
    let percent = 100.0 * loss;
    BASIC - delay_impairment(1e3 * delay_s) - (IE + (95.0 - IE) * percent / (percent + BPL))
}

/// `Idd` for a delay in ms, with the default sensitivity (sT = 1, mT = 100 ms).
fn delay_impairment(ms: f64) -> f64 {
    if ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(ms / 100.0);
    let sixth = |x: f64| libm::pow(1.0 + libm::pow(x, 6.0), 1.0 / 6.0);
    25.0 * (sixth(x) - 3.0 * sixth(x / 3.0) + 2.0)
}

/// The mean opinion score, 1 to 4.5, that corresponds to a rating (G.107, annex B).
///
/// ```
/// assert!((wifair_metrics::mean_opinion_score(80.0) - 4.02).abs() < 0.01);
/// ```
pub fn mean_opinion_score(r: f64) -> f64 {
    if r.is_nan() {
        f64::NAN
    } else if r <= 0.0 {
        1.0
    } else if r >= 100.0 {
        4.5
    } else {
        (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
    }
}

/// The rating of a call whose packets had the given `delays` and lost the fraction `loss`; NaN if none arrived.
pub fn call_rating(delays: &Histogram, loss: f64) -> f64 {
    match delays.percentile(PLAYOUT) {
        Some(playout) => {
            let late = delays.fraction_above(playout);
            r_factor(playout.as_secs(), loss + (1.0 - loss) * late)
        }
        None => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use wifair_units::Duration;

    use super::*;

    /// G.107, annex B, table B.1: ratings and the corresponding scores, to two digits.
    #[test]
    fn scores_equal_those_of_the_recommendation() {
        for (r, score) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            assert!((mean_opinion_score(r) - score).abs() < 0.01, "R {r}: {}", mean_opinion_score(r));
        }
        assert!((mean_opinion_score(93.2) - 4.41).abs() < 0.005);
    }

    /// ITU-T G.114, figure I.2 (the E-model with all else at its best): satisfied users up to about 275 ms, R 80.
    #[test]
    fn delay_and_loss_lower_the_rating() {
        assert!((r_factor(0.275, 0.0) - 80.0).abs() < 2.0, "{}", r_factor(0.275, 0.0));
        assert!((r_factor(0.1, 0.0) - r_factor(0.0, 0.0)).abs() < 1e-9);
        // Worked by hand: 5 % give 95 * 5 / (5 + 25.1) = 15.78.
        assert!((r_factor(0.0, 0.05) - (93.2 - 15.78)).abs() < 0.01);
    }

    #[test]
    fn packets_after_the_playout_time_are_lost() {
        let mut steady = Histogram::default();
        let mut spread = Histogram::default();
        for i in 0..1000 {
            steady.add(Duration::from_millis(20));
            spread.add(Duration::from_millis(if i < 5 { 900 } else { 20 }));
        }
        assert!((call_rating(&steady, 0.0) - 93.2).abs() < 1e-9);
        assert!((call_rating(&spread, 0.0) - r_factor(0.02, 0.005)).abs() < 1e-9);
        assert!(call_rating(&Histogram::default(), 1.0).is_nan());
    }
}
