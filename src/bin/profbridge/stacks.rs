//! Options of every command that reads stacks.

use crate::hints::hint_text;
use crate::words::number_of;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use profbridge::bridge::stacks::IprofHits;
use profbridge::call_chains::{SampleSource, Selection, StackTable, Weight};
use profbridge::families::stack_files::StackOptions;
use profbridge::input::{Family, Input};
use profbridge::stacks::collapsed::Dialect;
use profbridge::stacks::jfr::TimeBound;
use profbridge::{Error, Hint, Result};

/// Options for reading and selecting stacks.
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
    pub(crate) value: bool,
    /// Take the call counts of an iprof for hits, instead of its samples
    #[arg(long)]
    call_counts: bool,
    /// Take this value of a pprof for hits, such as cpu or alloc_space/bytes; by default the number
    /// of samples, else the value that the file shows first
    #[arg(long, value_name = "KIND")]
    sample_type: Option<String>,
}

/// An event type, or several under one name.
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

/// The start and the end of a time range.
type TimeArg = (Option<TimeBound>, Option<TimeBound>);

fn parse_time(text: &str) -> std::result::Result<TimeArg, String> {
    let (from, to) = text.split_once("..").ok_or("write FROM..TO, of which one may be missing")?;
    let bound = |text: &str| if text.is_empty() { Ok(None) } else { text.parse::<TimeBound>().map(Some) };
    match (bound(from), bound(to)) {
        (Ok(from), Ok(to)) => Ok((from, to)),
        (Err(error), _) | (_, Err(error)) => {
            Err(format!("{error} ({})", error.hint().map(hint_text).unwrap_or_default()))
        }
    }
}

/// The values of `--weight`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WeightArg {
    /// The number of events
    Count,
    /// Bytes allocated, read or written
    Bytes,
    /// Nanoseconds that it took
    Time,
}

/// The values of `--stacks`.
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
    /// Returns the options for reading inputs.
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

    /// Returns the selected event types.
    fn sources(&self) -> Vec<SampleSource> {
        self.events.iter().flat_map(|sort| sort.sources).copied().collect()
    }

    /// Returns true if all samples are selected.
    pub(crate) fn takes_all(&self) -> bool {
        self.events.is_empty()
            && self.thread.is_none()
            && !self.drop_truncated
            && self.sample_type.is_none()
            && self.time.is_none()
    }

    /// Returns true if an input contains only stacks: a recording, text, or a pprof. Standard input counts as stacks
    /// also if the form of text is given.
    pub(crate) fn are_in(&self, input: &Input) -> Result<bool> {
        let named = input.path.as_os_str() == "-" && self.names_form();
        Ok(input.family()? == Some(Family::Stacks) || named)
    }

    /// Returns the given options.
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

    /// Rejects options that select samples if the inputs have none, or are only iprof files.
    pub(crate) fn refuse_for_others(&self) -> Result<()> {
        let hint = "only recordings, collapsed stacks and pprof have samples to choose";
        crate::refuse::refuse(&self.given(), "for stacks", hint)
    }

    /// Returns true if the form of text is given.
    pub(crate) fn names_form(&self) -> bool {
        self.stacks != DialectArg::Auto
    }

    /// Returns the selection of samples.
    pub(crate) fn selection(&self) -> Selection {
        let mut selection = Selection::default();
        selection.sources = self.sources();
        selection.thread.clone_from(&self.thread);
        selection.drop_truncated = self.drop_truncated;
        selection
    }
}

/// Returns the error for inputs without any selected sample.
pub(crate) fn no_samples(table: &StackTable) -> Error {
    Error::nothing_found("no sample is left").with_hint(describe_inputs(table))
}

/// Returns the same hint for a result without samples.
pub(crate) fn why_nothing_to_write(table: &StackTable) -> Hint {
    Hint::from(format!("{}; --allow-empty writes a result all the same", describe_inputs(table)))
}

/// Describes what the inputs contain instead.
fn describe_inputs(table: &StackTable) -> String {
    let count = |event_types: &mut dyn Iterator<Item = (u128, &str)>| -> Vec<String> {
        event_types.map(|(count, word)| format!("{count} {word}")).collect()
    };
    let hits = table.hits_by_source();
    let event_types = count(&mut hits.iter().map(|(source, hits)| (*hits, source.word())));
    let skipped = &table.observed.skipped_events;
    if table.observed.samples_out_of_time > 0 && event_types.is_empty() {
        format!("outside of --time: {}", number_of(table.observed.samples_out_of_time, "sample"))
    } else if event_types.is_empty() && !skipped.is_empty() {
        let event_types = count(&mut skipped.iter().map(|(source, events)| (u128::from(*events), source.word())));
        format!("the inputs hold no samples, but events: {}; see --events", event_types.join(", "))
    } else if event_types.is_empty() {
        "the inputs hold no samples; an iprof may have call counts only (see --call-counts)".to_string()
    } else {
        format!("the inputs hold {}; see --events and --thread", event_types.join(", "))
    }
}
