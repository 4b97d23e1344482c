//! The spatial channel: radio links determine who hears whom.
//!
//! Every station has its own carrier sense, NAV and backoff. A frame affects only the stations that hear it, when it
//! begins and when it ends. A backoff is an expiry time that is cleared when the station senses a frame and set again
//! when the channel becomes idle, so idle slots cost nothing. Hidden and exposed nodes follow from the links.
//!
//! Modelled in addition to a [`super::GeneralChannel`]: RTS, CTS, data and ACK as individual frames; the NAV that each
//! frame sets where it is read (10.3.2.4), and the reset of the NAV when no frame follows an RTS; EIFS after a frame
//! that was not read; an RTS that is not answered because of the NAV; responses SIFS after the soliciting frame,
//! regardless of the channel. If all stations hear each other without errors, a `SpatialChannel` behaves exactly like a
//! `GeneralChannel`, draw by draw. Departures from the standard:
//!
//! - Propagation takes no time, and a station senses a frame from its first instant. Frames that begin at the same
//!   instant do not sense each other.
//! - A sender without response draws its new backoff, and dequeues the next packet if it gives up, when it senses the
//!   channel idle after the frame, not at its timeout. The backoff is counted from the timeout, or from a later
//!   interval.
//! - Retry counts belong to the frame, and a CTS resets the short one, as in a `GeneralChannel`.
//! - A station that is waiting for a response does not respond to others.
//! - A given probability of frame errors applies at the receiver, and all others read the frame, unless it is set to
//!   apply at all stations.
//! - A bystander has read an A-MPDU only if it could read all of it; the receiver gets the MPDUs that nothing
//!   disturbed, if the preamble was undisturbed too. With bit errors a bystander has read an A-MPDU if any MPDU was
//!   correct.
//! - With `cf_end`, a TXOP ends without a CF-End when a frame gets no response. With `repeats_cf_end` an access point
//!   repeats each CF-End of its BSS that it reads (10.22.2.9, where it is optional), unless its NAV for other BSSs says
//!   that the channel is busy.

mod air_accounting;
mod audience;
mod backoff_state;
mod backoff_timers;
mod bitset;
mod cca;
mod edca;
#[cfg_attr(not(feature = "fast"), path = "plain.rs")]
mod fast;
mod frames_in_space;
mod hearer_records;
mod ns2;
mod overlap;
mod radio_links;
mod rate_choice;
mod reception;
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
use self::fast::{AtomicExchange, ExchangeAudiences};
pub use self::overlap::{Bandwidth, ChannelCounters, ChannelSettings};
pub use self::radio_links::{Hearing, RadioLinks};
use self::rate_choice::RateChoices;
pub use self::rate_choice::RateSettings;
pub use self::signal::SignalSettings;
use self::signal::Signals;
use crate::air_to::AirToStations;
use crate::channel::nav::Nav;
use crate::exchange::{ExchangeFrame, Protection, Purpose};
use crate::interpreter::Exchange;
use crate::queue_hooks::{AirUseMeter, PausedQueues};
use crate::station::{AirTimes, Contention, Errors, Frame};
use crate::tap::Tap;
use crate::{Access, AirTime, BROADCAST, Call, Counters, Eifs, MacEvent, Outages, StationSettings};
use wifair_phy::CaptureEffect;
use wifair_queue::{Discipline, Gauge, Queue};

/// Stage of a station in its exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExchangeStage {
    /// In no exchange: it contends, or has nothing to send.
    Rest,
    /// Its frame is on the air.
    Sends,
    /// It will send this frame SIFS after the last frame.
    Due(ExchangeFrame),
    /// It will start another exchange of its TXOP SIFS after the last frame.
    Continues,
    /// It waits for a response to its frame.
    Awaits,
    /// It got no response; `collided` if that was due to another frame.
    Failed { collided: bool },
    /// Its broadcast has ended.
    Sent,
}

