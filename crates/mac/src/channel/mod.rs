//! The channels that stations share, as one type.
//!
//! [`Channel`] is an enum rather than a trait object, so that the choice of the channel is a branch and not a virtual
//! call.

mod fast;
mod general;
pub mod reference;
mod slots;
mod spatial;

pub use fast::SharedChannel;
pub use general::GeneralChannel;
pub use spatial::{
    Bandwidth, ChannelCounters, ChannelSettings, Hearing, RadioLinks, RateSettings, SignalSettings, SpatialChannel,
    WidthCounters,
};

use wifair_metrics::Histogram;
use wifair_packet::{PacketId, Packets};
use wifair_units::Time;

use crate::category::Category;
use crate::edcaf::{CategoryCounters, Edcafs};
use crate::fast::SaturatedSource;
use crate::{AirTime, Call, Counters, MacEvent, Tap};
use wifair_queue::{Discipline, Gauge, Queue};

/// A channel and its stations.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Channel {
    /// All stations hear each other, by DCF: a shortcut for the general channel.
    Shared(SharedChannel),
    /// Links determine which stations hear each other.
    Spatial(SpatialChannel),
    /// All stations hear each other.
    General(Box<GeneralChannel>),
}

macro_rules! each {
    ($self:ident, $channel:ident => $call:expr) => {
        // One comparison for the fast channel.
        if let Self::Shared($channel) = $self {
            $call
        } else {
            match $self {
                Self::Spatial($channel) => $call,
                Self::General($channel) => $call,
                Self::Shared(_) => unreachable!("it was handled above"),
            }
        }
    };
}

