//! Sample profiles under the program's own name: merge, convert, show.

use crate::console::{self, write_output};
use crate::demangled::DemangleArgs;
use crate::documents::{self, EMPTY, FAILED, FileJson, error_json};
use crate::merge_document::MergeDocument;
use crate::merge_gates::Sum;
use crate::refuse::refuse;
use crate::target::JsonTarget;
use crate::words::{PARTIAL_SUFFIX, inputs_of, number_of};
use clap::{Args, ValueEnum};
use profbridge::families::merge::sampleprof::{
    SampleFilter, SampleMergeObserver, SampleMergeOptions, SampleMergeReport, describe_sample_sections,
    load_sample_file, merge_sample_files, parse_symbols, read_sample_file, read_sample_function, write_sample_file,
};
use profbridge::families::partial::{encode_samples, finish_samples, sum_samples};
use profbridge::families::{Facts, FactsRequest, FailureMode, OutputForm, input_totals};
use profbridge::input::{self, Family, Input, WeightedInput};
use profbridge::instr::Loss;
use profbridge::instr::Remapping;
use profbridge::instr::target::{ENVIRONMENT, Target, TargetRequest, TargetSource};
use profbridge::sampleprof::partial::PartialSamples;
use profbridge::sampleprof::{
    ColdContexts, Encoding, Layout, Merger, ReadOptions, RecordFault, Rules, SampleProfile, Summary, WriteOptions, show,
};
use profbridge::{Compat, Error, ErrorKind, Result, Warning};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How sample profiles are merged and written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sample profiles")]
pub(crate) struct SampleArgs {
    /// The encoding to write; by default what the release asked for writes
    #[arg(long, value_enum, value_name = "ENCODING")]
    sample_format: Option<EncodingArg>,
    /// The version of an extensible binary; 104 is of LLVM 23
    #[arg(long, value_name = "NUMBER", default_value_t = 103)]
    sample_format_version: u64,
    /// Store hashes in place of names; they cannot become names again
    #[arg(long)]
    use_md5: bool,
    /// Compress all sections of an extensible binary
    #[arg(long)]
    compress_all_sections: bool,
    /// State that the profile holds only a part of the program's functions
    #[arg(long)]
    gen_partial_profile: bool,
    /// Write functions without inlined callees apart
    #[arg(long)]
    split_layout: bool,
    /// Change inlined callees to functions, or contexts to inlined callees
    #[arg(long, value_enum, value_name = "LAYOUT")]
    convert_sample_profile_layout: Option<LayoutArg>,
    /// With the layout `nest`, add callees to their functions' own records too
    #[arg(long, requires = "convert_sample_profile_layout")]
    generate_merged_base_profiles: bool,
    /// Merge contexts that hardly ran into shorter ones
    #[arg(long)]
    sample_merge_cold_context: bool,
    /// Drop contexts that hardly ran
    #[arg(long)]
    sample_trim_cold_context: bool,
    /// Frames of the shorter contexts
    #[arg(long, value_name = "N", default_value_t = 1)]
    sample_frame_depth_for_cold_context: usize,
    /// Names to add to the list of the program's symbols, one a line
    #[arg(long, value_name = "FILE")]
    prof_sym_list: Option<PathBuf>,
    /// Leave out the inputs' lists of symbols
    #[arg(long)]
    drop_profile_symbol_list: bool,
    /// Drop the coldest functions until the output has at most N bytes
    #[arg(long, value_name = "N", default_value_t = 0)]
    output_size_limit: u64,
    /// As `--sample-format=binary`; instrumentation profiles are binary anyway
    #[arg(long, hide = true)]
    binary: bool,
    /// As `--sample-format=extbinary`
    #[arg(long, hide = true)]
    extbinary: bool,
}

impl SampleArgs {
    /// These would be without effect on other profiles, and the result another
    /// than the one asked for.
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
        refuse(&given, "for sample profiles", "the first input is none")
    }
}

impl SampleArgs {
    /// What these say of the output, for [`OutputArgs::form`](crate::outputs::OutputArgs::form).
    pub(crate) fn forms(&self) -> Vec<(bool, &'static str, OutputForm)> {
        let encoded = match self.sample_format {
            Some(EncodingArg::Text) => OutputForm::Text,
            _ => OutputForm::Indexed,
        };
        vec![
            (self.sample_format.is_some(), "--sample-format", encoded),
            (self.binary, "--binary", OutputForm::Indexed),
            (self.extbinary, "--extbinary", OutputForm::Indexed),
        ]
    }
}

