//! Sample profiles in profbridge mode: the options of merge and convert, and show.

use crate::console::write_output;
use crate::demangled::DemangleArgs;
use crate::documents::{self, FileJson};
use crate::validate::{options_of, refuse};
use clap::{Args, ValueEnum};
use profbridge::families::OutputForm;
use profbridge::input::{Access, Input};
use profbridge::names::NamePattern;
use profbridge::sampleprof::{
    self, ColdContexts, Encoding, FileMergeOptions, Layout, ReadOptions, SampleProfile, Summary, WriteOptions, show,
};
use profbridge::{Compat, Result};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options for merging and writing sample profiles.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sample profiles")]
pub(crate) struct SampleArgs {
    /// Encoding of the output [default: that of the target release]
    #[arg(long, value_enum, value_name = "ENCODING")]
    sample_format: Option<Encoding>,
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

/// The options that apply when a merge is finished, and not to a partial merge.
pub(crate) const FOR_FINISHED: [&str; 8] = [
    "--use-md5",
    "--gen-partial-profile",
    "--split-layout",
    "--convert-sample-profile-layout",
    "--sample-merge-cold-context",
    "--sample-trim-cold-context",
    "--prof-sym-list",
    "--output-size-limit",
];

impl SampleArgs {
    /// Sets the options for writing a profile, apart from the encoding.
    pub(crate) fn set_write_options(&self, options: &mut WriteOptions) {
        options.version = self.sample_format_version;
        options.use_md5 = self.use_md5;
        options.compress = self.compress_all_sections;
        options.partial = self.gen_partial_profile;
        options.split_layout = self.split_layout;
        options.size_limit = self.output_size_limit;
    }

    /// Returns the requested encoding. `other` is that of another option.
    pub(crate) fn encoding(&self, other: Option<Encoding>) -> Option<Encoding> {
        let by_flag = match (self.binary_format, self.extbinary) {
            (true, _) => Some(Encoding::Binary),
            (_, true) => Some(Encoding::ExtBinary),
            _ => other,
        };
        self.sample_format.or(by_flag)
    }

    /// Returns true if an option names an encoding that a partial merge may not have.
    pub(crate) fn names_encoding(&self) -> bool {
        self.sample_format.is_some() || self.binary_format
    }

    /// Returns the options for merging profiles.
    pub(crate) fn merge_options(&self) -> Result<FileMergeOptions> {
        let mut options = FileMergeOptions::default();
        options.read = read_options();
        options.merge.drop_symbols = self.drop_profile_symbol_list;
        options.merge.cold = ColdContexts::default();
        options.merge.cold.merge = self.sample_merge_cold_context;
        options.merge.cold.trim = self.sample_trim_cold_context;
        options.merge.cold.frames = self.sample_frame_depth_for_cold_context;
        options.merge.layout = self.convert_sample_profile_layout.map(|layout| match layout {
            LayoutArg::Nest => Layout::Nest { merged_base: self.generate_merged_base_profiles },
            LayoutArg::Flat => Layout::Flat,
        });
        if let Some(path) = &self.prof_sym_list {
            let text = Input::argument(path).stored_bytes(Access::Read, &options.read.limits)?;
            options.merge.symbols = sampleprof::parse_symbols(&text).into_iter().collect();
        }
        Ok(options)
    }

    /// Rejects options that merges of sample profiles have, and recordings do not.
    pub(crate) fn refuse_for_recordings() -> Result<()> {
        let given = [
            "--convert-sample-profile-layout",
            "--sample-merge-cold-context",
            "--sample-trim-cold-context",
            "--prof-sym-list",
            "--drop-profile-symbol-list",
        ];
        refuse(&given, "not for recordings", "use it in `profbridge merge` of the written profile")
    }

    /// Rejects these options for other profiles, on which they have no effect.
    pub(crate) fn refuse_for_others() -> Result<()> {
        let mut options = options_of::<Self>();
        // Instrumentation profiles are always binary.
        options.retain(|option| !["--binary-format", "--extbinary"].contains(&option.as_str()));
        refuse(&options, "for sample profiles", "omit it: the first input is not a sample profile")
    }
}

impl SampleArgs {
    /// Returns the output forms that these options select, for [`OutputArgs::form`](crate::outputs::OutputArgs::form).
    pub(crate) fn forms(&self) -> Vec<(bool, &'static str, OutputForm)> {
        let encoded = match self.sample_format {
            Some(Encoding::Text) => OutputForm::Text,
            Some(Encoding::Gcc) => OutputForm::SampleProf,
            _ => OutputForm::Indexed,
        };
        vec![
            (self.sample_format.is_some(), "--sample-format", encoded),
            (self.binary_format, "--binary", OutputForm::Indexed),
            (self.extbinary, "--extbinary", OutputForm::Indexed),
        ]
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

pub(crate) fn read_options() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.limits = crate::limits::chosen();
    options
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
    pub(crate) fn refuse_for_others() -> Result<()> {
        refuse(&options_of::<Self>(), "for sample profiles", "omit it: the input is not a sample profile")
    }
}

/// The options that select parts of a profile.
const PARTS: [&str; 5] =
    ["--topn", "--hot-func-list", "--detailed-summary", "--show-prof-sym-list", "--show-sec-info-only"];

/// The options of `show` for a sample profile.
pub(crate) struct SampleShow<'a> {
    pub(crate) own: &'a SampleShowArgs,
    pub(crate) file: &'a Input,
    pub(crate) output: &'a Path,
    pub(crate) function: Option<&'a NamePattern>,
    pub(crate) all_functions: bool,
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
            refuse(&["--json"], "not for the section table", "use `profbridge info --json`, which lists the sections")?;
            return self.sections(&options);
        }
        if self.json {
            refuse(&PARTS[1..], "not for JSON", "omit it: JSON output has all functions, or --topn of them")?;
        }
        let head = documents::line("profbridge.show-sampleprof/2", true, &FileJson::of(self.file))?;
        let (mut profile, summary) = self.load(&options)?;
        let symbols = profile.symbols.take();
        let (rules, all) = (options.rules, self.all_functions || self.topn == 0 && !self.hot_functions);
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

    /// Shows the section table.
    fn sections(&self, options: &ReadOptions) -> Result<ExitCode> {
        let text = sampleprof::describe_file_sections(self.file, options, Compat::Profbridge)?;
        write_output(self.output, |out| out.write_all(text.as_bytes()))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Shows the selected functions, on their own and in their contexts.
    fn function(&self, pattern: &NamePattern, options: &ReadOptions) -> Result<ExitCode> {
        refuse(&PARTS, "for whole sample profiles", "omit --function to show the whole profile")?;
        refuse(&["--json"], "for whole sample profiles", "omit --function to show the whole profile")?;
        let (names, records) = sampleprof::read_functions(self.file, pattern, options, Compat::Profbridge)?;
        if records.is_empty() {
            return Err(pattern.nothing_found().in_file(&self.file.path));
        }
        self.write(|out| show::write_records(&names, &records, options.rules, out))?;
        Ok(ExitCode::SUCCESS)
    }
}
