//! The end of a run: the error message, the exit code, the JSON document.

use crate::console;
use crate::documents::Call;
use crate::hints::with_path_advice;
use crate::standard_output::{self, StandardOutput};
use profbridge::{Error, ErrorKind, Result};
use std::io::{self, Write};
use std::process::ExitCode;

/// Converts a command's result to an exit code and prints the error. A broken pipe is a success.
pub(crate) fn finish(result: Result<ExitCode>, call: &Call) -> ExitCode {
    if result.is_ok() {
        console::finish_warnings();
    }
    match result.or_else(|failure| ignore_closed_pipe(failure).map(|()| ExitCode::SUCCESS)) {
        Ok(code) => with_standard_output(code),
        Err(failure) => {
            let failure = with_path_advice(failure);
            fail(&failure, exit_code(failure.kind()), call)
        }
    }
}

/// Prints the error and returns the exit code.
pub(crate) fn fail(failure: &Error, code: u8, call: &Call) -> ExitCode {
    console::error(failure);
    call.print_failure(failure, code);
    with_standard_output(ExitCode::from(code))
}

/// Returns the exit code of a run that may have lost output: its own code, unless that is success.
pub(crate) fn with_standard_output(code: ExitCode) -> ExitCode {
    // Errors are stored, not returned.
    let _ = StandardOutput.flush();
    let Some(fault) = standard_output::fault() else { return code };
    console::error(&fault);
    if code == ExitCode::SUCCESS { ExitCode::from(console::COULD_NOT) } else { code }
}

/// Returns the exit code of a run whose report contains the reason. If the report was lost, the reason is printed on
/// standard error.
pub(crate) fn verdict(code: u8, reason: impl FnOnce() -> String) -> ExitCode {
    if code != 0 && standard_output::is_lost() {
        console::error_line(&reason());
    }
    ExitCode::from(code)
}

/// Returns the exit code of an error.
fn exit_code(kind: &ErrorKind) -> u8 {
    match kind {
        ErrorKind::Usage { .. } => console::WRONG_USE,
        ErrorKind::GateFailed { .. } => console::GATE_FAILED,
        _ => console::COULD_NOT,
    }
}

/// Treats an output whose reader left as complete, so that it neither fails the run nor hides another failure.
///
/// # Errors
///
/// All other errors.
pub(crate) fn ignore_closed_pipe(error: Error) -> Result<()> {
    match error.kind() {
        ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    }
}
