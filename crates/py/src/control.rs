//! What goes on in runs on other threads: how far they are, and a way to stop them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;
use wifair_units::Duration;

/// Shared by the runs of one call.
#[pyclass(frozen, module = "wifair._core")]
#[derive(Debug, Default)]
pub struct Control {
    shared: Arc<Shared>,
}

/// The part that threads hold.
#[derive(Debug, Default)]
pub struct Shared {
    stopped: AtomicBool,
    simulated: AtomicU64,
    read: AtomicU64,
    memory: Option<u64>,
}

impl Shared {
    /// Whether runs are to end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Memory that a run may hold, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory.unwrap_or(u64::MAX)
    }

    /// Says that a run has come so much further.
    pub fn advance(&self, by: Duration) {
        self.simulated.fetch_add(by.as_nanos(), Ordering::Relaxed);
    }

    /// Says that so many more bytes of a file were read.
    pub fn advance_bytes(&self, by: u64) {
        self.read.fetch_add(by, Ordering::Relaxed);
    }
}

impl Control {
    /// The part that threads hold.
    pub fn share(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }
}

#[pymethods]
impl Control {
    #[new]
    #[pyo3(signature = (memory=None))]
    fn new(memory: Option<u64>) -> Self {
        Self { shared: Arc::new(Shared { memory, ..Shared::default() }) }
    }

    /// Ends all runs at their next look.
    fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }

    /// Simulated time of all runs together, in seconds.
    #[getter]
    fn simulated_s(&self) -> f64 {
        Duration::from_nanos(self.shared.simulated.load(Ordering::Relaxed)).as_secs()
    }

    /// Bytes that were read of a file.
    #[getter]
    fn read_bytes(&self) -> u64 {
        self.shared.read.load(Ordering::Relaxed)
    }
}
