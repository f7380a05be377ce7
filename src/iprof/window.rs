//! The part of the text that is in memory, how it moves, and a copy of the tokens that were parsed.

use crate::bytes::window::ByteSource;
use crate::bytes::{self, BYTE_ORDER_MARK, without_byte_order_mark};
use crate::cancel::Cancel;
use crate::compression::{Compression, Opened, open};
use crate::error::{Error, ErrorKind, io_message};
use crate::iprof::json::{self, Scan, Skip, Stop};
use crate::limits::Limits;
use crate::memory::HOLD_INPUT;
use std::io::{self, Read, Write};

/// Bytes read at a time; an element that does not fit makes the buffer grow.
const CHUNK_BYTES: usize = 1 << 17;
/// Bytes decompressed at a time. Few, because those before a damaged place are lost.
const DECOMPRESSED_BYTES: usize = 256;

/// Why reading had to stop before the end of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The input ends inside a value, at this offset.
    Truncated(u64),
    /// Not JSON: offset, and what was expected.
    Syntax(u64, &'static str),
    /// Not UTF-8 from this offset on.
    Encoding(u64),
    /// The rest is not needed; the findings have the reason.
    Refused,
    /// A copy of a part did not fit into memory.
    OutOfMemory,
    /// The reading was cancelled.
    Cancelled,
}

/// Text that comes from a stream.
struct Stream<'a> {
    reader: Box<dyn Read + 'a>,
    /// Bytes to read at a time.
    most: usize,
    /// Bytes that may still come.
    bytes_left: u64,
    is_over: bool,
}

type Text<'a> = bytes::window::Window<'a, Stream<'a>>;

impl ByteSource for Stream<'_> {
    fn left(&self, _: u64) -> u64 {
        // `fill` reports a text that is longer than the limit.
        if self.is_over { 0 } else { self.bytes_left.max(1) }
    }

    fn fill(&mut self, mut memory: &mut [u8], _: u64, filled: &mut usize) -> crate::error::Result<()> {
        self.is_over = true;
        while !memory.is_empty() {
            let asked = self.most.min(memory.len());
            match self.reader.read(&mut memory[..asked]) {
                Ok(0) => break,
                Ok(read) => {
                    (self.is_over, memory) = (false, &mut memory[read..]);
                    self.bytes_left = self.bytes_left.saturating_sub(read as u64);
                    *filled += read;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(HOLD_INPUT, error)),
            }
        }
        let is_long = self.bytes_left == 0;
        if is_long { Err(Error::io(HOLD_INPUT, io::Error::other("the text is longer than the limit"))) } else { Ok(()) }
    }
}

/// A sliding view of the text. Elements are parsed inside it, and parsed again if it ended too early.
pub(crate) struct Window<'a> {
    text: Text<'a>,
    /// The view's bytes up to here are known to be UTF-8.
    checked: usize,
    bad_encoding: bool,
    max_depth: u32,
    /// The error of the system or the decompressor that ended the input.
    pub(crate) failure: Option<String>,
    /// Ends the text early.
    pub(crate) cancel: Cancel,
    /// Takes the tokens that were parsed.
    copy: Option<TokenCopy<'a>>,
    /// Whether a byte order mark was skipped.
    pub(crate) byte_order_mark: bool,
}

/// Copies tokens to an output.
struct TokenCopy<'a> {
    out: &'a mut dyn Write,
    tokens: Vec<u8>,
    result: io::Result<()>,
}

impl TokenCopy<'_> {
    fn add(&mut self, text: &[u8]) {
        json::write_compact(&mut self.tokens, text);
        if self.tokens.len() >= CHUNK_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.result.is_ok() {
            self.result = self.out.write_all(&self.tokens);
        }
        self.tokens.clear();
    }

    fn finish(mut self) -> io::Result<()> {
        self.flush();
        self.result
    }
}

/// Parses elements of an array: first what may have to be done again, then what may not.
pub(crate) trait Elements {
    /// Parses the element at the scan's position, which is byte `base` of the text further on.
    fn parse(&mut self, scan: &mut Scan<'_>, base: u64, index: usize) -> Result<(), Stop>;
    /// Takes the element that was parsed last, after which another or the end follows.
    fn commit(&mut self, index: usize);
    /// Parses and commits as many elements as it likes from `pos` on, each with the comma
    /// after it. Returns the number of elements, and where the next one begins.
    fn run(&mut self, text: &[u8], pos: usize, base: u64, index: usize) -> (usize, usize) {
        let _ = (text, base, index);
        (0, pos)
    }
}

impl<'a> Window<'a> {
    /// Over text in memory, compressed or not.
    pub(crate) fn from_slice(data: &'a [u8], limits: &Limits) -> Self {
        if Compression::of(data).is_some() {
            Self::from_reader(data, limits)
        } else {
            Self::begin(Text::over(data, 0), limits)
        }
    }

