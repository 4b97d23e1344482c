//! Golden results, byte for byte: see `tests/golden/README.md`. `WIFAIR_BLESS=1` rewrites them.

use std::fmt::Write;
use std::path::Path;

use wifair_sim::{RunOptions, run, scenario::Scenario};

fn results(text: &str, name: &str) -> String {
    let scenario = Scenario::parse(text, name, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut table = String::from("seed flow received_bytes retransmissions timeouts data_packets_sent\n");
    for &seed in scenario.file.seeds.list() {
        let outcome = run(&scenario, seed, &RunOptions::default());
        writeln!(
            table,
            "{seed} = jain_index {:.6} starved_fraction {:.6}",
            outcome.cell.jain_index, outcome.cell.starved_fraction
        )
        .unwrap();
        for flow in outcome.flows {
            let counts = [flow.received_bytes, flow.retransmissions, flow.timeouts, flow.data_packets_sent];
            writeln!(table, "{seed} {} {}", flow.name, counts.map(|count| count.to_string()).join(" ")).unwrap();
        }
    }
    table
}

#[test]
fn results_are_those_that_were_looked_at() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    names.sort();
    assert!(names.len() >= 5, "the golden scenarios are there");
    for scenario in names {
        let text = std::fs::read_to_string(&scenario).unwrap();
        let found = results(&text, &scenario.file_name().unwrap().to_string_lossy());
        let golden = scenario.with_extension("txt");
        if std::env::var_os("WIFAIR_BLESS").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(found, expected, "{}: `make bless` if this is meant", golden.display());
    }
}
