//! The transmit mode of a frame, as users name it.

use wifair_phy::{ChannelWidth, PpduFormat};

use super::radiotap::{RadioRate, mcs_index};

/// Transmit mode of a frame of 802.11n or a later amendment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModeParameters {
    /// `802.11n`, `802.11ac`, `802.11ax` or `802.11be`.
    pub standard: &'static str,
    /// MCS index; in 802.11n it includes the number of streams.
    pub mcs: u8,
    /// Spatial streams.
    pub streams: u8,
    /// Width in MHz; `None` for a resource unit narrower than 20 MHz.
    pub width_mhz: Option<u16>,
    /// Guard interval in ns.
    pub guard_interval_ns: u16,
}

impl ModeParameters {
    /// The mode of a rate; `None` before 802.11n.
    ///
    /// ```
    /// use wifair_capture::link::{mode::ModeParameters, radiotap::{RadioRate, ht}};
    /// use wifair_phy::{ChannelWidth, GuardInterval, HtFormat, PpduFormat, TxVector};
    /// let he = RadioRate::Mcs(TxVector::new(PpduFormat::He, 11, 2, 980, GuardInterval::Ns800));
    /// let mode = ModeParameters::of(he).unwrap();
    /// assert_eq!((mode.standard, mode.mcs, mode.streams, mode.width_mhz), ("802.11ax", 11, 2, Some(80)));
    /// let ht = RadioRate::Mcs(ht(15, ChannelWidth::Mhz40, HtFormat::Mixed, GuardInterval::Ns400));
    /// let mode = ModeParameters::of(ht).unwrap();
    /// assert_eq!((mode.mcs, mode.streams, mode.width_mhz, mode.guard_interval_ns), (15, 2, Some(40), 400));
    /// assert_eq!(ModeParameters::of(RadioRate::Legacy(108)), None);
    /// ```
    pub fn of(rate: RadioRate) -> Option<Self> {
        let RadioRate::Mcs(vector) = rate else { return None };
        let standard = match vector.format {
            PpduFormat::Ht(_) => "802.11n",
            PpduFormat::Vht => "802.11ac",
            PpduFormat::He | PpduFormat::HeExtended => "802.11ax",
            PpduFormat::Eht => "802.11be",
        };
        let mcs = mcs_index(&vector);
        let is_full = |width: &ChannelWidth| vector.format.subcarriers(*width) == vector.subcarriers;
        // MCS 32 exists in 40 MHz.
        let width = if mcs == 32 { Some(ChannelWidth::Mhz40) } else { ChannelWidth::ALL.into_iter().find(is_full) };
        Some(Self {
            standard,
            mcs,
            streams: vector.streams,
            width_mhz: width.map(|width| width.mhz() as u16),
            guard_interval_ns: vector.guard_interval.duration().as_nanos() as u16,
        })
    }
}
