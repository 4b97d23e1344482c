//! Tables of named fields and the types of these: what `table!` and `choice!` implement.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Display;

use crate::describe::{CLASS, Description, Key, Shape, doc_text};
use crate::plain::Plain;
use crate::reader::Reader;
use crate::suggest::hint;
use crate::tree::{Content, Entry, PlacedValue, Rank, kind};

/// A table of a scenario. Declared with [`table!`](crate::table!).
pub trait Table: Sized {
    /// Describes its keys.
    fn describe() -> Description {
        Self::describe_over(None)
    }

    /// The same with the defaults of `base`, where these differ from the table's own.
    fn describe_over(base: Option<&Self>) -> Description;

    /// Reads its keys; returns `None` if any was wrong. `base` may give other defaults than the table's own.
    fn read_fields(fields: &mut Fields<'_, '_>, base: Option<&Self>) -> Option<Self>;

    /// Adds its keys as they are written in a file.
    fn write_fields(&self, out: &mut Vec<(String, Plain)>);

    /// A placeholder value: defaults where there are any, placeholders elsewhere.
    fn some() -> Self;

    /// The table as it is written in a file, all defaults filled in.
    fn to_plain(&self) -> Plain {
        let mut entries = Vec::new();
        self.write_fields(&mut entries);
        Plain::Table(entries)
    }

    /// The table as a TOML document, all defaults filled in. Equal tables give equal bytes.
    fn to_toml(&self) -> String {
        self.to_plain().document()
    }
}

/// The result of reading a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Taken<T> {
    /// The key is absent.
    Absent,
    /// The value is wrong, and the error has been reported.
    Bad,
    /// A value.
    Good(T),
}

/// A type that a key can have.
pub trait Value: Clone + PartialEq {
    /// Whether it also reads neighbouring keys, as a choice with parameters does.
    const CHOOSES: bool = false;

    /// The form that a value takes.
    fn shape() -> Shape;

    /// The form of a value when this one is the default, which may change the defaults of inner keys.
    fn shape_over(&self) -> Shape {
        Self::shape()
    }

    /// Reads the value of `key`; if it is wrong, reports the error and returns `None`.
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self>;

    /// The value as it is written in a file.
    fn to_plain(&self) -> Plain;

    /// A placeholder that lets reading continue after an error. Never zero for a type that is used as a divisor.
    fn some() -> Self;

    /// The value of an absent key without default, if the type has one.
    fn absent() -> Option<Self> {
        None
    }

    /// Reads one element of the list `key`.
    fn read_element(node: &PlacedValue, key: &str, _index: usize, reader: &mut Reader) -> Option<Self> {
        Self::read(node, key, reader)
    }

    /// Reads `key` of a table. Overridden only by types that read neighbouring keys.
    fn take(fields: &mut Fields<'_, '_>, key: &'static str, _default: Option<&Self>) -> Taken<Self> {
        match fields.get(key) {
            None => Taken::Absent,
            Some(node) => Self::read(node, key, fields.reader()).map_or(Taken::Bad, Taken::Good),
        }
    }

    /// Adds the key as it is written in a file.
    fn put(&self, key: &str, out: &mut Vec<(String, Plain)>) {
        match self.to_plain() {
            Plain::Absent => {}
            plain => out.push((key.to_owned(), plain)),
        }
    }
}

/// Reading of tables.
impl Reader {
    pub(crate) fn read_root<T: Table>(&mut self, root: &PlacedValue) -> Option<T> {
        let mut fields = Fields::new(root, self);
        let value = T::read_fields(&mut fields, None);
        if fields.finish(T::describe) { value } else { None }
    }

    /// Reads the table `node`, the value of `key` or an element of the list `key`.
    pub fn read_table<T: Table>(&mut self, node: &PlacedValue, key: &str, element: Option<usize>) -> Option<T> {
        self.read_table_over(node, key, element, None)
    }

    /// The same with the defaults of `base` where these differ from the table's own.
    pub fn read_table_over<T: Table>(
        &mut self,
        node: &PlacedValue,
        key: &str,
        element: Option<usize>,
        base: Option<&T>,
    ) -> Option<T> {
        if !self.enters(node, key, element, T::describe) {
            return None;
        }
        let mut fields = Fields::new(node, self);
        let value = T::read_fields(&mut fields, base);
        let good = fields.finish(T::describe);
        self.leave();
        if good { value } else { None }
    }

