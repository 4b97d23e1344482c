//! A scenario as it is written: its text with overrides, parsed, and read as a table.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::describe::{Description, Found, Shape};
use crate::problem::{Origin, Problem, Problems, shown};
use crate::reader::Reader;
use crate::source::Source;
use crate::suggest::hint;
use crate::table::Table;
use crate::tree::{Content, Entry, KeyStep, PathError, Place, PlacedValue, Rank, steps};

/// A value of the scenario, set from outside: `ap.queue.limit=100 packets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    option: String,
    text: String,
}

impl Override {
    /// Parses the argument of `--set`, `PATH=VALUE`.
    pub fn set(text: &str) -> Self {
        Self::new("--set", text)
    }

    /// Parses `PATH=VALUE`; messages show `option` before it.
    ///
    /// If TOML can parse the value (`8`, `true`, `["a", "b"]`) that is the value; any other text is a string.
    pub fn new(option: &str, text: &str) -> Self {
        Self { option: option.to_owned(), text: text.to_owned() }
    }
}

/// A parsed text with its overrides, ready to be read as a [`Table`].
#[derive(Debug)]
pub struct Document {
    /// The top table.
    pub root: PlacedValue,
    pub(crate) sources: Vec<Source>,
    pub(crate) problems: Vec<Problem>,
    /// Lines with syntax errors; their contents are not checked further.
    pub(crate) broken: Vec<usize>,
}

impl Document {
    /// Parses TOML. Syntax errors are kept and reported by [`Document::read`] together with all others.
    pub fn parse(source: Source) -> Self {
        let text = source.text().to_owned();
        let (tree, errors) = DeTable::parse_recoverable(&text);
        let root = convert_table(tree.get_ref(), 0..0, 0);
        let mut document = Self { root, sources: vec![source], problems: Vec::new(), broken: Vec::new() };
        for error in errors {
            let span = error.span().unwrap_or_else(|| most_dots(&text));
            document.syntax_problem(error.message(), span);
        }
        document
    }

    /// Applies `overrides` in order; `top` describes which keys exist.
    ///
    /// # Panics
    /// If there are 2^32 overrides.
    pub fn set(&mut self, overrides: &[Override], top: &Description) {
        for change in overrides {
            let index = u32::try_from(self.sources.len()).expect("fewer than 2^32 overrides");
            self.sources.push(Source::option(&change.option, &change.text));
            if let Err((message, span, note)) = apply(&mut self.root, &change.text, index, top) {
                let spot = self.sources[index as usize].spot(span, &note);
                self.problems.push(Problem::new(&message).with_spot(spot));
            }
        }
    }

    /// Reads the whole document as a `T`.
    ///
    /// # Errors
    /// All problems together: of syntax, of the overrides, of keys and values.
    pub fn read<T: Table>(self) -> Result<T, Problems> {
        self.read_with(|value, _, _| Some(value))
    }

    /// Like [`Document::read`], followed by a check that sees the whole tree and reports conflicts between tables.
    ///
    /// `finish` is called only if everything else is right; it returns `None` if it reported a problem.
    ///
    /// # Errors
    /// All problems together.
    pub fn read_with<T: Table, U>(
        self,
        finish: impl FnOnce(T, &PlacedValue, &mut Reader) -> Option<U>,
    ) -> Result<U, Problems> {
        let Self { root, sources, problems, broken } = self;
        let broken_syntax = !broken.is_empty();
        let mut reader = Reader::new(sources, T::describe);
        let value = reader.read_root::<T>(&root);
        let value = match value {
            Some(value) if problems.is_empty() && reader.problems.is_empty() => finish(value, &root, &mut reader),
            _ => None,
        };
        let mut all = problems;
        let trusted = |problem: &Problem| {
            !broken_syntax || (!problem.absent && !problem.line().is_some_and(|line| broken.contains(&line)))
        };
        let knows_a_key = T::describe().all_names().iter().any(|name| root.get(name).is_some());
        if broken.len() > 1 && !knows_a_key {
            // Not one key is right: the file is something else, of which the first line is enough.
            all.truncate(1);
            let rest =
                format!("{} more lines are not TOML, and no key is known: is it the right file?", broken.len() - 1);
            all[0].notes.push(rest);
        } else {
            all.extend(reader.problems.into_iter().filter(trusted));
        }
        all.sort_by_key(|problem| problem.line().unwrap_or(0));
        let mut unique: Vec<Problem> = Vec::new();
        for problem in all {
            // A mistake in an override or a common table that applies to several tables is reported once.
            let same = |seen: &Problem| *seen == problem || (!seen.spots.is_empty() && seen.spots == problem.spots);
            if !unique.iter().any(same) {
                unique.push(problem);
            }
        }
        match value {
            Some(value) if unique.is_empty() => Ok(value),
            _ => {
                assert!(!unique.is_empty(), "a table that cannot be read has reported why");
                Err(Problems(unique))
            }
        }
    }

