//! `merge` of sampled stacks, and `convert` between sources of stacks, iprof, collapsed text and pprof.

use crate::console;
use crate::iprof_files::compressed;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::plural::{PARTIAL_SUFFIX, inputs_of, number_of};
use crate::stack_write::{WriteStackArgs, add_types};
use crate::stacks::{StackArgs, why_nothing_to_write};
use profbridge::bridge::stacks::{SampleOptions, iprof_from_stacks};
use profbridge::call_chains::{SampleSource, StackTable, Unit};
use profbridge::compression::Compression;
use profbridge::driver::{FailedMerge, OnProgress};
use profbridge::families::merge::iprof::facts_of as iprof_facts;
use profbridge::families::partial::{StoredFamily, encode_kept, keep_inputs};
use profbridge::families::plan::StackOutput;
use profbridge::families::stack_files::{
    StackMergeOptions, StackSum, are_pprof, facts_of, facts_of_pprof, merge_pprof, merge_tables,
};
use profbridge::families::stack_files::{StackOptions, unit_of};
use profbridge::families::{Facts, FactsRequest, FailureMode, InputOutcome, InputReport, inputs};
use profbridge::input::output::{self, is_standard_output};
use profbridge::input::{Family, Input, WeightedInput};
use profbridge::iprof::{self, Document};
use profbridge::stacks::collapsed::{self, ClassStyle, CollapsedOptions, write_collapsed};
use profbridge::stacks::pprof::{self, from_table, judge_for_go};
use profbridge::{Error, ErrorKind, Hint, Result, Warning};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

/// The merge of several sources of stacks.
pub(crate) struct StackJob<'a> {
    /// The inputs, with partial merges replaced by their own inputs.
    pub(crate) inputs: Cow<'a, [WeightedInput]>,
    /// The inputs as given, which a partial merge stores after its result.
    pub(crate) partial: Option<&'a [WeightedInput]>,
    pub(crate) format: StackOutput,
    pub(crate) output: &'a Path,
    pub(crate) read: &'a StackArgs,
    pub(crate) write: &'a WriteStackArgs,
    /// Fail instead of dropping data.
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
    /// Whether a document replaces the last line.
    pub(crate) json: bool,
    pub(crate) failure_mode: FailureMode,
    /// Keep the stacks before the fault of a damaged input, if the merge continues.
    pub(crate) salvage: bool,
    /// Write the result even if it is empty.
    pub(crate) allow_empty: bool,
}

/// The merged stacks as they are written.
struct StackMerge<'a> {
    job: StackJob<'a>,
    read: StackOptions,
    encoded: Encoded,
    /// The number of inputs that are part of it.
    used: usize,
    /// Warnings about the inputs.
    warnings: Vec<Warning>,
}

/// Encoded stacks.
struct Encoded {
    bytes: Vec<u8>,
    /// The number of distinct stacks.
    stacks: usize,
    content: Content,
    /// The dropped data.
    losses: Vec<String>,
    /// A remedy if the result is empty; `None` if it is not.
    nothing: Option<Hint>,
}

/// The written stacks, for counting.
enum Content {
    Table(Box<StackTable>),
    Pprof(Box<pprof::Profile>),
    Iprof(Box<Document>),
}

