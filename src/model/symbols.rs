//! Names of functions and vtables, and their hashes.

use crate::error::Result;
use crate::memory::{self, HOLD_NAMES};
use crate::model::names::{NamePlace, NameStore, NameText};
use hashbrown::{HashMap, HashTable, hash_table};
use std::hash::BuildHasher;

/// Low 64 bits of a name's MD5, which stands for the name in all formats.
pub type NameRef = u64;

/// The hash of a name: the first 8 bytes of its MD5 as a little-endian number
/// (`IndexedInstrProf::ComputeHash` in LLVM), whatever the file's byte order.
///
/// ```
/// assert_eq!(profbridge::instr::name_ref(b"main"), 0xdb95_6436_e78d_d5fa);
/// ```
pub fn name_ref(name: &[u8]) -> NameRef {
    let digest = md5::compute(name);
    u64::from_le_bytes(*digest.first_chunk().expect("an MD5 digest has 16 bytes"))
}

/// A map keyed by [`NameRef`]. The hashes come from files, so the map hashes
/// them once more with a seed that nobody can choose them for.
pub type NameRefMap<V> = HashMap<NameRef, V, foldhash::fast::RandomState>;

/// Handle of a name in the [`SymbolTable`] that gave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol(u32);

/// Name hash → name. On a collision the first name stays.
#[derive(Debug, Clone, Default)]
pub struct SymbolTable {
    store: NameStore,
    names: Vec<Entry>,
    /// Indices into `names`, by hash.
    index: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: NameRef,
    place: NamePlace,
}

impl SymbolTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for so many more names, which are pieces of shared texts.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn reserve(&mut self, names: usize) -> Result<()> {
        memory::reserve(&mut self.names, names, HOLD_NAMES)?;
        let (known, hasher) = (&self.names, &self.hasher);
        let grown = self.index.try_reserve(names, |&at| hasher.hash_one(known[at as usize].hash));
        grown.map_err(|_| memory::refused(HOLD_NAMES))
    }

    /// Makes room for one more name.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn try_reserve(&mut self, name: &[u8]) -> Result<()> {
        self.reserve(1)?;
        self.store.try_reserve(name.len())
    }

    /// Adds a name and returns its hash.
    pub fn insert(&mut self, name: &[u8]) -> NameRef {
        let hash = name_ref(name);
        self.insert_hashed(hash, name);
        hash
    }

    /// Adds a name under a hash that is known already.
    pub fn insert_hashed(&mut self, hash: NameRef, name: &[u8]) {
        self.insert_shared(hash, name, None);
    }

    /// As [`insert_hashed`](Self::insert_hashed), and keeps `text` if the name
    /// is a piece of it.
    pub fn insert_shared(&mut self, hash: NameRef, name: &[u8], text: Option<&NameText>) {
        let Self { store, names, index, hasher } = self;
        let same = |at: &u32| names[*at as usize].hash == hash;
        let spread = |at: &u32| hasher.hash_one(names[*at as usize].hash);
        if let hash_table::Entry::Vacant(place) = index.entry(hasher.hash_one(hash), same, spread) {
            place.insert(u32::try_from(names.len()).expect("fewer than 2^32 names fit in memory"));
            names.push(Entry { hash, place: store.push(name, text) });
        }
    }

    /// Adds all names of another table; names that are there already stay.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn absorb(&mut self, other: &Self) -> Result<()> {
        for (symbol, entry) in (0..).map(Symbol).zip(&other.names) {
            self.try_reserve(other.resolve(symbol))?;
            self.insert_shared(entry.hash, other.resolve(symbol), other.text(symbol));
        }
        Ok(())
    }

    /// The name of that hash.
    pub fn name(&self, hash: NameRef) -> Option<&[u8]> {
        self.find(hash).map(|symbol| self.resolve(symbol))
    }

    /// The handle of the name of that hash.
    #[inline]
    pub fn find(&self, hash: NameRef) -> Option<Symbol> {
        let found = self.index.find(self.hasher.hash_one(hash), |at| self.names[*at as usize].hash == hash);
        found.copied().map(Symbol)
    }

    /// As [`find`](Self::find), and looks first at the name that was added next
    /// after `last`, where the caller found the one before: files mostly have
    /// names and records in the same order.
    #[inline]
    pub fn find_after(&self, last: Option<Symbol>, hash: NameRef) -> Option<Symbol> {
        let next = last.map_or(0, |last| last.0.saturating_add(1));
        match self.names.get(next as usize) {
            Some(entry) if entry.hash == hash => Some(Symbol(next)),
            _ => self.find(hash),
        }
    }

    /// The name of a handle that this table gave out.
    #[inline]
    pub fn resolve(&self, symbol: Symbol) -> &[u8] {
        self.store.at(self.names[symbol.0 as usize].place)
    }

    /// The shared text that the name of a handle is a piece of, if it is one.
    #[inline]
    pub fn text(&self, symbol: Symbol) -> Option<&NameText> {
        self.store.text_at(self.names[symbol.0 as usize].place)
    }

    /// The shared texts that names of the table are pieces of.
    pub fn texts(&self) -> impl Iterator<Item = &NameText> {
        self.store.texts()
    }

    /// All names with their hashes, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (NameRef, &[u8])> {
        self.names.iter().map(|entry| (entry.hash, self.store.at(entry.place)))
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
