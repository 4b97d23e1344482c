//! Stations with access categories on the spatial channel: EDCA, aggregation and block ACK with hidden nodes.
//!
//! As on the other channels, [`edcaf`](crate::edcaf) determines what stations send; as with DCF,
//! [`signal`](super::signal) determines who hears it. This module connects them: each category of a station counts
//! slots based on the station's carrier sense and NAV, and a frame that collides may reach its receiver in part.

mod aggregate_reception;
mod category_backoff;
mod category_exchanges;
mod mpdu_errors;
mod two_navs;
mod width;

use wifair_packet::PacketId;
use wifair_phy::ModulationClass;
use wifair_units::{BitRate, Time};

use self::aggregate_reception::AggregateReception;
use self::category_backoff::CategoryBackoff;
use self::mpdu_errors::{DataChunk, OnAir};
use self::two_navs::TwoNavs;
use super::{Call, RadioLinks, SpatialChannel};
use crate::category::Category;
use crate::edcaf::{EdcaSettings, EdcaStation, Edcafs};
use crate::exchange::ExchangeFrame;
use crate::extended_response::ExtendedResponse;
use crate::frame::Ppdu;
use crate::station::Contention;
use crate::{Counters, IdleAccess, MacEvent, StationSettings};

/// See the [module](self).
#[derive(Debug)]
pub(super) struct SpatialEdca {
    pub edcafs: Edcafs,
    /// The backoff of each category, in the order of [`Edcafs::contenders`].
    backoffs: Vec<CategoryBackoff>,
    /// The category of each station that is sending or sent last.
    current: Vec<usize>,
    /// The access point of each station's BSS.
    aps: Vec<Option<u32>>,
    /// The two NAVs of each HE station.
    navs: Vec<Option<TwoNavs>>,
    /// A-MPDUs on the air.
    receptions: Vec<AggregateReception>,
    /// With bit errors: the current or last transmission of each station, if it is an HT or later PPDU.
    on_air: Vec<Option<OnAir>>,
    /// The chunks of such a PPDU that each station has received so far.
    chunks: Vec<Vec<DataChunk>>,
}

impl SpatialEdca {
    /// The category of a station that is sending or sent last.
    pub fn current_of(&self, station: u32) -> usize {
        self.current[station as usize]
    }

    /// The PPDU of the category that `station` uses or used last.
    #[inline]
    pub fn ppdu_of(&self, station: u32) -> &Ppdu {
        &self.edcafs.contenders[self.current_of(station)].ppdu
    }

    /// The contention state of the category that `station` uses or used last.
    pub fn contention_of(&mut self, station: u32) -> &mut Contention {
        &mut self.edcafs.contenders[self.current[station as usize]].contention
    }

    /// Rate of a frame of this kind in the exchange of `station`: its data or BlockAckReq, or the response.
    pub fn rate_of(&self, station: u32, kind: ExchangeFrame) -> BitRate {
        let (number, ppdu) = (station as usize, self.ppdu_of(station));
        match kind {
            ExchangeFrame::Data => self.edcafs.data_rate(number, ppdu),
            ExchangeFrame::BlockAckReq | ExchangeFrame::Action => self.edcafs.control_rate(number, ppdu.sole().station),
            _ => self.edcafs.response_rate(self.current_of(station)),
        }
    }

    /// The frame of this kind to `initiator`, if it is a response that is not in non-HT format.
    pub fn extended_response(&self, kind: ExchangeFrame, initiator: u32) -> Option<&ExtendedResponse> {
        if !matches!(kind, ExchangeFrame::Ack | ExchangeFrame::BlockAck) {
            return None;
        }
        let ppdu = self.ppdu_of(initiator);
        self.edcafs.extended_response(initiator as usize, ppdu.sole().station, ppdu.purpose)
    }

    /// Counts a block ACK addressed to `station`, received or lost.
    pub fn count_block_ack(&mut self, station: u32, read: bool) {
        let counters = &mut self.edcafs.contenders[self.current[station as usize]].counters;
        counters.block_acks += 1;
        counters.block_acks_lost += u64::from(!read);
    }

    /// The two NAVs of a station, if it is an HE station.
    fn two_navs(&mut self, station: u32) -> Option<&mut TwoNavs> {
        self.navs[station as usize].as_mut()
    }
}

impl SpatialChannel {
    /// A channel of stations with access categories; `links` determine who hears whom.
    ///
    /// # Panics
    /// If the number of links does not match, or stations differ in the number of their categories.
    #[must_use]
    pub fn with_categories(settings: EdcaSettings, links: RadioLinks) -> Self {
        let common: Vec<_> = settings.stations.iter().map(|station| &station.common).collect();
        let mut space = Self::without_queues(settings.access, &settings.aps, links, &common);
        space.set_categories(settings);
        space
    }

    /// Sets the categories of the stations; must be called before any packet is offered.
    fn set_categories(&mut self, settings: EdcaSettings) {
        let is_he = |station: &EdcaStation| station.mode.is_some() && station.newest >= ModulationClass::He;
        (0..).zip(&settings.stations).for_each(|(number, station)| self.two_navs.put(number, is_he(station)));
        let aps = settings.stations.iter().map(|station| station.ap).collect();
        let navs = settings.stations.iter().map(|station| is_he(station).then_some(TwoNavs::IDLE)).collect();
        let edcafs = Edcafs::new(settings);
        self.edca = Some(Box::new(SpatialEdca {
            aps,
            navs,
            backoffs: vec![CategoryBackoff::default(); edcafs.contenders.len()],
            current: (0..self.stations.len()).map(|station| station * edcafs.categories).collect(),
            receptions: vec![],
            on_air: vec![None; self.stations.len()],
            chunks: vec![vec![]; self.stations.len()],
            edcafs,
        }));
        self.learn_audiences();
    }

