//! Options of every command that reads stacks, and `convert` between sources
//! of stacks, iprof, collapsed text and pprof.

use crate::console;
use crate::hints::in_words;
use crate::merge_document::MergeDocument;
use crate::merge_gates::MergeGateArgs;
use crate::words::number_of;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use profbridge::bridge::stacks::{IprofHits, SampleOptions, iprof_from_stacks};
use profbridge::input::{Family, Input, WeightedInput, output};
use profbridge::iprof;
use profbridge::pipeline::merge_stacks::{self, StackMergeOptions};
use profbridge::pipeline::partial::{KeptFamily, encode_kept, keep_inputs};
use profbridge::pipeline::plan::StackOutput;
use profbridge::pipeline::samples::{self, StackOptions};
use profbridge::pipeline::{Extent, FailureMode, InputOutcome, input_totals};
use profbridge::stacks::classes::Overload;
use profbridge::stacks::collapsed::{ClassStyle, CollapsedOptions, Dialect, write_collapsed};
use profbridge::stacks::jfr::TimeBound;
use profbridge::stacks::model::{SampleSource, Selection, StackTable, Unit, Weight};
use profbridge::stacks::pprof::{self, add_to_table, from_table};
use profbridge::{Error, ErrorKind, Result, Warning};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// How stacks are read and which of them count.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options for stacks (JFR, collapsed, folded, pprof, iprof)")]
pub(crate) struct StackArgs {
    /// Sorts of samples and events to take of a recording; by default the samples that it is mostly for
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SORT")]
    events: Vec<SourceArg>,
    /// Count events of a recording by their number, bytes or nanoseconds; by default allocations by
    /// bytes, everything else that is no sample by time
    #[arg(long, value_enum, value_name = "WHAT")]
    weight: Option<WeightArg>,
    /// Only what began within this time of a recording, such as 90s..2m, 1.5h.. or ..30s after its
    /// beginning, or between dates in UTC such as 2026-11-22T04:38:00Z
    #[arg(long, value_name = "FROM..TO", value_parser = parse_time)]
    time: Option<TimeArg>,
    /// Only samples of the thread of this name
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// Leave out stacks whose outermost frames are missing
    #[arg(long)]
    drop_truncated: bool,
    /// The form of text: async-profiler's collapsed or perf's folded stacks
    #[arg(long, value_enum, default_value_t = DialectArg::Auto, value_name = "FORM")]
    stacks: DialectArg,
    /// Glue names that perf's folder cut apart at `;::`
    #[arg(long)]
    perf_raw: bool,
    /// Take the numbers of allocation and lock profiles for hits
    #[arg(long)]
    value: bool,
    /// Take the call counts of an iprof for hits, instead of its samples
    #[arg(long)]
    call_counts: bool,
    /// Take this value of a pprof for hits, such as cpu or alloc_space/bytes; by default the number
    /// of samples, else the value that the file shows first
    #[arg(long, value_name = "KIND")]
    sample_type: Option<String>,
}

/// A sort of samples, or several under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SourceArg {
    name: &'static str,
    help: &'static str,
    sources: &'static [SampleSource],
}

const SOURCES: [SourceArg; 15] = {
    use SampleSource::*;
    const fn of(name: &'static str, sources: &'static [SampleSource], help: &'static str) -> SourceArg {
        SourceArg { name, help, sources }
    }
    [
        of("execution", &[Execution], "Threads that execute Java"),
        of("native", &[Native], "Threads in native methods"),
        of("cpu-time", &[CpuTime], "By CPU time (JDK 25)"),
        of("wall-clock", &[WallClock], "By wall clock (async-profiler)"),
        of("all", &[Unknown, Execution, Native, CpuTime, WallClock], "All samples: the sorts above"),
        of("allocation", &[Allocation], "Samples of allocations (JDK 16 and later)"),
        of("tlab", &[Tlab], "Allocations of and outside of threads' buffers"),
        of("lock", &[Lock], "Waiting for monitors that others hold"),
        of("wait", &[Wait], "Inside Object.wait"),
        of("park", &[Park], "Parked threads"),
        of("socket-read", &[SocketRead], "Reads from sockets"),
        of("socket-write", &[SocketWrite], "Writes to sockets"),
        of("file-read", &[FileRead], "Reads from files"),
        of("file-write", &[FileWrite], "Writes to files"),
        of("io", &[SocketRead, SocketWrite, FileRead, FileWrite], "All reads and writes"),
    ]
};

