//! Emulation: real programs over simulated Wi-Fi.
//!
//! ```text
//! program --> TUN device --inject--> simulated links, queues, air --collect--> TUN device --> program
//!                 live: follows the wall clock   |
//!                                                +--> captures, analysis of connections, recording
//! ```
//!
//! [`EmulatedCell`] uses neither a clock nor a device. Its behaviour is a function of the scenario, the seed, and the
//! packets with their times of arrival, so a [recording](record) can be replayed. `live` connects it to TUN devices in
//! network namespaces, and needs Linux.

mod cell;
mod flows;
#[cfg(target_os = "linux")]
pub mod live;
pub mod record;

pub use cell::{Delivery, EmulatedCell, EmulationOptions, Finished, LONGEST_PACKET, PacketCounts, Refusal, v6_of};
pub use flows::MOST_CONNECTIONS;
