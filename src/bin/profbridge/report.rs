//! `report`: a profile as one HTML page.

use crate::console;
use crate::drawing::{PictureArgs, PictureFormat};
use clap::Args;
use profbridge::families::fit::{FitOptions, fit_files};
use profbridge::fit::draw_report;
use profbridge::input::Input;
use profbridge::render::{MAX_ROWS, SvgOptions, write_html, write_svg};
use profbridge::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write an HTML report, or a flame graph as SVG
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge report app.jfr -o app.html
  profbridge report new.iprof --baseline old.iprof -o changes.html
  profbridge report app.profdata -o app.html
  profbridge report app.profdata --fit build/app-instrumented -o fit.html")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pictures: PictureArgs,
    /// Show how much of the profile a new build can still use: a program or library, a profile of it, or classes; see
    /// `profbridge fit`
    #[arg(long, value_name = "NEW", conflicts_with = "baseline")]
    fit: Option<PathBuf>,
    /// Rows of each table, at most 500
    #[arg(long, value_name = "N", default_value_t = MAX_ROWS as u64, hide_default_value = true,
          value_parser = clap::value_parser!(u64).range(1..=MAX_ROWS as u64))]
    topn: u64,
}

impl ReportArgs {
    /// Reads the inputs, draws them and writes the output.
    pub(crate) fn run(self) -> Result<ExitCode> {
        if let Some(against) = &self.fit {
            self.pictures.refuse_output()?;
            return self.draw_fit(against);
        }
        self.pictures.run(|drawing| {
            if self.pictures.named_format() == Some(PictureFormat::Svg) {
                let mut options = SvgOptions::default();
                options.title = drawing.title();
                return Ok(write_svg(&drawing.flame_graph(&self.pictures.view()?)?, &options));
            }
            if self.pictures.is_turned() {
                let detail = "--reverse, --merge and --per-thread cannot be used for a full report";
                return Err(Error::usage(detail).with_hint("use `profbridge flamegraph`, which also writes .html"));
            }
            Ok(write_html(&drawing.report(self.rows())?))
        })
    }

    fn rows(&self) -> usize {
        usize::try_from(self.topn).unwrap_or(MAX_ROWS)
    }

    /// Compares with a newer build and writes the page.
    fn draw_fit(&self, against: &Path) -> Result<ExitCode> {
        let [profile] = self.pictures.inputs() else {
            return Err(Error::usage("--fit requires one profile")
                .with_hint("merge the profiles with `profbridge merge` first"));
        };
        if self.pictures.named_format() == Some(PictureFormat::Svg) {
            return Err(Error::usage("--fit requires HTML output").with_hint("name the output .html"));
        }
        let mut options = FitOptions::default();
        (options.limits, options.topn) = (crate::limits::chosen(), self.rows());
        let fit = fit_files(Input::argument(profile), Input::argument(against), &options)?;
        fit.warnings.iter().for_each(console::warning);
        let title = self.pictures.title_against(against);
        self.pictures.write(&write_html(&draw_report(&title, &fit.report)))?;
        Ok(ExitCode::SUCCESS)
    }
}
