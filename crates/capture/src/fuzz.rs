//! Entry point for the fuzzer and for the tests on its corpus: it accepts any bytes and checks what must always hold.

use crate::segment::{Address, Endpoint, Segment};
use crate::tcp::connection::{CapturedConnection, ConnectionKey, Context};

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
            ae: false,
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
