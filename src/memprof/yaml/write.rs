//! Prints memory profiles as YAML, with the bytes of LLVM's YAML writer.

use crate::memprof::hotness::{ContextKey, HotnessThresholds, MemProfSummary};
use crate::memprof::model::{AllocSite, CallSite, MemProfRecord, MemoryProfile};
use crate::memprof::model::{DataAccessProfile, DataSymbol};
use crate::memprof::model::{Frame, StackHandle};
use crate::model::Release;
use std::io::{self, Write};

/// The comments before the document.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Comments {
    /// None.
    None,
    /// A summary.
    Summary(MemProfSummary),
    /// A summary that is computed. Like LLVM's reader, the computation ignores whether frames are inlined.
    ComputedSummary(HotnessThresholds),
}

/// Whether the sites of a function are printed if there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmptySites {
    /// As empty lists, which LLVM 20 and 21 need. Later releases read them, too.
    Printed,
    /// Not at all, as LLVM 22 and later print it.
    Omitted,
}

impl EmptySites {
    /// Returns the choice of a release.
    pub fn of(release: Release) -> Self {
        if release < Release(22) { Self::Printed } else { Self::Omitted }
    }
}

/// Prints a profile.
///
/// # Errors
///
/// The errors of `out`.
pub fn write(
    profile: &MemoryProfile,
    comments: Comments,
    empty_sites: EmptySites,
    out: &mut dyn Write,
) -> io::Result<()> {
    let summary = match comments {
        Comments::None => None,
        Comments::Summary(stored) => Some(stored),
        Comments::ComputedSummary(thresholds) => Some(MemProfSummary::by(profile, ContextKey::Places, &thresholds)),
    };
    if let Some(summary) = summary {
        write_summary(&summary, profile.data_access.as_ref(), out)?;
    }
    let frames = vec![None; profile.stacks.frames().len()];
    let mut printer = Printer { out, column: 0, frames, empty_sites };
    printer.document(profile)
}

/// Prints a summary as comments in a separate document.
pub(crate) fn write_summary(
    summary: &MemProfSummary,
    data: Option<&DataAccessProfile>,
    out: &mut dyn Write,
) -> io::Result<()> {
    const LABELS: [&str; 6] = [
        "Total contexts",
        "Total cold contexts",
        "Total hot contexts",
        "Maximum cold context total size",
        "Maximum warm context total size",
        "Maximum hot context total size",
    ];
    writeln!(out, "---\n# MemProfSummary:")?;
    for (label, number) in LABELS.into_iter().zip(summary.numbers()) {
        writeln!(out, "#   {label}: {number}")?;
    }
    if let Some(data) = data {
        writeln!(out, "#   Num hot symbols and string literals: {}", data.records.len())?;
        writeln!(out, "#   Num known cold symbols: {}", data.cold_symbols.len())?;
        writeln!(out, "#   Num known cold string literals: {}", data.cold_string_hashes.len())?;
    }
    Ok(())
}

/// The maximum column where another item of a flow list starts.
const LAST_COLUMN: usize = 80;
/// The column of values, from the start of their key.
const VALUE_COLUMN: usize = 17;

struct Printer<'a> {
    out: &'a mut dyn Write,
    /// The number of characters on the line.
    column: usize,
    /// The formatted lines of frames, because many stacks share few frames.
    frames: Vec<Option<Vec<u8>>>,
    empty_sites: EmptySites,
}

/// Formats a frame of a call stack as a line.
fn frame_line(frame: Frame) -> Vec<u8> {
    let Frame { function, line_offset, column, is_inline } = frame;
    let entries = [
        format!("Function: {function:#x}"),
        format!("LineOffset: {line_offset}"),
        format!("Column: {column}"),
        format!("IsInlineFrame: {is_inline}"),
    ];
    let mut line = Vec::new();
    let mut printer = Printer { out: &mut line, column: 0, frames: Vec::new(), empty_sites: EmptySites::Omitted };
    let printed = printer.text("          - ").and_then(|()| printer.flow(["{ ", " }"], entries.into_iter()));
    printed.expect("memory takes everything");
    line
}

