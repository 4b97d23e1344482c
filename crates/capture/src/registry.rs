//! Entries that are found by a key, in a limited number.

use std::collections::BTreeMap;

/// The most entries of a [`Registry`].
pub(crate) const MOST_ENTRIES: usize = 1 << 16;

/// Entries that are found by a key, in the order in which they were added.
#[derive(Clone, Debug)]
pub(crate) struct Registry<K, V> {
    indices: BTreeMap<K, usize>,
    pub(crate) entries: Vec<V>,
}

impl<K, V> Default for Registry<K, V> {
    fn default() -> Self {
        Self { indices: BTreeMap::new(), entries: Vec::new() }
    }
}

impl<K: Ord, V> Registry<K, V> {
    /// The entry of `key`.
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.indices.get(key).map(|at| &self.entries[*at])
    }

    /// The entry of `key`, made if it is not there; `None` if there are too many.
    pub(crate) fn entry(&mut self, key: K, make: impl FnOnce() -> V) -> Option<&mut V> {
        let at = match self.indices.get(&key) {
            Some(at) => *at,
            None if self.entries.len() >= MOST_ENTRIES => return None,
            None => {
                self.indices.insert(key, self.entries.len());
                self.entries.push(make());
                self.entries.len() - 1
            }
        };
        Some(&mut self.entries[at])
    }
}
