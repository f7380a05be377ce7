//! The command line of `convert`, and what all families make of it.

use crate::bridged::BridgeArgs;
use crate::cross_release::CrossReleaseArgs;
use crate::iprof_convert::IprofConvertArgs;
use crate::iprof_files::IprofWriteArgs;
use crate::memprof::MemProfArgs;
use crate::merge_gates::MergeGateArgs;
use crate::outputs::OutputArgs;
use crate::profgen::ProfgenArgs;
use crate::refuse::refuse;
use crate::sample_files::SampleArgs;
use crate::stack_write::WriteStackArgs;
use crate::stacks::StackArgs;
use crate::toolchains::ToolchainParser;
use clap::{Args, ValueEnum};
use profbridge::families::OutputForm;
use profbridge::input::Input;
use profbridge::{Error, Result};
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
  profbridge convert samples.txt --binary app -o app.prof
  profbridge convert app.memprofraw --profiled-binary app -o app.memprofyaml

A coverage map compiled into a binary has a version of its own, which a converted
profile does not change: llvm-cov must still be new enough for the binary.

Without --for, --format-version and PROFBRIDGE_FOR the result is for the compilers that may
have written the inputs: raw version 8 for LLVM 14 and later, 9 for 18, 10 for 19, 11 for 23;
indexed profiles for the first release that writes their version; text and iprof for LLVM 22;
of several kinds the newest.")]
pub(crate) struct ConvertArgs {
    /// The profile, or several recordings or texts of stacks, which add up; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(super) inputs: Vec<PathBuf>,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) written: OutputArgs,
    /// Version of the raw format, 1 to 5 or 7 to 11; by default that of the toolchain written for
    #[arg(long, value_name = "N")]
    pub(super) raw_version: Option<u32>,
    /// Width and byte order of the raw format
    #[arg(long, value_enum, value_name = "ARCH", default_value_t = RawArch::Le64)]
    pub(super) raw_arch: RawArch,
    /// Write for this toolchain, for example llvm-14, rustc-1.75 or swift-5.9; else as PROFBRIDGE_FOR says, else for
    /// the compilers that may have written the input
    #[arg(long = "for", value_name = "TOOLCHAIN", value_parser = ToolchainParser, hide_possible_values = true)]
    pub(super) consumer: Option<String>,
    /// Version of the indexed format, 1 to 14
    #[arg(long, value_name = "N", conflicts_with = "consumer")]
    pub(super) format_version: Option<u32>,
    /// Leave out functions that never ran
    #[arg(long)]
    pub(super) sparse: bool,
    /// Fail instead of leaving out what the format cannot hold
    #[arg(long)]
    pub(super) strict: bool,
    /// Do not say for whom the result is
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Write a result even if there is nothing in it
    #[arg(long)]
    pub(super) allow_empty: bool,
    /// Print what became of the inputs, and what was written, as JSON; see docs/json-schema/convert-1.json
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

/// Width and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum RawArch {
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

impl ConvertArgs {
    /// The files that were named as inputs.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.inputs.clone()
    }

    /// What the result must be.
    pub(super) fn gates(&self) -> MergeGateArgs {
        MergeGateArgs::for_conversion(self.allow_empty)
    }

    /// What only raw output has.
    pub(super) fn refuse_for_form(&self, form: OutputForm) -> Result<()> {
        let raw = [(self.raw_version.is_some(), "--raw-version"), (self.raw_arch != RawArch::Le64, "--raw-arch")];
        if form == OutputForm::Raw { Ok(()) } else { refuse(&raw, "for raw profiles", "name the output .profraw") }
    }

    /// What is for LLVM profiles alone.
    pub(super) fn for_llvm(&self) -> Vec<(bool, &'static str)> {
        let own = [
            (self.sparse, "--sparse"),
            (self.consumer.is_some(), "--for"),
            (self.format_version.is_some(), "--format-version"),
        ];
        own.into_iter().chain(self.memprof.given()).collect()
    }

    /// What is to be written.
    pub(super) fn form(&self, inputs: &[Input], said: Option<OutputForm>) -> Result<OutputForm> {
        let only_iprof = self.iprof.changes() || self.iprof_write.asks();
        let form = match said {
            Some(form) => form.of_inputs(inputs, &self.output)?,
            None if only_iprof => OutputForm::Iprof,
            None if self.written.family().is_some() => OutputForm::Indexed,
            None => {
                let detail = format!("{}: the name does not tell which format to write", self.output.display());
                let hint = "say it with --to raw, indexed, text, yaml, iprof, collapsed or pprof";
                return Err(Error::usage(detail).with_hint(hint));
            }
        };
        match form {
            OutputForm::SampleProf => {
                let error = Error::usage("only sample profiles become a sample profile").in_file(&self.output);
                Err(error.with_hint("name the output .profdata, .proftext or .profraw"))
            }
            form => Ok(form),
        }
    }
}

/// What the conversion of a family is to do.
pub(crate) struct ConvertWork<'a> {
    pub(super) inputs: &'a [Input],
    /// What is written.
    pub(super) form: OutputForm,
}

impl ConvertWork<'_> {
    /// The input, of which there is one alone.
    pub(super) fn only_input(&self) -> Result<&Input> {
        let [input] = self.inputs else {
            return Err(
                Error::usage("one profile is converted at a time").with_hint("`profbridge merge` adds up several")
            );
        };
        Ok(input)
    }
}
