//! A frame exchange, from its first bit to the end of its ACK or of the ACK timeout.

use super::*;

impl SharedChannel {
    pub(super) fn is_protected(&self, frame: &Frame) -> bool {
        frame.to != BROADCAST && self.access.protects(frame.length)
    }

    pub(super) fn is_data_lost(&mut self, from: u32, to: u32) -> bool {
        let p = self.stations[from as usize].errors.data_from;
        self.stations[to as usize].errors.loses_data(p)
    }

    #[inline(never)]
    pub(super) fn is_control_lost(&mut self, to: u32) -> bool {
        self.stations[to as usize].errors.loses_control()
    }

    /// Air time of the first frame of `sender`: the RTS or the data frame.
    pub(super) fn opening(&self, sender: u32) -> Duration {
        let frame = self.stations[sender as usize].sent();
        if self.is_protected(frame) { self.access.timing.rts() } else { frame.air }
    }

    pub(super) fn collide(&mut self, now: Time) {
        let mut longest = Duration::ZERO;
        for place in 0..self.senders.len() {
            let sender = self.senders[place];
            let state = &mut self.stations[sender as usize];
            state.counters.attempts += 1;
            longest = longest.max(if state.is_simple { state.sent().air } else { self.opening(sender) });
        }
        self.phase = SharedPhase::Collision { began: now };
        self.next = now + longest;
    }

    /// Ends a collision.
    pub(super) fn end_collision(&mut self, began: Time, call: &mut Call<'_>) {
        let now = call.now;
        self.idle_from(now + self.after_collision);
        let last = match self.access.eifs {
            Eifs::Nav => self.count_ending(now, began),
            _ => 0, // not needed
        };
        self.collision += now - began;
        for place in 0..self.senders.len() {
            let sender = self.senders[place];
            let state = &mut self.stations[sender as usize];
            if !state.is_simple || self.access.eifs == Eifs::Nav {
                self.end_collision_of(began, last, sender, call);
                continue;
            }
            let air = state.sent().air;
            state.counters.collisions += 1;
            state.counters.collided += air;
            let resumes = self.access.after_timeout(began + air + state.timeout, now);
            if state.contention.fail(&self.access, true) {
                self.drop_at_retry_limit(sender, resumes, call);
            } else {
                state.back_off(sender, resumes, self.origin, &mut self.slots, &mut self.off_grid);
            }
        }
        self.senders.clear();
        self.reschedule();
    }

    /// Number of the frames that began at `began` and end at `now`.
    #[inline(never)]
    pub(super) fn count_ending(&self, now: Time, began: Time) -> usize {
        self.on_air().iter().filter(|sender| began + self.opening(**sender) == now).count()
    }

