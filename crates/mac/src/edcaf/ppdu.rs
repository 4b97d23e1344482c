//! The PPDU that a contender sends when it has won the channel.
//!
//! Sources: IEEE Std 802.11-2016, 9.3.2.2.2 (A-MSDU), 9.7.1 (A-MPDU), 10.13 (limits of an A-MPDU).

use wifair_units::{BitRate, Bytes, Duration, Time};

use super::links::LinkMode;
use super::same_size_packets::SameSizePackets;
use super::settings::{AggregationRules, CategoryCounters};
use super::window::{Mpdu, SendWindow};
use super::{ANY_WIDTH, BROADCAST, Call, Cause, Edcaf, Edcafs, ExchangeFrame, Station, Task, rate_of};
use crate::exchange::{Protection, Purpose};
use crate::extended_response::ExtendedResponse;
use crate::frame::{Ppdu, PpduUser};
use crate::psdu_builder::{BuildState, DELIMITER, PsduBuilder};
use crate::station::frame_length;

impl Ppdu {
    /// Sets the length of the PSDU, the air times and the frames before the data.
    #[inline]
    pub(super) fn set_airs(&mut self, psdu: Bytes, air: Duration, response: Duration, protection: Protection) {
        let user = self.sole_mut();
        user.psdu = psdu;
        user.response = response;
        self.air = air;
        self.protection = protection;
        self.timed = None;
    }

    /// State from which construction can continue, if all MPDUs are retransmitted, from this window and within these
    /// limits.
    fn reusable_state(&self, window: usize, limit: u64, min_subframe: u64) -> Option<BuildState> {
        let limits = |builder: &PsduBuilder| (builder.limit, builder.min_subframe);
        self.build_state.filter(|state| state.window == window && limits(&state.builder) == (limit, min_subframe))
    }

    /// Prepares the retransmission of its MPDUs.
    fn send_again(&mut self, window: &mut SendWindow) {
        let user = self.sole_mut();
        let (first, count) = (user.mpdus[0].number, user.mpdus.len());
        let retries = if user.mpdus[count - 1].number == first + count as u64 - 1 {
            window.attempt_again(first, count)
        } else {
            user.mpdus.iter().map(|mpdu| window.attempt_again(mpdu.number, 1)).sum()
        };
        if user.lost > 0 {
            user.mpdus.iter_mut().for_each(|mpdu| mpdu.is_lost = false);
        }
        user.most_attempts = user.most_attempts.saturating_add(1);
        user.lost = 0;
        self.retries = retries;
        self.is_counted = false;
    }

    /// Air times of the data and the response, if they were last computed for the same arguments.
    #[inline]
    pub(super) fn air_times_if_like(&self, to: u32, purpose: Purpose, psdu: Bytes) -> Option<(Duration, Duration)> {
        (self.timed == Some((to, purpose, psdu))).then_some((self.air, self.sole().response))
    }

    /// Counts it as sent, once.
    pub(super) fn count(&mut self, counters: &mut CategoryCounters) {
        self.count_as(self.mpdus(), counters);
    }

    /// Counts it as sent, with this number of MPDUs, once.
    pub(super) fn count_as(&mut self, mpdus: u64, counters: &mut CategoryCounters) {
        if !std::mem::replace(&mut self.is_counted, true) {
            counters.ppdus += 1;
            counters.mpdus += mpdus;
            counters.retries += self.retries;
            counters.widths[self.width as usize].add(self.air);
        }
    }
}

impl PpduUser {
    /// Undoes the attempts of its MPDUs: they were not sent, because the RTS got no CTS.
    pub(super) fn take_back(&mut self, window: &mut SendWindow) {
        for mpdu in &self.mpdus {
            let unsent = window.mpdu_mut(mpdu.number);
            unsent.attempts -= 1;
            unsent.rts_failures = unsent.rts_failures.saturating_add(1);
        }
        self.most_attempts = self.most_attempts.saturating_sub(1);
    }
}

impl Edcafs {
    /// `sender` has won the channel: forms its PPDU.
    #[inline(always)]
    pub(crate) fn open(&mut self, sender: usize, call: &mut Call<'_>) {
        self.form(sender, call);
        let Edcaf { station, ref ppdu, .. } = self.contenders[sender];
        let counters = &mut self.counters[station];
        counters.attempts += 1;
        let category = (sender - station * self.categories) as u32;
        self.air_to.turn(station, ppdu.sole().station, category, || counters.air());
    }

