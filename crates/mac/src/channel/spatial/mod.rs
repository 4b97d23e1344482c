//! A channel in space: who hears whom is a matter of links.
//!
//! Every station has a carrier sense, a NAV and a backoff of its own. A frame touches the stations that hear it, when
//! it begins and when it ends, and no others; a backoff is a time of expiry that is dropped when the station senses
//! a frame and set again when it falls silent, so idle slots cost nothing. Hidden and exposed stations follow from
//! the links.
//!
//! Modelled beside what a [`super::SharedChannel`] models: RTS, CTS, data and ACK as frames of their own, the NAV that
//! each of them sets where it is read (10.3.2.4) and its reset when an RTS is followed by nothing, EIFS after a frame
//! that was not read, an RTS that is not answered because of the NAV, answers SIFS after the frame that asks for them,
//! whatever the channel does meanwhile. Where everybody hears everybody without errors, a `SpatialChannel` does exactly
//! what a `SharedChannel` does, draw by draw. Departures from the standard:
//!
//! - Propagation takes no time, and a station senses a frame from its first instant. Frames that begin at the same
//!   instant do not see each other.
//! - A sender without answer draws its new backoff, and takes the next packet if it gives up, when it senses the
//!   channel idle after the frame, not at its timeout. The backoff counts from the timeout on, or from a later
//!   interval.
//! - Retry counts belong to the frame, and a CTS clears the short one, as in a `SharedChannel`.
//! - A station that is awaiting an answer does not answer others.
//! - A given probability of frame errors strikes the receiver, and all others read the frame, unless it is to strike
//!   all.
//! - A PPDU announces its own exchange in the NAV, not the rest of its TXOP. A bystander has read an A-MPDU only if it
//!   could read all of it; its receiver gets those MPDUs that nothing disturbed, unless the preamble was. Where bits
//!   decide, a bystander has read an A-MPDU if any MPDU was right.

mod air_accounting;
mod audience;
mod backoff_state;
mod backoff_timers;
mod bitset;
mod cca;
mod edca;
mod exchange;
mod fast;
mod ns2;
mod overlap;
mod radio_links;
mod rate_choice;
mod reception;
mod record;
mod rx_power;
mod signal;
mod threshold;

use wifair_engine::stream;
use wifair_packet::PacketId;
use wifair_units::{BitRate, Bytes, Duration, Time};

use self::air_accounting::AirAccounting;
use self::audience::Audiences;
use self::backoff_state::{BackoffState, Intervals};
use self::backoff_timers::BackoffTimers;
use self::bitset::StationSet;
use self::edca::SpatialEdca;
use self::fast::atomic_exchange::AtomicExchange;
use self::fast::exchange_audience::ExchangeAudiences;
pub use self::overlap::{Bandwidth, ChannelCounters, ChannelSettings, WidthCounters};
pub use self::radio_links::{Hearing, RadioLinks};
use self::rate_choice::RateChoices;
pub use self::rate_choice::RateSettings;
pub use self::signal::SignalSettings;
use self::signal::Signals;
use crate::queue_hooks::{AirUseMeter, PausedQueues};
use crate::station::{AirTimes, Contention, Errors, Frame};
use crate::tap::Tap;
use crate::{Access, AirTime, BROADCAST, Call, Counters, Eifs, MacEvent, Outages, StationSettings};
use wifair_phy::Capture;
use wifair_queue::{Discipline, Gauge, Queue};

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// CTS to itself.
    CtsToSelf,
    Rts,
    Cts,
    Data,
    Ack,
    BlockAckReq,
    BlockAck,
}

/// Stage of the exchange that a station takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// None: the station contends, or has nothing to send.
    Rest,
    /// Its frame is on the air.
    Sends,
    /// It sends a frame of this kind SIFS after the last.
    Due(Kind),
    /// It begins another exchange of its TXOP SIFS after the last.
    Continues,
    /// It waits for an answer to its frame.
    Awaits,
    /// It got no answer; `met`: because of another frame.
    Failed { met: bool },
    /// Its broadcast has ended.
    Sent,
}

/// The frame that a station sends, or sent last.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    kind: Kind,
    to: u32,
    rate: BitRate,
    start: Time,
    end: Time,
    /// Until when it reserves the channel.
    nav: Time,
    /// Stations that may still read it, if it is for all.
    readers: u32,
    /// Its receiver cannot read it because of another frame.
    met: bool,
    /// Time in which no other frame was on the air.
    alone: Duration,
}

impl Transmission {
    /// Whether it is for everybody who reads it.
    fn is_for_all(&self) -> bool {
        self.to == BROADCAST || self.kind == Kind::CtsToSelf
    }
}

