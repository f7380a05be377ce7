//! The reasons why a run fails, and their messages.

use profbridge::{Error, ErrorKind};
use std::io;

/// The exit code of every failure.
pub(super) const FAILURE: u8 = 1;

/// The reason why a run fails.
pub(super) enum Failure {
    /// Printed as `error: WHENCE: TEXT` and `note: NOTE`.
    Message { whence: Option<Vec<u8>>, text: String, note: Option<String> },
    /// Standard output failed.
    Output(io::Error),
}

impl Failure {
    /// Creates a message without a file.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Message { whence: None, text: text.into(), note: None }
    }

    /// Creates the message for an error of the library, with LLVM's text and the file.
    pub(super) fn of(error: &Error) -> Self {
        let whence = error.path().map(|path| path.as_os_str().as_encoded_bytes().to_vec());
        Self::of_whence(error, whence)
    }

    /// Like [`of`](Self::of), with another text instead of the file name.
    pub(super) fn of_whence(error: &Error, whence: Option<Vec<u8>>) -> Self {
        let unrecognized = matches!(error.kind(), ErrorKind::UnrecognizedFormat);
        let note = unrecognized.then(|| "Perhaps you forgot to use the --sample or --memory option?".to_string());
        Self::Message { whence: whence.filter(|whence| !whence.is_empty()), text: error.llvm_message(), note }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
