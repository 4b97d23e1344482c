//! Parses the text of a scenario for the page: the checked scenario, or its problems.

use serde_json::{Map, Value, json};
use wifair_config::{Origin, Override, Plain, Problem, Problems, Source, Table};
use wifair_sim::scenario::Scenario;

/// Parses a scenario as `wifair run` does, but refuses classes in Python and files of traces: the lab has neither.
///
/// # Errors
/// All problems in the text, each with its place.
pub fn parse(text: &str, name: &str, overrides: &[Override]) -> Result<Scenario, Problems> {
    let source = Source::from_bytes(name, text.as_bytes())?;
    let scenario = Scenario::parse_with(source, overrides, &mut |_| {
        Err("no files can be read here: write its rows into the scenario".to_owned())
    })?;
    if let Some((class, _)) = scenario.classes().first() {
        let message = format!("`{class}` is a class in Python, which the lab cannot run");
        return Err(Problem::of_file(name, &message, "choose one of `wifair list`, or use `wifair run`").into());
    }
    Ok(scenario)
}

/// The scenario as JSON for the page: a description, all keys with defaults filled in, and the keys that the text sets;
/// or its problems.
pub fn check(text: &str, name: &str) -> Value {
    match parse(text, name, &[]) {
        Ok(scenario) => checked(&scenario),
        Err(problems) => problems_json(&problems),
    }
}

/// A parsed scenario as JSON for the page; see [`check`].
pub fn checked(scenario: &Scenario) -> Value {
    let network = &scenario.network;
    let flows: Vec<Value> = network
        .flows
        .iter()
        .map(|flow| {
            let (from, to) = (scenario.name_of(flow.from), scenario.name_of(flow.to));
            json!({ "name": flow.name, "from": from, "to": to, "group": flow.group })
        })
        .collect();
    let nodes: Vec<&str> = network.aps.iter().chain(&network.stations).map(|member| member.name.as_str()).collect();
    let seeds: Vec<String> = scenario.file.seeds.list().iter().map(u64::to_string).collect();
    json!({
        "name": scenario.file.name,
        "duration_s": scenario.file.duration.nearest_secs(),
        "warm_up_s": scenario.file.warm_up.nearest_secs(),
        "standard": scenario.file.wlan.as_ref().map(|wlan| wlan.standard.name()),
        "seeds": seeds,
        "hash": scenario.hash(),
        "nodes": nodes,
        "flows": flows,
        "resolved": scenario.to_toml(),
        "tree": to_json(&scenario.file.to_plain()),
    })
}

fn to_json(plain: &Plain) -> Value {
    match plain {
        Plain::Bool(value) => json!(value),
        // JavaScript numbers are exact up to 2^53 only.
        Plain::Integer(value) if value.unsigned_abs() < 1 << 53 => json!(*value as i64),
        Plain::Integer(value) => json!(value.to_string()),
        Plain::Float(value) => json!(value),
        Plain::Text(value) => json!(value),
        Plain::List(items) => items.iter().map(to_json).collect(),
        Plain::Table(entries) => Value::Object(
            entries
                .iter()
                .filter(|(_, value)| *value != Plain::Absent)
                .map(|(key, value)| (key.clone(), to_json(value)))
                .collect::<Map<_, _>>(),
        ),
        Plain::Absent => Value::Null,
    }
}

/// The problems as JSON, each with its place, and the whole list as the command line prints it.
pub fn problems_json(problems: &Problems) -> Value {
    let list: Vec<Value> = problems
        .0
        .iter()
        .map(|problem| {
            let place = problem.spots.iter().find_map(|spot| match &spot.origin {
                Origin::File { line, column, .. } => Some((*line, *column, spot.width)),
                Origin::Option { .. } => None,
            });
            json!({ "message": problem.message, "key": problem.key, "line": place.map(|p| p.0),
                    "column": place.map(|p| p.1), "width": place.map(|p| p.2) })
        })
        .collect();
    json!({ "problems": list, "text": problems.to_string() })
}
