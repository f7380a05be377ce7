//! A JSON scanner that works in place, preserves all digits and bytes, and supports only what iprof needs.
//!
//! A [`Scan`] reads a slice. It stops with [`Stop::End`] if the slice ends too early, so that the reader of a stream
//! can read more and try again, and with [`Stop::Syntax`] if more bytes would not help.
//!
//! Strings are bytes: UTF-8, in which a lone surrogate escape (`\ud800`) becomes three bytes like any other code unit
//! (WTF-8), and an escape again when it is written. So names never change.

use std::borrow::Cow;

/// The reason why scanning stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The slice ends inside the value.
    End,
    /// Not JSON: the position in the slice, and the expected token.
    Syntax(usize, &'static str),
}

/// A JSON number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// An integer within the range of Java's `long`.
    Int(i64),
    /// An integer outside this range.
    Huge {
        /// Whether it is negative.
        negative: bool,
    },
    /// A number with a fraction or an exponent, and its value if that is an integer in range.
    Fraction(Option<i64>),
}

/// The kind of a JSON value, determined by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Object,
    Array,
    String,
    Number,
    Other,
}

/// A position in a slice of JSON text.
#[derive(Debug, Clone)]
pub(crate) struct Scan<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) pos: usize,
    /// The maximum nesting.
    pub(crate) max_depth: u32,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(data: &'a [u8], pos: usize, max_depth: u32) -> Self {
        Self { data, pos, max_depth }
    }

    /// Skips white space.
    #[inline]
    pub(crate) fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.data.get(self.pos) {
            self.pos += 1;
        }
    }

    /// Skips white space and returns the next byte without consuming it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<u8, Stop> {
        self.space();
        self.data.get(self.pos).copied().ok_or(Stop::End)
    }

    /// Skips white space and consumes `byte` if it is next.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> Result<bool, Stop> {
        let found = self.peek()? == byte;
        self.pos += usize::from(found);
        Ok(found)
    }

    /// Skips white space and consumes `byte`.
    pub(crate) fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), Stop> {
        if self.take(byte)? { Ok(()) } else { Err(Stop::Syntax(self.pos, what)) }
    }

    /// Consumes `text` if it is next, without skipping white space.
    #[inline]
    pub(crate) fn literal<const N: usize>(&mut self, text: &[u8; N]) -> Option<()> {
        // A length known at compile time needs one or two comparisons and no call.
        self.data.get(self.pos..)?.first_chunk().filter(|found| *found == text)?;
        self.pos += N;
        Some(())
    }

    /// Returns the kind of the next value.
    pub(crate) fn shape(&mut self) -> Result<Shape, Stop> {
        Ok(match self.peek()? {
            b'{' => Shape::Object,
            b'[' => Shape::Array,
            b'"' => Shape::String,
            b'-' | b'0'..=b'9' => Shape::Number,
            _ => Shape::Other,
        })
    }

    /// Returns a string's raw text between the quotes, and whether it has escapes.
    pub(crate) fn raw_string(&mut self) -> Result<(&'a [u8], bool), Stop> {
        self.expect(b'"', "a string")?;
        let start = self.pos;
        let mut escapes = false;
        loop {
            match self.data.get(self.pos) {
                None => return Err(Stop::End),
                Some(b'"') => break,
                Some(b'\\') => {
                    escapes = true;
                    self.escape()?;
                }
                Some(0..=0x1f) => return Err(Stop::Syntax(self.pos, "no control character inside a string")),
                Some(_) => self.pos += 1 + plain_len(&self.data[self.pos + 1..]),
            }
        }
        let text = &self.data[start..self.pos];
        self.pos += 1;
        Ok((text, escapes))
    }

    /// Consumes a string with this text if it is next, without skipping white space.
    #[inline]
    pub(crate) fn take_string(&mut self, text: &str) -> bool {
        let rest = self.data.get(self.pos..).unwrap_or_default().strip_prefix(b"\"");
        let rest = rest.and_then(|rest| rest.strip_prefix(text.as_bytes())?.strip_prefix(b"\""));
        if let Some(rest) = rest {
            self.pos = self.data.len() - rest.len();
        }
        rest.is_some()
    }

    /// Checks one escape and skips it.
    fn escape(&mut self) -> Result<(), Stop> {
        let Some(kind) = self.data.get(self.pos + 1) else { return Err(Stop::End) };
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.pos += 2,
            b'u' => {
                for at in self.pos + 2..self.pos + 6 {
                    match self.data.get(at) {
                        None => return Err(Stop::End),
                        Some(digit) if digit.is_ascii_hexdigit() => {}
                        Some(_) => return Err(Stop::Syntax(at, "four hexadecimal digits after \\u")),
                    }
                }
                self.pos += 6;
            }
            _ => return Err(Stop::Syntax(self.pos, "a known escape")),
        }
        Ok(())
    }

    /// Returns the value of a string.
    pub(crate) fn string(&mut self) -> Result<Cow<'a, [u8]>, Stop> {
        let (raw, escapes) = self.raw_string()?;
        Ok(if escapes { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) })
    }

    /// Parses a number. The slice must continue after it, because it could be truncated otherwise.
    #[inline(always)]
    pub(crate) fn number(&mut self) -> Result<Number, Stop> {
        let negative = self.take(b'-')?;
        let text = &self.data[self.pos..];
        match short_number(text).or_else(|| medium_number(text)) {
            Some((value, rest)) if !matches!(rest.first(), None | Some(b'.' | b'e' | b'E')) => {
                self.pos = self.data.len() - rest.len();
                Ok(Number::Int(if negative { -value } else { value }))
            }
            _ => self.any_number(negative),
        }
    }

    #[inline(never)]
    fn any_number(&mut self, negative: bool) -> Result<Number, Stop> {
        let start = self.pos;
        let mut value = 0u64;
        let mut huge = false;
        while let Some(digit) = self.data.get(self.pos).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
            match value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit))) {
                Some(next) => value = next,
                None => huge = true,
            }
            self.pos += 1;
        }
        let digits = self.pos - start;
        match self.data.get(self.pos) {
            None => return Err(Stop::End),
            Some(_) if digits == 0 => return Err(Stop::Syntax(self.pos, "a value")),
            Some(_) if digits > 1 && self.data[start] == b'0' => {
                return Err(Stop::Syntax(start, "a number without leading zeros"));
            }
            Some(b'.' | b'e' | b'E') => return self.fraction(start, negative),
            Some(_) => {}
        }
        let limit = i64::MAX as u64 + u64::from(negative);
        Ok(if huge || value > limit {
            Number::Huge { negative }
        } else if negative {
            Number::Int(0i64.wrapping_sub_unsigned(value))
        } else {
            Number::Int(value as i64)
        })
    }

    /// Parses the rest of a number with a fraction or an exponent. Its digits start at `start`.
    fn fraction(&mut self, start: usize, negative: bool) -> Result<Number, Stop> {
        let whole_end = self.pos;
        let mut fraction = &self.data[self.pos..self.pos];
        if self.data.get(self.pos) == Some(&b'.') {
            self.pos += 1;
            fraction = self.digits("a digit after the point")?;
        }
        let mut exponent = 0i64;
        if let Some(b'e' | b'E') = self.data.get(self.pos) {
            self.pos += 1;
            let down = self.data.get(self.pos) == Some(&b'-');
            self.pos += usize::from(down || self.data.get(self.pos) == Some(&b'+'));
            for digit in self.digits("a digit in the exponent")? {
                exponent = exponent.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
            }
            exponent = if down { -exponent } else { exponent };
        }
        Ok(Number::Fraction(integral_value(&self.data[start..whole_end], fraction, exponent, negative)))
    }

    fn digits(&mut self, what: &'static str) -> Result<&'a [u8], Stop> {
        let start = self.pos;
        while self.data.get(self.pos).is_some_and(u8::is_ascii_digit) {
            self.pos += 1;
        }
        match self.data.get(self.pos) {
            None => Err(Stop::End),
            Some(_) if self.pos == start => Err(Stop::Syntax(self.pos, what)),
            Some(_) => Ok(&self.data[start..self.pos]),
        }
    }

    /// Skips a value of any kind. Returns its text.
    pub(crate) fn skip(&mut self) -> Result<&'a [u8], Stop> {
        self.space();
        let start = self.pos;
        let mut skip = Skip::default();
        while !skip.token(self)? {}
        Ok(&self.data[start..self.pos])
    }

    /// Reads the name of a member and the following colon.
    pub(crate) fn key(&mut self) -> Result<Cow<'a, [u8]>, Stop> {
        let name = self.string()?;
        self.expect(b':', "a colon")?;
        Ok(name)
    }

    /// Skips `true`, `false` or `null`.
    fn word(&mut self) -> Result<(), Stop> {
        let left = &self.data[self.pos..];
        for word in [&b"true"[..], b"false", b"null"] {
            if left.starts_with(word) {
                self.pos += word.len();
                return Ok(());
            }
            if word.starts_with(left) {
                return Err(Stop::End);
            }
        }
        Err(Stop::Syntax(self.pos, "a value"))
    }
}

