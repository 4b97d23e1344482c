//! Frame exchanges: who starts, what is received, and the consequences of their end.

use wifair_phy::{FrameMode, Timing};
use wifair_units::{Duration, Time};

use super::{GeneralChannel, GeneralPhase, SlotStart};
use crate::channel::nav::Nav;
use crate::edcaf::{AfterExchange, Edcaf, Edcafs, number};
use crate::exchange::ExchangeFrame;
use crate::interpreter::Following;
use crate::{BROADCAST, Call, Eifs, MacEvent};

impl GeneralChannel {
    /// Contenders that are due start sending; the others stop counting.
    pub(super) fn start(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        self.senders.clear();
        self.late.clear();
        self.navs.confirm(now + self.edcafs.access.timing.preamble);
        match self.backoffs.take_only(now) {
            Some(contender) => {
                self.interrupt(now);
                self.admit(now, contender as usize);
            }
            None => self.choose_senders(call),
        }
        self.send(call);
    }

    /// Contenders that are not due stop counting.
    #[inline(always)]
    fn interrupt(&mut self, now: Time) {
        let contenders = &mut self.edcafs.contenders;
        self.backoffs.interrupt(now, |contender| u64::from(contenders[contender as usize].contention.draw()));
    }

    /// A contender wins the contention.
    #[inline]
    fn admit(&mut self, now: Time, index: usize) {
        self.edcafs.contenders[index].begin_txop(now);
        self.senders.push(index);
    }

    /// Determines the senders among the contenders that are due; the others stop counting.
    #[inline(never)]
    fn choose_senders(&mut self, call: &mut Call<'_>) {
        self.backoffs.take_due(call.now, &mut self.due);
        self.interrupt(call.now);
        let mut last = None;
        for place in 0..self.due.len() {
            let index = self.due[place] as usize;
            // Categories of one station are in order of priority; the first one sends (internal collision).
            let station = self.edcafs.station_of(index);
            if last.replace(station) == Some(station) {
                let more = self.edcafs.collide_internally(index, call);
                let slots = u64::from(self.edcafs.contenders[index].contention.draw());
                self.backoffs.start(number(index), slots, more);
            } else {
                self.admit(call.now, index);
            }
        }
        self.due.clear();
    }

    /// The winners of the contention send.
    #[inline(always)]
    pub(super) fn send(&mut self, call: &mut Call<'_>) {
        if let [sender] = self.senders[..]
            && self.send_reliably(call.now, sender)
        {
            return;
        }
        self.send_any(call);
    }

    /// Like [`GeneralChannel::send`], for any exchange.
    #[inline(never)]
    fn send_any(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        self.air.idle += now - self.accounted;
        self.accounted = now;
        self.began = now;
        self.is_reserved = false;
        self.cannot_fail = false;
        for &sender in &self.senders {
            self.edcafs.open(sender, call);
        }
        if self.senders.len() > 1 {
            self.phase = GeneralPhase::Collision;
            self.next = self.collision_end();
            return;
        }
        let sender = self.senders[0];
        self.exchange = self.edcafs.contenders[sender].ppdu.exchange();
        self.begin_frame(sender, now);
    }

    /// The next frame in the exchange of a sender begins at `begins`, alone on the air.
    fn begin_frame(&mut self, sender: usize, begins: Time) {
        let frame = self.exchange.step().frame;
        let Edcaf { station, ref ppdu, .. } = self.edcafs.contenders[sender];
        let (from, to) = (number(station), ppdu.sole().station);
        let Timing { sizes, .. } = self.edcafs.access.timing;
        let sent = FrameMode::NonHt(self.edcafs.access.control_rate());
        self.began = begins;
        self.next = begins + ppdu.air_of(frame, self.exchange.turn(), &self.edcafs.access);
        let is_read = match frame {
            ExchangeFrame::Rts => !self.edcafs.loses_control(station, to, to, sent, sizes.rts),
            ExchangeFrame::Cts => !self.edcafs.loses_control(station, to, from, sent, sizes.cts),
            ExchangeFrame::Ack | ExchangeFrame::BlockAck => !self.edcafs.loses_response(sender),
            frame if frame.is_protected() && to != BROADCAST => {
                self.edcafs.draw_losses(sender);
                self.edcafs.contenders[sender].ppdu.is_read()
            }
            _ => true,
        };
        self.phase = GeneralPhase::Frame { is_read };
    }

