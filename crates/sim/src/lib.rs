//! Scenario, world and records: a run from text to columns.
