//! The profile sections: what each holds, and its entries.

use crate::iprof::context::ContextHandle;
use crate::iprof::tables::TypeHandle;

/// The largest count of an iprof file: Java's `long` is signed.
pub const MAX_COUNT: u64 = i64::MAX as u64;

/// A profile section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SectionKind {
    /// The number of calls of each method, by context.
    CallCount,
    /// Which way branches went.
    Conditional,
    /// Run-time classes of receivers.
    VirtualInvoke,
    /// Which types were synchronized on, over the whole run.
    Monitor,
    /// The number of samples of each stack.
    Sampling,
    /// Run-time classes of values that were tested (1.1).
    Instanceof,
}

impl SectionKind {
    /// All kinds, in the order in which new files are written.
    pub const ALL: &'static [Self] = &Self::EACH;

    pub(crate) const EACH: [Self; 6] =
        [Self::CallCount, Self::Conditional, Self::VirtualInvoke, Self::Monitor, Self::Sampling, Self::Instanceof];

    /// The documented name of the top-level member.
    pub fn name(self) -> &'static str {
        match self {
            Self::CallCount => "callCountProfiles",
            Self::Conditional => "conditionalProfiles",
            Self::VirtualInvoke => "virtualInvokeProfiles",
            Self::Monitor => "monitorProfiles",
            Self::Sampling => "samplingProfiles",
            Self::Instanceof => "instanceofProfiles",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// An entry with one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountEntry {
    /// Where.
    pub context: ContextHandle,
    /// The count; at most [`MAX_COUNT`].
    pub count: u64,
}

/// One way out of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BranchRow {
    /// The producer's number of the target: rows of one index have one target.
    /// Not unique, and no key together with the BCI either.
    pub index: u32,
    /// Bytecode index of the target, or a placeholder.
    pub bci: i32,
    /// The count; at most [`MAX_COUNT`].
    pub count: u64,
}

/// The count of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TypeCount {
    /// The exact run-time class.
    pub class: TypeHandle,
    /// The count; at most [`MAX_COUNT`].
    pub count: u64,
}

/// Entries with any number of rows each, in the order of the file.
#[derive(Debug, Clone)]
pub struct RowSection<R> {
    contexts: Vec<ContextHandle>,
    ends: Vec<usize>,
    rows: Vec<R>,
}

impl<R> Default for RowSection<R> {
    fn default() -> Self {
        Self { contexts: Vec::new(), ends: Vec::new(), rows: Vec::new() }
    }
}

impl<R: Copy, L: AsRef<[R]>> FromIterator<(ContextHandle, L)> for RowSection<R> {
    fn from_iter<I: IntoIterator<Item = (ContextHandle, L)>>(entries: I) -> Self {
        let mut section = Self::default();
        entries.into_iter().for_each(|(context, rows)| section.push(context, rows.as_ref()));
        section
    }
}

impl<R: Copy> RowSection<R> {
    /// Appends an entry.
    pub fn push(&mut self, context: ContextHandle, rows: &[R]) {
        self.rows.extend_from_slice(rows);
        self.ends.push(self.rows.len());
        self.contexts.push(context);
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.contexts.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.contexts.is_empty()
    }

    /// The entries: context and rows.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (ContextHandle, &[R])> + '_ {
        (0..self.len()).map(|at| self.entry(at))
    }

    /// One entry.
    ///
    /// # Panics
    ///
    /// When `at` is not below [`len`](Self::len).
    pub fn entry(&self, at: usize) -> (ContextHandle, &[R]) {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        (self.contexts[at], &self.rows[start..self.ends[at]])
    }

    /// The rows of one entry, to be changed.
    pub(crate) fn rows_mut(&mut self, at: usize) -> &mut [R] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &mut self.rows[start..self.ends[at]]
    }

    /// Returns the selected entries.
    fn selected(&self, kept: &[bool]) -> Self {
        self.iter().zip(kept).filter(|(_, kept)| **kept).map(|(entry, _)| entry).collect()
    }

    fn rename_contexts(&mut self, context: impl Fn(ContextHandle) -> ContextHandle) {
        self.contexts.iter_mut().for_each(|at| *at = context(*at));
    }

    /// All rows of all entries.
    pub fn rows(&self) -> &[R] {
        &self.rows
    }
}

/// The counts of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Records<'a> {
    /// Calls or samples.
    Count(u64),
    /// The ways out of a branch.
    Branches(&'a [BranchRow]),
    /// Types of objects.
    Types(&'a [TypeCount]),
}

impl Records<'_> {
    /// Returns the number of rows; a count is one row.
    pub fn len(self) -> usize {
        match self {
            Self::Count(_) => 1,
            Self::Branches(rows) => rows.len(),
            Self::Types(pairs) => pairs.len(),
        }
    }

    /// Whether it counts nothing: it has no rows.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The sum of its counts.
    pub fn events(self) -> u128 {
        match self {
            Self::Count(count) => count.into(),
            Self::Branches(rows) => rows.iter().map(|row| u128::from(row.count)).sum(),
            Self::Types(pairs) => pairs.iter().map(|pair| u128::from(pair.count)).sum(),
        }
    }
}

