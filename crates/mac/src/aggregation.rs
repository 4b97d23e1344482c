//! How MSDUs become A-MSDUs and MPDUs become A-MPDUs, and how long these may get.
//!
//! Source: IEEE Std 802.11-2020, 9.3.2.2.2 (A-MSDU), 9.7.1 (A-MPDU), 10.11 and 10.12 (rules), 9.4.2.55.3 (A-MPDU parameters).
//! Left out: A-MPDUs with several TIDs, zero-length delimiters beyond those of the start spacing.

use wifair_phy::{PPDU_MAX_TIME, PpduTiming, TxMode};
use wifair_units::{Bytes, Duration};

use crate::frame_length::{A_MSDU_SUBFRAME_HEADER, DELIMITER};

/// Longest MPDU in an HT A-MPDU (10.12.2).
pub const HT_MAX_MPDU_IN_A_MPDU: Bytes = Bytes(4_095);

/// The A-MSDU lengths that a receiver may announce (9.4.2.55.2, 9.4.2.157.2).
pub const MAX_A_MSDU: [Bytes; 3] = [Bytes(3_839), Bytes(7_935), Bytes(11_454)];

/// Length of the longest A-MPDU by its exponent: `2^(13 + exponent) - 1` bytes.
///
/// HT has exponents 0 to 3 (8191 to 65,535), VHT 0 to 7 (to 1,048,575). HE goes on to 10, EHT to 11, and both end at the longest
/// PSDU, 6,500,631 and 15,523,200 bytes.
#[must_use]
pub fn max_a_mpdu(exponent: u8, mode: TxMode) -> Bytes {
    Bytes((1_u64 << (13 + exponent.min(11))) - 1).min(mode.max_psdu())
}

/// What a receiver takes, and what a sender may send to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregationLimits {
    /// Longest A-MSDU; zero for none.
    pub max_a_msdu: Bytes,
    /// Longest A-MPDU, as [`max_a_mpdu`] gives it.
    pub max_a_mpdu: Bytes,
    /// Longest MPDU in it.
    pub max_mpdu: Bytes,
    /// Least time from the start of one MPDU to the next: 0, 1/4, 1/2, 1, 2, 4, 8 or 16 us.
    pub start_spacing: Duration,
}

impl AggregationLimits {
    /// What goes into PPDUs of this mode that take at most `time`, aPPDUMaxTime or what a TXOP leaves if that is less.
    #[must_use]
    pub fn within(&self, mode: TxMode, timing: &PpduTiming, time: Duration) -> AMpduRules {
        let longest = timing.longest(time.min(PPDU_MAX_TIME)).unwrap_or(Bytes(0));
        // 10.12.3: the start spacing times the rate, in octets.
        let spacing_bits = u128::from(self.start_spacing.as_nanos()) * u128::from(mode.data_rate().as_bps());
        let min_subframe = u64::try_from(spacing_bits.div_ceil(8_000_000_000)).unwrap_or(u64::MAX);
        AMpduRules {
            max_length: longest.min(self.max_a_mpdu),
            max_mpdu: self.max_mpdu,
            min_subframe: Bytes(min_subframe.next_multiple_of(4)),
        }
    }
}

/// What bounds an A-MPDU in a given mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AMpduRules {
    /// Its longest length, by the receiver and by air time.
    pub max_length: Bytes,
    /// Longest MPDU.
    pub max_mpdu: Bytes,
    /// Shortest subframe but for the last, by the start spacing.
    pub min_subframe: Bytes,
}

/// An A-MPDU while it is built: its length, and the MPDUs in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AMpduLength {
    length: u64,
    padded: u64,
    mpdus: u32,
}

impl AMpduLength {
    /// Adds an MPDU, if the rules allow it.
    #[must_use]
    pub fn add(&mut self, mpdu: Bytes, rules: &AMpduRules) -> bool {
        let length = self.padded + DELIMITER.0 + mpdu.0;
        if mpdu > rules.max_mpdu || length > rules.max_length.0 {
            return false;
        }
        // Padding and, for the start spacing, delimiters without MPDU come only when another MPDU follows.
        let subframe = (DELIMITER.0 + mpdu.0).next_multiple_of(4).max(rules.min_subframe.0);
        *self = Self { length, padded: self.padded + subframe, mpdus: self.mpdus + 1 };
        true
    }

    /// Length of the PSDU; zero without MPDUs.
    #[must_use]
    pub const fn length(&self) -> Bytes {
        Bytes(self.length)
    }

    /// MPDUs in it.
    #[must_use]
    pub const fn mpdus(&self) -> u32 {
        self.mpdus
    }
}

/// An A-MSDU while it is built: the length of its body, without the MAC header of the MPDU that carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AMsduLength {
    length: u64,
    msdus: u32,
}

impl AMsduLength {
    /// Adds an MSDU, LLC and SNAP header included, if the A-MSDU stays within `max`.
    #[must_use]
    pub fn add(&mut self, msdu: Bytes, max: Bytes) -> bool {
        let length = self.length.next_multiple_of(4) + A_MSDU_SUBFRAME_HEADER.0 + msdu.0;
        if length > max.0 {
            return false;
        }
        *self = Self { length, msdus: self.msdus + 1 };
        true
    }

    /// Length of the body.
    #[must_use]
    pub const fn length(&self) -> Bytes {
        Bytes(self.length)
    }

