//! Results that tcptrace does not have (limits, causes, sessions, shares, air time), compared with values known in
//! advance.

use crate::common::radio_rates::{he_rate, ht_rate, vector, vht_rate};
use crate::common::talk::{self, MS, Step, Wrap, ends};
use crate::common::{analyzed, capture};
use wifair_capture::frame::{self, IpHeader, Tcp, UdpDatagram};
use wifair_capture::link::radiotap::{RadioInfo, RadioRate};
use wifair_capture::link::wifi::air_time_us;
use wifair_capture::{
    Address, Analysis, AnalysisOptions, Endpoint, Field, Filter, LinkType, PcapWriter, StationDirection, TcpOptions,
    analyze, flag,
};
use wifair_phy::{HtFormat, Ltf, PpduFormat, TxVector};
use wifair_units::{BitRate, Duration};

fn number(analysis: &Analysis, connection: usize, side: usize, name: &str) -> f64 {
    let fields = analysis.connections().nth(connection).expect("there is a connection").side_fields(side);
    match fields.into_iter().find(|(there, _)| *there == name).expect("the field is there").1 {
        Field::Whole(value) => value as f64,
        Field::Signed(value) => value as f64,
        Field::Real(value) => value,
        other => panic!("{name} is {other:?}"),
    }
}

