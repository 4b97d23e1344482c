//! Start and end of a frame at all stations that it reaches: reception, carrier sense and NAV.

use wifair_units::Time;

use super::air_accounting::lose_readers;
use super::bitset::{bits_of, each, place};
use super::cca::ReceiverFate;
use super::ns2::Ns2Arrival;
use super::radio_links::Hearing;
use super::rx_power::RxWord;
use super::signal::ReceptionErrors;
use super::{SpatialChannel, Transmission};
use crate::exchange::ExchangeFrame;
use crate::{BROADCAST, Eifs};
use wifair_phy::{Band, CaptureEffect, Interference, ModulationClass};

/// The class of all OFDM frames before HT here, in any band.
const OFDM: ModulationClass = ModulationClass::ErpOfdm;

/// A frame that arrives at the 64 stations of a word.
#[derive(Clone, Copy, Debug)]
struct ArrivingFrame<'a> {
    sender: u32,
    /// Index of its word, and its contents.
    rx_row: (usize, &'a RxWord),
    /// Stations that are receiving other frames.
    receiving: u64,
    /// Stations at which the frame stands out from noise and interference.
    clear: u64,
    /// Stations at which the frame may corrupt the frame being received.
    exceeded: u64,
}

impl SpatialChannel {
    /// Draws how a frame of `sender` arrives at each station.
    #[cold]
    fn draw_arrivals(&mut self, now: Time, sender: u32) {
        if self.signals.overlap.is_some() {
            return self.spread(now, sender);
        }
        let signals = &mut self.signals;
        let mut rx_row = signals.rx_powers.of(sender);
        for place in self.links.range(sender) {
            let link = self.links.at(place);
            while signals.rx_powers.at(rx_row.start).word != link.to / 64 {
                rx_row.start += 1;
            }
            let index = link.to as usize;
            let mut power = self.links.power(place);
            let (mut senses, mut reads) = (link.senses, link.reads);
            if signals.varies {
                power *= signals.fading.draw(&mut signals.chances[index]);
                let levels = &self.links.levels()[index];
                reads = power >= levels.sensitivity;
                senses = reads || power >= levels.carrier_sense;
            }
            let miss = self.links.misses().get(place);
            if miss.is_some_and(|miss| signals.chances[index].chance(*miss)) {
                (senses, reads) = (false, false);
            }
            signals.rx_powers.set(rx_row.start, link.to, power, senses, reads);
        }
    }

    /// Starts a frame of `sender` at all stations that its signal reaches.
    pub(super) fn begin_reception(&mut self, now: Time, sender: u32, end: Time) {
        if self.signals.varies || !self.links.misses().is_empty() {
            self.draw_arrivals(now, sender);
        }
        let class = if self.signals.readers.is_empty() { None } else { Some(self.class_of(sender)) };
        let mut readers = 0;
        for place in self.signals.rx_powers.of(sender) {
            let mut rx = self.signals.rx_powers.at(place);
            let too_new = class.map_or(0, |class| self.refuse_newer(&mut rx, class));
            readers += self.begin_reception_in_word(now, sender, end, (place, &rx), too_new);
        }
        self.transmissions[sender as usize].readers = readers;
    }

    /// The modulation class of what `sender` is sending.
    fn class_of(&self, sender: u32) -> ModulationClass {
        let Transmission { kind, to, rate, .. } = self.transmissions[sender as usize];
        let mode = self.edca.as_ref().and_then(|edca| match kind {
            ExchangeFrame::Data if to == BROADCAST => None,
            ExchangeFrame::Data => edca.edcafs.mode_towards(sender as usize, to).map(|mode| mode.tx),
            _ => edca.extended_response(kind, to).map(|extended| extended.mode),
        });
        match mode {
            Some(mode) => mode.class(Band::Ghz5),
            None if self.access.timing.is_dsss(rate) => ModulationClass::Dsss,
            None => OFDM,
        }
    }

