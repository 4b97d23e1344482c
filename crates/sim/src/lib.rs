//! Scenario, world and records: a run from text to columns.
//!
//! ```
//! use wifair_sim::{Options, run, scenario::Scenario};
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
//! let outcome = run(&scenario, 1, &Options::default());
//! assert_eq!(outcome.flows.len(), 2);
//! assert!(outcome.cell.goodput_bps > 3e6);
//! ```

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

/// What a run depends on besides scenario and seed.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time from one sample of the series to the next; none are taken without.
    pub sample_every: Option<Duration>,
    /// Where the classes come from that a scenario names.
    pub foreign: Option<Arc<dyn Foreign>>,
    /// Whether shortcuts are taken, as by default. Without them the model runs alone: results are the same, at the cost
    /// of time; only [`Outcome::events`], which counts steps of the program, may differ.
    pub fast_paths: bool,
    /// Whether packets of real programs may be put in, from each host to each other one.
    pub real_programs: bool,
    /// Whether the flows of the scenario take part.
    pub flows: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { sample_every: None, foreign: None, fast_paths: true, real_programs: false, flows: true }
    }
}

/// Congestion controls and queues that a scenario names and that are defined elsewhere, in Python.
pub trait Foreign: fmt::Debug + Send + Sync {
    /// The congestion control of the flow `flow`.
    fn congestion_control(&self, params: &cc::python::Params, flow: &str) -> cc::Foreign;

    /// The empty queue of `site`.
    fn queue(&self, params: &queue::python::Params, site: &queue::Site<'_>) -> Box<dyn queue::Foreign>;
}

/// A run that can be stopped between any two calls.
#[derive(Debug)]
pub struct Run {
    world: World,
    labels: Labels,
    hosts: Hosts,
    end: Time,
}

impl Run {
    /// The run of `scenario` with `seed`; nothing has happened yet.
    ///
    /// # Panics
    /// If the scenario names a class in Python, and `options` do not say where classes come from.
    #[must_use]
    pub fn new(scenario: &Scenario, seed: u64, options: &Options) -> Self {
        let (plan, labels) = build::plan(scenario, seed, options);
        let hosts = if options.real_programs { Hosts::new(scenario, &plan) } else { Hosts::default() };
        Self { world: World::new(plan), labels, hosts, end: Time::ZERO + scenario.file.duration }
    }

    /// Goes on until `until`, or to the end. Returns whether the end is reached.
    pub fn advance(&mut self, until: Time) -> bool {
        self.world.run_until(until.min(self.end));
        until >= self.end
    }

    /// The present.
    #[must_use]
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// When the run is over.
    #[must_use]
    pub fn end(&self) -> Time {
        self.end
    }

    /// The world, to be looked at.
    pub fn world(&mut self) -> &mut World {
        &mut self.world
    }

    /// The hosts that real programs can run at, if there are to be any.
    #[must_use]
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// What was measured until now.
    #[must_use]
    pub fn outcome(&mut self) -> Outcome {
        self.world.outcome(&self.labels)
    }
}

/// Runs `scenario` with `seed` from start to end.
///
/// # Panics
/// As [`Run::new`].
#[must_use]
pub fn run(scenario: &Scenario, seed: u64, options: &Options) -> Outcome {
    let mut run = Run::new(scenario, seed, options);
    run.advance(run.end());
    run.outcome()
}