    /// The frame on the air, alone, ends: its receiver reads it or not.
    pub(super) fn end_frame(&mut self, is_read: bool, call: &mut Call<'_>) -> MacEvent {
        let (now, sender) = (call.now, self.senders[0]);
        let frame = self.exchange.step().frame;
        let spent = self.account_frame(now, sender, frame);
        let contender = &mut self.edcafs.contenders[sender];
        let (station, to, id) = (contender.station, contender.ppdu.sole().station, contender.ppdu.sole().first);
        let mut is_answered = is_read;
        match frame {
            ExchangeFrame::Rts => is_answered &= !self.is_silenced(now, number(station), to),
            ExchangeFrame::Cts if is_read => contender.contention.clear(), // its air time counts with the data
            ExchangeFrame::Cts | ExchangeFrame::Ack | ExchangeFrame::BlockAck => {
                self.edcafs.counters[station].control += spent;
            }
            frame if frame.is_protected() => self.edcafs.end_ppdu(sender, (is_read, false), self.is_reserved, call),
            _ => {}
        }
        match self.exchange.end_frame(is_answered) {
            Following::Frame(_) => self.begin_frame(sender, now + self.edcafs.access.timing.sifs),
            Following::Complete => self.succeed(call),
            Following::Unanswered => self.time_out(frame, is_read, call),
        }
        if to == BROADCAST && frame == ExchangeFrame::Data {
            let from = number(station);
            self.receivers.clear();
            self.receivers.extend((0..number(self.edcafs.stations.len())).filter(|station| *station != from));
            return MacEvent::Broadcast { from, id };
        }
        if frame.is_protected() { self.edcafs.report_next() } else { MacEvent::Nothing }
    }

    /// No response comes to a frame, or the response was this frame and is lost.
    fn time_out(&mut self, frame: ExchangeFrame, is_read: bool, call: &mut Call<'_>) {
        let station = self.edcafs.station_of(self.senders[0]);
        let counters = &mut self.edcafs.counters[station];
        counters.errors += 1;
        if matches!(frame, ExchangeFrame::Rts | ExchangeFrame::Cts) {
            counters.control += self.edcafs.access.control_air(ExchangeFrame::Rts); // no data follow it
        }
        match frame {
            ExchangeFrame::Rts => self.end_rts(!is_read, call),
            ExchangeFrame::Cts => self.end_lost_cts(call),
            ExchangeFrame::Ack | ExchangeFrame::BlockAck => self.end_lost_response(call),
            _ => self.end_lost_data(call),
        }
        self.next = self.backoffs.next();
    }

    /// Whether `to` does not answer an RTS of `station` that ends at `end`, because of its NAV (10.3.2.9). It answers
    /// the holder of the TXOP for which that is (10.22.2.4), who has no NAV itself.
    fn is_silenced(&self, end: Time, station: u32, to: u32) -> bool {
        let nav = self.navs.of(to);
        end < nav.end() && !([station, to].contains(&nav.holder) && self.edcafs.has_txops())
    }

