//! The reader of indexed files, front to back, with the payload in a window.
//!
//! A walk does not use the index of the hash table, and a lookup uses nothing else. So a
//! damaged index breaks compilers but not merges; [`IndexedProfile::verify`] compares the two.

use super::layout::{FileBytes, HASH_OFFSET_AT};
use super::lookup::{Entries, Item, Table};
use super::profile::{IndexedProfile, ReadOptions};
use crate::bytes::window::{StableSource, Window};
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::model::{
    BinaryId, FunctionRecord, MemProfSection, ProfileKind, ProfileReader, RecordRef, SymbolTable, TemporalProfile,
    name_ref,
};
use byteorder::{ByteOrder, LittleEndian};
use std::sync::Arc;

/// Hands out the records of an indexed file in the order of its payload.
#[derive(Debug)]
pub struct IndexedReader<'data> {
    profile: IndexedProfile<'data>,
    entries: Entries<'data>,
    /// The last record without its counters.
    record: FunctionRecord,
    symbols: Option<SymbolTable>,
    failed: bool,
    warnings: Vec<Warning>,
}

impl<'data> IndexedReader<'data> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// As [`IndexedProfile::read`].
    pub fn new(file: &'data [u8], options: ReadOptions) -> Result<Self> {
        Ok(Self::over(IndexedProfile::read(file, options)?))
    }

    /// Reads an opened file.
    pub fn over(profile: IndexedProfile<'data>) -> Self {
        let payload = Window::over(profile.table.payload, profile.table.payload_offset);
        Self::through(payload, profile)
    }

    /// Reads an opened file through a window of its payload.
    pub(super) fn through(payload: Window<'data>, profile: IndexedProfile<'data>) -> Self {
        let entries = Entries::new(payload, &profile.table, profile.version());
        let warnings = profile.warn_of_next_profile().into_iter().collect();
        Self { profile, entries, record: FunctionRecord::default(), symbols: None, failed: false, warnings }
    }

    /// The view that is being read.
    pub fn profile(&self) -> &IndexedProfile<'data> {
        &self.profile
    }

    /// Decodes the next record; `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        while !self.entries.next_record(&mut self.record)? {
            if !self.entries.advance()? {
                return Ok(false);
            }
        }
        self.check()?;
        Ok(true)
    }

    fn all_names(&self) -> Result<SymbolTable> {
        let mut table = SymbolTable::new();
        let mut entries = self.entries.again(&self.profile.table);
        loop {
            match entries.advance() {
                Ok(true) => table.insert_hashed(entries.name_ref(), entries.name()),
                Err(error) if matches!(error.kind(), ErrorKind::Io { .. }) => return Err(error),
                // A damaged rest of the file is reported where it is read.
                Ok(false) | Err(_) => break,
            }
        }
        for name in self.profile.vtable_names().unwrap_or_default() {
            table.insert(&name);
        }
        Ok(table)
    }

    fn check(&self) -> Result<()> {
        if self.entries.counters().is_empty() && self.profile.refuses_empty_records() {
            let detail = format!("a record of {} has no counters", self.entries.name().escape_ascii());
            return Err(Error::malformed(detail).in_section("function records"));
        }
        Ok(())
    }
}

/// Whether an indexed file has neither a record nor a memory profile.
pub(crate) fn is_blank(file: &[u8]) -> bool {
    let is_blank = |mut reader: IndexedReader<'_>| {
        !reader.kind().contains(ProfileKind::MEMPROF) && matches!(reader.next_record(), Ok(None))
    };
    IndexedReader::new(file, ReadOptions::default()).is_ok_and(is_blank)
}

impl ProfileReader for IndexedReader<'_> {
    fn kind(&self) -> ProfileKind {
        self.profile.kind()
    }

    fn version_word(&self) -> u64 {
        u64::from(self.profile.version())
    }

    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        if self.failed {
            return Ok(None);
        }
        if self.entries.advance_plain() {
            return Ok(Some(self.entries.plain()));
        }
        match self.advance() {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                self.failed = true;
                return Err(self.profile.in_format(error));
            }
        }
        let (name, name_ref) = (self.entries.name(), Some(self.entries.name_ref()));
        let mut record = self.record.view();
        record.counters = self.entries.counters();
        Ok(Some(RecordRef { name, name_ref, text: None, record }))
    }

    /// All names of the file, whatever was read so far.
    fn symbols(&mut self) -> Result<&SymbolTable> {
        if self.symbols.is_none() {
            self.symbols = Some(self.all_names()?);
        }
        Ok(self.symbols.get_or_insert_default())
    }

    fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
        self.profile.binary_ids()
    }

    fn lists_binary_ids(&self) -> bool {
        true
    }

    fn temporal(&mut self) -> TemporalProfile {
        // Checked when the file was opened.
        self.profile.temporal().unwrap_or_default()
    }

    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
        self.profile.vtable_names()
    }

    fn memprof(&self) -> Result<Option<MemProfSection>> {
        self.profile.memprof()
    }

    fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }
}

