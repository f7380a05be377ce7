//! Regular expressions. Without the feature `regex`, every expression is refused.

#[cfg(not(feature = "regex"))]
use crate::error::ErrorKind;
use crate::error::{Error, Result};
#[cfg(feature = "regex")]
pub(crate) use regex::bytes::Regex;

/// Compiles an expression; `shown` is its text in messages.
///
/// # Errors
///
/// Usage for an invalid expression; unsupported without the feature `regex`.
#[cfg(feature = "regex")]
pub(crate) fn compile(expression: &str, shown: &str) -> Result<Regex> {
    Regex::new(expression).map_err(|error| Error::usage(format!("{shown} is not a regular expression: {error}")))
}

#[cfg(not(feature = "regex"))]
pub(crate) fn compile(_expression: &str, shown: &str) -> Result<Regex> {
    let kind = ErrorKind::Unsupported { what: format!("the regular expression {shown}") };
    Err(Error::new(kind).with_hint("enable the feature `regex` of the library"))
}

/// No expression.
#[cfg(not(feature = "regex"))]
#[derive(Debug, Clone)]
pub(crate) enum Regex {}

#[cfg(not(feature = "regex"))]
impl Regex {
    pub(crate) fn is_match(&self, _text: &[u8]) -> bool {
        match *self {}
    }
}
