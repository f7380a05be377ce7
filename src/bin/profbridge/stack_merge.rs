//! `merge` of sampled stacks, and `convert` between sources of stacks, iprof, collapsed text and pprof.

use crate::console;
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::stack_write::{WriteStackArgs, add_types};
use crate::stacks::{StackArgs, nothing_to_write};
use crate::words::{A_PART, inputs_of, number_of};
use profbridge::bridge::stacks::{SampleOptions, iprof_from_stacks};
use profbridge::input::output::{self, is_standard_output};
use profbridge::input::{Family, Input, WeightedInput};
use profbridge::iprof;
use profbridge::pipeline::merge::stacks::{
    StackMergeOptions, StackSum, are_pprof, extent_of, merge_pprof, merge_tables,
};
use profbridge::pipeline::partial::{KeptFamily, encode_kept, keep_inputs};
use profbridge::pipeline::plan::StackOutput;
use profbridge::pipeline::read::stacks::{StackOptions, unit_of};
use profbridge::pipeline::{Extent, FailureMode, InputOutcome, input_totals};
use profbridge::stacks::collapsed::{ClassStyle, CollapsedOptions, write_collapsed};
use profbridge::stacks::model::{StackTable, Unit};
use profbridge::stacks::pprof::{self, add_to_table, from_table};
use profbridge::{Error, ErrorKind, Result, Warning};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

/// How a gzip stream begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Sources of stacks to be added up and written.
pub(crate) struct StackJob<'a> {
    /// The inputs, those of partial merges in place of these.
    pub(crate) inputs: Cow<'a, [WeightedInput]>,
    /// The inputs to keep behind the result, for a merge that goes on: as they were given.
    pub(crate) partial: Option<&'a [WeightedInput]>,
    pub(crate) format: StackOutput,
    pub(crate) output: &'a Path,
    pub(crate) read: &'a StackArgs,
    pub(crate) write: &'a WriteStackArgs,
    /// Fail instead of losing something.
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
    /// The document takes the place of the last line.
    pub(crate) json: bool,
    pub(crate) failure_mode: FailureMode,
    /// Keep what stands before the fault of a bad input, where the merge goes on.
    pub(crate) salvage: bool,
    /// Write a result even if there is nothing in it.
    pub(crate) allow_empty: bool,
}

/// What became of a sum.
#[derive(Debug, Default)]
struct Written {
    /// Distinct stacks.
    stacks: usize,
    /// What was odd or lost.
    warnings: Vec<Warning>,
}

/// Stacks that were added up.
struct AddedStacks<'a> {
    job: StackJob<'a>,
    read: StackOptions,
    sum: Added,
    /// Inputs that are part of it.
    used: usize,
    /// What was odd about the inputs.
    warnings: Vec<Warning>,
}

/// As what stacks were added up.
enum Added {
    /// pprof profiles that stay what they are, and what was lost.
    Pprof(Box<pprof::Profile>, Vec<String>),
    Table(Box<StackTable>),
}

impl<'a> StackJob<'a> {
    /// Reads and adds up; notes what became of the inputs.
    pub(crate) fn add_up(self, document: &mut MergeDocument) -> Result<Box<dyn Sum + 'a>> {
        let mut options = StackMergeOptions::default();
        options.read = self.read.read_options();
        (options.failure_mode, options.salvage) = (self.failure_mode, self.salvage);
        options.accepts_nothing = self.allow_empty;
        let pprof = &self.write.pprof;
        (options.pprof.drop_addresses, options.pprof.drop_labels) = (pprof.drop_addresses, pprof.drop_labels);
        let (all_pprof, to_pprof) = (are_pprof(&self.inputs), self.format == StackOutput::Pprof);
        self.write.refuse_for(self.format)?;
        if all_pprof && to_pprof && self.read.takes_all() {
            let merged = merge_pprof(&self.inputs, &options);
            return self.added(merged, options.read, document, |(profile, report)| {
                Added::Pprof(Box::new(profile), report.warnings())
            });
        }
        let merged = merge_tables(&self.inputs, &options);
        self.added(merged, options.read, document, |table| Added::Table(Box::new(table)))
    }

    fn added<T>(
        self,
        merged: Result<StackSum<T>>,
        read: StackOptions,
        document: &mut MergeDocument,
        sum: impl FnOnce(T) -> Added,
    ) -> Result<Box<dyn Sum + 'a>> {
        let merged = merged.inspect_err(|error| document.note_until(error))?;
        note(document, &merged.outcomes);
        merged.salvaged.iter().for_each(|at| document.note_salvaged(*at));
        if merged.shares_nothing {
            crate::merge_inputs::say_nothing_shared(self.quiet);
        }
        let used = merged.used();
        Ok(Box::new(AddedStacks { job: self, read, sum: sum(merged.sum), used, warnings: merged.warnings }))
    }
}

