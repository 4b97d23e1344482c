//! Scenarios: reading, describing and running them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use wifair_config::{Limit, Override, Problem, Problems, Source};
use wifair_sim::capture::{CapturePoints, CaptureWriter, Format, FrameLog};
use wifair_sim::estimate::{Extras, estimate};
use wifair_sim::record::{Outcome, Series};
use wifair_sim::world::WatchPlan;
use wifair_sim::{Run, RunOptions, scenario};
use wifair_units::{Duration, Quantity, Time};

use crate::columns::{column, counts, numbers, of_rows};
use crate::control::Control;
use crate::extend::{Classes, FirstFault};
use crate::sweep::{Rule, describe_rule};

pyo3::import_exception!(wifair.exceptions, ScenarioError);
pyo3::import_exception!(wifair.exceptions, TooLargeError);

/// A run checks at least this many times over its duration whether it must end.
const LOOKS: u64 = 500;
/// The longest simulated time between two such checks: about a millisecond of real time.
const LONGEST_SLICE: Duration = Duration::from_secs(10);

/// The same with captures or frame records, which are drained at each check.
const LONGEST_WATCH: Duration = Duration::from_millis(50);

/// What a run records besides its outcome.
#[derive(Clone, Debug, Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Taps {
    pub(crate) pcap: Option<CaptureRequest>,
    /// Start and end of the recorded frames, in ns.
    pub(crate) frames_ns: Option<(u64, u64)>,
}

/// The captures to write.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub struct CaptureRequest {
    folder: PathBuf,
    points: Vec<String>,
    snap: u32,
    pcapng: bool,
    force: bool,
}

/// Packets, events, sessions, samples, and the uses of memory: description, number, bytes, key, value.
type Estimated = (f64, f64, f64, f64, Vec<(&'static str, f64, f64, String, String)>);

/// Why a run has no result.
pub(crate) enum RunFailure {
    File(PathBuf, std::io::Error),
    Points(String),
    /// The run uses this many bytes at this time, which is more than allowed.
    Memory(u64, Time),
}

impl From<RunFailure> for PyErr {
    fn from(why: RunFailure) -> Self {
        match why {
            RunFailure::File(path, error) => file_error(&path, &error),
            RunFailure::Points(why) => PyValueError::new_err(why),
            RunFailure::Memory(bytes, now) => Python::attach(|py| {
                let error = TooLargeError::type_object(py).call_method1("of_run", (bytes, now.as_secs()));
                error.map_or_else(|failed| failed, Self::from_value)
            }),
        }
    }
}

impl CaptureRequest {
    pub(crate) fn begin(
        &self,
        scenario: &scenario::Scenario,
        seed: u64,
        run: &mut Run,
    ) -> Result<CaptureWriter<BufWriter<File>>, RunFailure> {
        let points = CapturePoints::choose(scenario, &self.points).map_err(RunFailure::Points)?;
        std::fs::create_dir_all(&self.folder).map_err(|error| RunFailure::File(self.folder.clone(), error))?;
        let open = |name: &str| {
            self.refuse(name)?;
            Ok(BufWriter::with_capacity(1 << 16, create_below(&self.folder, &partial(name))?))
        };
        let capture = CaptureWriter::new(scenario, seed, run.world(), points, self.format(), self.snap, open)
            .map_err(|why| self.unwritten(&why.file, why.error))?;
        self.write_hosts(&capture.hosts()).map_err(|error| self.unwritten(HOSTS, error))?;
        Ok(capture)
    }

    fn unwritten(&self, file: &str, error: std::io::Error) -> RunFailure {
        RunFailure::File(self.folder.join(file), error)
    }

    /// Fails if a file exists, unless overwriting is requested.
    fn refuse(&self, name: &str) -> std::io::Result<()> {
        if !self.force && self.folder.join(name).exists() {
            return Err(std::io::Error::from_raw_os_error(17)); // EEXIST, which Python turns into FileExistsError
        }
        Ok(())
    }

    fn write_hosts(&self, text: &str) -> std::io::Result<()> {
        self.refuse(HOSTS)?;
        let mut file = create_below(&self.folder, &partial(HOSTS))?;
        file.write_all(text.as_bytes())?;
        self.publish(HOSTS, &file)
    }

    /// Gives a complete file its final name.
    fn publish(&self, name: &str, file: &File) -> std::io::Result<()> {
        file.sync_all()?;
        std::fs::rename(self.folder.join(partial(name)), self.folder.join(name))
    }

    /// Ends captures: gives their files their final names.
    pub(crate) fn finish(&self, capture: CaptureWriter<BufWriter<File>>) -> Result<(), RunFailure> {
        for (name, sink) in capture.finish().map_err(|why| self.unwritten(&why.file, why.error))? {
            let file = sink.into_inner().map_err(|why| self.unwritten(&name, why.into_error()))?;
            self.publish(&name, &file).map_err(|why| self.unwritten(&name, why))?;
        }
        Ok(())
    }

    /// Removes incomplete files.
    fn discard(&self, scenario: &scenario::Scenario) {
        let Ok(points) = CapturePoints::choose(scenario, &self.points) else { return };
        let files = points.names().map(|name| format!("{name}.{}", self.format().ending()));
        for name in files.chain([HOSTS.to_owned()]) {
            let _ = std::fs::remove_file(self.folder.join(partial(&name)));
        }
    }

    fn format(&self) -> Format {
        if self.pcapng { Format::Pcapng } else { Format::Pcap }
    }
}

/// The file that maps addresses to names.
const HOSTS: &str = "hosts";

/// Creates a file in a folder, never anywhere else: `name` must be a plain name, and a link of that name is replaced.
fn create_below(folder: &Path, name: &str) -> std::io::Result<File> {
    let mut parts = Path::new(name).components();
    if !matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name) {
        return Err(std::io::Error::other(format!("`{}` is no name of a file", name.escape_debug())));
    }
    let path = folder.join(name);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => File::options().write(true).create_new(true).open(path),
    }
}

