//! Single-user HE (802.11ax): IEEE Std 802.11ax-2021, clause 27. MCS 0 to 11, 20 to 160 MHz, 1 to 8 streams, three
//! guard intervals, dual carrier modulation, extended range (HE ER SU). Left out: STBC, Doppler (midambles), multiple
//! users.

use wifair_units::Duration;

use crate::non_ht::LEGACY_PREAMBLE;
use crate::ppdu::{DataField, PreambleFields, ShortSymbol, fields};
use crate::{ChannelWidth, Coding, GuardInterval, Ltf, ModeError, mcs};

/// Normal or extended range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeRange {
    /// HE SU.
    Normal,
    /// HE ER SU on all 242 tones of 20 MHz: MCS 0 to 2, one stream.
    Extended242,
    /// HE ER SU on the upper 106 tones of 20 MHz: MCS 0, one stream.
    Extended106,
}

/// Rarely used options of an HE mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

impl Default for HeOptions {
    fn default() -> Self {
        Self { dcm: false, ltf: None, range: HeRange::Normal, coding: None }
    }
}

/// A mode of 802.11ax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeMode {
    mcs: u8,
    streams: u8,
    width: ChannelWidth,
    guard_interval: GuardInterval,
    ltf: Ltf,
    range: HeRange,
    dcm: bool,
    coding: Coding,
}

impl HeMode {
    /// MCS 0 to 11; 1 to 8 streams; 20 to 160 MHz; 800, 1600 or 3200 ns.
    pub fn new(
        mcs: u8,
        streams: u8,
        width: ChannelWidth,
        guard_interval: GuardInterval,
        options: HeOptions,
    ) -> Result<Self, ModeError> {
        if mcs > 11 {
            return Err(ModeError::new("mcs", format!("no MCS {mcs} in 802.11ax: there are 0 to 11")));
        }
        if !(1..=8).contains(&streams) {
            return Err(ModeError::new("streams", format!("no {streams} streams in 802.11ax: there are 1 to 8")));
        }
        if width > ChannelWidth::Mhz160 {
            return Err(ModeError::new("width", format!("no {width} in 802.11ax: there are 20, 40, 80 and 160 MHz")));
        }
        check_guard_interval(guard_interval, "802.11ax")?;
        let ltf = options.ltf.unwrap_or(Ltf::usual(guard_interval));
        ltf.check(guard_interval)?;
        if options.dcm && !(matches!(mcs, 0 | 1 | 3 | 4) && streams <= 2) {
            let message = format!(
                "no dual carrier modulation with MCS {mcs} and {streams} streams: it exists with MCS 0, 1, 3 and 4 and at \
                 most 2 streams"
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
                "no extended range with MCS {mcs}, {streams} streams and {width}: it exists with 20 MHz, one stream, and MCS \
                 0 to 2 on 242 tones or MCS 0 on 106 tones"
            );
            return Err(ModeError::new("extended_range", message));
        }
        let coding = coding(mcs, streams, width, options.coding)?;
        Ok(Self { mcs, streams, width, guard_interval, ltf, range: options.range, dcm: options.dcm, coding })
    }

    getters! {
        /// 0 to 11.
        mcs: u8,
        /// 1 to 8.
        streams: u8,
        /// BCC or LDPC.
        coding: Coding,
        /// Width of the PPDU.
        width: ChannelWidth,
        /// 800, 1600 or 3200 ns.
        guard_interval: GuardInterval,
        /// Length of the training fields.
        ltf: Ltf,
        /// Whether each bit is sent on two subcarriers.
        dcm: bool,
        /// Normal or extended.
        range: HeRange,
    }

    /// MCS 0 in the same format, for control responses.
    pub(crate) const fn lowest(self) -> Self {
        Self { mcs: 0, ..self }
    }

