//! Entry points for the fuzzer and for the tests on its corpus: they accept any bytes and check what must always hold.

use crate::analysis::{AnalysisOptions, Analyzer, analyze};
use crate::error::Error;
use crate::link::LinkType;
use crate::reader::Record;
use crate::segment::{Address, Endpoint, Segment};
use crate::tcp::connection::{CapturedConnection, ConnectionKey, Context};

/// Reads the bytes as a capture file.
///
/// # Panics
/// If an invariant is violated.
pub fn file(bytes: &[u8]) {
    let settings = AnalysisOptions { rows: true, ..AnalysisOptions::default() };
    match analyze(bytes, settings, |_, _| true) {
        Ok(analysis) => {
            assert!(!analysis.to_json().is_empty());
            let _ = analysis.connections_csv();
            if let Some(rows) = &analysis.rows {
                assert_eq!(rows.len() as u64, analysis.counts.tcp, "each segment has its row");
                let _ = rows.to_csv();
            }
        }
        Err(Error::Io(error)) => panic!("memory can be read: {error}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Reads the bytes as a frame; the first byte chooses the link type.
pub fn frame(bytes: &[u8]) {
    const LINKS: [LinkType; 8] = [
        LinkType::Ethernet,
        LinkType::RawIp,
        LinkType::Loopback,
        LinkType::Cooked,
        LinkType::Cooked2,
        LinkType::Wifi,
        LinkType::Radiotap,
        LinkType::Other(9),
    ];
    let Some((first, data)) = bytes.split_first() else { return };
    let link = LINKS[usize::from(first & 7)];
    let mut analyzer = Analyzer::new(AnalysisOptions { rows: true, ..AnalysisOptions::default() });
    for (nanos, original) in [(0, data.len() as u32), (1_000_000, 40), (2_000_000, u32::MAX)] {
        let original = original.max(data.len() as u32);
        analyzer.take(&Record { nanos, interface: 0, link, original, data });
    }
    let analysis = analyzer.finish(Vec::new(), None);
    assert!(!analysis.to_json().is_empty());
}

/// Reads the bytes as segments of one connection, eight bytes each: side and flags, step of the sequence number, ACK,
/// payload, window, time.
///
/// # Panics
/// If an invariant is violated.
pub fn segments(bytes: &[u8]) {
    let ends = [1, 2].map(|last| Endpoint { address: Address::v4(last), port: last as u16 });
    let mut connection: Option<CapturedConnection> = None;
    let mut nanos = 0u64;
    let mut next = [u32::MAX - 5_000, 7u32];
    let mut payloads = [0u64; 2];
    for step in bytes.chunks_exact(8) {
        let side = usize::from(step[0] >> 7);
        let signed = |byte: u8| i32::from(byte.cast_signed());
        next[side] = next[side].wrapping_add_signed(signed(step[1]) * 100);
        nanos += u64::from(step[5]) * u64::from(step[6]) * 10_000;
        let mut options = [0u8; 22];
        let edge = next[1 - side].wrapping_add_signed(signed(step[7]) * 50);
        options[..4].copy_from_slice(&[1, 1, 5, 18]);
        for (at, value) in
            [edge, edge.wrapping_add(200), edge.wrapping_sub(300), edge.wrapping_add(900)].iter().enumerate()
        {
            options[4 + 4 * at..8 + 4 * at].copy_from_slice(&value.to_be_bytes());
        }
        let payload = u32::from(step[3]) * 10;
        payloads[side] += u64::from(payload);
        let segment = Segment {
            source: ends[side],
            destination: ends[1 - side],
            seq: next[side],
            ack: next[1 - side].wrapping_add_signed(signed(step[2]) * 100),
            flags: step[0] & 0x3f,
            window: u16::from(step[4]) << 4,
            urgent: 0,
            payload,
            missing: 0,
            ip_id: u16::from(step[7]),
            ttl: 64,
            marked: false,
            length: payload + 40,
            options: if step[7] & 1 == 1 { &options[..20] } else { &[] },
        };
        let (key, swapped) = ConnectionKey::of(&segment, 0);
        let connection = connection.get_or_insert_with(|| CapturedConnection::new(key, swapped, &segment, nanos));
        let side = usize::from(connection.swapped != swapped);
        let _ = connection.is_over(side, &segment, nanos);
        let verdict = connection.take(side, &segment, nanos, Context { pause: 1_000_000_000, bin: 0 });
        for flight in [verdict.flight, verdict.flight_back] {
            assert!(flight.in_flight <= flight.outstanding && flight.pipe <= flight.outstanding, "{flight:?}");
        }
        assert!(verdict.again <= payload + 2, "no more is sent again than is sent");
    }
    if let Some(mut connection) = connection {
        connection.finish(nanos);
        let unique: u64 = connection.sides.iter().map(|side| side.unique_bytes).sum();
        assert!(unique <= payloads.iter().sum(), "no more is new than was sent");
        let causes =
            |side: &crate::tcp::side::Side| side.scoreboard.fast + side.scoreboard.timeout + side.scoreboard.spurious;
        for side in &connection.sides {
            assert!(causes(side) <= side.again_packets, "each retransmission has one cause");
        }
    }
}
