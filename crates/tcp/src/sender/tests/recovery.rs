//! Recovery with selective ACKs by hand: reordering timer, tail loss probes, overtaken ACKs; and use of the window.

use super::*;

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn poll(sender: &mut Sender, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll(now)).map(|packet| packet.seq / 1000).collect()
}

const RACK: &str = "sack = true\nrecovery = 'rack'";

/// RFC 8985, section 6.2: segments 0 and 1 are sent at 100 ms, the SACK of 1 comes at 200 ms. The reordering window is
/// a quarter of the RTT of 100 ms, so 0 is lost at 225 ms. Then ssthresh is half of ten, and the RTO restarts.
#[test]
fn the_reordering_timer_finds_a_loss() {
    let mut sender = ten_in_flight(RACK);
    sender.on_packet(at(200), &ack(0, &[(1, 2)]));
    assert_eq!(poll(&mut sender, at(200)), [10]);
    assert_eq!(sender.deadline(), at(225));
    sender.on_timer(at(224));
    assert_eq!((poll(&mut sender, at(224)), sender.counts().fast_retransmits), (vec![], 0));
    sender.on_timer(at(225));
    assert_eq!((sender.ssthresh(), sender.counts().fast_retransmits), (5.0, 1));
    assert_eq!(poll(&mut sender, at(225)), [0]);
    // A second expiry is no second loss event.
    assert_eq!(sender.deadline(), at(1225));
    sender.on_timer(at(226));
    assert_eq!((poll(&mut sender, at(226)), sender.counts().fast_retransmits), (vec![], 1));
}

/// A sender of ten segments, all sent at 100 ms and all but the last `left` acknowledged at 200 ms, with nothing left
/// to send.
fn tail(settings: &str, left: u32) -> Sender {
    let (mut sender, _) =
        ends(&format!("{RACK}\nmss = '1000 B'\nhandshake = 'none'\ninitial_window = '10 packets'\n{settings}"));
    sender.open(Time::ZERO);
    sender.supply(10_000);
    assert_eq!(poll(&mut sender, at(100)).len(), 10);
    sender.on_packet(at(200), &ack(10 - left, &[]));
    assert_eq!(poll(&mut sender, at(200)), [0; 0]);
    sender
}

/// RFC 8985, sections 7.2 and 7.3: two RTTs after the last ACK, plus 200 ms if one segment is in flight, whose ACK the
/// receiver may delay. The last segment is sent again, and the RTO of 1 s restarts.
#[test]
fn a_probe_leaves_after_two_round_trips() {
    for (left, due) in [(2, 400), (1, 600)] {
        let mut sender = tail("", left);
        assert_eq!(sender.deadline(), at(due));
        sender.on_timer(at(due));
        assert_eq!((poll(&mut sender, at(due)), sender.deadline()), (vec![9], at(due + 1000)));
        // No second probe until the first is answered.
        sender.on_packet(at(due + 10), &ack(10 - left, &[]));
        assert_eq!((poll(&mut sender, at(due + 10)), sender.deadline()), (vec![], at(due + 1000)));
        assert_eq!(sender.counts().timeouts, 0);
    }
    assert_eq!(tail("tail_loss_probes = false", 2).deadline(), at(1200));
}

/// RFC 8985, section 7.2: new data sets the timer as well, from its own transmission, without the delay of an ACK as
/// soon as a second segment is in flight.
#[test]
fn new_data_arms_the_timer_of_a_probe() {
    let mut sender = tail("", 0);
    assert_eq!(sender.deadline(), Time::NEVER);
    sender.supply(1000);
    assert_eq!((poll(&mut sender, at(300)), sender.deadline()), (vec![10], at(700)));
    sender.supply(1000);
    assert_eq!((poll(&mut sender, at(300)), sender.deadline()), (vec![11], at(500)));
    sender.supply(1000);
    assert_eq!((poll(&mut sender, at(350)), sender.deadline()), (vec![12], at(550)));
}

/// RFC 8985, section 7.3: a probe is new data if there is some, whatever the congestion window, but not beyond the
/// receive window. Without an RTT sample the probe waits a second.
#[test]
fn a_probe_is_new_data_where_the_receiver_takes_it() {
    for (window, probe) in [("11 packets", 10), ("10 packets", 9)] {
        let mut sender = ten_in_flight(&format!("{RACK}\nreceive_window = '{window}'"));
        assert_eq!(sender.deadline(), at(1100));
        sender.on_timer(at(1100));
        assert_eq!(poll(&mut sender, at(1100)), [probe]);
        assert_eq!((sender.counts().timeouts, sender.deadline()), (0, at(2100)));
        assert_eq!(sender.counts().retransmissions, u64::from(probe == 9));
    }
}

