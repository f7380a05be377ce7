//! `diff`: the differences between two profiles, and thresholds for them.

use crate::console;
use crate::cross_release::{ExactNamesArgs, print_followed};
use crate::demangled::{DemangleArgs, parse_pattern};
use crate::documents::{self, FileJson};
use crate::hints::format_error_with_hint as hint_text;
use crate::stacks::StackArgs;
use clap::Args;
use profbridge::driver::diff::DiffOptions;
use profbridge::driver::diff_gates::DiffGates;
use profbridge::families::stacks::{are_stacks, diff_stacks};
use profbridge::families::{self, FileDiff};
use profbridge::gates::{self, GateOutcome};
use profbridge::input::Input;
use profbridge::names::NamePattern;
use profbridge::{Error, Result};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// List the differences between two profiles
#[derive(Debug, Args)]
#[command(
    after_help = "For iprof files the report ends with how well FIRST fits the program of SECOND: the contexts whose
methods SECOND declares (relevant), and the contexts of SECOND that FIRST has: the same context
(exact), without outermost frames (partial), or by the innermost frame only (leaf). Use these
numbers only to follow a trend.

Sampled stacks, and an iprof with sampled stacks, are compared by whole stack and by running
method.

Sample profiles are compared by place (a line location in its calling context), by entry count,
by function wherever it was inlined, and by call target.

Thresholds: --fail-below checks the overlap of all sections, each weighted by its share of the
events (total); the smallest overlap of a section (smallest); or the overlap of a section:
  LLVM instrumentation profiles  counters, indirect-call-targets, memop-sizes, vtables
  LLVM memory profiles           memory-bytes, allocations, data-accesses
  LLVM sample profiles           places, entries, functions, call-targets, virtual-tables
  iprof                          call-counts, conditionals, virtual-invokes, monitors, samples, instanceofs
  sampled stacks                 stacks, methods

Exit code: 0 for success; 1 if the files cannot be compared; 2 for usage errors; 3 if an overlap
is below --fail-below.

Examples:
  profbridge diff before.iprof after.iprof
  profbridge diff --json --fail-below 0.9 release.profdata nightly.profdata
  profbridge diff --fail-below call-counts=0.9,total=0.8 before.iprof after.iprof
  profbridge diff --fail-below methods=80% release.jfr nightly.jfr"
)]
pub(crate) struct DiffArgs {
    /// The first profile; `-` is standard input
    #[arg(value_name = "FIRST")]
    first: PathBuf,
    /// The second profile
    #[arg(value_name = "SECOND")]
    second: PathBuf,
    /// Fail with exit code 3 if the overlap is smaller: of all sections (0.9 or 90%), or of the named sections
    /// (call-counts=0.9,total=80%); see below
    #[arg(long, value_name = "[NAME=]SHARE,…", value_parser = |text: &str| DiffGates::parse(text).map_err(hint_text))]
    fail_below: Option<DiffGates>,
    /// The section of a plain SHARE in --fail-below
    #[arg(long, value_name = "NAME", requires = "fail_below")]
    section: Option<String>,
    /// Length of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    topn: usize,
    /// List only functions and sites whose name or demangled name contains TEXT, or which are `=NAME` or match
    /// `/REGEX/`; shares stay relative to the whole profile
    #[arg(long, visible_alias = "filter", value_name = "TEXT", value_parser = parse_pattern)]
    function: Option<NamePattern>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    exact: ExactNamesArgs,
    #[command(flatten)]
    names: DemangleArgs,
    #[command(flatten)]
    stacks: StackArgs,
}

/// The output of `--json`; see `docs/json-schema/diff-2.json`.
#[derive(Serialize)]
struct Json<'a> {
    first: FileJson,
    second: FileJson,
    gates: &'a [GateOutcome],
    #[serde(flatten)]
    report: &'a FileDiff,
}

impl DiffArgs {
    /// Returns the given input files.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        vec![self.first.clone(), self.second.clone()]
    }

    /// Compares the profiles and prints the report.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut options = DiffOptions::default();
        options.limits = crate::limits::chosen();
        (options.topn, options.function) = (self.topn, self.function.clone());
        options.exact_names = self.exact.is_given();
        let gates = self.gates()?;
        let (first, second) = (Input::argument(&self.first), Input::argument(&self.second));
        self.exact.refuse_for_others([&first, &second])?;
        let found = self.found(&first, &second, &options)?;
        found.warnings.iter().for_each(console::warning);
        print_followed(&found.followed);
        if found.report.sections.is_empty() {
            let error = Error::nothing_found("neither profile has counts, so there is nothing to compare");
            return Err(error.with_hint("run the program before you compare its profiles"));
        }
        if let Some(pattern) = self.function.as_ref().filter(|_| found.report.selects_nothing) {
            return Err(pattern.nothing_found());
        }
        let outcomes = gates.outcomes(&found.report);
        if self.json {
            let (first, second) = (FileJson::of(&first), FileJson::of(&second));
            let ok = outcomes.iter().all(|outcome| outcome.passed);
            let json = Json { first, second, gates: &outcomes, report: &found };
            documents::print_named("profbridge.diff/2", ok, &json, self.names)?;
        } else {
            let mut text = String::new();
            found.write_text(&mut text).map_err(|_| Error::usage("cannot write the report"))?;
            console::print_line(console::escape(self.names.apply(&text, false)).trim_end());
        }
        gates::require(&outcomes).map_err(|error| {
            if outcomes.iter().all(|outcome| outcome.found.is_some()) {
                return error;
            }
            let judged: Vec<&str> = found.report.sections.iter().map(|section| section.gate.as_str()).collect();
            error.with_hint(format!("the profiles have: total, smallest, {}", judged.join(", ")))
        })?;
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the thresholds of --fail-below and --section.
    fn gates(&self) -> Result<DiffGates> {
        let Some(gates) = &self.fail_below else { return Ok(DiffGates::default()) };
        match &self.section {
            None => Ok(gates.clone()),
            Some(section) => match gates.of_total() {
                Some(share) => DiffGates::on(section, share),
                None => Err(Error::usage("--section requires a share without a name")
                    .with_hint("name sections in --fail-below")),
            },
        }
    }

    /// Compares the inputs; stacks are compared as such, so that samples can be selected.
    fn found(&self, first: &Input, second: &Input, options: &DiffOptions) -> Result<FileDiff> {
        let is_twice = first.is_stdin() && second.is_stdin();
        if is_twice || !are_stacks(first, second)? {
            StackArgs::refuse_for_others()?;
            return families::diff_files(first, second, options);
        }
        self.stacks.refuse_without_effect([first, second])?;
        let (read, selection) = (self.stacks.read_options(), self.stacks.selection());
        diff_stacks(first, second, &read, &selection, options)
    }
}
