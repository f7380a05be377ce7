//! Compression of name lists with the bytes that LLVM would write.

/// A zlib stream of `text` at level 9, as LLVM's `compression::zlib::compress`.
///
/// With the feature `zlib-exact` this is zlib's own `compress2` (memory level
/// 8, window 15), whose bytes LLVM writes. Without it a pure Rust deflate gives
/// an equivalent stream with other bytes.
#[cfg(feature = "zlib-exact")]
#[allow(unsafe_code)]
pub(crate) fn compress_level_9(text: &[u8]) -> Vec<u8> {
    let source_len = text.len() as libz_sys::uLong;
    // SAFETY: `compressBound` only computes; `compress2` reads `source_len`
    // bytes of `text`, writes at most `len` bytes to `stream`, which has that
    // many, and stores in `len` how many it wrote.
    let (status, len, mut stream) = unsafe {
        let mut len = libz_sys::compressBound(source_len);
        let mut stream = vec![0u8; len as usize];
        let status = libz_sys::compress2(stream.as_mut_ptr(), &mut len, text.as_ptr(), source_len, 9);
        (status, len, stream)
    };
    assert_eq!(status, libz_sys::Z_OK, "compress2 cannot fail with a buffer of compressBound bytes");
    stream.truncate(len as usize);
    stream
}

/// As above, without the promise of identical bytes.
#[cfg(not(feature = "zlib-exact"))]
pub(crate) fn compress_level_9(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text).and_then(|()| encoder.finish()).expect("writing to memory cannot fail")
}
