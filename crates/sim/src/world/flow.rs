//! Flows, their connections, and the sessions carried by connections.

use std::collections::VecDeque;

use wifair_engine::{Stream, stream};
use wifair_metrics::Jitter;
use wifair_packet::{FlowLabel, Kind, Packet, PacketId, flag};
use wifair_tcp::{Receiver, Sender};
use wifair_units::{Bytes, Count, Duration, Time};

use crate::traffic::Schedule;

use super::measure::{Delays, FlowCounters, TimeMean};
use super::plan::{TransportPlan, WorkloadPlan};
use super::sessions::{SessionLog, SessionProgress};
use super::users::Users;
use super::{AppTask, World};

/// One flow of the scenario, and the connections that carry its data one after the other or side by side.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) name: String,
    pub(super) forward: u32,
    pub(super) reverse: u32,
    pub(super) transport: TransportPlan,
    pub(super) workload: WorkloadPlan,
    /// Index of its packets' access category.
    pub(super) label: FlowLabel,
    pub(super) category: usize,
    /// Its connections; a closed connection is kept as long as its packets may still be in the network. The first one
    /// is opened at the start of the flow.
    pub(super) connections: VecDeque<u32>,
    /// Counters of connections whose number has been reused.
    pub(super) retired: FlowCounters,
    pub(super) at_warm_up: FlowCounters,
    /// Round-trip times measured by its senders.
    pub(super) rtt: Delays,
    /// One-way delay from the sender's network layer to the receiver's; a retransmission counts from its own sending.
    pub(super) one_way: Delays,
    /// Jitter of the datagrams of a UDP flow.
    pub(super) jitter: Jitter,
    /// Sessions not yet due.
    pub(super) waiting: Schedule,
    /// Finished sessions that no connection holds any more.
    pub(super) log: SessionLog,
    pub(super) users: Option<Box<Users>>,
    /// The channel and station of its source, if no other packets use that queue and nobody observes the packets.
    pub(super) saturates: Option<(usize, u32)>,
    /// Whether its bursty source is pausing.
    pub(super) silent: bool,
    pub(super) stopped: bool,
    /// When its application starts and stops.
    pub(super) start: Time,
    pub(super) stop: Time,
}

/// A sender, a receiver, and the sessions that they carry.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) flow: u32,
    /// Index of its packets' access category.
    pub(super) category: usize,
    pub(super) forward: u32,
    pub(super) reverse: u32,
    pub(super) ends: Ends,
    pub(super) counters: FlowCounters,
    pub(super) cwnd: TimeMean,
    pub(super) sessions: Option<Box<SessionProgress>>,
    /// Whether the connection is closed when its transfer is done.
    pub(super) single: bool,
    /// The user of a web flow who waits for its data.
    pub(super) user: Option<u32>,
    pub(super) ended: bool,
}

/// The two ends of a connection.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub(super) enum Ends {
    Tcp {
        sender: Sender,
        receiver: Receiver,
    },
    Udp {
        draws: Stream,
        sent: u64,
    },
    Ping {
        sent: u64,
    },
    /// Real programs, outside the simulation.
    Real,
}

/// Minimum time from the end of a connection, when all its packets are gone, until its number is reused: twice the
/// maximum segment lifetime as implemented in stacks (RFC 9293, section 3.6.1, has 4 minutes).
const TIME_WAIT: Duration = Duration::from_secs(60);

/// Sessions that a connection holds before finished ones are moved to the log of its flow.
const MOST_ON_CONNECTION: usize = 1000;

/// Memory of a connection, with its timers and its ends' records of segments in flight [B]; used by estimates.
pub const CONNECTION_BYTES: usize = size_of::<Connection>() + size_of::<SessionProgress>() + 400;
/// How long a connection is kept after its end.
pub const CONNECTION_KEPT: Duration = TIME_WAIT;

/// Headers of IPv4 and ICMP (RFC 791, RFC 792), in bytes.
const ECHO_HEADERS: u16 = 28;

