//! The transmit mode of a frame, as users name it.

use super::radiotap::RadioRate;

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
    /// use wifair_capture::link::{mode::ModeParameters, radiotap::RadioRate};
    /// let he = RadioRate::He { mcs: 11, streams: 2, carriers: 980, guard_ns: 800, dcm: false, extended: false };
    /// let mode = ModeParameters::of(he).unwrap();
    /// assert_eq!((mode.standard, mode.mcs, mode.streams, mode.width_mhz), ("802.11ax", 11, 2, Some(80)));
    /// let ht = ModeParameters::of(RadioRate::Ht { mcs: 15, wide: true, short_guard: true }).unwrap();
    /// assert_eq!((ht.streams, ht.width_mhz, ht.guard_interval_ns), (2, Some(40), 400));
    /// assert_eq!(ModeParameters::of(RadioRate::Legacy(108)), None);
    /// ```
    pub fn of(rate: RadioRate) -> Option<Self> {
        let guard = |is_short| if is_short { 400 } else { 800 };
        let (standard, mcs, streams, width_mhz, guard_interval_ns) = match rate {
            RadioRate::Legacy(_) => return None,
            RadioRate::Ht { mcs, wide, short_guard } => {
                // MCS 32 has one stream (19.5).
                ("802.11n", mcs, mcs / 8 % 4 + 1, Some(if wide { 40 } else { 20 }), guard(short_guard))
            }
            RadioRate::Vht { mcs, streams, width, short_guard } => {
                ("802.11ac", mcs, streams, Some(width), guard(short_guard))
            }
            RadioRate::He { mcs, streams, carriers, guard_ns, .. } => {
                ("802.11ax", mcs, streams, width(carriers), guard_ns)
            }
            RadioRate::Eht { mcs, streams, carriers, guard_ns } => {
                ("802.11be", mcs, streams, width(carriers), guard_ns)
            }
        };
        Some(Self { standard, mcs, streams, width_mhz, guard_interval_ns })
    }
}

/// Channel width with this number of data subcarriers, in MHz.
const fn width(carriers: u16) -> Option<u16> {
    match carriers {
        234 => Some(20),
        468 => Some(40),
        980 => Some(80),
        1960 => Some(160),
        3920 => Some(320),
        _ => None,
    }
}
