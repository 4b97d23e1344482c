//! TCP Westwood-NR: Westwood's window with NewReno's recovery.
//!
//! Source: the combination of S. Mascolo et al., "TCP Westwood", 2001, and RFC 6582 that ns-2's contributed module
//! calls WestwoodNR; Y.-J. Jung and C. Y. Park, 2016, section 4.2, name it. The window is [`westwood`]'s.

use crate::cc::westwood::{self, Westwood};
use crate::cc::{About, Recovery, Start};

/// For `wifair list`.
pub const ABOUT: About = About {
    name: "westwood-nr",
    summary: "Westwood's window with NewReno's recovery",
    source: "S. Mascolo et al., TCP Westwood, 2001, with RFC 6582",
    one_line_only: false,
    recovery: Recovery::NewReno,
};

pub use westwood::Params;

/// Westwood-NR at the start of a connection.
#[must_use]
pub fn new(params: &Params, start: Start) -> Westwood {
    westwood::new(params, start)
}
