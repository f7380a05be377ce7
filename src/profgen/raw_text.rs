//! The text form of counters: an unsymbolized profile.
//!
//! The number of runs, then a line `START-END:COUNT` for each; the number of branches, then `SOURCE->TARGET:COUNT` for
//! each. Addresses are hexadecimal and relative to a base.

use super::counters::{Counters, Counts};
use crate::digits;
use crate::error::{Error, Result};

/// Writes counters; addresses are relative to `base`.
pub(super) fn write(counters: &Counters, base: u64) -> Vec<u8> {
    let mut text = Vec::new();
    push_counters(&mut text, counters, base, "");
    text
}

/// Writes counters by the text of their calling context.
pub(super) fn write_contexts(blocks: &[(Vec<u8>, &Counters)], base: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for (title, counters) in blocks {
        text.push(b'[');
        text.extend_from_slice(title);
        text.extend_from_slice(b"]\n");
        push_counters(&mut text, counters, base, "  ");
    }
    text
}

fn push_counters(text: &mut Vec<u8>, counters: &Counters, base: u64, indent: &str) {
    let mut line = |line: String| {
        text.extend_from_slice(indent.as_bytes());
        text.extend_from_slice(line.as_bytes());
    };
    for (counts, separator) in [(&counters.runs, "-"), (&counters.branches, "->")] {
        line(format!("{}\n", counts.len()));
        for ((first, second), count) in counts {
            let (first, second) = (first.wrapping_sub(base), second.wrapping_sub(base));
            line(format!("{first:x}{separator}{second:x}:{count}\n"));
        }
    }
}

/// Reads counters that were written relative to `base`.
///
/// # Errors
///
/// Malformed, with the number of the line.
pub(super) fn read(text: &[u8], base: u64) -> Result<Counters> {
    let mut reader = Reader { lines: lines(text), number: 0, base };
    if text.is_empty() {
        return Ok(Counters::default());
    }
    if has_contexts(text) {
        let error = Error::malformed("the unsymbolized profile has calling contexts").at_line(1);
        return Err(error.with_hint("make a profile with calling contexts"));
    }
    let counters = reader.counters()?;
    match reader.lines.next() {
        None => Ok(counters),
        Some(line) => Err(reader.invalid(line)),
    }
}

/// Returns true for counters by calling context.
pub(super) fn has_contexts(text: &[u8]) -> bool {
    text.starts_with(b"[")
}

/// Reads counters that were written relative to `base`, with the text of their calling contexts.
///
/// # Errors
///
/// Malformed, with the number of the line.
pub(super) fn read_contexts(text: &[u8], base: u64) -> Result<Vec<(&[u8], Counters)>> {
    let mut reader = Reader { lines: lines(text), number: 0, base };
    let mut blocks = Vec::new();
    while let Some(line) = reader.lines.next() {
        reader.number += 1;
        let title = line.strip_prefix(b"[").and_then(|title| title.trim_ascii_end().strip_suffix(b"]"));
        let title = title.ok_or_else(|| reader.invalid(line))?;
        blocks.push((title, reader.counters()?));
    }
    Ok(blocks)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n')
}

struct Reader<'t, L: Iterator<Item = &'t [u8]>> {
    lines: L,
    number: u64,
    base: u64,
}

impl<'t, L: Iterator<Item = &'t [u8]>> Reader<'t, L> {
    fn line(&mut self) -> Result<&'t [u8]> {
        let truncated = || Error::malformed("the counters end early").with_llvm_message("Invalid raw profile!");
        let line = self.lines.next().ok_or_else(truncated)?;
        self.number += 1;
        Ok(line)
    }

    fn invalid(&self, line: &[u8]) -> Error {
        let (number, shown) = (self.number.max(1), String::from_utf8_lossy(line));
        Error::malformed(format!("invalid counter {:?}", shown.trim()))
            .with_llvm_message(format!("Invalid raw profile at line {number}: {shown}"))
            .at_line(number)
    }

    fn counters(&mut self) -> Result<Counters> {
        let mut counters = Counters::default();
        self.counts(b"-", &mut counters.runs)?;
        self.counts(b"->", &mut counters.branches)?;
        Ok(counters)
    }

    fn counts(&mut self, separator: &[u8], counts: &mut Counts) -> Result<()> {
        let line = self.line()?;
        let number = digits::parse_decimal(line.trim_ascii_start()).ok_or_else(|| self.invalid(line))?;
        for _ in 0..number {
            let line = self.line()?;
            let (key, count) = entry(line.trim_ascii_start(), separator).ok_or_else(|| self.invalid(line))?;
            let key = (key.0.wrapping_add(self.base), key.1.wrapping_add(self.base));
            let sum = counts.entry(key).or_default();
            *sum = sum.wrapping_add(count);
        }
        Ok(())
    }
}

fn entry(line: &[u8], separator: &[u8]) -> Option<((u64, u64), u64)> {
    let colon = memchr::memchr(b':', line)?;
    let count = digits::parse_decimal(&line[colon + 1..])?;
    let at = memchr::memmem::find(&line[..colon], separator)?;
    let (first, second) = (&line[..at], &line[at + separator.len()..colon]);
    Some(((digits::parse_hex(first)?, digits::parse_hex(second)?), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters() -> Counters {
        let runs = [((0x1090, 0x10a1), 3), ((0x1100, 0x1100), 1)].into();
        let branches = [((1, 0x1090), 2), ((0x10a1, 0x1100), 4)].into();
        Counters { runs, branches, ..Counters::default() }
    }

    #[test]
    fn counters_are_read_as_they_were_written() {
        let text = write(&counters(), 0x1000);
        let expected = "2\n90-a1:3\n100-100:1\n2\nfffffffffffff001->90:2\na1->100:4\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        assert_eq!(read(&text, 0x1000).unwrap(), counters());
    }

    #[test]
    fn faults_have_the_number_of_their_line() {
        for (text, llvm) in [
            ("x\n", "Invalid raw profile at line 1: x"),
            ("1\n90-a1\n", "Invalid raw profile at line 2: 90-a1"),
            ("1\n90-a1:3\n", "Invalid raw profile!"),
            ("1\n90-a1:3\n1\n1->g:2\n", "Invalid raw profile at line 4: 1->g:2"),
            ("99999999999999999999\n", "Invalid raw profile at line 1: 99999999999999999999"),
        ] {
            assert_eq!(read(text.as_bytes(), 0).unwrap_err().llvm_message(), llvm, "{text}");
        }
        assert!(read(b"[main]\n", 0).is_err());
        assert!(read(b"0\n0\nrest\n", 0).is_err());
    }
}
