//! Sample profiles in profbridge mode: merge, convert, show.

use crate::console::{self, write_output};
use crate::demangled::DemangleArgs;
use crate::documents::{self, FileJson};
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::plural::{PARTIAL_SUFFIX, inputs_of, number_of};
use crate::target::JsonTarget;
use crate::validate::refuse;
use clap::{Args, ValueEnum};
use profbridge::driver::OnProgress;
use profbridge::families::{Facts, FactsRequest, FailureMode, OutputForm};
use profbridge::input::{self, Family, Input, WeightedInput};
use profbridge::instr::Loss;
use profbridge::instr::Remapping;
use profbridge::instr::target::{ENVIRONMENT, Target, TargetRequest, TargetSource};
use profbridge::names::NamePattern;
use profbridge::sampleprof::partial::PartialSamples;
use profbridge::sampleprof::{
    self, ColdContexts, Encoding, FileMergeOptions, Filter, InputMessage, InputReports, Layout, MergeReport,
    ReadOptions, Rules, SampleProfile, Summary, WriteOptions, show,
};
use profbridge::{Compat, Result};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options for merging and writing sample profiles.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sample profiles")]
pub(crate) struct SampleArgs {
    /// Encoding of the output [default: that of the target release]
    #[arg(long, value_enum, value_name = "ENCODING")]
    sample_format: Option<EncodingArg>,
    /// The version: 104 is the extensible binary of LLVM 23, 1 the file of GCC 11 and earlier
    #[arg(long, value_name = "NUMBER", default_value_t = 103)]
    sample_format_version: u64,
    /// Store hashes instead of names; the names cannot be recovered
    #[arg(long)]
    use_md5: bool,
    /// Compress all sections of an extensible binary
    #[arg(long)]
    compress_all_sections: bool,
    /// Mark the profile as partial: it has only some of the program's functions
    #[arg(long)]
    gen_partial_profile: bool,
    /// Write functions without inlined callees to separate sections
    #[arg(long)]
    split_layout: bool,
    /// Convert inlined callees to functions, or contexts to inlined callees
    #[arg(long, value_enum, value_name = "LAYOUT")]
    convert_sample_profile_layout: Option<LayoutArg>,
    /// With the layout `nest`, also add callees to the records of their functions
    #[arg(long, requires = "convert_sample_profile_layout")]
    generate_merged_base_profiles: bool,
    /// Merge cold contexts into shorter ones
    #[arg(long)]
    sample_merge_cold_context: bool,
    /// Drop cold contexts
    #[arg(long)]
    sample_trim_cold_context: bool,
    /// Number of frames of the shorter contexts
    #[arg(long, value_name = "N", default_value_t = 1)]
    sample_frame_depth_for_cold_context: usize,
    /// Names to add to the profile symbol list, one per line
    #[arg(long, value_name = "FILE")]
    prof_sym_list: Option<PathBuf>,
    /// Drop the profile symbol lists of the inputs
    #[arg(long)]
    drop_profile_symbol_list: bool,
    /// Drop the coldest functions until the output has at most N bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    output_size_limit: u64,
    /// Like `--sample-format=binary`; instrumentation profiles are always binary
    #[arg(long, hide = true)]
    binary_format: bool,
    /// As `--sample-format=extbinary`
    #[arg(long, hide = true)]
    extbinary: bool,
}

impl SampleArgs {
    /// Returns the options for writing a profile. `encoding` is the requested encoding.
    pub(crate) fn write_options(
        &self,
        profile: &SampleProfile,
        rules: Rules,
        encoding: Option<Encoding>,
    ) -> WriteOptions {
        let mut options = WriteOptions::default();
        options.rules = rules;
        let by_flag = match (self.binary_format, self.extbinary) {
            (true, _) => Some(Encoding::Binary),
            (_, true) => Some(Encoding::ExtBinary),
            _ => encoding,
        };
        options.encoding =
            self.sample_format.map(Encoding::from).or(by_flag).unwrap_or_else(|| profile.default_encoding(rules));
        options.version = self.sample_format_version;
        options.use_md5 = self.use_md5;
        options.compress = self.compress_all_sections;
        options.partial = self.gen_partial_profile;
        options.split_layout = self.split_layout;
        options.size_limit = self.output_size_limit;
        options
    }

