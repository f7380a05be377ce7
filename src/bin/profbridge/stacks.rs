//! Options of every command that reads stacks.

use crate::hints::hint_text;
use crate::validate::{options_of, refuse, require_existing};
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use profbridge::bridge::stacks::IprofHits;
use profbridge::call_chains::{SampleSource, Selection, StackTable, Unit, Weight};
use profbridge::families::stack_files::StackOptions;
use profbridge::input::{Family, Format, Input};
use profbridge::stacks::collapsed::Dialect;
use profbridge::stacks::jfr::TimeBound;
use profbridge::{Error, Hint, Result};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Options for reading and selecting stacks.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options for stacks (JFR, collapsed, folded, pprof, iprof)")]
pub(crate) struct StackArgs {
    /// Event types to read from a recording [default: its first of execution, cpu-time, wall-clock, native]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TYPE")]
    events: Vec<SourceArg>,
    /// Weight of recorded events: their number, bytes or nanoseconds [default: bytes for allocations, time for other
    /// events, the number for samples]
    #[arg(long, value_enum, value_name = "WEIGHT")]
    weight: Option<Weight>,
    /// Use only events that began within this time range of a Flight Recorder recording: 90s..2m, 1.5h.. or ..30s from its start, or
    /// dates in UTC such as 2026-11-22T04:38:00Z
    #[arg(long, value_name = "FROM..TO", value_parser = parse_time)]
    time: Option<TimeArg>,
    /// Use only samples of the thread with this name
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// Drop truncated stacks
    #[arg(long)]
    drop_truncated: bool,
    /// Text format: async-profiler's collapsed stacks or perf's folded stacks
    #[arg(long, value_enum, default_value_t = Dialect::Auto, value_name = "FORM")]
    stacks: Dialect,
    /// Join names that perf's folding splits at `;::`
    #[arg(long)]
    perf_raw: bool,
    /// Treat the values of allocation and lock profiles as sample counts
    #[arg(long)]
    pub(crate) value: bool,
    /// Program or library of a perf recording, used instead of the recorded path; or the debug file of a stripped one
    #[arg(long, value_name = "PROGRAM")]
    binary: Vec<PathBuf>,
    /// Directory with the programs of a perf recording, such as a copy of another machine's files
    #[arg(long, value_name = "DIR")]
    symfs: Option<PathBuf>,
    /// Take the call counts of an iprof for hits, instead of its samples
    #[arg(long)]
    call_counts: bool,
    /// Use this value of a pprof as hits, such as cpu or alloc_space/bytes [default: the number of samples, otherwise
    /// the file's default type]. For a perf recording or the output of perf script, use this event, such as cycles
    /// [default: all events]; for perf.data, cycles/period counts by period
    #[arg(long, value_name = "KIND")]
    sample_type: Option<String>,
}

const ONLY_STACKS: &str = "omit it: only recordings, collapsed stacks and pprof have samples to select";

/// The options that select samples. A partial merge keeps all.
pub(crate) const SELECTING: [&str; 7] =
    ["--events", "--weight", "--time", "--thread", "--drop-truncated", "--call-counts", "--sample-type"];

/// An event type, or several under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SourceArg {
    name: &'static str,
    help: &'static str,
    sources: &'static [SampleSource],
}

