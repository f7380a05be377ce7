//! Value profiles: which values were seen at a place in a function, how often.

use crate::error::Result;
use crate::memory::{self, HOLD_RECORDS};
use std::iter::FusedIterator;
use std::ops::Range;

/// What the values of a site are (`IPVK_*` in LLVM's `InstrProfData.inc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
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
    pub const ALL: [Self; Self::COUNT] = [Self::IndirectCallTarget, Self::MemOpSize, Self::VTableTarget];

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

    /// Makes these sites a copy of others; the memory is used again, and no
    /// more is taken than the values need.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn copy_from(&mut self, other: &Self) -> Result<()> {
        self.clear();
        self.make_room_for_copy(other)?;
        self.ends.extend_from_slice(&other.ends);
        self.values.extend_from_slice(&other.values);
        Ok(())
    }

    /// Makes room for so many more sites, and for so many values at them.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    #[inline]
    pub(crate) fn make_room_for_sites(&mut self, sites: usize, values: usize) -> Result<()> {
        memory::reserve(&mut self.ends, sites, HOLD_RECORDS)?;
        memory::reserve(&mut self.values, values, HOLD_RECORDS)
    }

    /// Makes room for a copy of other sites in these, which have none; no more than that needs.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn make_room_for_copy(&mut self, other: &Self) -> Result<()> {
        let has_room = self.ends.try_reserve_exact(other.ends.len()).is_ok()
            && self.values.try_reserve_exact(other.values.len()).is_ok();
        if has_room { Ok(()) } else { Err(memory::refused(HOLD_RECORDS)) }
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

    /// Makes room for so many more values of a site, and for its end.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    #[inline]
    pub(crate) fn try_reserve(&mut self, values: usize) -> Result<()> {
        self.make_room_for_sites(1, values)
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
