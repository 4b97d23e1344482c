//! Python bindings: they convert arguments, release the GIL and call the core. The user interface is `python/wifair`.

/// Makes a dictionary of names and values.
macro_rules! dict {
    ($py:expr, $($name:literal: $value:expr),+ $(,)?) => {{
        let dict = pyo3::types::PyDict::new($py);
        $(dict.set_item($name, $value)?;)+
        dict
    }};
}

mod agents;
mod airtime;
mod airtime_mu;
mod capture;
mod columns;
mod control;
#[cfg(target_os = "linux")]
mod emulation;
mod explain;
mod extend;
mod lab;
mod link;
mod measure;
mod metrics;
mod packetdrill;
mod scenario;
mod sweep;

use pyo3::prelude::*;

/// The compiled part of wifair.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::agents::PyAgentCells;
    #[pymodule_export]
    use crate::airtime::{airtime, airtime_table};
    #[pymodule_export]
    use crate::airtime_mu::airtime_mu;
    #[pymodule_export]
    use crate::capture::{PyCapture, read_capture};
    #[pymodule_export]
    use crate::columns::csv_text;
    #[pymodule_export]
    use crate::control::Control;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::emulation::{Emulation, lock_memory, recording_about};
    #[pymodule_export]
    use crate::explain::{Trial, explain};
    #[pymodule_export]
    use crate::extend::{Extension, PyAck, PyCongestionControl, PyPacket, QueueDiscipline};
    #[pymodule_export]
    use crate::lab::PyLab;
    #[pymodule_export]
    use crate::link::PyLink;
    #[pymodule_export]
    use crate::measure::{figure_names, measure_plan};
    #[pymodule_export]
    use crate::metrics::{bufferbloat_grade, call_quality, finish_ratios, jain_index, starved};
    #[pymodule_export]
    use crate::packetdrill::packetdrill;
    #[pymodule_export]
    use crate::scenario::{PyScenario, catalogue, parse, reference, sample_step, schema, time_of_run, too_large};

    #[pymodule_export]
    use crate::sweep::{Plan, number_of, plan, stop_rule};

    /// Version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// The compiler that built this, its target and optimisation.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __compiler__: &str = env!("WIFAIR_COMPILER");

    /// Hash of the core's sources: different sources may give different results.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __source__: &str = env!("WIFAIR_SOURCE");

    /// Size limit of a scenario file, in bytes.
    #[pymodule_export]
    const MAX_BYTES: u64 = wifair_config::Source::MAX_BYTES;
}
