//! `flamegraph`: stacks as an SVG or HTML flame graph.

use crate::drawing::{PictureArgs, PictureFormat};
use clap::Args;
use profbridge::Result;
use profbridge::render::{FlameGraph, Report, Section, SvgOptions, write_html, write_svg};
use std::process::ExitCode;

/// Draw a flame graph as SVG or HTML
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge flamegraph app.jfr -o app.svg
  profbridge flamegraph new.collapsed --baseline old.collapsed -o changes.svg
  profbridge flamegraph cpu.pprof --reverse --exclude runtime.gcBgMarkWorker -o hot.html
  profbridge flamegraph app.jfr --events allocation -o allocated.svg
  profbridge flamegraph app.jfr --merge java.util.HashMap.put --reverse -o callers.svg
  profbridge flamegraph app.memprofraw --profiled-binary app --allocations -o allocations.svg
  profbridge flamegraph app.iprof --width 1800 -o app.svg")]
pub(crate) struct FlamegraphArgs {
    /// Width in pixels
    #[arg(long, value_name = "N", default_value_t = 1200, value_parser = clap::value_parser!(u32).range(100..=20_000))]
    width: u32,
    /// Omit boxes narrower than this many pixels
    #[arg(long, value_name = "N", default_value_t = 0.1, value_parser = pixels)]
    min_width: f64,
    /// Truncate names on the left instead of shortening them to class and method
    #[arg(long)]
    full_names: bool,
    /// Draw callees above callers
    #[arg(long)]
    upright: bool,
    // Last, because flattened options end with a heading of their own.
    #[command(flatten)]
    pictures: PictureArgs,
}

fn pixels(text: &str) -> std::result::Result<f64, String> {
    let width = text.parse::<f64>().ok().filter(|width| width.is_finite() && *width >= 0.0);
    width.ok_or_else(|| "expected a number of pixels, 0 or more".to_string())
}

impl FlamegraphArgs {
    /// Reads the inputs, draws them and writes the output.
    pub(crate) fn run(self) -> Result<ExitCode> {
        if self.pictures.named_format() != Some(PictureFormat::Html) {
            let draw = |title, graph: &FlameGraph| self.drawing(title, graph);
            if let Some(code) = self.pictures.run_outlined(&self.options(), draw)? {
                return Ok(code);
            }
        }
        self.pictures.run(|drawing| {
            let graph = drawing.flame_graph(&self.pictures.view()?)?;
            match self.pictures.named_format() {
                Some(PictureFormat::Html) => Ok(page(drawing.title(), graph)),
                _ => Ok(self.drawing(drawing.title(), &graph)),
            }
        })
    }

    fn drawing(&self, title: String, graph: &FlameGraph) -> String {
        let mut options = self.options();
        options.title = title;
        write_svg(graph, &options)
    }

    fn options(&self) -> SvgOptions {
        let mut options = SvgOptions::default();
        options.width = self.width;
        options.min_width = self.min_width;
        options.full_names = self.full_names;
        options.upright = self.upright;
        options
    }
}

/// Returns an HTML page that contains only the flame graph.
fn page(title: String, graph: FlameGraph) -> String {
    let mut report = Report::default();
    (report.title, report.sections) = (title, vec![Section::Flame(graph)]);
    write_html(&report)
}
