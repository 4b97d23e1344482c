//! TCP NewReno: Reno's window, with a recovery that lasts until all that was in flight is acknowledged.
//!
//! Source: T. Henderson, S. Floyd, A. Gurtov and Y. Nishida, RFC 6582, 2012. The window is [`reno`]'s; partial
//! acknowledgements are the sender's matter.

use crate::cc::reno::{self, Reno};
use crate::cc::{About, Recovery, Start};

/// For `wifair list`.
pub const ABOUT: About = About {
    name: "newreno",
    summary: "Reno's window; fast recovery ends when all that was in flight is acknowledged",
    source: "T. Henderson, S. Floyd, A. Gurtov and Y. Nishida, RFC 6582, 2012",
    one_line_only: false,
    recovery: Recovery::NewReno,
};

pub use reno::Params;

/// NewReno at the start of a connection.
#[must_use]
pub fn new(params: &Params, start: Start) -> Reno {
    reno::new(params, start)
}
