//! Invariants of every world: no packet is lost uncounted, shares of air time add up, a run is a function of its plan.

use proptest::prelude::*;
use wifair_ap::Schemes;
use wifair_config::Limit;
use wifair_engine::stream;
use wifair_mac::{Access, Eifs, StationSettings};
use wifair_packet::{FlowLabel, Kind, Packet};
use wifair_phy::Timing;
use wifair_queue::Queue;
use wifair_sim::RunOptions;
use wifair_sim::record::Outcome;
use wifair_sim::scenario::Scenario;
use wifair_sim::world::{
    ChannelPlan, Direction, FlowPlan, Hop, Labels, RealPacket, StationsPlan, TransportPlan, WatchPlan, WiredLinkPlan,
    WorkloadPlan, World, WorldPlan,
};
use wifair_tcp::TcpSettings;
use wifair_units::{BitRate, Bytes, Duration, Time};

#[derive(Clone, Debug)]
struct Setup {
    seed: u64,
    flows: Vec<(bool, Carrier)>,
    ap_queue: Limit,
    station_queue: u64,
    rts_threshold: u64,
    eifs: Eifs,
    cw_min: u32,
    data_error: f64,
    control_error: f64,
    delay_ms: u64,
    wires: Wires,
    tcp: Tcp,
    /// A flow of datagrams from the first station to the last through the access point, with this interval in us.
    relayed_us: Option<u64>,
    /// A connection with this window from the server of the first flow to that of the second, over their links only.
    across: Option<u64>,
    /// Flows start at once, and datagrams are sent at whole milliseconds, so that packets coincide.
    together: bool,
}

#[derive(Clone, Copy, Debug)]
struct Wires {
    /// Whether each flow has a server with a link of its own.
    several: bool,
    /// Whether all flows continue over one more link.
    longer: bool,
    mbps: Option<u64>,
    /// Whether the links to the access point are token buckets.
    shaped: bool,
    /// The queue of each link.
    queue: u64,
    /// Whether there are wired links only.
    alone: bool,
}

#[derive(Clone, Copy, Debug)]
struct Tcp {
    ack_delay_ms: Option<u64>,
    min_rto_ms: u64,
    pacing: bool,
    sack: bool,
}

impl Tcp {
    fn settings(self, window: u64) -> TcpSettings {
        TcpSettings {
            receive_window: Limit::Packets(window),
            delayed_ack: self.ack_delay_ms.is_some(),
            ack_delay: Duration::from_millis(self.ack_delay_ms.unwrap_or(1)),
            min_rto: Duration::from_millis(self.min_rto_ms),
            pacing: self.pacing,
            sack: self.sack,
            ..TcpSettings::default()
        }
    }
}

impl Wires {
    /// The links of a flow, starting from its station.
    fn path(self, flow: usize, flows: usize) -> Vec<u32> {
        let first = if self.several { 2 * flow as u32 } else { 0 };
        if self.longer { vec![first, 2 * flows as u32] } else { vec![first] }
    }
}

#[derive(Clone, Copy, Debug)]
enum Carrier {
    Tcp { window: u64, transfer: Option<u64>, fresh: bool },
    Udp { size: u16, interval_us: u64 },
}

fn wires() -> impl Strategy<Value = Wires> {
    let mbps = prop::option::of(prop_oneof![Just(1_u64), Just(10), Just(100)]);
    let shaped = prop_oneof![3 => Just(false), 1 => Just(true)];
    let alone = prop_oneof![3 => Just(false), 1 => Just(true)];
    (any::<bool>(), any::<bool>(), mbps, shaped, prop_oneof![1_u64..10, Just(100)], alone)
        .prop_map(|(several, longer, mbps, shaped, queue, alone)| Wires { several, longer, mbps, shaped, queue, alone })
}

fn tcp() -> impl Strategy<Value = Tcp> {
    let min_rto_ms = prop_oneof![Just(1000_u64), 1_u64..300];
    (prop::option::of(0_u64..150), min_rto_ms, any::<bool>(), any::<bool>())
        .prop_map(|(ack_delay_ms, min_rto_ms, pacing, sack)| Tcp { ack_delay_ms, min_rto_ms, pacing, sack })
}

