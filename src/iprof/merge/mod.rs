//! Merging profiles.
//!
//! Ids have no meaning across files: types are equal by name, methods by declaring type, name, return type and
//! parameters, contexts by their frames. *Adding* is commutative and associative: counts are added and saturate, and
//! branch lists with different shapes stay separate. *Resolving*, once at the end, joins the shapes of each site (see
//! [`branches`]). So the order of inputs only affects the order of entries and ids, except with the clash policy
//! [`First`](BranchClash::First). Merging in several steps gives the same result as one merge as long as nothing was
//! resolved ([`Keep`](BranchClash::Keep)).

use crate::cancel::Cancel;
use crate::digits::number_of;
use crate::error::{Error, Result, Warning, WithWarnings};
use crate::hint::Hint;
use crate::iprof::context::{Adoption, ContextHandle, ContextTree, Frame, describe};
use crate::iprof::document::{Document, EntryMember, InstanceofSpelling, Table, TopMember, Version};
use crate::iprof::findings::Findings;
use crate::iprof::read::Reader;
use crate::iprof::reader::{Entry, Reading, Sink};
use crate::iprof::sections::{BranchRow, CountEntry, Records, RowSection, SectionKind, TypeCount};
use crate::iprof::tables::{ImportMode, Mapping, Tables};
pub use branches::BranchClash;
use sites::Sites;
use std::collections::BTreeMap;
use std::sync::Arc;
pub use weight::{SectionTotals, Weight};

pub mod branches;
mod sites;
mod weight;

/// Options of a merge.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// The treatment of inputs that disagree about a branch. Default: [`BranchClash::Heavier`].
    pub branch_clash: BranchClash,
    /// Cancels the merge.
    pub cancel: Cancel,
}

impl MergeOptions {
    /// Returns options with this policy for inputs that disagree about a branch.
    pub(crate) fn resolving(branch_clash: BranchClash) -> Self {
        Self { branch_clash, ..Self::default() }
    }
}

/// The weights of an input: one factor per section.
#[derive(Debug, Clone, Copy, Default)]
pub struct SectionWeights([Weight; SectionKind::EACH.len()]);

impl From<Weight> for SectionWeights {
    fn from(weight: Weight) -> Self {
        Self::uniform(weight)
    }
}

/// An integer weight. 0 counts as 1, because merging an input never drops it.
impl From<u64> for SectionWeights {
    fn from(weight: u64) -> Self {
        Self::uniform(Weight::ratio(weight, 1).unwrap_or_default())
    }
}

impl SectionWeights {
    /// Returns the same weight for all sections.
    pub fn uniform(weight: Weight) -> Self {
        Self([weight; SectionKind::EACH.len()])
    }

    /// Returns for each input its weight, multiplied by a factor that scales the total of each section to the largest
    /// total of all inputs.
    pub(crate) fn normalized(inputs: &[(Weight, SectionTotals)]) -> Vec<Self> {
        let most = |kind: SectionKind| inputs.iter().map(|(_, totals)| totals.of(kind)).max().unwrap_or(0);
        let weights = |(weight, totals): &(Weight, SectionTotals)| {
            Self(SectionKind::EACH.map(|kind| weight.scaled_to(totals.of(kind), most(kind))))
        };
        inputs.iter().map(weights).collect()
    }

    fn of(&self, kind: SectionKind) -> Weight {
        self.0[kind.index()]
    }
}

/// Merges inputs. The memory grows with distinct contexts, not with inputs.
#[derive(Debug, Default)]
pub struct Merger {
    options: MergeOptions,
    /// Shared with the current input as long as both declare the same.
    tables: Arc<Tables>,
    contexts: ContextTree,
    counts: [Sites<CountEntry, Vec<CountEntry>>; 2],
    branches: Sites<BranchRow, RowSection<BranchRow>>,
    types: [Sites<TypeCount, RowSection<TypeCount>>; 3],
    /// The mapped types of the last entry, stored to reuse the memory.
    pairs: Vec<TypeCount>,
    layout: Vec<TopMember>,
    /// Members that are not part of the format. A value is kept if only one input has the member.
    foreign: BTreeMap<Box<[u8]>, Option<Box<[u8]>>>,
    extras: BTreeMap<(Table, usize), Box<[EntryMember]>>,
    version: Option<Version>,
    spelling: InstanceofSpelling,
    inputs: usize,
    /// The number of inputs that declare methods, and the sum of their methods.
    declaring: usize,
    declared: usize,
    dropped_entry_members: u64,
    /// Whether the last entry was not the expected one.
    missed_mapping: bool,
}

