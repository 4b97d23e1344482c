//! Single-user EHT (802.11be): clause 36, an EHT MU PPDU for one station on the full width. MCS 0 to 13, 20 to 320 MHz,
//! 1 to 8 streams. EHT-SIG is sent with EHT-MCS 0: 52 bits in two symbols. Left out: MCS 14 and 15, punctured channels.

use wifair_units::Duration;

use crate::data_field::{PreambleFields, fields};
use crate::mcs_mode::{McsLimits, McsMode};
use crate::non_ht::LEGACY_PREAMBLE;
use crate::{ChannelWidth, Coding, GuardInterval, Ltf, ModeError, PpduFormat, TxVector, he};

/// A mode of 802.11be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EhtMode {
    pub(crate) common: McsMode,
    ltf: Ltf,
}

pub(crate) const LIMITS: McsLimits = McsLimits {
    name: "802.11be",
    highest_mcs: 13,
    note: " (14 and 15 are not modelled)",
    widths: &ChannelWidth::ALL,
    guard_intervals: he::LIMITS.guard_intervals,
};

impl EhtMode {
    /// MCS 0 to 13; 1 to 8 streams; 20 to 320 MHz; 800, 1600 or 3200 ns. If `ltf` is absent it is [`Ltf::usual`]; if
    /// `coding` is absent it is BCC where the standard allows it.
    pub fn new(
        mcs: u8,
        streams: u8,
        width: ChannelWidth,
        guard_interval: GuardInterval,
        ltf: Option<Ltf>,
        coding: Option<Coding>,
    ) -> Result<Self, ModeError> {
        let common = LIMITS.mode(mcs, streams, width, guard_interval)?;
        let ltf = ltf.unwrap_or(Ltf::usual(guard_interval));
        ltf.check(guard_interval, true)?;
        Ok(Self { common: he::with_coding(common, coding)?, ltf })
    }

    pub(crate) const fn vector(self) -> TxVector {
        TxVector { ltf: self.ltf, ..self.common.vector(PpduFormat::Eht) }
    }
}

pub(crate) fn preamble(training: Duration) -> PreambleFields {
    let us = Duration::from_micros;
    let [stf, ltf, sig] = LEGACY_PREAMBLE;
    fields(&[
        stf,
        ltf,
        sig,
        ("RL-SIG", us(4)),
        ("U-SIG", us(8)),
        ("EHT-SIG", us(8)),
        ("EHT-STF", us(4)),
        ("EHT-LTFs", training),
    ])
}
