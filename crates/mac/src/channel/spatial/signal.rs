//! Signals at each receiver: capture, bit errors, fading, and missed carrier sense. [`reception`](super::reception)
//! applies them to the stations that a frame reaches.
//!
//! A receiver follows one frame at a time. The frame can be read to its end if its power exceeds noise and interference
//! by the capture threshold at all times; interference only increases when a frame begins, so this is checked then.
//! Alternatively bits have errors, at a rate that depends on the interference: each chunk of constant interference
//! contributes to the probability that the whole frame is correct, header and data with their own modulations. Of
//! several frames that begin at the same instant, the strongest counts as the first.

use wifair_engine::{Stream, stream};
use wifair_units::Time;

use super::Transmission;
use super::bitset::{CountSet, InstantSet, StationSet, bits_of, each, each_from, place};
use super::overlap::Overlap;
use super::radio_links::RadioLinks;
use super::rx_power::{RxPowers, RxWord, whole_blocks};
use super::threshold::Threshold;
use wifair_phy::propagation::Fading;
use wifair_phy::{
    BitErrors, CaptureEffect, CarrierSense, Interference, LegacyMode, ModulationClass, Reception, Spoils, Timing,
};

/// Settings of powers and random effects.
#[derive(Clone, Debug)]
pub struct SignalSettings {
    /// How overlapping frames are received.
    pub reception: Reception,
    /// How power varies from frame to frame.
    pub fading: Fading,
    /// Random stream of each station: fading, missed frames, bit errors.
    pub chances: Vec<Stream>,
    /// The newest modulation class that each station reads; empty if all read whatever is sent.
    pub newest: Vec<ModulationClass>,
}

/// The frame that a station is receiving.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Received {
    /// Power in mW.
    pub power: f64,
    pub sender: u32,
}

/// Conditions of a reception while they do not change. Powers are in mW.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Start of the chunk.
    pub from: Time,
    /// Power of the frame.
    pub power: f64,
    /// Noise in 20 MHz.
    pub noise: f64,
    /// Power of all other frames.
    pub interference: f64,
}

/// Probability that the frame being received is correct.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReceptionErrors {
    /// Natural logarithm of the probability that it is correct so far.
    pub log_success: f64,
    /// Time up to which it is computed.
    pub computed_until: Time,
    /// Whether another frame was on the air at the same time.
    pub disturbed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Signals {
    /// Received power of each sender at each station; if powers vary, the power of its current frame.
    pub(super) rx_powers: RxPowers,
    pub(super) bits: Option<&'static BitErrors>,
    /// The stations that read each modulation class; empty if all read whatever is sent.
    pub(super) readers: Vec<StationSet>,
    pub(super) capture: CaptureEffect,
    pub(super) threshold: Threshold,
    pub(super) by_total: bool,
    /// Whether powers matter.
    pub(super) powers_matter: bool,
    pub(super) fading: Fading,
    /// Whether arrivals differ from frame to frame.
    pub(super) varies: bool,
    /// Channels that overlap, if any.
    pub(super) overlap: Option<Box<Overlap>>,
    /// Whether a frame that does not collide always has the same effect.
    pub(super) constant: bool,
    pub(super) chances: Vec<Stream>,
    /// Noise at each station, in mW.
    pub(super) noise: Vec<f64>,
    pub(super) received: Vec<Received>,
    pub(super) reception_errors: Vec<ReceptionErrors>,
    /// Total power of all frames at each station, in mW.
    pub(super) all: Vec<f64>,
    /// Maximum power that does not corrupt the frame being received: total power, or power of any other single frame.
    pub(super) limits: Vec<f64>,
    /// Number of frames in `all`.
    pub(super) frames: CountSet,
    /// Number of frames that each station senses.
    pub(super) sensed: CountSet,
    /// Stations at which total power makes the channel busy, which counts as one more frame sensed.
    pub(super) over: StationSet,
    /// Stations that are sending.
    pub(super) sends: StationSet,
    /// Stations that are receiving a frame, which is in `received`.
    pub(super) receiving: StationSet,
    /// Stations that started receiving at this instant.
    pub(super) fresh: InstantSet,
    /// Stations that still receive each frame, by word index of `rx_powers`.
    pub(super) followers: Vec<u64>,
    /// Stations that will not be able to read the frame they are receiving.
    pub(super) corrupted: StationSet,
    /// Stations that did not read the last frame they received, so that EIFS applies.
    pub(super) eifs_pending: StationSet,
}

