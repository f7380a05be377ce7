//! `convert`: one profile into another format or version.

use crate::bridged::{self, BridgeArgs};
use crate::console;
use crate::cross_release::{self, CrossReleaseArgs};
use crate::iprof_convert::{self, IprofConvertArgs};
use crate::iprof_files::{IprofWriteArgs, holds_nothing_of};
use crate::memory_merge::MemoryRun;
use crate::memprof::MemProfArgs;
use crate::merge_document::MergeDocument;
use crate::merge_gates::MergeGateArgs;
use crate::outputs::OutputArgs;
use crate::refuse::refuse;
use crate::sample_files::{SampleArgs, SampleRun, are_samples};
use crate::stack_merge;
use crate::stacks::{StackArgs, StackJob, WriteStackArgs};
use crate::target::Whom;
use crate::toolchains::ToolchainParser;
use clap::{Args, ValueEnum};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::input::{Family, Input};
use profbridge::instr::{Profile, Release};
use profbridge::iprof::{BranchClash, SectionKind};
use profbridge::merge::Remapping;
use profbridge::merge::cross_release::Origins;
use profbridge::pipeline::plan::{MergeRequest, StackOutput};
use profbridge::pipeline::{
    self, FailureMode, InputOutcome, MergeOptions, MergeReport, OutputForm, OutputFormat, Silent, WriteOptions,
};
use profbridge::sampleprof;
use profbridge::{Error, ErrorKind, Result, Warning};
use std::path::PathBuf;
use std::process::ExitCode;

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
    inputs: Vec<PathBuf>,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    written: OutputArgs,
    /// Version of the raw format, 1 to 5 or 7 to 11; by default that of the toolchain written for
    #[arg(long, value_name = "N")]
    raw_version: Option<u32>,
    /// Width and byte order of the raw format
    #[arg(long, value_enum, value_name = "ARCH", default_value_t = RawArch::Le64)]
    raw_arch: RawArch,
    /// Write for this toolchain, for example llvm-14, rustc-1.75 or swift-5.9; else as PROFBRIDGE_FOR says, else for
    /// the compilers that may have written the input
    #[arg(long = "for", value_name = "TOOLCHAIN", value_parser = ToolchainParser, hide_possible_values = true)]
    consumer: Option<String>,
    /// Version of the indexed format, 1 to 14
    #[arg(long, value_name = "N", conflicts_with = "consumer")]
    format_version: Option<u32>,
    /// Leave out functions that never ran
    #[arg(long)]
    sparse: bool,
    /// Fail instead of leaving out what the format cannot hold
    #[arg(long)]
    strict: bool,
    /// Do not say for whom the result is
    #[arg(short, long)]
    quiet: bool,
    /// Write a result even if there is nothing in it
    #[arg(long)]
    allow_empty: bool,
    /// Print what became of the inputs, and what was written, as JSON; see docs/json-schema/convert-1.json
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cross: CrossReleaseArgs,
    #[command(flatten)]
    bridge: BridgeArgs,
    #[command(flatten)]
    stacks: StackArgs,
    #[command(flatten)]
    write_stacks: WriteStackArgs,
    #[command(flatten)]
    iprof: IprofConvertArgs,
    #[command(flatten)]
    iprof_write: IprofWriteArgs,
    #[command(flatten)]
    memprof: MemProfArgs,
    #[command(flatten)]
    sample: SampleArgs,
}

/// Width and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RawArch {
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

/// A profile, and who may have written it.
type Convertible = (Profile, Origins);

