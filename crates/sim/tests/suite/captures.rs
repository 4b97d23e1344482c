//! Round trip: the analysis of a captured run agrees with the run's own counts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use wifair_capture::link::radiotap;
use wifair_capture::{Analysis, AnalysisOptions, CaptureReader, ConnectionReport, Field, analyze};
use wifair_sim::capture::{CapturePoints, CaptureWriter, Format};
use wifair_sim::record::{Outcome, StationOutcome};
use wifair_sim::scenario::Scenario;
use wifair_sim::{Run, RunOptions};
use wifair_units::{Duration, Time};

const STEP: Duration = Duration::from_millis(10);

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The captures of a run at these points, by name, and its outcome; `look` is called every 10 ms.
fn captured(
    scenario: &Scenario,
    points: &[&str],
    format: Format,
    snap: u32,
    mut look: impl FnMut(Time, &mut Run),
) -> (BTreeMap<String, Vec<u8>>, Outcome) {
    let words: Vec<String> = points.iter().map(|&word| word.to_owned()).collect();
    let points = CapturePoints::choose(scenario, &words).expect("there are such points");
    let mut run = Run::new(scenario, 1, &RunOptions::default());
    let made = CaptureWriter::new(scenario, 1, run.world(), points, format, snap, |_| Ok(Vec::new()));
    let mut capture = made.expect("memory can be written");
    run.world().watch(capture.plan());
    let mut until = Time::ZERO;
    loop {
        until += STEP;
        let over = run.advance(until);
        look(until, &mut run);
        capture.drain(run.world()).expect("memory can be written");
        run.world().clear_watch();
        if over {
            break;
        }
    }
    let files = capture.finish().expect("memory can be written").into_iter();
    let stem = |name: String| name.split('.').next().unwrap_or_default().to_owned();
    (files.map(|(name, file)| (stem(name), file)).collect(), run.outcome())
}

fn analysis(file: &[u8]) -> Analysis {
    let analysis = analysis_with_copies(file);
    assert_eq!(analysis.counts.copies, 0);
    analysis
}

fn analysis_with_copies(file: &[u8]) -> Analysis {
    let settings = AnalysisOptions { rows: true, ..AnalysisOptions::default() };
    let analysis = analyze(file, settings, |_, _| true).expect("it is a capture");
    assert!(analysis.damage.is_none(), "{:?}", analysis.damage);
    let counts = &analysis.counts;
    assert_eq!((counts.malformed, counts.short, counts.bad_fcs), (0, 0, 0));
    analysis
}

fn whole(connection: &ConnectionReport<'_>, side: usize, name: &str) -> u64 {
    match connection.side_fields(side).into_iter().find(|(there, _)| *there == name) {
        Some((_, Field::Whole(value))) => value,
        other => panic!("{name}: {other:?}"),
    }
}

/// The connection of a flow, found by its port at the receiver, and the side that sends data.
fn of_flow(analysis: &Analysis, flow: usize) -> (ConnectionReport<'_>, usize) {
    let port = format!(":{}", 5_001 + flow);
    let mut all = analysis.connections();
    let found = all.find(|one| one.host_a().ends_with(&port) || one.host_b().ends_with(&port));
    let found = found.expect("the flow was captured");
    let side = usize::from(!found.host_b().ends_with(&port));
    (found, side)
}

/// The rows of the segments that a side of a connection sent.
fn segments<'a>(analysis: &'a Analysis, of: &ConnectionReport<'_>, side: usize) -> impl Iterator<Item = usize> + 'a {
    let ends = (of.host_a(), of.host_b());
    let number = analysis.connections().position(|one| (one.host_a(), one.host_b()) == ends).expect("it is there");
    let rows = analysis.rows.as_ref().expect("rows were kept");
    (0..rows.segments.len()).filter(move |&at| {
        (rows.segments[at].connection as usize, usize::from(rows.segments[at].side)) == (number, side)
    })
}

