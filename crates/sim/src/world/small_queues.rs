//! Linux's TCP small queues: senders that limit their data in the queue of their own station are notified of
//! departures.
//!
//! A packet has departed when it is received at the end of its first hop, or lost on that hop. In Linux, it has
//! departed when the driver reports it as sent. So packets of an A-MPDU that wait in the reordering buffer depart
//! slightly later here.

use wifair_packet::PacketId;

use super::World;
use super::flow::Ends;

impl World {
    /// Whether a data packet has not yet left its sender's station.
    pub(super) fn is_on_first_hop(&self, id: PacketId) -> bool {
        let packet = &self.packets[id];
        let connection = self.connections.get(packet.flow as usize);
        packet.is_data() && connection.is_some_and(|connection| connection.forward == packet.hop)
    }

    /// Whether a data packet is at the end of its first hop, where paths are fixed.
    pub(super) fn has_made_one_hop(&self, id: PacketId) -> bool {
        let packet = &self.packets[id];
        let connection = self.connections.get(packet.flow as usize);
        packet.is_data() && connection.is_some_and(|connection| connection.forward + 1 == packet.hop)
    }

    /// Records a departure from a sender's station; data that was waiting for it is sent at this instant.
    pub(super) fn note_departure(&mut self, id: PacketId) {
        let packet = &self.packets[id];
        let index = packet.flow as usize;
        let bytes = packet.payload.into();
        if let Ends::Tcp { sender, .. } = &mut self.connections[index].ends
            && sender.has_small_queue()
            && sender.on_departure(bytes)
        {
            self.set_timer(2 * index, self.now);
        }
    }
}
