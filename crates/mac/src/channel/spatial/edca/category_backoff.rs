//! The backoff of each category of a station, based on the station's carrier sense and NAV.

use wifair_units::{Duration, Time};

use super::SpatialEdca;
use crate::channel::spatial::SpatialChannel;
use crate::channel::spatial::backoff_state::Intervals;
use crate::edcaf::SlotRules;
use crate::tap::Tap;

/// Backoff of a category.
#[derive(Clone, Debug, Default)]
pub(super) struct CategoryBackoff {
    /// Slots left.
    pub left: u32,
    /// Whether it has something to send when the backoff ends.
    pub contends: bool,
    /// Whether it is about to send without backoff; it must draw one if another station sends first.
    pub immediate: bool,
    /// Start of the slot count, if different from AIFS after the channel became idle.
    pub from: Option<Time>,
}

impl SpatialEdca {
    /// Start of a category's slot count; the station's would start at `base` if AIFS were `difs`.
    pub fn counts_from(&self, index: usize, base: Time, difs: Duration) -> Time {
        self.backoffs[index].from.unwrap_or_else(|| base + self.edcafs.contenders[index].aifs - difs)
    }

    /// End of a category's backoff, if the channel stays idle.
    pub fn due(&self, index: usize, base: Time, intervals: &Intervals) -> Time {
        self.counts_from(index, base, intervals.difs) + intervals.slot * u64::from(self.backoffs[index].left)
    }

    /// Freezes a category's backoff at `now`, because of another frame.
    pub fn stop(&mut self, index: usize, base: Time, now: Time, intervals: &Intervals) {
        let from = self.counts_from(index, base, intervals.difs);
        let own = &mut self.backoffs[index];
        own.from = None;
        if std::mem::take(&mut own.immediate) {
            own.left = self.edcafs.contenders[index].contention.draw();
        } else if now >= from {
            // 10.22.2.4: an EDCA function also counts the slot boundary at which another station starts sending.
            let at_boundary = u32::from(self.edcafs.contenders[index].slot_rules == SlotRules::Edca);
            own.left = own.left.saturating_sub(intervals.slots(now - from).saturating_add(at_boundary));
        }
    }

    /// Records the slots that the categories of a station have counted until `now`.
    #[cold]
    pub fn record_backoffs(&self, tap: &mut Tap, station: u32, base: Time, now: Time, intervals: &Intervals) {
        for index in self.edcafs.own(station) {
            let own = &self.backoffs[index];
            if own.contends && own.left > 0 {
                tap.backoff(station, self.counts_from(index, base, intervals.difs), now);
            }
        }
    }

    /// Whether any category of a station has something to send.
    pub fn contends(&self, station: u32) -> bool {
        self.backoffs[self.edcafs.own(station)].iter().any(|own| own.contends)
    }
}

impl SpatialChannel {
    /// Freezes the backoffs of `station`, which senses a frame. Returns whether none has slots left or anything to
    /// send.
    pub(in crate::channel::spatial) fn stop_categories(&mut self, now: Time, station: u32) -> bool {
        let Some(edca) = self.edca.as_deref_mut() else { return false };
        let base = self.backoffs[station as usize].from();
        if let Some(tap) = &mut self.tap {
            edca.record_backoffs(tap, station, base, now, &self.intervals);
        }
        let mut is_done = true;
        for index in edca.edcafs.own(station) {
            edca.stop(index, base, now, &self.intervals);
            let own = &edca.backoffs[index];
            is_done &= !own.contends && own.left == 0;
        }
        is_done
    }

    /// The channel is idle for `station`: its categories count from AIFS later.
    pub(in crate::channel::spatial) fn resume_categories(&mut self, station: u32) {
        let edca = self.categories();
        for index in edca.edcafs.own(station) {
            let own = &mut edca.backoffs[index];
            if !own.immediate {
                own.from = None;
            }
        }
        self.set_timer(station);
    }

    /// Sets the timer of `station` to the earliest end of its backoffs.
    pub(super) fn set_timer(&mut self, station: u32) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let base = self.backoffs[station as usize].from();
        let contending = edca.edcafs.own(station).filter(|index| edca.backoffs[*index].contends);
        if let Some(first) = contending.map(|index| edca.due(index, base, &self.intervals)).min() {
            self.backoff_timers.set(station, first);
        }
    }
}
