//! The records of functions: their names, their samples, and those of inlined callees.

use crate::model::name_ref;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::cmp::Ordering;
use std::fmt;
use std::hash::BuildHasher;
use std::ops::{Deref, DerefMut};

/// The name of a function: a string, or the MD5 hash that some encodings store instead.
///
/// The order is that of LLVM 18 and later: hashes before strings, hashes by their value, strings byte by byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FunctionName<'a> {
    /// The first eight bytes of a name's MD5, read little-endian.
    Hash(u64),
    /// The bytes of the name.
    Text(&'a [u8]),
}

impl FunctionName<'_> {
    /// The hash of the name: for a string its MD5.
    pub fn hash(self) -> u64 {
        match self {
            Self::Hash(hash) => hash,
            Self::Text(text) => name_ref(text),
        }
    }

    /// Appends the name as LLVM prints it: a hash as a decimal number.
    pub(crate) fn push_to(self, text: &mut Vec<u8>) {
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

/// The place of a name; a length that no name has marks a hash.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The offset in the bytes of all names, or the hash.
    start: u64,
    len: u32,
}

const IS_HASH: u32 = u32::MAX;

/// The names of a profile, each stored once.
#[derive(Clone, Default)]
pub struct Names {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    table: HashTable<u32>,
    hasher: RandomState,
}

impl Names {
    /// The number of names.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no names.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the name with the given number.
    ///
    /// # Panics
    ///
    /// Panics if `id` is a number of other names.
    pub fn get(&self, id: NameId) -> FunctionName<'_> {
        of_entry(&self.bytes, self.entries[id.index()])
    }

    /// Returns the number of a name, and adds the name if it is new.
    ///
    /// # Panics
    ///
    /// Panics with 2^32 names.
    pub fn insert(&mut self, name: FunctionName<'_>) -> NameId {
        let hash = self.hasher.hash_one(name);
        let (bytes, entries) = (&mut self.bytes, &mut self.entries);
        if let Some(found) = self.table.find(hash, |at| of_entry(bytes, entries[*at as usize]) == name) {
            return NameId(*found);
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

    /// All names with their numbers.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (NameId, FunctionName<'_>)> {
        (0..).map(NameId).zip(self.iter())
    }

    /// All names, by number.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = FunctionName<'_>> {
        self.entries.iter().map(|entry| of_entry(&self.bytes, *entry))
    }

    /// The numbers of all names.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = NameId> + use<> {
        (0..self.entries.len() as u32).map(NameId)
    }

    /// Compares two names.
    pub fn compare(&self, a: NameId, b: NameId) -> Ordering {
        if a == b { Ordering::Equal } else { self.get(a).cmp(&self.get(b)) }
    }
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

/// The deepest inlining that is read. Compilers stay far below; the limit bounds the recursion over inlined callees.
pub const MAX_INLINE_DEPTH: usize = 1000;

/// A line location: the line, counted from the first one of the function, and the discriminator, which distinguishes
/// the blocks of one line. With pseudo-probes the line is the number of the probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LineLocation {
    /// Lines after the first line of the function.
    pub line: u32,
    /// 0 for the only block of a line.
    pub discriminator: u32,
}

impl LineLocation {
    /// Makes a line location.
    pub fn new(line: u32, discriminator: u32) -> Self {
        Self { line, discriminator }
    }
}

impl fmt::Display for LineLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.line)?;
        if self.discriminator != 0 {
            write!(f, ".{}", self.discriminator)?;
        }
        Ok(())
    }
}

/// A frame of a calling context: a function, and where it calls the next one. The last frame is the function itself;
/// its location has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// The function.
    pub function: NameId,
    /// Where it calls the next frame.
    pub location: LineLocation,
}

/// The samples of one line location.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BodyEntry {
    /// The line location.
    pub location: LineLocation,
    /// Its samples.
    pub samples: u64,
    /// Its call targets, by [`NameId`].
    pub targets: CallTargets,
}

/// A callee that was inlined into the sampled function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// Where it was called.
    pub location: LineLocation,
    /// Its samples. It has no context, and a head only from a merge.
    pub callee: FunctionRecord,
}

/// The vtables of one line location.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VtableEntry {
    /// The line location.
    pub location: LineLocation,
    /// The vtables, by [`NameId`].
    pub tables: Vec<CallTarget>,
}

/// Bits of [`FunctionRecord::attributes`].
pub mod attributes {
    /// The context was inlined in the sampled binary.
    pub const WAS_INLINED: u32 = 1;
    /// The pre-inliner wants the context inlined.
    pub const SHOULD_BE_INLINED: u32 = 2;
    /// The context was also merged into the function's own record.
    pub const DUPLICATED_INTO_BASE: u32 = 4;
}

