//! What arrives at the far end of a wire before its time.
//!
//! When a packet is put on a wire it is known when it will arrive. If it ends there, at a receiver whose answers leave by a wire that
//! nothing else enters, nobody sees whether it arrives then or at once, for the answer is put on its wire with the right time
//! either way. So it arrives at once, and there is no event of it: a datagram is counted when it is sent, a segment becomes an ACK.
//!
//! Nothing does so beyond the next task of the applications or the end of the run, where somebody may look, nor beyond the next
//! timer where receivers have some (delayed ACKs). What is left on the wire then goes the way of all others, or arrives early as
//! well when the next packet is put on it.

use wifair_engine::Timers;
use wifair_packet::{Kind, PacketId};
use wifair_units::Time;

use super::World;
use super::flow::Flow;
use super::plan::{Hop, Transport, Workload};
use super::wired_link::Early;

/// From where packets enter a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// They are answers to what arrived by this wire.
    Answers(u32),
    /// Wherever else.
    Other,
}

impl Early {
    /// Before which time packets may arrive at once that are put on a wire now.
    #[inline(always)]
    pub(super) fn horizon(self, horizon: Time, timers: &Timers) -> Time {
        match self {
            Self::Never => Time::ZERO,
            Self::Always => horizon,
            Self::BeforeTimers => horizon.min(timers.next()),
        }
    }
}

impl World {
    /// Finds out on which wires packets may arrive early; nothing has happened yet.
    pub(super) fn find_early(&mut self) {
        let mut origins = vec![vec![]; self.links.len()];
        for flow in &self.flows {
            let (forward, reverse) = (self.path(flow.forward), self.path(flow.reverse));
            let answered = match forward {
                [.., Hop::Wired(last), Hop::End] => Origin::Answers(*last),
                _ => Origin::Other,
            };
            let reverse = if is_one_way(flow) { &[] } else { reverse };
            for (path, first) in [(forward, Origin::Other), (reverse, answered)] {
                let origin = std::iter::once(first).chain(std::iter::repeat(Origin::Other));
                for (hop, origin) in path.iter().zip(origin) {
                    if let Hop::Wired(link) = hop {
                        origins[*link as usize].push(origin);
                    }
                }
            }
        }
        let mut early: Vec<Early> =
            self.links.iter().map(|link| if link.has_gate() { Early::Never } else { Early::Always }).collect();
        for flow in &self.flows {
            let (forward, reverse) = (self.path(flow.forward), self.path(flow.reverse));
            for hops in forward.windows(2) {
                let Hop::Wired(link) = hops[0] else { continue };
                let place = &mut early[link as usize];
                let kind =
                    if hops[1] == Hop::End { self.kind_of_end(flow, link, reverse[0], &origins) } else { Early::Never };
                *place = match (*place, kind) {
                    (Early::Never, _) | (_, Early::Never) => Early::Never,
                    (Early::Always, Early::Always) => Early::Always,
                    _ => Early::BeforeTimers,
                };
            }
            if !is_one_way(flow) {
                let wires =
                    reverse.iter().filter_map(|hop| if let Hop::Wired(link) = hop { Some(*link) } else { None });
                wires.for_each(|link| early[link as usize] = Early::Never);
            }
        }
        for (link, early) in self.links.iter_mut().zip(early) {
            link.set_early(early);
        }
    }

    /// Whether packets of a flow may arrive early that end at the end of `link`, whose answers leave by `answer`.
    fn kind_of_end(&self, flow: &Flow, link: u32, answer: Hop, origins: &[Vec<Origin>]) -> Early {
        let waits = match (&flow.transport, &flow.workload) {
            // Packets are taken out, users see objects, and numbers of connections become free in the order of events.
            (_, Workload::Outside | Workload::Web(_) | Workload::Sessions { fresh: true, .. }) => return Early::Never,
            (Transport::Udp { .. }, _) => return Early::Always,
            (Transport::Tcp { receiver, .. }, _) => receiver.ack_every > 1,
        };
        let Hop::Wired(back) = answer else { return Early::Never };
        let is_alone = origins[back as usize].iter().all(|origin| *origin == Origin::Answers(link));
        match waits {
            _ if !is_alone || self.links[back as usize].has_gate() => Early::Never,
            true => Early::BeforeTimers,
            false => Early::Always,
        }
    }

    /// The way that begins at `start`.
    fn path(&self, start: u32) -> &[Hop] {
        let path = &self.hops[start as usize..];
        let end = path.iter().position(|hop| *hop == Hop::End).expect("a way ends somewhere");
        &path[..=end]
    }

    /// A packet that will arrive at `time` arrives now.
    #[inline(never)]
    pub(super) fn arrive_early(&mut self, id: PacketId, time: Time) {
        self.events += 1;
        let packet = &self.packets[id];
        if packet.kind == Kind::Udp {
            self.connections[packet.flow as usize].counters.arrive(packet.payload);
            self.packets.release(id);
        } else {
            let now = std::mem::replace(&mut self.now, time);
            self.take_segment(id);
            self.now = now;
        }
    }

    /// What is on a wire already arrives, as far as it may.
    pub(super) fn arrive_all_early(&mut self, link: usize) {
        loop {
            let place = &mut self.links[link];
            let horizon = place.early().horizon(self.horizon, &self.timers);
            let Some((time, id)) = place.take_arrived(horizon) else { return place.look() };
            self.arrive_early(id, time);
        }
    }
}

/// Whether nothing ever goes the reverse way of a flow.
fn is_one_way(flow: &Flow) -> bool {
    matches!(flow.transport, Transport::Udp { .. }) && flow.workload != Workload::Outside
}
