//! Numbers and contexts as text.

use crate::iprof::context::ContextHandle;
use crate::iprof::document::Document;

/// Numbers of up to three digits: all three of them, and how many are left without zeros in front.
const SMALL: [[u8; 4]; 1000] = {
    let mut texts = [[b'0'; 4]; 1000];
    let mut number = 0;
    while number < 1000 {
        texts[number][0] += (number / 100) as u8;
        texts[number][1] += (number / 10 % 10) as u8;
        texts[number][2] += (number % 10) as u8;
        texts[number][3] = 1 + (number >= 10) as u8 + (number >= 100) as u8;
        number += 1;
    }
    texts
};

/// Appends a decimal number.
#[inline]
pub(crate) fn write_number(out: &mut Vec<u8>, number: u64) {
    match SMALL.get(usize::try_from(number).unwrap_or(usize::MAX)) {
        Some(text) => {
            let len = usize::from(text[3]);
            let digits = u32::from_le_bytes(*text) >> (8 * (3 - len));
            write_short(out, &digits.to_le_bytes(), len);
        }
        None => write_long(out, number),
    }
}

/// Appends the first `len` bytes of a text. A copy of fixed length is quicker than one of the right length.
#[inline]
fn write_short<const N: usize>(out: &mut Vec<u8>, text: &[u8; N], len: usize) {
    let end = out.len() + len;
    out.extend_from_slice(text);
    out.truncate(end);
}

fn write_long(out: &mut Vec<u8>, mut number: u64) {
    // What stands behind the digits is copied with them, see `write_short`.
    let mut digits = [0; 2 * LONGEST];
    let mut start = LONGEST;
    // Three at a time; the first group keeps no zeros in front.
    loop {
        let group = SMALL[(number % 1000) as usize];
        start -= 3;
        digits[start..start + 3].copy_from_slice(&group[..3]);
        number /= 1000;
        if number == 0 {
            start += 3 - usize::from(group[3]);
            break;
        }
    }
    if let Some(digits) = digits[start..].first_chunk::<LONGEST>() {
        write_short(out, digits, LONGEST - start);
    }
}

/// Digits of the largest number, and one more that makes groups of three.
const LONGEST: usize = 21;

/// Appends a number with its sign.
#[inline]
pub(super) fn write_signed(out: &mut Vec<u8>, number: i32) {
    if number < 0 {
        out.push(b'-');
    }
    write_number(out, u64::from(number.unsigned_abs()));
}

/// The text `<id:` of every method, made once: contexts repeat it for each frame.
#[derive(Default)]
pub(super) struct FrameTexts(Vec<[u8; FrameTexts::BYTES]>);

impl FrameTexts {
    /// Bracket, ten digits, colon, and last how many bytes of these are used; so many as are quickly copied.
    const BYTES: usize = 16;

    /// Makes the texts unless they are there or nothing needs them.
    pub(super) fn ready(self, document: &Document) -> Self {
        if !self.0.is_empty() || document.contexts.is_empty() {
            return self;
        }
        let tables = &document.tables;
        let mut number = Vec::new();
        let text = |handle| {
            number.clear();
            number.push(b'<');
            write_number(&mut number, u64::from(tables.method_id(handle)));
            number.push(b':');
            let mut text = [0; Self::BYTES];
            text[..number.len()].copy_from_slice(&number);
            text[Self::BYTES - 1] = number.len() as u8;
            text
        };
        Self(tables.methods().map(text).collect())
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
    fn numbers_of_every_length_are_written_as_they_are() {
        let edges = (0..20).flat_map(|power| {
            let ten = 10u64.pow(power);
            [ten - 1, ten, ten + 1, 7 * (ten / 10) + ten % 7]
        });
        for number in edges.chain([u64::MAX, 1_000_000, 1_001_001, 20_030, 999_999]) {
            let mut text = b"x".to_vec();
            write_number(&mut text, number);
            assert_eq!(String::from_utf8(text).unwrap(), format!("x{number}"));
        }
        let mut text = Vec::new();
        [i32::MIN, -6, 0, 65534].into_iter().for_each(|number| write_signed(&mut text, number));
        assert_eq!(text, b"-2147483648-6065534");
    }
}