    /// Removes the stations that cannot read this class from the readers of a frame. Those that read OFDM do read the
    /// L-SIG field at the start of a newer PPDU, and receive the PPDU without reading its data; they are returned.
    fn refuse_newer(&self, rx: &mut RxWord, class: ModulationClass) -> u64 {
        let readers = |class: ModulationClass| self.signals.readers[class as usize].of(rx.word as usize);
        let (of_data, of_preamble) = (readers(class), readers(class.min(OFDM)));
        rx.reads &= of_preamble;
        rx.reads & !of_data
    }

    /// Starts a frame of `sender` at the 64 stations of one word, given with its index; its data are `too_new` for some
    /// that receive it. Returns the number of stations that will read it, unless another frame follows.
    #[inline]
    fn begin_reception_in_word(
        &mut self,
        now: Time,
        sender: u32,
        end: Time,
        (at, rx): (usize, &RxWord),
        too_new: u64,
    ) -> u32 {
        let after_collision = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        let word = rx.word as usize;
        let RxWord { senses, reads, reached, .. } = *rx;
        if self.signals.bits.is_some() {
            self.accumulate_bit_errors(word, reached, now);
        }
        let signals = &mut self.signals;
        let capture = signals.capture;
        let was_busy = signals.busy(word);
        let (clear, exceeded) = signals.add(rx, &self.links);
        let listens = !signals.sends.of(word);
        let become_busy = listens & signals.busy(word) & !was_busy;
        if self.like_ns2 {
            return self.arrive_in_word(now, sender, end, rx, (was_busy, become_busy));
        }
        // EIFS follows a frame in error only if that made the channel busy last (10.3.4.2).
        *signals.eifs_pending.of_mut(word) &= !become_busy;
        let receiving = signals.receiving.of(word);
        let free = listens & !receiving;
        let clear = if signals.varies {
            signals.refuse_too_wide(rx, free & senses);
            signals.find_clear(sender, rx, listens & senses)
        } else {
            clear
        };
        let follow = free
            & match capture {
                CaptureEffect::None if after_collision => senses & !was_busy,
                CaptureEffect::None => senses & reads & !was_busy,
                CaptureEffect::First => senses & !was_busy,
                CaptureEffect::Header | CaptureEffect::Late => reads & clear,
            };
        if after_collision && matches!(capture, CaptureEffect::Header | CaptureEffect::Late) {
            *signals.eifs_pending.of_mut(word) |= senses & free & !follow;
        }
        signals.followers[at] = 0;
        let arrival = ArrivingFrame { sender, rx_row: (at, rx), receiving, clear, exceeded };
        let (turned, turned_and_reads) = if receiving & reached == 0 { (0, 0) } else { self.interfere(now, &arrival) };
        let signals = &mut self.signals;
        let read = (follow & clear & reads | turned_and_reads) & !too_new;
        let follow = follow | turned;
        signals.follow(now, sender, (at, rx), follow);
        let corrupted = signals.corrupted.of_mut(word);
        *corrupted = *corrupted & !follow | follow & !read;
        self.stop_backoffs(now, end, rx, (was_busy, become_busy));
        read.count_ones()
    }

    /// Starts a frame at the ns-2 receivers of a word. `busy` holds the stations that already sensed a frame, and those
    /// that start to.
    fn arrive_in_word(&mut self, now: Time, sender: u32, end: Time, rx: &RxWord, busy: (u64, u64)) -> u32 {
        let mut readers = 0;
        for station in each(rx.word as usize, rx.senses) {
            let reads = rx.reads & place(station).1 != 0;
            let power = self.signals.rx_powers.power(rx, station);
            readers += u32::from(self.arrive(&Ns2Arrival { sender, station, now, end, reads, power }));
        }
        self.stop_backoffs(now, end, rx, busy);
        readers
    }

