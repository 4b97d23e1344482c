//! Packets in two orders: who is sent next, and who is dropped next.

use std::cmp::Reverse;

use super::heap::IndexHeap;

/// Entries with a rank for service, the lowest first, and one for drops, the highest first.
#[derive(Clone, Debug)]
pub struct Ranked<T, S, D> {
    slots: Vec<T>,
    free: Vec<u32>,
    first: IndexHeap<S>,
    worst: IndexHeap<Reverse<D>>,
}

impl<T, S, D> Default for Ranked<T, S, D> {
    fn default() -> Self {
        Self { slots: vec![], free: vec![], first: IndexHeap::default(), worst: IndexHeap::default() }
    }
}

impl<T: Copy, S: Copy + Ord, D: Copy + Ord> Ranked<T, S, D> {
    /// Adds an entry with its ranks for service and for drops.
    pub fn add(&mut self, entry: T, service: S, drop: D) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(entry);
            (self.slots.len() - 1) as u32
        });
        self.slots[index as usize] = entry;
        self.first.set(index, service);
        self.worst.set(index, Reverse(drop));
    }

    /// Removes the entry to be sent next.
    pub fn pop_first(&mut self) -> Option<T> {
        let (_, index) = self.first.pop()?;
        self.worst.remove(index);
        self.free.push(index);
        Some(self.slots[index as usize])
    }

    /// Removes the entry to be dropped next.
    pub fn pop_worst(&mut self) -> Option<T> {
        let (_, index) = self.worst.pop()?;
        self.first.remove(index);
        self.free.push(index);
        Some(self.slots[index as usize])
    }

    /// The ranks of the entries to be sent and dropped next.
    pub fn ends(&self) -> Option<(S, D)> {
        let ((first, _), (Reverse(worst), _)) = (self.first.first()?, self.worst.first()?);
        Some((first, worst))
    }
}
