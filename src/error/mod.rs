//! The error type of the whole library: a cause and a location.
//!
//! [`ErrorKind`] is the cause. [`Error`] adds the location: the path, the format and its version, the section, the byte
//! offset and a hint. Each layer adds what it knows with [`Error::at`], `Error::in_format` and [`Error::in_file`];
//! the value set first (by the deepest layer) is kept.

mod kind;
mod llvm_text;
mod restore;
mod stored;
mod verdict;
mod warning;

pub use kind::{ErrorKind, io_message};
pub use stored::StoredError;
pub use verdict::{Level, Verdict};
pub use warning::{Warning, WithWarnings};

use crate::hint::Hint;
use llvm_text::{ClassText, class_text};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of all fallible functions of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A cause and its location.
///
/// Displays as `path: format vN, section NAME, byte 0xOFFSET: cause`. The hint is not part of the text, see
/// [`Error::hint`].
#[derive(Debug, Clone)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    cause: Option<Error>,
    path: Option<PathBuf>,
    format: Option<String>,
    is_of_raw_memory_profile: bool,
    section: Option<String>,
    line: Option<u64>,
    offset: Option<u64>,
    hint: Option<Hint>,
    /// The limit to raise, if another kind than `LimitExceeded` depends on one.
    limit_name: Option<&'static str>,
    llvm_detail: Option<String>,
    llvm_message: Option<String>,
    llvm_diagnostic: Option<String>,
}

impl Error {
    /// Creates an error without a location.
    pub fn new(kind: ErrorKind) -> Self {
        Self {
            inner: Box::new(Inner {
                kind,
                cause: None,
                path: None,
                format: None,
                is_of_raw_memory_profile: false,
                section: None,
                line: None,
                offset: None,
                hint: None,
                limit_name: None,
                llvm_detail: None,
                llvm_message: None,
                llvm_diagnostic: None,
            }),
        }
    }

