//! `flamegraph`: stacks as an SVG picture.

use crate::pictures::PictureArgs;
use clap::Args;
use profbridge::Result;
use profbridge::picture::{SvgOptions, write_svg};
use std::process::ExitCode;

/// Draw stacks as an SVG picture
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge flamegraph app.jfr -o app.svg
  profbridge flamegraph new.collapsed --baseline old.collapsed -o changes.svg
  profbridge flamegraph app.iprof --width 1800 -o app.svg")]
pub(crate) struct FlamegraphArgs {
    /// Width in pixels
    #[arg(long, value_name = "N", default_value_t = 1200, value_parser = clap::value_parser!(u32).range(100..=20_000))]
    width: u32,
    /// Boxes narrower than this many pixels are not drawn
    #[arg(long, value_name = "N", default_value_t = 0.1)]
    min_width: f64,
    // Last, since what is flattened ends with a heading of its own.
    #[command(flatten)]
    pictures: PictureArgs,
}

impl FlamegraphArgs {
    /// Reads, draws and writes.
    pub(crate) fn run(self) -> Result<ExitCode> {
        self.pictures.run(|title, content, baseline| {
            let mut options = SvgOptions::default();
            options.title = title;
            options.width = self.width;
            options.min_width = self.min_width;
            Ok(write_svg(&content.flame_graph(baseline)?, &options))
        })
    }
}
