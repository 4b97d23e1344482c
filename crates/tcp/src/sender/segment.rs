//! A segment in the scoreboard.

use wifair_units::Time;

/// State of a segment, as bits.
pub mod mark {
    /// Selectively acknowledged.
    pub const SACKED: u8 = 1;
    /// Lost; a later transmission may be in flight.
    pub const LOST: u8 = 2;
    /// A retransmission is in flight.
    pub const RETRANSMITTED: u8 = 4;
    /// Sent more than once.
    pub const EVER_RETRANSMITTED: u8 = 8;
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentSegment {
    /// Offset after its last byte.
    pub end: u64,
    /// Time of the last transmission.
    pub sent: Time,
    /// Length of a run of arrived segments that starts here, a lower bound; 0 if this one has not arrived.
    pub arrived: u32,
    /// Payload, in bytes.
    pub len: u16,
    /// Bits of [`mark`].
    pub marks: u8,
}

impl SentSegment {
    /// Offset of its first byte.
    pub const fn start(&self) -> u64 {
        self.end - self.len as u64
    }

    /// Whether it has any of these marks.
    pub const fn is(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }

    /// Whether it is lost and has to be retransmitted.
    pub const fn awaits_retransmission(&self) -> bool {
        self.marks & (mark::LOST | mark::RETRANSMITTED) == mark::LOST
    }

    /// Bytes of this segment in flight, counting a retransmission as well (RFC 6675, section 4, SetPipe).
    pub const fn in_flight(&self) -> u64 {
        let first = !self.is(mark::SACKED | mark::LOST) as u64;
        let again = self.is(mark::RETRANSMITTED) as u64;
        (first + again) * self.len as u64
    }
}
