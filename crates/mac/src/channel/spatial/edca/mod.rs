//! Stations with access categories in space: EDCA, aggregates and block ACK beside hidden nodes.
//!
//! What stations send is in [`edcaf`](crate::edcaf), as on the channel where all hear all; who hears it is in
//! [`signal`](super::signal), as with DCF. Here is what lies between the two: each category of a station counts slots
//! on the station's own carrier sense and NAV, and a frame that others meet may reach its receiver in part.

mod aggregate_reception;
mod backoff;
mod exchange;
mod mpdu_errors;
mod width;

use wifair_packet::PacketId;
use wifair_units::{BitRate, Time};

use self::aggregate_reception::AggregateReception;
use self::backoff::CategoryBackoff;
use self::mpdu_errors::{DataStretch, OnAir};
use super::{Call, Kind, RadioLinks, SpatialChannel};
use crate::category::Category;
use crate::edcaf::{EdcaSettings, Edcafs, Ppdu};
use crate::station::Contention;
use crate::{Counters, IdleAccess, MacEvent, StationSettings};

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct SpatialEdca {
    pub edcafs: Edcafs,
    /// The backoff of each category, in the order of [`Edcafs::contenders`].
    backoffs: Vec<CategoryBackoff>,
    /// The category of each station that sends, or sent last.
    current: Vec<usize>,
    /// Until when the frames of each station's present TXOP have reserved the channel.
    txop_nav: Vec<Time>,
    /// A-MPDUs on the air.
    receptions: Vec<AggregateReception>,
    /// Where bits decide: what each station sends, or sent last, if it was a PPDU from HT on.
    on_air: Vec<Option<OnAir>>,
    /// What each station has received of the data of such a PPDU.
    stretches: Vec<Vec<DataStretch>>,
}

impl SpatialEdca {
    /// The category of a station that sends, or sent last.
    pub fn current_of(&self, station: u32) -> usize {
        self.current[station as usize]
    }

    /// The PPDU that this category sends, or sent last.
    #[inline]
    pub fn ppdu_of(&self, station: u32) -> &Ppdu {
        &self.edcafs.contenders[self.current_of(station)].ppdu
    }

    /// Its windows and retries.
    pub fn contention_of(&mut self, station: u32) -> &mut Contention {
        &mut self.edcafs.contenders[self.current[station as usize]].contention
    }

    /// Rate of its data or request, or of the answer to that.
    pub fn rate_of(&self, station: u32, kind: Kind) -> BitRate {
        let (number, ppdu) = (station as usize, self.ppdu_of(station));
        match kind {
            Kind::Data => self.edcafs.data_rate(number, ppdu),
            Kind::BlockAckReq => self.edcafs.control_rate(number, ppdu.to),
            _ => self.edcafs.response_rate(self.current_of(station)),
        }
    }

    /// A block ACK for it has come, or been lost.
    pub fn count_block_ack(&mut self, station: u32, read: bool) {
        let counters = &mut self.edcafs.contenders[self.current[station as usize]].counters;
        counters.block_acks += 1;
        counters.block_acks_lost += u64::from(!read);
    }

    /// A frame of `station` reserves the channel until then.
    pub fn reserve(&mut self, station: u32, nav: Time) {
        let reserved = &mut self.txop_nav[station as usize];
        *reserved = nav.max(*reserved);
    }
}

impl SpatialChannel {
    /// A channel of stations with access categories; `links` tell who hears whom.
    ///
    /// # Panics
    /// If the links are not those of as many stations, or stations differ in the number of their categories.
    #[must_use]
    pub fn with_categories(settings: EdcaSettings, links: RadioLinks) -> Self {
        let common = settings.stations.iter().map(|station| station.common.clone()).collect();
        let mut space = Self::new(settings.access, &settings.aps, links, common);
        space.set_categories(settings);
        space
    }

    /// Stations have categories; nothing has happened yet.
    fn set_categories(&mut self, settings: EdcaSettings) {
        let edcafs = Edcafs::new(settings);
        self.edca = Some(Box::new(SpatialEdca {
            backoffs: vec![CategoryBackoff::default(); edcafs.contenders.len()],
            current: (0..self.stations.len()).map(|station| station * edcafs.categories).collect(),
            txop_nav: vec![Time::ZERO; self.stations.len()],
            receptions: vec![],
            on_air: vec![None; self.stations.len()],
            stretches: vec![vec![]; self.stations.len()],
            edcafs,
        }));
        self.learn_audiences();
    }