impl World {
    /// Adds a connection to a flow, under a free number.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn add_connection(&mut self, flow: usize) -> usize {
        let free = self.ended.front().is_some_and(|(ended, _)| self.now - *ended >= TIME_WAIT);
        let number = if free {
            let (_, number) = self.ended.pop_front().expect("there is a free number");
            self.retire(number as usize);
            number
        } else {
            self.timers.add();
            self.timers.add();
            self.connections.len() as u32
        };
        let owner = &mut self.flows[flow];
        owner.connections.push_back(number);
        let connection = Connection {
            flow: flow as u32,
            category: owner.category,
            forward: owner.forward,
            reverse: owner.reverse,
            ends: match &owner.transport {
                _ if owner.workload == WorkloadPlan::Outside => Ends::Real,
                TransportPlan::Tcp { sender, receiver } => {
                    let mut sender = Sender::new(sender, number);
                    if !self.short_paths {
                        sender.disable_fast_path();
                    }
                    Ends::Tcp { sender, receiver: Receiver::new(receiver, number) }
                }
                TransportPlan::Udp { .. } => Ends::Udp { draws: stream(self.seed, "udp", &owner.name), sent: 0 },
                TransportPlan::Ping { .. } => Ends::Ping { sent: 0 },
            },
            counters: FlowCounters::default(),
            cwnd: TimeMean::starting(self.now),
            sessions: None,
            single: false,
            user: None,
            ended: false,
        };
        self.packets.set_label(number, owner.label);
        let index = number as usize;
        if free {
            self.connections[index] = connection;
        } else {
            self.connections.push(connection);
        }
        self.introduce(flow, number);
        index
    }

    /// Adds the counters of a connection to its flow and frees its number.
    fn retire(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        refresh(connection);
        let flow = &mut self.flows[connection.flow as usize];
        flow.retired = flow.retired.plus(&connection.counters);
        // Connections end roughly in the order in which they began, so the search is short.
        if let Some(place) = flow.connections.iter().position(|number| *number as usize == index) {
            flow.connections.remove(place);
        }
        let owner = connection.flow as usize;
        if let Some(sessions) = connection.sessions.take() {
            flow.log.extend(sessions.due);
            self.tally_sessions(owner);
        }
    }

    /// Moves finished sessions to the flow's log, which bounds memory.
    fn tally_sessions(&mut self, flow: usize) {
        let Flow { log, connections, .. } = &mut self.flows[flow];
        if !log.is_full() {
            return;
        }
        let live = connections.iter().filter_map(|number| self.connections[*number as usize].sessions.as_ref());
        let starts = live.filter_map(|sessions| sessions.due.front()).map(|session| session.start);
        let oldest = starts.min().unwrap_or(Time::NEVER);
        log.tally_older(oldest, self.warm_up, connections.len());
    }

    /// Handles a packet that has reached the other end of its connection.
    #[inline]
    pub(super) fn arrive(&mut self, id: PacketId) {
        match self.packets[id].kind {
            Kind::Data => self.take_segment(id),
            Kind::Ack => self.take_ack(id),
            Kind::Icmp => self.return_echo(id),
            Kind::Udp | Kind::Routing => self.take_datagram(id),
        }
    }

    /// Handles a segment that has reached the receiver. Its ACK, if any, reuses its slot in the arena.
    #[inline(never)]
    pub(super) fn take_segment(&mut self, id: PacketId) {
        let packet = &mut self.packets[id];
        let index = packet.flow as usize;
        let connection = &mut self.connections[index];
        let Ends::Tcp { receiver, .. } = &mut connection.ends else { return self.take_real(id) };
        let one_way = &mut self.flows[connection.flow as usize].one_way;
        let answer = receive(receiver, &mut connection.counters, one_way, self.now, self.lead, packet);
        let hop = connection.reverse;
        packet.hop = hop;
        if answer.is_none() {
            self.packets.release(id);
        }
        if answer == Some(Answer::First) || connection.sessions.is_some() {
            return self.end_segment(answer.map(|_| id), index);
        }
        if receiver.has_timer() {
            let deadline = receiver.deadline();
            self.set_timer(2 * index + 1, deadline);
        }
        if answer.is_some() {
            self.launch(id, hop);
        }
    }

    /// Finishes the handling of a segment at the receiver: sends the ACK already written, if any, and further ACKs that
    /// are due, and updates sessions.
    #[inline(never)]
    pub(super) fn end_segment(&mut self, ack: Option<PacketId>, index: usize) {
        let connection = &mut self.connections[index];
        let (flow, hop) = (connection.flow as usize, connection.reverse);
        let user = connection.follow_receiver(self.now);
        if let Some(id) = ack {
            self.launch(id, hop);
        }
        self.acknowledge(index);
        if let Some(user) = user {
            self.object_arrived(flow, user);
        }
    }

    /// Handles an ACK that has reached the sender. The segment that it releases, if any, reuses its slot in the arena.
    #[inline(never)]
    pub(super) fn take_ack(&mut self, id: PacketId) {
        let packet = &mut self.packets[id];
        let index = packet.flow as usize;
        let connection = &mut self.connections[index];
        let Ends::Tcp { sender, .. } = &mut connection.ends else { return self.take_real(id) };
        connection.counters.acks_arrived += 1;
        sender.on_packet(self.now, packet);
        if let Some(rtt) = sender.rtt_sample() {
            self.flows[connection.flow as usize].rtt.add(rtt);
        }
        if !sender.is_running() {
            self.packets.release(id);
            return self.pump(index);
        }
        let hop = connection.forward;
        connection.counters.data_sent += 1;
        sender.write(self.now, packet);
        packet.hop = hop;
        packet.set_sent_at(self.now);
        let rests = sender.is_held();
        if rests {
            let deadline = connection.rest(self.now);
            self.set_timer(2 * index, deadline);
        }
        self.launch(id, hop);
        if !rests {
            self.pump(index);
        }
    }

    /// Handles an echo request that has reached the other end, or a reply that has returned.
    #[inline(never)]
    fn take_ping(&mut self, id: PacketId) {
        let packet = &mut self.packets[id];
        let connection = &mut self.connections[packet.flow as usize];
        let flow = &mut self.flows[connection.flow as usize];
        let taken = self.now - packet.sent_at();
        if packet.has(flag::ACK) {
            connection.counters.acks_arrived += 1;
            flow.rtt.add(taken);
            self.packets.release(id);
            return;
        }
        connection.counters.arrive(packet.payload);
        connection.counters.acks_sent += 1;
        flow.record_delay(taken);
        packet.flags |= flag::ACK;
        let hop = connection.reverse;
        packet.hop = hop;
        self.launch(id, hop);
    }

    /// Sends an echo request and sets the timer for the next; the caller must reschedule the timers.
    pub(super) fn send_ping(&mut self, index: usize) {
        let now = self.now;
        let connection = &mut self.connections[index];
        let flow = &self.flows[connection.flow as usize];
        let (Ends::Ping { sent }, TransportPlan::Ping { payload, interval }) = (&mut connection.ends, &flow.transport)
        else {
            return;
        };
        if flow.stopped {
            return;
        }
        let mut packet = datagram(flow, index, *sent, *payload, *payload + ECHO_HEADERS);
        packet.set_sent_at(now);
        *sent += u64::from((*payload).max(1));
        connection.counters.data_sent += 1;
        let next = now + *interval;
        let hop = packet.hop;
        let id = self.packets.insert(packet);
        self.launch(id, hop);
        self.timers.set(2 * index, next);
    }

    /// Handles a datagram that has reached the other end.
    #[inline(never)]
    fn take_datagram(&mut self, id: PacketId) {
        match self.connections[self.packets[id].flow as usize].ends {
            Ends::Ping { .. } => return self.take_ping(id),
            Ends::Real => return self.take_real(id),
            _ => self.packets.release(id),
        }
        let packet = &self.packets[id];
        let connection = &mut self.connections[packet.flow as usize];
        if let Ends::Udp { .. } = connection.ends {
            connection.counters.arrive(packet.payload);
            self.flows[connection.flow as usize].record_delay(self.now - self.lead - packet.sent_at());
        }
    }

    /// Sends what a sender may send now, and records its progress.
    #[inline(never)]
    pub(super) fn pump(&mut self, index: usize) {
        loop {
            let connection = &mut self.connections[index];
            let Ends::Tcp { sender, .. } = &mut connection.ends else { return };
            let hop = connection.forward;
            let id = if sender.is_running() {
                let (id, packet) = self.packets.add();
                sender.write(self.now, packet);
                packet.hop = hop;
                packet.set_sent_at(self.now);
                id
            } else if let Some(mut packet) = sender.poll(self.now) {
                packet.set_sent_at(self.now);
                self.packets.insert(Packet { hop, ..packet })
            } else {
                break;
            };
            connection.counters.data_sent += 1;
            self.launch(id, hop);
        }
        let connection = &mut self.connections[index];
        let deadline = connection.rest(self.now);
        let is_over = connection.single && connection.is_over(deadline);
        self.set_timer(2 * index, deadline);
        if is_over {
            self.end_connection(index);
        }
    }

    /// Ends a connection that has carried its transfer.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn end_connection(&mut self, index: usize) {
        self.connections[index].ended = true;
        self.ended.push_back((self.now, index as u32));
    }

    /// Sends the ACKs that a receiver must send now.
    #[inline(never)]
    pub(super) fn acknowledge(&mut self, index: usize) {
        loop {
            let connection = &mut self.connections[index];
            let Ends::Tcp { receiver, .. } = &mut connection.ends else { return };
            let Some(packet) = receiver.poll(self.now) else {
                let deadline = receiver.deadline();
                return self.set_timer(2 * index + 1, deadline);
            };
            let hop = connection.reverse;
            connection.counters.acks_sent += 1;
            let id = self.packets.insert(Packet { hop, ..packet });
            self.launch(id, hop);
        }
    }

    /// Sends a datagram and sets the timer for the next; the caller must reschedule the timers.
    pub(super) fn send_datagram(&mut self, index: usize) {
        let now = self.now;
        let connection = &mut self.connections[index];
        let flow = &self.flows[connection.flow as usize];
        let (Ends::Udp { draws, sent }, TransportPlan::Udp { payload, size, interval, jitter }) =
            (&mut connection.ends, &flow.transport)
        else {
            return;
        };
        if flow.stopped || (flow.users.is_some() && flow.silent) {
            return;
        }
        let mut packet = datagram(flow, index, *sent, *payload, *size);
        packet.set_sent_at(now);
        *sent += u64::from(*payload);
        connection.counters.data_sent += 1;
        let wait = draws.jittered(*interval, *jitter);
        let hop = packet.hop;
        let id = self.packets.insert(packet);
        self.launch(id, hop);
        if !self.leave_to_saturated_source(index, now + wait) {
            self.timers.set(2 * index, now + wait);
        }
    }

    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn start(&mut self, flow: usize) {
        match &self.flows[flow].workload {
            WorkloadPlan::Web(_) => return self.on_user_arrival(flow),
            WorkloadPlan::Bursts(_) => return self.turn(flow),
            _ => {}
        }
        if let Some(&own) = self.flows[flow].connections.front() {
            let index = own as usize;
            match &mut self.connections[index].ends {
                Ends::Udp { .. } => {
                    self.send_datagram(index);
                    self.update_next_timer();
                }
                Ends::Ping { .. } => {
                    self.send_ping(index);
                    self.update_next_timer();
                }
                Ends::Real => {}
                Ends::Tcp { sender, .. } => {
                    sender.open(self.now);
                    if self.flows[flow].workload == WorkloadPlan::Endless {
                        sender.supply(u64::MAX);
                    }
                    self.pump(index);
                }
            }
        }
        self.enter_session(flow);
    }

    /// Stops the application of a flow: data already passed down is still carried.
    pub(super) fn stop(&mut self, flow: usize) {
        self.flows[flow].stopped = true;
        self.detach_source_of(flow);
        if self.flows[flow].workload == WorkloadPlan::Endless
            && let Some(&own) = self.flows[flow].connections.front()
            && let Ends::Tcp { sender, .. } = &mut self.connections[own as usize].ends
        {
            sender.discard_unsent();
        }
    }

    /// Schedules the next session of a flow.
    #[allow(clippy::cast_possible_truncation)]
    fn enter_session(&mut self, flow: usize) {
        if let Some((start, _)) = self.flows[flow].waiting.peek() {
            self.enter(start.max(self.now), AppTask::Session(flow as u32));
        }
    }

    /// Starts a session that is due: on the flow's connection its bytes queue behind those of earlier sessions.
    pub(super) fn session(&mut self, flow: usize) {
        let Some((start, Bytes(length))) = self.flows[flow].waiting.next() else { return };
        self.enter_session(flow);
        if self.flows[flow].stopped {
            return;
        }
        if self.flows[flow].workload.opens_fresh_connections() {
            self.open_for(flow, start, length, None);
            return;
        }
        let index = self.flows[flow].connections[0] as usize;
        let last = matches!(self.flows[flow].workload, WorkloadPlan::Transfer(_));
        let connection = &mut self.connections[index];
        let Ends::Tcp { sender, .. } = &mut connection.ends else { return };
        let sessions = connection.sessions.get_or_insert_default();
        sessions.begin(start, length);
        if sessions.due.len() >= MOST_ON_CONNECTION {
            self.flows[flow].log.extend(sessions.take_finished());
        }
        sender.supply(length);
        if last {
            sender.close();
        }
        self.tally_sessions(flow);
        self.pump(index);
    }

    /// Opens a connection for one session; `user` waits for it, if given.
    pub(super) fn open_for(&mut self, flow: usize, start: Time, length: u64, user: Option<u32>) {
        let index = self.add_connection(flow);
        let connection = &mut self.connections[index];
        connection.single = true;
        connection.user = user;
        let Ends::Tcp { sender, .. } = &mut connection.ends else { return };
        sender.open(self.now);
        connection.sessions.get_or_insert_default().begin(start, length);
        sender.supply(length);
        sender.close();
        self.pump(index);
    }
}

