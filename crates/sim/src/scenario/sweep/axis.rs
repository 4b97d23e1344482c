//! An axis of a sweep: paths and the values that they take.

use std::ops::Range;

use super::decimal::{Decimal, geometric};
use super::formula::Template;
use super::split::{find, split, trim};

/// A longer list is probably a mistake.
const MOST_VALUES: usize = 1_000_000;

/// An error in a text, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpannedError {
    /// What is wrong.
    pub message: String,
    /// Its place, in bytes of the text.
    pub span: Range<usize>,
    /// What to write instead; may be empty.
    pub note: String,
}

impl SpannedError {
    pub(super) fn new(message: &str, span: Range<usize>, note: &str) -> Self {
        Self { message: message.to_owned(), span, note: note.to_owned() }
    }
}

/// One value of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum AxisItem {
    /// As written after `--set`.
    Plain(String),
    /// A value that depends on other parameters.
    Template(Template),
}

/// A distribution from which values are drawn. The bounds share a unit, which may be empty.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Uniform between two bounds.
    Uniform(f64, f64, String),
    /// The logarithm is uniform.
    LogUniform(f64, f64, String),
    /// Whole numbers between two bounds, both included, with equal probability.
    Integers(i64, i64, String),
    /// One of these, with equal probability.
    Choice(Vec<String>),
}

/// The values that a path takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Each of these in turn.
    List(Vec<AxisItem>),
    /// A new value for each sample.
    Drawn(Law),
}

/// A path and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The path, as in `ap.queue.limit`.
    pub path: String,
    /// Its values.
    pub values: Values,
}

/// `PATH = VALUES`, possibly several joined by `;`: then the first values are used together, then the second, and so
/// on.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    text: String,
    /// The origin named in messages, as in `--vary`.
    pub origin: String,
    /// Paths and values; all lists have the same length.
    pub assignments: Vec<Assignment>,
}

/// `PATH = VALUE`, possibly several joined by `;`: one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    text: String,
    /// The origin named in messages.
    pub origin: String,
    /// Paths and values.
    pub values: Vec<(String, AxisItem)>,
}

impl Axis {
    pub(super) const EXAMPLE: &'static str = "stations.count = 2..20:2";

    /// Reads an axis; `origin` is the place named in messages.
    ///
    /// # Errors
    /// The first error in the text.
    pub fn parse(text: &str, origin: &str) -> Result<Self, SpannedError> {
        let mut assignments: Vec<Assignment> = Vec::new();
        let mut lengths: Vec<usize> = Vec::new();
        for (path, span) in pairs(text, Self::EXAMPLE)? {
            let values = values(text, span.clone())?;
            match &values {
                Values::List(items) => lengths.push(items.len()),
                Values::Drawn(_) => lengths.push(usize::MAX),
            }
            if assignments.iter().any(|other| other.path == path) {
                return Err(SpannedError::new(&format!("`{path}` is varied twice"), span, ""));
            }
            let (first, last) = (lengths[0], lengths[lengths.len() - 1]);
            if first != last || (last == usize::MAX && lengths.len() > 1) {
                let other = &assignments[0].path;
                if first == usize::MAX || last == usize::MAX {
                    let note = "give it a --vary of its own";
                    return Err(SpannedError::new("a distribution cannot go together with other values", span, note));
                }
                let message = format!("{first} values of `{other}` go together with {last} of `{path}`");
                return Err(SpannedError::new(
                    &message,
                    span,
                    "give both the same number, or each a --vary of its own",
                ));
            }
            assignments.push(Assignment { path, values });
        }
        Ok(Self { text: text.to_owned(), origin: origin.to_owned(), assignments })
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether its values are drawn.
    pub fn is_drawn(&self) -> bool {
        self.assignments.iter().any(|assignment| matches!(assignment.values, Values::Drawn(_)))
    }
}

impl Setting {
    pub(super) const EXAMPLE: &'static str = "stations.count = 2; flows.tcp.cc = reno";

