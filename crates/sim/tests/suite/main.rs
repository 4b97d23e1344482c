//! Tests of whole simulations, one program for all: each program of its own would be linked with the whole engine.

mod captures;
mod cells;
mod fast_paths;
mod golden;
mod layers;
mod queue_drops;
mod routing;
mod scenario;
mod schemes;
mod sweep;
mod traffic;
mod world;
