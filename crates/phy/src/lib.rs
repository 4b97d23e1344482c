//! IEEE 802.11 physical layer: how frames are sent, how long they take, and which receivers can read them.
//!
//! A [`TxMode`] defines how a PPDU is sent: modulation class, MCS or rate, width, spatial streams, guard interval. A
//! [`PpduTiming`] computes air time from mode, band and length, exact to the nanosecond; a [`TxVector`] stands for the
//! mode of what a radio captured. [`BasicRates`] chooses the mode of ACK, block ACK and CTS. [`Amendment`] builds modes
//! from user input and refuses those that the standard does not have. [`Timing`] holds the air times and intervals of
//! 802.11b, a and g.
//!
//! Sources: IEEE Std 802.11-2016, clause 15 (DSSS), 16 (HR/DSSS), 17 (OFDM), 18 (ERP), and table 9-25 of frame formats.

mod amendment;
mod band;
mod bit_errors;
mod data_field;
mod eht;
mod error_curve;
mod frame_mode;
mod he;
mod ht;
mod ldpc;
mod mcs;
pub mod mcs_errors;
mod mcs_mode;
mod mode_parts;
mod multi_user;
mod non_ht;
mod operating_channel;
mod outage;
pub mod placement;
mod ppdu;
pub mod propagation;
mod radio;
pub mod rate;
mod resource_unit;
mod response;
mod sig_b;
mod tx_mode;
mod tx_vector;
mod vht;

use wifair_units::{BitRate, Bytes, Duration};

pub use amendment::{Amendment, ModeRequest};
pub use band::Band;
pub use bit_errors::{BitErrors, LegacyMode};
pub use eht::EhtMode;
pub use frame_mode::FrameMode;
pub use he::{HeMode, HeOptions, HeRange};
pub use ht::{HtFormat, HtMode};
pub use mcs::CodeRate;
pub use mode_parts::{ChannelWidth, Coding, GuardInterval, Ltf, ModeError, there_are};
pub use multi_user::{MuFormat, MuPpdu, MuRequest, MuUser, MuUserParts};
pub use non_ht::{DsssMode, OfdmMode};
pub use operating_channel::{Arrival, ChannelError, OperatingChannel, SEGMENTS};
pub use outage::{Outage, OutageProcess};
pub use ppdu::{PacketPadding, PpduOptions, PpduParts, PpduTiming};
pub use radio::{CaptureEffect, CarrierSense, Interference, Radio, Reception, Spoils};
pub use resource_unit::{ResourceUnit, RuSize};
pub use response::BasicRates;
pub use tx_mode::{ModulationClass, TxMode};
pub use tx_vector::{PpduFormat, TxVector};
pub use vht::VhtMode;

/// aPPDUMaxTime: the longest HT-mixed, VHT, HE or EHT PPDU, limited by the 12-bit length in L-SIG (19.4.4).
pub const PPDU_MAX_TIME: Duration = Duration::from_micros(5484);

/// How the bits of a frame translate into air time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modulation {
    /// Preamble and header of fixed length, then the bits at the data rate (clauses 15 and 16).
    Dsss {
        /// Whether the bits are rounded up to whole microseconds, as the LENGTH field counts them (16.2.3.5). ns-2 does
        /// not round.
        whole_microseconds: bool,
    },
    /// Preamble and SIGNAL field, then symbols of 4 us that hold service and tail bits too (17.4.3), then the signal
    /// extension (18.3.2.4; zero in 5 GHz).
    Ofdm {
        /// Silence that ends the frame of an ERP-OFDM PHY, 6 us in 2.4 GHz.
        signal_extension: Duration,
        /// Whether the last symbol is filled up with pad bits, as in the standard. ns-2 counts bits, not symbols.
        whole_symbols: bool,
    },
}

/// Bytes that the MAC adds to an IP packet, and lengths of control frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSizes {
    /// MAC header and FCS of a data frame: 24 + 4 bytes without QoS field (9.3.2.1).
    pub mac_overhead: Bytes,
    /// LLC and SNAP header, 8 bytes (IEEE Std 802, 9.2.3).
    pub llc_overhead: Bytes,
    /// RTS with FCS, 20 bytes (9.3.1.2).
    pub rts: Bytes,
    /// CTS with FCS, 14 bytes (9.3.1.3).
    pub cts: Bytes,
    /// ACK with FCS, 14 bytes (9.3.1.4).
    pub ack: Bytes,
}

