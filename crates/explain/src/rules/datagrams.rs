//! Datagrams as calls and in bulk, sessions, echoes, and connections that were not made.

use wifair_sim::scenario::Workload;

use crate::fact::Fact;
use crate::table::FigureTable;
use crate::view::{View, least, mean, ranked_above};
use crate::words::{FEW, counted, general, often, percent, rate, some, time};

/// Below this R-factor many users are dissatisfied (ITU-T G.109).
const SATISFIED: f64 = 70.0;
/// Rates of calls, whose rating is that of G.711 at 64 kb/s [bit/s]. Whatever sends more is no call.
const CALLS: std::ops::RangeInclusive<f64> = 8e3..=128e3;
/// The fewest datagrams in a second of a call: one every 100 ms.
const CALL_RATE: f64 = 10.0;
/// Datagrams that lose more than this part are told.
const LOST: f64 = 0.02;

/// How calls would sound, where that is not good.
pub(crate) fn calls(v: &View<'_>) -> Vec<Fact> {
    let (asked, packets) = (v.flows.of("asked_bps"), v.flows.of("data_packets_sent"));
    let is_call = |flow: usize| {
        v.datagrams[flow] && CALLS.contains(&asked[flow]) && packets[flow] >= CALL_RATE * v.measured_s.max(1.0)
    };
    let mut fact = rated(
        &v.flows.of("r_factor"),
        &v.flows.of("mos"),
        &v.flows.of("loss_fraction"),
        &v.flows.of("owd_p99_s"),
        &v.flows.names,
        &is_call,
    );
    // Another discipline helps where packets wait at the access point.
    if v.cell("ap_queue_mean_packets") > 1.0 {
        fact = fact.map(|fact| fact.advise(&["ap.queue.discipline=fq-codel"]));
    }
    fact.into_iter().collect()
}

/// Says why the worst call sounds bad, and how many more do.
fn rated(
    ratings: &[f64],
    mos: &[f64],
    lost: &[f64],
    late: &[f64],
    names: &[String],
    is_call: &dyn Fn(usize) -> bool,
) -> Option<Fact> {
    let calls: Vec<usize> = (0..names.len()).filter(|at| is_call(*at)).collect();
    let bad: Vec<usize> = calls.iter().copied().filter(|at| ratings[*at] < SATISFIED).collect();
    let of: Vec<f64> = bad.iter().map(|at| ratings[*at]).collect();
    let worst = bad[least(&of)?];
    let mut text = format!(
        "As a call, {} would sound bad: a mean opinion score of {:.1} (R-factor {:.0}), for {} of its datagrams are lost and one in a \
         hundred takes {} or more",
        names[worst],
        mos[worst],
        ratings[worst],
        percent(lost[worst]),
        time(late[worst])
    );
    if bad.len() > 1 {
        let has = if bad.len() == 2 { "has" } else { "have" };
        text += &format!("; {} {has} an R-factor below {SATISFIED}", counted((bad.len() - 1) as f64, "more call"));
    }
    let fact = Fact::new("calls", text + ".")
        .figure("mos", mos[worst])
        .at_most("r_factor", ratings[worst], SATISFIED)
        .figure("loss_fraction", lost[worst])
        .figure("owd_p99_s", late[worst]);
    Some(fact.about(bad.iter().map(|at| names[*at].clone())))
}

