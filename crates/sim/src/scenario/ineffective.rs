//! Keys of `[wlan]` that are set although nothing in the scenario uses them.
//!
//! Such a key is refused, unless what makes it useless was chosen with a higher rank, as by a sweep over RTS thresholds
//! that includes none: then the key is left behind, so that the resolved scenario says only what is true.

use wifair_config::{PlacedValue, Rank, Reader};
use wifair_mac::AccessCategory;
use wifair_phy::rate::Adaptation;
use wifair_phy::{Amendment, Band};
use wifair_units::Duration;

use super::edca_keys::EdcaParameterSet;
use super::file::{ScenarioFile, Stations};
use super::wlan::{CTS_SIZE, DSSS_BASIC_RATE, Preamble, Profile, RTS_SIZE, Wlan};

/// A key of `[wlan]` without effect.
struct Ineffective {
    key: &'static str,
    /// Paths of the values that make it so.
    choices: Vec<String>,
    /// Why it has no effect, and what to write.
    note: &'static str,
    reset: Reset,
}

/// Sets a key to its default.
type Reset = fn(&mut Wlan);

/// Reports keys without effect, or leaves them behind; returns whether there was nothing to report.
pub(super) fn check(file: &mut ScenarioFile, root: &PlacedValue, reader: &mut Reader) -> bool {
    let Some(wlan) = &file.wlan else { return true };
    let found = [dsss(wlan, file), rts(wlan, file), cf_end(wlan, file)].into_iter().flatten();
    let mut is_good = true;
    for Ineffective { key, choices, note, reset } in found.collect::<Vec<_>>() {
        let rank = |path: &str| root.at(path).map_or(Rank::Inherited, PlacedValue::highest_rank);
        let path = format!("wlan.{key}");
        if choices.iter().any(|choice| rank(choice) > rank(&path)) {
            file.wlan.as_mut().into_iter().for_each(reset);
        } else {
            let place = root.at(&path).map(|node| node.place.clone()).unwrap_or_default();
            reader.problem(&place, Some(key), &format!("`{key}` has no effect"), note);
            is_good = false;
        }
    }
    is_good
}

/// The paths of `keys` in each group of a list of tables.
fn each(table: &str, groups: usize, keys: &[&str]) -> impl Iterator<Item = String> {
    (0..groups).flat_map(move |index| keys.iter().map(move |key| format!("{table}[{index}].{key}")))
}

/// Keys of DSSS frames where all frames are OFDM.
fn dsss(wlan: &Wlan, file: &ScenarioFile) -> Vec<Ineffective> {
    let groups = &file.stations;
    let rates = [wlan.protection, wlan.broadcast_rate];
    let old_rates = [wlan.data_rate, wlan.basic_rate, wlan.eifs_rate].into_iter().filter(|_| !wlan.standard.has_mcs());
    let mut rates =
        rates.into_iter().flatten().chain(old_rates).chain(groups.iter().filter_map(|group| group.data_rate));
    let is_dsss = |group: &Stations| group.dsss_only || group.standard == Some(Amendment::B);
    if matches!(wlan.standard, Amendment::A | Amendment::B)
        || wlan.standard.has_mcs() && wlan.phy_band() != Band::Ghz2_4
        || groups.iter().any(is_dsss)
        || rates.any(|rate| Amendment::B.rates().contains(&rate))
    {
        return vec![];
    }
    let common = ["standard", "data_rate", "basic_rate", "eifs_rate", "protection", "broadcast_rate", "band"];
    let choices = common.iter().map(|key| format!("wlan.{key}"));
    let choices = choices.chain(each("stations", groups.len(), &["dsss_only", "standard", "data_rate"]));
    let choices: Vec<String> = choices.collect();
    let note = match wlan.standard {
        Amendment::G => "no station is `dsss_only`, and no rate is 1, 2, 5.5 or 11 Mb/s: leave it out",
        _ => "no station is of 802.11b, and no rate is 1, 2, 5.5 or 11 Mb/s: leave it out",
    };
    let mut found = vec![];
    if wlan.preamble != Preamble::Long {
        let reset = |wlan: &mut Wlan| wlan.preamble = Preamble::Long;
        found.push(Ineffective { key: "preamble", choices: choices.clone(), note, reset });
    }
    if wlan.dsss_basic_rate != DSSS_BASIC_RATE {
        let reset = |wlan: &mut Wlan| wlan.dsss_basic_rate = DSSS_BASIC_RATE;
        found.push(Ineffective { key: "dsss_basic_rate", choices, note, reset });
    }
    found
}

