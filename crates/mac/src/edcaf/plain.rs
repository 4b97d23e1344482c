//! Stations without shortcuts: frames belong to windows, and each packet is written when it is sent. Stands for
//! [`fast`](super::fast) where the feature of that name is off.

use wifair_packet::{NextHops, PacketId, Packets};
use wifair_queue::Dropped;
use wifair_units::{Duration, Time};

use super::{Call, Edcaf, Edcafs, MacEvent};

/// What shortcuts keep of all stations: nothing.
#[derive(Debug, Default)]
pub(crate) struct Shortcuts;

impl Shortcuts {
    pub const fn send_singly(&self) -> bool {
        false
    }

    pub const fn are_reliable(&self) -> bool {
        false
    }

    pub const fn next(&self) -> Time {
        Time::NEVER
    }

    pub const fn packets(&self) -> usize {
        0
    }
}

/// What shortcuts keep of an EDCAF: nothing.
#[derive(Debug, Default)]
pub(crate) struct EdcafShortcuts;

/// Cache of the air times of single frames: none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SingleAirs;

impl SingleAirs {
    pub const NONE: Self = Self;
}

/// A frame without a window: there is none.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SingleFrame {}

impl SingleFrame {
    pub const fn undelivered(&self) -> Option<PacketId> {
        match *self {}
    }

    pub const fn exchange_time(&self) -> Duration {
        match *self {}
    }
}

impl Edcaf {
    pub const fn sends_run(&self) -> bool {
        false
    }

    pub const fn packets_in_run(&self) -> usize {
        0
    }

    pub const fn unwritten(&self) -> usize {
        0
    }

    pub(super) const fn has_source(&self) -> bool {
        false
    }

    pub(super) const fn settle_single(&mut self, _answered: bool, _by_rts: bool) -> Option<u64> {
        None
    }
}

impl Edcafs {
    pub(crate) const fn append(
        &mut self,
        _now: Time,
        _station: u32,
        _category: usize,
        _id: PacketId,
        _packets: &mut Packets,
    ) -> bool {
        false
    }

    pub(crate) const fn arrive_before(&mut self, _end: Time, _packets: &mut Packets, _dropped: &mut Dropped) {}

    pub(crate) const fn take_due(
        &mut self,
        _now: Time,
        _packets: &mut Packets,
        _dropped: &mut Dropped,
    ) -> Option<(u32, usize, PacketId)> {
        None
    }

    pub(super) const fn find_due(&mut self, _index: usize) {}

    pub(super) const fn enqueue_arrivals_of(&mut self, _index: usize, _end: Time, _packets: &mut Packets) {}

    pub(super) const fn enqueue_arrivals_before_next(&mut self, _index: usize, _end: Time, _packets: &mut Packets) {}

    pub(super) const fn note_exhausted(&mut self, _index: usize) {}

    pub(crate) const fn has_exhausted(&self) -> bool {
        false
    }

    pub(super) const fn begin_run(
        &mut self,
        _now: Time,
        _index: usize,
        _packets: &mut Packets,
        _next_hops: NextHops<'_>,
    ) -> bool {
        false
    }

    pub(super) const fn form_run(&mut self, _sender: usize, _station: usize) {}

    pub(super) const fn receive_run(&mut self, _now: Time, _sender: usize) {}

    pub(super) const fn report_run(&mut self) -> Option<MacEvent> {
        None
    }

    pub(super) const fn settle_run(&mut self, _sender: usize) -> u64 {
        0
    }

    pub(super) const fn repeats_run(&mut self, _sender: usize, _packets: &mut Packets) -> bool {
        false
    }

    pub(super) const fn write_out_for(&mut self, _now: Time, _sender: usize, _place: usize, _packets: &mut Packets) {}

    pub(crate) const fn set_single_frames(&mut self, _is_on: bool) {}

    pub(super) const fn load_single(&mut self, _index: usize, _call: &mut Call<'_>) -> bool {
        false
    }

    pub(super) const fn form_single(&mut self, _sender: usize) {}

    pub(super) const fn receive_single(&mut self, _now: Time, _sender: usize) -> MacEvent {
        MacEvent::Nothing
    }

    pub(super) const fn discard_single(&mut self, _sender: usize, _retry_limit_drops: &mut Vec<(u32, PacketId)>) {}
}
