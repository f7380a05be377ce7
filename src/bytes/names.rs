//! Name chunks: how raw profiles (from version 3) and the vtable names of
//! indexed profiles (from version 12) store lists of names.
//!
//! A section is a sequence of chunks, zero bytes between them skipped:
//!
//! | field | encoding |
//! |---|---|
//! | uncompressed size | ULEB128 |
//! | compressed size, 0 when stored plain | ULEB128 |
//! | the bytes | a zlib stream, or plain |
//!
//! The text of a chunk is names joined by the byte 0x01 (`InstrProf.cpp`,
//! `readAndDecodeStrings` and `collectGlobalObjectNameStrings`).
//!
//! Compression of name lists with the bytes that LLVM would write.

use super::leb128;
use super::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::{self, HOLD_INFLATED, HOLD_OUTPUT};
use flate2::{Decompress, FlushDecompress, Status};
use memchr::memchr_iter;
use std::borrow::Cow;
use std::io::Write;

/// Separates names inside a chunk.
pub const SEPARATOR: u8 = 0x01;

/// Walks the chunks of a names section.
#[derive(Debug, Clone)]
pub struct Chunks<'data> {
    cursor: Cursor<'data>,
    limits: Limits,
    /// Bytes that the chunks so far inflate to.
    inflated: u64,
}

/// One chunk, still compressed.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'data> {
    /// The stored bytes: a zlib stream, or the text itself.
    pub stored: &'data [u8],
    /// Bytes of the text.
    pub text_len: u64,
    /// Whether `stored` is a zlib stream.
    pub compressed: bool,
    /// Absolute offset of `stored` in the file.
    pub offset: u64,
}

impl<'data> Chunks<'data> {
    /// The chunks of `section`, which begins at byte `base` of the file.
    pub fn new(section: &'data [u8], base: u64, limits: Limits) -> Self {
        Self { cursor: Cursor::new(section, base, Endian::Little, "names"), limits, inflated: 0 }
    }

    /// The next chunk, or `None` at the end of the section.
    ///
    /// Zero bytes before a chunk are skipped, also before the first one (which
    /// LLVM takes for an empty chunk and rejects).
    ///
    /// # Errors
    ///
    /// Truncated when a chunk leaves the section, malformed when it is empty or
    /// promises more than deflate can hold.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk<'data>>> {
        self.cursor.skip_zeros();
        if self.cursor.is_empty() {
            return Ok(None);
        }
        let text_len = leb128::read_uleb128(&mut self.cursor, "uncompressed size of names")?;
        let compressed_len = leb128::read_uleb128(&mut self.cursor, "compressed size of names")?;
        let compressed = compressed_len != 0;
        let offset = self.cursor.position();
        let stored_len = if compressed { compressed_len } else { text_len };
        let stored = self.cursor.take("names chunk", stored_len)?;
        if text_len == 0 {
            let error = Error::malformed("a names chunk is empty").with_llvm_detail("symbol name is empty");
            return Err(error.at("names", offset));
        }
        if compressed {
            if text_len > compressed_len.saturating_mul(self.limits.inflate_ratio) {
                let detail = format!("{compressed_len} compressed bytes cannot contain the declared {text_len} bytes");
                return Err(Error::malformed(detail).at("names", offset));
            }
            self.inflated = self.inflated.saturating_add(text_len);
            if self.inflated > self.limits.inflated_bytes {
                return Err(Error::above_limit(
                    Some("inflated-bytes"),
                    "size of inflated names",
                    self.inflated,
                    self.limits.inflated_bytes,
                )
                .at("names", offset));
            }
        }
        Ok(Some(Chunk { stored, text_len, compressed, offset }))
    }
}

