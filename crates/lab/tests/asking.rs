//! Requests and replies of the lab page.

use serde_json::{Value, json};
use wifair_lab::Lab;
use wifair_sim::{RunOptions, run, scenario::Scenario};
use wifair_units::Duration;

const TEXT: &str = r#"
duration = "6 s"
warm_up = "1 s"
wlan.standard = "802.11b"
[[servers]]
name = "server"
delay = "10 ms"
[[stations]]
name = "sta"
count = 3
[[flows]]
name = "up"
station = "sta"
"#;

fn ask(lab: &mut Lab, request: &Value) -> (Value, Vec<u8>) {
    let reply = lab.ask(request.to_string().as_bytes());
    let size = usize::try_from(u64::from_le_bytes(reply[..8].try_into().unwrap())).unwrap();
    assert_eq!(size % 8, 0);
    (serde_json::from_slice(&reply[8..8 + size]).unwrap(), reply[8 + size..].to_vec())
}

fn column(head: &Value, body: &[u8], table: &str, name: &str) -> Vec<f64> {
    let table = &head["tables"][table];
    if table["rows"] == 0 {
        return vec![];
    }
    let column = table["columns"].as_array().unwrap().iter().find(|column| column["name"] == name).unwrap();
    let at = usize::try_from(column["at"].as_u64().unwrap()).unwrap();
    let rows = usize::try_from(table["rows"].as_u64().unwrap()).unwrap();
    body[at..at + 8 * rows].chunks(8).map(|word| f64::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The results are those of an ordinary run, however the page divides it into steps, with recorded frames or without.
#[test]
fn a_run_in_pieces_gives_what_a_run_gives() {
    let scenario = Scenario::parse(TEXT, "a.toml", &[]).unwrap();
    let outcome =
        run(&scenario, 7, &RunOptions { sample_every: Some(Duration::from_millis(100)), ..RunOptions::default() });
    let expected: Vec<f64> = outcome.flows.iter().map(|flow| flow.goodput_bps).collect();
    for frames in [Value::Null, json!({ "from_ns": 2_000_000_000_u64, "to_ns": 3_000_000_000_u64, "most": 100_000 })] {
        let mut lab = Lab::default();
        let begin = json!({ "ask": "begin", "text": TEXT, "seed": "7", "samples": 60, "frames": frames });
        assert_eq!(ask(&mut lab, &begin).0["over"], false);
        for until in [1_u64, 777_777_777, 2_500_000_000, 6_000_000_000] {
            ask(&mut lab, &json!({ "ask": "advance", "until_ns": until }));
        }
        let (head, body) = ask(&mut lab, &json!({ "ask": "columns" }));
        assert_eq!(head["over"], true);
        assert_eq!(column(&head, &body, "flows", "goodput_bps"), expected);
        assert_eq!(column(&head, &body, "series", "cwnd"), outcome.series.as_ref().unwrap().cwnd);
        let starts = column(&head, &body, "frames", "start_s");
        assert_eq!(starts.is_empty(), frames.is_null());
        assert!(starts.iter().all(|start| *start < 3.0));
    }
}

/// Frames of a later interval can be requested without a new run, and equal those that a new run records.
#[test]
fn later_frames_are_those_of_a_new_run() {
    let window = |from: u64, to: u64| json!({ "from_ns": from, "to_ns": to, "most": 100_000 });
    let begin = |frames: Value| json!({ "ask": "begin", "text": TEXT, "seed": 7, "samples": 60, "frames": frames });
    let advance = |until: u64| json!({ "ask": "advance", "until_ns": until });
    let mut first = Lab::default();
    ask(&mut first, &begin(window(0, 1_000_000_000)));
    ask(&mut first, &advance(1_000_000_000));
    ask(
        &mut first,
        &json!({ "ask": "advance", "until_ns": 1_000_000_000_u64, "frames": window(2_000_000_000, 2_200_000_000) }),
    );
    ask(&mut first, &advance(2_200_000_000));
    let mut second = Lab::default();
    ask(&mut second, &begin(window(2_000_000_000, 2_200_000_000)));
    ask(&mut second, &advance(2_200_000_000));
    let columns = json!({ "ask": "columns" });
    let (one, two) = (ask(&mut first, &columns), ask(&mut second, &columns));
    let starts = column(&one.0, &one.1, "frames", "start_s");
    assert!(starts.len() > 100);
    assert_eq!(starts, column(&two.0, &two.1, "frames", "start_s"));
}

/// When the interval of recorded frames moves, the frames that are still in it are kept; nothing is simulated twice.
#[test]
fn a_window_that_moves_on_keeps_its_frames() {
    let window = |from: u64, to: u64| json!({ "from_ns": from, "to_ns": to, "most": 100_000 });
    let begin = |frames: Value| json!({ "ask": "begin", "text": TEXT, "seed": 7, "samples": 60, "frames": frames });
    let mut moved = Lab::default();
    ask(&mut moved, &begin(window(1_000_000_000, 2_000_000_000)));
    ask(&mut moved, &json!({ "ask": "advance", "until_ns": 2_000_000_000_u64 }));
    let next = window(1_500_000_000, 3_000_000_000);
    ask(&mut moved, &json!({ "ask": "advance", "until_ns": 3_000_000_000_u64, "frames": next }));
    let mut fresh = Lab::default();
    ask(&mut fresh, &begin(next));
    ask(&mut fresh, &json!({ "ask": "advance", "until_ns": 3_000_000_000_u64 }));
    let columns = json!({ "ask": "columns" });
    let (one, two) = (ask(&mut moved, &columns), ask(&mut fresh, &columns));
    for (table, name) in [("frames", "start_s"), ("frames", "end_s"), ("frames", "seq"), ("backoffs", "end_s")] {
        let expected = column(&two.0, &two.1, table, name);
        assert!(expected.len() > 100);
        assert_eq!(
            format!("{:?}", column(&one.0, &one.1, table, name)),
            format!("{expected:?}"),
            "{name} in {table}" // some are NaN
        );
    }
}

/// One `change` request gives the same as `edit`, `check`, `begin`, `advance` and `columns` one after the other.
#[test]
fn a_change_is_edit_check_run_and_columns_at_once() {
    let edit = json!({ "ask": "edit", "text": TEXT, "path": "stations[0].count", "value": "2" });
    let mut apart = Lab::default();
    let text = ask(&mut apart, &edit).0["text"].clone();
    let checked = ask(&mut apart, &json!({ "ask": "check", "text": text })).0;
    ask(&mut apart, &json!({ "ask": "begin", "text": text, "seed": 7, "samples": 60 }));
    ask(&mut apart, &json!({ "ask": "advance", "until_ns": 6_000_000_000_u64 }));
    let (head, body) = ask(&mut apart, &json!({ "ask": "columns" }));

    let change = |most: u64| {
        json!({ "ask": "change", "text": TEXT, "path": "stations[0].count", "value": "2", "seed": 7, "samples": 60,
                "until_ns": 6_000_000_000_u64, "most_events": most })
    };
    let mut together = Lab::default();
    let (all, columns) = ask(&mut together, &change(1_000_000_000));
    assert_eq!((&all["edited"], &all["checked"], &all["over"]), (&text, &checked, &json!(true)));
    assert_eq!((&all["tables"], columns), (&head["tables"], body.clone()));

    // A long run stops after the requested number of events and resumes on request.
    let (part, _) = ask(&mut together, &change(1000));
    assert_eq!(part["over"], json!(false));
    assert!(part["now_s"].as_f64().unwrap() > 0.0 && part["events"].as_u64().unwrap() >= 1000);
    ask(&mut together, &json!({ "ask": "advance", "until_ns": 6_000_000_000_u64 }));
    assert_eq!(ask(&mut together, &json!({ "ask": "columns" })).1, body);

    let wrong = json!({ "ask": "change", "text": TEXT, "path": "duration", "value": "7", "seed": 7, "samples": 60,
                        "until_ns": 1 });
    let (said, _) = ask(&mut together, &wrong);
    assert_eq!(said["problems"][0]["line"], 2);
    assert!(said["edited"].as_str().unwrap().contains("duration = 7\n"));
}

#[test]
fn wrong_requests_are_answered_with_an_error() {
    let mut lab = Lab::default();
    for request in
        ["", "no JSON", "{}", r#"{"ask":"dance"}"#, r#"{"ask":"columns"}"#, r#"{"ask":"begin","text":"","seed":-1}"#]
    {
        let reply = lab.ask(request.as_bytes());
        assert!(
            String::from_utf8_lossy(&reply).contains("\"error\"")
                || String::from_utf8_lossy(&reply).contains("problems"),
            "{request}"
        );
    }
    let begin = json!({ "ask": "begin", "text": TEXT, "seed": 1, "samples": 0 });
    assert!(ask(&mut lab, &begin).0["error"].is_string());
}

#[test]
fn what_is_wrong_with_a_scenario_comes_with_its_place() {
    let mut lab = Lab::default();
    let text = TEXT.replace("delay = \"10 ms\"", "delay = 10");
    let (head, _) = ask(&mut lab, &json!({ "ask": "check", "text": text, "name": "a.toml" }));
    assert_eq!((&head["problems"][0]["line"], &head["problems"][0]["column"]), (&json!(7), &json!(9)));
    assert!(head["text"].as_str().unwrap().contains("--> a.toml:7:9"));
    let python =
        TEXT.replace("station = \"sta\"", "station = \"sta\"\ntcp.cc = \"python\"\ntcp.python.class = \"a:B\"");
    let (head, _) = ask(&mut lab, &json!({ "ask": "check", "text": python }));
    assert!(head["problems"][0]["message"].as_str().unwrap().contains("class in Python"), "{head}");
}
