//! NAVs of stations that all hear each other: one that most of them have, and those of the others.
//!
//! A frame sets the NAV of all stations but its sender and receiver, so few differ from the rest, and the cost of an
//! exchange does not depend on the number of stations.

use wifair_units::Time;

/// The channel is reserved until a time, for a station that holds a TXOP or has an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservation {
    pub until: Time,
    pub holder: u32,
}

impl Reservation {
    /// Extends it to a later one.
    fn extend(&mut self, other: Self) {
        if other.until > self.until {
            *self = other;
        }
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Navs {
    /// The NAV of all stations that are not listed apart; theirs end earlier.
    common: Reservation,
    apart: Vec<(u32, Reservation)>,
}

impl Navs {
    pub const IDLE: Self = Self { common: Reservation { until: Time::ZERO, holder: 0 }, apart: vec![] };

    /// Until when most stations have a NAV.
    pub fn end(&self) -> Time {
        self.common.until
    }

    /// The stations whose NAV ends earlier, and when.
    pub fn apart(&self) -> impl Iterator<Item = (u32, Time)> {
        self.apart.iter().map(|(station, nav)| (*station, nav.until))
    }

    /// The NAV of a station.
    pub fn of(&self, station: u32) -> Reservation {
        self.apart.iter().find(|(other, _)| *other == station).map_or(self.common, |(_, nav)| *nav)
    }

    /// All stations read that the channel is reserved, except that it is for two of them until other times.
    pub fn set(&mut self, reserved: Reservation, others: [(u32, Time); 2]) {
        for (station, _) in others {
            if self.apart.iter().all(|(other, _)| *other != station) {
                self.apart.push((station, self.common));
            }
        }
        for (station, nav) in &mut self.apart {
            let own = others.iter().find(|(other, _)| other == station);
            nav.extend(Reservation { until: own.map_or(reserved.until, |(_, until)| *until), ..reserved });
        }
        self.common.extend(reserved);
        self.apart.retain(|(_, nav)| nav.until < self.common.until);
    }

    /// A CF-End that ends at `now` resets all NAVs.
    pub fn reset(&mut self, now: Time) {
        self.common.until = now;
        self.apart.clear();
    }
}
