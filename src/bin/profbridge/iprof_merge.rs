//! `merge` of iprof files.

use crate::bridged;
use crate::console;
use crate::iprof_files::{IprofWriteArgs, print_findings};
use crate::merge_document::{ClashesJson, MergeDocument, SectionCounts};
use crate::merge_gates::Sum;
use crate::merge_inputs::warn_of_nothing_shared;
use crate::plural::{PARTIAL_SUFFIX, inputs_of};
use clap::{Args, ValueEnum};
use profbridge::families::merge::iprof::{IprofMergeOptions, IprofMergeReport, facts_of, merge_iprof_files};
use profbridge::families::partial::{StoredFamily, encode_kept, keep_inputs};
use profbridge::families::{Facts, FactsRequest, FailedMerge, InputOutcome, InputReport, inputs};
use profbridge::input::output::is_standard_output;
use profbridge::input::{Family, Input, WeightedInput};
use profbridge::iprof::{self, BranchClash, Finding, Weight};
use profbridge::{Error, ErrorKind, Result, Warning};
use std::num::NonZeroUsize;
use std::path::Path;

/// Options for merging iprof files.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options for iprof inputs")]
pub(crate) struct IprofMergeArgs {
    /// How to merge branch lists that contradict each other [default: heavier]
    #[arg(long, value_enum, value_name = "POLICY")]
    on_branch_clash: Option<ClashArg>,
    /// Scale every input to equal totals per section first, so that all runs have the same weight
    #[arg(long)]
    normalize: bool,
    /// Multiply all counts by a ratio, such as 1/3; no count becomes 0
    #[arg(long, value_name = "RATIO", value_parser = parse_ratio)]
    scale: Option<Weight>,
}

/// The values of `--on-branch-clash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClashArg {
    /// Keep the list with more events
    Heavier,
    /// Keep the list of the first input
    First,
    /// Join the lists
    Union,
    /// Keep each list as a separate entry
    Keep,
    /// Drop all of them
    Drop,
    /// Fail
    Error,
}

impl IprofMergeArgs {
    /// Returns the treatment of inputs that disagree about a branch.
    pub(crate) fn branch_clash(&self) -> BranchClash {
        self.on_branch_clash.map_or_else(BranchClash::default, BranchClash::from)
    }

    /// Returns the factor for every count, and whether inputs are first scaled to equal totals.
    pub(crate) fn scaling(&self) -> (Weight, bool) {
        (self.scale.unwrap_or_default(), self.normalize)
    }

    /// Returns the given options.
    pub(crate) fn given(&self) -> Vec<(bool, &'static str)> {
        vec![
            (self.on_branch_clash.is_some(), "--on-branch-clash"),
            (self.normalize, "--normalize"),
            (self.scale.is_some(), "--scale"),
        ]
    }

    /// Returns true if inputs are scaled.
    pub(crate) fn scales(&self) -> bool {
        self.normalize || self.scale.is_some()
    }
}

impl From<ClashArg> for BranchClash {
    fn from(argument: ClashArg) -> Self {
        match argument {
            ClashArg::Heavier => Self::Heavier,
            ClashArg::First => Self::First,
            ClashArg::Union => Self::Union,
            ClashArg::Keep => Self::Keep,
            ClashArg::Drop => Self::Drop,
            ClashArg::Error => Self::Error,
        }
    }
}

fn parse_ratio(text: &str) -> std::result::Result<Weight, String> {
    Weight::parse(text).ok_or_else(|| "expected a ratio such as 4 or 1/3".to_string())
}

/// A merge of iprof files.
pub(crate) struct IprofMerge<'a> {
    pub(crate) inputs: &'a [WeightedInput],
    /// Whether the inputs are stored after the result.
    pub(crate) partial: bool,
    pub(crate) output: &'a Path,
    pub(crate) options: IprofMergeOptions,
    pub(crate) write: &'a IprofWriteArgs,
    pub(crate) strict: bool,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// `None` uses the number of processors.
    pub(crate) threads: Option<NonZeroUsize>,
}

impl<'a> IprofMerge<'a> {
    /// Merges the inputs.
    pub(crate) fn add_up(mut self, document: &mut MergeDocument) -> Result<Box<dyn Sum + 'a>> {
        self.options.read.threads = self.threads;
        let progress = console::Progress::new("merging", self.quiet);
        let merged = merge_iprof_files(self.inputs, &self.options, &mut |done, total| progress.update(done, total));
        progress.finish();
        let mut report = merged.map_err(|failed| report_failure(failed, &self.options, document))?;
        document.name_inputs(report.inputs.iter().map(|report| &report.input));
        for (at, input) in report.inputs.iter().enumerate() {
            note_input(document, at, input, self.options.salvage);
            print_input(input, findings_of(&report.findings, at), self.quiet);
        }
        note(document, &report);
        if self.write.canonical {
            report.document = iprof::canonical_with(&report.document, self.options.to_iprof.branch_clash);
        }
        let inputs = report.inputs.iter().map(|report| report.input.clone()).collect();
        Ok(Box::new(IprofSum { merge: self, inputs, report }))
    }
}

/// The merged files.
struct IprofSum<'a> {
    merge: IprofMerge<'a>,
    /// The inputs, with partial merges replaced by their own inputs.
    inputs: Vec<Input>,
    report: IprofMergeReport,
}

