//! Merging iprof files.
//!
//! Files are added as they are read and never in memory as a whole. Two things
//! need more: where a bad input may be left out, each is read to its end before
//! it is added; and where inputs carry LLVM's records (the member `llvm`), these
//! merge as LLVM merges, so everything goes through the bridge. That shows only
//! at the end of an input: those read so far are read once more then.

use crate::bridge::{self, ToIprofOptions, Trust};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::merge::iprof_inputs::{ErrorPolicy, open_iprof};
use crate::families::merge::mixed::{MixedMerge, MixedOptions};
use crate::families::merge::{Facts, FactsRequest, FailureMode, InputOutcome, MergeOptions, Silent};
use crate::families::partial;
use crate::hint::Hint;
use crate::input::WeightedInput;
use crate::iprof::{self, Document, Merger, SectionKind, SectionTotals, SectionWeights, Weight};
use crate::model::Loss;
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

pub use crate::families::merge::iprof_inputs::IprofInputReport;

/// How iprof files are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IprofMergeOptions {
    /// How inputs are read.
    pub read: iprof::ReadOptions,
    /// What all counts are multiplied by, beside the weights of inputs. Default: 1.
    pub scale: Weight,
    /// Scale every input to equal totals of each section first. Default: `false`.
    pub normalize: bool,
    /// When bad inputs make the merge fail. Default: one is enough.
    pub failure_mode: FailureMode,
    /// Keep what is sound of bad inputs when the merge goes on. Default: `false`.
    pub salvage: bool,
    /// Inputs that were found in a directory: other JSON files among them are skipped.
    pub found: BTreeSet<PathBuf>,
    /// How LLVM's records in inputs are merged.
    pub llvm: MergeOptions,
    /// What to believe where an input contradicts LLVM's records in it.
    pub trust: Option<Trust>,
    /// How branch lists that contradict each other are resolved, and how LLVM's records are written.
    pub to_iprof: ToIprofOptions,
}

/// Hears what happens during a merge, in the order of the inputs.
pub trait IprofMergeObserver {
    /// Called once after each input.
    fn input_done(&mut self, report: &IprofInputReport);

    /// Called when `done` inputs were added.
    fn progress(&mut self, done: usize, total: usize);
}

impl IprofMergeObserver for Silent {
    fn input_done(&mut self, _: &IprofInputReport) {}
    fn progress(&mut self, _: usize, _: usize) {}
}

/// What came of a merge.
#[derive(Debug)]
#[non_exhaustive]
pub struct IprofMergeReport {
    /// The sum.
    pub document: Document,
    /// What could not be added up.
    pub merged: iprof::MergeReport,
    /// One entry an input, in order.
    pub inputs: Vec<IprofInputReport>,
    /// Inputs carry LLVM's records, so that all of them went through the bridge.
    pub bridged: bool,
    /// What the bridge could not carry over.
    pub losses: Vec<Loss>,
}

impl IprofMergeReport {
    /// Inputs that were used; those in which nothing was counted are left out.
    pub fn used(&self) -> usize {
        let is_used = |report: &&IprofInputReport| matches!(report.outcome, InputOutcome::Used) && !report.is_empty;
        self.inputs.iter().filter(is_used).count()
    }

    /// Inputs with this outcome.
    pub fn count(&self, is_meant: impl Fn(&InputOutcome) -> bool) -> usize {
        self.inputs.iter().filter(|report| is_meant(&report.outcome)).count()
    }

    /// What is worth saying about the sum.
    pub fn warnings(&self, options: &IprofMergeOptions) -> Vec<Warning> {
        self.merged.warnings(options.to_iprof.branch_clash)
    }

    /// Whether enough inputs could be read.
    ///
    /// # Errors
    ///
    /// Inputs failed when there are too many of them for `options.failure_mode`.
    pub fn verdict(&self, options: &IprofMergeOptions) -> Result<()> {
        let failures = self.count(|outcome| matches!(outcome, InputOutcome::Failed(_)));
        options.failure_mode.verdict(failures, self.inputs.len())
    }
}