    /// Creates an [`ErrorKind::Malformed`].
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed { detail: detail.into() })
    }

    /// Creates an [`ErrorKind::BadHeader`].
    pub(crate) fn bad_header(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::BadHeader { detail: detail.into() })
    }

    /// Creates an [`ErrorKind::Truncated`].
    pub fn truncated(field: &'static str, need: u64, have: u64) -> Self {
        Self::new(ErrorKind::Truncated { field, need, have })
    }

    /// Creates an [`ErrorKind::Io`].
    pub fn io(action: &'static str, source: io::Error) -> Self {
        // A stream of an input fails with it.
        let inner = source.get_ref().and_then(|inner| inner.downcast_ref::<Self>());
        if inner.is_some_and(|inner| matches!(inner.kind(), ErrorKind::Cancelled)) {
            return ErrorKind::Cancelled.into();
        }
        Self::new(ErrorKind::Io { action, source: Arc::new(source) })
    }

    /// Creates an [`ErrorKind::LimitExceeded`], with a hint if the limit has a name.
    pub(crate) fn above_limit(name: Option<&'static str>, what: &'static str, found: u64, limit: u64) -> Self {
        let error = Self::new(ErrorKind::LimitExceeded { name, what, found, limit });
        match name {
            Some(name) => error.with_hint(Hint::RaiseLimit { name }),
            None => error,
        }
    }

    /// Creates an [`ErrorKind::Usage`].
    pub fn usage(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage { detail: detail.into() })
    }

    /// Creates an [`ErrorKind::NothingFound`].
    pub fn nothing_found(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::NothingFound { detail: detail.into() })
    }

    /// Creates an [`ErrorKind::KindConflict`].
    pub(crate) fn kind_conflict(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::KindConflict { detail: detail.into() })
    }

    /// Returns true if the kind of an input conflicts with that of other inputs.
    pub fn is_kind_conflict(&self) -> bool {
        matches!(self.inner.kind, ErrorKind::KindConflict { .. })
    }

    /// Adds the section and the absolute byte offset, unless already set.
    #[must_use]
    pub fn at(mut self, section: impl Into<String>, offset: u64) -> Self {
        self.inner.section.get_or_insert_with(|| section.into());
        self.inner.offset.get_or_insert(offset);
        self
    }

    /// Adds the line of a text format, from 1, unless already set.
    #[must_use]
    pub(crate) fn at_line(mut self, line: u64) -> Self {
        self.inner.line.get_or_insert(line);
        self
    }

    /// Adds the absolute byte offset only, unless already set.
    #[must_use]
    pub(crate) fn at_offset(mut self, offset: u64) -> Self {
        self.inner.offset.get_or_insert(offset);
        self
    }

    /// Adds the section only, unless already set.
    #[must_use]
    pub(crate) fn in_section(mut self, section: impl Into<String>) -> Self {
        self.inner.section.get_or_insert_with(|| section.into());
        self
    }

    /// Adds the format and version in words (`raw v8`), unless already set.
    #[must_use]
    pub(crate) fn in_format(mut self, format: impl Into<String>) -> Self {
        self.inner.format.get_or_insert_with(|| format.into());
        self
    }

    /// Marks the error as one of a raw memory profile, and adds its version.
    #[must_use]
    pub(crate) fn in_raw_memory_profile(mut self, version: u64) -> Self {
        self.inner.is_of_raw_memory_profile = true;
        self.in_format(format!("memprof raw v{version}"))
    }

    /// Adds the path, unless already set.
    #[must_use]
    pub fn in_file(mut self, path: impl AsRef<Path>) -> Self {
        self.inner.path.get_or_insert_with(|| path.as_ref().to_path_buf());
        self
    }

    /// Adds a hint, unless already set.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Hint>) -> Self {
        self.inner.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// Adds the error that is the cause of this one, its source.
    #[must_use]
    pub(crate) fn caused_by(mut self, cause: Error) -> Self {
        self.inner.cause = Some(cause);
        self
    }

    /// Names the limit to raise, with a hint.
    #[must_use]
    pub(crate) fn above_named_limit(mut self, name: &'static str) -> Self {
        self.inner.limit_name = Some(name);
        self.with_hint(format!("raise the limit {name}"))
    }

    /// Adds the detail that llvm-profdata 22 prints after its class text.
    #[must_use]
    pub(crate) fn with_llvm_detail(mut self, detail: impl Into<String>) -> Self {
        self.inner.llvm_detail.get_or_insert_with(|| detail.into());
        self
    }

    /// Replaces the whole message that llvm-profdata 22 prints for this error.
    #[must_use]
    pub(crate) fn with_llvm_message(mut self, text: impl Into<String>) -> Self {
        self.inner.llvm_message.get_or_insert_with(|| text.into());
        self
    }

    /// Adds the lines that llvm-profdata 22 prints while it reads the input, before and separately from the message.
    #[must_use]
    pub(crate) fn with_llvm_diagnostic(mut self, lines: impl Into<String>) -> Self {
        self.inner.llvm_diagnostic.get_or_insert_with(|| lines.into());
        self
    }

    /// Returns true for errors of a raw memory profile: llvm-profdata ends a merge at such a fault, whatever the
    /// failure mode.
    pub fn is_of_raw_memory_profile(&self) -> bool {
        let needs_program =
            matches!(self.inner.kind, ErrorKind::MissingProgram { .. } | ErrorKind::UnableToSymbolize { .. });
        needs_program || self.inner.is_of_raw_memory_profile
    }

    /// Adds the program in which addresses were looked up.
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

    /// Returns the cause.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// Returns the file, if known.
    pub fn path(&self) -> Option<&Path> {
        self.inner.path.as_deref()
    }

    /// Returns format and version in words, if known.
    pub fn format(&self) -> Option<&str> {
        self.inner.format.as_deref()
    }

    /// Returns the section of the file, if known.
    pub fn section(&self) -> Option<&str> {
        self.inner.section.as_deref()
    }

    /// Returns the section, or the line of a text; `$` is the whole file.
    pub(crate) fn place(&self) -> String {
        let line = self.inner.line.map(|line| format!("line {line}"));
        self.inner.section.clone().or(line).unwrap_or_else(|| "$".to_string())
    }

    /// Returns the line of a text format, from 1, if known.
    pub fn line(&self) -> Option<u64> {
        self.inner.line
    }

    /// Returns the number of bytes from the start of the file, if known.
    pub fn offset(&self) -> Option<u64> {
        self.inner.offset
    }

    /// Returns the name of the limit that was exceeded, for [`Limits::set`](crate::Limits::set), if it can be raised.
    pub fn limit_name(&self) -> Option<&'static str> {
        match self.inner.kind {
            ErrorKind::LimitExceeded { name, .. } => name,
            _ => self.inner.limit_name,
        }
    }

    /// Returns the hint, if there is one.
    pub fn hint(&self) -> Option<&Hint> {
        self.inner.hint.as_ref()
    }

    /// Returns the detail added with [`with_llvm_detail`](Self::with_llvm_detail).
    pub(crate) fn llvm_detail(&self) -> Option<&str> {
        self.inner.llvm_detail.as_deref()
    }

    /// Returns the lines added with `with_llvm_diagnostic`.
    pub fn llvm_diagnostic(&self) -> Option<&str> {
        self.inner.llvm_diagnostic.as_deref()
    }

    /// Returns the message that llvm-profdata 22 prints for this error, without path.
    ///
    /// The messages of the classes are those of `getInstrProfErrString` in LLVM 22. The detail follows after a colon if
    /// LLVM has one.
    pub fn llvm_message(&self) -> String {
        if let Some(text) = &self.inner.llvm_message {
            return text.clone();
        }
        let class = match class_text(&self.inner.kind) {
            ClassText::Class(class) => class,
            ClassText::Whole(text) => return text,
        };
        match &self.inner.llvm_detail {
            Some(detail) => format!("{class}: {detail}"),
            None => class.to_string(),
        }
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
        place.extend(inner.line.map(|line| format!("line {line}")));
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
            ErrorKind::Io { source, .. } => Some(&**source),
            _ => self.inner.cause.as_ref().map(|cause| cause as _),
        }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

