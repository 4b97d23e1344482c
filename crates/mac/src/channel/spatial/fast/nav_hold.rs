//! Stations whose backoff no frame changes for a while.
//!
//! Who has read the NAV of a frame and fell idle behind it does not count before the NAV is over. The channel may fall
//! busy and idle again meanwhile, as it does for the ACK: the backoff stands as it did, to be taken up at the same
//! time. So frames that end while the NAV holds need not touch such a station.

use wifair_units::Time;

use crate::channel::spatial::bitset::place;

/// Those of a word who are held, and until when: the NAV of each lasts as long, or longer, and its backoff is taken up
/// DIFS after its end.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    stations: u64,
    until: Time,
}

impl Word {
    /// Those who are held at least until `time`.
    #[inline]
    pub fn until(&self, time: Time) -> u64 {
        if time <= self.until { self.stations } else { 0 }
    }

    /// Some are held until `time`.
    #[inline]
    pub fn hold(&mut self, bits: u64, time: Time) {
        if bits == 0 {
            return;
        }
        if std::mem::replace(&mut self.until, time) != time {
            self.stations = 0; // one time for all: the others are touched as usual
        }
        self.stations |= bits;
    }

    /// Some are not held any more.
    #[inline]
    pub fn release(&mut self, bits: u64) {
        self.stations &= !bits;
    }
}

/// The stations that are held, by words.
#[derive(Clone, Debug)]
pub struct NavHolds(Vec<Word>);

impl NavHolds {
    /// None of so many.
    pub fn new(stations: usize) -> Self {
        Self(vec![Word { stations: 0, until: Time::ZERO }; stations.div_ceil(64)])
    }

    /// A word of them.
    #[inline]
    pub fn of_mut(&mut self, word: usize) -> &mut Word {
        &mut self.0[word]
    }

    /// `station` is not held any more.
    #[inline]
    pub fn release(&mut self, station: u32) {
        let (word, bit) = place(station);
        self.0[word].release(bit);
    }
}
