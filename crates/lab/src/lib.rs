//! The protocol between the page of `wifair lab` and the core, the same in a browser (WebAssembly) and on a server.
//!
//! [`Lab::ask`] takes a JSON request. Its key `ask` names the kind of request:
//!
//! | `ask` | further keys | reply |
//! |---|---|---|
//! | `describe` | | version, hash of the core's sources, schema, catalogue |
//! | `check` | `text`, `name` | a description of the scenario with all defaults; or `problems` |
//! | `edit` | `text`, `path`, `value` | `text` with the key at `path` set, or removed if there is no `value` |
//! | `begin` | `text`, `name`, `seed`, `samples`, `frames` | starts a run in place of the previous one |
//! | `advance` | `until_ns`, `most_events`, `frames` | the progress of the run |
//! | `columns` | | the results of the run up to now, as columns, and what they say in words (`facts`) |
//! | `try` | `text`, `name` | begins a trial of what may help the scenario, in place of the previous one |
//! | `try-on` | `most_events` | the progress of the trial; at its end a report of what helps |
//! | `change` | those of `edit`, `begin` and `advance` | all their replies and that of `columns`, for sliders |
//!
//! A reply consists of the length of its header (eight bytes, little-endian), the header (JSON, padded with spaces),
//! and the columns. The header gives the offset of each column from its own end. A number takes eight bytes; a string
//! takes four, its index in a list that the header contains. The reply to an invalid request has the key `error`.

mod check;
mod columns;
mod edit;
mod session;
mod trial;

use serde_json::{Value, json};
use wifair_config::Problems;
use wifair_sim::scenario;

use columns::Reply;
use session::LabRun;
use trial::LabTrial;

/// Answers requests, and holds the run that was started last.
#[derive(Debug, Default)]
pub struct Lab {
    session: Option<LabRun>,
    trial: Option<LabTrial>,
}

impl Lab {
    /// Answers a request; see the [module](self).
    pub fn ask(&mut self, request: &[u8]) -> Vec<u8> {
        let answer = serde_json::from_slice(request)
            .map_err(|why| format!("not a request: {why}"))
            .and_then(|request| self.answer(&request));
        answer.unwrap_or_else(|why| Reply::of(json!({ "error": why }))).encode()
    }

    fn answer(&mut self, request: &Value) -> Result<Reply, String> {
        match text(request, "ask")? {
            "describe" => Ok(Reply::of(describe())),
            "check" => Ok(Reply::of(check::check(text(request, "text")?, name(request)))),
            "edit" => {
                let value = request.get("value").and_then(Value::as_str);
                let edited = edit::edit(text(request, "text")?, text(request, "path")?, value);
                Ok(Reply::of(match edited {
                    Ok(text) => json!({ "text": text }),
                    Err(problems) => check::problems_json(&problems),
                }))
            }
            "begin" => match LabRun::begin(request)? {
                Ok(mut session) => {
                    let reply = session.progress();
                    self.session = Some(session);
                    Ok(Reply::of(reply))
                }
                Err(problems) => Ok(Reply::of(check::problems_json(&problems))),
            },
            "advance" => {
                let session = self.session.as_mut().ok_or("no run was begun")?;
                session.advance(request)?;
                Ok(Reply::of(session.progress()))
            }
            "columns" => Ok(self.session.as_mut().ok_or("no run was begun")?.columns()),
            "change" => self.change(request),
            "try" => match check::parse(text(request, "text")?, name(request), &[]) {
                Ok(scenario) => {
                    self.trial = Some(LabTrial::new(scenario));
                    Ok(Reply::of(json!({})))
                }
                Err(problems) => Ok(Reply::of(check::problems_json(&problems))),
            },
            "try-on" => {
                let trial = self.trial.as_mut().ok_or("no trial was begun")?;
                Ok(Reply::of(trial.advance(count(request, "most_events")?.max(1))))
            }
            other => Err(format!("`{other}` is no request")),
        }
    }
}

impl Lab {
    /// Edits the text if the request has a `path`, checks it, starts its run, and advances the run as requested.
    fn change(&mut self, request: &Value) -> Result<Reply, String> {
        let mut text = text(request, "text")?.to_owned();
        let failed = |text: &str, problems: &Problems| {
            Ok(Reply::of(check::problems_json(problems)).note("edited", Value::from(text)))
        };
        if let Some(path) = request.get("path").and_then(Value::as_str) {
            match edit::edit(&text, path, request.get("value").and_then(Value::as_str)) {
                Ok(edited) => text = edited,
                Err(problems) => return failed(&text, &problems),
            }
        }
        let scenario = match check::parse(&text, name(request), &[]) {
            Ok(scenario) => scenario,
            Err(problems) => return failed(&text, &problems),
        };
        let mut session = LabRun::of(&scenario, request)?;
        session.advance(request)?;
        let reply = session.columns().note("edited", Value::from(text)).note("checked", check::checked(&scenario));
        self.session = Some(session);
        Ok(reply)
    }
}

fn describe() -> Value {
    let catalogue: Vec<Value> = scenario::catalogue()
        .into_iter()
        .map(|item| {
            json!({ "key": item.key, "name": item.name, "summary": item.summary, "source": item.source,
                    "outline": item.outline })
        })
        .collect();
    let schema: Value = serde_json::from_str(&scenario::schema()).expect("the schema is JSON");
    json!({ "version": env!("CARGO_PKG_VERSION"), "source": env!("WIFAIR_SOURCE"), "schema": schema, "catalogue": catalogue })
}

fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str, String> {
    request.get(key).and_then(Value::as_str).ok_or_else(|| format!("the request has no text `{key}`"))
}

fn name(request: &Value) -> &str {
    request.get("name").and_then(Value::as_str).unwrap_or("scenario.toml")
}

/// A whole number. It may be written as a string, because numbers in a browser are exact up to 2^53 only.
fn count(request: &Value, key: &str) -> Result<u64, String> {
    let value = request.get(key);
    value
        .and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
        .ok_or_else(|| format!("the request has no whole number `{key}`"))
}
