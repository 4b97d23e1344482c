//! What the page of `wifair lab` asks of the core, the same in the browser and on a server: JSON in, JSON and columns
//! out.
//!
//! [`Lab::ask`] takes a request as JSON, with what is wanted in `ask`:
//!
//! | `ask` | besides | gives |
//! |---|---|---|
//! | `describe` | | version, number of the core's sources, schema, catalogue |
//! | `check` | `text`, `name` | what the scenario is, with all defaults; or `problems` |
//! | `edit` | `text`, `path`, `value` | `text` with the key at `path` set; without `value` removed |
//! | `begin` | `text`, `name`, `seed`, `samples`, `frames` | a run, which takes the place of the one before |
//! | `advance` | `until_ns`, `most_events`, `frames` | how far the run is |
//! | `columns` | | what the run has measured until now, as columns |
//! | `change` | as `edit`, `begin` and `advance` | all of these at once: a slider that moves waits for one reply |
//!
//! A reply is eight bytes with the length of its head, lowest first; the head, JSON with spaces behind it; and the
//! columns. The head says where each column begins behind it: numbers are of eight bytes, texts are of four bytes and
//! count in the list that the head has for them. A request that cannot be answered gives `error`.

mod check;
mod columns;
mod edit;
mod session;

use serde_json::{Value, json};
use wifair_config::Problems;
use wifair_sim::scenario;

use columns::Reply;
use session::Session;

/// Answers requests; holds the run that was begun last.
#[derive(Debug, Default)]
pub struct Lab {
    session: Option<Session>,
}

impl Lab {
    /// Answers a request; see the [module](self).
    #[must_use]
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
            "begin" => match Session::begin(request)? {
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
            other => Err(format!("`{other}` is no request")),
        }
    }
}

impl Lab {
    /// Edits the text if the request has a `path`, checks it, begins its run, and takes that on as far as asked.
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
        let mut session = Session::of(&scenario, request)?;
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

/// A whole number; as text where it may be above 2^53, which JSON in a browser cannot hold.
fn count(request: &Value, key: &str) -> Result<u64, String> {
    let value = request.get(key);
    value
        .and_then(|value| value.as_u64().or_else(|| value.as_str()?.parse().ok()))
        .ok_or_else(|| format!("the request has no whole number `{key}`"))
}
