//! `show`: the content of a profile.

use crate::console;
use crate::demangled::{DemangleArgs, parse_pattern};
use crate::documents::{self, Described, FileJson};
use crate::iprof_show::{self, IprofShowArgs};
use crate::memprof::ShowMemoryArgs;
use crate::outputs::guard;
use crate::sample_files::{SampleShow, SampleShowArgs};
use crate::show_stacks::{self, Rows};
use crate::stacks::StackArgs;
use crate::standard_output::StandardOutput;
use crate::validate::refuse;
use clap::Args;
use profbridge::WithWarnings;
use profbridge::families::{self, Written, memory::has_only_memory};
use profbridge::input::output::is_standard_output;
use profbridge::input::{Family, Input};
use profbridge::instr::show::ShowOptions;
use profbridge::names::NamePattern;
use profbridge::{Error, Result};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show the content of a profile: functions, counters, hot methods
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge show app.profdata
  profbridge show --all-functions --counts default.profraw
  profbridge show --function=parse --ic-targets app.profdata
  profbridge show app.jfr --topn=40
  profbridge show --json --topn=20 app.profdata | jq '.top[].name'
  gunzip -c app.profdata.gz | profbridge show --covered -")]
pub(crate) struct ShowArgs {
    /// The profile; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Show details of all functions
    #[arg(long)]
    all_functions: bool,
    /// Show details of functions whose name or demangled name contains TEXT, of `=NAME` or of `/REGEX/`; for stacks
    /// and iprof files, the rows of these methods
    #[arg(long, visible_alias = "filter", value_name = "TEXT", value_parser = parse_pattern)]
    function: Option<NamePattern>,
    /// Also show counters
    #[arg(long)]
    counts: bool,
    /// Also show targets of indirect calls
    #[arg(long)]
    ic_targets: bool,
    /// Also show sizes of memory operations
    #[arg(long)]
    memop_sizes: bool,
    /// Also show vtables of virtual calls
    #[arg(long)]
    show_vtables: bool,
    /// Print only the names of functions that ran
    #[arg(long)]
    covered: bool,
    /// Show the N functions with the largest counters
    #[arg(long, value_name = "N", default_value_t = 0)]
    topn: usize,
    /// Skip functions whose largest counter is below N, and count them
    #[arg(long, value_name = "N", default_value_t = 0)]
    value_cutoff: u64,
    /// Show only functions below the cutoff
    #[arg(long)]
    list_below_cutoff: bool,
    /// Show the hot functions
    #[arg(long)]
    hot_func_list: bool,
    /// Show how many counters make up most of the counts
    #[arg(long)]
    detailed_summary: bool,
    /// Cutoffs of the detailed summary and the hot list, in parts per million
    #[arg(long, value_name = "N,N,…", value_delimiter = ',')]
    detailed_summary_cutoffs: Vec<u32>,
    /// Cutoff whose minimum count makes a function hot, in parts per million
    #[arg(long, value_name = "N", default_value_t = 990_000)]
    profile_summary_cutoff_hot: u32,
    /// Show context-sensitive records instead of the others
    #[arg(long)]
    showcs: bool,
    /// Print functions as records of the text format
    #[arg(long, conflicts_with_all = ["json", "demangle"])]
    text: bool,
    /// Show binary ids
    #[arg(long)]
    binary_ids: bool,
    /// Show the format version
    #[arg(long)]
    profile_version: bool,
    /// Show temporal traces
    #[arg(long)]
    temporal_profile_traces: bool,
    /// Print JSON; see docs/reference/json.md
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    names: DemangleArgs,
    #[command(flatten)]
    sample: SampleShowArgs,
    #[command(flatten)]
    memory: ShowMemoryArgs,
    #[command(flatten)]
    stacks: StackArgs,
    #[command(flatten)]
    iprof: IprofShowArgs,
}

