//! A cursor in a text that keeps track of line and column.

use crate::error::{ScriptError, ScriptPlace};

/// Reads a text from left to right.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    text: &'a str,
    offset: usize,
    place: ScriptPlace,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `text`, which begins at `place`.
    pub const fn new(text: &'a str, place: ScriptPlace) -> Self {
        Self { text, offset: 0, place }
    }

    /// The place of the next character.
    pub const fn place(&self) -> ScriptPlace {
        self.place
    }

    /// The text not read yet.
    pub fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    /// The next character, which is not taken.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Whether `prefix` comes next.
    pub fn at(&self, prefix: &str) -> bool {
        self.rest().starts_with(prefix)
    }

    /// Takes one character.
    pub fn bump(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.offset += next.len_utf8();
        if next == '\n' {
            self.place = ScriptPlace { line: self.place.line.saturating_add(1), column: 1 };
        } else {
            self.place.column = self.place.column.saturating_add(1);
        }
        Some(next)
    }

    /// Takes `prefix` if it comes next.
    pub fn eat(&mut self, prefix: &str) -> bool {
        let found = self.at(prefix);
        if found {
            prefix.chars().for_each(|_| {
                self.bump();
            });
        }
        found
    }

    /// Takes characters as long as `wanted` returns true.
    pub fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let start = self.offset;
        while self.peek().is_some_and(&wanted) {
            self.bump();
        }
        &self.text[start..self.offset]
    }

    /// Takes the text up to and including `end`, and returns it without `end`; `None` if `end` does not occur.
    pub fn take_until(&mut self, end: &str) -> Option<&'a str> {
        let length = self.rest().find(end)?;
        let found = &self.rest()[..length];
        let stop = self.offset + length + end.len();
        while self.offset < stop {
            self.bump();
        }
        Some(found)
    }

    /// An error at `place`.
    pub fn error_at<T, E: From<ScriptError>>(place: ScriptPlace, message: impl Into<String>) -> Result<T, E> {
        Err(ScriptError { place, message: message.into() }.into())
    }

    /// An error at the cursor, which quotes the text found there.
    pub fn expected<T, E: From<ScriptError>>(&self, what: &str) -> Result<T, E> {
        let found: String = self.rest().chars().take_while(|c| !c.is_whitespace()).take(20).collect();
        let found = match (found.is_empty(), self.peek()) {
            (false, _) => format!("`{found}`"),
            (true, Some(_)) => "the end of the line".to_owned(),
            (true, None) => "the end of the script".to_owned(),
        };
        Self::error_at(self.place, format!("expected {what}, found {found}"))
    }
}
