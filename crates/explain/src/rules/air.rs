//! The air: errors, hidden stations, protection, slow stations; and wired links that are full instead.

use std::collections::BTreeMap;

use wifair_mac::Hearing;
use wifair_phy::Amendment;
use wifair_sim::scenario::{Node, Scenario};

use super::waiting::links_of;
use crate::fact::Fact;
use crate::view::{FEWEST, View, greatest, least, ranked_above};
use crate::words::{FEW, counted, general, listed, percent, rate, some};

/// Throughput is at least this part of the rate of a full link: headers are a tenth of packets of 400 bytes.
const FULL: f64 = 0.9;
/// Errors and collisions are told from these parts of the attempts on.
const BAD: f64 = 0.02;
const MANY: f64 = 0.1;
/// Fewer failed attempts say little of their share.
const FEWEST_ERRORS: f64 = 10.0;
/// Of more stations than this only the busiest are looked at.
const BUSIEST: usize = 60;
/// What takes more than this part of the time on the air is told.
const TOLD: f64 = 0.05;
/// A station is slow if its frames, or bits, take this many times as long as those of another.
const SLOW: f64 = 2.0;

/// Which wired links are full, so that flows that want more cannot get it, whatever the air allows.
pub(crate) fn wires(v: &View<'_>) -> Vec<Fact> {
    let Some(scenario) = v.scenario() else { return vec![] };
    // What arrived: goodput counts what waited behind a gap when the gap closes, and may exceed the rate.
    let carried = v.flows.of("throughput_bps");
    let mut users: BTreeMap<(usize, bool), Vec<usize>> = BTreeMap::new();
    for flow in 0..carried.len() {
        for link in v.known(flow).into_iter().flat_map(links_of) {
            users.entry(link).or_default().push(flow);
        }
    }
    // Equal links that are full in the same direction are named together.
    let mut full: BTreeMap<&'static str, Vec<(String, f64, f64, usize)>> = BTreeMap::new();
    for ((link, _), flows) in &users {
        let wire = &scenario.network.links[*link];
        let limit = wire.rate.as_bps() as f64;
        let used: f64 = flows.iter().map(|flow| carried[*flow]).sum();
        if used < FULL * limit || flows.iter().all(|flow| v.sated[*flow]) {
            continue;
        }
        let ends = wire.ends.map(|node| scenario.name_of(node));
        let server = wire.ends.iter().position(|node| matches!(node, Node::Server(_)));
        let name =
            server.map_or_else(|| format!("between {} and {}", ends[0], ends[1]), |at| format!("of {}", ends[at]));
        let way = match v.directions[flows[0]] {
            "up" => "uplink",
            "down" => "downlink",
            _ => "wired",
        };
        let found = full.entry(way).or_default();
        if !found.iter().any(|(known, ..)| *known == name) {
            found.push((name, used, limit, flows.len()));
        }
    }
    let mut facts = vec![];
    for (way, found) in full {
        let (used, limit): (f64, f64) = (found.iter().map(|one| one.1).sum(), found.iter().map(|one| one.2).sum());
        let names: Vec<String> = found.iter().map(|one| one.0.clone()).collect();
        let which =
            if names.len() > 1 { format!("links {} are", some(&names)) } else { format!("link {} is", names[0]) };
        let text = format!(
            "The wired {which} full: {way} flows carry {} of {}, headers not included, and cannot get more, whatever the air \
             allows.",
            rate(used),
            rate(limit)
        );
        let fact = Fact::new("wire", text).at_least("throughput_bps", used, FULL * limit).figure("link_bps", limit);
        let servers =
            scenario.file.servers.iter().filter(|_| limit < 1e9).map(|one| format!("servers.{}.rate=1 Gb/s", one.name));
        let mut fact = fact.about(names);
        fact.advice = servers.filter(|_| scenario.file.servers.len() == 1).collect();
        facts.push(fact);
    }
    facts
}

