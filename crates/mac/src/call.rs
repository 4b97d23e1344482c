//! What a channel is given when it is called.

use wifair_packet::{NextHops, PacketId, Packets};
use wifair_queue::Dropped;
use wifair_units::Time;

/// A call of a channel: when it is, where packets and next hops are, and where lost packets are reported.
#[derive(Debug)]
pub struct Call<'a> {
    /// The present. A channel that takes several steps moves it on.
    pub now: Time,
    /// The packets that queues and frames refer to.
    pub packets: &'a mut Packets,
    /// Packets that queues have dropped are added here.
    pub dropped: &'a mut Dropped,
    /// Packets that were given up at a retry limit are added here, with their sender.
    pub retry_limit_drops: &'a mut Vec<(u32, PacketId)>,
    /// The station to which each packet goes next.
    pub next_hops: NextHops<'a>,
}

impl<'a> Call<'a> {
    /// A call at `now`.
    pub fn new(
        now: Time,
        packets: &'a mut Packets,
        dropped: &'a mut Dropped,
        retry_limit_drops: &'a mut Vec<(u32, PacketId)>,
        next_hops: NextHops<'a>,
    ) -> Self {
        Self { now, packets, dropped, retry_limit_drops, next_hops }
    }

    /// Whether a packet was lost.
    #[inline]
    pub(crate) fn has_losses(&self) -> bool {
        !self.dropped.is_empty() || !self.retry_limit_drops.is_empty()
    }
}
