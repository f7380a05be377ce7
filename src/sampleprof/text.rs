//! Sample profiles as text.
//!
//! ```text
//! NAME:TOTAL:HEAD
//!  LINE[.DISCRIMINATOR]: SAMPLES [CALLEE:COUNT …]
//!  LINE[.DISCRIMINATOR]: INLINED_CALLEE:TOTAL
//!   LINE: SAMPLES
//!  !CFGChecksum: NUMBER
//!  !Attributes: NUMBER
//! ```
//!
//! The number of spaces at the start of a line is its depth. A name in brackets is a calling context:
//! `[main:2 @ foo]`. LLVM 22 added lines of vtables, `LINE: vtables NAME:COUNT …`.
//!
//! LLVM accepts more than this grammar, depending on where it splits strings. The parser splits them at the same
//! positions.

use super::options::{ReadOptions, counter_overflow};
use super::profile::SampleProfile;
use super::record::{
    BodyEntry, CallSite, Frame, FunctionName, FunctionRecord, LineLocation, MAX_INLINE_DEPTH, Names, RecordTable,
    add_saturating, add_target, attributes,
};
use crate::ascii::trim;
use crate::error::{Error, ErrorKind, Result};
use memchr::memchr2;
use std::cmp::Reverse;

/// The lines of a text, without empty lines and comments. A NUL ends its line and the text.
struct Lines<'data> {
    rest: &'data [u8],
    /// Number of the last line that was read, from 1.
    number: usize,
}

impl<'data> Lines<'data> {
    fn new(file: &'data [u8]) -> Self {
        Self { rest: file, number: 0 }
    }

    /// Returns the next line if it is a plain one, without advancing.
    fn peek_plain(&self) -> Option<PlainLine> {
        parse_plain(self.rest)
    }

    /// Advances over the line that [`peek_plain`](Self::peek_plain) returned.
    fn skip_plain(&mut self, line: PlainLine) {
        self.number += 1;
        self.rest = &self.rest[line.len..];
    }

    fn next_line(&mut self) -> Option<&'data [u8]> {
        while !self.rest.is_empty() {
            self.number += 1;
            let line = match memchr2(b'\n', 0, self.rest) {
                Some(end) if self.rest[end] == b'\n' => {
                    let line = &self.rest[..end];
                    self.rest = &self.rest[end + 1..];
                    line.strip_suffix(b"\r").unwrap_or(line)
                }
                end => {
                    let last = std::mem::take(&mut self.rest);
                    &last[..end.unwrap_or(last.len())]
                }
            };
            if line.first().is_some_and(|byte| *byte != b'#') {
                return Some(line);
            }
        }
        None
    }
}

/// Returns true if LLVM reads the bytes as a text profile: the first line that is neither empty nor a comment is the
/// head of a record.
pub(super) fn is_text(file: &[u8]) -> bool {
    Lines::new(file).next_line().is_some_and(|line| parse_head(line).is_some())
}

/// Reads a text profile.
///
/// # Errors
///
/// Malformed, with the number of the line as section; a sum of counts that is too large.
pub(super) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let mut reader = Reader {
        options,
        profile,
        table: RecordTable::default(),
        open: Vec::new(),
        in_contexts: 0,
        top_level_checksums: 0,
        preinlined: false,
        metadata_depth: 0,
        overflowed: false,
        mask: options.discriminator_mask(options.flow_sensitive),
        spare_bodies: Vec::new(),
        spare_sites: Vec::new(),
    };
    let mut lines = Lines::new(file);
    let mut counts = Vec::new();
    loop {
        if let Some(plain) = lines.peek_plain()
            && reader.plain(plain)
        {
            lines.skip_plain(plain);
            continue;
        }
        let Some(line) = lines.next_line() else { break };
        options.cancel.check()?;
        if matches!(line.iter().find(|byte| **byte != b' '), None | Some(b'#')) {
            continue;
        }
        let done = match line.first() {
            Some(b' ') => reader.indented(line, &mut counts),
            _ => reader.head(line),
        };
        if let Err(error) = done {
            // The lines of the function before stay, for readers that keep what is valid.
            reader.close_to(0);
            return Err(error.at_line(lines.number as u64));
        }
    }
    reader.finish()
}

