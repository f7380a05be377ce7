//! Writes sample profiles as text; see [`text`](super::text) for the format.

use super::options::Rules;
use super::order;
use super::profile::{Kind, push_title};
use super::record::{FunctionRecord, LineLocation, NameId, Names};
use crate::digits::push_decimal;

/// Options of writing text.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextOptions {
    /// The target release.
    pub(super) rules: Rules,
    /// The kind to write, which determines brackets and checksums.
    pub(super) kind: Kind,
    /// Whether to mark functions without inlined callees with `!Flat`.
    pub(super) mark_flat: bool,
    /// Whether to put the names of inlined callees into brackets.
    pub(super) bracketed_callees: bool,
}

/// Writes records in the given order.
pub(super) fn write_records(names: &Names, records: &[&FunctionRecord], options: &TextOptions) -> Vec<u8> {
    let mut writer = Writer { names, options, text: Vec::new() };
    for record in records {
        if options.kind.context_sensitive {
            writer.text.push(b'[');
            push_title(&mut writer.text, names, record);
            writer.text.push(b']');
        } else {
            writer.name(record.name);
        }
        writer.number(b':', record.total);
        writer.number(b':', record.head);
        writer.record(record, 1);
    }
    writer.text
}

struct Writer<'a> {
    names: &'a Names,
    options: &'a TextOptions,
    text: Vec<u8>,
}

impl Writer<'_> {
    fn name(&mut self, name: NameId) {
        self.names.get(name).push_to(&mut self.text);
    }

    fn number(&mut self, before: u8, value: u64) {
        self.text.push(before);
        push_decimal(&mut self.text, value);
    }

    fn indent(&mut self, depth: usize) {
        self.text.resize(self.text.len() + depth, b' ');
    }

    fn location(&mut self, depth: usize, location: LineLocation) {
        self.indent(depth);
        push_decimal(&mut self.text, u64::from(location.line));
        if location.discriminator != 0 {
            self.number(b'.', u64::from(location.discriminator));
        }
        self.text.extend_from_slice(b": ");
    }

    /// Ends the line of the head, and writes the lines of the record.
    fn record(&mut self, record: &FunctionRecord, depth: usize) {
        self.text.push(b'\n');
        for entry in &record.body {
            self.location(depth, entry.location);
            push_decimal(&mut self.text, entry.samples);
            for target in &*order::targets(self.names, &entry.targets) {
                self.text.push(b' ');
                self.name(target.callee);
                self.number(b':', target.samples);
            }
            self.text.push(b'\n');
            self.vtables(record, entry.location, depth);
        }
        let sites = order::call_sites(self.names, record);
        for (at, site) in sites.iter().enumerate() {
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
        self.name(name);
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
        self.location(depth, location);
        self.text.extend_from_slice(b"vtables ");
        for table in order::tables(self.names, &record.vtables[at].tables) {
            self.name(table.callee);
            self.number(b':', table.samples);
            self.text.push(b' ');
        }
        self.text.push(b'\n');
    }

    fn metadata(&mut self, record: &FunctionRecord, depth: usize) {
        let nested = self.options.rules.writes_nested_checksums();
        if self.options.kind.probe_based && (depth == 1 || nested) {
            self.metadata_line(depth, b"!CFGChecksum: ", record.checksum);
        }
        if record.attributes != 0 {
            self.metadata_line(depth, b"!Attributes: ", u64::from(record.attributes));
        }
        if self.options.mark_flat && depth == 1 && record.call_sites.is_empty() {
            self.text.extend_from_slice(b" !Flat\n");
        }
    }

    fn metadata_line(&mut self, depth: usize, key: &[u8], value: u64) {
        self.indent(depth);
        self.text.extend_from_slice(key);
        push_decimal(&mut self.text, value);
        self.text.push(b'\n');
    }
}
