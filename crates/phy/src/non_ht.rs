//! Rates before 802.11n: DSSS and CCK (clauses 15 and 16), OFDM (clause 17; clause 18 in 2.4 GHz).

use wifair_units::{BitRate, Duration};

use crate::data_field::{DataField, PreambleFields, fields};
use crate::{CodeRate, Coding, ModeError};

const DSSS_KBPS: [u32; 4] = [1_000, 2_000, 5_500, 11_000];
/// Bits of the data field are counted before coding.
const UNCODED: CodeRate = CodeRate { data: 1, coded: 1 };
const OFDM_KBPS: [u32; 8] = [6_000, 9_000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000];

/// A rate of DSSS or CCK, with its preamble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DsssMode {
    rate_kbps: u32,
    short_preamble: bool,
}

impl DsssMode {
    /// `rate` with the long or the short preamble; 1 Mb/s has only the long one (16.2.2.3).
    pub fn new(rate: BitRate, short_preamble: bool) -> Result<Self, ModeError> {
        let rate_kbps = pick(rate, &DSSS_KBPS, "DSSS")?;
        if short_preamble && rate_kbps == 1_000 {
            let message = "no short preamble at 1 Mb/s: it is for 2, 5.5 and 11 Mb/s";
            return Err(ModeError::new("short_preamble", message));
        }
        Ok(Self { rate_kbps, short_preamble })
    }

    /// All rates, lowest first.
    pub fn rates() -> impl Iterator<Item = BitRate> {
        DSSS_KBPS.into_iter().map(|kbps| BitRate::from_kbps(u64::from(kbps)))
    }

    pub(crate) const fn of_kbps(rate_kbps: u32, short_preamble: bool) -> Self {
        Self { rate_kbps, short_preamble: short_preamble && rate_kbps != 1_000 }
    }

    /// In kb/s.
    pub const fn rate_kbps(self) -> u32 {
        self.rate_kbps
    }

    /// Whether it uses the short preamble.
    pub const fn has_short_preamble(self) -> bool {
        self.short_preamble
    }

    /// Long: 144 bits and 48 bits at 1 Mb/s. Short: 72 bits at 1 Mb/s and 48 bits at 2 Mb/s (16.2.2.2, 16.2.2.3).
    pub(crate) fn preamble(self) -> PreambleFields {
        let (preamble, header) = if self.short_preamble { (72, 24) } else { (144, 48) };
        fields(&[("PLCP preamble", Duration::from_micros(preamble)), ("PLCP header", Duration::from_micros(header))])
    }

    /// Bits at the data rate, rounded up to whole microseconds as counted by the LENGTH field (16.2.3.5).
    pub(crate) fn data(self) -> DataField {
        let data = DataField::new(Duration::from_micros(1), self.rate_kbps, UNCODED, Coding::Bcc);
        DataField { bit_scale: 1_000, overhead_bits: 0, ..data }
    }
}

/// An OFDM rate in 20 MHz, also used as a non-HT duplicate on wider channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OfdmMode {
    rate_kbps: u32,
}

impl OfdmMode {
    /// 6, 9, 12, 18, 24, 36, 48 or 54 Mb/s.
    pub fn new(rate: BitRate) -> Result<Self, ModeError> {
        Ok(Self { rate_kbps: pick(rate, &OFDM_KBPS, "OFDM")? })
    }

    /// All rates, lowest first.
    pub fn rates() -> impl Iterator<Item = BitRate> {
        OFDM_KBPS.into_iter().map(|kbps| BitRate::from_kbps(u64::from(kbps)))
    }

    pub(crate) const fn of_kbps(rate_kbps: u32) -> Self {
        Self { rate_kbps }
    }

    /// In kb/s.
    pub const fn rate_kbps(self) -> u32 {
        self.rate_kbps
    }

    pub(crate) fn preamble(self) -> PreambleFields {
        fields(&LEGACY_PREAMBLE)
    }

    /// Symbols of 4 us, with 16 service bits and 6 tail bits (17.4.3).
    pub(crate) fn data(self) -> DataField {
        let data = DataField::new(Duration::from_micros(4), self.rate_kbps / 250, UNCODED, Coding::Bcc);
        DataField { overhead_bits: 22, ..data }
    }
}

/// The fields that OFDM receivers of all generations can read (17.3.2).
pub(crate) const LEGACY_PREAMBLE: [(&str, Duration); 3] =
    [("L-STF", Duration::from_micros(8)), ("L-LTF", Duration::from_micros(8)), ("L-SIG", Duration::from_micros(4))];

fn pick(rate: BitRate, rates: &[u32], name: &str) -> Result<u32, ModeError> {
    let found = rates.iter().copied().find(|kbps| u64::from(*kbps) * 1_000 == rate.as_bps());
    found.ok_or_else(|| {
        let there: Vec<String> = rates.iter().map(|kbps| format!("{}", f64::from(*kbps) / 1e3)).collect();
        ModeError::new(
            "rate",
            format!("no rate of {rate} in {name}: there are {} Mb/s", crate::mode_parts::list(&there)),
        )
    })
}