/// What of a document is written; its functions are methods with an entry of their own, its total count is the sum of
/// all sections.
pub fn facts_of(document: &Document, wanted: FactsRequest) -> Facts {
    let entries = SectionKind::ALL.map(|kind| (kind, document.sections.entries_count(kind) as u64));
    let mut facts = Facts::default();
    let named = entries.into_iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.name(), count));
    facts.entries = Some(named.collect());
    let has_entries = entries.iter().any(|(_, count)| *count > 0);
    if !has_entries && !carries_records(document) {
        facts.lack = Some("the iprof would have no profiles".into());
    }
    if wanted == FactsRequest::default() {
        return facts;
    }
    let mut methods = HashSet::new();
    let mut total = 0u128;
    for kind in SectionKind::ALL {
        for (context, records) in document.sections.entries(kind) {
            methods.extend(document.contexts.leaf(context).map(|frame| frame.method));
            total += records.events();
        }
    }
    facts.functions = wanted.functions.then_some(methods.len() as u64);
    facts.with_total(wanted.total_count.then_some(total))
}

/// Returns true if the document carries records of LLVM. One that cannot be read counts as records: `check` reports it.
fn carries_records(document: &Document) -> bool {
    let carried = document.members().find(|(name, _)| *name == bridge::extension::MEMBER);
    carried.is_some_and(|(_, json)| match bridge::extension::Extension::read(json) {
        Ok(extension) => {
            extension.profile.is_some_and(|profile| profile.functions.records_len() > 0 || profile.memprof.is_some())
        }
        Err(_) => true,
    })
}

/// Merges iprof files in order. What is empty is skipped.
///
/// # Errors
///
/// Those of the first bad input, unless the failure mode allows it; usage when no
/// input is left, or when weights do not fit; branch lists that clash, if that is
/// to be an error; what [`split`](bridge::split) refuses.
pub fn merge_iprof_files(
    inputs: &[WeightedInput],
    options: &IprofMergeOptions,
    observer: &mut dyn IprofMergeObserver,
) -> Result<IprofMergeReport> {
    let opened =
        partial::open_kept(inputs, partial::StoredFamily::Iprof, options.llvm.allow_duplicates, &options.read.limits)?;
    let (inputs, more_found) = opened.as_ref().map_or((inputs, &[][..]), |(inputs, found)| (&inputs[..], &found[..]));
    let mut found = options.found.clone();
    found.extend(more_found.iter().cloned());
    let tolerance = ErrorPolicy { failure_mode: options.failure_mode, salvage: options.salvage, found };
    let changes = inputs.len() > 1 || options.scale != Weight::ONE || inputs.iter().any(|one| one.weight.get() > 1);
    let mut merge = Merge { inputs, options, tolerance, observer, reports: Vec::new() };
    match merge.stream(changes)? {
        Some((document, merged)) => {
            Ok(IprofMergeReport { document, merged, inputs: merge.reports, bridged: false, losses: Vec::new() })
        }
        None => merge.bridge(),
    }
}

struct Merge<'a> {
    inputs: &'a [WeightedInput],
    options: &'a IprofMergeOptions,
    tolerance: ErrorPolicy,
    observer: &'a mut dyn IprofMergeObserver,
    /// Of the inputs read so far.
    reports: Vec<IprofInputReport>,
}

