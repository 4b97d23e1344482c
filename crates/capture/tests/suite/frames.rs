//! Frames of all kinds, built by the encoders, give the same analysis.

use crate::common::capture;
use crate::common::radio_rates::{vector, vht_rate};
use crate::common::talk::{self, MS, WRAPS, Wrap, ends, upload};
use wifair_capture::frame::{Heard, IpHeader};
use wifair_capture::link::radiotap::{self, RadioRate, ht};
use wifair_capture::{
    AccEcnCounters, AnalysisOptions, CaptureReader, DecodeOutcome, Field, LinkType, Payload, PcapngWriter, TcpOptions,
    analyze, decode, flag, frame, parse,
};
use wifair_phy::{ChannelWidth, Coding, GuardInterval, HtFormat, Ltf, PpduFormat, TxVector};

/// The analysis of the single connection, without the values that depend on the link.
fn said(file: &[u8]) -> Vec<(&'static str, Field)> {
    let analysis = analyze(file, AnalysisOptions::default(), |_, _| true).expect("it is a capture");
    assert!(analysis.damage.is_none());
    let mut connections = analysis.connections();
    let connection = connections.next().expect("there is a connection");
    assert!(connections.next().is_none(), "there is one connection");
    let mut fields = connection.fields();
    fields.retain(|(name, _)| *name != "station");
    for side in [0, 1] {
        fields.extend(connection.side_fields(side));
    }
    fields
}

