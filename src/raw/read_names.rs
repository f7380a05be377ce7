//! Reading names sections: finds, inflates and hashes chunks, with several threads if
//! requested, and skips chunks that another file had.

use super::layout::Section;
use super::names::{ChunkSource, HashedChunk, NameChunks, NameSections, RawNames};
use super::profile::RawProfile;
use crate::bytes::leb128::read_uleb128;
use crate::bytes::names::{Chunk, Chunks, split_names, try_with_capacity};
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::{self, HOLD_NAMES};
use crate::model::SymbolTable;
use crate::threads;
use flate2::{Decompress, FlushDecompress, Status};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

impl RawProfile<'_> {
    /// Reads the names of functions and vtables and hashes each.
    ///
    /// # Errors
    ///
    /// Truncated, malformed or uncompress failed when a chunk of names is
    /// damaged; in versions 1 and 2 malformed when a record's name lies
    /// outside the section.
    pub fn read_names(&self, limits: &Limits) -> Result<RawNames> {
        // With a place for chunks, so that the names can be recognised in further files.
        self.read_names_with(limits, Some(&NameChunks::default()), 1)
    }

    /// Like [`read_names`](Self::read_names), but uses the chunks in `known`, and reads the others with up to `threads`
    /// threads.
    pub(super) fn read_names_with(
        &self,
        limits: &Limits,
        known: Option<&NameChunks>,
        threads: usize,
    ) -> Result<RawNames> {
        let names = if self.header().version() <= 2 { read_plain(self) } else { read(self, limits, known, threads) };
        names.map_err(|error| error.in_format(self.header().format_name()))
    }
}

impl RawNames {
    /// Reads the chunks of a names section that stands alone, as images have it.
    ///
    /// # Errors
    ///
    /// Truncated, malformed or uncompress failed when a chunk is damaged.
    pub(crate) fn read_section(section: &[u8], limits: &Limits) -> Result<Self> {
        let mut symbols = SymbolTable::new();
        let reader = ChunkReader { limits, known: None, threads: 1 };
        insert_all(&mut symbols, &reader.read(section, 0)?, |_| {});
        Ok(Self::from_symbols(symbols))
    }
}

/// Reads the chunks of both names sections; those in `known` are not
/// inflated and hashed again, the rest by up to `threads` threads.
fn read(profile: &RawProfile<'_>, limits: &Limits, known: Option<&NameChunks>, threads: usize) -> Result<RawNames> {
    let reader = ChunkReader { limits, known, threads };
    let read = |section| {
        let base = profile.section_range(section).start as u64;
        if profile.compat().is_llvm() {
            return reader.read_as_llvm(profile.bytes_from(section), profile.section(section).len(), base);
        }
        reader.read(profile.section(section), base)
    };
    let (mut symbols, mut vtable_names) = (SymbolTable::new(), Vec::new());
    insert_all(&mut symbols, &read(Section::Names)?, |_| {});
    insert_all(&mut symbols, &read(Section::VTableNames)?, |name| vtable_names.push(name.to_vec()));
    let source = known.map(|_| NameSections::new(profile.name_sections()));
    Ok(RawNames::of_sections(symbols, vtable_names, source))
}

/// Takes the names that the records of versions 1 and 2 point to.
fn read_plain(profile: &RawProfile<'_>) -> Result<RawNames> {
    let mut symbols = SymbolTable::new();
    for (index, record) in profile.records().enumerate() {
        let name = profile.plain_name(index, &record)?;
        symbols.insert(name);
    }
    Ok(RawNames::from_symbols(symbols))
}

/// Adds the names of chunks to a table and hands each on.
fn insert_all(symbols: &mut SymbolTable, chunks: &[Arc<HashedChunk>], mut each: impl FnMut(&[u8])) {
    symbols.reserve(chunks.iter().map(|chunk| chunk.names().len()).sum());
    for chunk in chunks {
        for (hash, name) in chunk.names() {
            symbols.insert_shared(hash, name, Some(chunk.text()));
            each(name);
        }
    }
}

/// Finds the chunks of a section and takes their names apart.
struct ChunkReader<'a> {
    limits: &'a Limits,
    known: Option<&'a NameChunks>,
    /// Threads that may inflate and hash.
    threads: usize,
}

