//! Each rule that names a cause, in a scenario of its own, and the control: without the cause the harm is gone.

use crate::support::{lesson, told};

const DOWNLOAD: &str = r#"
    duration = "4 s"
    warm_up = "1 s"
    wlan = { standard = "802.11ax", width = 80 }
    ap.queue.limit = "1000 packets"
    tcp.stack = "modern"
    servers = [{ name = "internet" }]
    stations = [{ name = "sta", queue.limit = "1000 packets" }]
    flows = [{ name = "down", station = "sta", direction = "down" }]
"#;

/// Four uploads beside four downloads: the access point sends all downloads and the ACKs of all uploads.
#[test]
fn downloads_starve_beside_uploads_and_do_not_alone() {
    let with = told(&lesson("uploads"), &["duration=30 s"], &[1]);
    let fact = with.say("directions");
    let mean = |way: &str| {
        let of: Vec<f64> = with.flows().iter().filter(|f| f.direction == way).map(|f| f.goodput_bps).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    assert!((fact.get("per_flow_ratio").unwrap() - mean("up") / mean("down")).abs() < 1e-9);
    assert!(mean("up") > 10.0 * mean("down"));
    let frames: u64 = with.outcomes[0].stations.iter().map(|one| one.delivered).sum();
    let share = with.station("ap").delivered as f64 / frames as f64;
    assert_eq!(fact.get("access_point_frames"), Some(share));
    assert!(
        fact.text.contains(&format!("The access point delivers {:.1} % of all frames", 100.0 * share)),
        "{}",
        fact.text
    );
    // Control: without uploads nobody starves.
    let without = told(&lesson("uploads"), &["duration=30 s", "stations.talker.count=0"], &[1]);
    assert!(without.fact("directions").is_none());
    assert!(without.fact("starved").is_none());
    assert!(without.outcomes[0].cell.jain_index > 0.95);
}

const ONE_AND_ONE: &str = r#"
    duration = "20 s"
    warm_up = "5 s"
    wlan.standard = "802.11g"
    servers = [{ name = "server", delay = "10 ms" }]
    stations = [{ name = "talker" }, { name = "reader" }]
    flows = [
        { name = "up", station = "talker", start_spread = "1 s" },
        { name = "down", station = "reader", direction = "down", start_spread = "1 s" },
    ]
"#;

/// One upload beside one download in 802.11g is fair because both have their whole receive window in flight and the
/// queue of the access point does not overflow; with four each, it does, and downloads starve. With larger windows, two
/// suffice.
#[test]
fn one_upload_beside_one_download_is_fair_by_its_windows_and_four_are_not() {
    let fair = told(ONE_AND_ONE, &[], &[1, 2, 3]);
    let text = &fair.say("directions").text;
    assert!(text.contains("about the same. The access point's queue is never full and drops nothing"), "{text}");
    for outcome in &fair.outcomes {
        assert!(outcome.cell.jain_index > 0.99);
        assert_eq!(outcome.cell.ap_drops_data + outcome.cell.ap_drops_ack, 0);
    }
    let four = told(ONE_AND_ONE, &["stations.count=4"], &[1, 2, 3]);
    assert!(!four.text().contains("never full"), "{}", four.text());
    assert!(four.outcomes.iter().all(|outcome| outcome.cell.jain_index < 0.6 && outcome.cell.starved_fraction >= 0.25));
    let wide = told(ONE_AND_ONE, &["tcp.stack=modern"], &[1, 2, 3]);
    assert!(!wide.text().contains("never full"));
    assert!(wide.outcomes.iter().all(|outcome| outcome.flows[0].goodput_bps > 1.2 * outcome.flows[1].goodput_bps));
}

const FOURTEEN: &str = r#"
    duration = "40 s"
    warm_up = "5 s"
    wlan.standard = "802.11b"
    servers = [{ name = "server", delay = "10 ms" }]
    stations = [{ name = "sta", count = 14 }]
    flows = [{ name = "up", station = "sta", start_spread = "1 s" }]
"#;

/// The queue of the access point is full of ACKs: without its limit no ACK is lost, and no timer expires.
#[test]
fn lost_acks_stop_uploads_until_the_queue_holds_them_all() {
    let lost = told(FOURTEEN, &[], &[1]);
    let fact = lost.say("dropped_acks");
    let dropped = lost.outcomes[0].cell.ap_drops_ack;
    assert!(dropped > 100);
    assert_eq!(fact.get("ap_drops_ack"), Some(dropped as f64));
    assert!(lost.fact("starved").is_some());
    let (hit, spared): (Vec<_>, Vec<_>) = lost.flows().iter().partition(|flow| flow.timeouts > 0);
    let mean = |of: &[&wifair_sim::record::FlowOutcome]| of.iter().map(|f| f.cwnd_mean).sum::<f64>() / of.len() as f64;
    assert!(fact.text.contains("one with a small window") && mean(&hit) < 0.8 * mean(&spared), "{}", fact.text);
    let long = told(FOURTEEN, &["ap.queue.limit=1000 packets"], &[1]);
    assert!(long.fact("dropped_acks").is_none() && long.fact("starved").is_none(), "{}", long.text());
    assert!(long.outcomes[0].cell.jain_index > 0.95);
}

/// A station at 1 Mb/s takes the time of all others: at their rate it does not, and they get more.
#[test]
fn a_slow_station_costs_the_others_time() {
    let slow = told(&lesson("slow-station"), &["duration=30 s"], &[1]);
    let fact = slow.say("slow_stations");
    assert!(fact.text.contains("A frame of slow takes") && fact.text.contains("takes time from all"), "{}", fact.text);
    let air: f64 = slow.outcomes[0].stations.iter().filter(|one| one.name != "ap").map(|one| one.air_data_s).sum();
    assert!(slow.station("slow").air_data_s > 0.5 * air);
    let even = told(&lesson("slow-station"), &["duration=30 s", "stations.slow.data_rate=11 Mb/s"], &[1]);
    assert!(even.fact("slow_stations").is_none());
    assert!(even.flows()[0].goodput_bps > 1.5 * slow.flows()[0].goodput_bps);
}

const SLOW_DOWN: &str = r#"
    duration = "10 s"
    wlan = { standard = "802.11n", mcs = 7 }
    ap.queue.limit = "300 packets"
    servers = [{ name = "server", delay = "10 ms" }]
    stations = [{ name = "fast", count = 3 }, { name = "slow", mcs = 0 }]
    flows = [
        { name = "down", station = "fast", direction = "down" },
        { name = "slow", station = "slow", direction = "down" },
    ]
"#;

/// A FIFO gives the slow receiver as many packets as the others, and so most of the air; equal rates or equal air do
/// not.
#[test]
fn a_slow_receiver_costs_the_others_time() {
    let slow = told(SLOW_DOWN, &[], &[1]);
    let fact = slow.say("slow_receivers");
    let to: f64 = slow.outcomes[0].stations.iter().filter(|one| one.name != "ap").map(|one| one.air_to_station_s).sum();
    let share = slow.station("slow").air_to_station_s / to;
    assert!((fact.get("air_share").unwrap() - share).abs() < 1e-9 && share > 0.5);
    for change in ["stations.slow.mcs=7", "ap.queue.discipline=airtime"] {
        let mended = told(SLOW_DOWN, &[change], &[1]);
        assert!(mended.fact("slow_receivers").is_none(), "{change}: {}", mended.text());
        assert!(mended.flows()[0].goodput_bps > 1.5 * slow.flows()[0].goodput_bps, "{change}");
    }
}

/// Where all stations have one rate, it said of one that starved that it takes time from all.
#[test]
fn a_receiver_that_starves_is_not_slow() {
    for seed in 1..=8 {
        let told = told(&lesson("uploads"), &["duration=30 s"], &[seed]);
        assert!(told.fact("slow_receivers").is_none(), "seed {seed}: {}", told.text());
        assert!(told.fact("slow_stations").is_none(), "seed {seed}: {}", told.text());
    }
}

/// West and east do not hear each other: hidden stations were never named, and "fewer stations" were advised for two.
#[test]
fn hidden_stations_are_named_and_collide_no_more_once_they_hear_each_other() {
    let hidden = told(&lesson("hidden-node"), &["duration=20 s"], &[1]);
    let fact = hidden.say("hidden");
    assert!(
        fact.text.starts_with("west and east send to the same access point but do not hear each other"),
        "{}",
        fact.text
    );
    assert_eq!(fact.about, ["east", "west"]);
    assert!(fact.advice.contains(&"wlan.rts_threshold=0 B".to_owned()));
    assert!(!hidden.text().contains("ewer stations"));
    let share = |one: &wifair_sim::record::StationOutcome| one.collisions as f64 / one.attempts as f64;
    assert!(share(hidden.station("west")) > 0.3);
    let text = lesson("hidden-node").replace("deaf = true", "deaf = false");
    let heard = told(&text, &["duration=20 s"], &[1]);
    assert!(heard.fact("hidden").is_none());
    assert!(heard.outcomes[0].cell.goodput_bps > 2.0 * hidden.outcomes[0].cell.goodput_bps);
    let rts = told(&lesson("hidden-node"), &["duration=20 s", "wlan.rts_threshold=0 B"], &[1]);
    assert!(rts.outcomes[0].cell.goodput_bps > 2.0 * hidden.outcomes[0].cell.goodput_bps);
}

const BESIDE_B: &str = r#"
    duration = "10 s"
    warm_up = "2 s"
    wlan.standard = "802.11g"
    space = {}
    ap.position = ["0 m", "0 m"]
    servers = [{ name = "server", rate = "1 Gb/s" }]
    stations = [
        { name = "g", position = ["3 m", "0 m"] },
        { name = "old", dsss_only = true, data_rate = "11 Mb/s", position = ["0 m", "3 m"] },
    ]
    flows = [{ name = "g", station = "g", direction = "down" }]
"#;

/// An idle station of 802.11b makes all others protect their frames: 37 % of the time on the air went unmentioned.
#[test]
fn protection_for_an_old_station_is_named_and_ends_with_it() {
    let beside = told(BESIDE_B, &[], &[1]);
    let fact = beside.say("protection");
    assert!(fact.text.starts_with("old is 802.11b and does not read newer frames"), "{}", fact.text);
    let share = beside.outcomes[0].cell.air_rts_cts;
    assert!(share > 0.3 && fact.get("air_rts_cts") == Some(share));
    let alone = told(&BESIDE_B.replace("dsss_only = true, data_rate = \"11 Mb/s\", ", ""), &[], &[1]);
    assert!(alone.fact("protection").is_none());
    assert!(alone.outcomes[0].cell.air_rts_cts < 0.01);
    assert!(alone.outcomes[0].cell.goodput_bps > 1.5 * beside.outcomes[0].cell.goodput_bps);
}

/// Vegas yields to Reno; among equals it does not.
#[test]
fn vegas_beside_reno_is_named_and_gets_its_share_among_equals() {
    let mixed = told(&lesson("vegas"), &["duration=60 s"], &[1]);
    let fact = mixed.say("controls");
    let mean = |name: &str| {
        let of: Vec<f64> = mixed.flows().iter().filter(|f| f.name.starts_with(name)).map(|f| f.goodput_bps).collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    assert!((fact.get("ratio").unwrap() - mean("reno") / mean("vegas")).abs() < 1e-9);
    assert!(mean("reno") > 2.0 * mean("vegas"));
    assert!(fact.text.contains("vegas yields as round trips grow"), "{}", fact.text);
    for control in ["vegas", "reno"] {
        let change = format!("flows.tcp.cc={control}");
        let equal = told(&lesson("vegas"), &["duration=60 s", &change], &[1]);
        assert!(equal.fact("controls").is_none(), "{}", equal.text());
        assert!(equal.outcomes[0].cell.jain_index > mixed.outcomes[0].cell.jain_index);
    }
}

const SIXTEEN: &str = r#"
    duration = "2 s"
    warm_up = "1 s"
    wlan = { standard = "802.11ax", width = 80, streams = 2, mcs = 9 }
    ap.queue = { discipline = "fq-codel", limit = "1000 packets" }
    tcp = { stack = "modern", cc = "bbr" }
    servers = [{ name = "server", rate = "10 Gb/s", delay = "1 ms" }]
    stations = [{ name = "sta", count = 16 }]
    flows = [{ name = "down", station = "sta", direction = "down" }]
"#;

/// BBR of the draft keeps a dozen segments in flight for each of 16 downloads, and aggregates have about as many; CUBIC
/// fills them.
#[test]
fn small_aggregates_are_named_and_grow_with_what_is_in_flight() {
    let bbr = told(SIXTEEN, &["tcp.bbr.variant=draft"], &[1]);
    let fact = bbr.say("small_aggregates");
    let each = |told: &crate::support::Told| told.station("ap").mpdus as f64 / told.station("ap").ppdus as f64;
    assert_eq!(fact.get("mpdus_per_ppdu"), Some(each(&bbr)));
    assert!(each(&bbr) < 16.0);
    let cubic = told(SIXTEEN, &["tcp.cc=cubic"], &[1]);
    assert!(cubic.fact("small_aggregates").is_none());
    assert!(each(&cubic) > 50.0);
    assert!(cubic.outcomes[0].cell.goodput_bps > 2.0 * bbr.outcomes[0].cell.goodput_bps);
}

/// The air carries more than 500 Mb/s, a wired link 100 Mb/s unless its rate is given.
#[test]
fn a_full_wire_is_found_and_a_faster_one_is_not() {
    let full = told(DOWNLOAD, &[], &[1]);
    let fact = full.say("wires");
    assert!(fact.text.contains("link of internet is full: downlink flows carry 9"), "{}", fact.text);
    assert!(fact.get("throughput_bps") == Some(full.flows()[0].throughput_bps));
    let fast = told(DOWNLOAD, &["servers.rate=1 Gb/s"], &[1]);
    assert!(fast.fact("wires").is_none());
    assert!(fast.flows()[0].goodput_bps > 2.0 * full.flows()[0].goodput_bps);
    let video =
        DOWNLOAD.replace("direction = \"down\"", "direction = \"down\", transport = \"udp\", udp.rate = \"90 Mb/s\"");
    let video = told(&video.replace("    tcp.stack = \"modern\"\n", ""), &[], &[1]);
    assert!(video.fact("wires").is_none(), "it gets what it asks for: {}", video.text());
    let two = DOWNLOAD.replace("name = \"internet\"", "name = \"internet\", count = 2, rate = \"50 Mb/s\"");
    let two = two.replace("direction = \"down\"", "direction = \"down\", server = \"internet\"");
    assert!(told(&two, &[], &[1]).say("wires").text.contains("links of internet1 and of internet2 are full"));
}

/// 128 ACKs to an aggregate of 256 packets do not fit into a queue of 50.
#[test]
fn acks_overflow_the_queue_of_a_station_until_it_is_long() {
    let fast = ["servers.rate=1 Gb/s", "servers.delay=5 ms"];
    let short = told(DOWNLOAD, &[&fast[..], &["stations.queue.limit=50 packets"]].concat(), &[1]);
    let fact = short.say("acks_dropped_at_stations");
    assert!(fact.text.contains("in one aggregate"));
    assert_eq!(fact.advice, ["stations.sta.queue.limit=1000 packets"]);
    assert!(short.flows()[0].ack_drops_station_queue as f64 > 0.05 * short.flows()[0].data_packets_sent as f64);
    assert!(told(DOWNLOAD, &fast, &[1]).fact("acks_dropped_at_stations").is_none());
}

/// A download fills a queue of 1000 packets; FQ-CoDel keeps round trips short.
#[test]
fn waiting_is_told_with_the_idle_round_trip_and_ends_with_a_short_queue() {
    let bloat = told(&lesson("bufferbloat"), &["duration=20 s"], &[1]);
    let fact = bloat.say("waiting");
    // 20 ms of wires and the air: 460 ms were called the shortest, which was that of the loaded time alone.
    let idle = bloat.flows().iter().map(|flow| flow.rtt_idle_s).fold(f64::INFINITY, f64::min);
    assert!((0.02..0.03).contains(&idle));
    assert!((fact.get("rtt_idle_s").unwrap() - idle).abs() < 5e-3, "{}", fact.text);
    let short = told(&lesson("bufferbloat"), &["duration=20 s", "ap.queue.discipline=fq-codel"], &[1]);
    let increase = short.fact("waiting").map_or(0.0, |fact| fact.get("latency_increase_s").unwrap());
    assert!(increase < 0.2 * fact.get("latency_increase_s").unwrap(), "{}", short.text());
}

/// Errors and collisions are told apart; a surer rate ends the errors.
#[test]
fn errors_are_not_collisions() {
    let noisy = r#"
        duration = "5 s"
        wlan = { standard = "802.11g", data_error = 0.3 }
        servers = [{ name = "server" }]
        stations = [{ name = "sta" }]
        flows = [{ name = "up", station = "sta", transport = "udp", udp.rate = "20 Mb/s" }]
    "#;
    let bad = told(noisy, &[], &[1]);
    let fact = bad.say("radio");
    let share = bad.station("sta").errors as f64 / bad.station("sta").attempts as f64;
    assert!((fact.get("errors_sta").unwrap() - share).abs() < 1e-9 && (0.25..0.35).contains(&share));
    assert!(!bad.text().contains("ewer stations"));
    assert!(told(noisy, &["wlan.data_error=0.0"], &[1]).fact("radio").is_none());
}
