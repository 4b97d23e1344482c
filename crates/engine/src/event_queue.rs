//! A queue of events in order of time, for what applications do.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use wifair_units::Time;

/// Entries ordered by time; those with equal times in the order in which they were entered.
#[derive(Clone, Debug)]
pub struct EventQueue<T> {
    queue: BinaryHeap<Reverse<QueuedEvent<T>>>,
    entered: u64,
}

#[derive(Clone, Copy, Debug)]
struct QueuedEvent<T> {
    time: Time,
    number: u64,
    what: T,
}

impl<T> QueuedEvent<T> {
    fn key(&self) -> (Time, u64) {
        (self.time, self.number)
    }
}

impl<T> PartialEq for QueuedEvent<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for QueuedEvent<T> {}

impl<T> PartialOrd for QueuedEvent<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for QueuedEvent<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self { queue: BinaryHeap::new(), entered: 0 }
    }
}

impl<T> EventQueue<T> {
    /// Adds `what`, due at `time`.
    pub fn enter(&mut self, time: Time, what: T) {
        if time < Time::NEVER {
            self.queue.push(Reverse(QueuedEvent { time, number: self.entered, what }));
            self.entered += 1;
        }
    }

    /// The time of the first entry.
    pub fn next(&self) -> Time {
        self.queue.peek().map_or(Time::NEVER, |Reverse(entry)| entry.time)
    }

    /// Removes the first entry.
    pub fn pop(&mut self) -> Option<T> {
        self.queue.pop().map(|Reverse(entry)| entry.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_at_equal_times_keep_their_order() {
        let mut event_queue = EventQueue::default();
        for (time, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b'), (0, '0')] {
            event_queue.enter(Time::from_nanos(time), what);
        }
        let order: String = std::iter::from_fn(|| event_queue.pop()).collect();
        assert_eq!(order, "0abcd");
    }
}
