//! What the scoreboard reports about an ACK.

use wifair_units::Time;

/// Data delivered by one ACK.
#[derive(Clone, Copy, Debug)]
pub struct AckDelivery {
    /// Timestamp echoed by the ACK, if timestamps are in use.
    pub echo: Option<u32>,
    /// Bytes newly acknowledged, cumulatively or selectively.
    pub bytes: u64,
    /// Whether a segment arrived after one that was sent later.
    pub reordered: bool,
    /// Segments newly acknowledged by SACK blocks.
    pub sacked: u32,
    /// Transmission times of the first and the last segment delivered, among those sent only once; [`Time::NEVER`] and
    /// zero for none.
    pub first_sent: Time,
    /// See `first_sent`.
    pub last_sent: Time,
    /// End of the lowest segment delivered among those sent only once; [`u64::MAX`] for none.
    pub once: u64,
    /// Whether a retransmitted segment was cumulatively acknowledged. Segments acknowledged with it may have arrived
    /// long before, so their transmission times yield no RTT (Linux).
    pub repaired: bool,
    /// The segment that the ACK reports as received twice (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
}

impl Default for AckDelivery {
    fn default() -> Self {
        Self {
            echo: None,
            bytes: 0,
            reordered: false,
            sacked: 0,
            first_sent: Time::NEVER,
            last_sent: Time::ZERO,
            once: u64::MAX,
            repaired: false,
            duplicate: None,
        }
    }
}

/// Segments acknowledged in the order of transmission, each sent once.
#[derive(Clone, Copy, Debug)]
pub struct AckedRun {
    pub segments: u64,
    pub bytes: u64,
    /// When the first was sent, and where it ends.
    pub first: (Time, u64),
    /// When the last was sent, and where it ends.
    pub last: (Time, u64),
}

impl AckDelivery {
    /// Notes the delivery of segments; `timed` if transmission times are needed.
    pub fn note_in_order(&mut self, acked: &AckedRun, timed: bool) {
        self.bytes += acked.bytes;
        if timed {
            self.note_sent_once(acked.first.0, acked.first.1);
            self.note_sent_once(acked.last.0, acked.last.1);
        }
    }

    /// Notes the delivery of a segment that ends at `end` and was sent only once, at `sent`.
    #[inline]
    pub fn note_sent_once(&mut self, sent: Time, end: u64) {
        self.first_sent = self.first_sent.min(sent);
        self.last_sent = self.last_sent.max(sent);
        self.once = self.once.min(end);
    }
}
