//! The JSON documents of `--json`: first the schema, then whether the run succeeded. Errors, files and inputs have the
//! same form in all of them; see `docs/reference/json.md`.

use crate::console::{self, write_output};
use crate::demangled::DemangleArgs;
use crate::hints::hint_text;
use profbridge::gates::GateOutcome;
use profbridge::input::Input;
use profbridge::input::output::is_replaced;
use profbridge::instr::{Loss, LossKind};
use profbridge::{Error, ErrorKind, ErrorReport, Hint, Result};
use serde::Serialize;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the document of this run was printed. A later error does not print a second one.
static IS_PRINTED: AtomicBool = AtomicBool::new(false);

/// Returns true if the arguments request JSON.
pub(crate) fn are_asked_for(arguments: &[OsString]) -> bool {
    arguments.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json" || word == "-json")
}

/// A document, beginning with the members that all documents have.
#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'a str,
    ok: bool,
    #[serde(flatten)]
    body: &'a T,
}

/// Formats a document as one line.
pub(crate) fn line(schema: &str, ok: bool, body: &impl Serialize) -> Result<String> {
    let line = serde_json::to_string(&Document { schema, ok, body });
    // JSON does not escape all control characters.
    Ok(console::escape(line.map_err(|error| Error::io("cannot write JSON", io::Error::from(error)))?))
}

/// Prints a document on standard output.
pub(crate) fn print(schema: &str, ok: bool, body: &impl Serialize) -> Result<()> {
    IS_PRINTED.store(true, Ordering::Relaxed);
    console::print_line(&line(schema, ok, body)?);
    Ok(())
}

/// Like [`print`], with demangled names if requested.
pub(crate) fn print_named(schema: &str, ok: bool, body: &impl Serialize, names: DemangleArgs) -> Result<()> {
    IS_PRINTED.store(true, Ordering::Relaxed);
    console::print_line(&names.apply(&line(schema, ok, body)?, true));
    Ok(())
}

/// Writes the document of a successful run to the output, with demangled names if requested.
pub(crate) fn write_named(output: &Path, schema: &str, body: &impl Serialize, names: DemangleArgs) -> Result<()> {
    let line = line(schema, true, body)?;
    write_output(output, |out| writeln!(out, "{}", names.apply(&line, true)))
}

/// A file, with the properties that follow from its beginning.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct FileJson {
    pub(crate) path: String,
    pub(crate) format: Option<&'static str>,
    pub(crate) version: Option<String>,
}

impl FileJson {
    /// Describes an input. A file that cannot be opened has no format.
    pub(crate) fn of(input: &Input) -> Self {
        let path = input.path.to_string_lossy().into_owned();
        match input.look() {
            Ok(probe) => Self {
                path,
                format: Some(probe.identity.format.name()),
                version: probe.version.map(|version| version.to_string()),
            },
            Err(_) => Self { path, ..Self::default() },
        }
    }

    /// Like [`of`](Self::of), but does not wait for a pipe.
    pub(crate) fn of_regular_file(path: &Path) -> Self {
        let input = Input::new(path);
        if !input.is_pipe() && path.is_file() {
            return Self::of(&input);
        }
        Self::named(path.to_string_lossy().into_owned())
    }

    /// Describes a written file. Other outputs cannot be examined.
    pub(crate) fn of_output(path: &Path) -> Self {
        if is_replaced(path) { Self::of_regular_file(path) } else { Self::named(path.to_string_lossy().into_owned()) }
    }

    /// Describes a file by its name only.
    pub(crate) fn named(path: String) -> Self {
        Self { path, ..Self::default() }
    }
}

/// A report about one file.
#[derive(Serialize)]
pub(crate) struct Described<T> {
    #[serde(flatten)]
    pub(crate) file: FileJson,
    #[serde(flatten)]
    pub(crate) report: T,
}

/// Returns an error as data, with a hint in the terms of this program.
pub(crate) fn error_json(error: &Error) -> ErrorReport {
    with_cli_hints(ErrorReport::from(error))
}

/// Rephrases the hint of a report in the terms of this program.
pub(crate) fn with_cli_hints(report: ErrorReport) -> ErrorReport {
    report.with_hint_in(|hint| Hint::Text(hint_text(hint)))
}

