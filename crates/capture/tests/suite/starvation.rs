//! Who starves, as captures at different points see it.

use crate::common::talk::{self, MS, Step, Wrap, ends};
use wifair_capture::fairness::Fairness;
use wifair_capture::frame::Tcp;
use wifair_capture::{AnalysisOptions, Endpoint, FlowRole, TcpOptions, analyze, flag};
use wifair_units::BitRate;

fn fairness(mut steps: Vec<Step>, wrap: Wrap, settings: AnalysisOptions) -> Fairness {
    steps.sort_by_key(|(at, _)| *at);
    for (id, (_, tcp)) in steps.iter_mut().enumerate() {
        tcp.ip.id = id as u16 + 1;
        tcp.options = TcpOptions::default();
    }
    let file = talk::capture(&steps, wrap, 1_000 * MS, 100);
    analyze(&file[..], settings, |_, _| true).expect("it is a capture").fairness()
}

/// Uploads `sent` segments of 1,000 bytes, one every 10 ms; the ACKs of the first `acked` pass.
fn upload(port: u16, sent: u32, acked: u32) -> Vec<Step> {
    let [client, server] = ends(false);
    let client = Endpoint { port, ..client };
    let mut steps = vec![
        (0, Tcp { seq: 0, flags: flag::SYN, window: 60_000, ..Tcp::between(client, server) }),
        (MS, Tcp { ack: 1, flags: flag::SYN | flag::ACK, window: 60_000, ..Tcp::between(server, client) }),
    ];
    for segment in 0..sent {
        let (at, seq) = (u64::from(10 + 10 * segment) * MS, 1 + 1_000 * segment);
        let data = Tcp { seq, ack: 1, flags: flag::ACK, payload: 1_000, ..Tcp::between(client, server) };
        steps.push((at, data));
        if segment < acked {
            let ack = Tcp { ack: seq + 1_000, flags: flag::ACK, window: 60_000, ..Tcp::between(server, client) };
            steps.push((at + 2 * MS, Tcp { seq: 1, ..ack }));
        }
    }
    steps
}

/// Of 80 segments that passed the air, the ACKs of 40 were lost in the access point's queue. The mean of both flows is
/// 540 segments (520 by ACKs): 80 segments are more than a tenth of it, 40 are less. A monitor on the air knows that
/// 80 arrived; a capture on a wire in front of a queue cannot know, and both say that it is a close call.
#[test]
fn data_on_the_air_has_arrived_though_its_acks_were_lost() {
    let steps = || [upload(40_000, 1_000, 1_000), upload(40_001, 80, 40)].concat();
    for (wrap, starved) in [(Wrap::Radiotap, false), (Wrap::Qos, false), (Wrap::Ethernet, true)] {
        let flows = fairness(steps(), wrap, AnalysisOptions::default()).flows;
        assert_eq!(flows.iter().map(|flow| flow.starved).collect::<Vec<_>>(), [false, starved]);
        assert_eq!(flows.iter().map(|flow| flow.near_threshold).collect::<Vec<_>>(), [false, true]);
    }
}

/// With a given fair share of 100 kb/s, the 32 kb/s that were acknowledged are more than a tenth; with 1 Mb/s they are
/// less.
#[test]
fn a_given_fair_share_decides_who_starves() {
    for (bps, starved) in [(100_000, false), (1_000_000, true)] {
        let settings = AnalysisOptions { fair_share: Some(BitRate::from_bps(bps)), ..AnalysisOptions::default() };
        let steps = [upload(40_000, 1_000, 1_000), upload(40_001, 80, 40)].concat();
        let flows = fairness(steps, Wrap::Ethernet, settings).flows;
        assert_eq!((flows[1].starved, flows[1].near_threshold), (starved, false));
    }
}

/// A repeated SYN is an attempt, answered or not, and so is a SYN whose answer is not acknowledged. A refused SYN is
/// not an attempt, nor is an established connection.
#[test]
fn connections_that_never_began_are_reported() {
    let [client, server] = ends(false);
    let mut steps = upload(40_000, 10, 10);
    for (port, answered, refused) in [(40_001, true, false), (40_002, false, false), (40_003, false, true)] {
        let client = Endpoint { port, ..client };
        for at in [0, 1_000 * MS, 3_000 * MS] {
            steps.push((at, Tcp { seq: 7, flags: flag::SYN, window: 60_000, ..Tcp::between(client, server) }));
            let flags = if refused { flag::RST | flag::ACK } else { flag::SYN | flag::ACK };
            if (answered && at > 0) || refused {
                steps.push((at + MS, Tcp { seq: 9, ack: 8, flags, ..Tcp::between(server, client) }));
            }
        }
    }
    let client = Endpoint { port: 40_004, ..client };
    steps.push((5, Tcp { seq: 7, flags: flag::SYN, window: 60_000, ..Tcp::between(client, server) }));
    steps.push((6, Tcp { seq: 9, ack: 8, flags: flag::SYN | flag::ACK, ..Tcp::between(server, client) }));
    let found = fairness(steps, Wrap::Ethernet, AnalysisOptions::default());
    let mut told: Vec<_> =
        found.attempts.iter().map(|attempt| (attempt.ends[0].port, attempt.syns, attempt.answers)).collect();
    told.sort_unstable();
    assert_eq!(told, [(40_001, 3, 2), (40_002, 3, 0), (40_004, 1, 1)]);
    assert_eq!(found.flows.len(), 1);
}