    /// Ends a collision for one sender, in the general case: RTS, broadcast, or any EIFS rule.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn end_collision_of(&mut self, began: Time, last: usize, sender: u32, call: &mut Call<'_>) {
        let now = call.now;
        let difs = self.access.timing.difs;
        let ended = began + self.opening(sender);
        let nav = self.access.nav_after_own(last > 1 || ended < now);
        let state = &mut self.stations[sender as usize];
        let frame = *state.sent();
        let (Frame { id, to, .. }, timeout) = (frame, state.timeout);
        state.counters.collisions += 1;
        state.counters.collided += ended - began;
        if to == BROADCAST {
            // A broadcast is not acknowledged, so its sender does not notice.
            call.retry_limit_drops.push((sender, id));
            state.counters.delivered += 1;
            state.contention.reset();
            self.load(sender, call);
            self.back_off(sender, now + nav + difs);
            return;
        }
        let of_cts = self.access.timeout_of(self.access.timing.basic_rate);
        let expired = ended + if self.is_protected(&frame) { of_cts } else { timeout };
        let resumes = match self.access.eifs {
            Eifs::Nav => expired.max(now + nav) + difs,
            _ => self.access.after_timeout(expired, now),
        };
        // An RTS, or a frame too short for one: counts as a short retry.
        self.fail(sender, true, resumes, call);
    }

    /// The data frame ends and is received.
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Time) -> MacEvent {
        let state = &mut self.stations[self.sender as usize];
        let frame = state.frame.as_mut().expect("a sender has a frame");
        let event = MacEvent::Packet { to: frame.to, id: frame.id };
        if !state.is_simple {
            return if self.general_receive(now) { event } else { MacEvent::Nothing };
        }
        frame.received = true;
        state.counters.data += frame.air;
        self.phase = SharedPhase::Ack;
        self.next = now + self.access.timing.sifs + frame.ack;
        event
    }

    /// Like [`SharedChannel::receive`], if the frame followed a CTS or if frames may be lost. Returns whether the frame
    /// is new to its receiver.
    #[inline(never)]
    pub(super) fn general_receive(&mut self, now: Time) -> bool {
        let sender = self.sender;
        self.account_exchange(sender, false);
        let lost = self.lossy && self.is_control_lost(sender);
        let frame = self.stations[sender as usize].frame.as_mut().expect("a sender has a frame");
        self.phase = if lost { SharedPhase::LostAck } else { SharedPhase::Ack };
        self.next = now + self.access.timing.sifs + frame.ack;
        !std::mem::replace(&mut frame.received, true)
    }

    /// Accounts for the air time of a data frame that ends, and of the frames before it.
    pub(super) fn account_exchange(&mut self, sender: u32, lost: bool) {
        let SharedStation { frame, counters, .. } = &mut self.stations[sender as usize];
        let frame = frame.as_ref().expect("a sender has a frame");
        if frame.to != BROADCAST && self.access.protects(frame.length) {
            let rts_cts = self.protection - self.access.timing.sifs * 2;
            self.rts_cts += rts_cts;
            counters.control += rts_cts;
        }
        if lost {
            self.lost += frame.air;
        }
        counters.data += frame.air;
    }

    /// The ACK ends and is received. Returns whether the sender has another frame and nothing else needs attention.
    #[inline(always)]
    pub(super) fn finish(&mut self, call: &mut Call<'_>) -> bool {
        let now = call.now;
        let sender = self.sender;
        let state = &mut self.stations[sender as usize];
        state.counters.control += state.sent().ack;
        if self.may_need_general_end && (self.needs_general_end || !state.is_simple) {
            self.succeed(call);
            return false;
        }
        state.counters.delivered += 1;
        state.contention.reset();
        let slots = u64::from(state.contention.draw());
        state.backoff_end = self.slots.count() + slots;
        self.phase = SharedPhase::Idle;
        self.origin = now + self.access.timing.difs;
        let goes_on = self.fast_load(sender, call);
        if goes_on {
            self.slots.insert(sender, slots);
        }
        self.reschedule();
        goes_on
    }

    /// The channel becomes idle; slots are counted from `origin`.
    pub(super) fn idle_from(&mut self, origin: Time) {
        self.phase = SharedPhase::Idle;
        self.origin = origin;
    }

    /// Completes a frame: contention window and retry counts are reset, and a backoff follows whether or not there is
    /// another frame (10.3.4.3). If the NAV of bystanders is rounded up, sender and receiver resume before them, since
    /// they have no NAV.
    #[inline(never)]
    pub(super) fn succeed(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        let sender = self.sender;
        let resumes = now + self.access.timing.difs;
        let state = &mut self.stations[sender as usize];
        let frame = *state.sent();
        state.counters.delivered += 1;
        state.contention.reset();
        let unicast = frame.to != BROADCAST;
        let excess = if unicast { self.access.nav_excess(frame.ack, self.after_rts(&frame)) } else { Duration::ZERO };
        self.idle_from(resumes + excess);
        self.load(sender, call);
        self.back_off(sender, resumes);
        if excess > Duration::ZERO {
            self.nav = now + excess;
            self.resume_apart(frame.to, resumes);
        }
        self.reschedule();
    }

    /// No ACK is received: the data frame or its ACK was lost.
    pub(super) fn ack_timeout(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        let sender = self.sender;
        let frame = self.stations[sender as usize].frame.expect("a sender has a frame");
        let (sifs, difs) = (self.access.timing.sifs, self.access.timing.difs);
        self.stations[sender as usize].counters.errors += 1;
        let after_error = self.access.after_error(now);
        let timeout = self.stations[sender as usize].timeout;
        let resumes = if self.phase == SharedPhase::LostAck {
            self.stations[sender as usize].counters.control += frame.ack;
            let excess = self.access.nav_excess(frame.ack, self.after_rts(&frame));
            self.nav = now + excess;
            self.idle_from(self.nav + difs);
            if excess > Duration::ZERO {
                self.resume_apart(frame.to, now + difs);
            }
            (after_error + difs).max(now - frame.ack - sifs + timeout)
        } else {
            self.account_exchange(sender, true);
            // The NAV of bystanders covers the missing ACK.
            self.nav = now + self.access.nav_after_data(frame.ack, self.after_rts(&frame));
            self.idle_from(self.nav + difs);
            self.resume_apart(frame.to, after_error + difs);
            self.access.after_timeout(now + timeout, now)
        };
        self.fail(sender, !self.access.protects(frame.length), resumes, call);
        self.reschedule();
    }

    /// Time from the end of the RTS before a frame, if there is one, to the end of their exchange.
    fn after_rts(&self, frame: &Frame) -> Option<Duration> {
        let timing = &self.access.timing;
        self.is_protected(frame).then(|| timing.sifs * 3 + timing.cts() + frame.air + frame.ack)
    }

    /// Lets `station`, which has not sent, count its slots from another time than most.
    fn resume_apart(&mut self, station: u32, from: Time) {
        let state = &mut self.stations[station as usize];
        let has_frame = state.frame.is_some();
        if has_frame {
            self.slots.remove(station, state.backoff_end);
        }
        let slots = state.backoff_end.saturating_sub(self.slots.count());
        state.backoff_end = self.slots.count();
        self.off_grid.push(OffGridContender { station, from, slots, drew: true, has_frame });
    }

    /// `sender` got no response; it contends again from `resumes`, with the same frame or the next. `is_short` selects
    /// the short retry count.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn fail(&mut self, sender: u32, is_short: bool, resumes: Time, call: &mut Call<'_>) {
        if self.stations[sender as usize].contention.fail(&self.access, is_short) {
            self.drop_at_retry_limit(sender, resumes, call);
        } else {
            self.back_off(sender, resumes);
        }
    }

    /// Gives up the frame at the retry limit; `sender` contends from `resumes` with its next frame, if it has one.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    pub(super) fn drop_at_retry_limit(&mut self, sender: u32, resumes: Time, call: &mut Call<'_>) {
        let state = &mut self.stations[sender as usize];
        state.counters.retry_limit_drops += 1;
        if let Some(Frame { id, received: false, .. }) = state.frame {
            call.retry_limit_drops.push((sender, id));
        }
        self.load(sender, call);
        self.back_off(sender, resumes);
    }
}
