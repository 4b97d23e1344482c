use proptest::prelude::*;
use wifair_packet::flag;
use wifair_units::BitRate;

use super::*;
use crate::pipe::{Fate, Pipe, ends};

fn seconds(n: u64) -> Time {
    Time::ZERO + Duration::from_secs(n)
}

/// 1 Mb/s and 50 ms each way.
fn slow(settings: &str) -> Pipe {
    Pipe::new(ends(settings), BitRate::from_mbps(1), Duration::from_millis(50))
}

/// A transfer over 1 Mb/s as the tables in `golden_ns2` have it; `losses` count from 0 as in ns-2.
fn ns2(settings: &str, segments: u64, delay_ms: u64, losses: &[u64]) -> Pipe {
    let ends = ends(&format!("stack = 'ns2'\n{settings}"));
    let mut pipe = Pipe::new(ends, BitRate::from_mbps(1), Duration::from_millis(delay_ms)).with_losses(losses);
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(segments * 1000);
    pipe.run(seconds(30));
    assert_eq!(pipe.receiver.delivered(), segments * 1000);
    pipe
}

fn golden(text: &str) -> Vec<(u64, u64)> {
    let number = |t: &str| t.parse().expect("a table of numbers");
    text.lines()
        .filter(|l| !l.starts_with('#'))
        .map(|l| l.split_once(' ').map(|(t, s)| (number(t), number(s))).expect("two columns"))
        .collect()
}

/// Each segment leaves when it does in ns-2 2.35, to the microsecond.
#[test]
fn every_segment_leaves_as_in_ns2() {
    const BURSTS: &[u64] = &[40, 42, 45, 140, 141, 142, 150];
    const TAIL: &[u64] = &[30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41];
    const LONG: &[u64] = &[45, 100, 101, 180, 300, 330, 331, 332, 450];
    const NEWRENO: &str = "";
    const WINDOW_40: &str = "receive_window = '40 packets'";
    const RENO: &str = "receive_window = '40 packets'\ncc = 'reno'";
    const TAHOE: &str = "receive_window = '40 packets'\ncc = 'tahoe'";
    const WINDOW_15: &str = "receive_window = '15 packets'";
    for (what, text, pipe) in [
        ("clean", include_str!("golden_ns2/newreno_clean.txt"), ns2(NEWRENO, 60, 50, &[])),
        ("one loss", include_str!("golden_ns2/newreno_one_loss.txt"), ns2(NEWRENO, 60, 50, &[20])),
        ("newreno", include_str!("golden_ns2/newreno_bursts.txt"), ns2(WINDOW_40, 300, 50, BURSTS)),
        ("reno", include_str!("golden_ns2/reno_bursts.txt"), ns2(RENO, 300, 50, BURSTS)),
        ("tahoe", include_str!("golden_ns2/tahoe_bursts.txt"), ns2(TAHOE, 300, 50, BURSTS)),
        ("delayed", include_str!("golden_ns2/newreno_delayed.txt"), ns2("delayed_ack = true", 120, 50, &[30, 60, 62])),
        ("timeouts", include_str!("golden_ns2/newreno_timeouts.txt"), ns2(NEWRENO, 60, 50, TAIL)),
        ("long", include_str!("golden_ns2/newreno_long.txt"), ns2(WINDOW_15, 600, 20, LONG)),
    ] {
        let (expected, sent) = (golden(text), pipe.sent());
        let differs = expected.iter().zip(&sent).position(|(a, b)| a != b);
        if let Some(i) = differs {
            panic!(
                "{what}: line {i}: ns-2 {:?}, here {:?}",
                &expected[i..(i + 8).min(expected.len())],
                &sent[i..(i + 8).min(sent.len())]
            );
        }
        assert_eq!(expected.len(), sent.len(), "{what}");
    }
}

/// 1 Mb/s, 50 ms: the SYN of 40 bytes takes 50.32 ms each way, then the third segment and the data leave; the
/// FIN rides on the last segment and is acknowledged.
#[test]
fn a_connection_opens_and_closes_as_in_rfc_9293() {
    let mut pipe = slow("mss = '1000 B'");
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(1500);
    pipe.sender.close();
    pipe.run(seconds(10));
    let log: Vec<_> = pipe.log.iter().map(|(t, p)| (t.as_nanos() / 1000, p.flags, p.seq, p.size)).collect();
    assert_eq!(
        log,
        [
            (0, flag::SYN, 0, 40),
            (100_640, flag::ACK, 0, 40),
            (100_640, flag::ACK, 0, 1040),
            (100_640, flag::ACK | flag::FIN, 1000, 540),
            // Two segments arrived: one ACK, which is also the receiver's FIN, and the last ACK answers it.
            (100_640 + 320 + 8_320 + 4_320 + 50_000 + 50_320, flag::ACK, 1500, 40),
        ]
    );
    assert_eq!((pipe.sender.state(), pipe.receiver.is_finished()), (State::Finished, true));
    assert_eq!(pipe.sender.deadline(), Time::NEVER);
}

