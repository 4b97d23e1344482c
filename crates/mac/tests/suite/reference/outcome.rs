//! What the end of an exchange means for its sender and for the channel.

use wifair_mac::{BROADCAST, Call, Counters, Eifs};
use wifair_queue::{AirUse, Discipline};
use wifair_units::{Duration, Time};

use super::hearing::{HeardFrame, NOBODY};
use super::ppdu::{Content, ReferencePpdu};
use super::{ReferenceChannel, ReferencePhase, SlotRules};

/// How long a BlockAckReq is repeated after a missing block ACK: dot11EDCATableMSDULifetime, 500 TU.
const LIFETIME: Duration = Duration::from_micros(500 * 1024);

impl ReferenceChannel {
    /// The channel is idle from `end`; all contenders count slots after their AIFS, some later.
    pub(super) fn idle_from(&mut self, end: Time) {
        self.phase = ReferencePhase::Idle;
        for index in 0..self.functions.len() {
            let idle = self.idle_for(self.functions[index].station, end);
            self.functions[index].from = idle + self.functions[index].aifs;
        }
    }

    /// With CF-End, how long the frames of a sender still reserve the rest of its TXOP at `now`.
    pub(super) fn left_of_txop(&self, sender: usize, now: Time) -> Duration {
        let function = &self.functions[sender];
        let until = if self.access.cf_end { function.won_at + function.txop } else { now };
        until.saturating_since(now)
    }

    /// Completes an exchange: contention window and retry counts are reset. Another follows at once if the TXOP allows
    /// it, otherwise a backoff, whether or not there is more to send (10.3.4.3).
    pub(super) fn succeed(&mut self, call: &mut Call<'_>) {
        let (now, sender, sifs) = (call.now, self.senders[0], self.access.timing.sifs);
        let ppdu = self.functions[sender].ppdu();
        let is_answered = ppdu.to != BROADCAST;
        let data_end = if is_answered { now - ppdu.response - sifs } else { now };
        self.hear(sender, &self.exchange_heard(sender, data_end, is_answered));
        let more = self.complete(sender, call);
        if more && self.fits_txop(now, sender) {
            self.phase = ReferencePhase::Gap;
            self.next = now + sifs;
            return;
        }
        let left = self.left_of_txop(sender, now);
        let cf_end = sifs + self.access.cf_end_air();
        if left > Duration::ZERO && left >= cf_end {
            self.phase = ReferencePhase::CfEnd;
            self.next = now + cf_end;
            return;
        }
        // The sender cannot release the rest of its TXOP, and waits for its end (10.22.2.2).
        let station = self.functions[sender].station;
        self.extend_nav(station, now + left, None, station);
        self.end_turn(now, sender);
    }

    /// A CF-End ends at `now`, which all stations read: it resets their NAV.
    pub(super) fn end_cf_end(&mut self, now: Time) {
        let sender = self.senders[0];
        self.account_cf_end(now);
        for node in &mut self.nodes {
            node.nav.until = node.nav.until.min(now);
            node.in_error = None;
        }
        if self.access.repeats_cf_end && self.aps[0] as usize != self.functions[sender].station {
            self.functions[sender].draw();
            self.phase = ReferencePhase::SecondCfEnd;
            self.next = now + self.access.timing.sifs + self.access.cf_end_air();
        } else {
            self.end_turn(now, sender);
        }
    }

    /// A backoff follows a sender's TXOP that ends at `now`.
    fn end_turn(&mut self, now: Time, sender: usize) {
        self.idle_from(now);
        self.functions[sender].draw();
        self.reschedule();
    }

    /// What an answered exchange, or a broadcast, means for its sender; returns whether there is more to send.
    pub(super) fn complete(&mut self, sender: usize, call: &mut Call<'_>) -> bool {
        let (station, to) = (self.functions[sender].station, self.functions[sender].ppdu().to);
        self.functions[sender].in_a_row += 1;
        if self.access.cf_end {
            let ReferencePpdu { rts, cts_to_self, .. } = *self.functions[sender].ppdu();
            let by = if cts_to_self { BROADCAST } else { to };
            self.functions[sender].reserved_for.extend((rts || cts_to_self).then_some(by));
        }
        let delivered = self.settle(sender, true, false, call);
        self.nodes[station].counters.delivered += delivered;
        self.functions[sender].reset_window();
        self.report_air_use(call.now, sender, to, Some(to != BROADCAST));
        self.load(sender, call)
    }

