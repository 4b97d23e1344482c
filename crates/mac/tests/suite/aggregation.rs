//! Aggregation, block ACK and the four access categories, compared with closed forms and an exact Monte Carlo
//! simulation.

use wifair_engine::stream;
use wifair_mac::edcaf::{
    AggregationRules, CategorySettings, Classifier, EdcaSettings, EdcaStation, LinkSettings, SlotRules,
};
use wifair_mac::{
    Access, Call, Category, FrameKind, GeneralChannel, Hearing, MacEvent, RadioLinks, SpatialChannel, StationSettings,
};
use wifair_packet::{Kind, NextHops, Packet, Packets};
use wifair_phy::{Band, ChannelWidth, GuardInterval, HtMode, ModulationClass, Timing, TxMode};
use wifair_queue::{Cause, Limit, Queue};
use wifair_units::{BitRate, Bytes, Duration, Time};

/// Size of IP packets with 1472 bytes of UDP payload.
pub const SIZE: u16 = 1500;

pub fn micros(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// HT, MCS 7, 20 MHz, guard interval 800 ns: 65 Mb/s.
pub fn ht_mcs7() -> TxMode {
    TxMode::Ht(HtMode::new(7, ChannelWidth::Mhz20, GuardInterval::Ns800).unwrap())
}

pub fn aggregation() -> AggregationRules {
    AggregationRules {
        window: 64,
        max_ampdu: Bytes(65_535),
        max_amsdu: Bytes(0),
        max_mpdu: Bytes(4095),
        max_duration: micros(5484),
        min_start_spacing: Duration::ZERO,
        single_in_ampdu: false,
        request_after_miss: false,
        retry_limit: 7,
        reorder_timeout: Duration::from_millis(100),
        lifetime: None,
        count_in_flight: false,
        pass_up_singly: true,
        agreements_on_air: false,
        inactivity_timeout: None,
        wait_until: None,
    }
}

const VO: Category = Category { cw_min: 3, cw_max: 7, aifsn: 2, txop: Duration::ZERO, burst: 1 };
const VI: Category = Category { cw_min: 7, cw_max: 15, aifsn: 2, txop: Duration::ZERO, burst: 1 };
pub const BE: Category = Category { cw_min: 15, cw_max: 1023, aifsn: 3, txop: Duration::ZERO, burst: 1 };
const BK: Category = Category { cw_min: 15, cw_max: 1023, aifsn: 7, txop: Duration::ZERO, burst: 1 };

/// An access point, station 0, and one station for each category; 5 GHz, control frames at 24 Mb/s. The response
/// timeout is ns-3's: SIFS, a slot and 20 us.
pub fn channel(mode: TxMode, rules: AggregationRules, categories: &[Category], seed: u64) -> GeneralChannel {
    lossy(mode, rules, categories, seed, 0.0, 0.0)
}

/// The same with errors of data and of control frames at every receiver.
fn lossy(
    mode: TxMode,
    rules: AggregationRules,
    categories: &[Category],
    seed: u64,
    data_error: f64,
    control_error: f64,
) -> GeneralChannel {
    let stations = std::iter::once(&BE).chain(categories).map(|category| (mode, category.clone()));
    build(rules, stations.collect(), seed, data_error, control_error)
}

/// An access point and stations with these transmit modes, all best effort.
fn downlink(modes: &[TxMode]) -> GeneralChannel {
    let stations = std::iter::once(&modes[0]).chain(modes).map(|mode| (*mode, BE));
    build(aggregation(), stations.collect(), 1, 0.0, 0.0)
}

fn build(
    rules: AggregationRules,
    stations: Vec<(TxMode, Category)>,
    seed: u64,
    data_error: f64,
    control_error: f64,
) -> GeneralChannel {
    GeneralChannel::new(settings(rules, stations, seed, data_error, control_error))
}

/// The same without errors, with these link settings.
pub fn build_linked(rules: AggregationRules, stations: Vec<(TxMode, Category)>, link: &LinkSettings) -> GeneralChannel {
    let mut settings = settings(rules, stations, 1, 0.0, 0.0);
    settings.stations.iter_mut().for_each(|station| station.link = link.clone());
    GeneralChannel::new(settings)
}

pub fn settings(
    rules: AggregationRules,
    stations: Vec<(TxMode, Category)>,
    seed: u64,
    data_error: f64,
    control_error: f64,
) -> EdcaSettings {
    let mut timing = Timing::ofdm_5ghz(BitRate::from_mbps(24));
    timing.sizes.mac_overhead = Bytes(30); // QoS data
    let access = Access { answer_timeout: Some(micros(45)), ..Access::standard(timing) };
    let station = |(number, (mode, parameters)): (usize, (TxMode, Category))| {
        let common = StationSettings {
            cw_min: 0,
            cw_max: 0,
            exclude_cw: false,
            rate: BitRate::from_mbps(54),
            routing_overhead: Bytes(0),
            data_error_to: data_error,
            data_error_from: 0.0,
            control_error_to: control_error,
            queue: Queue::fifo(Limit::Packets(1)),
            backoff: stream(seed, "backoff", &number.to_string()),
            errors: stream(seed, "error", &number.to_string()),
        };
        let queues = vec![Queue::fifo(Limit::Packets(2000))];
        let category = CategorySettings { parameters, queues, limit: 0, backoff: common.backoff.clone() };
        EdcaStation {
            common,
            mode: Some((mode, Band::Ghz5)),
            link: LinkSettings::fixed(),
            aggregation: Some(rules.clone()),
            is_legacy: false,
            newest: ModulationClass::He,
            ap: None,
            categories: vec![category],
        }
    };
    EdcaSettings {
        access,
        aps: vec![0],
        classifier: Classifier::Caller,
        slot_rules: SlotRules::Edca,
        aggregation: Some(rules.clone()),
        stations: stations.into_iter().enumerate().map(station).collect(),
    }
}

/// Goodput of each station, in Mb/s of UDP payload.
pub struct Goodput {
    each: Vec<f64>,
    p_collision: f64,
    /// Number of packets given up, and of those that came too late.
    lost: usize,
}

impl Goodput {
    pub fn total(&self) -> f64 {
        self.each.iter().sum()
    }
}

/// All stations but the access point always have something to send to it. The packets of each arrive once and in order,
/// or are counted as lost.
pub fn saturate(mut channel: GeneralChannel, stations: u32, seconds: u64) -> Goodput {
    let (mut packets, mut dropped, mut retry_limit_drops) = (Packets::default(), vec![], vec![]);
    let (mut received, mut next_seq) = (vec![0_u64; stations as usize], vec![0_u64; stations as usize]);
    let mut lost = 0;
    let mut last_seq = vec![None; stations as usize];
    let end = Time::ZERO + Duration::from_secs(seconds);
    let next_hops = NextHops(&[0]);
    let mut now = Time::ZERO;
    let mut offers: Vec<u32> = (1..=stations).flat_map(|station| std::iter::repeat_n(station, 600)).collect();
    while now < end {
        for station in offers.drain(..) {
            let seq = &mut next_seq[station as usize - 1];
            let packet = Packet { flow: station, seq: *seq, size: SIZE, kind: Kind::Udp, ..Packet::default() };
            *seq += 1;
            let id = packets.insert(packet);
            channel.offer_in(station, 0, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], next_hops));
            assert!(dropped.is_empty());
        }
        now = channel.next();
        if let MacEvent::Packet { to, id } =
            channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut retry_limit_drops, next_hops))
        {
            assert_eq!(to, 0);
            let packet = packets.remove(id);
            let index = packet.flow as usize - 1;
            assert!(last_seq[index].is_none_or(|last| last < packet.seq), "in order, and once");
            last_seq[index] = Some(packet.seq);
            received[index] += 1;
            offers.push(packet.flow);
        }
        let given_up = retry_limit_drops.drain(..).map(|(_, id)| id);
        for id in given_up.chain(dropped.drain(..).map(|(id, _)| id)) {
            offers.push(packets.remove(id).flow);
            lost += 1;
        }
    }
    assert_eq!(channel.air_time(now).total(), now - Time::ZERO, "air time adds up");
    let spent = (now - Time::ZERO).as_secs();
    let counters = channel.edcafs().all_counters();
    let sum = |part: fn(&wifair_mac::Counters) -> u64| counters.iter().map(part).sum::<u64>() as f64;
    Goodput {
        each: received.iter().map(|count| *count as f64 * 1472.0 * 8.0 / spent / 1e6).collect(),
        p_collision: sum(|c| c.collisions) / sum(|c| c.attempts),
        lost,
    }
}

