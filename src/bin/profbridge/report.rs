//! `report`: a profile as one HTML page.

use crate::pictures::{PictureArgs, PictureFormat};
use clap::Args;
use profbridge::render::{Section, SvgOptions, write_html, write_svg};
use profbridge::{Error, Result};
use std::process::ExitCode;

/// Show any profile as one HTML page that needs no network, or its flame graph as .svg
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge report app.jfr -o app.html
  profbridge report new.iprof --baseline old.iprof -o changes.html
  profbridge report app.profdata -o app.html")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pictures: PictureArgs,
}

impl ReportArgs {
    /// Reads, draws and writes.
    pub(crate) fn run(self) -> Result<ExitCode> {
        self.pictures.run(|title, content, baseline| {
            if self.pictures.named_format() == Some(PictureFormat::Svg) {
                let mut options = SvgOptions::default();
                options.title = title;
                return Ok(write_svg(&self.pictures.flame_graph(content, baseline)?, &options));
            }
            if self.pictures.is_turned() {
                let detail = "--reverse, --merge and --per-thread are for flame graphs, not for the whole report";
                return Err(Error::usage(detail).with_hint("`profbridge flamegraph` draws them, also as .html"));
            }
            let mut report = content.report(&title, baseline)?;
            if let Some(overlap) = self.pictures.overlap()? {
                report.sections.insert(0, Section::Table(overlap));
            }
            Ok(write_html(&report))
        })
    }
}