/// Datagrams that ask for more than they get.
pub(crate) fn overloads(v: &View<'_>) -> Vec<Fact> {
    let (asked, got, lost) = (v.flows.of("asked_bps"), v.flows.of("goodput_bps"), v.flows.of("loss_fraction"));
    let over: Vec<f64> = (0..asked.len())
        .map(|flow| {
            if v.datagrams[flow] && asked[flow] > *CALLS.end() && asked[flow].is_finite() {
                lost[flow]
            } else {
                f64::NAN
            }
        })
        .collect();
    let many = ranked_above(&over, LOST);
    if many.is_empty() {
        return vec![];
    }
    let parts: Vec<String> = many
        .iter()
        .take(FEW)
        .map(|flow| {
            format!(
                "{} sends {}, gets {} and loses {}",
                v.flows.names[*flow],
                rate(asked[*flow]),
                rate(got[*flow]),
                percent(lost[*flow])
            )
        })
        .collect();
    let more =
        if many.len() > FEW { format!("; {}", counted((many.len() - FEW) as f64, "more flow")) } else { String::new() };
    let text = format!("Datagrams do not slow down when they are lost: {}{more}.", parts.join("; "));
    let least_lost = many.iter().map(|flow| lost[*flow]).fold(f64::INFINITY, f64::min);
    let fact = Fact::new("datagrams", text).at_least("least_loss_fraction", least_lost, LOST);
    vec![fact.about(many.iter().map(|flow| v.flows.names[*flow].clone()))]
}

/// How fair the times of sessions of TCP were.
pub(crate) fn sessions(v: &View<'_>) -> Vec<Fact> {
    let index = v.cell("instantaneous_fairness");
    let (done, late) = (v.cell("sessions_finished"), v.cell("sessions_unfinished"));
    if index.is_nan() || done + late <= 0.0 {
        return vec![];
    }
    // The index is about how long a transfer takes; datagrams in a rhythm, and echoes, take as long as they last.
    let has_sessions = |flow: usize| v.group(flow).is_none_or(|group| !matches!(group.workload, Workload::Persistent));
    let others = (0..v.flows.names.len()).any(|flow| has_sessions(flow) && (v.datagrams[flow] || v.is_ping(flow)));
    if others || is_a_call(v) {
        return vec![];
    }
    let finished = counted(done, "transmission session");
    let finish = if finished.ends_with('s') { "finish" } else { "finishes" };
    let unfinished = general(late);
    let does = if unfinished == "1" { "does" } else { "do" };
    let mut text = format!(
        "{finished} {finish}{}, {unfinished} {does} not. Their instantaneous fairness is {index:.3}: 1 is a session that takes no \
         longer than with an equal share of the capacity.",
        v.each_run()
    );
    let points = v.flows.text("rtt_point");
    if points.iter().any(|point| !point.is_empty() && *point != "sender") {
        text += " Away from the sender, a wait for a retransmission timer looks like a pause between sessions.";
    }
    let fact = Fact::new("sessions", text).figure("instantaneous_fairness", index).figure("sessions_unfinished", late);
    vec![fact.figure("sessions_finished", done)]
}

/// Whether all sessions are small and regular enough to be one call's packets.
fn is_a_call(v: &View<'_>) -> bool {
    const SHORT: u64 = 1000;
    const OFTEN_S: f64 = 0.1;
    let is_packet = |workload: &Workload| match workload {
        Workload::Periodic(periodic) => periodic.length.0 < SHORT && periodic.period.nearest_secs() <= OFTEN_S,
        _ => false,
    };
    let all = (0..v.flows.names.len()).filter_map(|flow| v.group(flow)).map(|group| &group.workload);
    let mut sessions = all.filter(|workload| **workload != Workload::Persistent).peekable();
    sessions.peek().is_some() && sessions.all(is_packet)
}

/// The connections of a capture that never carried data.
pub(crate) fn attempts(v: &View<'_>) -> Vec<Fact> {
    let table = &v.evidence.attempts;
    let (Some(names), Some(syns), Some(answers)) =
        (table.texts("name"), table.numbers("syns"), table.numbers("answers"))
    else {
        return vec![];
    };
    let mut facts = vec![];
    for is_answered in [true, false] {
        let rows: Vec<usize> = (0..names.len()).filter(|row| (answers[*row] > 0.0) == is_answered).collect();
        if rows.is_empty() {
            continue;
        }
        let these: Vec<String> = rows.iter().map(|row| names[*row].clone()).collect();
        let sum = |values: &[f64]| rows.iter().map(|row| values[*row]).sum::<f64>();
        let mut text = format!("{} never carried data, after {}", some(&these), counted(sum(syns), "SYN"));
        text += &if is_answered {
            format!(" and {}, of which none got through: starved.", counted(sum(answers), "answer"))
        } else {
            " without an answer here: answers were lost on their way to this point, or nobody was there to answer."
                .to_owned()
        };
        facts.push(Fact::new("never began", text).figure("connections", rows.len() as f64).about(these));
    }
    facts
}

