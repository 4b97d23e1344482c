//! Errors in a scenario: what is wrong, where, and what to write instead.

use std::fmt;

/// The place of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In a file; line and column count from 1, the column in characters.
    File {
        /// Its name.
        name: String,
        /// Line.
        line: usize,
        /// Column.
        column: usize,
    },
    /// On the command line, after this option.
    Option {
        /// The option, as in `--set`.
        name: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Self::Option { name } => write!(f, "{name}"),
        }
    }
}

/// A line of source with a part underlined and a note on that part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Where the line is.
    pub origin: Origin,
    /// The line, or the part of a long line around what is underlined.
    pub excerpt: String,
    /// Characters before what is underlined.
    pub indent: usize,
    /// Characters that are underlined.
    pub width: usize,
    /// The note; may be empty.
    pub note: String,
}

/// The longest excerpt of a line, in characters.
const LONGEST_EXCERPT: usize = 120;

impl Spot {
    /// `line` with `width` characters underlined after the first `indent` ones. A long line is shortened.
    pub(crate) fn new(origin: Origin, line: &str, indent: usize, width: usize, note: &str) -> Self {
        let shown: Vec<char> = line.chars().map(printable).collect();
        let skip = if indent + width > LONGEST_EXCERPT { indent.saturating_sub(LONGEST_EXCERPT / 2) } else { 0 };
        let mut excerpt: String = shown.iter().skip(skip).take(LONGEST_EXCERPT).collect();
        let mut indent = indent - skip;
        if shown.len() > skip + LONGEST_EXCERPT {
            excerpt.push_str("...");
        }
        if skip > 0 {
            excerpt.insert_str(0, "...");
            indent += 3;
        }
        let width = width.min(excerpt.chars().count().saturating_sub(indent)).max(1);
        Self { origin, excerpt, indent, width, note: note.to_owned() }
    }
}

/// Replaces a character that could confuse a terminal or is not one column wide.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if is_hidden(c) => '\u{fffd}',
        c => c,
    }
}

/// Whether a character shows nothing itself but changes what is shown: a control character, one that changes the
/// direction of text (Unicode Standard Annex 9, table 4), ends a line, or a byte order mark.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || c == '\u{feff}'
}

/// Whether a text has no hidden characters; see [`is_hidden`].
pub fn is_legible(text: &str) -> bool {
    !text.contains(is_hidden)
}

/// The same for a text of several lines, which may also have tabs.
pub fn is_legible_text(text: &str) -> bool {
    text.lines().all(|line| !line.contains(|c| is_hidden(c) && c != '\t'))
}

/// A user's text, made safe to show inside a message.
pub(crate) fn shown(text: &str) -> String {
    let short: String = text.chars().take(60).map(printable).collect();
    if text.chars().count() > 60 { short + "..." } else { short }
}

/// One error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong: lower case, no full stop, the value as written.
    pub message: String,
    /// The file, for an error without a line.
    pub file: Option<String>,
    /// The key, as in `delay`.
    pub key: Option<String>,
    /// The lines, the main one first.
    pub spots: Vec<Spot>,
    /// Further notes, for what has no line of its own.
    pub notes: Vec<String>,
    /// Whether something is absent; in a file with syntax errors it may only seem to be.
    pub(crate) absent: bool,
}

impl Problem {
    /// A problem without a place.
    pub fn new(message: &str) -> Self {
        Self { message: message.to_owned(), file: None, key: None, spots: Vec::new(), notes: Vec::new(), absent: false }
    }

    /// An error that concerns a whole file.
    pub fn of_file(name: &str, message: &str, note: &str) -> Self {
        Self { file: Some(name.to_owned()), ..Self::new(message).with_note(note) }
    }