    /// Rejects these options for other profiles, on which they have no effect.
    pub(crate) fn refuse_for_others(&self) -> Result<()> {
        let given = [
            (self.sample_format.is_some(), "--sample-format"),
            (self.sample_format_version != 103, "--sample-format-version"),
            (self.use_md5, "--use-md5"),
            (self.compress_all_sections, "--compress-all-sections"),
            (self.gen_partial_profile, "--gen-partial-profile"),
            (self.split_layout, "--split-layout"),
            (self.convert_sample_profile_layout.is_some(), "--convert-sample-profile-layout"),
            (self.sample_merge_cold_context, "--sample-merge-cold-context"),
            (self.sample_trim_cold_context, "--sample-trim-cold-context"),
            (self.prof_sym_list.is_some(), "--prof-sym-list"),
            (self.drop_profile_symbol_list, "--drop-profile-symbol-list"),
            (self.output_size_limit > 0, "--output-size-limit"),
        ];
        refuse(&given, "for sample profiles", "omit it: the first input is not a sample profile")
    }
}

impl SampleArgs {
    /// Returns the output forms that these options select, for [`OutputArgs::form`](crate::outputs::OutputArgs::form).
    pub(crate) fn forms(&self) -> Vec<(bool, &'static str, OutputForm)> {
        let encoded = match self.sample_format {
            Some(EncodingArg::Text) => OutputForm::Text,
            Some(EncodingArg::Gcc) => OutputForm::SampleProf,
            _ => OutputForm::Indexed,
        };
        vec![
            (self.sample_format.is_some(), "--sample-format", encoded),
            (self.binary_format, "--binary", OutputForm::Indexed),
            (self.extbinary, "--extbinary", OutputForm::Indexed),
        ]
    }
}

/// The encodings that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EncodingArg {
    /// Text profile
    Text,
    /// Plain binary
    Binary,
    /// Extensible binary
    Extbinary,
    /// Compact binary of LLVM 16 and earlier
    Compact,
    /// The file that GCC's -fauto-profile reads
    Gcc,
}

impl From<EncodingArg> for Encoding {
    fn from(argument: EncodingArg) -> Self {
        match argument {
            EncodingArg::Text => Self::Text,
            EncodingArg::Binary => Self::Binary,
            EncodingArg::Extbinary => Self::ExtBinary,
            EncodingArg::Compact => Self::CompactBinary,
            EncodingArg::Gcc => Self::Gcc,
        }
    }
}

/// The values of `--convert-sample-profile-layout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LayoutArg {
    /// Convert contexts to inlined callees
    Nest,
    /// Convert inlined callees and contexts to functions
    Flat,
}

/// Returns true if the first input is a sample profile. Then all inputs must be.
pub(crate) fn are_samples(inputs: &[Input]) -> bool {
    // The reader reports inputs that cannot be opened.
    inputs.first().is_some_and(|input| input.format().is_ok_and(|format| format.is_sample_profile()))
}

/// The options of `merge` and `convert` apart from [`SampleArgs`].
pub(crate) struct SampleRun<'a> {
    pub(crate) inputs: &'a [WeightedInput],
    pub(crate) output: &'a Path,
    pub(crate) arguments: &'a SampleArgs,
    /// The encoding that another option selects.
    pub(crate) encoding: Option<Encoding>,
    /// The target toolchain.
    pub(crate) consumer: Option<&'a str>,
    pub(crate) function: Option<&'a str>,
    pub(crate) no_function: Option<&'a str>,
    pub(crate) remapping: Remapping,
    pub(crate) failure_mode: FailureMode,
    pub(crate) salvage: bool,
    pub(crate) allow_duplicates: bool,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
    /// Whether a document replaces the last line.
    pub(crate) json: bool,
    /// For a partial merge: the settings applied to its inputs, in words.
    pub(crate) applied: Option<Vec<String>>,
}

impl<'a> SampleRun<'a> {
    /// Returns the target.
    pub(crate) fn target(&self) -> Result<Target> {
        let environment = std::env::var_os(ENVIRONMENT);
        let mut request = TargetRequest::default();
        request.toolchain = self.consumer;
        request.environment = environment.as_deref();
        Ok(request.target()?.unwrap_or_else(|| Target::default_release(TargetSource::Inputs)))
    }

