//! Numbers in sentences, and words that several commands say.

/// Behind what was written, of a partial merge.
pub(crate) const PARTIAL_SUFFIX: &str = "; a part, to be merged with others";

use std::fmt::Display;

/// `1 function`, `2 functions`: for words whose plural has an s.
pub(crate) fn number_of<N: Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    if count == N::from(1) { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `3 inputs`, or `2 of 3 inputs` where not all were used.
pub(crate) fn inputs_of(used: usize, all: usize) -> String {
    if used == all { number_of(all, "input") } else { format!("{used} of {}", number_of(all, "input")) }
}
