//! What the scoreboard says of an ACK.

use wifair_units::Time;

/// What one ACK delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// The timestamp that the ACK echoes, where there are timestamps.
    pub echo: Option<u32>,
    /// Bytes, cumulatively or selectively acknowledged.
    pub bytes: u64,
    /// A segment arrived after one that had been sent later.
    pub reordered: bool,
    /// Segments newly acknowledged by SACK blocks.
    pub sacked: u32,
    /// Transmission times of segments that were sent once: the first and the last one delivered.
    pub first_sent: Option<Time>,
    /// See `first_sent`.
    pub last_sent: Option<Time>,
    /// Where the lowest of these ends.
    pub once: Option<u64>,
    /// A segment that was sent again is acknowledged cumulatively. What is acknowledged with it may have arrived long
    /// ago, so its times of transmission measure nothing (Linux).
    pub repaired: bool,
    /// The ACK reports that a segment arrived twice (RFC 2883): that segment.
    pub duplicate: Option<(u64, u64)>,
}
