//! Scenario files: their meaning, and their error messages.

mod any_text;
mod without_effect;

use wifair_config::{Limit, Override, Problems, Source};
use wifair_sim::scenario::{Node, PathStep, Scenario, Transport, Workload, catalogue, reference, schema};
use wifair_sim::world::Direction;
use wifair_units::{BitRate, Bytes, Duration, Time};

/// Eight uploads, in as few lines as possible.
const UPLOADS: &str = r#"
name = "eight uploads"
duration = "100 s"
warm_up = "5 s"

[wlan]
standard = "802.11b"

[[servers]]
name = "server"
delay = "10 ms"

[[stations]]
name = "sta"
count = 8

[[flows]]
name = "up"
station = "sta"
tcp.cc = "newreno"
tcp.stack = "ns2"
tcp.receive_window = "20 packets"
"#;

/// Two flows over two routers.
const DUMBBELL: &str = r#"
duration = "10 s"
routers = [{ name = "left" }, { name = "right" }]
servers = [{ name = "src", count = 2, at = "left" }, { name = "dst", count = 2, at = "right" }]

[tcp]
cc = "vegas"
vegas.alpha = 2

[[links]]
from = "left"
to = "right"
rate = "10 Mb/s"
delay = "20 ms"
queue.limit = "100 packets"

[[flows]]
name = "a"
from = "src"
to = "dst"
"#;

fn read(text: &str, overrides: &[&str]) -> Result<Scenario, Problems> {
    let overrides: Vec<_> = overrides.iter().map(|text| Override::set(text)).collect();
    Scenario::parse(text, "a.toml", &overrides)
}

#[track_caller]
fn refused(text: &str, overrides: &[&str], expected: &str) {
    let got = read(text, overrides).expect_err("must be refused").to_string();
    assert_eq!(got, expected.strip_prefix('\n').unwrap_or(expected), "\n--- got\n{got}");
}

/// `UPLOADS` with one line replaced.
fn uploads(line: &str, by: &str) -> String {
    assert!(UPLOADS.contains(line), "the scenario has the line {line}");
    UPLOADS.replacen(line, by, 1)
}

#[test]
fn groups_are_expanded_and_flows_find_their_ways() {
    let scenario = read(UPLOADS, &[]).unwrap();
    let network = &scenario.network;
    let names: Vec<&str> = network.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["sta1", "sta2", "sta3", "sta4", "sta5", "sta6", "sta7", "sta8"]);
    assert_eq!(network.flows.len(), 8);
    let third = &network.flows[2];
    assert_eq!((third.name.as_str(), third.direction, third.place), ("up3", Direction::Up, (2, 8)));
    assert_eq!(
        third.path,
        [PathStep::Air { from: Node::Station(2), to: Node::Ap(0) }, PathStep::Wired { link: 0, reverse: true },]
    );
    assert_eq!(network.links[0].ends, [Node::Server(0), Node::Ap(0)]);
    let Transport::Tcp(tcp) = &scenario.flows_of(third).transport else { panic!("a TCP flow") };
    assert_eq!((tcp.receive_window, tcp.min_rto), (Limit::Packets(20), Duration::from_millis(200)));
    assert_eq!(scenario.file.wlan.as_ref().unwrap().data_rate, BitRate::from_mbps(11));
}

#[test]
fn a_dumbbell_needs_no_air() {
    let scenario = read(DUMBBELL, &[]).unwrap();
    let network = &scenario.network;
    assert!(network.stations.is_empty() && scenario.file.wlan.is_none());
    assert_eq!(network.links.len(), 5);
    assert_eq!(network.links[4].queue.limit, Limit::Packets(100));
    let second = &network.flows[1];
    assert_eq!((second.name.as_str(), second.direction), ("a2", Direction::Wired));
    // src2 to left, left to right, right to dst2.
    let wired = |link, reverse| PathStep::Wired { link, reverse };
    assert_eq!(second.path, [wired(1, false), wired(4, false), wired(3, true)]);
}

#[test]
fn common_tcp_holds_where_a_flow_says_nothing() {
    let text = format!("{DUMBBELL}\n[[flows]]\nname = 'b'\nfrom = 'src'\nto = 'dst'\ntcp.cc = 'reno'\n");
    let scenario = read(&text, &[]).unwrap();
    let cc = |group: usize| match &scenario.file.flows[group].transport {
        Transport::Tcp(tcp) => format!("{:?}", tcp.cc),
        Transport::Udp(_) => String::new(),
    };
    assert!(cc(0).contains("alpha: 2.0"), "{}", cc(0));
    assert!(cc(1).starts_with("Reno"), "{}", cc(1));
}

