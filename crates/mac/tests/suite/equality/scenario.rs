//! Random scenarios, and the observable behaviour of a channel in them.

use proptest::prelude::*;
use wifair_engine::{Stream, stream};
use wifair_mac::edcaf::{AggregationRules, CategorySettings, Classifier, EdcaSettings, EdcaStation, SlotRules};
use wifair_mac::{
    Access, AirTime, BROADCAST, BackoffRecord, Category, Counters, Eifs, GeneralChannel, Hearing, IdleAccess, Outages,
    Prioritized, RadioLinks, RateSettings, StationSettings,
};
use wifair_packet::{Kind, Packet, PacketId, Packets};
use wifair_phy::rate::Adaptation;
use wifair_phy::{
    Band, CaptureEffect, CarrierSense, ChannelWidth, Dsss, GuardInterval, HeMode, HeOptions, HeRange, HtMode,
    Interference, Outage, OutageProcess, Radio, Reception, Spoils, Timing, TxMode,
};
use wifair_queue::{Cause, Chosen, Limit, Queue, QueueSettings};
use wifair_units::{BitRate, Bytes, Db, Dbm, Duration, Time};

pub use super::observed::{ComparedFrame, Order, Tested};
use crate::common::hop_to;
use crate::reference::ReferenceChannel;

/// All random parameters of a scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub stations: u32,
    pub access: Access,
    pub cw: (u32, u32),
    pub exclude_cw: bool,
    pub queue_limit: u64,
    /// Queue discipline; some hold packets back, or need air times.
    pub discipline: &'static str,
    /// Number of packets in each burst.
    pub burst: u64,
    /// Mean time between bursts.
    pub pause: Duration,
    pub sizes: Vec<u16>,
    pub broadcast_share: f64,
    /// Whether each received packet is answered at once by one from the receiver.
    pub answers: bool,
    /// Number of categories among which packets are distributed, by their size.
    pub categories: usize,
    /// Whether all packets go to the access point, which is station 0, or come from there.
    pub by_ap: bool,
}

pub fn timing() -> impl Strategy<Value = Timing> {
    prop_oneof![
        any::<bool>().prop_map(|short| Timing::hr_dsss(BitRate::from_mbps(2), short)),
        Just(Timing::erp_ofdm(BitRate::from_mbps(24))),
        prop_oneof![Just(96), Just(192)].prop_map(|preamble| Timing {
            dsss: Some(Dsss { preamble: Duration::from_micros(preamble), basic_rate: BitRate::from_mbps(2) }),
            ..Timing::erp_ofdm(BitRate::from_mbps(24))
        }),
        Just(Timing::ofdm_5ghz(BitRate::from_mbps(6))),
        Just(Timing {
            preamble: Timing::plcp_at(BitRate::from_mbps(11), false),
            ..Timing::hr_dsss(BitRate::from_mbps(11), false)
        }),
    ]
}

pub fn access() -> impl Strategy<Value = Access> {
    (
        timing(),
        prop_oneof![Just(u64::MAX), Just(0), Just(700)],
        (1_u8..8, 1_u8..5),
        any::<bool>(),
        prop_oneof![Just(Eifs::AfterError), Just(Eifs::AfterCollision), Just(Eifs::Off)],
        prop_oneof![Just(IdleAccess::Immediate), Just(IdleAccess::Backoff)],
        (any::<bool>(), prop_oneof![Just(0), Just(1000), 1_u64..100_000]),
        // The standard's, DIFS, whole slots behind DIFS, anything.
        prop_oneof![
            Just(None),
            Just(Some(0)),
            (1_u64..9).prop_map(|n| Some(1_000_000 * n)),
            (1_u64..999_999).prop_map(Some)
        ],
    )
        .prop_map(|(timing, rts, (short, long), reset_cw_on_drop, eifs, idle_access, (no_difs, unit), timeout)| {
            Access {
                rts_threshold: Bytes(rts),
                short_retry_limit: Some(short),
                long_retry_limit: Some(long),
                reset_cw_on_drop,
                eifs,
                idle_access,
                timeout_without_difs: no_difs,
                nav_unit: Duration::from_nanos(unit),
                answer_timeout: timeout.map(|n| match n {
                    1_000_000.. => timing.difs + timing.slot * (n / 1_000_000),
                    _ => timing.difs + Duration::from_nanos(n),
                }),
                nav_reset: true,
                protection: None,
                protects_by_rts: false,
                cf_end: false,
                repeats_cf_end: false,
                broadcast_rate: BitRate::from_mbps(if unit % 2 == 0 { 1 } else { 11 }),
                timing,
            }
        })
}