/// A value of any kind that is skipped token by token, so that it does not have to be in memory as a whole.
#[derive(Debug, Default)]
pub(crate) struct Skip {
    /// The closing brackets of the lists and objects that contain the next value.
    open: Vec<u8>,
}

impl Skip {
    /// Skips a scalar value or an opening bracket, and then everything up to the next value. Returns true if the value
    /// is over. After [`Stop::End`], the token can be skipped again from its start.
    #[inline]
    pub(crate) fn token(&mut self, scan: &mut Scan<'_>) -> Result<bool, Stop> {
        match scan.peek()? {
            bracket @ (b'{' | b'[') => {
                if self.open.len() >= scan.max_depth as usize {
                    return Err(Stop::Syntax(scan.pos, "values that are nested no deeper than the limit json-depth"));
                }
                scan.pos += 1;
                if !scan.take(bracket + 2)? {
                    if bracket == b'{' {
                        scan.key()?;
                    }
                    self.open.push(bracket + 2);
                    return Ok(false);
                }
            }
            b'"' => drop(scan.raw_string()?),
            b'-' | b'0'..=b'9' => self.numbers(scan)?,
            _ => scan.word()?,
        }
        let mut depth = self.open.len();
        while depth > 0 {
            let close = self.open[depth - 1];
            if scan.take(close)? {
                depth -= 1;
                continue;
            }
            scan.expect(b',', "a comma or the end")?;
            if close == b'}' {
                scan.key()?;
            }
            break;
        }
        self.open.truncate(depth);
        Ok(depth == 0)
    }