fn setups() -> impl Strategy<Value = Setup> {
    let carrier = prop_oneof![
        3 => (1_u64..80, prop::option::of(1_u64..300_000), any::<bool>())
            .prop_map(|(window, transfer, fresh)| Carrier::Tcp { window, transfer, fresh }),
        1 => (40_u16..1500, 300_u64..20_000).prop_map(|(size, interval_us)| Carrier::Udp { size, interval_us }),
    ];
    let limit =
        prop_oneof![(1_u64..60).prop_map(Limit::Packets), (1500_u64..60_000).prop_map(|b| Limit::Bytes(Bytes(b)))];
    let eifs = prop_oneof![Just(Eifs::AfterError), Just(Eifs::AfterCollision), Just(Eifs::Off)];
    (
        (any::<u64>(), prop::collection::vec((any::<bool>(), carrier), 1..7), limit, 1_u64..60),
        (prop_oneof![Just(0_u64), Just(300), Just(3000)], eifs, prop_oneof![Just(1_u32), Just(15), Just(31)]),
        (prop_oneof![3 => Just(0.0), 1 => 0.0_f64..0.6], prop_oneof![3 => Just(0.0), 1 => 0.0_f64..0.4]),
        (prop_oneof![1 => Just(0_u64), 3 => 0_u64..60], wires(), tcp(), prop::option::of(500_u64..20_000)),
        (prop::option::of(1_u64..40), any::<bool>()),
    )
        .prop_map(
            |(
                (seed, flows, ap_queue, station_queue),
                (rts_threshold, eifs, cw_min),
                (data_error, control_error),
                (delay_ms, wires, tcp, relayed_us),
                (across, together),
            )| {
                Setup {
                    seed,
                    flows,
                    ap_queue,
                    station_queue,
                    rts_threshold,
                    eifs,
                    cw_min,
                    data_error,
                    control_error,
                    delay_ms,
                    wires,
                    tcp,
                    relayed_us,
                    across,
                    together,
                }
            },
        )
}

