//! Contention: idle slots, backoff, and stations whose slots are not aligned with the common slot grid.

use super::*;

impl SharedChannel {
    /// Handles a new packet at a station that had nothing to send.
    #[inline(never)]
    pub(super) fn wake_up(&mut self, station: u32, call: &mut Call<'_>) {
        let now = call.now;
        if self.load(station, call) {
            self.request(now, station);
        }
    }

    /// Starts contention for a station that had nothing to send.
    pub(super) fn request(&mut self, now: Time, station: u32) {
        let slot = self.access.timing.slot;
        let state = &mut self.stations[station as usize];
        if self.phase != SharedPhase::Idle {
            // 10.3.4.2: the channel is busy, so a backoff is required, unless one is pending.
            let pending = state.backoff_end.checked_sub(self.slots.count()).filter(|slots| *slots > 0);
            let slots = pending.unwrap_or_else(|| u64::from(state.contention.draw()));
            state.backoff_end = self.slots.insert(station, slots);
            return;
        }
        let passed = now.saturating_since(self.origin).div_floor(slot);
        if state.backoff_end > self.slots.count() + passed {
            let target = state.backoff_end;
            self.wait_for_slot(station, target);
            return;
        }
        let mut origin = self.origin;
        let contenders = &mut self.off_grid.contenders;
        if let Some(index) = contenders.iter().position(|contender| contender.station == station) {
            let mut contender = contenders.swap_remove(index);
            if contender.slots > 0 && contender.due(slot) > now {
                contender.has_frame = true;
                return self.leave_grid(contender);
            }
            origin = contender.from;
        } else if now < self.nav {
            // Busy for all but sender and receiver, which are off the grid.
            let state = &mut self.stations[station as usize];
            state.backoff_end = self.slots.count() + u64::from(state.contention.draw());
            let target = state.backoff_end;
            self.wait_for_slot(station, target);
            return;
        }
        let state = &mut self.stations[station as usize];
        let contender = match self.access.idle_access {
            IdleAccess::Immediate => {
                OffGridContender { station, from: now.max(origin), slots: 0, drew: false, has_frame: true }
            }
            IdleAccess::Backoff => {
                let from = (now + self.access.timing.difs).max(origin);
                OffGridContender {
                    station,
                    from,
                    slots: u64::from(state.contention.draw()),
                    drew: true,
                    has_frame: true,
                }
            }
        };
        self.leave_grid(contender);
    }

    /// Schedules `station` to send in slot `target` of the idle channel, unless another station sends first.
    pub(super) fn wait_for_slot(&mut self, station: u32, target: u64) {
        let ahead = target - self.slots.count();
        self.slots.insert(station, ahead);
        let time = self.origin + self.access.timing.slot * ahead;
        if time <= self.next {
            self.next = time;
            self.next_slot = Some(target);
        }
    }

    /// Lets a station count its own slots and send at the end, unless another station sends first.
    fn leave_grid(&mut self, contender: OffGridContender) {
        self.off_grid.push(contender);
        self.consider_off_grid();
    }

    /// One or more stations start sending at `now`.
    #[inline(always)]
    pub(super) fn start(&mut self, now: Time) {
        if let Some(slot) = self.next_slot
            && now < self.off_grid.due
        {
            self.slots.count_to(slot);
            if let Some(sender) = self.slots.take_only(slot) {
                if !self.off_grid.contenders.is_empty() {
                    self.rejoin(now);
                }
                self.sender = sender;
                self.start_alone(now);
                return;
            }
        }
        self.start_together(now);
    }

    /// Several stations start sending at the same instant, or stations off the grid do.
    #[inline(never)]
    pub(super) fn start_together(&mut self, now: Time) {
        if let Some(slot) = self.next_slot {
            self.slots.count_to(slot);
            self.slots.take(slot, &mut self.senders);
        } else {
            let passed = now.saturating_since(self.origin).div_floor(self.access.timing.slot);
            self.slots.count_to(self.slots.count() + passed);
        }
        if !self.off_grid.contenders.is_empty() {
            self.send_off_grid(now);
        }
        self.sender = self.senders[0];
        if self.is_collision() {
            self.collide(now);
        } else {
            self.senders.clear();
            self.start_alone(now);
        }
    }

