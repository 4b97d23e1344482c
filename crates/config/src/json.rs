//! JSON output: as much as a schema needs.

use std::fmt;

/// A JSON value; objects keep the order they were built in.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is to be written.
    Number(String),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// A string.
    pub fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A number.
    pub fn number(value: impl ToString) -> Self {
        Self::Number(value.to_string())
    }

    /// An object.
    pub fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let inner = "  ".repeat(depth + 1);
        let outer = "  ".repeat(depth);
        match self {
            Self::Bool(b) => write!(f, "{b}"),
            Self::Number(number) => f.write_str(number),
            Self::Text(text) => quote(f, text),
            Self::List(items) if items.is_empty() => f.write_str("[]"),
            Self::Object(fields) if fields.is_empty() => f.write_str("{}"),
            Self::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}\n{inner}", if index == 0 { "[" } else { "," })?;
                    item.write(f, depth + 1)?;
                }
                write!(f, "\n{outer}]")
            }
            Self::Object(fields) => {
                for (index, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}\n{inner}", if index == 0 { "{" } else { "," })?;
                    quote(f, name)?;
                    f.write_str(": ")?;
                    value.write(f, depth + 1)?;
                }
                write!(f, "\n{outer}}}")
            }
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// Writes `text` as a JSON string, which is a basic string of TOML too.
pub(crate) fn quote(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_with_escapes() {
        let value = Json::Object(vec![
            ("a\"b".into(), Json::List(vec![Json::Bool(true), Json::Number("1".into())])),
            ("c".into(), Json::text("x\\y\n\u{1}")),
            ("d".into(), Json::Object(vec![])),
        ]);
        let expected = r#"{
  "a\"b": [
    true,
    1
  ],
  "c": "x\\y\n\u0001",
  "d": {}
}"#;
        assert_eq!(value.to_string(), expected);
    }
}
