//! How a frame is sent, as far as its losses to noise are concerned.

use wifair_units::BitRate;

use crate::{BitErrors, LegacyMode, TxMode, mcs_errors};

/// The modulation of a frame, which determines its losses to noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameMode {
    /// HT or later, see [`mcs_errors`].
    Mcs(TxMode),
    /// A rate before HT, see [`BitErrors`].
    NonHt(BitRate),
}

impl FrameMode {
    /// Natural logarithm of the probability that all of `bits` bits are right. `sinr` is a ratio in 20 MHz, with all
    /// power in one stream.
    ///
    /// # Panics
    /// If the mode is older than HT.
    pub fn log_survival(self, sinr: f64, bits: f64) -> f64 {
        match self {
            Self::Mcs(mode) => mcs_errors::log_survival(mode, sinr_of(mode, sinr), bits).expect("modes are from HT on"),
            Self::NonHt(rate) => {
                let is_ofdm = rate.as_bps() >= 6_000_000 && rate.as_bps() != 11_000_000;
                BitErrors::tables().log_survival(LegacyMode::of(rate, is_ofdm), sinr, bits)
            }
        }
    }
}

/// SINR per stream of `mode`, from that in 20 MHz with one stream.
fn sinr_of(mode: TxMode, sinr: f64) -> f64 {
    sinr * 20.0 / f64::from(mode.width().mhz()) / f64::from(mode.streams())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Amendment, ModeRequest};

    #[test]
    fn width_and_streams_cost_signal() {
        let request = ModeRequest { mcs: Some(9), width_mhz: Some(80), streams: Some(2), ..ModeRequest::default() };
        let mode = Amendment::Ax.mode(&request).unwrap().1;
        assert!((sinr_of(mode, 80.0) - 10.0).abs() < 1e-12);
    }
}
