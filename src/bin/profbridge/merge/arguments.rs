//! The command line of `merge`, and its parts that are the same for all families.

use super::watch_options::WatchArgs;
use crate::bridged::BridgeArgs;
use crate::correlate::CorrelateArgs;
use crate::cross_release::CrossReleaseArgs;
use crate::iprof_files::IprofWriteArgs;
use crate::iprof_merge::IprofMergeArgs;
use crate::memprof::MemProfArgs;
use crate::merge_gates::MergeGateArgs;
use crate::outputs::OutputArgs;
use crate::profgen::ProfgenArgs;
use crate::sample_files::SampleArgs;
use crate::stack_write::WriteStackArgs;
use crate::stacks::StackArgs;
use crate::target;
use crate::toolchains::ToolchainParser;
use crate::validate::refuse_both_standard_input;
use clap::Args;
use profbridge::bytes::without_byte_order_mark;
use profbridge::families::{FailureMode, MergeOptions, OutputForm, Target, TargetSource};
use profbridge::input::{Access, Input, InputList, WeightedInput};
use profbridge::instr::resolved_target::ResolvedTarget;
use profbridge::instr::{FunctionFilter, Remapping};
use profbridge::instr::{Release, release};
use profbridge::{Compat, Error, Result};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Merge profiles into one
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge merge -o app.profdata *.profraw
  profbridge merge -o app.profdata --for llvm-14 runs/
  profbridge merge --text --weighted-input=3,main.profraw rare.profraw
  profbridge merge -o app.iprof --weighted-input=4,main.iprof rare.iprof
  profbridge merge -o default.pgo --drop-addresses --max-bytes=2000000 week/*.pprof
  find . -name '*.profraw' | profbridge merge --sparse -f - -o app.profdata
  profbridge merge --binary app -o app.prof host-*/perf.data
  profbridge merge --watch runs --delete-merged --until idle:60 -o app.profdata

Without --for, --format-version and PROFBRIDGE_FOR, the target is the compiler that wrote the
inputs, as far as their versions show it: raw version 8 means LLVM 14, 9 LLVM 18, 10 LLVM 19, 11
LLVM 23; an indexed version means the first release that writes it; text and iprof mean LLVM 22.
Of several inputs the newest counts.

