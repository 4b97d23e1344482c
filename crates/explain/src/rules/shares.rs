//! Who gets how much.

use wifair_sim::scenario::Node;

use crate::fact::Fact;
use crate::view::{FEWEST, STARVED, View, greatest, least, mean};
use crate::words::{counted, general, percent, rate, some, times};

/// Flows get about the same if the largest gets at most this many times what the smallest gets.
const SAME: f64 = 1.1;
/// A congestion window is at its bound if its mean is above this part of it.
pub(crate) const AT_BOUND: f64 = 0.9;
/// The access point sends more often than each station if it does so by this factor.
const MORE_OFTEN: f64 = 1.2;

/// What flows got.
pub(crate) fn shares(v: &View<'_>) -> Vec<Fact> {
    let goodput = v.flows.of("goodput_bps");
    let total = v.cell("goodput_bps");
    let names = &v.flows.names;
    let runs = if v.runs > 1 { format!(" (means of {} runs)", v.runs) } else { String::new() };
    let counts = |flow: usize| v.counts[flow];
    let seen: Vec<usize> = (0..names.len()).filter(|flow| counts(*flow)).collect();
    match seen[..] {
        [] if names.is_empty() || v.scenario().is_some() => return vec![],
        [] => {
            let text = format!(
                "No flow had more to send than it could: {} of requests, replies and messages carry {} together.",
                counted(names.len() as f64, "flow"),
                rate(total)
            );
            return vec![Fact::new("goodput", text).figure("goodput_bps", total)];
        }
        [flow] => {
            let text = format!("{} gets {}{runs}.", names[flow], rate(goodput[flow]));
            return vec![Fact::new("goodput", text).figure("goodput_bps", total).about([names[flow].clone()])];
        }
        _ => {}
    }
    let mut fact = Fact::new("goodput", String::new()).figure("goodput_bps", total);
    let mut text = format!("{} flows get {} together{runs}", seen.len(), rate(total));
    let sated: Vec<String> = v.names(|flow| v.sated[flow] && counts(flow));
    let hungry: Vec<usize> = seen.iter().copied().filter(|flow| !v.sated[*flow]).collect();
    match (sated.is_empty(), hungry.is_empty()) {
        (false, false) => {
            let gets = if sated.len() > 1 { "get what they ask" } else { "gets what it asks" };
            text += &format!(". {} {gets} for; ", some(&sated));
            fact = fact.about(sated.iter().cloned());
        }
        (_, true) => text += ", all that they ask for",
        (true, false) => text += ": ",
    }
    let amounts: Vec<f64> = hungry.iter().map(|flow| goodput[*flow]).collect();
    if let [flow] = hungry[..] {
        text += &format!("{} gets {}", names[flow], rate(goodput[flow]));
    } else if let (Some(most), Some(few)) = (greatest(&amounts), least(&amounts)) {
        let ratio = amounts[most] / amounts[few].max(1e-9);
        if ratio > SAME {
            let first = if sated.is_empty() {
                names[hungry[most]].clone()
            } else {
                format!("of the others, {} gets", names[hungry[most]])
            };
            text += &format!(
                "{first} most with {}, {} least with {}",
                rate(amounts[most]),
                names[hungry[few]],
                rate(amounts[few])
            );
        } else {
            text += if sated.is_empty() { "all get about the same" } else { "the others get about the same" };
            fact = fact.at_most("most_over_least", ratio, SAME);
        }
    }
    let jain = v.cell("jain_index");
    if !jain.is_nan() {
        let of_all = if !sated.is_empty() && !hungry.is_empty() { " of all" } else { "" };
        text += &format!(". Jain's index{of_all} is {jain:.3}");
    }
    fact.text = text + ".";
    vec![fact.figure("jain_index", jain)]
}

