//! `overlap`: the similarity of two profiles.

use crate::console;
use crate::console::write_output;
use crate::cross_release::{ExactNamesArgs, print_followed};
use crate::demangled::{DemangleArgs, parse_pattern};
use crate::documents::{self, FileJson};
use crate::outputs::guard;
use crate::sample_files::{self, are_samples};
use crate::stacks::StackArgs;
use crate::validate::{refuse, refuse_both_standard_input};
use clap::Args;
use profbridge::driver::diff::{DiffOptions, SectionDiff};
use profbridge::families::stacks::{are_stacks, diff_stacks};
use profbridge::families::{self, Comparison, FileDiff, Written};
use profbridge::input::{Family, Input};
use profbridge::instr::cross_release::Followed;
use profbridge::instr::overlap::{OverlapOptions, OverlapReport};
use profbridge::names::NamePattern;
use profbridge::sampleprof::{self, overlap};
use profbridge::{Compat, Error, Result};
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure how similar the counts of two profiles are
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge overlap last-release.profdata today.profdata
  profbridge overlap --function=parse old.profdata new.profdata
  profbridge overlap --events allocation release.jfr nightly.jfr
  profbridge overlap --json old.profdata new.profdata | jq .program.common.edges")]
pub(crate) struct OverlapArgs {
    /// The base profile
    #[arg(value_name = "BASE")]
    base: PathBuf,
    /// The test profile
    #[arg(value_name = "TEST")]
    test: PathBuf,
    /// The output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Show details of functions whose name or demangled name contains TEXT, of `=NAME` or of `/REGEX/`
    #[arg(long, visible_alias = "filter", value_name = "TEXT", value_parser = parse_pattern)]
    function: Option<NamePattern>,
    /// Show details of functions of TEST whose largest count is at least N
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    value_cutoff: u64,
    /// Show details of the N hottest functions [default: all functions that the other options select]
    #[arg(long, value_name = "N")]
    topn: Option<usize>,
    /// Compare context-sensitive records instead of the others
    #[arg(long)]
    cs: bool,
    #[command(flatten)]
    exact: ExactNamesArgs,
    #[command(flatten)]
    names: DemangleArgs,
    /// Print JSON; see docs/reference/json.md
    #[arg(long)]
    json: bool,
    // Last, because flattened options end with a heading of their own.
    #[command(flatten)]
    stacks: StackArgs,
}

/// The output of `--json`.
#[derive(Serialize)]
struct Compared<R> {
    base: FileJson,
    test: FileJson,
    #[serde(flatten)]
    report: R,
}

/// Two LLVM instrumentation profiles.
#[derive(Serialize)]
struct InstrOverlap<'a> {
    #[serde(flatten)]
    report: &'a OverlapReport,
    followed: &'a [Followed],
}

/// The sections of two sources of stacks.
#[derive(Serialize)]
struct StackSections<'a> {
    sections: &'a [SectionDiff],
}

/// Returns true if only `diff` compares this input.
fn diff_only(input: &Input) -> bool {
    matches!(input.family(), Ok(Some(Family::Iprof | Family::MemProf)))
}

