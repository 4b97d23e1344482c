//! Counters that only grow: what came since a moment, and sums.

use crate::Duration;

/// What can be counted: numbers, times, arrays of them, and structs declared with [`counters!`](crate::counters!).
pub trait Count: Sized {
    /// The count since it was `earlier`.
    #[must_use]
    fn minus(&self, earlier: &Self) -> Self;

    /// The sum of both counts.
    #[must_use]
    fn plus(&self, other: &Self) -> Self;
}

macro_rules! counts {
    ($($kind:ty),*) => {$(
        impl Count for $kind {
            #[inline]
            fn minus(&self, earlier: &Self) -> Self {
                *self - *earlier
            }
            #[inline]
            fn plus(&self, other: &Self) -> Self {
                *self + *other
            }
        }
    )*};
}
counts!(u64, Duration);

impl<T: Count, const N: usize> Count for [T; N] {
    fn minus(&self, earlier: &Self) -> Self {
        std::array::from_fn(|place| self[place].minus(&earlier[place]))
    }
    fn plus(&self, other: &Self) -> Self {
        std::array::from_fn(|place| self[place].plus(&other[place]))
    }
}

/// Declares a struct of counts, zero by default, which is a [`Count`] itself.
///
/// ```
/// use wifair_units::{Count, counters};
/// counters! {
///     /// What a queue did.
///     pub struct Counts {
///         /// Packets dropped.
///         pub drops: u64,
///         /// Packets sent, by category.
///         pub sent: [u64; 2],
///     }
/// }
/// let (now, then) = (Counts { drops: 5, sent: [7, 1] }, Counts { drops: 3, sent: [4, 1] });
/// assert_eq!(now.minus(&then), Counts { drops: 2, sent: [3, 0] });
/// ```
#[macro_export]
macro_rules! counters {
    (
        $(#[$about:meta])*
        $vis:vis struct $name:ident { $($(#[$doc:meta])* $own_vis:vis $field:ident: $kind:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$doc])* $own_vis $field: $kind,)*
        }

        impl $crate::Count for $name {
            fn minus(&self, earlier: &Self) -> Self {
                Self { $($field: $crate::Count::minus(&self.$field, &earlier.$field),)* }
            }
            fn plus(&self, other: &Self) -> Self {
                Self { $($field: $crate::Count::plus(&self.$field, &other.$field),)* }
            }
        }
    };
}
