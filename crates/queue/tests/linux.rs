//! Linux's queue disciplines, packet by packet: arrivals that a kernel had are replayed, and what became of each packet
//! is compared.
//!
//! `tests/data/linux-queues` has some cases, and says where they come from; `WIFAIR_LINUX_QUEUES=FOLDER` names a folder
//! with more.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use wifair_packet::FlowLabel;
use wifair_queue::replay::{PacketFate, RecordedArrival, ReplayLink, replay, tc};
use wifair_queue::{Chosen, CodelArithmetic, Queue};
use wifair_units::{BitRate, Time};

/// A table: its rows by column name.
fn rows(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    lines.map(|line| names.iter().copied().zip(line.split(',')).collect()).collect()
}

fn read(path: &Path) -> String {
    let mut text = String::new();
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(file).read_to_string(&mut text).expect("a table");
    } else {
        let mut file = file;
        file.read_to_string(&mut text).expect("a table");
    }
    text
}

struct Case {
    name: String,
    qdisc: String,
    compare: String,
    link: Option<u64>,
    /// Packets that may have another fate or leave more than 20 us apart: as many as differed between two runs of the
    /// kernel, or between it and the independent model that comes with the recordings.
    may_differ: (usize, usize),
    arrivals: Vec<RecordedArrival>,
    fates: Vec<PacketFate>,
    labels: Vec<FlowLabel>,
    /// When DualPI2 changed its probability.
    updates: Vec<Time>,
}

fn number(cell: &str) -> Option<u64> {
    cell.parse().ok()
}

fn cases(folder: &Path) -> Vec<Case> {
    let (table, flows) = (read(&folder.join("cases.csv")), read(&folder.join("flows.csv")));
    let flows = rows(&flows);
    let cases = rows(&table);
    let load = |row: &BTreeMap<&str, &str>| {
        let name = row["case"];
        let path = folder.join(format!("packets/{name}.csv.gz"));
        if !path.exists() {
            return None;
        }
        let mut labels: Vec<FlowLabel> = vec![];
        for flow in flows.iter().filter(|flow| flow["case"] == name) {
            let number = |column: &str| number(flow[column]).unwrap_or(0);
            let hosts = (number("src") as u32, number("dst") as u32);
            labels.push(FlowLabel { hosts, pacing: number("pace_bytes_s"), ..FlowLabel::default() });
        }
        let (mut arrivals, mut fates, mut acks) = (vec![], vec![], 0);
        for packet in rows(&read(&path)) {
            let get = |column: &str| number(packet[column]);
            let bytes = get("bytes").expect("a length") as u16;
            let is_ack = row["qdisc"].contains("ack-filter") && bytes == 66;
            acks += u64::from(is_ack) * 2896;
            arrivals.push(RecordedArrival {
                at: Time::from_nanos(get("arrive_ns").expect("a time")),
                flow: get("flow").expect("a flow") as u32,
                bytes,
                tos: get("tos").expect("a TOS byte") as u8,
                ack: is_ack.then_some(acks),
            });
            fates.push(PacketFate { depart: get("depart_ns").map(Time::from_nanos), marked: packet["marked"] == "1" });
        }
        let most = |what: &str| {
            let of = |kind: &str| number(row[&*format!("{kind}_{what}")]).unwrap_or(0) as usize;
            of("repeat").max(of("model"))
        };
        Some(Case {
            name: name.to_string(),
            qdisc: row["qdisc"].to_string(),
            compare: row["compare"].to_string(),
            link: number(row["link_bps"]),
            may_differ: (most("differ"), most("moved")),
            arrivals,
            fates,
            labels,
            updates: updates(&folder.join(format!("dualpi2/{}.prob.csv.gz", name.trim_start_matches("dualpi2-")))),
        })
    };
    cases.iter().filter_map(load).collect()
}

/// The times of a recording of DualPI2's probability, from the start of the case on.
fn updates(path: &Path) -> Vec<Time> {
    if !path.exists() {
        return vec![];
    }
    rows(&read(path)).iter().filter_map(|row| number(row["update_ns"])).map(Time::from_nanos).collect()
}

/// How our fates differ from the recorded ones: packets with another fate or mark, the first of them, packets that left
/// more than 20 us apart, and the largest difference of the rest in nanoseconds.
fn differences(ours: &[PacketFate], theirs: &[PacketFate]) -> (usize, Option<usize>, usize, u64) {
    let (mut differ, mut first, mut moved, mut most) = (0, None, 0, 0);
    for (index, (our, their)) in ours.iter().zip(theirs).enumerate() {
        if our.depart.is_some() != their.depart.is_some() || our.marked != their.marked {
            differ += 1;
            first = first.or(Some(index));
        } else if let (Some(our), Some(their)) = (our.depart, their.depart) {
            let apart = our.as_nanos().abs_diff(their.as_nanos());
            if apart > 20_000 { moved += 1 } else { most = most.max(apart) }
        }
    }
    (differ, first, moved, most)
}

