//! A command line that was understood, and the program that it was given to.

use super::options::Command;
use super::values::{boolean, unsigned};
use profbridge::instr::Release;
use profbridge::system::os_string;
use std::ffi::OsString;

/// What is known of the program itself.
pub(super) struct Program {
    /// As it was called, for "Try:" lines.
    pub(super) path: Vec<u8>,
    /// Its base name, for all other lines.
    pub(super) name: Vec<u8>,
    /// The release that it stands for.
    pub(super) release: Release,
}

/// A command line that was understood.
pub(super) struct Parsed {
    pub(super) command: &'static Command,
    pub(super) positionals: Vec<OsString>,
    /// Options and their values, in the order in which they were given.
    pub(super) values: Vec<(&'static str, Vec<u8>)>,
}

impl Parsed {
    /// The last value of an option.
    pub(super) fn value(&self, name: &str) -> Option<&[u8]> {
        self.values.iter().rev().find(|(given, _)| *given == name).map(|(_, value)| value.as_slice())
    }

    /// All values of an option in order.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.values.iter().filter(move |(given, _)| *given == name).map(|(_, value)| value.as_slice())
    }

    /// Whether a switch is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| boolean(value) == Some(true))
    }

    /// The last value of a whole number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.value(name).and_then(unsigned)
    }

    /// The last value as a path or other system text.
    pub(super) fn os_text(&self, name: &str) -> Option<OsString> {
        self.value(name).map(os_string)
    }

    /// Which of these bare flags was given last.
    pub(super) fn last_of(&self, names: &[&'static str]) -> Option<&'static str> {
        self.values.iter().rev().find(|(given, _)| names.contains(given)).map(|(given, _)| *given)
    }
}
