//! Environments for learning.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wifair_agents::{AgentCells, CellPlan};

/// Networks of one plan; `wifair.gym` wraps them.
#[pyclass(frozen, module = "wifair._core", name = "AgentCells")]
#[derive(Debug)]
pub struct PyAgentCells(Mutex<AgentCells>);

fn value_error(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl PyAgentCells {
    /// Networks with these seeds; raises `ValueError` if the scenario is wrong. Times are nanoseconds.
    #[new]
    fn new(text: &str, agents: Vec<(String, String)>, step: u64, begin: u64, seeds: Vec<u64>) -> PyResult<Self> {
        let (step, begin) = (Duration::from_nanos(step), Duration::from_nanos(begin));
        let plan = CellPlan { scenario: text.to_owned(), agents, step, begin };
        Ok(Self(Mutex::new(AgentCells::new(plan, &seeds).map_err(value_error)?)))
    }

    /// Begins a network anew.
    fn reset(&self, index: usize, seed: u64) -> PyResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).reset(index, seed).map_err(value_error)
    }

    /// One step of all networks, without the GIL: for each agent of each network goodput [bit/s], mean and least
    /// round-trip time [s], loss, datagrams under way, window; nothing for a network without time.
    fn step(&self, py: Python<'_>, windows: Vec<f64>, threads: usize) -> PyResult<Vec<Vec<[f64; 6]>>> {
        let seen = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).step(&windows, threads));
        let cells = seen.map_err(value_error)?.into_iter().map(|cell| {
            let figures = cell
                .into_iter()
                .map(|one| [one.goodput_bps, one.rtt_mean_s, one.rtt_min_s, one.loss, one.in_flight, one.window]);
            figures.collect()
        });
        Ok(cells.collect())
    }

    /// Whether another step ends before each network does.
    fn have_time(&self) -> Vec<bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).have_time().collect()
    }
}
