//! Frame exchanges on the spatial channel: who starts, what is received, and the consequences of their end.

use wifair_units::{Duration, Time};

use super::AggregateReception;
use crate::channel::spatial::backoff_timers::TimerAction;
use crate::channel::spatial::{Call, ExchangeStage, SpatialChannel, SpatialStation, Transmission};
use crate::edcaf::{AfterExchange, Edcaf, SlotRules};
use crate::exchange::ExchangeFrame;
use crate::interpreter::Exchange;
use crate::{BROADCAST, MacEvent};

impl SpatialChannel {
    /// A backoff of `sender` has ended: among the categories that may send, the one with the highest priority sends
    /// (10.22.2.4).
    pub(in crate::channel::spatial) fn win(&mut self, sender: u32, call: &mut Call<'_>) {
        let now = call.now;
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
                contender.begin_txop(now);
            } else {
                own.contends = edca.edcafs.collide_internally(index, call);
                own.left = edca.edcafs.contenders[index].contention.draw();
            }
        }
        edca.current[sender as usize] = winner.expect("a backoff of the station has ended");
        backoff.contends = edca.contends(sender);
    }

    /// `sender` starts an exchange, which is returned.
    pub(in crate::channel::spatial) fn open_in(&mut self, sender: u32, call: &mut Call<'_>) -> Exchange {
        let now = call.now;
        let edca = self.edca.as_deref_mut().expect("the stations have categories");
        let index = edca.current[sender as usize];
        edca.edcafs.open(index, call);
        let ppdu = &edca.edcafs.contenders[index].ppdu;
        if !ppdu.is_broadcast()
            && let Some(rates) = &mut self.rates
        {
            let (to, attempt) = (ppdu.sole().station, u32::from(edca.edcafs.attempts_before(index)));
            let base = edca.edcafs.stations[edca.edcafs.rate_of(sender as usize, to)].rate;
            let cw_min = edca.edcafs.contenders[index].contention.cw_min();
            let choice = rates.choose(now, sender, to, base, attempt, &self.access.timing, cw_min);
            if let Some((rate, attempts)) = choice {
                edca.edcafs.contenders[index].contention.plan(attempts);
                edca.edcafs.set_rate(index, rate);
            }
        }
        edca.edcafs.contenders[index].ppdu.exchange()
    }

    /// Starts to track the reception of the PPDU of `sender` at `to`, if it has several MPDUs or there are bit errors.
    #[inline]
    pub(in crate::channel::spatial) fn watch_for(&mut self, now: Time, sender: u32, to: u32) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        if self.signals.bits.is_some() {
            return self.put_on_air(now, sender, to);
        }
        if edca.ppdu_of(sender).is_aggregate() {
            edca.receptions.push(AggregateReception::new(now, sender, to));
        }
    }

    /// Determines which MPDUs of the frame of `sender` its receiver gets; `could_read` tells whether it could read the
    /// whole frame. Returns whether it gets any.
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
        let is_ppdu = transmission.kind.is_protected();
        if !is_ppdu {
            let is_lost = could_read && self.lossy && self.errors[transmission.to as usize].loses_control();
            let is_down = could_read && !self.outages.is_empty() && self.meets_outage(sender, transmission);
            return could_read && !is_lost && !is_down;
        }
        let index = edca.current[sender as usize];
        let has_mpdus = edca.has_mpdus(sender, transmission);
        let ppdu = &mut edca.edcafs.contenders[index].ppdu;
        if transmission.to == BROADCAST {
            ppdu.sole_mut().set_lost(|| !could_read);
            return could_read;
        }
        // With bit errors, the lost MPDUs are already known; without, interference determines which are lost.
        if if has_mpdus { !could_read } else { could_read || !ppdu.is_aggregate() } {
            ppdu.sole_mut().set_lost(|| !could_read);
        }
        if self.lossy && ppdu.is_read() {
            let from = self.errors[sender as usize].data_from;
            let errors = &mut self.errors[transmission.to as usize];
            if ppdu.is_dataless() {
                ppdu.sole_mut().set_lost(|| errors.loses_control());
            } else {
                ppdu.sole_mut().mark_lost(|_, is_lost| is_lost || errors.loses_data(from));
            }
        }
        let is_read = ppdu.is_read();
        if is_read && !self.outages.is_empty() && self.meets_outage(sender, transmission) {
            self.categories().edcafs.contenders[index].ppdu.sole_mut().set_lost(|| true);
            return false;
        }
        is_read
    }

    /// The part of `alone` that the lost MPDUs took; `alone` is the time for which the PPDU of `sender` was alone on
    /// the air.
    pub(in crate::channel::spatial) fn lost_part(&self, sender: u32, alone: Duration) -> Duration {
        let Some(edca) = &self.edca else { return Duration::ZERO };
        edca.ppdu_of(sender).lost_part(alone)
    }

    /// Ends the data or BlockAckReq of `sender`. Returns the packet of a broadcast.
    pub(in crate::channel::spatial) fn end_of_ppdu(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        read: bool,
        call: &mut Call<'_>,
    ) -> MacEvent {
        let is_cts_lost = self.stations[sender as usize].cts_to_self_collided;
        let edca = self.categories();
        let index = edca.current[sender as usize];
        // An A-MPDU may arrive in part despite a collision. A broadcast counts as received if some station received it.
        let is_broadcast = transmission.to == BROADCAST;
        let counts = (read && !is_broadcast) || !transmission.collided;
        edca.edcafs.end_ppdu(index, (read, !counts), is_cts_lost, call);
        if !(is_broadcast && read) {
            return MacEvent::Nothing;
        }
        edca.edcafs.receive_broadcast(index);
        MacEvent::Broadcast { from: sender, id: edca.edcafs.contenders[index].ppdu.sole().first }
    }

    /// Completes an exchange of `station`. Another follows after SIFS if the TXOP allows it, otherwise a backoff,
    /// whether or not there is more to send. `holds` tells whether the station has had the channel to itself until now.
    pub(in crate::channel::spatial) fn succeed_in(&mut self, station: u32, holds: bool, call: &mut Call<'_>) {
        let now = call.now;
        self.alert.put(station, true);
        if let Some(rates) = &mut self.rates {
            rates.report(now, station, true);
        }
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let index = edca.current[station as usize];
        let more = edca.edcafs.succeed(index, call);
        match if holds { edca.edcafs.after_exchange(now, index, more) } else { AfterExchange::Ends } {
            AfterExchange::Continues => {
                self.backoffs[station as usize].engaged = true;
                self.stations[station as usize].stage = ExchangeStage::Continues;
                self.backoff_timers.plan(station, now + self.access.timing.sifs, TimerAction::Begin);
                return;
            }
            AfterExchange::Releases => return self.plan(now, station, ExchangeFrame::CfEnd, station),
            AfterExchange::Ends => {}
        }
        let left = edca.edcafs.left_of_txop(index, now);
        if holds && left > Duration::ZERO {
            // 10.22.2.2: the backoff follows when the TXNAV timer has expired.
            self.set_own_nav(station, now + left);
        }
        self.stations[station as usize].stage = ExchangeStage::Rest;
        self.start_backoff(station, index, more);
    }

    /// Whether this category of `station` has finished its TXOP, but not yet the CF-End that releases the rest.
    pub(super) fn is_releasing(&self, station: u32, index: usize) -> bool {
        let is_current = self.edca.as_ref().is_some_and(|edca| edca.current_of(station) == index);
        let SpatialStation { stage, peer, .. } = &self.stations[station as usize];
        is_current
            && *peer == station
            && match stage {
                ExchangeStage::Due(kind) => *kind == ExchangeFrame::CfEnd,
                ExchangeStage::Sends => self.transmissions[station as usize].kind == ExchangeFrame::CfEnd,
                _ => false,
            }
    }

    /// Ends a CF-End of `sender`. It is either the TXOP holder, whose TXOP ends and a backoff follows, or the access
    /// point that has repeated the CF-End of the holder.
    pub(in crate::channel::spatial) fn end_of_cf_end(&mut self, now: Time, sender: u32) {
        let air = self.access.cf_end_air();
        let SpatialStation { stage, peer: holder, .. } = &mut self.stations[sender as usize];
        *stage = ExchangeStage::Rest;
        let holder = *holder;
        let edca = self.categories();
        edca.edcafs.counters[holder as usize].control += air;
        if holder == sender {
            let index = edca.current_of(sender);
            let more = edca.edcafs.contenders[index].task.is_some();
            self.start_backoff(sender, index, more);
        } else {
            self.backoffs[sender as usize].engaged = false;
        }
        self.resume(now, sender);
    }

    /// The access point that is receiving the CF-End of `sender`, a station of its BSS, and may repeat it.
    #[cold]
    pub(in crate::channel::spatial) fn repeater_of(&self, sender: u32) -> Option<u32> {
        let ap = self.edca.as_deref()?.aps[sender as usize].filter(|ap| self.access.repeats_cf_end && *ap != sender)?;
        (self.signals.receiving.has(ap) && self.signals.sender_at(ap) == sender).then_some(ap)
    }

    /// An access point has received a CF-End of `holder` that ends at `now`. It repeats it after SIFS, unless it takes
    /// part in an exchange, has not read the frame, or has a NAV that it has not reset.
    #[cold]
    pub(in crate::channel::spatial) fn repeat_cf_end(&mut self, now: Time, ap: u32, holder: u32) {
        let backoff = &self.backoffs[ap as usize];
        if backoff.engaged || self.signals.eifs_pending.has(ap) || backoff.nav.end() > now {
            return;
        }
        self.stop_categories(now, ap);
        self.plan(now, ap, ExchangeFrame::CfEnd, holder);
    }

    /// Draws a backoff for a category of `station`, which contends if it has `more` to send.
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

    /// Completes an exchange of `station` without response; `by_rts` if its RTS got none.
    pub(in crate::channel::spatial) fn fail_in(&mut self, station: u32, by_rts: bool, call: &mut Call<'_>) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let index = edca.current[station as usize];
        let more = edca.edcafs.fail(index, by_rts, call);
        self.start_backoff(station, index, more);
    }

    /// Lets `station` contend again after its exchange; `timeout` is when it concluded that no response would come.
    pub(in crate::channel::spatial) fn resume_in(&mut self, now: Time, station: u32, timeout: Option<Time>) {
        let eifs_pending = self.signals.eifs_pending.has(station);
        self.backoffs[station as usize].become_idle(now, eifs_pending, &self.intervals);
        if let Some(timeout) = timeout {
            self.resume_after_timeout(now, station, timeout);
        }
        self.set_timer(station);
    }

    /// Delays the slot counts of the categories of `station`, one of whose exchanges failed, until after its timeout
    /// (10.22.2.4).
    fn resume_after_timeout(&mut self, now: Time, station: u32, timeout: Time) {
        let Some(edca) = self.edca.as_deref_mut() else { return };
        let backoff = &self.backoffs[station as usize];
        let difs = self.intervals.difs;
        let is_plain = !self.signals.eifs_pending.has(station) && backoff.nav.end() <= now;
        for index in edca.edcafs.own(station) {
            let Edcaf { aifs, slot_rules, .. } = edca.edcafs.contenders[index];
            let from = edca.counts_from(index, backoff.from(), difs);
            let late = aifs.saturating_sub(difs);
            let from = if self.eifs_is_nav || slot_rules == SlotRules::Edca {
                from.max(timeout.max(now) + aifs)
            } else if self.access.timeout_without_difs && is_plain {
                (timeout + late).max(now)
            } else {
                from.max(timeout + late)
            };
            edca.backoffs[index].from = Some(from);
        }
    }
}