/// IEEE 802.11-2020: 16.3.4 (long preamble 144 + 48 us, short 72 + 24 us, bits rounded up to whole us), 17.4.3 (20 us,
/// symbols of 4 us with 4 bits for each Mb/s, 22 bits of service and tail), 18.3.2.4 (6 us more at 2.4 GHz), 19.4.3 (HT
/// mixed: 36 us with one stream).
#[test]
fn air_times_follow_the_standard() {
    let at =
        |mhz: u16, short_preamble: bool| RadioInfo { frequency: Some(mhz), short_preamble, ..RadioInfo::default() };
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    // 12224 bits at 11 Mb/s take 1111.3 us.
    near(air_time_us(0..1_528, RadioRate::Legacy(22), &at(2_437, false)), 192.0 + 1_112.0);
    near(air_time_us(0..1_528, RadioRate::Legacy(22), &at(2_437, true)), 96.0 + 1_112.0);
    near(air_time_us(0..14, RadioRate::Legacy(2), &at(2_437, true)), 192.0 + 112.0);
    // 1536 bytes at 54 Mb/s: 22 + 12288 bits in symbols of 216 bits are 57 symbols.
    near(air_time_us(0..1_536, RadioRate::Legacy(108), &at(5_180, false)), 20.0 + 4.0 * 57.0);
    near(air_time_us(0..1_536, RadioRate::Legacy(108), &at(2_437, false)), 20.0 + 4.0 * 57.0 + 6.0);
    // 27 Mb/s in a channel of 10 MHz has the same bits in a symbol of 8 us; 13.5 Mb/s in 5 MHz in one of 16 us.
    for (half_mbps, halvings) in [(54, 1), (27, 2)] {
        let narrow = RadioInfo { halvings, ..at(5_180, false) };
        near(
            air_time_us(0..1_536, RadioRate::Legacy(half_mbps), &narrow),
            f64::from(1 << halvings) * (20.0 + 4.0 * 57.0),
        );
    }
    // MCS 7 at 20 MHz: 260 bits per symbol, 48 symbols.
    let ht = ht_rate(7, false, false);
    near(air_time_us(0..1_536, ht, &at(5_180, false)), 36.0 + 4.0 * 48.0);
    // Greenfield with one stream: 8 us each for short training, long training and HT-SIG.
    let greenfield = |rate| RadioRate::Mcs(TxVector { format: PpduFormat::Ht(HtFormat::Greenfield), ..vector(rate) });
    near(air_time_us(0..1_536, greenfield(ht), &at(5_180, false)), 24.0 + 4.0 * 48.0);
    // A later MPDU of an A-MPDU has no preamble; both take 22 + 8 * 3076 bits in 95 symbols.
    near(air_time_us(1_536..3_076, ht, &at(5_180, false)), 4.0 * (95.0 - 48.0));
    // VHT at MCS 0 and 20 MHz: 26 bits a symbol and stream, 4 us each for 1, 2, 4, 4, 6, 6, 8 and 8 training fields.
    for (streams, fields) in [(1, 1), (2, 2), (3, 4), (4, 4), (5, 6), (6, 6), (7, 8), (8, 8)] {
        let vht = vht_rate(0, streams, 20, false);
        let symbols = f64::from(822_u16.div_ceil(26 * u16::from(streams)));
        near(air_time_us(0..100, vht, &at(5_180, false)), 36.0 + 4.0 * (f64::from(fields) + symbols));
    }
    // A short guard interval: 48 symbols of 3.6 us end after 172.8 us, and the PPDU 3.2 us later, at a multiple of 4
    // us. Greenfield needs no such end.
    let short = ht_rate(15, false, true);
    near(air_time_us(0..3_076, short, &at(5_180, false)), 40.0 + 176.0);
    near(air_time_us(3_076..3_110, short, &at(5_180, false)), 0.0);
    near(air_time_us(0..3_076, greenfield(short), &at(5_180, false)), 28.0 + 172.8);
    let short = vht_rate(7, 2, 20, true);
    near(air_time_us(0..3_076, short, &at(5_180, false)), 44.0 + 176.0);
    // STBC: another training field, and symbols in pairs. 822 bits in symbols of 52 are 16, of 78 are 11 and one more.
    let stbc = |rate, stbc| RadioRate::Mcs(TxVector { stbc, ..vector(rate) });
    for (mcs, symbols) in [(1, 16.0), (2, 12.0)] {
        let ht = ht_rate(mcs, false, false);
        near(air_time_us(0..100, stbc(ht, 1), &at(5_180, false)), 40.0 + 4.0 * symbols);
    }
    // Two spatial and four space-time streams: 4 training fields; 822 bits in symbols of 52 are 16.
    let vht = vht_rate(0, 2, 20, false);
    near(air_time_us(0..100, stbc(vht, 2), &at(5_180, false)), 36.0 + 4.0 * (4.0 + 16.0));
    // HE at MCS 0 and 20 MHz: 117 bits a symbol of 12.8 us; the training symbol is of the length that the radio tells.
    for (ltf, length) in [(Ltf::X2, 6.4), (Ltf::X1, 3.2), (Ltf::X4, 12.8)] {
        let he = RadioRate::Mcs(TxVector { ltf, ..vector(he_rate(0, 1, 234, 800)) });
        near(air_time_us(0..100, he, &at(5_180, false)), 36.0 + length + 0.8 + 13.6 * 8.0);
    }
}

/// The slow reader was limited by its window, the bulk sender by the network, the sender of 10 KB per second by itself.
#[test]
fn limits_of_senders_are_found() {
    let slow = analyzed("e3_zero_window_snd.pcap", AnalysisOptions::default());
    assert!(number(&slow, 0, 1, "limited_by_receiver") > 0.9);
    let bulk = analyzed("a_reno_down_snd.pcap", AnalysisOptions::default());
    assert!(number(&bulk, 0, 1, "limited_by_congestion") > 0.99);
    let paced = analyzed("d_intermittent_ap.pcap", AnalysisOptions::default());
    assert!(number(&paced, 1, 1, "limited_by_application") > 0.8);
    for (analysis, connection) in [(&slow, 0), (&bulk, 0), (&paced, 1)] {
        let sum: f64 = ["application", "receiver", "congestion", "unknown"]
            .iter()
            .map(|limit| number(analysis, connection, 1, &format!("limited_by_{limit}")))
            .sum();
        assert!((sum - 1.0).abs() < 1e-9);
    }
}

