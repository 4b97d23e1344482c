//! Lazy links: while an access point has a backlog, arrivals on its wired links are computed on demand instead of being
//! scheduled as events.
//!
//! A packet that arrives over a wired link at an access point with a frame in progress changes nothing but the queue,
//! so arrivals need not be processed before the access point dequeues its next packet. An arrival at the far end of a
//! wired link affects only the transport there, whose response leaves over a wired link as well, so it can be deferred
//! for as long. When an access point finds its queue empty, links become event sources again, until all access points
//! have a backlog.
//!
//! Deferred arrivals are processed in the order of the events that they replace, each at its own time, interleaved with
//! the timers that they set. They are always processed before anything that might interact with them: tasks of
//! applications, timers, packets that reach an access point over the air.
//!
//! A link may be lazy under two conditions. Each of its packets continues to a lazy link, to an access point on the
//! shared channel whose queue is a drop-tail FIFO, or to an end that responds over a lazy link. And either all packets
//! that enter the link are deferred, or all enter it by events. Packets must not enter a link without delay by events
//! of other links: with events, a packet would arrive before those links move their next packet of the same instant.

use wifair_engine::NextEventTree;
use wifair_mac::Channel;
use wifair_packet::{PacketId, Packets};
use wifair_queue::Cause;
use wifair_units::{Duration, Time};

use crate::world::flow::Flow;
use crate::world::measure::Loss;
use crate::world::plan::{Hop, TransportPlan, path_from};
use crate::world::{FIRST_CHANNEL, World};

/// The links that may be lazy, and whether they are now.
#[derive(Debug)]
pub(in crate::world) struct LazyLinks {
    /// The links, in ascending order.
    links: Vec<usize>,
    /// The access points at which these links end, each with its channel.
    aps: Vec<(usize, u32)>,
    /// Where each link leads, by link number.
    leads: Vec<LeadsTo>,
    /// The links that lead to access points, in ascending order.
    to_aps: Vec<usize>,
    /// The time of the next arrival on each other link, by link number.
    others: NextEventTree,
    /// Whether links are lazy now, so that their arrivals are not events.
    pub(in crate::world) is_on: bool,
}

/// Where a link leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeadsTo {
    /// To the access point of a channel. Arrivals there have no effect before the access point dequeues a packet, so
    /// they can be processed after everything else.
    Ap(usize),
    /// Anywhere else.
    On,
}

/// The search for links that may be lazy: rules out links until nothing changes any more.
struct Search<'a> {
    hops: &'a [Hop],
    links: Vec<bool>,
    channels: Vec<bool>,
    changed: bool,
}

impl LazyLinks {
    /// No link is ever lazy.
    pub(in crate::world) fn never() -> Self {
        let others = NextEventTree::new(0, 0);
        Self { links: vec![], aps: vec![], leads: vec![], to_aps: vec![], others, is_on: false }
    }

    /// Sets the time of the next arrival on a link; links that lead to access points are asked for theirs.
    fn set(&mut self, link: usize, time: Time) {
        if self.leads[link] == LeadsTo::On {
            self.others.set(link, time);
        }
    }

    /// Defers the arrivals on a link if it is lazy; the next is due at `next`. Returns whether the link is lazy.
    pub(in crate::world) fn defer(&mut self, link: usize, next: Time) -> bool {
        let is_lazy = self.is_on && self.links.contains(&link);
        if is_lazy {
            self.set(link, next);
        }
        is_lazy
    }

    /// Whether links that may be lazy lead to this station.
    #[inline]
    pub(in crate::world) fn lead_to(&self, channel: usize, station: u32) -> bool {
        self.aps.contains(&(channel, station))
    }
}

impl<'a> Search<'a> {
    fn is_lazy(&self, hop: Hop) -> bool {
        matches!(hop, Hop::Wired(link) if self.links[link as usize])
    }