    fn syntax_problem(&mut self, message: &str, span: Range<usize>) {
        let source = &self.sources[0];
        let text = source.text();
        if message == "duplicate key" {
            let keys = written_keys(text);
            let path = keys.iter().find(|(_, at)| *at == span).map(|(path, _)| path);
            let first = keys.iter().find(|(earlier, at)| Some(earlier) == path && at.start < span.start);
            let name = text.get(span.clone()).unwrap_or_default().trim_matches(['"', '\'']);
            let mut problem = Problem::new(&format!("`{}` is set twice", shown(name)));
            problem.key = Some(name.to_owned());
            problem.spots.push(source.spot(span, "again here"));
            problem.spots.extend(first.map(|(_, at)| source.spot(at.clone(), "first here")));
            self.problems.push(problem);
            return;
        }
        let mut spot = source.spot(span, "");
        if let Origin::File { line, .. } = spot.origin {
            if self.broken.contains(&line) {
                return; // one message for a broken line
            }
            self.broken.push(line);
        }
        // A value such as 10ms or 802.11b begins like a number.
        let is_word = |value: &str| {
            let value = value.split('#').next().unwrap_or_default();
            value.contains(|c: char| c.is_ascii_alphabetic()) && !value.contains(['"', '\'', '[', '{'])
        };
        let bare = spot.excerpt.split_once('=').filter(|(_, value)| {
            message.starts_with("string values must be quoted")
                || (["invalid float", "invalid exponent"].iter().any(|start| message.starts_with(start))
                    && is_word(value))
        });
        let message = match bare {
            Some((key, value)) => {
                let (key, value) = (key.trim(), value.split('#').next().unwrap_or_default().trim());
                if value.is_empty() {
                    spot.note = format!("write a value, as in `{key} = 8` or `{key} = \"10 ms\"`");
                    format!("`{key}` has no value")
                } else {
                    spot.note = format!("write \"{value}\"");
                    format!("`{key}` has no quotes")
                }
            }
            None => format!("not TOML: {}", shown(message)),
        };
        self.problems.push(Problem::new(&message).with_spot(spot));
    }
}

/// The key with the most dots, which nests tables too deeply: the parser says that there is one, but not where.
fn most_dots(text: &str) -> Range<usize> {
    let mut found = (0, 0..0);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let key = line.split('=').next().unwrap_or_default();
        let dots = key.matches('.').count();
        if dots > found.0 {
            let indent = key.len() - key.trim_start().len();
            found = (dots, start + indent..start + key.trim_end().len().max(indent));
        }
        start += line.len();
    }
    found.1
}

/// The keys in the lines of `text`, each with its full path, which tells elements of `[[lists]]` apart.
///
/// It serves to find where a key was first set, and ignores inline tables and multi-line strings.
fn written_keys(text: &str) -> Vec<(String, Range<usize>)> {
    let mut keys = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut header = String::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let inner = line.trim_start_matches([' ', '\t', '[']);
        let is_header = line.trim_start().starts_with('[');
        let dotted = inner.split(if is_header { ']' } else { '=' }).next().unwrap_or_default();
        if is_header {
            header.clear();
        }
        let mut path = header.clone();
        let mut at = start + line.len() - inner.len();
        if is_header || dotted.len() < inner.len() {
            for part in dotted.split('.') {
                let name = part.trim();
                let begin = at + part.len() - part.trim_start().len();
                path = format!("{path}.{}", name.trim_matches(['"', '\'']));
                keys.push((path.clone(), begin..begin + name.len()));
                if let Some(count) = counts.get(&path) {
                    path = format!("{path}[{count}]");
                }
                at += part.len() + 1;
            }
        }
        if is_header {
            header = path;
            if line.trim_start().starts_with("[[") {
                let list = header.trim_end_matches(|c: char| c == ']' || c.is_ascii_digit()).trim_end_matches('[');
                let count = counts.entry(list.to_owned()).and_modify(|n| *n += 1).or_insert(0);
                header = format!("{list}[{count}]");
                keys.pop(); // the same key in another list element is no duplicate
            }
        }
        start += line.len();
    }
    keys
}

