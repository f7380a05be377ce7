//! Stacks as they are written: collapsed text, pprof or an iprof.

use crate::bridge::stacks::{SampleOptions, iprof_from_stacks};
use crate::call_chains::{Selection, StackTable, Unit, hits_in};
use crate::compression::{Compression, compress_for};
use crate::digits::number_of;
use crate::driver::{Facts, FactsRequest};
use crate::error::{Error, Result};
use crate::families::merge::iprof::facts_of as iprof_facts;
use crate::families::plan::StackOutput;
use crate::families::stack_files::{facts_of, facts_of_pprof, read_reference, unit_of};
use crate::hint::Hint;
use crate::iprof::{self, Document};
use crate::limits::Limits;
use crate::stacks::classes::Overload;
use crate::stacks::collapsed::{self, CollapsedOptions, collapse};
use crate::stacks::pprof::{self, ValueChoice, from_table, judge_for_go};
use std::path::{Path, PathBuf};

/// How stacks are written.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StackWriteOptions {
    /// The format.
    pub format: StackOutput,
    /// The samples to write.
    pub selection: Selection,
    /// Which value of a pprof is counted.
    pub value: ValueChoice,
    /// Accept weights that do not measure time as samples of an iprof.
    pub accept_weights: bool,
    /// Sources of missing types: class files, jars, directories of them, iprof files, recordings.
    pub reference: Vec<PathBuf>,
    /// The treatment of methods with several overloads in the reference.
    pub overload: Overload,
    /// The bytecode index of an iprof where none is known; `None` uses that of [`SampleOptions`].
    pub unknown_bci: Option<i32>,
    /// Drop frames of hidden classes from an iprof.
    pub drop_hidden: bool,
    /// The style of collapsed text.
    pub collapsed: CollapsedOptions,
    /// Keep this number of stacks in a pprof, those with the highest values.
    pub max_stacks: Option<usize>,
    /// Keep the stacks with the highest values that fit into a file of this size.
    pub max_bytes: Option<usize>,
    /// Limits for the reference.
    pub limits: Limits,
}

impl StackWriteOptions {
    /// Returns the default options for a format.
    pub fn new(format: StackOutput) -> Self {
        Self {
            format,
            selection: Selection::default(),
            value: ValueChoice::default(),
            accept_weights: false,
            reference: Vec::new(),
            overload: Overload::First,
            unknown_bci: None,
            drop_hidden: false,
            collapsed: CollapsedOptions::default(),
            max_stacks: None,
            max_bytes: None,
            limits: Limits::default(),
        }
    }
}

/// Encoded stacks.
#[derive(Debug)]
#[non_exhaustive]
pub struct EncodedStacks {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The number of distinct stacks.
    pub stacks: usize,
    /// The dropped data, in words.
    pub losses: Vec<String>,
    /// Why there are no stacks; `None` if there are some.
    pub nothing: Option<NoStacks>,
    content: Written,
    options: (Selection, ValueChoice),
    /// The size limit that left no stacks.
    too_few_bytes: Option<usize>,
}

/// The reason why no stacks are left.
#[derive(Debug)]
#[non_exhaustive]
pub enum NoStacks {
    /// The inputs have no selected samples: the stacks of the inputs.
    Selected(Box<StackTable>),
    /// Trimming left none.
    Trimmed,
    /// No stack has a Java frame, which an iprof needs.
    NoJavaFrames,
}

/// The written stacks, for counting.
#[derive(Debug)]
enum Written {
    Table(Box<StackTable>),
    Pprof(Box<pprof::Profile>),
    Iprof(Box<Document>),
}

impl EncodedStacks {
    /// Returns true if the file is an iprof.
    pub fn is_iprof(&self) -> bool {
        matches!(self.content, Written::Iprof(_))
    }

    /// Returns the iprof, if this is one.
    #[doc(hidden)]
    pub fn into_iprof(self) -> Option<Document> {
        match self.content {
            Written::Iprof(document) => Some(*document),
            _ => None,
        }
    }

    /// Returns the facts about the stacks.
    ///
    /// # Errors
    ///
    /// Usage for a value that a pprof does not have.
    pub fn facts(&self, wanted: FactsRequest) -> Result<Facts> {
        let (selection, value) = &self.options;
        let mut facts = match &self.content {
            Written::Table(table) => facts_of(table, selection, wanted),
            Written::Pprof(profile) => facts_of_pprof(profile, value, wanted)?,
            Written::Iprof(document) => iprof_facts(document, wanted),
        };
        facts.stacks = Some(self.stacks as u64);
        Ok(facts)
    }