fn count_slot(kind: SectionKind) -> usize {
    usize::from(kind == SectionKind::Sampling)
}

fn type_slot(kind: SectionKind) -> usize {
    match kind {
        SectionKind::Monitor => 1,
        SectionKind::Instanceof => 2,
        _ => 0,
    }
}

impl Merger {
    /// Creates a merger without inputs.
    pub fn new(options: MergeOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Adds a document. Its weight is a number, of which 0 counts as 1, a fraction, or one of these per section. Counts
    /// above 2^63-1 saturate, which the report counts.
    ///
    /// # Errors
    ///
    /// Cancelled. A part of the document was added then.
    pub fn add(&mut self, document: &Document, weight: impl Into<SectionWeights>) -> Result<()> {
        let mapping = self.map_tables(&document.tables, None);
        let adoption = Adoption::new(&document.contexts, &mapping.methods);
        self.add_mapped(document, weight.into(), &mapping, Some(adoption))
    }

    /// Like [`add`](Self::add) with the weight 1, but takes over the tables and contexts of the first document if it
    /// declares each type and method once.
    ///
    /// # Errors
    ///
    /// The errors of [`add`](Self::add).
    pub(crate) fn add_owned(&mut self, mut document: Document) -> Result<()> {
        let tables = Arc::new(std::mem::take(&mut document.tables));
        let mapping = self.map_tables(&tables, Some(&tables));
        drop(tables);
        let is_kept = mapping.same && self.contexts.is_empty();
        if is_kept {
            self.contexts = std::mem::take(&mut document.contexts);
        }
        let adoption = (!is_kept).then(|| Adoption::new(&document.contexts, &mapping.methods));
        self.add_mapped(&document, 1.into(), &mapping, adoption)
    }

    /// Adds a document without its tables. Without an adoption, its contexts are already in the merger.
    fn add_mapped(
        &mut self,
        document: &Document,
        weights: SectionWeights,
        mapping: &Mapping,
        mut adoption: Option<Adoption<'_>>,
    ) -> Result<()> {
        for kind in SectionKind::EACH {
            for (at, (context, records)) in document.sections.entries(kind).enumerate() {
                self.options.cancel.check()?;
                let context = match &mut adoption {
                    Some(adoption) => self.contexts.adopt_one(context, adoption),
                    None => context,
                };
                let members = document.extras.get(&(Table::Section(kind), at)).cloned();
                self.add_records(kind, context, records, &weights, mapping, members);
            }
        }
        let extras = document.extras.iter().map(|(place, members)| (*place, members.clone()));
        self.add_frame(document.version, document.instanceof_spelling, &document.layout, extras, mapping);
        Ok(())
    }

    /// Adds a file during the read, with a weight as in [`add`](Self::add).
    ///
    /// # Errors
    ///
    /// The errors of [`Reader::read`]. A part of the file may have been added then, so the merge cannot continue.
    pub fn add_from(&mut self, reader: Reader<'_>, weight: impl Into<SectionWeights>) -> Result<Added> {
        let options = reader.options().clone();
        let mut adding = Adding::new(self, weight.into());
        let mut reading = reader.feed(&mut adding).accepted(&options)?;
        adding.finish(&mut reading);
        let members = reading.layout.iter().filter(|member| matches!(member, TopMember::Other(..))).count();
        let records = reading.valid_entries() + members as u64;
        Ok(Added { findings: reading.findings, records })
    }

    /// Maps types and methods of an input. The first input keeps its ids; types and methods that later inputs add get
    /// new ids.
    fn map_tables(&mut self, tables: &Tables, shared: Option<&Arc<Tables>>) -> Mapping {
        let methods = tables.methods().count();
        self.declaring += usize::from(methods > 0);
        self.declared += methods;
        if let Some(shared) = shared.filter(|_| self.inputs == 0 && self.tables.is_empty() && tables.are_distinct()) {
            self.tables = Arc::clone(shared);
        }
        let shared = std::ptr::eq(tables, &*self.tables);
        if shared || (tables.are_distinct() && tables.is_start_of(&self.tables)) {
            let (types, methods) = (tables.types().collect(), tables.methods().collect());
            return Mapping { types, methods, same: true, renumbered: false };
        }
        let how = if self.inputs == 0 { ImportMode::New } else { ImportMode::Renumbered };
        Arc::make_mut(&mut self.tables).adopt(tables, how)
    }

    fn add_records(
        &mut self,
        kind: SectionKind,
        context: ContextHandle,
        records: Records<'_>,
        weights: &SectionWeights,
        mapping: &Mapping,
        members: Option<Box<[EntryMember]>>,
    ) {
        let weight = weights.of(kind);
        let new = match records {
            Records::Count(count) => {
                self.counts[count_slot(kind)].add(context, &[CountEntry { context, count }], weight)
            }
            Records::Branches(rows) => self.branches.add(context, rows, weight),
            Records::Types(pairs) if mapping.same => self.types[type_slot(kind)].add(context, pairs, weight),
            Records::Types(pairs) => {
                let mapped = |pair: &TypeCount| TypeCount { class: mapping.types[pair.class.index()], ..*pair };
                self.pairs.clear();
                self.pairs.extend(pairs.iter().map(mapped));
                self.types[type_slot(kind)].add(context, &self.pairs, weight)
            }
        };
        if let Some(members) = members {
            match new {
                Some(at) if !mapping.renumbered => drop(self.extras.insert((Table::Section(kind), at), members)),
                _ => self.dropped_entry_members += 1,
            }
        }
    }

    /// Returns the context of an entry's frames. Runs of one program write their entries in the same order, so this
    /// tries the next context of the section first.
    fn context(&mut self, kind: SectionKind, frames: &[Frame], map: impl Fn(&Frame) -> Frame) -> ContextHandle {
        let expected = match kind {
            SectionKind::CallCount | SectionKind::Sampling => self.counts[count_slot(kind)].expected(),
            SectionKind::Conditional => self.branches.expected(),
            _ => self.types[type_slot(kind)].expected(),
        };
        let found = expected.filter(|context| self.contexts.has_frames(*context, frames, &map));
        self.missed_mapping = found.is_none();
        found.unwrap_or_else(|| self.contexts.add_mapped(frames, map))
    }

    /// Adds the data of an input except its tables and entries.
    fn add_frame(
        &mut self,
        version: Version,
        spelling: InstanceofSpelling,
        layout: &[TopMember],
        extras: impl IntoIterator<Item = ((Table, usize), Box<[EntryMember]>)>,
        mapping: &Mapping,
    ) {
        self.inputs += 1;
        self.version = self.version.max(Some(version.released()));
        self.spelling = if self.inputs == 1 { spelling } else { InstanceofSpelling::Documented };
        for member in layout {
            if let TopMember::Other(name, value) = member {
                let value = (!mapping.renumbered).then(|| value.clone());
                if self.foreign.get_mut(name).map(|known| *known = None).is_none() {
                    self.foreign.insert(name.clone(), value);
                    // This stores the position; `finish` adds the value if only one input has the member.
                    self.layout.push(TopMember::Other(name.clone(), Box::default()));
                }
            } else if !self.layout.contains(member) {
                self.layout.push(member.clone());
            }
        }
        for ((table, at), members) in extras {
            let place = match table {
                Table::Types => (table, mapping.types.get(at).map_or(at, |t| t.index())),
                Table::Methods => (table, mapping.methods.get(at).map_or(at, |m| m.index())),
                Table::Section(_) => continue,
            };
            match self.extras.get(&place) {
                Some(known) if *known == members => {}
                None if !mapping.renumbered => drop(self.extras.insert(place, members)),
                _ => self.dropped_entry_members += 1,
            }
        }
    }

    /// Returns true if an input had this member, which is not part of the format.
    pub(crate) fn has_seen_member(&self, name: &[u8]) -> bool {
        self.foreign.contains_key(name)
    }

    /// Returns the merged document, and warnings about content that could not be merged.
    ///
    /// # Errors
    ///
    /// Clashing branch lists with the policy [`BranchClash::Error`]; no inputs; cancelled.
    pub fn finish(self) -> Result<WithWarnings<Document>> {
        let policy = self.options.branch_clash;
        let (document, report) = self.finish_with_report()?;
        Ok(WithWarnings::new(document, report.warnings(policy)))
    }

    /// Like [`finish`](Self::finish), with numbers instead of warnings.
    ///
    /// # Errors
    ///
    /// The errors of [`finish`](Self::finish).
    #[doc(hidden)]
    pub fn finish_with_report(self) -> Result<(Document, MergeReport)> {
        let Some(version) = self.version else { return Err(Error::nothing_found("there are no profiles to merge")) };
        let (policy, cancel) = (self.options.branch_clash, self.options.cancel);
        let mut report = MergeReport { dropped_entry_members: self.dropped_entry_members, ..MergeReport::default() };
        let (contexts, tables) = (self.contexts, Arc::unwrap_or_clone(self.tables));
        report.shares_no_method = self.declaring > 1 && tables.methods().count() == self.declared;
        let mut saturated = SectionKind::EACH.map(|kind| match kind {
            SectionKind::Conditional => self.branches.saturated,
            SectionKind::CallCount | SectionKind::Sampling => self.counts[count_slot(kind)].saturated,
            _ => self.types[type_slot(kind)].saturated,
        });
        let branch_sites = self.branches.len();
        let conditionals = self.branches.into_entries(|context, lists, push| {
            if cancel.is_cancelled() {
                return;
            }
            let resolved = branches::resolve(lists, policy);
            saturated[SectionKind::Conditional.index()] += resolved.saturated;
            if resolved.clashes > 0 {
                report.clashed_sites += 1;
                report.clashed_lists += resolved.clashes as u64;
                report.clash_example.get_or_insert_with(|| describe(&tables, contexts.frames(context)));
            }
            resolved.lists.iter().for_each(|rows| push(rows));
        });
        cancel.check()?;
        if policy == BranchClash::Error && report.clashed_sites > 0 {
            let example = report.clash_example.unwrap_or_default();
            let detail = format!("branch lists clash at {}, first {example}", number_of(report.clashed_sites, "site"));
            return Err(Error::new(crate::error::ErrorKind::KindConflict { detail }).with_hint(Hint::ResolveClashes));
        }
        report.saturated = SectionKind::EACH.into_iter().zip(saturated).filter(|(_, count)| *count > 0).collect();
        let mut document = Document { version, tables, contexts, ..Document::default() };
        // A context has one count, so there is one list.
        let counts = |sites: Sites<_, Vec<_>>| sites.into_entries(|_, lists, push| push(&lists.concat()));
        let types = |sites: Sites<_, RowSection<_>>| sites.into_entries(|_, lists, push| push(&lists.concat()));
        let sections = &mut document.sections;
        sections.conditionals = conditionals;
        [sections.call_counts, sections.samples] = self.counts.map(counts);
        [sections.virtual_invokes, sections.monitors, sections.instanceofs] = self.types.map(types);
        cancel.check()?;
        document.instanceof_spelling = self.spelling;
        document.extras = self.extras;
        if document.sections.conditionals.len() != branch_sites {
            // Sites were dropped or split, so the positions of additional members no longer match.
            let branches = Table::Section(SectionKind::Conditional);
            let before = document.extras.len();
            document.extras.retain(|(table, _), _| *table != branches);
            report.dropped_entry_members += (before - document.extras.len()) as u64;
        }
        let mut foreign = self.foreign;
        for member in self.layout {
            match member {
                TopMember::Other(name, _) => match foreign.remove(&name).flatten() {
                    Some(value) => document.layout.push(TopMember::Other(name, value)),
                    None => report.dropped_members.push(crate::iprof::tables::display_name(&name)),
                },
                known => document.layout.push(known),
            }
        }
        document.layout.drain(..3);
        if document.has_instanceof() {
            document.version = document.version.max(Version::V1_1);
        }
        Ok((document, report))
    }
}

/// Adds the entries of one input during the read.
pub(crate) struct Adding<'m> {
    merger: &'m mut Merger,
    weights: SectionWeights,
    mapping: Option<Mapping>,
}