#[test]
fn parameters_in_common_tcp_that_nobody_chooses_are_refused() {
    refused(
        &DUMBBELL.replace("cc = \"vegas\"", "cc = \"reno\""),
        &[],
        "
error: `vegas` is set in [tcp] but no flow chooses it
 --> a.toml:8:1
8 | vegas.alpha = 2
  | ^^^^^ for cc = \"vegas\" only
",
    );
    // A sweep over the congestion control does not require edits of the file.
    assert!(read(DUMBBELL, &["flows.tcp.cc=reno"]).is_ok());
}

#[test]
fn every_parameter_is_addressed_by_its_path() {
    let overrides = [
        "ap.queue.limit=100packets",
        "stations.count=2",
        "stations.sta.cw_min=15",
        "flows.up.tcp.cc=vegas",
        "flows[0].direction=down",
        "flows.tcp.vegas.alpha=3",
        "wlan.rts_threshold=0 B",
    ];
    let scenario = read(UPLOADS, &overrides).unwrap();
    assert_eq!(scenario.file.ap.as_ref().unwrap().queue.limit, Limit::Packets(100));
    assert_eq!(scenario.network.stations.len(), 2);
    assert_eq!(scenario.file.stations[0].cw_min, Some(15));
    assert_eq!(scenario.network.flows[1].direction, Direction::Down);
    assert!(scenario.to_toml().contains("tcp.vegas.alpha = 3.0\n"), "{}", scenario.to_toml());
    assert_eq!(scenario.file.wlan.as_ref().unwrap().rts_threshold, Bytes(0));
}

#[test]
fn the_effective_scenario_reads_as_itself() {
    for text in [UPLOADS, DUMBBELL] {
        let scenario = read(text, &["flows.start_spread=1 s", "seeds=1..10"]).unwrap();
        let effective = scenario.to_toml();
        let again = read(&effective, &[]).unwrap_or_else(|problems| panic!("{effective}\n{problems}"));
        assert_eq!(again.to_toml(), effective);
        assert_eq!(again.network, scenario.network);
        assert_eq!(again.hash(), scenario.hash());
    }
}

#[test]
fn the_hash_follows_what_a_run_depends_on_besides_its_seed() {
    let hash = |overrides: &[&str]| read(UPLOADS, overrides).unwrap().hash();
    assert_eq!(hash(&[]), hash(&["seeds=1..10"]));
    assert_eq!(hash(&[]), hash(&["ap.queue.limit=50 packets"])); // the default
    assert_ne!(hash(&[]), hash(&["ap.queue.limit=51 packets"]));
    assert_eq!(read(UPLOADS, &[]).unwrap().hash(), read(&uploads("[wlan]", "# comment\n[wlan]"), &[]).unwrap().hash());
    assert_eq!(hash(&[]).len(), 64);
}

#[test]
fn starts_are_drawn_flow_by_flow_within_their_window() {
    let scenario = read(UPLOADS, &["flows.start=1 s", "flows.start_spread=2 s"]).unwrap();
    let starts: Vec<Time> = scenario.network.flows.iter().map(|flow| scenario.start(flow, 1)).collect();
    assert!(starts.iter().all(|start| (1.0..3.0).contains(&start.as_secs())), "{starts:?}");
    let more = read(UPLOADS, &["flows.start=1 s", "flows.start_spread=2 s", "stations.count=9"]).unwrap();
    assert_eq!(more.start(&more.network.flows[4], 1), starts[4], "another station leaves the draws of others alone");
}

#[test]
fn sessions_are_drawn_up_before_the_run() {
    let text = uploads(
        "tcp.cc = \"newreno\"",
        "workload = 'periodic'\nperiodic.length = '10 kB'\nperiodic.period = '10 s'\nperiodic.offset = 'even'",
    );
    let scenario = read(&text, &[]).unwrap();
    let sessions: Vec<_> = scenario.sessions(&scenario.network.flows[4], 1).unwrap().collect();
    assert_eq!(sessions.len(), 10);
    assert_eq!(sessions[1], (Time::ZERO + Duration::from_secs(15), Bytes(10_000)));
    assert_eq!(scenario.file.flows[0].workload.connection(), wifair_sim::scenario::ConnectionUse::Keep);
}

