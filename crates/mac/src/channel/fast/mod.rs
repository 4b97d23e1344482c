//! Shortcuts for a whole channel: they do what the model does, sooner.
//!
//! [`SharedChannel`] is the [general channel](super::general) for the most usual case: one category, single frames, no
//! records. [`super::Channel::take_no_fast_paths`] and [`super::Channel::set_tap`] put the general channel in its
//! place, and tests hold both to the same results (`tests/equality/all_hear_all.rs`).

mod shared;

pub use shared::SharedChannel;