fn field(said: &[(&'static str, Field)], name: &str, nth: usize) -> Field {
    said.iter().filter(|(there, _)| *there == name).nth(nth).unwrap_or_else(|| panic!("no field {name}")).1.clone()
}

/// Known by construction: 40 segments of 1,000 bytes, one hole at the capture point, one retransmission, 20 ms.
#[test]
fn a_synthetic_upload_is_read_back() {
    let said = said(&talk::capture(&upload(ends(false), 1_000), Wrap::Ethernet, 1_700_000_000_000 * MS, 65_535));
    for (name, expected) in [
        ("unique_bytes_sent", 40_000u64),
        ("actual_data_pkts", 41),
        ("rexmt_data_pkts", 1),
        ("rexmt_data_bytes", 1_000),
        ("rexmt_fast_pkts", 1),
        ("outoforder_pkts", 0), // the tenth segment came alone, behind nothing
        ("max_segm_size", 1_000),
        ("mss_requested", 1_460),
        ("adv_wind_scale", 7),
        ("max_win_adv", 502 << 7),
        ("initial_window_bytes", 9_000),
        ("outstanding_max_bytes", 11_000),
        ("duplicate_acks", 3),
        ("triple_dupacks", 1),
    ] {
        assert_eq!(field(&said, name, 0), Field::Whole(expected), "{name}");
    }
    assert_eq!(field(&said, "complete_conn", 0), Field::Text("yes".into()));
    assert_eq!(field(&said, "ttl_stream_length", 0), Field::Signed(40_000));
    assert_eq!(field(&said, "rtt_from_3whs_ms", 0), Field::Real(20.0));
    // 20 ms to the server and 1 ns to the client, which sent the first segment.
    for (name, expected) in [("handshake_server_s", 0.02), ("handshake_client_s", 1e-9)] {
        let Field::Real(value) = field(&said, name, 0) else { panic!("{name} is a number") };
        assert!((value - expected).abs() < 1e-15, "{name}: {value}");
    }
    assert_eq!(field(&said, "sack_pkts_sent", 1), Field::Whole(3));
}

#[test]
fn every_link_type_gives_the_same_analysis() {
    for v6 in [false, true] {
        let steps = upload(ends(v6), 7_000);
        let expected = said(&talk::capture(&steps, Wrap::Raw, 1_700_000_000_000 * MS, 65_535));
        for wrap in WRAPS {
            let here = said(&talk::capture(&steps, wrap, 1_700_000_000_000 * MS, 65_535));
            for (there, here) in expected.iter().zip(&here) {
                // IPv4 alone has an identification, and with it duplicates made by the hardware.
                assert_eq!(there, here, "{wrap:?}, IPv6: {v6}");
            }
        }
    }
}

/// tcptrace compares 32-bit numbers and fails when they wrap; here the numbers do not matter.
#[test]
fn a_sequence_that_wraps_changes_nothing() {
    let expected = said(&talk::capture(&upload(ends(false), 1_000), Wrap::Raw, 0, 65_535));
    for isn in [u32::MAX, u32::MAX - 1_500, u32::MAX - 20_000, u32::MAX / 2, u32::MAX - 41_000, (1 << 30) - 3_000] {
        assert_eq!(said(&talk::capture(&upload(ends(false), isn), Wrap::Raw, 0, 65_535)), expected, "{isn}");
    }
}

/// A capture of headers only: lengths are taken from IP. 66 bytes hold Ethernet, IP, TCP and timestamps.
#[test]
fn a_short_snap_length_changes_only_what_is_missing() {
    let steps = upload(ends(false), 1_000);
    let whole = said(&talk::capture(&steps, Wrap::Ethernet, 0, 65_535));
    let short = said(&talk::capture(&steps, Wrap::Ethernet, 0, 100));
    let differing: Vec<_> =
        whole.iter().zip(&short).filter(|(whole, short)| whole != short).map(|(whole, _)| whole.0).collect();
    assert_eq!(differing, ["truncated_data", "truncated_packets"]);
    assert_eq!(field(&short, "truncated_packets", 0), Field::Whole(41));
    assert_eq!(field(&short, "truncated_data", 0), Field::Whole(41 * (1_000 - 34)));
}

/// Hop-by-hop, routing, a fragment header of a whole packet (RFC 6946), destination options and authentication headers
/// are skipped (RFC 8200, section 4.1).
#[test]
fn ipv6_extension_headers_are_skipped() {
    let [client, server] = ends(true);
    let segment = frame::Tcp { seq: 5, flags: flag::ACK, payload: 10, ..frame::Tcp::between(client, server) };
    let mut plain = Vec::new();
    frame::tcp(&mut plain, &segment, u32::MAX);
    let extensions: [(u8, Vec<u8>); 5] = [
        (0, vec![0, 0, 1, 4, 0, 0, 0, 0]),
        (43, [vec![0, 2, 0, 0], vec![0; 20]].concat()),
        (44, vec![0, 0, 0, 0, 0, 0, 0, 9]),
        (60, [vec![0, 1, 1, 12], vec![0; 12]].concat()),
        (51, [vec![0, 4], vec![0; 22]].concat()),
    ];
    let mut packet = plain[..40].to_vec();
    packet[6] = extensions[0].0;
    for (at, (_, extension)) in extensions.iter().enumerate() {
        let next = extensions.get(at + 1).map_or(6, |(kind, _)| *kind);
        packet.push(next);
        packet.extend(&extension[1..]);
    }
    packet.extend(&plain[40..]);
    let length = (packet.len() - 40) as u16;
    packet[4..6].copy_from_slice(&length.to_be_bytes());
    fn datagram(bytes: &[u8]) -> wifair_capture::Datagram<'_> {
        wifair_capture::Datagram { bytes, original: bytes.len() as u32, place: 0 }
    }
    let Payload::Tcp(found) = parse(&datagram(&packet)) else { panic!("it is TCP") };
    assert_eq!((found.seq, found.payload, found.missing), (5, 10, 0));
    assert_eq!((found.source, found.destination), (client, server));
    // A later fragment has no TCP header.
    packet[40 + 8 + 24 + 3] = 0x10;
    assert!(matches!(parse(&datagram(&packet)), Payload::Fragment(_)));
}

/// Ethernet pads short frames to 60 bytes, and the padding is not payload (IEEE Std 802.3). A packet that the network
/// card has yet to segment has length 0 in IPv4 (Linux, TSO): the length of its payload comes from the capture record.
#[test]
fn the_length_in_the_ip_header_counts_unless_it_is_zero() {
    let [client, server] = ends(false);
    for (payload, padding, total, expected) in
        [(0_u16, 6_usize, 40_u16, 0), (1_000, 0, 1_040, 1_000), (3_000, 0, 0, 3_000)]
    {
        let segment = frame::Tcp { seq: 5, flags: flag::ACK, payload, ..frame::Tcp::between(client, server) };
        let mut bytes = Vec::new();
        frame::tcp(&mut bytes, &segment, u32::MAX);
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        bytes.resize(bytes.len() + padding, 0);
        let datagram = wifair_capture::Datagram { bytes: &bytes, original: bytes.len() as u32, place: 0 };
        let Payload::Tcp(found) = parse(&datagram) else { panic!("it is TCP") };
        assert_eq!((found.payload, found.missing), (expected, 0), "{payload} and {padding} bytes");
    }
}

/// The length field of IPv6 counts the bytes after the header of 40 bytes; it is zero for a jumbogram too (RFC 2675).
#[test]
fn the_length_in_the_ipv6_header_counts_unless_it_is_zero() {
    let [client, server] = ends(true);
    for (payload, padding, field, expected) in
        [(0_u16, 6_usize, 20_u16, 0), (1_000, 0, 1_020, 1_000), (3_000, 0, 0, 3_000)]
    {
        let segment = frame::Tcp { seq: 5, flags: flag::ACK, payload, ..frame::Tcp::between(client, server) };
        let mut bytes = Vec::new();
        frame::tcp(&mut bytes, &segment, u32::MAX);
        bytes[4..6].copy_from_slice(&field.to_be_bytes());
        bytes.resize(bytes.len() + padding, 0);
        let datagram = wifair_capture::Datagram { bytes: &bytes, original: bytes.len() as u32, place: 0 };
        let Payload::Tcp(found) = parse(&datagram) else { panic!("it is TCP") };
        assert_eq!((found.payload, found.missing), (expected, 0), "{payload} and {padding} bytes");
    }
}

/// ACKs received by the sender in a real capture, parsed and written again, give the same bytes: lengths, options,
/// checksums. (Segments sent by the capturing host have no checksum yet.)
#[test]
fn segments_are_written_as_linux_writes_them() {
    let file = capture("a_reno_down_snd.pcap");
    let mut reader = CaptureReader::new(&file[..]).expect("it is a capture");
    let mut compared = 0;
    while let Some(record) = reader.next().expect("bytes can be read") {
        let (mut same, mut packet) = (false, Vec::new());
        let outcome =
            decode(record.link, record.data, record.original, &mut |datagram: &wifair_capture::Datagram<'_>| {
                let Payload::Tcp(segment) = parse(datagram) else { return };
                if segment.source.port == 5_001 || segment.has(flag::SYN) {
                    return;
                }
                let ip = IpHeader::between(segment.source, segment.destination);
                let tcp = frame::Tcp {
                    ip: IpHeader { id: segment.ip_id, ttl: segment.ttl, ..ip },
                    seq: segment.seq,
                    ack: segment.ack,
                    flags: segment.flags,
                    ae: segment.ae,
                    window: segment.window,
                    options: TcpOptions::parse(segment.options),
                    payload: 0,
                };
                frame::tcp(&mut packet, &tcp, 0);
                same = datagram.bytes.starts_with(&packet);
            });
        assert!(matches!(outcome, DecodeOutcome::Ip | DecodeOutcome::Other));
        if !packet.is_empty() {
            assert!(same, "{:02x?}\n{packet:02x?}", record.data);
            compared += 1;
        }
    }
    assert!(compared > 3_000, "{compared}");
}