    /// Creates a window over text that begins at byte `base` and was already checked.
    pub(crate) fn from_part(data: &'a [u8], base: u64, max_depth: u32) -> Self {
        Self { checked: data.len(), ..Self::new(Text::over(data, base), max_depth) }
    }

    /// Over a stream, compressed or not.
    pub(crate) fn from_reader(reader: impl Read + 'a, limits: &Limits) -> Self {
        let (opened, failure) = match open(reader, limits) {
            Ok(opened) => (opened, None),
            Err(error) => (Opened { compression: None, stream: Box::new(io::empty()) }, Some(io_message(&error))),
        };
        let is_compressed = opened.compression.is_some();
        let most = if is_compressed { DECOMPRESSED_BYTES } else { CHUNK_BYTES };
        let window = Self::begin(stream(opened.stream, most, limits), limits);
        Self { failure: failure.or(window.failure), ..window }
    }

    fn begin(text: Text<'a>, limits: &Limits) -> Self {
        let mut window = Self::new(text, limits.json_depth);
        if !window.more() {
            window.check_encoding();
        }
        if window.data().starts_with(BYTE_ORDER_MARK) {
            window.byte_order_mark = true;
            window.text.pass(BYTE_ORDER_MARK.len());
        }
        window
    }

    fn new(text: Text<'a>, max_depth: u32) -> Self {
        let (checked, bad_encoding, failure, cancel, copy, byte_order_mark) = Default::default();
        Self { text, checked, bad_encoding, max_depth, failure, cancel, copy, byte_order_mark }
    }

    /// Writes all tokens that are parsed from now on to `out`, without the white space between them.
    pub(crate) fn copying_to(self, out: &'a mut dyn Write) -> Self {
        Self { copy: Some(TokenCopy { out, tokens: Vec::new(), result: Ok(()) }), ..self }
    }

    /// Writes the rest of the copy.
    ///
    /// # Errors
    ///
    /// The first error of its output.
    pub(crate) fn finish_copy(self) -> io::Result<()> {
        self.copy.map_or(Ok(()), TokenCopy::finish)
    }

    /// Moves past tokens that were parsed.
    #[inline]
    fn pass(&mut self, len: usize) {
        if let Some(copy) = &mut self.copy {
            copy.add(&self.text.bytes()[..len]);
        }
        self.text.pass(len);
    }

    /// The view, as far as it is known to be UTF-8.
    pub(crate) fn data(&self) -> &[u8] {
        &self.text.view()[..self.checked]
    }

    /// Offset in the text of what is parsed next.
    pub(crate) fn offset(&self) -> u64 {
        self.text.base() + self.text.passed() as u64
    }

    /// Whether nothing but white space and the byte order mark was read.
    pub(crate) fn is_blank(&self) -> bool {
        let text = without_byte_order_mark(self.data());
        // The mark may have moved out of view.
        let mark = if self.byte_order_mark { BYTE_ORDER_MARK.len() as u64 } else { 0 };
        self.text.base() <= mark && !self.bad_encoding && text.iter().all(u8::is_ascii_whitespace)
    }

    fn check_encoding(&mut self) {
        let view = self.text.view();
        match std::str::from_utf8(&view[self.checked..]) {
            Ok(_) => self.checked = view.len(),
            Err(error) => {
                self.checked += error.valid_up_to();
                // A character at the end of the view may be continued in the next bytes.
                self.bad_encoding = error.error_len().is_some();
            }
        }
    }

    /// Drops what was parsed and reads on; false when there is nothing more.
    fn more(&mut self) -> bool {
        if self.bad_encoding || self.failure.is_some() || self.text.is_last() || self.cancel.is_cancelled() {
            return false;
        }
        // The rest is moved only if it is the smaller part, so moving costs no more than reading.
        if self.text.passed() >= self.text.view().len() / 2 {
            self.checked -= self.text.drop_passed();
        }
        let known = self.text.view().len();
        if let Err(error) = self.text.read_on() {
            self.failure = Some(if let ErrorKind::Io { source, .. } = error.kind() {
                io_message(source)
            } else {
                error.to_string()
            });
        }
        self.check_encoding();
        self.text.view().len() > known
    }

