//! Exchanges of data and ACK that no other frame overlaps, in a single step.
//!
//! Most data frames and their ACKs do not overlap with other frames: every station that might start sending hears the
//! data or the ACK in time. The effects of such an exchange follow from the links of its two ends, so they are applied
//! at once when the ACK ends; until then, no other station is affected. If another station gets a frame to send before
//! the ACK ends, the exchange is split into its individual frames at their current state.

use wifair_units::Time;

use super::exchange_audience::Hears;
use crate::channel::spatial::backoff_state::Intervals;
use crate::channel::spatial::backoff_timers::TimerAction;
use crate::channel::spatial::bitset::place;
use crate::channel::spatial::{Call, ExchangeStage, SpatialChannel};
use crate::exchange::ExchangeFrame;
use crate::{AirTime, BROADCAST, MacEvent};

/// Phase of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtomicPhase {
    /// The data frame is on the air.
    Data,
    /// The data frame was received.
    Gap,
    /// The ACK is on the air.
    Ack,
}

/// A data frame and its ACK, overlapped by no other frame.
#[derive(Clone, Copy, Debug)]
pub(in crate::channel::spatial) struct AtomicExchange {
    sender: u32,
    receiver: u32,
    /// Index of its two stations among the pairs of [`super::exchange_audience`].
    pair: u32,
    phase: AtomicPhase,
    start: Time,
    data_end: Time,
    ack_start: Time,
    end: Time,
    /// Until when the data frame reserves the channel.
    nav: Time,
}

impl AtomicExchange {
    /// Time of its next step.
    #[inline]
    pub(in crate::channel::spatial) fn next(&self) -> Time {
        match self.phase {
            AtomicPhase::Data => self.data_end,
            AtomicPhase::Gap => self.ack_start,
            AtomicPhase::Ack => self.end,
        }
    }

    /// Whether `station` has received the data frame and not finished its ACK.
    #[inline]
    pub(in crate::channel::spatial) fn is_answered_by(&self, station: u32) -> bool {
        self.receiver == station && self.phase != AtomicPhase::Data
    }

    /// Accounts for the air time until `now`: from the start of the data frame while it is on the air, from its end
    /// afterwards.
    pub(in crate::channel::spatial) fn account(&self, now: Time, air: &mut AirTime) {
        if self.phase == AtomicPhase::Data {
            air.data += now - self.start;
        } else {
            air.idle += now.min(self.ack_start) - self.data_end;
            air.ack += now.saturating_since(self.ack_start);
        }
    }
}

impl SpatialChannel {
    /// Starts the exchange that `sender` opens with a data frame, unless another station may start before the ACK ends.
    #[inline(always)]
    pub(in crate::channel::spatial) fn begins_exchange(&mut self, start: Time, sender: u32) -> bool {
        if !self.allows_atomic || self.accounting.frames > 0 || !self.backoff_timers.is_open() {
            return false;
        }
        let frame = self.stations[sender as usize].frame.as_ref().expect("a sender of data has a frame");
        let receiver = frame.to;
        if receiver == BROADCAST || self.access.protects(frame.length) {
            return false;
        }
        debug_assert!(!self.backoffs[receiver as usize].engaged, "nobody is in an exchange while nothing is certain");
        let Some(pair) = self.exchange_audiences.find(sender, receiver, &self.audiences) else { return false };
        let data_end = start + frame.air;
        let ack_start = data_end + self.access.timing.sifs;
        let end = ack_start + frame.ack;
        let nav = data_end + self.access.round_nav(end - data_end);
        // Stations that hear the data but not the ACK stay silent until its end because of the NAV or EIFS.
        let nav_is_enough = nav + self.intervals.difs > end;
        let eifs_is_enough = self.eifs_if_unread && data_end + self.intervals.eifs > end;
        if !(nav_is_enough && eifs_is_enough) {
            let resumes = |station: u32, hears: Hears| {
                let is_silent = if hears.reads_data { nav_is_enough } else { eifs_is_enough };
                hears.data && !hears.ack && !is_silent && self.backoffs[station as usize].contends
            };
            let hearers = self.exchange_audiences.hearers(self.exchange_audiences.pair(pair));
            if hearers.iter().any(|(station, hears)| resumes(*station, *hears)) {
                return false;
            }
        }
        let spared = |word| self.audiences.at(sender, word).senses;
        let meets = |station, due| {
            let (word, bit) = place(station);
            due <= ack_start || self.audiences.at(receiver, word).senses & bit == 0
        };
        if self.backoff_timers.interrupts(end, spared, meets) {
            return false;
        }
        self.backoffs[sender as usize].engaged = true;
        self.signals.eifs_pending.put(sender, false);
        self.exchange = Some(AtomicExchange {
            sender,
            receiver,
            pair,
            phase: AtomicPhase::Data,
            start,
            data_end,
            ack_start,
            end,
            nav,
        });
        true
    }

    /// Continues the exchange at the time of the call, and completes it at once if `bound` is not before its end.
    pub(in crate::channel::spatial) fn continue_exchange(&mut self, bound: Time, call: &mut Call<'_>) -> MacEvent {
        let Some(exchange) = &mut self.exchange else { return MacEvent::Nothing };
        match exchange.phase {
            AtomicPhase::Data => return self.receive_data(),
            AtomicPhase::Gap if exchange.end >= bound.min(self.paused_queues.next()) => {
                exchange.phase = AtomicPhase::Ack
            }
            AtomicPhase::Gap | AtomicPhase::Ack => self.conclude_exchange(call),
        }
        MacEvent::Nothing
    }