/// RFC 9768, sections 3.1 and 3.2.3: AE is the bit before CWR; an option of kind 174 has the counters of ECT(1), CE and
/// ECT(0) in 24 bits each, and is padded.
#[test]
fn accurate_ecn_stands_in_flags_and_option() {
    let [client, server] = ends(false);
    let counters = AccEcnCounters { ect1_first: true, counters: [0x01_0203, 0x04_0506, 0], fields: 2 };
    let options = TcpOptions { acc_ecn: Some(counters), ..TcpOptions::default() };
    let flags = flag::ACK | flag::ECE;
    let mut bytes = Vec::new();
    let tcp = frame::Tcp { flags, ae: true, options, ..frame::Tcp::between(client, server) };
    frame::tcp(&mut bytes, &tcp, u32::MAX);
    assert_eq!(bytes[20 + 12..20 + 14], [0x71, 0x50]);
    assert_eq!(bytes[40..], [174, 8, 1, 2, 3, 4, 5, 6]);
    let datagram = wifair_capture::Datagram { bytes: &bytes, original: bytes.len() as u32, place: 0 };
    let Payload::Tcp(found) = parse(&datagram) else { panic!("it is TCP") };
    assert_eq!((found.ace(), TcpOptions::parse(found.options)), (0b101, options));
}

/// RFC 791 and RFC 8200: expedited forwarding (46, RFC 3246) with congestion experienced (3) makes 0xbb, in IPv6
/// between version and flow label.
#[test]
fn dscp_and_ecn_stand_in_the_ip_header() {
    for (v6, expected) in [(false, [0x45, 0xbb]), (true, [0x6b, 0xb0])] {
        let [client, server] = ends(v6);
        let mut packet = Vec::new();
        let ip = IpHeader { dscp: 46, ecn: 3, ..IpHeader::between(client, server) };
        frame::tcp(&mut packet, &frame::Tcp { ip, ..frame::Tcp::default() }, 0);
        assert_eq!(packet[..2], expected);
    }
}