impl<'m> Adding<'m> {
    pub(crate) fn new(merger: &'m mut Merger, weights: SectionWeights) -> Self {
        Self { merger, weights, mapping: None }
    }

    /// Returns the current number of contexts in a section.
    pub(crate) fn sites_count(&self, kind: SectionKind) -> usize {
        match kind {
            SectionKind::CallCount | SectionKind::Sampling => self.merger.counts[count_slot(kind)].len(),
            SectionKind::Conditional => self.merger.branches.len(),
            _ => self.merger.types[type_slot(kind)].len(),
        }
    }

    /// Adds the data of the input except its entries. Some of it is moved.
    pub(crate) fn finish(self, reading: &mut Reading) {
        let Self { merger, mapping, .. } = self;
        let mapping = mapping.unwrap_or_else(|| merger.map_tables(&reading.tables, Some(&reading.tables)));
        let (version, extras) = (reading.version.unwrap_or_default(), std::mem::take(&mut reading.extras));
        merger.add_frame(version, reading.spelling, &reading.layout, extras, &mapping);
    }
}

impl Sink for Adding<'_> {
    fn announce(&mut self, outermost: impl Iterator<Item = Frame> + Clone) {
        // Expected entries are not looked up.
        if self.merger.missed_mapping && self.mapping.as_ref().is_some_and(|mapping| mapping.same) {
            self.merger.contexts.fetch(outermost);
        }
    }

    fn known_tables(&self) -> Option<Arc<Tables>> {
        (self.merger.inputs > 0).then(|| Arc::clone(&self.merger.tables))
    }

    fn tables(&mut self, tables: &Arc<Tables>) {
        self.mapping.get_or_insert_with(|| self.merger.map_tables(tables, Some(tables)));
    }

    fn entry(&mut self, _: &Tables, entry: Entry<'_>) {
        let mapping = self.mapping.as_ref().expect("tables come before entries");
        let context = if mapping.same {
            self.merger.context(entry.kind, entry.frames, |frame| *frame)
        } else {
            let mapped = |frame: &Frame| Frame { method: mapping.methods[frame.method.index()], ..*frame };
            self.merger.context(entry.kind, entry.frames, mapped)
        };
        self.merger.add_records(entry.kind, context, entry.records, &self.weights, mapping, entry.members);
    }
}

