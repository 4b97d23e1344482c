//! The keys of `[wlan]`, and the timing and access rules that follow from them.
//!
//! Defaults are those of IEEE Std 802.11-2016; `profile = "ns2"` changes the ones in which ns-2 2.35 differs.

use wifair_config::{At, choice, table};
use wifair_mac::{Access, Bandwidth, DscpMapping, Eifs, IdleAccess};
use wifair_phy::rate::Adaptation;
use wifair_phy::{Amendment, Band, Coding, Dsss, FrameSizes, Modulation, Timing};
use wifair_units::{BitRate, Bytes, Duration};

use super::edca_keys::{Aggregation, EdcaParameterSet};

choice! {
    /// Which access rules apply where implementations differ.
    pub enum Profile {
        /// Those of the standard.
        Standard = "standard" from "IEEE Std 802.11-2016, clause 10",
        /// ns-2: EIFS as a NAV, in whole microseconds; a backoff even on an idle channel; backoff below CW; no LLC
        /// header; air times not rounded up; no signal extension.
        Ns2 = "ns2" from "ns-2 2.35, mac/mac-802_11.cc",
    }
}

choice! {
    /// Preamble of 802.11b.
    pub enum Preamble {
        /// 144 bits and a header of 48 bits, 192 us at 1 Mb/s.
        Long = "long" from "IEEE Std 802.11-2016, 16.2.2.2",
        /// 72 bits at 1 Mb/s and a header of 48 bits at 2 Mb/s, 96 us. Frames at 1 Mb/s nevertheless use the long
        /// preamble.
        Short = "short" from "IEEE Std 802.11-2016, 16.2.2.3",
    }
}

choice! {
    /// At which stations a given error probability applies, up to 802.11g.
    pub enum ErrorsAt {
        /// At the receiver of a frame: all other stations read it.
        Receiver = "receiver",
        /// At every station that could read a frame, independently: a station that loses another's frame does not learn
        /// its NAV and waits EIFS. Bystanders use the probability of frames to them, the access point that of the
        /// sender.
        EveryStation = "every-station" from "ns-2 2.35, error models on incoming interfaces",
    }
}

/// Default rate of data frames; from 802.11n on the MCS determines the rate.
pub(super) const fn default_data_rate(standard: Amendment) -> BitRate {
    BitRate::from_mbps(if standard.is_ofdm() { 54 } else { 11 })
}

/// Whether stations of this standard operate in 2.4 GHz.
fn is_2_4_ghz(standard: Amendment, band: Option<Band>) -> bool {
    match standard {
        Amendment::B | Amendment::G => true,
        Amendment::A => false,
        _ => band == Some(Band::Ghz2_4),
    }
}

/// A longer wait for an answer is probably a wrong unit.
const LONGEST: Duration = Duration::from_secs(1);

/// The longest slot of the standard is 50 us (frequency hopping), and other intervals of the MAC are of that order;
/// twenty times that is probably a wrong unit.
const LONGEST_INTERVAL: Duration = Duration::from_millis(1);

/// Whether it is a probability, for the rules of keys.
fn is_probability(p: &f64) -> bool {
    (0.0..=1.0).contains(p)
}

/// The sizes of RTS and CTS (IEEE Std 802.11-2016, 9.3.1.2 and 9.3.1.3).
pub(super) const RTS_SIZE: Bytes = Bytes(20);
pub(super) const CTS_SIZE: Bytes = Bytes(14);
/// The highest rate of answers to DSSS frames, unless the user sets another.
pub(super) const DSSS_BASIC_RATE: BitRate = BitRate::from_mbps(2);

