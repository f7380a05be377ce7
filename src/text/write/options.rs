//! How a profile is written as text.

use crate::compat::Compat;
use crate::model::{ProfileKind, Release, Selection, ValueKind};
use std::num::NonZeroUsize;

/// How a profile is written as text.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TextOptions<'a> {
    /// Which functions are written.
    pub selection: Selection<'a>,
    /// Whether LLVM's faults are mended; see [`Compat::fixes_text_output`].
    pub compat: Compat,
    /// The release that has to read it; older ones know fewer parts.
    pub release: Release,
    /// Threads that write; `None` is one. The text does not depend on it.
    pub threads: Option<NonZeroUsize>,
}

impl<'a> TextOptions<'a> {
    /// Everything, by the rules of `compat`, for release 22.
    pub fn new(compat: Compat) -> Self {
        Self { compat, ..Self::default() }
    }

    /// Writes only what `selection` keeps.
    #[must_use]
    pub fn selection(mut self, selection: Selection<'a>) -> Self {
        self.selection = selection;
        self
    }

    /// Leaves out what a release does not know.
    #[must_use]
    pub fn release(mut self, release: Release) -> Self {
        self.release = release;
        self
    }

    /// Writes with several threads.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    pub(super) fn has_bitmaps(&self) -> bool {
        self.release >= Release(18)
    }

    pub(super) fn has_traces(&self) -> bool {
        self.release >= Release(17)
    }

    pub(super) fn value_kinds(&self) -> &'static [ValueKind] {
        if self.release >= Release(19) { &ValueKind::ALL } else { &ValueKind::ALL[..2] }
    }

    /// Kinds that have a header line of their own, with its two lines.
    pub(super) fn flags(&self) -> impl Iterator<Item = (ProfileKind, &'static str)> {
        const FLAGS: [(ProfileKind, u32, &str); 3] = [
            (ProfileKind::ENTRY_FIRST, 12, "# Always instrument the function entry block\n:entry_first\n"),
            (ProfileKind::LOOP_ENTRIES, 20, "# Always instrument the loop entry blocks\n:instrument_loop_entries\n"),
            (ProfileKind::BYTE_COVERAGE, 18, "# Instrument block coverage\n:single_byte_coverage\n"),
        ];
        let release = self.release;
        FLAGS.into_iter().filter(move |(_, since, _)| release >= Release(*since)).map(|(kind, _, lines)| (kind, lines))
    }
}