fn plan(setup: &Setup) -> (WorldPlan, Labels) {
    let mut access = Access::standard(Timing::hr_dsss(BitRate::from_mbps(2), true));
    access.rts_threshold = Bytes(setup.rts_threshold);
    access.eifs = setup.eifs;
    let station = |index: usize| StationSettings {
        cw_min: setup.cw_min,
        cw_max: 1023,
        exclude_cw: false,
        rate: BitRate::from_mbps(11),
        routing_overhead: Bytes(0),
        data_error_to: setup.data_error,
        data_error_from: 0.0,
        control_error_to: setup.control_error,
        queue: Queue::fifo(if index == 0 { setup.ap_queue } else { Limit::Packets(setup.station_queue) }),
        backoff: stream(setup.seed, "backoff", &index.to_string()),
        errors: stream(setup.seed, "error", &index.to_string()),
    };
    let wires = setup.wires;
    let link = |to_ap: bool| WiredLinkPlan {
        rate: wires.mbps.map(BitRate::from_mbps),
        burst: (wires.shaped && to_ap).then_some(Bytes(3000)),
        // An endless flow over links without any delay would send everything at once.
        delay: Duration::from_millis(if wires.alone { setup.delay_ms.max(1) } else { setup.delay_ms }),
        queue: Queue::fifo(Limit::Packets(wires.queue)),
    };
    let count = setup.flows.len();
    let flow = |index: usize, (up, carrier): (bool, Carrier)| {
        let sta = index as u32 + 1;
        let mut upwards = vec![Hop::Air { channel: 0, from: sta, to: 0 }];
        upwards.extend(wires.path(index, count).into_iter().map(Hop::Wired));
        let mut downwards: Vec<Hop> = upwards.iter().rev().map(|hop| hop.reversed()).collect();
        upwards.push(Hop::End);
        downwards.push(Hop::End);
        let (forward, reverse) = if up { (upwards, downwards) } else { (downwards, upwards) };
        let (transport, workload) = match carrier {
            Carrier::Tcp { window, transfer, fresh } => {
                let (sender, receiver) = setup.tcp.settings(window).resolve();
                let workload = match transfer {
                    None => WorkloadPlan::Endless,
                    Some(bytes) if fresh => {
                        let list = (0..5).map(|i| (Time::from_nanos(i * 400_000_000), Bytes(bytes / 5 + 1)));
                        WorkloadPlan::Sessions { list: list.collect::<Vec<_>>().into(), fresh }
                    }
                    Some(bytes) => WorkloadPlan::Transfer(Bytes(bytes)),
                };
                (TransportPlan::Tcp { sender: Box::new(sender), receiver }, workload)
            }
            Carrier::Udp { size, interval_us } => {
                let (interval, jitter) = if setup.together {
                    (Duration::from_millis(interval_us.div_ceil(1000)), 0.0)
                } else {
                    (Duration::from_micros(interval_us), 0.5)
                };
                (TransportPlan::Udp { payload: size - 28, size, interval, jitter }, WorkloadPlan::Endless)
            }
        };
        FlowPlan {
            name: format!("f{index}"),
            forward,
            reverse,
            transport,
            label: FlowLabel::default(),
            category: 2,
            workload,
            start: if setup.together { Time::ZERO } else { Time::from_nanos(index as u64 * 10_000_000) },
            stop: Time::NEVER,
        }
    };
    let mut flows: Vec<FlowPlan> = setup.flows.iter().enumerate().map(|(index, path)| flow(index, *path)).collect();
    let mut directions: Vec<Direction> =
        setup.flows.iter().map(|(up, _)| if *up { Direction::Up } else { Direction::Down }).collect();
    if let Some(interval_us) = setup.relayed_us
        && count > 1
        && !wires.alone
    {
        let hops = |from: u32, to: u32| {
            vec![Hop::Air { channel: 0, from, to: 0 }, Hop::Air { channel: 0, from: 0, to }, Hop::End]
        };
        let relayed = flow(0, (true, Carrier::Udp { size: 500, interval_us }));
        flows.push(FlowPlan {
            name: "relayed".to_owned(),
            forward: hops(1, count as u32),
            reverse: hops(count as u32, 1),
            ..relayed
        });
        directions.push(Direction::Peer);
    }
    if let Some(window) = setup.across
        && count > 1
        && wires.several
        && !wires.longer
        // Otherwise everything would be sent at once.
        && (setup.delay_ms > 0 || wires.mbps.is_some())
    {
        let hops = |from: u32, to: u32| vec![Hop::Wired(from).reversed(), Hop::Wired(to), Hop::End];
        let across = flow(0, (true, Carrier::Tcp { window, transfer: None, fresh: false }));
        flows.push(FlowPlan { name: "across".to_owned(), forward: hops(0, 2), reverse: hops(2, 0), ..across });
        directions.push(Direction::Wired);
    }
    if wires.alone {
        for flow in &mut flows {
            flow.forward.retain(|hop| !matches!(hop, Hop::Air { .. }));
            flow.reverse.retain(|hop| !matches!(hop, Hop::Air { .. }));
        }
    }
    let labels = Labels {
        flows: flows.iter().map(|flow| flow.name.clone()).zip(directions).collect(),
        stations: vec![(0..=count).map(|index| format!("s{index}")).collect()],
        seed: setup.seed,
        fair_share_base: None,
    };
    let mut plan = WorldPlan {
        routing: None,
        seed: setup.seed,
        warm_up: Time::from_nanos(500_000_000),
        channels: vec![ChannelPlan {
            outages: vec![],
            aps: vec![0],
            space: None,
            overlapping: None,
            errors_for_all: false,
            rates: vec![],
            stations: StationsPlan::Dcf(access, (0..=count).map(station).collect()),
            schemes: vec![Schemes::default()],
        }],
        links: (0..=count).flat_map(|_| [link(false), link(true)]).collect(),
        flows,
        sample_every: None,
        fast_paths: true,
    };
    if wires.alone {
        plan.channels.clear();
    }
    (plan, labels)
}

const END: Time = Time::from_nanos(3_000_000_000);

fn run(setup: &Setup) -> (World, String) {
    let (plan, labels) = plan(setup);
    let mut world = World::new(plan);
    world.run_until(END);
    let outcome = format!("{:?}", world.outcome(&labels));
    (world, outcome)
}

