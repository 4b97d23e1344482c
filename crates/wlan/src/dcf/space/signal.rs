//! What a frame that begins or ends does to those whom its signal reaches: powers, capture, fading, and a carrier sense that
//! fails.
//!
//! A receiver follows one frame at a time. It can be read to its end if its power stands above noise and interference by
//! the capture threshold at every moment; what else is on the air only changes when a frame begins, so that is when it
//! is looked at. Or bits go wrong, at a rate that changes with the interference: then each stretch of constant interference
//! has its part in the probability that the whole frame is right, header and data each by its own modulation. Of several
//! frames that begin at the same instant the strongest counts as the first.

use wifair_engine::{Stream, stream};
use wifair_units::Time;

use super::super::{BROADCAST, Eifs};
use super::links::{Hearing, Links};
use super::ns2::Arrival;
use super::reach::Outcome;
use super::rows::{BLOCK, Powers, Reach, Rows};
use super::sets::{Stations, Tally, each, place};
use super::traffic::disturb;
use super::{Sending, Space};
use crate::phy::propagation::Fading;
use crate::phy::{
    BitErrors, Capture, CarrierSense, Code, Constellation, Interference, Mode, Reception, Spoils, Timing,
};

/// Powers and chances of a medium.
#[derive(Clone, Debug)]
pub struct SignalSettings {
    /// How frames are told apart.
    pub reception: Reception,
    /// How the power of each frame varies.
    pub fading: Fading,
    /// For each station its draws of fading, of frames that it does not notice and of those that bits go wrong in.
    pub chances: Vec<Stream>,
    /// For each station whether it is of 802.11b and cannot read OFDM frames; empty: none is.
    pub legacy: Vec<bool>,
}

/// A station that is receiving.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    noise: f64,
    /// Power of the frame that is being received, in mW.
    received: f64,
}

/// How likely it is that the frame is right that a station receives.
#[derive(Clone, Copy, Debug, Default)]
struct Proof {
    /// Natural logarithm of the probability that it is right so far.
    log_right: f64,
    /// Until when that is reckoned.
    reckoned: Time,
    /// Another frame was on the air with it.
    disturbed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Signals {
    /// What arrives where; if it varies, of the frames under way.
    pub(super) rows: Rows,
    bits: Option<&'static BitErrors>,
    /// Cannot read OFDM frames.
    pub(super) legacy: Stations,
    pub(super) capture: Capture,
    /// The capture threshold as a ratio.
    ratio: f64,
    /// The largest part of a frame's power that certainly does not spoil it.
    harmless: f64,
    interference: Interference,
    by_total: bool,
    /// Powers make a difference.
    weighs: bool,
    fading: Fading,
    fades: bool,
    /// A frame that meets no other does the same each time.
    pub(super) constant: bool,
    chances: Vec<Stream>,
    levels: Vec<Level>,
    proofs: Vec<Proof>,
    /// Power of all frames together at each station, in mW.
    all: Vec<Powers>,
    /// Up to here the power of all frames together, or of a single other one, certainly does not spoil what is being
    /// received.
    limits: Vec<Powers>,
    /// Frames that make up `all`.
    frames: Tally,
    /// Frames that each station senses.
    sensed: Tally,
    /// All together make the medium busy, which counts as one more frame sensed.
    over: Stations,
    /// Have a frame on the air.
    pub(super) sends: Stations,
    /// Receive a frame: their ear knows whose.
    pub(super) receiving: Stations,
    /// Will not read what they are receiving.
    pub(super) spoilt: Stations,
    /// Did not read what they received last: EIFS is due.
    pub(super) garbled: Stations,
    /// When a frame began last.
    pub(super) last_begin: Time,
}

/// A part by which sums of powers are safely wrong by less: rounding errors are smaller by many orders.
const MARGIN: f64 = 1e-9;

impl Signals {
    pub fn new(settings: SignalSettings, links: &Links) -> Self {
        let SignalSettings { reception, fading, chances, legacy } = settings;
        assert!(legacy.is_empty() || legacy.len() == links.stations(), "it is known what every station reads");
        assert_eq!(chances.len(), links.stations(), "every station has its chances");
        let fades = !matches!(fading, Fading::None);
        let by_total = reception.carrier_sense == CarrierSense::Total;
        let weighs = reception.capture != Capture::None || by_total || reception.spoils == Spoils::Bits;
        assert!(
            links.has_powers() || !(weighs || fades),
            "capture, fading, bit errors and sensing by power need powers"
        );
        let stations = links.stations();
        let ratio = libm::pow(10.0, reception.capture_threshold.0 / 10.0);
        let none = Stations::none(stations);
        let mut levels = vec![Level::default(); stations];
        for (level, levels) in levels.iter_mut().zip(links.levels()) {
            level.noise = levels.noise;
        }
        let mut signals = Self {
            rows: Rows::new(links),
            bits: (reception.spoils == Spoils::Bits).then(BitErrors::tables),
            legacy: none.clone(),
            capture: reception.capture,
            ratio,
            harmless: (1.0 - MARGIN) / ratio,
            interference: reception.interference,
            by_total,
            weighs,
            fading,
            fades,
            constant: !fades && links.misses().is_empty() && reception.spoils != Spoils::Bits && !by_total,
            chances,
            levels,
            proofs: vec![Proof::default(); if reception.spoils == Spoils::Bits { stations } else { 0 }],
            all: vec![[0.0; BLOCK]; stations.div_ceil(BLOCK)],
            limits: vec![[f64::INFINITY; BLOCK]; stations.div_ceil(BLOCK)],
            frames: Tally::new(stations),
            sensed: Tally::new(stations),
            over: none.clone(),
            sends: none.clone(),
            receiving: none.clone(),
            spoilt: none.clone(),
            garbled: none,
            last_begin: Time::NEVER,
        };
        for (station, is_legacy) in (0..).zip(legacy) {
            signals.legacy.put(station, is_legacy);
        }
        if signals.capture != Capture::None && signals.interference == Interference::Sum {
            let Self { rows, levels, .. } = &mut signals;
            rows.find_clear(|station, power| power >= ratio * levels[station as usize].noise);
        }
        signals
    }

