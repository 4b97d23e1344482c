//! Packets that a channel reports, and when their next hop takes them.
//!
//! A channel reports the packets of a PPDU when the PPDU ends. If receivers pass up each MPDU when the MPDU ends, a
//! wired link without a gate treats the packet as put on it at that earlier time, and one-way delays end at that time.
//! What has crossed the link before the PPDU ends arrives when the PPDU ends.
//! Packets that come to the link from elsewhere during the PPDU are ahead of these.

use wifair_packet::PacketId;
use wifair_units::{Duration, Time};

use super::World;
use super::plan::Hop;
use super::wired_link::Departure;

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
                let lead = if self.joins_earlier(link) { self.channels[channel].lead() } else { Duration::ZERO };
                self.send_on_wire(link, id, self.now - lead, self.now);
            }
            Hop::End => self.arrive_from_air(id, channel),
            _ => self.send_on_hop(id, hop),
        }
    }

    /// Whether packets are put on this link when their MPDU ends, before they are reported.
    #[inline]
    pub(super) fn joins_earlier(&self, link: u32) -> bool {
        self.passes_up_singly && !self.links[link as usize].has_gate()
    }

    /// Handles a packet that a channel reports at its destination.
    #[inline(always)]
    pub(super) fn arrive_from_air(&mut self, id: PacketId, channel: usize) {
        self.lead = self.channels[channel].lead();
        self.arrive(id);
        self.lead = Duration::ZERO;
    }

    /// Forwards a packet that was passed up onto a wired link, and the packets passed up behind it that go the same
    /// way. Each is put on the link when its MPDU ends.
    #[inline(never)]
    pub(super) fn forward_singly(&mut self, first: PacketId, link: u32, channel: usize) {
        let (hop, now) = (self.packets[first].hop, self.now);
        if self.links[link as usize].leads_to_ap() {
            self.packets[first].hop += 1;
            return self.dispatch_from_air(channel, first);
        }
        let Self { packets, channels, links, dropped, .. } = self;
        let (wire, channel) = (&mut links[link as usize], &mut channels[channel]);
        let (behind, leads) = (channel.passed_up(), channel.passed_up_leads());
        let (mut id, mut lead, mut count, mut is_noteworthy) = (first, channel.lead(), 0, false);
        loop {
            packets[id].hop += 1;
            is_noteworthy |= wire.send(now - lead, now, Time::ZERO, id, packets, dropped) == Departure::Noteworthy;
            match behind.get(count) {
                Some((_, next)) if packets[*next].hop == hop && wire.next() > now => id = *next,
                _ => break,
            }
            lead = leads.get(count).copied().unwrap_or(Duration::ZERO);
            count += 1;
        }
        channel.skip_passed_up(count);
        self.events += count as u64;
        if is_noteworthy || wire.next() < wire.eager_arrival().horizon(self.horizon, &self.timers) {
            self.update_link(link as usize);
        }
    }
}
