//! A medium in space: who hears whom is a matter of links.
//!
//! Every station has a carrier sense, a NAV and a backoff of its own. A frame touches the stations that hear it, when
//! it begins and when it ends, and no others; a backoff is a time of expiry that is dropped when the station senses
//! a frame and set again when it falls silent, so idle slots cost nothing. Hidden and exposed stations follow from
//! the links.
//!
//! Modelled beside what a [`super::Cell`] models: RTS, CTS, data and ACK as frames of their own, the NAV that each of
//! them sets where it is read (10.3.2.4) and its reset when an RTS is followed by nothing, EIFS after a frame that was
//! not read, an RTS that is not answered because of the NAV, answers SIFS after the frame that asks for them, whatever
//! the medium does meanwhile. Where everybody hears everybody without errors, a `Space` does exactly what a `Cell` does, draw
//! by draw. Departures from the standard:
//!
//! - Propagation takes no time, and a station senses a frame from its first instant. Frames that begin at the same
//!   instant do not see each other.
//! - A sender without answer draws its new backoff, and takes the next packet if it gives up, when it senses the medium idle
//!   after the frame, not at its timeout. The backoff counts from the timeout on, or from a later interval.
//! - Retry counts belong to the frame, and a CTS clears the short one, as in a `Cell`.
//! - A station that is awaiting an answer does not answer others.
//! - A given probability of frame errors strikes the receiver; all others read the frame.

mod calendar;
mod ear;
mod links;

use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};

use self::calendar::{Act, Calendar};
use self::ear::{Ear, NOTHING, Waits};
pub use self::links::{Hearing, Links};
use super::station::{Contention, Errors, Frame};
use super::{Access, AirTime, BROADCAST, Counters, Eifs, Heard, IdleAccess, StationSettings};
use crate::queue::{Discipline, Dropped, Gauge, Queue};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Rts,
    Cts,
    Data,
    Ack,
}

/// Where a station stands in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// In none: it contends, or has nothing to send.
    Rest,
    /// Its frame is on the air.
    Sends,
    /// It sends a frame of this kind SIFS after the last.
    Due(Kind),
    /// An answer to its frame is on the way, or due.
    Awaits,
    /// It got no answer; `met`: because of another frame.
    Failed { met: bool },
    /// Its broadcast has ended.
    Sent,
}

/// What a station sends, or sent last.
#[derive(Clone, Copy, Debug)]
struct Sending {
    kind: Kind,
    to: u32,
    end: Time,
    /// Until when it reserves the medium.
    nav: Time,
    /// Stations that may still read it, if it is a broadcast.
    readers: u32,
    /// Its receiver cannot read it because of another frame.
    met: bool,
    /// Time in which no other frame was on the air.
    alone: Duration,
}

#[derive(Clone, Debug)]
struct Station {
    frame: Option<Frame>,
    stage: Stage,
    /// Whom its next answer, or its data after a CTS, is for.
    peer: u32,
    contention: Contention,
    rate: BitRate,
    routing_overhead: Bytes,
    /// Its place in the list of hubs, if it is one.
    hub: Option<usize>,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct Space {
    access: Access,
    waits: Waits,
    links: Links,
    ears: Vec<Ear>,
    calendar: Calendar,
    sendings: Vec<Sending>,
    stations: Vec<Station>,
    queues: Vec<Queue>,
    errors: Vec<Errors>,
    counters: Vec<Counters>,
    gauges: Vec<Gauge>,
    /// Who received the broadcast that was heard last.
    receivers: Vec<u32>,
    /// Who begins to send at this instant.
    starters: Vec<u32>,
    /// Whose exchange is over at this instant.
    finished: Vec<u32>,
    next: Time,
    traffic: Traffic,
    rts: Duration,
    cts: Duration,
    ack: Duration,
    /// From the end of an RTS until its NAV may be forgotten (10.3.2.4).
    nav_reset: Duration,
}

/// Frames on the air, and what they add up to.
#[derive(Clone, Debug, Default)]
struct Traffic {
    frames: u32,
    /// Sum of the numbers of their senders: the sender, if there is one frame.
    sum: u64,
    /// Frames that met another.
    met: u32,
    air: AirTime,
    /// [`AirTime`] is accounted up to here, except for the time in which a frame on the air was alone.
    accounted: Time,
}

impl Traffic {
    /// Books the time until `now`.
    #[inline]
    fn account(&mut self, now: Time, sendings: &mut [Sending]) {
        let passed = now - self.accounted;
        self.accounted = now;
        match self.frames {
            0 => self.air.idle += passed,
            1 => {
                let sender = usize::try_from(self.sum).expect("the number of a station");
                sendings[sender].alone += passed;
            }
            _ if self.met > 0 => self.air.collision += passed,
            _ => self.air.reuse += passed,
        }
    }

