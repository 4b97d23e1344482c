//! The channel variants as one type.
//!
//! [`Channel`] is an enum instead of a trait object, so that dispatch is a branch and not a virtual call.

mod fast;
mod general;
mod nav;
mod slots;
mod spatial;

pub use fast::SharedChannel;
pub use general::GeneralChannel;
pub use spatial::{
    Bandwidth, ChannelCounters, ChannelSettings, Hearing, RadioLinks, RateSettings, SignalSettings, SpatialChannel,
};

use wifair_metrics::Histogram;
use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::{Duration, Time};

use crate::category::Category;
use crate::edcaf::{CategoryCounters, Edcaf, Edcafs};
use crate::fast::{DatagramRuns, MpduLeads, SaturatedSource};
use crate::{AirTime, Call, Counters, MacEvent, Tap};
use wifair_queue::{Discipline, Dropped, Gauge, Queue};

/// A channel and its stations.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Channel {
    /// DCF, all stations hear each other: a shortcut for the general channel.
    Shared(SharedChannel),
    /// Radio links determine which stations hear each other.
    Spatial(SpatialChannel),
    /// All stations hear each other.
    General(Box<GeneralChannel>),
}

/// A channel variant, for callers that advance it many times: generic code is compiled for each variant on its own.
pub trait ChannelVariant {
    /// The variant.
    ///
    /// # Panics
    /// If the channel is another one.
    fn of(channel: &mut Channel) -> &mut Self;

    /// See [`Channel::next`].
    fn next(&self) -> Time;

    /// See [`Channel::advance_until`].
    fn advance_until(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64);
}

macro_rules! variant {
    ($variant:ident, $channel:ty) => {
        impl ChannelVariant for $channel {
            #[inline(always)]
            fn of(channel: &mut Channel) -> &mut Self {
                let Channel::$variant(channel) = channel else { panic!("the channel is another variant") };
                channel
            }

            #[inline(always)]
            fn next(&self) -> Time {
                self.next()
            }

            #[inline(always)]
            fn advance_until(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64) {
                self.advance_until(bound, call)
            }
        }
    };
}

variant!(Shared, SharedChannel);
variant!(Spatial, SpatialChannel);
variant!(General, GeneralChannel);

