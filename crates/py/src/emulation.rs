//! Emulation: real programs over the simulated air. The loop that follows the wall clock runs in a thread of its own,
//! without the GIL.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use wifair_capture::Analysis;
use wifair_emulate::live::{self, Device, Ended, Lateness, Live, LiveControl};
use wifair_emulate::record::{Recorder, Recording};
use wifair_emulate::{EmulatedCell, EmulationOptions, PacketCounts, v6_of};
use wifair_sim::capture::FrameLog;
use wifair_sim::record::Outcome;
use wifair_sim::scenario;
use wifair_sim::world::Loss;
use wifair_units::{Duration, Time};

use crate::capture::PyCapture;
use crate::scenario::{PyScenario, Taps, file_error, to_dict};

/// The outcome of an emulation.
struct Done {
    cell: EmulatedCell,
    ended: std::io::Result<(Ended, Lateness)>,
}

enum EmulationState {
    Ready(Box<EmulatedCell>, Vec<Device>),
    Running(JoinHandle<Done>),
    Over(Box<Done>),
    Taken,
}

/// An emulation of a scenario.
#[pyclass(module = "wifair._core")]
pub struct Emulation {
    state: Mutex<EmulationState>,
    control: Arc<LiveControl>,
    taps: Taps,
    record: Option<(PathBuf, String)>,
    flows: Vec<FlowRow>,
}

type HostRow = (String, String, String, bool);

/// A flow of the scenario, for callers that let a real program carry it.
#[derive(Clone, Debug, IntoPyObject)]
pub struct FlowRow {
    name: String,
    from_host: String,
    to_host: String,
    /// The congestion control of TCP; `None` with UDP.
    cc: Option<&'static str>,
    max_cwnd: Option<String>,
    /// Whether its application always has data to send.
    is_endless: bool,
    rate_bps: f64,
    payload_bytes: u64,
    start_s: f64,
    stop_s: Option<f64>,
}

fn flow_rows(scenario: &scenario::Scenario, seed: u64) -> Vec<FlowRow> {
    let row = |flow: &scenario::NetworkFlow| {
        let group = scenario.flows_of(flow);
        let (cc, max_cwnd, rate_bps, payload_bytes) = match &group.transport {
            scenario::Transport::Tcp(tcp) => {
                (Some(tcp.cc.name()), tcp.max_cwnd.map(|limit| limit.to_string()), 0.0, tcp.mss.0)
            }
            #[allow(clippy::cast_precision_loss)]
            scenario::Transport::Udp(udp) => (None, None, udp.rate.as_bps() as f64, udp.payload.0),
        };
        FlowRow {
            name: flow.name.clone(),
            from_host: scenario.name_of(flow.from),
            to_host: scenario.name_of(flow.to),
            cc,
            max_cwnd,
            is_endless: matches!(group.workload, scenario::Workload::Persistent),
            rate_bps,
            payload_bytes,
            start_s: scenario.start(flow, seed).saturating_since(Time::ZERO).nearest_secs(),
            stop_s: group.stop.map(Duration::nearest_secs),
        }
    };
    scenario.network.flows.iter().map(row).collect()
}

#[pymethods]
impl Emulation {
    /// Records what `taps` asks for; `record` is a file in which to record packets, and the line that describes the
    /// recording.
    #[new]
    #[pyo3(signature = (scenario, seed, flows, sample_step_ns=None, taps=None, record=None))]
    fn new(
        scenario: &PyScenario,
        seed: u64,
        flows: bool,
        sample_step_ns: Option<u64>,
        taps: Option<Taps>,
        record: Option<(PathBuf, String)>,
    ) -> PyResult<Self> {
        if !scenario.inner.classes().is_empty() {
            let why = "a scenario that names classes in Python cannot be emulated: they would be late";
            return Err(PyValueError::new_err(why));
        }
        let taps = taps.unwrap_or_default();
        let settings = EmulationOptions { seed, flows, sample_every: sample_step_ns.map(Duration::from_nanos) };
        let mut cell = EmulatedCell::new(&scenario.inner, &settings);
        let capture = taps.pcap.as_ref().map(|request| request.begin(&scenario.inner, seed, cell.run())).transpose()?;
        let time = |nanos: u64| Time::ZERO + Duration::from_nanos(nanos);
        let frames = taps.frames_ns.map(|(from, to)| FrameLog::new(&scenario.inner, seed, time(from), time(to)));
        cell.begin(capture, frames);
        let state = Mutex::new(EmulationState::Ready(Box::new(cell), vec![]));
        Ok(Self { state, control: Arc::default(), taps, record, flows: flow_rows(&scenario.inner, seed) })
    }

