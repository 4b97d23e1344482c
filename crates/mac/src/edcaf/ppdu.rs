//! The PPDU that a contender sends when it has won the channel.
//!
//! Sources: IEEE Std 802.11-2016, 9.3.2.2.2 (A-MSDU), 9.7.1 (A-MPDU), 10.13 (limits of an A-MPDU).

use wifair_packet::{Packet, PacketId, Packets};
use wifair_phy::ChannelWidth;
use wifair_units::{BitRate, Bytes, Duration, Time};

use super::links::LinkMode;
use super::psdu_builder::{DELIMITER, PsduBuilder, SameSizePackets};
use super::settings::{AggregationRules, CategoryCounters};
use super::window::{Mpdu, SendWindow};
use super::{ANY_WIDTH, BROADCAST, Call, Cause, Edcaf, Edcafs, ExchangeStep, Station, Task, control_rate, rate_of};
use crate::exchange::{Protection, Purpose, sequence};
use crate::extended_response::ExtendedResponse;
use crate::station::frame_length;

/// An MPDU in a PPDU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PpduMpdu {
    /// Its sequence number.
    pub number: u64,
    /// End of the MPDU in the PSDU, in bytes.
    pub end: u64,
    /// Whether it is lost to an error or a collision.
    pub is_lost: bool,
}

/// A data PPDU or a request, with the frames before it and its response.
#[derive(Clone, Debug)]
pub(crate) struct Ppdu {
    /// The receiver.
    pub to: u32,
    /// The first packet.
    pub first: PacketId,
    pub purpose: Purpose,
    protection: Protection,
    pub(super) mpdus: Vec<PpduMpdu>,
    /// Highest number of attempts among its MPDUs, and the earliest expiry.
    pub(super) most_attempts: u8,
    pub(super) expires: Time,
    /// State from which construction can continue, if all of its MPDUs are to be retransmitted.
    pub(super) build_state: Option<BuildState>,
    /// Length of the PSDU.
    pub psdu: Bytes,
    /// Rate of the data, if different from that of the station.
    pub rate: Option<BitRate>,
    /// Air time of the data or the request.
    pub air: Duration,
    /// Width of the data.
    pub(super) width: ChannelWidth,
    /// Air time of the response.
    pub response: Duration,
    /// Receiver, purpose and PSDU length for which the air times were computed, if they follow from the station's mode.
    timed: Option<(u32, Purpose, Bytes)>,
    pub(super) lost: usize,
    /// Number of its MPDUs that were sent before.
    pub(super) retries: u64,
    /// Whether it was counted as sent; with RTS/CTS it is counted when the CTS is received.
    is_counted: bool,
}

impl Default for Ppdu {
    fn default() -> Self {
        Self {
            to: BROADCAST,
            first: Packets::default().insert(Packet::default()),
            purpose: Purpose::Broadcast,
            protection: Protection::None,
            mpdus: vec![],
            most_attempts: 0,
            expires: Time::NEVER,
            build_state: None,
            psdu: Bytes(0),
            rate: None,
            air: Duration::ZERO,
            width: ChannelWidth::Mhz20,
            response: Duration::ZERO,
            timed: None,
            lost: 0,
            retries: 0,
            is_counted: false,
        }
    }
}

impl Ppdu {
    /// Whether the exchange includes this frame.
    pub fn has(&self, step: ExchangeStep) -> bool {
        sequence(self.purpose, self.protection).contains(&step)
    }

    /// Whether the exchange begins with this frame.
    #[inline]
    pub fn begins_with(&self, step: ExchangeStep) -> bool {
        self.before_data().first() == Some(&step)
    }

    /// The frame with which the exchange begins.
    pub fn first_step(&self) -> ExchangeStep {
        sequence(self.purpose, self.protection)[0]
    }

    /// The frame that follows `step` in the exchange, if one does: its response, if the other end sends it.
    pub fn step_after(&self, step: ExchangeStep) -> Option<ExchangeStep> {
        let mut steps = sequence(self.purpose, self.protection).iter().copied();
        steps.by_ref().find(|other| *other == step);
        steps.next()
    }