    /// The frames that a sender has sent since [`GeneralChannel::began`] before its data.
    pub(super) fn before_data(&self, sender: usize) -> &'static [ExchangeFrame] {
        if self.is_reserved { &[] } else { self.edcafs.contenders[sender].ppdu.before_data() }
    }

    /// Air time of a sender's first frame: an RTS, a CTS-to-self or the data frame.
    #[inline]
    pub(super) fn opening(&self, sender: usize) -> Duration {
        let ppdu = &self.edcafs.contenders[sender].ppdu;
        match ppdu.before_data() {
            [step, ..] if !self.is_reserved => self.edcafs.access.control_air(*step),
            _ => ppdu.air,
        }
    }

    /// Whether data of a sender follow even if its first frame collides: nobody answers a CTS-to-self.
    pub(super) fn goes_on(&self, sender: usize) -> bool {
        self.edcafs.access.protection.is_some() && self.before_data(sender).contains(&ExchangeFrame::CtsToSelf)
    }

    /// When data begin that follow a CTS-to-self in a collision.
    pub(super) fn data_begin(&self) -> Time {
        let access = &self.edcafs.access;
        self.began + access.control_air(ExchangeFrame::CtsToSelf) + access.timing.sifs
    }

    /// When the air is free again after a collision, at least for the gap between CTS-to-self and data.
    #[inline(always)]
    fn collision_end(&self) -> Time {
        let mut end = self.began;
        for sender in &self.senders {
            end = end.max(self.began + self.opening(*sender));
        }
        if self.edcafs.access.protection.is_none() || end <= self.data_begin() {
            return end;
        }
        self.senders.iter().map(|sender| self.last_end(*sender)).fold(end, Time::max)
    }

    /// Air time of what a sender has sent in a collision, and the end of its last frame.
    #[inline(always)]
    fn spoilt(&self, sender: usize) -> (Duration, Time) {
        let ppdu = &self.edcafs.contenders[sender].ppdu;
        match ppdu.before_data() {
            [] => (ppdu.air, self.began + ppdu.air),
            [ExchangeFrame::CtsToSelf, ..] => {
                let cts = self.edcafs.access.control_air(ExchangeFrame::CtsToSelf);
                (cts + ppdu.air, self.last_end(sender))
            }
            _ => (self.opening(sender), self.last_end(sender)),
        }
    }

    /// End of the last frame of a sender in a collision, including data that follow its CTS-to-self.
    #[inline(always)]
    pub(super) fn last_end(&self, sender: usize) -> Time {
        if self.goes_on(sender) {
            self.data_begin() + self.edcafs.contenders[sender].ppdu.air
        } else {
            self.began + self.opening(sender)
        }
    }

    /// Accounts for the air time of a frame in the exchange of a sender that ends at `now`; returns it.
    fn account_frame(&mut self, now: Time, sender: usize, frame: ExchangeFrame) -> Duration {
        let air = now - self.began;
        self.air.idle += self.began.saturating_since(self.accounted);
        match frame {
            ExchangeFrame::Rts | ExchangeFrame::Cts | ExchangeFrame::CtsToSelf => self.air.rts_cts += air,
            ExchangeFrame::Data => {
                let lost = self.edcafs.contenders[sender].ppdu.lost_air();
                self.air.data += air - lost;
                self.air.error += lost;
            }
            _ => self.air.ack += air,
        }
        self.accounted = now;
        air
    }

    /// The channel is idle from `end`: each contender counts slots once its AIFS has passed, and its NAV, if that is
    /// later. The `senders` draw backoffs afterwards.
    #[inline(always)]
    pub(super) fn idle_from(&mut self, end: Time, senders: &[usize]) {
        self.phase = GeneralPhase::Idle;
        self.cannot_fail = self.edcafs.shortcuts.are_reliable();
        self.backoffs.idle_from(end.max(self.navs.end()));
        if self.navs.are_apart() {
            self.resume_by_navs(end, senders);
        }
    }

    /// Completes an exchange: contention window and retry counts are reset. Another exchange follows at once if the
    /// TXOP allows it, otherwise a backoff, whether or not there is more to send (10.3.4.3).
    pub(super) fn succeed(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        let sender = self.senders[0];
        let more = self.edcafs.succeed(sender, call);
        let left = self.edcafs.left_of_txop(sender, now);
        let excess = left.max(self.nav_excess(sender));
        self.set_navs(now, excess, Duration::ZERO);
        self.set_eifs_of_older(sender, now);
        let after_sifs = now + self.edcafs.access.timing.sifs;
        match self.edcafs.after_exchange(now, sender, more) {
            AfterExchange::Continues => (self.phase, self.next) = (GeneralPhase::Gap, after_sifs),
            AfterExchange::Releases => {
                (self.phase, self.next) = (GeneralPhase::CfEnd, after_sifs + self.edcafs.access.cf_end_air());
            }
            AfterExchange::Ends => {
                self.set_navs(now, excess, left);
                self.finish(now, left, more);
                self.hold_older(now, sender);
            }
        }
    }

    /// Accounts for the air time of a CF-End that ends at `now`.
    pub(super) fn account_cf_end(&mut self, now: Time) {
        let air = self.edcafs.access.cf_end_air();
        self.air.idle += self.edcafs.access.timing.sifs;
        self.air.ack += air;
        let station = self.edcafs.station_of(self.senders[0]);
        self.edcafs.counters[station].control += air;
        self.accounted = now;
    }

    /// The CF-End of a TXOP holder ends at `now`, and with it the TXOP: a backoff follows.
    pub(super) fn end_cf_end(&mut self, now: Time) {
        self.navs.reset(now);
        let sender = self.senders[0];
        let station = number(self.edcafs.station_of(sender));
        let contender = &mut self.edcafs.contenders[sender];
        let has_more = contender.task.is_some();
        if self.repeats_cf_end.is_none_or(|ap| ap == station) {
            return self.finish(now, Duration::ZERO, has_more);
        }
        let slots = u64::from(contender.contention.draw());
        self.backoffs.start(number(sender), slots, has_more);
        self.phase = GeneralPhase::RepeatedCfEnd;
        self.next = now + self.edcafs.access.timing.sifs + self.edcafs.access.cf_end_air();
    }

    /// Ends the sender's turn on an idle channel. If its TXOP stays reserved for `left`, it waits as well: a backoff
    /// follows when the TXNAV timer has expired, whether or not there is `more` to send (10.22.2.2).
    pub(super) fn finish(&mut self, now: Time, left: Duration, more: bool) {
        let sender = self.senders[0];
        self.idle_from(now, &[sender]);
        let contender = &mut self.edcafs.contenders[sender];
        let slots = u64::from(contender.contention.draw());
        self.backoffs.start_at(number(sender), now + left + contender.aifs, slots, more);
        self.next = self.backoffs.next();
    }

    /// Bystanders have read frames of the exchange, which reserve the channel for `excess` from `now`, and for the
    /// sender itself for `by_sender`. The receiver has no NAV but that of a CTS-to-self.
    #[inline]
    fn set_navs(&mut self, now: Time, excess: Duration, by_sender: Duration) {
        if excess > Duration::ZERO {
            self.extend_navs(now, excess, by_sender);
        }
    }

    #[inline(never)]
    fn extend_navs(&mut self, now: Time, excess: Duration, by_sender: Duration) {
        let sender = self.senders[0];
        let (holder, to) = (number(self.edcafs.station_of(sender)), self.edcafs.contenders[sender].ppdu.sole().station);
        let left = self.edcafs.left_of_txop(sender, now);
        let by_cts = if self.goes_on(sender) { left } else { Duration::ZERO };
        let by_cts = by_cts.max(self.excess_at_receiver(sender));
        let of_sender = (holder, now + by_sender);
        let of_receiver = if to == BROADCAST { of_sender } else { (to, now + by_cts) };
        let frames = self.frames_read(sender, self.data_end(sender, now), to != BROADCAST);
        self.reserve(sender, Nav::new(now + excess, holder), [of_sender, of_receiver], &frames);
    }

    /// How much longer than its exchange the rounded NAV of bystanders is.
    pub(super) fn nav_excess(&self, sender: usize) -> Duration {
        let ppdu = &self.edcafs.contenders[sender].ppdu;
        let access = &self.edcafs.access;
        if access.nav_unit == Duration::ZERO {
            return Duration::ZERO;
        }
        let after_cts_to_self = self.excess_at_receiver(sender);
        if ppdu.is_broadcast() {
            return after_cts_to_self;
        }
        let after_rts = ppdu
            .begins_with(ExchangeFrame::Rts)
            .then(|| access.timing.sifs * 3 + access.control_air(ExchangeFrame::Cts) + ppdu.air + ppdu.sole().response);
        access.nav_excess(ppdu.sole().response, after_rts).max(after_cts_to_self)
    }

    /// How much longer than its exchange the rounded NAV of its receiver is: that of a CTS-to-self, which is addressed
    /// to its sender. Stations do not read a CTS-to-self that has collided.
    fn excess_at_receiver(&self, sender: usize) -> Duration {
        let (ppdu, access) = (&self.edcafs.contenders[sender].ppdu, &self.edcafs.access);
        if access.nav_unit == Duration::ZERO || !self.goes_on(sender) {
            return Duration::ZERO;
        }
        let response = if ppdu.is_broadcast() { Duration::ZERO } else { access.timing.sifs + ppdu.sole().response };
        let exact = access.timing.sifs + ppdu.air + response;
        access.round_nav(exact).saturating_sub(exact)
    }

    /// The response is lost.
    #[inline(never)]
    fn end_lost_response(&mut self, call: &mut Call<'_>) {
        let (now, sender) = (call.now, self.senders[0]);
        let response = now - self.began;
        let left = self.edcafs.left_of_txop(sender, now);
        self.set_navs(now, left.max(self.nav_excess(sender)), Duration::ZERO);
        self.set_eifs_of_older(sender, now);
        self.idle_from(now, &[sender]);
        self.hold_older(now, sender);
        let data_end = now - response - self.edcafs.access.timing.sifs;
        let start = self.after_timeout_in_error(sender, false, data_end, now);
        self.fail(sender, false, start, call);
    }

    /// The data, or the BlockAckReq, are lost.
    #[inline(never)]
    fn end_lost_data(&mut self, call: &mut Call<'_>) {
        let (now, sender) = (call.now, self.senders[0]);
        self.set_navs_by_data(now);
        self.idle_from(now, &[sender]);
        self.hold_if_unread(now, sender, self.class_of_data(sender));
        self.wait_after_error(now, self.edcafs.contenders[sender].ppdu.sole().station);
        self.fail(sender, false, self.after_timeout(sender, false, now, now), call);
    }

    /// Ends an RTS that its receiver does not answer.
    #[inline(never)]
    fn end_rts(&mut self, lost: bool, call: &mut Call<'_>) {
        let (now, sender) = (call.now, self.senders[0]);
        // A frame may follow before the NAV is reset.
        let access = &self.edcafs.access;
        let reset = access.nav_reset.then(|| now + access.nav_reset_after_rts(access.control_rate()));
        self.set_navs_by_rts(now, reset.unwrap_or(Time::NEVER));
        self.idle_from(now, &[sender]);
        if lost {
            self.wait_after_error(now, self.edcafs.contenders[sender].ppdu.sole().station);
        }
        self.fail(sender, true, self.after_timeout(sender, true, now, now), call);
    }

    /// Ends a CTS that is not received.
    #[inline(never)]
    fn end_lost_cts(&mut self, call: &mut Call<'_>) {
        let (now, sender) = (call.now, self.senders[0]);
        let cts = self.edcafs.access.control_air(ExchangeFrame::Cts);
        let rts_end = now - cts - self.edcafs.access.timing.sifs;
        self.set_navs_by_rts(rts_end, Time::NEVER);
        let ppdu = &self.edcafs.contenders[sender].ppdu;
        let (to, air) = (ppdu.sole().station, ppdu.air);
        if self.edcafs.access.eifs == Eifs::Nav {
            // An ns-2 receiver waits for the data after its CTS, even if no data come.
            let until = now + self.edcafs.access.timing.sifs + air;
            self.navs.set_of(now, to, Nav::new(until, BROADCAST));
        }
        self.idle_from(now, &[sender]);
        let start = self.after_timeout_in_error(sender, true, rts_end, now);
        self.fail(sender, true, start, call);
    }

    /// Bystanders have read an RTS that ends at `end`, and may reset their NAV at `check`.
    fn set_navs_by_rts(&mut self, end: Time, check: Time) {
        let sender = self.senders[0];
        let (holder, to) = (number(self.edcafs.station_of(sender)), self.edcafs.contenders[sender].ppdu.sole().station);
        let until = end + self.edcafs.reserved_by_rts(sender, end);
        let frames = [(self.class_of_protection(), until)];
        self.reserve(sender, Nav { until, check, holder }, [(holder, Time::ZERO), (to, Time::ZERO)], &frames);
    }

    /// Bystanders have read data that end at `now` and were not received, and what preceded them. Stations that do not
    /// read the data have read only that.
    fn set_navs_by_data(&mut self, now: Time) {
        let sender = self.senders[0];
        let (holder, to) = (number(self.edcafs.station_of(sender)), self.edcafs.contenders[sender].ppdu.sole().station);
        let (by_rts, by_cts_to_self) = self.reserved_before(sender, now);
        let frames = self.frames_read(sender, now, false);
        let until = by_rts.max(by_cts_to_self).max(now + self.edcafs.reserved_by_data(sender, now));
        self.reserve(sender, Nav::new(until, holder), [(holder, Time::ZERO), (to, by_cts_to_self)], &frames);
    }

    /// Until when the RTS, or the CTS-to-self, reserves the channel that precedes the data of `sender`, which end at
    /// `data_end`.
    pub(super) fn reserved_before(&self, sender: usize, data_end: Time) -> (Time, Time) {
        let sifs = self.edcafs.access.timing.sifs;
        let data_began = data_end - self.edcafs.contenders[sender].ppdu.air;
        match self.before_data(sender).first() {
            Some(ExchangeFrame::Rts) => {
                let rts_ended = data_began - sifs * 2 - self.edcafs.access.control_air(ExchangeFrame::Cts);
                (rts_ended + self.edcafs.reserved_by_rts(sender, rts_ended), Time::ZERO)
            }
            Some(_) => {
                let cts_ended = data_began - sifs;
                (Time::ZERO, cts_ended + self.edcafs.reserved_by_cts_to_self(sender, cts_ended))
            }
            None => (Time::ZERO, Time::ZERO),
        }
    }

    /// From when `sender` counts slots, whose frame (an RTS, if `by_rts`) ended at `ended`, if the channel is idle from
    /// `now`.
    fn after_timeout(&self, sender: usize, by_rts: bool, ended: Time, now: Time) -> SlotStart {
        SlotStart::Timeout { expired: ended + self.edcafs.timeout(sender, by_rts), idle: now, in_error: false }
    }

    /// Like [`GeneralChannel::after_timeout`] if the sender has received the response in error.
    fn after_timeout_in_error(&mut self, sender: usize, by_rts: bool, ended: Time, now: Time) -> SlotStart {
        let (expired, eifs) = (ended + self.edcafs.timeout(sender, by_rts), self.edcafs.access.eifs);
        let idle = self.idle_after_error(now, number(self.edcafs.station_of(sender)));
        match eifs {
            Eifs::Nav => SlotStart::Idle(expired.max(idle)),
            _ => SlotStart::Timeout { expired, idle, in_error: true },
        }
    }

    /// From when the channel is idle for `station`, which has received a frame in error that ends at `now`.
    fn idle_after_error(&mut self, now: Time, station: u32) -> Time {
        let after_error = self.edcafs.access.after_error(now);
        if self.edcafs.access.eifs == Eifs::Nav {
            self.navs.set_of(now, station, Nav::new(after_error, BROADCAST));
        }
        after_error.max(self.navs.of(station).end())
    }

    /// `station` has received a frame in error that ends at `now`.
    pub(super) fn wait_after_error(&mut self, now: Time, station: u32) {
        let start = SlotStart::Idle(self.idle_after_error(now, station));
        self.start_late(station as usize, start);
    }

    /// The categories of `station`, but for one that has sent, count slots from `start`, on a channel that is idle.
    #[inline(always)]
    fn start_late(&mut self, station: usize, start: SlotStart) {
        self.late.push((station, start));
        let Edcafs { contenders, access, categories, .. } = &self.edcafs;
        let first = station * categories;
        // The others need it only when they get something to send.
        self.backoffs.resume_counting(first..first + categories, |index| start.of(&contenders[index], access));
    }

    /// Ends a collision.
    #[inline(never)]
    pub(super) fn end_collision(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        self.air.idle += self.began.saturating_since(self.accounted);
        self.air.collision += now - self.accounted.max(self.began);
        self.accounted = now;
        let mut senders = std::mem::take(&mut self.senders);
        let mut remaining: Vec<usize> = vec![];
        if self.edcafs.access.protection.is_some() && now <= self.data_begin() {
            remaining.extend(senders.extract_if(.., |sender| self.goes_on(*sender)));
        }
        if remaining.is_empty() {
            // EIFS - DIFS + AIFS (10.3.2.3.7).
            let access = &self.edcafs.access;
            let end = match access.eifs {
                Eifs::AfterCollision => now + (access.timing.eifs() - access.timing.difs),
                Eifs::Nav => now + access.eifs(),
                Eifs::AfterError | Eifs::Off => now,
            };
            self.idle_from(end, &senders);
        }
        let is_nav = self.edcafs.access.eifs == Eifs::Nav;
        let last = is_nav.then(|| senders.iter().filter(|sender| self.last_end(**sender) == now).count());
        for &sender in &senders {
            let (air, ended) = self.spoilt(sender);
            let Edcaf { station, ref ppdu, .. } = self.edcafs.contenders[sender];
            let (to, by_rts) = (ppdu.sole().station, ppdu.begins_with(ExchangeFrame::Rts));
            let counters = &mut self.edcafs.counters[station];
            counters.collisions += 1;
            counters.collided += air;
            let nav = last.map(|last| now + self.edcafs.access.nav_after_own(last > 1 || ended < now));
            if to == BROADCAST {
                self.end_spoilt_broadcast(sender, nav.unwrap_or(now), call);
                continue;
            }
            let start = match nav {
                Some(nav) => SlotStart::Idle((ended + self.edcafs.timeout(sender, by_rts)).max(nav)),
                None => self.after_timeout(sender, by_rts, ended, now),
            };
            self.fail(sender, by_rts, start, call);
        }
        if !remaining.is_empty() {
            self.go_on(remaining);
            return;
        }
        self.senders = senders;
        self.next = self.backoffs.next();
    }

    /// A broadcast of `sender` has collided. It is not acknowledged, so its sender does not notice, and contends again
    /// when the channel has been idle from `idle`.
    #[inline(never)]
    fn end_spoilt_broadcast(&mut self, sender: usize, idle: Time, call: &mut Call<'_>) {
        let Edcaf { station, aifs, ref ppdu, .. } = self.edcafs.contenders[sender];
        call.retry_limit_drops.push((number(station), ppdu.sole().first));
        let more = self.edcafs.succeed(sender, call);
        self.draw_backoff(sender, idle + aifs, more);
    }

    /// After a collision of their CTS-to-self these send their data.
    fn go_on(&mut self, senders: Vec<usize>) {
        self.began = self.data_begin();
        self.is_reserved = true;
        self.senders = senders;
        if let [sender] = self.senders[..] {
            self.exchange = self.edcafs.contenders[sender].ppdu.exchange();
            self.exchange.end_frame(true);
            self.begin_frame(sender, self.began);
        } else {
            self.next = self.collision_end();
        }
    }

    /// `sender` got no response. All categories of its station contend again from `start`, after its timeout
    /// (10.22.2.4): it with the same frames or the next.
    #[inline(always)]
    pub(super) fn fail(&mut self, sender: usize, by_rts: bool, start: SlotStart, call: &mut Call<'_>) {
        let contender = &self.edcafs.contenders[sender];
        let from = start.of(contender, &self.edcafs.access);
        if self.phase == GeneralPhase::Idle {
            self.start_late(contender.station, start);
        }
        let more = self.edcafs.fail(sender, by_rts, call);
        self.draw_backoff(sender, from, more);
    }

    /// Draws a backoff of a sender in a collision, counted from `from`, or after the frames of others that follow: a
    /// sender that hears one waits for its response no longer (10.3.2.9).
    #[inline(always)]
    fn draw_backoff(&mut self, sender: usize, from: Time, more: bool) {
        let slots = u64::from(self.edcafs.contenders[sender].contention.draw());
        if self.phase == GeneralPhase::Idle {
            self.backoffs.start_at(number(sender), from, slots, more);
        } else {
            self.backoffs.start(number(sender), slots, more);
        }
    }
}
