//! Packet captures: reading and writing the files, and what TCP and 802.11 did in them.
//!
//! ```text
//! file --Reader--> Record --link::decode--> Datagram --segment::parse--> Segment --Analyzer--> Analysis
//!                                                                                               --> JSON, xplot
//! ```
//!
//! No layer does I/O except for the `Read` at the bottom. Each allocates nothing per packet and accepts any bytes:
//! damaged input ends in [`Error`] or [`Damage`], never in a panic.

pub mod adjust;
mod air;
mod analysis;
mod datagram_report;
mod datagrams;
mod duplicates;
mod error;
pub mod fairness;
mod fragments;
#[doc(hidden)]
pub mod fuzz;
mod json;
mod largest;
pub mod link;
mod numbering;
mod reader;
mod registry;
mod report;
mod roles;
mod rows;
mod segment;
mod tcp;
mod write;
mod xplot;

pub use air::{AirStation, Levels, LinkModes};
pub use analysis::{
    Analysis, AnalysisOptions, Analyzer, Counts, Filter, MOST_BINS, Others, USUAL_CONNECTIONS, analyze,
};
pub use error::{Damage, Error};
pub use largest::MOST_FLOW_BINS;
pub use link::{Datagram, DecodeOutcome, LinkType, Sink, decode};
pub use reader::{CaptureReader, Interface, Record};
pub use report::{ConnectionReport, Definition, Field, about};
pub use roles::FlowRole;
pub use rows::{COLUMNS, Rows, SegmentRow, mark};
pub use segment::{
    AccEcnCounters, Address, EchoMessage, Endpoint, FragmentPart, Payload, Segment, TcpOptions, addresses, flag, parse,
};
pub use tcp::connection::SegmentVerdict;
pub use tcp::observed_scoreboard::{Flight, RetransmissionCause};
pub use tcp::side::{StationDirection, TransmissionSession};
pub use write::{PcapWriter, PcapngWriter, frame};
pub use xplot::Graph;
