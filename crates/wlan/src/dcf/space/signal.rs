//! Frames reach those who hear them, and fade: with powers, capture, fading, and a carrier sense that fails.
//!
//! A receiver follows one frame at a time. It can be read to its end if its power stands above noise and interference by
//! the capture threshold at every moment; what else is on the air only changes when a frame begins, so that is when it
//! is looked at. Or bits go wrong, at a rate that changes with the interference: then each stretch of constant interference
//! has its part in the probability that the whole frame is right, header and data each by its own modulation. Of several
//! frames that begin at the same instant the strongest counts as the first.

use wifair_engine::Stream;
use wifair_units::Time;

use super::super::{BROADCAST, Eifs};
use super::ear::NOTHING;
use super::links::{Levels, Link, Links};
use super::ns2::Arrival;
use super::reach::Outcome;
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

/// What a station has in its ear.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Power of all frames together, in mW.
    all: f64,
    /// Power of the frame that is being received, in mW.
    received: f64,
    noise: f64,
    sensitivity: f64,
    carrier_sense: f64,
    /// Frames that make up `all`.
    frames: u32,
    /// All together make the medium busy, which counts as one more frame sensed.
    over: bool,
    /// Natural logarithm of the probability that the frame is right so far.
    log_right: f64,
    /// Until when that is reckoned.
    reckoned: Time,
    /// Another frame was on the air with it.
    disturbed: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Signals {
    bits: Option<&'static BitErrors>,
    legacy: Vec<bool>,
    capture: Capture,
    /// The capture threshold as a ratio.
    ratio: f64,
    interference: Interference,
    by_total: bool,
    fading: Fading,
    fades: bool,
    chances: Vec<Stream>,
    levels: Vec<Level>,
    /// Power with which the frame under way on each link arrives, in mW, and whether it is sensed.
    arrived: Vec<(f64, bool)>,
}

impl Signals {
    pub fn new(settings: SignalSettings, links: &Links) -> Self {
        let SignalSettings { reception, fading, chances, legacy } = settings;
        assert!(legacy.is_empty() || legacy.len() == links.stations(), "it is known what every station reads");
        assert_eq!(chances.len(), links.stations(), "every station has its chances");
        let fades = !matches!(fading, Fading::None);
        assert!(
            links.has_powers()
                || (reception.capture == Capture::None
                    && reception.carrier_sense == CarrierSense::Frame
                    && reception.spoils == Spoils::Threshold
                    && !fades),
            "capture, fading, bit errors and sensing by power need powers"
        );
        let unknown = Levels { noise: 0.0, sensitivity: 0.0, carrier_sense: 0.0 };
        let level = |levels: &Levels| Level {
            all: 0.0,
            received: 0.0,
            noise: levels.noise,
            sensitivity: levels.sensitivity,
            carrier_sense: levels.carrier_sense,
            frames: 0,
            over: false,
            log_right: 0.0,
            reckoned: Time::ZERO,
            disturbed: false,
        };
        Self {
            bits: (reception.spoils == Spoils::Bits).then(BitErrors::tables),
            legacy,
            capture: reception.capture,
            ratio: libm::pow(10.0, reception.capture_threshold.0 / 10.0),
            interference: reception.interference,
            by_total: reception.carrier_sense == CarrierSense::Total,
            fading,
            fades,
            chances,
            levels: if links.has_powers() {
                links.levels().iter().map(level).collect()
            } else {
                vec![level(&unknown); links.stations()]
            },
            arrived: vec![(0.0, false); links.len()],
        }
    }

    /// Whether a frame of this power stands out; `other`: the power of a single other frame.
    #[inline]
    fn stands_out(&self, power: f64, level: &Level, other: f64) -> bool {
        match self.interference {
            Interference::Sum => power >= self.ratio * (level.noise + (level.all - power).max(0.0)),
            Interference::Strongest => power >= self.ratio * other,
        }
    }

    /// Whether the frame that is being received is lost to one of this power that begins; `together`: at the same instant.
    fn fails(&self, together: bool, reads: bool, power: f64, level: &Level) -> bool {
        if self.bits.is_some() && !together {
            // Bits decide, unless the receiver turns to the new frame.
            return self.capture == Capture::Late && reads && self.stands_out(power, level, level.received);
        }
        !self.stands_out(level.received, level, power)
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
        let level = &self.levels[station as usize];
        self.stands_out(level.received, level, power)
    }

    /// Whether a frame of this power stands out above the one that `station` receives.
    pub fn is_drowned(&self, station: u32, power: f64) -> bool {
        let level = &self.levels[station as usize];
        self.stands_out(power, level, level.received)
    }

