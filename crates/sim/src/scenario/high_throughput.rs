//! Transmit modes and rules of 802.11n, ac, ax and be, and what in their keys does not go together.

use wifair_config::At;
use wifair_mac::receiver_limits::{largest_window, longest_mpdu};
use wifair_mac::{Category, DscpMapping, edcaf};
use wifair_phy::rate::Adaptation;
use wifair_phy::{
    Amendment, Band, ChannelWidth, GuardInterval, ModeError, ModeRequest, PacketPadding, PpduOptions, PpduTiming,
    TxMode,
};
use wifair_units::{Bytes, Duration};

use super::edca_keys::{Aggregation, AggregationPolicy, Agreements, EdcaParameterSet};
use super::file::Stations;
use super::wlan::{DSSS_BASIC_RATE, ErrorsAt, Preamble, Profile, Wlan, default_data_rate};

/// Most attempts of an MPDU in Linux's ath9k (`ATH_MAX_SW_RETRIES` in `ath9k.h`, Linux 6.12).
const ATH9K_RETRIES: u8 = 30;

impl EdcaParameterSet {
    /// The categories of a pre-HT station: DCF for all traffic.
    pub fn legacy(standard: Amendment) -> Self {
        let cw_min = if standard == Amendment::B { 31 } else { 15 };
        let dcf = Category { cw_min, cw_max: 1023, aifsn: 2, txop: Duration::ZERO, burst: 1 };
        Self { vo: dcf.clone(), vi: dcf.clone(), be: dcf.clone(), bk: dcf }
    }
}

/// The parts of a transmit mode that a group of stations may set for itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnMode {
    /// Standard, if it is older than that of the access point.
    pub standard: Option<Amendment>,
    /// MCS.
    pub mcs: Option<u32>,
    /// Spatial streams.
    pub streams: Option<u32>,
    /// Width in MHz.
    pub width: Option<u32>,
}

impl Stations {
    /// The parts of a transmit mode that the group sets for itself.
    pub fn own_mode(&self) -> OwnMode {
        OwnMode { standard: self.standard, mcs: self.mcs, streams: self.streams, width: self.width }
    }
}

impl Wlan {
    /// Transmit mode of data and its band, with a group's own settings.
    ///
    /// # Errors
    /// If the standard has no such mode; the error names the key and the modes that exist.
    pub fn mode(&self, own: OwnMode) -> Result<(Band, TxMode), ModeError> {
        own.standard.unwrap_or(self.standard).mode(&self.mode_request(own))
    }

    pub(super) fn mode_request(&self, own: OwnMode) -> ModeRequest {
        let amendment = own.standard.unwrap_or(self.standard);
        let is_older = own.standard.is_some_and(|standard| standard != self.standard);
        ModeRequest {
            band: self.band,
            width_mhz: own.width.or(if is_older { None } else { self.width }),
            mcs: own.mcs.or(if is_older { None } else { self.mcs }).or(Some(match amendment {
                Amendment::N => 7,
                Amendment::Ac => 8,
                Amendment::Ax => 11,
                _ => 13,
            })),
            rate: None,
            streams: own.streams.or(if is_older { None } else { self.streams }),
            guard_interval: if is_older { None } else { self.guard_interval },
            ltf: if is_older { None } else { self.ltf },
            greenfield: self.greenfield && !is_older,
            short_preamble: false,
            dcm: self.dcm && !is_older,
            extended_range: if is_older { None } else { self.extended_range },
            coding: self.coding,
        }
    }

    /// Options that affect the air time of PPDUs.
    pub fn ppdu_options(&self) -> PpduOptions {
        let packet_padding = match self.packet_padding.as_nanos() {
            0 => PacketPadding::Us0,
            1..=8_000 => PacketPadding::Us8,
            8_001..=16_000 => PacketPadding::Us16,
            _ => PacketPadding::Us20,
        };
        PpduOptions { ldpc_extra_symbol: self.ldpc_extra_symbol, packet_padding }
    }