#[test]
fn a_trace_is_loaded_into_the_effective_scenario() {
    let text = uploads("tcp.cc = \"newreno\"", "workload = 'trace'\ntrace.file = 'day.csv'");
    let mut asked = Vec::new();
    let scenario = Scenario::parse_with(Source::file("a.toml", &text), &[], &mut |name| {
        asked.push(name.to_owned());
        Ok("start_s,bytes\n0.5,1000\n2,3000\n".to_owned())
    })
    .unwrap();
    assert_eq!(asked, ["day.csv"]);
    assert!(matches!(&scenario.file.flows[0].workload, Workload::Trace(trace) if trace.list.len() == 2));
    assert_eq!(read(&scenario.to_toml(), &[]).unwrap().hash(), scenario.hash());
    refused(
        &text,
        &[],
        "
error: cannot use the trace `day.csv`
  --> a.toml:21:14
21 | trace.file = 'day.csv'
   |              ^^^^^^^^^ no files can be read here
",
    );
}

// Bad input: one message each, exactly.

#[test]
fn an_unknown_key() {
    refused(
        &uploads("count = 8", "cont = 8"),
        &[],
        "
error: unknown key `cont` in [[stations]] \"sta\"
  --> a.toml:15:1
15 | cont = 8
   | ^^^^ did you mean `count`?
",
    );
}

#[test]
fn a_missing_unit() {
    refused(
        &uploads("\"10 ms\"", "10"),
        &[],
        "
error: `delay` has no unit
  --> a.toml:11:9
11 | delay = 10
   |         ^^ write \"10 ms\" or \"10 us\"
",
    );
}

#[test]
fn a_negative_rate() {
    refused(
        &uploads("delay = \"10 ms\"", "rate = \"-1 Mb/s\""),
        &[],
        "
error: `-1 Mb/s` is negative
  --> a.toml:11:8
11 | rate = \"-1 Mb/s\"
   |        ^^^^^^^^^ a bit rate is zero or more
",
    );
}

#[test]
fn a_cw_min_above_cw_max() {
    refused(
        &uploads("standard = \"802.11b\"", "standard = \"802.11b\"\ncw_min = 63\ncw_max = 31"),
        &[],
        "
error: `cw_min` is above `cw_max`
 --> a.toml:8:10
8 | cw_min = 63
  |          ^^ 63
9 | cw_max = 31
  |          ^^ 31
",
    );
    refused(
        &uploads("count = 8", "cw_max = 15"),
        &[],
        "
error: `cw_min` is above `cw_max`
  --> a.toml:15:10
15 | cw_max = 15
   |          ^^ 15
   = cw_min is 31 unless it is set here
",
    );
}

#[test]
fn too_many_stations_or_none_of_the_name() {
    refused(
        &uploads("count = 8", "count = 100001"),
        &[],
        "
error: `count` is 100001
  --> a.toml:15:9
15 | count = 100001
   |         ^^^^^^ must be from 0 to 100000
",
    );
    refused(
        "duration = '1 s'\n[wlan]\nstandard = '802.11g'\n[[flows]]\nname = 'up'\nstation = 'sta'\n",
        &[],
        "
error: a [wlan] without stations
 --> a.toml:2:1
2 | [wlan]
  | ^^^^^^ write [[stations]] with name = \"sta\", count = 8
",
    );
}

#[test]
fn a_stop_before_a_start() {
    refused(
        &uploads("tcp.cc = \"newreno\"", "start = \"20 s\"\nstop = \"10 s\""),
        &[],
        "
error: `stop` is not after `start`
  --> a.toml:21:8
20 | start = \"20 s\"
   |         ^^^^^^ the flow begins at 20 s
21 | stop = \"10 s\"
   |        ^^^^^^ too early
",
    );
}

#[test]
fn a_duplicate_name() {
    refused(
        &format!("{UPLOADS}\n[[stations]]\nname = \"sta\"\n"),
        &[],
        "
error: two nodes are called `sta`
  --> a.toml:25:8
14 | name = \"sta\"
   |        ^^^^^ first here
...
25 | name = \"sta\"
   |        ^^^^^ again here
",
    );
    refused(
        &format!("{UPLOADS}\n[[flows]]\nname = \"up2\"\nstation = \"sta1\"\n"),
        &[],
        "
error: two flows are called `up2`
  --> a.toml:25:8
18 | name = \"up\"
   |        ^^^^ first here
...
25 | name = \"up2\"
   |        ^^^^^ again here
",
    );
}