impl Merge<'_> {
    /// Adds input after input; `None` when one carries LLVM's records and counts change.
    fn stream(&mut self, changes: bool) -> Result<Option<(Document, iprof::MergeReport)>> {
        let weights = self.weights()?;
        let mut options = iprof::MergeOptions::default();
        options.branch_clash = self.options.to_iprof.branch_clash;
        let mut merger = Merger::new(options);
        for (at, weights) in weights.iter().enumerate() {
            let report = self.add(&mut merger, at, weights)?;
            if changes && merger.has_seen_member(bridge::extension::MEMBER) {
                return Ok(None);
            }
            self.reported(at, report);
            self.observer.progress(at + 1, self.inputs.len());
        }
        self.reject_empty_result()?;
        merger.finish().map(Some)
    }

    fn add(&self, merger: &mut Merger, at: usize, weights: &SectionWeights) -> Result<IprofInputReport> {
        let input = &self.inputs[at];
        if self.tolerance.continues_after_error() {
            let (document, report) = self.tolerance.read(input, &self.options.read)?;
            document.iter().for_each(|document| merger.add(document, weights));
            Ok(report)
        } else {
            let stream = open_iprof(input)?;
            let (outcome, findings, is_empty) = match merger.add_from(stream, &self.options.read, weights) {
                Ok(added) => (InputOutcome::Used, added.findings.iter().cloned().collect(), added.is_empty),
                // Of an empty or foreign input nothing was added.
                Err(error) => {
                    let outcome = self.tolerance.judge(&input.path, error)?;
                    let is_empty = matches!(outcome, InputOutcome::Empty);
                    (outcome, Vec::new(), is_empty)
                }
            };
            Ok(IprofInputReport { input: input.clone(), outcome, findings, is_empty })
        }
    }

    fn reported(&mut self, at: usize, report: IprofInputReport) {
        if at == self.reports.len() {
            self.observer.input_done(&report);
            self.reports.push(report);
        }
    }

    /// Begins again, and takes LLVM's records apart from what GraalVM counted.
    fn bridge(mut self) -> Result<IprofMergeReport> {
        if self.options.normalize || self.options.scale != Weight::ONE {
            // The first input that is not reported yet carries them.
            let carrier = self.inputs.get(self.reports.len()).map(|input| input.path.clone()).unwrap_or_default();
            return Err(Error::usage("it contains LLVM records, which require integer weights")
                .in_file(carrier)
                .with_hint(Hint::WholeWeights));
        }
        let mut options = MixedOptions::default();
        options.llvm = self.options.llvm.clone();
        options.trust = self.options.trust;
        let mut sum = MixedMerge::new(&options);
        for at in 0..self.inputs.len() {
            let input = &self.inputs[at];
            let (document, mut report) = self.tolerance.read(input, &self.options.read)?;
            if let Some(Err(error)) = document.map(|document| sum.add_document(&document, input)) {
                report.outcome = match error.is_kind_conflict() {
                    true => self.tolerance.judge(&input.path, error)?,
                    false => return Err(error),
                };
            }
            self.reported(at, report);
            self.observer.progress(at + 1, self.inputs.len());
        }
        self.reject_empty_result()?;
        let (parts, merged, mut losses) = sum.finish()?;
        let (document, lost) = bridge::join(parts, &self.options.to_iprof)?;
        lost.iter().for_each(|loss| losses.add(loss.kind, loss.count));
        Ok(IprofMergeReport { document, merged, inputs: self.reports, bridged: true, losses: losses.into_vec() })
    }

    /// Refuses to make a profile of nothing.
    fn reject_empty_result(&mut self) -> Result<()> {
        let salvaged = self.options.salvage && self.tolerance.continues_after_error();
        let is_added = |outcome: &InputOutcome| {
            matches!(outcome, InputOutcome::Used) || (salvaged && matches!(outcome, InputOutcome::Failed(_)))
        };
        if self.reports.iter().any(|report| is_added(&report.outcome)) {
            return Ok(());
        }
        let failed = self.reports.iter().filter(|report| matches!(report.outcome, InputOutcome::Failed(_))).count();
        if failed > 0 {
            let (failed, inputs) = (failed as u64, self.reports.len() as u64);
            return Err(Error::new(ErrorKind::InputsFailed { failed, inputs }));
        }
        Err(Error::nothing_found("there is nothing to merge: every input is empty or not an iprof"))
    }

    fn weights(&mut self) -> Result<Vec<SectionWeights>> {
        let scale = self.options.scale;
        let weight = |input: &WeightedInput| {
            let own = Weight::ratio(input.weight.get(), 1).unwrap_or_default();
            scale.times(own).ok_or_else(|| Error::usage("the weight times the scale is too large").in_file(&input.path))
        };
        let weights = self.inputs.iter().map(weight).collect::<Result<Vec<Weight>>>()?;
        if !self.options.normalize {
            return Ok(weights.into_iter().map(SectionWeights::uniform).collect());
        }
        let mut read = self.options.read.clone();
        read.accept_errors |= self.tolerance.continues_after_error();
        read.salvage |= self.options.salvage && self.tolerance.continues_after_error();
        let mut totals = Vec::new();
        for (input, weight) in self.inputs.iter().zip(weights) {
            let total = open_iprof(input).and_then(|stream| SectionTotals::read_from(stream, &read));
            let total = match total {
                Ok(total) => total,
                Err(error) => {
                    // The outcome is reported when the input is read for adding.
                    self.tolerance.judge(&input.path, error)?;
                    SectionTotals::default()
                }
            };
            totals.push((weight, total));
        }
        Ok(SectionWeights::normalized(&totals))
    }
}
