//! A file whose records are read when they are asked for, through a window of it.

use super::file::FileBytes;
use super::layout::HASH_OFFSET_AT;
use super::profile::{IndexedProfile, ReadOptions};
use super::reader::IndexedReader;
use crate::bytes::window::{StableSource, Window};
use crate::error::Result;
use std::sync::Arc;

/// What stands around the records of an indexed file.
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
    /// Reads what stands around the records; `None` for a file that does not tell it, or has more of it
    /// than of records.
    pub(crate) fn read(file: Arc<dyn StableSource>) -> Option<Self> {
        let front = bytes_of(&*file, 0, FRONT.min(file.len()))?;
        let index_offset = u64::from_le_bytes(*front.get(HASH_OFFSET_AT..)?.first_chunk()?);
        let back_len = file.len().checked_sub(index_offset).filter(|len| *len <= file.len() / 2)?;
        let back = bytes_of(&*file, index_offset, back_len)?;
        Some(Self { file, front, back, index_offset })
    }

    /// What stands behind the records.
    pub(crate) fn back(&self) -> &[u8] {
        &self.back
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// As [`IndexedProfile::read`], and where the summary is longer than all that was read of it: whoever
    /// is told what is wrong should be told by a reader of the whole file.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compat::Compat;
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

    /// The same of a file of which so many bytes are read at a time; `None` for one that has to be read whole.
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
        assert!(reader.symbols().unwrap_err().to_string().contains("changed while it was read"));
        let error = std::iter::from_fn(|| reader.next_record().map(|found| found.map(|_| ())).transpose()).last();
        assert!(error.unwrap().unwrap_err().to_string().contains("changed while it was read"));
        assert!(reader.next_record().unwrap().is_none());
    }
}
