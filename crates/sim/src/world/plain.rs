//! A world without shortcuts: everything is an event. Stands for [`fast`](super::fast) where the feature of that name
//! is off.

use wifair_engine::Timers;
use wifair_packet::PacketId;
use wifair_units::Time;

use super::World;
use super::wired_link::EagerArrival;

/// Whether there are shortcuts.
pub(super) const AVAILABLE: bool = false;

/// Packets that have yet to join a queue: none.
#[derive(Debug, Default)]
pub(super) struct Train;

impl EagerArrival {
    /// The time before which packets put on a link now may be processed immediately: they may not.
    pub(super) const fn horizon(self, _horizon: Time, _timers: &Timers) -> Time {
        Time::ZERO
    }
}

impl World {
    pub(super) const fn find_fast_paths(&mut self) {}

    pub(super) const fn disable_fast_paths(&mut self) {}

    pub(super) fn advance_shortcut(&mut self, index: usize, _until: Time) {
        unreachable!("channel {index} is none")
    }

    pub(super) const fn only_joins_queue(&mut self, _index: usize, _from: u32, _id: PacketId) -> bool {
        false
    }

    pub(super) const fn arrive_behind(&mut self, _link: usize) {}

    pub(super) const fn join_behind(&mut self, _link: usize) {}

    pub(super) const fn arrive_all_eagerly(&mut self, _link: usize) {}

    pub(super) fn arrive_eagerly(&mut self, id: PacketId, _time: Time) {
        unreachable!("{id:?} arrives by an event")
    }

    pub(super) fn expect_at_ap(&mut self, id: PacketId, _time: Time) {
        unreachable!("{id:?} arrives by an event")
    }

    pub(super) const fn forward_passed_up(&mut self, _channel: usize) {}

    pub(super) const fn catch_up(&mut self, _end: Time) {}

    pub(super) const fn detach_source_of(&mut self, _flow: usize) {}

    pub(super) const fn resume_exhausted(&mut self, _channel: usize) {}

    pub(super) const fn leave_to_saturated_source(&mut self, _index: usize, _next: Time) -> bool {
        false
    }
}
