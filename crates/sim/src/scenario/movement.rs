//! Stations that move: where they are over time, and how the gains of their paths change.

use wifair_config::table;
use wifair_phy::propagation::Position;
use wifair_units::{Db, Duration, Metres, Time};

/// Distance after which the gain of a path is computed again, in metres, the most steps of a movement, and the least
/// change of the gain that counts, in dB.
const STEP_M: f64 = 0.1;
const MOST_STEPS: f64 = 10_000.0;
const STEP_DB: f64 = 0.1;

/// The longest time that a change takes: a longer one is probably a wrong unit.
pub(super) const LONGEST: Duration = Duration::from_secs(100 * 3600);

table! {
    /// A movement of a group of stations.
    pub struct Move {
        /// When it begins.
        pub at: Duration;
        /// Position of the group afterwards, in metres east and north; its stations move along, and keep their
        /// distances.
        pub to: [Metres; 2];
        /// How long it takes, in a straight line and at constant speed. At once if zero.
        pub over: Duration = Duration::ZERO, "at most 100 h" => |over| *over <= LONGEST;
    }
}

/// A straight movement.
#[derive(Clone, Copy, Debug)]
struct Walk {
    begin: Time,
    end: Time,
    from: Position,
    to: Position,
}

/// Where a node is over time.
#[derive(Clone, Debug)]
pub(super) struct Track {
    start: Position,
    walks: Vec<Walk>,
}

/// `from`, moved by as much as leads from `origin` to `to`.
fn shifted(from: Position, origin: Position, to: Position) -> Position {
    Position::new(from.x + to.x - origin.x, from.y + to.y - origin.y)
}

impl Track {
    /// The track of a node that starts here, in a group that starts at `origin` and moves.
    pub fn new(start: Position, origin: Position, moves: &[Move]) -> Self {
        let mut from = start;
        let walks = moves.iter().map(|&Move { at, to: [x, y], over }| {
            let to = shifted(start, origin, Position::new(x.0, y.0));
            let begin = Time::ZERO + at;
            Walk { begin, end: begin + over, from: std::mem::replace(&mut from, to), to }
        });
        Self { start, walks: walks.collect() }
    }

    pub fn moves(&self) -> bool {
        !self.walks.is_empty()
    }

    /// The position at a time.
    pub fn at(&self, now: Time) -> Position {
        let Some(walk) = self.walks.iter().rev().find(|walk| walk.begin <= now) else { return self.start };
        if now >= walk.end {
            return walk.to;
        }
        let part = (now - walk.begin).as_secs() / (walk.end - walk.begin).as_secs();
        let between = |from: f64, to: f64| from + (to - from) * part;
        Position::new(between(walk.from.x, walk.to.x), between(walk.from.y, walk.to.y))
    }

    /// Times at which its position is to be looked at again.
    fn times(&self) -> impl Iterator<Item = Time> {
        self.walks.iter().flat_map(|walk| {
            let distance = if walk.begin == walk.end { 0.0 } else { walk.from.distance(walk.to).0 };
            let steps = (distance / STEP_M).ceil().clamp(1.0, MOST_STEPS) as u64;
            (1..=steps).map(move |step| walk.begin + (walk.end - walk.begin) * step / steps)
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
    let ends = |now: Time| one.walks.iter().chain(&other.walks).any(|walk| walk.end == now);
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

    fn walk_to(at_s: u64, x: f64, y: f64, over_s: u64) -> Move {
        Move { at: Duration::from_secs(at_s), to: [Metres(x), Metres(y)], over: Duration::from_secs(over_s) }
    }

    /// A group at (10, 0) whose second station stands 5 m north of the first.
    fn second(moves: &[Move]) -> Track {
        Track::new(Position::new(10.0, 5.0), Position::new(10.0, 0.0), moves)
    }

    /// By hand: 40 m east in 20 s from 5 s on, then at once to (0, 10).
    #[test]
    fn a_station_moves_with_its_group() {
        let track = second(&[walk_to(5, 50.0, 0.0, 20), walk_to(30, 0.0, 10.0, 0)]);
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
            Track::new(origin, origin, &[walk_to(0, 10.0, 0.0, 0), walk_to(10, 20.0, 0.0, 10)]),
        );
        let changes = gain_changes(&still, &moving, |distance| Db(-20.0 * distance.0.max(1.0).log10()));
        assert_eq!(changes[0], (Time::ZERO, Db(-20.0)));
        let until = |time: f64| changes.iter().rev().find(|(since, _)| *since <= at_s(time)).unwrap().1.0;
        assert!((until(15.0) - -23.52).abs() < 0.11, "{}", until(15.0));
        assert!((until(20.0) - -26.0206).abs() < 1e-4);
        assert!(changes.len() > 40 && changes.len() < 62, "{}", changes.len());
    }
}
