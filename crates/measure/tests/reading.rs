//! How plans are read, and their error messages.

use wifair_config::{Override, Source};
use wifair_measure::{MeasuredTransfer, MeasurementPlan, TransferDirection, TransportProtocol};
use wifair_units::{BitRate, Bytes, Duration};

fn read(text: &str) -> Result<MeasurementPlan, String> {
    MeasurementPlan::read(Source::file("p.toml", text), &[]).map_err(|problems| problems.to_string())
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let problems = read(text).expect_err("must be refused");
    assert_eq!(problems, expected.strip_prefix('\n').unwrap_or(expected), "\n--- got\n{problems}");
}

const TWO: &str = "[transfer]\nsize = '15 MB'\n[[stations]]\nname = 'a'\n[[stations]]\nname = 'b'\ncount = 2\n";

fn with_flows(case: &str) -> String {
    format!("{TWO}[[cases]]\nname = 'c'\n{case}")
}

/// The paper's study: one or two stations at A or B, two directions, RTS on or off, five times.
#[test]
fn the_study_of_kemerlis2006_has_sixteen_cases() {
    let plan = read(include_str!("../../../examples/measure/kemerlis2006.toml")).unwrap();
    assert_eq!(plan.cases.len(), 4 * 2 * 2);
    assert_eq!(plan.file.repetitions, 5);
    assert_eq!(plan.stations, ["ares", "apollo"]);
    let last = &plan.cases[15];
    assert_eq!(last.name, "A and B, down, RTS 200 B");
    assert_eq!(last.rts_threshold, Some(Bytes(200)));
    let flow = &last.flows[1];
    assert_eq!((flow.name.as_str(), flow.direction), ("apollo", TransferDirection::Down));
    let expected = MeasuredTransfer {
        transport: Some(TransportProtocol::Tcp),
        size: Some(Bytes(15 * 1024 * 1024)),
        cc: Some("reno".into()),
        mss: Some(Bytes(1460)),
        ..MeasuredTransfer::default()
    };
    assert_eq!(flow.transfer, expected);
    assert_eq!(plan.cases[flow.alone.unwrap()].name, "one at B, down, RTS 200 B");
    assert_eq!(plan.cases[last.flows[0].alone.unwrap()].name, "one at A, down, RTS 200 B");
}

#[test]
fn groups_are_taken_apart_and_flows_numbered() {
    let text = with_flows("flows = [{ station = 'b', name = 'up', direction = 'up', count = 2 }]");
    let plan = read(&text).unwrap();
    let flows: Vec<_> = plan.cases[0].flows.iter().map(|f| (f.name.as_str(), f.station.as_str())).collect();
    assert_eq!(flows, [("up1", "b1"), ("up2", "b1"), ("up3", "b2"), ("up4", "b2")]);
    assert_eq!(plan.stations, ["b1", "b2"], "who has no flow need not come");
    let text = with_flows("directions = ['down']\nflows = [{ station = 'b' }, { station = 'a', count = 2 }]");
    let plan = read(&text).unwrap();
    let names: Vec<_> = plan.cases[0].flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["b1", "b2", "a-1", "a-2"]);
    assert_eq!(plan.cases[0].name, "c");
}

#[test]
fn a_flow_goes_before_the_transfer_of_all() {
    let text = with_flows(
        "flows = [{ station = 'a', direction = 'up', duration = '10 s', cc = 'cubic', send_buffer = '64 KiB' },\n\
         { name = 'u', station = 'a', direction = 'down', transport = 'udp', rate = '2 Mb/s', start = '1 s' }]",
    );
    let flows = &read(&text).unwrap().cases[0].flows;
    let tcp = MeasuredTransfer {
        transport: Some(TransportProtocol::Tcp),
        duration: Some(Duration::from_secs(10)),
        cc: Some("cubic".into()),
        send_buffer: Some(Bytes(65_536)),
        ..MeasuredTransfer::default()
    };
    let udp = MeasuredTransfer {
        transport: Some(TransportProtocol::Udp),
        size: Some(Bytes(15_000_000)),
        rate: Some(BitRate::from_mbps(2)),
        payload: Some(Bytes(1472)),
        ..MeasuredTransfer::default()
    };
    assert_eq!((&flows[0].transfer, &flows[1].transfer), (&tcp, &udp));
    assert_eq!(flows[1].start, Duration::from_secs(1));
}

#[test]
fn the_case_alone_is_found_where_there_is_one_of_its_kind() {
    let text = format!(
        "{TWO}[[cases]]\nname = 'one'\ndirections = ['up', 'down']\nflows = [{{ station = 'a' }}]\n\
         [[cases]]\nname = 'all'\ndirections = ['up', 'down']\nflows = [{{ station = 'a' }}, {{ station = 'b' }}]"
    );
    let plan = read(&text).unwrap();
    let alone = |case: usize, flow: usize| plan.cases[case].flows[flow].alone;
    assert_eq!((alone(2, 0), alone(3, 0)), (Some(0), Some(1)));
    assert_eq!((alone(0, 0), alone(2, 1)), (None, None));
}

