//! Writing compressed streams: equal content gives equal bytes.

use super::Compression;
use crate::memory::Buffer;
use flate2::write::GzEncoder;
use std::io::{self, Write};

/// The default level of the tool `zstd`.
#[cfg(feature = "zstd")]
const ZSTD_LEVEL: i32 = 3;

impl Compression {
    /// Returns true if outputs can have this compression.
    pub fn is_written(self) -> bool {
        self == Self::Gzip || (self == Self::Zstd && cfg!(feature = "zstd"))
    }

    /// Compresses bytes.
    ///
    /// # Errors
    ///
    /// Out of memory; unsupported if [`is_written`](Self::is_written) is false.
    pub fn compress(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut compressed = Buffer::default();
        self.write_with(&mut compressed, |out| out.write_all(bytes))?;
        Ok(compressed.0)
    }

    /// Compresses the output of `write`, and writes it to `out`.
    ///
    /// # Errors
    ///
    /// The errors of `write` and `out`, and of [`compress`](Self::compress).
    pub fn write_with(
        self,
        out: &mut (dyn Write + Send),
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut stream = Compressor::new(out, Some(self))?;
        write(stream.writer())?;
        stream.finish().map(drop)
    }
}

/// A stream that compresses its content, or writes it as it is.
#[allow(clippy::large_enum_variant, reason = "there is one for an output")]
pub(crate) enum Compressor<W: Write> {
    None(W),
    Gzip(GzEncoder<W>),
    #[cfg(feature = "zstd")]
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

impl<W: Write + Send> Compressor<W> {
    /// Begins a stream.
    ///
    /// # Errors
    ///
    /// Unsupported if [`Compression::is_written`] is false; the errors of `out`.
    pub(crate) fn new(out: W, compression: Option<Compression>) -> io::Result<Self> {
        match compression {
            None => Ok(Self::None(out)),
            // The header contains neither a time nor a name.
            Some(Compression::Gzip) => Ok(Self::Gzip(GzEncoder::new(out, flate2::Compression::default()))),
            #[cfg(feature = "zstd")]
            Some(Compression::Zstd) => {
                let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                Ok(Self::Zstd(encoder))
            }
            Some(other) => {
                Err(io::Error::new(io::ErrorKind::Unsupported, format!("{} cannot be written", other.name())))
            }
        }
    }

    /// Begins a gzip stream without compression, which is fast: readers end at its end, whatever follows it.
    pub(crate) fn enclosing(out: W) -> Self {
        Self::Gzip(GzEncoder::new(out, flate2::Compression::none()))
    }

    /// Returns the writer of the content.
    pub(crate) fn writer(&mut self) -> &mut (dyn Write + Send) {
        match self {
            Self::None(out) => out,
            Self::Gzip(encoder) => encoder,
            #[cfg(feature = "zstd")]
            Self::Zstd(encoder) => encoder,
        }
    }

    /// Writes the end of the stream, and returns what it was written to.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub(crate) fn finish(self) -> io::Result<W> {
        match self {
            Self::None(out) => Ok(out),
            Self::Gzip(encoder) => encoder.finish(),
            #[cfg(feature = "zstd")]
            Self::Zstd(encoder) => encoder.finish(),
        }
    }
}
