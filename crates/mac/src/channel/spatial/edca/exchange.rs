//! The course of an exchange in space: who begins, what arrives, and what its end means for those who took part.

use wifair_units::{Duration, Time};

use super::AggregateReception;
use crate::channel::spatial::backoff_timers::Act;
use crate::channel::spatial::{Call, Kind, SpatialChannel, Stage, Transmission};
use crate::edcaf::SlotRules;
use crate::exchange::Step;
use crate::{BROADCAST, MacEvent};

impl SpatialChannel {
    /// All who are due begin to send.
    pub(in crate::channel::spatial) fn begin_categories(&mut self, call: &mut Call<'_>) -> MacEvent {
        let now = call.now;
        let starters = std::mem::take(&mut self.starters);
        for &sender in &starters {
            self.turn_to_transmission(sender);
        }
        for &sender in &starters {
            let kind = match std::mem::replace(&mut self.stations[sender as usize].stage, Stage::Sends) {
                Stage::Due(kind) => kind,
                Stage::Continues => self.open_in(now, sender, call),
                Stage::Rest => {
                    self.win(now, sender);
                    self.open_in(now, sender, call)
                }
                stage => unreachable!("a station that begins to send contends or answers, and is not {stage:?}"),
            };
            let transmission = self.compose_in(now, sender, kind);
            self.send(sender, transmission);
            if kind == Kind::Data {
                self.watch_for(now, sender, transmission.to);
            }
        }
        for &sender in &starters {
            self.look_at_start(sender);
        }
        self.starters = starters;
        self.watch_receptions(now);
        MacEvent::Nothing
    }