/// The name of a file while it is incomplete.
fn partial(name: &str) -> String {
    format!(".{name}.partial")
}

/// Converts an error to an `OSError` of the right class, with its file.
pub(crate) fn file_error(path: &Path, error: &std::io::Error) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), words_of(error), path.as_os_str().to_owned()))
}

/// The words of an error, without its number.
fn words_of(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// A scenario that was read and checked.
#[pyclass(frozen, module = "wifair._core", name = "Scenario")]
#[derive(Debug)]
pub struct PyScenario {
    pub(crate) inner: scenario::Scenario,
    /// Whether it names Python classes.
    custom_classes: bool,
    /// The folder of its file.
    folder: String,
}

#[pymethods]
impl PyScenario {
    #[getter]
    fn name(&self) -> &str {
        &self.inner.file.name
    }

    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.file.duration.nearest_secs()
    }

    #[getter]
    fn warm_up_s(&self) -> f64 {
        self.inner.file.warm_up.nearest_secs()
    }

    /// The seeds given in the file.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.inner.file.seeds.list().to_vec()
    }

    /// The 802.11 standard; `None` without a wireless channel.
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

    /// When a point of its sweep has enough seeds.
    #[getter]
    fn stop_when(&self) -> Vec<Rule> {
        self.inner.file.sweep.stop_when.iter().map(describe_rule).collect()
    }

    /// The most seeds per point of its sweep.
    #[getter]
    fn most_seeds(&self) -> u32 {
        self.inner.file.sweep.most_seeds
    }

    /// How many times its sweep samples parameters that have a distribution.
    #[getter]
    fn samples(&self) -> Option<u32> {
        self.inner.file.sweep.samples
    }

    /// The tables that its sweep keeps.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.inner.file.sweep.tables.iter().map(|table| table.name()).collect()
    }

    /// The Python classes that it names.
    fn classes(&self) -> Vec<(String, &'static str)> {
        self.inner.classes()
    }

    /// Hash of everything a run depends on, except its seed, the version and the Python classes.
    fn hash(&self) -> String {
        self.inner.hash()
    }

    /// Number of queues of a category at the access point, the capacity of each, and that of all, as amount and unit;
    /// None without access point, or with several.
    #[getter]
    fn ap_queues(&self) -> Option<(usize, String, (u64, &'static str))> {
        let queues = self.inner.ap_queues()?;
        let total = match queues.total() {
            Limit::Packets(packets) => (packets, "packets"),
            Limit::Bytes(bytes) => (bytes.0, "B"),
        };
        Some((queues.count, queues.limit.to_string(), total))
    }

    /// The scenario with all defaults filled in.
    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    /// Simulates it, without the GIL unless it calls into Python, and records what `taps` asks for. Returns `None` if
    /// stopped.
    #[pyo3(signature = (seed, sample_step_ns, control, taps=None, fast_paths=true))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        sample_step_ns: Option<u64>,
        control: &Control,
        taps: Option<Taps>,
        fast_paths: bool,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let taps = taps.unwrap_or_default();
        let sample_every = sample_step_ns.map(Duration::from_nanos);
        let outcome = if self.custom_classes {
            let find = py.import("wifair.extensions.extending")?.getattr("find")?;
            for (class, base) in self.inner.classes() {
                find.call1((class, base, &self.folder))?; // fail before the run starts
            }
            let failure = Arc::new(FirstFault::default());
            let classes = Arc::new(Classes::new(seed, &self.folder, Arc::clone(&failure)));
            let options =
                RunOptions { sample_every, custom_classes: Some(classes), fast_paths, ..RunOptions::default() };
            // Release the GIL to other threads between slices.
            let outcome = self.simulate(seed, &options, &taps, control, || {
                py.detach(|| ());
                !failure.happened()
            });
            if failure.happened() {
                return Err(failure.raise(py, seed));
            }
            outcome
        } else {
            let options = RunOptions { sample_every, fast_paths, ..RunOptions::default() };
            py.detach(|| self.simulate(seed, &options, &taps, control, || true))
        };
        match outcome {
            Ok(Some((outcome, log))) => to_dict(py, &outcome, log.as_ref()).map(Some),
            Ok(None) => Ok(None),
            Err(why) => {
                if let Some(request) = &taps.pcap {
                    request.discard(&self.inner);
                }
                Err(why.into())
            }
        }
    }

    /// The estimated cost of a run: packets, events, sessions, samples, and the uses of memory as `(what, number,
    /// bytes, key, value)`, the largest first.
    #[pyo3(signature = (sample_step_ns=None, frames_ns=None))]
    fn estimate(&self, sample_step_ns: Option<u64>, frames_ns: Option<u64>) -> Estimated {
        let extras = Extras {
            sample_every: sample_step_ns.map(Duration::from_nanos),
            frames: Duration::from_nanos(frames_ns.unwrap_or(0)),
        };
        let found = estimate(&self.inner, extras);
        let parts = found.parts.into_iter().map(|part| (part.what, part.number, part.bytes, part.key, part.value));
        (found.packets, found.events, found.sessions, found.samples, parts.collect())
    }

    /// Raises `ValueError` if these words select no capture points.
    fn capture_points(&self, words: Vec<String>) -> PyResult<()> {
        CapturePoints::choose(&self.inner, &words).map(|_| ()).map_err(PyValueError::new_err)
    }
}

