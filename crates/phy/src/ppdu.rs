//! Air time of a PPDU, from mode, band and PSDU length: the only place where it is computed, for runs and captures.
//!
//! Sources: IEEE Std 802.11-2020, 16.3.4 (DSSS), 17.4.3 (OFDM), 19.4.3 (HT), 21.4.3 (VHT); 802.11ax, 27.4.3 (HE);
//! 802.11be, 36.4.3 (EHT).

use wifair_units::{BitRate, Bytes, Duration};

use crate::data_field::{DataField, PreambleFields};
use crate::{Band, ChannelWidth, Coding, OfdmMode, TxMode, TxVector, ldpc};

/// Nominal packet padding of an HE or EHT receiver: the processing time that it needs after a PPDU whose last symbol is
/// full (27.3.13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PacketPadding {
    /// None: no packet extension.
    #[default]
    Us0,
    /// 8 us.
    Us8,
    /// 16 us.
    Us16,
    /// 20 us with 4096-QAM or 320 MHz, 16 us in other modes; EHT only.
    Us20,
}

impl PacketPadding {
    /// The padding in `mode`: 20 us apply to constellations above 1024-QAM and channels above 160 MHz, 16 us to other
    /// modes (802.11be, Common Nominal Packet Padding subfield).
    fn in_mode(self, mode: TxMode) -> Self {
        let demanding = mode.mcs().is_some_and(|mcs| mcs > 11) || mode.width() == ChannelWidth::Mhz320;
        if self == Self::Us20 && !demanding { Self::Us16 } else { self }
    }
}

/// Details of air time that depend on the receiver and the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PpduOptions {
    /// Whether to count the extra symbol (HT, VHT) or symbol segment (HE, EHT) that LDPC needs for some lengths. Most
    /// calculators and simulators leave it out.
    pub ldpc_extra_symbol: bool,
    /// Nominal packet padding, which determines the packet extension; HE and EHT only.
    pub packet_padding: PacketPadding,
}

/// Air times of one mode in one band.
///
/// ```
/// # use wifair_phy::*;
/// # use wifair_units::*;
/// let mode = TxMode::Ht(HtMode::new(7, ChannelWidth::Mhz20, GuardInterval::Ns800)?);
/// assert_eq!(PpduTiming::new(mode, Band::Ghz5).duration(Bytes(1538)), Duration::from_micros(228));
/// # Ok::<(), ModeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PpduTiming {
    preamble: Duration,
    signal_extension: Duration,
    options: PpduOptions,
    data: DataField,
}

/// The parts of a PPDU's air time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PpduParts {
    /// Everything before the data.
    pub preamble: Duration,
    /// Symbols of data; microseconds for DSSS.
    pub symbols: u64,
    /// Duration of the symbols, before rounding to 4 us.
    pub data: Duration,
    /// The rounding to 4 us with a short guard interval.
    pub rounding: Duration,
    /// Pad bits: bits in the symbols that are neither data nor service nor tail bits.
    pub pad_bits: u64,
    /// Packet extension of HE and EHT.
    pub packet_extension: Duration,
    /// Signal extension in 2.4 GHz.
    pub signal_extension: Duration,
}

impl PpduParts {
    /// Air time of the whole PPDU.
    pub fn total(&self) -> Duration {
        self.preamble + self.data + self.rounding + self.packet_extension + self.signal_extension
    }
}

impl PpduTiming {
    /// Duration of L-STF, L-LTF and L-SIG, with which OFDM PPDUs of all generations begin.
    pub const TO_L_SIG: Duration = Duration::from_micros(20);

    /// Air times of `mode` in `band`.
    pub fn new(mode: TxMode, band: Band) -> Self {
        Self::with_options(mode, band, PpduOptions::default())
    }

