//! Runs and their facts.

use wifair_config::Override;
use wifair_explain::{Evidence, Fact, explain};
use wifair_sim::record::{FlowOutcome, Outcome, StationOutcome};
use wifair_sim::scenario::Scenario;
use wifair_sim::{RunOptions, run};

/// Runs of a scenario and what is said of them together.
pub struct Told {
    pub scenario: Scenario,
    pub outcomes: Vec<Outcome>,
    pub facts: Vec<Fact>,
}

pub fn told(text: &str, changes: &[&str], seeds: &[u64]) -> Told {
    let overrides: Vec<Override> = changes.iter().map(|change| Override::set(change)).collect();
    let scenario = Scenario::parse(text, "test.toml", &overrides).unwrap_or_else(|problems| panic!("{problems}"));
    of(scenario, seeds)
}

pub fn of(scenario: Scenario, seeds: &[u64]) -> Told {
    let outcomes: Vec<Outcome> = seeds.iter().map(|seed| run(&scenario, *seed, &RunOptions::default())).collect();
    let facts = explain(&Evidence::of_outcomes(&scenario, &outcomes));
    Told { scenario, outcomes, facts }
}

impl Told {
    /// The fact of a rule, if it is said.
    pub fn fact(&self, rule: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.rule == rule)
    }

    /// The fact of a rule, which has to be said.
    pub fn say(&self, rule: &str) -> &Fact {
        self.fact(rule).unwrap_or_else(|| panic!("nothing is said by {rule}:\n{}", self.text()))
    }

    /// All sentences.
    pub fn text(&self) -> String {
        self.facts.iter().map(|fact| format!("{}: {}\n", fact.rule, fact.text)).collect()
    }

    pub fn flows(&self) -> &[FlowOutcome] {
        &self.outcomes[0].flows
    }

    pub fn station(&self, name: &str) -> &StationOutcome {
        self.outcomes[0].stations.iter().find(|station| station.name == name).expect("a station of this name")
    }
}

/// The text of a lesson of the lab.
pub fn lesson(name: &str) -> String {
    let path = format!("{}/../../lab/lessons/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
