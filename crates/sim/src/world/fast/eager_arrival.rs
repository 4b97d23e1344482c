//! Eager arrival: handles a packet at the far end of a wired link as soon as it is sent, instead of at its arrival
//! time.
//!
//! The arrival time of a packet is known when it is put on a link. Suppose the link ends at the packet's receiver, and
//! the receiver's answers leave by a link that nothing else enters. Then it makes no difference whether the packet is
//! processed at its arrival time or immediately, because the answer is put on its link with the correct time either
//! way. So the packet is processed immediately, without an event: a datagram is counted when it is sent, a segment is
//! turned into its ACK, and an ACK into the segments that it releases.
//!
//! The shortcut applies only to arrivals before the next task of the applications, before the end of the run, when
//! results may be read, and, if the ends have timers (retransmission, delayed ACKs, receive offload), before the next
//! timer; but the timers of a receiver that expire between two of its segments run early, like the segments. Other
//! packets stay on the link. They arrive by events, or are processed early when the next packet is put on the link or
//! arrives.

use wifair_engine::Timers;
use wifair_packet::{Kind, Packet, PacketId};
use wifair_units::{Duration, Time};

use crate::world::fast::trains::send_released;
use crate::world::flow::{Answer, Ends, Flow, receive};
use crate::world::plan::{Hop, TransportPlan, WorkloadPlan, path_from};
use crate::world::wired_link::{Departure, EagerArrival};
use crate::world::{FIRST_CHANNEL, TIMERS, World};

/// Origin of all packets that enter a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkOrigin {
    /// They are answers to packets that arrived by this link: ACKs, or segments, which also leave when a timer expires.
    Answers(u32),
    /// They come from several links, or from elsewhere.
    Other,
}

impl EagerArrival {
    /// The time before which packets put on a link now may be processed immediately.
    #[inline(always)]
    pub(in crate::world) fn horizon(self, horizon: Time, timers: &Timers) -> Time {
        match self {
            Self::Never => Time::ZERO,
            Self::Always => horizon,
            Self::BeforeTimers => horizon.min(timers.next()),
        }
    }
}

impl World {
    /// Finds the links on which packets may arrive early; must run before the first event.
    pub(in crate::world) fn find_eager_links(&mut self) {
        let mut origins: Vec<Option<LinkOrigin>> = vec![None; self.links.len()];
        for flow in &self.flows {
            for [path, opposite] in paths_of(&self.hops, flow) {
                let first = match opposite {
                    [.., Hop::Wired(last), Hop::End] if !is_one_way(flow) => LinkOrigin::Answers(*last),
                    _ => LinkOrigin::Other,
                };
                let origin = std::iter::once(first).chain(std::iter::repeat(LinkOrigin::Other));
                for (hop, origin) in path.iter().zip(origin) {
                    if let Hop::Wired(link) = hop {
                        let all = &mut origins[*link as usize];
                        *all = if all.is_none_or(|before| before == origin) {
                            Some(origin)
                        } else {
                            Some(LinkOrigin::Other)
                        };
                    }
                }
            }
        }
        let mut eager_arrival: Vec<EagerArrival> = self
            .links
            .iter()
            .map(|link| if link.has_gate() { EagerArrival::Never } else { EagerArrival::Always })
            .collect();
        for flow in &self.flows {
            for ([path, opposite], is_forward) in paths_of(&self.hops, flow).zip([true, false]) {
                for hops in path.windows(2) {
                    let Hop::Wired(link) = hops[0] else { continue };
                    let place = &mut eager_arrival[link as usize];
                    let kind = if hops[1] == Hop::End {
                        self.kind_of_end(flow, is_forward, link, opposite[0], &origins)
                    } else {
                        EagerArrival::Never
                    };
                    *place = match (*place, kind) {
                        (EagerArrival::Never, _) | (_, EagerArrival::Never) => EagerArrival::Never,
                        (EagerArrival::Always, EagerArrival::Always) => EagerArrival::Always,
                        _ => EagerArrival::BeforeTimers,
                    };
                }
            }
        }
        // Between two ends that are connected by wires alone, segments arrive early, and their ACKs do not: processing
        // a segment would otherwise process its ACK, which would process the next segment, without end.
        for flow in &self.flows {
            if let ([Hop::Wired(to), Hop::End], [Hop::Wired(back), Hop::End]) =
                (path_from(&self.hops, flow.forward), path_from(&self.hops, flow.reverse))
                && eager_arrival[*to as usize] != EagerArrival::Never
            {
                eager_arrival[*back as usize] = EagerArrival::Never;
            }
        }
        for (link, eager_arrival) in eager_arrival.into_iter().enumerate() {
            self.links[link].set_eager_arrival(eager_arrival);
            let leads_to_ap = self.leads_to_ap(link);
            self.links[link].set_leads_to_ap(leads_to_ap);
        }
    }