pub fn assert_within(measured: f64, expected: f64, part: f64, what: &str) {
    assert!((measured / expected - 1.0).abs() < part, "{what}: {measured:.3}, expected {expected:.3}");
}

/// A packet that finds the channel idle is sent on the next slot boundary (10.22.2.4): AIFS of 16 + 3 * 9 us and whole
/// slots after the start.
#[test]
fn without_a_backoff_transmissions_start_on_slot_boundaries() {
    let start = |arrival| {
        let mut packets = Packets::default();
        let id = packets.insert(Packet { size: SIZE, kind: Kind::Udp, ..Packet::default() });
        let (mut dropped, mut lost) = (vec![], vec![]);
        let mut call = Call::new(Time::ZERO + arrival, &mut packets, &mut dropped, &mut lost, NextHops(&[0]));
        let mut shared = channel(ht_mcs7(), aggregation(), &[BE], 1);
        shared.offer_in(1, 0, id, &mut call);
        let links = RadioLinks::from_hearing(2, |_, _| Hearing::Reads);
        let settings = settings(aggregation(), vec![(ht_mcs7(), BE); 2], 1, 0.0, 0.0);
        let mut space = SpatialChannel::with_categories(settings, links);
        space.offer_in(1, 0, id, &mut call);
        assert_eq!(shared.next(), space.next());
        shared.next() - Time::ZERO
    };
    for (arrival, expected) in [(20, 43), (43, 43), (100, 106), (106, 106), (107, 115)] {
        assert_eq!(start(micros(arrival)), micros(expected), "arrival at {arrival} us");
    }
    assert_eq!(start(Duration::from_secs(3600) + micros(1)), Duration::from_secs(3600) + micros(7), "after an hour");
}