    /// Forms the PPDU of `sender`.
    #[inline(always)]
    pub(crate) fn form(&mut self, sender: usize, call: &mut Call<'_>) {
        if matches!(self.contenders[sender].task, Some(Task::Single(_))) {
            self.form_single(sender);
        } else {
            if self.contenders[sender].in_a_row == 0 {
                self.follow_snr(call.now); // later in a TXOP `fits_txop` does it
            }
            self.form_of_window(sender, call);
        }
    }

    /// Forms a PPDU with MPDUs of one window, retransmissions first, then packets that wait for the same receiver.
    #[inline(never)]
    fn form_of_window(&mut self, sender: usize, call: &mut Call<'_>) {
        let Call { now, ref mut packets, ref mut dropped, next_hops, .. } = *call;
        let station = self.station_of(sender);
        self.note_change(station);
        self.enqueue_arrivals_of(sender, now + Duration::from_nanos(1), packets);
        if self.contenders[sender].sends_run() {
            return self.form_run(sender, station);
        }
        let task = self.contenders[sender].task.expect("a sender has something to send");
        let to = self.contenders[sender].windows[task.window()].to;
        let Task::Data(place) = task else {
            self.form_dataless(sender, station, to, task);
            return;
        };
        if self.contenders[sender].has_source() {
            self.write_out_for(now, sender, place, packets);
        }
        self.contenders[sender].backlog.retain(|waiting| *waiting != place);
        if self.contenders[sender].in_a_row == 0 {
            self.choose_mode(now, station, to); // later in a TXOP it is chosen before, by `fits_txop`
        }
        let mode = self.mode_towards(station, to);
        let aggregation = rules_between(&self.stations, station, to);
        let limit = self.psdu_limit(now, sender, to, mode, aggregation);
        let min_subframe = mode.map_or(0, |mode| mode.min_subframe);
        let sizes = self.access.timing.sizes;
        let (overhead, llc) = (sizes.mac_overhead.0, sizes.llc_overhead.0);
        let routing_overhead = self.stations[station].routing_overhead;
        let has_msdus = aggregation.is_some_and(|rules| rules.max_amsdu.0 > 0);
        let longest_amsdu = if has_msdus { self.longest_amsdu(now, sender, station, to) } else { 0 };
        let Edcaf { windows, waiting, ppdu, .. } = &mut self.contenders[sender];
        let window = &mut windows[place];
        let (mut builder, mut number) = if let Some(state) = ppdu.reusable_state(place, limit, min_subframe) {
            ppdu.send_again(window);
            (state.builder, state.number)
        } else {
            ppdu.begin(to, if to == BROADCAST { Purpose::Broadcast } else { Purpose::Single });
            (PsduBuilder::new(limit, min_subframe), window.origin())
        };
        loop {
            if number == window.next()
                && !has_msdus
                && limit > 0
                && let Some(rules) = aggregation
            {
                // From here on each waiting packet makes an MPDU.
                let behind = DELIMITER + overhead + llc;
                while window.has_room()
                    && let Some(room) = limit.checked_sub(builder.next + behind)
                    && let Some((id, packet)) = waiting.dequeue_for(now, to, room, packets, dropped, next_hops)
                {
                    let expires = rules.expiry(id, &self.deliveries.arrived);
                    if expires <= now {
                        dropped.push((id, Cause::Expired));
                        continue;
                    }
                    let length = frame_length(&self.access.timing, packet, routing_overhead).0;
                    let fits = builder.fits(length);
                    let mut mpdu = Mpdu::new(id, length, expires);
                    mpdu.attempts = u8::from(fits);
                    window.push(mpdu);
                    if !fits {
                        break;
                    }
                    builder.add(length);
                    ppdu.sole_mut().add_mpdu(number, builder.psdu, 1, expires);
                    number += 1;
                    if expires == Time::NEVER {
                        let alike = SameSizePackets { packet: *packet, length, number };
                        number += alike.add_following(window, waiting, ppdu.sole_mut(), &mut builder, packets);
                    }
                }
                break;
            }
            // A packet joins the last MPDU, which becomes an A-MSDU, or else begins the next. The last is complete
            // then, or when nothing more fits.
            let ahead = number + u64::from(has_msdus);
            while let Some(rules) = aggregation
                && window.next() <= ahead
            {
                let begin = |start: u64| limit.saturating_sub(start + DELIMITER + overhead);
                let longest = if limit == 0 { longest_amsdu } else { longest_amsdu.min(begin(builder.next)) };
                let mut room = window.room_in_last(overhead, longest).saturating_sub(routing_overhead.0);
                if window.has_room() {
                    let is_last = number < window.next();
                    let start =
                        if is_last { builder.after(u64::from(window.mpdu(number).length)) } else { builder.next };
                    room = room.max(begin(start));
                }
                let Some(room) = room.checked_sub(llc) else { break };
                let next = waiting.dequeue_for(now, to, room, packets, dropped, next_hops);
                let Some((id, packet)) = next else { break };
                let expires = rules.expiry(id, &self.deliveries.arrived);
                if expires <= now {
                    dropped.push((id, Cause::Expired));
                    continue;
                }
                let length = frame_length(&self.access.timing, packet, routing_overhead).0;
                if !window.append(id, length - overhead, overhead, longest, &mut self.chain) {
                    window.push(Mpdu::new(id, length, expires));
                }
            }
            if number == window.next() {
                break;
            }
            let mpdu = window.mpdu_mut(number);
            if mpdu.is_pending() {
                if !builder.fits(u64::from(mpdu.length)) {
                    break;
                }
                builder.add(u64::from(mpdu.length));
                ppdu.retries += u64::from(mpdu.attempts > 0);
                mpdu.attempts = mpdu.attempts.saturating_add(1);
                ppdu.sole_mut().add_mpdu(number, builder.psdu, mpdu.attempts, mpdu.expires);
                if limit == 0 {
                    break; // single MPDUs only
                }
            }
            number += 1;
        }
        waiting.count();
        ppdu.build_state = (limit > 0).then_some(BuildState { builder, window: place, number });
        if builder.mpdus > 1 {
            ppdu.purpose = Purpose::Aggregate;
        }
        let user = ppdu.sole_mut();
        let first = window.mpdu(user.mpdus[0].number);
        user.first = first.first;
        user.psdu = if builder.mpdus > 1 {
            Bytes(builder.psdu)
        } else {
            single_psdu(Bytes(u64::from(first.length)), aggregation)
        };
        let mpdus = user.mpdus.len() as u64;
        self.time_ppdu(sender, station, mpdus);
    }