/// Cases in which more packets may differ, how many and how many may have moved, and why.
const KNOWN: [(&str, usize, usize, &str); 6] = [
    ("fqcodel-hash-ten", 2, 2, "a packet arrives 0.8 us before the kernel's link, here after it, falls idle"),
    ("sfq-depth-heavysparse", 2, 0, "a packet arrives within 1 us of a departure that makes room"),
    ("fq-paced", 2, 1, "a packet arrives while the kernel's timer is late by up to 10 us"),
    ("fq-maxrate", 4, 282, "when a flow counts as inactive depends on the phase of the kernel's tick of 10 ms"),
    ("cake-ten", 1000, 2500, "random rounding of quanta; with most seeds 4 to 6 packets differ"),
    ("dualpi2-mixed", 667, 1600, "after a tie the random numbers are shifted"),
];

/// Bytes and mean delay of each flow.
fn by_flow(arrivals: &[RecordedArrival], fates: &[PacketFate]) -> BTreeMap<u32, (f64, f64)> {
    let mut flows: BTreeMap<u32, (f64, f64, f64)> = BTreeMap::new();
    for (arrival, fate) in arrivals.iter().zip(fates) {
        if let Some(depart) = fate.depart {
            let (bytes, delay, count) = flows.entry(arrival.flow).or_default();
            *bytes += f64::from(arrival.bytes);
            *delay += (depart - arrival.at).as_secs();
            *count += 1.0;
        }
    }
    flows.into_iter().map(|(flow, (bytes, delay, count))| (flow, (bytes, delay / count))).collect()
}

/// Whether two numbers differ by at most this share of the second, and how much they differ.
fn apart(ours: f64, theirs: f64) -> f64 {
    if theirs == 0.0 { ours.abs() } else { (ours / theirs - 1.0).abs() }
}

/// What was compared, as text, and whether it agrees.
fn verdict(case: &Case, ours: &[PacketFate]) -> (String, bool) {
    let theirs = &case.fates;
    let ((drops, marks, delay), (their_drops, their_marks, their_delay)) =
        (counts(&case.arrivals, ours), counts(&case.arrivals, theirs));
    match &*case.compare {
        "packet" => {
            let (differ, _, moved, nanos) = differences(ours, theirs);
            let known = KNOWN.iter().find(|known| known.0 == case.name).map_or((0, 0), |known| (known.1, known.2));
            let most = (case.may_differ.0.max(known.0), case.may_differ.1.max(known.1));
            // The kernel's link may begin early by a byte; the timer of fq has a slack of 10 us.
            let is_late = nanos > if case.qdisc.starts_with("fq ") { 10_500 } else { 8_000_000_000 / 1_000_000 };
            let text =
                format!("{differ} of {} fates differ, {moved} left elsewhere, rest within {nanos} ns", ours.len());
            (text, differ <= most.0 && moved <= most.1 && !is_late)
        }
        "flow" => {
            let (ours, theirs) = (by_flow(&case.arrivals, ours), by_flow(&case.arrivals, theirs));
            let worst = |part: fn(&(f64, f64)) -> f64| {
                theirs.iter().map(|(flow, their)| apart(part(&ours[flow]), part(their))).fold(0.0, f64::max)
            };
            let (bytes, delay) = (worst(|flow| flow.0), worst(|flow| flow.1));
            let text =
                format!("bytes of a flow within {:.1} %, its delay within {:.1} %", bytes * 100.0, delay * 100.0);
            (text, bytes <= 0.03 && delay <= 0.2)
        }
        _ => {
            let text = format!(
                "drops {drops} ({their_drops}), marks {marks} ({their_marks}), mean delay {delay:.2} ({their_delay:.2}) ms"
            );
            let is_close =
                |ours: usize, theirs: usize| (ours as f64 - theirs as f64).abs() <= (0.03 * theirs as f64).max(3.0);
            let agrees = is_close(drops, their_drops) && is_close(marks, their_marks);
            (text, agrees && apart(delay, their_delay) <= 0.05)
        }
    }
}

fn replayed(case: &Case, asks_empty: bool) -> Vec<PacketFate> {
    let link = ReplayLink { rate: case.link.map(BitRate::from_bps), asks_empty };
    let settings = tc::settings(&case.qdisc).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let mut queue = Queue::new(&settings, link.rate, 1, "replay");
    if let Queue::DualPi2(dualpi2) = queue {
        queue = Queue::DualPi2(Box::new(dualpi2.recorded(12345, case.updates.clone())));
    }
    replay(&mut queue, &case.labels, &case.arrivals, link)
}

fn counts(arrivals: &[RecordedArrival], fates: &[PacketFate]) -> (usize, usize, f64) {
    let sent = fates.iter().zip(arrivals).filter_map(|(fate, arrival)| {
        fate.depart.map(|depart| (depart.as_nanos() as f64 - arrival.at.as_nanos() as f64) / 1e6)
    });
    let delays: Vec<f64> = sent.collect();
    let marked = fates.iter().filter(|fate| fate.marked).count();
    (fates.len() - delays.len(), marked, delays.iter().sum::<f64>() / delays.len() as f64)
}

