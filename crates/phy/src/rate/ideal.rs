//! Ideal rate control: picks the mode with the best expected throughput at a known SINR.
//!
//! A real sender cannot know the SINR in advance, so this is an upper bound for other controls. The expected throughput
//! of a mode is its data rate times the probabilities that an MPDU and the response survive ([`FrameMode`]); the
//! response arrives with the SINR of the data. Each doubling of the width doubles the noise; streams share the power
//! evenly and do not interfere with each other. If power varies from frame to frame, the sender knows the mean and the
//! distribution, but not the next frame's power.

use wifair_units::Bytes;

use crate::{FrameMode, TxMode};

/// The lowest tabulated SINR in 20 MHz, in dB; below it the slowest mode is used.
const LOWEST: f64 = -10.0;
/// Table entries per dB.
const DENSITY: f64 = 4.0;
/// Number of table entries: up to 70 dB.
const ENTRIES: u32 = 320;

/// The index of the best of `modes`, all of them HT or later and each with the mode of its response, for an MPDU
/// and a response of these `lengths` at a mean SINR, as a ratio in 20 MHz with all power in one stream. The SINR of a
/// frame is the mean times one of these equally likely factors.
///
/// # Panics
/// If there is no mode or no factor, or a mode older than HT.
pub fn best_mode(modes: &[(TxMode, FrameMode)], lengths: (Bytes, Bytes), sinr: f64, factors: &[f64]) -> usize {
    assert!(!modes.is_empty() && !factors.is_empty(), "there is a mode to choose, and a factor");
    let rate = |mode: &TxMode| mode.data_rate().as_bps() as f64;
    let slowest = (0..modes.len()).min_by(|a, b| rate(&modes[*a].0).total_cmp(&rate(&modes[*b].0))).unwrap_or(0);
    let (mpdu_bits, response_bits) = (8.0 * lengths.0.0 as f64, 8.0 * lengths.1.0 as f64);
    let mut found = (slowest, 0.0);
    for (index, (mode, response)) in modes.iter().enumerate() {
        let survival = |frame: FrameMode, bits| {
            factors.iter().map(|factor| libm::exp(frame.log_survival(sinr * factor, bits))).sum::<f64>()
        };
        // Data and response fade independently.
        let throughput = rate(mode) * survival(FrameMode::Mcs(*mode), mpdu_bits) * survival(*response, response_bits);
        if throughput > found.1 {
            found = (index, throughput);
        }
    }
    found.0
}

/// [`best_mode`] by a table, for many SINRs.
#[derive(Clone, Debug)]
pub struct Ideal {
    slowest: usize,
    choices: Vec<usize>,
}

impl Ideal {
    /// The table for these modes with the rates of their responses, these lengths and these factors.
    ///
    /// # Panics
    /// If there is no mode or no factor, or a mode older than HT.
    pub fn new(modes: &[(TxMode, FrameMode)], lengths: (Bytes, Bytes), factors: &[f64]) -> Self {
        let best = |entry: u32| {
            let sinr = libm::pow(10.0, (LOWEST + f64::from(entry) / DENSITY) / 10.0);
            best_mode(modes, lengths, sinr, factors)
        };
        Self { slowest: best_mode(modes, lengths, 0.0, factors), choices: (0..ENTRIES).map(best).collect() }
    }