/// A FIN sent on its own is probed like a segment.
#[test]
fn a_fin_is_probed() {
    let mut sender = tail("", 0);
    sender.close();
    let fin = sender.poll(at(300)).expect("a FIN");
    assert_eq!((fin.flags & flag::FIN, fin.seq, fin.payload, sender.deadline()), (flag::FIN, 10_000, 0, at(700)));
    sender.on_timer(at(700));
    let again = sender.poll(at(700)).expect("the FIN again");
    assert_eq!((again.flags & flag::FIN, again.seq, sender.deadline()), (flag::FIN, 10_000, at(1700)));
    assert!(sender.poll(at(700)).is_none());
}

/// RFC 8985, section 7.4.2. The probe was segment 9 again. An ACK for it alone tells nothing yet. If later data is
/// acknowledged without a report that 9 came twice, the probe has repaired a loss, and the window is halved. If 9 came
/// twice (RFC 2883), or an ACK reports nothing new, only the ACK was lost.
#[test]
fn the_ack_of_a_probe_shows_what_was_lost() {
    let twice = Packet { sack: [(u32::MAX - 999, 0), (0, 0), (0, 0)], ..ack(10, &[]) };
    for (answers, halved) in [
        (vec![ack(10, &[])], true),
        (vec![twice], false),
        (vec![ack(10, &[]), twice], false),
        (vec![ack(10, &[]), ack(10, &[])], false),
    ] {
        let mut sender = tail("", 2);
        sender.on_timer(at(400));
        assert_eq!(poll(&mut sender, at(400)), [9]);
        for answer in &answers {
            sender.on_packet(at(500), answer);
        }
        assert_eq!((sender.ssthresh(), sender.cwnd()), (f64::INFINITY, sender.cwnd()));
        sender.supply(2000);
        assert_eq!(poll(&mut sender, at(500)), [10, 11]);
        sender.on_packet(at(600), &ack(11, &[]));
        assert_eq!(sender.ssthresh() < f64::INFINITY, halved, "{answers:?}");
        assert_eq!((sender.counts().fast_retransmits, sender.phase), (0, RecoveryPhase::Open));
        let ssthresh = sender.ssthresh();
        sender.on_packet(at(601), &ack(12, &[]));
        assert_eq!(sender.ssthresh(), ssthresh, "once");
    }
}

/// The receiver may send no SACK blocks: at the third duplicate ACK the first segment is lost (RFC 6675, section 5),
/// once. Nothing tells that a segment has left the network, so nothing else is sent.
#[test]
fn duplicates_without_blocks_find_the_first_loss() {
    for recovery in ["sack", "rack"] {
        let mut sender = ten_in_flight(&format!("sack = true\nrecovery = '{recovery}'"));
        let dup = ack(0, &[]);
        assert_eq!(answers(&mut sender, &[dup; 5]), [vec![], vec![], vec![0], vec![], vec![]]);
        assert_eq!((sender.ssthresh(), sender.counts().fast_retransmits), (5.0, 1));
    }
}

/// An ACK up to 1 that comes after the one up to 3 still reports that 5 has arrived, and nothing about what lies below;
/// it is no duplicate.
#[test]
fn an_ack_that_was_overtaken_tells_of_what_arrived() {
    let sacked = |sender: &Sender| sender.info().sacked;
    for (blocks, arrived) in [(&[(5, 6)][..], 1), (&[(2, 3)], 0), (&[(3, 4)], 1), (&[(2, 3), (6, 8)], 2), (&[], 0)] {
        let mut sender = ten_in_flight(RACK);
        sender.on_packet(at(200), &ack(3, &[]));
        sender.on_packet(at(201), &ack(1, blocks));
        assert_eq!((sacked(&sender), sender.una(), sender.dup_acks), (arrived, 3000, 0), "{blocks:?}");
    }
    // With detection by counting an old ACK has no effect (RFC 6675), nor has one where nothing is outstanding.
    let mut sender = ten_in_flight("sack = true");
    sender.on_packet(at(200), &ack(3, &[]));
    sender.on_packet(at(201), &ack(1, &[(5, 6)]));
    assert_eq!(sacked(&sender), 0);
}