/// A record whose lines are being read.
struct OpenRecord {
    /// The index among the functions, for a top-level record.
    place: usize,
    /// The location of the call, for an inlined callee.
    location: LineLocation,
    record: FunctionRecord,
}

struct Reader<'a> {
    options: &'a ReadOptions,
    profile: &'a mut SampleProfile,
    table: RecordTable,
    /// The top-level record, and the inlined callees down to the current one.
    open: Vec<OpenRecord>,
    in_contexts: usize,
    top_level_checksums: usize,
    preinlined: bool,
    /// Depth of the last metadata of the open records; 0 means none.
    metadata_depth: usize,
    overflowed: bool,
    /// Bits of discriminators that are kept.
    mask: u32,
    /// Lists for reuse: a finished record gets a list of exactly its length, and its long list is used for the next one.
    spare_bodies: Vec<Vec<BodyEntry>>,
    spare_sites: Vec<Vec<CallSite>>,
}

/// Replaces a list by one of exactly its length, and keeps the long one for reuse.
fn fitted<T>(list: &mut Vec<T>, spare: &mut Vec<Vec<T>>) {
    if list.len() < list.capacity() {
        let mut fitted = Vec::with_capacity(list.len());
        fitted.append(list);
        spare.push(std::mem::replace(list, fitted));
    }
}

/// The error for a malformed line, in LLVM's words and escaped for other output.
fn fault(expected: &str, line: &[u8]) -> Error {
    let text = format!("{expected}{}", String::from_utf8_lossy(line));
    Error::new(ErrorKind::Malformed { detail: format!("{expected}{}", line.escape_ascii()) }).with_llvm_detail(text)
}