    /// Fails if there are no stacks.
    ///
    /// # Errors
    ///
    /// Nothing found.
    pub fn require_something(&self) -> Result<()> {
        let error = || Error::nothing_found("no stacks are left to write");
        match self.nothing {
            None => Ok(()),
            // A program knows how other stacks of the inputs are selected.
            Some(NoStacks::Selected(_)) => Err(error()),
            Some(NoStacks::Trimmed) => Err(match self.too_few_bytes {
                Some(most) => {
                    let most = number_of(most as u64, "byte");
                    Error::nothing_found(format!("no stacks are left to write: not even the heaviest fits into {most}"))
                        .with_hint("allow more bytes")
                }
                None => error().with_hint(Hint::AllowEmpty),
            }),
            Some(NoStacks::NoJavaFrames) => Err(error().with_hint(
                "no sample has a Java frame, and an iprof is for Java; name the output .collapsed or .pprof",
            )),
        }
    }
}

/// Encodes a table of stacks for an output file, whose extension selects the compression.
///
/// # Errors
///
/// Usage for values that the format cannot store.
#[doc(hidden)]
pub fn encode_table(table: StackTable, options: &StackWriteOptions, output: &Path) -> Result<EncodedStacks> {
    StackEncoder { options, output, pprof: pprof::MergeOptions::default(), is_partial: false }.table(table)
}

/// Encodes a merged pprof profile for an output file, whose extension selects the compression.
///
/// # Errors
///
/// The errors of the writer of pprof.
#[doc(hidden)]
pub fn encode_pprof(profile: pprof::Profile, options: &StackWriteOptions, output: &Path) -> Result<EncodedStacks> {
    let pprof = pprof::MergeOptions::default();
    StackEncoder { options, output, pprof, is_partial: false }.merged_pprof(profile, Vec::new())
}

/// Encodes stacks for an output file.
pub(super) struct StackEncoder<'a> {
    pub(super) options: &'a StackWriteOptions,
    pub(super) output: &'a Path,
    /// The data that a pprof of a table leaves out.
    pub(super) pprof: pprof::MergeOptions,
    /// Whether the bytes are the beginning of a partial merge.
    pub(super) is_partial: bool,
}

