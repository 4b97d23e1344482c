//! Stations with access categories, independent of the channel: queues, EDCA functions, PPDUs and block ACK.
//!
//! Enhanced distributed channel access (IEEE Std 802.11-2016, 10.22.2): each category of each station is an EDCA
//! function (EDCAF) with its own queue, contention window, AIFS and TXOP limit. DCF is a single category with AIFS =
//! DIFS and one frame at a time. Exchanges follow the table of [exchange sequences](crate::exchange): a single MPDU
//! with ACK, an A-MPDU with block ACK, a block ACK request, each with or without RTS/CTS, and broadcasts.
//!
//! The channel decides when an EDCAF may send and what is received. [`Edcafs`] does what is the same on any channel: it
//! decides what is sent next ([`Edcafs::load`]) and which MPDUs make up the PPDU ([`Edcafs::form`]), and updates the
//! MPDUs after an exchange ([`Edcafs::settle`]).

mod agreement;
mod arrival_times;
mod deliveries;
mod edca_function;
#[cfg_attr(not(feature = "fast"), path = "plain.rs")]
mod fast;
mod frame_records;
mod limits;
mod links;
mod ppdu;
mod recipient;
mod released;
mod same_size_packets;
mod settings;
mod settle;
mod waiting;
mod window;

use wifair_packet::{Packet, PacketId};
use wifair_phy::ModulationClass;
use wifair_phy::rate::Adaptation;
use wifair_units::{BitRate, Bytes, Duration, Time};

use self::deliveries::Deliveries;
pub(crate) use self::edca_function::{Edcaf, Task};
use self::fast::{EdcafShortcuts, Shortcuts, SingleAirs};
pub(crate) use self::limits::AfterExchange;
use self::links::{IdealModes, ModeChoice, StationLink};
pub use self::settings::{
    AggregationRules, CategoryCounters, CategorySettings, Classifier, EdcaSettings, EdcaStation, LinkSettings,
    SlotRules, WidthCounters,
};
use self::waiting::CategoryQueues;
use self::window::{Chain, Mpdu, SendWindow};
use crate::access_category::AccessCategory;
use crate::air_to::AirToStations;
use crate::category::Category;
use crate::exchange::ExchangeFrame;
use crate::frame::Ppdu;
use crate::queue_hooks::{AirUseMeter, PausedQueues};
use crate::station::{Contention, Errors, frame_length};
use crate::{Access, BROADCAST, Call, Counters, MacEvent};
use wifair_queue::{AirUse, Cause, Gauge, Queue};

/// State of a station that does not depend on the category.
#[derive(Clone, Debug)]
pub(crate) struct Station {
    pub rate: BitRate,
    pub link: StationLink,
    /// Rate adaptation of its data frames, if any.
    choice: Option<ModeChoice>,
    pub routing_overhead: Bytes,
    pub errors: Errors,
    /// Aggregation rules for data to and from it.
    rules: Option<AggregationRules>,
    pub is_legacy: bool,
    /// The newest modulation class that it reads.
    pub newest: ModulationClass,
    /// Maximum width of PPDUs in its TXOP, in doublings of 20 MHz.
    max_width: u8,
    /// Index among the access points, if it is one.
    pub ap: Option<usize>,
    /// Cache of air times by length.
    airs: [SingleAirs; 4],
}

impl Station {
    /// Length, from the MAC header to the FCS, of a frame from `sender` whose rate is that of this station.
    #[inline]
    fn mpdu_length(&self, access: &Access, packet: &Packet, sender: &Self) -> u64 {
        let length = frame_length(&access.timing, packet, sender.routing_overhead).0;
        if self.is_legacy { length - QOS_CONTROL } else { length }
    }
}

/// No limit on the width of PPDUs in a TXOP.
const ANY_WIDTH: u8 = u8::MAX;