/// All sections of a document. A section that is absent from the file is empty here.
#[derive(Debug, Clone, Default)]
pub struct Sections {
    /// The number of calls of each method; leaf positions are 0.
    pub call_counts: Vec<CountEntry>,
    /// Which way branches went.
    pub conditionals: RowSection<BranchRow>,
    /// Receivers of virtual calls.
    pub virtual_invokes: RowSection<TypeCount>,
    /// Types used for synchronization; the entries' context is [`ContextHandle::ROOT`].
    pub monitors: RowSection<TypeCount>,
    /// The number of samples of each stack.
    pub samples: Vec<CountEntry>,
    /// Values tested by `instanceof`.
    pub instanceofs: RowSection<TypeCount>,
}

impl Sections {
    /// One entry.
    ///
    /// # Panics
    ///
    /// When the section has no such entry.
    pub fn entry(&self, kind: SectionKind, at: usize) -> (ContextHandle, Records<'_>) {
        if let Some(entries) = self.counts(kind) {
            return (entries[at].context, Records::Count(entries[at].count));
        }
        if let Some(section) = self.types(kind) {
            let (context, pairs) = section.entry(at);
            return (context, Records::Types(pairs));
        }
        let (context, rows) = self.conditionals.entry(at);
        (context, Records::Branches(rows))
    }

    /// The entries of a section, in order.
    pub fn entries(&self, kind: SectionKind) -> impl ExactSizeIterator<Item = (ContextHandle, Records<'_>)> {
        (0..self.entries_count(kind)).map(move |at| self.entry(kind, at))
    }

    /// Keeps the selected entries of a section, and returns which they are.
    pub(crate) fn retain(
        &mut self,
        kind: SectionKind,
        mut is_wanted: impl FnMut(ContextHandle, Records<'_>) -> bool,
    ) -> Vec<bool> {
        let kept: Vec<bool> = self.entries(kind).map(|(context, records)| is_wanted(context, records)).collect();
        if let Some(entries) = self.counts_mut(kind) {
            let mut kept = kept.iter();
            entries.retain(|_| kept.next() == Some(&true));
        } else if let Some(section) = self.types_mut(kind) {
            *section = section.selected(&kept);
        } else {
            self.conditionals = self.conditionals.selected(&kept);
        }
        kept
    }

    /// Appends an entry to a section of its kind; any other records are not taken.
    pub(crate) fn push(&mut self, kind: SectionKind, context: ContextHandle, records: Records<'_>) {
        match records {
            Records::Count(count) => {
                if let Some(entries) = self.counts_mut(kind) {
                    entries.push(CountEntry { context, count });
                }
            }
            Records::Branches(rows) => self.conditionals.push(context, rows),
            Records::Types(pairs) => {
                if let Some(section) = self.types_mut(kind) {
                    section.push(context, pairs);
                }
            }
        }
    }

    /// Returns the number of entries of a section.
    pub fn entries_count(&self, kind: SectionKind) -> usize {
        let counts = self.counts(kind).map(<[_]>::len);
        counts.or(self.types(kind).map(RowSection::len)).unwrap_or_else(|| self.conditionals.len())
    }

    /// Whether no section has an entry.
    pub fn is_empty(&self) -> bool {
        SectionKind::EACH.iter().all(|kind| self.entries_count(*kind) == 0)
    }

    /// Gives contexts and classes the handles they have in rebuilt tables.
    pub(crate) fn rename(
        &mut self,
        context: impl Fn(ContextHandle) -> ContextHandle,
        class: impl Fn(TypeHandle) -> TypeHandle,
    ) {
        for entry in self.call_counts.iter_mut().chain(&mut self.samples) {
            entry.context = context(entry.context);
        }
        self.conditionals.rename_contexts(&context);
        for section in [&mut self.virtual_invokes, &mut self.monitors, &mut self.instanceofs] {
            section.rename_contexts(&context);
            section.rows.iter_mut().for_each(|pair| pair.class = class(pair.class));
        }
    }

    /// The sections that count types, which have one shape.
    ///
    /// `None` for the others.
    pub fn types(&self, kind: SectionKind) -> Option<&RowSection<TypeCount>> {
        match kind {
            SectionKind::VirtualInvoke => Some(&self.virtual_invokes),
            SectionKind::Monitor => Some(&self.monitors),
            SectionKind::Instanceof => Some(&self.instanceofs),
            _ => None,
        }
    }

    /// Returns the mutable entries of [`types`](Self::types).
    pub(crate) fn types_mut(&mut self, kind: SectionKind) -> Option<&mut RowSection<TypeCount>> {
        match kind {
            SectionKind::VirtualInvoke => Some(&mut self.virtual_invokes),
            SectionKind::Monitor => Some(&mut self.monitors),
            SectionKind::Instanceof => Some(&mut self.instanceofs),
            _ => None,
        }
    }

    /// The sections of one number an entry.
    ///
    /// `None` for the others.
    pub fn counts(&self, kind: SectionKind) -> Option<&[CountEntry]> {
        match kind {
            SectionKind::CallCount => Some(&self.call_counts),
            SectionKind::Sampling => Some(&self.samples),
            _ => None,
        }
    }

    /// Returns the mutable entries of [`counts`](Self::counts).
    pub(crate) fn counts_mut(&mut self, kind: SectionKind) -> Option<&mut Vec<CountEntry>> {
        match kind {
            SectionKind::CallCount => Some(&mut self.call_counts),
            SectionKind::Sampling => Some(&mut self.samples),
            _ => None,
        }
    }
}