    /// `station` begins to receive a frame of this power.
    pub fn follow(&mut self, station: u32, now: Time, power: f64) {
        let level = &mut self.levels[station as usize];
        level.received = power;
        level.log_right = 0.0;
        level.reckoned = now;
        level.disturbed = false;
    }

    /// Reckons what bits went wrong in the frame that `station` is receiving, before what disturbs it changes.
    fn reckon(&mut self, station: u32, now: Time, sending: &Sending, timing: &Timing) {
        let Some(bits) = self.bits else { return };
        let level = &mut self.levels[station as usize];
        if level.reckoned == now {
            return;
        }
        let from = std::mem::replace(&mut level.reckoned, now);
        level.disturbed |= level.frames > 1;
        let sinr = level.received / (level.noise + (level.all - level.received).max(0.0));
        let dsss = timing.is_dsss(sending.rate);
        let (header_mode, header_bits) =
            if dsss { (Mode::Dsss1, 48.0) } else { (Mode::Ofdm(Constellation::Bpsk, Code::Half), 24.0) };
        // The bits of the header are spread over it and the preamble.
        let preamble = timing.preamble_of(sending.rate);
        let data_from = sending.start + preamble;
        let data_until = sending.end - timing.extension_of(sending.rate);
        let header = now.min(data_from).saturating_since(from).as_secs() / preamble.as_secs() * header_bits;
        let data = now.min(data_until).saturating_since(from.max(data_from)).as_secs() * sending.rate.as_bps() as f64;
        level.log_right += bits.log_survival(header_mode, sinr, header);
        level.log_right += bits.log_survival(Mode::of(sending.rate, !dsss), sinr, data);
    }

    /// Counts the power of all frames as one more frame sensed, or not any more.
    #[inline]
    fn weigh(&mut self, station: usize, sensed: &mut u32) {
        if !self.by_total {
            return;
        }
        let level = &mut self.levels[station];
        let over = level.frames > 0 && level.all >= level.carrier_sense;
        *sensed = *sensed + u32::from(over) - u32::from(level.over);
        level.over = over;
    }
}

impl Space {
    /// A frame of `sender` reaches those whom its signal reaches.
    pub(super) fn reach_by_signal(&mut self, now: Time, sender: u32, end: Time) {
        let mut signals = self.signals.take().expect("signals are known");
        let dsss = self.access.timing.is_dsss(self.sendings[sender as usize].rate);
        let mut readers = 0;
        for place in self.links.range(sender) {
            let link = self.links.at(place);
            let index = link.to as usize;
            let mut power = self.links.power(place);
            let (mut senses, mut reads) = (link.senses, link.reads);
            if signals.fades {
                power *= signals.fading.draw(&mut signals.chances[index]);
                let level = &signals.levels[index];
                reads = power >= level.sensitivity;
                senses = reads || power >= level.carrier_sense;
            }
            let miss = self.links.misses().get(place);
            if miss.is_some_and(|miss| signals.chances[index].chance(*miss)) {
                (senses, reads) = (false, false);
            }
            reads &= dsss || !signals.legacy.get(index).copied().unwrap_or(false);
            self.reckon_reception(&mut signals, link.to, now);
            signals.arrived[place] = (power, senses);
            let level = &mut signals.levels[index];
            level.all += power;
            level.frames += 1;
            let ear = &mut self.ears[index];
            let was_idle = ear.sensed == 0;
            ear.sensed += u32::from(senses);
            signals.weigh(index, &mut ear.sensed);
            let sends = ear.sends;
            if self.like_ns2 && senses {
                let arrival = Arrival { sender, station: link.to, now, end, reads, power };
                readers += u32::from(self.arrive(Some(&mut signals), &arrival));
            }
            if sends {
                continue;
            }
            let busy = self.ears[index].sensed > 0;
            if !self.like_ns2 && self.meet(&mut signals, now, sender, link.to, power, senses, reads, was_idle) {
                readers += 1;
            }
            if was_idle && busy {
                self.fall_busy(now, link.to, end);
            } else if busy {
                let ear = &self.ears[index];
                if ear.contends && !ear.engaged {
                    self.calendar.postpone(link.to, end);
                }
            }
        }
        self.sendings[sender as usize].readers = readers;
        self.signals = Some(signals);
    }

    /// Reckons what bits went wrong at `station` until `now`.
    #[inline]
    fn reckon_reception(&self, signals: &mut Signals, station: u32, now: Time) {
        let ear = &self.ears[station as usize];
        if signals.bits.is_some() && ear.receives != NOTHING && !ear.spoilt {
            signals.reckon(station, now, &self.sendings[ear.receives as usize], &self.access.timing);
        }
    }