impl Channel {
    /// When [`Channel::advance`] is to be called next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        if let Self::Shared(cell) = self { cell.next() } else { self.next_of_others() }
    }

    #[inline(never)]
    fn next_of_others(&self) -> Time {
        each!(self, channel => channel.next())
    }

    /// `station` gets a packet to send. Returns whether [`Channel::next`] may have changed.
    #[inline]
    pub fn offer(&mut self, station: u32, id: PacketId, call: &mut Call<'_>) -> bool {
        if let Self::Shared(cell) = self {
            return cell.offer(station, id, call);
        }
        each!(self, channel => { channel.offer(station, id, call); });
        true
    }

    /// The same where stations have categories; `category` is the place of the packet's where its kind does not decide.
    /// Returns whether [`Channel::next`] may have changed.
    ///
    /// # Panics
    /// If stations have no categories.
    pub fn offer_in(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>) -> bool {
        match self {
            Self::General(general) => general.offer_in(station, category, id, call),
            Self::Spatial(spatial) => {
                spatial.offer_in(station, category, id, call);
                true
            }
            Self::Shared(_) => panic!("categories are offered packets only where there are some"),
        }
    }

    /// Goes on at the time of [`Channel::next`], which is that of the call, and then on and on before `bound`, until
    /// something was received or lost. Moves the call on, and returns how many steps were taken.
    #[inline(always)]
    pub fn advance_until(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64) {
        if let Self::Shared(cell) = self { cell.advance_until(bound, call) } else { self.advance_others(bound, call) }
    }

    #[inline(never)]
    fn advance_others(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64) {
        match self {
            Self::Spatial(space) => space.advance_until(bound, call),
            Self::General(channel) => channel.advance_until(bound, call),
            Self::Shared(_) => unreachable!("the fast channel goes on by itself"),
        }
    }

    /// Whether a source of datagrams that alone enters the queue of a station, in this category, may be left to it, as
    /// in [`SaturatedSource`].
    #[inline]
    #[must_use]
    pub fn can_attach_source(&self, station: u32, category: usize) -> bool {
        match self {
            Self::Shared(cell) => cell.queue(station).is_full() && cell.can_attach_source(station),
            Self::General(general) => general.edcafs().can_attach_source(station, category),
            Self::Spatial(_) => false,
        }
    }

    /// From now on `source` alone fills the queue of a station.
    ///
    /// # Panics
    /// If [`Channel::can_attach_source`] does not hold.
    pub fn attach_source(&mut self, station: u32, category: usize, source: SaturatedSource) {
        match self {
            Self::Shared(cell) => cell.attach_source(station, source),
            Self::General(general) => general.edcafs_mut().attach_source(station, category, source),
            Self::Spatial(_) => panic!("stations in space are told of all their packets"),
        }
    }

    /// Detaches the source of a station, if it has one, after what it sends before `end`.
    pub fn detach_source(&mut self, station: u32, end: Time, packets: &mut Packets) -> Option<SaturatedSource> {
        match self {
            Self::Shared(cell) => cell.detach_source(station, end, packets),
            Self::General(general) => general.edcafs_mut().detach_source(station, end, packets),
            Self::Spatial(_) => None,
        }
    }

    /// A station that has nothing more to send and was not told of everything. The caller takes its source, or tells of
    /// everything from now on.
    #[inline]
    pub fn take_exhausted(&mut self) -> Option<u32> {
        match self {
            Self::Shared(cell) => cell.take_exhausted(),
            Self::General(general) => general.edcafs_mut().take_exhausted(),
            Self::Spatial(_) => None,
        }
    }

    /// Takes in what the sources bring before `end`, and shows them.
    pub fn enqueue_arrivals(&mut self, end: Time, packets: &mut Packets, mut show: impl FnMut(&mut SaturatedSource)) {
        match self {
            Self::Shared(cell) => {
                cell.enqueue_arrivals(end, packets);
                cell.attached_sources().for_each(show);
            }
            Self::General(general) => {
                let edcafs = general.edcafs_mut();
                edcafs.enqueue_arrivals(end, packets);
                edcafs.attached_sources().for_each(&mut show);
            }
            Self::Spatial(_) => {}
        }
    }

    /// The next of the packets that receivers hand up in the same instant as the one that was told of last.
    #[inline]
    pub fn take_handed_up(&mut self) -> Option<PacketId> {
        if let Self::General(general) = self { general.edcafs_mut().take_handed_up().map(|(_, id)| id) } else { None }
    }

    /// The same, if `is_wanted` says so.
    #[inline]
    pub fn take_handed_up_if(&mut self, is_wanted: impl FnOnce(PacketId) -> bool) -> Option<PacketId> {
        let Self::General(general) = self else { return None };
        let edcafs = general.edcafs_mut();
        let next = edcafs.released.up.rest().first().is_some_and(|(_, id)| is_wanted(*id));
        if next { edcafs.take_handed_up().map(|(_, id)| id) } else { None }
    }

    /// The packets that receivers hand up in the same instant as the one that was told of last, and their receivers.
    #[inline]
    #[must_use]
    pub fn handed_up(&self) -> &[(u32, PacketId)] {
        if let Self::General(general) = self { general.edcafs().released.up.rest() } else { &[] }
    }

    /// The next `count` of them are told of.
    #[inline]
    pub fn skip_handed_up(&mut self, count: usize) {
        if let Self::General(general) = self {
            general.edcafs_mut().skip_handed_up(count);
        }
    }

    /// The fast one, if it is that.
    #[inline]
    pub fn as_cell(&mut self) -> Option<&mut SharedChannel> {
        if let Self::Shared(cell) = self { Some(cell) } else { None }
    }

    /// Takes shortcuts no more: results are the same. To be called before anything has happened.
    pub fn take_no_fast_paths(&mut self) {
        match self {
            Self::Shared(cell) => *self = Self::General(Box::new(cell.general())),
            Self::Spatial(channel) => channel.set_fast_paths(false),
            Self::General(_) => {} // it has none
        }
    }

    /// Keeps records of frames and backoffs, or not. To be called before anything has happened.
    pub fn set_tap(&mut self, on: bool) {
        match self {
            Self::Shared(_) if on => {
                self.take_no_fast_paths();
                self.set_tap(true);
            }
            Self::Shared(_) => {} // it keeps none
            Self::Spatial(channel) => channel.set_tap(on),
            Self::General(channel) => channel.set_tap(on),
        }
    }

    /// The records, if they are kept.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        match self {
            Self::Shared(_) => None,
            Self::Spatial(channel) => channel.tap(),
            Self::General(channel) => channel.tap(),
        }
    }

    /// The same, for reading only.
    #[must_use]
    pub fn records(&self) -> Option<&Tap> {
        match self {
            Self::Shared(_) => None,
            Self::Spatial(channel) => channel.records(),
            Self::General(channel) => channel.records(),
        }
    }

    /// Who received the broadcast that was reported last.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        each!(self, channel => channel.receivers())
    }

    /// Stations with access categories, if they have some.
    #[must_use]
    pub fn edcafs(&self) -> Option<&Edcafs> {
        match self {
            Self::Shared(_) => None,
            Self::Spatial(spatial) => spatial.edcafs(),
            Self::General(general) => Some(general.edcafs()),
        }
    }

    /// The queue of a station.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        each!(self, channel => channel.queue(station))
    }

    /// Packets that wait in a station, in whichever queue.
    #[must_use]
    pub fn waiting(&self, station: u32) -> usize {
        self.edcafs().map_or_else(|| self.queue(station).len(), |edcafs| edcafs.waiting(station))
    }

    /// Packets that the queues of a station have marked (RFC 3168).
    #[must_use]
    pub fn marks(&self, station: u32) -> u64 {
        self.edcafs().map_or_else(|| self.queue(station).marks(), |edcafs| edcafs.marks(station))
    }

    /// An access point contends by other parameters from its next frame on.
    ///
    /// # Panics
    /// If the channel has no access categories.
    pub fn set_category(&mut self, station: u32, category: &Category) {
        match self {
            Self::General(general) => general.set_category(station, category),
            Self::Spatial(spatial) => spatial.set_category(station, category),
            Self::Shared(_) => panic!("access parameters change only where there are categories"),
        }
    }

    /// What the four categories of each station did; empty where stations do not have four.
    #[must_use]
    pub fn category_counters(&self) -> Vec<[CategoryCounters; 4]> {
        let Some(edcafs) = self.edcafs() else { return vec![] };
        let stations = 0..u32::try_from(edcafs.all_counters().len()).expect("stations can be numbered");
        let four = |station| edcafs.category_counters(station).copied().collect::<Vec<_>>().try_into().ok();
        stations.map_while(four).collect()
    }

    /// What each station did on its channel; empty if channels do not overlap.
    #[must_use]
    pub fn channel_counters(&self) -> &[ChannelCounters] {
        match self {
            Self::Spatial(spatial) => spatial.channel_counters(),
            Self::Shared(_) | Self::General(_) => &[],
        }
    }

    /// Delays from the queue of a sender to the network layer of its receiver, by access category, if stations have
    /// four.
    #[must_use]
    pub fn delays(&self) -> Option<&[Histogram; 4]> {
        self.edcafs().map(Edcafs::delays)
    }

    /// Measures these delays anew.
    pub fn restart_delays(&mut self) {
        match self {
            Self::Shared(_) => {}
            Self::Spatial(spatial) => {
                if let Some(edcafs) = spatial.edcafs_mut() {
                    edcafs.restart_delays();
                }
            }
            Self::General(general) => general.edcafs_mut().restart_delays(),
        }
    }

    /// Counters of every station, in their order.
    #[must_use]
    pub fn all_counters(&self) -> Vec<Counters> {
        match self {
            Self::Shared(cell) => cell.all_counters(),
            Self::Spatial(space) => space.all_counters().to_vec(),
            Self::General(general) => general.edcafs().all_counters().to_vec(),
        }
    }

    /// The lengths of the access points' queues over time.
    #[must_use]
    pub fn ap_queues(&self) -> &[Gauge] {
        match self {
            Self::Shared(cell) => std::slice::from_ref(cell.ap_queue()),
            Self::Spatial(space) => space.ap_queues(),
            Self::General(general) => general.edcafs().ap_queues(),
        }
    }

    /// The lengths of the access points' queues over time.
    pub fn ap_queues_mut(&mut self) -> &mut [Gauge] {
        match self {
            Self::Shared(cell) => std::slice::from_mut(cell.ap_queue_mut()),
            Self::Spatial(space) => space.ap_queues_mut(),
            Self::General(general) => general.edcafs_mut().ap_queues_mut(),
        }
    }

    /// What the air was used for until `now`.
    #[must_use]
    pub fn air_time(&self, now: Time) -> AirTime {
        each!(self, channel => channel.air_time(now))
    }

    /// Packets in the queues and in the hands of all stations.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        if let Some(edcafs) = self.edcafs() {
            return edcafs.packets_held();
        }
        let stations = 0..u32::try_from(self.all_counters().len()).expect("stations can be numbered");
        let held = |station| {
            let in_hand = each!(self, channel => channel.in_hand(station));
            self.queue(station).len() + usize::from(in_hand.is_some())
        };
        stations.map(held).sum()
    }
}
