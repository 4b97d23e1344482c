//! A limit of a queue or window, in packets or in bytes.

use std::fmt;

use wifair_units::{Bytes, ParseError, Quantity as _};

/// How much fits: `"50 packets"` or `"64 kB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of packets, whatever their size.
    Packets(u64),
    /// A number of bytes.
    Bytes(Bytes),
}

impl Limit {
    /// The accepted units.
    pub const UNITS: [&'static str; 10] = ["packets", "kB", "B", "packet", "MB", "GB", "KiB", "MiB", "GiB", "bytes"];

    /// Reads `50 packets` or a size.
    ///
    /// # Errors
    /// If it is neither.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
        let help = |n: &str| format!("write \"{n} packets\" or \"{n} kB\"");
        if matches!(text[number.len()..].trim_start(), "packets" | "packet") {
            return match number.parse() {
                Ok(packets) => Ok(Self::Packets(packets)),
                Err(_) => {
                    let message = format!("`{number}` is not a number of packets");
                    Err(ParseError { message, help: help("50") })
                }
            };
        }
        Bytes::parse(text).map(Self::Bytes).map_err(|mut error| {
            let shown = if number.is_empty() || number != text { "50" } else { number };
            if error.help.starts_with("write \"") {
                error.help = help(shown);
            }
            error.message = error.message.replace("not a size", "not a limit").replace("of a size", "of a limit");
            if error.help.starts_with("use one of") {
                error.help = format!("use one of {}", Self::UNITS.join(", "));
            }
            error
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(1) => write!(f, "1 packet"),
            Self::Packets(n) => write!(f, "{n} packets"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_and_bytes_are_told_apart() {
        assert_eq!(Limit::parse("50 packets"), Ok(Limit::Packets(50)));
        assert_eq!(Limit::parse("100packets"), Ok(Limit::Packets(100)));
        assert_eq!(Limit::parse("64 kB"), Ok(Limit::Bytes(Bytes(64_000))));
        for (text, message) in [
            ("1e30 GB", "`1e30 GB` is too large: write at most 9e9 GB"),
            ("50", "`50` has no unit: write \"50 packets\" or \"50 kB\""),
            ("-1 packets", "`-1` is not a number of packets: write \"50 packets\" or \"50 kB\""),
            ("many", "`many` is not a limit: write \"50 packets\" or \"50 kB\""),
        ] {
            assert_eq!(Limit::parse(text).unwrap_err().to_string(), message);
        }
    }
}
