//! Checks of `[wlan]`, `[ap]`, `[space]` and stations that involve more than one table.

use wifair_ap::Access;
use wifair_config::Limit;
use wifair_phy::rate::Adaptation;
use wifair_phy::{Amendment, Coding, Spoils};
use wifair_units::Metres;

use super::Builder;
use crate::scenario::edca_keys::AggregationPolicy;
use crate::scenario::file::Stations;
use crate::scenario::high_throughput::OwnMode;
use crate::scenario::routing::Protocol;
use crate::scenario::wlan::{Wlan, windows};

/// The position of a node that has none of its own.
const HERE: [Metres; 2] = [Metres(0.0); 2];

/// The last key of a path.
pub(super) fn key_of(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

impl Builder<'_> {
    /// Checks `[wlan]`, `[ap]` and `[space]`, and the stations' settings against them.
    pub(super) fn air(&mut self) {
        let ad_hoc = self.file.is_ad_hoc();
        if ad_hoc && self.root.get("ap").is_some() {
            self.problem("ap", "an [ap] in an ad-hoc network", "leave it out, or write mode = \"infrastructure\"");
        }
        if !ad_hoc && self.file.routing.protocol != Protocol::Static {
            let message = format!("routing by \"{}\" without an ad-hoc network", self.file.routing.protocol);
            let note = "write mode = \"ad-hoc\" in [space]; where there are access points routing is static";
            self.problem("routing.protocol", &message, note);
        }
        if let Protocol::Dsdv(params) = &self.file.routing.protocol
            && params.size(1) > params.limit
        {
            let message = format!("`header` and one `entry` are {}, and `limit` is {}", params.size(1), params.limit);
            self.problem("routing.dsdv.header", &message, "write a shorter header, or a higher limit");
        }
        let Some(wlan) = &self.file.wlan else {
            if self.file.space.is_some() {
                self.problem("space", "a [space] without a [wlan]", "write [wlan] with standard = \"802.11b\"");
            }
            if !self.file.stations.is_empty() {
                self.problem("stations[0]", "stations without a [wlan]", "write [wlan] with standard = \"802.11b\"");
            }
            if self.root.get("ap").is_some() {
                self.problem("ap", "an [ap] without a [wlan]", "write [wlan] with standard = \"802.11b\"");
            }
            return;
        };
        if self.file.space.is_none() {
            self.without_space(wlan);
        }
        self.moves();
        self.high_throughput(wlan);
        self.adaptation(wlan);
        self.older_stations(wlan);
        self.queues_in_flight(wlan);
        self.queues_that_wait(wlan);
        self.unused_by_all(wlan);
        self.categories_in_space(wlan);
        self.channels(wlan);
        self.access_parameters(wlan);
        if let Some(ap) = self.file.ap.as_ref().filter(|ap| self.file.space.is_none() && ap.count > 1) {
            let mut channels = ap.channels.clone();
            channels.truncate(ap.count as usize);
            channels.sort_unstable();
            channels.dedup();
            if channels.len() < ap.count as usize {
                let message = format!("{} access points on {} channels", ap.count, channels.len());
                let note = "write [space], with positions, or as many `channels` in [ap]";
                self.problem("ap.count", &message, note);
            }
        }
        if self.file.stations.is_empty() {
            self.problem("wlan", "a [wlan] without stations", "write [[stations]] with name = \"sta\", count = 8");
        }
        if let Some(ap) = &self.file.ap {
            self.windows("ap", ap.cw_min, ap.cw_max, wlan);
        }
        for (index, group) in self.file.stations.iter().enumerate() {
            let path = format!("stations[{index}]");
            self.windows(&path, group.cw_min, group.cw_max, wlan);
            if let (Some(rate), Some(node)) = (group.data_rate, self.root.at(&path)) {
                let own = group.standard.filter(|_| wlan.standard.has_mcs()).unwrap_or(wlan.standard);
                self.good &= self.reader.check(node, |at| wlan.check_rate(at, "data_rate", rate, own, group.dsss_only));
            }
            if group.dsss_only && (wlan.standard == Amendment::A || wlan.standard.has_mcs()) {
                let note = match wlan.standard {
                    Amendment::A => "802.11b is in 2.4 GHz, and `wlan.standard` is \"802.11a\"",
                    _ => "write standard = \"802.11b\"",
                };
                let message = format!("`dsss_only` does not apply to {}", wlan.standard);
                self.problem(&format!("{path}.dsss_only"), &message, note);
            }
        }
    }

    /// Reports keys that only a channel with positions and received powers supports.
    fn without_space(&mut self, wlan: &Wlan) {
        let file = self.file;
        let has_mcs = wlan.standard.has_mcs();
        let adapts = |chosen: &Adaptation| !has_mcs && *chosen != Adaptation::Fixed;
        let mut need_space = |path: &str, is_set: bool| {
            if is_set {
                let message = format!("`{}` needs [space]", key_of(path));
                self.problem(path, &message, "write [space], with radios and positions");
            }
        };
        if let Some(ap) = &file.ap {
            need_space("ap.position", ap.position != HERE);
            need_space("ap.layout", ap.layout.is_some());
            need_space("ap.radio", ap.radio.is_some());
        }
        need_space("wlan.rate_adaptation", adapts(&wlan.rate_adaptation));
        let may_protect = wlan.standard.is_ofdm() && !has_mcs;
        need_space("wlan.protection", wlan.protection.is_some() && may_protect);
        for (index, group) in file.stations.iter().enumerate() {
            for (key, is_set) in [
                ("position", group.position != HERE),
                ("moves", !group.moves.is_empty()),
                ("layout", group.layout.is_some()),
                ("radio", group.radio.is_some()),
                ("rate_adaptation", group.rate_adaptation.as_ref().is_some_and(adapts)),
                ("dsss_only", group.dsss_only && wlan.standard == Amendment::G),
                ("outage_up", group.outage_up.is_some()),
                ("outage_down", group.outage_down.is_some()),
            ] {
                need_space(&format!("stations[{index}].{key}"), is_set);
            }
        }
    }

    /// Reports movements that cannot have an effect.
    fn moves(&mut self) {
        let file = self.file;
        for (index, group) in file.stations.iter().enumerate() {
            if !group.moves.is_empty() && file.space.as_ref().is_some_and(|space| !space.gains.is_empty()) {
                let at = format!("stations[{index}].moves");
                let values = [(&*at, "changes the distances"), ("space.gains", "replaces what follows from distances")];
                self.clash("stations move where gains are given", values);
            }
            if let Some(late) = group.moves.iter().position(|one| one.at >= file.duration) {
                let at = format!("stations[{index}].moves[{late}].at");
                let values = [(&*at, "not within the run"), ("duration", "the whole run")];
                self.clash("a movement begins after the end", values);
            }
        }
    }

    /// Reports settings of stations with access categories that the spatial channel does not support.
    fn categories_in_space(&mut self, wlan: &Wlan) {
        let file = self.file;
        let Some(space) = &file.space else { return };
        let who = match file.ap.as_ref().map(|ap| &ap.scheme.access) {
            _ if wlan.standard.has_mcs() => wlan.standard.to_string(),
            None | Some(Access::None) => return,
            Some(access) => format!("access = \"{access}\""),
        };
        let has_mcs = wlan.standard.has_mcs();
        let by_threshold = space.reception.spoils == Spoils::Threshold;
        let adapts = |chosen: &Adaptation| match chosen {
            Adaptation::Fixed => false,
            Adaptation::Ideal => by_threshold,
            _ => !has_mcs,
        };
        let mut refuse = |path: &str, is_set: bool| {
            if !is_set {
                return;
            }
            let key = key_of(path);
            let note = match key {
                "snr" => "in [space] powers and `reception` decide what is read; leave it out",
                "standard" => {
                    "ad-hoc stations are of one standard, as senders do not know what others read; leave it out"
                }
                _ if has_mcs => "\"ideal\" goes by bit errors; write spoils = \"bits\" in [space.reception]",
                _ => "stations with access categories send at fixed rates in [space]; leave out one of the two",
            };
            self.problem(path, &format!("`{key}` with {who} in [space]"), note);
        };
        refuse("wlan.rate_adaptation", adapts(&wlan.rate_adaptation));
        for (index, group) in file.stations.iter().enumerate() {
            for (key, is_set) in [
                ("rate_adaptation", group.rate_adaptation.as_ref().is_some_and(adapts)),
                ("snr", has_mcs && group.snr.is_some()),
                ("standard", file.is_ad_hoc() && group.standard.is_some_and(|standard| standard != wlan.standard)),
            ] {
                refuse(&format!("stations[{index}].{key}"), is_set);
            }
        }
    }

    /// Reports keys that do not apply to the standard: keys for older standards with 802.11n or later, and vice versa.
    fn high_throughput(&mut self, wlan: &Wlan) {
        let file = self.file;
        let has_mcs = wlan.standard.has_mcs();
        let mut refuse = |path: &str, standard: Amendment, is_set: bool| {
            if !is_set {
                return;
            }
            let key = key_of(path);
            let by_category = format!("write it for a category, as in `edca.be.{key}`");
            let note = match key {
                "standard" if standard == Amendment::G => {
                    "write dsss_only = true, with [space], or standard = \"802.11n\" in [wlan]"
                }
                _ if !has_mcs => "802.11n, ac, ax and be have it: write standard = \"802.11n\" in [wlan]",
                "cw_min" | "cw_max" if standard.has_mcs() => &by_category,
                "cw_min" | "cw_max" => "older stations have the default windows here; leave it out",
                "data_rate" => "write `mcs`, `streams` and `width`",
                "mcs" | "streams" | "width" => "write `data_rate`",
                "edca" => "older stations have no access categories; leave it out",
                _ => "write `edca`",
            };
            self.problem(path, &format!("`{key}` does not apply to {standard}"), note);
        };
        if let Some(ap) = &file.ap {
            let access = ap.scheme.access != Access::None;
            for (key, is_old, is_set) in [
                ("scheme.access", true, access),
                ("cw_min", true, ap.cw_min.is_some()),
                ("cw_max", true, ap.cw_max.is_some()),
                ("edca", false, ap.edca.is_some()),
                ("queue_per_station", false, ap.queue_per_station.is_some()),
                ("queue_limit_is_total", false, ap.queue_limit_is_total),
            ] {
                refuse(&format!("ap.{key}"), wlan.standard, is_set && is_old == has_mcs);
            }
        }
        for (index, group) in file.stations.iter().enumerate() {
            let standard = group.standard.filter(|_| has_mcs).unwrap_or(wlan.standard);
            let is_legacy = group.standard.is_some_and(|standard| !standard.has_mcs());
            for (key, is_old, is_set) in [
                ("data_rate", !is_legacy, group.data_rate.is_some()),
                ("cw_min", true, group.cw_min.is_some()),
                ("cw_max", true, group.cw_max.is_some()),
                ("standard", false, group.standard.is_some_and(|own| !wlan.standard.is_before(own))),
                ("mcs", is_legacy, group.mcs.is_some()),
                ("streams", is_legacy, group.streams.is_some()),
                ("width", is_legacy, group.width.is_some()),
                ("snr", false, group.snr.is_some()),
                ("edca", is_legacy, group.edca.is_some()),
            ] {
                refuse(&format!("stations[{index}].{key}"), standard, is_set && is_old == has_mcs);
            }
        }
        for (index, flow) in file.flows.iter().enumerate() {
            refuse(&format!("flows[{index}].category"), wlan.standard, flow.category.is_some() && !has_mcs);
            refuse(&format!("flows[{index}].dscp"), wlan.standard, flow.dscp.is_some() && !has_mcs);
        }
        for (index, group) in file.stations.iter().enumerate() {
            if group.snr.is_none() && !group.snr_changes.is_empty() {
                let note = "write `snr`, the ratio at the start, as in snr = \"30 dB\"";
                self.problem(&format!("stations[{index}].snr_changes"), "`snr_changes` without `snr`", note);
            }
            if let Some(late) = group.snr_changes.iter().position(|change| change.at >= file.duration) {
                let at = format!("stations[{index}].snr_changes[{late}].at");
                let values = [(&*at, "not within the run"), ("duration", "the whole run")];
                self.clash("a change of `snr` begins after the end", values);
            }
            let own = group.own_mode();
            let is_own = own.mcs.is_some() || own.streams.is_some() || own.width.is_some();
            if has_mcs && group.standard.is_none_or(Amendment::has_mcs) && is_own {
                self.mode_of(index, wlan);
            }
        }
    }

    /// Checks that the standard has the transmit mode of a group.
    fn mode_of(&mut self, index: usize, wlan: &Wlan) {
        if let Err(error) = wlan.mode(self.file.stations[index].own_mode()) {
            let note = match self.file.stations[index].standard {
                Some(own) => format!("`standard` of these stations is \"{own}\""),
                None => format!("`wlan.standard` is \"{}\"", wlan.standard),
            };
            self.problem(&format!("stations[{index}].{}", error.key), &error.message, &note);
        }
    }

    /// Reports stations whose standard does not go with that of `[wlan]`, or settings of `[wlan]` that they cannot
    /// follow.
    fn older_stations(&mut self, wlan: &Wlan) {
        let file = self.file;
        let band = wlan.phy_band();
        for (index, group) in file.stations.iter().enumerate() {
            let Some(standard) = group.standard.filter(|standard| *standard != wlan.standard) else { continue };
            let path = format!("stations[{index}].standard");
            if !standard.is_before(wlan.standard) {
                let note = format!("write it in [wlan], and standard = \"{}\" for older stations", wlan.standard);
                self.problem(&path, &format!("a station of {standard} in a network of {}", wlan.standard), &note);
            } else if wlan.standard.has_mcs() && !standard.bands().contains(&band) {
                let is_there = |one: &Amendment| one.is_before(wlan.standard) && one.bands().contains(&band);
                let there: Vec<_> = Amendment::ALL.into_iter().filter(is_there).map(|one| one.to_string()).collect();
                let bands: Vec<_> = standard.bands().iter().map(ToString::to_string).collect();
                let note = format!(
                    "in {band} stations may be of {}; {standard} needs band = \"{}\" in [wlan]",
                    if there.is_empty() { wlan.standard.to_string() } else { there.join(", ") },
                    bands.join("\" or \"")
                );
                self.problem(&path, &format!("no {standard} in {band}"), &note);
            } else if standard.has_mcs() {
                self.mode_of(index, wlan);
            }
        }
        let is_dsss = |group: &Stations| group.dsss_only || group.standard == Some(Amendment::B);
        if let Some(rate) = wlan.protection.filter(|rate| !wlan.nonstandard_rates && !wlan.ladder(true).contains(rate))
            && let Some(group) = file.stations.iter().find(|group| is_dsss(group))
        {
            let message = format!("the 802.11b stations `{}` cannot read a CTS at {rate}", group.name);
            let default = if wlan.standard.has_mcs() { "2 Mb/s" } else { "`dsss_basic_rate`" };
            let note = format!("one of 1, 2, 5.5, 11 Mb/s, or leave it out for {default}");
            self.problem("wlan.protection", &message, &note);
        }
        let is_older = |group: &&Stations| group.standard.is_some_and(|standard| !standard.has_mcs());
        if wlan.greenfield
            && wlan.use_protection
            && wlan.protection.is_none()
            && !file.stations.iter().any(is_dsss)
            && let Some(group) = file.stations.iter().find(is_older)
        {
            // 10.26.3: stations that do not read the preamble of greenfield need frames before it that they do read.
            let message = format!("the stations `{}` cannot read the greenfield format", group.name);
            let note = "write protection = \"6 Mb/s\" in [wlan], or leave `greenfield` out";
            self.problem("wlan.greenfield", &message, note);
        }
    }

    /// Reports queues whose limit in bytes cannot count packets in flight.
    fn queues_in_flight(&mut self, wlan: &Wlan) {
        if !wlan.aggregation.count_in_flight {
            return;
        }
        let file = self.file;
        let groups = file.stations.iter().enumerate();
        let queues = groups.map(|(index, group)| (format!("stations[{index}].queue.limit"), &group.queue));
        let ap = file.ap.iter().map(|ap| ("ap.queue.limit".to_owned(), &ap.queue));
        for (path, _) in queues.chain(ap).filter(|(_, queue)| matches!(queue.limit, Limit::Bytes(_))) {
            self.problem(&path, "`count_in_flight` counts packets", "write it as a number of packets");
        }
    }

    /// Reports queues without room for the packets that a sender waits for.
    fn queues_that_wait(&mut self, wlan: &Wlan) {
        let AggregationPolicy::WaitUntil(wait) = &wlan.aggregation.policy else { return };
        let file = self.file;
        let groups =
            file.stations.iter().enumerate().filter(|(_, group)| group.standard.is_none_or(Amendment::has_mcs));
        let queues = groups.map(|(index, group)| (format!("stations[{index}].queue.limit"), &group.queue));
        let ap = file.ap.iter().map(|ap| ("ap.queue.limit".to_owned(), &ap.queue));
        let is_short = |limit: &Limit| matches!(limit, Limit::Packets(limit) if *limit < u64::from(wait.packets));
        for (path, queue) in ap.chain(queues).filter(|(_, queue)| is_short(&queue.limit)).take(1) {
            let message = format!("a wait for {} packets, although a queue has no room for them", wait.packets);
            let note = format!("`{path}` is {}", queue.limit);
            self.clash(
                &message,
                [("wlan.aggregation.wait-until.packets", "write `packets` of at most the limit"), (&path, &note)],
            );
        }
    }

    /// Reports `use_protection = false` where nothing would be protected, or where `protection` asks for it.
    fn unused_protection(&mut self, wlan: &Wlan) {
        let groups = &self.file.stations;
        let is_older = |group: &&Stations| group.standard.is_some_and(|standard| !standard.has_mcs());
        let is_dsss = |group: &Stations| group.dsss_only || group.standard == Some(Amendment::B);
        if wlan.use_protection {
            return;
        }
        if wlan.protection.is_some() {
            let message = "`use_protection` is false, but `protection` gives a rate";
            let notes = [("wlan.use_protection", "leave one of the two out"), ("wlan.protection", "or this")];
            self.clash(message, notes);
            return;
        }
        let older = groups.iter().find(is_older).and_then(|group| group.standard);
        let why = match (wlan.standard, older) {
            (Amendment::A | Amendment::B, _) => format!("{} has no protection", wlan.standard),
            _ if groups.iter().any(is_dsss) => return,
            (Amendment::G, _) => "no station is `dsss_only`".to_owned(),
            (_, Some(_)) if wlan.greenfield => return,
            (_, Some(standard)) => format!("stations of {standard} read the preamble of newer frames"),
            (_, None) => "no station is older than 802.11n".to_owned(),
        };
        self.problem("wlan.use_protection", "`use_protection` has no effect", &format!("{why}: leave it out"));
    }

    /// Reports settings of `[wlan]` that concern none of the stations.
    fn unused_by_all(&mut self, wlan: &Wlan) {
        self.unused_protection(wlan);
        if !wlan.standard.has_mcs() {
            return;
        }
        let groups = &self.file.stations;
        let is_dsss = |group: &Stations| group.standard == Some(Amendment::B);
        if wlan.protect_by_rts && wlan.access(groups.iter().any(is_dsss)).protection.is_none() {
            let note =
                "no station needs protection: write `protection`, or rts_threshold = \"0 B\" for RTS before all data";
            self.problem("wlan.protect_by_rts", "`protect_by_rts` has no effect", note);
        }
        if wlan.repeat_cf_end && !wlan.cf_end {
            let note = "there is no CF-End to repeat: write cf_end = true";
            self.problem("wlan.repeat_cf_end", "`repeat_cf_end` has no effect", note);
        }
        let modes = groups.iter().map(Stations::own_mode).chain([OwnMode::default()]);
        let mut codings = modes.filter_map(|own| wlan.mode(own).ok()?.1.coding());
        if wlan.ldpc_extra_symbol && !codings.any(|coding| coding == Coding::Ldpc) {
            let note = "no station uses LDPC: write coding = \"ldpc\", or leave it out";
            self.problem("wlan.ldpc_extra_symbol", "`ldpc_extra_symbol` has no effect", note);
        }
    }

    /// Reports rate adaptation that does not choose among the rates of the standard, or has nothing to go by.
    fn adaptation(&mut self, wlan: &Wlan) {
        let file = self.file;
        let groups = file.stations.iter().enumerate().filter_map(|(index, group)| {
            let standard = group.standard.unwrap_or(wlan.standard);
            Some((format!("stations[{index}].rate_adaptation"), standard, group.rate_adaptation.as_ref()?))
        });
        let without_snr = file.space.is_none() && file.stations.iter().any(|group| group.snr.is_none());
        let common = ("wlan.rate_adaptation".to_owned(), wlan.standard, &wlan.rate_adaptation);
        for (path, standard, chosen) in std::iter::once(common).chain(groups) {
            let is_new = matches!(chosen, Adaptation::MinstrelHt(_) | Adaptation::Ideal);
            if *chosen != Adaptation::Fixed && (is_new != wlan.standard.has_mcs() || is_new != standard.has_mcs()) {
                let message = if is_new || standard.has_mcs() {
                    format!("\"{chosen}\" does not choose among the rates of {standard}")
                } else {
                    format!("stations of {standard} have no rate adaptation here")
                };
                let note = match (is_new, wlan.standard.has_mcs()) {
                    (true, false) => "write \"minstrel\", \"arf\", \"aarf\" or \"fixed\"",
                    (false, true) if standard.has_mcs() => "write \"minstrel-ht\", \"ideal\" or \"fixed\"",
                    _ => "beside newer stations older ones send at `data_rate`; leave it out",
                };
                self.problem(&path, &message, note);
            } else if *chosen == Adaptation::Ideal && without_snr {
                let note = "write `snr` in all [[stations]], as in snr = \"25 dB\"";
                self.problem(&path, "\"ideal\" has no signal-to-noise ratio to go by", note);
            }
        }
    }

    /// Checks a pair of contention windows of which one is the station's own and the other that of `[wlan]`.
    fn windows(&mut self, path: &str, cw_min: Option<u32>, cw_max: Option<u32>, wlan: &Wlan) {
        let Some(node) = self.root.at(path) else { return };
        if cw_min.is_some() != cw_max.is_some() {
            let (cw_min, cw_max) = (cw_min.unwrap_or(wlan.cw_min), cw_max.unwrap_or(wlan.cw_max));
            self.good &= self.reader.check(node, |at| windows(at, cw_min, cw_max));
        }
    }
}