impl PyScenario {
    /// Runs the simulation in slices; `goes_on` is called between slices and stops it by returning false.
    fn simulate(
        &self,
        seed: u64,
        options: &RunOptions,
        taps: &Taps,
        control: &Control,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Option<(Outcome, Option<FrameLog>)>, RunFailure> {
        let mut run = Run::new(&self.inner, seed, options);
        let mut capture = match &taps.pcap {
            Some(request) => Some((request, request.begin(&self.inner, seed, &mut run)?)),
            None => None,
        };
        let time = |nanos: u64| Time::ZERO + Duration::from_nanos(nanos);
        let mut log = taps.frames_ns.map(|(from, to)| FrameLog::new(&self.inner, seed, time(from), time(to)));
        let watches = capture.is_some() || log.is_some();
        if watches {
            let plan = capture.as_ref().map(|(_, capture)| capture.plan()).unwrap_or_default();
            run.world().watch(WatchPlan { air: plan.air || log.is_some(), ..plan });
        }
        let share = Duration::from_nanos(self.inner.file.duration.as_nanos().div_ceil(LOOKS));
        let slice = share.min(if watches { LONGEST_WATCH } else { LONGEST_SLICE });
        let mut until = run.now();
        let over = loop {
            if control.is_stopped() || !goes_on() {
                break false;
            }
            let before = until;
            until = before.saturating_add(slice).min(run.end());
            let over = run.advance(until);
            control.advance(until.saturating_since(before));
            // Growing buffers may double at any time, so half of the allowed memory is the limit.
            let held = (run.world().held_bytes() + log.as_ref().map_or(0, FrameLog::bytes)) as u64;
            if 2 * held > control.memory() {
                return Err(RunFailure::Memory(held, until));
            }
            if watches {
                let world = run.world();
                if let Some((request, capture)) = &mut capture {
                    capture.drain(world).map_err(|why| request.unwritten(&why.file, why.error))?;
                }
                if let Some(log) = &mut log {
                    log.drain(world);
                }
                world.clear_watch();
            }
            if over {
                break true;
            }
        };
        // Finish the files of a stopped run too: they contain what it has simulated.
        if let Some((request, capture)) = capture {
            request.finish(capture)?;
        }
        Ok(over.then(|| (run.outcome(), log)))
    }
}

/// Reads a scenario from the bytes of a file that messages call `name`; files that it names are in `folder`. A scenario
/// for real programs may have no flows.
#[pyfunction]
#[pyo3(signature = (name, data, overrides, folder, for_programs=false))]
pub fn parse(
    name: &str,
    data: &[u8],
    overrides: Vec<(String, String)>,
    folder: &str,
    for_programs: bool,
) -> PyResult<PyScenario> {
    let overrides: Vec<Override> = overrides.iter().map(|(option, text)| Override::new(option, text)).collect();
    let mut load = |file: &str| read_regular(&Path::new(folder).join(file));
    let scenario = Source::from_bytes(name, data)
        .and_then(|source| scenario::Scenario::read(source, &overrides, &mut load, !for_programs));
    let whole = |inner: scenario::Scenario| {
        let custom_classes = !inner.classes().is_empty();
        PyScenario { inner, custom_classes, folder: folder.to_owned() }
    };
    scenario.map(whole).map_err(|problems| to_error(&problems))
}

/// The largest trace [B].
const LARGEST_TRACE: u64 = 100_000_000;

/// The text of a file, which must be a regular one: others may have no end, or wait for somebody to write.
fn read_regular(path: &Path) -> Result<String, String> {
    let words = |why: std::io::Error| {
        // Words of the system may be in any language.
        let why = words_of(&why);
        let mut letters = why.chars();
        letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
    };
    let about = std::fs::metadata(path).map_err(words)?;
    if !about.is_file() {
        return Err("it is no regular file".to_owned());
    }
    if about.len() > LARGEST_TRACE {
        return Err(format!("it has {} MB, at most {} MB", about.len() / 1_000_000, LARGEST_TRACE / 1_000_000));
    }
    let bytes = std::fs::read(path).map_err(words)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("line {line}: byte 0x{:02x} is not UTF-8", error.as_bytes()[at])
    })
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