impl ValueEnum for SourceArg {
    fn value_variants<'a>() -> &'a [Self] {
        &SOURCES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).help(self.help))
    }
}

/// From when, and before when.
type TimeArg = (Option<TimeBound>, Option<TimeBound>);

fn parse_time(text: &str) -> std::result::Result<TimeArg, String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO, of which one may be missing")?;
    let bound = |text: &str| if text.is_empty() { Ok(None) } else { text.parse::<TimeBound>().map(Some) };
    match (bound(from), bound(to)) {
        (Ok(from), Ok(to)) => Ok((from, to)),
        (Err(error), _) | (_, Err(error)) => {
            Err(format!("{error} ({})", error.hint().map(in_words).unwrap_or_default()))
        }
    }
}

/// What events are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WeightArg {
    /// The number of events
    Count,
    /// Bytes allocated, read or written
    Bytes,
    /// Nanoseconds that it took
    Time,
}

/// A form of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DialectArg {
    /// Decide by the frames
    Auto,
    /// async-profiler
    Collapsed,
    /// perf
    Folded,
}

impl StackArgs {
    /// How inputs are read.
    pub(crate) fn read_options(&self) -> StackOptions {
        let mut options = StackOptions::default();
        options.limits = crate::limits::chosen();
        options.text.dialect = match self.stacks {
            DialectArg::Auto => Dialect::Auto,
            DialectArg::Collapsed => Dialect::Collapsed,
            DialectArg::Folded => Dialect::Folded,
        };
        options.recording.events = self.sources();
        options.recording.events.retain(|source| *source != SampleSource::Unknown);
        options.recording.weight = match self.weight {
            None => Weight::Usual,
            Some(WeightArg::Count) => Weight::Count,
            Some(WeightArg::Bytes) => Weight::Bytes,
            Some(WeightArg::Time) => Weight::Time,
        };
        (options.recording.from, options.recording.to) = self.time.unwrap_or_default();
        options.text.perf_raw = self.perf_raw;
        options.text.accept_weights = self.value;
        options.value.name.clone_from(&self.sample_type);
        options.iprof = if self.call_counts { IprofHits::CallCounts } else { IprofHits::Samples };
        options
    }

    /// The sorts of samples and events that were named.
    fn sources(&self) -> Vec<SampleSource> {
        self.events.iter().flat_map(|sort| sort.sources).copied().collect()
    }

    /// Whether nothing is chosen among the samples.
    pub(crate) fn takes_all(&self) -> bool {
        self.events.is_empty()
            && self.thread.is_none()
            && !self.drop_truncated
            && self.sample_type.is_none()
            && self.time.is_none()
    }

    /// Whether an input holds stacks and nothing else: a recording, text, or a pprof.
    /// Standard input is taken for them also when the form of text was named.
    pub(crate) fn are_in(&self, input: &Input) -> Result<bool> {
        let named = input.path.as_os_str() == "-" && self.names_form();
        Ok(input.family()? == Some(Family::Stacks) || named)
    }

    /// What is asked for, by option.
    pub(crate) fn given(&self) -> Vec<(bool, &'static str)> {
        vec![
            (!self.events.is_empty(), "--events"),
            (self.weight.is_some(), "--weight"),
            (self.time.is_some(), "--time"),
            (self.thread.is_some(), "--thread"),
            (self.drop_truncated, "--drop-truncated"),
            (self.names_form(), "--stacks"),
            (self.perf_raw, "--perf-raw"),
            (self.value, "--value"),
            (self.call_counts, "--call-counts"),
            (self.sample_type.is_some(), "--sample-type"),
        ]
    }

    /// Refuses what chooses among samples where the inputs have none, or are iprof files only.
    pub(crate) fn refuse_for_others(&self) -> Result<()> {
        let hint = "only recordings, collapsed stacks and pprof have samples to choose";
        crate::refuse::refuse(&self.given(), "for stacks", hint)
    }

    /// Whether the form of text was named.
    pub(crate) fn names_form(&self) -> bool {
        self.stacks != DialectArg::Auto
    }

    /// Which samples count.
    pub(crate) fn selection(&self) -> Selection {
        let mut selection = Selection::default();
        selection.sources = self.sources();
        selection.thread.clone_from(&self.thread);
        selection.drop_truncated = self.drop_truncated;
        selection
    }
}