impl<'a> StackJob<'a> {
    /// Reads and merges the inputs, and records their outcomes.
    pub(crate) fn add_up(self, document: &mut MergeDocument) -> Result<Box<dyn Sum + 'a>> {
        let mut options = StackMergeOptions::default();
        options.read = self.read.read_options();
        if self.format == StackOutput::Iprof && options.read.recording.events.is_empty() {
            // An iprof has a section for exact call counts.
            options.read.recording.events.extend(SampleSource::CALLS);
        }
        (options.failure_mode, options.salvage) = (self.failure_mode, self.salvage);
        options.accepts_nothing = self.allow_empty;
        let pprof = &self.write.pprof;
        (options.pprof.drop_addresses, options.pprof.drop_labels) = (pprof.drop_addresses, pprof.drop_labels);
        let (all_pprof, to_pprof) = (are_pprof(&self.inputs), self.format == StackOutput::Pprof);
        self.write.refuse_for(self.format)?;
        if all_pprof && to_pprof && self.read.takes_all() {
            let merged = with_progress(self.quiet, |progress| merge_pprof(&self.inputs, &options, progress));
            return self.added(merged, options.read, document, |job, (profile, report)| {
                job.encode_pprof(&profile, report.warnings())
            });
        }
        let merged = with_progress(self.quiet, |progress| merge_tables(&self.inputs, &options, progress));
        self.added(merged, options.read, document, |job, table| job.encode_table(table))
    }

    fn added<T>(
        self,
        merged: Result<StackSum<T>, FailedMerge>,
        read: StackOptions,
        document: &mut MergeDocument,
        encode: impl FnOnce(&Self, T) -> Result<Encoded>,
    ) -> Result<Box<dyn Sum + 'a>> {
        let inputs = merged.as_ref().map_or_else(|failed| &failed.inputs, |merged| &merged.inputs);
        note(document, inputs);
        if let Err(failed) = &merged {
            print_failures(failed);
        }
        let merged = merged?;
        if merged.shares_nothing {
            crate::merge_inputs::warn_of_nothing_shared(self.quiet);
        }
        let (used, warnings) = (merged.used(), merged.warnings());
        let encoded = encode(&self, merged.sum)?;
        Ok(Box::new(StackMerge { job: self, read, encoded, used, warnings }))
    }
}

impl Sum for StackMerge<'_> {
    fn inputs(&self) -> &[Input] {
        &self.job.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        inputs::stack_total(input, &self.read)
    }

    fn facts(&self, wanted: FactsRequest) -> Result<Facts> {
        let mut facts = match &self.encoded.content {
            Content::Table(table) => facts_of(table, &self.job.read.selection(), wanted),
            Content::Pprof(profile) => facts_of_pprof(profile, &self.read.value, wanted)?,
            Content::Iprof(document) => iprof_facts(document, wanted),
        };
        facts.stacks = Some(self.encoded.stacks as u64);
        Ok(facts.of_inputs(self.used))
    }

    fn require_something(&self, _: &Facts) -> Result<()> {
        match &self.encoded.nothing {
            Some(hint) => Err(Error::nothing_found("no stacks are left to write").with_hint(hint.clone())),
            None => Ok(()),
        }
    }

    fn write(self: Box<Self>, _: &Facts, document: &mut MergeDocument) -> Result<()> {
        let Self { job, encoded, used, warnings, .. } = *self;
        document.warn(&job.warn(warnings, &encoded.losses)?);
        job.replace(encoded.bytes)?;
        let family = if job.format == StackOutput::Iprof { Family::Iprof } else { Family::Stacks };
        document.wrote(job.output, family.name());
        if !job.json && !job.quiet && !is_standard_output(job.output) {
            let inputs = inputs_of(used, job.inputs.len());
            let part = if job.partial.is_some() { PARTIAL_SUFFIX } else { "" };
            let stacks = number_of(encoded.stacks, "stack");
            console::status(&format!("{}: {stacks} from {inputs}{part}", job.output.display()));
        }
        Ok(())
    }
}

