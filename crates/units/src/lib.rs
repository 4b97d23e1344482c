//! Quantities with units, and how users write them.
//!
//! Time is whole nanoseconds, so that runs are equal on every platform. Only operations with a physical
//! meaning exist: `Time - Time` is a [`Duration`], `Time + Time` does not compile.

mod parse;
mod quantity;
mod time;

pub use parse::{ParseError, Quantity};
pub use quantity::{BitRate, Bytes, Db, Dbm, Metres};
pub use time::{Duration, Time};
