//! What people see: errors with hints, warnings, colours on a terminal.

use profbridge::{Error, Result, Warning};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Whether standard error takes colours: a terminal, and `NO_COLOR` unset or empty.
fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn labelled(label: &str, colour: &str, text: &str) {
    let text = escape(text);
    let mut stderr = std::io::stderr().lock();
    // A closed standard error is nobody's fault and nothing can be said about it.
    let _ = if colours() {
        writeln!(stderr, "\x1b[1;{colour}m{label}:\x1b[0m {text}")
    } else {
        writeln!(stderr, "{label}: {text}")
    };
}

/// Control characters never reach the terminal as they are.
pub(crate) fn escape(text: &str) -> String {
    text.chars()
        .flat_map(|c| {
            if c.is_control() && c != '\n' && c != '\t' { c.escape_default().collect::<Vec<_>>() } else { vec![c] }
        })
        .collect()
}

/// Prints an error and its hint.
pub(crate) fn error(error: &Error) {
    labelled("error", "31", &error.to_string());
    if let Some(text) = error.hint() {
        hint(text);
    }
}

/// Prints advice.
pub(crate) fn hint(text: &str) {
    labelled("  hint", "36", text);
}

/// Prints a warning.
pub(crate) fn warning(warning: &Warning) {
    labelled("warning", "35", &warning.to_string());
}

/// Turns a command's result into an exit code; a broken pipe is success.
pub(crate) fn finish(result: Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(failure) if is_broken_pipe(&failure) => ExitCode::SUCCESS,
        Err(failure) => {
            error(&failure);
            ExitCode::from(1)
        }
    }
}

fn is_broken_pipe(error: &Error) -> bool {
    use profbridge::ErrorKind;
    matches!(error.kind(), ErrorKind::Io { source, .. } if source.kind() == std::io::ErrorKind::BrokenPipe)
}
