//! Frames reach those who hear them, and fade: where no two frames at one receiver can be told apart.

use wifair_units::Time;

use super::super::{BROADCAST, Eifs};
use super::calendar::Act;
use super::ear::NOTHING;
use super::links::Link;
use super::ns2::Arrival;
use super::traffic::disturb;
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
    /// A frame of `sender` reaches those who hear it.
    #[inline]
    pub(super) fn reach(&mut self, now: Time, sender: u32, end: Time) {
        let after_collision = self.access.eifs == Eifs::AfterCollision;
        let mut readers = 0;
        for place in self.links.range(sender) {
            let link = self.links.at(place);
            let ear = &mut self.ears[link.to as usize];
            ear.sensed += 1;
            if self.like_ns2 {
                let was_idle = ear.sensed == 1 && !ear.sends;
                if ear.contends && !ear.engaged && !was_idle {
                    self.calendar.postpone(link.to, end);
                }
                let arrival = Arrival { sender, station: link.to, now, end, reads: link.reads, power: 1.0 };
                readers += u32::from(self.arrive(None, &arrival));
                if was_idle {
                    self.fall_busy(now, link.to, end);
                }
                continue;
            }
            if ear.sends {
                continue;
            }
            if ear.sensed > 1 {
                if ear.contends && !ear.engaged {
                    self.calendar.postpone(link.to, end);
                }
                if ear.receives != NOTHING {
                    let other = ear.receives;
                    let was_read = !std::mem::replace(&mut ear.spoilt, true);
                    if ear.since == now && !after_collision {
                        ear.receives = NOTHING; // neither of two headers is read
                    }
                    if was_read {
                        disturb(&mut self.sendings[other as usize], link.to, &mut self.traffic);
                    }
                }
                continue;
            }
            if link.reads || after_collision {
                ear.receives = sender;
                ear.spoilt = !link.reads;
                ear.since = now;
                readers += u32::from(link.reads);
            }
            self.fall_busy(now, link.to, end);
        }
        self.sendings[sender as usize].readers = readers;
    }

    /// `station`, which sensed nothing, senses a frame until `end`.
    #[inline]
    pub(super) fn fall_busy(&mut self, now: Time, station: u32, end: Time) {
        let ear = &mut self.ears[station as usize];
        if ear.nav_check < Time::NEVER {
            ear.confirm_nav(now, &self.waits);
        }
        if !ear.engaged {
            if let Some(tap) = self.tap.as_mut().filter(|_| ear.contends && ear.left > 0) {
                tap.backoff(station, ear.from, now);
            }
            if ear.fall_busy(now, &self.waits) {
                ear.left = self.stations[station as usize].contention.draw();
            }
            if ear.contends {
                self.calendar.postpone(station, end);
            }
        }
    }

    /// The frame of `sender` is over for all who hear it, except that its receiver (if it has one) does not go on yet.
    #[inline]
    pub(super) fn fade(&mut self, now: Time, sender: u32, sending: &Sending) -> Outcome {
        let check = self.nav_check(now, sending);
        let mut fate = Outcome::default();
        let tapped = self.tap.is_some();
        if sending.to == BROADCAST {
            self.receivers.clear();
        }
        for place in self.links.range(sender) {
            let Link { to: station, reads, .. } = self.links.at(place);
            if tapped {
                self.record_hearer(station, sender, reads, false);
            }
            self.ears[station as usize].sensed -= 1;
            if self.ears[station as usize].receives == sender {
                fate.read |= match self.like_ns2 {
                    true => self.depart(now, station, sender, sending, check),
                    false => self.receive(station, sender, sending, check),
                };
            }
            if station == sending.to {
                fate.sensed = true;
            } else if self.ears[station as usize].sensed == 0 {
                self.fall_idle(now, station);
            }
        }
        fate
    }

    /// When stations that read this frame may forget its NAV.
    #[inline]
    pub(super) fn nav_check(&self, now: Time, sending: &Sending) -> Time {
        if sending.kind == Kind::Rts && self.access.nav_reset { now + self.nav_reset } else { Time::NEVER }
    }

    /// The frame that `station` was receiving ends. Whether `station` is its receiver and could read it.
    #[inline]
    pub(super) fn receive(&mut self, station: u32, sender: u32, sending: &Sending, check: Time) -> bool {
        let ear = &mut self.ears[station as usize];
        ear.receives = NOTHING;
        ear.garbled = ear.spoilt;
        if ear.spoilt {
            return false;
        }
        if sending.to == station {
            return true;
        }
        if sending.to != BROADCAST {
            if self.errors_for_all && self.is_overheard_wrong(station, sender, sending) {
                self.ears[station as usize].garbled = true;
            } else {
                self.ears[station as usize].set_nav(sending.nav, check);
            }
            return false;
        }
        let from = self.errors[sender as usize].data_from;
        if self.errors[station as usize].loses_data(from) {
            ear.garbled = true;
        } else {
            self.receivers.push(station);
        }
        false
    }

    /// `station` senses nothing any more: it takes up its backoff, or ends its exchange.
    #[inline]
    pub(super) fn fall_idle(&mut self, now: Time, station: u32) {
        let ear = &mut self.ears[station as usize];
        if !ear.engaged {
            ear.fall_idle(now, &self.waits);
            if ear.contends {
                self.calendar.set(station, ear.due(&self.waits), Act::Begin);
            }
        } else if ear.waits {
            self.finished.push(station);
        }
    }
}
