//! Shortcuts: events that only affect counters or queues are left out, and their effect is computed later or earlier.
//!
//! If no other flow uses a queue, and it is full or has a sufficient backlog (see [`SaturatedSource`]), datagrams for
//! it are generated only when the queue is inspected or becomes empty. Arrivals at the far end of a wired link may be
//! processed early: see [`eager_arrival`]. Packets that are put on a wired link together are handled in one step: see
//! [`trains`].
//!
//! Results equal those of the plain model. If packets are observed on their way (see [`crate::world::watch`]), or
//! access points have schemes, nothing is deferred.

mod eager_arrival;
mod trains;

use std::collections::BTreeMap;

use wifair_mac::{Channel, SaturatedSource, SharedChannel};
use wifair_packet::{Kind, Packet, PacketId};
use wifair_units::Time;

pub(in crate::world) use self::trains::Train;
use crate::world::World;
use crate::world::flow::{Ends, datagram};
use crate::world::measure::Loss;
use crate::world::plan::{Hop, TransportPlan, WorkloadPlan};
use crate::world::wired_link::EagerArrival;

/// Whether there are shortcuts.
pub(in crate::world) const AVAILABLE: bool = true;

impl World {
    /// Finds out which shortcuts apply.
    pub(in crate::world) fn find_fast_paths(&mut self) {
        if self.observed || self.routing.is_some() {
            return;
        }
        self.find_lone_sources();
        self.find_eager_links();
    }

    /// Advances a channel that is a shortcut for another one.
    #[inline]
    pub(in crate::world) fn advance_shortcut(&mut self, index: usize, until: Time) {
        self.advance_variant::<SharedChannel>(index, until);
    }

    /// Enqueues a packet at a station, if that has no other effect; returns whether it did.
    #[inline(always)]
    pub(in crate::world) fn only_joins_queue(&mut self, index: usize, from: u32, id: PacketId) -> bool {
        match &mut self.channels[index] {
            Channel::Shared(cell) => cell.fast_offer(from, id, &mut self.packets),
            Channel::General(_) => self.kept.take(id, &self.packets[id]) || self.append(index, from, id),
            Channel::Spatial(_) => false,
        }
    }

    /// Enqueues a packet at a station that already has something to send, on a channel with categories. Returns whether
    /// it did.
    #[inline(never)]
    fn append(&mut self, index: usize, from: u32, id: PacketId) -> bool {
        if !self.kept.is_empty() {
            self.join_kept();
        }
        let Channel::General(general) = &mut self.channels[index] else { return false };
        let packet = &self.packets[id];
        let Some(connection) = self.connections.get(packet.flow as usize) else { return false };
        let is_taken =
            packet.kind != Kind::Routing && general.append(self.now, from, connection.category, id, &mut self.packets);
        if is_taken {
            self.kept.follow(&self.packets[id]);
        }
        is_taken
    }

    /// Finds the flows of datagrams that have the queue of their first station to themselves.
    fn find_lone_sources(&mut self) {
        let mut paths_through = BTreeMap::<(u16, u32), u32>::new();
        for hop in &self.hops {
            if let Hop::Air { channel, from, .. } = *hop {
                *paths_through.entry((channel, from)).or_default() += 1;
            }
        }
        for flow in &mut self.flows {
            if let (TransportPlan::Udp { .. }, WorkloadPlan::Endless) = (&flow.transport, &flow.workload)
                && let Hop::Air { channel, from, .. } = self.hops[flow.forward as usize]
                && paths_through[&(channel, from)] == 1
            {
                flow.saturates = Some((usize::from(channel), from));
            }
        }
    }

    /// Turns all shortcuts off, so that everything is an event; must be called before the first event.
    pub(in crate::world) fn disable_fast_paths(&mut self) {
        for flow in &mut self.flows {
            flow.saturates = None;
        }
        for link in &mut self.links {
            link.set_eager_arrival(EagerArrival::Never);
            link.set_leads_to_ap(false);
        }
    }

    /// Attaches a source of datagrams to the queue that it has filled, if any; its next datagram is due at `next`.
    /// Returns whether it did; if not, the source needs a timer.
    #[inline]
    pub(in crate::world) fn leave_to_saturated_source(&mut self, index: usize, next: Time) -> bool {
        let flow = self.connections[index].flow as usize;
        let Some((channel, station)) = self.flows[flow].saturates else { return false };
        let category = self.connections[index].category;
        self.channels[channel].can_attach_source(station, category) && self.attach_source(index, next, channel, station)
    }

