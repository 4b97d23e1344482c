//! What happened and why, and what helps.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use wifair_explain::{Evidence, FigureColumn, FigureTable, trial};
use wifair_sim::scenario::Scenario;

use crate::columns::PyColumnData;
use crate::scenario::PyScenario;

/// A table: its name, and its columns.
type NamedTable = (PyBackedStr, Vec<(PyBackedStr, PyColumnData)>);

fn column(data: &PyColumnData) -> FigureColumn {
    match data {
        PyColumnData::Texts(texts) => FigureColumn::Texts(texts.iter().map(|text| text.to_string()).collect()),
        PyColumnData::Array(kind, bytes) => {
            let (words, _) = bytes.as_chunks::<8>();
            #[allow(clippy::cast_precision_loss)] // counts are far below 2^53
            let number = |word: &[u8; 8]| match &**kind {
                "<u8" => u64::from_le_bytes(*word) as f64,
                _ => f64::from_le_bytes(*word),
            };
            FigureColumn::Numbers(words.iter().map(number).collect())
        }
    }
}

fn evidence(tables: &[NamedTable], scenario: Option<Scenario>, seeds: Vec<u64>) -> PyResult<Evidence> {
    let mut evidence = Evidence { scenario, seeds, ..Evidence::default() };
    for (name, columns) in tables {
        let table = FigureTable::new(columns.iter().map(|(name, data)| (name.to_string(), column(data))));
        match &**name {
            "flows" => evidence.flows = table,
            "cells" => evidence.cells = table,
            "stations" => evidence.stations = table,
            "attempts" => evidence.attempts = table,
            "datagrams" => evidence.datagrams = table,
            "echoes" => evidence.echoes = table,
            other => return Err(PyValueError::new_err(format!("no table {other}"))),
        }
    }
    Ok(evidence)
}

/// The facts that tables of a run or a capture support, as a list in JSON.
#[pyfunction]
pub fn explain(tables: Vec<NamedTable>, scenario: Option<&PyScenario>, seeds: Vec<u64>) -> PyResult<String> {
    let evidence = evidence(&tables, scenario.map(|one| one.inner.clone()), seeds)?;
    let facts: Vec<_> = wifair_explain::explain(&evidence).iter().map(wifair_explain::Fact::to_json).collect();
    Ok(serde_json::Value::from(facts).to_string())
}

/// A trial of what may help a scenario.
#[pyclass(frozen, module = "wifair._core")]
#[derive(Debug)]
pub struct Trial {
    plan: trial::TrialPlan,
}

#[pymethods]
impl Trial {
    /// Plans the trial of a scenario from the tables of its runs.
    #[new]
    fn new(scenario: &PyScenario, tables: Vec<NamedTable>, seeds: Vec<u64>) -> PyResult<Self> {
        let evidence = evidence(&tables, Some(scenario.inner.clone()), seeds)?;
        Ok(Self { plan: trial::plan(&scenario.inner, &wifair_explain::explain(&evidence)) })
    }

    /// The changes of each arm, `PATH=VALUE`; the first has none.
    #[getter]
    fn changes(&self) -> Vec<Vec<String>> {
        self.plan.arms.iter().map(|arm| arm.changes.clone()).collect()
    }

    /// Judges the tables of the runs of each arm; returns JSON.
    fn report(&self, arms: Vec<Vec<NamedTable>>) -> PyResult<String> {
        if arms.len() != self.plan.arms.len() {
            return Err(PyValueError::new_err(format!("{} arms, not {}", self.plan.arms.len(), arms.len())));
        }
        let mut runs = vec![];
        for tables in &arms {
            runs.push(trial::TrialFigures::of(&evidence(tables, None, vec![])?));
        }
        Ok(trial::TrialReport::new(&self.plan, &runs).to_json().to_string())
    }
}