/// Which stations lose frames to errors.
pub(crate) fn radio(v: &View<'_>) -> Vec<Fact> {
    let (attempts, errors, given_up) = (v.stations.of("attempts"), v.stations.of("errors"), v.stations.of("given_up"));
    let share: Vec<f64> = attempts
        .iter()
        .zip(&errors)
        .map(|(all, failed)| if *failed >= FEWEST_ERRORS { failed / all } else { 0.0 })
        .collect();
    let bad = ranked_above(&share, BAD);
    if bad.is_empty() {
        return vec![];
    }
    let names = &v.stations.names;
    let parts: Vec<String> = bad.iter().take(FEW).map(|at| format!("{} {}", names[*at], percent(share[*at]))).collect();
    let text = format!(
        "Transmission attempts that fail because of errors, not collisions: {}. The MAC retries them, and gives up {}{}.",
        parts.join(", "),
        counted(bad.iter().map(|at| given_up[*at]).sum(), "frame"),
        v.each_run()
    );
    let mut fact = Fact::new("bad radio", text);
    for at in &bad {
        fact = fact.at_least(&format!("errors_{}", names[*at]), share[*at], BAD);
    }
    if let Some(wlan) = v.scenario().filter(|one| one.file.space.is_some()).and_then(|one| one.file.wlan.as_ref()) {
        let name = if wlan.standard.has_mcs() { "minstrel-ht" } else { "minstrel" };
        fact = fact.advise(&[&format!("wlan.rate_adaptation={name}")]);
    }
    vec![fact.about(bad.iter().map(|at| names[*at].clone()))]
}

/// The stations of a scenario by name, if who hears whom is the same all the time.
fn still_stations(scenario: &Scenario) -> Option<BTreeMap<String, Node>> {
    let moves = scenario.file.stations.iter().any(|group| !group.moves.is_empty());
    if moves || scenario.is_ad_hoc() {
        return None;
    }
    Some(scenario.nodes_on_air().into_iter().map(|node| (scenario.name_of(node), node)).collect())
}

/// Stations that send to one access point, do not hear each other, and whose frames collide.
pub(crate) fn hidden(v: &View<'_>) -> Vec<Fact> {
    let Some((scenario, space)) = v.scenario().and_then(|one| Some((one, one.file.space.as_ref()?))) else {
        return vec![];
    };
    let (Some(nodes), Some(seed)) = (still_stations(scenario), v.evidence.seeds.first()) else { return vec![] };
    let (attempts, collided) = (v.stations.of("attempts"), v.stations.of("collisions"));
    let names = &v.stations.names;
    let mut busy: Vec<usize> = (0..names.len())
        .filter(|at| attempts[*at] >= FEWEST)
        .filter(|at| matches!(nodes.get(&names[*at]), Some(Node::Station(_))))
        .collect();
    busy.sort_by(|a, b| attempts[*b].total_cmp(&attempts[*a]));
    busy.truncate(BUSIEST);
    let these: Vec<Node> = busy.iter().map(|at| nodes[&names[*at]]).collect();
    let aps = scenario.access_points(*seed);
    let ap = |node: Node| if let Node::Station(station) = node { aps[station] } else { usize::MAX };
    let links = scenario.hearing(space, *seed, &these);
    let share = |at: usize| collided[at] / attempts[at];
    let mut pairs: Vec<(usize, usize)> = vec![];
    for i in 0..these.len() {
        for k in i + 1..these.len() {
            let (from, to) = (u32::try_from(i).expect("few"), u32::try_from(k).expect("few"));
            let silent = links.hearing(from, to) == Hearing::Nothing && links.hearing(to, from) == Hearing::Nothing;
            if silent && ap(these[i]) == ap(these[k]) && share(busy[i]).max(share(busy[k])) >= MANY {
                pairs.push((busy[i].min(busy[k]), busy[i].max(busy[k])));
            }
        }
    }
    pairs.sort_by(|a, b| (share(b.0) + share(b.1)).total_cmp(&(share(a.0) + share(a.1))));
    let Some(&(a, b)) = pairs.first() else { return vec![] };
    let more = match pairs.len() - 1 {
        0 => String::new(),
        1 => ", nor does 1 more pair".to_owned(),
        others => format!(", nor do {others} more pairs"),
    };
    let text = format!(
        "{} and {} send to the same access point but do not hear each other{more}: they are hidden stations. {} of the attempts of \
         {} collide, and {} of those of {}.",
        names[a],
        names[b],
        percent(share(a)),
        names[a],
        percent(share(b)),
        names[b]
    );
    let fact = Fact::new("hidden", text)
        .at_least("hidden_pairs", pairs.len() as f64, 1.0)
        .at_least("collisions_most", share(a).max(share(b)), MANY)
        .figure("collisions_least", share(a).min(share(b)));
    let mut concerned: Vec<String> = pairs.iter().flat_map(|(a, b)| [names[*a].clone(), names[*b].clone()]).collect();
    concerned.sort();
    concerned.dedup();
    vec![fact.about(concerned).advise(&["wlan.rts_threshold=0 B"])]
}