/// The rate of frames that protect OFDM frames, if any, and whether these are RTS and CTS.
pub fn protection() -> impl Strategy<Value = (Option<BitRate>, bool)> {
    let rate = prop_oneof![Just(None), Just(Some(2)), Just(Some(24))];
    (rate.prop_map(|rate| rate.map(BitRate::from_mbps)), any::<bool>())
}

/// Whether the access point repeats a CF-End, if there are any.
pub fn cf_end() -> impl Strategy<Value = Option<bool>> {
    prop_oneof![Just(None), any::<bool>().prop_map(Some)]
}

impl Scenario {
    /// Without broadcasts if frames have errors: in space alone these are lost, too.
    pub fn with_lossy_unicast(mut self, errors: (f64, f64)) -> Self {
        if errors != (0.0, 0.0) {
            self.broadcast_share = 0.0;
        }
        self
    }

    /// The scenario with this protection; without ns-2's short timeouts, as ns-2 has no protection.
    pub fn protected(mut self, (rate, by_rts): (Option<BitRate>, bool)) -> Self {
        if rate.is_some() {
            self.access.timeout_without_difs = false;
        }
        (self.access.protection, self.access.protects_by_rts) = (rate, by_rts);
        self
    }

    /// The scenario with CF-End, which the access point may repeat, or without. NAVs are not rounded with CF-End.
    pub fn with_cf_end(mut self, repeats: Option<bool>) -> Self {
        if let Some(repeats) = repeats {
            (self.access.cf_end, self.access.repeats_cf_end) = (true, repeats);
            self.access.nav_unit = Duration::ZERO;
        }
        self
    }
}

pub fn scenario() -> impl Strategy<Value = Scenario> {
    (
        (any::<u64>(), 2_u32..12, access()),
        (prop_oneof![Just((0, 0)), Just((1, 7)), Just((7, 31)), Just((31, 1023))], any::<bool>()),
        (1_u64..6, 1_u64..5, prop_oneof![10_u64..300, 1_000_u64..20_000]),
        prop::collection::vec(40_u16..1500, 1..4),
        prop_oneof![Just(0.0), 0.0..0.5],
        (any::<bool>(), prop::sample::select(vec!["fifo", "fifo", "paced", "contention-red", "airtime"])),
    )
        .prop_map(
            |(
                (seed, stations, access),
                (cw, exclude_cw),
                (queue_limit, burst, pause),
                sizes,
                broadcast_share,
                (answers, discipline),
            )| {
                Scenario {
                    seed,
                    stations,
                    access,
                    cw,
                    exclude_cw,
                    queue_limit,
                    discipline,
                    burst,
                    pause: Duration::from_micros(pause),
                    sizes,
                    broadcast_share,
                    answers,
                    categories: 1,
                    by_ap: false,
                }
            },
        )
}

/// An observation of a channel.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Packet(Time, u32, PacketId),
    Broadcast(Time, u32, PacketId, Vec<u32>),
    GivenUp(Time, u32, PacketId),
    Dropped(Time, PacketId, Cause),
    /// Of each station its counters, and the air time of exchanges to it.
    State(Time, Vec<(Counters, [Duration; 4])>, AirTime, Vec<(Option<PacketId>, usize)>),
    Frame(ComparedFrame),
    Backoff(BackoffRecord),
}