    fn attach_source(&mut self, index: usize, next: Time, channel: usize, station: u32) -> bool {
        let connection = &self.connections[index];
        let flow = &self.flows[connection.flow as usize];
        let (Ends::Udp { draws, sent }, TransportPlan::Udp { payload, size, interval, jitter }) =
            (&connection.ends, &flow.transport)
        else {
            return false;
        };
        let packet = datagram(flow, index, *sent, *payload, *size);
        let (interval, jitter, draws) = (*interval, *jitter, draws.clone());
        let source = SaturatedSource::new(packet, next, interval, jitter, draws);
        self.channels[channel].attach_source(station, connection.category, source);
        true
    }

    /// Handles stations whose queue became empty while arrivals were deferred.
    #[inline]
    pub(in crate::world) fn resume_exhausted(&mut self, channel: usize) {
        while let Some(station) = self.channels[channel].take_exhausted() {
            self.detach_source(channel, station);
        }
    }

    /// Detaches a stopped flow from the queue that it had filled.
    pub(in crate::world) fn detach_source_of(&mut self, flow: usize) {
        if let Some((channel, station)) = self.flows[flow].saturates {
            self.detach_source(channel, station);
        }
    }

    /// Turns the source of a station's datagrams back into an ordinary source with a timer.
    #[inline(never)]
    fn detach_source(&mut self, channel: usize, station: u32) {
        let Some(source) = self.channels[channel].detach_source(station, self.now, &mut self.packets) else { return };
        self.count_source(source.packet.flow, source.generated, source.refused);
        let index = source.packet.flow as usize;
        if let Ends::Udp { draws, sent } = &mut self.connections[index].ends {
            *draws = source.draws;
            *sent = source.packet.seq;
        }
        self.set_timer(2 * index, source.next);
    }

    fn count_source(&mut self, connection: u32, generated: u64, refused: u64) {
        let counters = &mut self.connections[connection as usize].counters;
        counters.data_sent += generated;
        counters.data_lost[Loss::StationQueue as usize] += refused;
        let flow = self.connections[connection as usize].flow as usize;
        if let Some((channel, station)) = self.flows[flow].saturates {
            self.drops[channel][station as usize].overflow += refused;
        }
        self.events += generated;
    }

    /// Forwards the packets that receivers pass up at this instant, one after the other, until something else is due.
    #[inline(never)]
    pub(in crate::world) fn forward_passed_up(&mut self, channel: usize) {
        self.keep_packets(true);
        while self.now < self.next_events.earliest().min(self.until)
            && let Some(id) = self.channels[channel].take_passed_up()
        {
            self.events += 1;
            match self.hops[self.packets[id].hop as usize + 1] {
                Hop::Wired(link) if self.joins_earlier(link) => self.forward_singly(id, link, channel),
                Hop::Wired(link) if self.packets[id].kind == Kind::Udp => self.datagrams_arrive(id, link, channel),
                Hop::Wired(link) => self.forward_train(id, link, channel),
                Hop::End => {
                    let Packet { hop, flow, kind, .. } = self.packets[id];
                    self.packets[id].hop += 1;
                    self.arrive_from_air(id, channel);
                    match kind {
                        Kind::Ack => self.acks_arrive_from_air(channel, hop, flow),
                        Kind::Data => self.segments_arrive_from_air(channel, hop, flow),
                        _ => {}
                    }
                }
                _ => self.forward(id),
            }
        }
        self.keep_packets(false);
    }

    /// Processes everything deferred that is due before `end`.
    #[inline(never)]
    pub(in crate::world) fn catch_up(&mut self, end: Time) {
        for index in 0..self.channels.len() {
            self.channels[index].arrive_before(end, &mut self.packets, &mut self.dropped);
            let mut done = vec![];
            self.channels[index].enqueue_arrivals(end, &mut self.packets, |source| {
                let (generated, refused) = (std::mem::take(&mut source.generated), std::mem::take(&mut source.refused));
                done.push((source.packet.flow, generated, refused));
            });
            for (connection, generated, refused) in done {
                self.count_source(connection, generated, refused);
            }
        }
        if !self.dropped.is_empty() {
            self.lose_dropped();
        }
    }
}
