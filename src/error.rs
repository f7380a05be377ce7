//! One error type for the whole library: a cause, and where it was found.
//!
//! [`ErrorKind`] says what is wrong. [`Error`] adds the place: the path, the
//! format and its version, the section, the byte offset and a hint what to do
//! next. Each layer adds what it knows with [`Error::at`], [`Error::in_format`]
//! and [`Error::in_file`]; what was set first (deepest) stays.

use crate::gates::GateOutcome;
use crate::hint::Hint;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Result of everything that can fail in this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

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

/// A cause and the place where it was found.
///
/// Displays as `path: format vN, section NAME, byte 0xOFFSET: cause`; the hint
/// is not part of the text, see [`Error::hint`].
#[derive(Debug)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    path: Option<PathBuf>,
    format: Option<String>,
    is_of_raw_memory_profile: bool,
    section: Option<String>,
    offset: Option<u64>,
    hint: Option<Hint>,
    llvm_detail: Option<String>,
    llvm_message: Option<String>,
    llvm_diagnostic: Option<String>,
}

impl Error {
    /// An error whose place is not known yet.
    pub fn new(kind: ErrorKind) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                path: None,
                format: None,
                is_of_raw_memory_profile: false,
                section: None,
                offset: None,
                hint: None,
                llvm_detail: None,
                llvm_message: None,
                llvm_diagnostic: None,
            }),
        }
    }

    /// Shorthand for [`ErrorKind::Malformed`].
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed { detail: detail.into() })
    }

    /// Shorthand for [`ErrorKind::BadHeader`].
    pub fn bad_header(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadHeader { detail: detail.into() })
    }

    /// Shorthand for [`ErrorKind::Truncated`].
    pub fn truncated(field: &'static str, need: u64, have: u64) -> Self {
        Self::new(ErrorKind::Truncated { field, need, have })
    }

    /// Shorthand for [`ErrorKind::Io`].
    pub fn io(action: &'static str, source: io::Error) -> Self {
        Self::new(ErrorKind::Io { action, source })
    }

    /// Shorthand for [`ErrorKind::Usage`].
    pub fn usage(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage { detail: detail.into() })
    }

    /// Shorthand for [`ErrorKind::NothingFound`].
    pub fn nothing_found(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::NothingFound { detail: detail.into() })
    }

    /// Shorthand for [`ErrorKind::KindConflict`].
    pub fn kind_conflict(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::KindConflict { detail: detail.into() })
    }

    /// Adds the section and the absolute byte offset, unless known already.
    #[must_use]
    pub fn at(mut self, section: impl Into<String>, offset: u64) -> Self {
        self.inner.section.get_or_insert_with(|| section.into());
        self.inner.offset.get_or_insert(offset);
        self
    }

    /// Adds the section alone, unless known already.
    #[must_use]
    pub fn in_section(mut self, section: impl Into<String>) -> Self {
        self.inner.section.get_or_insert_with(|| section.into());
        self
    }

    /// Adds the format and version in words (`raw v8`), unless known already.
    #[must_use]
    pub fn in_format(mut self, format: impl Into<String>) -> Self {
        self.inner.format.get_or_insert_with(|| format.into());
        self
    }

    /// Says that it is about a raw memory profile, of this version.
    #[must_use]
    pub(crate) fn in_raw_memory_profile(mut self, version: u64) -> Self {
        self.inner.is_of_raw_memory_profile = true;
        self.in_format(format!("memprof raw v{version}"))
    }

    /// Adds the path, unless known already.
    #[must_use]
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        self.inner.path.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }

    /// Adds advice what to do next, unless there is some already.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.inner.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// Adds the detail that llvm-profdata 22 prints after its class text.
    #[must_use]
    pub fn with_llvm_detail(mut self, detail: impl Into<String>) -> Self {
        self.inner.llvm_detail.get_or_insert_with(|| detail.into());
        self
    }

    /// Replaces all that llvm-profdata 22 prints for this error.
    #[must_use]
    pub fn with_llvm_message(mut self, text: impl Into<String>) -> Self {
        self.inner.llvm_message.get_or_insert_with(|| text.into());
        self
    }

    /// Adds the lines that llvm-profdata 22 prints while it reads the input,
    /// before and apart from the message.
    #[must_use]
    pub fn with_llvm_diagnostic(mut self, lines: impl Into<String>) -> Self {
        self.inner.llvm_diagnostic.get_or_insert_with(|| lines.into());
        self
    }

    /// Whether it is about a raw memory profile: llvm-profdata ends a merge at
    /// such a fault, whatever the failure mode.
    pub fn is_of_raw_memory_profile(&self) -> bool {
        let needs_program =
            matches!(self.inner.kind, ErrorKind::MissingProgram { .. } | ErrorKind::UnableToSymbolize { .. });
        needs_program || self.inner.is_of_raw_memory_profile
    }

    /// Names the program in which addresses were looked up.
    #[cfg(feature = "correlate")]
    #[must_use]
    pub(crate) fn within(mut self, program: &Path) -> Self {
        let (ErrorKind::UnableToSymbolize { detail } | ErrorKind::UnableToCorrelate { detail }) = &self.inner.kind
        else {
            return self;
        };
        let detail = format!("{}: {detail}", program.display());
        self.inner.kind = ErrorKind::UnableToSymbolize { detail };
        self
    }

    /// The cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// The file, if known.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// Format and version in words, if known.
    pub fn format(&self) -> Option<&str> {
        self.inner.format.as_deref()
    }

    /// The section of the file, if known.
    pub fn section(&self) -> Option<&str> {
        self.inner.section.as_deref()
    }

    /// The number of the line from 1, for a text that is read line by line.
    pub fn line(&self) -> Option<u64> {
        self.section()?.strip_prefix("line ")?.parse().ok()
    }

    /// Bytes from the start of the file, if known.
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }

    /// What to do about it, if anybody knows.
    pub fn hint(&self) -> Option<&Hint> {
        self.inner.hint.as_ref()
    }

    /// What was added with [`with_llvm_detail`](Self::with_llvm_detail).
    pub fn llvm_detail(&self) -> Option<&str> {
        self.inner.llvm_detail.as_deref()
    }

    /// What was added with [`with_llvm_diagnostic`](Self::with_llvm_diagnostic):
    /// whole lines.
    pub fn llvm_diagnostic(&self) -> Option<&str> {
        self.inner.llvm_diagnostic.as_deref()
    }

    /// The text that llvm-profdata 22 prints for this error, without path.
    ///
    /// Class texts as in `getInstrProfErrString` of LLVM 22; the detail follows
    /// after a colon where LLVM has one.
    pub fn llvm_message(&self) -> String {
        if let Some(text) = &self.inner.llvm_message {
            return text.clone();
        }
        let class: &str = match &self.inner.kind {
            // Windows and Unix alike print the system's own words.
            ErrorKind::Io { source, .. } => return io_message(source),
            ErrorKind::EmptyProfile => "empty raw profile file",
            ErrorKind::UnrecognizedFormat => "unrecognized instrumentation profile encoding format",
            ErrorKind::BadMagic { .. } => "invalid instrumentation profile data (bad magic)",
            ErrorKind::BadHeader { .. } => "invalid instrumentation profile data (file header is corrupt)",
            ErrorKind::UnsupportedVersion { .. } => "unsupported instrumentation profile format version",
            ErrorKind::UnsupportedHashType { .. } => "unsupported instrumentation profile hash type",
            ErrorKind::Truncated { .. } => "truncated profile data",
            ErrorKind::TooLarge { .. } | ErrorKind::LimitExceeded { .. } => "too much profile data",
            ErrorKind::Malformed { .. } => "malformed instrumentation profile data",
            ErrorKind::UncompressFailed { .. } => "failed to uncompress data (zlib)",
            ErrorKind::EndOfFile => "end of File",
            ErrorKind::RawVersionMismatch { found, expected } => {
                return format!(
                    "raw profile version mismatch: Profile uses raw profile format version = {found}; \
                     expected version = {expected}\nPLEASE update this tool to version in the raw profile, \
                     or regenerate raw profile with expected version."
                );
            }
            ErrorKind::CounterValueTooLarge { value } => {
                return format!("excessively large counter value suggests corrupted profile data: {value}");
            }
            ErrorKind::MissingCorrelation => "debug info/binary for correlation is required",
            ErrorKind::UnexpectedCorrelation => "debug info/binary for correlation is not necessary",
            ErrorKind::KindConflict { .. } => "Merge IR generated profile with Clang generated profile.",
            ErrorKind::MissingProgram { build_ids } => {
                let text = "Path to profiled binary is empty, expected binary with one of the following build ids:";
                let ids: String = build_ids.iter().map(|id| format!("\n BuildId: {id}")).collect();
                return format!("\n{text}\n{ids}");
            }
            ErrorKind::InputsFailed { .. } => return "no profile can be merged".to_string(),
            ErrorKind::UnableToCompare { detail } => return detail.clone(),
            ErrorKind::UnableToSymbolize { detail } => return detail.clone(),
            ErrorKind::NotAnObject { .. } => "The file was not recognized as a valid object file",
            ErrorKind::UnableToCorrelate { detail } => return format!("unable to correlate profile: {detail}"),
            ErrorKind::NotInBinary { .. } => return self.inner.kind.to_string(),
            other => return other.to_string(),
        };
        match &self.inner.llvm_detail {
            Some(detail) => format!("{class}: {detail}"),
            None => class.to_string(),
        }
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.inner;
        if let Some(path) = &inner.path {
            write!(f, "{}: ", path.display())?;
        }
        let mut place = Vec::new();
        place.extend(inner.format.clone());
        place.extend(inner.section.as_ref().map(|s| format!("section {s}")));
        place.extend(inner.offset.map(|o| format!("byte {o:#x}")));
        if !place.is_empty() {
            write!(f, "{}: ", place.join(", "))?;
        }
        match &inner.kind {
            ErrorKind::Io { action, source } => write!(f, "{action}: {}", io_message(source)),
            kind => write!(f, "{kind}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.inner.kind {
            ErrorKind::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

/// Something worth saying that does not stop the work.
///
/// Collected and returned; the program decides whether to print it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The file it is about, if one.
    pub path: Option<PathBuf>,
    /// The function it is about, if one; bytes as in the file.
    pub function: Option<Vec<u8>>,
    /// Lower case, no full stop.
    pub message: String,
}

impl Warning {
    /// A warning that belongs to no file yet.
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: None, function: None, message: message.into() }
    }

    /// Adds the file.
    #[must_use]
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        self.path.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }

    /// Adds the function.
    #[must_use]
    pub fn in_function(mut self, name: impl Into<Vec<u8>>) -> Self {
        self.function.get_or_insert_with(|| name.into());
        self
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(function) = &self.function {
            write!(f, "{}: ", function.escape_ascii())?;
        }
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_where_and_the_deepest_place_wins() {
        let error =
            Error::truncated("NumData", 8, 3).at("header", 0x10).at("file", 0).in_format("raw v8").in_file("a.profraw");
        assert_eq!(
            error.to_string(),
            "a.profraw: raw v8, section header, byte 0x10: truncated: NumData needs 8 bytes, 3 left"
        );
        assert_eq!(error.llvm_message(), "truncated profile data");
    }

    #[test]
    fn llvm_texts_carry_their_detail() {
        let error = Error::malformed("record 3 has no counters").with_llvm_detail("number of counters is zero");
        assert_eq!(error.llvm_message(), "malformed instrumentation profile data: number of counters is zero");
    }

    #[test]
    fn system_errors_print_the_systems_words() {
        let error = Error::io("cannot open", io::Error::from_raw_os_error(2)).in_file("x");
        assert_eq!(error.llvm_message(), "No such file or directory");
        assert_eq!(error.to_string(), "x: cannot open: No such file or directory");
    }
}
