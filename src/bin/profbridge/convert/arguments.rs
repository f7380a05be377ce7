//! The command line of `convert`, and its parts that are the same for all families.

use crate::bridged::BridgeArgs;
use crate::cross_release::CrossReleaseArgs;
use crate::iprof_convert::IprofConvertArgs;
use crate::iprof_files::IprofWriteArgs;
use crate::memprof::MemProfArgs;
use crate::merge_gates::MergeGateArgs;
use crate::outputs::OutputArgs;
use crate::profgen::ProfgenArgs;
use crate::sample_files::SampleArgs;
use crate::stack_write::WriteStackArgs;
use crate::stacks::StackArgs;
use crate::toolchains::ToolchainParser;
use crate::validate::{options_of, refuse};
use clap::{Args, ValueEnum};
use profbridge::bytes::{Endian, PointerWidth};
use profbridge::families::OutputForm;
use profbridge::families::plan::MergeRequest;
use profbridge::input::{Family, Input};
use profbridge::{Error, Hint, Result};
use std::path::PathBuf;

/// Convert a profile to another format or version
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge convert old.profraw -o new.profraw --to raw --raw-version 10
  profbridge convert app.profdata -o app.proftext
  profbridge convert default.iprof -o app.iprof.gz --prune --only com.example
  profbridge convert app.profdata -o for-14.profdata --for llvm-14
  profbridge convert app.profdata -o app.iprof
  profbridge convert app.iprof -o app.profdata
  profbridge convert app.jfr -o app.iprof
  profbridge convert app.collapsed -o app.iprof --reference app.jar
  profbridge convert app.iprof -o app.collapsed
  profbridge convert app.jfr -o app.pprof
  profbridge convert perf.data --binary app -o app.prof
  profbridge convert perf.data --binary app --binary libapp.so -o profiles/
  profbridge convert app.memprofraw --profiled-binary app -o app.memprofyaml

A coverage map in a binary has its own version, which converting the profile does not change:
llvm-cov must be new enough for the binary.

Without --for, --format-version and PROFBRIDGE_FOR, the target is the compiler that wrote the
input, as far as its version shows it: raw version 8 means LLVM 14, 9 LLVM 18, 10 LLVM 19, 11
LLVM 23; an indexed version means the first release that writes it; text and iprof mean LLVM 22.
Of several inputs the newest counts.")]
pub(crate) struct ConvertArgs {
    /// The profile to convert, or several sources of stacks to add; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) inputs: Vec<PathBuf>,
    /// The output file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) written: OutputArgs,
    /// Version of the raw format, 1 to 5 or 7 to 11 [default: the version of the target]
    #[arg(long, value_name = "N")]
    pub(super) raw_version: Option<u32>,
    /// Pointer size and byte order of the raw format
    #[arg(long, value_enum, value_name = "ARCH", default_value_t = RawArch::Le64)]
    pub(super) raw_arch: RawArch,
    /// Target toolchain, such as llvm-14, rustc-1.75 or swift-5.9 [default: $PROFBRIDGE_FOR, otherwise the oldest
    /// release that can have written the input]
    #[arg(long = "for", value_name = "TOOLCHAIN", value_parser = ToolchainParser, hide_possible_values = true)]
    pub(super) consumer: Option<String>,
    /// Version of the indexed format, 1 to 14
    #[arg(long, value_name = "N", conflicts_with = "consumer")]
    pub(super) format_version: Option<u32>,
    /// Drop functions that never ran
    #[arg(long)]
    pub(super) sparse: bool,
    /// Fail instead of dropping data that the format cannot store
    #[arg(long)]
    pub(super) strict: bool,
    /// Do not print the target
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Write the output even if it is empty
    #[arg(long)]
    pub(super) allow_empty: bool,
    /// Print the inputs and the output as JSON; see docs/json-schema/convert-1.json
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) cross: CrossReleaseArgs,
    #[command(flatten)]
    pub(super) bridge: BridgeArgs,
    #[command(flatten)]
    pub(super) stacks: StackArgs,
    #[command(flatten)]
    pub(super) write_stacks: WriteStackArgs,
    #[command(flatten)]
    pub(super) iprof: IprofConvertArgs,
    #[command(flatten)]
    pub(super) iprof_write: IprofWriteArgs,
    #[command(flatten)]
    pub(super) memprof: MemProfArgs,
    #[command(flatten)]
    pub(super) sample: SampleArgs,
    #[command(flatten)]
    pub(super) profgen: ProfgenArgs,
}

