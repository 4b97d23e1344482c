//! DCF without categories and aggregates: each station has one current [`Frame`] and one backoff.
//!
//! Equivalent to [`edca`](crate::channel::spatial::edca) for stations with one category, AIFS = DIFS, and single
//! frames. Radio links, carrier sense, NAV and the ends of frames are the same code.

use wifair_units::Time;

use crate::channel::spatial::{Call, ExchangeStage, SpatialChannel, SpatialStation, Transmission};
use crate::exchange::{ExchangeFrame, Protection, Purpose};
use crate::interpreter::Exchange;
use crate::station::{Frame, frame_length};
use crate::{BROADCAST, IdleAccess, MacEvent};
use wifair_queue::{AirUse, Discipline};

impl SpatialChannel {
    /// Draws whether a frame that its receiver could read is lost to a given error probability.
    pub(in crate::channel::spatial) fn is_lost(&mut self, sender: u32, transmission: &Transmission) -> bool {
        let from = self.errors[sender as usize].data_from;
        let errors = &mut self.errors[transmission.to as usize];
        let lost =
            if transmission.kind == ExchangeFrame::Data { errors.loses_data(from) } else { errors.loses_control() };
        lost | (!self.outages.is_empty() && self.meets_outage(sender, transmission))
    }

    /// Dequeues the next packet of `station`, if there is one.
    pub(in crate::channel::spatial) fn load(&mut self, station: u32, call: &mut Call<'_>) -> bool {
        let index = station as usize;
        if self.air_use.is_wanted() {
            self.report_air_use(call.now, station);
        }
        let loaded = self.queues[index].dequeue(call.now, call.packets, call.dropped);
        if let Some(id) = loaded {
            let packet = &call.packets[id];
            let to = call.next_hops.of(packet);
            let state = &self.stations[index];
            let length = frame_length(&self.access.timing, packet, state.routing_overhead);
            let from_ap = state.ap.is_some() && to != BROADCAST;
            let &SpatialStation { mut rate, ack, .. } = if from_ap { &self.stations[to as usize] } else { state };
            if to == BROADCAST {
                rate = self.access.broadcast_rate;
            }
            let air = self.airs.of(&self.access.timing, length, rate);
            self.stations[index].frame = Some(Frame { id, to, length, rate, air, ack, received: false });
            self.air_to.turn(index, to, 0, || self.counters[index].air());
        } else {
            self.stations[index].frame = None;
            self.paused_queues.note(call.now, station, &self.queues[index]);
        }
        if let Some(rates) = &mut self.rates {
            rates.begin_frame(station);
        }
        if let Some(ap) = self.stations[index].ap {
            self.read_gauge(call.now, station, ap);
        }
        loaded.is_some()
    }

    /// Reports the air time of the finished frame of `station` to the queues at both ends.
    #[cold]
    fn report_air_use(&mut self, now: Time, station: u32) {
        let Some(done) = self.stations[station as usize].frame else { return };
        let used = self.air_use.close(station, &self.counters[station as usize], &done);
        self.queues[station as usize].on_air(now, &used);
        if done.to != BROADCAST {
            self.queues[done.to as usize].on_air(now, &AirUse { peer: station, sent: false, ..used });
        }
    }