impl OverlapArgs {
    /// Returns the given input files.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        vec![self.base.clone(), self.test.clone()]
    }

    /// Writes text, with demangled names if requested.
    fn write(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        write_output(&self.output, |out| {
            let mut named = self.names.writer(out, false);
            write(&mut named)?;
            named.finish()
        })
    }

    fn write_json(&self, schema: &str, base: &Input, test: &Input, report: impl Serialize) -> Result<()> {
        let (base, test) = (FileJson::of(base), FileJson::of(test));
        documents::write_named(&self.output, schema, &Compared { base, test, report }, self.names)
    }

    /// Compares sample profiles.
    fn run_samples(&self, base: &Input, test: &Input) -> Result<ExitCode> {
        if self.cs {
            return Err(Error::usage("--cs cannot be used for sample profiles"));
        }
        let mut options = overlap::OverlapOptions::default();
        options.function.clone_from(&self.function);
        options.value_cutoff = self.value_cutoff();
        let read = sample_files::read_options();
        let mut report = sampleprof::overlap_files(base, test, &read, Compat::Profbridge, &options)?;
        self.require_found(report.selects_nothing)?;
        report.details.truncate(self.topn.unwrap_or(usize::MAX));
        if self.json {
            self.write_json("profbridge.overlap-sampleprof/2", base, test, report)?;
            return Ok(ExitCode::SUCCESS);
        }
        let name = |path: &PathBuf| path.as_os_str().as_encoded_bytes().to_vec();
        let (base, test) = (name(&self.base), name(&self.test));
        self.write(|out| report.write_text(&base, &test, Compat::Profbridge, out))?;
        Ok(ExitCode::SUCCESS)
    }

    /// Fails if --function selects no function of either profile.
    fn require_found(&self, selects_nothing: bool) -> Result<()> {
        match &self.function {
            Some(pattern) if selects_nothing => Err(pattern.nothing_found()),
            _ => Ok(()),
        }
    }

    /// Returns the cutoff. With --topn alone, all functions are candidates.
    fn value_cutoff(&self) -> u64 {
        let asks_for_others = self.function.is_some() || self.value_cutoff != u64::MAX;
        if self.topn.is_some() && !asks_for_others { 0 } else { self.value_cutoff }
    }

    /// Compares the files.
    pub(crate) fn run(self) -> Result<ExitCode> {
        refuse_both_standard_input(&self.base, &self.test)?;
        let (base, test) = (Input::argument(&self.base), Input::argument(&self.test));
        guard(&[base.clone(), test.clone()], &self.output, "a report", Written::Report)?;
        self.exact.refuse_for_others([&base, &test])?;
        let are_samples = are_samples(std::slice::from_ref(&base));
        if !are_samples && are_stacks(&base, &test)? {
            return self.of_stacks(&base, &test);
        }
        StackArgs::refuse_for_others()?;
        if [&base, &test].into_iter().any(diff_only) {
            let error = Error::usage("`overlap` compares LLVM instrumentation and sample profiles, and stacks");
            return Err(error.with_hint("use `profbridge diff` to compare iprof files and memory profiles"));
        }
        if are_samples {
            return self.run_samples(&base, &test);
        }
        let mut options = OverlapOptions::default();
        options.function.clone_from(&self.function);
        options.value_cutoff = self.value_cutoff();
        (options.context_sensitive, options.exact_names) = (self.cs, self.exact.is_given());
        let compared = families::overlap_files(&base, &test, &crate::limits::read_options(), &options)?;
        compared.warnings.iter().for_each(console::warning);
        let (mut report, followed) = match compared.value {
            Comparison::Done { report, followed, .. } => (report, followed),
            Comparison::NothingCounted { is_base } => {
                let file = if is_base { &self.base } else { &self.test };
                let error = Error::nothing_found("all counts are 0, so there is nothing to compare").in_file(file);
                return Err(error.with_hint(if self.cs {
                    "omit --cs to compare the other records"
                } else {
                    "run the program before you compare its profiles; memory profiles are compared by `profbridge diff`"
                }));
            }
        };
        self.require_found(report.selects_nothing)?;
        print_followed(&followed);
        if let Some(topn) = self.topn {
            report.functions.sort_by(|a, b| b.overlap.test.edges.total_cmp(&a.overlap.test.edges));
            report.functions.truncate(topn);
        }
        if self.json {
            let report = InstrOverlap { report: &report, followed: &followed };
            self.write_json("profbridge.overlap-instr/2", &base, &test, report)?;
        } else {
            let (base, test) = (self.base.as_os_str().as_encoded_bytes(), self.test.as_os_str().as_encoded_bytes());
            self.write(|out| report.write_text(base, test, out))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Compares two sources of stacks without the lists of `diff`.
    fn of_stacks(&self, base: &Input, test: &Input) -> Result<ExitCode> {
        let given = ["--function", "--value-cutoff", "--topn", "--cs"];
        refuse(&given, "for LLVM profiles, not for stacks", "use `profbridge diff` to compare stacks in detail")?;
        let mut options = DiffOptions::default();
        (options.limits, options.topn) = (crate::limits::chosen(), 0);
        self.stacks.refuse_without_effect([base, test])?;
        let (read, selection) = (self.stacks.read_options(), self.stacks.selection());
        let FileDiff { report, warnings, .. } = diff_stacks(base, test, &read, &selection, &options)?;
        warnings.iter().for_each(console::warning);
        if self.json {
            let sections = StackSections { sections: &report.sections };
            self.write_json("profbridge.overlap-stacks/2", base, test, sections)?;
            return Ok(ExitCode::SUCCESS);
        }
        write_output(&self.output, |out| {
            for section in &report.sections {
                let (first, second) = (section.first_events, section.second_events);
                let (name, share, unit) = (section.section, section.overlap * 100.0, report.functions_by);
                writeln!(out, "{name:<8} {share:7.3} % of {first} and {second} {unit}")?;
            }
            Ok(())
        })?;
        Ok(ExitCode::SUCCESS)
    }
}
