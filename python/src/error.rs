//! The library's errors as exceptions.

use profbridge::error::io_message;
use profbridge::gates::Amount;
use profbridge::{Error, ErrorKind, Hint};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io;

/// The module that defines the exceptions. They are written in Python, because an extension for every Python from 3.9
/// cannot define a class that extends an exception.
const MODULE: &str = "profbridge._errors";

/// Converts the error of a result to a Python exception.
pub(crate) trait OrRaise<T> {
    /// Converts an error to its exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for profbridge::Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, &error))
    }
}

/// Returns the exception for an error.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    exception(py, error).map_or_else(|failed| failed, PyErr::from_value)
}

/// Returns an error of the package itself.
pub(crate) fn usage(py: Python<'_>, detail: impl Into<String>) -> PyErr {
    raise(py, &Error::usage(detail))
}

fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("kind", error.kind().name())?;
    fields.set_item("path", error.path().map(|path| path.to_string_lossy().into_owned()))?;
    fields.set_item("format", error.format())?;
    fields.set_item("section", error.section())?;
    fields.set_item("offset", error.offset())?;
    fields.set_item("line", error.line())?;
    match error.kind() {
        ErrorKind::GateFailed { failures } => {
            let set = |name: &str, amount: Option<Amount>| match amount {
                Some(Amount::Count(count)) => fields.set_item(name, count),
                Some(Amount::Share(share)) => fields.set_item(name, share),
                None => Ok(()),
            };
            set("expected", failures.first().map(|gate| gate.wanted))?;
            set("found", failures.first().and_then(|gate| gate.found))?;
        }
        kind => {
            fields.set_item("expected", kind.expected())?;
            fields.set_item("found", kind.found())?;
        }
    }
    fields.set_item("hint", error.hint().map(hint_text))?;
    let exception = py.import(MODULE)?.getattr(class_of(error))?.call((error.to_string(),), Some(&fields))?;
    if let Some((_, (number, words))) = system_error(error) {
        exception.setattr("errno", number)?;
        exception.setattr("strerror", words)?;
        exception.setattr("filename", fields.get_item("path")?)?;
    }
    Ok(exception)
}

/// Returns a hint in the terms of this package.
fn hint_text(hint: &Hint) -> String {
    match hint {
        Hint::ChooseFamily => "set family=\"iprof\" or family=\"instr\", the family of the result".to_string(),
        Hint::AllowEmpty => "pass allow_empty=True to write it anyway".to_string(),
        Hint::AcceptWeights => "pass any_value=True to to_iprof() to treat the values as sample counts".to_string(),
        hint => hint.to_string(),
    }
}

/// Returns the exception class for an error kind. It depends on the name of the kind, which a partial merge keeps.
fn class_of(error: &Error) -> &'static str {
    if error.limit_name().is_some() {
        return "LimitError";
    }
    match error.kind().name() {
        "io" => match system_error(error).map(|(kind, _)| kind) {
            Some(io::ErrorKind::NotFound) => "MissingFileError",
            Some(io::ErrorKind::PermissionDenied) => "AccessError",
            Some(io::ErrorKind::IsADirectory) => "DirectoryError",
            _ => "IoError",
        },
        "empty-profile"
        | "not-a-profile"
        | "unrecognized-format"
        | "bad-magic"
        | "bad-header"
        | "truncated"
        | "too-large"
        | "malformed"
        | "iprof-finding"
        | "uncompress-failed"
        | "end-of-file"
        | "counter-value-too-large" => "FormatError",
        "unsupported-version" | "raw-version-mismatch" | "unsupported-hash-type" | "unsupported" => "UnsupportedError",
        "missing-correlation"
        | "unexpected-correlation"
        | "not-an-object"
        | "not-in-binary"
        | "unable-to-correlate"
        | "missing-program"
        | "unable-to-symbolize" => "ProgramError",
        "kind-conflict" | "input-failed" | "inputs-failed" | "nothing-found" => "MergeError",
        "limit-exceeded" => "LimitError",
        "would-lose" => "LossError",
        "gate-failed" => "GateError",
        "usage" | "unable-to-compare" => "UsageError",
        _ => "Error",
    }
}

/// Returns the kind, the number and the words of an error of the operating system.
fn system_error(error: &Error) -> Option<(io::ErrorKind, (Option<i32>, String))> {
    let of = |error: &io::Error| (error.kind(), (error.raw_os_error(), io_message(error)));
    match error.kind() {
        ErrorKind::Io { source, .. } => Some(of(source)),
        ErrorKind::InputFailed { error } => error.system_error().map(|error| of(&error)),
        _ => None,
    }
}
