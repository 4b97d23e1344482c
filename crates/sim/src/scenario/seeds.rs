//! The seeds of a scenario: `7`, `[1, 5]`, `"1..10"`.

use std::fmt;

use wifair_config::{Content, PlacedValue, Plain, Reader, Shape, Value};

/// A larger number of replications is probably a mistake.
const MOST: u64 = 1_000_000;

/// Seeds, one run each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(Vec<u64>);

impl Default for Seeds {
    fn default() -> Self {
        Self(vec![1])
    }
}

impl Seeds {
    /// The seeds, in order.
    pub fn list(&self) -> &[u64] {
        &self.0
    }

    /// Reads `7` or `1..10`, both ends included.
    ///
    /// # Errors
    /// A message if it is neither, or if a range is empty or too long.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.trim().parse::<u64>().map_err(|_| format!("`{}` is not a whole number of 0 or more", text.trim()))
        };
        let Some((first, last)) = text.split_once("..") else { return Ok(Self(vec![number(text)?])) };
        let (first, last) = (number(first)?, number(last.trim_start_matches('='))?);
        if first > last {
            return Err(format!("`{first}..{last}` is empty"));
        }
        if last - first >= MOST {
            return Err(format!("`{first}..{last}` are more than {MOST} seeds"));
        }
        Ok(Self((first..=last).collect()))
    }
}

impl Seeds {
    /// Whether each is one more than the one before.
    fn is_run(&self) -> bool {
        self.0.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(1))
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => write!(f, "{only}"),
            list if self.is_run() => write!(f, "{}..{}", list[0], list[list.len() - 1]),
            list => write!(f, "{}", list.iter().map(u64::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl Value for Seeds {
    fn shape() -> Shape {
        let seed = Shape::Integer { min: 0, max: i128::from(u64::MAX) };
        Shape::OneOf(vec![seed.clone(), Shape::Text, Shape::List(Box::new(seed))])
    }
    fn read(node: &PlacedValue, key: &str, reader: &mut Reader) -> Option<Self> {
        let seed = |node: &PlacedValue| match node.content {
            Content::Integer(number) => u64::try_from(number).map_err(|_| format!("`{number}` is no seed")),
            _ => Err("a seed is a whole number of 0 or more".to_owned()),
        };
        let seeds = match &node.content {
            Content::Text(text) => Self::parse(text),
            Content::Integer(_) => seed(node).map(|seed| Self(vec![seed])),
            Content::List(nodes) if nodes.is_empty() => Err("there is no seed".to_owned()),
            Content::List(nodes) => nodes.iter().map(seed).collect::<Result<Vec<_>, _>>().and_then(|list| {
                let mut sorted = list.clone();
                sorted.sort_unstable();
                match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                    Some(pair) => Err(format!("seed {} stands there twice", pair[0])),
                    None => Ok(Self(list)),
                }
            }),
            _ => Err(format!("`{key}` is not a list of seeds")),
        };
        match seeds {
            Ok(seeds) => Some(seeds),
            Err(message) => {
                reader.problem(&node.place, Some(key), &message, "write 7, [1, 5] or \"1..10\"");
                None
            }
        }
    }
    fn to_plain(&self) -> Plain {
        match self.0.as_slice() {
            [only] => Plain::Integer(i128::from(*only)),
            _ if self.is_run() => Plain::Text(self.to_string()),
            list => Plain::List(list.iter().map(|seed| Plain::Integer(i128::from(*seed))).collect()),
        }
    }
    fn some() -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_both_ends() {
        assert_eq!(Seeds::parse("3..5").unwrap().list(), [3, 4, 5]);
        assert_eq!(Seeds::parse("7").unwrap().list(), [7]);
        assert_eq!(Seeds::parse("5..3").unwrap_err(), "`5..3` is empty");
        assert!(Seeds::parse("1..18446744073709551615").is_err());
        assert!(Seeds::parse("a..3").is_err());
    }
}
