//! Reading text profiles.

use super::EXTERNAL;
use super::lines::{Line, LineKind, Lines, unescape_name};
use super::numbers::{parse_any_radix, parse_decimal};
use crate::error::{Error, ErrorKind, Result};
use crate::manner::Manner;
use crate::model::{
    BinaryId, FunctionRecord, NameRef, ProfileKind, ProfileReader, RecordRef, SymbolTable, TemporalProfile,
    TemporalTrace, ValueCount, ValueKind, name_ref,
};
use std::borrow::Cow;

/// Hands out the records of a text profile in file order.
#[derive(Debug)]
pub struct TextReader<'data> {
    lines: Lines<'data>,
    manner: Manner,
    kind: ProfileKind,
    temporal: TemporalProfile,
    symbols: SymbolTable,
    vtable_names: Vec<Vec<u8>>,
    name: Cow<'data, [u8]>,
    record: FunctionRecord,
    /// The last bitmap that no merge took over, see
    /// [`Manner::text_bitmaps_stick`].
    sticking: Vec<u8>,
    failed: bool,
}

impl<'data> TextReader<'data> {
    /// Reads the header lines and the traces.
    ///
    /// # Errors
    ///
    /// Bad header for an unknown keyword; malformed or end of file in traces.
    pub fn new(file: &'data [u8], manner: Manner) -> Result<Self> {
        let mut reader = Self {
            lines: Lines::new(file, !manner.is_llvm()),
            manner,
            kind: ProfileKind::NONE,
            temporal: TemporalProfile::default(),
            symbols: SymbolTable::new(),
            vtable_names: Vec::new(),
            name: Cow::Borrowed(&[]),
            record: FunctionRecord::default(),
            sticking: Vec::new(),
            failed: false,
        };
        reader.read_header()?;
        Ok(reader)
    }

    fn read_header(&mut self) -> Result<()> {
        while let Some(line) = self.lines.peek() {
            let Some(keyword) = line.text.strip_prefix(b":").filter(|_| line.kind == LineKind::Plain) else { break };
            self.lines.next_line();
            match keyword.to_ascii_lowercase().as_slice() {
                b"ir" => self.kind |= ProfileKind::IR,
                b"fe" => self.kind |= ProfileKind::FRONT_END,
                b"csir" => self.kind |= ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE,
                b"entry_first" => self.kind |= ProfileKind::ENTRY_FIRST,
                b"not_entry_first" => self.kind = self.kind.without(ProfileKind::ENTRY_FIRST),
                b"instrument_loop_entries" => self.kind |= ProfileKind::LOOP_ENTRIES,
                b"single_byte_coverage" => self.kind |= ProfileKind::BYTE_COVERAGE,
                b"temporal_prof_traces" => {
                    self.kind |= ProfileKind::TEMPORAL;
                    self.parse_traces()?;
                }
                _ => {
                    let detail = format!("unknown keyword :{}", keyword.escape_ascii());
                    return Err(self.at(line, Error::bad_header(detail)));
                }
            }
        }
        Ok(())
    }

    fn parse_traces(&mut self) -> Result<()> {
        let count = self.trace_number("number of traces", u32::MAX.into())?;
        self.temporal.stream_size = self.trace_number("trace stream size", u64::MAX)?;
        for _ in 0..count {
            let weight = self.trace_number("trace weight", u64::MAX)?;
            let line = self.trace_line()?;
            let functions = if line.kind == LineKind::Functions {
                self.trace_line()?;
                let hashes = line.text.split(|byte| *byte == b',').filter(|piece| !piece.is_empty());
                let hashes = hashes.map(|piece| parse_any_radix(piece).ok_or(piece));
                hashes.collect::<Result<_, _>>().map_err(|piece| self.not_a_number(line, "name hash", piece))?
            } else {
                let names = line.text.split(|byte| *byte == b',').filter(|piece| !piece.is_empty());
                names.map(|name| self.trace_function(trim(name))).collect()
            };
            self.temporal.traces.push(TemporalTrace { weight, functions });
        }
        Ok(())
    }

    /// LLVM does not learn names from traces.
    fn trace_function(&mut self, name: &[u8]) -> NameRef {
        if self.manner.is_llvm() { name_ref(name) } else { self.symbols.insert(name) }
    }