/// A chunk that was found and not yet inflated.
struct FoundChunk<'data> {
    source: ChunkSource<&'data [u8]>,
    /// Offset in the file, for errors.
    offset: u64,
}

/// Chunks, or bytes of text, that several threads take up at a time.
const MOST_CHUNKS: usize = 256;
const MUCH_TEXT: u64 = 8 << 20;
/// Less text than this is not worth a thread.
const LITTLE_TEXT: u64 = 2 << 20;

impl ChunkReader<'_> {
    /// The chunks of a section that begins at byte `base` of the file.
    fn read(&self, section: &[u8], base: u64) -> Result<Vec<Arc<HashedChunk>>> {
        let mut chunks = Chunks::new(section, base, *self.limits);
        self.read_all(&mut || {
            let chunk = chunks.next_chunk()?;
            Ok(chunk.map(|Chunk { stored, text_len, compressed, offset }| FoundChunk {
                source: ChunkSource { stored, text_len, compressed, lax: false },
                offset,
            }))
        })
    }

    /// Reads chunks as LLVM 22 does, which believes their sizes: a chunk may leave
    /// its section of `len` bytes, a stream may inflate to less than promised or
    /// end early. What would leave the file, where LLVM crashes, is an error.
    fn read_as_llvm(&self, file: &[u8], len: usize, base: u64) -> Result<Vec<Arc<HashedChunk>>> {
        let mut cursor = Cursor::new(file, base, Endian::Little, "names");
        let end = base.saturating_add(len as u64);
        self.read_all(&mut || {
            if cursor.position() >= end {
                return Ok(None);
            }
            let text_len = read_uleb128(&mut cursor, "uncompressed size of names")?;
            let stored_len = read_uleb128(&mut cursor, "compressed size of names")?;
            let offset = cursor.position();
            let compressed = stored_len != 0;
            let stored = if !compressed {
                cursor.take("names chunk", text_len)?
            } else {
                // zlib stops at the end of its stream, independent of the declared size.
                let rest = cursor.rest();
                let stored = rest.get(..usize::try_from(stored_len).unwrap_or(usize::MAX)).unwrap_or(rest);
                // A chunk that ends after the file ends after the section, too.
                cursor.take("names chunk", stored.len() as u64)?;
                stored
            };
            while cursor.position() < end && cursor.rest().first() == Some(&0) {
                cursor.u8("padding of names")?;
            }
            Ok(Some(FoundChunk { source: ChunkSource { stored, text_len, compressed, lax: true }, offset }))
        })
    }

    /// All chunks that `next` finds, in order, unless one has a fault.
    fn read_all<'data>(
        &self,
        next: &mut dyn FnMut() -> Result<Option<FoundChunk<'data>>>,
    ) -> Result<Vec<Arc<HashedChunk>>> {
        let (most, mut end, mut all) = (if self.threads > 1 { MOST_CHUNKS } else { 1 }, None, Vec::new());
        while end.is_none() {
            let (mut found, mut text) = (Vec::new(), 0u64);
            while end.is_none() && found.len() < most && text < MUCH_TEXT {
                match next() {
                    Ok(Some(chunk)) => {
                        text = text.saturating_add(chunk.source.text_len);
                        found.push(chunk);
                    }
                    Ok(None) => end = Some(Ok(())),
                    Err(error) => end = Some(Err(error)),
                }
            }
            // The first damaged chunk determines the error.
            for chunk in self.hash_all(&found, text) {
                all.push(chunk?);
            }
        }
        end.unwrap_or(Ok(())).map(|()| all)
    }

    fn hash_all(&self, found: &[FoundChunk<'_>], text: u64) -> Vec<Result<Arc<HashedChunk>>> {
        let (limits, known) = (self.limits, self.known);
        let hash =
            |part: &[FoundChunk<'_>]| -> Vec<_> { part.iter().map(|chunk| hash_chunk(chunk, limits, known)).collect() };
        if self.threads == 1 || found.len() == 1 || text < LITTLE_TEXT {
            return hash(found);
        }
        let (first, rest) = found.split_at(found.len() / self.threads);
        let part = rest.len().div_ceil(self.threads - 1).max(1);
        let parts = std::iter::once(first).chain(rest.chunks(part));
        threads::share(parts, hash).into_iter().flatten().collect()
    }
}

/// The names of a chunk: those known of its bytes, or those of its text.
fn hash_chunk(chunk: &FoundChunk<'_>, limits: &Limits, known: Option<&NameChunks>) -> Result<Arc<HashedChunk>> {
    let source = chunk.source;
    if let Some(chunk) = known.and_then(|known| known.find(source)) {
        return Ok(chunk);
    }
    let text = inflate(chunk, limits).and_then(|text| spans(&text, limits).map(|spans| (text, spans)));
    let (text, spans) = text.map_err(|error| error.at("names", chunk.offset))?;
    let chunk = Arc::new(HashedChunk::new(text, &spans));
    if let Some(known) = known {
        known.keep(source, &chunk);
    }
    Ok(chunk)
}

fn inflate(chunk: &FoundChunk<'_>, limits: &Limits) -> Result<Vec<u8>> {
    let ChunkSource { stored, text_len, compressed, lax } = chunk.source;
    if lax && compressed {
        let damaged = || ErrorKind::UncompressFailed { detail: "the stream is damaged".to_string() };
        return Ok(inflate_at_most(stored, text_len, limits).ok_or_else(damaged)?);
    }
    match (Chunk { stored, text_len, compressed, offset: chunk.offset }).text()? {
        Cow::Owned(text) => Ok(text),
        Cow::Borrowed(text) => memory::copied(text, HOLD_NAMES),
    }
}

/// Returns the ranges of the names in a text.
fn spans(text: &[u8], limits: &Limits) -> Result<Vec<Range<usize>>> {
    let mut spans = Vec::new();
    let mut start = 0;
    for name in split_names(text) {
        let name = name?;
        let found = name.len() as u64;
        if found > limits.name_bytes {
            return Err(Error::above_limit(Some("name-bytes"), "length of a name", found, limits.name_bytes));
        }
        spans.push(start..start + name.len());
        start += name.len() + 1;
    }
    Ok(spans)
}

/// Inflates a stream of at most `most` bytes.
fn inflate_at_most(stored: &[u8], most: u64, limits: &Limits) -> Option<Vec<u8>> {
    let possible = (stored.len() as u64).saturating_mul(limits.inflate_ratio).min(limits.inflated_bytes);
    let mut text = try_with_capacity(usize::try_from(most.min(possible)).ok()?).ok()?;
    let mut inflater = Decompress::new(true);
    match inflater.decompress_vec(stored, &mut text, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Sink;
    use crate::bytes::names::{Compression, write_chunk};
    use crate::model::NameRef;

    /// The names of a section, or its fault.
    fn read(section: &[u8], lax: bool, threads: usize) -> std::result::Result<Vec<(NameRef, Vec<u8>)>, String> {
        let reader = ChunkReader { limits: &Limits::default(), known: None, threads };
        let chunks = match lax {
            true => reader.read_as_llvm(section, section.len(), 0),
            false => reader.read(section, 0),
        };
        let chunks = chunks.map_err(|error| format!("{error} at {:?}", error.offset()))?;
        Ok(chunks.iter().flat_map(|chunk| chunk.names()).map(|(hash, name)| (hash, name.to_vec())).collect())
    }

    #[test]
    fn names_and_faults_do_not_depend_on_threads() {
        let mut sink = Sink::new(Endian::Little);
        let mut chunk_at = 0;
        for chunk in 0..40 {
            let names: Vec<String> =
                (0..500).map(|name| format!("name_{name}_of_chunk_{chunk}_{}", name * chunk)).collect();
            if chunk == 30 {
                chunk_at = sink.len();
            }
            let compression = if chunk % 3 == 0 { Compression::None } else { Compression::Zlib };
            write_chunk(&mut sink, names.iter().map(String::as_bytes), compression).unwrap();
        }
        let valid = sink.into_bytes();
        let mut damaged = valid.clone();
        damaged[chunk_at + 40] = 1; // an empty name, or another stream
        damaged[chunk_at + 41] = 1;
        let cut = &valid[..valid.len() - 5];
        for lax in [false, true] {
            for (section, count) in [(&valid[..], Some(20_000)), (&damaged, None), (cut, None)] {
                let alone = read(section, lax, 1);
                assert_eq!(alone.as_ref().ok().map(Vec::len), count);
                for threads in [2, 3, 8] {
                    assert!(read(section, lax, threads) == alone, "{threads} threads");
                }
            }
        }
    }
}
