//! Tests of capture analysis, as a single program.

mod air;
mod any_bytes;
mod captured_air_times;
mod common;
mod corpus;
mod files;
mod fragments;
mod frames;
mod graphs;
mod measures;
mod monitor;
mod radio;
mod reference;
mod robust;
mod starvation;
mod verdicts;
