//! A congestion control written by the user, as a class in Python.
//!
//! The scenario names the class; whoever runs it passes its state to the sender as [`crate::cc::CustomControl`]. Reno
//! is a placeholder where only the choice matters.

use wifair_config::{Free, is_class, table};

use crate::cc::Start;
use crate::cc::reno::{self, Reno};

table! {
    /// A class of your own in Python. `cc = "module:Class"` says the same.
    pub struct Params {
        /// The class, as in `my_module:MyControl`: a subclass of `wifair.CongestionControl`.
        pub class: String, "module:Class" => |class| is_class(class);
        /// Keyword arguments of the class.
        pub parameters: Free = Free::default();
    }
}

/// Placeholder for the class.
pub fn new(_: &Params, start: Start) -> Reno {
    reno::new(&reno::Params::default(), start)
}
