//! The recipient's side: which MPDUs are received and passed up, and when it stops waiting for a missing MPDU.

use wifair_units::{Duration, Time};

use super::{Call, Edcaf, Edcafs, MacEvent, Task, number};
use crate::exchange::Protection;
use wifair_queue::Cause;

impl Edcafs {
    /// Processes the packets released by a window of this station.
    pub(crate) fn note_released(&mut self, station: usize, call: &mut Call<'_>) {
        let released = &mut self.deliveries.released;
        if !released.lost.is_empty() {
            call.retry_limit_drops.extend(released.lost.drain(..).map(|id| (number(station), id)));
        }
        for (packets, cause) in [(&mut released.expired, Cause::Expired), (&mut released.late, Cause::Late)] {
            if !packets.is_empty() {
                call.dropped.extend(packets.drain(..).map(|id| (id, cause)));
            }
        }
        self.deliveries.report_from(call.now);
    }

    /// Lets recipients give up waiting for missing MPDUs after the reordering timeout.
    #[cold]
    pub(crate) fn time_out_reordering(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        if self.inactive_at <= now {
            self.end_inactive_agreements(now);
        }
        let timeout = self.aggregation.as_ref().expect("only aggregates are reordered").reorder_timeout;
        let mut blocked = std::mem::take(&mut self.blocked);
        blocked.sort_unstable();
        for (index, place) in &blocked {
            let before = self.deliveries.released.up.mark();
            let Edcaf { windows, counters, .. } = &mut self.contenders[*index];
            let window = &mut windows[*place];
            while window.blocked_since().is_some_and(|since| since + timeout <= now) {
                window.time_out(now, &self.chain, &mut self.deliveries.released);
            }
            counters.reorder_delay += window.take_reorder_delay();
            self.note_passed_up(now, *index, before);
            self.note_released(index / self.categories, call);
        }
        self.blocked = blocked;
        self.find_reorder_timeout(now);
    }

    /// Determines when the first recipient stops waiting. That may be now, if an MPDU behind a gap has been held for
    /// longer than the MPDUs behind the previous gap.
    pub(super) fn find_reorder_timeout(&mut self, now: Time) {
        let Some(rules) = &self.aggregation else { return };
        let (contenders, mut first) = (&self.contenders, None);
        self.blocked.retain(|(index, place)| {
            let since = contenders[*index].windows[*place].blocked_since();
            first = since.into_iter().chain(first).min();
            since.is_some()
        });
        let timeout = rules.reorder_timeout;
        self.reorder_timeout = first.map_or(Time::NEVER, |since| (since + timeout).max(now)).min(self.inactive_at);
    }

    /// Reports the next packet passed up.
    #[inline]
    pub(crate) fn report_next(&mut self) -> MacEvent {
        if let Some(event) = self.report_run() {
            return event;
        }
        self.deliveries.take().map_or(MacEvent::Nothing, |(to, id)| MacEvent::Packet { to, id })
    }

    /// Whether recipients pass the MPDUs of a PPDU up one by one.
    #[must_use]
    pub fn passes_up_singly(&self) -> bool {
        self.has_block_ack() && self.aggregation.as_ref().is_some_and(|rules| rules.pass_up_singly)
    }

    /// Handles what is due at `now`, whatever the channel does: packets passed up, and recipients that stop waiting.
    #[inline]
    pub(crate) fn due(&mut self, call: &mut Call<'_>) -> Option<MacEvent> {
        let now = call.now;
        if self.deliveries.since() <= now {
            return Some(self.report_next());
        }
        if self.reorder_timeout <= now {
            self.time_out_reordering(call);
            return Some(self.report_next());
        }
        None
    }