    /// A backoff of `sender` has ended: the first of its categories that may send does (10.22.2.4).
    fn win(&mut self, now: Time, sender: u32) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let backoff = &mut self.backoffs[sender as usize];
        let base = backoff.from();
        if let Some(tap) = &mut self.tap {
            edca.record_backoffs(tap, sender, base, now, &self.intervals);
        }
        let mut winner = None;
        for index in edca.edcafs.own(sender) {
            let is_due = edca.backoffs[index].contends && edca.due(index, base, &self.intervals) == now;
            if !is_due {
                edca.stop(index, base, now, &self.intervals);
                continue;
            }
            let (own, contender) = (&mut edca.backoffs[index], &mut edca.edcafs.contenders[index]);
            own.from = None;
            own.immediate = false;
            own.left = 0;
            if winner.is_none() {
                winner = Some(index);
                own.contends = false;
                contender.won_at = now;
                contender.in_a_row = 0;
            } else {
                contender.counters.internal_collisions += 1;
                contender.contention.widen();
                own.left = contender.contention.draw();
            }
        }
        edca.txop_nav[sender as usize] = now;
        edca.current[sender as usize] = winner.expect("a backoff of the station has ended");
        backoff.contends = edca.contends(sender);
    }

    /// `sender` opens an exchange: with which frame.
    fn open_in(&mut self, now: Time, sender: u32, call: &mut Call<'_>) -> Kind {
        let edca = self.edca.as_deref_mut().expect("the stations have categories");
        let index = edca.current[sender as usize];
        edca.edcafs.counters[sender as usize].attempts += 1;
        edca.edcafs.form(now, index, call.packets, call.dropped, call.next_hops);
        let ppdu = &edca.edcafs.contenders[index].ppdu;
        if ppdu.to != BROADCAST
            && let Some(rates) = &mut self.rates
        {
            let (to, attempt) = (ppdu.to, u32::from(edca.edcafs.attempts_before(index)));
            let base = edca.edcafs.stations[edca.edcafs.rate_of(sender as usize, to)].rate;
            let cw_min = edca.edcafs.contenders[index].contention.cw_min();
            if let Some(rate) = rates.choose(now, sender, to, base, attempt, &self.access.timing, cw_min) {
                edca.edcafs.set_rate(index, rate);
            }
        }
        let ppdu = &edca.edcafs.contenders[index].ppdu;
        match ppdu.before_data().first() {
            Some(Step::Rts) => Kind::Rts,
            Some(_) => Kind::CtsToSelf,
            None if ppdu.is_request() => Kind::BlockAckReq,
            None => Kind::Data,
        }
    }

    /// What `sender` sends that begins at `now`.
    fn compose_in(&self, now: Time, sender: u32, kind: Kind) -> Transmission {
        let edca = self.edca.as_deref().expect("the stations have categories");
        let timing = &self.access.timing;
        let is_answer = matches!(kind, Kind::Cts | Kind::Ack | Kind::BlockAck);
        let initiator = if is_answer { self.stations[sender as usize].peer } else { sender };
        let ppdu = &edca.edcafs.contenders[edca.current[initiator as usize]].ppdu;
        let after_data = if ppdu.to == BROADCAST { Duration::ZERO } else { timing.sifs + ppdu.response };
        let control_rate = |to| edca.edcafs.control_rate(initiator as usize, to);
        let (to, rate, air, reserves) = match kind {
            Kind::CtsToSelf => {
                let rate = self.access.protection.expect("frames are protected");
                (sender, rate, timing.frame(timing.sizes.cts, rate), timing.sifs + ppdu.air + after_data)
            }
            Kind::Rts => {
                let reserves = timing.sifs + self.cts + timing.sifs + ppdu.air + after_data;
                (ppdu.to, self.guard_rate, self.rts, reserves)
            }
            Kind::Data => (ppdu.to, edca.edcafs.data_rate(sender as usize, ppdu), ppdu.air, after_data),
            Kind::BlockAckReq => (ppdu.to, control_rate(ppdu.to), ppdu.air, after_data),
            Kind::Cts => (initiator, self.guard_rate, self.cts, Duration::ZERO),
            Kind::Ack | Kind::BlockAck => {
                let rate = edca.edcafs.response_rate(edca.current[initiator as usize]);
                (initiator, rate, ppdu.response, Duration::ZERO)
            }
        };
        let end = now + air;
        // A CTS announces what the RTS did.
        let nav = match kind {
            Kind::Cts => self.transmissions[to as usize].nav,
            _ => end + self.access.round_nav(reserves),
        };
        Transmission { kind, to, rate, start: now, end, nav, readers: 0, met: false, alone: Duration::ZERO }
    }

    /// Watches what becomes of the PPDU of `sender` at `to`, if it has several MPDUs.
    fn watch_for(&mut self, now: Time, sender: u32, to: u32) {
        let edca = self.categories();
        let ppdu = &edca.edcafs.contenders[edca.current[sender as usize]].ppdu;
        if ppdu.is_aggregate() {
            edca.receptions.push(AggregateReception::new(now, sender, to));
        }
    }

    /// What of the frame of `sender` its receiver gets, which reads all of it or `could_read` it only in part. Whether
    /// that is anything.
    pub(in crate::channel::spatial) fn read_in(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        could_read: bool,
    ) -> bool {
        let Some(edca) = self.edca.as_deref_mut() else {
            let can_be_lost = could_read && self.lossy && transmission.to != BROADCAST;
            return could_read && !(can_be_lost && self.is_lost(sender, transmission));
        };
        let is_ppdu = matches!(transmission.kind, Kind::Data | Kind::BlockAckReq);
        if !is_ppdu {
            let is_lost = could_read && self.lossy && self.errors[transmission.to as usize].loses_control();
            let is_down = could_read && !self.outages.is_empty() && self.meets_outage(sender, transmission);
            return could_read && !is_lost && !is_down;
        }
        let index = edca.current[sender as usize];
        let ppdu = &mut edca.edcafs.contenders[index].ppdu;
        if transmission.to == BROADCAST {
            ppdu.set_spoilt(|| !could_read);
            return could_read;
        }
        if could_read || !ppdu.is_aggregate() {
            ppdu.set_spoilt(|| !could_read);
        }
        if self.lossy && ppdu.is_read() {
            let from = self.errors[sender as usize].data_from;
            let errors = &mut self.errors[transmission.to as usize];
            if ppdu.is_request() {
                ppdu.set_spoilt(|| errors.loses_control());
            } else {
                ppdu.spoil(|_, is_spoilt| is_spoilt || errors.loses_data(from));
            }
        }
        if could_read && !self.outages.is_empty() && self.meets_outage(sender, transmission) {
            self.categories().edcafs.contenders[index].ppdu.set_spoilt(|| true);
            return false;
        }
        self.categories().edcafs.contenders[index].ppdu.is_read()
    }

    /// The part of the time in which the PPDU of `sender` was alone on the air that its spoilt MPDUs took.
    pub(in crate::channel::spatial) fn spoilt_part(&self, sender: u32, alone: Duration) -> Duration {
        let Some(edca) = &self.edca else { return Duration::ZERO };
        let ppdu = &edca.edcafs.contenders[edca.current[sender as usize]].ppdu;
        ppdu.spoilt_part(alone)
    }

    /// A frame of `sender` has ended.
    pub(in crate::channel::spatial) fn end_in(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        read: bool,
        call: &mut Call<'_>,
    ) -> MacEvent {
        let now = call.now;
        let heard = match transmission.kind {
            Kind::CtsToSelf => {
                let air = transmission.end - transmission.start;
                self.categories().edcafs.counters[sender as usize].control += air;
                self.plan(now, sender, Kind::Data, sender);
                MacEvent::Nothing
            }
            Kind::Rts => self.end_of_rts(now, sender, transmission, read, call),
            Kind::Cts | Kind::Ack | Kind::BlockAck => self.end_of_answer_in(now, sender, transmission, read, call),
            Kind::Data | Kind::BlockAckReq => self.end_of_ppdu(now, sender, transmission, read, call),
        };
        let nav = &mut self.categories().txop_nav[sender as usize];
        *nav = transmission.nav.max(*nav);
        heard
    }

    fn end_of_ppdu(
        &mut self,
        now: Time,
        sender: u32,
        transmission: &Transmission,
        read: bool,
        call: &mut Call<'_>,
    ) -> MacEvent {
        let protection = self.rts + self.cts;
        let edca = self.categories();
        let index = edca.current[sender as usize];
        let contender = &mut edca.edcafs.contenders[index];
        let ppdu = &contender.ppdu;
        let counters = &mut edca.edcafs.counters[sender as usize];
        if ppdu.has(Step::Rts) {
            counters.control += protection;
        }
        // An A-MPDU may arrive in part though it met another frame; a broadcast counts as what it was to some.
        let is_broadcast = transmission.to == BROADCAST;
        match (read && !is_broadcast) || !transmission.met {
            true if ppdu.is_request() => counters.control += ppdu.air,
            true => {
                counters.data += ppdu.air;
                contender.counters.data_air += ppdu.air;
            }
            false => {}
        }
        let (id, answer) = (ppdu.first, if ppdu.has(Step::BlockAck) { Kind::BlockAck } else { Kind::Ack });
        if transmission.to == BROADCAST {
            self.stations[sender as usize].stage = Stage::Sent;
            self.backoffs[sender as usize].resumes_when_idle = true;
            self.resume(now, sender);
            if !read {
                return MacEvent::Nothing;
            }
            self.categories().edcafs.receive_broadcast(index);
            return MacEvent::Broadcast { from: sender, id };
        }
        if read {
            edca.edcafs.receive(now, index, call.retry_limit_drops);
        }
        self.answer(now, sender, transmission, read.then_some(answer), call);
        if read { self.categories().edcafs.tell_next() } else { MacEvent::Nothing }
    }

    /// A CTS, an ACK or a block ACK ends.
    fn end_of_answer_in(
        &mut self,
        now: Time,
        sender: u32,
        transmission: &Transmission,
        read: bool,
        call: &mut Call<'_>,
    ) -> MacEvent {
        self.stations[sender as usize].stage = Stage::Rest;
        self.backoffs[sender as usize].engaged = false;
        let (to, is_cts) = (transmission.to, transmission.kind == Kind::Cts);
        let edca = self.categories();
        let index = edca.current[to as usize];
        let contender = &mut edca.edcafs.contenders[index];
        let data_air = contender.ppdu.air;
        if transmission.kind == Kind::BlockAck {
            contender.counters.block_acks += 1;
            contender.counters.block_acks_lost += u64::from(!read);
        }
        if !is_cts {
            edca.edcafs.counters[to as usize].control += transmission.end - transmission.start;
        } else if read {
            contender.contention.clear();
        }
        if self.eifs_is_nav && is_cts {
            // ns-2 awaits the data that it has admitted, also where these do not come.
            let until = now + self.access.timing.sifs + data_air;
            self.backoffs[sender as usize].set_nav(until, Time::NEVER);
        }
        self.resume(now, sender);
        if !read {
            self.stations[to as usize].stage = Stage::Failed { met: transmission.met };
            self.backoffs[to as usize].resumes_when_idle = true;
        } else if is_cts {
            self.plan(now, to, Kind::Data, sender);
        } else {
            self.succeed_in(to, true, call);
        }
        MacEvent::Nothing
    }

    /// An exchange of `station` is done. Another follows SIFS after it if the TXOP lasts, otherwise a backoff, whether
    /// there is more to send or not; `holds`: the station has had the channel for itself until now.
    fn succeed_in(&mut self, station: u32, holds: bool, call: &mut Call<'_>) {
        let now = call.now;
        if let Some(rates) = &mut self.rates {
            rates.report(now, station, true);
        }
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let index = edca.current[station as usize];
        let more = edca.edcafs.succeed(now, index, call.packets, call.dropped, call.retry_limit_drops, call.next_hops);
        if more && holds && edca.edcafs.may_go_on(now, index) {
            self.backoffs[station as usize].engaged = true;
            self.stations[station as usize].stage = Stage::Continues;
            self.backoff_timers.plan(station, now + self.access.timing.sifs, Act::Begin);
            return;
        }
        self.stations[station as usize].stage = Stage::Rest;
        self.start_backoff(station, index, more);
    }

    /// A category of `station` draws a backoff and contends if it has `more` to send.
    fn start_backoff(&mut self, station: u32, index: usize, more: bool) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let own = &mut edca.backoffs[index];
        own.left = edca.edcafs.contenders[index].contention.draw();
        own.contends = more;
        own.immediate = false;
        own.from = None;
        let backoff = &mut self.backoffs[station as usize];
        backoff.engaged = false;
        backoff.contends = edca.contends(station);
    }

    /// The channel is idle after an exchange of `station` that brought no answer, or none was due.
    pub(in crate::channel::spatial) fn conclude_in(&mut self, station: u32, call: &mut Call<'_>) {
        let now = call.now;
        let transmission = self.transmissions[station as usize];
        let stage = self.stations[station as usize].stage;
        self.backoffs[station as usize].resumes_when_idle = false;
        let rts = self.rts;
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let index = edca.current[station as usize];
        let counters = &mut edca.edcafs.counters[station as usize];
        let ppdu = &edca.edcafs.contenders[index].ppdu;
        let mut timeout = None;
        match stage {
            Stage::Sent => {
                if transmission.met {
                    counters.collisions += 1;
                    counters.collided += ppdu.air;
                }
                if !ppdu.is_read() {
                    call.retry_limit_drops.push((station, ppdu.first));
                }
                let holds = !transmission.met && transmission.end == now;
                self.succeed_in(station, holds, call);
                if self.backoffs[station as usize].engaged {
                    return; // the TXOP goes on
                }
            }
            Stage::Failed { met } => {
                let by_rts = transmission.kind == Kind::Rts;
                if met {
                    counters.collisions += 1;
                } else {
                    counters.errors += 1;
                }
                if by_rts {
                    counters.collided += rts;
                } else if transmission.met {
                    counters.collided += ppdu.air;
                }
                if let Some(rates) = self.rates.as_mut().filter(|_| !by_rts) {
                    rates.report(now, station, false);
                }
                let Call { packets, dropped, retry_limit_drops, next_hops, .. } = call;
                let more = edca.edcafs.fail(now, index, by_rts, packets, dropped, retry_limit_drops, *next_hops);
                timeout = Some(transmission.end + self.access.answer_timeout);
                self.stations[station as usize].stage = Stage::Rest;
                self.start_backoff(station, index, more);
            }
            stage => unreachable!("an exchange that is over has failed or was a broadcast, not {stage:?}"),
        }
        let eifs_pending = self.signals.eifs_pending.has(station);
        let backoff = &mut self.backoffs[station as usize];
        backoff.fall_idle(now, eifs_pending, &self.intervals);
        if let Some(timeout) = timeout {
            self.resume_after_timeout(now, station, index, timeout);
        }
        self.set_timer(station);
    }

    /// The category of `station` whose exchange failed counts slots after its timeout, not before.
    fn resume_after_timeout(&mut self, now: Time, station: u32, index: usize, timeout: Time) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let backoff = &self.backoffs[station as usize];
        let difs = self.intervals.difs;
        let aifs = edca.edcafs.contenders[index].aifs;
        let from = edca.counts_from(index, backoff.from(), difs);
        let late = aifs.saturating_sub(difs);
        let is_plain = !self.signals.eifs_pending.has(station) && backoff.nav_until() <= now;
        let from = if self.eifs_is_nav || edca.edcafs.slot_rules == SlotRules::Edca {
            from.max(timeout.max(now) + aifs)
        } else if self.access.timeout_without_difs && is_plain {
            (timeout + late).max(now)
        } else {
            from.max(timeout + late)
        };
        edca.backoffs[index].from = Some(from);
    }
}