/// The encodings that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EncodingArg {
    /// What people read
    Text,
    /// The plain binary
    Binary,
    /// The extensible binary
    Extbinary,
    /// The compact binary of LLVM 16 and earlier
    Compact,
}

impl From<EncodingArg> for Encoding {
    fn from(argument: EncodingArg) -> Self {
        match argument {
            EncodingArg::Text => Self::Text,
            EncodingArg::Binary => Self::Binary,
            EncodingArg::Extbinary => Self::ExtBinary,
            EncodingArg::Compact => Self::CompactBinary,
        }
    }
}

/// The values of `--convert-sample-profile-layout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LayoutArg {
    /// Contexts become inlined callees
    Nest,
    /// Inlined callees and contexts become functions
    Flat,
}

/// Whether the first input is a sample profile; then all have to be.
pub(crate) fn are_samples(inputs: &[Input]) -> bool {
    // What cannot be opened is reported by whoever reads it.
    inputs.first().is_some_and(|input| input.format().is_ok_and(|format| format.is_sample_profile()))
}

/// What both `merge` and `convert` know besides [`SampleArgs`].
pub(crate) struct SampleRun<'a> {
    pub(crate) inputs: &'a [WeightedInput],
    pub(crate) output: &'a Path,
    pub(crate) arguments: &'a SampleArgs,
    /// The encoding that another option asks for.
    pub(crate) encoding: Option<Encoding>,
    /// The toolchain to write for.
    pub(crate) consumer: Option<&'a str>,
    pub(crate) function: Option<&'a str>,
    pub(crate) no_function: Option<&'a str>,
    pub(crate) remapping: Remapping,
    pub(crate) failure_mode: FailureMode,
    pub(crate) salvage: bool,
    pub(crate) threads: Option<NonZeroUsize>,
    pub(crate) strict: bool,
    pub(crate) quiet: bool,
    /// The document takes the place of the last line.
    pub(crate) json: bool,
    /// Of a merge that goes on: what was applied to its inputs, in words.
    pub(crate) applied: Option<Vec<String>>,
}

impl<'a> SampleRun<'a> {
    /// Adds up the inputs.
    pub(crate) fn add_up(self, document: &mut MergeDocument) -> Result<Box<dyn Sum + 'a>> {
        let environment = std::env::var_os(ENVIRONMENT);
        let mut request = TargetRequest::default();
        request.toolchain = self.consumer;
        request.environment = environment.as_deref();
        let target = request.target()?.unwrap_or_else(|| Target::default_release(TargetSource::Inputs));
        let options = self.merge_options(Rules::of(target.release))?;
        let mut observer = Console { all: self.inputs.len(), quiet: self.quiet, document: &mut *document };
        let part = self.applied.as_ref().map(|applied| self.sum_part(applied, &options)).transpose();
        let part = part.inspect_err(|error| observer.document.note_until(error))?;
        let report = match &part {
            Some(part) => finish_samples(part, &options, &mut observer),
            None => merge_sample_files(self.inputs, &options, &mut observer),
        };
        let all = observer.all;
        let report = report.inspect_err(|error| document.note_until(error))?;
        document.note_rest_used();
        let mut write = self.write_options(&report.profile, options.read.rules);
        if part.is_some() && self.arguments.sample_format.is_none() && !self.arguments.binary {
            write.encoding = Encoding::ExtBinary;
        }
        Ok(Box::new(SampleSum { run: self, target, options, report, write, part, all }))
    }
}

/// Sample profiles that were added up.
struct SampleSum<'a> {
    run: SampleRun<'a>,
    target: Target,
    options: SampleMergeOptions,
    report: SampleMergeReport,
    /// How it is written.
    write: WriteOptions,
    /// What a later merge needs to go on.
    part: Option<PartialSamples>,
    /// Inputs, those of partial merges counted one by one.
    all: usize,
}

