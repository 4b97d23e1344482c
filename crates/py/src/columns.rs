//! Converts rows of figures to columns for NumPy: names, meanings, and either texts or the bytes of an array.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};
use wifair_sim::record::{Figure, Row, csv};

/// The data of a column, as passed from Python.
#[derive(FromPyObject)]
pub enum PyColumnData {
    /// Dtype and bytes of an array.
    Array(PyBackedStr, PyBackedBytes),
    /// Texts.
    Texts(Vec<PyBackedStr>),
}

/// A table of columns as CSV.
#[pyfunction]
pub fn csv_text(names: Vec<PyBackedStr>, columns: Vec<PyColumnData>) -> PyResult<String> {
    let columns: Vec<csv::CsvColumn<'_>> = columns
        .iter()
        .map(|data| match data {
            PyColumnData::Texts(texts) => csv::CsvColumn::Texts(texts.iter().map(|text| &**text).collect()),
            PyColumnData::Array(kind, bytes) if **kind == *"<u8" => csv::CsvColumn::Counts(bytes),
            PyColumnData::Array(_, bytes) => csv::CsvColumn::Numbers(bytes),
        })
        .collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    if names.len() != columns.len() || columns.iter().any(|column| column.rows() != columns[0].rows()) {
        return Err(PyValueError::new_err("every column has a name, and all are of equal length"));
    }
    Ok(csv::table(&names, &columns))
}

/// A column that grows row by row.
enum ColumnBuilder<'py> {
    Texts(Bound<'py, PyList>),
    Counts(Vec<u8>),
    Numbers(Vec<u8>),
}

impl<'py> ColumnBuilder<'py> {
    fn starting(py: Python<'py>, first: &Figure, rows: usize) -> Self {
        match first {
            Figure::Text(_) => Self::Texts(PyList::empty(py)),
            Figure::Count(_) => Self::Counts(Vec::with_capacity(8 * rows)),
            Figure::Number(_) => Self::Numbers(Vec::with_capacity(8 * rows)),
        }
    }

    fn push(&mut self, figure: &Figure) -> PyResult<()> {
        match (self, figure) {
            (Self::Texts(list), Figure::Text(text)) => list.append(text)?,
            (Self::Counts(bytes), Figure::Count(count)) => bytes.extend(count.to_le_bytes()),
            (Self::Numbers(bytes), Figure::Number(number)) => bytes.extend(number.to_le_bytes()),
            _ => unreachable!("a column holds figures of one kind"),
        }
        Ok(())
    }

    fn finish(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Texts(list) => Ok(list.into_any()),
            Self::Counts(bytes) => array(py, "<u8", &bytes),
            Self::Numbers(bytes) => array(py, "<f8", &bytes),
        }
    }
}

/// The columns of a table as a list of `(name, meaning, data)`; data is a list of texts, or `(dtype, bytes)`.
pub fn of_rows<'py, R: Row>(py: Python<'py>, rows: &[R]) -> PyResult<Bound<'py, PyList>> {
    let mut builders: Vec<ColumnBuilder<'_>> = match rows.first() {
        Some(first) => first.figures().iter().map(|figure| ColumnBuilder::starting(py, figure, rows.len())).collect(),
        None => R::columns().iter().map(|_| ColumnBuilder::Numbers(vec![])).collect(),
    };
    for row in rows {
        for (column, figure) in builders.iter_mut().zip(row.figures()) {
            column.push(&figure)?;
        }
    }
    let columns = PyList::empty(py);
    for (data, (name, about)) in builders.into_iter().zip(R::columns()) {
        columns.append(column(py, name, about, data.finish(py)?)?)?;
    }
    Ok(columns)
}

/// One column.
pub fn column<'py>(py: Python<'py>, name: &str, about: &str, data: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    let (name, about) = (PyString::intern(py, name).into_any(), PyString::intern(py, about).into_any());
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