    /// Parses something; once more from the start when the view ended too early.
    #[inline]
    pub(crate) fn step<T>(
        &mut self,
        mut parse: impl FnMut(&mut Scan<'_>, u64) -> Result<T, Stop>,
    ) -> Result<T, StopReason> {
        loop {
            let passed = self.text.passed();
            let mut scan = Scan::new(self.data(), passed, self.max_depth);
            match parse(&mut scan, self.text.base()) {
                Ok(value) => {
                    let parsed = scan.pos - passed;
                    self.pass(parsed);
                    return Ok(value);
                }
                Err(Stop::Syntax(at, expected)) => {
                    return Err(StopReason::Syntax(self.text.base() + at as u64, expected));
                }
                Err(Stop::End) if self.more() => {}
                Err(Stop::End) => return Err(self.end()),
            }
        }
    }

    fn end(&self) -> StopReason {
        let offset = self.text_len();
        match self.bad_encoding {
            _ if self.cancel.is_cancelled() => StopReason::Cancelled,
            true => StopReason::Encoding(offset),
            false => StopReason::Truncated(offset),
        }
    }

    /// Parses a value that stands alone.
    pub(crate) fn value(&mut self, elements: &mut impl Elements) -> Result<(), StopReason> {
        self.step(|scan, base| elements.parse(scan, base, 0))?;
        elements.commit(0);
        Ok(())
    }

    /// Skips a value of any kind, without holding it as a whole. `each` takes its text, in pieces of whole tokens.
    pub(crate) fn skip(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), StopReason> {
        let mut skip = Skip::default();
        loop {
            if self.cancel.is_cancelled() {
                return Err(StopReason::Cancelled);
            }
            let is_over = self.step(|scan, _| {
                let start = scan.pos;
                let mut end = start;
                let is_over = loop {
                    match skip.token(scan) {
                        Ok(is_over) => {
                            end = scan.pos;
                            if is_over || end - start >= CHUNK_BYTES {
                                break is_over;
                            }
                        }
                        Err(Stop::End) if end > start => break false,
                        Err(stop) => return Err(stop),
                    }
                };
                scan.pos = end;
                each(&scan.data[start..end]);
                Ok(is_over)
            })?;
            if is_over {
                return Ok(());
            }
        }
    }

    /// Parses an array element by element.
    pub(crate) fn elements(&mut self, elements: &mut impl Elements) -> Result<(), StopReason> {
        if self.open_array()? { self.remaining_elements(elements, 0) } else { Ok(()) }
    }

    /// Takes the bracket of an array; false when it is empty, and over.
    pub(crate) fn open_array(&mut self) -> Result<bool, StopReason> {
        self.step(|scan, _| scan.expect(b'[', "an array"))?;
        Ok(!self.step(|scan, _| scan.take(b']'))?)
    }

    /// Parses what is left of an array, from its element number `index` on.
    pub(crate) fn remaining_elements(
        &mut self,
        elements: &mut impl Elements,
        mut index: usize,
    ) -> Result<(), StopReason> {
        while self.next_elements(elements, &mut index)? {}
        Ok(())
    }

    /// Parses the next element, or more of them; false when the array is over.
    pub(crate) fn next_elements(
        &mut self,
        elements: &mut impl Elements,
        index: &mut usize,
    ) -> Result<bool, StopReason> {
        if self.cancel.is_cancelled() {
            return Err(StopReason::Cancelled);
        }
        let (count, next) = elements.run(self.data(), self.text.passed(), self.text.base(), *index);
        *index += count;
        self.pass(next - self.text.passed());
        let last = self.step(|scan, base| {
            elements.parse(scan, base, *index)?;
            if scan.take(b',')? {
                return Ok(false);
            }
            scan.expect(b']', "a comma or the end of the array")?;
            Ok(true)
        })?;
        elements.commit(*index);
        *index += 1;
        Ok(!last)
    }

    /// Up to `bytes` bytes of text from offset `from` on, which is not before what is parsed next.
    pub(crate) fn look(&mut self, from: u64, bytes: usize) -> &[u8] {
        while self.text_len() - from < bytes as u64 && self.more() {}
        let start = usize::try_from(from - self.text.base()).unwrap_or(usize::MAX).min(self.data().len());
        let text = &self.data()[start..];
        &text[..bytes.min(text.len())]
    }

    /// Continues at offset `to`, which is in the view. The text before it was parsed elsewhere.
    pub(crate) fn advance_to(&mut self, to: u64) {
        let ahead = usize::try_from(to.saturating_sub(self.offset())).unwrap_or(usize::MAX);
        self.pass(ahead.min(self.data().len() - self.text.passed()));
    }

    /// Requires that nothing follows the document.
    pub(crate) fn finish(&mut self) -> Result<(), StopReason> {
        match self.step(|scan, _| scan.peek()) {
            Err(StopReason::Truncated(_)) => Ok(()),
            Err(other) => Err(other),
            Ok(_) => Err(StopReason::Syntax(self.offset(), "nothing after the document")),
        }
    }

    /// Returns the length of the text so far.
    pub(crate) fn text_len(&self) -> u64 {
        self.text.base() + self.data().len() as u64
    }
}

fn stream<'a>(reader: Box<dyn Read + 'a>, most: usize, limits: &Limits) -> Text<'a> {
    Text::fed(Stream { reader, most, bytes_left: limits.stream_bytes, is_over: false }, 0, CHUNK_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    /// Gives one byte at a time.
    struct OneByteReader<'a>(&'a [u8]);