/// The stations that read each modulation class, if these are the newest that they read; empty if nothing is given.
fn readers(newest: &[ModulationClass]) -> Vec<StationSet> {
    if newest.is_empty() {
        return vec![];
    }
    let readers_of = |class: ModulationClass| {
        let mut readers = StationSet::none(newest.len());
        (0..).zip(newest).for_each(|(station, newest)| readers.put(station, class <= *newest));
        readers
    };
    ModulationClass::ALL.into_iter().map(readers_of).collect()
}

impl Signals {
    pub fn new(settings: SignalSettings, links: &RadioLinks) -> Self {
        let SignalSettings { reception, fading, chances, newest } = settings;
        assert!(newest.is_empty() || newest.len() == links.stations(), "it is known what every station reads");
        assert_eq!(chances.len(), links.stations(), "every station has its chances");
        let varies = !matches!(fading, Fading::None) || links.change();
        let by_total = reception.carrier_sense == CarrierSense::Total;
        let powers_matter = reception.capture != CaptureEffect::None || by_total || reception.spoils == Spoils::Bits;
        assert!(
            links.has_powers() || !(powers_matter || varies),
            "capture, fading, bit errors and sensing by power need powers"
        );
        let stations = links.stations();
        let threshold = Threshold::new(&reception);
        let none = StationSet::none(stations);
        let mut noise: Vec<f64> = links.levels().iter().map(|levels| levels.noise).collect();
        noise.resize(stations, 0.0);
        let bound = |to, power| match varies {
            true => f64::INFINITY,
            false => threshold.bound(power, noise[to as usize]),
        };
        let rx_powers = RxPowers::new(links, bound);
        Self {
            followers: vec![0; rx_powers.words()],
            rx_powers,
            bits: (reception.spoils == Spoils::Bits).then(BitErrors::tables),
            readers: readers(&newest),
            capture: reception.capture,
            threshold,
            by_total,
            powers_matter,
            fading,
            varies,
            overlap: None,
            constant: !varies && links.misses().is_empty() && reception.spoils != Spoils::Bits && !by_total,
            chances,
            noise,
            received: vec![Received::default(); whole_blocks(stations)],
            reception_errors: vec![
                ReceptionErrors::default();
                if reception.spoils == Spoils::Bits { stations } else { 0 }
            ],
            all: vec![0.0; whole_blocks(stations)],
            limits: vec![f64::INFINITY; whole_blocks(stations)],
            frames: CountSet::new(stations),
            sensed: CountSet::new(stations),
            over: none.clone(),
            sends: none.clone(),
            receiving: none.clone(),
            fresh: InstantSet::none(stations),
            corrupted: none.clone(),
            eifs_pending: none,
        }
    }

    /// Without powers: a frame is lost if its receiver senses another one during it.
    pub fn without_powers(links: &RadioLinks) -> Self {
        let reception = Reception { capture: CaptureEffect::None, ..Reception::default() };
        let chances = vec![stream(0, "signal", ""); links.stations()];
        Self::new(SignalSettings { reception, fading: Fading::None, chances, newest: vec![] }, links)
    }

    /// Whether a station senses a frame.
    #[inline]
    pub fn is_busy(&self, station: u32) -> bool {
        let (word, bit) = place(station);
        self.busy(word) & bit != 0
    }

    /// Whether a station senses several frames.
    #[inline]
    pub fn is_crowded(&self, station: u32) -> bool {
        let (word, bit) = place(station);
        (self.sensed.several(word) | self.over.of(word) & self.frames.several(word)) & bit != 0
    }

    /// Stations of a word that sense a frame.
    #[inline]
    pub(super) fn busy(&self, word: usize) -> u64 {
        self.sensed.any(word) | self.over.of(word)
    }

    /// Noise and total power of all frames at a station, in the channels that it uses to read the frame of `sender`.
    #[inline]
    fn noise_and_power(&self, sender: u32, station: u32) -> (f64, f64) {
        let noise = self.noise[station as usize];
        match &self.overlap {
            None => (noise, self.all[station as usize]),
            Some(overlap) => overlap.noise_and_power(station, sender, noise),
        }
    }

    /// Whether the frame of `sender`, with power `power`, exceeds the reception threshold; `other` is the power of
    /// another single frame.
    #[inline]
    pub(super) fn exceeds_threshold(&self, sender: u32, power: f64, station: u32, other: f64) -> bool {
        let (noise, all) = self.noise_and_power(sender, station);
        self.threshold.is_met(power, noise, all, other)
    }

