//! A segment in the scoreboard.

use wifair_units::Time;

/// What is known of a segment.
pub mod mark {
    /// It has arrived, says a selective ACK.
    pub const SACKED: u8 = 1;
    /// The last transmission but for one in flight is lost.
    pub const LOST: u8 = 2;
    /// A retransmission is in flight.
    pub const AGAIN: u8 = 4;
    /// It was sent more than once.
    pub const TWICE: u8 = 8;
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The offset behind its last byte.
    pub end: u64,
    /// When it was sent last.
    pub sent: Time,
    /// From here on as many segments have arrived, at least; 0 for one that has not.
    pub arrived: u32,
    /// Payload, in bytes.
    pub len: u16,
    /// Bits of [`mark`].
    pub marks: u8,
}

impl Segment {
    /// The offset of its first byte.
    pub const fn start(&self) -> u64 {
        self.end - self.len as u64
    }

    /// Whether it has one of these marks.
    pub const fn is(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }

    /// Bytes in flight on its account (RFC 6675, section 4, SetPipe).
    pub const fn in_flight(&self) -> u64 {
        let first = !self.is(mark::SACKED | mark::LOST) as u64;
        let again = self.is(mark::AGAIN) as u64;
        (first + again) * self.len as u64
    }
}
