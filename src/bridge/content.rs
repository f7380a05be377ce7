//! The counts of a document by site, added. Entries of one context and site are added; branch lists of different shapes
//! stay separate. The result does not depend on the order of entries, nor on ids.

use super::record_name::{NamedFrame, push_context, push_stack};
use super::shape::Branch;
use super::spelling::EncodedNames;
use crate::error::{Error, Result};
use crate::iprof::{
    BranchRow, ContextHandle, CountEntry, Document, Frame, MAX_COUNT, MethodHandle, RowSection, SectionKind, TypeCount,
};
use std::collections::{BTreeMap, BTreeSet};

/// Type (as the hash of its name) → count.
pub(super) type TypeCounts = BTreeMap<u64, u64>;

/// Branches in canonical order → the counts of each.
pub(super) type BranchShapes = BTreeMap<Vec<Branch>, Vec<u64>>;

/// Everything counted in one method in one chain of callers; sites by BCI.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ContextCounts {
    pub(super) calls: Option<u64>,
    pub(super) conditionals: BTreeMap<i32, BranchShapes>,
    pub(super) virtual_invokes: BTreeMap<i32, TypeCounts>,
    pub(super) instanceofs: BTreeMap<i32, TypeCounts>,
}

/// The counts of a document.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    /// By the name of the context, see [`push_context`].
    pub(super) contexts: BTreeMap<Vec<u8>, ContextCounts>,
    /// Samples by the name of the stack, see [`push_stack`].
    pub(super) stacks: BTreeMap<Vec<u8>, u64>,
    /// Monitors, when the section has an entry.
    pub(super) monitors: Option<TypeCounts>,
    /// Hashes of the types that occur as values.
    pub(super) value_types: BTreeSet<u64>,
    /// Methods of the document that occur in a name.
    pub(super) named_methods: BTreeSet<MethodHandle>,
    /// Sums that exceeded the largest count.
    pub(super) saturated: u64,
}

/// Adds up what `wanted` lets through.
///
/// # Errors
///
/// Malformed if an entry has a position that its section does not allow.
pub(super) fn gather(
    document: &Document,
    spelling: &EncodedNames,
    wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
) -> Result<Content> {
    let mut gatherer = Gatherer { document, spelling, content: Content::default() };
    let sections = &document.sections;
    gatherer.call_counts(&sections.call_counts, wanted)?;
    gatherer.conditionals(&sections.conditionals, wanted)?;
    gatherer.receivers(SectionKind::VirtualInvoke, &sections.virtual_invokes, wanted, |counts| {
        &mut counts.virtual_invokes
    })?;
    gatherer.receivers(SectionKind::Instanceof, &sections.instanceofs, wanted, |counts| &mut counts.instanceofs)?;
    gatherer.monitors(&sections.monitors, wanted);
    gatherer.samples(&sections.samples, wanted)?;
    Ok(gatherer.content)
}

struct Gatherer<'a> {
    document: &'a Document,
    spelling: &'a EncodedNames,
    content: Content,
}

