//! Observation of packets and frames at chosen places, for captures and plots of the air.
//!
//! A world without observers spends one comparison on each new packet and on each event of a channel. Observations are
//! kept until [`World::clear_watch`], so an observer must collect them often.

use wifair_mac::{Channel, Tap};
use wifair_packet::{Kind, Packet, PacketId, entry, flag};
use wifair_units::Time;

use super::World;
use super::plan::Hop;

/// The places to observe.
#[derive(Clone, Debug, Default)]
pub struct WatchPlan {
    /// Packets that have reached the place before a hop, as they arrived; indexed like [`World::hops`]. Empty: none.
    pub arrivals: Vec<bool>,
    /// Packets that are about to make a hop, as they will be sent; the first hop of a path is where packets start.
    /// Empty: none.
    pub departures: Vec<bool>,
    /// Whether to observe frames on the air.
    pub air: bool,
}

/// Header values that real packets have and simulated ones lack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the connection among all opened in the run.
    pub connection: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Timestamp echoed by a segment of the data sender.
    pub ts_ecr: u32,
    /// The station that forwarded it last, under dynamic routing.
    pub previous: Option<u32>,
    /// Identification of the IP packet.
    pub ip_id: u16,
    /// Whether the data sender has received the other end's FIN.
    pub fin_heard: bool,
    /// Whether it goes from the receiver of the flow's data to its sender.
    pub is_reverse: bool,
    /// The number of stations that have forwarded it, under dynamic routing.
    pub passed: u8,
    /// The caller's number for a packet of a real program.
    pub real: Option<u32>,
}

/// A packet at an observed place.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    /// The time.
    pub time: Time,
    /// The packet; `packet.hop` is the hop before which it was seen.
    pub packet: Packet,
    /// Further header values.
    pub stamp: Stamp,
    /// The hop at that time.
    pub hop: Hop,
    /// Whether the packet is about to make the hop; otherwise it has just arrived there.
    pub departs: bool,
}

/// What is known about a connection besides its two ends.
#[derive(Clone, Copy, Debug, Default)]
struct Identity {
    stamp: Stamp,
    /// Packets sent by the data sender and by the receiver.
    sent: [u16; 2],
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Watch {
    plan: WatchPlan,
    /// By connection number.
    identities: Vec<Identity>,
    opened: u32,
    /// By packet number.
    stamps: Vec<Stamp>,
    seen: Vec<Sighting>,
    /// For each channel, the stamps of the frames in its records, and of the packets in A-MSDUs behind the first.
    aired: Vec<Vec<Option<Stamp>>>,
    aired_further: Vec<Vec<Stamp>>,
}

impl Watch {
    /// Registers `number` as a new connection of `flow`.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn identify(&mut self, flow: usize, number: u32) {
        let stamp = Stamp { connection: self.opened, flow: flow as u32, ..Stamp::default() };
        *entry(&mut self.identities, number as usize) = Identity { stamp, sent: [0, 0] };
        self.opened += 1;
    }

    fn see(&mut self, time: Time, id: PacketId, packet: &Packet, hop: Hop, departs: bool) {
        let stamp = self.stamps.get(id.index()).copied().unwrap_or_default();
        self.seen.push(Sighting { time, packet: *packet, stamp, hop, departs });
    }
}

impl World {
    /// Observes packets and frames from now on; must be called before the first event.
    ///
    /// # Panics
    /// If the plan is for another table of hops.
    pub fn watch(&mut self, plan: WatchPlan) {
        let blank = |marks: Vec<bool>| if marks.is_empty() { vec![false; self.hops.len()] } else { marks };
        let plan = WatchPlan { arrivals: blank(plan.arrivals), departures: blank(plan.departures), ..plan };
        assert_eq!((plan.arrivals.len(), plan.departures.len()), (self.hops.len(), self.hops.len()), "a mark a hop");
        for channel in &mut self.channels {
            channel.set_tap(plan.air);
        }
        let mut watch = Box::new(Watch {
            plan,
            identities: vec![],
            opened: 0,
            stamps: vec![],
            seen: vec![],
            aired: vec![vec![]; self.channels.len()],
            aired_further: vec![vec![]; self.channels.len()],
        });
        for (number, connection) in (0..).zip(&self.connections) {
            watch.identify(connection.flow as usize, number);
        }
        self.watch = Some(watch);
        self.observed = true;
        self.fast_path = false;
        self.disable_fast_paths();
    }

    /// All paths, one after the other, each ending with [`Hop::End`]; but see [`World::grid`].
    #[must_use]
    pub fn hops(&self) -> &[Hop] {
        &self.hops
    }

    /// Under dynamic routing the first hops are rows, one for each destination with a hop for each station, followed by
    /// the hop of announcements: the number of these hops, and the number per row.
    #[must_use]
    pub fn grid(&self) -> Option<(usize, usize)> {
        self.routing.as_ref().map(|routing| routing.grid())
    }

    /// The packets observed since [`World::clear_watch`], in order.
    #[must_use]
    pub fn sightings(&self) -> &[Sighting] {
        self.watch.as_ref().map_or(&[], |watch| &watch.seen)
    }

