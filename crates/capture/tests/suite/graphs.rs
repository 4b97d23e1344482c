//! Graphs for xplot follow its grammar and contain as many marks as those of tcptrace.

use crate::common::{analyzed, names};
use wifair_capture::{AnalysisOptions, Graph};

fn rows() -> AnalysisOptions {
    AnalysisOptions { rows: true, ..AnalysisOptions::default() }
}

/// The commands of `xplot.org`: how many numbers each takes, and whether a line of text follows.
fn check(text: &str, name: &str) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("timeval double"), "{name}");
    for head in ["title", "xlabel", "ylabel"] {
        assert_eq!(lines.next(), Some(head), "{name}");
        assert!(lines.next().is_some_and(|text| !text.is_empty()), "{name}: {head}");
    }
    let mut last = "";
    while let Some(line) = lines.next() {
        last = line;
        let words: Vec<&str> = line.split(' ').collect();
        let numbers = match words[0] {
            "line" => 4,
            "dot" | "diamond" | "box" | "dtick" | "utick" | "htick" | "darrow" | "uarrow" => 2,
            "atext" | "btext" => {
                assert!(lines.next().is_some_and(|text| !text.is_empty()), "{name}: a text without string");
                2
            }
            "white" | "green" | "yellow" | "red" | "blue" | "orange" | "purple" | "go" => 0,
            other => panic!("{name}: no command {other}"),
        };
        assert_eq!(words.len(), numbers + 1, "{name}: {line}");
        assert!(words[1..].iter().all(|word| word.parse::<f64>().is_ok()), "{name}: {line}");
    }
    assert_eq!(last, "go", "{name}");
}

#[test]
fn graphs_keep_to_the_grammar() {
    let mut graphs = 0;
    for name in names().iter().filter(|name| *name != "q_zero.pcap") {
        let analysis = analyzed(name, rows());
        for connection in 0..analysis.connections().len() {
            for side in [0, 1] {
                for graph in Graph::ALL {
                    if let Some(text) = analysis.xplot(connection, side, graph) {
                        check(&text, &format!("{name} {connection} {side} {graph:?}"));
                        graphs += 1;
                    }
                }
            }
        }
    }
    assert!(graphs > 100, "{graphs}");
}

/// The marks that `tcptrace -S` draws for the same capture (retransmissions, ACKs with SACK, third duplicates, SYN,
/// FIN), and the round-trip times of `tcptrace -R`.
#[test]
fn marks_are_those_of_tcptrace() {
    let analysis = analyzed("e_loss_sack_snd.pcap", rows());
    let text = analysis.xplot(0, 1, Graph::Sequence).expect("data was sent");
    let count = |letters: &str| text.lines().filter(|line| *line == letters).count();
    assert_eq!(count("R"), 41);
    assert_eq!(count("S"), 446);
    assert_eq!(count("3"), 24);
    assert_eq!((count("SYN"), count("FIN"), count("O")), (1, 1, 0));
    let text = analysis.xplot(0, 1, Graph::RoundTrip).expect("data was acknowledged");
    assert_eq!(text.lines().filter(|line| line.starts_with("dot ")).count(), 1_158);
}
