//! The parser of text profiles, from lines to batches of records. It does not depend on earlier records, so another
//! thread can parse ahead. [`evidence`] detects text profiles.

use super::lines::{Line, LineKind, Lines, Piece};
use super::{EXTERNAL, directive, parse_any_radix};
use crate::ascii::{percent_decode, trim};
use crate::bytes::{Confidence, Head, begins_as_text, without_byte_order_mark};
use crate::compat::Compat;
use crate::digits::parse_decimal;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{self, HOLD_COUNTERS};
use crate::model::{
    FunctionRecord, NameRef, ProfileKind, SymbolTable, TemporalProfile, TemporalTrace, ValueCount, ValueKind, name_ref,
    name_refs,
};
use std::ops::Range;

/// The part before the records.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) kind: ProfileKind,
    pub(super) temporal: TemporalProfile,
    /// Names in the traces, in profbridge mode.
    pub(super) symbols: SymbolTable,
}

/// Parses a chunk of a file from front to back. The result for an item that may continue in the next chunk is invalid,
/// see [`needs_more`](Self::needs_more).
#[derive(Debug)]
pub(super) struct Parser<'data> {
    lines: Lines<'data>,
    compat: Compat,
}

impl<'data> Parser<'data> {
    /// Creates a parser that starts at a position in the chunk.
    pub(super) fn new(piece: Piece<'data>, position: usize, compat: Compat) -> Self {
        Self { lines: Lines::new(piece, position, !compat.is_llvm()), compat }
    }

    /// Returns the position in the chunk.
    pub(super) fn position(&self) -> usize {
        self.lines.position()
    }

    /// Returns true if the last item may continue in the next chunk.
    pub(super) fn needs_more(&self) -> bool {
        self.lines.needs_more()
    }

    /// Parses the header lines and the traces.
    pub(super) fn read_header(&mut self) -> Result<Header> {
        let mut header = Header::default();
        while let Some(line) = self.lines.peek() {
            let Some(keyword) = line.text.strip_prefix(b":").filter(|_| line.kind == LineKind::Plain) else { break };
            self.lines.next_line();
            match keyword.to_ascii_lowercase().as_slice() {
                b"ir" => header.kind |= ProfileKind::IR,
                b"fe" => header.kind |= ProfileKind::FRONT_END,
                b"csir" => header.kind |= ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE,
                b"entry_first" => header.kind |= ProfileKind::ENTRY_FIRST,
                b"not_entry_first" => header.kind = header.kind.without(ProfileKind::ENTRY_FIRST),
                b"instrument_loop_entries" => header.kind |= ProfileKind::LOOP_ENTRIES,
                b"single_byte_coverage" => header.kind |= ProfileKind::BYTE_COVERAGE,
                b"temporal_prof_traces" => {
                    header.kind |= ProfileKind::TEMPORAL;
                    self.parse_traces(&mut header)?;
                }
                _ => {
                    let detail = format!("unknown keyword :{}", keyword.escape_ascii());
                    return Err(self.at(line, Error::bad_header(detail)));
                }
            }
        }
        Ok(header)
    }

    fn parse_traces(&mut self, header: &mut Header) -> Result<()> {
        let count = self.trace_number("number of traces", u32::MAX.into())?;
        header.temporal.stream_size = self.trace_number("trace stream size", u64::MAX)?;
        for _ in 0..count {
            let weight = self.trace_number("trace weight", u64::MAX)?;
            let line = self.trace_line()?;
            let functions = if line.kind == LineKind::Functions {
                self.trace_line()?;
                let hashes = line.text.split(|byte| *byte == b',').filter(|piece| !piece.is_empty());
                let hashes = hashes
                    .map(|piece| parse_any_radix(piece).ok_or_else(|| self.not_a_number(line, "name hash", piece)));
                hashes.collect::<Result<_>>()?
            } else {
                let names = line.text.split(|byte| *byte == b',').filter(|piece| !piece.is_empty());
                names.map(|name| self.trace_function(trim(name), header)).collect::<Result<_>>()?
            };
            header.temporal.traces.push(TemporalTrace { weight, functions });
        }
        Ok(())
    }

