//! Real programs over the simulated air.
//!
//! ```text
//! program --> TUN device --Cell::put_in--> simulated wires, queues, air --Cell::take_out--> TUN device --> program
//!                 live: follows the wall clock          |
//!                                                       +--> captures, connections at the access point, recording
//! ```
//!
//! [`Cell`] knows no clock and no device: what it does is a function of the scenario, the seed, and which packet came
//! when, so that a [recording](record) can be replayed. `live` feeds it from TUN devices in network namespaces; it
//! needs Linux.

mod cell;
mod flows;
#[cfg(target_os = "linux")]
pub mod live;
pub mod record;

pub use cell::{Cell, Counts, Delivery, Finished, LONGEST_PACKET, Refusal, Settings, v6_of};
pub use flows::MOST_CONNECTIONS;
