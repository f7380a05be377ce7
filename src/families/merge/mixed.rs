//! Merging LLVM profiles and iprof files.
//!
//! Each iprof file is split into LLVM's records (its member `llvm`) and the rest. The records merge with the LLVM inputs as
//! LLVM merges, the rest as iprof merges; the bridge then converts the result to one family.

use super::documents::{DocumentMerge, IprofMergeOptions, PartsMerger, State, Sum, finish_llvm};
use super::iprof::used;
use crate::bridge::{self, Parts, ToIprofOptions, ToLlvmOptions};
use crate::driver::{self, FailedMerge, InputReport, MergeJob, OnProgress};
use crate::error::{Error, Result, Warning};
use crate::input::{Family, Format, Input};
use crate::instr::Merger;
use crate::instr::file_merge::{MergeOptions, MergeReport, merge_files};
use crate::iprof::{BranchClash, Document, Finding};
use crate::model::{Loss, Losses, Profile};
use std::cell::Cell;

/// The result of a merge of both families, in two parts.
#[derive(Debug)]
#[non_exhaustive]
pub struct MixedSum {
    /// The report of the LLVM inputs, without their profile.
    pub llvm: MergeReport,
    /// One report per document, in order.
    pub documents: Vec<InputReport>,
    /// The findings of the documents, each with its position among them.
    pub findings: Vec<(usize, Finding)>,
    /// Warnings about the result.
    pub warnings: Vec<Warning>,
    /// Content that could not be merged.
    pub losses: Losses,
    documents_used: usize,
    parts: Parts,
    options: MergeOptions,
}

/// Returns true if an input is an iprof. The merge of LLVM profiles reports inputs that cannot be opened.
pub fn is_document(input: &Input) -> bool {
    let is_empty = input.format().is_ok_and(|format| format == Format::Empty);
    !is_empty && input.family().is_ok_and(|family| family == Some(Family::Iprof))
}

/// Merges inputs of both families: documents before the first LLVM input, then LLVM inputs, then the other documents.
///
/// # Errors
///
/// Unreadable inputs and kind conflicts, if the failure mode does not allow them; the errors of finishing the parts;
/// cancelled.
pub fn merge_mixed(
    inputs: &[Input],
    options: &IprofMergeOptions,
    progress: OnProgress<'_>,
) -> Result<MixedSum, FailedMerge> {
    let all = inputs.len();
    let first = inputs.iter().position(|input| !is_document(input)).unwrap_or(all);
    let (later, llvm): (Vec<Input>, Vec<Input>) = inputs[first..].iter().cloned().partition(is_document);
    let mut merge = MixedMerge {
        options,
        parts: PartsMerger::new(&options.llvm, &options.read.cancel),
        documents: Vec::new(),
        findings: Vec::new(),
    };
    merge = merge.add_documents(&inputs[..first], &mut |done, _| progress(done, all))?;
    let report = merge.add_llvm(&llvm, &mut |done, _| progress(first + done, all))?;
    merge = merge.add_documents(&later, &mut |done, _| progress(first + llvm.len() + done, all))?;
    let judged = options.failure_mode.judge(in_order(inputs, report.inputs.iter(), merge.documents.iter()));
    let MixedMerge { parts, documents, findings, .. } = merge;
    match judged.and_then(|()| parts.finish()) {
        Ok((parts, merged, losses)) => {
            let warnings = merged.warnings(BranchClash::Keep);
            let options = options.llvm.clone();
            let documents_used = used(&documents);
            Ok(MixedSum { llvm: report, documents, findings, warnings, losses, documents_used, parts, options })
        }
        Err(error) => {
            let inputs = in_order(inputs, report.inputs.into_iter(), documents.into_iter()).collect();
            Err(FailedMerge { error, inputs })
        }
    }
}

/// Returns the reports of LLVM inputs and of documents in the order of the inputs.
fn in_order<R>(
    inputs: &[Input],
    mut llvm: impl Iterator<Item = R>,
    mut documents: impl Iterator<Item = R>,
) -> impl Iterator<Item = R> {
    let mut all = Vec::new();
    inputs.iter().for_each(|input| all.extend(if is_document(input) { documents.next() } else { llvm.next() }));
    // A partial merge of LLVM profiles has several reports.
    all.extend(llvm);
    all.into_iter()
}

/// The merge of inputs of both families.
struct MixedMerge<'a> {
    options: &'a IprofMergeOptions,
    parts: PartsMerger,
    documents: Vec<InputReport>,
    findings: Vec<(usize, Finding)>,
}

