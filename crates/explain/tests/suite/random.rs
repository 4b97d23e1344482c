//! Random scenarios: every sentence said of any of them is checked against the records, by code that shares nothing
//! with the rules.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use wifair_engine::{Stream, stream};
use wifair_sim::scenario::Scenario;

use crate::support::{Told, of};
use crate::truth;

fn pick<'a>(draw: &mut Stream, list: &[&'a str]) -> &'a str {
    list[(draw.uniform() * list.len() as f64) as usize]
}

fn chance(draw: &mut Stream, probability: f64) -> bool {
    draw.uniform() < probability
}

fn between(draw: &mut Stream, low: f64, high: f64) -> f64 {
    low + (high - low) * draw.uniform()
}

/// Downloads with one congestion control each over a fast cell, whose aggregates depend on what is in flight.
fn downloads(draw: &mut Stream) -> String {
    let (stations, cc) = (4 + (draw.uniform() * 13.0) as usize, pick(draw, &["bbr", "bbr", "cubic", "vegas"]));
    format!(
        "duration = \"1 s\"\nwarm_up = \"0.3 s\"\nwlan = {{ standard = \"802.11ax\", width = 80 }}\n\
         ap.queue = {{ discipline = \"fq-codel\", limit = \"1000 packets\" }}\n\
         tcp = {{ stack = \"modern\", cc = \"{cc}\" }}\n\
         servers = [{{ name = \"server\", rate = \"10 Gb/s\", delay = \"1 ms\" }}]\n\
         stations = [{{ name = \"s\", count = {stations} }}]\n\
         flows = [{{ name = \"f\", station = \"s\", direction = \"down\" }}]\n"
    )
}

/// A small cell or a few stations in space, with whatever rules talk about: slow and hidden stations, full queues and
/// wires, calls, sessions, late flows, errors, old stations, mixtures of congestion controls.
fn drawn(number: u64) -> String {
    let draw = &mut stream(number, "explain", "scenario");
    if number % 40 == 7 {
        return downloads(draw);
    }
    let standard = pick(draw, &["802.11b", "802.11b", "802.11g", "802.11g", "802.11n", "802.11ax"]);
    let (has_mcs, in_space) = (matches!(standard, "802.11n" | "802.11ax"), chance(draw, 0.35));
    let seconds = if has_mcs { between(draw, 0.8, 1.6) } else { between(draw, 1.5, 6.0) };
    let stations = 1 + (draw.uniform() * if has_mcs { 4.0 } else { 9.0 }) as usize;
    let mut text = format!("duration = \"{seconds:.2} s\"\nwarm_up = \"{:.2} s\"\n", seconds * between(draw, 0.0, 0.4));
    let _ = writeln!(text, "[wlan]\nstandard = \"{standard}\"");
    if chance(draw, 0.2) {
        let _ = writeln!(text, "data_error = {:.2}", between(draw, 0.0, 0.5));
    }
    if chance(draw, 0.1) {
        text += "rts_threshold = \"0 B\"\n";
    }
    if in_space {
        text += "[space]\n";
        if chance(draw, 0.6) {
            text += "profile = \"ns2\"\n";
        }
    }
    let discipline = pick(draw, &["fifo", "fifo", "fifo", "fq-codel", "las", "codel", "airtime"]);
    let limit = [10, 20, 50, 100, 1000][(draw.uniform() * 5.0) as usize];
    let _ = writeln!(text, "[ap]\nqueue = {{ discipline = \"{discipline}\", limit = \"{limit} packets\" }}");
    let rate = if chance(draw, 0.2) { "2 Mb/s" } else { "1 Gb/s" };
    let delay = pick(draw, &["1 ms", "10 ms", "60 ms"]);
    let _ = writeln!(text, "[[servers]]\nname = \"server\"\nrate = \"{rate}\"\ndelay = \"{delay}\"");
    let place = |draw: &mut Stream| {
        if !in_space {
            return String::new();
        }
        let far = if chance(draw, 0.5) { 220.0 } else { 20.0 };
        format!("position = [\"{:.0} m\", \"{:.0} m\"]\n", between(draw, -far, far), between(draw, -far, far))
    };
    for station in 1..=stations {
        let _ = writeln!(text, "[[stations]]\nname = \"s{station}\"");
        text += &place(draw);
        if chance(draw, 0.25) {
            text += match standard {
                "802.11b" => "data_rate = \"1 Mb/s\"\n",
                "802.11g" => "data_rate = \"6 Mb/s\"\n",
                _ => "mcs = 0\n",
            };
        }
        if chance(draw, 0.3) {
            let _ = writeln!(text, "queue.limit = \"{} packets\"", [5, 20, 200][(draw.uniform() * 3.0) as usize]);
        }
    }
    if standard == "802.11g" && in_space && chance(draw, 0.4) {
        text += "[[stations]]\nname = \"old\"\ndsss_only = true\n";
        text += &place(draw);
    }
    for (flow, station) in (1..=stations).chain(1..=1 + (draw.uniform() * 3.0) as usize).enumerate() {
        let station = 1 + (station - 1) % stations;
        let way = pick(draw, &["up", "down"]);
        let _ = writeln!(text, "[[flows]]\nname = \"f{flow}\"\nstation = \"s{station}\"\ndirection = \"{way}\"");
        if chance(draw, 0.15) {
            let _ = writeln!(text, "start = \"{:.2} s\"", between(draw, 0.0, 0.9) * seconds);
        }
        match (draw.uniform() * 10.0) as usize {
            0 => {
                let _ = writeln!(text, "transport = \"udp\"\nudp = {{ rate = \"{} kb/s\", payload = \"160 B\" }}", 64);
            }
            1 => {
                let bulk = pick(draw, &["1 Mb/s", "5 Mb/s", "30 Mb/s"]);
                let _ = writeln!(text, "transport = \"udp\"\nudp.rate = \"{bulk}\"");
            }
            2 => text += "workload = \"periodic\"\nperiodic = { length = \"20 kB\", period = \"500 ms\" }\n",
            3 => text += "workload = \"periodic\"\nperiodic = { length = \"160 B\", period = \"20 ms\" }\n",
            4 => text += "workload = \"transfer\"\ntransfer.size = \"60 kB\"\n",
            5 if chance(draw, 0.5) => text += "workload = \"ping\"\n",
            _ => {
                let stack = pick(draw, &["ns2", "rfc", "modern", "linux"]);
                let cc = pick(draw, &["newreno", "reno", "cubic", "vegas", "bbr", "compound", "westwood"]);
                let _ = writeln!(text, "tcp = {{ stack = \"{stack}\", cc = \"{cc}\" }}");
            }
        }
    }
    text
}

