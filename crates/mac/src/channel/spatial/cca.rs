//! Clear channel assessment: the channel becomes busy and idle for a station.

use wifair_units::Time;

use super::{SpatialChannel, Transmission};
use crate::exchange::ExchangeFrame;

/// Outcome of a frame at its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiverFate {
    /// Whether the receiver sensed it, and may resume when it ends.
    pub sensed: bool,
    /// Whether the receiver could read it.
    pub read: bool,
    /// Whether other frames were among the causes why the receiver could not read it.
    pub collided: bool,
}

impl SpatialChannel {
    /// The idle channel becomes busy for `station`, with a frame that lasts until `end`. Returns whether the station
    /// has neither a backoff nor a frame.
    #[inline(always)]
    pub(super) fn become_busy(&mut self, now: Time, station: u32, end: Time) -> bool {
        let backoff = &self.backoffs[station as usize];
        if backoff.nav.check < Time::NEVER {
            self.confirm_nav(now, station);
        }
        let backoff = &mut self.backoffs[station as usize];
        if backoff.engaged {
            return false;
        }
        if backoff.contends {
            self.backoff_timers.postpone(station, end);
        }
        if self.edca.is_some() {
            return self.stop_categories(now, station);
        }
        if backoff.become_busy(now, &self.intervals) {
            backoff.left = self.stations[station as usize].contention.draw();
        }
        !backoff.contends && backoff.left == 0
    }

    /// When stations that read this frame may reset the NAV it sets.
    #[inline]
    pub(super) fn nav_check(&self, now: Time, transmission: &Transmission) -> Time {
        if transmission.kind == ExchangeFrame::Rts && self.access.nav_reset {
            now + self.nav_reset
        } else {
            Time::NEVER
        }
    }

    /// `station` receives a broadcast of `sender`. Returns false if it is lost to an error.
    pub(super) fn receive_for_all(&mut self, sender: u32, station: u32) -> bool {
        let from = self.errors[sender as usize].data_from;
        let is_read = !self.errors[station as usize].loses_data(from);
        if is_read {
            self.receivers.push(station);
        }
        is_read
    }

    /// The channel becomes idle for `station`: it resumes its backoff, or ends its exchange.
    #[inline(always)]
    pub(super) fn become_idle(&mut self, now: Time, station: u32) {
        let backoff = &mut self.backoffs[station as usize];
        if backoff.engaged {
            if backoff.resumes_when_idle {
                self.finished.push(station);
            }
            return;
        }
        backoff.become_idle(now, self.signals.eifs_pending.has(station), &self.intervals);
        if self.edca.is_some() {
            self.resume_categories(station);
        } else if backoff.contends {
            self.backoff_timers.set(station, backoff.due(&self.intervals));
        }
    }
}
