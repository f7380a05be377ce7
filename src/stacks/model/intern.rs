//! Equal values once, numbered in order of first appearance.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};

/// Gives equal values the same number; numbers count up from 0.
///
/// Numbers depend only on the order of calls, so nothing leaks the order of the
/// hash table.
#[derive(Debug, Clone)]
pub(super) struct Interner<T> {
    values: Vec<T>,
    table: HashTable<u32>,
    state: RandomState,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { values: Vec::new(), table: HashTable::new(), state: RandomState::default() }
    }
}

impl<T: Eq + Hash> Interner<T> {
    /// The number of `value`, new or old.
    ///
    /// # Panics
    ///
    /// At 2^32 distinct values, which would take more than 64 GiB.
    pub(super) fn intern<Q>(&mut self, value: &Q, make: impl FnOnce(&Q) -> T) -> u32
    where
        Q: Eq + Hash + ?Sized,
        T: std::borrow::Borrow<Q>,
    {
        let hash = self.state.hash_one(value);
        if let Some(found) = self.table.find(hash, |index| self.values[*index as usize].borrow() == value) {
            return *found;
        }
        let index = u32::try_from(self.values.len()).expect("fewer than 2^32 distinct values fit into memory");
        self.values.push(make(value));
        let (values, state) = (&self.values, &self.state);
        self.table.insert_unique(hash, index, |index| state.hash_one(values[*index as usize].borrow()));
        index
    }

    /// The value behind a number.
    pub(super) fn value(&self, index: u32) -> &T {
        &self.values[index as usize]
    }

    /// The number of a value that is there already.
    pub(super) fn find<Q>(&self, value: &Q) -> Option<u32>
    where
        Q: Eq + Hash + ?Sized,
        T: std::borrow::Borrow<Q>,
    {
        let hash = self.state.hash_one(value);
        self.table.find(hash, |index| self.values[*index as usize].borrow() == value).copied()
    }

    /// All values in order of their numbers.
    pub(super) fn values(&self) -> &[T] {
        &self.values
    }
}
