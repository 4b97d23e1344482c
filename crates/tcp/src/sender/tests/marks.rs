//! Congestion marks beside losses and timeouts, by hand.

use super::*;

/// RFC 3168, section 6.1: one mark halves the window once; the receiver echoes it until the sender confirms with one
/// CWR.
#[test]
fn a_mark_is_answered_once() {
    let mut pipe = slow("mss = '1000 B'\necn = true\nreceive_window = '20 packets'\ndelayed_ack = false")
        .with_script(|o| SegmentFate { marked: o.forward && o.n == 60, ..SegmentFate::ARRIVES });
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(100_000);
    pipe.run(seconds(10));
    assert_eq!(pipe.log.iter().filter(|(_, p)| p.has(flag::CWR)).count(), 1);
    // 20 in flight at the mark: half of 20 is kept, or of 19 if the ACK had already left the flight.
    assert!((9.5..=10.0).contains(&pipe.sender.ssthresh()), "{}", pipe.sender.ssthresh());
    assert_eq!(pipe.sender.counts().retransmissions, 0);
    let echoes = pipe.acks.iter().filter(|(_, p)| p.has(flag::ECE)).count();
    assert!((15..=21).contains(&echoes), "a round trip of ACKs echoes: {echoes}");
}

/// RFC 3168, section 6.1.2: one reduction for a window of data. The ACK of the first of ten segments is marked, with
/// nine in flight. Segment 1 is lost, which is known before any of the nine is acknowledged: equation 4 gives 9 / 2
/// again.
#[test]
fn a_loss_right_after_a_mark_does_not_lower_ssthresh_again() {
    let mut sender = ten_in_flight("cc = 'newreno'\necn = true");
    answers(&mut sender, &[Packet { flags: flag::ACK | flag::ECE, ..ack(1, &[]) }]);
    assert_eq!(sender.ssthresh(), 4.5);
    answers(&mut sender, &[ack(1, &[]); 3]);
    assert_eq!((sender.ssthresh(), sender.counts().fast_retransmits), (4.5, 1));
}

/// An ACK that echoes a mark.
fn echo(segments: u32, blocks: &[(u32, u32)]) -> Packet {
    Packet { flags: flag::ACK | flag::ECE, ..ack(segments, blocks) }
}

/// ACKs up to `segment`, which is lost, while those up to `arrived` arrive: three duplicates, with blocks if `settings`
/// have SACK.
fn loss(settings: &str, segment: u32, arrived: u32) -> [Packet; 3] {
    [2, 1, 0].map(|left| {
        let blocks: &[_] = if settings.contains("sack = true") { &[(segment + 1, arrived - left)] } else { &[] };
        ack(segment, blocks)
    })
}

/// Settings of all kinds of recovery, of what is halved, and of stacks, with `cc`.
fn all(cc: &str) -> Vec<String> {
    let mut all = Vec::new();
    for stack in ["rfc", "modern", "linux", "ns2"] {
        for recovery in ["sack = false", "sack = true\nrecovery = 'sack'", "sack = true\nrecovery = 'rack'"] {
            for base in ["flight", "window", "pipe"] {
                all.push(format!("stack = '{stack}'\n{recovery}\nreduce_from = '{base}'\necn = true\ncc = '{cc}'"));
            }
        }
    }
    all
}

/// RFC 3168, section 6.1.2: an ACK that echoes a mark does not let the window grow. Half of ten segments stay, as in
/// ns-2, and the next echoes of the same mark change nothing.
#[test]
fn an_ack_that_echoes_a_mark_does_not_let_the_window_grow() {
    for stack in ["rfc", "modern", "ns2"] {
        for cc in ["newreno", "reno", "highspeed"] {
            let mut sender = ten_in_flight(&format!(
                "stack = '{stack}'\nreduce_from = 'window'\nsack = false\nrecovery = 'newreno'\necn = true\ncc = '{cc}'"
            ));
            let before = sender.cwnd();
            answers(&mut sender, &[echo(1, &[])]);
            let after = sender.cwnd();
            assert_eq!((before, after), (10.0, 5.0), "{stack}, {cc}");
            answers(&mut sender, &[echo(2, &[]), echo(3, &[])]);
            assert_eq!(sender.cwnd(), after, "{stack}, {cc}");
        }
    }
}