/// The action is unknown: `cannot read or write`.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::io("cannot read or write", error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_the_innermost_location() {
        let error =
            Error::truncated("NumData", 8, 3).at("header", 0x10).at("file", 0).in_format("raw v8").in_file("a.profraw");
        assert_eq!(
            error.to_string(),
            "a.profraw: raw v8, section header, byte 0x10: truncated: NumData needs 8 bytes, 3 left"
        );
        assert_eq!(error.llvm_message(), "truncated profile data");
    }

    #[test]
    fn an_exceeded_limit_names_itself_and_its_hint() {
        let error = Error::above_limit(Some("name-bytes"), "length of a name", 8, 7);
        assert_eq!(error.limit_name(), Some("name-bytes"));
        assert_eq!(error.hint().map(ToString::to_string).as_deref(), Some("raise the limit name-bytes"));
        let fixed = Error::above_limit(None, "nesting", 8, 7);
        assert_eq!((fixed.limit_name(), fixed.hint()), (None, None));
    }

    #[test]
    fn errors_of_the_system_convert_and_keep_their_source() {
        fn fails() -> Result<()> {
            Err(io::Error::other("out of paper"))?
        }
        let error = fails().unwrap_err().clone();
        assert_eq!(error.to_string(), "cannot read or write: out of paper");
        let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.map(ToString::to_string).as_deref(), Some("out of paper"));
    }

    #[test]
    fn llvm_texts_carry_their_detail() {
        let error = Error::malformed("record 3 has no counters").with_llvm_detail("number of counters is zero");
        assert_eq!(error.llvm_message(), "malformed instrumentation profile data: number of counters is zero");
    }

    /// The messages of Windows depend on its language.
    #[cfg(unix)]
    #[test]
    fn system_errors_print_the_systems_words() {
        let error = Error::io("cannot open", io::Error::from_raw_os_error(2)).in_file("x");
        assert_eq!(error.llvm_message(), "No such file or directory");
        assert_eq!(error.to_string(), "x: cannot open: No such file or directory");
    }
}
