//! Items in transit that arrive in the order in which they were sent.

use wifair_units::Time;

use crate::ContiguousQueue;

/// A first-in, first-out queue of items with their arrival times.
#[derive(Clone, Debug)]
pub struct DelayLine<T> {
    line: ContiguousQueue<(Time, T)>,
}

impl<T> Default for DelayLine<T> {
    fn default() -> Self {
        Self { line: ContiguousQueue::default() }
    }
}

impl<T: Copy> DelayLine<T> {
    /// Sends `what`, to arrive at `arrival`.
    ///
    /// # Panics
    /// If it would overtake an earlier item (in debug builds).
    #[inline]
    pub fn push(&mut self, arrival: Time, what: T) {
        debug_assert!(self.items().last().is_none_or(|(last, _)| *last <= arrival), "a delay line keeps its order");
        self.line.push((arrival, what));
    }

    /// When the next item arrives.
    #[inline]
    pub fn next(&self) -> Time {
        self.line.first().map_or(Time::NEVER, |(time, _)| time)
    }

    /// Removes the next item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.line.pop().map(|(_, what)| what)
    }

    /// Removes the next item if it arrives before `end`, and returns it with its arrival time.
    #[inline]
    pub fn pop_before(&mut self, end: Time) -> Option<(Time, T)> {
        let next = self.line.first().filter(|(time, _)| *time < end)?;
        self.line.remove_first(1);
        Some(next)
    }

    /// Items in transit with their arrival times, the next one first.
    #[inline]
    pub fn items(&self) -> &[(Time, T)] {
        self.line.items()
    }

    /// Removes the next `count` items, of which there must be as many.
    #[inline]
    pub fn remove(&mut self, count: usize) {
        self.line.remove_first(count);
    }
}

#[cfg(test)]
mod tests {
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
}
