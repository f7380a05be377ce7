//! The words of the header and the fields of the records, as tables. A new format
//! version is a few new rows.
//!
//! Names and order follow `InstrProfData.inc` of the LLVM release that introduced each
//! version; versions 1 to 3 follow `InstrProfiling.h` of 3.5 to 3.9.

use crate::bytes::{Encoding, Endian, PointerWidth};
use std::fmt;
use std::ops::{Range, RangeInclusive};

/// Oldest version that is known.
pub(crate) const OLDEST_VERSION: u32 = 1;
/// Newest version that is known.
pub const NEWEST_VERSION: u32 = 11;

/// Whether files of that version can be read and written. Version 6 existed
/// for some weeks of 2021 between releases and its header is not known.
pub fn is_known_version(version: u32) -> bool {
    (OLDEST_VERSION..=NEWEST_VERSION).contains(&version) && version != 6
}

/// A word of the header after the magic and the version; always 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub(crate) enum Word {
    /// Bytes of the binary ids.
    BinaryIdsSize,
    /// Number of data records.
    NumData,
    /// Bytes between the data and the counters.
    PadBeforeCounters,
    /// Number of counter elements, of 8 bytes or of 1 with byte coverage.
    NumCounters,
    /// Bytes between the counters and what follows.
    PadAfterCounters,
    /// Bytes of the bitmaps.
    NumBitmapBytes,
    /// Bytes after the bitmaps.
    PadAfterBitmap,
    /// Number of uniform counters, 8 bytes each.
    NumUniformCounters,
    /// Bytes after the uniform counters.
    PadAfterUniformCounters,
    /// Like [`CountersDelta`](Self::CountersDelta), for the uniform counters.
    UniformCountersDelta,
    /// Bytes of the names.
    NamesSize,
    /// Up to version 7 the run-time address of the counters; from 8 that
    /// address minus the address of the data.
    CountersDelta,
    /// Like [`CountersDelta`](Self::CountersDelta), for the bitmaps.
    BitmapDelta,
    /// Run-time address of the names; needed in versions 1 and 2 only.
    NamesDelta,
    /// Number of vtable records.
    NumVTables,
    /// Bytes of the vtable names.
    VNamesSize,
    /// Highest value kind that the writer knows.
    ValueKindLast,
    /// Bytes of the value data.
    ValueDataSize,
    /// Run-time address of the value data.
    ValueDataDelta,
}

impl Word {
    pub(super) const COUNT: usize = Self::ValueDataDelta as usize + 1;

    /// The word's name in LLVM's headers, or this project's where LLVM has
    /// only a macro.
    pub fn name(self) -> &'static str {
        match self {
            Self::BinaryIdsSize => "BinaryIdsSize",
            Self::NumData => "NumData",
            Self::PadBeforeCounters => "PadBeforeCounters",
            Self::NumCounters => "NumCounters",
            Self::PadAfterCounters => "PadAfterCounters",
            Self::NumBitmapBytes => "NumBitmapBytes",
            Self::PadAfterBitmap => "PadAfterBitmap",
            Self::NumUniformCounters => "NumUniformCounters",
            Self::PadAfterUniformCounters => "PadAfterUniformCounters",
            Self::UniformCountersDelta => "UniformCountersDelta",
            Self::NamesSize => "NamesSize",
            Self::CountersDelta => "CountersDelta",
            Self::BitmapDelta => "BitmapDelta",
            Self::NamesDelta => "NamesDelta",
            Self::NumVTables => "NumVTables",
            Self::VNamesSize => "VNamesSize",
            Self::ValueKindLast => "ValueKindLast",
            Self::ValueDataSize => "ValueDataSize",
            Self::ValueDataDelta => "ValueDataDelta",
        }
    }
}

/// All words in the order in which a header has them, with the versions that
/// have them.
const HEADER_WORDS: [(Word, RangeInclusive<u32>); Word::COUNT] = [
    (Word::BinaryIdsSize, 7..=11),
    (Word::NumData, 1..=11),
    (Word::PadBeforeCounters, 5..=11),
    (Word::NumCounters, 1..=11),
    (Word::PadAfterCounters, 5..=11),
    (Word::NumBitmapBytes, 9..=11),
    (Word::PadAfterBitmap, 9..=11),
    (Word::NumUniformCounters, 11..=11),
    (Word::PadAfterUniformCounters, 11..=11),
    (Word::UniformCountersDelta, 11..=11),
    (Word::NamesSize, 1..=11),
    (Word::CountersDelta, 1..=11),
    (Word::BitmapDelta, 9..=11),
    (Word::NamesDelta, 1..=11),
    (Word::NumVTables, 10..=11),
    (Word::VNamesSize, 10..=11),
    (Word::ValueKindLast, 2..=11),
    (Word::ValueDataSize, 2..=3),
    (Word::ValueDataDelta, 2..=3),
];

