//! Devices: what they set, what they refuse, and what they do on the air.

use wifair_config::Override;
use wifair_queue::{Chosen, Limit};
use wifair_sim::record::Outcome;
use wifair_sim::scenario::{Flows, Scenario, Transport};
use wifair_sim::{RunOptions, run};
use wifair_units::{Bytes, Duration};

/// Downloads to a fast and a slow station, 144.4 and 7.2 Mb/s, from a server 5 ms away.
fn text(ap: &str, stations: &str) -> String {
    format!(
        "duration = '12 s'
        warm_up = '2 s'
        [wlan]
        standard = '802.11n'
        guard_interval = '400 ns'
        [ap]
        {ap}
        [[stations]]
        name = 'fast'
        mcs = 15
        {stations}
        [[stations]]
        name = 'slow'
        mcs = 0
        [[servers]]
        name = 'server'
        rate = '1 Gb/s'
        delay = '5 ms'
        [tcp]
        stack = 'linux'
        [[flows]]
        name = 'fast'
        station = 'fast'
        direction = 'down'
        [[flows]]
        name = 'slow'
        station = 'slow'
        direction = 'down'
        "
    )
}

fn parse(text: &str, changes: &[(&str, &str)]) -> Result<Scenario, String> {
    let changes: Vec<Override> = changes.iter().map(|(key, value)| Override::set(&format!("{key}={value}"))).collect();
    Scenario::parse(text, "devices.toml", &changes).map_err(|problems| problems.to_string())
}

fn outcome(ap: &str) -> Outcome {
    run(&parse(&text(ap, ""), &[]).unwrap_or_else(|why| panic!("{why}")), 1, &RunOptions::default())
}

/// Values of `net/mac80211` and of OpenWrt's patches, and the memory by standard; each can be set otherwise, and the
/// resolved scenario reads as the same one.
#[test]
fn devices_set_defaults() {
    let params = |ap: &str, changes: &[(&str, &str)]| {
        let scenario = parse(&text(ap, ""), changes).unwrap_or_else(|why| panic!("{why}"));
        let again = Scenario::parse(&scenario.to_toml(), "again.toml", &[]).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(scenario.file.ap, again.file.ap);
        let queue = scenario.ap().queue.clone();
        let Chosen::LinuxWifi(params) = queue.discipline else { panic!("a device has queues") };
        (params, queue.limit)
    };
    let us = Duration::from_micros;
    let (linux, limit) = params("device = 'linux'", &[]);
    assert_eq!((limit, linux.memory), (Limit::Packets(8192), Some(Bytes(4 << 20))));
    assert_eq!((linux.lines, linux.flow_quantum), (4096, Bytes(300)));
    assert_eq!([linux.target, linux.interval], [us(20_000), us(100_000)]);
    assert_eq!(linux.airtime_quantum, us(256));
    assert_eq!([linux.aql_low, linux.aql_high, linux.aql_threshold], [us(5_000), us(12_000), us(24_000)]);
    let (openwrt, _) = params("device = 'openwrt'", &[]);
    assert_eq!(openwrt.airtime_quantum, us(2_048));
    assert_eq!([openwrt.aql_low, openwrt.aql_high, openwrt.aql_threshold], [us(2_000), us(4_000), us(8_000)]);
    let (mine, _) = params("device = 'openwrt'", &[("ap.queue.linux-wifi.aql_low", "3 ms")]);
    assert_eq!([mine.aql_low, mine.aql_high, mine.airtime_quantum], [us(3_000), us(4_000), us(2_048)]);
    let (_, limit) = params("device = 'fifo'", &[]);
    assert_eq!(limit, Limit::Packets(1000));
    let (own, limit) = params(
        "device = 'linux'\nqueue.limit = '100 packets'",
        &[("wlan.standard", "802.11ac"), ("ap.queue.linux-wifi.aql_high", "6 ms"), ("stations.mcs", "0")],
    );
    assert_eq!((limit, own.memory, own.aql_high), (Limit::Packets(100), Some(Bytes(16 << 20)), us(6_000)));
}

