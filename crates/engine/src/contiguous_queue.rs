//! A first-in, first-out queue whose items lie side by side in memory, so that they are read as one slice.

use std::ops::Range;

/// Items, behind those that were removed at the front and are not forgotten yet.
#[derive(Clone, Debug)]
pub struct ContiguousQueue<T> {
    items: Vec<T>,
    removed: usize,
}

impl<T> Default for ContiguousQueue<T> {
    fn default() -> Self {
        Self { items: vec![], removed: 0 }
    }
}

impl<T: Copy> ContiguousQueue<T> {
    /// Adds an item at the end.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.items.len() == self.items.capacity() {
            self.make_room();
        }
        self.items.push(item);
    }

    /// Adds items at the end.
    #[inline]
    pub fn extend(&mut self, items: impl Iterator<Item = T>) {
        if items.size_hint().0 > self.items.capacity() - self.items.len() {
            self.make_room();
        }
        self.items.extend(items);
    }

    /// Forgets removed items, unless they are fewer than a quarter: moving the others costs as much.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.removed >= self.items.len() / 4 {
            self.items.drain(..self.removed);
            self.removed = 0;
        }
    }

    /// All items, the first one first.
    #[inline]
    pub fn items(&self) -> &[T] {
        &self.items[self.removed..]
    }

    /// The first item.
    #[inline]
    pub fn first(&self) -> Option<T> {
        self.items.get(self.removed).copied()
    }

    /// Removes the first item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let first = self.first()?;
        self.remove_first(1);
        Some(first)
    }

    /// Removes the first `count` items, of which there must be as many.
    #[inline]
    pub fn remove_first(&mut self, count: usize) {
        self.removed += count;
        if self.removed == self.items.len() {
            self.items.clear();
            self.removed = 0;
        }
    }

    /// Removes the items in these places.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn remove(&mut self, places: Range<usize>) {
        if places.start == 0 {
            self.remove_first(places.end);
        } else {
            self.items.drain(self.removed + places.start..self.removed + places.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Compared with a double-ended queue: each step adds some items and then removes some from a place on.
        #[test]
        fn items_leave_in_order(
            steps in prop::collection::vec((0_u32..50, 0_usize..50, prop_oneof![Just(0), 0_usize..20]), 1..200),
        ) {
            let (mut queue, mut plain, mut next) = (ContiguousQueue::default(), VecDeque::new(), 0);
            for (adds, removes, place) in steps {
                queue.extend(next..next + adds);
                queue.push(next + adds);
                plain.extend(next..=next + adds);
                next += adds + 1;
                let place = place.min(plain.len());
                let places = place..(place + removes).min(plain.len());
                queue.remove(places.clone());
                plain.drain(places);
                prop_assert_eq!(queue.pop(), plain.pop_front());
                prop_assert_eq!(queue.items(), plain.make_contiguous());
            }
        }
    }
}
