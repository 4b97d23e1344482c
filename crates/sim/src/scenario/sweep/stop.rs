//! Stopping rules: when a point has enough seeds, as in `ci(jain_index) < 0.01`.

use std::fmt;

use wifair_config::hint;

use super::SpannedError;
use crate::record::{CellOutcome, Row as _};

/// A rule that is met when the half width of the 95 % confidence interval of a figure's mean over the seeds is below a
/// limit.
#[derive(Clone, Debug, PartialEq)]
pub struct StopRule {
    text: String,
    /// The figure of the cell.
    pub figure: &'static str,
    /// The limit, in the figure's unit or as a fraction of its mean.
    pub limit: f64,
    /// Whether it is a fraction of the mean.
    pub relative: bool,
}

impl StopRule {
    pub(super) const EXAMPLE: &'static str = "ci(jain_index) < 0.01";

    /// Reads a rule.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, SpannedError> {
        let all = 0..text.len();
        let wrong = || {
            let note = format!("write \"{}\" or \"ci(goodput_bps) < 5 %\"", Self::EXAMPLE);
            SpannedError::new(&format!("`{text}` is no rule to stop by"), all.clone(), &note)
        };
        let (left, right) = text.split_once('<').ok_or_else(wrong)?;
        let inner = left.trim().strip_prefix("ci").map(str::trim).and_then(|rest| rest.strip_prefix('('));
        let name = inner.and_then(|rest| rest.strip_suffix(')')).ok_or_else(wrong)?.trim();
        let figure = figure(name).map_err(|note| {
            let start = text.find(name).unwrap_or(0);
            SpannedError::new(&format!("no figure `{name}`"), start..start + name.len(), &note)
        })?;
        let number = right.trim();
        let (number, relative) = number.strip_suffix('%').map_or((number, false), |number| (number.trim(), true));
        let limit: f64 = number.parse().map_err(|_| wrong())?;
        if !(limit > 0.0 && limit.is_finite()) {
            return Err(SpannedError::new(&format!("`{text}` never holds"), all, "the limit must be above 0"));
        }
        Ok(Self { text: text.to_owned(), figure, limit: if relative { limit / 100.0 } else { limit }, relative })
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for StopRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The figure with that name, or the only one that begins with it; otherwise an error that lists the figures.
fn figure(name: &str) -> Result<&'static str, String> {
    let names: Vec<&'static str> = CellOutcome::columns().iter().map(|(name, _)| name.as_str()).collect();
    if let Some(same) = names.iter().find(|known| **known == name) {
        return Ok(same);
    }
    let near: Vec<&&str> = names.iter().filter(|known| !name.is_empty() && known.starts_with(name)).collect();
    match near.as_slice() {
        [only] => Ok(only),
        [] => Err(hint(name, &names)),
        several => {
            let several: Vec<&str> = several.iter().map(|name| **name).collect();
            Err(format!("it could be {}", several.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Result<(&'static str, f64, bool), String> {
        StopRule::parse(text).map(|r| (r.figure, r.limit, r.relative)).map_err(|f| format!("{}: {}", f.message, f.note))
    }

    #[test]
    fn limits_are_absolute_or_relative() {
        assert_eq!(rule("ci(jain) < 0.01"), Ok(("jain_index", 0.01, false)));
        assert_eq!(rule("ci( goodput_bps )<5 %"), Ok(("goodput_bps", 0.05, true)));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = "write \"ci(jain_index) < 0.01\" or \"ci(goodput_bps) < 5 %\"";
        assert_eq!(rule("jain < 0.01"), Err(format!("`jain < 0.01` is no rule to stop by: {wrong}")));
        assert_eq!(rule("ci(jain) < small"), Err(format!("`ci(jain) < small` is no rule to stop by: {wrong}")));
        assert_eq!(rule("ci(jian_index) < 1"), Err("no figure `jian_index`: did you mean `jain_index`?".to_owned()));
        assert_eq!(
            rule("ci(instantaneous) < 1"),
            Err("no figure `instantaneous`: it could be instantaneous_fairness, instantaneous_fairness_acked"
                .to_owned())
        );
        assert_eq!(rule("ci(jain) < 0"), Err("`ci(jain) < 0` never holds: the limit must be above 0".to_owned()));
    }
}