/// Advances a channel by one step, or by as many as possible before a bound. Returns the result and the number of
/// steps.
macro_rules! advance {
    (step, $channel:ident, $bound:expr, $call:expr) => {
        ($channel.advance($call), 1)
    };
    (leap, $channel:ident, $bound:expr, $call:expr) => {
        $channel.advance_until($bound, $call)
    };
}

macro_rules! run {
    ($channel:expr, $scenario:expr) => {
        run!($channel, $scenario, true)
    };
    ($channel:expr, $scenario:expr, $tapped:expr) => {
        run!($channel, $scenario, $tapped, step).0
    };
    // What was observed, and the number of steps.
    ($channel:expr, $scenario:expr, $tapped:expr, $how:ident) => {{
        let (mut channel, scenario) = ($channel, $scenario);
        Tested::keep_records(&mut channel, $tapped);
        let mut chance = stream(scenario.seed, "offers", "all");
        let mut packets = Packets::default();
        let (mut dropped, mut retry_limit_drops, mut seen) = (vec![], vec![], vec![]);
        let mut next_burst = Time::ZERO;
        let mut bursts = 0;
        let mut steps = 0;
        let mut order = Order::default();
        let timing = &scenario.access.timing;
        while bursts < 60 || channel.next() < Time::NEVER {
            assert!(steps < 1_000_000, "it comes to an end"); // requests to a receiver out of reach are many
            #[allow(unused_mut)] // unchanged with single steps
            let mut now = next_burst.min(channel.next());
            let mut offers = vec![];
            if next_burst == now {
                bursts += 1;
                for _ in 0..scenario.burst {
                    offers.push(packet(scenario, &mut chance));
                }
                let pause = scenario.pause.as_secs() * -(1.0 - chance.uniform()).ln();
                next_burst = now + Duration::from_secs_f64(pause);
                if bursts == 60 {
                    next_burst = Time::NEVER;
                }
                let counters: Vec<_> =
                    (0..scenario.stations).map(|s| *channel.counters(s)).zip(channel.air_to()).collect();
                if scenario.broadcast_share == 0.0 {
                    let sum = counters.iter().fold([Duration::ZERO; 2], |[by, to], own| {
                        [by + own.0.air(), own.1.iter().fold(to, |sum, part| sum + *part)]
                    });
                    assert_eq!(sum[0], sum[1], "air time by senders is air time to receivers");
                }
                let air = channel.air_time(now);
                assert_eq!(air.total(), now - Time::ZERO, "air time adds up");
                let held = (0..scenario.stations).map(|s| (channel.current_frame(s), channel.queue(s).len())).collect();
                seen.push(Seen::State(now, counters, air, held));
            } else {
                let mut call = Call::new(now, &mut packets, &mut dropped, &mut retry_limit_drops, NEXT_HOPS);
                let (heard, taken) = advance!($how, channel, next_burst, &mut call);
                now = call.now;
                steps += taken;
                match heard {
                    MacEvent::Nothing => {}
                    #[cfg(feature = "fast")]
                    MacEvent::Datagrams { .. } => {}
                    MacEvent::Packet { to, id } => {
                        seen.push(Seen::Packet(now, to, id));
                        order.receive(to, id);
                        // The next packets are sometimes offered at an instant at which the channel changes.
                        let idle = now + timing.sifs + timing.ack();
                        next_burst = match chance.below(10) {
                            _ if next_burst == Time::NEVER => next_burst,
                            0 => now,
                            1 => now + timing.sifs,
                            2 => idle,
                            3 => idle + timing.difs,
                            4 => idle + timing.difs + timing.slot * u64::from(chance.below(8)),
                            _ => next_burst,
                        };
                        if scenario.answers && bursts < 60 {
                            let (_, mut answer) = packet(scenario, &mut chance);
                            answer.flow = (to + 1) % scenario.stations;
                            answer.hop = answer.flow;
                            offers.push((to, answer));
                        }
                    }
                    MacEvent::Broadcast { from, id } => {
                        seen.push(Seen::Broadcast(now, from, id, channel.receivers().to_vec()));
                    }
                }
            }
            for (station, offered) in offers {
                let id = packets.insert(offered);
                let category = usize::from(packets[id].size) % scenario.categories;
                order.offer(station, category, id, &packets[id]);
                let mut call = Call::new(now, &mut packets, &mut dropped, &mut retry_limit_drops, NEXT_HOPS);
                Tested::put(&mut channel, station, category, id, &mut call);
            }
            seen.extend(retry_limit_drops.drain(..).map(|(station, id)| Seen::GivenUp(now, station, id)));
            seen.extend(dropped.drain(..).map(|(id, cause)| Seen::Dropped(now, id, cause)));
        }
        if let Some((mut frames, mut backoffs)) = Tested::records(&mut channel) {
            // Independent of the order in which records were made.
            frames.sort_by_key(|frame| (frame.span, frame.ends.0));
            seen.extend(frames.into_iter().map(Seen::Frame));
            backoffs.sort_by_key(|backoff| (backoff.from, backoff.station));
            seen.extend(backoffs.into_iter().map(Seen::Backoff));
        }
        (seen, steps)
    }};
}