/// At the access point's wire, in front of a queue that drops ACKs: the sender's timer expires after 1, 2 and 4 s, and
/// half a second after the last ACK it has new data. Of the 7.5 s between data, 7 s are due to the network.
#[test]
fn a_sender_whose_acks_are_lost_after_the_capture_point_waits_for_the_network() {
    let [client, server] = ends(false);
    let mut steps = vec![
        (0, Tcp { seq: 0, flags: flag::SYN, window: 60_000, ..Tcp::between(client, server) }),
        (10 * MS, Tcp { ack: 1, flags: flag::SYN | flag::ACK, window: 60_000, ..Tcp::between(server, client) }),
    ];
    for (at, seq) in [(100, 1), (1_100, 1), (3_100, 1), (7_100, 1), (7_600, 1_001)] {
        let data = Tcp { seq, ack: 1, flags: flag::ACK, payload: 1_000, ..Tcp::between(client, server) };
        steps.push((at * MS, data));
        let ack = Tcp { seq: 1, ack: seq + 1_000, flags: flag::ACK, window: 60_000, ..Tcp::between(server, client) };
        steps.push(((at + 10) * MS, ack));
    }
    for (id, (_, tcp)) in steps.iter_mut().enumerate() {
        tcp.ip.id = id as u16 + 1;
        tcp.options = TcpOptions::default();
    }
    let file = talk::capture(&steps, Wrap::Raw, 1_000 * MS, 100);
    let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
    assert_eq!(number(&analysis, 0, 0, "rexmt_spurious_pkts"), 3.0);
    let network = number(&analysis, 0, 0, "limited_by_congestion");
    assert!((network - 7.0 / 7.5).abs() < 1e-9, "{network}");
}

/// The slow reader's 14 zero windows were probed 14 times (tshark: 14 keep-alives); tcptrace counts none of these.
#[test]
fn empty_probes_of_a_zero_window_are_counted() {
    let slow = analyzed("e3_zero_window_snd.pcap", AnalysisOptions::default());
    assert_eq!(number(&slow, 0, 1, "window_probes"), 14.0);
    assert_eq!(number(&slow, 0, 1, "zwnd_probe_pkts"), 0.0);
    assert_eq!(number(&slow, 0, 0, "zero_win_adv"), 14.0);
    // According to the receiver, seven segments arrived twice: seven D-SACKs.
    assert_eq!(number(&slow, 0, 1, "rexmt_spurious_pkts"), 7.0);
}

/// Three sessions of 10,000 bytes on a wire of 10 ms: each is sent in 9 ms and acknowledged 10 ms later.
fn sessions() -> Vec<Step> {
    let [client, server] = ends(false);
    let mut steps = vec![
        (0, Tcp { seq: 0, flags: flag::SYN, window: 60_000, ..Tcp::between(client, server) }),
        (10 * MS, Tcp { ack: 1, flags: flag::SYN | flag::ACK, window: 60_000, ..Tcp::between(server, client) }),
    ];
    for session in 0..3u32 {
        let start = (100 + 2_000 * u64::from(session)) * MS;
        for i in 0..10 {
            let seq = 1 + session * 10_000 + i * 1_000;
            let data = Tcp { seq, ack: 1, flags: flag::ACK, payload: 1_000, ..Tcp::between(client, server) };
            steps.push((start + u64::from(i) * MS, data));
            let ack =
                Tcp { seq: 1, ack: seq + 1_000, flags: flag::ACK, window: 60_000, ..Tcp::between(server, client) };
            steps.push((start + u64::from(10 + i) * MS, ack));
        }
    }
    steps.sort_by_key(|(at, _)| *at);
    for (id, (_, tcp)) in steps.iter_mut().enumerate() {
        tcp.ip.id = id as u16 + 1;
        tcp.options = TcpOptions::default();
    }
    steps
}

