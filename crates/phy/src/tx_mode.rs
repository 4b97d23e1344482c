//! Transmit modes: one type for every modulation class from DSSS to EHT.

use std::fmt;

use wifair_config::choice;
use wifair_units::{BitRate, Bytes, Duration};

use crate::ppdu::{DataField, PreambleFields};
use crate::{Band, DsssMode, EhtMode, HeMode, HtMode, OfdmMode, VhtMode, mcs};

/// Why a mode does not exist, and which modes do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeError {
    /// The part of the mode that is wrong: `standard`, `band`, `width`, `mcs`, `rate`, `streams`, `guard_interval` ...
    pub key: &'static str,
    /// What is wrong and which values exist, as a sentence without full stop.
    pub message: String,
}

impl ModeError {
    pub(crate) fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into() }
    }
}

impl fmt::Display for ModeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModeError {}

/// Width of a channel or PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelWidth {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz or 80+80 MHz.
    Mhz160,
    /// 320 MHz.
    Mhz320,
}

impl ChannelWidth {
    /// All widths, narrowest first.
    pub const ALL: [Self; 5] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160, Self::Mhz320];

    /// In MHz.
    pub const fn mhz(self) -> u32 {
        20 << self as u32
    }

    /// The width of `mhz` MHz, if there is one.
    pub fn from_mhz(mhz: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|width| width.mhz() == mhz)
    }
}

impl fmt::Display for ChannelWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} MHz", self.mhz())
    }
}

/// Guard interval between OFDM symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuardInterval {
    /// 400 ns: the short one of HT and VHT.
    Ns400,
    /// 800 ns.
    Ns800,
    /// 1600 ns, HE and EHT.
    Ns1600,
    /// 3200 ns, HE and EHT.
    Ns3200,
}

impl GuardInterval {
    /// All guard intervals, shortest first.
    pub const ALL: [Self; 4] = [Self::Ns400, Self::Ns800, Self::Ns1600, Self::Ns3200];

    /// Its length.
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(400 << self as u64)
    }

    /// The guard interval of this length, if there is one.
    pub fn from_duration(duration: Duration) -> Option<Self> {
        Self::ALL.into_iter().find(|interval| interval.duration() == duration)
    }
}

impl fmt::Display for GuardInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns", self.duration().as_nanos())
    }
}

/// Long training fields of HE and EHT: 1, 2 or 4 times 3.2 us, and a guard interval (27.3.11.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ltf {
    /// 3.2 us.
    X1,
    /// 6.4 us.
    X2,
    /// 12.8 us.
    X4,
}

impl Ltf {
    /// Length without guard interval.
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(3200 << self as u64)
    }

    /// 1, 2 or 4.
    pub const fn multiple(self) -> u32 {
        1 << self as u32
    }

    /// The usual choice for a guard interval: 2x with 0.8 and 1.6 us, 4x with 3.2 us.
    pub const fn usual(guard_interval: GuardInterval) -> Self {
        if matches!(guard_interval, GuardInterval::Ns3200) { Self::X4 } else { Self::X2 }
    }

    /// Whether the standard allows this combination: 1x or 4x with 0.8 us, 2x with 0.8 or 1.6 us, 4x with 3.2 us.
    pub const fn goes_with(self, guard_interval: GuardInterval) -> bool {
        use GuardInterval::{Ns800, Ns1600, Ns3200};
        matches!((self, guard_interval), (Self::X1 | Self::X4, Ns800) | (Self::X2, Ns800 | Ns1600) | (Self::X4, Ns3200))
    }

    pub(crate) fn check(self, guard_interval: GuardInterval) -> Result<(), ModeError> {
        if self.goes_with(guard_interval) {
            return Ok(());
        }
        let message = format!(
            "no {}x LTF with a guard interval of {guard_interval}: there are 1x, 2x and 4x with 800 ns, 2x with 1600 ns, \
             4x with 3200 ns",
            self.multiple()
        );
        Err(ModeError::new("ltf", message))
    }
}