    /// Freezes the backoff of stations that become busy, and postpones the timers of those that stay busy.
    #[inline]
    fn stop_backoffs(&mut self, now: Time, end: Time, rx: &RxWord, (was_busy, become_busy): (u64, u64)) {
        let RxWord { reached, senses, .. } = *rx;
        let word = rx.word as usize;
        let listens = !self.signals.sends.of(word);
        let mut asleep = 0;
        for station in each(word, become_busy & self.alert.of(word)) {
            asleep |= if self.become_busy(now, station, end) { place(station).1 } else { 0 };
        }
        if self.fast_paths {
            *self.alert.of_mut(word) &= !asleep;
        }
        let busier = listens & was_busy & if self.signals.by_total { reached } else { senses };
        for station in each(word, busier & self.alert.of(word)) {
            let backoff = &self.backoffs[station as usize];
            if backoff.contends && !backoff.engaged {
                self.backoff_timers.postpone(station, end);
            }
        }
    }

    /// Updates bit errors until `now` at the stations in `reached`.
    fn accumulate_bit_errors(&mut self, word: usize, reached: u64, now: Time) {
        let Self { signals, edca, .. } = self;
        let Some(bits) = signals.bits else { return };
        for station in each(word, reached & signals.receiving.of(word) & !signals.corrupted.of(word)) {
            let Some(chunk) = signals.chunk(station, now) else { continue };
            let sender = signals.sender_at(station);
            let transmission = &self.transmissions[sender as usize];
            let of_mpdus = edca
                .as_deref_mut()
                .and_then(|edca| edca.accumulate_errors((station, sender), now, &chunk, transmission, bits));
            match of_mpdus {
                Some(preamble) => signals.reception_errors[station as usize].log_success += preamble,
                None => signals.accumulate_errors(station, now, &chunk, transmission, &self.access.timing),
            }
        }
    }

    /// A frame arrives at stations of a word that are receiving others. Returns the stations that turn to it, and those
    /// among them that will read it unless another frame follows.
    #[inline]
    fn interfere(&mut self, now: Time, arrives: &ArrivingFrame) -> (u64, u64) {
        let &ArrivingFrame { sender, rx_row: (_, rx), receiving, exceeded, .. } = arrives;
        let word = rx.word as usize;
        let signals = &mut self.signals;
        let capture = signals.capture;
        let fresh = receiving & rx.reached & signals.fresh.of(word, now);
        let collided = if capture == CaptureEffect::None { rx.senses } else { exceeded & !fresh };
        let lost = receiving & collided & !signals.corrupted.of(word);
        *signals.corrupted.of_mut(word) |= lost;
        if lost != 0 {
            self.lose_receptions(word, lost, 0);
        }
        let at_once = if fresh == 0 { (0, 0) } else { self.interfere_at_once(fresh, arrives) };
        if capture == CaptureEffect::Late {
            let late = self.interfere_late(sender, receiving & !fresh & rx.reads, rx);
            return (at_once.0 | late, at_once.1 | late);
        }
        at_once
    }

    /// A frame arrives at stations whose current frame began at the same instant; returns the same as `interfere`.
    fn interfere_at_once(&mut self, fresh: u64, arrives: &ArrivingFrame) -> (u64, u64) {
        let &ArrivingFrame { sender, rx_row: (_, rx), clear, exceeded, .. } = arrives;
        let after_collision = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        let word = rx.word as usize;
        let signals = &mut self.signals;
        let headers_collide = !after_collision && signals.capture != CaptureEffect::First;
        if signals.capture == CaptureEffect::None {
            if headers_collide {
                self.lose_receptions(word, 0, fresh & rx.senses);
            }
            return (0, 0);
        }
        // The stronger of the two frames counts as the first.
        let is_stronger =
            |station: &u32| signals.rx_powers.power(rx, *station) > signals.received[*station as usize].power;
        let first = bits_of(each(word, fresh & rx.reads).filter(is_stronger));
        let exceeds_threshold = match signals.threshold.by {
            Interference::Sum if signals.bits.is_none() => first & clear | !first & !exceeded,
            _ => bits_of(each(word, fresh).filter(|station| {
                let (power, received) =
                    (signals.rx_powers.power(rx, *station), signals.received[*station as usize].power);
                if first & place(*station).1 != 0 {
                    signals.exceeds_threshold(sender, power, *station, received)
                } else {
                    signals.exceeds_threshold(signals.sender_at(*station), received, *station, power)
                }
            })),
        };
        let corrupted = signals.corrupted.of_mut(word);
        let lost = fresh & !*corrupted & (first | !exceeds_threshold);
        *corrupted |= lost;
        // Neither of two PHY headers is read.
        let neither = if headers_collide { fresh & !exceeds_threshold } else { 0 };
        self.lose_receptions(word, lost, first | neither);
        (first & !neither, first & exceeds_threshold)
    }

