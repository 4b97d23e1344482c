//! Tests of whole simulations, as a single program: separate programs would each be linked with the whole engine.

mod absent_groups;
mod aggregates;
mod air_records;
mod captures;
mod cells;
mod devices;
mod extended_range;
mod fast_paths;
mod golden;
mod layers;
mod older_stations;
mod overlap;
mod queue_drops;
mod routing;
mod scenario;
mod schemes;
mod sweep;
mod traffic;
mod widths;
mod world;
