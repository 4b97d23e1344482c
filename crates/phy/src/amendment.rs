//! Builds transmit modes from user input, such as `802.11ax` with MCS 11 and 80 MHz.

use wifair_config::choice;
use wifair_units::{BitRate, Duration};

use crate::mcs_mode::McsLimits;
use crate::mode_parts::{list, streams_text, there_are};
use crate::{
    Band, ChannelWidth, Coding, DsssMode, EhtMode, GuardInterval, HeMode, HeOptions, HeRange, HtFormat, HtMode, Ltf,
    ModeError, ModulationClass, OfdmMode, TxMode, VhtMode, eht, he, ht, vht,
};

choice! {
    /// Physical layer, named by the amendment that introduced it.
    pub enum Amendment {
        /// HR/DSSS, up to 11 Mb/s in 2.4 GHz.
        B = "802.11b" from "IEEE Std 802.11-2016, clause 16",
        /// ERP-OFDM, up to 54 Mb/s in 2.4 GHz, with short slots.
        G = "802.11g" from "IEEE Std 802.11-2016, clause 18",
        /// OFDM, up to 54 Mb/s in 5 GHz.
        A = "802.11a" from "IEEE Std 802.11-2016, clause 17",
        /// HT: aggregates, 40 MHz, up to 4 streams, in 2.4 and 5 GHz.
        N = "802.11n" from "IEEE Std 802.11-2016, clause 19",
        /// VHT: up to 160 MHz and 8 streams, in 5 GHz.
        Ac = "802.11ac" from "IEEE Std 802.11-2016, clause 21",
        /// HE, single user: 1024-QAM, longer symbols, in 2.4, 5 and 6 GHz.
        Ax = "802.11ax" from "IEEE Std 802.11ax-2021, clause 27",
        /// EHT, single user: 4096-QAM, up to 320 MHz.
        Be = "802.11be" from "IEEE Std 802.11be-2024, clause 36",
    }
}

/// A requested mode; parts left out get the amendment's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModeRequest {
    /// 2.4, 5 or 6 GHz; default 2.4 for b and g, 5 for all others.
    pub band: Option<Band>,
    /// In MHz; default 20.
    pub width_mhz: Option<u32>,
    /// MCS; required from 802.11n on.
    pub mcs: Option<u32>,
    /// Data rate; required for a, b and g.
    pub rate: Option<BitRate>,
    /// Spatial streams; in 802.11n determined by the MCS, otherwise 1 by default.
    pub streams: Option<u32>,
    /// Guard interval; default 800 ns.
    pub guard_interval: Option<Duration>,
    /// Long training field 1x, 2x or 4x; HE and EHT.
    pub ltf: Option<u32>,
    /// HT-greenfield format.
    pub greenfield: bool,
    /// The short preamble of DSSS and CCK.
    pub short_preamble: bool,
    /// Dual carrier modulation, HE.
    pub dcm: bool,
    /// Extended range, HE: 242 or 106 tones.
    pub extended_range: Option<u32>,
    /// Code; BCC by default where the standard allows it.
    pub coding: Option<Coding>,
}

impl Amendment {
    /// All amendments, oldest first.
    pub const ALL: [Self; 7] = [Self::B, Self::A, Self::G, Self::N, Self::Ac, Self::Ax, Self::Be];

    /// Whether it is older than `other`.
    pub fn is_before(self, other: Self) -> bool {
        let age = |one: Self| Self::ALL.iter().position(|amendment| *amendment == one);
        age(self) < age(other)
    }

    /// Whether its own modes are OFDM.
    pub const fn is_ofdm(self) -> bool {
        !matches!(self, Self::B)
    }

    /// Whether data is sent at an MCS, in aggregates, with four access categories.
    pub const fn has_mcs(self) -> bool {
        self.limits().is_some()
    }