    /// Runs a check across several keys of a table; returns whether it reported nothing.
    pub fn check(&mut self, node: &PlacedValue, check: impl FnOnce(&mut At<'_>)) -> bool {
        let before = self.problems.len();
        check(&mut At::new(node, self));
        self.problems.len() == before
    }
}

/// A table that is being read: it hands out keys and, at the end, reports those that were never asked for.
#[derive(Debug)]
pub struct Fields<'n, 'r> {
    node: &'n PlacedValue,
    reader: &'r mut Reader,
    known: Vec<&'static str>,
    used: BTreeSet<String>,
    good: bool,
}

impl<'n, 'r> Fields<'n, 'r> {
    pub(crate) fn new(node: &'n PlacedValue, reader: &'r mut Reader) -> Self {
        Self { node, reader, known: Vec::new(), used: BTreeSet::new(), good: true }
    }

    /// The value of `key`, which is now marked as known.
    pub fn get(&mut self, key: &'static str) -> Option<&'n PlacedValue> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        let node = self.node.get(key)?;
        self.used.insert(key.to_owned());
        Some(node)
    }

    /// The reader to which problems are reported.
    pub fn reader(&mut self) -> &mut Reader {
        self.reader
    }

    /// Whether no error has been reported yet.
    pub fn is_good(&self) -> bool {
        self.good
    }

    /// Reads `key`; if its value is wrong, reports the error and returns a placeholder.
    pub fn field<T: Value>(&mut self, key: &'static str, default: Option<T>) -> T {
        match T::take(self, key, default.as_ref()) {
            Taken::Good(value) => value,
            Taken::Bad => {
                self.good = false;
                default.unwrap_or_else(T::some)
            }
            Taken::Absent => default.or_else(T::absent).unwrap_or_else(|| {
                self.missing(key, &T::shape());
                T::some()
            }),
        }
    }

    // Code that does not depend on the type is kept out of generic functions, which are compiled once for each type.
    fn missing(&mut self, key: &'static str, shape: &Shape) {
        self.good = false;
        let message = format!("`{key}` is missing{}", self.reader.in_label());
        let note = shape.example().map_or(String::new(), |example| {
            // Include the path of a table that is not in the source.
            let prefix = if self.node.entries().is_empty() { self.reader.inner_path() } else { String::new() };
            format!("write {prefix}{key} = {example}")
        });
        self.reader.missing(&self.node.place, key, &message, &note);
    }

    /// Reports an error unless `holds` accepts the value of `key`.
    pub fn unless_holds<T: Value>(&mut self, key: &'static str, value: &T, rule: &str, holds: impl FnOnce(&T) -> bool) {
        if self.good_field(key) && !holds(value) {
            self.breaks(key, &value.to_plain(), rule);
        }
    }

    fn breaks(&mut self, key: &'static str, value: &Plain, rule: &str) {
        self.good = false;
        match self.node.get(key) {
            Some(node) => {
                let message = format!("`{key}` is {}", node.shown());
                self.reader.problem(&node.place, Some(key), &message, &format!("must be {rule}"));
            }
            None => {
                let message = format!("`{key}` is {} by default", value.inline());
                self.reader.problem(&self.node.place, Some(key), &message, &format!("must be {rule}"));
            }
        }
    }

    /// Whether `key` was read without an error, so that its rule can be checked.
    fn good_field(&self, key: &str) -> bool {
        self.good || !self.reader.problems.iter().any(|problem| problem.key.as_deref() == Some(key))
    }

    /// Reads a flattened table, whose keys are among those of this one.
    pub fn flat<T: Table>(&mut self, base: Option<&T>) -> T {
        T::read_fields(self, base).unwrap_or_else(|| {
            self.good = false;
            T::some()
        })
    }

    /// The name that `key` chooses among `variants`; `default` where it is absent.
    pub fn choose(
        &mut self,
        key: &'static str,
        variants: &[&'static str],
        default: Option<&'static str>,
    ) -> Taken<&'static str> {
        let Some(node) = self.get(key) else { return default.map_or(Taken::Absent, Taken::Good) };
        match choose(node, key, variants, self.reader) {
            Some(name) => Taken::Good(name),
            None => Taken::Bad,
        }
    }

