//! Columns as CSV: RFC 4180 with line feeds only, numbers formatted as in Python.

use std::fmt::Write as _;

/// A column of a table.
#[derive(Debug)]
pub enum CsvColumn<'a> {
    /// Texts.
    Texts(Vec<&'a str>),
    /// Whole numbers, eight bytes each, little endian.
    Counts(&'a [u8]),
    /// Floating-point numbers, eight bytes each, little endian; NaN is written as an empty cell.
    Numbers(&'a [u8]),
}

impl CsvColumn<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Counts(bytes) | Self::Numbers(bytes) => bytes.len() / 8,
        }
    }

    fn write(&self, row: usize, out: &mut String) {
        match self {
            Self::Texts(texts) => write_text(texts[row], out),
            Self::Counts(bytes) => push(out, u64::from_le_bytes(word(bytes, row))),
            Self::Numbers(bytes) => write_number(f64::from_le_bytes(word(bytes, row)), out),
        }
    }
}

fn word(bytes: &[u8], row: usize) -> [u8; 8] {
    bytes[8 * row..8 * row + 8].try_into().expect("eight bytes are asked for")
}

/// A header line with the names, then one line per row.
///
/// # Panics
/// If the numbers of names and columns differ, or columns differ in length.
pub fn table(names: &[&str], columns: &[CsvColumn<'_>]) -> String {
    assert_eq!(names.len(), columns.len(), "every column has a name");
    if columns.is_empty() {
        return "\n".into();
    }
    let rows = columns[0].rows();
    assert!(columns.iter().all(|column| column.rows() == rows), "columns are of equal length");
    let mut out = String::with_capacity(12 * columns.len() * (rows + 1));
    line(names.iter(), &mut out, |name, out| write_text(name, out));
    for row in 0..rows {
        line(columns.iter(), &mut out, |column, out| column.write(row, out));
    }
    out
}

fn line<T>(cells: impl Iterator<Item = T>, out: &mut String, mut write: impl FnMut(T, &mut String)) {
    for (place, cell) in cells.enumerate() {
        if place > 0 {
            out.push(',');
        }
        write(cell, out);
    }
    if out.is_empty() || out.ends_with('\n') {
        out.push_str("\"\""); // an empty line would not count as a row
    }
    out.push('\n');
}

/// Whether a spreadsheet would interpret a text as a formula. Numbers are not affected.
fn is_formula(text: &str) -> bool {
    text.len() > 1 && text.starts_with(['=', '+', '-', '@', '\t', '\r']) && text.parse::<f64>().is_err()
}

fn write_text(text: &str, out: &mut String) {
    if is_formula(text) {
        write_text(&format!("'{text}"), out);
        return;
    }
    if !text.contains([',', '"', '\n', '\r']) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for part in text.split_inclusive('"') {
        out.push_str(part);
        if part.ends_with('"') {
            out.push('"');
        }
    }
    out.push('"');
}

/// Among texts shorter than this, no two of equal length give the same number.
const TIE_LENGTH: usize = 17;

/// Writes the shortest text that reads back as the same number; an exponent has a sign and at least two digits.
///
/// If two such texts are equally near to the number, `Debug` chooses the larger one, Python the even one.
fn write_number(number: f64, out: &mut String) {
    if number.is_nan() {
        return;
    }
    let start = out.len();
    push(out, format_args!("{number:?}"));
    if out.len() - start >= TIE_LENGTH {
        let (mantissa, exponent) = out[start..].split_once('e').unwrap_or((&out[start..], ""));
        let decimals = mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let even = if exponent.is_empty() { format!("{number:.decimals$}") } else { format!("{number:.decimals$e}") };
        if even.parse() == Ok(number) {
            out.replace_range(start.., &even);
        }
    }
    if let Some(place) = out[start..].find('e') {
        let exponent: i32 = out[start + place + 1..].parse().expect("a whole number follows the e");
        out.truncate(start + place);
        push(out, format_args!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs()));
    }
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    write!(out, "{value}").expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[f64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    /// A spreadsheet interprets a text with such a beginning as a formula, which may fetch or send data; a leading
    /// apostrophe prevents this.
    #[test]
    fn texts_that_look_like_formulas_are_made_texts() {
        let texts = vec!["=1+1", "+cmd", "-cmd", "@sum", "-3.5", "-", "up", "=a,b"];
        let expected = "x\n'=1+1\n'+cmd\n'-cmd\n'@sum\n-3.5\n-\nup\n\"'=a,b\"\n";
        assert_eq!(table(&["x"], &[CsvColumn::Texts(texts)]), expected);
    }

    /// The expected values are those of Python's `csv` and `repr`.
    #[test]
    fn numbers_are_written_as_python_writes_them() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            0.1,
            1e-4,
            1.5e-5,
            1e15,
            1e16,
            123_456_789_012_345_680.0,
            5e-324,
            1e100,
            f64::INFINITY,
            2_102_646_059_369_986.2,
            2.980_232_238_769_531_2e-8,
        ];
        let data = bytes(&numbers);
        let expected = "x\n0.0\n-0.0\n1.0\n0.1\n0.0001\n1.5e-05\n1000000000000000.0\n1e+16\n1.2345678901234568e+17\n5e-324\n\
                        1e+100\ninf\n2102646059369986.2\n2.9802322387695312e-08\n";
        assert_eq!(table(&["x"], &[CsvColumn::Numbers(&data)]), expected);
    }

    #[test]
    fn texts_are_quoted_where_they_must_be() {
        let counts: Vec<u8> = [7, u64::MAX].into_iter().flat_map(u64::to_le_bytes).collect();
        let numbers = bytes(&[f64::NAN, 2.5]);
        let columns =
            [CsvColumn::Texts(vec!["plain", "a,b \"c\"\nd"]), CsvColumn::Counts(&counts), CsvColumn::Numbers(&numbers)];
        let expected = "name,n,\"x, y\"\nplain,7,\n\"a,b \"\"c\"\"\nd\",18446744073709551615,2.5\n";
        assert_eq!(table(&["name", "n", "x, y"], &columns), expected);
        assert_eq!(table(&["x"], &[CsvColumn::Texts(vec!["", "a"])]), "x\n\"\"\na\n");
    }
}
