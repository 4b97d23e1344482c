//! Effects of when and how the application supplies its data.

use super::*;

/// RFC 9293, section 3.7.4, with Minshall's change as in Linux: a short segment waits while another short one is
/// unacknowledged. A full segment does not wait, nor does the end of the data, nor anything without Nagle's algorithm.
#[test]
fn short_segments_wait_for_the_ack_of_a_short_one() {
    fn sizes(sender: &mut Sender, supply: u64) -> Vec<u16> {
        sender.supply(supply);
        std::iter::from_fn(|| sender.poll(seconds(1))).map(|packet| packet.payload).collect()
    }
    for sack in [false, true] {
        let start = |nagle| {
            let text = format!("mss = '1000 B'\nhandshake = 'none'\ninitial_window = '10 packets'\nsack = {sack}");
            let (mut sender, _) = ends(&text);
            sender.set_nagle(nagle);
            sender.open(Time::ZERO);
            assert_eq!(sizes(&mut sender, 300), [300]);
            sender
        };
        let mut sender = start(true);
        assert_eq!(sizes(&mut sender, 400), [0; 0]);
        assert_eq!(sizes(&mut sender, 600), [1000]);
        assert_eq!(sizes(&mut sender, 200), [0; 0]);
        sender.on_packet(seconds(1), &Packet { ack: 300, ..ack(0, &[]) });
        assert_eq!(sizes(&mut sender, 0), [200]);
        assert_eq!(sizes(&mut start(false), 400), [400]);
        let mut sender = start(true);
        assert_eq!((sizes(&mut sender, 400), sender.is_closing()), (vec![], false));
        sender.close();
        assert!(sender.is_closing());
        assert_eq!(sender.poll(seconds(1)).map(|packet| packet.payload), Some(400));
    }
}

/// Data not yet sent is withdrawn; what was sent still waits for its ACK.
#[test]
fn a_silent_sender_sends_nothing_new() {
    for sack in [false, true] {
        let mut sender = ten_in_flight(&format!("sack = {sack}"));
        sender.discard_unsent();
        assert_eq!((sender.supplied(), sender.in_flight()), (10_000, 10_000));
        assert_eq!(answers(&mut sender, &[ack(4, &[]), ack(10, &[])]), [[0; 0], [0; 0]]);
        assert_eq!((sender.in_flight(), sender.is_closing()), (0, false));
    }
}

/// 1 Mb/s, 50 ms: the SYN of 40 bytes takes 50.32 ms in each direction, then the third segment and the data leave; the
/// last segment carries PSH and the FIN, which is acknowledged.
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
            (100_640, flag::ACK | flag::PSH | flag::FIN, 1000, 540),
            // Two segments arrived: one ACK, which also carries the receiver's FIN and is answered by the last ACK.
            (100_640 + 320 + 8_320 + 4_320 + 50_000 + 50_320, flag::ACK, 1500, 40),
        ]
    );
    assert_eq!((pipe.sender.state(), pipe.receiver.is_finished()), (SenderState::Finished, true));
    assert_eq!(pipe.sender.deadline(), Time::NEVER);
}

/// ns-2's Vegas backs its timer off while nothing is outstanding: sessions 10 s apart begin with a timeout of 6.4 s, so
/// that the loss of the first two segments costs seconds. It has no limited transmit. The first session is left out:
/// ns-2's first window is one segment.
#[test]
fn sessions_of_vegas_leave_as_in_ns2() {
    let mut pipe = slow(
        "stack = 'ns2'\ncc = 'vegas'\nvegas.variant = 'ns2'\nheader = '0 B'\nack_header = '40 B'\n\
         handshake = 'none'\nlimited_transmit = 'off'",
    )
    .with_losses(&[20, 21, 47]);
    pipe.sender.open(Time::ZERO);
    for (session, segments) in [10, 10, 10, 50, 10].into_iter().enumerate() {
        pipe.run(seconds(10 * session as u64));
        pipe.sender.supply(segments * 1000);
    }
    pipe.run(seconds(60));
    let sent: Vec<_> = pipe.sent().into_iter().filter(|&(micros, _)| micros >= 10_000_000).collect();
    assert_eq!(sent, golden(include_str!("../golden_ns2/vegas_pauses.txt")));
}

/// RFC 5681, section 4.1: after eight idle seconds the window is the initial one. ns-2's timer makes it one segment,
/// and `never` leaves it.
#[test]
fn a_pause_shrinks_the_window() {
    for (settings, burst) in [
        ("stack = 'rfc'\nreceive_window = '20 packets'", 4),
        ("stack = 'rfc'\nreceive_window = '20 packets'\nidle_restart = 'never'", 20),
        ("stack = 'modern'\ninitial_window = '2 packets'\nreceive_window = '20 packets'", 2),
        ("stack = 'ns2'", 1),
    ] {
        let mut pipe = slow(&format!("{settings}\nmss = '1000 B'"));
        pipe.sender.open(Time::ZERO);
        pipe.sender.supply(200_000);
        pipe.run(seconds(10));
        let before = pipe.log.len();
        pipe.sender.supply(100_000);
        pipe.run(seconds(10));
        assert_eq!(pipe.log.len() - before, burst, "{settings}");
    }
}

/// ns-2.35: the SYN is part of the first session, and the timer, which kept running through a pause, restarts with the
/// first segment after it (`force_set_rtx_timer` in Agent/TCP), so that this segment has a full RTO for its ACK.
#[test]
fn a_pause_in_ns2_costs_no_timeout() {
    let mut pipe = slow("stack = 'ns2'\nmss = '1000 B'");
    pipe.sender.open(Time::ZERO);
    assert!(pipe.sender.poll(Time::ZERO).is_none(), "no SYN without data");
    pipe.sender.supply(20_000);
    pipe.run(seconds(10));
    let (last, rto) = (pipe.log.last().expect("segments").0, pipe.sender.rtt().rto());
    let mut at = last;
    for session in 1..20 {
        // Starts at all phases of the timer.
        at += rto * 7 + rto * session / 20;
        pipe.sender.supply(20_000);
        pipe.run(at + rto * 5);
        at += rto * 5;
    }
    assert_eq!(pipe.sender.counts().timeouts, 0);
}

/// RFC 2861, section 3.1: a window of 20 is halved twice in a pause of two and a half timeouts.
#[test]
fn a_pause_halves_the_window_for_each_timeout() {
    let mut pipe =
        slow("mss = '1000 B'\nidle_restart = 'rfc2861'\nreceive_window = '20 packets'\nmax_cwnd = '20 packets'");
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(2_000_000);
    let mut end = seconds(1);
    while pipe.sender.una() < 2_000_000 {
        pipe.run(end);
        end += Duration::from_millis(10);
    }
    let (sent, rto) = (pipe.log.last().expect("segments").0, pipe.sender.rtt().rto());
    pipe.run(sent + rto * 5 / 2);
    let before = (pipe.sender.cwnd(), pipe.log.len());
    pipe.sender.supply(1_000_000);
    pipe.run(pipe.now);
    assert_eq!((before.0, pipe.sender.cwnd(), pipe.log.len() - before.1), (20.0, 5.0, 5));
}