    /// Whether the variant `name` has parameters in the source.
    pub fn has(&self, name: &str) -> bool {
        self.node.get(name).is_some()
    }

    /// Reads the parameters of the variant `name` that `key` chose. If `key` names a Python class, that is the
    /// parameter `class`. `base` may give other defaults than the variant's own.
    pub fn params<T: Table>(&mut self, key: &'static str, name: &'static str, base: Option<&T>) -> Option<T> {
        let node = self.params_node(key, name);
        self.reader.read_table_over(&node, name, None, base)
    }

    fn params_node(&mut self, key: &'static str, name: &'static str) -> Cow<'n, PlacedValue> {
        if name == CLASS
            && let Some(class) = self.node.entry(key).filter(|entry| entry.node.text().is_some_and(is_class))
        {
            let mut params = self.get(name).cloned().unwrap_or_else(|| PlacedValue::empty(class.node.place.clone()));
            params.remove("class");
            if let Content::Table(entries) = &mut params.content {
                entries.push(Entry { name: "class".to_owned(), ..class.clone() });
            }
            return Cow::Owned(params);
        }
        if let Some(node) = self.get(name) {
            return Cow::Borrowed(node);
        }
        let place = self.node.get(key).map_or_else(|| self.node.place.clone(), |node| node.place.clone());
        Cow::Owned(PlacedValue::empty(place))
    }

    /// Checks the parameters of a variant that `key` did not choose: they are an error unless the choice was made with
    /// a higher rank than the parameters, and they must be valid in any case.
    pub fn leave<T: Table>(&mut self, key: &'static str, chosen: Option<&'static str>, name: &'static str) {
        let Some(node) = self.get(name) else { return };
        if self.reader.read_table::<T>(node, name, None).is_none() {
            self.good = false;
        }
        self.is_left(key, chosen, name);
    }

    fn is_left(&mut self, key: &'static str, chosen: Option<&'static str>, name: &'static str) {
        if self.node.get(key).is_some() && chosen.is_none() {
            return; // the choice itself is wrong
        }
        let what = format!("`{name}` is set but not chosen");
        self.good &= self.reader.without_effect(self.node, name, &what, key, (chosen, name));
    }

