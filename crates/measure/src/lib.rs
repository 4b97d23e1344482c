//! Measurement plans for a real network: what is transferred, between which ends, how often and in which order.
//!
//! A plan file is read like a scenario, with the same error messages. [`MeasurementPlan::read`] resolves all names: it
//! expands groups of stations and variations, and fills in defaults.

mod file;
mod plan;

pub use file::{
    Case, CaseOrder, MeasuredFlow, MeasuredStations, MeasuredTransfer, PlanFile, PlannedSessions, TransferDirection,
    TransportProtocol,
};
pub use plan::{MeasurementPlan, PlanCase, PlanFlow};