/// Starved flows, and those that had no more to send, or were there for a short time only.
pub(crate) fn starved(v: &View<'_>) -> Vec<Fact> {
    let flag = |name: &str| -> Vec<bool> { v.rows(name).iter().map(|value| *value > 0.0).collect() };
    let Some(names) = v.evidence.flows.texts("name") else { return vec![] };
    let starved = flag("starved");
    if starved.len() != names.len() || v.flows.names.len() < 2 {
        return vec![];
    }
    let chosen = |which: &dyn Fn(usize) -> bool| -> Vec<String> {
        let mut found: Vec<String> = vec![];
        for row in (0..names.len()).filter(|row| which(*row)) {
            if !found.contains(&names[row]) {
                found.push(names[row].clone());
            }
        }
        found
    };
    let fraction = starved.iter().filter(|one| **one).count() as f64 / starved.len() as f64;
    let mut facts = vec![];
    let hit = chosen(&|row| starved[row]);
    if !hit.is_empty() {
        let often = |name: &String| (0..names.len()).filter(|row| starved[*row] && names[*row] == *name).count();
        let mut counts: Vec<usize> = hit.iter().map(often).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts.dedup();
        let parts: Vec<String> = counts
            .iter()
            .map(|count| {
                let these: Vec<String> = hit.iter().filter(|name| often(name) == *count).cloned().collect();
                if v.runs > 1 { format!("{} in {count} of {} runs", some(&these), v.runs) } else { some(&these) }
            })
            .collect();
        let mut text = format!("Less than a tenth of an equal share goes to {}.", parts.join(", "));
        let unsure = flag("unsure");
        let doubtful = chosen(&|row| starved[row] && unsure.get(row) == Some(&true));
        if !doubtful.is_empty() {
            text += &format!(
                " The capture does not show whether {} had more to send: it is taken to be so.",
                some(&doubtful)
            );
        }
        facts.push(Fact::new("starved", text).figure("starved_fraction", fraction).about(hit));
    }
    let near = flag("near_threshold");
    let close = chosen(&|row| near.get(row) == Some(&true));
    if !close.is_empty() {
        let (are, they) = if close.len() > 1 { ("are", "they starve") } else { ("is", "it starves") };
        let text = format!(
            "{} {are} close to a tenth of an equal share: captures taken elsewhere may differ on whether {they}.",
            some(&close)
        );
        facts.push(Fact::new("close", text).figure("near_threshold", close.len() as f64).about(close));
    }
    let done = flag("had_no_more");
    if done.len() != names.len() {
        return facts;
    }
    let goodput = v.rows("goodput_bps");
    let (competes, roles) = (flag("competes"), v.evidence.flows.texts("role").unwrap_or_default());
    let average = mean((0..goodput.len()).filter(|row| competes.get(*row) == Some(&true)).map(|row| goodput[row]));
    let is_data = |row: usize| roles.get(row).is_none_or(|role| role == "data");
    let little = |row: usize| goodput[row] < STARVED * average && !starved[row] && is_data(row);
    for (which, why) in [(true, "had no more to send"), (false, "not for the time that they were there")] {
        let modest = chosen(&|row| little(row) && done[row] == which);
        if modest.is_empty() {
            continue;
        }
        let (gets, why) =
            if modest.len() > 1 { ("get", why.to_owned()) } else { ("gets", why.replace("they were", "it was")) };
        let text = format!("{} {gets} less than a tenth of the mean, but {why}.", some(&modest));
        facts.push(Fact::new("modest", text).figure("starved_fraction", fraction).about(modest));
    }
    facts
}

/// Flows that start well after the warm-up: their rates are means over a time in which they were absent.
pub(crate) fn late(v: &View<'_>) -> Vec<Fact> {
    let Some(scenario) = v.scenario() else { return vec![] };
    let (begin, end) = (scenario.file.warm_up.nearest_secs(), scenario.file.duration.nearest_secs());
    let start = |flow: usize| v.group(flow).map_or(f64::NAN, |group| group.start.nearest_secs());
    let which: Vec<usize> = (0..v.flows.names.len()).filter(|flow| v.is_late(*flow)).collect();
    let Some(first) = which.iter().map(|flow| start(*flow)).reduce(f64::min) else { return vec![] };
    let goodput = v.flows.of("goodput_bps");
    let whole = mean(which.iter().map(|flow| goodput[*flow]));
    let since = mean(which.iter().map(|flow| goodput[*flow] * (end - begin) / (end - start(*flow))));
    let names = v.names(|flow| which.contains(&flow));
    let (do_not, gets, each) =
        if names.len() > 1 { ("do", "They get", " each on average") } else { ("does", "It gets", "") };
    let text = format!(
        "{} {do_not} not start before {} s. {gets} {}{each} from then on; {}, like all other figures of flows, is over the \
         whole time from {} s to {} s.",
        some(&names),
        general(first),
        rate(since),
        rate(whole),
        general(begin),
        general(end)
    );
    vec![Fact::new("late", text).at_most("goodput_bps", whole, since).figure("from_start_bps", since).about(names)]
}

