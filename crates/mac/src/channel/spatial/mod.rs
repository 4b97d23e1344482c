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
//! - A given probability of frame errors strikes the receiver, and all others read the frame, unless it is to strike all.

mod calendar;
mod ear;
mod exchange;
mod held;
mod links;
mod lone;
mod ns2;
mod pairs;
mod rates;
mod reach;
mod record;
mod rows;
mod sets;
mod shares;
mod signal;
mod threshold;
mod traffic;
mod whole;

use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{BitRate, Bytes, Duration, Time};

use self::calendar::Calendar;
use self::ear::{Ear, Waits};
use self::held::Held;
pub use self::links::{Hearing, Links};
use self::pairs::Pairs;
pub use self::rates::RateSettings;
use self::rates::Rates;
use self::sets::Stations;
use self::shares::Shares;
pub use self::signal::SignalSettings;
use self::signal::Signals;
use self::traffic::Traffic;
use self::whole::Exchange;
use crate::queues::{Ledger, Sleepers};
use crate::station::{AirTimes, Contention, Errors, Frame, frame_length};
use crate::tap::Tap;
use crate::{Access, AirTime, BROADCAST, Counters, Eifs, Heard, IdleAccess, StationSettings};
use wifair_phy::Capture;
use wifair_queue::{AirUse, Discipline, Dropped, Gauge, Queue};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// CTS to itself.
    Shield,
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
    rate: BitRate,
    start: Time,
    end: Time,
    /// Until when it reserves the medium.
    nav: Time,
    /// Stations that may still read it, if it is for all.
    readers: u32,
    /// Its receiver cannot read it because of another frame.
    met: bool,
    /// Time in which no other frame was on the air.
    alone: Duration,
}

impl Sending {
    /// Whether it is for everybody who reads it.
    fn is_for_all(&self) -> bool {
        self.to == BROADCAST || self.kind == Kind::Shield
    }
}

#[derive(Clone, Debug)]
struct Station {
    frame: Option<Frame>,
    stage: Stage,
    /// Whom its next answer, or its data after a CTS, is for.
    peer: u32,
    contention: Contention,
    rate: BitRate,
    /// Air time of the ACK to a frame at this rate.
    ack: Duration,
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
    /// Frames may be lost to given probabilities.
    lossy: bool,
    signals: Signals,
    /// Who hears whom, if that is always the same.
    shares: Shares,
    pairs: Pairs,
    /// Data and their ACK can be one step: there are no errors, no protection and no records.
    is_plain: bool,
    /// An exchange that meets no other frame.
    exchange: Option<Exchange>,
    /// Time from the end of data to that of their ACK, and what the data announce, of those that were sent last.
    reserved: (Duration, Duration),
    /// Whom frames do not concern for a while.
    held: Held,
    /// Who has a backoff, a frame to send, or a NAV that may be forgotten, and some who had: a busy medium changes nothing
    /// for all others.
    alert: Stations,
    /// Given errors strike every station that could read a frame, not its receiver alone.
    errors_for_all: bool,
    /// EIFS is a NAV.
    eifs_is_nav: bool,
    /// Receivers are those of ns-2.
    like_ns2: bool,
    /// EIFS follows every frame that is sensed and not read.
    eifs_if_unread: bool,
    counters: Vec<Counters>,
    gauges: Vec<Gauge>,
    /// Who received the broadcast that was heard last.
    receivers: Vec<u32>,
    /// Who begins to send at this instant.
    starters: Vec<u32>,
    /// Whose exchange is over at this instant.
    finished: Vec<u32>,
    next: Time,
    tap: Option<Box<Tap>>,
    sleepers: Sleepers,
    ledger: Ledger,
    traffic: Traffic,
    /// Algorithms that choose rates, if there are any.
    rates: Option<Box<Rates>>,
    airs: AirTimes,
    /// Rate of RTS and CTS.
    guard_rate: BitRate,
    rts: Duration,
    cts: Duration,
    /// From the end of an RTS until its NAV may be forgotten (10.3.2.4).
    nav_reset: Duration,
}

/// What a call gets from the world and gives back.
struct Call<'a, R> {
    now: Time,
    packets: &'a mut Packets,
    dropped: &'a mut Dropped,
    given_up: &'a mut Vec<(u32, PacketId)>,
    receiver: &'a R,
}

