//! A trial of what may help a scenario, which advances step by step.

use serde_json::{Value, json};
use wifair_explain::trial::{SEEDS, TrialFigures, TrialPlan, TrialReport, plan};
use wifair_explain::{Evidence, explain};
use wifair_sim::record::Outcome;
use wifair_sim::scenario::Scenario;
use wifair_sim::{Run, RunOptions};
use wifair_units::Duration;

/// The longest simulated time between two checks of the limit on events.
const PIECE: Duration = Duration::from_millis(250);

/// A trial in progress: first the scenario itself, whose facts decide what is tried, then one arm after the other.
#[derive(Debug)]
pub struct LabTrial {
    scenario: Scenario,
    first: Vec<Outcome>,
    plan: Option<TrialPlan>,
    figures: Vec<Vec<TrialFigures>>,
    run: Option<Run>,
}

impl LabTrial {
    /// The trial of a scenario.
    pub fn new(scenario: Scenario) -> Self {
        Self { scenario, first: vec![], plan: None, figures: vec![], run: None }
    }

    /// Advances by about `most_events` events; tells how far it is, and at the end what helps.
    pub fn advance(&mut self, most_events: u64) -> Value {
        let mut left = most_events;
        while left > 0 && !self.is_over() {
            left = left.saturating_sub(self.step(left));
        }
        let done = self.first.len() as u64 + self.figures.iter().skip(1).map(|arm| arm.len() as u64).sum::<u64>();
        let arms = self.plan.as_ref().map_or(1, |plan| plan.arms.len() as u64);
        let mut reply = json!({ "done": done, "runs": arms * SEEDS, "over": self.is_over() });
        if let (true, Some(plan)) = (self.is_over(), &self.plan) {
            reply["report"] = TrialReport::new(plan, &self.figures).to_json();
        }
        reply
    }

    fn is_over(&self) -> bool {
        let is_full = |arm: &Vec<TrialFigures>| arm.len() as u64 == SEEDS;
        self.plan.as_ref().is_some_and(|plan| self.figures.len() == plan.arms.len() && self.figures.iter().all(is_full))
    }

    /// Goes on with the run in progress, or begins the next one; returns the events that it took.
    fn step(&mut self, most_events: u64) -> u64 {
        let arm = self.figures.len().saturating_sub(1);
        let (scenario, seeds) = match &self.plan {
            Some(plan) => (&plan.arms[arm].scenario, self.figures[arm].len() as u64),
            None => (&self.scenario, self.first.len() as u64),
        };
        let run = self.run.get_or_insert_with(|| Run::new(scenario, seeds + 1, &RunOptions::default()));
        let before = run.world().events();
        while run.now() < run.end() && run.world().events() - before < most_events {
            let next = run.now().saturating_add(PIECE).min(run.end());
            run.advance(next);
        }
        let took = run.world().events() - before;
        if run.now() < run.end() {
            return took;
        }
        let outcome = run.outcome();
        self.run = None;
        match &self.plan {
            Some(plan) => {
                let scenario = &plan.arms[arm].scenario;
                self.figures[arm].extend(TrialFigures::of(&Evidence::of_outcomes(scenario, &[outcome])));
                if self.figures[arm].len() as u64 == SEEDS && self.figures.len() < plan.arms.len() {
                    self.figures.push(vec![]);
                }
            }
            None => {
                self.first.push(outcome);
                if self.first.len() as u64 == SEEDS {
                    self.begin_arms();
                }
            }
        }
        took.max(1)
    }

    fn begin_arms(&mut self) {
        let evidence = Evidence::of_outcomes(&self.scenario, &self.first);
        let plan = plan(&self.scenario, &explain(&evidence));
        self.figures = vec![TrialFigures::of(&evidence)];
        if plan.arms.len() > 1 {
            self.figures.push(vec![]);
        }
        self.plan = Some(plan);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    const UPLOADS: &str = r#"
        duration = "3 s"
        wlan.standard = "802.11b"
        ap.queue.limit = "20 packets"
        servers = [{ name = "server", delay = "10 ms" }]
        stations = [{ name = "sta", count = 6 }]
        flows = [
            { name = "up", station = "sta" },
            { name = "down", station = "sta1", direction = "down" },
        ]
    "#;

    /// The report does not depend on the size of the steps, and is that of whole runs.
    #[test]
    fn small_steps_give_the_report_of_whole_runs() {
        let scenario = check::parse(UPLOADS, "uploads.toml", &[]).unwrap();
        let report = |events: u64| {
            let mut trial = LabTrial::new(scenario.clone());
            loop {
                let reply = trial.advance(events);
                if reply["over"] == true {
                    assert_eq!(reply["done"], reply["runs"]);
                    return reply["report"].clone();
                }
            }
        };
        let whole = report(u64::MAX);
        assert_eq!(report(50_000), whole);
        assert_eq!(whole["pairs"], 10);
        let tried: Vec<&str> =
            whole["tried"].as_array().unwrap().iter().filter_map(|one| one["change"].as_str()).collect();
        assert!(
            tried.contains(&"ap.queue.discipline=las") && tried.contains(&"ap.queue.limit=80 packets"),
            "{tried:?}"
        );
        // With a queue that holds all, every flow gets its share: the interval leaves out zero.
        let longer =
            whole["tried"].as_array().unwrap().iter().find(|one| one["change"] == "ap.queue.limit=80 packets").unwrap();
        assert_eq!(longer["figures"]["jain_index"]["is"], "better", "{longer}");
        assert_eq!(longer["figures"]["latency_s"]["is"], "worse", "{longer}");
        // Airtime fairness needs 802.11n or later in this model, or not: what is refused has its reason.
        assert!(whole["left_out"].as_array().unwrap().iter().all(|one| !one["why"].as_str().unwrap().is_empty()));
    }
}