    /// Starts contention for a station that had nothing to send.
    pub(in crate::channel::spatial) fn request(&mut self, now: Time, station: u32) {
        self.alert.put(station, true);
        let backoff = &mut self.backoffs[station as usize];
        let contention = &mut self.stations[station as usize].contention;
        backoff.wake(self.signals.eifs_pending.has(station), &self.intervals);
        backoff.contends = true;
        let is_engaged = backoff.engaged || self.signals.is_busy(station);
        if is_engaged || now < backoff.nav.end() {
            // 10.3.4.2: the channel is busy, so a backoff is required, unless one is pending.
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

    /// Chooses the rate of the next attempt of `station`, which has a unicast frame.
    fn choose_rate(&mut self, now: Time, station: u32) {
        let Some(rates) = &mut self.rates else { return };
        let timing = &self.access.timing;
        let state = &mut self.stations[station as usize];
        let frame = state.frame.as_mut().expect("a sender has a frame");
        let attempt = rates.next_attempt(station);
        let rate = rates.choose(now, station, frame.to, frame.rate, attempt, timing, state.contention.cw_min());
        let Some((rate, attempts)) = rate else { return };
        state.contention.plan(attempts);
        frame.rate = rate;
        frame.air = self.airs.of(timing, frame.length, frame.rate);
        frame.ack = self.airs.of(timing, timing.sizes.ack, timing.answer_rate(frame.rate));
    }

    /// `sender` starts an exchange, which is returned.
    pub(in crate::channel::spatial) fn open_dcf(&mut self, now: Time, sender: u32) -> Exchange {
        let backoff = &mut self.backoffs[sender as usize];
        backoff.contends = false;
        backoff.immediate = false;
        backoff.left = 0;
        self.counters[sender as usize].attempts += 1;
        let is_unicast = self.stations[sender as usize].frame.is_some_and(|frame| frame.to != BROADCAST);
        if is_unicast && self.rates.is_some() {
            self.choose_rate(now, sender);
        }
        self.exchange_with(self.stations[sender as usize].frame.as_ref().expect("a sender has a frame"))
    }

    /// The exchange of `frame`.
    fn exchange_with(&self, frame: &Frame) -> Exchange {
        let (purpose, protection) = match frame.to {
            BROADCAST => (Purpose::Broadcast, Protection::None),
            _ if self.access.protects(frame.length) => (Purpose::Single, Protection::RtsCts),
            _ => (Purpose::Single, Protection::None),
        };
        let is_unread = || self.access.protection.is_some() && !self.access.timing.is_dsss(frame.rate);
        match protection {
            Protection::None if is_unread() => Exchange::new(purpose, Protection::CtsToSelf, 1),
            _ => Exchange::new(purpose, protection, 1),
        }
    }

    /// Ends the data frame of `sender`.
    pub(in crate::channel::spatial) fn end_of_data(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        read: bool,
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
        if !transmission.collided {
            counters.data += air;
            self.count_cts_to_self(sender);
        }
        match transmission.to {
            _ if !is_new => MacEvent::Nothing,
            BROADCAST => MacEvent::Broadcast { from: sender, id },
            to => MacEvent::Packet { to, id },
        }
    }

    /// Completes a frame: contention window and retry counts are reset, and a backoff follows whether or not there is
    /// another frame (10.3.4.3).
    #[inline(always)]
    pub(in crate::channel::spatial) fn succeed_dcf(&mut self, station: u32, call: &mut Call<'_>) {
        self.alert.put(station, true);
        self.counters[station as usize].delivered += 1;
        if let Some(rates) = &mut self.rates {
            rates.report(call.now, station, true);
        }
        let state = &mut self.stations[station as usize];
        state.stage = ExchangeStage::Rest;
        state.contention.reset();
        let left = state.contention.draw();
        let contends = self.load(station, call);
        let backoff = &mut self.backoffs[station as usize];
        backoff.left = left;
        backoff.contends = contends;
        backoff.engaged = false;
    }

    /// Completes an exchange of `station` without response; `by_rts` if its RTS got none.
    pub(in crate::channel::spatial) fn fail_dcf(&mut self, station: u32, by_rts: bool, call: &mut Call<'_>) {
        let index = station as usize;
        let state = &mut self.stations[index];
        let Frame { id, length, received, .. } = state.frame.expect("a sender has a frame");
        if state.contention.fail(&self.access, by_rts || !self.access.protects(length)) {
            self.counters[index].retry_limit_drops += 1;
            if !received {
                call.retry_limit_drops.push((station, id));
            }
            self.load(station, call);
        }
        let state = &mut self.stations[index];
        let backoff = &mut self.backoffs[index];
        backoff.left = state.contention.draw();
        backoff.contends = state.frame.is_some();
        backoff.engaged = false;
    }

    /// Lets `station` contend again after its exchange; `timeout` is when it concluded that no response would come.
    pub(in crate::channel::spatial) fn resume_dcf(&mut self, now: Time, station: u32, timeout: Option<Time>) {
        let backoff = &mut self.backoffs[station as usize];
        let eifs_pending = self.signals.eifs_pending.has(station);
        let timeout_only = self.access.timeout_without_difs && !eifs_pending && backoff.nav.end() <= now;
        match timeout {
            Some(timeout) if self.eifs_is_nav => backoff.become_idle(now.max(timeout), eifs_pending, &self.intervals),
            Some(timeout) if timeout_only => backoff.count_from(timeout.max(now)),
            timeout => {
                backoff.become_idle(now, eifs_pending, &self.intervals);
                backoff.count_from(backoff.from().max(timeout.unwrap_or(Time::ZERO)));
            }
        }
        if backoff.contends {
            self.backoff_timers.set(station, backoff.due(&self.intervals));
        }
    }
}
