//! Frames and their answers.

use wifair_packet::Packet;
use wifair_units::{Duration, Time};

use super::calendar::Act;
use super::reach::Outcome;
use super::sets::place;
use super::traffic::disturb;
use super::{Call, Kind, Sending, Space, Stage};
use crate::{BROADCAST, Heard};

impl Space {
    /// All who are due begin to send. If that is a single frame which nothing meets, it ends as well: before `bound`, to
    /// which the call is moved on.
    pub(super) fn begin<R: Fn(&Packet) -> u32>(&mut self, bound: Time, call: &mut Call<R>) -> Heard {
        let now = call.now;
        self.starters.clear();
        self.calendar.take(now, &mut self.starters);
        self.traffic.account(now, &mut self.sendings);
        if let [sender] = self.starters[..] {
            let kind = self.take_turn(now, sender);
            if kind == Kind::Data && self.begins_exchange(now, sender) {
                return self.leap_to_data_end(bound, call);
            }
            let sending = self.compose(now, sender, kind);
            if self.stays_alone(sender, sending.end, bound, call) {
                return self.send_alone(sender, sending, call);
            }
            self.turn_to_sending(sender);
            self.send(sender, sending);
            self.look_at_start(sender);
            return Heard::Nothing;
        }
        let starters = std::mem::take(&mut self.starters);
        for &sender in &starters {
            self.turn_to_sending(sender);
        }
        for &sender in &starters {
            let kind = self.take_turn(now, sender);
            let sending = self.compose(now, sender, kind);
            self.send(sender, sending);
        }
        for &sender in &starters {
            self.look_at_start(sender);
        }
        self.starters = starters;
        Heard::Nothing
    }

    /// `sender` is about to send, and hears nothing meanwhile.
    pub(super) fn turn_to_sending(&mut self, sender: u32) {
        let ear = &mut self.ears[sender as usize];
        let signals = &mut self.signals;
        if signals.receiving.has(sender) {
            if !signals.spoilt.has(sender) {
                let (word, bit) = place(sender);
                disturb(&mut self.sendings[signals.sender_at(sender) as usize], word, bit, &mut self.traffic);
            }
            // ns-2's goes on to follow what it cannot read any more.
            signals.spoilt.put(sender, true);
            if !self.like_ns2 {
                signals.leave(sender);
            }
        }
        ear.engaged = true;
        signals.sends.put(sender, true);
        self.held.release(sender);
        signals.garbled.put(sender, false);
    }

    /// Whether the frame that `sender` has begun is lost from the start, now that all have begun who were going to.
    pub(super) fn look_at_start(&mut self, sender: u32) {
        let sending = &self.sendings[sender as usize];
        // Not read from the start: because of another frame, or is it too far?
        let met = match sending.to {
            _ if sending.is_for_all() => sending.readers == 0 && self.traffic.frames > 1,
            to => {
                let signals = &self.signals;
                let receives = signals.receiving.has(to).then(|| signals.sender_at(to));
                let reads = receives == Some(sender) && !signals.spoilt.has(to);
                let receives_other = receives.is_some_and(|other| other != sender);
                !reads && (receives_other || signals.sends.has(to) || signals.is_crowded(to))
            }
        };
        if met && !sending.met {
            self.sendings[sender as usize].met = true;
            self.traffic.met += 1;
        }
    }

    /// Which frame `sender` sends that begins at `now`.
    #[inline(always)]
    pub(super) fn take_turn(&mut self, now: Time, sender: u32) -> Kind {
        let due = std::mem::replace(&mut self.stations[sender as usize].stage, Stage::Sends);
        match due {
            Stage::Due(kind) => kind,
            Stage::Rest => self.open(now, sender),
            stage => unreachable!("a station that begins to send contends or answers, and is not {stage:?}"),
        }
    }