    /// Air times of `mode` in `band`, with options for packet extension and the extra symbol of LDPC.
    pub fn with_options(mode: TxMode, band: Band, options: PpduOptions) -> Self {
        let dsss = matches!(mode, TxMode::Dsss(_));
        let signal_extension = if dsss { Duration::ZERO } else { band.signal_extension() };
        let options = PpduOptions { packet_padding: options.packet_padding.in_mode(mode), ..options };
        Self { options, ..Self::of_fields(mode.fields(), signal_extension) }
    }

    /// Air times of a PPDU with these parameters in `band`, whether or not the standard has them.
    pub fn of(vector: &TxVector, band: Band) -> Self {
        Self::of_fields(vector.fields(), band.signal_extension())
    }

    /// The same with the extra symbol of LDPC.
    #[must_use]
    pub fn with_ldpc_extra_symbol(self) -> Self {
        Self { options: PpduOptions { ldpc_extra_symbol: true, ..self.options }, ..self }
    }

    /// Air times of an OFDM PPDU in `band` at any `rate`, of the standard or not: symbols of 4 us hold its bits.
    pub fn of_ofdm(rate: BitRate, band: Band) -> Self {
        Self::new(TxMode::Ofdm(OfdmMode::of_kbps((rate.as_bps() / 1_000) as u32)), band)
    }

    fn of_fields((preamble, data): (PreambleFields, DataField), signal_extension: Duration) -> Self {
        let preamble = preamble.iter().fold(Duration::ZERO, |sum, (_, field)| sum + *field);
        Self { preamble, signal_extension, options: PpduOptions::default(), data }
    }

    /// Air times of a PPDU with this data field after a preamble of this length.
    pub(crate) const fn of_data(
        preamble: Duration,
        data: DataField,
        signal_extension: Duration,
        options: PpduOptions,
    ) -> Self {
        Self { preamble, signal_extension, options, data }
    }

    /// The same PPDU by a clock that is `factor` times slower: 2 in channels of 10 MHz, 4 in 5 MHz (17.3.2.3). The
    /// signal extension, which is a part of the band, stays.
    #[must_use]
    pub fn slowed(self, factor: u64) -> Self {
        let Self { preamble, data, .. } = self;
        let data = DataField { symbol: data.symbol * factor, grid: data.grid * factor, ..data };
        Self { preamble: preamble * factor, data, ..self }
    }

    /// Preamble and headers: what must be received before a receiver knows of the PPDU.
    pub const fn preamble(&self) -> Duration {
        self.preamble
    }

    /// Air time of a PSDU of `length`, from the first bit of the preamble to the end of the extension.
    pub fn duration(&self, length: Bytes) -> Duration {
        if self.options != PpduOptions::default() {
            return self.parts(length).total();
        }
        let data = self.data.symbol * self.symbols_for(length);
        self.preamble + data.round_up_to(self.data.grid) + self.signal_extension
    }

    /// The parts of the air time of a PSDU of `length`.
    pub fn parts(&self, length: Bytes) -> PpduParts {
        let (symbols, quarters) = self.symbols_and_quarters(length);
        let data = self.data.symbol * symbols;
        let capacity = symbols * u64::from(self.data.bits_per_symbol) / u64::from(self.data.bit_scale);
        PpduParts {
            preamble: self.preamble,
            symbols,
            data,
            rounding: data.round_up_to(self.data.grid) - data,
            pad_bits: capacity - self.bits(length),
            packet_extension: self.packet_extension(quarters),
            signal_extension: self.signal_extension,
        }
    }

    /// The longest PSDU such that this PSDU and all shorter ones take at most `time`; `None` if not even an empty PSDU
    /// fits. With an extra symbol or packet extension, the result may be up to a symbol shorter.
    pub fn longest(&self, time: Duration) -> Option<Bytes> {
        let extra = if self.options.ldpc_extra_symbol { self.data.symbol } else { Duration::ZERO };
        let fixed = self.preamble + self.signal_extension + extra + self.packet_extension(4);
        let left = (time >= fixed).then(|| time.saturating_sub(fixed))?;
        let on_grid = self.data.grid * left.div_floor(self.data.grid);
        let symbols = on_grid.div_floor(self.data.symbol);
        let bits = symbols * u64::from(self.data.bits_per_symbol) / u64::from(self.data.bit_scale);
        Some(Bytes(bits.checked_sub(u64::from(self.data.overhead_bits))? / 8))
    }

