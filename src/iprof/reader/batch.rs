//! Entries that were parsed and judged, in the order of the text.
//!
//! A batch is made without looking at anything but the tables, so several can
//! be made at a time. What is to be said of an entry, and whether its context
//! was there before, waits until its turn comes.

use super::members::Defect;
use super::records::Packing;
use crate::iprof::context::Frame;
use crate::iprof::document::EntryMember;
use crate::iprof::findings::Code;
use crate::iprof::sections::{BranchRow, Records, SectionKind, TypeCount};
use std::ops::Range;

/// What is to be said of an entry, or was done to it.
#[derive(Debug, Clone)]
pub(super) enum Note {
    /// Something is wrong or odd; the position is that in the text that was parsed.
    Finding(Defect),
    /// Because of this, that was done.
    Repair(Code, &'static str),
}

/// What becomes of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is handed on.
    Sound,
    /// A monitor entry with a wrong context, which is right if it stays the only one.
    Stray,
    /// It is left out.
    Dropped,
}

/// One entry of a batch: where its parts end, which begin where those of the one before do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    /// Position of the context in the text that was parsed.
    pub(super) context_at: usize,
    pub(super) frames_end: usize,
    pub(super) records_end: usize,
    /// Whether its context is one, so that it may be another entry's.
    pub(super) is_located: bool,
    /// How many notes come before those about its records.
    pub(super) context_notes_end: usize,
    pub(super) notes_end: usize,
    pub(super) outcome: Outcome,
}

/// How much of a batch is there.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    pub(super) frames: usize,
    pub(super) records: usize,
}

/// Entries of one section.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) steps: Vec<Step>,
    pub(super) frames: Vec<Frame>,
    pub(super) counts: Vec<u64>,
    pub(super) rows: Vec<BranchRow>,
    pub(super) pairs: Vec<TypeCount>,
    /// A key for each entry's context, if such are wanted.
    pub(super) identities: Vec<u128>,
    pub(super) notes: Vec<Note>,
    /// Members of entries that have others than the known ones in their usual order.
    pub(super) members: Vec<(usize, Box<[EntryMember]>)>,
    pub(super) packing: Packing,
    /// A name of 2022 was used.
    pub(super) legacy: bool,
    /// Bytes of the entries that are written as a writer would.
    pub(super) usual_bytes: u64,
    /// Where the entry after the last one begins.
    pub(super) end: usize,
}

impl Batch {
    pub(super) fn clear(&mut self, start: usize) {
        self.steps.clear();
        self.frames.clear();
        self.counts.clear();
        self.rows.clear();
        self.pairs.clear();
        self.identities.clear();
        self.notes.clear();
        self.members.clear();
        (self.packing, self.legacy, self.usual_bytes, self.end) = (Packing::default(), false, 0, start);
    }

    pub(super) fn mark(&self, kind: SectionKind) -> Mark {
        let records = match kind {
            SectionKind::CallCount | SectionKind::Sampling => self.counts.len(),
            SectionKind::Conditional => self.rows.len(),
            _ => self.pairs.len(),
        };
        Mark { frames: self.frames.len(), records }
    }

    /// Takes back what came after a mark.
    pub(super) fn rewind(&mut self, kind: SectionKind, mark: Mark) {
        self.frames.truncate(mark.frames);
        match kind {
            SectionKind::CallCount | SectionKind::Sampling => self.counts.truncate(mark.records),
            SectionKind::Conditional => self.rows.truncate(mark.records),
            _ => self.pairs.truncate(mark.records),
        }
    }

    pub(super) fn finding(&mut self, defect: Defect) {
        self.notes.push(Note::Finding(defect));
    }

    pub(super) fn repair(&mut self, code: Code, action: &'static str) {
        self.notes.push(Note::Repair(code, action));
    }

    /// The records of an entry that is not dropped.
    #[inline]
    pub(super) fn records(&self, kind: SectionKind, range: Range<usize>) -> Records<'_> {
        match kind {
            SectionKind::CallCount | SectionKind::Sampling => Records::Count(self.counts[range.start]),
            SectionKind::Conditional => Records::Branches(&self.rows[range]),
            _ => Records::Types(&self.pairs[range]),
        }
    }

    /// The outermost frames of a range of entries.
    pub(super) fn outermost(&self, steps: Range<usize>) -> impl Iterator<Item = Frame> + Clone {
        self.steps[steps].iter().filter_map(|step| self.frames.get(step.frames_end.checked_sub(1)?).copied())
    }
}
