//! Stations on channels that overlap, fully or in part.
//!
//! The power of a frame is spread over the 20 MHz channels in which it is sent. Each receiver adds up the power in its
//! primary 20 MHz channel and in its secondary channels ([`OperatingChannel`]). These sums determine:
//!
//! - Carrier sense. A frame is sensed if it has a preamble in the primary channel and is at least as strong there as a
//!   frame at the sensitivity level: -82 dBm in 20 MHz, and -79, -76 or -73 dBm in total for 40, 80 or 160 MHz (IEEE
//!   Std 802.11-2016, 21.3.18.5.3). Any other energy makes the primary channel busy if it adds up to -62 dBm (or to the
//!   carrier-sense level, if that is configured).
//! - Reception. A receiver can read data if its channel contains the whole PPDU and the PPDU covers its primary
//!   channel. Control frames are sent in each 20 MHz channel of the PPDU that they protect or answer (non-HT duplicate,
//!   10.7.6.6), and read in the receiver's primary channel. Interference and noise count in the channels in which a
//!   frame is read.
//! - Whether a secondary channel is busy: at -62, -59 or -56 dBm in the secondary 20, 40 or 80 MHz; with
//!   `detects_secondary` a PPDU in part of it is detected at -72 dBm, one of 80 MHz at -69 dBm (21.3.18.5.4).

use wifair_config::choice;
use wifair_phy::{Arrival, ChannelWidth, OperatingChannel, SEGMENTS};
use wifair_units::{Dbm, Duration, Time, counters};

use super::bitset::{each, place};
use super::radio_links::{RadioLevels, milliwatts};
use super::rx_power::RxWord;
use super::signal::Signals;
use super::{ExchangeStage, SpatialChannel};
use crate::edcaf::WidthCounters;
use crate::exchange::ExchangeFrame;
use crate::{Call, Eifs};

choice! {
    /// What a station does if it may send but a secondary channel that it needs has not been idle long enough.
    pub enum Bandwidth {
        /// It draws a new backoff from the same contention window.
        Static = "static" from "IEEE Std 802.11-2016, 10.22.2.5 e",
        /// It sends a narrower PPDU, in the widest part of its channel that is idle.
        Dynamic = "dynamic" from "IEEE Std 802.11-2016, 10.22.2.5 b to d",
    }
}

/// Channels of the stations.
#[derive(Clone, Debug)]
pub struct ChannelSettings {
    /// The channel of each station.
    pub channels: Vec<OperatingChannel>,
    /// What a sender does if a secondary channel is busy.
    pub bandwidth: Bandwidth,
    /// Whether PPDUs in secondary channels are also detected by their preambles, as from VHT on.
    pub detects_secondary: bool,
    /// Whether a CTS indicates how much of the RTS's width is idle at its sender, as from VHT on.
    pub signals_bandwidth: bool,
    /// How long a secondary channel must have been idle before a TXOP.
    pub idle_before: Duration,
}

counters! {
    /// Counters of a station on its channel since the start of the run.
    pub struct ChannelCounters {
        /// What it sent in 20, 40, 80 and 160 MHz.
        pub widths: [WidthCounters; SEGMENTS],
        /// Number of backoffs drawn again because a secondary channel was busy.
        pub held_back: u64,
    }
}

/// Energy at which the primary channel and the secondary ones are busy.
const ENERGY: [Dbm; SEGMENTS] = [Dbm(-62.0), Dbm(-62.0), Dbm(-59.0), Dbm(-56.0)];
/// Power at which a PPDU of 20, 40 or 80 MHz in a secondary channel is detected.
const DETECTION: [Dbm; SEGMENTS - 1] = [Dbm(-72.0), Dbm(-72.0), Dbm(-69.0)];

/// One of the four segments of a station's channel.
#[derive(Clone, Copy, Debug)]
struct ChannelSegment {
    /// Power of all frames, in mW.
    power: f64,
    /// Number of PPDUs detected by their preambles.
    detected: u32,
    /// Start of the current idle period or, if the segment is busy, of the last one.
    idle_since: Time,
    /// Since when it has been busy; [`Time::NEVER`] if it is idle.
    busy_since: Time,
}