/// One station: payload over PPDU + SIFS + block ACK + AIFS + 7.5 slots. 28 MPDUs of 1538 bytes in 5360 us, 32 bytes of
/// block ACK at 24 Mb/s in 32 us.
#[test]
fn a_lone_station_has_the_closed_form() {
    let goodput = saturate(channel(ht_mcs7(), aggregation(), &[BE], 1), 1, 20);
    let cycle = 5360.0 + 16.0 + 32.0 + 43.0 + 67.5;
    assert_within(goodput.total(), 28.0 * 1472.0 * 8.0 / cycle, 0.002, "goodput");
}

/// The exact Monte Carlo simulation of saturated EDCA with A-MPDUs (rule 'ns3', 50 s each; its own spread is about 0.5
/// % with ten stations).
#[test]
fn saturation_agrees_with_the_monte_carlo() {
    // stations, BlockAckReq after a miss, goodput, probability of collision
    for (stations, request_after_miss, goodput, p_collision) in
        [(2, false, 56.411, 0.1152), (2, true, 55.736, 0.1213), (10, false, 47.006, 0.3806), (10, true, 42.452, 0.3857)]
    {
        let rules = AggregationRules { request_after_miss, ..aggregation() };
        let measured =
            saturate(channel(ht_mcs7(), rules, &vec![BE; stations], 1), u32::try_from(stations).unwrap(), 200);
        let what = format!("{stations} stations, request after a miss: {request_after_miss}");
        assert_within(measured.total(), goodput, 0.01, &what);
        if !request_after_miss {
            // The Monte Carlo counts collisions of data only.
            assert!((measured.p_collision - p_collision).abs() < 0.01, "{what}: collisions {}", measured.p_collision);
        }
    }
}

/// One station of each category, all saturated (rule 'ns3', bar 0).
#[test]
fn four_categories_agree_with_the_monte_carlo() {
    let measured = saturate(channel(ht_mcs7(), aggregation(), &[VO, VI, BE, BK], 1), 4, 400);
    assert_within(measured.total(), 50.975, 0.01, "all");
    for (category, (each, expected)) in measured.each.iter().zip([33.170, 13.024, 3.963]).enumerate() {
        assert_within(*each, expected, 0.05, &format!("category {category}"));
    }
    assert_within(measured.each[3], 0.818, 0.25, "BK"); // few frames in the simulation
}

/// Without aggregation: one MPDU and ACK.
#[test]
fn without_aggregation_the_same_rules_hold() {
    for (stations, expected) in [(2, 31.480), (10, 28.697)] {
        let rules = AggregationRules { max_ampdu: Bytes(0), window: 1, ..aggregation() };
        let measured =
            saturate(channel(ht_mcs7(), rules, &vec![BE; stations], 1), u32::try_from(stations).unwrap(), 60);
        assert_within(measured.total(), expected, 0.01, &format!("{stations} stations"));
    }
}