/// See the [module](self).
#[derive(Debug)]
pub struct Edcafs {
    pub(crate) access: Access,
    /// How long senders wait for any response, if that does not depend on its rate.
    timeout_of_any: Option<Duration>,
    classifier: Classifier,
    pub(crate) aggregation: Option<AggregationRules>,
    pub(crate) stations: Vec<Station>,
    /// When a signal-to-noise ratio changes next.
    next_snr_change: Time,
    ideal_modes: Option<Box<IdealModes>>,
    pub(crate) counters: Vec<Counters>,
    pub(crate) air_to: AirToStations,
    /// Number of categories of each station.
    pub(crate) categories: usize,
    /// The categories of the first station, those of the second, and so on; highest priority first.
    pub(crate) contenders: Vec<Edcaf>,
    pub(crate) chain: Chain,
    /// Packets received and not yet reported, and the delays of all.
    pub(crate) deliveries: Deliveries,
    /// When the first recipient stops waiting for a missing MPDU, or the inactivity of agreements is checked.
    reorder_timeout: Time,
    /// When the first agreement ends, unless data are received under it.
    inactive_at: Time,
    /// Windows whose recipients wait for a missing MPDU, as sender and index of the window.
    blocked: Vec<(usize, usize)>,
    pub(crate) shortcuts: Shortcuts,
    pub(crate) paused_queues: PausedQueues,
    pub(crate) air_use: AirUseMeter,
    ap_queues: Vec<Gauge>,
    /// For each access point, whether its queues may have changed since their length was recorded.
    late_gauges: Vec<bool>,
}

impl Edcafs {
    /// The stations of a channel.
    ///
    /// # Panics
    /// If stations differ in the number of their categories, or have none.
    #[must_use]
    pub fn new(settings: EdcaSettings) -> Self {
        let EdcaSettings { access, aps, classifier, slot_rules, aggregation, stations: plans } = settings;
        let categories = plans.first().map_or(0, |station| station.categories.len());
        assert!(categories > 0, "every station has a category");
        let (mut stations, mut contenders) = (vec![], vec![]);
        let is_best_wanted = plans.iter().any(|station| station.link.adaptation == Adaptation::Ideal);
        let responses = is_best_wanted.then_some(&access.timing);
        for (own, plan) in (0..).zip(plans) {
            assert_eq!(plan.categories.len(), categories, "all stations have as many categories");
            let EdcaStation {
                common: mut station,
                mode,
                link,
                aggregation: rules,
                is_legacy,
                newest,
                ap: _,
                categories,
            } = plan;
            let ap = aps.iter().position(|ap| *ap == own);
            stations.push(Station {
                rate: station.rate,
                link: StationLink::new(mode, &link, rules.as_ref(), responses),
                choice: ModeChoice::new(&link),
                routing_overhead: station.routing_overhead,
                errors: Errors::new(&station),
                rules,
                is_legacy,
                newest,
                max_width: ANY_WIDTH,
                ap,
                airs: [SingleAirs::NONE; 4],
            });
            for CategorySettings { parameters, queues, limit, backoff } in categories {
                station.cw_min = parameters.cw_min;
                station.cw_max = parameters.cw_max;
                station.backoff = backoff;
                contenders.push(Edcaf {
                    station: stations.len() - 1,
                    ap,
                    waiting: CategoryQueues::new(queues),
                    limit,
                    held_since: None,
                    contention: Contention::new(&station),
                    aifs: aifs(&access, &parameters),
                    slot_rules: if is_legacy { SlotRules::Dcf } else { slot_rules },
                    txop: parameters.txop,
                    burst: parameters.burst,
                    task: None,
                    windows: vec![],
                    backlog: vec![],
                    requests: vec![],
                    actions: vec![],
                    window_of: vec![],
                    ppdu: Ppdu::default(),
                    shortcuts: EdcafShortcuts::default(),
                    won_at: Time::ZERO,
                    in_a_row: 0,
                    reserved_by: vec![],
                    counters: CategoryCounters::default(),
                });
            }
        }
        Self {
            next_snr_change: links::next_snr_change(&stations),
            ideal_modes: None,
            access,
            timeout_of_any: access.timeout_of_any(stations.iter().any(|one| one.link.has_extended_responses())),
            classifier,
            aggregation,
            counters: vec![Counters::default(); stations.len()],
            air_to: AirToStations::new(stations.len()),
            categories,
            chain: Chain::default(),
            deliveries: Deliveries::new(categories),
            reorder_timeout: Time::NEVER,
            inactive_at: Time::NEVER,
            blocked: vec![],
            shortcuts: Shortcuts::default(),
            paused_queues: PausedQueues::new(),
            air_use: AirUseMeter::wanted_by(
                contenders.iter().any(|contender| contender.waiting.wants_air_use()),
                stations.len(),
            ),
            ap_queues: vec![Gauge::default(); aps.len()],
            late_gauges: vec![true; aps.len()],
            stations,
            contenders,
        }
    }

