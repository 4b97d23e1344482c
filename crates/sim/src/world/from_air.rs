//! Packets that a channel reports: when the next hop takes them.
//!
//! A channel reports the packets of a PPDU at its end. If receivers pass up each MPDU when it ends, a wire without a
//! gate takes a packet as of then, but no earlier than its own delay allows, and one-way delays end then.

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

    /// Sends a packet that a channel reports on its next hop.
    #[inline(never)]
    pub(super) fn dispatch_from_air(&mut self, channel: usize, id: PacketId) {
        let hop = self.packets[id].hop;
        match self.hops[hop as usize] {
            Hop::Wired(link) => {
                let lead = self.channels[channel].lead().min(self.takes_since(link));
                self.send_on_wire(link, id, self.now - lead);
            }
            Hop::End => self.arrive_from_air(id, channel),
            _ => self.send_on_hop(id, hop),
        }
    }

    /// How long before it is reported a packet may have come to this link.
    #[inline]
    pub(super) fn takes_since(&self, link: u32) -> Duration {
        if self.passes_up_singly { self.links[link as usize].takes_since() } else { Duration::ZERO }
    }

    /// Handles a packet that a channel reports at its destination.
    #[inline(always)]
    pub(super) fn arrive_from_air(&mut self, id: PacketId, channel: usize) {
        self.lead = self.channels[channel].lead();
        self.arrive(id);
        self.lead = Duration::ZERO;
    }

    /// Forwards a packet that was handed up onto a wired link, and those handed up behind it that go the same way, each
    /// as of the end of its MPDU.
    #[inline(never)]
    pub(super) fn forward_singly(&mut self, first: PacketId, link: u32, channel: usize) {
        let (hop, most) = (self.packets[first].hop, self.takes_since(link));
        let mut id = first;
        loop {
            self.packets[id].hop += 1;
            self.send_on_wire(link, id, self.now - self.channels[channel].lead().min(most));
            if self.now >= self.next_events.earliest().min(self.until) {
                return;
            }
            let packets = &self.packets;
            let Some(next) = self.channels[channel].take_handed_up_if(|id| packets[id].hop == hop) else { return };
            self.events += 1;
            id = next;
        }
    }
}