impl StackEncoder<'_> {
    /// Encodes a table.
    pub(super) fn table(&self, mut table: StackTable) -> Result<EncodedStacks> {
        let mut losses = Vec::new();
        let is_pprof = self.options.format == StackOutput::Pprof;
        let left_out = table.observed.left_out.iter().filter(|(what, _)| !is_pprof || *what != pprof::START_LINE);
        let left_out: Vec<String> = left_out.map(|(what, count)| number_of(*count, what)).collect();
        if !left_out.is_empty() {
            losses.push(format!("dropped {} of pprof profiles", left_out.join(", ")));
        }
        losses.extend(table.warnings_about_counts());
        if !self.options.reference.is_empty() {
            table = self.add_types(&table, &mut losses)?;
        }
        if table.observed.other_entries > 0 {
            let count = table.observed.other_entries;
            let entries = if count == 1 { "entry" } else { "entries" };
            losses.push(format!("dropped {count} {entries} of other sections of iprof files, which are not samples"));
        }
        if table.observed.samples_without_stack > 0 {
            let samples = number_of(table.observed.samples_without_stack, "sample");
            losses.push(format!("dropped {samples} without a stack"));
        }
        if table.saturated() > 0 && self.options.format != StackOutput::Iprof {
            losses.push(format!("{} stopped at 2^63-1", number_of(table.saturated(), "sum")));
        }
        let mut encoded = match self.options.format {
            StackOutput::Iprof => self.iprof(table, losses)?,
            StackOutput::Collapsed => self.collapsed(table, losses)?,
            StackOutput::Pprof => {
                let (selected, nothing) = self.select(table, &mut losses);
                let (mut profile, lost) = from_table(&selected);
                losses.extend(lost.words());
                if self.pprof.drop_labels || self.pprof.drop_addresses {
                    // The merge leaves them out, as for inputs in pprof.
                    let mut merger = pprof::Merger::new(self.pprof);
                    merger.add(&profile, 1)?;
                    profile = merger.finish_with_report().0;
                }
                // Values of one table differ only in their names, so it is trimmed like a merge.
                let encoded = self.pprof(&profile, losses)?;
                return Ok(EncodedStacks { nothing: nothing.or(encoded.nothing), ..encoded });
            }
        };
        encoded.bytes = compress_for(encoded.bytes, self.output, self.is_partial.then_some(Compression::Gzip))?;
        Ok(encoded)
    }

    /// Selects and encodes merged pprof profiles. A table of stacks would not store all of their data.
    pub(super) fn merged_pprof(&self, mut profile: pprof::Profile, mut losses: Vec<String>) -> Result<EncodedStacks> {
        profile.keep_chosen(&self.options.value)?;
        let Some(thread) = &self.options.selection.thread else { return self.pprof(&profile, losses) };
        let kept = profile.samples_of_thread(thread);
        let dropped = profile.samples.len() - kept.len();
        if dropped > 0 {
            losses.push(format!("dropped {} of other threads", number_of(dropped as u64, "stack")));
        }
        let all = std::mem::replace(&mut profile.samples, kept);
        let encoded = self.pprof(&profile, losses)?;
        if !profile.samples.is_empty() || all.is_empty() {
            return Ok(encoded);
        }
        let mut table = StackTable::new();
        pprof::add_to_table(&pprof::Profile { samples: all, ..profile }, &self.options.value, &mut table)?;
        Ok(EncodedStacks { nothing: Some(NoStacks::Selected(Box::new(table))), ..encoded })
    }

    /// Encodes a pprof profile.
    fn pprof(&self, profile: &pprof::Profile, mut losses: Vec<String>) -> Result<EncodedStacks> {
        let is_plain = !self.is_partial && self.output.extension().is_some_and(|extension| extension == "pb");
        let encode = |bytes: Vec<u8>| compress_for(bytes, self.output, (!is_plain).then_some(Compression::Gzip));
        let wanted = self.options.max_stacks.unwrap_or(usize::MAX).min(profile.samples.len());
        let distinct = pprof::heaviest(profile, usize::MAX)?;
        let joined = profile.samples.len() - distinct.samples.len();
        if joined > 0 {
            let stacks = number_of(joined as u64, "stack");
            losses.push(format!("merged {stacks} with others that differ only in data that is not written"));
        }
        let profile = &distinct;
        let kept = pprof::heaviest(profile, wanted)?;
        let (kept, bytes) = match self.options.max_bytes {
            Some(most) => pprof::trim_to_bytes(&kept, most, encode)?,
            None => {
                let bytes = encode(pprof::write(&kept)?)?;
                (kept, bytes)
            }
        };
        let (stacks, left_out) = (kept.samples.len(), profile.samples.len() - kept.samples.len());
        if left_out > 0 {
            let all = number_of(profile.samples.len() as u64, "stack");
            losses.push(format!("dropped {left_out} of {all}, those with the lowest values"));
        }
        let is_for_go = !self.is_partial && self.output.extension().is_some_and(|extension| extension == "pgo");
        if is_for_go && stacks > 0 {
            refuse_for_go(&kept).map_err(|error| error.in_file(self.output))?;
        }
        let nothing = (stacks == 0).then_some(NoStacks::Trimmed);
        let too_few_bytes = self.options.max_bytes.filter(|_| stacks == 0 && wanted > 0);
        let encoded = self.encoded(bytes, stacks, Written::Pprof(Box::new(kept)), losses, nothing);
        Ok(EncodedStacks { too_few_bytes, ..encoded })
    }

    fn encoded(
        &self,
        bytes: Vec<u8>,
        stacks: usize,
        content: Written,
        losses: Vec<String>,
        nothing: Option<NoStacks>,
    ) -> EncodedStacks {
        let options = (self.options.selection.clone(), self.options.value.clone());
        EncodedStacks { bytes, stacks, losses, nothing, content, options, too_few_bytes: None }
    }

    fn iprof(&self, table: StackTable, mut losses: Vec<String>) -> Result<EncodedStacks> {
        self.refuse_weights(&table)?;
        let mut options = SampleOptions::default();
        options.selection = self.options.selection.clone();
        options.unknown_bci = self.options.unknown_bci.unwrap_or(options.unknown_bci);
        options.drop_hidden = self.options.drop_hidden;
        let (document, report) = iprof_from_stacks(&table, &options);
        losses.extend(report.losses());
        let written = report.stacks.saturating_add(report.called_methods);
        let nothing = (written == 0).then(|| match report.without_java {
            0 => NoStacks::Selected(Box::new(table)),
            _ => NoStacks::NoJavaFrames,
        });
        let stacks = usize::try_from(written).unwrap_or(usize::MAX);
        let bytes = iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(&document);
        Ok(self.encoded(bytes, stacks, Written::Iprof(Box::new(document)), losses, nothing))
    }

    /// Rejects weights that do not measure time, as the samples of an iprof do.
    fn refuse_weights(&self, table: &StackTable) -> Result<()> {
        let (selected, _) = table.select(&self.options.selection);
        let event_types = selected.hits_by_source();
        let weighed =
            event_types.iter().map(|(source, _)| *source).find(|source| !source.is_timed() && !source.counts_calls());
        // Calls have a section of their own.
        let unit = unit_of(&selected.filter_samples(|sample| !sample.key.source.counts_calls()))?;
        let what = match (weighed, unit) {
            _ if self.options.accept_weights => return Ok(()),
            (None, Unit::Hits) => return Ok(()),
            (None, unit) => unit.word().to_string(),
            (Some(source), unit) => format!("{} of {}", unit.word(), source.word()),
        };
        let detail = format!("iprof samples measure time, but the input counts {what}");
        Err(Error::usage(detail).in_file(self.output).with_hint(Hint::AcceptWeights))
    }

    /// Selects the samples to write, and returns the reason if there are none.
    fn select(&self, table: StackTable, losses: &mut Vec<String>) -> (StackTable, Option<NoStacks>) {
        let (selected, left_out) = table.select(&self.options.selection);
        let others = table.hits_of_other_sources(&self.options.selection);
        if !others.is_empty() {
            let others: Vec<String> = others.into_iter().map(|(unit, count)| hits_in(Some(unit), count)).collect();
            losses.push(format!("dropped {} of other event types", others.join(" and ")));
        }
        for (count, words) in
            [(left_out.truncated, "with truncated stacks"), (left_out.other_threads, "of other threads")]
        {
            if count > 0 {
                losses.push(format!("dropped {} {words}", hits_in(selected.unit(), count)));
            }
        }
        let nothing = selected.is_empty().then(|| NoStacks::Selected(Box::new(table)));
        (selected, nothing)
    }

    fn collapsed(&self, table: StackTable, mut losses: Vec<String>) -> Result<EncodedStacks> {
        let (selected, nothing) = self.select(table, &mut losses);
        let unit = unit_of(&selected)?;
        let (text, lost) = collapse(&selected, &self.options.collapsed);
        losses.extend(lost.words());
        let stacks = text.lines().count();
        // Other readers skip the comment; fractions say themselves that they are millionths.
        let bytes = match unit {
            // A partial merge without stacks is not an empty file.
            _ if self.is_partial && stacks == 0 => format!("{}{}\n", collapsed::UNIT_COMMENT, unit.word()).into_bytes(),
            Unit::Bytes | Unit::Nanoseconds => {
                format!("{}{}\n{text}", collapsed::UNIT_COMMENT, unit.word()).into_bytes()
            }
            _ => text.into_bytes(),
        };
        Ok(self.encoded(bytes, stacks, Written::Table(Box::new(selected)), losses, nothing))
    }

    /// Adds the types that stacks lack, from the reference.
    fn add_types(&self, table: &StackTable, losses: &mut Vec<String>) -> Result<StackTable> {
        let reference = read_reference(&self.options.reference, &self.options.limits)?;
        let (table, report) = reference.resolve(table, self.options.overload);
        if report.overloaded > 0 {
            let what = match self.options.overload {
                Overload::First => "the first was used",
                Overload::Skip => "their frames were dropped",
                Overload::All => "leaf frames count for every overload",
            };
            let methods = number_of(report.overloaded, "method");
            losses.push(format!("{methods} with several overloads in the reference; {what}"));
        }
        for (count, words) in [
            (report.unknown, ("method", "not in the reference")),
            (report.dropped_hits, ("sample", "without any frame left")),
            (report.repeated_hits, ("hit", "counted again for another overload")),
        ] {
            if count > 0 {
                losses.push(format!("{} {}", number_of(count, words.0), words.1));
            }
        }
        Ok(table)
    }
}

/// Rejects a profile with which Go's compiler fails: its sample types are others, as those of a heap, or no function has its
/// first line.
fn refuse_for_go(profile: &pprof::Profile) -> Result<()> {
    let (_, findings) = judge_for_go(profile);
    match findings.into_iter().find(|finding| matches!(finding.code, "go-value" | "go-start-line")) {
        Some(finding) => Err(Error::usage(format!("Go's compiler rejects this profile: {}", finding.message))
            .with_hint(format!("{}; name the output .pprof to write it anyway", finding.hint))),
        None => Ok(()),
    }
}