    /// Merges the inputs.
    pub(crate) fn add_up(self, document: &mut MergeDocument) -> Result<Box<dyn Sum + 'a>> {
        let target = self.target()?;
        let options = self.merge_options(Rules::of(target.release))?;
        let progress = console::Progress::new("merging", self.quiet);
        let mut on_progress = |done, total| progress.update(done, total);
        let part = self.applied.as_ref().map(|applied| self.merge_partially(applied, &options, &mut on_progress));
        let part = part.transpose().inspect_err(|error| document.note_until(error))?;
        let merged = match &part {
            Some(part) => sampleprof::finish_partial(part, &options),
            None => sampleprof::merge_files(self.inputs, &options, &mut on_progress),
        };
        progress.finish();
        let inputs = merged.as_ref().map_or_else(|failed| &failed.inputs, |report| &report.inputs);
        // The reasons of a failure are printed even if quiet.
        report_inputs(inputs, options.salvage, self.quiet && merged.is_ok(), document);
        let report = merged?;
        let mut write = self.write_options(&report.profile, options.read.rules);
        if part.is_some() && self.arguments.sample_format.is_none() && !self.arguments.binary_format {
            write.encoding = Encoding::ExtBinary;
        }
        Ok(Box::new(SampleSum { run: self, target, options, report, write, part }))
    }
}

/// The merged sample profiles.
struct SampleSum<'a> {
    run: SampleRun<'a>,
    target: Target,
    options: FileMergeOptions,
    report: MergeReport,
    /// Options for writing the result.
    write: WriteOptions,
    /// The merge state of a partial merge.
    part: Option<PartialSamples>,
}

impl Sum for SampleSum<'_> {
    fn inputs(&self) -> &[Input] {
        self.run.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        sampleprof::total_count(input, &self.options.read)
    }

    fn facts(&self, wanted: FactsRequest) -> Result<Facts> {
        self.report.facts(&self.write, wanted)
    }

    fn write(self: Box<Self>, facts: &Facts, document: &mut MergeDocument) -> Result<()> {
        let (run, report) = (&self.run, &self.report);
        if report.shares_nothing {
            crate::merge_inputs::warn_of_nothing_shared(run.quiet);
        }
        let losses = match &self.part {
            Some(part) => run.write_part(part, &report.profile, &self.write)?,
            None => sampleprof::write_file(&report.profile, &self.write, run.strict, run.output)?,
        };
        if !run.quiet {
            console::losses(&losses, &[], run.output);
        }
        document.filtered = Some(report.filtered.map_or(0, |(_, left_out)| left_out));
        document.lose(&losses);
        document.target = Some(JsonTarget::of(&self.target));
        document.wrote(run.output, Family::SampleProf.name());
        if !run.quiet && !run.json {
            let functions = number_of(facts.functions.unwrap_or_default(), "function");
            let inputs = inputs_of(report.inputs.used(), report.inputs.reports.len());
            let part = if self.part.is_some() { PARTIAL_SUFFIX } else { "" };
            console::status(&format!("{}: {functions} from {inputs}{part}", run.output.display()));
        }
        // The process ends here, so freeing the memory would only cost time.
        std::mem::forget(self);
        Ok(())
    }
}

