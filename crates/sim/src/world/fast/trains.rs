//! Trains: packets that follow each other on a wired link or into a queue, handled in one step.
//!
//! The packets of an A-MPDU are passed up at one instant, and packets for the same wired link are put on it in one
//! step. Where packets may be processed [early](super::eager_arrival), the arrival of the first is one event for all of
//! them, up to the next timer or task. Consecutive packets that arrive at a station with a backlog join its queue in
//! one step; so do the segments released by the ACKs of one PPDU, and the ACKs of its segments.

use wifair_packet::{Packet, PacketId};
use wifair_tcp::Sender;
use wifair_units::{Duration, Time};

use crate::world::flow::{Answer, Ends, receive};
use crate::world::plan::Hop;
use crate::world::wired_link::EagerArrival;
use crate::world::{TIMERS, World};

/// Packets of one connection that go to one queue at one instant and join it together.
#[derive(Debug, Default)]
pub(in crate::world) struct Train {
    /// Whether packets are kept now.
    is_on: bool,
    /// Hop and connection of the last packet that joined a queue, and its size.
    way: Option<(u32, u32)>,
    size: u16,
    /// Whether packets of other sizes are kept.
    is_mixed: bool,
    packets: Vec<PacketId>,
}

impl Train {
    /// Keeps a packet if it goes the same way as the last one; returns whether it did.
    #[inline]
    pub(in crate::world) fn take(&mut self, id: PacketId, packet: &Packet) -> bool {
        let is_taken = self.way == Some((packet.hop, packet.flow));
        if is_taken {
            self.is_mixed |= packet.size != self.size;
            self.packets.push(id);
        }
        is_taken
    }

    #[inline]
    pub(in crate::world) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Notes that a packet has joined a queue.
    #[inline]
    pub(in crate::world) fn follow(&mut self, packet: &Packet) {
        if self.is_on {
            self.way = Some((packet.hop, packet.flow));
            self.size = packet.size;
        }
    }
}

impl World {
    /// Forwards a packet that was passed up onto a wired link. The packets passed up after it follow in the same step
    /// as long as they go to the same link.
    #[inline(never)]
    pub(in crate::world) fn forward_train(&mut self, first: PacketId, link: u32, channel: usize) {
        let Packet { hop, size, .. } = self.packets[first];
        self.forward(first);
        let index = link as usize;
        let (wire, channel) = (&mut self.links[index], &mut self.channels[channel]);
        let Some((first, air, most)) = wire.alike(self.now, size) else { return };
        if self.now >= self.next_events.earliest().min(self.until) {
            return;
        }
        let (mut arrival, mut count) = (first, 0);
        for (_, id) in channel.passed_up().iter().take(usize::try_from(most).unwrap_or(usize::MAX)) {
            let packet = &mut self.packets[*id];
            if (packet.hop, packet.size) != (hop, size) {
                break;
            }
            packet.hop += 1;
            wire.enqueue_arrival(arrival, *id);
            arrival += air;
            count += 1;
        }
        if count == 0 {
            return;
        }
        channel.skip_passed_up(count as usize);
        wire.send_together(count, size);
        self.events += u64::from(count);
        if wire.next() == Time::NEVER || first < wire.eager_arrival().horizon(self.horizon, &self.timers) {
            self.update_link(index);
        }
    }