/// The flows of datagrams in a capture.
pub(crate) fn flows_of_datagrams(v: &View<'_>) -> Vec<Fact> {
    let table = &v.evidence.datagrams;
    let (Some(from), Some(to), Some(kind)) = (table.texts("from"), table.texts("to"), table.texts("kind")) else {
        return vec![];
    };
    let number = |table: &FigureTable, name: &str| {
        table.numbers(name).map(<[f64]>::to_vec).unwrap_or_else(|| vec![f64::NAN; from.len()])
    };
    let (bytes, rates, lost) = (number(table, "bytes"), number(table, "rate_bps"), number(table, "loss_fraction"));
    if from.is_empty() {
        return vec![];
    }
    let mut order: Vec<usize> = (0..from.len()).collect();
    order.sort_by(|a, b| bytes[*b].total_cmp(&bytes[*a]));
    let part = |row: &usize| {
        let loss = if lost[*row] > 0.0 { format!(", of which {} lost", percent(lost[*row])) } else { String::new() };
        format!("{} > {} ({}) {}{loss}", from[*row], to[*row], kind[*row], rate(rates[*row]))
    };
    let parts: Vec<String> = order.iter().take(FEW).map(part).collect();
    let more = if order.len() > FEW {
        format!("; {}", counted((order.len() - FEW) as f64, "smaller one"))
    } else {
        String::new()
    };
    let carry = if order.len() == 1 { "carries" } else { "carry" };
    let mut text = format!("{} of datagrams {carry}: {}{more}.", counted(order.len() as f64, "flow"), parts.join("; "));
    if lost.iter().all(|share| share.is_nan()) {
        text += " They have no numbers that are known here, so losses cannot be told.";
    }
    let fact = Fact::new("datagrams", text).figure("flows", order.len() as f64).figure("bytes", bytes.iter().sum());
    let names: Vec<String> = from.iter().zip(to).map(|(from, to)| format!("{from} > {to}")).collect();
    let (packets, seconds) = (number(table, "packets"), number(table, "duration_s"));
    let is_call = |row: usize| CALLS.contains(&rates[row]) && packets[row] >= CALL_RATE * seconds[row].max(1.0);
    let ratings = [number(table, "r_factor"), number(table, "mos"), number(table, "owd_p99_s")];
    let call = rated(&ratings[0], &ratings[1], &lost, &ratings[2], &names, &is_call);
    [Some(fact.about(names.clone())), call].into_iter().flatten().collect()
}

/// The echoes in a capture.
pub(crate) fn echoes(v: &View<'_>) -> Vec<Fact> {
    let table = &v.evidence.echoes;
    let (Some(from), Some(to)) = (table.texts("from"), table.texts("to")) else { return vec![] };
    if from.is_empty() {
        return vec![];
    }
    let number = |name: &str| table.numbers(name).map(<[f64]>::to_vec).unwrap_or_else(|| vec![f64::NAN; from.len()]);
    let (lost, means, requests) = (number("loss_fraction"), number("rtt_mean_s"), number("requests"));
    let parts: Vec<String> = (0..from.len().min(FEW))
        .map(|row| {
            let mut part = format!("{} asks {} {}", from[row], to[row], often(requests[row]));
            if lost[row] > 0.0 {
                part += &format!(", {} without a reply", percent(lost[row]));
            }
            if !means[row].is_nan() {
                part += &format!(", and waits {} on average", time(means[row]));
            }
            part
        })
        .collect();
    let more =
        if from.len() > FEW { format!("; {}", counted((from.len() - FEW) as f64, "more pair")) } else { String::new() };
    let text = format!("Echoes (ping): {}{more}.", parts.join("; "));
    vec![Fact::new("echoes", text).figure("rtt_mean_s", mean(means))]
}
