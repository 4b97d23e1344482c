//! Shortcuts for a whole channel, equivalent to the model but faster.
//!
//! [`SharedChannel`] is the [general channel](super::general) for the most common case: one category, single frames, no
//! records. [`super::Channel::disable_fast_paths`] and [`super::Channel::set_tap`] replace it with the general channel;
//! tests check that results are equal (`tests/suite/equality/all_hear_all.rs`). [`Channel`] also takes packets whose
//! arrivals need no events.

mod shared;

use wifair_packet::{Packet, PacketId, Packets};
use wifair_units::Time;

pub use self::shared::SharedChannel;
use super::{Channel, Discipline};
use crate::fast::{DatagramRuns, MpduLeads, SaturatedSource};
use crate::{Access, StationSettings};
use wifair_queue::Dropped;

impl Channel {
    /// A channel on which all stations hear each other, with DCF; `ap` is the number of the access point.
    #[must_use]
    pub fn dcf(access: Access, ap: u32, stations: Vec<StationSettings>) -> Self {
        let mut shared = SharedChannel::new(access, ap, stations);
        if shared.is_exact() { Self::Shared(shared) } else { Self::General(Box::new(shared.general())) }
    }

    /// Replaces the shortcut for a whole channel, if this is one, by the channel for which it stands. Must be called
    /// before any packet is offered.
    pub(super) fn replace_by_model(&mut self) {
        if let Self::Shared(shared) = self {
            *self = Self::General(Box::new(shared.general()));
        }
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

    /// A station whose queue became empty while arrivals were deferred. The caller detaches its source.
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
}
