//! The command line of `merge`, and what all families make of it.

use crate::bridged::BridgeArgs;
use crate::correlate::CorrelateArgs;
use crate::cross_release::CrossReleaseArgs;
use crate::iprof_files::IprofWriteArgs;
use crate::iprof_merge::IprofMergeArgs;
use crate::memprof::MemProfArgs;
use crate::merge_gates::MergeGateArgs;
use crate::outputs::OutputArgs;
use crate::sample_files::SampleArgs;
use crate::stack_write::WriteStackArgs;
use crate::stacks::StackArgs;
use crate::target::ResolvedTarget;
use crate::toolchains::ToolchainParser;
use clap::Args;
use profbridge::families::{FailureMode, MergeOptions, OutputForm, Target, TargetSource, WriteOptions};
use profbridge::input::{self, Access, InputList, WeightedInput};
use profbridge::instr::{FunctionFilter, Remapping};
use profbridge::instr::{Release, release};
use profbridge::{Compat, Error, Result};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Merge raw, indexed and text profiles of any version, iprof files, or sampled stacks, into one
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge merge -o app.profdata *.profraw
  profbridge merge -o app.profdata --for llvm-14 runs/
  profbridge merge --text --weighted-input=3,main.profraw rare.profraw
  profbridge merge -o app.iprof --weighted-input=4,main.iprof rare.iprof
  profbridge merge -o default.pgo --drop-addresses --max-bytes=2000000 week/*.pprof
  find . -name '*.profraw' | profbridge merge --sparse -f - -o app.profdata

Without --for, --format-version and PROFBRIDGE_FOR the result is for the compilers that may
have written the inputs: raw version 8 for LLVM 14 and later, 9 for 18, 10 for 19, 11 for 23;
indexed profiles for the first release that writes their version; text and iprof for LLVM 22;
of several kinds the newest.

Exit code: 0; 1 when inputs cannot be read or there is nothing to write; 2 for wrong use; 3 when a gate fails.
Nothing is written unless it is 0.")]
pub(crate) struct MergeArgs {
    /// Profiles, folders of profiles, or `-` for standard input
    #[arg(value_name = "FILE")]
    pub(super) inputs: Vec<PathBuf>,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub(super) output: PathBuf,
    /// A list of inputs, one `[WEIGHT,]FILE` a line; `-` reads it from standard input
    #[arg(short = 'f', long, value_name = "FILE")]
    pub(super) input_files: Option<PathBuf>,
    /// An input whose counts are multiplied by WEIGHT
    #[arg(long, value_name = "WEIGHT,FILE")]
    pub(super) weighted_input: Vec<OsString>,
    #[command(flatten)]
    pub(super) written: OutputArgs,
    /// As `--to text`
    #[arg(long)]
    pub(super) text: bool,
    /// Write a part of a larger merge: a profile that also keeps what a later merge needs to go on exactly
    #[arg(long, conflicts_with_all = ["text", "sparse", "show", "write_prev_version"])]
    pub(super) partial: bool,
    /// Count a profile twice that occurs in a partial merge and in another input
    #[arg(long)]
    pub(super) allow_duplicates: bool,
    /// Leave out functions that never ran
    #[arg(long)]
    pub(super) sparse: bool,
    /// Write for this toolchain, for example llvm-14, rustc-1.75 or swift-5.9; else as PROFBRIDGE_FOR says, else for
    /// the compilers that may have written the inputs
    #[arg(long = "for", value_name = "TOOLCHAIN", value_parser = ToolchainParser, hide_possible_values = true, conflicts_with = "format_version")]
    pub(super) consumer: Option<String>,
    /// Write this version of the indexed format, 1 to 14
    #[arg(long, value_name = "N")]
    pub(super) format_version: Option<u32>,
    /// Write indexed version 11, which LLVM 18 and later read
    #[arg(long, conflicts_with = "format_version")]
    pub(super) write_prev_version: bool,
    /// Fail instead of leaving out what the written version cannot hold
    #[arg(long)]
    pub(super) strict: bool,
    /// When bad inputs make the merge fail
    #[arg(long, value_enum, default_value_t = FailureModeArg::Any)]
    pub(super) failure_mode: FailureModeArg,
    /// Keep the good records of bad inputs, if the merge goes on
    #[arg(long)]
    pub(super) salvage: bool,
    /// Refuse inputs of different programs, as their binary ids tell, and inputs that do not tell
    #[arg(long)]
    pub(super) same_program: bool,
    /// Keep only functions whose name matches
    #[arg(long, visible_alias = "filter", value_name = "REGEX")]
    pub(super) function: Option<String>,
    /// Leave out functions whose name matches
    #[arg(long, value_name = "REGEX")]
    pub(super) no_function: Option<String>,
    /// Rename functions while reading, one `OLD NEW` a line
    #[arg(short = 'r', long, value_name = "FILE")]
    pub(super) remapping_file: Option<PathBuf>,
    /// Keep the names of vtables
    #[arg(long)]
    pub(super) keep_vtable_symbols: bool,
    /// Traces of first execution to keep
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(super) temporal_profile_trace_reservoir_size: u64,
    /// Functions to keep of each trace
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(super) temporal_profile_max_trace_length: u64,
    /// Worker threads; 0 asks the machine. The result is the same for any number
    #[arg(short = 'j', long, value_name = "N", default_value_t = 0)]
    pub(super) num_threads: usize,
    /// Show the totals of the result (needs an output file)
    #[arg(long, conflicts_with = "json")]
    pub(super) show: bool,
    /// Print the report as JSON on standard output (needs an output file)
    #[arg(long)]
    pub(super) json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub(super) quiet: bool,
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
    pub(super) stacks: StackArgs,
    #[command(flatten)]
    pub(super) write_stacks: WriteStackArgs,
    /// The inputs are instrumentation profiles (accepted for compatibility)
    #[arg(long, hide = true)]
    pub(super) instr: bool,
}

/// The values of `--failure-mode`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum FailureModeArg {
    /// One bad input is enough
    Any,
    /// Only when every input is bad
    All,
    /// Never
    Warn,
}

impl From<FailureModeArg> for FailureMode {
    fn from(argument: FailureModeArg) -> Self {
        match argument {
            FailureModeArg::Any => Self::Any,
            FailureModeArg::All => Self::All,
            FailureModeArg::Warn => Self::Warn,
        }
    }
}

impl MergeArgs {
    /// Whether any input was named, be it a folder or a list.
    pub(crate) fn names_any(&self) -> bool {
        !self.inputs.is_empty() || !self.weighted_input.is_empty() || self.input_files.is_some()
    }

    /// The files that were named as inputs.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.inputs.clone()
    }

    pub(super) fn inputs(&self) -> Result<InputList> {
        let mut list = InputList::new(Compat::Profbridge).without_output(&self.output);
        self.inputs.iter().try_for_each(|path| list.push(path))?;
        self.weighted_input.iter().try_for_each(|text| list.push_weighted_text(text))?;
        if let Some(path) = &self.input_files {
            list.push_list(&read_small(path)?)?;
        }
        Ok(list)
    }

    /// The filters and renamings that apply to inputs, in words.
    pub(super) fn applied(&self) -> Vec<String> {
        let filters = [("--function", &self.function), ("--no-function", &self.no_function)];
        let given = filters.into_iter().filter_map(|(option, given)| Some((option, given.as_ref()?)));
        let mut words: Vec<String> = given.map(|(option, pattern)| format!("{option}={pattern}")).collect();
        words.extend(self.remapping_file.iter().map(|path| format!("--remapping-file={}", path.display())));
        words
    }

    /// The renamings that were asked for.
    pub(super) fn remapping(&self) -> Result<Remapping> {
        match &self.remapping_file {
            Some(path) => Remapping::parse(&read_small(path)?).map_err(|error| error.in_file(path)),
            None => Ok(Remapping::default()),
        }
    }

    pub(super) fn merge_options(&self, release: Release, form: OutputForm) -> Result<MergeOptions> {
        let mut options = MergeOptions::default();
        options.read.limits = crate::limits::chosen();
        options.release = release;
        options.read.correlator = self.correlate.correlator()?;
        options.read.programs = self.memprof.programs.programs();
        options.memprof = self.memprof.options();
        options.failure_mode = self.failure_mode.into();
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

    /// For whom the result is.
    pub(super) fn target(&self, inputs: &[WeightedInput]) -> Result<ResolvedTarget> {
        if self.write_prev_version {
            let mut target = match &self.consumer {
                Some(name) => Target::of_row(release::parse(name)?, TargetSource::Option),
                None => Target::default_release(TargetSource::Option),
            };
            if target.release < WRITES_PREVIOUS_VERSION {
                let release = target.release;
                return Err(Error::usage(format!("--write-prev-version is for LLVM 19 and later, not {release}")));
            }
            target.indexed_version = PREVIOUS_VERSION;
            return Ok(ResolvedTarget::asked(target, true));
        }
        ResolvedTarget::choose(self.consumer.as_deref(), self.format_version, inputs)
    }

    /// How the merged profile is written.
    pub(super) fn write_options(
        &self,
        options: &MergeOptions,
        target: &ResolvedTarget,
        form: OutputForm,
    ) -> WriteOptions {
        let mut write = WriteOptions::default();
        write.format = target.target.format(form);
        write.compress_by_name = true;
        write.sparse = self.sparse;
        write.strict = self.strict;
        write.tolerated = target.tolerated();
        write.filter = options.filter.clone();
        write.threads = options.threads;
        write
    }

    /// What chooses functions by name.
    pub(super) fn filters(&self) -> [(bool, &'static str); 2] {
        [(self.function.is_some(), "--function"), (self.no_function.is_some(), "--no-function")]
    }
}

/// Where to look for what means something to other inputs.
pub(super) const OPTIONS_OF_EACH: &str =
    "`profbridge merge --help` has the options of each family under a heading of its own";

/// What the merge of a family is to do.
pub(crate) struct MergeWork<'a> {
    pub(super) inputs: &'a [WeightedInput],
    /// Those of them that were found in folders.
    pub(super) found: BTreeSet<PathBuf>,
    /// What is written.
    pub(super) form: OutputForm,
}

/// What `--write-prev-version` writes, in LLVM 19 to 23 alike.
const PREVIOUS_VERSION: u32 = 11;

/// The first release that has `--write-prev-version`.
const WRITES_PREVIOUS_VERSION: Release = Release(19);

/// A list or remapping file; `-` is standard input.
fn read_small(path: &Path) -> Result<Vec<u8>> {
    Ok(input::open(path, Access::Read, &crate::limits::chosen())?.to_vec())
}