    /// LLVM does not collect names from traces.
    fn trace_function(&self, name: &[u8], header: &mut Header) -> Result<NameRef> {
        if self.compat.is_llvm() {
            return Ok(name_ref(name));
        }
        Ok(header.symbols.insert(name))
    }

    fn trace_number(&mut self, what: &'static str, max: u64) -> Result<u64> {
        let line = self.trace_line()?;
        parse_any_radix(line.text)
            .filter(|number| *number <= max)
            .ok_or_else(|| self.not_a_number(line, what, line.text))
    }

    fn trace_line(&mut self) -> Result<Line<'data>> {
        self.lines.next_line().ok_or_else(|| {
            let error = Error::new(ErrorKind::EndOfFile)
                .with_hint("record or copy the profile again; the file ends inside the temporal traces");
            self.at_end(error)
        })
    }

    /// Parses the next records until the batch is full. A batch that is not full ends with the chunk or with its error.
    pub(super) fn parse_batch(&mut self, batch: &mut Batch) {
        batch.clear();
        let start = self.position();
        while batch.has_room(self.position() - start) {
            let (position, records, targets) = (self.position(), batch.items().len(), batch.targets.len());
            let parsed = self.parse_record(batch);
            if self.needs_more() {
                batch.forget(records, targets);
                self.lines.go_back(position);
                break;
            }
            match parsed {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    batch.error = Some(error);
                    break;
                }
            }
        }
        batch.hash_names();
    }

    /// Parses one record. Returns false at the end.
    fn parse_record(&mut self, batch: &mut Batch) -> Result<bool> {
        let Some(line) = self.lines.next_line() else { return Ok(false) };
        let mut item = batch.spare_item();
        match line.kind {
            LineKind::Name => {
                item.name = percent_decode(line.text)
                    .ok_or_else(|| self.at(line, Error::malformed("a % without two hexadecimal digits after it")))?;
            }
            LineKind::Plain => item.name.extend_from_slice(line.text),
            _ => return Err(self.at(line, Error::malformed("expected a name"))),
        }
        let line = self.line("FuncHash")?;
        item.record.func_hash = parse_any_radix(line.text).ok_or_else(|| {
            self.not_a_number(line, "FuncHash", line.text).with_llvm_detail("function hash is not a valid integer")
        })?;
        self.parse_counters(&mut item)?;
        self.parse_bitmap(&mut item)?;
        self.parse_values(&mut item, batch)?;
        batch.push(item);
        Ok(true)
    }

    fn parse_counters(&mut self, item: &mut Item) -> Result<()> {
        let counters = &mut item.record.counters;
        let line = self.line("number of counters")?;
        let count = parse_decimal(line.text).ok_or_else(|| {
            let llvm = "number of counters is not a valid integer";
            self.not_a_number(line, "number of counters", line.text).with_llvm_detail(llvm)
        })?;
        if count == 0 {
            let error = Error::malformed("a record has no counters").with_llvm_detail("number of counters is zero");
            return Err(self.at(line, error));
        }
        // Every counter has at least a digit and a line end.
        let most = usize::try_from(count).unwrap_or(usize::MAX).min(self.lines.left() / 2 + 1);
        memory::reserve(counters, most, HOLD_COUNTERS)?;
        loop {
            self.lines.take_numbers(count - counters.len() as u64, counters);
            if counters.len() as u64 == count {
                return Ok(());
            }
            let line = self.line("counter")?;
            counters.push(
                parse_decimal(line.text).ok_or_else(|| {
                    self.not_a_number(line, "counter", line.text).with_llvm_detail("count is invalid")
                })?,
            );
        }
    }

    fn parse_bitmap(&mut self, item: &mut Item) -> Result<()> {
        let next = self.lines.peek().filter(|line| line.kind == LineKind::Plain && line.text.starts_with(b"$"));
        let Some(line) = next else { return Ok(()) };
        item.has_bitmap = true;
        self.lines.next_line();
        let size = trim(&line.text[1..]);
        let size = parse_any_radix(size).ok_or_else(|| {
            let llvm = "number of bitmap bytes is not a valid integer";
            let hint = "write a line $0 before a function name that begins with $";
            self.not_a_number(line, "number of bitmap bytes", size).with_llvm_detail(llvm).with_hint(hint)
        })?;
        // LLVM counts these lines with 8 bits, so it never reaches a higher number.
        let endless = self.compat.is_llvm() && size > 255;
        for _ in 0..if endless { u64::MAX } else { size } {
            let line = self.line("bitmap byte")?;
            let byte = parse_any_radix(line.text).and_then(|byte| u8::try_from(byte).ok()).ok_or_else(|| {
                self.not_a_number(line, "bitmap byte", line.text).with_llvm_detail("bitmap byte is not a valid integer")
            })?;
            item.record.bitmap.push(byte);
        }
        Ok(())
    }

    fn parse_values(&mut self, item: &mut Item, batch: &mut Batch) -> Result<()> {
        let next = self.lines.peek().filter(|line| line.kind == LineKind::Plain);
        let Some((line, kinds)) = next.and_then(|line| Some((line, parse_u32(line.text)?))) else { return Ok(()) };
        self.lines.next_line();
        if kinds == 0 || kinds as usize > ValueKind::COUNT {
            let detail = format!("{kinds} value kinds, expected 1 to {}", ValueKind::COUNT);
            let error = Error::malformed(detail).with_llvm_detail("number of value kinds is invalid");
            return Err(self.at(line, error));
        }
        for _ in 0..kinds {
            let (line, number) = self.value_number("value kind")?;
            let Some(kind) = ValueKind::from_number(number) else {
                let detail = format!("value kind {number}, expected 0 to {}", ValueKind::COUNT - 1);
                return Err(self.at(line, Error::malformed(detail).with_llvm_detail("value kind is invalid")));
            };
            let (_, sites) = self.value_number("number of value sites")?;
            for _ in 0..sites {
                self.parse_site(kind, item, batch)?;
            }
        }
        Ok(())
    }

    fn value_number(&mut self, what: &'static str) -> Result<(Line<'data>, u32)> {
        let line = self.line(what)?;
        match parse_u32(line.text) {
            Some(number) => Ok((line, number)),
            None => Err(self.not_a_number(line, what, line.text)),
        }
    }

    fn parse_site(&mut self, kind: ValueKind, item: &mut Item, batch: &mut Batch) -> Result<()> {
        let sites = item.record.sites_mut(kind);
        let (_, values) = self.value_number("number of values")?;
        for _ in 0..values {
            let mut line = self.any_line("value")?;
            let mut known = None;
            if line.kind == LineKind::Target {
                known =
                    Some(parse_any_radix(line.text).ok_or_else(|| self.not_a_number(line, "name hash", line.text))?);
                line = self.any_line("value")?;
            }
            if line.kind != LineKind::Plain {
                return Err(self.at(line, Error::malformed("expected a value")));
            }
            let colon = line.text.iter().rposition(|byte| *byte == b':').unwrap_or(line.text.len());
            let (value, count) = line.text.split_at(colon);
            let value = match known {
                Some(hash) => hash,
                None => self.parse_value(line, kind, value, batch)?,
            };
            let count = count.get(1..).unwrap_or_default();
            let count = parse_decimal(count).ok_or_else(|| self.not_a_number(line, "count of a value", count))?;
            sites.push_value(ValueCount { value, count });
        }
        sites.end_site();
        Ok(())
    }

    fn parse_value(&self, line: Line<'data>, kind: ValueKind, text: &[u8], batch: &mut Batch) -> Result<u64> {
        if !kind.is_name() {
            return parse_decimal(text).ok_or_else(|| self.not_a_number(line, "value", text));
        }
        if text == EXTERNAL {
            return Ok(0);
        }
        if text.is_empty() {
            let error = Error::malformed("a target has no name").with_llvm_detail("symbol name is empty");
            return Err(self.at(line, error));
        }
        let hash = name_ref(text);
        batch.push_target(hash, text, kind == ValueKind::VTableTarget);
        Ok(hash)
    }

    /// Returns the next line. It is an error if it is missing or not plain.
    fn line(&mut self, what: &'static str) -> Result<Line<'data>> {
        let line = self.any_line(what)?;
        if line.kind != LineKind::Plain {
            return Err(self.at(line, Error::malformed(format!("expected {what}"))));
        }
        Ok(line)
    }

    fn any_line(&mut self, what: &'static str) -> Result<Line<'data>> {
        self.lines.next_line().ok_or_else(|| self.at_end(Error::truncated(what, 1, 0)))
    }

    fn at(&self, line: Line<'data>, error: Error) -> Error {
        self.place(line.offset, error)
    }

    fn at_end(&self, error: Error) -> Error {
        self.place(self.position(), error)
    }

    fn place(&self, position: usize, error: Error) -> Error {
        let (line, offset) = self.lines.place_of(position);
        error.in_format("text").at_line(line as u64).at_offset(offset)
    }

    fn not_a_number(&self, line: Line<'data>, what: &'static str, found: &[u8]) -> Error {
        let shown = &found[..found.len().min(60)];
        self.at(line, Error::malformed(format!("invalid {what}: {}", shown.escape_ascii())))
    }
}

fn parse_u32(text: &[u8]) -> Option<u32> {
    parse_decimal(text).and_then(|number| u32::try_from(number).ok())
}

/// A few records of a file, and the error after them, if there is one. Its memory is reused.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The items from `len` are unused.
    items: Vec<Item>,
    len: usize,
    /// The targets of all records, including a record with an error.
    pub(super) targets: Vec<Target>,
    /// The concatenated names of the targets.
    target_names: Vec<u8>,
    pub(super) error: Option<Error>,
}

