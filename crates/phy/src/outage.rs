//! Slow on/off fading: a link that is up or down for random times.
//!
//! Source: E. N. Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39, 1960, section 2, with
//! a bad state that loses everything, in continuous time: both times are exponential, so that the link is a Markov
//! chain. It starts in its stationary distribution.

use wifair_config::table;
use wifair_engine::Stream;
use wifair_units::{Duration, Time};

table! {
    /// A link that is alternately up and down. A frame is lost unless the link is up from its first bit to its last.
    pub struct Outage {
        /// Mean time for which the link is up.
        pub up: Duration, "at least 1 us" => |time| *time >= Duration::from_micros(1);
        /// Mean time for which the link is down.
        pub down: Duration, "at least 1 us" => |time| *time >= Duration::from_micros(1);
    }
}

/// A link with outages.
#[derive(Clone, Debug)]
pub struct OutageProcess {
    means: Outage,
    draws: Stream,
    is_up: bool,
    /// When the present state began.
    since: Time,
    /// When the present state ends.
    until: Time,
}

impl OutageProcess {
    /// A link that draws the lengths of its states from a stream of its own.
    pub fn new(means: Outage, mut draws: Stream) -> Self {
        let up = means.up.as_secs();
        let is_up = draws.chance(up / (up + means.down.as_secs()));
        let mut process = Self { means, draws, is_up, since: Time::ZERO, until: Time::ZERO };
        process.until = Time::ZERO + process.draw();
        process
    }

    /// Whether a frame from `start` to `end` is lost. Calls must come in the order of `end`.
    pub fn loses(&mut self, start: Time, end: Time) -> bool {
        while self.until < end {
            self.is_up = !self.is_up;
            self.since = self.until;
            self.until = self.since + self.draw();
        }
        !self.is_up || self.since > start
    }

    /// The length of the present state: at least a nanosecond, so that time advances.
    fn draw(&mut self) -> Duration {
        let mean = if self.is_up { self.means.up } else { self.means.down };
        let length = -mean.as_secs() * libm::log(1.0 - self.draws.uniform());
        Duration::from_secs_f64(length).max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wifair_engine::stream;

    /// A frame of length l is received with probability up / (up + down) * exp(-l / up): the link must be up when it
    /// begins, and must not fail before it ends. Here that is 0.3 / 0.5 * exp(-1/15) = 0.5613. Frames are 4 s apart,
    /// eight times the mean cycle, so that they are independent: four standard errors of 20,000 frames are 0.014.
    #[test]
    fn frames_survive_as_often_as_the_markov_chain_predicts() {
        let means = Outage { up: Duration::from_millis(300), down: Duration::from_millis(200) };
        let mut link = OutageProcess::new(means, stream(1, "outage", "far/up"));
        let frames = 20_000_u32;
        let mut lost = 0;
        for frame in 0..frames {
            let start = Time::ZERO + Duration::from_secs(4) * u64::from(frame);
            lost += u32::from(link.loses(start, start + Duration::from_millis(20)));
        }
        let through = 1.0 - f64::from(lost) / f64::from(frames);
        assert!((through - 0.5613).abs() < 0.014, "{through}");
    }

    /// The states are a function of time, however often they are queried in between.
    #[test]
    fn queries_do_not_change_the_link() {
        let means = Outage { up: Duration::from_millis(30), down: Duration::from_millis(20) };
        let link = || OutageProcess::new(means.clone(), stream(7, "outage", "far/up"));
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let (mut often, mut seldom) = (link(), link());
        for millis in 0..5000 {
            let state = often.loses(at(millis), at(millis));
            if millis % 50 == 0 {
                assert_eq!(seldom.loses(at(millis), at(millis)), state, "{millis}");
            }
        }
    }
}
