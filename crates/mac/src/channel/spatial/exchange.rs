//! Frames and their answers.

use wifair_phy::OutageProcess;
use wifair_units::{Duration, Time};

use super::air_accounting::disturb;
use super::backoff_timers::Act;
use super::bitset::place;
use super::{Call, Kind, SpatialChannel, Stage, Transmission};
use crate::{BROADCAST, MacEvent};

impl SpatialChannel {
    /// All who are due begin to send. Data that meet no other frame have ended, too, if that is before `bound`: the call
    /// is moved on to their end.
    pub(super) fn begin(&mut self, bound: Time, call: &mut Call<'_>) -> MacEvent {
        self.starters.clear();
        self.backoff_timers.take(call.now, &mut self.starters);
        self.accounting.account(call.now, &mut self.transmissions);
        if self.edca.is_some() { self.begin_categories(call) } else { self.begin_dcf(bound, call) }
    }

    /// `sender` is about to send, and hears nothing meanwhile.
    pub(super) fn turn_to_transmission(&mut self, sender: u32) {
        let backoff = &mut self.backoffs[sender as usize];
        let signals = &mut self.signals;
        if signals.receiving.has(sender) {
            if !signals.spoilt.has(sender) {
                let (word, bit) = place(sender);
                disturb(&mut self.transmissions[signals.sender_at(sender) as usize], word, bit, &mut self.accounting);
            }
            // ns-2's goes on to follow what it cannot read any more.
            signals.spoilt.put(sender, true);
            if !self.like_ns2 {
                signals.leave(sender);
            }
        }
        backoff.engaged = true;
        signals.sends.put(sender, true);
        signals.eifs_pending.put(sender, false);
    }

    /// Whether the frame that `sender` has begun is lost from the start, now that all have begun who were going to.
    pub(super) fn look_at_start(&mut self, sender: u32) {
        let transmission = &self.transmissions[sender as usize];
        // Not read from the start: because of another frame, or is it too far?
        let met = match transmission.to {
            _ if transmission.is_for_all() => transmission.readers == 0 && self.accounting.frames > 1,
            to => {
                let signals = &self.signals;
                let receives = signals.receiving.has(to).then(|| signals.sender_at(to));
                let reads = receives == Some(sender) && !signals.spoilt.has(to);
                let receives_other = receives.is_some_and(|other| other != sender);
                !reads && (receives_other || signals.sends.has(to) || signals.is_crowded(to))
            }
        };
        if met && !transmission.met {
            self.transmissions[sender as usize].met = true;
            self.accounting.met += 1;
        }
    }

    /// A frame of `sender` begins.
    pub(super) fn send(&mut self, sender: u32, transmission: Transmission) {
        self.transmissions[sender as usize] = transmission;
        self.backoff_timers.plan(sender, transmission.end, Act::End);
        self.accounting.frames += 1;
        self.accounting.sum += u64::from(sender);
        self.begin_reception(transmission.start, sender, transmission.end);
    }

    /// The frame of `sender` ends.
    pub(super) fn end(&mut self, sender: u32, call: &mut Call<'_>) -> MacEvent {
        let now = call.now;
        self.accounting.account(now, &mut self.transmissions);
        self.accounting.frames -= 1;
        self.accounting.sum -= u64::from(sender);
        let mut transmission = self.transmissions[sender as usize];
        self.accounting.met -= u32::from(transmission.met);
        self.signals.sends.put(sender, false);
        self.finished.clear();
        if self.edca.is_some() {
            self.close_reception(now, sender);
        }
        let fate = self.end_reception(now, sender, &transmission);
        if self.edca.is_some() {
            self.watch_receptions(now);
        }
        transmission.met |= fate.met;
        self.transmissions[sender as usize].met = transmission.met;
        let read = if transmission.to == BROADCAST {
            let read = !self.receivers.is_empty();
            self.read_in(sender, &transmission, read);
            read
        } else {
            let read = self.read_in(sender, &transmission, fate.read);
            if read || fate.read {
                self.signals.eifs_pending.put(transmission.to, !read);
                self.extend_nav(now, transmission.to);
            }
            read
        };
        let is_in_part = self.edca.is_some() && transmission.kind == Kind::Data && read;
        let spoilt = if is_in_part { self.spoilt_part(sender, transmission.alone) } else { Duration::ZERO };
        self.accounting.settle(&transmission, read, spoilt);
        if self.tap.is_some() {
            self.record_frame(sender, &transmission, fate.sensed, read, call.packets);
        }
        let heard = match self.edca {
            Some(_) => self.end_in(sender, &transmission, read, call),
            None => self.end_dcf(sender, &transmission, read, call),
        };
        if transmission.to != BROADCAST && (fate.sensed || self.backoffs[transmission.to as usize].resumes_when_idle) {
            self.resume(now, transmission.to);
        }
        if !self.finished.is_empty() {
            let mut finished = std::mem::take(&mut self.finished);
            finished.sort_unstable();
            for &station in &finished {
                self.conclude(station, call);
            }
            self.finished = finished;
        }
        heard
    }

