//! A user-defined discipline, written as a Python class.
//!
//! Scenarios name the class; the caller who runs them passes the queue to the world with
//! [`Queue::custom`](super::Queue::custom). Where only the choice is examined, a drop-tail FIFO takes its place.

use wifair_config::{Free, is_class, table};

use super::{Fifo, Site, fifo};

table! {
    /// A class of your own in Python; `discipline = "module:Class"` is equivalent.
    pub struct Params {
        /// Location of the class, as in `my_module:MyQueue`: a subclass of `wifair.QueueDiscipline`.
        pub class: String, "module:Class" => |class| is_class(class);
        /// Passed to the class as keyword arguments.
        pub parameters: Free = Free::default();
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct Python;

impl Python {
    /// The empty queue that takes the place of one of the class.
    #[expect(clippy::new_ret_no_self)]
    pub fn new(_: &Params, site: &Site<'_>) -> Fifo {
        Fifo::new(&fifo::Params::default(), site)
    }
}