/// Returns the header words of a version in file order; the first is at byte 16.
pub(crate) fn header_words(version: u32) -> impl Iterator<Item = Word> {
    HEADER_WORDS.iter().filter(move |(_, versions)| versions.contains(&version)).map(|(word, _)| *word)
}

/// Bytes of a version's header, magic and version word included.
pub(crate) fn header_size(version: u32) -> usize {
    16 + 8 * header_words(version).count()
}

/// A field of the per-function record (`__llvm_profile_data`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Field {
    NameSize,
    NameRef,
    FuncHash,
    NamePtr,
    CounterPtr,
    UniformCounterPtr,
    BitmapPtr,
    FunctionPtr,
    ValuesPtr,
    NumCounters,
    NumValueSites0,
    NumValueSites1,
    NumValueSites2,
    WaveSize,
    NumBitmapBytes,
}

impl Field {
    const COUNT: usize = Self::NumBitmapBytes as usize + 1;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    U16,
    U32,
    U64,
    Pointer,
}

impl Shape {
    pub(super) fn bytes(self, pointer: PointerWidth) -> usize {
        match self {
            Self::U16 => 2,
            Self::U32 => 4,
            Self::U64 => 8,
            Self::Pointer => pointer.bytes(),
        }
    }
}

/// The fields in order, with the versions that have them.
const DATA_RECORD: [(Field, Shape, RangeInclusive<u32>); 16] = [
    (Field::NameSize, Shape::U32, 1..=2),
    (Field::NumCounters, Shape::U32, 1..=2),
    (Field::NameRef, Shape::U64, 3..=11),
    (Field::FuncHash, Shape::U64, 1..=11),
    (Field::NamePtr, Shape::Pointer, 1..=2),
    (Field::CounterPtr, Shape::Pointer, 1..=11),
    (Field::UniformCounterPtr, Shape::Pointer, 11..=11),
    (Field::BitmapPtr, Shape::Pointer, 9..=11),
    (Field::FunctionPtr, Shape::Pointer, 2..=11),
    (Field::ValuesPtr, Shape::Pointer, 2..=11),
    (Field::NumCounters, Shape::U32, 3..=11),
    (Field::NumValueSites0, Shape::U16, 2..=11),
    (Field::NumValueSites1, Shape::U16, 3..=11),
    (Field::NumValueSites2, Shape::U16, 10..=11),
    (Field::WaveSize, Shape::U16, 11..=11),
    (Field::NumBitmapBytes, Shape::U32, 9..=11),
];

const ABSENT: usize = usize::MAX;

/// Offsets of the fields of a data record in one encoding, by the C alignment
/// rules and rounded up to 8.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordLayout {
    encoding: Encoding,
    offsets: [usize; Field::COUNT],
    size: usize,
}

impl RecordLayout {
    /// The layout of that version and pointer width.
    pub fn new(encoding: Encoding) -> Self {
        let mut offsets = [ABSENT; Field::COUNT];
        let mut end = 0usize;
        for (field, shape, versions) in &DATA_RECORD {
            if versions.contains(&encoding.version) {
                let bytes = shape.bytes(encoding.pointer);
                let start = end.next_multiple_of(bytes);
                offsets[*field as usize] = start;
                end = start + bytes;
            }
        }
        Self { encoding, offsets, size: end.next_multiple_of(8) }
    }

    /// Bytes of one record.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the bytes up to the end of the last field, without padding.
    #[cfg_attr(not(feature = "correlate"), allow(dead_code, reason = "only with programs"))]
    pub fn size_without_padding(&self) -> usize {
        let fields = DATA_RECORD.iter().filter(|(_, _, versions)| versions.contains(&self.encoding.version));
        fields
            .map(|(field, shape, _)| self.offsets[*field as usize] + shape.bytes(self.encoding.pointer))
            .max()
            .unwrap_or(0)
    }

