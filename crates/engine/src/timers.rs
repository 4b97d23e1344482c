//! Timers that are rescheduled far more often than they fire.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use wifair_units::Time;

/// One timer for each owner.
///
/// A retransmission timer moves with every ACK. Moving it later costs nothing here: the queue keeps the earlier time,
/// and when that time comes the timer is examined and requeued at its deadline.
///
/// The queue has two parts: a sorted run, to which an entry later than its end is appended, and a heap for all other
/// entries. Timers that all have the same length, such as those of datagrams at one rate, never reach the heap.
#[derive(Clone, Debug)]
pub struct Timers {
    timers: Vec<Timer>,
    run: VecDeque<TimerEntry>,
    heap: BinaryHeap<Reverse<TimerEntry>>,
    next: TimerEntry,
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    /// When it fires.
    deadline: Time,
    /// The time of its entry in the queue, never later than its deadline.
    queued: Time,
}

const STOPPED: Timer = Timer { deadline: Time::NEVER, queued: Time::NEVER };

/// A time in the upper bits, an owner in the lower: timers due at the same instant fire in the order of their owners'
/// numbers.
type TimerEntry = u128;

const NONE: TimerEntry = TimerEntry::MAX;

fn entry(time: Time, owner: u32) -> TimerEntry {
    TimerEntry::from(time.as_nanos()) << 32 | TimerEntry::from(owner)
}

fn time_of(entry: TimerEntry) -> Time {
    Time::from_nanos((entry >> 32) as u64)
}

impl Timers {
    /// `owners` timers, none of them set.
    pub fn new(owners: usize) -> Self {
        Self { timers: vec![STOPPED; owners], run: VecDeque::new(), heap: BinaryHeap::new(), next: NONE }
    }

    /// Adds an owner and returns its number.
    pub fn add(&mut self) -> usize {
        self.timers.push(STOPPED);
        self.timers.len() - 1
    }

    /// Sets the timer of `owner` to fire at `deadline`, replacing any earlier setting; [`Time::NEVER`] stops it.
    /// Returns whether [`Timers::next`] may now be earlier.
    #[inline(always)]
    pub fn set(&mut self, owner: usize, deadline: Time) -> bool {
        let timer = &mut self.timers[owner];
        timer.deadline = deadline;
        deadline < timer.queued && self.enqueue(owner, deadline)
    }

    /// Puts an entry into the queue; returns whether it is now the first.
    #[inline(never)]
    fn enqueue(&mut self, owner: usize, deadline: Time) -> bool {
        self.timers[owner].queued = deadline;
        let entry = entry(deadline, owner as u32);
        if self.run.back().is_none_or(|last| *last < entry) {
            self.run.push_back(entry);
        } else {
            self.heap.push(Reverse(entry));
        }
        let first = entry < self.next;
        if first {
            self.next = entry;
        }
        first
    }

    /// When [`Timers::pop`] must be called next: never later than the earliest deadline.
    #[inline]
    pub fn next(&self) -> Time {
        time_of(self.next)
    }

    /// Takes the head of the queue and returns its owner if its timer fires at `now`; the timer is then stopped.
    /// Returns `None` if the timer has been moved or stopped.
    pub fn pop(&mut self, now: Time) -> Option<usize> {
        let head = self.take_head()?;
        let owner = head as u32 as usize;
        let timer = &mut self.timers[owner];
        if timer.queued != time_of(head) {
            return None; // stale: the timer was moved to an earlier deadline
        }
        timer.queued = Time::NEVER;
        let deadline = timer.deadline;
        if deadline <= now {
            timer.deadline = Time::NEVER;
            return Some(owner);
        }
        if deadline < Time::NEVER {
            self.enqueue(owner, deadline);
        }
        None
    }

    /// Stops the timer of `owner` if it is the one that [`Timers::next`] tells of, and returns its deadline.
    pub fn stop_next(&mut self, owner: usize) -> Option<Time> {
        let mut deadline = None;
        while self.next != NONE && self.next as u32 as usize == owner {
            self.take_head();
            deadline.get_or_insert(std::mem::replace(&mut self.timers[owner], STOPPED).deadline);
        }
        deadline
    }

    /// Takes the head of the queue.
    fn take_head(&mut self) -> Option<TimerEntry> {
        let head = self.next;
        if head == NONE {
            return None;
        }
        if self.run.front() == Some(&head) {
            self.run.pop_front();
        } else {
            self.heap.pop();
        }
        let heap = self.heap.peek().map_or(NONE, |Reverse(entry)| *entry);
        self.next = self.run.front().map_or(heap, |run| heap.min(*run));
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn a_postponed_timer_fires_once() {
        let mut timers = Timers::new(1);
        for deadline in 1..=100 {
            timers.set(0, at(deadline));
        }
        let mut fired = vec![];
        while timers.next() < Time::NEVER {
            let now = timers.next();
            if timers.pop(now).is_some() {
                fired.push(now);
            }
        }
        assert_eq!(fired, [at(100)]);
    }

    proptest! {
        /// For any sequence of settings and stops, the timers that fire are those that a plain list of deadlines gives;
        /// stopping the next one gives its deadline.
        #[test]
        fn timers_fire_at_their_last_deadline(
            orders in prop::collection::vec((0_usize..5, prop::option::of(1_u64..40), 0_u64..10, 0_usize..5), 1..80),
        ) {
            let mut timers = Timers::new(5);
            let mut deadlines = [Time::NEVER; 5];
            let mut now = Time::ZERO;
            for (owner, after, wait, other) in orders {
                let deadline = after.map_or(Time::NEVER, |after| at(now.as_nanos() + after));
                timers.set(owner, deadline);
                deadlines[owner] = deadline;
                if let Some(deadline) = timers.stop_next(other) {
                    prop_assert_eq!(std::mem::replace(&mut deadlines[other], Time::NEVER), deadline);
                    if wait > 4 {
                        timers.set(other, deadline);
                        deadlines[other] = deadline;
                    }
                }
                prop_assert!(timers.next() <= deadlines.iter().copied().min().unwrap_or(Time::NEVER));
                let until = at(now.as_nanos() + wait);
                while timers.next() <= until {
                    now = timers.next();
                    if let Some(owner) = timers.pop(now) {
                        prop_assert_eq!(deadlines[owner], now);
                        deadlines[owner] = Time::NEVER;
                    }
                }
                now = until;
                prop_assert!(deadlines.iter().all(|d| *d > now));
            }
        }
    }
}
