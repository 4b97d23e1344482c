//! Types that keys can have.

use wifair_units::{BitRate, Bytes, Db, Dbm, Duration, Metres, ParseError, Quantity};

use crate::describe::Shape;
use crate::limit::Limit;
use crate::plain::Plain;
use crate::problem::shown;
use crate::reader::Reader;
use crate::table::{Fields, Taken, Value};
use crate::tree::{Content, PlacedValue, kind};

/// Reports that the value of `key` has the wrong type.
fn wrong_type<T>(node: &PlacedValue, key: &str, wanted: &str, note: &str, reader: &mut Reader) -> Option<T> {
    reader.problem(&node.place, Some(key), &format!("`{key}` is {}, not {wanted}", kind(node)), note);
    None
}

impl Value for bool {
    fn shape() -> Shape {
        Shape::Bool
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        match node.content {
            Content::Bool(b) => Some(b),
            _ => wrong_type(node, key, "true or false", "write true or false, without quotes", reader),
        }
    }
    fn to_plain(&self) -> Plain {
        Plain::Bool(*self)
    }
    fn some() -> Self {
        false
    }
}

/// The whole number in a text such as `80 MHz`.
fn number_of(node: &PlacedValue) -> Option<u64> {
    let text = node.text()?.trim();
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    digits.parse().ok().filter(|_| unit.trim_start().chars().all(char::is_alphabetic))
}

fn read_integer(node: &PlacedValue, key: &str, reader: &mut Reader, (least, most): (i128, i128)) -> Option<i128> {
    let Content::Integer(number) = node.content else {
        let note = match number_of(node) {
            Some(number) => format!("write {number}, without quotes or unit"),
            None => "write a whole number, without quotes".to_owned(),
        };
        return wrong_type(node, key, "a whole number", &note, reader);
    };
    if (least..=most).contains(&number) {
        return Some(number);
    }
    let note = if number < 0 && least == 0 {
        "must be 0 or more".to_owned()
    } else {
        format!("must be from {least} to {most}")
    };
    reader.problem(&node.place, Some(key), &format!("`{key}` is {number}"), &note);
    None
}

macro_rules! integers {
    ($($int:ty),*) => {$(
        impl Value for $int {
            fn shape() -> Shape {
                Shape::Integer { min: <$int>::MIN as i128, max: <$int>::MAX as i128 }
            }
            fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
                read_integer(node, key, reader, (<$int>::MIN as i128, <$int>::MAX as i128))?.try_into().ok()
            }
            fn to_plain(&self) -> Plain {
                Plain::Integer(*self as i128)
            }
            fn some() -> Self {
                1
            }
        }
    )*};
}
integers!(u8, u16, u32, u64, usize, i32, i64);

impl Value for f64 {
    fn shape() -> Shape {
        Shape::Float
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        match node.content {
            Content::Float(x) if x.is_finite() => Some(x),
            Content::Integer(i) => Some(i as Self),
            Content::Float(x) => {
                reader.problem(&node.place, Some(key), &format!("`{key}` is {x}"), "must be a finite number");
                None
            }
            _ => wrong_type(node, key, "a number", "write a number, without quotes or unit", reader),
        }
    }
    fn to_plain(&self) -> Plain {
        Plain::Float(*self)
    }
    fn some() -> Self {
        1.0
    }
}

impl Value for String {
    fn shape() -> Shape {
        Shape::Text
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        match &node.content {
            Content::Text(text) => Some(text.clone()),
            _ => wrong_type(node, key, "a string", &format!("write \"{}\"", node.shown()), reader),
        }
    }
    fn to_plain(&self) -> Plain {
        Plain::Text(self.clone())
    }
    fn some() -> Self {
        Self::new()
    }
}

/// User-defined keys and values, in the order of the text; the component that they are passed to interprets them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Free(pub Vec<(String, Plain)>);