impl Sum for AddedStacks<'_> {
    fn inputs(&self) -> &[Input] {
        &self.job.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        input_totals::stack_total(input, &self.read)
    }

    fn extent(&self) -> Extent {
        let selection = self.job.read.selection();
        match &self.sum {
            Added::Table(table) => extent_of(table, &selection, self.used),
            Added::Pprof(profile, _) => {
                let mut table = StackTable::new();
                // What was merged has the values that were read.
                let _ = add_to_table(profile, &self.read.value, &mut table);
                extent_of(&table, &selection, self.used)
            }
        }
    }

    /// What there is to write is known when the samples that are wanted were chosen.
    fn lacks(&self) -> Option<&'static str> {
        None
    }

    fn write(self: Box<Self>, document: &mut MergeDocument) -> Result<()> {
        let Self { job, sum, used, warnings, .. } = *self;
        let written = match sum {
            Added::Pprof(profile, losses) => job.write_pprof(&profile, warnings, losses)?,
            Added::Table(table) => job.write_table(*table, warnings)?,
        };
        document.stacks = Some(written.stacks);
        document.warn(&written.warnings);
        let family = if job.format == StackOutput::Iprof { Family::Iprof } else { Family::Stacks };
        document.wrote(job.output, family.name());
        if !job.json && !job.quiet && !is_standard_output(job.output) {
            let inputs = inputs_of(used, job.inputs.len());
            let part = if job.partial.is_some() { A_PART } else { "" };
            console::say(&format!(
                "{}: {} from {inputs}{part}",
                job.output.display(),
                number_of(written.stacks, "stack")
            ));
        }
        Ok(())
    }
}