    /// What `sender` sends that begins at `now`.
    pub(super) fn compose(&self, now: Time, sender: u32, kind: Kind) -> Sending {
        let timing = &self.access.timing;
        let station = &self.stations[sender as usize];
        let (to, rate, air, reserves) = match kind {
            Kind::Shield | Kind::Rts | Kind::Data => {
                let frame = station.frame.as_ref().expect("a sender has a frame");
                let is_broadcast = frame.to == BROADCAST;
                let after_data = if is_broadcast { Duration::ZERO } else { timing.sifs + frame.ack };
                match kind {
                    Kind::Shield => {
                        let rate = self.access.protection.expect("frames are protected");
                        let air = timing.frame(timing.sizes.cts, rate);
                        (sender, rate, air, timing.sifs + frame.air + after_data)
                    }
                    Kind::Rts => {
                        let reserves = timing.sifs + self.cts + timing.sifs + frame.air + after_data;
                        (frame.to, self.guard_rate, self.rts, reserves)
                    }
                    _ => (frame.to, frame.rate, frame.air, after_data),
                }
            }
            Kind::Cts => (station.peer, self.guard_rate, self.cts, Duration::ZERO),
            Kind::Ack => {
                let asked = self.stations[station.peer as usize].frame.as_ref().expect("a sender of data has a frame");
                (station.peer, timing.answer_rate(asked.rate), asked.ack, Duration::ZERO)
            }
        };
        let end = now + air;
        // A CTS announces what the RTS did.
        let nav = match kind {
            Kind::Cts => self.sendings[to as usize].nav,
            _ => end + self.access.round_nav(reserves),
        };
        Sending { kind, to, rate, start: now, end, nav, readers: 0, met: false, alone: Duration::ZERO }
    }

    /// A frame of `sender` begins.
    pub(super) fn send(&mut self, sender: u32, sending: Sending) {
        self.sendings[sender as usize] = sending;
        self.calendar.plan(sender, sending.end, Act::End);
        self.traffic.frames += 1;
        self.traffic.sum += u64::from(sender);
        self.reach(sending.start, sender, sending.end);
    }

    /// `sender`, which contended, opens an exchange. With which frame.
    fn open(&mut self, now: Time, sender: u32) -> Kind {
        let ear = &mut self.ears[sender as usize];
        if let Some(tap) = self.tap.as_mut().filter(|_| ear.left > 0) {
            tap.backoff(sender, ear.from(), now);
        }
        ear.contends = false;
        ear.immediate = false;
        ear.left = 0;
        self.counters[sender as usize].attempts += 1;
        let is_unicast = self.stations[sender as usize].frame.is_some_and(|frame| frame.to != BROADCAST);
        if is_unicast && self.rates.is_some() {
            self.choose_rate(now, sender);
        }
        let frame = self.stations[sender as usize].frame.as_ref().expect("a sender has a frame");
        if is_unicast && self.access.protects(frame.length) {
            Kind::Rts
        } else if self.access.protection.is_some() && !self.access.timing.is_dsss(frame.rate) {
            Kind::Shield
        } else {
            Kind::Data
        }
    }

    /// The frame of `sender` ends.
    pub(super) fn end<R: Fn(&Packet) -> u32>(&mut self, sender: u32, call: &mut Call<R>) -> Heard {
        let now = call.now;
        self.traffic.account(now, &mut self.sendings);
        self.traffic.frames -= 1;
        self.traffic.sum -= u64::from(sender);
        let mut sending = self.sendings[sender as usize];
        self.traffic.met -= u32::from(sending.met);
        self.signals.sends.put(sender, false);
        self.finished.clear();
        let fate = self.fade(now, sender, &sending);
        self.close(sender, &mut sending, fate, call)
    }