/// RFC 6582, section 3.2, step 1: after a timeout duplicate ACKs start no fast retransmit until more is acknowledged
/// than was outstanding then.
#[test]
fn duplicates_after_a_timeout_are_no_loss() {
    let mut sender = ten_in_flight("cc = 'newreno'");
    let timeout = sender.deadline();
    sender.on_timer(timeout);
    assert_eq!(poll(&mut sender, timeout), [0]);
    let dup = |sender: &mut Sender, segment: u32| {
        sender.on_packet(timeout, &ack(segment, &[]));
        poll(sender, timeout);
        for _ in 0..3 {
            sender.on_packet(timeout, &ack(segment, &[]));
        }
        sender.counts().fast_retransmits
    };
    assert_eq!(dup(&mut sender, 1), 0);
    assert_eq!(dup(&mut sender, 10), 0);
    assert_eq!(dup(&mut sender, 11), 1);
}

/// Linux, tcp_is_cwnd_limited: in slow start the window of 10 grows while it is less than twice the most that was in
/// flight, so from 6 segments on; after it only if the window was full within the last round trip.
#[test]
fn a_window_in_use_grows() {
    let grows = |settings: &str, sack: bool, rounds: &[u64]| {
        let text = format!("track_use = true\nsack = {sack}\ngrowth = 'bytes'\nidle_restart = 'never'\n{settings}");
        let (mut sender, _) =
            ends(&format!("{text}\nmss = '1000 B'\nhandshake = 'none'\ninitial_window = '10 packets'"));
        sender.open(Time::ZERO);
        let mut end = 0;
        let mut grown = Vec::new();
        for (&segments, round) in rounds.iter().zip(1_u64..) {
            sender.supply(segments * 1000);
            poll(&mut sender, at(100 * round));
            let before = sender.cwnd();
            end += u32::try_from(segments).expect("a few");
            sender.on_packet(at(100 * round + 100), &ack(end, &[]));
            grown.push(sender.cwnd() > before);
        }
        grown
    };
    for sack in [false, true] {
        assert_eq!([4, 5, 6].map(|n| grows("", sack, &[n])[0]), [false, false, true], "slow start");
        let avoidance = "initial_ssthresh = '5 packets'";
        assert_eq!([9, 10].map(|n| grows(avoidance, sack, &[n])[0]), [false, true], "avoidance");
        assert_eq!(grows(avoidance, sack, &[10, 3, 11]), [true, false, true], "a window of 11 after the first round");
        assert_eq!(grows("", sack, &[6, 2, 1]), [true, false, false]);
    }
}

/// Linux, tcp_cwnd_validate: the most in flight is of a round trip, and rises within it. With a window of 10, one
/// segment was in flight, then six: twice six is more than the window, so it grows in slow start; with four it does
/// not.
#[test]
fn a_window_used_later_in_the_round_grows() {
    for (sack, more, window) in [(false, 5, 11.0), (true, 5, 11.0), (false, 3, 10.0), (true, 3, 10.0)] {
        let text = format!("track_use = true\nsack = {sack}\ngrowth = 'bytes'\nmss = '1000 B'");
        let (mut sender, _) = ends(&format!("{text}\nhandshake = 'none'\ninitial_window = '10 packets'"));
        sender.open(Time::ZERO);
        for (millis, segments) in [(100, 1), (150, more)] {
            sender.supply(segments * 1000);
            poll(&mut sender, at(millis));
        }
        sender.on_packet(at(200), &ack(1, &[]));
        assert_eq!(sender.cwnd(), window, "sack = {sack}, {more} more");
    }
}

/// RFC 7661, section 4.4, in its simplest form: while the receive window limits what is sent, the congestion window
/// does not grow. With 9 segments in flight, a congestion window of 10 and a receive window of 9, the former would let
/// exactly one more segment leave.
#[test]
fn a_window_that_the_receiver_leaves_unused_does_not_grow() {
    for sack in [false, true] {
        for (receive, grown) in [(9, 10.0), (10, 19.0)] {
            let text = format!("sack = {sack}\ngrowth = 'bytes'\nreceive_window = '{receive} packets'\nmss = '1000 B'");
            let (mut sender, _) = ends(&format!("{text}\nhandshake = 'none'\ninitial_window = '10 packets'"));
            sender.open(Time::ZERO);
            sender.supply(100_000);
            assert_eq!(poll(&mut sender, at(100)).len(), receive);
            sender.on_packet(at(200), &Packet { window: 10_000, ..ack(9, &[]) });
            assert_eq!(sender.cwnd(), grown, "sack = {sack}, a receive window of {receive}");
        }
    }
}

