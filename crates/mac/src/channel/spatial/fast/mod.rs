//! Shortcuts that do not change results, because what they skip has no effect.
//!
//! - [`dcf`]: stations with one category and single frames, the most common case.
//! - [`atomic_exchange`]: a data frame and its ACK that nothing can disturb take three steps instead of the starts and
//!   ends of both frames; [`exchange_audience`] stores for each pair of stations who hears which part.
//!
//! [`super::SpatialChannel::set_fast_paths`] turns all of them off.

pub(super) mod atomic_exchange;
mod dcf;
pub(super) mod exchange_audience;
