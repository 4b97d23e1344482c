//! What senders and receivers do without a block ACK agreement, and when one ends (IEEE Std 802.11-2016, 10.24).

use wifair_mac::edcaf::AggregationRules;
use wifair_mac::{Call, FrameKind, FrameRecord, GeneralChannel, MacEvent};
use wifair_packet::{Kind, NextHops, Packet, Packets};
use wifair_units::{Duration, Time};

use crate::aggregation::{BE, aggregation, ht_mcs7, settings};

/// The frames of station 1, which has `count` packets for the access point, and when these are passed up. Data to the
/// access point are lost with probability `data_error`, control frames to it with `control_error`.
fn upload(
    rules: AggregationRules,
    seed: u64,
    count: u64,
    (data_error, control_error): (f64, f64),
) -> (Vec<FrameRecord>, Vec<Time>) {
    let mut settings = settings(rules, vec![(ht_mcs7(), BE), (ht_mcs7(), BE)], seed, 0.0, 0.0);
    settings.stations[0].common.data_error_to = data_error;
    settings.stations[0].common.control_error_to = control_error;
    let mut channel = GeneralChannel::new(settings);
    channel.set_tap(true);
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let next_hops = NextHops(&[0]);
    for seq in 0..count {
        let id = packets.insert(Packet { flow: 1, seq, size: 1500, kind: Kind::Udp, ..Packet::default() });
        channel.offer_in(1, 0, id, &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, next_hops));
    }
    let (mut frames, mut passed_up) = (vec![], vec![]);
    while channel.next() < Time::NEVER {
        let now = channel.next();
        let event = channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        passed_up.extend(matches!(event, MacEvent::Packet { .. }).then_some(now));
        let tap = channel.tap().expect("it was set");
        frames.extend(tap.frames().iter().cloned());
        tap.clear();
    }
    assert_eq!(passed_up.len() + lost.len(), usize::try_from(count).expect("few"), "every packet ends");
    (frames, passed_up)
}

/// The access point never reads a request for an agreement, so data are sent one by one. There is no window at the
/// access point then: MPDUs behind one that was given up do not wait, and no BlockAckReq tells of it.
#[test]
fn without_an_agreement_nothing_waits_for_what_was_given_up() {
    let rules = AggregationRules { agreements_on_air: true, retry_limit: 2, ..aggregation() };
    let (frames, passed_up) = upload(rules, 1, 300, (0.3, 1.0));
    let is_kind = |kind| move |frame: &&FrameRecord| frame.kind == kind;
    assert!(frames.iter().any(|frame| frame.kind == FrameKind::AddbaRequest));
    assert_eq!(frames.iter().filter(is_kind(FrameKind::BlockAckReq)).count(), 0);
    assert!(passed_up.len() < 300, "some are given up");
    let ends: Vec<Time> = frames.iter().filter(is_kind(FrameKind::Data)).map(|frame| frame.end).collect();
    assert!(passed_up.iter().all(|time| ends.contains(time)), "each is passed up when its frame ends");
}

/// Each MPDU is sent once, and two thirds of the BlockAckReq that tell of lost ones are lost themselves, or their block
/// ACKs are. After 10 ms without data the recipient ends the agreement, and passes up what it holds; it does not wait
/// for the reordering timeout of 100 ms.
#[test]
fn a_recipient_that_ends_an_agreement_passes_up_what_it_holds() {
    let mut ended = 0;
    for seed in 0..50 {
        let rules = AggregationRules {
            agreements_on_air: true,
            inactivity_timeout: Some(Duration::from_millis(10)),
            retry_limit: 1,
            ..aggregation()
        };
        let (frames, passed_up) = upload(rules, seed, 10, (0.5, 0.7));
        ended += usize::from(frames.iter().any(|frame| frame.kind == FrameKind::Delba));
        let last = passed_up.iter().max().map_or(Time::ZERO, |time| *time);
        assert!(last < Time::ZERO + Duration::from_millis(60), "seed {seed}: {last:?}");
    }
    assert!(ended > 5, "{ended} agreements ended");
}