/// Each case agrees as closely as the recordings allow: by packet, by flow, or in its counts (drops and marks within 3
/// % or 3, mean delay within 5 %). With `WIFAIR_LINUX_QUEUES_PAGE=FILE` the table is written there.
#[test]
fn linux_queue_disciplines() {
    let sample = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/linux-queues"));
    let folder = std::env::var_os("WIFAIR_LINUX_QUEUES").map_or(sample, PathBuf::from);
    let cases = cases(&folder);
    assert!(!cases.is_empty(), "{} has no cases", folder.display());
    let mut table =
        String::from("| case | discipline | compared by | result | agrees |\n| --- | --- | --- | --- | --- |\n");
    let mut wrong = vec![];
    for case in &cases {
        let (text, agrees) = verdict(case, &replayed(case, false));
        let known =
            KNOWN.iter().find(|known| known.0 == case.name).map_or(String::new(), |known| format!(": {}", known.3));
        let answer = if agrees { "yes" } else { "no" };
        let Case { name, qdisc, compare, .. } = case;
        table += &format!("| {name} | `{qdisc}` | {compare} | {text}{known} | {answer} |\n");
        if !agrees {
            wrong.push(format!("{name}: {text}"));
        }
    }
    if let Some(page) = std::env::var_os("WIFAIR_LINUX_QUEUES_PAGE") {
        std::fs::write(page, table).expect("a page can be written");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The control: with the real square roots of RFC 8289, CoDel gives many packets another fate.
#[test]
fn other_arithmetic_gives_other_fates() {
    let sample = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/linux-queues"));
    let case = cases(&sample).into_iter().find(|case| case.name == "codel-1mbit").expect("a case of the sample");
    let mut settings = tc::settings(&case.qdisc).expect("a line of tc");
    let Chosen::Codel(params) = &mut settings.discipline else { panic!("CoDel") };
    params.arithmetic = CodelArithmetic::Rfc;
    let link = ReplayLink { rate: case.link.map(BitRate::from_bps), asks_empty: false };
    let ours = replay(&mut Queue::new(&settings, link.rate, 1, "replay"), &[], &case.arrivals, link);
    let (differ, ..) = differences(&ours, &case.fates);
    assert!(differ > ours.len() / 50, "{differ}");
}

/// DualPI2 before a device that asks empty queues, too, so that its credit starts anew: the independent model that
/// comes with the recordings (RFC 9332 in Linux's integers), packet by packet.
#[test]
fn dualpi2_before_a_device() {
    let sample = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/linux-queues"));
    let folder = std::env::var_os("WIFAIR_LINUX_QUEUES").map_or(sample, PathBuf::from).join("dualpi2-model");
    let table = read(&folder.join("cases.csv"));
    let mut seen = vec![];
    for row in rows(&table) {
        let path = folder.join(format!("{}.csv.gz", row["case"]));
        if !path.exists() || seen.contains(&row["case"]) {
            continue;
        }
        seen.push(row["case"]);
        let get = |packet: &BTreeMap<&str, &str>, column: &str| number(packet[column]);
        let text = read(&path);
        let packets = rows(&text);
        let arrivals: Vec<RecordedArrival> = packets
            .iter()
            .map(|packet| RecordedArrival {
                at: Time::from_nanos(get(packet, "arrive_ns").expect("a time")),
                flow: get(packet, "flow").expect("a flow") as u32,
                bytes: get(packet, "bytes").expect("a length") as u16,
                tos: get(packet, "ect").expect("a code point") as u8,
                ack: None,
            })
            .collect();
        let fates: Vec<PacketFate> = packets
            .iter()
            .map(|packet| PacketFate {
                depart: get(packet, "depart_ns").map(Time::from_nanos),
                marked: packet["marked"] == "1",
            })
            .collect();
        let options = if row["options"] == "default" { "" } else { row["options"] };
        let settings = tc::settings(&format!("dualpi2 {}", options.replace('=', " "))).expect("words of tc");
        let rate = number(row["link"]).map(BitRate::from_bps);
        let Queue::DualPi2(dualpi2) = Queue::new(&settings, rate, 1, "replay") else { panic!("DualPI2") };
        let mut queue = Queue::DualPi2(Box::new(dualpi2.recorded(12345, vec![])));
        let ours = replay(&mut queue, &[], &arrivals, ReplayLink { rate, asks_empty: true });
        let (differ, first, moved, nanos) = differences(&ours, &fates);
        assert_eq!((differ, moved, nanos), (0, 0, 0), "{}, from {first:?} on", row["case"]);
    }
    assert!(!seen.is_empty(), "{} has no cases", folder.display());
}