impl Sum for IprofSum<'_> {
    fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        inputs::iprof_total(input, &self.merge.options.read)
    }

    fn facts(&self, wanted: FactsRequest) -> Result<Facts> {
        Ok(facts_of(&self.report.document, wanted).of_inputs(self.report.used()))
    }

    fn write(self: Box<Self>, facts: &Facts, document: &mut MergeDocument) -> Result<()> {
        let (merge, report) = (&self.merge, &self.report);
        merge.report_losses(report)?;
        document.warn(&report.warnings());
        if merge.partial {
            let (found, limits) = (&merge.options.found, &merge.options.read.limits);
            let allow_duplicates = merge.options.llvm.allow_duplicates;
            let kept = keep_inputs(merge.inputs, StoredFamily::Iprof, found, allow_duplicates, limits)?;
            let part = |document| encode_kept(&kept, StoredFamily::Iprof, document);
            merge.write.write_part(&report.document, part, merge.output)?;
        } else {
            merge.write.write(&report.document, merge.output, merge.threads)?;
        }
        document.wrote(merge.output, Family::Iprof.name());
        if !merge.json && !merge.quiet && !is_standard_output(merge.output) {
            merge.print_summary(facts, report);
        }
        Ok(())
    }
}

impl IprofMerge<'_> {
    /// Prints warnings about data that the result does not contain, or fails because of it.
    fn report_losses(&self, report: &IprofMergeReport) -> Result<()> {
        if self.strict && (report.merged.dropped_entry_members > 0 || !report.merged.dropped_members.is_empty()) {
            let members = report.merged.dropped_members.join(", ");
            let detail = format!("members that are not part of the format would be lost: {members}");
            let hint = "omit --strict to drop and list them";
            return Err(Error::new(ErrorKind::WouldLose { detail }).with_hint(hint));
        }
        if self.quiet && !self.strict {
            return Ok(());
        }
        if report.bridged && !self.quiet {
            console::note("inputs contain LLVM records, which are merged like LLVM profiles");
        }
        if !self.quiet {
            report.warnings().iter().for_each(console::warning);
        }
        if report.merged.shares_no_method {
            warn_of_nothing_shared(self.quiet);
        }
        bridged::report_losses(&report.losses, self.output, self.strict)
    }

    fn print_summary(&self, facts: &Facts, report: &IprofMergeReport) {
        let entries = facts.entries.iter().flatten();
        let entries: Vec<String> = entries.map(|(section, count)| format!("{count} of {section}")).collect();
        let list = if entries.is_empty() { "no profiles".to_string() } else { entries.join(", ") };
        let of = inputs_of(report.used(), report.inputs.len());
        let count = |is_meant: fn(&&InputReport) -> bool| report.inputs.iter().filter(is_meant).count();
        let skipped = [
            (count(|input| input.is_empty()), "empty"),
            (count(|input| matches!(input.outcome, InputOutcome::Failed(_))), "unreadable"),
            (count(|input| matches!(input.outcome, InputOutcome::NotAProfile)), "of other formats"),
        ];
        let skipped: Vec<String> =
            skipped.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let skipped = if skipped.is_empty() { String::new() } else { format!(", skipped {}", skipped.join(" and ")) };
        let part = if self.partial { PARTIAL_SUFFIX } else { "" };
        console::status(&format!("{}: {list} from {of}{skipped}{part}", self.output.display()));
    }
}

/// Records the data that could not be merged.
fn note(document: &mut MergeDocument, report: &IprofMergeReport) {
    let merged = &report.merged;
    document.clashes = Some(ClashesJson { sites: merged.clashed_sites, lists: merged.clashed_lists });
    let saturated = merged.saturated.iter();
    document.saturated =
        Some(saturated.map(|(kind, count)| SectionCounts { section: kind.name(), counts: *count }).collect());
    document.dropped_members = Some(merged.dropped_members.clone());
    document.lose(&report.losses);
}

/// Records and prints why inputs failed. Returns the error of the merge.
pub(crate) fn report_failure(failed: FailedMerge, options: &IprofMergeOptions, document: &mut MergeDocument) -> Error {
    let FailedMerge { error, inputs, .. } = failed;
    if !inputs.is_empty() {
        document.name_inputs(inputs.iter().map(|report| &report.input));
    }
    for (at, input) in inputs.iter().enumerate() {
        note_input(document, at, input, options.salvage);
        // A kind conflict can be the error of the merge.
        let is_the_error = |found: &Error| error.is_kind_conflict() && found.is_kind_conflict();
        if let InputOutcome::Failed(found) = &input.outcome
            && !is_the_error(found)
        {
            console::error_as_warning(found);
        }
    }
    error
}

/// Records the outcome and the findings of an input.
pub(crate) fn note_input(document: &mut MergeDocument, at: usize, input: &InputReport, salvage: bool) {
    document.note_outcome(at, if input.is_empty() { &InputOutcome::Empty } else { &input.outcome });
    if salvage && input.records > 0 {
        document.note_salvaged(at);
    }
    document.warn_of(at, input.warnings.iter().map(|warning| warning.message.clone()));
}

/// Returns the findings of the input at a position.
pub(crate) fn findings_of(findings: &[(usize, Finding)], at: usize) -> impl Iterator<Item = &Finding> {
    findings.iter().filter(move |(place, _)| *place == at).map(|(_, finding)| finding)
}

/// Prints the outcome of an input, and the findings that affect all of it.
pub(crate) fn print_input<'f>(input: &InputReport, findings: impl Iterator<Item = &'f Finding>, quiet: bool) {
    let path = &input.input.path;
    match &input.outcome {
        InputOutcome::Failed(error) => console::error_as_warning(error),
        InputOutcome::Empty if !quiet => {
            console::warning(&Warning::new("the file is empty; skipped").in_file(path));
        }
        InputOutcome::Used if input.is_empty() && !quiet => {
            console::warning(&Warning::new("the file has no entries; skipped").in_file(path));
        }
        _ => {}
    }
    if !quiet {
        print_findings(path, findings);
    }
}