/// What was observed, except for records of frames and backoffs.
pub fn without_records(mut seen: Vec<Seen>) -> Vec<Seen> {
    seen.retain(|seen| !matches!(seen, Seen::Frame(_) | Seen::Backoff(_)));
    seen
}

/// Every packet ends exactly once: received, given up or dropped.
pub fn assert_every_packet_ends_once(seen: &[Seen]) {
    let mut ended = vec![];
    for seen in seen {
        match seen {
            Seen::Packet(_, _, id)
            | Seen::Broadcast(_, _, id, _)
            | Seen::GivenUp(_, _, id)
            | Seen::Dropped(_, id, _) => ended.push(*id),
            Seen::State(..) | Seen::Frame(_) | Seen::Backoff(_) => {}
        }
    }
    let count = ended.len();
    ended.sort_unstable();
    ended.dedup();
    assert_eq!(ended.len(), count, "no packet ends twice");
    let mut packets = Packets::default();
    let mut all: Vec<PacketId> = (0..count).map(|_| packets.insert(Packet::default())).collect();
    all.sort_unstable();
    assert_eq!(ended, all, "every packet ends");
}

/// How well `to` hears `from`, in a random topology with asymmetric links.
pub fn hearing(seed: u64) -> impl Fn(u32, u32) -> Hearing {
    move |from, to| match stream(seed, "hearing", &format!("{from}/{to}")).below(4) {
        0 => Hearing::Nothing,
        1 => Hearing::Senses,
        _ => Hearing::Reads,
    }
}

/// A station and a packet for it to send.
pub fn packet(scenario: &Scenario, chance: &mut Stream) -> (u32, Packet) {
    let from = chance.below(scenario.stations);
    let to = (from + 1 + chance.below(scenario.stations - 1)) % scenario.stations;
    let to = if scenario.by_ap && from != 0 { 0 } else { to };
    let to = if chance.chance(scenario.broadcast_share) { BROADCAST } else { to };
    let size = scenario.sizes[chance.below(u32::try_from(scenario.sizes.len()).unwrap()) as usize];
    let kind = if size.is_multiple_of(3) { Kind::Udp } else { Kind::Data };
    (from, Packet { flow: to, hop: hop_to(to), size, kind, ..Packet::default() })
}