impl<'data> Chunk<'data> {
    /// The text of the chunk: names joined by [`SEPARATOR`].
    ///
    /// # Errors
    ///
    /// Uncompress failed when the stream is damaged or does not decode to
    /// exactly the promised size.
    pub fn text(&self) -> Result<Cow<'data, [u8]>> {
        if !self.compressed {
            return Ok(Cow::Borrowed(self.stored));
        }
        let len = usize::try_from(self.text_len)
            .map_err(|_| Error::malformed("names do not fit the address space").at("names", self.offset))?;
        let mut text = try_with_capacity(len).map_err(|error| error.at("names", self.offset))?;
        let mut inflater = Decompress::new(true);
        let failed = |detail: String| Err(Error::new(ErrorKind::UncompressFailed { detail }).at("names", self.offset));
        match inflater.decompress_vec(self.stored, &mut text, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => {}
            // A stream longer than promised stops with the output full.
            Ok(_) => return failed(format!("does not inflate to the declared {len} bytes")),
            Err(error) => return failed(error.to_string()),
        }
        if text.len() != len {
            return failed(format!("inflates to {} bytes, header says {len}", text.len()));
        }
        if inflater.total_in() != self.stored.len() as u64 {
            let rest = self.stored.len() as u64 - inflater.total_in();
            return failed(format!("{rest} bytes follow the compressed stream"));
        }
        Ok(Cow::Owned(text))
    }
}

/// Returns an empty buffer with capacity for `len` bytes, or an error if there is not enough memory, because a failed
/// allocation would end the process.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub fn try_with_capacity(len: usize) -> Result<Vec<u8>> {
    let mut buffer = Vec::new();
    let reserved = buffer.try_reserve_exact(len);
    reserved.map_err(|_| memory::refused(HOLD_INFLATED))?;
    Ok(buffer)
}

/// The names of a chunk's text; no name is empty.
///
/// # Errors
///
/// Malformed for an empty name (LLVM: `symbol name is empty`).
pub fn split_names(text: &[u8]) -> impl Iterator<Item = Result<&[u8]>> {
    let mut start = 0;
    memchr_iter(SEPARATOR, text).chain([text.len()]).map(move |end| {
        let name = &text[start..end];
        start = end + 1;
        if name.is_empty() {
            Err(Error::malformed("a name is empty").in_section("names").with_llvm_detail("symbol name is empty"))
        } else {
            Ok(name)
        }
    })
}

/// How the writer stores a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Plain text.
    None,
    /// A zlib stream that is written quickly.
    #[default]
    Zlib,
    /// A zlib stream at level 9; with the feature `zlib-exact` the bytes of zlib itself, which LLVM writes.
    ZlibOfLlvm,
}

/// Appends one chunk with `names` joined by [`SEPARATOR`]. Appends nothing if there are no names.
///
/// # Errors
///
/// Out of memory, as an I/O error, for names or a stream that do not fit it.
pub fn write_chunk<'a>(
    sink: &mut Sink,
    names: impl IntoIterator<Item = &'a [u8]>,
    compression: Compression,
) -> Result<()> {
    let mut text = Vec::new();
    for name in names {
        if !text.is_empty() {
            text.push(SEPARATOR);
        }
        text.extend_from_slice(name);
    }
    if text.is_empty() {
        return Ok(());
    }
    leb128::write_uleb128(sink, text.len() as u64);
    match compression {
        Compression::None => {
            leb128::write_uleb128(sink, 0);
            sink.bytes(&text);
        }
        Compression::Zlib | Compression::ZlibOfLlvm => {
            let is_of_llvm = compression == Compression::ZlibOfLlvm;
            let stream = if is_of_llvm { compress_level_9(&text)? } else { compress_quickly(&text)? };
            leb128::write_uleb128(sink, stream.len() as u64);
            sink.bytes(&stream);
        }
    }
    Ok(())
}

/// A zlib stream of `text` at level 9, as LLVM's `compression::zlib::compress`.
///
/// With the feature `zlib-exact` this is zlib's own `compress2` (memory level
/// 8, window 15), whose bytes LLVM writes. Without it a pure Rust deflate gives
/// an equivalent stream with other bytes.
///
/// # Errors
///
/// Out of memory, as an I/O error.
#[cfg(feature = "zlib-exact")]
#[allow(unsafe_code)]
pub(crate) fn compress_level_9(text: &[u8]) -> Result<Vec<u8>> {
    let source_len = text.len() as libz_sys::uLong;
    // SAFETY: `compressBound` only computes. `compress2` reads `source_len` bytes of `text`, writes at most `len` bytes
    // to `stream`, which has this length, and stores the number of written bytes in `len`.
    let (status, len, mut stream) = unsafe {
        let mut len = libz_sys::compressBound(source_len);
        let mut stream = Vec::new();
        memory::reserve(&mut stream, len as usize, HOLD_OUTPUT)?;
        stream.resize(len as usize, 0);
        let status = libz_sys::compress2(stream.as_mut_ptr(), &mut len, text.as_ptr(), source_len, 9);
        (status, len, stream)
    };
    if status != libz_sys::Z_OK {
        // With a buffer of compressBound bytes, only an internal allocation can fail.
        return Err(memory::refused(HOLD_OUTPUT));
    }
    stream.truncate(len as usize);
    Ok(stream)
}

