//! Scenario, world and records: a run from text to columns.

pub mod record;
pub mod scenario;
pub mod world;
