//! Congestion controls side by side, and those that hand over too little at a time for long aggregates.

use std::collections::{BTreeMap, BTreeSet};

use wifair_sim::scenario::Node;

use crate::fact::Fact;
use crate::view::{FEWEST, View, mean};
use crate::words::{general, percent, rate, time, times};

/// Shares differ if one group gets this many times what another gets.
const DIFFERENT: f64 = 2.0;
/// Aggregates of at most this many packets are small.
const SMALL: f64 = 16.0;
/// Few segments in flight explain them below this many times as many.
const HELD: f64 = 4.0;
/// Controls that yield when round trips grow.
const BY_DELAY: [&str; 6] = ["vegas", "vegas-fair", "vegas-adaptive", "fast", "ledbat", "veno"];
/// Controls that fill queues until packets are lost.
const BY_LOSS: [&str; 12] = [
    "newreno",
    "reno",
    "tahoe",
    "linux",
    "cubic",
    "bic",
    "highspeed",
    "scalable",
    "htcp",
    "hybla",
    "westwood-nr",
    "compound",
];

/// Flows of one direction whose congestion controls get unequal shares.
pub(crate) fn controls(v: &View<'_>) -> Vec<Fact> {
    if !v.is_long_enough() {
        return vec![];
    }
    let (goodput, packets) = (v.flows.of("goodput_bps"), v.flows.of("data_packets_sent"));
    let (rtt, idle) = (v.flows.of("rtt_mean_s"), v.flows.of("rtt_idle_s"));
    let mut facts = vec![];
    for way in ["up", "down"] {
        let mut groups: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
        for flow in 0..goodput.len() {
            if v.directions[flow] == way
                && v.persistent[flow]
                && let Some(tcp) = v.tcp(flow)
            {
                groups.entry(tcp.cc.name()).or_default().push(flow);
            }
        }
        let average = |values: &[f64], flows: &[usize]| mean(flows.iter().map(|flow| values[*flow]));
        let of = |name: &&'static str| average(&goodput, &groups[name]);
        let names: Vec<&'static str> = groups.keys().copied().collect();
        let (Some(most), Some(few)) = (
            names.iter().copied().reduce(|a, b| if of(&b) > of(&a) { b } else { a }),
            names.iter().copied().reduce(|a, b| if of(&b) < of(&a) { b } else { a }),
        ) else {
            continue;
        };
        let sent: f64 = groups[most].iter().map(|flow| packets[*flow]).sum();
        let ratio = of(&most) / of(&few).max(1.0);
        if most == few || ratio < DIFFERENT || sent < FEWEST {
            continue;
        }
        let mut text = format!(
            "Of the {way}loads, flows with {most} get {} on average, those with {few} {}, {} times less",
            rate(of(&most)),
            rate(of(&few)),
            times(ratio)
        );
        let mut fact = Fact::new("controls", String::new())
            .at_least("ratio", ratio, DIFFERENT)
            .figure("most_bps", of(&most))
            .figure("least_bps", of(&few));
        let (grown, base) = (average(&rtt, &groups[few]), average(&idle, &groups[few]));
        if BY_DELAY.contains(&few) && BY_LOSS.contains(&most) && grown >= 1.5 * base {
            text += &format!(
                ": {most} fills the queue until packets are lost, and {few} yields as round trips grow from {} to {}",
                time(base),
                time(grown)
            );
            fact = fact.at_least("rtt_mean_s", grown, 1.5 * base).figure("rtt_idle_s", base);
        }
        fact.text = text + ".";
        fact.advice = groups[few]
            .first()
            .and_then(|flow| v.group(*flow))
            .map(|group| format!("flows.{}.tcp.cc={most}", group.name))
            .into_iter()
            .collect();
        facts.push(fact.about(groups[few].iter().map(|flow| v.flows.names[*flow].clone())));
    }
    facts
}

/// Senders whose aggregates are small because TCP keeps few segments in flight.
pub(crate) fn small_aggregates(v: &View<'_>) -> Vec<Fact> {
    let Some(scenario) = v.scenario().filter(|one| one.file.wlan.as_ref().is_some_and(|wlan| wlan.standard.has_mcs()))
    else {
        return vec![];
    };
    if !v.is_long_enough() {
        return vec![];
    }
    let (ppdus, mpdus) = (v.stations.of("ppdus"), v.stations.of("mpdus"));
    let (errors, attempts) = (v.stations.of("errors"), v.stations.of("attempts"));
    let cwnd = v.flows.of("cwnd_mean");
    let without_data = 1.0 - v.cell("air_data");
    let mut facts = vec![];
    for (at, name) in v.stations.names.iter().enumerate() {
        let is_ap = (0..scenario.network.aps.len()).any(|ap| scenario.name_of(Node::Ap(ap)) == *name);
        let way = if is_ap { "down" } else { "up" };
        let flows: Vec<usize> = (0..cwnd.len())
            .filter(|flow| v.directions[*flow] == way && (is_ap || v.station(*flow).as_ref() == Some(name)))
            .collect();
        // Other traffic may be all that there is to send. ACKs of uploads are small packets of others.
        let controls: BTreeSet<&str> = flows.iter().filter_map(|flow| Some(v.tcp(*flow)?.cc.name())).collect();
        let all_want_more = flows.iter().all(|flow| v.persistent[*flow] && v.tcp(*flow).is_some());
        let one_way = v.directions.iter().all(|other| *other == way);
        let (Some(control), 1) = (controls.first(), controls.len()) else { continue };
        let each = mpdus[at] / ppdus[at];
        let in_flight = mean(flows.iter().map(|flow| cwnd[*flow]));
        if !(all_want_more && one_way && ppdus[at] >= FEWEST && errors[at] < 0.02 * attempts[at]) {
            continue;
        }
        if !(each <= SMALL && in_flight <= HELD * each && without_data >= 0.5) {
            continue;
        }
        let who = if flows.len() > 1 { format!("{} flows", flows.len()) } else { v.flows.names[flows[0]].clone() };
        let of_each = if flows.len() > 1 { " each" } else { "" };
        let text = format!(
            "A PPDU of {name} carries {} packets on average, because the congestion control of {who} ({control}) keeps only {} \
             segments in flight{of_each}: there is rarely more to put together, and data takes {} of the time on the air.",
            general(each),
            general(in_flight),
            percent(1.0 - without_data)
        );
        facts.push(
            Fact::new("aggregates", text)
                .at_most("mpdus_per_ppdu", each, SMALL)
                .at_most("cwnd_mean", in_flight, HELD * each)
                .at_least("air_without_data", without_data, 0.5)
                .about(flows.iter().map(|flow| v.flows.names[*flow].clone()))
                .advise(&["tcp.cc=cubic"]),
        );
    }
    facts
}
