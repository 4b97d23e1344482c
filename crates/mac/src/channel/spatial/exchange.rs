//! Frames and their answers.

use wifair_phy::OutageProcess;
use wifair_units::{Duration, Time};

use super::air_accounting::disturb;
use super::backoff_timers::Act;
use super::bitset::place;
use super::cca::ReceiverFate;
use super::{Call, Kind, SpatialChannel, Stage, Transmission};
use crate::{BROADCAST, MacEvent};

impl SpatialChannel {
    /// All who are due begin to send. If that is a single frame which nothing meets, it ends as well: before `bound`,
    /// to which the call is moved on.
    pub(super) fn begin(&mut self, bound: Time, call: &mut Call<'_>) -> MacEvent {
        let now = call.now;
        self.starters.clear();
        self.backoff_timers.take(now, &mut self.starters);
        self.accounting.account(now, &mut self.transmissions);
        if self.edca.is_some() {
            return self.begin_categories(call);
        }
        if let [sender] = self.starters[..] {
            let kind = self.take_turn(now, sender);
            if kind == Kind::Data && self.begins_exchange(now, sender) {
                return self.leap_to_data_end(bound, call);
            }
            let transmission = self.compose(now, sender, kind);
            if self.stays_uncontended(sender, transmission.end, bound, call) {
                return self.send_uncontended(sender, transmission, call);
            }
            self.turn_to_transmission(sender);
            self.send(sender, transmission);
            self.look_at_start(sender);
            return MacEvent::Nothing;
        }
        let starters = std::mem::take(&mut self.starters);
        for &sender in &starters {
            self.turn_to_transmission(sender);
        }
        for &sender in &starters {
            let kind = self.take_turn(now, sender);
            let transmission = self.compose(now, sender, kind);
            self.send(sender, transmission);
        }
        for &sender in &starters {
            self.look_at_start(sender);
        }
        self.starters = starters;
        MacEvent::Nothing
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
        self.nav_holds.release(sender);
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
    pub(super) fn compose(&self, now: Time, sender: u32, kind: Kind) -> Transmission {
        let timing = &self.access.timing;
        let station = &self.stations[sender as usize];
        let (to, rate, air, reserves) = match kind {
            Kind::CtsToSelf | Kind::Rts | Kind::Data => {
                let frame = station.frame.as_ref().expect("a sender has a frame");
                let is_broadcast = frame.to == BROADCAST;
                let after_data = if is_broadcast { Duration::ZERO } else { timing.sifs + frame.ack };
                match kind {
                    Kind::CtsToSelf => {
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
            Kind::BlockAckReq | Kind::BlockAck => unreachable!("DCF has no block ACK"),
        };
        let end = now + air;
        // A CTS announces what the RTS did.
        let nav = match kind {
            Kind::Cts => self.transmissions[to as usize].nav,
            _ => end + self.access.round_nav(reserves),
        };
        Transmission { kind, to, rate, start: now, end, nav, readers: 0, met: false, alone: Duration::ZERO }
    }

    /// A frame of `sender` begins.
    pub(super) fn send(&mut self, sender: u32, transmission: Transmission) {
        self.transmissions[sender as usize] = transmission;
        self.backoff_timers.plan(sender, transmission.end, Act::End);
        self.accounting.frames += 1;
        self.accounting.sum += u64::from(sender);
        self.begin_reception(transmission.start, sender, transmission.end);
    }

    /// `sender`, which contended, opens an exchange. With which frame.
    fn open(&mut self, now: Time, sender: u32) -> Kind {
        let backoff = &mut self.backoffs[sender as usize];
        if let Some(tap) = self.tap.as_mut().filter(|_| backoff.left > 0) {
            tap.backoff(sender, backoff.from(), now);
        }
        backoff.contends = false;
        backoff.immediate = false;
        backoff.left = 0;
        self.counters[sender as usize].attempts += 1;
        let is_unicast = self.stations[sender as usize].frame.is_some_and(|frame| frame.to != BROADCAST);
        if is_unicast && self.rates.is_some() {
            self.choose_rate(now, sender);
        }
        let frame = self.stations[sender as usize].frame.as_ref().expect("a sender has a frame");
        if is_unicast && self.access.protects(frame.length) {
            Kind::Rts
        } else if self.access.protection.is_some() && !self.access.timing.is_dsss(frame.rate) {
            Kind::CtsToSelf
        } else {
            Kind::Data
        }
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
        self.close(sender, &mut transmission, fate, call)
    }

    /// A frame of `sender` has ended, and nobody hears it any more.
    pub(super) fn close(
        &mut self,
        sender: u32,
        transmission: &mut Transmission,
        fate: ReceiverFate,
        call: &mut Call<'_>,
    ) -> MacEvent {
        let now = call.now;
        let mut read = fate.read;
        transmission.met |= fate.met;
        self.transmissions[sender as usize].met = transmission.met;
        if transmission.to == BROADCAST {
            read = !self.receivers.is_empty();
            self.read_in(sender, transmission, read);
        } else if self.edca.is_some() {
            self.nav_holds.release(transmission.to);
            read = self.read_in(sender, transmission, fate.read);
            if read || fate.read {
                self.signals.eifs_pending.put(transmission.to, !read);
                self.extend_nav(now, transmission.to);
            }
        } else {
            self.nav_holds.release(transmission.to);
            if read {
                self.signals.eifs_pending.put(transmission.to, false);
                if self.lossy && self.is_lost(sender, transmission) {
                    read = false;
                    self.signals.eifs_pending.put(transmission.to, true);
                    self.extend_nav(now, transmission.to);
                }
            }
        }
        let is_in_part = self.edca.is_some() && transmission.kind == Kind::Data && read;
        let spoilt = if is_in_part { self.spoilt_part(sender, transmission.alone) } else { Duration::ZERO };
        self.accounting.settle(transmission, read, spoilt);
        if self.tap.is_some() {
            self.record_frame(sender, transmission, fate.sensed, read, call.packets);
        }
        let heard = match transmission.kind {
            _ if self.edca.is_some() => self.end_in(sender, transmission, read, call),
            Kind::CtsToSelf => {
                self.counters[sender as usize].control += transmission.end - transmission.start;
                self.plan(now, sender, Kind::Data, sender);
                MacEvent::Nothing
            }
            Kind::Rts => self.end_of_rts(now, sender, transmission, read, call),
            Kind::Cts | Kind::Ack => self.end_of_answer(now, sender, transmission, read, call),
            Kind::Data => self.end_of_data(now, sender, transmission, read, call),
            Kind::BlockAckReq | Kind::BlockAck => unreachable!("DCF has no block ACK"),
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

    /// Whether a frame that its receiver could read is lost to a given error probability.
    fn is_lost(&mut self, sender: u32, transmission: &Transmission) -> bool {
        let from = self.errors[sender as usize].data_from;
        let errors = &mut self.errors[transmission.to as usize];
        let spoilt = if transmission.kind == Kind::Data { errors.loses_data(from) } else { errors.loses_control() };
        spoilt | (!self.outages.is_empty() && self.meets_outage(sender, transmission))
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

    fn end_of_data(
        &mut self,
        now: Time,
        sender: u32,
        transmission: &Transmission,
        read: bool,
        call: &mut Call<'_>,
    ) -> MacEvent {
        let frame = self.stations[sender as usize].frame.as_mut().expect("a sender of data has a frame");
        let is_new = read && !frame.received;
        frame.received |= read;
        let (id, air) = (frame.id, frame.air);
        let protected = transmission.to != BROADCAST && self.access.protects(frame.length);
        let counters = &mut self.counters[sender as usize];
        if protected {
            counters.control += self.rts + self.cts;
        }
        if !transmission.met {
            counters.data += air;
        }
        if transmission.to == BROADCAST {
            self.stations[sender as usize].stage = Stage::Sent;
            self.backoffs[sender as usize].resumes_when_idle = true;
            self.resume(now, sender);
            return if is_new { MacEvent::Broadcast { from: sender, id } } else { MacEvent::Nothing };
        }
        self.answer(now, sender, transmission, read.then_some(Kind::Ack), call);
        if is_new { MacEvent::Packet { to: transmission.to, id } } else { MacEvent::Nothing }
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
        self.nav_holds.release(station);
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

    /// A CTS or an ACK ends.
    fn end_of_answer(
        &mut self,
        now: Time,
        sender: u32,
        transmission: &Transmission,
        read: bool,
        call: &mut Call<'_>,
    ) -> MacEvent {
        self.stations[sender as usize].stage = Stage::Rest;
        self.backoffs[sender as usize].engaged = false;
        self.nav_holds.release(sender);
        if self.eifs_is_nav && transmission.kind == Kind::Cts {
            // ns-2 awaits the data that it has admitted, also where these do not come.
            let asked = self.stations[transmission.to as usize].frame.as_ref().expect("a sender of RTS has a frame");
            let until = now + self.access.timing.sifs + asked.air;
            self.backoffs[sender as usize].set_nav(until, Time::NEVER);
        }
        self.resume(now, sender);
        let to = transmission.to;
        if transmission.kind == Kind::Ack {
            self.counters[to as usize].control += transmission.end - transmission.start;
        }
        if !read {
            self.stations[to as usize].stage = Stage::Failed { met: transmission.met };
            self.backoffs[to as usize].resumes_when_idle = true;
        } else if transmission.kind == Kind::Cts {
            self.stations[to as usize].contention.clear();
            self.plan(now, to, Kind::Data, sender);
        } else {
            self.succeed(to, call);
        }
        MacEvent::Nothing
    }

    /// A frame is done: contention window and retries return to their start, a backoff follows whether there is
    /// another frame or not (10.3.4.3).
    #[inline(always)]
    pub(super) fn succeed(&mut self, station: u32, call: &mut Call<'_>) {
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
        let backoff = &mut self.backoffs[station as usize];
        backoff.left = left;
        backoff.contends = contends;
        backoff.engaged = false;
    }

    /// The channel is idle after an exchange of `station` that brought no answer, or none was due.
    fn conclude(&mut self, station: u32, call: &mut Call<'_>) {
        if self.edca.is_some() {
            return self.conclude_in(station, call);
        }
        let index = station as usize;
        let transmission = self.transmissions[index];
        let frame = self.stations[index].frame.expect("a sender has a frame");
        self.backoffs[index].resumes_when_idle = false;
        self.alert.put(station, true);
        let mut timeout = Time::ZERO;
        match self.stations[index].stage {
            Stage::Sent => {
                if transmission.met {
                    let counters = &mut self.counters[index];
                    counters.collisions += 1;
                    counters.collided += frame.air;
                }
                if !frame.received {
                    call.retry_limit_drops.push((station, frame.id));
                }
                self.succeed(station, call);
            }
            Stage::Failed { met } => {
                let by_rts = transmission.kind == Kind::Rts;
                let counters = &mut self.counters[index];
                if met {
                    counters.collisions += 1
                } else {
                    counters.errors += 1
                }
                if by_rts {
                    counters.collided += self.rts;
                } else if transmission.met {
                    counters.collided += frame.air;
                }
                if let Some(rates) = self.rates.as_mut().filter(|_| !by_rts) {
                    rates.report(call.now, station, false);
                }
                let counters = &mut self.counters[index];
                let state = &mut self.stations[index];
                state.stage = Stage::Rest;
                if state.contention.fail(&self.access, by_rts || !self.access.protects(frame.length)) {
                    counters.retry_limit_drops += 1;
                    if !frame.received {
                        call.retry_limit_drops.push((station, frame.id));
                    }
                    self.load(station, call);
                }
                timeout = transmission.end + self.access.answer_timeout;
                let state = &mut self.stations[index];
                let backoff = &mut self.backoffs[index];
                backoff.left = state.contention.draw();
                backoff.contends = state.frame.is_some();
                backoff.engaged = false;
            }
            stage => unreachable!("an exchange that is over has failed or was a broadcast, not {stage:?}"),
        }
        let backoff = &mut self.backoffs[index];
        let eifs_pending = self.signals.eifs_pending.has(station);
        if self.eifs_is_nav {
            backoff.fall_idle(call.now.max(timeout), eifs_pending, &self.intervals);
        } else if timeout > Time::ZERO
            && self.access.timeout_without_difs
            && !eifs_pending
            && backoff.nav_until() <= call.now
        {
            backoff.count_from(timeout.max(call.now));
        } else {
            backoff.fall_idle(call.now, eifs_pending, &self.intervals);
            backoff.count_from(backoff.from().max(timeout));
        }
        if backoff.contends {
            self.backoff_timers.set(station, backoff.due(&self.intervals));
        }
    }
}
