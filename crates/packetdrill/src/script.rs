//! The syntax tree of a script.

use std::fmt;

use wifair_tcp::accecn::{AccEcnOption, EcnCodepoint};

use crate::error::ScriptPlace;
use crate::expression::Statement;

/// A whole script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// Options at the beginning, such as `--tolerance_usecs=10000`: place, name without dashes, value.
    pub options: Vec<(ScriptPlace, String, String)>,
    /// The events in order. Shell commands before the first event have time zero.
    pub events: Vec<Event>,
}

/// An event of a script.
#[derive(Clone, Debug)]
pub struct Event {
    /// Its place in the script.
    pub place: ScriptPlace,
    /// When it happens.
    pub when: When,
    /// What happens.
    pub action: ScriptAction,
}

/// The time of an event, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At any time.
    Any,
    /// Between two times since the start of the script.
    Absolute(i64, i64),
    /// Between two times since the previous event.
    Relative(i64, i64),
}

/// What happens.
#[derive(Clone, Debug)]
pub enum ScriptAction {
    /// A segment arrives (`<`).
    Inject(ScriptSegment),
    /// A segment must be sent (`>`).
    Expect(ScriptSegment),
    /// The application makes a system call.
    SystemCall(SystemCall),
    /// A shell command, which is parsed and never run.
    Command(String),
    /// Assertions and assignments between `%{` and `}%`.
    Code(Vec<Statement>),
    /// A construct that is not supported; the last event.
    Unsupported(String),
}

/// The ECN field of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
    /// Either ECT codepoint.
    AnyEct,
}

impl Ecn {
    const NAMES: [(Self, &str); 5] = [
        (Self::NotEct, "noecn"),
        (Self::Ect0, "ect0"),
        (Self::Ect1, "ect1"),
        (Self::Ce, "ce"),
        (Self::AnyEct, "ect01"),
    ];

    /// The codepoint of a packet that arrives: any of `ect01` is ECT(0).
    pub const fn field(self) -> EcnCodepoint {
        match self {
            Self::NotEct => EcnCodepoint::NotEct,
            Self::Ect0 | Self::AnyEct => EcnCodepoint::Ect0,
            Self::Ect1 => EcnCodepoint::Ect1,
            Self::Ce => EcnCodepoint::Ce,
        }
    }

    /// The field with this name in a script.
    pub fn named(text: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, name)| *name == text).map(|(ecn, _)| *ecn)
    }
}

impl fmt::Display for Ecn {
    /// As in a script, without brackets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::NAMES.iter().filter(|(ecn, _)| ecn == self).try_for_each(|(_, name)| f.write_str(name))
    }
}

/// Header flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// FIN.
    pub fin: bool,
    /// SYN.
    pub syn: bool,
    /// RST.
    pub rst: bool,
    /// PSH.
    pub psh: bool,
    /// ACK.
    pub ack: bool,
    /// URG.
    pub urg: bool,
    /// ECE.
    pub ece: bool,
    /// CWR.
    pub cwr: bool,
    /// AE (RFC 9768).
    pub ae: bool,
}

impl Flags {
    /// ACK alone.
    pub const ACK: Self = Self {
        ack: true,
        fin: false,
        syn: false,
        rst: false,
        psh: false,
        urg: false,
        ece: false,
        cwr: false,
        ae: false,
    };

    /// AE, CWR and ECE as a number, the ACE field (RFC 9768, section 3.2.2).
    pub const fn ace(self) -> u8 {
        (self.ae as u8) << 2 | (self.cwr as u8) << 1 | self.ece as u8
    }

    /// These flags with AE, CWR and ECE from the ACE field.
    #[must_use]
    pub const fn with_ace(self, ace: u8) -> Self {
        Self { ae: ace & 4 != 0, cwr: ace & 2 != 0, ece: ace & 1 != 0, ..self }
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (self.syn, 'S'),
            (self.fin, 'F'),
            (self.rst, 'R'),
            (self.psh, 'P'),
            (self.urg, 'U'),
            (self.ece, 'E'),
            (self.cwr, 'W'),
            (self.ae, 'A'),
            (self.ack, '.'),
        ];
        let text: String = letters.iter().filter(|(set, _)| *set).map(|(_, letter)| *letter).collect();
        f.write_str(if text.is_empty() { "-" } else { &text })
    }
}