/// RFC 3168, section 6.1.2. The first of ten segments was marked; 4, sent before the mark came, is lost. The window
/// falls once, whatever was acknowledged meanwhile. The next new segment tells that it fell.
#[test]
fn a_loss_in_a_window_that_a_mark_has_reduced_is_repaired_without_a_reduction() {
    for cc in ["newreno", "cubic", "westwood-plus", "compound", "vegas", "illinois", "htcp"] {
        for settings in all(cc) {
            let mut sender = ten_in_flight(&settings);
            answers(&mut sender, &[echo(1, &[])]);
            let (ssthresh, window) = (sender.ssthresh(), sender.cwnd());
            assert!(ssthresh < 10.0 && window < 10.0, "{settings}: {ssthresh}, {window}");
            answers(&mut sender, &[ack(4, &[])]);
            let window = sender.cwnd().max(window);
            let sent = answers(&mut sender, &loss(&settings, 4, 8)).concat();
            let found = (sender.ssthresh(), sender.counts().fast_retransmits, sent.contains(&4));
            assert_eq!(found, (ssthresh, 1, true), "{settings}: {sent:?}");
            let all = u32::try_from(sender.nxt() / 1000).expect("a few");
            answers(&mut sender, &[ack(all, &[])]);
            let after = (sender.ssthresh(), sender.phase, sender.cwnd() <= window + 1.0);
            assert_eq!(after, (ssthresh, RecoveryPhase::Open, true), "{settings}: {} of {window}", sender.cwnd());
        }
    }
}

/// Segment 6 was sent before the mark, 10 after it, and both before 6 is known to be lost: losses in two windows of
/// data, which lower the window twice (RFC 5681, section 4.3), although one recovery could repair both.
#[test]
fn a_loss_in_the_next_window_reduces_again() {
    for settings in ["sack = false", "sack = true"] {
        for base in ["flight", "window"] {
            let text = format!("{settings}\necn = true\ncc = 'newreno'\nreduce_from = '{base}'\nprr = false");
            let mut sender = ten_in_flight(&text);
            let mut sent = answers(&mut sender, &[echo(1, &[]), ack(6, &[])]).concat();
            let once = sender.ssthresh();
            sent.extend(answers(&mut sender, &loss(settings, 6, 10)).concat());
            assert!(sent.starts_with(&[10]) && sent.contains(&6), "{text}: {sent:?}");
            let mut sent = Vec::new();
            for _ in 0..5 {
                let end = u32::try_from(sender.nxt() / 1000).expect("a few");
                let blocks: &[_] = if settings.contains("true") { &[(11, end), (7, 10)] } else { &[] };
                sent.extend(answers(&mut sender, &[ack(6, blocks)]).concat());
            }
            assert_eq!((sender.ssthresh(), sender.counts().fast_retransmits), (once, 1), "{text}");
            let window = sender.cwnd();
            sent.extend(answers(&mut sender, &[ack(10, &[])]).concat());
            assert_eq!(sent.iter().filter(|&&segment| segment == 10).count(), 1, "{text}: {sent:?}");
            assert_eq!(sender.ssthresh(), window / 2.0, "{text}");
        }
    }
}

/// RFC 8257, section 3.5: a loss is answered "in the same way as conventional TCP" has it, whatever marks have done;
/// Linux halves the window when recovery begins, in the state `CWR` too. From ten segments, all marked at first:
/// 10 (1 - 1/2), then half of that.
#[test]
fn dctcp_halves_the_window_at_a_loss_after_a_mark() {
    for stack in ["rfc", "modern", "linux"] {
        let settings = format!("stack = '{stack}'\nsack = true\necn = true\ncc = 'dctcp'\ntail_loss_probes = false");
        let mut sender = ten_in_flight(&settings);
        answers(&mut sender, &[echo(1, &[])]);
        assert_eq!(sender.ssthresh(), 5.0, "{stack}");
        answers(&mut sender, &loss(&settings, 1, 5));
        assert_eq!((sender.ssthresh(), sender.counts().fast_retransmits), (2.5, 1), "{stack}");
    }
}