/// RTS and CTS, or a CTS-to-self, are part of the TXOP: 28 us each at 24 Mb/s, and SIFS. Of 2000 us they leave 1864 or
/// 1908 us for the PPDU, 14,849 or 15,207 bytes, 9 MPDUs; without them there are 1952 us, 15,564 bytes, 10 MPDUs of
/// 1544.
#[test]
fn protection_is_part_of_the_txop() {
    let rate = Some(BitRate::from_mbps(24));
    for (rts_threshold, protection, mpdus, before) in [
        (1000, None, 9.0, 88.0),
        (15_400, None, 9.0, 0.0),
        (15_438, None, 10.0, 0.0),
        (u64::MAX, rate, 9.0, 44.0),
        (1000, rate, 9.0, 88.0),
        (u64::MAX, None, 10.0, 0.0),
    ] {
        let stations = vec![(ht_mcs7(), BE), (ht_mcs7(), Category { txop: micros(2000), ..BE })];
        let mut settings = settings(aggregation(), stations, 1, 0.0, 0.0);
        settings.access.rts_threshold = Bytes(rts_threshold);
        settings.access.protection = protection;
        let goodput = saturate(GeneralChannel::new(settings), 1, 10);
        let ppdu = 36.0 + 4.0 * ((22.0 + 8.0 * (1544.0 * mpdus - 2.0)) / 260.0_f64).ceil();
        let cycle = before + ppdu + 16.0 + 32.0 + 43.0 + 67.5;
        let what = format!("RTS above {rts_threshold} bytes, protection {protection:?}");
        assert_within(goodput.total(), mpdus * 1472.0 * 8.0 / cycle, 0.002, &what);
    }
}

/// If no block ACK is lost, a station gives up exactly the MPDUs that its receiver never gets. MPDUs are given up one
/// by one, even if the block ACK acknowledges others. With a lifetime of 2 ms, less than a PPDU of 28 MPDUs, none
/// reaches the limit of 7, and all losses are expired MPDUs.
#[test]
fn each_mpdu_given_up_counts_with_its_cause() {
    for lifetime in [None, Some(Duration::from_millis(2))] {
        let rules = AggregationRules { lifetime, retry_limit: if lifetime.is_some() { 7 } else { 3 }, ..aggregation() };
        let mut channel = lossy(ht_mcs7(), rules, &[BE], 1, 0.6, 0.0);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        let next_hops = NextHops(&[0]);
        for seq in 0..1000 {
            let id = packets.insert(Packet { flow: 1, seq, size: SIZE, kind: Kind::Udp, ..Packet::default() });
            let call = &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, next_hops);
            channel.offer_in(1, 0, id, call);
        }
        let mut received = 0;
        while channel.next() < Time::NEVER {
            let now = channel.next();
            let event = channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
            received += usize::from(matches!(event, MacEvent::Packet { .. }));
        }
        let given_up = channel.counters(1).retry_limit_drops;
        assert_eq!(given_up, lost.len() as u64);
        assert_eq!(received + lost.len() + dropped.len(), 1000);
        assert!(dropped.iter().all(|(_, cause)| *cause == Cause::Expired));
        match lifetime {
            // 0.6 cubed is 0.216, of 1000 with a standard deviation of 13.
            None => assert!(dropped.is_empty() && (164..=268).contains(&given_up), "{given_up}"),
            Some(_) => assert!(given_up == 0 && !dropped.is_empty(), "{given_up} {}", dropped.len()),
        }
    }
}