impl SampleRun<'_> {
    /// Merges the inputs into a partial merge.
    fn merge_partially(
        &self,
        applied: &[String],
        options: &FileMergeOptions,
        progress: OnProgress<'_>,
    ) -> Result<PartialSamples> {
        let arguments = self.arguments;
        let later = [
            (arguments.use_md5, "--use-md5"),
            (arguments.gen_partial_profile, "--gen-partial-profile"),
            (arguments.split_layout, "--split-layout"),
            (arguments.convert_sample_profile_layout.is_some(), "--convert-sample-profile-layout"),
            (arguments.sample_merge_cold_context, "--sample-merge-cold-context"),
            (arguments.sample_trim_cold_context, "--sample-trim-cold-context"),
            (arguments.prof_sym_list.is_some(), "--prof-sym-list"),
            (arguments.output_size_limit > 0, "--output-size-limit"),
        ];
        refuse(&later, "not for partial merges", "use it when you finish the merge")?;
        let salvage = [(self.salvage, "--salvage")];
        refuse(
            &salvage,
            "not for partial merges of sample profiles",
            "salvage each input first with `merge --failure-mode=warn --salvage`",
        )?;
        let mut sums = sampleprof::merge_partially(self.inputs, options, progress)?;
        applied.iter().for_each(|words| sums.note_applied(words.clone()));
        Ok(sums)
    }

    /// Writes a partial merge. Data that the profile at its start cannot store is in the merge state.
    fn write_part(&self, sums: &PartialSamples, profile: &SampleProfile, options: &WriteOptions) -> Result<Vec<Loss>> {
        let bytes = sampleprof::encode_partial(sums, profile, options).map_err(|error| error.in_file(self.output))?;
        input::output::replace_by_name(self.output, &bytes)?;
        Ok(Vec::new())
    }

    /// Returns the options of the merge.
    pub(crate) fn merge_options(&self, rules: Rules) -> Result<FileMergeOptions> {
        let arguments = self.arguments;
        let mut options = FileMergeOptions::default();
        options.read = read_options();
        options.read.rules = rules;
        (options.failure_mode, options.salvage) = (self.failure_mode, self.salvage);
        options.allow_duplicates = self.allow_duplicates;
        options.merge.remapping = self.remapping.clone();
        options.merge.filter = Filter::new(self.function, self.no_function)?;
        options.threads = self.threads;
        options.merge.drop_symbols = arguments.drop_profile_symbol_list;
        options.merge.cold = ColdContexts::default();
        options.merge.cold.merge = arguments.sample_merge_cold_context;
        options.merge.cold.trim = arguments.sample_trim_cold_context;
        options.merge.cold.frames = arguments.sample_frame_depth_for_cold_context;
        options.merge.layout = arguments.convert_sample_profile_layout.map(|layout| match layout {
            LayoutArg::Nest => Layout::Nest { merged_base: arguments.generate_merged_base_profiles },
            LayoutArg::Flat => Layout::Flat,
        });
        if let Some(path) = &arguments.prof_sym_list {
            let mut text = Vec::new();
            input::read_into(path, &mut text, &options.read.limits)?;
            options.merge.symbols = sampleprof::parse_symbols(&text).into_iter().collect();
        }
        Ok(options)
    }

    fn write_options(&self, profile: &SampleProfile, rules: Rules) -> WriteOptions {
        self.arguments.write_options(profile, rules, self.encoding)
    }
}

pub(crate) fn read_options() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.limits = crate::limits::chosen();
    options
}

/// Prints the messages about the inputs, and adds them and the outcomes to the document.
fn report_inputs(inputs: &InputReports, salvage: bool, quiet: bool, document: &mut MergeDocument) {
    if !inputs.reports.is_empty() {
        document.name_inputs(inputs.reports.iter().map(|report| &report.input));
    }
    for (at, report) in inputs.reports.iter().enumerate() {
        document.note_outcome(at, &report.outcome);
        if salvage && report.records > 0 {
            document.note_salvaged(at);
        }
    }
    inputs.each_message(&mut |at, report, message| match message {
        InputMessage::Fault(fault) => {
            let warning = fault.warning(&report.input);
            if !quiet {
                console::warning(&warning);
            }
            document.warn_of(at, [warning.to_string()]);
        }
        InputMessage::Skipped(error) if !quiet => console::error_as_warning(error),
        InputMessage::Empty(error) if !quiet => console::error_as_warning(error),
        _ => {}
    });
}

/// Options of `show` for sample profiles only.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sample profiles")]
pub(crate) struct SampleShowArgs {
    /// Show only the section table of an extensible binary
    #[arg(long)]
    show_sec_info_only: bool,
    /// Also show the profile symbol list
    #[arg(long)]
    show_prof_sym_list: bool,
}

impl SampleShowArgs {
    /// Rejects these options for other profiles, on which they have no effect.
    pub(crate) fn refuse_for_others(&self) -> Result<()> {
        let given =
            [(self.show_sec_info_only, "--show-sec-info-only"), (self.show_prof_sym_list, "--show-prof-sym-list")];
        refuse(&given, "for sample profiles", "omit it: the input is not a sample profile")
    }
}

