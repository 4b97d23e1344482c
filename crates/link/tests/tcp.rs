//! A TCP flow of one's own through the link is the flow of `wifair run`, packet by packet.
//!
//! The simulator's TCP is used as a library here: a sender and a receiver without I/O, driven from outside. What each
//! host sent and got, with the times to the nanosecond, is compared with captures of a run in which the same flow is
//! part of the scenario.

use std::collections::BTreeMap;
use std::time::Duration;

use wifair_link::{HEADERS, LinkDatagram, WifiLink};
use wifair_packet::Packet;
use wifair_sim::capture::{CapturePoints, CaptureWriter, EPOCH, Format};
use wifair_sim::scenario::{Scenario, Transport};
use wifair_sim::{Run, RunOptions};
use wifair_tcp::{Receiver, Sender, TcpSettings};
use wifair_units::Time;

/// The cell, with other flows; `START` is no instant at which something else happens.
const CELL: &str = r#"
    duration = "8 s"
    [wlan]
    standard = "802.11g"
    [[stations]]
    name = "sta"
    count = 3
    [[servers]]
    name = "server"
    delay = "7 ms"
    [ap]
    queue.limit = "60 packets"
    [[flows]]
    name = "other"
    station = "sta2"
    tcp.cc = "reno"
    [[flows]]
    name = "third"
    station = "sta3"
    direction = "down"
    tcp.cc = "cubic"
"#;
const START: Duration = Duration::from_nanos(1_000_000_137);

fn flow(direction: &str, tcp: &str) -> String {
    format!(
        "{CELL}\n[[flows]]\nname = \"mine\"\nstation = \"sta1\"\ndirection = \"{direction}\"\nstart = \"{} ns\"\n\
         tcp = {{ mss = \"1448 B\", {tcp} }}\n",
        START.as_nanos()
    )
}

/// What passed a host: when, and whether it carried data; `sta1` has no other flow. Captures show the lengths of real
/// headers, of which the scenario counts some.
type Passed = Vec<(u64, bool)>;

/// Longer packets carry data.
const LONGEST_ACK: u16 = 100;

/// Captures of a run at sta1.
fn in_a_run(text: &str, seed: u64) -> Passed {
    let scenario = Scenario::parse(text, "run.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut run = Run::new(&scenario, seed, &RunOptions::default());
    let points = CapturePoints::choose(&scenario, &["sta1".to_owned()]).expect("there is such a point");
    let made = CaptureWriter::new(&scenario, seed, run.world(), points, Format::Pcap, 64, |_| Ok(Vec::new()));
    let mut capture = made.expect("memory can be written");
    run.world().watch(capture.plan());
    run.advance(run.end());
    capture.drain(run.world()).expect("memory can be written");
    let (_, file) = capture.finish().expect("memory can be written").remove(0);
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes"));
    let mut passed = Passed::new();
    let mut at = 24;
    while at < file.len() {
        let nanos = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)) - EPOCH;
        let length = u16::from_be_bytes([file[at + 16 + 16], file[at + 16 + 17]]);
        passed.push((nanos, length > LONGEST_ACK));
        at += 16 + word(at + 8) as usize;
    }
    passed
}

/// The same at the end of a link, with a sender and a receiver outside.
fn through_the_link(settings: &TcpSettings, is_down: bool, seed: u64) -> Passed {
    let mut network = WifiLink::from_toml(CELL, seed, &[]).expect("a scenario");
    let (station, server) = (network.host("sta1").expect("there"), network.host("server").expect("there"));
    let (from, to) = if is_down { (server, station) } else { (station, server) };
    let (sending, receiving) = if is_down { settings.resolve() } else { settings.resolve_at_station() };
    let mut sender = Sender::new(&sending, 0);
    let mut receiver = Receiver::new(&receiving, 0);
    let time = |at: Duration| Time::from_nanos(at.as_nanos() as u64);
    let mut packets: BTreeMap<u64, Packet> = BTreeMap::new();
    let mut passed = Passed::new();
    network.advance(START).expect("before the end");
    sender.open(time(START));
    sender.supply(u64::MAX);
    loop {
        let now = time(network.now());
        for is_data in [true, false] {
            while let Some(packet) = if is_data { sender.poll(now) } else { receiver.poll(now) } {
                let (from, to) = if is_data { (from, to) } else { (to, from) };
                if from == station {
                    passed.push((now.as_nanos(), packet.size > LONGEST_ACK));
                }
                let datagram = LinkDatagram::of_length(usize::from(packet.size) - HEADERS);
                let number = network.offer(network.now(), from, to, datagram).expect("it fits");
                packets.insert(number, packet);
            }
        }
        let timers = [sender.deadline(), receiver.deadline()].map(|at| Duration::from_nanos(at.as_nanos()));
        let next = timers.into_iter().chain(network.next_event()).min().expect("three times");
        if next >= network.end() {
            return passed;
        }
        network.advance(next.max(network.now())).expect("before the end");
        let now = time(network.now());
        while let Some(delivery) = network.poll_delivery() {
            let packet = packets.remove(&delivery.number).expect("it was offered");
            if delivery.to == station {
                passed.push((delivery.time.as_nanos() as u64, packet.size > LONGEST_ACK));
            }
            if delivery.to == to { receiver.on_packet(now, &packet) } else { sender.on_packet(now, &packet) }
        }
        if sender.deadline() <= now {
            sender.on_timer(now);
        }
        if receiver.deadline() <= now {
            receiver.on_timer(now);
        }
    }
}

/// Beside an upload with Reno and a download with CUBIC, with losses in the queue of the access point.
#[test]
fn a_tcp_flow_through_the_link_is_that_of_a_run() {
    for (direction, tcp) in [
        ("down", "stack = \"modern\", cc = \"cubic\""),
        ("down", "stack = \"rfc\", cc = \"reno\""),
        ("up", "stack = \"rfc\", cc = \"cubic\""),
    ] {
        let text = flow(direction, tcp);
        let scenario = Scenario::parse(&text, "run.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        let Transport::Tcp(settings) = &scenario.file.flows[2].transport else { panic!("it is TCP") };
        for seed in [1, 2] {
            let (expected, ours) = (in_a_run(&text, seed), through_the_link(settings, direction == "down", seed));
            assert!(expected.len() > 1000, "{}", expected.len());
            let first = expected.iter().zip(&ours).position(|(one, other)| one != other);
            assert_eq!(
                first,
                None,
                "{direction} {tcp}: {:?} {:?}",
                first.map(|at| expected[at]),
                first.map(|at| ours[at])
            );
            assert_eq!(expected.len(), ours.len());
        }
    }
}
