//! A hash table of numbers without iteration.
//!
//! The iteration order of the standard hash map differs from run to run. Here the entries are in a vector, in the order
//! in which they were found; this table only maps their hashes to indices: open addressing with linear probing, at most
//! five eighths full, hashing by multiplication and folding (as in wyhash) with fixed constants.

/// Maps hashes to the indices of entries that are kept elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct HashTable {
    slots: Vec<HashSlot>,
    used: usize,
}

#[derive(Clone, Copy, Debug)]
struct HashSlot {
    hash: u32,
    /// [`EMPTY`], or the index of an entry.
    entry: u32,
}

const EMPTY: u32 = u32::MAX;

impl Default for HashTable {
    fn default() -> Self {
        Self { slots: vec![HashSlot { hash: 0, entry: EMPTY }; 64], used: 0 }
    }
}

impl HashTable {
    /// The entry with this hash for which `is` returns true.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let short = hash as u32;
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.entry == EMPTY {
                return None;
            }
            if slot.hash == short && is(slot.entry) {
                return Some(slot.entry);
            }
            at = (at + 1) & mask;
        }
    }

    /// Inserts an entry that is not yet present. `hash_of` gives the hash of any present entry, in case the table
    /// grows.
    pub(crate) fn insert(&mut self, hash: u64, entry: u32, hash_of: impl Fn(u32) -> u64) {
        if self.used * 8 >= self.slots.len() * 5 {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![HashSlot { hash: 0, entry: EMPTY }; old.len() * 2];
            for slot in old {
                if slot.entry != EMPTY {
                    self.place(hash_of(slot.entry), slot.entry);
                }
            }
        }
        self.place(hash, entry);
        self.used += 1;
    }

    /// Replaces `old` by `new`, which has the same hash.
    pub(crate) fn replace(&mut self, hash: u64, old: u32, new: u32) {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> 32) as usize & mask;
        while self.slots[at].entry != old {
            assert_ne!(self.slots[at].entry, EMPTY, "only entries that are there are replaced");
            at = (at + 1) & mask;
        }
        self.slots[at].entry = new;
    }

    fn place(&mut self, hash: u64, entry: u32) {
        let mask = self.slots.len() - 1;
        let mut at = (hash >> 32) as usize & mask;
        while self.slots[at].entry != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = HashSlot { hash: hash as u32, entry };
    }
}

/// A key that computes its own hash.
pub(crate) trait HashKey: Copy + PartialEq {
    /// A hash with its information in all bits.
    fn hash(self) -> u64;
}

/// The most entries of a [`Registry`].
pub(crate) const MOST_ENTRIES: usize = 1 << 16;

/// Entries that are found by a key, in the order in which they were added.
#[derive(Clone, Debug)]
pub(crate) struct Registry<K, V> {
    table: HashTable,
    keys: Vec<K>,
    pub(crate) entries: Vec<V>,
}

impl<K, V> Default for Registry<K, V> {
    fn default() -> Self {
        Self { table: HashTable::default(), keys: Vec::new(), entries: Vec::new() }
    }
}

impl<K: HashKey, V> Registry<K, V> {
    /// Index of the entry of `key`.
    #[inline]
    pub(crate) fn find(&self, key: K) -> Option<usize> {
        self.table.find(key.hash(), |at| self.keys[at as usize] == key).map(|at| at as usize)
    }

    /// The entry of `key`, made if it is not there; `None` if there are too many.
    #[inline]
    pub(crate) fn entry(&mut self, key: K, make: impl FnOnce() -> V) -> Option<&mut V> {
        let at = match self.find(key) {
            Some(at) => at,
            None if self.keys.len() >= MOST_ENTRIES => return None,
            None => {
                let at = self.keys.len();
                self.table.insert(key.hash(), at as u32, |at| self.keys[at as usize].hash());
                self.keys.push(key);
                self.entries.push(make());
                at
            }
        };
        Some(&mut self.entries[at])
    }
}

/// Mixes two words into one, so that every output bit depends on all input bits.
#[inline]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a ^ 0xa076_1d64_78bd_642f) * u128::from(b ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserted_entries_are_found() {
        let mut table = HashTable::default();
        let hash = |entry: u32| mix(u64::from(entry / 3), 1); // three entries share a hash
        for entry in 0..10_000 {
            assert_eq!(table.find(hash(entry), |found| found == entry), None);
            table.insert(hash(entry), entry, hash);
        }
        for entry in 0..10_000 {
            assert_eq!(table.find(hash(entry), |found| found == entry), Some(entry));
        }
        table.replace(hash(5), 5, 20_000);
        assert_eq!(table.find(hash(5), |found| found == 20_000), Some(20_000));
    }
}