pub fn settings(scenario: &Scenario) -> Vec<StationSettings> {
    (0..scenario.stations)
        .map(|station| StationSettings {
            cw_min: scenario.cw.0,
            cw_max: scenario.cw.1,
            exclude_cw: scenario.exclude_cw,
            rate: BitRate::from_mbps(if station % 2 == 0 { 11 } else { 54 }),
            routing_overhead: Bytes(0),
            data_error_to: 0.0,
            data_error_from: 0.0,
            control_error_to: 0.0,
            queue: Queue::new(
                &QueueSettings {
                    discipline: Chosen::named(scenario.discipline).expect("a name of the list"),
                    limit: Limit::Packets(scenario.queue_limit),
                    ..QueueSettings::default()
                },
                Some(BitRate::from_mbps(11)),
                scenario.seed,
                &station.to_string(),
            ),
            backoff: stream(scenario.seed, "backoff", &station.to_string()),
            errors: stream(scenario.seed, "error", &station.to_string()),
        })
        .collect()
}

pub fn assert_same(a: &[Seen], b: &[Seen]) {
    for (index, (a_seen, b_seen)) in a.iter().zip(b).enumerate() {
        assert_eq!(a_seen, b_seen, "observation {index}, after {:?}", &a[index.saturating_sub(3)..index]);
    }
    assert_eq!(a.len(), b.len());
}

/// Counts the air time of lost data with that of other data: in space a frame turns out to be lost only when it ends.
pub fn with_errors_as_data(mut seen: Vec<Seen>) -> Vec<Seen> {
    for seen in &mut seen {
        if let Seen::State(_, _, air, _) = seen {
            air.data += std::mem::take(&mut air.error);
        }
    }
    seen
}

/// Counts the air time to stations in one category: stations of DCF have no other.
pub fn with_one_category(mut seen: Vec<Seen>) -> Vec<Seen> {
    for seen in &mut seen {
        if let Seen::State(_, counters, ..) = seen {
            for (_, air_to) in counters {
                *air_to = [
                    air_to.iter().fold(Duration::ZERO, |sum, part| sum + *part),
                    Duration::ZERO,
                    Duration::ZERO,
                    Duration::ZERO,
                ];
            }
        }
    }
    seen
}

pub fn capture() -> impl Strategy<Value = Reception> {
    (
        prop_oneof![
            Just(CaptureEffect::None),
            Just(CaptureEffect::First),
            Just(CaptureEffect::Header),
            Just(CaptureEffect::Late)
        ],
        0.0..15.0,
        prop_oneof![Just(Interference::Sum), Just(Interference::Strongest)],
        prop_oneof![Just(CarrierSense::Frame), Just(CarrierSense::Total)],
    )
        .prop_map(|(capture, threshold, interference, carrier_sense)| Reception {
            spoils: Spoils::Threshold,
            capture,
            capture_threshold: Db(threshold),
            interference,
            carrier_sense,
        })
}

/// Radios of different powers, and path losses that differ by direction.
pub fn random_links(scenario: &Scenario) -> RadioLinks {
    let radios: Vec<Radio> = (0..scenario.stations)
        .map(|station| {
            let mut draws = stream(scenario.seed, "radio", &station.to_string());
            Radio { tx_power: Dbm(20.0 * draws.uniform()), ..Radio::default() }
        })
        .collect();
    let loss = |from: u32, to: u32| Db(-70.0 - 40.0 * stream(scenario.seed, "loss", &format!("{from}/{to}")).uniform());
    RadioLinks::from_radios(&radios, loss, Dbm(-105.0))
}

pub fn category() -> impl Strategy<Value = Category> {
    (0_u32..32, 0_u32..256, 1_u32..8, 0_u64..10_000, 1_u32..5).prop_map(|(cw_min, more, aifsn, txop, burst)| Category {
        cw_min,
        cw_max: cw_min + more,
        aifsn,
        txop: Duration::from_micros(txop),
        burst,
    })
}

/// A reference channel whose stations take the categories in turn.
pub fn reference(
    scenario: &Scenario,
    stations: Vec<StationSettings>,
    first: Prioritized,
    categories: &[Category],
) -> ReferenceChannel {
    ReferenceChannel::new(edca_settings(scenario, stations, first, categories))
}

