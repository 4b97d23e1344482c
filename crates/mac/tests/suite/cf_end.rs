//! Frames that reserve the channel to the end of a TXOP, and the CF-End that releases it (IEEE Std 802.11-2016,
//! 9.2.5.2).

use wifair_mac::edcaf::AggregationRules;
use wifair_mac::{Access, Call, Category, Fate, FrameKind, FrameRecord, GeneralChannel, MacEvent};
use wifair_packet::{Kind, NextHops, Packet, Packets};
use wifair_phy::{Dsss, Timing};
use wifair_units::{BitRate, Bytes, Duration, Time};

use crate::aggregation::{BE, aggregation, ht_mcs7, micros, settings};

/// The frames of `stations` stations, each with `count` packets to the access point, in TXOPs of `txop` us.
/// `data_error_from` is the error probability of station 1; if it is not zero, station 1 draws from a window of 255
/// slots. PPDUs take at most 1 ms.
fn frames((stations, count, txop): (u32, u64, u64), cf_end: bool, data_error_from: f64, rts: bool) -> Vec<FrameRecord> {
    frames_with((stations, count, txop), data_error_from, |access| {
        access.cf_end = cf_end;
        if rts {
            access.rts_threshold = Bytes(100);
        }
    })
}

fn frames_with(
    (stations, count, txop): (u32, u64, u64),
    data_error_from: f64,
    change: impl Fn(&mut Access),
) -> Vec<FrameRecord> {
    let rules = AggregationRules { max_duration: micros(1000), ..aggregation() };
    let cw_min = |station| if station == 1 && data_error_from > 0.0 { 255 } else { 15 };
    let category = |station| Category { txop: micros(txop), cw_min: cw_min(station), cw_max: 255, ..BE };
    let plans = (0..=stations).map(|station| (ht_mcs7(), category(station))).collect();
    let mut settings = settings(rules, plans, 1, 0.0, 0.0);
    change(&mut settings.access);
    settings.stations[1].common.data_error_from = data_error_from;
    let mut channel = GeneralChannel::new(settings);
    channel.set_tap(true);
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let next_hops = NextHops(&[0]);
    for seq in 0..count {
        for station in 1..=stations {
            let packet = Packet { flow: station, seq, size: 1500, kind: Kind::Udp, ..Packet::default() };
            let id = packets.insert(packet);
            let call = &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, next_hops);
            channel.offer_in(station, 0, id, call);
        }
    }
    let mut frames = vec![];
    while channel.next() < Time::NEVER {
        let now = channel.next();
        channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        let tap = channel.tap().expect("it was set");
        frames.extend(tap.frames().iter().cloned());
        tap.clear();
    }
    frames
}

/// Every frame of a TXOP announces the end of the TXOP, 4 ms after its start, except the CF-End, whose duration is
/// zero. Gaps longer than SIFS separate TXOPs.
#[test]
fn frames_reserve_the_channel_to_the_end_of_the_txop() {
    for rts in [false, true] {
        let frames = frames((1, 200, 4000), true, 0.0, rts);
        let (mut won_at, mut last_end, mut ended) = (Time::ZERO, Time::ZERO, 0);
        for frame in &frames {
            if frame.start.saturating_since(last_end) > micros(16) {
                won_at = frame.start;
            }
            last_end = frame.end;
            if frame.kind == FrameKind::CfEnd {
                assert_eq!(frame.reserves, Duration::ZERO);
                ended += 1;
            } else {
                assert_eq!(frame.end + frame.reserves, won_at + micros(4000), "{frame:?}");
            }
        }
        assert!(ended > 0, "no CF-End");
        assert_eq!(rts, frames.iter().any(|frame| frame.kind == FrameKind::Cts));
    }
}

