//! Frames and their responses.

use wifair_packet::PacketId;
use wifair_phy::OutageProcess;
use wifair_units::{BitRate, Duration, Time};

use super::air_accounting::lose_readers;
use super::backoff_timers::TimerAction;
use super::bitset::place;
use super::{Call, ExchangeStage, SpatialChannel, Transmission};
use crate::channel::nav::Nav;
use crate::exchange::{ExchangeEnd, ExchangeFrame};
use crate::interpreter::Following;
use crate::station::Contention;
use crate::{BROADCAST, Counters, MacEvent};

impl SpatialChannel {
    /// All stations that are due start sending.
    pub(super) fn begin(&mut self, call: &mut Call<'_>) {
        let now = call.now;
        self.starters.clear();
        self.backoff_timers.take(now, &mut self.starters);
        self.accounting.account(now, &mut self.transmissions);
        if self.links.change() {
            self.follow_moves(now);
        }
        let mut opened = None;
        if self.allows_atomic
            && let [sender] = self.starters[..]
        {
            let kind = self.take_turn(sender, call);
            if kind == ExchangeFrame::Data && self.begins_exchange(now, sender) {
                return;
            }
            opened = Some(kind);
        } else if !self.allows_atomic && self.signals.varies {
            self.ask_secondary_channels(call);
        }
        let starters = std::mem::take(&mut self.starters);
        for &sender in &starters {
            self.switch_to_transmission(sender);
        }
        for &sender in &starters {
            let kind = opened.unwrap_or_else(|| self.take_turn(sender, call));
            let transmission = self.compose(now, sender, kind);
            self.send(sender, transmission);
            if kind == ExchangeFrame::Data {
                self.watch_for(now, sender, transmission.to);
            } else if self.signals.bits.is_some() {
                self.put_response_on_air(sender, &transmission);
            }
        }
        for &sender in &starters {
            self.check_initial_collision(sender);
        }
        self.starters = starters;
        if self.edca.is_some() {
            self.watch_receptions(now);
        }
    }

    /// The links of those that start sending follow the stations that move. During a frame links stay as they are.
    fn follow_moves(&mut self, now: Time) {
        for &sender in &self.starters {
            if self.links.follow(now, sender)
                && let Some(edca) = self.edca.as_deref_mut()
            {
                let (links, noise) = (&self.links, &self.signals.noise);
                edca.edcafs.set_snr_of(sender, |to| links.received_power(sender, to) / noise[to as usize]);
            }
        }
    }

    /// Type of the frame that `sender` starts sending now.
    #[inline(always)]
    fn take_turn(&mut self, sender: u32, call: &mut Call<'_>) -> ExchangeFrame {
        let now = call.now;
        let exchange = match std::mem::replace(&mut self.stations[sender as usize].stage, ExchangeStage::Sends) {
            ExchangeStage::Due(kind) => return kind,
            ExchangeStage::Rest if self.edca.is_none() => self.open_dcf(now, sender),
            ExchangeStage::Rest => {
                self.win(sender, call);
                self.open_in(sender, call)
            }
            ExchangeStage::Continues => self.open_in(sender, call),
            stage => unreachable!("a station that begins to send contends or answers, and is not {stage:?}"),
        };
        self.stations[sender as usize].exchange = exchange;
        exchange.step().frame
    }

    /// Receiver of the exchange of `initiator`, and air times of its data or BlockAckReq and of the response.
    #[inline]
    fn exchange_of(&self, initiator: u32) -> (u32, Duration, Duration) {
        if let Some(edca) = &self.edca {
            let ppdu = edca.ppdu_of(initiator);
            return (ppdu.sole().station, ppdu.air, ppdu.sole().response);
        }
        let frame = self.stations[initiator as usize].frame.as_ref().expect("a sender has a frame");
        (frame.to, frame.air, frame.ack)
    }