impl StackJob<'_> {
    fn write_table(&self, mut table: StackTable, warnings: Vec<Warning>) -> Result<Written> {
        let mut losses = Vec::new();
        if self.has_pprof(&table) {
            losses.push(
                "start lines, source files, addresses and mappings of pprof profiles are not written".to_string(),
            );
        }
        if !self.write.reference.is_empty() {
            table = add_types(&table, self.write, &mut losses)?;
        }
        let (bytes, stacks) = match self.format {
            StackOutput::Iprof => self.iprof(&table, &mut losses)?,
            StackOutput::Collapsed => self.collapsed(&table, &mut losses)?,
            StackOutput::Pprof => {
                let selected = self.select(&table, &mut losses)?;
                let (profile, lost) = from_table(&selected)?;
                losses.extend(lost.words());
                // What one table says is told apart by names alone: it is trimmed as a merge would be.
                return self.write_pprof(&profile, warnings, losses);
            }
        };
        let warnings = self.say(warnings, &losses)?;
        let compressed = self.output.extension().is_some_and(|extension| extension == "gz");
        self.replace(if compressed { gzip(&bytes)? } else { bytes })?;
        Ok(Written { stacks, warnings })
    }

    fn replace(&self, bytes: Vec<u8>) -> Result<()> {
        let Some(given) = self.partial else { return output::replace(self.output, &bytes) };
        let document = if bytes.starts_with(&GZIP) { bytes } else { gzip(&bytes)? };
        let kept = keep_inputs(given, KeptFamily::Stacks, &BTreeSet::new(), &crate::limits::chosen())?;
        output::replace(self.output, &encode_kept(&kept, KeptFamily::Stacks, document)?)
    }

    fn has_pprof(&self, table: &StackTable) -> bool {
        table.observed.sources.iter().any(|source| source.starts_with(pprof::FORMAT))
    }

    /// Prints warnings about inputs and losses; an error when losing is forbidden.
    fn say(&self, mut warnings: Vec<Warning>, losses: &[String]) -> Result<Vec<Warning>> {
        if self.strict && !losses.is_empty() {
            return Err(Error::new(ErrorKind::WouldLose { detail: losses.join("; ") }).in_file(self.output));
        }
        warnings.extend(losses.iter().map(|loss| Warning::new(loss.clone()).in_file(self.output)));
        if !self.quiet {
            warnings.iter().for_each(console::warning);
        }
        Ok(warnings)
    }

    fn write_pprof(
        &self,
        profile: &pprof::Profile,
        warnings: Vec<Warning>,
        mut losses: Vec<String>,
    ) -> Result<Written> {
        let is_plain = self.output.extension().is_some_and(|extension| extension == "pb");
        let encode = |bytes: Vec<u8>| if is_plain { Ok(bytes) } else { gzip(&bytes) };
        let arguments = &self.write.pprof;
        let wanted = arguments.max_stacks.unwrap_or(usize::MAX).min(profile.samples.len());
        let kept = pprof::heaviest(profile, wanted)?;
        let (kept, bytes) = match arguments.max_bytes {
            Some(most) => pprof::trim_to_bytes(&kept, most, encode)?,
            None => {
                let bytes = encode(pprof::write(&kept)?)?;
                (kept, bytes)
            }
        };
        let (stacks, left_out) = (kept.samples.len(), profile.samples.len() - kept.samples.len());
        if stacks == 0 && !self.allow_empty {
            let error = Error::nothing_found("no stack is left to write").in_file(self.output);
            return Err(error.with_hint("--allow-empty writes a profile all the same"));
        }
        if left_out > 0 {
            losses.push(format!("{left_out} of {}, the lightest, left out", number_of(profile.samples.len(), "stack")));
        }
        let warnings = self.say(warnings, &losses)?;
        self.replace(bytes)?;
        Ok(Written { stacks, warnings })
    }

    fn iprof(&self, table: &StackTable, losses: &mut Vec<String>) -> Result<(Vec<u8>, usize)> {
        self.refuse_weights(table)?;
        let mut options = SampleOptions::default();
        options.selection = self.read.selection();
        options.unknown_bci = self.write.bci_unknown;
        options.drop_hidden = self.write.drop_hidden;
        let (document, report) = iprof_from_stacks(table, &options)?;
        losses.extend(report.losses());
        if report.stacks == 0 && !self.allow_empty {
            return Err(nothing_to_write(table));
        }
        let stacks = usize::try_from(report.stacks).unwrap_or(usize::MAX);
        Ok((iprof::write(&document, &iprof::WriteOptions::default()), stacks))
    }

    /// An iprof's samples say how long something ran, which allocated bytes do not.
    fn refuse_weights(&self, table: &StackTable) -> Result<()> {
        let (selected, _) = table.select(&self.read.selection())?;
        let sorts = selected.hits_by_source();
        let weighed = sorts.iter().map(|(source, _)| *source).find(|source| !source.is_timed());
        let unit = unit_of(&selected)?;
        let what = match (weighed, unit) {
            _ if self.read.value => return Ok(()),
            (None, Unit::Hits) => return Ok(()),
            (None, unit) => unit.word().to_string(),
            (Some(source), unit) => format!("{} of the sort {}", unit.word(), source.word()),
        };
        let detail = format!("the samples of an iprof measure time, these count {what}");
        Err(Error::usage(detail).in_file(self.output).with_hint("--value takes the numbers as hits all the same"))
    }

    /// The samples that are to be written.
    fn select(&self, table: &StackTable, losses: &mut Vec<String>) -> Result<StackTable> {
        let (selected, left_out) = table.select(&self.read.selection())?;
        if selected.is_empty() && !self.allow_empty {
            return Err(nothing_to_write(table));
        }
        for (count, words) in [
            (left_out.other_sources, "of sorts that were not asked for (see --events)"),
            (left_out.truncated, "with truncated stacks"),
            (left_out.other_threads, "of other threads"),
        ] {
            if count > 0 {
                losses.push(format!("{} {words}: left out", number_of(count, "sample")));
            }
        }
        Ok(selected)
    }

    fn collapsed(&self, table: &StackTable, losses: &mut Vec<String>) -> Result<(Vec<u8>, usize)> {
        let selected = self.select(table, losses)?;
        let unit = unit_of(&selected)?;
        if unit != Unit::Hits {
            losses.push(format!("the numbers are {}, which collapsed text does not say", unit.word()));
        }
        let mut options = CollapsedOptions::default();
        options.style = if self.write.dots { ClassStyle::Dots } else { ClassStyle::Slashes };
        options.descriptors = !self.write.no_descriptors;
        options.bcis = !self.write.no_bci;
        options.threads = self.write.threads;
        let (text, joined) = write_collapsed(&selected, &options)?;
        if joined > 0 {
            let stacks = number_of(joined, "stack");
            losses.push(format!("{stacks} joined others that differ only in what is not written"));
        }
        let stacks = text.lines().count();
        Ok((text.into_bytes(), stacks))
    }
}

/// Notes what became of the inputs.
fn note(document: &mut MergeDocument, outcomes: &[InputOutcome]) {
    outcomes.iter().enumerate().for_each(|(at, outcome)| document.note_outcome(at, outcome));
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    output::gzip(bytes).map_err(|source| Error::io("cannot compress", source))
}
