//! Scenario, world and records: a run from text to columns.
//!
//! ```
//! use wifair_sim::{RunOptions, run, scenario::Scenario};
//!
//! let text = r#"
//!     duration = "5 s"
//!     wlan.standard = "802.11b"
//!     [[servers]]
//!     name = "server"
//!     delay = "10 ms"
//!     [[stations]]
//!     name = "sta"
//!     count = 2
//!     [[flows]]
//!     name = "up"
//!     station = "sta"
//! "#;
//! let scenario = Scenario::parse(text, "two_uploads.toml", &[]).unwrap();
//! let outcome = run(&scenario, 1, &RunOptions::default());
//! assert_eq!(outcome.flows.len(), 2);
//! assert!(outcome.cell.goodput_bps > 3e6);
//! ```

#![cfg_attr(not(feature = "fast"), allow(dead_code))] // what only shortcuts use

use std::fmt;
use std::sync::Arc;

use wifair_queue as queue;
use wifair_tcp::cc;
use wifair_units::{Duration, Time};

mod build;
pub mod capture;
pub mod estimate;
mod hosts;
pub mod record;
pub mod scenario;
pub mod traffic;
pub mod world;

pub use hosts::{Host, Hosts};
use record::Outcome;
use scenario::Scenario;
use world::{Labels, World};

/// Options of a run besides scenario and seed.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The sampling interval of the series; `None` takes no samples.
    pub sample_every: Option<Duration>,
    /// The provider of the user-defined classes that a scenario names.
    pub custom_classes: Option<Arc<dyn CustomClasses>>,
    /// Whether shortcuts are used, as by default. Without them the plain model runs: results are the same, but it takes
    /// longer; only [`Outcome::events`], which counts steps of the program, may differ.
    pub fast_paths: bool,
    /// Whether packets of real programs may be injected, from each host to every other one.
    pub real_programs: bool,
    /// Whether the flows of the scenario run.
    pub flows: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { sample_every: None, custom_classes: None, fast_paths: true, real_programs: false, flows: true }
    }
}

/// Provides congestion controls and queues that a scenario names and that are defined in Python.
pub trait CustomClasses: fmt::Debug + Send + Sync {
    /// The congestion control of the flow named `flow`.
    fn congestion_control(&self, params: &cc::python::Params, flow: &str) -> cc::CustomControl;

    /// An empty queue at `site`.
    fn queue(&self, params: &queue::python::Params, site: &queue::Site<'_>) -> Box<dyn queue::Discipline>;
}

/// A run that advances in steps and can be stopped between them.
#[derive(Debug)]
pub struct Run {
    world: World,
    labels: Labels,
    hosts: Hosts,
    end: Time,
}

impl Run {
    /// The run of `scenario` with `seed`, at time zero.
    ///
    /// # Panics
    /// If the scenario names a Python class and `options.custom_classes` is `None`.
    pub fn new(scenario: &Scenario, seed: u64, options: &RunOptions) -> Self {
        let (plan, labels) = build::plan(scenario, seed, options);
        let hosts = if options.real_programs { Hosts::new(scenario, &plan) } else { Hosts::default() };
        Self { world: World::new(plan), labels, hosts, end: Time::ZERO + scenario.file.duration }
    }

    /// Advances to `until`, or to the end. Returns whether the end is reached.
    pub fn advance(&mut self, until: Time) -> bool {
        self.world.run_until(until.min(self.end));
        let is_over = until >= self.end;
        if is_over {
            self.world.finish_watch();
        }
        is_over
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// The time at which the run ends.
    pub fn end(&self) -> Time {
        self.end
    }

    /// The simulated world, for inspection.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// The hosts at which real programs can run, if enabled.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// The results up to now.
    pub fn outcome(&mut self) -> Outcome {
        self.world.outcome(&self.labels)
    }
}

/// Runs `scenario` with `seed` from start to end.
///
/// # Panics
/// As for [`Run::new`].
pub fn run(scenario: &Scenario, seed: u64, options: &RunOptions) -> Outcome {
    let mut run = Run::new(scenario, seed, options);
    run.advance(run.end());
    run.outcome()
}
