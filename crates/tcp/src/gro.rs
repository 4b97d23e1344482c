//! Generic receive offload (GRO): segments that arrive together are handed to TCP as one.
//!
//! Source: behaviour of Linux's `tcp_gro_receive`. Segments of one flow that arrive together are merged if they are
//! contiguous, equally long except for the last, carry the same timestamp and congestion mark, and fit into one IP
//! packet. A segment with SYN or FIN ends the batch, one with PSH is its last. TCP sees a batch as one arrival: it
//! sends one ACK, and a batch out of order counts as one sign of loss.
//!
//! "Together" means within [`ReceiverConfig::gro`](crate::config::ReceiverConfig::gro) of the first segment. With zero,
//! only segments that arrive at the same instant are merged, such as those of one PPDU.

use wifair_packet::{Packet, flag};
use wifair_units::{Duration, Time};

/// Payload that fits into an IP packet: 65,535 bytes less IP and TCP header.
const LONGEST: u64 = 65_535 - 40;

/// Linux compares timestamps in its ticks of 1 ms; timestamps here count microseconds.
const TICK: u32 = 1000;

/// Segments that have arrived but are not yet handed to TCP.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// The first segment; all but the last have its payload length.
    pub first: Packet,
    /// Offset after the last byte.
    pub end: u64,
    /// Number of segments.
    pub segments: u32,
    /// The tick of their timestamps.
    tick: u32,
    /// When the batch is handed to TCP; [`Time::NEVER`] if it is empty.
    pub until: Time,
}

impl Default for Batch {
    fn default() -> Self {
        Self { first: Packet::default(), end: 0, segments: 0, tick: 0, until: Time::NEVER }
    }
}

impl Batch {
    /// Starts a batch that is handed to TCP after `wait`, or at the end of this instant if that is later.
    pub fn start(&mut self, now: Time, wait: Duration, first: &Packet) {
        let (end, tick) = (first.end(), first.ts_val / TICK);
        *self = Self { first: *first, end, segments: 1, tick, until: now + wait.max(Duration::from_nanos(1)) };
    }

    /// Forgets the segments.
    pub const fn clear(&mut self) {
        self.segments = 0;
        self.until = Time::NEVER;
    }

    /// Adds a segment and returns true if it belongs to the batch. `timestamps` says whether timestamps must match.
    pub fn merge(&mut self, packet: &Packet, timestamps: bool) -> bool {
        let has_full_ones = self.end - self.first.seq == u64::from(self.segments) * u64::from(self.first.payload);
        let belongs = self.segments > 0
            && packet.seq == self.end
            && has_full_ones
            && packet.payload <= self.first.payload
            && packet.end() - self.first.seq <= LONGEST
            && packet.has(flag::CE) == self.first.has(flag::CE)
            && packet.has(flag::CWR) == self.first.has(flag::CWR)
            && (!timestamps || packet.ts_val / TICK == self.tick);
        if belongs {
            self.end = packet.end();
            self.segments += 1;
        }
        belongs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u64, payload: u16) -> Packet {
        Packet { seq, payload, ts_val: 5_000, ..Packet::default() }
    }

    fn batch() -> Batch {
        started(Time::ZERO, Duration::ZERO, &segment(0, 1000))
    }

    fn started(now: Time, wait: Duration, first: &Packet) -> Batch {
        let mut batch = Batch::default();
        batch.start(now, wait, first);
        batch
    }

    /// Contiguous segments form one batch up to and including the first shorter one; a gap or a longer segment ends it.
    #[test]
    fn segments_of_one_length_without_a_gap_are_merged() {
        let mut batch = batch();
        assert_eq!((batch.segments, batch.end, batch.until), (1, 1000, Time::from_nanos(1)));
        assert!(!batch.merge(&segment(2000, 1000), false) && !batch.merge(&segment(1000, 1001), false));
        assert!(batch.merge(&segment(1000, 1000), false) && batch.merge(&segment(2000, 400), false));
        assert_eq!((batch.segments, batch.end), (3, 2400));
        assert!(!batch.merge(&segment(2400, 400), false));
        let waits = started(Time::from_nanos(7), Duration::from_micros(20), &segment(0, 1000));
        assert_eq!(waits.until, Time::from_nanos(20_007));
    }

    /// An IP packet has at most 65,535 bytes, 40 of them headers.
    #[test]
    fn a_batch_is_an_ip_packet_at_most() {
        let mut batch = batch();
        assert!((1..65).all(|n| batch.merge(&segment(1000 * n, 1000), false)));
        assert!(!batch.merge(&segment(65_000, 496), false));
        assert!(batch.merge(&segment(65_000, 495), false));
    }

    /// The congestion marks must match, and so must the millisecond of the timestamp where timestamps are in use.
    #[test]
    fn marks_and_timestamps_are_the_same_in_a_batch() {
        for mark in [flag::CE, flag::CWR] {
            let marked = Packet { flags: mark, ..segment(1000, 1000) };
            assert!(!batch().merge(&marked, false));
            let mut other = started(Time::ZERO, Duration::ZERO, &Packet { flags: mark, ..segment(0, 1000) });
            assert!(!other.merge(&segment(1000, 1000), false) && other.merge(&marked, false));
        }
        let later = |ts_val| Packet { ts_val, ..segment(1000, 1000) };
        assert!(batch().merge(&later(5_999), true));
        assert!(!batch().merge(&later(6_000), true) && batch().merge(&later(6_000), false));
    }
}
