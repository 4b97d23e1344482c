//! Access categories, compared with values that follow from their definition.

use wifair_engine::stream;
use wifair_mac::GeneralChannel;
use wifair_mac::edcaf::{CategorySettings, Classifier, EdcaSettings, EdcaStation, SlotRules};
use wifair_mac::{Access, Call, MacEvent, StationSettings};
use wifair_mac::{Category, Prioritized};
use wifair_packet::{Kind, NextHops, Packet, Packets};
use wifair_phy::Timing;
use wifair_queue::{Limit, Queue};
use wifair_units::{BitRate, Bytes, Duration, Time};

const SIZE: u64 = 1000;

fn timing() -> Timing {
    Timing::hr_dsss(BitRate::from_mbps(2), false)
}

/// Station 0 is the access point; `categories` are those of low-priority packets, one per station.
fn channel(categories: &[Category], prioritized: Prioritized, first: &Category) -> GeneralChannel {
    GeneralChannel::new(settings(categories, prioritized, first))
}

fn settings(categories: &[Category], prioritized: Prioritized, first: &Category) -> EdcaSettings {
    let settings = |(station, best_effort): (usize, &Category)| {
        let name = station.to_string();
        let station = StationSettings {
            cw_min: 0,
            cw_max: 0,
            exclude_cw: false,
            rate: BitRate::from_mbps(11),
            routing_overhead: Bytes(0),
            data_error_to: 0.0,
            data_error_from: 0.0,
            control_error_to: 0.0,
            queue: Queue::fifo(Limit::Packets(50)),
            backoff: stream(1, "backoff", &name),
            errors: stream(1, "error", &name),
        };
        let queue = || Queue::fifo(Limit::Packets(50));
        let prioritized = CategorySettings::with_queue(first.clone(), queue(), stream(1, "first-backoff", &name));
        let best_effort = CategorySettings::with_queue(best_effort.clone(), queue(), station.backoff.clone());
        EdcaStation::without_mcs(station, vec![prioritized, best_effort])
    };
    EdcaSettings {
        access: Access::standard(timing()),
        aps: vec![0],
        classifier: Classifier::Kind(prioritized),
        slot_rules: SlotRules::Dcf,
        aggregation: None,
        stations: categories.iter().enumerate().map(settings).collect(),
    }
}

/// Keeps two packets of each `(station, kind)` in the channel until `frames` are received. Returns the number of each,
/// and the time.
fn saturate(mut channel: GeneralChannel, sources: &[(u32, Kind)], frames: u32) -> (Vec<u32>, Time, GeneralChannel) {
    let (mut packets, mut received) = (Packets::default(), vec![0; sources.len()]);
    let (mut dropped, mut retry_limit_drops, mut now) = (vec![], vec![], Time::ZERO);
    // From the access point to the first station, from a station to the access point.
    let next_hops = NextHops(&[1, 0, 0, 0, 0]);
    let packet = |source: usize| {
        let (station, kind) = sources[source];
        Packet { flow: u32::try_from(source).unwrap(), hop: station, kind, size: 1000, ..Packet::default() }
    };
    for source in (0..sources.len()).chain(0..sources.len()) {
        let id = packets.insert(packet(source));
        channel.offer(sources[source].0, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], next_hops));
    }
    while received.iter().sum::<u32>() < frames {
        now = channel.next();
        let heard = channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut retry_limit_drops, next_hops));
        if let MacEvent::Packet { id, .. } = heard {
            let source = packets[id].flow as usize;
            received[source] += 1;
            channel.offer(
                sources[source].0,
                id,
                &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], next_hops),
            );
        }
        for (station, id) in retry_limit_drops.drain(..) {
            channel.offer(station, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], next_hops));
        }
        assert!(dropped.is_empty());
    }
    assert_eq!(channel.air_time(now).total(), now - Time::ZERO, "air time adds up");
    (received, now, channel)
}

/// Duration of data, SIFS and ACK.
fn exchange() -> Duration {
    let timing = timing();
    timing.frame(timing.frame_length(Bytes(SIZE)), BitRate::from_mbps(11))
        + timing.sifs
        + timing.ack_to(BitRate::from_mbps(11))
}

/// With constant windows both stations count the same idle slots, and each sends once in CW / 2 of them, collisions
/// included: a window of 10 gives three times the attempts of one of 30.
#[test]
fn attempts_are_inverse_to_the_window() {
    let categories = [Category::dcf(10, 10), Category::dcf(30, 30)];
    let (_, _, channel) =
        saturate(channel(&categories, Prioritized::None, &categories[0]), &[(0, Kind::Data), (1, Kind::Data)], 200_000);
    let [ap, station] = [0, 1].map(|s| channel.counters(s).attempts as f64);
    // A renewal process of mean m and variance v has a relative error of sqrt(v / n) / m; here CW / 2 and
    // ((CW + 1)^2 - 1) / 12.
    let error = |cw: f64, n: f64| (((cw + 1.0).powi(2) - 1.0) / 12.0 / n).sqrt() / (cw / 2.0);
    let tolerance = 4.0 * (error(10.0, ap).powi(2) + error(30.0, station).powi(2)).sqrt();
    assert!((ap / station / 3.0 - 1.0).abs() < tolerance, "{ap} and {station} attempts");
}

