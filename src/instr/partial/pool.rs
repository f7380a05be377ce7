//! Lists of which many are alike, each kept once.

use foldhash::{HashMap, HashMapExt};
use std::hash::Hash;
use std::sync::Arc;

/// Distinct things in order of first appearance.
#[derive(Debug, Clone)]
pub(super) struct Pool<T> {
    items: Vec<Arc<T>>,
    places: HashMap<Arc<T>, u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { items: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Hash + Eq> Pool<T> {
    /// The place of a thing that equals `item`, which is kept if it is new.
    pub(super) fn place(&mut self, item: T) -> u32 {
        if let Some(place) = self.places.get(&item) {
            return *place;
        }
        let place = u32::try_from(self.items.len()).expect("fewer than 2^32 lists fit in memory");
        let item = Arc::new(item);
        self.items.push(item.clone());
        self.places.insert(item, place);
        place
    }

    pub(super) fn at(&self, place: u32) -> &T {
        &self.items[place as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.items.iter().map(|item| &**item)
    }
}
