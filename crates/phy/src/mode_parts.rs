//! Parts of a transmit mode: width, guard interval, training fields, code; and the error for a mode that does not
//! exist.

use std::fmt;

use wifair_config::choice;
use wifair_units::Duration;

/// Why a mode does not exist, and which modes exist.
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

    /// An EHT MU PPDU has no 1x LTF: its field GI+LTF Size has four values.
    pub(crate) fn check(self, guard_interval: GuardInterval, is_eht: bool) -> Result<(), ModeError> {
        if self.goes_with(guard_interval) && !(is_eht && self == Self::X1) {
            return Ok(());
        }
        let (of, shortest) = if is_eht { (" in 802.11be", "2x") } else { ("", "1x, 2x") };
        let message = format!(
            "no {}x LTF with a guard interval of {guard_interval}{of}: there are {shortest} and 4x with 800 ns, 2x with \
             1600 ns, 4x with 3200 ns",
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

/// What there is to choose from, in words: `there are 1, 2 and 3`.
pub fn there_are<T: fmt::Display>(items: &[T]) -> String {
    format!("there {} {}", if items.len() == 1 { "is" } else { "are" }, list(items))
}

/// `1 stream`, `2 streams`.
pub(crate) fn streams_text(count: u8) -> String {
    format!("{count} stream{}", if count == 1 { "" } else { "s" })
}

/// A list in words: `1, 2 and 3`.
pub(crate) fn list<T: fmt::Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(ToString::to_string).collect();
    match texts.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