    /// Where every frame that meets another which its receiver senses is lost.
    pub fn without_powers(links: &Links) -> Self {
        let reception = Reception { capture: Capture::None, ..Reception::default() };
        let chances = vec![stream(0, "signal", ""); links.stations()];
        Self::new(SignalSettings { reception, fading: Fading::None, chances, legacy: vec![] }, links)
    }

    /// Whether a station senses a frame.
    #[inline]
    pub fn is_busy(&self, station: u32) -> bool {
        let (word, bit) = place(station);
        self.busy(word) & bit != 0
    }

    /// Whether a station senses more than one frame.
    #[inline]
    pub fn is_crowded(&self, station: u32) -> bool {
        let (word, bit) = place(station);
        (self.sensed.several(word) | self.sensed.any(word) & self.over.of(word)) & bit != 0
    }

    /// Those of a word who sense a frame.
    #[inline]
    fn busy(&self, word: usize) -> u64 {
        self.sensed.any(word) | self.over.of(word)
    }

    /// Power of all frames together at a station.
    #[inline]
    fn all_at(&self, station: u32) -> f64 {
        self.all[station as usize / BLOCK][station as usize % BLOCK]
    }

    /// Whether a frame of this power stands out; `other`: the power of a single other frame.
    #[inline]
    fn stands_out(&self, power: f64, station: u32, other: f64) -> bool {
        match self.interference {
            Interference::Sum => {
                let noise = self.levels[station as usize].noise;
                power >= self.ratio * (noise + (self.all_at(station) - power).max(0.0))
            }
            Interference::Strongest => power >= self.ratio * other,
        }
    }

    /// Whether the frame that is being received is lost to one of this power that begins; `together`: at the same instant.
    fn fails(&self, together: bool, reads: bool, power: f64, station: u32) -> bool {
        let received = self.levels[station as usize].received;
        if self.bits.is_some() && !together {
            // Bits decide, unless the receiver turns to the new frame.
            return self.capture == Capture::Late && reads && self.stands_out(power, station, received);
        }
        !self.stands_out(received, station, power)
    }

    /// Whether a receiver like that of ns-2 can do with them: it knows levels, and no bits.
    pub fn are_those_of_ns2(&self) -> bool {
        let captures = self.capture == Capture::First && self.interference == Interference::Strongest;
        self.bits.is_none() && (captures || self.capture == Capture::None)
    }

    /// Whether a frame can be received beside another.
    pub fn captures(&self) -> bool {
        self.capture != Capture::None
    }

    /// Whether the frame that `station` receives stands out above one of this power.
    pub fn drowns(&self, station: u32, power: f64) -> bool {
        self.stands_out(self.levels[station as usize].received, station, power)
    }