/// Data after an RTS are sent if and only if the CTS is received. With ten saturated stations many RTSs collide, and
/// each PPDU that was sent is in the records of frames. The records also give the number of MPDUs and of retries; a
/// frame is a retry if and only if it was on the air before.
#[test]
fn data_are_not_sent_without_a_cts() {
    for request_after_miss in [false, true] {
        let rules = AggregationRules { request_after_miss, ..aggregation() };
        let stations = vec![(ht_mcs7(), BE); 11];
        let mut settings = settings(rules, stations, 1, 0.1, 0.05);
        settings.access.rts_threshold = Bytes(500);
        let mut channel = GeneralChannel::new(settings);
        channel.set_tap(true);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        let next_hops = NextHops(&[0]);
        for seq in 0..300 {
            for station in 1..=10 {
                let packet = Packet { flow: station, seq, size: SIZE, kind: Kind::Udp, ..Packet::default() };
                let id = packets.insert(packet);
                let call = &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, next_hops);
                channel.offer_in(station, 0, id, call);
            }
        }
        let (mut ppdus, mut mpdus, mut retries, mut rts) = (0, 0, 0, 0);
        let mut on_air = std::collections::BTreeSet::new();
        while channel.next() < Time::NEVER {
            let now = channel.next();
            channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
            let tap = channel.tap().expect("it was set");
            for frame in tap.frames() {
                rts += u64::from(frame.kind == FrameKind::Rts);
                if frame.kind == FrameKind::Data {
                    ppdus += u64::from(frame.aggregate.is_none_or(|aggregate| aggregate.place == 0));
                    mpdus += 1;
                    retries += u64::from(frame.retry);
                    let is_first = on_air.insert((frame.from, frame.sequence));
                    assert_eq!(frame.retry, !is_first, "{frame:?}");
                }
            }
            tap.clear();
        }
        let counters = (1..=10).flat_map(|station| channel.edcafs().category_counters(station));
        let sums = counters.fold((0, 0, 0), |sums, c| (sums.0 + c.ppdus, sums.1 + c.mpdus, sums.2 + c.retries));
        assert!(rts > ppdus + 20, "{rts} RTS for {ppdus} PPDUs");
        assert_eq!(sums, (ppdus, mpdus, retries));
    }
}

/// Every packet offered is received once and in order, lost, dropped, or held: with errors of data and of block ACKs,
/// A-MSDUs, small windows, few attempts and short reorder timeouts.
#[test]
fn every_packet_ends_once_or_is_held() {
    for seed in 0..60 {
        let mut draws = stream(seed, "test", "rules");
        let mut pick = |choices: &[u64]| choices[draws.below(u32::try_from(choices.len()).unwrap()) as usize];
        let rules = AggregationRules {
            window: u16::try_from(pick(&[2, 8, 64])).unwrap(),
            max_ampdu: Bytes(pick(&[0, 4000, 65_535])),
            max_amsdu: Bytes(pick(&[0, 3839])),
            min_start_spacing: micros(pick(&[0, 16])), // 130 bytes at 65 Mb/s
            request_after_miss: pick(&[0, 1]) == 1,
            agreements_on_air: pick(&[0, 1]) == 1,
            retry_limit: u8::try_from(pick(&[1, 2, 7])).unwrap(),
            reorder_timeout: micros(pick(&[500, 100_000])),
            ..aggregation()
        };
        let categories = vec![Category { txop: micros(pick(&[0, 1504])), ..BE }; 3];
        let (data_error, control_error) = (pick(&[0, 10, 50]) as f64 / 100.0, pick(&[0, 10]) as f64 / 100.0);
        let mut channel = lossy(ht_mcs7(), rules, &categories, seed, data_error, control_error);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        let mut chance = stream(seed, "test", "offers");
        let (mut offered, mut ended) = (0_u64, 0_u64);
        let mut last = std::collections::BTreeMap::new();
        let mut next_offer = Time::ZERO;
        let next_hops = NextHops(&[0, 1, 2, 3]);
        while offered < 3000 || channel.next() < Time::NEVER {
            let now = channel.next().min(next_offer);
            if now == next_offer {
                next_offer = if offered < 3000 { now + micros(u64::from(chance.below(400))) } else { Time::NEVER };
                let from = chance.below(4);
                let to = if from == 0 { 1 + chance.below(3) } else { 0 };
                let size = [40, 576, 1500][chance.below(3) as usize];
                let packet = Packet { flow: from, hop: to, seq: offered, size, kind: Kind::Udp, ..Packet::default() };
                let id = packets.insert(packet);
                channel.offer_in(from, 0, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], next_hops));
                offered += 1;
            } else if let MacEvent::Packet { to, id } =
                channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops))
            {
                let packet = packets.remove(id);
                assert_eq!(packet.hop, to);
                let before = last.insert((packet.flow, to), packet.seq);
                assert!(before.is_none_or(|before| before < packet.seq), "in order, and once");
                ended += 1;
            }
            for id in lost.drain(..).map(|(_, id)| id).chain(dropped.drain(..).map(|(id, _)| id)) {
                packets.remove(id);
                ended += 1;
            }
            assert_eq!(channel.edcafs().packets_held() as u64, offered - ended, "seed {seed}");
        }
        assert_eq!(ended, offered, "seed {seed}: nothing is left");
    }
}

