//! What waits, where, and what keeps flows from sending more.

use wifair_config::Limit;
use wifair_metrics::bufferbloat_grade;
use wifair_queue::{Chosen, LinuxWifiParams, UpperQueue, WifiDriver};
use wifair_sim::scenario::{NetworkFlow, PathStep};

use super::shares::AT_BOUND;
use crate::fact::Fact;
use crate::view::{View, mean};
use crate::words::{counted, percent, some, time};

/// Round trips shorter than this are those of a capture at the receiver: they say nothing [s].
const NEAR_S: f64 = 1e-3;
/// Flows wait if their round trips take this many times as long as without load.
const MUCH: f64 = 2.0;
/// A receiver holds a flow back if its window is full for more than this part of the sending time.
const MOSTLY: f64 = 0.5;

/// Round trips of each flow: mean, and without load; NaN where either is not known.
fn round_trips(v: &View<'_>) -> (Vec<f64>, Vec<f64>) {
    if v.flows.has("rtt_path_mean_s") {
        // A capture: only round trips of the whole path say what waits in queues.
        return (v.flows.of("rtt_path_mean_s"), v.flows.of("rtt_idle_s"));
    }
    let (means, own) = (v.flows.of("rtt_mean_s"), v.flows.of("rtt_idle_s"));
    // A flow that starts when queues are full has never seen the idle path, but others of its station may have.
    let ends: Vec<_> = (0..own.len()).map(|flow| v.same_path(flow)).collect();
    let idle = (0..own.len())
        .map(|flow| {
            let same = (0..own.len())
                .filter(|other| !v.is_ping(*other) && ends[*other].is_some() && ends[*other] == ends[flow]);
            same.map(|other| own[other]).fold(own[flow], f64::min)
        })
        .collect();
    (means, idle)
}

/// The wired links of a flow's data: each with whether it is used from its second end to its first.
pub(super) fn links_of(flow: &NetworkFlow) -> impl Iterator<Item = (usize, bool)> {
    flow.path.iter().filter_map(|step| match step {
        PathStep::Wired { link, reverse } => Some((*link, *reverse)),
        PathStep::Air { .. } => None,
    })
}

/// Whether the receiver's application holds a flow of a capture back: it closes the window.
fn reads_slowly(v: &View<'_>) -> Vec<bool> {
    let (full, closed) = (v.flows.of("limited_by_receiver"), v.flows.of("zero_windows"));
    full.iter().zip(closed).map(|(share, zero)| *share > MOSTLY && zero > 0.0).collect()
}

/// How long packets waited.
pub(crate) fn waiting(v: &View<'_>) -> Vec<Fact> {
    let (means, idle) = round_trips(v);
    let slow = reads_slowly(v);
    let known: Vec<usize> = (0..means.len())
        .filter(|flow| !slow[*flow] && v.counts[*flow] && !means[*flow].is_nan() && !idle[*flow].is_nan())
        .collect();
    let (average, base) = (mean(known.iter().map(|flow| means[*flow])), mean(known.iter().map(|flow| idle[*flow])));
    if average.is_nan() || base.is_nan() || average < (MUCH * base).max(NEAR_S) {
        return vec![];
    }
    let queue = v.cell("ap_queue_mean_packets");
    let is_partial = v.flows.has("rtt_path_mean_s") && known.len() < means.len();
    let whose =
        if is_partial { format!(" of {}", some(&v.names(|flow| known.contains(&flow)))) } else { String::new() };
    let shortest = if v.flows.has("rtt_path_mean_s") { "the shortest seen" } else { "the shortest of the whole run" };
    let mut text = format!("Round trips{whose} take {} on average, {shortest} {}", time(average), time(base));
    let mut fact = Fact::new("waiting", String::new())
        .at_least("rtt_mean_s", average, MUCH * base)
        .figure("rtt_idle_s", base)
        .about(known.iter().map(|flow| v.flows.names[*flow].clone()));
    if queue > 1.0 {
        text += ": the rest is waiting in queues and for the channel";
        fact = fact.at_least("ap_queue_mean_packets", queue, 1.0);
    } else if queue.is_nan() {
        text += ": the rest is waiting on the way";
    } else {
        text += ": the rest is waiting for the channel, in queues of senders, or for delayed ACKs";
    }
    if let Some(grade) = bufferbloat_grade(average - base) {
        text += &format!(". Tests of bufferbloat would give this a grade of {grade}");
        fact = fact.figure("latency_increase_s", average - base);
    }
    fact.text = text + ".";
    if queue > 10.0 {
        fact = fact.advise(&["ap.queue.discipline=fq-codel", "ap.scheme.window=b-over-n"]);
    }
    vec![fact]
}

