//! ns-2's Agent/TCP/Linux: whole transfers beside its traces.

use wifair_config::{Document, Source};

use super::*;
use crate::TcpSettings;

/// The transfer that the first line of a table describes, with a clock of 1 ms and half a tick off: ns-2 draws that
/// offset. Its agent has no SYN here and counts no header.
fn transfer(text: &str, cc: &str) -> Pipe {
    let line = text.lines().next().unwrap_or_default();
    let numbers = |field: usize| -> Vec<u64> {
        let words = line.split(", ").nth(field).expect("the line has six fields").split_whitespace();
        words.filter_map(|word| word.trim_end_matches("ms").parse().ok()).collect()
    };
    let (window, segments, delay, losses) = (numbers(1)[0], numbers(2)[0], numbers(4)[0], numbers(5));
    let settings = format!(
        "stack = 'ns2'\nsack = true\nrecovery = 'tcp-linux'\ntick = '1 ms'\nhandshake = 'none'\nheader = '0 B'\n\
         ack_header = '40 B'\nreceive_window = '{window} packets'\n{cc}"
    );
    let (sender, receiver) =
        Document::parse(Source::file("tcp.toml", &settings)).read::<TcpSettings>().expect("it is right").resolve();
    let ends = (Sender::new(&sender, 119), crate::Receiver::new(&receiver, 119));
    let mut pipe = Pipe::new(ends, BitRate::from_mbps(1), Duration::from_millis(delay)).with_losses(&losses);
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(segments * 1000);
    pipe.run(seconds(60));
    pipe
}

/// Each segment is sent when ns-2.35 sends it: after bursts of losses, lost retransmissions and timeouts, and with one
/// segment in twenty, twelve and five lost.
#[test]
fn every_segment_leaves_as_in_ns2s_agent_of_linux() {
    const WESTWOOD: &str = "cc = 'westwood-plus'\nwestwood-plus.filter = 'ns2'";
    const RENO: &str = "cc = 'linux'";
    const COMPOUND: &str = "cc = 'compound'\ncompound.arithmetic = 'ns2'";
    for (cc, text) in [
        (WESTWOOD, include_str!("../golden_ns2/linux_westwood_timeouts.txt")),
        (WESTWOOD, include_str!("../golden_ns2/linux_westwood_long.txt")),
        (WESTWOOD, include_str!("../golden_ns2/linux_westwood_many.txt")),
        (WESTWOOD, include_str!("../golden_ns2/linux_westwood_heavy.txt")),
        (RENO, include_str!("../golden_ns2/linux_reno_again.txt")),
        (RENO, include_str!("../golden_ns2/linux_reno_many.txt")),
        (COMPOUND, include_str!("../golden_ns2/linux_compound_bursts.txt")),
        (COMPOUND, include_str!("../golden_ns2/linux_compound_many.txt")),
    ] {
        leaves_as_in_ns2(text.lines().next().unwrap_or_default(), text, &transfer(text, cc));
    }
}