    /// Whether a link, and no other, leads to one access point, and nowhere else, which may expect packets.
    fn leads_to_ap(&self, link: usize) -> bool {
        let is_wire = |hop: &Hop| matches!(hop, Hop::Wired(at) if *at as usize == link);
        let mut places = self.hops.windows(2).filter(|hops| is_wire(&hops[0])).map(|hops| hops[1]);
        let Some(place @ Hop::Air { channel, from, .. }) = places.next() else { return false };
        let goes_there =
            |hop: Hop| matches!(hop, Hop::Air { channel: to, from: station, .. } if (to, station) == (channel, from));
        let from_others = self.hops.windows(2).filter(|hops| matches!(hops[0], Hop::Wired(_)) && !is_wire(&hops[0]));
        !self.links[link].has_gate()
            && goes_there(place)
            && places.all(goes_there)
            && !from_others.map(|hops| hops[1]).any(goes_there)
            && !self.flows.iter().any(|flow| flow.workload.opens_fresh_connections())
            && self.channels[usize::from(channel)].can_expect(from)
    }

    /// When packets on the forward or reverse path of a flow may be processed early. The path ends at the far end of
    /// `link`, and answers leave by `answer`.
    fn kind_of_end(
        &self,
        flow: &Flow,
        is_forward: bool,
        link: u32,
        answer: Hop,
        origins: &[Option<LinkOrigin>],
    ) -> EagerArrival {
        let has_timer = match &flow.transport {
            _ if flow.workload.opens_fresh_connections() => return EagerArrival::Never,
            TransportPlan::Udp { .. } if is_forward => return EagerArrival::Always,
            TransportPlan::Udp { .. } | TransportPlan::Ping { .. } => return EagerArrival::Never,
            TransportPlan::Tcp { receiver, .. } => !is_forward || receiver.has_timer(),
        };
        let Hop::Wired(back) = answer else { return EagerArrival::Never };
        let is_alone = origins[back as usize] == Some(LinkOrigin::Answers(link));
        match has_timer {
            _ if !is_alone || self.links[back as usize].has_gate() => EagerArrival::Never,
            true => EagerArrival::BeforeTimers,
            false => EagerArrival::Always,
        }
    }

    /// The access point at the far end of a wired link will get this packet.
    #[inline(never)]
    pub(in crate::world) fn expect_at_ap(&mut self, id: PacketId, time: Time) {
        self.events += 1;
        let packet = &mut self.packets[id];
        packet.hop += 1;
        let Hop::Air { channel, from, .. } = self.hops[packet.hop as usize] else { return };
        let (index, category) = (usize::from(channel), self.connections[packet.flow as usize].category);
        let channel = &mut self.channels[index];
        if channel.expect_packet(time, from, category, id, &self.packets) && self.on_turn != Some(index) {
            self.next_events.set(FIRST_CHANNEL + index, channel.next());
        }
    }

    /// Processes a packet now that will arrive at `time`.
    #[inline(always)]
    pub(in crate::world) fn arrive_eagerly(&mut self, id: PacketId, time: Time) {
        self.events += 1;
        if self.packets[id].kind == Kind::Udp {
            return self.datagram_arrives_eagerly(id, time);
        }
        let now = std::mem::replace(&mut self.now, time);
        if self.packets[id].kind == Kind::Data {
            self.take_segment(id);
        } else {
            self.take_ack(id);
        }
        self.now = now;
    }

    #[inline(never)]
    fn datagram_arrives_eagerly(&mut self, id: PacketId, time: Time) {
        self.packets.release(id);
        let packet = &self.packets[id];
        let connection = &mut self.connections[packet.flow as usize];
        connection.counters.arrive(packet.payload);
        self.flows[connection.flow as usize].record_delay(time - packet.sent_at());
    }

