//! A network for tests, held to closed forms, to runs of the simulator, and to what always holds.

use std::time::Duration;

use proptest::prelude::*;
use wifair_link::{Delivered, EcnField, HEADERS, LinkDatagram, LinkError, LossPlace, MTU, WifiLink};
use wifair_sim::scenario::Scenario;
use wifair_sim::{RunOptions, run};

fn drain(network: &mut WifiLink) -> Vec<Delivered> {
    std::iter::from_fn(|| network.poll_delivery()).collect()
}

fn until_idle(network: &mut WifiLink) -> Vec<Delivered> {
    while network.in_flight() > 0 {
        let next = network.next_event().expect("datagrams are under way");
        network.advance(next).expect("before the end");
    }
    drain(network)
}

/// IEEE Std 802.11-2016, 17.4.3 and 18.3.2.4: 1500 bytes of IP are a PSDU of 1536, 57 symbols of 4 us after 20 us,
/// and 6 us of signal extension: 254 us at 54 Mb/s. A wire of 1 Gb/s then takes 12 us, and its delay 10 ms.
#[test]
fn a_lone_datagram_takes_its_air_time_and_the_wire() {
    let text = r#"
        duration = "10 s"
        wlan.standard = "802.11g"
        wlan.data_rate = "54 Mb/s"
        [[stations]]
        name = "phone"
        [[servers]]
        name = "server"
        rate = "1 Gb/s"
        delay = "10 ms"
    "#;
    let mut network = WifiLink::from_toml(text, 1, &[]).expect("a scenario");
    let (phone, server) = (network.host("phone").expect("there"), network.host("server").expect("there"));
    let at = Duration::from_secs(1);
    let number = network.offer(at, phone, server, LinkDatagram::of_length(MTU - HEADERS)).expect("it fits");
    let delivery = until_idle(&mut network).remove(0);
    assert_eq!((delivery.number, delivery.length), (number, 1472));
    assert_eq!(delivery.time - at, Duration::from_micros(254 + 12 + 10_000));
}

const CROWD: &str = r#"
    duration = "6 s"
    warm_up = "1 s"
    wlan.standard = "802.11n"
    wlan.mcs = 7
    [[stations]]
    name = "sta"
    count = 3
    [[servers]]
    name = "server"
    delay = "5 ms"
"#;

/// The same datagrams at the same times, offered here and sent by a flow of a scenario, meet the same collisions,
/// retries and air times.
#[test]
fn offers_are_carried_as_the_datagrams_of_a_run() {
    let flow = r#"
        [[flows]]
        name = "up2"
        station = "sta2"
        tcp.cc = "cubic"
        [[flows]]
        name = "up3"
        station = "sta3"
        tcp.cc = "cubic"
        [[flows]]
        name = "cbr"
        station = "sta1"
        transport = "udp"
        udp.rate = "8 Mb/s"
        udp.payload = "1000 B"
        start = "1.000000137 s"
    "#;
    let background = r#"
        [[flows]]
        name = "up2"
        station = "sta2"
        tcp.cc = "cubic"
        [[flows]]
        name = "up3"
        station = "sta3"
        tcp.cc = "cubic"
    "#;
    let scenario = Scenario::parse(&format!("{CROWD}{flow}"), "run.toml", &[]).expect("a scenario");
    let outcome = run(&scenario, 7, &RunOptions::default());
    let mut network = WifiLink::from_toml(&format!("{CROWD}{background}"), 7, &[]).expect("a scenario");
    let (sta1, server) = (network.host("sta1").expect("there"), network.host("server").expect("there"));
    let mut at = Duration::from_nanos(1_000_000_137); // at no instant at which something else happens
    while at < network.end() {
        network.offer(at, sta1, server, LinkDatagram::of_length(1000)).expect("it fits");
        at += Duration::from_millis(1); // 8000 bits at 8 Mb/s
    }
    network.advance(network.end()).expect("the end");
    let snapshot = network.snapshot();
    for station in &outcome.stations {
        let ours = snapshot.station(&station.name).expect("the same stations");
        assert_eq!((ours.attempts, ours.retries), (station.attempts, station.mpdu_retries), "{}", station.name);
    }
    let received: usize = drain(&mut network).iter().map(|delivery| delivery.length).sum();
    assert_eq!(received as u64, outcome.flows[2].received_bytes);
}

