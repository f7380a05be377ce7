//! The names of one image, hashed: built once, shared by all its files.

use super::chunks::{ChunkSource, HashedChunk, NameChunks};
use super::layout::Section;
use super::profile::RawProfile;
use crate::bytes::leb128::read_uleb128;
use crate::bytes::names::{Chunks, room_for, split_names};
use crate::bytes::{Cursor, Endian};
use crate::error::{ErrorKind, Result};
use crate::limits::Limits;
use crate::manner::Manner;
use crate::model::{NameRef, SymbolTable};
use flate2::{Decompress, FlushDecompress, Status};
use std::ops::Range;
use std::sync::Arc;

/// Name hash → name for the functions and vtables of one image.
///
/// Inflating and hashing names is most of the work of reading a raw file, and
/// all files of one image have the same: see [`RawNames::are_those_of`].
#[derive(Debug, Clone, Default)]
pub struct RawNames {
    symbols: SymbolTable,
    vtable_names: Vec<Vec<u8>>,
    /// The two sections they were read from; `None` for versions 1 and 2,
    /// whose names are cut by the records.
    source: Option<Source>,
}

/// Bytes of the two sections with names.
#[derive(Debug, Clone)]
struct Source {
    functions: Vec<u8>,
    vtables: Vec<u8>,
}

impl RawNames {
    /// Names that do not come from the file's own sections.
    pub fn from_symbols(symbols: SymbolTable) -> Self {
        Self { symbols, vtable_names: Vec::new(), source: None }
    }

    /// Reads the chunks of a names section that stands alone, as images have it.
    ///
    /// # Errors
    ///
    /// Truncated, malformed or uncompress failed when a chunk is damaged.
    pub fn read_section(section: &[u8], limits: &Limits) -> Result<Self> {
        let mut symbols = SymbolTable::new();
        NameSink { limits, known: None, add: &mut |hash, name| symbols.insert_hashed(hash, name) }
            .read_chunks(section, 0)?;
        Ok(Self::from_symbols(symbols))
    }

    /// Reads the chunks of both names sections; those in `known` are not
    /// inflated and hashed again.
    pub(super) fn read(
        profile: &RawProfile<'_>,
        manner: Manner,
        limits: &Limits,
        known: Option<&NameChunks>,
    ) -> Result<Self> {
        let mut names = Self::default();
        let (functions, vtables) = (profile.section(Section::Names), profile.section(Section::VTableNames));
        let symbols = &mut names.symbols;
        let read = |section, add: &mut dyn FnMut(NameRef, &[u8])| {
            let base = profile.section_range(section).start as u64;
            let mut sink = NameSink { limits, known, add };
            if manner.is_llvm() {
                return sink.read_chunks_as_llvm(profile.bytes_from(section), profile.section(section).len(), base);
            }
            sink.read_chunks(profile.section(section), base)
        };
        read(Section::Names, &mut |hash, name| symbols.insert_hashed(hash, name))?;
        read(Section::VTableNames, &mut |hash, name| {
            symbols.insert_hashed(hash, name);
            names.vtable_names.push(name.to_vec());
        })?;
        names.source = Some(Source { functions: functions.to_vec(), vtables: vtables.to_vec() });
        Ok(names)
    }

    /// Takes the names that the records of versions 1 and 2 point to.
    pub(super) fn read_plain(profile: &RawProfile<'_>) -> Result<Self> {
        let mut names = Self::default();
        for (index, record) in profile.records().enumerate() {
            names.symbols.insert(profile.plain_name(index, &record)?);
        }
        Ok(names)
    }

    /// Whether these are the names of that profile, byte for byte.
    pub fn are_those_of(&self, profile: &RawProfile<'_>) -> bool {
        self.source.as_ref().is_some_and(|source| {
            source.functions == profile.section(Section::Names)
                && source.vtables == profile.section(Section::VTableNames)
        })
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

/// Takes the names of chunks apart and hands each on with its hash.
struct NameSink<'a> {
    limits: &'a Limits,
    known: Option<&'a NameChunks>,
    add: &'a mut dyn FnMut(NameRef, &[u8]),
}

impl NameSink<'_> {
    fn read_chunks(&mut self, section: &[u8], base: u64) -> Result<()> {
        let mut chunks = Chunks::new(section, base, *self.limits);
        while let Some(chunk) = chunks.next_chunk()? {
            let source = ChunkSource {
                stored: chunk.stored,
                text_len: chunk.text_len,
                compressed: chunk.compressed,
                lax: false,
            };
            self.add_chunk(source, || Ok(chunk.text()?.into_owned()))
                .map_err(|error| error.at("names", chunk.offset))?;
        }
        Ok(())
    }

