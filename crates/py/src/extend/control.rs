//! `wifair.CongestionControl`.

use std::sync::Arc;

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use wifair_tcp::cc::{self, Start, Window};
use wifair_units::{Duration, Time};

use super::{Caller, Draws, Extension, construct, own_method};

/// The largest window in segments: RFC 7323, section 2.3, limits windows to 2^30 bytes.
const MOST_SEGMENTS: f64 = (1u64 << 30) as f64;

/// The smallest round-trip time before the first sample.
const INFINITE: f64 = f64::INFINITY;

/// Declares `wifair.Ack`: a line for each attribute, with its value in an `Ack()` that a test of the user's makes, and
/// its value in a run.
macro_rules! ack_class {
    ($(#[$doc:meta])+ |$ack:ident, $now_s:ident|
        $($(#[$attribute_doc:meta])+ $name:ident: $type:ty = $default:tt, $value:expr;)+) => {
        $(#[$doc])+
        #[pyclass(frozen, get_all, module = "wifair", name = "Ack")]
        #[derive(Clone, Debug)]
        pub struct PyAck {
            /// When it arrived [ns], exact.
            now_ns: u64,
            $($(#[$attribute_doc])+ $name: $type,)+
        }

        #[pymethods]
        impl PyAck {
            #[new]
            #[pyo3(signature = (*, $($name=$default),+))]
            #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
            fn new($($name: $type),+) -> Self {
                Self { now_ns: ($now_s * 1e9).round() as u64, $($name),+ }
            }

            fn __repr__(&self) -> String {
                format!("<Ack of {} segments at {:.6} s>", self.segments, self.now_s)
            }
        }

        impl From<&cc::Ack> for PyAck {
            fn from($ack: &cc::Ack) -> Self {
                Self { now_ns: $ack.now.as_nanos(), $($name: $value),+ }
            }
        }
    };
}

ack_class! {
    /// An ACK, and the sender's state after processing it.
    |ack, now_s|
    /// When it arrived [s].
    now_s: f64 = 0.0, ack.now.as_secs();
    /// Segments that count for the growth of the window; 0 for a duplicate ACK.
    segments: f64 = 1.0, ack.segments;
    /// Newly acknowledged payload [bytes].
    bytes: u64 = 1000, ack.bytes;
    /// Round-trip time measured by this ACK [s]; None if it measured none.
    rtt_s: Option<f64> = None, ack.rtt.map(|rtt| rtt.as_secs());
    /// One-way delay from sender to receiver [s] by timestamps, up to a constant; None without timestamps.
    one_way_delay_s: Option<f64> = None, ack.one_way_delay.map(|delay| delay.as_secs());
    /// Smoothed round-trip time [s]; 0 before the first sample.
    srtt_s: f64 = 0.0, ack.srtt.as_secs();
    /// Smallest round-trip time seen [s]; infinite before the first sample.
    min_rtt_s: f64 = INFINITE, if ack.min_rtt == Duration::MAX { INFINITE } else { ack.min_rtt.as_secs() };
    /// First unacknowledged offset [bytes].
    una: u64 = 0, ack.una;
    /// Offset after the last byte sent [bytes].
    nxt: u64 = 0, ack.nxt;
    /// Segments in flight after this ACK.
    in_flight: f64 = 0.0, ack.in_flight;
    /// Total bytes delivered, including those selectively acknowledged.
    delivered: u64 = 0, ack.delivered;
    /// Segments newly marked as lost.
    lost: f64 = 0.0, ack.lost;
    /// Sample of the delivery rate [bit/s], if the class asks for rate samples; else None.
    rate_bps: Option<f64> = None, ack.rate.map(|sample| sample.rate * 8.0);
    /// Bytes delivered when the segment of that sample was sent.
    prior_delivered: u64 = 0, ack.rate.map_or(0, |sample| sample.prior_delivered);
    /// Whether the application did not fill the window when that segment was sent.
    app_limited: bool = false, ack.rate.is_some_and(|sample| sample.app_limited);
    /// Whether the window limited the sender: a window that is not used should not grow.
    window_limited: bool = true, ack.window_limited;
    /// Whether it echoes a congestion mark (ECE).
    ecn_echo: bool = false, ack.ecn_echo;
    /// Whether it arrived during fast recovery, in which the window should not grow.
    in_recovery: bool = false, ack.in_recovery;
    /// Whether it is a duplicate ACK.
    duplicate: bool = false, ack.duplicate;
    /// Payload of a full segment [bytes].
    mss: f64 = 1000.0, ack.mss;
}

/// Base class of congestion controls: Reno, until methods are overridden.
///
/// Subclass it, override what differs, and set `cwnd` and `ssthresh`. Each connection has an object of its own. Class
/// attributes are parameters: the values of `parameters` in a scenario are set on the object, unless `__init__` is
/// overridden, which then gets them as keyword arguments. `rules_recovery` and attributes that begin with `wants_` tell
/// the sender what to do for the class: see "Extending" in the documentation.
#[pyclass(extends = Extension, subclass, module = "wifair", name = "CongestionControl")]
#[derive(Debug)]
pub struct PyCongestionControl {
    window: Window,
    pacing_rate_bps: Option<f64>,
    mss: f64,
}

impl PyCongestionControl {
    fn grow(&mut self, segments: f64, grows: bool) {
        if grows {
            self.window.grow(segments, 1.0);
        }
    }
}

#[pymethods]
impl PyCongestionControl {
    #[classattr]
    #[pyo3(name = "wants_every_rtt")]
    const WANTS_EVERY_RTT: bool = true;
    #[classattr]
    #[pyo3(name = "wants_rate_samples")]
    const WANTS_RATE_SAMPLES: bool = false;
    #[classattr]
    #[pyo3(name = "wants_mark_per_packet")]
    const WANTS_MARK_PER_PACKET: bool = false;
    #[classattr]
    #[pyo3(name = "wants_fine_timer")]
    const WANTS_FINE_TIMER: bool = false;
    #[classattr]
    #[pyo3(name = "rules_recovery")]
    const RULES_RECOVERY: bool = false;

    #[new]
    #[pyo3(signature = (*_arguments, **_named))]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyClassInitializer<Self> {
        let control = Self { window: Window::new(Start::with_window(2.0)), pacing_rate_bps: None, mss: 1000.0 };
        PyClassInitializer::from(Extension::default()).add_subclass(control)
    }

    /// Congestion window [segments], above 0 and at most 2**30; values below 1 become 1.
    #[getter]
    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, cwnd: f64) -> PyResult<()> {
        if !cwnd.is_finite() {
            return Err(PyValueError::new_err(format!("cwnd is {cwnd}: it must be a finite number of segments")));
        }
        if cwnd <= 0.0 || cwnd > MOST_SEGMENTS {
            return Err(PyValueError::new_err(format!(
                "cwnd is {cwnd}: it must be above 0 and at most 2**30 segments"
            )));
        }
        self.window.set(cwnd);
        Ok(())
    }

    /// Slow-start threshold [segments]; initially infinite.
    #[getter]
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, ssthresh: f64) -> PyResult<()> {
        if ssthresh.is_nan() {
            return Err(PyValueError::new_err("ssthresh is nan: it must be a number of segments"));
        }
        if ssthresh <= 0.0 {
            return Err(PyValueError::new_err(format!("ssthresh is {ssthresh}: it must be above 0 segments")));
        }
        self.window.ssthresh = ssthresh.max(1.0);
        Ok(())
    }

    /// Pacing rate [bit/s]; None sends as soon as the window allows.
    #[getter]
    fn pacing_rate_bps(&self) -> Option<f64> {
        self.pacing_rate_bps
    }

    #[setter]
    fn set_pacing_rate_bps(&mut self, rate: Option<f64>) -> PyResult<()> {
        if rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(PyValueError::new_err("pacing_rate_bps must be above 0, or None"));
        }
        self.pacing_rate_bps = rate;
        Ok(())
    }

    /// Payload of a full segment [bytes].
    #[getter]
    fn mss(&self) -> f64 {
        self.mss
    }

    /// Called for every ACK, also for duplicates and during recovery. Reno: slow start below `ssthresh`, then one
    /// segment per round trip.
    fn on_ack(&mut self, ack: &PyAck) {
        self.grow(ack.segments, ack.window_limited && !ack.in_recovery);
    }

    /// Called when fast recovery begins, with the segments in flight, unless a mark has reduced this window of data.
    /// Reno: half of them.
    fn on_loss(&mut self, in_flight: f64) {
        self.window.reduce(in_flight / 2.0);
    }

    /// Called when the retransmission timer expires. Reno: one segment; `ssthresh` is half of what is in flight.
    fn on_timeout(&mut self, in_flight: f64) {
        self.window.collapse(in_flight / 2.0);
    }

    /// Called when a data segment of `payload` bytes that ends at the offset `end` is sent or retransmitted.
    fn on_send(&self, payload: u64, end: u64) {
        let _ = (payload, end);
    }

    /// Called when fast recovery ends; the window should become `at_most` segments.
    fn on_recovery_exit(&mut self, at_most: f64) {
        self.window.limit(at_most);
    }

    /// Called when nothing was sent for a retransmission timeout; the window should become `at_most` segments.
    fn on_idle_restart(&mut self, at_most: f64) {
        self.window.limit(at_most);
    }

    /// Called when the receiver echoes a congestion mark, at most once per window; by default calls `on_loss`.
    fn on_ecn(slf: &Bound<'_, Self>, in_flight: f64) -> PyResult<()> {
        slf.call_method1("on_loss", (in_flight,)).map(|_| ())
    }

    /// Called when the last loss turned out to be spurious: undo its effect.
    fn on_spurious(&mut self) {
        self.window.restore();
    }
}

/// Returns a function that makes the congestion control of each connection of a flow.
pub fn maker(
    py: Python<'_>,
    class: Option<(Py<PyType>, Py<PyDict>)>,
    caller: Caller,
    draws: String,
) -> cc::CustomControl {
    let marks =
        class.as_ref().is_some_and(|(class, _)| has_flag(class.bind(py), "wants_mark_per_packet").unwrap_or(false));
    let class = class.map(Arc::new);
    cc::CustomControl::new(marks, move |start| {
        Python::attach(|py| {
            let made = class.as_ref().filter(|_| !caller.failure.happened()).and_then(|class| {
                let (class, arguments) = &**class;
                let made = PythonControl::new(py, class.bind(py), arguments.bind(py), start, &caller, &draws);
                made.map_err(|error| caller.fail("__init__", Time::ZERO, error)).ok()
            });
            match made {
                Some(control) => Box::new(control),
                None => stand_in(start),
            }
        })
    })
}

/// Replaces the control of a class that failed, until the run is stopped.
fn stand_in(start: Start) -> Box<dyn cc::CongestionControl> {
    Box::new(cc::reno::new(&cc::reno::Params::default(), start))
}

fn has_flag(class: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    class.getattr(name)?.is_truthy()
}

/// The methods that a class may override.
const METHODS: [&str; 8] =
    ["on_ack", "on_loss", "on_timeout", "on_send", "on_recovery_exit", "on_idle_restart", "on_ecn", "on_spurious"];

/// A congestion control in Python, as seen by the sender.
#[derive(Debug)]
struct PythonControl {
    object: Py<PyCongestionControl>,
    /// The methods that the class overrides.
    own: Vec<(&'static str, Py<PyAny>)>,
    cwnd: f64,
    ssthresh: f64,
    pacing_rate: Option<f64>,
    every_rtt: bool,
    rate_samples: bool,
    mark_per_packet: bool,
    fine_timer: bool,
    rules_recovery: bool,
    /// Whether the answer to the last mark reduced the window.
    heeds_marks: bool,
    now: Time,
    caller: Caller,
}

impl PythonControl {
    fn new(
        py: Python<'_>,
        class: &Bound<'_, PyType>,
        arguments: &Bound<'_, PyDict>,
        start: Start,
        caller: &Caller,
        draws: &str,
    ) -> PyResult<Self> {
        let draws = Draws::new(format!("{draws}/{}", start.seed));
        let object = construct(class, arguments, draws, |own: &mut PyCongestionControl| {
            own.window = Window::new(start);
            own.mss = start.mss;
        })?;
        let base = py.get_type::<PyCongestionControl>();
        let mut methods = Vec::new();
        for name in METHODS {
            methods.extend(own_method(object.as_any(), &base, name)?.map(|method| (name, method)));
        }
        let own = object.borrow();
        Ok(Self {
            own: methods,
            cwnd: own.window.cwnd,
            ssthresh: own.window.ssthresh,
            pacing_rate: own.pacing_rate_bps.map(|rate| rate / 8.0),
            every_rtt: has_flag(class, "wants_every_rtt")?,
            rate_samples: has_flag(class, "wants_rate_samples")?,
            mark_per_packet: has_flag(class, "wants_mark_per_packet")?,
            fine_timer: has_flag(class, "wants_fine_timer")?,
            rules_recovery: has_flag(class, "rules_recovery")?,
            heeds_marks: false,
            now: Time::ZERO,
            caller: caller.clone(),
            object: object.clone().unbind(),
        })
    }

    fn own(&self, name: &str) -> Option<&Py<PyAny>> {
        self.own.iter().find(|(own, _)| *own == name).map(|(_, method)| method)
    }

    /// Calls a method, the user's if there is one, else `base`, and reads the resulting state.
    #[inline]
    fn call(
        &mut self,
        name: &'static str,
        arguments: impl for<'py> PyCallArgs<'py>,
        base: impl FnOnce(&mut PyCongestionControl),
    ) {
        if self.caller.failure.happened() {
            return;
        }
        let now = self.now;
        let done = Python::attach(|py| -> PyResult<(f64, f64, Option<f64>)> {
            let object = self.object.bind(py);
            if let Some(method) = self.own(name) {
                object.as_super().borrow_mut().now = now;
                method.bind(py).call1(arguments)?;
            } else {
                base(&mut object.borrow_mut());
            }
            let own = object.borrow();
            Ok((own.window.cwnd, own.window.ssthresh, own.pacing_rate_bps))
        });
        match done {
            Ok((cwnd, ssthresh, pacing)) => {
                self.cwnd = cwnd;
                self.ssthresh = ssthresh;
                self.pacing_rate = pacing.map(|rate| rate / 8.0);
            }
            Err(error) => self.caller.fail(name, now, error),
        }
    }
}

impl cc::CongestionControl for PythonControl {
    fn on_ack(&mut self, ack: &cc::Ack) {
        self.now = ack.now;
        let grows = ack.window_limited && !ack.in_recovery;
        self.call("on_ack", (PyAck::from(ack),), |base| base.grow(ack.segments, grows));
    }

    fn on_loss(&mut self, in_flight: f64) {
        self.call("on_loss", (in_flight,), |base| base.on_loss(in_flight));
    }

    fn on_rto(&mut self, in_flight: f64) {
        self.call("on_timeout", (in_flight,), |base| base.on_timeout(in_flight));
    }

    fn wants_sends(&self) -> bool {
        self.own("on_send").is_some()
    }

    fn on_send(&mut self, now: Time, payload: u64, end: u64) {
        self.now = now;
        if self.wants_sends() {
            self.call("on_send", (payload, end), |_| ());
        }
    }

    fn on_recovery_exit(&mut self, at_most: f64) {
        self.call("on_recovery_exit", (at_most,), |base| base.on_recovery_exit(at_most));
    }

    fn on_idle_restart(&mut self, at_most: f64) {
        self.call("on_idle_restart", (at_most,), |base| base.on_idle_restart(at_most));
    }

    fn on_ecn(&mut self, in_flight: f64) {
        let before = self.cwnd;
        if self.own("on_ecn").is_some() {
            self.call("on_ecn", (in_flight,), |_| ());
        } else {
            self.on_loss(in_flight);
        }
        self.heeds_marks = self.cwnd < before;
    }

    fn takes_marks_for_losses(&self) -> bool {
        self.heeds_marks && !self.mark_per_packet
    }

    fn on_spurious(&mut self) {
        self.call("on_spurious", (), PyCongestionControl::on_spurious);
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.pacing_rate
    }

    fn wants_every_rtt(&self) -> bool {
        self.every_rtt
    }

    fn wants_rate_samples(&self) -> bool {
        self.rate_samples
    }

    fn wants_mark_per_packet(&self) -> bool {
        self.mark_per_packet
    }

    fn wants_fine_timer(&self) -> bool {
        self.fine_timer
    }

    fn rules_recovery(&self) -> bool {
        self.rules_recovery
    }
}