/// The samples of one function, or of one function in one calling context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionRecord {
    /// Its name, in the names of the profile.
    pub name: NameId,
    /// The callers and the function itself, outermost first; `None` for a record of all contexts.
    pub context: Option<Box<[Frame]>>,
    /// Samples in the body, inlined callees included. It is stored and merged, not computed from the rest.
    pub total: u64,
    /// Samples of the function entry.
    pub head: u64,
    /// Checksum of the control flow graph, in a profile with pseudo-probes; 0 means none.
    pub checksum: u64,
    /// See [`attributes`].
    pub attributes: u32,
    /// Samples, in the order of locations.
    pub body: Vec<BodyEntry>,
    /// Inlined callees, in the order of locations and [`NameId`].
    pub call_sites: Vec<CallSite>,
    /// Vtables, in the order of locations.
    pub vtables: Vec<VtableEntry>,
}

impl FunctionRecord {
    /// Makes a record without samples.
    pub fn new(name: NameId) -> Self {
        Self {
            name,
            context: None,
            total: 0,
            head: 0,
            checksum: 0,
            attributes: 0,
            body: Vec::new(),
            call_sites: Vec::new(),
            vtables: Vec::new(),
        }
    }

    /// Returns true if the function, or one that is inlined into it, has vtables.
    pub(crate) fn has_vtables(&self) -> bool {
        !self.vtables.is_empty() || self.call_sites.iter().any(|site| site.callee.has_vtables())
    }

    /// Samples of the function's own code: the total without those of inlined callees, or the samples of its lines if
    /// the total has no others.
    ///
    /// A line has the largest number of samples of its instructions, the total has those of all instructions. Lines of
    /// unrolled code count every iteration, so their sum can be above the total.
    pub(crate) fn own_samples(&self) -> u64 {
        let inlined = self.call_sites.iter().fold(0u64, |sum, site| sum.saturating_add(site.callee.total));
        match self.total.saturating_sub(inlined) {
            0 => self.body.iter().fold(0u64, |sum, entry| sum.saturating_add(entry.samples)),
            own => own,
        }
    }

    /// Makes a record without samples of a function in a context. Returns `None` if the context has no frames.
    pub fn in_context(frames: Box<[Frame]>) -> Option<Self> {
        let name = frames.last()?.function;
        Some(Self { context: Some(frames), ..Self::new(name) })
    }

    /// Returns the samples of a location, and adds the location if it is new.
    pub(crate) fn body_at(&mut self, location: LineLocation) -> &mut BodyEntry {
        let at = match self.body.last() {
            Some(last) if last.location < location => self.body.len(),
            _ => self.body.partition_point(|entry| entry.location < location),
        };
        if self.body.get(at).is_none_or(|entry| entry.location != location) {
            self.body.insert(at, BodyEntry { location, samples: 0, targets: CallTargets::default() });
        }
        &mut self.body[at]
    }

    /// Returns the index of an inlined callee, and adds the callee if it is new.
    pub(crate) fn call_site_at(&mut self, location: LineLocation, name: NameId) -> usize {
        let key = (location, name);
        let at = match self.call_sites.last() {
            Some(last) if (last.location, last.callee.name) < key => self.call_sites.len(),
            _ => self.call_sites.partition_point(|site| (site.location, site.callee.name) < key),
        };
        if self.call_sites.get(at).is_none_or(|site| (site.location, site.callee.name) != key) {
            self.call_sites.insert(at, CallSite { location, callee: Self::new(name) });
        }
        at
    }

    /// Returns the vtables of a location, and adds the location if it is new.
    pub(crate) fn vtables_at(&mut self, location: LineLocation) -> &mut Vec<CallTarget> {
        let at = self.vtables.partition_point(|entry| entry.location < location);
        if self.vtables.get(at).is_none_or(|entry| entry.location != location) {
            self.vtables.insert(at, VtableEntry { location, tables: Vec::new() });
        }
        &mut self.vtables[at].tables
    }

    /// Estimates the samples of the function entry: the head in a profile with contexts, otherwise the samples of the
    /// first location.
    pub fn entry_estimate(&self, has_contexts: bool) -> u64 {
        if has_contexts && self.head != 0 {
            return self.head;
        }
        let first_site = self.call_sites.first().map(|site| site.location);
        let count = match self.body.first() {
            Some(first) if first_site.is_none_or(|site| first.location < site) => first.samples,
            _ => self
                .call_sites
                .iter()
                .take_while(|site| Some(site.location) == first_site)
                .fold(0u64, |sum, site| sum.wrapping_add(site.callee.entry_estimate(has_contexts))),
        };
        if count == 0 { u64::from(self.total > 0) } else { count }
    }
}

