//! Stations whose backoff no frame changes for a while.
//!
//! Who has read the NAV of a frame and fell idle behind it does not count before the NAV is over. The medium may fall busy
//! and idle again meanwhile, as it does for the ACK: the backoff stands as it did, to be taken up at the same time. So
//! frames that end while the NAV holds need not touch such a station.

use wifair_units::Time;

use super::sets::{Stations, place};

/// For each word of stations those who are held, and until when: the NAV of each lasts as long, or longer, and its backoff is
/// taken up DIFS after its end.
#[derive(Clone, Debug)]
pub struct Held {
    stations: Stations,
    until: Vec<Time>,
}

impl Held {
    /// None of so many.
    pub fn new(stations: usize) -> Self {
        Self { stations: Stations::none(stations), until: vec![Time::ZERO; stations.div_ceil(64)] }
    }

    /// Those of a word who are held at least until `time`.
    #[inline]
    pub fn until(&self, word: usize, time: Time) -> u64 {
        if time <= self.until[word] { self.stations.of(word) } else { 0 }
    }

    /// Some of a word are held until `time`.
    #[inline]
    pub fn hold(&mut self, word: usize, bits: u64, time: Time) {
        if bits == 0 {
            return;
        }
        let stations = self.stations.of_mut(word);
        if std::mem::replace(&mut self.until[word], time) != time {
            *stations = 0; // one time for all: the others are touched as usual
        }
        *stations |= bits;
    }

    /// Some of a word are not held any more.
    #[inline]
    pub fn release_all(&mut self, word: usize, bits: u64) {
        *self.stations.of_mut(word) &= !bits;
    }

    /// `station` is not held any more.
    #[inline]
    pub fn release(&mut self, station: u32) {
        let (word, bit) = place(station);
        self.release_all(word, bit);
    }
}
