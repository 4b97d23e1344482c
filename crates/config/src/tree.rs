//! A tree of values in which every key and value carries its place in the source.

use std::ops::Range;

use crate::problem::shown;

/// Where something was written.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Place {
    /// Index of the source; `None` for a value that no source contains.
    pub(crate) source: Option<u32>,
    pub(crate) span: Range<usize>,
}

/// Where a value comes from, lowest precedence first. A parameter of a variant that is not chosen is an error, unless
/// the choice was made with a higher rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Rank {
    /// A common table, whose keys apply where the specific table is silent.
    Inherited,
    /// The table itself.
    #[default]
    Own,
    /// The command line.
    Override,
}

/// A value and its place.
#[derive(Clone, Debug, Default)]
pub struct PlacedValue {
    /// The value.
    pub content: Content,
    /// Where it was written.
    pub place: Place,
    /// Where the value comes from.
    pub rank: Rank,
}

/// A value.
#[derive(Clone, Debug)]
pub enum Content {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// A number with a point or exponent.
    Float(f64),
    /// A string.
    Text(String),
    /// A date or time, which no table uses.
    Date,
    /// A list.
    List(Vec<PlacedValue>),
    /// A table, in the order of the text.
    Table(Vec<Entry>),
}

impl Default for Content {
    fn default() -> Self {
        Self::Table(Vec::new())
    }
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub name: String,
    /// Where the key was written.
    pub place: Place,
    /// The value.
    pub node: PlacedValue,
}

impl PlacedValue {
    /// An empty table, as if written at `place`.
    pub fn empty(place: Place) -> Self {
        Self { content: Content::Table(Vec::new()), place, rank: Rank::Inherited }
    }

    /// The value of `key`, if this is a table that has it.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    /// The text, if this is a string.
    pub fn text(&self) -> Option<&str> {
        if let Content::Text(text) = &self.content { Some(text) } else { None }
    }

    /// The entries; empty if this is not a table.
    pub fn entries(&self) -> &[Entry] {
        if let Content::Table(entries) = &self.content { entries } else { &[] }
    }

    /// The highest rank of any value in the tree.
    pub fn highest_rank(&self) -> Rank {
        self.entries().iter().map(|entry| entry.node.highest_rank()).max().unwrap_or(self.rank)
    }

    /// The elements; empty if this is not a list.
    pub fn list(&self) -> &[Self] {
        if let Content::List(nodes) = &self.content { nodes } else { &[] }
    }

    /// The elements; empty if this is not a list.
    pub fn list_mut(&mut self) -> &mut [Self] {
        if let Content::List(nodes) = &mut self.content { nodes } else { &mut [] }
    }

    /// The entry of `key`, if this is a table that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.name == key)
    }

    /// The node at `path`, a dotted path with `[0]` for elements of lists, as in `flows[2].tcp.cc`.
    pub fn at(&self, path: &str) -> Option<&Self> {
        steps(path).ok()?.iter().try_fold(self, |node, (step, _)| match step {
            KeyStep::Key(key) => node.get(key),
            KeyStep::Index(index) => node.list().get(*index),
        })
    }

    /// The value of `key`, created as an empty table if absent; `None` if this is not a table.
    pub fn make(&mut self, key: &str) -> Option<&mut Self> {
        let place = self.place.clone();
        self.make_at(key, &place, Rank::Own)
    }

    /// The same, where a table that is created is at `place`, with this rank.
    pub(crate) fn make_at(&mut self, key: &str, place: &Place, rank: Rank) -> Option<&mut Self> {
        let Content::Table(entries) = &mut self.content else { return None };
        let index = entries.iter().position(|entry| entry.name == key).unwrap_or_else(|| {
            let node = Self { content: Content::default(), place: place.clone(), rank };
            entries.push(Entry { name: key.to_owned(), place: place.clone(), node });
            entries.len() - 1
        });
        Some(&mut entries[index].node)
    }

    /// Removes and returns the value of `key`.
    pub fn remove(&mut self, key: &str) -> Option<Self> {
        let Content::Table(entries) = &mut self.content else { return None };
        let index = entries.iter().position(|entry| entry.name == key)?;
        Some(entries.remove(index).node)
    }

    /// Copies the keys that `common` has and this table lacks, recursively; the copies get the lowest rank.
    pub fn inherit(&mut self, common: &Self) {
        let (Content::Table(own), Content::Table(common)) = (&mut self.content, &common.content) else { return };
        for entry in common {
            if let Some(same) = own.iter_mut().find(|own| own.name == entry.name) {
                same.node.inherit(&entry.node);
            } else {
                let mut entry = entry.clone();
                entry.node.lower();
                own.push(entry);
            }
        }
    }

    /// Gives the whole tree the lowest rank, as for tables that others inherit from.
    pub fn lower(&mut self) {
        self.rank = Rank::Inherited;
        match &mut self.content {
            Content::List(nodes) => nodes.iter_mut().for_each(Self::lower),
            Content::Table(entries) => entries.iter_mut().for_each(|entry| entry.node.lower()),
            _ => {}
        }
    }

    /// The value as a message may show it.
    pub fn shown(&self) -> String {
        match &self.content {
            Content::Bool(b) => b.to_string(),
            Content::Integer(i) => i.to_string(),
            Content::Float(x) => x.to_string(),
            Content::Text(text) => shown(text),
            Content::Date => "a date".to_owned(),
            Content::List(_) => "a list".to_owned(),
            Content::Table(_) => "a table".to_owned(),
        }
    }
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyStep {
    /// To the value of a key.
    Key(String),
    /// To an element of a list.
    Index(usize),
}

/// What is wrong in a path, where, and what to write instead.
pub type PathError = (String, Range<usize>, String);

/// The steps of a path such as `flows[0].tcp.cc`, each with its span.
///
/// # Errors
/// If it is no path.
pub fn steps(path: &str) -> Result<Vec<(KeyStep, Range<usize>)>, PathError> {
    let mut steps = Vec::new();
    let mut at = 0;
    for part in path.split('.') {
        let (key, mut rest) = part.find('[').map_or((part, ""), |bracket| part.split_at(bracket));
        let trimmed = key.trim();
        let start = at + (key.len() - key.trim_start().len());
        if trimmed.is_empty() {
            let note = "write it as in `ap.queue.limit` or `flows[0].tcp.cc`".to_owned();
            return Err((format!("`{}` is not a path", shown(path.trim())), 0..path.len(), note));
        }
        steps.push((KeyStep::Key(trimmed.trim_matches('"').to_owned()), start..start + trimmed.len()));
        while let Some(inner) = rest.strip_prefix('[') {
            let offset = at + part.len() - rest.len();
            let (index, after) = inner.split_once(']').unwrap_or((inner, ""));
            let span = offset..offset + index.len() + 2;
            let Ok(index) = index.trim().parse() else {
                return Err((format!("`[{}]` is not a place in a list", shown(index)), span, "write [0]".to_owned()));
            };
            steps.push((KeyStep::Index(index), span));
            rest = after;
        }
        at += part.len() + 1;
    }
    Ok(steps)
}

/// The type of a node, with its article.
pub(crate) fn kind(node: &PlacedValue) -> &'static str {
    match node.content {
        Content::Bool(_) => "true or false",
        Content::Integer(_) | Content::Float(_) => "a number",
        Content::Text(_) => "a string",
        Content::Date => "a date",
        Content::List(_) => "a list",
        Content::Table(_) => "a table",
    }
}
