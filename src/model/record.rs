//! One function's counters, bitmap and value sites: owned, or as a view.

use crate::model::counters::Counters;
use crate::model::uniformity::{NO_UNIFORMITY, Uniformity};
use crate::model::value::{ValueKind, ValueSites};

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
        Self(ValueKind::ALL.map(|kind| self.0[kind as usize].as_ref().filter(|sites| !sites.is_empty()).cloned()))
    }
}

/// No sites of a kind are no sites, however they are kept.
impl PartialEq for SitesByKind {
    fn eq(&self, other: &Self) -> bool {
        ValueKind::ALL.into_iter().all(|kind| self.of(kind) == other.of(kind))
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

/// What was counted in one function, for one FuncHash.
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

/// What was counted in one function, for one FuncHash, wherever it is kept: in
/// a [`FunctionRecord`] or in a [`FunctionTable`](crate::model::FunctionTable).
#[derive(Debug, Clone, Copy)]
pub struct RecordView<'a> {
    /// As [`FunctionRecord::func_hash`].
    pub func_hash: u64,
    /// As [`FunctionRecord::counters`].
    pub counters: Counters<'a>,
    /// As [`FunctionRecord::bitmap`].
    pub bitmap: &'a [u8],
    /// As [`FunctionRecord::uniformity`].
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
        for kind in ValueKind::ALL.into_iter().filter(|kind| !record.sites(*kind).is_empty()) {
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