/// Losses on the air, in the queue of the access point and in a station's own queue; both directions, three stacks.
const LOSSY: &str = r#"
    duration = "40 s"
    wlan.standard = "802.11b"
    wlan.data_error = 0.1
    ap.queue.limit = "20 packets"
    [[servers]]
    name = "server"
    delay = "10 ms"
    [[stations]]
    name = "sta"
    count = 3
    queue.limit = "15 packets"
    [[flows]]
    name = "up"
    station = "sta"
    tcp.stack = "modern"
    [[flows]]
    name = "down"
    station = "sta1"
    direction = "down"
    tcp.stack = "rfc"
    [[flows]]
    name = "file"
    station = "sta2"
    tcp.stack = "rfc"
    tcp.sack = true
    workload = "transfer"
    transfer.size = "100 kB"
    [[flows]]
    name = "old"
    station = "sta3"
    direction = "down"
    tcp.stack = "ns2"
"#;

#[test]
fn retransmissions_and_goodput_are_those_of_the_run() {
    let scenario = scenario(LOSSY);
    let (files, outcome) = captured(&scenario, &[], Format::Pcap, 262_144, |_, _| {});
    assert_eq!(files.keys().collect::<Vec<_>>(), ["air", "server", "sta1", "sta2", "sta3"]);
    let stations = [0, 1, 2].map(|index| analysis(&files[&format!("sta{}", index + 1)]));
    let server = analysis(&files["server"]);
    let mut again = 0;
    for (flow, sender, receiver) in [
        (0, &stations[0], &server),
        (1, &stations[1], &server),
        (2, &stations[2], &server),
        (3, &server, &stations[0]),
        (4, &stations[1], &server),
        (5, &server, &stations[2]),
    ] {
        let row = &outcome.flows[flow];
        let (sent, side) = of_flow(sender, flow);
        assert_eq!(whole(&sent, side, "rexmt_data_pkts"), row.retransmissions, "{}", row.name);
        assert_eq!(segments(sender, &sent, side).count() as u64, row.data_packets_sent, "{}", row.name);
        again += row.retransmissions;
        // The receiver hands to the application what it acknowledges now, or with its next ACK.
        let (got, side) = of_flow(receiver, flow);
        let rows = receiver.rows.as_ref().expect("rows were kept");
        let acks = segments(receiver, &got, 1 - side);
        let highest = acks.map(|at| rows.segments[at].ack).max().expect("there are ACKs");
        let acknowledged = u64::try_from(highest - 1).expect("the SYN was acknowledged");
        if row.name == "file" {
            assert_eq!(row.received_bytes, 100_000, "it had time enough");
            assert_eq!(whole(&got, side, "unique_bytes_sent"), 100_000);
            assert_eq!(acknowledged, 100_001, "data and FIN");
        } else {
            let late = row.received_bytes - acknowledged;
            assert!(late <= 1460, "{}: {late} B await a delayed ACK", row.name);
        }
    }
    assert!(again > 100, "only {again} retransmissions: the scenario tests little");
}