/// What precedes the data reserves the channel for the rest of the TXOP, so it is sent once: an RTS, or a CTS-to-self
/// beside older stations. Without `cf_end` it precedes each PPDU, of at most 1 ms.
#[test]
fn one_rts_or_cts_to_self_reserves_a_whole_txop() {
    for protection in [None, Some(BitRate::from_mbps(24))] {
        for cf_end in [true, false] {
            let frames = frames_with((1, 1900, 4000), 0.0, |access| {
                (access.cf_end, access.protection) = (cf_end, protection);
                if protection.is_none() {
                    access.rts_threshold = Bytes(100);
                }
            });
            let (mut last_end, mut txops) = (Time::ZERO, vec![]);
            for frame in &frames {
                if frame.start.saturating_since(last_end) > micros(16) {
                    txops.push((0, 0));
                }
                last_end = last_end.max(frame.end);
                let (before, data) = txops.last_mut().expect("a TXOP has begun");
                let is_first = frame.aggregate.is_none_or(|aggregate| aggregate.place == 0);
                *before +=
                    u32::from(frame.kind == FrameKind::Rts || frame.kind == FrameKind::Cts && frame.from == frame.to);
                *data += u32::from(frame.kind == FrameKind::Data && is_first);
            }
            let most = txops.iter().map(|(_, data)| *data).max().expect("there are TXOPs");
            assert!(most >= 3, "{most} PPDUs");
            for (before, data) in txops {
                assert_eq!(
                    before,
                    if cf_end { 1 } else { data },
                    "before {data} PPDUs, protection: {protection:?}, CF-End: {cf_end}"
                );
            }
        }
    }
}

/// Nothing that station 1 sends arrives, so its TXOP ends without a response and without a CF-End. The other station
/// waits until 2 ms after the start of the TXOP, then for AIFS, 43 us, and its own backoff, unless a later CF-End of
/// station 1 releases the channel. Without `cf_end` the NAV ends SIFS and 32 us after the PPDU, where the missing block
/// ACK would have ended.
#[test]
fn others_wait_for_the_end_of_a_txop_that_is_not_released() {
    for cf_end in [false, true] {
        let frames = frames((2, 1900, 2000), cf_end, 1.0, false);
        let (mut held_until, mut earliest, mut seen) = (Time::ZERO, Duration::MAX, 0);
        let (mut won_at, mut last_end) = (Time::ZERO, Time::ZERO);
        for frame in &frames {
            if frame.start.saturating_since(last_end) > micros(16) {
                won_at = frame.start;
            }
            last_end = last_end.max(frame.end);
            if frame.kind == FrameKind::CfEnd {
                held_until = Time::ZERO;
            } else if frame.kind == FrameKind::Data && frame.fate == Fate::Error {
                held_until = if cf_end { won_at + micros(2000) } else { frame.end + micros(16 + 32) };
            } else if frame.kind == FrameKind::Data
                && frame.from == 2
                && frame.fate == Fate::Read
                && held_until > Time::ZERO
            {
                assert!(frame.start >= held_until + micros(43), "{frame:?}, held until {held_until:?}");
                earliest = earliest.min(frame.start - held_until);
                (held_until, seen) = (Time::ZERO, seen + 1);
            }
        }
        assert!(seen > 1 && earliest < micros(43 + 16 * 9), "{seen} times, {earliest} at the earliest");
    }
}

/// As before, but the access point sends to station 1, too, in TXOPs of one frame. Station 2 waits for the end of the
/// TXOP of station 1. Returns how often the access point sends before.
fn sent_by_receiver_meanwhile(protection: Option<BitRate>) -> u32 {
    let plans = [0, 10_000, 10_000].map(|txop| (ht_mcs7(), Category { txop: micros(txop), cw_max: 15, ..BE }));
    let rules = AggregationRules { max_duration: micros(1000), ..aggregation() };
    let mut settings = settings(rules, plans.to_vec(), 1, 0.0, 0.0);
    settings.access.cf_end = true;
    settings.access.protection = protection;
    settings.stations[1].common.data_error_from = 1.0;
    let mut channel = GeneralChannel::new(settings);
    channel.set_tap(true);
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let next_hops = NextHops(&[0, 1]);
    for seq in 0..1500 {
        for (from, hop) in [(0, 1), (1, 0), (2, 0)] {
            let id = packets.insert(Packet { flow: from, hop, seq, size: 1500, ..Packet::default() });
            let mut call = Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, next_hops);
            channel.offer_in(from, 0, id, &mut call);
        }
    }
    let (mut held_until, mut won_at, mut last_end, mut meanwhile) = (Time::ZERO, Time::ZERO, Time::ZERO, 0);
    while channel.next() < Time::NEVER {
        let now = channel.next();
        channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        let tap = channel.tap().expect("it was set");
        for frame in tap.frames() {
            let continues = frame.start.saturating_since(last_end) <= micros(16);
            won_at = if continues { won_at } else { frame.start };
            last_end = last_end.max(frame.end);
            match (frame.kind, frame.from) {
                (FrameKind::CfEnd, _) => held_until = Time::ZERO,
                (FrameKind::Data, 0) => meanwhile += u32::from(frame.start < held_until),
                (FrameKind::Data, 1) if frame.fate == Fate::Error => held_until = won_at + micros(10_000),
                (FrameKind::Data, 2) if !continues => {
                    assert!(frame.start >= held_until, "{frame:?}, held until {held_until:?}");
                }
                _ => {}
            }
        }
        tap.clear();
    }
    meanwhile
}

