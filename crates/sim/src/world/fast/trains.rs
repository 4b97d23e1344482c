//! Trains: packets that travel a wired link one behind the other.
//!
//! The packets of an A-MPDU are handed up at one instant, and those for the same wired link follow each other there.
//! They are put on it in one step. At an end where packets may be processed [early](super::eager_arrival), the arrival
//! of the first is one event for all of them, up to the next timer or task.

use wifair_packet::{Packet, PacketId};
use wifair_units::Time;

use crate::world::World;
use crate::world::wired_link::EagerArrival;

impl World {
    /// Forwards a packet that was handed up onto a wired link. The packets handed up after it follow in the same step
    /// as long as they go the same way, and either are processed immediately or only wait to arrive.
    #[inline(never)]
    pub(in crate::world) fn forward_train(&mut self, first: PacketId, link: u32, channel: usize) {
        let Packet { hop, size, .. } = self.packets[first];
        self.forward(first);
        let is_alike = |packet: &Packet| (packet.hop, packet.size) == (hop, size);
        while self.now < self.next_events.earliest().min(self.until) {
            let (wire, channel) = (&mut self.links[link as usize], &mut self.channels[channel]);
            let horizon = wire.eager_arrival().horizon(self.horizon, &self.timers);
            let Some((mut arrival, air, most)) = wire.alike(size).filter(|(.., most)| *most > 0) else { return };
            if wire.next() == Time::NEVER && arrival < horizon {
                let Some(id) = channel.take_handed_up_if(|id| is_alike(&self.packets[id])) else { return };
                wire.send_together(1, size);
                self.packets[id].hop += 1;
                self.events += 1;
                self.arrive_eagerly(id, arrival);
                continue;
            }
            if wire.next() == Time::NEVER || arrival < horizon {
                return; // the line has to be looked at after the next one
            }
            let mut count = 0;
            for (_, id) in channel.handed_up().iter().take(usize::try_from(most).unwrap_or(usize::MAX)) {
                let packet = &mut self.packets[*id];
                if !is_alike(packet) {
                    break;
                }
                packet.hop += 1;
                wire.enqueue_arrival(arrival, *id);
                arrival += air;
                count += 1;
            }
            channel.skip_handed_up(count as usize);
            wire.send_together(count, size);
            self.events += u64::from(count);
            return;
        }
    }

    /// Processes the packets behind one that has arrived by a wired link, as far as they may be processed early.
    #[inline]
    pub(in crate::world) fn arrive_behind(&mut self, link: usize) {
        if self.links[link].eager_arrival() != EagerArrival::Never && !self.lazy_links.is_on {
            self.arrive_all_eagerly(link);
        }
    }
}