/// The options that select content which only instrumentation profiles have.
const OF_INSTRUMENTATION: [&str; 13] = [
    "--counts",
    "--ic-targets",
    "--memop-sizes",
    "--show-vtables",
    "--covered",
    "--value-cutoff",
    "--list-below-cutoff",
    "--detailed-summary-cutoffs",
    "--showcs",
    "--text",
    "--binary-ids",
    "--profile-version",
    "--temporal-profile-traces",
];

impl ShowArgs {
    /// Returns the given input files.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }

    /// Returns the file to show.
    pub(crate) fn file(&self) -> Result<Input> {
        let file = Input::argument(&self.file);
        let written = match self.text || self.memory.prints_yaml() {
            true => Written::Profile(Family::Instr),
            false => Written::Report,
        };
        guard(std::slice::from_ref(&file), &self.output, "a report", written)?;
        Ok(file)
    }

    /// Returns the family as which the file is shown. Files that are not profiles are left to LLVM's readers, which
    /// report the error.
    pub(crate) fn family(&self, file: &Input) -> Result<Family> {
        Ok(match file.family()? {
            Some(Family::SampleProf) => Family::SampleProf,
            _ if self.memory.is_asked_for() => Family::MemProf,
            _ if self.stacks.are_in(file)? => Family::Stacks,
            found => found.unwrap_or(Family::Instr),
        })
    }

    /// Shows a sample profile.
    pub(crate) fn show_samples(&self, file: &Input) -> Result<ExitCode> {
        ShowMemoryArgs::refuse_for_others()?;
        self.refuse_for_samples()?;
        StackArgs::refuse_for_others()?;
        IprofShowArgs::refuse_for_llvm()?;
        let show = SampleShow {
            own: &self.sample,
            file,
            output: &self.output,
            function: self.function.as_ref(),
            all_functions: self.all_functions,
            topn: self.topn,
            hot_functions: self.hot_func_list,
            detailed_summary: self.detailed_summary,
            json: self.json,
            names: self.names,
        };
        show.run()
    }

    /// Shows a memory profile.
    pub(crate) fn show_memory(&self, file: &Input) -> Result<ExitCode> {
        let hint = "omit it: most memory profiles have hashes instead of names; use --topn";
        refuse(&["--function"], "not for memory profiles", hint)?;
        StackArgs::refuse_for_others()?;
        IprofShowArgs::refuse_for_llvm()?;
        self.refuse_llvm_options("a memory profile")?;
        self.memory.run(file, &self.output, self.topn, (self.json, self.names))
    }

    /// Shows sampled stacks.
    pub(crate) fn show_stacks(&self, file: &Input) -> Result<ExitCode> {
        ShowMemoryArgs::refuse_for_others()?;
        self.refuse_llvm_options("stacks")?;
        let rows = Rows { topn: self.topn, method: self.function.as_ref() };
        show_stacks::run(file, &self.output, &self.stacks, &self.iprof.chains(), rows, (self.json, self.names))
    }

    /// Shows an iprof.
    pub(crate) fn show_iprof(&self, file: &Input) -> Result<ExitCode> {
        ShowMemoryArgs::refuse_for_others()?;
        StackArgs::refuse_for_others()?;
        self.refuse_llvm_options("an iprof")?;
        let rows = Rows { topn: self.topn, method: self.function.as_ref() };
        iprof_show::run(file, &self.output, &self.iprof, rows, (self.json, self.names))
    }

