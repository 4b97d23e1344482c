//! The receiver of ns-2, to which EIFS is a NAV ([`Eifs::Nav`](super::Eifs::Nav)).
//!
//! It follows the first frame that it senses, whether it can read it or not, and also one that begins while it sends
//! itself. A frame that begins meanwhile is drowned if the one that is followed stands above it by the capture threshold:
//! the NAV is set to EIFS after its end, and it counts no more, not even for a frame that begins before that end.
//! Otherwise both are lost, and the one that ends last is followed. When a frame ends that was followed and not read, the
//! NAV is set to EIFS, unless the station sends at that instant.
//!
//! Of frames that begin or end at the same instant, propagation decides in ns-2: the strongest begins first, and a
//! station's own frame ends before another's that began with it.

use wifair_units::Time;

use super::ear::NOTHING;
use super::signal::Signals;
use super::traffic::disturb;
use super::{Sending, Space};

/// A frame that begins at a station.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub sender: u32,
    pub station: u32,
    pub now: Time,
    /// When it will end.
    pub end: Time,
    /// Whether it can be read, if nothing is in its way.
    pub reads: bool,
    /// In mW.
    pub power: f64,
}

impl Space {
    /// A frame arrives that its hearer senses. Whether it will be read, if nothing more happens.
    pub(super) fn arrive(&mut self, signals: Option<&mut Signals>, frame: &Arrival) -> bool {
        let Arrival { sender, station, now, end, reads, power } = *frame;
        let ear = &mut self.ears[station as usize];
        let readable = reads && !ear.sends;
        let other = ear.receives;
        let mut signals = signals.filter(|signals| signals.captures());
        if other == NOTHING {
            ear.receives = sender;
            ear.since = now;
            ear.spoilt = !readable;
            if let Some(signals) = signals {
                signals.follow(station, now, power);
            }
            return readable;
        }
        let was_read = !ear.spoilt;
        let other_end = self.sendings[other as usize].end;
        let mut follows = end > other_end;
        let mut clear = false;
        if let Some(signals) = &mut signals {
            if signals.drowns(station, power) {
                ear.set_nav(end + self.waits.eifs, Time::NEVER);
                return false;
            }
            if ear.since == now && signals.is_drowned(station, power) {
                // It is the first of the two.
                ear.set_nav(other_end + self.waits.eifs, Time::NEVER);
                follows = true;
                clear = readable;
            }
        }
        ear.spoilt = !clear;
        if follows {
            ear.receives = sender;
            if let Some(signals) = signals {
                signals.follow(station, now, power);
            }
        }
        if was_read {
            disturb(&mut self.sendings[other as usize], station, &mut self.traffic);
        }
        clear
    }

    /// The frame that `station` was following ends. Whether `station` is its receiver and could read it.
    pub(super) fn depart(&mut self, now: Time, station: u32, sender: u32, sending: &Sending, check: Time) -> bool {
        let sends_on = self.ears[station as usize].sends && self.sendings[station as usize].end > now;
        if sends_on {
            self.ears[station as usize].receives = NOTHING;
            return false;
        }
        let read = self.receive(station, sender, sending, check);
        self.extend_nav(now, station);
        read
    }

    /// `station` could not read the last frame: EIFS is due, and where it is a NAV that is set.
    #[inline]
    pub(super) fn extend_nav(&mut self, now: Time, station: u32) {
        let ear = &mut self.ears[station as usize];
        if self.eifs_is_nav && ear.garbled {
            ear.set_nav(now + self.waits.eifs, Time::NEVER);
            ear.garbled = false;
        }
    }
}
