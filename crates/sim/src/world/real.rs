//! Packets of real programs: injected at one host, and delivered to another or lost on the way.
//!
//! The simulation carries a [`Packet`] with the headers that queues and schemes examine. The bytes stay with the
//! caller, who identifies them by a number. A world without such packets does not use this module.

use std::collections::VecDeque;

use wifair_packet::{FlowLabel, Packet, PacketId, entry, flag};
use wifair_units::Time;

use super::World;
use super::flow::Ends;
use super::measure::Loss;
use super::plan::{Hop, WorkloadPlan};

/// What is known about a packet of a real program besides its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealPacket {
    /// The number by which the caller identifies it.
    pub number: u32,
    /// Payload in bytes of a full segment of its TCP connection, and the scale of the window in this segment, for the
    /// schemes of access points; `None` without TCP.
    pub tcp: Option<(u16, u8)>,
    /// Whether it is ECT(1) (RFC 9331, section 2). Queues take that for its connection, from one packet to the next.
    pub ect1: bool,
}

/// The fate of a packet of a real program.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// When it arrived or was lost.
    pub time: Time,
    /// The number by which the caller identifies it.
    pub number: u32,
    /// Its headers: schemes may have changed the window, and queues may have marked the packet.
    pub packet: Packet,
    /// Where it was lost; `None` if it arrived.
    pub lost: Option<Loss>,
}

/// Packets of real programs in transit, and those that have arrived or been lost.
#[derive(Debug, Default)]
pub(super) struct RealTraffic {
    /// Packets in transit, by their number in the arena.
    under_way: Vec<Option<RealPacket>>,
    carried: VecDeque<Carried>,
}

impl RealTraffic {
    /// The caller's number of a packet.
    pub(super) fn number(&self, id: PacketId) -> Option<u32> {
        self.under_way.get(id.index())?.map(|real| real.number)
    }

    /// Payload of a full segment and window scale of a packet of TCP.
    pub(super) fn tcp(&self, id: PacketId) -> Option<(u16, u8)> {
        self.under_way.get(id.index()).copied()??.tcp
    }

    fn end(&mut self, time: Time, id: PacketId, packet: Packet, lost: Option<Loss>) {
        if let Some(real) = self.under_way.get_mut(id.index()).and_then(Option::take) {
            self.carried.push_back(Carried { time, number: real.number, packet, lost });
        }
    }
}

impl World {
    /// Opens a connection of real programs on a flow whose workload is [`WorkloadPlan::Outside`]; queues and schemes
    /// treat it as one flow. Its packets have the access category with index `category`.
    ///
    /// # Panics
    /// If the flow belongs to simulated programs.
    #[allow(clippy::cast_possible_truncation)]
    pub fn open(&mut self, flow: usize, category: usize) -> u32 {
        assert!(self.flows[flow].workload == WorkloadPlan::Outside, "packets of this flow come from inside");
        let index = self.add_connection(flow);
        self.connections[index].category = category;
        index as u32
    }

    /// Closes a connection that has sent its last packet. Its number is reused when all its packets are gone.
    pub fn close(&mut self, connection: u32) {
        self.end_connection(connection as usize);
    }

    /// Injects a packet now at the start of a connection's forward path, or of its reverse path. All fields of `packet`
    /// are used except `flow` and `hop`.
    ///
    /// # Panics
    /// If the connection belongs to simulated programs.
    pub fn inject(&mut self, connection: u32, reverse: bool, mut packet: Packet, real: RealPacket) {
        let state = &mut self.connections[connection as usize];
        assert!(matches!(state.ends, Ends::Real), "packets of this connection come from inside");
        packet.flow = connection;
        packet.hop = if reverse { state.reverse } else { state.forward };
        state.counters.data_sent += 1;
        let hop = packet.hop;
        if packet.has(flag::ECT) && !packet.has(flag::CE) {
            let label = self.packets.label(connection);
            self.packets.set_label(connection, FlowLabel { l4s: real.ect1, ..label });
        }
        let id = self.packets.insert(packet);
        *entry(&mut self.real.get_or_insert_default().under_way, id.index()) = Some(real);
        self.launch(id, hop);
    }

    /// Removes the next packet of a real program that has arrived or been lost, in order of time.
    pub fn collect(&mut self) -> Option<Carried> {
        self.real.as_mut()?.carried.pop_front()
    }

    /// Handles a packet of a real program that has reached the other end.
    #[cold]
    pub(super) fn take_real(&mut self, id: PacketId) {
        self.packets.release(id);
        let packet = self.packets[id];
        if let Some(real) = &mut self.real {
            self.connections[packet.flow as usize].counters.arrive(packet.payload);
            real.end(self.now, id, packet, None);
        }
    }

    /// Records a lost packet, if it belongs to a real program.
    #[cold]
    pub(super) fn note_loss(&mut self, id: PacketId, loss: Loss) {
        if let Some(real) = &mut self.real {
            real.end(self.now, id, self.packets[id], Some(loss));
        }
    }

    /// Where each packet of real programs is observed exactly once, as two masks over hops, for arrivals and for
    /// departures: at the first access point on its path, when the packet arrives from a wired link or leaves for one;
    /// without an access point, at its destination.
    #[must_use]
    pub fn hops_at_access_points(&self) -> (Vec<bool>, Vec<bool>) {
        let mut arrivals = vec![false; self.hops.len()];
        let mut departures = arrivals.clone();
        let is_ap = |channel: u16, station: u32| self.aps[usize::from(channel)].contains(&station);
        for flow in self.flows.iter().filter(|flow| flow.workload == WorkloadPlan::Outside) {
            for start in [flow.forward as usize, flow.reverse as usize] {
                let Some(length) = self.hops[start..].iter().position(|hop| *hop == Hop::End) else { continue };
                let at_ap =
                    (start + 1..=start + length).find_map(|here| match (self.hops[here - 1], self.hops[here]) {
                        (_, Hop::Air { channel, from, .. }) if is_ap(channel, from) => Some((here, false)),
                        (Hop::Air { channel, to, .. }, Hop::Wired(_)) if is_ap(channel, to) => Some((here, true)),
                        _ => None,
                    });
                match at_ap {
                    Some((here, true)) => departures[here] = true,
                    Some((here, false)) => arrivals[here] = true,
                    None => arrivals[start + length] = true,
                }
            }
        }
        (arrivals, departures)
    }
}