    impl Read for OneByteReader<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let (Some(slot), Some((first, rest))) = (out.first_mut(), self.0.split_first()) else { return Ok(0) };
            *slot = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[derive(Default)]
    struct Collect {
        current: Vec<u8>,
        all: Vec<Vec<u8>>,
    }

    impl Elements for Collect {
        fn parse(&mut self, scan: &mut Scan<'_>, _: u64, _: usize) -> Result<(), Stop> {
            self.current = scan.skip()?.to_vec();
            Ok(())
        }
        fn commit(&mut self, _: usize) {
            self.all.push(std::mem::take(&mut self.current));
        }
    }

    #[test]
    fn elements_are_whole_however_the_stream_is_cut() {
        let long = "x".repeat(CHUNK_BYTES * 3);
        let text = format!("[ 1, \"{long}\" ,[2 ] ] tail");
        let mut window = Window::from_reader(OneByteReader(text.as_bytes()), &Limits::default());
        let mut collect = Collect::default();
        window.elements(&mut collect).unwrap();
        assert_eq!(collect.all, [b"1".to_vec(), format!("\"{long}\"").into_bytes(), b"[2 ]".to_vec()]);
        assert_eq!(window.finish(), Err(StopReason::Syntax(text.len() as u64 - 4, "nothing after the document")));
    }

    #[test]
    fn a_skipped_value_comes_in_whole_tokens_however_the_stream_is_cut() {
        let long = "x".repeat(CHUNK_BYTES * 3);
        let value = format!(r#"{{"a":[1,{{"b":"{long}"}},[]],"c":[12345678901,"]"],"d":{{}}}}"#);
        let text = format!("{value},2");
        let mut window = Window::from_reader(OneByteReader(text.as_bytes()), &Limits::default());
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        window.skip(|piece| pieces.push(piece.to_vec())).unwrap();
        assert_eq!(pieces.concat(), value.as_bytes());
        assert!(pieces.len() > 1 && pieces.iter().any(|piece| piece.ends_with(br#"{"b":"#)), "{}", pieces.len());
        assert_eq!(window.offset(), value.len() as u64);

        let mut window = Window::from_slice(&value.as_bytes()[..value.len() - 1], &Limits::default());
        assert_eq!(window.skip(|_| {}), Err(StopReason::Truncated(value.len() as u64 - 1)));
        let mut window = Window::from_slice(b"[1,[2,]]", &Limits::default());
        assert_eq!(window.skip(|_| {}), Err(StopReason::Syntax(6, "a value")));
    }

    #[test]
    fn an_element_counts_only_if_something_follows() {
        let mut collect = Collect::default();
        let mut window = Window::from_slice(b"[1,2,33", &Limits::default());
        assert_eq!(window.elements(&mut collect), Err(StopReason::Truncated(7)));
        assert_eq!(collect.all, [b"1", b"2"]);
    }

    #[test]
    fn invalid_utf8_is_distinguished_from_a_split_character() {
        for (text, halt) in
            [(&b"[\"\xc3\xa9\xff\"]"[..], StopReason::Encoding(4)), (b"[\"\xc3", StopReason::Truncated(2))]
        {
            let mut window = Window::from_slice(text, &Limits::default());
            assert_eq!(window.elements(&mut Collect::default()), Err(halt.clone()));
            let mut window = Window::from_reader(OneByteReader(text), &Limits::default());
            assert_eq!(window.elements(&mut Collect::default()), Err(halt));
        }
    }

    #[test]
    fn gzip_data_before_a_damaged_byte_is_read() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::none());
        packer.write_all(format!("[{}1]", "1,".repeat(200_000)).as_bytes()).unwrap();
        let mut packed = packer.finish().unwrap();
        // After the header of the stream comes the first block: its kind, its length, and the inverted length.
        let first_len = usize::from(u16::from_le_bytes([packed[11], packed[12]]));
        packed[10 + 5 + first_len + 3] ^= 1;
        let mut collect = Collect::default();
        let mut window = Window::from_slice(&packed, &Limits::default());
        assert!(window.elements(&mut collect).is_err() && window.failure.is_some());
        assert!(
            first_len > 1000 && 2 * collect.all.len() + DECOMPRESSED_BYTES + 4 > first_len,
            "{}",
            collect.all.len()
        );
    }
}
