//! What measurements share with simulations: the reading of plans, and the names of results.

use pyo3::prelude::*;
use wifair_config::{Override, Source};
use wifair_measure::MeasurementPlan;
use wifair_sim::record::{CellOutcome, Column, FlowOutcome, Row, SessionOutcome, StationOutcome};

use crate::scenario::to_error;

/// Reads a plan from the bytes of a file that messages call `name`. In the result times are in seconds and sizes in
/// bytes.
#[pyfunction]
pub fn measure_plan(name: &str, data: &[u8], overrides: Vec<(String, String)>) -> PyResult<String> {
    let overrides: Vec<Override> = overrides.iter().map(|(option, text)| Override::new(option, text)).collect();
    let plan = Source::from_bytes(name, data).and_then(|source| MeasurementPlan::read(source, &overrides));
    plan.map(|plan| plan.to_json().to_string()).map_err(|problems| to_error(&problems))
}

type Columns = Vec<(&'static str, &'static str)>;

/// Name and meaning of every figure of a simulated run: of flows, the cell, stations and sessions.
#[pyfunction]
pub fn figure_names() -> (Columns, Columns, Columns, Columns) {
    let of = |columns: &'static [Column]| columns.iter().map(|(name, about)| (&**name, &**about)).collect();
    (
        of(FlowOutcome::columns()),
        of(CellOutcome::columns()),
        of(StationOutcome::columns()),
        of(SessionOutcome::columns()),
    )
}
