//! Whole connections compared with traces of ns-2 and values worked by hand, and properties that hold on any path.

use proptest::prelude::*;
use wifair_packet::flag;
use wifair_units::BitRate;

use super::*;
use crate::cc::AlgorithmChoice;
use crate::pipe::{Pipe, SegmentFate, ends};

mod accurate;
mod application;
mod marks;
mod offload;
mod recovery;
mod sack1;
mod tcp_linux;

fn seconds(n: u64) -> Time {
    Time::ZERO + Duration::from_secs(n)
}

/// A path of 1 Mb/s with a delay of 50 ms in each direction.
fn slow(settings: &str) -> Pipe {
    Pipe::new(ends(settings), BitRate::from_mbps(1), Duration::from_millis(50))
}

/// A transfer over 1 Mb/s as in the tables of `golden_ns2`; `losses` count from 0 as in ns-2.
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

/// Checks that each segment is sent when ns-2.35 sent it, to the microsecond.
fn leaves_as_in_ns2(what: &str, text: &str, pipe: &Pipe) {
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
        ("lost SYN", include_str!("golden_ns2/newreno_lost_syn.txt"), ns2(NEWRENO, 60, 50, &[0])),
        ("lost start", include_str!("golden_ns2/newreno_lost_start.txt"), ns2(NEWRENO, 60, 50, &[1, 2])),
        ("long", include_str!("golden_ns2/newreno_long.txt"), ns2(WINDOW_15, 600, 20, LONG)),
    ] {
        leaves_as_in_ns2(what, text, &pipe);
    }
}

/// Receive window 20 packets of 1000 B, known from the start: the window field of ACKs carries no information (65535),
/// until an access point writes 5000 B into an ACK.
#[test]
fn an_access_point_can_reduce_a_window_known_from_the_start() {
    let (mut sender, mut receiver) = ends("stack = 'ns2'\nreceive_window = '20 packets'");
    sender.open(Time::ZERO);
    sender.supply(100_000);
    let syn = sender.poll(Time::ZERO).expect("a SYN");
    receiver.on_packet(Time::ZERO, &syn);
    let syn_ack = receiver.poll(Time::ZERO).expect("its ACK");
    assert_eq!(syn_ack.window, u16::MAX);
    sender.on_packet(Time::ZERO, &syn_ack);
    assert_eq!(sender.rwnd, 20_000);
    sender.on_packet(Time::ZERO, &Packet { window: 5000, ..syn_ack });
    let data = sender.poll(Time::ZERO).expect("data");
    receiver.on_packet(Time::ZERO, &data);
    let ack = receiver.poll(Time::ZERO).expect("an ACK");
    sender.on_packet(Time::ZERO, &Packet { window: 5000, ..ack });
    assert_eq!(sender.rwnd, 5000);
    sender.on_packet(Time::ZERO, &ack);
    assert_eq!(sender.rwnd, 20_000);
}

const STACKS: [&str; 13] = [
    "stack = 'ns2'",
    "stack = 'ns2'\nrecovery = 'tahoe'\nreceive_window = '60 packets'",
    "stack = 'ns2'\nrecovery = 'reno'\ndelayed_ack = true\nmax_cwnd = '7 packets'",
    "stack = 'ns2'\nsack = true\nrecovery = 'sack1'\nreceive_window = '60 packets'",
    "stack = 'rfc'",
    "stack = 'rfc'\nsack = true",
    "stack = 'rfc'\nsack = true\nrecovery = 'tcp-linux'",
    "stack = 'rfc'\nsack = true\nprr = true\ntimestamps = true\necn = true",
    "stack = 'rfc'\ntimestamps = true\nreceive_window = '700 B'\npacing = true",
    "stack = 'modern'",
    "stack = 'modern'\nmss = '100 B'\nquick_acks = 0\necn = true\npacing = true",
    "stack = 'rfc'\nsack = true\ntso_autosize = true",
    "stack = 'linux'\nmss = '500 B'\ntso_autosize = true\ngro = true\nreceive_window = '60 packets'",
];

