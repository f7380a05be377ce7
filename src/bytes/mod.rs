//! Bytes of files: reading with checked bounds, writing with words that are set
//! later, the name chunks that raw and indexed profiles share, and the first bytes
//! of an input.
//!
//! The numbers themselves are decoded and encoded by the crate byteorder.

pub(crate) mod cursor;
mod encoding;
#[doc(hidden)]
pub mod leb128;
#[doc(hidden)]
pub mod names;
pub(crate) mod sink;
pub(crate) mod window;

#[doc(hidden)]
pub use cursor::Cursor;
pub use encoding::{Encoding, Endian, PointerWidth};
#[doc(hidden)]
pub use sink::{Place, Sink};

/// The bytes of an input that are read for format detection. The longest lines are stacks of real programs, and two of
/// them must fit.
pub(crate) const HEAD_BYTES: usize = 1 << 20;

/// The confidence that an input has a format.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// Nothing contradicts the format, but there is little evidence for it: the file ends too soon.
    Possible,
    /// The bytes match the format and could match others.
    Likely,
    /// A magic number, a key word, or several lines that no other format has.
    Certain,
}

/// The beginning of an input, inflated if it is a gzip stream.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    bytes: &'a [u8],
    is_whole: bool,
}

impl<'a> Head<'a> {
    /// The beginning of `data`, which is whole.
    pub fn new(data: &'a [u8]) -> Self {
        Self::cut(data, data.len() <= HEAD_BYTES)
    }

    /// The bytes read from an input. `is_whole` is true if they are the whole input.
    pub fn cut(read: &'a [u8], is_whole: bool) -> Self {
        let bytes = &read[..read.len().min(HEAD_BYTES)];
        Self { bytes, is_whole: is_whole && bytes.len() == read.len() }
    }

    /// The bytes, at most [`HEAD_BYTES`].
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Whether these bytes are all there is.
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether the first bytes are these.
    pub fn begins(&self, magic: &[u8]) -> bool {
        self.bytes.starts_with(magic)
    }

    /// Whether `word` is somewhere in the head.
    pub fn has(&self, word: &[u8]) -> bool {
        self.bytes.windows(word.len()).any(|part| part == word)
    }

    /// Returns the complete lines without their ends. The last line may lack a line feed if it ends the input.
    pub fn lines(&self) -> impl Iterator<Item = &'a [u8]> + Clone {
        let bytes = without_byte_order_mark(self.bytes);
        let end = match bytes.iter().rposition(|byte| *byte == b'\n') {
            _ if self.is_whole => bytes.len(),
            Some(last) => last,
            None => 0,
        };
        bytes[..end].split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// The byte order mark of UTF-8, with which editors on Windows begin text files.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns a text without its byte order mark.
pub fn without_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

/// LLVM's test for text: the first eight bytes are printable ASCII or white space, whatever follows.
pub(crate) fn begins_as_text(data: &[u8]) -> bool {
    data.iter().take(8).all(|byte| matches!(byte, 0x20..=0x7e | 9..=13))
}

#[cfg(test)]
mod tests {
    use crate::bytes::*;

    #[test]
    fn a_truncated_line_is_not_a_line() {
        let lines = |head: Head<'_>| head.lines().map(<[u8]>::len).collect::<Vec<_>>();
        assert_eq!(lines(Head::cut(b"ab\r\ncde", true)), [2, 3]);
        assert_eq!(lines(Head::cut(b"ab\r\ncde", false)), [2]);
        assert_eq!(lines(Head::cut(b"abc", false)), [0]);
        let long = vec![b'a'; HEAD_BYTES + 1];
        assert!(!Head::new(&long).is_whole() && Head::new(&long[1..]).is_whole());
        assert_eq!(Head::cut(&long, true).bytes().len(), HEAD_BYTES);
    }
}
