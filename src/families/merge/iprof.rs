//! Merging iprof files into one document.

use super::documents::{DocumentMerge, PartsMerger, State, Sum};
use crate::bridge::{self, ToIprofOptions};
use crate::driver::{self, Facts, FactsRequest, FailedMerge, InputOutcome, InputReport, MergeJob, OnProgress};
use crate::error::{Error, Result, Warning};
use crate::families::partial;
use crate::family::Family;
use crate::input::{Input, output};
use crate::iprof::{self, BranchClash, Document, Finding, SectionKind, Weight, WriteOptions};
use crate::model::{Loss, Profile};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

pub use super::documents::IprofMergeOptions;

/// The result of a merge of iprof files.
#[derive(Debug)]
#[non_exhaustive]
pub struct IprofMergeReport {
    /// The merged document.
    pub document: Document,
    /// Content that could not be merged.
    pub merged: iprof::MergeReport,
    /// One report per input, in order; a partial merge is replaced by its inputs. The records of an input are its
    /// entries and the members that are not part of the format.
    pub inputs: Vec<InputReport>,
    /// The findings of the inputs, each with the position of its input.
    pub findings: Vec<(usize, Finding)>,
    /// Whether inputs contain LLVM records, which are merged like LLVM profiles.
    pub bridged: bool,
    /// Content that the bridge could not convert.
    pub losses: Vec<Loss>,
    branch_clash: BranchClash,
}

impl IprofMergeReport {
    /// Returns the number of used inputs; inputs that count nothing are left out.
    pub fn used(&self) -> usize {
        used(&self.inputs)
    }

    /// Returns warnings about the result.
    pub fn warnings(&self) -> Vec<Warning> {
        self.merged.warnings(self.branch_clash)
    }
}

/// Returns the number of inputs with content that were used.
pub(super) fn used(inputs: &[InputReport]) -> usize {
    inputs.iter().filter(|report| matches!(report.outcome, InputOutcome::Used) && !report.is_empty()).count()
}

/// Returns the facts about a document. Its functions are the methods with an entry of their own, its total count is the
/// sum of all sections.
pub fn facts_of(document: &Document, wanted: FactsRequest) -> Facts {
    facts(document, || carries_records(document), wanted)
}

/// Converts a profile and replaces a file with the document, or writes it to standard output for `-`, unless `check`
/// refuses the facts or the losses. The text of the member `llvm`, which is most of the file, is made while it is
/// written.
///
/// # Errors
///
/// The errors of [`bridge::to_iprof`], `check` and [`output::replace_by_name_with`].
pub fn write_converted(
    profile: &Profile,
    options: &ToIprofOptions,
    writing: &WriteOptions,
    path: &Path,
    wanted: FactsRequest,
    check: impl FnOnce(&Facts, &[Loss]) -> Result<()>,
) -> Result<()> {
    let converted = bridge::ConvertedProfile::new(profile, options)?;
    check(&facts(&converted.document, || converted.carries_records(), wanted), &converted.losses)?;
    output::replace_by_name_with(path, |out| converted.write(writing, out))
}

fn facts(document: &Document, carries_records: impl FnOnce() -> bool, wanted: FactsRequest) -> Facts {
    let entries = SectionKind::EACH.map(|kind| (kind, document.sections.entries_count(kind) as u64));
    let mut facts = Facts::default();
    let named = entries.into_iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.name(), count));
    facts.entries = Some(named.collect());
    let has_entries = entries.iter().any(|(_, count)| *count > 0);
    if !has_entries && !carries_records() {
        facts.lack = Some("the iprof would have no profiles".into());
    }
    if wanted == FactsRequest::default() {
        return facts;
    }
    let mut methods = HashSet::new();
    let mut total = 0u128;
    for kind in SectionKind::EACH {
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
    let carried = document.members().find(|(name, _)| *name == bridge::MEMBER);
    carried.is_some_and(|(_, json)| match bridge::Extension::read(json) {
        Ok(extension) => extension.carries_records(),
        Err(_) => true,
    })
}

/// Merges iprof files in order. Empty files are skipped, and partial merges are replaced by their inputs.
///
/// # Errors
///
/// Unreadable inputs, if the failure mode does not allow them; nothing found if no input has content; usage for weights
/// that cannot be used; contradictory branch lists, if the policy rejects them; the errors of [`bridge::join`];
/// cancelled.
pub fn merge_iprof_files(
    inputs: &[Input],
    options: &IprofMergeOptions,
    progress: OnProgress<'_>,
) -> Result<IprofMergeReport, FailedMerge> {
    let opened = partial::open_kept(inputs, Family::Iprof, options.llvm.allow_duplicates, &options.read.limits)?;
    let mut options = Cow::Borrowed(options);
    let inputs = match &opened {
        None => inputs,
        Some((kept, found)) => {
            options.to_mut().found.extend(found.iter().cloned());
            kept
        }
    };
    let options = &*options;
    // A single input that does not change keeps its records of LLVM unchanged.
    let restarts = inputs.len() > 1 || options.scale != Weight::ONE || inputs.iter().any(|one| one.weight.get() > 1);
    let weights = options.weights(inputs)?;
    let start = |job: &MergeJob<'_>| match job.attempt {
        driver::Attempt::Fast => DocumentMerge::of_documents(options, &weights, restarts, job),
        driver::Attempt::Exact => {
            DocumentMerge::of_parts(options, PartsMerger::new(&options.llvm, &options.read.cancel), job)
        }
    };
    let driver::Merged { output, inputs } = driver::merge(inputs, &options.run(), start, progress)?;
    match finish(output, &inputs, options) {
        Ok(report) => Ok(IprofMergeReport { inputs, ..report }),
        Err(error) => Err(FailedMerge { error, inputs }),
    }
}

/// Ends a merge; the result has no inputs yet.
fn finish(state: State, inputs: &[InputReport], options: &IprofMergeOptions) -> Result<IprofMergeReport> {
    options.failure_mode.judge(inputs)?;
    let is_added = |report: &InputReport| matches!(report.outcome, InputOutcome::Used) || report.records > 0;
    let has_content = inputs.iter().any(is_added);
    if !has_content && !options.accepts_nothing {
        let nothing = || Error::nothing_found("there is nothing to merge: every input is empty or not an iprof");
        return Err(driver::inputs_failed(inputs).unwrap_or_else(nothing));
    }
    let bridged = matches!(state.sum, Sum::Parts(_));
    let (document, merged, losses) = match state.sum {
        Sum::Documents(mut merger) => {
            if !has_content {
                merger.add(&Document::new(), 1)?;
            }
            let (mut document, mut merged) = merger.finish_with_report()?;
            merged.saturated.extend(iprof::scale(&mut document, options.scale));
            (document, merged, Vec::new())
        }
        Sum::Parts(parts) => join(*parts, &options.to_iprof)?,
    };
    let (findings, branch_clash) = (state.findings, options.to_iprof.branch_clash);
    Ok(IprofMergeReport { document, merged, inputs: Vec::new(), findings, bridged, losses, branch_clash })
}

/// Joins the merged parts to one document.
fn join(parts: PartsMerger, options: &ToIprofOptions) -> Result<(Document, iprof::MergeReport, Vec<Loss>)> {
    let (parts, merged, mut losses) = parts.finish()?;
    let (document, lost) = bridge::join(parts, options)?;
    lost.iter().for_each(|loss| losses.add(loss.kind, loss.count));
    Ok((document, merged, losses.into_vec()))
}
