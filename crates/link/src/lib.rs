//! A contended Wi-Fi network as a link for the tests of transport protocols.
//!
//! A test offers datagrams, and gets them back when, and if, they arrive. In between lies a network that a scenario
//! describes: stations that contend for the air, aggregation, retries, rate adaptation, the queues of the access
//! point, wired links, and simulated background traffic. There is no thread, clock or I/O: time passes when the test
//! says so, and the same scenario, seed and offers give the same deliveries.
//!
//! ```
//! use std::time::Duration;
//! use wifair_link::{LinkDatagram, WifiLink};
//!
//! let mut network = WifiLink::builder()
//!     .station("laptop")
//!     .server("server", Duration::from_millis(10))
//!     .background_uploads("neighbour", 4)
//!     .build()?;
//! let (laptop, server) = (network.host("laptop").unwrap(), network.host("server").unwrap());
//!
//! network.advance(Duration::from_secs(2))?; // the neighbours' uploads fill the queues
//! let sent = network.offer(network.now(), laptop, server, LinkDatagram::new(b"hello".to_vec()))?;
//! let arrived = loop {
//!     if let Some(delivery) = network.poll_delivery() {
//!         break delivery;
//!     }
//!     let next = network.next_event().expect("the datagram is still under way");
//!     network.advance(next)?;
//! };
//! assert_eq!((arrived.number, arrived.payload.as_slice()), (sent, b"hello".as_slice()));
//! assert!(arrived.time > Duration::from_millis(2_010)); // 10 ms of wire, and the wait for the air
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The keys of scenarios are those of `wifair run`; [`WifiLink::from_toml`] reads such a file. A datagram is an IPv4
//! packet with a UDP header to the network: 28 bytes more than its payload, at most [`MTU`].

mod builder;
mod datagram;
mod flows;
mod snapshot;
mod wifi_link;

pub use builder::LinkBuilder;
pub use datagram::{Delivered, EcnField, LinkDatagram, LossPlace, Lost};
pub use snapshot::{Snapshot, StationSnapshot};
pub use wifi_link::{LinkError, LinkHost, WifiLink};

/// Longest IP packet in bytes.
pub const MTU: usize = 1500;
/// Bytes of an IPv4 header and a UDP header.
pub const HEADERS: usize = 28;