    /// Whether a frame of this power stands out above the one that `station` receives.
    pub fn is_drowned(&self, station: u32, power: f64) -> bool {
        self.stands_out(power, station, self.levels[station as usize].received)
    }

    /// `station` begins to receive a frame of this power.
    #[inline]
    pub fn follow(&mut self, station: u32, now: Time, power: f64) {
        let level = &mut self.levels[station as usize];
        level.received = power;
        let limit = &mut self.limits[station as usize / BLOCK][station as usize % BLOCK];
        if let Some(proof) = self.proofs.get_mut(station as usize) {
            *proof = Proof { log_right: 0.0, reckoned: now, disturbed: false };
        } else {
            let others = power * self.harmless;
            *limit = match self.interference {
                Interference::Sum => others - level.noise * (1.0 + MARGIN) + power * (1.0 - MARGIN),
                Interference::Strongest => others,
            };
        }
    }

    /// `station` receives nothing, or nothing that could still be spoilt.
    #[inline]
    fn forget_limit(&mut self, station: u32) {
        self.limits[station as usize / BLOCK][station as usize % BLOCK] = f64::INFINITY;
    }

    /// Reckons what bits went wrong in the frame that `station` is receiving, before what disturbs it changes.
    fn reckon(&mut self, station: u32, now: Time, sending: &Sending, timing: &Timing) {
        let Some(bits) = self.bits else { return };
        let (word, bit) = place(station);
        let level = &self.levels[station as usize];
        let all = self.all_at(station);
        let proof = &mut self.proofs[station as usize];
        if proof.reckoned == now {
            return;
        }
        let from = std::mem::replace(&mut proof.reckoned, now);
        proof.disturbed |= self.frames.several(word) & bit != 0;
        let sinr = level.received / (level.noise + (all - level.received).max(0.0));
        let dsss = timing.is_dsss(sending.rate);
        let (header_mode, header_bits) =
            if dsss { (Mode::Dsss1, 48.0) } else { (Mode::Ofdm(Constellation::Bpsk, Code::Half), 24.0) };
        // The bits of the header are spread over it and the preamble.
        let preamble = timing.preamble_of(sending.rate);
        let data_from = sending.start + preamble;
        let data_until = sending.end - timing.extension_of(sending.rate);
        let header = now.min(data_from).saturating_since(from).as_secs() / preamble.as_secs() * header_bits;
        let data = now.min(data_until).saturating_since(from.max(data_from)).as_secs() * sending.rate.as_bps() as f64;
        proof.log_right += bits.log_survival(header_mode, sinr, header);
        proof.log_right += bits.log_survival(Mode::of(sending.rate, !dsss), sinr, data);
    }

    /// The power of a frame arrives. Those whose reception it may spoil, and some whose it does not.
    #[inline]
    fn add(&mut self, reach: &Reach, links: &Links) -> u64 {
        let word = reach.word as usize;
        self.sensed.add(word, reach.senses);
        if !self.weighs {
            return 0;
        }
        self.frames.add(word, reach.reached);
        let mut exceeded = 0;
        let by_each = self.interference == Interference::Strongest;
        for (block, powers, bits) in reach.blocks() {
            let (all, powers) = (&mut self.all[block], self.rows.powers(powers));
            for (all, power) in all.iter_mut().zip(powers) {
                *all += power;
            }
            let others = if by_each { powers } else { all };
            let exceeds =
                others.iter().zip(&self.limits[block]).fold(false, |any, (other, limit)| any | (other > limit));
            exceeded |= if exceeds { bits } else { 0 };
        }
        if self.by_total {
            self.weigh(reach, links);
        }
        exceeded
    }

    /// The power of a frame is gone.
    #[inline]
    fn remove(&mut self, reach: &Reach, links: &Links) {
        let word = reach.word as usize;
        self.sensed.remove(word, reach.senses);
        if !self.weighs {
            return;
        }
        self.frames.remove(word, reach.reached);
        for (block, powers, _) in reach.blocks() {
            for (all, power) in self.all[block].iter_mut().zip(self.rows.powers(powers)) {
                *all -= power;
            }
        }
        // Rounding must not outlast the frames.
        for station in each(word, reach.reached & !self.frames.any(word)) {
            self.all[station as usize / BLOCK][station as usize % BLOCK] = 0.0;
        }
        if self.by_total {
            self.weigh(reach, links);
        }
    }

