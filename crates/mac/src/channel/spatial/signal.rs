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

use super::links::{Hearing, Links};
use super::ns2::Arrival;
use super::reach::Outcome;
use super::rows::{Reach, Rows, whole_blocks};
use super::sets::{Fresh, Stations, Tally, bits_of, each, each_from, place};
use super::threshold::Threshold;
use super::traffic::disturb;
use super::{Sending, Space};
use crate::{BROADCAST, Eifs};
use wifair_phy::propagation::Fading;
use wifair_phy::{
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

/// A frame that a station is receiving.
#[derive(Clone, Copy, Debug, Default)]
struct Received {
    /// In mW.
    power: f64,
    sender: u32,
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
    threshold: Threshold,
    by_total: bool,
    /// Powers make a difference.
    weighs: bool,
    fading: Fading,
    fades: bool,
    /// A frame that meets no other does the same each time.
    pub(super) constant: bool,
    chances: Vec<Stream>,
    /// In mW.
    noise: Vec<f64>,
    received: Vec<Received>,
    proofs: Vec<Proof>,
    /// Power of all frames together at each station, in mW.
    all: Vec<f64>,
    /// Up to here the power of all frames together, or of a single other one, does not spoil what is being received.
    limits: Vec<f64>,
    /// Frames that make up `all`.
    frames: Tally,
    /// Frames that each station senses.
    sensed: Tally,
    /// All together make the medium busy, which counts as one more frame sensed.
    over: Stations,
    /// Have a frame on the air.
    pub(super) sends: Stations,
    /// Receive a frame: `received` has it.
    pub(super) receiving: Stations,
    /// Began to receive at this instant.
    pub(super) fresh: Fresh,
    /// Whom each frame is received by, if it still is, for every place in `rows`.
    followers: Vec<u64>,
    /// Will not read what they are receiving.
    pub(super) spoilt: Stations,
    /// Did not read what they received last: EIFS is due.
    pub(super) garbled: Stations,
}

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
        let threshold = Threshold::new(&reception);
        let none = Stations::none(stations);
        let mut noise: Vec<f64> = links.levels().iter().map(|levels| levels.noise).collect();
        noise.resize(stations, 0.0);
        let bound = |to, power| match fades {
            true => f64::INFINITY,
            false => threshold.bound(power, noise[to as usize]),
        };
        let rows = Rows::new(links, bound);
        let mut signals = Self {
            followers: vec![0; rows.words()],
            rows,
            bits: (reception.spoils == Spoils::Bits).then(BitErrors::tables),
            legacy: none.clone(),
            capture: reception.capture,
            threshold,
            by_total,
            weighs,
            fading,
            fades,
            constant: !fades && links.misses().is_empty() && reception.spoils != Spoils::Bits && !by_total,
            chances,
            noise,
            received: vec![Received::default(); whole_blocks(stations)],
            proofs: vec![Proof::default(); if reception.spoils == Spoils::Bits { stations } else { 0 }],
            all: vec![0.0; whole_blocks(stations)],
            limits: vec![f64::INFINITY; whole_blocks(stations)],
            frames: Tally::new(stations),
            sensed: Tally::new(stations),
            over: none.clone(),
            sends: none.clone(),
            receiving: none.clone(),
            fresh: Fresh::none(stations),
            spoilt: none.clone(),
            garbled: none,
        };
        for (station, is_legacy) in (0..).zip(legacy) {
            signals.legacy.put(station, is_legacy);
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

    /// Whether a station senses more than one frame, or several together.
    #[inline]
    pub fn is_crowded(&self, station: u32) -> bool {
        let (word, bit) = place(station);
        (self.sensed.several(word) | self.over.of(word) & self.frames.several(word)) & bit != 0
    }

    /// Those of a word who sense a frame.
    #[inline]
    fn busy(&self, word: usize) -> u64 {
        self.sensed.any(word) | self.over.of(word)
    }

    /// Power of all frames together at a station.
    #[inline]
    fn all_at(&self, station: u32) -> f64 {
        self.all[station as usize]
    }

    /// Whether a frame of this power stands out; `other`: the power of a single other frame.
    #[inline]
    fn stands_out(&self, power: f64, station: u32, other: f64) -> bool {
        self.threshold.is_met(power, self.noise[station as usize], self.all_at(station), other)
    }

    /// Whether a receiver like that of ns-2 can do with them: it knows levels, and no bits.
    pub fn are_those_of_ns2(&self) -> bool {
        let captures = self.capture == Capture::First && self.threshold.by == Interference::Strongest;
        self.bits.is_none() && (captures || self.capture == Capture::None)
    }

    /// Whether a frame can be received beside another.
    pub fn captures(&self) -> bool {
        self.capture != Capture::None
    }

    /// Whether the frame that `station` receives stands out above one of this power.
    pub fn drowns(&self, station: u32, power: f64) -> bool {
        self.stands_out(self.received[station as usize].power, station, power)
    }

    /// Whether a frame of this power stands out above the one that `station` receives.
    pub fn is_drowned(&self, station: u32, power: f64) -> bool {
        self.stands_out(power, station, self.received[station as usize].power)
    }

    /// Whose frame `station` receives, if it receives one.
    #[inline]
    pub fn sender_at(&self, station: u32) -> u32 {
        self.received[station as usize].sender
    }

    /// `station` begins to receive a frame of `sender`.
    #[inline]
    pub fn hear(&mut self, station: u32, sender: u32, power: f64) {
        self.received[station as usize] = Received { power, sender };
    }

    /// These stations of a word begin to receive the frame of `sender` that arrives so.
    #[inline]
    fn follow(&mut self, now: Time, sender: u32, (at, reach): (usize, &Reach), bits: u64) {
        let word = reach.word as usize;
        *self.receiving.of_mut(word) |= bits;
        self.followers[at] |= bits;
        self.fresh.add(word, now, bits);
        if self.bits.is_some() || self.fades || self.threshold.by == Interference::Strongest {
            return self.follow_with_care(now, sender, reach, bits);
        }
        let (received, powers) = (&mut self.received[reach.stations()], self.rows.powers(reach));
        let limits = &mut self.limits[reach.stations()][..received.len()];
        let (powers, bounds) = (&powers[..received.len()], &self.rows.bounds(reach)[..received.len()]);
        for place in each_from(0, bits >> reach.first()).map(|place| place as usize) {
            if place >= received.len() {
                break; // which tells the compiler what is certain
            }
            received[place] = Received { power: powers[place], sender };
            limits[place] = bounds[place];
        }
    }

    /// The same where limits are not known before.
    #[cold]
    fn follow_with_care(&mut self, now: Time, sender: u32, reach: &Reach, bits: u64) {
        for station in each(reach.word as usize, bits) {
            let power = self.rows.power(reach, station);
            self.hear(station, sender, power);
            if let Some(proof) = self.proofs.get_mut(station as usize) {
                *proof = Proof { log_right: 0.0, reckoned: now, disturbed: false };
                continue;
            }
            self.limits[station as usize] = match self.threshold.by {
                Interference::Sum => self.threshold.bound(power, self.noise[station as usize]),
                Interference::Strongest => self.threshold.rival(power),
            };
        }
    }

    /// `station`, which receives a frame, does not any more.
    pub fn leave(&mut self, station: u32) {
        let (word, bit) = place(station);
        self.receiving.put(station, false);
        let at = self.rows.place(self.sender_at(station), word);
        self.followers[at] &= !bit;
    }

    /// Reckons what bits went wrong in the frame that `station` is receiving, before what disturbs it changes.
    fn reckon(&mut self, station: u32, now: Time, sending: &Sending, timing: &Timing) {
        let Some(bits) = self.bits else { return };
        let (word, bit) = place(station);
        let (noise, received) = (self.noise[station as usize], self.received[station as usize].power);
        let all = self.all_at(station);
        let proof = &mut self.proofs[station as usize];
        if proof.reckoned == now {
            return;
        }
        let from = std::mem::replace(&mut proof.reckoned, now);
        proof.disturbed |= self.frames.several(word) & bit != 0;
        let sinr = received / (noise + (all - received).max(0.0));
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

    /// The power of a frame arrives. Where it stands out, if powers do not vary, and whose reception it spoils, if they are receiving.
    #[inline]
    fn add(&mut self, reach: &Reach, links: &Links) -> (u64, u64) {
        let word = reach.word as usize;
        self.sensed.add(word, reach.senses);
        if !self.weighs {
            return (!0, 0);
        }
        self.frames.add(word, reach.reached);
        let arrival = match self.threshold.by {
            Interference::Sum => self.add_powers(reach, |all, _| all),
            Interference::Strongest => self.add_powers(reach, |_, power| power),
        };
        if self.by_total {
            self.weigh(reach, links);
        }
        arrival
    }

    /// Where a frame stands out whose power was not known before, of these stations.
    #[cold]
    fn find_clear(&self, reach: &Reach, bits: u64) -> u64 {
        bits_of(each(reach.word as usize, bits).filter(|station| {
            let power = self.rows.power(reach, *station);
            self.stands_out(power, *station, self.all_at(*station) - power)
        }))
    }

    /// The same for the powers alone; `rival`: what of the power of all and that of the frame others must stand out above.
    #[inline]
    fn add_powers(&mut self, reach: &Reach, rival: impl Fn(f64, f64) -> f64) -> (u64, u64) {
        // Slices of one length and no branches: compilers make vectors of that.
        let (all, bits) = (&mut self.all[reach.stations()], reach.bits());
        let limits = &self.limits[reach.stations()][..all.len()];
        let (powers, bounds) = (&self.rows.powers(reach)[..all.len()], &self.rows.bounds(reach)[..all.len()]);
        let bits = &bits[..all.len()];
        let if_true = |is_so: bool, bit: u64| bit & u64::from(is_so).wrapping_neg();
        let (mut clear, mut exceeded) = (0, 0);
        for place in 0..all.len() {
            let power = powers[place];
            let sum = all[place] + power;
            all[place] = sum;
            clear |= if_true(sum <= bounds[place], bits[place]);
            exceeded |= if_true(rival(sum, power) > limits[place], bits[place]);
        }
        (clear, exceeded & reach.reached)
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
        // Rounding must not outlast the frames.
        let any = self.frames.any(word);
        if any == 0 {
            self.all[reach.stations()].fill(0.0);
        } else {
            for (all, power) in self.all[reach.stations()].iter_mut().zip(self.rows.powers(reach)) {
                *all -= power;
            }
            for station in each(word, reach.reached & !any) {
                self.all[station as usize] = 0.0;
            }
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

/// A frame that arrives at 64 stations.
#[derive(Clone, Copy, Debug)]
struct Arrives<'a> {
    /// Its place in the rows, and what is there.
    row: (usize, &'a Reach),
    /// Who is receiving others.
    receiving: u64,
    /// Where it stands out.
    clear: u64,
    /// Where it may spoil what is being received.
    exceeded: u64,
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
        let dsss = self.access.timing.is_dsss(self.sendings[sender as usize].rate);
        let mut readers = 0;
        for place in self.signals.rows.of(sender) {
            let mut reach = self.signals.rows.at(place);
            if !dsss {
                reach.reads &= !self.signals.legacy.of(reach.word as usize);
            }
            readers += self.reach_word(now, sender, end, (place, &reach));
        }
        self.sendings[sender as usize].readers = readers;
    }

    /// The same for 64 stations, at their place in the rows. How many read it, if nothing more happens.
    #[inline]
    fn reach_word(&mut self, now: Time, sender: u32, end: Time, (at, reach): (usize, &Reach)) -> u32 {
        let after_collision = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        let word = reach.word as usize;
        let Reach { senses, reads, reached, .. } = *reach;
        if self.signals.bits.is_some() {
            self.reckon_receptions(word, reached, now);
        }
        let signals = &mut self.signals;
        let capture = signals.capture;
        let was_busy = signals.busy(word);
        let (clear, exceeded) = signals.add(reach, &self.links);
        let listens = !signals.sends.of(word);
        let fall_busy = listens & signals.busy(word) & !was_busy;
        if self.like_ns2 {
            return self.arrive_in_word(now, sender, end, reach, (was_busy, fall_busy));
        }
        let receiving = signals.receiving.of(word);
        let free = listens & !receiving;
        let clear = if signals.fades { signals.find_clear(reach, listens & senses) } else { clear };
        let follow = free
            & match capture {
                Capture::None if after_collision => senses & !was_busy,
                Capture::None => senses & reads & !was_busy,
                Capture::First => senses & !was_busy,
                Capture::Header | Capture::Late => reads & clear,
            };
        if after_collision && matches!(capture, Capture::Header | Capture::Late) {
            *signals.garbled.of_mut(word) |= senses & free & !follow;
        }
        signals.followers[at] = 0;
        let arrival = Arrives { row: (at, reach), receiving, clear, exceeded };
        let (turned, turned_and_reads) = if receiving & reached == 0 { (0, 0) } else { self.meet(now, &arrival) };
        let signals = &mut self.signals;
        let read = follow & clear & reads | turned_and_reads;
        let follow = follow | turned;
        signals.follow(now, sender, (at, reach), follow);
        let spoilt = signals.spoilt.of_mut(word);
        *spoilt = *spoilt & !follow | follow & !read;
        self.stop_backoffs(now, end, reach, (was_busy, fall_busy));
        read.count_ones()
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
        let mut asleep = 0;
        for station in each(word, fall_busy & !held & self.alert.of(word)) {
            asleep |= if self.fall_busy(now, station, end) { place(station).1 } else { 0 };
        }
        *self.alert.of_mut(word) &= !asleep;
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
    fn reckon_receptions(&mut self, word: usize, reached: u64, now: Time) {
        let signals = &mut self.signals;
        for station in each(word, reached & signals.receiving.of(word) & !signals.spoilt.of(word)) {
            let sending = &self.sendings[signals.sender_at(station) as usize];
            signals.reckon(station, now, sending, &self.access.timing);
        }
    }

    /// A frame arrives at those of a word who are receiving others. Who turns to it, and who of these will read it, if nothing
    /// more happens.
    #[inline]
    fn meet(&mut self, now: Time, arrives: &Arrives) -> (u64, u64) {
        let &Arrives { row: (_, reach), receiving, exceeded, .. } = arrives;
        let word = reach.word as usize;
        let signals = &mut self.signals;
        let capture = signals.capture;
        let fresh = receiving & reach.reached & signals.fresh.of(word, now);
        let met = if capture == Capture::None { reach.senses } else { exceeded & !fresh };
        let lost = receiving & met & !signals.spoilt.of(word);
        *signals.spoilt.of_mut(word) |= lost;
        if lost != 0 {
            self.disturb(word, lost, 0);
        }
        let at_once = if fresh == 0 { (0, 0) } else { self.meet_at_once(fresh, arrives) };
        if capture == Capture::Late {
            let late = self.meet_late(receiving & !fresh & reach.reads, reach);
            return (at_once.0 | late, at_once.1 | late);
        }
        at_once
    }

    /// The same for those whose frame began at the same instant.
    fn meet_at_once(&mut self, fresh: u64, arrives: &Arrives) -> (u64, u64) {
        let &Arrives { row: (_, reach), clear, exceeded, .. } = arrives;
        let after_collision = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        let word = reach.word as usize;
        let signals = &mut self.signals;
        let headers_collide = !after_collision && signals.capture != Capture::First;
        if signals.capture == Capture::None {
            if headers_collide {
                self.disturb(word, 0, fresh & reach.senses);
            }
            return (0, 0);
        }
        // The stronger of the two is the first.
        let is_stronger =
            |station: &u32| signals.rows.power(reach, *station) > signals.received[*station as usize].power;
        let first = bits_of(each(word, fresh & reach.reads).filter(is_stronger));
        let stands_out = match signals.threshold.by {
            Interference::Sum if signals.bits.is_none() => first & clear | !first & !exceeded,
            _ => bits_of(each(word, fresh).filter(|station| {
                let (power, received) =
                    (signals.rows.power(reach, *station), signals.received[*station as usize].power);
                if first & place(*station).1 != 0 {
                    signals.stands_out(power, *station, received)
                } else {
                    signals.stands_out(received, *station, power)
                }
            })),
        };
        let spoilt = signals.spoilt.of_mut(word);
        let lost = fresh & !*spoilt & (first | !stands_out);
        *spoilt |= lost;
        // Neither of two headers is read.
        let neither = if headers_collide { fresh & !stands_out } else { 0 };
        self.disturb(word, lost, first | neither);
        (first & !neither, first & stands_out)
    }

    /// A frame arrives at these, who are receiving others that began before. Who turns to it, and will read it, if nothing
    /// more happens.
    #[cold]
    fn meet_late(&mut self, bits: u64, reach: &Reach) -> u64 {
        let word = reach.word as usize;
        let signals = &mut self.signals;
        let spoilt = signals.spoilt.of(word);
        // As long as bits decide, no other frame spoils one but that which takes over.
        let asked = bits & if signals.bits.is_some() { !0 } else { spoilt };
        let turned = bits_of(each(word, asked).filter(|station| {
            let (power, received) = (signals.rows.power(reach, *station), signals.received[*station as usize].power);
            signals.stands_out(power, *station, received)
        }));
        self.disturb(word, turned & !spoilt, turned);
        turned
    }

    /// The frames that stations of a word receive are `lost` to some of these, and some do not receive them any more.
    fn disturb(&mut self, word: usize, lost: u64, leave: u64) {
        let signals = &mut self.signals;
        *signals.receiving.of_mut(word) &= !leave;
        let mut rest = lost | leave;
        while let Some(station) = each(word, rest).next() {
            let sender = signals.sender_at(station);
            let followers = &mut signals.followers[signals.rows.place(sender, word)];
            let these = *followers & rest;
            *followers &= !leave;
            rest &= !these;
            disturb(&mut self.sendings[sender as usize], word, these & lost, &mut self.traffic);
        }
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
            self.fade_word(now, sender, sending, check, (place, &reach), &mut fate);
        }
        fate
    }

    /// The same for 64 stations; `check`: when they may forget the NAV.
    #[inline]
    fn fade_word(
        &mut self,
        now: Time,
        sender: u32,
        sending: &Sending,
        check: Time,
        (at, reach): (usize, &Reach),
        fate: &mut Outcome,
    ) {
        let word = reach.word as usize;
        let to = if sending.to / 64 == reach.word { place(sending.to).1 & reach.reached } else { 0 };
        let mut follow = self.signals.followers[at];
        if self.like_ns2 {
            let receiving = each(word, self.signals.receiving.of(word) & (reach.senses | reach.reads));
            follow = bits_of(receiving.filter(|station| self.signals.sender_at(*station) == sender));
        }
        if self.signals.bits.is_some() {
            self.reckon_receptions(word, reach.reached, now);
        }
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
        let told = read & !held;
        let for_all = sending.to == BROADCAST || self.errors_for_all;
        let announced = if for_all { self.read_for_all(sender, sending, word, told) } else { told };
        for station in each(word, announced) {
            self.ears[station as usize].set_nav(sending.nav, check);
        }
        if check < Time::NEVER {
            *self.alert.of_mut(word) |= told;
        }
        if self.eifs_is_nav {
            for station in each(word, reach.reached & self.signals.garbled.of(word)) {
                self.extend_nav(now, station);
                held &= !place(station).1;
            }
        }
        let idle = fall_idle & !held;
        let alert = self.alert.of(word);
        let mut hold = idle & !alert;
        for station in each(word, idle & !alert) {
            self.ears[station as usize].is_idle_from(now);
        }
        for station in each(word, idle & alert) {
            hold |= if self.fall_idle(now, station) { place(station).1 } else { 0 };
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
