//! Descriptions of tables: for the reference, the JSON Schema, and the check of override paths.

use std::fmt::Write as _;

use crate::json::Json;

/// The variant of a choice that stands for a user-defined class, with the parameter `class`. Instead of the variant's
/// name one can write the class itself, as `module:Class`.
pub(crate) const CLASS: &str = "python";

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// What it is: the doc comment of its declaration.
    pub doc: String,
    /// Its keys, in the order of the declaration, including those of flattened tables.
    pub keys: Vec<Key>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it sets: the doc comment of its declaration.
    pub doc: String,
    /// The form of its value.
    pub shape: Shape,
    /// Its default as written in a file; `None` for a required or optional key.
    pub default: Option<String>,
    /// The keys that the default depends on; [`Key::default`] is then the default for their default values.
    pub depends_on: Vec<&'static str>,
    /// The rule for its values, as in `0 or more`.
    pub rule: Option<&'static str>,
}

impl Key {
    /// Whether the key is required.
    pub fn required(&self) -> bool {
        self.default.is_none() && !matches!(self.shape, Shape::Optional(_) | Shape::Table(_) | Shape::List(_))
    }
}

/// The form of a key's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// `true` or `false`.
    Bool,
    /// A whole number between two bounds.
    Integer {
        /// The least.
        min: i128,
        /// The greatest.
        max: i128,
    },
    /// Any number.
    Float,
    /// Any text.
    Text,
    /// A number with a unit.
    Quantity {
        /// What kind of quantity it is, as in `duration`.
        name: &'static str,
        /// The accepted units, the usual ones first.
        units: Vec<&'static str>,
        /// Whether it may be below zero.
        signed: bool,
    },
    /// One of several names.
    Choice(Choice),
    /// A list.
    List(Box<Shape>),
    /// A table.
    Table(Description),
    /// A value that may be absent.
    Optional(Box<Shape>),
    /// Any of several forms.
    OneOf(Vec<Shape>),
    /// A table whose keys the user chooses.
    Free,
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A table.
    Table(&'a Description),
    /// A list whose elements have this form.
    List(&'a Shape),
    /// A single value.
    Value(&'a Shape),
    /// A table whose keys the user chooses, or a value inside one.
    Free,
}

impl<'a> Found<'a> {
    pub(crate) fn of(shape: &'a Shape) -> Self {
        match shape.inner() {
            Shape::Table(table) => Self::Table(table),
            Shape::List(element) => Self::List(element),
            Shape::Free => Self::Free,
            value => Self::Value(value),
        }
    }
}

/// One of several names, each of which may have parameters in a neighbouring table of the same name.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// What the choice is about.
    pub doc: String,
    /// The variants.
    pub variants: Vec<Variant>,
}

/// One variant of a choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name in a file.
    pub name: &'static str,
    /// What it is; it begins with a summary.
    pub doc: String,
    /// Where it comes from: a paper, a standard, a program.
    pub source: Option<&'static str>,
    /// Whether the source gives only an outline, so that details had to be filled in.
    pub outline: bool,
    /// Its parameters.
    pub params: Option<Description>,
}

impl Variant {
    /// The first line of its description, continued to the end of its last sentence.
    pub fn summary(&self) -> String {
        let paragraph: Vec<&str> = self.doc.lines().take_while(|line| !line.is_empty()).collect();
        let text = paragraph.join(" ");
        let from = paragraph.first().map_or(0, |line| line.trim_end_matches('.').len());
        let end = text[from..].find(". ").map_or(text.len(), |at| from + at + 1);
        text[..end].to_owned()
    }
}

impl Shape {
    /// The form itself, without [`Shape::Optional`] around it.
    pub fn inner(&self) -> &Self {
        if let Self::Optional(inner) = self { inner.inner() } else { self }
    }

    /// A short description, as in `duration, as in "20 ms"`.
    pub fn words(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Integer { .. } => "whole number".to_owned(),
            Self::Float => "number".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Quantity { name, units, .. } => {
                format!("{name} in {}", units.iter().take(4).copied().collect::<Vec<_>>().join(", "))
            }
            Self::Choice(choice) => {
                choice.variants.iter().map(|variant| format!("`{}`", variant.name)).collect::<Vec<_>>().join(", ")
            }
            Self::List(inner) if matches!(**inner, Self::Table(_)) => "list of tables".to_owned(),
            Self::List(inner) => format!("list: {}", inner.words()),
            Self::Table(_) => "table".to_owned(),
            Self::Optional(inner) => inner.words(),
            Self::OneOf(shapes) => shapes.iter().map(Self::words).collect::<Vec<_>>().join(" or "),
            Self::Free => "table with keys of your own".to_owned(),
        }
    }
}

/// The lines of doc comments as one text, without the space that follows `///` and without blank lines at either end.
pub fn doc_text(doc: &str) -> String {
    let lines: Vec<&str> = doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()).collect();
    lines.join("\n").trim().to_owned()
}

