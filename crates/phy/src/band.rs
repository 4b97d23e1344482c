//! Properties of a band: interframe spaces, slots, the signal extension.

use wifair_config::choice;
use wifair_units::Duration;

choice! {
    /// Frequency band.
    pub enum Band {
        /// 2.4 GHz: SIFS of 10 us and a signal extension of 6 us.
        Ghz2_4 = "2.4 GHz",
        /// 5 GHz: SIFS of 16 us.
        Ghz5 = "5 GHz",
        /// 6 GHz: SIFS of 16 us.
        Ghz6 = "6 GHz",
    }
}

impl Band {
    /// All bands.
    pub const ALL: [Self; 3] = [Self::Ghz2_4, Self::Ghz5, Self::Ghz6];

    /// Reads `2.4`, `5` or `6`, with or without `GHz`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.trim().strip_suffix("GHz").unwrap_or(text).trim();
        Self::ALL.into_iter().find(|band| band.number() == number)
    }

    /// `2.4`, `5` or `6`.
    pub const fn number(self) -> &'static str {
        match self {
            Self::Ghz2_4 => "2.4",
            Self::Ghz5 => "5",
            Self::Ghz6 => "6",
        }
    }

    /// aSIFSTime: 10 us in 2.4 GHz, 16 us elsewhere (tables 16-4, 17-21, 18-5, 19-25).
    pub const fn sifs(self) -> Duration {
        Duration::from_micros(if matches!(self, Self::Ghz2_4) { 10 } else { 16 })
    }

    /// aSlotTime: 9 us; 20 us in 2.4 GHz if a station without short slots is present (tables 16-4, 17-21, 18-5).
    pub const fn slot(self, long: bool) -> Duration {
        Duration::from_micros(if matches!(self, Self::Ghz2_4) && long { 20 } else { 9 })
    }

    /// `SIFS + aifsn * slot`; DIFS is this with an `aifsn` of 2 (10.3.2.3).
    pub fn aifs(self, aifsn: u64, long_slot: bool) -> Duration {
        self.sifs() + self.slot(long_slot) * aifsn
    }

    /// Silence of 6 us at the end of every OFDM PPDU in 2.4 GHz, so that SIFS is effectively as long as in 5 GHz
    /// (18.3.2.4, 19.3.2).
    pub const fn signal_extension(self) -> Duration {
        Duration::from_micros(if matches!(self, Self::Ghz2_4) { 6 } else { 0 })
    }
}