/// Flows of a capture whose receivers read slowly: their round trips say nothing of queues in the network.
pub(crate) fn slow_readers(v: &View<'_>) -> Vec<Fact> {
    let slow = reads_slowly(v);
    let shares = v.flows.of("limited_by_receiver");
    let (zero, means) = (v.flows.of("zero_windows"), v.flows.of("rtt_path_mean_s"));
    (0..slow.len())
        .filter(|flow| slow[*flow])
        .map(|flow| {
            let mut text = format!(
                "The receiver of {} reads more slowly than data could arrive: its window is full {} of the sending time, and it \
                 closes the window {}",
                v.flows.names[flow],
                percent(shares[flow]),
                crate::words::often(zero[flow])
            );
            if means[flow] > NEAR_S {
                text += &format!(
                    ". Round trips of {} on average then say how long the application takes, not how long queues in the network \
                     are",
                    time(means[flow])
                );
            }
            Fact::new("slow reader", text + ".")
                .at_least("limited_by_receiver", shares[flow], MOSTLY)
                .at_least("zero_windows", zero[flow], 1.0)
                .about([v.flows.names[flow].clone()])
        })
        .collect()
}

/// What kept flows from sending more.
pub(crate) fn limits(v: &View<'_>) -> Vec<Fact> {
    if v.flows.has("limited_by_receiver") {
        return limits_of_capture(v);
    }
    if !v.is_long_enough() {
        return vec![];
    }
    let cwnd = v.flows.of("cwnd_mean");
    let bound: Vec<f64> = (0..cwnd.len()).map(|flow| v.window(flow)).collect();
    let known: Vec<usize> = (0..cwnd.len())
        .filter(|flow| v.persistent[*flow] && bound[*flow].is_finite() && cwnd[*flow].is_finite())
        .collect();
    let used: Vec<f64> = known.iter().map(|flow| cwnd[*flow] / bound[*flow].floor().max(1.0)).collect();
    let held: Vec<usize> = (0..known.len()).filter(|at| used[*at] >= AT_BOUND).collect();
    if !held.is_empty() {
        let names = v.names(|flow| held.iter().any(|at| known[*at] == flow));
        let who =
            if names.len() > 1 && names.len() == v.flows.names.len() { "all flows".to_owned() } else { some(&names) };
        let windows =
            if names.len() > 1 { "their mean congestion windows are" } else { "its mean congestion window is" };
        let share = mean(held.iter().map(|at| used[*at].min(1.0)));
        let text = format!("The receive window (or `max_cwnd`) holds {who} back: {windows} {} of it.", percent(share));
        return vec![Fact::new("limits", text).at_least("cwnd_over_bound", share, AT_BOUND).about(names)];
    }
    let most = used.iter().copied().fold(f64::NAN, f64::max);
    if most < MOSTLY {
        let text = format!(
            "Congestion control, not the receive window, decides how much flows send: no mean congestion window is above {} of \
             the receive window.",
            percent(most)
        );
        return vec![Fact::new("limits", text).at_most("cwnd_over_bound", most, MOSTLY)];
    }
    vec![]
}

