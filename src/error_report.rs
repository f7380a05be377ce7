//! An error as data that can be stored, compared and serialized.

use crate::error::Error;
use crate::hint::Hint;

/// The content of an [`Error`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ErrorReport {
    /// The class of the error, see [`ErrorKind::name`](crate::ErrorKind::name).
    pub kind: String,
    /// The file, if known.
    pub path: Option<String>,
    /// Format and version in words, if known.
    pub format: Option<String>,
    /// The section of the file, if known.
    pub section: Option<String>,
    /// The line of a text format, from 1, if known.
    pub line: Option<u64>,
    /// Bytes from the start of the (inflated) file, if known.
    pub offset: Option<u64>,
    /// The number expected instead of `found`, or the maximum, if the error has one.
    pub expected: Option<u64>,
    /// The number that was found, if the error has one.
    pub found: Option<u64>,
    /// The hint, if there is one.
    pub hint: Option<Hint>,
    /// The message without the hint.
    pub message: String,
}

impl ErrorReport {
    /// Creates a report with only a kind and a message.
    pub(crate) fn of_message(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_string(), message: message.into(), ..Self::default() }
    }

    /// Returns the report with a rephrased hint.
    #[must_use]
    pub fn with_hint_in(mut self, words: impl FnOnce(&Hint) -> Hint) -> Self {
        self.hint = self.hint.as_ref().map(words);
        self
    }
}

impl From<&Error> for ErrorReport {
    fn from(error: &Error) -> Self {
        Self {
            kind: error.kind().name().to_string(),
            path: error.path().map(|path| path.to_string_lossy().into_owned()),
            format: error.format().map(str::to_string),
            section: error.section().map(str::to_string),
            line: error.line(),
            offset: error.offset(),
            expected: error.kind().expected(),
            found: error.kind().found(),
            hint: error.hint().cloned(),
            message: error.to_string(),
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_every_part_of_an_error() {
        let error = Error::truncated("NumData", 8, 3).at("header", 16).in_format("raw v8").in_file("a.profraw");
        let json = serde_json::to_value(ErrorReport::from(&error.with_hint("copy it again"))).unwrap();
        let expected = serde_json::json!({
            "kind": "truncated", "path": "a.profraw", "format": "raw v8", "section": "header", "line": null, "offset": 16,
            "expected": 8, "found": 3, "hint": "copy it again",
            "message": "a.profraw: raw v8, section header, byte 0x10: truncated: NumData needs 8 bytes, 3 left",
        });
        assert_eq!(json, expected);
    }
}