/// jung2016, equations 2 and 3, by hand: with S = 1 MB/s, r = 10,000 / (0.009 x 10^6) = 1.111 for each session up to
/// its last byte sent, and 10,000 / (0.019 x 10^6) = 0.526 up to its last byte acknowledged.
#[test]
fn instantaneous_fairness_is_that_of_the_paper() {
    let file = talk::capture(&sessions(), Wrap::Raw, 1_000 * MS, 100);
    let settings = AnalysisOptions { fair_share: Some(BitRate::from_mbps(8)), ..AnalysisOptions::default() };
    let analysis = analyze(&file[..], settings, |_, _| true).expect("it is a capture");
    let sessions = analysis.fairness().sessions;
    assert_eq!((sessions.sessions.len(), sessions.unfinished, sessions.unmeasured), (3, 0, 0));
    assert!(sessions.sessions.iter().all(|(_, session)| session.bytes == 10_000));
    let (sent, acked) = (sessions.index_sent.expect("sent"), sessions.index_acked.expect("acknowledged"));
    assert!((sent - 10.0 / 9.0).abs() < 1e-9, "{sent}");
    assert!((acked - 10.0 / 19.0).abs() < 1e-9, "{acked}");
    // Two pauses of 2 s minus 19 ms each, with nothing to send.
    assert_eq!(number(&analysis, 0, 0, "idle_periods"), 2.0);
    assert!((number(&analysis, 0, 0, "idle_s") - 2.0 * 1.981).abs() < 1e-9);
    // If the required pause is longer than any there is, the flow is one endless session without an index.
    let settings = AnalysisOptions { pause: Duration::from_secs(3), ..AnalysisOptions::default() };
    let analysis = analyze(&file[..], settings, |_, _| true).expect("it is a capture");
    assert!(analysis.fairness().sessions.sessions.is_empty());
}

/// A last session whose end is not acknowledged is over if the connection is, and unfinished otherwise.
#[test]
fn a_session_without_its_last_ack_is_unfinished_unless_the_connection_ends() {
    for (closes, expected) in [(false, (2, 1)), (true, (3, 0))] {
        let mut steps = sessions();
        steps.pop();
        let [client, server] = ends(false);
        if closes {
            let fin = Tcp { seq: 30_001, ack: 1, flags: flag::FIN | flag::ACK, ..Tcp::between(client, server) };
            steps.push((5_000 * MS, fin));
        }
        let file = talk::capture(&steps, Wrap::Raw, 1_000 * MS, 100);
        let settings = AnalysisOptions { fair_share: Some(BitRate::from_mbps(8)), ..AnalysisOptions::default() };
        let analysis = analyze(&file[..], settings, |_, _| true).expect("it is a capture");
        let sessions = analysis.fairness().sessions;
        assert_eq!((sessions.sessions.len(), sessions.unfinished), expected);
    }
}

/// Only kinds of packets that were present and not analysed are listed: none in this capture.
#[test]
fn kinds_without_packets_are_not_listed() {
    let file = talk::capture(&sessions(), Wrap::Raw, 1_000 * MS, 100);
    let json = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture").to_json();
    let listed = json.split("\"not_analysed\"").nth(1).expect("the object is there");
    let listed = &listed[..listed.find('}').expect("it ends")];
    assert!(!listed.contains(": 0"), "{listed}");
}

/// Outstanding data of one session by hand: it grows by 1,000 bytes per ms for 10 ms and shrinks likewise, so its area
/// is 10,000 bytes x 10 ms. There are three sessions, from the first data at 100 ms to the last ACK at 4,119 ms.
#[test]
fn outstanding_data_has_its_mean_over_time() {
    let file = talk::capture(&sessions(), Wrap::Raw, 1_000 * MS, 100);
    let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
    assert_eq!(number(&analysis, 0, 0, "outstanding_max_bytes"), 10_000.0);
    let mean = number(&analysis, 0, 0, "outstanding_mean_bytes");
    assert!((mean - 3.0 * 10_000.0 * 10.0 / 4_019.0).abs() < 1e-6, "{mean}");
}

