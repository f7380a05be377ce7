//! `diff`: how two profiles differ, for people and as a gate.

use crate::console;
use crate::stacks::StackArgs;
use clap::Args;
use profbridge::input::Input;
use profbridge::pipeline::{self, FileDiff, diff_stacks};
use profbridge::report::diff::DiffOptions;
use profbridge::{Error, Result};
use serde::Serialize;
use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say how two profiles differ
#[derive(Debug, Args)]
#[command(after_help = "For iprof files the report ends with how far FIRST fits the program of SECOND: which of its
contexts have only methods that SECOND declares (relevant), and which contexts of SECOND it has: as
they are (exact), without outermost frames (partial), by the innermost frame alone (leaf). These
mean something only as a trend.

Recordings, collapsed stacks, pprof and an iprof against one of them are compared by their samples: by
whole stack, and by the method that was running.

Sample profiles are compared by place (a line behind its chain of calls, inlined or in a context), by
entry, by function wherever it was inlined, and by what was called.

Exit code: 0; 1 when the files cannot be compared; 2 for wrong use; 3 when the overlap is below what --fail-below
asks for.

Examples:
  profbridge diff before.iprof after.iprof
  profbridge diff --json --fail-below 0.9 release.profdata nightly.profdata
  profbridge diff --fail-below 80% --section methods release.jfr nightly.jfr")]
pub(crate) struct DiffArgs {
    /// The first profile; `-` is standard input
    #[arg(value_name = "FIRST")]
    first: PathBuf,
    /// The second profile
    #[arg(value_name = "SECOND")]
    second: PathBuf,
    /// Fail when a section overlaps less than this: a share such as 0.9, or 90%
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    fail_below: Option<f64>,
    /// The section that --fail-below looks at, such as methods; by default all
    #[arg(long, value_name = "NAME", requires = "fail_below")]
    section: Option<String>,
    /// Length of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    topn: usize,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    stacks: StackArgs,
}

/// What `--json` prints; see `docs/json-schema/diff-1.json`.
#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    first: Cow<'a, str>,
    second: Cow<'a, str>,
    #[serde(flatten)]
    report: &'a FileDiff,
}

/// A share from 0 to 1, or a percentage.
fn parse_share(text: &str) -> std::result::Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    match number.trim().parse::<f64>().map(|value| value / scale) {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err("a share is between 0 and 1, or 0% and 100%".to_string()),
    }
}

impl DiffArgs {
    /// Compares and prints.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let mut options = DiffOptions::default();
        options.limits = crate::limits::chosen();
        options.topn = self.topn;
        let found = self.found(&options)?;
        if self.json {
            let (first, second) = (self.first.to_string_lossy(), self.second.to_string_lossy());
            console::print_json(&Json { schema: "profbridge.diff/1", first, second, report: &found })?;
        } else {
            let mut text = String::new();
            found.write_text(&mut text).map_err(|_| Error::usage("the report cannot be written"))?;
            console::print_line(console::escape(&text).trim_end())?;
        }
        let Some(least) = self.fail_below else { return Ok(ExitCode::SUCCESS) };
        let (what, overlap) = match &self.section {
            None => ("the smallest overlap".to_string(), found.report.overlap),
            Some(name) => (format!("the overlap of {name}"), overlap_of(&found, name)?),
        };
        if overlap >= least {
            return Ok(ExitCode::SUCCESS);
        }
        let detail = format!("{what} is {overlap:.4}, below {least}");
        console::error(&Error::usage(detail));
        Ok(ExitCode::from(console::GATE_FAILED))
    }

    /// Stacks are compared as such, so that samples can be chosen.
    fn found(&self, options: &DiffOptions) -> Result<FileDiff> {
        let (first, second) = (&Input::from(&self.first), &Input::from(&self.second));
        let is_twice = first == second && first.path.as_os_str() == "-";
        if is_twice || !diff_stacks::are_stacks(first, second)? {
            return pipeline::diff_files(first, second, options);
        }
        let (read, selection) = (self.stacks.read_options(), self.stacks.selection());
        let (found, warnings) = diff_stacks::diff_stacks(first, second, &read, &selection, options)?;
        warnings.iter().for_each(console::warning);
        Ok(found)
    }
}

fn overlap_of(found: &FileDiff, name: &str) -> Result<f64> {
    let sections = &found.report.sections;
    sections.iter().find(|section| section.section == name).map(|section| section.overlap).ok_or_else(|| {
        let known: Vec<&str> = sections.iter().map(|section| section.section).collect();
        Error::usage(format!("neither profile has a section {name}"))
            .with_hint(format!("sections: {}", known.join(", ")))
    })
}
