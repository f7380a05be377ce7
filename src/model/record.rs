//! One function record: counters, bitmap and value sites, owned or as a view. Also temporal
//! traces, the trait of all readers ([`ProfileReader`]), and the FuncHash of records that the
//! bridge creates.

use super::ProfileKind;
use super::counters::{Counters, NO_UNIFORMITY, Uniformity};
use super::symbols::{NameRef, NameText, SymbolTable, name_ref};
use crate::error::{Result, Warning};
use crate::memory::{self, HOLD_INPUT};
use std::iter::FusedIterator;
use std::ops::Range;

/// Value sites by kind; few records have any, and few of these more than one
/// kind.
#[derive(Debug, Clone, Default)]
pub(super) struct SitesByKind([Option<Box<ValueSites>>; ValueKind::COUNT]);

static NO_SITES: ValueSites = ValueSites::new();

impl SitesByKind {
    /// No sites.
    pub(super) const NONE: &'static Self = &Self([const { None }; ValueKind::COUNT]);

    /// The sites of one kind.
    #[inline]
    pub(super) fn of(&self, kind: ValueKind) -> &ValueSites {
        self.0[kind as usize].as_deref().unwrap_or(&NO_SITES)
    }

    /// The sites of one kind, to be filled.
    #[inline]
    pub(super) fn of_mut(&mut self, kind: ValueKind) -> &mut ValueSites {
        self.0[kind as usize].get_or_insert_default()
    }

    /// Whether no kind has sites.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().flatten().all(|sites| sites.is_empty())
    }

    /// The sites of the kinds that may have some.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ValueSites> {
        self.0.iter_mut().flatten().map(|sites| &mut **sites)
    }

    /// A copy without spare memory.
    pub(super) fn to_compact(&self) -> Self {
        Self(ValueKind::EACH.map(|kind| self.0[kind as usize].as_ref().filter(|sites| !sites.is_empty()).cloned()))
    }
}

/// A kind with an empty list equals a kind without a list.
impl PartialEq for SitesByKind {
    fn eq(&self, other: &Self) -> bool {
        ValueKind::EACH.into_iter().all(|kind| self.of(kind) == other.of(kind))
    }
}

impl Eq for SitesByKind {}

/// The first counter of a record whose counts were replaced by a mark
/// (LLVM 16 on, `setPseudoCount` in `InstrProf.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PseudoCount {
    /// `u64::MAX`: known to be hot.
    Hot,
    /// `u64::MAX - 1`: known to be warm.
    Warm,
}

/// The largest count that is not a [`PseudoCount`]. Merges saturate here.
pub(crate) const LARGEST_COUNT: u64 = u64::MAX - 2;

impl PseudoCount {
    /// The mark that `first_counter` is, if it is one.
    #[inline]
    pub fn from_counter(first_counter: u64) -> Option<Self> {
        match first_counter {
            u64::MAX => Some(Self::Hot),
            value if value == u64::MAX - 1 => Some(Self::Warm),
            _ => None,
        }
    }

    /// The counter value that stands for this mark.
    pub fn counter(self) -> u64 {
        match self {
            Self::Hot => u64::MAX,
            Self::Warm => u64::MAX - 1,
        }
    }
}

/// The counts of one function for one FuncHash.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FunctionRecord {
    /// Structural hash of the control flow, opaque. Bit 60 marks a
    /// context-sensitive record.
    pub func_hash: u64,
    /// Execution counts in the order of the profile.
    pub counters: Vec<u64>,
    /// MC/DC bitmap, one byte each (LLVM 18 on).
    pub bitmap: Vec<u8>,
    /// How evenly the waves of a GPU ran; mostly nothing (LLVM 23 on).
    pub uniformity: Uniformity,
    sites: SitesByKind,
}

/// The counts of one function and FuncHash, stored in a [`FunctionRecord`] or a
/// [`FunctionTable`](crate::model::FunctionTable).
#[derive(Debug, Clone, Copy)]
pub struct RecordView<'a> {
    /// See [`FunctionRecord::func_hash`].
    pub func_hash: u64,
    /// See [`FunctionRecord::counters`].
    pub counters: Counters<'a>,
    /// See [`FunctionRecord::bitmap`].
    pub bitmap: &'a [u8],
    /// See [`FunctionRecord::uniformity`].
    pub uniformity: &'a Uniformity,
    pub(super) sites: &'a SitesByKind,
}

