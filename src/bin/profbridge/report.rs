//! `report`: a profile as one HTML page.

use crate::pictures::PictureArgs;
use clap::Args;
use profbridge::Result;
use profbridge::picture::write_html;
use std::process::ExitCode;

/// Show any profile as one HTML page that needs no network
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
        self.pictures.run(|title, content, baseline| Ok(write_html(&content.report(&title, baseline)?)))
    }
}
