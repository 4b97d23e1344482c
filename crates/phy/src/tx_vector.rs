//! What determines the air time of a PPDU from 802.11n on.

use wifair_units::{BitRate, Duration};

use crate::data_field::{DataField, PreambleFields};
use crate::mcs::{self, McsParameters};
use crate::{ChannelWidth, Coding, GuardInterval, HtFormat, Ltf, eht, he, ht, vht};

/// Format of a PPDU from 802.11n on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PpduFormat {
    /// 802.11n.
    Ht(HtFormat),
    /// 802.11ac.
    Vht,
    /// 802.11ax.
    He,
    /// 802.11ax, extended range: HE ER SU.
    HeExtended,
    /// 802.11be.
    Eht,
}

impl PpduFormat {
    /// Data subcarriers of the full `width`, N_SD: tables 19-6 and 21-5, 27.5 and 36.5.
    pub const fn subcarriers(self, width: ChannelWidth) -> u32 {
        let by_width = match self {
            Self::Ht(_) | Self::Vht => [52, 108, 234, 468, 936],
            Self::He | Self::HeExtended | Self::Eht => [234, 468, 980, 1_960, 3_920],
        };
        by_width[width as usize]
    }
}

/// The parameters of a PPDU that determine its air time, a part of TXVECTOR and RXVECTOR (8.3.4.4).
///
/// A [`TxMode`](crate::TxMode) is a mode of the standard. A vector also describes what a radio reports of PPDUs to
/// others: space-time block coding, resource units, and combinations that are in no table of the standard. The
/// formulas of the standard give all of them an air time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxVector {
    /// Format.
    pub format: PpduFormat,
    /// Modulation and code rate: the MCS of a single stream, 0 to 13, or 14 and 15 of EHT. Others count as 13.
    pub mcs: u8,
    /// Spatial streams, at least 1.
    pub streams: u8,
    /// Space-time streams beyond the spatial streams (STBC). With any, symbols are sent in pairs.
    pub stbc: u8,
    /// Data subcarriers, N_SD, at least 2.
    pub subcarriers: u32,
    /// Guard interval.
    pub guard_interval: GuardInterval,
    /// Long training fields of HE and EHT. Those of HT and VHT take 4 us.
    pub ltf: Ltf,
    /// Whether each bit is sent on two subcarriers (dual carrier modulation).
    pub dcm: bool,
    /// Code; if absent, BCC where the standard allows it.
    pub coding: Option<Coding>,
}

impl TxVector {
    /// These parameters with the usual training fields and code, without space-time block coding or dual carrier
    /// modulation.
    pub const fn new(
        format: PpduFormat,
        mcs: u8,
        streams: u8,
        subcarriers: u32,
        guard_interval: GuardInterval,
    ) -> Self {
        let ltf = Ltf::usual(guard_interval);
        Self { format, mcs, streams, stbc: 0, subcarriers, guard_interval, ltf, dcm: false, coding: None }
    }

    /// Data rate, rounded to bit/s.
    pub fn data_rate(&self) -> BitRate {
        self.data().rate()
    }

    pub(crate) fn fields(&self) -> (PreambleFields, DataField) {
        (self.preamble(), self.data())
    }

    fn preamble(&self) -> PreambleFields {
        let number = mcs::training_fields(self.streams + self.stbc);
        let training = (self.ltf.duration() + self.guard_interval.duration()) * number;
        match self.format {
            PpduFormat::Ht(format) => ht::preamble(format, number),
            PpduFormat::Vht => vht::preamble(number),
            PpduFormat::He => he::preamble(8, training),
            PpduFormat::HeExtended => he::preamble(16, training),
            PpduFormat::Eht => eht::preamble(training),
        }
    }

    /// Duration of a data symbol with its guard interval.
    pub fn symbol(&self) -> Duration {
        let useful = match self.format {
            PpduFormat::Ht(_) | PpduFormat::Vht => 3_200,
            PpduFormat::He | PpduFormat::HeExtended | PpduFormat::Eht => 12_800,
        };
        Duration::from_nanos(useful) + self.guard_interval.duration()
    }

    pub(crate) fn data(&self) -> DataField {
        // EHT-MCS 15 is MCS 0 with dual carrier modulation. EHT-MCS 14 (EHT DUP) also sends it twice: on 484 tones in
        // 80 MHz, and in both halves of wider channels.
        let (mcs, subcarriers) = match (self.format, self.mcs, self.subcarriers) {
            (PpduFormat::Eht, 14, 980) => (0, 234),
            (PpduFormat::Eht, 14, all) => (0, all / 4),
            (PpduFormat::Eht, 15, all) => (0, all / 2),
            (_, mcs, all) => (mcs.min(13), if self.dcm { all / 2 } else { all }),
        };
        let McsParameters { bits_per_subcarrier, code_rate } = mcs::of(mcs);
        let coded = subcarriers * bits_per_subcarrier * u32::from(self.streams);
        let is_older = matches!(self.format, PpduFormat::Ht(_) | PpduFormat::Vht);
        let bcc = is_older || he::has_bcc(mcs, self.streams, self.subcarriers);
        let coding = self.coding.unwrap_or(if bcc { Coding::Bcc } else { Coding::Ldpc });
        let data = DataField::new(self.symbol(), coded, code_rate, coding);
        let data = match self.format {
            PpduFormat::Ht(format) => ht::data(format, data),
            PpduFormat::Vht => vht::data(data),
            _ => he::data(data, self.subcarriers),
        };
        if self.stbc == 0 { data } else { data.in_pairs() }
    }
}
