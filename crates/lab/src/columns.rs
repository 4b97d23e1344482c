//! Encodes tables as binary columns after a JSON header.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wifair_sim::record::{Figure, Row};

/// The data of a column.
#[derive(Debug)]
pub enum ColumnData {
    /// Floating-point numbers, and counts below 2^53.
    Numbers(Vec<f64>),
    /// Strings, each as its index in a list of distinct strings.
    Texts(Vec<u32>, Words),
}

/// A list of distinct strings.
#[derive(Debug, Default)]
pub struct Words {
    list: Vec<String>,
    places: BTreeMap<String, u32>,
}

impl Words {
    /// The index of `text`, which is added if it is new.
    pub fn place(&mut self, text: &str) -> u32 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = u32::try_from(self.list.len()).expect("fewer than 2^32 texts");
        self.list.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// A table to which rows can be added.
#[derive(Debug)]
pub struct RowTable {
    name: &'static str,
    columns: Vec<(String, ColumnData)>,
}

impl RowTable {
    /// A table without rows, which gets its columns with its first row.
    pub fn empty(name: &'static str) -> Self {
        Self { name, columns: vec![] }
    }

    /// A table with these columns.
    pub fn new(name: &'static str, columns: impl IntoIterator<Item = (impl Into<String>, ColumnData)>) -> Self {
        Self { name, columns: columns.into_iter().map(|(name, data)| (name.into(), data)).collect() }
    }

    /// A table with these rows.
    pub fn of<R: Row>(name: &'static str, rows: &[R]) -> Self {
        let mut table = Self::empty(name);
        table.extend(rows);
        table
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self.columns.first() {
            Some((_, ColumnData::Numbers(values))) => values.len(),
            Some((_, ColumnData::Texts(places, _))) => places.len(),
            None => 0,
        }
    }

    /// Removes the rows whose value in `column` is below `least`. The rows must be sorted by that column.
    pub fn keep_from(&mut self, column: &str, least: f64) {
        let Some((_, ColumnData::Numbers(values))) = self.columns.iter().find(|(name, _)| *name == column) else {
            return;
        };
        let first = values.partition_point(|value| *value < least);
        for (_, data) in &mut self.columns {
            match data {
                ColumnData::Numbers(values) => drop(values.drain(..first)),
                ColumnData::Texts(places, _) => drop(places.drain(..first)),
            }
        }
    }

    /// Appends rows.
    pub fn extend<'a, R: Row + 'a>(&mut self, rows: impl IntoIterator<Item = &'a R>) {
        for row in rows {
            let figures = row.figures();
            if self.columns.is_empty() {
                let fresh = |figure: &Figure| match figure {
                    Figure::Text(_) => ColumnData::Texts(vec![], Words::default()),
                    Figure::Count(_) | Figure::Number(_) => ColumnData::Numbers(vec![]),
                };
                let columns = R::columns().iter().zip(&figures).map(|((name, _), one)| (name.as_str(), fresh(one)));
                self.columns = Self::new(self.name, columns).columns;
            }
            for ((_, data), figure) in self.columns.iter_mut().zip(figures) {
                match (data, figure) {
                    (ColumnData::Texts(places, words), Figure::Text(text)) => places.push(words.place(&text)),
                    (ColumnData::Numbers(values), Figure::Count(count)) => values.push(count as f64),
                    (ColumnData::Numbers(values), Figure::Number(number)) => values.push(number),
                    _ => unreachable!("a column holds figures of one kind"),
                }
            }
        }
    }
}

/// A reply: a JSON header and tables.
#[derive(Debug)]
pub struct Reply {
    head: Value,
    body: Vec<u8>,
}

impl Reply {
    /// Adds an entry to the header.
    pub fn note(mut self, key: &str, value: Value) -> Self {
        self.head[key] = value;
        self
    }

    /// A reply without tables.
    pub fn of(head: Value) -> Self {
        Self { head, body: vec![] }
    }

    /// Appends a table.
    pub fn with(mut self, table: &RowTable) -> Self {
        let mut columns = vec![];
        for (name, data) in &table.columns {
            let at = self.body.len();
            match data {
                ColumnData::Numbers(values) => {
                    columns.push(json!({ "name": name, "at": at }));
                    // The bits of NaN differ between processors; write one NaN everywhere.
                    let plain = |value: &f64| if value.is_nan() { f64::NAN } else { *value };
                    self.body.reserve(8 * values.len());
                    for value in values {
                        self.body.extend_from_slice(&plain(value).to_le_bytes());
                    }
                }
                ColumnData::Texts(places, words) => {
                    columns.push(json!({ "name": name, "at": at, "texts": words.list }));
                    self.body.extend(places.iter().flat_map(|place| place.to_le_bytes()));
                    self.body.resize(self.body.len().next_multiple_of(8), 0);
                }
            }
        }
        self.head["tables"][table.name] = json!({ "rows": table.rows(), "columns": columns });
        self
    }

    /// The encoded reply; the [crate](crate) documents the format.
    pub fn encode(self) -> Vec<u8> {
        let mut head = self.head.to_string().into_bytes();
        head.resize(head.len().next_multiple_of(8), b' ');
        let mut bytes = Vec::with_capacity(8 + head.len() + self.body.len());
        bytes.extend_from_slice(&(head.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The NaN of 0/0 has its sign bit set on x86 but not in WebAssembly, so replies used to differ in that bit.
    #[test]
    fn what_is_no_number_has_the_same_bytes_everywhere() {
        let encoded = |value: f64| {
            Reply::of(json!({})).with(&RowTable::new("a", vec![("b", ColumnData::Numbers(vec![value]))])).encode()
        };
        assert_eq!(encoded(-f64::NAN), encoded(f64::NAN));
    }
}
