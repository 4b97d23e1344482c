//! Contention windows that the standard does not allow.

use super::{EdcaParameterSet, ScenarioFile, Wlan};

/// The largest window that an EDCA Parameter Set element can announce: its exponent has four bits (9.4.2.29).
pub(super) const LARGEST: u32 = (1 << 15) - 1;

/// The contention windows in `file` that are too large or not one less than a power of two, with their paths. In the
/// standard CW grows from CWmin by doubling CW + 1 (IEEE Std 802.11-2016, 10.3.3), and EDCA announces both bounds as
/// exponents (9.4.2.29). Empty if `nonstandard_windows` allows other values.
pub(super) fn nonstandard(file: &ScenarioFile, wlan: &Wlan) -> Vec<(String, u32)> {
    if wlan.nonstandard_windows {
        return vec![];
    }
    let mut windows = vec![];
    let mut own = |table: &str, cw_min: Option<u32>, cw_max: Option<u32>, edca: Option<&EdcaParameterSet>| {
        for (key, window) in [("cw_min", cw_min), ("cw_max", cw_max)] {
            windows.extend(window.map(|window| (format!("{table}.{key}"), window)));
        }
        for (category, name) in edca.iter().flat_map(|edca| edca.categories().into_iter().zip(["vo", "vi", "be", "bk"]))
        {
            windows.push((format!("{table}.edca.{name}.cw_min"), category.cw_min));
            windows.push((format!("{table}.edca.{name}.cw_max"), category.cw_max));
        }
    };
    own("wlan", Some(wlan.cw_min), Some(wlan.cw_max), Some(&wlan.edca));
    if let Some(ap) = &file.ap {
        own("ap", ap.cw_min, ap.cw_max, ap.edca.as_ref());
    }
    for (index, group) in file.stations.iter().enumerate() {
        own(&format!("stations[{index}]"), group.cw_min, group.cw_max, group.edca.as_ref());
    }
    windows.retain(|(_, window)| *window > LARGEST || !(window + 1).is_power_of_two());
    windows
}