    /// The newest modulation class of its stations, which also read all older ones of their band.
    pub const fn class(self) -> ModulationClass {
        match self {
            Self::B => ModulationClass::HrDsss,
            Self::G => ModulationClass::ErpOfdm,
            Self::A => ModulationClass::Ofdm,
            Self::N => ModulationClass::Ht,
            Self::Ac => ModulationClass::Vht,
            Self::Ax => ModulationClass::He,
            Self::Be => ModulationClass::Eht,
        }
    }

    /// Reads a name as in `802.11ax`.
    pub fn parse(name: &str) -> Result<Self, ModeError> {
        Self::ALL.into_iter().find(|amendment| amendment.name() == name).ok_or_else(|| {
            let there: Vec<&str> = Self::ALL.iter().map(|amendment| amendment.name()).collect();
            ModeError::new("standard", format!("no standard `{name}`: there are {}", list(&there)))
        })
    }

    /// The bands in which the amendment exists, the usual one first.
    pub const fn bands(self) -> &'static [Band] {
        match self {
            Self::B | Self::G => &[Band::Ghz2_4],
            Self::A | Self::Ac => &[Band::Ghz5],
            Self::N => &[Band::Ghz5, Band::Ghz2_4],
            Self::Ax | Self::Be => &[Band::Ghz5, Band::Ghz2_4, Band::Ghz6],
        }
    }

    /// Which MCSs, widths and guard intervals the amendment has; `None` if it has rates only.
    const fn limits(self) -> Option<&'static McsLimits> {
        match self {
            Self::B | Self::A | Self::G => None,
            Self::N => Some(&ht::LIMITS),
            Self::Ac => Some(&vht::LIMITS),
            Self::Ax => Some(&he::LIMITS),
            Self::Be => Some(&eht::LIMITS),
        }
    }

    /// The widths in any band, narrowest first.
    pub const fn widths(self) -> &'static [ChannelWidth] {
        match self.limits() {
            None => &[ChannelWidth::Mhz20],
            Some(limits) => limits.widths,
        }
    }

    /// Guard intervals, shortest first; none for 802.11b.
    pub const fn guard_intervals(self) -> &'static [GuardInterval] {
        match self.limits() {
            None if matches!(self, Self::B) => &[],
            None => &[GuardInterval::Ns800],
            Some(limits) => limits.guard_intervals,
        }
    }

    /// Highest MCS; `None` if there are only rates.
    pub const fn highest_mcs(self) -> Option<u8> {
        match self.limits() {
            None => None,
            Some(limits) => Some(limits.highest_mcs),
        }
    }

    /// Data rates; empty if there are MCSs.
    pub fn rates(self) -> Vec<BitRate> {
        let mut rates: Vec<BitRate> = match self {
            Self::B => DsssMode::rates().collect(),
            Self::A => OfdmMode::rates().collect(),
            Self::G => DsssMode::rates().chain(OfdmMode::rates()).collect(),
            _ => Vec::new(),
        };
        rates.sort_unstable();
        rates
    }

    /// The guard intervals, as the remedy of an error.
    pub fn guard_intervals_there(self) -> String {
        match self.guard_intervals() {
            [] => format!("{} has none, leave it out", self.name()),
            there => there_are(there),
        }
    }

    /// The rates, as the remedy of an error.
    pub fn rates_there(self) -> String {
        if self.has_mcs() { GIVE_MCS.to_owned() } else { format!("{} Mb/s", there_are(&self.rate_names())) }
    }

    /// These rates as they are written, in Mb/s.
    pub fn rate_names(self) -> Vec<String> {
        self.rates().iter().map(|rate| rate.to_string().replace(" Mb/s", "")).collect()
    }

    /// The band and mode that `request` asks for; the error says which ones exist.
    pub fn mode(self, request: &ModeRequest) -> Result<(Band, TxMode), ModeError> {
        self.refuse_foreign(request)?;
        let band = self.band(request)?;
        let width = self.width(request)?;
        let guard_interval = self.guard_interval(request)?;
        let mode = match self {
            Self::B | Self::A | Self::G => self.by_rate(request)?,
            _ => self.by_mcs(request, width, guard_interval)?,
        };
        mode.check_band(band)?;
        Ok((band, mode))
    }

    fn band(self, request: &ModeRequest) -> Result<Band, ModeError> {
        let band = request.band.unwrap_or(self.bands()[0]);
        if self.bands().contains(&band) {
            return Ok(band);
        }
        let there = list(self.bands());
        Err(ModeError::new("band", format!("no {} in {band}: it exists in {there}", self.name())))
    }

    fn width(self, request: &ModeRequest) -> Result<ChannelWidth, ModeError> {
        let mhz = request.width_mhz.unwrap_or(20);
        ChannelWidth::from_mhz(mhz).filter(|width| self.widths().contains(width)).ok_or_else(|| {
            let there = there_are(self.widths());
            ModeError::new("width", format!("no width of {mhz} MHz in {}: {there}", self.name()))
        })
    }

    fn guard_interval(self, request: &ModeRequest) -> Result<GuardInterval, ModeError> {
        let wanted = request.guard_interval.unwrap_or(Duration::from_nanos(800));
        let found = GuardInterval::from_duration(wanted);
        if self == Self::B && request.guard_interval.is_none() {
            return Ok(GuardInterval::Ns800);
        }
        found.filter(|interval| self.guard_intervals().contains(interval)).ok_or_else(|| {
            let name = self.name();
            let nanos = wanted.as_nanos();
            let message = format!("no guard interval of {nanos} ns in {name}: {}", self.guard_intervals_there());
            ModeError::new("guard_interval", message)
        })
    }

    fn by_rate(self, request: &ModeRequest) -> Result<TxMode, ModeError> {
        let rates = self.rates();
        let there = self.rates_there();
        let Some(rate) = request.rate else {
            return Err(ModeError::new("rate", format!("{} needs a rate: {there}", self.name())));
        };
        if !rates.contains(&rate) {
            return Err(ModeError::new("rate", format!("no rate of {rate} in {}: {there}", self.name())));
        }
        let dsss = DsssMode::rates().any(|dsss| dsss == rate);
        if request.short_preamble && !dsss {
            let message = format!("no short preamble at {rate}: it is for 2, 5.5 and 11 Mb/s");
            return Err(ModeError::new("short_preamble", message));
        }
        if dsss {
            DsssMode::new(rate, request.short_preamble).map(TxMode::Dsss)
        } else {
            OfdmMode::new(rate).map(TxMode::Ofdm)
        }
    }

    fn by_mcs(
        self,
        request: &ModeRequest,
        width: ChannelWidth,
        guard_interval: GuardInterval,
    ) -> Result<TxMode, ModeError> {
        let (highest, note) = self.limits().map_or((0, ""), |limits| (limits.highest_mcs, limits.note));
        let Some(mcs) = request.mcs else {
            return Err(ModeError::new("mcs", format!("{} needs an MCS: there are 0 to {highest}", self.name())));
        };
        let mcs = u8::try_from(mcs).ok().filter(|mcs| *mcs <= highest).ok_or_else(|| {
            ModeError::new("mcs", format!("no MCS {mcs} in {}: there are 0 to {highest}{note}", self.name()))
        })?;
        if self == Self::N {
            return Self::ht(request, mcs, width, guard_interval);
        }
        let streams = request.streams.unwrap_or(1);
        let streams = u8::try_from(streams).ok().filter(|streams| (1..=8).contains(streams)).ok_or_else(|| {
            ModeError::new("streams", format!("no {streams} streams in {}: there are 1 to 8", self.name()))
        })?;
        let ltf = request.ltf.map(ltf).transpose()?;
        match self {
            Self::Ac => {
                let mode = VhtMode::new(mcs, streams, width, guard_interval)?;
                Ok(TxMode::Vht(request.coding.map_or(mode, |coding| mode.with_coding(coding))))
            }
            Self::Be => EhtMode::new(mcs, streams, width, guard_interval, ltf, request.coding).map(TxMode::Eht),
            _ => {
                let range = match request.extended_range {
                    None => HeRange::Normal,
                    Some(242) => HeRange::Extended242,
                    Some(106) => HeRange::Extended106,
                    Some(tones) => {
                        let message = format!("no extended range on {tones} tones: there are 242 and 106");
                        return Err(ModeError::new("extended_range", message));
                    }
                };
                let options = HeOptions { dcm: request.dcm, ltf, range, coding: request.coding };
                HeMode::new(mcs, streams, width, guard_interval, options).map(TxMode::He)
            }
        }
    }

    fn ht(request: &ModeRequest, mcs: u8, width: ChannelWidth, interval: GuardInterval) -> Result<TxMode, ModeError> {
        let mode = HtMode::new(mcs, width, interval)?;
        let has = u32::from(mode.common.streams);
        if let Some(streams) = request.streams.filter(|streams| *streams != has) {
            let remedy = match streams {
                1 => "1 stream has MCS 0 to 7".to_owned(),
                2..=4 => format!("{streams} streams have MCS {} to {}", 8 * streams - 8, 8 * streams - 1),
                _ => "there are 1 to 4 streams, as the MCS says".to_owned(),
            };
            let own = streams_text(mode.common.streams);
            let message = format!("MCS {mcs} of 802.11n has {own}, not {streams}: {remedy}");
            return Err(ModeError::new("streams", message));
        }
        let mode = request.coding.map_or(mode, |coding| mode.with_coding(coding));
        let format = if request.greenfield { HtFormat::Greenfield } else { HtFormat::Mixed };
        mode.with_format(format).map(TxMode::Ht)
    }

    /// Refuses options that this amendment does not have.
    fn refuse_foreign(self, request: &ModeRequest) -> Result<(), ModeError> {
        let by_rate = !self.has_mcs();
        let rules: [(bool, &'static str, &str); 9] = [
            (by_rate && request.mcs.is_some(), "mcs", "no MCS: give a rate, as in 54 Mb/s"),
            (!by_rate && request.rate.is_some(), "rate", &format!("no rate by itself: {GIVE_MCS}")),
            (by_rate && request.streams.is_some_and(|n| n != 1), "streams", "one stream only: leave it out"),
            (request.ltf.is_some() && self < Self::Ax, "ltf", "one kind of LTF only: 802.11ax and be have several"),
            (request.greenfield && self != Self::N, "greenfield", "no greenfield format: only 802.11n has it"),
            (request.dcm && self != Self::Ax, "dcm", "no dual carrier modulation: only 802.11ax has it here"),
            (
                request.extended_range.is_some() && self != Self::Ax,
                "extended_range",
                "no extended range: only 802.11ax has it",
            ),
            (
                request.short_preamble && !matches!(self, Self::B | Self::G),
                "short_preamble",
                "no short preamble: it belongs to 2, 5.5 and 11 Mb/s in 802.11b and g",
            ),
            (request.coding.is_some() && by_rate, "coding", "one code only: leave it out"),
        ];
        let broken = rules.into_iter().find(|(broken, ..)| *broken);
        broken.map_or(Ok(()), |(_, key, what)| Err(ModeError::new(key, format!("{} has {what}", self.name()))))
    }
}

const GIVE_MCS: &str = "give an MCS, as in 7";

fn ltf(multiple: u32) -> Result<Ltf, ModeError> {
    [Ltf::X1, Ltf::X2, Ltf::X4]
        .into_iter()
        .find(|ltf| ltf.multiple() == multiple)
        .ok_or_else(|| ModeError::new("ltf", format!("no {multiple}x LTF: there are 1x, 2x and 4x (1, 2 and 4)")))
}
