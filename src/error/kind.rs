//! The causes of errors.

use super::StoredError;
use crate::gates::GateOutcome;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The fault of an input, an output or a request.
///
/// The names follow the error classes of LLVM's profile library (`instrprof_error` in `InstrProf.h`) where one exists.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system reported an error.
    Io {
        /// The failed action, for example `cannot open`.
        action: &'static str,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The file has no bytes (LLVM: `empty_raw_profile`).
    EmptyProfile,
    /// The first bytes belong to no known format (LLVM: `unrecognized_format`).
    UnrecognizedFormat,
    /// A file of a known format that is not a profile.
    NotAProfile {
        /// The format.
        what: &'static str,
    },
    /// The magic number is wrong (LLVM: `bad_magic`).
    BadMagic {
        /// Found and expected bytes.
        detail: String,
    },
    /// The header contradicts the file (LLVM: `bad_header`).
    BadHeader {
        /// The field, with the found and the expected value.
        detail: String,
    },
    /// The version is unknown (LLVM: `unsupported_version`).
    UnsupportedVersion {
        /// The version in the file.
        found: u64,
        /// The known versions, and the producer of this one.
        detail: String,
    },
    /// A raw version that llvm-profdata 22 does not read, in llvm-profdata mode (LLVM: `raw_profile_version_mismatch`).
    RawVersionMismatch {
        /// The version in the file.
        found: u64,
        /// The version that LLVM reads.
        expected: u64,
    },
    /// The hash type is not MD5 (LLVM: `unsupported_hash_type`).
    UnsupportedHashType {
        /// The hash type in the file.
        found: u64,
    },
    /// The file ends inside a field (LLVM: `truncated`).
    Truncated {
        /// The field or section that does not fit.
        field: &'static str,
        /// Bytes needed.
        need: u64,
        /// Bytes left.
        have: u64,
    },
    /// A size in the file exceeds the available space (LLVM: `too_large`).
    TooLarge {
        /// The field.
        field: &'static str,
        /// The size in the file.
        found: u64,
        /// The available space.
        limit: u64,
    },
    /// The content breaks a rule of the format (LLVM: `malformed`).
    Malformed {
        /// The rule, with the found and the expected value.
        detail: String,
    },
    /// An iprof with errors. This is the first one.
    IprofFinding {
        /// The name of a [`Code`](crate::iprof::Code); see [`Code::of`](crate::iprof::Code::of).
        code: &'static str,
        /// JSON path, and the found and the expected value.
        detail: String,
    },
    /// A compressed section cannot be decompressed (LLVM: `uncompress_failed`).
    UncompressFailed {
        /// Found and expected.
        detail: String,
    },
    /// Text ends where a trace should follow (LLVM: `eof`).
    EndOfFile,
    /// A counter is above 2^56 (LLVM: `counter_value_too_large`).
    CounterValueTooLarge {
        /// The counter.
        value: u64,
    },
    /// The raw profile contains no names and records; they are in the binary.
    MissingCorrelation,
    /// The raw profile is complete, but a binary was given.
    UnexpectedCorrelation,
    /// A file that should be a program or a library is not one.
    NotAnObject {
        /// The reason.
        detail: String,
    },
    /// The binary has no such section or entries.
    NotInBinary {
        /// The missing section or entries.
        what: &'static str,
    },
    /// The binary does not contain the data that the raw profile lacks.
    UnableToCorrelate {
        /// The missing data and the file.
        detail: String,
    },
    /// A raw memory profile contains only addresses, which the program that ran can resolve.
    MissingProgram {
        /// Build ids of the images that ran, in hexadecimal. That of the program is one of them.
        build_ids: Vec<String>,
    },
    /// The program does not contain symbols for the addresses of a memory profile.
    UnableToSymbolize {
        /// The missing data.
        detail: String,
    },
    /// A profile contains nothing to compare.
    UnableToCompare {
        /// The missing data.
        detail: String,
    },
    /// The kinds of profiles cannot be merged.
    KindConflict {
        /// The two kinds.
        detail: String,
    },
    /// A limit was exceeded.
    LimitExceeded {
        /// The name of the limit for [`Limits::set`](crate::Limits::set); `None` if the limit is fixed.
        name: Option<&'static str>,
        /// The name of the limited quantity.
        what: &'static str,
        /// The amount found.
        found: u64,
        /// The limit, see [`Limits`](crate::limits::Limits).
        limit: u64,
    },
    /// Known, but not supported by this program.
    Unsupported {
        /// The format or operation.
        what: String,
    },
    /// The request is invalid.
    Usage {
        /// The reason.
        detail: String,
    },
    /// The requested data does not exist.
    NothingFound {
        /// The missing data.
        detail: String,
    },
    /// An input of a partial merge failed, earlier.
    InputFailed {
        /// The error as the partial merge stores it.
        error: Box<StoredError>,
    },
    /// More inputs could not be read than allowed.
    InputsFailed {
        /// The number of inputs that could not be read.
        failed: u64,
        /// The number of all inputs.
        inputs: u64,
    },
    /// A result does not reach its thresholds.
    GateFailed {
        /// The thresholds that failed.
        failures: Vec<GateOutcome>,
    },
    /// The caller cancelled the run.
    Cancelled,
    /// Data would be dropped although this is forbidden (`--strict`).
    WouldLose {
        /// The data that cannot be stored, by kind and count.
        detail: String,
    },
}