/// The parts of an indexed file around its records.
#[derive(Debug)]
pub(crate) struct Outline {
    file: Arc<dyn StableSource>,
    front: Vec<u8>,
    back: Vec<u8>,
    /// Where `back` begins: at the index of the hash table.
    index_offset: u64,
}

/// Header and summaries are shorter.
const FRONT: u64 = 1 << 14;

impl Outline {
    /// Reads the parts of the file around the records; `None` if they cannot be located, or are larger than the
    /// records.
    pub(crate) fn read(file: Arc<dyn StableSource>) -> Option<Self> {
        let front = bytes_of(&*file, 0, FRONT.min(file.len()))?;
        let index_offset = LittleEndian::read_u64(front.get(HASH_OFFSET_AT..)?.first_chunk::<8>()?);
        let back_len = file.len().checked_sub(index_offset).filter(|len| *len <= file.len() / 2)?;
        let back = bytes_of(&*file, index_offset, back_len)?;
        Some(Self { file, front, back, index_offset })
    }

    /// The bytes after the records.
    pub(crate) fn back(&self) -> &[u8] {
        &self.back
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// Like [`IndexedProfile::read`], and an error if the summary is longer than the bytes that were read. Read the
    /// whole file again for a precise error.
    pub(crate) fn reader(&self, options: ReadOptions) -> Result<IndexedReader<'_>> {
        let around = FileBytes::around_payload(&self.front, &self.back, self.index_offset);
        let profile = IndexedProfile::of(around, options)?;
        let payload = profile.table.payload_offset..self.index_offset;
        Ok(IndexedReader::through(Window::of_file(Arc::clone(&self.file), payload), profile))
    }
}

fn bytes_of(file: &dyn StableSource, offset: u64, len: u64) -> Option<Vec<u8>> {
    let len = usize::try_from(len).ok()?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).ok()?;
    bytes.resize(len, 0);
    file.read(&mut bytes, offset).ok()?;
    Some(bytes)
}