/// Marks are no signal to BBR and Tsunami: what is sent is the same with a mark before a loss as without it. Reno sends
/// less after the mark, which shows that it arrives.
#[test]
fn losses_count_where_marks_do_not() {
    let sent = |cc: &str, marks: bool| {
        let text = format!("cc = '{cc}'\necn = true\nsack = true\nmss = '1000 B'\nreceive_window = '20 packets'");
        let mut pipe = slow(&text).with_script(move |o| match o.n {
            60 if o.forward && marks => SegmentFate { marked: true, ..SegmentFate::ARRIVES },
            64 if o.forward => SegmentFate::LOST,
            _ => SegmentFate::ARRIVES,
        });
        pipe.sender.open(Time::ZERO);
        pipe.sender.supply(200_000);
        pipe.run(seconds(10));
        assert!(pipe.sender.counts().retransmissions > 0, "{cc}");
        pipe.sent()
    };
    for (cc, same) in [("bbr", true), ("bbr3", true), ("tsunami", true), ("newreno", false)] {
        assert_eq!(sent(cc, false) == sent(cc, true), same, "{cc}");
    }
}

/// The recovery of a loss after a mark, and a timeout after a mark, prove spurious: the ACK echoes a timestamp from
/// before the retransmission. What the mark has reduced stays so (Linux, `tcp_enter_cwr`: `prior_ssthresh = 0`).
#[test]
fn no_undo_restores_the_window_before_a_mark() {
    for stack in ["modern", "linux"] {
        for expires in [false, true] {
            for sack in [false, true] {
                let settings =
                    format!("stack = '{stack}'\nsack = {sack}\necn = true\ncc = 'newreno'\ntail_loss_probes = false");
                let mut sender = ten_in_flight(&settings);
                answers(&mut sender, &[echo(1, &[])]);
                let (ssthresh, window) = (sender.ssthresh(), sender.cwnd());
                if expires {
                    sender.on_timer(sender.deadline());
                    flush(&mut sender);
                } else {
                    answers(&mut sender, &loss(&settings, 1, 5));
                }
                answers(&mut sender, &[ack(5, &[])]);
                assert_eq!((sender.ssthresh(), sender.counts().spurious), (ssthresh, 1), "{settings} {expires}");
                assert!(sender.cwnd() <= window + 1.0, "{settings}: {} after {window}", sender.cwnd());
            }
        }
    }
}

/// A mark echoed in recovery forbids to undo its reduction (Linux, `tcp_fastretrans_alert`).
#[test]
fn a_mark_forbids_to_undo() {
    for (in_recovery, after) in [(ack(0, &[(1, 5)]), f64::INFINITY), (echo(0, &[(1, 5)]), 5.0)] {
        let settings = "stack = 'linux'\nsack = true\necn = true\ncc = 'newreno'";
        let mut sender = ten_in_flight(settings);
        answers(&mut sender, &loss(settings, 0, 4));
        assert_eq!(sender.ssthresh(), 5.0);
        answers(&mut sender, &[in_recovery, ack(5, &[])]);
        assert_eq!((sender.ssthresh(), sender.counts().spurious), (after, 1));
    }
}

/// RFC 3168, section 6.1.2, the other way round: the window is reduced for a loss, and marks of the same window of data
/// are echoed in recovery and with the ACK that ends it. The first new segment carries CWR, "for any reason". A mark
/// after that window reduces again.
#[test]
fn a_mark_in_a_window_that_a_loss_has_reduced_does_not_reduce_again() {
    for settings in all("newreno") {
        let mut sender = ten_in_flight(&format!("{settings}\ntimestamps = false"));
        let now = Time::ZERO + Duration::from_millis(100);
        let marked = |packet: &Packet| Packet { flags: flag::ACK | flag::ECE, ..*packet };
        answers(&mut sender, &[ack(1, &[])]);
        let mut sent = Vec::new();
        for duplicate in loss(&settings, 1, 5) {
            sender.on_packet(now, &duplicate);
            sent.extend(std::iter::from_fn(|| sender.poll(now)));
        }
        let ssthresh = sender.ssthresh();
        assert!(ssthresh < 8.0, "{settings}: {ssthresh}");
        let end = u32::try_from(sender.recover / 1000).expect("a few");
        for packet in [&loss(&settings, 1, 10)[..], &loss(&settings, 1, end), &[ack(end, &[])]].concat() {
            sender.on_packet(now, &marked(&packet));
            sent.extend(std::iter::from_fn(|| sender.poll(now)));
        }
        assert_eq!((sender.ssthresh(), sender.phase), (ssthresh, RecoveryPhase::Open), "{settings}");
        assert_eq!(sent.iter().filter(|packet| packet.has(flag::CWR)).count(), 1, "{settings}");
        answers(&mut sender, &[echo(end + 1, &[])]);
        assert!(sender.ssthresh() < ssthresh, "{settings}: {} of {ssthresh}", sender.ssthresh());
    }
}