impl ConvertArgs {
    /// The files that were named as inputs.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.inputs.clone()
    }

    /// Converts and writes.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let inputs: Vec<Input> = self.inputs.iter().map(Input::new).collect();
        if self.json {
            console::needs_file(&self.output)?;
        }
        let mut document = MergeDocument::of_conversion(if self.json { &inputs } else { &[] });
        let result = self.convert(&inputs, &mut document);
        if self.json {
            if result.is_ok() {
                document.note_rest_used();
            }
            document.print("profbridge.convert/1", result.as_ref().err())?;
        }
        result.map(|()| ExitCode::SUCCESS)
    }

    /// Converts as the inputs and the output want it, and notes what becomes of them.
    fn convert(&self, inputs: &[Input], document: &mut MergeDocument) -> Result<()> {
        let said = self.written.form(&self.output, &self.sample.forms())?;
        if are_samples(inputs) {
            return self.convert_samples(inputs, said, document);
        }
        self.sample.refuse_for_others()?;
        let form = self.form(inputs, said)?;
        self.written.guard(inputs, &self.output, form)?;
        self.refuse_for_form(form)?;
        if form == OutputForm::Iprof
            && let [input] = inputs
            && input.family()? == Some(Family::Iprof)
        {
            self.refuse_for_iprof()?;
            iprof_convert::run(input, &self.output, &self.iprof, &self.iprof_write, self.allow_empty, document)?;
            document.wrote(&self.output, Family::Iprof.name());
            return Ok(());
        }
        if let Some(format) = self.stack_format(inputs, form)? {
            self.refuse_for_stacks()?;
            let job = StackJob {
                partial: None,
                inputs,
                format,
                output: &self.output,
                read: &self.stacks,
                write: &self.write_stacks,
                strict: self.strict,
                quiet: self.quiet,
                failure_mode: FailureMode::Any,
                gates: None,
                allow_empty: self.allow_empty,
                salvage: false,
            };
            return stack_merge::run(&job, true, document);
        }
        let [input] = inputs else {
            return Err(
                Error::usage("one profile is converted at a time").with_hint("`profbridge merge` adds up several")
            );
        };
        self.refuse_for_llvm(input.family()? == Some(Family::Iprof), form)?;
        if form == OutputForm::MemProfYaml {
            let (inputs, output, strict, quiet) = (std::slice::from_ref(input), &self.output, self.strict, self.quiet);
            let run = MemoryRun { inputs, output, strict, quiet, json: self.json, gates: &self.gates() };
            return run.run(&self.merge_options(Release::DEFAULT), document);
        }
        let mut whom = Whom::choose(self.consumer.as_deref(), self.format_version, [input])?;
        if form == OutputForm::Raw {
            whom = whom.with_raw_version(self.raw_version);
        }
        let (mut profile, origins) = match input.family()? {
            Some(Family::Iprof) => self.bridged_profile(input, form, &whom, document)?,
            _ => {
                let report = self.merged_profile(input, whom.target.release, document)?;
                let origins = report.origins();
                (report.profile, origins)
            }
        };
        let mut write = WriteOptions::default();
        // An iprof is read by no compiler of LLVM.
        if form != OutputForm::Iprof {
            let findings = whom.cross(&mut profile, &mut write.filter, self.cross.hashes(), origins, self.strict)?;
            cross_release::print_findings(&findings, &self.output, self.quiet);
            document.findings = cross_release::findings_json(&findings);
        }
        self.gates().refuse_profile_of_nothing(&profile, &write.filter, self.sparse)?;
        write.strict = self.strict;
        write.tolerated = whom.tolerated();
        write.sparse = self.sparse;
        write.gzip_by_name = true;
        write.format = match form {
            OutputForm::Raw => OutputFormat::Raw { encoding: self.raw_encoding(&whom) },
            OutputForm::Text => whom.target.text_format(),
            OutputForm::Iprof => {
                let options = self.bridge.to_iprof_options(BranchClash::default());
                let write = &self.iprof_write;
                let losses = bridged::write_iprof(&profile, &input.path, &self.output, &options, write, self.strict)?;
                document.lose(&losses);
                document.wrote(&self.output, Family::Iprof.name());
                return Ok(());
            }
            _ => whom.target.indexed_format(),
        };
        let is_asked = form == OutputForm::Raw && self.raw_version.is_some();
        if !self.quiet && !is_asked {
            whom.say(write.format, &self.output);
        }
        let saved = pipeline::write_file(&profile, &write, &self.output)?;
        console::losses(&saved.losses, &write.tolerated, &self.output);
        document.lose(&saved.losses);
        document.target = Some(whom.json());
        document.wrote(&self.output, Family::Instr.name());
        Ok(())
    }

    /// Writes a sample profile in another encoding.
    fn convert_samples(&self, inputs: &[Input], form: Option<OutputForm>, document: &mut MergeDocument) -> Result<()> {
        let own = vec![
            (self.sparse, "--sparse"),
            (self.format_version.is_some(), "--format-version"),
            (self.raw_version.is_some(), "--raw-version"),
        ];
        let others = [self.memprof.given(), self.bridge.given(), self.stacks.given(), self.write_stacks.given()];
        let iprof = [self.iprof.given(), self.iprof_write.given()].concat();
        let given = [own, others.concat(), iprof].concat();
        refuse(&given, "not for sample profiles", "--sample-format chooses the encoding, --for the release")?;
        // A conversion is a merge of one profile.
        let mut request = MergeRequest::new(&self.output);
        request.form = form;
        let form = request.plan(inputs)?.form(form);
        self.written.guard(inputs, &self.output, form)?;
        let encoding = (form == OutputForm::Text).then_some(sampleprof::Encoding::Text);
        let run = SampleRun {
            applied: None,
            inputs,
            output: &self.output,
            arguments: &self.sample,
            encoding,
            consumer: self.consumer.as_deref(),
            function: None,
            no_function: None,
            remapping: Remapping::default(),
            failure_mode: FailureMode::Any,
            salvage: false,
            threads: None,
            strict: self.strict,
            quiet: self.quiet,
            gates: &self.gates(),
            json: self.json,
        };
        run.run(document)
    }

    /// What the result must be.
    fn gates(&self) -> MergeGateArgs {
        MergeGateArgs::for_conversion(self.allow_empty)
    }

    /// What only raw output has.
    fn refuse_for_form(&self, form: OutputForm) -> Result<()> {
        let raw = [(self.raw_version.is_some(), "--raw-version"), (self.raw_arch != RawArch::Le64, "--raw-arch")];
        if form == OutputForm::Raw { Ok(()) } else { refuse(&raw, "for raw profiles", "name the output .profraw") }
    }

    /// What compilers of LLVM ask for means nothing to an iprof that stays one.
    fn refuse_for_iprof(&self) -> Result<()> {
        let others = [self.for_llvm(), self.bridge.given(), self.stacks.given(), self.write_stacks.given()];
        refuse(
            &others.concat(),
            "not for an iprof that stays one",
            "--to-version chooses its version, --prune its size",
        )
    }

    fn refuse_for_stacks(&self) -> Result<()> {
        let others = [self.for_llvm(), self.bridge.given(), self.iprof.given(), self.iprof_write.given()];
        refuse(&others.concat(), "not for stacks", "`profbridge convert --help` has the options for stacks")
    }

    /// What chooses among the parts of an iprof or of stacks means nothing to an LLVM profile.
    fn refuse_for_llvm(&self, is_iprof: bool, form: OutputForm) -> Result<()> {
        let mut others = [self.stacks.given(), self.write_stacks.given()].concat();
        if !is_iprof {
            others.extend(self.iprof.given());
        }
        if form != OutputForm::Iprof {
            others.extend(self.iprof_write.given());
        }
        refuse(
            &others,
            "not for this conversion",
            "`profbridge convert --help` has the options of each under a heading",
        )
    }

    /// What is for LLVM profiles alone.
    fn for_llvm(&self) -> Vec<(bool, &'static str)> {
        let own = [
            (self.sparse, "--sparse"),
            (self.consumer.is_some(), "--for"),
            (self.format_version.is_some(), "--format-version"),
        ];
        own.into_iter().chain(self.memprof.given()).collect()
    }

    /// The profile of an LLVM input, in the order that a merge gives it.
    fn merged_profile(&self, input: &Input, release: Release, document: &mut MergeDocument) -> Result<MergeReport> {
        let options = self.merge_options(release);
        let mut report = pipeline::merge_files(std::slice::from_ref(input), &options, &mut Silent)?;
        for input in &mut report.inputs {
            input.warnings.iter().for_each(console::warning);
            document.warn_of(0, input.warnings.iter().map(ToString::to_string));
            match std::mem::replace(&mut input.outcome, InputOutcome::Used) {
                InputOutcome::Failed(error) => return Err(error),
                InputOutcome::Empty if !self.allow_empty => {
                    return Err(Error::new(ErrorKind::EmptyProfile).in_file(&input.input.path));
                }
                _ => {}
            }
        }
        Ok(report)
    }

    fn merge_options(&self, release: Release) -> MergeOptions {
        let mut options = MergeOptions::default();
        options.read.limits = crate::limits::chosen();
        options.read.programs = self.memprof.programs.programs();
        options.memprof = self.memprof.options();
        options.release = release;
        options.keep_vtable_names = true;
        options
    }

    /// The profile that an iprof becomes for the format to be written.
    fn bridged_profile(
        &self,
        input: &Input,
        form: OutputForm,
        whom: &Whom,
        document: &mut MergeDocument,
    ) -> Result<Convertible> {
        let version = match form {
            OutputForm::Raw => bridged::indexed_version_of_raw(self.raw_version(whom)),
            _ => whom.target.indexed_version,
        };
        let options = self.bridge.to_llvm_options(self.iprof.section_kinds(), version);
        let (profile, losses) = bridged::read_profile(input, &options, self.strict, document, |document| {
            let left_out = self
                .iprof
                .filter(document)?
                .into_iter()
                .map(|name| Warning::new(format!("the member \"{name}\" is left out")).in_file(&input.path));
            let left_out = left_out.collect();
            let is_chosen = |kind: &SectionKind| options.sections.contains(kind);
            self.gates().refuse_nothing_but("no entry is left", || holds_nothing_of(document, is_chosen))?;
            Ok(left_out)
        })?;
        document.lose(&losses);
        let mut origins = Origins::default();
        origins.add_unknown();
        Ok((profile, origins))
    }

    /// What is to be written.
    fn form(&self, inputs: &[Input], said: Option<OutputForm>) -> Result<OutputForm> {
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

    /// What stacks are to be written as; `None` when other profiles are converted.
    fn stack_format(&self, inputs: &[Input], form: OutputForm) -> Result<Option<StackOutput>> {
        let found = StackOutput::of_form(form);
        let holds_stacks = self.holds_stacks(inputs)?;
        match found {
            Some(StackOutput::Iprof) => Ok(holds_stacks.then_some(StackOutput::Iprof)),
            None if holds_stacks => {
                let error = Error::usage(format!("{} do not become {}", Family::Stacks.words(), form.words()));
                Err(error.in_file(&self.output).with_hint("name the output .collapsed, .pprof or .iprof"))
            }
            found => Ok(found),
        }
    }

    fn holds_stacks(&self, inputs: &[Input]) -> Result<bool> {
        for input in inputs {
            if !self.stacks.are_in(input)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn raw_version(&self, whom: &Whom) -> u32 {
        self.raw_version.unwrap_or(whom.target.raw_version)
    }

    fn raw_encoding(&self, whom: &Whom) -> Encoding {
        let (pointer, endian) = match self.raw_arch {
            RawArch::Le64 => (PointerWidth::Bits64, Endian::Little),
            RawArch::Be64 => (PointerWidth::Bits64, Endian::Big),
            RawArch::Le32 => (PointerWidth::Bits32, Endian::Little),
            RawArch::Be32 => (PointerWidth::Bits32, Endian::Big),
        };
        Encoding { endian, pointer, version: self.raw_version(whom) }
    }
}
