//! Tables as CSV (RFC 4180): connections, segments.

use std::fmt::Write;

use crate::analysis::Analysis;
use crate::json::JsonValue;
use crate::report::Field;
use crate::rows::{COLUMNS, RowCell, Rows};

impl Analysis {
    /// One line for each direction of each connection, with the names used in the JSON.
    pub fn connections_csv(&self) -> String {
        let mut text = String::new();
        for connection in self.connections() {
            for side in [0, 1] {
                let row = connection.row(side);
                if text.is_empty() {
                    line(&mut text, row.iter().map(|(name, _)| (*name).to_owned()));
                }
                line(&mut text, row.iter().map(|(_, value)| cell(value)));
            }
        }
        text
    }
}

fn cell(value: &Field) -> String {
    match value {
        Field::Missing => String::new(),
        Field::Text(text) if text.contains([',', '"', '\n']) => format!("\"{}\"", text.replace('"', "\"\"")),
        Field::Text(text) => text.clone(),
        number => {
            let mut text = String::new();
            number.write(&mut text);
            text
        }
    }
}

fn line(text: &mut String, cells: impl Iterator<Item = String>) {
    for (at, cell) in cells.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(&cell);
    }
    text.push('\n');
}

impl Rows {
    /// One line for each segment.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        line(&mut text, COLUMNS.iter().map(|column| column.name.to_owned()));
        for at in 0..self.len() {
            for (number, column) in COLUMNS.iter().enumerate() {
                if number > 0 {
                    text.push(',');
                }
                let _ = match (column.at)(self, at) {
                    RowCell::Count(value) => write!(text, "{value}"),
                    RowCell::Number(value) if value.is_nan() => Ok(()),
                    RowCell::Number(value) => write!(text, "{value:?}"),
                    RowCell::Text(value) => write!(text, "{value}"),
                };
            }
            text.push('\n');
        }
        text
    }
}
