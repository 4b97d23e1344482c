//! How the fields of a PPDU translate into air time.

use wifair_units::{BitRate, Duration};

use crate::{CodeRate, Coding};

/// Name and length of each field before the data; unused ones are empty.
pub(crate) type PreambleFields = [(&'static str, Duration); 8];

pub(crate) fn fields(list: &[(&'static str, Duration)]) -> PreambleFields {
    let mut fields = [("", Duration::ZERO); 8];
    fields[..list.len()].copy_from_slice(list);
    fields
}

/// The data field of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataField {
    /// Length of a symbol with guard interval.
    pub symbol: Duration,
    /// Data bits of `bit_scale` symbols.
    pub bits_per_symbol: u32,
    /// 1, but 1000 for DSSS: its symbols of 1 us hold 5.5 bits at 5.5 Mb/s.
    pub bit_scale: u32,
    /// Coded bits of a symbol.
    pub coded_bits_per_symbol: u32,
    /// Service and tail bits.
    pub overhead_bits: u32,
    /// The data field is rounded up to a multiple of this.
    pub grid: Duration,
    /// Code rate, for LDPC.
    pub code_rate: CodeRate,
    /// Code.
    pub coding: Coding,
    /// Whether LDPC also encodes the pad bits: true in VHT, HE and EHT, false in HT.
    pub pads_before_coding: bool,
    /// A quarter of a symbol; HE and EHT only.
    pub short_symbol: Option<ShortSymbol>,
}

impl DataField {
    /// Symbols of this length with `coded` bits each, service bits, and no rounding.
    pub fn new(symbol: Duration, coded: u32, code_rate: CodeRate, coding: Coding) -> Self {
        Self {
            symbol,
            bits_per_symbol: coded * code_rate.data / code_rate.coded,
            bit_scale: 1,
            coded_bits_per_symbol: coded,
            overhead_bits: 16,
            grid: symbol,
            code_rate,
            coding,
            pads_before_coding: true,
            short_symbol: None,
        }
    }

    /// The same field with the tail bits of `encoders`, if the code is BCC.
    pub fn with_tails(self, encoders: u32) -> Self {
        let tails = if self.coding == Coding::Bcc { 6 * encoders } else { 0 };
        Self { overhead_bits: self.overhead_bits + tails, ..self }
    }

    /// Data rate, rounded to bit/s.
    pub fn rate(&self) -> BitRate {
        let bits = u64::from(self.bits_per_symbol) * 1_000_000_000;
        let unit = self.symbol.as_nanos() * u64::from(self.bit_scale);
        BitRate::from_bps((bits + unit / 2) / unit)
    }

    /// The same field with pairs of symbols as symbols: by STBC, their number is even (19.4.3, m_STBC).
    pub fn in_pairs(self) -> Self {
        let [bits_per_symbol, coded_bits_per_symbol] =
            [self.bits_per_symbol, self.coded_bits_per_symbol].map(|n| 2 * n);
        Self { symbol: self.symbol * 2, bits_per_symbol, coded_bits_per_symbol, ..self }
    }
}

/// Bits in a quarter of the last symbol of HE and EHT (27.3.12.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortSymbol {
    pub coded_bits: u32,
    pub data_bits: u32,
}
