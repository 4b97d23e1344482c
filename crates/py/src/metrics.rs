//! The metrics of `wifair_metrics` on plain numbers, for `wifair.metrics`.

use pyo3::prelude::*;
use wifair_metrics::{FinishRatios, Supply};

/// Jain's index of each row of shares.
#[pyfunction]
pub fn jain_index(rows: Vec<Vec<f64>>) -> Vec<f64> {
    rows.iter().map(|row| wifair_metrics::jain_index(row)).collect()
}

/// Which flows starve, in each row of flows as (got, asked, active).
#[pyfunction]
pub fn starved(rows: Vec<Vec<(f64, f64, f64)>>, below: f64) -> Vec<Vec<bool>> {
    let supply = |(got, asked, active)| Supply { got, asked, active };
    rows.into_iter()
        .map(|row| wifair_metrics::starved_below(&row.into_iter().map(supply).collect::<Vec<_>>(), below))
        .collect()
}

/// Index of instantaneous fairness of sessions given as (bytes, seconds, fair share in bytes per second), the ratio of
/// each, and the number of sessions in the index.
#[pyfunction]
pub fn finish_ratios(sessions: Vec<(f64, f64, f64)>) -> (f64, Vec<Option<f64>>, u64) {
    let mut all = FinishRatios::default();
    let ratios = sessions.into_iter().map(|(bytes, seconds, share)| all.add(bytes, seconds, share)).collect();
    (all.index(), ratios, all.finished)
}

/// Rating of a call by ITU-T G.107, and the corresponding mean opinion score.
#[pyfunction]
pub fn call_quality(delay_s: f64, loss: f64) -> (f64, f64) {
    let rating = wifair_metrics::r_factor(delay_s, loss);
    (rating, wifair_metrics::mean_opinion_score(rating))
}

/// The grade that tests of bufferbloat give to an increase of latency; `None` for NaN.
#[pyfunction]
pub fn bufferbloat_grade(increase_s: f64) -> Option<&'static str> {
    wifair_metrics::bufferbloat_grade(increase_s)
}