    /// Counts the power of all frames as one more frame sensed, or not any more.
    fn weigh(&mut self, reach: &Reach, links: &Links) {
        let word = reach.word as usize;
        let any = self.frames.any(word);
        for station in each(word, reach.reached) {
            let (_, bit) = place(station);
            let over = any & bit != 0 && self.all_at(station) >= links.levels()[station as usize].carrier_sense;
            self.over.put(station, over);
        }
    }
}

impl Space {
    /// Draws what arrives where of a frame of `sender`.
    #[cold]
    fn draw_arrivals(&mut self, sender: u32) {
        let signals = &mut self.signals;
        let mut row = signals.rows.of(sender);
        for place in self.links.range(sender) {
            let link = self.links.at(place);
            while signals.rows.at(row.start).word != link.to / 64 {
                row.start += 1;
            }
            let index = link.to as usize;
            let mut power = self.links.power(place);
            let (mut senses, mut reads) = (link.senses, link.reads);
            if signals.fades {
                power *= signals.fading.draw(&mut signals.chances[index]);
                let levels = &self.links.levels()[index];
                reads = power >= levels.sensitivity;
                senses = reads || power >= levels.carrier_sense;
            }
            let miss = self.links.misses().get(place);
            if miss.is_some_and(|miss| signals.chances[index].chance(*miss)) {
                (senses, reads) = (false, false);
            }
            signals.rows.set(row.start, link.to, power, senses, reads);
        }
    }

    /// A frame of `sender` reaches those whom its signal reaches.
    pub(super) fn reach(&mut self, now: Time, sender: u32, end: Time) {
        if self.signals.fades || !self.links.misses().is_empty() {
            self.draw_arrivals(sender);
        }
        let together = std::mem::replace(&mut self.signals.last_begin, now) == now;
        let dsss = self.access.timing.is_dsss(self.sendings[sender as usize].rate);
        let mut readers = 0;
        for place in self.signals.rows.of(sender) {
            let mut reach = self.signals.rows.at(place);
            if !dsss {
                reach.reads &= !self.signals.legacy.of(reach.word as usize);
            }
            readers += self.reach_word(now, sender, end, &reach, together);
        }
        self.sendings[sender as usize].readers = readers;
    }

    /// The same for 64 stations; `together`: it was not the first at this instant. How many read it, if nothing more happens.
    #[inline]
    fn reach_word(&mut self, now: Time, sender: u32, end: Time, reach: &Reach, together: bool) -> u32 {
        let after_collision = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        let word = reach.word as usize;
        let Reach { senses, reads, reached, .. } = *reach;
        self.reckon_receptions(word, reached, now);
        let signals = &mut self.signals;
        let capture = signals.capture;
        let was_busy = signals.busy(word);
        let exceeded = signals.add(reach, &self.links);
        let listens = !signals.sends.of(word);
        let fall_busy = listens & signals.busy(word) & !was_busy;
        if self.like_ns2 {
            return self.arrive_in_word(now, sender, end, reach, (was_busy, fall_busy));
        }
        let free = listens & !signals.receiving.of(word);
        let may_follow = free
            & match capture {
                Capture::None if after_collision => senses & !was_busy,
                Capture::None => senses & reads & !was_busy,
                Capture::First => senses & !was_busy,
                Capture::Header | Capture::Late => reads,
            };
        let may_lose = signals.receiving.of(word)
            & match capture {
                Capture::None => senses,
                _ if together => reached,
                Capture::First | Capture::Header => exceeded & !signals.spoilt.of(word),
                Capture::Late => exceeded & !signals.spoilt.of(word) | reads,
            };
        let (mut follow, mut clear) = (0, 0);
        for station in each(word, may_follow) {
            let (_, bit) = place(station);
            let power = signals.rows.power(reach, station);
            if capture == Capture::None || signals.stands_out(power, station, signals.all_at(station) - power) {
                clear |= bit;
            } else if capture != Capture::First {
                continue;
            }
            follow |= bit;
            let ear = &mut self.ears[station as usize];
            (ear.receives, ear.since) = (sender, now);
            signals.follow(station, now, power);
        }
        *signals.receiving.of_mut(word) |= follow;
        let spoilt = signals.spoilt.of_mut(word);
        *spoilt = *spoilt & !follow | follow & !(clear & reads);
        if after_collision && matches!(capture, Capture::Header | Capture::Late) {
            *signals.garbled.of_mut(word) |= senses & free & !follow;
        }
        let mut readers = (follow & clear & reads).count_ones();
        for station in each(word, may_lose) {
            readers += u32::from(self.meet(now, sender, station, reach));
        }
        self.stop_backoffs(now, end, reach, (was_busy, fall_busy));
        readers
    }

