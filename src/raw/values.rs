//! Value data: the values of a function's value sites.
//!
//! Since version 4, each record with sites has one block after the names (`ValueProfData` in `InstrProfData.inc`):
//!
//! | field | type |
//! |---|---|
//! | TotalSize | u32, bytes of the blob, a multiple of 8 |
//! | NumValueKinds | u32 |
//! | for each kind: Kind, NumValueSites | u32, u32 |
//! | values at each site | u8 each, padded to 8 from Kind on |
//! | for each value: Value, Count | u64, u64 |

use super::layout::{DataRecord, Section, Word};
use super::profile::RawProfile;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::model::symbols::NameRefMap;
use crate::model::{FunctionRecord, NameRef, ValueCount, ValueKind, name_ref};
use std::sync::Arc;

/// From run-time addresses to name hashes, for one profile.
#[derive(Debug, Clone, Default)]
pub struct Targets {
    functions: Arc<NameRefMap<NameRef>>,
    /// `[start, end)` and the hash, by start.
    vtables: Arc<[(u64, u64, NameRef)]>,
    overlaps: bool,
    /// The difference of the load address to that of the first file.
    slide: u64,
}

impl Targets {
    /// Collects the function and vtable addresses of a profile.
    ///
    /// Of several records with one address the first in file order counts.
    pub fn read(profile: &RawProfile<'_>) -> Self {
        let mut functions = NameRefMap::default();
        let by_pointer = profile.header().version() <= 2;
        for (index, record) in profile.records().enumerate().filter(|(_, record)| record.function_ptr != 0) {
            let hash = match by_pointer {
                true => profile.plain_name(index, &record).map_or(0, name_ref),
                false => record.name_ref,
            };
            functions.entry(record.function_ptr).or_insert(hash);
        }
        let vtables = profile.vtables().filter(|vtable| vtable.start != 0);
        let mut vtables: Vec<_> =
            vtables.map(|v| (v.start, v.start.saturating_add(v.size.into()), v.name_ref)).collect();
        vtables.sort_by_key(|(start, _, _)| *start);
        let overlaps = vtables.windows(2).any(|pair| pair[0].1 > pair[1].0);
        Self { functions: Arc::new(functions), vtables: vtables.into(), overlaps, slide: 0 }
    }

    /// The same targets for a run in which every address is higher by `slide`
    /// (modulo 2^64).
    #[must_use]
    pub(crate) fn moved_by(&self, slide: u64) -> Self {
        Self { slide, ..self.clone() }
    }

    /// Returns the hash of the function that begins at that address, otherwise 0.
    #[inline]
    pub(crate) fn function(&self, address: u64) -> NameRef {
        self.functions.get(&address.wrapping_sub(self.slide)).copied().unwrap_or(0)
    }

    /// Returns the hash of the vtable that contains that address, otherwise 0.
    #[inline]
    pub(crate) fn vtable(&self, address: u64) -> NameRef {
        let address = address.wrapping_sub(self.slide);
        let after = self.vtables.partition_point(|(start, _, _)| *start <= address);
        match after.checked_sub(1).and_then(|at| self.vtables.get(at)) {
            Some((_, end, name_ref)) if address < *end => *name_ref,
            _ => 0,
        }
    }

    /// Returns true if two vtables overlap, which no valid image has.
    pub(crate) fn vtables_overlap(&self) -> bool {
        self.overlaps
    }
}

/// How strictly a blob is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strictness {
    /// As LLVM 22, except where that would read outside the blob.
    Lax,
    /// All that real writers satisfy.
    Strict,
}

/// The context of a blob.
pub(super) struct BlobReader<'a> {
    pub(super) targets: &'a Targets,
    pub(super) endian: Endian,
    /// Number of kinds that the version knows.
    pub(super) kinds: usize,
    pub(super) strictness: Strictness,
}

/// The number of sites of each kind that a record declares.
pub(super) type DeclaredSites = [u16; ValueKind::COUNT];