impl FunctionRecord {
    /// Bit 60 of FuncHash: the record is context-sensitive (LLVM 9 on,
    /// `NamedInstrProfRecord::CS_FLAG_IN_FUNC_HASH`).
    pub const CONTEXT_SENSITIVE_HASH: u64 = 1 << 60;

    /// A record with counters only.
    pub fn new(func_hash: u64, counters: Vec<u64>) -> Self {
        Self { func_hash, counters, ..Self::default() }
    }

    /// A view of the record.
    #[inline]
    pub fn view(&self) -> RecordView<'_> {
        let Self { func_hash, counters, bitmap, uniformity, sites } = self;
        RecordView { func_hash: *func_hash, counters: counters.into(), bitmap, uniformity, sites }
    }

    /// Makes the record a copy of another and keeps its memory.
    pub fn copy_from(&mut self, record: RecordView<'_>) {
        self.clear();
        self.func_hash = record.func_hash;
        record.counters.append_to(&mut self.counters);
        self.bitmap.extend_from_slice(record.bitmap);
        if !record.uniformity.is_empty() {
            self.uniformity.clone_from(record.uniformity);
        }
        for kind in ValueKind::EACH.into_iter().filter(|kind| !record.sites(*kind).is_empty()) {
            self.sites_mut(kind).clone_from(record.sites(kind));
        }
    }

    /// Empties the record and keeps its memory.
    pub fn clear(&mut self) {
        self.func_hash = 0;
        self.counters.clear();
        self.bitmap.clear();
        self.uniformity.clear();
        self.sites.iter_mut().for_each(ValueSites::clear);
    }

    /// The sites of one kind.
    #[inline]
    pub fn sites(&self, kind: ValueKind) -> &ValueSites {
        self.view().sites(kind)
    }

    /// The sites of one kind, to be filled.
    #[inline]
    pub fn sites_mut(&mut self, kind: ValueKind) -> &mut ValueSites {
        self.sites.of_mut(kind)
    }

    /// Whether some kind has sites.
    #[inline]
    pub fn has_value_sites(&self) -> bool {
        self.view().has_value_sites()
    }

    /// Removes all value sites.
    pub fn drop_value_sites(&mut self) {
        self.sites = SitesByKind::default();
    }
}

impl<'a> RecordView<'a> {
    /// A record with counters only.
    #[inline]
    pub(crate) fn of_counters(func_hash: u64, counters: Counters<'a>) -> Self {
        Self { func_hash, counters, bitmap: &[], uniformity: &NO_UNIFORMITY, sites: SitesByKind::NONE }
    }

    /// Whether there is nothing but counters.
    #[inline]
    pub(crate) fn has_only_counters(self) -> bool {
        self.bitmap.is_empty() && self.uniformity.is_empty() && !self.has_value_sites()
    }

    /// Whether the hash carries the context-sensitive flag.
    #[inline]
    pub fn is_context_sensitive(self) -> bool {
        self.func_hash & FunctionRecord::CONTEXT_SENSITIVE_HASH != 0
    }

    /// The mark in the first counter, if it is one.
    #[inline]
    pub fn pseudo_count(self) -> Option<PseudoCount> {
        self.counters.first().and_then(PseudoCount::from_counter)
    }

    /// Returns the number of calls of the function in a profile of this kind; `None` if it is not known, see
    /// [`ProfileKind::first_counter_is_entry`].
    pub fn entry_count(self, kind: ProfileKind) -> Option<u64> {
        let is_known = kind.first_counter_is_entry() && self.pseudo_count().is_none();
        self.counters.first().filter(|_| is_known)
    }