/// With three in ten MPDUs lost there is always a gap at the receiver, but hardly one MPDU in a thousand million is
/// sent 18 times. As the receiver waits for each missing MPDU, nothing is given up.
#[test]
fn a_receiver_waits_for_each_missing_mpdu_by_itself() {
    let rules = AggregationRules { retry_limit: 255, ..aggregation() };
    let goodput = saturate(lossy(ht_mcs7(), rules, &[BE], 1, 0.3, 0.0), 1, 5);
    assert!(goodput.total() > 20.0, "{}", goodput.total());
    assert_eq!(goodput.lost, 0);
}

/// Downlink through one FIFO to a station at MCS 0 and two at MCS 7: all get the same number of packets, in PPDUs of 2
/// and of 28. In each cycle the slow station's two packets take 5008 us of data; see below for the arithmetic.
#[test]
fn receivers_take_turns_in_the_order_of_the_queue() {
    let slow = TxMode::Ht(HtMode::new(0, ChannelWidth::Mhz20, GuardInterval::Ns800).unwrap());
    let mut channel = downlink(&[slow, ht_mcs7(), ht_mcs7()]);
    let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
    let mut received = [0_u64; 3];
    let next_hops = NextHops(&[0, 1, 2, 3]);
    let mut now = Time::ZERO;
    let mut next = 0_u32;
    while now < Time::ZERO + Duration::from_secs(20) {
        while channel.edcafs().waiting(0) < 900 {
            next = next % 3 + 1;
            let id = packets.insert(Packet { hop: next, size: SIZE, kind: Kind::Udp, ..Packet::default() });
            channel.offer_in(0, 0, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], next_hops));
        }
        now = channel.next();
        if let MacEvent::Packet { to, id } =
            channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops))
        {
            packets.remove(id);
            received[to as usize - 1] += 1;
        }
    }
    // A-MPDU of 2 at MCS 0: 1544 + 1542 bytes, 950 symbols, 3836 us; block ACK at 6 Mb/s 64 us. Of 28 at MCS 7: 5360
    // and 32 us.
    let gaps = 16.0 + 43.0 + 67.5;
    let turn = 14.0 * (3836.0 + 64.0 + gaps) + 2.0 * (5360.0 + 32.0 + gaps);
    let expected = 28.0 * 20e6 / turn;
    for count in received {
        assert_within(count as f64, expected, 0.02, "packets of a receiver");
    }
}

/// A policy that waits for 16 packets, which arrive every 250 us: after 15 intervals they are sent in one PPDU, with
/// one more if it arrives during the backoff of at most 178 us. With an interval of 10 ms the limit of 4 ms is reached
/// first, and each packet is sent alone.
#[test]
fn a_sender_waits_for_more_to_aggregate() {
    for (interval, expected) in [(250, 16.0..=17.0), (10_000, 1.0..=1.0)] {
        let rules = AggregationRules { wait_until: Some((16, micros(4000))), ..aggregation() };
        let mut channel = channel(ht_mcs7(), rules, &[BE], 1);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        let (mut offered, mut received) = (0_u64, 0);
        let next_hops = NextHops(&[0]);
        while received < 320 {
            let next_offer = if offered < 320 { Time::ZERO + micros(interval * offered) } else { Time::NEVER };
            let now = channel.next().min(next_offer);
            if now == next_offer {
                let id = packets.insert(Packet { size: SIZE, kind: Kind::Udp, ..Packet::default() });
                channel.offer_in(1, 0, id, &mut Call::new(now, &mut packets, &mut dropped, &mut vec![], next_hops));
                offered += 1;
            } else if let MacEvent::Packet { id, .. } =
                channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops))
            {
                packets.remove(id);
                received += 1;
            }
        }
        let counters = channel.edcafs().category_counters(1).next().unwrap();
        let mean = counters.mpdus as f64 / counters.ppdus as f64;
        assert!(expected.contains(&mean), "{mean} MPDUs a PPDU, every {interval} us");
    }
}