impl Free {
    fn plain(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Plain> {
        Some(match &node.content {
            Content::Bool(b) => Plain::Bool(*b),
            Content::Integer(i) => Plain::Integer(*i),
            Content::Float(x) => Plain::Float(*x),
            Content::Text(text) => Plain::Text(text.clone()),
            Content::List(nodes) => {
                Plain::List(nodes.iter().map(|node| Self::plain(node, key, reader)).collect::<Option<_>>()?)
            }
            Content::Table(entries) => Plain::Table(
                entries
                    .iter()
                    .map(|entry| Some((entry.name.clone(), Self::plain(&entry.node, &entry.name, reader)?)))
                    .collect::<Option<_>>()?,
            ),
            Content::Date => return wrong_type(node, key, "a string, number, bool or list", "write a string", reader),
        })
    }
}

impl Value for Free {
    fn shape() -> Shape {
        Shape::Free
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        if !matches!(node.content, Content::Table(_)) {
            return wrong_type(node, key, "a table", "write { name = value }", reader);
        }
        match Self::plain(node, key, reader)? {
            Plain::Table(entries) => Some(Self(entries)),
            _ => unreachable!("a table stays one"),
        }
    }
    fn to_plain(&self) -> Plain {
        Plain::Table(self.0.clone())
    }
    fn some() -> Self {
        Self::default()
    }
}

/// Reads a number with a unit.
fn read_with_unit<T>(
    node: &PlacedValue,
    key: &str,
    reader: &mut Reader,
    name: &str,
    parse: impl Fn(&str) -> Result<T, ParseError>,
) -> Option<T> {
    let Some(text) = text_with_unit(node) else {
        let help = parse("").err().map_or(String::new(), |error| error.help);
        return wrong_type(node, key, &format!("a {name}"), &help, reader);
    };
    parse(&text).map_err(|error| wrong_unit(node, key, reader, &text, error)).ok()
}

fn text_with_unit(node: &PlacedValue) -> Option<String> {
    match &node.content {
        Content::Text(text) => Some(text.clone()),
        Content::Integer(_) | Content::Float(_) => Some(node.shown()),
        _ => None,
    }
}

fn wrong_unit(node: &PlacedValue, key: &str, reader: &mut Reader, text: &str, error: ParseError) {
    let unitless = error.message.ends_with("has no unit");
    let message = if unitless { format!("`{key}` has no unit") } else { shown(&error.message) };
    // The units suggested first suit delays; those of these keys are usually others.
    let unit = match key {
        "guard_interval" => Some("ns"),
        _ if SECONDS.contains(&key) => Some("s"),
        _ => None,
    };
    let help = match unit {
        Some(unit) if unitless => format!("write \"{} {unit}\"", text.trim()),
        Some("ns") if error.message.ends_with("is not a duration") => "write \"800 ns\"".to_owned(),
        _ => error.help,
    };
    reader.problem(&node.place, Some(key), &message, &help);
}

/// Keys for times that are usually seconds.
const SECONDS: [&str; 6] = ["duration", "warm_up", "start", "stop", "start_spread", "session_interval"];

macro_rules! quantities {
    ($($quantity:ty = $some:expr $(, not $zero:expr)?;)*) => {$(
        impl Value for $quantity {
            fn shape() -> Shape {
                Shape::Quantity {
                    name: <$quantity as Quantity>::NAME,
                    units: <$quantity as Quantity>::UNITS.iter().map(|(unit, _)| *unit).collect(),
                    signed: <$quantity as Quantity>::SIGNED,
                }
            }
            fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
                let name = <$quantity as Quantity>::NAME;
                let value = read_with_unit(node, key, reader, name, <$quantity as Quantity>::parse)?;
                $(if value == $zero {
                    reader.problem(&node.place, Some(key), &format!("`{key}` is zero"), "must be above 0");
                    return None;
                })?
                Some(value)
            }
            fn to_plain(&self) -> Plain {
                Plain::Text(self.to_string())
            }
            fn some() -> Self {
                $some
            }
        }
    )*};
}
quantities! {
    Duration = Duration::from_secs(1);
    Bytes = Bytes(1);
    BitRate = BitRate::from_mbps(1), not BitRate::from_bps(0);
    Dbm = Dbm(0.0);
    Db = Db(0.0);
    Metres = Metres(1.0);
}

