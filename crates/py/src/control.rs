//! Control of runs in other threads: their progress, and a way to stop them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pyo3::prelude::*;
use wifair_units::Duration;

/// Control shared by the runs of one call.
#[pyclass(frozen, module = "wifair._core")]
#[derive(Debug, Default)]
pub struct Control {
    stopped: AtomicBool,
    simulated: AtomicU64,
    read: AtomicU64,
    memory: Option<u64>,
}

impl Control {
    /// Whether the runs must end.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The memory that a run may use, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory.unwrap_or(u64::MAX)
    }

    /// Reports progress of a run in simulated time.
    pub fn advance(&self, by: Duration) {
        self.simulated.fetch_add(by.as_nanos(), Ordering::Relaxed);
    }

    /// Reports progress in bytes read from a file.
    pub fn advance_bytes(&self, by: u64) {
        self.read.fetch_add(by, Ordering::Relaxed);
    }
}

#[pymethods]
impl Control {
    #[new]
    #[pyo3(signature = (memory=None))]
    fn new(memory: Option<u64>) -> Self {
        Self { memory, ..Self::default() }
    }

    /// Ends all runs the next time they check.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Simulated time of all runs together, in seconds.
    #[getter]
    fn simulated_s(&self) -> f64 {
        Duration::from_nanos(self.simulated.load(Ordering::Relaxed)).nearest_secs()
    }

    /// Bytes read from a file.
    #[getter]
    fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}
