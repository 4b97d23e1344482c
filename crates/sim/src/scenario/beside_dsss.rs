//! What stations of 802.11b change in a network whose other stations also send OFDM.
//!
//! Source: IEEE Std 802.11-2016, 9.4.1.4 (Short Slot Time subfield), tables 16-4 and 18-5 (PHY characteristics).

use wifair_config::{Content, Entry, PlacedValue, Rank};

/// Fills in what the scenario leaves open: HR/DSSS has a slot of 20 us alone, which then holds for the whole BSS, and
/// an aCWmin of 31.
pub(super) fn inherit(root: &mut PlacedValue) {
    let is_dsss = |group: &PlacedValue| {
        let content = |key: &str| group.get(key).map(|node| &node.content);
        let is_old = group.get("standard").and_then(PlacedValue::text) == Some("802.11b");
        (is_old || matches!(content("dsss_only"), Some(Content::Bool(true))))
            && !matches!(content("count"), Some(Content::Integer(0)))
    };
    let standard = root.get("wlan").and_then(|wlan| wlan.get("standard")).and_then(PlacedValue::text);
    let is_mixed = standard.is_some_and(|standard| standard != "802.11b")
        && root.get("stations").is_some_and(|groups| groups.list().iter().any(is_dsss));
    let has_dsss_only = standard == Some("802.11g");
    let Content::Table(entries) = &mut root.content else { return };
    if !is_mixed {
        return;
    }
    let mut has_windows = false;
    for Entry { name, node, .. } in entries.iter_mut() {
        if name == "wlan" {
            has_windows = node.get("cw_min").or(node.get("cw_max")).is_some();
            add(node, "slot", Content::Text("20 us".to_owned()));
        }
    }
    for Entry { name, node, .. } in entries.iter_mut() {
        if name == "stations" && has_dsss_only && !has_windows {
            let groups = node.list_mut().iter_mut();
            for group in groups.filter(|group| {
                let is_set = |key| group.get(key).is_some();
                is_set("dsss_only") && is_dsss(group) && !is_set("cw_min") && !is_set("cw_max")
            }) {
                add(group, "cw_min", Content::Integer(31));
            }
        }
    }
}

/// Adds a key that a table lacks.
fn add(table: &mut PlacedValue, key: &str, content: Content) {
    if table.get(key).is_none()
        && let Some(node) = table.make(key)
    {
        node.content = content;
        node.rank = Rank::Inherited;
    }
}
