//! Scenarios: read, described, run.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use wifair_config::{Override, Problem, Problems, Source};
use wifair_sim::record::{CellOutcome, Outcome, Row};
use wifair_sim::world::Series;
use wifair_sim::{Options, Run, scenario};
use wifair_units::{Duration, Quantity};

use crate::columns::{column, counts, numbers, of_rows};
use crate::control::{Control, Shared};
use crate::extend::{Classes, Failure};
use crate::sweep::{Rule, describe_rule};

/// Runs look at least so often, in fractions of their duration, whether they are to end ...
const LOOKS: u64 = 500;
/// ... and after so much simulated time, which takes about a millisecond.
const LONGEST_SLICE: Duration = Duration::from_secs(10);

/// A scenario that was read and found right.
#[pyclass(frozen, module = "wifair._core")]
#[derive(Debug)]
pub struct Scenario {
    pub(crate) inner: scenario::Scenario,
    /// Names classes in Python.
    foreign: bool,
    /// Where the file lies.
    folder: String,
}

#[pymethods]
impl Scenario {
    #[getter]
    fn name(&self) -> &str {
        &self.inner.file.name
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.file.duration.as_secs()
    }

    #[getter]
    fn warm_up_s(&self) -> f64 {
        self.inner.file.warm_up.as_secs()
    }

    /// The seeds that the file asks for.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.inner.file.seeds.list().to_vec()
    }

    /// Standard of the air, if there is any.
    #[getter]
    fn standard(&self) -> Option<&'static str> {
        self.inner.file.wlan.as_ref().map(|wlan| wlan.standard.name())
    }

    /// Number of stations.
    #[getter]
    fn stations(&self) -> u64 {
        self.inner.file.stations.iter().map(|group| u64::from(group.count)).sum()
    }

    /// Number of flows.
    #[getter]
    fn flows(&self) -> usize {
        self.inner.network.flows.len()
    }

    /// Whether the file says what to vary.
    #[getter]
    fn varies(&self) -> bool {
        let sweep = &self.inner.file.sweep;
        !(sweep.vary.is_empty() && sweep.points.is_empty())
    }

    /// When a point of its sweep has enough seeds.
    #[getter]
    fn stop_when(&self) -> Vec<Rule> {
        self.inner.file.sweep.stop_when.iter().map(describe_rule).collect()
    }

    /// Seeds of a point of its sweep at most.
    #[getter]
    fn most_seeds(&self) -> u32 {
        self.inner.file.sweep.most_seeds
    }

    /// Tables that its sweep keeps.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.inner.file.sweep.tables.iter().map(|table| table.name()).collect()
    }

    /// The classes in Python that it names.
    fn classes(&self) -> Vec<(String, &'static str)> {
        self.inner.classes()
    }

    /// What a run depends on besides its seed, the version and the classes that it names.
    fn hash(&self) -> String {
        self.inner.hash()
    }

    /// The scenario with all defaults filled in.
    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    /// Simulates it, without the GIL unless it calls into Python; `None` if it was stopped.
    fn run<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        sample_step_ns: Option<u64>,
        control: &Control,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let shared = control.share();
        let sample_every = sample_step_ns.map(Duration::from_nanos);
        let outcome = if self.foreign {
            let find = py.import("wifair.extending")?.getattr("find")?;
            for (class, base) in self.inner.classes() {
                find.call1((class, base, &self.folder))?; // before anything begins
            }
            let failure = Arc::new(Failure::default());
            let classes = Arc::new(Classes::new(seed, &self.folder, Arc::clone(&failure)));
            let options = Options { sample_every, foreign: Some(classes) };
            // Between slices others get the GIL.
            let outcome = self.simulate(seed, &options, &shared, || {
                py.detach(|| ());
                !failure.happened()
            });
            if failure.happened() {
                return Err(failure.raise(py, seed));
            }
            outcome
        } else {
            py.detach(|| self.simulate(seed, &Options { sample_every, foreign: None }, &shared, || true))
        };
        outcome.map(|outcome| to_dict(py, &outcome)).transpose()
    }
}

impl Scenario {
    /// `goes_on` is asked between slices.
    fn simulate(
        &self,
        seed: u64,
        options: &Options,
        shared: &Shared,
        mut goes_on: impl FnMut() -> bool,
    ) -> Option<Outcome> {
        let mut run = Run::new(&self.inner, seed, options);
        let share = Duration::from_nanos(self.inner.file.duration.as_nanos().div_ceil(LOOKS));
        let slice = share.min(LONGEST_SLICE);
        let mut until = run.now();
        loop {
            if shared.is_stopped() || !goes_on() {
                return None;
            }
            let before = until;
            until = before.saturating_add(slice).min(run.end());
            let over = run.advance(until);
            shared.advance(until.saturating_since(before));
            if over {
                return Some(run.outcome());
            }
        }
    }
}

/// Reads a scenario from the bytes of a file that messages call `name`; files that it names lie in `folder`.
#[pyfunction]
pub fn parse(
    py: Python<'_>,
    name: &str,
    data: &[u8],
    overrides: Vec<(String, String)>,
    folder: &str,
) -> PyResult<Scenario> {
    let overrides: Vec<Override> = overrides.iter().map(|(option, text)| Override::new(option, text)).collect();
    let mut load = |file: &str| std::fs::read_to_string(Path::new(folder).join(file)).map_err(|why| why.to_string());
    let scenario =
        Source::from_bytes(name, data).and_then(|source| scenario::Scenario::parse_with(source, &overrides, &mut load));
    let whole = |inner: scenario::Scenario| {
        let foreign = !inner.classes().is_empty();
        Scenario { inner, foreign, folder: folder.to_owned() }
    };
    scenario.map(whole).map_err(|problems| to_error(py, &problems))
}