    /// A frame of `sender` has ended, and nobody hears it any more.
    pub(super) fn close<R: Fn(&Packet) -> u32>(
        &mut self,
        sender: u32,
        sending: &mut Sending,
        fate: Outcome,
        call: &mut Call<R>,
    ) -> Heard {
        let now = call.now;
        let mut read = fate.read;
        sending.met |= fate.met;
        self.sendings[sender as usize].met = sending.met;
        if sending.to == BROADCAST {
            read = !self.receivers.is_empty();
        } else {
            self.held.release(sending.to);
            if read {
                self.signals.garbled.put(sending.to, false);
                if self.lossy && self.is_lost(sender, sending) {
                    read = false;
                    self.signals.garbled.put(sending.to, true);
                    self.extend_nav(now, sending.to);
                }
            }
        }
        self.traffic.settle(sending, read);
        if self.tap.is_some() {
            self.record_frame(sender, sending, fate.sensed, read, call.packets);
        }
        let heard = match sending.kind {
            Kind::Shield => {
                self.counters[sender as usize].control += sending.end - sending.start;
                self.plan(now, sender, Kind::Data, sender);
                Heard::Nothing
            }
            Kind::Rts => self.end_of_rts(now, sender, sending, read, call),
            Kind::Cts | Kind::Ack => self.end_of_answer(now, sender, sending, read, call),
            Kind::Data => self.end_of_data(now, sender, sending, read, call),
        };
        if sending.to != BROADCAST && (fate.sensed || self.ears[sending.to as usize].waits) {
            self.resume(now, sending.to);
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

    /// Whether a frame that its receiver could read is lost to a given error probability.
    fn is_lost(&mut self, sender: u32, sending: &Sending) -> bool {
        let from = self.errors[sender as usize].data_from;
        let errors = &mut self.errors[sending.to as usize];
        if sending.kind == Kind::Data { errors.loses_data(from) } else { errors.loses_control() }
    }

    /// Whether `station` loses a frame that is for another to a given error probability.
    #[cold]
    pub(super) fn is_overheard_wrong(&mut self, station: u32, sender: u32, sending: &Sending) -> bool {
        let from = self.errors[sender as usize].data_from;
        let errors = &mut self.errors[station as usize];
        match sending.kind {
            Kind::Data if self.stations[station as usize].hub.is_some() => errors.stream.chance(from),
            Kind::Data => errors.stream.chance(errors.data_to),
            _ => errors.loses_control(),
        }
    }

    fn end_of_rts<R: Fn(&Packet) -> u32>(
        &mut self,
        now: Time,
        sender: u32,
        sending: &Sending,
        read: bool,
        call: &mut Call<R>,
    ) -> Heard {
        // 10.3.2.9: no CTS while the NAV says that the medium is busy.
        let answers = read && now >= self.ears[sending.to as usize].nav_until();
        self.answer(now, sender, sending, answers.then_some(Kind::Cts), call);
        Heard::Nothing
    }

    fn end_of_data<R: Fn(&Packet) -> u32>(
        &mut self,
        now: Time,
        sender: u32,
        sending: &Sending,
        read: bool,
        call: &mut Call<R>,
    ) -> Heard {
        let frame = self.stations[sender as usize].frame.as_mut().expect("a sender of data has a frame");
        let is_new = read && !frame.received;
        frame.received |= read;
        let (id, air) = (frame.id, frame.air);
        let protected = sending.to != BROADCAST && self.access.protects(frame.length);
        let counters = &mut self.counters[sender as usize];
        if protected {
            counters.control += self.rts + self.cts;
        }
        if !sending.met {
            counters.data += air;
        }
        if sending.to == BROADCAST {
            self.stations[sender as usize].stage = Stage::Sent;
            self.ears[sender as usize].waits = true;
            self.resume(now, sender);
            return if is_new { Heard::Broadcast { from: sender, id } } else { Heard::Nothing };
        }
        self.answer(now, sender, sending, read.then_some(Kind::Ack), call);
        if is_new { Heard::Packet { to: sending.to, id } } else { Heard::Nothing }
    }

    /// The receiver of a frame answers it, or not, and the sender waits for that.
    fn answer<R: Fn(&Packet) -> u32>(
        &mut self,
        now: Time,
        sender: u32,
        sending: &Sending,
        answer: Option<Kind>,
        call: &mut Call<R>,
    ) {
        let to = sending.to as usize;
        if answer.is_some() && self.ears[to].waits {
            self.conclude(sending.to, call);
        }
        if let Some(kind) = answer.filter(|_| !self.ears[to].engaged) {
            self.plan(now, sending.to, kind, sender);
            self.stations[sender as usize].stage = Stage::Awaits;
            return;
        }
        self.stations[sender as usize].stage = Stage::Failed { met: sending.met };
        self.ears[sender as usize].waits = true;
        self.resume(now, sender);
    }

    /// `station` sends a frame to `peer` after SIFS.
    fn plan(&mut self, now: Time, station: u32, kind: Kind, peer: u32) {
        self.ears[station as usize].engaged = true;
        self.held.release(station);
        let state = &mut self.stations[station as usize];
        state.stage = Stage::Due(kind);
        state.peer = peer;
        self.calendar.plan(station, now + self.access.timing.sifs, Act::Begin);
    }

    /// A frame that concerned `station` has ended.
    #[inline]
    fn resume(&mut self, now: Time, station: u32) {
        if !self.signals.is_busy(station) {
            self.fall_idle(now, station);
        }
    }

    /// A CTS or an ACK ends.
    fn end_of_answer<R: Fn(&Packet) -> u32>(
        &mut self,
        now: Time,
        sender: u32,
        sending: &Sending,
        read: bool,
        call: &mut Call<R>,
    ) -> Heard {
        self.stations[sender as usize].stage = Stage::Rest;
        self.ears[sender as usize].engaged = false;
        self.held.release(sender);
        if self.eifs_is_nav && sending.kind == Kind::Cts {
            // ns-2 awaits the data that it has admitted, also where these do not come.
            let asked = self.stations[sending.to as usize].frame.as_ref().expect("a sender of RTS has a frame");
            let until = now + self.access.timing.sifs + asked.air;
            self.ears[sender as usize].set_nav(until, Time::NEVER);
        }
        self.resume(now, sender);
        let to = sending.to;
        if sending.kind == Kind::Ack {
            self.counters[to as usize].control += sending.end - sending.start;
        }
        if !read {
            self.stations[to as usize].stage = Stage::Failed { met: sending.met };
            self.ears[to as usize].waits = true;
        } else if sending.kind == Kind::Cts {
            self.stations[to as usize].contention.clear();
            self.plan(now, to, Kind::Data, sender);
        } else {
            self.succeed(to, call);
        }
        Heard::Nothing
    }

    /// A frame is done: contention window and retries return to their start, a backoff follows whether there is
    /// another frame or not (10.3.4.3).
    #[inline(always)]
    pub(super) fn succeed<R: Fn(&Packet) -> u32>(&mut self, station: u32, call: &mut Call<R>) {
        self.alert.put(station, true);
        self.counters[station as usize].delivered += 1;
        if let Some(rates) = &mut self.rates {
            rates.report(call.now, station, true);
        }
        let state = &mut self.stations[station as usize];
        state.stage = Stage::Rest;
        state.contention.reset();
        let left = state.contention.draw();
        let contends = self.load(station, call);
        let ear = &mut self.ears[station as usize];
        ear.left = left;
        ear.contends = contends;
        ear.engaged = false;
    }

    /// The medium is idle after an exchange of `station` that brought no answer, or none was due.
    fn conclude<R: Fn(&Packet) -> u32>(&mut self, station: u32, call: &mut Call<R>) {
        let index = station as usize;
        let sending = self.sendings[index];
        let frame = self.stations[index].frame.expect("a sender has a frame");
        self.ears[index].waits = false;
        self.alert.put(station, true);
        let mut timeout = Time::ZERO;
        match self.stations[index].stage {
            Stage::Sent => {
                if sending.met {
                    let counters = &mut self.counters[index];
                    counters.collisions += 1;
                    counters.collided += frame.air;
                }
                if !frame.received {
                    call.given_up.push((station, frame.id));
                }
                self.succeed(station, call);
            }
            Stage::Failed { met } => {
                let by_rts = sending.kind == Kind::Rts;
                let counters = &mut self.counters[index];
                if met {
                    counters.collisions += 1
                } else {
                    counters.errors += 1
                }
                if by_rts {
                    counters.collided += self.rts;
                } else if sending.met {
                    counters.collided += frame.air;
                }
                if let Some(rates) = self.rates.as_mut().filter(|_| !by_rts) {
                    rates.report(call.now, station, false);
                }
                let counters = &mut self.counters[index];
                let state = &mut self.stations[index];
                state.stage = Stage::Rest;
                if state.contention.fail(&self.access, by_rts || !self.access.protects(frame.length)) {
                    counters.given_up += 1;
                    if !frame.received {
                        call.given_up.push((station, frame.id));
                    }
                    self.load(station, call);
                }
                timeout = sending.end + self.access.answer_timeout;
                let state = &mut self.stations[index];
                let ear = &mut self.ears[index];
                ear.left = state.contention.draw();
                ear.contends = state.frame.is_some();
                ear.engaged = false;
            }
            stage => unreachable!("an exchange that is over has failed or was a broadcast, not {stage:?}"),
        }
        let ear = &mut self.ears[index];
        let garbled = self.signals.garbled.has(station);
        if self.eifs_is_nav {
            ear.fall_idle(call.now.max(timeout), garbled, &self.waits);
        } else if timeout > Time::ZERO && self.access.timeout_without_difs && !garbled && ear.nav_until() <= call.now {
            ear.count_from(timeout.max(call.now));
        } else {
            ear.fall_idle(call.now, garbled, &self.waits);
            ear.count_from(ear.from().max(timeout));
        }
        if ear.contends {
            self.calendar.set(station, ear.due(&self.waits));
        }
    }
}