    /// Whether nothing but noise interferes with the frame of `sender` that `station` receives.
    pub fn is_undisturbed(&self, station: u32, sender: u32) -> bool {
        if self.capture == CaptureEffect::None {
            return !self.is_crowded(station);
        }
        let rival =
            if self.threshold.by == Interference::Strongest { self.strongest_but(station, sender) } else { 0.0 };
        self.exceeds_threshold(sender, self.received[station as usize].power, station, rival)
    }

    /// Power of the strongest frame at a station, not counting the frame of `sender`.
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

    /// Whether ns-2's receiver model applies, which has power levels but no bit errors.
    pub fn are_those_of_ns2(&self) -> bool {
        let captures = self.capture == CaptureEffect::First && self.threshold.by == Interference::Strongest;
        self.bits.is_none() && (captures || self.capture == CaptureEffect::None)
    }

    /// Whether a frame can be captured in the presence of another.
    pub fn captures(&self) -> bool {
        self.capture != CaptureEffect::None
    }

    /// Whether the frame that `station` receives stands out from a frame of this power.
    pub fn keeps_reception(&self, station: u32, power: f64) -> bool {
        self.exceeds_threshold(self.sender_at(station), self.received[station as usize].power, station, power)
    }

    /// Whether a frame of `sender` with this power stands out from the frame that `station` receives.
    pub fn captures_reception(&self, sender: u32, station: u32, power: f64) -> bool {
        self.exceeds_threshold(sender, power, station, self.received[station as usize].power)
    }

    /// The sender whose frame `station` is receiving, if any.
    #[inline]
    pub fn sender_at(&self, station: u32) -> u32 {
        self.received[station as usize].sender
    }

    /// Sets the frame that `station` starts to receive.
    #[inline]
    pub fn set_received(&mut self, station: u32, sender: u32, power: f64) {
        self.received[station as usize] = Received { power, sender };
    }

    /// Lets these stations of a word start to receive the frame of `sender`.
    #[inline]
    pub(super) fn follow(&mut self, now: Time, sender: u32, (at, rx): (usize, &RxWord), bits: u64) {
        let word = rx.word as usize;
        *self.receiving.of_mut(word) |= bits;
        self.followers[at] |= bits;
        self.fresh.add(word, now, bits);
        if self.bits.is_some() || self.varies || self.threshold.by == Interference::Strongest {
            return self.follow_general(now, sender, rx, bits);
        }
        let (received, powers) = (&mut self.received[rx.stations()], self.rx_powers.powers(rx));
        let limits = &mut self.limits[rx.stations()][..received.len()];
        let (powers, bounds) = (&powers[..received.len()], &self.rx_powers.bounds(rx)[..received.len()]);
        for place in each_from(0, bits >> rx.first()).map(|place| place as usize) {
            if place >= received.len() {
                break; // bounds check for the compiler
            }
            received[place] = Received { power: powers[place], sender };
            limits[place] = bounds[place];
        }
    }

    /// Like [`Self::follow`], if limits are not precomputed.
    #[cold]
    fn follow_general(&mut self, now: Time, sender: u32, rx: &RxWord, bits: u64) {
        for station in each(rx.word as usize, bits) {
            let power = self.rx_powers.power(rx, station);
            self.set_received(station, sender, power);
            if let Some(state) = self.reception_errors.get_mut(station as usize) {
                *state = ReceptionErrors { log_success: 0.0, computed_until: now, disturbed: false };
                continue;
            }
            if self.overlap.is_some() {
                continue; // interference is checked when it arrives
            }
            self.limits[station as usize] = match self.threshold.by {
                Interference::Sum => self.threshold.bound(power, self.noise[station as usize]),
                Interference::Strongest => self.threshold.rival(power),
            };
        }
    }

    /// Ends the reception of `station`.
    pub fn leave(&mut self, station: u32) {
        let (word, bit) = place(station);
        self.receiving.put(station, false);
        let at = self.rx_powers.place(self.sender_at(station), word);
        self.followers[at] &= !bit;
    }

