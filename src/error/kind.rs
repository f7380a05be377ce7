//! What can be wrong.

use crate::gates::GateOutcome;
use std::io;

/// What is wrong with an input, an output or a request.
///
/// The names follow the error classes of LLVM's profile library
/// (`instrprof_error` in `InstrProf.h`) where one exists.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused.
    #[error("{action}: {source}")]
    Io {
        /// What was tried, for example `cannot open`.
        action: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The file has no bytes (LLVM: `empty_raw_profile`).
    #[error("the file is empty")]
    EmptyProfile,
    /// The first bytes belong to no known format (LLVM: `unrecognized_format`).
    #[error("not a profile: unrecognized format")]
    UnrecognizedFormat,
    /// The magic number is wrong (LLVM: `bad_magic`).
    #[error("bad magic: {detail}")]
    BadMagic {
        /// Found and expected bytes.
        detail: String,
    },
    /// The header contradicts the file (LLVM: `bad_header`).
    #[error("bad header: {detail}")]
    BadHeader {
        /// Which field, found and expected.
        detail: String,
    },
    /// The version is not one that is known (LLVM: `unsupported_version`).
    #[error("version {found} is not supported: {detail}")]
    UnsupportedVersion {
        /// The version in the file.
        found: u64,
        /// Which versions are known, and what wrote this one.
        detail: String,
    },
    /// A raw version other than the one that llvm-profdata 22 reads, when its
    /// rules apply (LLVM: `raw_profile_version_mismatch`).
    #[error("raw profile version {found}, expected {expected}")]
    RawVersionMismatch {
        /// The version in the file.
        found: u64,
        /// The version that LLVM reads.
        expected: u64,
    },
    /// The hash type is not MD5 (LLVM: `unsupported_hash_type`).
    #[error("unsupported hash type {found}, expected 0 (MD5)")]
    UnsupportedHashType {
        /// The hash type in the file.
        found: u64,
    },
    /// The file ends before a field does (LLVM: `truncated`).
    #[error("truncated: {field} needs {need} bytes, {have} left")]
    Truncated {
        /// The field or section that does not fit.
        field: &'static str,
        /// Bytes needed.
        need: u64,
        /// Bytes left.
        have: u64,
    },
    /// A size in the file is larger than what holds it (LLVM: `too_large`).
    #[error("too large: {field} is {found} bytes, {limit} left")]
    TooLarge {
        /// The field.
        field: &'static str,
        /// What the file says.
        found: u64,
        /// What there is.
        limit: u64,
    },
    /// The content breaks a rule of the format (LLVM: `malformed`).
    #[error("malformed: {detail}")]
    Malformed {
        /// Which rule, found and expected.
        detail: String,
    },
    /// An iprof with errors, of which this is the first.
    #[error("malformed: {code}: {detail}")]
    IprofFinding {
        /// The name of a [`Code`](crate::iprof::Code); see [`Code::of`](crate::iprof::Code::of).
        code: &'static str,
        /// JSON path, what was found and what was expected.
        detail: String,
    },
    /// A compressed section does not decode (LLVM: `uncompress_failed`).
    #[error("cannot decompress: {detail}")]
    UncompressFailed {
        /// Found and expected.
        detail: String,
    },
    /// Text ends where a trace should follow (LLVM: `eof`).
    #[error("unexpected end of file")]
    EndOfFile,
    /// A counter is above 2^56 (LLVM: `counter_value_too_large`).
    #[error("counter value {value} is above 2^56; the counter has probably wrapped")]
    CounterValueTooLarge {
        /// The counter.
        value: u64,
    },
    /// The raw profile holds no names and records; they are in the binary.
    #[error("the profile has no function records of its own: it must be correlated with the binary that wrote it")]
    MissingCorrelation,
    /// The raw profile is complete, yet a binary was given.
    #[error("the profile is complete; correlation with a binary is not necessary")]
    UnexpectedCorrelation,
    /// A file that should be a program or library is none.
    #[error("not an object file: {detail}")]
    NotAnObject {
        /// Why.
        detail: String,
    },
    /// The binary has no section or entries of that sort.
    #[error("unable to correlate profile: could not find {what} in correlated file")]
    NotInBinary {
        /// What was looked for.
        what: &'static str,
    },
    /// The binary does not tell what the raw profile lacks.
    #[error("unable to correlate profile: {detail}")]
    UnableToCorrelate {
        /// What is missing, in which file.
        detail: String,
    },
    /// A raw memory profile holds addresses only; what is at them is in the
    /// program that ran.
    #[error("the profile holds addresses only: the program that ran is needed")]
    MissingProgram {
        /// Build ids of the images that ran, in hexadecimal; the program's is
        /// one of them.
        build_ids: Vec<String>,
    },
    /// The program does not tell what is at the addresses of a memory profile.
    #[error("unable to look up addresses: {detail}")]
    UnableToSymbolize {
        /// What is missing.
        detail: String,
    },
    /// What should be compared has nothing to compare.
    #[error("nothing to compare: {detail}")]
    UnableToCompare {
        /// What is missing.
        detail: String,
    },
    /// Profiles of kinds that cannot be added up.
    #[error("{detail}")]
    KindConflict {
        /// The two kinds.
        detail: String,
    },
    /// A configured limit was reached.
    #[error("{what} is {found}, the limit is {limit}")]
    LimitExceeded {
        /// What is limited.
        what: &'static str,
        /// The amount asked for.
        found: u64,
        /// The limit, see [`Limits`](crate::limits::Limits).
        limit: u64,
    },
    /// Recognised, but this program does not do it.
    #[error("{what} is not supported")]
    Unsupported {
        /// The format or operation.
        what: String,
    },
    /// What was asked cannot be done with these arguments.
    #[error("{detail}")]
    Usage {
        /// Why.
        detail: String,
    },
    /// There is nothing of what was asked for.
    #[error("{detail}")]
    NothingFound {
        /// What there is none of.
        detail: String,
    },
    /// An input failed, of which a partial merge kept no more than the message.
    #[error("{message}")]
    InputFailed {
        /// What was said of it.
        message: String,
    },
    /// Inputs could not be read, and more of them than may be left out.
    #[error("{}", failed_inputs(*failed, *inputs))]
    InputsFailed {
        /// Inputs that could not be read.
        failed: u64,
        /// All inputs.
        inputs: u64,
    },
    /// A result is not as it has to be.
    #[error("{}", failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    GateFailed {
        /// The gates that did not pass.
        failures: Vec<GateOutcome>,
    },
    /// Whoever asked for it does not want it any more.
    #[error("cancelled")]
    Cancelled,
    /// Something would be lost, and losing is forbidden (`--strict`).
    #[error("{detail}")]
    WouldLose {
        /// What cannot cross, by kind and count.
        detail: String,
    },
}

