//! Collects errors while a tree is read.

use crate::describe::{Description, Found, Shape};
use crate::problem::{Problem, Spot};
use crate::source::Source;
use crate::tree::{Content, Place, PlacedValue, Rank, kind};

/// The context in which values are read: it knows the sources and collects the problems.
#[derive(Debug)]
pub struct Reader {
    sources: Vec<Source>,
    pub(crate) problems: Vec<Problem>,
    /// The keys from the top to the table that is being read.
    labels: Vec<String>,
    /// Describes the keys of the top table.
    top: fn() -> Description,
}

impl Reader {
    pub(crate) const fn new(sources: Vec<Source>, top: fn() -> Description) -> Self {
        Self { sources, problems: Vec::new(), labels: Vec::new(), top }
    }

    /// Whether `node` is a table, whose label is then the innermost.
    pub(crate) fn enters(
        &mut self,
        node: &PlacedValue,
        key: &str,
        element: Option<usize>,
        describe: fn() -> Description,
    ) -> bool {
        if !matches!(node.content, Content::Table(_)) {
            let is_several = matches!(node.content, Content::List(_)) && self.labels.is_empty();
            let note = match (node.text(), element) {
                (Some(text), None) => describe().where_to_write(key, text),
                (None, None) if is_several && describe().keys.iter().any(|inner| inner.name == "count") => {
                    format!("there is one [{key}]; `{key}.count` says how many they are")
                }
                (_, None) => format!("write it as [{}]", if self.labels.is_empty() { key } else { "..." }),
                (_, Some(_)) => "write it as [[...]]".to_owned(),
            };
            self.problem(&node.place, Some(key), &format!("`{key}` is {}, not a table", kind(node)), &note);
            return false;
        }
        let name = node.get("name").and_then(PlacedValue::text);
        self.labels.push(match (element, name) {
            (Some(_), Some(name)) if self.labels.is_empty() => {
                format!("[[{key}]] \"{}\"", crate::problem::shown(name))
            }
            (Some(index), _) if self.labels.is_empty() => format!("[[{key}]] number {}", index + 1),
            (Some(index), _) => format!("{key}[{index}]"),
            (None, _) if self.labels.is_empty() => format!("[{key}]"),
            (None, _) => key.to_owned(),
        });
        true
    }

    /// Ends a table that was entered.
    pub(crate) fn leave(&mut self) {
        self.labels.pop();
    }

    /// The table that is being read, as in `[[stations]] "near"`; empty at the top.
    pub fn label(&self) -> String {
        match self.labels.as_slice() {
            [] => String::new(),
            [top] => top.clone(),
            [top, inner @ ..] => format!("`{}` of {top}", inner.join(".")),
        }
    }

    /// `queue.red.` for the parameters of a queue of `[ap]`.
    pub(crate) fn inner_path(&self) -> String {
        self.labels.iter().skip(1).map(|label| format!("{label}.")).collect()
    }

    /// ` in [ap]`; empty at the top.
    pub(crate) fn in_label(&self) -> String {
        let label = self.label();
        if label.is_empty() { label } else { format!(" in {label}") }
    }

    /// Where the unknown `key` of a `table` would be valid: in one of its tables, or at the top.
    pub(crate) fn elsewhere(&self, key: &str, table: &Description) -> Option<String> {
        if let Some(outer) = table.table_with(key) {
            return Some(format!("write {outer}.{key}"));
        }
        let top = (!self.labels.is_empty()).then(self.top)?;
        Some(match top.find(key)? {
            Found::Table(_) => format!("`{key}` is a table of its own: [{key}]"),
            Found::List(Shape::Table(_)) => format!("`{key}` are tables of their own: [[{key}]]"),
            _ => format!("`{key}` belongs at the top, before the first [table]"),
        })
    }

    /// The line at `place` with a note; `None` for a place that is in no source.
    pub fn spot(&self, place: &Place, note: &str) -> Option<Spot> {
        let source = &self.sources[place.source? as usize];
        if place.span.is_empty() && place.span.start == 0 && !source.text().is_empty() {
            return None; // the top table
        }
        Some(source.spot(place.span.clone(), note))
    }

    /// Reports a problem at `place`.
    pub fn problem(&mut self, place: &Place, key: Option<&str>, message: &str, note: &str) {
        let problem = self.place_problem(place, message, note);
        self.problems.push(Problem { key: key.map(str::to_owned), ..problem });
    }

    fn place_problem(&self, place: &Place, message: &str, note: &str) -> Problem {
        match self.spot(place, note) {
            Some(spot) => Problem::new(message).with_spot(spot),
            None => Problem::of_file(self.sources[0].name(), message, note),
        }
    }

    /// Reports that something is absent from the table at `place`.
    pub fn missing(&mut self, place: &Place, key: &str, message: &str, note: &str) {
        let problem = self.place_problem(place, message, note);
        self.problems.push(Problem { key: Some(key.to_owned()), absent: true, ..problem });
    }

    /// Reports that `table` sets `key`, which has no effect because `choice` is `chosen` and not `needed`; returns
    /// whether nothing was reported. The key is accepted if the choice was made with a higher rank than the key.
    pub(crate) fn without_effect(
        &mut self,
        table: &PlacedValue,
        key: &str,
        what: &str,
        choice: &str,
        (chosen, needed): (Option<&str>, &str),
    ) -> bool {
        let Some(entry) = table.entry(key) else { return true };
        let choosing = table.get(choice);
        if entry.node.rank <= Rank::Inherited || choosing.is_some_and(|node| node.rank > entry.node.highest_rank()) {
            return true;
        }
        let why = match (chosen, choosing) {
            (None, _) => format!("{choice} is not set"),
            (Some(chosen), None) => format!("{choice} is \"{chosen}\" by default"),
            (Some(chosen), Some(_)) => format!("{choice} is \"{chosen}\""),
        };
        let note = format!("for {choice} = \"{needed}\" only");
        let places = [(Some(&entry.place), note.as_str()), (choosing.map(|node| &node.place), why.as_str())];
        self.clash(Some(key), &format!("{what}{}", self.in_label()), &places);
        false
    }

    /// Reports values that conflict, each with its note; notes on values that are in no source go to the end.
    pub fn clash(&mut self, key: Option<&str>, message: &str, places: &[(Option<&Place>, &str)]) {
        let mut problem = Problem::new(message);
        problem.key = key.map(str::to_owned);
        for (place, note) in places {
            match place.and_then(|place| self.spot(place, note)) {
                Some(spot) => problem.spots.push(spot),
                None => problem.notes.push((*note).to_owned()),
            }
        }
        if problem.spots.is_empty() {
            problem.file = Some(self.sources[0].name().to_owned());
        }
        self.problems.push(problem);
    }
}
