//! Phrases with numbers that several commands use.

/// Printed after the outcome of writing a partial merge.
pub(crate) const PARTIAL_SUFFIX: &str = "; partial merge, to be merged with others";

use std::fmt::Display;

/// Returns `1 function` or `2 functions`, for words whose plural has an s.
pub(crate) fn number_of<N: Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    if count == N::from(1) { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns `3 inputs`, or `2 of 3 inputs` if not all were used.
pub(crate) fn inputs_of(used: usize, all: usize) -> String {
    if used == all { number_of(all, "input") } else { format!("{used} of {}", number_of(all, "input")) }
}
