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

use super::air_accounting::disturb;
use super::bitset::{CountSet, InstantSet, StationSet, bits_of, each, each_from, place};
use super::cca::ReceiverFate;
use super::ns2::Arrival;
use super::radio_links::{Hearing, RadioLinks};
use super::rx_power::{RxPowers, RxWord, whole_blocks};
use super::threshold::Threshold;
use super::{SpatialChannel, Transmission};
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
    pub(super) rx_powers: RxPowers,
    bits: Option<&'static BitErrors>,
    /// Cannot read OFDM frames.
    pub(super) legacy: StationSet,
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
    frames: CountSet,
    /// Frames that each station senses.
    sensed: CountSet,
    /// All together make the medium busy, which counts as one more frame sensed.
    over: StationSet,
    /// Have a frame on the air.
    pub(super) sends: StationSet,
    /// Receive a frame: `received` has it.
    pub(super) receiving: StationSet,
    /// Began to receive at this instant.
    pub(super) fresh: InstantSet,
    /// Whom each frame is received by, if it still is, for every place in `rx_powers`.
    followers: Vec<u64>,
    /// Will not read what they are receiving.
    pub(super) spoilt: StationSet,
    /// Did not read what they received last: EIFS is due.
    pub(super) eifs_pending: StationSet,
}

impl Signals {
    pub fn new(settings: SignalSettings, links: &RadioLinks) -> Self {
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
        let none = StationSet::none(stations);
        let mut noise: Vec<f64> = links.levels().iter().map(|levels| levels.noise).collect();
        noise.resize(stations, 0.0);
        let bound = |to, power| match fades {
            true => f64::INFINITY,
            false => threshold.bound(power, noise[to as usize]),
        };
        let rx_powers = RxPowers::new(links, bound);
        let mut signals = Self {
            followers: vec![0; rx_powers.words()],
            rx_powers,
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
            frames: CountSet::new(stations),
            sensed: CountSet::new(stations),
            over: none.clone(),
            sends: none.clone(),
            receiving: none.clone(),
            fresh: InstantSet::none(stations),
            spoilt: none.clone(),
            eifs_pending: none,
        };
        for (station, is_legacy) in (0..).zip(legacy) {
            signals.legacy.put(station, is_legacy);
        }
        signals
    }