macro_rules! each {
    ($self:ident, $channel:ident => $call:expr) => {
        // A single comparison for the fast channel.
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
    /// When to call [`Channel::advance_until`] next.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        each!(self, channel => channel.next())
    }

    /// Offers a packet to `station`. Returns whether [`Channel::next`] may have changed.
    #[inline]
    pub fn offer(&mut self, station: u32, id: PacketId, call: &mut Call<'_>) -> bool {
        if let Self::Shared(shared) = self {
            return shared.offer(station, id, call);
        }
        each!(self, channel => { channel.offer(station, id, call); });
        true
    }

    /// Offers a packet to a station with categories, in the one with index `category` unless the packet's kind decides.
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

    /// Advances at the time of [`Channel::next`], which must be `call.now`, and further before `bound`, until a packet
    /// is received or lost. Updates `call.now`; also returns the number of steps.
    pub fn advance_until(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64) {
        each!(self, channel => channel.advance_until(bound, call))
    }

    /// Whether a [`SaturatedSource`] may be attached to a station as the only source that feeds its queue in this
    /// category.
    #[inline]
    #[must_use]
    pub fn can_attach_source(&self, station: u32, category: usize) -> bool {
        match self {
            Self::Shared(shared) => shared.queue(station).is_full() && shared.can_attach_source(station),
            Self::General(general) => general.edcafs().can_attach_source(station, category),
            Self::Spatial(_) => false,
        }
    }

    /// Attaches the only source that feeds the queue of a station.
    ///
    /// # Panics
    /// If [`Channel::can_attach_source`] does not hold.
    pub fn attach_source(&mut self, station: u32, category: usize, source: SaturatedSource) {
        match self {
            Self::Shared(shared) => shared.attach_source(station, source),
            Self::General(general) => general.edcafs_mut().attach_source(station, category, source),
            Self::Spatial(_) => panic!("the spatial channel has no saturated sources"),
        }
    }

    /// Detaches the source of a station, if any, after enqueueing its datagrams sent before `end`.
    pub fn detach_source(&mut self, station: u32, end: Time, packets: &mut Packets) -> Option<SaturatedSource> {
        match self {
            Self::Shared(shared) => shared.detach_source(station, end, packets),
            _ => self.edcafs_mut()?.detach_source(station, end, packets),
        }
    }

    /// A station whose queue became empty while arrivals were deferred. The caller detaches its source, or delivers all
    /// further arrivals as events.
    #[inline]
    pub fn take_exhausted(&mut self) -> Option<u32> {
        match self {
            Self::Shared(shared) => shared.take_exhausted(),
            _ => self.edcafs_mut()?.take_exhausted(),
        }
    }

    /// Enqueues the datagrams that the attached sources send before `end`, then calls `show` for each source.
    pub fn enqueue_arrivals(&mut self, end: Time, packets: &mut Packets, mut show: impl FnMut(&mut SaturatedSource)) {
        if let Self::Shared(shared) = self {
            shared.enqueue_arrivals(end, packets);
            shared.attached_sources().for_each(show);
        } else if let Some(edcafs) = self.edcafs_mut() {
            edcafs.enqueue_arrivals(end, packets);
            edcafs.attached_sources().for_each(&mut show);
        }
    }

    /// Appends packets that arrive at a station at the given times to one of its queues, up to the first that does not
    /// arrive `before` a time, has another size, may not fit, or that `joins` rejects. Does nothing unless the station
    /// has something to send in this category and the arrivals have no other effect. Returns the number of packets
    /// appended.
    #[inline]
    pub fn append_train(
        &mut self,
        station: u32,
        category: usize,
        train: impl Iterator<Item = (Time, PacketId)> + Clone,
        packets: &mut Packets,
        before: Time,
        joins: impl FnMut(&mut Packet) -> bool,
    ) -> usize {
        let Self::General(general) = self else { return 0 };
        general.edcafs_mut().append_train(station, category, train, packets, before, joins)
    }

    /// Appends packets of `size` bytes that arrive at a station at once to the queue of one of its categories, if it
    /// has something to send in this category and the arrivals have no other effect. Returns the number of packets
    /// appended.
    #[inline]
    pub fn append_together(&mut self, now: Time, station: u32, category: usize, ids: &[PacketId], size: u16) -> usize {
        let Self::General(general) = self else { return 0 };
        general.edcafs_mut().append_together(now, station, category, ids, size)
    }

    /// Whether a station may [expect](Channel::expect_packet) packets.
    #[must_use]
    pub fn can_expect(&self, station: u32) -> bool {
        if let Self::General(general) = self { general.edcafs().can_expect(station) } else { false }
    }

    /// A packet will arrive at an access point at `time`, not before those expected already, in the category with index
    /// `category` unless the packet's kind decides. Returns whether [`Channel::next`] may have changed.
    ///
    /// # Panics
    /// If [`Channel::can_expect`] does not hold.
    pub fn expect_packet(
        &mut self,
        time: Time,
        station: u32,
        category: usize,
        id: PacketId,
        packets: &Packets,
    ) -> bool {
        let Self::General(general) = self else { panic!("only categories expect packets") };
        general.edcafs_mut().expect_packet(time, station, category, id, packets)
    }

    /// Packets expected before `end` join their queues, or are dropped.
    pub fn arrive_before(&mut self, end: Time, packets: &mut Packets, dropped: &mut Dropped) {
        if let Some(edcafs) = self.edcafs_mut() {
            edcafs.arrive_before(end, packets, dropped);
        }
    }

    /// Removes the next packet that receivers pass up at the same instant as the packet last reported.
    #[inline]
    pub fn take_passed_up(&mut self) -> Option<PacketId> {
        if let Self::General(general) = self { general.edcafs_mut().take_passed_up().map(|(_, id)| id) } else { None }
    }

    /// How long before its PPDU ended the packet last reported was received, if recipients pass MPDUs up one by one.
    #[inline]
    #[must_use]
    pub fn lead(&self) -> Duration {
        self.edcafs().map_or(Duration::ZERO, Edcafs::lead)
    }

    /// Removes that packet if `is_wanted` accepts it.
    #[inline]
    pub fn take_passed_up_if(&mut self, is_wanted: impl FnOnce(PacketId) -> bool) -> Option<PacketId> {
        let Self::General(general) = self else { return None };
        let edcafs = general.edcafs_mut();
        let next = edcafs.released.up.rest().first().is_some_and(|(_, id)| is_wanted(*id));
        if next { edcafs.take_passed_up().map(|(_, id)| id) } else { None }
    }

    /// The packets that receivers pass up at the same instant as the packet last reported, with their receivers.
    #[inline]
    #[must_use]
    pub fn passed_up(&self) -> &[(u32, PacketId)] {
        if let Self::General(general) = self { general.edcafs().released.up.rest() } else { &[] }
    }

    /// For each of these packets, how long before the end of its PPDU it was received, if recipients pass MPDUs up one
    /// by one.
    #[inline]
    #[must_use]
    pub fn passed_up_leads(&self) -> &[Duration] {
        if let Self::General(general) = self { general.edcafs().released.up.rest_leads() } else { &[] }
    }

    /// Removes the next `count` packets passed up.
    #[inline]
    pub fn skip_passed_up(&mut self, count: usize) {
        if let Self::General(general) = self {
            general.edcafs_mut().skip_passed_up(count);
        }
    }

    /// The datagrams reported by [`MacEvent::Datagrams`], and how long before now each was received.
    #[must_use]
    pub fn datagrams(&self, sender: u32) -> Option<(&DatagramRuns, MpduLeads)> {
        if let Self::General(general) = self { general.edcafs().datagrams(sender) } else { None }
    }

    /// Writes packets for these datagrams, which are then passed up one by one: see [`Channel::take_passed_up`].
    pub fn write_out_datagrams(&mut self, now: Time, sender: u32, packets: &mut Packets) {
        if let Self::General(general) = self {
            general.edcafs_mut().write_out_datagrams(now, sender, packets);
        }
    }

    /// The shared channel, if this is one.
    #[inline]
    pub fn as_shared(&mut self) -> Option<&mut SharedChannel> {
        if let Self::Shared(shared) = self { Some(shared) } else { None }
    }

    /// Turns off shortcuts; results stay the same. Must be called before any packet is offered.
    pub fn disable_fast_paths(&mut self) {
        match self {
            Self::Shared(shared) => {
                *self = Self::General(Box::new(shared.general()));
                self.disable_fast_paths();
            }
            Self::Spatial(channel) => channel.set_fast_paths(false),
            Self::General(general) => general.disable_fast_paths(),
        }
    }

    /// Turns records of frames and backoffs on or off. Must be called before any packet is offered.
    pub fn set_tap(&mut self, on: bool) {
        match self {
            Self::Shared(_) if on => {
                self.disable_fast_paths();
                self.set_tap(true);
            }
            Self::Shared(_) => {} // it never keeps records
            Self::Spatial(channel) => channel.set_tap(on),
            Self::General(channel) => channel.set_tap(on),
        }
    }

    /// The records, if they are on.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        match self {
            Self::Shared(_) => None,
            Self::Spatial(channel) => channel.tap(),
            Self::General(channel) => channel.tap(),
        }
    }

    /// The records, if they are on; read-only.
    #[must_use]
    pub fn records(&self) -> Option<&Tap> {
        match self {
            Self::Shared(_) => None,
            Self::Spatial(channel) => channel.records(),
            Self::General(channel) => channel.records(),
        }
    }

    /// Records the frames of the exchange in progress that have ended at `now`, which is the end of the run.
    pub fn record_ended(&mut self, now: Time, packets: &Packets) {
        if let Self::General(general) = self {
            general.record_ended(now, packets); // in space each frame is recorded when it ends
        }
    }

    /// Receivers of the broadcast last reported.
    #[must_use]
    pub fn receivers(&self) -> &[u32] {
        each!(self, channel => channel.receivers())
    }

    /// The stations with access categories, if any.
    #[must_use]
    pub fn edcafs(&self) -> Option<&Edcafs> {
        match self {
            Self::Shared(_) => None,
            Self::Spatial(spatial) => spatial.edcafs(),
            Self::General(general) => Some(general.edcafs()),
        }
    }

    fn edcafs_mut(&mut self) -> Option<&mut Edcafs> {
        match self {
            Self::Shared(_) => None,
            Self::Spatial(spatial) => spatial.edcafs_mut(),
            Self::General(general) => Some(general.edcafs_mut()),
        }
    }

    /// The queue of a station.
    #[must_use]
    pub fn queue(&self, station: u32) -> &Queue {
        each!(self, channel => channel.queue(station))
    }

    /// Number of packets queued at a station, in all of its queues.
    #[must_use]
    pub fn waiting(&self, station: u32) -> usize {
        self.edcafs().map_or_else(|| self.queue(station).len(), |edcafs| edcafs.waiting(station))
    }

    /// Number of packets marked by the queues of a station (RFC 3168).
    #[must_use]
    pub fn marks(&self, station: u32) -> u64 {
        self.edcafs().map_or_else(|| self.queue(station).marks(), |edcafs| edcafs.marks(station))
    }

    /// Sets the access parameters of an access point, from its next frame on.
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

    /// Counters of the four categories of each station; empty if stations do not have four.
    #[must_use]
    pub fn category_counters(&self) -> Vec<[CategoryCounters; 4]> {
        let Some(edcafs) = self.edcafs() else { return vec![] };
        let stations = 0..u32::try_from(edcafs.all_counters().len()).expect("stations can be numbered");
        let four = |station| edcafs.category_counters(station).copied().collect::<Vec<_>>().try_into().ok();
        stations.map_while(four).collect()
    }

    /// Counters of each station on its channel; empty if channels do not overlap.
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

    /// Restarts the measurement of [`Channel::delays`].
    pub fn restart_delays(&mut self) {
        if let Some(edcafs) = self.edcafs_mut() {
            edcafs.restart_delays();
        }
    }

    /// Counters of all stations.
    #[must_use]
    pub fn all_counters(&self) -> Vec<Counters> {
        match self {
            Self::Shared(shared) => shared.all_counters(),
            Self::Spatial(spatial) => spatial.all_counters().to_vec(),
            Self::General(general) => general.edcafs().all_counters().to_vec(),
        }
    }

    /// Air time of the exchanges in which others sent to each station, by category; without categories the first has
    /// all.
    #[must_use]
    pub fn air_to(&self) -> Vec<[Duration; 4]> {
        each!(self, channel => channel.air_to())
    }

    /// Lengths of the access points' queues over time.
    #[must_use]
    pub fn ap_queues(&self) -> &[Gauge] {
        match self {
            Self::Shared(shared) => std::slice::from_ref(shared.ap_queue()),
            Self::Spatial(spatial) => spatial.ap_queues(),
            Self::General(general) => general.edcafs().ap_queues(),
        }
    }

    /// Lengths of the access points' queues over time.
    pub fn ap_queues_mut(&mut self) -> &mut [Gauge] {
        match self {
            Self::Shared(shared) => std::slice::from_mut(shared.ap_queue_mut()),
            Self::Spatial(spatial) => spatial.ap_queues_mut(),
            Self::General(general) => general.edcafs_mut().ap_queues_mut(),
        }
    }

    /// Use of the air time until `now`.
    #[must_use]
    pub fn air_time(&self, now: Time) -> AirTime {
        each!(self, channel => channel.air_time(now))
    }

    /// How many of the [packets held](Channel::packets_held) are not in the packets' arena.
    #[must_use]
    pub fn packets_unwritten(&self) -> usize {
        let Some(edcafs) = self.edcafs() else { return 0 };
        edcafs.contenders.iter().map(Edcaf::unwritten).sum()
    }

    /// Number of packets in the queues and current frames of all stations.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        if let Some(edcafs) = self.edcafs() {
            return edcafs.packets_held();
        }
        let stations = 0..u32::try_from(self.all_counters().len()).expect("stations can be numbered");
        let held = |station| {
            let current_frame = each!(self, channel => channel.current_frame(station));
            self.queue(station).len() + usize::from(current_frame.is_some())
        };
        stations.map(held).sum()
    }
}
