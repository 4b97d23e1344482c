//! Shortcuts of the MAC that do not change results.

mod datagram_runs;
mod saturated_source;

pub use datagram_runs::{DatagramRun, DatagramRuns, MpduLeads};
pub use saturated_source::SaturatedSource;