const SOURCES: [SourceArg; 17] = {
    use SampleSource::*;
    const fn of(name: &'static str, sources: &'static [SampleSource], help: &'static str) -> SourceArg {
        SourceArg { name, help, sources }
    }
    [
        of("execution", &[Execution], "Threads that run Java code"),
        of("native", &[Native], "Threads in native methods"),
        of("cpu-time", &[CpuTime], "By CPU time (JDK 25)"),
        of("wall-clock", &[WallClock], "By wall clock (async-profiler)"),
        of("all", &[Unknown, Execution, Native, CpuTime, WallClock], "All of the above"),
        of("allocation", &[Allocation], "Samples of allocations (JDK 16 and later)"),
        of("tlab", &[Tlab], "Allocations of and outside thread-local buffers"),
        of("lock", &[Lock], "Waiting for a monitor"),
        of("wait", &[Wait], "Inside Object.wait"),
        of("park", &[Park], "Parked threads"),
        of("socket-read", &[SocketRead], "Reads from sockets"),
        of("socket-write", &[SocketWrite], "Writes to sockets"),
        of("file-read", &[FileRead], "Reads from files"),
        of("file-write", &[FileWrite], "Writes to files"),
        of("method-trace", &[MethodTrace], "Calls of traced methods, with their callers (JDK 25)"),
        of("method-timing", &[MethodTiming], "Calls of timed methods (JDK 25)"),
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
    let (from, to) = text.split_once("..").ok_or("expected FROM..TO; one of them may be missing")?;
    let bound = |text: &str| if text.is_empty() { Ok(None) } else { text.parse::<TimeBound>().map(Some) };
    match (bound(from), bound(to)) {
        (Ok(Some(TimeBound::After(from))), Ok(Some(TimeBound::After(to))))
        | (Ok(Some(TimeBound::At(from))), Ok(Some(TimeBound::At(to))))
            if from > to =>
        {
            Err("the start of the range is after its end".to_string())
        }
        (Ok(from), Ok(to)) => Ok((from, to)),
        (Err(error), _) | (_, Err(error)) => {
            Err(format!("{error} ({})", error.hint().map(hint_text).unwrap_or_default()))
        }
    }
}

impl StackArgs {
    /// Returns the programs of a perf recording.
    pub(crate) fn programs(&self) -> &[PathBuf] {
        &self.binary
    }

    /// Returns the options for reading inputs.
    pub(crate) fn read_options(&self) -> StackOptions {
        let mut options = StackOptions::default();
        options.limits = crate::limits::chosen();
        options.text.dialect = self.stacks;
        options.selection = self.selection();
        options.recording.events = self.sources();
        options.recording.events.retain(|source| *source != SampleSource::Unknown);
        options.recording.weight = self.weight.unwrap_or_default();
        (options.recording.from, options.recording.to) = self.time.unwrap_or_default();
        options.perf.binaries.clone_from(&self.binary);
        options.perf.symfs.clone_from(&self.symfs);
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
        let named = input.is_stdin() && self.names_form();
        Ok(input.family()? == Some(Family::Stacks) || named)
    }

    /// Rejects options that select samples if the inputs have none, or are only iprof files.
    pub(crate) fn refuse_for_others() -> Result<()> {
        let meant = "for iprof files that are drawn, converted to stacks or compared with stacks";
        refuse(&["--call-counts"], meant, "omit it: here it has no effect")?;
        refuse(&options_of::<StackArgs>(), "for stacks", ONLY_STACKS)
    }

    /// Rejects options for stacks if no input has stacks, and options for the reader of one format if no input has that
    /// format; programs that do not exist, which the reader would take for others.
    pub(crate) fn refuse_without_effect<'a>(&self, inputs: impl IntoIterator<Item = &'a Input>) -> Result<()> {
        let inputs: Vec<&Input> = inputs.into_iter().collect();
        // Pipes can be read only once, readers report inputs that cannot be read, and a partial merge has inputs of any
        // format.
        let is_one_of = |input: &Input, formats: &[Format]| {
            input.is_pipe() || input.is_partial() || input.format().map_or(true, |format| formats.contains(&format))
        };
        let may_be_stacks = |input: &&Input| {
            let is_family = |family: Option<Family>| family == Some(Family::Stacks);
            input.is_pipe() || input.is_partial() || input.family().map_or(true, is_family)
        };
        if !inputs.iter().any(may_be_stacks) {
            // An iprof has two kinds of counts.
            let options = options_of::<StackArgs>().into_iter().filter(|option| option != "--call-counts");
            refuse(&options.collect::<Vec<_>>(), "for stacks", ONLY_STACKS)?;
        }
        for (options, formats, meant) in [
            (&["--weight"][..], &[Format::Jfr][..], "for recordings of Flight Recorder"),
            (&["--stacks", "--perf-raw"], &[Format::Collapsed], "for text"),
            (&["--symfs"], &[Format::PerfData], "for recordings of perf"),
            (&["--binary"], &[Format::PerfData, Format::Collapsed], "for recordings of perf and their text"),
            (&["--call-counts"], &[Format::Iprof], "for iprof files"),
            (
                &["--sample-type"],
                &[Format::Pprof, Format::PerfData, Format::Collapsed],
                "for pprof profiles and recordings of perf",
            ),
        ] {
            if !inputs.iter().any(|input| is_one_of(input, formats)) {
                refuse(options, meant, "omit it: no input has this format")?;
            }
        }
        require_existing(&self.binary)
    }

    /// Returns true if the form of text is given.
    pub(crate) fn names_form(&self) -> bool {
        self.stacks != Dialect::Auto
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
    Error::nothing_found("no samples match the options").with_hint(describe_inputs(table))
}

/// Returns the same hint for a result without samples.
pub(crate) fn why_nothing_to_write(table: &StackTable) -> Hint {
    Hint::from(format!("{}; use --allow-empty to write an empty output", describe_inputs(table)))
}

/// The number of threads that a hint names.
const THREADS: usize = 8;

/// Describes what the inputs contain instead.
fn describe_inputs(table: &StackTable) -> String {
    let hits = table.hits_by_source();
    let unit = table.unit().filter(|unit| *unit != Unit::Hits).map(|unit| format!("{} of ", unit.word()));
    let unit = unit.unwrap_or_default();
    let event_types: Vec<String> =
        hits.iter().map(|(source, hits)| format!("{hits} {unit}{}", source.word())).collect();
    let listed = |events: &BTreeMap<SampleSource, u64>| -> Vec<String> {
        events.iter().map(|(source, events)| format!("{events} {}", source.word())).collect()
    };
    let others = listed(&table.observed.skipped_events);
    let out_of_time = listed(&table.observed.samples_out_of_time);
    if !out_of_time.is_empty() && event_types.is_empty() {
        format!("outside the range of --time: {}", out_of_time.join(", "))
    } else if event_types.is_empty() && !others.is_empty() {
        format!("the inputs have no samples, but other events: {}; select them with --events", others.join(", "))
    } else if event_types.is_empty() {
        "the inputs have no samples; use --call-counts for an iprof that has only call counts".to_string()
    } else {
        let mut words =
            format!("the inputs have {}; check --events and --thread", [event_types, others].concat().join(", "));
        let threads: Vec<&str> = table.threads().map(|id| table.thread(id)).collect();
        if threads.is_empty() {
            words.push_str(" (no sample has a thread)");
        } else {
            let listed = &threads[..threads.len().min(THREADS)];
            let more = threads.len() - listed.len();
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            words.push_str(&format!(" (threads: {}{rest})", listed.join(", ")));
        }
        words
    }
}