    /// Most attempts of an MPDU, and most RTS for it without an answer.
    fn limits(&self, station: usize, ppdu: &ReferencePpdu) -> (u32, u32) {
        let access = &self.access;
        if !self.has_block_ack {
            return (u32::MAX, u32::MAX); // the contender has the limits
        }
        let (short, long) = (access.short_retry_limit.unwrap_or(7), access.long_retry_limit.unwrap_or(4));
        let (attempts, rts) = match self.rules(station, ppdu.to) {
            Some(rules) => (rules.retry_limit, rules.retry_limit),
            None if ppdu.rts => (long, short),
            None => (short, short),
        };
        (attempts.into(), rts.into())
    }

    /// Completes an exchange for the originator; `answered` if it got a response, `by_rts` if its RTS got no CTS and
    /// the rest was not sent. Returns the number of MPDUs delivered.
    pub(super) fn settle(&mut self, sender: usize, answered: bool, by_rts: bool, call: &mut Call<'_>) -> u64 {
        let (peer, ppdu) = (self.task_peer(sender), self.functions[sender].ppdu().clone());
        let station = self.functions[sender].station;
        let (most_attempts, most_rts) = self.limits(station, &ppdu);
        let (now, request_after_miss) = (call.now, self.request_after_miss);
        let function = &mut self.functions[sender];
        let originator = &mut function.peers[peer];
        let (mut delivered, mut given_up, mut lost) = (0, 0, vec![]);
        if ppdu.is_request() {
            function.requests.retain(|waiting| *waiting != peer);
            originator.request_due |= !answered;
            for number in originator.start()..originator.next() {
                let has_got = originator.recipient.has_got(number);
                delivered += u64::from(answered && has_got && originator.acknowledge(number));
            }
        }
        for (number, _) in &ppdu.mpdus {
            if by_rts {
                originator.mpdu(*number).attempts -= 1;
                originator.mpdu(*number).rts_failures += 1;
            }
            let has_arrived = ppdu.to == BROADCAST || originator.recipient.has_got(*number);
            if answered && has_arrived {
                originator.acknowledge(*number);
                delivered += 1;
                continue;
            }
            let mpdu = originator.mpdu(*number);
            if mpdu.attempts >= most_attempts || mpdu.rts_failures >= most_rts {
                given_up += u64::from(originator.give_up(*number, &mut lost));
            }
        }
        if !answered && !by_rts && ppdu.content == Content::Aggregate && request_after_miss {
            originator.request_due = true;
            let has_new = ppdu.mpdus.iter().any(|(number, _)| originator.mpdu(*number).attempts == 1);
            if has_new || originator.missed_since.is_none() {
                originator.missed_since = Some(now);
            }
        }
        if answered {
            originator.missed_since = None;
        }
        originator.skip_without_block_ack();
        if given_up > 0 {
            originator.after_giving_up();
        }
        if originator.request_due && !function.requests.contains(&peer) {
            function.requests.push(peer);
        }
        if !originator.has_pending() {
            function.backlog.retain(|waiting| *waiting != peer);
        } else if !function.backlog.contains(&peer) {
            function.backlog.push(peer);
        }
        self.nodes[station].counters.retry_limit_drops += given_up;
        call.retry_limit_drops.extend(lost.into_iter().map(|id| (station as u32, id)));
        delivered
    }

