//! Results as rows of named figures; each figure is declared once, with its meaning and unit.

pub mod csv;
mod outcome;
mod series;

pub use outcome::{CellOutcome, FlowOutcome, Outcome, SessionOutcome, StationOutcome};
pub use series::Series;

/// A value in a row of results.
#[derive(Clone, Debug, PartialEq)]
pub enum Figure {
    /// A name.
    Text(String),
    /// A count.
    Count(u64),
    /// A number; NaN if undefined.
    Number(f64),
}

impl From<&String> for Figure {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<&u64> for Figure {
    fn from(count: &u64) -> Self {
        Self::Count(*count)
    }
}

impl From<&f64> for Figure {
    fn from(number: &f64) -> Self {
        Self::Number(*number)
    }
}

/// A row of figures in which every column has a name and a meaning.
pub trait Row {
    /// Name and meaning of each figure, in order.
    const COLUMNS: &'static [(&'static str, &'static str)];

    /// The figures, in the same order.
    fn figures(&self) -> Vec<Figure>;
}

/// Declares a row: the comments on its fields become the meanings of its columns.
macro_rules! row {
    (
        $(#[doc = $about:literal])* pub struct $name:ident {
            $($(#[doc = $doc:literal])+ pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl $crate::record::Row for $name {
            const COLUMNS: &'static [(&'static str, &'static str)] =
                &[$((stringify!($field), concat!($($doc),+)),)*];

            fn figures(&self) -> Vec<$crate::record::Figure> {
                vec![$((&self.$field).into(),)*]
            }
        }
    };
}
pub(crate) use row;