/// The access point has no NAV, because the data were addressed to it.
#[test]
fn what_the_receiver_sends_does_not_end_the_nav_of_the_others() {
    let meanwhile = sent_by_receiver_meanwhile(None);
    assert!(meanwhile > 10, "{meanwhile} frames of the access point");
}

/// A CTS-to-self, which reserves the whole TXOP, is addressed to its sender: the access point has its NAV.
#[test]
fn a_receiver_obeys_the_nav_of_a_cts_to_self() {
    assert_eq!(sent_by_receiver_meanwhile(Some(BitRate::from_mbps(24))), 0);
}

/// The access point sends to stations 1 and 2 in turn, in TXOPs of 10 ms; nothing arrives at station 2. If the TXOP
/// began with station 1, station 2 has read frames for that station, which reserve the channel until the TXOP would
/// have ended, and waits.
#[test]
fn a_receiver_obeys_the_nav_of_what_went_to_others_in_the_same_txop() {
    let plans = [10_000, 0, 0].map(|txop| (ht_mcs7(), Category { txop: micros(txop), cw_max: 15, ..BE }));
    let rules = AggregationRules { max_duration: micros(500), ..aggregation() };
    let mut settings = settings(rules, plans.to_vec(), 1, 0.0, 0.0);
    settings.access.cf_end = true;
    settings.stations[2].common.data_error_to = 1.0;
    let mut channel = GeneralChannel::new(settings);
    channel.set_tap(true);
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let next_hops = NextHops(&[0, 1, 2]);
    for seq in 0..900 {
        for (from, hop) in [(0, 1), (0, 2), (2, 0)] {
            let id = packets.insert(Packet { flow: from, hop, seq, size: 1500, ..Packet::default() });
            let mut call = Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, next_hops);
            channel.offer_in(from, 0, id, &mut call);
        }
    }
    let (mut held_until, mut won_at, mut last_end, mut held) = (Time::ZERO, Time::ZERO, Time::ZERO, 0);
    let mut receivers = vec![];
    while channel.next() < Time::NEVER {
        let now = channel.next();
        channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        let tap = channel.tap().expect("it was set");
        for frame in tap.frames() {
            if frame.start.saturating_since(last_end) > micros(16) {
                won_at = frame.start;
                receivers.clear();
            }
            last_end = last_end.max(frame.end);
            match (frame.kind, frame.from) {
                (FrameKind::CfEnd, _) => held_until = Time::ZERO,
                (FrameKind::Data, 0) => {
                    receivers.push(frame.to);
                    if receivers.contains(&1) && frame.fate != Fate::Collision {
                        held_until = won_at + micros(10_000);
                        held += 1;
                    }
                }
                (FrameKind::Data, 2) => assert!(frame.start >= held_until, "{frame:?}, held until {held_until:?}"),
                _ => {}
            }
        }
        tap.clear();
    }
    assert!(held > 10, "{held} frames");
}

/// Two stations with ten packets each in TXOPs of 20 ms: when a CF-End of one station releases the channel, the other
/// may send after AIFS and at most the 15 slots of a first attempt.
#[test]
fn a_cf_end_ends_the_nav_of_the_others() {
    let frames = frames((2, 10, 20_000), true, 0.0, false);
    let ends: Vec<&FrameRecord> = frames.iter().filter(|frame| frame.kind == FrameKind::CfEnd).collect();
    assert_eq!(ends.len(), 2);
    let next = frames.iter().find(|frame| frame.start > ends[0].start).expect("the other station sends");
    assert_ne!(next.from, ends[0].from);
    let idle = next.start - ends[0].end;
    assert!((micros(43)..=micros(43 + 15 * 9)).contains(&idle), "{idle}");
}