/// Every segment is acknowledged at once, so each ACK gives a round-trip time in both; the clock ticks in us.
#[test]
fn round_trip_times_and_outstanding_data_are_those_of_the_run() {
    let scenario = scenario(
        r#"
        duration = "5 s"
        wlan.standard = "802.11b"
        ap.queue.limit = "100 packets"
        [[servers]]
        name = "server"
        delay = "10 ms"
        [[stations]]
        name = "sta"
        count = 2
        [[flows]]
        name = "up"
        station = "sta1"
        tcp = { timestamps = true, delayed_ack = false, receive_window = "20 packets" }
        [[flows]]
        name = "down"
        station = "sta2"
        direction = "down"
        tcp = { timestamps = true, delayed_ack = false, receive_window = "20 packets" }
        "#,
    );
    let mut seen: [Vec<(Time, u64)>; 2] = Default::default();
    let (files, outcome) = captured(&scenario, &["hosts"], Format::Pcap, 160, |now, run| {
        for (flow, list) in seen.iter_mut().enumerate() {
            list.push((now, run.world().outstanding(flow)));
        }
    });
    for (flow, point) in ["sta1", "server"].into_iter().enumerate() {
        let analysis = analysis(&files[point]);
        let (connection, side) = of_flow(&analysis, flow);
        let number = analysis.connections().position(|one| one.host_a() == connection.host_a()).expect("it is there");
        let rows = analysis.rows.as_ref().expect("rows were kept");
        let its = (0..rows.segments.len()).filter(|&at| rows.segments[at].connection as usize == number);
        let row = &outcome.flows[flow];
        assert_eq!(row.retransmissions, 0, "a window of 20 packets fits the queues");

        // The first time is that of the SYN, which the run also counts as a sample.
        let times: Vec<f64> =
            its.clone().filter(|&at| rows.segments[at].rtt > 0).map(|at| rows.segments[at].rtt as f64 / 1e9).collect();
        let tick = 1e-6;
        assert!(times.len().abs_diff(row.rtt_samples as usize) <= 1, "{} and {}", times.len(), row.rtt_samples);
        assert!(times.len() > 500);
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean - row.rtt_mean_s).abs() <= 2.0 * tick, "{mean} and {}", row.rtt_mean_s);
        let largest = times.iter().copied().fold(0.0, f64::max);
        assert!((largest - row.rtt_max_s).abs() <= 2.0 * tick, "{largest} and {}", row.rtt_max_s);

        let mut at = its.peekable();
        let mut outstanding = 0;
        for (now, expected) in &seen[flow] {
            let nanos = wifair_sim::capture::EPOCH + now.as_nanos();
            while let Some(row) = at.next_if(|&row| rows.segments[row].nanos <= nanos) {
                let is_data = usize::from(rows.segments[row].side) == side && rows.segments[row].payload > 0;
                let is_ack = usize::from(rows.segments[row].side) != side && rows.segments[row].payload == 0;
                if is_data || is_ack {
                    outstanding = rows.segments[row].outstanding;
                }
            }
            assert_eq!(outstanding, *expected, "{point} at {now:?}");
        }
    }
}

/// Only what is requested is captured, and capturing does not change the run.
#[test]
fn a_captured_run_is_the_same_run() {
    let scenario = scenario(LOSSY);
    let (_, outcome) = captured(&scenario, &["air", "ap", "hosts"], Format::Pcapng, 160, |_, _| {});
    let plain = wifair_sim::run(&scenario, 1, &RunOptions::default());
    assert_eq!(format!("{:?}", plain.flows), format!("{:?}", outcome.flows));
    assert_eq!(format!("{:?}", plain.cell), format!("{:?}", outcome.cell));
}

#[test]
fn the_air_holds_the_frames_that_the_stations_counted() {
    // Nothing is on the air at the end.
    let stopped = LOSSY.replace("tcp.stack", "stop = \"30 s\"\n    tcp.stack");
    let protected = stopped.replacen("wlan.data", "wlan.rts_threshold = \"1000 B\"\n    wlan.data", 1);
    for text in [&stopped, &protected] {
        let (files, outcome) = captured(&scenario(text), &["air", "ap"], Format::Pcapng, 160, |_, _| {});
        let analysis = analysis(&files["air"]);
        let sum = |count: fn(&StationOutcome) -> u64| outcome.stations.iter().map(count).sum::<u64>();
        let (attempts, collisions) = (sum(|row| row.attempts), sum(|row| row.collisions));
        let data: u64 = analysis.stations.iter().map(|station| station.data_frames).sum();
        assert_eq!(data, attempts - collisions, "only data frames that did not collide appear");
        let frames: u64 = analysis.stations.iter().map(|station| station.frames).sum();
        assert!(frames > 2 * data || *text == stopped, "RTS and CTS are there as well");
        let sent_again: u64 = analysis.stations.iter().map(|station| station.retries).sum();
        assert!(sent_again > data / 20, "a tenth of the frames is lost");
    }
}