impl Value for Limit {
    fn shape() -> Shape {
        Shape::Quantity { name: "limit", units: Self::UNITS.to_vec(), signed: false }
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        let limit = read_with_unit(node, key, reader, "limit", Self::parse)?;
        if matches!(limit, Self::Packets(0) | Self::Bytes(Bytes(0))) {
            reader.problem(&node.place, Some(key), &format!("`{key}` is zero"), "must be at least one packet");
            return None;
        }
        Some(limit)
    }
    fn to_plain(&self) -> Plain {
        Plain::Text(self.to_string())
    }
    fn some() -> Self {
        Self::Packets(1)
    }
}

impl<T: Value> Value for Option<T> {
    fn shape() -> Shape {
        Shape::Optional(Box::new(T::shape()))
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        T::read(node, key, reader).map(Some)
    }
    fn to_plain(&self) -> Plain {
        self.as_ref().map_or(Plain::Absent, T::to_plain)
    }
    fn some() -> Self {
        None
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn take(fields: &mut Fields<'_, '_>, key: &'static str, default: Option<&Self>) -> Taken<Self> {
        let default = default.and_then(Option::as_ref);
        if fields.get(key).is_some() || default.is_some() {
            return match T::take(fields, key, default) {
                Taken::Good(value) => Taken::Good(Some(value)),
                Taken::Bad => Taken::Bad,
                Taken::Absent => Taken::Absent,
            };
        }
        if T::CHOOSES {
            let _ = T::take(fields, key, None); // reports parameters of variants that are not chosen
        }
        Taken::Absent
    }
    fn put(&self, key: &str, out: &mut Vec<(String, Plain)>) {
        if let Some(value) = self {
            value.put(key, out);
        }
    }
}

impl<T: Value> Value for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        let Content::List(nodes) = &node.content else {
            let table = matches!(T::shape(), Shape::Table(_));
            let note = if table { format!("write it as [[{key}]]") } else { "write a list, as in [1, 2]".to_owned() };
            return wrong_type(node, key, "a list", &note, reader);
        };
        let read = |(index, node)| T::read_element(node, key, index, reader);
        // Read every element, so that the errors of all are reported.
        let values: Vec<Option<T>> = nodes.iter().enumerate().map(read).collect();
        values.into_iter().collect()
    }
    fn to_plain(&self) -> Plain {
        Plain::List(self.iter().map(T::to_plain).collect())
    }
    fn some() -> Self {
        Self::new()
    }
    fn absent() -> Option<Self> {
        Some(Self::new())
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        let values = <Vec<T> as Value>::read(node, key, reader)?;
        let count = values.len();
        let array = values.try_into().ok();
        if array.is_none() {
            reader.problem(&node.place, Some(key), &format!("`{key}` has {count} values"), &format!("must have {N}"));
        }
        array
    }
    fn to_plain(&self) -> Plain {
        Plain::List(self.iter().map(T::to_plain).collect())
    }
    fn some() -> Self {
        std::array::from_fn(|_| T::some())
    }
}

impl Shape {
    /// An example value in this form, for messages.
    pub(crate) fn example(&self) -> Option<String> {
        match self {
            Self::Bool => Some("true".to_owned()),
            Self::Integer { .. } => Some("1".to_owned()),
            Self::Float => Some("1.0".to_owned()),
            Self::Text => Some("\"...\"".to_owned()),
            Self::Quantity { units, signed, .. } => {
                Some(format!("\"{} {}\"", if *signed { -20 } else { 20 }, units.first().copied().unwrap_or_default()))
            }
            Self::Choice(choice) => choice.variants.first().map(|variant| format!("\"{}\"", variant.name)),
            Self::List(_) | Self::Table(_) | Self::Free => None,
            Self::Optional(inner) => inner.example(),
            Self::OneOf(shapes) => shapes.first().and_then(Self::example),
        }
    }
}