    /// Determines the air times of the PPDU with `mpdus` MPDUs that `sender` has formed, and its protection. Counts it
    /// as sent, unless an RTS precedes it.
    pub(super) fn time_ppdu(&mut self, sender: usize, station: usize, mpdus: u64) {
        let Edcaf { ppdu, counters, .. } = &mut self.contenders[sender];
        let (&PpduUser { station: to, psdu, .. }, purpose) = (ppdu.sole(), ppdu.purpose);
        let Station { choice, max_width, .. } = &self.stations[station];
        let is_always_alike = choice.is_none() && *max_width == ANY_WIDTH && !self.access.cf_end;
        let timed = is_always_alike.then_some((to, purpose, psdu));
        if timed.is_some() && ppdu.timed == timed {
            if !ppdu.begins_with(ExchangeFrame::Rts) {
                ppdu.count_as(mpdus, counters);
            }
            return; // the same as the previous one
        }
        let (air, width) = (self.data_air(station, to, psdu), self.data_width(station, to));
        let response = self.response_air(station, to, purpose);
        let protection = self.protection(psdu, to, sender, None);
        let Edcaf { ppdu, counters, .. } = &mut self.contenders[sender];
        ppdu.air = air;
        ppdu.width = width;
        ppdu.sole_mut().response = response;
        ppdu.protection = protection;
        ppdu.timed = timed;
        if !ppdu.begins_with(ExchangeFrame::Rts) {
            ppdu.count_as(mpdus, counters);
        }
    }

    /// Forms a BlockAckReq, or an ADDBA or DELBA frame.
    fn form_dataless(&mut self, sender: usize, station: usize, to: u32, task: Task) {
        let (purpose, length) = self.dataless(sender, to, task);
        let air = self.access.timing.frame(length, self.control_rate(station, to));
        let response = self.response_air(station, to, purpose);
        let protection = match purpose {
            Purpose::Agreement => self.protection(length, to, sender, None),
            _ => Protection::None,
        };
        let Edcaf { ppdu, counters, .. } = &mut self.contenders[sender];
        counters.requests += u64::from(purpose == Purpose::BlockAckRequest);
        ppdu.begin(to, purpose);
        ppdu.set_airs(length, air, response, protection);
    }