/// What `convert` makes of stacks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options for writing stacks")]
pub(crate) struct WriteStackArgs {
    /// Where types come from that stacks lack: class files, jars, folders of them, iprof, recordings
    #[arg(long, value_name = "FILE")]
    reference: Vec<PathBuf>,
    /// What to do with methods of which the reference knows several overloads
    #[arg(long, value_enum, default_value_t = OverloadArg::First, value_name = "WHICH")]
    overload: OverloadArg,
    /// Written to an iprof where the bytecode index is not known
    #[arg(long, value_name = "N", default_value_t = -5, allow_negative_numbers = true)]
    bci_unknown: i32,
    /// Leave out frames of hidden classes (the lambda$… methods stay)
    #[arg(long)]
    drop_hidden: bool,
    /// Collapsed text without descriptors; stacks that differ in nothing else join
    #[arg(long)]
    no_descriptors: bool,
    /// Collapsed text without bytecode indexes; stacks that differ in nothing else join
    #[arg(long)]
    no_bci: bool,
    /// Collapsed text with thread names
    #[arg(long)]
    threads: bool,
    /// Collapsed text with dots in class names
    #[arg(long)]
    dots: bool,
    #[command(flatten)]
    pprof: PprofArgs,
}

impl WriteStackArgs {
    /// What is asked for, by option.
    pub(crate) fn given(&self) -> Vec<(bool, &'static str)> {
        let own = [
            (!self.reference.is_empty(), "--reference"),
            (self.overload != OverloadArg::First, "--overload"),
            (self.bci_unknown != -5, "--bci-unknown"),
            (self.drop_hidden, "--drop-hidden"),
            (self.no_descriptors, "--no-descriptors"),
            (self.no_bci, "--no-bci"),
            (self.threads, "--threads"),
            (self.dots, "--dots"),
        ];
        own.into_iter().chain(self.pprof.given()).collect()
    }

    /// What only some forms of stacks have would be without effect on others.
    fn refuse_for(&self, format: StackOutput) -> Result<()> {
        let text = [
            (self.no_descriptors, "--no-descriptors"),
            (self.no_bci, "--no-bci"),
            (self.threads, "--threads"),
            (self.dots, "--dots"),
        ];
        let iprof = [(self.bci_unknown != -5, "--bci-unknown"), (self.drop_hidden, "--drop-hidden")];
        if format != StackOutput::Collapsed {
            crate::refuse::refuse(&text, "for writing collapsed stacks", "name the output .collapsed")?;
        }
        if format != StackOutput::Iprof {
            crate::refuse::refuse(&iprof, "for writing an iprof", "name the output .iprof")?;
        }
        if format != StackOutput::Pprof {
            self.pprof.refuse_for_others()?;
        }
        Ok(())
    }
}

/// What is kept of pprof profiles.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options for writing pprof")]
pub(crate) struct PprofArgs {
    /// Keep the N heaviest stacks
    #[arg(long, value_name = "N")]
    max_stacks: Option<usize>,
    /// Keep as many of the heaviest stacks as fit into a file of N bytes
    #[arg(long, value_name = "N")]
    max_bytes: Option<usize>,
    /// Leave out addresses and mappings of what has names: stacks of different builds join
    #[arg(long)]
    drop_addresses: bool,
    /// Leave out labels: stacks that differ in nothing else join
    #[arg(long)]
    drop_labels: bool,
}

/// What `--overload` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OverloadArg {
    /// The first of the reference
    First,
    /// Leave the frame out
    Skip,
    /// As a leaf, count every overload
    All,
}

/// How a gzip stream begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Sources of stacks to be added up and written.
pub(crate) struct StackJob<'a> {
    /// The inputs, those of partial merges in place of these.
    pub(crate) inputs: &'a [WeightedInput],
    /// The inputs to keep behind the result, for a merge that goes on: as they were given.
    pub(crate) partial: Option<&'a [WeightedInput]>,
    pub(crate) format: StackOutput,
    pub(crate) output: &'a Path,
    pub(crate) read: &'a StackArgs,
    pub(crate) write: &'a WriteStackArgs,
    /// Fail instead of losing something.
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
    pub(crate) failure_mode: FailureMode,
    /// Keep what stands before the fault of a bad input, where the merge goes on.
    pub(crate) salvage: bool,
    /// What the result must be.
    pub(crate) gates: Option<&'a MergeGateArgs>,
    /// Write a result even if there is nothing in it.
    pub(crate) allow_empty: bool,
}

/// What a [`StackJob`] wrote.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Inputs that are part of it.
    pub(crate) used: usize,
    /// Distinct stacks.
    pub(crate) stacks: usize,
    /// What was odd or lost.
    pub(crate) warnings: Vec<Warning>,
}