    /// The sites of one kind.
    #[inline]
    pub fn sites(self, kind: ValueKind) -> &'a ValueSites {
        self.sites.of(kind)
    }

    /// Whether some kind has sites.
    #[inline]
    pub fn has_value_sites(self) -> bool {
        !self.sites.is_empty()
    }

    /// Whether every counter and bitmap byte is zero.
    pub fn is_all_zero(self) -> bool {
        self.counters.iter().all(|c| c == 0) && self.bitmap.iter().all(|b| *b == 0)
    }

    /// Largest counter, 0 without counters.
    pub fn max_counter(self) -> u64 {
        self.counters.iter().fold(0, u64::max)
    }

    /// The record on its own, without spare memory.
    #[must_use]
    pub fn to_record(self) -> FunctionRecord {
        FunctionRecord {
            func_hash: self.func_hash,
            counters: self.counters.to_vec(),
            bitmap: self.bitmap.to_vec(),
            uniformity: self.uniformity.clone(),
            sites: self.sites.to_compact(),
        }
    }
}

impl<'a> From<&'a FunctionRecord> for RecordView<'a> {
    fn from(record: &'a FunctionRecord) -> Self {
        record.view()
    }
}

/// Equal when everything that counts is: hash, counters, bitmap, uniformity
/// and sites.
impl PartialEq for RecordView<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.func_hash == other.func_hash
            && self.counters == other.counters
            && self.bitmap == other.bitmap
            && self.uniformity == other.uniformity
            && self.sites == other.sites
    }
}

/// The kind of the values of a site (`IPVK_*` in LLVM's `InstrProfData.inc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum ValueKind {
    /// Kind 0: target of an indirect call; the value is its name's hash, 0 unknown.
    IndirectCallTarget = 0,
    /// Kind 1: size of a memory operation in bytes, by size class.
    MemOpSize = 1,
    /// Kind 2: vtable of a virtual call; the value is its name's hash (LLVM 19).
    VTableTarget = 2,
}

impl ValueKind {
    /// Number of kinds.
    pub const COUNT: usize = 3;
    /// All kinds, ascending.
    pub const ALL: &'static [Self] = &Self::EACH;

    pub(crate) const EACH: [Self; Self::COUNT] = [Self::IndirectCallTarget, Self::MemOpSize, Self::VTableTarget];

    /// The kind of that number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// The kind's number in files.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Whether values are hashes of names.
    pub fn is_name(self) -> bool {
        self != Self::MemOpSize
    }

    /// The label that LLVM's text format prints in comments.
    pub fn label(self) -> &'static str {
        match self {
            Self::IndirectCallTarget => "IPVK_IndirectCallTarget",
            Self::MemOpSize => "IPVK_MemOPSize",
            Self::VTableTarget => "IPVK_VTableTarget",
        }
    }
}

/// Most values that LLVM keeps at one site.
pub const MAX_VALUES_PER_SITE: usize = 255;

/// A value and how often it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ValueCount {
    /// A name hash (kinds 0 and 2) or a size (kind 1).
    pub value: u64,
    /// Times seen.
    pub count: u64,
}

/// The sites of one kind in one function, in program order.
///
/// Stored flat: all values of all sites in one list, and where each site ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValueSites {
    ends: Vec<u32>,
    values: Vec<ValueCount>,
}

impl ValueSites {
    /// No sites.
    pub const fn new() -> Self {
        Self { ends: Vec::new(), values: Vec::new() }
    }

    /// Number of sites, those without values included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no sites.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of values over all sites.
    pub fn values_len(&self) -> usize {
        self.values.len()
    }