impl Sum for SampleSum<'_> {
    fn inputs(&self) -> &[Input] {
        self.run.inputs
    }

    fn total_of(&self, input: &Input) -> Result<u128> {
        input_totals::sample_total(input, &self.options.read)
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
            None => write_sample_file(&report.profile, &self.write, run.strict, run.output)?,
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
            let (inputs, part) =
                (inputs_of(report.used, self.all), if self.part.is_some() { PARTIAL_SUFFIX } else { "" });
            console::say(&format!("{}: {functions} from {inputs}{part}", run.output.display()));
        }
        // The process ends here: its memory need not be taken apart piece by piece.
        std::mem::forget(self);
        Ok(())
    }
}

impl SampleRun<'_> {
    /// Adds up the inputs for a merge that goes on.
    fn sum_part(&self, applied: &[String], options: &SampleMergeOptions) -> Result<PartialSamples> {
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
        refuse(&later, "for the end of the merge", "give it when the parts are merged")?;
        let salvage = [(self.salvage, "--salvage")];
        refuse(
            &salvage,
            "not for partial merges of sample profiles",
            "salvage the inputs first, each with `merge --failure-mode=warn --salvage`",
        )?;
        let mut sums = sum_samples(self.inputs, options)?;
        applied.iter().for_each(|words| sums.note_applied(words.clone()));
        Ok(sums)
    }

    /// Writes what a later merge goes on from. What the profile in front cannot hold, the state does.
    fn write_part(&self, sums: &PartialSamples, profile: &SampleProfile, options: &WriteOptions) -> Result<Vec<Loss>> {
        let bytes = encode_samples(sums, profile, options).map_err(|error| error.in_file(self.output))?;
        input::output::replace(self.output, &bytes)?;
        Ok(Vec::new())
    }

    fn merge_options(&self, rules: Rules) -> Result<SampleMergeOptions> {
        let arguments = self.arguments;
        let mut options = SampleMergeOptions::default();
        options.read = read_options();
        options.read.rules = rules;
        (options.failure_mode, options.salvage) = (self.failure_mode, self.salvage);
        options.remapping = self.remapping.clone();
        options.filter = SampleFilter::new(self.function, self.no_function)?;
        options.threads = self.threads;
        options.drop_symbols = arguments.drop_profile_symbol_list;
        options.cold = ColdContexts::default();
        options.cold.merge = arguments.sample_merge_cold_context;
        options.cold.trim = arguments.sample_trim_cold_context;
        options.cold.frames = arguments.sample_frame_depth_for_cold_context;
        options.layout = arguments.convert_sample_profile_layout.map(|layout| match layout {
            LayoutArg::Nest => Layout::Nest { merged_base: arguments.generate_merged_base_profiles },
            LayoutArg::Flat => Layout::Flat,
        });
        if let Some(path) = &arguments.prof_sym_list {
            let mut text = Vec::new();
            input::read_into(path, &mut text, &options.read.limits)?;
            options.symbols = parse_symbols(&text);
        }
        Ok(options)
    }

    fn write_options(&self, profile: &SampleProfile, rules: Rules) -> WriteOptions {
        let (arguments, kind) = (self.arguments, profile.kind());
        let mut options = WriteOptions::default();
        options.rules = rules;
        // A plain binary has no place for contexts and checksums.
        let needs_sections = kind.context_sensitive || kind.probe_based;
        let usual =
            if rules.writes_extensible_by_default() || needs_sections { Encoding::ExtBinary } else { Encoding::Binary };
        let by_flag = match (arguments.binary, arguments.extbinary) {
            (true, _) => Some(Encoding::Binary),
            (_, true) => Some(Encoding::ExtBinary),
            _ => self.encoding,
        };
        options.encoding = arguments.sample_format.map(Encoding::from).or(by_flag).unwrap_or(usual);
        options.version = arguments.sample_format_version;
        options.use_md5 = arguments.use_md5;
        options.compress = arguments.compress_all_sections;
        options.partial = arguments.gen_partial_profile;
        options.split_layout = arguments.split_layout;
        options.size_limit = arguments.output_size_limit;
        options
    }
}

pub(crate) fn read_options() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.limits = crate::limits::chosen();
    options
}

/// Warns of what is left out.
struct Console<'a> {
    /// Inputs, those of partial merges counted one by one.
    all: usize,
    quiet: bool,
    document: &'a mut MergeDocument,
}

