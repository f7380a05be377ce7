//! A window of an input that moves from its beginning to its end.
//!
//! A reader of a large file need not hold all of it: memory that is used
//! again and again is cleared once, and stays near the processor.

use crate::error::Result;
use crate::memory::{self, HOLD_INPUT};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a file that are read at a time.
const CHUNK: usize = 1 << 18;

/// A source that is read in chunks and must not change during the read. Otherwise the result could be the start of one
/// file and the end of another.
pub(crate) trait StableSource: Debug + Send + Sync {
    /// The number of bytes.
    fn len(&self) -> u64;

    /// Fills `memory` with the bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// I/O, also if the bytes end earlier, which means that the file has changed.
    fn read(&self, memory: &mut [u8], offset: u64) -> Result<()>;

    /// Checks that the bytes have not changed, as far as the system reports it.
    ///
    /// # Errors
    ///
    /// I/O if they have changed.
    fn check(&self) -> Result<()>;
}

/// The source of a window's bytes, read from front to back.
pub(crate) trait ByteSource {
    /// The most bytes after `offset`, the end of the bytes read; 0 at the end.
    fn left(&self, offset: u64) -> u64;

    /// Fills `memory` with the bytes from `offset` on and counts them. Fills less than all only at the end.
    ///
    /// # Errors
    ///
    /// I/O; counted bytes are valid anyway.
    fn fill(&mut self, memory: &mut [u8], offset: u64, filled: &mut usize) -> Result<()>;
}

/// A part of a file.
#[derive(Debug)]
pub(crate) struct FilePart {
    file: Arc<dyn StableSource>,
    /// The end in the file.
    end: u64,
}

impl ByteSource for FilePart {
    fn left(&self, offset: u64) -> u64 {
        self.end - offset
    }

    fn fill(&mut self, memory: &mut [u8], offset: u64, filled: &mut usize) -> Result<()> {
        self.file.read(memory, offset)?;
        *filled += memory.len();
        if offset + memory.len() as u64 == self.end { self.file.check() } else { Ok(()) }
    }
}

/// A window of bytes that are read once, from front to back.
#[derive(Debug)]
pub(crate) struct Window<'data, F = FilePart> {
    source: Source<'data, F>,
    /// Offset in the file of the view's first byte.
    base: u64,
    /// Position in the view of the first byte that was not passed.
    passed: usize,
}

#[derive(Debug)]
enum Source<'data, F> {
    /// All is in view.
    Slice(&'data [u8]),
    Fed(Pieces<F>),
}

#[derive(Debug)]
struct Pieces<F> {
    feed: F,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were read.
    filled: usize,
    chunk: usize,
}

impl<'data> Window<'data> {
    /// Creates a window of a part of a file. Nothing is read yet.
    pub(crate) fn of_file(file: Arc<dyn StableSource>, part: Range<u64>) -> Self {
        Self::in_chunks(file, part, CHUNK)
    }

    /// Like [`of_file`](Self::of_file), but reads `chunk` bytes at a time.
    pub(crate) fn in_chunks(file: Arc<dyn StableSource>, part: Range<u64>, chunk: usize) -> Self {
        Self::fed(FilePart { file, end: part.end }, part.start, chunk)
    }

    /// A window of the same bytes from the first one on, which is at `start`.
    pub(crate) fn again(&self, start: u64) -> Self {
        match &self.source {
            Source::Slice(data) => Self::over(data, start),
            Source::Fed(Pieces { feed, chunk, .. }) => Self::in_chunks(Arc::clone(&feed.file), start..feed.end, *chunk),
        }
    }
}

impl<'data, F: ByteSource> Window<'data, F> {
    /// A window of bytes in memory that begin at byte `base` of the file.
    pub(crate) fn over(data: &'data [u8], base: u64) -> Self {
        Self { source: Source::Slice(data), base, passed: 0 }
    }

    /// Creates a window of a source whose first byte is `base`. It reads `chunk` bytes at a time. Nothing is read yet.
    pub(crate) fn fed(feed: F, base: u64, chunk: usize) -> Self {
        Self { source: Source::Fed(Pieces { feed, buffer: Vec::new(), filled: 0, chunk }), base, passed: 0 }
    }

    /// Returns the bytes in memory, passed ones included.
    #[inline]
    pub(crate) fn view(&self) -> &[u8] {
        match &self.source {
            Source::Slice(data) => data,
            Source::Fed(pieces) => &pieces.buffer[..pieces.filled],
        }
    }

    /// Returns the bytes in memory that were not passed.
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

    /// Returns true if the view reaches the end of the source.
    pub(crate) fn is_last(&self) -> bool {
        match &self.source {
            Source::Slice(_) => true,
            Source::Fed(pieces) => pieces.feed.left(self.base + pieces.filled as u64) == 0,
        }
    }

    /// Drops the processed bytes and reads more. Returns false at the end of the source.
    ///
    /// # Errors
    ///
    /// I/O, also for a file that changes, and if memory runs out.
    pub(crate) fn more(&mut self) -> Result<bool> {
        if self.is_last() {
            return Ok(false);
        }
        self.drop_passed();
        self.read_on()
    }

    /// Drops the processed bytes of a source that is read in chunks. Returns their number.
    pub(crate) fn drop_passed(&mut self) -> usize {
        let Source::Fed(pieces) = &mut self.source else { return 0 };
        pieces.buffer.copy_within(self.passed..pieces.filled, 0);
        self.base += self.passed as u64;
        pieces.filled -= self.passed;
        std::mem::take(&mut self.passed)
    }

    /// Reads the bytes after the view. Returns false at the end.
    ///
    /// # Errors
    ///
    /// As [`more`](Self::more).
    pub(crate) fn read_on(&mut self) -> Result<bool> {
        let Source::Fed(Pieces { feed, buffer, filled, chunk }) = &mut self.source else { return Ok(false) };
        let offset = self.base + *filled as u64;
        // Doubling keeps the work of looking at a long item again in proportion to its length.
        let wanted = ((*chunk).max(*filled) as u64).min(feed.left(offset)) as usize;
        let needed = *filled + wanted;
        let missing = needed.saturating_sub(buffer.len());
        if missing > 0 {
            memory::reserve(buffer, missing, HOLD_INPUT)?;
            buffer.resize(needed, 0);
        }
        let known = *filled;
        feed.fill(&mut buffer[known..needed], offset, filled)?;
        Ok(*filled > known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug)]
    struct Memory(Vec<u8>);

    impl StableSource for Memory {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read(&self, memory: &mut [u8], offset: u64) -> Result<()> {
            memory.copy_from_slice(&self.0[offset as usize..][..memory.len()]);
            Ok(())
        }

        fn check(&self) -> Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn every_byte_is_in_view_once(
            len in 0usize..200, start in 0usize..50, chunk in 1usize..40, steps in prop::collection::vec(0usize..60, 1..20),
        ) {
            let content: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let start = start.min(len);
            let file = Arc::new(Memory(content.clone()));
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
}