/// Checks the facts of these scenarios; returns how often each rule spoke.
fn check(numbers: impl Iterator<Item = u64>) -> BTreeMap<&'static str, usize> {
    let (mut spoken, mut drawn_all, mut refused) = (BTreeMap::new(), 0, 0);
    let mut wrong: Vec<String> = vec![];
    for number in numbers {
        drawn_all += 1;
        let text = drawn(number);
        let Ok(scenario) = Scenario::parse(&text, "drawn.toml", &[]) else {
            refused += 1;
            continue;
        };
        let told: Told = of(scenario, &[number + 1]);
        for fact in &told.facts {
            *spoken.entry(fact.rule).or_insert(0) += 1;
            if let Err(why) = truth::check(&told, fact) {
                wrong.push(format!("scenario {number}: {why}\n  {}: {}\n  {:?}", fact.rule, fact.text, fact.figures));
            }
        }
    }
    let shown: Vec<&str> = wrong.iter().take(30).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} wrong sentences\n{}", wrong.len(), shown.join("\n"));
    assert!(10 * refused < drawn_all, "{refused} of {drawn_all} scenarios are refused");
    spoken
}

#[test]
fn sentences_about_random_runs_are_true() {
    check(0..150);
}

/// The whole thousand, in which every rule about runs has something to say.
#[test]
#[ignore = "takes minutes: cargo test -p wifair-explain -- --ignored"]
fn sentences_about_a_thousand_random_runs_are_true() {
    let spoken = check(0..1000);
    let of_captures = ["slow_readers", "attempts", "flows_of_datagrams", "echoes"];
    for rule in wifair_explain::RULES.iter().filter(|rule| !of_captures.contains(&rule.name)) {
        assert!(spoken.contains_key(rule.name), "{} never spoke: {spoken:?}", rule.name);
    }
}