    /// Stations that contend by DCF do so by the one category that DCF is, without the shortcut; nothing has happened
    /// yet.
    ///
    /// # Panics
    /// If a packet has come.
    pub(super) fn make_dcf_a_category(&mut self) {
        if self.edca.is_some() {
            return;
        }
        let mut aps: Vec<(usize, u32)> = vec![];
        let mut stations = vec![];
        for (number, (station, (queue, errors))) in
            (0..).zip(self.stations.iter().zip(self.queues.iter().zip(&self.errors)))
        {
            assert!(
                station.frame.is_none() && self.counters[number as usize] == Counters::default(),
                "nothing happened"
            );
            aps.extend(station.ap.map(|place| (place, number)));
            stations.push(station.contention.write_to(errors.write_to(StationSettings {
                rate: station.rate,
                routing_overhead: station.routing_overhead,
                queue: queue.clone(),
                ..StationSettings::plain()
            })));
        }
        aps.sort_unstable();
        let aps: Vec<u32> = aps.into_iter().map(|(_, ap)| ap).collect();
        self.set_categories(EdcaSettings::dcf(self.access, &aps, stations));
    }

    /// The stations' queues and counters, if they have access categories.
    #[must_use]
    pub fn edcafs(&self) -> Option<&Edcafs> {
        self.edca.as_ref().map(|edca| &edca.edcafs)
    }

    /// The same, to be changed.
    pub fn edcafs_mut(&mut self) -> Option<&mut Edcafs> {
        self.edca.as_mut().map(|edca| &mut edca.edcafs)
    }

    /// The state that only stations with categories have.
    fn categories(&mut self) -> &mut SpatialEdca {
        self.edca.as_deref_mut().expect("the stations have categories")
    }

    /// A station contends by other parameters from its next frame on, in its last category.
    ///
    /// # Panics
    /// If the stations have no categories.
    pub fn set_category(&mut self, station: u32, parameters: &Category) {
        let base = self.backoffs[station as usize].from();
        let difs = self.intervals.difs;
        let edca = self.categories();
        let index = edca.edcafs.index(station, edca.edcafs.categories - 1);
        let from = edca.counts_from(index, base, difs);
        if edca.edcafs.set_category(station, parameters).is_some() {
            edca.backoffs[index].from = Some(from); // the backoff under way goes on as it began
        }
    }

    /// `station` gets a packet to send; `category` is the place of its category where its kind does not decide.
    ///
    /// # Panics
    /// If the stations have no categories.
    pub fn offer_in(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>) {
        let now = call.now;
        let edcafs = &mut self.categories().edcafs;
        let (index, _, is_loaded) =
            edcafs.enqueue(now, station, category, id, call.packets, call.dropped, call.next_hops);
        edcafs.after_offer(now, station);
        if is_loaded {
            self.request_in(now, index);
        }
        self.next = self.upcoming();
    }

    /// A category that had nothing to send contends for the channel.
    fn request_in(&mut self, now: Time, index: usize) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let station = crate::edcaf::number(edca.edcafs.station_of(index));
        self.alert.put(station, true);
        let backoff = &mut self.backoffs[station as usize];
        backoff.wake(self.signals.eifs_pending.has(station), &self.intervals);
        backoff.contends = true;
        let from = edca.counts_from(index, backoff.from(), self.intervals.difs);
        let contender = &mut edca.edcafs.contenders[index];
        let own = &mut edca.backoffs[index];
        own.contends = true;
        let is_engaged = backoff.engaged || self.signals.is_busy(station);
        if is_engaged || now < backoff.nav_until() {
            // 10.3.4.2: the channel is busy, so a backoff is due, unless one is pending already.
            if own.left == 0 {
                own.left = contender.contention.draw();
            }
            if is_engaged {
                return;
            }
        } else if own.left <= self.intervals.slots(now.saturating_since(from)) {
            match self.access.idle_access {
                IdleAccess::Immediate => {
                    own.from = Some(from.max(now));
                    own.left = 0;
                    own.immediate = true;
                }
                IdleAccess::Backoff => {
                    own.from = Some(from.max(now + contender.aifs));
                    own.left = contender.contention.draw();
                }
            }
        }
        self.set_timer(station);
    }

    /// Whether a NAV is one that `sender` has set in its present TXOP: it keeps nobody from answering that station
    /// (10.22.2.4).
    pub(super) fn is_of_own_txop(&self, sender: u32, nav: Time) -> bool {
        self.edca.as_ref().is_some_and(|edca| nav <= edca.txop_nav[sender as usize])
    }

    /// What is due at the time of the call and does not depend on the air.
    pub(super) fn attend(&mut self, call: &mut Call<'_>) -> Option<MacEvent> {
        let edcafs = &mut self.edca.as_deref_mut()?.edcafs;
        if let Some(event) = edcafs.due(call.now, call.retry_limit_drops) {
            return Some(event);
        }
        if self.backoff_timers.next() > call.now {
            while let Some(index) = self.categories().edcafs.paused_queues.wake(call.now) {
                let (index, edcafs) = (index as usize, &mut self.categories().edcafs);
                if edcafs.contenders[index].task.is_none()
                    && edcafs.load(call.now, index, call.packets, call.dropped, call.next_hops)
                {
                    self.request_in(call.now, index);
                }
            }
        }
        None
    }
}