    /// Skips a number, and some of those that follow it in the same list without white space. Not all of them, because
    /// the text of a token has to be in memory as a whole.
    #[inline]
    fn numbers(&self, scan: &mut Scan<'_>) -> Result<(), Stop> {
        scan.number()?;
        if self.open.last() == Some(&b']') {
            for _ in 0..64 {
                let text = scan.data[scan.pos..].strip_prefix(b",").unwrap_or_default();
                let Some((_, rest)) = short_number(text).or_else(|| medium_number(text)) else { break };
                if !matches!(rest.first(), Some(b',' | b']')) {
                    break;
                }
                scan.pos = scan.data.len() - rest.len();
            }
        }
        Ok(())
    }
}

/// Parses a number of up to seven digits without leading zeros. Returns it and the text after it.
#[inline(always)]
pub(crate) fn short_number(text: &[u8]) -> Option<(i64, &[u8])> {
    let (value, len) = leading_digits(text)?;
    if !(1..8).contains(&len) || (text[0] == b'0' && len > 1) {
        return None;
    }
    Some((value as i64, &text[len..]))
}

/// Parses a number of eight to fifteen digits without leading zeros. Returns it and the text after it.
#[inline(always)]
fn medium_number(text: &[u8]) -> Option<(i64, &[u8])> {
    const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];
    let (high, 8) = leading_digits(text)? else { return None };
    let (low, len) = leading_digits(&text[8..])?;
    if text[0] == b'0' || len == 8 {
        return None;
    }
    Some(((high * POWERS[len] + low) as i64, &text[8 + len..]))
}