impl Description {
    /// What `key` holds: a key of the table, or the parameters of a variant of one of its choices.
    pub fn find(&self, key: &str) -> Option<Found<'_>> {
        if let Some(found) = self.keys.iter().find(|k| k.name == key) {
            return Some(Found::of(&found.shape));
        }
        self.variants().find(|variant| variant.name == key).and_then(|v| v.params.as_ref()).map(Found::Table)
    }

    /// All names that the table accepts: its keys, and the names of variants with parameters.
    pub fn all_names(&self) -> Vec<&'static str> {
        let variants = self.variants().filter(|variant| variant.params.as_ref().is_some_and(|p| !p.keys.is_empty()));
        self.keys.iter().map(|key| key.name).chain(variants.map(|variant| variant.name)).collect()
    }

    /// The inner table that has the `key` that this table lacks, or else the variant whose parameters have it, if there
    /// is only one such variant.
    pub(crate) fn table_with(&self, key: &str) -> Option<&'static str> {
        let has = |outer: &&Key| matches!(outer.shape.inner(), Shape::Table(table) if table.find(key).is_some());
        let table = self.keys.iter().find(has).map(|outer| outer.name);
        let mut variants = self.variants().filter(|v| v.params.as_ref().is_some_and(|table| table.find(key).is_some()));
        table.or_else(|| variants.next().filter(|_| variants.next().is_none()).map(|only| only.name))
    }

    /// What to write instead of `table = "text"`, if `table` is one of the inner tables.
    pub(crate) fn where_to_write(&self, table: &str, text: &str) -> String {
        let chooses = |key: &&Key| match key.shape.inner() {
            Shape::Choice(choice) => choice.variants.iter().any(|variant| variant.name == text),
            _ => false,
        };
        match self.keys.iter().find(chooses) {
            Some(key) => format!("write {table}.{} = \"{}\"", key.name, crate::problem::shown(text)),
            None => {
                let names: Vec<&str> = self.keys.iter().map(|key| key.name).collect();
                format!("it has keys: {}", crate::suggest::hint(text, &names))
            }
        }
    }

    /// The paths of the keys that can be set to the choice `name`; of keys with equal choices the first.
    pub(crate) fn keys_with_choice(&self, name: &str) -> Vec<String> {
        let (mut found, mut seen) = (Vec::new(), Vec::new());
        self.collect_keys_with_choice(name, "", &mut seen, &mut found);
        found
    }

    fn collect_keys_with_choice(
        &self,
        name: &str,
        path: &str,
        seen: &mut Vec<Vec<&'static str>>,
        found: &mut Vec<String>,
    ) {
        for key in &self.keys {
            let full = format!("{path}{}", key.name);
            let shape = match key.shape.inner() {
                Shape::List(elements) => elements.inner(),
                other => other,
            };
            match shape {
                Shape::Choice(choice) => {
                    let names: Vec<&'static str> = choice.variants.iter().map(|variant| variant.name).collect();
                    if names.contains(&name) && !seen.contains(&names) {
                        seen.push(names);
                        found.push(full);
                    }
                }
                Shape::Table(inner) => inner.collect_keys_with_choice(name, &format!("{full}."), seen, found),
                _ => {}
            }
        }
    }

    fn variants(&self) -> impl Iterator<Item = &Variant> {
        self.keys.iter().flat_map(|key| match key.shape.inner() {
            Shape::Choice(choice) => choice.variants.as_slice(),
            _ => &[],
        })
    }

    /// A JSON Schema (draft 2020-12) of files that hold this table.
    pub fn json_schema(&self, title: &str) -> String {
        let head = [("$schema", "https://json-schema.org/draft/2020-12/schema"), ("title", title)];
        let head = head.map(|(key, text)| (key, Json::text(text)));
        Json::object(head.into_iter().chain(self.to_fields())).to_string()
    }

    fn to_fields(&self) -> Vec<(&'static str, Json)> {
        let mut properties = Vec::new();
        let mut required = Vec::new();
        for key in &self.keys {
            let mut doc = key.doc.clone();
            if let Some(rule) = key.rule {
                let _ = write!(doc, "\n\nValues: {rule}.");
            }
            if let Some(default) = &key.default {
                let _ = write!(doc, "\n\nDefault: {default}");
                if !key.depends_on.is_empty() {
                    let _ = write!(doc, " (depends on {})", key.depends_on.join(", "));
                }
            }
            let mut property = key.shape.to_fields();
            property.retain(|(name, _)| *name != "description");
            property.push(("description", Json::text(doc.trim())));
            properties.push((key.name, Json::object(property)));
            if key.required() {
                required.push(Json::text(key.name));
            }
        }
        for variant in self.variants() {
            if let Some(params) = &variant.params
                && !params.keys.is_empty()
            {
                properties.push((variant.name, Json::object(params.to_fields())));
            }
        }
        let mut fields = vec![
            ("type", Json::text("object")),
            ("description", Json::text(&self.doc)),
            ("properties", Json::object(properties)),
            ("additionalProperties", Json::Bool(false)),
        ];
        if !required.is_empty() {
            fields.push(("required", Json::List(required)));
        }
        fields
    }

    /// The reference in Markdown: a section for this table, then one for each table in it.
    ///
    /// `path` is the table's path, as in `ap.queue`; empty for the file itself.
    pub fn markdown(&self, title: &str, path: &str) -> String {
        let mut out = String::new();
        self.markdown_into(&mut out, title, path, 2, &mut Vec::new());
        out
    }

    /// `seen` holds the tables already written: a table that occurs again is only referred to.
    fn markdown_into<'a>(
        &'a self,
        out: &mut String,
        title: &str,
        path: &str,
        level: usize,
        seen: &mut Vec<(&'a Self, String)>,
    ) {
        let _ = write!(out, "{} {title}\n\n", "#".repeat(level.min(6)));
        if let Some((_, first)) = seen.iter().find(|(table, _)| *table == self) {
            let _ = write!(out, "The same keys as {first}.\n\n");
            return;
        }
        seen.push((self, title.to_owned()));
        let _ = write!(out, "{}\n\n", self.doc);
        let full = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        let mut inner = Vec::new();
        if !self.keys.is_empty() {
            out.push_str("| key | takes | default | what it sets |\n| --- | --- | --- | --- |\n");
        }
        for key in &self.keys {
            let default = match (&key.default, key.shape.inner()) {
                (Some(default), _) if key.depends_on.is_empty() => format!("`{default}`"),
                (Some(default), _) => format!("`{default}`, by {}", key.depends_on.join(", ")),
                (None, Shape::Table(_) | Shape::List(_)) => String::new(),
                (None, _) if key.required() => "required".to_owned(),
                (None, _) => "none".to_owned(),
            };
            let mut takes = key.shape.words();
            if let Some(rule) = key.rule {
                let _ = write!(takes, "; {rule}");
            }
            let doc = key.doc.replace("\n\n", "<br>").replace('\n', " ").replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {takes} | {default} | {doc} |", key.name);
            match key.shape.inner() {
                Shape::Table(table) => inner.push((format!("`[{}]`", full(key.name)), full(key.name), table)),
                Shape::List(list) => {
                    if let Shape::Table(table) = list.inner() {
                        inner.push((format!("`[[{}]]`", full(key.name)), full(key.name), table));
                    }
                }
                _ => {}
            }
        }
        out.push('\n');
        for key in &self.keys {
            let Shape::Choice(choice) = key.shape.inner() else { continue };
            let _ = write!(out, "Values of `{}`:\n\n", full(key.name));
            for variant in &choice.variants {
                let source = variant.source.map_or(String::new(), |source| format!(" Source: {source}."));
                let outline = if variant.outline { " Known from an outline only." } else { "" };
                let doc = variant.doc.replace('\n', " ");
                let _ = writeln!(out, "- `{}`: {doc}{source}{outline}", variant.name);
                if let Some(params) = &variant.params
                    && !params.keys.is_empty()
                {
                    inner.push((format!("`{}`", full(variant.name)), full(variant.name), params));
                }
            }
            out.push('\n');
        }
        for (title, path, table) in inner {
            table.markdown_into(out, &title, &path, level + 1, seen);
        }
    }
}

