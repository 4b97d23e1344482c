//! Plans of measurements on a real network: what is transferred, between whom, how often and in which order.
//!
//! A plan is read as a scenario is, with the same messages. [`Plan::read`] returns it with every name resolved:
//! groups of stations taken apart, variations multiplied out, defaults filled in.

mod file;
mod plan;

pub use file::{Case, File, Flow, Order, Sessions, Stations, Transfer, Transport, Way};
pub use plan::{Carrier, Plan, PlanCase, PlanFlow, Work};