impl BlobReader<'_> {
    /// Reads the block at the cursor into `record`, whose value sites are empty. The record declares the given number
    /// of sites. Afterwards the cursor is after the block.
    pub(super) fn read(
        &self,
        cursor: &mut Cursor<'_>,
        announced: DeclaredSites,
        record: &mut FunctionRecord,
    ) -> Result<()> {
        self.walk(cursor, announced, &mut |kind, counts, pairs| self.append_sites(kind, counts, pairs, record))
    }

    /// Checks a blob like [`read`](Self::read), but stores nothing.
    pub(super) fn check(&self, cursor: &mut Cursor<'_>, announced: DeclaredSites) -> Result<()> {
        self.walk(cursor, announced, &mut |_, _, _| {})
    }

    /// Checks the blob at the cursor. Passes on its content for each kind: the number of values per site, and all pairs
    /// of a value and its count.
    fn walk(
        &self,
        cursor: &mut Cursor<'_>,
        announced: DeclaredSites,
        each: &mut impl FnMut(ValueKind, &[u8], &[[u8; 16]]),
    ) -> Result<()> {
        let strict = self.strictness == Strictness::Strict;
        let left = cursor.left();
        let mut header = cursor.clone();
        let total_size = u64::from(header.u32("TotalSize of value data")?);
        let kinds_count = header.u32("NumValueKinds of value data")?;
        if total_size > left {
            let kind = ErrorKind::TooLarge { field: "TotalSize of value data", found: total_size, limit: left };
            return Err(cursor.place(kind.into()));
        }
        let fault = |detail: String, llvm: &str| Err(cursor.place(Error::malformed(detail)).with_llvm_detail(llvm));
        if kinds_count as usize > self.kinds {
            let detail = format!("NumValueKinds is {kinds_count}, expected at most {}", self.kinds);
            return fault(detail, "number of value profile kinds is invalid");
        }
        if !total_size.is_multiple_of(8) {
            let detail = format!("TotalSize of value data is {total_size}, which is not a multiple of 8");
            return fault(detail, "total size is not multiples of quardword");
        }
        if total_size < 8 {
            return fault(format!("TotalSize of value data is {total_size}, expected at least 8"), BEYOND);
        }
        let expected = announced.iter().filter(|sites| **sites != 0).count();
        if strict && kinds_count as usize != expected {
            return fault(format!("NumValueKinds is {kinds_count}, the record has sites of {expected} kinds"), BEYOND);
        }
        let base = cursor.position();
        let body = cursor.take("value data", total_size)?;
        let mut inner = Cursor::new(body, base, self.endian, Section::ValueData.name());
        inner.take("header of value data", 8)?;
        let mut previous = None;
        for _ in 0..kinds_count {
            let kind = self.walk_kind(&mut inner, announced, each)?;
            if strict && previous.is_some_and(|previous| previous >= kind) {
                return Err(inner.place(Error::malformed("value kinds do not ascend").with_llvm_detail(BEYOND)));
            }
            previous = Some(kind);
        }
        if strict && !inner.is_empty() {
            let detail = format!("{} bytes are left after the last value", inner.left());
            return Err(inner.place(Error::malformed(detail).with_llvm_detail(BEYOND)));
        }
        Ok(())
    }

    fn walk_kind(
        &self,
        inner: &mut Cursor<'_>,
        announced: DeclaredSites,
        each: &mut impl FnMut(ValueKind, &[u8], &[[u8; 16]]),
    ) -> Result<ValueKind> {
        let beyond = |inner: &Cursor<'_>, what: &str| {
            let detail = format!("{what} exceeds the value data of its function");
            inner.place(Error::malformed(detail).with_llvm_detail(BEYOND))
        };
        if inner.left() < 8 {
            return Err(beyond(inner, "the header of a value kind"));
        }
        let start = inner.clone();
        let number = inner.u32("Kind")?;
        let sites_count = inner.u32("NumValueSites")?;
        let Some(kind) = ValueKind::from_number(number).filter(|_| (number as usize) < self.kinds) else {
            let detail = format!("value kind {number} does not exist in this version");
            return Err(start.place(Error::malformed(detail).with_llvm_detail("value kind is invalid")));
        };
        let expected = u32::from(announced[kind as usize]);
        if self.strictness == Strictness::Strict && sites_count != expected {
            let detail = format!("value data has {sites_count} sites of kind {number}, the record {expected}");
            return Err(start.place(Error::malformed(detail).with_llvm_detail(BEYOND)));
        }
        let counts = inner
            .take("values at each site", u64::from(sites_count))
            .map_err(|_| beyond(&start, "a list of value counts"))?;
        let padding = (8 - u64::from(sites_count) % 8) % 8;
        inner.take("padding of value counts", padding).map_err(|_| beyond(&start, "a list of value counts"))?;
        let values_len = counts.iter().map(|count| u64::from(*count)).sum::<u64>();
        let bytes = inner.take("values", values_len * 16).map_err(|_| beyond(&start, "a list of values"))?;
        each(kind, counts, bytes.as_chunks::<16>().0);
        Ok(kind)
    }

    fn append_sites(&self, kind: ValueKind, counts: &[u8], pairs: &[[u8; 16]], record: &mut FunctionRecord) {
        let (endian, targets) = (self.endian, self.targets);
        match kind {
            ValueKind::IndirectCallTarget => {
                append_mapped(endian, kind, counts, pairs, record, |address| targets.function(address));
            }
            ValueKind::MemOpSize => append_mapped(endian, kind, counts, pairs, record, |size| size),
            ValueKind::VTableTarget => {
                append_mapped(endian, kind, counts, pairs, record, |address| targets.vtable(address));
            }
        }
    }
}

