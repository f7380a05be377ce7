//! Warnings of the library.

use std::fmt;
use std::path::{Path, PathBuf};

/// A value, and the warnings about the files that it was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WithWarnings<T> {
    /// The value.
    pub value: T,
    /// The warnings, in the order of the files; with the files' paths where they are known.
    pub warnings: Vec<Warning>,
}

impl<T> WithWarnings<T> {
    pub(crate) fn new(value: T, warnings: Vec<Warning>) -> Self {
        Self { value, warnings }
    }

    /// Changes the value and keeps the warnings.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> WithWarnings<U> {
        WithWarnings { value: change(self.value), warnings: self.warnings }
    }
}

/// A message about something that does not stop the work.
///
/// Warnings are collected and returned; the program decides whether to print them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// The file of the warning, if there is one.
    pub path: Option<PathBuf>,
    /// The function of the warning, if there is one; bytes as in the file.
    pub function: Option<Vec<u8>>,
    /// Lower case, no full stop.
    pub message: String,
    /// Whether data of an input is missing in the result.
    pub is_loss: bool,
}

impl Warning {
    /// Creates a warning without a file.
    pub fn new(message: impl Into<String>) -> Self {
        Self { path: None, function: None, message: message.into(), is_loss: false }
    }

    /// Creates a warning about data of an input that is missing in the result.
    pub(crate) fn of_loss(message: impl Into<String>) -> Self {
        Self { is_loss: true, ..Self::new(message) }
    }

    /// Creates a warning about concatenated profiles of a format whose readers ignore all but the first.
    pub(crate) fn of_next_profile(offset: u64) -> Self {
        Self::of_loss(format!("another profile follows at {offset:#x} and is ignored; pass it as a file of its own"))
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