/// Receive window 20 packets of 1000 B, known from the start: the receiver's field says nothing (65535), until an
/// access point writes 5000 B into an ACK.
#[test]
fn a_window_that_is_known_from_the_start_can_still_be_cut_on_the_way() {
    let (mut sender, mut receiver) = ends("stack = 'ns2'\nreceive_window = '20 packets'");
    sender.open(Time::ZERO);
    sender.supply(100_000);
    let syn = sender.poll(Time::ZERO).expect("a SYN");
    receiver.on_packet(Time::ZERO, &syn);
    let syn_ack = receiver.poll(Time::ZERO).expect("its ACK");
    assert_eq!(syn_ack.window, u16::MAX);
    sender.on_packet(Time::ZERO, &syn_ack);
    assert_eq!(sender.receive_window(), 20_000);
    sender.on_packet(Time::ZERO, &Packet { window: 5000, ..syn_ack });
    let data = sender.poll(Time::ZERO).expect("data");
    receiver.on_packet(Time::ZERO, &data);
    let ack = receiver.poll(Time::ZERO).expect("an ACK");
    sender.on_packet(Time::ZERO, &Packet { window: 5000, ..ack });
    assert_eq!(sender.receive_window(), 5000);
    sender.on_packet(Time::ZERO, &ack);
    assert_eq!(sender.receive_window(), 20_000);
}

const STACKS: [&str; 9] = [
    "stack = 'ns2'",
    "stack = 'ns2'\ncc = 'tahoe'\nreceive_window = '60 packets'",
    "stack = 'ns2'\ncc = 'reno'\ndelayed_ack = true\nmax_cwnd = '7 packets'",
    "stack = 'rfc'",
    "stack = 'rfc'\nsack = true",
    "stack = 'rfc'\nsack = true\nprr = true\ntimestamps = true\necn = true",
    "stack = 'rfc'\ntimestamps = true\nreceive_window = '700 B'\npacing = true",
    "stack = 'modern'",
    "stack = 'modern'\nmss = '100 B'\nquick_acks = 0\necn = true\npacing = true",
];

/// What a sender may have in flight beyond the last ACK, as its settings and state say.
fn check(sender: &Sender, packet: &Packet) {
    assert!(sender.deadline() < Time::NEVER || !sender.outstanding(), "a timer runs while something is outstanding");
    if packet.has(flag::RETRANSMISSION) || packet.payload <= 1 {
        return;
    }
    assert!(packet.end() <= sender.una() + sender.receive_window(), "beyond the receive window");
    // Beyond the window, which holds inflation in recovery: two segments by limited transmit, and a tail loss probe.
    // Proportional rate reduction goes by what is delivered instead.
    let probe = sender.selective.as_ref().is_some_and(|s| s.is_probe(packet.end()));
    let reducing = sender.phase == Phase::Recovery && sender.habits.prr;
    let window = sender.window + 2 * sender.mss;
    let bound = if reducing || probe { u64::MAX } else { window };
    assert!(sender.in_flight() <= bound, "{} in flight, window {window}", sender.in_flight());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    /// Whatever the path does to the first packets, all data arrives, once and in order, and both ends come to rest.
    #[test]
    fn all_data_arrives_over_a_bad_path(
        stack in 0..STACKS.len(),
        segments in 1_u64..120,
        tail in 0_u64..1000,
        fates in prop::collection::vec((0_u8..100, 0_u64..300), 0..300),
        pause in 0_u64..4000,
    ) {
        let fates = std::rc::Rc::new(fates);
        let mut pipe = slow(STACKS[stack]).with_script(move |forward, n, _| {
            let Some(&(kind, extra)) = fates.get(usize::try_from(n).expect("few packets")) else { return Fate::ARRIVES };
            match (kind, forward) {
                (0..15, _) => Fate::LOST,
                (15..25, _) => Fate { detour: Duration::from_millis(extra), ..Fate::ARRIVES },
                (25..30, _) => Fate { copies: 2, ..Fate::ARRIVES },
                (30..40, true) => Fate { marked: true, ..Fate::ARRIVES },
                _ => Fate::ARRIVES,
            }
        });
        pipe.watch = check;
        let total = segments * 1000 + tail;
        pipe.sender.open(Time::ZERO);
        pipe.sender.supply(total / 2);
        pipe.run(Time::ZERO + Duration::from_millis(pause));
        pipe.sender.supply(total - total / 2);
        pipe.sender.close();
        pipe.run(seconds(20_000));
        prop_assert_eq!(pipe.receiver.delivered(), total);
        prop_assert_eq!(pipe.sender.una(), total);
        prop_assert_eq!(pipe.sender.in_flight(), 0);
        prop_assert_eq!(pipe.receiver.gaps(), 0);
        prop_assert_eq!(pipe.sender.state(), State::Finished);
    }
}