/// The options of `show` for a sample profile.
pub(crate) struct SampleShow<'a> {
    pub(crate) own: &'a SampleShowArgs,
    pub(crate) file: &'a Input,
    pub(crate) output: &'a Path,
    pub(crate) function: Option<&'a NamePattern>,
    pub(crate) topn: usize,
    pub(crate) hot_functions: bool,
    pub(crate) detailed_summary: bool,
    pub(crate) json: bool,
    pub(crate) names: DemangleArgs,
}

impl SampleShow<'_> {
    /// Shows the profile.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let options = read_options();
        if let Some(pattern) = self.function {
            return self.function(pattern, &options);
        }
        if self.own.show_sec_info_only {
            return self.sections(&options);
        }
        if self.json {
            refuse(&self.parts()[1..], "not for JSON", "omit it: JSON output has all functions, or --topn of them")?;
        }
        let head = documents::line("profbridge.show-sampleprof/2", true, &FileJson::of(self.file))?;
        let (mut profile, summary) = self.load(&options)?;
        let symbols = profile.symbols.take();
        let (rules, all) = (options.rules, self.topn == 0 && !self.hot_functions);
        self.write(|out| {
            if self.json {
                writeln!(out, "{}", head.strip_suffix('}').unwrap_or(&head))?;
                out.write_all(b",\"functions\":")?;
                let most = if self.topn == 0 { usize::MAX } else { self.topn };
                show::write_json(&profile, rules, most, out)?;
                return out.write_all(b"}\n");
            }
            if all {
                show::write_functions(&profile, rules, out)?;
            }
            if self.own.show_prof_sym_list {
                show::write_symbols(symbols.as_ref(), out)?;
            }
            if self.detailed_summary {
                show::write_summary(&summary, out)?;
            }
            if self.hot_functions || self.topn > 0 {
                show::write_hot_functions(&profile, &summary, self.topn, out)?;
            }
            Ok(())
        })?;
        // The process ends here, so freeing the memory would only cost time.
        std::mem::forget(profile);
        Ok(ExitCode::SUCCESS)
    }

    /// Loads the profile, with its summary if it is shown, because sorting all counts takes long.
    fn load(&self, options: &ReadOptions) -> Result<(SampleProfile, Summary)> {
        if !self.json && (self.detailed_summary || self.hot_functions || self.topn > 0) {
            return sampleprof::load_file(self.file, options, Compat::Profbridge);
        }
        let profile = sampleprof::read_file(self.file, options, Compat::Profbridge)?;
        Ok((profile.in_container_order(options.rules), Summary::default()))
    }

    fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        write_output(self.output, |out| {
            let mut named = self.names.writer(out, self.json);
            write(&mut named)?;
            named.finish()
        })
    }

    /// Returns the options that select parts of a profile, with whether they are given.
    fn parts(&self) -> [(bool, &'static str); 5] {
        [
            (self.topn > 0, "--topn"),
            (self.hot_functions, "--hot-func-list"),
            (self.detailed_summary, "--detailed-summary"),
            (self.own.show_prof_sym_list, "--show-prof-sym-list"),
            (self.own.show_sec_info_only, "--show-sec-info-only"),
        ]
    }

    /// Shows the section table.
    fn sections(&self, options: &ReadOptions) -> Result<ExitCode> {
        let text = sampleprof::describe_file_sections(self.file, options, Compat::Profbridge)?;
        write_output(self.output, |out| out.write_all(text.as_bytes()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Shows the selected functions, on their own and in their contexts.
    fn function(&self, pattern: &NamePattern, options: &ReadOptions) -> Result<ExitCode> {
        refuse(&self.parts(), "for whole sample profiles", "omit --function to show the whole profile")?;
        refuse(&[(self.json, "--json")], "for whole sample profiles", "omit --function to show the whole profile")?;
        let (names, records) = sampleprof::read_functions(self.file, pattern, options, Compat::Profbridge)?;
        if records.is_empty() {
            return Err(pattern.nothing_found().in_file(&self.file.path));
        }
        self.write(|out| show::write_records(&names, &records, options.rules, out))?;
        Ok(ExitCode::SUCCESS)
    }
}
