//! Results as rows of named figures; each figure is declared once, with its meaning and unit.

pub mod csv;
mod families;
mod outcome;
mod series;
mod station;

pub use outcome::{CellOutcome, FlowOutcome, Outcome, SessionOutcome};
pub use series::Series;
pub use station::StationOutcome;

pub(crate) use families::category_delays;
pub(crate) use station::{QueueCounts, StationCounts};

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

/// What a field of a row gives: one figure, or one for each element of an array.
pub trait Figures {
    /// Appends the figures.
    fn append_to(&self, row: &mut Vec<Figure>);
}

impl<T> Figures for T
where
    for<'a> Figure: From<&'a T>,
{
    fn append_to(&self, row: &mut Vec<Figure>) {
        row.push(self.into());
    }
}

/// Figures of the members of a [`Family`], in their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Each<T, const N: usize>(pub [T; N]);

impl<T, const N: usize> Figures for Each<T, N>
where
    for<'a> Figure: From<&'a T>,
{
    fn append_to(&self, row: &mut Vec<Figure>) {
        row.extend(self.0.iter().map(Figure::from));
    }
}

/// What columns of one kind differ in: for each, its part of the name, and its words in the meaning.
pub type Family = Vec<(String, String)>;

/// Name and meaning of a column.
pub type Column = (String, String);

/// A row of figures in which every column has a name and a meaning.
pub trait Row {
    /// Name and meaning of each figure, in order.
    fn columns() -> &'static [Column];

    /// The figures, in the same order.
    fn figures(&self) -> Vec<Figure>;
}

/// The columns of a field: one, or one for each member of a family, with its part instead of `{}` in the template of
/// the name and its words instead of `{}` in the meaning.
pub(crate) fn declared(name: &str, about: &str, family: Option<(&str, Family)>) -> Vec<Column> {
    let Some((template, family)) = family else { return vec![(name.to_owned(), about.to_owned())] };
    family.iter().map(|(part, words)| (template.replace("{}", part), about.replace("{}", words))).collect()
}

/// Declares a row: the comments on its fields become the meanings of its columns. `as NAME for FAMILY` makes a column
/// for each member of a family. With `of (ARGUMENTS)` each field also has its value, and `of` makes the row.
macro_rules! row {
    (@family) => { None };
    (@family $template:literal for $family:path) => { Some(($template, $family())) };
    (
        $(#[doc = $about:literal])* pub struct $name:ident of ($($argument:ident: $from:ty),*) {
            $(
                $(#[doc = $doc:literal])+
                pub $field:ident: $type:ty $(as $template:literal for $family:path)? = $value:expr,
            )*
        }
    ) => {
        $crate::record::row! {
            $(#[doc = $about])* pub struct $name {
                $($(#[doc = $doc])+ pub $field: $type $(as $template for $family)?,)*
            }
        }

        impl $name {
            #[allow(clippy::cast_precision_loss)]
            pub(crate) fn of($($argument: $from),*) -> Self {
                Self { $($field: $value,)* }
            }
        }
    };
    (
        $(#[doc = $about:literal])* pub struct $name:ident {
            $($(#[doc = $doc:literal])+ pub $field:ident: $type:ty $(as $template:literal for $family:path)?,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl $crate::record::Row for $name {
            fn columns() -> &'static [$crate::record::Column] {
                static COLUMNS: std::sync::LazyLock<Vec<$crate::record::Column>> = std::sync::LazyLock::new(|| {
                    [$($crate::record::declared(
                        stringify!($field),
                        concat!($($doc),+).trim_start(),
                        $crate::record::row!(@family $($template for $family)?),
                    ),)*]
                    .concat()
                });
                &COLUMNS
            }

            fn figures(&self) -> Vec<$crate::record::Figure> {
                let mut row = vec![];
                $($crate::record::Figures::append_to(&self.$field, &mut row);)*
                row
            }
        }
    };
}
pub(crate) use row;