/// One record.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) name: Vec<u8>,
    pub(super) name_ref: NameRef,
    pub(super) record: FunctionRecord,
    /// Whether the record has its own bitmap, which may be empty.
    pub(super) has_bitmap: bool,
    /// The number of targets in the batch up to the end of this record.
    pub(super) targets_end: usize,
}

/// A value with a name.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) hash: NameRef,
    /// The range of the name in the names of targets.
    name: Range<usize>,
    pub(super) is_vtable: bool,
}

impl Batch {
    /// The maximum number of records in a batch.
    const RECORDS: usize = 256;
    /// A batch with this many bytes of text is full, even with fewer records.
    const BYTES: usize = 1 << 18;

    pub(super) fn clear(&mut self) {
        self.forget(0, 0);
        self.error = None;
    }

    /// Adds a call target or vtable of the current record.
    pub(super) fn push_target(&mut self, hash: NameRef, name: &[u8], is_vtable: bool) {
        let start = self.target_names.len();
        self.target_names.extend_from_slice(name);
        self.targets.push(Target { hash, name: start..start + name.len(), is_vtable });
    }

    /// Returns the name of a target.
    pub(super) fn target_name(&self, target: &Target) -> &[u8] {
        &self.target_names[target.name.clone()]
    }

    /// Drops all records and targets except the first ones.
    pub(super) fn forget(&mut self, records: usize, targets: usize) {
        self.len = records;
        let end = self.targets.get(targets).map_or(self.target_names.len(), |target| target.name.start);
        self.targets.truncate(targets);
        self.target_names.truncate(end);
    }

