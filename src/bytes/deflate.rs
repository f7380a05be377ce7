//! Compression of name lists with the bytes that LLVM would write.

#[cfg(not(feature = "zlib-exact"))]
use crate::error::Error;
use crate::error::Result;
use crate::memory::{self, HOLD_OUTPUT};

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
    // SAFETY: `compressBound` only computes; `compress2` reads `source_len`
    // bytes of `text`, writes at most `len` bytes to `stream`, which has that
    // many, and stores in `len` how many it wrote.
    let (status, len, mut stream) = unsafe {
        let mut len = libz_sys::compressBound(source_len);
        let mut stream = Vec::new();
        memory::reserve(&mut stream, len as usize, HOLD_OUTPUT)?;
        stream.resize(len as usize, 0);
        let status = libz_sys::compress2(stream.as_mut_ptr(), &mut len, text.as_ptr(), source_len, 9);
        (status, len, stream)
    };
    if status != libz_sys::Z_OK {
        // With a buffer of compressBound bytes only its own memory can be refused.
        return Err(memory::refused(HOLD_OUTPUT));
    }
    stream.truncate(len as usize);
    Ok(stream)
}

/// As above, without the promise of identical bytes.
#[cfg(not(feature = "zlib-exact"))]
pub(crate) fn compress_level_9(text: &[u8]) -> Result<Vec<u8>> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(memory::Buffer::default(), flate2::Compression::best());
    let written = encoder.write_all(text).and_then(|()| encoder.finish());
    written.map(|stream| stream.0).map_err(|error| Error::io(HOLD_OUTPUT, error))
}
