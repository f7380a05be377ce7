//! Reading text.

use super::line::{self, Content, Fault, Head, PlainLine};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{self, HOLD_RECORDS};
use crate::sampleprof::ReadOptions;
use crate::sampleprof::error::counter_overflow;
use crate::sampleprof::names::FunctionName;
use crate::sampleprof::profile::SampleProfile;
use crate::sampleprof::record::{
    BodyEntry, CallSite, Frame, FunctionRecord, LineLocation, MAX_INLINE_DEPTH, add_saturating, add_target, attributes,
};
use crate::sampleprof::table::RecordTable;
use memchr::memchr2;
use std::cmp::Reverse;

/// Lines without empty ones and comments; a NUL ends its line and the text.
struct Lines<'data> {
    rest: &'data [u8],
    /// Number of the line that was taken last, from 1.
    number: usize,
}

impl<'data> Lines<'data> {
    fn new(file: &'data [u8]) -> Self {
        Self { rest: file, number: 0 }
    }

    /// The next line if it is of the most common kind; it is not taken yet.
    fn peek_plain(&self) -> Option<PlainLine> {
        line::plain(self.rest)
    }

    /// Takes the line that [`peek_plain`](Self::peek_plain) found.
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

/// Whether LLVM takes the bytes for a sample profile in text: the first line
/// that is neither empty nor a comment is the head of a record.
pub fn is_text(file: &[u8]) -> bool {
    Lines::new(file).next_line().is_some_and(|line| line::head(line).is_some())
}

/// Reads a text profile.
///
/// # Errors
///
/// Malformed, with the number of the line as section, or a counter that
/// overflows when lines about one place are added up.
pub(crate) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
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
        if matches!(line.iter().find(|byte| **byte != b' '), None | Some(b'#')) {
            continue;
        }
        let done = match line.first() {
            Some(b' ') => reader.indented(line, &mut counts),
            _ => reader.head(line),
        };
        done.map_err(|error| error.in_section(format!("line {}", lines.number)))?;
    }
    reader.finish()
}

/// A record whose lines are being read, and where it belongs.
struct Open {
    location: LineLocation,
    record: FunctionRecord,
}

struct Reader<'a> {
    options: &'a ReadOptions,
    profile: &'a mut SampleProfile,
    table: RecordTable,
    /// The record at the top, and the inlined callees down to the current one.
    open: Vec<Open>,
    in_contexts: usize,
    top_level_checksums: usize,
    preinlined: bool,
    /// Depth of the metadata that was read last for what is open; 0 is none.
    metadata_depth: usize,
    overflowed: bool,
    /// Bits of discriminators that are kept.
    mask: u32,
    /// Lists that are used again, so that a record's own is made once, when it
    /// is known how long it is.
    spare_bodies: Vec<Vec<BodyEntry>>,
    spare_sites: Vec<Vec<CallSite>>,
}

/// A copy that takes no more room than it needs, where there is some for it; the list is kept for others.
fn fitted<T>(list: &mut Vec<T>, spare: &mut Vec<Vec<T>>) {
    if list.len() < list.capacity() {
        let mut fitted = Vec::new();
        if fitted.try_reserve_exact(list.len()).is_err() {
            return;
        }
        fitted.append(list);
        spare.push(std::mem::replace(list, fitted));
    }
}

/// What LLVM prints, which is also said in our own words.
fn fault(expected: &str, line: &[u8]) -> Error {
    let text = format!("{expected}{}", String::from_utf8_lossy(line));
    Error::new(ErrorKind::Malformed { detail: format!("{expected}{}", line.escape_ascii()) }).with_llvm_detail(text)
}

