//! The medium falls busy and idle for a station.

use wifair_units::Time;

use super::{Kind, Sending, Space};

/// What became of a frame at its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// The receiver sensed it, and may go on when it ends.
    pub sensed: bool,
    /// The receiver could read it.
    pub read: bool,
    /// The receiver could not, and other frames had a part in it.
    pub met: bool,
}

impl Space {
    /// `station`, which sensed nothing, senses a frame until `end`. Whether that is all it will do.
    #[inline(always)]
    pub(super) fn fall_busy(&mut self, now: Time, station: u32, end: Time) -> bool {
        let ear = &mut self.ears[station as usize];
        if ear.nav_check < Time::NEVER {
            ear.confirm_nav(now, &self.waits);
        }
        if ear.engaged {
            return false;
        }
        if let Some(tap) = self.tap.as_mut().filter(|_| ear.contends && ear.left > 0) {
            tap.backoff(station, ear.from(), now);
        }
        if ear.fall_busy(now, &self.waits) {
            ear.left = self.stations[station as usize].contention.draw();
        }
        if ear.contends {
            self.calendar.postpone(station, end);
        }
        !ear.contends && ear.left == 0
    }

    /// When stations that read this frame may forget its NAV.
    #[inline]
    pub(super) fn nav_check(&self, now: Time, sending: &Sending) -> Time {
        if sending.kind == Kind::Rts && self.access.nav_reset { now + self.nav_reset } else { Time::NEVER }
    }

    /// `station` reads a frame of `sender` that is for all, unless an error strikes.
    pub(super) fn receive_for_all(&mut self, sender: u32, station: u32) {
        let from = self.errors[sender as usize].data_from;
        if self.errors[station as usize].loses_data(from) {
            self.signals.garbled.put(station, true);
        } else {
            self.receivers.push(station);
        }
    }

    /// `station` senses nothing any more: it takes up its backoff, or ends its exchange. Whether it is in none, and its NAV
    /// is not to be forgotten.
    #[inline(always)]
    pub(super) fn fall_idle(&mut self, now: Time, station: u32) -> bool {
        let ear = &mut self.ears[station as usize];
        if ear.engaged {
            if ear.waits {
                self.finished.push(station);
            }
            return false;
        }
        ear.fall_idle(now, self.signals.garbled.has(station), &self.waits);
        if ear.contends {
            self.calendar.set(station, ear.due(&self.waits));
        }
        ear.nav_check == Time::NEVER
    }
}