impl Gatherer<'_> {
    /// The counts of a context's method and callers, and the leaf's BCI.
    fn counts(&mut self, section: SectionKind, context: ContextHandle) -> Result<(&mut ContextCounts, i32)> {
        let frames = self.frames(section, context)?;
        let (leaf, callers) = frames.split_first().expect("frames() refuses contexts without any");
        let mut name = Vec::new();
        push_context(
            &mut name,
            callers.iter().rev().map(|frame| self.named(*frame)),
            self.spelling.method(leaf.method),
        );
        Ok((self.content.contexts.entry(name).or_default(), leaf.bci))
    }

    /// The frames, leaf first; at least one. Notes their methods.
    fn frames(&mut self, section: SectionKind, context: ContextHandle) -> Result<Vec<Frame>> {
        let frames: Vec<Frame> = self.document.contexts.frames(context).collect();
        if frames.is_empty() {
            return Err(Error::malformed("an entry has no context").in_section(section.name()).in_format("iprof"));
        }
        self.content.named_methods.extend(frames.iter().map(|frame| frame.method));
        Ok(frames)
    }

    fn named(&self, frame: Frame) -> NamedFrame<'_> {
        NamedFrame { method: self.spelling.method(frame.method), bci: frame.bci }
    }

    fn call_counts(
        &mut self,
        entries: &[CountEntry],
        wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
    ) -> Result<()> {
        for entry in entries.iter().filter(|entry| wanted(SectionKind::CallCount, entry.context)) {
            let (counts, bci) = self.counts(SectionKind::CallCount, entry.context)?;
            if bci != 0 {
                let error = Error::malformed(format!("a call count at BCI {bci}, expected 0"));
                return Err(error.in_section(SectionKind::CallCount.name()).in_format("iprof"));
            }
            let sum = add(counts.calls.unwrap_or(0), entry.count);
            counts.calls = Some(sum.0);
            self.content.saturated += u64::from(sum.1);
        }
        Ok(())
    }

    fn conditionals(
        &mut self,
        entries: &RowSection<BranchRow>,
        wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
    ) -> Result<()> {
        for (context, rows) in entries.iter().filter(|(context, _)| wanted(SectionKind::Conditional, *context)) {
            let mut rows = rows.to_vec();
            // Stable: rows of one pair are cases of one switch and keep their order.
            rows.sort_by_key(|row| (row.index, row.bci));
            let branches: Vec<Branch> = rows.iter().map(|row| Branch { index: row.index, bci: row.bci }).collect();
            let (counts, bci) = self.counts(SectionKind::Conditional, context)?;
            let shapes = counts.conditionals.entry(bci).or_default();
            let sums = shapes.entry(branches).or_insert_with(|| vec![0; rows.len()]);
            let mut saturated = 0;
            for (sum, row) in sums.iter_mut().zip(&rows) {
                let (total, over) = add(*sum, row.count);
                *sum = total;
                saturated += u64::from(over);
            }
            self.content.saturated += saturated;
        }
        Ok(())
    }

    fn receivers(
        &mut self,
        section: SectionKind,
        entries: &RowSection<TypeCount>,
        wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
        sites: impl Fn(&mut ContextCounts) -> &mut BTreeMap<i32, TypeCounts>,
    ) -> Result<()> {
        for (context, pairs) in entries.iter().filter(|(context, _)| wanted(section, *context)) {
            let spelling = self.spelling;
            let (counts, bci) = self.counts(section, context)?;
            let site = sites(counts).entry(bci).or_default();
            let saturated = add_types(site, pairs, spelling);
            self.note_types(pairs, saturated);
        }
        Ok(())
    }

    fn monitors(&mut self, entries: &RowSection<TypeCount>, wanted: &dyn Fn(SectionKind, ContextHandle) -> bool) {
        for (_, pairs) in entries.iter().filter(|(context, _)| wanted(SectionKind::Monitor, *context)) {
            let site = self.content.monitors.get_or_insert_default();
            let saturated = add_types(site, pairs, self.spelling);
            self.note_types(pairs, saturated);
        }
    }

    fn note_types(&mut self, pairs: &[TypeCount], saturated: u64) {
        self.content.value_types.extend(pairs.iter().map(|pair| self.spelling.type_hash(pair.class)));
        self.content.saturated += saturated;
    }

    fn samples(&mut self, entries: &[CountEntry], wanted: &dyn Fn(SectionKind, ContextHandle) -> bool) -> Result<()> {
        for entry in entries.iter().filter(|entry| wanted(SectionKind::Sampling, entry.context)) {
            let frames = self.frames(SectionKind::Sampling, entry.context)?;
            let mut name = Vec::new();
            push_stack(&mut name, frames.iter().rev().map(|frame| self.named(*frame)));
            let sum = self.content.stacks.entry(name).or_default();
            let (total, over) = add(*sum, entry.count);
            *sum = total;
            self.content.saturated += u64::from(over);
        }
        Ok(())
    }
}

/// Adds as iprof does, and says whether the sum exceeds the largest count.
fn add(a: u64, b: u64) -> (u64, bool) {
    let sum = a.saturating_add(b);
    (sum.min(MAX_COUNT), sum > MAX_COUNT)
}

fn add_types(site: &mut TypeCounts, pairs: &[TypeCount], spelling: &EncodedNames) -> u64 {
    let mut saturated = 0;
    for pair in pairs {
        let sum = site.entry(spelling.type_hash(pair.class)).or_default();
        let (total, over) = add(*sum, pair.count);
        *sum = total;
        saturated += u64::from(over);
    }
    saturated
}
