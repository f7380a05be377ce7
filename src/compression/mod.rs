//! Compressed streams: their magic bytes, their file extensions, reading and writing.
//!
//! Inputs are detected from the content. The file extension of an output selects its compression.

mod chunks;
mod read;
mod write;

pub(crate) use chunks::ZstdChunks;
pub use read::decompress;
pub(crate) use read::{Opened, open};
pub(crate) use write::Compressor;

use crate::error::{Error, Result};
use std::fmt;
use std::path::Path;

/// A known compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878); read and written with the feature `zstd`.
    Zstd,
    /// xz; read with the feature `xz`, never written.
    Xz,
    /// bzip2; neither read nor written.
    Bzip2,
    /// LZ4 frames; neither read nor written.
    Lz4,
}

/// File extensions of compressed files, and the compression of outputs with this extension; `None` cannot be written.
const EXTENSIONS: [(&str, Option<Compression>); 10] = [
    ("gz", Some(Compression::Gzip)),
    ("svgz", Some(Compression::Gzip)),
    ("zst", Some(Compression::Zstd)),
    ("xz", None),
    ("bz2", None),
    ("lz4", None),
    ("zip", None),
    ("Z", None),
    ("lzma", None),
    ("br", None),
];

/// The number of bytes at the start of a stream that identify its compression.
const MAGIC_BYTES: usize = 6;

impl Compression {
    /// All compressions.
    pub const ALL: &'static [Self] = &[Self::Gzip, Self::Zstd, Self::Xz, Self::Bzip2, Self::Lz4];

    /// Returns the compression of a stream with these first bytes.
    pub fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A zstd stream can begin with a skippable frame.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            // The first block, or the end of a stream without blocks.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Some(Self::Bzip2),
            [0x04, 0x22, 0x4d, 0x18, ..] => Some(Self::Lz4),
            _ => None,
        }
    }

    /// Returns the compression that the file extension of an output selects.
    ///
    /// # Errors
    ///
    /// A usage error for the extension of a compression that cannot be written.
    pub fn of_output(path: &Path) -> Result<Option<Self>> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match EXTENSIONS.iter().find(|(known, _)| *known == extension) {
            None => Ok(None),
            Some((_, Some(compression))) if compression.is_written() => Ok(Some(*compression)),
            Some(_) => {
                let written = if Self::Zstd.is_written() { ".gz or .zst" } else { ".gz" };
                Err(Error::usage(format!("cannot write compressed files with the extension .{extension}"))
                    .in_file(path)
                    .with_hint(format!("name the output {written}, or compress it with another tool")))
            }
        }
    }

    /// Returns the name of the compression, which is that of its tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
            Self::Lz4 => "lz4",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} stream", self.name())
    }
}

/// Compresses bytes as the file extension of the output selects, otherwise with the default.
///
/// # Errors
///
/// The errors of [`Compression::of_output`]; I/O.
pub(crate) fn compress_for(bytes: Vec<u8>, output: &Path, default: Option<Compression>) -> Result<Vec<u8>> {
    match Compression::of_output(output)?.or(default) {
        Some(compression) => compression.compress(&bytes).map_err(|source| Error::io("cannot compress", source)),
        None => Ok(bytes),
    }
}

/// Returns a file name without the extension of its compression: `app.svg` for `app.svg.gz` and `app.svgz`.
pub fn uncompressed_name(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    Some(match name.rsplit_once('.') {
        Some((_, "svgz")) => &name[..name.len() - 1],
        Some((rest, extension)) if EXTENSIONS.iter().any(|(known, _)| *known == extension) => rest,
        _ => name,
    })
}

#[cfg(test)]
mod tests;