impl ChannelSegment {
    fn update(&mut self, now: Time, threshold: f64) {
        if self.detected == 0 && self.power < threshold {
            if self.busy_since < Time::NEVER {
                (self.idle_since, self.busy_since) = (now, Time::NEVER);
            }
        } else if self.busy_since == Time::NEVER {
            self.busy_since = now;
        }
    }

    /// Whether the segment has been idle for `time`; a frame that begins at this instant is not noticed.
    fn was_idle(&self, now: Time, time: Duration) -> bool {
        self.busy_since >= now && self.idle_since + time <= now
    }
}

/// The current or last frame of a station.
#[derive(Clone, Copy, Debug, Default)]
struct SentFrame {
    /// Width in doublings of 20 MHz.
    width: usize,
    /// Whether it is sent in each 20 MHz channel, and read in one.
    is_duplicate: bool,
    /// Idle width at its receiver when it began, in doublings of 20 MHz.
    idle_at_receiver: u8,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Overlap {
    pub settings: ChannelSettings,
    /// Whether EIFS follows a frame whose preamble is read but whose data are too wide to be read.
    eifs_after_error: bool,
    /// The channel of each station, as an index among the different channels.
    kinds: Vec<usize>,
    /// Arrival of a frame by channel of the sender, width, and channel of the receiver; `None` for widths that the
    /// sender does not use.
    arrivals: Vec<Option<Arrival>>,
    different: usize,
    /// [`ENERGY`] and [`DETECTION`] in mW.
    energy: [f64; SEGMENTS],
    /// Power at which the primary channel of each station is busy, in mW.
    primary_energy: Vec<f64>,
    /// Whether `primary_energy` is the carrier-sense level.
    by_total: bool,
    detection: [f64; SEGMENTS - 1],
    segments: Vec<[ChannelSegment; SEGMENTS]>,
    /// Power of each sender's frame in the segments, by the index of its power among all powers.
    arriving: Vec<[f64; SEGMENTS]>,
    sent: Vec<SentFrame>,
    /// Time and sender of the frame that begins or ends.
    now: Time,
    sender: u32,
    counters: Vec<ChannelCounters>,
}

impl Overlap {
    fn new(
        settings: ChannelSettings,
        (primary_energy, by_total): (Vec<f64>, bool),
        powers: usize,
        eifs_after_error: bool,
    ) -> Self {
        let mut different: Vec<&OperatingChannel> = vec![];
        let kind = |channel| {
            different.iter().position(|known| *known == channel).unwrap_or_else(|| {
                different.push(channel);
                different.len() - 1
            })
        };
        let kinds: Vec<usize> = settings.channels.iter().map(kind).collect();
        let mut arrivals = vec![];
        for sender in &different {
            for width in &ChannelWidth::ALL[..SEGMENTS] {
                let arrival =
                    |receiver: &&OperatingChannel| (*width <= sender.width()).then(|| sender.arrival(*width, receiver));
                arrivals.extend(different.iter().map(arrival));
            }
        }
        let stations = kinds.len();
        let idle = ChannelSegment { power: 0.0, detected: 0, idle_since: Time::ZERO, busy_since: Time::NEVER };
        Self {
            different: different.len(),
            energy: ENERGY.map(milliwatts),
            primary_energy,
            by_total,
            detection: DETECTION.map(milliwatts),
            eifs_after_error,
            arrivals,
            segments: vec![[idle; SEGMENTS]; stations],
            arriving: vec![[0.0; SEGMENTS]; powers],
            sent: vec![SentFrame::default(); stations],
            now: Time::ZERO,
            sender: 0,
            counters: vec![ChannelCounters::default(); stations],
            kinds,
            settings,
        }
    }

