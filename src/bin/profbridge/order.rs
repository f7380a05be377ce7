//! `order`: an order of functions for the linker.

use crate::console;
use crate::console::write_output;
use crate::outputs::refuse_replacing;
use clap::Args;
use profbridge::Result;
use profbridge::input::Input;
use profbridge::pipeline;
use profbridge::report::order::OrderOptions;
use std::path::PathBuf;
use std::process::ExitCode;

/// Print an order of functions in which few pages are touched at start
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge order app.profdata -o app.order
  clang app.o -Wl,--symbol-ordering-file=app.order -o app
  profbridge order --num-test-traces=10 app.profdata | head -2

The profile needs temporal traces: -pgo-temporal-instrumentation when compiling.")]
pub(crate) struct OrderArgs {
    /// A profile with temporal traces; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Set aside the last N traces and judge the order by them
    #[arg(long, value_name = "N", default_value_t = 0)]
    num_test_traces: usize,
    /// Print JSON, see docs/json-schema/order-1.json
    #[arg(long)]
    json: bool,
}

impl OrderArgs {
    /// Orders the functions.
    pub(crate) fn run(self) -> Result<ExitCode> {
        refuse_replacing(&[Input::from(&self.file)], &self.output, "an order", false, |_| false)?;
        let mut options = OrderOptions::default();
        options.test_traces = self.num_test_traces;
        let ordered = pipeline::order_file(&self.file, &crate::limits::read_options(), &options)?;
        ordered.warnings.iter().for_each(console::warning);
        if self.json {
            let value = console::json("profbridge.order/1", &self.file, &ordered.report)?;
            write_output(&self.output, |out| writeln!(out, "{value}"))?;
        } else {
            write_output(&self.output, |out| ordered.report.write_text(out))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}