    /// The same where receivers are those of ns-2; `was_busy`: who sensed a frame before, `fall_busy`: who did not, and does.
    fn arrive_in_word(&mut self, now: Time, sender: u32, end: Time, reach: &Reach, busy: (u64, u64)) -> u32 {
        let mut readers = 0;
        for station in each(reach.word as usize, reach.senses) {
            let reads = reach.reads & place(station).1 != 0;
            let power = self.signals.rows.power(reach, station);
            readers += u32::from(self.arrive(&Arrival { sender, station, now, end, reads, power }));
        }
        self.stop_backoffs(now, end, reach, busy);
        readers
    }

    /// Stops the backoff of those who fall busy, and puts off that of those who stay so.
    #[inline]
    fn stop_backoffs(&mut self, now: Time, end: Time, reach: &Reach, (was_busy, fall_busy): (u64, u64)) {
        let Reach { reached, senses, .. } = *reach;
        let word = reach.word as usize;
        let listens = !self.signals.sends.of(word);
        let held = self.held.of_mut(word).until(end);
        for station in each(word, fall_busy & !held & self.alert.of(word)) {
            self.fall_busy(now, station, end);
        }
        let busier = listens & was_busy & if self.signals.by_total { reached } else { senses };
        self.held.of_mut(word).release((fall_busy | busier) & !held);
        for station in each(word, busier & !held & self.alert.of(word)) {
            let ear = &self.ears[station as usize];
            if ear.contends && !ear.engaged {
                self.calendar.postpone(station, end);
            }
        }
    }

    /// Reckons what bits went wrong until `now` at those of `reached`.
    #[inline]
    fn reckon_receptions(&mut self, word: usize, reached: u64, now: Time) {
        let signals = &mut self.signals;
        if signals.bits.is_some() {
            for station in each(word, reached & signals.receiving.of(word) & !signals.spoilt.of(word)) {
                let sending = &self.sendings[self.ears[station as usize].receives as usize];
                signals.reckon(station, now, sending, &self.access.timing);
            }
        }
    }

    /// A frame of `sender` arrives at `station`, which is receiving another. Whether it will be read instead, if nothing
    /// more happens.
    fn meet(&mut self, now: Time, sender: u32, station: u32, reach: &Reach) -> bool {
        let after_collision = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        let signals = &mut self.signals;
        let (_, bit) = place(station);
        let reads = reach.reads & bit != 0;
        let power = signals.rows.power(reach, station);
        let ear = &mut self.ears[station as usize];
        let capture = signals.capture;
        let received = signals.levels[station as usize].received;
        let other = ear.receives;
        let was_read = !signals.spoilt.has(station);
        let together = ear.since == now;
        if capture == Capture::None {
            signals.spoilt.put(station, true);
            if together && !after_collision {
                signals.receiving.put(station, false);
            }
        } else if together && reads && power > received {
            // The stronger of the two is the first.
            let clear = signals.stands_out(power, station, received);
            ear.receives = sender;
            signals.spoilt.put(station, !clear);
            signals.follow(station, now, power);
            if !clear && !after_collision && capture != Capture::First {
                signals.receiving.put(station, false);
            }
            if was_read {
                disturb(&mut self.sendings[other as usize], station, &mut self.traffic);
            }
            return clear;
        } else if signals.fails(together, reads, power, station) {
            signals.spoilt.put(station, true);
            signals.forget_limit(station);
            if together && !after_collision && capture != Capture::First {
                signals.receiving.put(station, false); // neither of two headers is read
            }
        }
        let is_spoilt = signals.spoilt.has(station);
        let takes_over =
            capture == Capture::Late && is_spoilt && !together && reads && signals.stands_out(power, station, received);
        if takes_over {
            (ear.receives, ear.since) = (sender, now);
            signals.spoilt.put(station, false);
            signals.follow(station, now, power);
        }
        if was_read && is_spoilt {
            disturb(&mut self.sendings[other as usize], station, &mut self.traffic);
        }
        takes_over
    }

    /// The frame of `sender` is over for all whom its signal reaches, except that its receiver (if it has one) does not go
    /// on yet.
    pub(super) fn fade(&mut self, now: Time, sender: u32, sending: &Sending) -> Outcome {
        let check = self.nav_check(now, sending);
        let mut fate = Outcome::default();
        if sending.to == BROADCAST {
            self.receivers.clear();
        }
        for place in self.signals.rows.of(sender) {
            let reach = self.signals.rows.at(place);
            self.fade_word(now, sender, sending, check, &reach, &mut fate);
        }
        fate
    }