    /// Delivers the ACKs that are passed up to a sender behind another one, as long as the segments that they release
    /// go the same way as the last segment.
    pub(in crate::world) fn acks_arrive_from_air(&mut self, channel: usize, hop: u32, flow: u32) {
        let index = flow as usize;
        let connection = &mut self.connections[index];
        let Ends::Tcp { sender, .. } = &mut connection.ends else { return };
        let (forward, now) = (connection.forward, self.now);
        if self.kept.way != Some((forward, flow)) || connection.single || connection.sessions.is_some() {
            return;
        }
        let (channel, kept, packets) = (&mut self.channels[channel], &mut self.kept, &mut self.packets);
        let (counters, rtts) = (&mut connection.counters, &mut self.flows[connection.flow as usize].rtt);
        let mut count = 0;
        let mut is_due = self.now >= self.next_events.earliest().min(self.until);
        while !is_due {
            let behind = &channel.passed_up()[count..];
            let acks = behind.iter().map(|(_, id)| &packets[*id]);
            let mut acks = acks.take_while(|packet| (packet.hop, packet.flow) == (hop, flow));
            let mut train = sender.on_acks(now, acks.clone(), |rtt, times| rtts.add_repeated(rtt, times));
            if train.acks == 0 {
                let Some(ack) = acks.next() else { break };
                sender.on_packet(now, ack);
                if let Some(rtt) = sender.rtt_sample() {
                    rtts.add(rtt);
                }
                train.acks = 1;
            }
            let mut free = behind[..train.acks].iter().map(|(_, id)| *id);
            send_released(sender, now, train.segments, |mut segment, segments| {
                segment.hop = forward;
                counters.data_sent += segments;
                kept.is_mixed |= segment.size != kept.size;
                for _ in 0..segments {
                    let id = free.next().unwrap_or_else(|| packets.add().0);
                    packets[id] = segment;
                    kept.packets.push(id);
                    segment.seq += u64::from(segment.payload);
                }
            });
            free.for_each(|id| packets.release(id));
            count += train.acks;
            if self.timers.set(2 * index, sender.deadline()) {
                let next = self.timers.next();
                self.next_events.set(TIMERS, next);
                is_due = next <= now;
            }
        }
        channel.skip_passed_up(count);
        counters.acks_arrived += count as u64;
        self.events += count as u64;
        connection.cwnd.set(now, sender.cwnd());
    }

    /// Delivers the segments that are passed up to a receiver behind another one, up to the first whose ACK cannot join
    /// the queue that the last packet has joined.
    pub(in crate::world) fn segments_arrive_from_air(&mut self, channel: usize, hop: u32, flow: u32) {
        let index = flow as usize;
        let connection = &mut self.connections[index];
        let Ends::Tcp { receiver, .. } = &mut connection.ends else { return };
        if connection.sessions.is_some() {
            return;
        }
        let (back, now) = (connection.reverse, self.now);
        let (channel, kept, packets) = (&mut self.channels[channel], &mut self.kept, &mut self.packets);
        let (counters, one_way) = (&mut connection.counters, &mut self.flows[connection.flow as usize].one_way);
        let (behind, leads) = (channel.passed_up(), channel.passed_up_leads());
        let bound = self.next_events.earliest().min(self.until);
        let (mut count, mut answer, mut left) = (0, None, None);
        for (_, id) in behind {
            let packet = &mut packets[*id];
            let is_alike = (packet.hop, packet.flow) == (hop, flow);
            let is_over = answer == Some(Answer::First) || left.is_some();
            if !is_alike || now >= bound.min(receiver.deadline()) || is_over {
                break;
            }
            let lead = leads.get(count).copied().unwrap_or(Duration::ZERO);
            count += 1;
            answer = receive(receiver, counters, one_way, now, lead, packet);
            if answer.is_some() {
                packet.hop = back;
                left = (!kept.take(*id, packet)).then_some(*id);
            } else {
                packets.release(*id);
            }
        }
        channel.skip_passed_up(count);
        self.events += count as u64;
        if count > 0 && receiver.has_timer() {
            let deadline = receiver.deadline();
            self.set_timer(2 * index + 1, deadline);
        }
        if let Some(id) = left {
            self.launch(id, back);
        }
        if answer == Some(Answer::First) {
            self.acknowledge(index);
        }
    }

    /// A packet has arrived at a station over a wired link: the packets behind it that arrive before anything else is
    /// due join the queue of that station in one step, if it has something to send.
    #[inline]
    pub(in crate::world) fn join_behind(&mut self, link: usize) {
        if self.fast_path && !self.channels.is_empty() {
            let bound = self.next_events.earliest_until(self.until);
            if self.links[link].next() < bound {
                self.join_before(bound, link);
            }
        }
    }

