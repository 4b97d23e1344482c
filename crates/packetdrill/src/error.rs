//! What is wrong in a script, and where.

/// A place in a script; line and column count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptPlace {
    /// Line.
    pub line: u32,
    /// Column, in bytes.
    pub column: u32,
}

/// The error for a script that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// The place of the error.
    pub place: ScriptPlace,
    /// What is wrong there, and what is expected instead.
    pub message: String,
}

/// What a parser returns.
pub(crate) type Parsed<T> = Result<T, ScriptError>;

/// Why a script stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptStop {
    /// Something differs from the script.
    Differs(String),
    /// The script uses something that is not supported.
    Unsupported(String),
}

impl ScriptStop {
    pub(crate) fn differs<T>(reason: String) -> Result<T, Self> {
        Err(Self::Differs(reason))
    }

    pub(crate) fn unsupported<T>(what: impl Into<String>) -> Result<T, Self> {
        Err(Self::Unsupported(what.into()))
    }
}
