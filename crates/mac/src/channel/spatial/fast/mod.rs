//! Shortcuts that change no result: the work that they skip has no effect.
//!
//! - [`dcf`]: stations of one category with single frames, the most usual case.
//! - [`atomic_exchange`]: a data frame and its ACK, which nobody can disturb, are two steps instead of four frames'
//!   ends; [`exchange_audience`] remembers for each pair of stations who hears what of it.
//!
//! [`super::SpatialChannel::set_fast_paths`] turns all of them off.

pub(super) mod atomic_exchange;
mod dcf;
pub(super) mod exchange_audience;
