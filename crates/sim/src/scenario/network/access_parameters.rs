//! Checks that the parameters of channel access are such as the standard has: contention windows, AIFSNs, TXOP limits.

use wifair_units::Duration;

use super::Builder;
use crate::scenario::edca_keys::EdcaParameterSet;
use crate::scenario::wlan::Wlan;

/// The largest window that an EDCA Parameter Set element can announce: its exponent has four bits (9.4.2.29).
const LARGEST_WINDOW: u32 = (1 << 15) - 1;

/// The unit of TXOP limits (9.4.2.29).
const TXOP_UNIT: Duration = Duration::from_micros(32);

/// The longest TXOP limit: its field has 16 bits (9.4.2.29).
const LONGEST_TXOP: Duration = Duration::from_micros(65_535 * 32);

impl Builder<'_> {
    /// Reports parameters of `[wlan]`, the access points and stations that the EDCA Parameter Set element cannot
    /// announce (9.4.2.29). Only an access point may have an AIFSN of 1.
    pub(super) fn access_parameters(&mut self, wlan: &Wlan) {
        let file = self.file;
        self.parameters("wlan", Some(wlan.cw_min), Some(wlan.cw_max), Some(&wlan.edca), wlan);
        if let Some(ap) = &file.ap {
            self.parameters("ap", ap.cw_min, ap.cw_max, ap.edca.as_ref(), wlan);
        }
        for (index, group) in file.stations.iter().enumerate() {
            self.parameters(&format!("stations[{index}]"), group.cw_min, group.cw_max, group.edca.as_ref(), wlan);
        }
    }

    /// Reports such parameters of one table.
    fn parameters(
        &mut self,
        table: &str,
        cw_min: Option<u32>,
        cw_max: Option<u32>,
        edca: Option<&EdcaParameterSet>,
        wlan: &Wlan,
    ) {
        for (key, window) in [("cw_min", cw_min), ("cw_max", cw_max)] {
            if let Some(window) = window {
                self.window(&format!("{table}.{key}"), window, wlan);
            }
        }
        for (category, name) in edca.iter().flat_map(|edca| edca.categories().into_iter().zip(["vo", "vi", "be", "bk"]))
        {
            let path = format!("{table}.edca.{name}");
            if table != "ap" && category.aifsn < 2 {
                let message = format!("stations cannot have an AIFSN of {}", category.aifsn);
                let note = "at least 2; only the access point may have 1, in [ap.edca]";
                self.problem(&format!("{path}.aifsn"), &message, note);
            }
            let unit = TXOP_UNIT.as_nanos();
            let units = category.txop.as_nanos() / unit;
            if category.txop > LONGEST_TXOP {
                let message = format!("no TXOP limit of {}", category.txop);
                self.problem(&format!("{path}.txop"), &message, &format!("at most {LONGEST_TXOP}"));
            } else if TXOP_UNIT * units != category.txop && !wlan.nonstandard_windows {
                let message = format!("`txop` is {}, which is no multiple of {TXOP_UNIT}", category.txop);
                let (below, above) = (TXOP_UNIT * units, TXOP_UNIT * (units + 1));
                let below = if units == 0 { String::new() } else { format!("{below} or ") };
                let note = format!("write {below}{above}; any other needs nonstandard_windows = true in [wlan]");
                self.problem(&format!("{path}.txop"), &message, &note);
            }
            self.window(&format!("{path}.cw_min"), category.cw_min, wlan);
            self.window(&format!("{path}.cw_max"), category.cw_max, wlan);
        }
    }

    /// Reports a window that is too large or not one less than a power of two, unless `nonstandard_windows` allows it.
    /// In the standard CW grows from CWmin by doubling CW + 1 (IEEE Std 802.11-2016, 10.3.3), and EDCA announces both
    /// bounds as exponents (9.4.2.29).
    fn window(&mut self, path: &str, window: u32, wlan: &Wlan) {
        if wlan.nonstandard_windows || (window <= LARGEST_WINDOW && (window + 1).is_power_of_two()) {
            return;
        }
        let key = super::checks::key_of(path);
        let (why, others) = if window > LARGEST_WINDOW {
            ("which no EDCA parameter set can announce", format!("at most {LARGEST_WINDOW}"))
        } else {
            let above = (window + 1).next_power_of_two();
            ("which is not one less than a power of two", format!("{} or {}", above / 2 - 1, above - 1))
        };
        let note = format!("{others}; any other needs nonstandard_windows = true in [wlan]");
        self.problem(path, &format!("`{key}` is {window}, {why}"), &note);
    }
}
