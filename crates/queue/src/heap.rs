//! A binary heap over small numbers, each with a key that can be changed.

/// Numbers ordered by key, smallest first. A number occurs at most once.
#[derive(Clone, Debug)]
pub struct IndexHeap<K> {
    heap: Vec<(K, u32)>,
    /// The position of each number in `heap`; [`ABSENT`] if it is not in the heap.
    place: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl<K> Default for IndexHeap<K> {
    fn default() -> Self {
        Self { heap: vec![], place: vec![] }
    }
}

impl<K: Ord + Copy> IndexHeap<K> {
    /// How many numbers it holds.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// The number with the smallest key.
    #[inline]
    pub fn first(&self) -> Option<(K, u32)> {
        self.heap.first().copied()
    }

    /// Removes the number with the smallest key.
    #[inline]
    pub fn pop(&mut self) -> Option<(K, u32)> {
        let first = self.first()?;
        self.remove(first.1);
        Some(first)
    }

    /// Inserts `index`, or changes its key.
    pub fn set(&mut self, index: u32, key: K) {
        if self.place.len() <= index as usize {
            self.place.resize(index as usize + 1, ABSENT);
        }
        let at = self.place[index as usize];
        if at == ABSENT {
            self.heap.push((key, index));
            self.rise(self.heap.len() - 1);
        } else {
            let earlier = key < self.heap[at as usize].0;
            self.heap[at as usize].0 = key;
            if earlier { self.rise(at as usize) } else { self.sink(at as usize) }
        }
    }

    /// Removes `index`, if present.
    pub fn remove(&mut self, index: u32) {
        let Some(at) = self.place.get(index as usize).copied().filter(|at| *at != ABSENT) else { return };
        let at = at as usize;
        self.place[index as usize] = ABSENT;
        let last = self.heap.pop().expect("a heap that holds a number is not empty");
        if at < self.heap.len() {
            let risen = last.0 < self.heap[at].0;
            self.heap[at] = last;
            if risen { self.rise(at) } else { self.sink(at) }
        }
    }

    fn rise(&mut self, mut at: usize) {
        let moved = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent].0 <= moved.0 {
                break;
            }
            self.heap[at] = self.heap[parent];
            self.place[self.heap[at].1 as usize] = at as u32;
            at = parent;
        }
        self.heap[at] = moved;
        self.place[moved.1 as usize] = at as u32;
    }

    fn sink(&mut self, mut at: usize) {
        let moved = self.heap[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.heap[child + 1].0 < self.heap[child].0 {
                child += 1;
            }
            if moved.0 <= self.heap[child].0 {
                break;
            }
            self.heap[at] = self.heap[child];
            self.place[self.heap[at].1 as usize] = at as u32;
            at = child;
        }
        self.heap[at] = moved;
        self.place[moved.1 as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A key that counts how often it is compared.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct CountedKey(u64);

    thread_local! { static COMPARISONS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) } }

    impl PartialOrd for CountedKey {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for CountedKey {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            COMPARISONS.set(COMPARISONS.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    /// A binary heap of n numbers is log2(n) levels deep, and a number that sinks is compared with two others at each
    /// level.
    #[test]
    fn an_operation_takes_logarithmic_time() {
        for n in [10_u32, 100, 1_000, 10_000] {
            let mut heap = IndexHeap::default();
            let levels = n.ilog2() + 1;
            let mut check = |operate: &dyn Fn(&mut IndexHeap<CountedKey>)| {
                COMPARISONS.set(0);
                operate(&mut heap);
                assert!(COMPARISONS.get() <= 2 * levels + 2, "{} comparisons among {n}", COMPARISONS.get());
            };
            let scattered = |i: u32| CountedKey(u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20);
            (0..n).for_each(|i| check(&|heap| heap.set(i, scattered(i))));
            (0..n).for_each(|i| check(&|heap| heap.set(i, scattered(i + n))));
            (0..n / 2).for_each(|i| check(&|heap| heap.remove(i)));
            (n / 2..n).for_each(|_| check(&|heap| assert!(heap.pop().is_some())));
        }
    }

    proptest! {
        /// Compared with a plain map from number to key. Keys include the number, so that the smallest is unique.
        #[test]
        fn agrees_with_a_plain_map(steps in prop::collection::vec((0_u32..20, 0_u32..50, 0_u8..4), 1..300)) {
            let (mut heap, mut plain) = (IndexHeap::default(), BTreeMap::new());
            for (index, key, what) in steps {
                match what {
                    0 => {
                        heap.remove(index);
                        plain.remove(&index);
                    }
                    1 => {
                        let expected = plain.iter().map(|(i, k)| (*k, *i)).min();
                        prop_assert_eq!(heap.pop(), expected);
                        expected.map(|(_, i)| plain.remove(&i));
                    }
                    _ => {
                        heap.set(index, (key, index));
                        plain.insert(index, (key, index));
                    }
                }
                prop_assert_eq!(heap.first(), plain.iter().map(|(i, k)| (*k, *i)).min());
            }
        }
    }
}
