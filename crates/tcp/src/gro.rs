//! Generic receive offload: segments that come together are one to the receiver.
//!
//! Source: Linux's `tcp_gro_receive`, described and not copied. Segments of one flow that the network card hands up
//! together are merged if they follow each other without a gap, are equally long but for the last, carry the same
//! timestamp and the same congestion mark, and make no more than an IP packet can hold. A segment with SYN or FIN ends
//! the batch. TCP then sees one arrival: it acknowledges the batch once, and a batch out of order is one sign of loss.
//!
//! Together are segments that come within [`ReceiverConfig::gro`](crate::config::ReceiverConfig::gro) of the first:
//! with nothing but an instant, those that one PPDU has brought.

use wifair_packet::{Packet, flag};
use wifair_units::{Duration, Time};

/// An IP packet holds 65,535 bytes, of which so many are headers at least.
const LONGEST: u64 = 65_535 - 40;

/// Linux's timestamps tick every millisecond unless told otherwise, those here every microsecond.
const TICK: u32 = 1000;

/// Segments that have come and are not yet TCP's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    /// The first segment, with the payload of each.
    pub first: Packet,
    /// Offset behind the last one.
    pub end: u64,
    /// Segments inside.
    pub segments: u32,
    /// When TCP gets them.
    pub until: Time,
}

impl Batch {
    /// A batch that begins with this segment and is complete after `wait`, at the end of the instant at least.
    pub fn new(now: Time, wait: Duration, first: &Packet) -> Self {
        Self { first: *first, end: first.end(), segments: 1, until: now + wait.max(Duration::from_nanos(1)) }
    }

    /// Takes in a segment, if it belongs to the batch. `timestamps`: they are compared.
    pub fn merge(&mut self, packet: &Packet, timestamps: bool) -> bool {
        let has_full_ones = self.end - self.first.seq == u64::from(self.segments) * u64::from(self.first.payload);
        let belongs = packet.seq == self.end
            && has_full_ones
            && packet.payload <= self.first.payload
            && packet.end() - self.first.seq <= LONGEST
            && packet.has(flag::CE) == self.first.has(flag::CE)
            && packet.has(flag::CWR) == self.first.has(flag::CWR)
            && (!timestamps || packet.ts_val / TICK == self.first.ts_val / TICK);
        if belongs {
            self.end = packet.end();
            self.segments += 1;
        }
        belongs
    }
}
