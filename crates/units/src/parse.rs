//! Values with units as users write them: `"20 ms"`, `"11Mb/s"`, `"1.5 kB"`, `"-91 dBm"`.
//!
//! A prefix `k`, `M`, `G` is decimal (a Kbyte is 1000 bytes, as in networking); `KiB`, `MiB`, `GiB` are binary.

use std::fmt;

use crate::{BitRate, Bytes, Db, Dbm, Duration, Metres};

/// Why a text is not a quantity, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong, as in ``"`20` has no unit"``.
    pub message: String,
    /// What to write instead, as in `write "20 ms" or "20 us"`.
    pub help: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.help)
    }
}

impl std::error::Error for ParseError {}

/// A quantity that users write as a number and a unit.
pub trait Quantity: Sized + fmt::Display {
    /// What kind of quantity it is, as in `duration`.
    const NAME: &'static str;
    /// The accepted units, the usual ones first, each with its size in base units.
    const UNITS: &'static [(&'static str, f64)];
    /// Whether a value below zero makes sense.
    const SIGNED: bool = false;
    /// Whether minus infinity makes sense: on a logarithmic scale it stands for no power at all.
    const FROM_NOTHING: bool = false;
    /// Whether only whole numbers of the base unit exist.
    const WHOLE: bool = false;

    /// The quantity that is `value` times the base unit.
    fn from_base(value: f64) -> Self;

    /// Reads a number and a unit, with or without a space between them.
    ///
    /// # Errors
    /// If the number or the unit is missing or unknown, or the value is negative and must not be.
    fn parse(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let split = number_end(text);
        let (number, unit) = (&text[..split], text[split..].trim_start());
        let example = || {
            let shown = if number.is_empty() { "20" } else { number };
            // Nobody writes 1500 kB: where the second unit is the larger one, it suits numbers below 1000. One of the
            // same size is another name of the first.
            let is_small = shown.parse::<f64>().is_ok_and(|value| value.abs() < 1e3);
            let (first, others) = Self::UNITS.split_first().expect("a quantity has a unit");
            let second = others.first().filter(|(_, scale)| *scale < first.1 || is_small && *scale > first.1);
            let usual = std::iter::once(first).chain(second);
            let units: Vec<_> = usual.map(|(u, _)| format!("\"{shown} {u}\"")).collect();
            format!("write {}", units.join(" or "))
        };
        let Ok(value) = number.parse::<f64>() else {
            return Err(ParseError { message: format!("`{text}` is not a {}", Self::NAME), help: example() });
        };
        if unit.is_empty() {
            return Err(ParseError { message: format!("`{text}` has no unit"), help: example() });
        }
        if let Some(rest) = unit.strip_prefix(',')
            && rest.starts_with(|c: char| c.is_ascii_digit())
        {
            let message = format!("`{text}` has a decimal comma");
            return Err(ParseError { message, help: format!("write \"{number}.{rest}\"") });
        }
        let Some((_, scale)) = Self::UNITS.iter().find(|(u, _)| *u == unit) else {
            let known: Vec<_> = Self::UNITS.iter().map(|(u, _)| *u).collect();
            return Err(ParseError {
                message: format!("`{unit}` is not a unit of a {}", Self::NAME),
                help: format!("use one of {}", known.join(", ")),
            });
        };
        if value < 0.0 && !Self::SIGNED {
            return Err(ParseError {
                message: format!("`{text}` is negative"),
                help: format!("a {} is zero or more", Self::NAME),
            });
        }
        let nothing = value == f64::NEG_INFINITY && Self::FROM_NOTHING;
        if !(value.is_finite() || nothing) || value * scale > LARGEST {
            let help = format!("write at most {:e} {unit}", LARGEST / scale);
            return Err(ParseError { message: format!("`{text}` is too large"), help });
        }
        if Self::WHOLE && value > 0.0 && value * scale < 0.5 {
            let (least, _) = Self::UNITS.iter().find(|(_, scale)| *scale == 1.0).expect("there is a base unit");
            let help = format!("write 0 {unit}, or at least 1 {least}");
            return Err(ParseError { message: format!("`{text}` is less than 1 {least}"), help });
        }
        Ok(Self::from_base(value * scale))
    }
}

/// The largest value of a quantity in its base unit: a little less than the largest signed 64-bit integer.
const LARGEST: f64 = 9.0e18;

/// Where the number at the start of `text` ends.
fn number_end(text: &str) -> usize {
    if text.starts_with("-inf") {
        return "-inf".len();
    }
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let exponent = matches!(bytes[end], b'e' | b'E')
            && end > 0
            && bytes.get(end + 1).is_some_and(|b| {
                b.is_ascii_digit() || (matches!(b, b'-' | b'+') && bytes.get(end + 2).is_some_and(u8::is_ascii_digit))
            });
        let sign = matches!(bytes[end], b'-' | b'+') && (end == 0 || matches!(bytes[end - 1], b'e' | b'E'));
        if !(bytes[end].is_ascii_digit() || bytes[end] == b'.' || exponent || sign) {
            break;
        }
        end += 1;
    }
    end
}