impl ErrorKind {
    /// Returns the stable name of the error class for programs: `truncated`, `io`.
    pub fn name(&self) -> &str {
        match self {
            Self::Io { .. } => "io",
            Self::EmptyProfile => "empty-profile",
            Self::UnrecognizedFormat => "unrecognized-format",
            Self::NotAProfile { .. } => "not-a-profile",
            Self::BadMagic { .. } => "bad-magic",
            Self::BadHeader { .. } => "bad-header",
            Self::UnsupportedVersion { .. } => "unsupported-version",
            Self::RawVersionMismatch { .. } => "raw-version-mismatch",
            Self::UnsupportedHashType { .. } => "unsupported-hash-type",
            Self::Truncated { .. } => "truncated",
            Self::TooLarge { .. } => "too-large",
            Self::Malformed { .. } => "malformed",
            Self::IprofFinding { .. } => "iprof-finding",
            Self::UncompressFailed { .. } => "uncompress-failed",
            Self::EndOfFile => "end-of-file",
            Self::CounterValueTooLarge { .. } => "counter-value-too-large",
            Self::MissingCorrelation => "missing-correlation",
            Self::UnexpectedCorrelation => "unexpected-correlation",
            Self::NotAnObject { .. } => "not-an-object",
            Self::NotInBinary { .. } => "not-in-binary",
            Self::UnableToCorrelate { .. } => "unable-to-correlate",
            Self::MissingProgram { .. } => "missing-program",
            Self::UnableToSymbolize { .. } => "unable-to-symbolize",
            Self::UnableToCompare { .. } => "unable-to-compare",
            Self::KindConflict { .. } => "kind-conflict",
            Self::LimitExceeded { .. } => "limit-exceeded",
            Self::Unsupported { .. } => "unsupported",
            Self::Usage { .. } => "usage",
            Self::NothingFound { .. } => "nothing-found",
            Self::InputFailed { error } => &error.kind,
            Self::InputsFailed { .. } => "inputs-failed",
            Self::GateFailed { .. } => "gate-failed",
            Self::Cancelled => "cancelled",
            Self::WouldLose { .. } => "would-lose",
        }
    }

    /// Returns the number that was found, if the error has one.
    pub fn found(&self) -> Option<u64> {
        match self {
            Self::UnsupportedVersion { found, .. }
            | Self::RawVersionMismatch { found, .. }
            | Self::UnsupportedHashType { found }
            | Self::TooLarge { found, .. }
            | Self::LimitExceeded { found, .. } => Some(*found),
            Self::Truncated { have, .. } => Some(*have),
            Self::CounterValueTooLarge { value } => Some(*value),
            Self::InputFailed { error } => error.found,
            _ => None,
        }
    }

