//! `llvm-profdata overlap`.

use super::compat_mode::CompatMode;
use super::failure::Failure;
use super::merge::print_soft_error;
use super::options::KINDS;
use super::output::create_output;
use super::parsed::Parsed;
use profbridge::families::{self, Comparison};
use profbridge::input::Input;
use profbridge::instr::overlap::OverlapOptions;
use profbridge::names::NamePattern;
use std::io::Write;
use std::process::ExitCode;

pub(super) fn run(parsed: &Parsed, conduct: &CompatMode) -> Result<ExitCode, Failure> {
    let [base, test] = parsed.positionals.as_slice() else {
        return Err(Failure::text("two profiles are needed"));
    };
    let mut out = create_output(parsed)?;
    if parsed.last_of(&KINDS) == Some("sample") {
        super::sample::overlap(parsed, conduct, [base, test], &mut out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut options = OverlapOptions::default();
    options.function = parsed.value("function").filter(|part| !part.is_empty()).map(NamePattern::stored);
    options.value_cutoff = parsed.number("value-cutoff").unwrap_or(u64::MAX);
    options.as_llvm = true;
    options.context_sensitive = parsed.is_on("cs");
    let compared =
        families::overlap_files(Input::argument(base), Input::argument(test), &conduct.read_options(), &options);
    // The original tool prints its current action instead of the file name.
    let whence = Some(b"error in getting profile count sums".to_vec());
    match compared.map_err(|error| Failure::of_whence(&error, whence))?.value {
        Comparison::Done { report, soft_errors, .. } => {
            soft_errors.iter().for_each(|error| print_soft_error(base.as_ref(), error));
            report.write_text(base.as_encoded_bytes(), test.as_encoded_bytes(), &mut out)?;
            out.flush()?;
        }
        // The original tool intends to report a sum of 0, but does not print the line.
        Comparison::NothingCounted { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}