choice! {
    /// Error-correcting code.
    pub enum Coding {
        /// Binary convolutional code.
        Bcc = "bcc",
        /// Low-density parity check code.
        Ldpc = "ldpc",
    }
}

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
        let data = self.data();
        let (bits, scale) = (u64::from(data.bits_per_symbol) * 1_000_000_000, u64::from(data.bit_scale));
        let unit = data.symbol.as_nanos() * scale;
        BitRate::from_bps((bits + unit / 2) / unit)
    }

    /// Data bits of a symbol, N_DBPS; `None` for DSSS and CCK.
    pub fn bits_per_symbol(self) -> Option<u32> {
        (!matches!(self, Self::Dsss(_))).then(|| self.data().bits_per_symbol)
    }

    /// Length of a symbol with its guard interval; `None` for DSSS and CCK.
    pub fn symbol(self) -> Option<Duration> {
        (!matches!(self, Self::Dsss(_))).then(|| self.data().symbol)
    }

    /// MCS, in HT 0 to 31; `None` for DSSS and OFDM.
    pub const fn mcs(self) -> Option<u8> {
        match self {
            Self::Dsss(_) | Self::Ofdm(_) => None,
            Self::Ht(mode) => Some(mode.mcs()),
            Self::Vht(mode) => Some(mode.mcs()),
            Self::He(mode) => Some(mode.mcs()),
            Self::Eht(mode) => Some(mode.mcs()),
        }
    }

    /// Width of the PPDU.
    pub const fn width(self) -> ChannelWidth {
        match self {
            Self::Dsss(_) | Self::Ofdm(_) => ChannelWidth::Mhz20,
            Self::Ht(mode) => mode.width(),
            Self::Vht(mode) => mode.width(),
            Self::He(mode) => mode.width(),
            Self::Eht(mode) => mode.width(),
        }
    }

    /// Spatial streams.
    pub const fn streams(self) -> u8 {
        match self {
            Self::Dsss(_) | Self::Ofdm(_) => 1,
            Self::Ht(mode) => mode.streams(),
            Self::Vht(mode) => mode.streams(),
            Self::He(mode) => mode.streams(),
            Self::Eht(mode) => mode.streams(),
        }
    }

    /// Guard interval; `None` for DSSS and CCK.
    pub const fn guard_interval(self) -> Option<GuardInterval> {
        match self {
            Self::Dsss(_) => None,
            Self::Ofdm(_) => Some(GuardInterval::Ns800),
            Self::Ht(mode) => Some(mode.guard_interval()),
            Self::Vht(mode) => Some(mode.guard_interval()),
            Self::He(mode) => Some(mode.guard_interval()),
            Self::Eht(mode) => Some(mode.guard_interval()),
        }
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

    /// The non-HT reference rate in kb/s: the OFDM rate that represents this mode when a control response is chosen
    /// (10.6.11).
    pub fn reference_rate_kbps(self) -> u32 {
        match self {
            Self::Dsss(mode) => mode.rate_kbps(),
            Self::Ofdm(mode) => mode.rate_kbps(),
            Self::Ht(mode) => mcs::reference_rate_kbps(mode.mcs() % 8, false),
            Self::Vht(mode) => mcs::reference_rate_kbps(mode.mcs(), false),
            Self::He(mode) => mcs::reference_rate_kbps(mode.mcs(), mode.dcm()),
            Self::Eht(mode) => mcs::reference_rate_kbps(mode.mcs(), false),
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
            let message = format!("no {name} in {band}: it exists in {}", crate::amendment::list(bands));
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
        self.preamble().into_iter().filter(|(_, length)| *length > Duration::ZERO)
    }

    pub(crate) fn preamble(self) -> PreambleFields {
        match self {
            Self::Dsss(mode) => mode.preamble(),
            Self::Ofdm(mode) => mode.preamble(),
            Self::Ht(mode) => mode.preamble(),
            Self::Vht(mode) => mode.preamble(),
            Self::He(mode) => mode.preamble(),
            Self::Eht(mode) => mode.preamble(),
        }
    }

    pub(crate) fn data(self) -> DataField {
        match self {
            Self::Dsss(mode) => mode.data(),
            Self::Ofdm(mode) => mode.data(),
            Self::Ht(mode) => mode.data(),
            Self::Vht(mode) => mode.data(),
            Self::He(mode) => mode.data(),
            Self::Eht(mode) => mode.data(),
        }
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
            Self::Ht(mode) if mode.format() == crate::HtFormat::Greenfield => "HT-greenfield",
            Self::Ht(_) => "HT",
            Self::Vht(_) => "VHT",
            Self::He(mode) if mode.range() != crate::HeRange::Normal => "HE ER",
            Self::He(_) => "HE",
            Self::Eht(_) => "EHT",
        };
        let (mcs, streams) = (self.mcs().unwrap_or_default(), self.streams());
        let plural = if streams == 1 { "" } else { "s" };
        write!(f, "{name} MCS {mcs}, {}, {streams} stream{plural}", self.width())?;
        if let Some(guard_interval) = self.guard_interval() {
            write!(f, ", guard interval {guard_interval}")?;
        }
        if matches!(self, Self::He(mode) if mode.dcm()) { f.write_str(", DCM") } else { Ok(()) }
    }
}

impl TxMode {
    fn data_rate_text(self) -> String {
        self.data_rate().to_string()
    }
}