/// radiotap.org, fields MCS and VHT: everything is known; format and code by their bits.
#[test]
fn format_and_code_of_ht_and_vht_are_known() {
    let heard = |vector: TxVector| {
        let rate = Some(RadioRate::Mcs(TxVector { coding: Some(Coding::Ldpc), ..vector }));
        Heard { rate, frequency: 5_180, ..Heard::default() }
    };
    let mut bytes = vec![];
    let ht = ht(15, ChannelWidth::Mhz40, HtFormat::Greenfield, GuardInterval::Ns400);
    frame::radiotap(&mut bytes, &heard(ht));
    assert_eq!(bytes[14..], [0x7f, 0b1_1101, 15]);
    let mut bytes = vec![];
    let vht = vht_rate(9, 2, 80, false);
    frame::radiotap(&mut bytes, &heard(vector(vht)));
    assert_eq!(bytes[14..], [0x65, 0, 0, 4, 0x92, 0, 0, 0, 1, 0, 0, 0]);
}

/// radiotap.org, fields HE, U-SIG and EHT: the words are put together by hand. HE with extended range (format 1) at MCS
/// 0 on 106 tones (6), with BCC and a 4x LTF (3); 320 MHz (4) with a guard interval of 1600 ns (1) at MCS 13 and two
/// streams, with LDPC.
#[test]
fn modes_of_he_and_eht_are_read_back() {
    let vector = TxVector::new(PpduFormat::HeExtended, 0, 1, 102, GuardInterval::Ns800);
    let extended = Some(RadioRate::Mcs(TxVector { ltf: Ltf::X4, coding: Some(Coding::Bcc), ..vector }));
    let mut bytes = vec![];
    frame::radiotap(&mut bytes, &Heard { rate: extended, frequency: 5_180, ..Heard::default() });
    let words = [0x40e1, 0x0002, 0, 0, 3 << 6 | 6, 1].map(u16::to_le_bytes);
    assert_eq!(bytes[14..], *words.as_flattened());
    let (radio, rest) = radiotap::parse(&bytes).expect("a header");
    assert_eq!((radio.rate, rest), (extended, &[][..]));
    // Flags, channel and A-MPDU; EHT: type, length, known, nine words, user; U-SIG: type, length, three words.
    let mut eht: Vec<u8> =
        vec![0, 0, 88, 0, 0x0a, 0, 0x10, 0x10, 0x10, 0, 0x3c, 0x14, 0x40, 1, 0, 0, 7, 0, 0, 0, 12, 0, 0, 0];
    let words =
        [44 << 16 | 34, 0x0004, 0x0080, 0, 0, 0, 0, 0, 0, 0, 0, 0x01d8_0096, 12 << 16 | 33, 0x0002_0003, 0, 0_u32];
    words.iter().for_each(|word| eht.extend(word.to_le_bytes()));
    let (radio, _) = radiotap::parse(&eht).expect("a header");
    assert_eq!(radio.ampdu, Some(7));
    let vector = TxVector::new(PpduFormat::Eht, 13, 2, 3_920, GuardInterval::Ns1600);
    assert_eq!(radio.rate, Some(RadioRate::Mcs(TxVector { coding: Some(Coding::Ldpc), ..vector })));
}

/// tshark, if installed, reports no error in any frame.
#[test]
fn tshark_reports_no_error() {
    let mut file = Vec::new();
    let mut writer = PcapngWriter::new(&mut file).expect("memory can be written");
    let mut expected = Vec::new();
    for v6 in [false, true] {
        for wrap in WRAPS {
            let name = format!("{wrap:?}, IPv6 {v6}");
            let interface = writer.interface(&name, wrap.link(), 0).expect("memory can be written");
            for (number, (at, tcp)) in upload(ends(v6), 1_000).iter().enumerate() {
                let frame = wrap.frame(tcp, number as u16);
                writer.write(interface, at + MS, frame.len() as u32, &frame).expect("memory can be written");
                expected.push((name.clone(), v6, wrap.link() == LinkType::Radiotap));
            }
        }
    }
    let path = std::env::temp_dir().join(format!("wifair-frames-{}.pcapng", std::process::id()));
    std::fs::write(&path, file).expect("the folder for temporary files can be written");
    let told = std::process::Command::new("tshark")
        .args(["-n", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "wlan.check_checksum:TRUE"])
        .args(["-T", "fields", "-e", "_ws.malformed", "-e", "tcp.checksum.status", "-e", "ip.checksum.status"])
        .args(["-e", "wlan.fcs.status", "-r"])
        .arg(&path)
        .output();
    std::fs::remove_file(&path).expect("it was just written");
    let Ok(told) = told else { return };
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert_eq!(text.lines().count(), expected.len(), "{}", String::from_utf8_lossy(&told.stderr));
    for (line, (name, v6, air)) in text.lines().zip(expected) {
        let cells: Vec<&str> = line.split('\t').collect();
        assert!(cells[0].is_empty() && cells[1] == "1", "{name}: {line}");
        assert!(v6 || cells[2] == "1", "{name}: {line}");
        assert!(!air || cells[3] == "1", "{name}: {line}");
    }
}
