//! User-defined congestion controls and queues, written in Python.
//!
//! A run that uses any holds the GIL, so that a callback costs no more than the call itself; Python passes the GIL to
//! other threads in between. The first exception ends all callbacks of its run, and the run soon after.

mod control;
mod queue;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::False;
use pyo3::types::{PyDict, PyList, PyString, PyType};
use pyo3::{IntoPyObjectExt, PyClass};
use wifair_config::{Free, Plain};
use wifair_queue::{Site, python as queue_python};
use wifair_sim::CustomClasses;
use wifair_tcp::cc;
use wifair_units::Time;

pub use control::{PyAck, PyCongestionControl};
pub use queue::{PyPacket, QueueDiscipline};

pyo3::import_exception!(wifair.exceptions, ExtensionError);

/// What classes of users have in common: the time of a call, and random numbers.
#[pyclass(subclass, module = "wifair._core")]
#[derive(Debug, Default)]
pub struct Extension {
    now: Time,
    draws: Draws,
}

#[pymethods]
impl Extension {
    /// Sets attributes that the class has.
    #[pyo3(signature = (**parameters))]
    fn __init__(slf: &Bound<'_, Self>, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        set_attributes(slf.as_any(), parameters)
    }

    /// Time of the current call [s].
    #[getter]
    fn now_s(&self) -> f64 {
        self.now.as_secs()
    }

    /// Time of the current call [ns], exact.
    #[getter]
    fn now_ns(&self) -> u64 {
        self.now.as_nanos()
    }

    /// A `random.Random` of its own, seeded by the run, and by the flow and connection or the name of the queue.
    #[getter]
    fn random(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.draws.generator(py)
    }
}

/// Makes an object of a user's class, which `set_up` completes before its `__init__` is called.
fn construct<'py, T: PyClass<BaseType = Extension, Frozen = False>>(
    class: &Bound<'py, PyType>,
    arguments: &Bound<'py, PyDict>,
    draws: Draws,
    set_up: impl FnOnce(&mut T),
) -> PyResult<Bound<'py, T>> {
    let object = class.call_method1("__new__", (class,))?.cast_into::<T>()?;
    object.as_super().borrow_mut().draws = draws;
    set_up(&mut object.borrow_mut());
    object.as_any().call_method("__init__", (), Some(arguments))?;
    Ok(object)
}

/// An exception in a callback.
#[derive(Debug)]
pub struct CallbackFault {
    /// `Class.method`.
    what: String,
    /// The object that it belongs to, as in `flow up1`.
    place: String,
    now: Time,
    error: PyErr,
}

/// Shared by all callbacks of one run: the first fault, and whether there is one.
#[derive(Debug, Default)]
pub struct FirstFault {
    happened: AtomicBool,
    fault: Mutex<Option<CallbackFault>>,
}

impl FirstFault {
    /// Whether a fault has occurred, after which no callbacks are made.
    #[inline]
    pub fn happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    fn note(&self, fault: CallbackFault) {
        let mut slot = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        slot.get_or_insert(fault);
        self.happened.store(true, Ordering::Relaxed);
    }

    /// The exception to raise.
    pub fn raise(&self, py: Python<'_>, seed: u64) -> PyErr {
        let fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(CallbackFault { what, place, now, error }) = fault else {
            unreachable!("a run that failed has noted why");
        };
        let own = error.value(py).to_string();
        let kind = error.get_type(py).name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
        let line = py
            .import("wifair.extensions.extending")
            .and_then(|module| module.getattr("line_of")?.call1((error.traceback(py),))?.extract::<String>())
            .unwrap_or_default();
        let text = format!(
            "{what} of {place} raised {kind} at {:.6} s of the run with seed {seed}{}{own}{line}",
            now.as_secs(),
            if own.is_empty() { "" } else { ": " }
        );
        let raised = ExtensionError::new_err((text, what, place, now.as_secs(), seed));
        raised.set_cause(py, Some(error));
        raised
    }
}

/// The caller of a class: its names in messages, and where its faults are reported.
#[derive(Clone, Debug)]
pub struct Caller {
    class: Arc<str>,
    place: Arc<str>,
    failure: Arc<FirstFault>,
}

impl Caller {
    fn fail(&self, method: &str, now: Time, error: PyErr) {
        let what = format!("{}.{method}", self.class);
        self.failure.note(CallbackFault { what, place: self.place.to_string(), now, error });
    }
}

/// The user-defined classes of one run.
#[derive(Debug)]
pub struct Classes {
    seed: u64,
    folder: String,
    failure: Arc<FirstFault>,
}