/// Parses the digits at the start of eight bytes. Returns their value and their number, up to eight. The lengths of
/// numbers vary, so the processor would mispredict the end of a loop over the digits.
#[inline(always)]
fn leading_digits(text: &[u8]) -> Option<(u64, usize)> {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    // The bytes, the first one lowest, with digits converted to their values.
    let word = u64::from_le_bytes(*text.first_chunk::<8>()?) ^ 0x3030_3030_3030_3030;
    // The first byte that is not a digit sets its high bit. Digits before it produce no carry.
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & HIGH_BITS;
    let len = others.trailing_zeros() as usize / 8;
    // Move the digits to the upper bytes, with zeros before them. Combine pairs first.
    let digits = word.checked_shl(64 - 8 * len as u32).unwrap_or_default();
    let pairs = (digits.wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
    Some((fours.wrapping_mul(42_949_672_960_001) >> 32, len))
}

/// Returns the number of plain bytes of a string: those that do not end it, start an escape, or are invalid. The result
/// may be slightly too low.
#[inline]
fn plain_len(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, _) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let below = |word: u64, limit: u64| word.wrapping_sub(limit * ONES) & !word;
        let is = |byte: u8| below(word ^ (u64::from(byte) * ONES), 1);
        // A matching byte sets its high bit. The lower bytes of the word are correct.
        let found = (is(b'"') | is(b'\\') | below(word, 0x20)) & (0x80 * ONES);
        if found != 0 {
            return 8 * at + found.trailing_zeros() as usize / 8;
        }
    }
    8 * words.len()
}

/// Returns the value of `whole.fraction × 10^exponent` if it is an integer within the range of `long`.
fn integral_value(whole: &[u8], fraction: &[u8], exponent: i64, negative: bool) -> Option<i64> {
    let digits: Vec<u8> = whole.iter().chain(fraction).copied().collect();
    let Some(first) = digits.iter().position(|d| *d != b'0') else { return Some(0) };
    let last = digits.iter().rposition(|d| *d != b'0').unwrap_or(first);
    // The power of ten of the last significant digit.
    let scale = i64::try_from(whole.len()).ok()?.checked_add(exponent)?.checked_sub(i64::try_from(last).ok()? + 1)?;
    let mut value = 0i64;
    for digit in &digits[first..=last] {
        value = value.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
    }
    for _ in 0..u32::try_from(scale).ok()? {
        value = value.checked_mul(10)?;
    }
    Some(if negative { -value } else { value })
}

/// Returns the bytes of a checked string with escapes.
pub(crate) fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'\\' {
            text.push(first);
            continue;
        }
        let Some((&kind, tail)) = rest.split_first() else { break };
        rest = tail;
        match kind {
            b'b' => text.push(8),
            b'f' => text.push(12),
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'u' => {
                let (unit, tail) = code_unit(rest);
                rest = tail;
                let mut code = u32::from(unit);
                if (0xd800..0xdc00).contains(&unit)
                    && let Some(after) = rest.strip_prefix(b"\\u")
                    && let (low @ 0xdc00..0xe000, tail) = code_unit(after)
                {
                    code = 0x10000 + ((u32::from(unit) - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                    rest = tail;
                }
                push_code_point(&mut text, code);
            }
            other => text.push(other),
        }
    }
    text
}

fn code_unit(text: &[u8]) -> (u16, &[u8]) {
    let (digits, rest) = text.split_at(text.len().min(4));
    let unit = digits.iter().fold(0u16, |unit, digit| {
        (unit << 4) | char::from(*digit).to_digit(16).and_then(|d| u16::try_from(d).ok()).unwrap_or(0)
    });
    (unit, rest)
}

/// Appends a code point. A surrogate is encoded in UTF-8 like any other.
fn push_code_point(text: &mut Vec<u8>, code: u32) {
    match char::from_u32(code) {
        Some(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => {
            let [.., high, low] = code.to_be_bytes();
            text.extend([0xe0 | (high >> 4), 0x80 | ((high & 0xf) << 2) | (low >> 6), 0x80 | (low & 0x3f)]);
        }
    }
}

/// Appends `text` as a JSON string. It only escapes `"`, `\`, control characters and lone surrogates.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\' | 0xed);
    if !text.iter().fold(false, |found, byte| found | special(byte)) {
        out.extend_from_slice(text);
        out.push(b'"');
        return;
    }
    let mut plain = 0;
    for (at, byte) in text.iter().enumerate() {
        let surrogate = *byte == 0xed && text.get(at + 1).is_some_and(|next| *next >= 0xa0);
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' && !surrogate {
            continue;
        }
        // The position is after the surrogate once its escape was written.
        out.extend_from_slice(text.get(plain..at).unwrap_or_default());
        plain = at + 1;
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            8 => out.extend(b"\\b"),
            12 => out.extend(b"\\f"),
            0xed => {
                let tail = |n: usize| u32::from(text.get(at + n).copied().unwrap_or(0x80) & 0x3f);
                out.extend(format!("\\u{:04x}", 0xd000 | (tail(1) << 6) | tail(2)).bytes());
                plain = at + 3;
            }
            control => out.extend(format!("\\u{control:04x}").bytes()),
        }
    }
    out.extend_from_slice(text.get(plain..).unwrap_or_default());
    out.push(b'"');
}