    /// The chunk since the last call of the frame that `station` receives; must be called before conditions change.
    pub(super) fn chunk(&mut self, station: u32, now: Time) -> Option<Chunk> {
        let (word, bit) = place(station);
        let (noise, power) = (self.noise[station as usize], self.received[station as usize].power);
        let (_, all) = self.noise_and_power(self.sender_at(station), station);
        let interference = (all - power).max(0.0);
        let state = &mut self.reception_errors[station as usize];
        if state.computed_until == now {
            return None;
        }
        let from = std::mem::replace(&mut state.computed_until, now);
        state.disturbed |= self.frames.several(word) & bit != 0;
        Some(Chunk { from, power, noise, interference })
    }

    /// Accounts for bit errors in this chunk of a pre-HT frame that `station` is receiving.
    pub(super) fn accumulate_errors(
        &mut self,
        station: u32,
        now: Time,
        chunk: &Chunk,
        transmission: &Transmission,
        timing: &Timing,
    ) {
        let Some(bits) = self.bits else { return };
        let state = &mut self.reception_errors[station as usize];
        let from = chunk.from;
        let sinr = chunk.power / (chunk.noise + chunk.interference);
        let dsss = timing.is_dsss(transmission.rate);
        let (header_mode, header_bits) = if dsss { (LegacyMode::Dsss1, 48.0) } else { (LegacyMode::Ofdm6, 24.0) };
        // The bits of the header are assumed to be spread over header and preamble.
        let preamble = timing.preamble_of(transmission.rate);
        let data_from = transmission.start + preamble;
        let data_until = transmission.end - timing.extension_of(transmission.rate);
        let header = now.min(data_from).saturating_since(from).as_secs() / preamble.as_secs() * header_bits;
        let data =
            now.min(data_until).saturating_since(from.max(data_from)).as_secs() * transmission.rate.as_bps() as f64;
        state.log_success += bits.log_survival(header_mode, sinr, header);
        state.log_success += bits.log_survival(LegacyMode::of(transmission.rate, !dsss), sinr, data);
    }

    /// Adds the power of a frame. Returns the stations at which it stands out, if powers do not vary, and the stations
    /// whose reception, if any, it corrupts.
    #[inline]
    pub(super) fn add(&mut self, rx: &RxWord, links: &RadioLinks) -> (u64, u64) {
        let word = rx.word as usize;
        self.sensed.add(word, rx.senses);
        if !self.powers_matter {
            return if self.overlap.is_some() { self.add_overlapping(rx) } else { (!0, 0) };
        }
        self.frames.add(word, rx.reached);
        let arrival = match self.threshold.by {
            Interference::Sum => self.add_powers(rx, |all, _| all),
            Interference::Strongest => self.add_powers(rx, |_, power| power),
        };
        if self.by_total {
            self.update_sensed_power(rx, links);
        }
        arrival
    }

    /// The stations in `bits` at which a frame stands out; used if its power was not known in advance.
    #[cold]
    pub(super) fn find_clear(&self, sender: u32, rx: &RxWord, bits: u64) -> u64 {
        bits_of(each(rx.word as usize, bits).filter(|station| {
            let power = self.rx_powers.power(rx, *station);
            self.exceeds_threshold(sender, power, *station, self.all[*station as usize] - power)
        }))
    }

    /// Like [`Self::add`], for powers only. `rival` selects, from total power and power of the frame, the value that
    /// others must exceed.
    #[inline]
    fn add_powers(&mut self, rx: &RxWord, rival: impl Fn(f64, f64) -> f64) -> (u64, u64) {
        // Slices of equal length and no branches, so that the loop is vectorised.
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

    /// Subtracts the power of the frame of `sender`.
    #[inline]
    pub(super) fn remove(&mut self, now: Time, sender: u32, rx: &RxWord, links: &RadioLinks) {
        let word = rx.word as usize;
        self.sensed.remove(word, rx.senses);
        if !self.powers_matter {
            if self.overlap.is_some() {
                self.remove_overlapping(now, sender, rx);
            }
            return;
        }
        self.frames.remove(word, rx.reached);
        // Rounding errors must not outlast the frames.
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
            self.update_sensed_power(rx, links);
        }
    }

    /// Updates whether total power counts as one more frame sensed.
    fn update_sensed_power(&mut self, rx: &RxWord, links: &RadioLinks) {
        let word = rx.word as usize;
        let any = self.frames.any(word);
        for station in each(word, rx.reached) {
            let (_, bit) = place(station);
            let over = any & bit != 0 && self.all[station as usize] >= links.levels()[station as usize].carrier_sense;
            self.over.put(station, over);
        }
    }
}
