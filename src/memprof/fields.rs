//! The measurements of allocations, and the schema that lists the stored ones.

use std::fmt;

/// A field of a [`MemInfoBlock`], with its id in the schema of indexed profiles (`MIBEntryDef.inc` in LLVM).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Field {
    /// The number of allocations.
    AllocCount = 1,
    /// Loads and stores to all allocations.
    TotalAccessCount,
    /// Minimum of accesses per allocation.
    MinAccessCount,
    /// Maximum of accesses per allocation.
    MaxAccessCount,
    /// Bytes of all allocations.
    TotalSize,
    /// Bytes of the smallest allocation.
    MinSize,
    /// Bytes of the largest allocation.
    MaxSize,
    /// Time of the last allocation, in milliseconds since the program started.
    AllocTimestamp,
    /// Time when the last allocation was freed, in milliseconds since the program started.
    DeallocTimestamp,
    /// Sum of the lifetimes in milliseconds.
    TotalLifetime,
    /// Shortest lifetime in milliseconds.
    MinLifetime,
    /// Longest lifetime in milliseconds.
    MaxLifetime,
    /// Processor of the last allocation.
    AllocCpuId,
    /// Processor that freed the last allocation.
    DeallocCpuId,
    /// Number of allocations that another processor freed.
    NumMigratedCpu,
    /// Number of allocations before the previous one was freed.
    NumLifetimeOverlaps,
    /// Number of allocations on the same processor as the previous one.
    NumSameAllocCpu,
    /// Number of allocations freed on the same processor as the previous one.
    NumSameDeallocCpu,
    /// Always 0.
    DataTypeId,
    /// Accesses per byte of all allocations, times 100.
    TotalAccessDensity,
    /// Minimum of the accesses per byte, times 100.
    MinAccessDensity,
    /// Maximum of the accesses per byte, times 100.
    MaxAccessDensity,
    /// Accesses per byte and second of all allocations, times 100.
    TotalLifetimeAccessDensity,
    /// Minimum of the accesses per byte and second, times 100.
    MinLifetimeAccessDensity,
    /// Maximum of the accesses per byte and second, times 100.
    MaxLifetimeAccessDensity,
    /// Number of entries of the access histogram.
    AccessHistogramSize,
    /// A pointer of the process that wrote the profile. It has no meaning and is always 0 here.
    AccessHistogram,
}

/// The rule for merging a field of several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// Add, and saturate at the maximum of the field.
    Add,
    /// Keep the minimum.
    Min,
    /// Keep the maximum.
    Max,
}

/// The number of fields.
pub(crate) const FIELD_COUNT: usize = 27;