    /// Runs a check across several of the table's keys.
    pub fn check(&mut self, check: impl FnOnce(&mut At<'_>)) {
        self.good &= self.reader.check(self.node, check);
    }

    /// Reports unknown keys, and returns whether there was no error at all.
    pub(crate) fn finish(self, describe: fn() -> Description) -> bool {
        let mut good = self.good;
        for entry in self.node.entries() {
            if !self.used.contains(&entry.name) {
                good = false;
                let message = format!("unknown key `{}`{}", crate::problem::shown(&entry.name), self.reader.in_label());
                let elsewhere = self.reader.elsewhere(&entry.name, &describe());
                let note = elsewhere.unwrap_or_else(|| hint(&entry.name, &self.known));
                self.reader.problem(&entry.place, Some(&entry.name), &message, &note);
            }
        }
        good
    }
}

/// Whether a name denotes a class, `module:Class`.
pub fn is_class(name: &str) -> bool {
    name.split_once(':').is_some_and(|(module, class)| !module.is_empty() && !class.is_empty())
}

/// The one of `variants` that `node` names.
#[doc(hidden)]
pub fn choose(node: &PlacedValue, key: &str, variants: &[&'static str], reader: &mut Reader) -> Option<&'static str> {
    let Content::Text(text) = &node.content else {
        let message = format!("`{key}` is {}, not a name", kind(node));
        reader.problem(&node.place, Some(key), &message, &hint("", variants));
        return None;
    };
    let meant = if is_class(text) { CLASS } else { text.as_str() };
    let found = variants.iter().find(|variant| **variant == meant).copied();
    if found.is_none() {
        let message = format!("unknown {key} `{}`", crate::problem::shown(text));
        reader.problem(&node.place, Some(key), &message, &hint(text, variants));
    }
    found
}

/// A table that has been read, for checks across its keys.
#[derive(Debug)]
pub struct At<'a> {
    node: &'a PlacedValue,
    reader: &'a mut Reader,
}

impl<'a> At<'a> {
    pub(crate) fn new(node: &'a PlacedValue, reader: &'a mut Reader) -> Self {
        Self { node, reader }
    }

    /// Reports that the value of `key` is wrong. `key` may be a path, as in `queue.limit`.
    pub fn problem(&mut self, key: &str, message: &str, note: &str) {
        let place = self.node.at(key).map_or_else(|| self.node.place.clone(), |node| node.place.clone());
        self.reader.problem(&place, Some(key), message, note);
    }

    /// Reports that the values of these keys conflict; each has a note, and the first is the main one.
    pub fn clash(&mut self, message: &str, keys: &[(&str, &str)]) {
        let places: Vec<_> =
            keys.iter().map(|(key, note)| (self.node.at(key).map(|node| &node.place), *note)).collect();
        self.reader.clash(keys.first().map(|(key, _)| *key), message, &places);
    }

    /// Removes the `value` of `key` if `choice`, now `chosen`, is not `needed`: it has no effect there, which is an
    /// error unless the choice was made with a higher rank than the key.
    pub fn only_for<T, C: Display + PartialEq>(
        &mut self,
        key: &str,
        value: &mut Option<T>,
        choice: &str,
        (chosen, needed): (C, C),
    ) {
        if chosen != needed && value.take().is_some() {
            let (chosen, needed) = (chosen.to_string(), needed.to_string());
            let what = format!("`{key}` has no effect");
            self.reader.without_effect(self.node, key, &what, choice, (Some(&chosen), &needed));
        }
    }

    /// Whether `key` is in the source.
    pub fn has(&self, key: &str) -> bool {
        self.node.at(key).is_some()
    }

    /// Whether `key` is in the source, and `choice` was not made with a higher rank: what it sets is then meant to have
    /// an effect together with this choice.
    pub fn is_meant_with(&self, key: &str, choice: &str) -> bool {
        let rank = |key: &str| self.node.at(key).map(PlacedValue::highest_rank);
        rank(key).is_some_and(|own| own > Rank::Inherited && rank(choice).is_none_or(|chosen| chosen <= own))
    }
}

/// Describes a key, and returns a value for it, from which dependent defaults can be shown.
#[doc(hidden)]
pub fn describe_key<T: Value>(
    keys: &mut Vec<Key>,
    name: &'static str,
    doc: &str,
    default: Option<T>,
    depends_on: &[&'static str],
    rule: Option<&'static str>,
) -> T {
    let value = default.or_else(T::absent);
    let shape = value.as_ref().map_or_else(T::shape, T::shape_over);
    let plain = match (&value, &shape) {
        (_, Shape::Table(_)) | (None, _) => Plain::Absent,
        (Some(value), _) => value.to_plain(),
    };
    push_key(keys, (name, doc), shape, &plain, depends_on, rule);
    value.unwrap_or_else(T::some)
}

fn push_key(
    keys: &mut Vec<Key>,
    (name, doc): (&'static str, &str),
    shape: Shape,
    default: &Plain,
    depends_on: &[&'static str],
    rule: Option<&'static str>,
) {
    let default = (*default != Plain::Absent).then(|| default.inline());
    keys.push(Key { name, doc: doc_text(doc), shape, default, depends_on: depends_on.to_vec(), rule });
}

/// The default of a field: that of `base`, if it differs from the table's own.
#[doc(hidden)]
pub fn pick<T, F: Value>(base: Option<&T>, own: &Option<T>, field: impl Fn(&T) -> &F, default: Option<F>) -> Option<F> {
    match (base, own) {
        (Some(base), Some(own)) if field(base) != field(own) => Some(field(base).clone()),
        _ => default,
    }
}

/// The default, the value of an absent key, or a placeholder, in this order.
#[doc(hidden)]
pub fn some<T: Value>(default: Option<T>) -> T {
    default.or_else(T::absent).unwrap_or_else(T::some)
}

/// Reads a table that is the value of `key`: an absent table is read as an empty one, unless there is a default.
#[doc(hidden)]
pub fn take_table<T: Table>(fields: &mut Fields<'_, '_>, key: &'static str, default: Option<&T>) -> Taken<T> {
    if let Some(node) = fields.get(key) {
        return fields.reader.read_table_over(node, key, None, default).map_or(Taken::Bad, Taken::Good);
    }
    if default.is_some() {
        return Taken::Absent;
    }
    let empty = PlacedValue::empty(fields.node.place.clone());
    fields.reader.read_table(&empty, key, None).map_or(Taken::Bad, Taken::Good)
}
