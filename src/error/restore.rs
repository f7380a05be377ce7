//! Storing errors as data, and restoring them.

use super::{Error, ErrorKind, StoredError, io_message};
use crate::limits::Limits;

impl From<&Error> for StoredError {
    fn from(error: &Error) -> Self {
        let inner = &*error.inner;
        let (detail, system) = match &inner.kind {
            ErrorKind::InputFailed { error } => (error.detail.clone(), error.system),
            ErrorKind::Io { action, source } => (format!("{action}: {}", io_message(source)), source.raw_os_error()),
            kind => (kind.to_string(), None),
        };
        Self {
            kind: inner.kind.name().to_string(),
            detail,
            path: inner.path.clone(),
            format: inner.format.clone(),
            section: inner.section.clone(),
            line: inner.line,
            offset: inner.offset,
            expected: inner.kind.expected(),
            found: inner.kind.found(),
            system,
            limit: error.limit_name().map(str::to_string),
            hint: error.hint().map(ToString::to_string),
        }
    }
}

/// Restores the error, with the same message.
impl From<&StoredError> for Error {
    fn from(stored: &StoredError) -> Self {
        let mut error = Self::new(ErrorKind::InputFailed { error: Box::new(stored.clone()) });
        let inner = &mut *error.inner;
        inner.path.clone_from(&stored.path);
        inner.format.clone_from(&stored.format);
        inner.section.clone_from(&stored.section);
        (inner.line, inner.offset) = (stored.line, stored.offset);
        inner.limit_name = Limits::NAMES.iter().find(|name| stored.limit.as_deref() == Some(**name)).copied();
        inner.hint = stored.hint.clone().map(Into::into);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::path::PathBuf;

    #[test]
    fn a_stored_error_has_the_message_and_the_fields_of_the_error() {
        let missing = Error::io("cannot open", io::Error::from_raw_os_error(2)).in_file("x");
        let limit = Error::above_limit(Some("name-bytes"), "length of a name", 8, 7).at("names", 3).in_file("x");
        let text = Error::malformed("no number").in_format("text").at_line(7).at_offset(9).with_hint("look");
        for error in [missing, limit, text, Error::truncated("NumData", 8, 3)] {
            let again = Error::from(&StoredError::from(&error));
            let fields = |error: &Error| {
                let place = (error.path().map(PathBuf::from), error.format().map(String::from), error.line());
                let numbers = (error.kind().expected(), error.kind().found(), error.offset());
                let words = (error.kind().name().to_string(), error.to_string(), error.hint().map(ToString::to_string));
                (place, numbers, words, error.section().map(String::from), error.limit_name())
            };
            assert_eq!(fields(&again), fields(&error));
            assert_eq!(StoredError::from(&again), StoredError::from(&error));
        }
    }
}
