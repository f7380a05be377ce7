//! `llvm-profdata order`.

use super::compat_mode::CompatMode;
use super::failure::Failure;
use super::output::create_output;
use super::parsed::Parsed;
use profbridge::families;
use profbridge::input::Input;
use profbridge::instr::order::OrderOptions;
use std::io::Write;
use std::process::ExitCode;

pub(super) fn run(parsed: &Parsed, conduct: &CompatMode) -> Result<ExitCode, Failure> {
    let mut out = create_output(parsed)?;
    let file = Input::argument(parsed.positionals.first().cloned().unwrap_or_default());
    let mut options = OrderOptions::default();
    options.test_traces = parsed.number("num-test-traces").and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
    let order = families::order_file(&file, &conduct.read_options(), &options).map_err(|error| match error.kind() {
        // An invalid number of traces is a fault of the command line, not of the file.
        profbridge::ErrorKind::Usage { detail } => Failure::text(detail.clone()),
        _ => Failure::of(&error),
    })?;
    order.value.write_text(&mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
