//! Captures: reads and analyses them, and returns columns and JSON.

use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use wifair_capture::{Address, Analysis, AnalysisOptions, COLUMNS, Error, Field, Filter, Graph, analyze};
use wifair_units::{BitRate, Duration, Quantity};

use crate::columns::{column, counts, numbers};
use crate::control::Control;
use crate::scenario::file_error;

pyo3::import_exception!(wifair.exceptions, CaptureError);

/// The results for a capture.
#[pyclass(frozen, module = "wifair._core", name = "Capture")]
pub struct PyCapture {
    pub(crate) inner: Analysis,
}

#[pymethods]
impl PyCapture {
    /// All results except the rows, as JSON.
    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| self.inner.to_json())
    }

    /// What ended the file early.
    #[getter]
    fn damage(&self) -> Option<String> {
        self.inner.damage.as_ref().map(ToString::to_string)
    }

    /// The number of connections that are not kept individually.
    #[getter]
    fn other_connections(&self) -> u64 {
        self.inner.others.connections
    }

    /// Columns with one row for each direction of each connection.
    fn directions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let sides = self.inner.connections().flat_map(|connection| [0, 1].map(|side| connection.row(side)));
        let rows: Vec<Vec<(&'static str, Field)>> = sides.collect();
        let columns = PyList::empty(py);
        let Some(first) = rows.first() else { return Ok(columns) };
        for (at, (name, _)) in first.iter().enumerate() {
            let cells = rows.iter().map(|row| &row[at].1);
            let about = wifair_capture::about(name).unwrap_or_default();
            columns.append(column(py, name, about, cells_of(py, cells)?)?)?;
        }
        Ok(columns)
    }

    /// Columns with one row for each segment; `None` if they were not kept.
    fn packets<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some(rows) = &self.inner.rows else { return Ok(None) };
        let columns = PyList::empty(py);
        for wanted in COLUMNS {
            let cells: Vec<Field> = rows.segments.iter().map(|row| (wanted.value)(row, rows.origin)).collect();
            columns.append(column(py, wanted.name, wanted.meaning, cells_of(py, cells.iter())?)?)?;
        }
        Ok(Some(columns))
    }

    /// A graph for xplot, chosen by tcptrace's short name; `None` if there is nothing to draw.
    fn xplot(&self, py: Python<'_>, connection: usize, side: usize, graph: &str) -> PyResult<Option<String>> {
        let Some(graph) = Graph::ALL.into_iter().find(|there| there.short() == graph) else {
            return Err(PyValueError::new_err(format!("no graph `{graph}`")));
        };
        Ok(py.detach(|| self.inner.xplot(connection, side, graph)))
    }
}

/// A column of cells: texts if any cell is a text, whole numbers if there are cells and all are whole, else
/// floating-point numbers.
fn cells_of<'py, 'a>(
    py: Python<'py>,
    cells: impl ExactSizeIterator<Item = &'a Field> + Clone,
) -> PyResult<Bound<'py, PyAny>> {
    if cells.clone().any(|cell| matches!(cell, Field::Text(_))) {
        let texts = cells.map(|cell| if let Field::Text(text) = cell { text.as_ref() } else { "" });
        return Ok(PyList::new(py, texts)?.into_any());
    }
    if cells.len() > 0 && cells.clone().all(|cell| matches!(cell, Field::Whole(_))) {
        return counts(py, cells.map(|cell| if let Field::Whole(value) = cell { *value } else { 0 }));
    }
    numbers(
        py,
        cells.map(|cell| match cell {
            Field::Whole(value) => *value as f64,
            Field::Signed(value) => *value as f64,
            Field::Real(value) => *value,
            _ => f64::NAN,
        }),
    )
}

/// Options of an analysis, as given by users.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AnalysisRequest {
    hosts: Vec<String>,
    ports: Vec<u16>,
    from_time: Option<String>,
    to_time: Option<String>,
    pause: String,
    bin: Option<String>,
    fair_share: Option<String>,
    local: Vec<String>,
    keep_copies: bool,
    packets: bool,
    most_connections: usize,
}

impl AnalysisRequest {
    fn settings(&self) -> Result<AnalysisOptions, String> {
        let time = |what: &str, text: &str| Duration::parse(text).map_err(|why| format!("{what}: {why}"));
        let optional = |what: &str, text: &Option<String>| text.as_deref().map(|text| time(what, text)).transpose();
        let positive = |what: &str, value: Duration| {
            if value > Duration::ZERO { Ok(value) } else { Err(format!("{what} is not above 0")) }
        };
        let (from, to) = (optional("start", &self.from_time)?, optional("end", &self.to_time)?);
        if let (Some(from), Some(to)) = (from, to)
            && from >= to
        {
            return Err(format!("from {from} to {to} there is nothing: write an end after the start"));
        }
        Ok(AnalysisOptions {
            pause: positive("pause", time("pause", &self.pause)?)?,
            bin: optional("bin", &self.bin)?.map(|bin| positive("bin", bin)).transpose()?,
            keep_copies: self.keep_copies,
            filter: Filter {
                hosts: self.hosts.iter().map(|text| host(text)).collect::<Result<_, _>>()?,
                ports: self.ports.clone(),
                from,
                to,
            },
            fair_share: self
                .fair_share
                .as_deref()
                .map(|text| BitRate::parse(text).map_err(|why| format!("fair share: {why}")))
                .transpose()?,
            local: self.local.iter().map(|text| network(text)).collect::<Result<_, _>>()?,
            most_connections: self.most_connections,
            rows: self.packets,
        })
    }
}

fn host(text: &str) -> Result<Address, String> {
    let address: IpAddr = text.parse().map_err(|_| format!("host `{text}` is no IPv4 or IPv6 address"))?;
    Ok(address.into())
}

fn network(text: &str) -> Result<(Address, u8), String> {
    let wrong = || format!("network `{text}`: write an address and a prefix length, as in 10.0.0.0/8");
    let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let address = host(address).map_err(|_| wrong())?;
    let prefix: u8 = prefix.parse().map_err(|_| wrong())?;
    if prefix > if address.is_v6() { 128 } else { 32 } {
        return Err(wrong());
    }
    Ok((address, prefix))
}

/// Counts the bytes read from a file, for the progress bar.
struct CountingReader<'a> {
    source: Box<dyn Read + Send>,
    control: &'a Control,
}

impl Read for CountingReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.control.is_stopped() {
            return Ok(0);
        }
        let count = self.source.read(buffer)?;
        self.control.advance_bytes(count as u64);
        Ok(count)
    }
}

/// Reads and analyses a capture without the GIL, from standard input if `path` is absent. If stopped, returns the
/// results up to that point.
#[pyfunction]
pub fn read_capture(
    py: Python<'_>,
    path: Option<PathBuf>,
    wanted: AnalysisRequest,
    control: &Control,
) -> PyResult<PyCapture> {
    let settings = wanted.settings().map_err(PyValueError::new_err)?;
    let found = py.detach(|| {
        let source: Box<dyn Read + Send> = match &path {
            Some(path) => Box::new(std::fs::File::open(path).map_err(Error::Io)?),
            None => Box::new(std::io::stdin()),
        };
        analyze(CountingReader { source, control }, settings, |_, _| !control.is_stopped())
    });
    match found {
        Ok(inner) => Ok(PyCapture { inner }),
        Err(Error::Io(error)) if error.raw_os_error().is_some() => {
            Err(file_error(path.as_deref().unwrap_or(Path::new("-")), &error))
        }
        Err(Error::Io(error)) => Err(error.into()),
        Err(error) => Err(CaptureError::new_err(error.to_string())),
    }
}
