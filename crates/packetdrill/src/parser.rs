//! Parses the text of a script into a [`Script`].
//!
//! The language is that of packetdrill: N. Cardwell et al., "packetdrill: Scriptable Network Stack Testing, from
//! Sockets to Packets", USENIX ATC 2013, section 3, with the additions that later scripts use. What is not TCP over plain
//! IP, and what only other versions of packetdrill know (those for SCTP, Multipath TCP or PSP), becomes an event
//! [`ScriptAction::Unsupported`]. It is the last one: a script stops there, and what follows is not read.

use wifair_tcp::accecn::AccEcnOption;

use crate::cursor::Cursor;
use crate::error::{ScriptError, ScriptPlace};
use crate::expression;
use crate::script::{Argument, Ecn, Event, Flags, Script, ScriptAction, ScriptSegment, SystemCall, TcpOption, When};

/// The greatest size of a script, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// The greatest depth of nested arguments.
const MAX_DEPTH: u32 = 32;

/// The limit of times in a script, in seconds.
const MAX_SECONDS: f64 = 1e6;

/// Parses a script.
///
/// # Errors
/// If it is malformed; the error has the line, the column, and what is expected there.
pub fn parse(text: &str) -> Result<Script, ScriptError> {
    let mut parser = ScriptParser { cursor: Cursor::new(text, ScriptPlace { line: 1, column: 1 }) };
    if text.len() > MAX_BYTES {
        return Cursor::error_at(parser.cursor.place(), format!("the script has more than {MAX_BYTES} bytes"));
    }
    parser.script()
}

/// Why an event is not read.
enum ParseStop {
    /// It is malformed.
    Malformed(ScriptError),
    /// This part of it is not supported.
    Unsupported(String),
}

impl From<ScriptError> for ParseStop {
    fn from(error: ScriptError) -> Self {
        Self::Malformed(error)
    }
}

type Reading<T> = Result<T, ParseStop>;

fn unsupported<T>(what: impl Into<String>) -> Reading<T> {
    Err(ParseStop::Unsupported(what.into()))
}

