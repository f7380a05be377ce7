//! Numbers and contexts as text.

use crate::digits::push_decimal;
use crate::iprof::context::ContextHandle;
use crate::iprof::document::Document;

/// Appends the first `len` bytes of a text. A copy of fixed length is quicker than one of the right length.
#[inline]
fn write_short<const N: usize>(out: &mut Vec<u8>, text: &[u8; N], len: usize) {
    let end = out.len() + len;
    out.extend_from_slice(text);
    out.truncate(end);
}

/// Appends a number with its sign.
#[inline]
pub(super) fn write_signed(out: &mut Vec<u8>, number: i32) {
    if number < 0 {
        out.push(b'-');
    }
    push_decimal(out, u64::from(number.unsigned_abs()));
}

/// The text `<id:` of every method, made once: contexts repeat it for each frame.
#[derive(Default)]
pub(super) struct FrameTexts(Vec<[u8; FrameTexts::BYTES]>);

impl FrameTexts {
    /// Bracket, ten digits, colon, and last how many bytes of these are used; so many as are quickly copied.
    const BYTES: usize = 16;

    /// Makes the texts unless they are there or nothing needs them.
    pub(super) fn ready(mut self, document: &Document) -> Self {
        if !self.0.is_empty() || document.contexts.is_empty() {
            return self;
        }
        let tables = &document.tables;
        let mut number = Vec::new();
        let text = |handle| {
            number.clear();
            number.push(b'<');
            push_decimal(&mut number, u64::from(tables.method_id(handle)));
            number.push(b':');
            let mut text = [0; Self::BYTES];
            text[..number.len()].copy_from_slice(&number);
            text[Self::BYTES - 1] = number.len() as u8;
            text
        };
        self.0.extend(tables.methods().map(text));
        self
    }

    /// Appends a context in quotes.
    pub(super) fn write_context(&self, out: &mut Vec<u8>, document: &Document, context: ContextHandle) {
        if context == ContextHandle::ROOT {
            out.extend_from_slice(b"\"0:0\"");
            return;
        }
        let start = out.len();
        for run in document.contexts.runs(context) {
            for frame in run.rev().map(|at| document.contexts.frame(at)) {
                let text = &self.0[frame.method.index()];
                write_short(out, text, usize::from(text[Self::BYTES - 1]));
                write_signed(out, frame.bci);
            }
        }
        // Nothing is before the innermost frame.
        if let Some(first) = out.get_mut(start) {
            *first = b'"';
        }
        out.push(b'"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_sign() {
        let mut text = Vec::new();
        [i32::MIN, -6, 0, 65534].into_iter().for_each(|number| write_signed(&mut text, number));
        assert_eq!(text, b"-2147483648-6065534");
    }
}