struct Row(Field, &'static str, u8, Sum);

/// Name, width in bytes and merge rule of every field, in the order of their ids.
const ROWS: [Row; FIELD_COUNT] = {
    use Field::*;
    use Sum::{Add, Max, Min};
    [
        Row(AllocCount, "AllocCount", 4, Add),
        Row(TotalAccessCount, "TotalAccessCount", 8, Add),
        Row(MinAccessCount, "MinAccessCount", 8, Min),
        Row(MaxAccessCount, "MaxAccessCount", 8, Max),
        Row(TotalSize, "TotalSize", 8, Add),
        Row(MinSize, "MinSize", 4, Min),
        Row(MaxSize, "MaxSize", 4, Max),
        Row(AllocTimestamp, "AllocTimestamp", 4, Min),
        Row(DeallocTimestamp, "DeallocTimestamp", 4, Max),
        Row(TotalLifetime, "TotalLifetime", 8, Add),
        Row(MinLifetime, "MinLifetime", 4, Min),
        Row(MaxLifetime, "MaxLifetime", 4, Max),
        Row(AllocCpuId, "AllocCpuId", 4, Min),
        Row(DeallocCpuId, "DeallocCpuId", 4, Min),
        Row(NumMigratedCpu, "NumMigratedCpu", 4, Add),
        Row(NumLifetimeOverlaps, "NumLifetimeOverlaps", 4, Add),
        Row(NumSameAllocCpu, "NumSameAllocCpu", 4, Add),
        Row(NumSameDeallocCpu, "NumSameDeallocCpu", 4, Add),
        Row(DataTypeId, "DataTypeId", 8, Max),
        Row(TotalAccessDensity, "TotalAccessDensity", 8, Add),
        Row(MinAccessDensity, "MinAccessDensity", 4, Min),
        Row(MaxAccessDensity, "MaxAccessDensity", 4, Max),
        Row(TotalLifetimeAccessDensity, "TotalLifetimeAccessDensity", 8, Add),
        Row(MinLifetimeAccessDensity, "MinLifetimeAccessDensity", 4, Min),
        Row(MaxLifetimeAccessDensity, "MaxLifetimeAccessDensity", 4, Max),
        Row(AccessHistogramSize, "AccessHistogramSize", 4, Max),
        Row(AccessHistogram, "AccessHistogram", 8, Max),
    ]
};

impl Field {
    /// Returns all fields, in the order of their ids.
    pub fn all() -> impl Iterator<Item = Self> {
        ROWS.iter().map(|row| row.0)
    }

    /// Returns the field with an id, 1 to 27.
    pub(crate) fn from_id(id: u64) -> Option<Self> {
        usize::try_from(id).ok()?.checked_sub(1).and_then(|at| ROWS.get(at)).map(|row| row.0)
    }

    /// Returns the field with a name.
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        ROWS.iter().find(|row| row.1.as_bytes() == name).map(|row| row.0)
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize - 1]
    }

    /// Returns LLVM's name of the field.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Returns the width in files: 4 or 8 bytes.
    pub fn width(self) -> usize {
        usize::from(self.row().2)
    }

    /// Returns the rule for merging the field.
    pub fn sum(self) -> Sum {
        self.row().3
    }

    /// Returns the maximum value.
    pub fn max(self) -> u64 {
        if self.width() == 4 { u32::MAX.into() } else { u64::MAX }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The fields that a profile stores, in the order of their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema(u32);

impl Schema {
    /// All 27 fields, which LLVM 19 and later support.
    pub(crate) const FULL: Self = Self::up_to(Field::AccessHistogram);
    /// The 25 fields of LLVM 16 to 18.
    pub(crate) const BEFORE_HISTOGRAMS: Self = Self::up_to(Field::MaxLifetimeAccessDensity);
    /// The 19 fields of LLVM 15.
    pub(crate) const BEFORE_DENSITIES: Self = Self::up_to(Field::DataTypeId);
    /// The fields that compilers use to distinguish hot and cold allocations. LLVM 19 and later store them by default
    /// in the section versions 2 to 4.
    pub const HOT_COLD: Self = Self(
        1 << Field::AllocCount as u32
            | 1 << Field::TotalSize as u32
            | 1 << Field::TotalLifetime as u32
            | 1 << Field::TotalLifetimeAccessDensity as u32,
    );
    /// No fields.
    pub const EMPTY: Self = Self(0);

    const fn up_to(field: Field) -> Self {
        // No field has the id 0.
        Self((1 << (field as u32 + 1)) - 2)
    }

    /// Returns true if the schema contains the field.
    pub fn contains(self, field: Field) -> bool {
        self.0 & 1 << field as u32 != 0
    }

    /// Returns the schema with an additional field.
    #[must_use]
    pub fn with(self, field: Field) -> Self {
        Self(self.0 | 1 << field as u32)
    }

    /// Returns the fields of both schemas.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the fields, in the order of their ids.
    pub fn fields(self) -> impl Iterator<Item = Field> {
        Field::all().filter(move |field| self.contains(*field))
    }

    /// Returns the number of fields.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns true if the schema has no fields.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the bytes of a block with these fields.
    pub(crate) fn block_size(self) -> usize {
        self.fields().map(Field::width).sum()
    }
}

/// The offset of each field in a block with all fields, in the order of their ids.
const OFFSETS: [u8; FIELD_COUNT] = {
    let (mut offsets, mut at, mut end) = ([0; FIELD_COUNT], 0, 0);
    while at < FIELD_COUNT {
        offsets[at] = end;
        end += ROWS[at].2;
        at += 1;
    }
    offsets
};

/// The bytes of a block without the pointer at its end.
const BLOCK_SIZE: usize = OFFSETS[FIELD_COUNT - 1] as usize;

/// Measurements of the allocations of one context.
///
/// There is one block per context, so the values are stored with the widths and order of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemInfoBlock {
    bytes: [u8; BLOCK_SIZE],
}

impl Default for MemInfoBlock {
    fn default() -> Self {
        Self { bytes: [0; BLOCK_SIZE] }
    }
}

impl MemInfoBlock {
    /// Creates a block from a file's block with the first fields.
    pub(super) fn from_stored(stored: &[u8]) -> Self {
        let mut block = Self::default();
        let len = stored.len().min(BLOCK_SIZE);
        block.bytes[..len].copy_from_slice(&stored[..len]);
        block
    }

