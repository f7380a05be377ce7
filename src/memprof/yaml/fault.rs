//! What is wrong with a document: for people, and in the words of LLVM.

use crate::error::Error;
use std::borrow::Cow;
use std::ops::Range;

/// What reading a piece of a document gives.
pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

/// A fault of a document.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: Error,
    /// The bytes that LLVM marks.
    mark: Range<usize>,
    /// What LLVM says of them, one line after the other.
    words: Vec<Cow<'static, str>>,
}

impl Fault {
    /// A fault that LLVM has these words for; none where it has no such rule.
    pub(super) fn new(error: Error, mark: Range<usize>, words: impl Into<Cow<'static, str>>) -> Box<Self> {
        Box::new(Self { error, mark, words: vec![words.into()] })
    }

    /// With more of LLVM's words for the same place.
    #[must_use]
    pub(super) fn and(mut self: Box<Self>, words: impl Into<Cow<'static, str>>) -> Box<Self> {
        self.words.push(words.into());
        self
    }

    /// The error, and what LLVM prints of it when it reads the document.
    pub(super) fn into_error(self, text: &[u8]) -> Error {
        let printed: String = self.words.iter().map(|words| printed(text, &self.mark, words)).collect();
        if printed.is_empty() { self.error } else { self.error.with_llvm_diagnostic(printed) }
    }
}

impl From<Error> for Box<Fault> {
    fn from(error: Error) -> Self {
        Box::new(Fault { error, mark: 0..0, words: Vec::new() })
    }
}

/// A message as LLVM's source manager prints it: the place, the line, and a mark
/// below it (`SMDiagnostic::print`).
fn printed(text: &[u8], mark: &Range<usize>, words: &str) -> String {
    let start = mark.start.min(text.len());
    let before = &text[..start];
    let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line_end = text[start..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |len| start + len);
    let line_number = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let column = start - line_start;
    let (mut shown, mut marks) = (Vec::new(), Vec::new());
    for (at, byte) in (line_start..).zip(&text[line_start..line_end]) {
        let mark = match at {
            _ if at == start => b'^',
            _ if (start..mark.end).contains(&at) => b'~',
            _ => b' ',
        };
        shown.push(if *byte == b'\t' { b' ' } else { *byte });
        marks.push(mark);
        while *byte == b'\t' && shown.len() % TAB != 0 {
            shown.push(b' ');
            marks.push(if mark == b'^' { b' ' } else { mark });
        }
    }
    if start == line_end {
        marks.push(b'^');
    }
    let [shown, marks] = [shown, marks].map(|line| String::from_utf8_lossy(&line).into_owned());
    format!("YAML:{line_number}:{}: error: {words}\n{shown}\n{}\n", column + 1, marks.trim_end())
}

/// Columns of a tab.
const TAB: usize = 8;
