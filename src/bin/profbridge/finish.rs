//! How a run ends: what is said of an error, the exit code, the document.

use crate::console;
use crate::documents::Call;
use profbridge::{Error, ErrorKind, Result};
use std::io;
use std::process::ExitCode;

/// Turns a command's result into an exit code, and says what was wrong; a broken pipe is success.
pub(crate) fn finish(result: Result<ExitCode>, call: &Call) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(failure) if is_broken_pipe(&failure) => ExitCode::SUCCESS,
        Err(failure) => {
            console::error(&failure);
            let code = exit_code(failure.kind());
            call.print_failure(&failure, code);
            ExitCode::from(code)
        }
    }
}

/// What went wrong, in a number.
fn exit_code(kind: &ErrorKind) -> u8 {
    match kind {
        ErrorKind::Usage { .. } => console::WRONG_USE,
        ErrorKind::GateFailed { .. } => console::GATE_FAILED,
        _ => console::COULD_NOT,
    }
}

fn is_broken_pipe(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
}