    /// Returns the value of a field, or 0 if it is not stored.
    #[inline]
    pub fn value(&self, field: Field) -> u64 {
        // The pointer to a histogram is not stored.
        let Some(rest) = self.bytes.get(usize::from(OFFSETS[field as usize - 1])..) else { return 0 };
        if field.width() == 4 {
            rest.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes).into())
        } else {
            rest.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
        }
    }

    /// Sets a number, truncated to the width of its field. The pointer to a histogram has no meaning and stays 0.
    #[inline]
    pub fn set(&mut self, field: Field, value: u64) {
        let at = usize::from(OFFSETS[field as usize - 1]);
        if let Some(place) = self.bytes.get_mut(at..at + field.width()) {
            place.copy_from_slice(&value.to_le_bytes()[..field.width()]);
        }
    }

    /// Returns the number of allocations.
    pub fn alloc_count(&self) -> u64 {
        self.value(Field::AllocCount)
    }

    /// Returns the bytes of all allocations.
    pub fn total_size(&self) -> u64 {
        self.value(Field::TotalSize)
    }

    /// Adds later values of the same process, like LLVM's runtime and reader: sums wrap around, and the later times and
    /// processors replace the earlier ones (`MemInfoBlock::Merge` in `MemProfData.inc`).
    pub(crate) fn add_later_dump(&mut self, later: &Self) {
        use Field::{AllocCpuId, AllocTimestamp, DeallocCpuId, DeallocTimestamp};
        use Field::{NumLifetimeOverlaps, NumMigratedCpu, NumSameAllocCpu, NumSameDeallocCpu};
        let before = *self;
        for field in Field::all() {
            let (old, new) = (self.value(field), later.value(field));
            let value = match field {
                AllocTimestamp | DeallocTimestamp | AllocCpuId | DeallocCpuId => new,
                NumMigratedCpu => old,
                NumLifetimeOverlaps => old + u64::from(later.value(AllocTimestamp) < before.value(DeallocTimestamp)),
                NumSameAllocCpu => old + u64::from(later.value(AllocCpuId) == before.value(AllocCpuId)),
                NumSameDeallocCpu => old + u64::from(later.value(DeallocCpuId) == before.value(DeallocCpuId)),
                _ => match field.sum() {
                    Sum::Add => old.wrapping_add(new),
                    Sum::Min => old.min(new),
                    Sum::Max => old.max(new),
                },
            };
            self.set(field, value);
        }
    }

    /// Adds the values of another run. The sum does not depend on the order and grouping of runs. Sums that do not fit
    /// are limited to the maximum.
    pub(crate) fn add_run(&mut self, other: &Self) {
        for field in Field::all() {
            let (ours, theirs) = (self.value(field), other.value(field));
            let value = match field.sum() {
                Sum::Add => ours.saturating_add(theirs).min(field.max()),
                Sum::Min => ours.min(theirs),
                Sum::Max => ours.max(theirs),
            };
            self.set(field, value);
        }
    }

    /// Multiplies the run by `weight`.
    pub fn scale(&mut self, weight: u64) {
        for field in Field::all().filter(|field| field.sum() == Sum::Add) {
            let value = self.value(field).saturating_mul(weight).min(field.max());
            self.set(field, value);
        }
    }

    /// Clears the fields that a schema does not have.
    pub fn keep(&mut self, schema: Schema) {
        for field in Field::all().filter(|field| !schema.contains(*field)) {
            self.set(field, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_names_and_widths_fit_the_formats() {
        for (at, field) in Field::all().enumerate() {
            assert_eq!(Field::from_id(at as u64 + 1), Some(field));
            assert_eq!(Field::from_name(field.name().as_bytes()), Some(field));
        }
        assert_eq!((Field::from_id(0), Field::from_id(28), Field::from_name(b"Size")), (None, None, None));
        // The sizes of a raw file's blocks in versions 1, 2 and 3, 4 and 5.
        assert_eq!(Schema::BEFORE_DENSITIES.block_size(), 100);
        assert_eq!(Schema::BEFORE_HISTOGRAMS.block_size(), 132);
        assert_eq!(Schema::FULL.block_size(), 144);
        let ids: Vec<u8> = Schema::HOT_COLD.fields().map(|field| field as u8).collect();
        assert_eq!(ids, [1, 5, 10, 23]);
    }

    fn block(values: &[(Field, u64)]) -> MemInfoBlock {
        let mut block = MemInfoBlock::default();
        values.iter().for_each(|(field, value)| block.set(*field, *value));
        block
    }

    #[test]
    fn a_later_dump_wraps_and_leaves_its_times() {
        use Field::*;
        let mut first = block(&[(AllocCount, 0xffff_ffff), (MinSize, 4), (DeallocTimestamp, 9), (AllocCpuId, 3)]);
        let later = block(&[(AllocCount, 2), (MinSize, 2), (AllocTimestamp, 8), (AllocCpuId, 3), (NumMigratedCpu, 5)]);
        first.add_later_dump(&later);
        let expected = [
            (AllocCount, 1),
            (MinSize, 2),
            (AllocTimestamp, 8),
            (DeallocTimestamp, 0),
            (NumLifetimeOverlaps, 1),
            (NumSameAllocCpu, 1),
            (NumSameDeallocCpu, 1),
            (NumMigratedCpu, 0),
        ];
        expected.into_iter().for_each(|(field, value)| assert_eq!(first.value(field), value, "{field}"));
    }

    #[test]
    fn runs_add_up_to_the_largest_number() {
        use Field::*;
        let mut sum = block(&[(AllocCount, 0xffff_fff0), (TotalSize, 10), (MaxSize, 3), (MinSize, 3)]);
        sum.add_run(&block(&[(AllocCount, 0x20), (TotalSize, 1), (MaxSize, 2), (MinSize, 2)]));
        sum.scale(3);
        assert_eq!(sum, block(&[(AllocCount, 0xffff_ffff), (TotalSize, 33), (MaxSize, 3), (MinSize, 2)]));
    }
}