/// Adds to the samples of a call target, which is added if it is new. Returns true if the sum was too large and
/// saturated.
pub(crate) fn add_target(targets: &mut Vec<CallTarget>, callee: NameId, samples: u64) -> bool {
    let at = match targets.last() {
        Some(last) if last.callee < callee => targets.len(),
        _ => targets.partition_point(|target| target.callee < callee),
    };
    match targets.get_mut(at).filter(|target| target.callee == callee) {
        Some(target) => add_saturating(&mut target.samples, samples),
        None => {
            targets.insert(at, CallTarget { callee, samples });
            false
        }
    }
}

/// Adds to a sum. Returns true if the sum was too large and saturated.
pub(crate) fn add_saturating(sum: &mut u64, more: u64) -> bool {
    let (added, overflowed) = sum.overflowing_add(more);
    *sum = if overflowed { u64::MAX } else { added };
    overflowed
}

/// The samples of the calls of one function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CallTarget {
    /// The callee.
    pub callee: NameId,
    /// The number of samples.
    pub samples: u64,
}

/// The call targets of one line location, by [`NameId`].
///
/// Most locations have no calls, and a large profile has millions of them, so an empty list takes one word.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<CallTarget>", into = "Vec<CallTarget>"))]
#[expect(clippy::box_collection, reason = "a vector has three words, of which an empty one needs none")]
pub struct CallTargets(Option<Box<Vec<CallTarget>>>);

impl CallTargets {
    /// The list, mutable.
    pub(crate) fn list_mut(&mut self) -> &mut Vec<CallTarget> {
        self.0.get_or_insert_default()
    }

    /// Converts into a plain list.
    pub(crate) fn into_list(self) -> Vec<CallTarget> {
        self.0.map_or_else(Vec::new, |list| *list)
    }
}

impl Deref for CallTargets {
    type Target = [CallTarget];

    fn deref(&self) -> &[CallTarget] {
        self.0.as_ref().map_or(&[], |list| list)
    }
}

impl DerefMut for CallTargets {
    fn deref_mut(&mut self) -> &mut [CallTarget] {
        self.0.as_mut().map_or(&mut [], |list| list)
    }
}

impl From<Vec<CallTarget>> for CallTargets {
    fn from(list: Vec<CallTarget>) -> Self {
        Self((!list.is_empty()).then(|| Box::new(list)))
    }
}

impl From<CallTargets> for Vec<CallTarget> {
    fn from(targets: CallTargets) -> Self {
        targets.into_list()
    }
}

impl PartialEq for CallTargets {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for CallTargets {}

impl<'a> IntoIterator for &'a CallTargets {
    type Item = &'a CallTarget;
    type IntoIter = std::slice::Iter<'a, CallTarget>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The positions of records, by name and context. Readers use it to find the record of a function.
#[derive(Debug, Default)]
pub(super) struct RecordTable {
    table: HashTable<u32>,
    hasher: RandomState,
}

fn key(record: &FunctionRecord) -> (NameId, Option<&[Frame]>) {
    (record.name, record.context.as_deref())
}

impl RecordTable {
    /// Returns the position of the record with the function and context of `wanted`. Appends a copy of `wanted` if
    /// there is no such record.
    pub(super) fn find_or_insert(&mut self, records: &mut Vec<FunctionRecord>, wanted: &FunctionRecord) -> usize {
        let hash = self.hasher.hash_one(key(wanted));
        if let Some(at) = self.find_hashed(hash, records, wanted) {
            return at;
        }
        let at = records.len();
        records.push(wanted.clone());
        let number = u32::try_from(at).expect("fewer than 2^32 records fit in memory");
        self.table.insert_unique(hash, number, |at| self.hasher.hash_one(key(&records[*at as usize])));
        at
    }

    /// Returns the position of the record with the function and context of `wanted`.
    pub(super) fn find(&self, records: &[FunctionRecord], wanted: &FunctionRecord) -> Option<usize> {
        self.find_hashed(self.hasher.hash_one(key(wanted)), records, wanted)
    }

    fn find_hashed(&self, hash: u64, records: &[FunctionRecord], wanted: &FunctionRecord) -> Option<usize> {
        self.table.find(hash, |at| key(&records[*at as usize]) == key(wanted)).map(|at| *at as usize)
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

    #[test]
    fn an_empty_list_is_one_word_and_equals_one_that_was_emptied() {
        assert_eq!(size_of::<CallTargets>(), size_of::<usize>());
        let callee = Names::default().insert(FunctionName::Text(b"callee"));
        let mut emptied = CallTargets::from(vec![CallTarget { callee, samples: 3 }]);
        assert_eq!(emptied.len(), 1);
        emptied.list_mut().clear();
        assert_eq!(emptied, CallTargets::default());
        assert!(emptied.into_list().is_empty());
    }
}