impl Reader<'_> {
    fn head(&mut self, line: &[u8]) -> Result<()> {
        let Some(Head { name, total, head }) = parse_head(line) else {
            return Err(fault("Expected 'mangled_name:NUM:NUM', found ", line));
        };
        self.close_to(0);
        self.metadata_depth = 0;
        self.check_name(name)?;
        let fresh = if name.first() == Some(&b'[') {
            self.in_contexts += 1;
            self.context(name)?
        } else {
            FunctionRecord::new(self.profile.names.insert(FunctionName::Text(name)))
        };
        let at = self.table.find_or_insert(&mut self.profile.functions, &fresh);
        let record = &mut self.profile.functions[at];
        // `close_to` puts the record back.
        let mut record = std::mem::replace(record, FunctionRecord::new(fresh.name));
        if !self.options.adds_repeated_records() {
            record = fresh;
        }
        self.overflowed |= add_saturating(&mut record.total, total);
        self.overflowed |= add_saturating(&mut record.head, head);
        self.push(at, LineLocation::default(), record);
        Ok(())
    }

    /// Opens a record, and gives it lists for reuse.
    fn push(&mut self, place: usize, location: LineLocation, mut record: FunctionRecord) {
        if record.body.is_empty() {
            record.body = self.spare_bodies.pop().unwrap_or_default();
        }
        if record.call_sites.is_empty() {
            record.call_sites = self.spare_sites.pop().unwrap_or_default();
        }
        self.open.push(OpenRecord { place, location, record });
    }

    /// Adds a plain line. Returns false if the line needs the checks of [`indented`](Self::indented).
    fn plain(&mut self, line: PlainLine) -> bool {
        if self.open.is_empty() || line.depth == self.metadata_depth {
            return false;
        }
        self.close_to(line.depth);
        let location = self.masked(line.location);
        let Some(open) = self.open.last_mut() else { return false };
        self.overflowed |= add_saturating(&mut open.record.body_at(location).samples, line.samples);
        true
    }

    fn masked(&self, location: LineLocation) -> LineLocation {
        LineLocation::new(location.line, location.discriminator & self.mask)
    }

    fn check_name(&self, name: &[u8]) -> Result<()> {
        let limit = self.options.limits.name_bytes;
        if name.len() as u64 > limit {
            return Err(Error::above_limit(Some("name-bytes"), "length of a name", name.len() as u64, limit));
        }
        Ok(())
    }

    /// Parses `[FUNCTION:LINE.DISCRIMINATOR @ FUNCTION]`. As in LLVM, the last byte may be any.
    fn context(&mut self, name: &[u8]) -> Result<FunctionRecord> {
        let frames = if name.len() > 1 { &name[1..name.len() - 1] } else { &[] };
        let frames = parse_frames(frames, &mut self.profile.names);
        let most = self.options.limits.context_depth;
        if frames.len() as u64 > u64::from(most) {
            let (found, limit) = (frames.len() as u64, u64::from(most));
            return Err(Error::above_limit(Some("context-depth"), "number of frames of a context", found, limit));
        }
        FunctionRecord::in_context(frames.into())
            .ok_or_else(|| Error::malformed(format!("a context without frames: {}", name.escape_ascii())))
    }

    fn indented<'data>(&mut self, line: &'data [u8], counts: &mut Vec<(&'data [u8], u64)>) -> Result<()> {
        let depth = depth(line);
        let rules = self.options.rules;
        let content = parse_content(line, depth, self.options.reads_vtables(), counts).map_err(|found| {
            let expected = match found {
                Fault::Metadata if rules.names_metadata_faults() => "Cannot parse metadata: ",
                Fault::Vtables => VTABLES_EXPECTED,
                _ => "Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found ",
            };
            fault(expected, line)
        })?;
        if depth == self.metadata_depth && !matches!(content, Content::Metadata { .. }) {
            return Err(fault("Found non-metadata after metadata: ", line));
        }
        self.close_to(depth);
        if self.open.is_empty() {
            return Err(Error::malformed("a line of a record before the first record"));
        }
        match content {
            Content::Callee { location, name, total } => {
                self.check_name(name)?;
                return self.open_callee(self.masked(location), name, total);
            }
            Content::Body { location, samples } => self.body(self.masked(location), samples, counts),
            Content::Vtables { .. } if has_duplicates(counts) => return Err(fault(VTABLES_EXPECTED, line)),
            Content::Vtables { location } => self.vtables(self.masked(location), counts),
            Content::Metadata { checksum, attributes } => self.metadata(depth, checksum, attributes),
        }
        Ok(())
    }

    fn body(&mut self, location: LineLocation, samples: u64, counts: &mut Vec<(&[u8], u64)>) {
        keep_last(counts);
        let Some(open) = self.open.last_mut() else { return };
        let entry = open.record.body_at(location);
        for &(name, count) in counts.iter() {
            let callee = self.profile.names.insert(FunctionName::Text(name));
            self.overflowed |= add_target(entry.targets.list_mut(), callee, count);
        }
        self.overflowed |= add_saturating(&mut entry.samples, samples);
    }

    fn vtables(&mut self, location: LineLocation, counts: &[(&[u8], u64)]) {
        let Some(open) = self.open.last_mut() else { return };
        for &(name, count) in counts {
            let table = self.profile.names.insert(FunctionName::Text(name));
            self.overflowed |= add_target(open.record.vtables_at(location), table, count);
        }
    }

    fn metadata(&mut self, depth: usize, checksum: u64, attributes: u32) {
        let Some(open) = self.open.last_mut() else { return };
        if checksum != 0 {
            open.record.checksum = checksum;
            self.top_level_checksums += usize::from(depth == 1);
        }
        open.record.attributes = attributes;
        self.preinlined |= attributes & attributes::SHOULD_BE_INLINED != 0;
        self.metadata_depth = depth;
    }

    fn open_callee(&mut self, location: LineLocation, name: &[u8], total: u64) -> Result<()> {
        if self.open.len() > MAX_INLINE_DEPTH {
            let (found, limit) = (self.open.len() as u64, MAX_INLINE_DEPTH as u64);
            return Err(Error::above_limit(None, "depth of inlined callees", found, limit));
        }
        let name = self.profile.names.insert(FunctionName::Text(name));
        let Some(parent) = self.open.last_mut() else { return Ok(()) };
        // A callee that occurred before continues.
        let sites = &mut parent.record.call_sites;
        let found = sites.binary_search_by(|site| (site.location, site.callee.name).cmp(&(location, name)));
        let mut record = match found {
            Ok(at) => std::mem::replace(&mut sites[at].callee, FunctionRecord::new(name)),
            Err(at) => {
                sites.insert(at, CallSite { location, callee: FunctionRecord::new(name) });
                FunctionRecord::new(name)
            }
        };
        self.overflowed |= add_saturating(&mut record.total, total);
        self.push(0, location, record);
        self.metadata_depth = 0;
        Ok(())
    }

    /// Finishes the open records below `depth` and moves them to their places.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(OpenRecord { place, location, mut record }) = self.open.pop() else { return };
            fitted(&mut record.body, &mut self.spare_bodies);
            fitted(&mut record.call_sites, &mut self.spare_sites);
            match self.open.last_mut() {
                Some(parent) => {
                    let at = parent.record.call_site_at(location, record.name);
                    parent.record.call_sites[at].callee = record;
                }
                None => self.profile.functions[place] = record,
            }
        }
    }

    fn finish(mut self) -> Result<()> {
        self.close_to(0);
        let stated = &mut self.profile.stated;
        stated.context_sensitive = Some(self.in_contexts > 0);
        stated.probe_based = Some(self.top_level_checksums > 0);
        stated.preinlined = Some(self.preinlined);
        stated.flow_sensitive = Some(self.options.flow_sensitive);
        if self.overflowed { Err(counter_overflow()) } else { Ok(()) }
    }
}