/// As above, without the promise of identical bytes.
#[cfg(not(feature = "zlib-exact"))]
pub(crate) fn compress_level_9(text: &[u8]) -> Result<Vec<u8>> {
    compress(text, flate2::Compression::best())
}

/// A zlib stream of names whose bytes are not compared with LLVM's. Level 9 takes most of the time of writing a raw
/// profile, and the file is hardly smaller.
fn compress_quickly(text: &[u8]) -> Result<Vec<u8>> {
    compress(text, flate2::Compression::fast())
}

fn compress(text: &[u8], level: flate2::Compression) -> Result<Vec<u8>> {
    let mut encoder = flate2::write::ZlibEncoder::new(memory::Buffer::default(), level);
    let written = encoder.write_all(text).and_then(|()| encoder.finish());
    written.map(|stream| stream.0).map_err(|error| Error::io(HOLD_OUTPUT, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(section: &[u8]) -> Result<Vec<Vec<u8>>> {
        let mut chunks = Chunks::new(section, 0, Limits::default());
        let mut names = Vec::new();
        while let Some(chunk) = chunks.next_chunk()? {
            for name in split_names(&chunk.text()?) {
                names.push(name?.to_vec());
            }
        }
        Ok(names)
    }

    #[test]
    fn the_reference_example_decodes() {
        // Names of the MC/DC file in the raw format's documentation: f, g, main.
        let stream = [
            0x08, 0x10, 0x78, 0xda, 0x4b, 0x63, 0x4c, 0x67, 0xcc, 0x4d, 0xcc, 0xcc, 0x03, 0x00, 0x09, 0xc5, 0x02, 0x75,
        ];
        assert_eq!(read_all(&stream).unwrap(), [b"f".to_vec(), b"g".to_vec(), b"main".to_vec()]);
    }

    #[test]
    fn compressed_and_plain_chunks_share_a_section() {
        for compression in [Compression::None, Compression::Zlib, Compression::ZlibOfLlvm] {
            let mut sink = Sink::new(Endian::Little);
            write_chunk(&mut sink, [b"foo".as_slice(), b"bar"], compression).unwrap();
            sink.zeros(5);
            write_chunk(&mut sink, [b"baz".as_slice()], Compression::None).unwrap();
            assert_eq!(read_all(sink.as_slice()).unwrap(), [b"foo", b"bar", b"baz"]);
        }
    }

    #[test]
    fn a_bomb_is_refused_before_anything_is_allocated() {
        let mut sink = Sink::new(Endian::Little);
        leb128::write_uleb128(&mut sink, 1 << 60);
        leb128::write_uleb128(&mut sink, 4);
        sink.bytes(&[0x78, 0xda, 0, 0]);
        assert!(read_all(sink.as_slice()).unwrap_err().to_string().contains("cannot contain the declared"));
    }

    #[test]
    fn another_size_than_promised_is_an_error() {
        let stream = compress_level_9(b"foo\x01bar").unwrap();
        for promised in [6, 8, 60] {
            let mut sink = Sink::new(Endian::Little);
            leb128::write_uleb128(&mut sink, promised);
            leb128::write_uleb128(&mut sink, stream.len() as u64);
            sink.bytes(&stream);
            let error = read_all(sink.as_slice()).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::UncompressFailed { .. }), "{promised}: {error}");
        }
    }

    #[test]
    fn empty_names_are_malformed() {
        for text in [b"\x01a".as_slice(), b"a\x01", b"a\x01\x01b"] {
            let mut sink = Sink::new(Endian::Little);
            leb128::write_uleb128(&mut sink, text.len() as u64);
            leb128::write_uleb128(&mut sink, 0);
            sink.bytes(text);
            assert!(read_all(sink.as_slice()).is_err());
        }
    }
}
