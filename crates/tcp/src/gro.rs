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

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u64, payload: u16) -> Packet {
        Packet { seq, payload, ts_val: 5_000, ..Packet::default() }
    }

    fn batch() -> Batch {
        Batch::new(Time::ZERO, Duration::ZERO, &segment(0, 1000))
    }

    /// Segments that follow each other are one batch, until a shorter one; neither a gap nor a longer one belongs to
    /// it.
    #[test]
    fn segments_of_one_length_without_a_gap_are_merged() {
        let mut batch = batch();
        assert_eq!((batch.segments, batch.end, batch.until), (1, 1000, Time::from_nanos(1)));
        assert!(!batch.merge(&segment(2000, 1000), false) && !batch.merge(&segment(1000, 1001), false));
        assert!(batch.merge(&segment(1000, 1000), false) && batch.merge(&segment(2000, 400), false));
        assert_eq!((batch.segments, batch.end), (3, 2400));
        assert!(!batch.merge(&segment(2400, 400), false));
        let waits = Batch::new(Time::from_nanos(7), Duration::from_micros(20), &segment(0, 1000));
        assert_eq!(waits.until, Time::from_nanos(20_007));
    }

    /// 65,535 bytes are an IP packet; 40 of them are headers.
    #[test]
    fn a_batch_is_an_ip_packet_at_most() {
        let mut batch = batch();
        assert!((1..65).all(|n| batch.merge(&segment(1000 * n, 1000), false)));
        assert!(!batch.merge(&segment(65_000, 496), false));
        assert!(batch.merge(&segment(65_000, 495), false));
    }

    /// Both marks have to be the same, and the millisecond of the timestamp, where there are timestamps.
    #[test]
    fn marks_and_timestamps_are_the_same_in_a_batch() {
        for mark in [flag::CE, flag::CWR] {
            let marked = Packet { flags: mark, ..segment(1000, 1000) };
            assert!(!batch().merge(&marked, false));
            let mut other = Batch::new(Time::ZERO, Duration::ZERO, &Packet { flags: mark, ..segment(0, 1000) });
            assert!(!other.merge(&segment(1000, 1000), false) && other.merge(&marked, false));
        }
        let later = |ts_val| Packet { ts_val, ..segment(1000, 1000) };
        assert!(batch().merge(&later(5_999), true));
        assert!(!batch().merge(&later(6_000), true) && batch().merge(&later(6_000), false));
    }
}