    /// Forwards a datagram that was passed up onto a wired link, together with the following datagrams of the same
    /// connection that are passed up at the same instant, as long as they arrive immediately.
    #[inline(never)]
    pub(in crate::world) fn datagrams_arrive(&mut self, first: PacketId, link: u32, channel: usize) {
        if self.links[link as usize].eager_arrival() != EagerArrival::Always {
            return self.forward_train(first, link, channel);
        }
        let Self { now, horizon, packets, links, channels, connections, flows, dropped, delays, .. } = self;
        let (wire, channel) = (&mut links[link as usize], &mut channels[channel]);
        let like = packets[first];
        let Packet { flow, hop, size, payload, .. } = like;
        let connection = &mut connections[flow as usize];
        let owner = &mut flows[connection.flow as usize];
        let is_alike = |packet: &Packet| (packet.flow, packet.hop, packet.kind) == (flow, hop, Kind::Udp);
        let mut id = first;
        let departure = loop {
            let packet = &mut packets[id];
            packet.hop += 1;
            let departure = wire.send(*now, Time::ZERO, *horizon, id, packets, dropped);
            let Departure::Arrives(time) = departure else { break departure };
            self.events += 1;
            packets.release(id);
            let packet = &packets[id];
            connection.counters.arrive(packet.payload);
            owner.record_delay(time - packet.sent_at());
            if wire.next() == Time::NEVER
                && let Some((mut time, air, most)) = wire.alike(*now, size)
            {
                let next = channel.passed_up();
                let next = &next[..next.len().min(usize::try_from(most).unwrap_or(usize::MAX))];
                delays.clear();
                for (_, id) in next {
                    let packet = &packets[*id];
                    if !packet.is_like(&like) || time >= *horizon {
                        break;
                    }
                    delays.push(time - packet.sent_at());
                    time += air;
                }
                let count = u32::try_from(delays.len()).expect("fewer than 2^32 packets are alive");
                packets.release_together(next[..delays.len()].iter().map(|(_, id)| *id));
                owner.record_delays(delays.iter().copied());
                connection.counters.arrive_together(count.into(), payload);
                channel.skip_passed_up(count as usize);
                wire.send_together(count, size);
                self.events += 2 * u64::from(count);
            }
            let Some(next) = channel.take_passed_up_if(|id| is_alike(&packets[id])) else { break departure };
            self.events += 1;
            id = next;
        };
        if departure == Departure::Noteworthy {
            self.update_link(link as usize);
        }
    }

    /// Takes datagrams for which no packets are written from the sender's channel. If all arrive immediately over a
    /// wired link, they are counted; otherwise packets are written for them.
    #[inline(never)]
    pub(in crate::world) fn runs_arrive(&mut self, channel: usize, sender: u32) {
        if self.runs_arrive_eagerly(channel, sender) {
            return;
        }
        self.channels[channel].write_out_datagrams(self.now, sender, &mut self.packets);
        if let Some(id) = self.channels[channel].take_passed_up() {
            self.forward_from_air(channel, id);
            self.forward_passed_up(channel);
        }
    }

    /// Counts these datagrams if all arrive immediately. Otherwise does nothing and returns false.
    fn runs_arrive_eagerly(&mut self, channel: usize, sender: u32) -> bool {
        let is_first = self.now < self.next_events.earliest().min(self.until);
        let Self { now, horizon, hops, links, channels, connections, flows, events, .. } = self;
        let Some((datagrams, leads)) = channels[channel].datagrams(sender) else { return false };
        let (Packet { hop, flow, size, payload, .. }, count) = (*datagrams.like(), datagrams.len());
        let Hop::Wired(link) = hops[hop as usize + 1] else { return false };
        let wire = &mut links[link as usize];
        if !is_first || wire.eager_arrival() != EagerArrival::Always {
            return false;
        }
        let (air, connection) = (wire.air(size), &mut connections[flow as usize]);
        let owner = &mut flows[connection.flow as usize];
        let (first, last, apart) = (leads.of(0), leads.of(count - 1), leads.of(0).saturating_sub(leads.of(1)));
        if first == Duration::ZERO {
            // The datagrams follow each other without a gap, from now on.
            if air > datagrams.interval() {
                return false;
            }
            let Some(mut arrival) = wire.send_run(*now, *horizon, size, count) else { return false };
            for run in datagrams.runs() {
                owner.record_falling_delays(arrival - run.sent_at, datagrams.interval() - air, run.count);
                arrival += air * run.count;
            }
        } else {
            // Each datagram is put on the link when its MPDU ends, and arrives when the PPDU ends or later.
            if apart <= air || !wire.send_apart(*now - first, *now - last, *horizon, air) {
                return false;
            }
            let (behind, interval) = (air + wire.delay(), datagrams.interval());
            if count > 1 && leads.of(count - 2) >= behind {
                // All but the last have crossed the link when the PPDU ends.
                let mut early = count - 1;
                for run in datagrams.runs() {
                    let count = run.count.min(early);
                    early -= count;
                    if count > 0 {
                        owner.record_falling_delays(*now - run.sent_at, interval, count);
                    }
                    if count < run.count {
                        let arrival = *now + behind - last.min(behind);
                        owner.record_falling_delays(arrival - (run.sent_at + interval * count), interval, 1);
                    }
                }
            } else {
                datagrams.ages(*now + behind, behind, leads).for_each(|ages| owner.record_delays(ages));
            }
        }
        connection.counters.arrive_together(count, payload);
        *events += 2 * count - 1;
        true
    }

