//! Sets or removes a key in the text of a scenario and keeps the comments and the order of the rest.
//!
//! An existing value is replaced in place; a new key becomes a line in its table. If the edited text does not parse to
//! the scenario intended, as may happen with an unusually written table, the result is the whole scenario as text, with
//! all defaults.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wifair_config::{KeyStep, Override, Problems, steps};

use crate::check::parse;

/// Returns the text with the key at `path`, such as `flows[0].tcp.cc`, set to the TOML value `value`, or removed if
/// `value` is `None`.
///
/// # Errors
/// The problems of the text or of the change.
pub fn edit(text: &str, path: &str, value: Option<&str>) -> Result<String, Problems> {
    let Ok(steps) = steps(path) else {
        let change = Override::new(path, &format!("{path}={}", value.unwrap_or_default()));
        return parse(text, "scenario.toml", &[change]).map(|_| text.to_owned());
    };
    let steps: Vec<KeyStep> = steps.into_iter().map(|(step, _)| step).collect();
    let Some(value) = value else {
        let removed = find(text, &steps).map_or_else(|| text.to_owned(), |at| remove(text, &at));
        return parse(&removed, "scenario.toml", &[]).map(|_| removed);
    };
    let change = Override::new(path, &format!("{path}={value}"));
    let meant = parse(text, "scenario.toml", &[change]).map(|scenario| scenario.to_toml());
    let edited = match find(text, &steps) {
        Some(at) => format!("{}{value}{}", &text[..at.value.start], &text[at.value.end..]),
        None => insert(text, &steps, value),
    };
    match (parse(&edited, "scenario.toml", &[]), meant) {
        (Ok(scenario), Ok(meant)) if scenario.to_toml() != meant => Ok(meant),
        // An invalid change is kept in the text, so that the error message can point at it.
        (_, Err(_)) | (Ok(_), Ok(_)) => Ok(edited),
        (Err(_), Ok(meant)) => Ok(meant),
    }
}

/// The byte ranges of a key and its value.
#[derive(Debug)]
struct KeyRange {
    key: Range<usize>,
    value: Range<usize>,
}

fn parsed(text: &str) -> Spanned<DeTable<'_>> {
    DeTable::parse_recoverable(text).0
}

fn find(text: &str, steps: &[KeyStep]) -> Option<KeyRange> {
    let tree = parsed(text);
    let (last, way) = steps.split_last()?;
    let KeyStep::Key(last) = last else { return None };
    let table = walk(tree.get_ref(), way)?;
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == last)?;
    Some(KeyRange { key: key.span(), value: value.span() })
}

fn walk<'t, 'a>(root: &'t DeTable<'a>, way: &[KeyStep]) -> Option<&'t DeTable<'a>> {
    let mut table = root;
    let mut way = way.iter();
    while let Some(step) = way.next() {
        let KeyStep::Key(key) = step else { return None };
        let mut value = table.iter().find(|(name, _)| name.get_ref() == key)?.1.get_ref();
        while let DeValue::Array(items) = value {
            let Some(KeyStep::Index(index)) = way.next() else { return None };
            value = items.get(*index)?.get_ref();
        }
        let DeValue::Table(inner) = value else { return None };
        table = inner;
    }
    Some(table)
}

/// Removes a line, or an entry of an inline table.
fn remove(text: &str, at: &KeyRange) -> String {
    let line = text[..at.key.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at.value.end..].find('\n').map_or(text.len(), |end| at.value.end + end + 1);
    let before = text[line..at.key.start].trim();
    if before.contains(['=', '{']) {
        let rest = text[at.value.end..].trim_start();
        let (from, to) = match rest.strip_prefix(',') {
            Some(rest) => (at.key.start, text.len() - rest.trim_start().len()),
            None => (text[..at.key.start].trim_end().trim_end_matches(',').len(), at.value.end),
        };
        return format!("{}{}", &text[..from], &text[to..]);
    }
    format!("{}{}", &text[..line], &text[end..])
}

/// Adds the key to the innermost table along its path that already has a key.
fn insert(text: &str, steps: &[KeyStep], value: &str) -> String {
    let tree = parsed(text);
    for depth in (0..steps.len()).rev() {
        let Some(table) = walk(tree.get_ref(), &steps[..depth]) else { continue };
        let key = dotted(&steps[depth..]);
        let own = table.iter().filter(|(_, value)| !matches!(value.get_ref(), DeValue::Table(_)));
        let own = own.filter(|(_, value)| !is_table_list(value.get_ref()));
        if let Some((name, last)) = own.max_by_key(|(_, value)| value.span().end) {
            let line = text[..name.span().start].rfind('\n').map_or(0, |end| end + 1);
            let before = &text[line..name.span().start];
            let end = last.span().end;
            if before.contains(['=', '{']) {
                return format!("{}, {key} = {value}{}", &text[..end], &text[end..]);
            }
            let next = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
            let gap = if text[..next].ends_with('\n') { "" } else { "\n" };
            return format!("{}{gap}{before}{key} = {value}\n{}", &text[..next], &text[next..]);
        }
        if depth == 0 {
            let top = text.find(|c: char| c != '#' && !c.is_whitespace()).map_or(0, |_| start_of_keys(text));
            return format!("{}{key} = {value}\n{}", &text[..top], &text[top..]);
        }
    }
    text.to_owned()
}

