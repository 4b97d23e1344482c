//! Shortcuts that do not change results, because what they skip has no effect.
//!
//! - [`dcf`]: stations with one category and single frames, the most common case.
//! - [`atomic_exchange`]: a data frame and its ACK that nothing can disturb take three steps instead of the starts and
//!   ends of both frames; [`exchange_audience`] stores for each pair of stations who hears which part.
//!
//! [`super::SpatialChannel::set_fast_paths`] turns all of them off.

mod atomic_exchange;
mod dcf;
mod exchange_audience;

pub(super) use self::atomic_exchange::AtomicExchange;
pub(super) use self::exchange_audience::ExchangeAudiences;

/// Whether stations without categories are handled as they are.
pub(super) const HANDLES_DCF: bool = true;
