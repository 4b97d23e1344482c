//! Runs packetdrill scripts on this project's TCP.
//!
//! A script injects segments, makes system calls, and says which segments must be sent and when. [`run`] parses it,
//! plays it in simulated time on a host with the TCP of `wifair-tcp` (stack `modern`), and compares. The system never
//! executes any part of a script: shell commands are recognised by their text ([`System`]), and code in `%{ }%` is
//! evaluated as a small language of its own ([`expression`]).

mod compare;
mod connection;
mod cursor;
mod driver;
mod error;
pub mod expression;
mod host;
mod offload;
mod parser;
pub mod script;
mod syscall;
mod system;

pub use driver::{PlayOptions, Report, ScriptVerdict, run};
pub use error::{ScriptError, ScriptPlace};
pub use parser::{MAX_BYTES, parse};
pub use system::{ReadFile, System};