    /// Returns the range of FunctionPtr and ValuesPtr, which depend on the load address; empty before version 2.
    pub(super) fn moving_addresses(&self) -> Range<usize> {
        match (self.offset(Field::FunctionPtr), self.offset(Field::ValuesPtr)) {
            (Some(start), Some(last)) => start..last + self.encoding.pointer.bytes(),
            _ => 0..0,
        }
    }

    /// Offset of a field that the version has.
    pub(super) fn offset(&self, field: Field) -> Option<usize> {
        Some(self.offsets[field as usize]).filter(|offset| *offset != ABSENT)
    }

    /// Decodes one record. Fields that the version lacks, or that `bytes` is
    /// too short for, are 0.
    #[inline]
    pub fn read(&self, bytes: &[u8]) -> DataRecord {
        match (self.encoding.endian, self.encoding.pointer) {
            // The most frequent layout needs no decision per field.
            (Endian::Little, PointerWidth::Bits64) => self.decode(bytes, Endian::Little, PointerWidth::Bits64),
            (endian, pointer) => self.decode(bytes, endian, pointer),
        }
    }

    #[inline(always)]
    fn decode(&self, bytes: &[u8], endian: Endian, pointer: PointerWidth) -> DataRecord {
        let u16 = |field| endian.u16(self.array(bytes, field));
        let u32 = |field| endian.u32(self.array(bytes, field));
        let u64 = |field| endian.u64(self.array(bytes, field));
        let pointer = |field| match pointer {
            PointerWidth::Bits32 => u64::from(endian.u32(self.array(bytes, field))),
            PointerWidth::Bits64 => endian.u64(self.array(bytes, field)),
        };
        DataRecord {
            name_ref: u64(Field::NameRef),
            func_hash: u64(Field::FuncHash),
            name_ptr: pointer(Field::NamePtr),
            name_size: u32(Field::NameSize),
            counter_ptr: pointer(Field::CounterPtr),
            uniform_counter_ptr: pointer(Field::UniformCounterPtr),
            bitmap_ptr: pointer(Field::BitmapPtr),
            function_ptr: pointer(Field::FunctionPtr),
            values_ptr: pointer(Field::ValuesPtr),
            num_counters: u32(Field::NumCounters),
            num_value_sites: [u16(Field::NumValueSites0), u16(Field::NumValueSites1), u16(Field::NumValueSites2)],
            wave_size: u16(Field::WaveSize),
            num_bitmap_bytes: u32(Field::NumBitmapBytes),
        }
    }

    /// Returns the number of value sites per kind of one record, without decoding other data.
    pub(super) fn read_value_sites(&self, bytes: &[u8]) -> [u16; 3] {
        let fields = [Field::NumValueSites0, Field::NumValueSites1, Field::NumValueSites2];
        fields.map(|field| self.encoding.endian.u16(self.array(bytes, field)))
    }

    #[inline]
    fn array<const N: usize>(&self, bytes: &[u8], field: Field) -> [u8; N] {
        let offset = self.offsets[field as usize];
        bytes.get(offset..).and_then(|rest| rest.first_chunk::<N>()).copied().unwrap_or([0; N])
    }

    /// Encodes one record into `bytes`, which is [`size`](Self::size) long and
    /// zero; fields that the version lacks are left out.
    pub fn write(&self, record: &DataRecord, bytes: &mut [u8]) {
        let endian = self.encoding.endian;
        let mut put = |field: Field, value: u64| {
            let Some(start) = self.offset(field) else { return };
            let row = DATA_RECORD
                .iter()
                .find(|(other, _, versions)| *other == field && versions.contains(&self.encoding.version));
            let shape = row.map(|(_, shape, _)| *shape).expect("a field with an offset has a row");
            // Narrowing keeps the low bits: pointers are taken modulo their width.
            match shape.bytes(self.encoding.pointer) {
                2 => bytes[start..start + 2].copy_from_slice(&endian.u16_bytes(value as u16)),
                4 => bytes[start..start + 4].copy_from_slice(&endian.u32_bytes(value as u32)),
                _ => bytes[start..start + 8].copy_from_slice(&endian.u64_bytes(value)),
            }
        };
        put(Field::NameRef, record.name_ref);
        put(Field::FuncHash, record.func_hash);
        put(Field::NamePtr, record.name_ptr);
        put(Field::NameSize, record.name_size.into());
        put(Field::CounterPtr, record.counter_ptr);
        put(Field::UniformCounterPtr, record.uniform_counter_ptr);
        put(Field::BitmapPtr, record.bitmap_ptr);
        put(Field::FunctionPtr, record.function_ptr);
        put(Field::ValuesPtr, record.values_ptr);
        put(Field::NumCounters, record.num_counters.into());
        put(Field::NumValueSites0, record.num_value_sites[0].into());
        put(Field::NumValueSites1, record.num_value_sites[1].into());
        put(Field::NumValueSites2, record.num_value_sites[2].into());
        put(Field::WaveSize, record.wave_size.into());
        put(Field::NumBitmapBytes, record.num_bitmap_bytes.into());
    }
}