    /// No response is received: the data or the response was lost.
    pub(super) fn miss_response(&mut self, call: &mut Call<'_>) {
        let (now, sender, sifs) = (call.now, self.senders[0], self.access.timing.sifs);
        let response = self.functions[sender].ppdu().response;
        self.nodes[self.functions[sender].station].counters.errors += 1;
        let (ended, to) = (now, self.functions[sender].ppdu().to as usize);
        if self.phase == (ReferencePhase::Response { lost: true }) {
            self.account_response(now);
            let data_end = now - response - sifs;
            self.hear(sender, &self.exchange_heard(sender, data_end, true));
            self.receive_in_error(self.functions[sender].station, now);
            self.idle_from(now);
            self.fail_in_error(sender, false, data_end, call);
        } else {
            self.hear(sender, &self.exchange_heard(sender, now, false));
            self.receive_in_error(to, now);
            self.idle_from(now);
            self.fail(sender, false, ended, call);
        }
        self.reschedule();
    }

    /// Ends an RTS without CTS, or whose CTS its sender has not read.
    pub(super) fn end_rts(&mut self, call: &mut Call<'_>) {
        let (now, sender, sifs) = (call.now, self.senders[0], self.access.timing.sifs);
        let (station, to) = (self.functions[sender].station, self.functions[sender].ppdu().to as usize);
        let ends = self.began + self.rts();
        let has_cts = self.phase == ReferencePhase::LostCts;
        let spent = self.rts() + if has_cts { self.cts() } else { Duration::ZERO };
        self.air.rts_cts += spent;
        self.air.idle += now - self.accounted - spent;
        self.accounted = now;
        self.nodes[station].counters.errors += 1;
        self.spend(sender, |counters| &mut counters.control, spent);
        let guard_rate = self.guard_rate();
        let timing = &self.access.timing;
        // 10.3.2.4: 2 SIFS, CTS, the delay until the start of a frame is reported, and two slots.
        let reset = ends + sifs * 2 + self.cts() + timing.preamble_of(guard_rate) + timing.slot * 2;
        let rts = self.rts_heard(sender, ends);
        if has_cts {
            self.hear(sender, &[rts, self.cts_heard(sender, now)]);
            self.receive_in_error(station, now);
        } else {
            self.hear(sender, &[HeardFrame { reset: self.access.nav_reset.then_some(reset), ..rts }]);
        }
        if has_cts && self.access.eifs == Eifs::Nav {
            // ns-2's receivers wait for the data.
            self.extend_nav(to, now + sifs + self.functions[sender].ppdu().air, None, NOBODY);
        }
        if self.phase == (ReferencePhase::Unanswered { lost: true }) {
            self.receive_in_error(to, now);
        }
        self.idle_from(now);
        if has_cts {
            self.fail_in_error(sender, true, ends, call);
        } else {
            self.fail(sender, true, ends, call);
        }
        self.reschedule();
    }