/// RFC 9293, section 3.8.6.2.1: a window of 400 bytes is too small to use when the receiver has had 10,000 open; a
/// segment that fits is still sent after an RTO, and the next ACK lets data flow.
#[test]
fn a_silly_window_is_used_after_a_timeout() {
    for sack in [false, true] {
        let mut sender = ten_in_flight(&format!("track_use = true\nsack = {sack}\nreceive_window = '10 packets'"));
        sender.on_packet(at(200), &Packet { window: 10_000, ..ack(9, &[]) });
        sender.discard_unsent();
        sender.on_packet(at(201), &Packet { window: 400, ..ack(10, &[]) });
        let sent = poll(&mut sender, at(201));
        assert!(sent.is_empty() && !sender.is_probing(), "nothing to send: {sent:?}");
        sender.supply(5000);
        assert!(sender.poll(at(201)).is_none() && sender.is_probing());
        let due = sender.deadline();
        assert_eq!(due, at(201) + sender.rtt().rto());
        sender.on_timer(due);
        let segment = sender.poll(due).expect("what fits");
        assert_eq!((segment.payload, sender.in_flight(), sender.is_probing()), (400, 400, false));
        let answer = Packet { ack: segment.end(), window: 10_000, ..ack(10, &[]) };
        sender.on_packet(due + Duration::from_millis(100), &answer);
        assert_eq!(sender.poll(due + Duration::from_millis(100)).map(|next| next.seq), Some(segment.end()));
    }
}

/// RFC 6675, section 4, NextSeg, rule 4: of ten segments, all that there are, 0 and 9 are missing. When the window
/// allows it and nothing else is left to send, the last segment is sent again, once.
#[test]
fn the_last_segment_is_rescued_once() {
    let text = "sack = true\nmss = '1000 B'\nhandshake = 'none'\ninitial_window = '10 packets'";
    let (mut sender, _) = ends(text);
    sender.open(Time::ZERO);
    sender.supply(10_000);
    assert_eq!(poll(&mut sender, at(100)).len(), 10);
    // At the third segment that has arrived 0 is lost; ssthresh is 5. The pipe then is 10 - 3 - 1, and 1 with 0 again;
    // it is 6 and 5 after two further ones, and lets a segment leave at the sixth.
    let acks: Vec<_> = (2..=9).map(|end| ack(0, &[(1, end)])).collect();
    let expected: [&[u64]; 8] = [&[], &[], &[0], &[], &[], &[9], &[], &[]];
    assert_eq!(answers(&mut sender, &acks), expected);
}

/// Karn's algorithm with one timed segment, where the congestion control also keeps transmission times (Vegas): only
/// the ACK of the timed segment changes SRTT, which is 100 ms after the ACK of the first at 200 ms. Segment 10, sent
/// then, is timed next: its ACK comes at 400 ms, and SRTT is 7/8 100 + 1/8 200 ms (RFC 6298).
#[test]
fn only_the_timed_segment_changes_srtt() {
    let mut sender = ten_in_flight("cc = 'vegas'");
    let srtt = |sender: &Sender| sender.rtt().srtt().as_nanos() / 1000;
    sender.on_packet(at(200), &ack(1, &[]));
    assert_eq!((poll(&mut sender, at(200)).first(), srtt(&sender)), (Some(&10), 100_000));
    for (millis, segments) in [(210, 2), (220, 10)] {
        sender.on_packet(at(millis), &ack(segments, &[]));
        assert_eq!(srtt(&sender), 100_000, "{millis} ms");
    }
    sender.on_packet(at(400), &ack(11, &[]));
    assert_eq!(srtt(&sender), 112_500);
}

/// A window probe that is due twice before it can leave is sent once.
#[test]
fn a_probe_waits_for_the_link() {
    let mut sender = ten_in_flight("");
    sender.on_packet(seconds(1), &Packet { window: 0, ..ack(10, &[]) });
    assert!(sender.poll(seconds(1)).is_none());
    for _ in 0..2 {
        let due = sender.deadline();
        sender.on_timer(due);
    }
    let now = seconds(100);
    assert_eq!(sender.poll(now).map(|probe| (probe.seq, probe.payload)), Some((10_000, 1)));
    assert!(sender.poll(now).is_none());
}