    /// Whether LDPC needs an extra symbol (HT, VHT) or symbol segment (HE, EHT) for a PSDU of `length`.
    pub fn needs_ldpc_extra_symbol(&self, length: Bytes) -> bool {
        let (symbols, quarters) = self.symbols_before_ldpc(length);
        let payload = (!self.data.pads_before_coding).then(|| self.bits(length));
        self.needs_more(payload, symbols, quarters)
    }

    /// Whether LDPC needs more for a PSDU that fills this number of symbols and quarters of the last one.
    pub(crate) fn needs_more_ldpc(&self, (symbols, quarters): (u64, u64)) -> bool {
        self.needs_more(None, symbols, quarters)
    }

    /// `payload` are the encoded bits, if they do not fill the symbols.
    fn needs_more(&self, payload: Option<u64>, symbols: u64, quarters: u64) -> bool {
        let data = &self.data;
        if data.coding == Coding::Bcc {
            return false;
        }
        let (full_data, full_coded) = (u64::from(data.bits_per_symbol), u64::from(data.coded_bits_per_symbol));
        let (last_data, last_coded) = match data.short_symbol {
            Some(short) if quarters < 4 => {
                (quarters * u64::from(short.data_bits), quarters * u64::from(short.coded_bits))
            }
            _ => (full_data, full_coded),
        };
        let payload = payload.unwrap_or((symbols - 1) * full_data + last_data);
        ldpc::needs_more(payload, (symbols - 1) * full_coded + last_coded, data.code_rate)
    }

    const fn bits(&self, length: Bytes) -> u64 {
        8 * length.0 + self.data.overhead_bits as u64
    }

    const fn symbols_for(&self, length: Bytes) -> u64 {
        (self.bits(length) * self.data.bit_scale as u64).div_ceil(self.data.bits_per_symbol as u64)
    }

    /// The pre-FEC padding factor `a`: how many quarters of the last symbol hold data (27.3.12.1).
    fn quarters(&self, length: Bytes) -> u64 {
        let excess = self.bits(length) % u64::from(self.data.bits_per_symbol);
        match self.data.short_symbol {
            Some(short) if excess > 0 => excess.div_ceil(u64::from(short.data_bits)).min(4),
            _ => 4,
        }
    }

    /// Symbols, and quarters of the last one, that a PSDU of `length` fills without the extra ones of LDPC.
    pub(crate) fn symbols_before_ldpc(&self, length: Bytes) -> (u64, u64) {
        (self.symbols_for(length), self.quarters(length))
    }

    fn symbols_and_quarters(&self, length: Bytes) -> (u64, u64) {
        let (symbols, quarters) = self.symbols_before_ldpc(length);
        if !(self.options.ldpc_extra_symbol && self.needs_ldpc_extra_symbol(length)) {
            (symbols, quarters)
        } else if quarters == 4 {
            (symbols + 1, if self.data.short_symbol.is_some() { 1 } else { 4 })
        } else {
            (symbols, quarters + 1)
        }
    }

    /// T_PE: the nominal padding minus the unused part of the last symbol, in steps of 4 us (table 27-46).
    pub(crate) fn packet_extension(&self, quarters: u64) -> Duration {
        let full = match self.options.packet_padding {
            PacketPadding::Us0 => 0,
            PacketPadding::Us8 => 8,
            PacketPadding::Us16 => 16,
            PacketPadding::Us20 => 20,
        };
        let has_one = self.data.short_symbol.is_some();
        Duration::from_micros(if has_one { u64::saturating_sub(full, 4 * (4 - quarters)) } else { 0 })
    }
}
