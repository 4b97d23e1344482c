//! Tests of the analysis of captures, one program for all.

mod common;
mod corpus;
mod files;
mod frames;
mod graphs;
mod measures;
mod reference;
mod robust;