/// Everything that can be chosen by name: key, name, summary, source, and whether the source is an outline only.
#[pyfunction]
pub fn catalogue() -> Vec<Listed> {
    let items = scenario::catalogue().into_iter();
    items.map(|item| (item.key, item.name, item.summary, item.source, item.outline)).collect()
}

/// The exception for a file of `size` bytes, which is too large.
#[pyfunction]
pub fn too_large<'py>(py: Python<'py>, name: &str, size: u64) -> Bound<'py, PyAny> {
    to_error(&Source::too_large(name, size).into()).into_value(py).into_bound(py).into_any()
}

/// Reads a time in a run; returns nanoseconds.
#[pyfunction]
pub fn time_of_run(option: &str, text: &str) -> PyResult<u64> {
    match Duration::parse(text) {
        Ok(time) => Ok(time.as_nanos()),
        Err(_) if text.trim().parse::<f64>().is_ok_and(|number| number >= 0.0) => {
            let number = text.trim();
            Err(to_error(&Problem::new(&format!("{option}: `{number}` has no unit: write \"{number} s\"")).into()))
        }
        Err(error) => Err(to_error(&Problem::new(&format!("{option}: {error}")).into())),
    }
}

/// Reads a sampling interval; returns nanoseconds.
#[pyfunction]
pub fn sample_step(text: &str) -> PyResult<u64> {
    let why = match Duration::parse(text) {
        Ok(step) if step > Duration::ZERO => return Ok(step.as_nanos()),
        Ok(_) => format!("`{text}` is not above 0"),
        Err(error) => error.to_string(),
    };
    Err(to_error(&Problem::new(&format!("time between samples: {why}")).into()))
}

