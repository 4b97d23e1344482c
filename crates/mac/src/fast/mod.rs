//! Shortcuts of the MAC that do not change results.

mod saturated_source;

pub use saturated_source::SaturatedSource;