fn limits_of_capture(v: &View<'_>) -> Vec<Fact> {
    const EITHER: &str = "congestion or receive window (not to be told apart here)";
    const UNSEEN: &str = "not to be seen here";
    let (hidden, window) = (v.flows.of("window_hidden"), v.flows.of("limited_by_congestion"));
    let split = |is_hidden: bool| -> Vec<f64> {
        hidden.iter().zip(&window).map(|(flag, share)| if (*flag > 0.0) == is_hidden { *share } else { 0.0 }).collect()
    };
    let always_hidden = (0..hidden.len()).all(|flow| !v.counts[flow] || hidden[flow] > 0.0);
    let reasons = [
        ("application", v.flows.of("limited_by_application"), true),
        ("receive window", v.flows.of("limited_by_receiver"), true),
        ("congestion window", split(false), !always_hidden),
        (EITHER, split(true), false),
        (UNSEEN, v.flows.of("limited_by_unknown"), false),
    ];
    let mut fact = Fact::new("limits", String::new());
    let mut parts = vec![];
    for (name, shares, is_usual) in reasons {
        let share = mean((0..shares.len()).filter(|flow| v.counts[*flow]).map(|flow| shares[flow]));
        if !share.is_nan() && (share > 0.0 || is_usual) {
            parts.push(format!("{name} {}", percent(share)));
            fact = fact.figure(name, share);
        }
    }
    if parts.is_empty() {
        return vec![];
    }
    fact.text = format!("What keeps flows from sending, by time: {}.", parts.join(", "));
    vec![fact]
}

/// The queues of a Linux device, from top to bottom.
fn of_device(device: &LinuxWifiParams) -> String {
    let above = match device.upper {
        UpperQueue::Mac80211 => "mac80211's lines with CoDel for all stations and categories together",
        UpperQueue::Pfifo => "a FIFO for each category above the driver's queues",
        UpperQueue::FqCodel => "FQ-CoDel for each category above the driver's queues",
    };
    let next = if device.airtime_fairness && device.upper == UpperQueue::Mac80211 {
        "stations share the air time"
    } else {
        "stations take turns"
    };
    let driver = match device.driver {
        WifiDriver::Aql => {
            format!("the driver may hold {} to {} of air time for a station (AQL)", device.aql_low, device.aql_high)
        }
        WifiDriver::Aggregates => format!("the driver holds {} aggregates", device.driver_aggregates),
    };
    format!("{above}; {next}; {driver}")
}

/// The access point's queue: discipline, number of queues and limit.
pub(crate) fn queue(v: &View<'_>) -> Vec<Fact> {
    let Some(scenario) = v.scenario() else { return vec![] };
    let Some(wlan) = scenario.file.wlan.as_ref().filter(|_| !scenario.is_ad_hoc()) else { return vec![] };
    let ap = scenario.ap();
    let (stations, aps) = (scenario.network.stations.len(), scenario.network.aps.len());
    let whose = if aps > 1 { "Each access point has" } else { "The access point has" };
    let name = ap.queue.discipline.name();
    let categories = if wlan.standard.has_mcs() { " of each access category" } else { "" };
    let limit =
        &if scenario.has_queue_per_station() { scenario.ap_queue_each_of(stations).limit } else { ap.queue.limit };
    let mut fact = Fact::new("queue", String::new());
    let mut text = if let Chosen::LinuxWifi(device) = &ap.queue.discipline {
        fact = fact.figure("queues", 1.0);
        format!("{whose} the queues of a Linux device (linux-wifi): {}, limit {limit}", of_device(device))
    } else if scenario.has_queue_per_station() {
        fact = fact.figure("queues", stations as f64);
        let mut text =
            format!("{whose} a queue for each station{categories} ({name}), limit {limit} for each of {stations}");
        if let Limit::Packets(packets) = limit
            && stations > 1
        {
            text += &format!(", {} in all", counted((*packets * stations as u64) as f64, "packet"));
        }
        text
    } else {
        fact = fact.figure("queues", 1.0);
        let all = match stations {
            1 => "its station".to_owned(),
            2 => "both stations".to_owned(),
            _ => format!("all {stations} stations"),
        };
        format!("{whose} one queue{categories} ({name}) for {all}, limit {limit}")
    };
    if let Limit::Packets(packets) = limit {
        fact = fact.figure("limit_packets", *packets as f64);
    }
    let held = v.cell("ap_queue_mean_packets");
    if !held.is_nan() {
        text += &format!("; {held:.1} packets wait there on average");
        let full = v.cell("ap_queue_full_fraction");
        if full > 0.0 {
            text += &format!(", and it is full {} of the time", percent(full));
        }
        fact = fact.figure("ap_queue_mean_packets", held).figure("ap_queue_full_fraction", full);
    }
    fact.text = text + ".";
    vec![fact]
}