    /// Returns true if another record may be added after `bytes` bytes of text.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.len < Self::RECORDS && bytes < Self::BYTES
    }

    /// Returns an empty record that is not in the batch.
    pub(super) fn spare_item(&mut self) -> Item {
        let mut item = self.items.get_mut(self.len).map(std::mem::take).unwrap_or_default();
        item.name.clear();
        item.record.clear();
        item.has_bitmap = false;
        item
    }

    /// Adds a record.
    pub(super) fn push(&mut self, mut item: Item) {
        item.targets_end = self.targets.len();
        match self.items.get_mut(self.len) {
            Some(place) => *place = item,
            None => self.items.push(item),
        }
        self.len += 1;
    }

    /// Hashes the names of all records.
    pub(super) fn hash_names(&mut self) {
        let names: Vec<&[u8]> = self.items().iter().map(|item| item.name.as_slice()).collect();
        let hashes = name_refs(&names);
        self.items.iter_mut().zip(hashes).for_each(|(item, hash)| item.name_ref = hash);
    }

    /// Returns the records, in file order.
    pub(super) fn items(&self) -> &[Item] {
        &self.items[..self.len]
    }

    /// Returns one of [`items`](Self::items), mutable.
    pub(super) fn item_mut(&mut self, at: usize) -> &mut Item {
        &mut self.items[..self.len][at]
    }
}