impl SampleMergeObserver for Console<'_> {
    fn opened_parts(&mut self, inputs: &[WeightedInput]) {
        self.all = inputs.len();
        self.document.name_inputs(inputs.iter());
    }

    fn record_fault(&mut self, at: usize, input: &WeightedInput, title: &[u8], fault: RecordFault) {
        let warning = Warning::new(fault.to_string()).in_file(&input.path).in_function(title);
        if !self.quiet {
            console::warning(&warning);
        }
        self.document.warn_of(at, [warning.to_string()]);
    }

    fn left_out(&mut self, at: usize, _: &WeightedInput, error: &Error) {
        if !self.quiet {
            console::error_as_warning(error);
        }
        if let Some(reported) = self.document.inputs.get_mut(at) {
            (reported.outcome, reported.error) = match error.kind() {
                ErrorKind::EmptyProfile => (EMPTY, None),
                _ => (FAILED, Some(error_json(error))),
            };
        }
    }

    fn salvaged(&mut self, at: usize, _: &WeightedInput) {
        self.document.note_salvaged(at);
    }
}

/// What `show` shows of sample profiles only.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sample profiles")]
pub(crate) struct SampleShowArgs {
    /// Only the sections of an extensible binary
    #[arg(long)]
    show_sec_info_only: bool,
    /// Add the list of the program's symbols
    #[arg(long)]
    show_prof_sym_list: bool,
}

impl SampleShowArgs {
    /// These would be without effect on other profiles.
    pub(crate) fn refuse_for_others(&self) -> Result<()> {
        let given =
            [(self.show_sec_info_only, "--show-sec-info-only"), (self.show_prof_sym_list, "--show-prof-sym-list")];
        refuse(&given, "for sample profiles", "the input is none")
    }
}

/// What `show` is asked for.
pub(crate) struct SampleShow<'a> {
    pub(crate) own: &'a SampleShowArgs,
    pub(crate) file: &'a Input,
    pub(crate) output: &'a Path,
    pub(crate) function: Option<&'a str>,
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
        if let Some(name) = self.function {
            return self.function(name, &options);
        }
        if self.own.show_sec_info_only {
            return self.sections(&options);
        }
        if self.json {
            refuse(&self.parts()[1..], "not for JSON", "JSON holds all functions, or --topn of them")?;
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
        // The process ends here: its memory need not be taken apart piece by piece.
        std::mem::forget(profile);
        Ok(ExitCode::SUCCESS)
    }

    /// The profile, and its summary where one is shown: sorting all counts takes
    /// long.
    fn load(&self, options: &ReadOptions) -> Result<(SampleProfile, Summary)> {
        if !self.json && (self.detailed_summary || self.hot_functions || self.topn > 0) {
            return load_sample_file(self.file, options, Compat::Profbridge);
        }
        let profile = read_sample_file(self.file, options, Compat::Profbridge)?;
        Ok((Merger::load(options.rules, profile).finish(), Summary::default()))
    }

    fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        write_output(self.output, |out| {
            let mut named = self.names.writer(out, self.json);
            write(&mut named)?;
            named.finish()
        })
    }

    /// What is chosen of a whole profile.
    fn parts(&self) -> [(bool, &'static str); 5] {
        [
            (self.topn > 0, "--topn"),
            (self.hot_functions, "--hot-func-list"),
            (self.detailed_summary, "--detailed-summary"),
            (self.own.show_prof_sym_list, "--show-prof-sym-list"),
            (self.own.show_sec_info_only, "--show-sec-info-only"),
        ]
    }

    /// Shows the table of sections.
    fn sections(&self, options: &ReadOptions) -> Result<ExitCode> {
        let text = describe_sample_sections(self.file, options, Compat::Profbridge)?;
        write_output(self.output, |out| out.write_all(text.as_bytes()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Shows one function, alone and in its contexts.
    fn function(&self, name: &str, options: &ReadOptions) -> Result<ExitCode> {
        refuse(&self.parts(), "for whole sample profiles", "--function shows one function")?;
        refuse(&[(self.json, "--json")], "for whole sample profiles", "--function shows one function")?;
        let (names, records) = read_sample_function(self.file, name.as_bytes(), options, Compat::Profbridge)?;
        if records.is_empty() {
            return Err(Error::nothing_found(format!("the profile has no function {name:?}")).in_file(&self.file.path));
        }
        self.write(|out| show::write_records(&names, &records, options.rules, out))?;
        Ok(ExitCode::SUCCESS)
    }
}
