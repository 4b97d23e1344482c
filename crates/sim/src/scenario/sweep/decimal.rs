//! Exact decimal numbers, so that `0.1..0.5:0.1` does not contain 0.30000000000000004.

use std::fmt;

/// The most digits after the decimal point.
const MOST_DIGITS: u32 = 15;

/// `units * 10^-digits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    units: i128,
    digits: u32,
}

impl Decimal {
    /// One.
    pub const ONE: Self = Self { units: 1, digits: 0 };

    /// Reads digits with an optional sign and decimal point from the start of `text`; also returns the rest of the
    /// text.
    pub fn parse_start(text: &str) -> Option<(Self, &str)> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let whole = unsigned.len() - unsigned.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut end = whole;
        let mut digits = 0;
        if let Some(rest) = unsigned[whole..].strip_prefix('.') {
            let fraction = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if fraction > 0 {
                digits = u32::try_from(fraction).ok().filter(|digits| *digits <= MOST_DIGITS)?;
                end += 1 + fraction;
            }
        }
        if whole == 0 && digits == 0 || whole > 18 {
            return None;
        }
        let number: String = unsigned[..end].chars().filter(|c| *c != '.').collect();
        let units: i128 = number.parse().ok()?;
        let units = if text.starts_with('-') { -units } else { units };
        Some((Self { units, digits }, &unsigned[end..]))
    }

    /// As a floating-point number.
    pub fn to_f64(self) -> f64 {
        self.to_string().parse().expect("a decimal is a number")
    }

    /// The same number with at least `digits` digits after the decimal point.
    fn with(self, digits: u32) -> Self {
        let more = digits.saturating_sub(self.digits);
        Self { units: self.units * 10_i128.pow(more), digits: self.digits + more }
    }

    /// `first`, `first + step`, ... up to `last`; `None` if there are more than `most` values.
    pub fn range(first: Self, last: Self, step: Self, most: usize) -> Option<Vec<Self>> {
        let digits = first.digits.max(last.digits).max(step.digits);
        let (first, last, step) = (first.with(digits).units, last.with(digits).units, step.with(digits).units);
        if step == 0 || (last - first) * step.signum() < 0 {
            return Some(Vec::new());
        }
        let count = usize::try_from((last - first) / step).ok().filter(|count| *count < most)?;
        let at = |index: usize| Self { units: first + step * index as i128, digits };
        Some((0..=count).map(at).collect())
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = 10_u128.pow(self.digits);
        let (whole, fraction) = (self.units.unsigned_abs() / scale, self.units.unsigned_abs() % scale);
        let sign = if self.units < 0 { "-" } else { "" };
        write!(f, "{sign}{whole}")?;
        if fraction > 0 {
            let digits = format!("{fraction:0width$}", width = self.digits as usize);
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

/// `first`, `first * factor`, ... up to `last`, to 12 digits; `None` if there are more than `most` values, or no end.
pub fn geometric(first: f64, last: f64, factor: f64, most: usize) -> Option<Vec<f64>> {
    if !(first > 0.0 && last > 0.0 && factor > 0.0) || factor == 1.0 {
        return Some(Vec::new());
    }
    let mut values = Vec::new();
    let mut value = first;
    // The tolerance includes `last` in spite of rounding.
    while if factor > 1.0 { value <= last * (1.0 + 1e-9) } else { value >= last * (1.0 - 1e-9) } {
        if values.len() == most {
            return None;
        }
        values.push(rounded(value, 12));
        value *= factor;
    }
    Some(values)
}

/// `value` rounded to this number of significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: &str, last: &str, step: &str) -> Vec<String> {
        let read = |text| Decimal::parse_start(text).unwrap().0;
        Decimal::range(read(first), read(last), read(step), 100).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ranges_are_exact() {
        assert_eq!(range("0.1", "0.5", "0.1"), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(range("2", "7", "2"), ["2", "4", "6"]);
        assert_eq!(range("3", "1", "-1"), ["3", "2", "1"]);
        assert_eq!(range("-0.5", "0.5", "0.5"), ["-0.5", "0", "0.5"]);
        assert!(range("3", "1", "1").is_empty());
        assert!(range("1", "3", "0").is_empty());
    }

    #[test]
    fn products_are_round_numbers() {
        assert_eq!(geometric(1.0, 64.0, 2.0, 100).unwrap(), [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        assert_eq!(geometric(0.001, 1.0, 10.0, 100).unwrap(), [0.001, 0.01, 0.1, 1.0]);
        assert_eq!(geometric(8.0, 1.0, 0.5, 100).unwrap(), [8.0, 4.0, 2.0, 1.0]);
        assert!(geometric(1.0, 1e300, 1.000_001, 100).is_none());
        assert!(geometric(0.0, 1.0, 2.0, 100).unwrap().is_empty());
    }

    #[test]
    fn numbers_end_where_units_begin() {
        let read = |text| Decimal::parse_start(text).map(|(number, rest)| (number.to_string(), rest));
        assert_eq!(read("2..20"), Some(("2".to_owned(), "..20")));
        assert_eq!(read("1.50 ms"), Some(("1.5".to_owned(), " ms")));
        assert_eq!(read("-.5"), Some(("-0.5".to_owned(), "")));
        assert_eq!(read("../trace.csv"), None);
        assert_eq!(read("reno"), None);
        assert_eq!(read("99999999999999999999"), None);
    }
}
