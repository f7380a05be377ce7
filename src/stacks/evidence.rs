//! Whether bytes are a source of stacks, and of which kind.

use super::collapsed::text_evidence;
use super::pprof::is_pprof;
use crate::bytes::{Confidence, Head};

/// A format that holds stacks and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StackFormat {
    /// A Flight Recorder recording.
    Jfr,
    /// Collapsed or folded text.
    Collapsed,
    /// A pprof profile, inflated.
    Pprof,
}

/// What speaks for a source of stacks: a magic number, the messages that a
/// pprof begins with, or lines that end in a number.
pub fn evidence(head: &Head<'_>) -> Option<(StackFormat, Confidence)> {
    if head.begins(b"FLR\0") {
        return Some((StackFormat::Jfr, Confidence::Certain));
    }
    if is_pprof(head.bytes()) {
        return Some((StackFormat::Pprof, Confidence::Certain));
    }
    text_evidence(head).map(|confidence| (StackFormat::Collapsed, confidence))
}
