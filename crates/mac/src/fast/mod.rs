//! Shortcuts of the MAC that change no result.

mod saturated_source;

pub use saturated_source::SaturatedSource;
