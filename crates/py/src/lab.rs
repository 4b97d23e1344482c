//! Requests from the page of `wifair lab`.

use std::sync::Mutex;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Answers requests of the page; keeps the run that was started last.
#[pyclass(frozen, module = "wifair._core", name = "Lab")]
#[derive(Debug, Default)]
pub struct PyLab {
    inner: Mutex<wifair_lab::Lab>,
}

#[pymethods]
impl PyLab {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Answers a request, without the GIL; concurrent requests wait for each other.
    fn ask<'py>(&self, py: Python<'py>, request: &[u8]) -> Bound<'py, PyBytes> {
        let reply = py.detach(|| {
            let mut lab = self.inner.lock().unwrap_or_else(|poisoned| {
                // A run that panicked may be in any state: discard it.
                let mut lab = poisoned.into_inner();
                *lab = wifair_lab::Lab::default();
                lab
            });
            lab.ask(request)
        });
        PyBytes::new(py, &reply)
    }
}