/// Returns true if [`write_string`] writes this checked string with escapes in the same way.
pub(crate) fn is_written(raw: &[u8]) -> bool {
    let mut written = Vec::with_capacity(raw.len() + 2);
    write_string(&mut written, &unescape(raw));
    written[1..written.len() - 1] == *raw
}

/// Appends checked JSON tokens without white space between them.
pub(crate) fn write_compact(out: &mut Vec<u8>, mut text: &[u8]) {
    // Most text has no white space at all. This fold needs few instructions per byte.
    if !text.iter().fold(false, |found, byte| found | (*byte <= b' ')) {
        return out.extend_from_slice(text);
    }
    while let Some(first) = text.first() {
        let len = match first {
            b' ' | b'\n' | b'\r' | b'\t' => {
                text = &text[1..];
                continue;
            }
            b'"' => string_len(text),
            _ => text.iter().position(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b'"')).unwrap_or(text.len()),
        };
        let (token, rest) = text.split_at(len);
        out.extend_from_slice(token);
        text = rest;
    }
}

/// Returns the length of the checked string at the start of a text, including its quotes.
fn string_len(text: &[u8]) -> usize {
    let mut len = 1;
    loop {
        len += plain_len(&text[len.min(text.len())..]);
        match text.get(len) {
            None => return text.len(),
            Some(b'"') => return len + 1,
            Some(b'\\') => len += 2,
            Some(_) => len += 1,
        }
    }
}