fn whole(value: f64) -> u64 {
    value.round() as u64
}

impl Quantity for Duration {
    const NAME: &'static str = "duration";
    const WHOLE: bool = true;
    const UNITS: &'static [(&'static str, f64)] = &[
        ("ms", 1e6),
        ("us", 1e3),
        ("s", 1e9),
        ("ns", 1.0),
        ("min", 60e9),
        ("h", 3600e9),
        ("\u{b5}s", 1e3),
        ("\u{3bc}s", 1e3),
    ];
    fn from_base(value: f64) -> Self {
        Self::from_nanos(whole(value))
    }
}

impl Quantity for Bytes {
    const NAME: &'static str = "size";
    const WHOLE: bool = true;
    const UNITS: &'static [(&'static str, f64)] = &[
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("bytes", 1.0),
        ("byte", 1.0),
    ];
    fn from_base(value: f64) -> Self {
        Self(whole(value))
    }
}

impl Quantity for BitRate {
    const NAME: &'static str = "bit rate";
    const WHOLE: bool = true;
    const UNITS: &'static [(&'static str, f64)] = &[
        ("Mb/s", 1e6),
        ("kb/s", 1e3),
        ("b/s", 1.0),
        ("Gb/s", 1e9),
        ("Mbps", 1e6),
        ("kbps", 1e3),
        ("bps", 1.0),
        ("Gbps", 1e9),
        ("Mbit/s", 1e6),
        ("kbit/s", 1e3),
        ("bit/s", 1.0),
        ("Gbit/s", 1e9),
    ];
    fn from_base(value: f64) -> Self {
        Self::from_bps(whole(value))
    }
}

impl Quantity for Dbm {
    const NAME: &'static str = "power";
    const UNITS: &'static [(&'static str, f64)] = &[("dBm", 1.0)];
    const SIGNED: bool = true;
    const FROM_NOTHING: bool = true;
    fn from_base(value: f64) -> Self {
        Self(value)
    }
}

impl Quantity for Db {
    const NAME: &'static str = "gain or ratio";
    const UNITS: &'static [(&'static str, f64)] = &[("dB", 1.0), ("dBi", 1.0)];
    const SIGNED: bool = true;
    fn from_base(value: f64) -> Self {
        Self(value)
    }
}

impl Quantity for Metres {
    const NAME: &'static str = "distance";
    const UNITS: &'static [(&'static str, f64)] = &[("m", 1.0), ("km", 1e3), ("cm", 1e-2)];
    const SIGNED: bool = true;
    fn from_base(value: f64) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_power_is_read_as_it_is_printed() {
        let nothing = Dbm(f64::NEG_INFINITY);
        assert_eq!(Dbm::parse(&nothing.to_string()), Ok(nothing));
        assert_eq!(nothing.as_milliwatts(), 0.0);
        assert!(Db::parse("-inf dB").is_err());
        assert!(Dbm::parse("inf dBm").is_err());
        assert!(Duration::parse("-inf ms").is_err());
    }

    #[test]
    fn values_with_units_are_read() {
        assert_eq!(Duration::parse("20 ms"), Ok(Duration::from_millis(20)));
        assert_eq!(Duration::parse("1.5us"), Ok(Duration::from_nanos(1_500)));
        assert_eq!(Duration::parse("1e3 s"), Ok(Duration::from_secs(1_000)));
        assert_eq!(BitRate::parse("5.5 Mb/s"), Ok(BitRate::from_kbps(5_500)));
        assert_eq!(Bytes::parse("64 KiB"), Ok(Bytes(65_536)));
        assert_eq!(Dbm::parse("-91 dBm"), Ok(Dbm(-91.0)));
    }

    #[test]
    fn errors_name_the_problem_and_the_remedy() {
        let error = Duration::parse("20").unwrap_err();
        assert_eq!(error.message, "`20` has no unit");
        assert_eq!(error.help, "write \"20 ms\" or \"20 us\"");
        assert_eq!(Duration::parse("2000").unwrap_err().help, "write \"2000 ms\" or \"2000 us\"");
        assert_eq!(Bytes::parse("999").unwrap_err().help, "write \"999 B\" or \"999 kB\"");
        assert_eq!(Bytes::parse("3839").unwrap_err().help, "write \"3839 B\"");
        assert_eq!(Db::parse("20").unwrap_err().help, "write \"20 dB\"");
        let error = Duration::parse("0,5 ms").unwrap_err();
        assert_eq!(error.to_string(), "`0,5 ms` has a decimal comma: write \"0.5 ms\"");
        assert!(BitRate::parse("-1 Mb/s").unwrap_err().message.contains("negative"));
        assert!(BitRate::parse("1 Mb").unwrap_err().help.contains("Mb/s"));
        assert!(Bytes::parse("lots").unwrap_err().message.contains("not a size"));
        let error = Bytes::parse("1e300 GB").unwrap_err();
        assert_eq!((error.message.as_str(), error.help.as_str()), ("`1e300 GB` is too large", "write at most 9e9 GB"));
        assert!(Bytes::parse("").is_err());
    }
}