    /// The frames before the data.
    #[inline]
    pub fn before_data(&self) -> &'static [ExchangeStep] {
        self.protection.steps()
    }

    pub fn is_request(&self) -> bool {
        self.purpose == Purpose::BlockAckRequest
    }

    /// Whether it is an ADDBA or DELBA frame.
    pub fn is_action(&self) -> bool {
        self.purpose == Purpose::Agreement
    }

    /// Whether it is a single frame without MPDUs of a window.
    pub fn is_dataless(&self) -> bool {
        self.is_request() || self.is_action()
    }

    /// Whether it is answered by a block ACK.
    pub fn is_aggregate(&self) -> bool {
        self.purpose == Purpose::Aggregate
    }

    /// Its MPDUs.
    pub fn mpdus(&self) -> &[PpduMpdu] {
        &self.mpdus
    }

    /// Sequence numbers of the MPDUs that are received.
    pub fn read(&self) -> impl Iterator<Item = u64> {
        self.mpdus.iter().filter(|mpdu| !mpdu.is_lost).map(|mpdu| mpdu.number)
    }

    /// Number of MPDUs, if all are received and their sequence numbers are consecutive from `first`.
    pub fn run_from(&self, first: u64) -> Option<u64> {
        let (count, last) = (self.mpdus.len() as u64, self.mpdus.last()?.number);
        (self.lost == 0 && self.mpdus[0].number == first && last + 1 == first + count).then_some(count)
    }

    /// Whether any MPDU is received.
    pub fn is_read(&self) -> bool {
        self.lost < self.mpdus.len().max(1)
    }

    /// Sets which MPDUs are lost to errors; a PPDU without MPDUs of a window counts as one MPDU.
    pub fn set_lost(&mut self, mut is_lost: impl FnMut() -> bool) {
        self.lost = 0;
        if self.mpdus.is_empty() {
            self.lost = usize::from(is_lost());
        }
        for mpdu in &mut self.mpdus {
            mpdu.is_lost = is_lost();
            self.lost += usize::from(mpdu.is_lost);
        }
    }

    /// Sets which MPDUs are lost: `is_lost` is called with the index of each and whether it is lost so far.
    pub fn mark_lost(&mut self, mut is_lost: impl FnMut(usize, bool) -> bool) {
        self.lost = 0;
        for (place, mpdu) in self.mpdus.iter_mut().enumerate() {
            mpdu.is_lost = is_lost(place, mpdu.is_lost);
            self.lost += usize::from(mpdu.is_lost);
        }
    }

    /// Adds further losses, by sequence number.
    pub fn add_losses(&mut self, mut is_lost: impl FnMut(u64) -> bool) {
        for mpdu in &mut self.mpdus {
            if is_lost(mpdu.number) && !mpdu.is_lost {
                mpdu.is_lost = true;
                self.lost += 1;
            }
        }
    }

    /// Share of its air time that carried lost MPDUs.
    pub fn lost_air(&self) -> Duration {
        self.lost_part(self.air)
    }

    /// Share of `air` that carried lost MPDUs.
    pub fn lost_part(&self, air: Duration) -> Duration {
        match (self.lost, self.mpdus.len()) {
            (0, _) => Duration::ZERO,
            (lost, all) if lost >= all => air,
            (lost, all) => air * lost as u64 / all as u64,
        }
    }

    pub(super) fn begin(&mut self, to: u32, purpose: Purpose) {
        self.to = to;
        self.purpose = purpose;
        self.mpdus.clear();
        self.most_attempts = 0;
        self.expires = Time::NEVER;
        self.build_state = None;
        self.psdu = Bytes(0);
        self.rate = None;
        self.lost = 0;
        self.retries = 0;
        self.is_counted = false;
    }

    /// Sets the length of the PSDU, the air times and the frames before the data.
    #[inline]
    pub(super) fn set_airs(&mut self, psdu: Bytes, air: Duration, response: Duration, protection: Protection) {
        self.psdu = psdu;
        self.air = air;
        self.response = response;
        self.protection = protection;
        self.timed = None;
    }

    /// Adds an MPDU that ends at `end` in the PSDU, and has been sent `attempts` times including this one.
    #[inline]
    pub(super) fn add_mpdu(&mut self, number: u64, end: u64, attempts: u8, expires: Time) {
        self.most_attempts = self.most_attempts.max(attempts);
        self.expires = self.expires.min(expires);
        self.mpdus.push(PpduMpdu { number, end, is_lost: false });
    }

    /// Adds `count` new MPDUs. The first ends at `end`; the others follow at intervals of `stride` bytes.
    #[inline]
    pub(super) fn add_mpdus(&mut self, number: u64, end: u64, stride: u64, count: u64) {
        let inside = |place| PpduMpdu { number: number + place, end: end + stride * place, is_lost: false };
        self.mpdus.extend((0..count).map(inside));
    }

    /// Removes MPDUs from the end, but not the first, until the PSDU is at most `longest`. Returns those removed.
    pub fn shorten(&mut self, longest: Bytes) -> Vec<PpduMpdu> {
        let kept = self.mpdus.iter().take_while(|mpdu| mpdu.end <= longest.0).count().max(1);
        let left_out = self.mpdus.split_off(kept.min(self.mpdus.len()));
        if !left_out.is_empty() {
            self.psdu = Bytes(self.mpdus[kept - 1].end);
            self.build_state = None;
        }
        left_out
    }

    /// State from which construction can continue, if all MPDUs are retransmitted, from this window and within these
    /// limits.
    fn reusable_state(&self, window: usize, limit: u64, min_subframe: u64) -> Option<BuildState> {
        let limits = |builder: &PsduBuilder| (builder.limit, builder.min_subframe);
        self.build_state.filter(|state| state.window == window && limits(&state.builder) == (limit, min_subframe))
    }

    /// Prepares the retransmission of its MPDUs.
    fn send_again(&mut self, window: &mut SendWindow) {
        self.is_counted = false;
        let (first, count) = (self.mpdus[0].number, self.mpdus.len());
        self.retries = if self.mpdus[count - 1].number == first + count as u64 - 1 {
            window.attempt_again(first, count)
        } else {
            self.mpdus.iter().map(|mpdu| window.attempt_again(mpdu.number, 1)).sum()
        };
        if self.lost > 0 {
            self.mpdus.iter_mut().for_each(|mpdu| mpdu.is_lost = false);
        }
        self.most_attempts = self.most_attempts.saturating_add(1);
        self.lost = 0;
    }

    /// Undoes the attempts of its MPDUs: they were not sent, because the RTS got no CTS.
    pub(super) fn take_back(&mut self, window: &mut SendWindow) {
        for mpdu in &self.mpdus {
            let unsent = window.mpdu_mut(mpdu.number);
            unsent.attempts -= 1;
            unsent.rts_failures = unsent.rts_failures.saturating_add(1);
        }
        self.most_attempts = self.most_attempts.saturating_sub(1);
    }

    /// Air times of the data and the response, if they were last computed for the same arguments.
    #[inline]
    pub(super) fn air_times_if_like(&self, to: u32, purpose: Purpose, psdu: Bytes) -> Option<(Duration, Duration)> {
        (self.timed == Some((to, purpose, psdu))).then_some((self.air, self.response))
    }

    /// Counts it as sent, once.
    pub(super) fn count(&mut self, counters: &mut CategoryCounters) {
        self.count_as(self.mpdus.len() as u64, counters);
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

/// State after the construction of a PPDU, valid while its MPDUs do not change.
#[derive(Clone, Copy, Debug)]
pub(super) struct BuildState {
    builder: PsduBuilder,
    /// Window of its MPDUs, and the sequence number after the last one considered.
    window: usize,
    number: u64,
}

impl BuildState {
    /// State after MPDUs of this window; `number` is the next sequence number.
    pub const fn of(builder: PsduBuilder, window: usize, number: u64) -> Self {
        Self { builder, window, number }
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
        self.air_to.turn(station, ppdu.to, category, || counters.air());
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
                    let expires = rules.expiry(id, &self.arrived);
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
                    ppdu.add_mpdu(number, builder.psdu, 1, expires);
                    number += 1;
                    if expires == Time::NEVER {
                        let alike = SameSizePackets { packet: *packet, length, number };
                        number += alike.add_following(window, waiting, ppdu, &mut builder, packets);
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
                let expires = rules.expiry(id, &self.arrived);
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
                ppdu.add_mpdu(number, builder.psdu, mpdu.attempts, mpdu.expires);
                if limit == 0 {
                    break; // single MPDUs only
                }
            }
            number += 1;
        }
        waiting.count();
        ppdu.build_state = (limit > 0).then_some(BuildState { builder, window: place, number });
        let first = window.mpdu(ppdu.mpdus[0].number);
        ppdu.first = first.first;
        let single = Bytes(u64::from(first.length));
        if builder.mpdus > 1 {
            ppdu.purpose = Purpose::Aggregate;
            ppdu.psdu = Bytes(builder.psdu);
        } else {
            ppdu.psdu = single_psdu(single, aggregation);
        }
        let mpdus = ppdu.mpdus.len() as u64;
        self.time_ppdu(sender, station, mpdus);
    }

    /// Determines the air times of the PPDU with `mpdus` MPDUs that `sender` has formed, and its protection. Counts it
    /// as sent, unless an RTS precedes it.
    pub(super) fn time_ppdu(&mut self, sender: usize, station: usize, mpdus: u64) {
        let Edcaf { ppdu, counters, .. } = &mut self.contenders[sender];
        let Ppdu { to, psdu, purpose, .. } = *ppdu;
        let Station { choice, max_width, .. } = &self.stations[station];
        let is_always_alike = choice.is_none() && *max_width == ANY_WIDTH && !self.access.cf_end;
        let timed = is_always_alike.then_some((to, purpose, psdu));
        if timed.is_some() && ppdu.timed == timed {
            if !ppdu.begins_with(ExchangeStep::Rts) {
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
        ppdu.response = response;
        ppdu.protection = protection;
        ppdu.timed = timed;
        if !ppdu.begins_with(ExchangeStep::Rts) {
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
            choice.report(ppdu.to, count(ppdu.mpdus.len() as u64), count(delivered));
        }
    }

    /// Sets another rate than the station's for the data that `sender` has formed.
    pub(crate) fn set_rate(&mut self, sender: usize, rate: BitRate) {
        let timing = &self.access.timing;
        let Ppdu { to, psdu, .. } = self.contenders[sender].ppdu;
        let protection = self.protection(psdu, to, sender, Some(rate));
        let ppdu = &mut self.contenders[sender].ppdu;
        ppdu.rate = Some(rate);
        ppdu.timed = None;
        ppdu.air = timing.frame(psdu, rate);
        ppdu.response = timing.frame(timing.sizes.ack, timing.answer_rate(rate));
        ppdu.protection = protection;
    }

    /// Rate of the response to what `sender` has formed.
    pub(crate) fn response_rate(&self, sender: usize) -> BitRate {
        let (station, ppdu) = (self.station_of(sender), &self.contenders[sender].ppdu);
        match (ppdu.rate, self.extended_response(station, ppdu.to, ppdu.purpose)) {
            (Some(rate), _) => self.access.timing.answer_rate(rate),
            (None, Some(extended)) => extended.mode.data_rate(),
            (None, None) => self.control_rate(station, ppdu.to),
        }
    }

    /// Number of previous attempts, with or without RTS, to send the first MPDU that `sender` has formed.
    pub(crate) fn attempts_before(&self, sender: usize) -> u8 {
        let Edcaf { ppdu, windows, task, .. } = &self.contenders[sender];
        let window = &windows[task.expect("a sender has something to send").window()];
        ppdu.mpdus().first().map_or(0, |first| {
            let mpdu = window.mpdu(first.number);
            (mpdu.attempts - 1).saturating_add(mpdu.rts_failures)
        })
    }

    /// Marks the broadcast of `sender` as received by some stations.
    pub(crate) fn receive_broadcast(&mut self, sender: usize) {
        let Edcaf { ppdu, windows, task, .. } = &mut self.contenders[sender];
        let window = &mut windows[task.expect("a sender has something to send").window()];
        ppdu.mpdus().iter().for_each(|mpdu| window.receive_broadcast(mpdu.number));
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
            mode.is_some_and(|mode| mode.is_more_robust_than(control_rate(&self.access)))
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
