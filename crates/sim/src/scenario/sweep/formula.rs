//! Values that depend on others: `{2 * stations.count} packets`.
//!
//! Braces contain numbers, names of parameters, `+ - * /`, parentheses, and `min`, `max`, `round`, `floor`, `ceil`,
//! `sqrt`, `log2`. A quantity is converted to its base unit: s, bit/s, bytes, dBm, dB, m, packets. A name alone stands
//! for the value as written.

use std::ops::Range;

use wifair_config::Limit;
use wifair_units::{BitRate, Bytes, Db, Dbm, Duration, Metres, Quantity};

use super::SpannedError;

/// A text with expressions in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Expression(Formula),
}

#[derive(Clone, Debug, PartialEq)]
enum Formula {
    Number(f64),
    Name(String),
    Minus(Box<Formula>),
    Binary(char, Box<Formula>, Box<Formula>),
    Call(&'static str, Vec<Formula>),
}

const FUNCTIONS: [&str; 7] = ["min", "max", "round", "floor", "ceil", "sqrt", "log2"];

/// A longer expression is probably a mistake; the limit also bounds the nesting.
const LONGEST: usize = 1000;

impl Template {
    /// Reads `text[span]`.
    ///
    /// # Errors
    /// If a brace is not closed, or its contents are not an expression.
    pub fn parse(text: &str, span: Range<usize>) -> Result<Self, SpannedError> {
        let mut pieces = Vec::new();
        let mut at = span.start;
        while let Some(open) = text[at..span.end].find('{').map(|index| at + index) {
            if open > at {
                pieces.push(Piece::Text(text[at..open].to_owned()));
            }
            let Some(close) = text[open..span.end].find('}').map(|index| open + index) else {
                return Err(SpannedError::new("`{` is not closed", open..open + 1, ""));
            };
            if close - open > LONGEST {
                return Err(SpannedError::new("an expression of more than 1000 characters", open..close, ""));
            }
            let mut parser = FormulaParser { text, at: open + 1, end: close };
            let expression = parser.sum()?;
            parser.space();
            if parser.at < close {
                return Err(parser.fault("cannot read this part of the expression"));
            }
            pieces.push(Piece::Expression(expression));
            at = close + 1;
        }
        if at < span.end {
            pieces.push(Piece::Text(text[at..span.end].to_owned()));
        }
        Ok(Self(pieces))
    }

    /// The text with its expressions evaluated; `value_of` returns what is written at a path.
    ///
    /// # Errors
    /// A message if a name is unknown, or a number is needed where there is none.
    pub fn fill(&self, value_of: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
        let fill = |piece: &Piece| match piece {
            Piece::Text(text) => Ok(text.clone()),
            Piece::Expression(Formula::Name(name)) => look_up(name, value_of),
            Piece::Expression(expression) => {
                let value = expression.value(value_of)?;
                if value.is_finite() { Ok(value.to_string()) } else { Err(format!("an expression gives {value}")) }
            }
        };
        self.0.iter().map(fill).collect()
    }
}

impl Formula {
    fn value(&self, value_of: &dyn Fn(&str) -> Option<String>) -> Result<f64, String> {
        Ok(match self {
            Self::Number(number) => *number,
            Self::Name(name) => {
                let text = look_up(name, value_of)?;
                number_of(&text).ok_or_else(|| format!("`{name}` is `{text}`, which is no number"))?
            }
            Self::Minus(inner) => -inner.value(value_of)?,
            Self::Binary(operator, left, right) => {
                let (left, right) = (left.value(value_of)?, right.value(value_of)?);
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
            Self::Call(function, arguments) => {
                let values = arguments.iter().map(|a| a.value(value_of)).collect::<Result<Vec<_>, _>>()?;
                let first = values[0];
                match *function {
                    "min" => values.iter().copied().fold(first, f64::min),
                    "max" => values.iter().copied().fold(first, f64::max),
                    "round" => libm::round(first),
                    "floor" => libm::floor(first),
                    "ceil" => libm::ceil(first),
                    "sqrt" => libm::sqrt(first),
                    _ => libm::log2(first),
                }
            }
        })
    }
}

fn look_up(name: &str, value_of: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    value_of(name).ok_or_else(|| format!("`{name}` stands for no single value of the scenario"))
}

/// A value as a number, quantities in their base unit: s, bit/s, bytes, packets, dBm, dB, m.
pub fn number_of(text: &str) -> Option<f64> {
    let packets = || match Limit::parse(text) {
        Ok(Limit::Packets(packets)) => Some(packets as f64),
        _ => None,
    };
    let plain = || text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    plain()
        .or_else(|| Duration::parse(text).ok().map(Duration::as_secs))
        .or_else(|| BitRate::parse(text).ok().map(|rate| rate.as_bps() as f64))
        .or_else(|| Bytes::parse(text).ok().map(|size| size.0 as f64))
        .or_else(packets)
        .or_else(|| Dbm::parse(text).ok().map(|level| level.0))
        .or_else(|| Db::parse(text).ok().map(|ratio| ratio.0))
        .or_else(|| Metres::parse(text).ok().map(|distance| distance.0))
}

struct FormulaParser<'a> {
    text: &'a str,
    at: usize,
    end: usize,
}

impl FormulaParser<'_> {
    fn space(&mut self) {
        let rest = &self.text[self.at..self.end];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.space();
        self.text[self.at..self.end].chars().next()
    }