    /// Name, IPv4 and IPv6 address of each host, and whether it is a station.
    fn hosts(&mut self) -> PyResult<Vec<HostRow>> {
        let EmulationState::Ready(cell, _) = self.state() else { return Err(wrong_state()) };
        let row = |host: &wifair_sim::Host| {
            (host.name.clone(), host.address.to_string(), v6_of(host).to_string(), host.is_station)
        };
        Ok(cell.hosts().iter().map(row).collect())
    }

    /// The flows of the scenario.
    fn flows(&self) -> Vec<FlowRow> {
        self.flows.clone()
    }

    /// Creates the TUN device of the next host in the network namespace given by a file.
    fn open(&mut self, namespace: PathBuf, name: &str) -> PyResult<()> {
        let EmulationState::Ready(cell, devices) = self.state() else { return Err(wrong_state()) };
        if devices.len() == cell.hosts().len() {
            return Err(wrong_state());
        }
        let device = Device::open(&namespace, name);
        devices.push(device.map_err(|error| file_error(Path::new("/dev/net/tun"), &error))?);
        Ok(())
    }

    /// Starts the emulation; returns the number of the thread that follows the clock. With `strict` it ends if the
    /// machine does not keep up.
    fn start(&mut self, strict: bool) -> PyResult<i32> {
        let EmulationState::Ready(mut cell, mut devices) = self.take() else { return Err(wrong_state()) };
        let recorder = self.record.as_ref().map(|(path, about)| {
            let file = File::create(path).map(|file| BufWriter::with_capacity(1 << 20, file));
            file.and_then(|file| Recorder::new(file, about)).map_err(|error| file_error(path, &error))
        });
        let recorder = recorder.transpose()?;
        let control = Arc::clone(&self.control);
        let (tell, told) = channel();
        #[allow(clippy::disallowed_methods)] // emulation follows the wall clock
        let thread = std::thread::spawn(move || {
            let _ = tell.send(live::thread_id());
            let ended = Live::new(&mut cell, &mut devices, &control, strict).recording(recorder).run();
            Done { cell: *cell, ended }
        });
        *self.state() = EmulationState::Running(thread);
        let told: Receiver<i32> = told;
        told.recv().map_err(|_| PyRuntimeError::new_err("the thread of the emulation has failed"))
    }

    /// Whether it has started.
    fn has_begun(&mut self) -> bool {
        !matches!(self.state(), EmulationState::Ready(..) | EmulationState::Taken)
    }

    /// Whether it is running.
    fn is_running(&mut self) -> bool {
        matches!(self.state(), EmulationState::Running(thread) if !thread.is_finished())
    }

    /// Packets sent by each host up to now.
    fn sent(&self) -> Vec<u64> {
        self.control.sent()
    }

    /// Asks it to end soon.
    fn stop(&self) {
        self.control.stop();
    }