impl<R> Call<'_, R> {
    /// Whether there is something to tell of packets that are lost.
    fn has_losses(&self) -> bool {
        !self.dropped.is_empty() || !self.given_up.is_empty()
    }
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
        let waits = Waits::new(timing.slot, timing.difs, access.eifs(), timing.preamble);
        let guard_rate = access.protection.unwrap_or(timing.basic_rate);
        let nothing_sent = Sending {
            kind: Kind::Ack,
            to: BROADCAST,
            rate: timing.basic_rate,
            start: Time::ZERO,
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
            signals: Signals::without_powers(&links),
            shares: Shares::default(),
            pairs: Pairs::default(),
            is_plain: false,
            exchange: None,
            reserved: (Duration::ZERO, Duration::ZERO),
            held: Held::new(stations.len()),
            alert: Stations::none(stations.len()),
            links,
            stations: vec![],
            queues: vec![],
            errors: vec![],
            lossy: false,
            errors_for_all: false,
            eifs_is_nav: access.eifs == Eifs::Nav,
            like_ns2: access.eifs == Eifs::Nav,
            eifs_if_unread: matches!(access.eifs, Eifs::AfterCollision | Eifs::Nav),
            receivers: vec![],
            starters: vec![],
            finished: vec![],
            next: Time::NEVER,
            tap: None,
            sleepers: Sleepers::new(),
            ledger: Ledger::new(stations.iter().map(|station| &station.queue), stations.len()),
            traffic: Traffic::default(),
            rts: timing.frame(timing.sizes.rts, guard_rate),
            cts: timing.frame(timing.sizes.cts, guard_rate),
            guard_rate,
            rates: None,
            airs: AirTimes::default(),
            nav_reset: timing.sifs * 2
                + timing.frame(timing.sizes.cts, guard_rate)
                + timing.preamble_of(guard_rate)
                + timing.slot * 2,
            access,
        };
        for (number, station) in (0..).zip(stations) {
            let errors = Errors::new(&station);
            space.lossy |= errors.are_possible();
            space.errors.push(errors);
            space.stations.push(Station {
                frame: None,
                stage: Stage::Rest,
                peer: BROADCAST,
                contention: Contention::new(&station),
                rate: station.rate,
                ack: timing.ack_to(station.rate),
                routing_overhead: station.routing_overhead,
                hub: hubs.iter().position(|hub| *hub == number),
            });
            space.queues.push(station.queue);
        }
        space.learn_shares();
        space
    }

    /// Finds out who hears whom, and whether exchanges can be one step.
    fn learn_shares(&mut self) {
        let stations = u32::try_from(self.stations.len()).expect("stations are numbered in 32 bits");
        self.shares = Shares::new(stations, &self.signals.rows, !self.like_ns2);
        self.pairs = Pairs::new(self.stations.len());
        let has_legacy = (0..stations).any(|station| self.signals.legacy.has(station));
        let is_shielded = self.access.protection.is_some();
        self.is_plain = self.signals.constant && self.tap.is_none() && !(self.lossy || has_legacy || is_shielded);
    }

    /// The same with powers, capture and chance: otherwise a frame that meets another which its receiver senses is lost.
    ///
    /// # Panics
    /// If there are not as many streams as stations, or capture is asked for and the links have no powers.
    #[must_use]
    pub fn with_signals(mut self, settings: SignalSettings) -> Self {
        self.signals = Signals::new(settings, &self.links);
        self.like_ns2 = self.eifs_is_nav && self.signals.are_those_of_ns2();
        self.eifs_if_unread |= self.signals.capture == Capture::First;
        self.learn_shares();
        self
    }

    /// The same with rates that senders choose for each receiver, instead of one rate for each station.
    ///
    /// # Panics
    /// If there are not as many settings as stations, or a ladder is empty.
    #[must_use]
    pub fn with_rates(mut self, settings: Vec<RateSettings>) -> Self {
        assert_eq!(settings.len(), self.stations.len(), "every station has its rates");
        self.rates = Some(Box::new(Rates::new(settings)));
        self
    }

    /// Given probabilities of errors strike every station that could read a frame, each by itself, or its receiver alone.
    /// A bystander draws with the probability of frames to it, an access point with that of frames from the sender.
    pub fn set_errors_for_all(&mut self, all: bool) {
        self.errors_for_all = all;
    }

    /// Keeps records of frames and backoffs, or not.
    pub fn set_tap(&mut self, on: bool) {
        self.take_apart();
        self.tap = on.then(Box::default);
        self.learn_shares();
        self.held = Held::new(self.stations.len());
    }

    /// What was recorded, if records are kept.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        self.tap.as_deref_mut()
    }

    /// The same, to be read only.
    #[must_use]
    pub fn records(&self) -> Option<&Tap> {
        self.tap.as_deref()
    }

    /// When [`Space::advance`] is to be called next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next.min(self.sleepers.next())
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
        if let Some(exchange) = &self.exchange {
            exchange.account(now, &mut traffic.air);
            return traffic.air;
        }
        traffic.account(now, &mut sendings);
        for (station, sending) in (0..).zip(&sendings) {
            if self.signals.sends.has(station) {
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
        let mut call = Call { now, packets, dropped, given_up: &mut vec![], receiver: &receiver };
        if self.stations[station as usize].frame.is_none() && self.load(station, &mut call) {
            if self.exchange.is_some_and(|exchange| !exchange.is_answered_by(station)) {
                self.take_apart();
            }
            self.request(now, station);
            self.next = self.upcoming();
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
        if self.ledger.is_wanted() {
            self.tell_air(call.now, station);
        }
        let frame = self.queues[index].dequeue(call.now, call.packets, call.dropped).map(|id| {
            let packet = &call.packets[id];
            let to = (call.receiver)(packet);
            let length = frame_length(&self.access.timing, packet, self.stations[index].routing_overhead);
            let from_hub = self.stations[index].hub.is_some() && to != BROADCAST;
            let rate_of = if from_hub { to } else { station };
            let Station { mut rate, ack, .. } = self.stations[rate_of as usize];
            if to == BROADCAST {
                rate = self.access.broadcast_rate;
            }
            let air = self.airs.of(&self.access.timing, length, rate);
            Frame { id, to, length, rate, air, ack, received: false }
        });
        if let Some(rates) = &mut self.rates {
            rates.begin_frame(station);
        }
        self.stations[index].frame = frame;
        if frame.is_none() {
            self.sleepers.note(call.now, station, &self.queues[index]);
        }
        if let Some(hub) = self.stations[index].hub {
            self.read_gauge(call.now, station, hub);
        }
        frame.is_some()
    }

    /// Tells the queues at both ends what the frame of `station` cost that is done with.
    #[cold]
    fn tell_air(&mut self, now: Time, station: u32) {
        let Some(done) = self.stations[station as usize].frame else { return };
        let used = self.ledger.close(station, &self.counters[station as usize], &done);
        self.queues[station as usize].on_air(now, &used);
        if done.to != BROADCAST {
            self.queues[done.to as usize].on_air(now, &AirUse { peer: station, sent: false, ..used });
        }
    }

    /// Asks the queues again that held packets back until now.
    #[cold]
    fn wake<R: Fn(&Packet) -> u32>(&mut self, call: &mut Call<R>) {
        self.take_apart();
        while let Some(station) = self.sleepers.wake(call.now) {
            if self.stations[station as usize].frame.is_none() && self.load(station, call) {
                self.request(call.now, station);
            }
        }
        self.next = self.calendar.next();
    }

    /// A station that had nothing to send contends for the medium.
    fn request(&mut self, now: Time, station: u32) {
        self.held.release(station);
        self.alert.put(station, true);
        let ear = &mut self.ears[station as usize];
        let contention = &mut self.stations[station as usize].contention;
        ear.wake(self.signals.garbled.has(station), &self.waits);
        ear.contends = true;
        let is_engaged = ear.engaged || self.signals.is_busy(station);
        if is_engaged || now < ear.nav_until() {
            // 10.3.4.2: the medium is busy, so a backoff is due, unless one is pending already.
            if ear.left == 0 {
                ear.left = contention.draw();
            }
            if is_engaged {
                return;
            }
        } else {
            let passed = self.waits.slots(now.saturating_since(ear.from()));
            if ear.left <= passed {
                match self.access.idle_access {
                    IdleAccess::Immediate => {
                        ear.count_from(ear.from().max(now));
                        ear.left = 0;
                        ear.immediate = true;
                    }
                    IdleAccess::Backoff => {
                        ear.count_from(ear.from().max(now + self.waits.difs));
                        ear.left = contention.draw();
                    }
                }
            }
        }
        self.calendar.set(station, ear.due(&self.waits));
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
        self.go_on(&mut { now }, now, packets, dropped, given_up, receiver).0
    }

    /// Goes on at the time of [`Space::next`], which is `now`, and then on and on before `bound`, until something was
    /// received or lost. Moves `now`, and returns how many steps were taken.
    pub fn go_on(
        &mut self,
        now: &mut Time,
        bound: Time,
        packets: &mut Packets,
        dropped: &mut Dropped,
        given_up: &mut Vec<(u32, PacketId)>,
        receiver: impl Fn(&Packet) -> u32,
    ) -> (Heard, u64) {
        let mut call = Call { now: *now, packets, dropped, given_up, receiver: &receiver };
        let mut steps = 0;
        loop {
            let heard = self.step(bound, &mut call, &mut steps);
            let next = self.next();
            if heard != Heard::Nothing || next >= bound || call.has_losses() {
                *now = call.now;
                return (heard, steps);
            }
            call.now = next;
        }
    }

    /// Goes on at the time of the call, which is that of [`Space::next`]. A frame that meets no other moves it.
    fn step<R: Fn(&Packet) -> u32>(&mut self, bound: Time, call: &mut Call<R>, steps: &mut u64) -> Heard {
        let mut heard = Heard::Nothing;
        *steps += 1;
        if call.now < self.next {
            self.wake(call);
            return heard;
        }
        if self.exchange.is_some() {
            let continued = call.now;
            heard = self.continue_exchange(bound, call);
            *steps += u64::from(call.now > continued);
            self.next = self.upcoming();
            return heard;
        }
        while heard == Heard::Nothing && self.exchange.is_none() {
            if let Some(sender) = self.calendar.take_end(call.now) {
                heard = self.end(sender, call);
            } else if self.calendar.next() > call.now {
                break;
            } else {
                let begun = call.now;
                heard = self.begin(bound, call);
                *steps += u64::from(call.now > begun);
            }
        }
        self.next = self.upcoming();
        heard
    }

    /// When something happens next, queues that hold packets back left aside.
    fn upcoming(&mut self) -> Time {
        self.exchange.as_ref().map_or_else(|| self.calendar.next(), Exchange::next)
    }
}
