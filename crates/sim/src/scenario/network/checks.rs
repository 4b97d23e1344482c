//! Checks of `[wlan]`, `[ap]`, `[space]` and stations that involve more than one table.

use wifair_ap::Access;
use wifair_phy::rate::Adaptation;
use wifair_phy::{Amendment, Spoils};

use super::Builder;
use crate::scenario::routing::Protocol;
use crate::scenario::wlan::{Wlan, windows};
use crate::scenario::{channels, contention_windows};

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
        self.high_throughput(wlan);
        self.categories_in_space(wlan);
        for (path, message, note) in channels::problems(self.file, wlan) {
            self.problem(&path, &message, &note);
        }
        for (path, window) in contention_windows::nonstandard(self.file, wlan) {
            let key = path.rsplit('.').next().unwrap_or_default();
            let (why, others) = if window > contention_windows::LARGEST {
                (
                    "which no EDCA parameter set can announce".to_owned(),
                    format!("at most {}", contention_windows::LARGEST),
                )
            } else {
                let above = (window + 1).next_power_of_two();
                ("which is not one less than a power of two".to_owned(), format!("{} or {}", above / 2 - 1, above - 1))
            };
            let message = format!("`{key}` is {window}, {why}");
            let note = format!("{others}; any other needs nonstandard_windows = true in [wlan]");
            self.problem(&path, &message, &note);
        }
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
        let mut asked = vec![];
        let has_mcs = wlan.standard.has_mcs();
        if !has_mcs && wlan.rate_adaptation != Adaptation::Fixed {
            asked.push("wlan.rate_adaptation".to_owned());
        }
        if wlan.protection.is_some() && !has_mcs {
            asked.push("wlan.protection".to_owned());
        }
        for (index, group) in self.file.stations.iter().enumerate() {
            if !has_mcs && group.rate_adaptation.as_ref().is_some_and(|chosen| *chosen != Adaptation::Fixed) {
                asked.push(format!("stations[{index}].rate_adaptation"));
            }
            if group.dsss_only && wlan.standard == Amendment::G {
                asked.push(format!("stations[{index}].dsss_only"));
            }
            for (key, outage) in [("outage_up", &group.outage_up), ("outage_down", &group.outage_down)] {
                if outage.is_some() {
                    asked.push(format!("stations[{index}].{key}"));
                }
            }
        }
        for path in asked {
            let key = path.rsplit('.').next().unwrap_or_default();
            self.problem(&path, &format!("`{key}` needs [space]"), "write [space], with radios and positions");
        }
    }

    /// Reports settings of stations with access categories that the spatial channel does not support.
    fn categories_in_space(&mut self, wlan: &Wlan) {
        let Some(space) = &self.file.space else { return };
        let who = match self.file.ap.as_ref().map(|ap| &ap.scheme.access) {
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
        let mut refused = vec![];
        if adapts(&wlan.rate_adaptation) {
            refused.push("wlan.rate_adaptation".to_owned());
        }
        if wlan.cf_end && has_mcs {
            refused.push("wlan.cf_end".to_owned());
        }
        for (index, group) in self.file.stations.iter().enumerate() {
            for (key, is_set) in [
                ("rate_adaptation", group.rate_adaptation.as_ref().is_some_and(adapts)),
                ("snr", has_mcs && group.snr.is_some()),
                ("outage_up", group.outage_up.is_some()),
                ("outage_down", group.outage_down.is_some()),
                ("standard", has_mcs && group.standard.is_some_and(|standard| standard != wlan.standard)),
            ] {
                if is_set {
                    refused.push(format!("stations[{index}].{key}"));
                }
            }
        }
        for path in refused {
            let key = path.rsplit('.').next().unwrap_or_default();
            let note = match key {
                "snr" => "in [space] powers and `reception` decide what is read; leave it out",
                "outage_up" | "outage_down" => {
                    "outages are modelled without access categories; leave out one of the two"
                }
                "standard" => "in [space] all stations are of one standard from 802.11n on; leave out one of the two",
                "cf_end" => "in [space] a frame announces its own exchange, not the rest of its TXOP; leave it out",
                _ if has_mcs => "\"ideal\" goes by bit errors; write spoils = \"bits\" in [space.reception]",
                _ => "stations with access categories send at fixed rates in [space]; leave out one of the two",
            };
            self.problem(&path, &format!("`{key}` with {who} in [space]"), note);
        }
    }

    /// Reports keys that do not apply to the standard: keys for older standards with 802.11n or later, and vice versa.
    fn high_throughput(&mut self, wlan: &Wlan) {
        let mut problems = vec![];
        let has_mcs = wlan.standard.has_mcs();
        let foreign = |key: &str, standard: Amendment| {
            let note = match key {
                "standard" if standard == Amendment::G => {
                    "write dsss_only = true, with [space], or standard = \"802.11n\" in [wlan]".to_owned()
                }
                _ if !has_mcs => "802.11n, ac, ax and be have it: write standard = \"802.11n\" in [wlan]".to_owned(),
                "cw_min" | "cw_max" if standard.has_mcs() => format!("write it for a category, as in `edca.be.{key}`"),
                "cw_min" | "cw_max" => "older stations have the default windows here; leave it out".to_owned(),
                "data_rate" => "write `mcs`, `streams` and `width`".to_owned(),
                "mcs" | "streams" | "width" => "write `data_rate`".to_owned(),
                "edca" => "older stations have no access categories; leave it out".to_owned(),
                _ => "write `edca`".to_owned(),
            };
            (format!("`{key}` does not apply to {standard}"), note)
        };
        let mut refuse = |path: String, standard: Amendment, is_set: bool| {
            if is_set {
                let (message, note) = foreign(path.rsplit('.').next().unwrap_or_default(), standard);
                problems.push((path, message, note));
            }
        };
        if let Some(ap) = &self.file.ap {
            let access = ap.scheme.access != Access::None;
            for (key, is_old, is_set) in [
                ("scheme.access", true, access),
                ("cw_min", true, ap.cw_min.is_some()),
                ("cw_max", true, ap.cw_max.is_some()),
                ("edca", false, ap.edca.is_some()),
                ("queue_per_station", false, ap.queue_per_station.is_some()),
            ] {
                refuse(format!("ap.{key}"), wlan.standard, is_set && is_old == has_mcs);
            }
        }
        for (index, group) in self.file.stations.iter().enumerate() {
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
                refuse(format!("stations[{index}].{key}"), standard, is_set && is_old == has_mcs);
            }
        }
        for (index, flow) in self.file.flows.iter().enumerate() {
            refuse(format!("flows[{index}].category"), wlan.standard, flow.category.is_some() && !has_mcs);
            refuse(format!("flows[{index}].dscp"), wlan.standard, flow.dscp.is_some() && !has_mcs);
        }
        if has_mcs {
            for (index, group) in self.file.stations.iter().enumerate() {
                let own = group.own_mode();
                let has_mcs = group.standard.is_none_or(Amendment::has_mcs);
                let is_own = has_mcs && (own.mcs.is_some() || own.streams.is_some() || own.width.is_some());
                if let Some(error) = is_own.then(|| wlan.mode(own).err()).flatten() {
                    problems.push((format!("stations[{index}].{}", error.key), error.message, String::new()));
                }
            }
        }
        problems.extend(wlan.adaptation_problems(self.file));
        problems.extend(wlan.older_problems(self.file));
        for (path, message, note) in problems {
            let note = if note.is_empty() { format!("`wlan.standard` is \"{}\"", wlan.standard) } else { note };
            self.problem(&path, &message, &note);
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