#[test]
fn a_duplicate_key() {
    refused(
        &uploads("warm_up = \"5 s\"", "duration = \"50 s\""),
        &[],
        "
error: `duration` is set twice
 --> a.toml:4:1
3 | duration = \"100 s\"
  | ^^^^^^^^ first here
4 | duration = \"50 s\"
  | ^^^^^^^^ again here
",
    );
}

#[test]
fn a_file_that_is_not_text() {
    for bytes in [&b"\x7fELF\x02\x01\0\0"[..], b"caf\xe9 = 1", &[b' '; 4_000_001]] {
        assert_eq!(Source::from_bytes("a.toml", bytes).unwrap_err().0.len(), 1);
    }
}

#[test]
fn a_warm_up_that_leaves_nothing() {
    refused(
        &uploads("\"5 s\"", "\"100 s\""),
        &[],
        "
error: `warm_up` leaves nothing to measure
 --> a.toml:4:11
3 | duration = \"100 s\"
  |            ^^^^^^^ the whole run
4 | warm_up = \"100 s\"
  |           ^^^^^^^ not below `duration`
",
    );
}

#[test]
fn an_end_that_nobody_is() {
    refused(
        &uploads("station = \"sta\"", "station = \"sat\"\nserver = \"sta\""),
        &[],
        "
error: unknown station `sat`
  --> a.toml:19:11
19 | station = \"sat\"
   |           ^^^^^ did you mean `sta`?

error: `sta` is the name of a station
  --> a.toml:20:10
20 | server = \"sta\"
   |          ^^^^^ write a server
",
    );
    refused(
        &uploads("station = \"sta\"", "station = \"sta9\""),
        &[],
        "
error: unknown station `sta9`
  --> a.toml:19:11
19 | station = \"sta9\"
   |           ^^^^^^ did you mean `sta`?
",
    );
}

#[test]
fn a_flow_without_ends_or_with_too_many() {
    refused(
        &uploads("station = \"sta\"", ""),
        &[],
        "
error: the flow has no ends
  --> a.toml:18:8
18 | name = \"up\"
   |        ^^^^ write station = \"...\", or from and to
",
    );
    refused(
        &uploads("station = \"sta\"", "station = \"sta\"\nto = \"server\""),
        &[],
        "
error: `station` and `to` exclude each other
  --> a.toml:20:6
19 | station = \"sta\"
   |           ^^^^^ or `station` and `server`
20 | to = \"server\"
   |      ^^^^^^^^ either `from` and `to`
",
    );
}

#[test]
fn a_rate_that_the_standard_does_not_have() {
    refused(
        &uploads("\"802.11b\"", "\"802.11g\"\ndata_rate = \"22 Mb/s\""),
        &[],
        "
error: 802.11g has no rate of 22 Mb/s
 --> a.toml:8:13
8 | data_rate = \"22 Mb/s\"
  |             ^^^^^^^^^ one of 1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54 Mb/s; any other needs \
nonstandard_rates = true in [wlan]
",
    );
}

#[test]
fn rates_beside_the_standard_need_a_key_that_says_so() {
    for (standard, rate) in [("802.11b", "54 Mb/s"), ("802.11b", "7 Mb/s"), ("802.11a", "54.9 Mb/s")] {
        let keys = format!("\"{standard}\"\ndata_rate = \"{rate}\"");
        let refused = Scenario::parse(&uploads("\"802.11b\"", &keys), "a.toml", &[]).expect_err("no such rate");
        assert!(refused.to_string().contains("nonstandard_rates = true"), "{refused}");
    }
    for (standard, rate) in [("802.11b", "54 Mb/s"), ("802.11a", "27 Mb/s")] {
        let keys = format!("\"{standard}\"\nnonstandard_rates = true\ndata_rate = \"{rate}\"");
        Scenario::parse(&uploads("\"802.11b\"", &keys), "a.toml", &[]).unwrap_or_else(|why| panic!("{why}"));
    }
    let keys = "\"802.11a\"\nnonstandard_rates = true\ndata_rate = \"54.9 Mb/s\"";
    let refused = Scenario::parse(&uploads("\"802.11b\"", keys), "a.toml", &[]).expect_err("no whole bits");
    assert!(refused.to_string().contains("a multiple of 250 kb/s"), "{refused}");
}

/// `UPLOADS` in 802.11n with these keys, and with these keys of the stations.
fn older(wlan: &str, stations: &str) -> Result<Scenario, Problems> {
    let text = uploads("\"802.11b\"", &format!("\"802.11n\"\n{wlan}"));
    read(&text.replacen("count = 8", &format!("count = 8\n{stations}"), 1), &[])
}