pub(crate) fn to_error(problems: &Problems) -> PyErr {
    let describe = |problem: &Problem| {
        let path = problem.path().map(str::to_owned);
        (problem.message.clone(), path, problem.line(), problem.key.clone())
    };
    ScenarioError::new_err((problems.to_string(), problems.0.iter().map(describe).collect::<Vec<_>>()))
}

/// The tables of a run, and the records of frames and backoffs if there are any.
pub(crate) fn to_dict<'py>(py: Python<'py>, outcome: &Outcome, log: Option<&FrameLog>) -> PyResult<Bound<'py, PyDict>> {
    let series = outcome.series.as_ref();
    Ok(dict!(py,
        "seed": outcome.seed,
        "measured_s": outcome.measured_s,
        "events": outcome.events,
        "flows": of_rows(py, &outcome.flows)?,
        "cell": of_rows(py, std::slice::from_ref(&outcome.cell))?,
        "stations": of_rows(py, &outcome.stations)?,
        "sessions": of_rows(py, &outcome.sessions)?,
        "series": series.map(|series| of_flows(py, series, outcome)).transpose()?,
        "queues": series.map(|series| of_queues(py, series)).transpose()?,
        "frames": log.map(|log| of_rows(py, log.frames())).transpose()?,
        "backoffs": log.map(|log| of_rows(py, log.backoffs())).transpose()?,
    ))
}

fn of_flows<'py>(py: Python<'py>, series: &Series, outcome: &Outcome) -> PyResult<Bound<'py, PyList>> {
    let names = series.flow.iter().map(|flow| outcome.flows[*flow as usize].name.as_str());
    let float = |name, about, values: &[f64]| column(py, name, about, numbers(py, values.iter().copied())?);
    let whole = |name, about, values: &[u64]| column(py, name, about, counts(py, values.iter().copied())?);
    let (received, arrived) = (&series.received_bytes, &series.arrived_bytes);
    let columns = [
        float("time_s", "Time of the sample [s].", &series.time_s)?,
        column(py, "flow", "Name of the flow.", PyList::new(py, names)?.into_any())?,
        float(
            "cwnd",
            "Congestion window [segments]; NaN unless just one connection of the flow is open.",
            &series.cwnd,
        )?,
        float("dwnd", "The part of it that delay drives [segments]; 0 where none does.", &series.dwnd)?,
        float("ssthresh", "Slow-start threshold [segments]; infinite at first.", &series.ssthresh)?,
        float("srtt_s", "Smoothed round-trip time [s].", &series.srtt_s)?,
        whole("received_bytes", "New payload handed to the application since the sample before [bytes].", received)?,
        whole(
            "arrived_bytes",
            "All payload that arrived since the sample before, duplicates included [bytes].",
            arrived,
        )?,
        whole(
            "ap_drops",
            "Packets of the flow dropped by the access point's queue since the sample before.",
            &series.ap_drops,
        )?,
    ];
    PyList::new(py, columns)
}

fn of_queues<'py>(py: Python<'py>, series: &Series) -> PyResult<Bound<'py, PyList>> {
    let times = numbers(py, series.queue_time_s.iter().copied())?;
    let mediums = counts(py, series.queue_medium.iter().map(|medium| u64::from(*medium)))?;
    let packets = counts(py, series.queue_packets.iter().copied())?;
    let columns = [
        column(py, "time_s", "Time of the sample [s].", times)?,
        column(py, "medium", "Number of the cell, from 0.", mediums)?,
        column(py, "packets", "Packets in the access point's queue.", packets)?,
    ];
    PyList::new(py, columns)
}