    /// The index of the best mode at `sinr`, a ratio in 20 MHz with all power in one stream.
    pub fn mode(&self, sinr: f64) -> usize {
        let entry = (10.0 * libm::log10(sinr) - LOWEST) * DENSITY;
        if entry.is_nan() || entry < 0.0 {
            return self.slowest;
        }
        self.choices[(entry as usize).min(self.choices.len() - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Amendment, BasicRates, Coding, ModeRequest, mcs_errors};

    /// MPDUs whose losses are published, and a block ACK of up to 64 of them.
    const LENGTHS: (Bytes, Bytes) = (Bytes(2000), Bytes(32));

    /// Modes of one stream in 20 MHz, with responses at the mandatory rates.
    fn modes_of(amendment: Amendment, coding: Coding, mcs: std::ops::Range<u32>) -> Vec<(TxMode, FrameMode)> {
        let mode = |mcs| {
            let request = ModeRequest { mcs: Some(mcs), coding: Some(coding), ..ModeRequest::default() };
            let mode = amendment.mode(&request).unwrap().1;
            (mode, FrameMode::NonHt(BasicRates::mandatory().response(mode).data_rate()))
        };
        mcs.map(mode).collect()
    }

    fn modes() -> Vec<(TxMode, FrameMode)> {
        modes_of(Amendment::N, Coding::Bcc, 0..8)
    }

    /// The success rates of 2000 bytes are published for OFDM (see [`crate::BitErrors`]). At 13 dB it is 0.495 for
    /// 16-QAM 1/2: of 26 Mb/s that leaves 12.9, less than QPSK 3/4 with 19.5; at 14 dB it is 0.974, which leaves 25.3.
    /// At 21 dB it is 0.649 for 64-QAM 2/3: that leaves 33.7, less than 39 of 16-QAM 3/4; at 22 dB it is 0.983, which
    /// leaves 51.1.
    #[test]
    fn the_best_expected_throughput() {
        let table = Ideal::new(&modes(), LENGTHS, &[1.0]);
        for (db, mcs) in [(13.0, 2), (14.0, 3), (21.0, 4), (22.0, 5), (-20.0, 0), (60.0, 7), (90.0, 7)] {
            let sinr = libm::pow(10.0, (db + 0.01) / 10.0);
            assert_eq!(table.mode(sinr), mcs, "{db} dB");
            assert_eq!(best_mode(&modes(), LENGTHS, sinr, &[1.0]), mcs, "{db} dB");
        }
        for (sinr, mcs) in [(0.0, 0), (f64::NAN, 0), (f64::INFINITY, 7)] {
            assert_eq!((table.mode(sinr), best_mode(&modes(), LENGTHS, sinr, &[1.0])), (mcs, mcs));
        }
    }

    #[test]
    fn more_signal_never_makes_it_slower() {
        let modes = modes();
        let ideal = Ideal::new(&modes, LENGTHS, &[1.0]);
        assert!(ideal.choices.windows(2).all(|pair| modes[pair[0]].0.data_rate() <= modes[pair[1]].0.data_rate()));
    }

    /// At 23.5 dB MCS 6 is nearly safe (0.958 at 23 dB). With Rayleigh fading (here quantiles of the exponential
    /// distribution) and a sharp threshold t, `exp(-t / SINR)` of the frames survive. Half of 2000 bytes do
    /// at 16.2, 20.9 and 22.1 dB with MCS 4, 5 and 6: that leaves 32.4 of 39 Mb/s, 30.0 of 52 and 28.4 of 58.5.
    #[test]
    fn fading_requires_a_margin() {
        let factors: Vec<f64> = (0..500).map(|place| -libm::log(1.0 - (f64::from(place) + 0.5) / 500.0)).collect();
        let sinr = libm::pow(10.0, 2.351);
        assert_eq!(Ideal::new(&modes()[..7], LENGTHS, &[1.0]).mode(sinr), 6);
        assert_eq!(Ideal::new(&modes()[..7], LENGTHS, &factors).mode(sinr), 4);
    }

    /// With LDPC, 16-QAM 1/2 survives at 9 dB, but its response at 24 Mb/s (16-QAM 1/2, BCC) does not, which survives
    /// from some 12 dB on. QPSK 3/4 is answered at 12 Mb/s (QPSK 1/2, BCC).
    #[test]
    fn a_mode_is_worth_nothing_if_its_response_is_lost() {
        let modes = modes_of(Amendment::Ax, Coding::Ldpc, 0..12);
        let sinr = libm::pow(10.0, 0.9);
        let survival = mcs_errors::log_survival(modes[3].0, sinr, 8.0 * 2000.0).unwrap();
        assert!(survival > -0.01, "{survival}");
        assert_eq!(best_mode(&modes, LENGTHS, sinr, &[1.0]), 2);
        assert_eq!(Ideal::new(&modes, LENGTHS, &[1.0]).mode(sinr), 2);
    }
}
