//! `order`: an order of functions for the linker.

use crate::console;
use crate::console::write_for_tools;
use crate::demangled::{DemangleArgs, parse_pattern};
use crate::documents::{self, Described, FileJson};
use crate::outputs::guard;
use crate::plural::number_of;
use clap::Args;
use profbridge::families::{self, Written};
use profbridge::input::Input;
use profbridge::instr::order::{OrderOptions, OrderedFunction};
use profbridge::names::NamePattern;
use profbridge::{Error, Result, Warning};
use std::path::PathBuf;
use std::process::ExitCode;

/// Print a function order that reduces page faults at startup
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  profbridge order app.profdata -o app.order
  clang app.o -Wl,--symbol-ordering-file=app.order -o app
  profbridge order --num-test-traces=10 app.profdata | head -2

The profile needs temporal traces: compile with
-fprofile-generate -mllvm -pgo-temporal-instrumentation.")]
pub(crate) struct OrderArgs {
    /// A profile with temporal traces; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The output file; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Evaluate the order with the last N traces, which are not used for ordering
    #[arg(long, value_name = "N", default_value_t = 0)]
    num_test_traces: usize,
    /// Print the first N functions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    topn: Option<u64>,
    /// Print only functions whose name or demangled name contains TEXT, `=NAME`, or those that match `/REGEX/`
    #[arg(long, visible_alias = "filter", value_name = "TEXT", value_parser = parse_pattern)]
    function: Option<NamePattern>,
    #[command(flatten)]
    names: DemangleArgs,
    /// Print JSON; see docs/json-schema/order-2.json
    #[arg(long)]
    json: bool,
}

impl OrderArgs {
    /// Returns the given input files.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        vec![self.file.clone()]
    }

    /// Orders the functions.
    pub(crate) fn run(self) -> Result<ExitCode> {
        let file = Input::argument(&self.file);
        guard(std::slice::from_ref(&file), &self.output, "an order", Written::Report)?;
        let mut options = OrderOptions::default();
        options.test_traces = self.num_test_traces;
        let mut ordered = families::order_file(&file, &crate::limits::read_options(), &options)?;
        ordered.warnings.iter().for_each(console::warning);
        if ordered.value.functions.is_empty() {
            let error = Error::nothing_found("the profile has no temporal traces");
            return Err(error.in_file(&self.file).with_hint(
                "compile with -fprofile-generate -mllvm -pgo-temporal-instrumentation, and target LLVM 17 or later",
            ));
        }
        self.choose(&mut ordered.value.functions)?;
        if self.json {
            let json = Described { file: FileJson::of(&file), report: &ordered.value };
            documents::write_named(&self.output, "profbridge.order/2", &json, self.names)?;
        } else {
            write_for_tools(&self.output, |out| {
                let mut named = self.names.writer(out, false);
                ordered.value.write_text(&mut named)?;
                named.finish()
            })?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Keeps the selected functions, in their order. A linker can use only those that have a name.
    fn choose(&self, functions: &mut Vec<OrderedFunction>) -> Result<()> {
        let all = functions.len();
        functions.retain(|function| !function.name.is_empty());
        if functions.len() < all {
            let unnamed = number_of(all - functions.len(), "function");
            let message = format!("dropped {unnamed} of the traces, whose names are not in the profile");
            console::warning(&Warning::new(message).in_file(&self.file));
        }
        if let Some(pattern) = &self.function {
            functions.retain(|function| pattern.matches(function.name.as_bytes()));
            if functions.is_empty() {
                return Err(pattern.nothing_found().in_file(&self.file));
            }
        }
        let wanted = self.topn.map_or(usize::MAX, |topn| usize::try_from(topn).unwrap_or(usize::MAX));
        functions.truncate(wanted);
        Ok(())
    }
}