    /// The modes available to rate adaptation in a group whose own mode is `highest`: those up to its MCS, number of
    /// streams and width. If it has the short guard interval of HT or VHT, those with the long one are available, too.
    pub fn modes_up_to(&self, own: OwnMode, highest: TxMode) -> Vec<TxMode> {
        let (amendment, request) = (own.standard.unwrap_or(self.standard), self.mode_request(own));
        let top = u32::from(highest.mcs().unwrap_or(0));
        // In 802.11n the MCS determines the number of streams.
        let streams: Vec<Option<u32>> = match amendment {
            Amendment::N => vec![request.streams],
            _ => (1..=u32::from(highest.streams())).map(Some).collect(),
        };
        let has_short = highest.guard_interval() == Some(GuardInterval::Ns400);
        let long = has_short.then_some(Some(GuardInterval::Ns800.duration()));
        let mut modes = vec![];
        for width in ChannelWidth::ALL.into_iter().filter(|width| *width <= highest.width()) {
            for guard_interval in long.into_iter().chain([request.guard_interval]) {
                for streams in &streams {
                    let with = |mcs: u32| ModeRequest {
                        width_mhz: Some(width.mhz()),
                        guard_interval,
                        streams: *streams,
                        mcs: Some(mcs),
                        ..request
                    };
                    modes.extend((0..=top).filter_map(|mcs| Some(amendment.mode(&with(mcs)).ok()?.1)));
                }
            }
        }
        modes
    }

    /// Air time of a packet alone to or from a station of `group` in the slowest mode that it may use; nothing if it
    /// has no such mode.
    pub(super) fn longest_time(&self, group: &Stations, size: Bytes) -> Option<Duration> {
        let own = group.own_mode();
        let (band, mode) = self.mode(own).ok()?;
        let adapts = [group.rate_adaptation.as_ref().unwrap_or(&self.rate_adaptation), &self.rate_adaptation];
        let is_adapted = adapts.iter().any(|chosen| **chosen != Adaptation::Fixed);
        let modes = if is_adapted { self.modes_up_to(own, mode) } else { vec![mode] };
        let delimiter = if own.standard.unwrap_or(self.standard) >= Amendment::Ac { 4 } else { 0 };
        let psdu = size + self.llc_overhead + self.mac_overhead + Bytes(delimiter);
        let time = |mode: TxMode| PpduTiming::with_options(mode, band, self.ppdu_options()).duration(psdu);
        modes.into_iter().map(time).max()
    }

    /// Air time of a packet alone to or from a station of `group` in its own mode; nothing if it has no mode.
    pub(super) fn usual_time(&self, group: &Stations, size: Bytes) -> Option<Duration> {
        let (band, mode) = self.mode(group.own_mode()).ok()?;
        let psdu = size + self.llc_overhead + self.mac_overhead;
        Some(PpduTiming::with_options(mode, band, self.ppdu_options()).duration(psdu))
    }

    /// The band in which the stations operate.
    pub fn phy_band(&self) -> Band {
        self.mode(OwnMode::default()).map_or(Band::Ghz5, |(band, _)| band)
    }

    /// Aggregation rules for a station of this standard, which may be older than that of the access point.
    pub fn aggregation_rules(&self, standard: Amendment) -> edcaf::AggregationRules {
        let keys = &self.aggregation;
        let has_vht = standard >= Amendment::Ac;
        let longest = longest_ampdu(standard);
        let largest = largest_window(standard.max(Amendment::N)); // older stations ignore it
        let window = keys.window.map_or(largest, |window| window.min(largest));
        let max_ampdu = if window == 1 { Bytes(0) } else { keys.max_ampdu.unwrap_or(longest).min(longest) };
        edcaf::AggregationRules {
            window: if max_ampdu.0 == 0 { 1 } else { u16::try_from(window).expect("it was checked") },
            max_ampdu,
            max_amsdu: keys.max_amsdu.map_or(Bytes(0), |size| if has_vht { size } else { size.min(Bytes(7935)) }),
            max_mpdu: longest_mpdu(standard, max_ampdu.0 > 0),
            max_duration: keys.max_ppdu_time,
            min_start_spacing: keys.min_start_spacing,
            single_in_ampdu: has_vht,
            request_after_miss: keys.request_after_miss,
            retry_limit: keys.retry_limit.or(self.short_retry_limit).unwrap_or(ATH9K_RETRIES),
            reorder_timeout: keys.reorder_timeout,
            lifetime: keys.lifetime,
            count_in_flight: keys.count_in_flight,
            pass_up_singly: keys.pass_up_singly,
            agreements_on_air: matches!(keys.agreements, Agreements::OnTheAir),
            inactivity_timeout: keys.inactivity_timeout,
            wait_until: match &keys.policy {
                AggregationPolicy::WhatWaits => None,
                AggregationPolicy::WaitUntil(wait) => Some((wait.packets, wait.time)),
            },
        }
    }

