//! Shortcuts for a whole channel, equivalent to the model but faster.
//!
//! [`SharedChannel`] is the [general channel](super::general) for the most common case: one category, single frames, no
//! records. [`super::Channel::disable_fast_paths`] and [`super::Channel::set_tap`] replace it with the general channel;
//! tests check that results are equal (`tests/suite/equality/all_hear_all.rs`).

mod shared;

pub use shared::SharedChannel;