impl Printer<'_> {
    fn document(&mut self, profile: &MemoryProfile) -> io::Result<()> {
        self.line("---")?;
        if profile.is_empty() {
            self.line("{}")?;
        }
        if !profile.records().is_empty() {
            self.line("HeapProfileRecords:")?;
            profile.records().iter().try_for_each(|record| self.record(record, profile))?;
        }
        if let Some(data) = &profile.data_access {
            self.data_access(data)?;
        }
        self.line("...")
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.column += text.len();
        self.out.write_all(text.as_bytes())
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.column = 0;
        self.out.write_all(b"\n")
    }

    /// Writes a key after `before`, padded to the column of its value.
    fn key(&mut self, before: &str, key: &str) -> io::Result<()> {
        let blanks = VALUE_COLUMN.saturating_sub(key.len() + 1).max(1);
        self.text(before)?;
        self.text(key)?;
        self.text(":")?;
        self.text(&" ".repeat(blanks))
    }

    fn entry(&mut self, before: &str, key: &str, value: &str) -> io::Result<()> {
        self.key(before, key)?;
        self.line(value)
    }

    fn record(&mut self, record: &MemProfRecord, profile: &MemoryProfile) -> io::Result<()> {
        self.entry("  - ", "GUID", &format!("{:#x}", record.function))?;
        self.list("AllocSites", record.alloc_sites.is_empty())?;
        record.alloc_sites.iter().try_for_each(|site| self.alloc_site(site, profile))?;
        self.list("CallSites", record.call_sites.is_empty())?;
        record.call_sites.iter().try_for_each(|site| self.call_site(site, profile))
    }

    fn list(&mut self, key: &str, is_empty: bool) -> io::Result<()> {
        match (is_empty, self.empty_sites) {
            (false, _) => self.line(&format!("    {key}:")),
            (true, EmptySites::Printed) => self.entry("    ", key, "[]"),
            (true, EmptySites::Omitted) => Ok(()),
        }
    }

    fn alloc_site(&mut self, site: &AllocSite, profile: &MemoryProfile) -> io::Result<()> {
        self.stack("Callstack", site.stack, profile)?;
        self.line("        MemInfoBlock:")?;
        for field in profile.schema.fields() {
            self.entry("          ", field.name(), &site.info.value(field).to_string())?;
        }
        Ok(())
    }

    fn call_site(&mut self, site: &CallSite, profile: &MemoryProfile) -> io::Result<()> {
        self.stack("Frames", site.frames, profile)?;
        if !site.callees.is_empty() {
            self.key("        ", "CalleeGuids")?;
            self.flow(["[ ", " ]"], site.callees.iter().map(|callee| format!("{callee:#x}")))?;
        }
        Ok(())
    }

    fn stack(&mut self, key: &str, stack: StackHandle, profile: &MemoryProfile) -> io::Result<()> {
        if profile.stacks.stack(stack).is_empty() {
            return self.entry("      - ", key, "[]");
        }
        self.line(&format!("      - {key}:"))?;
        for frame in profile.stacks.stack(stack) {
            let text = self.frames[frame.index()].get_or_insert_with(|| frame_line(profile.stacks.frame(*frame)));
            self.out.write_all(text)?;
        }
        Ok(())
    }

    /// Writes a list or map in brackets, on several lines if it is long.
    fn flow(&mut self, [open, close]: [&str; 2], items: impl Iterator<Item = String>) -> io::Result<()> {
        let start = self.column;
        self.text(open)?;
        for (at, item) in items.enumerate() {
            if at != 0 {
                self.text(", ")?;
            }
            if self.column > LAST_COLUMN {
                self.line("")?;
                self.text(&" ".repeat(start + 2))?;
            }
            self.text(&item)?;
        }
        self.line(close)
    }

    fn data_access(&mut self, data: &DataAccessProfile) -> io::Result<()> {
        if data.is_empty() {
            return self.entry("", "DataAccessProfiles", "{}");
        }
        self.line("DataAccessProfiles:")?;
        let mut records: Vec<_> = data.records.iter().collect();
        records.sort_by_key(|record| std::cmp::Reverse(record.access_count));
        if !records.is_empty() {
            self.line("  SampledRecords:")?;
        }
        for record in records {
            match &record.symbol {
                DataSymbol::Name(name) => self.bytes_entry("    - ", "Symbol", name)?,
                DataSymbol::StringHash(hash) => self.entry("    - ", "Hash", &hash.to_string())?,
            }
            self.entry("      ", "AccessCount", &record.access_count.to_string())?;
            if !record.locations.is_empty() {
                self.line("      Locations:")?;
            }
            for location in &record.locations {
                self.bytes_entry("        - ", "FileName", &location.file)?;
                self.entry("          ", "Line", &location.line.to_string())?;
            }
        }
        let mut symbols: Vec<_> = data.cold_symbols.iter().collect();
        symbols.sort();
        if !symbols.is_empty() {
            self.line("  KnownColdSymbols:")?;
        }
        for symbol in symbols {
            self.text("    - ")?;
            self.bytes_line(symbol)?;
        }
        let mut hashes = data.cold_string_hashes.clone();
        hashes.sort_unstable();
        if !hashes.is_empty() {
            self.key("  ", "KnownColdStrHashes")?;
            self.flow(["[ ", " ]"], hashes.iter().map(u64::to_string))?;
        }
        Ok(())
    }

    fn bytes_entry(&mut self, before: &str, key: &str, value: &[u8]) -> io::Result<()> {
        self.key(before, key)?;
        self.bytes_line(value)
    }

    /// Writes a name, in quotes if YAML requires them.
    fn bytes_line(&mut self, text: &[u8]) -> io::Result<()> {
        match quoting(text) {
            Quoting::None => self.out.write_all(text)?,
            Quoting::Single => {
                self.out.write_all(b"'")?;
                for part in text.split_inclusive(|byte| *byte == b'\'') {
                    self.out.write_all(part)?;
                    if part.ends_with(b"'") {
                        self.out.write_all(b"'")?;
                    }
                }
                self.out.write_all(b"'")?;
            }
            Quoting::Double => write!(self.out, "\"{}\"", escaped(text))?,
        }
        self.line("")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    None,
    Single,
    Double,
}