/// A scheme rewrites windows in the access point: on its wires the ACKs show what the server offered, on the air what
/// the scheme set, and the stations' outstanding data obeys it.
#[test]
fn the_air_shows_the_window_that_a_scheme_has_written() {
    for stack in ["modern", "ns2"] {
        let scenario = scenario(&format!(
            r#"
            duration = "10 s"
            wlan.standard = "802.11b"
            ap.queue.limit = "40 packets"
            ap.scheme.window = "b-over-n"
            [[servers]]
            name = "server"
            delay = "10 ms"
            [[stations]]
            name = "sta"
            count = 4
            [[flows]]
            name = "up"
            station = "sta"
            tcp.stack = "{stack}"
            tcp.receive_window = "100 packets"
            "#
        ));
        let (files, _) = captured(&scenario, &["air", "ap", "hosts"], Format::Pcap, 160, |_, _| {});
        let windows = |file: &str| {
            let analysis = analysis(&files[file]);
            let rows = analysis.rows.clone().expect("rows were kept");
            // ACKs of the second half, when the scheme knows all flows.
            let origin = wifair_sim::capture::EPOCH + 5_000_000_000;
            let acks = (0..rows.segments.len())
                .filter(|&at| rows.segments[at].nanos >= origin && rows.segments[at].payload == 0);
            let side_of_acks =
                acks.filter(|&at| rows.segments[at].window < u64::from(u16::MAX) << 7 && rows.segments[at].side == 1);
            let mut windows: Vec<u64> = side_of_acks.map(|at| rows.segments[at].window).collect();
            windows.sort_unstable();
            windows.dedup();
            windows
        };
        let mss: u64 = if stack == "modern" { 1460 } else { 1000 };
        let scale = if stack == "modern" { 2 } else { 0 };
        // B/n: 40 packets over 4 flows, in whole units of the scale.
        let share = ((10 * mss) >> scale) << scale;
        assert_eq!(windows("air"), [share], "{stack}");
        assert!(windows("ap-wire").iter().all(|window| *window > share), "{stack}");
        for station in ["sta1", "sta2", "sta3", "sta4"] {
            let analysis = analysis(&files[station]);
            let rows = analysis.rows.as_ref().expect("rows were kept");
            let late = (0..rows.segments.len())
                .filter(|&at| rows.segments[at].nanos >= wifair_sim::capture::EPOCH + 5_000_000_000);
            let most = late.map(|at| rows.segments[at].outstanding).max().expect("there are packets");
            assert!(most <= share && most + 2 * mss > share, "{stack}: {most} of {share}");
        }
    }
}

/// On a path of several hops every node sees each packet once, and each hop decrements the time to live.
#[test]
fn a_chain_is_seen_hop_by_hop() {
    for routing in ["static", "dsdv"] {
        see_a_chain(routing);
    }
}

fn see_a_chain(routing: &str) {
    let scenario = scenario(&format!(
        r#"
        duration = "30 s"
        wlan.standard = "802.11b"
        [space]
        mode = "ad-hoc"
        profile = "ns2"
        [routing]
        protocol = "{routing}"
        [[stations]]
        name = "node"
        count = 4
        layout = "chain"
        [[flows]]
        name = "along"
        from = "node1"
        to = "node4"
        start = "15 s"
        "#
    ));
    let (files, outcome) = captured(&scenario, &["air", "node1", "node2", "node4"], Format::Pcap, 160, |_, _| {});
    let (ends, between) = (analysis(&files["node1"]), analysis(&files["node2"]));
    let (sent, side) = of_flow(&ends, 0);
    assert_eq!(whole(&sent, side, "rexmt_data_pkts"), outcome.flows[0].retransmissions);
    assert!(whole(&sent, side, "actual_data_pkts") > 200);
    let (passed, side) = of_flow(&between, 0);
    assert!(whole(&passed, side, "actual_data_pkts") > 200);
    let got = analysis(&files["node4"]);
    let (got, side) = of_flow(&got, 0);
    assert!(whole(&got, side, "unique_bytes_sent") >= outcome.flows[0].received_bytes);
    // The air shows each packet once per hop; the analysis recognises the second and third as copies.
    let air = analysis_with_copies(&files["air"]);
    let frames: u64 = air.stations.iter().map(|station| station.data_frames).sum();
    assert!(frames > 600 && air.counts.copies > 400, "{frames} frames, {} copies", air.counts.copies);
}