/// The frame that a station is sending or sent last.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    kind: ExchangeFrame,
    to: u32,
    rate: BitRate,
    start: Time,
    end: Time,
    /// Until when it reserves the channel.
    nav: Time,
    /// Number of stations that may still read it, if it is a broadcast.
    readers: u32,
    /// Whether another frame prevents its receiver from reading it.
    collided: bool,
    /// Time for which it was the only frame on the air.
    alone: Duration,
}

impl Transmission {
    /// Whether it is meant for all stations that read it. CTS-to-self and CF-End have their sender as `to`.
    fn is_for_all(&self) -> bool {
        self.to == BROADCAST || matches!(self.kind, ExchangeFrame::CtsToSelf | ExchangeFrame::CfEnd)
    }

    /// Extends the NAV of a station that has read this frame of `sender` at `now`, or resets it if this is a CF-End.
    /// `check` is when the station may reset the NAV.
    #[inline]
    fn change_nav(&self, now: Time, sender: u32, check: Time, nav: &mut Nav) {
        match self.kind {
            ExchangeFrame::CfEnd => nav.reset(now),
            kind => {
                let holder = if kind.is_response() { self.to } else { sender };
                nav.extend(Nav { until: self.nav, check, holder });
            }
        }
    }
}

#[derive(Clone, Debug)]
struct SpatialStation {
    frame: Option<Frame>,
    stage: ExchangeStage,
    /// Its exchange, the last that it began.
    exchange: Exchange,
    /// Whether its last CTS-to-self collided.
    cts_to_self_collided: bool,
    /// Receiver of its next response, or of its data after a CTS.
    peer: u32,
    contention: Contention,
    rate: BitRate,
    /// Air time of the ACK to a frame at the station's rate.
    ack: Duration,
    routing_overhead: Bytes,
    /// Index among the access points, if it is one.
    ap: Option<usize>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct SpatialChannel {
    access: Access,
    /// Whether shortcuts are used: see [`fast`]. Without them, every frame updates all stations that sense it at its
    /// start and end.
    fast_paths: bool,
    intervals: Intervals,
    links: RadioLinks,
    backoffs: Vec<BackoffState>,
    backoff_timers: BackoffTimers,
    transmissions: Vec<Transmission>,
    stations: Vec<SpatialStation>,
    /// Stations with access categories; with DCF only `stations` and `queues` are used.
    edca: Option<Box<SpatialEdca>>,
    queues: Vec<Queue>,
    errors: Vec<Errors>,
    /// Whether frames may be lost with given probabilities.
    lossy: bool,
    /// Outages of each station's links; empty if there are none.
    outages: Vec<Outages>,
    signals: Signals,
    /// The audience of each station, if links do not vary.
    audiences: Audiences,
    exchange_audiences: ExchangeAudiences,
    /// Whether data and ACK may be a single step: without errors, protection and records.
    allows_atomic: bool,
    /// The exchange in progress that no other frame overlaps.
    exchange: Option<AtomicExchange>,
    /// Stations with a backoff, a packet to send, or a NAV that may be reset, and possibly stations that no longer have
    /// any of these. A busy channel changes nothing for the other stations. Without shortcuts, all stations.
    alert: StationSet,
    /// HE stations, which have two NAVs each.
    two_navs: StationSet,
    /// Whether given error probabilities apply at every station that could read a frame, not just at its receiver.
    errors_for_all: bool,
    /// Whether EIFS is a NAV.
    eifs_is_nav: bool,
    /// Whether receivers behave as in ns-2.
    like_ns2: bool,
    /// Whether EIFS follows every frame that is sensed but not read.
    eifs_if_unread: bool,
    counters: Vec<Counters>,
    air_to: AirToStations,
    gauges: Vec<Gauge>,
    /// Stations that received the last broadcast.
    receivers: Vec<u32>,
    /// Stations that start sending at this instant.
    starters: Vec<u32>,
    /// Stations whose exchange ends at this instant.
    finished: Vec<u32>,
    next: Time,
    tap: Option<Box<Tap>>,
    paused_queues: PausedQueues,
    air_use: AirUseMeter,
    accounting: AirAccounting,
    /// Rate adaptation, if any.
    rates: Option<Box<RateChoices>>,
    airs: AirTimes,
    /// Rate of RTS and CTS.
    guard_rate: BitRate,
    rts: Duration,
    cts: Duration,
    /// Time from the end of an RTS after which its NAV may be reset (10.3.2.4).
    nav_reset: Duration,
}

impl SpatialChannel {
    /// A channel of these stations and links. `aps` are the access points: their frames use the rate of the receiver.
    ///
    /// # Panics
    /// If the number of links does not match.
    #[must_use]
    pub fn new(access: Access, aps: &[u32], links: RadioLinks, stations: Vec<StationSettings>) -> Self {
        let mut space = Self::without_queues(access, aps, links, &stations.iter().collect::<Vec<_>>());
        space.queues = stations.into_iter().map(|station| station.queue).collect();
        if !fast::HANDLES_DCF {
            space.make_dcf_a_category();
        }
        space
    }

