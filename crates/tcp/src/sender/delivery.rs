//! What the scoreboard reports about an ACK.

use wifair_units::Time;

/// Data delivered by one ACK.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckDelivery {
    /// Timestamp echoed by the ACK, if timestamps are in use.
    pub echo: Option<u32>,
    /// Bytes newly acknowledged, cumulatively or selectively.
    pub bytes: u64,
    /// Whether a segment arrived after one that was sent later.
    pub reordered: bool,
    /// Segments newly acknowledged by SACK blocks.
    pub sacked: u32,
    /// Transmission times of the first and the last segment delivered, among those sent only once.
    pub first_sent: Option<Time>,
    /// See `first_sent`.
    pub last_sent: Option<Time>,
    /// End of the lowest segment delivered among those sent only once.
    pub once: Option<u64>,
    /// Whether a retransmitted segment was cumulatively acknowledged. Segments acknowledged with it may have arrived
    /// long before, so their transmission times yield no RTT (Linux).
    pub repaired: bool,
    /// The segment that the ACK reports as received twice (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
}