/// A sink that is full after a number of bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let scenario = scenario(LOSSY);
    let points = CapturePoints::choose(&scenario, &["sta1".to_owned()]).expect("it is a station");
    let mut run = Run::new(&scenario, 1, &RunOptions::default());
    let made = CaptureWriter::new(&scenario, 1, run.world(), points, Format::Pcap, 160, |_| Ok(Full(5_000)));
    let mut capture = made.expect("there is room for the header");
    run.world().watch(capture.plan());
    run.advance(Time::ZERO + Duration::from_secs(1));
    let why = capture.drain(run.world()).expect_err("there is no room for that");
    assert_eq!((why.file.as_str(), why.error.kind()), ("sta1.pcap", io::ErrorKind::StorageFull));
}

#[test]
fn a_word_that_names_no_point_is_explained() {
    let scenario = scenario(LOSSY);
    let why = CapturePoints::choose(&scenario, &["stations".into(), "sevrer".into()]).expect_err("it is misspelt");
    assert_eq!(why, "no capture point `sevrer`: did you mean `server`?");
    let points = CapturePoints::choose(&scenario, &["sta2".into(), "sta".into(), "ap".into()]).expect("all are there");
    assert_eq!(points.names().collect::<Vec<_>>(), ["sta2", "sta1", "sta3", "ap-air", "ap-wire"]);
}

/// A station sends datagrams of several lengths to its access point, which does not collide with it; what the analysis
/// counts of a file is what was on the air, packet extensions included. A guard interval of 3.2 us makes symbols of 16
/// us, as long as the longest extension.
#[test]
fn air_times_include_packet_extensions() {
    for (wlan, payload) in [
        ("mcs = 4, packet_padding = '16 us'", 1472),
        ("mcs = 4, packet_padding = '16 us', guard_interval = '3200 ns', aggregation.max_ampdu = '0 B'", 700),
        ("mcs = 4, packet_padding = '8 us', guard_interval = '3200 ns', aggregation.max_ampdu = '0 B'", 100),
        ("mcs = 9, width = 80, packet_padding = '8 us', guard_interval = '1600 ns'", 100),
        ("mcs = 9, width = 40, streams = 2, band = '2.4 GHz', packet_padding = '16 us'", 333),
        ("mcs = 1, extended_range = 242, packet_padding = '16 us', coding = 'ldpc', ldpc_extra_symbol = true", 1472),
        ("mcs = 3, packet_padding = '0 us'", 900),
    ] {
        let text = format!(
            "duration = '1 s'
            wlan = {{ standard = '802.11ax', {wlan} }}
            [[servers]]
            name = 'server'
            [[stations]]
            name = 'sta'
            [[flows]]
            name = 'up'
            station = 'sta'
            transport = 'udp'
            stop = '900 ms'
            udp = {{ rate = '20 Mb/s', payload = '{payload} B' }}"
        );
        let mut on_air = Duration::ZERO;
        let (files, _) = captured(&scenario(&text), &["air"], Format::Pcapng, 0, |_, run| {
            let (tap, _) = run.world().aired().next().expect("a channel");
            let firsts = tap.frames().iter().filter(|frame| frame.aggregate.is_none_or(|place| place.place == 0));
            firsts.for_each(|frame| on_air += frame.end - frame.start);
        });
        let counted: f64 = analysis(&files["air"]).stations.iter().map(|station| station.air_time_us).sum();
        let on_air = on_air.as_nanos() as f64 / 1e3;
        assert!((counted - on_air).abs() < 1.0, "{wlan}: {counted}, not {on_air} us");
    }
}