    /// The station whose rate applies between two stations: that of the receiver for frames from an access point.
    pub(crate) fn rate_of(&self, station: usize, to: u32) -> usize {
        rate_of(&self.stations, station, to)
    }

    /// Index of the mode for data between two stations, among those of the station whose rate applies.
    pub(crate) fn mode_place(&self, station: usize, to: u32) -> usize {
        let link = &self.stations[self.rate_of(station, to)].link;
        self.stations[station].choice.as_ref().map_or(0, |choice| choice.place(to, link))
    }

    /// Mode for data between two stations; `None` if a plain rate is used.
    #[inline]
    pub(crate) fn mode_towards(&self, station: usize, to: u32) -> Option<&LinkMode> {
        let link = &self.stations[self.rate_of(station, to)].link;
        link.mode_within(self.mode_place(station, to), self.stations[station].max_width)
    }

    /// Chooses the mode of the next data to another station, if the sender adapts.
    pub(super) fn choose_mode(&mut self, now: Time, station: usize, to: u32) {
        let Some(mut choice) = self.stations[station].choice.take() else { return };
        if to != BROADCAST {
            choice.choose(now, to, &self.stations[self.rate_of(station, to)].link);
        }
        self.stations[station].choice = Some(choice);
    }

    /// Reports the result of its data to the rate adaptation of a sender.
    pub(crate) fn report_mode(&mut self, sender: usize, delivered: u64) {
        let station = self.station_of(sender);
        let ppdu = &self.contenders[sender].ppdu;
        if let Some(choice) = self.stations[station].choice.as_mut().filter(|_| !ppdu.is_dataless()) {
            let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
            choice.report(ppdu.sole().station, count(ppdu.sole().mpdus.len() as u64), count(delivered));
        }
    }

    /// Sets another rate than the station's for the data that `sender` has formed.
    pub(crate) fn set_rate(&mut self, sender: usize, rate: BitRate) {
        let timing = &self.access.timing;
        let &PpduUser { station: to, psdu, .. } = self.contenders[sender].ppdu.sole();
        let protection = self.protection(psdu, to, sender, Some(rate));
        let ppdu = &mut self.contenders[sender].ppdu;
        ppdu.sole_mut().rate = Some(rate);
        ppdu.timed = None;
        ppdu.air = timing.frame(psdu, rate);
        ppdu.sole_mut().response = timing.frame(timing.sizes.ack, timing.answer_rate(rate));
        ppdu.protection = protection;
    }

    /// Rate of the response to what `sender` has formed.
    pub(crate) fn response_rate(&self, sender: usize) -> BitRate {
        let (station, ppdu) = (self.station_of(sender), &self.contenders[sender].ppdu);
        match (ppdu.sole().rate, self.extended_response(station, ppdu.sole().station, ppdu.purpose)) {
            (Some(rate), _) => self.access.timing.answer_rate(rate),
            (None, Some(extended)) => extended.mode.data_rate(),
            (None, None) => self.control_rate(station, ppdu.sole().station),
        }
    }

    /// Number of previous attempts, with or without RTS, to send the first MPDU that `sender` has formed.
    pub(crate) fn attempts_before(&self, sender: usize) -> u8 {
        let Edcaf { ppdu, windows, task, .. } = &self.contenders[sender];
        let window = &windows[task.expect("a sender has something to send").window()];
        ppdu.sole().mpdus.first().map_or(0, |first| {
            let mpdu = window.mpdu(first.number);
            (mpdu.attempts - 1).saturating_add(mpdu.rts_failures)
        })
    }

    /// Marks the broadcast of `sender` as received by some stations.
    pub(crate) fn receive_broadcast(&mut self, sender: usize) {
        let Edcaf { ppdu, windows, task, .. } = &mut self.contenders[sender];
        let window = &mut windows[task.expect("a sender has something to send").window()];
        ppdu.sole().mpdus.iter().for_each(|mpdu| window.receive_broadcast(mpdu.number));
    }

