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
/// last segment carries the FIN, which is acknowledged.
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
