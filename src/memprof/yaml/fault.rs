//! What is wrong with a document: for people, and in the words of LLVM.

use crate::error::Error;
use std::borrow::Cow;
use std::ops::Range;

/// What reading a piece of a document gives.
pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

/// The mark of what has no place in the document.
pub(super) const NOWHERE: Range<usize> = usize::MAX..usize::MAX;

/// A fault of a document.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: Error,
    /// What LLVM says, one message after the other.
    diagnostics: Vec<Diagnostic>,
}

/// A message, and the bytes that LLVM marks.
#[derive(Debug)]
struct Diagnostic {
    mark: Range<usize>,
    words: Cow<'static, str>,
}

impl Fault {
    /// A fault that LLVM has these words for; none where it has no such rule.
    pub(super) fn new(error: Error, mark: Range<usize>, words: impl Into<Cow<'static, str>>) -> Box<Self> {
        Box::new(Self { error, diagnostics: vec![Diagnostic { mark, words: words.into() }] })
    }

    /// With more of LLVM's words for the same place.
    #[must_use]
    pub(super) fn and(mut self: Box<Self>, words: impl Into<Cow<'static, str>>) -> Box<Self> {
        let mark = self.diagnostics.last().map_or(NOWHERE, |last| last.mark.clone());
        self.add(mark, words);
        self
    }

    /// LLVM says more.
    pub(super) fn add(&mut self, mark: Range<usize>, words: impl Into<Cow<'static, str>>) {
        self.diagnostics.push(Diagnostic { mark, words: words.into() });
    }

    /// The error, and what LLVM prints of it when it reads the document.
    pub(super) fn into_error(self, text: &[u8]) -> Error {
        let printed: String = self.diagnostics.iter().map(|diagnostic| diagnostic.printed(text)).collect();
        if printed.is_empty() { self.error } else { self.error.with_llvm_diagnostic(printed) }
    }
}

impl From<Error> for Box<Fault> {
    fn from(error: Error) -> Self {
        Box::new(Fault { error, diagnostics: Vec::new() })
    }
}

impl Diagnostic {
    /// As LLVM's source manager prints it: the place, the line, and a mark below
    /// it, unless the line has characters that are not ASCII.
    fn printed(&self, text: &[u8]) -> String {
        let Self { mark, words } = self;
        if *mark == NOWHERE {
            return format!("<unknown>:0: error: {words}\n");
        }
        let start = mark.start.min(text.len());
        let ends_line = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let before = &text[..start];
        let line_start = before.iter().rposition(ends_line).map_or(0, |at| at + 1);
        let line_end = text[start..].iter().position(ends_line).map_or(text.len(), |len| start + len);
        // Other ends of lines than these are not counted.
        let line_number = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = start - line_start;
        let line = &text[line_start..line_end];
        let (mut shown, mut marks) = (Vec::new(), Vec::new());
        for (at, byte) in (line_start..).zip(line) {
            let mark = match at {
                _ if at == start => b'^',
                _ if (start..mark.end).contains(&at) => b'~',
                _ => b' ',
            };
            let is_tab = *byte == b'\t';
            shown.push(if is_tab { b' ' } else { *byte });
            marks.push(mark);
            while is_tab && shown.len() % TAB != 0 {
                shown.push(b' ');
                marks.push(mark);
            }
        }
        if start == line_end {
            marks.push(b'^');
        }
        let [shown, marks] = [shown, marks].map(|line| String::from_utf8_lossy(&line).into_owned());
        let place = format!("YAML:{line_number}:{}: error: {words}\n{shown}\n", column + 1);
        if line.is_ascii() { format!("{place}{}\n", marks.trim_end()) } else { place }
    }
}

/// Columns of a tab.
const TAB: usize = 8;