table! {
    /// The wireless network: physical layer and channel access, for all stations unless a group overrides them.
    pub struct Wlan {
        /// Physical layer.
        pub standard: Amendment;
        /// Which access rules apply where implementations differ; each can be set individually.
        pub profile: Profile = Profile::Standard;
        /// Rate of data frames.
        pub data_rate: BitRate = default_data_rate(standard), by standard;
        /// Whether `data_rate`, `basic_rate` and `eifs_rate` may be rates outside the standard, as in ns-2.
        pub nonstandard_rates: bool = false;
        /// Whether contention windows and TXOP limits may be values outside the standard, which has only windows of
        /// powers of two less one, and limits of multiples of 32 us.
        pub nonstandard_windows: bool = false;
        /// Band of 802.11n, ax and be, if other than 5 GHz.
        pub band: Option<Band> = None;
        /// Width of PPDUs in MHz (802.11n and later): 20, 40, 80, 160 or 320; if absent, 20.
        pub width: Option<u32> = None;
        /// MCS of data (802.11n and later): 0 to 31 in n, 0 to 9 in ac, 0 to 11 in ax, 0 to 13 in be. If absent, 7 in
        /// n, 8 in ac, 11 in ax, 13 in be.
        pub mcs: Option<u32> = None;
        /// Spatial streams (802.11ac and later; in 802.11n the MCS determines them); if absent, 1.
        pub streams: Option<u32> = None;
        /// What a station does if it may send while a secondary channel is busy (802.11n and later); with
        /// `overlapping_channels` in `[space]`. If absent, "dynamic".
        pub bandwidth: Option<Bandwidth> = None;
        /// Guard interval (802.11n and later): "400 ns" (n, ac), "800 ns", "1600 ns" and "3200 ns" (ax, be). If absent,
        /// 800 ns.
        pub guard_interval: Option<Duration> = None;
        /// Long training fields of 802.11ax and be: 1, 2 or 4; if absent, 2, or 4 with a guard interval of 3.2 us.
        pub ltf: Option<u32> = None;
        /// Whether 802.11n uses the greenfield format.
        pub greenfield: bool = false;
        /// Dual carrier modulation of 802.11ax.
        pub dcm: bool = false;
        /// Tones of 802.11ax's extended range, 242 or 106; if absent, the normal format is used.
        pub extended_range: Option<u32> = None;
        /// Error-correcting code (802.11n and later); if absent, the one that the standard prefers.
        pub coding: Option<Coding> = None;
        /// Whether the extra symbol that LDPC needs for some lengths counts (802.11n and later); most simulators leave
        /// it out.
        pub ldpc_extra_symbol: bool = false;
        /// Processing time that receivers need after a PPDU whose last symbol is full (802.11ax and be): 0, 8 or 16 us,
        /// in be also 20 us, which hold for MCS 12 and 13 and for 320 MHz; other modes then have 16 us. It determines
        /// the packet extension.
        pub packet_padding: Duration = Duration::ZERO, "0 us, 8 us, 16 us or 20 us" => |padding| {
            [0, 8, 16, 20].map(Duration::from_micros).contains(padding)
        };
        /// Aggregation and block ACK (802.11n and later).
        pub aggregation: Aggregation = Aggregation::default();
        /// The four access categories (802.11n and later).
        pub edca: EdcaParameterSet = EdcaParameterSet::default();
        /// How the `dscp` of a flow is mapped to an access category.
        pub dscp_mapping: DscpMapping = DscpMapping::Rfc8325;
        /// Rate of RTS, CTS and ACK frames.
        pub basic_rate: BitRate = BitRate::from_mbps(if standard.is_ofdm() { 24 } else { 2 }), by standard;
        /// Preamble of 802.11b frames, also in the 2.4 GHz of later standards.
        pub preamble: Preamble = Preamble::Long;
        /// Rate at which all bits of 802.11b's preamble and header are sent, as can be set in ns-2; if absent, they
        /// take the time given by the standard.
        pub plcp_rate: Option<BitRate> = None;
        /// aSlotTime. If absent, 20 us in 802.11b and in a network with 802.11b stations, otherwise 9 us.
        pub slot: Duration = Duration::from_micros(if standard.is_ofdm() { 9 } else { 20 }), by standard,
            "above 0 and at most 1 ms" => |slot| *slot > Duration::ZERO && *slot <= LONGEST_INTERVAL;
        /// aSIFSTime.
        pub sifs: Duration =
            Duration::from_micros(if is_2_4_ghz(standard, band) { 10 } else { 16 }), by standard, by band,
            "at most 1 ms" => |sifs| *sifs <= LONGEST_INTERVAL;
        /// DIFS: SIFS and two slots. Another value moves the AIFS of all access categories with it.
        pub difs: Duration = sifs + slot * 2, by sifs, by slot,
            "at least sifs and at most 3 ms" => |difs| *difs >= sifs && *difs <= LONGEST_INTERVAL * 3;
        /// Signal extension: silence at the end of each frame (802.11g).
        pub signal_extension: Duration =
            Duration::from_micros(match profile {
                Profile::Standard if standard != Amendment::B && is_2_4_ghz(standard, band) => 6,
                _ => 0,
            }),
            by standard, by band, by profile, "at most 1 ms" => |extension| *extension <= LONGEST_INTERVAL;
        /// Whether a frame is rounded up to whole symbols (OFDM), or to whole microseconds (802.11b), as counted by the
        /// LENGTH field of its header.
        pub whole_symbols: bool = profile == Profile::Standard, by profile;
        /// Minimum contention window: a backoff is 0 to `cw_min` slots.
        pub cw_min: u32 = if standard.is_ofdm() { 15 } else { 31 }, by standard, "at most 65535" => |cw| *cw <= 65_535;
        /// Maximum contention window.
        pub cw_max: u32 = 1023, "at most 65535" => |cw| *cw <= 65_535;
        /// Whether a backoff is drawn below the contention window, excluding the window itself.
        pub exclude_cw: bool = profile == Profile::Ns2, by profile;
        /// Data (MAC header to check sequence, or a whole A-MPDU) longer than this is preceded by RTS and CTS. The
        /// default, "2347 B" or from 802.11n on "16 MB", exceeds every frame, so RTS is not used.
        pub rts_threshold: Bytes = Bytes(if standard.has_mcs() { 16_000_000 } else { 2347 }), by standard;
        /// Most attempts of an RTS and of a data frame without RTS; by default 7, or with `rate_adaptation =
        /// "minstrel"` as many as the chain of rates of a frame has. Under block ACK the contention window returns to
        /// its minimum after so many failures in a row of RTS or of data without RTS, internal collisions included; the
        /// limit of MPDUs is `aggregation.retry_limit`.
        pub short_retry_limit: Option<u8> = None, "1 or more" => |limit| limit.is_none_or(|limit| limit >= 1);
        /// Most attempts of a data frame after RTS and CTS, where there is no block ACK (802.11b, a and g, also beside
        /// newer stations, or `aggregation.max_ampdu` of 0 B); by default 4, or with `rate_adaptation = "minstrel"` as
        /// many as the chain of rates of a frame has. Under block ACK the contention window returns to its minimum
        /// after so many exchanges that failed after RTS and CTS, without a success between them.
        pub long_retry_limit: Option<u8> = None, "1 or more" => |limit| limit.is_none_or(|limit| limit >= 1);
        /// Whether the contention window returns to `cw_min` when a frame is given up.
        pub reset_cw_on_drop: bool = true;
        /// When a station waits EIFS instead of DIFS.
        pub eifs: Eifs = match profile {
            Profile::Standard => Eifs::AfterError,
            Profile::Ns2 => Eifs::Nav,
        }, by profile;
        /// Rate of the ACK assumed in EIFS.
        pub eifs_rate: BitRate = BitRate::from_mbps(if standard.is_ofdm() { 6 } else { 1 }), by standard;
        /// What a station does when it gets a packet while the channel has been idle for DIFS.
        pub idle_access: IdleAccess = match profile {
            Profile::Standard => IdleAccess::Immediate,
            Profile::Ns2 => IdleAccess::Backoff,
        }, by profile;
        /// Time after which a sender concludes that no ACK or CTS will come; if absent, SIFS, a slot and the preamble
        /// of the response, or with profile ns2, SIFS, an ACK and 4 us.
        pub answer_timeout: Option<Duration> = None, "at most 1 s" => |wait| wait.is_none_or(|wait| wait <= LONGEST);
        /// Whether a sender resumes at the end of its timeout even if DIFS would be longer.
        pub timeout_without_difs: bool = profile == Profile::Ns2, by profile;
        /// Unit to which the NAV is rounded; zero for none. Bystanders of an exchange whose length is not a multiple of
        /// it count their slots at other times than its sender and receiver, and never collide with them in the same
        /// slot.
        pub nav_unit: Duration = Duration::from_micros(u64::from(profile == Profile::Ns2)), by profile,
            "at most 1 ms" => |unit| *unit <= LONGEST_INTERVAL;
        /// Whether a NAV set by an RTS is reset when no frame follows.
        pub nav_reset: bool = profile == Profile::Standard, by profile;
        /// MAC header and check sequence of a data frame: 28 B, or 30 B with the QoS field of 802.11n and later.
        pub mac_overhead: Bytes = Bytes(match profile {
            Profile::Ns2 => 34,
            Profile::Standard if standard.has_mcs() => 30,
            Profile::Standard => 28,
        }), by standard, by profile,
            "at most 2304 B" => |size| size.0 <= 2304;
        /// LLC and SNAP header.
        pub llc_overhead: Bytes = Bytes(if profile == Profile::Ns2 { 0 } else { 8 }), by profile,
            "at most 2304 B" => |size| size.0 <= 2304;
        /// Bytes that routing adds to each packet sent by a station: 20 B with ns-2's DSDV.
        pub routing_overhead: Bytes = Bytes(if profile == Profile::Ns2 { 20 } else { 0 }), by profile,
            "at most 200 B" => |size| size.0 <= 200;
        /// RTS frame.
        pub rts_size: Bytes = RTS_SIZE, "from 1 B to 2304 B" => |size| (1..=2304).contains(&size.0);
        /// CTS frame.
        pub cts_size: Bytes = CTS_SIZE, "from 1 B to 2304 B" => |size| (1..=2304).contains(&size.0);
        /// ACK frame.
        pub ack_size: Bytes = Bytes(14), "from 1 B to 2304 B" => |size| (1..=2304).contains(&size.0);
        /// How senders choose the rate of data frames to each receiver; with `[space]`, or 802.11n and later, where
        /// they choose among the modes up to `mcs` and `streams`.
        pub rate_adaptation: Adaptation = Adaptation::Fixed;
        /// Whether OFDM frames are protected if there are stations of 802.11b (`dsss_only`; from 802.11n on,
        /// `standard`).
        pub use_protection: bool = true;
        /// Rate of the CTS-to-self that precedes OFDM frames to protect them from 802.11b stations; in 802.11g with
        /// `[space]`, or in 2.4 GHz from 802.11n on. If absent, frames that need it are protected at `dsss_basic_rate`
        /// in 802.11g, and at 2 Mb/s from 802.11n on.
        pub protection: Option<BitRate> = None;
        /// Rate of broadcast frames, such as routing announcements; if absent, that of `protection`, else `basic_rate`.
        pub broadcast_rate: Option<BitRate> = None;
        /// Whether OFDM frames are protected by RTS and CTS instead (802.11n and later).
        pub protect_by_rts: bool = false;
        /// Whether the frames of a TXOP reserve the channel until its end, which its holder releases by a CF-End if it
        /// finishes early (802.11n and later). RTS and CTS, or a CTS-to-self, then precede only the first data to each
        /// receiver in a TXOP. Otherwise each frame reserves the channel for its own exchange.
        pub cf_end: bool = false;
        /// Whether an access point that has read a CF-End of its own BSS repeats it after SIFS (IEEE Std 802.11-2016,
        /// 10.22.2.9, where it is optional), for stations that do not hear the holder of the TXOP; with `cf_end`.
        pub repeat_cf_end: bool = false;
        /// Highest rate of an ACK or CTS to frames at 1, 2, 5.5 and 11 Mb/s, in 802.11g and the 2.4 GHz of later
        /// standards.
        pub dsss_basic_rate: BitRate = DSSS_BASIC_RATE;
        /// Probability that a data frame is lost, in both directions.
        pub data_error: f64 = 0.0, "from 0 to 1" => is_probability;
        /// Probability that an RTS, CTS or ACK is lost.
        pub control_error: f64 = 0.0, "from 0 to 1" => is_probability;
        /// At which stations these errors occur.
        pub errors_at: ErrorsAt = match profile {
            Profile::Standard => ErrorsAt::Receiver,
            Profile::Ns2 => ErrorsAt::EveryStation,
        }, by profile;
    }
    check(wlan, at) {
        windows(at, wlan.cw_min, wlan.cw_max);
        wlan.check_mode(at);
        for (key, rate) in
            [("data_rate", wlan.data_rate), ("basic_rate", wlan.basic_rate), ("eifs_rate", wlan.eifs_rate)]
        {
            wlan.check_rate(at, key, rate, wlan.standard, false);
        }
        let dsss = is_2_4_ghz(wlan.standard, wlan.band);
        for (key, rate) in [("broadcast_rate", wlan.broadcast_rate), ("protection", wlan.protection)] {
            if let Some(rate) = rate.filter(|rate| !(dsss && Amendment::B.rates().contains(rate))) {
                wlan.check_rate(at, key, rate, wlan.standard, false);
            }
        }
        wlan.check_rate(at, "dsss_basic_rate", wlan.dsss_basic_rate, wlan.standard, true);
        let has_no_mixture = matches!(wlan.standard, Amendment::A | Amendment::B);
        let strange = [
            ("preamble", "802.11b", wlan.standard == Amendment::A && wlan.preamble == Preamble::Short),
            ("plcp_rate", "802.11b", wlan.standard.is_ofdm() && !wlan.standard.has_mcs() && wlan.plcp_rate.is_some()),
            ("signal_extension", "OFDM", wlan.standard == Amendment::B && wlan.signal_extension > Duration::ZERO),
            ("protection", "OFDM", wlan.standard == Amendment::B && wlan.protection.is_some()),
            ("dsss_basic_rate", "802.11g", has_no_mixture && wlan.dsss_basic_rate != DSSS_BASIC_RATE),
        ];
        for (key, of, _) in strange.iter().filter(|(.., strange)| *strange) {
            let note = format!("of {of} only, and standard is \"{}\"", wlan.standard);
            at.problem(key, &format!("`{key}` does not apply"), &note);
        }
    }
}

