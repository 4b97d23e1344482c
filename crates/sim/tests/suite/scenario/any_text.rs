//! Any text is either a scenario that runs, or is refused with an error.

use proptest::prelude::*;
use wifair_config::{Override, Source};
use wifair_sim::scenario::Scenario;
use wifair_units::Duration;

use super::{DUMBBELL, UPLOADS};
/// A line as a user might write it, right or wrong.
fn line() -> impl Strategy<Value = String> {
    let header = prop::sample::select(vec![
        "[wlan]",
        "[ap]",
        "[tcp]",
        "[[stations]]",
        "[[servers]]",
        "[[routers]]",
        "[[links]]",
        "[[flows]]",
        "[wlan",
        "",
    ]);
    let key = prop::sample::select(vec![
        "name",
        "count",
        "duration",
        "warm_up",
        "seeds",
        "standard",
        "data_rate",
        "slot",
        "cw_min",
        "cw_max",
        "delay",
        "rate",
        "queue.limit",
        "queue.discipline",
        "queue.las.idle",
        "at",
        "station",
        "server",
        "direction",
        "from",
        "to",
        "transport",
        "udp.rate",
        "tcp.cc",
        "tcp.vegas.alpha",
        "tcp.mss",
        "tcp.stack",
        "workload",
        "periodic.period",
        "periodic.length",
        "poisson.law",
        "poisson.size",
        "sessions.list",
        "start",
        "stop",
        "trace.list",
        "x",
        "a.b",
    ]);
    let value = prop::sample::select(vec![
        "1",
        "0",
        "-1",
        "8",
        "1e400",
        "99999999999999999999999",
        "nan",
        "true",
        "\"sta\"",
        "\"a\"",
        "\"10 ms\"",
        "\"1 s\"",
        "\"802.11b\"",
        "\"802.11g\"",
        "\"las\"",
        "\"up\"",
        "\"udp\"",
        "\"vegas\"",
        "\"periodic\"",
        "\"1..3\"",
        "\"9e9 s\"",
        "\"5 Mb/s\"",
        "\"50 packets\"",
        "\"1 GB\"",
        "[]",
        "[1, 2]",
        "[[0.5, 3]]",
        "{}",
        "{ a = 1 }",
        "{ start = \"1 s\" }",
        "1979-05-27",
        "\"\"\"x\ny\"\"\"",
        "20 ms",
        "'\u{1f600}'",
    ]);
    prop_oneof![
        1 => header.prop_map(str::to_owned),
        4 => (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
    ]
}

/// Reading ends in a scenario or in problems that can be printed; a scenario written out and read again is the same.
fn is_sane(text: &str, overrides: &[String]) {
    let overrides: Vec<_> = overrides.iter().map(|text| Override::set(text)).collect();
    match Scenario::parse(text, "a.toml", &overrides) {
        Ok(scenario) => {
            for flow in scenario.network.flows.iter().take(3) {
                if scenario.file.duration <= Duration::from_secs(3600) {
                    let _ = (scenario.sessions(flow, 1), scenario.stop(flow));
                }
            }
            let effective = scenario.to_toml();
            let again = Scenario::parse(&effective, "b.toml", &[]).unwrap_or_else(|p| panic!("{effective}\n{p}"));
            assert_eq!(again.to_toml(), effective);
        }
        Err(problems) => {
            assert!(!problems.0.is_empty());
            assert!(problems.to_string().starts_with("error: "));
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_give_a_scenario_or_problems(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(source) = Source::from_bytes("a.toml", &bytes) {
            is_sane(source.text(), &[]);
        }
    }

    #[test]
    fn any_lines_give_a_scenario_or_problems(
        lines in prop::collection::vec(line(), 0..25),
        overrides in prop::collection::vec("[a-z.\\[\\]0-9= \"]{0,20}", 0..3),
    ) {
        is_sane(&lines.join("\n"), &overrides);
    }

    #[test]
    fn any_change_of_a_scenario_gives_a_scenario_or_problems(
        cuts in prop::collection::vec((any::<prop::sample::Index>(), line()), 1..4),
        scenario in prop::sample::select(vec![UPLOADS, DUMBBELL]),
        overrides in prop::collection::vec(
            (prop::sample::select(vec!["stations.count", "flows.tcp.cc", "ap.queue", "flows[0].start", "wlan.slot"]),
             prop::sample::select(vec!["1", "reno", "\"1 s\"", "{limit=\"5 packets\"}", "[1]", ""])),
            0..3),
    ) {
        let mut lines: Vec<String> = scenario.lines().map(str::to_owned).collect();
        for (at, line) in cuts {
            let index = at.index(lines.len());
            lines[index] = line;
        }
        let overrides: Vec<String> = overrides.into_iter().map(|(path, value)| format!("{path}={value}")).collect();
        is_sane(&lines.join("\n"), &overrides);
    }
}
