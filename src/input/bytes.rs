//! Bytes of an input: read, mapped, or from a stream.

use super::file::open_file;
use super::pages;
use super::system_calls::reading;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::memory::{self, HOLD_INPUT, Pages, SharedBytes};
use crate::threads;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

/// The method of reading a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Read into memory. If another process truncates the file during the read, the result is an error or a shorter
    /// input, never a crash.
    #[default]
    Read,
    /// Memory-map the file: nothing is copied, and only touched pages are loaded. If another process truncates the
    /// file, the operating system ends this process when it touches a missing page. Use it only for files that do not
    /// change.
    Map,
}

/// The bytes of one input.
#[derive(Debug)]
pub struct InputBytes(Storage);

#[derive(Debug)]
enum Storage {
    Owned(Vec<u8>),
    Pages(Pages),
    Mapped(memmap2::Mmap),
    Shared(Arc<Vec<u8>>),
}

impl Deref for InputBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Storage::Owned(bytes) => bytes,
            Storage::Pages(pages) => pages,
            Storage::Mapped(map) => map,
            Storage::Shared(bytes) => bytes,
        }
    }
}

impl InputBytes {
    /// Returns the bytes so that parts of them can be kept. Mapped bytes are copied.
    pub(crate) fn into_shared(self) -> SharedBytes {
        match self.0 {
            Storage::Owned(bytes) => SharedBytes::Heap(Arc::new(bytes)),
            Storage::Pages(pages) => SharedBytes::Pages(Arc::new(pages)),
            Storage::Mapped(map) => SharedBytes::Heap(Arc::new(map.to_vec())),
            Storage::Shared(bytes) => SharedBytes::Heap(bytes),
        }
    }
}

impl From<Vec<u8>> for InputBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Storage::Owned(bytes))
    }
}

impl From<Arc<Vec<u8>>> for InputBytes {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        Self(Storage::Shared(bytes))
    }
}

/// Reads a file that is not a pipe.
pub(super) fn read_file(path: &Path, access: Access, limits: &Limits) -> Result<InputBytes> {
    if access == Access::Map {
        return map(path, limits);
    }
    if let Some(pages) = pages::read(path, limits, threads::wanted(None).get(), None)? {
        return Ok(InputBytes(Storage::Pages(pages)));
    }
    let mut bytes = Vec::new();
    read_into(path, &mut bytes, limits)?;
    Ok(bytes.into())
}

/// Reads a file into `buffer` and replaces its content. The memory is reused, so one
/// buffer is enough for all files.
///
/// # Errors
///
/// I/O errors, and exceeded limits.
pub(crate) fn read_into(path: &Path, buffer: &mut Vec<u8>, limits: &Limits) -> Result<()> {
    buffer.clear();
    let file = open_file(path)?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let wanted = usize::try_from(size.min(limits.stream_bytes)).unwrap_or(usize::MAX);
    // The size is only a hint: the file can grow, shrink, or be a device.
    if buffer.try_reserve_exact(wanted.saturating_add(1)).is_err() {
        return Err(memory::refused(HOLD_INPUT).in_file(path));
    }
    read_stream(reading(file), buffer, limits).map_err(|error| error.in_file(path))
}

/// Reads a stream to its end, appending to `buffer`.
///
/// # Errors
///
/// I/O errors; limit exceeded beyond [`Limits::stream_bytes`].
pub(crate) fn read_stream(stream: impl Read, buffer: &mut Vec<u8>, limits: &Limits) -> Result<()> {
    let mut read = Vec::new();
    let into = if buffer.is_empty() { &mut *buffer } else { &mut read };
    read_rest(stream, into, limits)?;
    buffer.append(&mut read);
    Ok(())
}

/// Reads the rest of a stream whose beginning is in `buffer`.
pub(super) fn read_rest(stream: impl Read, buffer: &mut Vec<u8>, limits: &Limits) -> Result<()> {
    let most = limits.stream_bytes.saturating_add(1).saturating_sub(buffer.len() as u64);
    stream.take(most).read_to_end(buffer).map_err(|source| Error::io("cannot read", source))?;
    let read = buffer.len() as u64;
    if read > limits.stream_bytes {
        return Err(Error::above_limit(Some("stream-bytes"), "size of the input", read, limits.stream_bytes));
    }
    Ok(())
}

fn map(path: &Path, limits: &Limits) -> Result<InputBytes> {
    let file = open_file(path)?;
    let metadata = file.metadata().map_err(|source| Error::io("cannot read", source).in_file(path))?;
    if !metadata.is_file() || metadata.len() == 0 {
        // Directories cannot be mapped, and empty files need not be.
        let mut bytes = Vec::new();
        read_stream(file, &mut bytes, limits).map_err(|error| error.in_file(path))?;
        return Ok(bytes.into());
    }
    let map = map_file(&file).map_err(|source| Error::io("cannot map", source).in_file(path))?;
    Ok(InputBytes(Storage::Mapped(map)))
}

#[allow(unsafe_code)]
fn map_file(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the mapping is private to this process and never written. Its bytes are plain numbers, for which every
    // content is valid. If another process writes to the file, later reads return other bytes. The readers tolerate
    // this because they check every length when they use it. If another process truncates the file, touching a missing
    // page raises SIGBUS and ends this process: `Access::Map` documents this and is never the default.
    unsafe { memmap2::Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn read_and_mapped_bytes_are_the_same() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"profile bytes").unwrap();
        for access in [Access::Read, Access::Map] {
            assert_eq!(&*read_file(file.path(), access, &Limits::default()).unwrap(), b"profile bytes");
        }
    }

    #[test]
    fn a_stream_longer_than_allowed_is_refused() {
        let tight = Limits { stream_bytes: 4, ..Limits::default() };
        assert!(read_stream(&b"12345"[..], &mut Vec::new(), &tight).is_err());
        assert!(read_stream(&b"1234"[..], &mut Vec::new(), &tight).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn folders_and_missing_files_are_named() {
        let missing = read_file(Path::new("no/such/file"), Access::Read, &Limits::default()).unwrap_err();
        assert_eq!(missing.to_string(), "no/such/file: cannot open: No such file or directory");
        let folder = read_file(Path::new("."), Access::Read, &Limits::default()).unwrap_err();
        assert_eq!(folder.to_string(), ".: cannot read: Is a directory");
    }
}
