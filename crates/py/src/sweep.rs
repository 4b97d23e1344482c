//! Sweeps: the points that a scenario expands into.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use wifair_config::{Problem, Source};
use wifair_sim::scenario::sweep::{self, Axis, Change, Setting, SpannedError, StopRule};

use crate::scenario::{PyScenario, to_error};

/// The points of a sweep, each computed when requested.
#[pyclass(frozen, module = "wifair._core")]
#[derive(Debug)]
pub struct Plan {
    inner: sweep::SweepPlan,
    base: wifair_sim::scenario::Scenario,
}

#[pymethods]
impl Plan {
    fn __len__(&self) -> usize {
        usize::try_from(self.inner.count()).unwrap_or(usize::MAX)
    }

    /// The paths that are varied.
    #[getter]
    fn paths(&self) -> Vec<&str> {
        self.inner.paths()
    }

    /// The settings of a point: for each its origin, path and value.
    fn point(&self, index: u64) -> PyResult<Vec<(String, String, String)>> {
        if index >= self.inner.count() {
            return Err(PyIndexError::new_err("no such point"));
        }
        match self.inner.point(index, &self.base) {
            Ok(changes) => {
                Ok(changes.into_iter().map(|Change { origin, path, value }| (origin, path, value)).collect())
            }
            Err((change, why)) => {
                let fault = SpannedError { message: why, span: 0..change.path.len(), note: String::new() };
                Err(to_error(&problem(&change.origin, &change.path, &fault).into()))
            }
        }
    }
}

/// The plan for `axes` and `points`, pairs of an option and its text; without any, for the file's own sweep.
#[pyfunction]
pub fn plan(base: &PyScenario, axes: Vec<(String, String)>, points: Vec<(String, String)>) -> PyResult<Plan> {
    let mut setup = base.inner.file.sweep.setup();
    let mut problems = Vec::new();
    if !(axes.is_empty() && points.is_empty()) {
        setup.axes = collect(&axes, Axis::parse, &mut problems);
        setup.points = collect(&points, Setting::parse, &mut problems);
    }
    if !problems.is_empty() {
        return Err(to_error(&wifair_config::Problems(problems)));
    }
    match sweep::SweepPlan::new(&setup) {
        Ok(inner) => Ok(Plan { inner, base: base.inner.clone() }),
        Err((mut fault, number)) => {
            let axes = setup.axes.iter().map(|axis| (&axis.origin, axis.text()));
            let mut texts = axes.chain(setup.points.iter().map(|point| (&point.origin, point.text())));
            let at = number.and_then(|number| texts.nth(number));
            let problem = match at {
                Some((option, text)) => {
                    fault.span = 0..text.len();
                    problem(option, text, &fault)
                }
                None => Problem::new(&fault.message).with_note(&fault.note),
            };
            Err(to_error(&problem.into()))
        }
    }
}

/// A stopping rule: text, figure, limit, and whether the limit is a fraction of the mean.
pub type Rule = (String, &'static str, f64, bool);

/// Reads a stopping rule.
#[pyfunction]
pub fn stop_rule(option: &str, text: &str) -> PyResult<Rule> {
    let rule = StopRule::parse(text).map_err(|fault| to_error(&problem(option, text, &fault).into()))?;
    Ok(describe_rule(&rule))
}

/// Converts a stopping rule for Python.
pub fn describe_rule(rule: &StopRule) -> Rule {
    (rule.to_string(), rule.figure, rule.limit, rule.relative)
}

/// A value as a number, quantities in their base unit; `None` if it is not a number.
#[pyfunction]
pub fn number_of(text: &str) -> Option<f64> {
    sweep::number_of(text)
}

fn collect<T>(
    texts: &[(String, String)],
    parse: impl Fn(&str, &str) -> Result<T, SpannedError>,
    problems: &mut Vec<Problem>,
) -> Vec<T> {
    let mut values = Vec::new();
    for (option, text) in texts {
        match parse(text, option) {
            Ok(value) => values.push(value),
            Err(fault) => problems.push(problem(option, text, &fault)),
        }
    }
    values
}

fn problem(option: &str, text: &str, fault: &SpannedError) -> Problem {
    let spot = Source::option(option, text).spot(fault.span.clone(), &fault.note);
    Problem::new(&fault.message).with_spot(spot)
}
