//! `check`: the faults of profiles.

use crate::console;
use crate::demangled::DemangleArgs;
use crate::documents;
use crate::finish::verdict;
use crate::hints;
use crate::plural::number_of;
use clap::Args;
use profbridge::families::{self, CheckFinding, FileCheck};
use profbridge::input::{Input, InputList};
use profbridge::iprof::{Level, Verdict, Version};
use profbridge::{Compat, Error, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check profiles and report every problem
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code: 0 if the files are valid, perhaps with warnings; 1 if a file cannot be read; 2 for usage
errors; 3 for errors in a file, or warnings with --strict.

Examples:
  profbridge check default.iprof
  profbridge check --strict --json *.profraw
  profbridge check --min-density 50 app.afdo"
)]
pub(crate) struct CheckArgs {
    /// Profiles, or directories to check every file in them; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Treat warnings as errors
    #[arg(long)]
    strict: bool,
    /// The version of iprof files without a usable version
    #[arg(long, value_name = "VERSION", value_parser = parse_version)]
    assume_version: Option<Version>,
    /// Report sample profiles whose hot functions have fewer samples per line location than this
    #[arg(long, value_name = "NUMBER", value_parser = parse_density)]
    min_density: Option<f64>,
    /// Print only files with errors or warnings, and the totals
    #[arg(long)]
    only_problems: bool,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    names: DemangleArgs,
}

/// The output of `--json`; see `docs/json-schema/check-2.json`.
#[derive(Serialize)]
struct Json<'a> {
    files: Vec<&'a FileCheck>,
    totals: Totals<'a>,
}

/// The numbers of files and findings.
#[derive(Serialize)]
struct Totals<'a> {
    files: usize,
    errors: u64,
    warnings: u64,
    verdicts: BTreeMap<&'a str, usize>,
}

impl<'a> Totals<'a> {
    fn of(checks: &'a [FileCheck]) -> Self {
        let sum = |level| checks.iter().map(|check| check.count(level)).sum();
        let mut verdicts = BTreeMap::new();
        checks.iter().for_each(|check| *verdicts.entry(check.verdict).or_default() += 1);
        Self { files: checks.len(), errors: sum(Level::Error), warnings: sum(Level::Warning), verdicts }
    }

    /// Formats the totals in one line.
    fn line(&self) -> String {
        let verdicts: Vec<String> = self.verdicts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect();
        let (files, errors) = (number_of(self.files, "file"), number_of(self.errors, "error"));
        format!("{files}: {}; {errors}, {}", verdicts.join(", "), number_of(self.warnings, "warning"))
    }
}

fn parse_density(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "a density is a number of samples, such as 50".to_string())
}

/// Parses a version on the command line.
pub(crate) fn parse_version(text: &str) -> std::result::Result<Version, String> {
    Version::parse(text).ok_or_else(|| "a version has the form 1.0.0".to_string())
}

impl CheckArgs {
    /// Returns the given input files.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.files.clone()
    }

    /// Checks every file and prints the findings.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut options = crate::limits::iprof_options();
        options.assume_version = self.assume_version;
        let files = self.files()?;
        if files.is_empty() {
            return Err(Error::nothing_found("there are no files in the directory"));
        }
        let mut checks: Vec<FileCheck> = files.into_iter().map(|file| families::check_file(file, &options)).collect();
        families::find_outliers(&mut checks);
        checks.iter_mut().for_each(hints::word_check);
        if let Some(least) = self.min_density {
            checks.iter_mut().for_each(|check| check.require_density(least));
        }
        let strict = |check: &FileCheck| self.strict && check.count(Level::Warning) > 0;
        let fails = |check: &&FileCheck| check.failed || check.count(Level::Error) > 0 || strict(check);
        let failing: Vec<&FileCheck> = checks.iter().filter(fails).collect();
        let code = if failing.iter().any(|check| check.failed) {
            console::COULD_NOT
        } else if !failing.is_empty() {
            console::GATE_FAILED
        } else {
            0
        };
        if self.json {
            let json = Json { files: self.listed(&checks), totals: Totals::of(&checks) };
            documents::print_named("profbridge.check/2", code == 0, &json, self.names)?;
        } else if !console::is_quiet() {
            self.listed(&checks).into_iter().for_each(|check| print(check, self.names));
            if checks.len() > 1 {
                console::print_line(&Totals::of(&checks).line());
            }
        }
        if code != 0 && console::is_quiet() && !self.json {
            console::error_line(&reason(&failing));
            return Ok(ExitCode::from(code));
        }
        Ok(verdict(code, || reason(&failing)))
    }
}

impl CheckArgs {
    /// Returns the files to print.
    fn listed<'a>(&self, checks: &'a [FileCheck]) -> Vec<&'a FileCheck> {
        let has_problem =
            |check: &FileCheck| check.failed || check.count(Level::Error) > 0 || check.count(Level::Warning) > 0;
        checks.iter().filter(|check| !self.only_problems || has_problem(check)).collect()
    }

    /// Returns the files, including those in directories.
    fn files(&self) -> Result<Vec<Input>> {
        let mut files = Vec::new();
        for path in &self.files {
            if path.is_dir() {
                let mut below = InputList::new(Compat::Profbridge);
                below.push(path)?;
                files.extend(below.into_inputs());
            } else {
                files.push(Input::argument(path));
            }
        }
        Ok(files)
    }
}

/// Returns the heading of a file with its verdict.
fn head(check: &FileCheck) -> String {
    let version = check.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let failed = if fails_though_usable(check) { ", but fails the check" } else { "" };
    format!("{}: {}{version}: {}{failed}", check.path, check.format, check.verdict)
}

/// Returns true if the errors are not damage, which has another verdict: a minimum was not reached.
fn fails_though_usable(check: &FileCheck) -> bool {
    check.verdict == Verdict::Usable.name() && check.count(Level::Error) > 0
}

/// Returns the reason why a check fails, in one line.
fn reason(failing: &[&FileCheck]) -> String {
    let describe = |check: &FileCheck| {
        let level = match check.count(Level::Error) {
            _ if check.failed => None,
            0 => Some(Level::Warning),
            _ => Some(Level::Error).filter(|_| fails_though_usable(check)),
        };
        let is_cause = |finding: &&CheckFinding| level.is_some_and(|level| finding.level == level.name());
        match check.findings.iter().find(is_cause) {
            Some(finding) => format!("{}: {}: {}", check.path, finding.code, finding.message),
            None => head(check),
        }
    };
    let first = failing.first().map(|check| describe(check)).unwrap_or_default();
    let more = failing.len().saturating_sub(1);
    if more > 0 { format!("{first} (and {more} more)") } else { first }
}

fn print(check: &FileCheck, names: DemangleArgs) {
    console::print_line(&console::escape(head(check)));
    for finding in &check.findings {
        let offset = finding.offset.map(|offset| format!(", byte {offset:#x}")).unwrap_or_default();
        let more = if finding.more > 0 { format!(" (and {} more)", finding.more) } else { String::new() };
        let line =
            format!("  {}: {}: {}{offset}: {}{more}", finding.level, finding.code, finding.path, finding.message);
        console::print_line(&console::escape(names.apply(&line, false)));
    }
    if let Some(hint) = &check.hint {
        console::print_line(&format!("  hint: {hint}"));
    }
}
