//! `diff`: how two profiles differ, for people and as a gate.

use crate::console;
use clap::Args;
use profbridge::pipeline::{self, FileDiff};
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

Exit code: 0, or 1 when the overlap is below what --fail-below asks for.

Examples:
  profbridge diff before.iprof after.iprof
  profbridge diff --json --fail-below 0.9 release.profdata nightly.profdata")]
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
    /// Length of each list
    #[arg(long, value_name = "N", default_value_t = 10)]
    topn: usize,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
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
        let found = pipeline::diff_files(&self.first, &self.second, &options)?;
        if self.json {
            let (first, second) = (self.first.to_string_lossy(), self.second.to_string_lossy());
            console::print_json(&Json { schema: "profbridge.diff/1", first, second, report: &found })?;
        } else {
            let mut text = String::new();
            found.write_text(&mut text).map_err(|_| Error::usage("the report cannot be written"))?;
            console::print_line(console::escape(&text).trim_end())?;
        }
        let Some(least) = self.fail_below else { return Ok(ExitCode::SUCCESS) };
        if found.report.overlap >= least {
            return Ok(ExitCode::SUCCESS);
        }
        let detail = format!("the smallest overlap is {:.4}, below {least}", found.report.overlap);
        console::error(&Error::usage(detail));
        Ok(ExitCode::from(1))
    }
}
