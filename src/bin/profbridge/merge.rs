//! `merge`: many profiles into one.

use crate::bridged::{self, BridgeArgs};
use crate::console;
use crate::correlate::CorrelateArgs;
use crate::cross_release::{self, CrossReleaseArgs};
use crate::iprof_files::{IprofWriteArgs, NO_PROFILES};
use crate::iprof_merge::{IprofMerge, IprofMergeArgs};
use crate::memory_merge::MemoryRun;
use crate::memprof::MemProfArgs;
use crate::merge_document::MergeDocument;
use crate::merge_gates::MergeGateArgs;
use crate::merge_inputs::{Sizes, say_nothing_shared, sifted};
use crate::merge_report::{MergeConsole, note, print_warnings, profile_extent, summary};
use crate::mixed_merge;
use crate::outputs::OutputArgs;
use crate::refuse::refuse;
use crate::sample_files::{SampleArgs, SampleRun};
use crate::stack_merge;
use crate::stacks::{StackArgs, StackJob, WriteStackArgs};
use crate::target::Whom;
use crate::toolchains::ToolchainParser;
use crate::words::A_PART;
use clap::Args;
use profbridge::input::{self, Family, Input, InputList, WeightedInput};
use profbridge::instr::{Loss, Release, release};
use profbridge::iprof::SectionKind;
use profbridge::merge::{FunctionFilter, Remapping};
use profbridge::pipeline::input_totals;
use profbridge::pipeline::iprof_merge::IprofMergeOptions;
use profbridge::pipeline::mixed::{MixedOptions, is_document, merge_mixed};
use profbridge::pipeline::partial::{KeptFamily, open_kept};
use profbridge::pipeline::plan::{MergePlan, MergeRequest, StackOutput};
use profbridge::pipeline::same_program::require_same_program;
use profbridge::pipeline::{
    self, FailureMode, MergeOptions, MergeReport, OutputForm, OutputFormat, Target, TargetSource, WriteOptions, partial,
};
use profbridge::report::show::ShowOptions;
use profbridge::sampleprof::Encoding;
use profbridge::{Compat, Error, Result};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    inputs: Vec<PathBuf>,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// A list of inputs, one `[WEIGHT,]FILE` a line; `-` reads it from standard input
    #[arg(short = 'f', long, value_name = "FILE")]
    input_files: Option<PathBuf>,
    /// An input whose counts are multiplied by WEIGHT
    #[arg(long, value_name = "WEIGHT,FILE")]
    weighted_input: Vec<OsString>,
    #[command(flatten)]
    written: OutputArgs,
    /// As `--to text`
    #[arg(long)]
    text: bool,
    /// Write a part of a larger merge: a profile that also keeps what a later merge needs to go on exactly
    #[arg(long, conflicts_with_all = ["text", "sparse", "show", "write_prev_version"])]
    partial: bool,
    /// Leave out functions that never ran
    #[arg(long)]
    sparse: bool,
    /// Write for this toolchain, for example llvm-14, rustc-1.75 or swift-5.9; else as PROFBRIDGE_FOR says, else for
    /// the compilers that may have written the inputs
    #[arg(long = "for", value_name = "TOOLCHAIN", value_parser = ToolchainParser, hide_possible_values = true, conflicts_with = "format_version")]
    consumer: Option<String>,
    /// Write this version of the indexed format, 1 to 14
    #[arg(long, value_name = "N")]
    format_version: Option<u32>,
    /// Write indexed version 11, which LLVM 18 and later read
    #[arg(long, conflicts_with = "format_version")]
    write_prev_version: bool,
    /// Fail instead of leaving out what the written version cannot hold
    #[arg(long)]
    strict: bool,
    /// When bad inputs make the merge fail
    #[arg(long, value_enum, default_value_t = FailureModeArg::Any)]
    failure_mode: FailureModeArg,
    /// Keep the good records of bad inputs, if the merge goes on
    #[arg(long)]
    salvage: bool,
    /// Refuse inputs of different programs, as their binary ids tell, and inputs that do not tell
    #[arg(long)]
    same_program: bool,
    /// Keep only functions whose name matches
    #[arg(long, visible_alias = "filter", value_name = "REGEX")]
    function: Option<String>,
    /// Leave out functions whose name matches
    #[arg(long, value_name = "REGEX")]
    no_function: Option<String>,
    /// Rename functions while reading, one `OLD NEW` a line
    #[arg(short = 'r', long, value_name = "FILE")]
    remapping_file: Option<PathBuf>,
    /// Keep the names of vtables
    #[arg(long)]
    keep_vtable_symbols: bool,
    /// Traces of first execution to keep
    #[arg(long, value_name = "N", default_value_t = 100)]
    temporal_profile_trace_reservoir_size: u64,
    /// Functions to keep of each trace
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    temporal_profile_max_trace_length: u64,
    /// Worker threads; 0 asks the machine. The result is the same for any number
    #[arg(short = 'j', long, value_name = "N", default_value_t = 0)]
    num_threads: usize,
    /// Show the totals of the result (needs an output file)
    #[arg(long)]
    show: bool,
    /// Print the report as JSON on standard output (needs an output file)
    #[arg(long)]
    json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    gates: MergeGateArgs,
    #[command(flatten)]
    cross: CrossReleaseArgs,
    #[command(flatten)]
    correlate: CorrelateArgs,
    #[command(flatten)]
    memprof: MemProfArgs,
    #[command(flatten)]
    bridge: BridgeArgs,
    #[command(flatten)]
    iprof: IprofMergeArgs,
    #[command(flatten)]
    iprof_write: IprofWriteArgs,
    #[command(flatten)]
    sample: SampleArgs,
    #[command(flatten)]
    stacks: StackArgs,
    #[command(flatten)]
    write_stacks: WriteStackArgs,
    /// The inputs are instrumentation profiles (accepted for compatibility)
    #[arg(long, hide = true)]
    instr: bool,
}