/// A TXOP of 3.008 ms holds one PPDU of 15 MPDUs with its block ACK; the CF-End, 20 bytes at 6 Mb/s, takes SIFS and 52
/// us more and releases the rest.
#[test]
fn a_txop_holder_that_is_done_sends_cf_end() {
    let goodput = |cf_end: bool| {
        let category = Category { txop: micros(3008), ..BE };
        let stations = vec![(ht_mcs7(), BE), (ht_mcs7(), category)];
        let mut settings = settings(aggregation(), stations, 1, 0.0, 0.0);
        settings.access.cf_end = cf_end;
        saturate(GeneralChannel::new(settings), 1, 20).total()
    };
    // 3008 - 16 - 32 us are left for the PPDU: 36 us of preamble and 731 symbols of 260 bits, 23754 bytes; 15 MPDUs of
    // 1544 are 23160.
    let ppdu = 36.0 + 4.0 * ((22.0 + 8.0 * (15.0 * 1544.0 - 2.0)) / 260.0_f64).ceil();
    let cycle = ppdu + 16.0 + 32.0 + 43.0 + 67.5;
    assert_within(goodput(false), 15.0 * 1472.0 * 8.0 / cycle, 0.002, "without CF-End");
    assert_within(goodput(true), 15.0 * 1472.0 * 8.0 / (cycle + 16.0 + 52.0), 0.002, "with CF-End");
}

/// With noise the MPDUs of a PPDU are lost independently, with the probability of [`wifair_phy::mcs_errors`], and the
/// goodput falls in proportion; at this signal-to-noise ratio the block ACK at 24 Mb/s is always received.
#[test]
fn noise_loses_mpdus_independently() {
    let snr = 10f64.powf(2.30);
    let survival = wifair_phy::mcs_errors::log_survival(ht_mcs7(), snr, 8.0 * 1538.0).unwrap().exp();
    let mut rules = aggregation();
    rules.window = 1024; // so that the window is no limit
    rules.retry_limit = 255;
    let noisy = |snr: &[(u64, f64)]| {
        let snr = snr.iter().map(|(since_s, snr)| (Time::ZERO + Duration::from_secs(*since_s), *snr)).collect();
        let link = LinkSettings { snr, ..LinkSettings::fixed() };
        let stations = vec![(ht_mcs7(), BE), (ht_mcs7(), BE)];
        saturate(build_linked(rules.clone(), stations, &link), 1, 30).total()
    };
    assert!((0.05..0.95).contains(&survival), "{survival}");
    let plain = noisy(&[]);
    assert_within(noisy(&[(0, snr)]), plain * survival, 0.01, "goodput");
    // A ratio of 40 dB in 10 of 30 s, before and after which it is the lower one.
    let varying = noisy(&[(0, snr), (10, 1e4), (20, snr)]);
    assert_within(varying, plain * (2.0 * survival + 1.0) / 3.0, 0.01, "goodput with changes");
}

/// Under agreements that are made on the air, data to a station wait for its response to the request, whatever is sent
/// to others in the meantime.
#[test]
fn data_wait_for_the_response_to_the_request() {
    for seed in 0..20 {
        let rules = AggregationRules { agreements_on_air: true, ..aggregation() };
        let mut channel = channel(ht_mcs7(), rules, &[BE, BE], seed);
        channel.set_tap(true);
        let (mut packets, mut dropped, mut lost) = (Packets::default(), vec![], vec![]);
        let next_hops = NextHops(&[0, 1, 2]);
        for hop in [1, 2, 1, 2, 1] {
            let id = packets.insert(Packet { hop, size: SIZE, kind: Kind::Udp, ..Packet::default() });
            channel.offer_in(0, 0, id, &mut Call::new(Time::ZERO, &mut packets, &mut dropped, &mut lost, next_hops));
        }
        let (mut responded, mut received) = ([false; 3], 0);
        while channel.next() < Time::NEVER {
            let now = channel.next();
            channel.advance(&mut Call::new(now, &mut packets, &mut dropped, &mut lost, next_hops));
            let tap = channel.tap().expect("it was set");
            for frame in tap.frames() {
                match frame.kind {
                    FrameKind::AddbaResponse => responded[frame.from as usize] = true,
                    FrameKind::Data => {
                        assert!(responded[frame.to as usize], "seed {seed}: {frame:?}");
                        received += 1;
                    }
                    _ => {}
                }
            }
            tap.clear();
        }
        assert_eq!(received, 5);
    }
}