fn crowded(seed: u64) -> WifiLink {
    WifiLink::builder()
        .station("phone")
        .server("server", Duration::from_millis(5))
        .background_uploads("neighbour", 3)
        .seed(seed)
        .lifetime(Duration::from_secs(30))
        .build()
        .expect("a network")
}

fn arrivals(seed: u64) -> Vec<(u64, Duration)> {
    let mut network = crowded(seed);
    let (phone, server) = (network.host("phone").expect("there"), network.host("server").expect("there"));
    for step in 0..200 {
        let at = Duration::from_millis(1000 + 3 * step);
        network.offer(at, server, phone, LinkDatagram::of_length(1200)).expect("it fits");
    }
    until_idle(&mut network).iter().map(|delivery| (delivery.number, delivery.time)).collect()
}

#[test]
fn the_seed_decides() {
    assert_eq!(arrivals(1), arrivals(1));
    assert_ne!(arrivals(1), arrivals(2));
}

/// An overloaded queue with CoDel marks datagrams that can be marked, and drops the others.
#[test]
fn only_ecn_capable_datagrams_are_marked() {
    let network = || {
        WifiLink::builder()
            .standard("802.11g")
            .station("phone")
            .server("server", Duration::from_millis(5))
            .set("ap.queue.discipline", "codel")
            .set("ap.queue.codel.ecn", "true")
            .build()
            .expect("a network")
    };
    let mut marks = Vec::new();
    for ecn in [EcnField::NotEct, EcnField::Ect0, EcnField::Ect1] {
        let mut network = network();
        let (phone, server) = (network.host("phone").expect("there"), network.host("server").expect("there"));
        for step in 0..4000 {
            let at = Duration::from_micros(300 * step); // 40 Mb/s, more than 802.11g carries
            network.offer(at, server, phone, LinkDatagram::of_length(1472).with_ecn(ecn)).expect("it fits");
        }
        let arrived = until_idle(&mut network);
        let marked = arrived.iter().filter(|delivery| delivery.ecn == EcnField::Ce).count();
        assert!(arrived.iter().all(|delivery| delivery.ecn == ecn || delivery.ecn == EcnField::Ce));
        assert_eq!(network.snapshot().marked, marked as u64);
        marks.push(marked);
    }
    assert_eq!(marks[0], 0);
    assert!(marks[1] > 0 && marks[2] > 0, "{marks:?}");
}

/// A queue of ten packets and a burst of a hundred.
/// RFC 9331, section 2: ECT(1) alone is marked at a shallow threshold. Ten datagrams arrive at once; the later ones
/// wait longer than 1 ms, and CoDel itself marks nothing within its 100 ms.
#[test]
fn a_shallow_threshold_tells_ect1_apart() {
    let marked = |ecn| {
        let mut network = WifiLink::builder()
            .standard("802.11g")
            .station("phone")
            .server("server", Duration::from_millis(5))
            .set("ap.queue.discipline", "codel")
            .set("ap.queue.codel.ce_threshold", "1 ms")
            .build()
            .expect("a network");
        let (phone, server) = (network.host("phone").expect("there"), network.host("server").expect("there"));
        for _ in 0..10 {
            network.offer(Duration::ZERO, server, phone, LinkDatagram::of_length(1472).with_ecn(ecn)).expect("it fits");
        }
        until_idle(&mut network).iter().filter(|delivery| delivery.ecn == EcnField::Ce).count()
    };
    assert_eq!([EcnField::NotEct, EcnField::Ect0].map(marked), [0, 0]);
    assert!(marked(EcnField::Ect1) >= 5);
}

