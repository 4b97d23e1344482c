//! Python bindings: convert, release the GIL, call. What users see is `python/wifair`.

use pyo3::prelude::*;

/// The compiled part of wifair.
#[pymodule]
mod _core {
    /// Version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
