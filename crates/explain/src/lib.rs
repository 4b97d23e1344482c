//! What happened in a run, a saved result, a point of a sweep or a capture, and why, in sentences with their figures.
//!
//! A sentence is a rule ([`RULES`]): it says what it claims, which evidence it needs, and what would refute it. A
//! [`Fact`] is a sentence about one input: its text, the figures that it rests on, and the conditions that they must
//! meet. [`explain`] gives only facts whose figures meet their conditions. Nothing here knows how results are shown:
//! the command, Python, reports and the page print the same facts.
//!
//! ```
//! use wifair_explain::{Evidence, explain};
//! use wifair_sim::{RunOptions, run, scenario::Scenario};
//!
//! let text = r#"
//!     duration = "5 s"
//!     wlan.standard = "802.11b"
//!     servers = [{ name = "server", delay = "10 ms" }]
//!     stations = [{ name = "sta" }]
//!     flows = [{ name = "up", station = "sta" }]
//! "#;
//! let scenario = Scenario::parse(text, "upload.toml", &[]).unwrap();
//! let outcome = run(&scenario, 1, &RunOptions::default());
//! let facts = explain(&Evidence::of_outcomes(&scenario, &[outcome]));
//! assert!(facts[0].text.starts_with("up gets "));
//! ```

#![allow(clippy::cast_precision_loss)] // counts here are far below 2^53

mod fact;
mod rules;
mod table;
pub mod trial;
mod view;
mod words;

pub use fact::{Condition, Fact, Relation};
pub use rules::{ExplanationRule, RULES};
pub use table::{Evidence, FigureColumn, FigureTable};

/// The facts that the evidence supports, the most important first; advice only where the scenario allows it and does
/// not follow it already.
pub fn explain(evidence: &Evidence) -> Vec<Fact> {
    let view = view::View::new(evidence);
    let mut facts = vec![];
    for rule in RULES {
        for mut fact in (rule.tell)(&view) {
            fact.rule = rule.name;
            if fact.holds() {
                facts.push(fact);
            }
        }
    }
    if let Some(scenario) = &evidence.scenario {
        let mut known: std::collections::BTreeMap<String, bool> = std::collections::BTreeMap::new();
        for fact in &mut facts {
            fact.advice.retain(|change| {
                *known.entry(change.clone()).or_insert_with(|| trial::changed(scenario, &[change]).is_ok())
            });
        }
    }
    facts
}
