//! `report`: a profile as one HTML page.

use crate::pictures::{PictureArgs, PictureFormat};
use clap::Args;
use profbridge::render::{SvgOptions, write_html, write_svg};
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
            if self.pictures.is_reversed() {
                return Err(Error::usage("--reverse is for flame graphs, not for the whole report"));
            }
            Ok(write_html(&content.report(&title, baseline)?))
        })
    }
}