    /// The frame of this type that `sender` starts sending at `now`.
    pub(super) fn compose(&self, now: Time, sender: u32, kind: ExchangeFrame) -> Transmission {
        let timing = &self.access.timing;
        let is_answer = kind.is_response();
        let initiator = if is_answer { self.stations[sender as usize].peer } else { sender };
        let (receiver, data, response) = self.exchange_of(initiator);
        let after_data = if receiver == BROADCAST { Duration::ZERO } else { timing.sifs + response };
        let (to, rate, air, reserves) = match kind {
            ExchangeFrame::CtsToSelf => {
                let rate = self.access.protection.expect("frames are protected");
                (sender, rate, timing.frame(timing.sizes.cts, rate), timing.sifs + data + after_data)
            }
            ExchangeFrame::Rts => {
                (receiver, self.guard_rate, self.rts, timing.sifs + self.cts + timing.sifs + data + after_data)
            }
            ExchangeFrame::Data | ExchangeFrame::BlockAckReq | ExchangeFrame::Action => {
                (receiver, self.rate_of(initiator, kind), data, after_data)
            }
            ExchangeFrame::Cts => (initiator, self.guard_rate, self.cts, Duration::ZERO),
            ExchangeFrame::Ack | ExchangeFrame::BlockAck => {
                (initiator, self.rate_of(initiator, kind), response, Duration::ZERO)
            }
            ExchangeFrame::CfEnd => (sender, self.access.cf_end_rate(), self.access.cf_end_air(), Duration::ZERO),
            ExchangeFrame::MuBarTrigger
            | ExchangeFrame::ReportTrigger
            | ExchangeFrame::QosNull
            | ExchangeFrame::BasicTrigger
            | ExchangeFrame::MultiStaBlockAck => unreachable!("exchanges in space have one user, not {kind:?}"),
        };
        let end = now + air;
        let left = self.left_of_txop(initiator, end);
        let nav = match kind {
            // A CTS announces the same end as the RTS and, in a TXOP that is not over, a response the same as the data.
            ExchangeFrame::Cts => self.transmissions[to as usize].nav,
            ExchangeFrame::Ack | ExchangeFrame::BlockAck if left > Duration::ZERO => {
                self.transmissions[to as usize].nav
            }
            ExchangeFrame::CfEnd => end,
            _ => end + self.access.round_nav(reserves.max(left)),
        };
        Transmission { kind, to, rate, start: now, end, nav, readers: 0, collided: false, alone: Duration::ZERO }
    }

    /// How long the frames of `initiator` still reserve the rest of its TXOP at `now`, with `cf_end`.
    fn left_of_txop(&self, initiator: u32, now: Time) -> Duration {
        let Some(edca) = &self.edca else { return Duration::ZERO };
        edca.edcafs.left_of_txop(edca.current_of(initiator), now)
    }

    /// Rate of the data or BlockAckReq of `initiator`, or of the response.
    fn rate_of(&self, initiator: u32, kind: ExchangeFrame) -> BitRate {
        if let Some(edca) = &self.edca {
            return edca.rate_of(initiator, kind);
        }
        let rate = self.stations[initiator as usize].frame.as_ref().expect("a sender has a frame").rate;
        if kind == ExchangeFrame::Data { rate } else { self.access.timing.answer_rate(rate) }
    }

    /// How long `initiator` waits for the response to its RTS, if `by_rts`, or to its data or BlockAckReq.
    fn timeout_of(&self, initiator: u32, by_rts: bool) -> Duration {
        match &self.edca {
            Some(edca) => edca.edcafs.timeout(edca.current_of(initiator), by_rts),
            None if by_rts => self.access.timeout_of(self.guard_rate),
            None => self.access.timeout_of(self.rate_of(initiator, ExchangeFrame::Ack)),
        }
    }

    /// The counters of a station.
    pub(super) fn counters_mut(&mut self, station: u32) -> &mut Counters {
        let counters = self.edca.as_mut().map_or(&mut self.counters, |edca| &mut edca.edcafs.counters);
        &mut counters[station as usize]
    }

    /// Prepares `sender` to send: it receives nothing while sending.
    pub(super) fn switch_to_transmission(&mut self, sender: u32) {
        let backoff = &mut self.backoffs[sender as usize];
        let signals = &mut self.signals;
        if signals.receiving.has(sender) {
            if !signals.corrupted.has(sender) {
                let (word, bit) = place(sender);
                lose_readers(
                    &mut self.transmissions[signals.sender_at(sender) as usize],
                    word,
                    bit,
                    &mut self.accounting,
                );
            }
            // An ns-2 receiver keeps following the frame, which it can no longer read.
            signals.corrupted.put(sender, true);
            if !self.like_ns2 {
                signals.leave(sender);
            }
        }
        backoff.engaged = true;
        signals.sends.put(sender, true);
        signals.eifs_pending.put(sender, false);
    }

