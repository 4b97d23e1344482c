//! Byte ranges that arrived ahead of a gap.

use std::collections::VecDeque;

/// Disjoint, non-adjacent ranges `start..end` in ascending order.
///
/// New data extends the last range and retransmissions fill gaps near the front, so operations at both ends are cheap
/// for any number of ranges. The middle is found by binary search.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    ranges: VecDeque<(u64, u64)>,
}

impl Ranges {
    /// Whether there is no range.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Number of ranges.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }

    /// The index of the first range that ends at `offset` or later.
    fn place(&self, offset: u64) -> usize {
        match self.ranges.back() {
            Some(&(start, _)) if offset >= start => {
                let last = self.ranges.len() - 1;
                last + usize::from(self.ranges[last].1 < offset)
            }
            _ => self.ranges.partition_point(|&(_, end)| end < offset),
        }
    }

    /// Adds `start..end`, merged with the ranges it touches. Returns the merged range, or `(start, end)` if it is
    /// empty.
    #[inline]
    pub fn insert(&mut self, start: u64, end: u64) -> (u64, u64) {
        match self.ranges.back_mut() {
            Some(last) if last.1 == start && start < end => {
                last.1 = end;
                *last
            }
            _ => self.insert_apart(start, end),
        }
    }

    #[inline(never)]
    fn insert_apart(&mut self, start: u64, end: u64) -> (u64, u64) {
        if start >= end {
            return (start, end);
        }
        let first = self.place(start);
        let mut joined = (start, end);
        let mut behind = first;
        while let Some(&(s, e)) = self.ranges.get(behind).filter(|r| r.0 <= end) {
            joined = (joined.0.min(s), joined.1.max(e));
            behind += 1;
        }
        if first == behind {
            self.ranges.insert(first, joined);
        } else {
            self.ranges[first] = joined;
            if behind - first > 1 {
                self.ranges.drain(first + 1..behind);
            }
        }
        joined
    }

    /// Bytes in all ranges.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|(start, end)| end - start).sum()
    }

    /// The first gap from `offset` on that lies below a range.
    #[must_use]
    pub fn gap(&self, offset: u64) -> Option<(u64, u64)> {
        let mut start = offset;
        for &(first, behind) in self.ranges.range(self.place(offset)..) {
            if start < first {
                return Some((start, first));
            }
            start = start.max(behind);
        }
        None
    }

    /// The first part of `start..end` that is already held.
    #[inline]
    #[must_use]
    pub fn overlap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if self.ranges.back().is_none_or(|last| last.1 <= start) {
            return None;
        }
        let range = *self.ranges.get(self.place(start + 1))?;
        (range.0 < end).then(|| (range.0.max(start), range.1.min(end)))
    }

    /// Removes the ranges that begin at or before `next`; returns the first missing offset from `next` on.
    pub fn take_up_to(&mut self, mut next: u64) -> u64 {
        while let Some(&(start, end)) = self.ranges.front() {
            if start > next {
                break;
            }
            next = next.max(end);
            self.ranges.pop_front();
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_that_touch_are_joined() {
        let mut ranges = Ranges::default();
        let joined = [(10, 20), (30, 40), (50, 55), (55, 60), (20, 30), (9, 9)].map(|(s, e)| ranges.insert(s, e));
        assert_eq!(joined, [(10, 20), (30, 40), (50, 55), (50, 60), (10, 40), (9, 9)]);
        assert_eq!(ranges.ranges, [(10, 40), (50, 60)]);
        assert_eq!(ranges.overlap(0, 60), Some((10, 40)));
        assert_eq!((ranges.overlap(35, 70), ranges.overlap(40, 70)), (Some((35, 40)), Some((50, 60))));
        assert_eq!((ranges.overlap(40, 50), ranges.overlap(60, 70), ranges.overlap(0, 10)), (None, None, None));
        assert_eq!(
            [0, 10, 39, 45, 50].map(|o| ranges.gap(o)),
            [(0, 10), (40, 50), (40, 50), (45, 50), (0, 0)].map(|gap| (gap != (0, 0)).then_some(gap))
        );
        assert_eq!(ranges.bytes(), 40);
        assert_eq!((ranges.take_up_to(9), ranges.take_up_to(10), ranges.len()), (9, 40, 1));
    }

    proptest! {
        /// Compared with a set of single offsets.
        #[test]
        fn ranges_hold_what_was_put_in(
            parts in prop::collection::vec((1u64..200, 1u64..12), 0..60),
            next in 0u64..220,
        ) {
            let mut ranges = Ranges::default();
            let mut set = BTreeSet::new();
            for (start, len) in parts {
                let (first, behind) = ranges.insert(start, start + len);
                set.extend(start..start + len);
                prop_assert!((first..behind).all(|o| set.contains(&o)) && !set.contains(&(first - 1)));
                prop_assert!(first <= start && start + len <= behind && !set.contains(&behind));
            }
            for offset in 0..230 {
                let held = ranges.overlap(offset, offset + 1);
                prop_assert_eq!(held, set.contains(&offset).then_some((offset, offset + 1)));
            }
            prop_assert!(ranges.ranges.iter().zip(ranges.ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
            let expected = (next..).find(|o| !set.contains(o)).expect("the set is finite");
            prop_assert_eq!(ranges.take_up_to(next), expected);
        }
    }
}