    /// Reads a point; `origin` is the place named in messages.
    ///
    /// # Errors
    /// The first error in the text.
    pub fn parse(text: &str, origin: &str) -> Result<Self, SpannedError> {
        let mut values: Vec<(String, AxisItem)> = Vec::new();
        for (path, span) in pairs(text, Self::EXAMPLE)? {
            if values.iter().any(|(other, _)| *other == path) {
                return Err(SpannedError::new(&format!("`{path}` is set twice"), span, ""));
            }
            values.push((path, item(text, span)?));
        }
        Ok(Self { text: text.to_owned(), origin: origin.to_owned(), values })
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The paths, and the spans of their values.
fn pairs(text: &str, example: &str) -> Result<Vec<(String, Range<usize>)>, SpannedError> {
    let mut pairs = Vec::new();
    for part in split(text, 0..text.len(), ';')? {
        let note = format!("write it as in \"{example}\"");
        let Some(equals) = find(text, part.clone(), '=')? else {
            return Err(SpannedError::new(&format!("`{}` says no value", &text[part.clone()]), part, &note));
        };
        let (path, value) = (trim(text, part.start..equals), trim(text, equals + 1..part.end));
        if path.is_empty() || value.is_empty() {
            let what = if path.is_empty() { "there is no path" } else { "there is no value" };
            return Err(SpannedError::new(what, part, &note));
        }
        pairs.push((text[path].to_owned(), value));
    }
    Ok(pairs)
}

fn values(text: &str, span: Range<usize>) -> Result<Values, SpannedError> {
    if let Some(law) = law(text, span.clone())? {
        return Ok(Values::Drawn(law));
    }
    let mut items = Vec::new();
    let mut before = span.start..span.start;
    for part in split(text, span.clone(), ',')? {
        if let Some(factor) =
            text[part.clone()].strip_prefix('*').filter(|factor| Decimal::parse_start(factor).is_some())
        {
            let note = match &text[before] {
                range if range.contains("..") => format!("write {range}:*{factor}"),
                _ => format!("a factor follows a range and a colon, as in 2..32:*{factor}"),
            };
            return Err(SpannedError::new(&format!("`*{factor}` is no value"), part, &note));
        }
        before = part.clone();
        match range(text, part.clone())? {
            Some(values) => items.extend(values.into_iter().map(AxisItem::Plain)),
            None => items.push(item(text, part)?),
        }
        if items.len() > MOST_VALUES {
            return Err(too_many(span));
        }
    }
    Ok(Values::List(items))
}

fn too_many(span: Range<usize>) -> SpannedError {
    SpannedError::new(&format!("more than {MOST_VALUES} values"), span, "take a larger step")
}

fn item(text: &str, span: Range<usize>) -> Result<AxisItem, SpannedError> {
    let part = &text[span.clone()];
    if part.is_empty() {
        let span = span.start.saturating_sub(1)..span.end.max(span.start);
        return Err(SpannedError::new("a value is missing", span, "there is nothing between two commas, or at an end"));
    }
    let literal = part.starts_with(['"', '\'', '[']);
    if !literal && part.contains('{') {
        return Ok(AxisItem::Template(Template::parse(text, span)?));
    }
    Ok(AxisItem::Plain(part.to_owned()))
}

/// The values of a range such as `2..20:2`, `10..100 ms:10` or `1..64:*2`; `None` if it is not a range.
fn range(text: &str, span: Range<usize>) -> Result<Option<Vec<String>>, SpannedError> {
    let part = &text[span.clone()];
    let Some((first, rest)) = Decimal::parse_start(part) else { return Ok(None) };
    let Some((unit_of_first, rest)) = rest.split_once("..") else { return Ok(None) };
    let wrong = || {
        let note = "write FIRST..LAST, FIRST..LAST:STEP or FIRST..LAST:*FACTOR";
        SpannedError::new(&format!("`{part}` is no range"), span.clone(), note)
    };
    let (last, rest) = Decimal::parse_start(rest.trim_start()).ok_or_else(wrong)?;
    let (unit_of_last, step) = rest.split_once(':').map_or((rest, None), |(unit, step)| (unit, Some(step.trim())));
    let (step, unit_of_step, multiplies) = match step {
        None => (Decimal::ONE, "", false),
        Some(step) => {
            let factor = step.strip_prefix('*');
            let (step, unit) = Decimal::parse_start(factor.unwrap_or(step).trim_start()).ok_or_else(wrong)?;
            (step, unit, factor.is_some())
        }
    };
    let units = [unit_of_last.trim(), unit_of_first.trim(), unit_of_step.trim()];
    let unit = units.into_iter().find(|unit| !unit.is_empty()).unwrap_or("");
    if units.iter().any(|other| !other.is_empty() && *other != unit) {
        return Err(SpannedError::new(&format!("`{part}` has several units"), span, "write it in one unit"));
    }
    let values: Option<Vec<String>> = if multiplies {
        geometric(first.to_f64(), last.to_f64(), step.to_f64(), MOST_VALUES)
            .map(|values| values.iter().map(|value| with_unit(value, unit)).collect())
    } else {
        Decimal::range(first, last, step, MOST_VALUES)
            .map(|values| values.iter().map(|value| with_unit(value, unit)).collect())
    };
    match values {
        None => Err(too_many(span)),
        Some(values) if values.is_empty() => {
            let note = if multiplies {
                "the bounds must be above 0, and the factor lead from the first to the last"
            } else if step.to_f64() == 0.0 {
                "the step is 0"
            } else {
                "the step does not lead from the first to the last"
            };
            Err(SpannedError::new(&format!("`{part}` is empty"), span, note))
        }
        Some(values) => Ok(Some(values)),
    }
}

pub(super) fn with_unit(value: &impl ToString, unit: &str) -> String {
    if unit.is_empty() { value.to_string() } else { format!("{} {unit}", value.to_string()) }
}

/// A distribution such as `uniform(1 ms, 100 ms)`; `None` if it is not one.
fn law(text: &str, span: Range<usize>) -> Result<Option<Law>, SpannedError> {
    let part = &text[span.clone()];
    let Some((name, rest)) = part.split_once('(') else { return Ok(None) };
    let name = name.trim();
    if !matches!(name, "uniform" | "loguniform" | "integers" | "choice") {
        return Ok(None);
    }
    if !rest.ends_with(')') {
        return Err(SpannedError::new("nothing can follow a distribution", span, "give it a --vary of its own"));
    }
    let open = span.start + part.find('(').expect("it was found") + 1;
    let arguments = split(text, open..span.end - 1, ',')?;
    if name == "choice" {
        let items = arguments.into_iter().map(|argument| match item(text, argument.clone())? {
            AxisItem::Plain(value) => Ok(value),
            AxisItem::Template(_) => Err(SpannedError::new("a choice cannot depend on other parameters", argument, "")),
        });
        return items.collect::<Result<_, _>>().map(|items| Some(Law::Choice(items)));
    }
    let wrong = |what: &str| {
        let note = format!("write it as in {name}(1, 100) or {name}(1 ms, 100 ms)");
        SpannedError::new(&format!("`{part}` {what}"), span.clone(), &note)
    };
    let [low, high] = arguments.as_slice() else { return Err(wrong("does not have two bounds")) };
    let bound = |at: &Range<usize>| {
        let (number, unit) =
            Decimal::parse_start(&text[at.clone()]).ok_or_else(|| wrong("has a bound that is no number"))?;
        Ok((number.to_f64(), unit.trim().to_owned()))
    };
    let ((low, low_unit), (high, high_unit)) = (bound(low)?, bound(high)?);
    if !low_unit.is_empty() && low_unit != high_unit {
        return Err(wrong("has several units"));
    }
    if low >= high {
        return Err(wrong("is empty"));
    }
    match name {
        "uniform" => Ok(Some(Law::Uniform(low, high, high_unit))),
        "loguniform" if low <= 0.0 => Err(wrong("has no logarithm at its lower bound")),
        "loguniform" => Ok(Some(Law::LogUniform(low, high, high_unit))),
        _ if low.fract() != 0.0 || high.fract() != 0.0 => Err(wrong("has a bound that is no whole number")),
        _ => Ok(Some(Law::Integers(low as i64, high as i64, high_unit))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Vec<String> {
        let axis = Axis::parse(&format!("x = {text}"), "").unwrap_or_else(|fault| panic!("{}", fault.message));
        let Values::List(items) = &axis.assignments[0].values else { panic!("{text} is drawn") };
        items.iter().map(|i| if let AxisItem::Plain(text) = i { text.clone() } else { "{}".to_owned() }).collect()
    }

    fn fault(text: &str) -> String {
        let fault = Axis::parse(text, "").unwrap_err();
        format!("{} [{}]", fault.message, &text[fault.span])
    }

    #[test]
    fn ranges_and_lists_go_together() {
        assert_eq!(plain("2..8:2, 20"), ["2", "4", "6", "8", "20"]);
        assert_eq!(plain("10..30 ms:10"), ["10 ms", "20 ms", "30 ms"]);
        assert_eq!(plain("10ms..30ms:10ms"), ["10 ms", "20 ms", "30 ms"]);
        assert_eq!(plain("1..8:*2"), ["1", "2", "4", "8"]);
        assert_eq!(plain("reno,vegas"), ["reno", "vegas"]);
        assert_eq!(plain("\"1..8\", '2'"), ["\"1..8\"", "'2'"]);
        assert_eq!(plain("[1, 2], [3]"), ["[1, 2]", "[3]"]);
        assert_eq!(plain("../a.csv, 802.11b"), ["../a.csv", "802.11b"]);
        assert_eq!(plain("{min(n, 2)} packets, 3 packets"), ["{}", "3 packets"]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        assert_eq!(fault("stations.count"), "`stations.count` says no value [stations.count]");
        assert_eq!(fault("= 3"), "there is no path [= 3]");
        assert_eq!(fault("x ="), "there is no value [x =]");
        assert_eq!(fault("x = 20..2:2"), "`20..2:2` is empty [20..2:2]");
        assert_eq!(fault("x = 2..20:0"), "`2..20:0` is empty [2..20:0]");
        assert_eq!(fault("x = 2..20:*0.5"), "`2..20:*0.5` is empty [2..20:*0.5]");
        assert_eq!(fault("x = 2..many"), "`2..many` is no range [2..many]");
        assert_eq!(fault("x = 1 ms..1 s"), "`1 ms..1 s` has several units [1 ms..1 s]");
        assert_eq!(fault("x = 1..9000000"), "more than 1000000 values [1..9000000]");
        assert_eq!(fault("x = 1,,2"), "a value is missing [,]");
        assert_eq!(fault("x = 1, 2; y = 1, 2, 3"), "2 values of `x` go together with 3 of `y` [1, 2, 3]");
        assert_eq!(fault("x = 1; x = 2"), "`x` is varied twice [2]");
        assert_eq!(fault("x = 2..32,*2"), "`*2` is no value [*2]");
        assert_eq!(Axis::parse("x = 2..32, *2", "").unwrap_err().note, "write 2..32:*2");
        assert_eq!(Axis::parse("x = *2", "").unwrap_err().note, "a factor follows a range and a colon, as in 2..32:*2");
        assert_eq!(fault("x = \"a"), "`\"` is not closed [\"]");
        assert_eq!(fault("x = uniform(1)"), "`uniform(1)` does not have two bounds [uniform(1)]");
        assert_eq!(fault("x = uniform(2, 1)"), "`uniform(2, 1)` is empty [uniform(2, 1)]");
        assert_eq!(fault("x = uniform(a, b)"), "`uniform(a, b)` has a bound that is no number [uniform(a, b)]");
        assert_eq!(
            fault("x = integers(1, 2.5)"),
            "`integers(1, 2.5)` has a bound that is no whole number [integers(1, 2.5)]"
        );
        assert_eq!(
            fault("x = 1; y = uniform(1, 2)"),
            "a distribution cannot go together with other values [uniform(1, 2)]"
        );
    }
}