    /// Ends the data frame.
    #[inline(always)]
    fn receive_data(&mut self) -> MacEvent {
        let Some(exchange) = &mut self.exchange else { return MacEvent::Nothing };
        exchange.phase = AtomicPhase::Gap;
        let AtomicExchange { sender, receiver, start, data_end, .. } = *exchange;
        let backoff = &mut self.backoffs[receiver as usize];
        if backoff.nav.check < Time::NEVER {
            backoff.nav.confirm(start + self.intervals.preamble);
        }
        if backoff.become_busy(start, &self.intervals) {
            backoff.left = self.stations[receiver as usize].contention.draw();
        }
        backoff.engaged = true;
        self.backoff_timers.clear(receiver);
        self.signals.eifs_pending.put(receiver, false);
        let answering = &mut self.stations[receiver as usize];
        answering.stage = ExchangeStage::Due(ExchangeFrame::Ack);
        answering.peer = sender;
        let awaiting = &mut self.stations[sender as usize];
        awaiting.stage = ExchangeStage::Awaits;
        let frame = awaiting.frame.as_mut().expect("a sender of data has a frame");
        let is_new = !std::mem::replace(&mut frame.received, true);
        self.counters[sender as usize].data += frame.air;
        self.accounting.air.data += data_end - start;
        self.accounting.accounted = data_end;
        if is_new { MacEvent::Packet { to: receiver, id: frame.id } } else { MacEvent::Nothing }
    }

    /// Ends the ACK; all stations that heard it or the data frame resume.
    fn conclude_exchange(&mut self, call: &mut Call<'_>) {
        let Some(exchange) = self.exchange.take() else { return };
        let AtomicExchange { sender, receiver, ack_start, end, .. } = exchange;
        call.now = end;
        exchange.account(end, &mut self.accounting.air);
        self.accounting.accounted = end;
        self.counters[sender as usize].control += end - ack_start;
        self.update_hearers(&exchange);
        self.stations[receiver as usize].stage = ExchangeStage::Rest;
        self.backoffs[receiver as usize].engaged = false;
        self.resume_after_own_frame(end, receiver);
        self.succeed_dcf(sender, call);
        self.resume_after_own_frame(end, sender);
    }

    /// Resumes the backoff of `station` after its own frame, which no other frame followed.
    #[inline(always)]
    fn resume_after_own_frame(&mut self, end: Time, station: u32) {
        let backoff = &mut self.backoffs[station as usize];
        backoff.become_idle(end, false, &self.intervals);
        if backoff.contends {
            self.backoff_timers.set(station, backoff.due(&self.intervals));
        }
    }

    /// Updates NAV, EIFS and backoff of all stations that hear the data or the ACK.
    #[inline(always)]
    fn update_hearers(&mut self, exchange: &AtomicExchange) {
        let AtomicExchange { pair, start, data_end, ack_start, end, nav, .. } = *exchange;
        let Intervals { difs, eifs, .. } = self.intervals;
        let pair = self.exchange_audiences.pair(pair);
        for place in pair.words.clone() {
            let hearers = self.exchange_audiences.word(place);
            let word = hearers.word as usize;
            let eifs_pending = self.signals.eifs_pending.of_mut(word);
            *eifs_pending &= !hearers.all;
            *eifs_pending |= if self.eifs_if_unread && !self.eifs_is_nav { hearers.missed } else { 0 };
        }
        for &(station, hears) in self.exchange_audiences.hearers(pair) {
            let busy = if hears.data { start } else { ack_start };
            let (idle, read) = if hears.ack { (end, hears.reads_ack) } else { (data_end, hears.reads_data) };
            let backoff = &mut self.backoffs[station as usize];
            if backoff.nav.check < Time::NEVER {
                backoff.nav.confirm(busy + self.intervals.preamble);
            }
            if backoff.become_busy(busy, &self.intervals) {
                backoff.left = self.stations[station as usize].contention.draw();
            }
            let mut from = idle + difs;
            if hears.reads_data {
                backoff.nav.until = backoff.nav.until.max(nav);
            } else if self.eifs_is_nav && hears.data {
                backoff.nav.until = backoff.nav.until.max(data_end + eifs);
            }
            if !read && self.eifs_is_nav {
                backoff.nav.until = backoff.nav.until.max(idle + eifs);
            } else if !read && self.signals.eifs_pending.has(station) {
                from = idle + eifs;
            }
            backoff.count_from(if backoff.nav.until > idle { from.max(backoff.nav.until + difs) } else { from });
            if backoff.contends {
                self.backoff_timers.set(station, backoff.due(&self.intervals));
            }
        }
    }

    /// Replaces the exchange in progress, if any, by its individual frames, because a station unexpectedly gets a frame
    /// to send.
    pub(in crate::channel::spatial) fn split_exchange(&mut self) {
        let Some(exchange) = self.exchange.take() else { return };
        let AtomicExchange { sender, receiver, start, ack_start, .. } = exchange;
        let data = self.compose(start, sender, ExchangeFrame::Data);
        if exchange.phase == AtomicPhase::Data {
            self.switch_to_transmission(sender);
            self.send(sender, data);
            return self.check_initial_collision(sender);
        }
        self.stations[sender as usize].exchange.end_frame(true);
        self.transmissions[sender as usize] = data;
        self.begin_reception(start, sender, data.end);
        self.end_reception(data.end, sender, &data);
        if exchange.phase == AtomicPhase::Gap {
            return self.backoff_timers.plan(receiver, ack_start, TimerAction::Begin);
        }
        self.accounting.account(ack_start, &mut self.transmissions);
        self.stations[receiver as usize].stage = ExchangeStage::Sends;
        let ack = self.compose(ack_start, receiver, ExchangeFrame::Ack);
        self.switch_to_transmission(receiver);
        self.send(receiver, ack);
        self.check_initial_collision(receiver);
    }
}
