//! The receiver of ns-2, for which EIFS is a NAV ([`Eifs::Nav`](super::Eifs::Nav)).
//!
//! A receiver follows the first frame that it senses, even if it cannot read that frame, and even if the frame begins
//! while the station is sending. A second frame that begins meanwhile is ignored if the first exceeds it by the capture
//! threshold: the NAV is set to EIFS after the end of the second frame, which has no further effect, not even on a
//! third frame that begins before that end. Otherwise both are lost, and the receiver follows the frame that ends last.
//! When the frame being followed ends and was not read, the NAV is set to EIFS, unless the station is sending at that
//! instant.
//!
//! In ns-2, propagation delay determines the order of frames that begin or end at the same instant: the strongest frame
//! begins first, and a station's own frame ends before a frame of another station that began with it.

use wifair_units::Time;

use super::SpatialChannel;
use super::air_accounting::lose_readers;
use super::bitset::{each, place};
use crate::BROADCAST;
use crate::channel::nav::Nav;

/// A frame that arrives at a station.
#[derive(Clone, Copy, Debug)]
pub struct Ns2Arrival {
    pub sender: u32,
    pub station: u32,
    pub now: Time,
    /// End of the frame.
    pub end: Time,
    /// Whether it can be read if nothing else is on the air.
    pub reads: bool,
    /// Power in mW.
    pub power: f64,
}

impl SpatialChannel {
    /// Handles a frame at a station that senses it. Returns whether the station will read it, unless another frame
    /// follows.
    pub(super) fn arrive(&mut self, frame: &Ns2Arrival) -> bool {
        let Ns2Arrival { sender, station, now, end, reads, power } = *frame;
        let backoff = &mut self.backoffs[station as usize];
        let signals = &mut self.signals;
        let readable = reads && !signals.sends.has(station);
        if !signals.receiving.has(station) {
            let (word, bit) = place(station);
            signals.fresh.add(word, now, bit);
            signals.receiving.put(station, true);
            signals.corrupted.put(station, !readable);
            signals.set_received(station, sender, power);
            return readable;
        }
        let other = signals.sender_at(station);
        let was_read = !signals.corrupted.has(station);
        let other_end = self.transmissions[other as usize].end;
        let mut follows = end > other_end;
        let mut clear = false;
        if signals.captures() {
            // Here ns-2 rounds the sum of air time and EIFS, but after a collision EIFS alone. So the slots of stations
            // that capture a frame are shifted against the slots of stations that do not, and the two never collide.
            let nav = |end: Time| now + self.access.round_nav(self.access.timing.eifs() + (end - now));
            if signals.keeps_reception(station, power) {
                backoff.nav.extend(Nav::new(nav(end), BROADCAST));
                return false;
            }
            if signals.fresh.has(station, now) && signals.captures_reception(sender, station, power) {
                // The arriving frame counts as the first of the two.
                backoff.nav.extend(Nav::new(nav(other_end), BROADCAST));
                follows = true;
                clear = readable;
            }
        }
        signals.corrupted.put(station, !clear);
        if follows {
            signals.set_received(station, sender, power);
        }
        if was_read {
            let (word, bit) = place(station);
            lose_readers(&mut self.transmissions[other as usize], word, bit, &mut self.accounting);
        }
        clear
    }

    /// Stations of a word whose own frame continues: they do not notice the end of the frame that they followed.
    pub(super) fn still_sending(&self, now: Time, word: usize, follow: u64) -> u64 {
        let transmission = each(word, follow & self.signals.sends.of(word));
        let goes_on = transmission.filter(|station| self.transmissions[*station as usize].end > now);
        goes_on.fold(0, |bits, station| bits | place(station).1)
    }

    /// Sets the NAV to EIFS if EIFS is a NAV and `station` could not read the last frame.
    #[inline]
    pub(super) fn extend_nav(&mut self, now: Time, station: u32) {
        if self.eifs_is_nav && self.signals.eifs_pending.has(station) {
            self.backoffs[station as usize].nav.extend(Nav::new(now + self.intervals.eifs, BROADCAST));
            self.signals.eifs_pending.put(station, false);
        }
    }
}
