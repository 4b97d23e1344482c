//! Stations that move: where they are over time, and how the gains of their paths change.

use wifair_config::table;
use wifair_phy::propagation::Position;
use wifair_units::{Db, Duration, Metres, Time};

/// Distance after which the gain of a path is computed again, in metres, and the least change that counts, in dB.
const STEP_M: f64 = 0.1;
const STEP_DB: f64 = 0.02;

table! {
    /// A movement of a group of stations.
    pub struct Move {
        /// When it begins.
        pub at: Duration;
        /// Position of the group afterwards, in metres east and north; its stations move along, and keep their
        /// distances.
        pub to: [Metres; 2];
        /// How long it takes, in a straight line and at constant speed. At once if zero.
        pub over: Duration = Duration::ZERO;
    }
}

/// A straight movement.
#[derive(Clone, Copy, Debug)]
struct Leg {
    begin: Time,
    end: Time,
    from: Position,
    to: Position,
}

/// Where a node is over time.
#[derive(Clone, Debug)]
pub(super) struct Track {
    start: Position,
    legs: Vec<Leg>,
}

/// `from`, moved by as much as leads from `origin` to `to`.
fn shifted(from: Position, origin: Position, to: Position) -> Position {
    Position::new(from.x + to.x - origin.x, from.y + to.y - origin.y)
}

impl Track {
    /// The track of a node that starts here, in a group that starts at `origin` and moves.
    pub fn new(start: Position, origin: Position, moves: &[Move]) -> Self {
        let mut from = start;
        let legs = moves.iter().map(|&Move { at, to: [x, y], over }| {
            let to = shifted(start, origin, Position::new(x.0, y.0));
            let begin = Time::ZERO + at;
            Leg { begin, end: begin + over, from: std::mem::replace(&mut from, to), to }
        });
        Self { start, legs: legs.collect() }
    }

    pub fn moves(&self) -> bool {
        !self.legs.is_empty()
    }

    /// The position at a time.
    pub fn at(&self, now: Time) -> Position {
        let Some(leg) = self.legs.iter().rev().find(|leg| leg.begin <= now) else { return self.start };
        if now >= leg.end {
            return leg.to;
        }
        let part = (now - leg.begin).as_secs() / (leg.end - leg.begin).as_secs();
        let between = |from: f64, to: f64| from + (to - from) * part;
        Position::new(between(leg.from.x, leg.to.x), between(leg.from.y, leg.to.y))
    }

    /// Times at which its position is to be looked at again.
    fn times(&self) -> impl Iterator<Item = Time> {
        self.legs.iter().flat_map(|leg| {
            let steps =
                if leg.begin == leg.end { 1 } else { (leg.from.distance(leg.to).0 / STEP_M).ceil().max(1.0) as u64 };
            (1..=steps).map(move |step| leg.begin + (leg.end - leg.begin) * step / steps)
        })
    }
}

/// The gains of the path between two nodes after the start, each with the time from which it applies; `gain` gives that
/// of a distance.
pub(super) fn gain_changes(one: &Track, other: &Track, gain: impl Fn(Metres) -> Db) -> Vec<(Time, Db)> {
    let at = |now| gain(one.at(now).distance(other.at(now)));
    let mut times: Vec<Time> = one.times().chain(other.times()).collect();
    times.sort_unstable();
    times.dedup();
    let ends = |now: Time| one.legs.iter().chain(&other.legs).any(|leg| leg.end == now);
    let (mut changes, mut last) = (vec![], gain(one.start.distance(other.start)));
    for now in times {
        let gain = at(now);
        if gain != last && ((gain.0 - last.0).abs() >= STEP_DB || ends(now)) {
            changes.push((now, gain));
            last = gain;
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_s(seconds: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(seconds)
    }

    fn walk(at_s: u64, x: f64, y: f64, over_s: u64) -> Move {
        Move { at: Duration::from_secs(at_s), to: [Metres(x), Metres(y)], over: Duration::from_secs(over_s) }
    }

    /// A group at (10, 0) whose second station stands 5 m north of the first.
    fn second(moves: &[Move]) -> Track {
        Track::new(Position::new(10.0, 5.0), Position::new(10.0, 0.0), moves)
    }

    /// By hand: 40 m east in 20 s from 5 s on, then at once to (0, 10).
    #[test]
    fn a_station_moves_with_its_group() {
        let track = second(&[walk(5, 50.0, 0.0, 20), walk(30, 0.0, 10.0, 0)]);
        let places = [0.0, 5.0, 10.0, 25.0, 29.9, 30.0, 99.0].map(|time| track.at(at_s(time)));
        let expected = [(10.0, 5.0), (10.0, 5.0), (20.0, 5.0), (50.0, 5.0), (50.0, 5.0), (0.0, 15.0), (0.0, 15.0)];
        assert_eq!(places, expected.map(|(x, y)| Position::new(x, y)));
    }

    /// Free space: from 10 to 20 m the gain falls by 6.02 dB, in steps of at least a tenth of a decibel; at 15 m, half
    /// way, it has fallen by 3.52 dB.
    #[test]
    fn gains_follow_the_distance() {
        let origin = Position::default();
        let (still, moving) = (
            Track::new(origin, origin, &[]),
            Track::new(origin, origin, &[walk(0, 10.0, 0.0, 0), walk(10, 20.0, 0.0, 10)]),
        );
        let changes = gain_changes(&still, &moving, |distance| Db(-20.0 * distance.0.max(1.0).log10()));
        assert_eq!(changes[0], (Time::ZERO, Db(-20.0)));
        let until = |time: f64| changes.iter().rev().find(|(since, _)| *since <= at_s(time)).unwrap().1.0;
        assert!((until(15.0) - -23.52).abs() < 0.11, "{}", until(15.0));
        assert!((until(20.0) - -26.0206).abs() < 1e-4);
        assert!(changes.len() > 40 && changes.len() < 62, "{}", changes.len());
    }
}