    /// Processes packets that are already on a wired link, as far as allowed. If the ends have timers and a packet
    /// should have arrived before now, a timer might have been due before now as well, so it arrives by an event.
    pub(in crate::world) fn arrive_all_eagerly(&mut self, link: usize) {
        while self.links[link].leads_to_ap()
            && let Some((time, id)) = self.links[link].take_arrived(Time::NEVER)
        {
            self.expect_at_ap(id, time);
        }
        loop {
            let place = &mut self.links[link];
            if place.eager_arrival() == EagerArrival::BeforeTimers && place.next() < self.now {
                return place.look();
            }
            let Some(&(time, id)) = place.under_way().first().filter(|_| place.eager_arrival() != EagerArrival::Never)
            else {
                return place.look();
            };
            let Packet { flow, kind, .. } = self.packets[id];
            if kind == Kind::Data && self.segments_arrive_by_wire(link, flow) {
                continue;
            }
            let place = &mut self.links[link];
            let horizon = place.eager_arrival().horizon(self.horizon, &self.timers);
            if time >= horizon {
                return place.look();
            }
            if kind != Kind::Ack || !self.acks_arrive_by_wire(link, flow, horizon) {
                self.links[link].let_arrive(1);
                self.arrive_eagerly(id, time);
            }
        }
    }

    /// Delivers ACKs of one connection that are next on a wired link and arrive before `horizon`, as far as they may be
    /// processed now. Returns false if none is.
    fn acks_arrive_by_wire(&mut self, link: usize, flow: u32, horizon: Time) -> bool {
        let index = flow as usize;
        let connection = &mut self.connections[index];
        let (forward, counters) = (connection.forward, &mut connection.counters);
        let (Ends::Tcp { sender, .. }, Hop::Wired(answers)) = (&mut connection.ends, self.hops[forward as usize])
        else {
            return false;
        };
        let answers = answers as usize;
        let Ok([wire, line]) = self.links.get_disjoint_mut([link, answers]) else { return false };
        if connection.sessions.is_some() || line.leads_to_ap() {
            return false;
        }
        let (packets, rtts) = (&mut self.packets, &mut self.flows[connection.flow as usize].rtt);
        let (mut is_noteworthy, mut count) = (false, 0);
        for &(time, id) in wire.under_way() {
            let ack = &packets[id];
            let is_alike = (ack.flow, ack.kind) == (flow, Kind::Ack);
            if !is_alike || time >= horizon || time >= sender.deadline() {
                break;
            }
            count += 1;
            let train = sender.on_acks(time, std::iter::once(ack), |rtt, times| rtts.add_repeated(rtt, times));
            if train.acks == 0 {
                sender.on_packet(time, ack);
                if let Some(rtt) = sender.rtt_sample() {
                    rtts.add(rtt);
                }
            }
            let mut free = Some(id);
            send_released(sender, time, train.segments, |mut segment, segments| {
                segment.hop = forward;
                counters.data_sent += segments;
                let has_next = line.next() < Time::NEVER;
                let behind = line.alike(time, segment.size).filter(|(_, _, most)| has_next && segments <= *most);
                for position in 0..segments {
                    let id = free.take().unwrap_or_else(|| packets.add().0);
                    packets[id] = segment;
                    segment.seq += u64::from(segment.payload);
                    if let Some((first, air, _)) = behind {
                        line.enqueue_arrival(first + air * position, id);
                    } else {
                        let departure = line.send(time, Time::ZERO, Time::ZERO, id, packets, &mut self.dropped);
                        is_noteworthy |= departure == Departure::Noteworthy;
                    }
                }
                if let (Some(_), Ok(count)) = (behind, u32::try_from(segments)) {
                    line.send_together(count, segment.size);
                }
            });
            if let Some(id) = free {
                packets.release(id);
            }
            connection.cwnd.set(time, sender.cwnd());
        }
        if count == 0 {
            return false;
        }
        counters.acks_arrived += count as u64;
        wire.let_arrive(count);
        self.events += count as u64;
        if self.timers.set(2 * index, sender.deadline()) {
            self.update_next_timer();
        }
        if is_noteworthy {
            self.update_link(answers);
        }
        true
    }

