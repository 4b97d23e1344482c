//! Quantities with units, and how users write them.
//!
//! Time is whole nanoseconds, so that runs are equal on every platform. Only operations with a physical
//! meaning exist: `Time - Time` is a [`Duration`], `Time + Time` does not compile.

/// Operators between quantities: the operator, both quantities and that of the result, and its number.
macro_rules! operators {
    ($($operator:ident::$method:ident($left:ty, $right:ty) -> $result:ty = |$a:ident, $b:ident| $value:expr;)*) => {$(
        impl std::ops::$operator<$right> for $left {
            type Output = $result;
            fn $method(self, $b: $right) -> $result {
                let $a = self;
                $value
            }
        }
    )*};
}

mod count;
mod parse;
mod quantity;
mod time;

pub use count::Count;
pub use parse::{ParseError, Quantity};
pub use quantity::{BitRate, Bytes, Db, Dbm, Metres};
pub use time::{Duration, Time};