fn convert(value: &Spanned<DeValue<'_>>, source: u32) -> PlacedValue {
    let content = match value.get_ref() {
        DeValue::String(text) => Content::Text(text.clone().into_owned()),
        DeValue::Integer(number) => match i128::from_str_radix(number.as_str(), number.radix()) {
            Ok(whole) => Content::Integer(whole),
            Err(_) => Content::Float(f64::INFINITY), // hundreds of digits: out of range for every key
        },
        DeValue::Float(number) => Content::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(b) => Content::Bool(*b),
        DeValue::Datetime(_) => Content::Date,
        DeValue::Array(nodes) => Content::List(nodes.iter().map(|node| convert(node, source)).collect()),
        DeValue::Table(table) => return convert_table(table, value.span(), source),
    };
    PlacedValue { content, place: Place { source: Some(source), span: value.span() }, rank: Rank::Own }
}

fn convert_table(table: &DeTable<'_>, span: Range<usize>, source: u32) -> PlacedValue {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(name, value)| {
            let place = Place { source: Some(source), span: name.span() };
            Entry { name: name.get_ref().clone().into_owned(), place, node: convert(value, source) }
        })
        .collect();
    entries.sort_by_key(|entry| entry.place.span.start);
    PlacedValue { content: Content::Table(entries), place: Place { source: Some(source), span }, rank: Rank::Own }
}

/// Applies an override `PATH=VALUE`.
fn apply(root: &mut PlacedValue, text: &str, source: u32, top: &Description) -> Result<(), PathError> {
    let Some((path, value)) = text.split_once('=') else {
        let keys = top.keys_with_choice(text.trim());
        let meant: Vec<String> = keys.iter().map(|key| format!("`{key}={}`", text.trim())).collect();
        let note = match meant.len() {
            1..=3 => format!("did you mean {}?", meant.join(" or ")),
            _ => "write PATH=VALUE".to_owned(),
        };
        return Err((format!("`{}` sets nothing", shown(text)), 0..text.len(), note));
    };
    let steps = steps(path)?;
    if value.trim().is_empty() {
        let note = "write a value behind it; \"\" is an empty text".to_owned();
        return Err((format!("`{}` has no value", shown(path)), 0..text.len(), note));
    }
    let offset = path.len() + 1;
    let trimmed = value.trim();
    let start = offset + (value.len() - value.trim_start().len());
    let span = start..start + trimmed.len();
    let mut value = match DeValue::parse(trimmed) {
        Ok(parsed) if !matches!(parsed.get_ref(), DeValue::Datetime(_)) => convert(&parsed, source),
        _ => PlacedValue { content: Content::Text(trimmed.to_owned()), place: Place::default(), rank: Rank::Override },
    };
    mark(&mut value, source, &span);
    PathOverride { path, value: &value, written: trimmed, source, top }.apply(root, &steps, Found::Table(top))
}

/// Sets the place and the rank of all nodes of an override's value.
fn mark(node: &mut PlacedValue, source: u32, span: &Range<usize>) {
    node.place = Place { source: Some(source), span: span.clone() };
    node.rank = Rank::Override;
    match &mut node.content {
        Content::List(nodes) => nodes.iter_mut().for_each(|node| mark(node, source, span)),
        Content::Table(entries) => entries.iter_mut().for_each(|entry| {
            entry.place = Place { source: Some(source), span: span.clone() };
            mark(&mut entry.node, source, span);
        }),
        _ => {}
    }
}

/// An override while its path is followed into the tree.
struct PathOverride<'a> {
    path: &'a str,
    value: &'a PlacedValue,
    written: &'a str,
    source: u32,
    top: &'a Description,
}