    fn trace_number(&mut self, what: &'static str, max: u64) -> Result<u64> {
        let line = self.trace_line()?;
        parse_any_radix(line.text)
            .filter(|number| *number <= max)
            .ok_or_else(|| self.not_a_number(line, what, line.text))
    }

    fn trace_line(&mut self) -> Result<Line<'data>> {
        self.lines.next_line().ok_or_else(|| {
            let error = Error::new(ErrorKind::EndOfFile).with_hint("the file ends inside the temporal traces");
            self.at_end(error)
        })
    }

    /// Parses one record into `self.name` and `self.record`; `false` at the end.
    fn parse_record(&mut self) -> Result<bool> {
        let Some(line) = self.lines.next_line() else { return Ok(false) };
        self.name = match line.kind {
            LineKind::Name => unescape_name(line.text)
                .map(Cow::Owned)
                .ok_or_else(|| self.at(line, Error::malformed("a % without two hexadecimal digits after it")))?,
            LineKind::Plain => Cow::Borrowed(line.text),
            _ => return Err(self.at(line, Error::malformed("a name is expected here"))),
        };
        self.record.clear();
        let line = self.line("FuncHash")?;
        self.record.func_hash = parse_any_radix(line.text).ok_or_else(|| {
            self.not_a_number(line, "FuncHash", line.text).with_llvm_detail("function hash is not a valid integer")
        })?;
        self.parse_counters()?;
        self.parse_bitmap()?;
        self.parse_values()?;
        Ok(true)
    }

    fn parse_counters(&mut self) -> Result<()> {
        let line = self.line("number of counters")?;
        let count = parse_decimal(line.text).ok_or_else(|| {
            let llvm = "number of counters is not a valid integer";
            self.not_a_number(line, "number of counters", line.text).with_llvm_detail(llvm)
        })?;
        if count == 0 {
            let error = Error::malformed("a record has no counters").with_llvm_detail("number of counters is zero");
            return Err(self.at(line, error));
        }
        // Every counter takes at least a digit and a line end.
        self.record.counters.reserve(usize::try_from(count).unwrap_or(usize::MAX).min(self.lines.left() / 2 + 1));
        for _ in 0..count {
            let counter = match self.lines.next_number() {
                Some(counter) => counter,
                None => {
                    let line = self.line("counter")?;
                    parse_decimal(line.text).ok_or_else(|| {
                        self.not_a_number(line, "counter", line.text).with_llvm_detail("count is invalid")
                    })?
                }
            };
            self.record.counters.push(counter);
        }
        Ok(())
    }

    fn parse_bitmap(&mut self) -> Result<()> {
        let next = self.lines.peek().filter(|line| line.kind == LineKind::Plain && line.text.starts_with(b"$"));
        let Some(line) = next else {
            if self.manner.text_bitmaps_stick() {
                self.record.bitmap.clone_from(&self.sticking);
            }
            return Ok(());
        };
        self.lines.next_line();
        let size = trim(&line.text[1..]);
        let size = parse_any_radix(size).ok_or_else(|| {
            let llvm = "number of bitmap bytes is not a valid integer";
            let hint = "a function name that begins with $ needs a line $0 before it";
            self.not_a_number(line, "number of bitmap bytes", size).with_llvm_detail(llvm).with_hint(hint)
        })?;
        // LLVM counts these lines in 8 bits and never arrives at more.
        let endless = self.manner.is_llvm() && size > 255;
        for _ in 0..if endless { u64::MAX } else { size } {
            let line = self.line("bitmap byte")?;
            let byte = parse_any_radix(line.text).and_then(|byte| u8::try_from(byte).ok()).ok_or_else(|| {
                self.not_a_number(line, "bitmap byte", line.text).with_llvm_detail("bitmap byte is not a valid integer")
            })?;
            self.record.bitmap.push(byte);
        }
        if self.manner.text_bitmaps_stick() {
            self.sticking.clone_from(&self.record.bitmap);
        }
        Ok(())
    }

    fn parse_values(&mut self) -> Result<()> {
        let next = self.lines.peek().filter(|line| line.kind == LineKind::Plain);
        let Some((line, kinds)) = next.and_then(|line| Some((line, parse_u32(line.text)?))) else { return Ok(()) };
        self.lines.next_line();
        if kinds == 0 || kinds as usize > ValueKind::COUNT {
            let detail = format!("{kinds} value kinds, 1 to {} are possible", ValueKind::COUNT);
            let error = Error::malformed(detail).with_llvm_detail("number of value kinds is invalid");
            return Err(self.at(line, error));
        }
        for _ in 0..kinds {
            let (line, number) = self.value_number("value kind")?;
            let Some(kind) = ValueKind::from_number(number) else {
                let detail = format!("value kind {number}, kinds are 0 to {}", ValueKind::COUNT - 1);
                return Err(self.at(line, Error::malformed(detail).with_llvm_detail("value kind is invalid")));
            };
            let (_, sites) = self.value_number("number of value sites")?;
            for _ in 0..sites {
                self.parse_site(kind)?;
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

    fn parse_site(&mut self, kind: ValueKind) -> Result<()> {
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
                return Err(self.at(line, Error::malformed("a value is expected here")));
            }
            let colon = line.text.iter().rposition(|byte| *byte == b':').unwrap_or(line.text.len());
            let (value, count) = line.text.split_at(colon);
            let value = match known {
                Some(hash) => hash,
                None => self.parse_value(line, kind, value)?,
            };
            let count = count.get(1..).unwrap_or_default();
            let count = parse_decimal(count).ok_or_else(|| self.not_a_number(line, "count of a value", count))?;
            self.record.sites_mut(kind).push_value(ValueCount { value, count });
        }
        self.record.sites_mut(kind).end_site();
        Ok(())
    }

    fn parse_value(&mut self, line: Line<'data>, kind: ValueKind, text: &'data [u8]) -> Result<u64> {
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
        let hash = self.symbols.insert(text);
        if kind == ValueKind::VTableTarget {
            self.vtable_names.push(text.to_vec());
        }
        Ok(hash)
    }

    /// The next line, which has to be there and to be plain.
    fn line(&mut self, what: &'static str) -> Result<Line<'data>> {
        let line = self.any_line(what)?;
        if line.kind != LineKind::Plain {
            return Err(self.at(line, Error::malformed(format!("{what} is expected here"))));
        }
        Ok(line)
    }

    fn any_line(&mut self, what: &'static str) -> Result<Line<'data>> {
        self.lines.next_line().ok_or_else(|| self.at_end(Error::truncated(what, 1, 0)))
    }

    fn at(&self, line: Line<'data>, error: Error) -> Error {
        let number = self.lines.number_at(line.offset);
        error.in_format(format!("text, line {number}")).at("records", line.offset as u64)
    }

    fn at_end(&self, error: Error) -> Error {
        let number = self.lines.number_at(self.lines.offset());
        error.in_format(format!("text, line {number}")).at("records", self.lines.offset() as u64)
    }

    fn not_a_number(&self, line: Line<'data>, what: &'static str, found: &[u8]) -> Error {
        let shown = &found[..found.len().min(60)];
        self.at(line, Error::malformed(format!("{what} is not a number it can be: {}", shown.escape_ascii())))
    }
}

fn parse_u32(text: &[u8]) -> Option<u32> {
    parse_decimal(text).and_then(|number| u32::try_from(number).ok())
}

/// Without white space around, as LLVM's `StringRef::trim`.
fn trim(text: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r');
    let start = text.iter().position(|byte| !blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

impl ProfileReader for TextReader<'_> {
    fn kind(&self) -> ProfileKind {
        self.kind
    }

    fn version_word(&self) -> u64 {
        0
    }

    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        if self.failed {
            return Ok(None);
        }
        match self.parse_record() {
            Ok(true) => {
                let hash: NameRef = name_ref(&self.name);
                self.symbols.insert_hashed(hash, &self.name);
                Ok(Some(RecordRef { name: &self.name, name_ref: Some(hash), record: &self.record }))
            }
            Ok(false) => Ok(None),
            Err(error) => {
                self.failed = true;
                Err(error)
            }
        }
    }

    fn record_taken_over(&mut self) {
        self.sticking.clear();
    }

    fn symbols(&mut self) -> Result<&SymbolTable> {
        Ok(&self.symbols)
    }

    fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
        Ok(Vec::new())
    }

    fn temporal(&mut self) -> TemporalProfile {
        self.temporal.clone()
    }

    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
        Ok(self.vtable_names.clone())
    }
}
