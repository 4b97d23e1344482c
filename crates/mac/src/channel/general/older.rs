//! Stations that do not read all frames of others: those of older standards (IEEE Std 802.11-2016, 10.26).
//!
//! One that reads OFDM does read the legacy preamble of a newer PPDU, and waits EIFS after it (10.3.2.3.7). One of
//! 802.11b takes OFDM for noise, which it tells from a collision as little as others do.

use wifair_phy::{Band, ModulationClass};
use wifair_units::{BitRate, Time};

use super::GeneralChannel;
use crate::channel::nav::Nav;
use crate::edcaf::number;
use crate::{BROADCAST, Eifs};

impl GeneralChannel {
    /// The older stations that take no part in the exchange of `sender`, and the newest class that each reads.
    fn older_bystanders(&self, sender: usize) -> impl Iterator<Item = (u32, ModulationClass)> {
        let ends = [number(self.edcafs.station_of(sender)), self.edcafs.contenders[sender].ppdu.sole().station];
        self.older.iter().copied().filter(move |(station, _)| !ends.contains(station))
    }

    /// The class of a frame in non-HT format.
    fn class_at(&self, rate: BitRate) -> ModulationClass {
        if self.edcafs.access.timing.is_dsss(rate) { ModulationClass::Dsss } else { ModulationClass::ErpOfdm }
    }

    /// The class of RTS, CTS and CTS-to-self.
    pub(super) fn class_of_protection(&self) -> ModulationClass {
        self.class_at(self.edcafs.access.control_rate())
    }

    /// The class of the data of `sender`, or of a request.
    pub(super) fn class_of_data(&self, sender: usize) -> ModulationClass {
        let (ppdu, station) = (&self.edcafs.contenders[sender].ppdu, self.edcafs.station_of(sender));
        if ppdu.is_dataless() {
            return self.class_at(self.edcafs.control_rate(station, ppdu.sole().station));
        }
        let mode = self.edcafs.mode_towards(station, ppdu.sole().station).filter(|_| !ppdu.is_broadcast());
        mode.map_or_else(|| self.class_at(self.edcafs.data_rate(station, ppdu)), |mode| mode.tx.class(Band::Ghz5))
    }

    /// The class of the response to `sender`, or of a broadcast, which has none.
    fn class_of_response(&self, sender: usize) -> ModulationClass {
        let ppdu = &self.edcafs.contenders[sender].ppdu;
        if ppdu.is_broadcast() {
            return self.class_of_data(sender);
        }
        let extended = self.edcafs.extended_response(self.edcafs.station_of(sender), ppdu.sole().station, ppdu.purpose);
        match extended {
            Some(extended) => extended.mode.class(Band::Ghz5),
            None => self.class_at(self.edcafs.response_rate(sender)),
        }
    }

    /// Stations that read only the preamble of a response to `sender` that ends at `end` wait EIFS.
    pub(super) fn hold_older(&mut self, end: Time, sender: usize) {
        if !self.older.is_empty() {
            self.hold_if_unread(end, sender, self.class_of_response(sender));
            self.next = self.backoffs.next();
        }
    }

    /// The same after a frame of this class in the exchange of `sender`.
    #[inline(never)]
    pub(super) fn hold_if_unread(&mut self, end: Time, sender: usize, class: ModulationClass) {
        let mut unread = std::mem::take(&mut self.unread);
        let least = match self.edcafs.access.eifs {
            Eifs::AfterError | Eifs::Off => ModulationClass::ErpOfdm, // which read the preamble
            Eifs::AfterCollision | Eifs::Nav => ModulationClass::Dsss,
        };
        let those = self.older_bystanders(sender).filter(|(_, newest)| (least..class).contains(newest));
        unread.extend(those.map(|(station, _)| (station, end)));
        for (station, end) in unread.drain(..) {
            self.wait_after_error(end, station);
        }
        self.unread = unread;
    }

    /// When the data of `sender` ended whose exchange ends at `now`.
    pub(super) fn data_end(&self, sender: usize, now: Time) -> Time {
        let ppdu = &self.edcafs.contenders[sender].ppdu;
        if ppdu.is_broadcast() { now } else { now - ppdu.sole().response - self.edcafs.access.timing.sifs }
    }

    /// With EIFS as a NAV, the data of `sender`, and the response, which ends at `now`, set it where they are not read,
    /// whatever is read later.
    pub(super) fn set_eifs_of_older(&mut self, sender: usize, now: Time) {
        if self.older.is_empty() || self.edcafs.access.eifs != Eifs::Nav {
            return;
        }
        for (class, end) in
            [(self.class_of_data(sender), self.data_end(sender, now)), (self.class_of_response(sender), now)]
        {
            let mut unread = std::mem::take(&mut self.unread);
            let until = self.edcafs.access.after_error(end);
            let those = self.older_bystanders(sender).filter(|(_, newest)| *newest < class);
            unread.extend(those.map(|(station, _)| (station, until)));
            for (station, until) in unread.drain(..) {
                self.navs.set_of(now, station, Nav::new(until, BROADCAST));
            }
            self.unread = unread;
        }
    }

    /// The frames of the exchange of `sender`, whose data ended at `data_end`, as [`GeneralChannel::reserve`] takes
    /// them; with the response if the data `are_answered`.
    pub(super) fn frames_read(
        &self,
        sender: usize,
        data_end: Time,
        are_answered: bool,
    ) -> [(ModulationClass, Time); 3] {
        const NONE: (ModulationClass, Time) = (ModulationClass::Dsss, Time::ZERO);
        if self.older.is_empty() {
            return [NONE; 3];
        }
        let (by_rts, by_cts_to_self) = self.reserved_before(sender, data_end);
        let by_data = data_end + self.edcafs.reserved_by_data(sender, data_end);
        let by_response = || {
            let end = data_end + self.edcafs.access.timing.sifs + self.edcafs.contenders[sender].ppdu.sole().response;
            (self.class_of_response(sender), end + self.edcafs.left_of_txop(sender, end))
        };
        [
            (self.class_of_protection(), by_rts.max(by_cts_to_self)),
            (self.class_of_data(sender), by_data),
            if are_answered { by_response() } else { NONE },
        ]
    }

    /// The exchange of `sender` has reserved the channel: `reserved` for bystanders, and until these times for its two
    /// `ends`. An older bystander knows only of the `frames` that it reads, each given with its class and the end of
    /// what it reserves.
    pub(super) fn reserve(
        &mut self,
        sender: usize,
        reserved: Nav,
        ends: [(u32, Time); 2],
        frames: &[(ModulationClass, Time)],
    ) {
        let mut partly_read = std::mem::take(&mut self.unread);
        let misses = |(_, newest): &(u32, ModulationClass)| frames.iter().any(|(class, _)| class > newest);
        let until = |newest: ModulationClass| {
            let read = frames.iter().filter(|(class, _)| *class <= newest);
            read.map(|(_, until)| *until).max().unwrap_or(Time::ZERO)
        };
        let older = self.older_bystanders(sender).filter(misses);
        partly_read.extend(older.map(|(station, newest)| (station, until(newest))));
        self.navs.set(reserved, ends, &partly_read);
        partly_read.clear();
        self.unread = partly_read;
    }
}
