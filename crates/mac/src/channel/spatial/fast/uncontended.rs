//! Frames that meet no other.
//!
//! Most frames begin while nothing else is on the air, and end before anybody else can begin. Who reads such a frame
//! and who is left with EIFS follows from its sender's links alone, and who stops counting slots takes it up again at a
//! time that is known: so its begin and its end are one step.

use wifair_units::Time;

use crate::channel::spatial::bitset::{each, place};
use crate::channel::spatial::cca::ReceiverFate;
use crate::channel::spatial::rx_power::RxWord;
use crate::channel::spatial::{Call, SpatialChannel, Transmission};
use crate::{BROADCAST, MacEvent};

impl SpatialChannel {
    /// Whether a frame that `sender` begins now has the air for itself until it ends, and nobody looks at it before.
    pub(in crate::channel::spatial) fn stays_uncontended(
        &self,
        sender: u32,
        end: Time,
        bound: Time,
        call: &Call<'_>,
    ) -> bool {
        if !self.fast_paths
            || self.accounting.frames > 0
            || !self.backoff_timers.is_open()
            || end >= bound
            || end >= self.paused_queues.next()
        {
            return false;
        }
        if call.has_losses() || !self.signals.constant {
            return false;
        }
        !self.backoff_timers.interrupts(end, |word| self.audiences.at(sender, word).senses, |_, _| true)
    }

    /// `sender` sends a frame that has the air for itself.
    pub(in crate::channel::spatial) fn send_uncontended(
        &mut self,
        sender: u32,
        mut transmission: Transmission,
        call: &mut Call<'_>,
    ) -> MacEvent {
        call.now = transmission.end;
        self.accounting.accounted = transmission.end;
        transmission.alone = transmission.end - transmission.start;
        self.transmissions[sender as usize] = transmission;
        self.backoffs[sender as usize].engaged = true;
        self.signals.eifs_pending.put(sender, false);
        self.finished.clear();
        if transmission.to == BROADCAST {
            self.receivers.clear();
        }
        let fate = self.pass_to_all(sender, &transmission, true);
        self.close(sender, &mut transmission, fate, call)
    }

    /// What the frame does to all whom it reaches, from begin to end; `with_receiver`: to its receiver, too, when it
    /// begins.
    pub(in crate::channel::spatial) fn pass_to_all(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        with_receiver: bool,
    ) -> ReceiverFate {
        let dsss = self.access.timing.is_dsss(transmission.rate);
        let mut fate = ReceiverFate::default();
        for place in self.signals.rx_powers.of(sender) {
            let mut rx = self.signals.rx_powers.at(place);
            if !dsss {
                rx.reads &= !self.signals.legacy.of(rx.word as usize);
            }
            self.pass_word(sender, transmission, &rx, with_receiver, &mut fate);
        }
        fate
    }

    /// What the frame does to 64 stations, from begin to end.
    #[inline]
    fn pass_word(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        rx: &RxWord,
        with_receiver: bool,
        fate: &mut ReceiverFate,
    ) {
        let Transmission { start, end, nav, .. } = *transmission;
        let word = rx.word as usize;
        let senses = rx.senses;
        let to = if transmission.to / 64 == rx.word { place(transmission.to).1 & rx.reached } else { 0 };
        let reads = if self.like_ns2 { rx.reads } else { rx.reads & rx.clear };
        fate.read |= reads & to != 0;
        fate.sensed |= senses & to != 0;

        // It begins.
        let stopped = senses & self.alert.of(word);
        if with_receiver && stopped & to != 0 {
            let asleep = self.fall_busy(start, transmission.to, end);
            *self.alert.of_mut(word) &= if asleep { !to } else { !0 };
        }

        // It ends.
        let eifs_pending = self.signals.eifs_pending.of_mut(word);
        *eifs_pending = *eifs_pending & !reads | if self.eifs_if_unread { senses & !reads } else { 0 };
        if self.eifs_is_nav && *eifs_pending & to != 0 {
            self.extend_nav(end, transmission.to);
        }
        let for_all = transmission.to == BROADCAST || self.errors_for_all;
        let touched = senses & !to;
        let read = reads & touched;
        let announced = if for_all { self.read_for_all(sender, transmission, word, read) } else { read };
        let check = self.nav_check(end, transmission);
        let mut eifs_pending = self.signals.eifs_pending.of(word);
        let eifs_by_nav = if self.eifs_is_nav { eifs_pending & touched } else { 0 };
        eifs_pending &= !eifs_by_nav;
        *self.signals.eifs_pending.of_mut(word) = eifs_pending;
        let mut asleep = 0;
        for station in each(word, touched) {
            let (_, bit) = place(station);
            let backoff = &mut self.backoffs[station as usize];
            if stopped & bit != 0 {
                if backoff.nav_check < Time::NEVER {
                    backoff.confirm_nav(start, &self.intervals);
                }
                if backoff.fall_busy(start, &self.intervals) {
                    backoff.left = self.stations[station as usize].contention.draw();
                }
                asleep |= if backoff.contends || backoff.left > 0 { 0 } else { bit };
            }
            if announced & bit != 0 {
                backoff.set_nav(nav, check);
            }
            if eifs_by_nav & bit != 0 {
                backoff.set_nav(end + self.intervals.eifs, Time::NEVER);
            }
            backoff.fall_idle(end, eifs_pending & bit != 0, &self.intervals);
            if backoff.contends {
                self.backoff_timers.set(station, backoff.due(&self.intervals));
            }
        }
        let alert = self.alert.of_mut(word);
        *alert = *alert & !asleep | if check < Time::NEVER { read } else { 0 };
    }

    /// Which of those who could read a frame do, where errors may strike each of them, or it is for all.
    pub(in crate::channel::spatial) fn read_for_all(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        word: usize,
        read: u64,
    ) -> u64 {
        let mut announced = 0;
        for station in each(word, read) {
            if transmission.to == BROADCAST {
                self.receive_for_all(sender, station);
            } else if self.is_overheard_wrong(station, sender, transmission) {
                self.signals.eifs_pending.put(station, true);
            } else {
                announced |= place(station).1;
            }
        }
        announced
    }
}
