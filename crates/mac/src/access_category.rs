//! The four access categories of EDCA: their default parameters, and the mapping of packets to them.
//!
//! Sources: IEEE Std 802.11-2012, 8.4.2.31 (default EDCA parameters) and 9.2.4.2 (user priorities); RFC 8325, section
//! 4; Linux, `cfg80211_classify8021d`.

use wifair_config::choice;
use wifair_units::Duration;

use crate::Category;

// A higher priority compares as less.
choice! {
    /// Access category of a flow's packets.
    pub enum AccessCategory {
        /// Voice.
        Vo = "voice",
        /// Video.
        Vi = "video",
        /// Best effort.
        Be = "best-effort",
        /// Background.
        Bk = "background",
    }
}

impl AccessCategory {
    /// All categories, highest priority first.
    pub const ALL: [Self; 4] = [Self::Vo, Self::Vi, Self::Be, Self::Bk];

    /// Its index in [`AccessCategory::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// `VO`, `VI`, `BE` or `BK`.
    #[must_use]
    pub const fn abbreviation(self) -> &'static str {
        match self {
            Self::Vo => "VO",
            Self::Vi => "VI",
            Self::Be => "BE",
            Self::Bk => "BK",
        }
    }

    /// The category of a user priority (the TID of its frames): 1 and 2 are BK, 0 and 3 are BE, 4 and 5 are VI, 6 and 7
    /// are VO. Values above 7 are taken modulo 8.
    #[must_use]
    pub const fn of_priority(priority: u8) -> Self {
        match priority % 8 {
            1 | 2 => Self::Bk,
            0 | 3 => Self::Be,
            4 | 5 => Self::Vi,
            _ => Self::Vo,
        }
    }

    /// Default EDCA parameters (802.11-2012, table 8-105) for a PHY with `cw_min` (15 for OFDM, 31 for DSSS) and a
    /// CWmax of 1023.
    ///
    /// TXOP limits are 1.504 ms (VO) and 3.008 ms (VI), with DSSS 3.264 and 6.016 ms. They are zero for BE and BK: one
    /// frame or aggregate per TXOP.
    #[must_use]
    pub const fn defaults(self, cw_min: u32, dsss: bool) -> Category {
        // Windows are one less than a power of two: (CW + 1) / 2 - 1.
        let (half, quarter) = (cw_min >> 1, cw_min >> 2);
        let (cw_min, cw_max, aifsn, txop_us) = match self {
            Self::Vo => (quarter, half, 2, if dsss { 3_264 } else { 1_504 }),
            Self::Vi => (half, cw_min, 2, if dsss { 6_016 } else { 3_008 }),
            Self::Be => (cw_min, 1_023, 3, 0),
            Self::Bk => (cw_min, 1_023, 7, 0),
        };
        Category { cw_min, cw_max, aifsn, txop: Duration::from_micros(txop_us), burst: 1 }
    }
}

choice! {
    /// How the DSCP of a packet is mapped to a user priority, and so to an access category.
    pub enum DscpMapping {
        /// By service class; code points without a service class are best effort.
        Rfc8325 = "rfc8325" from "RFC 8325, section 4.3; RFC 8622 for LE",
        /// By service class as in RFC 8325; other code points by their three high bits.
        Linux = "linux" from "Linux 6.8, net/wireless/util.c",
        /// By the three high bits (IP precedence) alone.
        Precedence = "precedence" from "RFC 8325, section 2.3; Linux up to 6.7",
    }
}

impl DscpMapping {
    /// The user priority of `dscp`, 0 to 63; larger values are taken modulo 64.
    #[must_use]
    pub const fn priority(self, dscp: u8) -> u8 {
        let dscp = dscp % 64;
        match (self, Self::of_service_class(dscp)) {
            (Self::Precedence, _) | (Self::Linux, None) => dscp >> 3,
            (Self::Rfc8325 | Self::Linux, Some(priority)) => priority,
            (Self::Rfc8325, None) => {
                // RFC 8622 adds LE: background.
                if dscp == 1 { 1 } else { 0 }
            }
        }
    }