/// The values of `--raw-arch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RawArch {
    /// 64 bits, little-endian
    #[value(name = "64le")]
    Le64,
    /// 64 bits, big-endian
    #[value(name = "64be")]
    Be64,
    /// 32 bits, little-endian
    #[value(name = "32le")]
    Le32,
    /// 32 bits, big-endian
    #[value(name = "32be")]
    Be32,
}

impl RawArch {
    /// Returns pointer width and byte order.
    pub(crate) fn parts(self) -> (PointerWidth, Endian) {
        match self {
            Self::Le64 => (PointerWidth::Bits64, Endian::Little),
            Self::Be64 => (PointerWidth::Bits64, Endian::Big),
            Self::Le32 => (PointerWidth::Bits32, Endian::Little),
            Self::Be32 => (PointerWidth::Bits32, Endian::Big),
        }
    }
}

impl ConvertArgs {
    /// The files that were named as inputs.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.inputs.clone()
    }

    /// Returns the thresholds for the output.
    pub(super) fn gates(&self) -> MergeGateArgs {
        MergeGateArgs::for_conversion(self.allow_empty)
    }

    /// Rejects options that only apply to raw output.
    pub(super) fn refuse_for_form(&self, form: OutputForm) -> Result<()> {
        let raw = ["--raw-version", "--raw-arch"];
        if form == OutputForm::Raw { Ok(()) } else { refuse(&raw, "for raw profiles", "name the output .profraw") }
    }

    /// Returns the format to write.
    pub(super) fn form(&self, inputs: &[Input], said: Option<OutputForm>) -> Result<OutputForm> {
        let only_iprof = self.iprof.changes() || self.iprof_write.asks();
        let form = match said {
            Some(form) => form.of_inputs(inputs, &self.output)?,
            None if only_iprof => OutputForm::Iprof,
            None if self.written.family().is_some() => OutputForm::Indexed,
            None => MergeRequest::new(&self.output).plan(inputs)?.form(None),
        };
        match form {
            OutputForm::SampleProf => {
                let error =
                    Error::usage("only sample profiles can be written as a sample profile").in_file(&self.output);
                let is_stacks = |input: &Input| input.family().is_ok_and(|family| family == Some(Family::Stacks));
                Err(match inputs.iter().any(is_stacks) {
                    true => error.with_hint(Hint::StacksOrProgram),
                    false => error.with_hint("name the output .profdata, .proftext or .profraw"),
                })
            }
            form => Ok(form),
        }
    }
}

/// The settings of the conversion of a family.
pub(crate) struct ConvertWork<'a> {
    pub(super) inputs: &'a [Input],
    /// The format to write.
    pub(super) form: OutputForm,
}

impl ConvertWork<'_> {
    /// Returns the input. Fails if there are several.
    pub(super) fn only_input(&self) -> Result<&Input> {
        let [input] = self.inputs else {
            return Err(Error::usage("several inputs were given, but `convert` takes one profile")
                .with_hint("merge them with `profbridge merge`"));
        };
        Ok(input)
    }
}

/// Returns the options that only apply to LLVM profiles.
pub(super) fn for_llvm() -> Vec<String> {
    let own = ["--sparse", "--for", "--format-version"].map(String::from);
    [&own[..], &options_of::<MemProfArgs>()].concat()
}