impl StackJob<'_> {
    /// Reads, adds up and writes, unless a gate fails; notes what became of the inputs.
    pub(crate) fn run(&self, document: &mut MergeDocument) -> Result<Written> {
        let mut options = StackMergeOptions::default();
        options.read = self.read.read_options();
        (options.failure_mode, options.salvage) = (self.failure_mode, self.salvage);
        options.accepts_nothing = self.allow_empty;
        let pprof = &self.write.pprof;
        (options.pprof.drop_addresses, options.pprof.drop_labels) = (pprof.drop_addresses, pprof.drop_labels);
        let (all_pprof, to_pprof) = (merge_stacks::are_pprof(self.inputs), self.format == StackOutput::Pprof);
        self.write.refuse_for(self.format)?;
        if all_pprof && to_pprof && self.read.takes_all() {
            let merged =
                merge_stacks::merge_pprof(self.inputs, &options).inspect_err(|error| document.note_until(error))?;
            note(document, &merged.outcomes);
            if merged.shares_nothing {
                crate::merge_inputs::say_nothing_shared(self.quiet);
            }
            let used = merged.used();
            let (profile, report) = merged.sum;
            self.judge(document, &options.read, used, || {
                let mut table = StackTable::new();
                // What was merged has the values that were read.
                let _ = add_to_table(&profile, &options.read.value, &mut table);
                table
            })?;
            return self.write_pprof(&profile, used, merged.warnings, report.warnings());
        }
        let merged =
            merge_stacks::merge_tables(self.inputs, &options).inspect_err(|error| document.note_until(error))?;
        note(document, &merged.outcomes);
        merged.salvaged.iter().for_each(|at| document.note_salvaged(*at));
        if merged.shares_nothing {
            crate::merge_inputs::say_nothing_shared(self.quiet);
        }
        let used = merged.used();
        let (mut table, mut losses) = (merged.sum, Vec::new());
        self.judge(document, &options.read, used, || table.clone())?;
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
                let (profile, lost) = from_table(&selected);
                losses.extend(lost.words());
                // What one table says is told apart by names alone: it is trimmed as a merge would be.
                return self.write_pprof(&profile, used, merged.warnings, losses);
            }
        };
        let warnings = self.say(merged.warnings, &losses)?;
        let compressed = self.output.extension().is_some_and(|extension| extension == "gz");
        self.replace(if compressed { gzip(&bytes)? } else { bytes })?;
        Ok(Written { used, stacks, warnings })
    }

    fn replace(&self, bytes: Vec<u8>) -> Result<()> {
        let Some(given) = self.partial else { return output::replace(self.output, &bytes) };
        let document = if bytes.starts_with(&GZIP) { bytes } else { gzip(&bytes)? };
        let kept = keep_inputs(given, KeptFamily::Stacks, &BTreeSet::new(), &crate::limits::chosen())?;
        output::replace(self.output, &encode_kept(&kept, KeptFamily::Stacks, document))
    }

    /// Whether the sum may be written.
    fn judge(
        &self,
        document: &mut MergeDocument,
        read: &StackOptions,
        used: usize,
        sum: impl FnOnce() -> StackTable,
    ) -> Result<()> {
        let Some(gates) = self.gates else { return Ok(()) };
        let extent = || {
            let (selected, _) = sum().select(&self.read.selection());
            let methods: HashSet<_> = selected
                .samples()
                .flat_map(|sample| selected.frames(sample.key.stack).map(|frame| selected.frame(frame).function))
                .collect();
            Extent::new(used, methods.len(), selected.total_hits())
        };
        let total = |input: &Input| input_totals::stack_total(input, read);
        document.judge(gates.outcomes(self.inputs, extent, &total))
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
        used: usize,
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
                let bytes = encode(pprof::write(&kept))?;
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
        Ok(Written { used, stacks, warnings })
    }

    fn iprof(&self, table: &StackTable, losses: &mut Vec<String>) -> Result<(Vec<u8>, usize)> {
        self.refuse_weights(table)?;
        let mut options = SampleOptions::default();
        options.selection = self.read.selection();
        options.unknown_bci = self.write.bci_unknown;
        options.drop_hidden = self.write.drop_hidden;
        let (document, report) = iprof_from_stacks(table, &options);
        losses.extend(report.losses());
        if report.stacks == 0 && !self.allow_empty {
            return Err(nothing_to_write(table));
        }
        let stacks = usize::try_from(report.stacks).unwrap_or(usize::MAX);
        Ok((iprof::write(&document, &iprof::WriteOptions::default()), stacks))
    }

    /// An iprof's samples say how long something ran, which allocated bytes do not.
    fn refuse_weights(&self, table: &StackTable) -> Result<()> {
        let (selected, _) = table.select(&self.read.selection());
        let sorts = selected.hits_by_source();
        let weighed = sorts.iter().map(|(source, _)| *source).find(|source| !source.is_timed());
        let unit = samples::unit_of(&selected)?;
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
        let (selected, left_out) = table.select(&self.read.selection());
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
        let unit = samples::unit_of(&selected)?;
        if unit != Unit::Hits {
            losses.push(format!("the numbers are {}, which collapsed text does not say", unit.word()));
        }
        let mut options = CollapsedOptions::default();
        options.style = if self.write.dots { ClassStyle::Dots } else { ClassStyle::Slashes };
        options.descriptors = !self.write.no_descriptors;
        options.bcis = !self.write.no_bci;
        options.threads = self.write.threads;
        let (text, joined) = write_collapsed(&selected, &options);
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

impl PprofArgs {
    fn given(&self) -> [(bool, &'static str); 4] {
        [
            (self.max_stacks.is_some(), "--max-stacks"),
            (self.max_bytes.is_some(), "--max-bytes"),
            (self.drop_addresses, "--drop-addresses"),
            (self.drop_labels, "--drop-labels"),
        ]
    }

    /// These options mean nothing where something else is written.
    fn refuse_for_others(&self) -> Result<()> {
        crate::refuse::refuse(&self.given(), "for writing a pprof", "name the output .pprof, .pgo or .pb")
    }
}

fn add_types(table: &StackTable, write: &WriteStackArgs, losses: &mut Vec<String>) -> Result<StackTable> {
    let reference = samples::read_reference(&write.reference, &crate::limits::chosen())?;
    let overload = match write.overload {
        OverloadArg::First => Overload::First,
        OverloadArg::Skip => Overload::Skip,
        OverloadArg::All => Overload::All,
    };
    let (table, report) = reference.resolve(table, overload);
    if report.overloaded > 0 {
        let what = match overload {
            Overload::First => "the first was taken",
            Overload::Skip => "their frames are left out",
            Overload::All => "as leaves they count for every overload",
        };
        let methods = number_of(report.overloaded, "method");
        losses.push(format!("{methods} with several overloads in the reference; {what}"));
    }
    for (count, words) in [
        (report.unknown, ("method", "in no reference")),
        (report.dropped_hits, ("sample", "without any frame left")),
        (report.repeated_hits, ("hit", "counted once more for another overload")),
    ] {
        if count > 0 {
            losses.push(format!("{} {}", number_of(count, words.0), words.1));
        }
    }
    Ok(table)
}

/// The error for inputs without any sample that is wanted.
pub(crate) fn no_samples(table: &StackTable) -> Error {
    Error::nothing_found("no sample is left").with_hint(why_nothing(table))
}

/// The same where something was to be written.
fn nothing_to_write(table: &StackTable) -> Error {
    let hint = format!("{}; --allow-empty writes a result all the same", why_nothing(table));
    Error::nothing_found("no stack is left to write").with_hint(hint)
}

/// What the inputs hold instead.
fn why_nothing(table: &StackTable) -> String {
    let count = |sorts: &mut dyn Iterator<Item = (u128, &str)>| -> Vec<String> {
        sorts.map(|(count, word)| format!("{count} {word}")).collect()
    };
    let hits = table.hits_by_source();
    let sorts = count(&mut hits.iter().map(|(source, hits)| (*hits, source.word())));
    let passed_over = &table.observed.events_passed_over;
    if table.observed.samples_out_of_time > 0 && sorts.is_empty() {
        format!("outside of --time: {}", number_of(table.observed.samples_out_of_time, "sample"))
    } else if sorts.is_empty() && !passed_over.is_empty() {
        let sorts = count(&mut passed_over.iter().map(|(source, events)| (u128::from(*events), source.word())));
        format!("the inputs hold no samples, but events: {}; see --events", sorts.join(", "))
    } else if sorts.is_empty() {
        "the inputs hold no samples; an iprof may have call counts only (see --call-counts)".to_string()
    } else {
        format!("the inputs hold {}; see --events and --thread", sorts.join(", "))
    }
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    output::gzip(bytes).map_err(|source| Error::io("cannot compress", source))
}