    /// A frame arrives at stations that are receiving earlier frames. Returns the stations that turn to it and will
    /// read it unless another frame follows.
    #[cold]
    fn interfere_late(&mut self, sender: u32, bits: u64, rx: &RxWord) -> u64 {
        let word = rx.word as usize;
        let signals = &mut self.signals;
        let corrupted = signals.corrupted.of(word);
        // With bit errors, only a frame that takes over makes the current one unreadable.
        let asked = bits & if signals.bits.is_some() { !0 } else { corrupted };
        let turned = bits_of(each(word, asked).filter(|station| {
            let (power, received) = (signals.rx_powers.power(rx, *station), signals.received[*station as usize].power);
            signals.exceeds_threshold(sender, power, *station, received)
        }));
        self.lose_receptions(word, turned & !corrupted, turned);
        turned
    }

    /// Records that some stations of a word `lost` their current frames, and that some `leave` theirs.
    fn lose_receptions(&mut self, word: usize, lost: u64, leave: u64) {
        let signals = &mut self.signals;
        *signals.receiving.of_mut(word) &= !leave;
        let mut rest = lost | leave;
        while let Some(station) = each(word, rest).next() {
            let sender = signals.sender_at(station);
            let followers = &mut signals.followers[signals.rx_powers.place(sender, word)];
            let these = *followers & rest;
            *followers &= !leave;
            rest &= !these;
            lose_readers(&mut self.transmissions[sender as usize], word, these & lost, &mut self.accounting);
        }
    }

    /// Ends the frame of `sender` at all stations that its signal reaches. Its receiver, if any, does not resume yet.
    pub(super) fn end_reception(&mut self, now: Time, sender: u32, transmission: &Transmission) -> ReceiverFate {
        let check = self.nav_check(now, transmission);
        let mut fate = ReceiverFate::default();
        if transmission.to == BROADCAST {
            self.receivers.clear();
        }
        for place in self.signals.rx_powers.of(sender) {
            let rx = self.signals.rx_powers.at(place);
            self.end_reception_in_word(now, sender, transmission, check, (place, &rx), &mut fate);
        }
        fate
    }