Exit code: 0 for success; 1 if inputs cannot be read or there is nothing to write; 2 for usage
errors; 3 if a threshold fails. Nothing is written unless the exit code is 0.")]
pub(crate) struct MergeArgs {
    /// Profiles, directories, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(super) inputs: Vec<PathBuf>,
    /// The output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(super) output: PathBuf,
    /// A file with one input per line, as `[WEIGHT,]FILE`; `-` is standard input
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(super) input_files: Option<PathBuf>,
    /// The list of --input-files has paths that end with a zero byte, as `find -print0` writes them
    #[arg(short = '0', long, requires = "input_files")]
    pub(super) null: bool,
    /// An input whose counts are multiplied by WEIGHT
    #[arg(long, value_name = "WEIGHT,FILE")]
    pub(super) weighted_input: Vec<OsString>,
    #[command(flatten)]
    pub(super) written: OutputArgs,
    /// Write a text profile, like `--to text`
    #[arg(long)]
    pub(super) text: bool,
    /// Write a partial merge, which a later merge can continue with exact results
    #[arg(long, conflicts_with_all = ["text", "sparse", "show", "write_prev_version", "hashes"])]
    pub(super) partial: bool,
    /// Count inputs twice that are also in a partial merge
    #[arg(long)]
    pub(super) allow_duplicates: bool,
    /// Drop functions that never ran
    #[arg(long)]
    pub(super) sparse: bool,
    /// Target toolchain, such as llvm-14, rustc-1.75 or swift-5.9 [default: $PROFBRIDGE_FOR, otherwise the oldest
    /// release that can have written the newest input]
    #[arg(long = "for", value_name = "TOOLCHAIN", value_parser = ToolchainParser, hide_possible_values = true, conflicts_with = "format_version")]
    pub(super) consumer: Option<String>,
    /// Version of the indexed format, 1 to 14
    #[arg(long, value_name = "N")]
    pub(super) format_version: Option<u32>,
    /// Write indexed version 11, which LLVM 18 and later read
    #[arg(long, conflicts_with = "format_version")]
    pub(super) write_prev_version: bool,
    /// Fail instead of dropping data that the written version cannot store
    #[arg(long)]
    pub(super) strict: bool,
    /// When to fail because of unreadable inputs; missing files are always an error
    #[arg(long, value_enum, default_value_t)]
    pub(super) failure_mode: FailureMode,
    /// Keep the records of damaged inputs up to the damage, if the merge continues
    #[arg(long)]
    pub(super) salvage: bool,
    /// Reject inputs from different programs, and inputs without a binary id
    #[arg(long)]
    pub(super) same_program: bool,
    /// Keep only functions whose mangled name matches the regular expression, as in llvm-profdata
    #[arg(long, visible_alias = "filter", value_name = "REGEX")]
    pub(super) function: Option<String>,
    /// Drop functions whose name matches
    #[arg(long, value_name = "REGEX")]
    pub(super) no_function: Option<String>,
    /// Rename functions while reading; each line of FILE is `OLD NEW`
    #[arg(short = 'r', long, value_name = "FILE")]
    pub(super) remapping_file: Option<PathBuf>,
    /// Keep the names of vtables
    #[arg(long)]
    pub(super) keep_vtable_symbols: bool,
    /// Maximum number of temporal traces
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(super) temporal_profile_trace_reservoir_size: u64,
    /// Maximum number of functions in a trace
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(super) temporal_profile_max_trace_length: u64,
    /// Worker threads; 0 uses all processors. The output is the same for any number
    #[arg(short = 'j', long, value_name = "N", default_value_t = 0)]
    pub(super) num_threads: usize,
    /// Print the totals of the output (needs an output file)
    #[arg(long, conflicts_with = "json")]
    pub(super) show: bool,
    /// Print the report as JSON on standard output (needs an output file)
    #[arg(long)]
    pub(super) json: bool,
    /// Print only errors
    #[arg(short, long)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) watch: WatchArgs,
    #[command(flatten)]
    pub(super) gates: MergeGateArgs,
    #[command(flatten)]
    pub(super) cross: CrossReleaseArgs,
    #[command(flatten)]
    pub(super) correlate: CorrelateArgs,
    #[command(flatten)]
    pub(super) memprof: MemProfArgs,
    #[command(flatten)]
    pub(super) bridge: BridgeArgs,
    #[command(flatten)]
    pub(super) iprof: IprofMergeArgs,
    #[command(flatten)]
    pub(super) iprof_write: IprofWriteArgs,
    #[command(flatten)]
    pub(super) sample: SampleArgs,
    #[command(flatten)]
    pub(super) profgen: ProfgenArgs,
    #[command(flatten)]
    pub(super) stacks: StackArgs,
    #[command(flatten)]
    pub(super) write_stacks: WriteStackArgs,
    /// Accepted for compatibility: the inputs are instrumentation profiles
    #[arg(long, hide = true)]
    pub(super) instr: bool,
}

impl MergeArgs {
    /// Returns true if any input was given, as a file, a directory or a list.
    pub(crate) fn names_any(&self) -> bool {
        !self.inputs.is_empty() || !self.weighted_input.is_empty() || self.input_files.is_some()
    }

