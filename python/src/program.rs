//! The program `profbridge`, for the console script.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Runs the program on arguments, the first of which is what it was called as, and returns its exit code.
/// For one run a process: the program takes the process for its own.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        let code = profbridge_program::run(arguments);
        // As at the end of a Rust program. Ignore a closed pipe.
        let _ = std::io::stdout().flush();
        (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
    })
}