/// Uplink and downlink flows that always had something to send.
pub(crate) fn directions(v: &View<'_>) -> Vec<Fact> {
    if !v.is_long_enough() {
        return vec![];
    }
    let goodput = v.flows.of("goodput_bps");
    let of = |way: &str| -> Vec<usize> {
        (0..goodput.len()).filter(|flow| v.directions[*flow] == way && v.persistent[*flow]).collect()
    };
    let (up, down) = (of("up"), of("down"));
    let amounts = |flows: &[usize]| -> Vec<f64> { flows.iter().map(|flow| goodput[*flow]).collect() };
    let (up_bps, down_bps) = (mean(amounts(&up)), mean(amounts(&down)));
    let packets = v.flows.of("data_packets_sent");
    let busiest = |flows: &[usize]| flows.iter().map(|flow| packets[*flow]).fold(0.0, f64::max);
    if up.is_empty()
        || down.is_empty()
        || down_bps.is_nan()
        || down_bps <= 0.0
        || busiest(&up).max(busiest(&down)) < FEWEST
    {
        return vec![];
    }
    let ratio = up_bps / down_bps;
    let mut text = format!("An uplink flow gets {} on average, a downlink flow {}", rate(up_bps), rate(down_bps));
    let mut fact = Fact::new("up, down", String::new())
        .figure("up_bps", amounts(&up).iter().sum())
        .figure("down_bps", amounts(&down).iter().sum());
    if ratio < SAME && 1.0 / ratio < SAME {
        let all = [amounts(&up), amounts(&down)].concat();
        let jain = wifair_metrics::jain_index(&all);
        text += ": about the same";
        if jain < 0.9 {
            text += &format!(", but flows of one direction differ: Jain's index of these flows is {jain:.3}");
        }
        fact = fact.at_least("per_flow_ratio", ratio, 1.0 / SAME).at_most("per_flow_ratio", ratio, SAME);
        fact.text = text + "." + &equal_windows(v, &[&up[..], &down[..]].concat());
        return vec![fact];
    }
    let (more, factor) = if ratio > 1.0 { ("less", ratio) } else { ("more", 1.0 / ratio) };
    text += &if factor.is_finite() { format!(", {} times {more}.", times(factor)) } else { ".".to_owned() };
    fact = fact.figure("per_flow_ratio", ratio).at_least("times", factor, SAME);
    let marks = |flows: &[usize]| {
        let mut marks: Vec<_> = flows
            .iter()
            .filter_map(|flow| v.group(*flow))
            .map(|group| (group.category, format!("{:?}", group.dscp)))
            .collect();
        marks.sort();
        marks.dedup();
        marks
    };
    if marks(&up) != marks(&down) {
        fact.text = text + " They differ in `category` or `dscp`, and so in priority: not the direction alone decides.";
        return vec![fact];
    }
    if ratio > 1.0
        && let Some(ap) = only_access_point(v)
    {
        let (delivered, attempts) = (v.stations.of("delivered"), v.stations.of("attempts"));
        let share = delivered[ap] / delivered.iter().sum::<f64>();
        let others = (0..attempts.len()).filter(|at| *at != ap).map(|at| attempts[at]).fold(0.0, f64::max);
        let odds = attempts[ap] / others;
        text += &format!(" The access point delivers {} of all frames", percent(share));
        if odds > MORE_OFTEN {
            text += ", and";
        } else {
            text += ": it gets the air no more often than each station, and";
            fact = fact.at_most("access_point_attempts_over_most_of_a_station", odds, MORE_OFTEN);
        }
        text += " all downloads and the ACKs of all uploads have to share that.";
        fact = fact.figure("access_point_frames", share).advise(&[
            "ap.queue.discipline=las",
            "ap.queue.discipline=fq-codel",
            "ap.scheme.window=b-over-n",
            "ap.scheme.window=wmax-over-n",
        ]);
    }
    fact.text = text;
    vec![fact]
}

/// The row of the access point, if there is one.
fn only_access_point(v: &View<'_>) -> Option<usize> {
    let scenario = v.scenario()?;
    if scenario.is_ad_hoc() || scenario.network.aps.len() != 1 || !v.stations.has("delivered") {
        return None;
    }
    v.stations.place(&scenario.name_of(Node::Ap(0)))
}

/// Why both directions get the same where receive windows decide, and nothing is dropped at the access point.
fn equal_windows(v: &View<'_>, flows: &[usize]) -> String {
    let (cwnd, rtt) = (v.flows.of("cwnd_mean"), v.flows.of("rtt_mean_s"));
    let lost = v.cell("ap_drops_data") + v.cell("ap_drops_ack") + v.cell("ap_queue_full_fraction");
    let window = v.window(flows[0]);
    let are_equal = flows.iter().all(|flow| v.window(*flow) == window && cwnd[*flow] >= AT_BOUND * window);
    let times: Vec<f64> = flows.iter().map(|flow| rtt[*flow]).collect();
    let (Some(longest), Some(shortest)) = (greatest(&times), least(&times)) else { return String::new() };
    if only_access_point(v).is_none() || lost != 0.0 || !are_equal || times[longest] > 1.25 * times[shortest] {
        return String::new();
    }
    format!(
        " The access point's queue is never full and drops nothing, and each flow has its whole window of {} segments in \
         flight: equal windows and round trips give equal rates.",
        general(window.floor())
    )
}