/// Detects an instrumentation profile in text: a keyword, or a name followed by two numbers, its hash and the number of
/// counters. Other text instead of a number means that it is not a profile: lines of a sample profile, a source file,
/// prose.
pub(crate) fn evidence(head: &Head<'_>) -> Option<Confidence> {
    if !begins_as_text(without_byte_order_mark(head.bytes())) {
        return None;
    }
    let mut lines = head.lines().filter(|line| !line.is_empty());
    let mut record = [&b""[..]; 4];
    let mut len = 0;
    while len < record.len() {
        let Some(line) = lines.next() else { break };
        if len == 0 && (is_keyword(line) || is_directive(line)) {
            return Some(Confidence::Certain);
        }
        if !line.starts_with(b"#") {
            record[len] = line;
            len += 1;
        }
    }
    let is_number = |line: &[u8]| parse_any_radix(line.trim_ascii()).is_some();
    match record.map(is_number) {
        [_, true, true, true] => Some(Confidence::Certain),
        [_, true, true, _] => Some(Confidence::Likely),
        [_, true, _, _] if len == 2 => Some(Confidence::Likely),
        // A file with only empty lines and comments is a profile without functions.
        _ if len == 0 && head.is_whole() && !head.bytes().is_empty() => Some(Confidence::Possible),
        _ => None,
    }
}

/// Returns true if a text has no records: all lines are empty, comments, or keywords.
pub(crate) fn is_blank(head: &Head<'_>) -> bool {
    let is_of_record = |line: &[u8]| !(line.trim_ascii().is_empty() || line.starts_with(b"#") || is_keyword(line));
    head.is_whole() && !head.lines().any(is_of_record)
}

/// Returns true for a line before the records that states their kind.
fn is_keyword(line: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] = [
        b":ir",
        b":fe",
        b":csir",
        b":entry_first",
        b":not_entry_first",
        b":instrument_loop_entries",
        b":single_byte_coverage",
        b":temporal_prof_traces",
    ];
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(line.trim_ascii()))
}

/// Returns true for a comment that only profbridge writes.
fn is_directive(line: &[u8]) -> bool {
    [directive::NAME, directive::COLON_NAMES].iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use crate::text::parser::*;

    fn of(text: &str) -> Option<Confidence> {
        evidence(&Head::new(text.as_bytes()))
    }

    #[test]
    fn key_words_and_numbers_below_a_name_speak_for_it() {
        for text in
            [":ir\n", "# IR level\n:IR\nfoo\n", "foo\n# hash\n0x1f\n\n1\n5\n", "#!name=%23a\n", "f:1:2\n3\n1\n0\n"]
        {
            assert_eq!(of(text), Some(Confidence::Certain), "{text}");
        }
        for text in ["a.c:f\n12\n", "foo\n1\n2\n", "foo\n1\n2\nx\n", "{closure}\n1\n1"] {
            assert_eq!(of(text), Some(Confidence::Likely), "{text}");
        }
    }

    #[test]
    fn a_profile_without_functions_is_possible() {
        assert_eq!(of("\n\n"), Some(Confidence::Possible));
        assert_eq!(of("# nothing ran\n"), Some(Confidence::Possible));
    }

    #[test]
    fn a_text_without_a_record_is_blank() {
        for text in ["\n\n", "# nothing\n", ":ir\n", ":IR\r\n:entry_first\n# none\n\n"] {
            assert!(is_blank(&Head::new(text.as_bytes())), "{text}");
        }
        assert!(!is_blank(&Head::new(b":ir\nmain\n1\n1\n5\n")));
        assert!(!is_blank(&Head::cut(b":ir\n", false)), "what follows was not read");
    }

    #[test]
    fn everything_else_speaks_against_it() {
        let demo = "package demo;\n\npublic class Demo {\n}\n";
        for text in [
            "",
            "foo\n",
            "foo\n 1: 5\n",
            "foo:1:2\nbar:3:4\n",
            demo,
            "Title\n2024\nmore\n",
            "#include <a>\nint a;\n",
            ":x\n",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
