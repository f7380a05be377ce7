//! `fit`: whether a profile will still be used by a newer build, and as a gate.

use crate::console;
use crate::hints;
use clap::Args;
use profbridge::fit::{FitReport, Gate, write_text};
use profbridge::input::output;
use profbridge::instr::release;
use profbridge::pipeline::fit::{Fit, FitOptions, fit_files};
use profbridge::pipeline::target::{Target, TargetSource};
use profbridge::{Error, Result};
use serde::Serialize;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Say how much of a profile a newer build of the program will still use
#[derive(Debug, Args)]
#[command(
    after_help = "Compilers drop what no longer matches, with a warning at best. THING is the new build: a program
or shared library compiled with the instrumentation that the profile is of, a raw or indexed profile
that it wrote, or one with a coverage map; for sample profiles any program with symbols, debug info
or pseudo-probes, or another sample profile; for iprof a newer iprof, a jar, or a folder of classes.

Exit code: 0, 1 when something cannot be read or compared, 2 for wrong use, 3 when a share is below
what --fail-below asks for.

Examples:
  profbridge fit app.profdata --against build/app-instrumented
  profbridge fit app.profdata --against new.profraw --fail-below used-counts=0.9,used-functions=0.8
  profbridge fit app.profdata --against build/app --write-remapping names.txt
  profbridge fit default.iprof --against app.jar --prune -o pruned.iprof"
)]
pub(crate) struct FitArgs {
    /// The profile
    #[arg(value_name = "PROFILE")]
    profile: PathBuf,
    /// The new build
    #[arg(long, value_name = "THING")]
    against: PathBuf,
    /// The toolchain that will read the profile, such as llvm-19 or rustc-1.82; by default the one that
    /// built THING, where it tells
    #[arg(long = "for", value_name = "TOOLCHAIN")]
    reader: Option<String>,
    /// Fail with exit code 3 when a share is smaller: used-counts, used-functions, profiled-functions
    #[arg(long, value_name = "NAME=SHARE,…", value_parser = |text: &str| Gate::parse(text).map_err(in_words))]
    fail_below: Option<Gate>,
    /// Write a remapping file for `merge -r` with the new names of functions that moved or, as a guess, were
    /// renamed
    #[arg(long, value_name = "FILE")]
    write_remapping: Option<PathBuf>,
    /// Write the profile without what no longer fits, to what -o names
    #[arg(long, requires = "output")]
    prune: bool,
    /// Where --prune writes
    #[arg(short, long, value_name = "FILE", requires = "prune")]
    output: Option<PathBuf>,
    /// Length of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    topn: usize,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints; see `docs/json-schema/fit-1.json`.
#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    profile: Cow<'a, str>,
    against: Cow<'a, str>,
    #[serde(flatten)]
    report: &'a FitReport,
}

fn in_words(error: Error) -> String {
    match error.hint() {
        Some(hint) => format!("{error} ({})", hints::in_words(hint)),
        None => error.to_string(),
    }
}

impl FitArgs {
    /// Compares, prints, writes what was asked for.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut options = FitOptions::default();
        (options.limits, options.topn) = (crate::limits::chosen(), self.topn);
        options.reader = match self.reader.as_deref().map(release::parse).transpose() {
            Ok(row) => row.map(|row| Target::of_row(row, TargetSource::Option)),
            Err(error) => {
                console::error(&error);
                return Ok(ExitCode::from(console::WRONG_USE));
            }
        };
        let fit = fit_files(&self.profile, &self.against, &options)?;
        fit.warnings.iter().for_each(console::warning);
        self.write(&fit)?;
        self.print(&fit.report)?;
        Ok(self.gate(&fit.report))
    }

    fn write(&self, fit: &Fit) -> Result<()> {
        if let Some(path) = &self.write_remapping {
            let file = fit.remapping()?;
            output::replace(path, &file.text)?;
            console::note(&format!("{}: new names of {} functions", path.display(), file.functions));
            if file.left_out > 0 {
                console::note(&format!("{} more have names with blanks, which the file cannot hold", file.left_out));
            }
        }
        if let Some(path) = self.output.as_deref().filter(|_| self.prune) {
            self.write_pruned(fit, path)?;
        }
        Ok(())
    }

    fn write_pruned(&self, fit: &Fit, path: &Path) -> Result<()> {
        console::needs_file(path)?;
        let pruned = fit.write_pruned(path, self.write_remapping.is_some())?;
        let text =
            format!("{}: {} records and {} targets were left out", path.display(), pruned.records, pruned.values);
        console::note(&text);
        Ok(())
    }

    fn print(&self, report: &FitReport) -> Result<()> {
        if self.json {
            let (profile, against) = (self.profile.to_string_lossy(), self.against.to_string_lossy());
            return console::print_json(&Json { schema: "profbridge.fit/1", profile, against, report });
        }
        let mut text = String::new();
        write_text(&mut text, report).map_err(|_| Error::usage("the report cannot be written"))?;
        console::print_line(console::escape(&text).trim_end())
    }

    fn gate(&self, report: &FitReport) -> ExitCode {
        let failures = self.fail_below.as_ref().map(|gate| gate.failures(report)).unwrap_or_default();
        for failure in &failures {
            console::error(&Error::usage(failure.to_string()));
        }
        if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(console::GATE_FAILED) }
    }
}