    /// The access category of `dscp`.
    #[must_use]
    pub const fn category(self, dscp: u8) -> AccessCategory {
        AccessCategory::of_priority(self.priority(dscp))
    }

    /// RFC 8325, figure 1.
    const fn of_service_class(dscp: u8) -> Option<u8> {
        Some(match dscp {
            56 | 48 => 7,               // CS7, CS6: network control
            46 | 44 => 6,               // EF, VOICE-ADMIT: telephony
            40 => 5,                    // CS5: signalling
            34 | 36 | 38 | 32 => 4,     // AF4x, CS4: conferencing, interactive
            26 | 28 | 30 | 24 => 4,     // AF3x, CS3: streaming, broadcast video
            18 | 20 | 22 => 3,          // AF2x: low-latency data
            16 | 10 | 12 | 14 | 0 => 0, // CS2, AF1x, DF: management, high-throughput data, standard
            8 => 1,                     // CS1: low-priority data
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AccessCategory::{Be, Bk, Vi, Vo};

    /// The defaults listed in the reference runs of ns-3: AIFSN/CWmin/CWmax VO 2/3/7, VI 2/7/15, BE 3/15/1023, BK
    /// 7/15/1023; TXOP 1504, 3008, 0, 0 us.
    #[test]
    fn default_parameters() {
        for (category, aifsn, cw_min, cw_max, txop) in
            [(Vo, 2, 3, 7, 1_504), (Vi, 2, 7, 15, 3_008), (Be, 3, 15, 1_023, 0), (Bk, 7, 15, 1_023, 0)]
        {
            let found = category.defaults(15, false);
            let expected = Category { cw_min, cw_max, aifsn, txop: Duration::from_micros(txop), burst: 1 };
            assert_eq!(found, expected, "{}", category);
        }
        assert_eq!((Vo.defaults(31, true).cw_min, Vi.defaults(31, true).cw_max), (7, 31));
    }

    #[test]
    fn user_priorities() {
        let categories: Vec<AccessCategory> = (0..8).map(AccessCategory::of_priority).collect();
        assert_eq!(categories, [Be, Bk, Bk, Be, Vi, Vi, Vo, Vo]);
    }

    /// Rows of RFC 8325, figure 1. The mappings differ most for EF: 101110 has the high bits of video.
    #[test]
    fn code_points() {
        use DscpMapping::{Linux, Precedence, Rfc8325};
        for (dscp, by_class, by_bits) in [
            (56, Vo, Vo), // CS7
            (48, Vo, Vo), // CS6
            (46, Vo, Vi), // EF
            (44, Vo, Vi), // VOICE-ADMIT
            (40, Vi, Vi), // CS5
            (34, Vi, Vi), // AF41
            (32, Vi, Vi), // CS4
            (26, Vi, Be), // AF31
            (24, Vi, Be), // CS3
            (18, Be, Bk), // AF21
            (16, Be, Bk), // CS2
            (10, Be, Bk), // AF11
            (8, Bk, Bk),  // CS1
            (0, Be, Be),  // DF
        ] {
            let found = [Rfc8325, Linux, Precedence].map(|mapping| mapping.category(dscp));
            assert_eq!(found, [by_class, by_class, by_bits], "DSCP {dscp}");
        }
        // LE, and code points without a service class.
        assert_eq!([Rfc8325, Linux, Precedence].map(|mapping| mapping.priority(1)), [1, 0, 0]);
        assert_eq!([Rfc8325, Linux, Precedence].map(|mapping| mapping.priority(50)), [0, 6, 6]);
        assert_eq!([Rfc8325, Linux, Precedence].map(|mapping| mapping.priority(47)), [0, 5, 5]);
    }
}
