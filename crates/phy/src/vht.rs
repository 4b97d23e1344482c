//! Single-user VHT (802.11ac): IEEE Std 802.11-2020, clause 21. MCS 0 to 9, 20 to 160 MHz, 1 to 8 streams. Left out:
//! STBC, multiple users.

use wifair_units::Duration;

use crate::data_field::{DataField, PreambleFields, fields};
use crate::mcs_mode::{McsLimits, McsMode};
use crate::mode_parts::{list, streams_text};
use crate::non_ht::LEGACY_PREAMBLE;
use crate::{ChannelWidth, Coding, GuardInterval, ModeError, PpduFormat, TxVector};

/// A mode of 802.11ac.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VhtMode {
    pub(crate) common: McsMode,
}

pub(crate) const LIMITS: McsLimits = McsLimits {
    name: "802.11ac",
    highest_mcs: 9,
    note: "",
    widths: ChannelWidth::ALL.split_at(4).0,
    guard_intervals: &[GuardInterval::Ns400, GuardInterval::Ns800],
};

impl VhtMode {
    /// MCS 0 to 9 with BCC; 1 to 8 streams; 20 to 160 MHz; 400 or 800 ns.
    pub fn new(mcs: u8, streams: u8, width: ChannelWidth, guard_interval: GuardInterval) -> Result<Self, ModeError> {
        let common = LIMITS.mode(mcs, streams, width, guard_interval)?;
        if !exists(mcs, streams, width) {
            let there: Vec<u8> = (1..=8).filter(|n| exists(mcs, *n, width)).collect();
            let own = streams_text(streams);
            let message = format!(
                "no MCS {mcs} with {own} and {width} in 802.11ac: there it exists with {} streams, and {own} with MCS {}",
                list(&there),
                list(&(0..=9).filter(|m| exists(*m, streams, width)).collect::<Vec<u8>>()),
            );
            return Err(ModeError::new("mcs", message));
        }
        Ok(Self { common })
    }

    /// The same mode with another code.
    #[must_use]
    pub const fn with_coding(self, coding: Coding) -> Self {
        Self { common: McsMode { coding, ..self.common } }
    }

    pub(crate) const fn vector(self) -> TxVector {
        self.common.vector(PpduFormat::Vht)
    }
}

/// Preamble fields (21.4.3).
pub(crate) fn preamble(training: u64) -> PreambleFields {
    let us = Duration::from_micros;
    let [stf, ltf, sig] = LEGACY_PREAMBLE;
    fields(&[
        stf,
        ltf,
        sig,
        ("VHT-SIG-A", us(8)),
        ("VHT-STF", us(4)),
        ("VHT-LTFs", us(4 * training)),
        ("VHT-SIG-B", us(4)),
    ])
}

/// Data field (21.3.10, 21.4.3).
pub(crate) fn data(symbols: DataField) -> DataField {
    let DataField { coded_bits_per_symbol, bits_per_symbol, code_rate, .. } = symbols;
    let encoders = encoders(coded_bits_per_symbol, bits_per_symbol, code_rate.coded);
    DataField { grid: Duration::from_micros(4), ..symbols.with_tails(encoders) }
}

/// The number of BCC encoders, N_ES: the smallest for which no encoder exceeds 600 Mb/s (2160 bits in 3.6 us) and each
/// fills a symbol with whole puncturing blocks. This gives the column N_ES of tables 21-30 to 21-61, which ends at 12.
fn encoders(coded: u32, data: u32, block: u32) -> u32 {
    let least = data.div_ceil(2_160);
    (least..=12).find(|n| coded.is_multiple_of(n * block) && data.is_multiple_of(*n)).unwrap_or(least)
}

/// Whether tables 21-30 to 21-61 contain this combination.
const fn exists(mcs: u8, streams: u8, width: ChannelWidth) -> bool {
    !matches!(
        (width, mcs, streams),
        (ChannelWidth::Mhz20, 9, 1 | 2 | 4 | 5 | 7 | 8)
            | (ChannelWidth::Mhz80, 6, 3 | 7)
            | (ChannelWidth::Mhz80, 9, 6)
            | (ChannelWidth::Mhz160, 9, 3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N_ES of tables 21-30 to 21-61 where it is not `ceil(N_DBPS / 2160)`, after E. Perahia and R. Stacey, Next
    /// Generation Wireless LANs, 2nd edition, table 7.13.
    #[test]
    fn encoders_of_the_irregular_combinations() {
        for (width, streams, mcs, encoders) in [
            (80, 7, 2, 3),
            (80, 7, 7, 6),
            (80, 7, 8, 6),
            (80, 8, 7, 6),
            (160, 4, 7, 6),
            (160, 5, 5, 5),
            (160, 5, 8, 8),
            (160, 6, 7, 8),
            (160, 7, 4, 6),
            (160, 7, 7, 9),
            (160, 7, 8, 12),
            (160, 7, 9, 12),
            (160, 8, 5, 8),
            (160, 8, 8, 12),
        ] {
            let width = ChannelWidth::from_mhz(width).unwrap();
            let mode = VhtMode::new(mcs, streams, width, GuardInterval::Ns800).unwrap();
            assert_eq!(mode.vector().data().overhead_bits, 16 + 6 * encoders, "MCS {mcs}, {streams} streams, {width}");
        }
    }

    #[test]
    fn a_combination_that_is_left_out_names_those_that_exist() {
        let error = VhtMode::new(9, 1, ChannelWidth::Mhz20, GuardInterval::Ns800).unwrap_err();
        assert_eq!(
            error.message,
            "no MCS 9 with 1 stream and 20 MHz in 802.11ac: there it exists with 3 and 6 streams, and 1 stream with MCS 0, \
             1, 2, 3, 4, 5, 6, 7 and 8"
        );
        let left_out = |width| {
            (0..=9)
                .flat_map(|mcs| (1..=8).map(move |streams| (mcs, streams)))
                .filter(|(mcs, streams)| VhtMode::new(*mcs, *streams, width, GuardInterval::Ns400).is_err())
                .count()
        };
        assert_eq!(ChannelWidth::ALL[..4].iter().map(|width| left_out(*width)).collect::<Vec<_>>(), [6, 0, 3, 1]);
    }
}