/// A station with a device has flows with Linux's TCP, offload for what it gets, small queues for what it sends.
#[test]
fn stations_set_their_tcp() {
    let up =
        "[[flows]]\nname = 'up'\nstation = 'fast'\ntcp.small_queue = '1 ms'\n[[flows]]\nname = 'up2'\nstation = 'fast'";
    let scenario = parse(&format!("{}{up}", text("", "device = 'phone'").replace("stack = 'linux'", "")), &[]);
    let scenario = scenario.unwrap_or_else(|why| panic!("{why}"));
    let text = scenario.to_toml();
    let tcp = |flows: &Flows| match &flows.transport {
        Transport::Tcp(tcp) => (text.matches("stack = \"linux\"").count(), tcp.gro, tcp.small_queue.as_nanos() / 1000),
        Transport::Udp(_) => unreachable!("all flows are of TCP"),
    };
    // The flow of the slow station, which has no device, has no Linux.
    let flows: Vec<_> = scenario.file.flows.iter().map(tcp).collect();
    assert_eq!(flows, [(3, true, 0), (3, false, 0), (3, false, 1000), (3, false, 7812)]);
    assert_eq!(text.matches("ack_filter = \"aggressive\"").count(), 1);
}

/// One error each, with what to write.
#[test]
fn what_a_device_cannot_be_is_refused() {
    let b = |text: &str| {
        text.replace("802.11n", "802.11b")
            .replace("guard_interval = '400 ns'", "")
            .replace("mcs = 15", "")
            .replace("mcs = 0", "")
    };
    let told = |text: &str| parse(text, &[]).expect_err("it is wrong");
    let old = told(&b(&text("device = 'linux'", "")));
    assert!(old.contains("an access point of 802.11b cannot be such a device"), "{old}");
    assert!(old.contains("write standard = \"802.11n\""), "{old}");
    let old = told(&b(&text("", "device = 'linux'")));
    assert!(old.contains("a station of 802.11b cannot be such a device"), "{old}");
    let unknown = told(&text("device = 'linus'", ""));
    assert!(unknown.contains("did you mean `linux`?"), "{unknown}");
    let weight = told(&text("", "airtime_weight = 512"));
    assert!(weight.contains("`airtime_weight` has no effect") && weight.contains("device = \"linux\""), "{weight}");
    let absent = told(&text("device = 'linux'", "airtime_weight = 512\ncount = 0"));
    assert!(absent.contains("a weight of stations that are absent"), "{absent}");
    let short = told(&text("device = 'linux'\nqueue.linux-wifi.aql_low = '50 us'", ""));
    assert!(short.contains("a limit of 50 us is below the time of a packet"), "{short}");
    let high = told(&text("device = 'linux'\nqueue.linux-wifi.aql_high = '1 ms'", ""));
    assert!(high.contains("aql_high"), "{high}");
}

/// Shares of goodput and of air time of two downloads. "Ending the Anomaly": a FIFO gives both the same throughput, so
/// the slow station has most of the air; with airtime fairness the air is halved. Without airtime fairness stations
/// take turns: the slow one has more of the air, the control.
#[test]
fn linux_shares_the_air_and_a_fifo_does_not() {
    let slow_share = |outcome: &Outcome| {
        let air: Vec<f64> =
            outcome.stations.iter().filter(|one| one.name != "ap").map(|one| one.air_to_station_s).collect();
        air[1] / (air[0] + air[1])
    };
    let linux = outcome("device = 'linux'");
    assert!((slow_share(&linux) - 0.5).abs() < 0.03, "linux: {}", slow_share(&linux));
    let fifo = outcome("device = 'fifo'");
    assert!(slow_share(&fifo) > 0.53, "fifo: {}", slow_share(&fifo));
    let turns = outcome("device = 'linux'\nqueue.linux-wifi.airtime_fairness = false");
    assert!(slow_share(&turns) > 0.53, "in turns: {}", slow_share(&turns));
    let delay = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.rtt_mean_s).sum::<f64>();
    assert!(2.0 * delay(&linux) < delay(&fifo), "{} and {} s", delay(&linux), delay(&fifo));
}
