//! The engine finds the next event, and supplies random numbers.
//!
//! A world has a few *sources* of events, each of which knows the time of its own next event: the radio channel, the
//! delay line of every link, the timers, the applications' event queue. [`NextEventTree`] merges them.  There is no
//! single event queue, because most events of a network need no sorting: a link delivers packets in the order in which
//! it accepted them, and a contention round has one winner.
//!
//! **Total order.** Events happen in the order of `(time, source, order within the source)`. A delay line is first in,
//! first out; timers due at the same instant fire in the order of their numbers; queue entries for the same instant
//! run in the order in which they were entered. So a run does not depend on how any of these is implemented.

mod contiguous_queue;
mod delay_line;
mod event_queue;
mod next_event_tree;
mod random;
mod timers;

pub use contiguous_queue::ContiguousQueue;
pub use delay_line::DelayLine;
pub use event_queue::EventQueue;
pub use next_event_tree::NextEventTree;
pub use random::{Stream, stream};
pub use timers::Timers;