/// A station of 802.11b has the rates of DSSS and CCK also beside 802.11n, and none of OFDM.
#[test]
fn the_rate_of_an_older_station_is_one_of_its_own_standard() {
    let at = |standard: &str, band: &str, rate: &str| {
        older(&format!("band = \"{band}\""), &format!("standard = \"{standard}\"\ndata_rate = \"{rate}\""))
    };
    for rate in ["1 Mb/s", "2 Mb/s", "5.5 Mb/s", "11 Mb/s"] {
        at("802.11b", "2.4 GHz", rate).unwrap_or_else(|why| panic!("{why}"));
    }
    for (standard, band, rate) in [
        ("802.11b", "2.4 GHz", "54 Mb/s"),
        ("802.11b", "2.4 GHz", "7 Mb/s"),
        ("802.11g", "2.4 GHz", "7 Mb/s"),
        ("802.11a", "5 GHz", "11 Mb/s"),
    ] {
        let refused = at(standard, band, rate).expect_err("no such rate").to_string();
        assert!(refused.contains(&format!("{standard} has no rate of {rate}")), "{refused}");
    }
    at("802.11g", "2.4 GHz", "54 Mb/s").unwrap_or_else(|why| panic!("{why}"));
    at("802.11a", "5 GHz", "6 Mb/s").unwrap_or_else(|why| panic!("{why}"));
}

/// The message names the standard of the group, and a key that it has.
#[test]
fn keys_that_an_older_station_does_not_have() {
    for (key, note) in [
        ("mcs = 3", "write `data_rate`"),
        ("streams = 2", "write `data_rate`"),
        ("cw_min = 7", "leave it out"),
        ("edca.vo.aifsn = 3", "older stations have no access categories"),
    ] {
        let refused = older("", &format!("standard = \"802.11a\"\n{key}")).expect_err("no such key").to_string();
        let name = key.split([' ', '.']).next().unwrap();
        assert!(refused.contains(&format!("`{name}` does not apply to 802.11a")), "{refused}");
        assert!(refused.contains(note), "{refused}");
    }
    let refused = older("", "cw_min = 7").expect_err("no such key").to_string();
    assert!(refused.contains("does not apply to 802.11n") && refused.contains("`edca.be.cw_min`"), "{refused}");
}

/// A CTS-to-self at an OFDM rate does not protect from 802.11b stations; without such stations it does no harm.
#[test]
fn protection_that_the_oldest_stations_cannot_read() {
    let at = |rate: &str, standard: &str| {
        older(&format!("band = \"2.4 GHz\"\nprotection = \"{rate}\""), &format!("standard = \"{standard}\""))
    };
    let refused = at("6 Mb/s", "802.11b").expect_err("no such CTS").to_string();
    assert!(refused.contains("the 802.11b stations `sta` cannot read a CTS at 6 Mb/s"), "{refused}");
    at("5.5 Mb/s", "802.11b").unwrap_or_else(|why| panic!("{why}"));
    at("6 Mb/s", "802.11g").unwrap_or_else(|why| panic!("{why}"));
}

/// Values that no element of the standard can hold: a CTS at a rate of another band (clauses 16 and 17), a minimum MPDU
/// start spacing between the powers of two (table 9-163), a window whose exponent has more than four bits (9.4.2.29).
#[test]
fn values_that_the_standard_cannot_express() {
    for (key, message) in [
        ("protection = \"2 Mb/s\"", "802.11n has no rate of 2 Mb/s"),
        ("protection = \"7 Mb/s\"\nband = \"2.4 GHz\"", "802.11n has no rate of 7 Mb/s"),
        ("aggregation.min_start_spacing = \"3 us\"", "must be 0 us, 250 ns, 500 ns, 1 us, 2 us, 4 us, 8 us or 16 us"),
        ("edca.bk.cw_max = 65535", "`cw_max` is 65535, which no EDCA parameter set can announce"),
    ] {
        let refused = older(key, "").expect_err("no such value").to_string();
        assert!(refused.contains(message), "{refused}");
    }
    for key in ["protection = \"2 Mb/s\"\nband = \"2.4 GHz\"", "edca.bk.cw_max = 65535\nnonstandard_windows = true"] {
        older(key, "").unwrap_or_else(|why| panic!("{why}"));
    }
}

