//! Equal values once, numbered in order of first appearance.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};

/// Gives equal values the same number; numbers count up from 0.
///
/// Numbers depend only on the order of calls, so nothing leaks the order of the
/// hash table. Where memory is refused a value gets the number of another one,
/// which [`Interner::is_out_of_memory`] says.
#[derive(Debug, Clone)]
pub(super) struct Interner<T> {
    values: Vec<T>,
    table: HashTable<u32>,
    state: RandomState,
    is_out_of_memory: bool,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { values: Vec::new(), table: HashTable::new(), state: RandomState::default(), is_out_of_memory: false }
    }
}

impl<T: Eq + Hash> Interner<T> {
    /// The number of `value`, new or old.
    ///
    /// # Panics
    ///
    /// At 2^32 distinct values, which would take more than 64 GiB.
    pub(super) fn intern<Q>(&mut self, value: &Q, make: impl FnOnce(&Q) -> Option<T>) -> u32
    where
        Q: Eq + Hash + ?Sized,
        T: std::borrow::Borrow<Q>,
    {
        let hash = self.state.hash_one(value);
        if let Some(found) = self.table.find(hash, |index| self.values[*index as usize].borrow() == value) {
            return *found;
        }
        let index = u32::try_from(self.values.len()).expect("fewer than 2^32 distinct values fit into memory");
        let Some(made) = self.grow::<Q>(1).and_then(|()| make(value)) else {
            self.is_out_of_memory = true;
            return 0;
        };
        self.values.push(made);
        let (values, state) = (&self.values, &self.state);
        self.table.insert_unique(hash, index, |index| state.hash_one(values[*index as usize].borrow()));
        index
    }

    /// Makes room for so many more values; nothing where there is none. The first one may end the process: it
    /// has no other whose number it could have.
    fn grow<Q>(&mut self, more: usize) -> Option<()>
    where
        Q: Eq + Hash + ?Sized,
        T: std::borrow::Borrow<Q>,
    {
        if self.values.is_empty() {
            self.values.reserve(1);
        }
        self.values.try_reserve(more).ok()?;
        let (values, state) = (&self.values, &self.state);
        self.table.try_reserve(more, |index| state.hash_one(values[*index as usize].borrow())).ok()
    }

    /// A copy; nothing where there is no room for one.
    pub(super) fn try_clone(&self) -> Option<Self>
    where
        T: Clone,
    {
        let mut copy = Self::default();
        copy.grow::<T>(self.values.len())?;
        for (index, value) in (0..).zip(&self.values) {
            let hash = copy.state.hash_one(value);
            copy.values.push(value.clone());
            let (values, state) = (&copy.values, &copy.state);
            copy.table.insert_unique(hash, index, |index| state.hash_one(&values[*index as usize]));
        }
        copy.is_out_of_memory = self.is_out_of_memory;
        Some(copy)
    }

    /// Whether a value has the number of another one, for it did not fit the memory.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.is_out_of_memory
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
