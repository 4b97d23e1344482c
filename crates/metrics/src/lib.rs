//! From records and captures to goodput, airtime, delay and fairness.

mod fairness;
mod histogram;

pub use fairness::jain_index;
pub use histogram::Histogram;