    /// Waits for its end, and returns why it ended: "stopped", "over" or "behind".
    fn join(&mut self, py: Python<'_>) -> PyResult<&'static str> {
        let EmulationState::Running(thread) = self.take() else { return Err(wrong_state()) };
        let done = py.detach(|| thread.join()).map_err(|_| PyRuntimeError::new_err("the emulation has failed"))?;
        let why = match &done.ended {
            Ok((Ended::Stopped, _)) => "stopped",
            Ok((Ended::Over, _)) => "over",
            Ok((Ended::Behind, _)) => "behind",
            Err(error) => {
                let path = self.record.as_ref().map(|(path, _)| path.clone()).unwrap_or_default();
                return Err(file_error(&path, error));
            }
        };
        *self.state() = EmulationState::Over(Box::new(done));
        Ok(why)
    }

    /// Replays a recording instead of running. Returns `(put in, same, differs at ns, is cut)`.
    fn replay(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<(u64, u64, Option<u64>, bool)> {
        let EmulationState::Ready(mut cell, _) = self.take() else { return Err(wrong_state()) };
        let replayed = py.detach(|| {
            let mut recording = Recording::open(BufReader::new(File::open(&path)?))?;
            recording.replay(&mut cell, || true)
        });
        let replayed = replayed.map_err(|error| recording_error(&path, &error))?;
        *self.state() =
            EmulationState::Over(Box::new(Done { cell: *cell, ended: Ok((Ended::Over, Lateness::default())) }));
        Ok((replayed.inject, replayed.same, replayed.differs_at, replayed.is_cut))
    }

    /// Results as for a run, the connections of real programs, packet counts, and lateness.
    fn results<'py>(
        &mut self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyDict>, Option<PyCapture>, Bound<'py, PyDict>)> {
        let EmulationState::Over(mut done) = self.take() else { return Err(wrong_state()) };
        let outcome: Outcome = done.cell.run().outcome();
        let finished = done.cell.finish();
        if let (Some(capture), Some(request)) = (finished.capture, &self.taps.pcap) {
            request.finish(capture)?;
        }
        if let Some(why) = done.cell.failure() {
            return Err(PyOSError::new_err(format!("{}: {}", why.file, why.error)));
        }
        let dict = to_dict(py, &outcome, finished.frames.as_ref())?;
        let packets = counts(py, done.cell.counts(), done.cell.under_way())?;
        packets.set_item("time_s", (done.cell.now().saturating_since(Time::ZERO)).nearest_secs())?;
        if let Ok((_, lateness)) = &done.ended {
            packets.set_item("lateness", lateness_dict(py, lateness)?)?;
        }
        Ok((dict, finished.connections.map(|inner: Analysis| PyCapture { inner }), packets))
    }
}

impl Emulation {
    fn state(&mut self) -> &mut EmulationState {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&mut self) -> EmulationState {
        std::mem::replace(self.state(), EmulationState::Taken)
    }
}

fn wrong_state() -> PyErr {
    PyRuntimeError::new_err("the emulation is in another state")
}

fn counts<'py>(py: Python<'py>, counts: &PacketCounts, under_way: usize) -> PyResult<Bound<'py, PyDict>> {
    let by_name = |names: &[&str], counts: &[u64]| names.iter().zip(counts).into_py_dict(py);
    Ok(dict!(py,
        "sent": counts.sent,
        "delivered": counts.delivered,
        "under_way": under_way,
        "marked": counts.marked,
        "windows_changed": counts.windows_changed,
        "lost": by_name(&Loss::NAMES, &counts.lost)?,
        "refused": by_name(&PacketCounts::REFUSALS, &counts.refused)?,
    ))
}

fn lateness_dict<'py>(py: Python<'py>, lateness: &Lateness) -> PyResult<Bound<'py, PyDict>> {
    let all = &lateness.deliveries;
    let at = |p: f64| all.percentile(p).map(Duration::nearest_secs);
    #[allow(clippy::cast_precision_loss)]
    let share = |part: u64| (all.samples() > 0).then(|| part as f64 / all.samples() as f64);
    Ok(dict!(py,
        "packets": all.samples(),
        "median_s": at(0.5),
        "p99_s": at(0.99),
        "worst_s": (all.samples() > 0).then(|| all.maximum().nearest_secs()),
        "share_later_than_100us": share(lateness.late),
        "share_later_than_1ms": share(lateness.too_late),
        "seconds_behind": lateness.seconds_behind,
        "refused_by_device": lateness.refused_by_device,
        "devices_vanished": lateness.vanished,
    ))
}

/// Locks the program's memory against paging. Returns whether that was permitted.
#[pyfunction]
pub fn lock_memory() -> bool {
    live::lock_memory()
}

/// The line that describes a recording.
#[pyfunction]
pub fn recording_about(path: PathBuf) -> PyResult<String> {
    let recording = File::open(&path).and_then(|file| Recording::open(BufReader::new(file)));
    recording.map(|recording| recording.about().to_owned()).map_err(|error| recording_error(&path, &error))
}

/// An error of the system, or a file that is no recording.
fn recording_error(path: &Path, error: &std::io::Error) -> PyErr {
    match error.raw_os_error() {
        Some(_) => file_error(path, error),
        None => PyValueError::new_err(format!("{}: {error}", path.display())),
    }
}
