//! What is lost, and whose timers expire.

use wifair_sim::scenario::Node;

use crate::fact::Fact;
use crate::view::{FEWEST, View, greatest, mean, ranked_above};
use crate::words::{FEW, counted, general, listed, often, percent, rate};

/// Dropped ACKs of stations are told from this part of the data packets on.
const MANY_ACKS: f64 = 0.05;
/// What is smaller is so by this factor.
const SMALLER: f64 = 0.8;

/// What ACKs dropped at the access point mean.
pub(crate) fn dropped_acks(v: &View<'_>) -> Vec<Fact> {
    let dropped = v.cell("ap_drops_ack");
    if dropped.is_nan() || dropped <= 0.0 {
        return vec![];
    }
    let full = v.cell("ap_queue_full_fraction");
    let each = v.each_run();
    let mut fact = Fact::new("lost ACKs", String::new()).figure("ap_drops_ack", dropped);
    let (overflow, early) = queue_drops(v);
    let mut text = format!("The access point drops {}{each}", counted(dropped, "TCP ACK"));
    if early > 9.0 * overflow {
        text += ": its queue discipline drops packets before the queue is full";
        fact = fact.figure("queue_drops_early", early).figure("queue_drops_overflow", overflow);
    } else if full > 0.0 {
        text += &format!(": its queue is full {} of the time", percent(full));
        fact = fact.figure("ap_queue_full_fraction", full);
    }
    // In each run, because a flow may have timeouts in some only; flows of datagrams have no window.
    let (windows, expired) = (v.rows("cwnd_mean"), v.rows("timeouts"));
    let acks = v.rows("ack_drops_ap_queue");
    let known: Vec<usize> = (0..windows.len()).filter(|row| windows[*row].is_finite()).collect();
    let of = |hit: bool| -> Vec<usize> { known.iter().copied().filter(|row| (expired[*row] > 0.0) == hit).collect() };
    let (hit, spared) = (of(true), of(false));
    let average = |rows: &[usize]| mean(rows.iter().map(|row| windows[*row]));
    let (small, large) = (average(&hit), average(&spared));
    let spared_lose_acks = spared.iter().any(|row| acks.get(*row).is_some_and(|count| *count > 0.0));
    if !hit.is_empty() && spared_lose_acks && small < SMALLER * large {
        text += &format!(
            ". ACKs are cumulative, so a sender with a large window hardly notices; one with a small window may lose all of \
             them and waits for its timer: the mean window is {} segments where timers expired, {} where none did",
            general(small),
            general(large)
        );
        fact = fact.at_most("cwnd_with_timeouts", small, SMALLER * large).figure("cwnd_without", large);
    } else if hit.is_empty() {
        text += ". ACKs are cumulative: no timer expires because of it";
        fact = fact.at_most("timeouts", expired.iter().sum(), 0.0);
    }
    fact.text = text + ".";
    vec![fact.advise(&[
        "ap.queue.discipline=las",
        "ap.queue.discipline=fq-codel",
        "ap.queue.discipline=dual",
        "ap.scheme.window=b-over-n",
    ])]
}

/// What the queues of the access points dropped: because they were full, and before.
fn queue_drops(v: &View<'_>) -> (f64, f64) {
    let Some(scenario) = v.scenario() else { return (f64::NAN, f64::NAN) };
    let names: Vec<String> = (0..scenario.network.aps.len()).map(|ap| scenario.name_of(Node::Ap(ap))).collect();
    let sum = |column: &str| {
        let values = v.stations.of(column);
        names.iter().filter_map(|name| v.stations.place(name)).map(|at| values[at]).sum()
    };
    (sum("queue_drops_overflow"), sum("queue_drops_early"))
}

/// ACKs of downloads; a few may be lost wherever a queue overflows.
pub(crate) fn acks_dropped_at_stations(v: &View<'_>) -> Vec<Fact> {
    let (dropped, sent) = (v.flows.of("ack_drops_station_queue"), v.flows.of("data_packets_sent"));
    let shares: Vec<f64> = dropped.iter().zip(&sent).map(|(lost, all)| lost / all).collect();
    let mut many = ranked_above(&shares, MANY_ACKS);
    many.retain(|flow| sent[*flow] >= FEWEST);
    many.sort_by(|a, b| dropped[*b].total_cmp(&dropped[*a]));
    if many.is_empty() {
        return vec![];
    }
    let parts: Vec<String> =
        many.iter().take(FEW).map(|flow| format!("{} of {}", general(dropped[*flow]), v.flows.names[*flow])).collect();
    let more = if many.len() > FEW {
        format!(", and of {}", counted((many.len() - FEW) as f64, "more flow"))
    } else {
        String::new()
    };
    let mut text = format!("TCP ACKs dropped in stations' queues{}: {}{more}", v.each_run(), parts.join(", "));
    let sum = |column: &str| v.stations.of(column).iter().sum::<f64>();
    let each = sum("mpdus") / sum("ppdus");
    let mut fact =
        Fact::new("lost ACKs", String::new()).figure("ack_drops_station_queue", dropped.iter().sum()).at_least(
            "least_dropped_over_sent",
            many.iter().map(|flow| shares[*flow]).fold(f64::INFINITY, f64::min),
            MANY_ACKS,
        );
    if each > 2.0 {
        text += ". What arrives in one aggregate is acknowledged at once, with more packets than these queues hold";
        fact = fact.at_least("mpdus_per_ppdu", each, 2.0);
    }
    let mut groups: Vec<String> = many
        .iter()
        .filter_map(|flow| {
            let (from, to) = v.ends(*flow)?;
            let node = [from, to].into_iter().find(|node| matches!(node, Node::Station(_)))?;
            Some(format!("stations.{}.queue.limit=1000 packets", v.scenario()?.group_of(node)?.name))
        })
        .collect();
    groups.sort();
    groups.dedup();
    fact.advice = groups;
    fact.text = text + ".";
    vec![fact.about(many.iter().map(|flow| v.flows.names[*flow].clone()))]
}