    /// Reports settings that the chosen standard does not support.
    pub(super) fn check_mode(&mut self, at: &mut At<'_>) {
        if !self.standard.has_mcs() {
            self.refuse_mcs(at);
            return;
        }
        if let Err(error) = self.mode(OwnMode::default()) {
            at.problem(error.key, &error.message, &format!("`standard` is \"{}\"", self.standard));
        }
        let most = match self.standard {
            Amendment::Be => 20,
            Amendment::Ax => 16,
            _ => 0,
        };
        if self.packet_padding > Duration::from_micros(most) {
            let message = format!("no packet padding of {} in {}", self.packet_padding, self.standard);
            let note = if most == 0 { "802.11ax and be have it".to_owned() } else { format!("at most {most} us") };
            at.problem("packet_padding", &message, &note);
        }
        self.check_block_ack(at);
        self.check_wait(at);
        if self.aggregation.inactivity_timeout.is_some() && self.aggregation.agreements == Agreements::FromTheStart {
            let note = "write agreements = \"on-the-air\", or leave it out";
            at.problem("aggregation.inactivity_timeout", "`inactivity_timeout` ends agreements that last", note);
        }
        let amendment = self.standard;
        if let Some(size) = self.aggregation.max_ampdu.filter(|size| *size > longest_ampdu(amendment)) {
            let message = format!("no receiver of {} takes an A-MPDU of {size}", self.standard);
            at.problem("aggregation.max_ampdu", &message, &format!("at most {}", longest_ampdu(amendment)));
        }
        if let Some(size) = self.aggregation.max_amsdu.filter(|size| size.0 > 7935 && amendment < Amendment::Ac) {
            let message = format!("no receiver of {} takes an A-MSDU of {size}", self.standard);
            at.problem("aggregation.max_amsdu", &message, "3839 B or 7935 B");
        }
        if let Some(window) = self.aggregation.window.filter(|window| *window > largest_window(amendment)) {
            let message = format!("no block ACK of {} covers {window} MPDUs", self.standard);
            at.problem("aggregation.window", &message, &format!("at most {}", largest_window(amendment)));
        }
        let has_no_dsss = self.phy_band() != Band::Ghz2_4;
        let old = [
            ("data_rate", self.data_rate != default_data_rate(self.standard)),
            ("cw_min", self.cw_min != 15),
            ("cw_max", self.cw_max != 1023),
            ("preamble", has_no_dsss && self.preamble != Preamble::Long),
            ("plcp_rate", self.plcp_rate.is_some()),
            ("dsss_basic_rate", has_no_dsss && self.dsss_basic_rate != DSSS_BASIC_RATE),
            ("signal_extension", self.signal_extension != self.phy_band().signal_extension()),
            ("whole_symbols", !self.whole_symbols),
            ("timeout_without_difs", self.timeout_without_difs),
            ("profile", self.profile != Profile::Standard),
            ("errors_at", self.errors_at != ErrorsAt::Receiver),
        ];
        for (key, is_changed) in old {
            // A default that follows from another key is no mistake of its own.
            if !(is_changed && at.has(key) || self.is_misplaced(at, key)) {
                continue;
            }
            let remedy = match key {
                "data_rate" => "write `mcs`, `streams` and `width`".to_owned(),
                "cw_min" | "cw_max" => format!("write it for a category, as in `edca.be.{key}`"),
                "preamble" | "dsss_basic_rate" => {
                    "802.11b is in 2.4 GHz: write band = \"2.4 GHz\", or leave it out".to_owned()
                }
                "errors_at" => "in [space] with spoils = \"bits\" each station has errors of its own".to_owned(),
                _ => "leave it out".to_owned(),
            };
            at.problem(key, &format!("`{key}` does not apply to {}", self.standard), &remedy);
        }
    }

