//! `check`: the faults of profiles.

use crate::console;
use crate::documents;
use crate::finish::verdict;
use crate::hints;
use clap::Args;
use profbridge::families::{self, FileCheck};
use profbridge::input::InputList;
use profbridge::iprof::{Level, Version};
use profbridge::{Compat, Error, Result};
use serde::Serialize;
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
    /// Profiles or directories; `-` is standard input
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
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// The output of `--json`; see `docs/json-schema/check-2.json`.
#[derive(Serialize)]
struct Json<'a> {
    files: &'a [FileCheck],
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
        let mut checks: Vec<FileCheck> = files.iter().map(|path| families::check_file(path, &options)).collect();
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
            documents::print("profbridge.check/2", code == 0, &Json { files: &checks })?;
        } else {
            checks.iter().for_each(print);
        }
        Ok(verdict(code, || reason(&failing)))
    }
}

impl CheckArgs {
    /// Returns the files, including those in directories.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for path in &self.files {
            if path.is_dir() {
                let mut below = InputList::new(Compat::Profbridge);
                below.push(path)?;
                files.extend(below.into_inputs().into_iter().map(|input| input.path));
            } else {
                files.push(path.clone());
            }
        }
        Ok(files)
    }
}

/// Returns the heading of a file with its verdict.
fn head(check: &FileCheck) -> String {
    let version = check.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    format!("{}: {}{version}: {}", check.path, check.format, check.verdict)
}

/// Returns the reason why a check fails, in one line.
fn reason(failing: &[&FileCheck]) -> String {
    let first = failing.first().map(|check| head(check)).unwrap_or_default();
    let more = failing.len().saturating_sub(1);
    if more > 0 { format!("{first} (and {more} more)") } else { first }
}

fn print(check: &FileCheck) {
    console::print_line(&console::escape(&head(check)));
    for finding in &check.findings {
        let offset = finding.offset.map(|offset| format!(", byte {offset:#x}")).unwrap_or_default();
        let more = if finding.more > 0 { format!(" (and {} more)", finding.more) } else { String::new() };
        let line =
            format!("  {}: {}: {}{offset}: {}{more}", finding.level, finding.code, finding.path, finding.message);
        console::print_line(&console::escape(&line));
    }
    if let Some(hint) = &check.hint {
        console::print_line(&format!("  hint: {hint}"));
    }
}
