//! Writing compressed streams: equal content gives equal bytes.

use super::Compression;
use crate::memory::Buffer;
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

    /// Writes the output of `write` as a gzip stream without compression, which is fast: readers of the stream end at
    /// its end, whatever follows it.
    ///
    /// # Errors
    ///
    /// The errors of `write` and `out`.
    pub(crate) fn enclose_with(
        out: &mut (dyn Write + Send),
        write: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::none());
        write(&mut encoder)?;
        encoder.finish().map(drop)
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
        match self {
            Self::Gzip => {
                // The header contains neither a time nor a name.
                let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                write(&mut encoder)?;
                encoder.finish().map(drop)
            }
            #[cfg(feature = "zstd")]
            Self::Zstd => {
                let mut encoder = zstd::stream::write::Encoder::new(out, ZSTD_LEVEL)?;
                encoder.include_checksum(true)?;
                write(&mut encoder)?;
                encoder.finish().map(drop)
            }
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, format!("{} cannot be written", self.name()))),
        }
    }
}
