//! Frames reach those who hear them, and fade: with powers, capture, fading, and a carrier sense that fails.
//!
//! A receiver follows one frame at a time. It can be read to its end if its power stands above noise and interference by
//! the capture threshold at every moment; what else is on the air only changes when a frame begins, so that is when it
//! is looked at. Of several frames that begin at the same instant the strongest counts as the first.

use wifair_engine::Stream;
use wifair_units::Time;

use super::super::{BROADCAST, Eifs};
use super::ear::NOTHING;
use super::links::{Levels, Links};
use super::reach::Fate;
use super::traffic::disturb;
use super::{Sending, Space};
use crate::phy::propagation::Fading;
use crate::phy::{Capture, CarrierSense, Interference, Reception};

/// Powers and chances of a medium.
#[derive(Clone, Debug)]
pub struct SignalSettings {
    /// How frames are told apart.
    pub reception: Reception,
    /// How the power of each frame varies.
    pub fading: Fading,
    /// For each station its draws of fading and of frames that it does not notice.
    pub chances: Vec<Stream>,
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
}

#[derive(Clone, Debug)]
pub(super) struct Signals {
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
        let SignalSettings { reception, fading, chances } = settings;
        assert_eq!(chances.len(), links.stations(), "every station has its chances");
        let fades = !matches!(fading, Fading::None);
        assert!(
            links.has_powers()
                || (reception.capture == Capture::None && reception.carrier_sense == CarrierSense::Frame && !fades),
            "capture, fading and sensing by power need powers"
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
        };
        Self {
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
            signals.arrived[place] = (power, senses);
            let level = &mut signals.levels[index];
            level.all += power;
            level.frames += 1;
            let ear = &mut self.ears[index];
            let was_idle = ear.sensed == 0;
            ear.sensed += u32::from(senses);
            signals.weigh(index, &mut ear.sensed);
            if ear.sends {
                continue;
            }
            let busy = ear.sensed > 0;
            if self.meet(&mut signals, now, sender, link.to, power, senses, reads, was_idle) {
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
        let after_collision = self.access.eifs == Eifs::AfterCollision;
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
                signals.levels[station as usize].received = power;
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
            signals.levels[station as usize].received = power;
            if !clear && !after_collision && capture != Capture::First {
                ear.receives = NOTHING;
            }
            if was_read {
                disturb(&mut self.sendings[other as usize], station, &mut self.traffic);
            }
            return clear;
        } else if !signals.stands_out(level.received, &level, power) {
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
            signals.levels[station as usize].received = power;
        }
        if lost {
            disturb(&mut self.sendings[other as usize], station, &mut self.traffic);
        }
        takes_over
    }

    /// The frame of `sender` is over for all whom its signal reaches, except that its receiver (if it has one) does not go
    /// on yet.
    pub(super) fn fade_by_signal(&mut self, now: Time, sender: u32, sending: &Sending) -> Fate {
        let mut signals = self.signals.take().expect("signals are known");
        let check = self.nav_check(now, sending);
        let mut fate = Fate::default();
        if sending.to == BROADCAST {
            self.receivers.clear();
        }
        for place in self.links.range(sender) {
            let station = self.links.at(place).to;
            let index = station as usize;
            let (power, senses) = signals.arrived[place];
            let level = &mut signals.levels[index];
            level.frames -= 1;
            // Rounding must not outlast the frames.
            level.all = if level.frames == 0 { 0.0 } else { level.all - power };
            let ear = &mut self.ears[index];
            let was_busy = ear.sensed > 0;
            ear.sensed -= u32::from(senses);
            signals.weigh(index, &mut ear.sensed);
            if ear.receives == sender {
                fate.read |= self.receive(station, sender, sending, check);
            }
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