/// An added file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Added {
    /// Faults and unusual content.
    pub findings: Findings,
    /// The number of entries and of unknown members. A file without any does not count.
    pub records: u64,
}

/// Multiplies all counts of a document. Returns the numbers of counts that were limited to the maximum, by section.
pub(crate) fn scale(document: &mut Document, by: Weight) -> Vec<(SectionKind, u64)> {
    if by == Weight::ONE {
        return Vec::new();
    }
    let sections = &mut document.sections;
    let saturated = [
        (SectionKind::CallCount, sites::scale(&mut sections.call_counts, by)),
        (SectionKind::Conditional, sites::scale(&mut sections.conditionals, by)),
        (SectionKind::VirtualInvoke, sites::scale(&mut sections.virtual_invokes, by)),
        (SectionKind::Monitor, sites::scale(&mut sections.monitors, by)),
        (SectionKind::Sampling, sites::scale(&mut sections.samples, by)),
        (SectionKind::Instanceof, sites::scale(&mut sections.instanceofs, by)),
    ];
    saturated.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Merges documents in memory with their weights.
///
/// # Errors
///
/// As [`Merger::finish`].
pub fn merge<'d>(
    documents: impl IntoIterator<Item = (&'d Document, Weight)>,
    options: MergeOptions,
) -> Result<(Document, MergeReport)> {
    let mut merger = Merger::new(options);
    for (document, weight) in documents {
        merger.add(document, weight)?;
    }
    merger.finish_with_report()
}

#[cfg(test)]
mod tests;

/// Content that could not be merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeReport {
    /// Sites with clashing branch lists.
    pub clashed_sites: u64,
    /// Lists that clashed with a heavier or earlier list of their site.
    pub clashed_lists: u64,
    /// The first clashing site, as text.
    pub clash_example: Option<String>,
    /// The number of counts that were limited to [`MAX_COUNT`](crate::iprof::MAX_COUNT), by section.
    pub saturated: Vec<(SectionKind, u64)>,
    /// Unknown members that were dropped.
    pub dropped_members: Vec<String>,
    /// Additional members of entries that were dropped.
    pub dropped_entry_members: u64,
    /// Whether several inputs have methods, and no two of them have a method in common.
    pub shares_no_method: bool,
}

