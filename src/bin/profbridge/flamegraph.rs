//! `flamegraph`: stacks as an SVG picture.

use crate::report::{read_pair, title_of};
use crate::stacks::StackArgs;
use clap::Args;
use profbridge::Result;
use profbridge::input::output;
use profbridge::picture::{SvgOptions, write_svg};
use std::path::PathBuf;
use std::process::ExitCode;

/// Draw stacks as an SVG picture
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge flamegraph app.jfr -o app.svg
  profbridge flamegraph new.collapsed --baseline old.collapsed -o changes.svg
  profbridge flamegraph app.iprof --width 1800 -o app.svg")]
pub(crate) struct FlamegraphArgs {
    /// Recordings, collapsed or folded stacks, or an iprof; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Stacks to compare with; boxes are coloured by the change of their share
    #[arg(long, value_name = "FILE")]
    baseline: Vec<PathBuf>,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The picture's heading; by default the names of the inputs
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Width in pixels
    #[arg(long, value_name = "N", default_value_t = 1200, value_parser = clap::value_parser!(u32).range(100..=20_000))]
    width: u32,
    /// Boxes narrower than this many pixels are not drawn
    #[arg(long, value_name = "N", default_value_t = 0.1)]
    min_width: f64,
    #[command(flatten)]
    stacks: StackArgs,
}

impl FlamegraphArgs {
    /// Reads, draws and writes.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let (content, baseline) = read_pair(&self.inputs, &self.baseline, &self.stacks)?;
        let graph = content.flame_graph(baseline.as_ref())?;
        let mut options = SvgOptions::default();
        options.title = self.title.unwrap_or_else(|| title_of(&self.inputs, &self.baseline));
        options.width = self.width;
        options.min_width = self.min_width;
        output::replace(&self.output, write_svg(&graph, &options).as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}