#[test]
fn overrides_reach_the_plan() {
    let text = with_flows("flows = [{ station = 'a', direction = 'up' }]");
    let overrides = [Override::set("transfer.size=1 MB"), Override::set("repetitions=2")];
    let plan = MeasurementPlan::read(Source::file("p.toml", &text), &overrides).unwrap();
    assert_eq!(plan.cases[0].flows[0].transfer.size, Some(Bytes(1_000_000)));
    assert_eq!(plan.file.repetitions, 2);
}

#[test]
fn json_has_base_units() {
    let text = with_flows(
        "rts_thresholds = ['200 B']\ncapacity = '5 Mb/s'\nflows = [{ station = 'a', direction = 'up', start = '1500 us' }]",
    );
    let json = read(&format!("pause = '1 min'\n{text}")).unwrap().to_json().to_string();
    for part in [
        "\"pause_s\": 60.000000000",
        "\"start_s\": 0.001500000",
        "\"size\": 15000000",
        "\"rts_threshold\": 200",
        "\"capacity_bps\": 5000000",
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
}

#[test]
fn keys_and_units_are_checked_as_in_a_scenario() {
    refused(
        "repetition = 3\npause = 2\n[transfer]\nsize = '1 MB'\nduration = '2 s'\nmss = '70000 B'\ncc = 'new reno'\n",
        r#"
error: unknown key `repetition`
 --> p.toml:1:1
1 | repetition = 3
  | ^^^^^^^^^^ did you mean `repetitions`?

error: `pause` has no unit
 --> p.toml:2:9
2 | pause = 2
  |         ^ write "2 ms" or "2 us"

error: `mss` is 70000 B
 --> p.toml:6:7
6 | mss = '70000 B'
  |       ^^^^^^^^^ must be from 88 B to 32767 B, as Linux has it

error: `cc` is new reno
 --> p.toml:7:6
7 | cc = 'new reno'
  |      ^^^^^^^^^^ must be a name of letters, digits, - and _, at most 15 long
"#,
    );
    refused(
        "[transfer]\nsize = '1 MB'\nduration = '2 s'\n",
        r#"
error: `size` and `duration` exclude each other
 --> p.toml:3:12
2 | size = '1 MB'
  |        ^^^^^^ or this
3 | duration = '2 s'
  |            ^^^^^ either this
"#,
    );
}

#[test]
fn names_that_lead_nowhere_are_shown_where_they_stand() {
    refused(
        &with_flows("flows = [{ station = 'bb', direction = 'up' }, { station = 'a', direction = 'up', alone = 'd' }]"),
        r#"
error: unknown station `bb`
  --> p.toml:10:22
10 | flows = [{ station = 'bb', direction = 'up' }, { station = 'a', direction = 'up', alone = 'd' }]
   |                      ^^^^ did you mean `b`?
"#,
    );
    refused(
        &with_flows("flows = [{ station = 'a', direction = 'up', alone = 'd' }]"),
        r#"
error: unknown case `d`
  --> p.toml:10:53
10 | flows = [{ station = 'a', direction = 'up', alone = 'd' }]
   |                                                     ^^^ the only one is `c`
"#,
    );
}

#[test]
fn what_cannot_be_run_is_refused() {
    let flow = |keys: &str| with_flows(&format!("flows = [{{ station = 'a', direction = 'up', {keys} }}]"));
    for (text, message) in [
        (String::new(), "there is nothing to measure"),
        (with_flows(""), "case `c` has no flows"),
        (with_flows("flows = [{ station = 'a' }]"), "the flows have no direction"),
        (with_flows("directions = ['up', 'up']\nflows = [{ station = 'a' }]"), "`directions` has up twice"),
        (flow("duration = '11 min'"), "the flow ends 660 s after the start at the earliest"),
        (flow("rate = '1 Mb/s'"), "`rate` is for UDP"),
        (flow("transport = 'udp'"), "UDP needs a rate"),
        (flow("transport = 'udp', rate = '1 Mb/s', cc = 'reno'"), "`cc` is for TCP"),
        (flow("sessions = { size = '10 kB', every = '1 s', count = 600 }"), "the flow ends 600 s after the start"),
        (
            with_flows("directions = ['up']\nrts_thresholds = ['3000 B']\nflows = [{ station = 'a' }]"),
            "an RTS threshold of 3000 B",
        ),
        (
            with_flows("flows = [{ station = 'a', direction = 'up' }, { station = 'a', direction = 'down' }]"),
            "two flows of case `c` are called `a`",
        ),
        (flow("").replace("'b'", "'../b'"), "`../b` is no name of a station"),
        (flow("").replace("'b'", "'a'").replace("count = 2", "count = 1"), "two stations are called `a`"),
        (
            flow("") + "\n[[cases]]\nname = 'c'\nflows = [{ station = 'a', direction = 'up' }]",
            "two cases are called `c`",
        ),
        (flow("").replace("size = '15 MB'", "cc = 'reno'"), "the flow has nothing to transfer"),
        (
            flow("count = 256") + "\n[[cases]]\nname = 'd'\nflows = [{ station = 'b', direction = 'up', count = 129 }]",
            "more than 256 flows at the same time",
        ),
    ] {
        let problems = read(&text).expect_err(&text);
        assert!(problems.contains(message), "{message} in:\n{problems}");
        assert_eq!(problems.matches("error: ").count(), 1, "one problem for one mistake:\n{problems}");
    }
}
