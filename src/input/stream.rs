//! A path becomes a stream whose format is known, without reading all of it.

use super::detect::{Format, detect};
use super::file::open_file;
use super::once;
use crate::error::{Error, Result};
use flate2::read::MultiGzDecoder;
use std::io::{self, Read};
use std::path::Path;

/// Bytes looked at to recognise a format.
const HEAD_BYTES: usize = 4096;

/// An input that was opened and recognised.
pub struct InputStream {
    /// The format, of what is inside for a gzip stream.
    pub format: Format,
    /// All bytes, those that were looked at included; a gzip stream stays one.
    pub stream: Box<dyn Read + Send>,
}

impl std::fmt::Debug for InputStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputStream").field("format", &self.format).finish_non_exhaustive()
    }
}

/// Opens `path`, or standard input for `-`.
///
/// # Errors
///
/// I/O errors with the path.
pub fn open_stream(path: &Path) -> Result<InputStream> {
    let opened = match once::take(path) {
        Some(opened) => opened,
        None => {
            let mut rest = once::open(path)?;
            let mut head = Vec::new();
            let read = rest.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head);
            read.map_err(|source| Error::io("cannot read", source).in_file(path))?;
            once::Opened { head, rest }
        }
    };
    let once::Opened { head, rest } = opened;
    Ok(InputStream { format: detect_inside(&head), stream: Box::new(io::Cursor::new(head).chain(rest)) })
}

/// The format of an input, of what is inside for a gzip stream. Whoever opens
/// the input afterwards gets all of it, also of a pipe.
///
/// # Errors
///
/// I/O errors with the path.
pub fn format_of(path: &Path) -> Result<Format> {
    Ok(detect_inside(&once::look(path, HEAD_BYTES)?))
}

/// The first bytes of an input, enough to tell format and version: at least 64
/// if there are so many, of what is inside for a gzip stream if `inflates`.
/// Whoever opens the input afterwards gets all of it, also of a pipe.
///
/// Meant for runs of thousands of files: one small read a file.
///
/// # Errors
///
/// I/O errors with the path.
pub fn head_of(path: &Path, inflates: bool) -> Result<Vec<u8>> {
    let head = if once::comes_once(path) { once::look(path, HEAD_BYTES)? } else { small_head(path)? };
    if !inflates || detect(&head) != Format::Gzip {
        return Ok(head);
    }
    let head = once::look(path, HEAD_BYTES)?;
    Ok(inside(&head).unwrap_or(head))
}

/// The first 64 bytes of a file.
fn small_head(path: &Path) -> Result<Vec<u8>> {
    let mut head = [0; 64];
    let mut file = open_file(path)?;
    let mut len = 0;
    while len < head.len() {
        match file.read(&mut head[len..]) {
            Ok(0) => break,
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(Error::io("cannot read", source).in_file(path)),
        }
    }
    Ok(head[..len].to_vec())
}

/// The format of what a gzip stream holds, or of the bytes themselves.
fn detect_inside(head: &[u8]) -> Format {
    let format = detect(head);
    if format != Format::Gzip {
        return format;
    }
    inside(head).map_or(Format::Gzip, |inside| detect(&inside))
}

/// The first bytes of what a gzip stream holds, whose own first bytes these are.
fn inside(head: &[u8]) -> Option<Vec<u8>> {
    let mut inside = Vec::new();
    // The head is cut, so the stream ends in an error; what came out before counts.
    let _ = MultiGzDecoder::new(head).take(HEAD_BYTES as u64).read_to_end(&mut inside);
    (!inside.is_empty()).then_some(inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_gzip_stream_is_recognised_by_what_it_holds() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(b"{\"version\":\"1.0.0\"}").unwrap();
        let packed = encoder.finish().unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&packed).unwrap();
        let mut input = open_stream(file.path()).unwrap();
        assert_eq!(input.format, Format::Iprof);
        let mut bytes = Vec::new();
        input.stream.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, packed);
        assert!(open_stream(Path::new("/no/such/file")).is_err());
    }
}