    /// Rules out links that cannot be lazy because of the path from `start`, whose answers return by `back`.
    fn narrow(&mut self, flow: &Flow, start: u32, back: u32) {
        let (path, back) = (path_from(self.hops, start), path_from(self.hops, back));
        for hops in path.windows(2) {
            let Hop::Wired(link) = hops[0] else { continue };
            let may = match hops[1] {
                Hop::Wired(next) => self.links[next as usize],
                Hop::Air { channel, .. } => self.channels[usize::from(channel)],
                Hop::NoPath { .. } => false,
                Hop::End => match &flow.transport {
                    _ if flow.workload.opens_fresh_connections() => false,
                    TransportPlan::Udp { .. } => true,
                    TransportPlan::Ping { .. } => false,
                    TransportPlan::Tcp { .. } => self.is_lazy(back[0]),
                },
            };
            if !may && std::mem::replace(&mut self.links[link as usize], false) {
                self.changed = true;
            }
            if let Hop::Air { channel, .. } = hops[1]
                && !self.links[link as usize]
                && std::mem::replace(&mut self.channels[usize::from(channel)], false)
            {
                self.changed = true;
            }
        }
    }

    /// Calls `note` for the links of a path, each with the hop that its packets come from; answers come from the last
    /// hop of the opposite path.
    fn entries(&self, flow: &Flow, start: u32, back: u32, mut note: impl FnMut(usize, Hop)) {
        let (path, back) = (path_from(self.hops, start), path_from(self.hops, back));
        let mut before = match &flow.transport {
            TransportPlan::Tcp { .. } | TransportPlan::Ping { .. } if back.len() > 1 => Some(back[back.len() - 2]),
            _ => None, // datagrams are not answered
        };
        for hop in path {
            if let (Hop::Wired(link), Some(before)) = (hop, before) {
                note(*link as usize, before);
            }
            before = Some(*hop);
        }
    }
}

impl World {
    /// Finds the links that may be lazy; must run before the first event.
    pub(in crate::world) fn find_lazy_links(&mut self) {
        let fits = |(index, channel): (usize, &Channel)| {
            let Channel::Shared(cell) = channel else { return false };
            let from_ap = |hop: &Hop| match hop {
                Hop::Air { channel, from, .. } => usize::from(*channel) != index || self.aps[index].contains(from),
                _ => true,
            };
            let behind_wire = self.hops.windows(2).filter(|hops| matches!(hops[0], Hop::Wired(_)));
            cell.allows_lazy_links() && behind_wire.map(|hops| &hops[1]).all(from_ap)
        };
        let mut search = Search {
            hops: &self.hops,
            links: vec![true; self.links.len()],
            channels: self.channels.iter().enumerate().map(fits).collect(),
            changed: true,
        };
        while std::mem::take(&mut search.changed) {
            let mut entered = vec![[false; 2]; self.links.len()];
            let mut entered_by_link_events = vec![false; self.links.len()];
            for flow in &self.flows {
                for (start, back) in [(flow.forward, flow.reverse), (flow.reverse, flow.forward)] {
                    search.narrow(flow, start, back);
                    let note = |link: usize, by| {
                        let is_lazy = search.is_lazy(by);
                        entered[link][usize::from(is_lazy)] = true;
                        entered_by_link_events[link] |= matches!(by, Hop::Wired(_)) && !is_lazy;
                    };
                    search.entries(flow, start, back, note);
                }
            }
            for (link, entered) in entered.into_iter().enumerate() {
                // A gate must release waiting packets before others arrive at it.
                let must_be_told = entered[0] && self.links[link].has_gate();
                // With events, its packets alternate with those of the links that they come from.
                let takes_turns = entered_by_link_events[link] && self.links[link].takes_no_time();
                let may = entered != [true; 2] && !must_be_told && !takes_turns;
                if !may && std::mem::replace(&mut search.links[link], false) {
                    search.changed = true;
                }
            }
        }
        let all = |marks: &[bool]| (0..marks.len()).filter(|index| marks[*index]).collect::<Vec<_>>();
        let places_behind = |link: usize| {
            let behind =
                self.hops.windows(2).filter(move |hops| matches!(hops[0], Hop::Wired(at) if at as usize == link));
            behind.map(|hops| match hops[1] {
                Hop::Air { channel, .. } => LeadsTo::Ap(usize::from(channel)),
                Hop::Wired(_) | Hop::NoPath { .. } | Hop::End => LeadsTo::On,
            })
        };
        let links = all(&search.links);
        let mut leads = vec![LeadsTo::On; self.links.len()];
        for &link in &links {
            let mut behind = places_behind(link);
            let first = behind.next().unwrap_or(LeadsTo::On);
            // A link with a gate has events other than arrivals.
            if !self.links[link].has_gate() && behind.all(|place| place == first) {
                leads[link] = first;
            }
        }
        let mut aps = vec![];
        for channel in all(&search.channels) {
            let ap = LeadsTo::Ap(channel);
            let wires = || links.iter().copied().filter(|link| places_behind(*link).any(|place| place == ap));
            // Packets of one instant are ordered by the numbers of their links, unless an arrival causes another one at
            // the same instant.
            let is_simple = wires().count() == 1 || wires().all(|link| self.links[link].delay() > Duration::ZERO);
            if !is_simple || wires().any(|link| leads[link] != ap) {
                leads.iter_mut().filter(|lead| **lead == ap).for_each(|lead| *lead = LeadsTo::On);
            }
            if wires().next().is_some() {
                aps.push((channel, self.aps[channel][0]));
            }
        }
        let has_media = !self.channels.is_empty();
        if links.is_empty() || (aps.is_empty() && has_media) {
            return;
        }
        let to_aps = links.iter().copied().filter(|link| leads[*link] != LeadsTo::On).collect();
        let others = NextEventTree::new(0, self.links.len());
        // Without channels, links are lazy from the start.
        self.lazy_links = LazyLinks { links, aps, leads, to_aps, others, is_on: !has_media };
    }