/// ns-2 (`TcpAgent::timeout`: "if we are in recovery from a recent ECN, don't cut down ssthresh_") and Linux
/// (`tcp_enter_loss`) agree on a timeout too: the window falls to a segment, `ssthresh` stays. If a retransmission was
/// lost, that is a new instance of congestion (RFC 3168, section 6.1.2), unless `reduce_once`, as in Linux.
#[test]
fn a_timeout_after_a_mark_leaves_ssthresh() {
    for settings in all("newreno") {
        for repairs in [false, true] {
            let mut sender = ten_in_flight(&format!("{settings}\ntail_loss_probes = false"));
            answers(&mut sender, &[echo(1, &[])]);
            let ssthresh = sender.ssthresh();
            if repairs {
                answers(&mut sender, &loss(&settings, 1, 5));
            }
            sender.on_timer(sender.deadline());
            assert_eq!((sender.cwnd(), sender.counts().timeouts), (1.0, 1), "{settings}");
            let again = repairs && !settings.contains("linux");
            assert_eq!(sender.ssthresh() < ssthresh, again, "{settings}: {ssthresh}, {}", sender.ssthresh());
        }
    }
}

/// Tahoe (ns-2, `TcpAgent::dupack_action`): slow start follows the loss, up to what the mark has left.
#[test]
fn tahoe_starts_slowly_up_to_what_a_mark_has_left() {
    let mut sender = ten_in_flight("stack = 'ns2'\nrecovery = 'tahoe'\ncc = 'tahoe'\necn = true");
    answers(&mut sender, &[echo(1, &[])]);
    let ssthresh = sender.ssthresh();
    assert!(ssthresh > 4.0 && sender.cwnd() == ssthresh);
    answers(&mut sender, &[ack(1, &[]); 3]);
    assert_eq!((sender.ssthresh(), sender.cwnd()), (ssthresh, 1.0));
}

/// A tail loss probe, which repairs a loss (RFC 8985, section 7.4.2), of a window that a mark has reduced or not.
#[test]
fn a_probe_that_repairs_a_loss_after_a_mark_reduces_nothing() {
    for mark in [false, true] {
        let (mut sender, _) = ends(
            "sack = true\nrecovery = 'rack'\necn = true\nreduce_from = 'window'\nmss = '1000 B'
            handshake = 'none'\ninitial_window = '10 packets'",
        );
        sender.open(Time::ZERO);
        sender.supply(10_000);
        assert_eq!(flush(&mut sender).len(), 10);
        let now = Time::ZERO + Duration::from_millis(200);
        sender.on_packet(now, &if mark { echo(1, &[]) } else { ack(1, &[]) });
        sender.on_packet(now, &ack(8, &[]));
        let ssthresh = sender.ssthresh();
        assert_eq!(ssthresh < 6.0, mark, "{ssthresh}");
        let due = sender.deadline();
        sender.on_timer(due);
        assert_eq!(sender.poll(due).map(|probe| probe.seq), Some(9000));
        sender.supply(2000);
        sender.on_packet(due, &ack(10, &[]));
        while sender.poll(due).is_some() {}
        sender.on_packet(due, &ack(11, &[]));
        assert_eq!(sender.ssthresh() < ssthresh, !mark, "{ssthresh}, {}", sender.ssthresh());
    }
}

/// Linux does so for whatever answers marks, until all is acknowledged that was outstanding at the mark (state `CWR`).
#[test]
fn linux_reduces_ssthresh_once_after_a_mark() {
    for (acknowledged, again) in [(2, false), (10, true)] {
        let mut sender = ten_in_flight("stack = 'linux'\ncc = 'newreno'\necn = true\ntail_loss_probes = false");
        answers(&mut sender, &[Packet { flags: flag::ACK | flag::ECE, ..ack(1, &[]) }]);
        assert_eq!(sender.ssthresh(), 5.0);
        answers(&mut sender, &[ack(acknowledged, &[])]);
        let after = if again { sender.cwnd() / 2.0 } else { 5.0 };
        sender.on_timer(sender.deadline());
        assert_eq!((sender.ssthresh(), sender.cwnd(), sender.counts().timeouts), (after, 1.0, 1));
    }
}
