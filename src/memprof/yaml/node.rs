//! What a piece of YAML is.

use super::fault::{Fault, Result};
use crate::error::Error;
use std::borrow::Cow;
use std::ops::Range;

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node<'a> {
    /// What LLVM marks when something is wrong with it: a whole scalar, or the
    /// first byte of what a list or map begins with.
    pub(super) mark: Range<usize>,
    pub(super) content: Content<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// Nothing at all.
    Null,
    Scalar(Cow<'a, [u8]>),
    List(Vec<Node<'a>>),
    Map(Vec<Entry<'a>>),
}

/// A key and its value.
pub(super) type Entry<'a> = (Node<'a>, Node<'a>);

impl<'a> Node<'a> {
    /// Something is wrong with it, which LLVM says in those words.
    pub(super) fn fault(&self, detail: impl Into<String>, words: impl Into<Cow<'static, str>>) -> Box<Fault> {
        Fault::new(self.error(detail), self.mark.clone(), words)
    }

    /// Something is wrong with it that LLVM does not look for.
    pub(super) fn error(&self, detail: impl Into<String>) -> Error {
        Error::malformed(detail).at("yaml", self.mark.start as u64)
    }

    /// What to say of a key that stands in its map already, in our words and in
    /// those of LLVM.
    pub(super) fn repeated(&self) -> (String, String) {
        let name = String::from_utf8_lossy(self.scalar("a key").unwrap_or_default()).into_owned();
        (format!("the key {name:?} is there already"), format!("duplicated mapping key '{name}'"))
    }

    fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Scalar(_) => "a scalar",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// Its items, when it is a list; nothing counts as an empty one.
    pub(super) fn list(&self, what: &str) -> Result<&[Self]> {
        match &self.content {
            Content::Null => Ok(&[]),
            Content::Scalar(text) if [&b"null"[..], b"Null", b"NULL", b"~"].contains(&&**text) => Ok(&[]),
            Content::List(items) => Ok(items),
            _ => Err(self.fault(format!("{what} is {}, not a list", self.kind()), "not a sequence")),
        }
    }

    /// Its entries, when it is a map.
    pub(super) fn map(&self, what: &str) -> Result<&[Entry<'a>]> {
        match &self.content {
            Content::Map(entries) => Ok(entries),
            _ => Err(self.fault(format!("{what} is {}, not a map", self.kind()), "not a mapping")),
        }
    }

    /// Its text, when it is a scalar.
    pub(super) fn scalar(&self, what: &str) -> Result<&[u8]> {
        match &self.content {
            Content::Scalar(text) => Ok(text),
            _ => Err(self.fault(format!("{what} is {}, not a scalar", self.kind()), "unexpected scalar")),
        }
    }

    /// A number of at most `max`: decimal, `0x`, `0b`, `0o`, or octal behind 0.
    pub(super) fn number(&self, what: &str, max: u64) -> Result<u64> {
        self.number_as(what, max, "invalid number")
    }

    /// A number that LLVM says those words of when it is none.
    pub(super) fn number_as(&self, what: &str, max: u64, words: &'static str) -> Result<u64> {
        let text = self.scalar(what).map_err(|fault| fault.and(words))?;
        let (digits, radix) = match text {
            [b'0', b'x' | b'X', rest @ ..] => (rest, 16),
            [b'0', b'b' | b'B', rest @ ..] => (rest, 2),
            [b'0', b'o', rest @ ..] => (rest, 8),
            [b'0', rest @ ..] if !rest.is_empty() => (rest, 8),
            _ => (text, 10),
        };
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'));
        let number = digits.and_then(|digits| u64::from_str_radix(digits, radix).ok());
        number.filter(|number| *number <= max).ok_or_else(|| {
            let words = if number.is_some() { "out of range number" } else { words };
            self.fault(format!("{what} is {:?}, not a number from 0 to {max}", String::from_utf8_lossy(text)), words)
        })
    }

    /// A truth value, in one of YAML's many spellings.
    pub(super) fn boolean(&self, what: &str) -> Result<bool> {
        let text = self.scalar(what).map_err(|fault| fault.and("invalid boolean"))?;
        let is_one_of = |words: [&str; 4]| {
            words.iter().any(|word| {
                let [lower, upper] = [word.to_ascii_lowercase(), word.to_ascii_uppercase()];
                text == word.as_bytes() || text == lower.as_bytes() || text == upper.as_bytes()
            })
        };
        if is_one_of(["True", "Yes", "On", "Y"]) {
            Ok(true)
        } else if is_one_of(["False", "No", "Off", "N"]) {
            Ok(false)
        } else {
            let detail = format!("{what} is {:?}, neither true nor false", String::from_utf8_lossy(text));
            Err(self.fault(detail, "invalid boolean"))
        }
    }
}