/// LLVM 22's message for most errors inside a blob.
const BEYOND: &str = "value profile address is greater than total size";

fn append_mapped(
    endian: Endian,
    kind: ValueKind,
    counts: &[u8],
    mut pairs: &[[u8; 16]],
    record: &mut FunctionRecord,
    map: impl Fn(u64) -> u64,
) {
    let sites = record.sites_mut(kind);
    sites.reserve(counts.len(), pairs.len());
    for &count in counts {
        let (own, rest) = pairs.split_at(usize::from(count).min(pairs.len()));
        pairs = rest;
        for pair in own {
            let (words, _) = pair.as_chunks::<8>();
            sites.push_value(ValueCount { value: map(endian.u64(words[0])), count: endian.u64(words[1]) });
        }
        sites.end_site();
    }
}

/// Gives `record` the sites that `data_record` announces, without values.
pub(super) fn append_empty_sites(data_record: &DataRecord, record: &mut FunctionRecord) {
    for (kind, &count) in ValueKind::EACH.iter().zip(&data_record.num_value_sites) {
        if count != 0 {
            let sites = record.sites_mut(*kind);
            sites.reserve(count.into(), 0);
            (0..count).for_each(|_| sites.end_site());
        }
    }
}

/// Reads the values of a version 2 record, to which it points.
///
/// No real file with such data was seen; the layout is that of LLVM 3.8's
/// runtime: one count byte for each site, padded to 8, then the pairs.
pub(super) fn read_version_2(
    profile: &RawProfile<'_>,
    targets: &Targets,
    data_record: &DataRecord,
    record: &mut FunctionRecord,
) -> Result<()> {
    let delta = profile.header().word(Word::ValueDataDelta);
    if data_record.values_ptr == 0 || delta == 0 {
        append_empty_sites(data_record, record);
        return Ok(());
    }
    let encoding = profile.header().encoding();
    let offset = encoding.pointer.wrap(data_record.values_ptr.wrapping_sub(delta));
    let base = profile.section_range(Section::ValueData).start as u64;
    let mut cursor = Cursor::new(profile.section(Section::ValueData), base, encoding.endian, Section::ValueData.name());
    cursor.take("value data of the record", offset)?;
    let sites = u64::from(data_record.num_value_sites[0]);
    let counts = cursor.take("values at each site", sites)?;
    cursor.take("padding of value counts", (8 - sites % 8) % 8)?;
    let values_len = counts.iter().map(|count| u64::from(*count)).sum::<u64>();
    let bytes = cursor.take("values", values_len * 16)?;
    let kind = ValueKind::IndirectCallTarget;
    let pairs = bytes.as_chunks::<16>().0;
    append_mapped(encoding.endian, kind, counts, pairs, record, |address| targets.function(address));
    Ok(())
}