    /// MSDUs in it.
    #[must_use]
    pub const fn msdus(&self) -> u32 {
        self.msdus
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wifair_phy::{Amendment, Band, ModeRequest};

    use super::*;
    use crate::frame_length;

    const MPDU: Bytes = Bytes(1_538);

    fn mode(standard: &str, mcs: u32, width: u32) -> TxMode {
        let request = ModeRequest { mcs: Some(mcs), width_mhz: Some(width), ..ModeRequest::default() };
        Amendment::parse(standard).unwrap().mode(&request).unwrap().1
    }

    fn limits(mode: TxMode, exponent: u8) -> AggregationLimits {
        AggregationLimits {
            max_a_msdu: Bytes(0),
            max_a_mpdu: max_a_mpdu(exponent, mode),
            max_mpdu: if matches!(mode, TxMode::Ht(_)) { HT_MAX_MPDU_IN_A_MPDU } else { Bytes(11_454) },
            start_spacing: Duration::ZERO,
        }
    }

    fn filled(limits: &AggregationLimits, mode: TxMode, time: Duration, mpdu: Bytes) -> AMpduLength {
        let rules = limits.within(mode, &PpduTiming::new(mode, Band::Ghz5), time);
        let mut built = AMpduLength::default();
        while built.add(mpdu, &rules) {}
        built
    }

    /// The reference runs: a PPDU of MPDUs of 1538 bytes holds 2 of them at MCS 0 and 28 at MCS 7 (20 MHz, long guard interval).
    #[test]
    fn as_many_mpdus_as_5484_us_hold() {
        let count = |mcs| {
            let mode = mode("802.11n", mcs, 20);
            filled(&limits(mode, 3), mode, PPDU_MAX_TIME, MPDU).mpdus()
        };
        assert_eq!((count(0), count(7)), (2, 28));
        // 8191 bytes hold five MPDUs, 7718 bytes.
        let mode = mode("802.11n", 7, 20);
        let built = filled(&limits(mode, 0), mode, PPDU_MAX_TIME, MPDU);
        assert_eq!((built.mpdus(), built.length()), (5, Bytes(4 * 1_544 + 1_542)));
    }

    /// By hand: 36 us of preamble and 1504 - 36 = 1468 us, 367 symbols of 260 bits, hold 11,925 bytes: 7 MPDUs.
    #[test]
    fn as_many_mpdus_as_a_txop_leaves() {
        let mode = mode("802.11n", 7, 20);
        assert_eq!(filled(&limits(mode, 3), mode, Duration::from_micros(1_504), MPDU).mpdus(), 7);
    }

    #[test]
    fn lengths_by_exponent() {
        let (n, ac) = (mode("802.11n", 7, 20), mode("802.11ac", 8, 80));
        let (ax, be) = (mode("802.11ax", 11, 80), mode("802.11be", 13, 160));
        assert_eq!([0, 3].map(|exponent| max_a_mpdu(exponent, n).0), [8_191, 65_535]);
        assert_eq!([0, 7].map(|exponent| max_a_mpdu(exponent, ac).0), [8_191, 1_048_575]);
        assert_eq!([8, 10].map(|exponent| max_a_mpdu(exponent, ax).0), [2_097_151, 6_500_631]);
        assert_eq!(max_a_mpdu(11, be).0, 15_523_200);
    }

    /// HT takes no MPDU above 4095 bytes into an A-MPDU.
    #[test]
    fn an_ht_a_mpdu_refuses_long_mpdus() {
        let (n, ac) = (mode("802.11n", 7, 20), mode("802.11ac", 7, 20));
        assert_eq!(filled(&limits(n, 3), n, PPDU_MAX_TIME, Bytes(4_096)).mpdus(), 0);
        assert!(filled(&limits(ac, 3), ac, PPDU_MAX_TIME, Bytes(4_096)).mpdus() > 0);
    }

    /// 16 us at 65 Mb/s are 130 bytes, so subframes of 132; the last one is as long as it is.
    #[test]
    fn start_spacing_fills_short_subframes() {
        let mode = mode("802.11n", 7, 20);
        let limits = AggregationLimits { start_spacing: Duration::from_micros(16), ..limits(mode, 0) };
        let built = filled(&limits, mode, PPDU_MAX_TIME, Bytes(70));
        assert_eq!(built.mpdus(), 62);
        assert_eq!(built.length(), Bytes(61 * 132 + 74));
        assert!(built.length().0 <= 8_191 && built.length().0 + 132 > 8_191);
    }

    /// 1508 bytes of MSDU make subframes of 1522, padded to 1524: 2 in 3839 bytes, 5 in 7935, 7 in 11454.
    #[test]
    fn msdus_by_length_of_the_a_msdu() {
        let count = |max| {
            let mut built = AMsduLength::default();
            while built.add(Bytes(1_508), max) {}
            built.msdus()
        };
        assert_eq!(MAX_A_MSDU.map(count), [2, 5, 7]);
    }

    proptest! {
        /// Whatever is added stays within length and air time, and is as long as the sum of its parts.
        #[test]
        fn never_above_its_limits(
            lengths in prop::collection::vec(30_u64..4_000, 1..100),
            mcs in 0_u32..8,
            exponent in 0_u8..4,
            time_us in 100_u64..6_000,
        ) {
            let mode = mode("802.11n", mcs, 20);
            let timing = PpduTiming::new(mode, Band::Ghz5);
            let limits = limits(mode, exponent);
            let time = Duration::from_micros(time_us);
            let rules = limits.within(mode, &timing, time);
            let (mut built, mut inside) = (AMpduLength::default(), Vec::new());
            for length in lengths {
                if built.add(Bytes(length), &rules) {
                    inside.push(Bytes(length));
                }
            }
            prop_assert_eq!(built.length(), frame_length::a_mpdu(inside.iter().copied()));
            prop_assert!(built.length() <= limits.max_a_mpdu);
            prop_assert!(inside.is_empty() || timing.duration(built.length()) <= time.min(PPDU_MAX_TIME));
        }
    }
}
