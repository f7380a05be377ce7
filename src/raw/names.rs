//! The names of one image and their hashes: computed once, shared by all its files.
//!
//! Each object file contributes its names as one chunk, and every image that links it has
//! the same bytes. Programs that share most of their objects share most of their chunks,
//! although their names sections differ. So [`NameChunks`] caches chunks; threads that need
//! the same section at the same time share it.

use crate::error::Result;
use crate::model::{NameRef, NameText, SymbolTable, hash_names};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use xxhash_rust::xxh3::xxh3_64;

/// Name hash → name for the functions and vtables of one image.
///
/// Inflating and hashing names is most of the work of reading a raw file, and
/// all files of one image have the same.
#[derive(Debug, Clone, Default)]
pub struct RawNames {
    symbols: SymbolTable,
    vtable_names: Vec<Vec<u8>>,
    /// The two sections they were read from, to recognise the names of other files. `None` if there are no other files,
    /// and for versions 1 and 2, whose names are cut by the records.
    source: Option<Arc<NameSections>>,
}

/// The two sections with names, borrowed from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SectionBytes<'data> {
    pub(super) functions: &'data [u8],
    pub(super) vtables: &'data [u8],
}

/// Bytes of the two sections with names.
#[derive(Debug, Clone)]
pub(super) struct NameSections {
    functions: Vec<u8>,
    vtables: Vec<u8>,
}

impl NameSections {
    /// A copy of the sections.
    pub(super) fn new(sections: SectionBytes<'_>) -> Self {
        Self { functions: sections.functions.to_vec(), vtables: sections.vtables.to_vec() }
    }

    /// Whether these are those sections, byte for byte.
    pub(super) fn are(&self, sections: SectionBytes<'_>) -> bool {
        self.functions == sections.functions && self.vtables == sections.vtables
    }
}

impl RawNames {
    /// Names that do not come from the file's own sections.
    pub(crate) fn from_symbols(symbols: SymbolTable) -> Self {
        Self { symbols, vtable_names: Vec::new(), source: None }
    }

    /// Names that were read from sections. `source` is a copy of these, if other files may have the same.
    pub(super) fn of_sections(symbols: SymbolTable, vtable_names: Vec<Vec<u8>>, source: Option<NameSections>) -> Self {
        Self { symbols, vtable_names, source: source.map(Arc::new) }
    }

    /// Whether these are the names of those sections, byte for byte.
    pub(super) fn are_of(&self, sections: SectionBytes<'_>) -> bool {
        self.source.as_ref().is_some_and(|source| source.are(sections))
    }

    /// The sections that they were read from.
    pub(super) fn sections(&self) -> Option<&Arc<NameSections>> {
        self.source.as_ref()
    }

    /// Allows tables to share the strings instead of copying the names, for callers that read a single file and have
    /// memory for all of it.
    pub(crate) fn stay(&self) {
        self.symbols.texts().for_each(NameText::stay);
    }

    /// Name hash → name.
    pub fn symbols(&self) -> &SymbolTable {
        &self.symbols
    }

    /// Names of vtables in file order.
    pub fn vtable_names(&self) -> &[Vec<u8>] {
        &self.vtable_names
    }
}

/// Stores chunks of names for later files of a run. A chunk is reused if all its compressed bytes are equal; a hash
/// finds the candidate. The size is limited, see `MOST_BYTES`.
#[derive(Default)]
pub(crate) struct NameChunks {
    latest: Mutex<Latest>,
    kept: Mutex<StoredChunks>,
}

/// Bytes that remembered chunks may take together.
pub(crate) const MOST_BYTES: usize = 24 << 20;

/// The names read last, while a caller holds them.
#[derive(Default)]
struct Latest {
    names: Weak<RawNames>,
    /// Whether any names were read before.
    any: bool,
}

#[derive(Default)]
struct StoredChunks {
    /// By the hash of the stored bytes.
    chunks: HashMap<u64, (ChunkSource<Vec<u8>>, Arc<HashedChunk>)>,
    bytes: usize,
}

/// The names of one chunk with their hashes.
pub(super) struct HashedChunk {
    text: NameText,
    hashes: Vec<NameRef>,
    /// A separator follows each name.
    lens: Vec<u32>,
}

/// All that decides which names a chunk holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkSource<B> {
    /// The stored bytes: a zlib stream, or the text itself.
    pub(super) stored: B,
    /// The size promised for the text.
    pub(super) text_len: u64,
    /// Whether `stored` is a zlib stream.
    pub(super) compressed: bool,
    /// Whether it was inflated by LLVM's lax rules.
    pub(super) lax: bool,
}

impl HashedChunk {
    /// Hashes the names at `spans` of `text`, which are consecutive, with a separator between them.
    pub(super) fn new(text: Vec<u8>, spans: &[Range<usize>]) -> Self {
        let names: Vec<&[u8]> = spans.iter().map(|span| &text[span.clone()]).collect();
        let mut hashes = vec![0; names.len()];
        hash_names(&names, &mut hashes);
        let len = |span: &Range<usize>| u32::try_from(span.len()).expect("limits keep names below 4 GiB");
        let lens = spans.iter().map(len).collect();
        Self { text: text.into(), hashes, lens }
    }