/// The same on the general channel.
pub fn general(
    scenario: &Scenario,
    stations: Vec<StationSettings>,
    first: Prioritized,
    categories: &[Category],
) -> GeneralChannel {
    GeneralChannel::new(edca_settings(scenario, stations, first, categories))
}

/// Stations with these categories each, of which the caller chooses; there is one queue for all receivers of a
/// category, or one for each if `by_receiver`.
pub fn with_categories(
    scenario: &Scenario,
    stations: Vec<StationSettings>,
    categories: &[Category],
    by_receiver: bool,
) -> EdcaSettings {
    let count = if by_receiver { scenario.stations + 1 } else { 1 }; // the last is for broadcasts
    let stations = stations.into_iter().enumerate().map(|(number, common)| {
        let category = |(place, parameters): (usize, &Category)| CategorySettings {
            parameters: parameters.clone(),
            queues: (0..count).map(|_| Queue::fifo(Limit::Packets(scenario.queue_limit))).collect(),
            limit: 0,
            backoff: stream(scenario.seed, "backoff", &format!("{number}/{place}")),
        };
        let categories = categories.iter().enumerate().map(category).collect();
        EdcaStation { ap: Some(0), ..EdcaStation::without_mcs(common, categories) }
    });
    EdcaSettings {
        access: scenario.access,
        aps: vec![0],
        classifier: Classifier::Caller,
        slot_rules: SlotRules::Edca,
        aggregation: None,
        stations: stations.collect(),
    }
}

/// Stations with two categories of equal parameters, which stations take from `categories` in turn.
pub fn edca_settings(
    scenario: &Scenario,
    stations: Vec<StationSettings>,
    first: Prioritized,
    categories: &[Category],
) -> EdcaSettings {
    let stations = stations.into_iter().enumerate().map(|(index, mut common)| {
        let parameters = categories[index % categories.len()].clone();
        let first_queue = Queue::fifo(Limit::Packets(1));
        let first_backoff = stream(scenario.seed, "first-backoff", &index.to_string());
        let prioritized = CategorySettings::with_queue(parameters.clone(), first_queue, first_backoff);
        let best_effort = CategorySettings::of(&mut common, parameters);
        EdcaStation { ap: Some(0), ..EdcaStation::without_mcs(common, vec![prioritized, best_effort]) }
    });
    EdcaSettings {
        access: scenario.access,
        aps: vec![0],
        classifier: Classifier::Kind(first),
        slot_rules: SlotRules::Dcf,
        aggregation: None,
        stations: stations.collect(),
    }
}

/// These settings with A-MPDUs at MCS 7.
pub fn with_aggregates(
    settings: EdcaSettings,
    (request_after_miss, agreements_on_air): (bool, bool),
    max_amsdu: u64,
) -> EdcaSettings {
    with_rules(
        settings,
        7,
        &AggregationRules { request_after_miss, agreements_on_air, max_amsdu: Bytes(max_amsdu), ..rules() },
    )
}

/// Block ACK of eight A-MPDUs of 802.11n.
fn rules() -> AggregationRules {
    AggregationRules {
        window: 8,
        max_ampdu: Bytes(65_535),
        max_amsdu: Bytes(0),
        max_mpdu: Bytes(4095),
        max_duration: Duration::from_micros(5484),
        min_start_spacing: Duration::ZERO,
        single_in_ampdu: false,
        request_after_miss: false,
        retry_limit: 4,
        reorder_timeout: Duration::from_millis(100),
        lifetime: None,
        count_in_flight: false,
        pass_up_singly: false,
        agreements_on_air: false,
        inactivity_timeout: None,
        wait_until: None,
    }
}