#[test]
fn losses_say_where() {
    let mut network = WifiLink::builder()
        .standard("802.11b")
        .station("phone")
        .server("server", Duration::from_millis(5))
        .set("ap.queue.limit", "10 packets")
        .build()
        .expect("a network");
    let (phone, server) = (network.host("phone").expect("there"), network.host("server").expect("there"));
    for _ in 0..100 {
        network.offer(Duration::from_secs(1), server, phone, LinkDatagram::of_length(1000)).expect("it fits");
    }
    let arrived = until_idle(&mut network).len();
    let lost: Vec<_> = std::iter::from_fn(|| network.poll_loss()).collect();
    assert_eq!(arrived + lost.len(), 100);
    assert!(lost.len() > 50 && lost.iter().all(|loss| loss.place == LossPlace::ApQueue), "{lost:?}");
}

#[test]
fn wrong_offers_change_nothing() {
    let mut network = crowded(1);
    let (phone, server) = (network.host("phone").expect("there"), network.host("server").expect("there"));
    network.advance(Duration::from_secs(2)).expect("before the end");
    let offer = |network: &mut WifiLink, at, to, datagram| network.offer(Duration::from_secs(at), phone, to, datagram);
    let long = offer(&mut network, 2, server, LinkDatagram::of_length(1473)).unwrap_err();
    assert_eq!(long.to_string(), "an IP packet of 1501 bytes is longer than 1500: at most 1472 of payload fit");
    let past = offer(&mut network, 1, server, LinkDatagram::default()).unwrap_err();
    assert_eq!(past.to_string(), "1s has passed: it is 2s");
    let late = offer(&mut network, 31, server, LinkDatagram::default()).unwrap_err();
    assert!(late.to_string().contains("after the network's end at 30s"), "{late}");
    assert!(matches!(offer(&mut network, 3, phone, LinkDatagram::default()), Err(LinkError::NoPath(..))));
    let odd = LinkDatagram { dscp: 64, ..LinkDatagram::default() };
    assert_eq!(offer(&mut network, 3, server, odd).unwrap_err().to_string(), "no code point 64: there are 0 to 63");
    assert_eq!((network.now(), network.snapshot().offered), (Duration::from_secs(2), 0));
    assert_eq!(network.host("nobody"), None);
    let error = WifiLink::builder().station("a").station("a").build().unwrap_err().to_string();
    assert!(error.contains("`a`") || error.contains("\"a\""), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Every datagram arrives or is lost, once; bytes are unchanged; those of one flow and direction stay in order.
    #[test]
    fn every_datagram_ends_once(
        offers in prop::collection::vec((0u64..3000, 0usize..1472, 0u16..3, any::<bool>()), 1..150),
    ) {
        let mut network = crowded(3);
        let (phone, server) = (network.host("phone").expect("there"), network.host("server").expect("there"));
        let mut at = Duration::from_secs(1);
        let mut sent = Vec::new();
        for (gap, length, flow, up) in offers {
            at += Duration::from_micros(gap);
            let (from, to) = if up { (phone, server) } else { (server, phone) };
            let payload: Vec<u8> = (0..length).map(|at| (at * 7 + usize::from(flow)) as u8).collect();
            let number = network.offer(at, from, to, LinkDatagram::new(payload.clone()).with_flow(flow)).expect("it fits");
            prop_assert_eq!(number, sent.len() as u64);
            sent.push(payload);
        }
        let arrived = until_idle(&mut network);
        let lost: Vec<u64> = std::iter::from_fn(|| network.poll_loss()).map(|loss| loss.number).collect();
        let mut ended: Vec<u64> = arrived.iter().map(|delivery| delivery.number).chain(lost).collect();
        ended.sort_unstable();
        prop_assert_eq!(ended, (0..sent.len() as u64).collect::<Vec<_>>());
        for delivery in &arrived {
            prop_assert_eq!(&delivery.payload, &sent[delivery.number as usize]);
        }
        for flow in 0..3 {
            for from in [phone, server] {
                let numbers: Vec<u64> =
                    arrived.iter().filter(|d| d.flow == flow && d.from == from).map(|d| d.number).collect();
                prop_assert!(numbers.is_sorted());
            }
        }
    }
}
