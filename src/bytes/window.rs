//! A piece of an input that moves from its beginning to its end.
//!
//! Whoever goes through a large file once need not hold it: memory that is used
//! again and again is cleared once, and stays near the processor.

use crate::error::Result;
use crate::memory::{self, HOLD_INPUT};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// Bytes read at a time.
const CHUNK: usize = 1 << 18;

/// Bytes that are read piece by piece, and have to stay as they are meanwhile: else what is read could be the
/// beginning of one file and the end of another.
pub(crate) trait Steady: Debug + Send + Sync {
    /// How many there are.
    fn len(&self) -> u64;

    /// Fills `memory` with what stands from `offset` on.
    ///
    /// # Errors
    ///
    /// I/O, also where they end before, and so have changed.
    fn read(&self, memory: &mut [u8], offset: u64) -> Result<()>;

    /// Whether they are what they were at first, as far as the system tells.
    ///
    /// # Errors
    ///
    /// I/O where they have changed.
    fn check(&self) -> Result<()>;
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
    file: Arc<dyn Steady>,
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
    pub(crate) fn of_file(file: Arc<dyn Steady>, part: Range<u64>) -> Self {
        Self::in_chunks(file, part, CHUNK)
    }

    /// As [`of_file`](Self::of_file), with so many bytes read at a time.
    pub(crate) fn in_chunks(file: Arc<dyn Steady>, part: Range<u64>, chunk: usize) -> Self {
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

    #[derive(Debug)]
    struct Memory(Vec<u8>);

    impl Steady for Memory {
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