/// All data of a station that are no QoS data have one counter of sequence numbers, whoever their receiver is (IEEE Std
/// 802.11-2020, 10.3.2.14.2). A retry to one older station therefore never has the number of a recent frame to another,
/// and the analysis takes none for a copy: it counts each datagram that arrived, and none as lost.
#[test]
fn data_to_several_older_stations_share_a_counter() {
    let text = "duration = '3 s'
        wlan = { standard = '802.11n', band = '2.4 GHz' }
        servers = [{ name = 'server' }]
        stations = [
            { name = 'g', standard = '802.11g', count = 2 },
            { name = 'b', standard = '802.11b' },
            { name = 'n', count = 3 },
        ]
        [[flows]]
        name = 'down_g'
        station = 'g'
        direction = 'down'
        transport = 'udp'
        udp = { rate = '80 kb/s', payload = '200 B' }
        stop = '2.5 s'
        [[flows]]
        name = 'down_b'
        station = 'b'
        direction = 'down'
        transport = 'udp'
        udp = { rate = '80 kb/s', payload = '200 B' }
        stop = '2.5 s'
        [[flows]]
        name = 'up'
        station = 'n'
        ";
    let (files, outcome) = captured(&scenario(text), &["air"], Format::Pcap, 160, |_, _| {});
    let analysis = analysis(&files["air"]);
    let down = outcome.flows.iter().filter(|flow| flow.direction == "down");
    let received: u64 = down.map(|flow| flow.received_bytes / 200).sum();
    assert_eq!(analysis.counts.udp, received);
}

/// The frequencies that radiotap names in a file, ascending.
fn frequencies(file: &[u8]) -> Vec<u16> {
    let mut reader = CaptureReader::new(file).expect("it is a capture");
    let mut found = BTreeSet::new();
    while let Some(record) = reader.next().expect("it is whole") {
        let (radio, _) = radiotap::parse(record.data).expect("a header");
        found.insert(radio.frequency.expect("a channel"));
    }
    found.into_iter().collect()
}

/// Radiotap names the frequency of each frame's channel: that of its number (IEEE Std 802.11-2020, annex E), or of a
/// free channel if the band does not have the number. The channels of one file that overlap are therefore told apart.
#[test]
fn frames_have_the_frequency_of_their_channel() {
    let text = |standard: &str, channels: &str, width: &str| {
        format!(
            "duration = '300 ms'
            wlan = {{ standard = '{standard}' {width} }}
            servers = [{{ name = 'left', at = 'ap1' }}, {{ name = 'right', at = 'ap2' }}]
            ap = {{ count = 2, channels = {channels}, layout = 'chain', chain.spacing = '10 m' }}
            space = {{ overlapping_channels = {}, radio.tx_power = '15 dBm' }}
            [[stations]]
            name = 'one'
            ap = 'ap1'
            position = ['0 m', '5 m']
            [[stations]]
            name = 'two'
            ap = 'ap2'
            position = ['10 m', '5 m']
            [[flows]]
            name = 'one'
            station = 'one'
            server = 'left'
            transport = 'udp'
            udp = {{ rate = '1 Mb/s' }}
            [[flows]]
            name = 'two'
            station = 'two'
            server = 'right'
            transport = 'udp'
            udp = {{ rate = '1 Mb/s' }}",
            !width.is_empty()
        )
    };
    for (text, expected) in [
        (text("802.11g", "[3, 11]", ""), vec![vec![2422], vec![2462]]),
        (text("802.11a", "[36, 149]", ""), vec![vec![5180], vec![5745]]),
        (text("802.11a", "[1, 36]", ""), vec![vec![5180], vec![5200]]),
        (text("802.11ac", "[40, 44]", ", width = 80"), vec![vec![5200, 5220]]),
    ] {
        let (files, _) = captured(&scenario(&text), &["air"], Format::Pcap, 160, |_, _| {});
        let mut found: Vec<Vec<u16>> = files.values().map(|file| frequencies(file)).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{text}");
    }
}
