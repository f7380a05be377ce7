//! Large files in large pages of memory.

use super::bytes::open_file;
use super::once;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::memory::{self, large_pages};
use memmap2::MmapMut;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::Path;

/// Files from this size on are large.
const LARGE: u64 = memory::LARGE as u64;

/// The bytes of a large file.
#[derive(Debug)]
pub(super) struct Pages {
    memory: MmapMut,
    len: usize,
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

/// Reads a large file, into memory that was `used` for another if that is large
/// enough; `None` for whatever has to be read in the ordinary way: small files,
/// those above the limit or growing, and what is no file.
///
/// # Errors
///
/// I/O errors with the path.
pub(super) fn read(path: &Path, limits: &Limits, used: Option<Pages>) -> Result<Option<Pages>> {
    if once::comes_once(path) {
        return Ok(None);
    }
    let mut file = open_file(path)?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    if !(LARGE..=limits.stream_bytes).contains(&size) {
        return Ok(None);
    }
    // A byte more, so that the end of the file is seen.
    let Some(wanted) = usize::try_from(size).ok().and_then(|size| size.checked_add(1)) else { return Ok(None) };
    let used = used.map(|pages| pages.memory).filter(|memory| memory.len() >= wanted);
    let Some(mut memory) = used.or_else(|| large_pages(wanted)) else { return Ok(None) };
    let mut len = 0;
    while len < memory.len() {
        match file.read(&mut memory[len..]) {
            Ok(0) => return Ok(Some(Pages { memory, len })),
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => return Err(Error::io("cannot read", source).in_file(path)),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_read_whole_and_others_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let large = LARGE as usize;
        for (len, limit, is_read) in [
            (large - 1, u64::MAX, false),
            (large, u64::MAX, true),
            (large + 1, LARGE + 1, true),
            (large + 1, LARGE, false),
            (large + 12_345, u64::MAX, true),
        ] {
            let content: Vec<u8> = (0..len).map(|at| (at * 31 + len) as u8).collect();
            std::fs::write(&path, &content).unwrap();
            let limits = Limits { stream_bytes: limit, ..Limits::default() };
            let pages = read(&path, &limits, None).unwrap();
            assert!(pages.map(|pages| pages.to_vec()) == is_read.then_some(content), "{len} bytes");
        }
        assert!(read(folder.path(), &Limits::default(), None).unwrap().is_none());
        assert!(read(&folder.path().join("none"), &Limits::default(), None).is_err());
    }
}