/// Keeps the last count of each name in a line.
fn keep_last(counts: &mut Vec<(&[u8], u64)>) {
    if counts.len() >= SHORT {
        // The last in the line first. An unstable sort needs no memory.
        counts.sort_unstable_by_key(|(name, _)| (*name, Reverse(name.as_ptr().addr())));
        counts.dedup_by_key(|(name, _)| *name);
    }
}

/// Returns true if a long list has a name twice. The parser already rejected a short one.
fn has_duplicates(counts: &[(&[u8], u64)]) -> bool {
    if counts.len() <= SHORT {
        return false;
    }
    let mut names: Vec<&[u8]> = counts.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// LLVM's message for malformed vtables.
const VTABLES_EXPECTED: &str = "Expected 'vtables [mangled_vtable:NUM]+', found ";

/// Parses the frames of a context, without its brackets: `FUNCTION:LINE.DISCRIMINATOR @ FUNCTION`.
pub(crate) fn parse_frames(mut text: &[u8], names: &mut Names) -> Vec<Frame> {
    let mut frames = Vec::new();
    while !text.is_empty() {
        let end = text.windows(3).position(|part| part == b" @ ");
        let frame = &text[..end.unwrap_or(text.len())];
        text = end.map_or(&[], |end| &text[end + 3..]);
        let (function, place) = split(frame, b':');
        let (line, discriminator) = split(place, b'.');
        let location = LineLocation::new(
            signed_32(line).unwrap_or_default(),
            parse_number(discriminator).and_then(|value| value.try_into().ok()).unwrap_or_default(),
        );
        frames.push(Frame { function: names.insert(FunctionName::Text(function)), location });
    }
    frames
}

/// Splits at the first such byte; without one the second part is empty.
fn split(text: &[u8], byte: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|b| *b == byte) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

/// Parses a number with a sign, as 32 bits without one.
fn signed_32(text: &[u8]) -> Option<u32> {
    match text.strip_prefix(b"-") {
        Some(digits) => {
            let value = parse_number(digits).filter(|value| *value <= 1 << 31)?;
            Some((value as u32).wrapping_neg())
        }
        None => parse_number(text).filter(|value| *value < 1 << 31).map(|value| value as u32),
    }
}

/// The limit of line numbers without a discriminator.
const LINES: u32 = 1 << 16;

/// The first line of a record.
#[derive(Debug, PartialEq, Eq)]
struct Head<'data> {
    name: &'data [u8],
    total: u64,
    head: u64,
}