impl StackJob<'_> {
    fn encode_table(&self, mut table: StackTable) -> Result<Encoded> {
        let mut losses = Vec::new();
        if self.has_pprof(&table) {
            losses.push("dropped start lines, source files, addresses and mappings of pprof profiles".to_string());
        }
        if !self.write.reference.is_empty() {
            table = add_types(&table, self.write, &mut losses)?;
        }
        let mut encoded = match self.format {
            StackOutput::Iprof => self.encode_iprof(&table, losses)?,
            StackOutput::Collapsed => self.encode_collapsed(&table, losses)?,
            StackOutput::Pprof => {
                let (selected, nothing) = self.select(&table, &mut losses)?;
                let (profile, lost) = from_table(&selected);
                losses.extend(lost.words());
                // Values of one table differ only in their names, so it is trimmed like a merge.
                let encoded = self.encode_pprof(&profile, losses)?;
                return Ok(Encoded { nothing: nothing.or(encoded.nothing), ..encoded });
            }
        };
        let default = self.partial.map(|_| Compression::Gzip);
        encoded.bytes = compressed(encoded.bytes, self.output, default)?;
        Ok(encoded)
    }

    /// Replaces the output by a document. That of a partial merge is compressed.
    fn replace(&self, bytes: Vec<u8>) -> Result<()> {
        let Some(given) = self.partial else { return output::replace(self.output, &bytes) };
        // Duplicates were an error when the inputs were opened.
        let kept = keep_inputs(given, StoredFamily::Stacks, &BTreeSet::new(), true, &crate::limits::chosen())?;
        output::replace(self.output, &encode_kept(&kept, StoredFamily::Stacks, bytes)?)
    }

    fn has_pprof(&self, table: &StackTable) -> bool {
        table.observed.sources.iter().any(|source| source.starts_with(pprof::FORMAT))
    }

    /// Prints warnings about inputs and losses. Fails if losses are forbidden.
    fn warn(&self, mut warnings: Vec<Warning>, losses: &[String]) -> Result<Vec<Warning>> {
        if self.strict && !losses.is_empty() {
            return Err(Error::new(ErrorKind::WouldLose { detail: losses.join("; ") }).in_file(self.output));
        }
        warnings.extend(losses.iter().map(|loss| Warning::new(loss.clone()).in_file(self.output)));
        if !self.quiet {
            warnings.iter().for_each(console::warning);
        }
        Ok(warnings)
    }

    fn encode_pprof(&self, profile: &pprof::Profile, mut losses: Vec<String>) -> Result<Encoded> {
        let is_plain = self.partial.is_none() && self.output.extension().is_some_and(|extension| extension == "pb");
        let encode = |bytes: Vec<u8>| compressed(bytes, self.output, (!is_plain).then_some(Compression::Gzip));
        let arguments = &self.write.pprof;
        let wanted = arguments.max_stacks.unwrap_or(usize::MAX).min(profile.samples.len());
        let distinct = pprof::heaviest(profile, usize::MAX)?;
        let joined = profile.samples.len() - distinct.samples.len();
        if joined > 0 {
            let stacks = number_of(joined, "stack");
            losses.push(format!("merged {stacks} with others that differ only in data that is not written"));
        }
        let profile = &distinct;
        let kept = pprof::heaviest(profile, wanted)?;
        let (kept, bytes) = match arguments.max_bytes {
            Some(most) => pprof::trim_to_bytes(&kept, most, encode)?,
            None => {
                let bytes = encode(pprof::write(&kept)?)?;
                (kept, bytes)
            }
        };
        let (stacks, left_out) = (kept.samples.len(), profile.samples.len() - kept.samples.len());
        if left_out > 0 {
            losses.push(format!(
                "dropped {left_out} of {}, those with the lowest values",
                number_of(profile.samples.len(), "stack")
            ));
        }
        if self.partial.is_none() && self.output.extension().is_some_and(|extension| extension == "pgo") {
            refuse_for_go(&kept).map_err(|error| error.in_file(self.output))?;
        }
        let nothing = (stacks == 0).then_some(Hint::AllowEmpty);
        Ok(Encoded { bytes, stacks, content: Content::Pprof(Box::new(kept)), losses, nothing })
    }

    fn encode_iprof(&self, table: &StackTable, mut losses: Vec<String>) -> Result<Encoded> {
        self.refuse_weights(table)?;
        let mut options = SampleOptions::default();
        options.selection = self.read.selection();
        options.unknown_bci = self.write.bci_unknown;
        options.drop_hidden = self.write.drop_hidden;
        let (document, report) = iprof_from_stacks(table, &options);
        losses.extend(report.losses());
        let written = report.stacks.saturating_add(report.called_methods);
        let nothing = (written == 0).then(|| match report.without_java {
            0 => why_nothing_to_write(table),
            _ => "no sample has a Java frame, and an iprof is for Java; name the output .collapsed or .pprof".into(),
        });
        let stacks = usize::try_from(written).unwrap_or(usize::MAX);
        let bytes = iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(&document);
        Ok(Encoded { bytes, stacks, content: Content::Iprof(Box::new(document)), losses, nothing })
    }

    /// Rejects weights that do not measure time, as the samples of an iprof do.
    fn refuse_weights(&self, table: &StackTable) -> Result<()> {
        let (selected, _) = table.select(&self.read.selection());
        let event_types = selected.hits_by_source();
        let weighed =
            event_types.iter().map(|(source, _)| *source).find(|source| !source.is_timed() && !source.counts_calls());
        let unit = unit_of(&selected)?;
        let what = match (weighed, unit) {
            _ if self.read.value => return Ok(()),
            (None, Unit::Hits) => return Ok(()),
            (None, unit) => unit.word().to_string(),
            (Some(source), unit) => format!("{} of {}", unit.word(), source.word()),
        };
        let detail = format!("iprof samples measure time, but the input counts {what}");
        Err(Error::usage(detail).in_file(self.output).with_hint("use --value to treat the values as sample counts"))
    }

    /// Selects the samples to write, and returns a hint if there are none.
    fn select(&self, table: &StackTable, losses: &mut Vec<String>) -> Result<(StackTable, Option<Hint>)> {
        let (selected, left_out) = table.select(&self.read.selection());
        let nothing = selected.is_empty().then(|| why_nothing_to_write(table));
        for (count, words) in [
            (left_out.other_sources, "of other event types (see --events)"),
            (left_out.truncated, "with truncated stacks"),
            (left_out.other_threads, "of other threads"),
        ] {
            if count > 0 {
                losses.push(format!("dropped {} {words}", number_of(count, "sample")));
            }
        }
        Ok((selected, nothing))
    }

    fn encode_collapsed(&self, table: &StackTable, mut losses: Vec<String>) -> Result<Encoded> {
        let (selected, nothing) = self.select(table, &mut losses)?;
        let unit = unit_of(&selected)?;
        let mut options = CollapsedOptions::default();
        options.style = if self.write.dots { ClassStyle::Dots } else { ClassStyle::Slashes };
        options.descriptors = !self.write.no_descriptors;
        options.bcis = !self.write.no_bci;
        options.threads = self.write.threads;
        let (text, joined) = write_collapsed(&selected, &options);
        if joined > 0 {
            let stacks = number_of(joined, "stack");
            losses.push(format!("merged {stacks} with others that differ only in data that is not written"));
        }
        let stacks = text.lines().count();
        // Other readers skip the comment; fractions say themselves that they are millionths.
        let bytes = match unit {
            Unit::Bytes | Unit::Nanoseconds => {
                format!("{}{}\n{text}", collapsed::UNIT_COMMENT, unit.word()).into_bytes()
            }
            _ => text.into_bytes(),
        };
        Ok(Encoded { bytes, stacks, content: Content::Table(Box::new(selected)), losses, nothing })
    }
}