/// Keys of RTS and CTS where no frame is long enough for RTS, and nothing else asks for it.
fn rts(wlan: &Wlan, file: &ScenarioFile) -> Vec<Ineffective> {
    let groups = &file.stations;
    let is_adaptive = |adaptation: &Adaptation| matches!(adaptation, Adaptation::MinstrelHt(_));
    let never = if wlan.standard.has_mcs() { 16_000_000 } else { 2347 };
    if wlan.rts_threshold.0 < never
        || wlan.protect_by_rts
        || is_adaptive(&wlan.rate_adaptation)
        || groups.iter().filter_map(|group| group.rate_adaptation.as_ref()).any(is_adaptive)
    {
        return vec![];
    }
    let common = ["rts_threshold", "protect_by_rts", "rate_adaptation", "protection", "use_protection"];
    let choices = common.iter().map(|key| format!("wlan.{key}"));
    let own = ["rate_adaptation", "dsss_only", "standard"];
    let choices: Vec<String> = choices.chain(each("stations", groups.len(), &own)).collect();
    let is_dsss = groups.iter().any(|group| group.dsss_only || group.standard == Some(Amendment::B));
    let has_cts_to_self = wlan.access(is_dsss).protection.is_some();
    let usual_reset = wlan.profile == Profile::Standard;
    let keys: [(&str, bool, Reset); 3] = [
        ("rts_size", wlan.rts_size != RTS_SIZE, |wlan| wlan.rts_size = RTS_SIZE),
        ("cts_size", wlan.cts_size != CTS_SIZE && !has_cts_to_self, |wlan| wlan.cts_size = CTS_SIZE),
        ("nav_reset", wlan.nav_reset != usual_reset, |wlan| wlan.nav_reset = wlan.profile == Profile::Standard),
    ];
    let note = "no frame is longer than `rts_threshold`: write rts_threshold = \"0 B\" for RTS before all data";
    let found = keys.into_iter().filter(|(_, is_set, _)| *is_set);
    found.map(|(key, _, reset)| Ineffective { key, choices: choices.clone(), note, reset }).collect()
}

/// `cf_end` where no flow uses a category with a TXOP limit, so that each TXOP is one exchange.
fn cf_end(wlan: &Wlan, file: &ScenarioFile) -> Vec<Ineffective> {
    let groups = &file.stations;
    // Without flows real programs send, in categories of their own; a code point may be mapped to any.
    let may_be_any = file.flows.is_empty() || file.flows.iter().any(|flow| flow.dscp.is_some());
    let of_flows = |category: &AccessCategory| {
        may_be_any || file.flows.iter().any(|flow| flow.category.unwrap_or(AccessCategory::Be) == *category)
    };
    let ap = file.ap.as_ref().and_then(|ap| ap.edca.as_ref());
    let own = groups.iter().filter_map(|group| group.edca.as_ref()).chain(ap);
    let has_limit = |set: &EdcaParameterSet| {
        let categories = AccessCategory::ALL.iter().zip(set.categories());
        categories.filter(|(category, _)| of_flows(category)).any(|(_, keys)| keys.txop > Duration::ZERO)
    };
    if !wlan.cf_end || !wlan.standard.has_mcs() || own.chain([&wlan.edca]).any(has_limit) {
        return vec![];
    }
    let choices = ["wlan.edca", "ap.edca"].map(str::to_owned).into_iter();
    let choices = choices.chain(each("stations", groups.len(), &["edca"]));
    let choices = choices.chain(each("flows", file.flows.len(), &["category", "dscp"])).collect();
    let note =
        "no flow uses a category with a TXOP limit: write one, as in edca.be.txop = \"2528 us\", or leave it out";
    let reset = |wlan: &mut Wlan| (wlan.cf_end, wlan.repeat_cf_end) = (false, false);
    vec![Ineffective { key: "cf_end", choices, note, reset }]
}
