//! The points of a sweep; each is computed when requested.

use std::collections::BTreeMap;

use wifair_config::{Plain, Table as _};

use super::axis::Values;
use super::draw::draw;
use super::{Axis, AxisItem, Design, Setting, SpannedError};
use crate::scenario::Scenario;

/// A larger number of points is probably a mistake.
const MOST_POINTS: u64 = 10_000_000;

/// The parts of a sweep that determine its points.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Axes of the grid, the outermost first.
    pub axes: Vec<Axis>,
    /// Listed points; each is combined with every point of the grid.
    pub points: Vec<Setting>,
    /// How many samples to draw of the parameters that have a distribution.
    pub samples: Option<u32>,
    /// The sampling design.
    pub design: Design,
    /// Seed of the samples.
    pub sample_seed: u64,
}

/// A parameter that a point sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The origin named in messages.
    pub origin: String,
    /// The path.
    pub path: String,
    /// The value, as written after `--set`.
    pub value: String,
}

/// The points of a sweep, in order.
#[derive(Clone, Debug)]
pub struct SweepPlan {
    groups: Vec<RowGroup>,
    count: u64,
}

/// Values that are used together, row by row.
#[derive(Clone, Debug)]
struct RowGroup {
    rows: Vec<Vec<ParameterValue>>,
}

#[derive(Clone, Debug)]
struct ParameterValue {
    path: String,
    origin: String,
    item: AxisItem,
}

/// An error, and the number of the axis (or, counted after the axes, of the point) that it concerns.
pub type PlanFault = (SpannedError, Option<usize>);

impl SweepPlan {
    /// The plan of a setup.
    ///
    /// # Errors
    /// The first inconsistency.
    pub fn new(setup: &Setup) -> Result<Self, PlanFault> {
        let mut groups: Vec<RowGroup> = Vec::new();
        let mut drawn: Option<usize> = None;
        let mut paths: Vec<&str> = Vec::new();
        for (number, axis) in setup.axes.iter().enumerate() {
            let fault = |message: &str, note: &str| Err((SpannedError::new(message, 0..0, note), Some(number)));
            for assignment in &axis.assignments {
                let path = assignment.path.as_str();
                if paths.contains(&path) {
                    return fault(&format!("`{path}` is varied twice"), "put all of its values into one");
                }
                paths.push(path);
                let cell = |item| ParameterValue { path: path.to_owned(), origin: axis.origin.clone(), item };
                let (group, items): (usize, Vec<AxisItem>) = match &assignment.values {
                    Values::List(items) if assignment == &axis.assignments[0] => {
                        groups.push(RowGroup { rows: vec![Vec::new(); items.len()] });
                        (groups.len() - 1, items.clone())
                    }
                    Values::List(items) => (groups.len() - 1, items.clone()),
                    Values::Drawn(law) => {
                        let Some(count) = setup.samples else {
                            return fault(
                                &format!("`{path}` is drawn, but nothing says how often"),
                                "write --samples 100, or samples = 100 in [sweep]",
                            );
                        };
                        let values = draw(law, path, count, setup.design, setup.sample_seed);
                        let group = *drawn.get_or_insert_with(|| {
                            groups.push(RowGroup { rows: vec![Vec::new(); count as usize] });
                            groups.len() - 1
                        });
                        (group, values.into_iter().map(AxisItem::Plain).collect())
                    }
                };
                for (row, item) in groups[group].rows.iter_mut().zip(items) {
                    row.push(cell(item));
                }
            }
        }
        if setup.samples.is_some() && drawn.is_none() {
            let note = "give a parameter a distribution, as in servers.delay = uniform(1 ms, 100 ms)";
            return Err((SpannedError::new("there is nothing to draw samples of", 0..0, note), None));
        }
        if !setup.points.is_empty() {
            let mut rows = Vec::new();
            for (number, point) in setup.points.iter().enumerate() {
                if let Some((path, _)) = point.values.iter().find(|(path, _)| paths.contains(&path.as_str())) {
                    let message = format!("`{path}` is varied, and set by a point");
                    return Err((SpannedError::new(&message, 0..0, ""), Some(setup.axes.len() + number)));
                }
                let cell = |(path, item): &(String, AxisItem)| ParameterValue {
                    path: path.clone(),
                    origin: point.origin.clone(),
                    item: item.clone(),
                };
                rows.push(point.values.iter().map(cell).collect());
            }
            groups.push(RowGroup { rows });
        }
        let sizes = groups.iter().map(|group| group.rows.len() as u64);
        let count = sizes.into_iter().try_fold(1_u64, u64::checked_mul).filter(|count| *count <= MOST_POINTS);
        match count {
            Some(count) => Ok(Self { groups, count }),
            None => {
                Err((SpannedError::new(&format!("more than {MOST_POINTS} points"), 0..0, "vary less at a time"), None))
            }
        }
    }