    /// Checks whether the frame that `sender` has begun collides from the start, once all stations that were due have
    /// begun.
    pub(super) fn check_initial_collision(&mut self, sender: u32) {
        let transmission = &self.transmissions[sender as usize];
        // Not read from the start: because of another frame, or because it is too weak?
        let collided = match transmission.to {
            _ if transmission.is_for_all() => transmission.readers == 0 && self.accounting.frames > 1,
            to => {
                let signals = &self.signals;
                let receives = signals.receiving.has(to).then(|| signals.sender_at(to));
                let reads = receives == Some(sender) && !signals.corrupted.has(to);
                let receives_other = receives.is_some_and(|other| other != sender);
                !reads && (receives_other || signals.sends.has(to) || signals.is_crowded(to))
            }
        };
        if collided && !transmission.collided {
            self.transmissions[sender as usize].collided = true;
            self.accounting.collided += 1;
        }
    }

    /// Starts a frame of `sender`.
    pub(super) fn send(&mut self, sender: u32, transmission: Transmission) {
        self.transmissions[sender as usize] = transmission;
        self.backoff_timers.plan(sender, transmission.end, TimerAction::End);
        self.accounting.frames += 1;
        self.accounting.sum += u64::from(sender);
        self.begin_reception(transmission.start, sender, transmission.end);
    }

    /// Ends the frame of `sender`.
    pub(super) fn end(&mut self, sender: u32, call: &mut Call<'_>) -> MacEvent {
        let now = call.now;
        self.accounting.account(now, &mut self.transmissions);
        self.accounting.frames -= 1;
        self.accounting.sum -= u64::from(sender);
        let mut transmission = self.transmissions[sender as usize];
        self.accounting.collided -= u32::from(transmission.collided);
        self.signals.sends.put(sender, false);
        self.finished.clear();
        if self.edca.is_some() {
            self.close_reception(now, sender);
        }
        let repeater = if transmission.kind == ExchangeFrame::CfEnd { self.repeater_of(sender) } else { None };
        let fate = self.end_reception(now, sender, &transmission);
        if self.edca.is_some() {
            self.watch_receptions(now);
        }
        transmission.collided |= fate.collided;
        self.transmissions[sender as usize].collided = transmission.collided;
        let read = if transmission.to == BROADCAST {
            let read = !self.receivers.is_empty();
            self.read_in(sender, &transmission, read);
            read
        } else {
            let read = self.read_in(sender, &transmission, fate.read);
            if read || fate.read {
                self.signals.eifs_pending.put(transmission.to, !read);
                self.extend_nav(now, transmission.to);
            }
            read
        };
        let is_in_part = self.edca.is_some() && transmission.kind == ExchangeFrame::Data && read;
        let lost = if is_in_part { self.lost_part(sender, transmission.alone) } else { Duration::ZERO };
        self.accounting.settle(&transmission, read, lost);
        if self.tap.is_some() {
            self.record_frame(sender, &transmission, fate.sensed, read, call.packets);
        }
        let event = if transmission.kind == ExchangeFrame::CfEnd {
            self.end_of_cf_end(now, sender);
            MacEvent::Nothing
        } else if transmission.kind.is_response() {
            self.end_of_response(sender, &transmission, read, call);
            MacEvent::Nothing
        } else {
            self.end_of_request(sender, &transmission, read, call)
        };
        if transmission.to != BROADCAST && (fate.sensed || self.backoffs[transmission.to as usize].resumes_when_idle) {
            self.resume(now, transmission.to);
        }
        if !self.finished.is_empty() {
            let mut finished = std::mem::take(&mut self.finished);
            finished.sort_unstable();
            for &station in &finished {
                self.conclude(station, call);
            }
            self.finished = finished;
        }
        if let Some(ap) = repeater {
            self.repeat_cf_end(now, ap, sender);
        }
        event
    }

    /// Whether the link of `sender` or that of the receiver has an outage during a frame.
    #[cold]
    pub(super) fn meets_outage(&mut self, sender: u32, transmission: &Transmission) -> bool {
        let is_down = |link: &mut Option<OutageProcess>| {
            link.as_mut().is_some_and(|link| link.loses(transmission.start, transmission.end))
        };
        is_down(&mut self.outages[sender as usize].from) | is_down(&mut self.outages[transmission.to as usize].to)
    }

    /// Draws whether `station` loses a frame for another receiver to a given error probability.
    #[cold]
    pub(super) fn is_overheard_wrong(&mut self, station: u32, sender: u32, transmission: &Transmission) -> bool {
        let from = self.errors[sender as usize].data_from;
        let errors = &mut self.errors[station as usize];
        match transmission.kind {
            ExchangeFrame::Data if self.stations[station as usize].ap.is_some() => errors.stream.chance(from),
            ExchangeFrame::Data => errors.stream.chance(errors.data_to),
            _ => errors.loses_control(),
        }
    }