    /// Ends a collision.
    pub(super) fn end_collision(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        self.air.idle += self.began.saturating_since(self.accounted);
        self.air.collision += now - self.accounted.max(self.began);
        self.accounted = now;
        let timing = self.access.timing;
        let all = std::mem::take(&mut self.senders);
        let last_end = |channel: &Self, sender: usize| channel.sends(sender).last().expect("it sends something").1;
        let (senders, go_on): (Vec<usize>, Vec<usize>) =
            all.into_iter().partition(|sender| last_end(self, *sender) <= now);
        if go_on.is_empty() {
            // EIFS - DIFS + AIFS (10.3.2.3.7).
            self.idle_from(match self.access.eifs {
                Eifs::AfterCollision => now + (timing.eifs() - timing.difs),
                Eifs::Nav => now + self.access.eifs(),
                Eifs::AfterError | Eifs::Off => now,
            });
        }
        let last = senders.iter().filter(|sender| last_end(self, **sender) == now).count();
        for &sender in &senders {
            let ReferencePpdu { to, rts, cts_to_self, air, .. } = self.functions[sender].ppdu().clone();
            let ended = last_end(self, sender);
            let air = match (rts, cts_to_self) {
                (true, _) => self.rts(),
                (false, true) => self.cts() + air,
                (false, false) => air,
            };
            // ns-2 treats a station's own frame that overlapped with another as an error if it ended first or at the
            // same time.
            let is_outlasted = last > 1 || ended < now;
            let nav = if is_outlasted && self.access.eifs == Eifs::Nav { self.access.eifs() } else { Duration::ZERO };
            let station = self.functions[sender].station;
            self.nodes[station].counters.collisions += 1;
            self.spend(sender, |counters| &mut counters.collided, air);
            if to == BROADCAST {
                // A broadcast is not acknowledged, so its sender does not notice.
                let peer = self.task_peer(sender);
                let number = self.functions[sender].ppdu().mpdus[0].0;
                let lost = self.functions[sender].peers[peer].mpdu(number).packets[0];
                call.retry_limit_drops.push((station as u32, lost));
                self.functions[sender].from = now + nav + self.functions[sender].aifs;
                self.complete(sender, call);
                self.functions[sender].draw();
            } else {
                self.fail(sender, rts, ended, call);
                if go_on.is_empty() && self.access.eifs == Eifs::Nav {
                    let expired = ended + self.timeout(sender, rts);
                    for index in self.own(station) {
                        self.functions[index].from = expired.max(now + nav) + self.functions[index].aifs;
                    }
                }
            }
        }
        if go_on.is_empty() {
            self.senders = senders;
            self.reschedule();
            return;
        }
        // They have not noticed the collision of their CTS-to-self. The channel has been idle for less than SIFS.
        self.began = self.sends(go_on[0])[1].0;
        self.is_after_cts = true;
        self.senders = go_on;
        if let [sender] = self.senders[..] {
            self.send_data(sender, self.began);
        } else {
            self.next = self.collision_end();
        }
    }

    /// How long a sender waits: SIFS, a slot, and aRxPHYStartDelay of the CTS to its RTS or the response to its data:
    /// 40 us in HE extended range (IEEE Std 802.11ax-2021, 27.4.4), and the preamble in other formats.
    fn timeout(&self, sender: usize, by_rts: bool) -> Duration {
        let (timing, station) = (&self.access.timing, self.functions[sender].station);
        let start_delay = || {
            if by_rts {
                return timing.preamble_of(self.guard_rate());
            }
            let ppdu = self.functions[sender].ppdu();
            match self.extended_response(station, ppdu.to, ppdu.content) {
                Some(_) => Duration::from_micros(40),
                None => timing.preamble_of(self.control_rate(station, ppdu.to)),
            }
        };
        self.access.answer_timeout.unwrap_or_else(|| timing.sifs + timing.slot + start_delay())
    }

    /// Like [`ReferenceChannel::fail`] if the sender has received the response in error, which ends now.
    fn fail_in_error(&mut self, sender: usize, by_rts: bool, ended: Time, call: &mut Call<'_>) {
        let (station, expired) = (self.functions[sender].station, ended + self.timeout(sender, by_rts));
        let is_nav = self.access.eifs == Eifs::Nav;
        for index in self.own(station) {
            let function = &mut self.functions[index];
            let late = function.aifs.saturating_sub(self.access.timing.difs);
            function.from = match function.slot_rules {
                SlotRules::Dcf if !is_nav => (expired + late).max(function.from),
                _ => (expired + function.aifs).max(function.from),
            };
        }
        self.fail_from_then(sender, by_rts, call);
    }

    /// `sender`, whose frame ended at `ended`, got no response; it contends again after its timeout.
    pub(super) fn fail(&mut self, sender: usize, by_rts: bool, ended: Time, call: &mut Call<'_>) {
        let now = call.now;
        let access = self.access;
        let expired = ended + self.timeout(sender, by_rts);
        // 10.22.2.4: the other categories of the station wait for its timeout, too.
        for index in self.own(self.functions[sender].station) {
            let function = &mut self.functions[index];
            function.from = match function.slot_rules {
                SlotRules::Edca => expired.max(now) + function.aifs,
                SlotRules::Dcf => {
                    // After its timeout the sender waits longer by the difference of AIFS and DIFS.
                    let late = function.aifs.saturating_sub(access.timing.difs);
                    let earliest = if access.timeout_without_difs { now } else { now + function.aifs };
                    (expired + late).max(earliest)
                }
            };
        }
        self.fail_from_then(sender, by_rts, call);
    }