impl Default for FrameSizes {
    fn default() -> Self {
        Self { mac_overhead: Bytes(28), llc_overhead: Bytes(8), rts: Bytes(20), cts: Bytes(14), ack: Bytes(14) }
    }
}

/// The timing parameters that all stations of a channel share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// aSlotTime.
    pub slot: Duration,
    /// aSIFSTime.
    pub sifs: Duration,
    /// `SIFS + 2 slot`, unless a scenario says otherwise (10.3.7).
    pub difs: Duration,
    /// PHY preamble and header that precede every frame.
    pub preamble: Duration,
    /// How bits become time.
    pub modulation: Modulation,
    /// Rate of RTS, CTS and ACK (10.6.5).
    pub basic_rate: BitRate,
    /// Rate of the ACK assumed in EIFS: the lowest mandatory rate (10.3.7).
    pub lowest_rate: BitRate,
    /// Parameters that an OFDM PHY in 2.4 GHz needs to send at 1, 2, 5.5 and 11 Mb/s as well; if absent it sends OFDM
    /// only.
    pub dsss: Option<Dsss>,
    /// Lengths of frames.
    pub sizes: FrameSizes,
}

/// DSSS and CCK in addition to OFDM (clause 18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dsss {
    /// Preamble and header of these frames.
    pub preamble: Duration,
    /// Highest rate of a response to such a frame.
    pub basic_rate: BitRate,
}

/// All rates of DSSS and CCK.
const DSSS_RATES: [BitRate; 4] =
    [BitRate::from_mbps(1), BitRate::from_mbps(2), BitRate::from_kbps(5_500), BitRate::from_mbps(11)];

/// Long and short preamble of HR/DSSS including the header (16.2.2.2, 16.2.2.3).
const LONG: Duration = Duration::from_micros(192);
const SHORT: Duration = Duration::from_micros(96);

/// Rates that every OFDM station must support.
const MANDATORY_OFDM_RATES: [BitRate; 3] = [BitRate::from_mbps(6), BitRate::from_mbps(12), BitRate::from_mbps(24)];

impl Timing {
    /// 802.11b: HR/DSSS with the long preamble (192 us) or the short one (96 us), 16.3.3 and table 16-4.
    pub fn hr_dsss(basic_rate: BitRate, short_preamble: bool) -> Self {
        let (slot, sifs) = (Duration::from_micros(20), Duration::from_micros(10));
        Self {
            slot,
            sifs,
            difs: sifs + slot * 2,
            preamble: if short_preamble { SHORT } else { LONG },
            modulation: Modulation::Dsss { whole_microseconds: true },
            basic_rate,
            lowest_rate: BitRate::from_mbps(1),
            dsss: None,
            sizes: FrameSizes::default(),
        }
    }

    /// The HR/DSSS preamble and header if all their bits were sent at `rate`: 144 + 48 bits (long), 72 + 48 bits
    /// (short).
    pub fn plcp_at(rate: BitRate, short_preamble: bool) -> Duration {
        let bits: u64 = if short_preamble { 120 } else { 192 };
        Duration::from_nanos((bits * 1_000_000_000).div_ceil(rate.as_bps()))
    }

    /// 802.11g: ERP-OFDM with short slots and the signal extension (18.3.2.4, table 18-5).
    pub fn erp_ofdm(basic_rate: BitRate) -> Self {
        Self::ofdm(basic_rate, Duration::from_micros(10), Duration::from_micros(6))
    }

    /// 802.11a: OFDM in 5 GHz (table 17-21).
    pub fn ofdm_5ghz(basic_rate: BitRate) -> Self {
        Self::ofdm(basic_rate, Duration::from_micros(16), Duration::ZERO)
    }

    fn ofdm(basic_rate: BitRate, sifs: Duration, signal_extension: Duration) -> Self {
        let slot = Duration::from_micros(9);
        Self {
            slot,
            sifs,
            difs: sifs + slot * 2,
            preamble: Duration::from_micros(20),
            modulation: Modulation::Ofdm { signal_extension, whole_symbols: true },
            basic_rate,
            lowest_rate: BitRate::from_mbps(6),
            dsss: None,
            sizes: FrameSizes::default(),
        }
    }