    /// Arrival of the frame of `from` at `to`.
    fn arrival(&self, from: u32, to: u32) -> &Arrival {
        let [from_kind, to_kind] = [from, to].map(|station| self.kinds[station as usize]);
        let place = (from_kind * SEGMENTS + self.sent[from as usize].width) * self.different + to_kind;
        self.arrivals[place].as_ref().expect("nobody sends wider than its channel")
    }

    /// Noise and total power at `station`, in the channels in which it reads the frame of `sender`.
    pub fn noise_and_power(&self, station: u32, sender: u32, noise: f64) -> (f64, f64) {
        let SentFrame { width, is_duplicate, .. } = self.sent[sender as usize];
        let width = if is_duplicate || !self.arrival(sender, station).is_whole { 0 } else { width };
        let power = self.segments[station as usize][..=width].iter().map(|segment| segment.power).sum();
        (noise * f64::from(1_u32 << width), power)
    }

    /// Whether the energy in the primary channel makes it busy; unless total power counts, only if no frame is sensed.
    fn is_over(&self, station: u32, senses_frame: bool) -> bool {
        if senses_frame && !self.by_total {
            return false;
        }
        self.segments[station as usize][0].power >= self.primary_energy[station as usize]
    }

    /// The width that `station` may use at `now`, in doublings of 20 MHz.
    pub fn idle_width(&self, now: Time, station: u32) -> u8 {
        let own = self.settings.channels[station as usize].width() as usize;
        let is_idle = |segment: &&ChannelSegment| segment.was_idle(now, self.settings.idle_before);
        let secondary = &self.segments[station as usize][1..=own];
        u8::try_from(secondary.iter().take_while(is_idle).count()).expect("there are three secondary channels")
    }

    /// Adds the power of the sender's frame to the segments of `to`, or subtracts it.
    fn change(&mut self, to: u32, at: usize, is_added: bool) {
        let arrival = *self.arrival(self.sender, to);
        let width = self.sent[self.sender as usize].width;
        let (arriving, segments) = (self.arriving[at], &mut self.segments[to as usize]);
        for (segment, power) in segments.iter_mut().zip(arriving) {
            segment.power += if is_added { power } else { -power };
        }
        if let Some(secondary) = arrival.secondary.filter(|_| self.settings.detects_secondary)
            && arriving[secondary] >= self.detection[width]
        {
            let detected = &mut segments[secondary].detected;
            *detected = if is_added { *detected + 1 } else { *detected - 1 };
        }
        for (segment, threshold) in segments.iter_mut().zip(self.energy).skip(1) {
            segment.update(self.now, threshold);
        }
    }
}

impl Signals {
    /// Adds the power of the current sender's frame. The first set returned is empty; the second holds the stations
    /// whose reception it corrupts.
    #[cold]
    pub(super) fn add_overlapping(&mut self, rx: &RxWord) -> (u64, u64) {
        let word = rx.word as usize;
        self.frames.add(word, rx.reached);
        let mut exceeded = 0;
        for station in each(word, rx.reached) {
            let Some(overlap) = &mut self.overlap else { continue };
            overlap.change(station, rx.at(station), true);
            let (_, bit) = place(station);
            let over = overlap.is_over(station, self.sensed.any(word) & place(station).1 != 0);
            self.over.put(station, over);
            if self.bits.is_none() && self.receiving.has(station) {
                let (sender, power) = (self.sender_at(station), self.received[station as usize].power);
                exceeded |= if self.exceeds_threshold(sender, power, station, 0.0) { 0 } else { bit };
            }
        }
        (0, exceeded)
    }

    /// Subtracts the power of the frame of `sender`.
    #[cold]
    pub(super) fn remove_overlapping(&mut self, now: Time, sender: u32, rx: &RxWord) {
        let word = rx.word as usize;
        self.frames.remove(word, rx.reached);
        let Some(overlap) = &mut self.overlap else { return };
        overlap.now = now;
        overlap.sender = sender;
        for station in each(word, rx.reached) {
            overlap.change(station, rx.at(station), false);
            if self.frames.any(word) & place(station).1 == 0 {
                // Rounding errors must not outlast the frames.
                overlap.segments[station as usize].iter_mut().for_each(|segment| segment.power = 0.0);
            }
            let over = overlap.is_over(station, self.sensed.any(word) & place(station).1 != 0);
            self.over.put(station, over);
        }
    }

