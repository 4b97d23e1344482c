//! Notifications that a channel gives to its queues, besides dequeueing packets.

use wifair_units::Time;

use super::Counters;
use super::station::Frame;
use wifair_queue::{AirUse, Discipline, Queue};

/// Air time of each station's frames, for queues that need it.
#[derive(Clone, Debug)]
pub(super) struct AirUseMeter {
    wanted: bool,
    /// Counters of each station when its last frame was finished.
    reported: Vec<Counters>,
}

impl AirUseMeter {
    /// A meter for these queues of `stations` stations.
    pub fn new<'a>(mut queues: impl Iterator<Item = &'a Queue>, stations: usize) -> Self {
        Self::wanted_by(queues.any(Discipline::wants_air_use), stations)
    }

    /// A meter for `stations` stations; `wanted` if any of their queues needs air times.
    pub fn wanted_by(wanted: bool, stations: usize) -> Self {
        Self { wanted, reported: vec![Counters::default(); stations] }
    }

    /// Whether any queue needs air times.
    #[inline]
    pub const fn is_wanted(&self) -> bool {
        self.wanted
    }

    /// The air time of `station`'s frame `done`; `counters` are the station's counters now.
    pub fn close(&mut self, station: u32, counters: &Counters, done: &Frame) -> AirUse {
        self.close_to(station, counters, done.to, Some(done.received))
    }

    /// The air time of a frame to `peer`; `delivered` tells whether it was acknowledged, and is `None` if it is to be
    /// sent again.
    pub fn close_to(&mut self, station: u32, counters: &Counters, peer: u32, delivered: Option<bool>) -> AirUse {
        let before = std::mem::replace(&mut self.reported[station as usize], *counters);
        let mut attempts = counters.attempts - before.attempts;
        if delivered.is_none() {
            self.reported[station as usize].attempts = before.attempts;
            attempts = 0;
        }
        AirUse {
            peer,
            sent: true,
            air: counters.air() - before.air(),
            attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
            delivered: delivered.unwrap_or(false),
            rate: None,
        }
    }
}

/// Queues that hold packets back, and when to ask them again.
#[derive(Clone, Debug)]
pub(super) struct PausedQueues {
    queues: Vec<(Time, u32)>,
    next: Time,
}

impl PausedQueues {
    pub const fn new() -> Self {
        Self { queues: vec![], next: Time::NEVER }
    }

    /// When to ask the first of the queues again.
    #[inline]
    pub const fn next(&self) -> Time {
        self.next
    }

    /// Registers a queue that returned nothing at `now`, unless it is empty.
    #[inline]
    pub fn note(&mut self, now: Time, number: u32, queue: &Queue) {
        if !queue.is_empty() {
            self.sleep(number, queue.retry_at(now));
        }
    }

    /// Registers a queue to be asked again at `until`.
    #[cold]
    pub fn sleep(&mut self, number: u32, until: Time) {
        self.queues.retain(|(_, other)| *other != number);
        self.queues.push((until, number));
        self.next = self.next.min(until);
    }

    /// Removes and returns a queue that is due.
    pub fn wake(&mut self, now: Time) -> Option<u32> {
        let due = self.queues.iter().position(|(until, _)| *until <= now).map(|index| self.queues.remove(index).1);
        self.next = self.queues.iter().map(|(until, _)| *until).min().unwrap_or(Time::NEVER);
        due
    }
}