/// Results of a run whose first flow stops at `stop`, and what is under way and held at some times.
fn run_in_steps(setup: &Setup, stop: Time, is_watched: bool) -> (String, Vec<(usize, usize)>) {
    let (mut plan, labels) = plan(setup);
    plan.sample_every = Some(Duration::from_millis(70));
    plan.flows[0].stop = stop;
    let mut world = World::new(plan);
    if is_watched {
        world.watch(WatchPlan::default());
    }
    let mut under_way = vec![];
    for step in 1..=6 {
        world.run_until(Time::from_nanos(END.as_nanos() / 6 * step));
        under_way.push((world.packets_under_way(), world.packets_held()));
    }
    (format!("{:?}", Outcome { events: 0, ..world.outcome(&labels) }), under_way)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_packet_is_accounted_for(setup in setups()) {
        let (plan, _) = plan(&setup);
        let flows = plan.flows.len();
        let mut world = World::new(plan);
        for step in 1..=6 {
            world.run_until(Time::from_nanos(END.as_nanos() / 6 * step));
            let (mut sent, mut gone) = (0, 0);
            for flow in 0..flows {
                let c = world.counters(flow);
                sent += c.data_sent + c.acks_sent;
                gone += c.data_arrived + c.acks_arrived;
                gone += c.data_lost.iter().sum::<u64>() + c.acks_lost.iter().sum::<u64>();
                prop_assert!(c.received <= c.payload_arrived);
            }
            prop_assert_eq!(sent, gone + world.packets_under_way() as u64, "packets appear or vanish");
            prop_assert_eq!(world.packets_held(), world.packets_under_way(), "a packet is nowhere, or twice");
            for air in world.air_times() {
                prop_assert_eq!(air.total(), world.now() - Time::ZERO, "the air does not add up");
            }
        }
    }

    #[test]
    fn a_transfer_arrives_whole_once(setup in setups()) {
        let (mut plan, _) = plan(&setup);
        // All other flows stop, so that no flow is crowded out for good.
        for flow in plan.flows.iter_mut().filter(|flow| matches!(flow.workload, WorkloadPlan::Endless)) {
            flow.stop = END;
        }
        let mut world = World::new(plan);
        world.run_until(Time::from_nanos(600_000_000_000));
        for (flow, (_, carrier)) in setup.flows.iter().enumerate() {
            let expected = match *carrier {
                Carrier::Tcp { transfer: Some(bytes), fresh: true, .. } => 5 * (bytes / 5 + 1),
                Carrier::Tcp { transfer: Some(bytes), fresh: false, .. } => bytes,
                _ => continue,
            };
            prop_assert_eq!(world.counters(flow).received, expected);
        }
    }

    #[test]
    fn the_same_plan_gives_the_same_outcome(setup in setups()) {
        prop_assert_eq!(run(&setup).1, run(&setup).1);
    }

    #[test]
    fn a_run_can_be_cut_anywhere(setup in setups(), cuts in prop::collection::vec(0_u64..3_000_000_000, 0..5)) {
        let whole = run(&setup).1;
        let (plan, labels) = plan(&setup);
        let mut world = World::new(plan);
        let mut cuts = cuts;
        cuts.sort_unstable();
        for cut in cuts {
            world.run_until(Time::from_nanos(cut));
        }
        world.run_until(END);
        prop_assert_eq!(format!("{:?}", world.outcome(&labels)), whole);
    }

    /// An observed world makes everything an event; an unobserved one defers what it can. Only the number of events,
    /// which are steps of the program, may differ.
    #[test]
    fn what_is_put_off_comes_out_as_events_would_have_it(
        mut setup in setups(),
        only_datagrams in prop::option::of(200_u64..3000),
        stop in 0_u64..4_000_000_000,
    ) {
        if let Some(interval_us) = only_datagrams {
            for (up, carrier) in &mut setup.flows {
                *up = true;
                *carrier = Carrier::Udp { size: 1000, interval_us };
            }
        }
        let stop = Time::from_nanos(stop);
        prop_assert_eq!(run_in_steps(&setup, stop, false), run_in_steps(&setup, stop, true));
    }
}

