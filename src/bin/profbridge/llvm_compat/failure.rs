//! Why a run ends without success, and what is said then.

use profbridge::{Error, ErrorKind};
use std::io;

/// Exit status of every failure.
pub(super) const FAILURE: u8 = 1;

/// Why a run ends without success.
pub(super) enum Failure {
    /// Said as `error: WHENCE: TEXT` and `note: NOTE`.
    Message { whence: Option<Vec<u8>>, text: String, note: Option<String> },
    /// Standard output failed.
    Output(io::Error),
}

impl Failure {
    /// A message about no file.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Message { whence: None, text: text.into(), note: None }
    }

    /// An error of the library, in LLVM's words, with the file it is about.
    pub(super) fn of(error: &Error) -> Self {
        let whence = error.path().map(|path| path.as_os_str().as_encoded_bytes().to_vec());
        Self::of_whence(error, whence)
    }

    /// As [`of`](Self::of), with other words in the file's place.
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
