//! Overrides that are shadowed: everything that they are a default for has a value of its own.

use wifair_config::{Content, Place, PlacedValue, Rank, Reader};

/// Keys of `[wlan]` that are defaults for other tables, and those tables: the key has no effect if all of them set it.
const DEFAULTS: [(&str, &[&str]); 3] =
    [("cw_min", &["stations", "ap"]), ("cw_max", &["stations", "ap"]), ("data_rate", &["stations"])];

/// An override that is shadowed.
pub(super) struct Shadowed {
    place: Place,
    path: String,
    owners: String,
    instead: String,
}

/// Finds overrides that are shadowed; must run before `[tcp]` is copied into the flows.
pub(super) fn find(root: &PlacedValue) -> Vec<Shadowed> {
    let mut found = vec![];
    let is_tcp =
        |flow: &&PlacedValue| flow.get("transport").and_then(PlacedValue::text).is_none_or(|text| text == "tcp");
    let flows: Vec<&PlacedValue> = root.get("flows").into_iter().flat_map(PlacedValue::list).filter(is_tcp).collect();
    if let Some(tcp) = root.get("tcp") {
        each_override(tcp, "tcp", &mut |path, place| {
            if flows.iter().all(|flow| flow.at(path).is_some()) {
                let owners = if flows.is_empty() {
                    "there is no flow of TCP".to_owned()
                } else {
                    format!("every flow has a `{path}` of its own")
                };
                let instead =
                    if flows.is_empty() { "leave it out".to_owned() } else { format!("write `flows.{path}`") };
                found.push(Shadowed { place: place.clone(), path: path.to_owned(), owners, instead });
            }
        });
    }
    let own = |table: &str, key: &str| match root.get(table).map(|node| (&node.content, node)) {
        Some((Content::List(nodes), _)) => !nodes.is_empty() && nodes.iter().all(|node| node.get(key).is_some()),
        Some((_, node)) => node.get(key).is_some(),
        None => false,
    };
    for (key, tables) in DEFAULTS {
        let Some(node) = root.get("wlan").and_then(|wlan| wlan.get(key)) else { continue };
        if node.rank == Rank::Override && tables.iter().all(|table| own(table, key)) {
            let groups = if tables.len() > 1 { "all stations and access points" } else { "all stations" };
            found.push(Shadowed {
                place: node.place.clone(),
                path: format!("wlan.{key}"),
                owners: format!("{groups} have a `{key}` of their own"),
                instead: format!(
                    "write `{}`",
                    tables.iter().map(|table| format!("{table}.{key}")).collect::<Vec<_>>().join("` or `")
                ),
            });
        }
    }
    found
}

/// Calls `call` for each value in `node`, located at `path`, that an override set.
fn each_override(node: &PlacedValue, path: &str, call: &mut dyn FnMut(&str, &Place)) {
    for entry in node.entries() {
        let path = format!("{path}.{}", entry.name);
        match &entry.node.content {
            Content::Table(_) => each_override(&entry.node, &path, call),
            _ if entry.node.rank == Rank::Override => call(&path, &entry.node.place),
            _ => {}
        }
    }
}

/// Reports them; returns whether there were none.
pub(super) fn report(shadowed: &[Shadowed], reader: &mut Reader) -> bool {
    for Shadowed { place, path, owners, instead } in shadowed {
        let key = path.rsplit('.').next();
        reader.problem(place, key, &format!("`{path}` sets nothing: {owners}"), instead);
    }
    shadowed.is_empty()
}