    /// Air time of a frame of `length` (MAC header to FCS) at `rate`, preamble and signal extension included.
    ///
    /// OFDM: `preamble + 4 us * ceil((16 + 8 length + 6) / N_DBPS)` (17.4.3, TXTIME), with `N_DBPS = 4 us * rate`.
    pub fn frame(&self, length: Bytes, rate: BitRate) -> Duration {
        let data = match (self.modulation, self.is_dsss(rate)) {
            (Modulation::Dsss { whole_microseconds: false }, _)
            | (Modulation::Ofdm { whole_symbols: false, .. }, false) => rate.time_for(length),
            (_, true) => rate.time_for(length).round_up_to(Duration::from_micros(1)),
            (_, false) => {
                let bits_per_symbol = rate.as_bps() * 4 / 1_000_000;
                Duration::from_micros(4) * (16 + 8 * length.0 + 6).div_ceil(bits_per_symbol)
            }
        };
        self.preamble_of(rate) + data + self.extension_of(rate)
    }

    /// The length of the MAC frame that carries an IP packet of `size`.
    pub fn frame_length(&self, size: Bytes) -> Bytes {
        size + self.sizes.llc_overhead + self.sizes.mac_overhead
    }

    /// Whether a frame at `rate` is sent by DSSS or CCK.
    pub fn is_dsss(&self, rate: BitRate) -> bool {
        matches!(self.modulation, Modulation::Dsss { .. }) || (self.dsss.is_some() && DSSS_RATES.contains(&rate))
    }

    /// Preamble and header of a frame at `rate`. The short ones of HR/DSSS exist for 2, 5.5 and 11 Mb/s only
    /// (16.2.2.3), so frames at 1 Mb/s use the long ones.
    pub fn preamble_of(&self, rate: BitRate) -> Duration {
        let by_dsss = self.is_dsss(rate);
        let preamble = match self.dsss {
            Some(dsss) if by_dsss => dsss.preamble,
            _ => self.preamble,
        };
        if by_dsss && preamble == SHORT && rate == DSSS_RATES[0] { LONG } else { preamble }
    }

    /// Whether frames at all rates have the same preamble.
    pub fn has_one_preamble(&self) -> bool {
        self.dsss.is_none() && (self.preamble != SHORT || !matches!(self.modulation, Modulation::Dsss { .. }))
    }

    /// Signal extension of a frame at `rate`.
    pub fn extension_of(&self, rate: BitRate) -> Duration {
        match self.modulation {
            Modulation::Ofdm { signal_extension, .. } if !self.is_dsss(rate) => signal_extension,
            _ => Duration::ZERO,
        }
    }

    /// Rate of the CTS or ACK that answers a frame at `rate`: the highest basic rate not above it (multirate support,
    /// control response frames; 10.6.6.5.2 in the 2020 edition). The basic rates are [`Timing::basic_rate`] and the
    /// mandatory rates below it.
    pub fn answer_rate(&self, rate: BitRate) -> BitRate {
        let by_dsss = self.is_dsss(rate);
        let highest = match self.dsss {
            Some(dsss) if by_dsss => dsss.basic_rate,
            _ => self.basic_rate,
        };
        if rate >= highest {
            return highest;
        }
        let mandatory = if by_dsss { &DSSS_RATES[..] } else { &MANDATORY_OFDM_RATES[..] };
        mandatory.iter().rev().find(|basic| **basic <= rate).copied().unwrap_or(rate)
    }

    /// Air time of the ACK to a data frame at `rate`.
    pub fn ack_to(&self, rate: BitRate) -> Duration {
        self.frame(self.sizes.ack, self.answer_rate(rate))
    }

    /// Air time of an ACK at the basic rate.
    pub fn ack(&self) -> Duration {
        self.frame(self.sizes.ack, self.basic_rate)
    }

    /// Air time of a CTS.
    pub fn cts(&self) -> Duration {
        self.frame(self.sizes.cts, self.basic_rate)
    }

    /// Air time of an RTS.
    pub fn rts(&self) -> Duration {
        self.frame(self.sizes.rts, self.basic_rate)
    }

    /// `SIFS + DIFS + ACK at the lowest rate` (10.3.7).
    pub fn eifs(&self) -> Duration {
        self.sifs + self.difs + self.frame(self.sizes.ack, self.lowest_rate)
    }

