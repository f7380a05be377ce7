//! The texts of a profile.

use crate::error::Result;
use crate::memory::{self, HOLD_NAMES};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Position of a text in [`Strings`]; 0 is the empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct StringId(pub(super) u32);

impl StringId {
    /// Whether it is the empty text.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// All texts of a profile, end to end; bytes as in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0] }
    }
}

impl Strings {
    /// How many there are, the empty one included.
    #[allow(clippy::len_without_is_empty, reason = "there always is the empty text")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// A text.
    ///
    /// # Panics
    ///
    /// For the number of another profile's text.
    pub fn get(&self, id: StringId) -> &[u8] {
        let at = id.0 as usize;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }

    /// All texts in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.ends.len()).map(|at| self.get(StringId(at as u32)))
    }

    /// Makes room for one more text of that length.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(super) fn try_reserve(&mut self, len: usize) -> Result<()> {
        memory::reserve(&mut self.ends, 1, HOLD_NAMES)?;
        memory::reserve(&mut self.bytes, len, HOLD_NAMES)
    }

    /// Adds a text, whether there is an equal one or not; `None` after 2^32.
    pub(super) fn push(&mut self, text: &[u8]) -> Option<StringId> {
        let id = u32::try_from(self.ends.len()).ok()?;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        Some(StringId(id))
    }
}

/// Texts, equal ones once.
#[derive(Debug, Default)]
pub(super) struct StringInterner {
    pub(super) strings: Strings,
    table: HashTable<StringId>,
    state: RandomState,
}

impl StringInterner {
    /// The number of `text`, new or old.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    ///
    /// # Panics
    ///
    /// At 2^32 distinct texts, which would take more than 32 GiB.
    pub(super) fn intern(&mut self, text: &[u8]) -> Result<StringId> {
        if text.is_empty() {
            return Ok(StringId::default());
        }
        let hash = self.state.hash_one(text);
        if let Some(found) = self.table.find(hash, |id| self.strings.get(*id) == text) {
            return Ok(*found);
        }
        self.strings.try_reserve(text.len())?;
        let (strings, state) = (&self.strings, &self.state);
        let grown = self.table.try_reserve(1, |id| state.hash_one(strings.get(*id)));
        grown.map_err(|_| memory::refused(HOLD_NAMES))?;
        let id = self.strings.push(text).expect("fewer than 2^32 distinct texts fit into memory");
        let (strings, state) = (&self.strings, &self.state);
        self.table.insert_unique(hash, id, |id| state.hash_one(strings.get(*id)));
        Ok(id)
    }
}
