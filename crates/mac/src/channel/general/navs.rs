//! NAVs of stations that all hear each other: one that most of them have, and those of the others.
//!
//! A frame sets the NAV of all stations but its sender and receiver, so few differ from the rest, and the cost of an
//! exchange does not depend on the number of stations.

use wifair_units::Time;

use crate::channel::nav::Nav;

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Navs {
    /// The NAV of all stations that are not listed apart.
    common: Nav,
    apart: Vec<(u32, Nav)>,
}

impl Navs {
    pub const IDLE: Self = Self { common: Nav::IDLE, apart: vec![] };

    /// Until when most stations have a NAV.
    pub fn end(&self) -> Time {
        self.common.end()
    }

    /// Whether there are stations whose NAV differs from that of most.
    pub fn are_apart(&self) -> bool {
        !self.apart.is_empty()
    }

    /// The stations whose NAV differs from that of most, and when it ends.
    pub fn apart(&self) -> impl Iterator<Item = (u32, Time)> {
        self.apart.iter().map(|(station, nav)| (*station, nav.end()))
    }

    /// The NAV of a station.
    pub fn of(&self, station: u32) -> Nav {
        self.apart.iter().find(|(other, _)| *other == station).map_or(self.common, |(_, nav)| *nav)
    }

    /// All stations read that the channel is reserved, except that it is until other times for both ends of an exchange
    /// and for those who have not read everything.
    pub fn set(&mut self, reserved: Nav, ends: [(u32, Time); 2], unread: &[(u32, Time)]) {
        for (station, _) in ends.iter().chain(unread) {
            self.part(*station);
        }
        for (station, nav) in &mut self.apart {
            let own = ends.iter().chain(unread).find(|(other, _)| other == station);
            nav.extend(own.map_or(reserved, |(_, until)| Nav::new(*until, reserved.holder)));
        }
        self.common.extend(reserved);
        self.join();
    }

    /// One station learns at `now` that the channel is reserved.
    pub fn set_of(&mut self, now: Time, station: u32, reserved: Nav) {
        if self.end() <= now {
            self.apart.retain(|(_, nav)| nav.end() > now);
        }
        self.part(station);
        self.apart.iter_mut().filter(|(other, _)| *other == station).for_each(|(_, nav)| nav.extend(reserved));
        self.join();
    }

    /// A frame begins, whose start stations report at `reported`.
    #[inline]
    pub fn confirm(&mut self, reported: Time) {
        if self.common.check < Time::NEVER || !self.apart.is_empty() {
            self.confirm_all(reported);
        }
    }

    #[inline(never)]
    fn confirm_all(&mut self, reported: Time) {
        self.common.confirm(reported);
        self.apart.iter_mut().for_each(|(_, nav)| nav.confirm(reported));
        self.join();
    }

    /// A CF-End that ends at `now` resets all NAVs.
    pub fn reset(&mut self, now: Time) {
        self.common.reset(now);
        self.apart.clear();
    }

    /// Lists a station apart.
    fn part(&mut self, station: u32) {
        if self.apart.iter().all(|(other, _)| *other != station) {
            self.apart.push((station, self.common));
        }
    }

    /// Removes the stations that have the same NAV as most.
    fn join(&mut self) {
        self.apart.retain(|(_, nav)| *nav != self.common);
    }
}
