//! A zstd stream that arrives in parts.

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// Decompressed bytes per step.
#[cfg(feature = "zstd")]
const STEP_BYTES: usize = 1 << 17;

/// Output of a few steps is free of the ratio.
#[cfg(feature = "zstd")]
const FREE_BYTES: u64 = 1 << 20;

/// Decompresses a zstd stream whose parts are in several places of a file.
pub(crate) struct ZstdChunks {
    #[cfg(feature = "zstd")]
    decoder: zstd::stream::raw::Decoder<'static>,
    #[cfg(feature = "zstd")]
    buffer: Vec<u8>,
    #[cfg(feature = "zstd")]
    limits: Limits,
    #[cfg(feature = "zstd")]
    read: u64,
    #[cfg(feature = "zstd")]
    written: u64,
}

#[cfg(feature = "zstd")]
impl ZstdChunks {
    /// # Errors
    ///
    /// Uncompress failed if the decoder cannot be made.
    pub(crate) fn new(limits: &Limits) -> Result<Self> {
        let mut decoder = zstd::stream::raw::Decoder::new().map_err(failed)?;
        let window = super::read::zstd_window_log(limits);
        decoder.set_parameter(zstd::zstd_safe::DParameter::WindowLogMax(window)).map_err(failed)?;
        Ok(Self { decoder, buffer: vec![0; STEP_BYTES], limits: *limits, read: 0, written: 0 })
    }

    /// Appends the next decompressed bytes to `out` and consumes bytes of `input`. Returns the number of appended
    /// bytes, 0 at the end of the input.
    ///
    /// # Errors
    ///
    /// Uncompress failed; limit exceeded above [`Limits::stream_bytes`] or [`Limits::inflate_ratio`].
    pub(crate) fn decompress(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<usize> {
        use zstd::stream::raw::{InBuffer, Operation, OutBuffer};
        let mut source = InBuffer::around(input);
        let mut sink = OutBuffer::around(&mut self.buffer[..]);
        loop {
            let before = (source.pos(), sink.pos());
            self.decoder.run(&mut source, &mut sink).map_err(failed)?;
            if sink.pos() > 0 || (source.pos(), sink.pos()) == before {
                break;
            }
        }
        let (used, made) = (source.pos(), sink.pos());
        self.read = self.read.saturating_add(used as u64);
        self.written = self.written.saturating_add(made as u64);
        let ratio = self.read.saturating_mul(self.limits.inflate_ratio).saturating_add(FREE_BYTES);
        let (limit, name) = (ratio, "inflate-ratio").min((self.limits.stream_bytes, "stream-bytes"));
        if self.written > limit {
            let what = "size of the inflated input";
            return Err(Error::above_limit(Some(name), what, self.written, limit));
        }
        out.extend_from_slice(self.buffer.get(..made).unwrap_or_default());
        *input = input.get(used..).unwrap_or_default();
        Ok(made)
    }
}

#[cfg(feature = "zstd")]
fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::UncompressFailed { detail: error.to_string() })
}

#[cfg(not(feature = "zstd"))]
impl ZstdChunks {
    /// # Errors
    ///
    /// Unsupported: this build has no decoder.
    pub(crate) fn new(_: &Limits) -> Result<Self> {
        Err(Error::new(ErrorKind::Unsupported { what: "zstd in this build".to_string() }))
    }

    pub(crate) fn decompress(&mut self, _: &mut &[u8], _: &mut Vec<u8>) -> Result<usize> {
        Ok(0)
    }
}