/// A stack, with its default congestion control or any other.
fn any_settings() -> impl Strategy<Value = String> {
    let cc = prop::option::of(prop::sample::select(
        AlgorithmChoice::NAMES.into_iter().filter(|name| *name != "python").collect::<Vec<_>>(),
    ));
    (prop::sample::select(&STACKS[..]), cc)
        .prop_map(|(stack, cc)| cc.map_or(stack.to_owned(), |cc| format!("{stack}\ncc = '{cc}'")))
}

/// Checks what the sender has in flight beyond the last ACK against its settings and state, after it has sent a segment
/// that is no retransmission.
fn check(sender: &Sender, packet: &Packet) {
    assert!(sender.deadline() < Time::NEVER || !sender.outstanding(), "a timer runs while something is outstanding");
    if packet.payload <= 1 {
        return;
    }
    assert!(packet.end() <= sender.una() + sender.rwnd, "beyond the receive window");
    // Allowed beyond the window (inflation included): two segments by limited transmit, and a tail loss probe. With
    // proportional rate reduction or rate halving the bound depends on what is delivered instead.
    let probe = sender.selective.as_ref().is_some_and(|s| s.is_probe(packet.end()));
    let reducing = (sender.phase == RecoveryPhase::Recovery || sender.reducing)
        && (sender.options.prr || sender.tcp_linux.is_some());
    let window = sender.window + 2 * sender.mss;
    let bound = if reducing || probe { u64::MAX } else { window };
    assert!(sender.in_flight() <= bound, "{} in flight, window {window}", sender.in_flight());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    /// Whatever happens to the first packets, all data arrives once and in order, and both ends come to rest.
    #[test]
    fn all_data_arrives_over_a_bad_path(
        settings in any_settings(),
        segments in 1_u64..120,
        tail in 0_u64..1000,
        fates in prop::collection::vec((0_u8..100, 0_u64..300), 0..300),
        pause in 0_u64..4000,
    ) {
        let fates = std::rc::Rc::new(fates);
        let mut pipe = slow(&settings).with_script(move |o| {
            let number = usize::try_from(o.n).expect("few packets");
            let Some(&(kind, extra)) = fates.get(number) else { return SegmentFate::ARRIVES };
            match (kind, o.forward) {
                (0..15, _) => SegmentFate::LOST,
                (15..25, _) => SegmentFate { detour: Duration::from_millis(extra), ..SegmentFate::ARRIVES },
                (25..30, _) => SegmentFate { copies: 2, ..SegmentFate::ARRIVES },
                (30..40, true) => SegmentFate { marked: true, ..SegmentFate::ARRIVES },
                _ => SegmentFate::ARRIVES,
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
        prop_assert_eq!(pipe.sender.state(), SenderState::Finished);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    /// The short code path changes nothing: the same segments at the same times, and the same windows and estimates at
    /// the end.
    #[test]
    fn the_short_path_changes_nothing(
        settings in any_settings(),
        track_use in any::<bool>(),
        nagle in any::<bool>(),
        segments in 1_u64..400,
        fates in prop::collection::vec((0_u8..200, 0_u64..100), 0..600),
        mbps in prop::sample::select(vec![1, 20]),
    ) {
        let total = segments * 1000 + 300;
        let fates = std::rc::Rc::new(fates);
        let outcome = |short: bool| {
            let fates = fates.clone();
            let ends = ends(&format!("{settings}\ntrack_use = {track_use}\nnagle = {nagle}"));
            let mut pipe = Pipe::new(ends, BitRate::from_mbps(mbps), Duration::from_millis(20)).with_script(move |o| {
                match fates.get(usize::try_from(o.n).expect("few packets")) {
                    Some((0..5, _)) => SegmentFate::LOST,
                    Some((5..8, extra)) => {
                        SegmentFate { detour: Duration::from_millis(*extra), ..SegmentFate::ARRIVES }
                    }
                    Some((8..10, _)) => SegmentFate { copies: 2, ..SegmentFate::ARRIVES },
                    Some((10..15, _)) => SegmentFate { marked: o.forward, ..SegmentFate::ARRIVES },
                    _ => SegmentFate::ARRIVES,
                }
            });
            if !short {
                pipe.sender.disable_fast_path();
            }
            pipe.sender.open(Time::ZERO);
            pipe.sender.supply(total / 2);
            pipe.run(Time::ZERO + Duration::from_millis(1500));
            pipe.sender.supply(total - total / 2);
            pipe.sender.close();
            pipe.run(seconds(20_000));
            let Pipe { sender, log, acks, now, .. } = &pipe;
            let windows = (sender.cwnd(), sender.ssthresh());
            let end = format!("{now:?} {windows:?} {:?} {:?}", sender.rtt(), sender.counts());
            (log.iter().chain(acks).map(|packet| format!("{packet:?}")).collect::<Vec<_>>(), end)
        };
        let ((short, short_end), (long, long_end)) = (outcome(true), outcome(false));
        let first = short.iter().zip(&long).find(|(short, long)| short != long);
        prop_assert!(first.is_none(), "{first:?}");
        prop_assert_eq!((short.len(), short_end), (long.len(), long_end));
    }
}

/// What a test may do to a sender.
#[derive(Clone, Debug)]
enum Act {
    Wait(u64),
    Timer,
    Poll,
    Supply(u64),
    Close,
    Ack(Packet),
}

fn any_act() -> impl Strategy<Value = Act> {
    let flags =
        prop::sample::select(vec![flag::ACK, flag::ACK | flag::ECE, flag::ACK | flag::FIN, flag::SYN | flag::ACK]);
    let blocks = prop::array::uniform3((0_u32..30_000, 0_u32..4_000));
    let field = prop_oneof![4 => Just(60_000_u16), 1 => any::<u16>(), 1 => Just(0)];
    let packet = (0_u64..60_000, blocks, field, any::<u32>(), flags, prop::bool::weighted(0.7)).prop_map(
        |(ack, blocks, window, stamp, flags, round)| {
            let ack = if round { ack / 1000 * 1000 } else { ack };
            let sack = blocks.map(|(start, len)| {
                let (start, len) = if round { (start / 1000 * 1000, len / 1000 * 1000) } else { (start, len) };
                (start.wrapping_sub(5000), start.wrapping_sub(5000).wrapping_add(len))
            });
            Act::Ack(Packet { ack, sack, window, ts_ecr: stamp, flags, kind: Kind::Ack, ..Packet::default() })
        },
    );
    prop_oneof![
        2 => (0_u64..2_000).prop_map(Act::Wait),
        1 => Just(Act::Timer),
        4 => Just(Act::Poll),
        1 => (1_u64..30_000).prop_map(Act::Supply),
        8 => packet,
        1 => prop::bool::weighted(0.1).prop_map(|close| if close { Act::Close } else { Act::Poll }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    /// Whatever arrives, in any order and even if no receiver would send it, a sender stays within its windows, has a
    /// timer while something is outstanding, and retransmits nothing without need.
    #[test]
    fn a_sender_withstands_any_input(
        settings in any_settings(),
        acts in prop::collection::vec(any_act(), 1..200),
    ) {
        let (mut sender, _) = ends(&settings);
        let mut now = seconds(1);
        let mut closed = false;
        sender.open(now);
        sender.on_packet(now, &Packet { flags: flag::SYN | flag::ACK, window: 60_000, ..Packet::default() });
        for act in acts {
            match act {
                Act::Wait(millis) => now += Duration::from_millis(millis),
                Act::Timer if sender.deadline() < seconds(1_000_000) => {
                    now = now.max(sender.deadline());
                    sender.on_timer(now);
                }
                Act::Timer => {}
                Act::Poll => {
                    let mut burst = 0;
                    let mut again = sender.counts().retransmissions;
                    while let Some(packet) = sender.poll(now) {
                        let sent_again = sender.counts().retransmissions;
                        if sent_again == again {
                            check(&sender, &packet);
                        }
                        again = sent_again;
                        burst += 1;
                        prop_assert!(burst < 10_000, "a burst ends");
                    }
                }
                Act::Supply(bytes) if !closed => sender.supply(bytes),
                Act::Supply(_) => {}
                Act::Close => {
                    closed = true;
                    sender.close();
                }
                Act::Ack(packet) => sender.on_packet(now, &packet),
            }
            prop_assert!(sender.una() <= sender.nxt() && sender.nxt() <= sender.sent());
            prop_assert!(sender.sent() <= sender.supplied());
            prop_assert!(sender.cwnd().is_finite() && sender.cwnd() >= 1.0);
            prop_assert!(sender.in_flight() <= 2 * (sender.sent() - sender.una()));
            prop_assert!(sender.rtt().rto() <= Duration::from_secs(120));
        }
    }

    /// Segments in any order, with any overlap and any flags: the receiver counts each byte once, and its ACKs are
    /// correct.
    #[test]
    fn a_receiver_withstands_any_input(
        settings in any_settings(),
        parts in prop::collection::vec((0_u64..40_000, 0_u16..3_000, any::<u8>(), 0_u64..400), 1..200),
    ) {
        let (_, mut receiver) = ends(&settings);
        let mut now = seconds(1);
        let mut arrived = vec![false; 50_000];
        for (seq, payload, flags, wait) in parts {
            now += Duration::from_millis(wait);
            if receiver.deadline() <= now {
                receiver.on_timer(now);
            }
            let flags = flags & !flag::SYN & !flag::FIN;
            let packet = Packet { seq, payload, flags, ..Packet::default() };
            let room = seq + u64::from(payload) <= receiver.delivered().saturating_add(receiver.window());
            receiver.on_packet(now, &packet);
            now += Duration::from_millis(1); // receive offload ends its batch before
            if receiver.deadline() <= now {
                receiver.on_timer(now);
            }
            if room || seq <= receiver.delivered() {
                let (from, to) = (usize::try_from(seq).unwrap(), usize::try_from(packet.end()).unwrap());
                arrived[from..to].fill(true);
            }
            let next = arrived.iter().position(|there| !there).expect("the end has not arrived") as u64;
            prop_assert_eq!(receiver.delivered(), next);
            while let Some(ack) = receiver.poll(now) {
                prop_assert!(ack.ack <= next);
                for (start, end) in ack.sack.into_iter().filter(|(start, end)| start != end) {
                    let offset = |o: u32| {
                        usize::try_from(ack.ack.wrapping_add_signed(i64::from(o.cast_signed()))).unwrap()
                    };
                    prop_assert!(arrived[offset(start)..offset(end)].iter().all(|&there| there));
                }
            }
        }
    }
}

/// An ACK up to segment `segments` of 1000 bytes, with SACK blocks in segments.
fn ack(segments: u32, blocks: &[(u32, u32)]) -> Packet {
    let mut packet = Packet {
        ack: u64::from(segments) * 1000,
        window: u16::MAX,
        flags: flag::ACK,
        kind: Kind::Ack,
        ..Packet::default()
    };
    for (place, &(start, end)) in packet.sack.iter_mut().zip(blocks) {
        *place = ((start - segments) * 1000, (end - segments) * 1000);
    }
    packet
}

/// An established sender that has sent segments 0 to 9 of 1000 bytes.
fn ten_in_flight(settings: &str) -> Sender {
    let (mut sender, _) =
        ends(&format!("mss = '1000 B'\nhandshake = 'none'\ninitial_window = '10 packets'\n{settings}"));
    sender.open(Time::ZERO);
    sender.supply(u64::MAX);
    assert_eq!(flush(&mut sender), (0..10).collect::<Vec<_>>());
    sender
}

/// The numbers of all segments that may be sent now.
fn flush(sender: &mut Sender) -> Vec<u64> {
    let now = Time::ZERO + Duration::from_millis(100);
    std::iter::from_fn(|| sender.poll(now)).map(|packet| packet.seq / 1000).collect()
}

/// The segments sent in response to each of these ACKs, 100 ms after the start.
fn answers(sender: &mut Sender, acks: &[Packet]) -> Vec<Vec<u64>> {
    let now = Time::ZERO + Duration::from_millis(100);
    let answer = |ack: &Packet| {
        sender.on_packet(now, ack);
        flush(sender)
    };
    acks.iter().map(answer).collect()
}

/// After a timeout all segments leave again from the first on, as the window grows; each is a retransmission, however
/// many an ACK releases at once.
#[cfg(feature = "fast")]
#[test]
fn every_segment_sent_again_after_a_timeout_is_a_retransmission() {
    let mut sender = ten_in_flight("cc = 'newreno'");
    let now = sender.deadline();
    sender.on_timer(now);
    assert_eq!(sender.poll(now).map(|packet| packet.seq), Some(0));
    sender.on_packet(now, &ack(1, &[]));
    assert_eq!([(); 2].map(|()| sender.poll(now).map(|packet| packet.seq)), [Some(1000), Some(2000)]);
    sender.on_packet(now, &ack(2, &[]));
    let (mut packet, mut sent) = (Packet::default(), 0);
    while sender.is_running() {
        sent += sender.write_all(now, &mut packet);
    }
    assert_eq!((sent, sender.counts().retransmissions), (2, 5));
}

/// RFC 5681, section 4.3: the loss of a retransmission is a second indication of congestion, and lowers ssthresh twice.
/// Segment 0 of ten and its retransmission are lost: 10 / 2, then 5 / 2. All others arrive and let new data be sent, so
/// that more than ten segments are unacknowledged at the timeout. Without SACK too: each duplicate ACK inflates the
/// window by a segment that has left the network (section 3.2, step 4).
#[test]
fn a_timeout_in_recovery_lowers_ssthresh_again() {
    let without = |cc| format!("cc = '{cc}'\nreduce_from = 'flight'");
    let selective = ["sack = true", "sack = true\nreduce_from = 'window'"].map(String::from);
    for settings in selective.into_iter().chain(["newreno", "reno"].map(without)) {
        let mut sender = ten_in_flight(&settings);
        for arrived in 2..22 {
            let blocks: &[_] = if settings.contains("sack") { &[(1, arrived)] } else { &[] };
            answers(&mut sender, &[ack(0, blocks)]);
        }
        assert!(
            sender.ssthresh() == 5.0 && sender.nxt() > 10_000,
            "{settings}: {}, {}",
            sender.ssthresh(),
            sender.nxt()
        );
        sender.on_timer(sender.deadline());
        assert_eq!((sender.ssthresh(), sender.counts().timeouts), (2.5, 1), "{settings}");
    }
}

/// RFC 6582, section 3.2, by hand. Segments 0 and 3 of ten are lost. The first two duplicate ACKs send 10 and 11
/// (RFC 3042), the third sends 0 again; ssthresh is 10 / 2, the window 5 + 3. Seven more duplicates (segments 5 to 11)
/// raise it to 15, so that the last three send 12, 13, 14. The ACK of 0 to 2 is partial: 3 leaves again, the window
/// becomes 15 - 3 + 1 = 13 and lets 15 leave. The ACK up to 11 is full: four are in flight, the window is
/// min(5, 4 + 1).
#[test]
fn partial_acks_repair_two_losses_as_in_rfc_6582() {
    let mut sender = ten_in_flight("cc = 'newreno'");
    let dup = ack(0, &[]);
    assert_eq!(answers(&mut sender, &[dup; 3]), [vec![10], vec![11], vec![0]]);
    assert_eq!((sender.ssthresh(), sender.cwnd(), sender.window), (5.0, 5.0, 8_000));
    assert_eq!(answers(&mut sender, &[dup; 7]), [vec![], vec![], vec![], vec![], vec![12], vec![13], vec![14]]);
    assert_eq!(answers(&mut sender, &[ack(3, &[])]), [vec![3, 15]]);
    assert_eq!(sender.window, 13_000);
    assert_eq!(answers(&mut sender, &[ack(12, &[])]), [vec![16]]);
    assert_eq!((sender.cwnd(), sender.counts().timeouts, sender.counts().fast_retransmits), (5.0, 0, 1));
}

/// As above with Reno: the first new ACK ends recovery, and segment 3 waits for three more duplicates or the timer.
#[test]
fn reno_leaves_recovery_at_the_first_new_ack() {
    let mut sender = ten_in_flight("cc = 'reno'");
    let dup = ack(0, &[]);
    answers(&mut sender, &[dup; 10]);
    assert_eq!(answers(&mut sender, &[ack(3, &[])]), [vec![]]);
    assert_eq!((sender.window, sender.in_flight()), (5_000, 12_000));
}

/// RFC 6675 by hand, without rate reduction. Segments 0 and 3 are lost. Each of the SACKs of 1, 2, 4 takes a segment
/// out of the pipe, so 10 and 11 are sent; at the third, segment 0 is lost (three segments above it have arrived):
/// ssthresh is 5, and 0 is retransmitted whatever is in flight. The pipe is then 12 sent - 3 arrived - 1 lost + 1 = 9.
/// The SACKs of 5 and 6 bring the count above 3 to three: it is lost, and the pipe is 9 - 2 - 1 = 6. With 7 and 8 the
/// pipe is 4, so 3 is retransmitted at 8 (pipe 5), and each further SACK sends a new segment.
#[test]
fn the_scoreboard_repairs_two_losses_as_in_rfc_6675() {
    let mut sender = ten_in_flight("sack = true");
    let acks = [ack(0, &[(1, 2)]), ack(0, &[(1, 3)]), ack(0, &[(4, 5), (1, 3)])];
    assert_eq!(answers(&mut sender, &acks), [vec![10], vec![11], vec![0]]);
    assert_eq!((sender.ssthresh(), sender.in_flight()), (5.0, 9_000));
    let acks = [6, 7].map(|end| ack(0, &[(4, end), (1, 3)]));
    assert_eq!(answers(&mut sender, &acks), [vec![], vec![]]);
    assert_eq!(sender.in_flight(), 6_000);
    let acks = [8, 9, 10, 11].map(|end| ack(0, &[(4, end), (1, 3)]));
    assert_eq!(answers(&mut sender, &acks), [vec![], vec![3], vec![12], vec![13]]);
    // 0 arrives, then 3: all up to 11 is acknowledged, recovery ends with the window at ssthresh.
    assert_eq!(answers(&mut sender, &[ack(3, &[(4, 11)])]), [vec![14]]);
    assert_eq!(answers(&mut sender, &[ack(12, &[])]), [vec![15, 16]]);
    assert_eq!((sender.cwnd(), sender.in_flight(), sender.counts().retransmissions), (5.0, 5_000, 2));
}

/// The last segment of a transfer is lost. A probe repairs it without a timeout: when the RTO would have expired or, if
/// that is sooner, after two RTTs and the longest delay of an ACK (RFC 8985, section 7.2).
#[test]
fn a_tail_loss_is_probed() {
    let mut pipe = slow("stack = 'modern'\nmss = '1000 B'\nhandshake = 'none'\nfin = false").with_losses(&[4]);
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(5000);
    pipe.run(seconds(5));
    let counts = pipe.sender.counts();
    assert_eq!((pipe.receiver.delivered(), counts.retransmissions, counts.timeouts), (5000, 1, 0));
    let (sent, probe) = pipe.log.last().expect("a probe");
    let (last_ack, _) = pipe.acks[pipe.acks.len() - 2];
    // One segment was in flight after the ACK of segment 3; SRTT is 109 to 142 ms (four segments of 8.4 ms queue one by
    // one).
    let wait = sent.saturating_since(last_ack);
    assert_eq!(probe.seq, 4000);
    assert!(wait >= Duration::from_millis(109 + 200) && wait <= Duration::from_millis(2 * 142 + 200), "{wait}");
}

/// One segment is delayed by 10 ms, a tenth of the RTT: the reordering window of a quarter waits for it.
#[test]
fn a_short_detour_is_no_loss_by_time() {
    let mut pipe = slow("stack = 'modern'\nmss = '1000 B'").with_script(|o| match (o.forward, o.n) {
        (true, 30) => SegmentFate { detour: Duration::from_millis(10), ..SegmentFate::ARRIVES },
        _ => SegmentFate::ARRIVES,
    });
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(100_000);
    pipe.run(seconds(10));
    assert_eq!(pipe.receiver.delivered(), 100_000);
    assert_eq!(pipe.sender.counts().retransmissions, 0);
}

/// Nothing arrives between 1 s and 3 s; then everything sent meanwhile arrives. The RTO expires, but the ACKs echo
/// timestamps from before the retransmission, so the window is restored, and nothing is retransmitted but by the timer
/// and the probe.
#[test]
fn a_delay_is_told_from_a_loss_by_timestamps() {
    for settings in ["stack = 'modern'", "stack = 'rfc'\ntimestamps = true\nmin_rto = '200 ms'"] {
        let mut pipe = slow(&format!("{settings}\nmss = '1000 B'\nreceive_window = '12 packets'"));
        pipe.silence = (seconds(1), seconds(3));
        pipe.sender.open(Time::ZERO);
        pipe.sender.supply(300_000);
        pipe.run(seconds(30));
        let counts = pipe.sender.counts();
        assert_eq!(pipe.receiver.delivered(), 300_000);
        assert!(counts.timeouts >= 1 && counts.spurious == 1, "{settings}: {counts:?}");
        assert!(counts.retransmissions <= counts.timeouts + 1, "{settings}: {counts:?}");
        assert!(pipe.sender.ssthresh() == f64::INFINITY, "{settings}: the window was given back");
    }
}

/// The same without the Eifel algorithm: the window stays reduced.
#[test]
fn without_eifel_a_delay_counts_as_a_loss() {
    let mut pipe =
        slow("stack = 'modern'\nf_rto = false\neifel = false\nmss = '1000 B'\nreceive_window = '12 packets'");
    pipe.silence = (seconds(1), seconds(3));
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(300_000);
    pipe.run(seconds(30));
    let counts = pipe.sender.counts();
    assert!(counts.timeouts >= 1 && counts.spurious == 0, "{counts:?}");
    assert!(pipe.sender.ssthresh() < 12.0);
}

/// Ten segments arrive, and all their ACKs are lost. The ACK of the retransmission of the first, 100 ms after it,
/// covers all ten: the RTT is 100 ms by the echo, and not the age of the other nine.
#[test]
fn an_ack_for_a_retransmission_measures_by_its_echo() {
    let mut sender = ten_in_flight("sack = true\ntimestamps = true");
    let mut at = sender.deadline();
    for _ in 0..2 {
        sender.on_timer(at);
        assert_eq!(sender.poll(at).expect("the first segment again").seq, 0);
        assert!(sender.poll(at).is_none());
        at = sender.deadline();
    }
    let sent = at;
    sender.on_timer(at);
    assert_eq!(sender.poll(at).expect("the first segment again").seq, 0);
    let now = sent + Duration::from_millis(100);
    let before = sender.rtt().srtt();
    sender.on_packet(now, &Packet { ts_ecr: crate::clock(sent), ts_val: 1, ..ack(10, &[]) });
    assert_eq!(sender.rtt_sample(), Some(Duration::from_millis(100)));
    assert!(sender.rtt().srtt() <= before.max(Duration::from_millis(100)), "{}", sender.rtt().srtt());
}

/// Two of ten segments are known to have arrived when the RTO expires. The ACK of the retransmission of the first
/// covers three segments, and one of them is new: slow start makes the window two segments, not four (Linux counts what
/// is newly delivered).
#[test]
fn a_window_grows_by_what_is_newly_delivered() {
    let mut sender = ten_in_flight("sack = true\ngrowth = 'bytes'");
    assert_eq!(answers(&mut sender, &[ack(0, &[(1, 2)]), ack(0, &[(1, 3)])]), [vec![10], vec![11]]);
    let at = sender.deadline();
    sender.on_timer(at);
    assert_eq!((sender.poll(at).expect("the first segment again").seq, sender.cwnd()), (0, 1.0));
    sender.on_packet(at + Duration::from_millis(100), &ack(3, &[]));
    assert_eq!(sender.cwnd(), 2.0);
}

/// RFC 9293, section 3.8.6.1: a closed window is probed with one byte after an RTO and then at growing intervals; when
/// it opens, data flows.
#[test]
fn a_closed_window_is_probed() {
    for sack in ["", "sack = true"] {
        let mut sender = ten_in_flight(sack);
        let closed = Packet { window: 0, ..ack(10, &[]) };
        sender.on_packet(seconds(1), &closed);
        assert!(sender.poll(seconds(1)).is_none());
        let mut probes = Vec::new();
        for _ in 0..3 {
            let at = sender.deadline();
            sender.on_timer(at);
            let probe = sender.poll(at).expect("a probe");
            assert_eq!((probe.seq, probe.payload), (10_000, 1));
            probes.push(at.as_nanos() / 1_000_000);
            sender.on_packet(at, &closed);
            assert!(sender.poll(at).is_none());
        }
        // Sent at 0.1 s, acknowledged at 1 s: the timeout is 0.9 + 4 * 0.45 = 2.7 s, then 5.4 s and 10.8 s.
        assert_eq!(probes, [3_700, 9_100, 19_900], "{sack}");
        sender.on_packet(seconds(30), &ack(10, &[]));
        assert_eq!(sender.poll(seconds(30)).expect("data").seq / 1000, 10);
    }
}

/// A lost SYN is retransmitted after a second (RFC 6298, rule 2.1); then the window starts at one segment (RFC 5681,
/// section 3.1) and the RTO at three seconds (RFC 6298, rule 5.7).
#[test]
fn a_lost_syn_costs_the_initial_window() {
    let mut pipe = slow("mss = '1000 B'").with_losses(&[0]);
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(u64::MAX);
    pipe.run(Time::ZERO + Duration::from_millis(1_110));
    let log: Vec<_> = pipe.log.iter().map(|(t, p)| (t.as_nanos() / 1000, p.flags & flag::SYN, p.payload)).collect();
    assert_eq!(log, [(0, flag::SYN, 0), (1_000_000, flag::SYN, 0), (1_100_640, 0, 0), (1_100_640, 0, 1000)]);
    assert_eq!(pipe.sender.rtt().rto(), Duration::from_secs(3));
}

/// Paced segments leave at the distance given by the rate: 1.2 windows per RTT at least, never two at once.
#[test]
fn paced_segments_keep_their_distance() {
    let mut pipe = slow("stack = 'modern'\nmss = '1000 B'\npacing = true\nreceive_window = '10 packets'");
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(200_000);
    pipe.run(seconds(10));
    assert_eq!(pipe.receiver.delivered(), 200_000);
    let late: Vec<_> = pipe.log.iter().filter(|(t, _)| *t > Time::ZERO + Duration::from_millis(500)).collect();
    assert!(late.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

/// One segment in a hundred is really lost, so no recovery is spurious. If the ACK of a retransmission arrives after
/// the next recovery has begun, it must not count as an ACK of the original transmission.
#[test]
fn a_late_ack_of_a_retransmission_makes_no_recovery_spurious() {
    let mut pipe = slow("stack = 'modern'\nmss = '1000 B'\ncc = 'bbr'")
        .with_script(|o| if o.forward && o.n % 100 == 99 { SegmentFate::LOST } else { SegmentFate::ARRIVES });
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(u64::MAX);
    pipe.run(seconds(30));
    let counts = pipe.sender.counts();
    assert_eq!(counts.spurious, 0);
    assert!(counts.fast_retransmits >= 30, "{counts:?}");
}
