//! What a channel owes to the queues in front of it, beside asking them for packets.

use wifair_units::Time;

use super::Counters;
use super::station::Frame;
use wifair_queue::{AirUse, Discipline, Queue};

/// What the frames of each station cost, for queues that want to know.
#[derive(Clone, Debug)]
pub(super) struct AirUseMeter {
    wanted: bool,
    /// What each station had done when its last frame was done with.
    booked: Vec<Counters>,
}

impl AirUseMeter {
    /// For these queues of `stations` stations.
    pub fn new<'a>(mut queues: impl Iterator<Item = &'a Queue>, stations: usize) -> Self {
        Self::wanted_by(queues.any(Discipline::wants_air), stations)
    }

    /// For `stations` stations; whether a queue of theirs wants to know.
    pub fn wanted_by(wanted: bool, stations: usize) -> Self {
        Self { wanted, booked: vec![Counters::default(); stations] }
    }

    /// Whether any queue wants to know.
    #[inline]
    pub const fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// `station`, which has done so much by now, is done with a frame.
    pub fn close(&mut self, station: u32, counters: &Counters, done: &Frame) -> AirUse {
        self.close_to(station, counters, done.to, done.received)
    }

    /// The same for a frame to `peer` that was `delivered`, or not.
    pub fn close_to(&mut self, station: u32, counters: &Counters, peer: u32, delivered: bool) -> AirUse {
        let before = std::mem::replace(&mut self.booked[station as usize], *counters);
        let air = |c: &Counters| c.data + c.control + c.collided;
        AirUse {
            peer,
            sent: true,
            air: air(counters) - air(&before),
            attempts: u32::try_from(counters.attempts - before.attempts).unwrap_or(u32::MAX),
            delivered,
        }
    }
}

/// Queues that hold packets back, and when they are to be asked again.
#[derive(Clone, Debug)]
pub(super) struct PausedQueues {
    queues: Vec<(Time, u32)>,
    next: Time,
}

impl PausedQueues {
    pub const fn new() -> Self {
        Self { queues: vec![], next: Time::NEVER }
    }

    /// When the first is to be asked again.
    #[inline]
    pub const fn next(&self) -> Time {
        self.next
    }

    /// A queue gave nothing at `now`. If it is not empty it is asked again.
    #[inline]
    pub fn note(&mut self, now: Time, number: u32, queue: &Queue) {
        if !queue.is_empty() {
            self.sleep(number, queue.asked_again(now));
        }
    }

    /// A queue is to be asked again at `until`.
    #[cold]
    pub fn sleep(&mut self, number: u32, until: Time) {
        self.queues.retain(|(_, other)| *other != number);
        self.queues.push((until, number));
        self.next = self.next.min(until);
    }

    /// Takes out a queue whose time has come.
    pub fn wake(&mut self, now: Time) -> Option<u32> {
        let due = self.queues.iter().position(|(until, _)| *until <= now).map(|index| self.queues.remove(index).1);
        self.next = self.queues.iter().map(|(until, _)| *until).min().unwrap_or(Time::NEVER);
        due
    }
}