/// A datagram injected at 1 s into an idle cell arrives after its frame (short preamble: 96 us, 1064 B at 11 Mb/s: 774
/// us) and the wired link: 1028 B at 10 Mb/s take 822.4 us. It is sent at once, because the channel has been idle for
/// DIFS.
#[test]
fn packets_can_be_put_in_and_taken_out() {
    let (mut plan, _) = plan(&Setup {
        seed: 1,
        flows: vec![(true, Carrier::Udp { size: 1028, interval_us: 1000 })],
        ap_queue: Limit::Packets(10),
        station_queue: 10,
        rts_threshold: 3000,
        eifs: Eifs::AfterError,
        cw_min: 31,
        data_error: 0.0,
        control_error: 0.0,
        delay_ms: 0,
        wires: Wires { several: false, longer: false, mbps: Some(10), shaped: false, queue: 100, alone: false },
        tcp: Tcp { ack_delay_ms: None, min_rto_ms: 1000, pacing: false, sack: false },
        relayed_us: None,
        across: None,
        together: false,
    });
    plan.flows[0].workload = WorkloadPlan::Outside;
    let mut world = World::new(plan);
    world.run_until(Time::from_nanos(1_000_000_000));
    let connection = world.open(0, 0);
    let packet = Packet { seq: 7, payload: 1000, size: 1028, kind: Kind::Udp, ..Packet::default() };
    world.inject(connection, false, packet, RealPacket { number: 99, tcp: None, ect1: false });
    world.run_until(END);
    let carried = world.collect().unwrap();
    assert_eq!(carried.time.as_nanos(), 1_000_000_000 + 96_000 + 774_000 + 822_400);
    assert_eq!((carried.number, carried.packet.seq, carried.lost), (99, 7, None));
    assert!(world.collect().is_none());
}

/// A packet that a link delivers late must not be processed when the next one is put on the link: the timer of its ACK
/// would be due in the past.
#[test]
fn time_does_not_run_backwards_where_a_delayed_ack_is_late() {
    let setup = Setup {
        seed: 0,
        flows: vec![
            (true, Carrier::Tcp { window: 1, transfer: None, fresh: false }),
            (true, Carrier::Tcp { window: 4, transfer: None, fresh: false }),
        ],
        ap_queue: Limit::Packets(2),
        station_queue: 1,
        rts_threshold: 0,
        eifs: Eifs::AfterError,
        cw_min: 15,
        data_error: 0.0,
        control_error: 0.0,
        delay_ms: 1,
        wires: Wires { several: false, longer: false, mbps: None, shaped: false, queue: 1, alone: false },
        tcp: Tcp { ack_delay_ms: Some(0), min_rto_ms: 1, pacing: false, sack: false },
        relayed_us: None,
        across: None,
        together: false,
    };
    run(&setup);
}

/// At 0.4 s, 0.8 s and so on the server of the third flow opens a connection, and then that of the second sends a
/// datagram, and all links take no time. The segment reaches the access point first, which often has room for one more
/// packet only.
#[test]
fn links_that_take_no_time_keep_the_order_of_their_packets() {
    let tcp = |window, transfer, fresh| (false, Carrier::Tcp { window, transfer, fresh });
    let setup = Setup {
        seed: 1,
        flows: vec![
            tcp(5, None, false),
            (false, Carrier::Udp { size: 570, interval_us: 1000 }),
            tcp(1, Some(1), true),
            tcp(1, None, false),
        ],
        ap_queue: Limit::Packets(2),
        station_queue: 10,
        rts_threshold: 0,
        eifs: Eifs::AfterError,
        cw_min: 31,
        data_error: 0.0,
        control_error: 0.0,
        delay_ms: 0,
        wires: Wires { several: true, longer: true, mbps: None, shaped: false, queue: 1, alone: false },
        tcp: Tcp { ack_delay_ms: None, min_rto_ms: 1000, pacing: false, sack: false },
        relayed_us: None,
        across: None,
        together: true,
    };
    assert_eq!(run_in_steps(&setup, Time::NEVER, false), run_in_steps(&setup, Time::NEVER, true));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// What is handed to the application in the measured time arrived in that time: goodput, which counts each byte
    /// once, does not exceed throughput, which counts all. Bytes behind a gap at the end of the warm-up were once
    /// counted as goodput.
    #[test]
    fn goodput_does_not_exceed_throughput(text in super::fast_paths::scenarios(), warm_up in 100_u32..2900) {
        let text = text.replace("warm_up = '500 ms'", &format!("warm_up = '{warm_up} ms'"));
        let scenario = Scenario::parse(&text, "random.toml", &[]).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let outcome = wifair_sim::run(&scenario, 1, &RunOptions::default());
        for flow in &outcome.flows {
            prop_assert!(flow.goodput_bps <= flow.throughput_bps, "{}: {}", flow.name, text);
        }
    }
}