    /// A frame of `sender` arrives at `station`, which does not send. Whether it will be read, if nothing more happens.
    #[allow(clippy::too_many_arguments)]
    fn meet(
        &mut self,
        signals: &mut Signals,
        now: Time,
        sender: u32,
        station: u32,
        power: f64,
        senses: bool,
        reads: bool,
        was_idle: bool,
    ) -> bool {
        let after_collision = matches!(self.access.eifs, Eifs::AfterCollision | Eifs::Nav);
        let ear = &mut self.ears[station as usize];
        let capture = signals.capture;
        let level = signals.levels[station as usize];
        if ear.receives == NOTHING {
            let others = level.all - power;
            let may_follow = match capture {
                Capture::None => was_idle && senses && (reads || after_collision),
                Capture::First => was_idle && senses,
                Capture::Header | Capture::Late => reads && signals.stands_out(power, &level, others),
            };
            if may_follow {
                let clear = capture == Capture::None || signals.stands_out(power, &level, others);
                ear.receives = sender;
                ear.since = now;
                ear.spoilt = !(reads && clear);
                signals.follow(station, now, power);
                return !ear.spoilt;
            }
            ear.garbled |= senses && after_collision && matches!(capture, Capture::Header | Capture::Late);
            return false;
        }
        let other = ear.receives;
        let was_read = !ear.spoilt;
        let together = ear.since == now;
        if capture == Capture::None {
            ear.spoilt |= senses;
            if senses && together && !after_collision {
                ear.receives = NOTHING;
            }
        } else if together && reads && power > level.received {
            // The stronger of the two is the first.
            let clear = signals.stands_out(power, &level, level.received);
            ear.receives = sender;
            ear.spoilt = !clear;
            signals.follow(station, now, power);
            if !clear && !after_collision && capture != Capture::First {
                ear.receives = NOTHING;
            }
            if was_read {
                disturb(&mut self.sendings[other as usize], station, &mut self.traffic);
            }
            return clear;
        } else if signals.fails(together, reads, power, &level) {
            ear.spoilt = true;
            if together && !after_collision && capture != Capture::First {
                ear.receives = NOTHING; // neither of two headers is read
            }
        }
        let lost = was_read && ear.spoilt;
        let takes_over = capture == Capture::Late
            && ear.spoilt
            && !together
            && reads
            && signals.stands_out(power, &level, level.received);
        if takes_over {
            ear.receives = sender;
            ear.since = now;
            ear.spoilt = false;
            signals.follow(station, now, power);
        }
        if lost {
            disturb(&mut self.sendings[other as usize], station, &mut self.traffic);
        }
        takes_over
    }

    /// The frame of `sender` is over for all whom its signal reaches, except that its receiver (if it has one) does not go
    /// on yet.
    pub(super) fn fade_by_signal(&mut self, now: Time, sender: u32, sending: &Sending) -> Outcome {
        let mut signals = self.signals.take().expect("signals are known");
        let check = self.nav_check(now, sending);
        let after_any = signals.capture == Capture::First && self.access.eifs == Eifs::AfterCollision;
        let mut fate = Outcome::default();
        let tapped = self.tap.is_some();
        if sending.to == BROADCAST {
            self.receivers.clear();
        }
        for place in self.links.range(sender) {
            let Link { to: station, reads, .. } = self.links.at(place);
            let index = station as usize;
            let (power, senses) = signals.arrived[place];
            self.reckon_reception(&mut signals, station, now);
            let mut by_bits = false;
            if self.ears[index].receives == sender && signals.bits.is_some() && !self.ears[index].spoilt {
                let level = &signals.levels[index];
                let right = libm::exp(level.log_right);
                let disturbed = level.disturbed;
                let lost = !signals.chances[index].chance(right);
                self.ears[index].spoilt = lost;
                fate.met |= lost && disturbed && station == sending.to;
                by_bits = lost && !disturbed;
            }
            if tapped {
                self.record_hearer(station, sender, reads, by_bits);
            }
            let level = &mut signals.levels[index];
            level.frames -= 1;
            // Rounding must not outlast the frames.
            level.all = if level.frames == 0 { 0.0 } else { level.all - power };
            let ear = &mut self.ears[index];
            let was_busy = ear.sensed > 0;
            ear.sensed -= u32::from(senses);
            signals.weigh(index, &mut ear.sensed);
            // ns-2: whatever else was on the air, while another frame was received or one sent, leaves EIFS behind.
            ear.garbled |= senses && after_any && ear.receives != sender;
            if ear.receives == sender {
                fate.read |= match self.like_ns2 {
                    true => self.depart(now, station, sender, sending, check),
                    false => self.receive(station, sender, sending, check),
                };
            }
            self.extend_nav(now, station);
            if station == sending.to {
                fate.sensed = was_busy;
            } else if was_busy && self.ears[index].sensed == 0 {
                self.fall_idle(now, station);
            }
        }
        self.signals = Some(signals);
        fate
    }
}
