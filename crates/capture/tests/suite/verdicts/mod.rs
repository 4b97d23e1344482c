//! Verdicts on captures, made by hand: `verdicts.txt` says what each direction is for, and who starves.

mod captures;
mod talking;

use crate::common::talk::{self, Wrap};
use crate::common::{self, names};
use wifair_capture::fairness::CapturedFlow;
use wifair_capture::{Analysis, AnalysisOptions, Field, FlowRole, analyze};

struct Verdict {
    name: &'static str,
    /// For each connection, what its first sender sends and what the other end sends.
    connections: Vec<[&'static str; 2]>,
    keep_alives: u64,
    vain: usize,
    jain: Option<f64>,
}

fn verdicts() -> Vec<Verdict> {
    let lines = include_str!("verdicts.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (about, judged) = line.split_once('|').expect("a verdict stands behind |");
            let name = about.split_whitespace().next().expect("a capture has a name");
            let mut verdict = Verdict { name, connections: Vec::new(), keep_alives: 0, vain: 0, jain: None };
            for part in judged.split(';').filter(|part| !part.trim().is_empty()) {
                match *part.split_whitespace().collect::<Vec<_>>() {
                    ["alive", count] => verdict.keep_alives = count.parse().expect("a number"),
                    ["vain", count] => verdict.vain = count.parse().expect("a number"),
                    ["jain", index] => verdict.jain = Some(index.parse().expect("a number")),
                    [a, b] => verdict.connections.push([a, b]),
                    _ => panic!("{name}: `{part}` is no verdict"),
                }
            }
            verdict
        })
        .collect()
}

/// A capture, or several of the same connections: at the client, halfway, and at the server.
fn files(name: &str) -> Vec<(String, Vec<u8>)> {
    if captures::made(name, 0).is_none() {
        let found = names().into_iter().find(|file| file.split('.').next() == Some(name));
        return vec![(name.to_owned(), common::capture(&found.unwrap_or_else(|| panic!("no capture {name}"))))];
    }
    // Far from a sender, full segments with pauses look like those of a slow network. From the middle on, it depends on
    // the point who is first.
    let points: &[u64] = if matches!(name, "exact_segments" | "bulk_middle") { &[0] } else { &[0, 50, 100] };
    let at = |point: &u64| {
        let steps = captures::made(name, *point).expect("it was made before");
        let file = talk::capture(&steps, Wrap::Ethernet, 1_700_000_000_000_000_000, 100);
        (format!("{name} at {point} %"), file)
    };
    points.iter().map(at).collect()
}

/// What is wrong with a flow that a verdict calls `judged`.
fn objection(judged: &str, flow: Option<&CapturedFlow>) -> Option<String> {
    let Some(flow) = flow else { return (judged != "-").then(|| "it sends nothing".to_owned()) };
    let role = flow.role;
    let is_fine = !flow.starved
        && match judged {
            "data" => flow.competes(),
            "paced" => role == FlowRole::Data && flow.application_limited && flow.modest,
            "quiet" => !flow.competes() && flow.modest,
            name => role.name() == name && flow.modest,
        };
    let is_starved = judged == "data!" && flow.starved && flow.competes();
    (!is_fine && !is_starved).then(|| {
        let limited = if flow.application_limited { ", limited by an application" } else { "" };
        format!("{}{limited}{}, {} bytes", role.name(), if flow.starved { ", starved" } else { "" }, flow.bytes)
    })
}

fn objections(verdict: &Verdict, analysis: &Analysis) -> Vec<String> {
    let fairness = analysis.fairness();
    let mut wrong = Vec::new();
    for (number, judged) in verdict.connections.iter().enumerate() {
        for side in [0, 1] {
            let flow = fairness.flows.iter().find(|flow| (flow.connection, flow.side) == (number, side));
            if let Some(why) = objection(judged[side], flow) {
                wrong.push(format!("connection {}, direction {side}: `{}`, but {why}", number + 1, judged[side]));
            }
        }
    }
    // A flood is judged as a whole.
    let judged = |flow: &&CapturedFlow| flow.connection >= verdict.connections.len();
    wrong.extend(fairness.flows.iter().filter(judged).map(|flow| format!("another flow: {flow:?}")));
    let counted = |name| {
        let sides = analysis.connections().flat_map(|connection| [0, 1].map(|side| connection.side_fields(side)));
        let fields = sides.flatten().filter(|(field, _)| *field == name);
        fields.map(|(_, value)| if let Field::Whole(count) = value { count } else { 0 }).sum::<u64>()
    };
    if verdict.keep_alives != counted("keep_alives") {
        wrong.push(format!("{} keep-alives", counted("keep_alives")));
    }
    if verdict.keep_alives > 0 && (counted("retransmissions"), counted("timeouts")) != (0, 0) {
        wrong.push("keep-alives are no retransmissions".to_owned());
    }
    if verdict.vain != fairness.attempts.len() {
        wrong.push(format!("{} attempts", fairness.attempts.len()));
    }
    if verdict.jain.is_some_and(|jain| fairness.jain.is_none_or(|index| (index - jain).abs() > 0.03)) {
        wrong.push(format!("Jain's index {:?}", fairness.jain));
    }
    wrong
}

#[test]
fn captures_are_judged_as_by_hand() {
    let verdicts = verdicts();
    assert!(verdicts.len() >= 60, "{}", verdicts.len());
    let mut wrong = Vec::new();
    for verdict in &verdicts {
        for (name, file) in files(verdict.name) {
            let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
            wrong.extend(objections(verdict, &analysis).into_iter().map(|why| format!("{name}: {why}")));
        }
    }
    assert!(wrong.is_empty(), "{} of {} captures:\n{}", wrong.len(), verdicts.len(), wrong.join("\n"));
}
