//! A piece of an input that moves from its beginning to its end.
//!
//! Whoever goes through a large file once need not hold it: memory that is used
//! again and again is cleared once, and stays near the processor.

use super::file::open_file;
use super::pages::read_at;
use crate::error::{Error, Result};
use crate::memory::{self, HOLD_INPUT};
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// Bytes read at a time.
const CHUNK: usize = 1 << 18;

/// A file that has to stay as it is while it is read piece by piece: else what
/// is read could be the beginning of one file and the end of another.
#[derive(Debug)]
pub(crate) struct SteadyFile {
    file: File,
    len: u64,
    modified: Option<SystemTime>,
}

impl SteadyFile {
    /// Opens a file; `None` for what is none, such as a folder.
    ///
    /// # Errors
    ///
    /// I/O errors with the path.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>> {
        let file = open_file(path)?;
        let Some(found) = file.metadata().ok().filter(Metadata::is_file) else { return Ok(None) };
        Ok(Some(Self { file, len: found.len(), modified: found.modified().ok() }))
    }

    /// Its length, when it was opened as later.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Fills `memory` with what stands from `offset` on.
    ///
    /// # Errors
    ///
    /// I/O; a file that ends before has changed.
    pub(crate) fn read(&self, memory: &mut [u8], offset: u64) -> Result<()> {
        let is_filled = read_at(&self.file, memory, offset).map_err(|source| Error::io("cannot read", source))?;
        if is_filled { Ok(()) } else { Err(changed()) }
    }

    /// Whether the file is the one that was opened, as far as the system tells.
    ///
    /// # Errors
    ///
    /// I/O for one that has changed.
    fn check(&self) -> Result<()> {
        let found = self.file.metadata().map_err(|source| Error::io("cannot read", source))?;
        let is_same = found.len() == self.len && found.modified().ok() == self.modified;
        if is_same { Ok(()) } else { Err(changed()) }
    }
}

fn changed() -> Error {
    let error = Error::io("cannot read", io::Error::other("the file changed while it was read"));
    error.with_hint("is it still being written?")
}

/// Bytes that are gone through once, of which a piece is in view.
#[derive(Debug)]
pub(crate) struct Window<'data> {
    source: Source<'data>,
    /// Offset in the file of the view's first byte.
    base: u64,
    /// Position in the view of the first byte that was not passed.
    passed: usize,
}

#[derive(Debug)]
enum Source<'data> {
    /// All is in view.
    Slice(&'data [u8]),
    File(Pieces),
}

#[derive(Debug)]
struct Pieces {
    file: Arc<SteadyFile>,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    filled: usize,
    /// Where the last piece ends in the file.
    end: u64,
    chunk: usize,
}

impl<'data> Window<'data> {
    /// Over bytes in memory, which begin at byte `base` of the file.
    pub(crate) fn over(data: &'data [u8], base: u64) -> Self {
        Self { source: Source::Slice(data), base, passed: 0 }
    }

    /// Over a part of a file, of which nothing is in view yet.
    pub(crate) fn of_file(file: Arc<SteadyFile>, part: Range<u64>) -> Self {
        Self::in_chunks(file, part, CHUNK)
    }

    /// As [`of_file`](Self::of_file), with so many bytes read at a time.
    pub(crate) fn in_chunks(file: Arc<SteadyFile>, part: Range<u64>, chunk: usize) -> Self {
        let pieces = Pieces { file, buffer: Vec::new(), filled: 0, end: part.end, chunk };
        Self { source: Source::File(pieces), base: part.start, passed: 0 }
    }

    /// A window of the same bytes from the first one on, which is at `start`.
    pub(crate) fn again(&self, start: u64) -> Self {
        match &self.source {
            Source::Slice(data) => Self::over(data, start),
            Source::File(pieces) => Self::in_chunks(Arc::clone(&pieces.file), start..pieces.end, pieces.chunk),
        }
    }

    /// What is in memory, with what was passed of it.
    #[inline]
    pub(crate) fn view(&self) -> &[u8] {
        match &self.source {
            Source::Slice(data) => data,
            Source::File(pieces) => &pieces.buffer[..pieces.filled],
        }
    }

