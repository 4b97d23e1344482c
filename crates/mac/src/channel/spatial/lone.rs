//! Frames that meet no other.
//!
//! Most frames begin while nothing else is on the air, and end before anybody else can begin. Who reads such a frame and who
//! is left with EIFS follows from its sender's links alone, and who stops counting slots takes it up again at a time that is
//! known: so its begin and its end are one step.

use wifair_packet::Packet;
use wifair_units::Time;

use super::reach::Outcome;
use super::rows::Reach;
use super::sets::{each, place};
use super::{Call, Sending, Space};
use crate::{BROADCAST, Heard};

impl Space {
    /// Whether a frame that `sender` begins now has the air for itself until it ends, and nobody looks at it before.
    pub(super) fn stays_alone<R>(&self, sender: u32, end: Time, bound: Time, call: &Call<R>) -> bool {
        if self.traffic.frames > 0 || !self.calendar.is_open() || end >= bound || end >= self.sleepers.next() {
            return false;
        }
        if self.tap.is_some() || call.has_losses() || !self.signals.constant {
            return false;
        }
        !self.calendar.interrupts(end, |word| self.shares.at(sender, word).senses, |_, _| true)
    }

    /// `sender` sends a frame that has the air for itself.
    pub(super) fn send_alone<R: Fn(&Packet) -> u32>(
        &mut self,
        sender: u32,
        mut sending: Sending,
        call: &mut Call<R>,
    ) -> Heard {
        call.now = sending.end;
        self.traffic.accounted = sending.end;
        sending.alone = sending.end - sending.start;
        self.sendings[sender as usize] = sending;
        self.ears[sender as usize].engaged = true;
        self.held.release(sender);
        self.signals.garbled.put(sender, false);
        self.finished.clear();
        if sending.to == BROADCAST {
            self.receivers.clear();
        }
        let fate = self.pass_to_all(sender, &sending, true);
        self.close(sender, &mut sending, fate, call)
    }

    /// What the frame does to all whom it reaches, from begin to end; `with_receiver`: to its receiver, too, when it begins.
    pub(super) fn pass_to_all(&mut self, sender: u32, sending: &Sending, with_receiver: bool) -> Outcome {
        let dsss = self.access.timing.is_dsss(sending.rate);
        let mut fate = Outcome::default();
        for place in self.signals.rows.of(sender) {
            let mut reach = self.signals.rows.at(place);
            if !dsss {
                reach.reads &= !self.signals.legacy.of(reach.word as usize);
            }
            self.pass_word(sender, sending, &reach, with_receiver, &mut fate);
        }
        fate
    }

    /// What the frame does to 64 stations, from begin to end.
    #[inline]
    fn pass_word(&mut self, sender: u32, sending: &Sending, reach: &Reach, with_receiver: bool, fate: &mut Outcome) {
        let Sending { start, end, nav, .. } = *sending;
        let word = reach.word as usize;
        let senses = reach.senses;
        let to = if sending.to / 64 == reach.word { place(sending.to).1 & reach.reached } else { 0 };
        let reads = if self.like_ns2 { reach.reads } else { reach.reads & reach.clear };
        fate.read |= reads & to != 0;
        fate.sensed |= senses & to != 0;

        // It begins.
        let held = self.held.of_mut(word);
        let undisturbed = held.until(end);
        held.release(senses & !undisturbed);
        let stopped = senses & !undisturbed & self.alert.of(word);
        if with_receiver && stopped & to != 0 {
            let asleep = self.fall_busy(start, sending.to, end);
            *self.alert.of_mut(word) &= if asleep { !to } else { !0 };
        }

        // It ends.
        let garbled = self.signals.garbled.of_mut(word);
        *garbled = *garbled & !reads | if self.eifs_if_unread { senses & !reads } else { 0 };
        if self.eifs_is_nav && *garbled & to != 0 {
            self.extend_nav(end, sending.to);
        }
        let for_all = sending.to == BROADCAST || self.errors_for_all;
        let held = self.held.of_mut(word);
        let mut spared = undisturbed & !self.signals.garbled.of(word);
        if for_all || held.until(nav) == 0 {
            spared &= !reads;
        }
        let touched = senses & !to & !spared;
        let read = reads & touched;
        held.release(touched);
        let announced = if for_all { self.read_for_all(sender, sending, word, read) } else { read };
        let check = self.nav_check(end, sending);
        let mut garbled = self.signals.garbled.of(word);
        let eifs_by_nav = if self.eifs_is_nav { garbled & touched } else { 0 };
        garbled &= !eifs_by_nav;
        *self.signals.garbled.of_mut(word) = garbled;
        let (mut asleep, mut checked) = (0, 0);
        for station in each(word, touched) {
            let (_, bit) = place(station);
            let ear = &mut self.ears[station as usize];
            if stopped & bit != 0 {
                if ear.nav_check < Time::NEVER {
                    ear.confirm_nav(start, &self.waits);
                }
                if ear.fall_busy(start, &self.waits) {
                    ear.left = self.stations[station as usize].contention.draw();
                }
                asleep |= if ear.contends || ear.left > 0 { 0 } else { bit };
            }
            if announced & bit != 0 {
                ear.set_nav(nav, check);
            }
            if eifs_by_nav & bit != 0 {
                ear.set_nav(end + self.waits.eifs, Time::NEVER);
            }
            ear.fall_idle(end, garbled & bit != 0, &self.waits);
            if ear.contends {
                self.calendar.set(station, ear.due(&self.waits));
            }
            checked |= if ear.nav_check < Time::NEVER { bit } else { 0 };
        }
        let alert = self.alert.of_mut(word);
        *alert = *alert & !asleep | if check < Time::NEVER { read } else { 0 };
        if sending.to != BROADCAST && nav > end {
            // EIFS that is a NAV mostly covers the answer, too.
            let covered = if nav <= end + self.waits.eifs { eifs_by_nav } else { 0 };
            self.held.of_mut(word).hold((announced | covered) & !checked, nav);
        }
    }

    /// Which of those who could read a frame do, where errors may strike each of them, or it is for all.
    pub(super) fn read_for_all(&mut self, sender: u32, sending: &Sending, word: usize, read: u64) -> u64 {
        let mut announced = 0;
        for station in each(word, read) {
            if sending.to == BROADCAST {
                self.receive_for_all(sender, station);
            } else if self.is_overheard_wrong(station, sender, sending) {
                self.signals.garbled.put(station, true);
            } else {
                announced |= place(station).1;
            }
        }
        announced
    }
}