    /// Sets EIFS at the stations in `bits` that read the preamble of a new frame but not its data, which are too wide.
    /// These stations must be receiving no other frame.
    pub(super) fn refuse_too_wide(&mut self, rx: &RxWord, bits: u64) {
        let Some(overlap) = self.overlap.as_ref().filter(|overlap| overlap.eifs_after_error) else { return };
        for station in each(rx.word as usize, bits & !rx.reads) {
            if !overlap.sent[overlap.sender as usize].is_duplicate && !overlap.arrival(overlap.sender, station).is_whole
            {
                self.eifs_pending.put(station, true);
            }
        }
    }

    /// Counts a new backoff of `station` because of a busy secondary channel.
    pub(super) fn hold_back(&mut self, station: u32) {
        if let Some(overlap) = &mut self.overlap {
            overlap.counters[station as usize].held_back += 1;
        }
    }
}

impl SpatialChannel {
    /// Sets channels that overlap; must be called after [`SpatialChannel::with_signals`].
    ///
    /// # Panics
    /// If the number of channels does not match, or powers are not known.
    #[must_use]
    pub fn with_channels(mut self, settings: ChannelSettings) -> Self {
        assert_eq!(settings.channels.len(), self.stations.len(), "every station has a channel");
        assert!(self.links.has_powers() && self.signals.captures(), "what overlaps is told apart by its power");
        let eifs_after_error = self.access.eifs == Eifs::AfterError;
        let powers = self.signals.rx_powers.powers_in_all();
        let by_total = self.signals.by_total;
        let energy = |level: &RadioLevels| if by_total { level.carrier_sense } else { milliwatts(ENERGY[0]) };
        let energy = (self.links.levels().iter().map(energy).collect(), by_total);
        self.signals.overlap = Some(Box::new(Overlap::new(settings, energy, powers, eifs_after_error)));
        self.signals.varies = true;
        self.signals.constant = false;
        self.signals.powers_matter = false; // this applies to a single channel
        self.signals.by_total = true;
        self.learn_audiences();
        self
    }

    /// Counters of each station on its channel; empty if channels do not overlap.
    #[must_use]
    pub fn channel_counters(&self) -> &[ChannelCounters] {
        self.signals.overlap.as_ref().map_or(&[], |overlap| &overlap.counters)
    }

    /// Width of the frame that `sender` sends, in doublings of 20 MHz.
    fn width_of(&self, sender: u32) -> usize {
        let transmission = &self.transmissions[sender as usize];
        let initiator = match transmission.kind {
            ExchangeFrame::CfEnd => self.stations[sender as usize].peer, // the holder of the TXOP
            kind if kind.is_response() => transmission.to,
            _ => sender,
        };
        self.edca.as_ref().map_or(0, |edca| edca.edcafs.width_of(edca.current_of(initiator)))
    }