/// Stations from before HT read no greenfield preamble (10.26.3), so a CTS-to-self must precede it.
#[test]
fn greenfield_beside_older_stations_needs_protection() {
    let refused = older("greenfield = true", "standard = \"802.11a\"").expect_err("not protected").to_string();
    assert!(refused.contains("the stations `sta` cannot read the greenfield format"), "{refused}");
    for (wlan, stations) in [
        ("greenfield = true", ""),
        ("greenfield = true\nprotection = \"6 Mb/s\"", "standard = \"802.11a\""),
        ("greenfield = true\nband = \"2.4 GHz\"", "standard = \"802.11b\""),
    ] {
        older(wlan, stations).unwrap_or_else(|why| panic!("{why}"));
    }
}

/// The EDCA Parameter Set element (9.4.2.28): an AIFSN of 1 for access points alone, TXOP limits up to 65535 * 32 us.
#[test]
fn access_parameters_that_cannot_be_announced() {
    for (wlan, stations, path) in [
        ("edca.be.aifsn = 1", "", "stations cannot have an AIFSN of 1"),
        ("", "edca.vo.aifsn = 1", "stations cannot have an AIFSN of 1"),
        ("edca.be.txop = \"10 s\"", "", "no TXOP limit of 10 s"),
        ("", "edca.bk.txop = \"2097121 us\"", "no TXOP limit of 2097121 us"),
    ] {
        let refused = older(wlan, stations).expect_err("must be refused").to_string();
        assert!(refused.contains(path), "{refused}");
    }
    let text = older("edca.be.aifsn = 2\nedca.be.txop = \"2097120 us\"\n[ap]\nedca.be.aifsn = 1", "");
    text.unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn a_workload_without_a_size_names_its_key() {
    for name in ["web", "poisson"] {
        let keys = format!("tcp.cc = \"newreno\"\nworkload = \"{name}\"");
        let keys = if name == "poisson" { format!("{keys}\npoisson.interval = \"1 s\"") } else { keys };
        let text = uploads("tcp.cc = \"newreno\"", &keys);
        let refused = Scenario::parse(&text, "a.toml", &[]).expect_err("a size is missing");
        assert!(refused.to_string().contains(&format!("write {name}.size = \"30 kB\"")), "{refused}");
    }
}

#[test]
fn a_packet_that_is_too_large() {
    refused(
        &uploads("tcp.cc = \"newreno\"", "tcp.mss = \"2300 B\""),
        &[],
        "
error: packets of 2340 B do not fit into a frame
  --> a.toml:20:11
20 | tcp.mss = \"2300 B\"
   |           ^^^^^^^^ at most 2296 B with headers
",
    );
    refused(
        &DUMBBELL.replace(
            "from = \"src\"",
            "transport = 'udp'\nudp = { rate = '1 Mb/s', payload = '65507 B', header = '40 B' }\nfrom = 'src'",
        ),
        &[],
        "
error: a datagram above 65535 B
  --> a.toml:20:36
20 | udp = { rate = '1 Mb/s', payload = '65507 B', header = '40 B' }
   |                                    ^^^^^^^^^ 65507 B
   |                                                        ^^^^^^ 40 B of headers
",
    );
}

#[test]
fn a_way_that_does_not_exist() {
    refused(
        &DUMBBELL.replace("from = \"left\"", "from = \"src1\""),
        &[],
        "
error: no path from `src2` to `dst2`
  --> a.toml:17:1
17 | [[flows]]
   | ^^^^^^^^^ join them by [[links]]
",
    );
    refused(
        &DUMBBELL.replace(", at = \"right\"", ""),
        &[],
        "
error: server `dst` is joined to nothing
 --> a.toml:4:63
4 | servers = [{ name = \"src\", count = 2, at = \"left\" }, { name = \"dst\", count = 2 }]
  |                                                               ^^^^^ write at = \"...\", or a link to it
",
    );
}

#[test]
fn schema_reference_and_catalogue_hold_what_there_is() {
    let schema = schema();
    for key in ["\"standard\"", "\"802.11g\"", "\"receive_window\"", "\"vegas-fair\"", "\"las\""] {
        assert!(schema.contains(key), "{key} is missing in the schema");
    }
    let reference = reference();
    assert!(reference.contains("| `cw_min` | whole number; at most 65535 | `31`, by standard |"), "{reference}");
    let items = catalogue();
    let vegas = items.iter().find(|item| item.name == "vegas").expect("Vegas can be chosen");
    assert!(vegas.source.is_some() && !vegas.summary.is_empty());
    for name in ["802.11a", "las", "pareto", "udp", "ns2"] {
        assert!(items.iter().any(|item| item.name == name), "{name} is missing in the catalogue");
    }
}
