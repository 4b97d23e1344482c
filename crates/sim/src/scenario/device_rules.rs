//! What devices set besides their queues, and combinations that are refused.

use wifair_config::{Content, PlacedValue, Rank, Reader};
use wifair_phy::Amendment;
use wifair_queue::{Chosen, QueueSettings, UpperQueue};
use wifair_units::{Bytes, Duration};

use super::file::{ScenarioFile, Stations};
use super::wlan::Wlan;

/// Gives the flows of stations with a device that host's TCP, where the scenario leaves it open: Linux's stack, receive
/// offload for what they get, and small queues for what they send.
pub(super) fn inherit(root: &mut PlacedValue) {
    let groups = root.get("stations").into_iter().flat_map(PlacedValue::list);
    let named = |group: &PlacedValue| {
        let text = |key| group.get(key).and_then(PlacedValue::text).map(str::to_owned);
        Some((text("name")?, text("device")?))
    };
    let devices: Vec<(String, String)> = groups.filter_map(named).collect();
    let Content::Table(entries) = &mut root.content else { return };
    let flows = entries.iter_mut().filter(|entry| entry.name == "flows").flat_map(|entry| entry.node.list_mut());
    for flow in flows {
        let text = |key: &str| flow.get(key).and_then(PlacedValue::text);
        let device = |name: Option<&str>| devices.iter().find(|(own, _)| Some(own.as_str()) == name);
        let is_down = text("direction") == Some("down");
        let (from, to) = if is_down { (None, text("station")) } else { (text("station"), None) };
        let (sender, receiver) = (device(from.or(text("from"))), device(to.or(text("to"))));
        if text("transport").is_some_and(|text| text != "tcp") || sender.or(receiver).is_none() {
            continue;
        }
        let small_queue = sender.map(|(_, device)| if device == "fifo" { "976.5625 us" } else { "7.8125 ms" });
        let gets = receiver.is_some();
        let Some(tcp) = flow.make("tcp") else { continue };
        let mut add = |key: &str, content: Content| {
            if tcp.get(key).is_none()
                && let Some(node) = tcp.make(key)
            {
                node.content = content;
                node.rank = Rank::Inherited;
            }
        };
        add("stack", Content::Text("linux".to_owned()));
        if let Some(time) = small_queue {
            add("small_queue", Content::Text(time.to_owned()));
        }
        if gets {
            add("gro", Content::Bool(true));
        }
    }
}

/// Sets what depends on the standard too: the memory of a radio. OpenWrt allows at most a sixteenth of the RAM, which
/// is more from 256 MiB on.
pub(super) fn complete(file: &mut ScenarioFile) {
    let Some(wlan) = &file.wlan else { return };
    let memory = |standard: Amendment| Bytes(if standard >= Amendment::Ac { 16 << 20 } else { 4 << 20 });
    let set = |queue: &mut QueueSettings, standard| {
        if let Chosen::LinuxWifi(params) = &mut queue.discipline {
            params.memory.get_or_insert(memory(standard));
        }
    };
    if let Some(ap) = file.ap.as_mut().filter(|ap| ap.device.is_some()) {
        set(&mut ap.queue, wlan.standard);
    }
    for group in file.stations.iter_mut().filter(|group| group.device.is_some()) {
        set(&mut group.queue, group.standard.unwrap_or(wlan.standard));
    }
}

/// Reports devices that the standard cannot have, weights without effect, and limits below the time of a packet;
/// returns whether there was nothing to report.
pub(super) fn check(file: &ScenarioFile, root: &PlacedValue, reader: &mut Reader) -> bool {
    let Some(wlan) = &file.wlan else { return true };
    let mut is_good = true;
    let mut report = |path: &str, message: &str, note: &str| {
        let place = root.at(path).map(|node| node.place.clone()).unwrap_or_default();
        reader.problem(&place, path.rsplit('.').next(), message, note);
        is_good = false;
    };
    let is_set = |path: &str| root.at(path).is_some();
    let old = "802.11n, ac, ax and be have access categories: write standard = \"802.11n\"";
    if !wlan.standard.has_mcs() && is_set("ap.device") {
        report("ap.device", &format!("an access point of {} cannot be such a device", wlan.standard), old);
    }
    let shares_air = |queue: &QueueSettings| {
        matches!(&queue.discipline, Chosen::LinuxWifi(params)
            if params.airtime_fairness && params.upper == UpperQueue::Mac80211)
    };
    let has_weights = file.ap.as_ref().is_some_and(|ap| shares_air(&ap.queue));
    for (index, group) in file.stations.iter().enumerate() {
        let path = |key: &str| format!("stations[{index}].{key}");
        let standard = group.standard.unwrap_or(wlan.standard);
        if !standard.has_mcs() && is_set(&path("device")) {
            report(&path("device"), &format!("a station of {standard} cannot be such a device"), old);
        }
        let weight = path("airtime_weight");
        let rank = |path: &str| root.at(path).map_or(Rank::Inherited, PlacedValue::highest_rank);
        if group.airtime_weight.is_some() && !has_weights && rank("ap.device").max(rank("ap.queue")) <= rank(&weight) {
            let note = "the access point does not share out air time: write device = \"linux\" in [ap]";
            report(&weight, "`airtime_weight` has no effect", note);
        } else if group.airtime_weight.is_some() && group.count == 0 && rank(&path("count")) <= rank(&weight) {
            report(&weight, "a weight of stations that are absent", "`count` is 0: leave it out");
        }
        if group.airtime_shared.is_some() && group.airtime_weight.is_none() {
            report(&path("airtime_shared"), "no weight to share", "write airtime_weight = 256, too");
        }
    }
    let owners = file.ap.iter().map(|ap| ("ap".to_owned(), &ap.queue, None));
    let groups = file.stations.iter().enumerate();
    let owners = owners.chain(groups.map(|(index, group)| (format!("stations[{index}]"), &group.queue, Some(group))));
    for (owner, queue, group) in owners {
        let Chosen::LinuxWifi(params) = &queue.discipline else { continue };
        let Some(time) = packet_time(wlan, &file.stations, group) else { continue };
        let limits = [
            ("aql_low", params.aql_low),
            ("aql_threshold", params.aql_threshold),
            ("aggregate_time", params.aggregate_time),
        ];
        for (key, limit) in limits {
            let path = format!("{owner}.queue.linux-wifi.{key}");
            if limit < time && is_set(&path) {
                let message = format!("a limit of {limit} is below the time of a packet");
                report(&path, &message, &format!("1500 B take {time}: write at least that"));
            }
        }
    }
    is_good
}

/// The least time that a full packet takes, to or from a group or any of them.
fn packet_time(wlan: &Wlan, groups: &[Stations], group: Option<&Stations>) -> Option<Duration> {
    let groups = group.map_or(groups, std::slice::from_ref).iter();
    groups.filter_map(|group| wlan.usual_time(group, Bytes(1500))).min()
}