    fn without_queues(access: Access, aps: &[u32], links: RadioLinks, stations: &[&StationSettings]) -> Self {
        assert_eq!(links.stations(), stations.len(), "there are links for every station");
        let timing = access.timing;
        let intervals = Intervals::new(timing.slot, timing.difs, access.eifs(), timing.preamble);
        let guard_rate = access.protection.unwrap_or(timing.basic_rate);
        let nothing_sent = Transmission {
            kind: ExchangeFrame::Ack,
            to: BROADCAST,
            rate: timing.basic_rate,
            start: Time::ZERO,
            end: Time::ZERO,
            nav: Time::ZERO,
            readers: 0,
            collided: false,
            alone: Duration::ZERO,
        };
        let mut space = Self {
            intervals,
            backoffs: vec![BackoffState::new(&intervals); stations.len()],
            backoff_timers: BackoffTimers::new(stations.len()),
            transmissions: vec![nothing_sent; stations.len()],
            counters: vec![Counters::default(); stations.len()],
            air_to: AirToStations::new(stations.len()),
            gauges: vec![Gauge::default(); aps.len()],
            signals: Signals::without_powers(&links),
            audiences: Audiences::default(),
            exchange_audiences: ExchangeAudiences::default(),
            allows_atomic: false,
            exchange: None,
            alert: StationSet::none(stations.len()),
            two_navs: StationSet::none(stations.len()),
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
            nav_reset: access.nav_reset_after_rts(guard_rate),
            access,
        };
        for (number, station) in (0..).zip(stations) {
            let errors = Errors::new(station);
            space.lossy |= errors.are_possible();
            space.errors.push(errors);
            space.stations.push(SpatialStation {
                frame: None,
                stage: ExchangeStage::Rest,
                exchange: Exchange::new(Purpose::Broadcast, Protection::None, 1),
                cts_to_self_collided: false,
                peer: BROADCAST,
                contention: Contention::new(station),
                rate: station.rate,
                ack: timing.ack_to(station.rate),
                routing_overhead: station.routing_overhead,
                ap: aps.iter().position(|ap| *ap == number),
            });
        }
        space.learn_audiences();
        space
    }

    /// Computes the audiences, and whether exchanges may be a single step.
    fn learn_audiences(&mut self) {
        let stations = u32::try_from(self.stations.len()).expect("stations are numbered in 32 bits");
        self.audiences = Audiences::new(stations, &self.signals.rx_powers, !self.like_ns2);
        self.exchange_audiences = ExchangeAudiences::new(self.stations.len());
        let sends_cts_to_self = self.access.protection.is_some();
        self.allows_atomic = self.fast_paths
            && self.signals.constant
            && self.edca.is_none()
            && self.signals.readers.is_empty()
            && !(self.lossy || sends_cts_to_self);
    }

