//! Single-user HE (802.11ax): IEEE Std 802.11ax-2021, clause 27. MCS 0 to 11, 20 to 160 MHz, 1 to 8 streams, three
//! guard intervals, dual carrier modulation, extended range (HE ER SU). Left out: STBC, Doppler (midambles), multiple
//! users.

use wifair_units::Duration;

use crate::data_field::{DataField, PreambleFields, ShortSymbol, fields};
use crate::mcs_mode::{McsLimits, McsMode};
use crate::mode_parts::streams_text;
use crate::non_ht::LEGACY_PREAMBLE;
use crate::{ChannelWidth, CodeRate, Coding, GuardInterval, Ltf, ModeError, PpduFormat, TxVector};

/// Normal or extended range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HeRange {
    /// HE SU.
    #[default]
    Normal,
    /// HE ER SU on all 242 tones of 20 MHz: MCS 0 to 2, one stream.
    Extended242,
    /// HE ER SU on the upper 106 tones of 20 MHz: MCS 0, one stream.
    Extended106,
}

/// Rarely used options of an HE mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HeOptions {
    /// Dual carrier modulation (each bit on two subcarriers): MCS 0, 1, 3 and 4, at most two streams.
    pub dcm: bool,
    /// Long training fields; [`Ltf::usual`] if absent.
    pub ltf: Option<Ltf>,
    /// Extended range.
    pub range: HeRange,
    /// Code; if absent, BCC where the standard allows it (20 MHz, MCS 0 to 9, up to four streams), else LDPC.
    pub coding: Option<Coding>,
}

/// A mode of 802.11ax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeMode {
    pub(crate) common: McsMode,
    ltf: Ltf,
    range: HeRange,
    dcm: bool,
}

pub(crate) const LIMITS: McsLimits = McsLimits {
    name: "802.11ax",
    highest_mcs: 11,
    note: "",
    widths: ChannelWidth::ALL.split_at(4).0,
    guard_intervals: &[GuardInterval::Ns800, GuardInterval::Ns1600, GuardInterval::Ns3200],
};

impl HeMode {
    /// MCS 0 to 11; 1 to 8 streams; 20 to 160 MHz; 800, 1600 or 3200 ns.
    pub fn new(
        mcs: u8,
        streams: u8,
        width: ChannelWidth,
        guard_interval: GuardInterval,
        options: HeOptions,
    ) -> Result<Self, ModeError> {
        let common = LIMITS.mode(mcs, streams, width, guard_interval)?;
        let ltf = options.ltf.unwrap_or(Ltf::usual(guard_interval));
        ltf.check(guard_interval, false)?;
        if options.dcm && !(matches!(mcs, 0 | 1 | 3 | 4) && streams <= 2) {
            let message = format!(
                "no dual carrier modulation with MCS {mcs} and {}: it exists with MCS 0, 1, 3 and 4 and at most 2 streams",
                streams_text(streams)
            );
            return Err(ModeError::new("dcm", message));
        }
        // HE-SIG-A announces a 4x LTF with 800 ns by the bits of DCM and STBC, and neither applies then (27.3.11.7).
        if options.dcm && ltf == Ltf::X4 && guard_interval == GuardInterval::Ns800 {
            let message = "no dual carrier modulation with a 4x LTF and a guard interval of 800 ns: it exists with 1x and \
                           2x with 800 ns, 2x with 1600 ns, 4x with 3200 ns";
            return Err(ModeError::new("dcm", message));
        }
        let most = match options.range {
            HeRange::Normal => 11,
            HeRange::Extended242 => 2,
            HeRange::Extended106 => 0,
        };
        if options.range != HeRange::Normal && (mcs > most || streams > 1 || width > ChannelWidth::Mhz20) {
            let message = format!(
                "no extended range with MCS {mcs}, {} and {width}: it exists with 20 MHz, one stream, and MCS 0 to 2 on 242 \
                 tones or MCS 0 on 106 tones",
                streams_text(streams)
            );
            return Err(ModeError::new("extended_range", message));
        }
        let common = with_coding(common, options.coding)?;
        Ok(Self { common, ltf, range: options.range, dcm: options.dcm })
    }

    /// Whether each bit is sent on two subcarriers.
    pub const fn dcm(self) -> bool {
        self.dcm
    }

    /// Normal or extended.
    pub const fn range(self) -> HeRange {
        self.range
    }

    /// MCS 0 in the same format, for control responses.
    pub(crate) const fn lowest(self) -> Self {
        Self { common: McsMode { mcs: 0, ..self.common }, ..self }
    }

    pub(crate) fn vector(self) -> TxVector {
        let is_extended = self.range != HeRange::Normal;
        let vector = self.common.vector(if is_extended { PpduFormat::HeExtended } else { PpduFormat::He });
        let subcarriers = if self.range == HeRange::Extended106 { 102 } else { vector.subcarriers };
        TxVector { subcarriers, ltf: self.ltf, dcm: self.dcm, ..vector }
    }
}

/// Preamble fields (27.3.4, 27.4.3); HE-SIG-A is repeated for extended range.
pub(crate) fn preamble(signal_us: u64, training: Duration) -> PreambleFields {
    let us = Duration::from_micros;
    let [stf, ltf, sig] = LEGACY_PREAMBLE;
    fields(&[stf, ltf, sig, ("RL-SIG", us(4)), ("HE-SIG-A", us(signal_us)), ("HE-STF", us(4)), ("HE-LTFs", training)])
}

/// N_SD,short: the data subcarriers that count for a quarter of the last symbol, of `subcarriers` (27.3.12.2).
const fn short(subcarriers: u32) -> u32 {
    match subcarriers {
        102 => 24,
        234 => 60,
        468 => 120,
        980 => 240,
        1_960 => 492,
        3_920 => 984,
        unit => unit / 4,
    }
}

/// Whether a PPDU may use BCC: only in 20 MHz or less, up to MCS 9 and four streams (27.3.12.5.1).
pub(crate) const fn has_bcc(mcs: u8, streams: u8, subcarriers: u32) -> bool {
    mcs <= 9 && streams <= 4 && subcarriers <= 234
}

/// The code: BCC only where [`has_bcc`] allows it, LDPC everywhere.
pub(crate) fn with_coding(mode: McsMode, wanted: Option<Coding>) -> Result<McsMode, ModeError> {
    let McsMode { mcs, streams, width, .. } = mode;
    let bcc = has_bcc(mcs, streams, PpduFormat::He.subcarriers(width));
    if wanted == Some(Coding::Bcc) && !bcc {
        let message = format!(
            "no BCC with MCS {mcs}, {} and {width}: it exists with 20 MHz, MCS 0 to 9 and up to 4 streams, LDPC everywhere",
            streams_text(streams)
        );
        return Err(ModeError::new("coding", message));
    }
    Ok(McsMode { coding: wanted.unwrap_or(if bcc { Coding::Bcc } else { Coding::Ldpc }), ..mode })
}

/// Data field, whose last symbol may hold data in some of its quarters only (27.3.12).
pub(crate) fn data(symbols: DataField, subcarriers: u32) -> DataField {
    let CodeRate { data, coded } = symbols.code_rate;
    let coded_bits = symbols.coded_bits_per_symbol * short(subcarriers) / subcarriers;
    let short_symbol = Some(ShortSymbol { coded_bits, data_bits: coded_bits * data / coded });
    DataField { short_symbol, ..symbols.with_tails(1) }
}