/// Stations of which more collides than of others, where no pair is hidden: frames of unequal power.
pub(crate) fn capture_effect(v: &View<'_>) -> Vec<Fact> {
    // Where all stations hear each other, those that rarely send may also collide more often.
    if v.scenario().is_none_or(|one| one.file.space.is_none()) || !hidden(v).is_empty() {
        return vec![];
    }
    let (attempts, collided) = (v.stations.of("attempts"), v.stations.of("collisions"));
    let total: f64 = attempts.iter().sum();
    let busy: Vec<usize> =
        (0..attempts.len()).filter(|at| attempts[*at] >= FEWEST && attempts[*at] > BAD * total).collect();
    let shares: Vec<f64> = busy.iter().map(|at| collided[*at] / attempts[*at]).collect();
    let (Some(most), Some(few)) = (greatest(&shares), least(&shares)) else { return vec![] };
    // Attempts collide with those of the others, so a station that sends less may collide more.
    let others = |at: usize| (total - attempts[busy[at]]).max(1.0);
    let alike = (others(most) / others(few)).max(1.0);
    if shares[most] <= MANY || shares[most] <= SLOW * alike * shares[few] {
        return vec![];
    }
    let name = |at: usize| &v.stations.names[busy[at]];
    let text = format!(
        "{} of the attempts of {} collide, but only {} of those of {}.",
        percent(shares[most]),
        name(most),
        percent(shares[few]),
        name(few)
    );
    let fact = Fact::new("collisions", text)
        .at_least("collisions_most", shares[most], SLOW * shares[few])
        .figure("collisions_least", shares[few]);
    vec![fact.about([name(most).clone(), name(few).clone()]).advise(&["wlan.rts_threshold=0 B"])]
}

/// What stations of 802.11b cost a network of newer ones: frames at 802.11b rates before those of the others.
pub(crate) fn protection(v: &View<'_>) -> Vec<Fact> {
    let share = v.cell("air_rts_cts");
    let Some((scenario, wlan)) = v.scenario().and_then(|one| Some((one, one.file.wlan.as_ref()?))) else {
        return vec![];
    };
    if share.is_nan() || share < TOLD {
        return vec![];
    }
    let older: Vec<String> = (0..scenario.network.stations.len())
        .filter(|station| {
            let group = scenario.group_of(Node::Station(*station));
            group.is_some_and(|group| group.dsss_only || group.standard == Some(Amendment::B))
        })
        .map(|station| scenario.name_of(Node::Station(station)))
        .collect();
    if older.is_empty() || wlan.standard == Amendment::B || !(wlan.use_protection || wlan.protection.is_some()) {
        let text = format!("RTS and CTS frames take {} of the time on the air.", percent(share));
        return vec![Fact::new("RTS/CTS", text).at_least("air_rts_cts", share, TOLD)];
    }
    let (reads, is) = if older.len() > 1 { ("do not read", "are") } else { ("does not read", "is") };
    let frames = if wlan.protect_by_rts { "RTS and CTS" } else { "CTS-to-self" };
    let text = format!(
        "{} {is} 802.11b and {reads} newer frames, so all others announce theirs by {frames} at a rate of 802.11b: these frames \
         take {} of the time on the air.",
        some(&older),
        percent(share)
    );
    vec![Fact::new("protection", text).at_least("air_rts_cts", share, TOLD).about(older)]
}