impl Flow {
    /// Records the one-way delays of datagrams that arrive together.
    #[inline]
    pub(super) fn record_delays(&mut self, delays: impl Iterator<Item = Duration> + Clone) {
        self.jitter.add_all(delays.clone());
        self.one_way.measured.add_all(delays);
    }

    /// Records the one-way delays of `count` datagrams, each shorter than the one before by `step`.
    #[inline]
    pub(super) fn record_falling_delays(&mut self, most: Duration, step: Duration, count: u64) {
        self.jitter.add_falling(most.as_nanos().cast_signed(), step.as_nanos().cast_signed(), count);
        let mut next = most.as_nanos();
        let delays = (0..count).map(|_| {
            let delay = Duration::from_nanos(next);
            next = next.wrapping_sub(step.as_nanos());
            delay
        });
        self.one_way.measured.add_all(delays);
    }

    /// Records the one-way delay of a datagram.
    #[inline]
    pub(super) fn record_delay(&mut self, delay: Duration) {
        self.jitter.add(delay.as_nanos().cast_signed());
        self.one_way.add(delay);
    }
}

impl Connection {
    /// Records the progress of a sender that has sent all it may. Returns when its timer is due.
    #[inline(always)]
    fn rest(&mut self, now: Time) -> Time {
        let Ends::Tcp { sender, .. } = &self.ends else { return Time::NEVER };
        self.cwnd.set(now, sender.cwnd());
        if let Some(sessions) = &mut self.sessions {
            sessions.follow_sender(now, sender.sent(), sender.una());
        }
        sender.deadline()
    }