impl ErrorKind {
    /// The class of the error in a word that stays the same, for programs: `truncated`, `io`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Io { .. } => "io",
            Self::EmptyProfile => "empty-profile",
            Self::UnrecognizedFormat => "unrecognized-format",
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
            Self::InputFailed { .. } => "input-failed",
            Self::InputsFailed { .. } => "inputs-failed",
            Self::GateFailed { .. } => "gate-failed",
            Self::Cancelled => "cancelled",
            Self::WouldLose { .. } => "would-lose",
        }
    }

    /// The number that was found, where the error is about one.
    pub fn found(&self) -> Option<u64> {
        match self {
            Self::UnsupportedVersion { found, .. }
            | Self::RawVersionMismatch { found, .. }
            | Self::UnsupportedHashType { found }
            | Self::TooLarge { found, .. }
            | Self::LimitExceeded { found, .. } => Some(*found),
            Self::Truncated { have, .. } => Some(*have),
            Self::CounterValueTooLarge { value } => Some(*value),
            _ => None,
        }
    }

    /// The number that was expected in place of [`found`](Self::found), or the largest allowed.
    pub fn expected(&self) -> Option<u64> {
        match self {
            Self::RawVersionMismatch { expected, .. } => Some(*expected),
            Self::UnsupportedHashType { .. } => Some(0),
            Self::TooLarge { limit, .. } | Self::LimitExceeded { limit, .. } => Some(*limit),
            Self::Truncated { need, .. } => Some(*need),
            Self::CounterValueTooLarge { .. } => Some(1 << 56),
            _ => None,
        }
    }
}

fn failed_inputs(failed: u64, inputs: u64) -> String {
    match (failed, inputs) {
        (1, 1) => "the input cannot be read".to_string(),
        (failed, inputs) if failed == inputs => "no input can be read".to_string(),
        (failed, inputs) => format!("{failed} of {inputs} inputs cannot be read"),
    }
}

/// The operating system's words without Rust's `(os error N)`.
pub fn io_message(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}
