//! ns-2's Sack1: whole transfers beside its traces, and what its receiver sends.

use super::*;

const SACK1: &str = "sack = true\nrecovery = 'sack1'\n";

/// Each segment is sent when ns-2.35 sends it; the times include the 8 bytes of each block in an ACK.
#[test]
fn every_segment_leaves_as_in_ns2s_sack1() {
    const BURSTS: &[u64] = &[40, 42, 45, 140, 141, 142, 150];
    const TAIL: &[u64] = &[30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41];
    const LONG: &[u64] = &[45, 100, 101, 180, 300, 330, 331, 332, 450];
    const SEVEN: &[u64] = &[60, 61, 62, 63, 64, 65, 66];
    const AGAIN: &[u64] = &[60, 63, 66, 80, 81, 100, 101, 102, 103, 170];
    let transfer = |settings: &str, segments, delay_ms, losses: &[u64]| {
        ns2(&format!("{SACK1}{settings}"), segments, delay_ms, losses)
    };
    let window_40 = |losses: &[u64]| transfer("receive_window = '40 packets'", 300, 50, losses);
    for (what, text, pipe) in [
        ("one loss", include_str!("../golden_ns2/sack1_one_loss.txt"), transfer("", 60, 50, &[20])),
        ("bursts", include_str!("../golden_ns2/sack1_bursts.txt"), window_40(BURSTS)),
        ("seven", include_str!("../golden_ns2/sack1_seven.txt"), window_40(SEVEN)),
        ("again", include_str!("../golden_ns2/sack1_again.txt"), window_40(AGAIN)),
        ("timeouts", include_str!("../golden_ns2/sack1_timeouts.txt"), transfer("", 60, 50, TAIL)),
        (
            "delayed",
            include_str!("../golden_ns2/sack1_delayed.txt"),
            transfer("delayed_ack = true", 120, 50, &[30, 60, 62]),
        ),
        (
            "long",
            include_str!("../golden_ns2/sack1_long.txt"),
            transfer("receive_window = '15 packets'", 600, 20, LONG),
        ),
    ] {
        leaves_as_in_ns2(what, text, &pipe);
    }
}

/// In ns-2's trace of a transfer an ACK has 40 bytes, with one block 48, with two 56; duplicates are not reported.
#[test]
fn an_ack_of_ns2_is_8_bytes_longer_for_each_block() {
    let (_, mut receiver) = ends(&format!("stack = 'ns2'\n{SACK1}"));
    let mut answer = |n: u64| {
        let packet = Packet { seq: 1000 * n, payload: 1000, size: 1040, flags: flag::ACK, ..Packet::default() };
        receiver.on_packet(Time::ZERO, &packet);
        receiver.poll(Time::ZERO).map(|ack| (ack.ack, ack.size, ack.sack[0]))
    };
    let answers = [0, 0, 2, 4, 4].map(&mut answer);
    let expected = [(1000, 40, (0, 0)), (1000, 40, (0, 0)), (1000, 48, (1000, 2000)), (1000, 56, (3000, 4000))];
    assert_eq!(answers, [expected[0], expected[1], expected[2], expected[3], expected[3]].map(Some));
}
