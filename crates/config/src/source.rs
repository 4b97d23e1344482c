//! The texts that make up a scenario: a file, and the overrides from the command line.

use std::ops::Range;

use crate::problem::{Origin, Problem, Problems, Spot};

/// A text and the name that users know it by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    name: String,
    text: String,
    is_file: bool,
}

impl Source {
    /// Far above the size of any scenario; a larger file is something else.
    pub const MAX_BYTES: u64 = 4_000_000;

    /// The text of a file; `name` is shown in messages.
    pub fn file(name: &str, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { name: name.to_owned(), text: text.to_owned(), is_file: true }
    }

    /// A text from the command line; `option` is what precedes it there, as in `--set`.
    pub fn option(option: &str, text: &str) -> Self {
        Self { name: option.to_owned(), text: text.to_owned(), is_file: false }
    }

    /// The text of a file from its bytes.
    ///
    /// # Errors
    /// If there are more than [`Source::MAX_BYTES`], or they are not text in UTF-8.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, Problems> {
        if bytes.len() as u64 > Self::MAX_BYTES {
            return Err(Self::too_large(name, bytes.len() as u64).into());
        }
        // Text contains no other control characters than these; binary files usually do.
        let is_control = |b: &u8| *b < 32 && !matches!(*b, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b);
        if bytes.iter().any(is_control) {
            let message = format!("`{name}` is not a text file");
            return Err(Problem::of_file(
                name,
                &message,
                "a scenario is TOML, text in UTF-8; `wifair analyze` reads captures",
            )
            .into());
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Self::file(name, text)),
            Err(error) => {
                // Read the bytes as Latin-1, in which every byte is a character, so that the line can be shown; if the
                // file is Latin-1, it is shown correctly.
                let text: String = bytes.iter().map(|b| char::from(*b)).collect();
                let at = text.char_indices().nth(error.valid_up_to()).map_or(0, |(at, _)| at);
                let end = at + text[at..].chars().next().map_or(0, char::len_utf8);
                let byte = bytes[error.valid_up_to()];
                let source = Self { name: name.to_owned(), text, is_file: true };
                let note = format!("byte 0x{byte:02x}: save the file as UTF-8, it looks like Latin-1");
                Err(Problem::new("not UTF-8").with_spot(source.spot(at..end, &note)).into())
            }
        }
    }

    /// The error for a file of `size` bytes, above [`Source::MAX_BYTES`], for callers that check the size before they
    /// read.
    pub fn too_large(name: &str, size: u64) -> Problem {
        let (size, limit) = (size as f64 / 1e6, Self::MAX_BYTES / 1_000_000);
        let message = format!("`{name}` has {size:.1} MB");
        Problem::of_file(name, &message, &format!("a scenario has at most {limit} MB"))
    }

    /// What users call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The offset at which the user's own text begins: after `--duration` only the value was typed, and `duration=` is
    /// implied.
    fn implied(&self) -> usize {
        let path = if self.is_file { None } else { self.name.strip_prefix("--") };
        let implied = path.filter(|path| self.text.strip_prefix(path).is_some_and(|rest| rest.starts_with('=')));
        implied.map_or(0, |path| path.len() + 1)
    }

    /// The line that holds `span`, with a note under it.
    pub fn spot(&self, span: Range<usize>, note: &str) -> Spot {
        let floor = |mut at: usize| {
            at = at.min(self.text.len());
            while !self.text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = floor(span.start).max(self.implied());
        let end = floor(span.end).max(start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1).max(self.implied());
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let line = self.text[..line_start].matches('\n').count() + 1;
        let column = self.text[line_start..start].chars().count() + 1;
        let width = self.text[start..end.min(line_end)].chars().count().max(1);
        let origin = if self.is_file {
            Origin::File { name: self.name.clone(), line, column }
        } else {
            Origin::Option { name: self.name.clone() }
        };
        let excerpt = self.text[line_start..line_end].trim_end_matches('\r');
        Spot::new(origin, excerpt, column - 1, width, note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latin_1_is_named_with_its_place() {
        let problem = Source::from_bytes("cafe.toml", b"x = 1\nname = \"caf\xe9\"\n").unwrap_err();
        assert_eq!(
            problem.to_string(),
            "error: not UTF-8\n --> cafe.toml:2:12\n2 | name = \"caf\u{e9}\"\n  |            ^ \
             byte 0xe9: save the file as UTF-8, it looks like Latin-1\n"
        );
    }

    #[test]
    fn a_binary_file_is_refused() {
        let problem = Source::from_bytes("a.out", b"\x7fELF\x02\x01\x01\0\0").unwrap_err();
        assert_eq!(
            problem.to_string(),
            "error: `a.out` is not a text file\n --> a.out\n  = a scenario is TOML, text in UTF-8; \
             `wifair analyze` reads captures\n"
        );
    }

    #[test]
    fn a_file_of_two_gigabytes_is_refused_by_its_size() {
        assert_eq!(
            Source::too_large("big.toml", 2_147_483_648).to_string(),
            "error: `big.toml` has 2147.5 MB\n --> big.toml\n  = a scenario has at most 4 MB\n"
        );
        assert!(Source::from_bytes("big.toml", &vec![b' '; 4_000_001]).is_err());
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        assert_eq!(Source::from_bytes("a.toml", b"\xef\xbb\xbfa = 1").unwrap().text(), "a = 1");
    }
}