    /// Books the time in which a frame was alone; `read`: its receiver could read it.
    fn settle(&mut self, sending: &Sending, read: bool) {
        let air = match sending.kind {
            _ if sending.met => &mut self.air.collision,
            Kind::Rts | Kind::Cts => &mut self.air.rts_cts,
            Kind::Ack => &mut self.air.ack,
            Kind::Data if read => &mut self.air.data,
            Kind::Data => &mut self.air.error,
        };
        *air += sending.alone;
    }
}

/// What a call gets from the world and gives back.
struct Call<'a, R> {
    now: Time,
    packets: &'a mut Packets,
    dropped: &'a mut Dropped,
    receiver: &'a R,
}

impl Space {
    /// A medium of these stations and links. `hubs` are the access points: a frame from one of them goes at the rate of
    /// its receiver.
    ///
    /// # Panics
    /// If the links are not those of as many stations.
    #[must_use]
    pub fn new(access: Access, hubs: &[u32], links: Links, stations: Vec<StationSettings>) -> Self {
        assert_eq!(links.stations(), stations.len(), "there are links for every station");
        let timing = access.timing;
        let eifs = if access.eifs == Eifs::Off { timing.difs } else { timing.eifs() };
        let waits = Waits::new(timing.slot, timing.difs, eifs, timing.preamble);
        let nothing_sent = Sending {
            kind: Kind::Ack,
            to: BROADCAST,
            end: Time::ZERO,
            nav: Time::ZERO,
            readers: 0,
            met: false,
            alone: Duration::ZERO,
        };
        let mut space = Self {
            waits,
            ears: vec![Ear::new(&waits); stations.len()],
            calendar: Calendar::new(stations.len()),
            sendings: vec![nothing_sent; stations.len()],
            counters: vec![Counters::default(); stations.len()],
            gauges: vec![Gauge::default(); hubs.len()],
            links,
            stations: vec![],
            queues: vec![],
            errors: vec![],
            receivers: vec![],
            starters: vec![],
            finished: vec![],
            next: Time::NEVER,
            traffic: Traffic::default(),
            rts: timing.rts(),
            cts: timing.cts(),
            ack: timing.ack(),
            nav_reset: timing.sifs * 2 + timing.cts() + timing.preamble + timing.slot * 2,
            access,
        };
        for (number, station) in (0..).zip(stations) {
            space.errors.push(Errors::new(&station));
            space.stations.push(Station {
                frame: None,
                stage: Stage::Rest,
                peer: BROADCAST,
                contention: Contention::new(&station),
                rate: station.rate,
                routing_overhead: station.routing_overhead,
                hub: hubs.iter().position(|hub| *hub == number),
            });
            space.queues.push(station.queue);
        }
        space
    }