    /// The frames observed since [`World::clear_watch`]: for each channel its records, and the stamp of the packet in
    /// each frame.
    pub fn aired(&self) -> impl Iterator<Item = (&Tap, &[Option<Stamp>])> {
        let stamps = self.watch.iter().flat_map(|watch| &watch.aired);
        self.channels.iter().filter_map(Channel::records).zip(stamps.map(Vec::as_slice))
    }

    /// For each channel, the stamps of the packets of [`Tap::all_further_packets`].
    pub fn aired_further(&self) -> impl Iterator<Item = &[Stamp]> {
        self.watch.iter().flat_map(|watch| &watch.aired_further).map(Vec::as_slice)
    }

    /// Clears all observations.
    pub fn clear_watch(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        watch.seen.clear();
        watch.aired.iter_mut().for_each(Vec::clear);
        watch.aired_further.iter_mut().for_each(Vec::clear);
        for tap in self.channels.iter_mut().filter_map(Channel::tap) {
            tap.clear();
        }
    }

    /// Records the frames on the air that have ended although their exchange has not; the run is over.
    pub fn finish_watch(&mut self) {
        if !self.watch.as_mut().is_some_and(|watch| std::mem::take(&mut watch.plan.air)) {
            return;
        }
        for index in 0..self.channels.len() {
            self.channels[index].record_ended(self.now, &self.packets);
            self.watch_air(index);
        }
    }

    /// Records a packet at the start of its path.
    #[cold]
    pub(super) fn watch_launch(&mut self, id: PacketId) {
        let Some(watch) = &mut self.watch else { return };
        let packet = &self.packets[id];
        let identity = &mut watch.identities[packet.flow as usize];
        let from_receiver =
            usize::from(packet.kind == Kind::Ack || (packet.kind == Kind::Icmp && packet.has(flag::ACK)));
        let count = &mut identity.sent[from_receiver];
        *count = count.wrapping_add(1);
        // Fixed paths are stored one after the other, the forward one first; an echo starts within one.
        let reverse = self.connections[packet.flow as usize].reverse;
        let is_reverse = if self.routing.is_some() { packet.hop == reverse } else { packet.hop >= reverse };
        let real = self.real.as_ref().and_then(|real| real.number(id));
        *entry(&mut watch.stamps, id.index()) = Stamp { ip_id: *count, is_reverse, real, ..identity.stamp };
        self.watch_departure(id);
    }

    /// Records a packet that moves to another place in its row, under dynamic routing.
    pub(super) fn watch_move(&mut self, id: PacketId, hop: u32) {
        let Some(watch) = &mut self.watch else { return };
        let stamp = &mut watch.stamps[id.index()];
        if let Hop::Air { from, .. } | Hop::NoPath { from, .. } = self.hops[self.packets[id].hop as usize] {
            stamp.previous = Some(from);
        }
        stamp.passed = stamp.passed.saturating_add(u8::from(self.hops[hop as usize] != Hop::End));
    }

    /// Records a packet that has arrived at a place.
    pub(super) fn watch_arrival(&mut self, id: PacketId) {
        let Some(watch) = &mut self.watch else { return };
        let packet = &self.packets[id];
        let hop = packet.hop as usize;
        if packet.kind == Kind::Ack && self.hops[hop] == Hop::End {
            let stamp = &mut watch.identities[packet.flow as usize].stamp;
            stamp.ts_ecr = packet.ts_val;
            stamp.fin_heard |= packet.has(flag::FIN);
        }
        if watch.plan.arrivals[hop] {
            watch.see(self.now, id, packet, self.hops[hop], false);
        }
    }

    /// Records a packet that is about to make a hop.
    pub(super) fn watch_departure(&mut self, id: PacketId) {
        let Some(watch) = &mut self.watch else { return };
        let packet = &self.packets[id];
        let hop = packet.hop as usize;
        if watch.plan.departures[hop] {
            watch.see(self.now, id, packet, self.hops[hop], true);
        }
    }

    /// Records the frames of a channel that has advanced; must run while their packets still have their numbers.
    #[cold]
    pub(super) fn watch_air(&mut self, index: usize) {
        let (Some(watch), Some(tap)) = (&mut self.watch, self.channels[index].tap()) else { return };
        let aired = &mut watch.aired[index];
        let fresh = &tap.frames()[aired.len()..];
        aired.extend(fresh.iter().map(|frame| match &frame.packet {
            // Announcements belong to no flow and have no stamp.
            Some(packet) if packet.kind == Kind::Routing => {
                Some(Stamp { connection: u32::MAX, flow: u32::MAX, ..Stamp::default() })
            }
            _ => frame.id.and_then(|id| watch.stamps.get(id.index()).copied()),
        }));
        let further = &mut watch.aired_further[index];
        let fresh = &tap.all_further_packets()[further.len()..];
        further.extend(fresh.iter().map(|(id, _)| watch.stamps.get(id.index()).copied().unwrap_or_default()));
    }
}