/// Which station takes most air for a frame, and so from all others.
pub(crate) fn slow_stations(v: &View<'_>) -> Vec<Fact> {
    if !v.is_long_enough() {
        return vec![];
    }
    let (delivered, air) = (v.stations.of("delivered"), v.stations.of("air_data_s")); // collisions say nothing of how slow it is
    let total: f64 = delivered.iter().sum();
    let mut uploads: Vec<Option<String>> = vec![];
    for flow in 0..v.flows.names.len() {
        if v.directions[flow] == "up" && v.persistent[flow] {
            uploads.push(v.station(flow));
        }
    }
    let used: Vec<usize> = (0..delivered.len())
        .filter(|at| delivered[*at] >= FEWEST && delivered[*at] > BAD * total)
        .filter(|at| uploads.contains(&Some(v.stations.names[*at].clone())))
        .collect();
    let each: Vec<f64> = used.iter().map(|at| air[*at] / delivered[*at]).collect();
    let (Some(slow), Some(fast)) = (greatest(&each), least(&each)) else { return vec![] };
    let ratio = each[slow] / each[fast];
    let sum = |values: &[f64]| used.iter().map(|at| values[*at]).sum::<f64>();
    let (of_air, of_frames) = (air[used[slow]] / sum(&air), delivered[used[slow]] / sum(&delivered));
    let fair = delivered[used[slow]] / delivered[used[fast]];
    if ratio <= SLOW {
        return vec![];
    }
    let name = |at: usize| &v.stations.names[used[at]];
    let mut text = format!(
        "A frame of {} takes {:.2} ms of air, one of {} {:.2} ms",
        name(slow),
        1e3 * each[slow],
        name(fast),
        1e3 * each[fast]
    );
    let fact = Fact::new("slow station", String::new())
        .figure("air_per_frame_slow_s", each[slow])
        .figure("air_per_frame_fast_s", each[fast])
        .at_least("air_per_frame_ratio", ratio, SLOW)
        .at_least("air_share", of_air, 1.5 * of_frames)
        .figure("frame_share", of_frames);
    text += &format!(
        ": of the frames of such uploads {} sends {}, and takes {} of their air time",
        name(slow),
        percent(of_frames),
        percent(of_air)
    );
    let mut fact = fact.about([name(slow).clone()]).advise(&["ap.queue.discipline=airtime"]);
    if (1.0 / 1.5..1.5).contains(&fair) {
        text += ". Channel access is fair in frames, so the slow one takes time from all";
        fact = fact.at_least("frames_slow_over_fast", fair, 1.0 / 1.5);
    }
    fact.text = text + ".";
    vec![fact]
}

