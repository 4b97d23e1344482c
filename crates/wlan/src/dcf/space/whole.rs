//! Exchanges that meet no other frame.
//!
//! Most data frames and their ACKs have the air for themselves: whoever could begin meanwhile hears the data, or the ACK, in
//! time. What such an exchange leaves behind follows from the links of its two ends, so it is booked in one go when the
//! ACK ends. Until then it touches nobody but these two. Should somebody else get a frame to send before that, it is
//! taken apart into its frames, as far as these have come.

use wifair_packet::Packet;
use wifair_units::Time;

use super::super::{AirTime, BROADCAST, Heard};
use super::calendar::Act;
use super::sets::{bit_in, each, place};
use super::shares::Share;
use super::{Call, Kind, Sending, Space, Stage};

/// How far an exchange has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The data are on the air.
    Data,
    /// They were received.
    Gap,
    /// The ACK is on the air.
    Ack,
}

/// Data and their ACK, which meet no other frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    sender: u32,
    receiver: u32,
    phase: Phase,
    start: Time,
    data_end: Time,
    ack_start: Time,
    end: Time,
    /// Until when the data reserve the medium.
    nav: Time,
}

impl Exchange {
    /// When it goes on.
    #[inline]
    pub(super) fn next(&self) -> Time {
        match self.phase {
            Phase::Data => self.data_end,
            Phase::Gap => self.ack_start,
            Phase::Ack => self.end,
        }
    }

    /// Whether `station` has received the data, and has not sent the whole ACK.
    #[inline]
    pub(super) fn is_answered_by(&self, station: u32) -> bool {
        self.receiver == station && self.phase != Phase::Data
    }

    /// Books what the air was used for since it went on last.
    pub(super) fn account(&self, now: Time, air: &mut AirTime) {
        if self.phase == Phase::Data {
            air.data += now - self.start;
        } else {
            air.idle += now.min(self.ack_start) - self.data_end;
            air.ack += now.saturating_since(self.ack_start);
        }
    }
}

impl Space {
    /// The exchange that `sender` opens with this frame, if nobody else begins to send before its ACK has ended.
    pub(super) fn whole_exchange(&self, sender: u32, sending: &Sending) -> Option<Exchange> {
        let Sending { kind, to: receiver, start, end: data_end, nav, .. } = *sending;
        if !self.is_plain || kind != Kind::Data || receiver == BROADCAST || self.traffic.frames > 0 {
            return None;
        }
        if !self.calendar.is_open() || self.ears[receiver as usize].engaged {
            return None;
        }
        let is_read = |from, to| {
            let (word, bit) = place(to);
            self.shares.at(from, word).reads & bit != 0
        };
        if !is_read(sender, receiver) || !is_read(receiver, sender) {
            return None;
        }
        let frame = self.stations[sender as usize].frame.as_ref().expect("a sender of data has a frame");
        if self.access.protects(frame.length) {
            return None;
        }
        let ack_start = data_end + self.access.timing.sifs;
        let end = ack_start + frame.ack;
        // Who hears the data alone is silent until the ACK has ended: it knows the NAV, or waits EIFS.
        let nav_is_enough = nav + self.waits.difs > end;
        let eifs_is_enough = self.eifs_if_unread && data_end + self.waits.eifs > end;
        if !(nav_is_enough && eifs_is_enough) {
            let (mut data, mut ack) = (self.shares.of(sender), self.shares.of(receiver));
            while let Some((data, ack)) = self.shares.next_of(&mut data, &mut ack) {
                let silent = if nav_is_enough { data.reads } else { 0 } | if eifs_is_enough { !data.reads } else { 0 };
                if data.senses & !ack.senses & !silent & self.alert.of(data.word as usize) != 0 {
                    return None;
                }
            }
        }
        let spared = |word| self.shares.at(sender, word).senses;
        let meets = |station, due| {
            let (word, bit) = place(station);
            due <= ack_start || self.shares.at(receiver, word).senses & bit == 0
        };
        if self.calendar.interrupts(end, spared, meets) {
            return None;
        }
        Some(Exchange { sender, receiver, phase: Phase::Data, start, data_end, ack_start, end, nav })
    }

    /// `exchange` begins with this frame. It goes on at once if nobody looks before its data have ended.
    pub(super) fn begin_exchange<R>(
        &mut self,
        exchange: Exchange,
        sending: Sending,
        bound: Time,
        call: &mut Call<R>,
    ) -> Heard {
        let sender = exchange.sender;
        self.sendings[sender as usize] = sending;
        self.ears[sender as usize].engaged = true;
        self.held.release(sender);
        self.signals.garbled.put(sender, false);
        self.exchange = Some(exchange);
        if exchange.data_end >= bound.min(self.sleepers.next()) || call.has_losses() {
            return Heard::Nothing;
        }
        call.now = exchange.data_end;
        self.receive_data(&exchange)
    }

    /// `exchange`, which is under way, goes on at the time of the call, and past that if nobody looks before its end.
    pub(super) fn continue_exchange<R: Fn(&Packet) -> u32>(
        &mut self,
        exchange: &Exchange,
        bound: Time,
        call: &mut Call<R>,
    ) -> Heard {
        match exchange.phase {
            Phase::Data => return self.receive_data(exchange),
            Phase::Gap if exchange.end >= bound.min(self.sleepers.next()) => {
                self.exchange = Some(Exchange { phase: Phase::Ack, ..*exchange });
            }
            Phase::Gap | Phase::Ack => {
                call.now = exchange.end;
                self.conclude_exchange(exchange, call);
            }
        }
        Heard::Nothing
    }