    /// Ends a frame of the initiator of an exchange. Its receiver answers SIFS later, or another of its frames follows,
    /// or the exchange is over.
    fn end_of_request(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        read: bool,
        call: &mut Call<'_>,
    ) -> MacEvent {
        let now = call.now;
        let mut is_answered = read;
        let mut event = MacEvent::Nothing;
        match transmission.kind {
            ExchangeFrame::CtsToSelf => {
                self.stations[sender as usize].cts_to_self_collided = transmission.collided;
            }
            ExchangeFrame::Rts => is_answered = read && self.answers_rts(now, sender, transmission.to),
            _ if self.edca.is_none() => event = self.end_of_data(sender, transmission, read),
            _ => event = self.end_of_ppdu(sender, transmission, read, call),
        }
        match self.stations[sender as usize].exchange.end_frame(is_answered) {
            Following::Frame(step) if step.sender == ExchangeEnd::Initiator => {
                self.plan(now, sender, step.frame, sender);
            }
            Following::Frame(step) => self.answer(sender, transmission, Some(step.frame), call),
            Following::Unanswered => self.answer(sender, transmission, None, call),
            Following::Complete => self.end_broadcast(now, sender),
        }
        if event == MacEvent::Nothing
            && read
            && transmission.kind.is_protected()
            && let Some(edca) = self.edca.as_deref_mut()
        {
            return edca.edcafs.report_next();
        }
        event
    }

    /// Whether `to` answers an RTS of `sender` that it has read: not while its NAV says that the channel is busy
    /// (10.3.2.9).
    fn answers_rts(&mut self, now: Time, sender: u32, to: u32) -> bool {
        let is_free = now >= self.backoffs[to as usize].nav.end() || self.answers_despite_nav(now, to, sender);
        is_free && (self.signals.overlap.is_none() || self.answers_in_width(sender))
    }

    /// Ends a response: the initiator goes on, or the exchange is over.
    fn end_of_response(&mut self, sender: u32, transmission: &Transmission, read: bool, call: &mut Call<'_>) {
        let now = call.now;
        self.stations[sender as usize].stage = ExchangeStage::Rest;
        self.backoffs[sender as usize].engaged = false;
        let to = transmission.to;
        // A CTS that was read counts with the data.
        if transmission.kind != ExchangeFrame::Cts || !read {
            let counters = self.counters_mut(to);
            let spent = if transmission.collided && !read { &mut counters.collided } else { &mut counters.control };
            *spent += transmission.end - transmission.start;
        }
        if transmission.kind == ExchangeFrame::Cts && self.eifs_is_nav {
            // An ns-2 receiver waits for the data after its CTS, even if no data come.
            let (_, data, _) = self.exchange_of(to);
            self.backoffs[sender as usize].nav.extend(Nav::new(now + self.access.timing.sifs + data, BROADCAST));
        }
        if let Some(edca) = self.edca.as_mut().filter(|_| transmission.kind == ExchangeFrame::BlockAck) {
            edca.count_block_ack(to, read);
        }
        self.resume(now, sender);
        match self.stations[to as usize].exchange.end_frame(read) {
            Following::Frame(step) => {
                self.contention_mut(to).clear();
                self.plan(now, to, step.frame, sender);
            }
            Following::Complete => self.succeed(to, true, call),
            Following::Unanswered => {
                self.stations[to as usize].stage = ExchangeStage::Failed { collided: transmission.collided };
                self.backoffs[to as usize].resumes_when_idle = true;
            }
        }
    }

    /// Contention state of a station.
    fn contention_mut(&mut self, station: u32) -> &mut Contention {
        match &mut self.edca {
            Some(edca) => edca.contention_of(station),
            None => &mut self.stations[station as usize].contention,
        }
    }

    /// Ends a broadcast of `sender`.
    pub(super) fn end_broadcast(&mut self, now: Time, sender: u32) {
        self.stations[sender as usize].stage = ExchangeStage::Sent;
        self.backoffs[sender as usize].resumes_when_idle = true;
        self.resume(now, sender);
    }

    /// Lets the receiver of a frame send `answer`, if any and possible, and the sender wait for it.
    pub(super) fn answer(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        answer: Option<ExchangeFrame>,
        call: &mut Call<'_>,
    ) {
        let now = call.now;
        let to = transmission.to as usize;
        if answer.is_some() && self.backoffs[to].resumes_when_idle {
            self.conclude(transmission.to, call);
        }
        if let Some(kind) = answer.filter(|_| !self.backoffs[to].engaged) {
            self.plan(now, transmission.to, kind, sender);
            self.stations[sender as usize].stage = ExchangeStage::Awaits;
            return;
        }
        self.stations[sender as usize].stage = ExchangeStage::Failed { collided: transmission.collided };
        self.backoffs[sender as usize].resumes_when_idle = true;
        self.resume(now, sender);
    }

