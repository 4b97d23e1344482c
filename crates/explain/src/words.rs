//! Numbers, counts and lists in the words of sentences.

/// Names that a sentence lists.
pub(crate) const FEW: usize = 6;
/// What stands for a number that is not known.
const NOTHING: &str = "-";

/// A number with three significant digits, without zeros at the end.
fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { format!("{value}") };
    }
    let scientific = format!("{value:.2e}");
    let (mantissa, power) = scientific.split_once('e').expect("scientific notation has an exponent");
    let power: i32 = power.parse().expect("an exponent is a whole number");
    let trimmed = |text: &str| -> String {
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
    };
    if (-4..3).contains(&power) {
        let decimals = usize::try_from(2 - power).expect("powers are below 3");
        return trimmed(&format!("{value:.decimals$}"));
    }
    let sign = if power < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), power.abs())
}

/// A number with three digits, or with all before the point, never as a power of ten above 1.
pub(crate) fn general(value: f64) -> String {
    if value.abs() < 999.5 || !value.is_finite() {
        return short(value);
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// A rate in bit/s.
pub(crate) fn rate(bps: f64) -> String {
    if bps.is_nan() {
        return NOTHING.into();
    }
    let units = [("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)];
    let (unit, size) = units.into_iter().find(|(_, size)| bps >= *size).unwrap_or(("b/s", 1.0));
    if bps < 100.0 * size { format!("{} {unit}", short(bps / size)) } else { format!("{:.0} {unit}", bps / size) }
}

/// A time in seconds.
pub(crate) fn time(seconds: f64) -> String {
    if seconds.is_nan() {
        return NOTHING.into();
    }
    if seconds > 0.0 && seconds < 1e-4 {
        return format!("{} µs", short(1e6 * seconds));
    }
    if seconds < 0.9995 { format!("{} ms", general(1e3 * seconds)) } else { format!("{} s", general(seconds)) }
}

/// A fraction in percent.
pub(crate) fn percent(fraction: f64) -> String {
    if fraction.is_nan() { NOTHING.into() } else { format!("{:.1} %", 100.0 * fraction) }
}

/// How many times as much, with two digits.
pub(crate) fn times(ratio: f64) -> String {
    if ratio >= 99.5 {
        let scale = 10_f64.powf(ratio.log10().floor() - 1.0);
        return general((ratio / scale).round() * scale);
    }
    let text = format!("{:.*}", usize::from(ratio < 9.95), ratio);
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// How many there are: `1 run`, `1,200 runs`. The plural only adds an `s`.
pub(crate) fn counted(number: f64, what: &str) -> String {
    let shown = general(number);
    let plural = if shown == "1" { "" } else { "s" };
    format!("{shown} {what}{plural}")
}

/// How many times: `once`, `12 times`.
pub(crate) fn often(number: f64) -> String {
    let shown = counted(number, "time");
    if shown == "1 time" { "once".into() } else { shown }
}

/// A list in a sentence.
pub(crate) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The names, or the first few and how many more.
pub(crate) fn some(names: &[String]) -> String {
    if names.len() <= FEW + 1 {
        listed(names)
    } else {
        format!("{} and {} more", names[..FEW].join(", "), names.len() - FEW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Python's `.3g` writes them, and as the tables of the command do.
    #[test]
    fn numbers_have_three_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.25, "0.25"),
            (41.26, "41.3"),
            (999.4, "999"),
            (12_345.0, "12,345"),
            (-1e6, "-1,000,000"),
            (2.5e-7, "2.5e-07"),
        ] {
            assert_eq!(general(value), expected);
        }
        assert_eq!(
            [rate(654.0), rate(5.652e6), rate(1.5e8), rate(99.96e6)],
            ["654 b/s", "5.65 Mb/s", "150 Mb/s", "100 Mb/s"]
        );
        assert_eq!([time(5e-5), time(0.0214), time(0.9999), time(0.12)], ["50 µs", "21.4 ms", "1 s", "120 ms"]);
        assert_eq!([times(1.44), times(10.2), times(676.0), times(12_345.0)], ["1.4", "10", "680", "12,000"]);
        assert_eq!(
            [counted(1.0, "run"), counted(0.25, "run"), often(1.0), often(12.0)],
            ["1 run", "0.25 runs", "once", "12 times"]
        );
    }
}
