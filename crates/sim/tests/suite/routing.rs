//! Multihop networks with static paths and with dynamic routing.

use proptest::prelude::*;
use wifair_sim::record::Outcome;
use wifair_sim::scenario::Scenario;
use wifair_sim::{Run, RunOptions, run};
use wifair_units::{Duration, Time};

/// Five nodes 200 m apart with ns-2's card: each reads only its neighbours.
const CHAIN: &str = "
    duration = '60 s'
    warm_up = '20 s'
    wlan.standard = '802.11b'
    space.mode = 'ad-hoc'
    space.profile = 'ns2'
    [[stations]]
    name = 'node'
    count = 5
    layout = 'chain'
    chain.spacing = '200 m'
";

/// Datagrams of 1000 bytes, far below what the chain carries.
fn datagrams(rate: &str, more: &str) -> String {
    format!(
        "{CHAIN}
        [[flows]]
        name = 'far'
        from = 'node1'
        to = 'node5'
        transport = 'udp'
        udp.rate = '{rate}'
        udp.payload = '1000 B'
        [[flows]]
        name = 'back'
        from = 'node4'
        to = 'node1'
        transport = 'udp'
        udp.rate = '{rate}'
        udp.payload = '1000 B'
        {more}"
    )
}

fn outcome(text: &str, seed: u64) -> Outcome {
    let scenario = Scenario::parse(text, "test.toml", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    run(&scenario, seed, &RunOptions::default())
}

/// 80 kb/s of datagrams are ten per second, for 40 s. Each makes four hops, or three.
#[test]
fn announced_ways_carry_what_static_ones_do() {
    let fixed = outcome(&datagrams("80 kb/s", ""), 1);
    let learnt = outcome(&datagrams("80 kb/s", "[routing]\nprotocol = 'dsdv'"), 1);
    for result in [&fixed, &learnt] {
        for flow in &result.flows {
            assert!(flow.received_bytes.abs_diff(400_000) <= 2000, "{} B", flow.received_bytes);
        }
    }
    let attempts = |result: &Outcome| result.stations.iter().map(|s| s.attempts).sum::<u64>();
    // An announcement is one attempt, and there are hardly any collisions.
    let announced = attempts(&learnt) - attempts(&fixed);
    assert!(announced.abs_diff(learnt.cell.routing_packets) < 100, "{announced}");
    assert_eq!(fixed.cell.routing_packets, 0);
    // Each of the five stations announces its routes to five destinations, in 80 bytes, every 13.5 to 16.5 s: two to
    // three times in 40 s.
    let packets = learnt.cell.routing_packets;
    assert!((10..=15).contains(&packets), "{packets}");
    assert_eq!(learnt.cell.routing_bytes, packets * 80);
}

/// Within 2 s every station has announced itself; in the worst case a route grows by one hop per second, as the pause
/// is 1 s. Until then the source holds five packets.
#[test]
fn packets_wait_for_a_way_and_push_out_the_oldest() {
    let text = datagrams("80 kb/s", "[routing]\nprotocol = 'dsdv'").replace("warm_up = '20 s'", "");
    let result = outcome(&text, 1);
    let far = &result.flows[0];
    let lost = far.data_drops_no_route;
    assert!((1..=60).contains(&lost), "{lost} of 600 packets");
    assert!((600 - lost) * 1000 - far.received_bytes <= 2000, "{lost} lost, {} B arrived", far.received_bytes);
    let patient = outcome(&text.replace("'dsdv'", "'dsdv'\ndsdv.hold = 1000"), 1);
    assert_eq!(patient.flows[0].data_drops_no_route, 0);
    assert!(patient.flows[0].received_bytes >= 598_000);
}

/// No path exists: three nodes are in range of each other, two are far away.
#[test]
fn packets_to_nowhere_are_lost_and_counted() {
    let text = datagrams("80 kb/s", "[routing]\nprotocol = 'dsdv'")
        + "\n[[space.paths]]\nfrom = 'node3'\nto = 'node4'\ndeaf = true\n";
    let result = outcome(&text, 1);
    for flow in &result.flows {
        assert_eq!(flow.received_bytes, 0);
        assert_eq!(flow.data_drops_no_route.abs_diff(400), 0, "ten a second");
    }
}

/// A chain of 100 nodes, with static and with dynamic routing: the path from end to end has 99 hops.
#[test]
fn a_chain_of_a_hundred_runs() {
    let text = |protocol: &str| {
        datagrams("8 kb/s", &format!("[routing]\nprotocol = '{protocol}'"))
            .replace("count = 5", "count = 100")
            .replace("to = 'node5'", "to = 'node100'")
            .replace("duration = '60 s'", "duration = '240 s'")
            .replace("warm_up = '20 s'", "warm_up = '200 s'")
    };
    for protocol in ["static", "dsdv"] {
        let result = outcome(&text(protocol), 1);
        // One datagram per second for 40 s, some of which are in transit at the end.
        let received = result.flows[0].received_bytes;
        assert!(received.abs_diff(40_000) <= 4000, "{protocol}: {received} B");
        assert!(result.cell.air_reuse > 0.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    /// Whatever the load, the losses and the rules, every packet is in transit, arrived or counted as lost; and a run
    /// gives the same results when repeated or divided into pieces.
    #[test]
    fn no_packet_goes_astray(
        seed in any::<u64>(),
        nodes in 2_u32..9,
        spacing in 100_u32..240,
        rate in prop_oneof![Just("50 kb/s"), Just("1 Mb/s"), Just("8 Mb/s")],
        (hold, feedback, priority) in (0_u32..8, any::<bool>(), any::<bool>()),
        fading in any::<bool>(),
    ) {
        let fading = if fading { "space.fading = 'rayleigh'" } else { "" };
        let text = format!(
            "duration = '8 s'
            wlan.standard = '802.11b'
            wlan.data_error = 0.05
            space.mode = 'ad-hoc'
            space.profile = 'ns2'
            {fading}
            [routing]
            protocol = 'dsdv'
            dsdv.interval = '1 s'
            dsdv.pause = '200 ms'
            dsdv.hold = {hold}
            dsdv.link_feedback = {feedback}
            dsdv.priority = {priority}
            [[stations]]
            name = 'node'
            count = {nodes}
            layout = 'grid'
            grid.spacing = '{spacing} m'
            queue.limit = '5 packets'
            [[flows]]
            name = 'stream'
            from = 'node1'
            to = 'node{nodes}'
            [[flows]]
            name = 'datagrams'
            from = 'node{nodes}'
            to = 'node1'
            transport = 'udp'
            udp.rate = '{rate}'"
        );
        let scenario = Scenario::parse(&text, "test.toml", &[]).unwrap();
        let whole = run(&scenario, seed, &RunOptions::default());
        let mut pieces = Run::new(&scenario, seed, &RunOptions::default());
        let mut until = Time::ZERO;
        while !pieces.advance(until) {
            let world = pieces.world();
            prop_assert_eq!(world.packets_held(), world.packets_under_way());
            until += Duration::from_millis(613);
        }
        // Compared as text, because some figures are NaN.
        prop_assert_eq!(format!("{whole:?}"), format!("{:?}", pieces.outcome()));
    }
}