impl MergeReport {
    /// Returns the report as warnings.
    pub fn warnings(&self, policy: BranchClash) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.clashed_sites > 0 {
            let done = match policy {
                BranchClash::Heavier => "the list with more events was kept",
                BranchClash::First => "the first list was kept",
                BranchClash::Union | BranchClash::Keep => "all rows were kept",
                BranchClash::Drop => "the site was dropped",
                BranchClash::Error => "the merge fails",
            };
            let example = self.clash_example.as_deref().map(|site| format!(", first {site}")).unwrap_or_default();
            let text = format!(
                "contradictory branch lists: {} at {}; {done}{example}",
                number_of(self.clashed_lists, "list"),
                number_of(self.clashed_sites, "site")
            );
            let keeps_all = matches!(policy, BranchClash::Union | BranchClash::Keep);
            warnings.push(if keeps_all { Warning::new(text) } else { Warning::of_loss(text) });
        }
        for (kind, count) in &self.saturated {
            warnings.push(Warning::of_loss(format!("{} of {} cut at 2^63-1", number_of(*count, "count"), kind.name())));
        }
        for name in &self.dropped_members {
            warnings.push(Warning::new(format!("the member \"{name}\" is not part of the format and was dropped")));
        }
        if self.dropped_entry_members > 0 {
            let entries = match self.dropped_entry_members {
                1 => "an entry".to_string(),
                count => format!("{count} entries"),
            };
            warnings.push(Warning::new(format!("additional members of {entries} were dropped")));
        }
        warnings
    }
}
