//! A congestion control of the user's own, a class in Python.
//!
//! Scenarios name the class; who runs them gives its state to the sender as [`crate::cc::Foreign`]. Reno stands here
//! in its place where only the choice is looked at.

use wifair_config::{Free, table};

use crate::cc::Start;
use crate::cc::reno::{self, Reno};

table! {
    /// A class of your own in Python. `cc = "module:Class"` says the same.
    pub struct Params {
        /// Where the class is, as in `my_module:MyControl`: a subclass of `wifair.CongestionControl`.
        pub class: String, "module:Class" => |class| class.split_once(':').is_some_and(|(module, name)| {
            !module.is_empty() && !name.is_empty()
        });
        /// Handed to the class as named arguments.
        pub parameters: Free = Free::default();
    }
}

/// Stands in the place of the class.
#[must_use]
pub fn new(_: &Params, start: Start) -> Reno {
    reno::new(&reno::Params::default(), start)
}