    /// Computes the arrival of the frame that `sender` begins at all stations.
    pub(super) fn spread(&mut self, now: Time, sender: u32) {
        let width = self.width_of(sender);
        let signals = &mut self.signals;
        let Some(overlap) = &mut signals.overlap else { return };
        let width = width.min(overlap.settings.channels[sender as usize].width() as usize);
        let transmission = &self.transmissions[sender as usize];
        let is_duplicate = transmission.kind != ExchangeFrame::Data;
        overlap.now = now;
        overlap.sender = sender;
        let is_rts = transmission.kind == ExchangeFrame::Rts;
        let idle_at_receiver = if is_rts { overlap.idle_width(now, transmission.to) } else { 0 };
        overlap.sent[sender as usize] = SentFrame { width, is_duplicate, idle_at_receiver };
        if !is_duplicate {
            overlap.counters[sender as usize].widths[width].add(transmission.end - transmission.start);
        }
        let mut rx_row = signals.rx_powers.of(sender);
        for link_place in self.links.range(sender) {
            let to = self.links.at(link_place).to;
            while signals.rx_powers.at(rx_row.start).word != to / 64 {
                rx_row.start += 1;
            }
            let draws = &mut signals.chances[to as usize];
            let total = self.links.power(link_place) * signals.fading.draw(draws);
            let Arrival { shares, has_preamble, is_whole, .. } = *overlap.arrival(sender, to);
            let arriving = shares.map(|share| total * share);
            let levels = &self.links.levels()[to as usize];
            let reads = has_preamble && (is_duplicate || is_whole) && arriving[0] >= levels.sensitivity;
            let senses = has_preamble && (arriving[0] >= levels.carrier_sense || reads);
            let power = if is_whole && !is_duplicate { total } else { arriving[0] };
            let reaches = arriving.iter().any(|power| *power > 0.0);
            signals.rx_powers.set(rx_row.start, to, power, senses, reads);
            let at = signals.rx_powers.reach(rx_row.start, to, reaches);
            overlap.arriving[at] = arriving;
        }
    }
}

impl SpatialChannel {
    /// Whether the receiver of an RTS of `sender` responds: all secondary channels used by the RTS are idle or, with
    /// dynamic bandwidth, any part of them, to which exchange and CTS are then narrowed (10.3.2.7).
    pub(super) fn answers_in_width(&mut self, sender: u32) -> bool {
        let Some(overlap) = self.signals.overlap.as_ref().filter(|overlap| overlap.settings.signals_bandwidth) else {
            return true;
        };
        let SentFrame { width, idle_at_receiver, .. } = overlap.sent[sender as usize];
        if usize::from(idle_at_receiver) >= width {
            return true;
        }
        let is_dynamic = overlap.settings.bandwidth == Bandwidth::Dynamic;
        if is_dynamic && let Some(edca) = self.edca.as_deref_mut() {
            edca.edcafs.narrow(edca.current_of(sender), idle_at_receiver);
        }
        is_dynamic
    }

    /// Removes, from the stations about to send, those that must draw a new backoff because a secondary channel is
    /// busy. Sets the width of the others' TXOP (10.22.2.5 for VHT; for HT the rules of 20/40 MHz operation).
    #[cold]
    pub(super) fn ask_secondary_channels(&mut self, call: &mut Call<'_>) {
        if self.signals.overlap.is_none() {
            return;
        }
        let mut starters = std::mem::take(&mut self.starters);
        starters.retain(|sender| {
            let Some(overlap) = &self.signals.overlap else { return true };
            let (policy, idle) = (overlap.settings.bandwidth, overlap.idle_width(call.now, *sender));
            self.stations[*sender as usize].stage != ExchangeStage::Rest || self.opens_txop(*sender, idle, policy, call)
        });
        self.starters = starters;
    }
}

#[cfg(test)]
mod tests {
    use wifair_units::Count;

    use super::*;

    /// Counters at two times and by hand what lies between them: 5 - 2 PPDUs of 20 MHz in 900 - 300 us, one of 80 MHz
    /// in 200 us, and 7 - 4 backoffs drawn again.
    #[test]
    fn counters_of_an_interval_are_the_differences() {
        let counters = |narrow: (u64, u64), wide: (u64, u64), held_back| {
            let of = |(ppdus, us)| WidthCounters { ppdus, air: Duration::from_micros(us) };
            let none = WidthCounters::default();
            ChannelCounters { widths: [of(narrow), none, of(wide), none], held_back }
        };
        let (then, now) = (counters((2, 300), (0, 0), 4), counters((5, 900), (1, 200), 7));
        assert_eq!(now.minus(&then), counters((3, 600), (1, 200), 3));
    }
}