/// Without backoff the shorter AIFS always wins.
#[test]
fn without_backoff_the_shorter_aifs_wins() {
    let categories = [Category { aifsn: 3, ..Category::dcf(0, 0) }, Category::dcf(0, 0)];
    let (received, now, _) =
        saturate(channel(&categories, Prioritized::None, &categories[0]), &[(0, Kind::Data), (1, Kind::Data)], 1000);
    assert_eq!(received, [0, 1000]);
    // Both get a packet at 0 s; the last ACK is still on the air.
    let timing = timing();
    assert_eq!(
        now - Time::ZERO,
        (timing.difs + exchange()) * 1000 - timing.sifs - timing.ack_to(BitRate::from_mbps(11))
    );
}

/// AIFSN 4 against 2 with the same constant window CW = 1: with draws of 0 or 1 slots, the contender that starts two
/// slots later never catches up.
#[test]
fn an_aifs_longer_by_more_than_the_window_starves() {
    let categories = [Category::dcf(1, 1), Category { aifsn: 4, ..Category::dcf(1, 1) }];
    let (received, ..) =
        saturate(channel(&categories, Prioritized::None, &categories[0]), &[(0, Kind::Data), (1, Kind::Data)], 1000);
    assert_eq!(received, [1000, 0]);
}

/// Without backoff, three frames in a row: DIFS, then three exchanges with SIFS between them.
#[test]
fn a_burst_needs_one_contention() {
    let timing = timing();
    let cycle = timing.difs + exchange() * 3 + timing.sifs * 2;
    let last_ack = timing.sifs + timing.ack_to(BitRate::from_mbps(11));
    let source = [(0, Kind::Data)];
    let by_count = [Category { burst: 3, ..Category::dcf(0, 0) }, Category::dcf(0, 0)];
    let (_, now, _) = saturate(channel(&by_count, Prioritized::None, &by_count[1]), &source, 3000);
    assert_eq!(now - Time::ZERO, cycle * 1000 - last_ack);

    // The same by duration: a TXOP just long enough for three, and one a nanosecond shorter.
    let limit = exchange() * 3 + timing.sifs * 2;
    for (txop, cycle, cycles) in
        [(limit, cycle, 1000), (limit - Duration::from_nanos(1), timing.difs + exchange() * 2 + timing.sifs, 1500)]
    {
        let by_time = [Category { txop, ..Category::dcf(0, 0) }, Category::dcf(0, 0)];
        let (_, now, _) = saturate(channel(&by_time, Prioritized::None, &by_time[1]), &source, 3000);
        assert_eq!(now - Time::ZERO, cycle * cycles - last_ack);
    }
}

/// Two categories of a station, both without backoff: the one with high priority always sends first, and no collision
/// is counted.
#[test]
fn the_category_of_high_priority_wins_within_a_station() {
    let category = Category::dcf(0, 0);
    let categories = [category.clone(), category.clone()];
    let (received, _, channel) =
        saturate(channel(&categories, Prioritized::Acks, &category), &[(0, Kind::Data), (0, Kind::Ack)], 1000);
    assert_eq!((received[0], channel.counters(0).collisions), (0, 0));
}

/// The access point's parameters change while it is sending: from one frame to two in a row.
#[test]
fn parameters_can_change() {
    let category = Category::dcf(0, 0);
    let mut channel = channel(&[category.clone(), category.clone()], Prioritized::None, &category);
    channel.set_category(0, &Category { burst: 2, ..category });
    let (_, now, _) = saturate(channel, &[(0, Kind::Data)], 2000);
    let timing = timing();
    let cycle = timing.difs + exchange() * 2 + timing.sifs;
    assert_eq!(now - Time::ZERO, cycle * 1000 - timing.sifs - timing.ack_to(BitRate::from_mbps(11)));
}

/// Station 1 is the access point. Four packets arrive at once in each of its two categories, and one at the other
/// station. The first packet of each category is being sent, so six wait.
#[test]
fn queue_lengths_of_an_access_point_with_any_number_are_recorded() {
    let categories = [Category::dcf(15, 15), Category::dcf(15, 15)];
    let settings = EdcaSettings { aps: vec![1], ..settings(&categories, Prioritized::Udp, &categories[0]) };
    let mut channel = GeneralChannel::new(settings);
    let (mut packets, mut dropped) = (Packets::default(), vec![]);
    for station in [1, 1, 1, 1, 0] {
        for kind in [Kind::Data, Kind::Udp] {
            let id = packets.insert(Packet { hop: station, kind, size: 1000, ..Packet::default() });
            let next_hops = NextHops(&[1, 0]);
            channel.offer(station, id, &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut vec![], next_hops));
        }
    }
    assert_eq!(channel.edcafs().ap_queues()[0].level(), (6, false));
}
