//! Items in transit that arrive in the order in which they were sent.

use std::collections::VecDeque;

use wifair_units::Time;

/// A first-in, first-out queue of items with their arrival times.
#[derive(Clone, Debug)]
pub struct DelayLine<T> {
    line: VecDeque<(Time, T)>,
}

impl<T> Default for DelayLine<T> {
    fn default() -> Self {
        Self { line: VecDeque::new() }
    }
}

impl<T> DelayLine<T> {
    /// Sends `what`, to arrive at `arrival`.
    ///
    /// # Panics
    /// If it would overtake an earlier item (in debug builds).
    #[inline]
    pub fn push(&mut self, arrival: Time, what: T) {
        debug_assert!(self.line.back().is_none_or(|(last, _)| *last <= arrival), "a delay line keeps its order");
        self.line.push_back((arrival, what));
    }

    /// When the next item arrives.
    #[inline]
    pub fn next(&self) -> Time {
        self.line.front().map_or(Time::NEVER, |(time, _)| *time)
    }

    /// Removes the next item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.line.pop_front().map(|(_, what)| what)
    }

    /// Removes the next item if it arrives before `end`, and returns it with its arrival time.
    #[inline]
    pub fn pop_before(&mut self, end: Time) -> Option<(Time, T)> {
        match self.line.front() {
            Some((time, _)) if *time < end => self.line.pop_front(),
            _ => None,
        }
    }

    /// Items in transit with their arrival times, the next one first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (Time, &T)> + Clone {
        self.line.iter().map(|(time, what)| (*time, what))
    }

    /// Removes the next `count` items.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn remove(&mut self, count: usize) {
        self.line.drain(..count);
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
        assert_eq!(line.iter().collect::<Vec<_>>(), [(Time::from_nanos(5), &'e')]);
    }
}
