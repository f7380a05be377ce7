//! Profiles of one family, read for a report or a flame graph.

use crate::call_chains::{StackTable, Unit};
use crate::error::Warning;
use crate::hint::Hint;
use crate::instr::InstrContent;
use crate::iprof::{self, IprofContent, SectionKind};
use crate::memprof::{self, MemoryContent};
use crate::render::Report;
use crate::sampleprof::{self, SampleContent};
use crate::stacks;

/// The content of the inputs, by family.
#[derive(Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "a command has only one")]
pub enum Content {
    /// LLVM instrumentation profiles, which have no stacks.
    Instr(InstrContent),
    /// An iprof.
    Iprof(IprofContent),
    /// Memory profiles.
    Memory(MemoryContent),
    /// LLVM sample profiles.
    Samples(SampleContent),
    /// Sources of stacks.
    Stacks(StackTable),
}

/// A content, and warnings about the inputs.
pub(crate) type Drawn = (Content, Vec<Warning>);

impl Content {
    /// Returns its stacks and their unit. For an iprof, these are its samples, or its calls if it has no samples.
    /// `None` for a family without stacks.
    pub(crate) fn stacks(&self) -> Option<(&StackTable, &'static str)> {
        match self {
            Self::Instr(_) => None,
            Self::Iprof(iprof) => {
                let has_samples = iprof.document.sections.entries_count(SectionKind::Sampling) > 0;
                Some(if has_samples { (&iprof.samples, "hits") } else { (&iprof.calls, "calls") })
            }
            Self::Memory(memory) => Some((&memory.table, memory.unit.word())),
            Self::Samples(samples) => Some((&samples.table, "samples")),
            Self::Stacks(table) => Some((table, table.unit().map_or("hits", Unit::word))),
        }
    }

    /// The content with other stacks; a content without stacks stays unchanged.
    #[must_use]
    pub(crate) fn map_stacks(mut self, map: impl Fn(&StackTable) -> StackTable) -> Self {
        match &mut self {
            Self::Instr(_) => {}
            Self::Iprof(iprof) => (iprof.samples, iprof.calls) = (map(&iprof.samples), map(&iprof.calls)),
            Self::Memory(memory) => memory.table = map(&memory.table),
            Self::Samples(samples) => samples.table = map(&samples.table),
            Self::Stacks(table) => *table = map(table),
        }
        self
    }

    /// The report, perhaps against a baseline; `None` if the baseline is of another family.
    pub(crate) fn report_with(&self, title: &str, baseline: Option<&Self>) -> Option<Report> {
        Some(match (self, baseline) {
            (Self::Instr(now), None) => now.report(title, None),
            (Self::Instr(now), Some(Self::Instr(old))) => now.report(title, Some(old)),
            (Self::Iprof(now), None) => iprof::report(title, now, None),
            (Self::Iprof(now), Some(Self::Iprof(old))) => iprof::report(title, now, Some(old)),
            (Self::Memory(now), None) => memprof::draw_report(title, now, None),
            (Self::Memory(now), Some(Self::Memory(old))) => memprof::draw_report(title, now, Some(old)),
            (Self::Samples(now), None) => sampleprof::report(title, now, None),
            (Self::Samples(now), Some(Self::Samples(old))) => sampleprof::report(title, now, Some(old)),
            (Self::Stacks(now), None) => stacks::report(title, now, None),
            (Self::Stacks(now), Some(Self::Stacks(old))) => stacks::report(title, now, Some(old)),
            // The samples of an iprof are a baseline as well.
            (Self::Stacks(now), Some(Self::Iprof(old))) if !old.samples.is_empty() => {
                stacks::report(title, now, Some(&old.samples))
            }
            _ => return None,
        })
    }

    /// Returns the hint for a content without stacks to draw.
    pub(crate) fn hint(&self) -> Hint {
        match self {
            Self::Iprof(iprof) if !iprof.document.sections.is_empty() => Hint::ReportBranches,
            _ => "the input has no samples and no call counts that match the options".into(),
        }
    }
}