    /// Reads chunks as LLVM 22 does, which believes their sizes: a chunk may leave
    /// its section of `len` bytes, a stream may inflate to less than promised or
    /// end early. What would leave the file, where LLVM crashes, is an error.
    fn read_chunks_as_llvm(&mut self, file: &[u8], len: usize, base: u64) -> Result<()> {
        let mut cursor = Cursor::new(file, base, Endian::Little, "names");
        let end = base.saturating_add(len as u64);
        while cursor.position() < end {
            let text_len = read_uleb128(&mut cursor, "uncompressed size of names")?;
            let stored_len = read_uleb128(&mut cursor, "compressed size of names")?;
            let place = cursor.clone();
            if stored_len == 0 {
                let text = cursor.take("names chunk", text_len)?;
                let source = ChunkSource { stored: text, text_len, compressed: false, lax: true };
                self.add_chunk(source, || Ok(text.to_vec())).map_err(|error| place.place(error))?;
            } else {
                // zlib stops at the end of its stream, wherever the chunk is said to end.
                let stored =
                    cursor.rest().get(..usize::try_from(stored_len).unwrap_or(usize::MAX)).unwrap_or(cursor.rest());
                let source = ChunkSource { stored, text_len, compressed: true, lax: true };
                let limits = self.limits;
                let damaged = || ErrorKind::UncompressFailed { detail: "the stream is damaged".to_string() };
                self.add_chunk(source, || Ok(inflate_at_most(stored, text_len, limits).ok_or_else(damaged)?))
                    .map_err(|error| place.place(error))?;
                if stored_len > cursor.left() {
                    return Ok(()); // behind the end of the section at any rate
                }
                cursor.take("names chunk", stored_len)?;
            }
            while cursor.position() < end && cursor.rest().first() == Some(&0) {
                cursor.u8("padding of names")?;
            }
        }
        Ok(())
    }

    /// Hands on the names of a chunk: those known of its bytes, or those of its text.
    fn add_chunk(&mut self, source: ChunkSource<&[u8]>, text: impl FnOnce() -> Result<Vec<u8>>) -> Result<()> {
        let chunk = match self.known.and_then(|known| known.find(source)) {
            Some(chunk) => chunk,
            None => {
                let text = text()?;
                let spans = self.spans(&text)?;
                let chunk = Arc::new(HashedChunk::new(source, text, &spans));
                if let Some(known) = self.known {
                    known.keep(Arc::clone(&chunk));
                }
                chunk
            }
        };
        chunk.names().for_each(|(hash, name)| (self.add)(hash, name));
        Ok(())
    }

    /// Where the names of a text stand.
    fn spans(&self, text: &[u8]) -> Result<Vec<Range<usize>>> {
        let mut spans = Vec::new();
        let mut start = 0;
        for name in split_names(text) {
            let name = name?;
            let found = name.len() as u64;
            if found > self.limits.name_bytes {
                let kind = ErrorKind::LimitExceeded { what: "length of a name", found, limit: self.limits.name_bytes };
                return Err(kind.into());
            }
            spans.push(start..start + name.len());
            start += name.len() + 1;
        }
        Ok(spans)
    }
}

/// Inflates a stream of at most `most` bytes.
fn inflate_at_most(stored: &[u8], most: u64, limits: &Limits) -> Option<Vec<u8>> {
    let possible = (stored.len() as u64).saturating_mul(limits.inflate_ratio).min(limits.inflated_bytes);
    let mut text = room_for(usize::try_from(most.min(possible)).ok()?).ok()?;
    let mut inflater = Decompress::new(true);
    match inflater.decompress_vec(stored, &mut text, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => Some(text),
        _ => None,
    }
}