    /// Removes all sites and keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.values.clear();
    }

    /// Makes these sites a copy of others without spare memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.clear();
        self.ends.reserve_exact(other.ends.len());
        self.ends.extend_from_slice(&other.ends);
        self.values.reserve_exact(other.values.len());
        self.values.extend_from_slice(&other.values);
    }

    /// Reserves memory for `sites` more sites with `values` values in total.
    #[inline]
    pub(crate) fn reserve(&mut self, sites: usize, values: usize) {
        self.ends.reserve(sites);
        self.values.reserve(values);
    }

    /// Leaves the first `most` values of each site.
    pub(crate) fn truncate_sites(&mut self, most: usize) {
        let (mut start, mut kept) = (0, 0);
        for end in &mut self.ends {
            let len = (*end as usize - start).min(most);
            self.values.copy_within(start..start + len, kept);
            start = std::mem::replace(end, (kept + len) as u32) as usize;
            kept += len;
        }
        self.values.truncate(kept);
    }

    /// Adds a value to the site that [`end_site`](Self::end_site) will finish.
    #[inline]
    pub fn push_value(&mut self, value: ValueCount) {
        self.values.push(value);
    }

    /// Finishes a site: the values pushed since the last call are its own.
    #[inline]
    pub fn end_site(&mut self) {
        self.ends.push(u32::try_from(self.values.len()).expect("a function has fewer than 2^32 values"));
    }

    /// Adds a whole site.
    pub fn push_site(&mut self, values: &[ValueCount]) {
        self.values.extend_from_slice(values);
        self.end_site();
    }

    /// The values of one site.
    ///
    /// # Panics
    ///
    /// When `index` is not below [`len`](Self::len).
    #[inline]
    pub fn site(&self, index: usize) -> &[ValueCount] {
        &self.values[self.range(index)]
    }

    /// The values of one site, to change in place.
    ///
    /// # Panics
    ///
    /// When `index` is not below [`len`](Self::len).
    #[inline]
    pub fn site_mut(&mut self, index: usize) -> &mut [ValueCount] {
        let range = self.range(index);
        &mut self.values[range]
    }

    /// All sites in order.
    pub fn iter(&self) -> Sites<'_> {
        Sites { sites: self, left: 0..self.len() }
    }

    /// All values of all sites in order.
    pub fn values(&self) -> &[ValueCount] {
        &self.values
    }

    /// All values of all sites in order, to change in place.
    pub fn values_mut(&mut self) -> &mut [ValueCount] {
        &mut self.values
    }

    /// End offsets of the sites in [`values`](Self::values), ascending.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    fn range(&self, index: usize) -> Range<usize> {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        start as usize..self.ends[index] as usize
    }
}

/// The sites of one kind in program order: the values of each.
#[derive(Debug, Clone)]
pub struct Sites<'a> {
    sites: &'a ValueSites,
    left: Range<usize>,
}

impl<'a> Iterator for Sites<'a> {
    type Item = &'a [ValueCount];

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left.next().map(|index| self.sites.site(index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl DoubleEndedIterator for Sites<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.left.next_back().map(|index| self.sites.site(index))
    }
}

impl ExactSizeIterator for Sites<'_> {}

impl FusedIterator for Sites<'_> {}

impl<'a> IntoIterator for &'a ValueSites {
    type Item = &'a [ValueCount];
    type IntoIter = Sites<'a>;

    fn into_iter(self) -> Sites<'a> {
        self.iter()
    }
}

impl<'a> FromIterator<&'a [ValueCount]> for ValueSites {
    fn from_iter<T: IntoIterator<Item = &'a [ValueCount]>>(sites: T) -> Self {
        let mut all = Self::new();
        for site in sites {
            all.push_site(site);
        }
        all
    }
}

/// Functions in order of their first execution in one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TemporalTrace {
    /// The weight of the trace; the input's weight for raw files.
    pub weight: u64,
    /// Hashes of the functions' names.
    pub functions: Vec<NameRef>,
}

/// Identity of an image, for ELF the GNU build id; as long as the linker made it.
pub type BinaryId = Vec<u8>;

/// The memory profile of an indexed file, carried as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemProfSection {
    /// The section's bytes.
    pub bytes: Vec<u8>,
    /// The absolute offset of the section: the offsets in it are relative to the start of the file, and must be
    /// relocated with the section.
    pub offset: u64,
    /// Indexed version of the file it came from.
    pub indexed_version: u32,
}

impl MemProfSection {
    /// A copy.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self { bytes: memory::copied(&self.bytes, HOLD_INPUT)?, ..*self })
    }
}

/// The traces that were kept, and how many were ever seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TemporalProfile {
    /// Kept traces.
    pub traces: Vec<TemporalTrace>,
    /// Traces ever seen, those included that the reservoir dropped.
    pub stream_size: u64,
}

/// One record as a reader hands it out; valid until the next one is read.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// PGO name; empty when a raw record's hash has no name.
    pub name: &'a [u8],
    /// The name's hash, if the file or the reader has it. It may be wrong in a damaged file; the merger only uses it
    /// for known names.
    pub name_ref: Option<NameRef>,
    /// A shared text that `name` is a piece of, if there is one: tables keep
    /// the text rather than copy the name.
    pub text: Option<&'a NameText>,
    /// The counts.
    pub record: RecordView<'a>,
}

