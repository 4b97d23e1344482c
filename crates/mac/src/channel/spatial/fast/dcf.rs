//! DCF without the machinery of categories and aggregates: the packet in hand is a [`Frame`], and a station's backoff
//! its own.
//!
//! Does what [`edca`](crate::channel::spatial::edca) does for stations of one category, DIFS, and single frames. Who
//! hears whom, carrier sense, NAV and the ends of frames are the same code.

use wifair_units::{Duration, Time};

use crate::channel::spatial::{Call, Kind, SpatialChannel, Stage, Station, Transmission};
use crate::station::{Frame, frame_length};
use crate::{BROADCAST, IdleAccess, MacEvent};
use wifair_queue::{AirUse, Discipline};

impl SpatialChannel {
    /// All who are due begin to send: see [`SpatialChannel::begin`].
    pub(in crate::channel::spatial) fn begin_dcf(&mut self, bound: Time, call: &mut Call<'_>) -> MacEvent {
        let now = call.now;
        if let [sender] = self.starters[..] {
            let kind = self.take_turn(now, sender);
            if kind == Kind::Data && self.begins_exchange(now, sender) {
                return self.leap_to_data_end(bound, call);
            }
            let transmission = self.compose(now, sender, kind);
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

    /// Which frame `sender` sends that begins at `now`.
    #[inline(always)]
    pub(in crate::channel::spatial) fn take_turn(&mut self, now: Time, sender: u32) -> Kind {
        let due = std::mem::replace(&mut self.stations[sender as usize].stage, Stage::Sends);
        match due {
            Stage::Due(kind) => kind,
            Stage::Rest => self.open(now, sender),
            stage => unreachable!("a station that begins to send contends or answers, and is not {stage:?}"),
        }
    }

    /// A frame of `sender` has ended.
    pub(in crate::channel::spatial) fn end_dcf(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        read: bool,
        call: &mut Call<'_>,
    ) -> MacEvent {
        let now = call.now;
        match transmission.kind {
            Kind::CtsToSelf => {
                self.counters[sender as usize].control += transmission.end - transmission.start;
                self.plan(now, sender, Kind::Data, sender);
                MacEvent::Nothing
            }
            Kind::Rts => self.end_of_rts(now, sender, transmission, read, call),
            Kind::Cts | Kind::Ack => self.end_of_answer(now, sender, transmission, read, call),
            Kind::Data => self.end_of_data(now, sender, transmission, read, call),
            Kind::BlockAckReq | Kind::BlockAck => unreachable!("DCF has no block ACK"),
        }
    }

    /// Whether a frame that its receiver could read is lost to a given error probability.
    pub(in crate::channel::spatial) fn is_lost(&mut self, sender: u32, transmission: &Transmission) -> bool {
        let from = self.errors[sender as usize].data_from;
        let errors = &mut self.errors[transmission.to as usize];
        let spoilt = if transmission.kind == Kind::Data { errors.loses_data(from) } else { errors.loses_control() };
        spoilt | (!self.outages.is_empty() && self.meets_outage(sender, transmission))
    }

    /// Takes the next packet of `station` out of its queue, if there is one.
    pub(in crate::channel::spatial) fn load(&mut self, station: u32, call: &mut Call<'_>) -> bool {
        let index = station as usize;
        if self.air_use.is_wanted() {
            self.tell_air(call.now, station);
        }
        let frame = self.queues[index].dequeue(call.now, call.packets, call.dropped).map(|id| {
            let packet = &call.packets[id];
            let to = call.next_hops.of(packet);
            let length = frame_length(&self.access.timing, packet, self.stations[index].routing_overhead);
            let from_ap = self.stations[index].ap.is_some() && to != BROADCAST;
            let rate_of = if from_ap { to } else { station };
            let Station { mut rate, ack, .. } = self.stations[rate_of as usize];
            if to == BROADCAST {
                rate = self.access.broadcast_rate;
            }
            let air = self.airs.of(&self.access.timing, length, rate);
            Frame { id, to, length, rate, air, ack, received: false }
        });
        if let Some(rates) = &mut self.rates {
            rates.begin_frame(station);
        }
        self.stations[index].frame = frame;
        if frame.is_none() {
            self.paused_queues.note(call.now, station, &self.queues[index]);
        }
        if let Some(ap) = self.stations[index].ap {
            self.read_gauge(call.now, station, ap);
        }
        frame.is_some()
    }

    /// Tells the queues at both ends what the frame of `station` cost that is done with.
    #[cold]
    fn tell_air(&mut self, now: Time, station: u32) {
        let Some(done) = self.stations[station as usize].frame else { return };
        let used = self.air_use.close(station, &self.counters[station as usize], &done);
        self.queues[station as usize].on_air(now, &used);
        if done.to != BROADCAST {
            self.queues[done.to as usize].on_air(now, &AirUse { peer: station, sent: false, ..used });
        }
    }

    /// A station that had nothing to send contends for the channel.
    pub(in crate::channel::spatial) fn request(&mut self, now: Time, station: u32) {
        let backoff = &mut self.backoffs[station as usize];
        let contention = &mut self.stations[station as usize].contention;
        backoff.contends = true;
        let is_engaged = backoff.engaged || self.signals.is_busy(station);
        if is_engaged || now < backoff.nav_until() {
            // 10.3.4.2: the channel is busy, so a backoff is due, unless one is pending already.
            if backoff.left == 0 {
                backoff.left = contention.draw();
            }
            if is_engaged {
                return;
            }
        } else {
            let passed = self.intervals.slots(now.saturating_since(backoff.from()));
            if backoff.left <= passed {
                match self.access.idle_access {
                    IdleAccess::Immediate => {
                        backoff.count_from(backoff.from().max(now));
                        backoff.left = 0;
                        backoff.immediate = true;
                    }
                    IdleAccess::Backoff => {
                        backoff.count_from(backoff.from().max(now + self.intervals.difs));
                        backoff.left = contention.draw();
                    }
                }
            }
        }
        self.backoff_timers.set(station, backoff.due(&self.intervals));
    }

    /// Chooses the rate of the next attempt of `station`, which has a unicast frame in hand.
    pub(in crate::channel::spatial) fn choose_rate(&mut self, now: Time, station: u32) {
        let Some(rates) = &mut self.rates else { return };
        let timing = &self.access.timing;
        let state = &mut self.stations[station as usize];
        let frame = state.frame.as_mut().expect("a sender has a frame");
        let attempt = rates.next_attempt(station);
        let rate = rates.choose(now, station, frame.to, frame.rate, attempt, timing, state.contention.cw_min());
        let Some(rate) = rate else { return };
        frame.rate = rate;
        frame.air = self.airs.of(timing, frame.length, frame.rate);
        frame.ack = self.airs.of(timing, timing.sizes.ack, timing.answer_rate(frame.rate));
    }

    /// What `sender` sends that begins at `now`.
    pub(in crate::channel::spatial) fn compose(&self, now: Time, sender: u32, kind: Kind) -> Transmission {
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

    /// `sender`, which contended, opens an exchange. With which frame.
    fn open(&mut self, now: Time, sender: u32) -> Kind {
        let backoff = &mut self.backoffs[sender as usize];
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
    pub(in crate::channel::spatial) fn succeed(&mut self, station: u32, call: &mut Call<'_>) {
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
    pub(in crate::channel::spatial) fn conclude_dcf(&mut self, station: u32, call: &mut Call<'_>) {
        let index = station as usize;
        let transmission = self.transmissions[index];
        let frame = self.stations[index].frame.expect("a sender has a frame");
        self.backoffs[index].resumes_when_idle = false;
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
