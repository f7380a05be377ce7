//! `report`: a profile as one HTML page.

use crate::console;
use crate::stacks::StackArgs;
use clap::Args;
use profbridge::Result;
use profbridge::input::output;
use profbridge::picture::write_html;
use profbridge::pipeline::pictures::{Content, read_content};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show any profile as one HTML page that needs no network
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge report app.jfr -o app.html
  profbridge report new.iprof --baseline old.iprof -o changes.html
  profbridge report app.profdata -o app.html")]
pub(crate) struct ReportArgs {
    /// Recordings, collapsed or folded stacks, an iprof, LLVM profiles; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// A profile of the same kind to compare with
    #[arg(long, value_name = "FILE")]
    baseline: Vec<PathBuf>,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The page's heading; by default the names of the inputs
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    #[command(flatten)]
    stacks: StackArgs,
}

impl ReportArgs {
    /// Reads, draws and writes.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let (content, baseline) = read_pair(&self.inputs, &self.baseline, &self.stacks)?;
        let title = self.title.unwrap_or_else(|| title_of(&self.inputs, &self.baseline));
        let report = content.report(&title, baseline.as_ref())?;
        output::replace(&self.output, write_html(&report).as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The inputs, and what they are compared with.
pub(crate) fn read_pair(
    inputs: &[PathBuf],
    baseline: &[PathBuf],
    stacks: &StackArgs,
) -> Result<(Content, Option<Content>)> {
    let read = |paths: &[PathBuf]| -> Result<Content> {
        let (content, warnings) = read_content(paths, &stacks.read_options(), &stacks.selection())?;
        warnings.iter().for_each(console::warning);
        Ok(content)
    };
    let baseline = if baseline.is_empty() { None } else { Some(read(baseline)?) };
    Ok((read(inputs)?, baseline))
}

/// The names of the files, without their folders.
pub(crate) fn title_of(inputs: &[PathBuf], baseline: &[PathBuf]) -> String {
    let names = |paths: &[PathBuf]| {
        let name = |path: &PathBuf| Path::new(path.file_name().unwrap_or(path.as_os_str())).display().to_string();
        match paths {
            [first, _, _, ..] => format!("{} and {} more", name(first), paths.len() - 1),
            _ => paths.iter().map(name).collect::<Vec<_>>().join(", "),
        }
    };
    if baseline.is_empty() { names(inputs) } else { format!("{} against {}", names(inputs), names(baseline)) }
}
