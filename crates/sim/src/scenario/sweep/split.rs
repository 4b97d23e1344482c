//! Splits texts at separators outside quotes and brackets.

use std::ops::Range;

use super::SpannedError;

/// The deepest nesting accepted.
const DEEPEST: usize = 64;

/// The parts of `text[within]` between the separators, without surrounding white space.
///
/// # Errors
/// An unmatched quote or bracket, or nesting that is too deep.
pub fn split(text: &str, within: Range<usize>, separator: char) -> Result<Vec<Range<usize>>, SpannedError> {
    let mut parts = Vec::new();
    let mut start = within.start;
    for (at, c) in outside(text, within.clone())? {
        if c == separator {
            parts.push(trim(text, start..at));
            start = at + c.len_utf8();
        }
    }
    parts.push(trim(text, start..within.end));
    Ok(parts)
}

/// The first position of `wanted` in `text[within]`.
///
/// # Errors
/// As for [`split`].
pub fn find(text: &str, within: Range<usize>, wanted: char) -> Result<Option<usize>, SpannedError> {
    Ok(outside(text, within)?.into_iter().find(|(_, c)| *c == wanted).map(|(at, _)| at))
}

/// The span without surrounding white space.
pub fn trim(text: &str, span: Range<usize>) -> Range<usize> {
    let part = &text[span.clone()];
    let start = span.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

/// The characters of `text[within]` outside quotes and brackets.
fn outside(text: &str, within: Range<usize>) -> Result<Vec<(usize, char)>, SpannedError> {
    let mut out = Vec::new();
    let mut open: Vec<(usize, char)> = Vec::new();
    let mut quote: Option<(usize, char)> = None;
    let mut escaped = false;
    for (at, c) in text[within.clone()].char_indices() {
        let at = within.start + at;
        if let Some((_, mark)) = quote {
            if c == mark && !escaped {
                quote = None;
            }
            escaped = c == '\\' && mark == '"' && !escaped;
            continue;
        }
        match c {
            '"' | '\'' => quote = Some((at, c)),
            '(' | '[' | '{' => open.push((at, c)),
            ')' | ']' | '}' => {
                let matching = match c {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                if open.pop().is_none_or(|(_, opened)| opened != matching) {
                    return Err(SpannedError::new(&format!("`{c}` closes nothing"), at..at + 1, ""));
                }
            }
            _ if open.is_empty() => out.push((at, c)),
            _ => {}
        }
        if open.len() > DEEPEST {
            return Err(SpannedError::new(&format!("more than {DEEPEST} brackets in each other"), at..at + 1, ""));
        }
    }
    match quote.or(open.pop()) {
        None => Ok(out),
        Some((at, c)) => Err(SpannedError::new(&format!("`{c}` is not closed"), at..at + 1, "")),
    }
}