    /// Number of points.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The paths that are varied, each once.
    pub fn paths(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = Vec::new();
        for cell in self.groups.iter().flat_map(|group| group.rows.iter().flatten()) {
            if !paths.contains(&cell.path.as_str()) {
                paths.push(&cell.path);
            }
        }
        paths
    }

    /// The settings of point `index`; the last group changes fastest. Names in expressions refer to the settings of the
    /// point, or else to `base`.
    ///
    /// # Errors
    /// An expression that cannot be evaluated: the change with its text, and the reason.
    ///
    /// # Panics
    /// If `index` is out of range.
    pub fn point(&self, index: u64, base: &Scenario) -> Result<Vec<Change>, (Change, String)> {
        assert!(index < self.count, "the plan has {} points", self.count);
        let mut rest = index;
        let mut chosen: Vec<&Vec<ParameterValue>> = Vec::new();
        for group in self.groups.iter().rev() {
            let size = group.rows.len() as u64;
            chosen.push(&group.rows[(rest % size) as usize]);
            rest /= size;
        }
        let cells: Vec<&ParameterValue> = chosen.into_iter().rev().flatten().collect();
        let mut known: BTreeMap<&str, String> = BTreeMap::new();
        for cell in &cells {
            if let AxisItem::Plain(value) = &cell.item {
                known.insert(&cell.path, value.clone());
            }
        }
        let mut plain: Option<Plain> = None;
        for cell in &cells {
            let AxisItem::Template(template) = &cell.item else { continue };
            let plain = plain.get_or_insert_with(|| base.file.to_plain());
            let value_of = |name: &str| known.get(name).map(|text| unquoted(text)).or_else(|| look_up(plain, name));
            let change = |value| Change { origin: cell.origin.clone(), path: cell.path.clone(), value };
            let value = template.fill(&value_of).map_err(|why| (change(String::new()), why))?;
            known.insert(&cell.path, value);
        }
        let change = |cell: &ParameterValue| Change {
            origin: cell.origin.clone(),
            path: cell.path.clone(),
            value: known[cell.path.as_str()].clone(),
        };
        Ok(cells.into_iter().map(change).collect())
    }
}

/// A TOML string without its quotes.
fn unquoted(text: &str) -> String {
    let inner = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    inner.unwrap_or(text).to_owned()
}

/// The single value at a path. For a list: the element of that name, or the value common to all elements.
fn look_up(plain: &Plain, path: &str) -> Option<String> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match plain {
        Plain::Table(entries) => {
            let value = &entries.iter().find(|(key, _)| key == first)?.1;
            match rest {
                Some(rest) => look_up(value, rest),
                None => single(value),
            }
        }
        Plain::List(items) => {
            let named = |item: &&Plain| {
                matches!(item, Plain::Table(entries)
                if entries.iter().any(|(key, value)| key == "name" && *value == Plain::Text(first.to_owned())))
            };
            if let (Some(item), Some(rest)) = (items.iter().find(named), rest) {
                return look_up(item, rest);
            }
            let mut values = items.iter().map(|item| look_up(item, path));
            let value = values.next()??;
            values.all(|other| other.as_ref() == Some(&value)).then_some(value)
        }
        _ => None,
    }
}

fn single(value: &Plain) -> Option<String> {
    match value {
        Plain::Text(text) => Some(text.clone()),
        Plain::Bool(_) | Plain::Integer(_) | Plain::Float(_) => Some(value.inline()),
        _ => None,
    }
}
