//! Tests of capture analysis, as a single program.

mod common;
mod corpus;
mod files;
mod frames;
mod graphs;
mod measures;
mod reference;
mod robust;