    /// Delivers segments of one connection that are next on a wired link, as far as they may be processed now; a timer
    /// of their receiver may expire between them. Returns false if none is.
    fn segments_arrive_by_wire(&mut self, link: usize, flow: u32) -> bool {
        let index = flow as usize;
        let connection = &mut self.connections[index];
        let (back, counters) = (connection.reverse, &mut connection.counters);
        let (Ends::Tcp { receiver, .. }, Hop::Wired(answers)) = (&mut connection.ends, self.hops[back as usize]) else {
            return false;
        };
        let answers = answers as usize;
        let Ok([wire, line]) = self.links.get_disjoint_mut([link, answers]) else { return false };
        if connection.sessions.is_some() || line.eager_arrival() != EagerArrival::Never || line.leads_to_ap() {
            return false;
        }
        let (packets, one_way) = (&mut self.packets, &mut self.flows[connection.flow as usize].one_way);
        let (mut is_noteworthy, mut count, mut first) = (false, 0, None);
        let own = self.timers.stop_next(2 * index + 1);
        let horizon = wire.eager_arrival().horizon(self.horizon, &self.timers);
        let is_taken = |packet: &Packet, time| (packet.flow, packet.kind) == (flow, Kind::Data) && time < horizon;
        loop {
            for &(time, id) in &wire.under_way()[count..] {
                let packet = &mut packets[id];
                // Of what is due at one instant timers come first.
                if !is_taken(packet, time) || time >= receiver.deadline() || first.is_some() {
                    break;
                }
                count += 1;
                let answer = receive(receiver, counters, one_way, time, Duration::ZERO, packet);
                if let Some(answer) = answer {
                    first = (answer == Answer::First).then_some(time);
                    packet.hop = back;
                    is_noteworthy |= line.send(time, Time::ZERO, Time::ZERO, id, packets, &mut self.dropped)
                        == Departure::Noteworthy;
                } else {
                    packets.release(id);
                }
            }
            let due = receiver.deadline();
            let next = wire.under_way().get(count).filter(|(time, id)| due < *time && is_taken(&packets[*id], *time));
            if next.is_none() || first.is_some() {
                break;
            }
            receiver.on_timer(due);
            self.events += 1;
            if receiver.is_due() {
                let (id, packet) = packets.add();
                counters.acks_sent += 1;
                first = receiver.write(due, packet).then_some(due);
                packet.hop = back;
                is_noteworthy |=
                    line.send(due, Time::ZERO, Time::ZERO, id, packets, &mut self.dropped) == Departure::Noteworthy;
            }
        }
        let is_earlier = receiver.has_timer() && self.timers.set(2 * index + 1, receiver.deadline());
        if is_earlier || own.is_some() {
            self.next_events.set(TIMERS, self.timers.next());
        }
        if count == 0 && first.is_none() {
            return false;
        }
        wire.let_arrive(count);
        self.events += count as u64;
        if is_noteworthy {
            self.update_link(answers);
        }
        if let Some(time) = first {
            let now = std::mem::replace(&mut self.now, time);
            self.acknowledge(index);
            self.now = now;
        }
        true
    }
}

/// The paths used by a flow, each with the opposite one; the forward path first.
fn paths_of<'a>(hops: &'a [Hop], flow: &Flow) -> impl Iterator<Item = [&'a [Hop]; 2]> {
    let (forward, reverse) = (path_from(hops, flow.forward), path_from(hops, flow.reverse));
    let count = if is_one_way(flow) { 1 } else { 2 };
    [[forward, reverse], [reverse, forward]].into_iter().take(count)
}

/// Whether nothing ever uses the reverse path of a flow.
fn is_one_way(flow: &Flow) -> bool {
    matches!(flow.transport, TransportPlan::Udp { .. }) && flow.workload != WorkloadPlan::Outside
}