fn is_table_list(value: &DeValue<'_>) -> bool {
    matches!(value, DeValue::Array(items) if items.iter().any(|item| matches!(item.get_ref(), DeValue::Table(_))))
}

/// The offset after the comments at the beginning of a file.
fn start_of_keys(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim();
        if !(content.is_empty() || content.starts_with('#')) {
            break;
        }
        at += line.len();
    }
    at
}

fn dotted(steps: &[KeyStep]) -> String {
    let mut out = String::new();
    for step in steps {
        if let KeyStep::Key(key) = step {
            out = if out.is_empty() { key.clone() } else { format!("{out}.{key}") };
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# A comment stays where it is.
duration = "10 s"
wlan.standard = "802.11b"

[ap]
queue.limit = "50 packets" # so does this one

[[servers]]
name = "server"

[[stations]]
name = "sta"
count = 2

[[flows]]
name = "up"
station = "sta"
tcp = { cc = "reno" }
"#;

    fn edited(path: &str, value: &str) -> String {
        edit(TEXT, path, Some(value)).unwrap_or_else(|problems| panic!("{problems}"))
    }

    #[test]
    fn a_value_is_replaced_in_its_place() {
        assert_eq!(edited("stations[0].count", "5"), TEXT.replace("count = 2", "count = 5"));
        assert_eq!(edited("ap.queue.limit", "\"9 packets\""), TEXT.replace("50 packets", "9 packets"));
        assert_eq!(edited("flows[0].tcp.cc", "\"vegas\""), TEXT.replace("\"reno\"", "\"vegas\""));
    }

    #[test]
    fn a_new_key_joins_its_table() {
        assert_eq!(
            edited("ap.queue.discipline", "\"las\""),
            TEXT.replace("# so does this one\n", "# so does this one\nqueue.discipline = \"las\"\n")
        );
        assert_eq!(
            edited("servers[0].delay", "\"9 ms\""),
            TEXT.replace("\"server\"\n", "\"server\"\ndelay = \"9 ms\"\n")
        );
        assert_eq!(edited("wlan.cw_min", "7"), TEXT.replace("\"802.11b\"\n", "\"802.11b\"\nwlan.cw_min = 7\n"));
        assert_eq!(edited("flows[0].tcp.mss", "\"500 B\""), TEXT.replace("\"reno\" }", "\"reno\", mss = \"500 B\" }"));
        assert!(
            edited("flows[0].count", "3").contains("station = \"sta\"\ncount = 3\n")
                || edited("flows[0].count", "3").contains("count = 3")
        );
    }

    #[test]
    fn a_key_is_removed_with_its_line() {
        assert_eq!(edit(TEXT, "stations[0].count", None).as_deref(), Ok(TEXT.replace("count = 2\n", "").as_str()));
        assert_eq!(edit(TEXT, "flows[0].tcp.cc", None).as_deref(), Ok(TEXT.replace(" cc = \"reno\" }", " }").as_str()));
    }

    #[test]
    fn a_wrong_value_stays_where_the_message_points() {
        let text = edited("stations[0].count", "100001");
        assert_eq!(text, TEXT.replace("count = 2", "count = 100001"));
        let problems = parse(&text, "a.toml", &[]).expect_err("a group has 100000 stations at most");
        assert_eq!(problems.0[0].line(), Some(13));
    }

    /// However a text writes its tables, the edited text gives the same scenario as the same change on the command
    /// line.
    #[test]
    fn what_is_no_path_is_refused() {
        for path in ["ap..limit", "flows[x].count"] {
            for value in [None, Some("1")] {
                let problems = edit(TEXT, path, value).expect_err("it is no path").to_string();
                assert!(problems.contains("is not a path") || problems.contains("is not a place"), "{problems}");
            }
        }
    }

    #[test]
    fn an_edit_means_what_an_override_means() {
        let forms = [
            TEXT.to_owned(),
            TEXT.replace("[ap]\nqueue.limit", "[ap.queue]\nlimit"),
            TEXT.replace("[ap]\nqueue.limit = \"50 packets\" # so does this one\n", ""),
            TEXT.replace("[ap]\nqueue.limit = \"50 packets\"", "[ap.queue.red]\nmin_threshold = \"5 packets\"\n[ap.queue]\ndiscipline = \"red\"\nlimit = \"50 packets\""),
        ];
        let changes = [
            ("ap.queue.limit", "\"7 packets\""),
            ("ap.scheme.window", "\"b-over-n\""),
            ("warm_up", "\"1 s\""),
            ("flows[0].tcp.cc", "\"cubic\""),
        ];
        for text in &forms {
            for (path, value) in changes {
                let result = edit(text, path, Some(value)).unwrap_or_else(|problems| panic!("{problems}"));
                let meant = parse(text, "a.toml", &[Override::set(&format!("{path}={value}"))]).expect("it is right");
                assert_eq!(
                    parse(&result, "a.toml", &[]).expect("it is right").to_toml(),
                    meant.to_toml(),
                    "{path} in\n{text}"
                );
            }
        }
    }
}
