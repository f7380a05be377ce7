//! Regular expressions, which the feature `regex` compiles in.

use crate::error::Error;
#[cfg(not(feature = "regex"))]
use crate::error::ErrorKind;

/// A compiled regular expression. It is searched anywhere in the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Regex {
    #[cfg(feature = "regex")]
    compiled: regex::bytes::Regex,
    /// Without the feature there are no values of this type.
    #[cfg(not(feature = "regex"))]
    compiled: std::convert::Infallible,
}

impl Regex {
    /// Compiles an expression for text. `fault` makes the error for an invalid one.
    ///
    /// # Errors
    ///
    /// That of `fault`; unsupported without the feature `regex`.
    pub(crate) fn new(syntax: &str, fault: impl FnOnce(String) -> Error) -> Result<Self, Error> {
        #[cfg(feature = "regex")]
        return match regex::bytes::Regex::new(syntax) {
            Ok(compiled) => Ok(Self { compiled }),
            Err(error) => Err(fault(error.to_string())),
        };
        #[cfg(not(feature = "regex"))]
        return Err(missing(syntax, fault));
    }

    /// Compiles an expression for bytes, whose dot matches newlines as well.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub(crate) fn for_bytes(syntax: &str, fault: impl FnOnce(String) -> Error) -> Result<Self, Error> {
        #[cfg(feature = "regex")]
        return match regex::bytes::RegexBuilder::new(syntax).unicode(false).dot_matches_new_line(true).build() {
            Ok(compiled) => Ok(Self { compiled }),
            Err(error) => Err(fault(error.to_string())),
        };
        #[cfg(not(feature = "regex"))]
        return Err(missing(syntax, fault));
    }

    /// Returns true if any part of the bytes matches.
    pub(crate) fn is_match(&self, bytes: &[u8]) -> bool {
        #[cfg(feature = "regex")]
        return self.compiled.is_match(bytes);
        #[cfg(not(feature = "regex"))]
        match (self.compiled, bytes) {}
    }
}

#[cfg(not(feature = "regex"))]
fn missing(_syntax: &str, _fault: impl FnOnce(String) -> Error) -> Error {
    let what = "a regular expression without the feature `regex`".to_string();
    Error::new(ErrorKind::Unsupported { what })
}
