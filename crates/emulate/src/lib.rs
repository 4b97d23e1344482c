//! Emulation: real programs over the simulated air.
//!
//! ```text
//! program --> TUN device --Cell::put_in--> simulated links, queues, air --Cell::take_out--> TUN device --> program
//!                 live: follows the wall clock          |
//!                                                       +--> captures, analysis of connections, recording
//! ```
//!
//! [`Cell`] uses no clock and no device. Its behaviour is a function of the scenario, the seed, and the packets with
//! their times of arrival, so that a [recording](record) can be replayed. `live` connects it to TUN devices in network
//! namespaces, and needs Linux.

mod cell;
mod flows;
#[cfg(target_os = "linux")]
pub mod live;
pub mod record;

pub use cell::{Cell, Counts, Delivery, Finished, LONGEST_PACKET, Refusal, Settings, v6_of};
pub use flows::MOST_CONNECTIONS;