/// A profile being read front to back, whatever its format.
///
/// After an error the reader is finished: further calls of
/// [`next_record`](Self::next_record) return `None`. The records handed out
/// before stay valid, and what the accessors return covers what was read.
pub trait ProfileReader: Send {
    /// Returns the variant bits. For a raw file with several profiles, these are the bits of the current one, so ask
    /// before the first record and again after the last.
    fn kind(&self) -> ProfileKind;

    /// Returns the number that `show --profile-version` prints: 0 for text, the version for indexed, the whole version
    /// word for raw profiles.
    fn version_word(&self) -> u64;

    /// The next record in file order, or `None` at the end.
    ///
    /// # Errors
    ///
    /// The first fault found; see [`crate::error::ErrorKind`].
    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>>;

    /// Whether the hashes handed out with names were computed from the names,
    /// rather than copied from the file.
    fn hashes_names(&self) -> bool {
        false
    }

    /// Informs the reader that a merge used its last record as the first record of its name and FuncHash, instead of
    /// adding it to an existing one.
    ///
    /// The text reader of LLVM 19 to 22 moves the bitmap out in the first case
    /// and forgets to clear it in the second, so that later records inherit it;
    /// see `Compat::text_bitmaps_stick`.
    fn record_taken_over(&mut self) {}

    /// Names known so far, for looking up value targets and traces. Complete
    /// once all records were read.
    fn symbols(&mut self) -> Result<&SymbolTable>;

    /// Image identities; complete once all records were read.
    fn binary_ids(&mut self) -> Result<Vec<BinaryId>>;

    /// Whether the format keeps a list of identities in every file, so that an
    /// empty list is worth announcing (LLVM does for indexed files of any version).
    fn lists_binary_ids(&self) -> bool {
        false
    }

    /// Traces; complete once all records were read. The traces of raw files
    /// have weight 1.
    fn temporal(&mut self) -> TemporalProfile;

    /// Whether the traces take the weight of the input in a merge, as those of
    /// raw files do; those of other formats keep their own.
    fn traces_take_input_weight(&self) -> bool {
        false
    }

    /// Names of vtables in file order; complete once all records were read.
    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>>;

    /// The memory profile, if the file has one.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    fn memprof(&self) -> Result<Option<MemProfSection>> {
        Ok(None)
    }

    /// Takes the warnings collected so far.
    fn take_warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }
}

/// The FuncHash by which the bridge knows its own records.
///
/// `receivers` is the kind of its value sites: vtable targets, or indirect-call
/// targets for releases before LLVM 19.
pub fn func_hash(name: &[u8], receivers: ValueKind, context_sensitive: bool) -> u64 {
    let mut text = format!("iprof{}:", receivers.number()).into_bytes();
    text.extend_from_slice(name);
    let low = name_ref(&text) & (FunctionRecord::CONTEXT_SENSITIVE_HASH - 1);
    if context_sensitive { low | FunctionRecord::CONTEXT_SENSITIVE_HASH } else { low }
}

/// Whether the bridge made the record with that name and FuncHash.
pub(crate) fn is_of_bridge(name: &[u8], hash: u64) -> bool {
    let context_sensitive = hash & FunctionRecord::CONTEXT_SENSITIVE_HASH != 0;
    let kinds = [ValueKind::VTableTarget, ValueKind::IndirectCallTarget];
    may_be_of_bridge(name, hash) && kinds.into_iter().any(|kind| func_hash(name, kind, context_sensitive) == hash)
}

/// Returns false for most records that the bridge did not make, without computing a hash.
pub(crate) fn may_be_of_bridge(name: &[u8], hash: u64) -> bool {
    let context_sensitive = hash & FunctionRecord::CONTEXT_SENSITIVE_HASH != 0;
    // Records without the mark are of methods, which have a `#`.
    hash < FunctionRecord::CONTEXT_SENSITIVE_HASH * 2 && (context_sensitive || memchr::memchr(b'#', name).is_some())
}
