//! Packetdrill scripts, run on this project's TCP.
//!
//! A script injects segments, makes system calls and says which segments must leave, and when. [`run`] reads it, plays
//! it on a host whose TCP is that of `wifair-tcp` with the stack `modern`, in simulated time, and compares. Nothing of
//! a script is executed: shell commands are recognised by their text ([`System`]), and code in `%{ }%` is a small
//! language of its own ([`expression`]).

mod compare;
mod connection;
mod cursor;
mod driver;
pub mod expression;
mod host;
mod offload;
mod parser;
pub mod script;
mod syscall;
mod system;

pub use driver::{Report, RunOptions, Verdict, run};
pub use parser::{MAX_BYTES, parse};
pub use system::{ReadFile, System};