/// Rejects a profile with which Go's compiler fails, because its sample types are others: that of a heap, for example.
fn refuse_for_go(profile: &pprof::Profile) -> Result<()> {
    let (_, findings) = judge_for_go(profile);
    match findings.into_iter().find(|finding| finding.code == "go-value") {
        Some(finding) => Err(Error::usage(format!("Go's compiler rejects this profile: {}", finding.message))
            .with_hint(format!("{}; name the output .pprof to write it anyway", finding.hint))),
        None => Ok(()),
    }
}

/// Merges with a progress bar.
fn with_progress<T>(quiet: bool, merge: impl FnOnce(OnProgress<'_>) -> T) -> T {
    let progress = console::Progress::new("merging", quiet);
    let merged = merge(&mut |done, total| progress.update(done, total));
    progress.finish();
    merged
}

/// Records the outcomes of the inputs.
fn note(document: &mut MergeDocument, inputs: &[InputReport]) {
    for (at, report) in inputs.iter().enumerate() {
        document.note_outcome(at, &report.outcome);
        if matches!(report.outcome, InputOutcome::Failed(_)) && report.records > 0 {
            document.note_salvaged(at);
        }
    }
}

/// Prints the errors of unreadable inputs other than the one that ended the merge.
fn print_failures(failed: &FailedMerge) {
    for report in &failed.inputs {
        if let InputOutcome::Failed(error) = &report.outcome {
            console::error_as_warning(error);
        }
    }
}