    /// The names in order.
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = (NameRef, &[u8])> {
        let mut start = 0;
        self.hashes.iter().zip(&self.lens).map(move |(hash, len)| {
            let end = start + *len as usize;
            let name = &self.text[start..end];
            start = end + 1;
            (*hash, name)
        })
    }

    /// The text that the names are pieces of.
    pub(super) fn text(&self) -> &NameText {
        &self.text
    }

    fn size(&self) -> usize {
        self.text.len() + self.hashes.len() * (size_of::<NameRef>() + size_of::<u32>())
    }
}

impl ChunkSource<&[u8]> {
    fn to_owned(self) -> ChunkSource<Vec<u8>> {
        let Self { stored, text_len, compressed, lax } = self;
        ChunkSource { stored: stored.to_vec(), text_len, compressed, lax }
    }
}

impl ChunkSource<Vec<u8>> {
    fn is(&self, other: ChunkSource<&[u8]>) -> bool {
        let Self { stored, text_len, compressed, lax } = self;
        ChunkSource { stored: stored.as_slice(), text_len: *text_len, compressed: *compressed, lax: *lax } == other
    }
}

impl NameChunks {
    /// Returns the names of the sections: those of the previous call if the sections are equal, otherwise the result of
    /// `read`, which uses and stores chunks. A caller that arrives during the first read waits for it, because it
    /// probably needs the same names.
    ///
    /// # Errors
    ///
    /// The errors of `read`.
    pub(super) fn names_of(
        &self,
        sections: SectionBytes<'_>,
        read: impl Fn(&Self) -> Result<RawNames>,
    ) -> Result<Arc<RawNames>> {
        let mut latest = locked(&self.latest);
        if !std::mem::replace(&mut latest.any, true) {
            let names = Arc::new(read(self)?);
            latest.names = Arc::downgrade(&names);
            return Ok(names);
        }
        let names = latest.names.upgrade();
        drop(latest);
        if let Some(names) = names.filter(|names| names.are_of(sections)) {
            return Ok(names);
        }
        let names = Arc::new(read(self)?);
        locked(&self.latest).names = Arc::downgrade(&names);
        Ok(names)
    }

    /// The chunk with that source, if it was kept.
    pub(super) fn find(&self, source: ChunkSource<&[u8]>) -> Option<Arc<HashedChunk>> {
        let kept = locked(&self.kept);
        let (known, chunk) = kept.chunks.get(&xxh3_64(source.stored))?;
        known.is(source).then(|| Arc::clone(chunk))
    }

    /// Keeps the chunk of a source while there is room; its text stays then.
    pub(super) fn keep(&self, source: ChunkSource<&[u8]>, chunk: &Arc<HashedChunk>) {
        let mut kept = locked(&self.kept);
        let bytes = kept.bytes.saturating_add(source.stored.len()).saturating_add(chunk.size());
        if bytes > MOST_BYTES {
            return;
        }
        // Of two chunks with one hash the first stays.
        if let Entry::Vacant(place) = kept.chunks.entry(xxh3_64(source.stored)) {
            chunk.text.stay();
            place.insert((source.to_owned(), Arc::clone(chunk)));
            kept.bytes = bytes;
        }
    }
}

/// The data is valid after a panic, because no change is left half done.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for NameChunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = locked(&self.kept);
        f.debug_struct("NameChunks").field("chunks", &kept.chunks.len()).field("bytes", &kept.bytes).finish()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::name_ref;
    use crate::raw::names::*;

    fn source(stored: &[u8]) -> ChunkSource<&[u8]> {
        ChunkSource { stored, text_len: 3, compressed: false, lax: false }
    }

    #[test]
    fn a_chunk_is_found_by_all_its_bytes_and_under_the_same_compat_only() {
        let chunks = NameChunks::default();
        let chunk = HashedChunk::new(b"a\x01b".to_vec(), &[0..1, 2..3]);
        chunks.keep(source(b"a\x01b"), &Arc::new(chunk));
        let found = chunks.find(source(b"a\x01b")).expect("it was kept");
        assert!(found.text().stays());
        let names: Vec<_> = found.names().collect();
        assert_eq!(names, [(name_ref(b"a"), &b"a"[..]), (name_ref(b"b"), &b"b"[..])]);
        assert!(chunks.find(source(b"a\x01c")).is_none());
        assert!(chunks.find(ChunkSource { lax: true, ..source(b"a\x01b") }).is_none());
        assert!(chunks.find(ChunkSource { text_len: 4, ..source(b"a\x01b") }).is_none());
        assert!(chunks.find(ChunkSource { compressed: true, ..source(b"a\x01b") }).is_none());
    }

    #[test]
    fn chunks_that_do_not_fit_are_not_kept() {
        let chunks = NameChunks::default();
        let large = vec![b'x'; MOST_BYTES];
        let large = Arc::new(HashedChunk::new(large, std::slice::from_ref(&(0..1))));
        chunks.keep(source(b"large"), &large);
        assert!(!large.text().stays());
        assert!(chunks.find(source(b"large")).is_none());
        assert_eq!(format!("{chunks:?}"), "NameChunks { chunks: 0, bytes: 0 }");
    }
}