    /// Sets powers, capture and random effects. By default, a frame is lost if its receiver senses another frame during
    /// it.
    ///
    /// # Panics
    /// If the number of random streams does not match, or capture is requested and the links have no powers.
    #[must_use]
    pub fn with_signals(mut self, settings: SignalSettings) -> Self {
        let factors = settings.fading.sample(&mut stream(0, "fading", ""));
        self.signals = Signals::new(settings, &self.links);
        if let Some(edca) = self.edca.as_deref_mut().filter(|_| self.signals.bits.is_some()) {
            let (links, noise) = (&self.links, &self.signals.noise);
            edca.edcafs.set_snr(|from, to| links.received_power(from, to) / noise[to as usize], &factors);
        }
        self.like_ns2 = self.eifs_is_nav && self.signals.are_those_of_ns2();
        self.eifs_if_unread |= self.signals.capture == CaptureEffect::First;
        self.learn_audiences();
        self
    }

    /// Sets the outages of each station's links. What bystanders hear does not change, since they have other links.
    ///
    /// # Panics
    /// If the number of entries does not match.
    pub fn set_outages(&mut self, outages: Vec<Outages>) {
        assert_eq!(outages.len(), self.stations.len(), "every station has its links");
        self.outages = outages;
        self.lossy = true;
        self.learn_audiences();
    }

    /// Sets rate adaptation, in which senders choose the rate for each receiver, instead of a fixed rate for each
    /// station.
    ///
    /// # Panics
    /// If the number of settings does not match, or one has no rates.
    #[must_use]
    pub fn with_rates(mut self, settings: Vec<RateSettings>) -> Self {
        assert_eq!(settings.len(), self.stations.len(), "every station has its rates");
        self.rates = Some(Box::new(RateChoices::new(settings)));
        self
    }

    /// Sets whether given error probabilities apply at every station that could read a frame, independently, or at its
    /// receiver only. A bystander uses the probability for frames sent to it; an access point uses the probability for
    /// frames from the sender.
    pub fn set_errors_for_all(&mut self, all: bool) {
        self.errors_for_all = all;
    }

    /// Turns shortcuts on (the default) or off; results are the same. Must be called before any packet is offered.
    ///
    /// # Panics
    /// If a packet was offered before.
    pub fn set_fast_paths(&mut self, on: bool) {
        self.fast_paths = on;
        if !on {
            self.make_dcf_a_category();
        }
        self.learn_audiences();
        let stations = u32::try_from(self.stations.len()).expect("stations are numbered in 32 bits");
        (0..stations).for_each(|station| self.alert.put(station, !on));
    }

    /// Turns records of frames and backoffs on or off. Must be called before any packet is offered.
    ///
    /// # Panics
    /// If a packet was offered before.
    pub fn set_tap(&mut self, on: bool) {
        if on {
            self.make_dcf_a_category(); // the shortcut keeps no records
        }
        self.tap = on.then(Box::default);
    }

    /// The records, if they are on.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        self.tap.as_deref_mut()
    }

    /// The records, if they are on; read-only.
    #[must_use]
    pub fn records(&self) -> Option<&Tap> {
        self.tap.as_deref()
    }