/// The content of an indented line.
#[derive(Debug, PartialEq, Eq)]
enum Content<'data> {
    /// Samples of a line location; its call targets are in the list of counts.
    Body { location: LineLocation, samples: u64 },
    /// Vtables of a line location, in the list of counts.
    Vtables { location: LineLocation },
    /// The head of an inlined callee.
    Callee { location: LineLocation, name: &'data [u8], total: u64 },
    /// Checksum and attributes; 0 for the one that the line does not state.
    Metadata { checksum: u64, attributes: u32 },
}

/// A line of the most common kind: samples of a line location without call targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PlainLine {
    depth: usize,
    location: LineLocation,
    samples: u64,
    /// Bytes of the line, its end included.
    len: usize,
}

/// Parses ` LINE[.DISCRIMINATOR]: SAMPLES` and the end of the line in one pass if all numbers are short. Returns `None`
/// for other lines, which [`parse_content`] parses.
fn parse_plain(text: &[u8]) -> Option<PlainLine> {
    let mut at = 0;
    while *text.get(at)? == b' ' {
        at += 1;
    }
    let depth = at;
    let line = short_number(text, &mut at, 9)?;
    let mut discriminator = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        discriminator = short_number(text, &mut at, 9)?;
    } else if line >= u64::from(LINES) {
        return None;
    }
    if depth == 0 || text.get(at..at + 2)? != b": " {
        return None;
    }
    at += 2;
    let samples = short_number(text, &mut at, 18)?;
    if text.get(at) == Some(&b'\r') {
        at += 1;
    }
    let location = LineLocation::new(line as u32, discriminator as u32);
    (*text.get(at)? == b'\n').then_some(PlainLine { depth, location, samples, len: at + 1 })
}

/// Parses a number of at most `most` digits, which cannot overflow.
fn short_number(text: &[u8], at: &mut usize, most: usize) -> Option<u64> {
    let start = *at;
    let mut value = 0;
    while let Some(digit) = text.get(*at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value * 10 + u64::from(digit);
        *at += 1;
        if *at - start > most {
            return None;
        }
    }
    (*at > start).then_some(value)
}

/// The kind of line that is malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Line,
    Metadata,
    Vtables,
}

/// Parses a decimal number.
fn parse_number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, byte| match byte {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

fn parse_u32(text: &[u8]) -> Option<u32> {
    parse_number(text).and_then(|value| value.try_into().ok())
}

/// Returns the part from `start`, which is empty if the text ends before.
fn from(text: &[u8], start: usize) -> &[u8] {
    text.get(start..).unwrap_or_default()
}

fn find(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().position(|b| *b == byte)
}

fn find_last(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().rposition(|b| *b == byte)
}

/// Parses `NAME:TOTAL:HEAD`. If colons are missing, each part is the whole text, so a line of digits is a record with that
/// name.
fn parse_head(line: &[u8]) -> Option<Head<'_>> {
    if line.first().is_none_or(|byte| *byte == b' ') {
        return None;
    }
    let last = find_last(line, b':');
    // The search for the other colon ends two bytes before the last one.
    let reach = match last {
        None | Some(0) => line.len(),
        Some(last) => last - 1,
    };
    let first = find_last(&line[..reach], b':');
    let total_start = first.map_or(0, |first| first + 1);
    let total = match (last, first) {
        (None, _) => from(line, total_start),
        // Both are the colon at the very start.
        (Some(last), Some(first)) if last == first => from(line, total_start),
        (Some(last), _) => &line[total_start..last],
    };
    let head = from(line, last.map_or(0, |last| last + 1));
    Some(Head {
        name: first.map_or(line, |first| &line[..first]),
        total: parse_number(total)?,
        head: parse_number(head)?,
    })
}