/// Segments 0 to 3 of ten are lost, 4 to 6 arrive. The first two ACKs let 10 and 11 leave; with the third, 12 segments
/// are unacknowledged, of which three have arrived and four are lost: the pipe is 5. ns-3 halves that
/// (`TcpSocketBase::EnterRecovery`), RFC 6675 FlightSize, which is at most the window here.
#[test]
fn a_loss_halves_what_the_setting_says() {
    for (base, ssthresh) in [("flight", 5.0), ("pipe", 2.5), ("window", 5.0)] {
        let mut sender = ten_in_flight(&format!("sack = true\nreduce_from = '{base}'"));
        for arrived in 5..8 {
            answers(&mut sender, &[ack(0, &[(4, arrived)])]);
        }
        assert_eq!(sender.ssthresh(), ssthresh, "{base}");
    }
}

/// Linux (`tcp_enter_loss`) reduces ssthresh once in a window. Recovery has set it to 10 / 2, and the timeouts of
/// segment 0 leave it. After an ACK for new data the next timeout halves the window, to two segments at least.
#[test]
fn linux_reduces_ssthresh_once_in_a_window() {
    let linux = "stack = 'linux'\ncc = 'newreno'\ntimestamps = false";
    for (settings, after) in [(linux.to_owned(), 5.0), (format!("{linux}\nreduce_once = false"), 2.5)] {
        let mut sender = ten_in_flight(&settings);
        for arrived in 2..6 {
            answers(&mut sender, &[ack(0, &[(1, arrived)])]);
        }
        assert_eq!((sender.ssthresh(), sender.counts().fast_retransmits), (5.0, 1), "{settings}");
        sender.on_timer(sender.deadline());
        assert_eq!((sender.ssthresh(), sender.cwnd(), sender.counts().timeouts), (after, 1.0, 1), "{settings}");
        flush(&mut sender);
        sender.on_timer(sender.deadline()); // of the same segment
        assert_eq!((sender.ssthresh(), sender.counts().timeouts), (after, 2), "{settings}");
        answers(&mut sender, &[ack(5, &[])]);
        let window = sender.cwnd();
        sender.on_timer(sender.deadline());
        assert_eq!((sender.ssthresh(), sender.counts().timeouts), ((window / 2.0).max(2.0), 3), "{settings}");
    }
}

/// So it is with every congestion control that has a threshold.
#[test]
fn no_congestion_control_reduces_ssthresh_twice_in_a_window() {
    let names = ["reno", "newreno", "cubic", "vegas", "westwood-plus", "compound", "htcp", "veno", "illinois", "bic"];
    let variants = ["ns2", "paper"].map(|variant| format!("vegas.variant = '{variant}'"));
    let plain = names.map(|name| (name, String::new()));
    for (name, variant) in plain.into_iter().chain(variants.map(|variant| ("vegas", variant))) {
        let mut sender = ten_in_flight(&format!("stack = 'linux'\ntimestamps = false\ncc = '{name}'\n{variant}"));
        for arrived in 2..6 {
            answers(&mut sender, &[ack(0, &[(1, arrived)])]);
        }
        let reduced = sender.ssthresh();
        assert!(reduced < 10.0, "{name} {variant}: {reduced}");
        sender.on_timer(sender.deadline());
        let found = (sender.ssthresh(), sender.cwnd(), sender.counts().timeouts);
        assert_eq!(found, (reduced, 1.0, 1), "{name} {variant}");
    }
}

/// The window and ssthresh from before the recovery come back if it was spurious, although a timeout followed: the ACK
/// echoes a timestamp from before the retransmission.
#[test]
fn a_timeout_in_recovery_keeps_what_linux_undoes() {
    let mut sender = ten_in_flight("stack = 'linux'\ncc = 'newreno'");
    for arrived in 2..6 {
        answers(&mut sender, &[ack(0, &[(1, arrived)])]);
    }
    sender.on_timer(sender.deadline());
    flush(&mut sender);
    assert_eq!((sender.ssthresh(), sender.cwnd()), (5.0, 1.0));
    answers(&mut sender, &[ack(5, &[])]);
    assert!(sender.ssthresh() == f64::INFINITY && sender.cwnd() >= 10.0, "{}", sender.cwnd());
}