    /// Whether the connection has carried its transfer, and this is the first time that it is noticed.
    fn is_over(&self, deadline: Time) -> bool {
        let Ends::Tcp { sender, .. } = &self.ends else { return false };
        !self.ended && sender.una() == sender.supplied() && deadline == Time::NEVER
    }

    /// Records the progress of the receiver. Returns the user who was waiting for data that is now complete.
    fn follow_receiver(&mut self, now: Time) -> Option<u32> {
        let (Some(sessions), Ends::Tcp { receiver, .. }) = (&mut self.sessions, &self.ends) else { return None };
        if sessions.follow_receiver(now, receiver.delivered()) { self.user } else { None }
    }
}

/// What a receiver sends when a segment has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// An ACK.
    Only,
    /// An ACK, and others behind it.
    First,
}

/// Hands a segment that arrives at `now` to its receiver, and replaces it by the ACK that is due, if any. It was
/// received `lead` before it was passed up; there its one-way delay ends.
#[inline(always)]
pub(super) fn receive(
    receiver: &mut Receiver,
    counters: &mut FlowCounters,
    one_way: &mut Delays,
    now: Time,
    lead: Duration,
    packet: &mut Packet,
) -> Option<Answer> {
    counters.arrive(packet.payload);
    one_way.add(now - lead - packet.sent_at());
    receiver.on_packet(now, packet);
    if !receiver.is_due() {
        return None;
    }
    counters.acks_sent += 1;
    Some(if receiver.write(now, packet) { Answer::First } else { Answer::Only })
}

/// The datagram of a flow at offset `sent`, on connection number `index`.
#[inline]
#[allow(clippy::cast_possible_truncation)]
pub(super) fn datagram(flow: &Flow, index: usize, sent: u64, payload: u16, size: u16) -> Packet {
    Packet { seq: sent, flow: index as u32, hop: flow.forward, payload, size, kind: Kind::Udp, ..Packet::default() }
}

/// Updates the counters of a connection that its ends keep, or that follow from other counters.
pub(super) fn refresh(connection: &mut Connection) {
    let counters = &mut connection.counters;
    match &connection.ends {
        Ends::Tcp { sender, receiver } => {
            counters.retransmissions = sender.counts().retransmissions;
            counters.timeouts = sender.counts().timeouts;
            counters.received = receiver.delivered();
            counters.early = receiver.early();
        }
        Ends::Udp { .. } | Ends::Ping { .. } | Ends::Real => counters.received = counters.payload_arrived,
    }
}