/// Counts the spaces at the start of a line.
fn depth(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

/// Parses an indented line. `counts` receives its call targets or vtables, each once.
fn parse_content<'data>(
    line: &'data [u8],
    depth: usize,
    knows_vtables: bool,
    counts: &mut Vec<(&'data [u8], u64)>,
) -> Result<Content<'data>, Fault> {
    counts.clear();
    if line.get(depth) == Some(&b'!') {
        return parse_metadata(&line[depth..], knows_vtables).ok_or(Fault::Metadata);
    }
    let colon = find(line, b':');
    let location = match colon {
        Some(colon) if colon < depth => return Err(Fault::Line),
        Some(colon) => &line[depth..colon],
        None => &line[depth..],
    };
    let location = parse_location(location).ok_or(Fault::Line)?;
    // Two bytes are skipped whatever they are; without a colon, one.
    let rest = from(line, colon.map_or(1, |colon| colon + 2));
    if rest.first().is_some_and(u8::is_ascii_digit) {
        let samples = parse_body(rest, counts).ok_or(Fault::Line)?;
        return Ok(Content::Body { location, samples });
    }
    if let Some(list) = rest.strip_prefix(b"vtables ").filter(|_| knows_vtables) {
        parse_vtables(list, counts).ok_or(Fault::Vtables)?;
        return Ok(Content::Vtables { location });
    }
    let colon = find_last(rest, b':');
    let name = colon.map_or(rest, |colon| &rest[..colon]);
    let total = parse_number(from(rest, colon.map_or(0, |colon| colon + 1))).ok_or(Fault::Line)?;
    Ok(Content::Callee { location, name, total })
}

fn parse_location(text: &[u8]) -> Option<LineLocation> {
    match find(text, b'.') {
        None => {
            let line = parse_u32(text).filter(|line| *line < LINES)?;
            Some(LineLocation::new(line, 0))
        }
        Some(dot) => Some(LineLocation::new(parse_u32(&text[..dot])?, parse_u32(&text[dot + 1..])?)),
    }
}

fn parse_metadata(text: &[u8], knows_flat: bool) -> Option<Content<'_>> {
    if knows_flat && text == b"!Flat" {
        return Some(Content::Metadata { checksum: 0, attributes: 0 });
    }
    if let Some(value) = text.strip_prefix(b"!CFGChecksum:") {
        return Some(Content::Metadata { checksum: parse_number(trim(value))?, attributes: 0 });
    }
    let value = text.strip_prefix(b"!Attributes:")?;
    Some(Content::Metadata { checksum: 0, attributes: parse_u32(trim(value))? })
}

/// Parses `SAMPLES NAME:COUNT …`. Names may contain spaces and colons: a name ends at the first colon that is followed by
/// a number and a space.
fn parse_body<'data>(mut rest: &'data [u8], counts: &mut Vec<(&'data [u8], u64)>) -> Option<u64> {
    let mut blank = find(rest, b' ');
    let samples = parse_number(&rest[..blank.unwrap_or(rest.len())])?;
    while let Some(start) = blank {
        let skipped = rest[start..].iter().position(|byte| *byte != b' ')?;
        rest = &rest[start + skipped..];
        let mut colon = find(rest, b':').filter(|colon| *colon > 0)?;
        let (count, end) = loop {
            let after = &rest[colon + 1..];
            let end = find(after, b' ').map_or(rest.len(), |blank| colon + 1 + blank);
            if let Some(count) = parse_number(&rest[colon + 1..end]) {
                break (count, end);
            }
            colon += 1 + find(after, b':')?;
        };
        set_count(counts, &rest[..colon], count);
        blank = (end < rest.len()).then_some(end);
    }
    Some(samples)
}

/// Parses `NAME:COUNT …`. A name ends at the first colon, and must not occur twice; [`has_duplicates`] checks lists that
/// are longer than [`SHORT`].
fn parse_vtables<'data>(mut rest: &'data [u8], counts: &mut Vec<(&'data [u8], u64)>) -> Option<()> {
    loop {
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        rest = &rest[blanks..];
        if rest.is_empty() {
            return Some(());
        }
        let colon = find(rest, b':')?;
        let end = find(&rest[colon..], b' ').map_or(rest.len(), |blank| colon + blank);
        let (name, count) = (&rest[..colon], parse_number(&rest[colon + 1..end])?);
        if counts.len() < SHORT && counts.iter().any(|(known, _)| *known == name) {
            return None;
        }
        counts.push((name, count));
        rest = &rest[end..];
    }
}

/// Names of shorter lists are compared one by one.
const SHORT: usize = 16;