    /// Lets `station` send a frame to `peer` after SIFS.
    pub(super) fn plan(&mut self, now: Time, station: u32, kind: ExchangeFrame, peer: u32) {
        self.backoffs[station as usize].engaged = true;
        let state = &mut self.stations[station as usize];
        state.stage = ExchangeStage::Due(kind);
        state.peer = peer;
        self.backoff_timers.plan(station, now + self.access.timing.sifs, TimerAction::Begin);
    }

    /// Resumes `station` after a frame to or from it, if its channel is idle.
    #[inline]
    pub(super) fn resume(&mut self, now: Time, station: u32) {
        if !self.signals.is_busy(station) {
            self.become_idle(now, station);
        }
    }

    /// Completes an exchange of `station`; `holds` tells whether it has had the channel to itself until now.
    fn succeed(&mut self, station: u32, holds: bool, call: &mut Call<'_>) {
        if self.edca.is_some() { self.succeed_in(station, holds, call) } else { self.succeed_dcf(station, call) }
    }

    /// Ends an exchange of `station` that got no response or needed none; the channel is idle.
    fn conclude(&mut self, station: u32, call: &mut Call<'_>) {
        let now = call.now;
        let Transmission { kind, collided, end, .. } = self.transmissions[station as usize];
        let (_, air, _) = self.exchange_of(station);
        let by_rts = kind == ExchangeFrame::Rts;
        let rts = self.rts;
        self.backoffs[station as usize].resumes_when_idle = false;
        self.alert.put(station, true);
        // An aggregate that was read in part has counted as data.
        let ppdu = self.edca.as_ref().map(|edca| edca.ppdu_of(station));
        let is_read = ppdu.is_some_and(|ppdu| !ppdu.is_broadcast() && ppdu.is_read());
        match (by_rts, collided) {
            (true, true) => self.counters_mut(station).collided += rts,
            (true, false) => self.counters_mut(station).control += rts,
            (false, true) if !is_read => {
                self.counters_mut(station).collided += air;
                self.count_cts_to_self(station);
            }
            (false, _) => {}
        }
        let mut timeout = None;
        match self.stations[station as usize].stage {
            ExchangeStage::Sent => {
                self.counters_mut(station).collisions += u64::from(collided);
                call.retry_limit_drops.extend(self.undelivered(station).map(|id| (station, id)));
                self.succeed(station, !collided && end == now, call);
                if self.backoffs[station as usize].engaged {
                    return; // the TXOP continues
                }
            }
            ExchangeStage::Failed { collided } => {
                timeout = Some(end + self.timeout_of(station, by_rts));
                let counters = self.counters_mut(station);
                *(if collided { &mut counters.collisions } else { &mut counters.errors }) += 1;
                if let Some(rates) = self.rates.as_mut().filter(|_| !by_rts) {
                    rates.report(now, station, false);
                }
                self.stations[station as usize].stage = ExchangeStage::Rest;
                if self.edca.is_some() {
                    self.fail_in(station, by_rts, call)
                } else {
                    self.fail_dcf(station, by_rts, call)
                }
            }
            stage => unreachable!("an exchange that is over has failed or was a broadcast, not {stage:?}"),
        }
        if self.edca.is_some() {
            self.resume_in(now, station, timeout);
        } else {
            self.resume_dcf(now, station, timeout);
        }
    }

    /// Counts the air time of the CTS-to-self before the data of `station`, if there was one.
    pub(super) fn count_cts_to_self(&mut self, station: u32) {
        if self.stations[station as usize].exchange.begins_with(ExchangeFrame::CtsToSelf) {
            let (air, collided) = (self.cts, self.stations[station as usize].cts_to_self_collided);
            let counters = self.counters_mut(station);
            *(if collided { &mut counters.collided } else { &mut counters.control }) += air;
        }
    }

    /// The packet that `station` has sent, if no station has received it.
    fn undelivered(&self, station: u32) -> Option<PacketId> {
        if let Some(edca) = &self.edca {
            let ppdu = edca.ppdu_of(station);
            return (!ppdu.is_read()).then_some(ppdu.sole().first);
        }
        self.stations[station as usize].frame.filter(|frame| !frame.received).map(|frame| frame.id)
    }
}