/// A TCP option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// No operation.
    Nop,
    /// End of the list.
    Eol,
    /// Maximum segment size.
    Mss(u16),
    /// Window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks, in the script's sequence numbers.
    Sack(Vec<(u32, u32)>),
    /// Timestamp value and echo.
    Timestamp(u32, u32),
    /// Counters of accurate ECN.
    AccEcn(AccEcnOption),
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nop => f.write_str("nop"),
            Self::Eol => f.write_str("eol"),
            Self::Mss(mss) => write!(f, "mss {mss}"),
            Self::WindowScale(scale) => write!(f, "wscale {scale}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(f, " {start}:{end}"))
            }
            Self::Timestamp(value, echo) => write!(f, "TS val {value} ecr {echo}"),
            Self::AccEcn(option) => {
                f.write_str("ECN")?;
                let names = if option.ect1_first { ["e1b", "ceb", "e0b"] } else { ["e0b", "ceb", "e1b"] };
                let fields = names.iter().zip(option.counters).take(option.fields.into());
                fields.into_iter().try_for_each(|(name, value)| write!(f, " {name} {value}"))
            }
        }
    }
}

/// A segment in a script, or one that the host sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptSegment {
    /// The ECN field, if given.
    pub ecn: Option<Ecn>,
    /// Header flags.
    pub flags: Flags,
    /// First sequence number; that of the SYN is 0.
    pub seq: u32,
    /// Payload, in bytes.
    pub payload: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Window field, if given.
    pub window: Option<u32>,
    /// Options; `None` for `<...>`, which matches any options.
    pub options: Option<Vec<TcpOption>>,
}

impl ScriptSegment {
    /// A segment without data.
    pub fn empty(flags: Flags, seq: u32) -> Self {
        Self { flags, seq, ..Self::default() }
    }

    /// Timestamp value and echo.
    pub fn timestamp(&self) -> Option<(u32, u32)> {
        self.options.iter().flatten().find_map(|option| match option {
            TcpOption::Timestamp(value, echo) => Some((*value, *echo)),
            _ => None,
        })
    }

    /// The counters of accurate ECN.
    pub fn acc_ecn(&self) -> Option<AccEcnOption> {
        self.options.iter().flatten().find_map(|option| match option {
            TcpOption::AccEcn(option) => Some(*option),
            _ => None,
        })
    }

    /// The SACK blocks, in the script's sequence numbers.
    pub fn sack_blocks(&self) -> &[(u32, u32)] {
        let blocks = self.options.iter().flatten().find_map(|option| match option {
            TcpOption::Sack(blocks) => Some(blocks.as_slice()),
            _ => None,
        });
        blocks.unwrap_or_default()
    }
}

impl fmt::Display for ScriptSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ecn) = self.ecn {
            write!(f, "[{ecn}] ")?;
        }
        write!(f, "{} {}:{}({})", self.flags, self.seq, self.seq.wrapping_add(self.payload), self.payload)?;
        if self.flags.ack {
            write!(f, " ack {}", self.ack)?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            None => f.write_str(" <...>"),
            Some(options) if options.is_empty() => Ok(()),
            Some(options) => {
                let texts: Vec<_> = options.iter().map(ToString::to_string).collect();
                write!(f, " <{}>", texts.join(","))
            }
        }
    }
}

/// A system call with its arguments and its result.
#[derive(Clone, Debug)]
pub struct SystemCall {
    /// When a blocking call returns, in microseconds, counted as the time of its event.
    pub end: Option<i64>,
    /// Name of the function.
    pub name: String,
    /// Arguments.
    pub arguments: Vec<Argument>,
    /// The value that it returns.
    pub result: Argument,
    /// The error that it sets.
    pub errno: Option<String>,
}

/// An argument of a system call.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// `...`.
    Any,
    /// A number.
    Integer(i64),
    /// A name, such as `SOCK_STREAM`.
    Word(String),
    /// A string.
    Text(String),
    /// `[a, b]`.
    List(Vec<Self>),
    /// `{name = a, b}`.
    Struct(Vec<(Option<String>, Self)>),
    /// `A|B`.
    Or(Vec<Self>),
    /// `name(a)`.
    Apply(String, Vec<Self>),
}

impl Argument {
    /// The number, if it is one.
    pub const fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The name, if it is one.
    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Whether it is this name, or a bitwise OR that contains it.
    pub fn names(&self, word: &str) -> bool {
        match self {
            Self::Word(own) => own == word,
            Self::Or(parts) => parts.iter().any(|part| part.names(word)),
            _ => false,
        }
    }
}