    /// Replaces the DCF shortcut with a single access category with the same parameters; must be called before any
    /// packet is offered.
    ///
    /// # Panics
    /// If a packet was offered before.
    pub(super) fn make_dcf_a_category(&mut self) {
        if self.edca.is_some() {
            return;
        }
        let mut aps: Vec<(usize, u32)> = vec![];
        let mut stations = vec![];
        let queues = std::mem::take(&mut self.queues);
        for (number, (station, (queue, errors))) in
            (0..).zip(self.stations.iter().zip(queues.into_iter().zip(&self.errors)))
        {
            assert!(
                station.frame.is_none() && self.counters[number as usize] == Counters::default(),
                "nothing happened"
            );
            aps.extend(station.ap.map(|place| (place, number)));
            stations.push(station.contention.write_to(errors.write_to(StationSettings {
                rate: station.rate,
                routing_overhead: station.routing_overhead,
                queue,
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

    /// The stations' queues and counters, mutable.
    pub fn edcafs_mut(&mut self) -> Option<&mut Edcafs> {
        self.edca.as_mut().map(|edca| &mut edca.edcafs)
    }

    /// The state of stations with categories.
    fn categories(&mut self) -> &mut SpatialEdca {
        self.edca.as_deref_mut().expect("the stations have categories")
    }

    /// Sets the parameters of a station's last category, from its next frame on.
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
            edca.backoffs[index].from = Some(from); // the current backoff continues unchanged
        }
    }

    /// Offers a packet to `station`, in the category with index `category` unless the packet's kind decides. Returns
    /// true: [`SpatialChannel::next`] may have changed.
    ///
    /// # Panics
    /// If the stations have no categories.
    pub fn offer_in(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>) -> bool {
        let now = call.now;
        let edcafs = &mut self.categories().edcafs;
        let (index, _, is_loaded) = edcafs.enqueue(station, category, id, call);
        edcafs.after_offer(now, station);
        if is_loaded {
            self.request_in(now, index);
        }
        self.next = self.upcoming();
        true
    }

    /// Starts contention for a category that had nothing to send.
    fn request_in(&mut self, now: Time, index: usize) {
        let station = crate::edcaf::number(self.categories().edcafs.station_of(index));
        if self.is_releasing(station, index) {
            return; // its backoff follows the CF-End
        }
        let Some(edca) = self.edca.as_deref_mut() else { return };
        self.alert.put(station, true);
        let backoff = &mut self.backoffs[station as usize];
        backoff.wake(self.signals.eifs_pending.has(station), &self.intervals);
        backoff.contends = true;
        let from = edca.counts_from(index, backoff.from(), self.intervals.difs);
        let contender = &mut edca.edcafs.contenders[index];
        let own = &mut edca.backoffs[index];
        own.contends = true;
        let is_engaged = backoff.engaged || self.signals.is_busy(station);
        if is_engaged || now < backoff.nav.end() {
            // 10.3.4.2: the channel is busy, so a backoff is required, unless one is pending.
            if own.left == 0 {
                own.left = contender.contention.draw();
            }
            if is_engaged {
                return;
            }
        } else if own.left <= self.intervals.slots(now.saturating_since(from)) {
            match self.access.idle_access {
                IdleAccess::Immediate => {
                    own.from = Some(contender.slot_rules.without_backoff(from, now, self.intervals.slot));
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

    /// Whether `station` responds to an RTS of `sender` that ends at `now` despite its NAV: because `sender` holds the
    /// TXOP for which it is (10.22.2.4), or because it is the TXNAV of the station.
    pub(super) fn answers_despite_nav(&self, now: Time, station: u32, sender: u32) -> bool {
        let Some(edca) = self.edca.as_deref().filter(|edca| edca.edcafs.has_txops()) else { return false };
        match &edca.navs[station as usize] {
            Some(navs) => navs.are_over_or_for(now, [sender, station]),
            None => [sender, station].contains(&self.backoffs[station as usize].nav.holder),
        }
    }

    /// Handles reordering timeouts and packets to be passed up that are due at the time of the call.
    pub(super) fn handle_due(&mut self, call: &mut Call<'_>) -> Option<MacEvent> {
        let edcafs = &mut self.edca.as_deref_mut()?.edcafs;
        if let Some(event) = edcafs.due(call) {
            return Some(event);
        }
        if self.backoff_timers.next() > call.now {
            self.wake_categories(call);
        }
        None
    }

    /// Lets the queues that held packets back look again.
    #[cold]
    fn wake_categories(&mut self, call: &mut Call<'_>) {
        while let Some(index) = self.categories().edcafs.paused_queues.wake(call.now) {
            let (index, edcafs) = (index as usize, &mut self.categories().edcafs);
            if edcafs.contenders[index].task.is_none() && edcafs.load(index, call) {
                self.request_in(call.now, index);
            }
        }
    }
}
