//! Rate adaptation: the rate that each station uses towards each receiver.

use wifair_engine::Stream;
use wifair_units::{BitRate, Time};

use wifair_phy::Timing;
use wifair_phy::rate::{Adaptation, RateControl, RateController};

/// Rate adaptation of a station for its unicast data frames.
#[derive(Clone, Debug)]
pub struct RateSettings {
    /// The algorithm.
    pub adaptation: Adaptation,
    /// Available rates, lowest first. The station starts with the highest that does not exceed its fixed rate.
    pub ladder: Vec<BitRate>,
    /// Random stream of the algorithm.
    pub draws: Stream,
}

#[derive(Clone, Debug)]
struct SenderRates {
    settings: RateSettings,
    /// The state towards each receiver so far, by receiver number.
    controls: Vec<(u32, RateController)>,
    /// Number of attempts made for the current frame.
    attempt: u32,
    /// Indices of the state and the rate used for the current attempt.
    used: Option<(usize, usize)>,
}

#[derive(Clone, Debug)]
pub(super) struct RateChoices(Vec<SenderRates>);

impl RateChoices {
    pub fn new(settings: Vec<RateSettings>) -> Self {
        let sender = |settings| SenderRates { settings, controls: vec![], attempt: 0, used: None };
        Self(settings.into_iter().map(sender).collect())
    }

    /// Starts a new frame of `station`.
    pub fn begin_frame(&mut self, station: u32) {
        self.0[station as usize].attempt = 0;
    }

    /// The number of the next attempt for the current frame, from 0.
    pub fn next_attempt(&mut self, station: u32) -> u32 {
        let sender = &mut self.0[station as usize];
        sender.attempt += 1;
        sender.attempt - 1
    }

    /// Chooses the rate for the next attempt of `station` to send a frame to `to`, and says how many attempts are
    /// planned for the frame; `None` if its rate is fixed. `base` is the station's fixed rate.
    #[allow(clippy::too_many_arguments)]
    pub fn choose(
        &mut self,
        now: Time,
        station: u32,
        to: u32,
        base: BitRate,
        attempt: u32,
        timing: &Timing,
        cw_min: u32,
    ) -> Option<(BitRate, Option<u8>)> {
        let sender = &mut self.0[station as usize];
        if sender.settings.adaptation == Adaptation::Fixed {
            return None;
        }
        let place = match sender.controls.binary_search_by_key(&to, |(to, _)| *to) {
            Ok(place) => place,
            Err(place) => {
                let SenderRates { settings: RateSettings { adaptation, ladder, .. }, .. } = sender;
                let start = ladder.iter().rposition(|rate| *rate <= base).unwrap_or(0);
                let control = RateController::new(adaptation, ladder, start, timing, cw_min);
                sender.controls.insert(place, (to, control.expect("the rate is not fixed")));
                place
            }
        };
        let control = &mut sender.controls[place].1;
        let rate = control.rate(now, attempt, &mut sender.settings.draws);
        sender.used = Some((place, rate));
        Some((sender.settings.ladder[rate], control.planned_attempts()))
    }

    /// Reports whether the attempt of `station` was acknowledged.
    pub fn report(&mut self, now: Time, station: u32, acknowledged: bool) {
        let sender = &mut self.0[station as usize];
        if let Some((control, rate)) = sender.used.take() {
            sender.controls[control].1.on_result(now, rate, acknowledged);
        }
    }
}
