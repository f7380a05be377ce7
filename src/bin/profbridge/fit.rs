//! `fit`: the part of a profile that a newer build still uses, and thresholds for it.

use crate::console;
use crate::demangled::DemangleArgs;
use crate::documents::{self, FileJson};
use crate::finish::ignore_closed_pipe;
use crate::hints;
use crate::outputs::guard;
use crate::plural::number_of;
use crate::toolchains::ToolchainParser;
use crate::validate::refuse_both_standard_input;
use clap::Args;
use profbridge::families::Written;
use profbridge::families::fit::{Fit, FitOptions, fit_files};
use profbridge::fit::{FitReport, Gate, write_text};
use profbridge::gates::{self, GateOutcome};
use profbridge::input::Input;
use profbridge::instr::release;
use profbridge::instr::target::{Target, TargetSource};
use profbridge::{Error, Result};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Report how much of a profile a new build can still use
#[derive(Debug, Args)]
#[command(after_help = "Compilers ignore records that no longer match the code. NEW is the new build: a program or
shared library compiled with the same instrumentation as the profile, a raw or indexed profile
that it wrote, or a file with a coverage map. For sample profiles it is a program with symbols,
debug info or pseudo-probes, or another sample profile; for iprof a newer iprof, a jar, or a
directory of classes.

Exit code: 0 for success; 1 if a file cannot be read or compared; 2 for usage errors; 3 if a
share is below --fail-below.

Examples:
  profbridge fit app.profdata --against build/app-instrumented
  profbridge fit app.profdata --against new.profraw --fail-below used-counts=0.9,used-functions=0.8
  profbridge fit app.profdata --against build/app --write-remapping names.txt
  profbridge fit default.iprof --against app.jar --prune -o pruned.iprof")]
pub(crate) struct FitArgs {
    /// The profile
    #[arg(value_name = "PROFILE")]
    profile: PathBuf,
    /// The new build
    #[arg(long, value_name = "NEW")]
    against: PathBuf,
    /// Target toolchain, such as llvm-19 or rustc-1.82 [default: the compiler of the new build, if it is known]
    #[arg(long = "for", value_name = "TOOLCHAIN", value_parser = ToolchainParser, hide_possible_values = true)]
    reader: Option<String>,
    /// Fail with exit code 3 if a share is smaller: used-counts, used-functions, profiled-functions
    #[arg(long, value_name = "NAME=SHARE,…", value_parser = |text: &str| Gate::parse(text).map_err(hints::format_error_with_hint))]
    fail_below: Option<Gate>,
    /// Write a remapping file for `merge -r` with the new names of functions that were moved, or that probably were
    /// renamed
    #[arg(long, value_name = "FILE")]
    write_remapping: Option<PathBuf>,
    /// Write the profile without the stale records to the file given by -o
    #[arg(long, requires = "output")]
    prune: bool,
    /// The output file of --prune
    #[arg(short, long, value_name = "FILE", requires = "prune")]
    output: Option<PathBuf>,
    /// Length of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    topn: usize,
    #[command(flatten)]
    names: DemangleArgs,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// The output of `--json`; see `docs/json-schema/fit-2.json`.
#[derive(Serialize)]
struct Json<'a> {
    profile: FileJson,
    against: FileJson,
    gates: &'a [GateOutcome],
    #[serde(flatten)]
    report: &'a FitReport,
}

impl FitArgs {
    /// Returns the given input files.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        vec![self.profile.clone(), self.against.clone()]
    }

    /// Compares, prints the report, and writes the requested files.
    pub(crate) fn run(self) -> Result<ExitCode> {
        refuse_both_standard_input(&self.profile, &self.against)?;
        let mut options = FitOptions::default();
        (options.limits, options.topn) = (crate::limits::chosen(), self.topn);
        let reader = self.reader.as_deref().map(release::parse).transpose()?;
        options.reader = reader.map(|row| Target::of_row(row, TargetSource::Option));
        let fit = fit_files(Input::argument(&self.profile), Input::argument(&self.against), &options)?;
        fit.warnings.iter().for_each(console::warning);
        self.write(&fit).or_else(ignore_closed_pipe)?;
        let outcomes = self.fail_below.as_ref().map(|gate| gate.outcomes(&fit.report)).unwrap_or_default();
        self.print(&fit.report, &outcomes)?;
        gates::require(&outcomes)?;
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, fit: &Fit) -> Result<()> {
        let inputs = [&self.profile, &self.against].map(Input::argument);
        if let Some(path) = &self.write_remapping {
            guard(&inputs, path, "new names", Written::Report)?;
        }
        if let Some(path) = &self.output {
            guard(&inputs[1..], path, "the pruned profile", Written::Profile(fit.family()))?;
        }
        if let Some(path) = &self.write_remapping {
            let file = fit.remapping()?;
            console::write_for_tools(path, |out| out.write_all(&file.text))?;
            console::note(&format!("{}: new names of {}", path.display(), number_of(file.functions, "function")));
            if file.left_out > 0 {
                let more = number_of(file.left_out, "more name");
                console::note(&format!("omitted {more} with spaces, which the file cannot store"));
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
        let (records, targets) = (number_of(pruned.records, "record"), number_of(pruned.values, "target"));
        let dropped = match pruned.traced {
            0 => format!("{records} and {targets}"),
            traced => format!("{records}, {targets} and {} of temporal traces", number_of(traced, "function")),
        };
        console::note(&format!("{}: dropped {dropped}", path.display()));
        Ok(())
    }

    fn print(&self, report: &FitReport, gates: &[GateOutcome]) -> Result<()> {
        if self.json {
            let [profile, against] = [&self.profile, &self.against].map(|path| FileJson::of_regular_file(path));
            let ok = gates.iter().all(|outcome| outcome.passed);
            let json = Json { profile, against, gates, report };
            return documents::print_named("profbridge.fit/2", ok, &json, self.names);
        }
        let mut text = String::new();
        write_text(&mut text, report).map_err(|_| Error::usage("cannot write the report"))?;
        console::print_line(console::escape(self.names.apply(&text, false)).trim_end());
        Ok(())
    }
}