    /// Handles a departure that needs attention after a packet was put on a link.
    #[inline(never)]
    pub(in crate::world) fn update_link(&mut self, index: usize) {
        self.arrive_all_eagerly(index);
        self.schedule_link(index);
        if !self.dropped.is_empty() {
            self.lose_dropped();
        }
    }

    /// Called when a station with a frame in progress gets a packet: if all access points to which links lead are now
    /// backlogged, makes the links lazy.
    #[inline]
    pub(in crate::world) fn consider_lazy_links(&mut self, channel: usize, station: u32) {
        let is_backlogged = |&(channel, _): &(usize, u32)| match &self.channels[channel] {
            Channel::Shared(shared) => shared.ap_is_backlogged(),
            _ => false,
        };
        if !self.lazy_links.is_on
            && self.lazy_links.lead_to(channel, station)
            && self.lazy_links.aps.iter().all(is_backlogged)
        {
            self.make_lazy();
        }
    }

    #[inline(never)]
    fn make_lazy(&mut self) {
        let lazy_links = &mut self.lazy_links;
        lazy_links.is_on = true;
        for position in 0..lazy_links.links.len() {
            let link = lazy_links.links[position];
            lazy_links.set(link, self.links[link].next());
            self.next_events.set(FIRST_CHANNEL + self.channels.len() + link, Time::NEVER);
        }
        self.set_arrivals_until(Time::ZERO);
    }

    /// Called when an access point has nothing to send: makes the links event sources again.
    pub(in crate::world) fn make_eager(&mut self) {
        self.catch_up_links(self.now);
        self.lazy_links.is_on = false;
        for &link in &self.lazy_links.links {
            self.next_events.set(FIRST_CHANNEL + self.channels.len() + link, self.links[link].next());
        }
        self.set_arrivals_until(Time::NEVER);
    }

    fn set_arrivals_until(&mut self, time: Time) {
        for (channel, _) in &self.lazy_links.aps {
            if let Some(shared) = self.channels[*channel].as_shared() {
                shared.set_arrivals_until(time);
            }
        }
    }

    /// Processes arrivals before the access point of a channel dequeues a packet.
    #[inline(never)]
    pub(in crate::world) fn drain_arrivals(&mut self, channel: usize) {
        let now = self.now;
        self.catch_up_links(now);
        if let Some(shared) = self.channels[channel].as_shared() {
            shared.set_arrivals_until(now);
        }
    }

