//! Applies the schemes of access points to passing packets.

use wifair_ap::{PacketVerdict, Passage, Request, Schemes, Toward};
use wifair_packet::{Kind, PacketId, flag};
use wifair_units::Time;

use super::measure::Loss;
use super::plan::{Hop, TransportPlan, WorkloadPlan};
use super::{CONTROL, World};

/// An access point with schemes.
#[derive(Debug)]
pub(super) struct ApWithSchemes {
    pub(super) channel: usize,
    pub(super) ap: u32,
    pub(super) schemes: Schemes,
}

impl World {
    /// Announces a new connection to the schemes on the path of its flow.
    pub(super) fn introduce(&mut self, flow: usize, connection: u32) {
        if let Some(watch) = &mut self.watch {
            watch.identify(flow, connection);
        }
        let (mss, scale) = match &self.flows[flow].transport {
            TransportPlan::Tcp { sender, receiver } => (sender.options.mss, receiver.window_scale),
            // Packets of real programs carry these values themselves: see `pass_schemes`.
            _ if self.flows[flow].workload == WorkloadPlan::Outside => (0, 0),
            _ => return,
        };
        for scheme_ap in &mut self.scheme_aps {
            scheme_ap.schemes.introduce(connection, mss, scale);
        }
    }

    /// Passes a packet that has made a hop to the schemes of the access point that it has reached, if any. Returns
    /// whether it is forwarded.
    pub(super) fn pass_schemes(&mut self, id: PacketId) -> bool {
        let here = self.packets[id].hop as usize;
        for index in 0..self.scheme_aps.len() {
            let ApWithSchemes { channel, ap, .. } = self.scheme_aps[index];
            let at_ap = |hop: Hop| match hop {
                Hop::Air { channel: m, from, to } if usize::from(m) == channel && from == ap => Some((Toward::Air, to)),
                _ => None,
            };
            let from_air = |hop: Hop| match hop {
                Hop::Air { channel: m, from, to } if usize::from(m) == channel && to == ap => {
                    Some((Toward::Wired, from))
                }
                _ => None,
            };
            let Some((toward, station)) = at_ap(self.hops[here]).or_else(|| from_air(self.hops[here - 1])) else {
                continue;
            };
            let queued = self.channels[channel].waiting(ap);
            let at = Passage { now: self.now, toward, station, queued };
            if let Some(real) = &self.real
                && let Some((mss, scale)) = real.tcp(id)
            {
                self.scheme_aps[index].schemes.introduce(self.packets[id].flow, mss, scale);
            }
            let verdict = self.scheme_aps[index].schemes.pass(&at, &mut self.packets[id]);
            self.answer_schemes(index);
            match verdict {
                PacketVerdict::Forward => {}
                PacketVerdict::Drop => {
                    self.lose(id, Loss::Scheme);
                    return false;
                }
                PacketVerdict::Absorb => {
                    self.packets.remove(id);
                    return false;
                }
            }
        }
        true
    }

    /// Runs the timers of the schemes that are due.
    pub(super) fn advance_schemes(&mut self) {
        for index in 0..self.scheme_aps.len() {
            if self.scheme_aps[index].schemes.next() <= self.now {
                self.scheme_aps[index].schemes.on_timer(self.now);
                self.answer_schemes(index);
            }
        }
    }

    /// When the next timer of a scheme is due.
    pub(super) fn next_scheme(&self) -> Time {
        self.scheme_aps.iter().map(|scheme_ap| scheme_ap.schemes.next()).min().unwrap_or(Time::NEVER)
    }

    /// Carries out the requests of an access point's schemes.
    #[allow(clippy::cast_possible_truncation)]
    fn answer_schemes(&mut self, index: usize) {
        while let Some(request) = self.scheme_aps[index].schemes.take_request() {
            match request {
                Request::Echo { mut packet, toward } => {
                    let connection = &self.connections[packet.flow as usize];
                    let (forward, reverse) = (connection.forward as usize, connection.reverse as usize);
                    let leave = |start| self.leaves_ap(start, &self.scheme_aps[index], toward);
                    let Some(hop) = leave(forward).or_else(|| leave(reverse)) else {
                        continue;
                    };
                    packet.hop = hop as u32;
                    let id = self.packets.insert(packet);
                    self.launch(id, hop as u32);
                }
                Request::Contend { ap: category } => {
                    let ApWithSchemes { channel, ap, .. } = self.scheme_aps[index];
                    self.channels[channel].set_category(ap, &category);
                }
            }
        }
        self.next_events.set(CONTROL, self.next_control());
    }

    /// The hop on the path from `start` on which packets leave the access point in this direction.
    fn leaves_ap(&self, start: usize, scheme_ap: &ApWithSchemes, toward: Toward) -> Option<usize> {
        let path = self.hops[start..].iter().take_while(|hop| **hop != Hop::End);
        let here = |channel: u16, station: u32| usize::from(channel) == scheme_ap.channel && station == scheme_ap.ap;
        match toward {
            Toward::Air => {
                path.clone().position(|hop| matches!(*hop, Hop::Air { channel, from, .. } if here(channel, from)))
            }
            Toward::Wired => path
                .clone()
                .position(|hop| matches!(*hop, Hop::Air { channel, to, .. } if here(channel, to)))
                .map(|position| position + 1),
        }
        .map(|position| start + position)
    }

    /// Sends an echo that has reached its end back on the reverse path.
    pub(super) fn return_echo(&mut self, id: PacketId) {
        let packet = &mut self.packets[id];
        debug_assert_eq!(packet.kind, Kind::Icmp);
        if packet.has(flag::ACK) {
            self.packets.remove(id);
            return;
        }
        packet.flags |= flag::ACK;
        let connection = &self.connections[packet.flow as usize];
        // The paths of a flow are stored one after the other, the forward one first.
        packet.hop = if packet.hop < connection.reverse { connection.reverse } else { connection.forward };
        if self.watch.is_some() {
            self.watch_launch(id);
        }
        self.dispatch(id);
    }
}