    /// Returns the hint for unreadable inputs if their valid records should be kept.
    pub(super) fn salvage_hint(&self) -> Option<&'static str> {
        self.salvage.then_some(match self.failure_mode {
            FailureMode::Warn => "--salvage can keep nothing of the unreadable inputs; record or copy them again",
            _ => "add --failure-mode=warn: --salvage keeps the valid records only if the merge continues",
        })
    }

    /// Returns the given input files.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.inputs.clone()
    }

    pub(super) fn inputs(&self) -> Result<InputList> {
        let mut list = InputList::new(Compat::Profbridge).without_output(&self.output);
        self.inputs.iter().try_for_each(|path| list.push(path))?;
        self.weighted_input.iter().try_for_each(|text| list.push_weighted_text(text))?;
        if let Some(path) = &self.input_files {
            if list.inputs().iter().any(|input| input.is_stdin()) {
                refuse_both_standard_input(path, Path::new("-"))?;
            }
            let bytes = read_small(path)?;
            let pushed = if self.null { list.push_paths(&bytes) } else { list.push_list(&bytes) };
            pushed.map_err(|error| if error.path().is_some() { error } else { error.in_file(path) })?;
        }
        Ok(list)
    }

    /// Returns the filters and renamings of the inputs, for the state of a partial merge.
    pub(super) fn applied(&self) -> Vec<String> {
        let filters = [("--function", &self.function), ("--no-function", &self.no_function)];
        let given = filters.into_iter().filter_map(|(option, given)| Some((option, given.as_ref()?)));
        let mut words: Vec<String> = given.map(|(option, pattern)| format!("{option}={pattern}")).collect();
        words.extend(self.remapping_file.iter().map(|path| format!("--remapping-file={}", path.display())));
        words
    }

    /// Returns the requested renamings.
    pub(super) fn remapping(&self) -> Result<Remapping> {
        match &self.remapping_file {
            Some(path) => {
                let text = read_small(path)?;
                Remapping::parse(without_byte_order_mark(&text)).map_err(|error| error.in_file(path))
            }
            None => Ok(Remapping::default()),
        }
    }

    /// Returns the options for merging LLVM profiles. The merge sets the release.
    pub(super) fn merge_options(&self, form: OutputForm) -> Result<MergeOptions> {
        let mut options = MergeOptions::default();
        options.read.limits = crate::limits::chosen();
        options.read.correlator = self.correlate.correlator()?;
        options.read.programs = self.memprof.programs.programs()?;
        options.memprof = self.memprof.options();
        options.failure_mode = self.failure_mode;
        options.threads = NonZeroUsize::new(self.num_threads);
        options.trace_reservoir_size = Some(self.temporal_profile_trace_reservoir_size);
        options.max_trace_length = Some(self.temporal_profile_max_trace_length);
        options.keep_vtable_names = self.keep_vtable_symbols || form == OutputForm::Text;
        options.salvage = self.salvage;
        options.allow_duplicates = self.allow_duplicates;
        options.filter = FunctionFilter::new(self.function.as_deref(), self.no_function.as_deref())?;
        options.remapping = self.remapping()?;
        Ok(options)
    }

    /// Returns the target.
    pub(super) fn target(&self, inputs: &[WeightedInput]) -> Result<ResolvedTarget> {
        if self.write_prev_version {
            let mut target = match &self.consumer {
                Some(name) => Target::of_row(release::parse(name)?, TargetSource::Option),
                None => Target::default_release(TargetSource::Option),
            };
            if target.release < WRITES_PREVIOUS_VERSION {
                let release = target.release;
                return Err(Error::usage(format!(
                    "--write-prev-version requires LLVM 19 or later, but the target is {release}"
                )));
            }
            target.indexed_version = PREVIOUS_VERSION;
            return Ok(ResolvedTarget::requested(target, true));
        }
        target::choose(self.consumer.as_deref(), self.format_version, inputs)
    }
}

/// The options that select functions by name.
pub(super) const FILTERS: [&str; 2] = ["--function", "--no-function"];

/// A hint for options without effect on the inputs.
pub(super) const OPTIONS_OF_EACH: &str = "`profbridge merge --help` lists the options of each format";

/// The settings of the merge of a family.
pub(crate) struct MergeWork<'a> {
    pub(super) inputs: &'a [WeightedInput],
    /// The inputs that were found in directories.
    pub(super) found: BTreeSet<PathBuf>,
    /// The format to write.
    pub(super) form: OutputForm,
}

/// The version that `--write-prev-version` writes for LLVM 19 to 23.
const PREVIOUS_VERSION: u32 = 11;

/// The first release that has `--write-prev-version`.
const WRITES_PREVIOUS_VERSION: Release = Release(19);

/// A list or remapping file; `-` is standard input.
fn read_small(path: &Path) -> Result<Vec<u8>> {
    Ok(Input::argument(path).bytes(Access::Read, &crate::limits::chosen())?.to_vec())
}
