//! Where the sections of a profile are: every size of the header is compared
//! with what is left of the file.

use super::header::{CUT_SHORT, Header};
use super::layout::{RecordLayout, Section, VTableRecord, Word};
use crate::bytes::Cursor;
use crate::compat::Compat;
use crate::error::{Error, Result};
use crate::model::BinaryId;
use std::ops::Range;

/// Byte ranges within the file; a section that the version lacks is empty.
#[derive(Debug, Clone)]
pub(super) struct Sections {
    pub(super) binary_ids: Range<usize>,
    pub(super) data: Range<usize>,
    pub(super) counters: Range<usize>,
    pub(super) bitmap: Range<usize>,
    pub(super) uniform_counters: Range<usize>,
    pub(super) names: Range<usize>,
    pub(super) vtables: Range<usize>,
    pub(super) vtable_names: Range<usize>,
    /// Known size in versions 2 and 3 only; from 4 on the range is empty and
    /// says where value data begins.
    pub(super) value_data: Range<usize>,
}

impl Sections {
    pub(super) fn locate(file: &[u8], start: usize, header: &Header, compat: Compat) -> Result<Self> {
        let mut walk =
            Walk { position: (start + header.size()) as u64, end: file.len() as u64, wraps: compat.is_llvm() };
        let version = header.version();
        let word = |word| Some(header.word(word));
        let times = |count: Word, size: usize| {
            let count = header.word(count);
            if compat.is_llvm() { Some(count.wrapping_mul(size as u64)) } else { count.checked_mul(size as u64) }
        };
        let pad = |size: usize| Some(size.next_multiple_of(8).wrapping_sub(size) as u64);

        let ids_size = header.word(Word::BinaryIdsSize);
        if version >= 8 && !ids_size.is_multiple_of(8) {
            let detail = format!("BinaryIdsSize is {ids_size}, which is not a multiple of 8");
            return Err(Error::bad_header(detail).at("header", start as u64 + 16));
        }
        let binary_ids = walk.take("binary ids", Some(ids_size))?;
        if compat.is_llvm() {
            walk.finish()?;
            // LLVM complains about the ids before it looks at what follows.
            read_binary_ids(file, &binary_ids, header)?;
        }
        let data = walk.take("data", times(Word::NumData, RecordLayout::new(header.encoding()).size()))?;
        walk.take("padding before counters", word(Word::PadBeforeCounters))?;
        let counters = walk.take("counters", times(Word::NumCounters, header.counter_size()))?;
        walk.take("padding after counters", word(Word::PadAfterCounters))?;
        let bitmap = walk.take("bitmap", word(Word::NumBitmapBytes))?;
        walk.take("padding after bitmap", word(Word::PadAfterBitmap))?;
        let uniform_counters = walk.take("uniform counters", times(Word::NumUniformCounters, 8))?;
        walk.take("padding after uniform counters", word(Word::PadAfterUniformCounters))?;
        let names = walk.take("names", word(Word::NamesSize))?;
        if version >= 2 {
            walk.take("padding after names", pad(names.len()))?;
        }
        let vtable_size = VTableRecord::size_in_file(header.encoding().pointer);
        let vtables = walk.take("vtables", times(Word::NumVTables, vtable_size))?;
        let vtable_names = walk.take("vtable names", word(Word::VNamesSize))?;
        walk.take("padding after vtable names", pad(vtable_names.len()))?;
        let value_data = walk.take("value data", word(Word::ValueDataSize))?;
        walk.finish()?;
        Ok(Self { binary_ids, data, counters, bitmap, uniform_counters, names, vtables, vtable_names, value_data })
    }
}

/// Reads the identities in their section of the file.
pub(super) fn read_binary_ids(file: &[u8], range: &Range<usize>, header: &Header) -> Result<Vec<BinaryId>> {
    let section = file.get(range.clone()).unwrap_or_default();
    let endian = header.encoding().endian;
    let mut cursor = Cursor::new(section, range.start as u64, endian, Section::BinaryIds.name());
    let mut ids = Vec::new();
    let fault = |cursor: &Cursor<'_>, detail: String, llvm: &str| {
        cursor.place(Error::malformed(detail)).with_llvm_detail(llvm).in_format(header.format_name())
    };
    while !cursor.is_empty() {
        if cursor.left() < 8 {
            let detail = format!("{} bytes are left for the length of a binary id, expected 8", cursor.left());
            return Err(fault(&cursor, detail, "not enough data to read binary id length"));
        }
        let len = cursor.u64("length of a binary id")?;
        if len == 0 {
            return Err(fault(&cursor, "the length of a binary id is 0".to_string(), "binary id length is 0"));
        }
        let padded = if header.version() == 7 { Some(len) } else { len.checked_next_multiple_of(8) };
        let Some(padded) = padded.filter(|padded| *padded <= cursor.left()) else {
            let detail = format!("a binary id is {len} bytes, {} left in its section", cursor.left());
            return Err(fault(&cursor, detail, "not enough data to read binary id data"));
        };
        ids.push(cursor.take("binary id", len)?.to_vec());
        cursor.take("padding of a binary id", padded - len)?;
    }
    Ok(ids)
}

/// Walks the file section by section; every size is compared with what is left.
struct Walk {
    position: u64,
    end: u64,
    /// LLVM adds modulo 2^64 and looks only where all sections end.
    wraps: bool,
}

impl Walk {
    /// The next `size` bytes; `None` stands for a size above 2^64.
    fn take(&mut self, section: &'static str, size: Option<u64>) -> Result<Range<usize>> {
        let start = self.position;
        if self.wraps {
            self.position = start.wrapping_add(size.unwrap_or_default());
            // A range that lies outside the file, or ends before it begins, is
            // read by nobody unless the walk ends inside by accident.
            let inside = start <= self.position && self.position <= self.end;
            let range = if inside { start..self.position } else { start.min(self.end)..start.min(self.end) };
            return Ok(range.start as usize..range.end as usize);
        }
        let left = self.end - start;
        let Some(size) = size.filter(|size| *size <= left) else {
            let found = size.map_or("more than 2^64".to_string(), |size| size.to_string());
            let detail = format!("{section} take {found} bytes, {left} are left in the file");
            return Err(Error::bad_header(detail).at(section, start).with_hint(CUT_SHORT));
        };
        self.position += size;
        Ok(start as usize..self.position as usize)
    }

    fn finish(&self) -> Result<()> {
        if self.position > self.end {
            let detail = format!("the sections end at byte {}, the file at {}", self.position, self.end);
            return Err(Error::bad_header(detail).with_hint(CUT_SHORT));
        }
        Ok(())
    }
}