/// Appends a checked, compact JSON value, indented by two spaces per level starting at `level`.
pub(crate) fn write_pretty(out: &mut Vec<u8>, value: &[u8], level: usize) {
    let mut level = level;
    let mut bytes = value.iter().copied().peekable();
    let line = |out: &mut Vec<u8>, level: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * level, b' ');
    };
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                out.push(byte);
                while let Some(inner) = bytes.next() {
                    out.push(inner);
                    match inner {
                        b'\\' => out.extend(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'{' | b'[' => {
                out.push(byte);
                if let Some(close) = bytes.next_if(|next| *next == byte + 2) {
                    out.push(close);
                } else {
                    level += 1;
                    line(out, level);
                }
            }
            b'}' | b']' => {
                level = level.saturating_sub(1);
                line(out, level);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(out, level);
            }
            b':' => out.extend(b": "),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Scan<'_> {
        Scan::new(text.as_bytes(), 0, 64)
    }

    #[test]
    fn integers_are_exact_up_to_the_last_long() {
        assert_eq!(scan("9007199254740993,").number(), Ok(Number::Int((1 << 53) + 1)));
        assert_eq!(scan("9223372036854775807]").number(), Ok(Number::Int(i64::MAX)));
        assert_eq!(scan("9223372036854775808]").number(), Ok(Number::Huge { negative: false }));
        assert_eq!(scan("-9223372036854775808]").number(), Ok(Number::Int(i64::MIN)));
        assert_eq!(scan("-99999999999999999999 ").number(), Ok(Number::Huge { negative: true }));
    }

    #[test]
    fn integers_of_any_length_are_parsed_in_words() {
        let digits = "9081726354091827365";
        for len in 1..digits.len() {
            let value: i64 = digits[..len].parse().unwrap();
            for (sign, value) in [("", value), ("-", -value)] {
                for after in [",", "]", ", 123456789", "}   "] {
                    let text = format!("{sign}{}{after}", &digits[..len]);
                    let mut scan = scan(&text);
                    assert_eq!(scan.number(), Ok(Number::Int(value)), "{text}");
                    assert_eq!(scan.pos, sign.len() + len, "{text}");
                }
            }
            let text = format!("{}.5, 1234567", &digits[..len]);
            assert_eq!(scan(&text).number(), Ok(Number::Fraction(None)), "{text}");
            let text = format!("0{}, 1234567", &digits[..len]);
            assert!(matches!(scan(&text).number(), Err(Stop::Syntax(0, _))), "{text}");
        }
    }

    #[test]
    fn fractions_know_whether_they_are_integral() {
        for (text, value) in
            [("3.0,", Some(3)), ("1e3,", Some(1000)), ("12.50e1,", Some(125)), ("0.0e9,", Some(0)), ("2.5,", None)]
        {
            assert_eq!(scan(text).number(), Ok(Number::Fraction(value)), "{text}");
        }
        assert_eq!(scan("-1E+2]").number(), Ok(Number::Fraction(Some(-100))));
        assert_eq!(scan("1e400,").number(), Ok(Number::Fraction(None)));
    }

    #[test]
    fn a_number_at_the_very_end_may_be_cut_short() {
        assert_eq!(scan("12").number(), Err(Stop::End));
        assert_eq!(scan("1.").number(), Err(Stop::End));
        assert_eq!(scan("01,").number(), Err(Stop::Syntax(0, "a number without leading zeros")));
    }

    #[test]
    fn skipping_checks_the_grammar() {
        let mut nested = scan(r#" {"a":[1,{"b":null}],"c":"}]"} ,"#);
        assert_eq!(nested.skip(), Ok(&br#"{"a":[1,{"b":null}],"c":"}]"}"#[..]));
        assert!(matches!(scan("[1,]").skip(), Err(Stop::Syntax(3, _))));
        assert!(matches!(scan("{\"a\" 1}").skip(), Err(Stop::Syntax(5, _))));
        assert!(matches!(scan("NaN,").skip(), Err(Stop::Syntax(0, _))));
        assert_eq!(scan("[1,[2").skip(), Err(Stop::End));
        assert_eq!(scan("tru").skip(), Err(Stop::End));
        let deep = "[".repeat(65);
        assert!(matches!(scan(&deep).skip(), Err(Stop::Syntax(64, _))));
    }

    #[test]
    fn strings_survive_reading_and_writing() {
        for (written, value) in [
            (r#""plain é""#, "plain é".as_bytes().to_vec()),
            (r#""q\"b\\n\n\u0001""#, b"q\"b\\n\n\x01".to_vec()),
            (r#""x\ud800y""#, b"x\xed\xa0\x80y".to_vec()),
            (r#""\udc00\ud800""#, b"\xed\xb0\x80\xed\xa0\x80".to_vec()),
        ] {
            assert_eq!(scan(written).string().unwrap().as_ref(), value, "{written}");
            let mut out = Vec::new();
            write_string(&mut out, &value);
            assert_eq!(String::from_utf8(out).unwrap(), written);
        }
        assert_eq!(scan(r#""\ud83d\ude00\/""#).string().unwrap().as_ref(), "😀/".as_bytes());
    }

    #[test]
    fn white_space_goes_and_comes_back() {
        let mut compact = Vec::new();
        write_compact(&mut compact, b" { \"a b\\\" \" : [ 1 , 2 ] , \"c\" : { } } ");
        assert_eq!(compact, br#"{"a b\" ":[1,2],"c":{}}"#);
        let mut pretty = Vec::new();
        write_pretty(&mut pretty, &compact, 0);
        assert_eq!(String::from_utf8(pretty).unwrap(), "{\n  \"a b\\\" \": [\n    1,\n    2\n  ],\n  \"c\": {}\n}");
    }

    #[test]
    fn lists_of_numbers_are_skipped_whatever_their_form() {
        let long: Vec<String> = (0..300u64).map(|at| (at * at * at * 7919).to_string()).collect();
        for list in [
            long.join(","),
            long.join(" , "),
            "1,22,-3,4.5,66,7e8,0,123456789012345,1234567890123456,18446744073709551616,5".to_string(),
        ] {
            for text in [format!("[{list}],"), format!("{{\"a\":[[{list}],{list}],\"b\":7}},")] {
                let skipped = Scan::new(text.as_bytes(), 0, 9).skip().unwrap();
                assert_eq!(skipped, &text.as_bytes()[..text.len() - 1]);
                for end in [text.len() - 2, text.len() / 2] {
                    assert_eq!(Scan::new(&text.as_bytes()[..end], 0, 9).skip(), Err(Stop::End), "{text}");
                }
            }
        }
        for (wrong, at) in [("[1,02] ", 3), ("[1,2.] ", 5), ("[1,2,] ", 5), ("[1,2 3] ", 5), ("[1,2:3] ", 4)] {
            assert!(
                matches!(Scan::new(wrong.as_bytes(), 0, 9).skip(), Err(Stop::Syntax(found, _)) if found == at),
                "{wrong}"
            );
        }
    }
}