    /// Shows an instrumentation profile.
    pub(crate) fn show_instr(&self, file: &Input) -> Result<ExitCode> {
        ShowMemoryArgs::refuse_for_others()?;
        SampleShowArgs::refuse_for_others()?;
        IprofShowArgs::refuse_for_llvm()?;
        StackArgs::refuse_for_others()?;
        let (read, options) = (crate::limits::read_options(), self.options());
        if has_only_memory(file, &read.limits)? {
            let path = self.file.display();
            console::note(&format!("{path}: the file has only a memory profile; use --memory to show it"));
        }
        if self.json {
            let WithWarnings { value: report, warnings, .. } = families::collect_file(file, &read, &options)?;
            warnings.iter().for_each(console::warning);
            let json = Described { file: FileJson::of(file), report: &report };
            documents::write_named(&self.output, "profbridge.show-instr/2", &json, self.names)?;
            return Ok(ExitCode::SUCCESS);
        }
        let show = |out: &mut (dyn Write + Send)| {
            let mut named = self.names.writer(out, false);
            let shown = families::show_file(file, &read, &options, &mut named);
            named.finish().map_err(|source| Error::io("cannot write", source))?;
            shown
        };
        print_while_made(&self.output, show)?.warnings.iter().for_each(console::warning);
        Ok(ExitCode::SUCCESS)
    }

    /// Rejects options that only apply to instrumentation profiles.
    fn refuse_for_samples(&self) -> Result<()> {
        let hint = "--function, --topn, --hot-func-list, --detailed-summary and --json are supported";
        refuse(&OF_INSTRUMENTATION, "not for sample profiles", hint)
    }

    /// Rejects options that select functions and parts of LLVM profiles, because they would have no effect on `other`.
    fn refuse_llvm_options(&self, other: &str) -> Result<()> {
        SampleShowArgs::refuse_for_others()?;
        let of_llvm = ["--all-functions", "--hot-func-list", "--detailed-summary"];
        refuse(
            &[&of_llvm[..], &OF_INSTRUMENTATION].concat(),
            &format!("for LLVM profiles, not for {other}"),
            "use --topn, --callers and --callees",
        )
    }

    fn options(&self) -> ShowOptions {
        let mut options = ShowOptions::default();
        options.all_functions = self.all_functions;
        options.function.clone_from(&self.function);
        options.must_find = self.function.is_some();
        options.counts = self.counts;
        options.indirect_call_targets = self.ic_targets;
        options.memop_sizes = self.memop_sizes;
        options.vtables = self.show_vtables;
        options.covered = self.covered;
        options.top = self.topn;
        options.value_cutoff = self.value_cutoff;
        options.only_below_cutoff = self.list_below_cutoff;
        options.hot_functions = self.hot_func_list;
        options.detailed_summary = self.detailed_summary;
        options.cutoffs = self.detailed_summary_cutoffs.clone();
        options.hot_cutoff = self.profile_summary_cutoff_hot;
        options.context_sensitive = self.showcs;
        options.text = self.text;
        options.binary_ids = self.binary_ids;
        options.profile_version = self.profile_version;
        options.temporal_traces = self.temporal_profile_traces;
        options
    }
}

/// Writes text while it is produced: directly to standard output, or to a file that is replaced when the text is
/// complete. Output before a fault is useful, especially on a terminal.
fn print_while_made<T>(path: &Path, print: impl FnOnce(&mut (dyn Write + Send)) -> Result<T>) -> Result<T> {
    if is_standard_output(path) {
        let mut out = io::BufWriter::new(console::Escaped::new(StandardOutput));
        let printed = print(&mut out);
        out.flush().map_err(|source| Error::io("cannot write", source))?;
        return printed;
    }
    let mut printed = None;
    profbridge::input::output::replace_by_name_with(path, |out| {
        let mut watched = ErrorTrackingWriter { out, fault: None };
        printed = Some(print(&mut watched));
        watched.fault.map_or(Ok(()), Err)
    })?;
    printed.unwrap_or_else(|| Err(Error::usage("the report is empty")))
}

/// Stores the error of an output, which then must not replace a file.
struct ErrorTrackingWriter<'o> {
    out: &'o mut (dyn Write + Send),
    fault: Option<io::Error>,
}

impl Write for ErrorTrackingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).inspect_err(|error| {
            if error.kind() != io::ErrorKind::Interrupted {
                self.fault = Some(error.kind().into());
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