#[derive(Clone, Debug)]
struct Station {
    frame: Option<Frame>,
    stage: Stage,
    /// Receiver of its next answer, or of its data after a CTS.
    peer: u32,
    contention: Contention,
    rate: BitRate,
    /// Air time of the ACK to a frame at this rate.
    ack: Duration,
    routing_overhead: Bytes,
    /// Its place in the list of access points, if it is one.
    ap: Option<usize>,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub struct SpatialChannel {
    access: Access,
    /// Shortcuts are taken: see [`fast`]. Off, every frame touches all stations that sense it when it begins and ends.
    fast_paths: bool,
    intervals: Intervals,
    links: RadioLinks,
    backoffs: Vec<BackoffState>,
    backoff_timers: BackoffTimers,
    transmissions: Vec<Transmission>,
    stations: Vec<Station>,
    /// Stations with access categories; those of DCF have `stations` and `queues` alone.
    edca: Option<Box<SpatialEdca>>,
    queues: Vec<Queue>,
    errors: Vec<Errors>,
    /// Frames may be lost to given probabilities.
    lossy: bool,
    /// Of each station; empty if no link has any.
    outages: Vec<Outages>,
    signals: Signals,
    /// The stations that hear each station, if links do not vary.
    audiences: Audiences,
    exchange_audiences: ExchangeAudiences,
    /// Data and their ACK can be one step: there are no errors, no protection and no records.
    allows_atomic: bool,
    /// An exchange that meets no other frame.
    exchange: Option<AtomicExchange>,
    /// Time from the end of data to that of their ACK, and what the data announce, of those that were sent last.
    reserved: (Duration, Duration),
    /// Who has a backoff, a packet to send, or a NAV that may be forgotten, and some who had: a busy channel changes
    /// nothing for all others. Everybody where no shortcuts are taken.
    alert: StationSet,
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
    /// Stations that received the last broadcast.
    receivers: Vec<u32>,
    /// Stations that begin to send at this instant.
    starters: Vec<u32>,
    /// Stations whose exchange ends at this instant.
    finished: Vec<u32>,
    next: Time,
    tap: Option<Box<Tap>>,
    paused_queues: PausedQueues,
    air_use: AirUseMeter,
    accounting: AirAccounting,
    /// Algorithms that choose rates, if there are any.
    rates: Option<Box<RateChoices>>,
    airs: AirTimes,
    /// Rate of RTS and CTS.
    guard_rate: BitRate,
    rts: Duration,
    cts: Duration,
    /// From the end of an RTS until its NAV may be forgotten (10.3.2.4).
    nav_reset: Duration,
}

impl SpatialChannel {
    /// A channel of these stations and links. `aps` are the access points: a frame from one of them goes at the rate of
    /// its receiver.
    ///
    /// # Panics
    /// If the links are not those of as many stations.
    #[must_use]
    pub fn new(access: Access, aps: &[u32], links: RadioLinks, stations: Vec<StationSettings>) -> Self {
        assert_eq!(links.stations(), stations.len(), "there are links for every station");
        let timing = access.timing;
        let intervals = Intervals::new(timing.slot, timing.difs, access.eifs(), timing.preamble);
        let guard_rate = access.protection.unwrap_or(timing.basic_rate);
        let nothing_sent = Transmission {
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
            intervals,
            backoffs: vec![BackoffState::new(&intervals); stations.len()],
            backoff_timers: BackoffTimers::new(stations.len()),
            transmissions: vec![nothing_sent; stations.len()],
            counters: vec![Counters::default(); stations.len()],
            gauges: vec![Gauge::default(); aps.len()],
            signals: Signals::without_powers(&links),
            audiences: Audiences::default(),
            exchange_audiences: ExchangeAudiences::default(),
            allows_atomic: false,
            exchange: None,
            reserved: (Duration::ZERO, Duration::ZERO),
            alert: StationSet::none(stations.len()),
            fast_paths: true,
            links,
            stations: vec![],
            edca: None,
            queues: vec![],
            errors: vec![],
            lossy: false,
            outages: vec![],
            errors_for_all: false,
            eifs_is_nav: access.eifs == Eifs::Nav,
            like_ns2: access.eifs == Eifs::Nav,
            eifs_if_unread: matches!(access.eifs, Eifs::AfterCollision | Eifs::Nav),
            receivers: vec![],
            starters: vec![],
            finished: vec![],
            next: Time::NEVER,
            tap: None,
            paused_queues: PausedQueues::new(),
            air_use: AirUseMeter::new(stations.iter().map(|station| &station.queue), stations.len()),
            accounting: AirAccounting::default(),
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
                ap: aps.iter().position(|ap| *ap == number),
            });
            space.queues.push(station.queue);
        }
        space.learn_audiences();
        space
    }

    /// Finds out who hears whom, and whether exchanges can be one step.
    fn learn_audiences(&mut self) {
        let stations = u32::try_from(self.stations.len()).expect("stations are numbered in 32 bits");
        self.audiences = Audiences::new(stations, &self.signals.rx_powers, !self.like_ns2);
        self.exchange_audiences = ExchangeAudiences::new(self.stations.len());
        let has_legacy = (0..stations).any(|station| self.signals.legacy.has(station));
        let sends_cts_to_self = self.access.protection.is_some();
        self.allows_atomic = self.fast_paths
            && self.signals.constant
            && self.edca.is_none()
            && !(self.lossy || has_legacy || sends_cts_to_self);
    }

    /// The same with powers, capture and chance: otherwise a frame that meets another which its receiver senses is
    /// lost.
    ///
    /// # Panics
    /// If there are not as many streams as stations, or capture is asked for and the links have no powers.
    #[must_use]
    pub fn with_signals(mut self, settings: SignalSettings) -> Self {
        let factors = settings.fading.sample(&mut stream(0, "fading", ""));
        self.signals = Signals::new(settings, &self.links);
        if let Some(edca) = self.edca.as_deref_mut().filter(|_| self.signals.bits.is_some()) {
            let (links, noise) = (&self.links, &self.signals.noise);
            edca.edcafs.know_ratios(|from, to| links.received_power(from, to) / noise[to as usize], &factors);
        }
        self.like_ns2 = self.eifs_is_nav && self.signals.are_those_of_ns2();
        self.eifs_if_unread |= self.signals.capture == Capture::First;
        self.learn_audiences();
        self
    }

    /// Gives each station's links outages. What bystanders hear is not changed: theirs are other links.
    ///
    /// # Panics
    /// If there are not as many entries as stations.
    pub fn set_outages(&mut self, outages: Vec<Outages>) {
        assert_eq!(outages.len(), self.stations.len(), "every station has its links");
        self.outages = outages;
        self.lossy = true;
        self.learn_audiences();
    }

    /// The same with rates that senders choose for each receiver, instead of one rate for each station.
    ///
    /// # Panics
    /// If there are not as many settings as stations, or a ladder is empty.
    #[must_use]
    pub fn with_rates(mut self, settings: Vec<RateSettings>) -> Self {
        assert_eq!(settings.len(), self.stations.len(), "every station has its rates");
        self.rates = Some(Box::new(RateChoices::new(settings)));
        self
    }

    /// Given probabilities of errors strike every station that could read a frame, each by itself, or its receiver
    /// alone. A bystander draws with the probability of frames to it, an access point with that of frames from the
    /// sender.
    pub fn set_errors_for_all(&mut self, all: bool) {
        self.errors_for_all = all;
    }

    /// Takes shortcuts, as by default, or not: results are the same. To be called before anything has happened.
    ///
    /// # Panics
    /// If a packet has come.
    pub fn set_fast_paths(&mut self, on: bool) {
        self.fast_paths = on;
        if !on {
            self.make_dcf_a_category();
        }
        self.learn_audiences();
        let stations = u32::try_from(self.stations.len()).expect("stations are numbered in 32 bits");
        (0..stations).for_each(|station| self.alert.put(station, !on));
    }

    /// Keeps records of frames and backoffs, or not. To be called before anything has happened.
    ///
    /// # Panics
    /// If a packet has come.
    pub fn set_tap(&mut self, on: bool) {
        if on {
            self.make_dcf_a_category(); // the shortcut keeps none
        }
        self.tap = on.then(Box::default);
    }

    /// The records, if they are kept.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        self.tap.as_deref_mut()
    }

    /// The same, for reading only.
    #[must_use]
    pub fn records(&self) -> Option<&Tap> {
        self.tap.as_deref()
    }

    /// When [`SpatialChannel::advance`] is to be called next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next.min(self.paused_queues.next())
    }

    /// Who received the broadcast that [`SpatialChannel::advance`] reported last, in the order of their numbers.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        &self.receivers
    }

    /// The queue of a station.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        self.edcafs().map_or_else(|| &self.queues[station as usize], |edcafs| edcafs.queue(station))
    }

    /// Counters of a station.
    #[must_use]
    pub fn counters(&self, station: u32) -> &Counters {
        &self.all_counters()[station as usize]
    }

    /// Counters of every station, in their order.
    #[must_use]
    pub fn all_counters(&self) -> &[Counters] {
        self.edcafs().map_or(&self.counters, |edcafs| edcafs.all_counters())
    }

    /// The lengths of the access points' queues over time, in the order in which they were given.
    #[must_use]
    pub fn ap_queues(&self) -> &[Gauge] {
        self.edcafs().map_or(&self.gauges, |edcafs| edcafs.ap_queues())
    }

    /// The lengths of the access points' queues over time, in the order in which they were given.
    pub fn ap_queues_mut(&mut self) -> &mut [Gauge] {
        match &mut self.edca {
            Some(edca) => edca.edcafs.ap_queues_mut(),
            None => &mut self.gauges,
        }
    }

    /// Packets of a station that are neither in its queue nor anyone else's: the frame it is trying to send.
    #[must_use]
    pub fn in_hand(&self, station: u32) -> Option<PacketId> {
        if let Some(edcafs) = self.edcafs() {
            return edcafs.in_hand(station);
        }
        self.stations[station as usize].frame.filter(|frame| !frame.received).map(|frame| frame.id)
    }

    /// What the air was used for until `now`. A frame under way counts as received, unless it has met another.
    #[must_use]
    pub fn air_time(&self, now: Time) -> AirTime {
        let mut accounting = self.accounting.clone();
        let mut transmissions = self.transmissions.clone();
        if let Some(exchange) = &self.exchange {
            exchange.account(now, &mut accounting.air);
            return accounting.air;
        }
        accounting.account(now, &mut transmissions);
        for (station, transmission) in (0..).zip(&transmissions) {
            if self.signals.sends.has(station) {
                accounting.settle(transmission, !transmission.met, Duration::ZERO);
            }
        }
        accounting.air
    }

    /// `station` gets a packet to send.
    #[inline]
    pub fn offer(&mut self, station: u32, id: PacketId, call: &mut Call<'_>) {
        if self.edca.is_some() {
            return self.offer_in(station, 0, id, call);
        }
        let to = call.next_hops.of(&call.packets[id]);
        self.queues[station as usize].enqueue(call.now, id, to, call.packets, call.dropped);
        if self.stations[station as usize].frame.is_none() && self.load(station, call) {
            if self.exchange.is_some_and(|exchange| !exchange.is_answered_by(station)) {
                self.split_exchange();
            }
            self.request(call.now, station);
            self.next = self.upcoming();
        } else if let Some(ap) = self.stations[station as usize].ap {
            self.read_gauge(call.now, station, ap);
        }
    }

    fn read_gauge(&mut self, now: Time, station: u32, ap: usize) {
        let queue = &self.queues[station as usize];
        self.gauges[ap].set(now, queue.len(), queue.is_full());
    }

    /// Asks the queues again that held packets back until now.
    #[cold]
    fn wake(&mut self, call: &mut Call<'_>) {
        self.split_exchange();
        while let Some(station) = self.paused_queues.wake(call.now) {
            if self.stations[station as usize].frame.is_none() && self.load(station, call) {
                self.request(call.now, station);
            }
        }
        self.next = self.backoff_timers.next();
    }

    /// Goes on at the time of [`SpatialChannel::next`], and says what was received.
    pub fn advance(&mut self, call: &mut Call<'_>) -> MacEvent {
        self.advance_until(call.now, call).0
    }

    /// Goes on at the time of [`SpatialChannel::next`], which is that of the call, and then on and on before `bound`,
    /// until something was received or lost. Moves the call on, and returns how many steps were taken.
    pub fn advance_until(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64) {
        let mut steps = 0;
        loop {
            let heard = self.step(bound, call, &mut steps);
            let next = self.next();
            if heard != MacEvent::Nothing || next >= bound || !self.fast_paths || call.has_losses() {
                return (heard, steps);
            }
            call.now = next;
        }
    }

    /// Goes on at the time of the call, which is that of [`SpatialChannel::next`]. An exchange that meets no other
    /// frame moves the call on.
    fn step(&mut self, bound: Time, call: &mut Call<'_>, steps: &mut u64) -> MacEvent {
        let mut heard = MacEvent::Nothing;
        *steps += 1;
        if self.edca.is_some()
            && let Some(heard) = self.attend(call)
        {
            self.next = self.upcoming();
            return heard;
        }
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
        while heard == MacEvent::Nothing && self.exchange.is_none() {
            if let Some(sender) = self.backoff_timers.take_end(call.now) {
                heard = self.end(sender, call);
            } else if self.backoff_timers.next() > call.now {
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
    #[inline(always)]
    fn upcoming(&mut self) -> Time {
        if let Some(edca) = &self.edca {
            return self.backoff_timers.next().min(edca.edcafs.next());
        }
        self.exchange.as_ref().map_or_else(|| self.backoff_timers.next(), AtomicExchange::next)
    }
}
