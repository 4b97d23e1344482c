//! The channel variants as one type.
//!
//! [`Channel`] is an enum instead of a trait object, so that dispatch is a branch and not a virtual call.

#[cfg_attr(not(feature = "fast"), path = "plain.rs")]
mod fast;
mod general;
mod nav;
mod slots;
mod spatial;

#[cfg(feature = "fast")]
pub use fast::SharedChannel;
pub use general::GeneralChannel;
pub use spatial::{
    Bandwidth, ChannelCounters, ChannelSettings, Hearing, RadioLinks, RateSettings, SignalSettings, SpatialChannel,
};

use wifair_metrics::Histogram;
use wifair_packet::{PacketId, Packets};
use wifair_units::{Duration, Time};

use crate::category::Category;
use crate::edcaf::{CategoryCounters, Edcaf, Edcafs};
use crate::{AirTime, Call, Counters, MacEvent, Tap};
use wifair_queue::{Discipline, Gauge, Queue};

/// A channel and its stations.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Channel {
    /// DCF, all stations hear each other: a shortcut for the general channel.
    #[cfg(feature = "fast")]
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

#[cfg(feature = "fast")]
variant!(Shared, SharedChannel);
variant!(Spatial, SpatialChannel);
variant!(General, GeneralChannel);

macro_rules! each {
    ($self:ident, $channel:ident => $call:expr) => {
        match $self {
            #[cfg(feature = "fast")]
            Self::Shared($channel) => $call,
            Self::Spatial($channel) => $call,
            Self::General($channel) => $call,
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
        each!(self, channel => channel.offer(station, id, call))
    }

    /// Offers a packet to a station with categories, in the one with index `category` unless the packet's kind decides.
    /// Returns whether [`Channel::next`] may have changed.
    ///
    /// # Panics
    /// If stations have no categories.
    pub fn offer_in(&mut self, station: u32, category: usize, id: PacketId, call: &mut Call<'_>) -> bool {
        each!(self, channel => channel.offer_in(station, category, id, call))
    }

    /// Advances at the time of [`Channel::next`], which must be `call.now`, and further before `bound`, until a packet
    /// is received or lost. Updates `call.now`; also returns the number of steps.
    pub fn advance_until(&mut self, bound: Time, call: &mut Call<'_>) -> (MacEvent, u64) {
        each!(self, channel => channel.advance_until(bound, call))
    }

    /// Removes the next packet that receivers pass up at the same instant as the packet last reported.
    #[inline]
    pub fn take_passed_up(&mut self) -> Option<PacketId> {
        if let Self::General(general) = self { general.edcafs_mut().deliveries.take().map(|(_, id)| id) } else { None }
    }

    /// How long before its PPDU ended the packet last reported was received, if recipients pass MPDUs up one by one.
    #[inline]
    #[must_use]
    pub fn lead(&self) -> Duration {
        self.edcafs().map_or(Duration::ZERO, |edcafs| edcafs.deliveries.lead())
    }

    /// Removes that packet if `is_wanted` accepts it.
    #[inline]
    pub fn take_passed_up_if(&mut self, is_wanted: impl FnOnce(PacketId) -> bool) -> Option<PacketId> {
        let Self::General(general) = self else { return None };
        let deliveries = &mut general.edcafs_mut().deliveries;
        let next = deliveries.rest().first().is_some_and(|(_, id)| is_wanted(*id));
        if next { deliveries.take().map(|(_, id)| id) } else { None }
    }

    /// The packets that receivers pass up at the same instant as the packet last reported, with their receivers.
    #[inline]
    #[must_use]
    pub fn passed_up(&self) -> &[(u32, PacketId)] {
        if let Self::General(general) = self { general.edcafs().deliveries.rest() } else { &[] }
    }

    /// For each of these packets, how long before the end of its PPDU it was received, if recipients pass MPDUs up one
    /// by one.
    #[inline]
    #[must_use]
    pub fn passed_up_leads(&self) -> &[Duration] {
        if let Self::General(general) = self { general.edcafs().deliveries.rest_leads() } else { &[] }
    }

    /// Removes the next `count` packets passed up.
    #[inline]
    pub fn skip_passed_up(&mut self, count: usize) {
        if let Self::General(general) = self {
            general.edcafs_mut().deliveries.skip(count);
        }
    }

    /// Turns off shortcuts; results stay the same. Must be called before any packet is offered.
    pub fn disable_fast_paths(&mut self) {
        self.replace_by_model();
        each!(self, channel => channel.set_fast_paths(false));
    }

    /// Turns records of frames and backoffs on or off. Must be called before any packet is offered.
    pub fn set_tap(&mut self, on: bool) {
        if on {
            self.replace_by_model();
        }
        each!(self, channel => channel.set_tap(on));
    }

    /// The records, if they are on.
    pub fn tap(&mut self) -> Option<&mut Tap> {
        each!(self, channel => channel.tap())
    }

    /// The records, if they are on; read-only.
    #[must_use]
    pub fn records(&self) -> Option<&Tap> {
        each!(self, channel => channel.records())
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
        if let Self::General(general) = self {
            Some(general.edcafs())
        } else if let Self::Spatial(spatial) = self {
            spatial.edcafs()
        } else {
            None
        }
    }

    fn edcafs_mut(&mut self) -> Option<&mut Edcafs> {
        if let Self::General(general) = self {
            Some(general.edcafs_mut())
        } else if let Self::Spatial(spatial) = self {
            spatial.edcafs_mut()
        } else {
            None
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
        each!(self, channel => channel.set_category(station, category));
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
        if let Self::Spatial(spatial) = self { spatial.channel_counters() } else { &[] }
    }

    /// Delays from the queue of a sender to the network layer of its receiver, by access category, if stations have
    /// four.
    #[must_use]
    pub fn delays(&self) -> Option<&[Histogram; 4]> {
        self.edcafs().map(|edcafs| edcafs.deliveries.delays())
    }

    /// Restarts the measurement of [`Channel::delays`].
    pub fn restart_delays(&mut self) {
        if let Some(edcafs) = self.edcafs_mut() {
            edcafs.deliveries.restart_delays();
        }
    }

    /// Counters of all stations.
    #[must_use]
    pub fn all_counters(&self) -> Vec<Counters> {
        each!(self, channel => channel.all_counters().to_vec())
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
        each!(self, channel => channel.ap_queues())
    }

    /// Lengths of the access points' queues over time.
    pub fn ap_queues_mut(&mut self) -> &mut [Gauge] {
        each!(self, channel => channel.ap_queues_mut())
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
