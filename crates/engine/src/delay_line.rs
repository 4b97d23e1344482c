//! Items in transit that arrive in the order in which they were sent.

use wifair_units::Time;

/// A first-in, first-out queue of items with their arrival times. They lie side by side in memory, behind items that
/// have arrived and are not forgotten yet.
#[derive(Clone, Debug)]
pub struct DelayLine<T> {
    line: Vec<(Time, T)>,
    arrived: usize,
}

impl<T> Default for DelayLine<T> {
    fn default() -> Self {
        Self { line: vec![], arrived: 0 }
    }
}

impl<T: Copy> DelayLine<T> {
    /// Sends `what`, to arrive at `arrival`.
    ///
    /// # Panics
    /// If it would overtake an earlier item (in debug builds).
    #[inline]
    pub fn push(&mut self, arrival: Time, what: T) {
        debug_assert!(self.line.last().is_none_or(|(last, _)| *last <= arrival), "a delay line keeps its order");
        if self.line.len() == self.line.capacity() {
            self.make_room();
        }
        self.line.push((arrival, what));
    }

    /// Forgets items that have arrived, unless they are fewer than a quarter: moving the others costs as much.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.arrived >= self.line.len() / 4 {
            self.line.drain(..self.arrived);
            self.arrived = 0;
        }
    }

    /// When the next item arrives.
    #[inline]
    pub fn next(&self) -> Time {
        self.line.get(self.arrived).map_or(Time::NEVER, |(time, _)| *time)
    }

    /// Removes the next item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.pop_before(Time::NEVER).map(|(_, what)| what)
    }

    /// Removes the next item if it arrives before `end`, and returns it with its arrival time.
    #[inline]
    pub fn pop_before(&mut self, end: Time) -> Option<(Time, T)> {
        let next = self.line.get(self.arrived).filter(|(time, _)| *time < end).copied()?;
        self.remove(1);
        Some(next)
    }

    /// Items in transit with their arrival times, the next one first.
    #[inline]
    pub fn items(&self) -> &[(Time, T)] {
        &self.line[self.arrived..]
    }

    /// Removes the next `count` items, of which there must be as many.
    #[inline]
    pub fn remove(&mut self, count: usize) {
        self.arrived += count;
        if self.arrived == self.line.len() {
            self.line.clear();
            self.arrived = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn items_arrive_in_the_order_sent() {
        let mut line = DelayLine::default();
        assert_eq!(line.next(), Time::NEVER);
        line.push(Time::from_nanos(3), 'a');
        line.push(Time::from_nanos(3), 'b');
        assert_eq!((line.next(), line.pop_before(Time::from_nanos(3))), (Time::from_nanos(3), None));
        assert_eq!(line.pop_before(Time::from_nanos(4)), Some((Time::from_nanos(3), 'a')));
        assert_eq!((line.pop(), line.pop()), (Some('b'), None));
        ['c', 'd', 'e'].into_iter().for_each(|what| line.push(Time::from_nanos(5), what));
        line.remove(2);
        assert_eq!(line.items(), [(Time::from_nanos(5), 'e')]);
    }

    proptest! {
        /// Compared with a double-ended queue: each step sends some items and then removes some.
        #[test]
        fn a_line_is_a_queue(steps in prop::collection::vec((0_usize..50, 0_usize..50), 1..200)) {
            let (mut line, mut queue, mut sent) = (DelayLine::default(), VecDeque::new(), 0);
            for (sends, removes) in steps {
                for number in sent..sent + sends {
                    line.push(Time::from_nanos(number as u64), number);
                    queue.push_back((Time::from_nanos(number as u64), number));
                }
                sent += sends;
                let removes = removes.min(queue.len());
                line.remove(removes);
                queue.drain(..removes);
                prop_assert_eq!(line.items(), queue.make_contiguous());
                prop_assert_eq!(line.next(), queue.front().map_or(Time::NEVER, |(time, _)| *time));
            }
        }
    }
}