impl PathOverride<'_> {
    fn apply(
        &self,
        node: &mut PlacedValue,
        steps: &[(KeyStep, Range<usize>)],
        kind: Found<'_>,
    ) -> Result<(), PathError> {
        let Some(((step, span), rest)) = steps.split_first() else {
            self.require_list(kind)?;
            *node = self.value.clone();
            let number = matches!(node.content, Content::Integer(_) | Content::Float(_) | Content::Bool(_));
            if number && matches!(kind, Found::Value(Shape::Text | Shape::Choice(_))) {
                node.content = Content::Text(self.written.to_owned()); // a name may look like a number or a boolean
            }
            return Ok(());
        };
        let error = |message: String, note: String| Err((message, span.clone(), note));
        let parent = self.path[..span.start].trim_end_matches(['.', ' ']);
        let parent = if parent.is_empty() { "a scenario".to_owned() } else { format!("`{}`", shown(parent)) };
        match (kind, step) {
            (Found::Table(description), KeyStep::Key(key)) => {
                let Some(inner) = description.find(key) else {
                    let note = self.elsewhere(key, span, description);
                    let note = note.unwrap_or_else(|| hint(key, &description.all_names()));
                    return error(format!("unknown key `{}` in {parent}", shown(key)), note);
                };
                match inner {
                    Found::List(_) if !rest.is_empty() && node.get(key).is_none() => {
                        return error(format!("the scenario has no `{key}`"), String::new());
                    }
                    Found::Value(shape) if !rest.is_empty() => {
                        return error(format!("`{key}` has no parts"), format!("it takes: {}", shape.words()));
                    }
                    _ => {}
                }
                let place = Place { source: Some(self.source), span: span.clone() };
                let Some(child) = node.make_at(key, &place, Rank::Override) else {
                    return error(format!("{parent} is not a table"), String::new());
                };
                self.apply(child, rest, inner)?;
                if rest.is_empty()
                    && let Content::Table(entries) = &mut node.content
                    && let Some(entry) = entries.iter_mut().find(|entry| entry.name == *key)
                {
                    entry.place = place;
                }
                Ok(())
            }
            (Found::List(element), KeyStep::Index(index)) => {
                let count = node.list().len();
                let Some(child) = node.list_mut().get_mut(*index) else {
                    return error(format!("{parent} has no `[{index}]`"), format!("it has {count}, from [0]"));
                };
                self.apply(child, rest, Found::of(element))
            }
            (Found::List(element), KeyStep::Key(key)) => {
                let Found::Table(description) = Found::of(element) else {
                    return error(format!("{parent} is a list"), "write [0] for its first".to_owned());
                };
                // An element's name addresses that element; anything else is a key of all elements.
                let named = |node: &PlacedValue| node.get("name").and_then(PlacedValue::text) == Some(key.as_str());
                let nodes = node.list_mut();
                if !rest.is_empty()
                    && let Some(child) = nodes.iter_mut().find(|node| named(node))
                {
                    return self.apply(child, rest, Found::of(element));
                }
                if description.find(key).is_none() {
                    let names = nodes.iter().filter_map(|node| node.get("name").and_then(PlacedValue::text));
                    let known: Vec<&str> = names.chain(description.all_names()).collect();
                    let note = self.elsewhere(key, span, description).unwrap_or_else(|| hint(key, &known));
                    return error(format!("no name or key `{}` in {parent}", shown(key)), note);
                }
                nodes.iter_mut().try_for_each(|child| self.apply(child, steps, Found::Table(description)))
            }
            (Found::Free, KeyStep::Key(key)) => {
                let place = Place { source: Some(self.source), span: span.clone() };
                match node.make_at(key, &place, Rank::Override) {
                    Some(child) => self.apply(child, rest, Found::Free),
                    None => error(format!("{parent} is not a table"), String::new()),
                }
            }
            _ => error(format!("{parent} has no parts"), String::new()),
        }
    }

    /// Refuses a single value for a list of tables.
    fn require_list(&self, kind: Found<'_>) -> Result<(), PathError> {
        let Found::List(Shape::Table(element)) = kind else { return Ok(()) };
        let what = match &self.value.content {
            Content::Integer(_) | Content::Float(_) => "a number",
            Content::Bool(_) => "true or false",
            Content::Text(_) => "a text",
            Content::Date | Content::List(_) | Content::Table(_) => return Ok(()),
        };
        let is_count = matches!(self.value.content, Content::Integer(_)) && element.find("count").is_some();
        let note = if is_count {
            format!("write {}.count={}", self.path.trim(), self.written)
        } else {
            format!("set a key of its tables, as in {}.name={}", self.path.trim(), self.written)
        };
        let span = self.value.place.span.clone();
        Err((format!("`{}` is a list of tables, not {what}", shown(self.path.trim())), span, note))
    }

    /// The corrected path, if the `key` at `span` belongs to one of the `table`'s own tables or to the top table.
    fn elsewhere(&self, key: &str, span: &Range<usize>, table: &Description) -> Option<String> {
        let (before, after) = self.path.split_at(span.start);
        match table.table_with(key) {
            Some(outer) => Some(format!("write {before}{outer}.{after}")),
            None => self.top.find(key).filter(|_| !before.is_empty()).map(|_| format!("write {after}")),
        }
    }
}