    /// Adds a line.
    #[must_use]
    pub fn with_spot(mut self, spot: Spot) -> Self {
        self.spots.push(spot);
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn with_note(mut self, note: &str) -> Self {
        if !note.is_empty() {
            self.notes.push(note.to_owned());
        }
        self
    }

    /// Name of the file, if the error is in one.
    pub fn path(&self) -> Option<&str> {
        let in_file = self.spots.iter().find_map(|spot| match &spot.origin {
            Origin::File { name, .. } => Some(name.as_str()),
            Origin::Option { .. } => None,
        });
        in_file.or(self.file.as_deref())
    }

    /// Line in the file, counted from 1, if it has one.
    pub fn line(&self) -> Option<usize> {
        self.spots.iter().find_map(|spot| match &spot.origin {
            Origin::File { line, .. } => Some(*line),
            Origin::Option { .. } => None,
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message)?;
        let last_line = self.spots.iter().map(|spot| match spot.origin {
            Origin::File { line, .. } => line,
            Origin::Option { .. } => 1,
        });
        let gutter = last_line.max().unwrap_or(1).to_string().len();
        let mut previous: Option<(&str, usize)> = None;
        // The main spot gives the place; the lines of one file are shown in order.
        let mut spots: Vec<&Spot> = self.spots.iter().collect();
        let main = spots.first().copied();
        spots.sort_by_key(|spot| match &spot.origin {
            Origin::File { line, column, .. } => (0, *line, *column),
            Origin::Option { .. } => (1, 0, 0),
        });
        if let (None, Some(file)) = (main, &self.file) {
            writeln!(f, "{:gutter$}--> {file}", "")?;
        }
        for spot in spots {
            let carets = "^".repeat(spot.width);
            let note = if spot.note.is_empty() { String::new() } else { format!(" {}", spot.note) };
            match &spot.origin {
                Origin::File { name, line, .. } => {
                    match previous {
                        Some((file, above)) if file == name => {
                            if *line > above + 1 {
                                writeln!(f, "...")?;
                            }
                        }
                        _ => {
                            let place = match main.map(|spot| &spot.origin) {
                                Some(Origin::File { name: at, line, column }) if at == name => (*line, *column),
                                _ => (*line, spot.indent + 1),
                            };
                            writeln!(f, "{:gutter$}--> {name}:{}:{}", "", place.0, place.1)?;
                        }
                    }
                    if previous != Some((name, *line)) {
                        writeln!(f, "{line:gutter$} | {}", spot.excerpt)?;
                    }
                    writeln!(f, "{:gutter$} | {:indent$}{carets}{note}", "", "", indent = spot.indent)?;
                    previous = Some((name, *line));
                }
                Origin::Option { name } => {
                    writeln!(f, "{:gutter$}--> {name} {}", "", spot.excerpt)?;
                    let indent = name.chars().count() + 2 + spot.indent;
                    writeln!(f, "{:gutter$} | {:indent$}{carets}{note}", "", "")?;
                }
            }
        }
        for note in &self.notes {
            writeln!(f, "{:gutter$} = {note}", "")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

/// All errors of a scenario, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

/// The number of errors shown: a longer list is usually one mistake repeated.
const SHOWN: usize = 20;

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(SHOWN).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        if self.0.len() > SHOWN {
            writeln!(f, "\nand {} more", self.0.len() - SHOWN)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: usize, column: usize, excerpt: &str, width: usize, note: &str) -> Spot {
        Spot::new(Origin::File { name: "a.toml".into(), line, column }, excerpt, column - 1, width, note)
    }

    #[test]
    fn both_lines_of_a_clash_are_shown() {
        let problem = Problem::new("`cw_min` is larger than `cw_max`")
            .with_spot(at(12, 10, "cw_min = 63", 2, "more than"))
            .with_spot(at(9, 10, "cw_max = 31", 2, "this"));
        assert_eq!(
            problem.to_string(),
            "error: `cw_min` is larger than `cw_max`\n  --> a.toml:12:10\n 9 | cw_max = 31\n   |          ^^ this\n\
             ...\n12 | cw_min = 63\n   |          ^^ more than\n"
        );
    }

    #[test]
    fn an_option_is_shown_as_it_was_written() {
        let spot = Spot::new(Origin::Option { name: "--set".into() }, "ap.queue.limit=100", 15, 3, "a unit");
        assert_eq!(
            Problem::new("`limit` has no unit").with_spot(spot).to_string(),
            "error: `limit` has no unit\n --> --set ap.queue.limit=100\n  |                       ^^^ a unit\n"
        );
    }

    #[test]
    fn long_lines_and_control_characters_are_tamed() {
        let line = format!("{}\u{1b}[31mX", "a".repeat(500));
        let spot = at(1, 505, &line, 1, "here");
        assert!(spot.excerpt.chars().count() < 130);
        assert_eq!(spot.excerpt.chars().nth(spot.indent), Some('m'));
        assert!(!spot.excerpt.contains('\u{1b}'));
    }

    #[test]
    fn hidden_characters_are_told_from_letters() {
        for c in ['\0', '\n', '\u{1b}', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2066}', '\u{200f}', '\u{2028}'] {
            assert!(is_hidden(c) && !is_legible(&format!("a{c}b")), "{c:?}");
        }
        assert!(is_legible("Caf\u{e9} \u{5d0}\u{5d1} \u{1f4a9} a\u{200d}b"));
        assert!(is_legible_text("two\n\tlines\r\n") && !is_legible_text("a\rb") && !is_legible_text("\u{202e}"));
    }
}
