//! Packets of one size and receiver, made into MPDUs together.

use wifair_packet::{Packet, Packets};

use super::waiting::CategoryQueues;
use super::window::SendWindow;
use crate::frame::PpduUser;
use crate::psdu_builder::PsduBuilder;

/// A packet that was just made an MPDU of `length` bytes; `number` is the sequence number of the next MPDU.
pub(super) struct SameSizePackets {
    pub packet: Packet,
    pub length: u64,
    pub number: u64,
}

impl SameSizePackets {
    /// Adds the packets behind it that have the same size and receiver, all at once; returns their number.
    #[inline]
    pub fn add_following(
        &self,
        window: &mut SendWindow,
        waiting: &mut CategoryQueues,
        user: &mut PpduUser,
        builder: &mut PsduBuilder,
        packets: &Packets,
    ) -> u64 {
        let Packet { size, hop, kind, .. } = self.packet;
        let most = window.room().min(builder.how_many_fit(self.length));
        let is_alike = |packet: &Packet| (packet.size, packet.hop, packet.kind) == (size, hop, kind);
        let count = waiting.take_matching(most, size, |id| is_alike(&packets[id]), |ids| window.push_together(ids));
        if count > 0 {
            user.add_mpdus(self.number, builder.end(self.length), builder.stride(self.length), count);
            builder.add_many(self.length, count);
        }
        count
    }
}
