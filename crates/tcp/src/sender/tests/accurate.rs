//! Accurate ECN between the simulated ends (RFC 9768).

use proptest::prelude::*;
use wifair_packet::flag;
use wifair_units::{BitRate, Duration, Time};

use crate::accecn::EcnCodepoint;
use crate::pipe::{Pipe, SegmentFate, ends};

const MARKED: SegmentFate = SegmentFate { marked: true, ..SegmentFate::ARRIVES };

fn pipe(settings: &str) -> Pipe {
    let text = format!("stack = 'modern'\nmss = '1000 B'\necn = true\n{settings}");
    Pipe::new(ends(&text), BitRate::from_mbps(10), Duration::from_millis(20))
}

fn carry(mut pipe: Pipe, bytes: u64) -> Pipe {
    pipe.sender.open(Time::ZERO);
    pipe.sender.supply(bytes);
    pipe.run(Time::ZERO + Duration::from_secs(100));
    assert_eq!(pipe.receiver.delivered(), bytes);
    pipe
}

fn every_tenth(pipe: Pipe) -> Pipe {
    pipe.with_script(|offer| if offer.forward && offer.n % 10 == 9 { MARKED } else { SegmentFate::ARRIVES })
}

/// Of packets 0 (SYN), 1 (ACK) and then the data, each tenth is marked: the sender gets to know the exact numbers, and
/// no segment says that the window was reduced.
#[test]
fn marks_are_counted_exactly() {
    for (cc, field) in [("cubic", EcnCodepoint::Ect0), ("dctcp", EcnCodepoint::Ect0), ("prague", EcnCodepoint::Ect1)] {
        let pipe = carry(every_tenth(pipe(&format!("cc = '{cc}'\naccurate_ecn = 'both'"))), 1_000_000);
        let data: Vec<_> = pipe.log.iter().enumerate().filter(|(_, (_, p))| p.payload > 0).collect();
        let marked: Vec<_> = data.iter().filter(|(n, _)| n % 10 == 9).collect();
        let bytes = |chosen: &[&(usize, &(Time, wifair_packet::Packet))]| {
            chosen.iter().map(|(_, (_, p))| u64::from(p.payload)).sum::<u64>()
        };
        assert_eq!(pipe.sender.ecn.reported_marks(EcnCodepoint::Ce), (marked.len() as u64, bytes(&marked)), "{cc}");
        let all = bytes(&data.iter().collect::<Vec<_>>());
        assert_eq!(pipe.sender.ecn.reported_marks(field).1, all - bytes(&marked), "{cc}");
        assert!(data.iter().all(|(_, (_, p))| p.has(flag::ECT) && !p.has(flag::CWR)), "{cc}");
    }
}

/// RFC 9768, table 2: with one end that knows RFC 3168 alone, marks are echoed until CWR comes.
#[test]
fn one_end_alone_falls_back_to_echoes() {
    for who in ["sender", "receiver", "none"] {
        let pipe = carry(every_tenth(pipe(&format!("accurate_ecn = '{who}'"))), 300_000);
        assert_eq!(pipe.sender.ecn.reported_marks(EcnCodepoint::Ce), (0, 0), "{who}");
        assert!(pipe.acks.iter().any(|(_, ack)| ack.has(flag::ECE)), "{who}");
        assert!(pipe.log.iter().any(|(_, packet)| packet.has(flag::CWR) && packet.payload > 0), "{who}");
        let syn = pipe.log[0].1;
        assert_eq!(syn.ace(), if who == "sender" { 0b111 } else { 0 }, "{who}");
    }
}

/// Section 3.1.4.1: a SYN that was lost twice no longer asks, and without ECN no packet is capable of it.
#[test]
fn lost_syns_ask_once_more() {
    for (lost, asks) in [(1, true), (2, false)] {
        let script = move |offer: crate::pipe::Offer| {
            if offer.forward && offer.n < lost { SegmentFate::LOST } else { SegmentFate::ARRIVES }
        };
        let pipe = carry(pipe("accurate_ecn = 'both'").with_script(script), 100_000);
        let last = &pipe.log[lost as usize].1;
        assert_eq!((last.has(flag::SYN), last.ace()), (true, if asks { 0b111 } else { 0 }));
        let capable = pipe.log.iter().filter(|(_, packet)| packet.payload > 0).all(|(_, p)| p.has(flag::ECT) == asks);
        assert!(capable, "{lost} lost");
    }
}

/// Off in ns-2's stack, and without a handshake agreed on from the start.
#[test]
fn without_a_handshake_both_ends_know_each_other() {
    let (sender, _) = ends("stack = 'ns2'\ncc = 'prague'");
    assert_eq!(sender.ecn.reported_marks(EcnCodepoint::Ce), (0, 0));
    let pipe = carry(every_tenth(pipe("accurate_ecn = 'both'\nhandshake = 'none'")), 200_000);
    assert!(pipe.sender.ecn.reported_marks(EcnCodepoint::Ce).0 >= 20);
}

proptest! {
    /// Over a path that loses, repeats, delays and marks in both directions, and wraps the counters of 24 bits, the
    /// sender's counts never exceed the receiver's, and the bytes are equal once all is acknowledged.
    #[test]
    fn no_byte_is_lost_over_a_bad_path(
        fates in prop::collection::vec((0..60_u8, any::<bool>()), 1..400),
        mss in prop_oneof![Just(1000), Just(60_000)],
    ) {
        let text = format!("stack = 'modern'\nmss = '{mss} B'\ncc = 'dctcp'\necn = true\naccurate_ecn = 'both'");
        let mut pipe = Pipe::new(ends(&text), BitRate::from_mbps(1000), Duration::from_millis(1));
        pipe = pipe.with_script(move |offer| {
            let (fate, marked) = fates[offer.n as usize % fates.len()];
            match fate {
                0 => SegmentFate::LOST,
                1 => SegmentFate { detour: Duration::from_millis(3), marked, ..SegmentFate::ARRIVES },
                2 => SegmentFate { copies: 2, marked, ..SegmentFate::ARRIVES },
                _ => SegmentFate { marked, ..SegmentFate::ARRIVES },
            }
        });
        pipe.sender.open(Time::ZERO);
        pipe.sender.supply(600 * mss);
        pipe.run(Time::ZERO + Duration::from_secs(300));
        for field in [EcnCodepoint::Ect0, EcnCodepoint::Ce] {
            let (reported, received) = (pipe.sender.ecn.reported_marks(field), pipe.receiver.received_marks(field));
            prop_assert!(reported.1 <= received.1, "{reported:?} of {received:?}");
            // The last ACK may be lost; what it reports is at most the data of a window.
            prop_assert!(received.1 - reported.1 <= 100 * mss, "{reported:?} of {received:?}");
        }
    }
}