/// The per-function record of a raw profile, decoded; fields that the file's
/// version lacks are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct DataRecord {
    /// Low 64 bits of the MD5 of the function's name (from version 3).
    pub name_ref: u64,
    /// Checksum of the control flow, opaque.
    pub func_hash: u64,
    /// Run-time address of the name (versions 1 and 2).
    pub(crate) name_ptr: u64,
    /// Bytes of the name (versions 1 and 2).
    pub(crate) name_size: u32,
    /// Where the counters are: absolute up to version 7, relative to the
    /// record from 8. See [`RawProfile::counters`](super::RawProfile::counters).
    pub(crate) counter_ptr: u64,
    /// Where the uniform counters are (version 11).
    pub(crate) uniform_counter_ptr: u64,
    /// Where the bitmap is (from version 9).
    pub(crate) bitmap_ptr: u64,
    /// Run-time address of the function, 0 where the compiler saw no need.
    pub(crate) function_ptr: u64,
    /// Address inside the dead process; used by version 2 only.
    pub(crate) values_ptr: u64,
    /// Counter elements, at least 1 in a valid file.
    pub(crate) num_counters: u32,
    /// Instrumented value sites by kind.
    pub(crate) num_value_sites: [u16; 3],
    /// Wave width of the GPU that the record ran on, 0 on a host (version 11).
    pub(crate) wave_size: u16,
    /// MC/DC bitmap bytes (from version 9).
    pub(crate) num_bitmap_bytes: u32,
}

impl DataRecord {
    /// Whether a value blob belongs to the record.
    #[inline]
    pub fn has_value_sites(&self) -> bool {
        self.num_value_sites != [0; 3]
    }
}

/// One vtable of the image (version 10 on).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct VTableRecord {
    /// Low 64 bits of the MD5 of the vtable's name.
    pub name_ref: u64,
    /// Run-time address of the first byte.
    pub start: u64,
    /// Bytes.
    pub size: u32,
}

impl VTableRecord {
    /// Bytes of one record.
    pub fn size_in_file(pointer: PointerWidth) -> usize {
        match pointer {
            PointerWidth::Bits32 => 16,
            PointerWidth::Bits64 => 24,
        }
    }

    /// Decodes one record; `bytes` has [`size_in_file`](Self::size_in_file) of them.
    pub(super) fn read(bytes: &[u8], endian: Endian, pointer: PointerWidth) -> Self {
        let u32_at =
            |at: usize| endian.u32(bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default());
        let u64_at =
            |at: usize| endian.u64(bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default());
        match pointer {
            PointerWidth::Bits32 => Self { name_ref: u64_at(0), start: u32_at(8).into(), size: u32_at(12) },
            PointerWidth::Bits64 => Self { name_ref: u64_at(0), start: u64_at(8), size: u32_at(16) },
        }
    }
}

/// A part of a raw profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Section {
    /// The header words.
    Header,
    /// Identities of the image.
    BinaryIds,
    /// The per-function records.
    Data,
    /// The counters.
    Counters,
    /// The MC/DC bitmaps.
    Bitmap,
    /// The uniform counters.
    UniformCounters,
    /// Names of functions.
    Names,
    /// The vtable records.
    VTables,
    /// Names of vtables.
    VTableNames,
    /// Values seen at value sites.
    ValueData,
}

impl Section {
    /// The section's name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Header => "header",
            Self::BinaryIds => "binary ids",
            Self::Data => "data",
            Self::Counters => "counters",
            Self::Bitmap => "bitmap",
            Self::UniformCounters => "uniform counters",
            Self::Names => "names",
            Self::VTables => "vtables",
            Self::VTableNames => "vtable names",
            Self::ValueData => "value data",
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests;