impl Shape {
    fn to_fields(&self) -> Vec<(&'static str, Json)> {
        let typed = |name: &str| vec![("type", Json::text(name))];
        match self {
            Self::Bool => typed("boolean"),
            Self::Integer { min, max } => {
                let mut fields = typed("integer");
                fields.push(("minimum", Json::number(min)));
                if *max <= i128::from(u32::MAX) {
                    fields.push(("maximum", Json::number(max)));
                }
                fields
            }
            Self::Float => typed("number"),
            Self::Text => typed("string"),
            Self::Quantity { units, signed, .. } => {
                let sign = if *signed { "[-+]?" } else { "" };
                let units: Vec<String> = units.iter().map(|unit| unit.replace('/', "\\/")).collect();
                let pattern = format!("^{sign}[0-9.]+([eE][-+]?[0-9]+)? ?({})$", units.join("|"));
                vec![("type", Json::text("string")), ("pattern", Json::text(&pattern))]
            }
            Self::Choice(choice) => {
                let object =
                    |fields: &[(&str, &str)]| Json::object(fields.iter().map(|(key, text)| (*key, Json::text(text))));
                let one = |variant: &Variant| object(&[("const", variant.name), ("description", &variant.summary())]);
                let mut forms: Vec<Json> = choice.variants.iter().map(one).collect();
                if choice.variants.iter().any(|variant| variant.name == CLASS) {
                    let about = "A class of yours: module:Class";
                    forms.push(object(&[("type", "string"), ("pattern", "^.+:.+$"), ("description", about)]));
                }
                vec![("oneOf", Json::List(forms))]
            }
            Self::List(inner) => vec![("type", Json::text("array")), ("items", Json::object(inner.to_fields()))],
            Self::Table(table) => table.to_fields(),
            Self::Optional(inner) => inner.to_fields(),
            Self::Free => typed("object"),
            Self::OneOf(shapes) => {
                vec![("anyOf", Json::List(shapes.iter().map(|shape| Json::object(shape.to_fields())).collect()))]
            }
        }
    }
}