/// JSON Schema of scenario files.
#[pyfunction]
pub fn schema() -> String {
    scenario::schema()
}

/// Reference of all keys, in Markdown.
#[pyfunction]
pub fn reference() -> String {
    scenario::reference()
}

type Listed = (String, &'static str, String, Option<&'static str>, bool);

/// All that can be chosen by name: key, name, summary, source, and whether the source is an outline only.
#[pyfunction]
pub fn catalogue() -> Vec<Listed> {
    let items = scenario::catalogue().into_iter();
    items.map(|item| (item.key, item.name, item.summary, item.source, item.outline)).collect()
}

/// Name and meaning of every figure of a cell, which a run has one of each.
#[pyfunction]
pub fn figures() -> Vec<(&'static str, &'static str)> {
    CellOutcome::COLUMNS.iter().map(|(name, about)| (*name, about.trim())).collect()
}

/// What to raise for a file of `size` bytes, which is too large.
#[pyfunction]
pub fn too_large<'py>(py: Python<'py>, name: &str, size: u64) -> Bound<'py, PyAny> {
    to_error(py, &Source::too_large(name, size).into()).into_value(py).into_bound(py).into_any()
}

/// Reads a time between samples; in nanoseconds.
#[pyfunction]
pub fn sample_step(py: Python<'_>, text: &str) -> PyResult<u64> {
    let why = match Duration::parse(text) {
        Ok(step) if step > Duration::ZERO => return Ok(step.as_nanos()),
        Ok(_) => format!("`{text}` is not above 0"),
        Err(error) => error.to_string(),
    };
    Err(to_error(py, &Problem::new(&format!("time between samples: {why}")).into()))
}

pub(crate) fn to_error(py: Python<'_>, problems: &Problems) -> PyErr {
    let list: Vec<_> = problems.0.iter().map(describe).collect();
    let error = py.import("wifair.errors").and_then(|module| module.getattr("ScenarioError"));
    match error.and_then(|class| class.call1((problems.to_string(), list))) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

type Described<'a> = (&'a str, Option<&'a str>, Option<usize>, Option<&'a str>);

fn describe(problem: &Problem) -> Described<'_> {
    (&problem.message, problem.path(), problem.line(), problem.key.as_deref())
}

fn to_dict<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("seed", outcome.seed)?;
    dict.set_item("measured_s", outcome.measured_s)?;
    dict.set_item("events", outcome.events)?;
    dict.set_item("flows", of_rows(py, &outcome.flows)?)?;
    dict.set_item("cell", of_rows(py, std::slice::from_ref(&outcome.cell))?)?;
    dict.set_item("stations", of_rows(py, &outcome.stations)?)?;
    dict.set_item("sessions", of_rows(py, &outcome.sessions)?)?;
    let series = outcome.series.as_ref();
    dict.set_item("series", series.map(|series| of_flows(py, series, outcome)).transpose()?)?;
    dict.set_item("queues", series.map(|series| of_queues(py, series)).transpose()?)?;
    Ok(dict)
}

fn of_flows<'py>(py: Python<'py>, series: &Series, outcome: &Outcome) -> PyResult<Bound<'py, PyList>> {
    let names = series.flow.iter().map(|flow| outcome.flows[*flow as usize].name.as_str());
    let floats = |values: &[f64]| numbers(py, values.iter().copied());
    let columns = [
        column(py, "time_s", "Time of the sample [s].", floats(&series.time_s)?)?,
        column(py, "flow", "Name of the flow.", PyList::new(py, names)?.into_any())?,
        column(py, "cwnd", "Congestion window [segments].", floats(&series.cwnd)?)?,
        column(py, "dwnd", "The part of it that delay drives [segments]; 0 where none does.", floats(&series.dwnd)?)?,
        column(py, "ssthresh", "Slow-start threshold [segments]; infinite at first.", floats(&series.ssthresh)?)?,
        column(py, "srtt_s", "Smoothed round-trip time [s].", floats(&series.srtt_s)?)?,
        column(
            py,
            "received_bytes",
            "New payload handed to the application since the sample before [bytes].",
            counts(py, series.received_bytes.iter().copied())?,
        )?,
        column(
            py,
            "arrived_bytes",
            "All payload that arrived since the sample before, duplicates included [bytes].",
            counts(py, series.arrived_bytes.iter().copied())?,
        )?,
        column(
            py,
            "ap_drops",
            "Packets of the flow dropped by the access point's queue since the sample before.",
            counts(py, series.ap_drops.iter().copied())?,
        )?,
    ];
    PyList::new(py, columns)
}

fn of_queues<'py>(py: Python<'py>, series: &Series) -> PyResult<Bound<'py, PyList>> {
    let columns = [
        column(py, "time_s", "Time of the sample [s].", numbers(py, series.queue_time_s.iter().copied())?)?,
        column(
            py,
            "medium",
            "Number of the cell, from 0.",
            counts(py, series.queue_medium.iter().map(|medium| u64::from(*medium)))?,
        )?,
        column(
            py,
            "packets",
            "Packets in the access point's queue.",
            counts(py, series.queue_packets.iter().copied())?,
        )?,
    ];
    PyList::new(py, columns)
}
