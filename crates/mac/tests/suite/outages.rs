//! On/off fading of links whose frames are aggregates.

use wifair_engine::stream;
use wifair_mac::{Call, Fate, FrameKind, Hearing, MacEvent, Outages, RadioLinks, SpatialChannel};
use wifair_packet::{Kind, NextHops, Packet, Packets};
use wifair_phy::{Outage, OutageProcess};
use wifair_units::{Duration, Time};

use crate::hidden_aggregates::settings;

const BURSTS: u64 = 20_000;
const MPDUS: usize = 16;

/// Station 1 sends a burst of 16 packets to the access point every 100 ms, in one PPDU, which is not repeated. Returns
/// the number of packets received of each burst, and the number of bursts whose block ACK it reads.
fn bursts(outages: Outages) -> (Vec<usize>, u64) {
    let mut settings = settings(1, 2, u64::MAX, 7);
    for rules in settings.stations.iter_mut().map(|station| &mut station.aggregation).chain([&mut settings.aggregation])
    {
        rules.as_mut().unwrap().retry_limit = 1;
    }
    let links = RadioLinks::from_hearing(2, |_, _| Hearing::Reads);
    let mut channel = SpatialChannel::with_categories(settings, links);
    channel.set_outages(vec![Outages::default(), outages]);
    channel.set_tap(true);
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let next_hops = NextHops(&[0]);
    let (mut received, mut acknowledged) = (vec![0; BURSTS as usize], 0);
    for burst in 0..BURSTS {
        let now = Time::ZERO + Duration::from_millis(100) * burst;
        for _ in 0..MPDUS {
            let id = packets.insert(Packet { seq: burst, size: 1500, kind: Kind::Udp, ..Packet::default() });
            channel.offer_in(1, 0, id, &mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
        }
        let until = if burst + 1 == BURSTS { Time::NEVER } else { now + Duration::from_millis(100) };
        while channel.next() < until {
            let call = &mut Call::new(channel.next(), &mut packets, &mut dropped, &mut lost, next_hops);
            if let MacEvent::Packet { id, .. } = channel.advance(call) {
                received[packets[id].seq as usize] += 1;
            }
        }
        let tap = channel.tap().expect("it was set");
        let first = tap.frames().iter().find(|frame| frame.kind == FrameKind::Data).expect("data are sent");
        assert_eq!(first.aggregate.map(|aggregate| usize::from(aggregate.of)), Some(MPDUS), "in one PPDU");
        let answer = tap.frames().iter().find(|frame| frame.start > first.end);
        let is_read = answer.is_some_and(|frame| frame.kind == FrameKind::BlockAck && frame.fate == Fate::Read);
        acknowledged += u64::from(is_read);
        tap.clear();
    }
    (received, acknowledged)
}

/// A link that is up for 3 ms and down for 2 ms on average.
fn link(direction: &str) -> Option<OutageProcess> {
    let means = Outage { up: Duration::from_millis(3), down: Duration::from_millis(2) };
    Some(OutageProcess::new(means, stream(1, "outage", direction)))
}

/// Asserts that a share of the bursts is `expected`, within four standard errors.
fn assert_share(count: u64, expected: f64) {
    let share = count as f64 / BURSTS as f64;
    let tolerance = 4.0 * (expected * (1.0 - expected) / BURSTS as f64).sqrt();
    assert!((share - expected).abs() < tolerance, "{share}, expected {expected} +- {tolerance}");
}

/// A frame of length l arrives with probability 0.6 exp(-l / 3 ms): the link must be up when it begins, and must not
/// fail before it ends. The PSDU has 15 * 1544 + 1542 bytes, so that the PPDU takes 36 us and 761 symbols of 260 bits,
/// 3080 us.
#[test]
fn an_outage_up_loses_whole_aggregates() {
    let (received, acknowledged) = bursts(Outages { from: link("up"), to: None });
    assert!(received.iter().all(|count| [0, MPDUS].contains(count)), "all MPDUs of a PPDU or none");
    let arrived = received.iter().filter(|count| **count == MPDUS).count() as u64;
    assert_share(arrived, 0.6 * (-3.080_f64 / 3.0).exp());
    assert_eq!(acknowledged, arrived);
}

/// All data arrive, and a block ACK, which takes 32 us at 24 Mb/s, is read with the probability above.
#[test]
fn an_outage_down_loses_block_acks() {
    let (received, acknowledged) = bursts(Outages { from: None, to: link("down") });
    assert!(received.iter().all(|count| *count == MPDUS));
    assert_share(acknowledged, 0.6 * (-0.032_f64 / 3.0).exp());
}

#[test]
fn without_outages_everything_arrives() {
    let (received, acknowledged) = bursts(Outages::default());
    assert!(received.iter().all(|count| *count == MPDUS));
    assert_eq!(acknowledged, BURSTS);
}
