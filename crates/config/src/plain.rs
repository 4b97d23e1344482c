//! Values without places, and their canonical form as TOML.

use std::fmt::Write as _;

use crate::json::quote;

/// A value to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A number.
    Float(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Plain>),
    /// A table.
    Table(Vec<(String, Plain)>),
    /// Absent: nothing is written.
    Absent,
}

impl Plain {
    fn is_table_list(&self) -> bool {
        matches!(self, Self::List(items) if !items.is_empty() && items.iter().all(|i| matches!(i, Self::Table(_))))
    }

    /// On one line, as the value of a key or in a list.
    pub fn inline(&self) -> String {
        match self {
            Self::Bool(b) => b.to_string(),
            Self::Integer(i) => i.to_string(),
            Self::Float(x) => float(*x),
            Self::Text(text) => quoted(text),
            Self::List(items) => format!("[{}]", items.iter().map(Self::inline).collect::<Vec<_>>().join(", ")),
            Self::Table(entries) => {
                let mut lines = Vec::new();
                flatten(&mut lines, "", entries);
                if lines.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", lines.join(", ")) }
            }
            Self::Absent => String::new(),
        }
    }

    /// As a TOML document: the keys of the top table, then its tables as `[x]`, then lists of tables as `[[x]]`;
    /// tables inside these as dotted keys. Equal values give equal bytes.
    pub fn document(&self) -> String {
        let Self::Table(entries) = self else { return self.inline() };
        let mut out = String::new();
        let block = |out: &mut String, header: &str, entries: &[(String, Self)]| {
            let mut lines = Vec::new();
            flatten(&mut lines, "", entries);
            if !out.is_empty() {
                out.push('\n');
            }
            let _ = writeln!(out, "{header}");
            for line in lines {
                let _ = writeln!(out, "{line}");
            }
        };
        let simple: Vec<_> =
            entries.iter().filter(|(_, v)| !matches!(v, Self::Table(_)) && !v.is_table_list()).cloned().collect();
        let mut lines = Vec::new();
        flatten(&mut lines, "", &simple);
        for line in lines {
            let _ = writeln!(out, "{line}");
        }
        for (name, value) in entries {
            match value {
                Self::Table(inner) => block(&mut out, &format!("[{}]", key(name)), inner),
                Self::List(items) if value.is_table_list() => {
                    for item in items {
                        if let Self::Table(inner) = item {
                            block(&mut out, &format!("[[{}]]", key(name)), inner);
                        }
                    }
                }
                _ => {}
            }
        }
        out
    }
}

/// Lines `key = value` of a table, those of inner tables with dotted keys.
fn flatten(lines: &mut Vec<String>, prefix: &str, entries: &[(String, Plain)]) {
    for (name, value) in entries {
        let full = if prefix.is_empty() { key(name) } else { format!("{prefix}.{}", key(name)) };
        match value {
            Plain::Table(inner) if inner.is_empty() => {}
            Plain::Table(inner) => flatten(lines, &full, inner),
            Plain::Absent => {}
            _ => lines.push(format!("{full} = {}", value.inline())),
        }
    }
}

fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    quote(&mut out, text).expect("a string takes all that is written");
    out
}

fn float(x: f64) -> String {
    if x.is_nan() {
        "nan".to_owned()
    } else if x.is_infinite() {
        if x > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else {
        format!("{x:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_plain_keys_first_and_dotted_keys_inside_tables() {
        let t = |entries: &[(&str, Plain)]| {
            Plain::Table(entries.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect())
        };
        let document = t(&[
            ("ap", t(&[("queue", t(&[("limit", Plain::Text("50 packets".into()))]))])),
            ("name", Plain::Text("a \"b\"".into())),
            ("stations", Plain::List(vec![t(&[("count", Plain::Integer(8))]), t(&[("x", Plain::Float(1e-7))])])),
            ("none", Plain::Absent),
        ]);
        let expected = "name = \"a \\\"b\\\"\"\n\n[ap]\nqueue.limit = \"50 packets\"\n\n[[stations]]\ncount = 8\n\n\
                        [[stations]]\nx = 1e-7\n";
        assert_eq!(document.document(), expected);
    }
}