/// Reports a `cw_min` above `cw_max`.
pub(super) fn windows(at: &mut At<'_>, cw_min: u32, cw_max: u32) {
    if cw_min > cw_max {
        let own = |key: &str, value: u32, at: &At<'_>| {
            if at.has(key) { format!("{value}") } else { format!("{key} is {value} unless it is set here") }
        };
        let notes = [own("cw_min", cw_min, at), own("cw_max", cw_max, at)];
        at.clash("`cw_min` is above `cw_max`", &[("cw_min", &notes[0]), ("cw_max", &notes[1])]);
    }
}

impl Wlan {
    /// Reports a rate that `standard`, that of the station, does not have, unless `nonstandard_rates` allows it.
    /// `dsss`: the station is an 802.11b station in an 802.11g network.
    pub(super) fn check_rate(&self, at: &mut At<'_>, key: &str, rate: BitRate, standard: Amendment, dsss: bool) {
        let of = match standard {
            _ if dsss => Amendment::B,
            Amendment::B | Amendment::G => standard,
            _ => Amendment::A, // the rates of OFDM
        };
        if of.rates().contains(&rate) {
            return;
        }
        let who = if dsss { of } else { standard };
        let rates = of.rate_names().join(", ");
        if !self.nonstandard_rates {
            let note = format!("one of {rates} Mb/s; any other needs nonstandard_rates = true in [wlan]");
            at.problem(key, &format!("{who} has no rate of {rate}"), &note);
        } else if of != Amendment::B && !rate.as_bps().is_multiple_of(250_000) {
            at.problem(
                key,
                &format!("{rate} is no whole number of bits in a symbol of 4 us"),
                "a multiple of 250 kb/s",
            );
        }
    }