    /// The same for 64 stations; `check`: when they may forget the NAV.
    #[inline]
    fn fade_word(&mut self, now: Time, sender: u32, sending: &Sending, check: Time, reach: &Reach, fate: &mut Outcome) {
        let word = reach.word as usize;
        let to = if sending.to / 64 == reach.word { place(sending.to).1 & reach.reached } else { 0 };
        let mut follow = 0;
        for station in each(word, self.signals.receiving.of(word) & (reach.senses | reach.reads)) {
            if self.ears[station as usize].receives == sender {
                follow |= place(station).1;
                self.signals.forget_limit(station);
            }
        }
        self.reckon_receptions(word, reach.reached, now);
        let by_bits = if self.signals.bits.is_some() { self.lose_bits(word, follow, to, fate) } else { 0 };
        if self.tap.is_some() {
            for station in each(word, reach.reached) {
                let reads = self.links.hearing(sender, station) == Hearing::Reads;
                let (_, bit) = place(station);
                self.record_hearer(station, follow & bit != 0, (reach.senses & bit != 0, reads), by_bits & bit != 0);
            }
        }
        let sends_on = if self.like_ns2 { self.who_send_on(now, word, follow) } else { 0 };
        let signals = &mut self.signals;
        let was_busy = signals.busy(word);
        signals.remove(reach, &self.links);
        let spoilt = signals.spoilt.of(word);
        *signals.receiving.of_mut(word) &= !follow;
        follow &= !sends_on;
        let garbled = signals.garbled.of_mut(word);
        if signals.capture == Capture::First && self.access.eifs == Eifs::AfterCollision {
            // ns-2: whatever else was on the air, while another frame was received or one sent, leaves EIFS behind.
            *garbled |= reach.senses;
        }
        *garbled = *garbled & !follow | follow & spoilt;
        fate.read |= follow & !spoilt & to != 0;
        fate.sensed |= was_busy & to != 0;
        let fall_idle = was_busy & !signals.busy(word) & !to;
        let mut held = self.held.of_mut(word).until(now) & !self.signals.garbled.of(word);
        let read = follow & !spoilt & !to;
        if sending.to == BROADCAST || self.errors_for_all || self.held.of_mut(word).until(sending.nav) == 0 {
            held &= !read;
        }
        self.held.of_mut(word).release((read | fall_idle) & !held);
        let mut announced = 0;
        for station in each(word, read & !held) {
            if sending.to == BROADCAST {
                self.receive_for_all(sender, station);
            } else if self.errors_for_all && self.is_overheard_wrong(station, sender, sending) {
                self.signals.garbled.put(station, true);
            } else {
                self.ears[station as usize].set_nav(sending.nav, check);
                announced |= place(station).1;
            }
            if check < Time::NEVER {
                self.alert.put(station, true);
            }
        }
        if self.eifs_is_nav {
            for station in each(word, reach.reached & self.signals.garbled.of(word)) {
                self.extend_nav(now, station);
                held &= !place(station).1;
            }
        }
        let mut hold = 0;
        for station in each(word, fall_idle & !held) {
            self.fall_idle(now, station);
            let ear = &self.ears[station as usize];
            hold |= if ear.engaged || ear.nav_check < Time::NEVER { 0 } else { place(station).1 };
        }
        if sending.to != BROADCAST && sending.nav > now && self.tap.is_none() {
            self.held.of_mut(word).hold(hold & announced, sending.nav);
        }
    }

    /// Spoils what those of `follow` received who find wrong bits in it: those whom nothing else disturbed.
    fn lose_bits(&mut self, word: usize, follow: u64, to: u64, fate: &mut Outcome) -> u64 {
        let signals = &mut self.signals;
        let mut by_bits = 0;
        for station in each(word, follow & !signals.spoilt.of(word)) {
            let (_, bit) = place(station);
            let Proof { log_right, disturbed, .. } = signals.proofs[station as usize];
            if signals.chances[station as usize].chance(libm::exp(log_right)) {
                continue;
            }
            signals.spoilt.put(station, true);
            fate.met |= disturbed && bit == to;
            by_bits |= if disturbed { 0 } else { bit };
        }
        by_bits
    }
}