/// Returns a usage error of the command line parser as data.
pub(crate) fn wrong_use(text: &str) -> ErrorReport {
    let message = text.split("\n\n").next().unwrap_or(text);
    let message = message.strip_prefix("error: ").unwrap_or(message).trim();
    let tip = text.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
    let error = Error::usage(message.to_string());
    ErrorReport::from(&match tip {
        Some(tip) => error.with_hint(tip.to_string()),
        None => error,
    })
}

/// An input and its outcome.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InputJson {
    #[serde(flatten)]
    pub(crate) file: FileJson,
    pub(crate) weight: u64,
    pub(crate) outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) records: Option<u64>,
    pub(crate) error: Option<ErrorReport>,
    pub(crate) warnings: Vec<String>,
}

/// An input that is part of the result.
pub(crate) const USED: &str = "used";
/// An input whose valid records are part of the result.
pub(crate) const SALVAGED: &str = "salvaged";
/// An input without bytes, which is skipped.
pub(crate) const EMPTY: &str = "empty";
/// A file in a directory that is not a profile, which is skipped.
pub(crate) const NOT_A_PROFILE: &str = "not-a-profile";
/// The output, which was found in a directory or a list of inputs, and is skipped.
pub(crate) const OUTPUT: &str = "output";
/// An input that could not be read.
pub(crate) const FAILED: &str = "failed";
/// An input that was not used because the run ended early.
pub(crate) const NOT_USED: &str = "not-used";

impl InputJson {
    /// Creates an input without an outcome.
    pub(crate) fn new(file: FileJson, weight: u64) -> Self {
        Self { file, weight, outcome: NOT_USED, records: None, error: None, warnings: Vec::new() }
    }

    /// Records that an error is about this input.
    pub(crate) fn note_error(&mut self, error: &Error) {
        let is_meant = error.path().is_some_and(|path| path.to_string_lossy() == self.file.path.as_str());
        if is_meant && self.outcome == NOT_USED {
            (self.outcome, self.error) = (FAILED, Some(error_json(error)));
        }
    }
}

/// Entries of a section of an iprof.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SectionEntries {
    pub(crate) section: &'static str,
    pub(crate) entries: u64,
}

/// Data that could not be converted.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LossJson {
    kind: LossKind,
    count: u64,
    message: String,
}

impl From<&Loss> for LossJson {
    fn from(loss: &Loss) -> Self {
        Self { kind: loss.kind, count: loss.count, message: loss.to_string() }
    }
}

impl LossJson {
    /// A loss in words, with the first number in them as its count; one without a number.
    pub(crate) fn of_words(message: &str) -> Self {
        let numbers = message.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
        let count = numbers.map(|digits| digits.parse().unwrap_or(u64::MAX)).next().unwrap_or(1);
        Self { kind: LossKind::Other, count, message: message.to_string() }
    }
}

/// The request, for the document of a run that fails.
#[derive(Debug, Default)]
pub(crate) struct Call {
    /// The command's name.
    pub(crate) command: String,
    /// The given input files.
    pub(crate) inputs: Vec<PathBuf>,
    /// Whether a document was requested.
    pub(crate) json: bool,
}

/// The document of a failed command without a document of its own; see `docs/json-schema/error-1.json`.
#[derive(Serialize)]
struct FailureJson<'a> {
    command: &'a str,
    exit_code: u8,
    error: ErrorReport,
    gates: &'a [GateOutcome],
    inputs: Vec<InputJson>,
}

impl Call {
    /// Prints the document of a failed run, if one was requested and none was printed.
    pub(crate) fn print_failure(&self, error: &Error, exit_code: u8) {
        let gates = match error.kind() {
            ErrorKind::GateFailed { failures } => failures.as_slice(),
            _ => &[],
        };
        let mut inputs: Vec<InputJson> =
            self.inputs.iter().map(|path| InputJson::new(FileJson::of_regular_file(path), 1)).collect();
        inputs.iter_mut().for_each(|input| input.note_error(error));
        self.print(FailureJson { command: &self.command, exit_code, error: error_json(error), gates, inputs });
    }

    /// Prints the document of a usage error.
    pub(crate) fn print_wrong_use(&self, error: ErrorReport, exit_code: u8) {
        self.print(FailureJson { command: &self.command, exit_code, error, gates: &[], inputs: Vec::new() });
    }

    fn print(&self, failure: FailureJson<'_>) {
        if self.json && !IS_PRINTED.load(Ordering::Relaxed) {
            // If the document cannot be printed, standard error already has the message.
            let _ = print("profbridge.error/1", false, &failure);
        }
    }
}