/// The values of `--failure-mode`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FailureModeArg {
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
    /// The files that were named as inputs.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.inputs.clone()
    }

    /// Merges and writes.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let list = self.inputs()?;
        let found = list.found().clone();
        let (inputs, passed_over) = sifted(list, self.strict)?;
        let sizes = Sizes::of(&inputs);
        if self.show || self.json {
            console::needs_file(&self.output)?;
        }
        let said = [(self.text, "--text", OutputForm::Text)];
        let form = self.written.form(&self.output, &[&said[..], &self.sample.forms()].concat())?;
        let mut request = MergeRequest::new(&self.output);
        (request.form, request.to) = (form, self.written.family());
        request.stdin_is_stacks = self.stacks.names_form();
        let mut document = MergeDocument::new(if self.json { &inputs } else { &[] });
        document.pass_over(&passed_over);
        let same =
            if self.same_program { require_same_program(&inputs, &crate::limits::read_options()) } else { Ok(()) };
        let result = same.and_then(|()| self.merge(&inputs, &sizes, found, &request, &mut document));
        if self.json {
            document.print("profbridge.merge/2", result.as_ref().err())?;
        }
        result?;
        if self.show {
            let mut stdout = std::io::stdout();
            pipeline::show_file(&self.output, &crate::limits::read_options(), &ShowOptions::default(), &mut stdout)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Merges as the inputs and the output want it, and notes what becomes of them.
    fn merge(
        &self,
        inputs: &[WeightedInput],
        sizes: &Sizes,
        found: BTreeSet<PathBuf>,
        request: &MergeRequest<'_>,
        document: &mut MergeDocument,
    ) -> Result<()> {
        let plan = request.plan(inputs)?;
        let form = plan.form(request.form);
        self.written.guard(inputs, &self.output, form)?;
        if plan != MergePlan::SampleProf {
            self.sample.refuse_for_others()?;
        }
        if matches!(plan, MergePlan::Bridge(_) | MergePlan::Stacks(StackOutput::Iprof)) {
            let hint = "a part is of the family of its inputs; it is converted when the merge is finished";
            refuse(&[(self.partial, "--partial")], "not for these inputs and this output", hint)?;
        }
        self.refuse_other_families(plan)?;
        let merged = match plan {
            MergePlan::SampleProf => self.merge_samples(inputs, form, document),
            MergePlan::Stacks(output) => self.merge_stacks(inputs, output, document),
            MergePlan::Iprof => self.merge_iprof(inputs, found, document),
            MergePlan::Bridge(target) => self.merge_mixed(inputs, target, form, document),
            _ if self.partial => self.merge_partially(inputs, form, document),
            _ if form == OutputForm::MemProfYaml => self.merge_memory(inputs, document),
            _ => self.merge_llvm(inputs, form, document),
        };
        // Whoever reads the files of instrumented programs sees it in time.
        if plan != MergePlan::Instr {
            sizes.say_changed(inputs, self.quiet, document);
        }
        merged
    }

    /// What is for other families than the inputs' would be without effect.
    fn refuse_other_families(&self, plan: MergePlan) -> Result<()> {
        let all = "`profbridge merge --help` has the options of each family under a heading of its own";
        let (memory, images) = (self.memprof.given(), vec![(self.correlate.asks(), "--binary-file or --debug-info")]);
        let stacks = [self.stacks.given(), self.write_stacks.given()].concat();
        let iprof = [self.iprof.given(), self.iprof_write.given()].concat();
        let (given, meant) = match plan {
            MergePlan::Instr => ([stacks, iprof, self.bridge.given()].concat(), "not for LLVM profiles"),
            MergePlan::SampleProf => {
                ([memory, images, stacks, iprof, self.bridge.given()].concat(), "not for sample profiles")
            }
            MergePlan::Stacks(_) => ([memory, images, iprof, self.bridge.given()].concat(), "not for stacks"),
            MergePlan::Iprof => ([memory, images, stacks].concat(), "not for iprof files"),
            _ => (stacks, "not for LLVM profiles and iprof files"),
        };
        refuse(&given, meant, all)
    }

    /// Merges sample profiles.
    fn merge_samples(&self, inputs: &[WeightedInput], form: OutputForm, document: &mut MergeDocument) -> Result<()> {
        let given = [
            (self.sparse, "--sparse"),
            (self.format_version.is_some(), "--format-version"),
            (self.write_prev_version, "--write-prev-version"),
            (self.keep_vtable_symbols, "--keep-vtable-symbols"),
            (self.show, "--show"),
        ];
        refuse(&given, "not for sample profiles", "`profbridge merge --help` has the options of sample profiles last")?;
        let remapping = match &self.remapping_file {
            Some(path) => Remapping::parse(&read_small(path)?).map_err(|error| error.in_file(path))?,
            None => Remapping::default(),
        };
        let run = SampleRun {
            inputs,
            output: &self.output,
            arguments: &self.sample,
            encoding: (form == OutputForm::Text).then_some(Encoding::Text),
            consumer: self.consumer.as_deref(),
            function: self.function.as_deref(),
            no_function: self.no_function.as_deref(),
            remapping,
            failure_mode: self.failure_mode.into(),
            salvage: self.salvage,
            threads: NonZeroUsize::new(self.num_threads),
            strict: self.strict,
            quiet: self.quiet,
            gates: &self.gates,
            json: self.json,
            applied: self.partial.then(|| self.applied()),
        };
        run.run(document)
    }

    /// Merges iprof files.
    fn merge_iprof(
        &self,
        inputs: &[WeightedInput],
        found: BTreeSet<PathBuf>,
        document: &mut MergeDocument,
    ) -> Result<()> {
        self.refuse_llvm_options()?;
        let mut options = IprofMergeOptions::default();
        options.read = crate::limits::iprof_options();
        (options.scale, options.normalize) = self.iprof.scaling();
        options.failure_mode = self.failure_mode.into();
        options.salvage = self.salvage;
        options.found = found;
        options.llvm = self.merge_options(Release::default(), OutputForm::Iprof)?;
        options.llvm.keep_vtable_names = true;
        options.trust = self.bridge.trust();
        options.to_iprof = self.bridge.to_iprof_options(self.iprof.branch_clash());
        let later = [
            (self.iprof.scales(), "--scale or --normalize"),
            (self.iprof_write.asks(), "how it is written"),
            (self.salvage, "--salvage"),
        ];
        if self.partial {
            refuse(&later, "for the end of the merge", "give it when the parts are merged")?;
        }
        let opened = open_kept(inputs, KeptFamily::Iprof, &options.read.limits)?;
        if let Some((inputs, found)) = &opened {
            document.name_inputs(inputs);
            options.found.extend(found.iter().cloned());
        }
        let merge = IprofMerge {
            inputs: opened.as_ref().map_or(inputs, |(inputs, _)| inputs),
            partial: self.partial.then_some(inputs),
            output: &self.output,
            options,
            write: &self.iprof_write,
            strict: self.strict,
            gates: &self.gates,
            json: self.json,
            quiet: self.quiet,
            threads: NonZeroUsize::new(self.num_threads),
        };
        merge.run(document)
    }

    /// Options that choose records of LLVM profiles, or how they are written,
    /// would be without effect on iprof files, and the result another than the
    /// one asked for.
    fn refuse_llvm_options(&self) -> Result<()> {
        let refuse = |given: &[(bool, &str)], hint: &str| refuse(given, "for LLVM profiles, not for iprof files", hint);
        refuse(
            &[(self.function.is_some(), "--function")],
            "`profbridge convert --only` keeps packages, classes or methods",
        )?;
        refuse(
            &[(self.no_function.is_some(), "--no-function")],
            "`profbridge convert --exclude` leaves out packages, classes or methods",
        )?;
        refuse(&[(self.remapping_file.is_some(), "--remapping-file")], "names of an iprof are not changed")?;
        refuse(
            &[(self.sparse, "--sparse")],
            "`profbridge convert --prune` leaves out methods and types that no entry needs",
        )?;
        refuse(&[(self.show, "--show")], "`profbridge show` shows the result")?;
        let compilers = "every GraalVM that takes iprof files reads the result; `profbridge convert --to-version` \
                         writes another version";
        let given = [
            (self.consumer.is_some(), "--for"),
            (self.format_version.is_some(), "--format-version"),
            (self.write_prev_version, "--write-prev-version"),
        ];
        refuse(&given, compilers)?;
        let given = [
            (self.text, "--text"),
            (self.keep_vtable_symbols, "--keep-vtable-symbols"),
            (self.correlate.asks(), "--binary-file or --debug-info"),
        ];
        refuse(&given, "`profbridge merge --help` has the options of iprof files under headings of their own")
    }

    /// Adds up sources of stacks.
    fn merge_stacks(&self, inputs: &[WeightedInput], format: StackOutput, document: &mut MergeDocument) -> Result<()> {
        let given = [
            (self.function.is_some(), "--function"),
            (self.no_function.is_some(), "--no-function"),
            (self.remapping_file.is_some(), "--remapping-file"),
            (self.format_version.is_some(), "--format-version"),
            (self.write_prev_version, "--write-prev-version"),
            (self.keep_vtable_symbols, "--keep-vtable-symbols"),
            (self.text, "--text"),
            (self.sparse, "--sparse"),
            (self.consumer.is_some(), "--for"),
            (self.show, "--show"),
        ];
        refuse(&given, "not for stacks", "weights, gates and --failure-mode are")?;
        let later = [(self.partial && self.salvage, "--salvage")];
        refuse(&later, "for the end of the merge", "give it when the parts are merged")?;
        let opened = open_kept(inputs, KeptFamily::Stacks, &crate::limits::chosen())?;
        if let Some((inputs, _)) = &opened {
            document.name_inputs(inputs);
        }
        let job = StackJob {
            inputs: opened.as_ref().map_or(inputs, |(inputs, _)| inputs),
            partial: self.partial.then_some(inputs),
            format,
            output: &self.output,
            read: &self.stacks,
            write: &self.write_stacks,
            strict: self.strict,
            quiet: self.quiet,
            failure_mode: self.failure_mode.into(),
            gates: Some(&self.gates),
            allow_empty: self.gates.allow_empty,
            salvage: self.salvage,
        };
        stack_merge::run(&job, self.json, document)
    }

    /// Takes inputs of both families, or to the other one, through the bridge.
    fn merge_mixed(
        &self,
        inputs: &[WeightedInput],
        target: Family,
        form: OutputForm,
        document: &mut MergeDocument,
    ) -> Result<()> {
        if self.iprof.scales() {
            return Err(Error::usage("--scale and --normalize are for inputs that are all iprof and stay so"));
        }
        let mut whom = self.whom(inputs)?;
        let mut options = MixedOptions::default();
        options.llvm = self.merge_options(whom.target.release, form)?;
        options.iprof = crate::limits::iprof_options();
        options.llvm.keep_vtable_names |= target == Family::Iprof;
        options.trust = self.bridge.trust();
        if !self.quiet {
            eprintln!("{}", mixed_merge::announcement(inputs, target));
        }
        let mut console = MergeConsole::new(self.quiet);
        let sum = merge_mixed(inputs, &options, &mut console)?;
        console.finish();
        print_warnings(&sum.llvm, self.quiet);
        mixed_merge::note(document, inputs, &sum, options.llvm.salvage);
        sum.llvm.verdict_of_inputs(&options.llvm)?;
        let mut origins = sum.llvm.origins();
        origins.add_unknown();
        let used = sum.llvm.used() + inputs.iter().filter(|input| is_document(input)).count();
        if !self.quiet {
            sum.warnings.iter().for_each(console::warning);
        }
        let total = |input: &Input| match is_document(input) {
            true => input_totals::iprof_total(input, &options.iprof),
            false => input_totals::instr_total(input, &options.llvm.read),
        };
        let is_empty = sum.is_empty();
        let losses = match target {
            Family::Iprof => {
                let (result, losses) = sum.into_iprof(&self.bridge.to_iprof_options(self.iprof.branch_clash()))?;
                let extent = || pipeline::iprof_merge::extent_of(&result, used);
                document.judge(self.gates.outcomes(inputs, extent, &total))?;
                self.gates.refuse_nothing_but(NO_PROFILES, || is_empty)?;
                self.report_losses(&losses)?;
                self.iprof_write.write(&result, &self.output, NonZeroUsize::new(self.num_threads))?;
                losses
            }
            _ => {
                let sections = SectionKind::ALL.to_vec();
                let bridge = self.bridge.to_llvm_options(sections, whom.target.indexed_version);
                let (mut profile, losses) = sum.into_llvm(&bridge)?;
                let extent = || profile_extent(&profile, used, &options.llvm);
                document.judge(self.gates.outcomes(inputs, extent, &total))?;
                self.report_losses(&losses)?;
                let filter = &mut options.llvm.filter;
                let findings = whom.cross(&mut profile, filter, self.cross.hashes(), origins, self.strict)?;
                self.gates.refuse_profile_of_nothing(&profile, filter, self.sparse)?;
                let write = self.announced(self.write_options(&options.llvm, &whom, form), &whom);
                let saved = pipeline::write_file(&profile, &write, &self.output)?;
                if !self.quiet {
                    console::losses(&saved.losses, &write.tolerated, &self.output);
                }
                cross_release::print_findings(&findings, &self.output, self.quiet);
                document.findings = cross_release::findings_json(&findings);
                document.lose(&saved.losses);
                document.target = Some(whom.json());
                losses
            }
        };
        document.lose(&losses);
        document.wrote(&self.output, target.name());
        Ok(())
    }

    fn report_losses(&self, losses: &[Loss]) -> Result<()> {
        if self.quiet && !self.strict { Ok(()) } else { bridged::report_losses(losses, &self.output, self.strict) }
    }

    /// Writes what a later merge goes on from. Names and hashes stay those of the
    /// inputs: for whom they are is decided when the merge is finished.
    fn merge_partially(&self, inputs: &[WeightedInput], form: OutputForm, document: &mut MergeDocument) -> Result<()> {
        let refused = [(form != OutputForm::Indexed, "--partial")];
        refuse(&refused, &format!("not for {}", form.words()), "name the output .profdata")?;
        let whom = self.whom(inputs)?;
        let mut options = self.merge_options(whom.target.release, form)?;
        let mut console = MergeConsole::new(self.quiet);
        let mut sums = partial::merge_partially(inputs, &options, &mut console)?;
        self.applied().into_iter().for_each(|words| sums.note_applied(words));
        let mut report = partial::finish(&sums, &options, &mut console)?;
        console.finish();
        print_warnings(&report, self.quiet);
        note(document, &report, options.salvage);
        options.filter = options.filter.without(std::mem::take(&mut report.left_out));
        self.judge(inputs, &report, &options, document)?;
        if report.shares_nothing() {
            say_nothing_shared(self.quiet);
        }
        let write = self.announced(self.write_options(&options, &whom, form), &whom);
        let saved = partial::write_file(&sums, &report.profile, &write, &self.output)?;
        if !self.quiet {
            console::losses(&saved.losses, &write.tolerated, &self.output);
        }
        document.lose(&saved.losses);
        self.note_written(document, &whom);
        if !self.quiet && !self.json {
            eprintln!("{}{A_PART}", summary(&report, &self.output, options.salvage));
        }
        Ok(())
    }

    /// The filters and renamings that apply to inputs, in words.
    fn applied(&self) -> Vec<String> {
        let filters = [("--function", &self.function), ("--no-function", &self.no_function)];
        let given = filters.into_iter().filter_map(|(option, given)| Some((option, given.as_ref()?)));
        let mut words: Vec<String> = given.map(|(option, pattern)| format!("{option}={pattern}")).collect();
        words.extend(self.remapping_file.iter().map(|path| format!("--remapping-file={}", path.display())));
        words
    }

    fn merge_llvm(&self, inputs: &[WeightedInput], form: OutputForm, document: &mut MergeDocument) -> Result<()> {
        let mut whom = self.whom(inputs)?;
        let mut options = self.merge_options(whom.target.release, form)?;
        let mut console = MergeConsole::new(self.quiet);
        let (write, crossing) = (self.write_options(&options, &whom, form), whom.crossing(self.cross.hashes()));
        let mut report = pipeline::merge_for_output(inputs, &options, &write, Some(&crossing), &mut console)?;
        console.finish();
        print_warnings(&report, self.quiet);
        note(document, &report, options.salvage);
        options.filter = options.filter.without(std::mem::take(&mut report.left_out));
        self.judge(inputs, &report, &options, document)?;
        if report.shares_nothing() {
            say_nothing_shared(self.quiet);
        }
        let origins = report.origins();
        let (profile, filter) = (&mut report.profile, &mut options.filter);
        let findings = whom.cross(profile, filter, self.cross.hashes(), origins, self.strict)?;
        // Only now functions have the names that the filter may mean.
        match self.sparse {
            true => self.gates.refuse_profile_of_nothing(&report.profile, &options.filter, true)?,
            false => self.gates.refuse_nothing_but("no function is left", || report.is_empty(&options.filter))?,
        }
        let write = self.announced(self.write_options(&options, &whom, form), &whom);
        let saved = report.write_file(&write, &self.output)?;
        if !self.quiet {
            console::losses(&report.memprof_losses, &[], &self.output);
            console::losses(&saved.losses, &write.tolerated, &self.output);
        }
        cross_release::print_findings(&findings, &self.output, self.quiet);
        document.lose(report.memprof_losses.iter().chain(&saved.losses));
        document.findings = cross_release::findings_json(&findings);
        self.note_written(document, &whom);
        if !self.quiet && !self.json {
            eprintln!("{}", summary(&report, &self.output, options.salvage));
        }
        Ok(())
    }

    /// Whether the result may be written.
    fn judge(
        &self,
        inputs: &[WeightedInput],
        report: &MergeReport,
        options: &MergeOptions,
        document: &mut MergeDocument,
    ) -> Result<()> {
        report.verdict_of_inputs(options)?;
        let total = |input: &Input| input_totals::instr_total(input, &options.read);
        document.judge(self.gates.outcomes(inputs, || report.extent(options), &total))?;
        self.gates.refuse_nothing(|| report.profile.memprof.is_none() && report.functions_len() == 0)
    }

    fn note_written(&self, document: &mut MergeDocument, whom: &Whom) {
        document.target = Some(whom.json());
        document.wrote(&self.output, Family::Instr.name());
    }

    /// Adds up memory profiles into one that is a file of its own.
    fn merge_memory(&self, inputs: &[WeightedInput], document: &mut MergeDocument) -> Result<()> {
        let given = [
            (self.sparse, "--sparse"),
            (self.show, "--show"),
            (self.format_version.is_some(), "--format-version"),
            (self.consumer.is_some(), "--for"),
        ];
        refuse(&given, "not for a memory profile in YAML", "name the output .profdata")?;
        let options = self.merge_options(Release::DEFAULT, OutputForm::MemProfYaml)?;
        let (output, strict, quiet) = (&self.output, self.strict, self.quiet);
        MemoryRun { inputs, output, strict, quiet, json: self.json, gates: &self.gates }.run(&options, document)
    }

    fn inputs(&self) -> Result<InputList> {
        let mut list = InputList::new(Compat::Profbridge);
        self.inputs.iter().try_for_each(|path| list.push(path))?;
        self.weighted_input.iter().try_for_each(|text| list.push_weighted_text(text))?;
        if let Some(path) = &self.input_files {
            list.push_list(&read_small(path)?)?;
        }
        Ok(list)
    }

    fn merge_options(&self, release: Release, form: OutputForm) -> Result<MergeOptions> {
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
        options.filter = FunctionFilter::new(self.function.as_deref(), self.no_function.as_deref())?;
        if let Some(path) = &self.remapping_file {
            options.remapping = Remapping::parse(&read_small(path)?).map_err(|error| error.in_file(path))?;
        }
        Ok(options)
    }

    /// For whom the result is.
    fn whom(&self, inputs: &[WeightedInput]) -> Result<Whom> {
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
            return Ok(Whom::asked(target, true));
        }
        Whom::choose(self.consumer.as_deref(), self.format_version, inputs)
    }

    /// How the merged profile is written.
    fn write_options(&self, options: &MergeOptions, whom: &Whom, form: OutputForm) -> WriteOptions {
        let mut write = WriteOptions::default();
        write.format = match form {
            OutputForm::Text => whom.target.text_format(),
            OutputForm::Raw => OutputFormat::Raw { encoding: whom.raw_encoding() },
            _ => whom.target.indexed_format(),
        };
        write.gzip_by_name = true;
        write.sparse = self.sparse;
        write.strict = self.strict;
        write.tolerated = whom.tolerated();
        write.filter = options.filter.clone();
        write.threads = options.threads;
        write
    }

    /// Says for whom the result is, unless nothing is to be said.
    fn announced(&self, write: WriteOptions, whom: &Whom) -> WriteOptions {
        if !self.quiet {
            whom.say(write.format, &self.output);
        }
        write
    }
}

/// What `--write-prev-version` writes, in LLVM 19 to 23 alike.
const PREVIOUS_VERSION: u32 = 11;

/// The first release that has `--write-prev-version`.
const WRITES_PREVIOUS_VERSION: Release = Release(19);

/// A list or remapping file; `-` is standard input.
fn read_small(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input::read_into(path, &mut bytes, &crate::limits::chosen())?;
    Ok(bytes)
}
