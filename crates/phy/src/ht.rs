//! HT (802.11n): IEEE Std 802.11-2020, clause 19. MCS 0 to 31, equal modulation on all streams. Left out: MCS 32,
//! unequal modulation (MCS 33 to 76), STBC, extension spatial streams.

use wifair_units::Duration;

use crate::data_field::{DataField, PreambleFields, fields};
use crate::mcs_mode::{McsLimits, McsMode};
use crate::non_ht::LEGACY_PREAMBLE;
use crate::{ChannelWidth, Coding, GuardInterval, ModeError, PpduFormat, TxVector};

/// The format of an HT PPDU (19.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HtFormat {
    /// Begins like an OFDM PPDU, so that pre-HT stations defer.
    Mixed,
    /// Shorter, but unreadable for pre-HT stations.
    Greenfield,
}

/// A mode of 802.11n.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HtMode {
    pub(crate) common: McsMode,
    format: HtFormat,
}

pub(crate) const LIMITS: McsLimits = McsLimits {
    name: "802.11n",
    highest_mcs: 31,
    note: "",
    widths: &[ChannelWidth::Mhz20, ChannelWidth::Mhz40],
    guard_intervals: &[GuardInterval::Ns400, GuardInterval::Ns800],
};

impl HtMode {
    /// MCS 0 to 31 in HT-mixed format with BCC; `mcs / 8 + 1` streams; 20 or 40 MHz; 400 or 800 ns.
    pub fn new(mcs: u8, width: ChannelWidth, guard_interval: GuardInterval) -> Result<Self, ModeError> {
        let common = LIMITS.mode(mcs, mcs / 8 + 1, width, guard_interval)?;
        Ok(Self { common, format: HtFormat::Mixed })
    }

    /// The same mode in another format. Greenfield with one stream has no short guard interval.
    pub fn with_format(self, format: HtFormat) -> Result<Self, ModeError> {
        if format == HtFormat::Greenfield
            && self.common.streams == 1
            && self.common.guard_interval == GuardInterval::Ns400
        {
            let message = "no guard interval of 400 ns with one stream in HT-greenfield format: there is 800 ns";
            return Err(ModeError::new("guard_interval", message));
        }
        Ok(Self { format, ..self })
    }

    /// The same mode with another code.
    #[must_use]
    pub const fn with_coding(self, coding: Coding) -> Self {
        Self { common: McsMode { coding, ..self.common }, ..self }
    }

    /// Mixed or greenfield.
    pub const fn format(self) -> HtFormat {
        self.format
    }

    pub(crate) const fn vector(self) -> TxVector {
        self.common.vector(PpduFormat::Ht(self.format))
    }
}

/// 19.4.3: T_LEG_PREAMBLE, T_L_SIG, T_HT_SIG, T_HT_PREAMBLE; or T_GF_HT_PREAMBLE, T_HT_SIG.
pub(crate) fn preamble(format: HtFormat, training: u64) -> PreambleFields {
    let us = Duration::from_micros;
    match format {
        HtFormat::Mixed => {
            let [stf, ltf, sig] = LEGACY_PREAMBLE;
            fields(&[stf, ltf, sig, ("HT-SIG", us(8)), ("HT-STF", us(4)), ("HT-LTFs", us(4 * training))])
        }
        HtFormat::Greenfield => {
            fields(&[("HT-GF-STF", us(8)), ("HT-LTF1", us(8)), ("HT-SIG", us(8)), ("HT-LTFs", us(4 * (training - 1)))])
        }
    }
}

/// 19.3.5 and 19.4.3: one BCC encoder up to 300 Mb/s (1200 bits in 4 us), two above. In a mixed-format PPDU with a
/// short guard interval the data field is rounded up to 4 us, so that pre-HT stations can compute its end.
pub(crate) fn data(format: HtFormat, symbols: DataField) -> DataField {
    let encoders = if symbols.bits_per_symbol > 1_200 { 2 } else { 1 };
    let grid = if format == HtFormat::Mixed { Duration::from_micros(4) } else { symbols.symbol };
    DataField { grid, pads_before_coding: false, ..symbols.with_tails(encoders) }
}