/// Which station's downloads take most air, if they need much more of it for a bit than those of others.
pub(crate) fn slow_receivers(v: &View<'_>) -> Vec<Fact> {
    let all_air = v.stations.of("air_to_station_s");
    if !v.is_long_enough() || v.measured_s.is_nan() {
        return vec![];
    }
    let packets = v.flows.of("data_packets_sent");
    let goodput = v.flows.of("goodput_bps");
    let mut to: BTreeMap<String, (f64, f64, bool)> = BTreeMap::new();
    for flow in 0..goodput.len() {
        let Some(station) = v.station(flow) else { continue };
        let entry = to.entry(station).or_insert((0.0, 0.0, true));
        // What goes to a station for its uploads is no part of its downloads' goodput.
        entry.2 &= v.directions[flow] == "down" && v.persistent[flow] && !v.is_ping(flow);
        entry.0 += goodput[flow];
        entry.1 += packets[flow];
    }
    let found: Vec<(String, f64, f64)> = to
        .into_iter()
        .filter(|(_, (bps, packets, only))| *only && *bps > 0.0 && *packets >= FEWEST)
        .filter_map(|(name, (bps, ..))| Some((name.clone(), bps, all_air[v.stations.place(&name)?])))
        .collect();
    let (all_bps, all_time): (f64, f64) = (found.iter().map(|one| one.1).sum(), found.iter().map(|one| one.2).sum());
    let each: Vec<f64> = found.iter().map(|one| one.2 / one.1).collect();
    let air: Vec<f64> = found.iter().map(|one| one.2).collect();
    let (Some(slow), Some(fast)) = (greatest(&air), least(&each)) else { return vec![] };
    let (of_air, of_goodput, ratio) = (air[slow] / all_time, found[slow].1 / all_bps, each[slow] / each[fast]);
    if ratio <= SLOW || air[slow] <= SLOW * air[fast] || air[slow] < TOLD * v.measured_s {
        return vec![];
    }
    let mut text = format!(
        "Frames to {} take {} of the air time of downloads, and bring {} of their goodput: a bit to it takes {} times the air time of \
         one to {}.",
        found[slow].0,
        percent(of_air),
        percent(of_goodput),
        general(ratio),
        found[fast].0
    );
    // If it does, the queue is too short for it.
    let by_air = v.scenario().is_some_and(|one| ["airtime", "linux-wifi"].contains(&one.ap().queue.discipline.name()));
    if !by_air {
        text += " The access point shares out packets, not air time: the slow one takes time from all.";
    }
    let fact = Fact::new("slow receiver", text)
        .at_least("air_share", of_air, of_goodput)
        .figure("goodput_share", of_goodput)
        .at_least("air_per_bit_ratio", ratio, SLOW)
        .at_least("air_of_all_time", air[slow] / v.measured_s, TOLD);
    vec![fact.about([found[slow].0.clone()]).advise(&["ap.queue.discipline=airtime"])]
}

/// What the time on the air is used for.
pub(crate) fn air(v: &View<'_>) -> Vec<Fact> {
    let (idle, collided, data) = (v.cell("air_idle"), v.cell("air_collision"), v.cell("air_data"));
    if idle.is_nan() || collided.is_nan() {
        return vec![];
    }
    let part = |name: &str| if v.cell(name).is_nan() { 0.0 } else { v.cell(name) };
    let (spoilt, acks, rts) = (part("air_error"), part("air_ack"), part("air_rts_cts"));
    let mut parts =
        vec![format!("collisions {}", percent(collided)), format!("frames with errors {}", percent(spoilt))];
    for (share, what) in [(acks, "ACKs of the MAC"), (rts, "RTS and CTS")] {
        if share >= TOLD {
            parts.insert(0, format!("{what} {}", percent(share)));
        }
    }
    let mut text =
        format!("Data takes {} of the time on the air, {}; {} is idle", percent(data), listed(&parts), percent(idle));
    if idle > 0.3 {
        text += ": gaps and backoffs between frames, and time in which nobody has anything to send";
    }
    let fact = Fact::new("air", text + ".").figure("air_idle", idle).figure("air_collision", collided);
    let mut fact =
        fact.figure("air_error", spoilt).figure("air_data", data).figure("air_ack", acks).figure("air_rts_cts", rts);
    if collided > MANY {
        fact = fact.advise(&["wlan.rts_threshold=0 B"]);
    }
    vec![fact]
}