    fn fault(&self, message: &str) -> SpannedError {
        let width = self.text[self.at..self.end].chars().next().map_or(1, char::len_utf8);
        SpannedError::new(message, self.at..self.at + width, "write it as in {2 * stations.count}")
    }

    fn sum(&mut self) -> Result<Formula, SpannedError> {
        self.chain(&['+', '-'], |parser| parser.chain(&['*', '/'], Self::factor))
    }

    /// Operands joined by some operators, from left to right.
    fn chain(
        &mut self,
        operators: &[char],
        operand: impl Fn(&mut Self) -> Result<Formula, SpannedError>,
    ) -> Result<Formula, SpannedError> {
        let mut left = operand(self)?;
        while let Some(operator) = self.peek().filter(|next| operators.contains(next)) {
            self.at += 1;
            left = Formula::Binary(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Formula, SpannedError> {
        match self.peek() {
            Some('-') => {
                self.at += 1;
                Ok(Formula::Minus(Box::new(self.factor()?)))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            Some(_) => Err(self.fault("cannot read this part of the expression")),
            None => Err(self.fault("the expression ends too early")),
        }
    }

    fn expect(&mut self, wanted: char) -> Result<(), SpannedError> {
        if self.peek() == Some(wanted) {
            self.at += 1;
            return Ok(());
        }
        Err(self.fault(&format!("`{wanted}` is missing")))
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &str {
        let rest = &self.text[self.at..self.end];
        let length = rest.len() - rest.trim_start_matches(belongs).len();
        self.at += length;
        &rest[..length]
    }

    fn number(&mut self) -> Result<Formula, SpannedError> {
        let start = self.at;
        let text = self.take(|c| c.is_ascii_digit() || c == '.').to_owned();
        self.space();
        match text.parse() {
            Ok(number) => Ok(Formula::Number(number)),
            Err(_) => Err(SpannedError::new(&format!("`{text}` is no number"), start..start + text.len(), "")),
        }
    }

    fn name(&mut self) -> Result<Formula, SpannedError> {
        let start = self.at;
        let name = self.take(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']')).to_owned();
        if self.peek() != Some('(') {
            return Ok(Formula::Name(name));
        }
        let Some(function) = FUNCTIONS.into_iter().find(|function| *function == name) else {
            let note = format!("there are {}", FUNCTIONS.join(", "));
            return Err(SpannedError::new(&format!("no function `{name}`"), start..start + name.len(), &note));
        };
        self.at += 1;
        let mut arguments = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.at += 1;
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        if arguments.len() > 1 && !matches!(function, "min" | "max") {
            return Err(SpannedError::new(&format!("`{function}` takes one value"), start..start + name.len(), ""));
        }
        Ok(Formula::Call(function, arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(text: &str) -> Result<String, String> {
        let known = |name: &str| match name {
            "n" => Some("6".to_owned()),
            "cc" => Some("vegas".to_owned()),
            "delay" => Some("20 ms".to_owned()),
            "rate" => Some("8 Mb/s".to_owned()),
            "limit" => Some("50 packets".to_owned()),
            _ => None,
        };
        Template::parse(text, 0..text.len()).map_err(|fault| fault.message)?.fill(&known)
    }

    #[test]
    fn expressions_are_worked_out_as_in_arithmetic() {
        assert_eq!(fill("{2 * n} packets").unwrap(), "12 packets");
        assert_eq!(fill("{1 + 2 * 3 - 4 / 2}").unwrap(), "5");
        assert_eq!(fill("{-(n - 10) / 8}").unwrap(), "0.5");
        assert_eq!(fill("{8 - 3 - 2}").unwrap(), "3");
        assert_eq!(
            fill("{max(n, 2, 9)} {min(n, 2)} {ceil(n / 4)} {floor(n / 4)} {sqrt(16)} {log2(n + 2)}").unwrap(),
            "9 2 2 1 4 3"
        );
        assert_eq!(fill("{cc}-like").unwrap(), "vegas-like");
        assert_eq!(fill("{delay}").unwrap(), "20 ms");
    }

    /// 8 Mb/s for 2 * 20 ms is 320000 bits, or 40000 bytes.
    #[test]
    fn quantities_count_in_base_units() {
        assert_eq!(fill("{round(rate * 2 * delay / 8)} B").unwrap(), "40000 B");
        assert_eq!(fill("{limit / 2} packets").unwrap(), "25 packets");
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert_eq!(fill("{2 * m}").unwrap_err(), "`m` stands for no single value of the scenario");
        assert_eq!(fill("{2 * cc}").unwrap_err(), "`cc` is `vegas`, which is no number");
        assert_eq!(fill("{n / (n - 6)}").unwrap_err(), "an expression gives inf");
        assert_eq!(fill("{2 *}").unwrap_err(), "the expression ends too early");
        assert_eq!(fill("{(2}").unwrap_err(), "`)` is missing");
        assert_eq!(fill("{2 n}").unwrap_err(), "cannot read this part of the expression");
        assert_eq!(fill("{sin(n)}").unwrap_err(), "no function `sin`");
        assert_eq!(fill("{sqrt(n, 2)}").unwrap_err(), "`sqrt` takes one value");
        assert_eq!(fill("{1.2.3}").unwrap_err(), "`1.2.3` is no number");
        assert_eq!(fill("{n").unwrap_err(), "`{` is not closed");
    }
}