fn quoting(text: &[u8]) -> Quoting {
    if text.iter().any(|byte| matches!(byte, 0..=8 | 10..=31 | 0x7f..)) {
        return Quoting::Double;
    }
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-^., \t".contains(byte);
    let blank_end = [text.first(), text.last()].into_iter().flatten().any(u8::is_ascii_whitespace);
    let starts_badly = text.first().is_some_and(|byte| b"-?:\\,[]{}#&*!|>'\"%@`".contains(byte));
    if text.is_empty() || blank_end || starts_badly || !text.iter().all(plain) || reads_as_other(text) {
        Quoting::Single
    } else {
        Quoting::None
    }
}

/// Returns true if a scalar would be parsed as a number, a boolean or null.
fn reads_as_other(text: &[u8]) -> bool {
    const WORDS: [&str; 10] = ["null", "Null", "NULL", "~", "true", "True", "TRUE", "false", "False", "FALSE"];
    let Ok(text) = std::str::from_utf8(text) else { return false };
    WORDS.contains(&text) || is_number(text)
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let all = |digits: &str, is_digit: fn(char) -> bool| !digits.is_empty() && digits.chars().all(is_digit);
    if let Some(digits) = text.strip_prefix("0x") {
        return all(digits, |c| c.is_ascii_hexdigit());
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return all(digits, |c| c.is_digit(8));
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    let has_digit = !whole.is_empty() || !fraction.is_empty();
    has_digit && digits(whole) && digits(fraction) && exponent.is_none_or(|e| all(e, |c| c.is_ascii_digit()))
}

/// Returns the text of a string in double quotes.
fn escaped(text: &[u8]) -> String {
    let mut escaped = String::new();
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => escaped.push_str("\\\\"),
                '"' => escaped.push_str("\\\""),
                '\0' => escaped.push_str("\\0"),
                '\u{7}' => escaped.push_str("\\a"),
                '\u{8}' => escaped.push_str("\\b"),
                '\t' => escaped.push_str("\\t"),
                '\n' => escaped.push_str("\\n"),
                '\u{b}' => escaped.push_str("\\v"),
                '\u{c}' => escaped.push_str("\\f"),
                '\r' => escaped.push_str("\\r"),
                '\u{1b}' => escaped.push_str("\\e"),
                c if u32::from(c) < 0x20 || u32::from(c) == 0x7f => {
                    escaped.push_str(&format!("\\x{:02X}", u32::from(c)))
                }
                c => escaped.push(c),
            }
        }
        // A replacement character replaces bytes that are not UTF-8.
        if !chunk.invalid().is_empty() {
            escaped.push('\u{fffd}');
        }
    }
    escaped
}