    /// Processes all deferred arrivals before `end`.
    #[inline(never)]
    pub(in crate::world) fn catch_up_links(&mut self, end: Time) {
        let now = self.now;
        loop {
            let (time, link) = self.lazy_links.others.first();
            let timer = self.timers.next(); // timers set by other events are not due yet
            if timer.min(time) >= end {
                break;
            }
            if timer <= time {
                self.now = timer;
                self.next_timer();
            } else {
                self.advance_lazily(link, time, end);
            }
        }
        self.now = now;
        self.arrive_at_aps(end);
    }

    /// Processes arrivals before `end` on the links that lead to access points.
    #[inline(always)]
    fn arrive_at_aps(&mut self, end: Time) {
        while let Some((link, others)) = self.first_to_ap(end) {
            self.arrive_lazily(link, others);
            if others == end {
                break;
            }
        }
    }

    /// The link that leads to an access point and has the next arrival before `end`, and when others have arrivals, or
    /// `end`.
    #[inline]
    fn first_to_ap(&self, end: Time) -> Option<(usize, Time)> {
        let (mut first, mut time, mut others) = (None, end, end);
        for &link in &self.lazy_links.to_aps {
            let next = self.links[link].next();
            if next < time {
                (first, time, others) = (Some(link), next, time);
            } else {
                others = others.min(next);
            }
        }
        Some((first?, others.max(time + Duration::from_nanos(1))))
    }

    /// Advances a link at `time`, and further before `end`, until another link is due first.
    fn advance_lazily(&mut self, index: usize, mut time: Time, end: Time) {
        self.lazy_links.others.set(index, Time::NEVER);
        loop {
            self.now = time;
            self.events += 1;
            let link = &mut self.links[index];
            match link.advance(time, &mut self.packets, &mut self.dropped) {
                Some(id) => self.forward_lazily(id),
                None if !self.dropped.is_empty() => self.lose_dropped(),
                None => {}
            }
            time = self.links[index].next();
            if time >= end.min(self.timers.next()).min(self.lazy_links.others.earliest()) {
                self.lazy_links.others.set(index, time);
                return;
            }
        }
    }

    /// Processes the arrivals before `end` on a link that leads to an access point.
    #[inline(never)]
    fn arrive_lazily(&mut self, index: usize, end: Time) {
        let link = &mut self.links[index];
        let LeadsTo::Ap(channel) = self.lazy_links.leads[index] else { return };
        let Channel::Shared(cell) = &mut self.channels[channel] else { return };
        let (events, connections) = (&mut self.events, &mut self.connections);
        let drops = &mut self.drops[channel][self.aps[channel][0] as usize];
        let refuse = |packets: &mut Packets, id| {
            packets.release(id);
            let packet = &packets[id];
            connections[packet.flow as usize].counters.lose(packet, Loss::ApQueue);
            drops.overflow += 1;
        };
        cell.arrive_lazily(
            &mut self.packets,
            |packets| {
                let (then, id) = link.take_arrived(end)?;
                *events += 1;
                let packet = &mut packets[id];
                packet.hop += 1;
                Some((then, id, packet))
            },
            refuse,
        );
        link.look();
    }

    /// Forwards a packet that has crossed a wired link.
    fn forward_lazily(&mut self, id: PacketId) {
        let packet = &mut self.packets[id];
        packet.hop += 1;
        let hop = packet.hop;
        let Hop::Air { channel, .. } = self.hops[hop as usize] else { return self.send_on_hop(id, hop) };
        let Channel::Shared(cell) = &mut self.channels[usize::from(channel)] else { return };
        let mut arrived = Some((self.now, id));
        let refuse = |_: &mut Packets, id| self.dropped.push((id, Cause::Overflow));
        cell.arrive_lazily(
            &mut self.packets,
            |packets| arrived.take().map(|(then, id)| (then, id, &mut packets[id])),
            refuse,
        );
        if !self.dropped.is_empty() {
            self.lose_dropped();
        }
    }
}