struct ScriptParser<'a> {
    cursor: Cursor<'a>,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl<'a> ScriptParser<'a> {
    fn script(&mut self) -> Result<Script, ScriptError> {
        let mut script = Script::default();
        loop {
            let mut event =
                Event { place: self.cursor.place(), when: When::Any, action: ScriptAction::Code(Vec::new()) };
            match self.next(&mut script.options, &mut event) {
                Ok(true) => script.events.push(event),
                Ok(false) => break,
                Err(ParseStop::Malformed(error)) => return Err(error),
                Err(ParseStop::Unsupported(what)) => {
                    event.action = ScriptAction::Unsupported(what);
                    script.events.push(event);
                    break;
                }
            }
        }
        if script.events.is_empty() {
            return Cursor::error_at(self.cursor.place(), "this script has no event, such as `0 socket(...) = 3`");
        }
        Ok(script)
    }

    /// Reads the next event, and the options before the first; false if there is none.
    fn next(&mut self, options: &mut Vec<(ScriptPlace, String, String)>, event: &mut Event) -> Reading<bool> {
        self.skip()?;
        while self.cursor.at("--") {
            options.push(self.option()?);
            self.skip()?;
        }
        event.place = self.cursor.place();
        match self.cursor.peek() {
            None => return Ok(false),
            Some('#') => {
                let line = self.cursor.take_while(|c| c != '\n');
                return unsupported(format!("the directive `{}`", line.split_whitespace().next().unwrap_or("#")));
            }
            // Commands at the start and at the end may have no time.
            Some('`') => event.when = When::Relative(0, 0),
            Some(_) => event.when = self.when()?,
        }
        self.skip()?;
        event.action = self.action()?;
        Ok(true)
    }

    /// Skips white space and comments.
    fn skip(&mut self) -> Reading<()> {
        loop {
            self.cursor.take_while(char::is_whitespace);
            let place = self.cursor.place();
            if self.cursor.at("//") {
                self.cursor.take_while(|c| c != '\n');
            } else if self.cursor.eat("/*") {
                if self.cursor.take_until("*/").is_none() {
                    return Cursor::error_at(place, "this comment has no end: `*/` is missing");
                }
            } else {
                return Ok(());
            }
        }
    }

    fn option(&mut self) -> Reading<(ScriptPlace, String, String)> {
        let place = self.cursor.place();
        self.cursor.eat("--");
        let name = self.word("the name of an option")?;
        let value = if self.cursor.eat("=") {
            if self.cursor.eat("\"") {
                self.until("\"", "string")?.to_owned()
            } else {
                self.cursor.take_while(|c| !c.is_whitespace()).to_owned()
            }
        } else {
            String::new()
        };
        Ok((place, name.to_owned(), value))
    }

    fn word(&mut self, what: &str) -> Reading<&'a str> {
        if self.cursor.peek().is_some_and(is_word) {
            Ok(self.cursor.take_while(is_word))
        } else {
            self.cursor.expected(what)
        }
    }

    fn until(&mut self, end: &str, what: &str) -> Reading<&'a str> {
        let place = self.cursor.place();
        match self.cursor.take_until(end) {
            Some(text) => Ok(text),
            None => Cursor::error_at(place, format!("this {what} has no end: `{end}` is missing")),
        }
    }

    fn token(&mut self, token: &str) -> Reading<()> {
        self.skip()?;
        if self.cursor.eat(token) { Ok(()) } else { self.cursor.expected(&format!("`{token}`")) }
    }

    fn when(&mut self) -> Reading<When> {
        if self.cursor.eat("*") {
            return Ok(When::Any);
        }
        let relative = self.cursor.eat("+");
        let start = self.micros()?;
        self.skip()?;
        let mut end = start;
        if self.cursor.eat("~") {
            self.skip()?;
            if relative != self.cursor.eat("+") {
                return self.cursor.expected("both ends of a range of times with `+`, or none");
            }
            let place = self.cursor.place();
            end = self.micros()?;
            if end < start {
                return Cursor::error_at(place, "this range of times ends before it begins");
            }
        }
        Ok(if relative { When::Relative(start, end) } else { When::Absolute(start, end) })
    }

    /// A number of seconds, as microseconds.
    fn micros(&mut self) -> Reading<i64> {
        let place = self.cursor.place();
        let negative = self.cursor.eat("-");
        let whole = self.cursor.take_while(|c| c.is_ascii_digit());
        let mut text = whole.to_owned();
        let mut ahead = self.cursor;
        if ahead.eat(".") && ahead.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.cursor.eat(".");
            text.push('.');
            text.push_str(self.cursor.take_while(|c| c.is_ascii_digit()));
        }
        if text.is_empty() {
            return self.cursor.expected("a time in seconds, such as `+.1` or `0.250`, before an event");
        }
        let seconds: f64 = match text.parse() {
            Ok(seconds) if (0.0..MAX_SECONDS).contains(&seconds) => seconds,
            _ => return Cursor::error_at(place, format!("a time is less than {MAX_SECONDS} s")),
        };
        let micros = (seconds * 1e6).round() as i64;
        Ok(if negative { -micros } else { micros })
    }

    fn action(&mut self) -> Reading<ScriptAction> {
        match self.cursor.peek() {
            Some('<') => {
                self.cursor.bump();
                self.packet().map(ScriptAction::Inject)
            }
            Some('>') => {
                self.cursor.bump();
                self.packet().map(ScriptAction::Expect)
            }
            Some('`') => {
                self.cursor.bump();
                Ok(ScriptAction::Command(self.until("`", "command")?.to_owned()))
            }
            Some('%') => {
                let place = self.cursor.place();
                if !self.cursor.eat("%{") {
                    return self.cursor.expected("`%{`");
                }
                let inside = self.cursor.place();
                let Some(code) = self.cursor.take_until("}%") else {
                    return Cursor::error_at(place, "this code has no end: `}%` is missing");
                };
                expression::parse(code, inside)?.map(ScriptAction::Code).map_err(ParseStop::Unsupported)
            }
            Some(c) if is_word(c) || c == '.' => self.call(),
            _ => self.cursor.expected("a segment (`<` or `>`), a system call, a command in backquotes or `%{`"),
        }
    }

    fn integer<T: TryFrom<i64>>(&mut self, what: &str) -> Reading<T> {
        self.skip()?;
        let place = self.cursor.place();
        let negative = self.cursor.eat("-");
        let (digits, radix) = if self.cursor.eat("0x") {
            (self.cursor.take_while(|c| c.is_ascii_hexdigit()), 16)
        } else {
            (self.cursor.take_while(|c| c.is_ascii_digit()), 10)
        };
        if digits.is_empty() {
            // Other versions of packetdrill know names of numbers, and numbers that are not compared.
            let word = self.cursor.take_while(|c| c.is_ascii_uppercase() || c == '_');
            return match word {
                "" if self.cursor.at("...") => unsupported(format!("`...` as {what}")),
                "" => self.cursor.expected(what),
                _ => unsupported(format!("`{word}` as {what}")),
            };
        }
        let value = i64::from_str_radix(digits, radix).ok().map(|value| if negative { -value } else { value });
        match value.and_then(|value| T::try_from(value).ok()) {
            Some(value) => Ok(value),
            None => Cursor::error_at(place, format!("`{digits}` is out of range for {what}")),
        }
    }

    fn packet(&mut self) -> Reading<ScriptSegment> {
        self.skip()?;
        let mut segment = ScriptSegment::default();
        for (open, close) in [("[", "]"), ("(", ")")] {
            if self.cursor.eat(open) {
                let text = self.until(close, "IP header")?.trim();
                segment.ecn = Ecn::named(text);
                if segment.ecn.is_none() {
                    return unsupported(format!("IP header field `{text}`"));
                }
                self.skip()?;
            }
        }
        // Flags are capital letters; a word in small letters names another kind of packet, or an address.
        let word: String = self.cursor.rest().chars().take_while(|c| is_word(*c)).collect();
        if word.starts_with(|c: char| c.is_ascii_lowercase()) || word == "GREv0" {
            return unsupported(format!("`{word}` packets"));
        }
        // Ports are those of the connection under test.
        if self.cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.integer::<u16>("a port")?;
            self.token(">")?;
            self.integer::<u16>("a port")?;
            self.skip()?;
        }
        self.flags(&mut segment.flags)?;
        segment.seq = self.integer("a sequence number")?;
        self.token(":")?;
        let place = self.cursor.place();
        let end: u32 = self.integer("a sequence number")?;
        self.token("(")?;
        segment.payload = self.integer("a number of payload bytes")?;
        self.token(")")?;
        if end != segment.seq.wrapping_add(segment.payload) {
            return Cursor::error_at(place, format!("{}:{end} are not {} bytes", segment.seq, segment.payload));
        }
        if segment.payload > 1 << 20 {
            return Cursor::error_at(place, "a segment has at most 1048576 bytes here");
        }
        self.skip()?;
        if self.keyword("ack") {
            segment.ack = self.integer("an acknowledgement number")?;
            self.skip()?;
        }
        if self.keyword("win") {
            segment.window = Some(self.integer::<u16>("a window of 16 bits")?.into());
            self.skip()?;
        }
        if self.keyword("urg") {
            return unsupported("urgent data");
        }
        segment.options = Some(Vec::new());
        if self.cursor.eat("<") {
            segment.options = self.options()?;
        }
        self.skip()?;
        if self.cursor.eat("/") {
            let word = self.cursor.take_while(is_word);
            return unsupported(format!("`/{word}` behind a segment"));
        }
        Ok(segment)
    }

    fn keyword(&mut self, word: &str) -> bool {
        let mut ahead = self.cursor;
        let found = ahead.eat(word) && !ahead.peek().is_some_and(is_word);
        if found {
            self.cursor = ahead;
        }
        found
    }

    fn flags(&mut self, flags: &mut Flags) -> Reading<()> {
        let place = self.cursor.place();
        if self.cursor.eat("-") {
            return Ok(());
        }
        let letters = self.cursor.take_while(is_word);
        let mut counter = false;
        for letter in letters.chars() {
            match letter {
                'F' => flags.fin = true,
                'S' => flags.syn = true,
                'R' => flags.rst = true,
                'P' => flags.psh = true,
                'U' => flags.urg = true,
                'E' => flags.ece = true,
                'W' => flags.cwr = true,
                'A' => flags.ae = true,
                '0'..='7' if !counter => {
                    *flags = flags.with_ace(letter as u8 - b'0');
                    counter = true;
                }
                _ => {
                    return Cursor::error_at(
                        place,
                        format!("`{letters}` are no flags: expected letters of FSRPUEWA, `.` for ACK, or `-` for none"),
                    );
                }
            }
        }
        flags.ack = self.cursor.eat(".");
        if letters.is_empty() && !flags.ack {
            return self.cursor.expected("the flags of a segment, such as `S`, `P.` or `.`");
        }
        if let Some(digit @ '0'..='7') = self.cursor.peek().filter(|_| flags.ack && !counter) {
            self.cursor.bump();
            *flags = flags.with_ace(digit as u8 - b'0');
        }
        if flags.urg {
            return unsupported("urgent data");
        }
        Ok(())
    }

    /// Parses TCP options after `<`; `None` stands for any options.
    fn options(&mut self) -> Reading<Option<Vec<TcpOption>>> {
        self.skip()?;
        if self.cursor.eat("...") {
            self.token(">")?;
            return Ok(None);
        }
        let mut options = Vec::new();
        loop {
            self.skip()?;
            let name = self.word("a TCP option")?;
            options.push(match name {
                "nop" => TcpOption::Nop,
                "eol" => TcpOption::Eol,
                "mss" => TcpOption::Mss(self.integer("a segment size")?),
                "wscale" => TcpOption::WindowScale(self.integer("a window scale")?),
                "sackOK" => TcpOption::SackPermitted,
                "sack" => TcpOption::Sack(self.blocks()?),
                "TS" => {
                    self.token("val")?;
                    let value = self.integer("a timestamp")?;
                    self.token("ecr")?;
                    TcpOption::Timestamp(value, self.integer("a timestamp")?)
                }
                "ECN" => TcpOption::AccEcn(self.counters()?),
                _ => return unsupported(format!("the TCP option `{name}`")),
            });
            self.skip()?;
            if self.cursor.eat(">") {
                return Ok(Some(options));
            }
            if !self.cursor.eat(",") {
                return self.cursor.expected("`,` or `>` behind a TCP option");
            }
        }
    }

    /// Parses the counters of an option of accurate ECN, such as `e1b 1 ceb 0 e0b 1`.
    fn counters(&mut self) -> Reading<AccEcnOption> {
        let mut option = AccEcnOption { ect1_first: false, counters: [0; 3], fields: 0 };
        self.skip()?;
        while self.cursor.peek().is_some_and(is_word) {
            let place = self.cursor.place();
            let name = self.word("a counter")?;
            option.ect1_first |= option.fields == 0 && name == "e1b";
            let names = if option.ect1_first { ["e1b", "ceb", "e0b"] } else { ["e0b", "ceb", "e1b"] };
            if names.get(usize::from(option.fields)) != Some(&name) {
                return Cursor::error_at(place, "the counters are `e1b N ceb N e0b N` or `e0b N ceb N e1b N`");
            }
            let value: u32 = self.integer("a counter of 24 bits")?;
            option.counters[usize::from(option.fields)] = value & 0xff_ffff;
            option.fields += 1;
            self.skip()?;
        }
        Ok(option)
    }

    fn blocks(&mut self) -> Reading<Vec<(u32, u32)>> {
        let mut blocks = Vec::new();
        loop {
            let start = self.integer("the start of a SACK block")?;
            self.token(":")?;
            blocks.push((start, self.integer("the end of a SACK block")?));
            self.skip()?;
            if !self.cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
                return Ok(blocks);
            }
        }
    }

    fn call(&mut self) -> Reading<ScriptAction> {
        let mut end = None;
        if self.cursor.eat("...") {
            self.skip()?;
            end = Some(self.micros()?);
            self.skip()?;
        }
        let name = self.word("the name of a system call")?.to_owned();
        self.token("(")?;
        let arguments = self.values(")", 0)?;
        self.token("=")?;
        let result = self.value(0)?;
        self.skip()?;
        let mut errno = None;
        if self.cursor.peek().is_some_and(|c| c.is_ascii_uppercase()) {
            errno = Some(self.word("an error")?.to_owned());
            self.skip()?;
        }
        if self.cursor.eat("(") {
            self.until(")", "note")?;
        }
        Ok(ScriptAction::SystemCall(SystemCall { end, name, arguments, result, errno }))
    }

    /// Parses values separated by commas, up to `end`.
    fn values(&mut self, end: &str, depth: u32) -> Reading<Vec<Argument>> {
        let mut values = Vec::new();
        self.skip()?;
        while !self.cursor.eat(end) {
            if !values.is_empty() {
                self.token(",")?;
            }
            values.push(self.value(depth)?);
            self.skip()?;
        }
        Ok(values)
    }

    fn value(&mut self, depth: u32) -> Reading<Argument> {
        let mut parts = vec![self.single(depth)?];
        self.skip()?;
        while self.cursor.eat("|") {
            parts.push(self.single(depth)?);
            self.skip()?;
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Argument::Or(parts) })
    }

    fn single(&mut self, depth: u32) -> Reading<Argument> {
        self.skip()?;
        if depth > MAX_DEPTH {
            return self.cursor.expected("less deeply nested arguments");
        }
        match self.cursor.peek() {
            Some('.') if self.cursor.eat("...") => Ok(Argument::Any),
            Some('[') => {
                self.cursor.bump();
                self.values("]", depth + 1).map(Argument::List)
            }
            Some('{') => {
                self.cursor.bump();
                self.fields(depth + 1).map(Argument::Struct)
            }
            Some('"') => {
                self.cursor.bump();
                let text = self.until("\"", "string")?.to_owned();
                self.skip()?;
                self.cursor.eat("...");
                Ok(Argument::Text(text))
            }
            Some(c) if c.is_ascii_digit() || c == '-' => self.integer("a number").map(Argument::Integer),
            Some(c) if is_word(c) => {
                let word = self.word("a name")?.to_owned();
                self.skip()?;
                if self.cursor.eat("(") {
                    return Ok(Argument::Apply(word, self.values(")", depth + 1)?));
                }
                Ok(Argument::Word(word))
            }
            _ => self.cursor.expected("an argument"),
        }
    }

    /// Parses fields `name = value` or `value`, separated by commas, up to `}`.
    fn fields(&mut self, depth: u32) -> Reading<Vec<(Option<String>, Argument)>> {
        let mut fields = Vec::new();
        self.skip()?;
        while !self.cursor.eat("}") {
            if !fields.is_empty() {
                self.token(",")?;
            }
            let value = self.value(depth)?;
            self.skip()?;
            let name = match &value {
                Argument::Word(name) | Argument::Apply(name, _) => Some(name.clone()),
                _ => None,
            };
            match name {
                Some(name) if self.cursor.eat("=") => fields.push((Some(name), self.value(depth)?)),
                _ => fields.push((None, value)),
            }
            self.skip()?;
        }
        Ok(fields)
    }
}