    /// When [`Space::advance`] is to be called next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Who received the broadcast that [`Space::advance`] reported last, in the order of their numbers.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// The queue of a station.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        &self.queues[station as usize]
    }

    /// What a station did.
    #[must_use]
    pub fn counters(&self, station: u32) -> &Counters {
        &self.counters[station as usize]
    }

    /// What every station did, in their order.
    #[must_use]
    pub fn all_counters(&self) -> &[Counters] {
        &self.counters
    }

    /// The lengths of the access points' queues over time, in the order in which they were given.
    #[must_use]
    pub fn hub_queues(&self) -> &[Gauge] {
        &self.gauges
    }

    /// The lengths of the access points' queues over time, in the order in which they were given.
    pub fn hub_queues_mut(&mut self) -> &mut [Gauge] {
        &mut self.gauges
    }

    /// Packets of a station that are neither in its queue nor anyone else's: the frame it is trying to send.
    #[must_use]
    pub fn in_hand(&self, station: u32) -> Option<PacketId> {
        self.stations[station as usize].frame.filter(|frame| !frame.received).map(|frame| frame.id)
    }

    /// What the air was used for until `now`. A frame under way counts as received, unless it has met another.
    #[must_use]
    pub fn air_time(&self, now: Time) -> AirTime {
        let mut traffic = self.traffic.clone();
        let mut sendings = self.sendings.clone();
        traffic.account(now, &mut sendings);
        for (sending, ear) in sendings.iter().zip(&self.ears) {
            if ear.sends {
                traffic.settle(sending, true);
            }
        }
        traffic.air
    }

    /// `station` gets a packet to send. `receiver` tells the station to which a packet goes next.
    #[inline]
    pub fn offer(
        &mut self,
        now: Time,
        station: u32,
        id: PacketId,
        packets: &mut Packets,
        dropped: &mut Dropped,
        receiver: impl Fn(&Packet) -> u32,
    ) {
        let to = receiver(&packets[id]);
        self.queues[station as usize].enqueue(now, id, to, packets, dropped);
        let mut call = Call { now, packets, dropped, receiver: &receiver };
        if self.stations[station as usize].frame.is_none() && self.load(station, &mut call) {
            self.request(now, station);
            self.next = self.calendar.next();
        } else if let Some(hub) = self.stations[station as usize].hub {
            self.read_gauge(now, station, hub);
        }
    }

    fn read_gauge(&mut self, now: Time, station: u32, hub: usize) {
        let queue = &self.queues[station as usize];
        self.gauges[hub].set(now, queue.len(), queue.is_full());
    }

    /// Takes the next packet of `station` out of its queue, if there is one.
    fn load<R: Fn(&Packet) -> u32>(&mut self, station: u32, call: &mut Call<R>) -> bool {
        let index = station as usize;
        let frame = self.queues[index].dequeue(call.now, call.packets, call.dropped).map(|id| {
            let packet = &call.packets[id];
            let to = (call.receiver)(packet);
            let length = self.access.timing.frame_length(packet.bytes() + self.stations[index].routing_overhead);
            let from_hub = self.stations[index].hub.is_some() && to != BROADCAST;
            let rate_of = if from_hub { to } else { station };
            let air = self.access.timing.frame(length, self.stations[rate_of as usize].rate);
            Frame { id, to, length, air, received: false }
        });
        self.stations[index].frame = frame;
        if let Some(hub) = self.stations[index].hub {
            self.read_gauge(call.now, station, hub);
        }
        frame.is_some()
    }

    /// A station that had nothing to send contends for the medium.
    fn request(&mut self, now: Time, station: u32) {
        let ear = &mut self.ears[station as usize];
        let contention = &mut self.stations[station as usize].contention;
        ear.contends = true;
        if ear.is_busy(now) {
            // 10.3.4.2: the medium is busy, so a backoff is due, unless one is pending already.
            if ear.left == 0 {
                ear.left = contention.draw();
            }
            if ear.sensed > 0 || ear.engaged {
                return;
            }
        } else {
            let passed = self.waits.slots(now.saturating_since(ear.from));
            if ear.left <= passed {
                match self.access.idle_access {
                    IdleAccess::Immediate => {
                        ear.from = ear.from.max(now);
                        ear.left = 0;
                        ear.immediate = true;
                    }
                    IdleAccess::Backoff => {
                        ear.from = ear.from.max(now + self.waits.difs);
                        ear.left = contention.draw();
                    }
                }
            }
        }
        self.calendar.set(station, ear.due(&self.waits), Act::Begin);
    }

    /// Goes on at the time of [`Space::next`], and says what was received.
    pub fn advance(
        &mut self,
        now: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        given_up: &mut Vec<(u32, PacketId)>,
        receiver: impl Fn(&Packet) -> u32,
    ) -> Heard {
        let mut call = Call { now, packets, dropped, receiver: &receiver };
        let mut heard = Heard::Nothing;
        while heard == Heard::Nothing {
            match self.calendar.take_end(now) {
                Some(sender) => heard = self.end(sender, given_up, &mut call),
                None => {
                    self.begin(now);
                    break;
                }
            }
        }
        self.next = self.calendar.next();
        heard
    }

    /// All who are due begin to send.
    fn begin(&mut self, now: Time) {
        let mut starters = std::mem::take(&mut self.starters);
        starters.clear();
        self.calendar.take(now, Act::Begin, &mut starters);
        if !starters.is_empty() {
            self.traffic.account(now, &mut self.sendings);
        }
        for &sender in &starters {
            let ear = &mut self.ears[sender as usize];
            if ear.receives != NOTHING {
                let lost = std::mem::replace(&mut ear.receives, NOTHING);
                if !ear.spoilt {
                    disturb(&mut self.sendings[lost as usize], sender, &mut self.traffic);
                }
            }
            ear.sends = true;
            ear.engaged = true;
            ear.garbled = false;
        }
        for &sender in &starters {
            self.send(now, sender);
        }
        for &sender in &starters {
            let sending = &self.sendings[sender as usize];
            let readable = match sending.to {
                BROADCAST => sending.readers > 0,
                to => self.ears[to as usize].receives == sender && !self.ears[to as usize].spoilt,
            };
            if !readable && self.traffic.frames > 1 && !sending.met {
                self.sendings[sender as usize].met = true;
                self.traffic.met += 1;
            }
        }
        self.starters = starters;
    }

    /// `sender` begins to send what it is going to.
    fn send(&mut self, now: Time, sender: u32) {
        let timing = &self.access.timing;
        let station = &mut self.stations[sender as usize];
        let due = std::mem::replace(&mut station.stage, Stage::Sends);
        let (kind, to) = match (due, &station.frame) {
            (Stage::Due(kind), _) => (kind, station.peer),
            (Stage::Rest, Some(frame)) => {
                let ear = &mut self.ears[sender as usize];
                ear.contends = false;
                ear.immediate = false;
                ear.left = 0;
                self.counters[sender as usize].attempts += 1;
                let protected = frame.to != BROADCAST && self.access.protects(frame.length);
                (if protected { Kind::Rts } else { Kind::Data }, frame.to)
            }
            _ => unreachable!("a station that begins to send has a frame to send"),
        };
        let (air, reserves) = match (kind, &station.frame) {
            (Kind::Rts, Some(frame)) => {
                (self.rts, timing.sifs + self.cts + timing.sifs + frame.air + timing.sifs + self.ack)
            }
            (Kind::Data, Some(frame)) if to == BROADCAST => (frame.air, Duration::ZERO),
            (Kind::Data, Some(frame)) => (frame.air, timing.sifs + self.ack),
            (Kind::Cts, _) => (self.cts, Duration::ZERO),
            (Kind::Ack, _) => (self.ack, Duration::ZERO),
            _ => unreachable!("a sender of data has a frame"),
        };
        let end = now + air;
        // A CTS announces what the RTS did.
        let nav = match kind {
            Kind::Cts => self.sendings[to as usize].nav,
            _ => end + self.access.round_nav(reserves),
        };
        self.sendings[sender as usize] = Sending { kind, to, end, nav, readers: 0, met: false, alone: Duration::ZERO };
        self.calendar.set(sender, end, Act::End);
        self.traffic.frames += 1;
        self.traffic.sum += u64::from(sender);
        self.reach(now, sender, end);
    }

    /// A frame of `sender` reaches those who hear it.
    #[inline]
    fn reach(&mut self, now: Time, sender: u32, end: Time) {
        let after_collision = self.access.eifs == Eifs::AfterCollision;
        let mut readers = 0;
        for link in self.links.of(sender) {
            let index = link.to as usize;
            let ear = &mut self.ears[index];
            ear.sensed += 1;
            if ear.sends {
                continue;
            }
            if ear.sensed > 1 {
                if ear.contends && !ear.engaged {
                    self.calendar.postpone(link.to, end);
                }
                if ear.receives != NOTHING {
                    let other = ear.receives;
                    let was_read = !std::mem::replace(&mut ear.spoilt, true);
                    if ear.since == now && !after_collision {
                        ear.receives = NOTHING; // neither of two headers is read
                    }
                    if was_read {
                        disturb(&mut self.sendings[other as usize], link.to, &mut self.traffic);
                    }
                }
                continue;
            }
            if link.reads || after_collision {
                ear.receives = sender;
                ear.spoilt = !link.reads;
                ear.since = now;
                readers += u32::from(link.reads);
            }
            if ear.nav_check < Time::NEVER {
                ear.confirm_nav(now, &self.waits);
            }
            if !ear.engaged {
                if ear.fall_busy(now, &self.waits) {
                    ear.left = self.stations[index].contention.draw();
                }
                if ear.contends {
                    self.calendar.postpone(link.to, end);
                }
            }
        }
        self.sendings[sender as usize].readers = readers;
    }

    /// The frame of `sender` ends.
    fn end<R: Fn(&Packet) -> u32>(
        &mut self,
        sender: u32,
        given_up: &mut Vec<(u32, PacketId)>,
        call: &mut Call<R>,
    ) -> Heard {
        let now = call.now;
        self.traffic.account(now, &mut self.sendings);
        self.traffic.frames -= 1;
        self.traffic.sum -= u64::from(sender);
        let sending = self.sendings[sender as usize];
        self.traffic.met -= u32::from(sending.met);
        self.ears[sender as usize].sends = false;
        self.finished.clear();
        let (reached, mut read) = self.fade(now, sender, &sending);
        if sending.to == BROADCAST {
            read = !self.receivers.is_empty();
        } else if read {
            read = !self.is_lost(sender, &sending);
            self.ears[sending.to as usize].garbled = !read;
        }
        self.traffic.settle(&sending, read);
        let heard = match sending.kind {
            Kind::Rts => self.end_of_rts(now, sender, &sending, read, given_up, call),
            Kind::Cts | Kind::Ack => self.end_of_answer(now, sender, &sending, read, call),
            Kind::Data => self.end_of_data(now, sender, &sending, read, given_up, call),
        };
        if sending.to != BROADCAST && (reached || self.ears[sending.to as usize].waits) {
            self.go_on(now, sending.to);
        }
        if !self.finished.is_empty() {
            let mut finished = std::mem::take(&mut self.finished);
            finished.sort_unstable();
            for &station in &finished {
                self.conclude(station, given_up, call);
            }
            self.finished = finished;
        }
        heard
    }

    /// The frame of `sender` is over for all who hear it, except that its receiver (if it has one) does not go on yet.
    /// Whether that heard and could read it.
    #[inline]
    fn fade(&mut self, now: Time, sender: u32, sending: &Sending) -> (bool, bool) {
        let (mut reached, mut read) = (false, false);
        let is_broadcast = sending.to == BROADCAST;
        if is_broadcast {
            self.receivers.clear();
        }
        let may_reset = sending.kind == Kind::Rts && self.access.nav_reset;
        let check = if may_reset { now + self.nav_reset } else { Time::NEVER };
        for link in self.links.of(sender) {
            let ear = &mut self.ears[link.to as usize];
            ear.sensed -= 1;
            if ear.receives == sender {
                ear.receives = NOTHING;
                ear.garbled = ear.spoilt;
                if !ear.spoilt {
                    if sending.to == link.to {
                        read = true;
                    } else if is_broadcast {
                        let from = self.errors[sender as usize].data_from;
                        if self.errors[link.to as usize].loses_data(from) {
                            ear.garbled = true;
                        } else {
                            self.receivers.push(link.to);
                        }
                    } else {
                        ear.set_nav(sending.nav, check);
                    }
                }
            }
            if sending.to == link.to {
                reached = true;
            } else if ear.sensed == 0 {
                if !ear.engaged {
                    ear.fall_idle(now, &self.waits);
                    if ear.contends {
                        self.calendar.set(link.to, ear.due(&self.waits), Act::Begin);
                    }
                } else if ear.waits {
                    self.finished.push(link.to);
                }
            }
        }
        (reached, read)
    }

    /// Whether a frame that its receiver could read is lost to a given error probability.
    fn is_lost(&mut self, sender: u32, sending: &Sending) -> bool {
        let from = self.errors[sender as usize].data_from;
        let errors = &mut self.errors[sending.to as usize];
        if sending.kind == Kind::Data { errors.loses_data(from) } else { errors.loses_control() }
    }

    fn end_of_rts<R: Fn(&Packet) -> u32>(
        &mut self,
        now: Time,
        sender: u32,
        sending: &Sending,
        read: bool,
        given_up: &mut Vec<(u32, PacketId)>,
        call: &mut Call<R>,
    ) -> Heard {
        // 10.3.2.9: no CTS while the NAV says that the medium is busy.
        let answers = read && now >= self.ears[sending.to as usize].nav_until();
        self.answer(now, sender, sending, answers.then_some(Kind::Cts), given_up, call);
        Heard::Nothing
    }

    fn end_of_data<R: Fn(&Packet) -> u32>(
        &mut self,
        now: Time,
        sender: u32,
        sending: &Sending,
        read: bool,
        given_up: &mut Vec<(u32, PacketId)>,
        call: &mut Call<R>,
    ) -> Heard {
        let frame = self.stations[sender as usize].frame.as_mut().expect("a sender of data has a frame");
        let is_new = read && !frame.received;
        frame.received |= read;
        let (id, air) = (frame.id, frame.air);
        let protected = sending.to != BROADCAST && self.access.protects(frame.length);
        let counters = &mut self.counters[sender as usize];
        if protected {
            counters.control += self.rts + self.cts;
        }
        if !sending.met {
            counters.data += air;
        }
        if sending.to == BROADCAST {
            self.stations[sender as usize].stage = Stage::Sent;
            self.ears[sender as usize].waits = true;
            self.go_on(now, sender);
            return if is_new { Heard::Broadcast { from: sender, id } } else { Heard::Nothing };
        }
        self.answer(now, sender, sending, read.then_some(Kind::Ack), given_up, call);
        if is_new { Heard::Packet { to: sending.to, id } } else { Heard::Nothing }
    }

    /// The receiver of a frame answers it, or not, and the sender waits for that.
    fn answer<R: Fn(&Packet) -> u32>(
        &mut self,
        now: Time,
        sender: u32,
        sending: &Sending,
        answer: Option<Kind>,
        given_up: &mut Vec<(u32, PacketId)>,
        call: &mut Call<R>,
    ) {
        let to = sending.to as usize;
        if answer.is_some() && self.ears[to].waits {
            self.conclude(sending.to, given_up, call);
        }
        if let Some(kind) = answer.filter(|_| !self.ears[to].engaged) {
            self.plan(now, sending.to, kind, sender);
            self.stations[sender as usize].stage = Stage::Awaits;
            return;
        }
        self.stations[sender as usize].stage = Stage::Failed { met: sending.met };
        self.ears[sender as usize].waits = true;
        self.go_on(now, sender);
    }

    /// `station` sends a frame to `peer` after SIFS.
    fn plan(&mut self, now: Time, station: u32, kind: Kind, peer: u32) {
        self.ears[station as usize].engaged = true;
        let state = &mut self.stations[station as usize];
        state.stage = Stage::Due(kind);
        state.peer = peer;
        self.calendar.set(station, now + self.access.timing.sifs, Act::Begin);
    }

    /// A frame that concerned `station` has ended: if the medium is idle, it takes up its backoff, or ends its exchange.
    fn go_on(&mut self, now: Time, station: u32) {
        let ear = &mut self.ears[station as usize];
        if ear.sensed > 0 {
            return;
        }
        if !ear.engaged {
            ear.fall_idle(now, &self.waits);
            if ear.contends {
                self.calendar.set(station, ear.due(&self.waits), Act::Begin);
            }
        } else if ear.waits {
            self.finished.push(station);
        }
    }

    /// A CTS or an ACK ends.
    fn end_of_answer<R: Fn(&Packet) -> u32>(
        &mut self,
        now: Time,
        sender: u32,
        sending: &Sending,
        read: bool,
        call: &mut Call<R>,
    ) -> Heard {
        self.stations[sender as usize].stage = Stage::Rest;
        self.ears[sender as usize].engaged = false;
        self.go_on(now, sender);
        let to = sending.to;
        if sending.kind == Kind::Ack {
            self.counters[to as usize].control += self.ack;
        }
        if !read {
            self.stations[to as usize].stage = Stage::Failed { met: sending.met };
            self.ears[to as usize].waits = true;
        } else if sending.kind == Kind::Cts {
            self.stations[to as usize].contention.clear();
            self.plan(now, to, Kind::Data, sender);
        } else {
            self.succeed(to, call);
        }
        Heard::Nothing
    }

    /// A frame is done: contention window and retries return to their start, a backoff follows whether there is
    /// another frame or not (10.3.4.3).
    fn succeed<R: Fn(&Packet) -> u32>(&mut self, station: u32, call: &mut Call<R>) {
        self.counters[station as usize].delivered += 1;
        let state = &mut self.stations[station as usize];
        state.stage = Stage::Rest;
        state.contention.reset();
        let left = state.contention.draw();
        let contends = self.load(station, call);
        let ear = &mut self.ears[station as usize];
        ear.left = left;
        ear.contends = contends;
        ear.engaged = false;
    }

    /// The medium is idle after an exchange of `station` that brought no answer, or none was due.
    fn conclude<R: Fn(&Packet) -> u32>(
        &mut self,
        station: u32,
        given_up: &mut Vec<(u32, PacketId)>,
        call: &mut Call<R>,
    ) {
        let index = station as usize;
        let sending = self.sendings[index];
        let frame = self.stations[index].frame.expect("a sender has a frame");
        self.ears[index].waits = false;
        let mut timeout = Time::ZERO;
        match self.stations[index].stage {
            Stage::Sent => {
                if sending.met {
                    let counters = &mut self.counters[index];
                    counters.collisions += 1;
                    counters.collided += frame.air;
                }
                if !frame.received {
                    given_up.push((station, frame.id));
                }
                self.succeed(station, call);
            }
            Stage::Failed { met } => {
                let by_rts = sending.kind == Kind::Rts;
                let counters = &mut self.counters[index];
                if met {
                    counters.collisions += 1
                } else {
                    counters.errors += 1
                }
                if by_rts {
                    counters.collided += self.rts;
                } else if sending.met {
                    counters.collided += frame.air;
                }
                let state = &mut self.stations[index];
                state.stage = Stage::Rest;
                if state.contention.fail(&self.access, by_rts, frame.length) {
                    counters.given_up += 1;
                    if !frame.received {
                        given_up.push((station, frame.id));
                    }
                    self.load(station, call);
                }
                timeout = sending.end + self.access.answer_timeout;
                let state = &mut self.stations[index];
                let ear = &mut self.ears[index];
                ear.left = state.contention.draw();
                ear.contends = state.frame.is_some();
                ear.engaged = false;
            }
            stage => unreachable!("an exchange that is over has failed or was a broadcast, not {stage:?}"),
        }
        let ear = &mut self.ears[index];
        if timeout > Time::ZERO && self.access.timeout_without_difs && !ear.garbled && ear.nav_until() <= call.now {
            ear.from = timeout.max(call.now);
        } else {
            ear.fall_idle(call.now, &self.waits);
            ear.from = ear.from.max(timeout);
        }
        if ear.contends {
            self.calendar.set(station, ear.due(&self.waits), Act::Begin);
        }
    }
}

/// `station` cannot read a frame any more, because of another.
fn disturb(sending: &mut Sending, station: u32, traffic: &mut Traffic) {
    if sending.to == BROADCAST {
        sending.readers -= 1;
    }
    let lost = sending.to == station || (sending.to == BROADCAST && sending.readers == 0);
    if lost && !sending.met {
        sending.met = true;
        traffic.met += 1;
    }
}