    /// The keys of `[wlan]` that do not apply to the standard and of which even the default would say something untrue.
    /// They are left out of resolved scenarios.
    pub(super) const fn misplaced_keys(&self) -> &'static [&'static str] {
        if self.standard.has_mcs() {
            &["data_rate", "cw_min", "cw_max"]
        } else {
            &["aggregation", "edca", "dscp_mapping"]
        }
    }

    /// Whether the source sets such a key, and did not choose the standard with a higher rank.
    fn is_misplaced(&self, at: &At<'_>, key: &str) -> bool {
        self.misplaced_keys().contains(&key) && at.is_meant_with(key, "standard")
    }

    /// Reports rules of block ACK where there is none, and resets them where that was chosen with a higher rank.
    fn check_block_ack(&mut self, at: &mut At<'_>) {
        let usual = Aggregation::default();
        let keys = &self.aggregation;
        let (choice, why) = match (keys.max_ampdu, keys.window) {
            (Some(Bytes(0)), _) => ("aggregation.max_ampdu", "`max_ampdu` is \"0 B\": each frame has an ACK"),
            (_, Some(1)) => ("aggregation.window", "`window` is 1: each frame has an ACK"),
            _ => return,
        };
        let has_amsdus = keys.max_amsdu.is_some();
        let waits_for_one = keys.policy != usual.policy && !has_amsdus;
        let without_effect = [
            ("policy", waits_for_one),
            ("agreements", keys.agreements != usual.agreements),
            ("inactivity_timeout", keys.inactivity_timeout.is_some()),
            ("window", keys.window.is_some() && choice != "aggregation.window"),
            ("request_after_miss", keys.request_after_miss),
            ("retry_limit", keys.retry_limit.is_some()),
            ("reorder_timeout", keys.reorder_timeout != usual.reorder_timeout),
            ("min_start_spacing", keys.min_start_spacing != usual.min_start_spacing),
            ("pass_up_singly", keys.pass_up_singly != usual.pass_up_singly),
        ];
        for (key, _) in without_effect.into_iter().filter(|(_, is_set)| *is_set) {
            let path = format!("aggregation.{key}");
            if at.is_meant_with(&path, choice) {
                let message = format!("`{key}` has no effect without block ACK");
                at.clash(&message, &[(&path, "for A-MPDUs only"), (choice, why)]);
            }
        }
        let Aggregation { max_ampdu, max_amsdu, max_ppdu_time, count_in_flight, lifetime, .. } = *keys;
        let window = keys.window.filter(|window| *window == 1 && max_ampdu != Some(Bytes(0)));
        let policy = if waits_for_one { usual.policy.clone() } else { keys.policy.clone() };
        self.aggregation =
            Aggregation { policy, window, max_ampdu, max_amsdu, max_ppdu_time, count_in_flight, lifetime, ..usual };
    }

    /// Reports packets to wait for that can never be sent together.
    fn check_wait(&self, at: &mut At<'_>) {
        let keys = &self.aggregation;
        let AggregationPolicy::WaitUntil(wait) = &keys.policy else { return };
        let most = keys.window.unwrap_or_else(|| largest_window(self.standard));
        if keys.max_amsdu.is_none() && wait.packets > most {
            let message = format!("a wait for {} packets, although no block ACK covers them", wait.packets);
            let (packets, window) = (format!("write `packets` of at most {most}"), format!("`window` is {most}"));
            at.clash(&message, &[("aggregation.wait-until.packets", &packets), ("aggregation.window", &window)]);
        }
        if let Some(lifetime) = keys.lifetime.filter(|lifetime| *lifetime <= wait.time) {
            let message = format!("packets wait {}, and their `lifetime` is {lifetime}", wait.time);
            let places = [
                ("aggregation.wait-until.time", "write a `time` below `lifetime`"),
                ("aggregation.lifetime", "or above `time`"),
            ];
            at.clash(&message, &places);
        }
    }

    /// Reports keys of 802.11n and later that are used with an older standard.
    fn refuse_mcs(&self, at: &mut At<'_>) {
        let set = [
            ("band", self.band.is_some()),
            ("width", self.width.is_some()),
            ("mcs", self.mcs.is_some()),
            ("streams", self.streams.is_some()),
            ("guard_interval", self.guard_interval.is_some()),
            ("ltf", self.ltf.is_some()),
            ("greenfield", self.greenfield),
            ("dcm", self.dcm),
            ("extended_range", self.extended_range.is_some()),
            ("coding", self.coding.is_some()),
            ("ldpc_extra_symbol", self.ldpc_extra_symbol),
            ("packet_padding", self.packet_padding > Duration::ZERO),
            ("aggregation", self.aggregation != Aggregation::default()),
            ("edca", self.edca != EdcaParameterSet::default()),
            ("dscp_mapping", self.dscp_mapping != DscpMapping::Rfc8325),
            ("protect_by_rts", self.protect_by_rts),
            ("cf_end", self.cf_end),
            ("repeat_cf_end", self.repeat_cf_end),
        ];
        for (key, is_set) in set {
            if is_set || self.is_misplaced(at, key) {
                let note = "802.11n, ac, ax and be have it: write standard = \"802.11n\"";
                at.problem(key, &format!("`{key}` does not apply to {}", self.standard), note);
            }
        }
    }
}

/// The longest A-MPDU that a receiver may announce (9.4.2.56.3, 9.4.2.158.2; 802.11ax-2021, 9.4.2.248).
const fn longest_ampdu(amendment: Amendment) -> Bytes {
    Bytes(match amendment {
        Amendment::Ac => 1_048_575,
        Amendment::Ax => 6_500_631,
        Amendment::Be => 15_523_200,
        _ => 65_535,
    })
}