    /// The data have ended.
    fn receive_data(&mut self, exchange: &Exchange) -> Heard {
        let Exchange { sender, receiver, start, data_end, .. } = *exchange;
        self.exchange = Some(Exchange { phase: Phase::Gap, ..*exchange });
        let ear = &mut self.ears[receiver as usize];
        if ear.nav_check < Time::NEVER {
            ear.confirm_nav(start, &self.waits);
        }
        if ear.fall_busy(start, &self.waits) {
            ear.left = self.stations[receiver as usize].contention.draw();
        }
        ear.engaged = true;
        self.calendar.clear(receiver);
        self.held.release(receiver);
        self.signals.garbled.put(receiver, false);
        let answering = &mut self.stations[receiver as usize];
        answering.stage = Stage::Due(Kind::Ack);
        answering.peer = sender;
        let awaiting = &mut self.stations[sender as usize];
        awaiting.stage = Stage::Awaits;
        let frame = awaiting.frame.as_mut().expect("a sender of data has a frame");
        let is_new = !std::mem::replace(&mut frame.received, true);
        self.counters[sender as usize].data += frame.air;
        self.traffic.air.data += data_end - start;
        self.traffic.accounted = data_end;
        if is_new { Heard::Packet { to: receiver, id: frame.id } } else { Heard::Nothing }
    }

    /// The ACK has ended, and all go on who heard it or the data.
    fn conclude_exchange<R: Fn(&Packet) -> u32>(&mut self, exchange: &Exchange, call: &mut Call<R>) {
        let Exchange { sender, receiver, ack_start, end, .. } = *exchange;
        self.exchange = None;
        exchange.account(end, &mut self.traffic.air);
        self.traffic.accounted = end;
        self.counters[sender as usize].control += end - ack_start;
        let (mut data, mut ack) = (self.shares.of(sender), self.shares.of(receiver));
        while let Some((data, ack)) = self.shares.next_of(&mut data, &mut ack) {
            self.pass_both(exchange, data, ack);
        }
        self.stations[receiver as usize].stage = Stage::Rest;
        self.ears[receiver as usize].engaged = false;
        self.fall_idle(end, receiver);
        self.succeed(sender, call);
        self.fall_idle(end, sender);
    }

    /// What the exchange leaves behind at 64 stations that hear its data or its ACK.
    #[inline]
    fn pass_both(&mut self, exchange: &Exchange, data: Share, ack: Share) {
        let Exchange { sender, receiver, start, data_end, ack_start, end, nav, .. } = *exchange;
        let word = data.word as usize;
        let hearers = (data.senses | ack.senses) & !bit_in(word, sender) & !bit_in(word, receiver);
        self.held.of_mut(word).release(hearers);
        let before = self.signals.garbled.of(word);
        let after_data = self.garbled_after(before, data);
        let eifs_by_data = if self.eifs_is_nav { after_data & data.senses } else { 0 };
        let after_ack = self.garbled_after(after_data & !eifs_by_data, ack);
        let eifs_by_ack = if self.eifs_is_nav { after_ack & ack.senses } else { 0 };
        let garbled = after_ack & !eifs_by_ack;
        *self.signals.garbled.of_mut(word) = before & !hearers | garbled & hearers;
        let mut asleep = 0;
        for station in each(word, hearers) {
            let (_, bit) = place(station);
            let ear = &mut self.ears[station as usize];
            let busy = if data.senses & bit != 0 { start } else { ack_start };
            if ear.nav_check < Time::NEVER {
                ear.confirm_nav(busy, &self.waits);
            }
            if ear.fall_busy(busy, &self.waits) {
                ear.left = self.stations[station as usize].contention.draw();
            }
            if data.reads & bit != 0 {
                ear.set_nav(nav, Time::NEVER);
            }
            if eifs_by_data & bit != 0 {
                ear.set_nav(data_end + self.waits.eifs, Time::NEVER);
            }
            if eifs_by_ack & bit != 0 {
                ear.set_nav(end + self.waits.eifs, Time::NEVER);
            }
            let idle = if ack.senses & bit != 0 { end } else { data_end };
            ear.fall_idle(idle, garbled & bit != 0, &self.waits);
            if ear.contends {
                self.calendar.set(station, ear.due(&self.waits));
            } else if ear.left == 0 {
                asleep |= bit;
            }
        }
        *self.alert.of_mut(word) &= !asleep;
    }

    /// Who has not read what arrived last, of those `before`, once a frame has ended that meets no other.
    #[inline]
    pub(super) fn garbled_after(&self, before: u64, heard: Share) -> u64 {
        before & !heard.reads | if self.eifs_if_unread { heard.senses & !heard.reads } else { 0 }
    }

    /// The exchange under way, if there is one, becomes the frames that it consists of: somebody gets a frame to send
    /// who was not foreseen.
    pub(super) fn take_apart(&mut self) {
        let Some(exchange) = self.exchange.take() else { return };
        let Exchange { sender, receiver, ack_start, .. } = exchange;
        let data = self.sendings[sender as usize];
        if exchange.phase == Phase::Data {
            self.turn_to_sending(sender);
            self.send(sender, data);
            return self.look_at_start(sender);
        }
        self.pass_to_all(sender, &data, false);
        if exchange.phase == Phase::Gap {
            return self.calendar.plan(receiver, ack_start, Act::Begin);
        }
        self.traffic.account(ack_start, &mut self.sendings);
        let ack = self.compose(ack_start, receiver);
        self.turn_to_sending(receiver);
        self.send(receiver, ack);
        self.look_at_start(receiver);
    }
}