/// In capture b the second upload started later. The shares of both while both are active follow from their bytes in
/// that time, and the index follows from the shares: (x + y)^2 / (2 (x^2 + y^2)).
#[test]
fn fairness_of_two_uploads() {
    let settings = AnalysisOptions { local: vec![(Address::v4(0x0a0a_0100), 24)], ..AnalysisOptions::default() };
    let fairness = analyzed("b_cubic_2up_ap.pcap", settings).fairness();
    let [first, second] = &fairness.flows[..] else { panic!("there are two flows") };
    assert_eq!((first.way, second.way), (Some(StationDirection::Up), Some(StationDirection::Up)));
    let expected = |x: f64, y: f64| (x + y).powi(2) / (2.0 * (x * x + y * y));
    let jain = fairness.jain.expect("data was sent");
    assert!((jain - expected(first.bytes as f64, second.bytes as f64)).abs() < 1e-12);
    assert!(fairness.jain_overlap.expect("they overlap") > jain, "the later start is not unfair");
    assert!(fairness.jain_in_bins.iter().flatten().all(|index| (0.5..=1.0 + 1e-12).contains(index)));
    let bytes: u64 = fairness.flows.iter().map(|flow| flow.bytes_in_bins.iter().sum::<u64>()).sum();
    assert_eq!(bytes, first.bytes + second.bytes, "every byte is in a bin");
    assert_eq!(fairness.uplink_downlink, Some((bytes, 0)));
    let hosts: u64 = fairness.hosts.iter().map(|host| host.sent).sum();
    assert_eq!((hosts, fairness.hosts.len()), (bytes, 3));
}

/// The number of bins stays bounded however narrow they are requested, and no byte is lost.
#[test]
fn narrow_bins_become_wider_not_more_numerous() {
    let settings = AnalysisOptions { bin: Some(Duration::from_nanos(1)), ..AnalysisOptions::default() };
    let fairness = analyzed("a_reno_down_snd.pcap", settings).fairness();
    let flow = &fairness.flows[0];
    assert!(flow.bytes_in_bins.len() <= wifair_capture::MOST_BINS);
    assert_eq!(flow.bytes_in_bins.iter().sum::<u64>(), 8_000_000);
}

#[test]
fn a_filter_accepts_exactly_its_packets() {
    let filtered =
        |filter: Filter| analyzed("d_intermittent_ap.pcap", AnalysisOptions { filter, ..AnalysisOptions::default() });
    let all = filtered(Filter::default()).counts.tcp;
    let one = filtered(Filter { ports: vec![5_002], ..Filter::default() });
    assert_eq!((one.connections().len(), one.counts.tcp + one.counts.filtered), (1, all));
    let host = filtered(Filter { hosts: vec![Address::v4(0x0a0a_0102)], ..Filter::default() });
    assert_eq!(host.counts.tcp + one.counts.tcp, all);
}