    /// What is in memory and was not passed.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.view()[self.passed..]
    }

    /// Offset in the file of the view's first byte.
    #[inline]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Number of bytes in view that were passed.
    #[inline]
    pub(crate) fn passed(&self) -> usize {
        self.passed
    }

    /// Passes bytes that are in view.
    #[inline]
    pub(crate) fn pass(&mut self, len: usize) {
        self.passed += len;
    }

    /// Whether nothing follows what is in view.
    pub(crate) fn is_last(&self) -> bool {
        match &self.source {
            Source::Slice(_) => true,
            Source::File(pieces) => self.base + pieces.filled as u64 == pieces.end,
        }
    }

    /// Drops what was passed and reads on; `false` when nothing follows.
    ///
    /// # Errors
    ///
    /// I/O, also for a file that changes; where memory does not hold what is in view.
    pub(crate) fn more(&mut self) -> Result<bool> {
        if self.is_last() {
            return Ok(false);
        }
        let Source::File(pieces) = &mut self.source else { return Ok(false) };
        pieces.buffer.copy_within(self.passed..pieces.filled, 0);
        self.base += self.passed as u64;
        pieces.filled -= self.passed;
        self.passed = 0;
        pieces.read_on(self.base)?;
        Ok(true)
    }
}

impl Pieces {
    /// Reads on behind what is in the buffer, which begins at byte `base` of the file.
    fn read_on(&mut self, base: u64) -> Result<()> {
        let offset = base + self.filled as u64;
        // Doubling keeps the work of looking at a long item again in proportion to its length.
        let wanted = (self.chunk.max(self.filled) as u64).min(self.end - offset) as usize;
        let needed = self.filled + wanted;
        let missing = needed.saturating_sub(self.buffer.len());
        if missing > 0 {
            memory::reserve(&mut self.buffer, missing, HOLD_INPUT)?;
            self.buffer.resize(needed, 0);
        }
        self.file.read(&mut self.buffer[self.filled..needed], offset)?;
        self.filled = needed;
        if base + needed as u64 == self.end { self.file.check() } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn steady(content: &[u8]) -> (tempfile::NamedTempFile, Arc<SteadyFile>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let steady = SteadyFile::open(file.path()).unwrap().unwrap();
        (file, Arc::new(steady))
    }

    proptest! {
        #[test]
        fn every_byte_is_in_view_once(
            len in 0usize..200, start in 0usize..50, chunk in 1usize..40, steps in prop::collection::vec(0usize..60, 1..20),
        ) {
            let content: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let start = start.min(len);
            let (_kept, file) = steady(&content);
            let part = start as u64..len as u64;
            for mut window in [Window::in_chunks(file, part, chunk), Window::over(&content[start..], start as u64)] {
                let mut seen = Vec::new();
                for step in steps.iter().cycle() {
                    let step = (*step).min(window.bytes().len());
                    prop_assert_eq!(window.base() + window.passed() as u64, (start + seen.len()) as u64);
                    seen.extend_from_slice(&window.bytes()[..step]);
                    window.pass(step);
                    if !window.more().unwrap() && window.bytes().is_empty() {
                        break;
                    }
                    if steps.iter().all(|step| *step == 0) && window.is_last() {
                        break;
                    }
                }
                seen.extend_from_slice(window.bytes());
                prop_assert!(window.is_last());
                prop_assert_eq!(&seen, &content[start..]);
            }
        }
    }

    #[test]
    fn a_file_that_changes_is_an_error() {
        type Change = fn(&File);
        let changes: [Change; 3] = [
            |file| file.set_len(10).unwrap(),
            |file| file.set_len(101).unwrap(),
            |file| file.set_modified(SystemTime::UNIX_EPOCH).unwrap(),
        ];
        for change in changes {
            let (kept, file) = steady(&[7; 100]);
            let mut window = Window::in_chunks(file, 0..100, 40);
            assert!(window.more().unwrap());
            change(kept.as_file());
            let outcome = window.more().and_then(|_| window.more());
            let error = outcome.unwrap_err();
            assert_eq!(error.to_string(), "cannot read: the file changed while it was read");
        }
    }

    #[test]
    fn folders_are_no_files() {
        assert!(SteadyFile::open(Path::new(".")).unwrap().is_none());
        assert!(SteadyFile::open(Path::new("no/such/file")).is_err());
    }
}