impl MixedMerge<'_> {
    /// Merges documents.
    fn add_documents(self, inputs: &[Input], progress: OnProgress<'_>) -> Result<Self> {
        let Self { options, parts, mut documents, mut findings } = self;
        let parts = Cell::new(Some(parts));
        let start = |job: &MergeJob<'_>| {
            // The loop starts once: a merge of parts does not restart.
            let parts = parts.take().unwrap_or_else(|| PartsMerger::new(&options.llvm, &options.read.cancel));
            DocumentMerge::of_parts(options, parts, job)
        };
        let driver::Merged { output, inputs: reports } = driver::merge(inputs, &options.run(), start, progress)?;
        let State { sum: Sum::Parts(parts), findings: more, .. } = output else {
            return Err(Error::usage("a merge of parts became another one"));
        };
        findings.extend(more.into_iter().map(|(place, finding)| (documents.len() + place, finding)));
        documents.extend(reports);
        Ok(Self { options, parts: *parts, documents, findings })
    }

    /// Merges LLVM inputs and adds the result. Its profile moves to the parts.
    fn add_llvm(&mut self, inputs: &[Input], progress: OnProgress<'_>) -> Result<MergeReport> {
        let merger = &mut self.parts.llvm;
        let mut options = self.options.llvm.clone();
        options.shared_kind = merger.shared_kind().clone();
        options.cancel = self.options.read.cancel.clone();
        let mut report = merge_files(inputs, &options, progress)?;
        let profile = std::mem::take(&mut report.profile);
        if report.used() > 0 {
            merger.set_shared_kind(report.shared_kind.clone());
            merger.add(&profile, 1)?;
        } else {
            // The kind of inputs without records does not count, but their names do.
            merger.add_vtable_names(profile.vtable_names);
            merger.add_binary_ids(profile.binary_ids);
        }
        Ok(report)
    }
}

impl MixedSum {
    /// Returns the number of used documents; documents that count nothing are left out.
    pub(crate) fn documents_used(&self) -> usize {
        self.documents_used
    }

    /// Returns the number of used inputs.
    pub fn used(&self) -> usize {
        self.llvm.used() + self.documents_used()
    }

    /// Returns the reports of all inputs in their order.
    pub fn inputs(&self, inputs: &[Input]) -> Vec<&InputReport> {
        in_order(inputs, self.llvm.inputs.iter(), self.documents.iter()).collect()
    }

    /// Moves out the reports of all inputs, in their order.
    pub(in crate::families) fn take_inputs(&mut self, inputs: &[Input]) -> Vec<InputReport> {
        let documents = std::mem::take(&mut self.documents);
        in_order(inputs, std::mem::take(&mut self.llvm.inputs).into_iter(), documents.into_iter()).collect()
    }

    /// Converts the result to an LLVM profile, with the content that could not be converted. Records of the bridge take
    /// the kind of LLVM's own records, which must count executions.
    ///
    /// # Errors
    ///
    /// The errors of [`bridge::to_llvm`].
    pub fn into_llvm(self, options: &ToLlvmOptions) -> Result<(Profile, Vec<Loss>)> {
        if self.documents_used() == 0 {
            return Ok((self.parts.profile, self.losses.into_vec()));
        }
        let (mut losses, profile) = (self.losses, self.parts.profile);
        let (mut rest, lost) = bridge::to_llvm(&self.parts.rest, options)?;
        lost.iter().for_each(|loss| losses.add(loss.kind, loss.count));
        if profile.functions.records_len() > 0 {
            rest.kind = profile.kind;
        }
        let mut merger = Merger::new(self.options.merger_options());
        merger.add(&profile, 1)?;
        if rest.functions.records_len() > 0 {
            merger.add(&rest, 1)?;
        }
        Ok((finish_llvm(merger, &self.options)?, losses.into_vec()))
    }

    /// Converts the result to an iprof document, with the content that could not be converted.
    ///
    /// # Errors
    ///
    /// The errors of [`bridge::to_iprof`].
    pub fn into_iprof(self, options: &ToIprofOptions) -> Result<(Document, Vec<Loss>)> {
        let mut losses = self.losses;
        let (document, lost) = bridge::join(self.parts, options)?;
        lost.iter().for_each(|loss| losses.add(loss.kind, loss.count));
        Ok((document, losses.into_vec()))
    }
}