/// Packets must not need memory of their own. The test counts what the analysis keeps for each connection, which must
/// not depend on the number of packets.
#[test]
fn results_do_not_grow_with_the_packets() {
    let once = capture("a_reno_down_snd.pcap");
    let analysis = analyze(&once[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
    assert!(analysis.rows.is_none());
    let json = analysis.to_json().len();
    assert!(json < 20_000, "8,858 packets gave {json} bytes");
}

/// 40 segments of 1,000 bytes: the rate is that of new bytes over the time between first and last data, 10 to 400 ms,
/// and over the connection's life, from the SYN at 0 ms to the last ACK at 402 ms. Each ACK comes after 2 ms.
#[test]
fn rates_are_bytes_over_time() {
    let [client, server] = ends(false);
    let mut steps = vec![
        (0, Tcp { flags: flag::SYN, window: 60_000, ..Tcp::between(client, server) }),
        (MS, Tcp { ack: 1, flags: flag::SYN | flag::ACK, window: 60_000, ..Tcp::between(server, client) }),
    ];
    for number in 1..=40 {
        let (at, seq) = (u64::from(10 * number) * MS, 1 + 1_000 * (number - 1));
        let data = Tcp { seq, ack: 1, flags: flag::ACK, payload: 1_000, ..Tcp::between(client, server) };
        let ack = Tcp { seq: 1, ack: seq + 1_000, flags: flag::ACK, window: 60_000, ..Tcp::between(server, client) };
        steps.extend([(at, data), (at + 2 * MS, ack)]);
    }
    let file = talk::capture(&steps, Wrap::Ethernet, 1_000 * MS, 100);
    let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
    let rates = ["goodput_bps", "goodput_sending_bps"].map(|name| number(&analysis, 0, 0, name));
    for (rate, expected) in rates.into_iter().zip([320_000.0 / 0.402, 320_000.0 / 0.390]) {
        assert!((rate / expected - 1.0).abs() < 1e-12, "{rate} instead of {expected}");
    }
    for name in ["rtt_full_size_min_s", "rtt_full_size_mean_s", "rtt_full_size_max_s"] {
        assert!((number(&analysis, 0, 0, name) - 0.002).abs() < 1e-12, "{name}");
    }
}

/// Data in bins of 100 ms at 0, 100 and 500 ms, so the longest time without any is 300 ms.
#[test]
fn the_longest_stall_is_reported() {
    let [client, server] = ends(false);
    let mut steps = vec![
        (0, Tcp { flags: flag::SYN, window: 60_000, ..Tcp::between(client, server) }),
        (MS, Tcp { ack: 1, flags: flag::SYN | flag::ACK, window: 60_000, ..Tcp::between(server, client) }),
    ];
    for (number, ms) in (0..).zip([10, 110, 510]) {
        let seq = 1 + 1_000 * number;
        let data = Tcp { seq, ack: 1, flags: flag::ACK, payload: 1_000, ..Tcp::between(client, server) };
        let ack = Tcp { seq: 1, ack: seq + 1_000, flags: flag::ACK, window: 60_000, ..Tcp::between(server, client) };
        steps.extend([(ms * MS, data), ((ms + 2) * MS, ack)]);
    }
    let file = talk::capture(&steps, Wrap::Ethernet, 1_000 * MS, 100);
    let settings = AnalysisOptions { bin: Some(Duration::from_millis(100)), ..AnalysisOptions::default() };
    let fairness = analyze(&file[..], settings, |_, _| true).expect("it is a capture").fairness();
    assert!((fairness.flows[0].longest_stall_s - 0.3).abs() < 1e-12, "{}", fairness.flows[0].longest_stall_s);
}

/// RFC 9293, section 3.4: a SYN that is sent again has the same number, and a new connection chooses another one. A
/// SYN-ACK begins no connection.
#[test]
fn a_syn_with_another_number_begins_a_connection() {
    let [client, server] = ends(false);
    let syn = |ms: u64, seq| (ms * MS, Tcp { seq, flags: flag::SYN, window: 60_000, ..Tcp::between(client, server) });
    let answer = |ms: u64, seq| {
        (ms * MS, Tcp { seq, ack: 101, flags: flag::SYN | flag::ACK, window: 60_000, ..Tcp::between(server, client) })
    };
    for (what, steps, connections) in [
        ("sent again", vec![syn(0, 100), syn(1_000, 100)], 1),
        ("another", vec![syn(0, 100), syn(1_000, 70_000)], 2),
        ("other answers", vec![syn(0, 100), answer(1, 500), answer(2, 90_000)], 1),
    ] {
        let file = talk::capture(&steps, Wrap::Ethernet, 1_000 * MS, 100);
        let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
        assert_eq!(analysis.connections().count(), connections, "{what}");
    }
}

/// Of three connections only the two largest are kept; the third is counted with the others.
#[test]
fn the_largest_connections_are_kept() {
    let [client, server] = ends(false);
    let mut steps = vec![];
    for (port, segments) in [(40_000, 1), (40_001, 4), (40_002, 3)] {
        let client = Endpoint { port, ..client };
        steps.push((0, Tcp { flags: flag::SYN, window: 60_000, ..Tcp::between(client, server) }));
        for number in 0..segments {
            let data = Tcp { seq: 1 + 1_000 * number, ack: 1, flags: flag::ACK, ..Tcp::between(client, server) };
            steps.push((u64::from(number + 1) * MS, Tcp { payload: 1_000, ..data }));
        }
    }
    steps.sort_by_key(|(at, _)| *at);
    let file = talk::capture(&steps, Wrap::Ethernet, 1_000 * MS, 100);
    let settings = AnalysisOptions { most_connections: 2, rows: true, ..AnalysisOptions::default() };
    let analysis = analyze(&file[..], settings, |_, _| true).expect("it is a capture");
    assert_eq!([0, 1].map(|kept| number(&analysis, kept, 0, "unique_bytes_sent")), [4_000.0, 3_000.0]);
    assert_eq!((analysis.connections().count(), analysis.others.connections, analysis.others.bytes), (2, 1, 1_000));
}

/// An Ethernet frame whose type is a length holds LLC: without SNAP, as fe fe 03 of IS-IS, it is no IP packet, and
/// nothing of it is malformed. IP packets of another protocol, three of OSPF, are counted, and so are the two that were
/// captured without all of their IP header.
#[test]
fn packets_not_analysed_are_counted_by_kind() {
    let mut file = Vec::new();
    let mut writer = PcapWriter::new(&mut file, LinkType::Ethernet, 65_535).expect("memory can be written");
    let mut routing = vec![1, 0x80, 0xc2, 0, 0, 0x14, 2, 0, 0, 0, 0, 1, 0, 64, 0xfe, 0xfe, 0x03];
    routing.resize(78, 0);
    let mut ospf = vec![1, 0, 0x5e, 0, 0, 5, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 1, 0, 0, 1, 89, 0, 0];
    ospf.extend([10, 0, 0, 1, 224, 0, 0, 5]);
    ospf.resize(60, 0);
    for (at, frame) in (0..).zip([&routing, &ospf, &ospf, &ospf]) {
        writer.write(at * MS, frame.len() as u32, frame).expect("memory can be written");
    }
    for at in 4..6 {
        writer.write(at * MS, 60, &ospf[..24]).expect("memory can be written");
    }
    let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
    let counts = &analysis.counts;
    assert_eq!((counts.other_ip, counts.not_ip, counts.short, counts.malformed), (3, 1, 2, 0));
}

/// Five datagrams of 100 bytes, one every 10 ms: 4,000 bits in 40 ms.
#[test]
fn the_rate_of_datagrams_is_reported() {
    let [source, destination] = ends(false);
    let mut file = Vec::new();
    let mut writer = PcapWriter::new(&mut file, LinkType::RawIp, 65_535).expect("memory can be written");
    for at in 0..5 {
        let mut packet = Vec::new();
        let ip = IpHeader { id: 1, ..IpHeader::between(source, destination) };
        let datagram = UdpDatagram { ip, payload: 100, content: &[] };
        frame::udp(&mut packet, &datagram, 100);
        writer.write(10 * at * MS, packet.len() as u32, &packet).expect("memory can be written");
    }
    let analysis = analyze(&file[..], AnalysisOptions::default(), |_, _| true).expect("it is a capture");
    let json = analysis.to_json();
    let rate = json.split("\"rate_bps\": ").nth(1).expect("there is a flow of datagrams");
    let rate: f64 = rate[..rate.find(['\n', ',', '}']).expect("it ends")].parse().expect("a number");
    assert!((rate - 100_000.0).abs() < 1e-6, "{rate}");
}