    /// The rates available to rate adaptation, lowest first; `dsss`: for an 802.11b station.
    pub fn ladder(&self, dsss: bool) -> Vec<BitRate> {
        let is_dsss = dsss || self.standard == Amendment::B;
        if is_dsss { Amendment::B.rates() } else { Amendment::A.rates() }
    }

    /// Intervals and air times.
    pub fn timing(&self) -> Timing {
        let short = self.preamble == Preamble::Short;
        let preamble = match (self.standard, self.plcp_rate) {
            (Amendment::B, Some(rate)) => Timing::plcp_at(rate, short),
            (Amendment::B, None) => Timing::hr_dsss(self.basic_rate, short).preamble,
            _ => Timing::ofdm_5ghz(self.basic_rate).preamble,
        };
        let modulation = if self.standard.is_ofdm() {
            Modulation::Ofdm { signal_extension: self.signal_extension, whole_symbols: self.whole_symbols }
        } else {
            Modulation::Dsss { whole_microseconds: self.whole_symbols }
        };
        Timing {
            slot: self.slot,
            sifs: self.sifs,
            difs: self.difs,
            preamble,
            modulation,
            basic_rate: self.basic_rate,
            lowest_rate: self.eifs_rate,
            dsss: (self.standard != Amendment::B && is_2_4_ghz(self.standard, self.band)).then(|| Dsss {
                preamble: Timing::hr_dsss(self.dsss_basic_rate, short).preamble,
                basic_rate: self.dsss_basic_rate,
            }),
            sizes: FrameSizes {
                mac_overhead: self.mac_overhead,
                llc_overhead: self.llc_overhead,
                rts: self.rts_size,
                cts: self.cts_size,
                ack: self.ack_size,
            },
        }
    }

    /// The access rules that all stations share; `legacy`: some stations are 802.11b.
    pub fn access(&self, legacy: bool) -> Access {
        let timing = self.timing();
        // The ERP element announces Use_Protection if there are stations that cannot read OFDM.
        let protection = self.protection.or((legacy && self.use_protection).then_some(self.dsss_basic_rate));
        Access {
            timing,
            rts_threshold: self.rts_threshold,
            short_retry_limit: self.short_retry_limit,
            long_retry_limit: self.long_retry_limit,
            reset_cw_on_drop: self.reset_cw_on_drop,
            eifs: self.eifs,
            idle_access: self.idle_access,
            answer_timeout: self.answer_timeout.or(match self.profile {
                Profile::Standard => None,
                Profile::Ns2 => Some(timing.sifs + timing.ack() + Duration::from_micros(4)),
            }),
            timeout_without_difs: self.timeout_without_difs,
            nav_unit: self.nav_unit,
            nav_reset: self.nav_reset,
            protection,
            protects_by_rts: self.protect_by_rts,
            cf_end: self.cf_end,
            repeats_cf_end: self.repeat_cf_end,
            broadcast_rate: self.broadcast_rate.or(protection).unwrap_or(self.basic_rate),
        }
    }
}