const PLACES: [(&str, &str); 8] = [
    ("data_drops_ap_queue", "in the access point's queue"),
    ("data_drops_station_queue", "in stations' queues"),
    ("data_drops_link_queue", "in queues of wired links"),
    ("data_drops_retry_limit", "at the MAC's retry limit"),
    ("data_drops_ap_scheme", "by a scheme of the access point"),
    ("data_drops_no_route", "without a route to their destination"),
    ("data_drops_lifetime", "by the MAC, as their lifetime was over"),
    ("data_drops_late", "by receivers that had stopped waiting for them"),
];

/// Where data packets were lost.
pub(crate) fn dropped_data(v: &View<'_>) -> Vec<Fact> {
    let mut found: Vec<(&str, &str, Vec<f64>, f64)> = PLACES
        .iter()
        .map(|(column, place)| {
            let lost = v.flows.of(column);
            let sum = lost.iter().filter(|count| !count.is_nan()).sum();
            (*column, *place, lost, sum)
        })
        .filter(|(.., sum)| *sum > 0.0)
        .collect();
    found.sort_by(|a, b| b.3.total_cmp(&a.3));
    let Some((_, _, worst, _)) = found.first() else { return vec![] };
    let parts: Vec<String> = found.iter().map(|(_, place, _, sum)| format!("{} {place}", general(*sum))).collect();
    let mut text = format!("Lost data packets{}: {}.", v.each_run(), listed(&parts));
    if worst.len() > 1
        && let Some(most) = greatest(worst)
        && worst[most] > 2.0 * mean(worst.iter().copied()).max(1.0)
    {
        let there = if found.len() > 1 { format!(" {}", found[0].1) } else { String::new() };
        text += &format!(" {} loses most{there}, {}.", v.flows.names[most], general(worst[most]));
    }
    let mut fact = Fact::new("lost data", text);
    for (column, _, _, sum) in found {
        fact = fact.figure(column, sum);
    }
    vec![fact]
}

/// Whose retransmission timers expired.
pub(crate) fn timeouts(v: &View<'_>) -> Vec<Fact> {
    let expired = v.flows.of("timeouts");
    let order = ranked_above(&expired, 0.0);
    let total: f64 = order.iter().map(|flow| expired[*flow]).sum();
    if order.is_empty() {
        return vec![];
    }
    let parts: Vec<String> =
        order.iter().take(FEW).map(|flow| format!("{} {}", v.flows.names[*flow], general(expired[*flow]))).collect();
    let more = if order.len() > FEW {
        format!(", and {}", counted((order.len() - FEW) as f64, "more flow"))
    } else {
        String::new()
    };
    let mut text =
        format!("Retransmission timers expire {}{}: {}{more}.", often(total), v.each_run(), parts.join(", "));
    let mut fact = Fact::new("timeouts", String::new()).figure("timeouts", total);
    let (rows, goodput) = (v.rows("timeouts"), v.rows("goodput_bps"));
    let persistent: Vec<String> = v.names(|flow| v.persistent[flow] && !v.datagrams[flow]);
    let row_names = v.evidence.flows.texts("name").unwrap_or_default();
    let of = |hit: bool| {
        mean(
            (0..rows.len())
                .filter(|row| {
                    !rows[*row].is_nan() && (rows[*row] > 0.0) == hit && persistent.contains(&row_names[*row])
                })
                .map(|row| goodput[row]),
        )
    };
    let (hit, spared) = (of(true), of(false));
    if spared > 1.1 * hit {
        text += &if v.runs == 1 {
            format!(" Flows with timeouts get {} on average, those without {}.", rate(hit), rate(spared))
        } else {
            format!(
                " A flow gets {} on average in runs in which it has timeouts, {} in the others.",
                rate(hit),
                rate(spared)
            )
        };
        fact = fact.figure("goodput_with_timeouts_bps", hit).at_least("goodput_without_bps", spared, 1.1 * hit);
    }
    fact.text = text;
    vec![fact.about(order.iter().map(|flow| v.flows.names[*flow].clone()))]
}