    /// Timeout of a response at this rate: `SIFS + slot + time until the PHY reports the start of a frame` (10.3.2.9,
    /// 10.3.2.11). The PHY reports it at the end of preamble and header.
    pub fn response_timeout(&self, rate: BitRate) -> Duration {
        self.sifs + self.slot + self.preamble_of(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Xiao and Rosdahl's example, recomputed by hand: 1500 B of IP at 54 Mb/s are 1536 B with LLC and MAC headers,
    /// ceil(12310 / 216) = 57 symbols = 228 us, plus 20 us.
    #[test]
    fn ofdm_frame_at_54_mbps() {
        let timing = Timing::ofdm_5ghz(BitRate::from_mbps(24));
        let length = timing.frame_length(Bytes(1500));
        assert_eq!(timing.frame(length, BitRate::from_mbps(54)), Duration::from_micros(248));
        assert_eq!(timing.ack(), Duration::from_micros(28));
        assert_eq!(timing.difs, Duration::from_micros(34));
    }

    /// ERP: SIFS 10 + 2 * 9 = 28 us, and 6 us more for every frame.
    #[test]
    fn erp_adds_the_signal_extension() {
        let timing = Timing::erp_ofdm(BitRate::from_mbps(24));
        assert_eq!(timing.difs, Duration::from_micros(28));
        assert_eq!(timing.ack(), Duration::from_micros(34));
    }

    /// Responses use the highest basic rate that is not above that of the frame.
    #[test]
    fn an_answer_is_not_faster_than_what_it_answers() {
        let mbps = BitRate::from_mbps;
        let b = Timing::hr_dsss(mbps(2), false);
        for (rate, answer) in [(mbps(1), 1), (mbps(2), 2), (BitRate::from_kbps(5_500), 2), (mbps(11), 2)] {
            assert_eq!(b.answer_rate(rate), mbps(answer));
        }
        let g = Timing::erp_ofdm(mbps(24));
        for (rate, answer) in [(6, 6), (9, 6), (12, 12), (18, 12), (24, 24), (36, 24), (54, 24)] {
            assert_eq!(g.answer_rate(mbps(rate)), mbps(answer));
        }
        let mixed = Timing { dsss: Some(Dsss { preamble: Duration::from_micros(192), basic_rate: mbps(2) }), ..g };
        assert_eq!((mixed.answer_rate(mbps(11)), mixed.answer_rate(mbps(54))), (mbps(2), mbps(24)));
        // 192 us and 14 B at 2 Mb/s; no signal extension.
        assert_eq!(mixed.ack_to(mbps(11)), Duration::from_micros(192 + 56));
        assert_eq!(mixed.ack_to(mbps(54)), g.ack());
        assert_eq!((mixed.is_dsss(mbps(11)), g.is_dsss(mbps(11)), b.is_dsss(mbps(11))), (true, false, true));
    }

    /// 192 us + 8 * 1036 / 11 us = 945.4545... us, rounded up to the next microsecond (or nanosecond).
    #[test]
    fn hr_dsss_frame_at_11_mbps() {
        let mut timing = Timing::hr_dsss(BitRate::from_mbps(2), false);
        assert_eq!(timing.frame(Bytes(1036), BitRate::from_mbps(11)), Duration::from_micros(946));
        timing.modulation = Modulation::Dsss { whole_microseconds: false };
        assert_eq!(timing.frame(Bytes(1036), BitRate::from_mbps(11)), Duration::from_nanos(945_455));
        assert_eq!(timing.ack(), Duration::from_micros(192 + 56));
        assert_eq!(timing.eifs(), Duration::from_micros(10 + 50 + 192 + 112));
        assert_eq!(timing.response_timeout(timing.basic_rate), Duration::from_micros(10 + 20 + 192));
    }

    /// 16.2.2.3: the short preamble is for 2, 5.5 and 11 Mb/s. An ACK takes 96 + 56 us at 2 Mb/s and 192 + 112 us at 1
    /// Mb/s, which is also the ACK assumed in EIFS.
    #[test]
    fn a_frame_at_1_mbps_has_the_long_preamble() {
        let mbps = BitRate::from_mbps;
        let short = Timing::hr_dsss(mbps(2), true);
        assert_eq!((short.ack(), short.ack_to(mbps(1))), (Duration::from_micros(152), Duration::from_micros(304)));
        assert_eq!(short.eifs(), Duration::from_micros(10 + 50 + 304));
        assert_eq!(Timing::hr_dsss(mbps(1), true).response_timeout(mbps(1)), Duration::from_micros(10 + 20 + 192));
        let g = Timing::erp_ofdm(mbps(24));
        let mixed = Timing { dsss: Some(Dsss { preamble: short.preamble, basic_rate: mbps(2) }), ..g };
        assert_eq!(mixed.frame(Bytes(14), mbps(1)), Duration::from_micros(304));
        assert_eq!(mixed.frame(Bytes(14), mbps(2)), Duration::from_micros(152));
    }

    #[test]
    fn plcp_at_11_mbps_is_what_ns2_sends_when_told() {
        assert_eq!(Timing::plcp_at(BitRate::from_mbps(11), false), Duration::from_nanos(17_455));
    }
}