    /// Index of a category among all of the channel.
    pub(crate) const fn index(&self, station: u32, category: usize) -> usize {
        station as usize * self.categories + category
    }

    /// Station of a category.
    pub(crate) fn station_of(&self, contender: usize) -> usize {
        self.contenders[contender].station
    }

    /// Indices of the categories of a station.
    pub(crate) fn own(&self, station: u32) -> std::ops::Range<usize> {
        let first = self.index(station, 0);
        first..first + self.categories
    }

    /// When queues that hold packets back, reordering buffers, packets passed up, or packets expected must be handled
    /// next, whatever the channel does.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.paused_queues.next().min(self.deliveries.since()).min(self.reorder_timeout).min(self.shortcuts.next())
    }

    /// Sets the parameters of a station's last category, from its next frame on. Returns its AIFS if that changes.
    pub(crate) fn set_category(&mut self, station: u32, parameters: &Category) -> Option<Duration> {
        let aifs = aifs(&self.access, parameters);
        let index = self.index(station, self.categories - 1);
        let contender = &mut self.contenders[index];
        contender.contention.set_windows(parameters.cw_min, parameters.cw_max);
        contender.txop = parameters.txop;
        contender.burst = parameters.burst;
        (std::mem::replace(&mut contender.aifs, aifs) != aifs).then_some(aifs)
    }

    /// Queue of a station's last category, or its best-effort queue if there are several.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        self.contenders[self.index(station, self.categories - 1)].waiting.first()
    }

    /// Number of packets queued at a station, in all of its queues.
    #[must_use]
    pub fn waiting(&self, station: u32) -> usize {
        self.contenders[self.own(station)].iter().map(|contender| contender.waiting.len()).sum()
    }

    /// Number of packets marked by the queues of a station.
    #[must_use]
    pub fn marks(&self, station: u32) -> u64 {
        self.contenders[self.own(station)].iter().map(|contender| contender.waiting.marks()).sum()
    }

    /// Counters of a station.
    #[must_use]
    pub fn counters(&self, station: u32) -> &Counters {
        &self.counters[station as usize]
    }

    /// Counters of all stations.
    #[must_use]
    pub fn all_counters(&self) -> &[Counters] {
        &self.counters
    }

    /// Air time of the exchanges in which others sent to each station, by category; without categories the first has
    /// all.
    #[must_use]
    pub fn air_to(&self) -> Vec<[Duration; 4]> {
        self.air_to.so_far(self.counters.iter())
    }

    /// Counters of a station's categories, in order.
    pub fn category_counters(&self, station: u32) -> impl Iterator<Item = &CategoryCounters> {
        self.contenders[self.own(station)].iter().map(|contender| &contender.counters)
    }

    /// The first packet that a station is trying to send: in no queue any more, and not yet received.
    #[must_use]
    pub fn current_frame(&self, station: u32) -> Option<PacketId> {
        self.contenders[self.own(station)].iter().find_map(|contender| {
            let window = match contender.task {
                Some(Task::Single(frame)) => return frame.undelivered(),
                Some(Task::Data(window)) => &contender.windows[window],
                _ => return None,
            };
            let first = window.mpdu(window.first_pending()?);
            (!first.is_received()).then_some(first.first)
        })
    }

    /// Number of packets in queues, held by senders, and in reordering buffers of receivers.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        let held = |contender: &Edcaf| {
            let windows: usize = contender.windows.iter().map(SendWindow::packets_held).sum();
            let single = matches!(&contender.task, Some(Task::Single(frame)) if frame.undelivered().is_some());
            contender.waiting.len() + windows + contender.packets_in_run() + usize::from(single)
        };
        self.contenders.iter().map(held).sum::<usize>() + self.deliveries.rest().len() + self.shortcuts.packets()
    }

    /// Lengths of the access points' queues over time, in the order in which the access points were given.
    #[must_use]
    pub fn ap_queues(&self) -> &[Gauge] {
        &self.ap_queues
    }

    /// Lengths of the access points' queues over time, in the order in which the access points were given.
    pub fn ap_queues_mut(&mut self) -> &mut [Gauge] {
        &mut self.ap_queues
    }

    /// Records the length of a station's queues, if it is an access point.
    fn read_gauge(&mut self, now: Time, station: usize) {
        if let Some(ap) = self.stations[station].ap {
            self.read_gauge_of(now, station, ap);
        }
    }

    /// The same, unless it is recorded already.
    #[inline(always)]
    fn read_late_gauge(&mut self, now: Time, station: usize) {
        if let Some(ap) = self.stations[station].ap
            && self.late_gauges[ap]
        {
            self.read_gauge_of(now, station, ap);
        }
    }

    /// Records the length of the queues of an access point with this index.
    #[inline(never)]
    fn read_gauge_of(&mut self, now: Time, station: usize, ap: usize) {
        let (waiting, is_full) = self.level(station);
        self.ap_queues[ap].set(now, waiting, is_full);
        self.late_gauges[ap] = false;
    }

    /// The queues of a station may have changed; their length is recorded when they next do.
    fn note_change(&mut self, station: usize) {
        if let Some(ap) = self.stations[station].ap {
            self.late_gauges[ap] = true;
        }
    }

    /// Updates the length of an access point's queues after an EDCAF, in whose queues `before` packets were waiting,
    /// has dequeued some.
    #[inline(always)]
    fn note_departures(&mut self, now: Time, index: usize, before: usize) {
        let Edcaf { station, ap: Some(ap), ref waiting, .. } = self.contenders[index] else { return };
        if self.late_gauges[ap] {
            return self.read_gauge_of(now, station, ap);
        }
        let (len, was_full) = self.ap_queues[ap].level();
        let left = len - (before - waiting.len());
        // A category of low priority is the one most often full.
        let mut own = self.own(number(station)).rev();
        let is_full = was_full && own.any(|index| self.contenders[index].waiting.is_full());
        self.ap_queues[ap].set(now, left, is_full);
        debug_assert_eq!(self.ap_queues[ap].level(), self.level(station));
    }

    /// Number of packets in the queues of a station, and whether one of them is full.
    fn level(&self, station: usize) -> (usize, bool) {
        let first = station * self.categories;
        let own = self.contenders[first..first + self.categories].iter().map(|contender| &contender.waiting);
        own.fold((0, false), |(len, is_full), waiting| (len + waiting.len(), is_full | waiting.is_full()))
    }

    /// Enqueues a packet at `station`, in the category with index `category` unless the packet's kind decides. Returns
    /// the index of the category among all of the channel, whether it had nothing to send before, and if so, whether it
    /// has something to send now.
    pub(crate) fn enqueue(
        &mut self,
        station: u32,
        category: usize,
        id: PacketId,
        call: &mut Call<'_>,
    ) -> (usize, bool, bool) {
        let now = call.now;
        self.arrive_before(now, call.packets, call.dropped);
        let packet = &call.packets[id];
        let index = self.index_for(station, category, packet);
        let contender = &mut self.contenders[index];
        self.deliveries.arrived.note(id, now);
        if let Some(rules) = &self.aggregation {
            let to = call.next_hops.of(packet);
            if rules.count_in_flight && contender.waiting_and_in_flight(to) >= contender.limit {
                call.dropped.push((id, Cause::Overflow));
                return (index, false, false);
            }
        }
        let dropped = call.dropped.len();
        contender.waiting.enqueue(now, id, call.packets, call.dropped, call.next_hops);
        if call.dropped.len() > dropped {
            // A radio may have dropped a packet of another category.
            for own in self.own(station) {
                self.contenders[own].waiting.count();
            }
        }
        self.note_change(station as usize);
        let looks = self.contenders[index].task.is_none();
        let is_loaded = looks && self.load(index, call);
        if is_loaded {
            self.find_due(index);
        }
        (index, looks, is_loaded)
    }

    /// Index, among all categories of the channel, of that which a packet joins at a station, if `category` is that of
    /// its flow.
    fn index_for(&self, station: u32, category: usize, packet: &Packet) -> usize {
        let is_legacy = self.stations[station as usize].is_legacy;
        let category = if is_legacy { AccessCategory::Be.index() } else { category };
        self.index(station, self.classifier.place(packet, category))
    }

    /// Records the length of an access point's queues after an arrival.
    pub(crate) fn after_offer(&mut self, now: Time, station: u32) {
        self.read_late_gauge(now, station as usize);
    }

    /// Determines what an EDCAF sends next: a frame that is due, retransmissions, or the next packet of its queue.
    #[inline]
    pub(crate) fn load(&mut self, index: usize, call: &mut Call<'_>) -> bool {
        if self.shortcuts.send_singly() { self.load_single(index, call) } else { self.load_into_window(index, call) }
    }

    /// The same for MPDUs of windows.
    #[inline(never)]
    fn load_into_window(&mut self, index: usize, call: &mut Call<'_>) -> bool {
        let Call { now, ref mut packets, ref mut dropped, next_hops, .. } = *call;
        let station = self.station_of(index);
        self.contenders[index].task = self.contenders[index].unfinished(now);
        if self.contenders[index].task.is_none() {
            self.enqueue_arrivals_before_next(index, now + Duration::from_nanos(1), packets);
        }
        let contender = &mut self.contenders[index];
        let rules = self.aggregation.as_ref();
        if contender.task.is_none()
            && let Some(until) =
                contender.agreement_wait(now).or_else(|| rules.and_then(|rules| contender.holds_back(now, rules)))
        {
            self.paused_queues.sleep(number(index), until);
            self.read_gauge(now, station);
            return false;
        }
        if contender.task.is_none() && contender.has_source() && self.begin_run(now, index, packets, next_hops) {
            return true; // access points, whose queue lengths are recorded, have no such source
        }
        let contender = &mut self.contenders[index];
        while contender.task.is_none()
            && let Some(id) = contender.waiting.dequeue(now, packets, dropped)
        {
            let packet = &packets[id];
            let to = next_hops.of(packet);
            let expires =
                self.aggregation.as_ref().map_or(Time::NEVER, |rules| rules.expiry(id, &self.deliveries.arrived));
            if expires <= now {
                dropped.push((id, Cause::Expired));
                continue;
            }
            let place = rate_of(&self.stations, station, to);
            let length = self.stations[place].mpdu_length(&self.access, packet, &self.stations[station]);
            contender.load_mpdu(to, Mpdu::new(id, length, expires), self.stations[place].rules.as_ref());
        }
        if self.aggregation.as_ref().is_some_and(AggregationRules::makes_agreements) {
            self.request_agreement(now, index);
        }
        let is_loaded = self.contenders[index].task.is_some();
        if !is_loaded {
            self.fall_silent(now, index);
        }
        self.read_gauge(now, station);
        is_loaded
    }

    /// Handles an EDCAF that has nothing more to send.
    #[inline]
    fn fall_silent(&mut self, now: Time, index: usize) {
        self.find_due(index);
        self.note_exhausted(index);
        let contender = &mut self.contenders[index];
        if let Some(until) = contender.waiting.retry_at(now) {
            self.paused_queues.sleep(number(index), until);
        }
    }

    /// Reports the air time of an EDCAF's finished frame to the queues at both ends, including what other categories of
    /// the station used in the meantime. `delivered` is `None` if the frame is to be sent again.
    pub(crate) fn report_air_use(&mut self, now: Time, index: usize, to: u32, delivered: Option<bool>) {
        let station = self.station_of(index);
        let mut used = self.air_use.close_to(number(station), &self.counters[station], to, delivered);
        used.rate = self.mode_towards(station, to).map(|mode| mode.tx.data_rate());
        self.contenders[index].waiting.on_air(now, &used);
        if to != BROADCAST {
            for receiver in self.own(to) {
                let back = AirUse { peer: number(station), sent: false, ..used };
                self.contenders[receiver].waiting.on_air(now, &back);
            }
        }
    }

    /// Completes an exchange of `sender` that got a response, or a broadcast: contention window and retry counts are
    /// reset (10.3.4.3). Returns whether there is more to send.
    #[inline]
    pub(crate) fn succeed(&mut self, sender: usize, call: &mut Call<'_>) -> bool {
        self.contenders[sender].in_a_row += 1;
        if self.access.cf_end {
            self.contenders[sender].note_reservation();
        }
        let delivered = self.settle(sender, true, false, call);
        let station = self.station_of(sender);
        self.counters[station].delivered += delivered;
        self.report_mode(sender, delivered);
        let contender = &mut self.contenders[sender];
        contender.contention.reset();
        let to = contender.ppdu.sole().station;
        if self.air_use.is_wanted() {
            self.report_air_use(call.now, sender, to, Some(to != BROADCAST));
        }
        self.load(sender, call)
    }

    /// Completes an exchange of `sender` without response; `by_rts` if its RTS got none. Returns whether there is more
    /// to send: the same frames or, if they were given up, the next.
    #[inline(always)]
    pub(crate) fn fail(&mut self, sender: usize, by_rts: bool, call: &mut Call<'_>) -> bool {
        let contender = &mut self.contenders[sender];
        let is_short = by_rts || !contender.ppdu.begins_with(ExchangeFrame::Rts);
        let exhausted = contender.contention.fail(&self.access, is_short);
        contender.counters.unanswered += 1;
        if !exhausted && contender.settle_single(false, by_rts).is_some() {
            return true;
        }
        self.settle_failure(sender, by_rts, exhausted, call)
    }

    /// Completes an exchange without response, as in [`Edcafs::fail`], with `exhausted` if the retry limit is reached.
    #[inline(never)]
    fn settle_failure(&mut self, sender: usize, by_rts: bool, exhausted: bool, call: &mut Call<'_>) -> bool {
        let station = self.station_of(sender);
        let contender = &mut self.contenders[sender];
        let to = contender.ppdu.sole().station;
        if contender.sends_run() && self.repeats_run(sender, call.packets) {
            return true;
        }
        let lost_before = call.losses();
        self.settle(sender, false, by_rts, call);
        if !by_rts {
            self.report_mode(sender, 0);
        } else if let Some(choice) = &mut self.stations[station].choice {
            choice.report_lost_rts(to);
        }
        let is_pending = self.is_pending(sender);
        if exhausted && is_pending && (!self.has_block_ack() || self.contenders[sender].ppdu.is_dataless()) {
            self.discard(sender, call);
        }
        if !self.has_block_ack() && is_pending && !exhausted {
            return true;
        }
        if self.air_use.is_wanted() {
            let is_over = !self.has_block_ack() || call.losses() != lost_before;
            self.report_air_use(call.now, sender, to, is_over.then_some(false));
        }
        self.load(sender, call)
    }

    /// A category of higher priority of the same station sends instead of `index`: this counts as a failed attempt of
    /// its first frame, an RTS or data below the RTS threshold (10.22.2.11.1). Returns whether there is anything to
    /// send.
    pub(crate) fn collide_internally(&mut self, index: usize, call: &mut Call<'_>) -> bool {
        let contender = &mut self.contenders[index];
        if !contender.contention.fail(&self.access, true) || self.has_block_ack() {
            return true;
        }
        self.form(index, call);
        self.settle(index, false, true, call);
        if self.is_pending(index) {
            self.discard(index, call);
        }
        if self.air_use.is_wanted() {
            self.report_air_use(call.now, index, self.contenders[index].ppdu.sole().station, Some(false));
        }
        self.load(index, call)
    }

    /// Whether the frame that `sender` has sent is still to be sent: the lifetime of its first MPDU has not ended.
    fn is_pending(&self, sender: usize) -> bool {
        let Edcaf { ppdu, windows, task, .. } = &self.contenders[sender];
        let task = task.as_ref().expect("a sender has something to send");
        if matches!(task, Task::Single(_)) {
            return true;
        }
        let window = &windows[task.window()];
        ppdu.is_dataless() || window.first_pending() == ppdu.sole().mpdus.first().map(|mpdu| mpdu.number)
    }

    /// Whether stations send in TXOPs, and so remember for whom their NAV is (10.22.2.4). Plain DCF knows no TXOP.
    pub(crate) fn has_txops(&self) -> bool {
        self.aggregation.is_some() || self.categories > 1 || self.contenders.iter().any(|own| own.txop > Duration::ZERO)
    }

    /// Whether MPDUs are acknowledged by block ACK.
    pub(crate) fn has_block_ack(&self) -> bool {
        self.aggregation.as_ref().is_some_and(|rules| rules.max_ampdu.0 > 0)
    }
}

/// The station whose rate applies between two stations: that of the receiver for frames from an access point.
fn rate_of(stations: &[Station], station: usize, to: u32) -> usize {
    if stations[station].ap.is_some() && to != BROADCAST { to as usize } else { station }
}

/// Length of the QoS control field, which data frames to and from pre-HT stations do not have (IEEE Std 802.11-2016,
/// 9.2.4.5).
const QOS_CONTROL: u64 = 2;

/// AIFS of a category: SIFS and AIFSN slots, or the channel's DIFS if AIFSN is 2.
pub(crate) fn aifs(access: &Access, category: &Category) -> Duration {
    let timing = &access.timing;
    if category.aifsn >= 2 {
        timing.difs + timing.slot * u64::from(category.aifsn - 2)
    } else {
        timing.difs.saturating_sub(timing.slot)
    }
}

pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index).expect("stations and their categories can be numbered")
}
