//! IEEE 802.11: timing, channel access, and the queues in front of it.
//!
//! A medium ([`dcf::Cell`]) is a state machine without a clock: it says when it wants to be called
//! next, and answers with what has happened. Clause numbers are those of IEEE Std 802.11-2016.

pub mod dcf;
pub mod phy;
pub mod queue;
pub mod routing;
pub mod scheme;