    #[inline(never)]
    fn join_before(&mut self, bound: Time, link: usize) {
        let Self { hops, packets, links, channels, connections, .. } = self;
        let wire = &mut links[link];
        let Some((_, first)) = wire.under_way().first() else { return };
        let Packet { hop, flow, .. } = packets[*first];
        let (Hop::Air { channel, from, .. }, Some(connection)) =
            (hops[hop as usize + 1], connections.get(flow as usize))
        else {
            return;
        };
        let category = connection.category;
        let mut known = (hop, flow);
        let goes_there = |packet: &Packet| match hops[packet.hop as usize + 1] {
            Hop::Air { channel: to, from: station, .. } => (to, station) == (channel, from),
            _ => false,
        };
        let has_category = |flow: u32| connections.get(flow as usize).is_some_and(|one| one.category == category);
        let mut joins = |packet: &mut Packet| {
            let way = (packet.hop, packet.flow);
            let is_alike = way == known || (goes_there(packet) && has_category(packet.flow));
            if is_alike {
                known = way;
                packet.hop += 1;
            }
            is_alike
        };
        while wire.next() < bound {
            let (channel, train) = (&mut channels[usize::from(channel)], wire.under_way().iter().copied());
            let count = channel.append_train(from, category, train, packets, bound, &mut joins);
            if count == 0 {
                break;
            }
            wire.let_arrive(count);
            self.events += count as u64;
        }
    }

    /// Starts or stops keeping packets.
    #[inline]
    pub(in crate::world) fn keep_packets(&mut self, is_on: bool) {
        self.kept.is_on = is_on;
        if !is_on {
            self.join_kept();
        }
    }

    /// Lets the packets kept join their queue.
    #[inline(never)]
    pub(in crate::world) fn join_kept(&mut self) {
        let Some((hop, flow)) = self.kept.way.take() else { return };
        let Hop::Air { channel, from, .. } = self.hops[hop as usize] else { return };
        let (channel, category) = (usize::from(channel), self.connections[flow as usize].category);
        let (kept, size) = (std::mem::take(&mut self.kept.packets), self.kept.size);
        let is_mixed = std::mem::take(&mut self.kept.is_mixed);
        let mut waiting = &kept[..];
        while let Some((first, others)) = waiting.split_first() {
            let (now, to) = (self.now, &mut self.channels[channel]);
            let count = if is_mixed {
                let train = waiting.iter().map(|id| (now, *id));
                to.append_train(from, category, train, &mut self.packets, Time::NEVER, |_| true)
            } else {
                to.append_together(now, from, category, waiting, size)
            };
            waiting = &waiting[count..];
            if count == 0 {
                self.offer(channel, from, *first);
                waiting = others;
            }
        }
        self.kept.packets = kept;
        self.kept.packets.clear();
    }

    /// Processes the packets behind one that has arrived by a wired link, as far as they may be processed early.
    #[inline]
    pub(in crate::world) fn arrive_behind(&mut self, link: usize) {
        if self.links[link].eager_arrival() != EagerArrival::Never {
            self.arrive_all_eagerly(link);
        }
    }
}

/// Passes all segments that a sender may send now to `send`: the first of each run that differs in its offset alone,
/// with their number. ACKs have [released](Sender::on_acks) the first `segments`.
#[inline(always)]
pub(super) fn send_released(sender: &mut Sender, now: Time, segments: u64, mut send: impl FnMut(Packet, u64)) {
    let (mut segment, mut segments) = (Packet::default(), segments);
    if segments > 0 {
        segment = sender.first_released(now, segments);
    }
    loop {
        if segments > 0 {
            segment.set_sent_at(now);
            send(segment, segments);
        }
        if sender.is_running() {
            segments = sender.write_all(now, &mut segment);
        } else if !sender.is_held()
            && let Some(next) = sender.poll(now)
        {
            (segment, segments) = (next, 1);
        } else {
            return;
        }
    }
}
