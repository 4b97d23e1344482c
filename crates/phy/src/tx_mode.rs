//! Transmit modes: one type for every modulation class from DSSS to EHT.

use std::fmt;

use wifair_units::{BitRate, Bytes, Duration};

use crate::data_field::{DataField, PreambleFields};
use crate::mcs_mode::McsMode;
use crate::mode_parts::{list, streams_text};
use crate::{
    Band, ChannelWidth, Coding, DsssMode, EhtMode, GuardInterval, HeMode, HeRange, HtFormat, HtMode, ModeError,
    OfdmMode, PPDU_MAX_TIME, TxVector, VhtMode, mcs,
};

/// Modulation class (table 10-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModulationClass {
    /// Clause 15: 1 and 2 Mb/s.
    Dsss,
    /// Clause 16: CCK, 5.5 and 11 Mb/s.
    HrDsss,
    /// Clause 18: OFDM in 2.4 GHz.
    ErpOfdm,
    /// Clause 17: OFDM in 5 and 6 GHz.
    Ofdm,
    /// Clause 19.
    Ht,
    /// Clause 21.
    Vht,
    /// Clause 27.
    He,
    /// Clause 36.
    Eht,
}

impl ModulationClass {
    /// All classes, oldest first.
    pub const ALL: [Self; 8] =
        [Self::Dsss, Self::HrDsss, Self::ErpOfdm, Self::Ofdm, Self::Ht, Self::Vht, Self::He, Self::Eht];
}

/// How a PPDU is sent: small and `Copy`; every value is a mode of the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TxMode {
    /// 1, 2, 5.5 and 11 Mb/s.
    Dsss(DsssMode),
    /// 6 to 54 Mb/s, in 2.4 GHz (ERP-OFDM), 5 and 6 GHz.
    Ofdm(OfdmMode),
    /// 802.11n.
    Ht(HtMode),
    /// 802.11ac.
    Vht(VhtMode),
    /// 802.11ax, single user and extended range.
    He(HeMode),
    /// 802.11be, to one user.
    Eht(EhtMode),
}

impl TxMode {
    /// The modulation class in `band`.
    pub const fn class(self, band: Band) -> ModulationClass {
        match self {
            Self::Dsss(mode) if mode.rate_kbps() <= 2_000 => ModulationClass::Dsss,
            Self::Dsss(_) => ModulationClass::HrDsss,
            Self::Ofdm(_) if matches!(band, Band::Ghz2_4) => ModulationClass::ErpOfdm,
            Self::Ofdm(_) => ModulationClass::Ofdm,
            Self::Ht(_) => ModulationClass::Ht,
            Self::Vht(_) => ModulationClass::Vht,
            Self::He(_) => ModulationClass::He,
            Self::Eht(_) => ModulationClass::Eht,
        }
    }

    /// Data rate: the bits of a symbol over its length, rounded to bit/s.
    pub fn data_rate(self) -> BitRate {
        self.data().rate()
    }

    /// Data bits of a symbol, N_DBPS; `None` for DSSS and CCK.
    pub fn bits_per_symbol(self) -> Option<u32> {
        (!matches!(self, Self::Dsss(_))).then(|| self.data().bits_per_symbol)
    }

    /// Length of a symbol with its guard interval; `None` for DSSS and CCK.
    pub fn symbol(self) -> Option<Duration> {
        (!matches!(self, Self::Dsss(_))).then(|| self.data().symbol)
    }

    /// The parts that all modes from 802.11n on have; `None` for older modes.
    const fn common(self) -> Option<McsMode> {
        match self {
            Self::Dsss(_) | Self::Ofdm(_) => None,
            Self::Ht(mode) => Some(mode.common),
            Self::Vht(mode) => Some(mode.common),
            Self::He(mode) => Some(mode.common),
            Self::Eht(mode) => Some(mode.common),
        }
    }

    /// MCS, in HT 0 to 31; `None` for DSSS and OFDM.
    pub fn mcs(self) -> Option<u8> {
        self.common().map(|mode| mode.mcs)
    }

    /// Error-correcting code; `None` for DSSS and OFDM.
    pub fn coding(self) -> Option<Coding> {
        self.common().map(|mode| mode.coding)
    }

    /// Index of modulation and code rate (the MCS of a single stream), and the code; `None` for DSSS and OFDM.
    pub(crate) fn modulation(self) -> Option<(u8, Coding)> {
        let is_ht = matches!(self, Self::Ht(_));
        self.common().map(|mode| (if is_ht { mode.mcs % 8 } else { mode.mcs }, mode.coding))
    }

    /// Width of the PPDU.
    pub const fn width(self) -> ChannelWidth {
        match self.common() {
            Some(mode) => mode.width,
            None => ChannelWidth::Mhz20,
        }
    }

    /// Spatial streams.
    pub const fn streams(self) -> u8 {
        match self.common() {
            Some(mode) => mode.streams,
            None => 1,
        }
    }

    /// Guard interval; `None` for DSSS and CCK.
    pub fn guard_interval(self) -> Option<GuardInterval> {
        let ofdm = matches!(self, Self::Ofdm(_)).then_some(GuardInterval::Ns800);
        self.common().map(|mode| mode.guard_interval).or(ofdm)
    }

    /// Whether each bit is sent on two subcarriers.
    pub(crate) fn dcm(self) -> bool {
        matches!(self, Self::He(mode) if mode.dcm())
    }