    /// Preamble fields (27.3.4, 27.4.3); HE-SIG-A is repeated for extended range.
    pub(crate) fn preamble(self) -> PreambleFields {
        let us = Duration::from_micros;
        let [stf, ltf, sig] = LEGACY_PREAMBLE;
        let signal = if self.range == HeRange::Normal { 8 } else { 16 };
        fields(&[
            stf,
            ltf,
            sig,
            ("RL-SIG", us(4)),
            ("HE-SIG-A", us(signal)),
            ("HE-STF", us(4)),
            ("HE-LTFs", training(self.streams, self.ltf, self.guard_interval)),
        ])
    }

    /// N_SD and N_DBPS (27.5), with symbols of 12.8 us plus the guard interval.
    pub(crate) fn data(self) -> DataField {
        let tones = match self.range {
            HeRange::Extended106 => Tones { data: 102, short: 24, short_dcm: 12 },
            _ => tones(self.width),
        };
        data(mcs::of(self.mcs), self.streams, tones, self.guard_interval, self.coding, self.dcm)
    }
}

/// Data subcarriers of a resource unit: N_SD, and N_SD,short for a quarter of the last symbol (27.3.12.2).
#[derive(Clone, Copy)]
pub(crate) struct Tones {
    data: u32,
    short: u32,
    short_dcm: u32,
}

pub(crate) const fn tones(width: ChannelWidth) -> Tones {
    let (data, short) = match width {
        ChannelWidth::Mhz20 => (234, 60),
        ChannelWidth::Mhz40 => (468, 120),
        ChannelWidth::Mhz80 => (980, 240),
        ChannelWidth::Mhz160 => (1_960, 492),
        ChannelWidth::Mhz320 => (3_920, 984),
    };
    Tones { data, short, short_dcm: short / 2 }
}

/// The code: BCC only in 20 MHz up to MCS 9 and four streams (27.3.12.5.1), LDPC everywhere.
pub(crate) fn coding(mcs: u8, streams: u8, width: ChannelWidth, wanted: Option<Coding>) -> Result<Coding, ModeError> {
    let bcc = mcs <= 9 && streams <= 4 && width == ChannelWidth::Mhz20;
    match wanted {
        Some(Coding::Bcc) if !bcc => {
            let message = format!(
                "no BCC with MCS {mcs}, {streams} streams and {width}: it exists with 20 MHz, MCS 0 to 9 and up to 4 \
                 streams, LDPC everywhere"
            );
            Err(ModeError::new("coding", message))
        }
        Some(coding) => Ok(coding),
        None => Ok(if bcc { Coding::Bcc } else { Coding::Ldpc }),
    }
}

pub(crate) fn check_guard_interval(guard_interval: GuardInterval, name: &str) -> Result<(), ModeError> {
    if guard_interval == GuardInterval::Ns400 {
        let message = format!("no guard interval of {guard_interval} in {name}: there are 800, 1600 and 3200 ns");
        return Err(ModeError::new("guard_interval", message));
    }
    Ok(())
}

pub(crate) fn training(streams: u8, ltf: Ltf, guard_interval: GuardInterval) -> Duration {
    (ltf.duration() + guard_interval.duration()) * mcs::training_fields(streams)
}

pub(crate) fn data(
    parameters: mcs::McsParameters,
    streams: u8,
    tones: Tones,
    guard_interval: GuardInterval,
    coding: Coding,
    dcm: bool,
) -> DataField {
    let (subcarriers, short) = if dcm { (tones.data / 2, tones.short_dcm) } else { (tones.data, tones.short) };
    let per_subcarrier = parameters.bits_per_subcarrier * u32::from(streams);
    let rate = parameters.code_rate;
    let coded = subcarriers * per_subcarrier;
    let symbol = Duration::from_nanos(12_800) + guard_interval.duration();
    DataField {
        symbol,
        bits_per_symbol: coded * rate.data / rate.coded,
        bit_scale: 1,
        coded_bits_per_symbol: coded,
        overhead_bits: if coding == Coding::Bcc { 16 + 6 } else { 16 },
        grid: symbol,
        code_rate: rate,
        coding,
        pads_before_coding: true,
        short_symbol: Some(ShortSymbol {
            coded_bits: short * per_subcarrier,
            data_bits: short * per_subcarrier * rate.data / rate.coded,
        }),
    }
}