    /// Returns the number that was expected instead of [`found`](Self::found), or the maximum.
    pub fn expected(&self) -> Option<u64> {
        match self {
            Self::RawVersionMismatch { expected, .. } => Some(*expected),
            Self::UnsupportedHashType { .. } => Some(0),
            Self::TooLarge { limit, .. } | Self::LimitExceeded { limit, .. } => Some(*limit),
            Self::Truncated { need, .. } => Some(*need),
            Self::CounterValueTooLarge { .. } => Some(1 << 56),
            Self::InputFailed { error } => error.expected,
            _ => None,
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { action, source } => write!(f, "{action}: {source}"),
            Self::EmptyProfile => f.write_str("the file is empty"),
            Self::UnrecognizedFormat => f.write_str("not a profile: unrecognized format"),
            Self::NotAProfile { what } => write!(f, "not a profile: {what}"),
            Self::BadMagic { detail } => write!(f, "bad magic: {detail}"),
            Self::BadHeader { detail } => write!(f, "bad header: {detail}"),
            Self::UnsupportedVersion { found, detail } => write!(f, "version {found} is not supported: {detail}"),
            Self::RawVersionMismatch { found, expected } => {
                write!(f, "raw profile version {found}, expected {expected}")
            }
            Self::UnsupportedHashType { found } => write!(f, "unsupported hash type {found}, expected 0 (MD5)"),
            Self::Truncated { field, need, have } => write!(f, "truncated: {field} needs {need} bytes, {have} left"),
            Self::TooLarge { field, found, limit } => write!(f, "too large: {field} is {found} bytes, {limit} left"),
            Self::Malformed { detail } => write!(f, "malformed: {detail}"),
            Self::IprofFinding { code, detail } => write!(f, "malformed: {code}: {detail}"),
            Self::UncompressFailed { detail } => write!(f, "cannot decompress: {detail}"),
            Self::EndOfFile => f.write_str("unexpected end of file"),
            Self::CounterValueTooLarge { value } => {
                write!(f, "counter value {value} is above 2^56; the counter has probably wrapped")
            }
            Self::MissingCorrelation => f.write_str(
                "the profile has no function records of its own: it must be correlated with the binary that wrote it",
            ),
            Self::UnexpectedCorrelation => {
                f.write_str("the profile is complete; correlation with a binary is not necessary")
            }
            Self::NotAnObject { detail } => write!(f, "not an object file: {detail}"),
            Self::NotInBinary { what } => {
                write!(f, "unable to correlate profile: could not find {what} in correlated file")
            }
            Self::UnableToCorrelate { detail } => write!(f, "unable to correlate profile: {detail}"),
            Self::MissingProgram { .. } => {
                f.write_str("the profile contains only addresses; the program that wrote it is required")
            }
            Self::UnableToSymbolize { detail } => write!(f, "unable to look up addresses: {detail}"),
            Self::UnableToCompare { detail } => write!(f, "cannot compare: {detail}"),
            Self::KindConflict { detail } => f.write_str(detail),
            Self::LimitExceeded { what, found, limit, .. } => write!(f, "{what} is {found}, the limit is {limit}"),
            Self::Unsupported { what } => write!(f, "{what} is not supported"),
            Self::Usage { detail } => f.write_str(detail),
            Self::NothingFound { detail } => f.write_str(detail),
            Self::InputFailed { error } => f.write_str(&error.detail),
            Self::InputsFailed { failed, inputs, .. } => f.write_str(&failed_inputs(*failed, *inputs)),
            Self::GateFailed { failures } => {
                f.write_str(&failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            }
            Self::Cancelled => f.write_str("cancelled"),
            Self::WouldLose { detail } => f.write_str(detail),
        }
    }
}

impl std::error::Error for ErrorKind {}

fn failed_inputs(failed: u64, inputs: u64) -> String {
    match (failed, inputs) {
        (1, 1) => "the input cannot be read".to_string(),
        (failed, inputs) if failed == inputs => "no input can be read".to_string(),
        (failed, inputs) => format!("{failed} of {inputs} inputs cannot be read"),
    }
}

/// Returns the operating system's message without Rust's `(os error N)`.
pub fn io_message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}
