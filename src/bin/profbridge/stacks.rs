//! Options of every command that reads stacks, and `convert` between sources
//! of stacks, iprof and collapsed text.

use crate::console;
use clap::{Args, ValueEnum};
use profbridge::bridge::samples::{IprofHits, SampleOptions, iprof_from_stacks};
use profbridge::input::output;
use profbridge::iprof;
use profbridge::model::stacks::{SampleSource, Selection, StackTable};
use profbridge::pipeline::samples::{self, StackOptions, StackSource};
use profbridge::sample::reference::Overload;
use profbridge::sample::text::{ClassStyle, CollapsedOptions, Dialect, write_collapsed};
use profbridge::{Error, ErrorKind, Result, Warning};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How stacks are read and which of them count.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options for stacks (JFR, collapsed, folded, iprof)")]
pub(crate) struct StackArgs {
    /// Sorts of samples to take of a recording; by default the one that it is mostly for
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SORT")]
    events: Vec<SourceArg>,
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
}

/// A sort of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SourceArg {
    /// Threads that execute Java
    Execution,
    /// Threads in native methods
    Native,
    /// By CPU time (JDK 25)
    CpuTime,
    /// By wall clock (async-profiler)
    WallClock,
    /// All of these
    All,
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
        options.text.perf_raw = self.perf_raw;
        options.text.accept_weights = self.value;
        options.iprof = if self.call_counts { IprofHits::CallCounts } else { IprofHits::Samples };
        options
    }

    /// Whether an input holds stacks and nothing else: a recording, or text.
    /// Standard input is taken for them also when the form of text was named.
    pub(crate) fn are_in(&self, path: &Path) -> Result<bool> {
        let named = path.as_os_str() == "-" && self.stacks != DialectArg::Auto;
        Ok(named || matches!(samples::stack_source_of_file(path)?, Some(StackSource::Jfr | StackSource::Text)))
    }

    /// Which samples count.
    pub(crate) fn selection(&self) -> Selection {
        let mut selection = Selection::default();
        for source in &self.events {
            match source {
                SourceArg::Execution => selection.sources.push(SampleSource::Execution),
                SourceArg::Native => selection.sources.push(SampleSource::Native),
                SourceArg::CpuTime => selection.sources.push(SampleSource::CpuTime),
                SourceArg::WallClock => selection.sources.push(SampleSource::WallClock),
                SourceArg::All => selection.sources.extend(SampleSource::ALL),
            }
        }
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

/// What stacks are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackFormat {
    /// An iprof with samplingProfiles.
    Iprof,
    /// Collapsed text.
    Collapsed,
}

impl StackFormat {
    /// By the name's ending, `.gz` aside.
    pub(crate) fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".gz").unwrap_or(name);
        match name.rsplit_once('.')?.1 {
            "iprof" => Some(Self::Iprof),
            "collapsed" | "folded" => Some(Self::Collapsed),
            _ => None,
        }
    }
}

/// Converts stacks to an iprof or to collapsed text.
pub(crate) fn convert(
    inputs: &[PathBuf],
    format: StackFormat,
    output: &Path,
    read: &StackArgs,
    write: &WriteStackArgs,
    strict: bool,
) -> Result<ExitCode> {
    let (mut table, warnings) = samples::read_stacks(inputs, &read.read_options())?;
    warnings.iter().for_each(console::warning);
    let mut losses = Vec::new();
    if !write.reference.is_empty() {
        table = add_types(&table, write, &mut losses)?;
    }
    let bytes = match format {
        StackFormat::Iprof => {
            let mut options = SampleOptions::default();
            options.selection = read.selection();
            options.unknown_bci = write.bci_unknown;
            options.drop_hidden = write.drop_hidden;
            let (document, report) = iprof_from_stacks(&table, &options);
            losses.extend(report.losses());
            if report.stacks == 0 {
                return Err(no_samples(&table));
            }
            iprof::write(&document, &iprof::WriteOptions::default())
        }
        StackFormat::Collapsed => collapsed(&table, read, write, &mut losses)?,
    };
    for loss in &losses {
        console::warning(&Warning::new(loss.clone()).in_file(output));
    }
    if strict && !losses.is_empty() {
        return Err(Error::new(ErrorKind::WouldLose { detail: losses.join("; ") }).in_file(output));
    }
    let compressed = output.extension().is_some_and(|extension| extension == "gz");
    output::replace(output, &if compressed { gzip(&bytes)? } else { bytes })?;
    Ok(ExitCode::SUCCESS)
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
        losses.push(format!("{} methods have several overloads in the reference; {what}", report.overloaded));
    }
    for (count, words) in [
        (report.unknown, "methods are in no reference"),
        (report.dropped_hits, "samples lost all their frames"),
        (report.repeated_hits, "hits were counted once more for another overload"),
    ] {
        if count > 0 {
            losses.push(format!("{count} {words}"));
        }
    }
    Ok(table)
}

fn collapsed(
    table: &StackTable,
    read: &StackArgs,
    write: &WriteStackArgs,
    losses: &mut Vec<String>,
) -> Result<Vec<u8>> {
    let (selected, left_out) = table.select(&read.selection());
    if selected.is_empty() {
        return Err(no_samples(table));
    }
    let mut options = CollapsedOptions::default();
    options.style = if write.dots { ClassStyle::Dots } else { ClassStyle::Slashes };
    options.descriptors = !write.no_descriptors;
    options.bcis = !write.no_bci;
    options.threads = write.threads;
    let (text, joined) = write_collapsed(&selected, &options);
    for (count, words) in [
        (left_out.other_sources, "samples of sorts that were not asked for are left out (see --events)"),
        (left_out.truncated, "samples with truncated stacks are left out"),
        (left_out.other_threads, "samples of other threads are left out"),
        (joined.into(), "stacks became one with another that differs only in what is not written"),
    ] {
        if count > 0 {
            losses.push(format!("{count} {words}"));
        }
    }
    Ok(text.into_bytes())
}

/// The error for inputs without anything to write.
pub(crate) fn no_samples(table: &StackTable) -> Error {
    let sorts: Vec<String> =
        table.hits_by_source().iter().map(|(source, hits)| format!("{hits} {}", source.word())).collect();
    let error = Error::usage("no stack is left to write");
    if sorts.is_empty() {
        error.with_hint("the inputs hold no samples; an iprof may have call counts only (see --call-counts)")
    } else {
        error.with_hint(format!("the inputs hold {}; see --events and --thread", sorts.join(", ")))
    }
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    output::gzip(bytes).map_err(|source| Error::io("cannot compress", source))
}