impl Classes {
    /// For the run with this seed of a scenario located in `folder`.
    pub fn new(seed: u64, folder: &str, failure: Arc<FirstFault>) -> Self {
        Self { seed, folder: folder.to_owned(), failure }
    }

    /// The class `name`, which must be a subclass of `base`.
    fn find<'py>(&self, py: Python<'py>, name: &str, base: &str) -> PyResult<Bound<'py, PyType>> {
        let found = py.import("wifair.extensions.extending")?.getattr("find")?.call1((name, base, &self.folder))?;
        Ok(found.cast_into::<PyType>()?)
    }

    fn caller(&self, name: &str, place: String) -> Caller {
        let class = name.rsplit(['.', ':']).next().unwrap_or(name);
        let class = class.split('#').next().unwrap_or(class); // what tells classes of one function apart
        Caller { class: class.into(), place: place.into(), failure: Arc::clone(&self.failure) }
    }

    /// The class, its arguments and its caller; without the class if it was not found, which is recorded as a fault.
    fn prepare(&self, py: Python<'_>, name: &str, base: &str, parameters: &Free, place: String) -> Prepared {
        let caller = self.caller(name, place);
        let found = self.find(py, name, base).and_then(|class| {
            let arguments = PyDict::new(py);
            for (name, value) in &parameters.0 {
                arguments.set_item(name, to_python(py, value)?)?;
            }
            Ok((class.unbind(), arguments.unbind()))
        });
        let class = found.map_err(|error| caller.fail("__init__", Time::ZERO, error)).ok();
        (class, caller)
    }
}

type Prepared = (Option<(Py<PyType>, Py<PyDict>)>, Caller);

impl CustomClasses for Classes {
    fn congestion_control(&self, params: &cc::python::Params, flow: &str) -> cc::CustomControl {
        let draws = format!("{}/cc/{flow}", self.seed);
        Python::attach(|py| {
            let base = "CongestionControl";
            let (class, caller) = self.prepare(py, &params.class, base, &params.parameters, format!("flow {flow}"));
            control::maker(py, class, caller, draws)
        })
    }

    fn queue(&self, params: &queue_python::Params, site: &Site<'_>) -> Box<dyn wifair_queue::Discipline> {
        let draws = format!("{}/queue/{}", self.seed, site.name);
        Python::attach(|py| {
            let place = format!("the queue of {}", site.name);
            let (class, caller) = self.prepare(py, &params.class, "QueueDiscipline", &params.parameters, place);
            queue::make(py, class, caller, site, draws)
        })
    }
}

fn to_python<'py>(py: Python<'py>, value: &Plain) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Plain::Bool(b) => b.into_bound_py_any(py)?,
        Plain::Integer(i) => i64::try_from(*i).unwrap_or(i64::MAX).into_bound_py_any(py)?,
        Plain::Float(x) => x.into_bound_py_any(py)?,
        Plain::Text(text) => PyString::new(py, text).into_any(),
        Plain::List(items) => {
            let items = items.iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Plain::Table(entries) => {
            let dict = PyDict::new(py);
            for (name, value) in entries {
                dict.set_item(name, to_python(py, value)?)?;
            }
            dict.into_any()
        }
        Plain::Absent => py.None().into_bound(py),
    })
}

/// The method `name` of `object`, if its class overrides that of `base`.
fn own_method(object: &Bound<'_, PyAny>, base: &Bound<'_, PyType>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let inherited = base.getattr(name)?;
    if object.get_type().getattr(name)?.is(&inherited) {
        return Ok(None);
    }
    Ok(Some(object.getattr(name)?.unbind()))
}

/// Sets attributes of `object` that its class has; any other name is an error.
fn set_attributes(object: &Bound<'_, PyAny>, values: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    for (name, value) in values.into_iter().flatten() {
        let name = name.cast_into::<PyString>()?;
        let class = object.get_type();
        if name.to_string().starts_with('_') || !class.hasattr(&name)? || class.getattr(&name)?.is_callable() {
            return Err(PyTypeError::new_err(format!("{} has no parameter `{name}`", class.name()?)));
        }
        object.setattr(&name, value)?;
    }
    Ok(())
}

/// A Python random number generator, seeded by a text and created on first use.
#[derive(Debug, Default)]
struct Draws {
    seed: String,
    made: Option<Py<PyAny>>,
}

impl Draws {
    const fn new(seed: String) -> Self {
        Self { seed, made: None }
    }

    fn generator(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if let Some(made) = &self.made {
            return Ok(made.clone_ref(py));
        }
        let made = py.import("random")?.getattr("Random")?.call1((&self.seed,))?.unbind();
        self.made = Some(made.clone_ref(py));
        Ok(made)
    }
}