/// A server without an ACK repeats its answer after 1 and 3 s (RFC 6298, rules 2.1 and 5.5). Until the longest initial
/// timeout, 3 s (RFC 2988, rule 2.1), the first ACK may still be on its way; from then on the attempt counts as failed,
/// even if the server has just answered again.
#[test]
fn a_repeated_answer_counts_like_a_single_one() {
    let [client, server] = ends(false);
    for (until, vain) in [(3_000 * MS, false), (3_001 * MS, true), (3_500 * MS, true)] {
        for repeated in [false, true] {
            let mut steps = vec![(0, Tcp { seq: 7, flags: flag::SYN, ..Tcp::between(client, server) })];
            for at in [MS, 1_001 * MS, 3_001 * MS] {
                let answer = Tcp { seq: 9, ack: 8, flags: flag::SYN | flag::ACK, ..Tcp::between(server, client) };
                if at <= until && (at == MS || repeated) {
                    steps.push((at, answer));
                }
            }
            // Another connection shows that the capture goes on. Its single SYN says nothing yet.
            let other = Endpoint { port: 40_001, ..client };
            steps.push((until, Tcp { seq: 7, flags: flag::SYN, ..Tcp::between(other, server) }));
            let found = fairness(steps, Wrap::Ethernet, AnalysisOptions::default());
            assert_eq!(found.attempts.len(), usize::from(vain), "until {until}, repeated: {repeated}");
        }
    }
}

/// In the last second of a capture, the end of a flow does not show that it had no more to send: it may have been
/// stopped. A transfer that left before its first ACK did not wait for anything, so it had no more to send.
#[test]
fn a_transfer_that_left_at_once_had_no_more_to_send() {
    let [client, server] = ends(false);
    for at_once in [true, false] {
        let small = upload(40_001, 3, 3).into_iter().map(|(at, tcp)| {
            let hurried = at_once && at > 10 * MS && tcp.payload > 0;
            (if hurried { 10 * MS + u64::from(tcp.seq) } else { at } + 1_000 * MS, tcp)
        });
        let from = Endpoint { port: 40_001, ..client };
        let fin = Tcp { seq: 3_001, ack: 1, flags: flag::ACK | flag::FIN, ..Tcp::between(from, server) };
        let last = Tcp { seq: 1, ack: 3_002, flags: flag::ACK, window: 60_000, ..Tcp::between(server, from) };
        let ends = [(1_040 * MS, fin), (1_042 * MS, last)];
        let steps = upload(40_000, 120, 120).into_iter().chain(small).chain(ends).collect();
        let flows = fairness(steps, Wrap::Ethernet, AnalysisOptions::default()).flows;
        assert_eq!((flows[1].modest, flows[1].bytes), (at_once, 3_000));
    }
}

/// Two full segments pass, are acknowledged where the capture sees it, and nothing follows beside a long upload.
/// Without PSH their sender had more (RFC 9293, section 3.9.1.2). It had not, or nobody knows yet, if the last one has
/// PSH, or is short, or the connection ends, or the last one is within 1 s of the end of the capture.
#[test]
fn a_flow_of_two_full_segments_that_are_not_pushed_waits() {
    let change = |change: fn(&mut Vec<Step>)| {
        let mut few = upload(40_001, 2, 2);
        change(&mut few);
        let flows = fairness([upload(40_000, 1_000, 1_000), few].concat(), Wrap::Radiotap, AnalysisOptions::default());
        (flows.flows[1].role == FlowRole::Data, flows.flows[1].starved)
    };
    let messages = (false, false);
    assert_eq!(change(|_| {}), (true, true));
    assert_eq!(change(|few| few[4].1.flags |= flag::PSH), messages);
    assert_eq!(change(|few| few[4].1.payload = 999), messages);
    assert_eq!(change(|few| few[4].1.flags |= flag::FIN), messages);
    assert_eq!(change(|few| few[2..].iter_mut().for_each(|(at, _)| *at += 9_200 * MS)), messages);
}