    /// Whether the link of `sender`, or that of the receiver, is down while a frame is on the air.
    #[cold]
    pub(super) fn meets_outage(&mut self, sender: u32, transmission: &Transmission) -> bool {
        let is_down = |link: &mut Option<OutageProcess>| {
            link.as_mut().is_some_and(|link| link.loses(transmission.start, transmission.end))
        };
        is_down(&mut self.outages[sender as usize].from) | is_down(&mut self.outages[transmission.to as usize].to)
    }

    /// Whether `station` loses a frame that is for another to a given error probability.
    #[cold]
    pub(super) fn is_overheard_wrong(&mut self, station: u32, sender: u32, transmission: &Transmission) -> bool {
        let from = self.errors[sender as usize].data_from;
        let errors = &mut self.errors[station as usize];
        match transmission.kind {
            Kind::Data if self.stations[station as usize].ap.is_some() => errors.stream.chance(from),
            Kind::Data => errors.stream.chance(errors.data_to),
            _ => errors.loses_control(),
        }
    }

    pub(super) fn end_of_rts(
        &mut self,
        now: Time,
        sender: u32,
        transmission: &Transmission,
        read: bool,
        call: &mut Call<'_>,
    ) -> MacEvent {
        // 10.3.2.9: no CTS while the NAV says that the channel is busy.
        let nav = self.backoffs[transmission.to as usize].nav_until();
        let answers = read && (now >= nav || self.is_of_own_txop(sender, nav));
        self.answer(now, sender, transmission, answers.then_some(Kind::Cts), call);
        MacEvent::Nothing
    }

    /// The receiver of a frame answers it, or not, and the sender waits for that.
    pub(super) fn answer(
        &mut self,
        now: Time,
        sender: u32,
        transmission: &Transmission,
        answer: Option<Kind>,
        call: &mut Call<'_>,
    ) {
        let to = transmission.to as usize;
        if answer.is_some() && self.backoffs[to].resumes_when_idle {
            self.conclude(transmission.to, call);
        }
        if let Some(kind) = answer.filter(|_| !self.backoffs[to].engaged) {
            self.plan(now, transmission.to, kind, sender);
            self.stations[sender as usize].stage = Stage::Awaits;
            return;
        }
        self.stations[sender as usize].stage = Stage::Failed { met: transmission.met };
        self.backoffs[sender as usize].resumes_when_idle = true;
        self.resume(now, sender);
    }

    /// `station` sends a frame to `peer` after SIFS.
    pub(super) fn plan(&mut self, now: Time, station: u32, kind: Kind, peer: u32) {
        self.backoffs[station as usize].engaged = true;
        let state = &mut self.stations[station as usize];
        state.stage = Stage::Due(kind);
        state.peer = peer;
        self.backoff_timers.plan(station, now + self.access.timing.sifs, Act::Begin);
    }

    /// A frame that concerned `station` has ended.
    #[inline]
    pub(super) fn resume(&mut self, now: Time, station: u32) {
        if !self.signals.is_busy(station) {
            self.fall_idle(now, station);
        }
    }

    /// The channel is idle after an exchange of `station` that brought no answer, or none was due.
    fn conclude(&mut self, station: u32, call: &mut Call<'_>) {
        if self.edca.is_some() { self.conclude_in(station, call) } else { self.conclude_dcf(station, call) }
    }
}
