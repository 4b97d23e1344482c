//! Rows of figures as columns for NumPy: names, meanings, and either texts or the bytes of an array.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use wifair_sim::record::{Figure, Row};

/// The columns of a table as a list of `(name, meaning, data)`; data is a list of texts, or `(dtype, bytes)`.
pub fn of_rows<'py, R: Row>(py: Python<'py>, rows: &[R]) -> PyResult<Bound<'py, PyList>> {
    let figures: Vec<Vec<Figure>> = rows.iter().map(Row::figures).collect();
    let columns = PyList::empty(py);
    for (index, (name, about)) in R::COLUMNS.iter().enumerate() {
        let cells = figures.iter().map(|row| &row[index]);
        let data = match figures.first().map(|row| &row[index]) {
            Some(Figure::Text(_)) => {
                let texts = cells.map(|cell| if let Figure::Text(text) = cell { text.as_str() } else { "" });
                PyList::new(py, texts)?.into_any()
            }
            Some(Figure::Count(_)) => counts(py, cells.map(|cell| if let Figure::Count(n) = cell { *n } else { 0 }))?,
            _ => numbers(py, cells.map(|cell| if let Figure::Number(x) = cell { *x } else { f64::NAN }))?,
        };
        columns.append(column(py, name, about.trim(), data)?)?;
    }
    Ok(columns)
}

/// One column.
pub fn column<'py>(py: Python<'py>, name: &str, about: &str, data: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    let (name, about) = (PyString::new(py, name).into_any(), PyString::new(py, about).into_any());
    PyTuple::new(py, [name, about, data])
}

/// Counts as `("<u8", bytes)`.
pub fn counts(py: Python<'_>, values: impl Iterator<Item = u64>) -> PyResult<Bound<'_, PyAny>> {
    let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
    array(py, "<u8", &bytes)
}

/// Numbers as `("<f8", bytes)`.
pub fn numbers(py: Python<'_>, values: impl Iterator<Item = f64>) -> PyResult<Bound<'_, PyAny>> {
    let bytes: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
    array(py, "<f8", &bytes)
}

fn array<'py>(py: Python<'py>, kind: &str, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let parts = [PyString::new(py, kind).into_any(), PyBytes::new(py, bytes).into_any()];
    Ok(PyTuple::new(py, parts)?.into_any())
}