/// Aggregation rules, some with A-MPDUs, PPDUs and timeouts so short that their limits are reached.
pub fn aggregation() -> impl Strategy<Value = AggregationRules> {
    (
        prop_oneof![Just(1_u16), 2_u16..10, Just(64)],
        prop_oneof![Just(0_u64), Just(65_535), 100_u64..5_000],
        prop_oneof![Just(0_u64), Just(3839), 200_u64..3_000],
        prop_oneof![Just(5484_u64), 100_u64..2_000],
        prop_oneof![Just(0_u64), 1_u64..16_000],
        any::<(bool, bool)>(),
        1_u8..6,
        prop_oneof![Just(100_000_u64), 100_u64..5_000],
    )
        .prop_map(|(window, ampdu, amsdu, longest, spacing, (in_ampdu, asks), retry_limit, timeout)| {
            AggregationRules {
                window: if ampdu == 0 { 1 } else { window },
                max_ampdu: Bytes(ampdu),
                max_amsdu: Bytes(amsdu),
                max_duration: Duration::from_micros(longest),
                min_start_spacing: Duration::from_nanos(spacing),
                single_in_ampdu: in_ampdu,
                request_after_miss: asks,
                retry_limit,
                reorder_timeout: Duration::from_micros(timeout),
                ..rules()
            }
        })
}

/// These settings with these aggregation rules, in 20 MHz at this MCS with one stream.
pub fn with_rules(mut settings: EdcaSettings, mcs: u8, rules: &AggregationRules) -> EdcaSettings {
    let mode = HtMode::new(mcs, ChannelWidth::Mhz20, GuardInterval::Ns800).expect("the mode exists");
    for station in &mut settings.stations {
        station.mode = Some((TxMode::Ht(mode), Band::Ghz5));
        station.aggregation = Some(rules.clone());
    }
    settings.aggregation = Some(rules.clone());
    settings
}

/// These settings, with data in HE extended range, if `is_extended`.
pub fn in_extended_range(mut settings: EdcaSettings, is_extended: bool) -> EdcaSettings {
    let options = HeOptions { range: HeRange::Extended106, ..HeOptions::default() };
    let mode = HeMode::new(0, 1, ChannelWidth::Mhz20, GuardInterval::Ns800, options).expect("the mode exists");
    for station in settings.stations.iter_mut().filter(|station| is_extended && station.mode.is_some()) {
        station.mode = Some((TxMode::He(mode), Band::Ghz5));
    }
    settings
}

/// Stations with DCF.
pub fn dcf(scenario: &Scenario, stations: Vec<StationSettings>) -> GeneralChannel {
    GeneralChannel::new(EdcaSettings::dcf(scenario.access, &[0], stations))
}

/// Error probabilities of data and of control frames.
pub fn errors() -> impl Strategy<Value = (f64, f64)> {
    (prop_oneof![Just(0.0), 0.0..0.5], prop_oneof![Just(0.0), 0.0..0.5])
}

/// These stations, all with the same error probabilities.
pub fn with_errors(mut settings: Vec<StationSettings>, (data, control): (f64, f64)) -> Vec<StationSettings> {
    for station in &mut settings {
        station.data_error_to = data;
        station.data_error_from = data;
        station.control_error_to = control;
    }
    settings
}

/// Links of a station with occasional outages.
pub fn outages(scenario: &Scenario, station: u32) -> Outages {
    let link = |name: &str| {
        let means = Outage { up: scenario.pause * 5, down: scenario.pause };
        (station.is_multiple_of(2))
            .then(|| OutageProcess::new(means, stream(scenario.seed, name, &station.to_string())))
    };
    Outages { from: link("outage-from"), to: link("outage-to") }
}

/// Rate adaptation of a station: Minstrel, which also counts the attempts of the frame, ARF, or none.
pub fn rates(scenario: &Scenario, station: u32) -> RateSettings {
    RateSettings {
        adaptation: match station % 3 {
            0 => Adaptation::Minstrel(Default::default()),
            1 => Adaptation::Arf(Default::default()),
            _ => Adaptation::Fixed,
        },
        ladder: [1_000, 2_000, 5_500, 11_000].map(BitRate::from_kbps).to_vec(),
        draws: stream(scenario.seed, "rate", &station.to_string()),
    }
}
