//! Channels that must do the same: where everybody hears everybody, the general one what the fast one does; with powers
//! that make no difference, the one with powers what the one without does. And what holds on any of them.

#[macro_use]
mod scenario;

mod all_hear_all;
mod overlap;
mod space;