    /// Whether several stations are sending: their frames collide.
    #[inline]
    pub(super) fn is_collision(&self) -> bool {
        self.senders.len() > 1
    }

    /// The stations that are sending.
    pub(super) fn on_air(&self) -> &[u32] {
        if self.is_collision() { &self.senders } else { std::slice::from_ref(&self.sender) }
    }

    /// A single station starts sending.
    #[inline(always)]
    pub(super) fn start_alone(&mut self, now: Time) {
        let sender = self.sender;
        let state = &mut self.stations[sender as usize];
        state.counters.attempts += 1;
        if state.is_simple {
            self.phase = SharedPhase::Data;
            self.next = now + state.sent().air;
        } else {
            self.general_start(now);
        }
    }

    /// A single station starts sending an RTS, a broadcast, or a frame that may be lost.
    #[inline(never)]
    pub(super) fn general_start(&mut self, now: Time) {
        let sender = self.sender;
        let Frame { to, air, length, .. } = *self.stations[sender as usize].sent();
        if to == BROADCAST {
            self.phase = SharedPhase::Broadcast;
            self.next = now + air;
            return;
        }
        let mut begins = now;
        if self.access.protects(length) {
            self.stations[sender as usize].contention.clear();
            begins += self.protection;
        }
        let lost = self.lossy && self.is_data_lost(sender, to);
        self.phase = if lost { SharedPhase::LostData } else { SharedPhase::Data };
        self.next = begins + air;
    }

    /// Stations off the grid that are due send; the others return to the common grid.
    #[inline(never)]
    pub(super) fn send_off_grid(&mut self, now: Time) {
        let slot = self.access.timing.slot;
        let before = self.senders.len();
        let senders = &mut self.senders;
        self.off_grid.contenders.retain(|contender| {
            let sends = contender.has_frame && contender.due(slot) == now;
            if sends {
                senders.push(contender.station);
            }
            !sends
        });
        if self.senders.len() > before {
            self.senders.sort_unstable();
        }
        self.rejoin(now);
    }

    /// Returns stations off the grid to the common grid.
    #[inline(never)]
    pub(super) fn rejoin(&mut self, now: Time) {
        let slot = self.access.timing.slot;
        for contender in &self.off_grid.contenders {
            let state = &mut self.stations[contender.station as usize];
            let left = if contender.drew {
                let passed = now.saturating_since(contender.from).div_floor(slot);
                contender.slots.saturating_sub(passed)
            } else {
                u64::from(state.contention.draw())
            };
            state.backoff_end = self.slots.count() + left;
            if contender.has_frame {
                self.slots.insert(contender.station, left);
            }
        }
        self.off_grid.contenders.clear();
        self.off_grid.due = Time::NEVER;
    }

    /// Draws a backoff for `sender` that starts at `resumes`.
    pub(super) fn back_off(&mut self, sender: u32, resumes: Time) {
        let state = &mut self.stations[sender as usize];
        state.back_off(sender, resumes, self.origin, &mut self.slots, &mut self.off_grid);
    }

    /// Determines who sends next, and when.
    #[inline(always)]
    pub(super) fn reschedule(&mut self) {
        let slot = self.access.timing.slot;
        if let Some(ahead) = self.slots.until_next() {
            self.next_slot = Some(self.slots.count() + ahead);
            self.next = self.origin + slot * ahead;
        } else {
            self.next_slot = None;
            self.next = Time::NEVER;
        }
        self.consider_off_grid();
    }

    /// Lets a station off the grid send next if it is due before all others.
    #[inline(always)]
    fn consider_off_grid(&mut self) {
        if self.off_grid.due < self.next {
            self.next = self.off_grid.due;
            self.next_slot = None;
        }
    }
}