    /// Where every frame that meets another which its receiver senses is lost.
    pub fn without_powers(links: &RadioLinks) -> Self {
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

    /// Whether nothing but noise stands in the way of the frame of `sender` that `station` receives.
    pub fn is_undisturbed(&self, station: u32, sender: u32) -> bool {
        if self.capture == Capture::None {
            return !self.is_crowded(station);
        }
        let rival =
            if self.threshold.by == Interference::Strongest { self.strongest_but(station, sender) } else { 0.0 };
        self.stands_out(self.received[station as usize].power, station, rival)
    }

    /// Power of the strongest frame at a station, that of one sender left aside.
    #[cold]
    fn strongest_but(&self, station: u32, sender: u32) -> f64 {
        let (word, bit) = place(station);
        let senders = (0..u32::try_from(self.received.len()).expect("stations are numbered in 32 bits"))
            .filter(|other| *other != sender && self.sends.has(*other));
        let powers = senders.filter_map(|other| {
            let rx =
                self.rx_powers.rx_row(other).iter().find(|rx| rx.word as usize == word && rx.reached & bit != 0)?;
            Some(self.rx_powers.power(rx, station))
        });
        powers.fold(0.0, f64::max)
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
    fn follow(&mut self, now: Time, sender: u32, (at, rx): (usize, &RxWord), bits: u64) {
        let word = rx.word as usize;
        *self.receiving.of_mut(word) |= bits;
        self.followers[at] |= bits;
        self.fresh.add(word, now, bits);
        if self.bits.is_some() || self.fades || self.threshold.by == Interference::Strongest {
            return self.follow_with_care(now, sender, rx, bits);
        }
        let (received, powers) = (&mut self.received[rx.stations()], self.rx_powers.powers(rx));
        let limits = &mut self.limits[rx.stations()][..received.len()];
        let (powers, bounds) = (&powers[..received.len()], &self.rx_powers.bounds(rx)[..received.len()]);
        for place in each_from(0, bits >> rx.first()).map(|place| place as usize) {
            if place >= received.len() {
                break; // which tells the compiler what is certain
            }
            received[place] = Received { power: powers[place], sender };
            limits[place] = bounds[place];
        }
    }

    /// The same where limits are not known before.
    #[cold]
    fn follow_with_care(&mut self, now: Time, sender: u32, rx: &RxWord, bits: u64) {
        for station in each(rx.word as usize, bits) {
            let power = self.rx_powers.power(rx, station);
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
        let at = self.rx_powers.place(self.sender_at(station), word);
        self.followers[at] &= !bit;
    }

    /// Reckons what bits went wrong in the frame that `station` is receiving, before what disturbs it changes.
    fn reckon(&mut self, station: u32, now: Time, transmission: &Transmission, timing: &Timing) {
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
        let dsss = timing.is_dsss(transmission.rate);
        let (header_mode, header_bits) =
            if dsss { (Mode::Dsss1, 48.0) } else { (Mode::Ofdm(Constellation::Bpsk, Code::Half), 24.0) };
        // The bits of the header are spread over it and the preamble.
        let preamble = timing.preamble_of(transmission.rate);
        let data_from = transmission.start + preamble;
        let data_until = transmission.end - timing.extension_of(transmission.rate);
        let header = now.min(data_from).saturating_since(from).as_secs() / preamble.as_secs() * header_bits;
        let data =
            now.min(data_until).saturating_since(from.max(data_from)).as_secs() * transmission.rate.as_bps() as f64;
        proof.log_right += bits.log_survival(header_mode, sinr, header);
        proof.log_right += bits.log_survival(Mode::of(transmission.rate, !dsss), sinr, data);
    }

    /// The power of a frame arrives. Where it stands out, if powers do not vary, and whose reception it spoils, if they are receiving.
    #[inline]
    fn add(&mut self, rx: &RxWord, links: &RadioLinks) -> (u64, u64) {
        let word = rx.word as usize;
        self.sensed.add(word, rx.senses);
        if !self.weighs {
            return (!0, 0);
        }
        self.frames.add(word, rx.reached);
        let arrival = match self.threshold.by {
            Interference::Sum => self.add_powers(rx, |all, _| all),
            Interference::Strongest => self.add_powers(rx, |_, power| power),
        };
        if self.by_total {
            self.weigh(rx, links);
        }
        arrival
    }

    /// Where a frame stands out whose power was not known before, of these stations.
    #[cold]
    fn find_clear(&self, rx: &RxWord, bits: u64) -> u64 {
        bits_of(each(rx.word as usize, bits).filter(|station| {
            let power = self.rx_powers.power(rx, *station);
            self.stands_out(power, *station, self.all_at(*station) - power)
        }))
    }

    /// The same for the powers alone; `rival`: what of the power of all and that of the frame others must stand out above.
    #[inline]
    fn add_powers(&mut self, rx: &RxWord, rival: impl Fn(f64, f64) -> f64) -> (u64, u64) {
        // Slices of one length and no branches: compilers make vectors of that.
        let (all, bits) = (&mut self.all[rx.stations()], rx.bits());
        let limits = &self.limits[rx.stations()][..all.len()];
        let (powers, bounds) = (&self.rx_powers.powers(rx)[..all.len()], &self.rx_powers.bounds(rx)[..all.len()]);
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
        (clear, exceeded & rx.reached)
    }

    /// The power of a frame is gone.
    #[inline]
    fn remove(&mut self, rx: &RxWord, links: &RadioLinks) {
        let word = rx.word as usize;
        self.sensed.remove(word, rx.senses);
        if !self.weighs {
            return;
        }
        self.frames.remove(word, rx.reached);
        // Rounding must not outlast the frames.
        let any = self.frames.any(word);
        if any == 0 {
            self.all[rx.stations()].fill(0.0);
        } else {
            for (all, power) in self.all[rx.stations()].iter_mut().zip(self.rx_powers.powers(rx)) {
                *all -= power;
            }
            for station in each(word, rx.reached & !any) {
                self.all[station as usize] = 0.0;
            }
        }
        if self.by_total {
            self.weigh(rx, links);
        }
    }

    /// Counts the power of all frames as one more frame sensed, or not any more.
    fn weigh(&mut self, rx: &RxWord, links: &RadioLinks) {
        let word = rx.word as usize;
        let any = self.frames.any(word);
        for station in each(word, rx.reached) {
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
    rx_row: (usize, &'a RxWord),
    /// Who is receiving others.
    receiving: u64,
    /// Where it stands out.
    clear: u64,
    /// Where it may spoil what is being received.
    exceeded: u64,
}

impl SpatialChannel {
    /// Draws what arrives where of a frame of `sender`.
    #[cold]
    fn draw_arrivals(&mut self, sender: u32) {
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
            signals.rx_powers.set(rx_row.start, link.to, power, senses, reads);
        }
    }

    /// A frame of `sender` reaches those whom its signal reaches.
    pub(super) fn begin_reception(&mut self, now: Time, sender: u32, end: Time) {
        if self.signals.fades || !self.links.misses().is_empty() {
            self.draw_arrivals(sender);
        }
        let dsss = self.access.timing.is_dsss(self.transmissions[sender as usize].rate);
        let mut readers = 0;
        for place in self.signals.rx_powers.of(sender) {
            let mut rx = self.signals.rx_powers.at(place);
            if !dsss {
                rx.reads &= !self.signals.legacy.of(rx.word as usize);
            }
            readers += self.begin_reception_in_word(now, sender, end, (place, &rx));
        }
        self.transmissions[sender as usize].readers = readers;
    }

    /// The same for 64 stations, at their place in the rows. How many read it, if nothing more happens.
    #[inline]
    fn begin_reception_in_word(&mut self, now: Time, sender: u32, end: Time, (at, rx): (usize, &RxWord)) -> u32 {
        let after_collision = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        let word = rx.word as usize;
        let RxWord { senses, reads, reached, .. } = *rx;
        if self.signals.bits.is_some() {
            self.reckon_receptions(word, reached, now);
        }
        let signals = &mut self.signals;
        let capture = signals.capture;
        let was_busy = signals.busy(word);
        let (clear, exceeded) = signals.add(rx, &self.links);
        let listens = !signals.sends.of(word);
        let fall_busy = listens & signals.busy(word) & !was_busy;
        if self.like_ns2 {
            return self.arrive_in_word(now, sender, end, rx, (was_busy, fall_busy));
        }
        let receiving = signals.receiving.of(word);
        let free = listens & !receiving;
        let clear = if signals.fades { signals.find_clear(rx, listens & senses) } else { clear };
        let follow = free
            & match capture {
                Capture::None if after_collision => senses & !was_busy,
                Capture::None => senses & reads & !was_busy,
                Capture::First => senses & !was_busy,
                Capture::Header | Capture::Late => reads & clear,
            };
        if after_collision && matches!(capture, Capture::Header | Capture::Late) {
            *signals.eifs_pending.of_mut(word) |= senses & free & !follow;
        }
        signals.followers[at] = 0;
        let arrival = Arrives { rx_row: (at, rx), receiving, clear, exceeded };
        let (turned, turned_and_reads) = if receiving & reached == 0 { (0, 0) } else { self.meet(now, &arrival) };
        let signals = &mut self.signals;
        let read = follow & clear & reads | turned_and_reads;
        let follow = follow | turned;
        signals.follow(now, sender, (at, rx), follow);
        let spoilt = signals.spoilt.of_mut(word);
        *spoilt = *spoilt & !follow | follow & !read;
        self.stop_backoffs(now, end, rx, (was_busy, fall_busy));
        read.count_ones()
    }

    /// The same where receivers are those of ns-2; `was_busy`: who sensed a frame before, `fall_busy`: who did not, and does.
    fn arrive_in_word(&mut self, now: Time, sender: u32, end: Time, rx: &RxWord, busy: (u64, u64)) -> u32 {
        let mut readers = 0;
        for station in each(rx.word as usize, rx.senses) {
            let reads = rx.reads & place(station).1 != 0;
            let power = self.signals.rx_powers.power(rx, station);
            readers += u32::from(self.arrive(&Arrival { sender, station, now, end, reads, power }));
        }
        self.stop_backoffs(now, end, rx, busy);
        readers
    }

    /// Stops the backoff of those who fall busy, and puts off that of those who stay so.
    #[inline]
    fn stop_backoffs(&mut self, now: Time, end: Time, rx: &RxWord, (was_busy, fall_busy): (u64, u64)) {
        let RxWord { reached, senses, .. } = *rx;
        let word = rx.word as usize;
        let listens = !self.signals.sends.of(word);
        let nav_holds = self.nav_holds.of_mut(word).until(end);
        let mut asleep = 0;
        for station in each(word, fall_busy & !nav_holds & self.alert.of(word)) {
            asleep |= if self.fall_busy(now, station, end) { place(station).1 } else { 0 };
        }
        if self.fast_paths {
            *self.alert.of_mut(word) &= !asleep;
        }
        let busier = listens & was_busy & if self.signals.by_total { reached } else { senses };
        self.nav_holds.of_mut(word).release((fall_busy | busier) & !nav_holds);
        for station in each(word, busier & !nav_holds & self.alert.of(word)) {
            let backoff = &self.backoffs[station as usize];
            if backoff.contends && !backoff.engaged {
                self.backoff_timers.postpone(station, end);
            }
        }
    }

    /// Reckons what bits went wrong until `now` at those of `reached`.
    fn reckon_receptions(&mut self, word: usize, reached: u64, now: Time) {
        let signals = &mut self.signals;
        for station in each(word, reached & signals.receiving.of(word) & !signals.spoilt.of(word)) {
            let transmission = &self.transmissions[signals.sender_at(station) as usize];
            signals.reckon(station, now, transmission, &self.access.timing);
        }
    }

    /// A frame arrives at those of a word who are receiving others. Who turns to it, and who of these will read it, if nothing
    /// more happens.
    #[inline]
    fn meet(&mut self, now: Time, arrives: &Arrives) -> (u64, u64) {
        let &Arrives { rx_row: (_, rx), receiving, exceeded, .. } = arrives;
        let word = rx.word as usize;
        let signals = &mut self.signals;
        let capture = signals.capture;
        let fresh = receiving & rx.reached & signals.fresh.of(word, now);
        let met = if capture == Capture::None { rx.senses } else { exceeded & !fresh };
        let lost = receiving & met & !signals.spoilt.of(word);
        *signals.spoilt.of_mut(word) |= lost;
        if lost != 0 {
            self.disturb(word, lost, 0);
        }
        let at_once = if fresh == 0 { (0, 0) } else { self.meet_at_once(fresh, arrives) };
        if capture == Capture::Late {
            let late = self.meet_late(receiving & !fresh & rx.reads, rx);
            return (at_once.0 | late, at_once.1 | late);
        }
        at_once
    }

    /// The same for those whose frame began at the same instant.
    fn meet_at_once(&mut self, fresh: u64, arrives: &Arrives) -> (u64, u64) {
        let &Arrives { rx_row: (_, rx), clear, exceeded, .. } = arrives;
        let after_collision = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        let word = rx.word as usize;
        let signals = &mut self.signals;
        let headers_collide = !after_collision && signals.capture != Capture::First;
        if signals.capture == Capture::None {
            if headers_collide {
                self.disturb(word, 0, fresh & rx.senses);
            }
            return (0, 0);
        }
        // The stronger of the two is the first.
        let is_stronger =
            |station: &u32| signals.rx_powers.power(rx, *station) > signals.received[*station as usize].power;
        let first = bits_of(each(word, fresh & rx.reads).filter(is_stronger));
        let stands_out = match signals.threshold.by {
            Interference::Sum if signals.bits.is_none() => first & clear | !first & !exceeded,
            _ => bits_of(each(word, fresh).filter(|station| {
                let (power, received) =
                    (signals.rx_powers.power(rx, *station), signals.received[*station as usize].power);
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
    fn meet_late(&mut self, bits: u64, rx: &RxWord) -> u64 {
        let word = rx.word as usize;
        let signals = &mut self.signals;
        let spoilt = signals.spoilt.of(word);
        // As long as bits decide, no other frame spoils one but that which takes over.
        let asked = bits & if signals.bits.is_some() { !0 } else { spoilt };
        let turned = bits_of(each(word, asked).filter(|station| {
            let (power, received) = (signals.rx_powers.power(rx, *station), signals.received[*station as usize].power);
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
            let followers = &mut signals.followers[signals.rx_powers.place(sender, word)];
            let these = *followers & rest;
            *followers &= !leave;
            rest &= !these;
            disturb(&mut self.transmissions[sender as usize], word, these & lost, &mut self.accounting);
        }
    }

    /// The frame of `sender` is over for all whom its signal reaches, except that its receiver (if it has one) does not go
    /// on yet.
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

    /// The same for 64 stations; `check`: when they may forget the NAV.
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
            self.reckon_receptions(word, rx.reached, now);
        }
        let by_bits = if self.signals.bits.is_some() { self.lose_bits(word, follow, to, fate) } else { 0 };
        if self.tap.is_some() {
            for station in each(word, rx.reached) {
                let reads = self.links.hearing(sender, station) == Hearing::Reads;
                let (_, bit) = place(station);
                self.record_hearer(station, follow & bit != 0, (rx.senses & bit != 0, reads), by_bits & bit != 0);
            }
        }
        let sends_on = if self.like_ns2 { self.who_send_on(now, word, follow) } else { 0 };
        let signals = &mut self.signals;
        let was_busy = signals.busy(word);
        signals.remove(rx, &self.links);
        let spoilt = signals.spoilt.of(word);
        *signals.receiving.of_mut(word) &= !follow;
        follow &= !sends_on;
        let eifs_pending = signals.eifs_pending.of_mut(word);
        if signals.capture == Capture::First && self.access.eifs == Eifs::AfterCollision {
            // ns-2: whatever else was on the air, while another frame was received or one sent, leaves EIFS behind.
            *eifs_pending |= rx.senses;
        }
        *eifs_pending = *eifs_pending & !follow | follow & spoilt;
        fate.read |= follow & !spoilt & to != 0;
        fate.sensed |= was_busy & to != 0;
        let fall_idle = was_busy & !signals.busy(word) & !to;
        let mut nav_holds = self.nav_holds.of_mut(word).until(now) & !self.signals.eifs_pending.of(word);
        let read = follow & !spoilt & !to;
        if transmission.to == BROADCAST
            || self.errors_for_all
            || self.nav_holds.of_mut(word).until(transmission.nav) == 0
        {
            nav_holds &= !read;
        }
        self.nav_holds.of_mut(word).release((read | fall_idle) & !nav_holds);
        let told = read & !nav_holds;
        let for_all = transmission.to == BROADCAST || self.errors_for_all;
        let announced = if for_all { self.read_for_all(sender, transmission, word, told) } else { told };
        for station in each(word, announced) {
            self.backoffs[station as usize].set_nav(transmission.nav, check);
        }
        if check < Time::NEVER {
            *self.alert.of_mut(word) |= told;
        }
        if self.eifs_is_nav {
            for station in each(word, rx.reached & self.signals.eifs_pending.of(word)) {
                self.extend_nav(now, station);
                nav_holds &= !place(station).1;
            }
        }
        let idle = fall_idle & !nav_holds;
        let alert = self.alert.of(word);
        let mut hold = idle & !alert;
        for station in each(word, idle & !alert) {
            self.backoffs[station as usize].is_idle_from(now);
        }
        for station in each(word, idle & alert) {
            hold |= if self.fall_idle(now, station) { place(station).1 } else { 0 };
        }
        if transmission.to != BROADCAST && transmission.nav > now && self.fast_paths && self.tap.is_none() {
            self.nav_holds.of_mut(word).hold(hold & announced, transmission.nav);
        }
    }

    /// Spoils what those of `follow` received who find wrong bits in it: those whom nothing else disturbed.
    fn lose_bits(&mut self, word: usize, follow: u64, to: u64, fate: &mut ReceiverFate) -> u64 {
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