/// Sets the count of a name; a later count replaces an earlier one.
fn set_count<'data>(counts: &mut Vec<(&'data [u8], u64)>, name: &'data [u8], count: u64) {
    // `keep_last` handles long lists.
    if counts.len() < SHORT
        && let Some(known) = counts.iter_mut().find(|(known, _)| *known == name)
    {
        known.1 = count;
        return;
    }
    counts.push((name, count));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_cut_at_the_last_two_colons() {
        let of = |line: &'static str| parse_head(line.as_bytes()).map(|h| (h.name, h.total, h.head));
        assert_eq!(of("a::b:3:4"), Some((b"a::b".as_slice(), 3, 4)));
        assert_eq!(of(":5:6"), Some((b"".as_slice(), 5, 6)));
        assert_eq!(of("foo"), None);
        assert_eq!(of("foo:1"), None);
        assert_eq!(of("foo::1"), None);
        assert_eq!(of("foo:1:+2"), None);
        // LLVM accepts these, too.
        assert_eq!(of("12"), Some((b"12".as_slice(), 12, 12)));
        assert_eq!(of("1:5"), Some((b"1:5".as_slice(), 1, 5)));
        assert_eq!(of(":5"), Some((b"".as_slice(), 5, 5)));
    }

    #[test]
    fn names_of_targets_may_hold_blanks_and_colons() {
        let mut counts = Vec::new();
        let line = b" 4.2: 9 a::b:3 c(d: e):4";
        let found = parse_content(line, 1, true, &mut counts).unwrap();
        assert_eq!(found, Content::Body { location: LineLocation::new(4, 2), samples: 9 });
        assert_eq!(counts, [(b"a::b".as_slice(), 3), (b"c(d: e)".as_slice(), 4)]);
    }

    #[test]
    fn one_pass_reads_the_same_as_several() {
        let mut counts = Vec::new();
        let lines = [
            " 1: 5\n",
            "   12.3: 456\r\n",
            " 65535: 0\n",
            " 65536: 1\n",
            " 65536.1: 1\n",
            " 1.0: 1\n",
            " 999999999.999999999: 999999999999999999\n",
            " 4294967296.1: 1\n",
            " 01: 007\n",
            " 1: 18446744073709551615\n",
            " 1: 18446744073709551616\n",
            " 1: 5 foo:3\n",
            " 1: foo:3\n",
            " 1:56\n",
            " 1: 5",
            " 1: 5\r",
            " 1: 5 \n",
            " 1: \n",
            " 1 : 5\n",
            " .1: 5\n",
            " 1.: 5\n",
            "1: 5\n",
            "\t1: 5\n",
            " !Flat\n",
            " 1: 5\0\n",
            "",
            " ",
            "\n",
        ];
        let mut taken = 0;
        for text in lines {
            let Some(found) = parse_plain(text.as_bytes()) else { continue };
            taken += 1;
            let line = text.trim_end_matches('\n');
            let line = line.strip_suffix('\r').unwrap_or(line);
            let expected = Content::Body { location: found.location, samples: found.samples };
            assert_eq!(parse_content(line.as_bytes(), found.depth, true, &mut counts), Ok(expected), "{text:?}");
            assert_eq!((found.depth, found.len), (depth(line.as_bytes()), text.len()), "{text:?}");
            assert!(counts.is_empty(), "{text:?}");
        }
        assert_eq!(taken, 7, "lines of the common kind");
    }

    #[test]
    fn odd_lines_are_read_as_llvm_does() {
        let mut counts = Vec::new();
        let mut of = |line: &'static [u8]| parse_content(line, depth(line), true, &mut counts).map_err(|_| ());
        let body = |line, samples| Ok(Content::Body { location: LineLocation::new(line, 0), samples });
        assert_eq!(of(b" 1:56"), body(1, 6));
        assert_eq!(of(b" 12"), body(12, 12));
        for bad in [&b" 65536: 1"[..], b" 1: 5 ", b" 1:", b" 1: ", b" x: 1", b" 1: foo", b" 1: 5 x", b" -1: 5", b" !X"]
        {
            assert!(of(bad).is_err(), "{}", bad.escape_ascii());
        }
        assert_eq!(of(b" 65536.0: 1"), body(65536, 1));
    }
}
