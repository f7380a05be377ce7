//! Names of functions: strings, or the MD5 hashes that some encodings keep in
//! their place.

use crate::error::Result;
use crate::memory::{self, HOLD_NAMES};
use crate::model::name_ref;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::cmp::Ordering;
use std::fmt;
use std::hash::BuildHasher;

/// A name as a profile holds it.
///
/// The order is that of LLVM 18 and later: hashes in front of strings, hashes
/// by their value, strings byte by byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FunctionName<'a> {
    /// The first eight bytes of a name's MD5, read little-endian.
    Hash(u64),
    /// The bytes of the name.
    Text(&'a [u8]),
}

impl FunctionName<'_> {
    /// The hash that stands for the name: of a string its MD5.
    pub fn hash(self) -> u64 {
        match self {
            Self::Hash(hash) => hash,
            Self::Text(text) => name_ref(text),
        }
    }

    /// Appends the name as LLVM prints it: a hash as a decimal number.
    pub fn push_to(self, text: &mut Vec<u8>) {
        match self {
            Self::Hash(hash) => text.extend_from_slice(hash.to_string().as_bytes()),
            Self::Text(name) => text.extend_from_slice(name),
        }
    }

    /// The name as LLVM prints it.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut text = Vec::new();
        self.push_to(&mut text);
        text
    }
}

impl fmt::Debug for FunctionName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash(hash) => write!(f, "#{hash}"),
            Self::Text(text) => write!(f, "{}", text.escape_ascii()),
        }
    }
}

/// A name of one [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NameId(u32);

impl NameId {
    /// Its position among the names, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a name stands; a length that no name has marks a hash.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Offset in the bytes of all names, or the hash.
    start: u64,
    len: u32,
}

const IS_HASH: u32 = u32::MAX;

/// Names of a profile, each held once.
#[derive(Clone, Default)]
pub struct Names {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    table: HashTable<u32>,
    hasher: RandomState,
    is_out_of_memory: bool,
}

impl Names {
    /// Whether every name that was inserted is there. One that did not fit the memory has the number of the first.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn check_memory(&self) -> Result<()> {
        if self.is_out_of_memory { Err(memory::refused(HOLD_NAMES)) } else { Ok(()) }
    }

    /// A copy of all of them.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(super) fn try_clone(&self) -> Result<Self> {
        self.check_memory()?;
        let mut copy = Self::default();
        for name in self.iter() {
            copy.insert(name);
        }
        copy.check_memory()?;
        Ok(copy)
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The name of that number.
    ///
    /// # Panics
    ///
    /// When `id` is of other names.
    pub fn get(&self, id: NameId) -> FunctionName<'_> {
        of_entry(&self.bytes, self.entries[id.index()])
    }

    /// The number of a name, which is added when it is new.
    ///
    /// # Panics
    ///
    /// With four thousand million names.
    pub fn insert(&mut self, name: FunctionName<'_>) -> NameId {
        let hash = self.hasher.hash_one(name);
        let (bytes, entries) = (&mut self.bytes, &mut self.entries);
        if let Some(found) = self.table.find(hash, |at| of_entry(bytes, entries[*at as usize]) == name) {
            return NameId(*found);
        }
        if !entries.is_empty() && !has_room(bytes, entries, &mut self.table, &self.hasher, name) {
            self.is_out_of_memory = true;
            return NameId(0);
        }
        let entry = match name {
            FunctionName::Hash(hash) => Entry { start: hash, len: IS_HASH },
            FunctionName::Text(text) => {
                let start = bytes.len() as u64;
                bytes.extend_from_slice(text);
                Entry { start, len: u32::try_from(text.len()).expect("a limit bounds the length of names") }
            }
        };
        let id = u32::try_from(entries.len()).expect("names have 32-bit numbers");
        entries.push(entry);
        let hasher = &self.hasher;
        self.table.insert_unique(hash, id, |at| hasher.hash_one(of_entry(bytes, entries[*at as usize])));
        NameId(id)
    }

    /// The number of a name that is there.
    pub fn find(&self, name: FunctionName<'_>) -> Option<NameId> {
        let hash = self.hasher.hash_one(name);
        let is_it = |at: &u32| of_entry(&self.bytes, self.entries[*at as usize]) == name;
        self.table.find(hash, is_it).map(|at| NameId(*at))
    }

    /// All names by their numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FunctionName<'_>> {
        self.entries.iter().map(|entry| of_entry(&self.bytes, *entry))
    }

    /// The numbers of all names.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = NameId> + use<> {
        (0..self.entries.len() as u32).map(NameId)
    }

    /// Which of two names comes first.
    pub fn compare(&self, a: NameId, b: NameId) -> Ordering {
        if a == b { Ordering::Equal } else { self.get(a).cmp(&self.get(b)) }
    }
}

/// Makes room for one more name; whether there is.
fn has_room(
    bytes: &mut Vec<u8>,
    entries: &mut Vec<Entry>,
    table: &mut HashTable<u32>,
    hasher: &RandomState,
    name: FunctionName<'_>,
) -> bool {
    let len = if let FunctionName::Text(text) = name { text.len() } else { 0 };
    if bytes.try_reserve(len).is_err() || entries.try_reserve(1).is_err() {
        return false;
    }
    table.try_reserve(1, |at| hasher.hash_one(of_entry(bytes, entries[*at as usize]))).is_ok()
}

fn of_entry(bytes: &[u8], entry: Entry) -> FunctionName<'_> {
    if entry.len == IS_HASH {
        return FunctionName::Hash(entry.start);
    }
    let start = entry.start as usize;
    FunctionName::Text(&bytes[start..start + entry.len as usize])
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_and_a_hash_is_another_name() {
        let mut names = Names::default();
        let foo = names.insert(FunctionName::Text(b"foo"));
        let hash = names.insert(FunctionName::Hash(6_699_318_081_062_747_564));
        assert_ne!(foo, hash);
        assert_eq!(names.insert(FunctionName::Text(b"foo")), foo);
        assert_eq!(names.get(foo).hash(), names.get(hash).hash());
        assert_eq!(names.find(FunctionName::Text(b"bar")), None);
        assert_eq!(names.compare(foo, hash), Ordering::Greater);
    }
}