    /// `sender` got no response; when it may contend again is settled.
    fn fail_from_then(&mut self, sender: usize, by_rts: bool, call: &mut Call<'_>) {
        let (now, access) = (call.now, self.access);
        let is_short = by_rts || !self.functions[sender].ppdu().rts;
        let is_exhausted = self.functions[sender].count_failure(&access, is_short);
        let lost_before = call.retry_limit_drops.len() + call.dropped.len();
        self.settle(sender, false, by_rts, call);
        if is_exhausted && (!self.has_block_ack || self.functions[sender].ppdu().is_request()) {
            self.give_up(sender, call);
        }
        // Without block ACK the same frame follows, unless it was given up.
        if self.has_block_ack || is_exhausted {
            let to = self.functions[sender].ppdu().to;
            let has_lost = call.retry_limit_drops.len() + call.dropped.len() != lost_before;
            self.report_air_use(now, sender, to, (has_lost || !self.has_block_ack).then_some(false));
            self.load(sender, call);
        }
        self.functions[sender].draw();
    }

    /// A category of higher priority of the same station sends first, which counts as a failed attempt.
    pub(super) fn collide_internally(&mut self, index: usize, call: &mut Call<'_>) {
        let access = self.access;
        if self.functions[index].count_failure(&access, true) && !self.has_block_ack {
            self.form(index, call);
            self.settle(index, false, true, call);
            self.give_up(index, call);
            let to = self.functions[index].ppdu().to;
            self.report_air_use(call.now, index, to, Some(false));
            self.load(index, call);
        }
        self.functions[index].draw();
    }

    /// Gives up a frame at the retry limit. A BlockAckReq after a missing block ACK is repeated: what is sent under
    /// block ACK is subject to its lifetime alone (10.24.3).
    pub(super) fn give_up(&mut self, sender: usize, call: &mut Call<'_>) {
        let (peer, ppdu) = (self.task_peer(sender), self.functions[sender].ppdu().clone());
        let function = &mut self.functions[sender];
        let (originator, mut lost, mut given_up) = (&mut function.peers[peer], vec![], 0);
        for (number, _) in &ppdu.mpdus {
            given_up += u64::from(originator.give_up(*number, &mut lost));
        }
        originator.skip_without_block_ack();
        if ppdu.is_request() && originator.missed_since.is_none_or(|since| call.now >= since + LIFETIME) {
            originator.request_due = false;
            function.requests.retain(|waiting| *waiting != peer);
        }
        if !originator.has_pending() {
            function.backlog.retain(|waiting| *waiting != peer);
        }
        let station = function.station;
        self.nodes[station].counters.retry_limit_drops += given_up;
        call.retry_limit_drops.extend(lost.into_iter().map(|id| (station as u32, id)));
    }

    /// Reports the air time of a contender's finished exchange to the queues at both ends, including what other
    /// categories of the station used in the meantime. `delivered` is `None` if the frame is to be sent again.
    pub(super) fn report_air_use(&mut self, now: Time, index: usize, to: u32, delivered: Option<bool>) {
        if !self.wants_air_use {
            return;
        }
        let station = self.functions[index].station;
        let node = &mut self.nodes[station];
        let before = std::mem::replace(&mut node.reported, node.counters);
        let air = |counters: &Counters| counters.data + counters.control + counters.collided;
        let used = AirUse {
            peer: station as u32,
            sent: false,
            air: air(&node.counters) - air(&before),
            attempts: delivered.map_or(0, |_| (node.counters.attempts - before.attempts) as u32),
            delivered: delivered.unwrap_or(false),
            rate: None,
        };
        if delivered.is_none() {
            node.reported.attempts = before.attempts;
        }
        self.functions[index].queues[0].on_air(now, &AirUse { peer: to, sent: true, ..used });
        if to != BROADCAST {
            for receiver in self.own(to as usize) {
                self.functions[receiver].queues[0].on_air(now, &used);
            }
        }
    }
}
