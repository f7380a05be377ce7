//! A parsed command line and the called program.

use super::options::Command;
use super::values::{boolean, signed, unsigned};
use profbridge::instr::Release;
use profbridge::system::os_string;
use std::ffi::OsString;

/// The called program.
pub(super) struct Program {
    /// The path as called, for "Try:" lines.
    pub(super) path: Vec<u8>,
    /// The base name, for all other lines.
    pub(super) name: Vec<u8>,
    /// The release that it imitates.
    pub(super) release: Release,
}

/// A parsed command line.
pub(super) struct Parsed {
    pub(super) command: &'static Command,
    pub(super) positionals: Vec<OsString>,
    /// Options and their values, in the given order.
    pub(super) values: Vec<(&'static str, Vec<u8>)>,
}

impl Parsed {
    /// Returns the last value of an option.
    pub(super) fn value(&self, name: &str) -> Option<&[u8]> {
        self.values.iter().rev().find(|(given, _)| *given == name).map(|(_, value)| value.as_slice())
    }

    /// Returns all values of an option in order.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.values.iter().filter(move |(given, _)| *given == name).map(|(_, value)| value.as_slice())
    }

    /// Returns true if a switch is on.
    pub(super) fn is_on(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| boolean(value) == Some(true))
    }

    /// Returns the count that two options for a cutoff and a count ask for. From LLVM 21, a cutoff of 0 stands for the
    /// largest count: nothing is hot, or everything is cold.
    pub(super) fn count_of_threshold(&self, release: Release, [cutoff, count]: [&str; 2]) -> Option<u64> {
        let largest = || {
            let is_zero = self.value(cutoff).and_then(signed) == Some(0);
            (is_zero && release >= Release(21)).then_some(u64::MAX)
        };
        self.number(count).or_else(largest)
    }

    /// Returns the last value of an integer option.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.value(name).and_then(unsigned)
    }

    /// Returns the last value as a path or another string of the operating system.
    pub(super) fn os_text(&self, name: &str) -> Option<OsString> {
        self.value(name).map(os_string)
    }

    /// Returns the last of these flags that was given.
    pub(super) fn last_of(&self, names: &[&'static str]) -> Option<&'static str> {
        self.values.iter().rev().find(|(given, _)| names.contains(given)).map(|(given, _)| *given)
    }
}