impl Reader<'_> {
    fn head(&mut self, line: &[u8]) -> Result<()> {
        let Some(Head { name, total, head }) = line::head(line) else {
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
        let at = self.table.find_or_insert(&mut self.profile.functions, &fresh)?;
        let record = &mut self.profile.functions[at];
        // The record is worked on apart and put back when the next one begins.
        let mut record = std::mem::replace(record, FunctionRecord::new(fresh.name));
        if !self.options.adds_repeated_records() {
            record = fresh;
        }
        self.overflowed |= add_saturating(&mut record.total, total);
        self.overflowed |= add_saturating(&mut record.head, head);
        self.push(LineLocation::new(at as u32, 0), record)
    }

    /// Opens a record, whose first lists are borrowed.
    fn push(&mut self, location: LineLocation, mut record: FunctionRecord) -> Result<()> {
        if record.body.is_empty() {
            record.body = self.spare_bodies.pop().unwrap_or_default();
        }
        if record.call_sites.is_empty() {
            record.call_sites = self.spare_sites.pop().unwrap_or_default();
        }
        // The number of every line so far is right where all names are there.
        self.profile.names.check_memory()?;
        memory::push(&mut self.open, Open { location, record }, HOLD_RECORDS)
    }

    /// Takes a line of the most common kind, unless something is wrong with it.
    fn plain(&mut self, line: PlainLine) -> bool {
        if self.open.is_empty() || line.depth == self.metadata_depth {
            return false;
        }
        self.close_to(line.depth);
        let location = self.masked(line.location);
        let Some(open) = self.open.last_mut() else { return false };
        if open.record.body.try_reserve(1).is_err() {
            return false;
        }
        self.overflowed |= add_saturating(&mut open.record.body_at(location).samples, line.samples);
        true
    }

    fn masked(&self, location: LineLocation) -> LineLocation {
        LineLocation::new(location.line, location.discriminator & self.mask)
    }

    fn check_name(&self, name: &[u8]) -> Result<()> {
        let limit = self.options.limits.name_bytes;
        if name.len() as u64 > limit {
            return Err(ErrorKind::LimitExceeded { what: "length of a name", found: name.len() as u64, limit }.into());
        }
        Ok(())
    }

    /// `[FUNCTION:LINE.DISCRIMINATOR @ FUNCTION]`; the last byte goes unseen.
    fn context(&mut self, name: &[u8]) -> Result<FunctionRecord> {
        let mut rest = if name.len() > 1 { &name[1..name.len() - 1] } else { &[] };
        let mut frames = Vec::new();
        while !rest.is_empty() {
            let end = rest.windows(3).position(|part| part == b" @ ");
            let frame = &rest[..end.unwrap_or(rest.len())];
            rest = end.map_or(&[], |end| &rest[end + 3..]);
            let (function, place) = split(frame, b':');
            let (line, discriminator) = split(place, b'.');
            let location = LineLocation::new(
                signed_32(line).unwrap_or_default(),
                line::number(discriminator).and_then(|value| value.try_into().ok()).unwrap_or_default(),
            );
            let frame = Frame { function: self.profile.names.insert(FunctionName::Text(function)), location };
            memory::push(&mut frames, frame, HOLD_RECORDS)?;
        }
        let most = self.options.limits.context_depth;
        if frames.len() as u64 > u64::from(most) {
            let (found, limit) = (frames.len() as u64, u64::from(most));
            return Err(ErrorKind::LimitExceeded { what: "number of frames of a context", found, limit }.into());
        }
        FunctionRecord::in_context(frames.into())
            .ok_or_else(|| Error::malformed(format!("a context without frames: {}", name.escape_ascii())))
    }

    fn indented<'data>(&mut self, line: &'data [u8], counts: &mut Vec<(&'data [u8], u64)>) -> Result<()> {
        let depth = line::depth(line);
        let rules = self.options.rules;
        if line.len() > LONG_LINE {
            counts.clear();
            memory::reserve(counts, line.iter().filter(|byte| **byte == b':').count(), HOLD_RECORDS)?;
        }
        let content = line::content(line, depth, self.options.reads_vtables(), counts).map_err(|found| {
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
            return Err(Error::malformed("a line of a record in front of the first record"));
        }
        match content {
            Content::Callee { location, name, total } => {
                self.check_name(name)?;
                return self.open_callee(self.masked(location), name, total);
            }
            Content::Body { location, samples } => self.body(self.masked(location), samples, counts)?,
            Content::Vtables { .. } if has_duplicates(counts)? => return Err(fault(VTABLES_EXPECTED, line)),
            Content::Vtables { location } => self.vtables(self.masked(location), counts)?,
            Content::Metadata { checksum, attributes } => self.metadata(depth, checksum, attributes),
        }
        Ok(())
    }

    fn body(&mut self, location: LineLocation, samples: u64, counts: &mut Vec<(&[u8], u64)>) -> Result<()> {
        keep_last(counts);
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        memory::reserve(&mut open.record.body, 1, HOLD_RECORDS)?;
        let entry = open.record.body_at(location);
        for &(name, count) in counts.iter() {
            let callee = self.profile.names.insert(FunctionName::Text(name));
            memory::reserve(entry.targets.list_mut(), 1, HOLD_RECORDS)?;
            self.overflowed |= add_target(entry.targets.list_mut(), callee, count);
        }
        self.overflowed |= add_saturating(&mut entry.samples, samples);
        Ok(())
    }

    fn vtables(&mut self, location: LineLocation, counts: &[(&[u8], u64)]) -> Result<()> {
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        memory::reserve(&mut open.record.vtables, 1, HOLD_RECORDS)?;
        for &(name, count) in counts {
            let table = self.profile.names.insert(FunctionName::Text(name));
            memory::reserve(open.record.vtables_at(location), 1, HOLD_RECORDS)?;
            self.overflowed |= add_target(open.record.vtables_at(location), table, count);
        }
        Ok(())
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
            return Err(ErrorKind::LimitExceeded { what: "depth of inlined callees", found, limit }.into());
        }
        let name = self.profile.names.insert(FunctionName::Text(name));
        let Some(parent) = self.open.last_mut() else { return Ok(()) };
        // A callee that was met before goes on where it ended.
        let sites = &mut parent.record.call_sites;
        let found = sites.binary_search_by(|site| (site.location, site.callee.name).cmp(&(location, name)));
        let mut record = match found {
            Ok(at) => std::mem::replace(&mut sites[at].callee, FunctionRecord::new(name)),
            Err(at) => {
                memory::reserve(sites, 1, HOLD_RECORDS)?;
                sites.insert(at, CallSite { location, callee: FunctionRecord::new(name) });
                FunctionRecord::new(name)
            }
        };
        self.overflowed |= add_saturating(&mut record.total, total);
        self.push(location, record)?;
        self.metadata_depth = 0;
        Ok(())
    }

    /// Puts what is open below `depth` into its place.
    fn close_to(&mut self, depth: usize) {
        while self.open.len() > depth {
            let Some(Open { location, mut record }) = self.open.pop() else { return };
            fitted(&mut record.body, &mut self.spare_bodies);
            fitted(&mut record.call_sites, &mut self.spare_sites);
            match self.open.last_mut() {
                Some(parent) => {
                    let at = parent.record.call_site_at(location, record.name);
                    parent.record.call_sites[at].callee = record;
                }
                None => self.profile.functions[location.line as usize] = record,
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

/// Of several counts of one name in a line the last one holds.
fn keep_last(counts: &mut Vec<(&[u8], u64)>) {
    if counts.len() >= line::SHORT {
        // The last in the line first, and without the memory of a sort that keeps what is equal in order.
        counts.sort_unstable_by_key(|(name, _)| (*name, Reverse(name.as_ptr().addr())));
        counts.dedup_by_key(|(name, _)| *name);
    }
}

/// Whether a long list has a name twice; in a short one that is a fault already.
fn has_duplicates(counts: &[(&[u8], u64)]) -> Result<bool> {
    if counts.len() <= line::SHORT {
        return Ok(false);
    }
    let mut names = memory::collect(counts.iter().map(|(name, _)| *name), HOLD_RECORDS)?;
    names.sort_unstable();
    Ok(names.windows(2).any(|pair| pair[0] == pair[1]))
}

/// What LLVM says of virtual tables that are not as they should be.
const VTABLES_EXPECTED: &str = "Expected 'vtables [mangled_vtable:NUM]+', found ";

/// From so many bytes on a line may have so many counts that there is no room for them.
const LONG_LINE: usize = 4 << 10;

/// The parts around the first such byte; all of it and nothing without one.
fn split(text: &[u8], byte: u8) -> (&[u8], &[u8]) {
    match text.iter().position(|b| *b == byte) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

/// A number with a sign, cut to 32 bits without one.
fn signed_32(text: &[u8]) -> Option<u32> {
    match text.strip_prefix(b"-") {
        Some(digits) => {
            let value = line::number(digits).filter(|value| *value <= 1 << 31)?;
            Some((value as u32).wrapping_neg())
        }
        None => line::number(text).filter(|value| *value < 1 << 31).map(|value| value as u32),
    }
}
