//! Errors as data, which a partial merge stores.

use std::io;
use std::path::PathBuf;

/// An error as a partial merge stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredError {
    /// The name of its kind; see [`ErrorKind::name`](crate::ErrorKind::name).
    pub kind: String,
    /// The words of its kind, without the location.
    pub detail: String,
    /// The file.
    pub path: Option<PathBuf>,
    /// Format and version in words.
    pub format: Option<String>,
    /// The section of the file.
    pub section: Option<String>,
    /// The line of a text format.
    pub line: Option<u64>,
    /// The number of bytes from the start of the file.
    pub offset: Option<u64>,
    /// The number that was expected.
    pub expected: Option<u64>,
    /// The number that was found.
    pub found: Option<u64>,
    /// The number of the operating system's error.
    pub system: Option<i32>,
    /// The limit that was exceeded.
    pub limit: Option<String>,
    /// The hint.
    pub hint: Option<String>,
}

impl StoredError {
    /// Creates an error of an unknown kind.
    pub(crate) fn new(detail: impl Into<String>) -> Self {
        Self {
            kind: "input-failed".into(),
            detail: detail.into(),
            path: None,
            format: None,
            section: None,
            line: None,
            offset: None,
            expected: None,
            found: None,
            system: None,
            limit: None,
            hint: None,
        }
    }

    /// Returns the error of the operating system, if it was one.
    pub fn system_error(&self) -> Option<io::Error> {
        self.system.map(io::Error::from_raw_os_error)
    }
}