    /// When to call [`SpatialChannel::advance`] next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next.min(self.paused_queues.next())
    }

    /// Receivers of the broadcast last reported by [`SpatialChannel::advance`], in the order of their numbers.
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

    /// Counters of all stations.
    #[must_use]
    pub fn all_counters(&self) -> &[Counters] {
        self.edcafs().map_or(&self.counters, |edcafs| edcafs.all_counters())
    }

    /// Air time of the exchanges in which others sent to each station, by category; without categories the first has
    /// all.
    #[must_use]
    pub fn air_to(&self) -> Vec<[Duration; 4]> {
        self.edcafs().map_or_else(|| self.air_to.so_far(self.counters.iter()), |edcafs| edcafs.air_to())
    }

    /// Lengths of the access points' queues over time, in the order in which the access points were given.
    #[must_use]
    pub fn ap_queues(&self) -> &[Gauge] {
        self.edcafs().map_or(&self.gauges, |edcafs| edcafs.ap_queues())
    }

    /// Lengths of the access points' queues over time, in the order in which the access points were given.
    pub fn ap_queues_mut(&mut self) -> &mut [Gauge] {
        match &mut self.edca {
            Some(edca) => edca.edcafs.ap_queues_mut(),
            None => &mut self.gauges,
        }
    }

    /// The packet of the frame that a station is trying to send, unless its receiver already has it.
    #[must_use]
    pub fn current_frame(&self, station: u32) -> Option<PacketId> {
        if let Some(edcafs) = self.edcafs() {
            return edcafs.current_frame(station);
        }
        self.stations[station as usize].frame.filter(|frame| !frame.received).map(|frame| frame.id)
    }

    /// Use of the air time until `now`. A frame in progress counts as received, unless it has collided.
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
                accounting.settle(transmission, !transmission.collided, Duration::ZERO);
            }
        }
        accounting.air
    }

    /// Offers a packet to `station`. Returns true: [`SpatialChannel::next`] may have changed.
    #[inline]
    pub fn offer(&mut self, station: u32, id: PacketId, call: &mut Call<'_>) -> bool {
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
        true
    }

    fn read_gauge(&mut self, now: Time, station: u32, ap: usize) {
        let queue = &self.queues[station as usize];
        self.gauges[ap].set(now, queue.len(), queue.is_full());
    }

    /// Asks queues again that held packets back until now.
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

    /// Advances at the time of [`SpatialChannel::next`]; returns what was received.
    pub fn advance(&mut self, call: &mut Call<'_>) -> MacEvent {
        self.advance_until(call.now, call).0
    }

    /// Advances at the time of [`SpatialChannel::next`], which must be `call.now`, and further before `bound`, until a
    /// packet is received or lost. Updates `call.now`; also returns the number of steps.
    #[inline(never)]
    pub fn advance_until(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64) {
        let mut steps = 0;
        loop {
            let event = self.step(bound, call, &mut steps);
            let next = self.next();
            if event != MacEvent::Nothing || next >= bound || !self.fast_paths || call.has_losses() {
                return (event, steps);
            }
            call.now = next;
        }
    }

    /// Performs one step at `call.now`, which must be the time of [`SpatialChannel::next`]. An atomic exchange advances
    /// `call.now`.
    #[inline(always)]
    fn step(&mut self, bound: Time, call: &mut Call<'_>, steps: &mut u64) -> MacEvent {
        let mut event = MacEvent::Nothing;
        *steps += 1;
        if self.edca.is_some()
            && let Some(event) = self.handle_due(call)
        {
            self.next = self.upcoming();
            return event;
        }
        if call.now < self.next {
            self.wake(call);
            return event;
        }
        if self.exchange.is_some() {
            let continued = call.now;
            event = self.continue_exchange(bound, call);
            *steps += u64::from(call.now > continued);
            self.next = self.upcoming();
            return event;
        }
        while event == MacEvent::Nothing && self.exchange.is_none() {
            if let Some(sender) = self.backoff_timers.take_end(call.now) {
                event = self.end(sender, call);
            } else if self.backoff_timers.next() > call.now {
                break;
            } else {
                self.begin(call);
            }
        }
        self.next = self.upcoming();
        event
    }

    /// Time of the next action of the channel, not counting queues that hold packets back.
    #[inline(always)]
    fn upcoming(&mut self) -> Time {
        if let Some(edca) = &self.edca {
            return self.backoff_timers.next().min(edca.edcafs.next());
        }
        self.exchange.as_ref().map_or_else(|| self.backoff_timers.next(), AtomicExchange::next)
    }
}
