//! Arguments that every call to a channel takes.

use wifair_packet::{NextHops, PacketId, Packets};
use wifair_queue::Dropped;
use wifair_units::Time;

/// Arguments of a call to a channel: the time, the packets and their next hops, and where lost packets are reported.
#[derive(Debug)]
pub struct Call<'a> {
    /// The current time. A channel that takes several steps advances it.
    pub now: Time,
    /// The packets that queues and frames refer to.
    pub packets: &'a mut Packets,
    /// The channel appends packets dropped by queues.
    pub dropped: &'a mut Dropped,
    /// The channel appends packets given up at a retry limit, each with the number of its sender.
    pub retry_limit_drops: &'a mut Vec<(u32, PacketId)>,
    /// The next station of each packet.
    pub next_hops: NextHops<'a>,
}

impl<'a> Call<'a> {
    /// A call at time `now`.
    pub fn new(
        now: Time,
        packets: &'a mut Packets,
        dropped: &'a mut Dropped,
        retry_limit_drops: &'a mut Vec<(u32, PacketId)>,
        next_hops: NextHops<'a>,
    ) -> Self {
        Self { now, packets, dropped, retry_limit_drops, next_hops }
    }

    /// Whether any packet was lost.
    #[inline]
    pub(crate) fn has_losses(&self) -> bool {
        !self.dropped.is_empty() || !self.retry_limit_drops.is_empty()
    }

    /// Number of packets dropped so far.
    pub(crate) fn losses(&self) -> usize {
        self.dropped.len() + self.retry_limit_drops.len()
    }
}