impl Table<'_> {
    /// Walks the payload bucket by bucket and compares with the index.
    ///
    /// # Errors
    ///
    /// Malformed for the first disagreement.
    pub(super) fn verify(&self) -> Result<()> {
        self.check_index()?;
        let mut cursor = Cursor::new(self.payload, self.payload_offset, Endian::Little, "hash table");
        let mut entries = 0u64;
        for (bucket, offset) in self.bucket_offsets().enumerate().filter(|(_, offset)| *offset != 0) {
            if offset != cursor.position() {
                let detail = format!("bucket {bucket} begins here, but the index has {offset:#x}");
                return Err(cursor.place(Error::malformed(detail)));
            }
            let items = cursor.u16("items of the bucket")?;
            for _ in 0..items {
                self.verify_item(&mut cursor, bucket as u64)?;
            }
            entries += u64::from(items);
        }
        if entries != self.entries() {
            let detail = format!("the index counts {} entries, its buckets hold {entries}", self.entries());
            return Err(Error::malformed(detail).at("hash table index", self.index_offset));
        }
        if cursor.left() >= 8 || cursor.rest().iter().any(|byte| *byte != 0) {
            let detail = format!("{} bytes before the index belong to no bucket", cursor.left());
            return Err(cursor.place(Error::malformed(detail)));
        }
        Ok(())
    }

    fn verify_item(&self, cursor: &mut Cursor<'_>, bucket: u64) -> Result<()> {
        let place = cursor.clone();
        let item = Item::read(cursor)?;
        let hash = name_ref(item.name);
        let malformed = |detail: String| Err(place.place(Error::malformed(detail)));
        if item.name_ref != hash {
            let name = item.name.escape_ascii();
            return malformed(format!("the key hash of {name} is {:#x}, expected the MD5 {hash:#x}", item.name_ref));
        }
        let expected = hash & (self.bucket_offsets().len() as u64 - 1);
        if expected != bucket {
            let name = item.name.escape_ascii();
            return malformed(format!("{name} is in bucket {bucket}, expected {expected}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::compat::Compat;
    use crate::indexed::reader::*;
    use crate::indexed::{WriteOptions, write};
    use crate::input::StableFile;
    use crate::limits::Limits;
    use crate::model::{FunctionRecord, Profile, ProfileKind, ProfileReader, ValueCount, ValueKind, name_ref};
    use proptest::prelude::*;

    /// Functions with one record or two, of which some are large, have values or no bitmap.
    fn file(functions: usize, version: u32) -> Vec<u8> {
        let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
        for number in 0..functions {
            let function = profile.functions.intern(format!("function{number}").as_bytes());
            for hash in 0..=number as u64 % 2 {
                let counters = if number % 50 == 7 { 300 } else { 1 + number % 5 };
                let mut record = FunctionRecord::new(hash, vec![number as u64; counters]);
                if number % 3 == 1 {
                    let value = ValueCount { value: name_ref(b"function0"), count: 5 };
                    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&[value]);
                }
                profile.functions.push_record(function, &record);
            }
        }
        profile.binary_ids.push(vec![1, 2, 3]);
        write(&profile, &WriteOptions::for_version(version)).unwrap()
    }

    /// All that a reader gives, as text.
    fn read(mut reader: IndexedReader<'_>) -> String {
        let mut seen = String::new();
        loop {
            match reader.next_record() {
                Ok(Some(found)) => {
                    seen += &format!("{} {:?} ", found.name.escape_ascii(), found.name_ref);
                    seen += &format!("{:?}\n", found.record.to_record());
                }
                Ok(None) => break,
                Err(error) => seen += &format!("{error:?}\n"),
            }
        }
        let names = [&b"function0"[..], b"function1", b"function99"].map(name_ref);
        let symbols = reader.symbols().unwrap();
        seen += &format!("{:?}", names.map(|name| symbols.name(name).map(<[u8]>::to_vec)));
        seen + &format!("{} {:?} {:?}", symbols.len(), reader.binary_ids(), reader.kind())
    }

    /// The records alone, each decoded from its entry.
    fn decoded(profile: &IndexedProfile<'_>) -> Vec<(Vec<u8>, FunctionRecord)> {
        let entries = profile.entries().map_while(Result::ok);
        entries.flat_map(|entry| entry.records.map(move |record| (entry.name.to_vec(), record.unwrap()))).collect()
    }

    /// Like `read`, but through a window of `chunk` bytes; `None` for a file that must be read as a whole.
    fn read_through_window(bytes: &[u8], chunk: usize, options: ReadOptions) -> Option<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let outline = Outline::read(Arc::new(StableFile::open(file.path()).unwrap().unwrap()))?;
        let whole = outline.reader(options).ok()?;
        let payload = whole.profile().table.payload_offset..outline.index_offset;
        let window = Window::in_chunks(Arc::clone(&outline.file), payload, chunk);
        let in_chunks = read(IndexedReader::through(window, whole.profile().clone()));
        assert_eq!(read(whole), in_chunks);
        Some(in_chunks)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_window_changes_nothing(
            functions in 20usize..200,
            version in 4u32..=14,
            chunk in prop_oneof![1usize..100, 1000usize..20_000],
            damage in prop_oneof![Just(None), (any::<prop::sample::Index>(), any::<u8>()).prop_map(Some)],
        ) {
            let mut bytes = file(functions, version);
            if let Some((at, byte)) = damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            for compat in [Compat::Llvm22, Compat::Profbridge] {
                let options = ReadOptions::new(Limits::default(), compat);
                let through = read_through_window(&bytes, chunk, options);
                prop_assert!(through.is_some() || damage.is_some() || version == 14 && compat.is_llvm());
                let Some(through) = through else { continue };
                let mut reader = IndexedReader::new(&bytes, options).unwrap();
                let decoded = decoded(reader.profile());
                let mut seen = Vec::new();
                while let Ok(Some(found)) = reader.next_record() {
                    seen.push((found.name.to_vec(), found.record.to_record()));
                }
                // Empty records are decoded, and an error for LLVM.
                prop_assert!(seen.len() == decoded.len() || damage.is_some());
                prop_assert_eq!(&seen[..], &decoded[..seen.len()]);
                prop_assert_eq!(through, read(IndexedReader::new(&bytes, options).unwrap()));
            }
        }
    }

    #[test]
    fn a_file_that_changes_after_the_window_is_an_error() {
        let bytes = file(3000, 13);
        let written = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(written.path(), &bytes).unwrap();
        let outline = Outline::read(Arc::new(StableFile::open(written.path()).unwrap().unwrap())).unwrap();
        let mut reader = outline.reader(ReadOptions::default()).unwrap();
        written.as_file().set_len(bytes.len() as u64 / 4).unwrap();
        assert!(reader.symbols().unwrap_err().to_string().contains("changed during the read"));
        let error = std::iter::from_fn(|| reader.next_record().map(|found| found.map(|_| ())).transpose()).last();
        assert!(error.unwrap().unwrap_err().to_string().contains("changed during the read"));
        assert!(reader.next_record().unwrap().is_none());
    }
}
