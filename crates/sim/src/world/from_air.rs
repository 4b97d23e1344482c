//! Packets that a channel reports: when the next hop takes them.

use wifair_mac::edcaf::Edcafs;
use wifair_packet::PacketId;
use wifair_units::Duration;

use super::World;
use super::plan::Hop;

impl World {
    /// Forwards a packet that a channel reports.
    #[inline(always)]
    pub(super) fn forward_from_air(&mut self, channel: usize, id: PacketId) {
        if !self.passes_up_singly {
            return self.forward(id);
        }
        self.packets[id].hop += 1;
        if self.fast_path || !self.observed || self.pass(id) {
            self.dispatch_from_air(channel, id);
        }
    }

    /// Sends a packet that a channel reports on its next hop. If MPDUs are passed up one by one, a wire takes it from
    /// the end of its MPDU on.
    #[inline(never)]
    pub(super) fn dispatch_from_air(&mut self, channel: usize, id: PacketId) {
        let hop = self.packets[id].hop;
        if self.passes_up_singly
            && let Hop::Wired(link) = self.hops[hop as usize]
            && !self.links[link as usize].has_gate()
        {
            let lead = self.channels[channel].edcafs().map_or(Duration::ZERO, Edcafs::lead);
            self.send_on_wire(link, id, self.now - lead.min(self.links[link as usize].delay()));
        } else {
            self.send_on_hop(id, hop);
        }
    }
}