/// Stations of 802.11b have read the CTS-to-self that reserves the TXOP. They can read the CF-End, too, if it is sent
/// at the same rate: 192 us of preamble and 20 bytes at 2 Mb/s.
#[test]
fn those_who_read_only_dsss_read_the_cf_end() {
    let rate = BitRate::from_mbps(2);
    let frames = frames_with((1, 50, 4000), 0.0, |access| {
        access.timing = Timing::erp_ofdm(BitRate::from_mbps(24));
        access.timing.dsss = Some(Dsss { preamble: micros(192), basic_rate: rate });
        access.protection = Some(rate);
        access.cf_end = true;
    });
    let ends: Vec<&FrameRecord> = frames.iter().filter(|frame| frame.kind == FrameKind::CfEnd).collect();
    assert!(!ends.is_empty());
    for frame in ends {
        assert_eq!((frame.rate, frame.end - frame.start), (rate, micros(192 + 80)));
    }
}

/// Two stations send to each other, and a third of the data is lost. Each new packet arrives while the CF-End of its
/// sender is on the air. A CF-End is followed by AIFS, 43 us, and one backoff, and every packet is sent.
#[test]
fn a_packet_that_comes_during_the_cf_end_is_sent_after_one_backoff() {
    let category = |_| Category { txop: micros(4000), ..BE };
    let plans = (0..=1).map(|station| (ht_mcs7(), category(station))).collect();
    let mut settings = settings(aggregation(), plans, 1, 0.0, 0.0);
    settings.access.cf_end = true;
    settings.stations.iter_mut().for_each(|station| station.common.data_error_from = 0.3);
    let mut channel = GeneralChannel::new(settings);
    channel.set_tap(true);
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let next_hops = NextHops(&[1, 0]);
    let mut offers = vec![(Time::ZERO, 0), (Time::ZERO, 1)];
    let (mut offered, mut received, mut last_end) = (0, 0, Time::ZERO);
    while channel.next() < Time::NEVER || !offers.is_empty() {
        let offer_at = offers.first().map_or(Time::NEVER, |offer| offer.0);
        let now = channel.next().min(offer_at);
        let mut call = Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops);
        if now == offer_at {
            let station = offers.remove(0).1;
            let packet = Packet { flow: station, hop: station, seq: offered, size: 1500, ..Packet::default() };
            let id = call.packets.insert(packet);
            channel.offer_in(station, 0, id, &mut call);
            offered += 1;
            continue;
        }
        let event = channel.advance(&mut call);
        received += u64::from(matches!(event, MacEvent::Packet { .. }));
        let tap = channel.tap().expect("it was set");
        for frame in tap.frames() {
            if frame.kind == FrameKind::CfEnd {
                last_end = frame.end;
            } else if frame.kind == FrameKind::Ack && frame.fate == Fate::Read && offered < 200 {
                offers.push((frame.end + micros(20), frame.to));
            } else if frame.kind == FrameKind::Data && last_end > Time::ZERO {
                assert!(frame.start >= last_end + micros(43), "{frame:?} behind a CF-End at {last_end:?}");
                last_end = Time::ZERO;
            }
        }
        tap.clear();
    }
    assert_eq!((received + lost.len() as u64, offered), (200, 200));
}

/// A packet of station 1 is lost, while the access point gets one, whose backoff is zero. With and without CF-End the
/// access point waits EIFS, with AIFS in place of DIFS (10.3.2.3.7): SIFS, an ACK at the lowest rate, which takes 44 us
/// at 6 Mb/s, and AIFS of 43 us.
#[test]
fn a_receiver_that_lost_the_data_waits_eifs() {
    for cf_end in [false, true] {
        let category = Category { txop: micros(4000), cw_min: 0, cw_max: 0, ..BE };
        let plans = [3, 7].map(|aifsn| (ht_mcs7(), Category { aifsn, ..category.clone() })).into();
        let mut settings = settings(aggregation(), plans, 1, 0.0, 0.0);
        settings.access.cf_end = cf_end;
        settings.stations[1].common.data_error_from = 1.0;
        let mut channel = GeneralChannel::new(settings);
        channel.set_tap(true);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        let next_hops = NextHops(&[1, 0]);
        for station in [1, 0] {
            let id = packets.insert(Packet { flow: station, hop: station, size: 1500, ..Packet::default() });
            let mut call = Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, next_hops);
            if station == 0 {
                call.now = channel.next();
                channel.advance(&mut call); // the data begin
            }
            channel.offer_in(station, 0, id, &mut call);
        }
        while channel.tap().is_none_or(|tap| tap.frames().len() < 2) {
            let now = channel.next();
            channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        }
        let frames = channel.tap().expect("it was set").frames();
        assert_eq!((frames[0].from, frames[1].from), (1, 0));
        assert_eq!(frames[1].start - frames[0].end, micros(16 + 44 + 43), "with cf_end = {cf_end}");
    }
}