    /// Air time of data.
    pub(super) fn data_air(&self, station: usize, to: u32, psdu: Bytes) -> Duration {
        match self.mode_towards(station, to) {
            _ if to == BROADCAST => self.access.timing.frame(psdu, self.access.broadcast_rate),
            Some(mode) => mode.timing.duration(psdu),
            None => self.access.timing.frame(psdu, self.stations[self.rate_of(station, to)].rate),
        }
    }

    /// Rate of non-HT control frames that respond to data between two stations.
    pub(crate) fn control_rate(&self, station: usize, to: u32) -> BitRate {
        self.answer_rate(self.mode_towards(station, to), station, to)
    }

    /// Rate of non-HT control frames that respond to data in this mode, or at the plain rate between two stations.
    fn answer_rate(&self, mode: Option<&LinkMode>, station: usize, to: u32) -> BitRate {
        let plain = || self.stations[self.rate_of(station, to)].rate;
        self.access.timing.answer_rate(mode.map_or_else(plain, LinkMode::reference_rate))
    }

    /// Air time of the response to data or a request.
    pub(super) fn response_air(&self, station: usize, to: u32, purpose: Purpose) -> Duration {
        if to == BROADCAST {
            return Duration::ZERO;
        }
        let length = self.response_length(station, to, purpose);
        let mode = self.mode_towards(station, to);
        match mode.and_then(|mode| mode.extended_response(purpose)) {
            Some(extended) => extended.air(length),
            None => self.access.timing.frame(length, self.answer_rate(mode, station, to)),
        }
    }

    /// The response to data between two stations, if it is not in non-HT format.
    pub(crate) fn extended_response(&self, station: usize, to: u32, purpose: Purpose) -> Option<&ExtendedResponse> {
        self.mode_towards(station, to)?.extended_response(purpose)
    }

    /// Length of the response to data or a request.
    pub(crate) fn response_length(&self, station: usize, to: u32, purpose: Purpose) -> Bytes {
        match (purpose, rules_between(&self.stations, station, to)) {
            (Purpose::Aggregate | Purpose::BlockAckRequest, Some(rules)) => rules.block_ack(),
            _ => self.access.timing.sizes.ack,
        }
    }

    /// Protection of data at this rate, or at that of the station. Where frames reserve the channel for the whole TXOP,
    /// those before the first data to a receiver suffice: an RTS begins a frame exchange sequence (dot11RTSThreshold),
    /// and the sequence goes on to the CF-End (Annex G.4, NAV-protected sequence).
    pub(super) fn protection(&self, psdu: Bytes, to: u32, sender: usize, rate: Option<BitRate>) -> Protection {
        let station = self.station_of(sender);
        if self.contenders[sender].is_reserved_for(to) {
            return Protection::None;
        }
        // No RTS and CTS before data in a mode that is more robust than theirs.
        let is_robust = || {
            let mode = self.mode_towards(station, to);
            mode.is_some_and(|mode| mode.is_more_robust_than(self.access.control_rate()))
        };
        let is_fallback = self.stations[station].choice.as_ref().is_some_and(|choice| choice.uses_rts(to));
        if to != BROADCAST && (self.access.protects(psdu) || (is_fallback && !is_robust())) {
            return Protection::RtsCts;
        }
        let of_station = || match to {
            BROADCAST => self.access.broadcast_rate,
            to => self.stations[self.rate_of(station, to)].rate,
        };
        let bare = rate.unwrap_or_else(of_station);
        let has_mcs = to != BROADCAST && self.mode_towards(station, to).is_some();
        let is_dsss = !has_mcs && self.access.timing.is_dsss(bare);
        match (self.access.protection, self.access.protects_by_rts && to != BROADCAST) {
            (Some(_), true) if !is_dsss => Protection::RtsCts,
            (Some(_), false) if !is_dsss => Protection::CtsToSelf,
            _ => Protection::None,
        }
    }
}

/// Aggregation rules from one station to another: those of the station that is no access point.
pub(super) fn rules_between(stations: &[Station], station: usize, to: u32) -> Option<&AggregationRules> {
    stations[rate_of(stations, station, to)].rules.as_ref().filter(|_| to != BROADCAST)
}

/// Length of the PSDU with a single MPDU, which includes a delimiter from VHT on.
pub(super) fn single_psdu(length: Bytes, aggregation: Option<&AggregationRules>) -> Bytes {
    if aggregation.is_some_and(|rules| rules.single_in_ampdu) { length + Bytes(DELIMITER) } else { length }
}
