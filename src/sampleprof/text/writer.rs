//! Writing text.

use crate::error::Result;
use crate::memory::{self, HOLD_OUTPUT};
use crate::sampleprof::names::{FunctionName, NameId, Names};
use crate::sampleprof::order;
use crate::sampleprof::profile::{Kind, push_title};
use crate::sampleprof::record::{FunctionRecord, LineLocation};
use crate::sampleprof::rules::Rules;

/// How text is written.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The release whose text it is to be.
    pub rules: Rules,
    /// The kind to write, which decides on brackets and checksums.
    pub kind: Kind,
    /// Mark functions without inlined callees with `!Flat`.
    pub mark_flat: bool,
    /// Put the names of inlined callees into brackets.
    pub bracketed_callees: bool,
}

/// Bytes of the numbers and marks of a line.
const LINE: usize = 128;

/// The text of records in the order given.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn write_records(names: &Names, records: &[&FunctionRecord], options: &WriteOptions) -> Result<Vec<u8>> {
    let mut writer = Writer { names, options, text: Vec::new(), is_out_of_memory: false };
    for record in records {
        let frames = record.context.iter().flatten().map(|frame| writer.name_len(frame.function) + LINE);
        let title = frames.sum::<usize>() + writer.name_len(record.name);
        if !writer.has_room(title) {
            break;
        }
        if options.kind.context_sensitive {
            writer.text.push(b'[');
            push_title(&mut writer.text, names, record);
            writer.text.push(b']');
        } else {
            names.get(record.name).push_to(&mut writer.text);
        }
        writer.number(b':', record.total);
        writer.number(b':', record.head);
        writer.record(record, 1);
    }
    if writer.is_out_of_memory { Err(memory::refused(HOLD_OUTPUT)) } else { Ok(writer.text) }
}

struct Writer<'a> {
    names: &'a Names,
    options: &'a WriteOptions,
    text: Vec<u8>,
    is_out_of_memory: bool,
}

impl Writer<'_> {
    /// Makes room for a line with so many bytes of names; `false` where there is none, once and for all.
    fn has_room(&mut self, names: usize) -> bool {
        self.is_out_of_memory |= self.text.try_reserve(names + LINE).is_err();
        !self.is_out_of_memory
    }

    fn name_len(&self, name: NameId) -> usize {
        match self.names.get(name) {
            FunctionName::Text(text) => text.len(),
            // As many digits as a hash has at most.
            FunctionName::Hash(_) => 20,
        }
    }

    fn number(&mut self, before: u8, value: u64) {
        self.text.push(before);
        self.digits(value);
    }

    fn digits(&mut self, value: u64) {
        crate::digits::push_decimal(&mut self.text, value);
    }

    fn location(&mut self, depth: usize, location: LineLocation) {
        self.text.resize(self.text.len() + depth, b' ');
        self.digits(u64::from(location.line));
        if location.discriminator != 0 {
            self.number(b'.', u64::from(location.discriminator));
        }
        self.text.extend_from_slice(b": ");
    }

    /// What follows a head, whose line is not ended yet.
    fn record(&mut self, record: &FunctionRecord, depth: usize) {
        self.text.push(b'\n');
        for entry in &record.body {
            if !self.has_room(depth) {
                return;
            }
            self.location(depth, entry.location);
            self.digits(entry.samples);
            for target in &*order::targets(self.names, &entry.targets) {
                if !self.has_room(self.name_len(target.callee)) {
                    return;
                }
                self.text.push(b' ');
                self.names.get(target.callee).push_to(&mut self.text);
                self.number(b':', target.samples);
            }
            self.text.push(b'\n');
            self.vtables(record, entry.location, depth);
        }
        let sites = order::call_sites(self.names, record);
        for (at, site) in sites.iter().enumerate() {
            if !self.has_room(depth + self.name_len(site.callee.name)) {
                return;
            }
            self.location(depth, site.location);
            self.callee(site.callee.name);
            self.number(b':', site.callee.total);
            self.record(&site.callee, depth + 1);
            if sites.get(at + 1).is_none_or(|next| next.location != site.location) {
                self.vtables(record, site.location, depth);
            }
        }
        self.metadata(record, depth);
    }

    fn callee(&mut self, name: NameId) {
        let [before, after]: [&[u8]; 2] = if self.options.bracketed_callees { [b"[", b"]"] } else { [b""; 2] };
        self.text.extend_from_slice(before);
        self.names.get(name).push_to(&mut self.text);
        self.text.extend_from_slice(after);
    }

    fn vtables(&mut self, record: &FunctionRecord, location: LineLocation, depth: usize) {
        if !self.options.rules.knows_vtables() {
            return;
        }
        let Ok(at) = record.vtables.binary_search_by_key(&location, |entry| entry.location) else { return };
        if record.vtables[at].tables.is_empty() {
            return;
        }
        if !self.has_room(depth) {
            return;
        }
        self.location(depth, location);
        self.text.extend_from_slice(b"vtables ");
        for table in order::tables(self.names, &record.vtables[at].tables) {
            if !self.has_room(self.name_len(table.callee)) {
                return;
            }
            self.names.get(table.callee).push_to(&mut self.text);
            self.number(b':', table.samples);
            self.text.push(b' ');
        }
        self.text.push(b'\n');
    }

    fn metadata(&mut self, record: &FunctionRecord, depth: usize) {
        if !self.has_room(2 * depth) {
            return;
        }
        let nested = self.options.rules.writes_nested_checksums();
        if self.options.kind.probe_based && (depth == 1 || nested) {
            self.line(depth, b"!CFGChecksum: ", record.checksum);
        }
        if record.attributes != 0 {
            self.line(depth, b"!Attributes: ", u64::from(record.attributes));
        }
        if self.options.mark_flat && depth == 1 && record.call_sites.is_empty() {
            self.text.extend_from_slice(b" !Flat\n");
        }
    }

    fn line(&mut self, depth: usize, word: &[u8], value: u64) {
        self.text.resize(self.text.len() + depth, b' ');
        self.text.extend_from_slice(word);
        self.digits(value);
        self.text.push(b'\n');
    }
}