    /// Longest PSDU: aPSDUMaxLength, or the limit of the length field (16.3.4, 17.4.4, 19.4.4, 21.4.4, 27.4.4, 36.4.4).
    pub const fn max_psdu(self) -> Bytes {
        Bytes(match self {
            Self::Dsss(_) | Self::Ofdm(_) => 4_095,
            Self::Ht(_) => 65_535,
            Self::Vht(_) => 1_048_575,
            Self::He(_) => 6_500_631,
            Self::Eht(_) => 15_523_200,
        })
    }

    /// The longest PPDU from HT on, aPPDUMaxTime: [`PPDU_MAX_TIME`], but 10 ms in HT-greenfield format, which has no
    /// L-SIG (10.14, 19.4.4).
    pub fn max_time(self) -> Duration {
        let is_greenfield = matches!(self, Self::Ht(mode) if mode.format() == HtFormat::Greenfield);
        if is_greenfield { Duration::from_millis(10) } else { PPDU_MAX_TIME }
    }

    /// The non-HT reference rate in kb/s: the OFDM rate that represents this mode when a control response is chosen
    /// (10.6.11).
    pub fn reference_rate_kbps(self) -> u32 {
        match (self, self.modulation()) {
            (_, Some((index, _))) => mcs::reference_rate_kbps(index, self.dcm()),
            (Self::Dsss(mode), _) => mode.rate_kbps(),
            (Self::Ofdm(mode), _) => mode.rate_kbps(),
            _ => unreachable!("all later modes have an MCS"),
        }
    }

    /// The mode of the response to a PPDU in HE extended range: extended range at MCS 0, since OFDM would not reach as
    /// far. `None` for all other PPDUs, which are answered in non-HT format.
    pub fn extended_response(self) -> Option<Self> {
        match self {
            Self::He(mode) if mode.range() != HeRange::Normal => Some(Self::He(mode.lowest())),
            _ => None,
        }
    }

    /// Whether this mode exists in `band`: no DSSS outside 2.4 GHz, no VHT outside 5 GHz, no HT in 6 GHz, at most 40
    /// MHz in 2.4 GHz, 320 MHz only in 6 GHz.
    pub fn check_band(self, band: Band) -> Result<(), ModeError> {
        let (name, bands): (&str, &[Band]) = match self {
            Self::Dsss(_) => ("DSSS", &[Band::Ghz2_4]),
            Self::Ht(_) => ("HT", &[Band::Ghz2_4, Band::Ghz5]),
            Self::Vht(_) => ("VHT", &[Band::Ghz5]),
            Self::Ofdm(_) => ("OFDM", &Band::ALL),
            Self::He(_) => ("HE", &Band::ALL),
            Self::Eht(_) => ("EHT", &Band::ALL),
        };
        if !bands.contains(&band) {
            let message = format!("no {name} in {band}: it exists in {}", list(bands));
            return Err(ModeError::new("band", message));
        }
        let widest = match band {
            Band::Ghz2_4 => ChannelWidth::Mhz40,
            Band::Ghz5 => ChannelWidth::Mhz160,
            Band::Ghz6 => ChannelWidth::Mhz320,
        };
        if self.width() > widest {
            let message = format!("no {} in {band}: the widest there is {widest}", self.width());
            return Err(ModeError::new("width", message));
        }
        Ok(())
    }

    /// Name and length of each field before the data, in order of transmission.
    pub fn preamble_fields(self) -> impl Iterator<Item = (&'static str, Duration)> {
        self.fields().0.into_iter().filter(|(_, length)| *length > Duration::ZERO)
    }

    /// The parameters that determine the air time from 802.11n on; `None` for older modes.
    pub fn vector(self) -> Option<TxVector> {
        match self {
            Self::Dsss(_) | Self::Ofdm(_) => None,
            Self::Ht(mode) => Some(mode.vector()),
            Self::Vht(mode) => Some(mode.vector()),
            Self::He(mode) => Some(mode.vector()),
            Self::Eht(mode) => Some(mode.vector()),
        }
    }

    /// The fields of the preamble, and the data field.
    pub(crate) fn fields(self) -> (PreambleFields, DataField) {
        match self {
            Self::Dsss(mode) => (mode.preamble(), mode.data()),
            Self::Ofdm(mode) => (mode.preamble(), mode.data()),
            _ => self.vector().expect("all later modes have one").fields(),
        }
    }

    fn data(self) -> DataField {
        self.fields().1
    }
}

impl fmt::Display for TxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Dsss(mode) => {
                let preamble = if mode.has_short_preamble() { "short" } else { "long" };
                return write!(f, "DSSS {}, {preamble} preamble", self.data_rate_text());
            }
            Self::Ofdm(_) => return write!(f, "OFDM {}", self.data_rate_text()),
            Self::Ht(mode) if mode.format() == HtFormat::Greenfield => "HT-greenfield",
            Self::Ht(_) => "HT",
            Self::Vht(_) => "VHT",
            Self::He(mode) if mode.range() != HeRange::Normal => "HE ER",
            Self::He(_) => "HE",
            Self::Eht(_) => "EHT",
        };
        let (mcs, streams) = (self.mcs().unwrap_or_default(), streams_text(self.streams()));
        write!(f, "{name} MCS {mcs}, {}, {streams}", self.width())?;
        if let Some(guard_interval) = self.guard_interval() {
            write!(f, ", guard interval {guard_interval}")?;
        }
        if self.dcm() { f.write_str(", DCM") } else { Ok(()) }
    }
}

impl TxMode {
    fn data_rate_text(self) -> String {
        self.data_rate().to_string()
    }
}