    /// Ends the frame of `sender` at the 64 stations of one word; `check` is when they may reset the NAV.
    #[inline]
    fn end_reception_in_word(
        &mut self,
        now: Time,
        sender: u32,
        transmission: &Transmission,
        check: Time,
        (at, rx): (usize, &RxWord),
        fate: &mut ReceiverFate,
    ) {
        let word = rx.word as usize;
        let to = if transmission.to / 64 == rx.word { place(transmission.to).1 & rx.reached } else { 0 };
        let mut follow = self.signals.followers[at];
        if self.like_ns2 {
            let receiving = each(word, self.signals.receiving.of(word) & (rx.senses | rx.reads));
            follow = bits_of(receiving.filter(|station| self.signals.sender_at(*station) == sender));
        }
        if self.signals.bits.is_some() {
            self.accumulate_bit_errors(word, rx.reached, now);
        }
        let by_bits = if self.signals.bits.is_some() {
            self.lose_bits(sender, transmission, word, (follow, to), fate)
        } else {
            0
        };
        if self.tap.is_some() {
            let readers =
                self.signals.readers.get(self.class_of(sender) as usize).map_or(!0, |readers| readers.of(word));
            for station in each(word, rx.reached) {
                let (_, bit) = place(station);
                let is_near = match self.signals.overlap {
                    None => self.links.hearing(sender, station) == Hearing::Reads,
                    Some(_) => rx.reads & bit != 0,
                };
                let reads = is_near && readers & bit != 0;
                let senses = rx.senses & bit != 0;
                let frame = (sender, transmission);
                self.record_hearer(station, frame, follow & bit != 0, (senses, reads), by_bits & bit != 0);
            }
        }
        let sends_on = if self.like_ns2 { self.still_sending(now, word, follow) } else { 0 };
        let signals = &mut self.signals;
        let was_busy = signals.busy(word);
        signals.remove(now, sender, rx, &self.links);
        let corrupted = signals.corrupted.of(word);
        *signals.receiving.of_mut(word) &= !follow;
        follow &= !sends_on;
        let eifs_pending = signals.eifs_pending.of_mut(word);
        if signals.capture == CaptureEffect::First && self.access.eifs == Eifs::AfterCollision {
            // ns-2: any other frame that overlapped with one being received or sent is followed by EIFS.
            *eifs_pending |= rx.senses;
        }
        *eifs_pending = *eifs_pending & !follow | follow & corrupted;
        fate.read |= follow & !corrupted & to != 0;
        fate.sensed |= was_busy & to != 0;
        let become_idle = was_busy & !signals.busy(word) & !to;
        let read = follow & !corrupted & !to;
        let for_all = transmission.to == BROADCAST || self.errors_for_all;
        let announced = if for_all { self.read_for_all(sender, transmission, word, read) } else { read };
        let he = announced & self.two_navs.of(word);
        for station in each(word, announced & !he) {
            transmission.change_nav(now, sender, check, &mut self.backoffs[station as usize].nav);
        }
        for station in each(word, he) {
            self.read_by_he(now, station, sender, transmission, check);
        }
        if check < Time::NEVER {
            *self.alert.of_mut(word) |= read;
        }
        if self.eifs_is_nav {
            for station in each(word, rx.reached & self.signals.eifs_pending.of(word)) {
                self.extend_nav(now, station);
            }
        }
        let alert = self.alert.of(word);
        for station in each(word, become_idle & !alert) {
            self.backoffs[station as usize].is_idle_from(now);
        }
        for station in each(word, become_idle & alert) {
            self.become_idle(now, station);
        }
    }

    /// Which stations among those that could read a frame do read it, if errors may occur at each of them or the frame
    /// is a broadcast.
    fn read_for_all(&mut self, sender: u32, transmission: &Transmission, word: usize, read: u64) -> u64 {
        let mut announced = 0;
        for station in each(word, read) {
            let is_wrong = match transmission.to {
                BROADCAST => !self.receive_for_all(sender, station),
                _ => self.is_overheard_wrong(station, sender, transmission),
            };
            if is_wrong {
                self.signals.eifs_pending.put(station, true);
            } else {
                announced |= place(station).1;
            }
        }
        announced
    }

    /// Marks the frames received by the stations `follow` as lost where bits are wrong, unless they are already lost.
    fn lose_bits(
        &mut self,
        sender: u32,
        transmission: &Transmission,
        word: usize,
        (follow, to): (u64, u64),
        fate: &mut ReceiverFate,
    ) -> u64 {
        let Self { signals, edca, .. } = self;
        let mut by_bits = 0;
        for station in each(word, follow & !signals.corrupted.of(word)) {
            let (_, bit) = place(station);
            let ReceptionErrors { log_success, disturbed, .. } = signals.reception_errors[station as usize];
            let draws = &mut signals.chances[station as usize];
            let of_mpdus = edca
                .as_deref_mut()
                .and_then(|edca| edca.read_mpdus((station, sender, bit == to), transmission, log_success, draws));
            if of_mpdus.unwrap_or_else(|| draws.chance(libm::exp(log_success))) {
                continue;
            }
            signals.corrupted.put(station, true);
            fate.collided |= disturbed && bit == to;
            by_bits |= if disturbed { 0 } else { bit };
        }
        by_bits
    }
}