    /// The PPDU or request of `sender` has ended: counts its air time, with that of the frames before it, unless it
    /// `has_collided`, and passes it to its receiver, if that has read any of it. `is_cts_lost` if its CTS-to-self has
    /// collided.
    pub(crate) fn end_ppdu(
        &mut self,
        sender: usize,
        (is_read, has_collided): (bool, bool),
        is_cts_lost: bool,
        call: &mut Call<'_>,
    ) {
        let station = self.station_of(sender);
        let Edcaf { ppdu, counters: own, .. } = &mut self.contenders[sender];
        let counters = &mut self.counters[station];
        let protection = || ppdu.before_data().iter().map(|frame| self.access.control_air(*frame));
        match ppdu.protection {
            Protection::RtsCts => counters.control += protection().fold(Duration::ZERO, |sum, air| sum + air),
            Protection::CtsToSelf if !has_collided => {
                let spent = if is_cts_lost { &mut counters.collided } else { &mut counters.control };
                *spent += protection().fold(Duration::ZERO, |sum, air| sum + air);
            }
            Protection::CtsToSelf | Protection::None => {}
        }
        match has_collided {
            true => {}
            false if ppdu.is_dataless() => counters.control += ppdu.air,
            false => {
                counters.data += ppdu.air;
                own.data_air += ppdu.air;
            }
        }
        if is_read && !ppdu.is_broadcast() {
            self.receive(sender, call);
        }
    }

    /// Processes a PPDU or request of `sender` at its receiver; MPDUs with errors are skipped.
    fn receive(&mut self, sender: usize, call: &mut Call<'_>) {
        let now = call.now;
        if matches!(self.contenders[sender].task, Some(Task::Single(_))) {
            if let MacEvent::Packet { to, id } = self.receive_single(now, sender) {
                self.deliveries.released.up.push(to, id);
                self.deliveries.report_from(now);
            }
            return;
        }
        let station = self.station_of(sender);
        if self.contenders[sender].ppdu.is_action() {
            self.receive_action(now, sender);
            return;
        }
        if self.contenders[sender].sends_run() {
            return self.receive_run(now, sender);
        }
        let is_singly = self.passes_up_singly() && self.contenders[sender].ppdu.sole().mpdus.len() > 1;
        let times = is_singly.then(|| self.psdu_times(sender));
        let Edcaf { ppdu, windows, task, counters, .. } = &mut self.contenders[sender];
        let place = task.expect("a sender has something to send").window();
        let window = &mut windows[place];
        let before = self.deliveries.released.up.mark();
        let was_blocked = window.blocked_since().is_some();
        window.used_at = now;
        if ppdu.is_request() {
            window.request(now, &self.chain, &mut self.deliveries.released);
        } else if let Some(count) = window.expected().and_then(|first| ppdu.sole().run_from(first))
            && (times.is_none() || !window.has_msdus())
        {
            window.receive_run(count, &self.chain, &mut self.deliveries.released);
            if let Some(times) = times {
                self.deliveries
                    .released
                    .up
                    .set_leads(before, times.left_after(ppdu.sole().mpdus.iter().map(|mpdu| mpdu.end)));
            }
        } else if let Some(times) = times {
            let leads = times.left_after(ppdu.sole().mpdus.iter().map(|mpdu| mpdu.end));
            for (mpdu, lead) in ppdu.sole().mpdus.iter().zip(leads).filter(|(mpdu, _)| !mpdu.is_lost) {
                let mark = self.deliveries.released.up.mark();
                window.receive(now - lead, mpdu.number, &self.chain, &mut self.deliveries.released);
                window.pass_up(now - lead, &self.chain, &mut self.deliveries.released);
                self.deliveries.released.up.set_lead(mark, lead);
            }
        } else {
            for number in ppdu.sole().read() {
                window.receive(now, number, &self.chain, &mut self.deliveries.released);
            }
            window.pass_up(now, &self.chain, &mut self.deliveries.released);
        }
        let is_blocked = window.blocked_since().is_some();
        counters.reorder_delay += window.take_reorder_delay();
        self.note_passed_up(now, sender, before);
        if is_blocked && !was_blocked {
            self.blocked.push((sender, place));
        }
        if is_blocked || was_blocked {
            self.find_reorder_timeout(now);
        }
        self.note_released(station, call);
    }

    /// Updates delays and counters for packets passed up since the mark `before`.
    pub(super) fn note_passed_up(&mut self, now: Time, sender: usize, before: usize) {
        self.contenders[sender].counters.passed_up += self.deliveries.note_delays(now, sender, before);
    }
}
