//! What explanations rest on: tables of figures, and the scenario where it is known.

use std::collections::BTreeMap;

use wifair_sim::record::{Figure, Outcome, Row};
use wifair_sim::scenario::Scenario;

/// A column of a table of figures.
#[derive(Clone, Debug, PartialEq)]
pub enum FigureColumn {
    /// Names.
    Texts(Vec<String>),
    /// Numbers and counts; NaN where nothing is known.
    Numbers(Vec<f64>),
}

impl FigureColumn {
    fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }
}

/// A table of named columns of equal length; the names are those of results and captures.
#[derive(Clone, Debug, Default)]
pub struct FigureTable {
    columns: BTreeMap<String, FigureColumn>,
}

impl FigureTable {
    /// A table of these columns.
    pub fn new(columns: impl IntoIterator<Item = (String, FigureColumn)>) -> Self {
        Self { columns: columns.into_iter().collect() }
    }

    /// A table of the rows of several runs, each with the number of its run.
    fn of_runs<'a, R: Row + 'a>(runs: impl IntoIterator<Item = &'a [R]>) -> Self {
        let mut columns: BTreeMap<String, FigureColumn> = BTreeMap::new();
        let mut seeds = vec![];
        for (run, rows) in runs.into_iter().enumerate() {
            for row in rows {
                seeds.push(run as f64);
                for ((name, _), figure) in R::columns().iter().zip(row.figures()) {
                    let column = columns.entry(name.clone());
                    match figure {
                        Figure::Text(text) => match column.or_insert(FigureColumn::Texts(vec![])) {
                            FigureColumn::Texts(texts) => texts.push(text),
                            FigureColumn::Numbers(_) => unreachable!("a column holds figures of one kind"),
                        },
                        Figure::Count(count) => {
                            numbers(column.or_insert(FigureColumn::Numbers(vec![]))).push(count as f64)
                        }
                        Figure::Number(number) => numbers(column.or_insert(FigureColumn::Numbers(vec![]))).push(number),
                    }
                }
            }
        }
        columns.insert("seed".to_owned(), FigureColumn::Numbers(seeds));
        Self { columns }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.values().next().map_or(0, FigureColumn::len)
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        self.columns.contains_key(name)
    }

    /// The numbers of a column; `None` if there is none.
    pub fn numbers(&self, name: &str) -> Option<&[f64]> {
        match self.columns.get(name) {
            Some(FigureColumn::Numbers(numbers)) => Some(numbers),
            _ => None,
        }
    }

    /// The texts of a column; `None` if there is none.
    pub fn texts(&self, name: &str) -> Option<&[String]> {
        match self.columns.get(name) {
            Some(FigureColumn::Texts(texts)) => Some(texts),
            _ => None,
        }
    }
}

fn numbers(column: &mut FigureColumn) -> &mut Vec<f64> {
    match column {
        FigureColumn::Numbers(numbers) => numbers,
        FigureColumn::Texts(_) => unreachable!("a column holds figures of one kind"),
    }
}

/// The tables of a run, a saved result, a point of a sweep or a capture, and the scenario if it is known.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// A row for each flow and seed.
    pub flows: FigureTable,
    /// A row for each seed.
    pub cells: FigureTable,
    /// A row for each station and seed.
    pub stations: FigureTable,
    /// Connections of a capture that never carried data.
    pub attempts: FigureTable,
    /// Flows of datagrams in a capture.
    pub datagrams: FigureTable,
    /// Echoes in a capture.
    pub echoes: FigureTable,
    /// The scenario of a run.
    pub scenario: Option<Scenario>,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
    /// The time that was measured [s], if it is not the whole of the scenario's.
    pub measured_s: Option<f64>,
}

impl Evidence {
    /// The evidence of runs of one scenario.
    pub fn of_outcomes(scenario: &Scenario, outcomes: &[Outcome]) -> Self {
        Self {
            flows: FigureTable::of_runs(outcomes.iter().map(|one| &one.flows[..])),
            cells: FigureTable::of_runs(outcomes.iter().map(|one| std::slice::from_ref(&one.cell))),
            stations: FigureTable::of_runs(outcomes.iter().map(|one| &one.stations[..])),
            scenario: Some(scenario.clone()),
            seeds: outcomes.iter().map(|one| one.seed).collect(),
            measured_s: outcomes.iter().map(|one| one.measured_s).reduce(f64::min),
            ..Self::default()
        }
    }
}
