//! The program `profbridge`, for the console script.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs the program with arguments, of which the first is the program's name, and returns its exit code. Call it once
/// per process, because the program assumes that it owns the process.
#[pyfunction]
pub(crate) fn run_program(py: Python<'_>, arguments: Vec<OsString>) -> PyResult<u8> {
    let interpreter: Option<PathBuf> = py.import("sys")?.getattr("executable")?.extract()?;
    Ok(py.detach(|| {
        let code = profbridge_program::run(arguments, interpreter.filter(|path| !path.as_os_str().is_empty()));
        // Flush as at the end of a Rust program, and ignore a closed pipe.
        let _ = std::io::stdout().flush();
        (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
    }))
}
