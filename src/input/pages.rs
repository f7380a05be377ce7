//! Reading large files into large memory pages.

use super::file::open_file;
use super::system_calls::{Step, step};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::memory::{self, Pages, large_pages};
use crate::system;
use crate::threads;
use std::fs::File;
use std::io;
use std::path::Path;

/// The minimum size of a large file.
const LARGE: u64 = memory::LARGE as u64;

/// Reads a large file with up to `threads` threads, into the memory `used` of an earlier file if that is large enough.
/// Returns `None` for inputs that must be read normally: small files, files that exceed the limit or change, and paths
/// that are not files. Pipes are not passed here, because opening one would consume it.
///
/// # Errors
///
/// I/O errors with the path.
///
/// I/O errors with the path.
pub(super) fn read(path: &Path, limits: &Limits, threads: usize, used: Option<Pages>) -> Result<Option<Pages>> {
    let file = open_file(path)?;
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    if !(LARGE..=limits.stream_bytes).contains(&size) {
        return Ok(None);
    }
    let Ok(len) = usize::try_from(size) else { return Ok(None) };
    let used = used.map(Pages::into_memory).filter(|memory| memory.len() >= len);
    let Some(mut memory) = used.or_else(|| large_pages(len)) else { return Ok(None) };
    let read = read_parts(&file, &mut memory[..len], threads).and_then(|whole| Ok(whole && is_end(&file, size)?));
    match read {
        Ok(true) => Ok(Some(Pages::new(memory, len))),
        Ok(false) => Ok(None),
        Err(source) => Err(Error::io("cannot read", source).in_file(path)),
    }
}

/// Fills `memory` from the beginning of a file, with a part for each thread: most of the time is needed for clearing
/// pages and copying, which threads can share. Returns false if the file ends earlier.
fn read_parts(file: &File, memory: &mut [u8], threads: usize) -> io::Result<bool> {
    let part = memory.len().div_ceil(threads.max(1)).max(PART);
    let parts = memory.chunks_mut(part).zip((0u64..).step_by(part));
    let read = threads::share(parts, |(memory, offset)| read_at(file, memory, offset));
    read.into_iter().try_fold(true, |whole, part| Ok(part? && whole))
}

/// The minimum number of bytes per thread.
const PART: usize = 4 << 20;

/// Fills `memory` from an offset of a file. Returns false if the file ends earlier.
pub(super) fn read_at(file: &File, mut memory: &mut [u8], mut offset: u64) -> io::Result<bool> {
    while !memory.is_empty() {
        match step(Step::Read, || system::read_at(file, memory, offset)) {
            Ok(0) => return Ok(false),
            Ok(read) => {
                memory = &mut memory[read..];
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn is_end(file: &File, size: u64) -> io::Result<bool> {
    let mut more = [0];
    Ok(!read_at(file, &mut more, size)?)
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
            (3 * large + 7, u64::MAX, true),
        ] {
            let content: Vec<u8> = (0..len).map(|at| (at * 31 + len) as u8).collect();
            std::fs::write(&path, &content).unwrap();
            let limits = Limits { stream_bytes: limit, ..Limits::default() };
            let whole = |threads| read(&path, &limits, threads, None).unwrap().map(|pages| pages.to_vec());
            for threads in [1, 2, 5] {
                assert!(whole(threads) == is_read.then(|| content.clone()), "{len} bytes");
            }
            let refused = threads::refusal::after(1, || whole(5));
            assert!(refused == is_read.then(|| content.clone()), "{len} bytes without threads");
        }
        assert!(read(folder.path(), &Limits::default(), 2, None).unwrap().is_none());
        assert!(read(&folder.path().join("none"), &Limits::default(), 2, None).is_err());
    }
}
